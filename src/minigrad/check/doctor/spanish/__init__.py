"""The doctor's sentences in Spanish: one for each English one; the tests find what has none."""

from __future__ import annotations

from . import families, limits, report, rules, state, structure, walking
from .probes import probe_name

__all__ = ["SPANISH", "probe_name"]

SPANISH: dict[str, str] = {}
for _part in (report, structure, rules, families, state, walking, limits):
    SPANISH |= _part.SPANISH
