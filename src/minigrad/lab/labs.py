"""The labs, one row each: which engine the learner gets, and the numbers of its broken state.

Everything else about a lab lies beside this file under the same name: `probes/<name>.py` measures
an engine and knows what is right, `texts/<language>/<name>.md` is what the learner reads. The
change that breaks the engine stands in the text, as a diff.

To add a lab: a row here, a probe (and its Spanish in `spanish.py`), a text in every language, an
expected verdict in the tests.
"""

from __future__ import annotations

import ast
import math
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from .phrases import say
from .spanish import translated

HERE = Path(__file__).resolve().parent
LANGUAGES = ("en", "es")
GROWN = "engines/grown.py"
SECTIONS = ("hypothesis", "change", "run", "see", "diagnose", "repair", "lesson")
PAGES = {  # the learner gets them one after the other, so that none tells the end
    "LAB.md": ("hypothesis",),
    "BREAK.md": ("change", "run"),
    "ANSWERS.md": ("see", "diagnose", "repair", "lesson"),
}

Number = float | str  # an error counts as a result: "OverflowError"
Measured = dict[str, dict[str, Number]]


@dataclass(frozen=True, repr=False)
class Lab:
    """One lab."""

    name: str
    engine: str  # the file the learner starts with, under this folder
    broken: Measured  # the numbers of the engine broken as asked; what is not here stays right,
    loose: tuple[str, ...] = ()  # except experiments that may come out either way

    def __repr__(self) -> str:
        return f"<Lab {self.name}>"  # no more: the numbers are what a learner is to find out

    def engine_source(self, lang: str = "en") -> str:
        """Return the engine as the learner gets it: sound, and silent about what may go wrong."""
        source = _grown() if self.engine == GROWN else _read(self.engine)
        if self.engine == _V7:
            source = _OPENING + source[source.index("import math") :]
        return translated(source, lang)

    def probe_paths(self) -> list[Path]:
        """Where the experiments are: the lab's own, and what every whole engine must get right."""
        return [HERE / "probes" / f"{name}.py" for name in (self.name, "_sound")]

    def probe_source(self, lang: str = "en") -> str:
        """Return the probe as a program of its own, for the learner to run."""
        experiments = _read(f"probes/{self.name}.py")
        show = _read("probes/_show.py")
        helpers = show[show.index("def spell") :]
        opening, code = experiments.split("\n\n", 1)
        end = 'if __name__ == "__main__":\n    show(EXPERIMENTS, RIGHT)\n'
        source = f"{opening}\n\nimport math\n\n{code}\n\n{helpers}\n\n{end}"
        return translated(source, lang)

    @property
    def right(self) -> Measured:
        """What the experiments measure on a sound engine: by hand, in the probe."""
        return _right(self.name)

    def mended(self, measured: Measured, seen: Measured) -> tuple[int, int]:
        """How many of the numbers that were wrong when it was broken are right now, and of all.

        None, if something else has gone wrong since: then a right number may be a coincidence.
        """
        known = {k: x for k, x in (self.right | sound()).items() if k not in self.loose}
        known = {k: x for k, x in known.items() if k in seen}
        were_wrong, still_wrong = differences(seen, known), differences(measured, known)
        is_worse = not set(still_wrong) <= set(were_wrong)
        mended = [number for number in were_wrong if number not in still_wrong]
        return 0 if is_worse else len(mended), len(were_wrong)

    def verdict(self, measured: Measured) -> str:
        """Say of measured numbers whether the engine is intact, broken as asked, or other."""
        if not differences(measured, self.right | sound()):
            return "intact"
        asked = {
            experiment: self.broken.get(experiment, numbers)
            for experiment, numbers in self.right.items()
            if experiment not in self.loose
        }
        return "other" if differences(measured, asked) else "broken"

    def text(self, lang: str = "en") -> str:
        """Return what the learner reads."""
        return _read(f"texts/{lang}/{self.name}.md")

    def title(self, lang: str = "en") -> str:
        """Return the lab in a few words, for lists."""
        return self.text(lang).splitlines()[0].partition(": ")[2]

    def page(self, name: str, lang: str = "en", *, has_commands: bool = True) -> str:
        """Return what the learner reads at one step: LAB.md, BREAK.md or ANSWERS.md.

        At its end it says which command comes next, where there are commands.
        """
        opening, *sections = re.split(r"^(?=## )", self.text(lang), flags=re.MULTILINE)
        if name != "LAB.md":
            opening = opening.splitlines()[0] + "\n\n"
        chosen = "".join(sections[SECTIONS.index(section)] for section in PAGES[name])
        after = (
            "" if name == "ANSWERS.md" or not has_commands else "\n\n" + say(lang, f"after {name}")
        )
        return f"{opening}{chosen.rstrip()}{after}\n"

    def section(self, name: str, lang: str = "en") -> str:
        """Return one part of the text: hypothesis, change, run, see, diagnose, repair, lesson."""
        parts = re.split(r"^## .*\n", self.text(lang), flags=re.MULTILINE)
        return parts[1 + SECTIONS.index(name)].strip()


def _read(path: str) -> str:
    return (HERE / path).read_text(encoding="utf-8")


def _grown() -> str:
    """Return the seventh version with other methods for its backward pass, and a training loop."""
    seventh = _read("versions/v7.py")
    opening, methods, loop = _read(GROWN).split("\n\n\n")
    methods = methods[methods.index("    def backward") :]
    before = seventh[seventh.index("import math") : seventh.index("    def backward")]
    after = seventh[seventh.index("    def __neg__") :]
    return f"{opening}\n\n{before}{methods}\n\n{after}\n\n{loop}"


@cache
def _right(probe: str) -> Measured:
    """Read RIGHT from a probe, which cannot be imported: there is no engine here."""
    for statement in ast.parse(_read(f"probes/{probe}.py")).body:
        if isinstance(statement, ast.Assign) and ast.unparse(statement.targets[0]) == "RIGHT":
            numbers: Measured = ast.literal_eval(statement.value)
            return numbers
    raise ValueError(f"the probe {probe} has no RIGHT.")


def sound() -> Measured:
    """What every whole engine measures, whatever the lab."""
    return _right("_sound")


_V7 = "versions/v7.py"
_OPENING = '"""A small engine, and a whole one: `Value`, and what `backward()` needs."""\n\n'
_SLIP = 1 - math.sqrt(0.5)  # 1 - t instead of 1 - t**2, where t is the root of 1/2
_SLOPES: dict[str, float] = {  # of op(x) + x; with `=` for `+=` the 1 of the second x is lost
    name: float(slope) for name, slope in sound()["slope_at_half"].items()
}
_ROWS = (
    Lab("accumulate", _V7,
        {"diamond": {"a": -6.0, "b": -4.0, "c": -2.0}, "twice": {"a": 1.0},
         "slope_at_half": {name: slope - 1.0 for name, slope in _SLOPES.items()}}),
    Lab("order", _V7,
        {"ladder": {"a": 3.0, "b": 2.0, "c": 6.0, "d": 5.0}}),
    Lab("zero_grad", GROWN,
        {"training": {"w1": 1.5, "w2": 3.75, "w3": 5.625, "w4": 6.1875, "w5": 5.15625}}),
    Lab("tanh", _V7,
        {"neuron": {"x1": -3 * _SLIP, "w1": 2 * _SLIP, "x2": _SLIP, "w2": 0.0},
         "slope_at_half": {**_SLOPES, "tanh(x) + x": 2 - math.tanh(0.5)}}),
    Lab("stale", GROWN,
        {"again": {"1st": 3.0, "2nd": 9.0, "3rd": 18.0},
         "deep": {"1st": 1.0, "2nd": 11.0, "3rd": 66.0, "4th": 286.0}}),
    Lab("set", "engines/edges.py",
        {"twice": {"a": 1.0}, "square": {"a": 3.0}}, ("diamond",)),
    Lab("recursion", GROWN,
        {"long": {"x": "RecursionError"}}),
    Lab("overflow", _V7,
        {"far": {"left": -1.0, "right": "OverflowError"}, "near": {"tiny": 9.999999707180684e-10}}),
)  # fmt: skip
LABS: dict[str, Lab] = {lab.name: lab for lab in _ROWS}


def _same(x: Number | None, y: Number | None) -> bool:
    """Compare measured numbers, but for rounding; an error is known by its name."""
    if isinstance(x, float) and isinstance(y, float):
        return math.isclose(x, y, rel_tol=1e-9)
    return x == y


def differences(measured: Measured, expected: Measured) -> list[tuple[str, str]]:
    """Name the numbers, as (experiment, key), that are not as expected."""
    return [
        (experiment, key)
        for experiment, numbers in expected.items()
        for key, number in numbers.items()
        if not _same(measured.get(experiment, {}).get(key), number)
    ]


def language(environment: Mapping[str, str] | None = None) -> str:
    """Return the learner's language as the system tells it: English unless it is known."""
    variables = os.environ if environment is None else environment
    for name in ("LC_ALL", "LC_MESSAGES", "LANG"):
        if variables.get(name):
            code = re.split(r"[_.@-]", variables[name])[0].lower()
            return code if code in LANGUAGES else "en"
    return "en"
