"""Write the reference of operations, docs/ops.md, from the op table: `python docs/generate.py`."""

from __future__ import annotations

from pathlib import Path

from minigrad import functions
from minigrad.ops import TABLE, Op
from minigrad.scalar import Value

HEAD = """# All operations

Made from the op table by `python docs/generate.py`. Every operation is within 4 ulp of the true
value, and so are its partial derivatives, over the interval that the tests sample and at awkward
points besides. (Where a result is a sum of terms that cancel, as in `sum` or in the derivative of
`gelu` near its zero, the ulp is that of the largest term.) Arguments are Values or plain numbers.

| operation | written as | label | sampled | conventions |
|---|---|---|---|---|
"""

OPERATORS = {"add": "a + b", "sub": "a - b", "mul": "a * b", "div": "a / b", "neg": "-x"}
OPERATORS["pow"] = "x ** n"
SIGNATURES = {
    "where": "where(condition, a, b)",
    "take": "take(xs, index)",
    "dot": "dot(xs, ys)",
    "clip": "clip(x, low, high)",
    "leaky_relu": "leaky_relu(x, slope)",
    "atan2": "atan2(y, x)",
}


def written_as(op: Op) -> str:
    """Spell an operation as a user would."""
    if op.name in OPERATORS:
        return f"`{OPERATORS[op.name]}`"
    if op.name not in functions.__all__:
        return "inside other operations"
    arguments = {None: "xs", 1: "x", 2: "a, b"}.get(op.arity, "")
    call = SIGNATURES.get(op.name, f"{op.name}({arguments})")
    method = op.arity is not None and hasattr(Value, op.name)
    return f"`{call}`" + (f", `x.{op.name}()`" if method and op.arity == 1 else "")


def reference() -> str:
    """Return the whole page."""
    lines = []
    for op in TABLE[1:]:
        intervals = dict.fromkeys(f"[{low:g}, {high:g}]" for low, high in op.domain)
        sampled = "any" if op.name in ("where", "take") else " × ".join(intervals)
        label = op.label.replace("|", "\\|")
        lines.append(f"| {op.name} | {written_as(op)} | `{label}` | {sampled} | {op.note} |\n")
    return HEAD + "".join(lines)


if __name__ == "__main__":
    Path(__file__).with_name("ops.md").write_text(reference(), encoding="utf-8")
