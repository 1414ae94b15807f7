"""Which faults give just these numbers, in everything that an engine was asked.

First number for number; then without what others are made of. Whether a - b is one step or is made
of a + (-b) changes the numbers of a fault of the pass, and not the fault: so it is enough that
those operations agree which are one step in every engine, and that nothing else is told apart.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from .catalogue import FAULTS
from .evidence import Evidence
from .judging import Sign, close
from .scripts import Probe
from .signatures import Signatures

CORE = ("add", "mul", "tanh", "exp", "log", "relu")  # one step, unless the file says otherwise
Signs = dict[str, Sign]


def exactly(
    signs: Signs, ill: Signs, probes: Mapping[str, Probe], every: Signatures, evidence: Evidence,
    can_be: Callable[[str], bool],
) -> list[str]:  # fmt: skip
    """Find the faults that fail in just this way, the likeliest first.

    Behind the first there may be some that the file speaks against: the numbers are theirs too.
    """
    if not ill:
        return []
    found = _in_all(signs, ill, every, can_be) or _in_core(
        signs, ill, probes, {code: every[code] for code in every if can_be(code)}, evidence
    )
    return sorted(found, key=lambda code: not evidence.shows(code))


def _in_all(
    signs: Signs, ill: Signs, every: Signatures, can_be: Callable[[str], bool]
) -> list[str]:
    """Compare all numbers, in the plainest style in which a patient has these."""
    for k in range(max(map(len, every.values()), default=0)):
        codes = [
            code
            for code, styles in every.items()
            if k < len(styles) and _is_exact(signs, ill, styles[k])
        ]
        if any(map(can_be, codes)):
            return sorted(codes, key=lambda code: not can_be(code))
    return []


def _is_exact(signs: Signs, ill: Signs, theirs: Signs) -> bool:
    common = [name for name in signs if name in theirs]
    return all(name in theirs for name in ill) and all(
        is_equal(signs[name], theirs[name]) for name in common
    )


def _in_core(
    signs: Signs, ill: Signs, probes: Mapping[str, Probe], known: Signatures, evidence: Evidence
) -> list[str]:
    """Compare what is one step in every engine; the rest has to be wrong in some way, as here."""
    plain = {*(op for op in CORE if not evidence.is_made(op)), "is"}
    core = [n for n in signs if plain >= {*probes[n].script.keys}]
    rest = [n for n in ill if n not in core]
    if not any(n in ill for n in core) or any(signs[n].values for n in rest):
        return []
    return [
        code
        for code, styles in known.items()
        if not FAULTS[code].is_local
        and any(
            all(n in theirs and is_equal(signs[n], theirs[n]) for n in core)
            and all(n in theirs and not theirs[n].is_well for n in rest)
            for theirs in styles
        )
    ]


def is_equal(p: Sign, q: Sign) -> bool:
    """Whether the same is wrong, by the same numbers."""
    return p.looks_like(q) and is_same(p.numbers, q.numbers)


def is_same(p: tuple[tuple[str, float], ...], q: tuple[tuple[str, float], ...]) -> bool:
    """Whether numbers are the same, name by name."""
    return len(p) == len(q) and all(
        m == n and close(x, y) for (m, x), (n, y) in zip(p, q, strict=True)
    )
