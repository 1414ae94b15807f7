"""Which faults explain what is wrong: the stranger's signature against those of the patients.

Three steps, from the sure to the less sure:

1. One fault that explains everything, number for number.
2. Rules: an operation that is wrong when it stands alone, while others are right. The row must fit
   number for number; if none does, it is said that the operation is wrong, and nothing more.
3. The rest, without scripts that contain such an operation: faults of accumulation, order and
   state. Here numbers may differ, because the order of a set differs from run to run; it is
   enough that the same leaves are wrong, for the most part.

What is left then is reported without a name.
"""

from __future__ import annotations

from .catalogue import FAULTS, ORDERS
from .judging import Sign, close
from .probes import BY_NAME, PROBES
from .signatures import Signatures

# An operation may be made of others: a - b of a + (-b), a / b of a * b**-1.
MADE_OF = {
    "sub": ("add", "neg", "mul"),
    "neg": ("mul", "sub"),
    "div": ("mul", "pow"),
    "sum": ("add",),
}
# Numbers that decide; all patients, in all styles, and strangers' engines are told apart by them.
# Operations that are wrong in no known way: people slip in one rule or two, so with more of them it
# is something that they have in common.
MANY = 3
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
ALONE = {  # the probes of an operation by itself, with distinct operands, and with a gradient
    op: [
        probe.name
        for probe in PROBES
        if probe.kind in ("first", "maybe")
        and probe.script.statements[0].op == op
        and not probe.script.has_numbers
        and not probe.whole
        and len({*probe.script.statements[0].operands}) == len(probe.script.statements[0].operands)
        and (len(probe.script.statements) == 1 or probe.name.endswith(" below"))
    ]
    for op in ("mul", "add", "neg", "sub", "pow", "div", "tanh", "exp", "log", "relu", "sigmoid")
}

Signs = dict[str, Sign]


def recognise(
    signs: Signs, ill: Signs, known: Signatures, has_closures: bool
) -> list[tuple[str, list[str]]]:
    """Pair each fault with the ill probes that it explains, given what the patients fail.

    A fault is a code of the catalogue, an operation whose rule is wrong in a way of its own, or ""
    for what nobody knows.
    """
    alone = _explains_everything(signs, ill, known, has_closures)
    if alone:
        return [(alone, list(ill))]
    found, left, suspects = _rules(signs, ill, known)
    while left:
        code, mine = _structural(signs, left, suspects, known)
        found.append((code, mine))
        left = {name: sign for name, sign in left.items() if name not in mine}
    return found


Found = list[tuple[str, list[str]]]


def _rules(signs: Signs, ill: Signs, known: Signatures) -> tuple[Found, Signs, set[str]]:
    """Name the operations that are wrong by themselves; return also what is left, and them."""
    wrong = [op for op in ALONE if any(name in ill for name in _single(op, signs))]
    if all(op in wrong for op in ALONE if _single(op, signs)):
        return [], dict(ill), set()  # everything is wrong, so it is not the rules
    found: Found = []
    suspects: set[str] = set()
    for op, names in ALONE.items():
        trusted = names if op == "mul" or "mul" not in suspects else _single(op, signs)
        mine = [name for name in trusted if name in ill]
        is_made = _is_made_of_wrong_ones(op, mine, signs, found, known)
        if not mine or is_made or _is_a_number(op, signs):
            continue
        found.append((_local_row(op, signs, trusted, known) or op, mine))
        suspects.add(op)
    if sum(what in ALONE for what, _ in found) > MANY:
        return [("", list(ill))], {}, set()
    left = {name: sign for name, sign in ill.items() if not _contains(name, suspects)}
    return found, left, suspects


def _is_made_of_wrong_ones(
    op: str, mine: list[str], signs: Signs, found: Found, known: Signatures
) -> bool:
    """Whether an operation is wrong only because it is made of one that is."""
    parts = set(MADE_OF.get(op, ()))
    for what, _ in found:
        if what in parts:
            return True  # in a way of its own, so that nobody can tell
        if what in FAULTS and FAULTS[what].where in parts:
            for theirs in known[what]:
                if all(name in theirs and _equal(signs[name], theirs[name]) for name in mine):
                    return True
    return False


def _is_a_number(op: str, signs: Signs) -> bool:
    """-a may fail because it is a * -1, and numbers are not wrapped; a - b because of -b."""
    error = signs.get(op, Sign()).error
    is_made = op in ("neg", "sub", "div")
    return is_made and error != "" and signs.get("mul a number", Sign()).error == error


def _single(op: str, signs: Signs) -> list[str]:
    return [n for n in ALONE[op] if n in signs and len(BY_NAME[n].script.statements) == 1]


def _contains(name: str, suspects: set[str]) -> bool:
    """Whether a script uses an operation under suspicion, or one that may be made of it."""
    ops = BY_NAME[name].script.ops
    return any(op in suspects or suspects & set(MADE_OF.get(op, ())) for op in ops)


def _explains_everything(signs: Signs, ill: Signs, known: Signatures, has_closures: bool) -> str:
    """Find a fault that fails in exactly this way, in the plainest style in which one does.

    Two look the same from outside: operands in a set, and both written at once. The latter takes
    a function that knows both operands.
    """
    styles = max(map(len, known.values()))
    for k in range(styles):
        codes = [
            code
            for code, theirs in known.items()
            if k < len(theirs) and _is_exact(theirs[k], signs, ill)
        ]
        if "same_object" in codes and not has_closures:
            return "set_prev"
        if "set_prev" in codes and has_closures and _is_any(known["same_object"], signs, ill):
            return "same_object"
        if codes:
            return codes[0]
    return ""


def _is_any(styles: list[Signs], signs: Signs, ill: Signs) -> bool:
    return any(_is_exact(theirs, signs, ill) for theirs in styles)


def _is_exact(theirs: Signs, signs: Signs, ill: Signs) -> bool:
    common = [name for name in signs if name in theirs]
    explained = all(name in theirs for name in ill)
    return explained and all(_equal(signs[name], theirs[name]) for name in common)


def _local_row(op: str, signs: Signs, trusted: list[str], known: Signatures) -> str:
    """Find the row that gives the same numbers wherever the operation stands alone."""
    names = [name for name in trusted if name in signs]
    for code, styles in known.items():
        if FAULTS[code].is_local and FAULTS[code].where == op:
            for theirs in styles:
                if all(name in theirs and _equal(signs[name], theirs[name]) for name in names):
                    return code
    return ""


def _structural(
    signs: Signs, left: Signs, suspects: set[str], known: Signatures
) -> tuple[str, list[str]]:
    """Find the fault of accumulation, order or state that explains most of what is left."""
    best: tuple[tuple[int, int, int, int], str, list[str], bool] | None = None
    for code, styles in known.items():
        if FAULTS[code].is_local:
            continue
        theirs = _closest(styles, signs, left, suspects)
        hits, alike, equal, invented = _compared(theirs, signs, left, suspects)
        similar = alike if FAULTS[code].varies else equal
        if not hits or similar < ALIKE * hits or invented > INVENTED * hits:
            continue
        mine = [name for name in left if name in theirs and not theirs[name].is_well]
        score = (hits - WEIGHT * invented, _by_hand(theirs, signs), equal, alike)
        if best is None or score > best[0]:
            best = (score, code, mine, equal == hits and len(mine) == len(left))
    if best is None or len(best[2]) < NAMED * len(left):
        return "", list(left)
    _, code, mine, is_exact = best
    if code in ORDERS and not is_exact:
        return "wrong_order", list(left)
    return code, list(left) if len(mine) >= MOST * len(left) else mine


def _closest(styles: list[Signs], signs: Signs, left: Signs, suspects: set[str]) -> Signs:
    """Of the styles in which a fault is planted, return the one that is most like this."""

    def likeness(theirs: Signs) -> tuple[float, int]:
        hits, alike, equal, invented = _compared(theirs, signs, left, suspects)
        return alike + equal / 100 - WEIGHT * invented, hits  # equal numbers decide a draw

    return max(styles, key=likeness)


def _compared(
    theirs: Signs, signs: Signs, left: Signs, suspects: set[str]
) -> tuple[int, int, int, int]:
    """Count the probes that both fail, in which the same is wrong, by the same numbers; and those
    that only the patient fails."""
    common = [name for name in theirs if name in signs and not _contains(name, suspects)]
    failing = [name for name in common if not theirs[name].is_well and BY_NAME[name].kind != "hand"]
    hits = [name for name in failing if name in left]
    alike = [name for name in hits if theirs[name].looks_like(left[name])]
    equal = [name for name in alike if _equal(theirs[name], left[name])]
    invented = [name for name in failing if signs[name].is_well]
    return len(hits), len(alike), len(equal), len(invented)


def _by_hand(theirs: Signs, signs: Signs) -> int:
    names = [n for n in theirs if n in signs and BY_NAME[n].kind == "hand"]
    return sum(theirs[name].is_well == signs[name].is_well for name in names)


def _equal(p: Sign, q: Sign) -> bool:
    return p.looks_like(q) and all(
        m == n and close(x, y) for (m, x), (n, y) in zip(p.numbers, q.numbers, strict=True)
    )
