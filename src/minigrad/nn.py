"""micrograd's neural networks: `Neuron`, `Layer`, `MLP`, with its texts and parameter counts.

Everything is built from single Values, so that every weight of a network can be drawn, stepped
through and explained. Inputs may be Values or plain numbers.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise
from typing import Any, NoReturn

from .core.coerce import as_list, is_nested
from .core.elsewhere import NN, explained, refuse_name
from .core.node import clock
from .functions import gelu, leaky_relu, relu, sigmoid, silu, softplus, tanh
from .modules import Module, notes_its_scope
from .scalar import Value, end_call

__all__ = ["ACTIVATIONS", "MLP", "Layer", "Module", "Neuron"]

# name -> (what the repr of a neuron says, the function)
ACTIVATIONS: dict[str, tuple[str, Callable[[Value], Value]]] = {
    "relu": ("ReLU", relu),
    "tanh": ("Tanh", tanh),
    "sigmoid": ("Sigmoid", sigmoid),
    "gelu": ("GELU", gelu),
    "silu": ("SiLU", silu),
    "softplus": ("Softplus", softplus),
    "leaky_relu": ("LeakyReLU", leaky_relu),
    "linear": ("Linear", lambda x: x),
}


# The same functions as methods, which need not ask what they are given.
_METHODS: dict[Any, Callable[[Value], Value]] = {
    function: getattr(Value, name)
    for name, (_, function) in ACTIVATIONS.items()
    if hasattr(Value, name)
}


class Neuron(Module):
    """A weighted sum of the inputs plus a bias, through an activation.

    Weights are drawn from `rng.uniform(-1, 1)`, by default Python's global generator, as in
    micrograd: after the same `random.seed` both have the same weights.
    """

    @explained("Neuron(2)")
    def __init__(
        self, nin: int, nonlin: bool = True, *, activation: str = "relu", rng: Any = random
    ) -> None:
        _require_sizes([nin], "Neuron(nin)")
        _require_activation("activation", activation)
        if nonlin not in (True, False):
            remedy = f"an activation is given by its name: activation={nonlin!r}"
            if not isinstance(nonlin, str):
                remedy = "several neurons on the same inputs are a Layer(nin, nout)"
            raise TypeError(
                f"Neuron(nin, nonlin): nonlin is True or False, got {nonlin!r}; {remedy}."
            )
        self.w = [Value(rng.uniform(-1, 1)) for _ in range(nin)]
        self.b = Value(0)
        self.nonlin = nonlin and activation != "linear"
        self.activation = activation if nonlin else "linear"

    @notes_its_scope
    def __call__(self, x: Sequence[Any], *more: Any) -> Value:
        count = len(self.w)
        if more:
            _refuse_more(self, x, more)
        if not (type(x) is tuple and len(x) == count and count and type(x[0]) in _SINGLE):
            x = _point(x, count, "Neuron")  # those that a layer gives were looked at
        start = clock.tick()
        total = self.b
        for weight, value in zip(self.w, x, strict=True):
            total = total + weight * value
        activation = ACTIVATIONS[self.activation][1]
        if type(total) is Value:
            activation = _METHODS.get(activation, activation)
        result = activation(total)
        end_call(result, self._scope_name or "Neuron", start, x)
        return result

    def parameters(self) -> list[Value]:
        """Return the weights, then the bias."""
        return [*self.w, self.b]

    def __repr__(self) -> str:
        return f"{ACTIVATIONS[self.activation][0]}Neuron({len(self.w)})"


class Layer(Module):
    """`nout` neurons on the same inputs; a layer of one returns its Value, not a list."""

    @explained("Layer(2, 3, activation='tanh')")
    def __init__(self, nin: int, nout: int, **neuron_options: Any) -> None:
        _require_sizes([nin, nout], "Layer(nin, nout)")
        self.neurons = [Neuron(nin, **neuron_options) for _ in range(nout)]

    @notes_its_scope
    def __call__(self, x: Sequence[Any], *more: Any) -> Any:
        if more:
            _refuse_more(self, x, more)
        x = _point(x, len(self.neurons[0].w), "Layer")
        start = clock.tick()
        outputs = [neuron(x) for neuron in self.neurons]
        end_call(outputs, self._scope_name or "Layer", start, x)
        return outputs[0] if len(outputs) == 1 else outputs

    def parameters(self) -> list[Value]:
        """Return the parameters of the neurons, one neuron after the other."""
        return [parameter for neuron in self.neurons for parameter in neuron.parameters()]

    def __repr__(self) -> str:
        return f"Layer of [{', '.join(map(repr, self.neurons))}]"

    def _told(self) -> str:
        kinds = Counter(map(repr, self.neurons))
        return ", ".join(f"{count} × {kind}" for kind, count in kinds.items())


class MLP(Module):
    """A multi-layer perceptron: `MLP(2, [16, 16, 1])` has 337 parameters.

    As in the micrograd package, layers are ReLU and the last one is linear. The network of the
    lecture has tanh everywhere: `activation="tanh", output="tanh"`. `seed` makes the initial
    weights reproducible whatever else uses Python's generator.
    """

    @explained("MLP(2, [16, 16, 1])")
    def __init__(
        self,
        nin: int,
        nouts: Sequence[int],
        *more: int,
        activation: str = "relu",
        output: str = "linear",
        seed: int | None = None,
    ) -> None:
        if more or not isinstance(nouts, Iterable):
            given = [nouts, *more] if not isinstance(nouts, Iterable) else [*nouts, *more]
            raise TypeError(
                f"MLP(nin, nouts): the sizes of the layers are one list: MLP({nin}, {given})."
            )
        sizes = [nin, *as_list(nouts, "MLP(nin, nouts)")]
        _require_sizes(sizes, "MLP(nin, nouts)")
        _require_activation("activation", activation)
        _require_activation("output", output)
        if len(sizes) < 2:
            raise ValueError(
                "MLP(nin, nouts): nouts is empty; give the size of at least one layer."
            )
        rng = random if seed is None else random.Random(seed)
        last = len(sizes) - 2
        self.layers = [
            Layer(size, following, activation=output if k == last else activation, rng=rng)
            for k, (size, following) in enumerate(pairwise(sizes))
        ]

    @notes_its_scope
    def __call__(self, x: Sequence[Any], *more: Any) -> Any:
        if more:
            _refuse_more(self, x, more)
        outputs: Any = _point(x, len(self.layers[0].neurons[0].w), "MLP")
        inputs, start = outputs, clock.tick()
        for k, layer in enumerate(self.layers):
            if k and isinstance(outputs, Value):  # the layer before has one neuron
                outputs = [outputs]
            outputs = layer(outputs)
        end_call(outputs, self._scope_name or "MLP", start, inputs)
        return outputs

    def parameters(self) -> list[Value]:
        """Return the parameters of the layers, first layer first."""
        return [parameter for layer in self.layers for parameter in layer.parameters()]

    def __repr__(self) -> str:
        return f"MLP of [{', '.join(map(repr, self.layers))}]"


def __dir__() -> list[str]:
    return sorted(__all__)  # what completion is to show


def __getattr__(name: str) -> Any:
    refuse_name(__name__, name, __all__, NN)


_SINGLE = frozenset([Value, float, int])  # what inputs nearly always are


def _refuse_more(model: Module, x: Any, more: tuple[Any, ...]) -> NoReturn:
    call = f"{type(model).__name__}(x)"
    if is_nested(x):
        raise TypeError(
            f"{call}: got {1 + len(more)} points; it takes one at a time: "
            "[model(point) for point in points]."
        )
    raise TypeError(
        f"{call}: got {1 + len(more)} arguments; the inputs are one list: model([1, 2])."
    )


def _point(x: Any, count: int, model: str) -> tuple[Any, ...]:
    """Return the inputs of a model: so many numbers, of one point."""
    kind = type(x)
    found = tuple(x) if kind is tuple or kind is list else tuple(as_list(x, f"{model}(x)"))
    if len(found) == count and count and type(found[0]) in _SINGLE:
        return found
    if found and is_nested(found[0]):
        raise TypeError(
            f"{model}(x): got a list of {len(found)} points; it takes one at a time: "
            "[model(point) for point in points]."
        )
    if len(found) != count:
        inputs = "1 input" if count == 1 else f"{count} inputs"
        raise ValueError(
            f"{model}(x): this {model} takes {inputs}, got {len(found)}; give a list of {count}."
        )
    return found


def _require_activation(what: str, name: Any) -> None:
    if not isinstance(name, str) or name not in ACTIVATIONS:
        got = repr(name) if isinstance(name, str) else getattr(name, "__name__", repr(name))
        raise ValueError(
            f"{what}={got}: there is no such activation; give the name of one, as a text: "
            f"{', '.join(map(repr, ACTIVATIONS))}."
        )


def _require_sizes(sizes: Sequence[int], what: str) -> None:
    for size in sizes:
        if not hasattr(size, "__index__") or size < 1:
            raise ValueError(f"{what}: a size is a whole number from 1 on, got {size!r}.")
