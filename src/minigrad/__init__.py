"""minigrad: a scalar autodiff engine. Write scalars. See every gradient. Run at C speed.

>>> from minigrad import Value
>>> a = Value(3.0)
>>> b = a + a
>>> b.backward()
>>> a.grad
2.0
"""

from typing import Any as _Any

from .core.build import load_pure_if_asked as _load_pure_if_asked
from .core.former_names import answer_to_former_names as _answer_to_former_names

_load_pure_if_asked(__name__)  # before anything imports the engine
_answer_to_former_names(__name__)

from . import (
    check,
    lab,
    loss,
    nn,
    optim,
    view,
)
from .calculus.derivatives import (
    grad,
    hessian,
    jacobian,
    jvp,
)
from .calculus.paths import explain
from .calculus.steps import (
    record,
    steps,
)
from .check import (
    diagnose,
    gradcheck,
)
from .checkpoint import (
    load_parameters,
    save_parameters,
)
from .core.modes import no_grad, strict
from .core.parameters import (
    data_of,
    grads_of,
    set_data,
    set_grads,
    zero_grad,
)
from .errors import (
    AuditError,
    BackwardRunningError,
    CheckpointError,
    CycleError,
    ExpressionError,
    GraphvizMissingError,
    GuardError,
    MinigradError,
    NonFiniteError,
    NotDifferentiableError,
    StaleDataError,
    TraceError,
)
from .functions import abs as abs
from .functions import (
    acos,
    asin,
    atan,
    atan2,
    clip,
    cos,
    cosh,
    dot,
    erf,
    erfc,
    exp,
    expm1,
    gelu,
    hypot,
    leaky_relu,
    log,
    log1p,
    log_softmax,
    logsumexp,
    maximum,
    mean,
    minimum,
    relu,
    sigmoid,
    silu,
    sin,
    sinh,
    softmax,
    softplus,
    sqrt,
    take,
    tan,
    tanh,
    where,
)
from .functions import sum as sum
from .lab import broken
from .scalar import (
    Value,
    engine,
)
from .version import __version__
from .view import (
    draw_dot,
    play,
    to_html,
    trace,
)

# What the compiler offers; it loads NumPy, so it is loaded itself when one of these is first asked
# for. Not in __all__: a star import would load it, and `compile` would hide the built-in one.
_COMPILER = ("compile", "train_step", "vmap")


def __getattr__(name: str) -> _Any:
    if name not in _COMPILER:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from .compiler import api as compilation

    for each in _COMPILER:
        globals()[each] = getattr(compilation, each)
    return globals()[name]


# `sum` and `abs` are here too, but a star import must not put them over the built-in ones.
__all__ = [
    "AuditError",
    "BackwardRunningError",
    "CheckpointError",
    "CycleError",
    "ExpressionError",
    "GraphvizMissingError",
    "GuardError",
    "MinigradError",
    "NonFiniteError",
    "NotDifferentiableError",
    "StaleDataError",
    "TraceError",
    "Value",
    "__version__",
    "acos",
    "asin",
    "atan",
    "atan2",
    "broken",
    "check",
    "clip",
    "cos",
    "cosh",
    "data_of",
    "diagnose",
    "dot",
    "draw_dot",
    "engine",
    "erf",
    "erfc",
    "exp",
    "explain",
    "expm1",
    "gelu",
    "grad",
    "gradcheck",
    "grads_of",
    "hessian",
    "hypot",
    "jacobian",
    "jvp",
    "lab",
    "leaky_relu",
    "load_parameters",
    "log",
    "log1p",
    "log_softmax",
    "logsumexp",
    "loss",
    "maximum",
    "mean",
    "minimum",
    "nn",
    "no_grad",
    "optim",
    "play",
    "record",
    "relu",
    "save_parameters",
    "set_data",
    "set_grads",
    "sigmoid",
    "silu",
    "sin",
    "sinh",
    "softmax",
    "softplus",
    "sqrt",
    "steps",
    "strict",
    "take",
    "tan",
    "tanh",
    "to_html",
    "trace",
    "view",
    "where",
    "zero_grad",
]
