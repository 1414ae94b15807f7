"""An unchanged micrograd or microgpt script, run with its `Value` replaced by minigrad's.

Two things are replaced: the package micrograd, by `compat/micrograd.py`, and a `class Value` that
the script defines itself, as microgpt does, by an import on the same line; so it is in modules
beside the script, see `beside.py`. Nothing else is touched, so that line numbers, arguments, exit
codes and tracebacks are the script's own.

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
from ..core.node import own_texts
from ..errors import MinigradError
from ..scalar import Value, add_method

__all__ = ["Prepared", "ScriptError", "extended", "prepared", "print_error", "run"]

TEXTS = ("__repr__", "__str__")  # how it is printed stays as it is, or the output would differ
_UNLIKE = ("__eq__", "__ne__", "__call__", "__iter__", "__getitem__", "__len__")
_BOOKKEEPING = ("__slots__", "__doc__", "__hash__", "__module__")


class ScriptError(MinigradError, ValueError):
    """A script whose `Value` cannot be replaced."""


class Prepared(NamedTuple):
    """A script, ready to run."""

    name: str  # of its file
    code: CodeType
    replaced: tuple[str, ...]  # in words


def prepared(source: str | bytes, name: str, imports: bool = True) -> Prepared:
    """Replace in a script what can be, `imports` of micrograd too; a SyntaxError is its own."""
    tree = ast.parse(source, name)
    replaced = []
    if imports and (found := _imports_of_micrograd(tree)):
        replaced.append(f"micrograd, imported in {_lines(found)}")
    for at, statement in enumerate(tree.body):
        if isinstance(statement, ast.ClassDef) and _is_engine(statement):
            _check_class(statement)
            last = statement.end_lineno or statement.lineno
            words = f"class {statement.name} in lines {statement.lineno} to {last}"
            own = _own_methods(statement)
            if own:
                words += f", all but {', '.join(f'{method.name}()' for method in own)},"
            tree.body[at] = _extend_instead(statement, own) if own else _import_instead(statement)
            replaced.append(words)
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


def _check_class(statement: ast.ClassDef) -> None:
    """Refuse to replace a class that is made, compared or called as minigrad's is not."""
    own = _own_methods(statement)
    for node in statement.body:
        why = ""
        if isinstance(node, ast.FunctionDef) and node.name == "__init__":
            why = _other_arguments(node.args)
        elif isinstance(node, ast.FunctionDef) and node.name in _UNLIKE:
            why = f"{node.name}(), which is not as minigrad's is"
        elif isinstance(node, ast.Assign):
            names = [target.id for target in node.targets if isinstance(target, ast.Name)]
            more = [n for n in names if n not in _BOOKKEEPING and not hasattr(Value, n)]
            why = f"{more[0]} = …, which minigrad's has not" if more else ""
        if node in own:
            more = sorted(_read_of_self(node) - set(_methods(statement)))
            more = [name for name in more if not hasattr(Value, name)]
            why = f"{node.name}(), which reads self.{more[0]}" if more else why
        if why:
            raise ScriptError(
                f"class {statement.name} in line {statement.lineno} has {why}; take it out of "
                "the class, and run it again."
            )


def _other_arguments(arguments: ast.arguments) -> str:
    """Tell what of the arguments of an `__init__` is other than (data, children, op, label)."""
    names = [each.arg for each in [*arguments.posonlyargs, *arguments.args]][1:]
    others = [*names[4:], *[each.arg for each in arguments.kwonlyargs]]
    if len(names) > 3 and names[3] != "label":
        others.append(names[3])
    others += [name for name in names[:3] if name in ("label", "name", "grad", "requires_grad")]
    return f"__init__(…, {others[0]}), and minigrad's (data, children, op, label)" if others else ""


def _read_of_self(method: ast.AST) -> set[str]:
    """Return the attributes of `self` that a method reads."""
    found = [node for node in ast.walk(method) if isinstance(node, ast.Attribute)]
    of_self = [a for a in found if isinstance(a.value, ast.Name) and a.value.id == "self"]
    return {attribute.attr for attribute in of_self if isinstance(attribute.ctx, ast.Load)}


def _own_methods(statement: ast.ClassDef) -> list[ast.FunctionDef]:
    """Find the methods that stay: those that minigrad's Value has not, and how it is printed."""
    methods = [node for node in statement.body if isinstance(node, ast.FunctionDef)]
    return [m for m in methods if m.name in TEXTS or not hasattr(Value, m.name)]


def extended(kind: type) -> type:
    """Give the methods of a class to minigrad's Value, and return that in its place."""
    for name, thing in vars(kind).items():
        if name in TEXTS:
            own_texts[name] = thing
        elif name not in vars(_Empty):
            add_method(name, thing)
    return Value


class _Empty:
    """What is in every class."""


def _extend_instead(statement: ast.ClassDef, own: list[ast.FunctionDef]) -> ast.ClassDef:
    decorator = ast.parse(f"__import__({__name__!r}, fromlist=['extended']).extended", mode="eval")
    made = ast.ClassDef(statement.name, [], [], list[ast.stmt](own), [decorator.body])
    if sys.version_info >= (3, 12):
        made.type_params = []
    ast.copy_location(made, statement)
    for node in ast.walk(decorator.body):
        ast.copy_location(node, statement)
    return made


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
