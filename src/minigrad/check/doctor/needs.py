"""Which statements of a file its definitions need: those that are loaded where not all can be."""

from __future__ import annotations

import ast
from collections.abc import Iterator

DEFINITIONS = (
    ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Import, ast.ImportFrom,
)  # fmt: skip
BLOCKS = (ast.If, ast.Try, ast.With, ast.For, ast.While)
CALLS = (ast.Call, ast.Await, ast.ListComp, ast.GeneratorExp, ast.DictComp, ast.SetComp)


class Needs:
    """The names that a file's functions and classes use, and its classes."""

    def __init__(self, tree: ast.Module) -> None:
        defined = [node for node in ast.walk(tree) if isinstance(node, DEFINITIONS)]
        self.classes = {node.name for node in defined if isinstance(node, ast.ClassDef)}
        self.names = {
            name.id
            for node in tree.body
            if isinstance(node, DEFINITIONS)
            for name in ast.walk(node)
            if isinstance(name, ast.Name)
        }

    def wants(self, node: ast.stmt) -> bool:
        """Whether a statement defines something, or may set what a definition uses."""
        if isinstance(node, DEFINITIONS):
            return True
        if isinstance(node, ast.Assign | ast.AnnAssign | ast.AugAssign):
            return self._sets(node)
        if isinstance(node, BLOCKS):
            return any(
                isinstance(inner, DEFINITIONS) or self._patches(inner) for inner in _inner(node)
            )
        return self._patches(node) or (
            isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        )

    def _sets(self, node: ast.Assign | ast.AnnAssign | ast.AugAssign) -> bool:
        if self._patches(node) or node.value is None:
            return True
        if not any(isinstance(inner, CALLS) for inner in ast.walk(node.value)):
            return True
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        set_ = {n.id for t in targets for n in ast.walk(t) if isinstance(n, ast.Name)}
        return bool(set_ & self.names)

    def _patches(self, node: ast.stmt) -> bool:
        """Whether a statement sets an attribute of a class."""
        if isinstance(node, ast.Assign):
            return any(
                isinstance(t, ast.Attribute)
                and isinstance(t.value, ast.Name)
                and (t.value.id in self.classes or t.value.id[:1].isupper())
                for target in node.targets
                for t in ast.walk(target)
            )
        call = node.value if isinstance(node, ast.Expr) else None
        return (
            isinstance(call, ast.Call)
            and isinstance(call.func, ast.Name)
            and call.func.id == "setattr"
        )


def has_imports(node: ast.stmt) -> bool:
    """Whether a block imports something."""
    return isinstance(node, BLOCKS) and any(
        isinstance(inner, ast.Import | ast.ImportFrom) for inner in _inner(node)
    )


def _inner(node: ast.stmt) -> Iterator[ast.stmt]:
    """Yield the statements in a block, those in its functions and classes excepted."""
    for inner in ast.iter_child_nodes(node):
        parts = [inner] if isinstance(inner, ast.stmt) else list(ast.iter_child_nodes(inner))
        for part in parts:
            if isinstance(part, ast.stmt):
                yield part
                if not isinstance(part, DEFINITIONS):
                    yield from _inner(part)
