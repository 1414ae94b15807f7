"""A progress bar: on a terminal by rich, in a notebook as HTML, and nowhere else.

    with progress_bar("training", 100) as bar:
        for k in range(100):
            ...
            bar.update(k + 1, lambda: f"loss {loss:.4f}")

It goes to the standard error, so that results can be piped. What it says is worked out only when it
is shown, a few times a second: a training step may take less time than a line of text.
"""

from __future__ import annotations

import contextlib
import html
import sys
from collections.abc import Callable, Iterator
from time import perf_counter
from typing import Any

from .terminal import put, shown

_EVERY = 0.1  # seconds between two looks; more often nobody can read it


class Bar:
    """A bar that nobody sees; the others show what they are told."""

    def __init__(self, title: str, total: int) -> None:
        self.title, self.total = title, total
        self._next = 0.0

    def update(self, done: int, text: Callable[[], str]) -> None:
        """Show how far it is, if it is time to."""
        now = perf_counter()
        if now >= self._next or done >= self.total:
            self._next = now + _EVERY
            self.show(done, text())

    def show(self, done: int, text: str) -> None:
        """Show how far it is."""

    def say(self, line: str) -> None:
        """Print a line that stays."""
        put(line, file=sys.stderr)


class _TerminalBar(Bar):
    def __init__(self, title: str, total: int, progress: Any) -> None:
        super().__init__(title, total)
        self._progress = progress
        self._task = progress.add_task(title, total=total, text="")

    def show(self, done: int, text: str) -> None:
        encoding = sys.stderr.encoding or "utf-8"
        self._progress.update(self._task, completed=done, text=shown(text, encoding))


class _NotebookBar(Bar):
    def __init__(self, title: str, total: int, display: Any) -> None:
        super().__init__(title, total)
        self._display = display
        self._handle: Any = None

    def show(self, done: int, text: str) -> None:
        words = html.escape(f"{self.title} {done}/{self.total}   {text}")
        bar = f'<progress value="{done}" max="{self.total}" style="width: 16em"></progress>'
        page = self._display.HTML(f'{bar} <span style="white-space: pre">{words}</span>')
        if self._handle is None:
            self._handle = self._display.display(page, display_id=True)
        else:
            self._handle.update(page)

    def say(self, line: str) -> None:
        print(line)  # to a notebook the standard error is an alarm


@contextlib.contextmanager
def progress_bar(title: str, total: int) -> Iterator[Bar]:
    """Show a bar while the block runs, where there is somebody to see it."""
    display = _notebook()
    if display is not None:
        yield _NotebookBar(title, total, display)
    elif not sys.stderr.isatty():
        yield Bar(title, total)
    else:
        try:
            from rich import progress as rich
            from rich.console import Console
        except ImportError:
            yield Bar(title, total)
            return
        columns = (
            rich.TextColumn("{task.description}"),
            rich.BarColumn(),
            rich.MofNCompleteColumn(),
            rich.TextColumn("{task.fields[text]}", markup=False),
            rich.TimeRemainingColumn(),
        )
        console = Console(stderr=True, highlight=False, emoji=False)
        with rich.Progress(*columns, console=console) as bars:
            yield _TerminalBar(title, total, bars)


def _notebook() -> Any:
    """Return IPython's display, if this is a notebook."""
    ipython = sys.modules.get("IPython")
    shell = None if ipython is None else ipython.get_ipython()
    if shell is None or not hasattr(shell, "kernel"):
        return None
    from IPython import display

    return display
