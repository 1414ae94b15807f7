"""Symbols write down what a rule does: read back on floats, every rule gives the same bits."""

from __future__ import annotations

import math
import operator

import pytest

from minigrad.core.ops import TABLE
from minigrad.maths import floats
from minigrad.maths.symbols import Symbol, SymbolMath, postorder, symbol_of

OPERATORS = {
    "add": operator.add,
    "sub": operator.sub,
    "mul": operator.mul,
    "neg": operator.neg,
    "less": operator.lt,
    "less_equal": operator.le,
    "and_": operator.and_,
    "or_": operator.or_,
    "usually": floats.where,
}
RULES = {
    f"{op.name}/{which}": (op, rule)
    for op in TABLE
    if op.arity in (1, 2)
    for which, rule in enumerate([None, *op.partials])
}


def worth(root, known):
    found = {}
    for symbol in postorder(symbol_of(root), lambda each: each.parts):
        parts = [found[part] for part in symbol.parts]
        if not parts:
            found[symbol] = known.get(symbol.word, symbol.word)
        else:
            found[symbol] = (OPERATORS.get(symbol.word) or getattr(floats, symbol.word))(*parts)
    return found[symbol_of(root)] if isinstance(root, Symbol) else float(root)


@pytest.mark.parametrize("name", RULES)
def test_a_rule_read_back_gives_the_same_bits(name):
    op, rule = RULES[name]
    m = SymbolMath(dir(floats))
    for numbers in ([0.5, 2.0], [-1.25, 0.75], [3.0, -2.0], [0.0, 0.0], [math.inf, 1.0]):
        known = dict(zip("ab", numbers[: op.arity], strict=False))
        if rule is None:
            found = worth(op.value(m, *map(Symbol, known)), known)
            expected = op.value(floats, *known.values())
        else:
            known = {"y": op.value(floats, *known.values()), **known}
            found = worth(rule(m, *map(Symbol, known)), known)
            expected = rule(floats, *known.values())
        assert float(found).hex() == float(expected).hex(), known


def test_what_is_rarely_needed_is_apart():
    m, x = SymbolMath(()), Symbol("x")
    choice = m.usually(x < 1.0, x, lambda: x * 2.0)
    assert [part.word for part in choice.needed] == ["less", "x"]
    assert [part.word for part in choice.parts] == ["less", "x", "mul"]


def test_words_that_are_not_there_and_the_truth_of_a_symbol():
    with pytest.raises(AttributeError, match="gamma"):
        SymbolMath({"exp"}).gamma(Symbol("x"))
    with pytest.raises(TypeError, match="use m.where"):
        bool(Symbol("x") < 1.0)
