"""Which faults explain what is wrong: the stranger's signature against those of the patients.

Crashes have been peeled off before (`crashes.py`). Then, from the sure to the less sure:

1. One fault that explains everything that is left, number for number.
2. Values: an operation that computes a wrong number. No backward pass can do that, so neither does
   a name for one.
3. Rules: an operation that is wrong when it stands alone, while others are right. The row must fit
   number for number; if none does, it is said that the operation is wrong, and nothing more.
4. The rest, without scripts that contain such an operation: faults of accumulation, order and
   state. Only where the order of a set decides may numbers differ, because it differs from run to
   run; there it is enough that the same leaves are wrong, for the most part.

What is left then is reported without a name. No row is named that the file speaks against
(`evidence.py`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ...core.names import brief
from .catalogue import FAULTS, ORDERS
from .evidence import Evidence
from .exactly import exactly, is_equal, is_same
from .judging import Sign, close
from .probes import BY_NAME, PROBES, expected
from .scripts import Probe
from .signatures import Signatures

# Numbers that decide; all patients, in all styles, and strangers' engines are told apart by them.
# Operations that are wrong in no known way: people slip in one rule or two, so with more of them it
# is something that they have in common.
MANY = 3
# Part of the operations that are wrong as soon as something is above or below them: then it is not
# they who are wrong.
COMMON = 0.6
# Part of the probes that stranger and patient both fail in which the same leaves must be wrong. Not
# all: where the order of a set decides, it decides otherwise in a few scripts of each run.
ALIKE = 0.7
# As a part of these, the probes that the patient alone may fail: it fails in each of its runs, and
# the stranger can get only a few of them right by a lucky order.
INVENTED = 0.15
WEIGHT = 2  # of an invented failure against a common one, which can have another reason as well
# Parts of what is left that a fault must explain to be named at all (a name for less would send a
# learner to the wrong line), and to be given the rest too: two such faults at once are rare.
NAMED = 0.4
MOST = 0.7
OPS = ("mul", "add", "neg", "sub", "pow", "div", "tanh", "exp", "log", "relu", "sigmoid")
# Probes in which a fault of order must give the same numbers, if it does not explain all of them.
SEVERAL = 4
ALONE = {  # the probes of an operation: by itself, with distinct operands, below and above others
    op: [
        probe.name
        for probe in PROBES
        if probe.kind in ("first", "maybe")
        and probe.name != "power of a Value"
        and not probe.script.has_numbers
        and not probe.script.shares
        and (
            [s.op for s in probe.script.statements] == [op]
            or probe.name.startswith((f"{op} below", f"{op} above"))
        )
        and not all(isinstance(x, int) for x in probe.script.leaves.values())
    ]
    for op in OPS
}

IN_PLACE = "in place"  # instead of an operation: += and the like change what they are given
Signs = dict[str, Sign]


@dataclass(frozen=True, slots=True)
class Named:
    """A fault, and the ill probes that it explains.

    A fault is a code of the catalogue, "value:op" or "rule:op" for an operation that is wrong in a
    way of its own, or "" for what nobody knows. `shown` are the probes that the row's own patient
    fails in the same way: only they are evidence.
    """

    what: str
    names: list[str]
    shown: list[str]
    told: str = ""  # for the texts
    has_rivals: bool = False  # whether other rows fit as well, so that the numbers do not decide


def recognise(
    signs: Signs, probes: Mapping[str, Probe], known: Signatures, evidence: Evidence
) -> list[Named]:
    """Name the faults, given what is wrong in each probe and what the patients fail."""
    return _Recogniser(signs, probes, known, evidence).named()


def explains_everything(
    signs: Signs, probes: Mapping[str, Probe], known: Signatures, evidence: Evidence
) -> list[Named]:
    """Name the one fault whose patient gives just these numbers and errors, if there is one."""
    return _Recogniser(signs, probes, known, evidence).alone()


class _Recogniser:
    def __init__(
        self, signs: Signs, probes: Mapping[str, Probe], known: Signatures, evidence: Evidence
    ) -> None:
        self.probes, self.evidence = probes, evidence
        self.signs = signs
        self.ill = {
            name: sign
            for name, sign in self.signs.items()
            if not sign.is_well and probes[name].kind != "hand"
        }
        self.every = known
        self.known = {code: theirs for code, theirs in known.items() if self._can_be(code)}

    def _can_be(self, code: str) -> bool:
        """Whether the class has the operation at all, and the file does not speak against it."""
        fault = FAULTS[code]
        is_there = fault.where not in OPS or any(n in self.signs for n in ALONE[fault.where])
        return is_there and not self.evidence.speaks_against(fault)

    def named(self) -> list[Named]:
        found = self._by_file(self._all_named()) if self.ill else []
        found = [self._of_exponent(named) for named in found]
        blamed = {_op_of(named.what) for named in found}
        return [named for named in found if not self._follows(_op_of(named.what), blamed)]

    def _of_exponent(self, named: Named) -> Named:
        """Name what is wrong with ** if it is the exponent's gradient alone."""
        is_power = named.what == "rule:pow" and named.names == ["power of a Value"]
        if not is_power or len(self.signs[named.names[0]].wrong) > 1:
            return named
        script = self.probes[named.names[0]].script
        exponent = [*script.leaves][-1]
        is_it = self.signs[named.names[0]].wrong == {exponent}
        return Named("exponent_wrong", named.names, named.shown) if is_it else named

    def _by_file(self, found: list[Named]) -> list[Named]:
        """Name what has no name by the file, where all that fails uses something twice: its
        operations write into their operands."""
        by_hooks = [one for named in found for one in self._by_hooks(self._by_keys(named))]
        found = [n for k, n in enumerate(by_hooks) if n.what not in {m.what for m in by_hooks[:k]}]
        mine = [named for named in found if named.what not in FAULTS and self._is_kept(named)]
        if not mine:
            return found
        names = [name for named in mine for name in named.names]
        shown = [name for named in mine for name in named.shown]
        return [n for n in found if n not in mine] + [Named("kept_in_operand", names, shown)]

    def _by_keys(self, named: Named) -> Named:
        """Name an operation that fails with one operand twice, and keeps something under each."""
        scripts = [self.probes[name].script for name in named.names]
        if not scripts or not all(script.shares for script in scripts):
            return named
        ops = {s.keys[0] for s in scripts if len(s.statements) == 1}
        is_it = len(ops) == 1 and all(self.evidence.has("keys", op) for op in ops)
        if not is_it or not (named.what.startswith("rule:") or named.what in FAULTS):
            return named
        return Named(f"keyed_by_operand:{min(ops)}", named.names, named.names)

    def _by_hooks(self, named: Named) -> list[Named]:
        """Name operations that give their rules to operands, if what has no name rests on them."""
        if named.what in FAULTS:
            return [named]
        keys = {key for name in named.names for key in self.probes[name].script.keys}
        kept = [
            op
            for op in OPS
            if op in keys and self.evidence.has("keeps", op) and not self.evidence.has("hooks", op)
        ]
        mine = {
            op: [n for n in named.names if op in self.probes[n].script.keys] for op in kept
        }  # fmt: skip
        return [Named(f"self_backward_{op}", mine[op], mine[op]) for op in kept] or [named]

    def _is_kept(self, named: Named) -> bool:
        scripts = [self.probes[name].script for name in named.names]
        writes = {op for script in scripts for op in script.keys if self.evidence.has("writes", op)}
        return all(s.shares and writes & set(s.keys) for s in scripts)

    def _follows(self, where: str, blamed: set[str]) -> bool:
        """Whether a number on the left only fails because it is made of an operation that does."""
        is_reflected = where not in OPS and where.removeprefix("r") in OPS
        return is_reflected and bool(self.evidence.parts_of(where) & blamed)

    def _all_named(self) -> list[Named]:
        scaled = self._seed()
        if scaled:
            return [Named("wrong_seed", [*self.ill], [*self.ill], scaled)]
        alone = self.alone()
        if alone:
            return alone
        seedless = self._seedless()
        if seedless:
            return [self._with_evidence(seedless, [*self.ill])]
        found, left, suspects = self._values()
        if left:
            rules, left, suspects = self._rules(left, suspects)
            found += rules
        while left:
            code, mine = self._structural(left, suspects)
            if not code:
                return found + self._unnamed(left)
            found.append(self._with_evidence(code, mine))
            left = {name: sign for name, sign in left.items() if name not in mine}
        return found

    def _unnamed(self, left: Signs) -> list[Named]:
        """Say at least which operation it is, where a single one is wrong by itself."""
        single = {n: self.probes[n].script.keys[0] for n in left
                  if len(self.probes[n].script.statements) == 1}  # fmt: skip
        made = {n for n, key in single.items() if key == "sum" or self.evidence.is_made(key)}
        for names in ([n for n in single if n not in made], [*single]):
            keys = {single[n] for n in names}
            rest = [n for n in left if not keys & {*self.probes[n].script.keys}]
            if 0 < len(keys) <= MANY and (names[0] not in made or not rest):
                groups = [(key, [n for n in names if single[n] == key]) for key in sorted(keys)]
                found = [Named(f"rule:{key}", mine, mine) for key, mine in groups]
                return found + ([Named("", rest, rest)] if rest else [])
        return [Named("", [*left], [*left])]

    def _unmoved(self) -> str:
        """Name a pass after which every gradient is 1, as the constructor has it: it runs nothing.

        Where gradients begin at 0, that is for `_seedless`.
        """
        if not self.ill or not self.evidence.has("seeds", "init"):
            return ""
        numbers = [dict(sign.numbers) for sign in self.ill.values()]
        is_still = all(
            names and not self.ill[name].values and set(names.values()) == {1.0}
            for name, names in zip(self.ill, numbers, strict=True)
        )
        ones = [
            name
            for name in self.signs
            if name not in self.ill
            and self.probes[name].kind != "hand"
            and any(x != 1.0 for x in expected(self.probes[name].script)[1].values())
        ]
        if not is_still or ones:
            return ""
        return "sort_not_begun" if self._can_be("sort_not_begun") else "nothing_runs"

    def _seedless(self) -> str:
        """Name a pass that leaves every result at 0, by what it does with one set by hand."""
        for name, sign in self.ill.items():
            if dict(sign.numbers).get(self.probes[name].script.root) != 0.0:
                return ""
        by_hand = [name for name in self.signs if self.probes[name].kind == "hand"]
        if not by_hand or self.signs[by_hand[0]].error:
            return ""
        script, sign = self.probes[by_hand[0]].script, self.signs[by_hand[0]]
        if self._can_be("other_seed"):
            return "other_seed"
        if script.root in sign.wrong:
            return "seed_zero"
        is_zero = all(dict(sign.numbers).get(leaf) == 0.0 for leaf in script.leaves)
        if is_zero and self.evidence.forgets_to_sort():
            return "sort_not_begun"
        if is_zero:
            codes = ("empty_pass", "no_pass", "nothing_runs")
            return next((code for code in codes if self._can_be(code)), "no_pass")
        theirs = self.known.get("no_pass", [{}])[0].get(by_hand[0])
        if theirs is not None and is_equal(sign, theirs):
            return "no_pass"
        return next((c for c in ("missing_seed", "hidden_pass") if self._can_be(c)), "")

    def alone(self) -> list[Named]:
        still = self._unmoved()
        if still:
            return [self._with_evidence(still, [*self.ill])]
        codes = exactly(self.signs, self.ill, self.probes, self.every, self.evidence, self._can_be)
        return [self._with_evidence(codes[0], [*self.ill], len(codes) > 1)] if codes else []

    def _with_evidence(self, code: str, names: list[str], has_rivals: bool = False) -> Named:
        """Find the probes in which the patient is wrong by the same numbers, or like this."""
        styles = self.known.get(code, [])
        pairs = [(name, theirs[name]) for theirs in styles for name in names if name in theirs]
        equal = [name for name, sign in pairs if is_equal(self.signs[name], sign)]
        alike = [name for name, sign in pairs if self.signs[name].looks_like(sign)]
        shown = list(dict.fromkeys(equal or alike or names))
        return Named(code, names, shown, has_rivals=has_rivals)

    # ---- everything at once ---------------------------------------------------------------------

    def _seed(self) -> str:
        """Return the root's gradient if all others are as many times what is right."""
        roots = set()
        for name, sign in self.ill.items():
            script = self.probes[name].script
            numbers = dict(sign.numbers)
            if script.root not in numbers or sign.error or sign.values:
                return ""
            seed = numbers.pop(script.root)
            _, grad = expected(script)
            if not seed or not all(close(x, seed * grad[n]) for n, x in numbers.items()):
                return ""
            roots.add(brief(seed))
        return roots.pop() if len(roots) == 1 else ""

    # ---- values ---------------------------------------------------------------------------------

    def _values(self) -> tuple[list[Named], Signs, set[str]]:
        """Name the operations that compute wrong numbers; return also what is left, and them."""
        groups: dict[str, list[str]] = {}
        for name, sign in self.ill.items():
            if sign.values:
                groups.setdefault(_culprit(self.probes[name], sign), []).append(name)
        # a ** b, where ** does not know b, comes to the power of a number on the left of b.
        if groups.get("pow") == ["power of a Value"] and self._value_row(
            "rpow", groups.get("rpow", [])
        ):
            groups["rpow"] += groups.pop("pow")
        for op in [*groups]:
            parts = [part for part in self.evidence.parts_of(op) if part in groups and part != op]
            if parts:
                groups[min(parts)] += groups.pop(op)
        found = []
        for op, names in groups.items():
            own = [n for n in names if n != "power of a Value"] if op == "rpow" else names
            code = "in_place" if op == IN_PLACE else self._value_row(op, own)
            if op == "init" and not code and (changes := self._changing(names)):
                found.append(Named(f"changes_operand:{changes}", names, names))
                continue
            found.append(self._with_evidence(code, names) if code else
                         Named(f"value:{op}", names, names))  # fmt: skip
        suspects = {op for op in groups if op in OPS}
        mine = {name for names in groups.values() for name in names}
        left = {
            name: sign
            for name, sign in self.ill.items()
            if name not in mine and not self._contains(name, suspects)
        }
        return found, left, suspects

    def _changing(self, names: list[str]) -> str:
        """Name the one operation after which the number of a leaf is another one."""
        single = {self.probes[n].script.keys[0] for n in names
                  if len(self.probes[n].script.statements) == 1}  # fmt: skip
        if len(single) != 1 or len(names) == len(self.signs):
            return ""
        (op,) = single
        return op if all(op in self.probes[n].script.keys for n in names) else ""

    def _value_row(self, op: str, names: list[str]) -> str:
        for code, styles in self.known.items():
            for theirs in styles:
                wrong = [n for n in theirs if n in self.signs and theirs[n].values]
                if (
                    wrong
                    and all(n in wrong for n in names)
                    and all(
                        n in self.ill and is_same(theirs[n].values, self.signs[n].values)
                        for n in wrong
                    )
                ):
                    return code
        return ""

    # ---- rules ----------------------------------------------------------------------------------

    def _rules(self, left: Signs, suspects: set[str]) -> tuple[list[Named], Signs, set[str]]:
        """Name the operations that are wrong by themselves; return also what is left, and them."""
        there = [op for op in OPS if op not in suspects and self._asked(op)]
        singly = [op for op in there if any(name in left for name in self._single(op))]
        if there and len(singly) == len(there):
            return [], left, suspects  # everything is wrong, so it is not the rules
        together = [op for op in there if any(name in left for name in ALONE[op])]
        are_trusted = len(together) < COMMON * len(there)
        found: list[Named] = []
        wrong: set[str] = set()
        for op in there:
            names = self._asked(op) if are_trusted else self._single(op)
            trusted = [n for n in names if not (_others(self.probes[n], op) & (wrong | suspects))]
            mine = [name for name in trusted if name in left]
            if not mine or self._is_made_of_wrong_ones(op, mine, found):
                continue
            found += self._local(op, trusted, mine)
            wrong.add(op)
        if sum(named.what.startswith("rule:") for named in found) > MANY:
            return [Named("", [*left], [*left])], {}, set()
        suspects = suspects | wrong
        rest = {n: sign for n, sign in left.items() if not self._contains(n, suspects)}
        return found, rest, suspects

    def _is_made_of_wrong_ones(self, op: str, mine: list[str], found: list[Named]) -> bool:
        """Whether an operation is wrong only because it is made of one that is."""
        parts = self.evidence.parts_of(op)
        for named in found:
            if named.what.partition(":")[2] in parts or (
                self.evidence.is_made(op) and _op_of(named.what) in parts
            ):
                return True  # in a way of its own, so that nobody can tell
            if _op_of(named.what) in parts:
                for theirs in self.known[named.what]:
                    if all(n in theirs and is_equal(self.signs[n], theirs[n]) for n in mine):
                        return True
        return False

    def _asked(self, op: str) -> list[str]:
        return [name for name in ALONE[op] if name in self.signs]

    def _single(self, op: str) -> list[str]:
        return [n for n in self._asked(op) if len(BY_NAME[n].script.statements) == 1]

    def _contains(self, name: str, suspects: set[str]) -> bool:
        """Whether a script uses an operation under suspicion, or one that may be made of it."""
        ops = self.probes[name].script.ops
        return any(op in suspects or suspects & self.evidence.parts_of(op) for op in ops)

    def _local(self, op: str, names: list[str], mine: list[str]) -> list[Named]:
        """Name what is wrong with one operation: one slip, or one in its rule and one in its place.

        The rule shows where it stands alone and below others, its place in the graph above them.
        """
        codes = self._local_rows(op, names)
        if codes:
            return [self._with_evidence(codes[0], mine, len(codes) > 1)]
        above = [name for name in names if " above " in name]
        parts = [[name for name in names if name not in above], above]
        ills = [[name for name in part if name in mine] for part in parts]
        rows = [self._local_rows(op, part) for part in parts]
        if all(ills) and all(rows):
            return [self._with_evidence(row[0], ill) for row, ill in zip(rows, ills, strict=True)]
        return [Named(f"rule:{op}", mine, mine)]

    def _local_rows(self, op: str, names: list[str]) -> list[str]:
        """Find the rows that give the same numbers wherever the operation stands alone.

        Behind the first, also those that the file speaks against.
        """
        codes = [
            code
            for code, styles in self.every.items()
            if FAULTS[code].is_local
            and FAULTS[code].where == op
            and any(
                all(n in theirs and is_equal(self.signs[n], theirs[n]) for n in names)
                for theirs in styles
            )
        ]
        is_possible = any(code in self.known for code in codes)
        return sorted(codes, key=lambda code: code not in self.known) if is_possible else []

    # ---- accumulation, order, state -------------------------------------------------------------

    def _structural(self, left: Signs, suspects: set[str]) -> tuple[str, list[str]]:
        """Find the fault of accumulation, order or state that explains most of what is left."""
        best: tuple[tuple[int, int, int, int], str, list[str], bool] | None = None
        for code, styles in self.known.items():
            if FAULTS[code].is_local:
                continue
            theirs = self._closest(styles, left, suspects)
            hits, alike, equal, invented = self._compared(theirs, left, suspects)
            varies = FAULTS[code].varies
            is_like = varies and alike >= ALIKE * hits and invented <= INVENTED * hits
            if not hits or not (is_like or (equal, invented) == (hits, 0)):
                continue
            mine = [name for name in left if name in theirs and not theirs[name].is_well]
            score = (hits - WEIGHT * invented, self._by_hand(theirs), equal, alike)
            if best is None or score > best[0]:
                is_enough = len(mine) == len(left) or hits >= SEVERAL
                best = (score, code, mine, equal == hits and is_enough)
        if best is None or len(best[2]) < NAMED * len(left):
            # Wrong only where a result is used twice: then at least it is the order.
            shared = all(self.probes[name].script.shares_results for name in left)
            return self._order() if shared and len(left) > 1 else "", list(left)
        _, code, mine, is_exact = best
        if code in ORDERS and not is_exact:
            # An order can do no harm where no result is used twice.
            mine = [n for n in left if n in mine or self.probes[n].script.shares_results]
            return code if self.evidence.supports(code) else self._order(), mine
        return code, list(left) if len(mine) >= MOST * len(left) else mine

    def _order(self) -> str:
        """Name a wrong order: by the file, where numbers do not tell."""
        return self.evidence.order() or "wrong_order"

    def _closest(self, styles: list[Signs], left: Signs, suspects: set[str]) -> Signs:
        """Of the styles in which a fault is planted, return the one that is most like this."""

        def likeness(theirs: Signs) -> tuple[float, int]:
            hits, alike, equal, invented = self._compared(theirs, left, suspects)
            return alike + equal / 100 - WEIGHT * invented, hits  # equal numbers decide a draw

        return max(styles, key=likeness)

    def _compared(
        self, theirs: Signs, left: Signs, suspects: set[str]
    ) -> tuple[int, int, int, int]:
        """Count the probes that both fail, in which the same is wrong, by the same numbers; and
        those that only the patient fails."""
        signs = self.signs
        common = [name for name in theirs if name in signs and not self._contains(name, suspects)]
        failing = [
            name for name in common if not theirs[name].is_well and self.probes[name].kind != "hand"
        ]
        hits = [name for name in failing if name in left]
        alike = [name for name in hits if theirs[name].looks_like(left[name])]
        equal = [name for name in alike if is_equal(theirs[name], left[name])]
        invented = [name for name in failing if signs[name].is_well]
        return len(hits), len(alike), len(equal), len(invented)

    def _by_hand(self, theirs: Signs) -> int:
        names = [n for n in theirs if n in self.signs and self.probes[n].kind == "hand"]
        return sum(theirs[name].is_well == self.signs[name].is_well for name in names)


def _culprit(probe: Probe, sign: Sign) -> str:
    """Find the first statement whose value is wrong: its operation, as in "add" or "radd"."""
    wrong = {name.removesuffix(".data") for name, _ in sign.values}
    in_place = [s for s in probe.script.statements if s.op.endswith("=")]
    if wrong & set(probe.script.leaves):
        return IN_PLACE if in_place else "init"
    for statement in probe.script.statements:
        if statement.name in wrong and statement.op != "is":
            return probe.script.keys[probe.script.statements.index(statement)]
    return ""


def _others(probe: Probe, op: str) -> set[str]:
    return probe.script.ops - {op}


def _op_of(what: str) -> str:
    return FAULTS[what].where if what in FAULTS else ""
