"""Learning by breaking: the seven versions, the labs played as a learner would, and broken()."""

from __future__ import annotations

import ast
import asyncio
import doctest
import io
import json
import math
import re
import subprocess
import sys
import threading
import tokenize
from contextlib import ExitStack
from pathlib import Path
from string import Formatter

import pytest
from programs import call_minigrad, random_program
from programs import run as run_program
from typer.testing import CliRunner

import minigrad
from minigrad import Value, grad, lab, record, steps, strict
from minigrad.calculus.faults import BrokenPass, run_broken
from minigrad.cli.lab import app
from minigrad.core import blocks
from minigrad.core.observers import replacing
from minigrad.lab import LABS, LabError, broken, versions
from minigrad.lab.broken import FAULTS
from minigrad.lab.labs import LANGUAGES, PAGES, SECTIONS, language, sound
from minigrad.lab.phrases import PHRASES
from minigrad.lab.spanish import EXPERIMENTS, MEASURED
from minigrad.lab.workspace import examine, find_folder

# ---- the seven versions ------------------------------------------------------------------------


def chain(kind):
    """The lecture's first expression; nothing is used twice."""
    a, b, c, f = kind(2.0), kind(-3.0), kind(10.0), kind(-2.0)
    result = (a * b + c) * f
    result.backward()
    return [v.grad for v in (a, b, c, f)]


def diamond(kind):
    a, b, c = kind(2.0), kind(3.0), kind(4.0)
    result = (a * b + c) * (a - c)
    result.backward()
    return [v.grad for v in (a, b, c)]


def twice(kind):
    a = kind(3.0)
    result = a + a
    result.backward()
    return [a.grad]


def is_import(node):
    return isinstance(node, (ast.Import, ast.ImportFrom))


@pytest.mark.parametrize("number", range(1, 8))
def test_each_version_stands_alone_and_its_examples_run(number):
    module = versions.load_module(number)
    outcome = doctest.testmod(module)
    assert outcome.attempted > 0
    assert outcome.failed == 0
    imports = [node for node in ast.walk(ast.parse(versions.source(number))) if is_import(node)]
    assert [ast.unparse(node) for node in imports] == ["import math"] * (number > 1)


def test_versions_are_listed_and_loaded_fresh():
    assert [version.number for version in versions.VERSIONS] == [1, 2, 3, 4, 5, 6, 7]
    assert versions.get(6).name == "automatic order"
    first, second = versions.load(7), versions.load(7)
    first.backward = None
    assert first is not second
    assert diamond(second) == [4.0, -4.0, -12.0]
    for number in (0, 8, "6", None):
        with pytest.raises(ValueError, match="the versions are 1 to 7"):
            versions.get(number)


def test_the_sixth_has_the_famous_bug_and_no_other():
    sixth = versions.load(6)
    assert chain(sixth) == [6.0, -4.0, -2.0, 4.0]
    assert diamond(sixth) == [-6.0, -4.0, -2.0]
    assert twice(sixth) == [1.0]


@pytest.mark.smoke
def test_the_seventh_is_sound():
    seventh = versions.load(7)
    assert chain(seventh) == [6.0, -4.0, -2.0, 4.0]
    assert diamond(seventh) == [4.0, -4.0, -12.0]
    assert twice(seventh) == [2.0]


OPERATIONS = [  # used once; the derivative is by hand
    (lambda x: x + 2, 3.0, 1.0),
    (lambda x: 2 + x, 3.0, 1.0),
    (lambda x: x * 2, 3.0, 2.0),
    (lambda x: 2 * x, 3.0, 2.0),
    (lambda x: x - 2, 3.0, 1.0),
    (lambda x: 2 - x, 3.0, -1.0),
    (lambda x: -x, 3.0, -1.0),
    (lambda x: x / 2, 3.0, 0.5),
    (lambda x: 2 / x, 4.0, -0.125),
    (lambda x: x**3, 2.0, 12.0),
    (lambda x: x**-1, 2.0, -0.25),
    (lambda x: x.exp(), 2.0, math.exp(2.0)),
    (lambda x: x.tanh(), 0.5, 1 / math.cosh(0.5) ** 2),
    (lambda x: x.relu(), 2.0, 1.0),
    (lambda x: x.relu(), -2.0, 0.0),
    (lambda x: sum([x, 1.0]), 3.0, 1.0),
]


@pytest.mark.parametrize("number", [6, 7])
@pytest.mark.parametrize(("function", "at", "slope"), OPERATIONS)
def test_every_operation_of_the_last_two_versions(number, function, at, slope):
    x = versions.load(number)(at)
    result = function(x)
    result.backward()
    assert result.data == pytest.approx(function(Value(at)).data, rel=1e-15)
    assert x.grad == pytest.approx(slope, rel=1e-14)


@pytest.mark.parametrize("number", range(2, 6))
@pytest.mark.parametrize(("function", "at", "slope"), OPERATIONS)
def test_the_values_of_earlier_versions(number, function, at, slope):
    result = function(versions.load(number)(at))
    assert result.data == pytest.approx(function(Value(at)).data, rel=1e-15)
    assert isinstance(result._prev, tuple)


def test_a_diff_leads_from_one_version_to_the_next():
    changed = [line for line in versions.diff(7).splitlines() if re.match(r"[-+] ", line)]
    removed = [line[1:] for line in changed if line[0] == "-"]
    added = [line[1:] for line in changed if line[0] == "+"]
    assert len(removed) == 8
    assert [line.replace(".grad = ", ".grad += ") for line in removed] == added
    assert versions.diff(6).count("\n-") == 0  # only new lines
    assert "def backward(self):" in versions.diff(6)


@pytest.mark.parametrize("number", range(1, 8))
def test_the_line_numbers_of_a_diff_are_those_of_the_files(number):
    before = versions.source(number - 1).splitlines() if number > 1 else []
    after = versions.source(number).splitlines()
    hunks = re.findall(
        r"^@@ -(\d+)\S* \+(\d+)\S* @@\n((?:[-+ ].*\n)+)", versions.diff(number), re.M
    )
    assert hunks
    for start, new_start, text in hunks:
        lines = text.splitlines()
        old = [line[1:] for line in lines if line[0] in " -"]
        new = [line[1:] for line in lines if line[0] in " +"]
        assert old == (before[int(start) - 1 :][: len(old)] if before else [])
        assert new == after[int(new_start) - 1 :][: len(new)]


# ---- the labs, played ----------------------------------------------------------------------------


def run(*arguments):
    return CliRunner().invoke(app, list(map(str, arguments)))


def fences(text, language):
    return re.findall(rf"^```{language}\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)


def edited(source, diff, *, backwards=False):
    """Apply the change that LAB.md shows, hunk by hunk, or take it back."""
    for hunk in re.split(r"^@@\n", diff, flags=re.MULTILINE)[1:]:
        old = "".join(line[1:] + "\n" for line in hunk.splitlines() if line[0] in " -")
        new = "".join(line[1:] + "\n" for line in hunk.splitlines() if line[0] in " +")
        old, new = (new, old) if backwards else (old, new)
        assert source.count(old) == 1, f"LAB.md shows what is not there, or not only once:\n{old}"
        source = source.replace(old, new)
    return source


def run_probe(folder, *options):
    return subprocess.run(
        [sys.executable, "probe.py"], cwd=folder, capture_output=True, text=True, check=False
    )


@pytest.mark.parametrize(  # the Spanish texts have the same code, which another test compares
    ("name", "lang"), [*((name, "en") for name in LABS), ("accumulate", "es"), ("stale", "es")]
)
def test_a_learner_breaks_sees_repairs_and_finishes(name, lang, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    begun = run("break", name, "--lang", lang)
    assert begun.exit_code == 0
    assert begun.output.count(f"lab-{name}") == 2
    folder = tmp_path / f"lab-{name}"
    assert sorted(path.name for path in folder.iterdir()) == [
        ".lab.json",
        "LAB.md",
        "engine.py",
        "probe.py",
    ]
    engine = folder / "engine.py"
    whole = engine.read_text(encoding="utf-8")

    intact = run_probe(folder)
    assert (intact.returncode, intact.stderr) == (0, "")
    well, wrong = ("   ok\n", "WRONG") if lang == "en" else ("   bien\n", "MAL")
    assert wrong not in intact.stdout
    assert intact.stdout.count(well) == len(LABS[name].right)
    assert run("check").exit_code == 1
    assert lab.check(folder).state == "started"

    assert run("next").output.startswith(f"lab-{name}/BREAK.md ")
    assert run("next").exit_code == 1  # the answers come later
    (diff,) = fences((folder / "BREAK.md").read_text(encoding="utf-8"), "diff")
    engine.write_text(edited(whole, diff), encoding="utf-8")
    seen = run("check")
    assert seen.exit_code == 1
    assert "minigrad lab next" in seen.output
    assert run("next").output.startswith(f"lab-{name}/ANSWERS.md ")
    (expected,) = fences((folder / "ANSWERS.md").read_text(encoding="utf-8"), "text")
    assert run_probe(folder).stdout == expected
    assert wrong in expected
    progress = lab.check(folder)
    assert (progress.state, progress.engine, progress.lang) == ("broken", "broken", lang)
    assert progress.differences == progress.seen != []

    engine.write_text(edited(engine.read_text(), diff, backwards=True), encoding="utf-8")
    assert engine.read_text() == whole
    finished = run("check")
    assert finished.exit_code == 0
    assert json.loads((folder / ".lab.json").read_text())["state"] == "repaired"
    assert run("check", folder, "--json").exit_code == 0
    assert lab.check(folder).seen == progress.seen


@pytest.mark.parametrize("lang", LANGUAGES)
@pytest.mark.parametrize("name", LABS)
def test_nothing_tells_the_end_at_the_start(name, lang, tmp_path, monkeypatch):
    """Neither what is written or printed at the start, nor what a first check says."""
    monkeypatch.chdir(tmp_path)
    row = LABS[name]
    said = run("--lang", lang).output + run("break", name, "--lang", lang).output
    said += run("check").output
    folder = tmp_path / f"lab-{name}"
    question = (folder / "LAB.md").read_text(encoding="utf-8")
    written = [path.read_text(encoding="utf-8") for path in folder.iterdir()]
    everything = "\n".join([said, *written])
    for line in fences(row.text(lang), "text")[0].splitlines():
        found = re.fullmatch(r"\w+ +(.*?) +(WRONG|MAL)", line)
        assert not (found and found[1] in everything)
    later = [row.section(part, lang) for part in ("change", "see", "diagnose", "repair", "lesson")]
    for line in set("\n".join(later).splitlines()) - {"", "+"}:
        if not line.startswith(("```", "@@", " ", "-")) and line not in row.section("run", lang):
            assert line not in question
            assert line not in said
    assert not re.search("RecursionError|OverflowError", everything)
    assert row.section("hypothesis", lang) in question
    assert "minigrad lab next" in question
    pages = [row.page(page, lang) for page in PAGES]
    for part in SECTIONS:  # and none is lost, or there twice
        assert sum(row.section(part, lang) in page for page in pages) == 1


def test_a_guess_before_the_question_is_answered_is_shown_without_the_numbers(tmp_path):
    folder = lab.start("accumulate", tmp_path / "lab", lang="en")
    engine = folder / "engine.py"
    engine.write_text(engine.read_text().replace("other.grad +=", "other.grad ="))
    output = run("check", folder).output
    assert "not in the way of this lab" in output
    assert "broken as asked" not in output
    assert "write your hypothesis into LAB.md" in output


def test_pages_come_in_their_order_and_none_of_the_learners_is_lost(tmp_path):
    folder = lab.start("tanh", tmp_path / "lab", lang="en")
    (folder / "LAB.md").write_text("my hypothesis\n")
    assert json.loads(run("next", folder, "--json").output) == {
        "lab": "tanh",
        "page": str(folder / "BREAK.md"),
        "why_not": "",
    }
    late = run("next", folder)
    assert late.exit_code == 1
    assert "The answers come when engine.py is broken" in late.output
    engine = folder / "engine.py"
    whole = engine.read_text()
    engine.write_text(whole.replace("(1 - t**2)", "(1 - t)"))
    lab.check(folder)
    engine.write_text(whole)  # who repairs it without the answers may still read them
    assert lab.check(folder).finished
    assert lab.go_on(folder).file == folder / "ANSWERS.md"
    everything = run("next", folder)
    assert everything.exit_code == 0
    assert "You have all the pages of tanh" in everything.output
    assert (folder / "LAB.md").read_text() == "my hypothesis\n"
    lab.start("set", folder, force=True)  # another lab in its place: no page of the old one is left
    assert not (folder / "BREAK.md").exists()
    assert not (folder / "ANSWERS.md").exists()
    assert (folder / "LAB.mine.md").read_text() == "my hypothesis\n"


@pytest.mark.parametrize("name", LABS)
def test_the_texts_are_the_same_in_both_languages(name):
    english, spanish = LABS[name].text("en"), LABS[name].text("es")
    for pattern in (r"^```\w+$", r"^#+ ", r"^- ", r"\*\*"):
        assert len(re.findall(pattern, english, re.M)) == len(re.findall(pattern, spanish, re.M))
    for kind in ("diff", "sh"):
        assert fences(english, kind) == fences(spanish, kind)
    words = {"should be ": "debe ser  ", "WRONG": "MAL", "   ok": "   bien"}
    words["mul runs with"] = "mul actúa con"
    for kind in ("text", "python"):
        expected = "".join(fences(english, kind))
        for word, translation in words.items():
            expected = expected.replace(word, translation)
        for experiment, translation in EXPERIMENTS.items():  # a column, or a call
            expected = re.sub(rf"^{experiment} +", f"{translation:<9} ", expected, flags=re.M)
            expected = re.sub(rf"\b{experiment}\b(?=\()", translation, expected)
        for measured, translation in MEASURED.items():
            expected = re.sub(rf"(?<=  ){measured}(?= )", translation, expected)
        assert "".join(fences(spanish, kind)) == expected

    def numbers(text):
        return sorted(re.findall(r"-?\d+(?:\.\d+)?(?:e-?\d+)?", text))

    def spans(text):
        prose = re.sub(r"^```.*?^```$", "", text, flags=re.M | re.S)
        return sorted(re.findall(r"`[^`\n]+`", prose))

    assert numbers(english) == numbers(spanish)
    assert [span.replace("mul runs with", "mul actúa con") for span in spans(english)] == spans(
        spanish
    )
    diffs = fences(english, "diff")[0].splitlines()
    lines = {*english.splitlines(), *spanish.splitlines()} - set(diffs)
    assert max(map(len, lines)) <= 100


def said_in(source):
    """The docstrings and comments of a program, line by line, and the program without them."""
    tree = ast.parse(source)
    texts = [token.string for token in tokens(source) if token.type == tokenize.COMMENT]
    for node in ast.walk(tree):
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef)) and ast.get_docstring(
            node
        ):
            texts += ast.get_docstring(node).splitlines()
            node.body = node.body[1:] or [ast.Pass()]
    return [text for text in texts if text], ast.unparse(tree)


def tokens(source):
    return tokenize.generate_tokens(io.StringIO(source).readline)


@pytest.mark.parametrize("name", LABS)
def test_the_programs_of_a_spanish_lab_are_spanish(name):
    row = LABS[name]
    for program in (row.engine_source, row.probe_source):
        english, code = said_in(program("en"))
        spanish, translated_code = said_in(program("es"))
        assert not set(english) & set(spanish)
        for word, translation in (
            ("'number'", "'número'"),
            ("'  ok'", "'  bien'"),
            ("'  WRONG'", "'  MAL'"),
            ("'should be'", "'debe ser'"),
        ):
            code = code.replace(word, translation)
        for word, translation in EXPERIMENTS.items():
            code = re.sub(rf"\b{word}\b", translation, code)
        for word, translation in MEASURED.items():
            code = code.replace(f"'{word}'", f"'{translation}'")
        assert translated_code == code
        assert max(map(len, program("es").splitlines())) <= 100


@pytest.mark.parametrize("name", LABS)
def test_every_experiment_has_a_spanish_name_of_its_own(name):
    known = LABS[name].right | sound()
    assert set(known) <= set(EXPERIMENTS)
    assert len(set(EXPERIMENTS.values()) - set(EXPERIMENTS)) == len(EXPERIMENTS)
    defined = re.findall(r"^def (\w+)\(\):$", LABS[name].probe_source("es"), re.M)
    assert {EXPERIMENTS[experiment] for experiment in LABS[name].right} <= set(defined)


def test_a_problem_is_told_in_spanish(tmp_path):
    folder = lab.start("tanh", tmp_path / "lab", lang="es")
    (folder / "engine.py").write_text("x = 1\ny = x / 0\n")
    assert "(engine.py, línea 2)" in run("check", folder).output


def test_the_guides_are_the_same_in_both_languages():
    docs = Path(__file__).parent.parent / "docs"
    english, spanish = ((docs / name).read_text("utf-8") for name in ("labs.md", "labs.es.md"))
    for pattern in (r"^```\w+$", r"^#+ ", r"^- ", r"^\| `\w+` "):
        assert re.findall(pattern, english, re.M) == re.findall(pattern, spanish, re.M) != []
    assert fences(english, "python") == fences(spanish, "python")
    typed = [re.findall(r"^(?:>>>|\.\.\.) .*", text, re.M) for text in (english, spanish)]
    in_english = [re.sub(r'(, lang=)?"es"', "", line) for line in typed[1]]
    assert typed[0] == in_english != typed[1]
    for row in LABS.values():
        assert f"\n| `{row.name}` |" in english


@pytest.mark.smoke
@pytest.mark.parametrize("lang", LANGUAGES)
def test_a_lab_is_also_data(lang):
    row = LABS["accumulate"]
    assert "+=" in row.title(lang)
    assert "`+=`" in row.section("hypothesis", lang)
    assert row.section("run", lang).startswith("```sh\npython probe.py")
    assert len(row.section("lesson", lang)) > 100
    headings = {re.findall(r"^## (.*)$", LABS[name].text(lang), re.M)[0] for name in LABS}
    assert len(headings) == 1  # every lab has the same parts
    assert len(LABS) == 8


def test_the_canonical_numbers():
    assert LABS["accumulate"].right["diamond"] == {"a": 4.0, "b": -4.0, "c": -12.0}
    assert LABS["accumulate"].broken["diamond"] == {"a": -6.0, "b": -4.0, "c": -2.0}


@pytest.mark.oracle
def test_pytorch_says_what_the_text_says_it_says(torch, capsys):
    python = next(f for f in fences(LABS["accumulate"].text(), "python") if "torch" in f)
    exec(python, {})
    assert capsys.readouterr().out == "tensor(4.) tensor(-4.) tensor(-12.)\n"


def with_line(source, after, line):
    assert after in source
    return source.replace(after, after + line, 1)


def test_what_the_texts_say_one_will_see_printed(tmp_path):
    """The diagnosis of each lab, followed to the letter."""

    def broken_engine(name):
        folder = lab.start(name, tmp_path / name)
        return folder, edited(LABS[name].engine_source(), fences(LABS[name].text(), "diff")[0])

    def printed(folder, engine):
        (folder / "engine.py").write_text(engine)
        return run_probe(folder).stdout

    def shown(name, words):
        return next(f for f in fences(LABS[name].text(), "python") if words in f)

    folder, engine = broken_engine("accumulate")
    lines = shown("accumulate", "before")
    assignment = lines.splitlines(keepends=True)[1]
    assert "\n10.0 -> -6.0\n" in printed(folder, engine.replace(assignment, lines, 1))
    assert lab.check(folder).engine == "broken"  # what an engine prints disturbs nobody

    folder, engine = broken_engine("order")
    start = engine.index("def _backward():\n", engine.index("__mul__")) + len("def _backward():\n")
    talking = engine[:start] + shown("order", "mul runs") + engine[start:]
    ladder = printed(folder, talking).partition("diamond")[2]
    assert re.findall(r"mul runs.*", ladder) == ["mul runs with 1.0"] * 2

    folder, engine = broken_engine("zero_grad")
    assert "\nw 3.75 grad -9.0\n" in printed(folder, engine + shown("zero_grad", "print"))

    folder, engine = broken_engine("set")
    (folder / "probe.py").write_text(shown("set", "len"))
    assert printed(folder, engine) == "1 2\n"

    folder, engine = broken_engine("recursion")
    (folder / "probe.py").write_text(
        "from engine import Value\n\n\ndef passes(length):\n    x = z = Value(2.0)\n"
        "    for _ in range(length):\n        z = z + 1\n    try:\n        z.backward()\n"
        "    except RecursionError:\n        return False\n    return x.grad == 1.0\n\n\n"
        "print(passes(900), passes(1000))\n"
    )
    assert printed(folder, engine) == "True False\n"


def test_a_real_set_is_broken_as_asked_too(tmp_path):
    folder = lab.start("set", tmp_path / "lab")
    engine = folder / "engine.py"
    engine.write_text(engine.read_text().replace("tuple(_children)", "set(_children)"))
    assert lab.check(folder).engine == "broken"


# ---- engines that are something else -------------------------------------------------------------

HOSTILE = {
    "def f(:\n": "(engine.py, line 1)",
    "x = 1\n": "cannot import name 'Value'",
    "import sys\nsys.exit(0)\n": "SystemExit: 0 (engine.py, line 2)",
    "import os\nos._exit(0)\n": "the process that ran it died (0)",
    "class Value:\n    def __init__(self, x):\n        raise OSError('no')\n": "OSError: no",
    "while True:\n    pass\n": "still running after 1 s",
    "try:\n    while True:\n        print('x' * 10**6)\nexcept BaseException:\n    pass\n": (
        "still running after 1 s"
    ),
}
HOSTILE["import os\nos.system('true')\n"] = "os.system is not allowed while the lab looks"
if sys.platform == "linux":  # elsewhere memory has no limit that a process can set
    HOSTILE["x = bytearray(8 << 30)\n"] = "MemoryError"


@pytest.mark.parametrize("source", HOSTILE)
def test_an_engine_that_does_not_run_is_told_so(source, tmp_path, monkeypatch):
    monkeypatch.setattr("minigrad.lab.workspace.SECONDS", 1)
    folder = lab.start("accumulate", tmp_path / "lab", lang="en")
    (folder / "engine.py").write_text(source)
    done = run("check", folder)
    assert done.exit_code == 1
    verdict, problem, following = done.output.splitlines()
    assert verdict == "accumulate: engine.py does not run."
    assert HOSTILE[source] in problem
    assert "minigrad lab reset" in following


def test_another_change_is_shown_beside_both(tmp_path):
    folder = lab.start("accumulate", tmp_path / "lab", lang="en")
    engine = folder / "engine.py"
    engine.write_text(engine.read_text().replace("other.grad +=", "other.grad ="))
    lab.go_on(folder)
    progress = lab.check(folder)
    assert (progress.state, progress.engine) == ("started", "other")
    output = run("check", folder).output
    assert "not in the way of this lab" in output
    assert "broken as asked" in output
    # (a*b).grad and b.grad are written once; c is `other` in the sum, and keeps -2
    assert re.search(r"diamond +│ +c │ +-2 │ +-12 │ +-2 │", output)
    assert not re.search(r"diamond +│ +b ", output)  # what is right is not listed


# What is still wrong when one place is forgotten, by hand: each use of the operation wipes out the
# 1 that x * 1 has left. Sums and products also serve in differences and quotients.
FORGOTTEN = [
    {"x + 2", "x - 2"},
    {"2 + x"},
    {"x * 2", "x / 2", "-x", "2 - x"},
    {"2 * x"},
    {"x ** 2", "2 / x"},
    {"tanh(x)"},
    {"exp(x)"},
    {"relu(x)"},
]


@pytest.mark.parametrize("place", range(8))
def test_a_repair_that_forgets_one_place_is_partial(place, tmp_path):
    folder = lab.start("accumulate", tmp_path / "lab", lang="en")
    lab.go_on(folder)
    engine = folder / "engine.py"
    parts = engine.read_text().split(".grad +=")
    assert len(parts) == 9
    engine.write_text(".grad =".join(parts))
    progress = lab.check(folder)
    assert progress.state == "broken"
    assert {row.experiment for row in progress.seen} == {"diamond", "twice"}
    engine.write_text(
        "".join(
            part + (".grad =" if k == place else ".grad +=" if k < 8 else "")
            for k, part in enumerate(parts)
        )
    )
    progress = lab.check(folder)
    assert (progress.state, progress.engine) == ("broken", "partial")
    rows = {row.name: row for row in progress.differences if row.experiment == "slope_at_half"}
    assert {name.removesuffix(" + x") for name in rows} == FORGOTTEN[place]
    for row in rows.values():
        assert row.as_asked == pytest.approx(row.right - 1)
    mended, of = progress.mended
    assert of == 3 + 13  # a and c of the diamond, a + a, and every operation
    assert mended == of - len(progress.differences)
    output = run("check", folder).output
    assert f"partly repaired. {mended} of 16 wrong numbers are right again." in output
    assert "broken as asked" in output
    assert progress.seen == lab.check(folder).seen  # what was seen when it was broken stays


@pytest.mark.parametrize("name", LABS)
def test_broken_as_asked_has_the_numbers_of_the_broken_engine(name, tmp_path):
    """Also in the rows that nobody asked about, as a partial repair shows them."""
    row = LABS[name]
    engine = tmp_path / "engine.py"
    engine.write_text(edited(row.engine_source(), fences(row.text(), "diff")[0]))
    measured, _ = examine(row, engine)
    for experiment, numbers in (row.right | sound()).items():
        for key, number in (numbers | row.broken.get(experiment, {})).items():
            expected = number if isinstance(number, str) else pytest.approx(number, rel=1e-9)
            assert measured[experiment][key] == expected, (experiment, key)


def test_a_row_measures_what_it_says(tmp_path):
    """The names of the rows, read as mathematics: the slope at 0.5 by a central difference."""
    functions = {"tanh": math.tanh, "exp": math.exp, "relu": lambda x: max(0.0, x)}
    h = 1e-6
    for name, slope in sound()["slope_at_half"].items():
        above, below = (eval(name, functions, {"x": 0.5 + step}) for step in (h, -h))
        assert (above - below) / (2 * h) == pytest.approx(slope, abs=1e-8), name


def test_a_repair_that_has_only_begun_is_partial_and_another_mistake_is_not(tmp_path):
    folder = lab.start("accumulate", tmp_path / "lab", lang="es")
    engine = folder / "engine.py"
    whole = engine.read_text()
    sick = whole.replace(".grad +=", ".grad =")
    engine.write_text(sick)
    lab.check(folder)
    engine.write_text(sick.replace("self.grad = out.data", "self.grad += out.data"))  # only exp
    progress = lab.check(folder)
    assert (progress.engine, progress.mended) == ("partial", (1, 16))
    assert "reparado en parte" in run("check", folder).output
    engine.write_text(sick.replace("self.grad = 1.0", "self.grad = 3.0"))  # nothing is better
    assert lab.check(folder).engine == "other"
    engine.write_text(whole)
    assert lab.check(folder).finished


@pytest.mark.parametrize("name", LABS)
def test_every_engine_of_a_lab_is_whole(name, tmp_path):
    engine = tmp_path / "engine.py"
    engine.write_text(LABS[name].engine_source())
    measured, problem = examine(LABS[name], engine)
    assert problem == ""
    assert LABS[name].verdict(measured) == "intact"


def test_one_experiment_that_raises_is_named(tmp_path):
    folder = lab.start("accumulate", tmp_path / "lab", lang="en")
    engine = folder / "engine.py"
    engine.write_text(engine.read_text().replace("return self + (-other)", "return 1 / 0"))
    progress = lab.check(folder)
    assert progress.engine == "other"
    assert re.fullmatch(
        r"diamond: ZeroDivisionError: division by zero \(engine\.py, line \d+\)", progress.problem
    )


@pytest.mark.smoke
def test_breaking_it_again_after_the_repair_counts(tmp_path):
    folder = lab.start("tanh", tmp_path / "lab")
    engine = folder / "engine.py"
    whole = engine.read_text()
    sick = whole.replace("(1 - t**2)", "(1 - t)")
    states = []
    for source in (sick, whole, sick, whole, whole):
        engine.write_text(source)
        states.append(lab.check(folder).state)
    assert states == ["broken", "repaired", "broken", "repaired", "repaired"]


def test_the_learners_own_probe_is_not_believed(tmp_path):
    folder = lab.start("accumulate", tmp_path / "lab")
    (folder / "probe.py").write_text("raise SystemExit(0)\n")
    assert lab.check(folder).engine == "intact"


def test_an_engine_is_measured_somewhere_else(tmp_path):
    folder = lab.start("accumulate", tmp_path / "lab")
    engine = folder / "engine.py"
    engine.write_text(engine.read_text() + "\nopen('left behind', 'w').close()\n")
    measured, problem = examine(LABS["accumulate"], engine)
    assert (LABS["accumulate"].verdict(measured), problem) == ("intact", "")
    assert not (folder / "left behind").exists()


# ---- folders, languages, mistakes ---------------------------------------------------------------


def test_a_folder_with_something_in_it_is_refused(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "engine.py").write_text("my work\n")
    refused = run("break", "accumulate", "mine", "--lang", "en")
    assert refused.exit_code == 2
    assert "mine exists and is not empty; name another folder, or add --force." in refused.stderr
    assert run("break", "accumulate", "mine", "--force").exit_code == 0
    assert (tmp_path / "mine" / "engine.mine.py").read_text() == "my work\n"
    (tmp_path / "file").write_text("")
    assert "file is a file" in run("break", "order", "file", "--lang", "en").stderr
    (tmp_path / "empty").mkdir()
    assert lab.start("order", "empty/deeper/still").name == "still"


def test_reset_loses_nothing(tmp_path):
    folder = lab.start("accumulate", tmp_path / "lab", lang="es")
    engine = folder / "engine.py"
    whole = engine.read_text()
    assert "intacto otra vez" in run("reset", folder).output
    assert not (folder / "engine.mine.py").exists()  # nothing had changed
    for text in ("first\n", "second\n"):
        engine.write_text(text)
        assert run("reset", folder).exit_code == 0
        assert engine.read_text() == whole
    assert (folder / "engine.mine.py").read_text() == "first\n"
    assert (folder / "engine.mine-2.py").read_text() == "second\n"
    engine.unlink()
    missing = run("check", folder, "--lang", "en")
    assert (missing.exit_code, missing.stdout) == (2, "")
    assert "minigrad lab reset brings it back" in missing.stderr
    answer = json.loads(run("reset", folder, "--json").output)
    assert answer == {"folder": str(folder), "kept": None, "state": "started"}


def test_the_folder_is_found(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(LabError, match="is not the folder of a lab"):
        find_folder(lang="en")
    lab.start("order")
    assert str(find_folder()) == "lab-order"
    lab.start("tanh")
    with pytest.raises(LabError, match=r"several labs here \(lab-order, lab-tanh\)"):
        find_folder(lang="en")
    monkeypatch.chdir(tmp_path / "lab-tanh")
    assert lab.check().lab == "tanh"
    done = run("check", "nowhere", "--lang", "en")
    assert done.exit_code == 2
    assert "nowhere is not the folder of a lab" in done.stderr


def test_a_lab_is_found_by_its_name(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    none = run("check", "order", "--lang", "en")
    assert none.exit_code == 2
    assert "lab order has not been begun here; start it with minigrad lab break order" in (
        none.stderr
    )
    for name in ("order", "set"):
        lab.start(name)
    lab.start("tanh", "mine")
    assert [str(find_folder(name)) for name in ("order", "set", "tanh")] == [
        "lab-order",
        "lab-set",
        "mine",
    ]
    assert json.loads(run("check", "tanh", "--json").output)["lab"] == "tanh"
    assert json.loads(run("reset", "set", "--json").output)["folder"] == "lab-set"
    lab.start("order", "also")
    assert str(find_folder("order")) == "lab-order"  # where `break` puts it counts first
    monkeypatch.chdir(tmp_path / "mine")  # and from inside another lab
    assert find_folder("order").resolve() == tmp_path / "lab-order"
    assert find_folder("tanh") == Path()
    monkeypatch.chdir(tmp_path)
    (tmp_path / "order").mkdir()  # a folder of that name which is no lab's
    assert str(find_folder("order")) == "lab-order"
    lab.start("set", "order", force=True)
    assert lab.check("order").lab == "set"  # and one which is


def test_the_list_shows_how_far_one_is(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def states():
        return {row["lab"]: row["state"] for row in json.loads(run("--json").output)}

    assert set(states().values()) == {"open"}
    assert "Start with: minigrad lab break accumulate" in run("--lang", "en").output
    engine = lab.start("tanh") / "engine.py"
    whole = engine.read_text()
    assert states() == dict.fromkeys(LABS, "open") | {"tanh": "started"}
    assert re.search(r"tanh +│.*│ begun ", run("--lang", "en").output)
    assert "Go on with: minigrad lab check tanh" in run("--lang", "en").output
    engine.write_text(whole.replace("(1 - t**2)", "(1 - t)"))
    run("check")
    assert states()["tanh"] == "broken"
    assert re.search(r"tanh +│.*│ empezado: roto ", run("--lang", "es").output)
    engine.write_text(whole)
    run("check")
    lab.start("tanh", "once-more")  # the furthest counts
    (lab.start("set") / ".lab.json").write_text("{")  # damaged, which is for `check` to say
    assert states() == dict.fromkeys(LABS, "open") | {"tanh": "repaired"}
    output = run("--lang", "en").output
    assert re.search(r"tanh +│.*│ done ", output)
    assert "1 of 8 done." in output
    assert "Start with: minigrad lab break accumulate" in output
    monkeypatch.chdir(tmp_path / "lab-tanh")
    assert states()["tanh"] == "repaired"
    for name in LABS:
        memory = {"lab": name, "lang": "en", "state": "repaired", "seen": {}}
        (lab.start(name, f"../all-{name}") / ".lab.json").write_text(json.dumps(memory))
    assert "8 of 8 done.\nYou have done them all." in run("--lang", "en").output


@pytest.mark.parametrize(
    "memory",
    [
        "",
        "{",
        "[]",
        "null",
        '{"lab": "accumulate"}',
        '{"lab": "other", "lang": "en", "state": "started", "seen": {}}',
        '{"lab": ["tanh"], "lang": "en", "state": "started", "seen": {}}',
        '{"lab": "tanh", "lang": "de", "state": "started", "seen": {}}',
        '{"lab": "tanh", "lang": "en", "state": "done", "seen": {}}',
        '{"lab": "tanh", "lang": "en", "state": "broken", "seen": {"neuron": [1]}}',
        '{"lab": "tanh", "lang": "en", "state": "broken", "seen": {"neuron": {"x1": null}}}',
        "\x00\xff",
        '{"lab": "tanh", "lang": "en", "state": "broken", "seen": {"n": {"x": 1%s}}}' % ("0" * 400),
        "[" * 100_000,
    ],
    ids=lambda memory: memory[:90],
)
def test_a_damaged_memory_is_a_mistake(memory, tmp_path):
    folder = lab.start("tanh", tmp_path / "lab")
    (folder / ".lab.json").write_bytes(memory.encode("latin-1"))
    for command in ("check", "reset"):
        done = run(command, folder, "--lang", "en")
        assert done.exit_code == 2
        assert ".lab.json is damaged" in done.stderr


@pytest.mark.parametrize(
    ("start", "encoding"),
    [("# é", "utf-8-sig"), ("# -*- coding: latin-1 -*- é", "latin-1"), ("# é", "utf-8")],
)
def test_an_engine_is_read_as_python_reads_it(start, encoding, tmp_path):
    folder = lab.start("tanh", tmp_path / "lab")
    engine = folder / "engine.py"
    text = engine.read_text(encoding="utf-8")
    assert text.isascii()
    engine.write_text(f"{start}\n{text}", encoding=encoding)
    progress = lab.check(folder)
    assert (progress.engine, progress.problem) == ("intact", "")


def test_mistakes_say_what_there_is():
    assert "the labs are accumulate, order," in run("break", "nope", "--lang", "en").stderr
    assert "los labs son accumulate, order," in run("break", "nope", "--lang", "es").stderr
    for arguments in (["--lang", "fr"], ["break", "order", "--lang", "fr"], ["versions", "8"]):
        assert run(*arguments).exit_code == 2
    assert "the languages are en, es" in run("--lang", "fr").stderr


@pytest.mark.parametrize(
    ("variables", "expected"),
    [
        ({}, "en"),
        ({"LANG": "es_ES.UTF-8"}, "es"),
        ({"LANG": "es"}, "es"),
        ({"LANG": "es_MX@x"}, "es"),
        ({"LANG": "C.UTF-8"}, "en"),
        ({"LANG": "de_DE.UTF-8"}, "en"),
        ({"LANG": "est_XX"}, "en"),
        ({"LC_ALL": "", "LANG": "es_ES"}, "es"),
        ({"LC_ALL": "C", "LANG": "es_ES"}, "en"),
        ({"LC_MESSAGES": "es_AR.UTF-8", "LANG": "en_US.UTF-8"}, "es"),
        ({"LC_ALL": "en_GB", "LC_MESSAGES": "es_AR.UTF-8"}, "en"),
    ],
)
def test_the_language_of_the_system(variables, expected, monkeypatch):
    assert language(variables) == expected
    for name in ("LC_ALL", "LC_MESSAGES", "LANG"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert ("Empieza con" in run().output) == (expected == "es")


def test_phrases_are_complete_in_every_language():
    def fields(text):
        return sorted(name for _, name, _, _ in Formatter().parse(text) if name)

    assert set(PHRASES) == set(LANGUAGES)
    assert PHRASES["en"].keys() == PHRASES["es"].keys()
    for key, text in PHRASES["en"].items():
        assert fields(text) == fields(PHRASES["es"][key]), key
    for version in versions.VERSIONS:
        assert set(version.new) == set(LANGUAGES)


def test_lists_for_people_and_for_programs():
    output = run("--lang", "en").output
    for row in LABS.values():
        assert row.name in output
        assert row.title() in output
    rows = json.loads(run("--lang", "es", "--json").output)
    assert [row["lab"] for row in rows] == list(LABS)
    assert rows[3]["title"] == "una derivada local equivocada"
    assert "famoso error" in run("versions", "--lang", "es").output
    assert run("versions", "6").output == versions.source(6)
    assert run("versions", "6", "--diff").output == versions.diff(6)
    rows = json.loads(run("versions", "--json", "--lang", "en").output)
    assert [row["number"] for row in rows] == [1, 2, 3, 4, 5, 6, 7]
    assert json.loads(run("versions", "7", "--diff", "--json").output)[0]["diff"] == versions.diff(
        7
    )


def test_progress_for_programs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    begun = json.loads(run("break", "overflow", "--json").output)
    assert begun == {"lab": "overflow", "folder": "lab-overflow", "state": "started"}
    engine = tmp_path / "lab-overflow" / "engine.py"
    (diff,) = fences(LABS["overflow"].text(), "diff")
    engine.write_text(edited(engine.read_text(), diff))
    answer = json.loads(run("check", "--json", "--lang", "en").output, parse_constant=pytest.fail)
    assert (answer["state"], answer["engine"], answer["finished"]) == ("broken", "broken", False)
    assert answer["differences"][0] == {
        "experiment": "far",
        "name": "right",
        "yours": "OverflowError",
        "right": 1.0,
        "as_asked": "OverflowError",
    }


# ---- broken() -----------------------------------------------------------------------------------


def play(fault, build, *numbers, calls=1):
    """The gradients after `backward()` with a fault in it."""
    inputs = [Value(number) for number in numbers]
    result = build(*inputs)
    for _ in range(calls):
        with broken(fault):
            result.backward()
    return [v.grad for v in inputs]


def the_diamond(a, b, c):
    return (a * b + c) * (a - c)


def the_ladder(a, b, c):
    d = a * b
    return d + d * c


# By hand. Right are 4, -4, -12 for the diamond and 15, 10, 6 for the ladder, at 2, 3, 4.
DIAMOND = {
    "overwrite": [-6, -4, -2],
    "overwrite_add": [4, -4, -2],
    "overwrite_mul": [-6, -4, -12],
    "forward_order": [0, 0, 0],
    "missing_seed": [0, 0, 0],
    "seed_zero": [0, 0, 0],
    "mul_own": [18, 30, 12],
    "wrong_sub": [4, -4, 8],
}
LADDER = {
    "overwrite": [12, 8, 6],  # d keeps the 4 of d*c
    "overwrite_mul": [12, 8, 6],
    "forward_order": [0, 0, 0],
    "breadth_first": [3, 2, 6],  # d runs when it has 1
    "insertion_order": [3, 2, 6],
    "plain_recursion": [18, 12, 6],  # and again when it has 5
    "missing_seed": [0, 0, 0],
    "seed_zero": [0, 0, 0],
    "mul_own": [14, 21, 4],  # d has 1 + 6
}
ONCE_MORE = {  # the diamond, backward() twice; where a fault is not listed, twice the first pass
    "stale_interior": [4 + 2, -4 - 12, -12 - 24],
    "zeroing": [4, -4, -12],
}
ELSEWHERE = [
    ("overwrite", lambda a: a + a, 3, 1),
    ("overwrite_add", lambda a: a + a, 3, 1),
    ("overwrite_mul", lambda a: a * a, 3, 3),
    ("overwrite_mul", lambda a: a + a, 3, 2),
    ("same_object", lambda a: a + a, 3, 1),
    ("same_object", lambda a: a * a, 3, 3),
    ("same_object", lambda a: a + a * 2, 3, 3),
    ("overwrite_tanh", lambda a: a + a.tanh(), 0, 1),
    ("set_prev", lambda a: a + a, 3, 1),
    ("set_prev", lambda a: a * a, 3, 3),
    ("set_prev", lambda a: a * 2 + a, 3, 3),
    ("pow_not_lowered", lambda a: a**3, 2, 24),
    ("pow_not_lowered", lambda a: 2**a, 2, 4 * math.log(2)),
    ("pow_not_lowered", lambda a: a ** Value(3.0), 2, 24),
    ("div_sign", lambda a: 6 / a, 2, 1.5),
    ("div_sign", lambda a: a / 2, 6, 0.5),
    ("div_sign", lambda a: Value(6.0) / a, 2, 1.5),
    ("wrong_sub", lambda a: 5 - a, 2, 1),
    ("tanh_linear", lambda a: a.tanh(), 0, 1),
    ("tanh_linear", lambda a: a.tanh(), math.atanh(0.5), 0.5),
    ("exp_input", lambda a: a.exp(), 2, 2),
    ("relu_always", lambda a: a.relu(), -3, 1),
    ("mul_own", lambda a: a * 5, 3, 3),
    ("mul_own", lambda a: 5 * a, 3, 3),
]


@pytest.mark.smoke
@pytest.mark.parametrize("fault", FAULTS)
def test_what_each_fault_does_to_the_diamond_and_the_ladder(fault):
    once = DIAMOND.get(fault, [4, -4, -12])
    assert play(fault, the_diamond, 2, 3, 4) == once
    assert play(fault, the_ladder, 2, 3, 4) == LADDER.get(fault, [15, 10, 6])
    again = ONCE_MORE.get(fault, [2 * number for number in once])
    assert play(fault, the_diamond, 2, 3, 4, calls=2) == again


@pytest.mark.parametrize(("fault", "build", "at", "expected"), ELSEWHERE)
def test_what_each_fault_does_elsewhere(fault, build, at, expected):
    assert play(fault, build, at) == [pytest.approx(expected, rel=1e-14)]


def test_every_fault_shows_somewhere():
    shown = {*DIAMOND, *LADDER, *ONCE_MORE, *(row[0] for row in ELSEWHERE)}
    assert shown == set(FAULTS)
    assert minigrad.lab.broken.FAULTS is FAULTS
    assert all(says and not says.endswith(".") for says in FAULTS.values())


def test_without_a_fault_the_pass_is_the_engines():
    """The machinery is sound: a row that mentions nothing gives the same bits as backward()."""
    sound = BrokenPass("sound", "nothing")
    for seed in range(30):
        program = random_program(seed)
        results, others = (
            run_program(program, [Value(x) for x in program.inputs], call_minigrad)
            for _ in range(2)
        )
        for _ in range(2):
            results[-1].backward()
            with replacing(lambda *told: run_broken(sound, *told)):
                others[-1].backward()
        for mine, theirs in zip(results, others, strict=True):
            assert repr(mine.grad) == repr(theirs.grad)


def test_a_seed_by_hand_helps_where_none_is_set():
    a = Value(3.0)
    b = a * 2
    b.grad = 1.0
    with broken("missing_seed"):
        b.backward()
    assert (a.grad, b.grad) == (2.0, 1.0)
    with broken("seed_zero"):
        b.backward()
    assert a.grad == 2.0  # nothing is added


def test_it_ends_with_the_block_whatever_happens():
    with pytest.raises(ZeroDivisionError), broken("overwrite"):
        1 / 0  # noqa: B018
    blocks.tidy_up()
    assert not blocks.open_blocks
    assert twice(Value) == [2.0]
    assert diamond(Value) == [4.0, -4.0, -12.0]


def test_blocks_nest_and_the_innermost_counts():
    with broken("overwrite"):
        assert twice(Value) == [1.0]
        with broken("mul_own"):
            assert twice(Value) == [2.0]
        assert twice(Value) == [1.0]
        with ExitStack() as stack:
            for fault in FAULTS:
                stack.enter_context(broken(fault))
            stack.enter_context(broken("seed_zero"))
            assert twice(Value) == [0.0]
        assert twice(Value) == [1.0]
    assert twice(Value) == [2.0]


def test_it_is_a_decorator_too():
    @broken("overwrite")
    def sick():
        return twice(Value)

    @broken("overwrite")
    async def sick_later():
        await asyncio.sleep(0)
        return twice(Value)

    assert sick() == asyncio.run(sick_later()) == [1.0]
    assert twice(Value) == [2.0]


def test_other_threads_and_tasks_are_unaffected():
    inside, looked = threading.Event(), threading.Event()
    seen = []

    def elsewhere():
        assert inside.wait(10)
        seen.append(diamond(Value))
        looked.set()

    thread = threading.Thread(target=elsewhere)
    thread.start()
    with broken("overwrite"):
        inside.set()
        assert looked.wait(10)
        assert diamond(Value) == [-6.0, -4.0, -2.0]
    thread.join()
    assert seen == [[4.0, -4.0, -12.0]]

    async def sick():
        with broken("overwrite"):
            await asyncio.sleep(0)
            return twice(Value)

    async def well():
        await asyncio.sleep(0)
        return twice(Value)

    async def both():
        return await asyncio.gather(sick(), well(), sick())

    assert asyncio.run(both()) == [[1.0], [2.0], [1.0]]


@pytest.mark.parametrize("name", ["overwrit", "", None, 3])
def test_an_unknown_fault_lists_the_known_ones(name):
    with pytest.raises(
        ValueError, match="there is no fault .*; choose of overwrite, overwrite_add,"
    ):
        broken(name)
    blocks.tidy_up()
    assert not blocks.open_blocks


def test_everything_but_backward_stays_sound():
    a, b, c = Value(2.0, label="a"), Value(3.0, label="b"), Value(4.0, label="c")
    result = the_diamond(a, b, c)
    with broken("overwrite"):
        assert grad(result, [a, b, c]) == [4.0, -4.0, -12.0]
        assert [step.after for step in steps(result)][-3:] == [-12.0, 4.0, -4.0]
        assert [a.grad, b.grad, c.grad] == [0.0, 0.0, 0.0]
        doubled = a + a
        doubled.grad = 1.0
        doubled._backward()
    assert a.grad == 2.0


def test_a_record_shows_what_a_broken_pass_did():
    a, b, c = Value(2.0, label="a"), Value(3.0, label="b"), Value(4.0, label="c")
    result = the_diamond(a, b, c)
    with broken("overwrite"), record() as tape:
        result.backward()
    lines = tape.text().splitlines()
    assert lines[0] == "(*).grad = 1"
    assert lines[-3:] == ["c.grad: -10 -> -2", "a.grad: 10 -> -6", "b.grad: 0 -> -4"]
    played = steps(result, overwrite=True)  # the other way to see it
    assert [(s.before, s.after) for s in tape] == [(s.before, s.after) for s in played]
    with broken("seed_zero"), record() as tape:
        result.backward()
    assert "= 1" not in tape.text()  # no seed, so none is noted


def test_hand_written_steps_take_part():
    def cube(v):
        out = Value(v.data**3, (v,), "cube")

        def step():
            v.grad += 3 * v.data**2 * out.grad

        out._backward = step
        return out

    assert play("overwrite", lambda a: a * 5 + cube(a), 2) == [5]  # a*5 runs last
    assert play("mul_own", lambda a: a * 5 + cube(a), 2) == [14]
    assert play("set_prev", lambda a: cube(a), 2) == [12]

    a = Value(2.0)
    out = Value(8.0, (a,), "cube")
    result = out * a
    result.backward()
    before = [a.grad, out.grad, result.grad]

    def raising():
        a.grad = 99.0
        raise KeyError("x")

    out._backward = raising
    with pytest.raises(KeyError), broken("stale_interior"):
        result.backward()
    assert [a.grad, out.grad, result.grad] == before
    blocks.tidy_up()
    assert not blocks.open_blocks


def test_a_node_without_a_rule_passes_nothing_on_and_overwrites_nothing():
    a = Value(2.0)
    out = Value(8.0, (a,), "mystery")
    with broken("overwrite"):
        (a * 3 + out).backward()
    assert a.grad == 3.0


def test_faults_hold_inside_other_blocks():
    with strict(), broken("overwrite"):
        assert twice(Value) == [1.0]
    with broken("overwrite"), strict():
        assert twice(Value) == [1.0]


def test_a_deep_graph_is_no_problem_for_a_fault():
    x = y = Value(1.0)
    for _ in range(20_000):
        y = y + 1.0
    for fault in (
        "overwrite",
        "breadth_first",
        "insertion_order",
        "plain_recursion",
        "stale_interior",
    ):
        x.grad = 0.0
        with broken(fault):
            y.backward()
        assert x.grad >= 1.0


def test_the_example_in_the_docstring():
    module = sys.modules["minigrad.lab.broken"]
    outcome = doctest.testmod(module)
    assert (outcome.attempted, outcome.failed) == (5, 0)
