"""minigrad: a scalar autodiff engine. Write scalars. See every gradient. Run at C speed.

>>> from minigrad import Value
>>> a = Value(3.0)
>>> b = a + a
>>> b.backward()
>>> a.grad
2.0
"""

import builtins as _builtins
from importlib import import_module as _import_module
from typing import Any as _Any

from .core.elsewhere import PACKAGE as _PACKAGE
from .core.elsewhere import refuse_name as _refuse_name
from .core.former_names import answer_to_former_names as _answer_to_former_names
from .core.native_or_pure import load_pure_if_asked as _load_pure_if_asked
from .core.terminal import spell_instead_of_raising as _spell_instead_of_raising

_spell_instead_of_raising()
_load_pure_if_asked(__name__)  # before anything imports the engine
_answer_to_former_names(__name__)

from . import check, lab, loss, nn, optim, view
from . import errors as _errors
from . import functions as _functions
from .calculus.paths import explain
from .calculus.steps import record, steps
from .calculus.transforms import grad, hessian, jacobian, jvp
from .check import diagnose, gradcheck
from .checkpoint import load_parameters, load_params, save_parameters
from .core.labels import label_locals
from .core.modes import no_grad, strict
from .core.parameters import data_of, grads_of, set_data, set_grads, zero_grad
from .core.scopes import scope
from .errors import *  # noqa: F403 - all that can go wrong
from .fit import fit
from .functions import *  # noqa: F403 - every function of the op table, and those beside it
from .lab import broken
from .scalar import Value, engine
from .training_checkpoint import load_training, save_training
from .version import __version__
from .view import draw_dot, play, save, to_html, trace

# What the compiler offers; it loads NumPy, so it is loaded itself when one of these is first asked
# for. Not in __all__: a star import would load it, and `compile` would hide the built-in one.
_COMPILER = ("compile", "padded", "to_jax", "to_torch", "train_step", "vmap")
# That few want, so that they too are loaded when asked for.
_MODULES = ("datasets", "distributed", "playground", "plot")


def __dir__() -> list[str]:
    """List what there is to use, for `dir` and completion; also what is not loaded yet."""
    special = [name for name in globals() if name.startswith("__")]
    return sorted({*__all__, *_COMPILER, *_MODULES, *_functions.NAMES, *special})


def __getattr__(name: str) -> _Any:
    if name in _MODULES:
        return _import_module(f".{name}", __name__)
    if name not in _COMPILER:
        _refuse_name(__name__, name, __dir__(), _PACKAGE)
    from .compiler import api as compilation

    for each in _COMPILER:
        globals()[each] = getattr(compilation, each)
    return globals()[name]


def load_ipython_extension(shell: _Any) -> None:
    """Give `%%doctor` to a notebook: what `%load_ext minigrad` calls."""
    from .check.doctor import magic

    magic.load(shell)


__all__ = [
    "Value",
    "__version__",
    "broken",
    "check",
    "data_of",
    "diagnose",
    "draw_dot",
    "engine",
    "explain",
    "fit",
    "grad",
    "gradcheck",
    "grads_of",
    "hessian",
    "jacobian",
    "jvp",
    "lab",
    "label_locals",
    "load_parameters",
    "load_params",
    "load_training",
    "loss",
    "nn",
    "no_grad",
    "optim",
    "play",
    "record",
    "save",
    "save_parameters",
    "save_training",
    "scope",
    "set_data",
    "set_grads",
    "steps",
    "strict",
    "to_html",
    "trace",
    "view",
    "zero_grad",
]
__all__ += _errors.__all__
# `sum` and `abs` are here too, but a star import must not put them over the built-in ones.
__all__ += [name for name in _functions.NAMES if not hasattr(_builtins, name)]
__all__.sort()
