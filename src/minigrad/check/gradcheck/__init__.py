"""Are the gradients right? Ask differences, complex steps, forward mode, PyTorch, JAX.

    gradcheck(f, [2.0, -3.0]).assert_ok()

A verdict is worth something if it is hard to get by accident and if a sound gradient always gets
it. So every oracle says how far off it may itself be, from rounding or from curvature, and that
much is allowed on top of `tolerance`, never more. At a kink any number between the slopes to the
left and to the right is as good as any other.

Start at `gradcheck`, then `_row`.
"""

from __future__ import annotations

import inspect
import json
import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass
from functools import cached_property
from math import inf, isfinite, nan
from typing import TYPE_CHECKING, Any

from ...calculus.steps import aside, links
from ...calculus.transforms import jvp
from ...core.coerce import as_float, as_list, is_number
from ...core.display import paragraph, table
from ...core.elsewhere import explained, require_arguments
from ...core.graph import topological_order
from ...core.modes import is_recording, tolerant
from ...core.names import brief, cut, json_number, plural, readable, width_of
from ...core.ops import TABLE
from ...core.parameters import data_of, set_data
from ...core.strict import same
from ...core.terminal import table_of
from ...nn import Module
from ...scalar import Value
from .differences import Slope, slope
from .oracles import complex_gradient, jax_gradient, torch_gradient

if TYPE_CHECKING:
    from rich.table import Table

__all__ = ["ORACLES", "GradcheckReport", "Row", "gradcheck"]


# ---- the report --------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Row:
    """One derivative, ours and an oracle's."""

    name: str
    value: float  # of the input
    against: str  # the oracle that was asked in the end
    ours: float
    oracle: float
    absolute: float  # |ours - oracle|, and the same relative to the larger of the two,
    relative: float
    ulp: float  # and in units in the last place of the oracle's
    oracle_error: float  # how far off the oracle may itself be
    ok: bool
    note: str = ""

    @property
    def verdict(self) -> str:
        """`ok`, `WRONG`, or `unknown` where the oracle has no answer; and why."""
        word = "ok" if self.ok else "unknown" if math.isnan(self.oracle) else "WRONG"
        return f"{word} ({self.note})" if self.note else word

    def cells(self) -> list[str]:
        """Write the row for a table."""
        numbers = [brief(x, 10) for x in (self.value, self.ours, self.oracle)]
        errors = [brief(x, 2) for x in (self.absolute, self.relative, self.ulp, self.oracle_error)]
        return [cut(self.name), *numbers, self.against, *errors, self.verdict]


_HEAD = ["input", "value", "ours", "oracle", "asked"]
_HEAD += ["absolute", "relative", "ulp", "oracle ±", "verdict"]
_NUMBERS = (1, 2, 3, 5, 6, 7, 8)  # the columns that have one


@dataclass(frozen=True, slots=True, repr=False)
class GradcheckReport:
    """What `gradcheck` found; true if every row is ok."""

    rows: tuple[Row, ...]

    @property
    def ok(self) -> bool:
        """Whether ours agree with the oracles' everywhere."""
        return all(row.ok for row in self.rows)

    def __bool__(self) -> bool:
        return self.ok

    @property
    def headline(self) -> str:
        """The result in one line."""
        bad = sum(not row.ok for row in self.rows)
        total = plural(len(self.rows), "gradient")
        return f"gradcheck: {bad} of {total} not ok" if bad else f"gradcheck: {total} ok"

    def text(self) -> str:
        """Write a table for a terminal, a line for each row."""
        lines = [_HEAD, *(row.cells() for row in self.rows)]
        widths = [max(map(width_of, column)) for column in zip(*lines, strict=True)]
        padded = [
            [cell + " " * (w - width_of(cell)) for cell, w in zip(line, widths, strict=True)]
            for line in lines
        ]
        return "\n".join([self.headline, *("  ".join(line).rstrip() for line in padded)])

    def table(self) -> Table:
        """Return the rows as a table for rich."""
        cells = [row.cells() for row in self.rows]
        styles = ["" if row.ok else "bold red" for row in self.rows]
        return table_of(_HEAD, cells, right=_NUMBERS, title=self.headline, styles=styles)

    def as_dict(self) -> dict[str, Any]:
        """Return everything as JSON can hold it."""
        rows = [
            {k: json_number(x) if isinstance(x, float) else x for k, x in asdict(row).items()}
            for row in self.rows
        ]
        return {"ok": self.ok, "rows": rows}

    def to_json(self) -> str:
        """Return `as_dict()` as text."""
        return json.dumps(self.as_dict(), allow_nan=False)

    def assert_ok(self) -> None:
        """Raise an AssertionError that shows the table, unless every row is ok."""
        if not self.ok:
            raise AssertionError(self.text())

    def __str__(self) -> str:
        return self.text()

    __repr__ = __str__

    def __rich__(self) -> Table:
        return self.table()

    def _repr_html_(self) -> str:
        rows = [row.cells() for row in self.rows]
        return paragraph(self.headline) + table(_HEAD, rows, right=_NUMBERS)


# ---- the check ---------------------------------------------------------------------------------

# Each returns the derivatives of a recorded graph, but for the first, which calls f: `_Case.slope`.
ORACLES: dict[str, Callable[[Value, list[Value]], list[float]] | None] = {
    "differences": None,
    "complex": complex_gradient,
    "forward": lambda root, leaves: [jvp(root, [leaf], [1.0]) for leaf in leaves],
    "torch": torch_gradient,
    "jax": jax_gradient,
}


@explained("gradcheck(lambda a, b: a * b, [2.0, 3.0])")
def gradcheck(
    f: Callable[..., Any],
    inputs: Any,
    *,
    against: str | Iterable[str] = "differences",
    tolerance: float | None = None,
    h: float | None = None,
) -> GradcheckReport:
    """Compare the gradients of `f(*inputs)` with those of one or more oracles.

    Inputs are numbers, Values, or nested lists of them; of a module the parameters are checked as
    well. `against` is "differences", "complex", "forward", "torch", "jax", or a list of these.
    `tolerance` is relative, by default 1e-6 for differences and 1e-9 for the others; `h` is the
    largest step of the differences. Nobody's `.data` or `.grad` is changed.

    >>> print(gradcheck(lambda a, b: a * b.tanh(), [2.0, 0.0]).headline)
    gradcheck: 2 gradients ok
    """
    if not callable(f):
        raise TypeError(
            f"gradcheck(f, inputs): got {type(f).__name__} for f; give a function, and what to "
            "call it with: gradcheck(lambda a, b: a * b, [2.0, 3.0])."
        )
    names = [against] if isinstance(against, str) else as_list(against, "gradcheck(against=…)")
    for name in names:
        if name not in ORACLES:
            known = ", ".join(map(repr, ORACLES))
            raise ValueError(f"gradcheck(against={name!r}): no such oracle; choose from {known}.")
    for what, number in (("tolerance", tolerance), ("h", h)):
        if number is not None and not 0 < as_float(number, f"gradcheck({what}=…)") < inf:
            raise ValueError(f"gradcheck({what}={number!r}): give a number above 0.")
    if not is_recording():
        raise RuntimeError("gradcheck inside no_grad() has no gradient to check; call it outside.")
    case = _Case(f, inputs, h)

    def check() -> list[Row]:
        case.run()
        return [row for name in names for row in _rows(case, name, tolerance)]

    earlier = data_of(case.leaves)
    try:
        rows = aside(case.leaves, check)
    finally:
        set_data(case.leaves, earlier)
    return GradcheckReport(tuple(rows))


def _rows(case: _Case, name: str, tolerance: float | None) -> Iterator[Row]:
    oracle, note = ORACLES[name], ""
    found = [nan] * len(case.leaves)
    if oracle is not None:
        try:
            found = oracle(case.root, case.leaves)
        except NotImplementedError as error:
            note = str(error)
    for k, theirs in enumerate(found):
        yield _row(case, k, name, theirs, tolerance, note)


def _row(case: _Case, k: int, name: str, theirs: float, given: float | None, note: str) -> Row:
    """Compare one derivative with an oracle's; where they disagree, with the differences."""
    ours, asked, error = case.ours[k], name, 0.0
    ok = name != "differences" and _agree(ours, theirs, given or 1e-9)
    if not ok:
        asked, theirs, error, ok, note = _second_opinion(case, k, name, theirs, given, note)
    if not (isfinite(ours) and isfinite(theirs)):
        note = "not finite"
    off = 0.0 if same(ours, theirs) else abs(ours - theirs)
    off = inf if math.isnan(off) else off
    is_finite = 0.0 < off < inf
    relative = off / max(abs(ours), abs(theirs)) if is_finite else off
    ulp = off / math.ulp(theirs) if is_finite else off
    here = case.leaves[k].data
    return Row(case.names[k], here, asked, ours, theirs, off, relative, ulp, error, ok, note)


def _second_opinion(
    case: _Case, k: int, name: str, theirs: float, given: float | None, note: str
) -> tuple[str, float, float, bool, str]:
    """Hear the differences as well: who is right, what they say, how far off, the verdict, why.

    They measure `f` itself: they know of kinks, where an oracle's convention may be another than
    ours, and whether it is the oracle that is wrong (PyTorch's `atan2` is 0 at 1e200).
    """
    ours, found = case.ours[k], case.slope(k)
    tolerance = given or (1e-6 if name == "differences" else 1e-9)
    if not _agree(theirs, found.value, 1e-6, found.error):
        if name != "differences":
            note = note or f"{name} says {brief(theirs)}"
        name, theirs, tolerance = "differences", found.value, given or 1e-6
    exactly = _agree(ours, theirs, tolerance)
    ok = exactly or _agree(ours, theirs, tolerance, found.error + case.rounding(k))
    if found.has_kink:
        low, high = sorted((found.left, found.right))
        ok = ok or low <= ours <= high
        note = f"kink: slopes {brief(found.left)} and {brief(found.right)}"
    elif ok and not exactly:
        note = "within rounding errors"
    return name, theirs, found.error, ok, note


def _agree(a: float, b: float, tolerance: float, error: float = 0.0) -> bool:
    if not (isfinite(a) and isfinite(b)):
        return same(a, b)
    return abs(a - b) <= tolerance * max(abs(a), abs(b)) + error


class _Case:
    """A function with its inputs, its recorded graph and its gradients."""

    def __init__(self, f: Callable[..., Any], inputs: Any, h: float | None) -> None:
        self.f, self.h = f, h
        self.names: list[str] = []
        self.leaves: list[Value] = []
        is_one = isinstance(inputs, Value) or is_number(inputs)
        given = [inputs] if is_one else as_list(inputs, "gradcheck(…, inputs)")
        if given:
            require_arguments(f, given, "gradcheck(f, inputs)")
        names = _argument_names(f, len(given))
        self.arguments = [self._fresh(x, name) for x, name in zip(given, names, strict=True)]
        if isinstance(f, Module):
            paths = dict(_paths(f, "", set()))
            for k, parameter in enumerate(dict.fromkeys(f.parameters())):
                self._add(parameter, paths.get(id(parameter), f"parameters()[{k}]"))
        if not self.leaves:
            raise ValueError("gradcheck(f, inputs): nothing to check; give at least one input.")

    def _fresh(self, x: Any, name: str) -> Any:
        """Copy inputs, so that what somebody made of them before does not come into it."""
        if isinstance(x, (list, tuple)):
            return [self._fresh(part, f"{name}[{k}]") for k, part in enumerate(x)]
        leaf = x.detach() if isinstance(x, Value) else Value(as_float(x, "gradcheck(…, inputs)"))
        return self._add(leaf, name)

    def _add(self, leaf: Value, name: str) -> Value:
        self.names.append(readable(leaf.label) or name)
        self.leaves.append(leaf)
        return leaf

    def call(self) -> Value:
        result = self.f(*map(_copied, self.arguments))
        if not isinstance(result, Value):
            raise TypeError(f"gradcheck(f, …): f returned {_remedy(result)}")
        return result

    def run(self) -> None:
        """Run `f`, and `backward()` itself: whatever that does is what is checked."""
        self.root = self.call()
        order = topological_order(self.root)
        aside([*order, *self.leaves], self._run_backward, order)

    def _run_backward(self, order: list[Value]) -> None:
        for node in (*order, *self.leaves):
            node.grad = 0.0
        self.root.backward()
        self.ours = [leaf.grad for leaf in self.leaves]
        # Operands before users: each node, its gradient, its operands with local derivatives.
        self.nodes = [(node, node.grad, links(node)) for node in order]

    @cached_property
    def noise(self) -> float:
        """How far off the value of `f` may be: what nodes are rounded by, on its way through."""
        total = 0.0
        for node, adjoint, pairs in self.nodes:
            size = abs(node.data)
            if TABLE[node._code].arity is None:  # a long sum is rounded where it is largest
                size = max(size, sum(abs(partial * x.data) for x, partial in pairs))
            off = 4 * abs(adjoint) * math.ulp(size)
            total += off if pairs and isfinite(off) else 0.0
        return total

    def rounding(self, k: int) -> float:
        """How far off a sound derivative may be.

        Where contributions to a gradient cancel, what they were rounded by remains; the faster the
        node moves with the leaf, the more of it arrives there.
        """
        spread: dict[int, float] = {}  # contributions without their signs
        rates = {id(self.leaves[k]): 1.0}
        for node, adjoint, pairs in self.nodes:
            for operand, partial in pairs:
                size = abs(partial * adjoint)
                spread[id(operand)] = spread.get(id(operand), 0.0) + size
            moving = [(rates[id(x)], d) for x, d in pairs if rates[id(x)]]
            rates.setdefault(id(node), sum(rate * d for rate, d in moving))
        found = [abs(rate) * spread.get(node, 0.0) for node, rate in rates.items()]
        return 4 * 2.0**-52 * sum(off for off in found if isfinite(off))

    def slope(self, k: int) -> Slope:
        """Ask the differences. (They record: an `f` that differentiates inside needs its graph.)"""
        leaf = self.leaves[k]
        here = leaf.data

        def at(x: float) -> float:
            leaf.data = x
            number = self.call().data
            leaf.data = here
            return number

        with tolerant():
            if not same(at(here), self.root.data):
                raise ValueError(
                    "gradcheck(f, …): f gave two different results for the same inputs. Take "
                    "chance out of it, for example with random.seed(0) in its first line."
                )
            return slope(at, here, noise=self.noise, h=self.h)


def _copied(argument: Any) -> Any:
    """Hand over lists that `f` may do with as it likes."""
    return list(map(_copied, argument)) if isinstance(argument, list) else argument


def _argument_names(f: Callable[..., Any], count: int) -> list[str]:
    """Call inputs by the names of the parameters of `f`, else x0, x1, …"""
    try:
        parameters = list(inspect.signature(f).parameters.values())
    except (TypeError, ValueError):  # some functions written in C do not tell
        parameters = []
    names = [p.name for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    return [*names, *(f"x{k}" for k in range(len(names), count))][:count]


def _paths(part: Any, path: str, seen: set[int]) -> Iterator[tuple[int, str]]:
    """Find the Values in a module and the way to each: `layers[0].neurons[1].w[2]`."""
    if isinstance(part, Value):
        yield id(part), path
    elif isinstance(part, (list, tuple)):
        for k, element in enumerate(part):
            yield from _paths(element, f"{path}[{k}]", seen)
    elif isinstance(part, dict):
        for key, element in part.items():
            yield from _paths(element, f"{path}[{key!r}]", seen)
    elif isinstance(part, Module) and id(part) not in seen:
        seen.add(id(part))  # a module may know its parent
        for name, element in vars(part).items():
            yield from _paths(element, f"{path}.{name}" if path else name, seen)


def _remedy(result: Any) -> str:
    kind = type(result).__name__
    if result is None:
        return "None; is a return missing?"
    if is_number(result):
        return f"{kind}; a number has no gradient. Compute with Values: v.exp(), not math.exp(…)."
    if isinstance(result, (list, tuple)):
        return f"{kind}; check one output at a time: gradcheck(lambda *xs: f(*xs)[0], …)."
    return f"{kind}; return a Value."
