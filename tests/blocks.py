"""Have `vmap` run rows in blocks, or in lanes, whatever it would choose."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from minigrad.compiler import vmap


@contextmanager
def _sizes(size: int) -> Iterator[None]:
    def chosen(spec: Any, given: Any) -> int:
        return 0 if spec.is_exact else size

    def lanes(spec: Any, *more: Any) -> Any:
        assert not size or spec.is_exact, "blocks have left the rows to lanes"
        return before[1](spec, *more)

    before = vmap.block_size, vmap.Lanes
    vmap.block_size, vmap.Lanes = chosen, lanes
    try:
        yield
    finally:
        vmap.block_size, vmap.Lanes = before


def in_blocks(size: int) -> Any:
    """Of so many rows; exact programs are for lanes, as ever."""
    return _sizes(size)


def in_lanes() -> Any:
    return _sizes(0)
