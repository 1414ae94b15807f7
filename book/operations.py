"""The reference of operations, docs/ops.md: a section for each row of the op table."""

from __future__ import annotations

from minigrad import functions
from minigrad.core.ops import TABLE, Op
from minigrad.scalar import Value

from .formulas import MANY, OPERATORS, Formula, latex

HEAD = """# All operations

Made from the op table by `python docs/generate.py`. Every operation is within 4 ulp of the true
value, and so are its partial derivatives, over the interval that the tests sample and at awkward
points besides. (Where a result is a sum of terms that cancel, as in `sum` or in the derivative of
`gelu` near its zero, the ulp is that of the largest term.) Arguments are Values or plain numbers.

Over the whole range of floats, from the smallest to the largest, values are within 4 ulp times
their condition number, first derivatives within 8 ulp times theirs, and second derivatives, by
`hessian` or by `hvp`, within 16. (That number says how much a relative error of the arguments is
magnified, and is at least 1; in second derivatives of `softmax`, arguments below 1 count as 1.
Where an entry of the matrix overflows, `hvp` has 0 times infinity in it and is nan; so is the
second derivative of 0 divided by a number below 2.2e-308.) `tests/accuracy.py` measures it. Most
rows that stand inside other operations are slopes, so that a second derivative is the first one of
a row, within 8 ulp, and not a difference of large numbers.
"""
INSIDE = """
## Inside other operations

Rows that nobody calls: derivatives of the others, so that second derivatives are as accurate.

| row | what it is | sampled |
|---|---|---|
"""
SPELLED = {
    "add": "a + b", "sub": "a - b", "mul": "a * b", "div": "a / b", "neg": "-x", "pow": "x ** n",
    "where": "where(condition, a, b)", "take": "take(xs, index)", "dot": "dot(xs, ys)",
    "clip": "clip(x, low, high)", "leaky_relu": "leaky_relu(x, slope)", "atan2": "atan2(y, x)",
}  # fmt: skip
ARGUMENTS = {
    "atan2": ("y", "x"), "clip": ("x", "low", "high"), "leaky_relu": ("x", "slope"),
    "pow": ("x", "n"), "where": ("condition", "a", "b"), "dot": ("x_i", "y_i"),
    "softmax": ("x_j",), "log_softmax": ("x_j",),
}  # fmt: skip
SHOWN = 4.0  # a plot goes so far to both sides, where the operation does
# What is plotted of operations that have more than one argument; of many, the first of a few.
PLOTTED = {
    "add": "x + 1", "sub": "x - 1", "mul": "2 * x", "where": "where(x > 0, x * x, -x)",
    "sum": "sum(x, 1)", "mean": "mean(x, 1, 2)", "dot": "x * x + 2 * 1", "take": "x",
    "logsumexp": "logsumexp(x, 0)", "softmax": "exp(x) / (exp(x) + exp(0))",
    "log_softmax": "x - logsumexp(x, 0)",
    "leaky_relu": "leaky_relu(x)", "maximum": "maximum(x, 1)", "minimum": "minimum(x, 1)",
    "clip": "clip(x, -1, 2)", "hypot": "hypot(x, 1)", "atan2": "atan2(x, 1)", "pow": "x**3",
    "div": "1/x", "neg": "-x",
}  # fmt: skip
GROUPS = {
    "Operators": ("add", "sub", "mul", "div", "neg", "pow"),
    "Functions of one number": (),
    "Functions of two and three": (),
    "Functions of many": (),
}


def written_as(op: Op) -> str:
    """Spell an operation as a user would; nothing for what stands inside others."""
    if op.name not in (*OPERATORS, *functions.__all__):
        return ""
    arguments = {None: "xs", 1: "x", 2: "a, b"}.get(op.arity, "")
    call = SPELLED.get(op.name, f"{op.name}({arguments})")
    is_method = op.arity == 1 and op.name not in OPERATORS and hasattr(Value, op.name)
    return f"`{call}`" + (f", `x.{op.name}()`" if is_method else "")


def formula_of(op: Op) -> Formula:
    """Return value and derivatives as LaTeX."""
    if op.name in MANY:
        return MANY[op.name]
    if op.name in OPERATORS:
        value, slopes = OPERATORS[op.name]
    else:
        assert op.says is not None, f"{op.name}: its row has no words, `says`"
        value, slopes = op.says.value, op.says.slopes
    return Formula(latex(value), tuple(latex(slope) for slope in slopes))


def arguments_of(op: Op) -> tuple[str, ...]:
    """Name the arguments that there are derivatives by."""
    plain = {None: ("x_i",), 1: ("x",), 2: ("a", "b")}
    return ARGUMENTS.get(op.name) or plain[op.arity]


def group_of(op: Op) -> str:
    """Return the heading under which an operation stands."""
    if op.name in GROUPS["Operators"]:
        return "Operators"
    kinds = {1: "Functions of one number", None: "Functions of many"}
    return kinds.get(op.arity, "Functions of two and three")


def plotted(op: Op) -> str:
    """Return what `{plot}` is to draw, or nothing."""
    text = PLOTTED.get(op.name, f"{op.name}(x)" if op.arity == 1 else "")
    if not text:
        return ""
    low, high = max(op.domain[0][0], -SHOWN), min(op.domain[0][1], SHOWN)
    if op.name in ("where", "take"):  # whose first argument chooses
        low, high = -SHOWN, SHOWN
    low = {"pow": -2.0}.get(op.name, low)
    high = {"pow": 2.0}.get(op.name, high)
    return f"\n```{{plot}}\n{text} from {low:g} to {high:g}\n```\n"


def _sampled(op: Op) -> str:
    intervals = dict.fromkeys(f"[{low:g}, {high:g}]" for low, high in op.domain)
    return "any" if op.name in ("where", "take") else " × ".join(intervals)


def section(op: Op) -> str:
    """Return an operation as a short section."""
    formula = formula_of(op)
    names = arguments_of(op)
    slopes = [
        f"${slope}$" + (f" by ${name if '_' in name else latex(name)}$" if len(names) > 1 else "")
        for name, slope in zip(names, formula.slopes, strict=True)
    ]
    rows = [
        f"- written as {written_as(op)}; pictures show `{op.label}`",
        f"- value: ${formula.value}$",
        f"- derivative: {'; '.join(slopes)}",
        f"- domain: {op.says.domain if op.says else 'any'}; the tests sample {_sampled(op)}",
    ]
    if op.note:
        rows.append(f"- at kinks and edges: {op.note}")
    return f"\n### {op.name}\n\n" + "\n".join(rows) + "\n" + plotted(op)


def reference() -> str:
    """Return the whole page."""
    rows = [op for op in TABLE[1:] if written_as(op)]
    parts = [HEAD]
    for group in GROUPS:
        parts.append(f"\n## {group}\n")
        parts += [section(op) for op in rows if group_of(op) == group]
    inside = [op for op in TABLE[1:] if not written_as(op)]
    parts.append(INSIDE)
    parts += [f"| {op.name} | {op.note} | {_sampled(op)} |\n" for op in inside]
    return "".join(parts)
