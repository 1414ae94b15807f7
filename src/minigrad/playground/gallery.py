"""Examples to begin with: what each shows is said in the page's language."""

from __future__ import annotations

from typing import Any, NamedTuple

from .request import Request


class Example(NamedTuple):
    """An example: what it is called and shows, and where it opens."""

    name: str
    title: dict[str, str]
    text: str
    values: dict[str, float]
    kind: str = "expression"
    fault: str = ""


_MLP = """from minigrad.nn import MLP

model = MLP(2, [4, 1], seed=1)
out = model([1.0, -0.5])
out
"""

EXAMPLES = (
    Example("diamond", {"en": "Diamond: a and c are used twice", "es": "Diamante: a y c se usan "
            "dos veces"}, "(a*b + c) * (a - c)", {"a": 2.0, "b": 3.0, "c": 4.0}),
    Example("neuron", {"en": "The neuron of the lecture", "es": "La neurona de la lección"},
            "n = x1*w1 + x2*w2 + b\no = tanh(n)",
            {"x1": 2.0, "w1": -3.0, "x2": 0.0, "w2": 1.0, "b": 6.881373587019543}),
    Example("twice", {"en": "Bug one: a + a, with = instead of +=",
                      "es": "Error uno: a + a, con = en lugar de +="},
            "a + a", {"a": 3.0}, fault="overwrite"),
    Example("shared", {"en": "Bug two: a*b and a + b share both, with = instead of +=",
                       "es": "Error dos: a*b y a + b comparten ambas, con = en lugar de +="},
            "d = a*b\ne = a + b\nf = d*e", {"a": -2.0, "b": 3.0}, fault="overwrite"),
    Example("mlp neuron", {"en": "One neuron of an MLP, with ReLU",
                           "es": "Una neurona de un MLP, con ReLU"},
            "relu(w0*x0 + w1*x1 + b)", {"w0": 0.5, "x0": 1.0, "w1": -1.5, "x1": -0.5, "b": 0.25}),
    Example("softmax", {"en": "Softmax and its loss", "es": "Softmax y su pérdida"},
            "p = softmax(a, b, c)\nloss = -ln(p[0])", {"a": 2.0, "b": 1.0, "c": 0.5}),
    Example("saturated", {"en": "A saturated tanh: the gradient dies",
                          "es": "Una tanh saturada: el gradiente muere"},
            "tanh(x*w)", {"x": 5.0, "w": 4.0}),
    Example("power", {"en": "a**b, by both", "es": "a**b, respecto de ambas"},
            "a**b", {"a": 2.0, "b": 3.0}),
    Example("rosenbrock", {"en": "Rosenbrock's valley", "es": "El valle de Rosenbrock"},
            "(1 - x)**2 + 100*(y - x**2)**2", {"x": -1.0, "y": 2.0}),
    Example("mlp", {"en": "A whole MLP(2, [4, 1]), in Python",
                    "es": "Un MLP(2, [4, 1]) entero, en Python"}, _MLP, {}, "python"),
)  # fmt: skip


def listed(request: Request) -> dict[str, Any]:
    """List the examples."""
    return {
        "examples": [
            {**example._asdict(), "title": example.title[request.lang]} for example in EXAMPLES
        ]
    }
