"""Is a text of a number only shown, or does something depend on it?

`print(f"{loss.data:.4f}")` inside a compiled function must not tie the program to the number: the
text goes to the screen, and what the statement came to is thrown away. `key = f"{x.data:.1f}"`
must. The code tells: the statement calls somebody who shows texts, and after the call there is
nothing but the order to forget the result.
"""

from __future__ import annotations

import dis
import sys
from functools import lru_cache
from types import CodeType, FrameType

__all__ = ["is_formatting", "shown_at"]

_PACKAGE = __name__.split(".", maxsplit=1)[0]
# Who shows texts. Others may keep them: `names.append(f"…")`.
_SHOWING = {
    *("print", "pprint", "write", "writelines", "echo", "secho", "display", "rule", "status"),
    *("debug", "info", "warning", "warn", "error", "critical", "exception", "log"),
    *("set_description", "set_description_str", "set_postfix", "set_postfix_str"),
}
# What comes first tells: POP_TOP forgets a result, all others make something of it.
_USES = (
    "DELETE",
    *("STORE", "RETURN", "POP_JUMP", "JUMP", "COMPARE", "CONTAINS", "IS_OP", "YIELD", "UNPACK"),
    *("GET_ITER", "LIST_APPEND", "SET_ADD", "MAP_ADD", "FOR_ITER", "RAISE", "TO_BOOL", "COPY"),
)


def shown_at() -> str:
    """Return the line of the user's statement that only shows the text that is being made.

    "" if there is none: something depends on the text.
    """
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and not _is_users(frame):
        frame = frame.f_back  # the logging module writes texts for others
    if frame is None or not _is_dropped(frame.f_code, frame.f_lasti):
        return ""
    return f"{frame.f_code.co_filename}:{frame.f_lineno}"


def _is_users(frame: FrameType) -> bool:
    top = str(frame.f_globals.get("__name__", "")).split(".", maxsplit=1)[0]
    if top == _PACKAGE or (top in sys.stdlib_module_names and top != "__main__"):
        return False
    return "site-packages" not in frame.f_code.co_filename


def is_formatting() -> bool:
    """Tell whether a number is asked for by `"%.3f" % number`, which takes it for a float."""
    frame = sys._getframe(2)
    return _is_percent(frame.f_code, frame.f_lasti)


@lru_cache(maxsize=1024)
def _is_percent(code: CodeType, at: int) -> bool:
    return any(step.offset == at and step.argrepr == "%" for step in dis.get_instructions(code))


@lru_cache(maxsize=1024)
def _is_dropped(code: CodeType, at: int) -> bool:
    names: set[str] = set()  # that the statement mentions
    for step in dis.get_instructions(code):
        ends = step.opname == "POP_TOP" or step.opname.startswith(_USES)
        if step.offset > at and ends:
            return step.opname == "POP_TOP" and not names.isdisjoint(_SHOWING)
        if ends:
            names.clear()
        elif step.opname != "LOAD_CONST" and isinstance(step.argval, str):
            names.add(step.argval)
    return False
