"""An expression as a program for minigrad, micrograd or PyTorch, to paste and to run.

The tokens of `expressions.parse` are in postfix order; here they become Python again, with only the
brackets that are needed.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping
from typing import NamedTuple

from ..errors import ExpressionError
from ..expressions import CONSTANTS, Token, names
from .words import say

_PRECEDENCE = {"<": 1, "<=": 1, ">": 1, ">=": 1, "+": 2, "-": 2, "*": 3, "/": 3, "**": 5}
_NEGATION, _ATOM = 4, 6

_LIST = ("sum", "mean", "max", "min", "softmax", "log_softmax", "logsumexp")  # of any number

# What PyTorch calls otherwise. The others are torch.<name>.
_TORCH: dict[str, Callable[[list[str]], str]] = {
    "gelu": lambda x: f"torch.nn.functional.gelu({x[0]})",
    "silu": lambda x: f"torch.nn.functional.silu({x[0]})",
    "softplus": lambda x: f"torch.nn.functional.softplus({x[0]})",
    "leaky_relu": lambda x: f"torch.nn.functional.leaky_relu({x[0]}, 0.01)",
    "ln": lambda x: f"torch.log({x[0]})",
    "clip": lambda x: f"torch.clamp({x[0]}, {x[1]}, {x[2]})",
    **{name: lambda x, name=name: f"torch.{name}({_stacked(x)}, 0)"  # type: ignore[misc]
       for name in ("softmax", "log_softmax", "logsumexp")},
    "sum": lambda x: f"{_stacked(x)}.sum()",
    "mean": lambda x: f"{_stacked(x)}.mean()",
    "max": lambda x: f"{_stacked(x)}.max()",
    "min": lambda x: f"{_stacked(x)}.min()",
}  # fmt: skip


def _stacked(terms: list[str]) -> str:
    if len(terms) == 1 and terms[0].startswith(("torch.softmax(", "torch.log_softmax(")):
        return terms[0]
    return f"torch.stack([{', '.join(terms)}])"


def _tensor(term: Term) -> str:
    """Make a tensor of what is a plain number: functions of PyTorch take nothing else."""
    if not term.is_plain:
        return term.text
    return f"torch.tensor({term.text}{'' if term.binds == 1 else ', dtype=torch.float64'})"


class Term(NamedTuple):
    """A part of an expression, written down."""

    binds: int  # how tightly
    text: str
    is_plain: bool  # whether there is no variable in it

    def within(self, least: int) -> str:
        """Return the text, in brackets unless it binds so tightly."""
        return self.text if self.binds >= least else f"({self.text})"


class _Target(NamedTuple):
    """What a library wants to read."""

    begin: str
    variable: str  # with {name} and {number}
    call: Callable[[str, list[str]], str]
    shows: str  # how to print a gradient
    argument: Callable[[Term], str] = lambda term: term.text
    has: frozenset[str] | None = None  # functions, if it has not all of them


def _minigrad(name: str, terms: list[str]) -> str:
    if name == "ln":
        return f"minigrad.log({terms[0]})"
    if name in ("max", "min"):
        longer = {"max": "maximum", "min": "minimum"}[name]
        folded = terms[0]
        for term in terms[1:]:
            folded = f"minigrad.{longer}({folded}, {term})"
        return folded
    listed = f"[{', '.join(terms)}]" if name in _LIST else ", ".join(terms)
    return f"minigrad.{name}({listed})"


def _torch(name: str, terms: list[str]) -> str:
    return _TORCH[name](terms) if name in _TORCH else f"torch.{name}({', '.join(terms)})"


TARGETS: dict[str, _Target] = {
    "minigrad": _Target(
        "import minigrad\nfrom minigrad import Value\n", 'Value({number}, label="{name}")',
        _minigrad, "{name}.grad",
    ),
    "micrograd": _Target(
        "from micrograd.engine import Value\n", "Value({number})",
        lambda name, terms: f"({terms[0]}).relu()", "{name}.grad", has=frozenset(["relu"]),
    ),
    "pytorch": _Target(
        "import torch\n", "torch.tensor({number}, dtype=torch.float64, requires_grad=True)",
        _torch, "{name}.grad.item()", _tensor,
    ),
}  # fmt: skip


def code_for(target: str, program: list[Token], values: Mapping[str, float], lang: str) -> str:
    """Write a program that works out an expression and prints its gradients."""
    library = TARGETS[target]
    _refuse_what_it_lacks(target, program, lang)
    own = {t.text for t in program if t.kind == "store"}
    free = names(program)
    constants = [n for n in free if n not in values]
    lines = [library.begin]
    lines += [f"{name} = {_written(CONSTANTS[name])}" for name in constants if name in CONSTANTS]
    for name in free:
        if name in values:
            made = library.variable.format(name=name, number=_written(values[name]))
            lines.append(f"{name} = {made}")
    result = "result"
    while result in own or result in values:
        result += "_"
    statements = _statements(program, library, result, constants)
    lines += [f"{name} = {term.text}" for name, term in statements]
    last = statements[-1][0]
    lines.append(f"{last}.backward()")
    number = f"{last}.item()" if target == "pytorch" else f"{last}.data"
    lines.append(f'print("{last} =", {number})')
    for name in free:
        if name in values:
            lines.append(f'print("{name}.grad =", {library.shows.format(name=name)})')
    return "\n".join(lines) + "\n"


def _written(x: float) -> str:
    return repr(float(x)) if math.isfinite(x) else f'float("{x}")'


def _statements(
    program: list[Token], library: _Target, result: str, known: Collection[str]
) -> list[tuple[str, Term]]:
    """Write each statement in infix again; a result without a name gets one."""
    done: list[tuple[str, Term]] = []
    stack: list[Term] = []
    plain = set(known)  # names of plain numbers
    for token in program:
        if token.kind == "number":
            stack.append(Term(_ATOM, _written(float(token.text)), True))
        elif token.kind == "name":
            stack.append(Term(_ATOM, token.text, token.text in plain))
        elif token.kind == "store":
            done.append((token.text, stack.pop()))
            (plain.add if done[-1][1].is_plain else plain.discard)(token.text)
        elif token.kind == "index":
            term = stack.pop()
            stack.append(Term(_ATOM, f"{term.within(_ATOM)}[{token.text}]", term.is_plain))
        elif token.kind == "call":
            terms = stack[-token.arguments :]
            del stack[-token.arguments :]
            text = library.call(token.text, [library.argument(term) for term in terms])
            is_plain = library.argument is not _tensor and all(term.is_plain for term in terms)
            stack.append(Term(_ATOM, text, is_plain))
        elif token.text == "negate":
            term = stack.pop()
            stack.append(Term(_NEGATION, f"-{term.within(_NEGATION)}", term.is_plain))
        else:
            here = _PRECEDENCE[token.text]
            b, a = stack.pop(), stack.pop()
            # a ** -b needs no brackets, and ** groups to the right
            left, right = (here + 1, _NEGATION) if token.text == "**" else (here, here + 1)
            text = f"{a.within(left)} {token.text} {b.within(right)}"
            stack.append(Term(here, text, a.is_plain and b.is_plain))
    if stack:
        done.append((result, stack.pop()))
    return done


def _refuse_what_it_lacks(target: str, program: list[Token], lang: str) -> None:
    library = TARGETS[target]
    if library.has is None:
        return
    lacking = [t.text for t in program if t.kind == "call" and t.text not in library.has]
    if lacking:
        listed = ", ".join(dict.fromkeys(lacking))
        raise ExpressionError(say(lang, "missing", where=target, functions=listed))
