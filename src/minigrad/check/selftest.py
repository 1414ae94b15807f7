"""Does minigrad work on this machine? Ten seconds of checks, and what a bug report needs.

A check is an endless or finite stream of cases: each is None if all was right, or a sentence about
what was not. What is right comes from exact fractions, differences and what a promise says, never
from the engine itself. Each check has a part of the time; `examined` takes cases until it is over.

Start at `CHECKS`. The long form of the same, with other oracles and counts that are stated
beforehand, is `python -m bench.campaign` in the source tree.
"""

from __future__ import annotations

import contextlib
import functools
import itertools
import math
import os
import platform
import random
import sys
import tempfile
import threading
import time
import warnings
import xml.etree.ElementTree
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from importlib import metadata
from pathlib import Path
from typing import Any

from .. import functions, view
from ..calculus.transforms import hessian
from ..checkpoint import load_parameters, save_parameters
from ..compiler.api import compile as compile_function
from ..compiler.backends import native
from ..core.files import write_atomically
from ..core.ops import OPS
from ..errors import ExpressionError
from ..expressions import FUNCTIONS, evaluate, names, parse
from ..nn import MLP
from ..scalar import Value, apply, engine
from ..version import __version__
from . import exact
from .doctor import diagnose
from .gradcheck import differences

Case = str | None  # a sentence about what is wrong, if anything is
Cases = Callable[[int], Iterator[Case]]

_TOLERANCE = 1e-6  # of differences, besides the error that they know of
_FORKS = 50  # each has a thread and a process
_PATIENCE = 20.0  # seconds that a child process or a thread has before it counts as hanging


@dataclass
class Outcome:
    """What a check found."""

    name: str
    cases: int = 0
    failures: list[str] = field(default_factory=list)
    seconds: float = 0.0


def examined(name: str, seconds: float, seed: int = 0, most: int | None = None) -> Outcome:
    """Run a check for so many seconds, or so many cases, or to its end."""
    outcome = Outcome(name)
    began = time.perf_counter()
    try:
        for failure in itertools.islice(CHECKS[name](seed), most):
            outcome.cases += 1
            if failure is not None:
                outcome.failures.append(failure)
            if time.perf_counter() - began > seconds:
                break
    except Exception as error:  # a crash is a finding, and the other checks go on
        outcome.cases += 1
        outcome.failures.append(f"{type(error).__name__}: {error}")
    outcome.seconds = time.perf_counter() - began
    return outcome


def facts() -> dict[str, str]:
    """What a bug report needs to say of the machine."""
    machine = f"native ({native.isas()[0]})" if native.available() else "NumPy"
    known = {
        "minigrad": __version__,
        "engine": engine(),
        "compiled functions run on": machine,
        "Python": f"{platform.python_implementation()} {platform.python_version()}",
        "system": platform.platform(),
        "CPU": f"{_cpu()}, {os.cpu_count()} cores",
        "encoding": f"{sys.stdout.encoding} (files: {sys.getfilesystemencoding()})",
    }
    for package in ("numpy", "torch", "jax", "rich", "typer", "IPython"):
        with contextlib.suppress(metadata.PackageNotFoundError):
            known[package] = metadata.version(package)
    return known


def _cpu() -> str:
    with contextlib.suppress(OSError):
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
            if line.startswith(("model name", "Model")):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


# ---- numbers -------------------------------------------------------------------------------------


def exact_graphs(seed: int) -> Iterator[Case]:
    """Every number and every gradient of random graphs, bit by bit."""
    for k in itertools.count(seed << 32):
        yield graph_failure(exact.random_graph(k), k)


def graph_failure(graph: exact.Graph, seed: int, passes: int = 2) -> Case:
    """Run a graph and its backward pass, more than once: gradients of leaves add up."""
    nodes = exact.run(graph, [Value(float(x)) for x in graph.inputs])
    nodes[-1].backward()
    wrong = exact.differences(graph, [x.data for x in nodes], [x.grad for x in nodes])
    for _ in range(passes - 1):
        nodes[-1].backward()
    leaves = len(graph.inputs)
    if [x.grad for x in nodes[:leaves]] != [passes * float(g) for g in graph.slopes[:leaves]]:
        wrong.append(f"gradients do not add up over {passes} passes")
    return f"graph {seed}: {wrong[0]}" if wrong else None


def compiled_graphs(seed: int) -> Iterator[Case]:
    """The same graphs as compiled functions, on every machine that is here."""
    backends = ["numpy"] + ["native"] * native.available()
    for k in itertools.count(seed << 32):
        graph = exact.random_graph(k)
        yield from (compiled_failure(graph, k, backend) for backend in backends)


def compiled_failure(graph: exact.Graph, seed: int, backend: str) -> Case:
    """Trace a graph with other numbers, then replay it with its own."""
    function = compile_function(lambda *xs: exact.run(graph, xs)[-1], backend=backend)
    inputs = [float(x) for x in graph.inputs]
    function(*(x + 0.5 for x in inputs))
    value, grads = function.value_and_grad(*inputs)
    right = (float(graph.values[-1]), *map(float, graph.slopes[: len(inputs)]))
    if (value, *grads.args) != right:
        return f"graph {seed} on {backend}: {(value, *grads.args)}, right is {right}"
    return None


def slopes(seed: int) -> Iterator[Case]:
    """First and second derivatives of every operation, against differences."""
    rng = random.Random(seed)
    while True:
        for op in OPS.values():
            if op.is_composite or op.name in ("where", "take"):
                continue
            count = op.arity or 2 * rng.randint(1, 3)
            domain = op.domain * count if op.arity is None else op.domain
            yield slope_failure(op.name, [rng.uniform(low, high) for low, high in domain])


def slope_failure(name: str, numbers: list[float]) -> Case:
    """Compare an operation's derivatives with differences of its values and of its slopes."""
    op = OPS[name]

    def made(xs: list[Any]) -> Any:
        return op.value(functions.VALUES, *xs) if op.arity is None else apply(op, *xs)

    def slope_at(xs: list[float], k: int) -> float:
        leaves = [Value(x) for x in xs]
        made(leaves).backward()
        return leaves[k].grad

    leaves = [Value(x) for x in numbers]
    second = hessian(made(leaves), leaves)
    for k in range(len(numbers)):
        ours = slope_at(numbers, k)

        def value(x: float, k: int = k) -> float:
            found: float = made([Value(y) for y in [*numbers[:k], x, *numbers[k + 1 :]]]).data
            return found

        found = differences.slope(value, numbers[k], noise=8 * math.ulp(value(numbers[k])))
        if not _agree(ours, found):
            return f"{name}{tuple(numbers)}: slope {k} is {ours}, by differences {found.value}"
        for j in range(len(numbers)):

            def moved(x: float, k: int = k, j: int = j) -> float:
                return slope_at([*numbers[:j], x, *numbers[j + 1 :]], k)

            found = differences.slope(moved, numbers[j], noise=8 * math.ulp(ours))
            if not _agree(second[k][j], found):
                return (
                    f"{name}{tuple(numbers)}: second derivative {k}, {j} is {second[k][j]}, "
                    f"by differences {found.value}"
                )
    return None


def _agree(ours: float, found: differences.Slope) -> bool:
    if found.has_kink or not math.isfinite(found.value):
        return True  # differences say nothing here
    return abs(ours - found.value) <= _TOLERANCE * (1.0 + abs(found.value)) + 4 * found.error


# ---- whatever happens ----------------------------------------------------------------------------


def threads(seed: int) -> Iterator[Case]:
    """Four threads at once, each on graphs of its own."""
    for k in itertools.count(seed << 32, 4 * 8):
        found: list[Case] = []

        def work(start: int, found: list[Case] = found) -> None:
            found.extend(graph_failure(exact.random_graph(s), s) for s in range(start, start + 8))

        workers = [threading.Thread(target=work, args=(k + 8 * n,), daemon=True) for n in range(4)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join(_PATIENCE)
        yield from found
        if len(found) != 4 * 8:
            yield f"threads from graph {k} on: {len(found)} of 32 passes ended"


def forks(seed: int) -> Iterator[Case]:
    """A process that is forked while another thread is in a backward pass can run one itself."""
    if not hasattr(os, "fork") or sys.platform == "darwin":
        return  # macOS's own libraries do not survive a fork with threads
    for k in range(seed << 32, (seed << 32) + _FORKS):
        yield fork_failure(k)


def fork_failure(seed: int) -> Case:
    """Fork in the middle of a hand-written step of another thread's pass."""
    inside, forked = threading.Event(), threading.Event()

    def stop() -> None:
        inside.set()
        forked.wait(_PATIENCE)

    x = Value(2.0)
    worker = threading.Thread(target=_stopped_at(x * 3.0, stop).backward, daemon=True)
    worker.start()
    inside.wait(_PATIENCE)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that other threads will be missing is the point
        child = os.fork()
    if child == 0:
        is_right = False
        try:
            is_right = graph_failure(exact.random_graph(seed), seed) is None
        finally:
            os._exit(0 if is_right else 1)
    forked.set()
    worker.join(_PATIENCE)
    status = _status_of(child)
    if status is None:
        return "a forked process hangs in backward()"
    if status:
        return "a forked process gets gradients wrong"
    return None if x.grad == 3.0 else f"the pass of the other thread gave {x.grad}, right is 3.0"


def _status_of(child: int) -> int | None:
    """Wait for a process, but not for ever."""
    patient_until = time.monotonic() + _PATIENCE
    while time.monotonic() < patient_until:
        found, status = os.waitpid(child, os.WNOHANG)
        if found:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.002)
    os.kill(child, 9)
    os.waitpid(child, 0)
    return None


def interrupts(seed: int) -> Iterator[Case]:
    """A pass that is interrupted at a node changes no gradient, and the next pass works."""
    for k in itertools.count(seed << 32):
        graph = exact.random_graph(k)
        yield from (interrupt_failure(graph, k, at) for at in range(len(graph.steps)))


def interrupt_failure(graph: exact.Graph, seed: int, at: int) -> Case:
    """Put a hand-written step behind one node, and have it interrupted once."""
    leaves = [Value(float(x)) for x in graph.inputs]
    is_first, calls = True, itertools.count()

    def interrupt() -> None:
        if is_first:
            raise KeyboardInterrupt

    def call(name: str, *operands: Any) -> Any:
        made = exact.OPERATIONS[name].call(*operands)
        return _stopped_at(made, interrupt) if next(calls) == at else made

    nodes = exact.run(graph, leaves, call)
    for node in leaves:
        node.grad = 1.0
    with contextlib.suppress(KeyboardInterrupt):
        nodes[-1].backward()
    was_reached = any(node.grad != 1.0 for node in leaves)
    is_first = False
    if not was_reached:  # else the node is no part of the result, and nothing was interrupted
        nodes[-1].backward()
    right = [1.0 + float(x) for x in graph.slopes[: len(leaves)]]
    if [node.grad for node in leaves] != right:
        return f"graph {seed}, interrupted at step {at}: {[x.grad for x in leaves]}, not {right}"
    return None


def _stopped_at(node: Value, stop: Callable[[], None]) -> Value:
    """Put a hand-written step behind a node, which does something else first."""
    behind = Value(node.data, (node,))

    def step() -> None:
        stop()
        node.grad += behind.grad

    behind._backward = step
    return behind


def files(seed: int) -> Iterator[Case]:
    """A model that is saved comes back bit by bit, and a damaged file changes nothing."""
    rng = random.Random(seed)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "model.json")
        for _ in range(8):
            model = MLP(2, [3, 1])
            numbers = [rng.uniform(-1.0, 1.0) * 10.0 ** rng.randint(-300, 300) for _ in range(13)]
            for parameter, number in zip(model.parameters(), numbers, strict=True):
                parameter.data = number
            save_parameters(path, model)
            other = MLP(2, [3, 1])
            load_parameters(path, other)
            found = [parameter.data for parameter in other.parameters()]
            yield None if found == numbers else f"a model was saved as {numbers}, read as {found}"
            text = path.read_text(encoding="utf-8")
            write_atomically(path, text[: rng.randrange(1, len(text) - 1)])
            half = functools.partial(load_parameters, path, other)
            yield _refused(half, ValueError, "half of a checkpoint")
            kept = [parameter.data for parameter in other.parameters()]
            yield None if kept == numbers else "a checkpoint that was refused changed the model"


# ---- words and pictures --------------------------------------------------------------------------


def expressions(seed: int) -> Iterator[Case]:
    """Any text is a number, or an expression that is refused with a sentence."""
    rng = random.Random(seed)
    pieces = [*"abx+-*/(),. 0123456789e^@é\n", "**", "1e308", *(f"{name}(" for name in FUNCTIONS)]
    while True:
        text = "".join(rng.choices(pieces, k=rng.randint(0, 30)))

        def tried(text: str = text) -> None:
            program = parse(text)
            evaluate(program, {name: Value(rng.uniform(-2.0, 2.0)) for name in names(program)})

        yield _refused(tried, ExpressionError, repr(text), may_pass=True)


def pictures(seed: int) -> Iterator[Case]:
    """Pictures of random graphs, with labels of any characters, are well-formed."""
    rng = random.Random(seed)
    for k in range(seed << 32, (seed << 32) + 16):
        nodes = exact.run(graph := exact.random_graph(k), [Value(float(x)) for x in graph.inputs])
        nodes[0].label = "".join(chr(rng.choice((rng.randrange(0xD800), 60, 38))) for _ in range(9))
        try:
            xml.etree.ElementTree.fromstring(view.to_svg(nodes[-1]))
        except xml.etree.ElementTree.ParseError as error:
            yield f"graph {k} with the label {nodes[0].label!r}: {error}"
        else:
            yield None


def own_engine(seed: int) -> Iterator[Case]:
    """The doctor finds nothing wrong with this engine."""
    found = diagnose(Value)
    yield None if found.exit_code == 0 else f"the doctor says: {found.text()}"


def _refused(
    action: Callable[[], Any], kind: type[Exception], what: str, may_pass: bool = False
) -> Case:
    try:
        action()
    except kind:
        return None
    except Exception as error:
        return f"{what} ends in {type(error).__name__}: {error}"
    return None if may_pass else f"{what} is not refused"


CHECKS: dict[str, Cases] = {
    "exact graphs": exact_graphs,
    "exact graphs, compiled": compiled_graphs,
    "first and second derivatives": slopes,
    "threads": threads,
    "forks": forks,
    "interrupts": interrupts,
    "checkpoints": files,
    "expressions": expressions,
    "pictures": pictures,
    "the doctor on this engine": own_engine,
}
