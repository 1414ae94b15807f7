"""Read a stranger's file: as bytes, as the text that Python would read, as a tree.

This runs in the sandbox; whatever is in the way is an `UnreadableError`, with a sentence.
"""

from __future__ import annotations

import ast
import contextlib
import importlib.util
import os
import stat
from pathlib import Path

from .notebooks import Cells, plain_python


class UnreadableError(Exception):
    """The file is not one that could be run."""


def content_of(path: Path, largest: int) -> bytes:
    """Read an ordinary file; a pipe would be waited for, and a device has no end."""
    try:
        handle = os.open(
            path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
        )
        with open(handle, "rb") as stream:
            if not stat.S_ISREG(os.fstat(handle).st_mode):
                raise UnreadableError("this is not an ordinary file; give the path of a .py file")
            content = stream.read(largest + 1)
    except (OSError, ValueError) as error:
        raise UnreadableError(
            f"the file cannot be read ({getattr(error, 'strerror', None) or error})"
        ) from None
    if len(content) > largest:
        raise UnreadableError(f"the file is too large; the doctor reads up to {largest:,} bytes")
    return content


def decoded(content: bytes) -> str:
    """Return the text of a file, as Python reads it."""
    try:
        return importlib.util.decode_source(content).removeprefix("\ufeff")
    except (SyntaxError, ValueError, LookupError) as error:
        reason = getattr(error, "msg", None) or str(error)
        raise UnreadableError(f"the file does not parse: {reason}") from None


def cells_of(content: bytes) -> Cells:
    """Return a file's text, without lines that are meant for a notebook if that helps."""
    text = decoded(content)
    with contextlib.suppress(SyntaxError, ValueError, MemoryError, RecursionError, SystemError):
        ast.parse(text)
        return Cells(text)
    plain = plain_python(text)
    return Cells(text if all(line.startswith("#") for line in plain.split("\n")) else plain)


def parsed(text: str, file: str) -> ast.Module:
    """Read a text as a tree; raise an UnreadableError if it is none."""
    try:
        return ast.parse(text, file)
    except SyntaxError as error:
        where = f"line {error.lineno}" if error.lineno else "the file"
        raise UnreadableError(f"{where} does not parse: {error.msg}") from None
    except (ValueError, MemoryError, RecursionError, SystemError, OverflowError) as error:
        reason = str(error) or "it is nested too deeply"
        raise UnreadableError(f"the file does not parse: {reason}") from None
