"""An expression as a program for minigrad, micrograd or PyTorch, to paste and to run.

The tokens of `expressions.parse` are in postfix order; here they become Python again, with only the
brackets that are needed. What Python does otherwise than the expression language is seen to: names
that it or the program needs, plain numbers whose division it refuses, brackets deeper than it
reads, a name that is given twice.

Start at `code_for`; `_Writer` goes through the tokens as `expressions.evaluate` does.
"""

from __future__ import annotations

import keyword
import math
from collections.abc import Mapping
from typing import Any, NamedTuple

from ..errors import ExpressionError
from ..expressions import CONSTANTS, FUNCTIONS, Token, applied, names, operands_of
from .words import say

_PRECEDENCE = {"<": 1, "<=": 1, ">": 1, ">=": 1, "+": 2, "-": 2, "*": 3, "/": 3, "**": 5}
_COMPARISON, _NEGATION, _ATOM = 1, 4, 6
_DEEPEST = 90  # operations inside each other in a line: Python reads 200 brackets at most

_SHALLOW = 200  # tokens, the graph of which every Python can go through by calls inside each other

_LIST = ("sum", "mean", "max", "min", "softmax", "log_softmax", "logsumexp")  # of any number
_EXTREMES = {"max": "maximum", "min": "minimum"}
_BUILTINS = frozenset(["print", "float"])  # what every exported program calls


class Term(NamedTuple):
    """A part of an expression, written down."""

    binds: int  # how tightly
    text: str
    number: Any  # what it is, by the rules of expressions; a list, if it is several numbers
    is_plain: bool = True  # whether it is no node of the library's
    inputs: frozenset[str] = frozenset()  # those that it has a gradient to
    depth: int = 0  # of operations inside each other

    def within(self, least: int) -> str:
        """Return the text, in brackets unless it binds so tightly."""
        return self.text if self.binds >= least else f"({self.text})"

    def among(self) -> str:
        """Return the text as an element of a list: several numbers are as many elements."""
        return f"*{self.text}" if type(self.number) is list else self.text


def _listed(terms: list[Term]) -> str:
    if len(terms) == 1 and type(terms[0].number) is list:
        return terms[0].text
    return f"[{', '.join(term.among() for term in terms)}]"


def _extreme(function: str, terms: list[Term]) -> str:
    """Take two at a time, from the left, as expressions do: ties have the same gradients then."""
    if any(type(term.number) is list for term in terms):
        return f"functools.reduce({function}, {_listed(terms)})"
    folded = terms[0].text if len(terms) > 1 else terms[0].within(_ATOM)
    for term in terms[1:]:
        folded = f"{function}({folded}, {term.text})"
    return folded


class _Library:
    """What a library wants to read; here minigrad itself."""

    name = "minigrad"
    begin = "import minigrad\nfrom minigrad import Value\n"
    needs = frozenset(["minigrad", "Value", "functools"])
    variable = 'Value({number}, label="{name}")'
    result = "{name}.data"
    gradient = "{name}.grad"
    has = frozenset(FUNCTIONS)

    def __init__(self, lang: str) -> None:
        self.lang = lang

    def head(self, program: list[Token], lines: list[tuple[str, str]]) -> str:
        """Write the imports that these lines need."""
        is_reduced = any("functools." in text for _, text in lines)
        return f"import functools\n\n{self.begin}" if is_reduced else self.begin

    def call(self, name: str, terms: list[Term]) -> tuple[str, bool]:
        """Write the call of a function; tell whether it makes a plain number of plain numbers."""
        if name in _EXTREMES:
            return _extreme(f"minigrad.{_EXTREMES[name]}", terms), True
        own = "log" if name == "ln" else name
        listed = _listed(terms) if name in _LIST else ", ".join(term.text for term in terms)
        return f"minigrad.{own}({listed})", True

    def check(self, symbol: str, a: Term, b: Term) -> None:
        """Refuse an operation on its nodes that it cannot do."""

    def print_gradient(self, name: str, own: str, is_reached: bool) -> str:
        """Write the line that prints the gradient of an input."""
        return f'print("{name}.grad =", {self.gradient.format(name=own)})'


class _Micrograd(_Library):
    """It has few operations, and the arithmetic of Python's own numbers."""

    name = "micrograd"
    begin = "from micrograd.engine import Value\n"
    needs = frozenset(["Value", "sys"])
    variable = "Value({number})"
    has = frozenset(["relu"])

    def head(self, program: list[Token], lines: list[tuple[str, str]]) -> str:
        if len(program) < _SHALLOW:
            return self.begin
        limit = f"sys.setrecursionlimit({10 * len(program)})"
        return f"import sys\n\n{self.begin}\n{limit}  # {say(self.lang, 'recursion')}\n"

    def call(self, name: str, terms: list[Term]) -> tuple[str, bool]:
        (term,) = terms
        node = f"Value({term.text})" if term.is_plain else term.within(_ATOM)
        return f"{node}.{name}()", False

    def check(self, symbol: str, a: Term, b: Term) -> None:
        if symbol == "**" and not b.is_plain:
            raise ExpressionError(say(self.lang, "missing", where=self.name, functions="a**b"))
        if symbol not in ("/", "**"):
            return
        # a/b is a * b**-1 there, and the slope of a power is a power again.
        base, exponent = (a, b.number) if symbol == "**" else (b, -1.0)
        exponents = [exponent] if base.is_plain else [exponent, exponent - 1.0]
        if not all(_python_can("**", base.number, each) for each in exponents):
            what = f"{base.number:.6g}**{exponent:.6g}"
            raise ExpressionError(say(self.lang, "python arithmetic", where=self.name, what=what))


class _PyTorch(_Library):
    """Its functions take tensors alone, and an input that was not reached has no gradient."""

    name = "pytorch"
    begin = "import torch\n"
    needs = frozenset(["torch", "functools"])
    variable = "torch.tensor({number}, dtype=torch.float64, requires_grad=True)"
    result = "{name}.item()"
    gradient = "{name}.grad.item()"

    def call(self, name: str, terms: list[Term]) -> tuple[str, bool]:
        tensors = [term._replace(text=self._tensor(term)) for term in terms]
        if name in _EXTREMES:
            return _extreme(f"torch.{_EXTREMES[name]}", tensors), False
        if name in _LIST:
            is_whole = len(terms) == 1 and type(terms[0].number) is list
            stacked = tensors[0].text if is_whole else f"torch.stack({_listed(tensors)})"
            if name in ("sum", "mean"):
                return f"{stacked}.{name}()", False
            return f"torch.{name}({stacked}, 0)", False
        if name == "clip" and not terms[1].number <= terms[2].number:
            x, low, high = (each.text for each in tensors)  # torch.clamp has other rules for this
            return f"torch.where({x} < {low}, {low}, torch.where({x} > {high}, {high}, {x}))", False
        own, more = _TORCH.get(name, (name, ""))
        return f"torch.{own}({', '.join(each.text for each in tensors)}{more})", False

    def _tensor(self, term: Term) -> str:
        if not term.is_plain:
            return term.text
        kind = "" if term.binds == _COMPARISON else ", dtype=torch.float64"
        return f"torch.tensor({term.text}{kind})"

    def print_gradient(self, name: str, own: str, is_reached: bool) -> str:
        if is_reached:
            return super().print_gradient(name, own, is_reached)
        return f'print("{name}.grad =", 0.0)  # {say(self.lang, "not reached", name=name)}'


# What PyTorch calls otherwise, and what it wants besides. The others are torch.<name>.
_TORCH = {
    **{name: (f"nn.functional.{name}", "") for name in ("gelu", "silu", "softplus")},
    "leaky_relu": ("nn.functional.leaky_relu", ", 0.01"),
    "ln": ("log", ""),
    "clip": ("clamp", ""),
}  # fmt: skip

TARGETS: dict[str, type[_Library]] = {
    library.name: library for library in (_Library, _Micrograd, _PyTorch)
}


def code_for(target: str, program: list[Token], values: Mapping[str, float], lang: str) -> str:
    """Write a program that works out an expression and prints its gradients.

    The expression is one that `evaluate` makes a node of with these values.
    """
    library = TARGETS[target](lang)
    called = dict.fromkeys(token.text for token in program if token.kind == "call")
    lacking = [name for name in called if name not in library.has]
    if lacking:
        raise ExpressionError(say(lang, "missing", where=target, functions=", ".join(lacking)))
    writer = _Writer(library, program, values)
    for token in program:
        writer.read(token)
    last, term = writer.finish()
    lines = [library.head(program, writer.lines)]
    renamed = [f"{name} → {own}" for name, own in writer.renamed]
    if renamed:
        lines.append(f"# {say(lang, 'renamed', names=', '.join(renamed))}")
    lines += [f"{name} = {text}" for name, text in writer.lines]
    own = term.text
    lines += [f"{own}.backward()", f'print("{last} =", {library.result.format(name=own)})']
    for name in values:
        given = writer.inputs[name]
        lines.append(library.print_gradient(name, given, given in term.inputs))
    return "\n".join(lines) + "\n"


class _Writer:
    """The lines of a program, and what each name stands for at this point of it."""

    def __init__(
        self, library: _Library, program: list[Token], values: Mapping[str, float]
    ) -> None:
        self.library = library
        free = names(program)
        stored = dict.fromkeys(token.text for token in program if token.kind == "store")
        self.taken = {*free, *stored, *keyword.kwlist, *_BUILTINS, *library.needs}
        self.renamed: list[tuple[str, str]] = []
        self.lines: list[tuple[str, str]] = []
        self.stack: list[Term] = []
        self.last = ("", Term(_ATOM, "", 0.0))
        self.inputs: dict[str, str] = {}
        self.known: dict[str, Term] = {}
        for name in sorted(free, key=values.__contains__):  # constants first
            self._begin(name, values)
        self.targets = {name: self._own(name, name in values) for name in stored}

    def _begin(self, name: str, values: Mapping[str, float]) -> None:
        own = self._own(name)
        if name in values:
            x, is_plain = float(values[name]), False
            written = self.library.variable.format(name=name, number=_written(x))
            self.inputs[name] = own
        else:
            x, is_plain = CONSTANTS[name], True
            written = _written(x)
        self.known[name] = Term(_ATOM, own, x, is_plain, frozenset([own] * (not is_plain)))
        self.lines.append((own, written))

    def _own(self, name: str, is_input: bool = False) -> str:
        """Return what a name is called in the program: something else, if that is taken."""
        is_python = name.startswith("__") and name.endswith("__")
        reserved = name in keyword.kwlist or name in _BUILTINS or name in self.library.needs
        if not (is_python or reserved or is_input):
            return name
        own = self._fresh(f"{name.strip('_') or 'x'}_" if is_python else name)
        self.renamed.append((name, own))
        return own

    def _fresh(self, name: str) -> str:
        while name in self.taken:
            name += "_"
        self.taken.add(name)
        return name

    def read(self, token: Token) -> None:
        """Take a token, as `evaluate` does."""
        if token.kind == "number":
            x = float(token.text)
            self.stack.append(Term(_ATOM, _written(x), x))
        elif token.kind == "name":
            self.stack.append(self.known[token.text])
        elif token.kind == "store":
            self._store(self.targets[token.text], token.text)
        else:
            count = operands_of(token)
            terms = self.stack[-count:]
            del self.stack[-count:]
            term = self._applied(token, terms)._replace(depth=1 + max(t.depth for t in terms))
            self.stack.append(term if term.depth < _DEEPEST else self._aside(term))

    def finish(self) -> tuple[str, Term]:
        """End with a result that has a name; return both."""
        if self.stack:
            result = self._fresh("result")
            self._store(result, result)
        return self.last

    def _store(self, own: str, name: str) -> None:
        term = self.stack.pop()
        self.lines.append((own, term.text))
        self.known[name] = term._replace(binds=_ATOM, text=own, depth=0)
        self.last = name, self.known[name]

    def _aside(self, term: Term) -> Term:
        """Give a part that is deep enough a line of its own."""
        if term.binds == _COMPARISON:
            return term  # it is written inside of a `where`
        own = self._fresh("part")
        self.lines.append((own, term.text))
        return term._replace(binds=_ATOM, text=own, depth=0)

    def _applied(self, token: Token, terms: list[Term]) -> Term:
        whole = Term(
            _ATOM,
            "",
            applied(token, [term.number for term in terms]),
            all(term.is_plain for term in terms),
            frozenset[str]().union(*(term.inputs for term in terms)),
        )
        if token.kind == "index":
            return whole._replace(text=f"{terms[0].within(_ATOM)}[{token.text}]")
        if token.kind == "call":
            text, stays_plain = self.library.call(token.text, terms)
            return whole._replace(text=text, is_plain=whole.is_plain and stays_plain)
        if token.text == "negate":
            return whole._replace(text=f"-{terms[0].within(_NEGATION)}", binds=_NEGATION)
        return self._infix(whole, token.text, *terms)

    def _infix(self, whole: Term, symbol: str, a: Term, b: Term) -> Term:
        if not whole.is_plain:
            self.library.check(symbol, a, b)
        elif not _python_can(symbol, a.number, b.number):
            return whole._replace(text=_written(whole.number))  # 1/0 is inf, in expressions
        here = _PRECEDENCE[symbol]
        # a ** -b needs no brackets, and ** groups to the right
        left, right = (here + 1, _NEGATION) if symbol == "**" else (here, here + 1)
        text = f"{a.within(left)} {symbol} {b.within(right)}"
        inputs = whole.inputs if here > _COMPARISON else frozenset()  # a choice has no slope
        return whole._replace(binds=here, text=text, inputs=inputs)


def _written(x: float) -> str:
    return repr(float(x)) if math.isfinite(x) else f'float("{x}")'


def _python_can(symbol: str, a: float, b: float) -> bool:
    """Tell whether Python's floats have a result: no error, and no complex number."""
    try:
        return symbol not in ("/", "**") or isinstance(a / b if symbol == "/" else a**b, float)
    except ArithmeticError:
        return False
