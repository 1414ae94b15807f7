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

from .shapes import is_users_space

_NOTHING = {"PUSH_NULL", "CACHE", "NOP", "EXTENDED_ARG", "PRECALL", "COPY_FREE_VARS", "MAKE_CELL"}
# Who shows texts, and nothing else: whatever else is called may keep them.
_FUNCTIONS = {"print", "pprint", "display"}
_METHODS = {  # the last word of what is called, and what the word before it must contain
    **dict.fromkeys(("debug", "info", "warning", "error", "critical", "exception"), "log"),
    **dict.fromkeys(("print", "rule"), "console"),
    **dict.fromkeys(("echo", "secho", "set_description", "set_description_str"), ""),
    **dict.fromkeys(("set_postfix", "set_postfix_str"), ""),
    "write": "std",  # sys.stdout, sys.stderr
    "warn": "warnings",
    "pprint": "pprint",
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
    while frame is not None and not is_users_space(frame.f_globals):
        frame = frame.f_back  # the logging module writes texts for others
    if frame is None or not _is_dropped(frame.f_code, frame.f_lasti):
        return ""
    return f"{frame.f_code.co_filename}:{frame.f_lineno}"


def is_formatting() -> bool:
    """Tell whether a number is asked for by `"%.3f" % number`, which takes it for a float."""
    frame = sys._getframe(2)
    return _is_percent(frame.f_code, frame.f_lasti)


@lru_cache(maxsize=1024)
def _is_percent(code: CodeType, at: int) -> bool:
    return any(step.offset == at and step.argrepr == "%" for step in dis.get_instructions(code))


@lru_cache(maxsize=1024)
def _is_dropped(code: CodeType, at: int) -> bool:
    called: list[str] = []  # what the statement begins with: a.b.c
    is_begun = False
    for step in dis.get_instructions(code):
        name = step.opname
        ends = name == "POP_TOP" or name.startswith(_USES)
        if step.offset > at and ends:
            return name == "POP_TOP" and _shows(called)
        if ends or name == "RESUME":
            called, is_begun = [], False
        elif name in _NOTHING or (is_begun and not called):
            continue
        elif not called and not is_begun and name.startswith("LOAD_"):
            called, is_begun = [str(step.argval)], True
        elif name in ("LOAD_ATTR", "LOAD_METHOD") and is_begun and len(called) < 99:
            called.append(str(step.argval))
        else:  # its arguments
            called = [*called, *[""] * (99 - len(called))] if called else called
    return False


def _shows(called: list[str]) -> bool:
    words = [word for word in called if word]
    if len(words) < 2:
        return bool(words) and words[0] in _FUNCTIONS
    wanted = _METHODS.get(words[-1])
    return wanted is not None and wanted in words[-2].lower()
