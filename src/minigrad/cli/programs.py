"""`minigrad program`: what the compiler makes of an expression, or of a function in a file."""

from __future__ import annotations

import ast
import runpy
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from types import FunctionType, MappingProxyType
from typing import Annotated, Any

import typer

from ..core.names import readable
from ..core.terminal import put, put_json
from ..errors import ExpressionError, MinigradError
from .given import graph
from .options import AsJson

_NONE: Mapping[str, Any] = MappingProxyType({})


def program(
    subject: Annotated[
        str, typer.Argument(help="An expression, - for standard input, or file.py:function.")
    ],
    arguments: Annotated[
        list[str] | None,
        typer.Argument(metavar="NAME=VALUE", help="such as x=0.5, for a function also xs=[1,2]"),
    ] = None,
    gradient: Annotated[
        bool, typer.Option("--gradient", help="The program with its gradient.")
    ] = False,
    backend: Annotated[
        str, typer.Option("--backend", help="auto, native, numpy, or what else is there.")
    ] = "auto",
    as_json: AsJson = False,
) -> None:
    """Show what the compiler makes of an expression, or of a function in a file.

    A function is called with the arguments as keywords; they are written as in Python.
    """
    path, colon, name = subject.rpartition(":")
    given: dict[str, Any]
    if colon and path.endswith(".py"):
        function, given = _loaded(Path(path), name), _literals(arguments or [])
        call = partial(_call, subject, keywords=given)
    elif subject.endswith(".py"):
        raise ExpressionError(f"{readable(subject)}: say which function: {readable(subject)}:loss.")
    else:
        _, read = graph(subject, arguments)
        function, given = read.function(), dict(zip(read.variables, read.numbers, strict=True))
        call = partial(_call, "the expression", numbers=read.numbers)
    compiled = _compiled(function, backend)
    call(compiled)
    if compiled.dispatch.as_is:  # there is no program, and why
        put_json({"explanation": compiled.explain()}) if as_json else put(compiled.explain())
        return
    shown = compiled.gradient_program() if gradient else compiled.program
    if as_json:
        steps = [
            {"kind": step.kind, "op": step.op, "shape": list(step.shape)}
            for step in shown.instructions
        ]
        put_json({"explanation": compiled.explain(), "program": str(shown), "instructions": steps})
        return
    put(f"{compiled.explain()}\n\n{shown}")


def _compiled(function: Callable[..., Any], backend: str) -> Any:
    from ..compiler.api import Compiled, compile  # noqa: A004 - it brings NumPy along

    try:
        return function if isinstance(function, Compiled) else compile(function, backend=backend)
    except TypeError as error:  # a generator, say
        raise ExpressionError(str(error)) from None
    except (ValueError, RuntimeError) as error:
        raise ExpressionError(f"--{error}") from None


def _call(
    name: str, compiled: Any, numbers: Sequence[float] = (), keywords: Mapping[str, Any] = _NONE
) -> None:
    try:
        compiled(*numbers, **keywords)
    except MinigradError as error:
        raise ExpressionError(f"{readable(name)}: {error}") from None
    except Exception as error:
        kind = type(error).__name__
        raise ExpressionError(f"{readable(name)} cannot be called so: {kind}: {error}") from None


def _loaded(path: Path, name: str) -> Callable[..., Any]:
    """Run a file, and return a function that it defines."""
    if not path.is_file():
        raise ExpressionError(f"{readable(path)}: there is no such file.")
    try:
        found = runpy.run_path(str(path), run_name="minigrad_program")
    except Exception as error:
        kind = type(error).__name__
        raise ExpressionError(f"{readable(path)} cannot be run: {kind}: {error}") from None
    function: Callable[..., Any] | None = found.get(name)
    if not callable(function):
        functions = [key for key, thing in found.items() if isinstance(thing, FunctionType)]
        there = f"there are {', '.join(functions)}" if functions else "it defines none"
        raise ExpressionError(f"{readable(path)} has no function {name!r}; {there}.")
    if isinstance(function, type):
        raise ExpressionError(
            f"{readable(path)}: {name} is a class; name a function, or an object with a __call__."
        )
    return function


def _literals(arguments: list[str]) -> dict[str, Any]:
    """Read `x=0.5 xs=[1,2]`, as in Python."""
    found: dict[str, Any] = {}
    for argument in arguments:
        name, _, text = argument.partition("=")
        try:
            found[name.strip()] = ast.literal_eval(text.strip())
        except (ValueError, SyntaxError):
            raise ExpressionError(
                f"{argument!r} is not of the form name=value, such as x=0.5 or xs=[1,2]."
            ) from None
    return found
