"""Formulas of optimisers as C loops, for the native machine: `header(formulas)` returns their text.

The machine can run any formula row by row. Those that it is built with become one loop each, which
the compiler makes vectors of: all of a parameter's numbers stay in registers. A formula is known
again by its text (`str(formula)`), so one that has changed since is run row by row, and rightly.

The text is included once per instruction set, after `ISA` is defined.
"""

from __future__ import annotations

from collections.abc import Iterable

from .c_rules import PATTERNS, literal
from .formula import Formula

_WORDS = PATTERNS | {"sqrt": "sqrt({})"}  # other functions of C have not the bits of `vecmath.h`


def header(formulas: Iterable[Formula]) -> str:
    """Return the header: a loop for each formula, a switch over them, and how to know them."""
    listed = list(formulas)
    loops = [_loop(number, formula) for number, formula in enumerate(listed)]
    cases = [
        f"    case {number}: ISA(formula_{number})(n, "
        + "".join(f"c[{k}], " for k in range(formula.columns))
        + "s); return;\n"
        for number, formula in enumerate(listed)
    ]
    known = "".join(f'    "{formula}",\n' for formula in listed)
    return "\n".join([_HEAD.format(known=known), *loops, _SWITCH.format(cases="".join(cases))])


def _loop(number: int, formula: Formula) -> str:
    """Write the loop that moves the columns of a formula."""
    columns = range(formula.columns)
    fixed = [f"s[{k}]" for k in range(formula.settings)] + [literal(x) for x in formula.constants]
    read = {at for _, operands in formula.rows for at in operands}
    before = [f"r{at} = {text}" for at, text in enumerate(fixed, formula.columns) if at in read]
    rows = [
        f"r{at} = {_WORDS[name].format(*[f'r{k}' for k in operands])}"
        for at, (name, operands) in enumerate(formula.rows, formula.first_row)
    ]
    targets = [k for k in columns if k != 1]
    inside = [
        *(f"const double r{k} = c{k}[k]" for k in columns),
        *(f"const double {row}" for row in rows[formula.uniform :]),
        *(f"c{to}[k] = r{at}" for to, at in zip(targets, formula.results, strict=True)),
    ]
    pointers = "".join(f"double *restrict c{k}, " for k in columns)
    head = f"static void ISA(formula_{number})(long n, {pointers}const double *s)"
    return (
        f"{head}\n{{\n    (void)s;\n"
        + "".join(f"    const double {row};\n" for row in [*before, *rows[: formula.uniform]])
        + "    for (long k = 0; k < n; k++) {\n"
        + "".join(f"        {line};\n" for line in inside)
        + "    }\n}\n"
    )


_HEAD = """/* Made from the optimisers' rules by minigrad/codegen/c_formulas.py; do not edit. */
#ifndef MINIGRAD_FORMULAS_H
#define MINIGRAD_FORMULAS_H
static const char *const FORMULAS[] = {{
{known}    NULL,
}};
#endif
"""

_SWITCH = """/* Columns c of n numbers each, moved in place, and settings s. */
static void ISA(built_formula)(int which, long n, double *const *c, const double *s)
{{
    switch (which) {{
{cases}    }}
}}
"""
