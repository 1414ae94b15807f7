"""Build the playground's folder, site/: `python playground/build.py` in the repository.

Everything comes from the repository and from what package-lock.json names, by its hash: npm fetches
that and refuses what is not the same. Pyodide's files are copied as they are. The bundle of the
editor is in the repository (`page/editor.js`), so that reading it needs no tools; `--check` makes
it anew and compares.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
SOURCE = HERE.parent / "src"
SITE = HERE / "src" / "minigrad_playground" / "site"
PYODIDE = ("pyodide.mjs", "pyodide.asm.mjs", "pyodide.asm.wasm", "python_stdlib.zip")
LEFT_OUT = {".so", ".pyd", ".c", ".h", ".pxd", ".pyc"}  # of a package that runs as plain Python


def run(*command: str) -> str:
    """Run a program in this folder, and return what it prints."""
    return subprocess.run(command, cwd=HERE, check=True, stdout=subprocess.PIPE, text=True).stdout


def install() -> None:
    """Fetch what the lock file names, by hash; nothing of it is run at this point."""
    run("npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund")


def bundled(entry: str, *options: str) -> str:
    """Bundle modules into one file."""
    esbuild = HERE / "node_modules" / ".bin" / "esbuild"
    flags = ["--bundle", "--minify", "--legal-comments=none", "--target=es2022", *options]
    return run(str(esbuild), entry, *flags)


def editor() -> str:
    """Bundle the editor, as a module."""
    return bundled("editor/editor.js", "--format=esm")


def package() -> bytes:
    """Pack what the pure wheel holds, the text of each file by its path.

    As JSON, not as a zip: a page unpacks that in a tenth of the time, because JavaScript does it.
    """
    files = {
        file.relative_to(SOURCE).as_posix(): file.read_text("utf-8")
        for file in sorted((SOURCE / "minigrad").rglob("*"))
        if file.is_file() and file.suffix not in LEFT_OUT and "__pycache__" not in file.parts
    }
    return gzip.compress(json.dumps(files).encode(), 9, mtime=0)


def scripts() -> dict[str, str]:
    """Return the modules that the package itself has: the player and the folded pictures."""
    os.environ["MINIGRAD_PURE"] = "1"  # whatever is compiled here is of another build
    sys.path.insert(0, str(SOURCE))
    from minigrad.calculus.faults import FAULTS
    from minigrad.view.player.page import fold_script, script
    from minigrad.view.svg import DARK, DARK_FOLD

    dark = "".join(each.partition("{")[2].rpartition("}")[0] for each in (DARK, DARK_FOLD))
    themed = f'[data-theme="dark"] {{ {dark} }}\n'  # of pictures outside the player
    faults = f"export const FAULTS = {json.dumps(list(FAULTS))};\n"
    return {
        "player.js": script(),
        "fold.js": fold_script(),
        "faults.js": faults,
        "dark.css": themed,
    }


def site(with_snapshot: bool = True) -> None:
    """Put the folder together."""
    shutil.rmtree(SITE, ignore_errors=True)
    shutil.copytree(HERE / "page", SITE)
    (SITE / "pyodide").mkdir()
    for name in PYODIDE:
        shutil.copyfile(HERE / "node_modules" / "pyodide" / name, SITE / "pyodide" / name)
    lock = json.loads((HERE / "node_modules" / "pyodide" / "pyodide-lock.json").read_text("utf-8"))
    lock["packages"] = {}  # none of them can be fetched from here
    (SITE / "pyodide" / "pyodide-lock.json").write_text(json.dumps(lock), encoding="utf-8")
    shutil.copytree(HERE / "licenses", SITE / "licenses")
    shutil.copyfile(HERE / "NOTICE", SITE / "NOTICE")
    for name, text in scripts().items():
        (SITE / name).write_text(text, encoding="utf-8")
    (SITE / "minigrad.json.gz").write_bytes(package())
    # What one file for a USB stick is made of: modules do not load from file://.
    (SITE / "app.bundle.js").write_text(
        bundled(str(SITE / "app.js"), "--format=iife"), encoding="utf-8"
    )
    if with_snapshot:
        print(run("node", "engine.mjs", "snapshot", str(SITE)).strip())
    (SITE / "warm.py").unlink()


def main() -> None:
    """Read the command line."""
    options = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    options.add_argument("--check", action="store_true", help="compare the editor's bundle")
    options.add_argument("--editor", action="store_true", help="make the editor's bundle anew")
    options.add_argument("--no-install", action="store_true", help="npm ci was run before")
    chosen = options.parse_args()
    if not chosen.no_install:
        install()
    kept = HERE / "page" / "editor.js"
    if chosen.editor:
        kept.write_text(editor(), encoding="utf-8")
    if chosen.check and editor() != kept.read_text(encoding="utf-8"):
        sys.exit("page/editor.js is not what the lock file makes; run build.py --editor.")
    site()
    sizes = {file.name: file.stat().st_size for file in SITE.rglob("*") if file.is_file()}
    print(f"{SITE}: {len(sizes)} files, {sum(sizes.values()) / 1e6:.1f} MB")


if __name__ == "__main__":
    main()
