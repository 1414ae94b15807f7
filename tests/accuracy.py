"""How far are values, first and second derivatives from the truth, over the whole range of floats?

    python tests/accuracy.py                           # the engine that is installed, 200 points
    python tests/accuracy.py --count 20000 tanh hypot  # more points, fewer operations
    python tests/accuracy.py --way native              # `compile`, and `hvp`, on a machine

`survey(op, count, seed)` draws points and compares with closed forms in mpmath, in 60 digits. It
tells the worst error in ulps, and the worst error in ulps over the condition number

    max(1, sum over the arguments of |x * d(result)/dx| / |result|)

which says how much of an error no formula can avoid, because the arguments are rounded themselves:
it is large near a zero of the result, and where a function is steep. A result below all floats, or
beyond them, must be 0 or inf (or their neighbour). Points are drawn by `points`: from the domain of
the row, over all exponents, where functions bend, at ties and near the edges of where they are
defined; and the probes of the row.
"""

from __future__ import annotations

import argparse
import math
import random
from dataclasses import dataclass, field

import mpmath as mp
from closed_forms import FIRST, SECOND, is_defined
from mpmath import mpf
from precise import DEFINITION

import minigrad
from minigrad import Value
from minigrad.core.ops import OPS, TABLE
from minigrad.scalar import apply

DIGITS = 60
_STEP = mpf(10) ** -20  # of a difference that estimates a condition number
_LARGEST = mpf(1.7976931348623157e308)

# Rows that have closed forms: all but those that only choose among their operands.
ROWS = [op for op in TABLE if op.name in SECOND]


# ---- points --------------------------------------------------------------------------------------


def _anywhere(rng, largest=1024):
    """Any size from the smallest float to the largest, any sign."""
    return rng.choice((-1.0, 1.0)) * math.ldexp(rng.uniform(0.5, 1.0), rng.randint(-1073, largest))


def _bending(rng):
    """A size at which exponentials, tangents and the like are neither flat nor out of range."""
    return rng.choice((-1.0, 1.0)) * 2.0 ** rng.uniform(-30.0, 10.0)


def _operand(rng, interval):
    kind = rng.randrange(4)
    if kind == 0:
        return _anywhere(rng)
    if kind == 1:
        return _bending(rng)
    if kind == 2:  # near the edge of the domain of log1p, asin and the like
        return rng.choice((-1.0, 1.0)) * (1.0 - 2.0 ** rng.uniform(-53.0, -1.0))
    return rng.uniform(*interval)


def _pair(rng, op):
    a = _operand(rng, op.domain[0])
    if op.name == "pow" and rng.random() < 0.7:
        a = abs(a)
    kind = rng.randrange(4)
    if op.name == "pow" and kind == 0 and a not in (0.0, 1.0, -1.0):  # any size of result
        return a, rng.uniform(-1080.0, 1030.0) / math.log2(abs(a))
    if op.name == "pow" and kind == 1:
        return a, float(rng.randint(-20, 20))
    if kind < 2:  # of a size with the other, or as good as equal
        return a, a * rng.choice((-1.0, 1.0)) * 2.0 ** rng.uniform(-40.0, 40.0)
    if kind == 2 and rng.random() < 0.2:
        return a, rng.choice((a, -a, math.nextafter(a, math.inf), math.nextafter(-a, 0.0)))
    return a, _operand(rng, op.domain[1])


def _several(rng, op):
    size = rng.randint(1, 5) * (2 if op.name == "dot" else 1)
    # Of numbers so huge that they overflow on the way, a sum is what the order makes of it.
    largest = {"sum": 1000, "mean": 1000, "dot": 500}.get(op.name, 1024)
    kind = rng.randrange(3)
    draw = (
        lambda: _anywhere(rng, largest),
        lambda: _bending(rng),
        lambda: rng.uniform(*op.domain[0]),
    )[kind]
    origin = rng.choice((0.0, draw()))
    return tuple(origin + draw() for _ in range(size))


def points(op, count, seed=0):
    """Draw arguments for a row: its probes, and others until there are `count`."""
    rng = random.Random(f"accuracy {op.name} {seed}")
    found = [arguments for arguments in op.probes if is_defined(op.name, arguments)]
    while len(found) < count:
        if op.arity == 1:
            arguments = (_operand(rng, op.domain[0]),)
        elif op.arity == 2:
            arguments = _pair(rng, op)
        elif op.arity is None:
            arguments = _several(rng, op)
        else:
            arguments = tuple(_operand(rng, interval) for interval in op.domain)
        if all(map(math.isfinite, arguments)) and is_defined(op.name, arguments):
            found.append(arguments)
    return found[:count]


# ---- what is computed ----------------------------------------------------------------------------


def called(op):
    """Return the operation as a function of its arguments, on Values."""
    if op.arity is not None:
        return lambda *xs: apply(op, *xs)
    function = getattr(minigrad, op.name)
    if op.name == "dot":
        return lambda *xs: function(xs[: len(xs) // 2], xs[len(xs) // 2 :])
    return lambda *xs: function(xs)


def eager(op):
    """Compute on the eager engine: the values, the gradient and the matrix of each output."""
    function = called(op)

    def run(*arguments):
        leaves = [Value(x) for x in arguments]
        outputs = function(*leaves)
        outputs = outputs if isinstance(outputs, list) else [outputs]
        return [(y.data, minigrad.grad(y, leaves), minigrad.hessian(y, leaves)) for y in outputs]

    return run


def compiled(op, backend):
    """Compute with `compile` on a machine: `value_and_grad`, and `hvp` along each argument."""
    function = called(op)
    single = minigrad.compile(function, backend=backend)
    by_output = {}

    def one(fast, arguments):
        value, grads = fast.value_and_grad(*arguments)
        rows = []
        for k in range(len(arguments)):
            along = tuple(float(j == k) for j in range(len(arguments)))
            rows.append(list(fast.hvp(arguments, along)))
        return value, list(grads.args), [list(column) for column in zip(*rows, strict=True)]

    def run(*arguments):
        if op.name not in ("softmax", "log_softmax"):
            return [one(single, arguments)]
        for k in range(len(arguments)):
            if k not in by_output:
                by_output[k] = minigrad.compile(lambda *xs, k=k: function(*xs)[k], backend=backend)
        return [one(by_output[k], arguments) for k in range(len(arguments))]

    return run


WAYS = {
    "eager": eager,
    "numpy": lambda op: compiled(op, "numpy"),
    "native": lambda op: compiled(op, "native"),
}


# ---- what is right -------------------------------------------------------------------------------


def listed(found):
    """Bring what a closed form returns into a flat list: outputs, or rows, one after the other."""
    if not isinstance(found, (list, tuple)):
        return [found]
    return [x for part in found for x in listed(part)]


def truth(form, arguments, least=0):
    """Return pairs of a true result and its condition number, for each result of a closed form.

    A form says None where there is nothing to compare with. Arguments smaller than `least` count as
    rounded like that one.
    """
    exact = [mpf(x) for x in arguments]
    results = listed(form(*exact))
    conditions = [mpf(0)] * len(results)
    for k, x in enumerate(exact):
        step = _STEP * max(abs(x), least)
        if step == 0:
            continue
        moved = listed(form(*exact[:k], x + step, *exact[k + 1 :]))
        for i, (result, other) in enumerate(zip(results, moved, strict=True)):
            if result:
                conditions[i] += abs((other - result) / (_STEP * result))
    return [(y, max(mpf(1), c)) for y, c in zip(results, conditions, strict=True)]


def error_of(got, true, condition):
    """Return the error in ulps of the truth; infinite if one is finite and the other is not."""
    if math.isnan(got):
        return math.inf
    if math.isinf(got) or abs(true) > _LARGEST:  # so near to the end that rounding decides
        nearly = abs(true) > _LARGEST * (1 - condition * mpf(2) ** -48)
        largest = abs(got) > 1.797e308 or abs(true) < _LARGEST * (1 + condition * mpf(2) ** -48)
        return 0.0 if nearly and largest and (got > 0) == (true > 0) else math.inf
    return float(abs(mpf(got) - true) / mpf(math.ulp(float(true))))


@dataclass
class Worst:
    """The largest error, in ulps and over the condition number, and where it was."""

    ulps: float = 0.0
    at: tuple[float, ...] = ()
    weighed: float = 0.0  # ulps over the condition number
    weighed_at: tuple[float, ...] = ()

    def add(self, got, true, condition, arguments):
        error = error_of(got, true, condition)
        if error > self.ulps:
            self.ulps, self.at = error, arguments
        weighed = error if math.isinf(error) else float(error / condition)
        if weighed > self.weighed:
            self.weighed, self.weighed_at = weighed, arguments


@dataclass
class Survey:
    """The worst errors of a row: of its values, first and second derivatives."""

    name: str
    value: Worst = field(default_factory=Worst)
    first: Worst = field(default_factory=Worst)
    second: Worst = field(default_factory=Worst)


def survey(op, count, seed=0, way="eager", among=None):
    """Compare a row with the truth at `count` points, or at those given."""
    among = points(op, count, seed) if among is None else among
    return compared(op, WAYS[way](op), among, beyond=way == "eager")


def compared(op, run, among, beyond=False):
    """Compare a way to run a row with the truth; `beyond`, also second derivatives that overflow.

    (In a matrix times a column of the identity, 0 times infinity may come in between.)
    """
    found = Survey(op.name)
    with mp.workdps(DIGITS):
        for arguments in among:
            got = run(*arguments)
            for worst, form, numbers in (
                (found.value, DEFINITION[op.name], [value for value, _, _ in got]),
                (found.first, FIRST[op.name], [row for _, row, _ in got]),
                (found.second, SECOND[op.name], [matrix for _, _, matrix in got]),
            ):
                is_second = worst is found.second
                # Those of softmax are third ones of logsumexp: sums over paths, in which the
                # exponential of a small argument is rounded like that of 1.
                right = truth(form, arguments, least=is_second and op.name == "softmax")
                if is_second and not beyond and not _are_finite(right):
                    continue
                for number, (true, condition) in zip(listed(numbers), right, strict=True):
                    if true is not None:
                        worst.add(number, true, condition, arguments)
    return found


def _are_finite(right):
    return all(true is not None and abs(true) <= _LARGEST for true, _ in right)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("names", nargs="*", help="operations; all if none is named")
    parser.add_argument("--count", type=int, default=200, help="points for each operation")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--way", choices=WAYS, default="eager")
    parser.add_argument("--where", action="store_true", help="tell the worst points too")
    options = parser.parse_args()
    print(f"{minigrad.engine()} engine, {options.way}, {options.count} points each")
    print("| operation | value | first | second | over the condition: value | first | second |")
    print("|---|---|---|---|---|---|---|")
    for op in [OPS[name] for name in options.names] or ROWS:
        found = survey(op, options.count, options.seed, options.way)
        levels = (found.value, found.first, found.second)
        cells = [f"{x:.3g}" for x in (*[w.ulps for w in levels], *[w.weighed for w in levels])]
        print(f"| {op.name} | {' | '.join(cells)} |", flush=True)
        if options.where:
            for name, worst in zip(("value", "first", "second"), levels, strict=True):
                print(f"    {name}: {worst.at} {worst.weighed_at}")


if __name__ == "__main__":
    main()
