"""What the player shows, worked out frame by frame: the browser draws, it never differentiates.

A play is the forward pass (one frame for each operation), the seed, and the backward pass (one
frame for each contribution), the latter twice: with `+=`, and with `=`, where the gradients that
go wrong stand beside the right ones. All numbers are texts by now. Units and arrows are those of
the scene of the whole graph, in its order.
"""

from __future__ import annotations

from typing import Any

from ...calculus.paths import Explanation, explain_all
from ...calculus.steps import Forward, Step, forward_steps, overwritten, steps
from ...core.graph import topological_order
from ...core.names import brief, name_of, owner, plural, short_name
from ..scene import Scene

TOP = 6  # paths listed for a variable

Frame = dict[str, Any]


def play_of(root: Any, scene: Scene) -> dict[str, Any]:
    """Return the whole play as JSON can hold it."""
    order = topological_order(root)
    place = {id(node): k for k, node in enumerate(order)}
    arrow = {(a.target, a.position): k for k, a in enumerate(scene.arrows)}
    title, text = "The leaves have their numbers.", "Step forward to work out the rest."
    start, seed = _frame("start", title, text), _seed(root, place)
    right = steps(root)

    def run(played: list[Step], rule: str) -> list[Frame]:
        contributions = [_backward(step, place, arrow, rule) for step in played]
        return [seed, *contributions, _end(played, order)]

    return {
        "units": [
            _unit(node, explanation)
            for node, explanation in zip(order, explain_all(root, TOP), strict=True)
        ],
        "arrows": [[a.source, a.target] for a in scene.arrows],
        "forward": [start, *(_forward(step, place, arrow) for step in forward_steps(root))],
        "right": run(right, "+="),
        "broken": run(overwritten(root, right), "="),
    }


def widths_of(play: dict[str, Any]) -> list[tuple[int, int]]:
    """Return the columns that each unit's data and grad need at most in the play."""
    widths = [[len(unit["data"]), len(unit["grad"])] for unit in play["units"]]
    for frame in play["forward"] + play["right"] + play["broken"]:
        for change in frame["changes"]:
            column = 0 if change["field"] == "data" else 1
            widest = widths[change["unit"]]
            widest[column] = max(widest[column], len(change["text"]))
    return [(data, grad) for data, grad in widths]


def _unit(node: Any, explanation: Explanation) -> dict[str, Any]:
    terms = [[brief(term.product), term.factors, term.path] for term in explanation.terms]
    if explanation.rest_paths:
        terms.append([brief(explanation.rest), plural(explanation.rest_paths, "more path"), ""])
    return {
        "name": name_of(node),
        "label": str(node.label),
        "data": "data" if node._operands else f"data {brief(node.data)}",  # at the start
        "grad": "grad 0",
        "paths": {
            "name": owner(node),
            "gradient": brief(explanation.gradient),
            "count": plural(explanation.paths, "path"),
            "terms": terms,
        },
    }


def _frame(phase: str, title: str, text: str, **rest: Any) -> Frame:
    """Make a frame; `asked` is `text` with its result hidden, for those who want to predict it."""
    frame: Frame = {"phase": phase, "title": title, "text": text, "asked": "", "note": ""}
    return frame | {"units": [], "target": None, "arrows": [], "changes": []} | rest


def _forward(step: Forward, place: dict[int, int], arrow: dict[tuple[int, int], int]) -> Frame:
    k = place[id(step.node)]
    result = brief(step.data)
    head = str(step).removesuffix(result)
    return _frame(
        "forward",
        f"Forward: {short_name(step.node)}",
        head + result,
        asked=f"{head}?",
        units=[k],
        arrows=[arrow[k, position] for position in range(len(step.operands))],
        changes=[{"unit": k, "field": "data", "text": f"data {result}"}],
    )


def _seed(root: Any, place: dict[int, int]) -> Frame:
    k = place[id(root)]
    return _frame(
        "backward",
        "Backward begins at the result.",
        f"{owner(root)}.grad = 1",
        note="The derivative of a number with respect to itself.",
        units=[k],
        changes=[{"unit": k, "field": "grad", "text": "grad 1"}],
    )


def _backward(
    step: Step, place: dict[int, int], arrow: dict[tuple[int, int], int], rule: str
) -> Frame:
    k, target = place[id(step.node)], place[id(step.operand)]
    name = f"{owner(step.operand)}.grad"
    before, after, contribution = map(brief, (step.before, step.after, step.contribution))
    change = {"unit": target, "field": "grad", "text": f"grad {after}"}
    note = _reason(step, contribution)
    if rule == "+=":
        added = f"({contribution})" if contribution.startswith("-") else contribution
        text, asked = f"{name}: {before} + {added} = {after}", f"{name}: {before} + ? = ?"
    else:
        text, asked = f"{name} = {after}", f"{name} = ?"
    if step.is_wrong:
        instead = f" ≠ {brief(step.right)}"
        text += instead
        change |= {"text": f"grad {after}{instead}", "wrong": True}
        lost = f"{before} is lost" if step.before else "the gradient that came in was wrong already"
        note += f"; {lost}"
    return _frame(
        "backward",
        f"Backward: {short_name(step.node)} passes its gradient on to {short_name(step.operand)}",
        text,
        asked=asked,
        note=note,
        asked_note=_reason(step, "?"),
        units=[k],
        target=target,
        arrows=[arrow[k, step.position]],
        changes=[change],
    )


def _reason(step: Step, contribution: str) -> str:
    grad = brief(step.grad)
    if step.local is None:
        return f"its hand-written _backward, with grad {grad}, gives {contribution}"
    return f"local derivative {brief(step.local)} × grad {grad} = {contribution}"


def _end(played: list[Step], order: list[Any]) -> Frame:
    last = {id(step.operand): step for step in played}
    wrong = [
        f"{owner(step.operand)} {brief(step.after)} ≠ {brief(step.right)}"
        for step in last.values()
        if step.is_wrong
    ]
    title, text = "Every gradient is there.", "Point at a variable to see its paths."
    if wrong:
        title, text = "These gradients are wrong:", ", ".join(wrong)
    return _frame("end", title, text, units=[len(order) - 1])
