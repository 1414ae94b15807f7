"""Derivatives as results: gradients to differentiate again, Jacobians, Hessians, tangents.

`backward()` writes numbers into `.grad`; the functions here return what they find and touch
nothing. With `create_graph=True` the backward pass is itself made of Values: the local derivatives
come from the same rows of the table, evaluated on Values instead of floats.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Sequence
from types import FunctionType
from typing import Any

from ..core import strict as strict_checks
from ..core.backward import gradients
from ..core.coerce import as_float, as_list, is_number
from ..core.elsewhere import explained
from ..core.graph import topological_order
from ..core.modes import in_strict, tolerant
from ..core.observers import refuse_in_trace, tracer
from ..core.ops import TABLE, Op
from ..errors import NotDifferentiableError
from ..functions import VALUES
from ..scalar import Value


@explained("grad(output, [a, b])")
def grad(output: Value, inputs: Value | Iterable[Value], *, create_graph: bool = False) -> Any:
    """Return the derivatives of `output` with respect to `inputs`; no `.grad` changes.

    One input gives one derivative, several give a list. They are floats, or with `create_graph`
    Values, of which you can ask `grad` again.

    >>> x = Value(2.0)
    >>> dy = grad(x**3, x, create_graph=True)
    >>> dy, grad(dy, x)
    (Value(data=12.0), 12.0)
    """
    _require_value(output, "grad(output, …)")
    wanted = _listed(inputs, "grad(…, inputs)")
    found = _graph_of_gradients(output, wanted) if create_graph else gradients(output, wanted)
    if not create_graph and not any(found):
        _warn_if_swapped(output, wanted)
    return found[0] if isinstance(inputs, Value) else found


@explained("jacobian([y, z], [a, b])")
def jacobian(outputs: Iterable[Value], inputs: Iterable[Value]) -> list[list[float]]:
    """Return one row per output: its derivatives with respect to all inputs."""
    wanted = _listed(inputs, "jacobian(…, inputs)")
    return [gradients(output, wanted) for output in _listed(outputs, "jacobian(outputs, …)")]


@explained("hessian(output, [a, b])")
def hessian(output: Value, inputs: Iterable[Value]) -> list[list[float]]:
    """Return the matrix of second derivatives.

    >>> a, b = Value(2.0), Value(3.0)
    >>> hessian(a * a * b, [a, b])
    [[6.0, 4.0], [4.0, 0.0]]
    """
    _require_value(output, "hessian(output, …)")
    wanted = _listed(inputs, "hessian(…, inputs)")
    return jacobian(grad(output, wanted, create_graph=True), wanted)


@explained("jvp(output, [a, b], [1.0, 0.0])")
def jvp(outputs: Any, inputs: Iterable[Value], tangents: Iterable[Any]) -> Any:
    """Forward mode: how `outputs` move when each input moves at the rate of its tangent.

    One sweep, operands before users, over the local derivatives that the forward pass stored; its
    cost does not depend on the number of inputs. One output gives a float, several a list.
    """
    refuse_in_trace("calls jvp()")
    wanted = _listed(inputs, "jvp(…, inputs, …)")
    rates = [as_float(rate, "jvp(…, tangents)") for rate in as_list(tangents, "jvp(…, tangents)")]
    if len(rates) != len(wanted):
        raise ValueError(
            f"jvp(outputs, inputs, tangents): {len(wanted)} inputs but {len(rates)} tangents; "
            "give one for each input."
        )
    moving: dict[int, float] = {}
    for node, rate in zip(wanted, rates, strict=True):
        moving[id(node)] = moving.get(id(node), 0.0) + rate
    roots = _listed(outputs, "jvp(outputs, …)")
    for root in roots:
        for node in topological_order(root, Value._links):
            if id(node) in moving:  # an input moves as it is told, whatever it was made from
                continue
            rate = 0.0
            _refuse_by_hand(node, second=False)
            if in_strict():
                strict_checks.check_fresh(node)
            for operand, partial in node._links_and_partials():
                speed = moving[id(operand)]
                if speed != 0.0:  # what stands still adds nothing, not even 0 * inf
                    rate += partial * speed
            moving[id(node)] = rate
    found = [moving[id(root)] for root in roots]
    return found[0] if isinstance(outputs, Value) else found


def _warn_if_swapped(output: Value, inputs: Sequence[Value]) -> None:
    """Of what an input was made from, its derivative is 0, which is hardly what was asked."""
    for node in inputs:
        if node is not output and any(below is output for below in topological_order(node)):
            warnings.warn(
                "grad(output, inputs): the input was made from the output, and not the other way "
                "round, so the derivative is 0; swap the two.",
                RuntimeWarning,
                stacklevel=4,
            )
            return


def _graph_of_gradients(root: Value, inputs: Sequence[Value]) -> list[Value]:
    """Run the backward pass on Values: the chain rule again, with a graph as its result.

    The rules run on the operands as they are now, so `.data` must be that of the forward pass.
    """
    adjoint: dict[int, Value] = {id(root): Value(1.0)}
    for node in reversed(topological_order(root, Value._links)):
        arriving = adjoint.get(id(node))
        links = node._links()
        if arriving is None or not links:
            continue
        _refuse_by_hand(node, second=True)
        if tracer() is None:  # in a trace nothing can have been assigned
            strict_checks.check_fresh(node)
        for operand, partial in _derivatives(node):
            if not any(operand is link for link in links):  # taken out of _prev
                continue
            contribution = arriving if partial == 1.0 else arriving * partial
            known = adjoint.get(id(operand))
            adjoint[id(operand)] = contribution if known is None else known + contribution
    return [adjoint[id(node)] if id(node) in adjoint else Value(0.0) for node in inputs]


def _derivatives(node: Value) -> list[tuple[Value, Any]]:
    """Pair the operands that are Values with their local derivatives as Values."""
    row = TABLE[node._code]
    arguments = node._arguments()
    if in_strict():
        with tolerant():
            partials = _partials(row, node, arguments)
        for partial in partials:
            strict_checks.check_derivative(node, getattr(partial, "data", partial))
    else:
        partials = _partials(row, node, arguments)
    return [
        (argument, partial)
        for argument, partial in zip(arguments, partials, strict=True)
        if isinstance(argument, Value)
    ]


def _partials(row: Op, node: Value, arguments: tuple[Any, ...]) -> Sequence[Any]:
    if row.gradient is not None:
        found: Sequence[Any] = row.gradient(VALUES, node, *arguments)
        return found
    return [
        partial(VALUES, node, *arguments) if isinstance(argument, Value) else 0.0
        for partial, argument in zip(row.partials, arguments, strict=True)
    ]


def _refuse_by_hand(node: Value, *, second: bool) -> None:
    """A node made by hand has no row: its derivative is a function's secret, or a bare number."""
    if node._is_custom or (second and not node._code and node._extras is not None):
        raise NotDifferentiableError(
            f"the node {node._op!r} was made by hand, so there is no rule to differentiate "
            f"{'again' if second else 'forward'}. Build it from minigrad's operations, or use "
            "backward(), which runs its _backward as it is."
        )


def _listed(values: Any, what: str) -> list[Value]:
    if isinstance(values, Value) or is_number(values) or isinstance(values, (str, FunctionType)):
        found = [values]
    else:
        found = as_list(values, what)
    for value in found:
        _require_value(value, what)
    return found


def _require_value(value: Any, what: str) -> None:
    if not isinstance(value, Value):
        call = what.partition("(")[0]
        hint = f"call it first: {call}(f(x), …)" if callable(value) else "give the Value itself"
        if is_number(value):
            hint += f", as in a = Value({value}), which the result is computed from"
        raise TypeError(f"{what}: got {type(value).__name__}; {hint}.")
