"""Random programs as people write them: trees of operations, and the same as Python.

Besides the operations of the table there is what stands around them in real code: numbers that are
read, `no_grad()`, comparisons, branches, the built-in `sum`, `max` and `min`, Values that a
function closes over. `smaller` cuts a program down. `random_code.py` draws them, `agreement.py`
runs them.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from math import inf, isfinite, nan
from typing import Any

import minigrad
from minigrad import Value

INFIX = {"add": "+", "sub": "-", "mul": "*", "div": "/", "pow": "**"}
TESTS = {"less": "<", "less_equal": "<=", "greater": ">", "greater_equal": ">="}
LISTS = ("sum", "mean", "logsumexp", "softmax", "log_softmax")


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
            found.update(node[0] for node in nodes(tree))
        return found

    @property
    def is_guarded(self) -> bool:
        """Tell whether rows may take different ways through it."""
        return not {"if", "float", "round"}.isdisjoint(self.words)


def nodes(tree: Any) -> Iterator[tuple[Any, ...]]:
    if isinstance(tree, tuple):
        yield tree
        for part in tree[1:]:
            yield from nodes(part)


def references(tree: Any) -> set[int]:
    if isinstance(tree, tuple):
        return set().union(*map(references, tree[1:]))
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
        "exp_sub": "minigrad.functions.VALUES.rows['exp_sub']({0}, {1})",
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


def of_kind(program: Program, xs: Any, wanted: str) -> list[Any]:
    """Those of `xs`, one for each input, that belong to inputs of a kind."""
    return [x for kind, x in zip(program.kinds, xs, strict=True) if kind == wanted]


# ---- less of it ----------------------------------------------------------------------------------


def smaller(program: Program) -> Iterator[Program]:
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
            for x in sorted(references(program.steps[k]) | {0, count - 1}, reverse=True)
            if x < count + k
        )
    for k, tree in enumerate(program.steps):
        for simpler in _simpler(tree):
            yield replace(program, steps=(*program.steps[:k], simpler, *program.steps[k + 1 :]))
    used = set().union(*map(references, (*program.steps, *program.results)))
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
        for simpler in (*references(part), *_simpler(part)) if isinstance(part, tuple) else ():
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
