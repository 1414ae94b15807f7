"""A running error analysis of eager graphs: how far other ways to compute may be from this one.

Every number has an `Entry`: a bound of its error, to the first order, and the doubts about it,
which are decisions that might come out otherwise within the bounds. A `Ledger` works them out, node
by node. `agreement.py` states what they are for. Start at `Ledger._analysed`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from math import inf, isfinite, isnan
from types import SimpleNamespace
from typing import Any

from scalar_code import TESTS

import minigrad
from minigrad import Value
from minigrad.core.ops import OPS, TABLE
from minigrad.functions import VALUES

EDGE, RANGE, ORDER, ZERO = 1, 2, 4, 8
REASONS = {EDGE: "edge", RANGE: "range", ORDER: "order", ZERO: "zero"}
UNIT = 4 * 2.0**-53
_TINY = 2.0**-1074
_LARGEST = 1.7976931348623157e308
_CLOSE = 1e-6  # how close to the end of the floats is close
_LOG2E = 1.4426950408889634
_MANY_TERMS = 200  # of a sum: beyond, what is under it counts as one term
_EXACT = {"neg", "where", "maximum", "minimum", "clip", "relu", "abs", "leaf"}
_SUMS = {"add", "sum", "dot"}
_GROWING = {"add", "sub", "sum", "dot", "mul", "div", "neg"}  # of finite numbers inf: too large
_CHOICES = {"maximum", "minimum", "clip"}
# Operands, by position, and the numbers where a rule jumps or bends.
_EDGES = {
    "relu": ((0, 0.0),),
    "abs": ((0, 0.0),),
    "leaky_relu": ((0, 0.0),),
    "log": ((0, 0.0),),
    "sqrt": ((0, 0.0),),
    "log1p": ((0, -1.0),),
    "asin": ((0, -1.0), (0, 1.0)),
    "acos": ((0, -1.0), (0, 1.0)),
    "div": ((1, 0.0),),
    "pow": ((0, 0.0),),
    "pow_slope": ((0, 0.0),),
    "pow_log": ((0, 0.0),),
}
# Slopes that are rows of their own: what was a formula of several nodes is one, and so rounded more
# often than others.
SLOPES = {"bell", "hypot_slope", "atan2_slope", "pow_slope", "pow_log", "log_add"}
_POWERS = {"pow", "pow_slope", "pow_log"}


@dataclass(frozen=True, slots=True)
class Entry:
    """What the analysis knows of a number."""

    number: float
    error: float = 0.0
    doubts: int = 0
    is_loose: bool = False  # a zero that may have either sign
    terms: tuple[float, ...] = ()  # of a sum
    who: Any = None  # the same for the same expression, computed once more
    has_overflowed: bool = False  # infinite, though all that it was made of is finite

    def may_be(self, x: float) -> bool:
        """Tell whether the bound includes `x`; an exact number is on no edge."""
        return self.error > 0.0 and abs(self.number - x) <= self.error


class Ledger:
    """A bound of the error, and doubts, for every node of an eager graph."""

    def __init__(self) -> None:
        self.entries: dict[int, Entry] = {}
        self.whos: dict[Any, Any] = {}
        self.alive: list[Value] = []  # ids stay theirs

    def entry(self, x: Any) -> Entry:
        if not isinstance(x, Value):
            return Entry(float(x), who=float(x).hex())
        known = self.entries.get(id(x))
        if known is not None:
            return known
        stack = [x]
        while stack:
            node = stack[-1]
            if id(node) in self.entries:
                stack.pop()
                continue
            missing = [a for a in node._links() if id(a) not in self.entries]
            if missing:
                stack += missing
                continue
            stack.pop()
            self.put(node, self._analysed(node))
        return self.entries[id(x)]

    def put(self, node: Value, entry: Entry) -> None:
        self.entries[id(node)] = entry
        self.alive.append(node)

    def _analysed(self, node: Value) -> Entry:
        y: float = node.data
        name = TABLE[node._code].name
        links = node._links_and_partials()
        if not links:
            return Entry(y, who=id(node))
        error, doubts, is_loose = 0.0, 0, name in _SUMS
        for operand, partial in links:
            known = self.entries[id(operand)]
            doubts |= known.doubts
            is_loose |= known.is_loose
            if known.error:
                error += abs(partial) * known.error
        operands = [self.entry(x) for x in node._arguments()]
        who = self.whos.setdefault((name, *(x.who for x in operands)), id(node))
        if name in ("sub", "div") and operands[0].who == operands[1].who and isfinite(y):
            return Entry(y, 0.0, doubts, False, (), who)  # 0 or 1, whatever the operand is
        if name == "div" or name in _POWERS:
            error = max(error, _by_quotient(name, y, *operands))
        if name in _CHOICES:  # one of the operands, whatever the slope is said to be
            error = max(x.error for x in operands)
        terms: tuple[float, ...] = ()
        if name in _SUMS:
            terms = _terms(name, operands)
            error += UNIT * sum(map(abs, terms)) if isfinite(y) else 0.0
            doubts |= ORDER if depends_on_order(terms) else 0
            if name == "dot" and 0.0 < max(map(abs, terms), default=0.0) < 1e-290:
                error += len(terms) * _TINY
        elif name not in _EXACT and not _is_exact(name, y, operands):
            error += (3.0 if name in SLOPES else 1.0) * (UNIT * abs(y) + _TINY)
        doubts |= _doubts(name, y, operands)
        if not isfinite(y):
            error = 0.0
        elif not abs(y) + error < _LARGEST * (1.0 - _CLOSE):
            doubts |= RANGE
            error = inf if isnan(error) else error
        infinite = [x for x in operands if not isfinite(x.number)]
        has_overflowed = all(x.has_overflowed for x in infinite)
        if name in _SUMS and isnan(y) and infinite and has_overflowed:
            doubts |= ORDER
        is_pole = name not in _GROWING or (name == "div" and operands[1].number == 0.0)
        has_overflowed &= abs(y) == inf and not is_pole
        return Entry(y, error, doubts, is_loose and y == 0.0, terms, who, has_overflowed)

    # ---- what is no node of its own -------------------------------------------------------------

    def mathematics(self) -> SimpleNamespace:
        """What the rules of the op table are run with: a number that they hold keeps its error."""
        return SimpleNamespace(**{**vars(VALUES), "number": self.held})

    def held(self, x: Any) -> Value:
        """The number of `x`, which no gradient passes but errors do."""
        leaf = Value(x.data if isinstance(x, Value) else x)
        self.put(leaf, self.entry(x))
        return leaf

    def doubted(self, x: Any, doubts: int) -> Value:
        """`x` as a node of its own that depends on a decision."""
        node = minigrad.where(True, x, x) if isinstance(x, Value) else Value(x)
        known = self.entry(x)
        self.put(node, replace(known, doubts=known.doubts | doubts))
        return node


def _by_quotient(name: str, y: float, a: Entry, b: Entry) -> float:
    """The error that a divisor or a base brings, where the slope itself is below all floats."""
    x, power = (b, 1.0) if name == "div" else (a, abs(b.number) + (name != "pow"))
    return abs(y) * power * (x.error / abs(x.number)) if x.number else 0.0


def _is_exact(name: str, y: float, operands: list[Entry]) -> bool:
    """Tell whether a result of 0 comes from a 0, so that nothing was rounded."""
    return y == 0.0 and (
        name not in ("mul", "div") or any(x.number == 0.0 and not x.error for x in operands)
    )


def _terms(name: str, operands: list[Entry]) -> tuple[float, ...]:
    """The terms of a sum, with those of the sums under it."""
    if name == "dot":
        half = len(operands) // 2
        pairs = zip(operands[:half], operands[half:], strict=True)
        return tuple(a.number * b.number for a, b in pairs)
    terms: list[float] = []
    for x in operands:
        terms += x.terms or (x.number,)
    return tuple(terms) if len(terms) <= _MANY_TERMS else tuple(x.number for x in operands)


def depends_on_order(terms: tuple[float, ...]) -> bool:
    """Tell whether a sum overflows in some order and not, or to something else, in another."""
    finite = [t for t in terms if isfinite(t)]
    if max(map(abs, finite), default=0.0) < 1e290 or any(map(isnan, terms)):
        return False
    scale = 2.0**-20
    limit = _LARGEST * scale
    up = sum(t * scale for t in finite if t > 0.0)
    down = -sum(t * scale for t in finite if t < 0.0)
    high, low = (part > limit * (1.0 - _CLOSE) for part in (up, down))
    if inf in terms or -inf in terms:
        return (low if inf in terms else high) and not (inf in terms and -inf in terms)
    return (high and low) or ((high or low) and abs(up - down) <= limit * (1.0 + _CLOSE))


def _doubts(name: str, y: float, operands: list[Entry]) -> int:
    """What may come out otherwise if the operands are a little different."""
    found = 0
    for which, threshold in _EDGES.get(name, ()):
        if operands[which].may_be(threshold):
            found |= EDGE
    if name in ("maximum", "minimum"):
        found |= _compared(operands[0], operands[1])
    elif name == "clip":
        found |= _compared(operands[0], operands[1]) | _compared(operands[0], operands[2])
    elif name == "mul":
        for one, other in (operands, operands[::-1]):
            if abs(one.number) == inf and other.may_be(0.0):
                found |= EDGE
    elif name in _POWERS:
        base, exponent = operands
        n = exponent.number
        if base.number < 0.0 and isfinite(n) and exponent.may_be(round(n)):
            found |= EDGE
    elif name in ("atan2", "hypot", "atan2_slope", "hypot_slope"):
        y_may_be, x_may_be = (x.may_be(0.0) or x.number == 0.0 for x in operands)
        cut = name == "atan2" and operands[0].may_be(0.0) and operands[1].number < 0.0
        if cut or (y_may_be and x_may_be and (operands[0].error or operands[1].error)):
            found |= EDGE
    loose = {"div": operands[1:], "atan2": operands}.get(name, ())
    loose = operands[:1] if name in _POWERS else loose
    if any(x.is_loose for x in loose):
        found |= ZERO
    if abs(y) == inf and all(isfinite(x.number) for x in operands):
        found |= _just_beyond(name, operands)
    return found


def _compared(a: Entry, b: Entry) -> int:
    """Tell whether a comparison may come out otherwise; not of an expression with itself."""
    error = 0.0 if a.who is not None and a.who == b.who else a.error + b.error
    return EDGE if error > 0.0 and abs(a.number - b.number) <= error else 0


def _just_beyond(name: str, operands: list[Entry]) -> int:
    """Tell whether an overflow is so close to the limit that a rounding may undo it."""
    x = operands[0].number
    n = operands[-1].number
    size = 0.0  # the exponent of the result, as it would be
    if name in ("mul", "div") and x and n:
        size = math.log2(abs(x)) + (1 if name == "mul" else -1) * math.log2(abs(n))
    elif name == "atan2_slope" and x:
        size = math.log2(abs(x)) - 2.0 * (math.log2(math.hypot(x * 2.0**500, n * 2.0**500)) - 500.0)
    elif name == "pow_slope" and x and n:
        size = (n - 1.0) * math.log2(abs(x)) + math.log2(abs(n))
    elif name in ("pow", "pow_log") and x:
        size = n * math.log2(abs(x))
    elif name in ("exp", "expm1", "exp_sub"):
        size = (x - (n if name == "exp_sub" else 0.0)) * _LOG2E
    elif name in ("sinh", "cosh"):
        size = abs(x) * _LOG2E - 1.0
    elif name in ("hypot", "sub"):
        size = math.log2(abs(OPS[name].value(minigrad.maths.floats, x / 4.0, n / 4.0))) + 2.0
    spread = 0.0
    for operand in operands:
        spread += operand.error / abs(operand.number) if operand.number else 0.0
    return RANGE if abs(size - 1024.0) <= _CLOSE * 1024.0 + 1024.0 * spread else 0


# ---- steps of a program --------------------------------------------------------------------------


@dataclass
class Test:
    """The outcome of a comparison, and whether it might have been the other one."""

    holds: bool
    doubts: int


def evaluate(tree: Any, values: list[Any], ledger: Ledger) -> Any:
    """Run a step on Values, and tell the ledger of what the graph does not show."""
    if not isinstance(tree, tuple):
        return values[tree] if type(tree) is int else tree
    word = tree[0]
    plain = word.rpartition(".")[2]
    if word == "take":
        index = tree[1]
        at = values[index[1]] if isinstance(index, tuple) else int(index)
        return ledger.doubted(evaluate(tree[2:][at], values, ledger), 0)
    if plain in ("softmax", "log_softmax"):
        xs = [evaluate(x, values, ledger) for x in tree[2:]]
        found = OPS[plain].value(ledger.mathematics(), *xs)[int(tree[1])]
        return found if isinstance(found, Value) else Value(found)
    xs = [evaluate(x, values, ledger) for x in tree[1:]]
    if word in TESTS:
        a, b = (ledger.entry(x) for x in xs)
        p, q = a.number, b.number
        holds = {"less": p < q, "less_equal": p <= q, "greater": p > q, "greater_equal": p >= q}
        return Test(holds[word], a.doubts | b.doubts | _compared(a, b))
    if word in ("both", "either", "but_not"):
        p, q = (x.holds for x in xs)
        holds = {"both": p and q, "either": p or q, "but_not": p and not q}[word]
        return Test(holds, xs[0].doubts | xs[1].doubts)
    if plain in ("where", "if"):
        return ledger.doubted(xs[1] if xs[0].holds else xs[2], xs[0].doubts)
    if word in ("read", "detach", "float", "no_grad"):
        return ledger.held(xs[0])
    if word == "round":
        known = ledger.entry(xs[0])
        number = round(known.number, 1)
        jump = known.error and isfinite(number) and 0.05 - abs(number - known.number) <= known.error
        leaf = Value(number)
        ledger.put(leaf, Entry(number, 0.0, known.doubts | (EDGE if jump else 0)))
        return leaf
    if word in ("builtin.max", "builtin.min"):
        chosen = max(xs) if word == "builtin.max" else min(xs)
        known = ledger.entry(chosen)
        doubts = 0
        for x in xs:
            other = ledger.entry(x)
            doubts |= other.doubts | (_compared(known, other) if x is not chosen else 0)
        return ledger.doubted(chosen, doubts)
    if word == "leaf":
        return Value(xs[0])
    if word == "builtin.sum":
        return sum(xs)
    if plain == "logsumexp":
        return OPS[plain].value(ledger.mathematics(), *xs)
    return minigrad.scalar.apply(OPS[plain], *xs)
