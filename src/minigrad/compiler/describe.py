"""What became of a function, in words."""

from __future__ import annotations

from collections import Counter

from ..core.names import plural
from .ir.kinds import KINDS
from .specialization import Specialization
from .views.plan import Constant, Gathered, Joined, Masked, Operand, Step, View
from .views.planner import plan


def described(spec: Specialization, name: str) -> str:
    """Say in words what became of a function."""
    program, instructions = spec.program, spec.program.instructions
    lines = [
        f"{name}: {plural(spec.nodes, 'scalar operation')} became "
        f"{plural(len(instructions), 'instruction')}, run by {spec.backend.words}."
    ]
    for step in instructions:
        if step.kind == "mm":
            m, n, k = step.shape
            start = ", with a term to start from" if len(step.args) > 2 else ""
            lines.append(f"  a matrix product, {m}×{k} times {k}×{n}{start}")
    for kind, count in Counter(step.kind for step in instructions).items():
        if kind != "mm":
            rows = sum(step.shape[0] for step in instructions if step.kind == kind)
            lines.append(
                f"  {count} × {KINDS[kind].words or kind}, {plural(rows, 'result')} in all"
            )
    operands = [ref for step in instructions for ref in step.args]
    gathered = sum(ref.rows is not None or ref.cells is not None for ref in operands)
    lines.append(f"  {gathered} operands are gathered by index, all others lie in strides")
    lines.append(
        f"Inputs: {program.parameters:,} captured Values, read afresh at each call; "
        f"{program.inputs - program.parameters:,} numbers from the arguments."
    )
    if watched := spec.environment.watched():
        lines.append(f"Watched, and checked at each call: {', '.join(watched)}.")
    if program.guards:
        lines.append(f"Guards ({len(program.guards)}), checked at each call:")
        lines += [f"  v{g.at} is {g.number:g}: {g.what}" for g in program.guards[:10]]
        if len(program.guards) > 10:
            lines.append(f"  … and {len(program.guards) - 10} more")
    else:
        lines.append("No guards: every call with arguments of this structure takes this way.")
    if beyond := spec.environment.cannot_follow:
        lines.append(f"Frozen, and nobody can check it: {', '.join(beyond)}.")
    return "\n".join(lines)


def described_as_arrays(spec: Specialization, name: str) -> str:
    """Say what becomes of a program for an array library: products, views, gathers."""
    planned = plan(spec.program)
    forms = Counter(step.form for step in planned.steps)
    reads = Counter(
        type(operand.how) for step in planned.steps for operand in (*step.operands, *_sides(step))
    )
    tables = {id(step.whole) for step in planned.steps if step.whole is not None}
    lines = [
        f"{name}: {plural(spec.nodes, 'scalar operation')} become "
        f"{plural(len(planned.steps), 'array operation')}, from "
        f"{plural(len(planned.leaves), 'input')}."
    ]
    for step in planned.steps:
        if step.form == "mm":
            m, n, k = step.instruction.shape
            lines.append(f"  a matrix product, {m}×{k} times {k}×{n}")
        elif step.product is not None:
            batch = step.product.shape[: step.product.batch]
            a, b = (side.shape[-2] for side in step.product.sides)
            k = step.product.sides[0].shape[-1]
            many = f"{' × '.join(map(str, batch))} matrix products"
            what = many if set(batch) - {1} else "a matrix product"
            lines.append(f"  {what}, {a}×{k} times {k}×{b}, of dot products")
    words = {
        "look_up": "look-ups as products with ones and zeros",
        "unrolled": "short sums, unrolled",
    }
    for form, count in forms.items():
        if form not in ("mm", "product"):
            lines.append(f"  {count} × {words.get(form) or KINDS[form].words or form}")
    lines.append(
        f"Operands: {reads[View] + reads[Masked]} views, {reads[Constant]} constants, "
        f"{reads[Joined]} joined, {reads[Gathered]} gathered at constant places."
    )
    if tables:
        shapes = plural(len(tables), "shape")
        lines.append(f"Rows of several lengths are kept as whole tables: {shapes}.")
    return "\n".join(lines)


def _sides(step: Step) -> tuple[Operand, ...]:
    return () if step.product is None else step.product.sides
