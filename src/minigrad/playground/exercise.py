"""Exercises: a random small graph, to fill in its gradients; graded box by box, with the reason.

An exercise is made from a level and a seed, so that nobody has to remember it. A wrong answer is
looked for among the mistakes that people make: the faults of `calculus/faults.py`, one path of
several, the local derivative alone, the sign. What is none of them is told how it is.
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterator
from typing import Any

from .. import expressions
from ..calculus.paths import Explanation, explain_all
from ..calculus.replay import replays
from ..calculus.steps import Step, steps
from ..core.graph import topological_order
from ..core.names import brief, short, short_name
from ..errors import ExpressionError
from ..expressions import number
from ..scalar import Value
from ..view.from_graph import scene_of
from ..view.player.page import words as player_words
from ..view.scene import Scene
from ..view.svg import svg_of
from .request import Request, RequestError
from .words import say

LEVELS = (1, 2, 3)
CLOSE = 1e-4  # relative: answers may be rounded to the digits that pictures show
PATHS = 64


class Exercise:
    """An expression with numbers, and what is right about it."""

    def __init__(self, level: int, seed: int) -> None:
        self.text, numbers = _drawn(level, random.Random(f"{level} {seed}"))
        self.numbers = numbers
        variables = {name: Value(x, label=name) for name, x in numbers.items()}
        self.root: Value = expressions.evaluate(expressions.parse(self.text), variables)
        self.order = topological_order(self.root)
        self.sound: list[Step] = steps(self.root)
        self.explanations: list[Explanation] = explain_all(self.root, PATHS)

    @property
    def boxes(self) -> list[int]:
        """The nodes whose gradients are asked for: all but plain numbers, the result last."""
        return [k for k, node in enumerate(self.order) if node._operands or node.label]


def _request(request: Request) -> Exercise:
    return Exercise(request["level"], request["seed"])


def posed(request: Request) -> dict[str, Any]:
    """Pose an exercise: the picture before the backward pass, and the boxes to fill in."""
    exercise = _request(request)
    scene: Scene = scene_of(exercise.root, None)
    return {
        "text": exercise.text,
        "values": exercise.numbers,
        "svg": _asking(svg_of(scene, request["rankdir"], has_style=False)),
        "boxes": [
            {
                "unit": k,
                "name": short_name(exercise.order[k]),
                "data": brief(exercise.order[k].data),
            }
            for k in exercise.boxes
        ],
    }


def graded(request: Request) -> dict[str, Any]:
    """Grade the answers, by unit; a box that is wrong is told why."""
    exercise = _request(request)
    lang, answers = request.lang, request["answers"]
    wrong_ways = list(_wrong_ways(exercise, lang))
    units = [str(k) for k in exercise.boxes]
    for unit in answers:
        if unit not in units:
            raise RequestError(say(lang, "no box", unit=short(unit), units=", ".join(units)))
    boxes = []
    for k in exercise.boxes:
        given = answers.get(str(k), "")
        verdict, reason = _grade(exercise, k, given, wrong_ways, lang)
        boxes.append({"unit": k, "given": given, "verdict": verdict, "reason": reason})
    right = sum(box["verdict"] == "right" for box in boxes)
    return {"boxes": boxes, "right": right, "asked": len(boxes)}


def _grade(
    exercise: Exercise,
    k: int,
    given: str,
    wrong_ways: list[tuple[dict[int, float], str]],
    lang: str,
) -> tuple[str, str]:
    if not given:
        return "empty", say(lang, "empty")
    try:
        guess = number(given.replace(",", ".").replace("−", "-"))
    except ExpressionError:
        return "no number", say(lang, "no number")
    found = exercise.explanations[k]
    if _close(guess, found.gradient):
        return "right", say(lang, "right")
    return "wrong", _why(exercise, k, guess, wrong_ways, lang)


def _why(
    exercise: Exercise,
    k: int,
    guess: float,
    wrong_ways: list[tuple[dict[int, float], str]],
    lang: str,
) -> str:
    node, found = exercise.order[k], exercise.explanations[k]
    if node is exercise.root:
        return say(lang, "seed")
    if found.paths > 1 and any(_close(guess, term.product) for term in found.terms):
        return say(lang, "one path", paths=found.paths, equation=found.equation)
    for grads, fault in wrong_ways:
        if id(node) in grads and _close(guess, grads[id(node)]):
            return say(lang, "by fault", fault=fault)
    for step in exercise.sound:
        if step.operand is node and step.local is not None and _close(guess, step.local):
            return say(lang, "local only", user=short_name(step.node))
    if _close(guess, -found.gradient):
        return say(lang, "sign", equation=found.equation)
    return say(lang, "so it is", equation=found.equation)


def _asking(svg: str) -> str:
    """Write a question mark for each gradient, which nobody has worked out yet."""
    return svg.replace("grad 0", "grad ?")


def _wrong_ways(exercise: Exercise, lang: str) -> Iterator[tuple[dict[int, float], str]]:
    """Return the grads that come out wrong by each fault, and what the fault is called."""
    names = player_words()[lang]
    for played in replays(exercise.root, exercise.sound):
        if played.wrong and not played.fault.needs_two:
            says = names.get(f"fault {played.fault.name}", played.fault.says)
            yield {id(node): grad for node, grad, _ in played.wrong}, says


def _close(a: float, b: float) -> bool:
    return math.isclose(a, b, rel_tol=CLOSE, abs_tol=1e-12)


# ---- drawing one -------------------------------------------------------------------------------


def _drawn(level: int, rng: random.Random) -> tuple[str, dict[str, float]]:
    """Draw an expression: of the first level without sharing, then with, then with functions."""
    names = "abcd"[: rng.choice((2, 3)) if level < 3 else 3]
    while True:
        numbers = {name: float(rng.choice([-3, -2, -1, 1, 2, 3, 4])) for name in names}
        text = _LEVELS[level](rng, list(names))
        root = expressions.evaluate(
            expressions.parse(text), {name: Value(x) for name, x in numbers.items()}
        )
        used = expressions.names(expressions.parse(text))
        if abs(root.data) <= 100.0 and set(used) == set(names):
            return text, numbers


def _chain(rng: random.Random, names: list[str]) -> str:
    """Use each variable once: a*b + c."""
    rng.shuffle(names)
    text = names[0]
    for k, name in enumerate(names[1:]):
        text = f"({text})" if k else text
        text = f"{text} {rng.choice('+*-')} {name}"
    return f"({text}) * {rng.choice([2, 3, -2])}"


def _shared(rng: random.Random, names: list[str]) -> str:
    """Use a variable twice: (a*b + c) * (a - c)."""
    first, other = names[0], names[-1]
    left = f"{first}*{names[1]}" + (f" {rng.choice('+-')} {other}" if len(names) > 2 else "")
    right = f"{first} {rng.choice('+-')} {other}"
    return f"({left}) {rng.choice('*+-')} ({right})"


def _functions(rng: random.Random, names: list[str]) -> str:
    """Put a function around a part of it."""
    a, b, c = names
    inner = rng.choice([f"{a}*{b} + {c}", f"{a}*{b} - {a}", f"({a} + {b})*{c}"])
    outer = rng.choice(["relu({0})", "({0})**2", "({0})/2"]).format(inner)
    return f"{outer} {rng.choice('+*-')} {rng.choice([a, b])}*{c}"


_LEVELS = {1: _chain, 2: _shared, 3: _functions}
