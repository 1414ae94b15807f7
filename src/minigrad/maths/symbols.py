"""Mathematics on symbols: what a rule of `ops.py` does is written down, as a tree.

A symbol is a name, a number, or a word of the mathematics with its operands. Who runs a rule on
symbols reads the tree and turns it into something else: C (`codegen`), rows, instructions.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable
from functools import partial
from typing import Any

_Method = Callable[["Symbol", Any], "Symbol"]


def _operator(word: str) -> tuple[_Method, _Method]:
    """Make the methods of a binary operator, for a symbol on its left and on its right."""
    return lambda a, b: Symbol(word, a, b), lambda b, a: Symbol(word, a, b)


class Symbol:
    """A number that is not known yet."""

    __slots__ = ("parts", "word")
    __array_ufunc__ = None  # NumPy is to leave arithmetic with symbols alone

    def __init__(self, word: str | float, *parts: Any) -> None:
        self.word = word  # "mul"; without parts a name, or a number
        self.parts = [symbol_of(part) for part in parts]

    __add__, __radd__ = _operator("add")
    __sub__, __rsub__ = _operator("sub")
    __mul__, __rmul__ = _operator("mul")
    __truediv__, __rtruediv__ = _operator("div")
    __pow__, __rpow__ = _operator("pow")
    __lt__, __gt__ = _operator("less")
    __le__, __ge__ = _operator("less_equal")
    __and__, _ = _operator("and_")
    __or__, _ = _operator("or_")

    def __neg__(self) -> Symbol:
        return Symbol("neg", self)

    def __abs__(self) -> Symbol:
        return Symbol("abs", self)

    def __bool__(self) -> bool:
        raise TypeError("a rule asked for the truth of a symbol; it must use m.where")

    def __float__(self) -> float:
        raise TypeError("a rule asked a symbol for its number; it must use m, as in m.sqrt(x)")

    @property
    def needed(self) -> list[Symbol]:
        """The parts without the one that is rarely needed: the third of `usually`."""
        return self.parts[:2] if self.word == "usually" else self.parts


def symbol_of(x: Any) -> Symbol:
    """Make a symbol of a number; a symbol is one already."""
    return x if isinstance(x, Symbol) else Symbol(float(x))


class SymbolMath:
    """The mathematics of symbols: it has these words, and `rows` of the op table as one word."""

    def __init__(
        self,
        words: Container[str],
        rows: Iterable[str] = (),
        number: Callable[[Any], Any] = lambda x: x,
    ) -> None:
        self._words = words
        self.rows = {name: partial(Symbol, name) for name in rows}
        self.number = number

    @staticmethod
    def usually(holds: Any, usual: Any, otherwise: Callable[[], Any]) -> Symbol:
        return Symbol("usually", holds, usual, otherwise())

    def __getattr__(self, word: str) -> Callable[..., Symbol]:
        if word not in self._words:
            raise AttributeError(f"the mathematics of a rule has no {word!r}.")
        return partial(Symbol, word)


def postorder(root: Symbol, parts: Callable[[Symbol], list[Symbol]]) -> list[Symbol]:
    """Parts before wholes; rules are a few dozen symbols, and nested less than that."""
    order: list[Symbol] = []
    seen: set[int] = set()

    def visit(symbol: Symbol) -> None:
        if id(symbol) not in seen:
            seen.add(id(symbol))
            for part in parts(symbol):
                visit(part)
            order.append(symbol)

    visit(root)
    return order
