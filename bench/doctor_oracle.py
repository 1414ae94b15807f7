"""Is somebody's scalar engine right? Judged by its own forward pass, in a process of its own.

    python bench/doctor_oracle.py FILE        prints one JSON object

Nothing of minigrad is used here, so that what the doctor says can be compared with it. The file is
loaded by running its definitions alone. What the class calls its number, its gradient and its
backward pass is found by trying. Then each operation, and random graphs of the operations, are run
backward once, and every gradient is compared with central differences of the engine's own forward
pass; results of well-known operations also with those of Python's `math`.

Start at `examine`. It runs strangers' code: without other processes, without the network, with
limits on time and memory.
"""

from __future__ import annotations

import contextlib
import inspect
import json
import math
import operator
import os
import random
import sys
import types
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent))

from doctor_loading import PROGRAM_SECONDS, TooLongError, at_most, load
from doctor_speech import Speech, needed_by, speak

SECONDS = 30  # of CPU for all of it
MEMORY = 6 << 30
LONGEST = 10_000_000  # bytes of what is printed, and of any file
STEP = 1e-2  # of the differences: large, so that a float32 engine can be judged; Richardson's
TOLERANCE = 2e-3  # relative and absolute; real faults are off by far more
GRAPHS = 24

BINARY: dict[str, Callable[[Any, Any], Any]] = {
    "+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv,
}  # fmt: skip
SPECIAL = {"+": "__add__", "-": "__sub__", "*": "__mul__", "/": "__truediv__", "**": "__pow__"}
FUNCTIONS: dict[str, Callable[[float], float]] = {
    "exp": math.exp, "log": math.log, "ln": math.log, "tanh": math.tanh, "sin": math.sin,
    "cos": math.cos, "sqrt": math.sqrt, "relu": lambda x: max(x, 0.0),
    "sigmoid": lambda x: 1 / (1 + math.exp(-x)), "abs": abs, "square": lambda x: x * x,
    "tan": math.tan, "sinh": math.sinh, "cosh": math.cosh,
    "softplus": lambda x: math.log1p(math.exp(x)),
}  # fmt: skip


# ---- programs ----------------------------------------------------------------------------------

Program = Callable[[list[Any]], Any]


def close(x: float, y: float) -> bool:
    return abs(x - y) <= TOLERANCE * max(1.0, abs(x), abs(y))


def differences(speech: Speech, program: Program, at: list[float], k: int) -> float | None:
    """Differentiate the engine's forward pass; None where that is not smooth, or not there."""

    def f(x: float) -> float:
        return speech.number(program([speech.make(x if j == k else y) for j, y in enumerate(at)]))

    def slope(h: float) -> float:
        return (f(at[k] + h) - f(at[k] - h)) / (2 * h)

    wide, narrow = slope(STEP), slope(STEP / 2)
    best = (4 * narrow - wide) / 3
    if not math.isfinite(best) or abs(wide - narrow) > 0.02 * max(1.0, abs(best)):
        return None
    return best


def run(
    speech: Speech, program: Program, at: list[float], right: float | None = None
) -> dict[str, Any] | None:
    """Run a program backward; return what is wrong with it, {} for nothing, None if it cannot be.

    A crash has `crash` in it, and whether it happened while building.
    """
    building = True
    try:
        with at_most(PROGRAM_SECONDS):
            leaves = [speech.make(x) for x in at]
            root = program(leaves)
            value = speech.number(root)
            if right is not None and not close(value, right):
                return {"kind": "forward", "at": at, "right": right, "got": value}
            building = False
            if speech.seeded:
                setattr(root, speech.grad, 1.0)
            speech.back(root)
            got = [speech.gradient(leaf) for leaf in leaves]
            wanted = [differences(speech, program, at, k) for k in range(len(at))]
    except TooLongError:
        return {"kind": "endless", "at": at}
    except BaseException as error:
        words = f"{type(error).__name__}: {error}"[:160]
        return {"kind": "crash", "at": at, "building": building, "error": words}
    if any(x is None for x in wanted):
        return None
    if all(close(g, w) for g, w in zip(got, wanted, strict=True) if w is not None):
        return {}
    return {"kind": "gradient", "at": at, "right": wanted, "got": got}


# ---- examining ---------------------------------------------------------------------------------


class Patient:
    """What was found out about a class, program by program."""

    def __init__(self, speech: Speech, names: dict[str, Any]) -> None:
        self.speech, self.names = speech, names
        self.faults: list[dict[str, Any]] = []
        self.refused: list[str] = []  # what cannot be built, and need not be: numbers, exponents
        self.works: dict[str, tuple[int, Callable[..., Any]]] = {}  # operations with right results
        self.asked = 0
        self.built = False  # whether anything could be

    def ask(
        self,
        name: str,
        program: Program,
        at: list[float],
        right: float | None = None,
        may: bool = False,
    ) -> bool:
        """Ask for a program; whether it was right. What it `may` refuse to build is no fault."""
        found = run(self.speech, program, at, right)
        if found and found["kind"] == "endless":  # or something else of the process took the time
            found = run(self.speech, program, at, right)
        if found is None:
            return True
        self.asked += 1
        self.built |= not found.get("building", False)
        if found.get("kind") == "crash" and found["building"] and may:
            self.refused.append(f"{name}: {found['error']}")
        elif found:
            self.faults.append({"program": name} | found)
        return not found

    # Every operation gets the same questions: alone, with a gradient coming in, used twice.

    def operation(self, name: str, arity: int, call: Callable[..., Any], right: Any = None) -> None:
        points = [[0.7, 1.9], [1.6, -0.8], [2.3, 0.6]] if arity == 2 else [[0.7], [1.6], [-1.2]]
        known = [self._known(right, at) for at in points]
        if not self.can(call, points[0]):
            with contextlib.suppress(BaseException):
                call(*[self.speech.make(x) for x in points[0]])
                if right is None:
                    return  # it builds something that is no number: none of our business
            self.ask(name, lambda v: call(*v), points[0])
            return
        answers = [
            # Outside of the domain, or of what is known of it, it may refuse.
            self.ask(name, lambda v: call(*v), at, value, may=value is None)
            for at, value in zip(points, known, strict=True)
            if value is not None or right is None
        ]
        well = all(answers)
        if well:
            self.works[name] = (arity, call)

    def _known(self, right: Any, at: list[float]) -> float | None:
        with contextlib.suppress(ArithmeticError, ValueError):
            return float(right(*at)) if right else None
        return None

    def can(self, call: Callable[..., Any], at: list[float]) -> bool:
        try:
            with at_most(PROGRAM_SECONDS):
                made = call(*[self.speech.make(x) for x in at])
                self.speech.number(made)
                return isinstance(made, self.speech.cls) or hasattr(made, self.speech.data)
        except BaseException:
            return False

    def in_context(self, name: str, arity: int, call: Callable[..., Any]) -> None:
        """Ask for an operation with a gradient coming in, twice, and with the same operand."""
        times = self.works.get("*", (0, None))[1]
        plus = self.works.get("+", (0, None))[1]
        at = [0.7, 1.9][:arity]
        if times:
            self.ask(f"{name} times", lambda v: times(call(*v[:-1]), v[-1]), [*at, 1.7])
            self.ask(
                f"{name} of a product", lambda v: call(times(v[0], v[-1]), *v[1:-1]), [*at, 1.2]
            )
        if plus:
            self.ask(f"{name} twice", lambda v: plus(call(*v), call(*v)), at)
        if arity == 2:
            self.ask(f"{name} of itself", lambda v: call(v[0], v[0]), [1.3])


def functions_of(
    speech: Speech, names: dict[str, Any]
) -> Iterator[tuple[str, Callable[..., Any], bool]]:
    """Return the functions of one Value: methods without arguments, functions of the module.

    And whether it must be meant for Values: a module's `sigmoid` may well be for lists.
    """
    avoid = (
        "back",
        "grad",
        "zero",
        "print",
        "draw",
        "show",
        "topo",
        "plot",
        "trace",
        "copy",
        "item",
    )
    seen = set()
    for cls in speech.cls.__mro__[:-1]:
        for name, thing in vars(cls).items():
            if name.startswith("_") or name in seen or any(w in name.lower() for w in avoid):
                continue
            seen.add(name)
            if inspect.isfunction(thing) and needed_by(thing) == 1:
                yield name, lambda v, n=name: getattr(v, n)(), name.lower() in FUNCTIONS
    for name, thing in list(names.items()):
        own = inspect.isfunction(thing) and thing.__module__ == "stranger"
        if own and name.lower() in FUNCTIONS and name not in seen and needed_by(thing) == 1:
            yield name, thing, False


def examine_class(cls: type, names: dict[str, Any]) -> dict[str, Any]:
    """Judge one class."""
    speech = speak(cls, names)
    if isinstance(speech, str):
        return {"class": cls.__name__, "problem": speech}
    patient = Patient(speech, names)
    for symbol, call in BINARY.items():
        if getattr(cls, SPECIAL[symbol], None) is not None:
            patient.operation(symbol, 2, call, call)
    if getattr(cls, "__neg__", None) is not None:
        patient.operation("neg", 1, operator.neg, operator.neg)
    if getattr(cls, "__pow__", None) is not None:
        _powers(patient)
    for name, call, is_meant in functions_of(speech, names):
        if is_meant or patient.can(call, [0.7]):
            patient.operation(name, 1, call, FUNCTIONS.get(name.lower()))
    for name, (arity, call) in list(patient.works.items()):
        patient.in_context(name, arity, call)
    if not patient.built:
        return {"class": cls.__name__, "problem": "no operation of it gives a number"}
    _with_numbers(patient)
    alone = len(patient.faults)
    _graphs(patient, cls)
    return {
        "class": cls.__name__,
        "data": speech.data,
        "grad": speech.grad,
        "backward": speech.back_name,
        "seeded": speech.seeded,
        "operations": sorted(patient.works),
        "asked": patient.asked,
        "refused": patient.refused[:12],
        "faults": patient.faults[:12],
        "wrong": sorted({f["program"] for f in patient.faults}),
        "only_graphs": alone == 0 and bool(patient.faults),
    }


def _powers(patient: Patient) -> None:
    made = [(e, lambda v, e=e: v[0] ** e) for e in (2, 3, -1, 0.5)]
    for exponent, program in made:
        at = [1.7]
        patient.ask(f"** {exponent}", program, at, 1.7**exponent, may=True)
    refused = "".join(patient.refused)
    if "** 2:" not in refused:
        patient.ask("** 2 of a negative number", lambda v: v[0] ** 2, [-1.3], 1.69)
        if not any(fault["program"].startswith("** 2") for fault in patient.faults):
            patient.works["** 2"] = (1, lambda a: a**2)
    # An exponent that is a Value may be refused, but not be left without its gradient.
    patient.ask("** Value", lambda v: v[0] ** v[1], [1.7, 2.0], 1.7**2, may=True)
    patient.ask("2 ** a", lambda v: 2.0 ** v[0], [1.3], 2.0**1.3, may=True)


def _with_numbers(patient: Patient) -> None:
    """Ask for numbers as operands; to refuse them is no wrong number."""
    for symbol, call in BINARY.items():
        if getattr(patient.speech.cls, SPECIAL[symbol], None) is None:
            continue
        patient.ask(
            f"a {symbol} 2", lambda v, c=call: c(v[0], 2.0), [1.3], call(1.3, 2.0), may=True
        )
        patient.ask(
            f"2 {symbol} a", lambda v, c=call: c(2.0, v[0]), [1.3], call(2.0, 1.3), may=True
        )


def _graphs(patient: Patient, cls: type) -> None:
    """Ask for random graphs in which Values are used again and again."""
    chance = random.Random(7)
    usable = {n: w for n, w in patient.works.items() if n not in ("/", "log", "ln", "sqrt", "exp")}
    if not any(arity == 2 for arity, _ in usable.values()):
        return
    binary = [n for n, (arity, _) in usable.items() if arity == 2]
    for index in range(GRAPHS):
        plan = []
        for node in range(chance.randint(3, 7)):
            name = chance.choice(binary if chance.random() < 0.7 else list(usable))
            count = 2 + node
            operands = [count - 1 - min(chance.randrange(count), chance.randrange(count))]
            operands.append(chance.randrange(count))
            plan.append((name, operands[: usable[name][0]]))
        text = "; ".join(
            f"v{2 + i} = {name}({', '.join(f'v{k}' for k in ks)})"
            for i, (name, ks) in enumerate(plan)
        )

        def program(leaves: list[Any], plan: list[Any] = plan) -> Any:
            values = list(leaves)
            for name, operands in plan:
                values.append(usable[name][1](*[values[k] for k in operands]))
            return values[-1]

        at = [round(chance.uniform(0.4, 1.4), 3), round(chance.uniform(-1.2, -0.3), 3)]
        with contextlib.suppress(BaseException):
            size = patient.speech.number(program([patient.speech.make(x) for x in at]))
            if abs(size) > 1e3:
                continue
        patient.ask(f"graph {index}: {text}", program, at)


def examine(path: Path) -> dict[str, Any]:
    """Judge the file's engine: of its classes with + or *, the last that can be spoken to."""
    names, problems = load(path)
    found = [
        thing
        for thing in names.values()
        if inspect.isclass(thing)
        and thing.__module__ == "stranger"
        and any(
            isinstance(vars(c).get(s), types.FunctionType)
            for c in thing.__mro__
            for s in SPECIAL.values()
        )
    ]
    classes = list({id(cls): cls for cls in found}.values())
    judged = [examine_class(cls, names) for cls in classes]
    good = [j for j in judged if "problem" not in j]
    return {
        "engines": good,
        "others": [j for j in judged if "problem" in j],
        "problems": problems[:8],
    }


# ---- the process -------------------------------------------------------------------------------

FORBIDDEN = (
    "os.exec", "os.fork", "os.forkpty", "os.kill", "os.posix_spawn", "os.spawn", "os.system",
    "os.remove", "os.rename", "os.rmdir", "shutil.rmtree", "socket.", "subprocess.Popen",
    "webbrowser.open",
)  # fmt: skip


def _limit() -> None:
    import resource

    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS))
    resource.setrlimit(resource.RLIMIT_FSIZE, (LONGEST, LONGEST))

    def refuse(event: str, *_: Any) -> None:
        if event.startswith(FORBIDDEN):
            raise PermissionError(f"{event} is not allowed here")

    sys.addaudithook(refuse)


def main() -> None:
    path = Path(sys.argv[1]).resolve()
    channel = os.dup(1)
    nowhere = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(nowhere, stream)
    _limit()
    sys.setrecursionlimit(3000)
    found = json.dumps(examine(path), default=str)
    with open(channel, "w", encoding="utf-8") as out:
        out.write(found)
    os._exit(0)


if __name__ == "__main__":
    main()
