"""The backward pass: gradients from a node to everything under it.

`_pass_back` is all of it, where nothing else is asked for. The rest of this module finds the order
(`_postorder`), runs hand-written steps, lets others watch or replace a pass, and makes passes take
turns. A pass works its gradients out in a buffer apart from the nodes, which get them when it is
over, all at once: whatever interrupts it and whoever looks meanwhile, a `.grad` is as before or
complete.
"""

from __future__ import annotations

import threading
import time
from array import array
from collections.abc import Callable, Iterable
from contextlib import suppress
from contextvars import copy_context
from typing import Any, NoReturn

from ..errors import BackwardRunningError, CycleError
from . import cython_shim as cython
from . import strict as strict_checks
from .blocks import open_blocks
from .flow import is_flowing, with_flow
from .graph import cycle_message, topological_order
from .modes import in_strict
from .node import IS_SPECIAL, Gradients, Node
from .observers import current_watchers, refuse_in_trace, replaced_pass
from .turns import PAUSE, Turns, in_child
from .writeback import flush_writebacks, writebacks

if False:  # for the compiler, which reads the next line; nobody runs it
    import cython  # type: ignore

if not cython.compiled:
    from .cython_shim import (
        add_products,
        add_to_leaves,
        new_buffer,
        numbers_in,
        plain_pass,
        set_at_once,
    )

    _this_thread = threading.get_ident


def _pass_back(order: list[Node], buffer: Any) -> None:
    """The chain rule: a node passes its gradient, times a local derivative, to each operand.

    For the native engine and graphs whose nodes have two operands at most: it adds to `.grad` as it
    goes, which is right only if nothing can come in between.
    """
    flow = numbers_in(buffer)
    count = len(order)
    for node in reversed(order):  # operands come before their users: every user has had its turn
        count -= 1
        grad = flow[count]
        node._grad += grad
        if node._a is not None:
            flow[node._a._place] += node._da * grad
        if node._b is not None:
            flow[node._b._place] += node._db * grad


def _run_steps(order: list[Node], buffer: Any, count: int, by_hand: bool) -> int:
    """The same for any graph, into the buffer alone: nodes get their gradients when all is over.

    Of the first `count` nodes; returns how many are left at a step that was written `by_hand`.
    """
    is_special = IS_SPECIAL
    flow = numbers_in(buffer)
    root = order[len(order) - 1]
    done = root._mark
    for node in reversed(order if count == len(order) else order[:count]):
        count -= 1
        grad = flow[count]
        if node._tag & is_special:
            extras: Any = node._extras
            if extras.custom_backward is not None:
                if not by_hand:
                    return count + 1
                run_by_hand(node, extras.custom_backward)
                continue
            if extras.prev is None and type(extras.partials) is array:
                add_products(extras.operands, extras.partials, grad, flow)
                continue
            if extras.prev is not None or extras.operands:
                for operand, partial in _rules(node):
                    if operand._mark == done:
                        flow[operand._place] += partial * grad
                    else:  # a hand-written step has just put it there
                        operand.grad = operand.grad + partial * grad
                continue
        a = node._a
        if a is not None:
            flow[a._place] += node._da * grad
        b = node._b
        if b is not None:
            flow[b._place] += node._db * grad
    return 0


# ---- a pass, whole -----------------------------------------------------------------------------


def add_gradients(root: Node) -> None:
    """The backward pass."""
    watchers = current_watchers() if open_blocks else []
    replacement = replaced_pass() if open_blocks else None
    if watchers or replacement is not None:
        topological_order(root)  # numbers (`x * 2`) appear as leaves, and take part
    elif cython.compiled and not open_blocks and (_passed_to_leaves(root) or _passed_plainly(root)):
        return
    order = _postorder(root)
    buffer = _seeded(order)
    if replacement is not None:
        flow = Gradients(root._mark, buffer)
        with_flow(flow, _replaced_pass, replacement, order, _nonzero(order), watchers)
        _set_gradients(order, buffer, False)
        return
    if cython.compiled and _is_plain and not open_blocks:
        _pass_back(order, buffer)  # all in C, so nothing comes in between
        return
    _run_pass(order, buffer, watchers, True)
    _set_gradients(order, buffer, True)


def _passed_to_leaves(root: Node) -> bool:
    """The whole pass, if the root is a compiled function's result that depends on leaves alone.

    That is every step of a training loop. It is all in C, so nothing comes in between.
    """
    global _epoch
    extras: Any = root._extras
    if not root._tag & IS_SPECIAL or extras.prev is not None or type(extras.partials) is not array:
        return False
    _epoch += 4
    root._mark = _epoch + 3
    return bool(add_to_leaves(root, extras.operands, extras.partials))


def _passed_plainly(root: Node) -> bool:
    """The whole pass, if all nodes have two operands at most, as those of the latest pass had.

    `native/nodes/pass.h` does what `_postorder` and `_pass_back` do, without a list of the nodes.
    """
    global _epoch
    if not _is_plain:  # it would be given up half-way
        return False
    _epoch += 4
    return bool(plain_pass(root, _epoch, IS_SPECIAL))


def _seeded(order: list[Node]) -> Any:
    """Make the buffer of gradients of a pass: 1 for the root, which is last, 0 for all others."""
    count = len(order)
    buffer = new_buffer(count)
    flow = numbers_in(buffer)
    flow[count - 1] = 1.0
    return buffer


def _run_pass(order: list[Node], buffer: Any, watchers: list[Any], ends: bool) -> None:
    """Run the steps of a pass; watchers hear of each, and at its end of what was left before."""
    root = order[len(order) - 1]
    if watchers or (open_blocks and in_strict()):
        previous_grads = _nonzero(order) if ends else None
        with_flow(Gradients(root._mark, buffer), _observed_pass, order, previous_grads, watchers)
        return
    left = _run_steps(order, buffer, len(order), False)
    if left:
        rest = _Rest()
        rest.order, rest.buffer, rest.count = order, buffer, left
        with_flow(Gradients(root._mark, buffer), rest)


@cython.final
@cython.cclass
class _Rest:
    """What is left of a pass from the first hand-written step on."""

    order: list[Node] | None
    buffer: Any
    count: int

    def __call__(self) -> None:
        if self.order is not None:
            _run_steps(self.order, self.buffer, self.count, True)


def _rules(node: Node) -> Iterable[tuple[Any, float]]:
    """Pair the operands that a node passes gradients on to with its local derivatives."""
    extras: Any = node._extras
    if extras is not None and extras.prev is None and node._a is None and node._b is None:
        return zip(extras.operands, extras.partials, strict=True) if extras.partials else ()
    return node._links_and_partials()


def _set_gradients(order: list[Node], buffer: Any, adds: bool) -> None:
    """Give the nodes the gradients of a pass, in one go: added to those they have, or instead."""
    flow = numbers_in(buffer)
    if open_blocks and is_flowing():  # somebody holds grads apart from the nodes, perhaps of these
        for node in order:
            node.grad = node.grad + flow[node._place] if adds else flow[node._place]
    elif cython.compiled:
        for k, node in enumerate(order):
            node._grad = node._grad + flow[k] if adds else flow[k]
    else:
        sums = [node._grad + number for node, number in zip(order, flow, strict=True)]
        set_at_once(order, "_grad", sums if adds else flow)


def zero_gradients(root: Node) -> None:
    """Set the gradients of all nodes under a root to 0."""
    order = _postorder(root)
    _set_gradients(order, new_buffer(len(order)), False)


def gradients(root: Node, inputs: Iterable[Node], watchers: Any = ()) -> list[float]:
    """Return the derivatives of `root` with respect to `inputs`, and leave every `.grad` alone.

    Because it leaves no trace, a `record()` around it does not hear of it; `watchers` does.
    """
    if open_blocks:
        refuse_in_trace("asks for gradients")
    found: list[float] = in_turn(_gradients, root, inputs, list(watchers), False)[0]
    return found


def gradients_and_scale(root: Node, inputs: Iterable[Node]) -> tuple[list[float], float]:
    """Return the same, and what rounding errors of the root are relative to.

    That is the sum over all nodes of what would become of an error as large as the node.
    """
    if open_blocks:
        refuse_in_trace("asks for gradients")
    found: tuple[list[float], float] = in_turn(_gradients, root, inputs, [], True)
    return found


def _gradients(
    root: Node, inputs: Iterable[Node], watchers: list[Any], with_scale: bool
) -> tuple[list[float], float]:
    if watchers:
        topological_order(root)  # as in a pass that others watch
    order = _postorder(root)
    buffer = _seeded(order)
    _run_pass(order, buffer, watchers, False)
    flow = numbers_in(buffer)
    found = []
    for node in inputs:  # whoever has the root's mark took part in the pass
        found.append(flow[node._place] if node._mark == root._mark else 0.0)  # noqa: PERF401
    return found, _scale(order, buffer) if with_scale else 0.0


def _scale(order: list[Node], buffer: Any) -> float:
    flow = numbers_in(buffer)
    total = 0.0
    for k, node in enumerate(order):
        part = flow[k] * node._data
        total += part if part > 0.0 else -part
    return total


def _set_all(nodes: list[Node], grads: list[float]) -> None:
    """Set grads, all or none; where they are held apart, there."""
    if open_blocks and is_flowing():
        for node, grad in zip(nodes, grads, strict=True):
            node.grad = grad
    else:
        set_at_once(nodes, "_grad", grads)


# ---- steps that others see ---------------------------------------------------------------------


def _nonzero(order: list[Node]) -> list[tuple[Node, float]]:
    """Pair nodes with what earlier passes have left in their grads."""
    return [(node, node.grad) for node in order if node.grad != 0.0]


def _observed_pass(
    order: list[Node], previous_grads: list[tuple[Node, float]] | None, watchers: list[Any]
) -> None:
    for watcher in watchers:
        watcher.started(order[len(order) - 1])
    for node in reversed(order):
        observed_step(node, True, watchers)
    if previous_grads is not None:
        for watcher in watchers:
            watcher.finished(previous_grads)


def _replaced_pass(
    replacement: Any,
    order: list[Node],
    previous_grads: list[tuple[Node, float]],
    watchers: list[Any],
) -> None:
    """Have somebody else do the work; see `observers.Pass`."""
    for watcher in watchers:
        watcher.started(order[len(order) - 1])
    kept = replacement(order, previous_grads, watchers)
    for watcher in watchers:
        watcher.finished(kept)
    for node, grad in kept:
        node.grad = node.grad + grad


def run_by_hand(node: Node, custom_backward: Callable[[], Any]) -> None:
    """Run a hand-written `_backward`; an error gets a note that says whose it is."""
    try:
        custom_backward()
    except BaseException as error:
        with suppress(Exception):  # a label or an error of somebody's own may not like to be shown
            error.add_note(
                f"This came from the hand-written _backward of {node!r}, op {node._op!r}"
                f"{f', label {node.label!r}' if node.label else ''}. Every .grad in the graph is "
                "as it was before the pass."
            )
        raise


def observed_step(node: Node, by_hand: bool, watchers: list[Any]) -> None:
    """One step, before witnesses or by itself.

    In a strict pass it refuses stale numbers and the first gradient that is not finite; that of a
    number (the 0 of `0 ** x`) is nobody's business, and is there only if somebody has looked.
    """
    strictly = by_hand and in_strict()
    if strictly:
        strict_checks.check_rule(node)
        strict_checks.check_fresh(node)
    grad = node.grad
    before = [(operand, operand.grad) for operand in node._links()]
    if by_hand and node._is_custom:
        extras: Any = node._extras
        run_by_hand(node, extras.custom_backward)
    else:
        now = {id(operand): number for operand, number in before}
        for operand, partial in _rules(node):
            now[id(operand)] += partial * grad
        _set_all([operand for operand, _ in before], [now[id(operand)] for operand, _ in before])
    if strictly:
        number = node._shown_number()
        for operand, previous in before:
            if operand is not number:
                strict_checks.check_gradient(node, operand, previous)
    for watcher in watchers:
        watcher.stepped(node, grad, before, by_hand)


# ---- the order of the nodes ---------------------------------------------------------------------

_epoch = 0  # a mark below it is from an earlier pass
_is_plain = True  # whether the latest order has nodes with two operand fields only


def _postorder(root: Node) -> list[Node]:  # noqa: PLR0915 - one loop, so that it is fast
    """`graph.topological_order`, on the nodes' own fields: operands first, the root last.

    Marks tell how far this pass is with a node: below `first`, not met; `first`, `second`,
    `listed`, the way down leads through its first operand, its second, or one of a list; `done`.
    Of a node that is done its place tells where in the order it is.
    """
    global _epoch, _is_plain
    _epoch += 4
    _is_plain = True
    first = _epoch
    second = first + 1
    listed = first + 2
    done = first + 3
    is_special = IS_SPECIAL
    order: list[Node] = []
    count = 0  # of them
    path: list[Node] = []  # the way down from the root
    lists: list[Any] = []  # what is left of the operands of the `listed` nodes on it
    node = root
    while True:
        below = None  # an operand to go down to
        if node._tag & is_special:
            node._mark = listed
            lists.append(iter(node._links()))
            path.append(node)
            extras: Any = node._extras
            if extras.operands or extras.prev is not None or extras.custom_backward is not None:
                _is_plain = False
        else:
            a = node._a
            b = node._b
            if a is not None and a._mark != done:
                below = a
                node._mark = first
                path.append(node)
            elif b is not None and b._mark != done:
                below = b
                node._mark = second
                path.append(node)
            else:
                node._mark = done
                node._place = count
                count += 1
                order.append(node)
        while below is None:  # nowhere to go down: up, until there is
            if not path:
                return order
            node = path[-1]
            mark = node._mark
            if mark == first:
                b = node._b
                if b is not None and b._mark != done:
                    p = b._a
                    q = b._b
                    if (
                        not b._tag & is_special
                        and (p is None or p._mark == done)
                        and (q is None or q._mark == done)
                    ):  # its operands are in the list: no need to go down for it alone
                        b._mark = done
                        b._place = count
                        count += 1
                        order.append(b)
                    else:
                        below = b
                        node._mark = second
            elif mark == listed:
                for operand in lists[-1]:
                    if operand._mark == done:
                        continue
                    if operand._a is None and operand._b is None and not operand._tag & is_special:
                        operand._mark = done  # a leaf, one of thousands of parameters perhaps
                        operand._place = count
                        count += 1
                        order.append(operand)
                    else:
                        below = operand
                        break
                else:
                    lists.pop()
            if below is None:
                node._mark = done
                node._place = count
                count += 1
                order.append(node)
                path.pop()
        if below._mark >= first:  # met, not done: on the way down already
            raise CycleError(cycle_message(path, below))
        node = below


# ---- one at a time ------------------------------------------------------------------------------


def in_turn(function: Callable[..., Any], *arguments: Any) -> Any:
    """Call a function that needs the marks for itself: others wait, a pass inside one is refused.

    In the pure engine a lock could be left behind by an interrupt; see `turns`.
    """
    global _owner
    if writebacks:
        flush_writebacks()
    if not cython.compiled:
        return _turns.run(_refuse_inner_pass, copy_context().run, function, *arguments)
    here = _this_thread()
    if _owner == here:
        _refuse_inner_pass()
    while _owner:
        time.sleep(PAUSE)
    _owner = here
    try:
        return function(*arguments)
    finally:
        _owner = 0


_owner: int = 0  # in the native engine: the thread whose turn it is
_turns = Turns()


def _refuse_inner_pass() -> NoReturn:
    raise BackwardRunningError(
        "a backward pass is running already, and this call came from inside one of its "
        "_backward functions. A _backward may only add to the grads of its operands; call "
        "backward(), zero_grad() or grad() after the pass."
    )


def _after_fork() -> None:
    """The child has one thread: what others were doing in the parent, nobody does here."""
    global _owner
    if _owner != _this_thread():
        _owner = 0


in_child(_after_fork)
