"""`rows[i]` with an index that is followed, kept open as `take(rows, i)` keeps it.

A list asks an index for its number, and nothing in Python can answer instead of the list. So while
a function is traced, the user's functions that it may call run on code in which every `x[k]` that
is read is `item(x, k)`. That code is compiled from the source, from the statement of the module
that the function stands in, and only where the same source compiles to the very code that the
function has: a file that was edited meanwhile, or a function without a source, stays as it is, and
an index there ties the program to its number.

What is taken out of a list is not the Value itself but a node that stands for any of them
(`which.py`); so `x is y` is written as a call, too, and where the code asks for an `id`, subscripts
stay as they are. Rows of Values are taken only out of lists that are watched for changes, and one
who changes such a row changes the row itself (`TakenRow`).

Start at `open_subscripts`.
"""

from __future__ import annotations
import __future__

import ast
import dis
import linecache
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache
from types import CodeType, FunctionType
from typing import Any, NamedTuple

from ...scalar import Value
from . import places
from .environment import Environment
from .proxies import TracedNumber
from .which import is_same_value

_MARK = "minigrad: x[k] that is read"  # stands for `item` until the code is compiled
_IS_MARK = "minigrad: x is y"  # and this for `is_the_same`
_LARGEST = 1_000_000  # characters of a module that is compiled again
_FUTURES = 0  # what `from __future__` sets in the code of a module
for _feature in __future__.all_feature_names:
    _FUTURES |= getattr(__future__, _feature).compiler_flag


@contextmanager
def open_subscripts(environment: Environment) -> Iterator[None]:
    """Have the functions of an environment keep their indices open inside this block."""
    found = {
        place.thing: place.thing.__code__
        for place in environment.places
        if place.kind is places.FUNCTION and type(place.thing) is FunctionType
    }
    opened = {function: opened_code(code) for function, code in found.items()}
    try:
        for function, code in opened.items():
            if code is not None:
                function.__code__ = code
        yield
    finally:
        for function, code in opened.items():
            if code is not None:
                function.__code__ = found[function]


def watched_lists(environment: Environment) -> frozenset[int]:
    """Return the lists whose changes are noticed, by id; the environment keeps them alive."""
    return frozenset(id(place.thing) for place in environment.places if place.kind is places.LIST)


# ---- in the place of x[k] -----------------------------------------------------------------------


def item(rows: Any, k: Any) -> Any:
    """Return `rows[k]`, with the index open if that can be."""
    if type(k) is not TracedNumber or k.context is None or not k.is_int:
        return rows[k]
    if type(rows) not in (list, tuple, TakenRow) or not rows:
        return rows[k]
    kinds = set(map(type, rows))
    if all(issubclass(each, Value) for each in kinds):
        return k._taken_from(rows)
    if kinds <= {list, tuple} and _are_still([rows, *rows], k.context.watched) and _is_table(rows):
        return TakenRow(rows, k)
    return rows[k]


def is_the_same(a: Any, b: Any) -> bool:
    """Return `a is b`, of what they stand for."""
    a, b = (x._source() if type(x) is TakenRow and a is not b else x for x in (a, b))
    return is_same_value(a, b)


def _is_table(rows: Any) -> bool:
    return len(set(map(len, rows))) == 1 and {type(x) for row in rows for x in row} == {Value}


def _are_still(containers: Sequence[Any], watched: frozenset[int]) -> bool:
    """Tell whether nobody can change them without being noticed."""
    return all(type(each) is tuple or id(each) in watched for each in containers)


class TakenRow(list[Any]):
    """One of several rows; whoever changes it changes that row, and ties the program to it."""

    def __init__(self, rows: Any, index: TracedNumber) -> None:
        super().__init__(index._taken_from(rows))
        self._source: Callable[[], Any] = lambda: rows[index]  # asked, it leaves a guard


def _changing(name: str) -> Any:
    def change(self: TakenRow, *arguments: Any, **options: Any) -> Any:
        row = self._source()
        result = getattr(row, name)(*arguments, **options)
        list.__setitem__(self, slice(None), row)
        return self if result is row else result

    return change


for _name in ("append", "extend", "insert", "pop", "remove", "clear", "sort", "reverse"):
    setattr(TakenRow, _name, _changing(_name))
for _name in ("__setitem__", "__delitem__", "__iadd__", "__imul__"):
    setattr(TakenRow, _name, _changing(_name))


# ---- the code -----------------------------------------------------------------------------------


@lru_cache(maxsize=512)
def opened_code(code: CodeType) -> CodeType | None:
    """Return the same code with its subscripts open; None if there are none, or no source."""
    if not _has_something_to_open(code):
        return None
    lines = tuple(linecache.getlines(code.co_filename))
    text, flags = _statement_at(lines, code.co_firstlineno), code.co_flags & _FUTURES
    pair = (
        _compiled_again(text, code.co_filename, flags, _module_of(lines).imported) if text else None
    )
    if pair is None:
        return None
    plain, opened = pair
    at = _places_of(plain).get(_place_of(code))
    return _places_of(opened).get(_place_of(code)) if at == code else None


def _statement_at(lines: tuple[str, ...], line: int) -> str:
    """Return the statement of a module that a line belongs to, where it stands: below empty lines.

    The other statements would take longer than the trace of a small function.
    """
    for first, last in _module_of(lines).statements:
        if first <= line <= last:
            return "\n" * (first - 1) + "".join(lines[first - 1 : last])
    return ""


class _Module(NamedTuple):
    """What is to be known of a source."""

    statements: list[tuple[int, int]]  # the first and the last line of each, or of some in a line
    imported: tuple[str, ...]  # names whose functions Python calls in a way of its own


@lru_cache(maxsize=32)
def _module_of(lines: tuple[str, ...]) -> _Module:
    """Read a module; where it is not Python, or too long, there is nothing in it."""
    source = "".join(lines)
    try:
        with _unwarned():
            module = ast.parse(source if len(source) < _LARGEST else "")
    except (SyntaxError, ValueError, RecursionError):
        return _Module([], ())
    found: list[tuple[int, int]] = []
    for node in module.body:
        first = min([node.lineno, *[each.lineno for each in getattr(node, "decorator_list", ())]])
        if found and first <= found[-1][1]:
            first, _ = found.pop()
        found.append((first, node.end_lineno or node.lineno))
    imports = [
        node for node in _own_nodes(module) if isinstance(node, (ast.Import, ast.ImportFrom))
    ]
    names = [alias.asname or alias.name.split(".")[0] for each in imports for alias in each.names]
    return _Module(found, tuple(sorted({*names} - {"*"})))


@contextmanager
def _unwarned() -> Iterator[None]:
    """Have nothing said of what is compiled again: of a text that is called; theirs, once."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SyntaxWarning)
        yield


@lru_cache(maxsize=512)
def _compiled_again(
    text: str, filename: str, flags: int, imported: tuple[str, ...]
) -> tuple[CodeType, CodeType] | None:
    """Compile a statement as it is and with open subscripts; None if it cannot be compiled."""
    try:
        with _unwarned():
            tree = ast.parse(text)
            if imported:
                names = ast.Import([ast.alias(name) for name in imported])
                tree.body.insert(0, ast.fix_missing_locations(names))
            plain = compile(tree, filename, "exec", flags, dont_inherit=True)
            opened = compile(_Opening().visit(tree), filename, "exec", flags, dont_inherit=True)
    except (SyntaxError, ValueError, RecursionError):
        return None
    return plain, _with_calls(opened)


class _Opening(ast.NodeTransformer):
    """Writes x[k] as a call, except in functions that ask for an id, and `x is y`."""

    _is_asked = False  # whether the function that is being read does

    def visit_FunctionDef(self, node: Any) -> Any:
        """Read a function, and what is defined in it by itself."""
        outer, self._is_asked = self._is_asked, any(map(_is_id, _own_nodes(node)))
        self.generic_visit(node)
        self._is_asked = outer
        return node

    visit_AsyncFunctionDef = visit_Lambda = visit_FunctionDef  # noqa: N815

    def visit_Subscript(self, node: ast.Subscript) -> Any:
        """Write x[k] as item(x, k), unless k is written out or a slice."""
        self.generic_visit(node)
        is_plain = isinstance(node.slice, (ast.Constant, ast.Slice, ast.Tuple, ast.Starred))
        if is_plain or self._is_asked or not isinstance(node.ctx, ast.Load):
            return node
        return _called(_MARK, node, node.value, node.slice)

    def visit_Compare(self, node: ast.Compare) -> Any:
        """Write x is y as a call, unless one of them is None, True or another constant."""
        self.generic_visit(node)
        sides = (node.left, *node.comparators)
        if not isinstance(node.ops[0], (ast.Is, ast.IsNot)) or len(sides) > 2:
            return node
        if any(isinstance(side, ast.Constant) for side in sides):
            return node
        call = _called(_IS_MARK, node, *sides)
        if isinstance(node.ops[0], ast.Is):
            return call
        return ast.copy_location(ast.UnaryOp(ast.copy_location(ast.Not(), node), call), node)


def _called(mark: str, node: ast.expr, *arguments: ast.expr) -> Any:
    call = ast.Call(ast.copy_location(ast.Constant(mark), node), [*arguments], [])
    return ast.copy_location(call, node)


def _own_nodes(function: ast.AST) -> Iterator[ast.AST]:
    """Walk over what is written in a function, without the functions that are defined there."""
    waiting = list(ast.iter_child_nodes(function))
    while waiting:
        node = waiting.pop()
        yield node
        if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)):
            waiting += ast.iter_child_nodes(node)


def _is_id(node: ast.AST) -> bool:
    return isinstance(node, ast.Name) and node.id == "id"


_CALLED: dict[str, Any] = {_MARK: item, _IS_MARK: is_the_same}


def _with_calls(code: CodeType) -> CodeType:
    """Put the functions themselves where their marks stand."""

    def made(constant: Any) -> Any:
        if isinstance(constant, CodeType):
            return _with_calls(constant)
        return _CALLED.get(constant, constant) if type(constant) is str else constant

    return code.replace(co_consts=tuple(map(made, code.co_consts)))


def _place_of(code: CodeType) -> tuple[Any, ...]:
    return code.co_qualname, code.co_firstlineno, code.co_argcount, code.co_freevars


@lru_cache(maxsize=64)
def _places_of(module: CodeType) -> dict[tuple[Any, ...], CodeType | None]:
    """Return the code of all functions by their place; None where two have the same."""
    found: dict[tuple[Any, ...], CodeType | None] = {}
    waiting = [module]
    while waiting:
        code = waiting.pop()
        found[_place_of(code)] = None if _place_of(code) in found else code
        waiting += [each for each in code.co_consts if isinstance(each, CodeType)]
    return found


def _has_something_to_open(code: CodeType) -> bool:
    for step in dis.get_instructions(code):
        if step.opname in ("BINARY_SUBSCR", "IS_OP") or step.argrepr == "[]":
            return True
    return any(
        _has_something_to_open(each) for each in code.co_consts if isinstance(each, CodeType)
    )
