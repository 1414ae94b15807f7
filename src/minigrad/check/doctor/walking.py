"""Changes of how a pass goes through the nodes, and of what is kept from one call to the next.

`edits.py` has the changes that any function can need; these are for the ones that walk: a `return`
that leaves a loop too early, a list that nobody empties, operands under another name.

This runs in the sandbox.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from .dialect import BACKWARD, CHILDREN, DATA, GRAD
from .rewriting import Change, Edit, Function, copy_of

_EMPTY = {"list": "[]", "set": "set()", "dict": "{}", "deque": "deque()"}
SWITCHES = ("requires_grad", "track", "requires_gradient")  # that say whether gradients are kept


@dataclass(frozen=True, slots=True)
class Facts:
    """What the whole file shows."""

    hook: str = ""  # the attribute that rules are kept in, as most operations have it
    shared: dict[str, str] = field(default_factory=dict)  # `Class.name`, with what it begins as
    kept: tuple[str, ...] = ()  # attributes that hold what a constructor is given


def facts_of(tree: ast.AST) -> Facts:
    """Read a file as far as a change of one function has to know it."""
    shared: dict[str, str] = {}
    kept: dict[str, None] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef):
            for name, text in _begun(node.body):
                shared[f"self.{name}"] = text
        elif isinstance(node, ast.FunctionDef) and node.name == "__init__":
            kept |= dict.fromkeys(_kept_in(node))
    body = tree.body if isinstance(tree, ast.Module) else []
    shared |= dict(_begun(body))
    return Facts(_hook_of(tree), shared, tuple(kept))


def _hook_of(tree: ast.AST) -> str:
    counts: dict[str, int] = {}
    for function in [n for n in ast.walk(tree) if isinstance(n, ast.FunctionDef)]:
        inner = {n.name for n in ast.walk(function) if isinstance(n, ast.FunctionDef)}
        for node in ast.walk(function):
            if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Attribute):
                is_rule = isinstance(node.value, ast.Name) and node.value.id in inner
                if is_rule or isinstance(node.value, ast.Lambda):
                    name = node.targets[0].attr
                    counts[name] = counts.get(name, 0) + 1
    return max(counts, key=lambda name: counts[name]) if counts else ""


def _begun(body: list[ast.stmt]) -> Iterator[tuple[str, str]]:
    """Find names that are set to an empty list, set or dict."""
    for node in body:
        target = node.targets[0] if isinstance(node, ast.Assign) else getattr(node, "target", None)
        value = getattr(node, "value", None)
        if isinstance(target, ast.Name) and (text := _empty(value)):
            yield target.id, text


def _empty(node: ast.AST | None) -> str:
    if isinstance(node, ast.List) and not node.elts:
        return "[]"
    if isinstance(node, ast.Dict) and not node.keys:
        return "{}"
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and not node.args:
        return _EMPTY.get(node.func.id, "")
    return ""


def _kept_in(function: ast.FunctionDef) -> Iterator[str]:
    given = {a.arg for a in function.args.args[1:]}
    for node in ast.walk(function):
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Attribute):
            read = {n.id for n in ast.walk(node.value) if isinstance(n, ast.Name)}
            name = node.targets[0].attr
            if read & given and name not in (*DATA, *GRAD):
                yield name


def walks(edits: Function, facts: Facts) -> Iterator[Edit | None]:
    """Yield changes of a function that is no operation, and may be a part of the pass."""
    yield from _begun_anew(edits, facts)
    if edits.is_operation:
        return
    if edits.function.name == "__init__":
        yield from _switched_on(edits)
        return
    yield from _read_elsewhere(edits, facts)
    yield from _passed_on(edits)
    for k, node in enumerate(edits.nodes):
        if isinstance(node, ast.For | ast.While):
            yield from _left_early(edits, k, node)
    for visit in edits.inner:
        yield from _gone_on(edits, visit)
    yield from _asked_by_itself(edits)
    yield from _remembered(edits)


# ---- what is kept ------------------------------------------------------------------------------


def _begun_anew(edits: Function, facts: Facts) -> Iterator[Edit | None]:
    """Empty what earlier calls, or other nodes, have put into a list."""
    function = edits.function
    positional = function.args.args[len(function.args.args) - len(function.args.defaults) :]
    begun = {
        argument.arg: text
        for argument, default in zip(positional, function.args.defaults, strict=True)
        if (text := _empty(default))
    }
    if begun:
        yield _with_first_lines(edits, function, [f"{n} = {text}" for n, text in begun.items()])
    if edits.is_operation:
        return
    for name, text in facts.shared.items():
        places = [n for n in edits.nodes if isinstance(n, ast.Attribute | ast.Name)
                  and _spelled(n) == name]  # fmt: skip
        if not places and function.name not in BACKWARD:
            continue
        is_own = name.startswith("self.") and edits.arguments[:1] == ["self"]
        before = (
            edits.nodes[edits.statement_of[edits.places[id(places[0])]]] if places else function
        )
        if is_own:
            yield _with_first_lines(edits, before, [f"{name} = {text}"])
        elif "." not in name and places:
            yield _with_first_lines(edits, before, [f"{name}.clear()"])


def _spelled(node: ast.Attribute | ast.Name) -> str:
    if isinstance(node, ast.Name):
        return node.id
    return f"self.{node.attr}" if isinstance(node.value, ast.Name) else ""


def _with_first_lines(edits: Function, before: ast.AST, lines: list[str]) -> Edit:
    copied = copy_of(edits.function)
    made = [ast.parse(line).body[0] for line in lines]
    copied.body[:0] = made
    ast.fix_missing_locations(copied)
    told = ast.parse("; ".join(lines)).body[0] if len(made) == 1 else made[0]
    return Edit("fresh", getattr(before, "lineno", 1), before, told, copied)


def _switched_on(edits: Function) -> Iterator[Edit | None]:
    """Let every node ask for gradients, as if operations passed that on."""
    for k, node in enumerate(edits.nodes):
        target = node.targets[0] if isinstance(node, ast.Assign) else None
        is_switch = isinstance(target, ast.Attribute) and target.attr in SWITCHES
        if is_switch and not isinstance(node.value, ast.Constant):  # type: ignore[attr-defined]
            yield edits.edit("switch", {k: lambda n: _valued(n, ast.Constant(True))})


# ---- how a pass walks ---------------------------------------------------------------------------


def _read_elsewhere(edits: Function, facts: Facts) -> Iterator[Edit | None]:
    """Read the operands where the constructor keeps them."""
    read: dict[str, list[int]] = {}
    loops = [n.iter for n in edits.nodes if isinstance(n, ast.For)]
    looped = [n.attr for n in loops if isinstance(n, ast.Attribute)]
    for k, node in enumerate(edits.nodes):
        is_read = isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Load)
        if is_read and node.attr in (*CHILDREN, *facts.kept, *looped):  # type: ignore[attr-defined]
            read.setdefault(node.attr, []).append(k)  # type: ignore[attr-defined]
    for name, places in read.items():
        for other in facts.kept:
            if other != name:
                change: Change = lambda n, other=other: _named(n, other)  # type: ignore[misc]  # noqa: E731
                yield edits.edit("reads", dict.fromkeys(places, change))


def _passed_on(edits: Function) -> Iterator[Edit | None]:
    """Multiply what goes on by the gradient of the node that it comes from."""
    loops = [n.target.id for n in edits.nodes
             if isinstance(n, ast.For) and isinstance(n.target, ast.Name)]  # fmt: skip
    for k in edits.gradients:
        target, value = edits.target(edits.nodes[k]), edits.nodes[k].value  # type: ignore[attr-defined]
        if target is None or isinstance(value, ast.Constant):
            continue
        own = ast.unparse(target.value)
        for name in dict.fromkeys(loops):
            incoming = f"{name}.{edits.slope}"
            if name != own and incoming not in ast.unparse(value):
                yield edits.edit("chains", {k: lambda n, i=incoming: _times(n, i)})  # type: ignore[misc]
    given = [a for a in edits.arguments if a != "self"]
    for k, node in enumerate(edits.nodes):
        if isinstance(node, ast.Call) and len(node.args) == 1:
            called = node.func.attr if isinstance(node.func, ast.Attribute) else ""
            read = {n.id for n in ast.walk(node.args[0]) if isinstance(n, ast.Name)}
            for name in given if called == edits.function.name else ():
                if name not in read:
                    yield edits.edit("chains", {k: lambda n, i=name: _first_times(n, i)})  # type: ignore[misc]


def _left_early(edits: Function, k: int, loop: ast.For | ast.While) -> Iterator[Edit | None]:
    """Stay in a loop that ends after its first round; take its last statement out of it."""
    for statement in loop.body:
        if isinstance(statement, ast.Return | ast.Break):
            value = statement.value if isinstance(statement, ast.Return) else None
            goes_on = ast.Expr(copy_of(value)) if isinstance(value, ast.Call) else ast.Pass()
            yield edits.edit("leaves", {edits.places[id(statement)]: lambda _, s=goes_on: s})  # type: ignore[misc]
    if len(loop.body) > 1 and isinstance(loop.body[-1], ast.Expr):
        last = copy_of(loop.body[-1])
        place = edits.places[id(loop.body[-1])]
        yield edits.edit("outside", {place: lambda _: [], k: lambda n: [n, last]})


def _gone_on(edits: Function, visit: ast.FunctionDef) -> Iterator[Edit | None]:
    """Go on to what is below the operands, instead of listing these alone."""
    calls = {n.func.id for n in ast.walk(visit)
             if isinstance(n, ast.Call) and isinstance(n.func, ast.Name)}  # fmt: skip
    if visit.name in calls:
        return
    for loop in [n for n in ast.walk(visit) if isinstance(n, ast.For)]:
        for part in loop.body:
            call = part.value if isinstance(part, ast.Expr) else None
            if isinstance(call, ast.Call) and len(call.args) == 1:
                made = ast.Expr(ast.Call(ast.Name(visit.name, ast.Load()), [call.args[0]], []))
                yield edits.edit("recurs", {edits.places[id(part)]: lambda _, m=made: copy_of(m)})  # type: ignore[misc]


def _asked_by_itself(edits: Function) -> Iterator[Edit | None]:
    """Ask whether a node was visited, and not its number or its name."""
    asked = {
        n.left.attr
        for n in edits.nodes
        if isinstance(n, ast.Compare)
        and isinstance(n.ops[0], ast.In | ast.NotIn)
        and isinstance(n.left, ast.Attribute)
    }
    for name in sorted(asked):
        within = [
            edits.places[id(part)]
            for n in edits.nodes
            for part in [_member(n)]
            if isinstance(part, ast.Attribute) and part.attr == name
        ]
        yield edits.edit("members", dict.fromkeys(within, lambda n: n.value))  # type: ignore[attr-defined]


def _remembered(edits: Function) -> Iterator[Edit | None]:
    """Put a node that was looked for in a set into it, where nobody does."""
    filled = {
        ast.unparse(n.func.value)
        for n in edits.nodes
        if isinstance(n, ast.Call) and isinstance(n.func, ast.Attribute)
    }
    for k, node in enumerate(edits.nodes):
        test = node.test if isinstance(node, ast.If) else None
        if not isinstance(test, ast.Compare) or not isinstance(test.ops[0], ast.In | ast.NotIn):
            continue
        book = test.comparators[0]
        if not isinstance(book, ast.Name | ast.Attribute) or ast.unparse(book) in filled:
            continue
        line = ast.parse(f"{ast.unparse(book)}.add({ast.unparse(test.left)})").body[0]
        is_inside = isinstance(test.ops[0], ast.NotIn)
        change: Change = (
            (lambda n, line=line: _begun_with(n, line))  # type: ignore[misc]
            if is_inside else (lambda n, line=line: [n, line])  # type: ignore[misc]
        )  # fmt: skip
        edit = edits.edit("marks", {k: change})
        yield replace(edit, after=line) if edit else None


def _begun_with(node: ast.AST, line: ast.stmt) -> ast.AST:
    node.body = [line, *node.body]  # type: ignore[attr-defined]
    return node


def _member(node: ast.AST) -> ast.AST | None:
    """Return what is looked for in a set, or put into one."""
    if isinstance(node, ast.Compare) and isinstance(node.ops[0], ast.In | ast.NotIn):
        return node.left
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.args:
        return node.args[0] if node.func.attr in ("add", "append") else None
    return None


# ---- changes of one node ------------------------------------------------------------------------


def _valued(node: ast.AST, value: ast.expr) -> ast.AST:
    node.value = value  # type: ignore[attr-defined]
    return node


def _named(node: ast.AST, name: str) -> ast.AST:
    node.attr = name  # type: ignore[attr-defined]
    return node


def _times(node: ast.AST, factor: str) -> ast.AST:
    made = ast.parse(factor, mode="eval").body
    return _valued(node, ast.BinOp(node.value, ast.Mult(), made))  # type: ignore[attr-defined]


def _first_times(node: ast.AST, factor: str) -> ast.AST:
    made = ast.parse(factor, mode="eval").body
    node.args[0] = ast.BinOp(node.args[0], ast.Mult(), made)  # type: ignore[attr-defined]
    return node
