"""The reference of the command line, docs/commands.md: every command with its options."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import typer

from minigrad.cli import EPILOG, app

HEAD = """# All commands

Made from the command line itself by `python docs/generate.py`; `minigrad COMMAND --help` shows the
same. [The command line](command_line.md) is the guide, with what each one prints.

## Exit codes

{codes}
"""


def exit_codes() -> str:
    """Return the exit codes as a list."""
    told = EPILOG.removeprefix("Exit codes: ").rstrip(".")
    rows = [re.fullmatch(r"(\d), (.*)", each.strip()) for each in told.split(";")]
    return "\n".join(f"- `{row[1]}`: {row[2]}" for row in rows if row)


def commands(group: Any, before: str = "minigrad") -> Iterator[tuple[str, Any]]:
    """Name all commands, those inside others too."""
    for name, command in group.commands.items():
        if getattr(command, "commands", None):
            yield from commands(command, f"{before} {name}")
        else:
            yield f"{before} {name}", command


def section(name: str, command: Any) -> str:
    """Return a command as a section."""
    arguments = [each for each in command.params if each.param_type_name == "argument"]
    options = [each for each in command.params if each.param_type_name == "option"]
    usage = " ".join([name, *(f"[{a.name.upper()}]" for a in arguments)])
    lines = [f"\n### {name}\n", f"`{usage}`\n", _prose(command.help), ""]
    rows = [(f"`{a.name.upper()}`", a.help) for a in arguments]
    rows += [(_spelled(each), each.help) for each in options if not each.hidden]
    lines += [f"- {spelled}: {_prose(told)}" for spelled, told in rows if told]
    return "\n".join(lines).rstrip() + "\n"


def _spelled(option: Any) -> str:
    return ", ".join(f"`{each}`" for each in (*option.opts, *option.secondary_opts))


def _prose(text: str | None) -> str:
    return " ".join((text or "").replace("\b", "").split())


def reference() -> str:
    """Return the whole page."""
    every = commands(typer.main.get_command(app))
    parts = [section(name, command) for name, command in every]
    return HEAD.format(codes=exit_codes()) + "\n## Commands\n" + "".join(parts)
