"""Every code fence of the documents is executed, and the generated pages are up to date."""

from __future__ import annotations

import doctest
import importlib.util
import re
import sys
from pathlib import Path

import pytest
from conftest import oracle
from fences import BUILT, RUN, Fence, fences, run, wrong_shell_line
from typer.testing import CliRunner

import minigrad
from minigrad.cli import app

ROOT = Path(__file__).parent.parent
DOCUMENTS = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]


def name_of(path):
    return path.relative_to(ROOT).as_posix()


NEEDS = {path: {n for f in fences(path) for n in f.needs.split()} for path in DOCUMENTS}


@pytest.fixture(autouse=True)
def _micrograd_stays_itself():
    """A page may put minigrad in micrograd's place; other tests want micrograd."""
    kept = {name: sys.modules.pop(name) for name in [*sys.modules] if "micrograd" in name}
    yield
    for name in [name for name in sys.modules if "micrograd" in name]:
        del sys.modules[name]
    sys.modules.update(kept)


@pytest.mark.parametrize("path", DOCUMENTS, ids=name_of)
def test_fences_run_and_print_what_they_say(path, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    run(fence for fence in fences(path) if not fence.needs)


@pytest.mark.oracle
@pytest.mark.parametrize("path", [path for path in DOCUMENTS if NEEDS[path]], ids=name_of)
def test_fences_run_that_need_other_packages(path, tmp_path, monkeypatch, jax):
    for name in sorted(NEEDS[path]):
        oracle(name)
    monkeypatch.chdir(tmp_path)
    run(fences(path))


def test_no_fence_is_left_out():
    # Run by the tests, or by the build of the site, or shell lines whose commands, options, files
    # and extras exist; else a comment before the fence says why not. Those are counted here.
    known = {*RUN, *BUILT, "sh"}
    every = [fence for path in DOCUMENTS for fence in fences(path)]
    assert [fence.where for fence in every if fence.language not in known] == []
    shell = [fence for fence in every if fence.language == "sh"]
    lines = [line for fence in shell if not fence.why_not for line in fence.text.splitlines()]
    assert [problem for problem in map(wrong_shell_line, lines) if problem] == []
    not_run = [fence.where.partition(":")[0] for fence in every if fence.why_not]
    assert not_run == ["scaling.md", "scaling.md"]  # Slurm and Kubernetes
    assert all(fence.language == "sh" for fence in every if fence.why_not)


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("minigrad nosuch a", "no command nosuch"),
        ("minigrad grad a*b a=2 --nosuch", "no option --nosuch"),
        ("FLAG=1 python docs/nosuch.py", "no file docs/nosuch.py"),
        ("python -m nosuch", "no module nosuch"),
        ("python -m pip install -e '.[nosuch]' && minigrad info", "no extras"),
        ("python -m pip install minigrad", "minigrad-engine"),
        ("minigrad info | kubectl apply", "say in a comment"),
    ],
)
def test_a_wrong_shell_line_is_noticed(line, why):
    assert why in wrong_shell_line(line)


def test_fences_are_found_wherever_they_stand(tmp_path):
    page = tmp_path / "page.md"
    page.write_text(
        "1. a list\n\n   ```python\n   a = 1\n   ```\n\n<!-- needs jax -->\n````{try}\n```\n````\n"
        "<!-- not run: why -->\n```sh\nls\n```\n"
    )
    found = [tuple(fence)[1:] for fence in fences(page)]
    assert found == [
        ("python", "a = 1\n", "", ""),
        ("{try}", "```\n", "jax", ""),
        ("sh", "ls\n", "", "why"),
    ]


@pytest.mark.parametrize("text", [">>> 1 + 1\n3\n", "assert False\n", "a\n"])
def test_a_fence_that_is_wrong_fails(text):
    with pytest.raises((AssertionError, NameError)):
        run([Fence("here", "python", "a = 1\n"), Fence("here", "{try}", text)])


def test_the_shell_lines_of_the_readme_are_those_that_ci_runs():
    lines = [f.text.strip() for f in fences(ROOT / "README.md") if f.language == "sh"]
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


def test_the_references_are_up_to_date(generate):
    for name, text in generate.references().items():
        page = (ROOT / "docs" / name).read_text(encoding="utf-8")
        assert page == text, f"{name}: run: python docs/generate.py"


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


@pytest.mark.parametrize("path", DOCUMENTS, ids=name_of)
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
