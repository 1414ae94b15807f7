"""A Python program, run as it is: in a browser's worker, where it can harm nothing but itself.

The last line is shown, if it is a Value; else the last name that holds one. Values without a label
are called by the names that hold them, and each name knows the line that gave it its number.
"""

from __future__ import annotations

import ast
import contextlib
import io
import traceback
from typing import Any

from ..scalar import Value
from .freeing import hold
from .picture import shown
from .request import Request
from .words import say

FILE = "playground.py"
PRINTED = 20_000  # characters


def run(request: Request) -> dict[str, Any]:
    """Run a program; show what it ends with, and what it printed."""
    text = request["text"]
    space: dict[str, Any] = {"__name__": "__main__"}
    output = io.StringIO()
    try:
        with contextlib.redirect_stdout(output):
            root = _ran(text, space)
    except BaseException as error:  # also a sys.exit(): it is their program, not ours
        hold(_values(space).values())
        return {**_told(error, text, request.lang), "printed": _cut(output)}
    variables = _values(space)
    if root is None:
        root = next(reversed(variables.values()), None)
    if root is None:
        return {"error": say(request.lang, "no value"), "printed": _cut(output), "line": None}
    hold([*variables.values(), root])
    for name, value in variables.items():
        if not value.label:
            value.label = name
    if root.grad == 0.0:  # they have not called backward() themselves
        root.backward()
    found = shown(root, variables, request)
    lines = _lines(text)
    for row in found["rows"]:
        row["line"] = lines.get(row["name"])
    return {**found, "printed": _cut(output)}


def session(request: Request) -> dict[str, Any]:
    """Run a program as a session would: every expression at its top prints what it is."""
    space: dict[str, Any] = {"__name__": "__main__"}
    output = io.StringIO()
    found: dict[str, Any] = {}
    try:
        with contextlib.redirect_stdout(output):
            for node in ast.parse(request["text"], FILE).body:
                exec(compile(ast.Interactive([node]), FILE, "single"), space)
    except BaseException as error:
        found = _told(error, request["text"], request.lang)
    hold(_values(space).values())
    return {**found, "printed": _cut(output)}


def _values(space: dict[str, Any]) -> dict[str, Value]:
    return {name: thing for name, thing in space.items() if isinstance(thing, Value)}


def _ran(text: str, space: dict[str, Any]) -> Value | None:
    """Run the text; return the Value of its last line, if that is one."""
    tree = ast.parse(text, FILE)
    last = tree.body[-1] if tree.body else None
    if isinstance(last, ast.Expr):
        tree.body.pop()
    exec(compile(tree, FILE, "exec"), space)
    if not isinstance(last, ast.Expr):
        return None
    found = eval(compile(ast.Expression(last.value), FILE, "eval"), space)
    if isinstance(found, Value):
        return found
    if found is not None:  # as in a session
        print(repr(found))
    return None


def _lines(text: str) -> dict[str, int]:
    """Return the line in which each name was last given something, at the top of the program."""
    found: dict[str, int] = {}
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            found[node.id] = max(node.lineno, found.get(node.id, 0))
    return found


def _told(error: BaseException, program: str, lang: str) -> dict[str, Any]:
    """Say what went wrong, in which line, and what helps if it came from elsewhere."""
    text = "".join(traceback.format_exception_only(error)).strip()
    frames = traceback.extract_tb(error.__traceback__)
    lines = [frame.lineno for frame in frames if frame.filename == FILE]
    line = lines[-1] if lines else None
    if isinstance(error, SyntaxError):
        text, line = f"{type(error).__name__}: {error.msg}", error.lineno
    written = dict(enumerate(program.splitlines(), 1)).get(line or 0, "")
    hint = _hint(error, written.strip())
    said = [text[:2000], *([say(lang, hint)] if hint else [])]
    return {"error": "\n".join(said), "line": line}


def _hint(error: BaseException, line: str) -> str:
    """Name what a program from a notebook or a file stumbles over here."""
    if line.startswith(("%", "!", "?")) and isinstance(error, SyntaxError):
        return "notebook command"
    if line.startswith((">>>", "...", "In [")):
        return "prompt"
    if isinstance(error, ModuleNotFoundError):
        module = (error.name or "").partition(".")[0]
        return {"micrograd": "micrograd", "graphviz": "graphviz"}.get(module, "module")
    return "no input" if isinstance(error, EOFError) else ""


def _cut(output: io.StringIO) -> str:
    text = output.getvalue()
    return text if len(text) <= PRINTED else f"{text[:PRINTED]}\n…"
