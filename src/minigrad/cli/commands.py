"""What a command is, over and above typer's: its help ends with examples, and `-a*b` is no option.

The examples of all commands stand in one table, `examples.py`; a test runs each of them.
"""

from __future__ import annotations

import textwrap
from typing import Any

from typer.core import TyperCommand

from ..expressions import CONSTANTS, FUNCTIONS
from .examples import EXAMPLES
from .reporting import Group

_LANGUAGE = (
    "Expressions: + - * / **, names, numbers, statements with = and ;, where(x > 0, a, b)\n"
    f"Constants:   {', '.join(CONSTANTS)}\n"
)
_FUNCTIONS = textwrap.fill(
    ", ".join(FUNCTIONS), 78, initial_indent="Functions:   ", subsequent_indent=" " * 13
)


class WithExamples:
    """Something whose help shows how it is used."""

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Write the help, and then the examples."""
        super().format_help(ctx, formatter)  # type: ignore[misc]
        lines = [f"  {example}" for example in EXAMPLES.get(_path(ctx), ())]
        if lines:
            formatter.write("Examples:\n" + "\n".join(lines) + "\n")


def _path(ctx: Any) -> str:
    """Spell a command without the program itself: `lab break`."""
    words: list[str] = []
    while ctx.parent is not None:
        words.insert(0, str(ctx.info_name))
        ctx = ctx.parent
    return " ".join(words)


class Command(WithExamples, TyperCommand):
    """A command."""


class Commands(WithExamples, Group):
    """Commands under one name."""


class ExpressionCommand(Command):
    """A command on an expression, which may begin with a minus."""

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Write the help, what an expression may have, and the examples."""
        super().format_help(ctx, formatter)
        formatter.write(f"\n{_LANGUAGE}")
        formatter.write(f"{_FUNCTIONS}\n")

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Tell options from expressions: `-h*2` is one, although there is an option `-h`."""
        options = {name: each for each in self.get_params(ctx) for name in each.opts}
        protected: list[str] = []
        takes_value = False
        for arg in args:
            name = arg.partition("=")[0]
            is_short = arg[:1] == "-" and arg[:2] != "--" and arg != "-"
            if is_short and not takes_value and name not in options:
                protected.append(f" {arg}")  # a space is nothing to an expression
                continue
            protected.append(arg)
            option = options.get(arg)
            takes_value = option is not None and not getattr(option, "is_flag", False)
            takes_value = takes_value and arg not in ctx.help_option_names
        return super().parse_args(ctx, protected)
