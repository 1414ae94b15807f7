"""What stands in somebody's file: where a fault most likely sits, and what cannot be the fault.

A file is read once, as a tree, into marks: in each class, and in the whole file, which function
begins where, and what it does with gradients. A stranger's file is read in the sandbox, before its
code is run: no text, however nested, can make the doctor itself stumble. `evidence.py` asks the
marks whether a fault can be here at all.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from .dialect import BACKWARD, CHILDREN, DATA, GRAD, NAMES, SPECIAL, SYMBOLS

HARMLESS = ("__init__", "zero_grad", *BACKWARD)
BLOCKS = ("body", "orelse", "handlers", "finalbody", "cases")  # where statements have statements
# For each class, and for the file under "", the lines of: "class", the first one; "assign", a
# gradient that is set in a function inside of a function, a rule; "def name", outer ones first;
# "in name", the first gradient in it; "method name", one that the class has for sure. Of what a
# function does: "sets name", "adds name", a gradient with = and with +=; "chains name", "alone
# name", one with a gradient in its formula and one without; "hooks name", "keeps name", a rule that
# is given to another node and to self; "loops name"; "made name", one that is made of other
# operations, and "uses name op" of which; and of how it walks: "appends name", "nests name" (it has
# a function inside), "reverses name", "asks name", "names name" (it looks for a node, or for an
# attribute of one, among others), "starts name", "strays name" (the function inside is called with
# self, or with something else), "lists name" (it appends a node at every visit), "renews name" (the
# function inside begins with nothing visited, each time), "writes name" (it sets an attribute of an
# operand), "hides name" (it sets an attribute of a pass's name), "discards
# name" (a statement is `x if … else y`, and nobody keeps it), "powers name" (its value is a power),
# "late name" (a gradient is set after the last loop), "lends name" (the 1 that it begins with goes
# to something from outside), "ignores name" (it takes operands in vain),
# "idle name" (its rule does nothing), "ends name" (it sets a gradient to a number and leaves),
# "pairs name" (it sets the gradients of two things), "early name" (a function inside
# appends a node, or runs its rule, before it goes on to others), "now name" (a gradient is set in
# the function itself, in none inside of it), "bare name" (it returns a node that is made from a
# number alone), "unordered name" (operands are made a set), "reads name" (a gradient of an operand
# is a factor),
# "keys name" (something is set under an operand, as in a dict),
# "pops name", "queues name", "counts name" (it takes nodes from a list, from its front, and counts
# something down), "branches name" (it compares with a text), "recurs name" (it calls a function of
# its own name), "calls name other", "seeds name" (a gradient is set to 1), "tests
# name" (its rule compares).
# "bases": there is a class above; "compares": == is not that of objects.
Marks = dict[str, dict[str, int]]

_OPERATORS: dict[type[ast.AST], str] = {
    ast.Add: "add", ast.Sub: "sub", ast.Mult: "mul", ast.Div: "div", ast.Pow: "pow",
    ast.USub: "neg",
}  # fmt: skip
_CALLED = {name: op for op, names in NAMES.items() for name in names}


def likely_line(
    text: str, where: str, cls: str = "", marks: Marks | None = None, mark: str = ""
) -> tuple[int | None, str]:
    """Return the line and its text, inside the class if there is one; None where nothing fits.

    `where` is an operation, "backward", "class" …; `mark` is what to look for in its function.
    """
    marks = marks_of(text) if marks is None else marks
    places = [marks[place] for place in dict.fromkeys([cls, ""]) if place in marks]
    line = next(filter(None, (_line(place, where, mark) for place in places)), None)
    lines = text.split("\n")
    return (line, lines[line - 1]) if line is not None and line <= len(lines) else (None, "")


def functions_of(where: str) -> tuple[str, ...]:
    """Return what the function of an operation may be called."""
    if where == "backward":
        return BACKWARD
    return (SPECIAL.get(where, f"__{where}__"), *NAMES.get(where, (where,)))


def marks_of(text: str) -> Marks:
    """Read a file's text; one that cannot be read as a tree has no marks."""
    try:
        level: list[_Place] = [_Place(node) for node in _usual(ast.parse(text)).body]
    except (SyntaxError, ValueError, MemoryError, RecursionError, SystemError):
        return {}
    # Of classes of one name the last one counts; which methods are there for sure nobody knows.
    names = [place.node.name for place in level if isinstance(place.node, ast.ClassDef)]
    marks: Marks = {"": {}}
    marks |= {name: {} for name in names if names.count(name) > 1}
    level = [p for k, p in enumerate(level) if not _is_replaced(p.node, level[k + 1 :])]
    while level:  # level by level, so that of two functions of a name the outer one counts
        for place in level:
            place.mark(marks)
        level = [inner for place in level for inner in place.inside()]
    return marks


def _usual(tree: ast.Module) -> ast.Module:
    """Call gradients as people usually call them, in a file where nothing is called so.

    They are what a function inside a function makes of what another thing has under this name:
    `self.slope += other.data * out.slope`.
    """
    nodes = list(ast.walk(tree))
    attributes = [node for node in nodes if isinstance(node, ast.Attribute)]
    if any(node.attr in GRAD for node in attributes):
        return tree
    functions = [node for node in nodes if isinstance(node, ast.FunctionDef)]
    inner = (part for function in functions for part in ast.walk(function) if part is not function)
    rules = {part for part in inner if isinstance(part, ast.FunctionDef)}
    own = {name for rule in rules for part in ast.walk(rule) for name in _carried(part)}
    for node in attributes:
        node.attr = "grad" if node.attr in own and node.attr not in DATA else node.attr
    return tree


def _carried(node: ast.AST) -> Iterator[str]:
    """Name attributes that are set from those of another thing."""
    if not isinstance(node, ast.Assign | ast.AugAssign):
        return
    parts = [part for part in ast.walk(node.value) if isinstance(part, ast.Attribute)]
    for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
        if isinstance(target, ast.Attribute):
            owner = ast.dump(target.value)
            if any(p.attr == target.attr and ast.dump(p.value) != owner for p in parts):
                yield target.attr


@dataclass(frozen=True, slots=True)
class _Place:
    """A statement, with the classes and functions around it."""

    node: ast.AST
    classes: tuple[str, ...] = ("",)
    functions: tuple[str, ...] = ()
    rules: frozenset[str] = frozenset()  # functions inside the innermost of these

    def inside(self) -> Iterator[_Place]:
        node, classes, functions, rules = self.node, self.classes, self.functions, self.rules
        if isinstance(node, ast.ClassDef):
            classes = (*classes, node.name)
        elif isinstance(node, ast.FunctionDef):
            functions = (*functions, node.name)
            rules = frozenset(n.name for n in ast.walk(node) if isinstance(n, ast.FunctionDef))
        for block in BLOCKS:
            for inner in getattr(node, block, ()):
                yield _Place(inner, classes, functions, rules)

    def mark(self, marks: Marks) -> None:
        """Write down what there is to say of the statement, for each class around it."""
        node = self.node
        if isinstance(node, ast.ClassDef):
            self._mark_class(node, marks)
        elif isinstance(node, ast.FunctionDef):
            self._put(marks, [f"def {node.name}"], node.lineno, is_first=True)
            if not self.functions:
                self._put(marks, [*_made_of(node), *_walks(node)], node.lineno)
                if node.name == "__init__" and _ignores_operands(node):
                    self._put(marks, ["ignores __init__"], node.lineno)
                self._put(marks, [*_more(node, self.classes[-1])], node.lineno)
                if _sets_two(node):
                    self._put(marks, [f"pairs {node.name}"], node.lineno)
                if _has_power(node):
                    self._put(marks, [f"powers {node.name}"], node.lineno)
                if node.name != "__init__" and (line := _writes(node)):
                    self._put(marks, [f"writes {node.name}"], line)
        elif isinstance(node, ast.Expr) and isinstance(node.value, ast.IfExp):
            self._put(marks, [f"discards {function}" for function in self.functions], node.lineno)
        elif isinstance(node, ast.For | ast.While):
            self._put(marks, [f"loops {name}" for name in self.functions[-1:]], node.lineno)
        elif isinstance(node, ast.Assign | ast.AugAssign):
            self._put(marks, self._hooks(node), node.lineno)
            self._put(marks, _alias(node) if not self.functions else [], node.lineno)
            if _gradient(node) is not None:
                self._put(marks, self._gradients(node), node.lineno)

    def _put(self, marks: Marks, found: list[str], line: int, is_first: bool = False) -> None:
        for name in self.classes:
            for mark in found:
                before = marks[name].get(mark, line)
                marks[name][mark] = before if is_first else min(before, line)

    def _mark_class(self, node: ast.ClassDef, marks: Marks) -> None:
        methods = {} if node.name in marks else _methods(node)  # of two such classes, which?
        known = marks.setdefault(node.name, {})
        for mark in [mark for mark in known if mark.startswith("method ")]:
            del known[mark]
        known |= methods
        if any(not (isinstance(b, ast.Name) and b.id == "object") for b in node.bases):
            known.setdefault("bases", node.lineno)
        if {"method __eq__", "method __hash__"} & set(methods) or node.decorator_list:
            known.setdefault("compares", node.lineno)
        for name in (*self.classes, node.name):
            marks[name].setdefault("class", node.lineno)

    def _gradients(self, node: ast.Assign | ast.AugAssign) -> list[str]:
        """Tell how a gradient is set."""
        target = _gradient(node)
        assert target is not None
        own = ast.dump(target).replace("Store", "Load")
        parts = [*ast.walk(node.value)]
        is_added = isinstance(node, ast.AugAssign) or any(ast.dump(p) == own for p in parts)
        is_rule = not set(self.functions[:-1]) <= set(HARMLESS)
        reads = any(
            isinstance(p, ast.Attribute) and p.attr in GRAD and ast.dump(p) != own for p in parts
        )
        names = any(isinstance(p, ast.Name) and p.id in (*GRAD, "g", "upstream") for p in parts)
        kinds = ["in", "adds" if is_added else "sets", "chains" if reads or names else "alone"]
        number = _constant(node.value)
        if isinstance(node, ast.Assign) and number is not None and not is_rule:
            kinds = ["in", "seeds"] if number else ["in"]  # or it is cleared
        found = [f"{kind} {function}" for function in self.functions for kind in kinds]
        found += [f"now {function}" for function in self.functions if len(self.functions) == 1]
        if not is_added and is_rule:
            found.append("assign")
        return found

    def _hooks(self, node: ast.Assign | ast.AugAssign) -> list[str]:
        """Tell whom a function is given to, as a rule: the result, or the operand."""
        targets, value = node.targets if isinstance(node, ast.Assign) else [], node.value
        is_rule = isinstance(value, ast.Name) and value.id in self.rules
        is_rule |= isinstance(value, ast.Lambda)
        hooks = [
            target
            for target in targets
            if isinstance(target, ast.Attribute) and (is_rule or "backward" in target.attr)
        ]
        found = []
        for hook in hooks:
            if hook.attr in BACKWARD:
                found += [f"hides {function}" for function in self.functions]
            is_self = isinstance(hook.value, ast.Name) and hook.value.id == "self"
            kind = "keeps" if is_self else "hooks"
            found += [f"{kind} {function}" for function in self.functions]
        return found


def _alias(node: ast.Assign | ast.AugAssign) -> list[str]:
    """Read `__rsub__ = __sub__`, of a number on the left."""
    if not isinstance(node, ast.Assign) or not isinstance(node.value, ast.Name):
        return []
    special = {name: op for op, name in SPECIAL.items()}
    names = [t.id for t in node.targets if isinstance(t, ast.Name) and t.id[:3] == "__r"]
    used = special.get(node.value.id)
    return [f"def {name}" for name in names] + [f"uses {n} {used}" for n in names if used]


def _made_of(node: ast.FunctionDef) -> list[str]:
    """Find whether a function is made of operations, and of which: it touches no number itself."""
    parts = [*ast.walk(node)]
    if any(isinstance(p, ast.Attribute) and p.attr in (*DATA, *GRAD) for p in parts):
        return []
    if any(isinstance(p, ast.FunctionDef | ast.Lambda) for p in parts if p is not node):
        return []
    used = {_OPERATORS.get(type(p.op)) for p in parts if isinstance(p, ast.BinOp | ast.UnaryOp)}
    calls = [p.func for p in parts if isinstance(p, ast.Call)]
    used |= {_CALLED.get(f.attr) for f in calls if isinstance(f, ast.Attribute)}
    used |= {_CALLED.get(f.id) for f in calls if isinstance(f, ast.Name)}
    special = {name: op for op, name in SPECIAL.items()}
    used |= {special.get(f.attr) for f in calls if isinstance(f, ast.Attribute)}
    found = [f"uses {node.name} {op}" for op in sorted(filter(None, used))]
    return [f"made {node.name}", *found] if found else []


def _writes(node: ast.FunctionDef) -> int:
    """Find where a function sets an attribute of an operand, other than in its rule: 0 if none."""
    operands = {a.arg for a in node.args.args}
    waiting: list[ast.AST] = [*node.body]
    while waiting:
        part = waiting.pop(0)
        if isinstance(part, ast.FunctionDef | ast.Lambda):
            continue
        waiting += ast.iter_child_nodes(part)
        if isinstance(part, ast.Attribute) and isinstance(part.ctx, ast.Store):
            is_operand = isinstance(part.value, ast.Name) and part.value.id in operands
            if is_operand and part.attr not in (*DATA, *GRAD) and "backward" not in part.attr:
                return part.lineno
    return 0


def _ignores_operands(node: ast.FunctionDef) -> bool:
    """Whether a constructor takes operands and never looks at them."""
    taken = {a.arg for a in node.args.args if a.arg in (*CHILDREN, "operands")}
    read = {n.id for part in node.body for n in ast.walk(part) if isinstance(n, ast.Name)}
    return bool(taken) and not taken & read


def _sets_two(node: ast.FunctionDef) -> bool:
    """Whether the gradients of two different things are set in a function."""
    set_ = [n for n in ast.walk(node) if isinstance(n, ast.Assign | ast.AugAssign)]
    owners = {ast.dump(target.value) for n in set_ if (target := _gradient(n)) is not None}
    return len(owners) > 1


def _constant(value: ast.expr) -> float | None:
    """Return what a gradient is set to, if that stands there: 1.0, np.float64(1), np.ones(1)."""
    if isinstance(value, ast.Call):
        called = value.func
        name = str(called.attr if isinstance(called, ast.Attribute) else getattr(called, "id", ""))
        if name.startswith(("ones", "zeros")):
            return float(name.startswith("ones"))
        value = value.args[0] if value.args else value
    number = value.value if isinstance(value, ast.Constant) else None
    return float(number) if isinstance(number, int | float) else 0.0 if isinstance(
        value, ast.Constant) else None  # fmt: skip


def _more(node: ast.FunctionDef, cls: str) -> Iterator[str]:
    """Find what tells apart what gives the same numbers."""
    operands = {a.arg for a in node.args.args}
    for part in ast.walk(node):
        called = part.func if isinstance(part, ast.Call) else None
        name = called.attr if isinstance(called, ast.Attribute) else ""
        if name == node.name or (isinstance(called, ast.Name) and called.id == node.name):
            yield f"recurs {node.name}"
        elif name in ("pop", "popleft"):
            yield f"pops {node.name}"
            if name == "popleft" or part.args:  # type: ignore[attr-defined]
                yield f"queues {node.name}"
        elif isinstance(part, ast.AugAssign) and isinstance(part.op, ast.Sub):
            yield f"counts {node.name}"
        elif isinstance(part, ast.Assign) and isinstance(entry := part.targets[0], ast.Subscript):
            if isinstance(entry.slice, ast.Name) and entry.slice.id in operands:
                yield f"keys {node.name}"
        elif isinstance(called, ast.Name) and called.id == "set" and node.name == "__init__":
            if operands & {n.id for n in ast.walk(part) if isinstance(n, ast.Name)}:
                yield f"unordered {node.name}"
        elif isinstance(part, ast.BinOp) and isinstance(part.op, ast.Mult):
            sides = [ast.unparse(side) for side in (part.left, part.right)]
            if any(f"{o}.{g}" in sides for o in operands for g in GRAD):
                yield f"reads {node.name}"
    rules = [p for p in ast.walk(node) if isinstance(p, ast.FunctionDef) and p is not node]
    if any(isinstance(p, ast.Compare) for rule in rules for p in ast.walk(rule)):
        yield f"tests {node.name}"
    if rules and all(isinstance(s, ast.Pass) for rule in rules for s in rule.body):
        yield f"idle {node.name}"
    if any(_ends(p) for p in ast.walk(node)):
        yield f"ends {node.name}"
    last = node.body[-1]
    made = last.value if isinstance(last, ast.Return) else None
    is_made = isinstance(made, ast.Call) and ast.unparse(made.func) == cls
    if is_made and len(made.args) == 1 and not made.keywords:  # type: ignore[union-attr]
        yield f"bare {node.name}"


def _has_power(node: ast.FunctionDef) -> bool:
    """Whether the function itself, not a rule inside of it, computes a power."""
    inner = [p for p in ast.walk(node) if isinstance(p, ast.FunctionDef) and p is not node]
    within = {id(p) for function in inner for p in ast.walk(function)}
    powers = [p for p in ast.walk(node) if isinstance(p, ast.BinOp) and isinstance(p.op, ast.Pow)]
    return any(id(p) not in within for p in powers)


def _walks(node: ast.FunctionDef) -> list[str]:
    """Find how a function goes through nodes."""
    inner = [p for p in ast.walk(node) if isinstance(p, ast.FunctionDef) and p is not node]
    within = {id(p) for function in inner for p in ast.walk(function)}
    own = node.args.args[0].arg if node.args.args else ""
    names = {function.name for function in inner}
    found = {f"nests {node.name}"} if inner else set()
    found |= {f"lists {node.name}"} if any(map(_lists_every_visit, inner)) else set()
    found |= {f"renews {node.name}"} if any(map(_forgets_visits, inner)) else set()
    found |= {f"early {node.name}"} if any(map(_lists_first, inner)) else set()
    loops = [k for k, statement in enumerate(node.body) if isinstance(statement, ast.For)]
    seeds = [k for k, statement in enumerate(node.body)
             if isinstance(statement, ast.Assign) and _gradient(statement) is not None]  # fmt: skip
    found |= {f"late {node.name}"} if loops and seeds and seeds[0] > loops[-1] else set()
    found |= {f"lends {node.name}"} if any(_is_lent(s, node) for s in node.body) else set()
    for part in ast.walk(node):
        if isinstance(part, ast.Call):
            called = part.func
            if isinstance(called, ast.Attribute) and called.attr in ("append", "insert", "extend"):
                found.add(f"appends {node.name}")
            is_reverse = isinstance(called, ast.Attribute) and called.attr in ("reverse", "insert")
            if is_reverse or (isinstance(called, ast.Name) and called.id == "reversed"):
                found.add(f"reverses {node.name}")
            name = called.attr if isinstance(called, ast.Attribute) else getattr(called, "id", "")
            found |= {f"calls {node.name} {name}"} - {f"calls {node.name} {n}" for n in names}
            is_inner = isinstance(called, ast.Name) and called.id in names
            if is_inner and id(part) not in within and part.args:
                first = part.args[0]
                is_own = isinstance(first, ast.Name) and first.id == own
                found.add(f"{'starts' if is_own else 'strays'} {node.name}")
        elif isinstance(part, ast.Slice) and isinstance(part.step, ast.UnaryOp):
            found.add(f"reverses {node.name}")
        elif isinstance(part, ast.Compare) and isinstance(part.comparators[0], ast.Constant):
            if isinstance(part.comparators[0].value, str):
                found.add(f"branches {node.name}")
        elif isinstance(part, ast.Compare) and isinstance(part.ops[0], ast.In | ast.NotIn):
            found.add(f"asks {node.name}")
            if isinstance(part.left, ast.Attribute):
                found.add(f"names {node.name}")
    return sorted(found)


def _ends(node: ast.AST) -> bool:
    """Whether a branch sets a gradient to a number, and leaves."""
    body = node.body if isinstance(node, ast.If) else []
    sets = [s for s in body if isinstance(s, ast.Assign) and _gradient(s) is not None]
    is_seed = any(_constant(s.value) for s in sets)
    return is_seed and isinstance(body[-1], ast.Return)


def _is_lent(statement: ast.stmt, function: ast.FunctionDef) -> bool:
    """Whether a statement sets the gradient of something that the function does not know by itself
    to a number."""
    if not isinstance(statement, ast.Assign) or not _constant(statement.value):
        return False
    target = _gradient(statement)
    owner = target.value.id if target is not None and isinstance(target.value, ast.Name) else ""
    own = {a.arg for a in function.args.args} | {
        n.id for n in ast.walk(function) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)
    }
    return owner not in ("", *own)


def _is_replaced(node: ast.AST, later: list[_Place]) -> bool:
    """Whether a class is defined once more, and not made of this one."""
    name = node.name if isinstance(node, ast.ClassDef) else ""
    again = [p.node for p in later if isinstance(p.node, ast.ClassDef) and p.node.name == name]
    return any(name not in map(ast.unparse, other.bases) for other in again)


def _lists_first(visit: ast.FunctionDef) -> bool:
    """Whether a node is appended, or its rule run, before the loop that goes on to others."""
    for part in ast.walk(visit):
        body = getattr(part, "body", [])
        for k, statement in enumerate(body if isinstance(body, list) else []):
            later = body[k + 1 :]
            is_done = _appends(statement) or _runs_a_rule(statement)
            if is_done and any(isinstance(s, ast.For | ast.While) for s in later):
                return True
    return False


def _runs_a_rule(statement: ast.stmt) -> bool:
    call = statement.value if isinstance(statement, ast.Expr) else None
    function = call.func if isinstance(call, ast.Call) and not call.args else None
    return isinstance(function, ast.Attribute) and "back" in function.attr


def _appends(statement: ast.stmt) -> bool:
    call = statement.value if isinstance(statement, ast.Expr) else None
    function = call.func if isinstance(call, ast.Call) else None
    return isinstance(function, ast.Attribute) and function.attr == "append"


def _lists_every_visit(visit: ast.FunctionDef) -> bool:
    """Whether a node is appended beside the question if it was visited, not within."""
    for part in ast.walk(visit):
        body = getattr(part, "body", []) if isinstance(part, ast.FunctionDef | ast.For) else []
        asks = [s for s in body if isinstance(s, ast.If) and _is_membership(s.test)]
        appends = any(_appends(s) for s in body)
        leaves = any(isinstance(s, ast.Return | ast.Continue) for ask in asks for s in ask.body)
        if asks and appends and not leaves:
            return True
    return False


def _forgets_visits(visit: ast.FunctionDef) -> bool:
    """Whether a function that calls itself looks nodes up in what it has just begun anew."""
    begun = {
        target.id
        for statement in visit.body
        if isinstance(statement, ast.Assign)
        and ast.unparse(statement.value) in ("set()", "[]", "{}")
        for target in statement.targets
        if isinstance(target, ast.Name)
    }
    asked = {
        part.comparators[0].id
        for part in ast.walk(visit)
        if isinstance(part, ast.Compare)
        and _is_membership(part)
        and isinstance(part.comparators[0], ast.Name)
    }
    calls = [p.func for p in ast.walk(visit) if isinstance(p, ast.Call)]
    recurs = any(isinstance(f, ast.Name) and f.id == visit.name for f in calls)
    return recurs and bool(begun & asked)


def _is_membership(test: ast.expr) -> bool:
    return isinstance(test, ast.Compare) and isinstance(test.ops[0], ast.In | ast.NotIn)


def _methods(node: ast.ClassDef) -> dict[str, int]:
    """Find the methods that are not decorated away."""
    plain = [n for n in node.body if isinstance(n, ast.FunctionDef) and not n.decorator_list]
    return {f"method {n.name}": n.lineno for n in plain if not _is_helper(n)}


def _is_helper(node: ast.FunctionDef) -> bool:
    """Whether a function of an operation's name wants more than the operand: sigmoid(self, x)."""
    op = _CALLED.get(node.name, "")
    needed = len(node.args.args) - len(node.args.defaults)
    return op != "" and op not in SYMBOLS and needed > 1


def _gradient(node: ast.Assign | ast.AugAssign) -> ast.Attribute | None:
    targets = node.targets if isinstance(node, ast.Assign) else [node.target]
    flat = [t for x in targets for t in (x.elts if isinstance(x, ast.Tuple) else [x])]
    found = (t for t in flat if isinstance(t, ast.Attribute) and t.attr in GRAD)
    return next(found, None)


def _line(marks: dict[str, int], where: str, mark: str = "") -> int | None:
    if where == "assign":  # else wherever a gradient is set
        sets = [line for mark, line in marks.items() if mark.startswith("sets ")]
        return marks.get(where, min(sets, default=None))
    if where == "class":
        return marks.get(where)
    if mark == "hides":  # in the constructor or in an operation
        return min(
            (line for name, line in marks.items() if name.startswith("hides ")), default=None
        )
    functions = functions_of(where)
    called = [f"def {name}" for name in functions]
    found = next((name for name in marks if name in called), None)
    if found is None or where in ("backward", "init", "repr") or mark == "def":
        return None if found is None else marks[found]
    name = found.removeprefix("def ")
    kinds = [mark, "in"] if mark else ["in"]
    if where not in SYMBOLS and where not in NAMES:
        kinds = []
    return next((marks[k] for kind in kinds if (k := f"{kind} {name}") in marks), marks[found])
