"""Scopes: which nodes were made together, in a `scope` block or in one call of a module.

Two ways lead to the same answer, `scope_paths`. A node made inside a block remembers the block. A
call of a module leaves a `Scope` on what it returned, and needs nothing of the nodes between: each
has, in its tag, the count of calls that had begun or ended when it was made (`Node._stamp`), and
was made in the call if that count is between the call's own. So a call costs what one more node
does, and its nodes nothing. Copies and pickles have the labels of their originals, not the scopes.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextvars import ContextVar
from typing import Any

from . import codes
from .blocks import Mode, Setting, innermost
from .node import STAMPS, Scope, clock

__all__ = ["Scope", "call_names", "current_scope", "scope", "scope_paths"]

_scoped: Setting = ContextVar("minigrad_scope", default=None)


def current_scope() -> Scope | None:
    """Return the innermost `scope` block that is open here."""
    found: Scope | None = innermost(_scoped) if _scoped.get() is not None else None
    return found


class scope(Mode):  # noqa: N801 - a block, spelled as the others
    """Nodes made inside this block belong together, under a name: pictures fold them into one box.

    >>> from minigrad import Value
    >>> with scope("attention"):
    ...     weight = Value(2.0) * 3.0
    >>> scope_paths([weight])[id(weight)]
    (Scope('attention'),)
    """

    _setting = _scoped
    _example = '"attention"'

    def __init__(self, name: str) -> None:
        super().__init__()
        if not isinstance(name, str) or not name:
            raise TypeError(
                f"scope(name): got {name if name == '' else type(name).__name__!r}; a name is a "
                'text: with scope("attention"):'
            )
        self._name = name

    @property
    def _on(self) -> Scope:
        """Each opening is a scope of its own."""
        return Scope(self._name, clock.tick(), current_scope())


def scope_paths(order: Sequence[Any]) -> dict[int, tuple[Scope, ...]]:
    """Return the scopes that nodes were made in, outermost first, by the `id` of the node.

    `order` is a topological order, as `graph.topological_order` gives it. Nodes of no scope are not
    in the result. A number (`x * 2`) is where the operation is that it belongs to.
    """
    going_on = _calls_at(order)
    paths: dict[int, tuple[Scope, ...]] = {}
    joined: dict[tuple[int, Scope | None], tuple[Scope, ...]] = {}  # few: nodes are made in groups
    for node in order:
        extras = node._extras
        block = None if extras is None else extras.block
        key = node._stamp, block
        path = joined.get(key)
        if path is None:
            scopes = {*going_on.get(node._stamp, ()), *_outwards(block)}
            path = joined[key] = tuple(sorted(scopes, key=_start))
        if path:
            paths[id(node)] = path
        number = node._shown_number()
        if number is not None:
            paths.pop(id(number), None)
            if path:
                paths[id(number)] = path
    return paths


def call_names(
    order: Sequence[Any], paths: Mapping[int, tuple[Scope, ...]] | None = None
) -> dict[int, str]:
    """Name what modules were given and what they returned, where it has no label, by `id`.

    Inputs of a network are `x0`, `x1`, …, numbers too. What a call returned has its name, as in
    `neuron2`, or is `out` if the call is in no other and returned one Value.
    """
    returned = Counter(call for node in order for call in _calls_of(node))
    if not returned:
        return {}
    paths = scope_paths(order) if paths is None else paths
    products: dict[Scope, list[Any]] = defaultdict(list)
    names: dict[int, str] = {}
    for node in order:
        path = paths.get(id(node), ())
        calls = _calls_of(node)
        if calls:
            outermost = next(scope for scope in path if scope.end >= 0)
            is_whole = calls[-1] is outermost and returned[outermost] == 1
            if is_whole or returned[calls[0]] == 1:
                names[id(node)] = "out" if is_whole else calls[0].name
        if node._code == codes.MUL and path and path[-1].inputs:
            products[path[-1]].append(node)
    for call in sorted(returned, key=_start):
        for k, given in enumerate(call.inputs):
            names.setdefault(id(given), f"x{k}")
    for call, made in products.items():
        if len(made) == len(call.inputs):  # a neuron multiplies its inputs one after the other
            for k, product in enumerate(made):
                names[id(product._shown_number())] = f"x{k}"
    return {id(node): names[id(node)] for node in order if id(node) in names and not node.label}


def _calls_of(node: Any) -> tuple[Scope, ...]:
    return () if node._extras is None else node._extras.calls


def _start(scope: Scope) -> int:
    return scope.start


def _outwards(scope: Scope | None) -> Iterator[Scope]:
    while scope is not None:
        yield scope
        scope = scope.outer


def _calls_at(order: Sequence[Any]) -> dict[int, list[Scope]]:
    """Say for each stamp of these nodes which calls were going on, the outermost first.

    Known are the calls that returned one of the nodes.
    """
    calls = {call for node in order for call in _calls_of(node)}
    going_on: dict[int, list[Scope]] = defaultdict(list)
    if not calls:
        return going_on
    # Stamps begin again some time. They are counts of the time before the last call ended; nodes
    # made later come out very old, and so in no call.
    latest = max(call.end for call in calls)
    stamps = {node._stamp for node in order} - {0}
    counts = sorted(latest - (latest - stamp) % STAMPS for stamp in stamps)
    for call in sorted(calls, key=_start):
        for k in range(bisect_left(counts, call.start), bisect_right(counts, call.end)):
            going_on[counts[k] % STAMPS].append(call)
    return going_on
