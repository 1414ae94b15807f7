"""Build the site, and serve it: `python -m book --serve`.

Two builds by Sphinx, build/site/en and build/site/es, and an index.html beside them that goes to
the reader's language. A warning is a failure. Where the playground is built, it is in the site, and
the cells of `{try}` run; else the pages say so.
"""

from __future__ import annotations

import argparse
import functools
import hashlib
import http.server
import os
import shutil
import subprocess
import sys
from pathlib import Path

from .assets import write_assets, write_engine
from .pages import LANGUAGES, ROOT, stage

SITE = ROOT / "build" / "site"
HERE = Path(__file__).resolve().parent


def code() -> str:
    """Return a hash of what pages are made by, besides their text: if it changes, all are made."""
    files = [path for path in HERE.rglob("*") if path.is_file() and path.suffix != ".pyc"]
    files += [*(ROOT / "docs").glob("*.json"), *(ROOT / "src" / "minigrad" / "view").rglob("*.py")]
    return hashlib.sha256(b"".join(path.read_bytes() for path in sorted(files))).hexdigest()


def build(target: Path, languages: list[str], *, has_engine: bool | None = None) -> None:
    """Build the languages into a folder; ends with Sphinx's message if something is wrong."""
    work = target.with_name(f"{target.name}-work")
    static = work / "static"
    write_assets(static)
    found = has_engine is not False and write_engine(target)
    running = []
    for lang in languages:
        source = work / lang / "source"
        stage(lang, source)
        command = [sys.executable, "-m", "sphinx", "-W", "--keep-going", "-q", "-b", "html"]
        command += ["-c", str(HERE), "-d", str(work / lang / "doctrees")]
        command += ["-D", f"html_static_path={HERE / 'static'},{static}"]
        command += ["-D", f"minigrad_has_engine={int(found)}", "-D", f"minigrad_code={code()}"]
        environment = {**os.environ, "MINIGRAD_BOOK_LANGUAGE": lang}
        running.append(
            subprocess.Popen([*command, str(source), str(target / lang)], env=environment)
        )
    codes = [process.wait() for process in running]
    if any(codes):
        sys.exit("the site was not built; see the warnings above.")
    shutil.copyfile(HERE / "templates" / "front.html", target / "index.html")


def serve(folder: Path, port: int) -> None:
    """Serve a folder on this machine alone, until Ctrl-C."""
    handler = functools.partial(http.server.SimpleHTTPRequestHandler, directory=str(folder))
    with http.server.ThreadingHTTPServer(("127.0.0.1", port), handler) as server:
        print(f"http://127.0.0.1:{server.server_port}/  (Ctrl-C ends it)", flush=True)
        try:
            server.serve_forever()
        except KeyboardInterrupt:
            print()


def main() -> None:
    """Read the command line."""
    options = argparse.ArgumentParser(prog="python -m book", description="Build the site.")
    options.add_argument("--serve", action="store_true", help="then serve it on this machine")
    options.add_argument("--port", type=int, default=8000)
    options.add_argument("--fresh", action="store_true", help="build every page anew")
    options.add_argument("--to", type=Path, default=SITE, metavar="FOLDER")
    options.add_argument("--lang", choices=LANGUAGES, action="append", help="this one alone")
    chosen = options.parse_args()
    if chosen.fresh:
        for folder in (chosen.to, chosen.to.with_name(f"{chosen.to.name}-work")):
            shutil.rmtree(folder, ignore_errors=True)
    build(chosen.to, chosen.lang or [*LANGUAGES])
    print(f"the site is in {chosen.to}; open {chosen.to / 'index.html'}")
    if chosen.serve:
        serve(chosen.to, chosen.port)


if __name__ == "__main__":
    main()
