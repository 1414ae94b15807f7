"""Op codes by name: `codes.TANH` is the place of the row "tanh" in the table.

In the native engine they are constants of C: the build writes them down as `minigrad_codes.pxd`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .ops import TABLE

globals().update({row.name.upper(): row.code for row in TABLE})

if TYPE_CHECKING:

    def __getattr__(name: str) -> int: ...
