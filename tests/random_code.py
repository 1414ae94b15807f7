"""Random programs, drawn with their first row of numbers at hand: see `scalar_code.py`.

A third of them are wild: nan, infinities, zeros of both signs and the ends of the floats are among
their numbers. The others seldom keep a step whose number runs away, so that most of what they
compute means something. Start at `random_program`.
"""

from __future__ import annotations

import random
from math import inf, isfinite, nan
from typing import Any

from error_bounds import Ledger, evaluate
from scalar_code import INFIX, LISTS, TESTS, Program, references

from minigrad import Value
from minigrad.core.ops import TABLE

UNARY = tuple(op.name for op in TABLE if op.arity == 1 and op.name != "bell")
PAIRS = ("atan2", "hypot", "maximum", "minimum", "leaky_relu")
SPECIAL = (0.0, -0.0, inf, -inf, nan, 1e308, -1e308, 1e-308, -1e-308, 5e-324, 1.0, -1.0, 1e-160,
           -1e160, 709.0, 1e16)  # fmt: skip
EXPONENTS = (2.0, 3.0, -1.0, 0.5, -2.0, 0.0, 1.0, 2.5, -0.5, 4.0)
BAD = (  # sides of a choice that are not chosen where they are bad
    lambda x: ("less", 0.0, x, ("log", x)),
    lambda x: ("less", 0.0, x, ("div", 1.0, x)),
    lambda x: ("less", 0.0, x, ("sqrt", x)),
    lambda x: ("less_equal", x, 1.0, ("minigrad.asin", x)),
    lambda x: ("greater", x, -1.0, ("log1p", x)),
    lambda x: ("less", x, 1.0, ("mul", x, inf)),
    lambda x: ("greater_equal", x, 0.0, ("add", x, nan)),
    lambda x: ("greater_equal", 2.0, x, ("exp", ("mul", x, 500.0))),
    lambda x: ("greater", x, 0.0, ("pow", x, -1.5)),
)


PATTERNS = """unary binary binary pair clip list take where bad_side read settle quiet leaf bracket
products layer attention again again largest""".split()


def random_program(rng: random.Random, most: int = 10) -> Program:
    """Draw a program of up to `most` patterns; `rng` may be hypothesis's, which then shrinks it."""
    drawing = _Drawing(rng)
    drawing.inputs()
    for _ in range(rng.randint(2, most)):
        drawing.pattern()
    return drawing.finished()


class _Drawing:
    """A program in the making, with the numbers of its first row."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.is_wild = rng.random() < 0.35  # infinities, nan and the ends of the floats
        self.kinds: list[str] = []
        self.steps: list[Any] = []
        self.values: list[Any] = []
        self.ledger = Ledger()

    # ---- numbers and operands ---------------------------------------------------------------

    def number(self) -> float:
        if self.is_wild and self.rng.random() < 0.12:
            return self.rng.choice(SPECIAL)
        x = self.rng.uniform(-2.0, 2.0)
        return round(x, 1) + 0.0 if self.rng.random() < 0.3 else x

    def input(self, kind: str) -> Any:
        return self.rng.randint(-2, 2) if kind == "int" else self.number()

    def inputs(self) -> None:
        rng = self.rng
        kinds = [rng.choice(("float", "value")) for _ in range(rng.randint(1, 4))]
        kinds += ["captured"] * rng.choice((0, 1, 2, 4))
        kinds += ["int"] * (rng.random() < 0.3)
        self.kinds = kinds
        self.values = leaves_of(kinds, [self.input(kind) for kind in kinds])

    def pick(self) -> int:
        """Choose an earlier result, late ones more often."""
        known = [k for k, value in enumerate(self.values) if isinstance(value, Value)]
        late = self.rng.random() < 0.5
        return self.rng.choice(known[-6:] if late else known)

    def picks(self, least: int, most: int) -> list[int]:
        return [self.pick() for _ in range(self.rng.randint(least, most))]

    def operand(self) -> Any:
        if "int" in self.kinds and self.rng.random() < 0.08:
            return self.kinds.index("int")
        return self.number() if self.rng.random() < 0.2 else self.pick()

    def emit(self, tree: Any) -> int:
        """Add a step; tame programs seldom keep one whose number runs away."""
        value = evaluate(tree, self.values, self.ledger)
        number = value.data
        tame = isfinite(number) and abs(number) < 1e4
        if not tame and self.rng.random() < (0.6 if self.is_wild else 0.95):
            return self.pick()
        self.steps.append(tree)
        self.values.append(value)
        return len(self.values) - 1

    # ---- patterns -----------------------------------------------------------------------------

    def pattern(self) -> None:
        getattr(self, f"_{self.rng.choice(PATTERNS)}")()

    def _one(self, x: Any) -> Any:
        """An operation on one operand, by method or by function."""
        name = self.rng.choice(UNARY)
        if name in ("neg", "abs") or self.rng.random() < 0.5:
            return (name, x)
        return (f"minigrad.{name}", x)

    def _two(self, a: Any, b: Any) -> Any:
        name = self.rng.choice((*INFIX, "mul", "add", "exp_sub"))
        if name == "pow" and self.rng.random() < 0.7:
            return ("pow", a, self.rng.choice(EXPONENTS))
        if name == "exp_sub" and type(b) is int and self.kinds[b:] and self.kinds[b] == "int":
            name = "sub"
        if name != "exp_sub" and self.rng.random() < 0.4:
            a, b = b, a
        return (name, a, b)

    def _unary(self) -> None:
        self.emit(self._one(self.pick()))

    def _binary(self) -> None:
        self.emit(self._two(self.pick(), self.operand()))

    def _pair(self) -> None:
        name = self.rng.choice(PAIRS)
        other = self.number() if self.rng.random() < 0.3 else self.pick()
        self.emit((self.rng.choice((name, f"minigrad.{name}")), self.pick(), other))

    def _clip(self) -> None:
        low, high = (self.number() if self.rng.random() < 0.7 else self.pick() for _ in range(2))
        self.emit((self.rng.choice(("clip", "minigrad.clip")), self.pick(), low, high))

    def _list(self) -> None:
        name = self.rng.choice((*LISTS, "dot"))
        xs: list[Any] = self.picks(1, 4)
        if self.rng.random() < 0.2:
            xs.append(self.number())
        if name == "dot":
            xs += [self.pick() for _ in xs]
        if name in ("softmax", "log_softmax"):
            for k in range(len(xs) if self.rng.random() < 0.4 else 1):
                self.emit((f"minigrad.{name}", float(k), *xs))
        else:
            self.emit((f"minigrad.{name}", *xs))

    def _take(self) -> None:
        if "int" in self.kinds:
            index: Any = ("index", self.kinds.index("int"))
        else:
            index = float(self.rng.randint(-2, 2))
        self.emit(("take", index, *self.picks(3, 4)))

    def _test(self) -> Any:
        left: Any = self.pick()
        if self.rng.random() < 0.15:
            left = ("read", left)
        test = (self.rng.choice(list(TESTS)), left, self.operand())
        if self.rng.random() < 0.3:
            other = (self.rng.choice(list(TESTS)), self.operand(), self.pick())
            return (self.rng.choice(("both", "either", "but_not")), test, other)
        return test

    def _where(self) -> None:
        word = "if" if self.rng.random() < 0.1 else "minigrad.where"
        pair = [self.pick(), self._two(self.pick(), self.pick())]
        self.rng.shuffle(pair)
        if word != "if" and self.rng.random() < 0.2:
            pair[0] = self.number()
        if word != "if" and self.rng.random() < 0.1:
            numbers = (self.number(), self.number())
            self.emit(("mul", self.pick(), (word, self._test(), *numbers)))
        else:
            self.emit((word, self._test(), *pair))

    def _bad_side(self) -> None:
        *test, bad = self.rng.choice(BAD)(self.pick())
        self.emit(("minigrad.where", tuple(test), bad, self.pick()))

    def _read(self) -> None:
        read: Any = ("read", self.pick())
        way = self.rng.random()
        if way < 0.3:
            read = (self.rng.choice(("add", "sub", "mul")), read, ("read", self.pick()))
        elif way < 0.5:
            word = self.rng.choice(("builtin.max", "builtin.min"))
            read = (word, read, *(("read", x) for x in self.picks(1, 2)), self.number())
        pair = [read, self.pick()]
        self.rng.shuffle(pair)
        self.emit((self.rng.choice(list(INFIX)), *pair))

    def _settle(self) -> None:
        if self.rng.random() < 0.2:
            word = self.rng.choice(("float", "round"))
            self.emit((self.rng.choice(("add", "mul")), self.pick(), (word, self.pick())))

    def _quiet(self) -> None:
        if self.rng.random() < 0.5:
            self.emit(("detach", self.pick()))
        else:
            self.emit(("no_grad", self._two(self.pick(), self.pick())))

    def _leaf(self) -> None:
        self.emit(("leaf", self.number()))

    def _added(self, terms: list[Any]) -> Any:
        """A sum of terms, in one of the ways to bracket it."""
        way = self.rng.choice(("chain", "right", "tree", "builtin.sum", "minigrad.sum"))
        if "." in way:
            return (way, *terms)
        terms = list(terms)
        while len(terms) > 1:
            if way == "chain":
                terms[:2] = [("add", *terms[:2])]
            elif way == "right":
                terms[-2:] = [("add", *terms[-2:])]
            else:
                terms = [
                    ("add", *terms[k : k + 2]) if k + 1 < len(terms) else terms[k]
                    for k in range(0, len(terms), 2)
                ]
        return terms[0]

    def _bracket(self) -> None:
        terms: list[Any] = self.picks(2, 7)
        if self.rng.random() < 0.3:
            terms[1] = self.number()
        self.emit(self._added(terms))

    def _products(self) -> None:
        pairs: list[Any] = [
            ("mul", self.pick(), self.operand()) for _ in range(self.rng.randint(2, 4))
        ]
        if self.rng.random() < 0.5:
            pairs.insert(self.rng.randint(0, len(pairs)), self.pick())
        self.emit(self._added(pairs))

    def _dots(self, rows: list[list[int]], columns: list[list[int]], start: list[Any]) -> list[int]:
        """All products of rows and columns, each summed in the same way."""
        state = self.rng.getstate()
        found = []
        for row in rows:
            for column, first in zip(columns, start, strict=True):
                self.rng.setstate(state)  # the same brackets everywhere: so they can be grouped
                terms: list[Any] = [("mul", a, b) for a, b in zip(column, row, strict=True)]
                found.append(self.emit(self._added([*terms, *([] if first is None else [first])])))
        return found

    def _layer(self) -> None:
        width = self.rng.randint(1, 3)
        rows = [[self.pick() for _ in range(width)] for _ in range(self.rng.randint(1, 2))]
        columns = [[self.pick() for _ in range(width)] for _ in range(self.rng.randint(1, 3))]
        with_bias = self.rng.random() < 0.5
        start = [self.pick() if with_bias else None for _ in columns]
        activation = self._one(0)[0]
        for x in self._dots(rows, columns, start):
            self.emit((activation, x))

    def _attention(self) -> None:
        """Sums of different lengths: each position looks at those before it."""
        keys = [self.picks(2, 2) for _ in range(self.rng.randint(2, 3))]
        form = self.rng.choice(("minigrad.softmax", "minigrad.log_softmax"))
        for k in range(1, len(keys) + 1):
            query = keys[k - 1]
            scores = [("add", ("mul", query[0], a), ("mul", query[1], b)) for a, b in keys[:k]]
            terms = [("mul", (form, float(j), *scores), keys[j][0]) for j in range(k)]
            self.emit(self._added(terms) if k > 1 else terms[0])

    def _again(self) -> None:
        """The same operations on several operands."""
        name, other = self._one(0)[0], self.operand()
        second = self._two(0, other)
        for _ in range(self.rng.randint(2, 4)):
            x = self.pick()
            inner = tuple((name, x) if part == 0 and type(part) is int else part for part in second)
            self.emit(inner)

    def _largest(self) -> None:
        word = self.rng.choice(("builtin.max", "builtin.min"))
        if self.rng.random() < 0.2:
            self.emit(("add", self.pick(), (word, self.pick(), self.number())))
        else:
            self.emit((word, *self.picks(2, 4)))

    # ---- the end --------------------------------------------------------------------------------

    def finished(self) -> Program:
        rng = self.rng
        if not self.steps:
            self.emit(("add", self.pick(), 0.5))
        if rng.random() < 0.7:  # so that most steps count
            used = set().union(*map(references, self.steps))
            loose = [k for k in range(len(self.kinds), len(self.values)) if k not in used]
            if len(loose) > 1:
                self.emit(self._added(loose[-6:]))
        results: list[Any] = [len(self.values) - 1]
        while not isinstance(self.values[results[0]], Value):
            results[0] -= 1
        if rng.random() < 0.3:
            results.append(self.pick())
        if rng.random() < 0.15:
            results.append(("read", self.pick()))
        if rng.random() < 0.15:
            results.append((rng.choice(list(TESTS)), self.pick(), self.pick()))
        return Program(
            tuple(self.kinds),
            tuple(self.steps),
            tuple(results),
            self._rows(),
            tuple(0.0 if kind == "int" else round(rng.uniform(-1, 1), 2) for kind in self.kinds),
        )

    def _rows(self) -> tuple[tuple[Any, ...], ...]:
        first = [x.data if isinstance(x, Value) else x for x in self.values[: len(self.kinds)]]
        rows = [first]
        fixed = {"captured"} if self.rng.random() < 0.7 else set()
        still = [self.rng.random() < 0.15 or kind in fixed for kind in self.kinds]
        for _ in range(2):
            kept = zip(first, self.kinds, still, strict=True)
            rows.append([x if stays else self.input(kind) for x, kind, stays in kept])
        return tuple(map(tuple, rows))


def leaves_of(kinds: Any, numbers: Any) -> list[Any]:
    """Values for the numbers of all inputs but ints."""
    return [x if kind == "int" else Value(x) for kind, x in zip(kinds, numbers, strict=True)]
