"""Mathematics on symbols: what a rule of `ops.py` does is written down, as a tree.

A symbol is a name, a number, or a word of the mathematics with its operands. Who runs a rule on
symbols reads the tree and turns it into something else: C (`codegen`), instructions (`expand`).
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable
from functools import partial
from typing import Any

__all__ = ["Symbol", "SymbolMath", "postorder", "symbol_of"]


class Symbol:
    """A number that is not known yet."""

    __slots__ = ("parts", "word")

    def __init__(self, word: str | float, *parts: Any) -> None:
        self.word = word  # "mul"; without parts a name, or a number
        self.parts = [symbol_of(part) for part in parts]

    def __add__(self, other: Any) -> Symbol:
        return Symbol("add", self, other)

    def __radd__(self, other: Any) -> Symbol:
        return Symbol("add", other, self)

    def __sub__(self, other: Any) -> Symbol:
        return Symbol("sub", self, other)

    def __rsub__(self, other: Any) -> Symbol:
        return Symbol("sub", other, self)

    def __mul__(self, other: Any) -> Symbol:
        return Symbol("mul", self, other)

    def __rmul__(self, other: Any) -> Symbol:
        return Symbol("mul", other, self)

    def __neg__(self) -> Symbol:
        return Symbol("neg", self)

    def __lt__(self, other: Any) -> Symbol:
        return Symbol("less", self, other)

    def __le__(self, other: Any) -> Symbol:
        return Symbol("less_equal", self, other)

    def __gt__(self, other: Any) -> Symbol:
        return Symbol("greater", self, other)

    def __ge__(self, other: Any) -> Symbol:
        return Symbol("greater_equal", self, other)

    def __and__(self, other: Any) -> Symbol:
        return Symbol("and_", self, other)

    def __or__(self, other: Any) -> Symbol:
        return Symbol("or_", self, other)

    def __bool__(self) -> bool:
        raise TypeError("a rule asked for the truth of a symbol; it must use m.where")

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
            raise AttributeError(word)
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
