"""An unchanged micrograd or microgpt script, run with its `Value` replaced by minigrad's.

Two things are replaced: the package micrograd, by `compat/micrograd.py`, and a `class Value` that
the script defines itself, as microgpt does, by an import on the same line. Nothing else in the
script is touched, so that line numbers, arguments, exit codes and tracebacks are its own.

Start at `prepared`; `run` runs what it returns.
"""

from __future__ import annotations

import ast
import importlib
import sys
import traceback
from types import CodeType, ModuleType, TracebackType
from typing import NamedTuple

from ..core.names import PACKAGE
from ..errors import MinigradError
from ..scalar import Value

__all__ = ["Prepared", "ScriptError", "prepared", "print_error", "run"]


class ScriptError(MinigradError, ValueError):
    """A script whose `Value` cannot be replaced."""


class Prepared(NamedTuple):
    """A script, ready to run."""

    name: str  # of its file
    code: CodeType
    replaced: tuple[str, ...]  # in words


def prepared(source: str | bytes, name: str) -> Prepared:
    """Replace in a script what can be; a SyntaxError is the script's own."""
    tree = ast.parse(source, name)
    replaced = []
    if imports := _imports_of_micrograd(tree):
        replaced.append(f"micrograd, imported in {_lines(imports)}")
    for at, statement in enumerate(tree.body):
        if isinstance(statement, ast.ClassDef) and _is_engine(statement):
            _check_methods(statement)
            tree.body[at] = _import_instead(statement)
            last = statement.end_lineno or statement.lineno
            replaced.append(f"class {statement.name} in lines {statement.lineno} to {last}")
    code = compile(tree, name, "exec", dont_inherit=True)
    return Prepared(name, code, tuple(replaced))


def run(script: Prepared, arguments: list[str], folder: str) -> int:
    """Run a script as Python would, and return its exit code."""
    if any(words.startswith("micrograd") for words in script.replaced):
        importlib.import_module(f"{PACKAGE}.compat.micrograd")
    module = ModuleType("__main__")
    module.__dict__.update(__file__=script.name, __builtins__=__builtins__)
    sys.modules["__main__"] = module
    sys.argv = [script.name, *arguments]
    sys.path[0:0] = [folder]
    try:
        exec(script.code, module.__dict__)
    except SystemExit as leaving:
        return _exit_code(leaving.code)
    except BaseException as error:
        print_error(error, script.name)
        return 130 if isinstance(error, KeyboardInterrupt) else 1
    return 0


def _imports_of_micrograd(tree: ast.Module) -> list[int]:
    """Return the lines that import micrograd, wherever they stand."""
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            modules = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and not node.level:
            modules = [node.module or ""]
        else:
            continue
        if any(module.partition(".")[0] == "micrograd" for module in modules):
            found.append(node.lineno)
    return found


def _lines(numbers: list[int]) -> str:
    listed = ", ".join(map(str, sorted(set(numbers))))
    return f"line{'s' if ',' in listed else ''} {listed}"


def _methods(statement: ast.ClassDef) -> set[str]:
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef)
    methods = {node.name for node in statement.body if isinstance(node, kinds)}
    for node in statement.body:  # relu6 = some_function
        if isinstance(node, ast.Assign):
            methods |= {target.id for target in node.targets if isinstance(target, ast.Name)}
    return methods


def _is_engine(statement: ast.ClassDef) -> bool:
    """Tell whether a class is a scalar that can be differentiated."""
    return statement.name == "Value" and {"__init__", "__mul__", "backward"} <= _methods(statement)


def _check_methods(statement: ast.ClassDef) -> None:
    """Refuse to replace a class that can do what minigrad's cannot."""
    methods = _methods(statement) - {"__slots__", "__doc__", "__hash__", "__module__"}
    more = sorted(name for name in methods if not hasattr(Value, name))
    if more:
        names = ", ".join(f"{name}()" for name in more)
        raise ScriptError(
            f"class {statement.name} in line {statement.lineno} has {names}, which minigrad's has "
            "not; make a function of it outside of the class, and run it again."
        )


def _import_instead(statement: ast.ClassDef) -> ast.ImportFrom:
    alias = ast.alias(name="Value")
    made = ast.ImportFrom(module=PACKAGE, names=[alias], level=0)
    ast.copy_location(made, statement)
    ast.copy_location(alias, statement)
    return made


def _exit_code(code: object) -> int:
    """Do what Python does with what a script gives to sys.exit."""
    if code is None:
        return 0
    if isinstance(code, int):
        return code & 0xFF
    print(code, file=sys.stderr)
    return 1


def print_error(error: BaseException, name: str) -> None:
    """Print a traceback that begins in the script."""
    start: TracebackType | None = error.__traceback__
    while start is not None and start.tb_frame.f_code.co_filename != name:
        start = start.tb_next
    traceback.print_exception(type(error), error, start)  # None: it could not even be read
