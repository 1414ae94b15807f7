"""The line in somebody's file where a fault most likely sits; the file is read as a tree."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from .dialect import BACKWARD, GRAD, NAMES, SPECIAL

__all__ = ["likely_line"]

HARMLESS = ("__init__", "zero_grad", *BACKWARD)


def likely_line(text: str, where: str, cls: str = "") -> tuple[int | None, str]:
    """Return the line and its text, inside the class if there is one; None where nothing fits."""
    try:
        tree: ast.AST = ast.parse(text)
    except (SyntaxError, ValueError):
        return None, ""
    classes = [n for n in ast.walk(tree) if isinstance(n, ast.ClassDef) and n.name == cls]
    line = next(filter(None, (_line(place, where) for place in [*classes, tree])), None)
    return (line, text.splitlines()[line - 1]) if line is not None else (None, "")


def _line(tree: ast.AST, where: str) -> int | None:
    if where == "class":
        return next((n.lineno for n in ast.walk(tree) if isinstance(n, ast.ClassDef)), None)
    if where == "assign":  # in a function inside of a function: a rule
        for outer in _functions(tree):
            for function in _functions(outer):
                if function is not outer and outer.name not in HARMLESS:
                    for node in ast.walk(function):
                        if isinstance(node, ast.Assign) and _sets_grad(node):
                            return node.lineno
        return None
    for function in _functions(tree):
        if function.name in _names(where):
            if where in ("backward", "init"):
                return function.lineno
            inside = [
                node.lineno
                for node in ast.walk(function)
                if isinstance(node, ast.Assign | ast.AugAssign) and _touches_grad(node)
            ]
            return min(inside, default=function.lineno)
    return None


def _names(where: str) -> tuple[str, ...]:
    """What the function may be called: tanh, __add__ or add, backward or backprop, __init__."""
    if where == "backward":
        return BACKWARD
    return (*NAMES.get(where, ()), *SPECIAL.get(where, ())[:1], f"__{where}__")


def _functions(tree: ast.AST) -> Iterator[ast.FunctionDef]:
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef):
            yield node


def _sets_grad(node: ast.Assign) -> bool:
    return any(isinstance(t, ast.Attribute) and t.attr in GRAD for t in node.targets)


def _touches_grad(node: ast.Assign | ast.AugAssign) -> bool:
    if isinstance(node, ast.AugAssign):
        return isinstance(node.target, ast.Attribute) and node.target.attr in GRAD
    return _sets_grad(node)
