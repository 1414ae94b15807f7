"""A call like the one before it: in the native engine, one function of C from arguments to results.

Most calls differ from the latest one in nothing but numbers. `Dispatcher` then has a repeat for the
next one, with all that such a call needs (`repeat_of`). `Entry`, which `Compiled` is made of, tries
that first: if the arguments have the same structure, no block is open, nothing is pending, what the
function reads besides is unchanged, no audit is due, all guards hold and all numbers are finite,
then that was the call. Else it goes the long way, through `Dispatcher.replay`, as if nothing had
been tried. See `native/vm/repeat.c`; in the pure engine every call goes the long way.

Who trains asks for the derivatives by what the function closes over, and never for those by the
data, which may be half of the work. So a repeat leaves those out where there are both, and keeps
the inputs: they are made when somebody asks, and from then on by every call.
"""

from __future__ import annotations

from typing import Any

from ..core.blocks import open_blocks
from ..core.native_or_pure import native_machine
from ..core.parameters import data_offset
from ..scalar import fused, leaf
from .arguments.structure import Expected
from .gradients import Gradients, origin
from .specialization import BY_ALL, BY_VALUES, FORWARD, Specialization
from .tracing.places import MISSING
from .tracing.untraced import RUNNING

_LEAF, _FUSED, _GRADIENT = range(3)  # what becomes of the numbers, as in repeat.c


class Calls:
    """The calls of a function, counted, and how the next one may go."""

    calls: int = 0
    left: int = 0  # calls until somebody looks at the clock
    seconds: float = 0.0  # what a repeat took; 0: there was none
    repeated_call: Any = None
    repeated_gradient: Any = None


class Entry:
    """A compiled function as it is called; `_call` and `_value_and_grad` are the long way."""

    dispatch: Any

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        """Return what the function returns: its Values as fused nodes, numbers as numbers."""
        return self._call(args, kwargs)

    def value_and_grad(self, /, *args: Any, **kwargs: Any) -> tuple[float, Gradients]:
        """Return the value and its derivatives by the arguments and by what it closes over."""
        return self._value_and_grad(args, kwargs)

    def _call(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        raise NotImplementedError

    def _value_and_grad(
        self, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[float, Gradients]:
        raise NotImplementedError


_native = native_machine() if data_offset() >= 0 else None
if _native is not None:
    Calls, Entry = _native.Calls, _native.Entry  # type: ignore[misc]


def leaves_out_arguments(spec: Specialization, count: int) -> bool:
    """Tell whether repeats do without the derivatives by so many arguments."""
    is_both = bool(spec.captured) and count > len(spec.wholes) and not spec.value_places
    return is_both and not spec.asked


def repeat_of(spec: Specialization, expected: Expected, with_gradients: bool) -> Any:
    """Make a repeat of a call that was served by `spec`; None if such calls go the long way."""
    is_one_value = spec.kinds == (None,) and spec.template.is_bare
    if _native is None or not (is_one_value or with_gradients) or spec.environment.search:
        return None
    make: Any = leaf
    is_short = False
    places: tuple[int, ...] = ()
    purpose, kind = FORWARD, _LEAF
    if with_gradients:
        purpose, kind, make, places = BY_ALL, _GRADIENT, Gradients, spec.wholes
        is_short = leaves_out_arguments(spec, expected.count)
        if is_short:
            purpose, places = BY_VALUES, ()
    elif spec.captured or spec.value_places:
        purpose, kind, make, places = BY_VALUES, _FUSED, fused, spec.value_places
    machine = spec.machine(purpose)
    loaded = getattr(machine.prepared, "loaded", None)  # into the native machine
    if loaded is None:
        return None
    program, around, guards = machine.program, spec.environment, machine.guards
    args, kwargs = expected.tuples
    return _native.repeat(
        args=args,
        kwargs=kwargs,
        ways=around.ways,
        things=around.things,
        contents=around.contents,
        spaces=around.spaces,
        words=around.words,
        meant=around.meant,
        missing=MISSING,
        open_blocks=open_blocks,
        running=RUNNING,
        captured=spec.captured,
        locked=machine.lock.locked,
        kept=spec.kept,  # what the key knows by identity is not to be another thing one day
        make=make,
        by=origin(spec, expected.key, with_arguments=not is_short),
        asked=spec.asked if is_short else None,
        machine=loaded,
        kind=kind,
        values=machine.values,
        guards=None if guards is None else (guards.slots, guards.numbers),
        parameters=program.parameters,
        count=expected.count,
        adjoints=program.adjoints,
        inputs=program.inputs,
        result=program.results[0],
        places=places,
    )
