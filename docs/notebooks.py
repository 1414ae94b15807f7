"""The chapters of the course as notebooks, from the same pages: python docs/notebooks.py FOLDER

    python docs/notebooks.py FOLDER             all chapters, in English and in Spanish
    python docs/notebooks.py FOLDER 05 07       some of them
    python docs/notebooks.py FOLDER --run       with what they print (needs nbclient and ipykernel)

A page and its notebook cannot drift apart, for nothing is written twice: prose becomes Markdown
cells, sessions (pycon) and programs (python) become code, a command of the shell a line with `!`,
a player a call of `play`. What a page says will be printed is left out: the notebook prints it.
"""

from __future__ import annotations

import argparse
import base64
import doctest
import json
import os
import re
import sys
import tempfile
from pathlib import Path
from typing import Any

COURSE = Path(__file__).resolve().parent / "course"
_FENCE = re.compile(
    r"^(<!-- needs [\w ]+ -->\n)?```(\w+|\{\w+\})\n(.*?)^```$", re.MULTILINE | re.DOTALL
)
_PICTURE = re.compile(r"\]\((\.\./pictures)/([^)]+)\)")
_BOX = re.compile(r"^:::\{(\w+)\} (.*)\n((?:.*\n)*?):::$", re.MULTILINE)
WORDS = {
    "en": {"predict": "Predict first", "answer": "The answer", "exercise": "Exercise",
           "check": "When you are done", "hint": "Hint:"},
    "es": {"predict": "Predice primero", "answer": "La respuesta", "exercise": "Ejercicio",
           "check": "Cuando hayas terminado", "hint": "Pista:"},
}  # fmt: skip


def notebook(text: str, lang: str = "en", folder: Path = COURSE) -> dict[str, Any]:
    """Return a chapter as a notebook for a folder, without outputs."""
    text = _with_links_from(folder, text)
    cells: list[dict[str, Any]] = []
    # `!` forks, and beside JAX's threads Python warns of that at length; `%%sh` does not.
    shell = "%%sh\n" if "<!-- needs jax -->" in text else "!"
    at = 0
    for fence in _FENCE.finditer(text):
        _prose(cells, text[at : fence.start()], lang)
        for program in _programs(fence[2], fence[3], shell):
            cells.append(_cell("code", program, len(cells)))
            if fence[1]:  # where PyTorch or JAX is missing, the cells after it run all the same
                cells[-1]["metadata"] = {"tags": ["raises-exception"]}
        at = fence.end()
    _prose(cells, text[at:], lang)
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    about = {"kernelspec": kernel, "language_info": {"name": "python"}}
    return {"cells": cells, "metadata": about, "nbformat": 4, "nbformat_minor": 5}


def _cell(kind: str, text: str, number: int) -> dict[str, Any]:
    lines = text.strip("\n").splitlines(keepends=True)
    cell: dict[str, Any] = {
        "cell_type": kind, "id": f"cell-{number}", "metadata": {}, "source": lines,
    }  # fmt: skip
    return cell | ({"execution_count": None, "outputs": []} if kind == "code" else {})


def _prose(cells: list[dict[str, Any]], text: str, lang: str) -> None:
    text = _BOX.sub(lambda box: _boxed(*box.groups(), lang), text)
    # A chapter's links lead to pages; beside a notebook there are notebooks.
    text = re.sub(r"\]\((\d\d-[\w-]+(?:\.es)?)\.md\)", r"](\1.ipynb)", text)
    shown = {name: _attached(COURSE / folder / name) for folder, name in _PICTURE.findall(text)}
    text = _PICTURE.sub(r"](attachment:\2)", text)
    if text.strip():
        cells.append(
            _cell("markdown", text, len(cells)) | ({"attachments": shown} if shown else {})
        )


def _attached(picture: Path) -> dict[str, str]:
    """Return a picture as a cell holds it: a notebook may go where the picture is not."""
    kind = {".png": "image/png", ".svg": "image/svg+xml"}[picture.suffix]
    return {kind: base64.b64encode(picture.read_bytes()).decode()}


def _with_links_from(folder: Path, text: str) -> str:
    """Have links to what is no chapter lead there from the notebook's folder."""

    def moved(found: re.Match[str]) -> str:
        target = (COURSE / found[1]).resolve()
        return f"]({Path(os.path.relpath(target, folder.resolve())).as_posix()})"

    return re.sub(r"\]\((\.\./[^)]+\.(?:md|py))\)", moved, text)


def _boxed(kind: str, argument: str, body: str, lang: str) -> str:
    words = WORDS[lang]
    title = f"**{words[kind]}.**"
    if kind == "predict":
        return f"{title} {argument}\n\n{_folded(words['answer'], body)}"
    task, _, hint = body.partition(words["hint"])
    shown = f"{title} {task.strip()}\n\n{words['check']}: `minigrad lab check {argument}`"
    return f"{shown}\n\n{_folded(words['hint'][:-1], hint)}" if hint else shown


def _folded(title: str, text: str) -> str:
    return f"<details><summary>{title}</summary>\n\n{text.strip()}\n\n</details>"


def _programs(kind: str, text: str, shell: str) -> list[str]:
    """Return what a fence becomes; a session is cut after each line that prints something."""
    if kind == "console":
        return [shell + text.partition("\n")[0].removeprefix("$ ")]
    if kind == "{player}":
        expression, _, numbers = text.strip().splitlines()[-1].rpartition(";")
        given = ", ".join(repr(pair) for pair in numbers.split())
        return [
            "from minigrad import play\nfrom minigrad.cli.given import graph\n\n"
            f"play(graph({expression!r}, [{given}])[0])"
        ]
    if kind == "pycon" or (kind == "{try}" and text.startswith(">>>")):
        return _cells_of_a_session(text)
    if kind in ("python", "{try}"):
        return [text]
    raise ValueError(f"a fence of {kind}: nobody has said what it is in a notebook.")


def _cells_of_a_session(text: str) -> list[str]:
    programs = [""]
    for example in doctest.DocTestParser().get_examples(text):
        is_long = "\n" in example.source.strip()
        after_a_block = programs[-1].rpartition("\n")[0].rpartition("\n")[2].startswith(" ")
        separator = "\n" if programs[-1] and (is_long or after_a_block) else ""
        programs[-1] += separator + example.source
        if example.want and not example.exc_msg:
            programs.append("")
        elif example.exc_msg:  # the notebook goes on after it
            programs[-1] = _attempted(programs[-1])
            programs.append("")
    return [program for program in programs if program]


def _attempted(source: str) -> str:
    """Write a line that raises so that the notebook can be run to its end."""
    *before, last = source.rstrip("\n").split("\n")
    told = 'print(f"{type(error).__name__}: {error}")'
    lines = ["try:", f"    {last}", "except Exception as error:", f"    {told}"]
    return "\n".join([*before, *lines]) + "\n"


def chapters(only: list[str]) -> list[Path]:
    """Return the pages, or those whose name begins as one of these do."""
    pages = sorted(COURSE.glob("[0-9]*.md"))
    return [page for page in pages if not only or page.name.startswith(tuple(only))]


def write(page: Path, folder: Path, *, is_run: bool = False) -> Path:
    """Write a chapter's notebook, and return where it is."""
    lang = "es" if page.name.endswith(".es.md") else "en"
    made = notebook(page.read_text(encoding="utf-8"), lang, folder)
    target = folder / f"{page.name.removesuffix('.md')}.ipynb"
    if is_run:
        made = executed(made)
    target.write_text(json.dumps(made, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    return target


def executed(made: dict[str, Any]) -> dict[str, Any]:
    """Run a notebook in an empty folder, and return it with what it printed."""
    import nbformat
    from nbclient import NotebookClient

    node = nbformat.reads(json.dumps(made), as_version=4)
    with tempfile.TemporaryDirectory() as folder:
        NotebookClient(node, timeout=120, resources={"metadata": {"path": folder}}).execute()
    ran: dict[str, Any] = json.loads(nbformat.writes(node))
    return ran


def main(arguments: list[str]) -> None:
    """Write the notebooks that are asked for."""
    parser = argparse.ArgumentParser(description="Write the course's chapters as notebooks.")
    parser.add_argument("folder", type=Path)
    parser.add_argument("chapters", nargs="*", help="such as 05 or 07-accumulate.es")
    parser.add_argument("--run", action="store_true", help="execute them, and keep what they print")
    given = parser.parse_args(arguments)
    given.folder.mkdir(parents=True, exist_ok=True)
    for page in chapters(given.chapters):
        print(write(page, given.folder, is_run=given.run))


if __name__ == "__main__":
    main(sys.argv[1:])
