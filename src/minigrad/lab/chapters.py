"""The chapters of the course, one row each: which engine the learner gets, and what it lacks.

A chapter's engine grows from the one before it: the seven versions, then pieces of `engines/`.
What the learner gets is that engine with holes, functions whose body is theirs to write. Everything
else about an exercise lies beside this file: `probes/ch05.py` measures an answer and knows what is
right (RIGHT) and what typical mistakes measure (MISTAKES), `texts/<language>/ch05.md` has the task
and a hint for each of them. The page of a chapter is docs/course/<name>.md.

To add an exercise: a row here, a probe, a text in every language, and in the tests an answer and
the mistakes, made.
"""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from .labs import HERE, Measured
from .spanish import in_language

YOUR_TURN = "raise NotImplementedError  # your turn"


@dataclass(frozen=True)
class Chapter:
    """One chapter's exercise."""

    name: str  # of its page, with its number: 05-local-rules
    parts: tuple[str, ...]  # files that the engine is made of, the first one whole
    holes: tuple[str, ...] = ()  # functions for the learner to write: Value.__mul__
    edits: tuple[tuple[str, str], ...] = ()  # or lines that are otherwise at the start

    @property
    def number(self) -> int:
        """Its place in the course."""
        return int(self.name[:2])

    @property
    def folder(self) -> str:
        """The folder that its exercise is done in, unless the learner names another."""
        return f"chapter-{self.number:02}"

    @property
    def probe(self) -> Path:
        """Where its experiments are."""
        return HERE / "probes" / f"ch{self.number:02}.py"

    @property
    def right(self) -> Measured:
        """What the experiments measure on a right answer: by hand, in the probe."""
        found: Measured = _told(self.probe)["RIGHT"]
        return found

    @property
    def mistakes(self) -> dict[str, Measured]:
        """What they measure where a typical mistake was made, by its name; a part will do."""
        found: dict[str, Measured] = _told(self.probe)["MISTAKES"]
        return found

    def solution(self, lang: str = "en") -> str:
        """Return the engine as it is when the exercise is done."""
        return in_language(self._opening(lang) + _joined(self.parts), lang)

    def starter(self, lang: str = "en") -> str:
        """Return the engine as the learner gets it."""
        source = _joined(self.parts)
        for old, new in self.edits:
            source = source.replace(old, new)
        for hole in self.holes:
            source = _emptied(source, hole)
        return in_language(self._opening(lang) + source, lang)

    def _opening(self, lang: str) -> str:
        return f'"""{self.title(lang)}."""\n\n'

    def text(self, lang: str = "en") -> str:
        """Return the task and the hints."""
        return (HERE / "texts" / lang / f"ch{self.number:02}.md").read_text(encoding="utf-8")

    def title(self, lang: str = "en") -> str:
        """Return the chapter in a few words: "Chapter 5: a rule for each operation"."""
        return self.text(lang).splitlines()[0].removeprefix("# ")

    def task(self, lang: str = "en") -> str:
        """Return what the learner is asked to do."""
        return re.split(r"^## ", self.text(lang), flags=re.MULTILINE)[0].strip() + "\n"

    def hints(self, lang: str = "en") -> dict[str, str]:
        """Return what to tell somebody who made a mistake, by its name."""
        _, *parts = re.split(r"^## ", self.text(lang), flags=re.MULTILINE)
        pairs = [part.split("\n", 1) for part in parts]
        return {name.strip(): text.strip() for name, text in pairs}


_CLEARED = """        for node in topo:
            if node._prev:
                node.grad = 0.0
"""
_ZEROED = """        for p in parameters:
            p.grad = 0.0
        loss.backward()
"""
_CHOSEN = "    return sum(where(x > 0, x, x / 10) for x in xs)\n"
_BRANCH = """    result = 0.0
    for x in xs:
        if x > 0:
            result = result + x
        else:
            result = result + x / 10
    return result
"""
_GROWN = ("versions/v7.py", "engines/grown.py")
_MORE = (*_GROWN, "engines/more.py", "engines/slope.py")
_NETWORK = (*_GROWN, "engines/more.py", "engines/network.py")
_ROWS = (
    Chapter("01-derivative", ("engines/slope.py",), ("slope",)),
    Chapter("02-value", ("versions/v2.py",), ("Value.__mul__",)),
    Chapter("03-graph", ("versions/v3.py", "engines/trace.py"), ("trace",)),
    Chapter("04-by-hand", ("versions/v4.py", "engines/by_hand.py"), ("fill_in",)),
    Chapter("05-local-rules", ("versions/v5.py",),
            ("Value.__mul__._backward", "Value.tanh._backward")),
    Chapter("06-order", ("versions/v6.py",), ("Value.backward",)),
    Chapter("07-accumulate", ("versions/v7.py",), edits=((".grad += ", ".grad = "),)),
    Chapter("08-zero-grad", _GROWN,
            edits=((_CLEARED, "        # your turn\n"),
                   (_ZEROED, "        # your turn\n        loss.backward()\n"))),
    Chapter("09-more-operations", _MORE, ("Value.log", "Value.sigmoid")),
    Chapter("10-network", _NETWORK, ("Neuron.__call__", "Neuron.parameters")),
    Chapter("11-gpt", (*_NETWORK, "engines/attention.py"), ("softmax", "attend")),
    Chapter("12-compiler", ("engines/leaky.py",),
            edits=((_CHOSEN, _BRANCH),)),
    Chapter("13-newton", ("engines/newton.py",), ("newton",)),
    Chapter("14-many-machines", ("engines/shards.py",), ("all_reduce",)),
)  # fmt: skip
CHAPTERS: dict[str, Chapter] = {chapter.name: chapter for chapter in _ROWS}
BY_NUMBER: dict[str, Chapter] = {str(chapter.number): chapter for chapter in _ROWS}


def find(name: str) -> Chapter | None:
    """Return the chapter of a number (5, 05), a name (05-local-rules) or a folder (chapter-05)."""
    for chapter in CHAPTERS.values():
        if name in (chapter.name, chapter.folder, str(chapter.number), f"{chapter.number:02}"):
            return chapter
    return None


def _joined(parts: tuple[str, ...]) -> str:
    """Put the files of an engine together, each without its opening text.

    Methods of a class that is already there take the place of its own, or stand before the first
    of its short methods; other definitions come at the end.
    """
    whole = ""
    for part in parts:
        source = (HERE / part).read_text(encoding="utf-8")
        whole = _merged(whole, _body(source)) if whole else _body(source)
    return whole


def _body(source: str) -> str:
    opening = ast.parse(source).body[0]
    body = "\n".join(source.splitlines()[opening.end_lineno or 0 :]).strip() + "\n"
    return re.sub(r"  # noqa: F821.*", "", body)  # names that the rest of the engine has


def _merged(whole: str, more: str) -> str:
    lines = more.splitlines()
    for node in ast.parse(more).body:
        text = "\n".join(lines[node.lineno - 1 : node.end_lineno])
        if isinstance(node, ast.ClassDef) and re.search(rf"^class {node.name}:", whole, re.M):
            for method in node.body:
                if isinstance(method, ast.FunctionDef):
                    method_text = "\n".join(lines[method.lineno - 1 : method.end_lineno])
                    whole = _with_method(whole, f"{node.name}.{method.name}", method_text)
        elif isinstance(node, (ast.Import, ast.ImportFrom)):
            first, _, rest = whole.partition("\n")  # another import
            whole = whole if text in whole.splitlines() else f"{first}\n{text}\n{rest}"
        else:
            whole = f"{whole.rstrip()}\n\n\n{text}\n"
    return whole


def _with_method(whole: str, name: str, text: str) -> str:
    lines = whole.splitlines()
    there = _function(whole, name)
    if there is not None:
        lines[there.lineno - 1 : there.end_lineno] = text.splitlines()
    else:
        before = _function(whole, f"{name.partition('.')[0]}.__neg__")
        assert before is not None
        lines[before.lineno - 1 : before.lineno - 1] = [*text.splitlines(), ""]
    return "\n".join(lines) + "\n"


def _function(source: str, name: str) -> ast.FunctionDef | None:
    """Find a function by the names of what it stands in: Value.__mul__."""
    inside: Any = ast.parse(source)
    for part in name.split("."):
        named = [n for n in inside.body if getattr(n, "name", None) == part]
        if not named:
            return None
        inside = named[0]
    return inside if isinstance(inside, ast.FunctionDef) else None


def _emptied(source: str, name: str) -> str:
    """Take the body of a function out, but for its docstring."""
    function = _function(source, name)
    if function is None:
        raise ValueError(f"a hole in what is not there: {name}.")
    body = function.body[1:] if ast.get_docstring(function) else function.body
    lines = source.splitlines()
    indent = " " * body[0].col_offset
    lines[body[0].lineno - 1 : function.end_lineno] = [indent + YOUR_TURN]
    return "\n".join(lines) + "\n"


@cache
def _told(probe: Path) -> dict[str, Any]:
    """Read what stands in capitals from a probe, which cannot be imported: there is no engine."""
    tree = ast.parse(probe.read_text(encoding="utf-8"))
    assigned = [node for node in tree.body if isinstance(node, ast.Assign)]
    named = {ast.unparse(node.targets[0]): node.value for node in assigned}
    return {name: ast.literal_eval(named[name]) for name in ("RIGHT", "MISTAKES")}
