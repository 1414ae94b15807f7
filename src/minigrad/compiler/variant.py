"""One way through a function: its program, and machines to run it.

A function may have several: for other lengths of its arguments, for other outcomes of a branch.
Each knows when it applies (a key, a watch, guards). Machines are made when they are first needed:
one for values alone, others with the gradient of a result, one for Hessian-vector products.
"""

from __future__ import annotations

import threading
import warnings
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from itertools import repeat
from types import FunctionType, ModuleType
from typing import Any

import numpy as np

from ..errors import TraceError
from ..quick import read_data
from ..scalar import Value
from .backends import native
from .backends import numpy as interpreter
from .grad import grad, hessian_times_vector
from .group import group
from .lower import stores
from .program import Program, verify
from .pytree import Flat, array_of, is_as_outlined, outline, rebuild
from .reading import Argument, Reading
from .surroundings import Slots, Watch, watch
from .tape import INPUT, Tape
from .trace import Trace, collector_off, trace

__all__ = ["BACKENDS", "Machine", "Variant", "backend_name", "backend_of", "filled"]

BACKENDS = ("auto", "native", "numpy")
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


class Machine:
    """A program with a buffer to run it in; one run at a time."""

    def __init__(self, program: Program, backend: Any) -> None:
        self.program = program
        self.prepared = backend.prepare(program)
        self.values: Numbers = self.prepared.values()
        checks = [(guard.at, guard.number) for guard in program.guards]
        self.guards = backend.Guards(checks) if checks else None
        self.lock = threading.Lock()

    def run(self, captured: tuple[Value, ...], arguments: Any) -> int:
        """Run; return -1, or which guard does not hold.

        Whoever calls has the lock, and has called `settle()` before: Values are read as they are.
        """
        if captured:
            read_data(captured, self.values)
        inputs = ((self.program.parameters, arguments),) if len(arguments) else ()
        failed: int = self.prepared.step(self.values, inputs, self.guards)
        return failed


class Variant:
    """A traced function."""

    def __init__(
        self,
        function: Callable[..., Any],
        flat: Flat,
        backend: str,
        leading: Sequence[Value] = (),
        known: Watch | None = None,
    ) -> None:
        self.backend = backend_of(backend)
        self.kept = flat.kept
        self.value_places = [at for at, _ in flat.sources]  # of the arguments that are Values
        self.watch: Watch = known or watch(function, flat.kept)
        self.outputs: Any = None
        leaves: list[Value] = [Argument(number) for number in flat.numbers]
        for at in self.value_places:
            leaves[at] = Value(flat.numbers[at])
        for at, source in flat.sources:
            if source.label:
                leaves[at].label = source.label
        results: list[Any] = []

        def run(scribe: Trace) -> list[Any]:
            for leaf in leaves:
                if isinstance(leaf, Argument):
                    leaf.scribe = scribe
            args, kwargs = rebuild(flat, leaves, scribe)
            before = outline((args, kwargs))
            output = function(*args, **kwargs)
            if not is_as_outlined(before):
                scribe.refused("changes a list or dict that it was given")
            self.outputs = _opened(output, results, leaves)
            return results

        dice = self.watch.thrown()
        tape = trace(run, leaves)
        if self.watch.thrown() != dice:
            raise TraceError(
                f"{getattr(function, '__name__', 'a compiled function')} draws random numbers; the "
                "program would repeat those of its first run for ever. Draw them outside, and give "
                "them as arguments."
            )
        _put_first(tape, leading)
        # Operations; inputs and numbers are entries too, but nothing is done there.
        self.nodes = int(np.count_nonzero(np.asarray(tape.entries.code)[: len(tape)] >= 0))
        self.program = verify(group(tape), "group")
        # In the order that `group` gave them.
        self.captured: tuple[Value, ...] = tuple(tape.entries.captured_values)
        self.kinds = [_kind(result) for result in results]
        self.machines: dict[Any, Machine] = {}
        self._making = threading.Lock()

    def machine(self, purpose: Any) -> Machine:
        """Return the machine for a purpose.

        "value"; "hvp"; or a pair: the number of a result, and by what it is differentiated: "all"
        inputs, or only those that are "values".
        """
        found = self.machines.get(purpose)
        if found is not None:
            return found
        with self._making, collector_off():
            if purpose not in self.machines:
                self.machines[purpose] = Machine(self.compiled(purpose), self.backend)
            return self.machines[purpose]

    def compiled(self, purpose: Any) -> Program:
        """Return the program for a purpose."""
        if purpose == "value":
            return self.program
        if purpose == "hvp":
            second = verify(hessian_times_vector(self.program), "hessian_times_vector")
            return verify(stores(second), "stores")
        number, by = purpose
        wrt: Any = range(self.program.inputs)
        if by == "values":
            count = self.program.parameters
            wrt = [*range(count), *(count + at for at in self.value_places)]
        first = verify(grad(self.program, wrt, of=self.program.results[number]), "grad")
        return verify(stores(first), "stores")


def _put_first(tape: Tape, leading: Sequence[Value]) -> None:
    """Have these Values be the first inputs, in this order, whether the trace met them or not."""
    if not leading:
        return
    entries = tape.entries
    known = dict(zip(map(id, entries.captured_values), entries.captured, strict=True))
    places = list(map(known.pop, map(id, leading), repeat(-1)))  # thousands: no loop of our own
    rest = [value for value in entries.captured_values if id(value) in known]
    entries.captured_values = [*leading, *rest]
    entries.captured = [at if at >= 0 else entries.add(INPUT) for at in places]
    entries.captured += known.values()
    tape.in_order = True


def _opened(output: Any, results: list[Any], leaves: Sequence[Value]) -> Any:
    """Replace the traced numbers of an output by their places among the results."""
    if isinstance(output, (Value, Reading)):
        results.append(output)
        return _Place(len(results) - 1)
    if isinstance(output, (list, tuple)):
        parts = [_opened(part, results, leaves) for part in output]
        if isinstance(output, tuple):
            return type(output)(*parts) if hasattr(output, "_fields") else tuple(parts)
        return parts
    if isinstance(output, dict):
        return {name: _opened(part, results, leaves) for name, part in output.items()}
    if isinstance(output, np.ndarray) and output.dtype.kind == "O":
        parts = [_opened(part, results, leaves) for part in output.ravel()]
        return array_of(parts, output.shape)
    if isinstance(output, np.ndarray):
        return output.copy()
    if isinstance(output, _PLAIN) or not _holds_traced(output, {id(leaf) for leaf in leaves}):
        return output
    raise TraceError(
        f"a compiled function returns a {type(output).__name__} with Values in it. Return Values, "
        "numbers, lists, tuples, dicts or arrays of them."
    )


_PLAIN = (str, bytes, bool, int, float, complex, type(None), type)


def _holds_traced(thing: Any, leaves: set[int]) -> bool:
    """Tell whether results of the trace lie somewhere in an object."""
    seen: set[int] = set()
    rest = [thing]
    while rest:
        each = rest.pop()
        if isinstance(each, (Reading, Iterator)):
            return True
        if isinstance(each, Value):
            if id(each) in leaves or each._links():
                return True
        elif not isinstance(each, (*_PLAIN, ModuleType, FunctionType)) and id(each) not in seen:
            seen.add(id(each))
            rest += _parts(each)
    return False


def _parts(thing: Any) -> list[Any]:
    """What lies in an object: elements and attributes."""
    found = list(vars(thing).values()) if hasattr(thing, "__dict__") else []
    if isinstance(thing, dict):
        found += thing.values()
    elif isinstance(thing, (list, tuple, set, frozenset, deque)):
        found += thing
    return [*found, *(part for _, part in Slots(thing).items())]


class _Place:
    """Stands for a result in the shape of an output."""

    def __init__(self, at: int) -> None:
        self.at = at


def _kind(result: Any) -> Callable[[float], Any] | None:
    """How a result is to be given back: None for a Value, else what makes the number."""
    if isinstance(result, Value):
        return None
    kind = type(result.number)
    return kind if kind in (bool, int) else float


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
    return output.copy() if isinstance(output, np.ndarray) else output
