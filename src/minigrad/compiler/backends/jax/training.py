"""Training on JAX: loss, gradient and optimiser in one step, on one device or on many hosts.

    step = minigrad.train_step(loss, optimizer, backend="jax", mesh=mesh, batch="data")

`loss` is that of one example. With `batch`, arrays among the arguments have an axis of examples in
front, which is cut among the devices along the axis of the mesh of that name; parameters are on all
of them, and what the devices find is added up in one all-reduce. In a run of several processes each
gives its own examples.

Between steps parameters and state live on the devices. Whoever reads a Value, or asks the optimiser
for its state, gets them back first. A step is taken entirely or not at all: all that it changes is
one assignment.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.sharding import NamedSharding, PartitionSpec

from ....codegen.formula import Formula
from ....core.modes import in_strict
from ....core.observers import refuse_in_trace
from ....core.parameters import data_of, write_data, write_grads
from ....core.turns import Turns
from ....core.writeback import defer, flush_writebacks, writebacks
from ....errors import GuardError
from ....optim import Optimizer
from ...arguments.given import as_numpy, count_of, given_numbers, is_foreign
from ...arguments.structure import Flat, Uniform
from ...callables import Made, check_optimizer
from ...function import Compiled, told_step
from ...machine import GuardFailed
from ...specialization import Specialization
from .library import MATH
from .prepared import enable_x64
from .to_jax import Lowered, guards_hold, number_type

Array = Any


class _OnDevice(NamedTuple):
    """What lives on the devices: the newest numbers, and how many steps have led to them."""

    params: Array
    state: dict[str, Array]
    grads: Array
    steps: int


class JaxTrainStep(Made):
    """Takes one training step per call, and returns the loss before it. Made by `train_step`."""

    def __init__(
        self,
        loss: Callable[..., Any],
        optimizer: Optimizer,
        mesh: Any = None,
        batch: str | None = None,
        dtype: Any = None,
        strict: bool = False,
        audit: Any = None,
    ) -> None:
        check_optimizer(optimizer)
        if mesh is not None and batch not in mesh.axis_names:
            raise ValueError(
                f"train_step(mesh=…, batch={batch!r}): name the axis of the mesh that examples are "
                f"cut along: {', '.join(map(repr, mesh.axis_names))}."
            )
        if type(optimizer).step is not Optimizer.step or "step" in vars(optimizer):
            raise TypeError(
                f"train_step(backend='jax'): {type(optimizer).__name__} has a step of its own, "
                "which JAX cannot follow. Say what it does as a `rule`."
            )
        with enable_x64(True):
            self._dtype = number_type(dtype)[0]
        self.function = loss.__wrapped__ if isinstance(loss, Compiled) else loss
        self.optimizer = optimizer
        self._given = (loss, optimizer, mesh, batch, dtype, strict, audit)
        self._mesh, self._batch, self._name = mesh, batch, dtype
        self._parameters = tuple(optimizer.parameters)
        self.compiled = Compiled(
            self.function, strict=strict, leading=self._parameters, audit=audit
        )
        self._made: dict[Any, _Made] = {}
        self._turns = Turns()
        self._here: _OnDevice | None = None  # None: the Values and the optimiser have the numbers

    def _told(self) -> tuple[str, str]:
        return told_step(self.compiled, self.optimizer, "JAX")

    def _recipe(self) -> tuple[Any, ...]:
        flush_writebacks()
        return self._given

    @property
    def program_hash(self) -> str:
        """A hash of the program of the latest step; "" before the first."""
        return self.compiled.dispatch.digest()

    def __call__(self, *args: Any, **kwargs: Any) -> float:
        """Take a step; of several threads, one after the other."""
        refuse_in_trace("takes a training step")
        if in_strict():
            raise RuntimeError(
                "a training step on JAX inside strict(): strict() looks at every number, which "
                "JAX does not show. Use it with the native train_step."
            )
        return self._turns.run(_refuse, self._step, args, kwargs)

    def _step(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> float:
        if tuple(self.optimizer.parameters) != self._parameters:
            raise ValueError("the optimiser has other parameters now: make a new train_step.")
        if self._batch is None:
            args = tuple([as_numpy(arg) if is_foreign(arg) else arg for arg in args])
            kwargs = {k: as_numpy(arg) if is_foreign(arg) else arg for k, arg in kwargs.items()}
        everything = *args, *kwargs.values()
        if self._batch is not None:
            self._check(everything)
            args = tuple(map(_first, args))
            kwargs = {name: _first(arg) for name, arg in kwargs.items()}

        def run(spec: Specialization, flat: Flat) -> float:
            return self._stepped(spec, flat, everything)

        return self.compiled.dispatch.replay_or_refuse(args, kwargs, run)

    def _check(self, args: tuple[Any, ...]) -> None:
        """Refuse arguments without examples."""
        rows = [len(arg) for arg in args if _is_batched(arg)]
        if not rows:
            raise TypeError(
                f"train_step(batch={self._batch!r}): none of the arguments is an array with an "
                "axis of examples in front. Give NumPy or JAX arrays."
            )
        if len(set(rows)) > 1:
            raise ValueError(f"train_step: the arrays have {rows} examples; give as many of each.")
        if not rows[0]:
            raise ValueError("train_step: the arrays have no examples.")

    def _stepped(self, spec: Specialization, flat: Flat, args: tuple[Any, ...]) -> float:
        self.compiled.check_differentiable(spec)
        if not spec.leading_read:
            raise ValueError(
                f"train_step: {self.compiled.__name__} reads none of the parameters, so that "
                "nothing would be trained. Was one of the two copied without the other?"
            )
        with enable_x64(True):
            here = self._here or self._from_host()
            formula, names, settings = _formula_after(self.optimizer, here.steps)
            key = spec, formula, _shapes(args)
            if key not in self._made:
                self._made[key] = _Made(self, spec, flat, formula, args)
            made = self._made[key]
            state = {name: here.state.get(name, made.zeros) for name in names}
            others = np.array([value.data for value in spec.captured[len(self._parameters) :]])
            params, moved, grads, loss, failed = made(
                here.params, tuple(state.values()), np.array(settings), others, flat, args
            )
            number, bad = float(loss), float(failed)
        if bad:
            if self._batch is None:
                raise GuardFailed
            raise GuardError(
                f"{self.compiled.__name__}: {bad:g} examples would take another way through the "
                f"function than the first one ({spec.program.guards[0].what}). Write the choice "
                "with where(condition, a, b)."
            )
        if self._here is None:
            defer(self._write_back)  # in advance: once the parameters have moved, it must be known
        moved_state = {**here.state, **dict(zip(names, moved, strict=True))}
        self._here = _OnDevice(params, moved_state, grads, here.steps + 1)
        self.optimizer._turn = self
        if not writebacks:  # a signal handler has asked for the numbers meanwhile
            defer(self._write_back)
        return number

    def _from_host(self) -> _OnDevice:
        """Take up the numbers of the Values and of the optimiser."""
        flush_writebacks()
        optimizer, count = self.optimizer, len(self._parameters)
        params = self.placed(np.array(data_of(self._parameters)))
        state = {name: self.placed(np.array(x)) for name, x in optimizer.state.items()}
        return _OnDevice(params, state, self.placed(np.zeros(count)), optimizer.steps)

    def placed(self, numbers: Any) -> Array:
        """Put numbers on every device."""
        numbers = np.asarray(numbers, self._dtype)
        if self._mesh is None:
            return jnp.asarray(numbers)
        everywhere = NamedSharding(self._mesh, PartitionSpec())
        return jax.make_array_from_process_local_data(everywhere, numbers, numbers.shape)

    # ---- back to the host -----------------------------------------------------------------------

    def complete(self) -> None:
        """Give the optimiser its state; it has asked for it."""
        self._write_back()

    def _write_back(self) -> None:
        self._turns.run(self._give_back, self._give_back)

    def _give_back(self) -> None:
        """Give the Values and the optimiser their numbers. Interrupted, it can be done again."""
        here, optimizer = self._here, self.optimizer
        if here is not None:
            write_data(self._parameters, _fetched(here.params))
            write_grads(self._parameters, _fetched(here.grads))
            optimizer._state = {
                name: array("d", _fetched(x).tobytes()) for name, x in here.state.items()
            }
            optimizer._steps = here.steps
            self._here = None
        if optimizer._turn is self:
            optimizer._turn = None


class _Made:
    """The step for one program and one shape of arguments, compiled by XLA."""

    def __init__(
        self, step: JaxTrainStep, spec: Specialization, flat: Flat, formula: Formula, args: Any
    ) -> None:
        self._step, self._formula = step, formula
        self._parts = _parts(flat)
        self.lowered = Lowered(spec.program, step._name)
        params = np.array([value.data for value in spec.captured])
        self.lowered.calibrate(params, np.array(flat.numbers))
        self.zeros = step.placed(np.zeros(len(step._parameters)))
        batch, mesh = step._batch, step._mesh
        # What has an axis of examples; the rest serves all of them.
        self._batched = [batch is not None and _is_batched(arg) for arg in args]
        axes = tuple(0 if is_batched else None for is_batched in self._batched)
        run = self._one if batch is None else jax.vmap(self._one, (None, *axes))

        def local(params: Array, others: Array, weights: Array, *args: Any) -> Array:
            """Gradient, loss, failed guards and weight of some examples, in one vector."""

            def total(params: Array) -> tuple[Array, Array]:
                found, failed = run(jnp.concatenate([params, others]), *args)
                return (weights * found).sum(), (weights * failed).sum()

            (loss, failed), slopes = jax.value_and_grad(total, has_aux=True)(params)
            rest = jnp.stack([loss, failed, weights.sum()])
            return jnp.concatenate([slopes, rest.astype(slopes.dtype)])

        self._local = local
        if mesh is not None:
            parts = [
                PartitionSpec(batch) if is_batched else PartitionSpec()
                for is_batched in self._batched
            ]
            specs = (PartitionSpec(), PartitionSpec(), PartitionSpec(batch), *parts)
            self._local = _over(mesh, lambda *xs: lax.psum(local(*xs), batch), specs)
        self._compiled = jax.jit(self._whole)

    def _one(self, params: Array, *args: Any) -> tuple[Array, Array]:
        """Loss and failed guards of one example."""
        lowered, name, numbers = self.lowered, self._step.compiled.__name__, []
        for at, arg in enumerate(args):
            is_batched = self._batched[at]
            found = given_numbers(self._parts[at], arg, f"{name}[{at}]") if is_batched else [arg]
            numbers += found
        leaves = [*lowered.from_vector(params), *lowered.from_numbers(numbers)]
        results, checks = lowered.run(leaves)
        holds = guards_hold(lowered.guards, checks)
        return results[0], 1.0 - holds.astype(lowered.dtype)

    def _whole(
        self,
        params: Array,
        state: tuple[Array, ...],
        settings: Array,
        others: Array,
        weights: Array,
        args: Any,
    ) -> tuple[Any, ...]:
        found = self._local(params, others.astype(params.dtype), weights, *args)
        loss, failed, weight = found[-3], found[-2], found[-1]
        grads = found[:-3] / weight
        columns, numbers = (params, grads, *state), settings.astype(params.dtype)
        new = self._formula.moved(MATH, columns, tuple(numbers))
        # A step with a failed guard is not taken.
        moved = [
            jnp.where(failed > 0, old, jnp.broadcast_to(x, old.shape).astype(old.dtype))
            for old, x in zip((params, *state), new, strict=True)
        ]
        return moved[0], tuple(moved[1:]), grads, loss / weight, failed

    def __call__(
        self, params: Any, state: Any, settings: Any, others: Any, flat: Flat, given: Any
    ) -> Any:
        """Take a step."""
        mesh, batch = self._step._mesh, self._step._batch
        rows = [
            len(arg) for arg, is_batched in zip(given, self._batched, strict=True) if is_batched
        ]
        # JAX gets numbers alone: what else there is, texts and models, is in the program.
        numbers, args, end = np.asarray(flat.numbers, np.float64), [], 0
        for part, arg, is_batched in zip(self._parts, given, self._batched, strict=True):
            start, end = end, end + count_of(part)
            args.append(arg if is_batched else numbers[start:end])
        weights: Any = np.ones(rows[0] if rows else (), params.dtype)
        if mesh is not None:
            local = mesh.local_mesh.shape[batch]
            if rows[0] % local:
                raise ValueError(
                    f"train_step: {rows[0]} examples do not go evenly onto {local} devices. Give a "
                    f"multiple of {local}."
                )
            spread = NamedSharding(mesh, PartitionSpec(batch))
            weights = jax.make_array_from_process_local_data(spread, weights)
            args = [
                jax.make_array_from_process_local_data(spread, np.asarray(arg))
                if is_batched
                else arg
                for arg, is_batched in zip(args, self._batched, strict=True)
            ]
        return self._compiled(params, state, settings, others, weights, args)


def _over(mesh: Any, function: Callable[..., Any], specs: Sequence[Any]) -> Callable[..., Any]:
    """Run a function on each device's part."""
    spread: Callable[..., Any] = jax.shard_map(
        function, mesh=mesh, in_specs=tuple(specs), out_specs=PartitionSpec(), check_vma=False
    )
    return spread


def _refuse() -> float:
    raise RuntimeError(
        "a training step was asked for in the middle of the same one, by the loss or by a signal "
        "handler. A handler may set a flag, to be looked at between steps."
    )


def _formula_after(optimizer: Optimizer, steps: int) -> tuple[Formula, Any, Any]:
    """What the optimiser does next, after so many steps, which it has not been asked to count."""
    turn, optimizer._turn = optimizer._turn, None
    optimizer._steps = steps
    try:
        return optimizer._formula(optimizer.lr)
    finally:
        optimizer._turn = turn


def _fetched(x: Array) -> np.ndarray[Any, np.dtype[np.float64]]:
    local = x.addressable_data(0) if hasattr(x, "addressable_data") else x
    return np.array(local, dtype=np.float64)  # a copy that may be written to


def _is_array(arg: Any) -> bool:
    return hasattr(arg, "shape") and hasattr(arg, "dtype")


def _is_batched(arg: Any) -> bool:
    return _is_array(arg) and np.ndim(arg) > 0


def _parts(flat: Flat) -> list[Any]:
    """The structures of the arguments, by place and then by name."""
    by_place, by_name = flat.key
    if isinstance(by_place, Uniform):
        parts: list[Any] = [by_place.of] * by_place.length
    else:
        parts = list(by_place.parts)
    return parts + [part for _, part, _ in by_name.items] if by_name else parts


def _first(arg: Any) -> Any:
    """The first example of an argument."""
    if not _is_batched(arg):
        return arg
    first = np.asarray(arg.addressable_data(0) if hasattr(arg, "addressable_data") else arg)[0]
    return first if first.ndim else first.item()


def _shapes(args: tuple[Any, ...]) -> tuple[Any, ...]:
    return tuple(map(_is_batched, args))
