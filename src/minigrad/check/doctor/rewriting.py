"""A function of somebody's engine as a tree: what is known of it, and how it is changed.

`edits.py` and `formulas.py` say what to change. This runs in the sandbox.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from .dialect import BACKWARD, DATA, GRAD, NAMES, SPECIAL

LONGEST = 160  # characters of a line that is told
OPERATION_OF = {name: op for op, names in NAMES.items() for name in names} | {
    name: op for op, name in SPECIAL.items()
}
# What an operation is called in a table, a test or the name of a class.
WORDS = {
    "+": "add", "*": "mul", "-": "sub", "/": "div", "**": "pow", "^": "pow", "addition": "add",
    "subtraction": "sub", "multiplication": "mul", "mult": "mul", "division": "div", "ln": "log",
    "negation": "neg", "exponential": "exp", "logarithm": "log", "powerop": "pow",
} | {name.lower(): op for op, names in NAMES.items() for name in names}  # fmt: skip
ENDINGS = ("backward", "function", "operation", "gradfn", "grad", "node", "op", "fn", "_")
T = TypeVar("T", bound=ast.AST)
Change = Callable[[ast.AST], ast.AST | list[ast.AST] | None]


@dataclass(frozen=True, slots=True)
class Edit:
    """A function with a change in it, and the line before and after."""

    kind: str
    line: int
    before: ast.AST
    after: ast.AST | None
    function: ast.FunctionDef
    op: str = ""  # the operation that the branch is for which is changed

    @property
    def old(self) -> str:
        """The statement as it is."""
        return _written(self.before)

    @property
    def new(self) -> str:
        """The statement as it may have been meant."""
        return _written(self.after)


def operation_in(function: str, owner: str) -> str:
    """Name the operation that a function is for, by itself or by the class around it."""
    word = function.lower()
    for part in ("backward", "backprop", "gradient", "grad"):
        word = word.replace(part, "")
    is_rule = word != function.lower()
    named = OPERATION_OF.get(function, "") or (WORDS.get(word.strip("_"), "") if is_rule else "")
    return named or operation_of_class(owner)


def asked_for(test: ast.expr) -> str:
    """Name the operation that a branch is for: `if v._op == "*"`."""
    if not (isinstance(test, ast.Compare) and isinstance(test.ops[0], ast.Eq)):
        return ""
    asked = test.comparators[0]
    is_text = isinstance(asked, ast.Constant) and isinstance(asked.value, str)
    return WORDS.get(str(asked.value).lower(), "") if is_text else ""  # type: ignore[attr-defined]


def operation_of_class(name: str) -> str:
    """Name the operation that a class is for: Mul, MulOp, AddBackward."""
    word = name.lower()
    for ending in ENDINGS * 2:
        word = word.removesuffix(ending)
    return WORDS.get(word.strip("_"), "")


def pass_in(words: dict[str, str]) -> str:
    """Return the name of the pass itself, of how it is started: run, of Tape().run(v)."""
    return words.get("backward", "").rpartition("(")[0].rpartition(".")[2]


class Function:
    """A function: what is known of it, and how it is changed."""

    def __init__(
        self, function: ast.FunctionDef, words: dict[str, str], hook: str, owner: str
    ) -> None:
        self.function, self.hook = function, hook
        self.nodes = [*ast.walk(function)]
        self.data = {words.get("data", "data"), *DATA}
        self.grad = {words.get("grad", "grad"), *GRAD}
        self.number, self.slope = _name(words, "data"), _name(words, "grad")
        self.cls = words.get("class", "")
        self.inner = [n for n in self.nodes[1:] if isinstance(n, ast.FunctionDef)]
        self.arguments = [a.arg for a in function.args.args]
        self.op = operation_in(function.name, owner)
        self.is_operation = function.name in OPERATION_OF
        self.out = self._result()
        self.statement_of: dict[int, int] = {}
        places = {id(node): k for k, node in enumerate(self.nodes)}
        self.places = places
        for k, node in enumerate(self.nodes):  # outer ones first
            if isinstance(node, ast.stmt):
                self.statement_of |= {places[id(inner)]: k for inner in ast.walk(node)}
        skipped = [function.args, function.returns, *function.decorator_list]
        self.skipped = {id(n) for part in skipped if part for n in ast.walk(part)}
        self.bases = {  # of attributes
            places[id(n.value)] for n in self.nodes if isinstance(n, ast.Attribute)
        }
        self.gradients = [k for k, n in enumerate(self.nodes) if self.target(n) is not None]
        self.is_pass = function.name in (*BACKWARD, pass_in(words))
        self.branches = {
            id(n): op
            for node in self.nodes
            if isinstance(node, ast.If) and (op := asked_for(node.test))
            for statement in node.body
            for n in ast.walk(statement)
        }
        self.given = {  # to the function around a node, if that is inside of this one
            id(n): [a.arg for a in inner.args.args] for inner in self.inner for n in ast.walk(inner)
        }

    # ---- what is known of the function ----------------------------------------------------------

    def _result(self) -> str:
        """Return the name of what the operation gives: out."""
        returned = [
            n.value.id
            for n in self.function.body
            if isinstance(n, ast.Return) and isinstance(n.value, ast.Name)
        ]
        return returned[-1] if returned else ""

    def target(self, node: ast.AST) -> ast.Attribute | None:
        """Return the gradient that a statement sets, if it does."""
        if isinstance(node, ast.Assign) and len(node.targets) == 1:
            target = node.targets[0]
        elif isinstance(node, ast.AugAssign):
            target = node.target
        else:
            return None
        is_gradient = isinstance(target, ast.Attribute) and target.attr in self.grad
        return target if is_gradient and isinstance(target, ast.Attribute) else None

    def incoming(self) -> str:
        """Write the gradient that comes in: out.grad, or the argument of a rule."""
        if self.out and self.inner:
            given = [a.arg for a in self.inner[0].args.args if a.arg != "self"]
            return given[0] if len(given) == 1 else f"{self.out}.{self.slope}"
        given = [name for name in self.arguments if "grad" in name or name in ("g", "upstream")]
        return given[-1] if given else ""

    # ---- making an edit -------------------------------------------------------------------------

    def edit(self, kind: str, changes: dict[int, Change]) -> Edit | None:
        copied = copy_of(self.function)
        nodes = [*ast.walk(copied)]
        first = min(changes)
        place = self.statement_of.get(first, first)
        before = nodes[place]
        for k, change in changes.items():
            made = change(nodes[k])
            if made is not nodes[k]:
                put(copied, nodes[k], made)
            if k == place:
                before = made[-1] if isinstance(made, list) and made else made  # type: ignore[assignment]
        ast.fix_missing_locations(copied)
        line = getattr(self.nodes[place], "lineno", self.function.lineno)
        ops = {self.branches.get(id(self.nodes[k]), "") for k in changes}
        op = ops.pop() if len(ops) == 1 else ""
        return Edit(kind, line, self.nodes[place], before, copied, op)


def _name(words: dict[str, str], what: str) -> str:
    """Return what something is called, if it is an attribute: gradients may be in a dict."""
    found = words.get(what, what)
    return found if found.isidentifier() else what


def copy_of(node: T) -> T:
    """Copy a tree; what has no parts, such as Load and Add, stays shared, as the parser has it."""
    made = type(node).__new__(type(node))
    known = {*node._fields, *node._attributes}  # others hang on more: IPython, a way to the parent
    for name, value in vars(node).items():
        if name in known:
            setattr(made, name, _copied_part(value))
    return made


def _copied_part(value: object) -> object:
    if isinstance(value, list):
        return [copy_of(part) if isinstance(part, ast.AST) else part for part in value]
    return copy_of(value) if isinstance(value, ast.AST) and value._fields else value


def put(tree: ast.AST, old: ast.AST, new: ast.AST | list[ast.AST] | None) -> None:
    """Put a node, or several statements, in the place of another one."""
    for parent in ast.walk(tree):
        for name, value in ast.iter_fields(parent):
            if value is old:
                setattr(parent, name, new)
                return
            if isinstance(value, list) and any(item is old for item in value):
                at = next(k for k, item in enumerate(value) if item is old)
                value[at : at + 1] = new if isinstance(new, list) else [new]
                return


def _written(node: ast.AST | None) -> str:
    """Write a statement, or the head of one that has others in it."""
    try:
        text = ast.unparse(node) if isinstance(node, ast.AST) else ""
    except (ValueError, RecursionError, AttributeError, TypeError):
        text = ""
    return text.partition("\n")[0][:LONGEST]
