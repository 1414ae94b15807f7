"""Whether a fault can be where a row would have it: what the file says against a name.

Numbers alone can fit by chance, or for another reason. The marks of the file (`lines.py`) tell what
is not so: there is a += already, the operation is made of others and has no rule, nodes are
compared as objects. Where the file is not known, or written in a way that has no such marks,
nothing speaks against anything.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from .catalogue import Fault
from .dialect import NAMES, SPECIAL
from .lines import Marks, functions_of
from .rewriting import pass_in
from .scripts import Probe

# An operation may be made of others: a - b of a + (-b), a / b of a * b**-1.
MADE_OF = {
    "sub": ("add", "neg", "mul"),
    "neg": ("mul", "sub"),
    "div": ("mul", "pow"),
    "sum": ("add",),
}
NEAR = 8  # lines between a wrapped number and the line that would have needed it


@dataclass(frozen=True, slots=True)
class Evidence:
    """What the file says of the class."""

    marks: Marks = field(default_factory=dict)
    cls: str = ""
    has_closures: bool = True  # whether nodes keep functions, or rules are somewhere else
    word: str = ""  # how the pass is started, as in "run(v)"
    _parts: dict[str, set[str]] = field(default_factory=dict, repr=False, compare=False)
    _passes: list[tuple[set[str], tuple[str, ...]]] = field(
        default_factory=list, repr=False, compare=False
    )

    def speaks_against(self, fault: Fault) -> bool:
        """Whether the file shows that it is not this fault."""
        family, op = fault.family, fault.where
        if self.is_made(op) and fault.is_local:
            return True
        if family == "detached":
            return not self.has("bare", op)
        if family == "overwrite" and self._is_in_pass(op):
            return True
        if family == "overwrite":
            is_kept = self.has("writes", op) and not self.has("sets", op)
            return is_kept or self._only("adds", "sets", op)
        if family == "chain_forgotten":
            return self._only("chains", "alone", op)
        if family == "not_set":
            # Without functions on nodes there is none that could have been forgotten.
            is_hooked = self.has("hooks", op) or self.has("keeps", op)
            is_otherwise = self.has("bare", op) or self.has("now", op)
            is_hooked = is_hooked and not self.has("idle", op)
            return not self.has_closures or is_hooked or is_otherwise
        if family == "no_operands":
            return self.has("keeps", op)
        if family == "one_sided":
            return self.has("pairs", op)
        if family == "self_backward":
            return self.has("hooks", op) and not self.has("keeps", op)
        is_absent = self.has("hides", "init") and not self.has("def", "backward")
        if fault.code in ("empty_pass", "hidden_pass") and is_absent:
            return True  # there is no method that could be empty, or hidden
        if fault.code in ("empty_pass", "hidden_pass") and self._own():
            is_hidden = any(mark.startswith("hides ") for mark in self._own())
            if is_hidden == (fault.code == "empty_pass"):
                return True
        if fault.code == "other_seed":
            return not self.shows(fault.code)
        if fault.where == "backward" and self.has("def", "backward"):
            return self._pass_speaks_against(fault.code)
        if fault.code == "mul_grad":
            return self.has("def", op) and self.has("nests", op) and not self.has("reads", op)
        if fault.code == "relu_always":
            return self.has("tests", op)
        if fault.code == "pow_negative_base":
            return self.has("powers", "pow")
        own = self._own()
        if fault.code == "children_dropped":
            return bool(own) and not self.has("ignores", "init")
        if fault.code == "no_pass":
            return bool(own) and (self.has("def", "backward") or not self.has("hides", "init"))
        writes = any(mark.startswith("writes __") for mark in own)
        if fault.code == "overwrite":
            return (writes and "assign" not in own) or (
                any(m.startswith("adds ") for m in own)
                and "assign" not in own
                and not any(mark.startswith("sets ") for mark in own)
            )
        if fault.code == "kept_in_operand":
            return bool(own) and not writes
        if fault.code == "value_hash":
            return bool(own) and not {"compares", "bases"} & set(own)
        is_set = any(mark.startswith("sets __") for mark in own)
        return fault.code == "same_object" and (is_set or not self.has_closures)

    def _pass_speaks_against(self, code: str) -> bool:
        """Tell apart what gives the same numbers: by how the pass goes through the nodes."""
        loops, nests, appends, reverses, names, starts, strays = (
            self.has(mark, "backward")
            for mark in ("loops", "nests", "appends", "reverses", "names", "starts", "strays")
        )
        has_helper = len(self._pass()[1]) > 1  # another function does the sorting
        nests, is_begun = nests or has_helper, starts or strays or has_helper or not nests
        return {
            "last_only": loops,
            "forward_order": reverses or not loops or (
                self.has("pops", "backward") and not nests),
            "visited_by_name": not names,
            "listed_twice": not self.has("lists", "backward") and self.order() != "listed_twice",
            "plain_recursion": appends or reverses or self._remembers() or not (
                nests or self._is_called_back()
                or any(mark.startswith("recurs ") for mark in self._own())),
            "visited_twice": not (appends or reverses) or self.has("asks", "backward"),
            "visited_anew": not self.has("renews", "backward"),
            "breadth_first": nests,
            "stack_order": nests or not self.has("pops", "backward"),
            "nothing_runs": strays or not is_begun or self.has("late", "backward") or (
                nests and not appends),
            "never_listed": not nests or appends,
            "other_root": not strays,
            "sort_not_begun": is_begun,
            "reversed_preorder": not (reverses and self.has("early", "backward")),
            "empty_pass": nests or loops,
            "two_levels": nests,
            "missing_seed": self.has("seeds", "backward") and not self.has("late", "backward"),
            "late_seed": not self.has("late", "backward"),
            "leaf_seed": not self.has("ends", "backward"),
            "seed_everywhere": self.has("ends", "backward") or not self.has("seeds", "backward"),
            "same_rule": not loops,
            "set_prev": self.has_closures,
        }.get(code, False)  # fmt: skip

    def _is_in_pass(self, op: str) -> bool:
        """Whether gradients are set in the pass, for all operations alike, and not in this one."""
        own = self._own()
        if not self.has("def", op) or self.has("in", op) or self.has("branches", "backward"):
            return False
        if not any(mark.startswith("sets ") for mark in own):
            return False  # gradients may be kept in something else, that operations set
        others = [places for cls, places in self.marks.items() if cls not in ("", self.cls)]
        is_elsewhere = any(m.startswith("sets ") for places in others for m in places)
        return not is_elsewhere and "assign" not in own and not any(
            f"sets {name}" in own for name in (SPECIAL.get(op, ""), *NAMES.get(op, ()))
        )  # fmt: skip

    def forgets_to_sort(self) -> bool:
        """Whether a function inside of the pass goes through the nodes, and nobody calls it."""
        nests, starts, strays = (self.has(m, "backward") for m in ("nests", "starts", "strays"))
        return nests and self.has("recurs", "backward") is False and not (starts or strays)

    def _remembers(self) -> bool:
        """Whether the pass runs each rule on its way down, once."""
        is_asked = self.has("asks", "backward") and not self.has("renews", "backward")
        return self.has("nests", "backward") and self.has("early", "backward") and is_asked

    def _is_called_back(self) -> bool:
        """Whether the rules of operations call the pass itself, of their operands."""
        calls = {mark.split(" ")[2] for mark in self._own() if mark.startswith("calls __")}
        return bool(calls & {*self._pass()[1]})

    def order(self) -> str:
        """Name a fault of order by how the pass goes through the nodes, where numbers do not."""
        if not self.has("def", "backward"):
            names = [mark.removeprefix("recurs ") for mark in self._own() if mark[:7] == "recurs "]
            again = [n for n in names if "back" in n and f"asks {n}" not in self._own()]
            return "plain_recursion" if again else ""
        if self.has("counts", "backward"):
            return ""
        nests, asks, appends, reverses, pops = (
            self.has(mark, "backward") for mark in ("nests", "asks", "appends", "reverses", "pops")
        )
        if pops and not nests:
            if reverses:
                return "listed_twice" if appends else ""
            return "breadth_first" if self.has("queues", "backward") else "stack_order"
        is_again = self.has("recurs", "backward") or self._is_called_back()
        if is_again and not asks and not nests:
            return "plain_recursion"
        if self._remembers() and not reverses:
            return "insertion_order"
        if nests and self.has("renews", "backward"):
            return "visited_anew"
        if nests and self.has("lists", "backward"):
            return "listed_twice"
        if nests and not asks:
            return "visited_twice" if appends else "plain_recursion"
        return ""

    def shows(self, code: str) -> bool:
        """Whether a mark of its own tells that it is this fault, of those of the same numbers."""
        if code == "other_seed":  # in a method of its own: another class has other results
            return any(f"lends {name}" in self._own() for name in functions_of("backward"))
        return code == "children_dropped" and self.has("ignores", "init")

    def supports(self, code: str) -> bool:
        """Whether the file shows which of the faults of order it is, where numbers do not."""
        if not self.has("def", "backward"):
            return code == "plain_recursion" and self._walks_again()
        if code in ("listed_twice", "stack_order"):
            return self.has("lists", "backward") or self.order() == code
        if code == "visited_anew":
            return self.has("renews", "backward")
        if code == "insertion_order":
            return self.has("early", "backward") and not self.has("reverses", "backward")
        if code not in ("plain_recursion", "visited_twice"):
            return False
        is_asked = any(mark.startswith("asks ") for mark in self._own())
        return code == "plain_recursion" or not is_asked

    def _walks_again(self) -> bool:
        """Whether a pass beside the class loops, and asks for nothing that was visited."""
        beside = self.marks.get("", {})
        names = [n for n in functions_of("backward") if f"loops {n}" in beside]
        return any(not {f"asks {n}", f"reverses {n}"} & set(beside) for n in names)

    def parts_of(self, op: str) -> set[str]:
        """Return the operations that one may be made of, and those that they are made of."""
        if op not in self._parts:
            found: set[str] = set()
            waiting = [op]
            while waiting:
                new = set(self._direct_parts(waiting.pop())) - found
                found |= new
                waiting += new
            self._parts[op] = found - {op}
        return self._parts[op]

    def _direct_parts(self, op: str) -> tuple[str, ...]:
        own = self._own()
        used = [
            mark.rpartition(" ")[2]
            for name in functions_of(op)
            for mark in own
            if mark.startswith(f"uses {name} ")
        ]
        if used or (own and self.has("def", op)):
            return tuple(used)
        return MADE_OF.get(op, ())

    def rests_on(self, probe: Probe, broken: set[str]) -> bool:
        """Whether a probe has an operation that is made of a broken one."""
        return any(self.parts_of(key) & broken for key in probe.script.keys)

    def discards_before(self, line: int) -> bool:
        """Whether a wrapped number is thrown away shortly before a line."""
        return any(
            mark.startswith("discards ") and 0 < line - at <= NEAR
            for mark, at in self._own().items()
        )

    def is_made(self, op: str) -> bool:
        """Whether the file has an operation that is made of others."""
        return self.has("made", op)

    def has(self, kind: str, where: str) -> bool:
        """Whether a function of the class has such a mark."""
        own, names = self._pass() if where == "backward" else (self._own(), functions_of(where))
        return any(f"{kind} {name}" in own for name in names)

    def _pass(self) -> tuple[set[str], tuple[str, ...]]:
        """Return the functions that the pass consists of, itself first, and their marks: the pass
        of the class, or where it has none, of the file; and what it calls."""
        if not self._passes:
            own, beside = self._own(), self.marks.get("", {})
            called = pass_in({"backward": self.word})
            names = [name for name in (called, *functions_of("backward")) if name]
            found = [name for place in (own, beside) for name in names if f"def {name}" in place]
            found, marks = found[:1], set[str]()
            for name in found:
                place = own if f"def {name}" in own else beside
                mine = {mark for mark in place if mark.split(" ")[1:2] == [name]}
                calls = sorted(m.split(" ")[2] for m in mine if m.startswith("calls "))
                sorts = {n for n in calls if {f"appends {n}", f"recurs {n}"} & {*beside}}
                found += [n for n in calls if n in sorts and n not in found]
                marks |= mine
            self._passes.append((marks, tuple(found)))
        return self._passes[0]

    def _own(self) -> dict[str, int]:
        return self.marks.get(self.cls, {})

    def _only(self, one: str, other: str, op: str) -> bool:
        return self.has(one, op) and not self.has(other, op)
