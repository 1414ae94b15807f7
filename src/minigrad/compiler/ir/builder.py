"""How passes write new instructions: `Builder`."""

from __future__ import annotations

from typing import Any

from .program import Instruction
from .refs import Ref


class Builder:
    """Collects instructions, and allocates slots for their results."""

    def __init__(self, size: int) -> None:
        self.size = size
        self.instructions: list[Instruction] = []
        self._numbers: dict[str, Ref] = {}

    def allocate(self, count: int) -> Ref:
        """Return `count` new slots, one after the other."""
        found = Ref(self.size, inner=count, inner_stride=1)
        self.size += count
        return found

    def emit(self, kind: str, shape: tuple[int, ...], out: Ref, *args: Ref, **more: Any) -> None:
        """Append an instruction."""
        self.instructions.append(Instruction(kind, shape, out, args, **more))

    def number(self, x: float) -> Ref:
        """Return a slot that holds a number."""
        if x.hex() not in self._numbers:
            slot = self.allocate(1)
            self.emit("fill", (1,), slot, number=x)
            self._numbers[x.hex()] = Ref(slot.base)
        return self._numbers[x.hex()]
