"""Small changes to a function of somebody's engine, as trees: what its author may have meant.

People slip in one word or one line, so there are not many things that they can have meant: += for
=, `out.grad` for `out.data`, the other operand, the other sign. `mending.py` tries them out; the
one that makes wrong numbers right shows where the mistake is.

This runs in the sandbox, and knows neither what is right nor what a change is good for.
"""

from __future__ import annotations

import ast
import itertools
from collections.abc import Iterator
from dataclasses import replace

from .dialect import BACKWARD
from .formulas import formulas
from .rewriting import Change, Edit, Function, copy_of, put
from .walking import Facts, walks

# Kinds of changes, from what is told apart best to what would do for any mistake: of two that come
# out alike, the earlier one is told.
KINDS = (
    "adds", "descends", "splits", "fresh", "reads", "switch", "leaves", "outside", "recurs",
    "members", "marks", "later", "returns", "hooks", "chains", "seeds", "seed", "operands",
    "attribute", "number", "sign", "compares", "swaps", "names", "groups", "operator", "constant",
    "inside", "order", "drops", "deletes", "line", "formula", "formulas",
)  # fmt: skip
CONSTANTS = (0, 1, 2, -1)
ROUNDING = ("int", "round", "abs", "float", "float32", "ceil", "floor")  # that change a number
_ARITHMETIC = (ast.Add, ast.Sub, ast.Mult, ast.Div, ast.Pow)
_TURNED: dict[type[ast.AST], type[ast.cmpop]] = {
    ast.Gt: ast.Lt, ast.Lt: ast.Gt, ast.GtE: ast.LtE, ast.LtE: ast.GtE,
    ast.In: ast.NotIn, ast.NotIn: ast.In, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
}  # fmt: skip


def edits_of(
    function: ast.FunctionDef, words: dict[str, str], facts: Facts, owner: str = ""
) -> list[Edit]:
    """List what the author of a function may have meant instead, the likeliest first.

    `owner` is the class around it.
    """
    found = _Edits(function, words, facts.hook, owner)
    found.facts = facts
    made = [edit for edit in found.all() if edit is not None and _is_told(edit)]
    return sorted(made, key=lambda edit: KINDS.index(edit.kind))


def _is_told(edit: Edit) -> bool:
    """Whether the line shows what is changed in it, or what kind of change it is does."""
    if edit.kind in ("formula", "formulas") and _value(edit.before) == _value(edit.after):
        return False  # the same in other words
    return edit.kind in ("seeds", "hooks", "line", "outside") or edit.old != edit.new


def _value(node: ast.AST | None) -> str:
    """Write a statement without factors of 1, to compare it with another."""
    text = ast.unparse(node) if isinstance(node, ast.AST) else ""
    for one in ("1.0 * ", "1 * ", " * 1.0", " * 1"):
        text = text.replace(one, "")
    return text


def without_calls(function: ast.FunctionDef, hook: str) -> Edit | None:
    """Take the calls of other nodes' rules out of the rules of an operation, if there are such."""
    copied = copy_of(function)
    rules = [n for n in ast.walk(copied) if isinstance(n, ast.FunctionDef) and n is not copied]
    calls = [
        n
        for rule in rules
        for n in ast.walk(rule)
        if isinstance(n, ast.Expr)
        and isinstance(n.value, ast.Call)
        and isinstance(n.value.func, ast.Attribute)
        and n.value.func.attr == hook
    ]
    for call in calls:
        put(copied, call, ast.Pass())
    ast.fix_missing_locations(copied)
    return Edit("descends", calls[0].lineno, calls[0], ast.Pass(), copied) if calls else None


class _Edits(Function):
    """The changes that are tried in a function."""

    facts = Facts()  # of the whole file

    def all(self) -> Iterator[Edit | None]:
        yield from self._accumulating()
        yield from self._returning()
        yield from self._hooking()
        yield from self._later()
        yield from walks(self, self.facts)
        yield from self._recording()
        if self.is_pass and self.arguments:
            seed = f"{self.arguments[0]}.{self.slope} = 1.0"
            start = self.places[id(self.function.body[0])]
            yield self.edit("seeds", {start: lambda n: [ast.parse(seed).body[0], n]})
            for k in [k for k in self.gradients if self._begins(self.nodes[k])]:
                yield self.edit("seed", {k: lambda _: ast.parse(seed).body[0]})
        for k, node in enumerate(self.nodes):
            if id(node) in self.skipped:
                continue
            if isinstance(node, ast.stmt):
                yield from self._statement(k, node)
            elif isinstance(node, ast.expr):
                yield from self._expression(k, node)
        yield from formulas(self)

    # ---- several at once ----------------------------------------------------------------------

    def _each(self, kind: str, places: list[int], change: Change) -> Iterator[Edit | None]:
        """Change several statements at once, and one by one."""
        if len(places) > 1:
            yield self.edit(kind, dict.fromkeys(places, change))
        for place in places:
            yield self.edit(kind, {place: change})

    # ---- statements that set gradients ----------------------------------------------------------

    def _begins(self, node: ast.AST) -> bool:
        """Whether a statement sets the gradient that the pass begins with."""
        target = self.target(node)
        owner = target.value if target is not None else None
        return isinstance(owner, ast.Name) and owner.id == self.arguments[0]

    def _accumulating(self) -> Iterator[Edit | None]:
        set_ = [k for k in self.gradients if self._is_set(self.nodes[k])]
        yield from self._each("adds", set_, _added)
        paired = [k for k, n in enumerate(self.nodes) if self._is_paired(n)]
        yield from self._each("splits", paired, _split)
        for k, node in enumerate(self.nodes):
            if (made := self._meant_to_add(node)) is not None:
                yield self.edit("adds", {k: lambda _, made=made: made})  # type: ignore[misc]
        inside = {id(n) for rule in self.inner for n in ast.walk(rule)}
        strange = [k for k, n in enumerate(self.nodes) if id(n) in inside and self._is_strange(n)]
        yield from self._each("attribute", strange, self._renamed)
        incoming = self.incoming()
        if incoming:
            wanted = ast.dump(_parsed(incoming))
            alone = [
                k
                for k in self.gradients
                if not any(ast.dump(n) == wanted for n in ast.walk(self.nodes[k].value))  # type: ignore[attr-defined]
            ]
            yield from self._each("chains", alone, lambda n: _chained(n, incoming))

    def _is_paired(self, node: ast.AST) -> bool:
        """Whether a statement sets several gradients at once: a, b = …, …."""
        targets = node.targets[0] if isinstance(node, ast.Assign) else None
        if not isinstance(targets, ast.Tuple) or not isinstance(node.value, ast.Tuple):  # type: ignore[attr-defined]
            return False
        each = [t for t in targets.elts if isinstance(t, ast.Attribute) and t.attr in self.grad]
        return len(each) == len(targets.elts) == len(node.value.elts)  # type: ignore[attr-defined]

    def _returning(self) -> Iterator[Edit | None]:
        """Put what stands behind a return, and so never runs, before it."""
        for node in self.nodes:
            body = getattr(node, "body", [])
            for k, statement in enumerate(body[:-1] if isinstance(body, list) else []):
                if isinstance(statement, ast.Return):
                    place, rest = self.places[id(statement)], body[k + 1 :]
                    changes: dict[int, Change] = {self.places[id(n)]: lambda _: [] for n in rest}
                    moved = [copy_of(n) for n in rest]
                    edit = self.edit("returns", {
                        **changes, place: lambda n, moved=moved: [*moved, n]})  # type: ignore[misc]  # fmt: skip
                    first = replace(edit, line=rest[0].lineno, before=rest[0]) if edit else None
                    yield replace(first, after=statement) if first else None

    def _is_set(self, node: ast.AST) -> bool:
        """Whether a gradient is set by =, to something else than what a pass begins with."""
        value = node.value if isinstance(node, ast.Assign) else None
        is_seed = isinstance(value, ast.Constant) or (
            isinstance(value, ast.Call) and "ones" in ast.unparse(value.func)
        )
        return value is not None and (not is_seed or self.op != "")

    def _meant_to_add(self, node: ast.AST) -> ast.stmt | None:
        """Write a sum that goes nowhere, or an entry of a dict of gradients, as an addition."""
        value = node.value if isinstance(node, ast.Expr | ast.Assign) else None
        if isinstance(value, ast.BinOp) and isinstance(value.op, ast.Add):
            left = value.left
            is_lost = not isinstance(node, ast.Assign) or isinstance(node.targets[0], ast.Name)
            if is_lost and isinstance(left, ast.Attribute) and left.attr in self.grad:
                return ast.AugAssign(ast.Attribute(left.value, left.attr, ast.Store()), ast.Add(),
                                     copy_of(value.right))  # fmt: skip
        target = node.targets[0] if isinstance(node, ast.Assign) else None
        if isinstance(target, ast.Subscript) and "grad" in ast.unparse(target.value):
            book, key = ast.unparse(target.value), ast.unparse(target.slice)
            text = f"{book}[{key}] = {book}.get({key}, 0.0) + {ast.unparse(node.value)}"  # type: ignore[attr-defined]
            return ast.parse(text).body[0]
        return None

    def _is_strange(self, node: ast.AST) -> bool:
        """Whether a rule sets an attribute of an operand that is no gradient: a misspelt one."""
        if not isinstance(node, ast.Assign | ast.AugAssign):
            return False
        target = node.targets[0] if isinstance(node, ast.Assign) else node.target
        if not isinstance(target, ast.Attribute) or not isinstance(target.value, ast.Name):
            return False
        known = {*self.grad, *self.data, self.hook}
        return target.value.id in self.arguments and target.attr not in known

    def _renamed(self, node: ast.AST) -> ast.AST:
        assert isinstance(node, ast.Assign | ast.AugAssign)
        target = node.targets[0] if isinstance(node, ast.Assign) else node.target
        made = ast.Attribute(target.value, self.slope, ast.Store())  # type: ignore[attr-defined]
        return ast.copy_location(ast.AugAssign(made, ast.Add(), node.value), node)

    def _hooking(self) -> Iterator[Edit | None]:
        """Give the rule to the result, by the name that the pass looks for."""
        if not self.inner or not self.out or not self.hook:
            return
        names = {function.name for function in self.inner}
        within = {id(n) for function in self.inner for n in ast.walk(function)}
        right = f"{self.out}.{self.hook} = {{}}"
        found = [
            k
            for k, n in enumerate(self.nodes)
            if isinstance(n, ast.Assign)
            and isinstance(n.targets[0], ast.Attribute)
            and isinstance(n.value, ast.Name | ast.Call)
            and id(n) not in within  # a rule that gives itself to somebody never runs
            and any(isinstance(p, ast.Name) and p.id in names for p in ast.walk(n.value))
        ]
        for k in found:
            node = self.nodes[k]
            assert isinstance(node, ast.Assign)
            called = node.value.func if isinstance(node.value, ast.Call) else node.value
            line = right.format(ast.unparse(called))
            if ast.unparse(node) != line:
                yield self.edit("hooks", {k: lambda _, line=line: ast.parse(line).body[0]})  # type: ignore[misc]
        if not found:
            line = right.format(self.inner[0].name)
            returns = [k for k, n in enumerate(self.nodes) if n is self.function.body[-1]]
            yield self.edit("hooks", {returns[0]: lambda n: [ast.parse(line).body[0], n]})

    def _later(self) -> Iterator[Edit | None]:
        """Put what sets gradients while the graph is built into a rule."""
        body = self.function.body
        now = [k for k in self.gradients if self.nodes[k] in body]
        if not (now and self.hook and self.out and self.is_operation and isinstance(
                body[-1], ast.Return)):  # fmt: skip
            return
        first = min(now)
        rule = ast.parse("def _rule(): pass").body[0]
        _set(rule, body=[copy_of(self.nodes[k]) for k in now])
        keep = ast.parse(f"{self.out}.{self.hook} = _rule").body[0]
        changes: dict[int, Change] = dict.fromkeys(now, lambda _: [])
        last = self.places[id(body[-1])]
        edit = self.edit("later", changes | {last: lambda n: [rule, keep, n]})
        old = self.nodes[first]
        yield replace(edit, line=old.lineno, before=old, after=rule) if edit else None  # type: ignore[attr-defined]

    def _recording(self) -> Iterator[Edit | None]:
        """Give the operands to the node that is made."""
        operands = "(self, other)".replace("other", self.arguments[1]) if len(
            self.arguments) > 1 and self.op not in ("pow",) else "(self,)"  # fmt: skip
        if self.arguments[:1] != ["self"] or self.function.name in ("__init__", *BACKWARD):
            return
        for k, node in enumerate(self.nodes):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
                if node.func.id != self.cls or not node.args:
                    continue
                yield self.edit("operands", {k: lambda n: _given(n, operands)})

    # ---- any statement --------------------------------------------------------------------------

    def _statement(self, k: int, node: ast.stmt) -> Iterator[Edit | None]:
        if isinstance(node, ast.AugAssign) and isinstance(node.op, ast.Add | ast.Sub):
            other = ast.Sub() if isinstance(node.op, ast.Add) else ast.Add()
            yield self.edit("sign", {k: lambda n: _set(n, op=other)})
        if isinstance(node, ast.For):
            yield self.edit("order", {k: _turned_round})
        if (
            len(self.arguments) == 2
            and self.is_operation
            and isinstance(node, ast.Return | ast.Assign)
        ):
            names = [j for j, n in enumerate(self.nodes) if isinstance(n, ast.Name)
                     and n.id in self.arguments and self.statement_of.get(j) == k]  # fmt: skip
            if {self.nodes[j].id for j in names} == set(self.arguments):  # type: ignore[attr-defined]
                one, two = self.arguments
                yield self.edit("swaps", dict.fromkeys(
                    names, lambda n: _set(n, id=two if n.id == one else one)))  # type: ignore[attr-defined]  # fmt: skip
        is_called = isinstance(node, ast.Expr) and isinstance(node.value, ast.Attribute)
        if is_called:
            yield self.edit("number", {k: _called})
        is_text = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        if isinstance(node, ast.Expr | ast.Assign | ast.AugAssign) and not is_text:
            yield self.edit("deletes", {k: lambda _: ast.Pass()})
        for block in ("body", "orelse"):
            statements = getattr(node, block, [])
            if not isinstance(statements, list):
                continue
            for one, two in itertools.pairwise(statements):
                if isinstance(one, ast.If | ast.For) and isinstance(two, ast.Expr | ast.Assign):
                    place, moved = self.places[id(one)], self.places[id(two)]
                    inside = copy_of(two)
                    yield self.edit("inside", {
                        moved: lambda _: [],
                        place: lambda n, inside=inside: _set(n, body=[*n.body, inside]),  # type: ignore
                    })  # fmt: skip

    # ---- any expression -------------------------------------------------------------------------

    def _expression(self, k: int, node: ast.expr) -> Iterator[Edit | None]:
        if isinstance(node, ast.BinOp) and isinstance(node.op, _ARITHMETIC):
            for other in _ARITHMETIC:
                if not isinstance(node.op, other):
                    yield self.edit("operator", {k: lambda n, o=other: _set(n, op=o())})  # type: ignore[misc]
            yield from self._alike(k, node)
            if not isinstance(node.op, ast.Add | ast.Mult):
                yield self.edit("operator", {k: lambda n: _set(n, left=n.right, right=n.left)})  # type: ignore[attr-defined]
            yield from (self.edit("groups", {k: lambda n, m=made: copy_of(m)})  # type: ignore[misc]
                        for made in _regrouped(node))  # fmt: skip
            for side in ("left", "right"):
                yield self.edit("sign", {k: lambda n, side=side: _negated(n, side)})  # type: ignore[misc]
            yield self.edit("drops", {k: lambda n: n.left})  # type: ignore[attr-defined]
            yield self.edit("drops", {k: lambda n: n.right})  # type: ignore[attr-defined]
        elif isinstance(node, ast.Compare) and type(node.ops[0]) in _TURNED:
            turned = _TURNED[type(node.ops[0])]
            yield self.edit("compares", {k: lambda n: _set(n, ops=[turned()])})
        elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
            yield self.edit("sign", {k: lambda n: n.operand})  # type: ignore[attr-defined]
        elif isinstance(node, ast.IfExp):
            yield self.edit("compares", {k: lambda n: _set(n, body=n.orelse, orelse=n.body)})  # type: ignore[attr-defined]
        elif isinstance(node, ast.Constant) and type(node.value) in (int, float):
            for number in CONSTANTS:
                if node.value != number:
                    made = _parsed(repr(number))
                    yield self.edit("constant", {k: lambda _, made=made: made})  # type: ignore[misc]
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Load):
            if node.attr in self.data | self.grad:
                swapped = self.slope if node.attr in self.data else self.number
                yield self.edit("attribute", {k: lambda n: _set(n, attr=swapped)})
            if node.attr in self.data:
                yield self.edit("number", {k: lambda n: n.value})  # type: ignore[attr-defined]
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.args:
            if node.func.id in ROUNDING:
                yield self.edit("drops", {k: lambda n: n.args[0]})  # type: ignore[attr-defined]
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
            yield from self._name(k, node)

    def _alike(self, k: int, node: ast.BinOp) -> Iterator[Edit | None]:
        """Change the same slip wherever it stands: x**2 for 2*x, in both parts of a fraction."""
        wanted = ast.dump(node)
        places = [j for j, other in enumerate(self.nodes)
                  if isinstance(other, ast.BinOp) and ast.dump(other) == wanted]  # fmt: skip
        if len(places) < 2 or places[0] != k:
            return
        for op in _ARITHMETIC:
            if not isinstance(node.op, op):
                made: Change = lambda n, o=op: _set(n, op=o())  # type: ignore[misc]  # noqa: E731
                yield self.edit("operator", dict.fromkeys(places, made))

    def _name(self, k: int, node: ast.Name) -> Iterator[Edit | None]:
        known = [*self.arguments, *self.given.get(id(node), ()), *(n.id for n in self.nodes
                 if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store))]  # fmt: skip
        if node.id not in known:
            return
        statement = self.nodes[self.statement_of.get(k, k)]
        hooks = isinstance(statement, ast.Assign) and ast.unparse(statement.targets[0]) in (
            f"{self.out}.{self.hook}", f"{self.out}.{self.slope}")  # fmt: skip
        for name in dict.fromkeys(known) if not hooks else ():
            if name != node.id:
                yield self.edit("names", {k: lambda n, name=name: _set(n, id=name)})  # type: ignore[misc]
        if node.id in (*self.arguments, self.out) and k not in self.bases:
            text = f"{node.id}.{self.number}"
            alike = [  # in the same statement
                j
                for j, other in enumerate(self.nodes)
                if isinstance(other, ast.Name)
                and other.id == node.id
                and j not in self.bases
                and self.statement_of.get(j) == self.statement_of.get(k)
            ]
            places = {(k,), tuple(alike)} if alike[0] == k else {(k,)}
            for each in places:
                yield self.edit("number", dict.fromkeys(each, lambda _: _parsed(text)))


# ---- changes of one node ------------------------------------------------------------------------


def _set(node: ast.AST, **parts: object) -> ast.AST:
    for name, part in parts.items():
        setattr(node, name, part)
    return node


def _parsed(text: str) -> ast.expr:
    return ast.parse(text, mode="eval").body


def _regrouped(node: ast.BinOp) -> Iterator[ast.BinOp]:
    """Write a - b * c as (a - b) * c, and a ** b - 1 as a ** (b - 1)."""
    left, right = node.left, node.right
    if isinstance(right, ast.BinOp):
        inner = ast.BinOp(copy_of(left), node.op, copy_of(right.left))
        yield ast.BinOp(inner, right.op, copy_of(right.right))
    if isinstance(left, ast.BinOp):
        inner = ast.BinOp(copy_of(left.right), node.op, copy_of(right))
        yield ast.BinOp(copy_of(left.left), left.op, inner)


def _negated(node: ast.AST, side: str) -> ast.AST:
    return _set(node, **{side: ast.UnaryOp(ast.USub(), getattr(node, side))})


def _added(node: ast.AST) -> ast.AST:
    assert isinstance(node, ast.Assign)
    target = node.targets[0]
    return ast.copy_location(ast.AugAssign(target, ast.Add(), node.value), node)  # type: ignore[arg-type]


def _split(node: ast.AST) -> list[ast.AST]:
    """Write a, b = x, y as two statements."""
    assert isinstance(node, ast.Assign)
    pairs = zip(node.targets[0].elts, node.value.elts, strict=True)  # type: ignore[attr-defined]
    return [ast.copy_location(ast.Assign([t], x), node) for t, x in pairs]


def _chained(node: ast.AST, incoming: str) -> ast.AST:
    factor = _parsed(incoming)
    return _set(node, value=ast.BinOp(node.value, ast.Mult(), factor))  # type: ignore[attr-defined]


def _given(node: ast.AST, operands: str) -> ast.AST:
    made = _parsed(operands)
    assert isinstance(node, ast.Call)
    return _set(node, args=[node.args[0], made, *node.args[2:]])


def _turned_round(node: ast.AST) -> ast.AST:
    assert isinstance(node, ast.For)
    turned = node.iter
    is_reversed = (
        isinstance(turned, ast.Call)
        and isinstance(turned.func, ast.Name)
        and turned.func.id == "reversed"
    )
    if is_reversed:
        return _set(node, iter=turned.args[0])  # type: ignore[attr-defined]
    is_list = isinstance(turned, ast.Name)  # it need not be one; then this change does not run
    rows = turned if is_list else ast.Call(ast.Name("list", ast.Load()), [turned], [])
    return _set(node, iter=ast.Call(ast.Name("reversed", ast.Load()), [rows], []))


def _called(node: ast.AST) -> ast.AST:
    assert isinstance(node, ast.Expr)
    return _set(node, value=ast.Call(node.value, [], []))
