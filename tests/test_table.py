"""A folder of submissions: one row each, for a terminal, a spreadsheet, a program and a browser."""

from __future__ import annotations

import csv
import io
import json

import pytest
from sound_engines import source
from typer.testing import CliRunner

from minigrad.check.doctor.catalogue import FAULTS
from minigrad.check.doctor.signatures import patient
from minigrad.check.doctor.trees import digests
from minigrad.cli import app

SOUND = source("tuple_prev")
BROKEN = patient(FAULTS["tanh_linear"])


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Six submissions: sound, a copy of it, broken, a notebook, a folder, and one unfinished."""
    folder = tmp_path_factory.mktemp("submissions")
    renamed = SOUND.replace("other", "that").replace('"""', '"""Mine. ', 1)
    cells = [{"cell_type": "code", "source": text} for text in ("x = 1", BROKEN)]
    texts = {
        "ada.py": SOUND,
        "=bob.py": f"# My own work!\n\n\n{renamed}",
        "carl.py": BROKEN,
        "dora.ipynb": json.dumps({"cells": cells}),
        "emil/code/engine.py": SOUND.replace("class Value", "class Value "),
        "fay.py": "class Value:\n    def __init__(self, data):\n        self.data = data\n",
        "notes.txt": "not a submission",
        ".hidden/engine.py": BROKEN,
    }
    for name, text in texts.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    return folder


def run(*words):
    done = CliRunner().invoke(app, ["doctor", *map(str, words)])
    assert "Traceback" not in done.output
    return done


@pytest.fixture(scope="module")
def rows(folder):
    done = run(folder, "--csv", "-j", "2")
    assert done.exit_code == 1
    return {row["submission"]: row for row in csv.DictReader(io.StringIO(done.stdout))}


def test_each_submission_has_a_row(rows):
    assert list(rows) == ["'=bob.py", "ada.py", "carl.py", "dora.ipynb", "emil", "fay.py"]
    verdicts = [row["verdict"] for row in rows.values()]
    assert verdicts == ["sound", "sound", "fault", "fault", "sound", "not examined"]
    assert [rows[name]["faults"] for name in ("carl.py", "dora.ipynb")] == ["tanh_linear"] * 2
    line = int(rows["carl.py"]["line"])
    assert "(1 - t)" in BROKEN.split("\n")[line - 1]
    assert rows["dora.ipynb"]["line"] == f"cell 2, line {line}"
    assert "Value has no backward() yet" in rows["fay.py"]["why not"]


def test_those_that_are_written_alike_are_told(rows):
    # By names alone: comments, layout, docstrings and names of variables do not count.
    same = {name: row["same as"] for name, row in rows.items() if row["same as"]}
    assert same == {"ada.py": "'=bob.py", "dora.ipynb": "carl.py", "emil": "'=bob.py"}


def test_the_table_in_a_terminal_in_json_and_as_pages(folder, tmp_path):
    pages = tmp_path / "pages"
    done = run(folder, "--table", "--html", pages)
    assert done.exit_code == 1
    assert "6 submissions: 3 sound, 2 with a fault, 1 not examined." in done.output
    index = (pages / "index.html").read_text(encoding="utf-8")
    files = sorted(path.name for path in pages.iterdir())
    assert len(files) == 7
    assert all(f'<a href="{name}">' in index for name in files if name != "index.html")
    assert "tanh" in (pages / "003-carl-py.html").read_text(encoding="utf-8")
    again = run(folder, "--table", "--html", pages)
    assert again.exit_code == 2
    assert "add --force" in again.output
    done = run(folder, "--table", "--json")
    document = json.loads(done.stdout)
    assert [row["verdict"] for row in document][:3] == ["sound", "sound", "fault"]
    assert document[2]["faults"][0]["code"] == "tanh_linear"


def test_the_table_in_spanish(folder, tmp_path):
    pages = tmp_path / "pages"
    done = run(folder, "--table", "--html", pages, "--lang", "es")
    assert "6 entregas: 3 sin fallos, 2 con algún fallo, 1 sin examinar." in done.output
    shown = " ".join(done.output.split())
    for english in ("submission", "verdict", "not examined", "line ", "cell "):
        assert english not in shown, english
    assert "(celda 2," in shown
    index = (pages / "index.html").read_text(encoding="utf-8")
    assert '<html lang="es">' in index
    assert "<th>veredicto</th>" in index
    assert 'data-label="fallos"' in index  # above a cell where the table has no room
    assert "Value no tiene backward() todavía" in index
    report = (pages / "004-dora-ipynb.html").read_text(encoding="utf-8")
    assert "celda 2, línea" in report
    assert "cell 2" not in report


def test_what_is_no_folder_of_submissions(tmp_path):
    assert "is no folder" in run(tmp_path / "none", "--table").output
    empty = run(tmp_path, "--table")
    assert (empty.exit_code, "has no submissions" in empty.output) == (2, True)


def test_digests_are_those_of_the_tree():
    one = digests("class A:\n    def f(self, x):\n        y = x + 1\n        return y\n")
    two = digests(
        'class A:\n    """Doc."""\n    def f(me, z: int) -> int:\n        w = z + 1 # c\n'
        "        return w\n"
    )
    assert one == two != {}
    assert digests("class A:\n    def f(self, x):\n        y = x + 2\n        return y\n") != one
    assert digests("class A:\n    def f(self, x):\n        y = x + 1\n        return x\n") != one
    assert digests("class A:\n    def g(self, x):\n        y = x + 1\n        return y\n") != one
    assert digests("class A(") == {}
