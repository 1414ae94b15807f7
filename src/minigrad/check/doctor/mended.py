"""Which small change of a file makes wrong numbers right: so that is where the mistake is.

The sandbox says what comes out after each change (`mending.py`); here it is judged. A change mends
if probes that failed are right after it and none is wrong that was right before. It must not be
luck: what the change touches and does not mend must have another reason.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from .catalogue import FAULTS
from .edits import KINDS
from .formulas import REFLECTED
from .judging import judge
from .probes import expected
from .run_probes import Outcome
from .scripts import Probe
from .signatures import Signs

# What is known by a name of its own, if it is the rule of an operation.
FAMILIES = {"adds": "overwrite", "chains": "chain_forgotten", "operands": "no_operands"}
PASSES = {
    "seeds": "missing_seed", "seed": "wrong_seed", "recurs": "goes_no_further",
    "switch": "not_passed_on", "marks": "visited_twice", "splits": "same_object",
    "returns": "after_return",
}  # fmt: skip
EVERYWHERE = {
    "adds": "overwrite",
    "descends": "rules_go_on",
    "later": "forward_gradients",
    "hooks": "self_backward",
}  # if it is so in all operations
IDENTITY = ("__eq__", "__hash__")  # whatever is changed there, nodes are told apart otherwise
FORMULAS = ("formula", "formulas", "line")
# What one may be sure of even if a single probe shows it.
SURE = (
    "adds", "descends", "hooks", "chains", "operands", "attribute", "seeds", "inside", "fresh",
    "reads", "leaves", "outside", "recurs", "members", "later", "marks", "splits", "returns",
    *FORMULAS,
)  # fmt: skip
# Probes that a change touches and does not mend, though it mends the like, as a part of those that
# it mends: they can have another fault as well, but then most have not.
LUCK = 0.25


@dataclass(frozen=True, slots=True)
class Change:
    """A change of one line, or of lines alike, and what comes out after it."""

    kind: str
    function: str
    line: int
    old: str
    new: str
    outcomes: list[Outcome] = field(repr=False)
    op: str = ""  # the operation that the function is for
    everywhere: bool = False  # whether the like is changed in all operations

    def asked(self) -> dict[str, Any]:
        """Say which change it is, as JSON can hold it, so that it can be made again."""
        return {
            "kind": self.kind, "line": self.line, "old": self.old, "new": self.new,
            "function": self.function, "op": self.op, "everywhere": self.everywhere,
        }  # fmt: skip


@dataclass(frozen=True, slots=True)
class Tried:
    """What comes out before any of these changes, and after each of them."""

    before: list[Outcome] = field(default_factory=list)
    changes: list[Change] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Mended:
    """A change that mends something, and what."""

    change: Change
    names: list[str]  # of the probes that are right after it
    is_later: bool = False  # whether others were made before: then it is not the only one

    @property
    def op(self) -> str:
        """The operation whose function was changed, if it is one."""
        return "" if self.change.everywhere else self.change.op

    @property
    def code(self) -> str:
        """The row of the catalogue that this is, or "slip", or "formula"."""
        kind = self.change.kind
        if kind in PASSES:
            return PASSES[kind]
        if kind == "order" and not self.op and self.change.new.startswith("for "):
            is_turned = "reversed(" in self.change.new
            return "forward_order" if is_turned else "slip"
        if self.change.function in IDENTITY:
            return "value_hash"
        if self.change.everywhere or kind == "descends":
            return EVERYWHERE[kind]
        if kind == "adds" and self.op and "[" in self.change.old.partition("=")[0]:
            return "keyed_by_operand"
        if kind == "adds" and not self.op and self.change.old.partition("=")[0].strip() != "":
            return "overwrite"
        if kind == "fresh":
            is_default = self.change.old.startswith("def ") and "." not in self.change.new
            return "shared_default" if is_default else "shared_list"
        if kind == "later":
            return "forward_gradient"
        if kind == "hooks":
            is_own = self.change.old.startswith("self.")
            has_rule = "=" in self.change.old
            family = "self_backward" if is_own else "misnamed" if has_rule else "not_set"
        elif kind == "operands" and "self," in self.change.old:
            family = ""  # it has operands, only not these
        else:
            family = FAMILIES.get(kind, "")
        row = f"{family}_{self.op}"
        if family and row in FAULTS:
            return row
        return "formula" if kind in FORMULAS and self.op else "slip"


def mended(
    changes: Sequence[Change], probes: list[Probe], ill: Signs, unsteady: set[str]
) -> list[Mended]:
    """Choose the changes that mend most, one after the other.

    Probes that come out otherwise from run to run prove nothing, right or wrong; and where there
    are such, what is left proves less.
    """
    left = set(ill)
    is_chance = bool(unsteady)
    judged = [one for c in changes if (one := _judged(c, probes, ill, unsteady)) is not None]
    found: list[Mended] = []
    while left:
        best = max(judged, key=lambda one: _worth(one, left, len(ill), is_chance), default=None)
        if best is None or not _worth(best, left, len(ill), is_chance)[0]:
            break
        found.append(best)
        left -= set(best.names)
    return found


def _worth(one: Mended, left: set[str], every: int, is_chance: bool) -> tuple[int, bool, int]:
    mends = len(left & set(one.names))
    is_enough = mends >= _least(one.change, every, is_chance)
    return (
        mends if is_enough else 0, not one.change.everywhere, -KINDS.index(one.change.kind)
    )  # fmt: skip


def _least(change: Change, every: int, is_chance: bool) -> int:
    """How many probes a change must mend, of all that are wrong: one can be luck, if the change
    could be any. Taking something away, or changing what is no operation, often makes a few
    numbers right by cutting the graph; if that is the mistake, it mends everything.
    """
    if change.kind in SURE:
        return 1
    is_operation = change.op or change.function in REFLECTED
    if is_chance and not is_operation:
        return every + 1  # an order that is right by chance proves nothing of the pass
    is_plain = is_operation and change.kind not in ("deletes", "drops") and not is_chance
    return 2 if is_plain else max(every, 2)


def _judged(change: Change, probes: list[Probe], ill: Signs, unsteady: set[str]) -> Mended | None:
    healed, touched = [], []
    for probe, outcome in zip(probes, change.outcomes, strict=True):
        if probe.name in unsteady:
            continue
        sign = judge(probe, outcome)
        if probe.name not in ill:
            if not sign.is_well:
                return None  # it breaks something
        elif sign.is_well or (ill[probe.name].values and not (sign.values or sign.error)):
            healed.append(probe)  # a wrong value has its own reason
        elif sign != ill[probe.name]:
            touched.append(probe)
    reasons: set[str] = set().union(*(_features(probe) for probe in healed))
    alike = sum(_features(probe) <= reasons for probe in touched)
    kept = [_features(p) for p in probes if p.name not in ill and _has_gradient(p)]
    proofs = [
        probe
        for probe in healed
        if ill[probe.name].values
        or _has_gradient(probe)
        or any(_features(probe) <= features for features in kept)
    ]
    if not proofs or alike > LUCK * len(healed):
        return None
    return Mended(change, [probe.name for probe in healed])


def _has_gradient(probe: Probe) -> bool:
    """Whether right gradients mean anything: where all are 0, as in a / a, any cut of the graph
    gives them, unless the like has gradients, and keeps them."""
    _, grad = expected(probe.script)
    return any(grad[name] for name in probe.script.leaves)


def _features(probe: Probe) -> set[str]:
    """What can be wrong in a probe besides: its operations, and things that are used twice."""
    script = probe.script
    return {*script.keys, *(["shared"] if script.shares else [])}
