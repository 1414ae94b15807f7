"""What a `map` instruction can do to each element: the rows of the op table, and a few more.

The build reads this module when it makes the native kernels, so it needs nothing but the table.
"""

from __future__ import annotations

from typing import Any

from ..core.ops import TABLE, Op


def _flag(m: Any, condition: Any) -> Any:
    return m.where(condition, 1.0, 0.0)


def _extra(name: str, arity: int, value: Any, partials: tuple[Any, ...] = ()) -> None:
    """A row that only programs have: tests, as 1.0 and 0.0, and a number that is not followed."""
    code = len(TABLE) + len(_EXTRA)
    partials = partials or (lambda m, y, *xs: 0.0,) * arity
    _EXTRA.append(Op(name, code, name, arity, value, partials, None, (), (), "", False))


_EXTRA: list[Op] = []
_extra("less", 2, lambda m, a, b: _flag(m, a < b))
_extra("less_equal", 2, lambda m, a, b: _flag(m, a <= b))
_extra("equal", 2, lambda m, a, b: _flag(m, m.equal(a, b)))
_extra("and_", 2, lambda m, a, b: a * b)
_extra("or_", 2, lambda m, a, b: _flag(m, a + b > 0.0))
_extra("not_", 1, lambda m, a: 1.0 - a)
_extra("stop_gradient", 1, lambda m, a: a)
# A node made by hand, of a number, an operand, and the local derivative that somebody gave it.
_extra(
    "linear",
    3,
    lambda m, number, a, slope: number,
    (
        lambda m, y, number, a, slope: 1.0,
        lambda m, y, number, a, slope: slope,
        lambda m, y, number, a, slope: 0.0,
    ),
)

# Every operation that a `map` or `vjp` may name: the rows of one to three operands.
MAPS: dict[str, Op] = {
    op.name: op for op in [*TABLE, *_EXTRA] if op.arity in (1, 2, 3) and not op.is_composite
}
