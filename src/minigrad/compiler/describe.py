"""What became of a function, in words."""

from __future__ import annotations

from collections import Counter

from ..core.names import plural
from .ir.kinds import KINDS
from .specialization import Specialization


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
            lines.append(f"  {count} × {KINDS[kind].words or kind}, {rows:,} results in all")
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
