"""The op table as loops over vectors, for the native VM: `header()` returns their text in C.

Each rule is run once on symbols, as for the header of the native engine, and printed for vectors: a
choice computes both sides and selects by mask, unless one of them is rare: then it is computed if a
lane asks for it. Every function is that of `native/vm/isa/vecmath.h`. A
kernel loads the operands that its formula reads, a vector at a time, and stores the result:

    map_tanh   out[i] = tanh(a[i])            one for each op in `MAPS`
    vjp_tanh   out[i] = g[i] * (the slope)    one for each partial; equal ones are shared

The text is included once per instruction set, after `ISA` and `LANES` are defined as `vecmath.h`
says, and gives `ISA(map)` and `ISA(vjp)`, which switch over `Op.code`. Start at `_kernel`.

`header(single=True)` is the same for vectors of floats: `F32(map)` and `F32(vjp)`, with kernels for
the operations of `SINGLE`, by the functions of `float32.h`, and all others in doubles.
"""

from __future__ import annotations

from ..core.ops import SMALL, Op
from ..maths.symbols import Symbol, SymbolMath, postorder, symbol_of
from .c_rules import C_WORDS, NEEDED, PATTERNS, c_name, is_test, literal
from .elementwise import MAPS

# What has kernels in float32: what is much quicker so and whose formula has no number in it that
# depends on the range of doubles, but the one of `_SMALL_F32`.
SINGLE = (
    *("add", "sub", "mul", "div", "neg", "abs", "exp", "log", "sqrt", "tanh", "erf"),
    *("bell", "sigmoid", "exp_sub", "relu", "leaky_relu", "maximum", "minimum", "where"),
    *("less", "less_equal", "equal", "and_", "or_", "not_", "stop_gradient", "linear"),
)
# Below SMALL, a quotient has lost digits, or will: of floats, which end at 2**-149, below this.
# Scaled by 2**60, neither it nor the slope by the divisor then leaves their range.
_SMALL_F32 = 2.0**-90

_OPERANDS = ("a", "b", "c")
_VECTOR_MATH = SymbolMath(C_WORDS | {"exp_square"})
_NUMBERS = ("g", "y", *_OPERANDS)  # what a formula may read; the arrays have capital letters


def _written(symbol: Symbol, parts: list[str]) -> str:
    """Write a symbol for vectors, given its parts."""
    name = c_name(symbol)
    if not parts:
        return name if name in _NUMBERS else f"SPLAT({name})"
    if symbol.word == "where":
        test = parts[0] if is_test(symbol.parts[0]) else f"((M)({parts[0]} != SPLAT(0.0)))"
        return f"SELECT({test}, {parts[1]}, {parts[2]})"
    if is_test(symbol):
        pattern = PATTERNS[name].replace("&&", "&").replace("||", "|")
        return f"((M){pattern})".format(*parts)
    if name in PATTERNS:
        return PATTERNS[name].format(*parts)
    return f"ISA({name})({', '.join(parts)})"


class _Formula:
    """What a symbol reads, the statements that it needs, and what it is worth.

    Symbols are shared by how they are written: what a rule says twice is computed once.
    """

    def __init__(self, root: Symbol) -> None:
        self.reads: set[str] = set()
        self.statements: list[str] = []
        self._count = 0  # of local variables
        self.result = self._write(root, {})

    def _write(self, root: Symbol, outer: dict[str, str]) -> str:
        """Write a block. It has variables by what they were written as, those outside included."""
        names = dict(outer)
        text: dict[int, str] = {}
        for symbol in postorder(root, NEEDED):
            parts = [text[id(part)] for part in symbol.needed]
            if symbol.word == "usually":
                text[id(symbol)] = self._write_rare(symbol, parts, names)
                continue
            written = _written(symbol, parts)
            if written in _NUMBERS and written not in names:
                self.reads.add(written)
                names[written] = written
                load = f"ISA(load)({written.upper()} + i, left)"
                self.statements.append(f"const V {written} = {load};")
            elif parts and symbol is not root:
                if written not in names:
                    names[written] = self._variable()
                    kind = "M" if is_test(symbol) else "V"
                    self.statements.append(f"const {kind} {names[written]} = {written};")
                written = names[written]
            text[id(symbol)] = written
        return text[id(root)]

    def _write_rare(self, symbol: Symbol, parts: list[str], names: dict[str, str]) -> str:
        (holds, usual), found = parts, self._variable()
        self.statements += [f"V {found} = {usual};", f"if (ISA(misses)({holds})) {{"]
        other = self._write(symbol.parts[2], names)
        self.statements += [f"{found} = SELECT({holds}, {found}, {other});", "}"]
        return found

    def _variable(self) -> str:
        self._count += 1
        return f"t{self._count - 1}"


def _kernel(arrays: str, root: Symbol) -> str:
    """Write the arguments and the body of the loop that stores a symbol."""
    formula = _Formula(root)
    body = "\n        ".join(
        [
            "const long left = n - i;",
            *formula.statements,
            f"ISA(store)(out + i, left, {formula.result});",
        ]
    )
    unused = "".join(f" (void){name};" for name in arrays if name.lower() not in formula.reads)
    pointers = "".join(f", const double *{name}" for name in arrays)
    return (
        f"(long n, double *out{pointers})\n{{\n"
        f"    (void)n;{unused}\n"
        f"    for (long i = 0; i < n; i += WIDE) {{\n        {body}\n    }}\n}}\n"
    )


def _value(op: Op) -> Symbol:
    return symbol_of(op.value(_VECTOR_MATH, *map(Symbol, _OPERANDS[: op.arity])))


def _contribution(op: Op, which: int) -> Symbol:
    """What the operand `which` receives of the adjoint g."""
    g, y, *arguments = map(Symbol, ("g", "y", *_OPERANDS[: op.arity]))
    slope = symbol_of(op.partials[which](_VECTOR_MATH, y, *arguments))
    if slope.word == 1.0:
        return g
    return -g if slope.word == -1.0 else g * slope


def header(single: bool = False) -> str:
    """Return the header: a kernel for each value and each partial, and the switches over them."""
    kernels: dict[str, str] = {}  # the text of a kernel, and its name: no text stands twice
    maps, vjps = [], []
    for op in [MAPS[name] for name in SINGLE] if single else MAPS.values():
        name = kernels.setdefault(_kernel("ABC", _value(op)), f"map_{op.name}")
        maps.append(f"    case {op.code}: ISA({name})(n, out, a, b, c); return;\n")
        for which in range(len(op.partials)):
            text = _kernel("GYABC", _contribution(op, which))
            name = kernels.setdefault(text, f"vjp_{op.name}" + f"_{which}" * (op.arity != 1))
            vjps.append(
                f"    case {len(_OPERANDS) * op.code + which}: "
                f"ISA({name})(n, out, g, y, a, b, c); return;\n"
            )
    functions = [f"APART void ISA({name}){text}" for text, name in kernels.items()]
    others = _OTHERS if single else ("", "")
    switches = _SWITCHES.format(
        maps="".join(maps) + others[0],
        vjps="".join(vjps) + others[1],
        operands=len(_OPERANDS),
    )
    arities = ", ".join(f"[{op.code}] = {op.arity}" for op in MAPS.values())
    if not single:
        return "\n".join([_MADE, _HEAD.format(arities=arities), *functions, switches, _FOOT])
    text = "\n".join([*functions, switches]).replace("ISA(", "F32(").replace("double", "float")
    text = text.replace(literal(SMALL), literal(_SMALL_F32))
    return "\n".join([_MADE, '#include "vm/isa/float32.h"\n', text, _FOOT])


_MADE = "/* Made from the op table by minigrad/codegen/c_kernels.py; do not edit. */"
_HEAD = """#include "vm/isa/vecmath.h"

#ifndef MINIGRAD_ARITIES
#define MINIGRAD_ARITIES
/* By op code: how many operands it takes; 0 where there is no map. */
static const signed char ARITIES[] = {{{arities}}};
#endif
"""

_SWITCHES = """/* out[i] = op(a[i], b[i], c[i]) */
static void ISA(map)(int op, long n, double *out, const double *a, const double *b,
                        const double *c)
{{
    switch (op) {{
{maps}    }}
}}

/* out[i] = g[i] * partial number `which` of op */
static void ISA(vjp)(int op, int which, long n, double *out, const double *g, const double *y,
                        const double *a, const double *b, const double *c)
{{
    switch ({operands} * op + which) {{
{vjps}    }}
}}
"""

_OTHERS = (
    "    default: ISA(rounded)(op, -1, n, out, (const double *[]){a, b, c});\n",
    "    default: ISA(rounded)(op, which, n, out, (const double *[]){g, y, a, b, c});\n",
)

# Short names that the next instruction set, and the including file, may want for themselves.
_FOOT = "".join(
    f"#undef {name}\n"
    for name in (
        *("V", "M", "U", "W", "WIDE", "SPLAT", "SELECT", "FMA", "FUSED", "POLY"),
        *("INLINE", "APART", "COUNT", "LANEWISE1", "LANEWISE2", "WITH_FAR_LANES"),
    )
)
