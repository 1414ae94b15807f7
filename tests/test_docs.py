"""Every code fence of the documents is executed, and the generated pages are up to date."""

from __future__ import annotations

import codeop
import doctest
import importlib.util
import re
import sys
import tokenize
from pathlib import Path

import pytest
from conftest import oracle
from fences import BUILT, RUN, Fence, fences, run, run_page, wrong_shell_line
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
    run_page(path, (fence for fence in fences(path) if not fence.needs))


@pytest.mark.parametrize("path", DOCUMENTS, ids=name_of)
def test_every_line_can_be_typed(path):
    """At the prompt an empty line ends a block, and what follows a block needs one before it."""
    for fence in fences(path):
        if fence.language == "pycon":
            examples = doctest.DocTestParser().get_examples(fence.text)
            programs = [example.source for example in examples]
        else:
            programs = [fence.text] if fence.language == "python" else []
        for program in programs:
            waiting: list[str] = []
            for line in [*program.rstrip("\n").split("\n"), ""]:
                waiting.append(line)
                try:
                    whole = codeop.compile_command("\n".join(waiting), symbol="single")
                except SyntaxError as error:
                    pytest.fail(f"{fence.where}: {line!r}: {error}")
                waiting = [] if whole else waiting
            assert not any(waiting), fence.where


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


def test_figures_in_a_text_are_those_of_the_benches(generate):
    for path, text in generate.texts().items():
        assert path.read_text(encoding="utf-8") == text, (
            f"{path.name}: run: python docs/generate.py"
        )


def test_every_case_that_was_measured_is_on_the_page_of_tables(generate):
    page = (ROOT / "docs" / "performance_tables.md").read_text(encoding="utf-8")
    assert generate.figures("compiled.json")["cases"].keys() <= generate.tables.placed(page)


def test_nobody_types_what_was_measured(generate):
    # Speeds and sizes stand beside what they were measured as, and are written by generate.py. The
    # course is left out, whose numbers are part of what it explains.
    typed = {
        name_of(p): generate.typed(p.read_text("utf-8"))
        for p in DOCUMENTS
        if "course" not in p.parts
    }
    assert {name: found for name, found in typed.items() if found} == {
        "docs/performance_tables.md": ["20 ms"],  # how the bench is set up, and the same here:
        "docs/scaling.md": ["12.3 s", "0.8 s", "11.3 s", "20.8 s", "29.8 s", "0.9 s", "50 ms"],
    }


def test_a_figure_that_somebody_has_typed_is_noticed(generate):
    text = "It is 38 × as fast: 94.1 ns. `9 s`\n\n```text\n3 ms\n```\n<!-- =a date -->2 s<!-- = -->"
    assert generate.typed(text) == ["38 ×", "94.1 ns"]


def test_the_drawings_are_up_to_date(generate):
    for name, text in generate.drawings().items():
        drawn = (ROOT / "docs" / "pictures" / name).read_text(encoding="utf-8")
        assert drawn == text, f"{name}: run: python docs/generate.py"


def slugs(path):
    """Name the anchors of a document, as code hosts and MyST make them of its headings."""
    text = FENCED.sub("", path.read_text(encoding="utf-8"))
    found = []
    for heading in re.findall(r"^#+ +(.*?) *$", text, re.MULTILINE):
        plain = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", heading)  # what one reads of a link
        slug = re.sub(r"[^\w\- ]", "", plain.lower()).replace(" ", "-")
        count = found.count(slug)
        found.append(f"{slug}-{count}" if count else slug)
    return {*found, *re.findall(r'<a (?:id|name)="([^"]+)"', text)}


FENCED = re.compile(r"^( *)(`{3,}).*?^ *\2`* *$", re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("path", DOCUMENTS, ids=name_of)
def test_links_pictures_and_anchors_in_the_documents_exist(path):
    wrong = []
    for target, anchor in links_in(path):
        file = (path.parent / target).resolve() if target else path
        if not file.exists() or (anchor and anchor not in slugs(file)):
            wrong.append(f"{target}#{anchor}")
    assert wrong == []


def test_a_broken_link_is_noticed(tmp_path):
    page = tmp_path / "page.md"
    page.write_text('# A `b` c!\n\n## A b c\n\n[x](#a-b-c-1) [y](#nosuch) ![z](no.svg "t")\n')
    assert slugs(page) == {"a-b-c", "a-b-c-1"}
    assert links_in(page) == [("", "a-b-c-1"), ("", "nosuch"), ("no.svg", "")]


def test_every_picture_is_shown_somewhere():
    shown = {Path(t).name for path in DOCUMENTS for t in targets_in(path) if "pictures/" in t}
    assert shown == {picture.name for picture in (ROOT / "docs" / "pictures").iterdir()}


def links_in(path):
    text = FENCED.sub("", path.read_text(encoding="utf-8"))
    text = re.sub(r"`[^`\n]*`", "", text)
    links = re.findall(r"\]\(([^)#\s]*)(?:#([^)\s]*))?(?:\s+\"[^\"]*\")?\)", text)
    return [(target, anchor) for target, anchor in links if "://" not in target]


def targets_in(path):
    return [target for target, _ in links_in(path) if target]


def structure(path):
    """What a translation has in common with its page: levels of headings, code, exercises."""
    text = path.read_text(encoding="utf-8")
    levels = re.findall(r"^(#+) ", FENCED.sub("", text), re.MULTILINE)
    code = [(fence.language, code_of(fence)) for fence in fences(path)]
    named = re.findall(r"^:::+\{(\w+)\}(?: (\S+)$)?", text, re.MULTILINE)
    return levels, code, [kind if kind == "predict" else (kind, name) for kind, name in named]


def code_of(fence):
    """The program of a fence without comments and texts, which are translated, too."""
    if fence.language == "console":  # what is printed may be wrapped elsewhere
        return re.findall(r"^\$ (.*?)(?: --lang e[ns])?$", fence.text, re.MULTILINE)
    if fence.language not in ("python", "pycon", "{try}"):
        return "" if fence.language in ("text", "diff") else len(fence.text.splitlines())
    lines = re.sub(r', lang="es"|(?<=\()"es"', "", fence.text).splitlines()
    if any(line.startswith(">>> ") for line in lines):
        lines = [line[4:] for line in lines if line.startswith((">>> ", "... "))]
    try:
        tokens = tokenize.generate_tokens(iter([f"{line}\n" for line in lines]).__next__)
        return [t.type if t.type in TOLD else t.string for t in tokens if t.type not in SILENT]
    except tokenize.TokenError:
        return len(lines)


SILENT = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT}
TOLD = {tokenize.STRING, *filter(None, [getattr(tokenize, "FSTRING_MIDDLE", None)])}
TRANSLATED = sorted((ROOT / "docs").rglob("*.es.md"))


@pytest.mark.parametrize("path", TRANSLATED, ids=name_of)
def test_a_translation_has_the_structure_of_its_page(path):
    page = path.with_name(path.name.replace(".es.md", ".md"))
    for ours, theirs in zip(structure(path), structure(page), strict=True):
        assert ours == theirs


def test_the_start_page_the_course_and_the_how_tos_are_translated():
    pages = [ROOT / "docs" / name for name in ("index.md", "labs.md", "performance.md")]
    pages += [p for folder in ("course", "howto") for p in (ROOT / "docs" / folder).glob("*.md")]
    ours = {path for path in pages if not path.name.endswith(".es.md")}
    assert ours == {path.with_name(path.name.replace(".es.md", ".md")) for path in TRANSLATED}


def test_a_translation_that_went_astray_is_noticed(tmp_path):
    text = "# A\n\n## B\n\n```python\na = 1  # one\n```\n\n:::{exercise} 07\nDo.\n:::\n"
    one, other = tmp_path / "one.md", tmp_path / "other.md"
    one.write_text(text)
    for old, new, same in [
        ("# one", "# uno", True),
        ("a = 1", "a = 2", False),
        ("## B", "### B", False),
        (" 07", " 08", False),
    ]:
        other.write_text(text.replace(old, new))
        assert (structure(one) == structure(other)) is same, new


@pytest.mark.parametrize(
    "module",
    [minigrad, minigrad.scalar, minigrad.core.modes, minigrad.calculus.transforms],
    ids=lambda module: module.__name__,
)
def test_docstring_examples(module):
    outcome = doctest.testmod(module)
    assert outcome.attempted > 0
    assert outcome.failed == 0
