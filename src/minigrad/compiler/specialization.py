"""One way through a function: its program, and what a run of it gives.

A function may have several: for other lengths of its arguments, for other outcomes of a branch. A
`Specialization` never changes; it knows when it applies (a key, an environment, guards) and what
to compute: `forward`, `gradient`, `local_derivatives`, `hvp`. Each raises `GuardFailed` if the call
takes another way. Machines are made when they are first needed, one for each `Purpose`.

A run whose numbers are not all finite does not count (`NotFinite`): the same way is then taken with
programs that are `exact`, see `passes.grad`, and slower.
"""

from __future__ import annotations

import threading
from array import array
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import repeat
from math import isfinite, isnan
from time import perf_counter
from typing import Any, Literal, NamedTuple, TypeVar

import numpy as np

from ..codegen.elementwise import MAPS
from ..codegen.formula import Formula
from ..core.parameters import Nodes
from ..core.turns import forked
from ..errors import TraceError
from ..scalar import Value
from .arguments.results import Template, kind_of
from .arguments.structure import Flat, is_as_outlined, outline, rebuild
from .backends import Backend, backend_of, native
from .backends.encode import encode
from .ir.program import Program, verify, verify_last
from .ir.refs import distinct, runs
from .machine import Machine, NotFinite, Numbers
from .passes.grad import grad, hessian_times_vector, jacobian
from .passes.group import group
from .passes.store_first import store_first
from .passes.update import update
from .passes.widen import Rows, Weight, carry, forget, weigh, widen
from .stored import Stored, stored_for
from .tracing.environment import Environment, environment_of
from .tracing.escape import let_go
from .tracing.lifted import Argument
from .tracing.subscripts import open_subscripts, watched_lists
from .tracing.tape import INPUT, Tape
from .tracing.trace import Trace, collector_off, trace
from .tracing.which import Given

_STOP_GRADIENT = MAPS["stop_gradient"].code
T = TypeVar("T")


class Purpose(NamedTuple):
    """What a machine computes.

    A "gradient" is that of the first result, by "all" inputs or by those that are "values"; the
    "jacobian" that of any weighted sum of results. A training "step" is the gradient by values and
    a formula that moves the first `moved` inputs, in a machine that keeps them. With `rows`, all of
    this is for a block of rows at once.
    """

    what: Literal["forward", "gradient", "jacobian", "hvp", "step"]
    by: Literal["all", "values"] = "all"
    formula: Formula | None = None
    moved: int = 0
    rows: Rows | None = None


FORWARD = Purpose("forward")
BY_ALL = Purpose("gradient", "all")
BY_VALUES = Purpose("gradient", "values")
HVP = Purpose("hvp")


class _Machines:
    """What is made of a specialization when it is first needed."""

    def __init__(self) -> None:
        self.by_purpose: dict[Purpose, Machine] = {}
        self.exact: Specialization | None = None
        self.weights: dict[Any, Weight] = {}  # of programs for rows, by what differs among these
        self.asked: list[str] = []  # filled once somebody wants to know what repeats leave out
        self.lock = forked(threading.Lock())


@dataclass(frozen=True, eq=False)
class Specialization:
    """A traced function. Made by `specialize`."""

    program: Program
    backend: Backend
    tape: Tape
    environment: Environment  # what the function reads besides its arguments
    template: Template  # what it returns, with places for the results
    kinds: tuple[Callable[[float], Any] | None, ...]  # of each result: None for a Value
    captured: tuple[Value, ...]  # in the order that `group` gave them
    nodes_read: Nodes  # the same, to be read at each call
    kept: list[Any]  # objects of the key, kept alive
    value_places: tuple[int, ...]  # of the arguments that are Values
    wholes: tuple[int, ...]  # arguments used as whole numbers: derivatives by them are 0
    can_differentiate: tuple[bool, ...]
    nodes: int  # operations that were traced
    leading_read: int  # how many of the first inputs the function reads at all
    escaped: list[str]  # where numbers of the trace are left, if anywhere
    text_at: str  # where a number became text, if one did
    asks_which: bool  # which Values it was given: others may make a difference
    is_exact: bool = False
    is_faithful: bool = True  # whether the machine passes the guards where the trace was made
    seconds: float = 0.0  # that making it took
    stored: Stored | None = None  # where its programs are kept on disk, if they are
    _made: _Machines = field(default_factory=_Machines)

    # ---- what a run gives; each may raise GuardFailed or NotFinite ------------------------------

    def forward(self, numbers: Any) -> list[float]:
        """Return the results."""
        return self.machine(FORWARD).run(self.nodes_read, numbers, _results)

    def gradient(self, numbers: Any) -> tuple[float, Numbers]:
        """Return the first result and its derivatives by all inputs."""
        return self.machine(BY_ALL).run(self.nodes_read, numbers, _with_adjoints)

    def local_derivatives(self, numbers: Any) -> tuple[float, array[float]]:
        """Return the first result and its derivatives by what is captured, and by Values given."""
        return self.machine(BY_VALUES).run(self.nodes_read, numbers, self._of_values)

    def hvp(self, numbers: Any, direction: Sequence[float]) -> Numbers:
        """Return the Hessian of the first result times a vector."""
        inputs, count = [*numbers, *direction], len(direction)
        return self.machine(HVP).run(self.nodes_read, inputs, lambda done: _adjoints(done, count))

    def by_arguments(self, inputs: Numbers) -> Numbers:
        """Return the derivatives of the first result by the arguments, for all inputs of a call.

        Repeats leave them out until somebody has asked for them; see repeat.py.
        """
        self.asked[:] = ["derivatives by the arguments"]
        count = self.program.parameters
        try:
            found = self.machine(BY_ALL).adjoints_of(inputs)[count:]
        except NotFinite:
            exact, given = self.exactly(), dict(zip(map(id, self.captured), inputs, strict=False))
            inputs = np.array([*[given[id(value)] for value in exact.captured], *inputs[count:]])
            found = exact.machine(BY_ALL).adjoints_of(inputs)[count:]
        found[list(self.wholes)] = 0.0
        return found

    def _of_values(self, machine: Machine) -> tuple[float, array[float]]:
        program, values = machine.program, machine.values
        first = program.adjoints + program.parameters
        partials = array("d")
        partials.frombytes(values[program.adjoints : first].view(np.uint8).data)
        for at in self.value_places:
            partials.append(values.item(first + at))
        return values.item(program.results[0]), partials

    # ---- programs and machines ------------------------------------------------------------------

    def machine(self, purpose: Purpose) -> Machine:
        """Return the machine for a purpose."""
        made = self._made
        found = made.by_purpose.get(purpose)
        if found is not None:
            return found
        with made.lock, collector_off():
            if purpose not in made.by_purpose:
                made.by_purpose[purpose] = self._machine(purpose)
            return made.by_purpose[purpose]

    def weight(self, arguments: tuple[tuple[int, bool], ...]) -> Weight:
        """Tell what a program for rows would be like that differ in some of the arguments."""
        known = self._made.weights
        if arguments not in known:
            known[arguments] = weigh(self.program, arguments)
        return known[arguments]

    @property
    def asked(self) -> list[str]:
        """What somebody wants to know that repeats leave out; nothing as long as it is empty."""
        return self._made.asked

    def purposes(self) -> list[Purpose]:
        """What machines there are for."""
        return list(self._made.by_purpose)  # at once: another thread may make one

    def compiled(self, purpose: Purpose) -> Program:
        """Return the program for a purpose."""
        return _compiled(self.program, purpose, self.value_places, self.is_exact)

    def _machine(self, purpose: Purpose) -> Machine:
        """Make a machine, or have it from disk."""
        if self.stored is None or purpose.rows is not None:  # blocks are of too many sizes
            return Machine(self.compiled(purpose), self.backend)
        what = "gradient" if purpose.what == "step" else purpose.what  # a formula is not encoded
        places = [] if purpose.by == "all" else [-1, *self.value_places]
        # Without a reference to this object, which refers to the machine.
        make = partial(_compiled, self.program, purpose, self.value_places, self.is_exact)
        found = self.stored.code(what, places, self.program, lambda: make().instructions)
        if found is not None:
            program, code = found
            program = _finished(program, purpose, self.is_exact)
            try:
                return Machine(program, self.backend, native.Prepared(program, code=code))
            except ValueError:  # words that the machine does not take
                self.stored.forget_code(what, places)
        program = make()
        code = encode(program)
        machine = Machine(program, self.backend, native.Prepared(program, code=code))
        self.stored.keep_code(what, places, program, code)
        return machine

    def exactly(self) -> Specialization:
        """Return the same way with exact programs, for a call whose guards have been looked at."""
        made = self._made
        with made.lock, collector_off():
            if made.exact is None:
                program = verify(group(self.tape, as_written=True), "group")
                captured = tuple(self.tape.entries.captured_values)
                made.exact = replace(
                    self,
                    program=replace(program, guards=()),
                    captured=captured,
                    nodes_read=Nodes(captured),
                    is_exact=True,
                    stored=None,  # rare, and no reason to fill a disk
                    _made=_Machines(),
                )
            return made.exact

    def returns_like(self, other: Specialization) -> bool:
        """Tell whether what is returned beside traced numbers is the same."""
        return repr(self.template.filled(str)) == repr(other.template.filled(str))

    def calibrated(self, numbers: Any) -> Specialization:
        """Have the guards ask for what the machine itself computes from what was traced.

        Its exp() may differ from the eager engine's in the last place. What must not differ is the
        outcome of a test, nor a number by more than rounding.
        """
        machine = self.machine(FORWARD)
        slots = [guard.at for guard in self.program.guards]
        found = machine.probe(self.nodes_read, numbers, slots)
        guards = []
        for guard, number in zip(self.program.guards, found, strict=True):
            margin = 1e-6 * max(1.0, abs(guard.number)) if isfinite(guard.number) else 0.0
            same = number == guard.number or (isnan(number) and isnan(guard.number))
            if not same and not abs(number - guard.number) <= margin:
                return replace(self, is_faithful=False)
            guards.append(replace(guard, number=number))
        program = replace(self.program, guards=tuple(guards))
        machine.set_guards(program, self.backend)
        return replace(self, program=program)


def exactly(run: Callable[[Specialization, Flat], T], spec: Specialization, flat: Flat) -> T:
    """Run one way; where that comes to inf or nan, by its exact programs."""
    try:
        return run(spec, flat)
    except NotFinite:
        return run(spec.exactly(), flat)


def _compiled(
    program: Program, purpose: Purpose, value_places: tuple[int, ...], exact: bool
) -> Program:
    """Make the program for a purpose of the one that computes the results."""
    count, rows = program.parameters, purpose.rows
    wrt: Any = range(program.inputs)
    if purpose.by == "values":
        wrt = [*range(count), *(count + at for at in value_places)]
    made: list[tuple[str, Program]] = []
    if rows is not None:
        program = widen(program, rows)
        made.append(("widen", program))
        wrt = range(count) if purpose.by == "values" else rows.followed(count)
    if purpose.what == "hvp":
        made.append(("hessian_times_vector", hessian_times_vector(program, exact)))
    elif purpose.what == "jacobian":
        made.append(("jacobian", jacobian(program, wrt, exact)))
    elif purpose.what != "forward":
        made.append(("grad", grad(program, wrt, exact=exact)))
    if purpose.what != "forward":
        made.append(("store_first", store_first(made[-1][1], scattered=rows is not None)))
    if rows is not None and rows.carries:
        made.append(("carry", carry(made[-1][1], rows)))
    if rows is not None and purpose.by == "values":
        made.append(("forget", forget(made[-1][1], range(count, rows.inputs(count)))))
    if made:  # else it was verified when it was made
        made.append(("update", _finished(made[-1][1], purpose, exact)))
        return verify_last(made)
    return _finished(program, purpose, exact)


def _finished(program: Program, purpose: Purpose, exact: bool) -> Program:
    """Add what is done after the instructions: the optimiser's step, the look at the numbers."""
    if purpose.formula is not None:
        program = update(program, purpose.formula, purpose.moved)
    if exact:
        return program
    is_whole = purpose.rows is None or purpose.by == "all"
    slopes = program.inputs if is_whole else program.parameters
    return replace(program, finite=_delivered(program, slopes))


def _results(machine: Machine) -> list[float]:
    return [machine.values.item(at) for at in machine.program.results]


def _with_adjoints(machine: Machine) -> tuple[float, Numbers]:
    program = machine.program
    return machine.values.item(program.results[0]), _adjoints(machine, program.inputs)


def _adjoints(machine: Machine, count: int) -> Numbers:
    start = machine.program.adjoints
    return machine.values[start : start + count].copy()


def _delivered(program: Program, inputs: int) -> tuple[tuple[int, int], ...]:
    """The ranges of slots that somebody reads after a run: results, and slopes by some inputs."""
    found = runs(distinct(np.array(program.results, dtype=np.int64)))
    if program.adjoints:
        found.append((program.adjoints, program.adjoints + inputs))
    return tuple(found)


# ---- how one is made -----------------------------------------------------------------------------


def specialize(
    function: Callable[..., Any],
    flat: Flat,
    backend: str,
    leading: Sequence[Value] = (),
    known: Environment | None = None,
) -> Specialization:
    """Run the function once, and compile what it does.

    The Values in `leading` become the first inputs, in this order; `known` is the environment of
    the function, if it has been looked at.
    """
    started = perf_counter()
    environment = known or environment_of(function, flat.kept)
    run = _Run(function, flat, environment)
    tape = run.tape
    leading_read = _put_first(tape, leading)
    machines = backend_of(backend)
    stored = stored_for(tape) if machines is native else None
    program = _grouped(tape, stored)
    captured = tuple(tape.entries.captured_values)
    made = Specialization(
        program=program,
        backend=machines,
        tape=tape,
        environment=environment,
        template=run.template,
        kinds=run.kinds,
        captured=captured,
        nodes_read=Nodes(captured),
        kept=flat.kept,
        value_places=tuple([at for at, _ in flat.sources]),
        wholes=tuple([at for at in tape.wholes if at in run.wholes]),
        # A number that comes from whole numbers alone can be differentiated; one that was read
        # from a Value cannot, it is not followed.
        can_differentiate=tuple(
            kind is None
            or (kind is not bool and bool(tape.entries.inputs_under([at], _STOP_GRADIENT)))
            for kind, at in zip(run.kinds, tape.results, strict=True)
        ),
        # Inputs and numbers are entries too, but nothing is done there.
        nodes=int(np.count_nonzero(np.asarray(tape.entries.code)[: len(tape)] >= 0)),
        leading_read=leading_read,
        escaped=run.escaped,
        text_at=run.text_at,
        asks_which=run.asks_which,
        stored=stored,
    )
    if program.guards:  # a number on an edge may fall to the other side
        made = made.calibrated(flat.numbers)
    return replace(made, seconds=perf_counter() - started)


def _grouped(tape: Tape, stored: Stored | None) -> Program:
    """Make the program of a tape, or have it from disk."""
    if stored is not None:
        found = stored.layout(tape, lambda: verify(group(tape), "group").instructions)
        if found is not None:
            return found
    before = tape.entries.captured
    program = verify(group(tape), "group")
    if stored is not None:
        stored.keep_layout(program, before, tape)
    return program


class _Run:
    """One run of a function that is traced: what it returns, and what it leaves behind."""

    def __init__(self, function: Callable[..., Any], flat: Flat, environment: Environment) -> None:
        self._function, self._flat, self._environment = function, flat, environment
        self.wholes: set[int] = set()  # arguments that are whole numbers
        self.kinds: tuple[Callable[[float], Any] | None, ...] = ()
        self._leaves: list[Value] = [Argument(number) for number in flat.numbers]
        for at, source in flat.sources:
            self._leaves[at] = given = Given(flat.numbers[at])
            given.source = source
            if source.label:
                self._leaves[at].label = source.label
        context = Trace()
        arguments = [leaf for leaf in self._leaves if isinstance(leaf, Argument)]
        for leaf in arguments:
            leaf.context = context
        dice = environment.thrown()
        self.tape = self._traced(context)
        self.escaped = let_go(context, arguments)
        self.text_at, self.asks_which = context.text_at, context.asks_which
        if environment.thrown() != dice or context.has_drawn:
            raise TraceError(
                f"{getattr(function, '__name__', 'a compiled function')} draws random numbers; the "
                "program would repeat those of its first run for ever. Draw them outside, and give "
                "them as arguments."
            )

    def _traced(self, context: Trace) -> Tape:
        try:
            return trace(self._call, self._leaves, context)
        except BaseException as error:
            context.close()
            if isinstance(error, AttributeError) and any(error.obj is x for x in self._leaves):
                raise TraceError(
                    f"a compiled function asks a Value that it was given for its {error.name!r}. "
                    "Inside, arguments are stand-ins, which have a number and a label and nothing "
                    "else: give what belongs to a Value as an argument too."
                ) from error
            raise

    def _call(self, context: Trace) -> list[Any]:
        args, kwargs = rebuild(self._flat, self._leaves, context, self.wholes)
        before = outline((args, kwargs))
        context.watched = watched_lists(self._environment)
        with open_subscripts(self._environment):
            output = self._function(*args, **kwargs)
        if not is_as_outlined(before):
            context.refused("changes a list, dict or array that it was given")
        self.template, results = Template.of(output, self._leaves)
        self.kinds = tuple(map(kind_of, results))
        return results


def _put_first(tape: Tape, leading: Sequence[Value]) -> int:
    """Have these Values be the first inputs, in this order, whether the trace met them or not.

    Returns how many of them it has met.
    """
    if not leading:
        return 0
    entries = tape.entries
    known = dict(zip(map(id, entries.captured_values), entries.captured, strict=True))
    places = list(map(known.pop, map(id, leading), repeat(-1)))  # thousands: no loop of our own
    rest = [value for value in entries.captured_values if id(value) in known] if known else []
    entries.captured_values = [*leading, *rest]
    unread = places.count(-1)
    entries.captured = (
        [at if at >= 0 else entries.add(INPUT) for at in places] if unread else places
    )
    entries.captured += known.values()
    tape.in_order = True
    return len(leading) - unread
