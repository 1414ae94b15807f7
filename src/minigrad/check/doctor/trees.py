"""What a class looks like whatever its comments, its layout and its variables are called."""

from __future__ import annotations

import ast
import copy
import hashlib


def digests(text: str) -> dict[str, str]:
    """Return a digest of the tree of each class in a text; of two of one name that of the last."""
    try:
        classes = [n for n in ast.walk(ast.parse(text)) if isinstance(n, ast.ClassDef)]
        return {node.name: _digest(node) for node in classes}
    except (SyntaxError, ValueError, MemoryError, RecursionError, SystemError):
        return {}


def _digest(node: ast.ClassDef) -> str:
    node = copy.deepcopy(node)  # inner classes have digests of their own
    names: dict[str, str] = {}

    def number(name: str) -> str:
        return names.setdefault(name, f"n{len(names)}")

    for inner in ast.walk(node):
        if (
            isinstance(inner, ast.ClassDef | ast.FunctionDef)
            and ast.get_docstring(inner) is not None
        ):
            inner.body = inner.body[1:] or [ast.Pass()]
        if isinstance(inner, ast.FunctionDef):
            inner.returns = None
        elif isinstance(inner, ast.arg):
            inner.annotation = None
    methods = [*node.body]
    for inner in ast.walk(node):
        if isinstance(inner, ast.FunctionDef) and inner not in methods:
            inner.name = number(inner.name)
        elif isinstance(inner, ast.Name):
            inner.id = number(inner.id)
        elif isinstance(inner, ast.arg):
            inner.arg = number(inner.arg)
    return hashlib.sha256(ast.dump(node).encode()).hexdigest()[:16]
