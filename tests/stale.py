"""Judge the rows of `stale_rows`; as a script, print the table of verdicts.

    python tests/stale.py                # every row
    python tests/stale.py random dice    # those whose class or name has one of these words in it

Verdicts:

- same      the compiled run showed what the eager one showed
- refused   it raised an error that says why in a sentence, and showed nothing wrong before that
- caught    it showed a wrong number, and with audit="always" it raises AuditError
- limit     it showed a wrong number, and the row says why that is documented
- wrong     anything else: a wrong number
- crash     an error that says nothing to the user
- hang      it did not end
"""

from __future__ import annotations

import builtins
import contextlib
import functools
import inspect
import io
import json
import math
import os
import random
import subprocess
import sys
import warnings
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

import numpy as np
from stale_rows import Row, load
from uncompiled import Eager, Rows, train_step

import minigrad
from minigrad import Value

__all__ = ["HAS_AUDIT", "Outcome", "Verdict", "compared", "eager", "judge", "outcome"]

HAS_AUDIT = "audit" in inspect.signature(minigrad.compile).parameters
WORDS = ("same", "refused", "caught", "limit", "wrong", "crash", "hang")
_SECONDS = 10.0  # for a row that runs in a process of its own; importing NumPy takes one


@dataclass(frozen=True)
class Verdict:
    """One word of WORDS, and what it rests on."""

    word: str
    why: str = ""


# ---- the ways to run a scenario ------------------------------------------------------------------


class Way:
    """What a row gets as `compiled`."""

    def __init__(self, make: Any, train_step: Any, vmap: Any) -> None:
        self._make, self.train_step, self.vmap = make, train_step, vmap

    def __call__(self, function: Any = None, *, plain: bool = False, **options: Any) -> Any:
        """Compile; `plain` says that its users, uncompiled, give it floats and no Values."""
        if function is None:
            return functools.partial(self, plain=plain, **options)
        return self._make(function, plain, **options)


def eager() -> Way:
    return Way(lambda function, plain, **_: Eager(function, plain), train_step, Rows)


def compiled(**audit: str) -> Way:
    return Way(
        lambda function, _, **options: minigrad.compile(function, **options, **audit),
        *(
            functools.partial(make, **_accepted(make, audit))
            for make in (minigrad.train_step, minigrad.vmap)
        ),
    )


def _accepted(make: Any, options: dict[str, str]) -> dict[str, str]:
    known = inspect.signature(make).parameters
    return {name: value for name, value in options.items() if name in known}


# ---- what was to be seen -------------------------------------------------------------------------


@dataclass
class Outcome:
    """What a scenario has shown, and the error that ended it."""

    seen: list[Any]
    error: Exception | None = None


def outcome(row: Row, way: Way) -> Outcome:
    """Run a scenario."""
    seen: list[Any] = []
    with _as_it_was():
        try:
            seen.extend(plain(each) for each in row.scenario(way))
        except Exception as error:
            return Outcome(seen, error)
    return Outcome(seen)


@contextlib.contextmanager
def _as_it_was() -> Iterator[None]:
    """Put back what a scenario may have changed, and keep its words to itself."""
    names, environment, folder = dict(vars(builtins)), dict(os.environ), Path.cwd()
    dice, dice_of_numpy = random.getstate(), np.random.get_state()
    random.seed(1)
    np.random.seed(1)
    try:
        with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
            warnings.simplefilter("ignore")  # that a function took too many ways, say
            yield
    finally:
        random.setstate(dice)
        np.random.set_state(dice_of_numpy)
        os.chdir(folder)
        os.environ.clear()
        os.environ.update(environment)
        space = vars(builtins)
        space.update(names)
        for name in space.keys() - names.keys():
            del space[name]
        for name in [name for name in sys.modules if name.startswith("user_")]:
            del sys.modules[name]


def plain(thing: Any) -> Any:
    """What a user sees of a thing, as it is now: numbers, texts, and containers of them."""
    if isinstance(thing, Value):
        return float(thing.data)
    if isinstance(thing, np.ndarray):
        return ("array", thing.shape, [plain(part) for part in thing.ravel()])
    if isinstance(thing, (bool, np.bool_)):
        return bool(thing)
    if isinstance(thing, (int, float, np.number)):
        return float(thing) if abs(thing) < 2**53 or isinstance(thing, float) else int(thing)
    if isinstance(thing, (list, tuple)):
        return (type(thing).__name__, [plain(part) for part in thing])
    if isinstance(thing, dict):
        return (type(thing).__name__, [(plain(k), plain(v)) for k, v in thing.items()])
    if isinstance(thing, (str, bytes, type(None))):
        return thing
    return type(thing).__name__


def alike(a: Any, b: Any) -> bool:
    """Compare what was seen; numbers but for rounding, and nan with nan."""
    if isinstance(a, float) and isinstance(b, float):
        return math.isclose(a, b, rel_tol=1e-9, abs_tol=1e-12) or (math.isnan(a) and math.isnan(b))
    if type(a) is not type(b):
        return False
    if isinstance(a, (list, tuple)):
        return len(a) == len(b) and all(map(alike, a, b))
    return bool(a == b)


# ---- judging -------------------------------------------------------------------------------------


def judge(row: Row) -> Verdict:
    """Say how a compiled function fares in a scenario."""
    if row.alone:
        return _judged_alone(row)
    truth = outcome(row, eager())
    verdict = compared(truth, outcome(row, compiled()))
    if verdict.word != "wrong":
        return verdict
    if HAS_AUDIT:
        with _environment(MINIGRAD_AUDIT="always"):  # for what takes no audit= itself
            audit = compared(truth, outcome(row, compiled(audit="always")))
        if audit.word == "caught":
            return audit
    return Verdict("limit", row.limit) if row.limit else verdict


@contextlib.contextmanager
def _environment(**variables: str) -> Iterator[None]:
    before = dict(os.environ)
    os.environ.update(variables)
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)


def compared(truth: Outcome, found: Outcome) -> Verdict:
    """Say how what a compiled run has shown compares with the truth."""
    error = found.error
    if error is not None and type(error).__name__ == "AuditError":
        return Verdict("caught", _words(error))
    shown = found.seen, truth.seen[: len(found.seen)] if error is not None else truth.seen
    if not alike(*shown):
        return Verdict("wrong", f"eager {_short(truth)}, compiled {_short(found)}")
    if type(error) is type(truth.error):
        return Verdict("same")
    if error is None:
        return Verdict("wrong", f"eager raises {_words(truth.error)}, compiled goes on")
    return Verdict("refused" if _says_why(error) else "crash", _words(error))


def _says_why(error: Exception) -> bool:
    """Tell whether an error is minigrad's own, or one of Python's in minigrad's words."""
    text = str(error)
    if isinstance(error, minigrad.MinigradError):
        return len(text.split()) > 5
    return isinstance(error, (TypeError, ValueError)) and text.endswith(".")


def _words(error: Exception | None) -> str:
    return f"{type(error).__name__}: {error}"


def _short(outcome: Outcome) -> str:
    text = ", ".join(map(_brief, outcome.seen))
    return text if outcome.error is None else f"{text}, then {_words(outcome.error)}"


def _brief(seen: Any) -> str:
    if isinstance(seen, float):
        return f"{seen:.6g}"
    if isinstance(seen, tuple):
        return f"{seen[0]}{_brief(seen[-1])}"
    return f"[{', '.join(map(_brief, seen))}]" if isinstance(seen, list) else repr(seen)


def _judged_alone(row: Row) -> Verdict:
    command = [sys.executable, str(Path(__file__).resolve()), "--row", row.id]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=_SECONDS, check=True)
    except subprocess.TimeoutExpired:
        return Verdict("hang", f"not done after {_SECONDS:g} seconds")
    return Verdict(**json.loads(done.stdout.splitlines()[-1]))


# ---- the table -----------------------------------------------------------------------------------


def main(words: list[str]) -> None:
    rows = load()
    if words[:1] == ["--row"]:
        (row,) = [row for row in rows if row.id == words[1]]
        verdict = judge(replace(row, alone=False))
        print(json.dumps({"word": verdict.word, "why": verdict.why}), flush=True)
        os._exit(0)  # threads that it left behind might wait for ever
    if words:
        rows = [row for row in rows if any(word in row.id for word in words)]
    _print([(row, judge(row)) for row in rows])


def _print(judged: list[tuple[Row, Verdict]]) -> None:
    from rich.console import Console
    from rich.table import Table

    colours = dict.fromkeys(WORDS, "bold red") | {"same": "green", "refused": "cyan"}
    colours |= {"caught": "blue", "limit": "yellow"}
    console = Console()
    table = Table("class", "row", "verdict", "why", title="Stale answers", row_styles=["", "dim"])
    for row, verdict in judged:
        mark = "" if verdict.word in row.accepts else " ✗"
        word = f"[{colours[verdict.word]}]{verdict.word}{mark}[/]"
        table.add_row(row.group, row.name, word, verdict.why.replace("[", "\\["))
    console.print(table)
    counts = Table("class", *WORDS, "rows", title="By class")
    for group in dict.fromkeys(row.group for row, _ in judged):
        found = Counter(verdict.word for row, verdict in judged if row.group == group)
        counts.add_row(group, *(str(found[word] or "") for word in WORDS), str(found.total()))
    found = Counter(verdict.word for _, verdict in judged)
    counts.add_section()
    counts.add_row("all", *(str(found[word]) for word in WORDS), str(found.total()))
    console.print(counts)
    failing = sum(verdict.word not in row.accepts for row, verdict in judged)
    console.print(f"{failing} of {len(judged)} rows have a verdict that they do not accept.")
    if not HAS_AUDIT:
        console.print("This minigrad has no audit=, so nothing wrong could be caught.")


if __name__ == "__main__":
    main(sys.argv[1:])
