"""The line in somebody's file where a fault most likely sits; the file is read as a tree."""

from __future__ import annotations

import ast
from collections.abc import Iterator

__all__ = ["likely_line"]

NAMES = {
    "init": ("__init__",),
    "add": ("__add__", "add"),
    "mul": ("__mul__", "mul"),
    "div": ("__truediv__", "div"),
    "pow": ("__pow__", "pow"),
    "tanh": ("tanh",),
    "exp": ("exp",),
    "log": ("log",),
    "relu": ("relu",),
    "backward": ("backward", "backprop", "backpropagate"),
}
GRADS = ("grad", "derivative", "gradient")
HARMLESS = ("__init__", "zero_grad", "backward", "backprop")


def likely_line(text: str, where: str) -> tuple[int | None, str]:
    """Return the line and its text; None where nothing fits."""
    try:
        tree = ast.parse(text)
    except SyntaxError:
        return None, ""
    line = _line(tree, where)
    return (line, text.splitlines()[line - 1]) if line is not None else (None, "")


def _line(tree: ast.Module, where: str) -> int | None:
    if where == "class":
        return next((n.lineno for n in ast.walk(tree) if isinstance(n, ast.ClassDef)), None)
    if where == "assign":
        for function in _functions(tree):
            if function.name not in HARMLESS:
                for node in ast.walk(function):
                    if isinstance(node, ast.Assign) and _sets_grad(node):
                        return node.lineno
        return None
    for function in _functions(tree):
        if function.name in NAMES.get(where, ()):
            if where in ("backward", "init"):
                return function.lineno
            inside = [
                node.lineno
                for node in ast.walk(function)
                if isinstance(node, ast.Assign | ast.AugAssign) and _touches_grad(node)
            ]
            return min(inside, default=function.lineno)
    return None


def _functions(tree: ast.Module) -> Iterator[ast.FunctionDef]:
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef):
            yield node


def _sets_grad(node: ast.Assign) -> bool:
    return any(isinstance(t, ast.Attribute) and t.attr in GRADS for t in node.targets)


def _touches_grad(node: ast.Assign | ast.AugAssign) -> bool:
    if isinstance(node, ast.AugAssign):
        return isinstance(node.target, ast.Attribute) and node.target.attr in GRADS
    return _sets_grad(node)
