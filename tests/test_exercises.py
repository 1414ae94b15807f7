"""The course: every exercise can be solved, typical mistakes get their hint, in both languages."""

from __future__ import annotations

import ast
import importlib.util
import json
import re
import sys
from pathlib import Path

import pytest
from answers import answers, numbers, written
from typer.testing import CliRunner

from minigrad.cli import course
from minigrad.cli.lab import app
from minigrad.lab import LabError, exercises
from minigrad.lab.chapters import CHAPTERS, YOUR_TURN, find
from minigrad.lab.grading import grade
from minigrad.lab.labs import LANGUAGES
from minigrad.lab.measuring import measure
from minigrad.lab.phrases import PHRASES
from minigrad.lab.spanish import number_in

COURSE = Path(__file__).parent.parent / "docs" / "course"
ALL = list(CHAPTERS.values())


def ids(chapter):
    return chapter.name


def measured(chapter, source):
    """Measure in this process, as the page does: these answers are our own."""
    before = sys.modules.pop("engine", None)
    try:
        return measure(lambda: source.encode(), [str(chapter.probe)])
    finally:
        sys.modules.pop("engine", None)
        if before is not None:
            sys.modules["engine"] = before


def graded(chapter, source, lang="en"):
    return grade(chapter, measured(chapter, source), lang)


# ---- answers ---------------------------------------------------------------------------------


@pytest.mark.parametrize("chapter", ALL, ids=ids)
def test_answers_are_graded_and_mistakes_recognised(chapter):
    seen = set()
    for mistake, answer in answers(chapter.number):
        found = graded(chapter, written(chapter.starter(), answer))
        told = (answer, found)
        assert found.state == ("wrong" if mistake else "solved"), told
        assert (found.mistake or ("otherwise" if mistake else "")) == mistake, told
        assert found.hint == (chapter.hints()[mistake] if mistake else ""), told
        seen.add(mistake)
    assert seen == {"", "otherwise", *chapter.mistakes}
    assert len(chapter.mistakes) >= 2


@pytest.mark.parametrize("chapter", ALL, ids=ids)
@pytest.mark.parametrize("lang", LANGUAGES)
def test_the_solution_is_one_and_the_start_is_none(chapter, lang):
    assert graded(chapter, chapter.solution(lang), lang).solved
    begun = graded(chapter, chapter.starter(lang), lang)
    if chapter.holes:
        assert begun.state == "open"
        line = int(re.search(r"(\d+)", begun.problem)[1])
        assert "NotImplementedError" in chapter.starter(lang).splitlines()[line - 1]
        assert chapter.starter().count(YOUR_TURN) == len(chapter.holes)
    else:
        assert begun.state == "wrong"
    assert chapter.starter(lang) != chapter.solution(lang)


@pytest.mark.parametrize(
    ("number", "answer", "kind", "told"),
    [
        (2, ["out = Value(self.data * other.data, (self, other))"], "None", "has no attribute"),
        (4, ["o.grad = 1.0\nn.grad = 1 - o**2"], "Value", "not 'Value'"),
        (6, ["reversed(sorted_below(self))"], "NameError", "'sorted_below' is not defined"),
        (1, ["return slope(f, x, h)"], "RecursionError", "maximum recursion depth"),
        (9, ["return self.exp()", "out = self.exp()\nout._backward = out._backward()\nreturn out"],
         "NoneCalled", "not callable"),
    ],
)  # fmt: skip
def test_what_raises_in_any_chapter_gets_a_hint_of_its_own(number, answer, kind, told):
    chapter = find(str(number))
    answers = [part + "\n" for part in answer]
    for lang in LANGUAGES:
        found = graded(chapter, written(chapter.starter(), answers), lang)
        assert (found.state, found.mistake) == ("wrong", "")
        assert found.hint == PHRASES[lang][f"hint {kind}"]
    assert told in found.problem


def test_a_name_that_an_exercise_asks_for_and_does_not_find_is_told():
    renamed = find("1").solution().replace("def slope", "def Slope")
    assert graded(find("1"), renamed).problem == (
        "there is no `slope` in engine.py, and the exercise asks for it."
    )


def test_only_who_has_solved_the_last_exercise_is_told_that_it_was_the_last():
    last = ALL[-1]
    assert graded(last, last.solution()).lines[1] == "That was the last exercise of the course."
    assert "minigrad lab check 14" in graded(last, last.starter()).lines[1]
    wrong = written(last.starter(), ["return [0.0 for _ in shards[0][0]]"])
    assert "minigrad lab next 14" in graded(last, wrong).lines[1]
    assert "minigrad lab reset 14" in graded(last, "def").lines[1]


def test_every_chapter_has_its_answers_and_its_page():
    assert numbers() == [chapter.number for chapter in ALL] == list(range(1, len(ALL) + 1))
    pages = [page.name.removesuffix(".md") for page in sorted(COURSE.glob("[0-9]*.md"))]
    assert sorted(pages) == sorted([*CHAPTERS, *(f"{name}.es" for name in CHAPTERS)])


# ---- texts -----------------------------------------------------------------------------------


@pytest.mark.parametrize("chapter", ALL, ids=ids)
def test_a_hint_for_every_mistake_in_both_languages(chapter):
    wanted = [*chapter.mistakes, "otherwise"]
    spans = {}
    for lang in LANGUAGES:
        hints = chapter.hints(lang)
        assert list(hints) == wanted
        assert all(len(hint) > 40 for hint in hints.values())
        spans[lang] = [sorted(re.findall(r"`[^`]+`", text)) for text in hints.values()]
        spans[lang].append(sorted(re.findall(r"`[^`]+`", chapter.task(lang))))
    assert spans["en"] == spans["es"]
    assert chapter.title("en") != chapter.title("es")


@pytest.mark.parametrize("chapter", ALL, ids=ids)
def test_a_spanish_engine_is_spanish_and_the_same_program(chapter):
    def parts(source):
        """The code without docstrings, and the docstrings and comments."""
        tree = ast.parse(source)
        texts = re.findall(r"# .*", source)
        for node in ast.walk(tree):
            if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef)) and ast.get_docstring(
                node
            ):
                texts.append(ast.get_docstring(node))
                node.body = node.body[1:] or [ast.Pass()]
        return ast.unparse(tree).replace("'number'", "'número'"), texts

    for made in (chapter.starter, chapter.solution):
        english, spanish = parts(made("en")), parts(made("es"))
        assert english[0] == spanish[0]
        assert not set(english[1]) & set(spanish[1])
        assert max(map(len, made("es").splitlines())) <= 100


CODE = set("slope len prev data grad is tanh exp relu log sigmoid total Neuron MLP Values".split())


@pytest.mark.parametrize("chapter", ALL, ids=ids)
def test_what_is_measured_has_a_spanish_name(chapter):
    for name in (key for row in chapter.right.values() for key in row):
        words = set(re.findall(r"[A-Za-z]{2,}", name)) - CODE
        assert not words & set(re.findall(r"[A-Za-z]{2,}", number_in(name, "es"))) - {"backward"}


FENCE = re.compile(r"^```(\w+|\{\w+\})\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("chapter", ALL, ids=ids)
def test_the_pages_are_the_same_in_both_languages(chapter):
    english, spanish = (
        (COURSE / f"{chapter.name}{ending}.md").read_text("utf-8") for ending in ("", ".es")
    )
    for pattern in (r"^#+ ", r"^- ", r"^\d+\. ", r"^\| ", r"^:::(?:\{\w+\}(?: \d+$)?)?", r"^!\["):
        assert re.findall(pattern, english, re.M) == re.findall(pattern, spanish, re.M)
    fences = FENCE.findall(english), FENCE.findall(spanish)
    assert [kind for kind, _ in fences[0]] == [kind for kind, _ in fences[1]]
    for (kind, one), (_, other) in zip(*fences, strict=True):
        assert typed(kind, one).replace("your turn", "te toca") == typed(kind, other)
    assert f":::{{exercise}} {chapter.number}\n" in english
    assert f"$ minigrad lab start {chapter.number} --lang en\n" in english
    assert "\n:::{predict} " in english
    assert re.search(r"^\$ minigrad doctor |^>>> .*diagnose\(Value\)", english, re.M)
    assert re.search(r"^```\{player\}|^!\[", english, re.M)


@pytest.mark.parametrize("ending", ["", ".es"])
def test_the_index_has_every_chapter_by_its_title(ending):
    listed = re.findall(
        r"^\d+\. \[(.*)\]\((.*)\)$", (COURSE / f"index{ending}.md").read_text("utf-8"), re.M
    )
    pages = [COURSE / f"{name}{ending}.md" for name in CHAPTERS]
    heads = [page.read_text("utf-8").partition("\n")[0] for page in pages]
    assert [f"# {k + 1}. {title}" for k, (title, _) in enumerate(listed)] == heads
    assert [target for _, target in listed] == [page.name for page in pages]


def typed(kind, text):
    """What a reader types in a fence: neither what is printed, nor comments, nor the language."""
    if kind == "console":
        return text.partition("\n")[0].replace(" --lang en", "").replace(" --lang es", "")
    if kind == "pycon":
        text = "\n".join(re.findall(r"^(?:>>>|\.\.\.)(?: (.*))?$", text, re.M))
    if kind == "{player}":
        return text
    return ast.unparse(ast.parse(text.replace(', lang="es"', "")))


# ---- folders and commands --------------------------------------------------------------------


def run(*arguments):
    return CliRunner().invoke(app, list(map(str, arguments)))


def test_an_exercise_from_start_to_end(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    made = run("start", 2, "--lang", "en")
    assert made.exit_code == 0
    assert sorted(path.name for path in (tmp_path / "chapter-02").iterdir()) == [
        ".chapter.json", "EXERCISE.md", "engine.py",
    ]  # fmt: skip
    assert (tmp_path / "chapter-02" / "EXERCISE.md").read_text() == find("2").task()
    early = run("next", 2)
    assert early.exit_code == 1
    assert "has looked at an answer of yours" in early.output
    still = run("check")
    assert still.exit_code == 1
    assert "Still to be written in engine.py: line " in still.output
    engine = tmp_path / "chapter-02" / "engine.py"
    starter = engine.read_text()
    wrong = written(starter, ["return self.data * other.data"])
    engine.write_text(wrong)
    monkeypatch.chdir(tmp_path / "chapter-02")  # from inside, too
    hinted = run("check")
    assert hinted.exit_code == 1
    assert "Hint: `a * b` is a plain number" in hinted.output
    assert json.loads(run("check", "--json").output)["mistake"] == "a_plain_number"
    monkeypatch.chdir(tmp_path)
    assert "begun" in run("course").output
    assert run("next", 2).exit_code == 0
    assert run("reset", 2).output == (
        "engine.py is as it was at the start.\nYour engine.py is now engine.mine.py.\n"
    )
    assert engine.read_text() == starter
    assert engine.with_name("engine.mine.py").read_text() == wrong
    engine.write_text(engine.with_name("solution.py").read_text())
    done = run("check", 2)
    assert (done.exit_code, "Chapter 2: solved." in done.output) == (0, True)
    assert exercises.begun()["02-value"][1] == "solved"
    listed = {row["chapter"]: row["state"] for row in json.loads(run("course", "--json").output)}
    assert (listed["02-value"], listed["01-derivative"]) == ("solved", "open")


def test_code_in_a_hint_stays_on_its_line():
    for chapter in ALL:
        for hint in [hint for lang in LANGUAGES for hint in chapter.hints(lang).values()]:
            lines = course._wrapped(f"Pista: {hint}").splitlines()
            assert all(line.count("`") % 2 == 0 and len(line) <= course.WIDTH for line in lines)
            assert " ".join(lines) == f"Pista: {' '.join(hint.split())}"


def test_what_is_named_wrongly_is_told(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    last = len(ALL)
    assert f"there is no chapter '99'; they are 1 to {last}" in run("start", 99).output
    assert "chapter 3 has not been begun here" in run("check", 3).output
    assert "minigrad lab break accumulate" in run("check").output  # nothing here: as before
    run("start", 1, "--lang", "es")
    assert "no está vacía" in run("start", 1, "--lang", "es").output
    (tmp_path / "chapter-01" / ".chapter.json").write_text("{}")
    assert ".chapter.json is damaged" in run("check", "chapter-01", "--lang", "en").output
    assert run("start", 1, "--force").exit_code == 0
    (tmp_path / "chapter-01" / "engine.py").unlink()
    assert run("check", 1).exit_code == 2
    with pytest.raises(LabError, match="is a file"):
        exercises.start(find("1"), tmp_path / "chapter-01" / "EXERCISE.md", lang="en")


def test_a_file_that_does_not_run_and_one_that_never_ends(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("minigrad.lab.exercises.SECONDS", 1)
    run("start", 1, "--lang", "en")
    engine = tmp_path / "chapter-01" / "engine.py"
    for source, told in (
        ("def slope(:\n", "(engine.py, line 1)"),
        ("while True:\n    pass\n", "still running after 1 s"),
    ):
        engine.write_text(source)
        said = run("check", 1)
        assert said.exit_code == 1
        assert "engine.py does not run" in said.output
        assert told in said.output


def test_a_lab_and_an_exercise_in_one_folder_are_told_apart(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    run("break", "order", "--lang", "en")
    run("start", 1, "--lang", "en")
    assert "order: engine.py is still whole" in run("check", "order").output
    assert "order: engine.py is still whole" in run("check").output
    assert "Chapter 1: not written yet" in run("check", 1).output
    assert "Chapter 1: not written yet" in run("check", "chapter-01").output
    assert "Chapter 1: not written yet" in run("check", "01-derivative").output


# ---- notebooks -------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def notebooks():
    spec = importlib.util.spec_from_file_location("notebooks", COURSE.parent / "notebooks.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_every_chapter_is_a_notebook(notebooks, tmp_path):
    pages = notebooks.chapters([])
    assert len(pages) == 2 * len(ALL)
    for page in pages:
        made = json.loads(notebooks.write(page, tmp_path).read_text("utf-8"))
        cells = made["cells"]
        assert [cell["id"] for cell in cells] == [f"cell-{k}" for k in range(len(cells))]
        code = ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]
        prose = ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "markdown"]
        for program in code:
            if not program.startswith(("!", "%%sh\n")):
                ast.parse(program)
            assert ">>>" not in program
        assert not any(":::" in text or "```" in text for text in prose)
        for target in re.findall(r"\]\(([^)]+)\)", "\n".join(prose)):
            where, _, name = target.partition("attachment:")
            held = [cell.get("attachments", {}).get(name) for cell in cells]
            assert any(held) if name else (tmp_path / where).exists() or where.endswith(".ipynb")
        # Nothing is lost: what one types on the page is in a cell.
        for kind, text in FENCE.findall(page.read_text("utf-8")):
            if kind in ("pycon", "python"):
                assert typed(kind, text).splitlines()[-1].strip() in "\n".join(
                    typed("python", program) for program in code if program[0] not in "!%"
                )


@pytest.mark.browser  # where the packages for notebooks are
@pytest.mark.parametrize("name", ["04-by-hand.es", "14-many-machines"])
def test_a_notebook_runs_and_prints_what_its_page_says(notebooks, name, tmp_path, monkeypatch):
    pytest.importorskip("nbclient")
    pytest.importorskip("ipykernel")
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}:/usr/bin:/bin")
    (page,) = notebooks.chapters([f"{name}.md"])
    if "<!-- needs jax -->" in page.read_text("utf-8"):
        pytest.importorskip("jax")
    made = json.loads(notebooks.write(page, tmp_path, is_run=True).read_text("utf-8"))
    printed = [
        "".join(output.get("text") or output.get("data", {}).get("text/plain") or [])
        for cell in made["cells"]
        for output in cell.get("outputs", [])
    ]
    told = [o for cell in made["cells"] for o in cell.get("outputs", []) if "text" in o]
    assert [output["text"] for output in told if output["name"] == "stderr"] == []
    assert any(f"chapter-{name[:2]}" in text for text in printed)  # the commands, too
    examples = [text for kind, text in FENCE.findall(page.read_text("utf-8")) if kind == "pycon"]
    wanted = [
        line for text in examples for line in text.splitlines() if re.match(r"[-\[(\d]", line)
    ]
    assert len(wanted) > 3
    assert all(any(line in text for text in printed) for line in wanted)
