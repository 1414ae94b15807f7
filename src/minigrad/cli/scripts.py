"""`minigrad run`: somebody's micrograd or microgpt script, unchanged, on minigrad's engine."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from time import perf_counter
from typing import Annotated

import typer

from ..compat import scripts
from ..compat.beside import Beside
from ..core.names import readable
from ..core.terminal import put
from ..errors import ExpressionError
from ..scalar import engine


def run(
    script: Annotated[str, typer.Argument(help="A Python file; its own arguments follow.")],
    arguments: Annotated[list[str] | None, typer.Argument(metavar="ARGUMENTS")] = None,
    compare: Annotated[
        bool, typer.Option("--compare", help="Run it unchanged as well: same output? how fast?")
    ] = False,
) -> None:
    """Run a micrograd or microgpt script with its Value replaced by minigrad's.

    What was replaced is said on the standard error. The exit code is the script's own;
    with --compare it is 1 if the two runs print different things.
    """
    path = Path(script)
    if not path.is_file():
        raise ExpressionError(
            f"{readable(path)}: there is no such file; name a Python script, after the options."
        )
    if compare:
        _require_micrograd(path)
        _compare(script, arguments or [])
        return
    told: list[str] = []  # of modules that were imported, as they were

    def tell(sentence: str) -> None:
        told.append(sentence)
        _say(sentence)

    beside = Beside(path.parent, tell)
    try:
        prepared = scripts.prepared(path.read_bytes(), script, not beside.has("micrograd"))
    except SyntaxError as error:  # as Python tells it
        scripts.print_error(error, script)
        raise typer.Exit(1) from None
    except ValueError as error:
        raise ExpressionError(f"{readable(path)}: {error}") from None
    if prepared.replaced:
        words = " and ".join(prepared.replaced)
        _say(f"replaced {words} by minigrad's Value ({engine()} engine).")
    sys.meta_path.insert(0, beside)
    code = scripts.run(prepared, arguments or [], str(path.resolve().parent))
    sys.stdout.flush()
    if not prepared.replaced and not told:
        _say(f"{readable(path)} has no class Value and imports none: it ran as it is.")
    raise typer.Exit(code)


def _say(text: str) -> None:
    put(f"minigrad run: {text}", file=sys.stderr)


def _require_micrograd(path: Path) -> None:
    """Refuse to compare with a run that cannot be: of a script that needs what is not there."""
    try:
        replaced = scripts.prepared(path.read_bytes(), str(path)).replaced
    except (SyntaxError, ValueError):  # which the runs will tell
        return
    is_there = find_spec("micrograd") or Beside(path.parent, _say).has("micrograd")
    if any(words.startswith("micrograd") for words in replaced) and not is_there:
        raise ExpressionError(
            f"{readable(path)} imports micrograd, which is not installed, so there is nothing to "
            "compare with: python -m pip install micrograd, or leave --compare out."
        )


def _compare(script: str, arguments: list[str]) -> None:
    """Run a script in two processes, as it is and replaced, and tell them apart."""
    seconds, printed, codes = [], [], []
    for command in ([sys.executable], [sys.executable, "-m", "minigrad", "run"]):
        begun = perf_counter()
        done = subprocess.run(
            [*command, script, *arguments], stdout=subprocess.PIPE, check=False, env=os.environ
        )
        seconds.append(perf_counter() - begun)
        printed.append(done.stdout.decode(errors="replace").splitlines())
        codes.append(done.returncode)
    theirs, ours = printed
    put("\n".join(ours), end="\n" if ours else "")
    faster = f"{seconds[0]:.2f} s as it is, {seconds[1]:.2f} s replaced"
    if codes[0] != codes[1]:
        _say(f"it ends with code {codes[0]} as it is, with {codes[1]} replaced.")
    elif theirs != ours:
        pairs = zip([*theirs, ""], [*ours, ""], strict=False)
        at = next(k for k, (a, b) in enumerate(pairs) if a != b)
        was = theirs[at] if at < len(theirs) else "nothing"
        _say(f"line {at + 1} of the output was {was!r} before; {faster}.")
    else:
        _say(f"the same output; {faster}.")
        raise typer.Exit(codes[1])
    raise typer.Exit(1)
