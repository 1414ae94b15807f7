"""Expressions of Python as formulas of LaTeX, which a code host and the site both show.

The op table tells values and derivatives as expressions (`core/ops.py`, `Says`), and the tests
compare those with mpmath: so this is a matter of notation alone. What has no such words in the
table, operators and functions of many arguments, has its formulas here.
"""

from __future__ import annotations

import ast
from typing import NamedTuple

_WORDS = {
    "log": r"\ln", "asin": r"\arcsin", "acos": r"\arccos", "atan": r"\arctan",
    **{name: rf"\{name}" for name in ("exp", "sin", "cos", "tan", "sinh", "cosh", "tanh")},
}  # fmt: skip
_NAMES = {"pi": r"\pi", "low": r"\mathrm{low}", "high": r"\mathrm{high}", "slope": "s"}
_COMPARISONS = {ast.Gt: ">", ast.Lt: "<", ast.GtE: r"\ge", ast.LtE: r"\le"}
ATOM, POWER, UNARY, PRODUCT, SUM = range(5)  # how loosely the parts of a formula hold together


class Formula(NamedTuple):
    """What an operation is, and its derivative by each argument, as LaTeX."""

    value: str
    slopes: tuple[str, ...]


# Expressions, as those of the table; the tests compare them with differences.
OPERATORS = {
    "add": ("a + b", ("1", "1")),
    "sub": ("a - b", ("1", "-1")),
    "mul": ("a*b", ("b", "a")),
    "div": ("a/b", ("1/b", "-a/b**2")),
    "neg": ("-x", ("-1",)),
    "pow": ("x**n", ("n*x**(n - 1)", "x**n*log(x)")),
}
# Of many arguments: the derivative by the i-th of them.
_SOFTMAX = r"\frac{e^{x_i}}{\sum_j e^{x_j}}"
MANY = {
    "sum": Formula(r"\sum_i x_i", ("1",)),
    "mean": Formula(r"\frac{1}{n} \sum_i x_i", (r"\frac{1}{n}",)),
    "dot": Formula(r"\sum_i x_i y_i", ("y_i", "x_i")),
    "logsumexp": Formula(r"\ln \sum_i e^{x_i}", (_SOFTMAX,)),
    "softmax": Formula(rf"p_i = {_SOFTMAX}", (r"p_i (\delta_{ij} - p_j)",)),
    "log_softmax": Formula(rf"\ln p_i = \ln {_SOFTMAX}", (r"\delta_{ij} - p_j",)),
    "take": Formula(r"x_k", (r"\delta_{ik}",)),
    "where": Formula(
        r"\begin{cases} a & \mathrm{condition} \\ b & \mathrm{otherwise} \end{cases}",
        (
            "0",
            r"\begin{cases} 1 & \mathrm{condition} \\ 0 & \mathrm{otherwise} \end{cases}",
            r"\begin{cases} 0 & \mathrm{condition} \\ 1 & \mathrm{otherwise} \end{cases}",
        ),
    ),
}


def latex(expression: str) -> str:
    """Return an expression as a formula."""
    return _written(ast.parse(expression, mode="eval").body)[0]


def _written(node: ast.expr) -> tuple[str, int]:
    """Return the formula of a part, and how loosely it holds together."""
    match node:
        case ast.Constant(value=number):
            return f"{number:g}", ATOM
        case ast.Name(id=name):
            return _NAMES.get(name, name), ATOM
        case ast.UnaryOp(op=ast.USub(), operand=inner):
            return f"-{_tight(inner, PRODUCT)}", SUM
        case ast.BinOp():
            return _operation(node)
        case ast.Call(func=ast.Name(id=name), args=arguments):
            return _call(name, arguments)
        case ast.IfExp():
            return _cases(node), SUM
    raise ValueError(f"a formula has no {ast.unparse(node)}")


def _tight(node: ast.expr, most: int) -> str:
    text, looseness = _written(node)
    return text if looseness <= most else rf"\left({text}\right)"


def _operation(node: ast.BinOp) -> tuple[str, int]:
    left, right = node.left, node.right
    match node.op:
        case ast.Add():
            return f"{_tight(left, SUM)} + {_tight(right, SUM)}", SUM
        case ast.Sub():
            return f"{_tight(left, SUM)} - {_tight(right, PRODUCT)}", SUM
        case ast.Mult():
            factors = _tight(left, PRODUCT), _tight(right, PRODUCT)
            # Two letters side by side are a product; before a digit they would not be.
            return (r" \cdot " if factors[1][0].isdigit() else r" \, ").join(factors), PRODUCT
        case ast.Div():
            if isinstance(left, ast.UnaryOp):  # the sign stands before the fraction
                return rf"-\frac{{{_written(left.operand)[0]}}}{{{_written(right)[0]}}}", SUM
            return rf"\frac{{{_written(left)[0]}}}{{{_written(right)[0]}}}", PRODUCT
        case ast.Pow():
            exponent = _written(right)[0]
            if isinstance(left, ast.Call) and _word(left) in _WORDS:  # tanh² x
                text, _ = _call(_word(left), left.args, f"^{{{exponent}}}")
                return text, PRODUCT
            return f"{{{_tight(left, ATOM)}}}^{{{exponent}}}", POWER
    raise ValueError(f"a formula has no {ast.unparse(node)}")


def _word(node: ast.Call) -> str:
    assert isinstance(node.func, ast.Name)
    return node.func.id


def _call(name: str, arguments: list[ast.expr], power: str = "") -> tuple[str, int]:
    inside = [_written(each) for each in arguments]
    if name == "sqrt":
        return rf"\sqrt{{{inside[0][0]}}}", ATOM
    if name == "exp" and not power:
        return f"e^{{{inside[0][0]}}}", POWER
    word = _WORDS.get(name, rf"\operatorname{{{name}}}") + power
    if len(inside) == 1 and inside[0][1] == ATOM and name in _WORDS:
        return f"{word} {inside[0][0]}", PRODUCT
    return rf"{word}\left({', '.join(text for text, _ in inside)}\right)", ATOM


def _cases(node: ast.expr) -> str:
    rows = []
    while isinstance(node, ast.IfExp):
        rows.append(f"{_written(node.body)[0]} & {_condition(node.test)}")
        node = node.orelse
    rows.append(rf"{_written(node)[0]} & \mathrm{{otherwise}}")
    joined = r" \\ ".join(rows)
    return rf"\begin{{cases}} {joined} \end{{cases}}"


def _condition(node: ast.expr) -> str:
    assert isinstance(node, ast.Compare)
    text = _written(node.left)[0]
    for sign, right in zip(node.ops, node.comparators, strict=True):
        text += f" {_COMPARISONS[type(sign)]} {_written(right)[0]}"
    return text
