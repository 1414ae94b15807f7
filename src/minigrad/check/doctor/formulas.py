"""The right derivative of an operation, written where an engine keeps its own.

Most engines keep it in a rule, `self.grad += other.data * out.grad`: inside of the operation, in a
class of the operation's name, or in a branch of the pass that asks for the operation. Others keep
the slope alone: beside the operands, `Value(…, (self, other), (other.data, self.data))`, in pairs
with them, or on them, `self.slope = other.data`.

This runs in the sandbox. It is the one place there that knows derivatives.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from .rewriting import Change, Edit, Function, asked_for

# What an operand's gradient is multiplied by: x and y are the numbers of the operands, z is that of
# the result, n an exponent.
DERIVATIVES = {
    "add": ("1", "1"), "sub": ("1", "-1"), "mul": ("{y}", "{x}"),
    "div": ("1 / {y}", "-{x} / {y} ** 2"), "neg": ("-1",), "pow": ("{n} * {x} ** ({n} - 1)",),
    "tanh": ("1 - {z} ** 2",), "exp": ("{z}",), "log": ("1 / {x}",), "relu": ("({x} > 0)",),
    "sigmoid": ("{z} * (1 - {z})",),
}  # fmt: skip
REFLECTED = {
    "__radd__": "+", "__rsub__": "-", "__rmul__": "*", "__rtruediv__": "/", "__rpow__": "**",
}  # fmt: skip
COMPOSED = {
    "__sub__": "{x} + -{y}", "__truediv__": "{x} * {y} ** -1", "__neg__": "{x} * -1",
}  # fmt: skip
UPSTREAM = ("g", "upstream")  # besides what has grad in it: what comes in is called like this


def formulas(edits: Function) -> Iterator[Edit | None]:
    """Write the derivative of the operation where there is another formula, or none."""
    for rule in _rules(edits):
        yield from _in_rule(edits, rule)
    yield from _kept(edits)
    yield from _reflected(edits)
    yield from _composed(edits)


# ---- in a rule ----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Rule:
    """Statements that set the gradients of one operation's operands."""

    op: str
    places: list[int]
    incoming: str  # the gradient that comes in, and whose it is
    out: str


def _rules(edits: Function) -> Iterator[_Rule]:
    incoming, out = edits.incoming(), edits.out
    if not incoming and not edits.is_operation:
        incoming, out = _passed_on(edits, edits.gradients)
    if edits.op in DERIVATIVES and edits.gradients and incoming:
        yield _Rule(edits.op, edits.gradients, incoming, out)
    for node in edits.nodes:
        op = asked_for(node.test) if isinstance(node, ast.If) else ""
        if op and isinstance(node, ast.If):
            inside = {id(n) for statement in node.body for n in ast.walk(statement)}
            mine = [k for k in edits.gradients if id(edits.nodes[k]) in inside]
            incoming, out = _passed_on(edits, mine)
            if mine and incoming:
                yield _Rule(op, mine, incoming, out)


def _passed_on(edits: Function, places: list[int]) -> tuple[str, str]:
    for k in places:
        target = edits.target(edits.nodes[k])
        own = ast.unparse(target) if target is not None else ""
        for part in ast.walk(edits.nodes[k].value):  # type: ignore[attr-defined]
            if isinstance(part, ast.Attribute) and part.attr in edits.grad:
                if ast.unparse(part) != own:
                    return ast.unparse(part), ast.unparse(part.value)
            elif isinstance(part, ast.Name) and ("grad" in part.id or part.id in UPSTREAM):
                return part.id, ""
    return "", ""


def _in_rule(edits: Function, rule: _Rule) -> Iterator[Edit | None]:
    derivatives = DERIVATIVES[rule.op]
    if any("{z}" in d for d in derivatives) and not rule.out:
        return
    bases = list(dict.fromkeys(
        ast.unparse(target.value)
        for k in rule.places
        if (target := edits.target(edits.nodes[k])) is not None
    ))  # fmt: skip
    names = edits.arguments if edits.is_operation else []
    x = bases[0] if bases[0] != (names[1:] or [""])[0] else names[0]
    y = next((b for b in bases if b != x), names[1] if len(names) > 1 else "")
    exponents = [""] if rule.op != "pow" else [names[1], f"{names[1]}.{edits.number}"] if len(
        names) > 1 else []  # fmt: skip
    for n in exponents:
        filled = {
            "x": f"{x}.{edits.number}", "y": f"{y}.{edits.number}", "n": n,
            "z": f"{rule.out}.{edits.number}",
        }  # fmt: skip
        lines = {
            base: f"{base}.{edits.slope} += ({d.format(**filled)}) * {rule.incoming}"
            for base, d in zip((x, y), derivatives, strict=False)
            if base
        }
        changes: dict[int, Change] = {}
        for k in rule.places:
            target = edits.target(edits.nodes[k])
            assert target is not None
            line = lines.get(ast.unparse(target.value))
            if line:
                changes[k] = lambda _, line=line: ast.parse(line).body[0]  # type: ignore[misc]
        for k, change in changes.items():
            yield edits.edit("formula", {k: change})
        if len(changes) > 1:
            yield edits.edit("formulas", changes)
        missing = [line for base, line in lines.items() if base not in bases]
        if missing:
            new = ast.parse(missing[0]).body[0]
            yield edits.edit("line", {rule.places[-1]: lambda n, new=new: [n, new]})  # type: ignore[misc]


# ---- slopes that are kept -----------------------------------------------------------------------


def _kept(edits: Function) -> Iterator[Edit | None]:
    derivatives = DERIVATIVES.get(edits.op, ())
    names = edits.arguments[: len(derivatives)]
    if not edits.is_operation or len(names) < len(derivatives):
        return
    made = next((n.args[0] for n in edits.nodes if isinstance(n, ast.Call) and n.args
                 and isinstance(n.func, ast.Name) and n.func.id == edits.cls), None)  # fmt: skip
    if made is None and not edits.out and any("{z}" in d for d in derivatives):
        return
    second = edits.arguments[1] if len(edits.arguments) > 1 else ""
    if edits.op == "pow" and not second:
        return
    filled = {
        "x": f"{names[0]}.{edits.number}", "y": f"{second}.{edits.number}", "n": second,
        "z": f"({ast.unparse(made)})" if made is not None else f"{edits.out}.{edits.number}",
    }  # fmt: skip
    slopes = {
        name: d.format(**filled) for name, d in zip(names, derivatives, strict=True)
    }  # of each operand
    for k, node in enumerate(edits.nodes):
        if isinstance(node, ast.Tuple | ast.List) and isinstance(node.ctx, ast.Load):
            yield from _in_sequence(edits, k, node, slopes)
        elif isinstance(node, ast.Assign) and len(node.targets) == 1:
            target = node.targets[0]
            if not isinstance(target, ast.Attribute) or not isinstance(target.value, ast.Name):
                continue
            known = {*edits.data, *edits.grad, edits.hook}
            if target.value.id in slopes and target.attr not in known:
                yield _replaced(edits, edits.places[id(node.value)], slopes[target.value.id])


def _in_sequence(
    edits: Function, k: int, node: ast.Tuple | ast.List, slopes: dict[str, str]
) -> Iterator[Edit | None]:
    parts = node.elts
    names = [part.id if isinstance(part, ast.Name) else "" for part in parts]
    if len(parts) == 2 and names[0] in slopes and names[1] not in edits.arguments:  # a pair
        yield _replaced(edits, edits.places[id(parts[1])], slopes[names[0]])
    elif len(parts) == len(slopes) and not set(names) & set(edits.arguments):
        for part, slope in zip(parts, slopes.values(), strict=True):
            yield _replaced(edits, edits.places[id(part)], slope)
        if len(parts) > 1:
            whole = ", ".join(
                _as(part, slope) for part, slope in zip(parts, slopes.values(), strict=True)
            )
            made = ast.parse(f"({whole},)", mode="eval").body
            yield edits.edit("formulas", {k: lambda _: made})


def _replaced(edits: Function, place: int, slope: str) -> Edit | None:
    made = ast.parse(_as(edits.nodes[place], slope), mode="eval").body
    return edits.edit("formula", {place: lambda _: made})


def _as(old: ast.AST, slope: str) -> str:
    """Write a slope as what stands there: a number, or a function of what comes in."""
    if isinstance(old, ast.Lambda) and len(old.args.args) == 1:
        given = old.args.args[0].arg
        return f"lambda {given}: ({slope}) * {given}"
    return slope


def _reflected(edits: Function) -> Iterator[Edit | None]:
    """Write what a number on the left of an operator has to come to."""
    symbol = REFLECTED.get(edits.function.name)
    last = edits.function.body[-1]
    if symbol and len(edits.arguments) == 2 and isinstance(last, ast.Return):
        line = f"return {edits.cls}({edits.arguments[1]}) {symbol} {edits.arguments[0]}"
        place = edits.places[id(last)]
        yield edits.edit("formula", {place: lambda _: ast.parse(line).body[0]})


def _composed(edits: Function) -> Iterator[Edit | None]:
    """Write what an operation that is made of others has to come to."""
    form = COMPOSED.get(edits.function.name, "")
    names = edits.arguments
    last = edits.function.body[-1]
    is_made = isinstance(last, ast.Return) and isinstance(last.value, ast.BinOp | ast.UnaryOp)
    if form and is_made and not edits.inner and len(names) == 1 + ("{y}" in form):
        line = "return " + form.format(x=names[0], y=names[-1])
        yield edits.edit("formula", {edits.places[id(last)]: lambda _: ast.parse(line).body[0]})
