"""`label_locals`: the names of variables as labels, for notebooks and scripts that ask for it."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from typing import Any

from .node import Node

_DEEPEST = 8  # containers in containers that are looked into: one may contain itself
_OF_NOTEBOOKS = ("In", "Out")  # where IPython keeps everything that was ever a result


def label_locals(names: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Label Values by the variables of the caller that hold them; return what was labelled.

    Elements of lists, tuples and dicts too: `w[0]`. What has a label keeps it, and of several
    variables the first one counts; names that begin with `_` do not. `names` is looked at in place
    of the caller's variables: `label_locals({"w": w})`.

    >>> from minigrad import Value
    >>> a, w = Value(2.0), [Value(1.0), Value(3.0)]
    >>> list(label_locals({"a": a, "w": w}))
    ['a', 'w[0]', 'w[1]']
    >>> w[1].label
    'w[1]'
    """
    if names is None:
        variables: Mapping[str, Any] = {
            name: content
            for name, content in sys._getframe(1).f_locals.items()
            if not name.startswith("_") and name not in _OF_NOTEBOOKS
        }
    elif isinstance(names, Mapping):
        variables = names
    else:
        raise TypeError(
            f"label_locals(names): got {type(names).__name__}; give a dict from names to Values, "
            "or nothing for the variables that are here."
        )
    labelled = {}
    for name, content in list(variables.items()):
        for label, node in _inside(str(name), content, 0):
            if not node.label:
                node.label = label
                labelled[label] = node
    return labelled


def _inside(name: str, content: Any, depth: int) -> Iterator[tuple[str, Any]]:
    if isinstance(content, Node):
        yield name, content
    elif depth < _DEEPEST and isinstance(content, (list, tuple, dict)):
        pairs = content.items() if isinstance(content, dict) else enumerate(content)
        for key, element in list(pairs):
            yield from _inside(f"{name}[{key!r}]", element, depth + 1)
