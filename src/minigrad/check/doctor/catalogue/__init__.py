"""The catalogue: what goes wrong in engines that people write, one row each.

A row names the fault, tells what a learner sees, why it happens and how it is mended, and plants
it: a sound engine (`sound/`) with a few lines changed is the patient. Which probes a fault fails
is not written here: it is found by running the patient (`signatures.py`), and that is also how the
doctor knows a fault again in a stranger's engine. A limit or a note has a function, `shows`.

Three kinds: a *fault* is a wrong number or a crash on a first backward(); a *limit* shows beyond
that; a *note* is a matter of taste.
"""

from __future__ import annotations

from . import limits, rules, state, structure
from .rows import Fault

__all__ = ["CATALOGUE", "FAULTS", "GENERAL", "ORDERS", "Fault"]

CATALOGUE = [*structure.ROWS, *rules.ROWS, *state.ROWS, *limits.ROWS]
FAULTS = {fault.code: fault for fault in CATALOGUE}
ORDERS = ("plain_recursion", "breadth_first", "insertion_order", "visited_twice")

# What the doctor says where it knows what kind of thing is wrong, but not which: no patients.
GENERAL = {
    "wrong_order": Fault(
        "wrong_order", "fault", "nodes do not run in topological order",
        "A chain is right; where ways meet again, gradients are wrong.",
        "A node's _backward runs before all of its users have run theirs, or more than once.",
        "Sort the nodes first, and run each _backward once, after those of all its users.",
        (), where="backward",
    ),
}  # fmt: skip
