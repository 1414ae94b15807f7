"""The reference of the API, docs/api/: what the docstrings say, as pages of Markdown.

Signatures and texts are read from the source files and not from the imported package, so that the
pages are the same whichever engine runs. `PAGES` says what stands where; a test asks that every
public name stands somewhere. Examples become fences, which the tests run once more.
"""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

SOURCE = Path(__file__).resolve().parent.parent / "src" / "minigrad"
_Definition = ast.FunctionDef | ast.ClassDef
WIDE = 88  # columns; a signature that is longer is broken


class Part(NamedTuple):
    """Names of one module; `where` is how a user reaches them."""

    module: str
    names: tuple[str, ...]
    where: str = "minigrad"


class Page(NamedTuple):
    """A page: title, introduction, what is on it, and what its examples need."""

    title: str
    about: str
    parts: tuple[Part, ...]
    imports: str = ""


PAGES = {
    "values": Page(
        "Values",
        "The number that remembers, and what one does with many of them. Its operations, and the "
        "functions of the same names (`minigrad.tanh(x)`), are in [all operations](../ops.md); "
        "the guide is [the engine](../engine.md).",
        (
            Part("scalar", ("Value", "engine")),
            Part("core.modes", ("no_grad", "strict")),
            Part("core.scopes", ("scope",)),
            Part("core.labels", ("label_locals",)),
            Part(
                "core.parameters", ("data_of", "grads_of", "set_data", "set_grads", "zero_grad")
            ),
        ),
        "from minigrad import Value, label_locals, no_grad, scope\n"
        "from minigrad.core.scopes import scope_paths",
    ),
    "derivatives": Page(
        "Derivatives",
        "Of all orders, explained, step by step, and checked.",
        (
            Part("calculus.transforms", ("grad", "hessian", "jacobian", "jvp")),
            Part("calculus.paths", ("explain",)),
            Part("calculus.steps", ("steps", "record")),
            Part("check.gradcheck", ("gradcheck",)),
            Part("check.doctor", ("diagnose",)),
            Part("lab.broken", ("broken",)),
        ),
        "from minigrad import Value, broken, grad, gradcheck, hessian, jacobian, jvp",
    ),
    "networks": Page(
        "Networks and training",
        "micrograd's networks, losses, optimisers; [training in one line](../training.md).",
        (
            Part("modules", ("Module",), "minigrad.nn"),
            Part("nn", ("Neuron", "Layer", "MLP"), "minigrad.nn"),
            Part(
                "loss",
                ("binary_cross_entropy", "cross_entropy", "hinge", "l2", "mse"),
                "minigrad.loss",
            ),
            Part(
                "optim",
                ("Optimizer", "SGD", "Adam", "AdamW", "clip_grad_norm",
                 "clip_grad_value", "cosine", "exponential", "linear", "stepwise", "warmup"),
                "minigrad.optim",
            ),
            Part("fit", ("fit",)),
            Part("history", ("History",), "minigrad.history"),
            Part(
                "datasets", ("circles", "moons", "names", "spiral", "xor"), "minigrad.datasets"
            ),
            Part("checkpoint", ("save_parameters", "load_parameters", "load_params")),
            Part("training_checkpoint", ("save_training", "load_training")),
            Part(
                "plot",
                ("decision_boundary", "gradient_histogram", "loss_curve"),
                "minigrad.plot",
            ),
        ),
        "from minigrad import Value\nfrom minigrad.nn import Module",
    ),
    "compiler": Page(
        "The compiler and many machines",
        "How they work together is in [the compiler](../compiler.md) and in "
        "[beyond one machine](../scaling.md).",
        (
            Part("compiler.api", ("compile", "to_jax", "to_torch")),
            Part("compiler.vmap", ("vmap",)),
            Part("compiler.train", ("train_step",)),
            Part("compiler.padding", ("padded",)),
            Part(
                "distributed",
                ("initialize", "is_first", "local_rows", "mesh", "processes", "rank"),
                "minigrad.distributed",
            ),
        ),
    ),
    "pictures": Page(
        "Pictures and pages",
        "The guide is [seeing gradients](../seeing.md).",
        (
            Part("view", ("draw_dot", "trace", "play", "to_html", "save")),
            Part(
                "view",
                ("to_svg", "to_png", "to_text", "to_json", "Player", "player_element",
                 "player_payload", "player_script"),
                "minigrad.view",
            ),
        ),
    ),
    "errors": Page(
        "Errors",
        "All of them are `MinigradError`s, and most are also what Python would raise: a "
        "`ValueError`, an `ArithmeticError`.",
        (
            Part(
                "errors",
                ("MinigradError", "AuditError", "BackwardRunningError", "CheckpointError",
                 "CycleError", "ExpressionError", "GraphvizMissingError", "GuardError",
                 "NonFiniteError", "NotDifferentiableError", "OverwriteError", "StaleDataError",
                 "TraceError"),
            ),
        ),
    ),
}  # fmt: skip


@cache
def _module(name: str) -> ast.Module:
    path = SOURCE / f"{name.replace('.', '/')}.py"
    if not path.is_file():
        path = SOURCE / name.replace(".", "/") / "__init__.py"
    return ast.parse(path.read_text(encoding="utf-8"))


def definition(module: str, name: str) -> _Definition:
    """Find a function or a class of a module."""
    for node in _module(module).body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef) and node.name == name:
            return node
    raise LookupError(f"minigrad.{module} defines no {name}; see PAGES in book/api.py.")


def signature(node: _Definition, where: str) -> str:
    """Write how it is called."""
    if isinstance(node, ast.FunctionDef):
        return f"{where}{node.name}({_arguments(node)})"
    making = next((m for m in _methods(node) if m.name in ("__init__", "__new__")), None)
    return f"{where}{node.name}({_arguments(making, 1) if making else ''})"


def _arguments(node: ast.FunctionDef, skipped: int = 0) -> str:
    """Write the parameters without their types, which the text tells."""
    given = node.args
    for each in (*given.posonlyargs, *given.args, *given.kwonlyargs, given.vararg, given.kwarg):
        if each is not None:
            each.annotation = None
    text = ast.unparse(given)
    return text.split(", ", 1)[1] if skipped and ", " in text else "" if skipped else text


def _methods(node: ast.ClassDef) -> Iterator[ast.FunctionDef]:
    return (each for each in node.body if isinstance(each, ast.FunctionDef))


def body(text: str) -> str:
    """Return a docstring as Markdown: its examples become fences."""
    blocks = re.split(r"\n\s*\n", inspect.cleandoc(text))
    found = []
    for block in blocks:
        if block.lstrip().startswith(">>>"):
            found.append(f"```pycon\n{inspect.cleandoc(block)}\n\n```")
        else:
            found.append(block)
    return "\n\n".join(found)


def entry(node: _Definition, where: str) -> Iterator[str]:
    """Write a name: how it is called, and what its docstring says; of a class its methods, too."""
    yield f"\n## {node.name}\n"
    yield f"`{signature(node, f'{where}.')}`\n"
    yield body(ast.get_docstring(node) or "") + "\n"
    if not isinstance(node, ast.ClassDef):
        return
    for method in _methods(node):
        told = ast.get_docstring(method)
        if method.name.startswith("_") or not told or _is_operation(method):
            continue
        name = f"{method.name}({_arguments(method, 1)})"
        if any(ast.unparse(each) == "property" for each in method.decorator_list):
            name = method.name
        yield f"- **`.{name}`**: {' '.join(told.split())}"
    yield ""


def _is_operation(method: ast.FunctionDef) -> bool:
    """Whether it is a method of Value that the reference of operations tells of."""
    return bool(
        re.match(r"Return .* Derivative: ", " ".join((ast.get_docstring(method) or "").split()))
    )


def page_of(name: str) -> str:
    """Return a page."""
    page = PAGES[name]
    parts = [
        f"# {page.title}\n",
        page.about,
        "Made from the docstrings by `python docs/generate.py`.",
    ]
    if page.imports:
        parts.append(f"\n```python\n{page.imports}\n```")
    for part in page.parts:
        for each in part.names:
            parts += entry(definition(part.module, each), part.where)
    return re.sub(r"\n{3,}", "\n\n", "\n".join(parts)).rstrip() + "\n"


def pages() -> dict[str, str]:
    """Return all pages by file name."""
    return {f"{name}.md": page_of(name) for name in PAGES}
