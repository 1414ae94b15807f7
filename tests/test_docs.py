"""Every code fence of the documents is executed, and the generated pages are up to date."""

from __future__ import annotations

import doctest
import importlib.util
import re
import shlex
from pathlib import Path

import pytest
from conftest import oracle
from typer.testing import CliRunner

import minigrad
from minigrad import view
from minigrad.cli import app
from minigrad.cli.given import graph

ROOT = Path(__file__).parent.parent
COURSE = sorted((ROOT / "docs" / "course").glob("*.md"))
DOCUMENTS = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")), *COURSE]
# A fence that needs packages besides minigrad's own has a comment before it: <!-- needs jax -->
FENCE = re.compile(
    r"^(?:<!-- needs ([\w ]+) -->\n)?```(\w*|\{\w+\})\n(.*?)^```$", re.MULTILINE | re.DOTALL
)


def fences(path):
    return FENCE.findall(path.read_text(encoding="utf-8"))


NEEDS = {path: {n for needs, *_ in fences(path) for n in needs.split()} for path in DOCUMENTS}


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.name)
def test_fences_run_and_print_what_they_say(path, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    run_fences(path, [fence for fence in fences(path) if not fence[0]])


@pytest.mark.oracle
@pytest.mark.parametrize(
    "path", [path for path in DOCUMENTS if NEEDS[path]], ids=lambda path: path.name
)
def test_fences_run_that_need_other_packages(path, tmp_path, monkeypatch, jax):
    for name in sorted(NEEDS[path]):
        oracle(name)
    monkeypatch.chdir(tmp_path)
    run_fences(path, fences(path))


def run_fences(path, chosen):
    names: dict[str, object] = {}
    for k, (_, language, text) in enumerate(chosen):
        where = f"{path.name}, fence {k + 1}"
        if language == "pycon":
            example = doctest.DocTestParser().get_doctest(text, names, where, str(path), 0)
            assert example.examples, where
            runner = doctest.DocTestRunner(verbose=False)
            report = []
            runner.run(example, out=report.append, clear_globs=False)
            names.update(example.globs)
            assert runner.failures == 0, "".join(report)
        elif language == "python":
            exec(compile(text, where, "exec"), names)
        elif language == "{player}":
            play(text)
        elif language == "console":
            command, _, expected = text.partition("\n")
            prompt, program, *arguments = shlex.split(command)
            assert (prompt, program) == ("$", "minigrad")
            assert CliRunner().invoke(app, arguments).output == expected
        else:
            assert language == "sh", f"{where}: {language!r} fences are not executed"


def play(text):
    """Draw the player of `a*b; a=2 b=3`, as the site does."""
    expression, _, numbers = text.strip().splitlines()[-1].rpartition(";")
    root, _ = graph(expression, numbers.split())
    root.backward()
    assert view.player_element(root)


def test_the_shell_lines_of_the_readme_are_those_that_ci_runs():
    lines = [text.strip() for _, language, text in fences(ROOT / "README.md") if language == "sh"]
    assert lines == [
        'python -m pip install -e . && minigrad grad "(a*b + c) * (a - c)" a=2 b=3 c=4',
        "python -m pip install -e '.[test]' && python -m pytest",
    ]
    assert "README.md" in (ROOT / ".ci" / "run").read_text(encoding="utf-8")


def test_the_readme_is_a_front_page_and_its_commands_exist():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert len(text.splitlines()) <= 120
    told = re.findall(r"`minigrad ([a-z]\w*)[^`]*`", text)
    assert {"doctor", "lab", "play", "train"} <= set(told)
    for name in set(told):
        assert CliRunner().invoke(app, [name, "--help"]).exit_code == 0, name


@pytest.fixture(scope="module")
def generate():
    spec = importlib.util.spec_from_file_location("generate", ROOT / "docs" / "generate.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_reference_of_operations_is_up_to_date(generate):
    page = (ROOT / "docs" / "ops.md").read_text(encoding="utf-8")
    assert page == generate.reference(), "run: python docs/generate.py"


def test_the_catalogue_of_faults_is_up_to_date(generate):
    page = (ROOT / "docs" / "faults.md").read_text(encoding="utf-8")
    assert page == generate.catalogue(), "run: python docs/generate.py"


def test_the_page_about_the_campaign_is_up_to_date(generate):
    page = (ROOT / "docs" / "reliability.md").read_text(encoding="utf-8")
    assert page == generate.reliability(), "run: python docs/generate.py"


def test_the_tables_of_the_page_about_scaling_are_up_to_date(generate):
    page = (ROOT / "docs" / "scaling.md").read_text(encoding="utf-8")
    assert page == generate.scaling(), "run: python docs/generate.py"


def test_the_drawings_are_up_to_date(generate):
    for name, text in generate.drawings().items():
        drawn = (ROOT / "docs" / "pictures" / name).read_text(encoding="utf-8")
        assert drawn == text, f"{name}: run: python docs/generate.py"


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.name)
def test_links_and_pictures_in_the_documents_exist(path):
    assert [target for target in targets_in(path) if not (path.parent / target).exists()] == []


def test_every_picture_is_shown_somewhere():
    shown = {Path(t).name for path in DOCUMENTS for t in targets_in(path) if "pictures/" in t}
    assert shown == {picture.name for picture in (ROOT / "docs" / "pictures").iterdir()}


def targets_in(path):
    targets = re.findall(r"\]\(([^)#\s]+)[^)]*\)", path.read_text(encoding="utf-8"))
    return [target for target in targets if "://" not in target]


@pytest.mark.parametrize(
    "module",
    [minigrad, minigrad.scalar, minigrad.core.modes, minigrad.calculus.transforms],
    ids=lambda module: module.__name__,
)
def test_docstring_examples(module):
    outcome = doctest.testmod(module)
    assert outcome.attempted > 0
    assert outcome.failed == 0
