"""The code fences of a document, and how each kind is run; `counted` leaves none out.

A fence that needs packages besides minigrad's own has a comment before it, `<!-- needs jax -->`; a
fence of shell lines that no test can look at says why, `<!-- not run: a cluster is needed -->`.
Fences of one page share their names, in order; a `{try}` stands by itself, as it does in the page.
A page with a comment `<!-- apart: … -->` changes what others rely on; it gets a process of its own.
"""

from __future__ import annotations

import doctest
import importlib.util
import os
import re
import shlex
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import NamedTuple

import typer
from typer.testing import CliRunner

from minigrad.cli import app

ROOT = Path(__file__).parent.parent
_OPENING = re.compile(r"^( *)(`{3,})([^`\n]*)\n", re.MULTILINE)
_COMMENT = re.compile(r"<!-- (needs|not run:) ([^\n]*) -->\n *$")
RUN = ("pycon", "python", "console", "{try}")  # by the tests, whatever is installed
BUILT = ("{player}", "{plot}", "{measured}", "{toctree}")  # a mistake in them fails the site


class Fence(NamedTuple):
    """A code fence of a document."""

    where: str
    language: str
    text: str
    needs: str = ""  # packages
    why_not: str = ""  # it is not run


def fences(path):
    """Return the fences of a document, in order."""
    text = path.read_text(encoding="utf-8")
    found, at = [], 0
    while opening := _OPENING.search(text, at):
        indent, ticks, info = opening.groups()
        closing = re.compile(rf"^ {{0,{len(indent)}}}{ticks}`* *$", re.MULTILINE)
        end = closing.search(text, opening.end())
        line = text.count("\n", 0, opening.start()) + 1
        assert end, f"{path.name}:{line}: this fence has no end"
        body = re.sub(rf"^ {{0,{len(indent)}}}", "", text[opening.end() : end.start()], flags=re.M)
        comment = _COMMENT.search(text, 0, opening.start())
        kind, said = comment.groups() if comment else ("", "")
        language = info.split()[0] if info.split() else ""
        found.append(
            Fence(
                f"{path.name}:{line}",
                language,
                body,
                said if kind == "needs" else "",
                said if kind == "not run:" else "",
            )
        )
        at = end.end()
    return found


def run_page(path, chosen):
    """Run fences of a page, here or in a process of their own."""
    if "<!-- apart: " not in path.read_text(encoding="utf-8"):
        run(chosen)
        return
    here = Path(__file__).parent
    program = f"import fences, pathlib; fences.run(fences.fences(pathlib.Path({str(path)!r})))"
    done = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(here), *sys.path])},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr


def run(chosen):
    """Run fences as one program, and compare what they print."""
    names: dict[str, object] = {"__name__": "__main__"}
    for fence in chosen:
        if fence.language == "pycon":
            _session(fence, names)
        elif fence.language == "python":
            exec(compile(fence.text, fence.where, "exec"), names)
        elif fence.language == "console":
            _console(fence)
        elif fence.language == "{try}":
            text = re.sub(r"\A(:\w+:.*\n)+\n?", "", fence.text)
            alone = fence._replace(text=text)
            if text.lstrip().startswith(">>>"):
                _session(alone, {})
            else:
                exec(compile(text, fence.where, "exec"), {"__name__": "__main__"})


def _session(fence, names):
    example = doctest.DocTestParser().get_doctest(fence.text, names, fence.where, fence.where, 0)
    assert example.examples, fence.where
    runner = doctest.DocTestRunner(verbose=False)
    report = []
    runner.run(example, out=report.append, clear_globs=False)
    names.update(example.globs)
    assert runner.failures == 0, "".join(report)


def _console(fence):
    """Run one command, or several, each with what it prints below it."""
    parts = re.split(r"^\$ ", fence.text, flags=re.MULTILINE)
    assert parts[0] == "", f"{fence.where}: begin with “$ minigrad …”"
    for part in parts[1:]:
        command, _, expected = part.partition("\n")
        program, *arguments = shlex.split(command)
        assert program == "minigrad", f"{fence.where}: {program}"
        assert CliRunner().invoke(app, arguments).output == expected, fence.where


def wrong_shell_line(line):
    """Return what is wrong with a shell line; one that is nothing of ours is wrong, too."""
    words = shlex.split(line, comments=True)
    for command in _commands(words):
        while command and re.match(r"[A-Z_]+=", command[0]):
            command.pop(0)
        problem = _wrong(command)
        if problem:
            return f"{line}: {problem}"
    return ""


def _commands(words):
    """Cut a line where one command ends and another begins."""
    found = [[]]
    for word in words:
        if word in ("&&", "|", "||", ";"):
            found.append([])
        else:
            found[-1].append(word)
    return [command for command in found if command]


def _wrong(command):
    program, *rest = command
    if program == "minigrad":
        return wrong_command(rest)
    if program == "pip" or (program == "python" and rest[:2] == ["-m", "pip"]):
        return _wrong_extras(" ".join(rest))
    if program == "python" and rest[:1] == ["-m"]:
        own = (ROOT / rest[1].replace(".", "/")).exists()
        return "" if own or importlib.util.find_spec(rest[1]) else f"no module {rest[1]}"
    if program in ("python", "bash") and rest:
        return "" if (ROOT / rest[0]).exists() else f"no file {rest[0]}"
    if program in ("ruff", "mypy", "uv", "pytest", "cd", "mkdir"):
        return ""
    return f"{program}: say in a comment before the fence why this is not run"


def _wrong_extras(text):
    known = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    extras = re.findall(r"(?:\.|minigrad-engine)\[([\w,]+)\]", text)
    unknown = {n for each in extras for n in each.split(",")} - {*known["optional-dependencies"]}
    if re.search(r"\bminigrad\b(?!-)", text):
        return "the distribution is minigrad-engine"
    return f"no extras {sorted(unknown)}" if unknown else ""


def wrong_command(arguments):
    """Return what is wrong with the arguments of minigrad, without doing anything."""
    at = typer.main.get_command(app)
    while commands := getattr(at, "commands", None):
        if not arguments or arguments[0].startswith("-"):
            break
        name, *arguments = arguments
        if name not in commands:
            return f"there is no command {name}"
        at = commands[name]
    known = {"-h", "--help"}
    for parameter in at.params:
        known |= {*parameter.opts, *parameter.secondary_opts}
    for word in arguments:
        if word.endswith(".py") and at.name in ("run", "launch"):
            break  # what follows a script is its own
        if re.match(r"--?[A-Za-z]", word) and word.partition("=")[0] not in known:
            return f"{at.name} has no option {word}"
    return ""
