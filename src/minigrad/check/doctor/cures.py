"""What no row of the catalogue explains: is there a small change of the file that mends it?

A row fits by its numbers, and not every mistake is in the catalogue. So where something is left
without a name, small changes of the functions that run are tried in the sandbox (`mending.py`),
and the one that makes most of it right is the cause (`mended.py`): it has the line with it.

Start at `cured`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from .answers import Examination
from .catalogue import FAULTS
from .crashes import Crash
from .differences import misfit, points
from .judging import Sign, judge
from .mended import Change, Mended, mended
from .probes import BY_NAME, PROBES, drawn
from .recognise import Named
from .run_probes import NO_END, Outcome
from .scripts import Probe
from .signatures import Signs, signature

TURNS = 3  # in which changes are looked for, each with those of the turns before made
SICK, SOUND = 24, 24  # probes for which changes are tried: of those that fail, and of the others
RELATED = 16  # and of these, with operations that fail
SHARING = 6  # and of those that fail and are large
# Errors that tell what happened and not always why: a Value where its number was meant ends alike.
DOUBTFUL = ("missing_reflected", "number_inside")
# Changes that tell how a rule is wrong, and not only where: they decide between rows.
TELLING = ("adds", "hooks", "chains", "operands")
MORE = 2  # times as much as a row a cure must explain to be believed instead


def cured(
    found: Examination, probes: Mapping[str, Probe], outcomes: dict[str, Outcome], signs: Signs,
    crashed: list[Crash], named: list[Named],
) -> tuple[list[Crash], list[Named], list[Mended]]:  # fmt: skip
    """Return the crashes and the names that stay, and the cures for the others."""
    causes: list[Named | Crash] = [*crashed, *named]
    if found.try_changes is None or not any(_is_unnamed(c) or _is_doubtful(c) for c in causes):
        return crashed, named, []
    sure = [one for one in causes if not _is_unnamed(one) and not _is_doubtful(one)]
    rows = {name for one in sure for name in one.names}
    may_ask = (n for n in signs if probes[n].kind != "hand" and signs[n].error != NO_END)
    asked = sorted(may_ask, key=size)
    # Where chance decides the order of some graph, it does so in every graph that shares a node:
    # one that has come out alike so far proves nothing either.
    is_chance = any(outcomes[n].get("others") for n in asked)
    unsteady = {n for n in asked if is_chance and probes[n].script.shares}
    steady = [n for n in asked if n not in unsteady]
    ill = [n for n in steady if not signs[n].is_well]
    if not ill:  # chance has a hand in all that is wrong: then a change has to mend all of it
        ill = [n for n in asked if not signs[n].is_well]
        unsteady = set()
    ill = _chosen([n for n in ill if n not in rows], probes) + [n for n in ill if n in rows][:SICK]
    well = _near([n for n in steady if signs[n].is_well], ill, probes)
    twins = _twins(found, probes, ill)
    failing = [*(probes[n] for n in ill), *(twin for twin, _ in twins)]
    sound = [probes[n] for n in well]
    wrong = {n: signs[n] for n in ill} | {twin.name: sign for twin, sign in twins}
    cures = _cures(found, failing, sound, wrong, unsteady) if ill else []
    if is_chance and not unsteady:
        cures = [cure for cure in cures if set(ill) <= set(cure.names)]
    cures = [
        replace(cure, names=mine) for cure in cures if (mine := [n for n in cure.names if n in ill])
    ]
    stays = {id(one): not _is_explained(one, cures, probes, set(ill)) for one in causes}
    crashed = [one for one in crashed if stays[id(one)]]
    named = [one for one in named if stays[id(one)]]
    kept = [one for one in causes if stays[id(one)] and not _is_unnamed(one)]
    return crashed, named, [
        cure for cure in cures if not any(set(cure.names) <= set(one.names) for one in kept)
    ]  # fmt: skip


def _chosen(ill: list[str], probes: Mapping[str, Probe]) -> list[str]:
    """Choose the smallest of those that fail, and a few large ones that share results: only they
    show that an order is still wrong."""
    large = [n for n in ill[SICK:] if probes[n].script.shares_results][:SHARING]
    return ill[:SICK] + large


def _near(well: list[str], ill: list[str], probes: Mapping[str, Probe]) -> list[str]:
    """Choose from those that are right: most have an operation of those that fail."""
    keys = {key for name in ill for key in probes[name].script.keys}
    near = [n for n in well if keys & {*probes[n].script.keys}][:RELATED]
    return near + [n for n in well if n not in near][: SOUND - len(near)]


def _cures(
    found: Examination, failing: list[Probe], sound: list[Probe], wrong: Signs, unsteady: set[str]
) -> list[Mended]:
    """Find changes that mend, and with these made, further ones: a file can have several mistakes,
    each of which hides the others."""
    assert found.try_changes is not None
    cures: list[Mended] = []
    for turn in range(TURNS):
        left = [probe for probe in failing if probe.name in wrong]
        questions = [*left, *(p for p in failing if p.name not in wrong), *sound]
        if not left:
            break
        tried = found.try_changes(questions, len(left), "", [cure.change for cure in cures])
        if turn and tried.before:
            judged = zip(questions, tried.before, strict=True)
            now = {p.name: sign for p, outcome in judged if not (sign := judge(p, outcome)).is_well}
            wrong = {name: now[name] for name in now if name not in unsteady}
        more = mended(tried.changes, questions, wrong, unsteady)
        if not more:
            break
        cures += [replace(cure, is_later=turn > 0) for cure in more]
        wrong = {n: sign for n, sign in wrong.items() if not any(n in c.names for c in more)}
    return cures


def cured_other(found: Examination, name: str) -> Change | None:
    """Find the change after which an operation of their own has the slope of its own values."""
    asked, before = points(found.seed), found.others[name]
    if found.try_changes is None:
        return None
    tried = found.try_changes([], 0, name, [])
    for change in tried.changes:
        is_same = all(
            new.get("around") == old.get("around")
            for new, old in zip(change.outcomes, before, strict=True)
        )
        if is_same and misfit(name, asked, change.outcomes) is None:
            return change
    return None


def size(name: str) -> tuple[int, int, int]:
    """How much there is to read in a probe."""
    probe = BY_NAME[name]
    return len(probe.script.statements), len(probe.script.leaves), PROBES.index(probe)


def _is_unnamed(one: Named | Crash) -> bool:
    if isinstance(one, Crash):
        return one.code == "crash"
    return one.what in ("", "wrong_order") or ":" in one.what


def _is_doubtful(one: Named | Crash) -> bool:
    if isinstance(one, Crash):
        return one.code in DOUBTFUL
    return one.has_rivals and FAULTS[one.what].is_local


def _twins(
    found: Examination, probes: Mapping[str, Probe], ill: list[str]
) -> list[tuple[Probe, Sign]]:
    """Ask the smallest of these with other numbers as well: what is right twice is no luck."""
    is_drawn = probes is not BY_NAME
    others = BY_NAME if is_drawn else {p.name: p for p in drawn(found.seed)}
    outcomes = found.outcomes if is_drawn else found.drawn
    small = [n for n in ill if n in others and len(others[n].script.statements) == 1]
    signs = signature({n: outcomes[n] for n in small}, [others[n] for n in small])
    return [
        (replace(others[name], name=f"{name}, twin"), sign)
        for name, sign in signs.items()
        if not sign.is_well
    ]


def _operations(one: Named | Crash, probes: Mapping[str, Probe]) -> set[str]:
    """Name the operations that a row is for, or that crash by themselves."""
    if isinstance(one, Named):
        return {FAULTS[one.what].where}
    scripts = [probes[name].script for name in one.names]
    return {script.keys[0] for script in scripts if len(script.statements) == 1}


def _is_explained(
    one: Named | Crash, cures: list[Mended], probes: Mapping[str, Probe], asked: set[str]
) -> bool:
    """Whether cures tell more of it: an unnamed finding that rests on what they change, or a name
    for a small part of what one of them mends."""
    if isinstance(one, Crash) and _is_doubtful(one):
        return any(set(one.names[:1]) <= set(cure.names) for cure in cures)
    if _is_doubtful(one):
        return any(
            set(one.names) & asked <= set(cure.names) and cure.change.kind in TELLING
            for cure in cures
        )
    if not _is_unnamed(one):
        mine, where = set(one.names) & asked, _operations(one, probes)
        own = [cure for cure in cures if cure.op in where and set(cure.names) & mine]
        is_told = mine <= {name for cure in own for name in cure.names}
        is_more = len(own) > 1 or any(len(cure.names) > len(mine) for cure in own)
        return (bool(mine) and is_told and is_more) or any(
            set(one.names) <= set(cure.names) and len(cure.names) >= MORE * len(one.names)
            for cure in cures
        )
    if any(cure.change.everywhere for cure in cures):
        return True
    mends = {name for cure in cures for name in cure.names}
    changed = {cure.op for cure in cures} | {op for n in mends for op in probes[n].script.keys}
    tried = [name for name in one.names if name in asked] or one.names
    return all(name in mends or set(probes[name].script.keys) & changed for name in tried)
