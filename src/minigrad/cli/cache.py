"""`minigrad cache`: the programs that are kept on disk, and how to be rid of them."""

from __future__ import annotations

from typing import Annotated

import typer

from ..core import store
from ..core.names import plural, readable
from ..core.terminal import put, put_json
from .options import AsJson

_MB = 1e6


def cache(
    clear: Annotated[bool, typer.Option("--clear", help="Remove them all.")] = False,
    as_json: AsJson = False,
) -> None:
    """Show the compiled programs that are kept on disk, for later runs; or remove them."""
    found = store.clear() if clear else store.survey()
    if as_json:
        facts = {"folder": found.folder, "files": found.files, "bytes": found.size}
        more = {"limit": found.limit, "problem": found.problem or None, "cleared": clear}
        put_json({**facts, **more})
        return
    if found.folder is None:
        put("Nothing is kept: MINIGRAD_CACHE is 0 or no absolute path, or there is no home folder.")
        return
    put(f"folder: {readable(found.folder)}")
    if found.problem:
        put(f"Nothing is kept: {found.problem}.")
        return
    size = f"{plural(found.files, 'file')}, {found.size / _MB:.1f} MB"
    put(f"removed: {size}" if clear else f"kept: {size} of at most {found.limit / _MB:.0f} MB")
