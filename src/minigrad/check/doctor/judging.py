"""What is wrong in one probe: an outcome against what is right."""

from __future__ import annotations

import math
from dataclasses import dataclass

from .probes import expected
from .run_probes import NO_END, Outcome
from .scripts import Probe


@dataclass(frozen=True, slots=True)
class Sign:
    """What is wrong in one probe."""

    # Leaves with a wrong gradient, values that are wrong, and where there are such the root, if its
    # own gradient is not 1.
    wrong: frozenset[str] = frozenset()
    error: str = ""
    numbers: tuple[tuple[str, float], ...] = ()  # the wrong ones, as they are

    @property
    def is_well(self) -> bool:
        """Whether nothing is."""
        return not self.wrong and not self.error

    def looks_like(self, other: Sign) -> bool:
        """Whether the same things are wrong, if perhaps by other numbers."""
        return self.wrong == other.wrong and self.error == other.error

    def without(self, name: str) -> Sign:
        """Return what is wrong besides one thing."""
        rest = tuple((n, x) for n, x in self.numbers if n != name)
        return Sign(self.wrong - {name}, self.error, rest)

    @property
    def values(self) -> tuple[tuple[str, float], ...]:
        """The values that are wrong, without the gradients."""
        return tuple((name, x) for name, x in self.numbers if name.endswith(".data"))


MAY_REFUSE = ("number", "maybe", "left")
# An engine refuses what it does not know by one of these; others are mistakes of its own.
CRASHES = ("NameError", "UnboundLocalError", "NoResult", "IndexError", "KeyError", NO_END)


def is_refusal(probe: Probe, outcome: Outcome) -> bool:
    """Whether an engine says that it does not take such operands, as it may.

    It says so when it is given them: a Value as exponent that is taken, and ends the pass later,
    is not refused.
    """
    if probe.kind == "maybe" and outcome.get("in_pass"):
        return False
    if outcome.get("error") == "RecursionError" and "pow" not in probe.script.ops:
        return False  # 2 + a is made of 2 + a; a**b goes round between __pow__ and __rpow__
    return probe.kind in MAY_REFUSE and outcome.get("error", "NameError") not in CRASHES


def has_seed(probe: Probe, outcome: Outcome) -> bool:
    """Whether the result's own gradient is 1, as far as is known."""
    grads = outcome.get("grad")
    if grads is None or probe.kind == "hand" or not any(grads[n] for n in probe.script.leaves):
        return True
    return bool(grads[probe.script.root] == 1.0)


def ill_outcome(probe: Probe, outcome: Outcome) -> Outcome:
    """Of several outcomes of a probe, return the first that is wrong."""
    every: list[Outcome] = [outcome, *outcome.get("others", ())]
    return next((one for one in every if not _judge(probe, one).is_well), outcome)


def judge(probe: Probe, outcome: Outcome) -> Sign:
    """Compare an outcome with what is right; of several, the first that is wrong."""
    return _judge(probe, ill_outcome(probe, outcome))


def _judge(probe: Probe, outcome: Outcome) -> Sign:
    if "error" in outcome:
        return Sign(error=outcome["error"])
    data, grad = expected(probe.script)
    pairs = {f"{n}.data": (outcome["data"][n], x) for n, x in data.items()}
    pairs |= {n: (outcome["grad"][n], grad[n]) for n in probe.script.leaves}
    wrong = {n: got for n, (got, x) in pairs.items() if not close(got, x, probe.tolerance)}
    root = outcome["grad"][probe.script.root]
    if (wrong or probe.kind == "hand") and root != 1.0:
        wrong[probe.script.root] = root
    return Sign(frozenset(wrong), "", tuple(sorted(wrong.items())))


def close(got: float, right: float, tolerance: tuple[float, float] = (1e-6, 1e-9)) -> bool:
    """Whether two numbers are the same for our purposes."""
    if math.isnan(right) or math.isinf(right):
        return got == right or (math.isnan(got) and math.isnan(right))
    return math.isclose(got, right, rel_tol=tolerance[0], abs_tol=tolerance[1])
