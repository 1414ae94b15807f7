"""Copies and pickles of nodes, without recursion: a chain of a million nodes is one flat list.

A node says what it is made of (`Node._state`) and becomes what a state says (`Node._set_state`);
what is here decides in which order nodes are met. Names that pickles refer to (`_from_state`,
`_last_of`, `_EndOfList`) stay as they are.
"""

from __future__ import annotations

import copy
import threading
import weakref
from collections.abc import Iterable
from operator import methodcaller
from typing import Any

from .blocks import open_blocks
from .graph import topological_order
from .observers import refuse_in_trace

_links = methodcaller("_links")


def copy_of(node: Any) -> Any:
    """Return a node with the same operands."""
    twin = _from_state(type(node), node._state())
    _set_attributes(twin, node._attributes())
    return twin


def deep_copy_of(root: Any, memo: dict[int, Any]) -> Any:
    """Return a copy of the whole graph under a node."""
    # All nodes first, then what users attached to them: that may refer to any of the nodes.
    fresh = [node for node in topological_order(root, _links) if id(node) not in memo]
    for node in fresh:
        memo[id(node)] = _from_state(type(node), _translated(node._state(), memo))
    for node in fresh:
        _set_attributes(memo[id(node)], copy.deepcopy(node._attributes(), memo))
    return memo[id(root)]


def reduced(node: Any) -> Any:
    """Tell pickle how to make a node.

    pickle goes down operand by operand, a stack frame or three for each. So whoever comes first
    hands it a flat list, operands before users, and while that list is being written its members
    describe only themselves: what they refer to is in pickle's memo already.
    """
    attributes = node._attributes()
    state = ((None, attributes),) if attributes else ()
    if _is_being_listed(node):
        return _from_state, (type(node), node._state()), *state
    below = _FlatList(topological_order(node, _links)[:-1])
    if below:
        _pickling.lists.append(weakref.ref(below))
    return _last_of, (below, _EndOfList(below), type(node), node._state()), *state


class _Pickling(threading.local):
    """The flat lists that pickle is writing in this thread, the innermost last."""

    def __init__(self) -> None:
        self.lists: list[weakref.ref[_FlatList]] = []


class _FlatList(list[Any]):
    """Nodes in topological order. It dies with the pickler that writes it, also if that fails."""

    __slots__ = ("__weakref__", "members")

    def __init__(self, nodes: Iterable[Any] = ()) -> None:
        super().__init__(nodes)
        self.members = {id(node) for node in self}

    def __reduce_ex__(self, protocol: Any) -> Any:
        return list, (), None, iter(self)


class _EndOfList:
    """Stands behind a flat list in a pickle; when pickle comes to it, the list is written."""

    def __init__(self, written: _FlatList | None = None) -> None:
        self.written = written

    def __reduce__(self) -> Any:
        _pickling.lists = [known for known in _pickling.lists if known() is not self.written]
        return _EndOfList, ()


_pickling = _Pickling()


def _is_being_listed(node: Any) -> bool:
    if not _pickling.lists:
        return False
    alive = [written for known in _pickling.lists if (written := known()) is not None]
    if len(alive) < len(_pickling.lists):  # left behind by a dump that failed
        _pickling.lists = [weakref.ref(written) for written in alive]
    return any(id(node) in written.members for written in alive)


def _last_of(below: Any, end: Any, kind: type[Any], state: tuple[Any, ...]) -> Any:
    return _from_state(kind, state)


def _from_state(kind: type[Any], state: tuple[Any, ...]) -> Any:
    """Rebuild a node from its state."""
    if open_blocks:
        refuse_in_trace("copies or unpickles a Value")
    node = kind.__new__(kind)  # type: ignore[call-overload]
    node._set_state(state)
    return node


def _translated(state: tuple[Any, ...], memo: dict[int, Any]) -> tuple[Any, ...]:
    """Put the copies of the operands into a state in place of the operands."""
    name, numbers, extra, a, b, operands, prev = state
    a, b = (None if node is None else memo[id(node)] for node in (a, b))
    operands = tuple(memo[id(node)] for node in operands)
    if prev is not None:
        prev = tuple(tuple(memo[id(node)] for node in nodes) for nodes in prev)
    return (name, numbers, extra, a, b, operands, prev)


def _set_attributes(node: Any, attributes: dict[str, Any]) -> None:
    for name, content in attributes.items():
        setattr(node, name, content)
