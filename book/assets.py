"""The scripts and styles that are made when the site is built: the player's, and the engine's.

The engine of the cells is the playground's worker with Pyodide and minigrad, all in one script that
a page asks for when somebody says Run: a script loads from file:// as well, which no fetch does.
"""

from __future__ import annotations

import base64
import gzip
import importlib
import json
import sys
from pathlib import Path
from types import ModuleType

from minigrad.view.svg import DARK, DARK_FOLD

from . import cells, players
from .pages import ROOT

ENGINE = "engine.js"
PLAYGROUND = "playground.html"


def _playground() -> ModuleType:
    """Import the playground's package, installed or as it lies in the repository."""
    try:
        return importlib.import_module("minigrad_playground")
    except ImportError:
        sys.path.append(str(ROOT / "playground" / "src"))
        return importlib.import_module("minigrad_playground")


def playground() -> Path | None:
    """Return the folder of the playground, if it is built."""
    try:
        return Path(_playground().folder())
    except (ImportError, FileNotFoundError):
        return None


def colours() -> str:
    """Return the dark colours of drawings, for a theme that was chosen and for the system's."""
    dark = "".join(each.partition("{")[2].rpartition("}")[0] for each in (DARK, DARK_FOLD))
    return (
        f'@media screen {{ body[data-theme="dark"] {{ {dark} }} }}\n'
        f"@media screen and (prefers-color-scheme: dark) {{ "
        f'body:not([data-theme="light"]) {{ {dark} }} }}\n'
    )


def engine_script(folder: Path) -> str:
    """Return the class Engine of the playground, with the files that it starts Python from."""
    files = {name: _packed((folder / name).read_bytes()) for name in _playground().FILES}
    engine = (folder / "engine.js").read_text(encoding="utf-8")
    return f"""(() => {{
const packed = {json.dumps(files)};
const bytes = async (name) => {{
  const data = Uint8Array.from(atob(packed[name]), (letter) => letter.charCodeAt(0));
  const stream = new Blob([data]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}};
globalThis.MINIGRAD_FILES = {{
  text: async (name) => new TextDecoder().decode(await bytes(name)),
  all: async () => Object.fromEntries(await Promise.all(
    Object.keys(packed).map(async (name) => [name.split("/").pop(), await bytes(name)]))),
}};
{engine.replace("export class Engine", "globalThis.MinigradEngine = class Engine")}
}})();
"""


def write_assets(folder: Path) -> None:
    """Write the scripts and styles that pages load."""
    folder.mkdir(parents=True, exist_ok=True)
    words = f"globalThis.MINIGRAD_WORDS = {json.dumps(cells.WORDS)};\n"
    texts = {players.SCRIPT: players.script(), "words.js": words, "drawings.css": colours()}
    for name, text in texts.items():
        (folder / name).write_text(text, encoding="utf-8")


def write_engine(folder: Path) -> bool:
    """Write the engine of the cells and the playground's page, for all languages; if there are."""
    built = playground()
    if built is None:
        return False
    folder.mkdir(parents=True, exist_ok=True)
    (folder / ENGINE).write_text(engine_script(built), encoding="utf-8")
    (folder / PLAYGROUND).write_text(str(_playground().single()), encoding="utf-8")
    return True


def _packed(data: bytes) -> str:
    return base64.b64encode(gzip.compress(data, 6, mtime=0)).decode()
