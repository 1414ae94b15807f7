"""Random programs, every way that minigrad can run them, and the rule by which they must agree.

A program is a list of steps over all operations of the table and the functions of many operands,
with what people write around them: numbers that are read, `no_grad()`, choices with a bad side, sums
bracketed in every way, layers with shared weights. `random_program` draws one, `source` spells it as
a Python function, `disagreements` runs it in every way and judges. Start at `check`.

**The reference** is the eager engine: the value, the gradient by `backward()`, second derivatives by
`minigrad.grad(…, create_graph=True)`. Where a slope is nan or infinite there is no second derivative
to speak of, and none is compared.

**The rule.** nan matches nan, inf matches inf of the same sign, and finite numbers agree within a
bound that is computed for this program and these numbers, by a running error analysis (`Ledger`).
Every node of the eager graph is worth its number and a bound of its error, to the first order:

    error(node)  =  own  +  sum of |local derivative| * error(operand)

where `own` is 4 · 2⁻⁵³ of the result (and 2⁻¹⁰⁷⁴, which is where the floats end), nothing for what is
exact, and for additions 4 · 2⁻⁵³ of the *absolute values of all terms* under them, because a program
may add them in another order. Gradients and Hessian-vector products are graphs too
(`create_graph=True`), so the same analysis gives their bounds. A zero that comes from sums may have
either sign; every other zero of a value keeps its own.

**Exceptions.** Beyond the bound a difference has an explanation only if the number depends on
something that the analysis has marked, and each is counted:

- `edge`   the bound of an operand includes a jump or a kink: a comparison that decides a `where`, a
           tie of `max`, 0 for `relu` or `log`, 1 for `asin`, a divisor that may be 0. Exact operands
           (inputs, say) have the bound 0 and are never on an edge.
- `range`  a number within a millionth of where floats overflow, or so small that its lost digits
           leave none to a result.
- `order`  a sum that overflows in one order of its terms and not in another.
- `zero`   a division by (or an `atan2` of, …) a zero that may have either sign.

Everything else is unexplained, and a fault.
"""

from __future__ import annotations

import math
import random
import struct
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from math import inf, isfinite, isnan, nan
from typing import Any

import numpy as np

import minigrad
from minigrad import Value
from minigrad.compiler.backends import native
from minigrad.functions import VALUES
from minigrad.ops import OPS, TABLE

# ---- programs ------------------------------------------------------------------------------------

INFIX = {"add": "+", "sub": "-", "mul": "*", "div": "/", "pow": "**"}
TESTS = {"less": "<", "less_equal": "<=", "greater": ">", "greater_equal": ">="}
LISTS = ("sum", "mean", "logsumexp", "softmax", "log_softmax")
UNARY = tuple(op.name for op in TABLE if op.arity == 1)
PAIRS = ("atan2", "hypot", "maximum", "minimum", "leaky_relu")


@dataclass(frozen=True)
class Program:
    """Steps, results and numbers.

    A step is a tree: an int stands for an earlier result (the inputs first), a float for itself, a
    tuple for an operation. A name with a dot (`minigrad.exp`) is called as a function, others as a
    method or operator. A result is a tree too; the first one is differentiated.
    """

    kinds: tuple[str, ...]  # of the inputs: "float", "value", "int" or "captured"
    steps: tuple[Any, ...]
    results: tuple[Any, ...]
    rows: tuple[tuple[Any, ...], ...]  # numbers for the inputs, one call for each
    direction: tuple[float, ...]  # for Hessian times vector

    @property
    def words(self) -> Counter[str]:
        """How often each operation occurs."""
        found: Counter[str] = Counter()
        for tree in (*self.steps, *self.results):
            found.update(node[0] for node in _nodes(tree))
        return found

    @property
    def is_guarded(self) -> bool:
        """Tell whether rows may take different ways through it."""
        return not {"if", "float", "round"}.isdisjoint(self.words)


def _nodes(tree: Any) -> Iterator[tuple[Any, ...]]:
    if isinstance(tree, tuple):
        yield tree
        for part in tree[1:]:
            yield from _nodes(part)


def _references(tree: Any) -> set[int]:
    if isinstance(tree, tuple):
        return set().union(*map(_references, tree[1:]))
    return {tree} if type(tree) is int else set()


# ---- as Python -----------------------------------------------------------------------------------


def source(program: Program) -> str:
    """Spell a program as the definition of `make(captured…)`, which returns the function."""
    names = [f"{kind[0]}{k}" for k, kind in enumerate(program.kinds)]
    arguments = [n for n, kind in zip(names, program.kinds, strict=True) if kind != "captured"]
    captured = [n for n, kind in zip(names, program.kinds, strict=True) if kind == "captured"]
    lines = [f"def make({', '.join(captured)}):", f"    def f({', '.join(arguments)}):"]
    for k, tree in enumerate(program.steps):
        names.append(f"x{k}")
        if tree[0] == "no_grad":
            lines.append("        with minigrad.no_grad():")
            lines.append(f"            x{k} = {_spelled(tree[1], names)}")
        else:
            lines.append(f"        x{k} = {_spelled(tree, names)}")
    results = [_spelled(tree, names) for tree in program.results]
    lines += [f"        return {', '.join(results)}", "    return f"]
    return "\n".join(lines) + "\n"


def _spelled(tree: Any, names: list[str]) -> str:
    if type(tree) is int:
        return names[tree]
    if not isinstance(tree, tuple):
        return f"({tree!r})" if math.copysign(1.0, tree) < 0 else repr(tree)
    word, *operands = tree
    plain = word.rpartition(".")[2]
    if word == "take":  # an index that is an argument, or a whole number
        index, *operands = operands
        at = names[index[1]] if isinstance(index, tuple) else repr(int(index))
        return f"minigrad.take([{', '.join(_spelled(x, names) for x in operands)}], {at})"
    if word in ("minigrad.softmax", "minigrad.log_softmax"):
        which, *operands = operands
        return f"{word}([{', '.join(_spelled(x, names) for x in operands)}])[{int(which)}]"
    parts = [_spelled(x, names) for x in operands]
    if word in INFIX:
        return f"({parts[0]} {INFIX[word]} {parts[1]})"
    if word in TESTS:
        return f"({parts[0]} {TESTS[word]} {parts[1]})"
    if word in ("both", "either"):
        return f"({parts[0]} {'&' if word == 'both' else '|'} {parts[1]})"
    if word == "but_not":
        return f"({parts[0]} & ~{parts[1]})"
    if word in ("builtin.sum", "builtin.max", "builtin.min") or plain in LISTS:
        name = plain if word.startswith("builtin") else word
        return f"{name}([{', '.join(parts)}])"
    if word == "minigrad.dot":
        half = len(parts) // 2
        return f"minigrad.dot([{', '.join(parts[:half])}], [{', '.join(parts[half:])}])"
    special = {
        "neg": "(-{0})",
        "abs": "abs({0})",
        "read": "{0}.data",
        "detach": "{0}.detach()",
        "float": "float({0}.data)",
        "round": "round({0}.data, 1)",
        "leaf": "minigrad.Value({0})",
        "if": "({1} if {0} else {2})",
        "exp_sub": "minigrad.functions.VALUES.exp_sub({0}, {1})",
    }
    if word in special:
        return special[word].format(*parts)
    if "." in word:
        return f"{word}({', '.join(parts)})"
    return f"{parts[0]}.{word}({', '.join(parts[1:])})"


def function_of(program: Program, captured: list[Value]) -> Any:
    """Return the program as a function that closes over the captured Values."""
    names: dict[str, Any] = {"minigrad": minigrad, "inf": inf, "nan": nan}
    exec(compile(source(program), "<program>", "exec"), names)
    return names["make"](*captured)


# ---- the analysis --------------------------------------------------------------------------------

EDGE, RANGE, ORDER, ZERO = 1, 2, 4, 8
REASONS = {EDGE: "edge", RANGE: "range", ORDER: "order", ZERO: "zero"}
_UNIT = 4 * 2.0**-53
_TINY = 2.0**-1074
_LARGEST = 1.7976931348623157e308
_CLOSE = 1e-6  # how close to the end of the floats is close
_LOG2E = 1.4426950408889634
_MANY_TERMS = 200  # of a sum: beyond, what is under it counts as one term
_EXACT = {"neg", "where", "maximum", "minimum", "clip", "relu", "abs", "leaf"}
_SUMS = {"add", "sum", "dot"}
# Operands, by position, and the numbers where a rule jumps or bends.
_EDGES = {
    "relu": ((0, 0.0),),
    "abs": ((0, 0.0),),
    "leaky_relu": ((0, 0.0),),
    "log": ((0, 0.0),),
    "sqrt": ((0, 0.0),),
    "log1p": ((0, -1.0),),
    "asin": ((0, -1.0), (0, 1.0)),
    "acos": ((0, -1.0), (0, 1.0)),
    "div": ((1, 0.0),),
    "pow": ((0, 0.0),),
}


@dataclass(frozen=True, slots=True)
class Entry:
    """What the analysis knows of a number."""

    number: float
    error: float = 0.0
    doubts: int = 0
    is_loose: bool = False  # a zero that may have either sign
    terms: tuple[float, ...] = ()  # of a sum

    def may_be(self, x: float) -> bool:
        """Tell whether the bound includes `x`; an exact number is on no edge."""
        return self.error > 0.0 and abs(self.number - x) <= self.error


class Ledger:
    """A bound of the error, and doubts, for every node of an eager graph."""

    def __init__(self) -> None:
        self.entries: dict[int, Entry] = {}
        self.alive: list[Value] = []  # ids stay theirs

    def entry(self, x: Any) -> Entry:
        if not isinstance(x, Value):
            return Entry(float(x))
        known = self.entries.get(id(x))
        if known is not None:
            return known
        stack = [x]
        while stack:
            node = stack[-1]
            if id(node) in self.entries:
                stack.pop()
                continue
            missing = [a for a in node._links() if id(a) not in self.entries]
            if missing:
                stack += missing
                continue
            stack.pop()
            self.put(node, self._analysed(node))
        return self.entries[id(x)]

    def put(self, node: Value, entry: Entry) -> None:
        self.entries[id(node)] = entry
        self.alive.append(node)

    def _analysed(self, node: Value) -> Entry:
        y: float = node.data
        name = TABLE[node._code].name
        links = node._links_and_partials()
        if not links:
            return Entry(y)
        error, doubts, is_loose = 0.0, 0, name in _SUMS
        for operand, partial in links:
            known = self.entries[id(operand)]
            doubts |= known.doubts
            is_loose |= known.is_loose
            if known.error:
                error += abs(partial) * known.error
        operands = [self.entry(x) for x in node._arguments()]
        terms: tuple[float, ...] = ()
        if name in _SUMS:
            terms = _terms(name, operands)
            error += _UNIT * sum(map(abs, terms)) if isfinite(y) else 0.0
            doubts |= ORDER if _depends_on_order(terms) else 0
            if name == "dot" and 0.0 < max(map(abs, terms), default=0.0) < 1e-290:
                error += len(terms) * _TINY
        elif name not in _EXACT and not _is_exact(name, y, operands):
            error += _UNIT * abs(y) + _TINY
        doubts |= _doubts(name, y, operands)
        if not isfinite(y):
            error = 0.0
        elif not abs(y) + error < _LARGEST * (1.0 - _CLOSE):
            doubts |= RANGE
            error = inf if isnan(error) else error
        return Entry(y, error, doubts, is_loose and y == 0.0, terms)

    # ---- what is no node of its own -------------------------------------------------------------

    def held(self, x: Value) -> Value:
        """The number of `x`, which no gradient passes but errors do."""
        leaf = Value(x.data)
        self.put(leaf, self.entry(x))
        return leaf

    def doubted(self, x: Any, doubts: int) -> Value:
        """`x` as a node of its own that depends on a decision."""
        node = minigrad.where(True, x, x) if isinstance(x, Value) else Value(x)
        known = self.entry(x)
        self.put(node, replace(known, doubts=known.doubts | doubts))
        return node


def _is_exact(name: str, y: float, operands: list[Entry]) -> bool:
    """Tell whether a result of 0 comes from a 0, so that nothing was rounded."""
    return y == 0.0 and (
        name not in ("mul", "div") or any(x.number == 0.0 and not x.error for x in operands)
    )


def _terms(name: str, operands: list[Entry]) -> tuple[float, ...]:
    """The terms of a sum, with those of the sums under it."""
    if name == "dot":
        half = len(operands) // 2
        pairs = zip(operands[:half], operands[half:], strict=True)
        return tuple(a.number * b.number for a, b in pairs)
    terms: list[float] = []
    for x in operands:
        terms += x.terms or (x.number,)
    return tuple(terms) if len(terms) <= _MANY_TERMS else tuple(x.number for x in operands)


def _depends_on_order(terms: tuple[float, ...]) -> bool:
    """Tell whether a sum overflows in some order and not, or to something else, in another."""
    finite = [t for t in terms if isfinite(t)]
    if max(map(abs, finite), default=0.0) < 1e290 or any(map(isnan, terms)):
        return False
    scale = 2.0**-20
    limit = _LARGEST * scale
    up = sum(t * scale for t in finite if t > 0.0)
    down = -sum(t * scale for t in finite if t < 0.0)
    high, low = (part > limit * (1.0 - _CLOSE) for part in (up, down))
    if inf in terms or -inf in terms:
        return (low if inf in terms else high) and not (inf in terms and -inf in terms)
    return (high and low) or ((high or low) and abs(up - down) <= limit * (1.0 + _CLOSE))


def _doubts(name: str, y: float, operands: list[Entry]) -> int:
    """What may come out otherwise if the operands are a little different."""
    found = 0
    for which, threshold in _EDGES.get(name, ()):
        if operands[which].may_be(threshold):
            found |= EDGE
    if name in ("maximum", "minimum"):
        found |= _compared(operands[0], operands[1])
    elif name == "clip":
        found |= _compared(operands[0], operands[1]) | _compared(operands[0], operands[2])
    elif name == "mul":
        for one, other in (operands, operands[::-1]):
            if abs(one.number) == inf and other.may_be(0.0):
                found |= EDGE
    elif name == "pow":
        base, exponent = operands
        if base.number <= 0.0 and exponent.error:
            found |= EDGE
    elif name in ("atan2", "hypot"):
        first, second = operands
        if (first.may_be(0.0) and second.number <= 0.0) or (
            first.may_be(0.0) and second.may_be(0.0)
        ):
            found |= EDGE
    loose = {"div": operands[1:], "pow": operands[:1], "atan2": operands}.get(name, ())
    if any(x.is_loose for x in loose):
        found |= ZERO
    if abs(y) == inf and all(isfinite(x.number) for x in operands):
        found |= _just_beyond(name, operands)
    return found


def _compared(a: Entry, b: Entry) -> int:
    error = a.error + b.error
    return EDGE if error > 0.0 and abs(a.number - b.number) <= error else 0


def _just_beyond(name: str, operands: list[Entry]) -> int:
    """Tell whether an overflow is so close to the limit that a rounding may undo it."""
    x = operands[0].number
    n = operands[-1].number
    size = 0.0  # the exponent of the result, as it would be
    if name in ("mul", "div") and x and n:
        size = math.log2(abs(x)) + (1 if name == "mul" else -1) * math.log2(abs(n))
    elif name == "pow" and x:
        size = n * math.log2(abs(x))
    elif name in ("exp", "expm1", "exp_sub"):
        size = (x - (n if name == "exp_sub" else 0.0)) * _LOG2E
    elif name in ("sinh", "cosh"):
        size = abs(x) * _LOG2E - 1.0
    elif name in ("hypot", "sub"):
        size = math.log2(abs(OPS[name].value(minigrad.ieee, x / 4.0, n / 4.0))) + 2.0
    spread = 0.0
    for operand in operands:
        spread += operand.error / abs(operand.number) if operand.number else 0.0
    return RANGE if abs(size - 1024.0) <= _CLOSE * 1024.0 + 1024.0 * spread else 0


# ---- a program, analysed -------------------------------------------------------------------------


@dataclass
class Test:
    """The outcome of a comparison, and whether it might have been the other one."""

    holds: bool
    doubts: int


def evaluate(tree: Any, values: list[Any], ledger: Ledger) -> Any:
    """Run a step on Values, and tell the ledger of what the graph does not show."""
    if not isinstance(tree, tuple):
        return values[tree] if type(tree) is int else tree
    word = tree[0]
    plain = word.rpartition(".")[2]
    if word == "take":
        index = tree[1]
        at = values[index[1]] if isinstance(index, tuple) else int(index)
        return ledger.doubted(evaluate(tree[2:][at], values, ledger), 0)
    if plain in ("softmax", "log_softmax"):
        xs = [evaluate(x, values, ledger) for x in tree[2:]]
        found = OPS[plain].value(VALUES, *xs)[int(tree[1])]
        return found if isinstance(found, Value) else Value(found)
    xs = [evaluate(x, values, ledger) for x in tree[1:]]
    if word in TESTS:
        a, b = (ledger.entry(x) for x in xs)
        p, q = a.number, b.number
        holds = {"less": p < q, "less_equal": p <= q, "greater": p > q, "greater_equal": p >= q}
        return Test(holds[word], a.doubts | b.doubts | _compared(a, b))
    if word in ("both", "either", "but_not"):
        p, q = (x.holds for x in xs)
        holds = {"both": p and q, "either": p or q, "but_not": p and not q}[word]
        return Test(holds, xs[0].doubts | xs[1].doubts)
    if plain in ("where", "if"):
        return ledger.doubted(xs[1] if xs[0].holds else xs[2], xs[0].doubts)
    if word in ("read", "detach", "float", "no_grad"):
        return ledger.held(xs[0])
    if word == "round":
        known = ledger.entry(xs[0])
        number = round(known.number, 1)
        jump = known.error and isfinite(number) and 0.05 - abs(number - known.number) <= known.error
        leaf = Value(number)
        ledger.put(leaf, Entry(number, 0.0, known.doubts | (EDGE if jump else 0)))
        return leaf
    if word in ("builtin.max", "builtin.min"):
        chosen = max(xs) if word == "builtin.max" else min(xs)
        known = ledger.entry(chosen)
        doubts = 0
        for x in xs:
            other = ledger.entry(x)
            doubts |= other.doubts | (_compared(known, other) if x is not chosen else 0)
        return ledger.doubted(chosen, doubts)
    if word == "leaf":
        return Value(xs[0])
    if word == "builtin.sum":
        return sum(xs)
    if plain == "logsumexp":
        return OPS[plain].value(VALUES, *xs)
    return minigrad.scalar.apply(OPS[plain], *xs)


@dataclass
class Analysis:
    """What eager runs give for one row, and how far others may be from it."""

    results: list[tuple[Any, Entry]] = field(default_factory=list)
    gradient: list[tuple[float, Entry]] = field(default_factory=list)  # by inputs that are no ints
    second: list[tuple[float, Entry]] = field(default_factory=list)


def _leaves(program: Program, row: tuple[Any, ...]) -> list[Any]:
    return [x if kind == "int" else Value(x) for kind, x in zip(program.kinds, row, strict=True)]


def _floats(program: Program, xs: Any) -> list[Any]:
    """Leave out what belongs to ints."""
    return [x for kind, x in zip(program.kinds, xs, strict=True) if kind != "int"]


def _second(output: Value, inputs: list[Value], direction: list[float], create: bool) -> list[Any]:
    """Differentiate the slope along a direction."""
    slopes = minigrad.grad(output, inputs, create_graph=True)
    along = minigrad.dot(slopes, direction)
    found: list[Any] = minigrad.grad(along, inputs, create_graph=create)
    return found


def call(program: Program, function: Any, leaves: list[Any]) -> tuple[Any, ...]:
    """Call the function of a program; the results, always as a tuple."""
    pairs = zip(program.kinds, leaves, strict=True)
    found = function(*[x for kind, x in pairs if kind != "captured"])
    return found if isinstance(found, tuple) else (found,)


def analyse(program: Program, row: tuple[Any, ...], second: bool = True) -> Analysis:
    """Run a row on the eager engine as it is written, and once more to work out the bounds."""
    analysis = Analysis()
    real = _leaves(program, row)
    captured = [x for kind, x in zip(program.kinds, real, strict=True) if kind == "captured"]
    outputs = call(program, function_of(program, captured), real)
    ledger = Ledger()
    values: list[Any] = _leaves(program, row)
    leaves = _floats(program, values)
    for tree in program.steps:
        values.append(evaluate(tree, values, ledger))
    for tree, output in zip(program.results, outputs, strict=True):
        found = evaluate(tree, values, ledger)
        number = output.data if isinstance(output, Value) else output
        if isinstance(found, Test):
            entry = Entry(float(found.holds), 0.0, found.doubts)
        else:
            entry = ledger.entry(found)
        if judge(number, entry.number, entry) not in ("equal", "within"):
            raise AssertionError(
                f"the analysis has {entry}, the engine {number}\n{source(program)}"
            )
        analysis.results.append((number, entry))
    root = values[program.results[0]]
    doubts = ledger.entry(root).doubts

    def with_doubts(x: Value) -> Entry:
        known = ledger.entry(x)
        return replace(known, doubts=known.doubts | doubts, is_loose=True)

    outputs[0].backward()
    slopes = minigrad.grad(root, leaves, create_graph=True)
    analysis.gradient = [
        (leaf.grad, with_doubts(x)) for leaf, x in zip(_floats(program, real), slopes, strict=True)
    ]
    if second and all(isfinite(slope) for slope, _ in analysis.gradient):
        direction = _floats(program, program.direction)
        expected = _second(outputs[0], _floats(program, real), direction, create=False)
        found = _second(root, leaves, direction, create=True)
        analysis.second = [(x, with_doubts(node)) for x, node in zip(expected, found, strict=True)]
    return analysis


# ---- the rule ------------------------------------------------------------------------------------


def judge(expected: Any, got: Any, entry: Entry) -> str:
    """Return "equal" (bit by bit), "within", the name of an exception, or "unexplained"."""
    expected, got = float(expected), float(got)
    if struct.pack("d", expected) == struct.pack("d", got) or (isnan(expected) and isnan(got)):
        return "equal"
    if expected == got == 0.0:
        if entry.is_loose or entry.error:
            return "within"
    elif isfinite(expected) and isfinite(got) and abs(expected - got) <= entry.error:
        return "within"
    for bit, reason in REASONS.items():
        if entry.doubts & bit:
            return reason
    return "unexplained"


@dataclass(frozen=True)
class Comparison:
    """One number of one way, against the reference."""

    way: str
    expected: float
    got: Any
    error: float
    verdict: str


class Judgement(list[Comparison]):
    """All comparisons of a program."""

    def compare(self, way: str, pairs: list[tuple[Any, Entry]], found: Any) -> None:
        for (expected, entry), got in zip(pairs, found, strict=True):
            verdict = judge(expected, got, entry)
            self.append(Comparison(way, float(expected), got, entry.error, verdict))

    @property
    def faults(self) -> list[Comparison]:
        return [one for one in self if one.verdict == "unexplained"]


# ---- the ways ------------------------------------------------------------------------------------

BACKENDS = ("numpy", "native") if native.available() else ("numpy",)


def check(program: Program, backends: tuple[str, ...] = BACKENDS, second: bool = True) -> Judgement:
    """Run a program in every way, and compare each with the eager engine."""
    analyses = [analyse(program, row, second) for row in program.rows]
    judgement = Judgement()
    for backend in backends:
        for way in (_calls, _batches):
            try:
                way(program, analyses, backend, judgement)
            except (ArithmeticError, LookupError, RuntimeError, TypeError, ValueError) as error:
                told = f"{type(error).__name__}: {error}"
                judgement.append(Comparison(f"{backend}, raised", nan, told, 0.0, "unexplained"))
    return judgement


def _calls(program: Program, analyses: list[Analysis], backend: str, judgement: Judgement) -> None:
    captured = [Value(x) for x in _of_kind(program, program.rows[0], "captured")]
    fast = minigrad.compile(function_of(program, captured), backend=backend)
    for k, (row, analysis) in enumerate(zip(program.rows, analyses, strict=True)):
        for value, x in zip(captured, _of_kind(program, row, "captured"), strict=True):
            value.data, value.grad = x, 0.0
        own = iter(captured)
        leaves: list[Any] = []
        for kind, x in zip(program.kinds, row, strict=True):
            leaves.append(next(own) if kind == "captured" else Value(x) if kind == "value" else x)
        name = f"{backend}, row {k}"
        outputs = call(program, fast, leaves)
        judgement.compare(
            f"{name}, call",
            analysis.results,
            [x.data if isinstance(x, Value) else x for x in outputs],
        )
        outputs[0].backward()
        at = [i for i, x in enumerate(_floats(program, leaves)) if isinstance(x, Value)]
        judgement.compare(
            f"{name}, backward",
            [analysis.gradient[i] for i in at],
            [x.grad for x in leaves if isinstance(x, Value)],
        )
        arguments = [x for x, kind in zip(leaves, program.kinds, strict=True) if kind != "captured"]
        value, grads = fast.value_and_grad(*arguments)
        judgement.compare(f"{name}, value_and_grad", analysis.results[:1], [value])
        judgement.compare(f"{name}, grad", analysis.gradient, _put_back(program, grads, captured))
        if analysis.second:
            vectors = [
                d
                for d, kind in zip(program.direction, program.kinds, strict=True)
                if kind != "captured"
            ]
            along = dict(
                zip(captured, _of_kind(program, program.direction, "captured"), strict=True)
            )
            _, found = fast.hvp(arguments, vectors, along)
            judgement.compare(f"{name}, hvp", analysis.second, _put_back(program, found, captured))


def _of_kind(program: Program, xs: Any, wanted: str) -> list[Any]:
    return [x for kind, x in zip(program.kinds, xs, strict=True) if kind == wanted]


def _put_back(program: Program, grads: Any, captured: list[Value]) -> list[float]:
    """Gradients by arguments and captured Values, in the order of the inputs without ints."""
    of_args = iter(grads.args)
    of_captured = iter(captured)
    found = []
    for kind in program.kinds:
        if kind == "captured":
            value = next(of_captured)
            found.append(grads[value] if value in grads.parameters else 0.0)
        else:
            slope = next(of_args)
            if kind != "int":
                found.append(slope)
    return found


def _batches(
    program: Program, analyses: list[Analysis], backend: str, judgement: Judgement
) -> None:
    """All rows at once: an array for each argument, or a number if it is the same in all rows."""
    columns = list(zip(*program.rows, strict=True))
    captured = [c for c, kind in zip(columns, program.kinds, strict=True) if kind == "captured"]
    if program.is_guarded or any(not _same(column) for column in captured):
        return
    values = [Value(column[0]) for column in captured]
    many = minigrad.vmap(function_of(program, values), backend=backend)
    arguments: list[Any] = []
    for kind, column in zip(program.kinds, columns, strict=True):
        if kind != "captured":
            is_number = kind == "float" and _same(column)
            arguments.append(column[0] if is_number else np.array(column))
    if not any(isinstance(x, np.ndarray) for x in arguments):
        return
    outputs = many(*arguments, threads=1)
    outputs = outputs if isinstance(outputs, tuple) else (outputs,)
    for k, analysis in enumerate(analyses):
        found = [out[k] for out in outputs]
        judgement.compare(f"{backend}, vmap row {k}", analysis.results, found)
    _, grads = many.value_and_grad(*arguments, threads=1)
    totals = dict(zip(map(id, grads.parameters), grads.totals.tolist(), strict=True))
    of_args, of_captured = iter(zip(arguments, grads, strict=True)), iter(values)
    at = 0
    for kind in program.kinds:
        if kind == "captured":
            found = [totals.get(id(next(of_captured)), 0.0)]
            pairs = [_total([a.gradient[at] for a in analyses])]
        else:
            argument, slopes = next(of_args)
            if kind == "int":
                continue
            if isinstance(argument, np.ndarray):
                found, pairs = list(slopes), [a.gradient[at] for a in analyses]
            else:
                found, pairs = [slopes], [_total([a.gradient[at] for a in analyses])]
        judgement.compare(f"{backend}, vmap gradient", pairs, found)
        at += 1


def _same(column: tuple[Any, ...]) -> bool:
    return len({struct.pack("d", x) for x in column}) == 1


def _total(pairs: list[tuple[float, Entry]]) -> tuple[float, Entry]:
    """The sum over rows, with its bound."""
    terms = tuple(x for x, _ in pairs)
    total = minigrad.ieee.sum(terms)
    error, doubts = 0.0, ORDER if _depends_on_order(terms) else 0
    for x, entry in pairs:
        error += entry.error + (_UNIT * abs(x) if isfinite(x) else 0.0)
        doubts |= entry.doubts
    return total, Entry(total, error if isfinite(total) else 0.0, doubts, True)


# ---- drawing programs ----------------------------------------------------------------------------

SPECIAL = (0.0, -0.0, inf, -inf, nan, 1e308, -1e308, 1e-308, -1e-308, 5e-324, 1.0, -1.0, 1e-160,
           -1e160, 709.0, 1e16)  # fmt: skip
EXPONENTS = (2.0, 3.0, -1.0, 0.5, -2.0, 0.0, 1.0, 2.5, -0.5, 4.0)
BAD = (  # sides of a choice that are not chosen where they are bad
    lambda x: ("less", 0.0, x, ("log", x)),
    lambda x: ("less", 0.0, x, ("div", 1.0, x)),
    lambda x: ("less", 0.0, x, ("sqrt", x)),
    lambda x: ("less_equal", x, 1.0, ("minigrad.asin", x)),
    lambda x: ("greater", x, -1.0, ("log1p", x)),
    lambda x: ("less", x, 1.0, ("mul", x, inf)),
    lambda x: ("greater_equal", x, 0.0, ("add", x, nan)),
    lambda x: ("greater_equal", 2.0, x, ("exp", ("mul", x, 500.0))),
    lambda x: ("greater", x, 0.0, ("pow", x, -1.5)),
)


PATTERNS = """unary binary binary pair clip list take where bad_side read settle quiet leaf bracket
products layer attention again again largest""".split()


def random_program(rng: random.Random, most: int = 12) -> Program:
    """Draw a program of up to `most` patterns; `rng` may be hypothesis's, which then shrinks it."""
    drawing = _Drawing(rng)
    drawing.inputs()
    for _ in range(rng.randint(2, most)):
        drawing.pattern()
    return drawing.finished()


class _Drawing:
    """A program in the making, with the numbers of its first row."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.is_wild = rng.random() < 0.35  # infinities, nan and the ends of the floats
        self.kinds: list[str] = []
        self.steps: list[Any] = []
        self.values: list[Any] = []
        self.ledger = Ledger()

    # ---- numbers and operands ---------------------------------------------------------------

    def number(self) -> float:
        if self.is_wild and self.rng.random() < 0.12:
            return self.rng.choice(SPECIAL)
        x = self.rng.uniform(-2.0, 2.0)
        return round(x, 1) + 0.0 if self.rng.random() < 0.3 else x

    def input(self, kind: str) -> Any:
        return self.rng.randint(-2, 2) if kind == "int" else self.number()

    def inputs(self) -> None:
        rng = self.rng
        kinds = [rng.choice(("float", "value")) for _ in range(rng.randint(1, 4))]
        kinds += ["captured"] * rng.choice((0, 1, 2, 4))
        kinds += ["int"] * (rng.random() < 0.3)
        self.kinds = kinds
        self.values = _leaves_of(kinds, [self.input(kind) for kind in kinds])

    def pick(self) -> int:
        """Choose an earlier result, late ones more often."""
        known = [k for k, value in enumerate(self.values) if isinstance(value, Value)]
        late = self.rng.random() < 0.5
        return self.rng.choice(known[-6:] if late else known)

    def picks(self, least: int, most: int) -> list[int]:
        return [self.pick() for _ in range(self.rng.randint(least, most))]

    def operand(self) -> Any:
        if "int" in self.kinds and self.rng.random() < 0.08:
            return self.kinds.index("int")
        return self.number() if self.rng.random() < 0.2 else self.pick()

    def emit(self, tree: Any) -> int:
        """Add a step; tame programs seldom keep one whose number runs away."""
        value = evaluate(tree, self.values, self.ledger)
        number = value.data
        tame = isfinite(number) and abs(number) < 1e4
        if not tame and self.rng.random() < (0.6 if self.is_wild else 0.95):
            return self.pick()
        self.steps.append(tree)
        self.values.append(value)
        return len(self.values) - 1

    # ---- patterns -----------------------------------------------------------------------------

    def pattern(self) -> None:
        getattr(self, f"_{self.rng.choice(PATTERNS)}")()

    def _one(self, x: Any) -> Any:
        """An operation on one operand, by method or by function."""
        name = self.rng.choice(UNARY)
        if name in ("neg", "abs") or self.rng.random() < 0.5:
            return (name, x)
        return (f"minigrad.{name}", x)

    def _two(self, a: Any, b: Any) -> Any:
        name = self.rng.choice((*INFIX, "mul", "add", "exp_sub"))
        if name == "pow" and self.rng.random() < 0.7:
            return ("pow", a, self.rng.choice(EXPONENTS))
        if name == "exp_sub" and type(b) is int and self.kinds[b:] and self.kinds[b] == "int":
            name = "sub"
        if name != "exp_sub" and self.rng.random() < 0.4:
            a, b = b, a
        return (name, a, b)

    def _unary(self) -> None:
        self.emit(self._one(self.pick()))

    def _binary(self) -> None:
        self.emit(self._two(self.pick(), self.operand()))

    def _pair(self) -> None:
        name = self.rng.choice(PAIRS)
        other = self.number() if self.rng.random() < 0.3 else self.pick()
        self.emit((self.rng.choice((name, f"minigrad.{name}")), self.pick(), other))

    def _clip(self) -> None:
        low, high = (self.number() if self.rng.random() < 0.7 else self.pick() for _ in range(2))
        self.emit((self.rng.choice(("clip", "minigrad.clip")), self.pick(), low, high))

    def _list(self) -> None:
        name = self.rng.choice((*LISTS, "dot"))
        xs: list[Any] = self.picks(1, 4)
        if self.rng.random() < 0.2:
            xs.append(self.number())
        if name == "dot":
            xs += [self.pick() for _ in xs]
        if name in ("softmax", "log_softmax"):
            for k in range(len(xs) if self.rng.random() < 0.4 else 1):
                self.emit((f"minigrad.{name}", float(k), *xs))
        else:
            self.emit((f"minigrad.{name}", *xs))

    def _take(self) -> None:
        if "int" in self.kinds:
            index: Any = ("index", self.kinds.index("int"))
        else:
            index = float(self.rng.randint(-2, 2))
        self.emit(("take", index, *self.picks(3, 4)))

    def _test(self) -> Any:
        left: Any = self.pick()
        if self.rng.random() < 0.15:
            left = ("read", left)
        test = (self.rng.choice(list(TESTS)), left, self.operand())
        if self.rng.random() < 0.3:
            other = (self.rng.choice(list(TESTS)), self.operand(), self.pick())
            return (self.rng.choice(("both", "either", "but_not")), test, other)
        return test

    def _where(self) -> None:
        word = "if" if self.rng.random() < 0.1 else "minigrad.where"
        pair = [self.pick(), self._two(self.pick(), self.pick())]
        self.rng.shuffle(pair)
        if word != "if" and self.rng.random() < 0.2:
            pair[0] = self.number()
        if word != "if" and self.rng.random() < 0.1:
            numbers = (self.number(), self.number())
            self.emit(("mul", self.pick(), (word, self._test(), *numbers)))
        else:
            self.emit((word, self._test(), *pair))

    def _bad_side(self) -> None:
        *test, bad = self.rng.choice(BAD)(self.pick())
        self.emit(("minigrad.where", tuple(test), bad, self.pick()))

    def _read(self) -> None:
        read: Any = ("read", self.pick())
        way = self.rng.random()
        if way < 0.3:
            read = (self.rng.choice(("add", "sub", "mul")), read, ("read", self.pick()))
        elif way < 0.5:
            word = self.rng.choice(("builtin.max", "builtin.min"))
            read = (word, read, *(("read", x) for x in self.picks(1, 2)), self.number())
        pair = [read, self.pick()]
        self.rng.shuffle(pair)
        self.emit((self.rng.choice(list(INFIX)), *pair))

    def _settle(self) -> None:
        if self.rng.random() < 0.2:
            word = self.rng.choice(("float", "round"))
            self.emit((self.rng.choice(("add", "mul")), self.pick(), (word, self.pick())))

    def _quiet(self) -> None:
        if self.rng.random() < 0.5:
            self.emit(("detach", self.pick()))
        else:
            self.emit(("no_grad", self._two(self.pick(), self.pick())))

    def _leaf(self) -> None:
        self.emit(("leaf", self.number()))

    def _added(self, terms: list[Any]) -> Any:
        """A sum of terms, in one of the ways to bracket it."""
        way = self.rng.choice(("chain", "right", "tree", "builtin.sum", "minigrad.sum"))
        if "." in way:
            return (way, *terms)
        terms = list(terms)
        while len(terms) > 1:
            if way == "chain":
                terms[:2] = [("add", *terms[:2])]
            elif way == "right":
                terms[-2:] = [("add", *terms[-2:])]
            else:
                terms = [
                    ("add", *terms[k : k + 2]) if k + 1 < len(terms) else terms[k]
                    for k in range(0, len(terms), 2)
                ]
        return terms[0]

    def _bracket(self) -> None:
        terms: list[Any] = self.picks(2, 7)
        if self.rng.random() < 0.3:
            terms[1] = self.number()
        self.emit(self._added(terms))

    def _products(self) -> None:
        pairs: list[Any] = [
            ("mul", self.pick(), self.operand()) for _ in range(self.rng.randint(2, 4))
        ]
        if self.rng.random() < 0.5:
            pairs.insert(self.rng.randint(0, len(pairs)), self.pick())
        self.emit(self._added(pairs))

    def _dots(self, rows: list[list[int]], columns: list[list[int]], start: list[Any]) -> list[int]:
        """All products of rows and columns, each summed in the same way."""
        state = self.rng.getstate()
        found = []
        for row in rows:
            for column, first in zip(columns, start, strict=True):
                self.rng.setstate(state)  # the same brackets everywhere: so they can be grouped
                terms: list[Any] = [("mul", a, b) for a, b in zip(column, row, strict=True)]
                found.append(self.emit(self._added([*terms, *([] if first is None else [first])])))
        return found

    def _layer(self) -> None:
        width = self.rng.randint(1, 3)
        rows = [[self.pick() for _ in range(width)] for _ in range(self.rng.randint(1, 2))]
        columns = [[self.pick() for _ in range(width)] for _ in range(self.rng.randint(1, 3))]
        with_bias = self.rng.random() < 0.5
        start = [self.pick() if with_bias else None for _ in columns]
        activation = self._one(0)[0]
        for x in self._dots(rows, columns, start):
            self.emit((activation, x))

    def _attention(self) -> None:
        """Sums of different lengths: each position looks at those before it."""
        keys = [self.picks(2, 2) for _ in range(self.rng.randint(2, 3))]
        form = self.rng.choice(("minigrad.softmax", "minigrad.log_softmax"))
        for k in range(1, len(keys) + 1):
            query = keys[k - 1]
            scores = [("add", ("mul", query[0], a), ("mul", query[1], b)) for a, b in keys[:k]]
            terms = [("mul", (form, float(j), *scores), keys[j][0]) for j in range(k)]
            self.emit(self._added(terms) if k > 1 else terms[0])

    def _again(self) -> None:
        """The same operations on several operands."""
        name, other = self._one(0)[0], self.operand()
        second = self._two(0, other)
        for _ in range(self.rng.randint(2, 4)):
            x = self.pick()
            inner = tuple((name, x) if part == 0 and type(part) is int else part for part in second)
            self.emit(inner)

    def _largest(self) -> None:
        word = self.rng.choice(("builtin.max", "builtin.min"))
        if self.rng.random() < 0.2:
            self.emit(("add", self.pick(), (word, self.pick(), self.number())))
        else:
            self.emit((word, *self.picks(2, 4)))

    # ---- the end --------------------------------------------------------------------------------

    def finished(self) -> Program:
        rng = self.rng
        if not self.steps:
            self.emit(("add", self.pick(), 0.5))
        if rng.random() < 0.7:  # so that most steps count
            used = set().union(*map(_references, self.steps))
            loose = [k for k in range(len(self.kinds), len(self.values)) if k not in used]
            if len(loose) > 1:
                self.emit(self._added(loose[-6:]))
        results: list[Any] = [len(self.values) - 1]
        while not isinstance(self.values[results[0]], Value):
            results[0] -= 1
        if rng.random() < 0.3:
            results.append(self.pick())
        if rng.random() < 0.15:
            results.append(("read", self.pick()))
        if rng.random() < 0.15:
            results.append((rng.choice(list(TESTS)), self.pick(), self.pick()))
        return Program(
            tuple(self.kinds),
            tuple(self.steps),
            tuple(results),
            self._rows(),
            tuple(0.0 if kind == "int" else round(rng.uniform(-1, 1), 2) for kind in self.kinds),
        )

    def _rows(self) -> tuple[tuple[Any, ...], ...]:
        first = [x.data if isinstance(x, Value) else x for x in self.values[: len(self.kinds)]]
        rows = [first]
        fixed = {"captured"} if self.rng.random() < 0.7 else set()
        still = [self.rng.random() < 0.15 or kind in fixed for kind in self.kinds]
        for _ in range(2):
            kept = zip(first, self.kinds, still, strict=True)
            rows.append([x if stays else self.input(kind) for x, kind, stays in kept])
        return tuple(map(tuple, rows))


def _leaves_of(kinds: list[str], numbers: list[Any]) -> list[Any]:
    return [x if kind == "int" else Value(x) for kind, x in zip(kinds, numbers, strict=True)]


# ---- many programs -------------------------------------------------------------------------------

FEATURES = {
    "functions of many": ("sum", "mean", "dot", "logsumexp", "softmax", "log_softmax"),
    "take": ("take",),
    "max, min": ("max", "min"),
    "where": ("where",),
    "branches": ("if",),
    "numbers read": ("read",),
    "numbers settled": ("float", "round"),
    "no_grad, detach": ("no_grad", "detach"),
}


@dataclass
class Figures:
    """What came of many programs; figures of several lots can be added."""

    programs: int = 0
    features: Counter[str] = field(default_factory=Counter)
    words: Counter[str] = field(default_factory=Counter)
    verdicts: Counter[str] = field(default_factory=Counter)
    bounds: Counter[str] = field(default_factory=Counter)
    faulty: list[int] = field(default_factory=list)  # seeds

    def add(self, seed: int, program: Program, judgement: Judgement) -> None:
        self.programs += 1
        words = {word.rpartition(".")[2] for word in program.words}
        self.words.update(words)
        self.features.update(
            name for name, any_of in FEATURES.items() if not words.isdisjoint(any_of)
        )
        self.features.update(
            {f"{kind} arguments" for kind in program.kinds} - {"captured arguments"}
        )
        self.features.update({"captured Values": "captured" in program.kinds})
        self.features.update({"several results": len(program.results) > 1})
        numbers = [x for row in program.rows for x in row]
        wild = any(not isfinite(x) or (x and not 1e-100 < abs(x) < 1e100) for x in numbers)
        self.features.update({"inf, nan, ends of the range": wild})
        for one in judgement:
            self.verdicts[one.verdict] += 1
            if one.error <= 1e-12 * abs(one.expected) or not isfinite(one.expected):
                self.bounds["at most 1e-12"] += 1
            elif one.error <= 1e-6 * abs(one.expected):
                self.bounds["at most 1e-6"] += 1
            else:
                self.bounds["larger"] += 1
        if judgement.faults:
            self.faulty.append(seed)

    def merge(self, other: Figures) -> None:
        self.programs += other.programs
        for name in ("features", "words", "verdicts", "bounds"):
            getattr(self, name).update(getattr(other, name))
        self.faulty += other.faulty


def program_of(seed: int) -> Program:
    return random_program(random.Random(seed))


def survey(seeds: range) -> Figures:
    """Check the programs of these seeds; second derivatives, which are dear, of every other one."""
    figures = Figures()
    for seed in seeds:
        program = program_of(seed)
        figures.add(seed, program, check(program, second=seed % 2 == 0))
    return figures


def told(seed: int) -> str:
    """The first fault of a seed's program, as small as it can be made."""
    program = program_of(seed)
    fault = check(program).faults[0]
    return f"# seed {seed}\n{reproduction(*shrunk(program, fault))}"


# ---- making a failing program small --------------------------------------------------------------


def faults_of(program: Program, wanted: Comparison) -> list[Comparison]:
    """The faults of the same kind as one that is known; none if the program makes no sense."""
    backend, *_, kind = wanted.way.split(", ")
    try:
        judgement = check(program, (backend,), second=kind == "hvp")
    except Exception:  # it was cut too far, and does not even run eagerly
        return []
    return [
        one
        for one in judgement.faults
        if one.way.split(", ")[-1] == kind and type(one.got) is type(wanted.got)
    ]


def shrunk(program: Program, wanted: Comparison, tries: int = 600) -> tuple[Program, Comparison]:
    """Delete whatever the fault does not need; return the program, and the fault in it."""
    changed = True
    while changed and tries > 0:
        changed = False
        for smaller in _smaller(program):
            tries -= 1
            faults = faults_of(smaller, wanted)
            if faults:
                program, wanted, changed = smaller, faults[0], True
                break
            if tries <= 0:
                break
    return program, wanted


def _smaller(program: Program) -> Iterator[Program]:
    """Programs with something left out, the largest cuts first."""
    count = len(program.kinds)
    for k in range(len(program.rows)):
        if len(program.rows) > 1:
            yield replace(program, rows=(program.rows[k],))
    for k in range(len(program.rows)):
        if len(program.rows) > 2:
            yield replace(program, rows=(*program.rows[:k], *program.rows[k + 1 :]))
    if len(program.results) > 1:
        for result in program.results:
            if type(result) is int:
                yield replace(program, results=(result,))
        for k in range(1, len(program.results)):
            yield replace(program, results=(*program.results[:k], *program.results[k + 1 :]))
    for k in range(len(program.steps) - 1, -1, -1):
        yield from (
            _without(program, count + k, x)
            for x in sorted(_references(program.steps[k]) | {0, count - 1}, reverse=True)
            if x < count + k
        )
    for k, tree in enumerate(program.steps):
        for simpler in _simpler(tree):
            yield replace(program, steps=(*program.steps[:k], simpler, *program.steps[k + 1 :]))
    used = set().union(*map(_references, (*program.steps, *program.results)))
    for k in range(count):
        if k not in used and count > 1:
            yield _without(program, k, k)
    for k, kind in enumerate(program.kinds):
        if kind in ("captured", "float"):
            kinds = (*program.kinds[:k], "value", *program.kinds[k + 1 :])
            yield replace(program, kinds=kinds)
    for at, row in enumerate(program.rows):
        for k, x in enumerate(row):
            for simpler in (0.0, 1.0, 2.0, round(x, 1) if isfinite(x) else 0.0):
                if program.kinds[k] != "int" and _rank(simpler) < _rank(x):
                    rows = [list(r) for r in program.rows]
                    rows[at][k] = simpler
                    yield replace(program, rows=tuple(map(tuple, rows)))
    for k, x in enumerate(program.direction):
        if x not in (0.0, 1.0):
            for simpler in (0.0, 1.0):
                yield replace(
                    program,
                    direction=(*program.direction[:k], simpler, *program.direction[k + 1 :]),
                )


def _rank(x: float) -> int:
    return len(repr(x)) + (x not in (0.0, 1.0, 2.0))


def _simpler(tree: Any) -> Iterator[Any]:
    """The tree with one of its parts in place of something around it."""
    if not isinstance(tree, tuple):
        return
    for part in tree[1:]:
        if isinstance(part, tuple) and part[0] != "index":
            yield part
    if len(tree) > 3 and (tree[0] in ("builtin.sum", "builtin.max", "builtin.min", "minigrad.sum")):
        for k in range(1, len(tree)):
            yield (*tree[:k], *tree[k + 1 :])
    for k, part in enumerate(tree[1:], start=1):
        for simpler in (*_references(part), *_simpler(part)) if isinstance(part, tuple) else ():
            yield (*tree[:k], simpler, *tree[k + 1 :])


def _without(program: Program, gone: int, instead: int) -> Program:
    """Leave out an input or a step; what referred to it refers to another one."""

    def moved(tree: Any) -> Any:
        if isinstance(tree, tuple):
            return (tree[0], *map(moved, tree[1:]))
        if type(tree) is not int:
            return tree
        at = instead if tree == gone else tree
        return at - (at > gone)

    count = len(program.kinds)
    steps = [tree for k, tree in enumerate(program.steps) if count + k != gone]
    return replace(
        program,
        kinds=tuple(x for k, x in enumerate(program.kinds) if k != gone),
        steps=tuple(map(moved, steps)),
        results=tuple(map(moved, program.results)),
        rows=tuple(tuple(x for k, x in enumerate(row) if k != gone) for row in program.rows),
        direction=tuple(x for k, x in enumerate(program.direction) if k != gone),
    )


def reproduction(program: Program, fault: Comparison) -> str:
    """A program and its fault as text that can be run."""
    names = [f"{kind[0]}{k}" for k, kind in enumerate(program.kinds)]
    captured = [f"minigrad.Value({x!r})" for x in _of_kind(program, program.rows[0], "captured")]
    lines = ["import minigrad", "from math import inf, nan", source(program).rstrip()]
    lines.append(f"f = make({', '.join(captured)})")
    for row in program.rows:
        numbers = ", ".join(f"{n}={x!r}" for n, x in zip(names, row, strict=True))
        lines.append(f"# numbers: {numbers}")
    lines.append(f"# direction of hvp: {', '.join(map(str, program.direction))}")
    lines.append(f"# {fault.way}: eager {fault.expected!r}, here {fault.got!r}")
    lines.append(f"# bound of the difference: {fault.error!r}")
    return "\n".join(lines)
