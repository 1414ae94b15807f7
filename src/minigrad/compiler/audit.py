"""Now and then a replay is compared with the function itself.

No list of what a function may depend on is ever complete. So, besides all guards, a call in so many
also runs the function as it is written, and value and gradients are compared. How many is a matter
of cost: audits take at most `SHARE` of the time that replays take (`Schedule`).

Rounding makes a difference too, and where a number sits on an edge (of a `relu`, of a `where`) it
can make a large one. So a difference is not believed at once: the function is traced again. If the
new program agrees with the old one, the old one is not stale. Start at `difference`.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from ..core.backward import gradients_and_scale
from ..core.modes import recording
from ..core.names import plural
from ..scalar import Value
from .arguments.results import Template
from .arguments.structure import Flat
from .machine import Machine
from .specialization import Purpose, Specialization
from .tracing.proxies import TracedNumber, plain_number
from .tracing.untraced import StandIns

SHARE = 0.03  # of the time that replays take: nobody notices
_FIRST = 8  # calls until the time of one is taken: the first ones are slower than the rest
_TOO_LARGE = 5_000_000  # operations: a graph of so many nodes may not fit into memory
_NEVER = 1 << 62
_ULP = 2.0**-53
_MODES = (True, False, "always", "warn")


def mode_of(asked: Any) -> Any:
    """Return the mode that was asked for; None: the one that MINIGRAD_AUDIT names."""
    if asked is None:
        named = os.environ.get("MINIGRAD_AUDIT", "")
        asked = {"": True, "1": True, "0": False, "off": False}.get(named.lower(), named.lower())
    if not any(asked is mode or (asked == mode and isinstance(asked, str)) for mode in _MODES):
        raise ValueError(
            f"audit={asked!r}: choose True (now and then), 'always', 'warn' (now and then, and go "
            "on with a warning) or False."
        )
    return asked


class Schedule:
    """When the next audit is due, counted in calls: looking at a clock takes too long for that."""

    def __init__(self, mode: Any) -> None:
        self.mode = mode
        self.count = 0  # audits so far
        self.cost = 0.0  # seconds that one takes; until the first, what the trace took
        self.is_timed = False

    def first(self) -> int:
        """In how many calls the first turn is."""
        return _NEVER if self.mode is False else 1 if self.mode == "always" else _FIRST

    def traced(self, spec: Specialization, left: int) -> int:
        """A new program is there: in how many calls, which were `left`, the next turn is."""
        self.cost = max(self.cost, spec.seconds)
        return _FIRST if self.mode in (True, "warn") and not self.is_timed else left

    def is_due(self, spec: Specialization) -> bool:
        """Tell whether this call is to be audited, its turn having come."""
        return (self.is_timed or self.mode == "always") and spec.nodes <= _TOO_LARGE

    def took(self, replay: float, audit: float | None) -> int:
        """In how many calls the next turn is, by what a replay and an audit (None: none) took."""
        if audit is not None:
            self.count += 1
            self.cost = audit
        self.is_timed = True
        if self.mode == "always":
            return 1
        return max(1, math.ceil(self.cost / (SHARE * max(replay, 1e-7))))

    def said(self, spec: Specialization) -> str:
        """Say what becomes of a function."""
        if self.mode is False:
            return "Not audited (audit=False)."
        if spec.nodes > _TOO_LARGE:
            return f"Not audited: {plural(spec.nodes, 'operation')} are too many to run again."
        often = "every call" if self.mode == "always" else f"at most {SHARE:.0%} of the time"
        audits = plural(self.count, "audit")
        return f"Audited against the function itself: {often}, {audits} so far."


class Numbers(NamedTuple):
    """What a replay, or the function itself, came to."""

    results: Sequence[float]
    slopes: dict[int, float]  # of the first result, by id of the Value or place of the argument
    scale: float  # what rounding errors of the first result are relative to


def measured(asked: Sequence[Purpose], spec: Specialization, flat: Flat) -> Numbers:
    """Run a program; with gradients, if somebody has `asked` for them.

    Never with the machine of a training step: it has numbers which nobody else may touch.
    """
    by = {purpose.by for purpose in asked if purpose.what == "gradient"}
    if not by:
        return Numbers(spec.forward(flat.numbers), {}, 0.0)
    purpose = Purpose("gradient", "all" if "all" in by else "values")
    return spec.machine(purpose).run(
        spec.nodes_read, flat.numbers, lambda machine: _slopes(machine, spec, purpose, flat)
    )


def _slopes(machine: Machine, spec: Specialization, purpose: Purpose, flat: Flat) -> Numbers:
    program, values = machine.program, machine.values
    found = values[program.adjoints : program.adjoints + program.inputs].tolist()
    slopes: dict[int, float] = dict(zip(map(id, spec.captured), found, strict=False))
    places = spec.value_places if purpose.by == "values" else range(len(flat.numbers))
    slopes.update((at, found[program.parameters + at]) for at in places)
    slopes.update((at, 0.0) for at in spec.wholes if at in slopes)
    return Numbers([values.item(at) for at in program.results], slopes, 0.0)


def difference(
    function: Callable[..., Any], spec: Specialization, flat: Flat, here: Numbers
) -> str:
    """Run the function as it is; say in what a replay differs from that, or return "".

    What the function raises goes to whoever called it, as it would uncompiled.
    """
    given = StandIns(flat)
    with recording():
        output = given.run(function)
    shape, results = Template.of(output, given.leaves)
    if not spec.template.fits(shape, results) or len(results) != len(here.results):
        return "the function itself returns something of another structure"
    return _differing(here, _truth(results, spec, given, here))


def _truth(results: list[Any], spec: Specialization, given: StandIns, here: Numbers) -> Numbers:
    numbers = [plain_number(x) for x in results]
    first = results[0] if results else None
    first = first.node if isinstance(first, TracedNumber) else first
    if not isinstance(first, Value) or not here.slopes:
        return Numbers(numbers, {}, max(map(abs, numbers), default=0.0))
    captured = [value for value in spec.captured if id(value) in here.slopes]
    places = [at for at in range(len(given.leaves)) if at in here.slopes]
    wanted = [*captured, *(given.leaves[at] for at in places)]
    found, scale = gradients_and_scale(first, wanted)
    slopes = dict(zip([*map(id, captured), *places], found, strict=True))
    slopes.update((at, 0.0) for at in given.wholes() if at in slopes)
    return Numbers(numbers, slopes, scale)


def agree(a: Numbers, b: Numbers) -> bool:
    """Tell whether two programs came to the same."""
    return len(a.results) == len(b.results) and not _differing(a, b)


def _differing(here: Numbers, there: Numbers) -> str:
    """Say which numbers differ beyond rounding."""
    scale = there.scale if math.isfinite(there.scale) else 0.0
    for k, (x, y) in enumerate(zip(here.results, there.results, strict=True)):
        if not _near(x, y, 1e-6 * abs(y) + 1e4 * _ULP * scale):
            which = "" if len(here.results) == 1 else f", as result number {k}"
            return f"replayed it gives {x!r}, the function itself {y!r}{which}"
    shared = [key for key in there.slopes if key in here.slopes]
    largest = max((abs(there.slopes[key]) for key in shared), default=0.0)
    margin = 1e-6 * largest if math.isfinite(largest) else math.inf
    for key in shared:
        x, y = here.slopes[key], there.slopes[key]
        if not _near(x, y, margin):
            return f"replayed, a derivative is {x!r}, of the function itself it is {y!r}"
    return ""


def _near(x: float, y: float, margin: float) -> bool:
    if math.isfinite(x) and math.isfinite(y):
        return abs(x - y) <= margin
    return x == y or (math.isnan(x) and math.isnan(y))


def reasons(stale: Specialization, fresh: Specialization) -> str:
    """Name what can be named of the reasons for which a program has become stale."""
    found = []
    old, new = stale.program.constants.tolist(), fresh.program.constants.tolist()
    moved = [(x, y) for x, y in zip(old, new, strict=False) if x != y and len(old) == len(new)]
    if moved:
        shown = ", ".join(f"{x:g} is {y:g} now" for x, y in moved[:3])
        found.append(f"Of the numbers that were frozen, {shown}.")
    if beyond := fresh.environment.cannot_follow:
        found.append(f"It may depend on {', '.join(beyond[:5])}, which nobody can watch.")
    return " ".join(found)
