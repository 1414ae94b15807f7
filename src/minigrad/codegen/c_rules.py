"""The op table as a C header, for the native engine: `header()` returns its text.

Each rule of one or two operands is run once on symbols, which write down what is done to them, and
printed as a C function. So the formulas stay in `ops.py` alone. The build writes the text to a
file; a test compiles it and compares it with the rules, bit for bit.

A choice becomes `?:`, so that only the side that is needed is computed; what is used twice becomes
a local variable; and what is rarely needed stands in a block behind an `if`.
"""

from __future__ import annotations

import math
from operator import attrgetter
from typing import Any

from ..core.ops import TABLE, Op
from ..maths.symbols import Symbol, SymbolMath, postorder, symbol_of

NEEDED = attrgetter("needed")
# Words of a mathematics that C spells differently; all others are the functions of math.h.
_SPELLING = {"abs": "fabs"}
_OPERATORS = {
    "add": "({} + {})",
    "sub": "({} - {})",
    "mul": "({} * {})",
    "div": "({} / {})",
    "neg": "(-{})",
    "where": "({} ? {} : {})",
}
_TESTS = {
    "less": "({} < {})",
    "less_equal": "({} <= {})",
    "equal": "({} == {})",
    "and_": "({} && {})",
    "or_": "({} || {})",
}
PATTERNS = _OPERATORS | _TESTS  # of words that are not functions
C_WORDS = frozenset({*dir(math), *_SPELLING, *PATTERNS})
C_MATH = SymbolMath(C_WORDS)


def is_test(symbol: Symbol) -> bool:
    """Tell whether a symbol is true or false."""
    return symbol.word in _TESTS


def c_name(symbol: Symbol) -> str:
    """Spell a name, a number or the name of a function."""
    if isinstance(symbol.word, float):
        return literal(symbol.word)
    return _SPELLING.get(symbol.word, symbol.word)


def _written(symbol: Symbol, parts: list[str]) -> str:
    """Write a symbol in C, given its parts."""
    if symbol.word in PATTERNS:
        return PATTERNS[symbol.word].format(*parts)
    return f"{c_name(symbol)}({', '.join(parts)})" if parts else c_name(symbol)


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
    written = _statements(symbol_of(result), {}, lines, 1)
    arguments = "".join(f", double {parameter}" for parameter in parameters)
    unused = "".join(f" (void){parameter};" for parameter in ["m", *parameters])
    body = "".join(f"{line}\n" for line in lines)
    return (
        f"static double {name}(PyObject *m{arguments})\n{{\n   {unused}\n"
        f"{body}    return {written};\n}}\n"
    )


def _statements(root: Symbol, known: dict[int, str], lines: list[str], depth: int) -> str:
    """Write what a symbol needs first: local variables for what is used twice; return it.

    `known` has the symbols that have been written outside, by id.
    """
    order = postorder(root, NEEDED)
    uses: dict[int, int] = {id(root): 1}
    for symbol in order:
        for part in symbol.needed:
            uses[id(part)] = uses.get(id(part), 0) + 1
    text = dict(known)
    margin = "    " * depth
    for symbol in order:
        if id(symbol) in known:
            continue
        variable = f"t{depth}_{len(lines)}"
        parts = [text[id(part)] for part in symbol.needed]
        if symbol.word == "usually":
            holds, usual = parts
            lines.append(f"{margin}double {variable} = {usual};")
            lines.append(f"{margin}if (!USUALLY({holds})) {{")
            written = _statements(symbol.parts[2], text, lines, depth + 1)
            lines.append(f"{margin}    {variable} = {written};\n{margin}}}")
            text[id(symbol)] = variable
            continue
        written = _written(symbol, parts)
        if uses[id(symbol)] > 1 and parts:
            kind = "int" if is_test(symbol) else "double"
            lines.append(f"{margin}const {kind} {variable} = {written};")
            written = variable
        text[id(symbol)] = written
    return text[id(root)]


def _rules(op: Op) -> list[tuple[str, str, list[str], Any]]:
    """List (table, C name, parameters, symbol) for the value and the partials of a row."""
    names = ["a", "b"][: op.arity]
    arguments = list(map(Symbol, names))
    rules = [(f"value{op.arity}", f"op_{op.name}", names, op.value(C_MATH, *arguments))]
    for place, partial in zip(("first", "second"), op.partials, strict=False):
        slope = partial(C_MATH, Symbol("y"), *arguments)
        rules.append((f"{place}{op.arity}", f"op_{op.name}_{place}", ["y", *names], slope))
    return rules


def header() -> str:
    """Return the header: codes, a function per rule, and a table of functions per kind of rule."""
    functions = []
    names = ("value1", "first1", "value2", "first2", "second2")
    tables: dict[str, dict[int, str]] = {name: {} for name in names}
    for op in TABLE:
        if op.arity in (1, 2):
            for table, name, parameters, result in _rules(op):
                functions.append(_function(name, parameters, result))
                tables[table][op.code] = name
    codes = "".join(f"    CODE_{op.name.upper()} = {op.code},\n" for op in TABLE)
    parts = [_HEAD, f"enum {{\n{codes}}};\n", *functions]
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
