"""The playground as files: `folder()` is where they are, `single()` is all of them in one page."""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
import re
from pathlib import Path

__all__ = ["FILES", "folder", "single"]

_SITE = Path(__file__).with_name("site")
FILES = (
    "worker.js",
    "minigrad.json.gz",
    "pyodide/pyodide.mjs",
    "pyodide/pyodide.asm.mjs",
    "pyodide/pyodide.asm.wasm",
    "pyodide/python_stdlib.zip",
    "pyodide/pyodide-lock.json",
)
# How the page finds its files in itself: they are gzipped, in base64, in a script that is not run.
_OPENER = """
{
  const packed = JSON.parse(document.getElementById("files").textContent);
  const bytes = async (name) => {
    const data = Uint8Array.from(atob(packed[name]), (letter) => letter.charCodeAt(0));
    const stream = new Blob([data]).stream().pipeThrough(new DecompressionStream("gzip"));
    return new Uint8Array(await new Response(stream).arrayBuffer());
  };
  globalThis.MINIGRAD_FILES = {
    text: async (name) => new TextDecoder().decode(await bytes(name)),
    all: async () => Object.fromEntries(await Promise.all(
      Object.keys(packed).map(async (name) => [name.split("/").pop(), await bytes(name)]))),
  };
}
"""


def folder() -> Path:
    """Return the folder to serve; it is complete, and needs no network."""
    if not (_SITE / "index.html").is_file():
        raise FileNotFoundError(
            "the playground is not built; in the repository run: python playground/build.py"
        )
    return _SITE


def single() -> str:
    """Return the playground as one page that opens from anywhere, also from file://.

    Its policy allows the scripts and styles that are in it, by their hashes, and no address at all.
    """
    site = folder()
    files = {name: _packed((site / name).read_bytes()) for name in FILES}
    style = "".join((site / name).read_text("utf-8") for name in ("play.css", "dark.css"))
    # No text of a script may end the element that holds it.
    code = _OPENER + (site / "app.bundle.js").read_text("utf-8").replace("</script", "<\\/script")
    policy = (
        f"default-src 'none'; script-src '{_hash(code)}' blob: 'wasm-unsafe-eval'; "
        f"style-src '{_hash(style)}'; worker-src blob:; connect-src blob: data:; "
        "img-src data: blob:; base-uri 'none'; form-action 'none'"
    )
    page = (site / "index.html").read_text("utf-8")
    page = re.sub(r'(Security-Policy" content=")[^"]*', lambda m: m[1] + policy, page)
    page = re.sub(r'<link rel="stylesheet"[^>]*>\n', "", page)
    page = page.replace("</head>", f"<style>{style}</style>\n</head>")
    whole = f'<script type="application/json" id="files">{json.dumps(files)}</script>\n'
    whole += f"<script>{code}</script>"
    return page.replace('<script type="module" src="app.js"></script>', whole)


def _packed(data: bytes) -> str:
    return base64.b64encode(gzip.compress(data, 9, mtime=0)).decode()


def _hash(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
