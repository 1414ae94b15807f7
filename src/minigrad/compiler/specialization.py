"""One way through a function: its program, and machines to run it.

A function may have several: for other lengths of its arguments, for other outcomes of a branch.
Each knows when it applies (a key, a watch, guards). Machines are made when they are first needed:
one for values alone, others with the gradient of a result, one for Hessian-vector products.

A run whose numbers are not all finite does not count (`NotFinite`): the same way is then taken with
programs that are `exact`, see `grad`, and slower.
"""

from __future__ import annotations

import gc
import sys
import threading
import warnings
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from copy import copy
from dataclasses import replace
from functools import cache
from itertools import repeat
from math import isfinite, isnan
from time import perf_counter
from types import CellType, FrameType, FunctionType, ModuleType
from typing import Any, TypeVar

import numpy as np

from ..codegen.elementwise import MAPS
from ..core.modes import flush_writebacks
from ..core.parameters import Nodes, read_data
from ..core.turns import forked
from ..errors import TraceError
from ..scalar import Value
from .arguments.structure import Flat, array_of, is_as_outlined, outline, rebuild
from .backends import native
from .backends import numpy as interpreter
from .backends.encode import stores
from .ir.program import NOT_FINITE, Program, verify
from .passes.grad import grad, hessian_times_vector, jacobian
from .passes.group import group
from .tracing.environment import Environment, Slots, environment_of
from .tracing.escape import let_go
from .tracing.proxies import Argument, TracedNumber
from .tracing.tape import INPUT, Tape
from .tracing.trace import Trace, collector_off, trace

__all__ = [
    "BACKENDS",
    "Machine",
    "NotFinite",
    "Specialization",
    "backend_name",
    "backend_of",
    "exactly",
    "filled",
    "opened",
    "place_of",
]

BACKENDS = ("auto", "native", "numpy")
_STOP_GRADIENT = MAPS["stop_gradient"].code
T = TypeVar("T")
Numbers = np.ndarray[Any, np.dtype[np.float64]]


def backend_of(name: str) -> Any:
    """Return a backend by its name; "auto" is the native one where it was built."""
    if name == "auto" and not native.available() and not native.is_unwanted():
        _notice()
    if name == "numpy" or (name == "auto" and not native.available()):
        return interpreter
    if not native.available():
        raise RuntimeError(
            "backend='native': the native machine was not built with this installation (it needs a "
            "C compiler, and MINIGRAD_PURE not to be set). backend='auto' takes NumPy instead."
        )
    return native


@cache
def _notice() -> None:
    """Say once that programs run slower than they could."""
    warnings.warn(
        "the native machine was not built with this installation of minigrad, so programs run on "
        "NumPy. With a C compiler, install minigrad again to have it.",
        RuntimeWarning,
        stacklevel=2,
    )


def backend_name(backend: Any) -> str:
    """Spell a backend for people."""
    return "the native machine" if backend is native else "NumPy"


class NotFinite(Exception):  # noqa: N818 - a message between modules, nobody's mistake
    """A run came to inf or nan: the exact programs have to say whether that is right."""


def exactly(run: Callable[[Specialization, Any], T], spec: Specialization, flat: Any) -> T:
    """Run one way; where that comes to inf or nan, by its exact programs."""
    try:
        return run(spec, flat)
    except NotFinite:
        return run(spec.exactly(), flat)


class Machine:
    """A program with a buffer to run it in; one run at a time."""

    def __init__(self, program: Program, backend: Any) -> None:
        self.program = program
        self.prepared = backend.prepare(program)
        self.values: Numbers = self.prepared.values()
        self.lock = forked(threading.Lock())
        self.set_guards(program, backend)

    def set_guards(self, program: Program, backend: Any) -> None:
        """Take the guards of a program."""
        checks = [(guard.at, guard.number) for guard in program.guards]
        self.guards = backend.Guards(checks) if checks else None

    def run(self, captured: Nodes, arguments: Any) -> int:
        """Run; return -1, or which guard does not hold.

        Whoever calls has the lock and has flushed the write-backs: Values are read as they are.
        """
        captured.read(self.values)
        inputs = ((self.program.parameters, arguments),) if len(arguments) else ()
        failed: int = self.prepared.step(self.values, inputs, self.guards)
        if failed == NOT_FINITE:
            raise NotFinite
        return failed

    def step(self, arguments: Any, rule: Any = None) -> int:
        """Run on the Values that are in the buffer already; let an optimiser take its step."""
        inputs = ((self.program.parameters, arguments),) if len(arguments) else ()
        failed: int = self.prepared.step(self.values, inputs, self.guards, rule)
        if failed == NOT_FINITE:
            raise NotFinite
        return failed


class Specialization:
    """A traced function."""

    def __init__(
        self,
        function: Callable[..., Any],
        flat: Flat,
        backend: str,
        leading: Sequence[Value] = (),
        known: Environment | None = None,
    ) -> None:
        self.backend = backend_of(backend)
        started = perf_counter()
        self.is_exact = False
        self._exact: Specialization | None = None  # the same way, made when it is first needed
        self.kept = flat.kept
        self.value_places = [at for at, _ in flat.sources]  # of the arguments that are Values
        self.environment: Environment = known or environment_of(function, flat.kept)
        self.outputs: Any = None
        whole: set[int] = set()  # arguments that are whole numbers
        tape = self._traced(function, flat, whole)
        # How many of the first inputs the function reads at all.
        self.leading_read = _put_first(tape, leading)
        # Operations; inputs and numbers are entries too, but nothing is done there.
        self.nodes = int(np.count_nonzero(np.asarray(tape.entries.code)[: len(tape)] >= 0))
        self.program = verify(group(tape), "group")
        self._tape = tape
        # In the order that `group` gave them.
        self.captured: tuple[Value, ...] = tuple(tape.entries.captured_values)
        self.nodes_read = Nodes(self.captured)
        # Whole numbers used as such, for an index, say: derivatives by them are 0.
        self.wholes = [at for at in tape.wholes if at in whole]
        # A number that comes from whole numbers alone can be differentiated; one that was read from
        # a Value cannot, it is not followed.
        self.can_differentiate = [
            kind is None
            or (kind is not bool and bool(tape.entries.inputs_under([at], _STOP_GRADIENT)))
            for kind, at in zip(self.kinds, tape.results, strict=True)
        ]
        self.machines: dict[Any, Machine] = {}
        self._making = forked(threading.Lock())
        # Whether the machine comes to the same: a number on an edge may fall to the other side.
        self.is_faithful = self._calibrate(flat) if self.program.guards else True
        self.seconds = perf_counter() - started

    def _traced(self, function: Callable[..., Any], flat: Flat, whole: set[int]) -> Tape:
        """Run the function once; find out what it returns, and what it leaves behind."""
        leaves: list[Value] = [Argument(number) for number in flat.numbers]
        for at in self.value_places:
            leaves[at] = Value(flat.numbers[at])
        for at, source in flat.sources:
            if source.label:
                leaves[at].label = source.label
        results: list[Any] = []

        def run(context: Trace) -> list[Any]:
            args, kwargs = rebuild(flat, leaves, context, whole)
            before = outline((args, kwargs))
            output = function(*args, **kwargs)
            if not is_as_outlined(before):
                context.refused("changes a list, dict or array that it was given")
            self.outputs = opened(output, results, leaves)
            return results

        context = Trace()
        arguments = [leaf for leaf in leaves if isinstance(leaf, Argument)]
        for leaf in arguments:
            leaf.context = context
        dice = self.environment.thrown()
        try:
            tape = trace(run, leaves, context)
        except BaseException as error:
            context.close()
            if isinstance(error, AttributeError) and any(error.obj is leaf for leaf in leaves):
                raise TraceError(
                    f"a compiled function asks a Value that it was given for its {error.name!r}. "
                    "Inside, arguments are stand-ins, which have a number and a label and nothing "
                    "else: give what belongs to a Value as an argument too."
                ) from error
            raise
        self.kinds = [_kind(result) for result in results]
        results.clear()
        self.escaped = let_go(
            context, arguments
        )  # where numbers of the trace are left, if anywhere
        self.text_at = context.text_at  # where a number became text, if one did
        if self.environment.thrown() != dice or context.has_drawn:
            raise TraceError(
                f"{getattr(function, '__name__', 'a compiled function')} draws random numbers; the "
                "program would repeat those of its first run for ever. Draw them outside, and give "
                "them as arguments."
            )
        return tape

    def exactly(self) -> Specialization:
        """Return the same way with exact programs, for a call whose guards have been looked at."""
        with self._making, collector_off():
            if self._exact is None:
                twin = copy(self)
                program = verify(group(self._tape, as_written=True), "group")
                twin.program = replace(program, guards=())
                twin.captured = tuple(self._tape.entries.captured_values)
                twin.nodes_read = Nodes(twin.captured)
                twin.is_exact, twin.machines, twin._making = True, {}, forked(threading.Lock())
                self._exact = twin
            return self._exact

    def _calibrate(self, flat: Flat) -> bool:
        """Have the guards ask for what the machine itself computes from what was traced.

        Its exp() may differ from the eager engine's in the last place. What must not differ is the
        outcome of a test, nor a number by more than rounding.
        """
        machine = self.machine("value")
        flush_writebacks()
        with machine.lock:
            read_data(self.captured, machine.values)
            inputs = ((self.program.parameters, flat.numbers),) if len(flat.numbers) else ()
            machine.prepared.step(machine.values, inputs)
            found = [machine.values.item(guard.at) for guard in self.program.guards]
        guards = []
        for guard, number in zip(self.program.guards, found, strict=True):
            room = 1e-6 * max(1.0, abs(guard.number)) if isfinite(guard.number) else 0.0
            same = number == guard.number or (isnan(number) and isnan(guard.number))
            if not same and not abs(number - guard.number) <= room:
                return False
            guards.append(replace(guard, number=number))
        self.program = replace(self.program, guards=tuple(guards))
        machine.set_guards(self.program, self.backend)
        return True

    def machine(self, purpose: Any) -> Machine:
        """Return the machine for a purpose.

        "value"; "hvp"; or a pair: the number of a result, and by what it is differentiated: "all"
        inputs, or only those that are "values". A training "step" has the same program as "values"
        and a machine of its own, in which it keeps the parameters.
        """
        found = self.machines.get(purpose)
        if found is not None:
            return found
        with self._making, collector_off():
            if purpose not in self.machines:
                self.machines[purpose] = Machine(self.compiled(purpose), self.backend)
            return self.machines[purpose]

    def outputs_like(self, other: Specialization) -> bool:
        """Tell whether what is returned beside traced numbers is the same."""
        return repr(filled(self.outputs, str)) == repr(filled(other.outputs, str))

    def compiled(self, purpose: Any) -> Program:
        """Return the program for a purpose."""
        program, exact = self.program, self.is_exact
        if purpose == "value":
            found = program
        elif purpose == "hvp":
            second = verify(hessian_times_vector(program, exact), "hessian_times_vector")
            found = verify(stores(second), "stores")
        else:
            number, by = purpose
            wrt: Any = range(program.inputs)
            if by != "all":
                count = program.parameters
                wrt = [*range(count), *(count + at for at in self.value_places)]
            if number == "rows":
                first = verify(jacobian(program, wrt, program.results, exact), "jacobian")
            else:
                of = program.results[number]
                first = verify(grad(program, wrt, of, exact=exact), "grad")
            found = verify(stores(first), "stores")
        return found if exact else replace(found, finite=_delivered(found))


def _delivered(program: Program) -> tuple[tuple[int, int], ...]:
    """The ranges of slots that somebody reads after a run: results, and derivatives by inputs."""
    slots = np.unique(np.array(program.results, dtype=np.int64))
    found = [(int(run[0]), int(run[-1]) + 1) for run in _runs(slots)]
    if program.adjoints:
        found.append((program.adjoints, program.adjoints + program.inputs))
    return tuple(found)


def _runs(slots: Any) -> list[Any]:
    """Cut sorted numbers where one is missing."""
    return np.split(slots, np.flatnonzero(np.diff(slots) > 1) + 1) if len(slots) else []


def _put_first(tape: Tape, leading: Sequence[Value]) -> int:
    """Have these Values be the first inputs, in this order, whether the trace met them or not.

    Returns how many of them it has met.
    """
    if not leading:
        return 0
    entries = tape.entries
    known = dict(zip(map(id, entries.captured_values), entries.captured, strict=True))
    places = list(map(known.pop, map(id, leading), repeat(-1)))  # thousands: no loop of our own
    rest = [value for value in entries.captured_values if id(value) in known]
    entries.captured_values = [*leading, *rest]
    entries.captured = [at if at >= 0 else entries.add(INPUT) for at in places]
    entries.captured += known.values()
    tape.in_order = True
    return len(places) - places.count(-1)


def opened(output: Any, results: list[Any], leaves: Sequence[Value]) -> Any:
    """Replace the traced numbers of an output by their places among the results."""
    if isinstance(output, (Value, TracedNumber)):
        results.append(output)
        return _Place(len(results) - 1)
    if isinstance(output, (list, tuple)):
        parts = [opened(part, results, leaves) for part in output]
        if isinstance(output, tuple):
            return type(output)(*parts) if hasattr(output, "_fields") else tuple(parts)
        return parts
    if isinstance(output, dict):
        return {name: opened(part, results, leaves) for name, part in output.items()}
    if isinstance(output, np.ndarray) and output.dtype.kind == "O":
        parts = [opened(part, results, leaves) for part in output.ravel()]
        return array_of(parts, output.shape)
    if type(output) in _COPIED and not isinstance(output, set):
        return output.copy()
    if isinstance(output, _PLAIN) or not _holds_traced(output, {id(leaf) for leaf in leaves}):
        return output
    raise TraceError(
        f"a compiled function returns a {type(output).__name__} that holds numbers of the call. "
        "Return Values, numbers, lists, tuples, dicts or arrays of them."
    )


_PLAIN = (str, bytes, bool, int, float, complex, type(None))


def _holds_traced(thing: Any, leaves: set[int]) -> bool:
    """Tell whether results of the trace lie somewhere in an object."""
    seen: set[int] = set()
    rest = [thing]
    while rest:
        each = rest.pop()
        if isinstance(each, (TracedNumber, Iterator, Awaitable, AsyncIterator)):
            return True
        if isinstance(each, Value):
            if id(each) in leaves or each._links():
                return True
        elif not isinstance(each, (*_PLAIN, ModuleType, FrameType)) and id(each) not in seen:
            seen.add(id(each))
            rest += _parts(each)
    return False


def _parts(thing: Any) -> list[Any]:
    """What lies in an object: elements and attributes."""
    if isinstance(thing, FunctionType):  # globals are not its own
        cells = [cell.cell_contents for cell in thing.__closure__ or () if cell != _EMPTY]
        return [*cells, thing.__defaults__, thing.__kwdefaults__, vars(thing)]
    if isinstance(thing, type) and thing.__module__ in sys.stdlib_module_names:
        return []
    found = [part for _, part in Slots(thing).items()] if not isinstance(thing, type) else []
    return [*found, *gc.get_referents(thing)]


_EMPTY = CellType()


class _Place:
    """Stands for a result in the shape of an output."""

    def __init__(self, at: int) -> None:
        self.at = at


def place_of(part: Any) -> int | None:
    """Return which result a part of an output stands for; None: it is itself."""
    return part.at if isinstance(part, _Place) else None


def _kind(result: Any) -> Callable[[float], Any] | None:
    """How a result is to be given back: None for a Value, else what makes the number."""
    if isinstance(result, Value):
        return None
    kind = type(result.number)
    return kind if kind in (bool, int) else float


_COPIED = (np.ndarray, set, bytearray)  # what a caller may change


def filled(output: Any, make: Callable[[int], Any]) -> Any:
    """Put results into the shape of an output."""
    if isinstance(output, _Place):
        return make(output.at)
    if isinstance(output, list):
        return [filled(part, make) for part in output]
    if isinstance(output, tuple):
        parts = [filled(part, make) for part in output]
        return type(output)(*parts) if hasattr(output, "_fields") else tuple(parts)
    if isinstance(output, dict):
        return {name: filled(part, make) for name, part in output.items()}
    if isinstance(output, np.ndarray) and output.dtype.kind == "O":
        return array_of([filled(part, make) for part in output.ravel()], output.shape)
    return output.copy() if type(output) in _COPIED else output
