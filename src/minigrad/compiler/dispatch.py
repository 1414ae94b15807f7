"""Which specialization serves a call: looked up, checked, audited, or traced now.

`Dispatcher.replay` is the one way to a program, for calls, gradients, `vmap` and `train_step`
alike. What is asked of the program is a function of a `Specialization` and the flattened arguments,
which raises `GuardFailed` if the call takes another way. `Uncompiled` is raised if the function is
to be run as it is.
"""

from __future__ import annotations

import sys
import threading
import warnings
from collections import OrderedDict
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from time import perf_counter
from typing import Any, NamedTuple, TypeAlias, TypeVar

from ..core.names import is_ours, plural
from ..core.turns import forked
from ..core.writeback import flush_writebacks
from ..errors import AuditError, GuardError, TraceError
from ..scalar import Value
from .arguments.structure import Expected, Flat, OpenNumber, flat_call, same_call
from .audit import Schedule, agree, difference, measured, mode_of, reasons
from .machine import GuardFailed, NotFinite
from .repeat import Calls, repeat_of
from .specialization import Specialization, exactly, specialize
from .tracing.proxies import BRANCH, rewrite_of
from .tracing.trace import collector_off, turn

_STRUCTURES = 256  # programs for other structures: beyond, those not used for longest are dropped
PATIENCE = 60.0  # seconds to wait for another thread that traces, where nothing else can be done
_RETRACES = 2  # in a row that guards ask for: from then on, calls run as they are for a while,
_RESTS = 64, 4096  # for so many calls at first, and at most
_MOST_SPECS = 16  # ways through one structure: beyond, the function runs as it is
_CHANGES = 2  # traces in a row that may change what the function reads: caches fill up once
_STREAK = 32  # traces in a row without a replay that are still taken for a start
T = TypeVar("T")
Args: TypeAlias = tuple[Any, ...]
Kwargs: TypeAlias = dict[str, Any]
Run: TypeAlias = Callable[[Specialization, Flat], T]  # what is asked of a program


class Uncompiled(Exception):  # noqa: N818 - a message between modules, nobody's mistake
    """The function is to be run as it is; the text says why."""


class CacheInfo(NamedTuple):
    """How a compiled function has fared."""

    calls: int
    traces: int
    programs: int
    guards_failed: int
    eager_calls: int


class _Ways:
    """The programs for one structure of arguments."""

    def __init__(self) -> None:
        self.specs: list[Specialization] = []
        # How calls go that are like the latest, served by the first of them: without gradients and
        # with them, before somebody has asked for what repeats leave out, and then.
        self.repeats: dict[tuple[bool, bool], Any] = {}
        self.missed = 0  # calls in a row that none of them fitted
        self.rests = 0  # calls that do not even try


class Dispatcher(Calls):
    """The programs of a function, and what is known about its calls."""

    def __init__(
        self,
        function: Callable[..., Any],
        name: str,
        backend: str,
        strict: bool,
        leading: Sequence[Value],
        audit: Any,
    ) -> None:
        self._function, self._name = function, name
        self._backend, self._strict = backend, strict
        self._leading = tuple(leading)  # Values to be the first inputs of every program
        self._fixed = frozenset(map(id, leading))
        self.audit = Schedule(mode_of(audit))
        self.left = self.audit.first()
        self._lock = forked(threading.RLock())
        self._doubts = 0  # audits in a row with another outcome that tracing does not explain
        self._warned: set[str] = set()  # warnings that were given
        self._why = ""  # why the latest call that ran uncompiled did
        self._reason = ""  # why it was traced again
        self.clear()

    def clear(self) -> None:
        """Forget all programs."""
        with self._lock:
            self._forget()
            self._last: Specialization | None = None
            self.calls = self._traces = self._failed = self._eager = self._dropped = 0
            self._changes = 0  # traces in a row that changed what the function reads
            self._streak = 0  # traces in a row without a replay
            self._missed = 0  # calls in a row for which a guard asked for another trace
            self._rests = 0  # such calls that run as they are
            self.as_is = ""  # why it is not compiled at all: it changes what it reads, or
            self.asks_which = False  # it asks which Values it was given

    def _forget(self) -> None:
        with self._lock:
            self._cache: OrderedDict[Any, _Ways] = OrderedDict()
            self._recent: tuple[Expected, _Ways] | None = None  # the latest call, its programs
            self._expect_nothing()

    def info(self) -> CacheInfo:
        """Count calls, traces, programs, failed guards, and calls that ran as they are."""
        programs = sum(len(ways.specs) for ways in list(self._cache.values()))
        return CacheInfo(self.calls, self._traces, programs, self._failed, self._eager)

    @property
    def has_program(self) -> bool:
        """Whether a call has been compiled."""
        return self._last is not None

    def latest(self) -> Specialization:
        """Return the specialization of the latest call."""
        if self._last is None:
            raise RuntimeError(f"{self._name} has no program yet: call it first.")
        return self._last

    def __repr__(self) -> str:
        return f"<the programs of {self._name}: {self.told()}>"

    def told(self, machine: str = "") -> str:
        """Say in half a line how its calls have fared; `machine` is another one that runs them."""
        if self.as_is:
            return "runs as it is"
        if self._last is None:
            return f"not called yet, backend {self._backend!r}"
        info, words = self.info(), machine or self._last.backend.words
        return f"{plural(info.programs, 'program')}, {plural(info.calls, 'call')}, run by {words}"

    def digest(self) -> str:
        """Return a hash of the program of the latest call; "" if there was none."""
        return "" if self._last is None else self._last.program.digest()

    def flat(self, args: Args, kwargs: Kwargs) -> Flat:
        """Flatten the arguments of a call in full."""
        return flat_call(args, kwargs, self._fixed)

    # ---- replay ---------------------------------------------------------------------------------

    def replay(self, args: Args, kwargs: Kwargs, run: Run[T], patience: float = 0.0) -> T:
        """Run a program that fits, traced now if there is none.

        Raises `Uncompiled` if the function is to be run as it is, because there are too many ways,
        or because it has to be traced while another thread is tracing, and that one may be waiting
        for this one. Who has no other way to run it has `patience`: so many seconds, then it is an
        error.
        """
        self.calls += 1
        self._expect_nothing()  # until this one, too, has found its program
        if self.as_is:
            self._eager += 1
            raise Uncompiled(self.as_is)
        flat, ways = self._looked_up(args, kwargs)
        tried: list[Specialization] = []
        try:
            return self._first_fitting(ways, tried, flat, run)
        except GuardFailed:
            if self._rests > 0 and not patience:  # tracing has not paid for some time
                self._rests -= 1
                self._eager += 1
                raise Uncompiled(self._why) from None
        with turn(patience) as is_ours:
            if not is_ours and patience:
                raise TraceError(
                    f"{self._name} has to be traced, and has waited {patience:g} seconds for "
                    "another function that is being traced. Does that one wait for this thread? "
                    f"Call {self._name} once before."
                )
            if not is_ours:
                self._eager += 1
                raise Uncompiled(self._why)
            with suppress(GuardFailed):  # another thread may have traced the same in the meantime
                return self._first_fitting(self._found(flat), tried, flat, run)
            spec, flat = self._traced(flat, may_rest=not patience)
        try:
            return exactly(run, spec, flat)
        except GuardFailed:  # what it was traced with does not pass its own guards
            raise GuardError(
                f"{self._name}: the program does not reproduce the call it was traced from; "
                "does the function use numbers that differ each time (random, time)?"
            ) from None

    def replay_or_refuse(self, args: Args, kwargs: Kwargs, run: Run[T]) -> T:
        """Run a program that fits; that the function is to be run as it is, is an error."""
        try:
            return self.replay(args, kwargs, run, PATIENCE)
        except Uncompiled as why:
            raise GuardError(str(why)) from None

    def _looked_up(self, args: Args, kwargs: Kwargs) -> tuple[Flat, _Ways | None]:
        """Flatten the arguments, and find the programs for their structure."""
        recent, flat = self._recent, None
        ways: _Ways | None = None
        try:
            if recent is not None:
                flat = same_call(args, kwargs, recent[0], self._fixed)
                ways = recent[1]
            if flat is None:
                flat = self.flat(args, kwargs)
                ways = self._found(flat)
        except OpenNumber:  # inside a run that is not compiled, where somebody follows it
            self._eager += 1
            raise Uncompiled(self._why) from None
        if ways is not None and ways.rests > 0:  # none of them has fitted for some time
            ways.rests -= 1
            self._eager += 1
            raise Uncompiled(self._why)
        return flat, ways

    def _found(self, flat: Flat) -> _Ways | None:
        """Look up the programs for a structure."""
        with self._lock:
            ways = self._cache.get(flat.key)
            if ways is not None:
                self._cache.move_to_end(flat.key)
                self._recent = (Expected(flat), ways)
        return ways

    def _first_fitting(
        self, ways: _Ways | None, tried: list[Specialization], flat: Flat, run: Run[T]
    ) -> T:
        """Run the first program that holds for this call; those in `tried` do not."""
        for spec in () if ways is None else ways.specs:
            if spec in tried:
                continue
            change = spec.environment.changed()
            if change is None:
                self.left -= 1
                try:
                    if self.left > 0:  # `exactly`, spelled out: every call comes by here
                        try:
                            done = run(spec, flat)
                        except NotFinite:
                            done = run(spec.exactly(), flat)
                    else:
                        done = self._audited(run, spec, flat)
                    self._last = spec
                    self._streak = ways.missed = 0  # type: ignore[union-attr]
                    if self._missed or self._rests:
                        self._missed = self._rests = 0
                    return done
                except GuardFailed as failure:
                    self._reason = _what_failed(spec, failure)
                    self._failed += 1
            else:
                self._reason = f"{change} is not what it was when the function was traced"
                self._missed = 0  # another world, and nobody's choice
            tried.append(spec)
        if tried and self._strict:
            raise GuardError(
                f"{self._name}: this call would take another way than the one that was "
                f"compiled ({self._reason}). {rewrite_of(self._reason)} Or compile with "
                "strict=False, to have it traced again."
            )
        raise GuardFailed

    # ---- calls like the latest one; see repeat.py ------------------------------------------------

    def expect_another(self, with_gradients: bool) -> None:
        """Have the next calls be tried as repeats of this one, which has come to its end."""
        with self._lock:
            recent = self._recent
            if recent is None or self.as_is or self._fixed:
                return
            expected, ways = recent
            if not ways.specs or ways.specs[0] is not self._last:  # others are tried before it
                return
            spec, known = ways.specs[0], ways.repeats
            asked = bool(spec.asked)
            if (with_gradients, asked) not in known:
                known[with_gradients, asked] = repeat_of(spec, expected, with_gradients)
            self.repeated_call = known.get((False, asked))
            self.repeated_gradient = known.get((True, asked))

    def _expect_nothing(self) -> None:
        self.repeated_call = self.repeated_gradient = None

    # ---- tracing --------------------------------------------------------------------------------

    def _traced(self, flat: Flat, may_rest: bool) -> tuple[Specialization, Flat]:
        """Run the function once and compile what it does, unless there are too many ways.

        The lock is not held meanwhile: what the function waits for may want to call it.
        """
        with self._lock:
            ways = self._cache.setdefault(flat.key, _Ways())
            self._cache.move_to_end(flat.key)
            if len(ways.specs) >= _MOST_SPECS and self._dropped < _STRUCTURES:
                fresh = [spec for spec in ways.specs if spec.environment.changed() is None]
                self._dropped += len(ways.specs) - len(fresh)
                ways.specs = fresh  # the others belong to a world that is gone
                ways.repeats = {}
        if len(ways.specs) >= _MOST_SPECS:
            ways.missed = min(ways.missed + 1, 12)
            ways.rests = 2**ways.missed if ways.missed > 2 else 0  # try again after a while
            raise self.uncompiled(
                f"{self._name} was traced {_MOST_SPECS} times because calls took different ways "
                f"({self._reason}). From now on such calls run uncompiled. "
                f"{rewrite_of(self._reason)}"
            )
        if ways.specs and may_rest:
            self._rest_after_a_miss()
        flat = self.flat(*flat.tree)  # in full: `same_call` leaves things out
        known, last = None, self._last  # what an earlier trace found around it, if still so
        if last is not None and not flat.kept and not last.kept:
            known = last.environment if last.environment.changed() is None else None
        spec = self._specialize(flat, known)
        with self._lock:
            change = self._noted(spec, flat)
        self._warn_of_what_was_seen(spec, change)
        if not spec.is_faithful:
            raise self.uncompiled(
                f"{self._name} decides by a number that is on the edge: computed in another "
                "order, it falls to the other side. Such calls run uncompiled."
            )
        return spec, flat

    def _rest_after_a_miss(self) -> None:
        """Have calls run as they are, if traces were of no use to the calls after them.

        A number has any number of ways, a branch has two: those are traced until they are many.
        After a rest there is another trace, and a longer rest: both together take little more time
        than the calls themselves.
        """
        if self._reason.startswith(BRANCH):
            return
        self._missed += 1
        if self._missed > _RETRACES:
            self._rests = _rest(self._missed - _RETRACES)
        if self._missed == _RETRACES + 1:
            raise self.uncompiled(
                f"{self._name} was traced {_RETRACES + 1} times in a row because calls took "
                f"different ways ({self._reason}). Tracing takes longer than calling the function "
                f"as it is, so that most such calls run uncompiled now. {rewrite_of(self._reason)}"
            )

    def _specialize(self, flat: Flat, known: Any) -> Specialization:
        with collector_off():
            return specialize(self._function, flat, self._backend, self._leading, known)

    def _noted(self, spec: Specialization, flat: Flat) -> str | None:
        """Take a specialization up; return what the function changed of what it reads."""
        self._traces += 1
        self._streak += 1
        self.left = self.audit.traced(spec, self.left)
        ways = self._cache.setdefault(flat.key, _Ways())
        self._last = spec
        # More results in a cache are no change, unless they are numbers of this very call.
        filled = spec.environment.filled() if spec.escaped else None
        change = spec.environment.changed() or filled
        self._changes = self._changes + 1 if change is not None else 0
        if spec.is_faithful and change is None:
            ways.specs.insert(0, spec)
            ways.repeats = {}
        self._recent = (Expected(flat), ways)
        while len(self._cache) > _STRUCTURES:
            self._cache.popitem(last=False)
        return change

    # ---- audits ---------------------------------------------------------------------------------

    def _audited(self, run: Run[T], spec: Specialization, flat: Flat) -> T:
        """Run one way, with a look at the clock, and with an audit if that is due."""
        spent = None
        if self.audit.is_due(spec):
            started = perf_counter()
            if self._is_stale(spec, flat):
                raise GuardFailed  # with a warning; it is traced again
            spent = perf_counter() - started
        started = perf_counter()
        done = exactly(run, spec, flat)
        took = perf_counter() - started
        self.left = self.audit.took(min(took, self.seconds or took), spent)
        self.seconds = 0.0
        return done

    def _is_stale(self, spec: Specialization, flat: Flat) -> bool:
        """Compare a replay with the function itself; raise, or warn, if it is another one."""
        flush_writebacks()
        run = partial(measured, spec.purposes())
        try:
            here = exactly(run, spec, flat)
        except GuardFailed:
            return False  # this way is not taken
        try:
            differs = difference(self._function, spec, flat, here)
        except BaseException:
            self._forget()
            raise
        change = spec.environment.changed()
        if change is not None:
            self._changes_things(change)  # from now on it does so at every call, and did so now
            return self._found_stale(f"{self._name} changes {change}, and replays did not")
        if not differs:
            self._doubts = 0
            return False
        with turn() as is_ours:
            if not is_ours:
                return False  # another thread traces: at the next audit, then
            fresh = self._specialize(self.flat(*flat.tree), None)
        try:
            is_the_same = agree(here, exactly(run, fresh, flat)) and fresh.returns_like(spec)
        except GuardFailed:
            is_the_same = False
        if is_the_same:
            # Tracing again makes no difference. Rounding, on an edge, is different next time.
            self._doubts += differs.startswith("replayed it") or "structure" in differs
            if not self._doubts or (self._doubts == 1 and self.audit.mode != "always"):
                return False
            return self._found_stale(
                f"{self._name}: {differs}. Tracing it again makes no difference: it seems to look "
                "at what is not the same while it is traced (the very type of a number, which "
                "object it is, the stack)"
            )
        return self._found_stale(
            f"{self._name}: {differs}. Something that it reads has changed, and nobody noticed. "
            f"{reasons(spec, fresh)} Give it as an argument".replace("  ", " ")
        )

    def _found_stale(self, text: str) -> bool:
        """Forget all programs, and raise or warn."""
        self._forget()
        if self.audit.mode != "warn" or self._strict:
            raise AuditError(f"{text}.")
        _warn_caller(f"{text}. It is traced again.")
        return True

    # ---- what is said ---------------------------------------------------------------------------

    def uncompiled(self, why: str) -> Uncompiled:
        """Have this call run as it is: the error to raise."""
        self._eager += 1
        self._why = why
        self._warn(why)
        return Uncompiled(why)

    def _changes_things(self, change: str) -> None:
        self._give_up(
            f"{self._name} changes {change}, which it reads. A program would not do that at "
            "each call, so it runs uncompiled. Return what is to be kept, and do the rest "
            "around the call."
        )

    def _give_up(self, why: str) -> None:
        """Have all calls run as they are from now on."""
        with self._lock:
            self.as_is = why
            self._expect_nothing()
        self._warn(why)

    def _warn_of_what_was_seen(self, spec: Specialization, change: str | None) -> None:
        """Warn of what a program does not repeat, once each; rest if none is ever repeated."""
        name = self._name
        if self._changes > _CHANGES:
            self._changes_things(str(change))
        if spec.asks_which:
            self.asks_which = True
            self._give_up(
                f"{name} asks which Values it was given (is, ==, in, a dict by Values). Others may "
                "make a difference at another call, so it runs uncompiled. Give what it depends on "
                "as an argument: a number, a text."
            )
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
            self._why = (
                f"{name} was traced {_STREAK} times in a row without a replay: each call has "
                "arguments of another structure, or another object among them, or finds something "
                "changed. Tracing takes longer than calling the function as it is, so that most "
                "such calls run uncompiled now."
            )
            self._rests = _rest(self._streak - _STREAK)
            self._warn(self._why)

    def _warn(self, text: str) -> None:
        topic = text.split(":", maxsplit=1)[0][:80]
        if topic not in self._warned:
            self._warned.add(topic)
            _warn_caller(text)


def _rest(times: int) -> int:
    """Return for how many calls to rest when tracing was of no use, for the n-th time."""
    first, most = _RESTS
    return min(first << 2 * min(times - 1, 9), most)


def _what_failed(spec: Specialization, failure: GuardFailed) -> str:
    """Name the guard that failed, or the first ones if nobody knows which."""
    guards = spec.program.guards
    if failure.args and failure.args[0] < len(guards):
        return str(guards[failure.args[0]].what)
    return "; ".join(guard.what for guard in guards[:3])


def _warn_caller(text: str) -> None:
    """Warn at the line outside this package that made the call."""
    level, frame = 1, sys._getframe(1)
    while frame.f_back is not None and is_ours(frame.f_globals.get("__name__")):
        level, frame = level + 1, frame.f_back
    warnings.warn(text, RuntimeWarning, stacklevel=level + 1)
