"""What a Value can do that rooms above it know: explain itself, show itself.

A room imports downwards only, so `scalar.py` cannot import those rooms. They sign up here when the
package is loaded, and a Value asks by name.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

__all__ = ["ABILITIES"]

ABILITIES: dict[str, Callable[..., Any]] = {}
