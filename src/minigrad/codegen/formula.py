"""A rule of several numbers as rows of the op table, for the columns of all parameters at once.

An optimiser says for one parameter where it goes: `rule(m, x, g, *state, *settings)` returns the
new x and the new state, in the words of a mathematics `m` (see `core/ops.py`). Here the rule is run
once, on symbols, and what it does is written down. Every engine follows these rows, so that an
optimiser has one formula: lists and arrays row by row, the native machine in pieces that stay near
the processor, or in one loop if it was built with the formula (`c_formulas`).
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache, partial
from math import inf, nan
from operator import attrgetter
from typing import Any, cast

from ..core.native_or_pure import native_machine
from ..maths import floats
from ..maths.symbols import Symbol, SymbolMath, postorder, symbol_of
from .elementwise import MAPS

Rule = Callable[..., Any]
Loop = Callable[[Sequence["array[float]"], Sequence[float]], None]
Row = tuple[str, tuple[int, ...]]  # the name of an operation, and the registers of its operands
# Operations that Python has a sign for, and functions that are no more than a word.
_PYTHON = {"add": "{} + {}", "sub": "{} - {}", "mul": "{} * {}", "neg": "-{}"}
_PYTHON |= {"where": "{1} if {0} else {2}"}
_FUNCTIONS = {"div": floats.div, "sqrt": floats.sqrt}


@dataclass(frozen=True, eq=False)
class Formula:
    """Rows over registers: columns (x, g, state), settings, constants, then a row's result each.

    `results` are the registers of the new x and of the new state. The first rows, `uniform` of
    them, are the same for all parameters.
    """

    columns: int
    settings: int
    constants: tuple[float, ...]
    rows: tuple[Row, ...]
    uniform: int
    results: tuple[int, ...]

    @property
    def first_row(self) -> int:
        """The register of the first row's result."""
        return self.columns + self.settings + len(self.constants)

    def apply(self, columns: Sequence[array[float]], settings: Sequence[float]) -> None:
        """Move x and the state, in place: arrays of one number per parameter."""
        self._loop(tuple(columns), tuple(settings))

    def moved(self, m: Any, columns: Sequence[Any], settings: Sequence[float]) -> list[Any]:
        """Return the new x and the new state, computed in a mathematics."""
        registers = [*columns, *settings, *self.constants]
        for name, operands in self.rows:
            registers.append(MAPS[name].value(m, *[registers[at] for at in operands]))
        return [registers[at] for at in self.results]

    @cached_property
    def _loop(self) -> Loop:
        machine = native_machine()
        if machine is not None:
            return cast(Loop, machine.formula(*self.words()).apply)
        names: dict[str, Any] = {"nan": nan, "inf": inf}
        names |= {
            name: _FUNCTIONS.get(name) or partial(op.value, floats) for name, op in MAPS.items()
        }
        exec(self._in_python(), names)
        return cast(Loop, names["loop"])

    def _in_python(self) -> str:
        """Write the loop over all parameters: calls, row by row, would take nine times as long."""
        columns, targets = range(self.columns), [k for k in range(self.columns) if k != 1]
        fixed = [f"settings[{k}]" for k in range(self.settings)] + [repr(x) for x in self.constants]
        rows = [f"r{at} = {text}" for at, text in enumerate(fixed, self.columns)]
        for at, (name, operands) in enumerate(self.rows, self.first_row):
            text = _PYTHON.get(name) or f"{name}({', '.join(['{}'] * len(operands))})"
            rows.append(f"r{at} = {text.format(*[f'r{k}' for k in operands])}")
        before = len(fixed) + self.uniform
        rows += [f"c{k}[k] = r{at}" for k, at in zip(targets, self.results, strict=True)]
        head = ", ".join(f"c{k}" for k in columns)
        each = ", ".join(f"r{k}" for k in columns)
        return "\n    ".join(
            [
                "def loop(columns, settings):",
                f"{head} = columns",
                *rows[:before],
                f"for k, ({each}) in enumerate(zip(*columns, strict=True)):",
                *(f"    {row}" for row in rows[before:]),
            ]
        )

    def words(self) -> tuple[Any, ...]:
        """Spell the formula for the native machine: how to recognise it, and how to run it."""
        rows = array("i")
        for name, operands in self.rows:
            rows.extend([MAPS[name].code, *(*operands, *[operands[0]] * 2)[:3]])
        constants, results = array("d", self.constants), array("i", self.results)
        return str(self), self.columns, self.settings, self.uniform, constants, rows, results

    def __str__(self) -> str:
        fixed = self.columns + self.settings
        lines = [f"r{at} = {number.hex()}" for at, number in enumerate(self.constants, fixed)]
        for at, (name, operands) in enumerate(self.rows, self.first_row):
            lines.append(f"r{at} = {name} {' '.join(f'r{k}' for k in operands)}")
        moved = " ".join(f"r{at}" for at in self.results)
        return "; ".join([f"{self.columns} columns, {self.settings} settings", *lines, moved])


@lru_cache(maxsize=64)
def formula_of(rule: Rule, columns: int, settings: int) -> Formula:
    """Run a rule on symbols, and return what it does."""
    inputs = [Symbol("input") for _ in range(columns + settings)]
    found = rule(_MATH, *inputs)
    results = [symbol_of(each) for each in (found if isinstance(found, tuple) else (found,))]
    if len(results) != columns - 1:
        raise TypeError(
            f"the rule of an optimiser returns {len(results)} numbers; it must return the new x "
            f"and the new state, {columns - 1} in all."
        )
    # A result of its own for each column: one may be written before another is read.
    results = [each if each.parts else Symbol("stop_gradient", each) for each in results]
    return _numbered(inputs, columns, results)


def _numbered(inputs: list[Symbol], columns: int, results: list[Symbol]) -> Formula:
    """Number the symbols: what a rule says twice is computed once, and what nobody asks for, never.

    Symbols are first given keys by what they are made of; the keys become registers.
    """
    keys: dict[Symbol, Any] = {each: at for at, each in enumerate(inputs)}
    constants: dict[Any, float] = {}
    rows: dict[Any, bool] = {}  # whether it is the same for all parameters
    varies: set[Any] = set(range(columns))
    for symbol in postorder(Symbol("results", *results), _PARTS)[:-1]:
        key: Any
        if isinstance(symbol.word, float):
            key = symbol.word.hex()
            constants[key] = symbol.word
        elif not symbol.parts:
            continue
        else:
            key = _named(symbol), tuple(keys[part] for part in symbol.parts)
            rows[key] = not varies.intersection(key[1])
            if not rows[key]:
                varies.add(key)
        keys[symbol] = key
    order = sorted(rows, key=lambda key: not rows[key])  # stable: operands still come first
    registers: dict[Any, int] = {at: at for at in range(len(inputs))}
    for key in (*constants, *order):
        registers[key] = len(registers)
    return Formula(
        columns,
        len(inputs) - columns,
        tuple(constants.values()),
        tuple((name, tuple(registers[part] for part in parts)) for name, parts in order),
        sum(rows.values()),
        tuple(registers[keys[each]] for each in results),
    )


def _named(symbol: Symbol) -> str:
    """The operation of a symbol, which has as many operands as it ought to."""
    name = "where" if symbol.word == "usually" else str(symbol.word)
    arity, count = MAPS[name].arity, len(symbol.parts)
    if count != arity:
        raise TypeError(f"{name} has {arity} operands, not {count}.")
    return name


_MATH = SymbolMath(MAPS, rows=MAPS)
_PARTS = attrgetter("parts")
