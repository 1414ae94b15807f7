"""The op table as a C header, for the compiled engine: `header()` returns its text.

Each rule of one or two operands is run once on terms, which write down what is done to them, and
printed as a C function. So the formulas stay in `ops.py` alone. The build writes the text to a
file; a test compiles it and compares it with the rules, bit for bit.

A choice becomes `?:`, so that only the side that is needed is computed; what is used twice becomes
a local variable; and what is rarely needed stands in a block behind an `if`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from ..core.ops import TABLE, Op

__all__ = ["TESTS", "Rarely", "Term", "TermMath", "as_term", "header", "literal", "postorder"]

# Words of a mathematics that C spells differently; all others are the functions of math.h.
_SPELLING = {"abs": "fabs"}


class Term:
    """An expression in C, with the terms it is made of."""

    def __init__(self, pattern: str, *parts: Any) -> None:
        self.pattern = pattern  # such as "({} + {})"
        self.parts = [as_term(part) for part in parts]

    def __add__(self, other: Any) -> Term:
        return Term("({} + {})", self, other)

    def __radd__(self, other: Any) -> Term:
        return Term("({} + {})", other, self)

    def __sub__(self, other: Any) -> Term:
        return Term("({} - {})", self, other)

    def __rsub__(self, other: Any) -> Term:
        return Term("({} - {})", other, self)

    def __mul__(self, other: Any) -> Term:
        return Term("({} * {})", self, other)

    def __rmul__(self, other: Any) -> Term:
        return Term("({} * {})", other, self)

    def __neg__(self) -> Term:
        return Term("(-{})", self)

    def __lt__(self, other: Any) -> Term:
        return Term("({} < {})", self, other)

    def __le__(self, other: Any) -> Term:
        return Term("({} <= {})", self, other)

    def __gt__(self, other: Any) -> Term:
        return Term("({} > {})", self, other)

    def __ge__(self, other: Any) -> Term:
        return Term("({} >= {})", self, other)

    def __and__(self, other: Any) -> Term:
        return Term("({} && {})", self, other)

    def __or__(self, other: Any) -> Term:
        return Term("({} || {})", self, other)

    def __bool__(self) -> bool:
        raise TypeError("a rule asked for the truth of a term; it must use m.where")


class Rarely(Term):
    """What is usually its second part, if the first, a test, holds; else what is `otherwise`."""

    def __init__(self, holds: Any, usual: Any, otherwise: Any) -> None:
        super().__init__("", holds, usual)
        self.otherwise = as_term(otherwise)


class TermMath:
    """The mathematics of terms: every word is written down as a call."""

    rows: Mapping[str, Callable[..., Term]] = MappingProxyType({})  # that are one word: none

    @staticmethod
    def div(a: Any, b: Any) -> Term:
        return Term("({} / {})", a, b)

    @staticmethod
    def where(condition: Any, a: Any, b: Any) -> Term:
        return Term("({} ? {} : {})", condition, a, b)

    @staticmethod
    def usually(holds: Any, usual: Any, otherwise: Callable[[], Any]) -> Term:
        return Rarely(holds, usual, otherwise())

    @staticmethod
    def equal(a: Any, b: Any) -> Term:
        return Term("({} == {})", a, b)

    @staticmethod
    def number(x: Any) -> Any:
        return x

    def __getattr__(self, word: str) -> Callable[..., Term]:
        name = _SPELLING.get(word, word)
        if not hasattr(math, name):
            raise AttributeError(word)
        return lambda *xs: Term(f"{name}({', '.join(['{}'] * len(xs))})", *xs)


def as_term(x: Any) -> Term:
    """Make a term of a number; a term is one already."""
    return x if isinstance(x, Term) else Term(literal(float(x)))


def literal(x: float) -> str:
    """Write a number so that C reads the same bits."""
    if math.isnan(x):
        return "NAN"
    if math.isinf(x):
        return "INFINITY" if x > 0 else "(-INFINITY)"
    return x.hex() if math.copysign(1.0, x) > 0 else f"({x.hex()})"


def _function(name: str, parameters: list[str], result: Any) -> str:
    """Print a C function."""
    lines: list[str] = []
    written = _statements(as_term(result), {}, lines, 1)
    arguments = "".join(f", double {parameter}" for parameter in parameters)
    unused = "".join(f" (void){parameter};" for parameter in ["m", *parameters])
    body = "".join(f"{line}\n" for line in lines)
    return (
        f"static double {name}(PyObject *m{arguments})\n{{\n   {unused}\n"
        f"{body}    return {written};\n}}\n"
    )


def _statements(root: Term, known: dict[int, str], lines: list[str], depth: int) -> str:
    """Write what a term needs first: local variables for terms that are used twice; return it.

    `known` has the terms that have been written outside, by id.
    """
    order = postorder(root)
    uses: dict[int, int] = {id(root): 1}
    for term in order:
        for part in term.parts:
            uses[id(part)] = uses.get(id(part), 0) + 1
    text = dict(known)
    margin = "    " * depth
    for term in order:
        if id(term) in known:
            continue
        variable = f"t{depth}_{len(lines)}"
        if isinstance(term, Rarely):
            holds, usual = (text[id(part)] for part in term.parts)
            lines.append(f"{margin}double {variable} = {usual};")
            lines.append(f"{margin}if (!USUALLY({holds})) {{")
            written = _statements(term.otherwise, text, lines, depth + 1)
            lines.append(f"{margin}    {variable} = {written};\n{margin}}}")
            text[id(term)] = variable
            continue
        written = term.pattern.format(*[text[id(part)] for part in term.parts])
        if uses[id(term)] > 1 and term.parts:
            kind = "int" if any(f" {sign} " in term.pattern for sign in TESTS) else "double"
            lines.append(f"{margin}const {kind} {variable} = {written};")
            written = variable
        text[id(term)] = written
    return text[id(root)]


TESTS = ("<", "<=", ">", ">=", "==", "&&", "||")


def postorder(root: Term) -> list[Term]:
    """Parts before wholes; rules are a few dozen terms, and nested less than that."""
    order: list[Term] = []
    seen: set[int] = set()

    def visit(term: Term) -> None:
        if id(term) not in seen:
            seen.add(id(term))
            for part in term.parts:
                visit(part)
            order.append(term)

    visit(root)
    return order


def _rules(op: Op) -> list[tuple[str, str, list[str], Any]]:
    """List (table, C name, parameters, term) for the value and the partials of a row."""
    m = TermMath()
    names = ["a", "b"][: op.arity]
    arguments = [Term(name) for name in names]
    rules = [(f"value{op.arity}", f"op_{op.name}", names, op.value(m, *arguments))]
    for place, partial in zip(("first", "second"), op.partials, strict=False):
        term = partial(m, Term("y"), *arguments)
        rules.append((f"{place}{op.arity}", f"op_{op.name}_{place}", ["y", *names], term))
    return rules


def header() -> str:
    """Return the header: a function per rule, and a table of functions per kind of rule."""
    functions = []
    tables: dict[str, dict[int, str]] = {
        name: {} for name in ("value1", "first1", "value2", "first2", "second2")
    }
    for op in TABLE:
        if op.arity in (1, 2):
            for table, name, parameters, term in _rules(op):
                functions.append(_function(name, parameters, term))
                tables[table][op.code] = name
    parts = [_HEAD, *functions]
    for table, entries in tables.items():
        doubles = ", double" * (int(table[-1]) + (not table.startswith("value")))
        places = "".join(f"    [{code}] = {name},\n" for code, name in entries.items())
        parts.append(
            f"static double (*const {table}[{len(TABLE)}])(PyObject *{doubles}) = {{\n{places}}};\n"
        )
    return "\n".join([*parts, "#endif\n"])


_HEAD = """/* Made from the op table by minigrad/codegen/c_rules.py; do not edit. */
#ifndef MINIGRAD_OPS_H
#define MINIGRAD_OPS_H
#include <math.h>
#ifdef __GNUC__
#define USUALLY(test) __builtin_expect(test, 1)
#else
#define USUALLY(test) (test)
#endif
"""
