"""A compiled function: the same scalar code at the speed of hand-written C.

    @minigrad.compile
    def loss(xs, ys): ...          # ordinary Value code; what it closes over is found by the trace

    total = loss(X, y)             # a Value: one fused node in the eager world
    total.backward()               # fills p.grad, as ever

The first call with arguments of a new structure runs the function once and compiles what it did;
later calls replay it. A replay never returns a silently wrong number: branches, numbers that were
read and everything the function read besides its arguments are checked, and if one differs the
function is traced again (or, compiled strictly, refuses). Start at `Compiled.__call__`.
"""

from __future__ import annotations

import functools
import threading
import warnings
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple, TypeVar

import numpy as np

from ..core.graph import topological_order
from ..core.modes import flush_writebacks, in_strict, is_recording, refuse_in_trace, tracer
from ..core.turns import forked
from ..errors import AuditError, GuardError, TraceError
from ..scalar import Value, fused, gradients
from .arguments.structure import Flat, OpenNumber, flat_call, flatten, lifted, same_call
from .audit import Schedule, agree, clock, difference, measured, mode_of, purpose_of, reasons
from .callables import Made, refuse_unfinished
from .describe import described
from .gradients import Gradients, gradients_of
from .ir.program import Program
from .jacobian import Jacobian
from .specialization import BACKENDS, NotFinite, Specialization, backend_of, exactly, filled
from .tracing.proxies import TracedNumber
from .tracing.trace import collector_off, turn
from .tracing.untraced import RUNNING, StandIns

__all__ = ["PATIENCE", "Bound", "CacheInfo", "Compiled", "Gradients"]

_STRUCTURES = 256  # programs for other structures: beyond, those not used for longest are dropped
PATIENCE = 60.0  # seconds to wait for another thread that traces, where nothing else can be done
_MOST_SPECS = 16  # ways through one structure: beyond, the function runs as it is
_CHANGES = 2  # traces in a row that may change what the function reads: caches fill up once
_TABLE = 100  # derivatives of all results by all operands that an operation is worth
_STREAK = 32  # traces in a row without a replay that are still taken for a start
T = TypeVar("T")


class CacheInfo(NamedTuple):
    """How a compiled function has fared."""

    calls: int
    traces: int
    programs: int
    guards_failed: int
    eager_calls: int


class Compiled(Made):
    """A function with its programs. Made by `compile`."""

    def __init__(
        self,
        function: Callable[..., Any],
        backend: str = "auto",
        strict: bool = False,
        leading: Sequence[Value] = (),
        audit: Any = None,
    ) -> None:
        if not callable(function):
            raise TypeError(f"compile(fn): got {type(function).__name__}; give a function.")
        refuse_unfinished(function)
        if backend not in BACKENDS:
            raise ValueError(f"backend={backend!r}: choose one of {', '.join(BACKENDS)}.")
        backend_of(backend)
        functools.update_wrapper(self, function)
        self.__wrapped__: Callable[..., Any] = function
        self.__name__: str = getattr(function, "__name__", type(function).__name__)
        self._function = function
        self._options = (backend, strict, leading, audit)
        self._backend = backend
        self._strict = strict
        self._leading = tuple(leading)  # Values to be the first inputs of every program
        self._fixed = frozenset(map(id, leading))
        self._cache: OrderedDict[Any, Ways] = OrderedDict()
        self._recent: tuple[Any, int, Ways] | None = None  # key, numbers, its programs
        self._last: Specialization | None = None
        self._audit = Schedule(mode_of(audit))
        self._reason = ""  # why it was traced again
        self._as_is = ""  # why it is not compiled at all: it changes what it reads
        self._why = ""  # why the latest call that ran uncompiled did
        self._calls = self._traces = self._failed = self._eager = self._dropped = 0
        self._changes = 0  # traces in a row that changed what the function reads
        self._streak = 0  # traces in a row without a replay
        self._doubts = 0  # audits in a row with another outcome that tracing does not explain
        self._told: set[str] = set()  # warnings that were given
        self._lock = forked(threading.RLock())

    def _recipe(self) -> tuple[Any, ...]:
        return self._function, *self._options

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        """As a method, it belongs to its instance, like any function."""
        return self if instance is None else Bound(self, instance)

    # ---- calls ----------------------------------------------------------------------------------

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        """Return what the function returns: its Values as fused nodes, numbers as numbers."""
        if tracer() is not None or in_strict() or (RUNNING and threading.get_ident() in RUNNING):
            # Inside another trace it is part of that one; strict() wants every line by itself, and
            # so does an audit.
            return self._as_it_is(args, kwargs)
        try:
            done = self._replayed(args, kwargs, self._fused if is_recording() else self._plain)
        except _TooMany:
            done = None
        return self._as_it_is(args, kwargs) if done is None else done[0]

    def _as_it_is(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Run the function itself, with Values for floats as in a trace."""
        args, kwargs = lifted((args, kwargs))
        return self._function(*args, **kwargs)

    def value_and_grad(self, *args: Any, **kwargs: Any) -> tuple[float, Gradients]:
        """Return the value and its derivatives by the arguments and by what it closes over."""
        refuse_in_trace("asks for gradients of a compiled function")
        done = None if in_strict() else self._replayed(args, kwargs, self._differentiated)
        if done is None:
            return self._eager_gradients(args, kwargs)
        found: tuple[float, Gradients] = done[0]
        return found

    def _eager_gradients(
        self, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[float, Gradients]:
        """The same without a program; Values of the graph that nobody made here are parameters."""
        flat = flat_call(args, kwargs, self._fixed)
        given = StandIns(flat)
        output = given.run(self._function)
        first = output[0] if isinstance(output, (list, tuple)) else output
        if isinstance(first, TracedNumber):
            first = first.node
        if not isinstance(first, Value):
            raise TypeError(self._nothing_to_differentiate())
        known = set(map(id, given.leaves))
        order = topological_order(first, Value._links)
        parameters = tuple(v for v in order if not v._links() and id(v) not in known)
        slopes = np.array(gradients(first, [*parameters, *given.leaves]))
        count = len(parameters)
        of_args = slopes[count:]
        of_args[given.wholes()] = 0.0
        found = Gradients(parameters, slopes[:count], of_args, flat, flat.kept)
        return first.data, found

    def grad(self, *args: Any, **kwargs: Any) -> Gradients:
        """Return the derivatives alone."""
        return self.value_and_grad(*args, **kwargs)[1]

    def hvp(
        self,
        args: Sequence[Any],
        vectors: Sequence[Any] = (),
        parameters: Mapping[Value, float] | None = None,
    ) -> Any:
        """Return the Hessian times a vector: how the gradient changes along a direction.

        `vectors` has the structure of `args`; the result too. A direction among the Values that the
        function closes over is given as `parameters`, a dict of numbers by Value (those left out
        stand still); the result then is a pair: for the arguments, and a `Gradients`.
        """
        refuse_in_trace("asks for hvp of a compiled function")
        if not isinstance(args, (list, tuple)) or not isinstance(vectors, (list, tuple)):
            raise TypeError("hvp(args, vectors): give tuples, f.hvp((x, y), (1.0, 0.0)).")
        along = Flat()
        shape = flatten(tuple(vectors), along) if vectors else None
        wanted = dict(parameters or {})

        def run(spec: Specialization, flat: Flat) -> Any:
            if vectors and (
                len(along.numbers) != len(flat.numbers)
                or _shape_only(shape) != _shape_only(flat.key[0])
            ):
                raise ValueError(
                    "hvp(args, vectors): the vectors have another structure than the arguments; "
                    "give one number for each number."
                )
            direction = [
                *[float(wanted.get(value, 0.0)) for value in spec.captured],
                *(along.numbers or [0.0] * len(flat.numbers)),
            ]
            machine = spec.machine("hvp")
            flush_writebacks()
            with machine.lock:
                if machine.run(spec.nodes_read, [*flat.numbers, *direction]) >= 0:
                    return None
                start = machine.program.adjoints
                found = machine.values[start : start + len(direction)].copy()
            gradients = gradients_of(spec, found, flat)
            return (gradients.args if parameters is None else (gradients.args, gradients),)

        done = self._replayed(tuple(args), {}, run, PATIENCE)
        if done is None:
            raise GuardError(self.why_uncompiled())
        return done[0]

    # ---- looking --------------------------------------------------------------------------------

    @property
    def program(self) -> Program:
        """The program of the latest call; printed, its instructions."""
        return self._latest().program

    def gradient_program(self) -> Program:
        """The program of the latest call with its gradient."""
        return self._latest().machine((0, "all")).program

    def explain(self) -> str:
        """Say what was recognised, what the program is tied to, guarded by and audited for."""
        if self._as_is:
            return self._as_is
        spec = self._latest()
        return f"{described(spec, self.__name__)}\n{self._audit.said(spec)}"

    def cache_info(self) -> CacheInfo:
        """Count calls, traces, programs, failed guards, and calls that ran as they are."""
        programs = sum(len(ways.specs) for ways in self._cache.values())
        return CacheInfo(self._calls, self._traces, programs, self._failed, self._eager)

    def cache_clear(self) -> None:
        """Forget all programs."""
        with self._lock:
            self._cache.clear()
            self._last = self._recent = None
            self._calls = self._traces = self._failed = self._eager = self._dropped = 0
            self._changes = self._streak = 0
            self._as_is = ""

    def _latest(self) -> Specialization:
        if self._last is None:
            raise RuntimeError(f"{self.__name__} has no program yet: call it first.")
        return self._last

    # ---- inside ---------------------------------------------------------------------------------

    def _replayed(
        self,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        run: Callable[[Specialization, Flat], T | None],
        patience: float = 0.0,
    ) -> T | None:
        """Run a program that fits, traced now if there is none.

        None if the function is to be run as it is, because there are too many ways, or because it
        has to be traced while another thread is tracing, and that one may be waiting for this
        one. Who has no other way to run it has `patience`: so many seconds, then it is an error.
        """
        self._calls += 1
        if self._as_is:
            self._eager += 1
            return None
        recent = self._recent
        flat = None
        ways: Ways | None
        try:
            if recent is not None:
                flat = same_call(args, kwargs, recent[0], recent[1], self._fixed)
            if flat is None or recent is None:
                flat = flat_call(args, kwargs, self._fixed)
                ways = self._found(flat)
            else:
                ways = recent[2]
        except OpenNumber:  # inside a run that is not compiled, where somebody follows it
            self._eager += 1
            return None
        if ways is not None and ways.rests > 0:  # none of them has fitted for some time
            ways.rests -= 1
            self._eager += 1
            return None
        tried: list[Specialization] = []
        done: T | None = self._first_fitting(ways, tried, flat, run)
        if done is not None:
            return done
        with turn(patience) as is_ours:
            if not is_ours and patience:
                raise TraceError(self._no_turn(patience))
            if not is_ours:
                self._eager += 1
                return None
            # Another thread may have traced the same in the meantime.
            done = self._first_fitting(self._found(flat), tried, flat, run)
            if done is not None:
                return done
            traced = self._traced(flat)
        if traced is None:
            return None
        spec, flat = traced
        done = exactly(run, spec, flat)
        if done is None:  # what it was traced with does not pass its own guards
            raise GuardError(
                f"{self.__name__}: the program does not reproduce the call it was traced from; "
                "does the function use numbers that differ each time (random, time)?"
            )
        return done

    def _no_turn(self, patience: float) -> str:
        return (
            f"{self.__name__} has to be traced, and has waited {patience:g} seconds for another "
            "function that is being traced. Does that one wait for this thread? Call "
            f"{self.__name__} once before."
        )

    def _first_fitting(
        self,
        ways: Ways | None,
        tried: list[Specialization],
        flat: Flat,
        run: Callable[[Specialization, Flat], T | None],
    ) -> T | None:
        """Run the first program that holds for this call; those in `tried` do not."""
        if ways is None:
            return None
        for spec in ways.specs:
            if spec in tried:
                continue
            change = spec.environment.changed()
            if change is None:
                audit = self._audit
                audit.left -= 1
                if audit.left > 0:  # `exactly`, spelled out: this is where every call comes by
                    try:
                        done = run(spec, flat)
                    except NotFinite:
                        done = run(spec.exactly(), flat)
                else:
                    done = self._audited(run, spec, flat)
                if done is not None:
                    self._last = spec
                    self._streak = ways.missed = 0
                    return done
                self._reason = "; ".join(guard.what for guard in spec.program.guards[:3])
                self._failed += 1
            else:
                self._reason = f"{change} is not what it was when the function was traced"
            tried.append(spec)
        if tried and self._strict:
            raise GuardError(
                f"{self.__name__}: this call would take another way than the one that was "
                f"compiled ({self._reason}). Write the choice with where(condition, a, b), or "
                "compile with strict=False to have it traced again."
            )
        return None

    def _audited(
        self, run: Callable[[Specialization, Flat], T | None], spec: Specialization, flat: Flat
    ) -> T | None:
        """Run one way, with a look at the clock, and with an audit if that is due."""
        spent = None
        if self._audit.is_due(spec):
            started = clock()
            if self._is_stale(spec, flat):
                return None  # with a warning; it is traced again
            spent = clock() - started
        started = clock()
        done = exactly(run, spec, flat)
        self._audit.took(clock() - started, spent)
        return done

    def _is_stale(self, spec: Specialization, flat: Flat) -> bool:
        """Compare a replay with the function itself; raise, or warn, if it is another one."""
        flush_writebacks()
        run = partial(measured, purpose_of(spec))
        here = exactly(run, spec, flat)
        if here is None:
            return False  # a guard fails: this way is not taken
        try:
            told = difference(self._function, spec, flat, here)
        except BaseException:
            self._forget()
            raise
        change = spec.environment.changed()
        if change is not None:
            self._changes_things(change)  # from now on it does so at every call, and did so now
            return self._found_stale(f"{self.__name__} changes {change}, and replays did not")
        if not told:
            self._doubts = 0
            return False
        with turn() as is_ours:
            if not is_ours:
                return False  # another thread traces: at the next audit, then
            fresh = self._specialize(self._whole(flat), None)
        flush_writebacks()
        there = exactly(run, fresh, flat)
        if there is not None and agree(here, there) and fresh.outputs_like(spec):
            # Tracing again makes no difference. Rounding, on an edge, is different next time.
            self._doubts += told.startswith("replayed it") or "structure" in told
            if not self._doubts or (self._doubts == 1 and self._audit.mode != "always"):
                return False
            return self._found_stale(
                f"{self.__name__}: {told}. Tracing it again makes no difference: it seems to look "
                "at what is not the same while it is traced (the very type of a number, which "
                "object it is, the stack)"
            )
        return self._found_stale(
            f"{self.__name__}: {told}. Something that it reads has changed, and nobody noticed. "
            f"{reasons(spec, fresh)} Give it as an argument".replace("  ", " ")
        )

    def _forget(self) -> None:
        with self._lock:
            self._cache.clear()
            self._recent = None

    def _found_stale(self, text: str) -> bool:
        """Forget all programs, and raise or warn."""
        self._forget()
        if self._audit.mode != "warn" or self._strict:
            raise AuditError(f"{text}.")
        warnings.warn(f"{text}. It is traced again.", RuntimeWarning, stacklevel=7)
        return True

    def _whole(self, flat: Flat) -> Flat:
        """Flatten in full: `same_call` leaves things out."""
        args, kwargs = flat.tree
        return flat_call(args, kwargs, self._fixed)

    def _specialize(self, flat: Flat, known: Any) -> Specialization:
        """Trace the function."""
        with collector_off():
            return Specialization(self._function, flat, self._backend, self._leading, known)

    def _found(self, flat: Flat) -> Ways | None:
        """Look up the programs for a structure."""
        with self._lock:
            ways = self._cache.get(flat.key)
            if ways is not None:
                self._cache.move_to_end(flat.key)
                self._recent = (flat.key, len(flat.numbers), ways)
        return ways

    def _traced(self, flat: Flat) -> tuple[Specialization, Flat] | None:
        """Run the function once and compile what it does; None if there are too many ways.

        The lock is not held meanwhile: what the function waits for may want to call it.
        """
        with self._lock:
            ways = self._cache.setdefault(flat.key, Ways())
            self._cache.move_to_end(flat.key)
            if len(ways.specs) >= _MOST_SPECS and self._dropped < _STRUCTURES:
                fresh = [spec for spec in ways.specs if spec.environment.changed() is None]
                self._dropped += len(ways.specs) - len(fresh)
                ways.specs = fresh  # the others belong to a world that is gone
        if len(ways.specs) >= _MOST_SPECS:
            ways.miss()
            self._uncompiled(self._too_many_ways())
            return None
        flat = self._whole(flat)
        spec = self._specialize(flat, None if flat.kept else self._known_environment())
        with self._lock:
            self._traces += 1
            self._streak += 1
            self._audit.traced(spec)
            ways = self._cache.setdefault(flat.key, Ways())
            self._last = spec
            change = spec.environment.changed()
            self._changes = self._changes + 1 if change is not None else 0
            if spec.is_faithful and change is None:
                ways.specs.insert(0, spec)
            self._recent = (flat.key, len(flat.numbers), ways)
            while len(self._cache) > _STRUCTURES:
                self._cache.popitem(last=False)
        self._say_what_was_seen(spec, change)
        if not spec.is_faithful:
            self._uncompiled(
                f"{self.__name__} decides by a number that is on the edge: computed in another "
                "order, it falls to the other side. Such calls run uncompiled."
            )
            return None
        return spec, flat

    def _uncompiled(self, why: str) -> None:
        """Have the function run as it is."""
        self._eager += 1
        self._why = why
        self._warn(why)

    def _say_what_was_seen(self, spec: Specialization, change: str | None) -> None:
        """Warn of what a program does not repeat, once each."""
        name = self.__name__
        if self._changes > _CHANGES:
            self._changes_things(str(change))
        if spec.text_at:
            self._warn(
                f"{name} makes texts of numbers, at {spec.text_at}: they are made when it is "
                "traced, not at each call. Print what the call returns."
            )
        if spec.escaped:
            self._warn(
                f"{name} leaves numbers behind ({', '.join(spec.escaped[:3])}): plain numbers, "
                "put there when it is traced, not at each call. Return them instead."
            )
        if self._streak > _STREAK:
            self._warn(
                f"{name} was traced {_STREAK} times in a row without a replay: each call has "
                "arguments of another structure, or another object among them, or finds something "
                "changed. Tracing takes longer than calling the function as it is."
            )

    def _warn(self, text: str) -> None:
        kind = text.split(":", maxsplit=1)[0][:80]
        if kind not in self._told:
            self._told.add(kind)
            warnings.warn(text, RuntimeWarning, stacklevel=6)

    def _known_environment(self) -> Any:
        """What an earlier trace found around the function, if it is still so."""
        last = self._last
        if last is None or last.kept or last.environment.changed() is not None:
            return None
        return last.environment

    def why_uncompiled(self) -> str:
        """Say why calls run the function as it is."""
        return self._as_is or self._why

    def _changes_things(self, change: str) -> None:
        """Give up compiling: the function changes what it reads."""
        self._as_is = (
            f"{self.__name__} changes {change}, which it reads. A program would not do that at "
            "each call, so it runs uncompiled. Return what is to be kept, and do the rest around "
            "the call."
        )
        self._warn(self._as_is)

    def _too_many_ways(self) -> str:
        return (
            f"{self.__name__} was traced {_MOST_SPECS} times because calls took different ways "
            f"({self._reason}). From now on such calls run uncompiled. Write the choice with "
            "where(condition, a, b), or keep the number open."
        )

    def _fused(self, spec: Specialization, flat: Flat) -> tuple[Any] | None:
        """Run with gradients; what comes back are nodes with known local derivatives."""
        operands = spec.captured
        if flat.sources:
            operands = (*operands, *(value for _, value in flat.sources))
        if not operands or None not in spec.kinds:  # nothing to differentiate, or by
            return self._plain(spec, flat)
        if len(spec.kinds) > 1:
            return self._many_fused(spec, flat, operands)
        flush_writebacks()
        machine = spec.machine((0, "values"))
        with machine.lock:
            if machine.run(spec.nodes_read, flat.numbers) >= 0:
                return None
            program, values = machine.program, machine.values
            data = values.item(program.results[0])
            start = program.adjoints
            partials = values[start : start + len(spec.captured)].tolist()
            first = start + program.parameters
            partials += [values.item(first + at) for at, _ in flat.sources]
        made = fused(data, operands, tuple(partials))
        return (filled(spec.outputs, lambda _: made),)

    def _many_fused(
        self, spec: Specialization, flat: Flat, operands: tuple[Value, ...]
    ) -> tuple[Any] | None:
        """Several results: their derivatives are computed when somebody asks for them."""
        if len(spec.kinds) * len(operands) > _TABLE * spec.nodes + 10_000:
            self._uncompiled(
                f"{self.__name__} returns {len(spec.kinds)} results that depend on "
                f"{len(operands)} Values in {spec.nodes} operations. A table of all derivatives "
                "takes longer than the function itself, so such calls run uncompiled. Compile what "
                "makes one number of the results, a loss."
            )
            raise _TooMany
        flush_writebacks()
        numbers = self._numbers(spec, flat)
        if numbers is None:
            return None
        rows = Jacobian(spec, flat, operands)

        def made(at: int) -> Any:
            kind = spec.kinds[at]
            if kind is not None:
                return kind(numbers[at])
            return fused(numbers[at], operands, rows.row(at))

        return (filled(spec.outputs, made),)

    def _plain(self, spec: Specialization, flat: Flat) -> tuple[Any] | None:
        """Run without gradients: leaves."""
        flush_writebacks()
        numbers = self._numbers(spec, flat)
        if numbers is None:
            return None

        def leaf(at: int) -> Any:
            kind = spec.kinds[at]
            return Value(numbers[at]) if kind is None else kind(numbers[at])

        return (filled(spec.outputs, leaf),)

    def _numbers(self, spec: Specialization, flat: Flat) -> list[float] | None:
        machine = spec.machine("value")
        with machine.lock:
            if machine.run(spec.nodes_read, flat.numbers) >= 0:
                return None
            return [machine.values.item(at) for at in machine.program.results]

    def _differentiated(self, spec: Specialization, flat: Flat) -> tuple[Any] | None:
        machine = spec.machine((self._only_result(spec), "all"))
        program, values = machine.program, machine.values
        start = program.adjoints
        flush_writebacks()
        with machine.lock:
            if machine.run(spec.nodes_read, flat.numbers) >= 0:
                return None
            value = values.item(program.results[0])
            found = values[start : start + program.inputs].copy()
        return ((value, gradients_of(spec, found, flat)),)

    def _only_result(self, spec: Specialization) -> int:
        if not spec.kinds or not spec.can_differentiate[0]:
            raise TypeError(self._nothing_to_differentiate())
        return 0

    def _nothing_to_differentiate(self) -> str:
        return f"{self.__name__} returns no Value first, so there is nothing to differentiate."


class Bound(Made):
    """A compiled method of an instance; derivatives are by the arguments behind `self`."""

    def __init__(self, compiled: Compiled, instance: Any) -> None:
        functools.update_wrapper(self, compiled, updated=())
        self._compiled = compiled
        self.__self__ = instance

    def _recipe(self) -> tuple[Any, ...]:
        return self._compiled, self.__self__

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the method."""
        return self._compiled(self.__self__, *args, **kwargs)

    def value_and_grad(self, *args: Any, **kwargs: Any) -> tuple[float, Gradients]:
        """Return the value and its derivatives."""
        value, gradients = self._compiled.value_and_grad(self.__self__, *args, **kwargs)
        gradients._skipped = 1
        return value, gradients

    def grad(self, *args: Any, **kwargs: Any) -> Gradients:
        """Return the derivatives alone."""
        return self.value_and_grad(*args, **kwargs)[1]

    def hvp(self, args: Sequence[Any], vectors: Sequence[Any] = (), parameters: Any = None) -> Any:
        """Return the Hessian times a vector; see `Compiled.hvp`."""
        first = (self.__self__,)
        along = (*first, *vectors) if vectors else ()
        found = self._compiled.hvp((*first, *args), along, parameters)
        if parameters is None:
            return found[1:]
        found[1]._skipped = 1
        return found[0][1:], found[1]

    def __getattr__(self, name: str) -> Any:
        if name == "_compiled":  # not made yet, as while it is copied
            raise AttributeError(name)
        return getattr(self._compiled, name)


class _TooMany(Exception):  # noqa: N818 - a message, nobody's mistake
    """There are so many results that a call had better run uncompiled."""


class Ways:
    """The programs for one structure of arguments."""

    def __init__(self) -> None:
        self.specs: list[Specialization] = []
        self.missed = 0  # calls in a row that none of them fitted
        self.rests = 0  # calls that do not even try

    def miss(self) -> None:
        """None fits, and there are too many already: try again only after a while."""
        self.missed = min(self.missed + 1, 12)
        self.rests = 2**self.missed if self.missed > 2 else 0


def _shape_only(key: Any) -> Any:
    """The structure of a key, whatever kind of number stands where."""
    if key in (float, int, Value):
        return float
    if isinstance(key, tuple) and len(key) == 3 and key[0] in (list, tuple):
        return (key[0], (float,) * key[1])
    return tuple(map(_shape_only, key)) if isinstance(key, tuple) else key
