"""A compiled function: the same scalar code at the speed of hand-written C.

    @minigrad.compile
    def loss(xs, ys): ...          # ordinary Value code; what it closes over is found by the trace

    total = loss(X, y)             # a Value: one fused node in the eager world
    total.backward()               # fills p.grad, as ever

The first call with arguments of a new structure runs the function once and compiles what it did;
later calls replay it. A replay never returns a silently wrong number: branches, numbers that were
read and everything the function read besides its arguments are checked, and if one differs the
function is traced again (or, compiled strictly, refuses). A call begins in `repeat.py`; start here
at `Compiled._call`.
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from ..core.backward import gradients
from ..core.display import Text
from ..core.elsewhere import COMPILED, absentees, names_of
from ..core.graph import topological_order
from ..core.modes import in_strict, is_recording
from ..core.names import plural
from ..core.observers import refuse_in_trace, tracer
from ..errors import TraceError
from ..optim import Optimizer
from ..scalar import Value, fused
from .arguments.structure import Flat, flatten, lifted, shape_only
from .backends import backend_of
from .callables import Made, refuse_unfinished
from .describe import described, described_as_arrays
from .dispatch import Args, CacheInfo, Dispatcher, Kwargs, Run, Uncompiled
from .gradients import Gradients, Origin, gradients_of
from .ir.program import Program
from .jacobian import Jacobian
from .repeat import Entry
from .specialization import BY_ALL, Specialization
from .tracing.proxies import TracedNumber
from .tracing.untraced import RUNNING, StandIns

_TABLE = 100  # derivatives of all results by all operands that an operation is worth


class Compiled(Made, Entry):
    """A function with its programs. Made by `compile`."""

    dispatch: Dispatcher

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
        backend_of(backend)
        functools.update_wrapper(self, function)
        self.__wrapped__: Callable[..., Any] = function
        self.__name__: str = getattr(function, "__name__", type(function).__name__)
        self._options = (backend, strict, leading, audit)
        self.dispatch = Dispatcher(function, self.__name__, *self._options)

    def __dir__(self) -> list[str]:
        return names_of(self)

    def _recipe(self) -> tuple[Any, ...]:
        return self.__wrapped__, *self._options

    def _told(self) -> tuple[str, str]:
        return f"compiled {self.__name__}: {self.dispatch.told()}", self._explained()

    def _explained(self) -> str:
        """What became of the function; "" as long as it has no program."""
        return self.explain() if self.dispatch.as_is or self.dispatch.has_program else ""

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        """As a method, it belongs to its instance, like any function."""
        return self if instance is None else Bound(self, instance)

    # ---- calls ----------------------------------------------------------------------------------

    def _call(self, args: Args, kwargs: Kwargs) -> Any:
        """The long way of a call; see `repeat.py` for the short one."""
        if tracer() is not None or in_strict() or (RUNNING and threading.get_ident() in RUNNING):
            # Inside another trace it is part of that one; strict() wants every line by itself, and
            # so does an audit.
            return self._as_it_is(args, kwargs)
        try:
            if not is_recording():
                return self.dispatch.replay(args, kwargs, _plain)
            done = self.dispatch.replay(args, kwargs, self._fused)
        except Uncompiled:
            return self._as_it_is(args, kwargs)
        self.dispatch.expect_another(with_gradients=False)
        return done

    def _as_it_is(self, args: Args, kwargs: Kwargs) -> Any:
        """Run the function itself, with Values for floats as in a trace."""
        args, kwargs = lifted((args, kwargs))
        return self.__wrapped__(*args, **kwargs)

    def _fused(self, spec: Specialization, flat: Flat) -> Any:
        """Run with gradients; what comes back are nodes with known local derivatives."""
        operands = spec.captured
        if flat.sources:
            operands = (*operands, *[value for _, value in flat.sources])
        if not operands or None not in spec.kinds:  # nothing to differentiate, or by
            return _plain(spec, flat)
        if len(spec.kinds) > 1:
            return self._many_fused(spec, flat, operands)
        data, partials = spec.local_derivatives(flat.numbers)
        made = fused(data, operands, partials)
        return spec.template.filled(lambda _: made)

    def _many_fused(self, spec: Specialization, flat: Flat, operands: tuple[Value, ...]) -> Any:
        """Several results: their derivatives are computed when somebody asks for them."""
        if len(spec.kinds) * len(operands) > _TABLE * spec.nodes + 10_000:
            raise self.dispatch.uncompiled(
                f"{self.__name__} returns {len(spec.kinds)} results that depend on "
                f"{len(operands)} Values in {spec.nodes} operations. A table of all derivatives "
                "takes longer than the function itself, so such calls run uncompiled. Compile what "
                "makes one number of the results, a loss."
            )
        numbers = spec.forward(flat.numbers)
        rows = Jacobian(spec, flat, operands)

        def made(at: int) -> Any:
            kind = spec.kinds[at]
            if kind is not None:
                return kind(numbers[at])
            return fused(numbers[at], operands, rows.row(at))

        return spec.template.filled(made)

    def _value_and_grad(self, args: Args, kwargs: Kwargs) -> tuple[float, Gradients]:
        """The long way to gradients."""
        refuse_in_trace("asks for gradients of a compiled function")
        if in_strict():
            return self._eager_gradients(args, kwargs)
        try:
            done = self.dispatch.replay(args, kwargs, self._differentiated)
        except Uncompiled:
            return self._eager_gradients(args, kwargs)
        self.dispatch.expect_another(with_gradients=True)
        return done

    def _differentiated(self, spec: Specialization, flat: Flat) -> tuple[float, Gradients]:
        self.check_differentiable(spec)
        value, found = spec.gradient(flat.numbers)
        return value, gradients_of(spec, found, flat)

    def check_differentiable(self, spec: Specialization) -> None:
        """Refuse to differentiate if the first result has no derivatives."""
        if not spec.kinds or not spec.can_differentiate[0]:
            raise TypeError(self._nothing_to_differentiate())

    def _nothing_to_differentiate(self) -> str:
        return f"{self.__name__} returns no Value first, so there is nothing to differentiate."

    def _eager_gradients(self, args: Args, kwargs: Kwargs) -> tuple[float, Gradients]:
        """The same without a program; Values of the graph that nobody made here are parameters."""
        if self.dispatch.asks_which:  # derivatives by each argument need stand-ins
            raise TraceError(f"{self.dispatch.as_is} For gradients: call it, and then backward().")
        flat = self.dispatch.flat(args, kwargs)
        given = StandIns(flat)
        output = given.run(self.__wrapped__)
        first = output[0] if isinstance(output, (list, tuple)) else output
        if isinstance(first, TracedNumber):
            first = first.node
        if not isinstance(first, Value):
            raise TypeError(self._nothing_to_differentiate())
        known = set(map(id, given.leaves))
        order = topological_order(first, Value._links)
        parameters = tuple(v for v in order if not v._links() and id(v) not in known)
        slopes = np.array(gradients(first, [*parameters, *given.leaves]))
        slopes[len(parameters) :][given.wholes()] = 0.0
        by = Origin(parameters, flat.key, flat.kept)
        return first.data, Gradients(by, slopes, flat.sources)

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
        if args and not vectors and parameters is None:
            raise TypeError(
                "hvp(args, vectors): no vector; give the direction in which to differentiate the "
                "gradient, one number for each: f.hvp((x, y), (1.0, 0.0))."
            )
        along = _hessian_times(tuple(vectors), dict(parameters or {}))
        found = self.dispatch.replay_or_refuse(tuple(args), {}, along)
        return found.args if parameters is None else (found.args, found)

    # ---- looking --------------------------------------------------------------------------------

    @property
    def program(self) -> Program:
        """The program of the latest call; printed, its instructions."""
        return self.dispatch.latest().program

    def gradient_program(self) -> Program:
        """The program of the latest call with its gradient."""
        return self.dispatch.latest().machine(BY_ALL).program

    def explain(self, backend: str = "") -> str:
        """Say what was recognised, what the program is tied to, guarded by and audited for.

        For `backend="jax"` it is what becomes a matrix product, a view or a gather there.
        """
        if backend not in ("", "jax"):
            raise ValueError(f"explain(backend={backend!r}): choose 'jax', or none.")
        if self.dispatch.as_is:
            return Text(self.dispatch.as_is)
        spec = self.dispatch.latest()
        if backend:
            return Text(described_as_arrays(spec, self.__name__))
        return Text(f"{described(spec, self.__name__)}\n{self.dispatch.audit.said(spec)}")

    def cache_info(self) -> CacheInfo:
        """Count calls, traces, programs, failed guards, and calls that ran as they are."""
        return self.dispatch.info()

    def cache_clear(self) -> None:
        """Forget all programs."""
        self.dispatch.clear()


def told_step(compiled: Compiled, optimizer: Optimizer, machine: str = "") -> tuple[str, str]:
    """Say what a training step is in a line, and what became of its loss."""
    name, taken = type(optimizer).__name__, plural(optimizer.steps, "step")
    line = f"train_step of {compiled.__name__} with {name}, {taken} taken"
    return f"{line}: {compiled.dispatch.told(machine)}", compiled._explained()


for _name, _absent in absentees("a compiled function", COMPILED):
    setattr(Compiled, _name, _absent)


def _plain(spec: Specialization, flat: Flat) -> Any:
    """Run without gradients: leaves."""
    numbers = spec.forward(flat.numbers)

    def leaf(at: int) -> Any:
        kind = spec.kinds[at]
        return Value(numbers[at]) if kind is None else kind(numbers[at])

    return spec.template.filled(leaf)


def _hessian_times(vectors: tuple[Any, ...], parameters: dict[Value, float]) -> Run[Gradients]:
    """Ask for how the gradient changes along a vector among the inputs of a function."""
    given = Flat()
    shape = flatten(vectors, given) if vectors else None

    def run(spec: Specialization, flat: Flat) -> Gradients:
        along = given.numbers
        if shape is not None and (
            len(along) != len(flat.numbers) or shape_only(shape) != shape_only(flat.key[0])
        ):
            raise ValueError(
                "hvp(args, vectors): the vectors have another structure than the arguments; "
                "give one number for each number."
            )
        direction = [float(parameters.get(value, 0.0)) for value in spec.captured]
        direction += along or [0.0] * len(flat.numbers)
        return gradients_of(spec, spec.hvp(flat.numbers, direction), flat)

    return run


class Bound(Made):
    """A compiled method of an instance; derivatives are by the arguments behind `self`."""

    def __init__(self, compiled: Compiled, instance: Any) -> None:
        functools.update_wrapper(self, compiled, updated=())
        self._compiled = compiled
        self.__self__ = instance

    def _recipe(self) -> tuple[Any, ...]:
        return self._compiled, self.__self__

    def _told(self) -> tuple[str, str]:
        line, more = self._compiled._told()
        return f"{line}, as a method of {type(self.__self__).__name__}", more

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the method."""
        return self._compiled(self.__self__, *args, **kwargs)

    def value_and_grad(self, *args: Any, **kwargs: Any) -> tuple[float, Gradients]:
        """Return the value and its derivatives."""
        value, gradients = self._compiled.value_and_grad(self.__self__, *args, **kwargs)
        return value, gradients.without_first()

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
        return found[0][1:], found[1].without_first()

    def __getattr__(self, name: str) -> Any:
        if name == "_compiled":  # not made yet, as while it is copied
            raise AttributeError(name)
        return getattr(self._compiled, name)
