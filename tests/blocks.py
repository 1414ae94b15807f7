"""Have `vmap` run rows in blocks, or in lanes, whatever it would choose."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from minigrad.compiler import vmap
from minigrad.compiler.machine import NotFinite


@contextmanager
def _sizes(size: int) -> Iterator[None]:
    def chosen(spec: Any, given: Any) -> int:
        return 0 if spec.is_exact else size

    not_finite = []

    class Blocks(vmap.Blocks):
        def run(self, *args: Any) -> None:
            try:
                super().run(*args)
            except NotFinite:
                not_finite.append(self.spec)
                raise

    def lanes(spec: Any, *more: Any) -> Any:
        left = not size or spec.is_exact or spec in not_finite
        assert left, "blocks have left the rows to lanes"
        return before[1](spec, *more)

    before = vmap.block_size, vmap.Lanes, vmap.Blocks
    vmap.block_size, vmap.Lanes, vmap.Blocks = chosen, lanes, Blocks
    try:
        yield
    finally:
        vmap.block_size, vmap.Lanes, vmap.Blocks = before


def in_blocks(size: int) -> Any:
    """Of so many rows; what is not finite is for lanes, as ever."""
    return _sizes(size)


def in_lanes() -> Any:
    return _sizes(0)
