"""What the player shows, worked out row by row: the browser draws, it never differentiates.

A play has the forward pass (a row for each operation) and runs of the backward pass (a row for each
contribution): first the one done right, then one for each fault that can be replayed. All numbers
are texts by now; what is said in words is said by the browser, in its language. A row has only what
the rows before it do not tell: `frames.js` spells it out. Units and arrows are those of the scene
of the whole graph, in its order.

Start at `play_of`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Any

from ...calculus.faults import ROWS
from ...calculus.paths import Explanation, Term, explain_all
from ...calculus.replay import Replay, is_off, replays
from ...calculus.steps import Forward, Step, aside, forward_steps, links, steps
from ...core.graph import topological_order
from ...core.names import brief, cut, name_of, plural, readable, short
from ...core.strict import is_stale
from ..scene import Scene, Unit
from ..svg import COLUMN

TOP = 6  # paths listed for a variable, each in a colour of its own
SPARE = 1  # columns for wrong grads, which may be longer; beyond that they are condensed

Play = dict[str, Any]


def play_of(
    root: Any,
    scene: Scene,
    faults: Collection[str] | None = None,
    room: Sequence[tuple[int, int]] = (),
) -> Play:
    """Return the whole play as JSON can hold it; with `faults`, the runs of these alone.

    `room` has columns that the fields of each unit are to have at least.
    """
    order = topological_order(root)
    arrows = _Arrows(order, scene)
    sound = steps(root)
    explanations = explain_all(root, TOP)
    units = [
        _unit(node, unit, found, arrows)
        for node, unit, found in zip(order, scene.units, explanations, strict=True)
    ]
    forward = [_forward(step, arrows) for step in forward_steps(root)]
    runs: list[dict[str, Any]] = [{"name": "", "rows": [_backward(s, arrows) for s in sound]}]
    runs += _broken_runs(root, sound, arrows, faults)
    play = {
        "title": scene.title if scene.units[-1].label or scene.units[-1].op else "",
        "value": str(scene.units[-1].data),
        "column": COLUMN,
        "units": units,
        "arrows": arrows.rows,
        "forward": forward,
        "runs": runs,
    }
    needed = _columns_of(play)
    room = room if len(room) == len(units) else needed
    for unit, *columns in zip(units, needed, room, strict=True):
        unit["dataColumns"], unit["columns"] = map(max, zip(*columns, strict=True))
    return play


def broken_runs_of(root: Any, scene: Scene) -> list[dict[str, Any]]:
    """Return the runs of all faults, for a play that was made without them."""
    return _broken_runs(root, steps(root), _Arrows(topological_order(root), scene), None)


def _broken_runs(
    root: Any, sound: list[Step], arrows: _Arrows, faults: Collection[str] | None
) -> list[dict[str, Any]]:
    chosen = [row for row in ROWS if faults is None or row.name in faults]
    return [_run(played, arrows) for played in replays(root, sound, chosen)] if chosen else []


def widths_of(play: Play) -> list[tuple[int, int]]:
    """Return the columns that each unit's data and grad have."""
    return [(unit["dataColumns"], unit["columns"]) for unit in play["units"]]


def _columns_of(play: Play) -> list[tuple[int, int]]:
    """Return the columns that each unit's data and grad need, spare ones for wrong grads too."""
    data = {unit: text for unit, _, text in play["forward"]}
    widest = [1] * len(play["units"])
    for arrow, _, after in play["runs"][0]["rows"]:
        unit = play["arrows"][arrow][0]
        widest[unit] = max(widest[unit], len(after))
    return [
        (len(f"data {data.get(k, unit['data'])}"), len("grad ") + widest[k] + SPARE)
        for k, unit in enumerate(play["units"])
    ]


def frame_at(play: Play, start: int | str) -> int:
    """Return the number of a frame: itself, or "forward", "backward", "end"."""
    backward = len(play["forward"]) + 1
    end = backward + len(play["runs"][0]["rows"]) + 1
    named = {"forward": min(1, backward), "backward": backward, "end": end}
    start = check_start(start, end)
    return named[start] if isinstance(start, str) else start


def check_start(start: int | str, end: int) -> int | str:
    """Refuse what is no frame, of which `end` is the last."""
    is_number = isinstance(start, int) and not isinstance(start, bool)
    if start in ("forward", "backward", "end") or (is_number and 0 <= int(start) <= end):
        return start
    raise ValueError(
        f"start={start!r}: give the number of a step, 0 to {end}, or 'forward', 'backward' or "
        "'end'."
    )


class _Arrows:
    """The arrows of a scene by what they join, each with its local derivative."""

    def __init__(self, order: list[Any], scene: Scene) -> None:
        self.place = {id(node): k for k, node in enumerate(order)}
        self.rows: list[list[Any]] = [[a.source, a.target, None] for a in scene.arrows]
        self._at = {(a.target, a.position): k for k, a in enumerate(scene.arrows)}
        self._between = {(a.source, a.target): k for k, a in reversed([*enumerate(scene.arrows)])}
        for node, found in zip(order, aside(order, lambda: list(map(links, order))), strict=True):
            for position, (operand, local) in enumerate(found):
                self.rows[self.of(node, operand, position)][2] = brief(local)

    def of(self, node: Any, operand: Any, position: int) -> int:
        """Find the arrow from an operand; hand-written rules know operands, not positions."""
        source, target = self.place[id(operand)], self.place[id(node)]
        k = self._at.get((target, position))
        is_it = k is not None and self.rows[k][0] == source and not node._is_custom
        return k if is_it and k is not None else self._between[source, target]

    def along(self, term: Term) -> list[int]:
        """Return the arrows of a path, from the variable to the result."""
        ways = zip(term.nodes, term.nodes[1:], reversed(term.positions), strict=False)
        return [self.of(node, operand, position) for operand, node, position in ways]


def called(node: Any, unit: Unit, show: Callable[[Any], str] = short) -> str:
    """Call a node as its unit does, or by a longer name that ends so: layer0.neuron2."""
    name = name_of(node, show)
    return name if node.label or name.endswith(unit.label) else show(unit.label)


def _unit(node: Any, drawn: Unit, explanation: Explanation, arrows: _Arrows) -> dict[str, Any]:
    name, brief_name = called(node, drawn, readable), cut(called(node, drawn))
    unit = {
        "name": name,
        "labelled": bool(drawn.label),
        "data": "" if node._operands else brief(node.data),  # at the start
        "grad": brief(explanation.gradient),
        **paths_told(explanation),
        "terms": [[brief(term.product), arrows.along(term)] for term in explanation.terms],
    }
    if brief_name != name:
        unit["short"] = brief_name
    if node._is_custom:
        unit["byHand"] = True
    if is_stale(node):
        unit["stale"] = (
            True  # what the row says is not so any more, and the caption has to say that
        )
    return unit


def paths_told(explanation: Explanation) -> dict[str, Any]:
    """Say how many paths there are, and what those come to that are not listed."""
    told: dict[str, Any] = {"count": _count(explanation.paths)}
    if explanation.rest_paths:
        told["rest"] = [brief(explanation.rest), _count(explanation.rest_paths)]
    return told


def _count(paths: int) -> str:
    """Write a count of paths without a word: 1,018, or ≈ 1.23e70."""
    return plural(paths, "path").rsplit(" ", 1)[0].replace("about", "≈")


def _forward(step: Forward, arrows: _Arrows) -> list[Any]:
    """A row of the forward pass: the unit, what is asked, the result."""
    return [arrows.place[id(step.node)], step.head, brief(step.data)]


def _backward(step: Step, arrows: _Arrows) -> list[Any]:
    """A row of the backward pass: the arrow, the contribution, and the operand's grad after it."""
    arrow = arrows.of(step.node, step.operand, step.position)
    return [arrow, brief(step.contribution), brief(step.after)]


def _run(played: Replay, arrows: _Arrows) -> dict[str, Any]:
    """A run with a fault; without rows if the fault does this graph no harm."""
    fault = played.fault
    run: dict[str, Any] = {"name": fault.name, "says": fault.says}
    if not played.shows:
        return run

    def told(grads: Any) -> list[list[Any]]:
        return [[arrows.place[id(node)], *map(brief, numbers)] for node, *numbers in grads]

    run["rows"] = [_broken(step, played, arrows) for step in played.steps]
    run["begins"] = told(played.begins)
    run["wrong"] = told(played.wrong)
    if played.first:
        run["first"] = told(played.first)
        run["kept"] = told((node, after) for node, _, after in played.kept)
    return run


def _broken(step: Step, played: Replay, arrows: _Arrows) -> list[Any]:
    """The same row, and where it is so: what is right, another local derivative, `=` for `+=`."""
    row = _backward(step, arrows)
    local = brief(step.local) if step.local is not None else None
    row.append(brief(step.right) if is_off(step) else 0)
    row.append(local if local not in (None, arrows.rows[row[0]][2]) else 0)
    row.append(int(played.fault.replaces(step.node)))
    while row[-1] == 0:
        row.pop()
    return row
