"""How findings are told: in few lines, the class's own words, two languages, JSON and a page."""

from __future__ import annotations

import ast
import json
import string
import sys
from pathlib import Path

import pytest
from sound_engines import HEALTHY, source
from typer.testing import CliRunner

from minigrad.check import diagnose_here
from minigrad.check.doctor import signatures
from minigrad.check.doctor.answers import examine_here
from minigrad.check.doctor.catalogue import CATALOGUE, FAULTS, GENERAL
from minigrad.check.doctor.findings import report
from minigrad.check.doctor.probes import PROBES
from minigrad.check.doctor.report import VERSION
from minigrad.check.doctor.signatures import patient
from minigrad.check.doctor.spanish import SPANISH, probe_name
from minigrad.check.doctor.spanish.loading import in_spanish
from minigrad.cli import app

DOCTOR = Path(sys.modules[signatures.__name__].__file__).parent


def examined(text):
    return report("engine.py", examine_here(text, seed=5))


SICK = examined(patient(FAULTS["overwrite"]))


# ---- text ----------------------------------------------------------------------------------------


def test_the_usual_case_fits_on_fifteen_lines_the_fault_first():
    lines = SICK.text().splitlines()
    assert len(lines) <= 15
    assert "1 fault" in lines[0]
    assert "[overwrite]" in lines[2]
    assert len(SICK.text(verbose=True).splitlines()) > 25


@pytest.mark.parametrize("name", HEALTHY)
def test_a_healthy_engine_is_told_so_in_a_few_lines(name):
    lines = examined(source(name)).text().splitlines()
    assert len(lines) <= 8
    assert "No fault" in lines[0]


@pytest.mark.parametrize("width", [40, 60, 96, 200])
def test_lines_keep_to_the_width(width):
    words = [
        line for line in SICK.text(width=width, verbose=True).splitlines() if len(line) > width
    ]
    assert words == []


def test_texts_speak_of_the_class_by_its_own_names():
    text = source("op_codes").replace("1 - self.value**2", "1 - self.value")
    told = examined(text).text(verbose=True)
    assert "Value" not in told
    assert ".derivative" in told
    assert ".grad" not in told
    assert "backprop()" in told


def test_numbers_are_printed_as_they_were_run():
    for probe in PROBES:
        (first, *_) = probe.script.built().split("; ")
        calls = [part for part in ast.walk(ast.parse(first)) if isinstance(part, ast.Call)]
        numbers = [ast.literal_eval(call.args[0]) for call in calls]
        assert [(type(x), x) for x in numbers] == [
            (type(x), x) for x in probe.script.leaves.values()
        ]


# ---- Spanish -------------------------------------------------------------------------------------


def fields(text):
    return {name for _, name, _, _ in string.Formatter().parse(text) if name}


def test_every_sentence_has_its_spanish_with_the_same_fields():
    for row in [*CATALOGUE, *GENERAL.values()]:
        for part in ("name", "sees", "why", "fix"):
            text = getattr(row, part)
            assert fields(SPANISH[text]) == fields(text), text
    assert all(text.strip() == text for text in SPANISH.values())


def test_every_sentence_that_is_said_has_its_spanish():
    said = set()
    for file in [*DOCTOR.glob("*.py"), *DOCTOR.glob("catalogue/*.py")]:
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            is_call = isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
            if is_call and node.func.id in ("said", "translated") and node.args:
                first = node.args[0]
                said |= {first.value} if isinstance(first, ast.Constant) else set()
    assert len(said) > 10
    assert said - set(SPANISH) == set()


@pytest.mark.parametrize("fault", CATALOGUE[::9], ids=lambda fault: fault.code)
def test_a_report_in_spanish_has_the_same_numbers(fault):
    found = examined(patient(fault))
    english, spanish = found.text(verbose=True, width=400), found.text("es", True, 400)
    assert english != spanish
    for part in ("try", "right"):
        mine = [
            line.split(None, 1)[1] for line in english.splitlines() if line.startswith(f"  {part} ")
        ]
        assert all(line in spanish for line in mine)
    assert "fault" not in spanish.split("[")[0]


def test_every_probe_has_a_spanish_name_of_its_own():
    names = [probe_name(probe.name) for probe in PROBES]
    assert len(set(names)) == len(PROBES)
    english = [" below", " above", " twice", " itself", "number", "right", "power", "of a"]
    assert not [name for name in names for word in english if word in name]


# ---- JSON and the page ---------------------------------------------------------------------------


def test_the_keys_of_the_json_are_those_of_its_version():
    # Documented in docs/doctor.md; whoever changes them raises the version.
    document = json.loads(SICK.to_json())
    assert (VERSION, document["version"]) == (2, 2)
    assert {*document} == {
        "version", "subject", "exit_code", "words", "probes", "missing", "unexamined", "problem",
        "remarks", "tree", "faults", "limits", "notes",
    }  # fmt: skip
    for kind in ("faults", "limits"):
        for finding in document[kind]:
            assert {*finding} == {
                "code", "kind", "name", "sees", "why", "fix", "program", "expected", "got",
                "explanation", "line", "place", "also",
            }  # fmt: skip
    page = (Path(__file__).parent.parent / "docs" / "doctor.md").read_text(encoding="utf-8")
    documented = page.partition("## JSON")[2].partition("\n## ")[0]
    for key in {*document} | {*document["faults"][0]}:
        assert f"`{key}`" in documented


def test_the_page_has_a_player_with_the_fault_switched_on():
    page = SICK.to_html()
    assert "&quot;fault&quot;" in page or "fault=" in page
    assert page.count("<iframe") == 1
    assert "<pre>a = Value(3.0); b = a + a; b.backward()</pre>" in page
    other = examined(patient(FAULTS["sigmoid_no_factor"])).to_html("es")
    assert "Lo mismo, bien hecho, paso a paso." in other
    assert 'lang="es"' in other


def test_the_command_speaks_spanish_and_tells_more(tmp_path):
    path = tmp_path / "engine.py"
    path.write_text(patient(FAULTS["overwrite"]), encoding="utf-8")
    runner = CliRunner()
    short = runner.invoke(app, ["doctor", str(path), "--lang", "es"])
    assert "todas las operaciones sobrescriben los gradientes" in short.output
    long = runner.invoke(app, ["doctor", str(path), "--lang", "es", "--verbose"])
    assert len(long.output) > 2 * len(short.output)
    wrong = runner.invoke(app, ["doctor", str(path), "--lang", "xx"])
    assert wrong.exit_code == 2
    assert "en, es" in wrong.output


# ---- signatures ----------------------------------------------------------------------------------


def test_the_file_of_signatures_is_up_to_date():
    kept = signatures.signatures()
    assert [*kept] == signatures.CODES, "run: python docs/generate.py"
    plain = signatures.run_patients([(code, "") for code in signatures.CODES], PROBES)
    for (code, _), now in plain.items():
        then = kept[code][0]
        assert [*then] == [*now], code
        for name, sign in now.items():
            assert then[name].looks_like(sign), (code, name, "run: python docs/generate.py")
            assert [x for _, x in then[name].numbers] == pytest.approx([x for _, x in sign.numbers])


@pytest.mark.heavy
def test_the_whole_file_of_signatures_is_up_to_date():
    assert signatures.FILE.read_text(encoding="utf-8") == signatures.written()


# What was loaded, and why something was not, by its English and its Spanish words.
LOADED = {
    "left out: line 1 (OSError: no), cell 3, line 2 (NameError: x (y)), and 4 more": (
        "omitido: línea 1 (OSError: no), celda 3, línea 2 (NameError: x (y)), y 4 más"
    ),
    "left out: 12 statements that define nothing": "omitido: 12 sentencias que no definen nada",
    "only its definitions were loaded: line 4 takes long": (
        "solo se cargaron sus definiciones: línea 4 tarda mucho"
    ),
    "Value has no backward() yet; it has operations +, *; attributes data; methods go()": (
        "Value no tiene backward() todavía; tiene operaciones +, *; atributos data; métodos go()"
    ),
    "it did not come to an end: time ran out while loading the file": (
        "no llegó al final: se acabó el tiempo mientras se cargaba el archivo"
    ),
    "cell 2, line 3 does not parse: invalid syntax": (
        "celda 2, línea 3 no se puede analizar: invalid syntax"
    ),
    "Value keeps a complex number in data; numbers are real": (
        "Value guarda un número complejo en data; los números son reales"
    ),
    "left out: 1 statement that defines nothing": "omitido: 1 sentencia que no define nada",
    "left out: a.py, line 1 (E: x), cell 2, line 3 (E), and 2 more": (
        "omitido: a.py, línea 1 (E: x), celda 2, línea 3 (E), y 2 más"
    ),
    "left out: line 2 (PermissionError: os.fork is not allowed while the doctor looks)": (
        "omitido: línea 2 (PermissionError: no se permite os.fork mientras el doctor mira)"
    ),
    "left out: line 4 (PutOffError: torch is not loaded for this)": (
        "omitido: línea 4 (PutOffError: torch no se carga para esto)"
    ),
    "Value(2.5) does not come to an end": "Value(2.5) no termina nunca",
    "+ or * of two Values does not come to an end": "+ o * de dos Value no termina nunca",
    "words of somebody else": "words of somebody else",
}


@pytest.mark.parametrize("english", LOADED)
def test_what_is_said_of_loading_in_spanish(english):
    assert in_spanish(english) == LOADED[english]


def test_a_file_that_does_not_load_to_its_end_in_spanish():
    text = f"names = open('names.txt')\n{source('closure')}"
    lines = report("engine", examine_here(text)).text("es").split("\n")
    assert any(line.startswith("omitido: línea 1 (FileNotFoundError") for line in lines)


def test_why_nothing_was_examined_keeps_to_the_width():
    told = diagnose_here("class Value:\n    def __init__(self, data):\n        self.data = data\n")
    assert told.problem
    for lang in ("en", "es"):
        lines = told.text(lang, width=40).splitlines()
        assert len(lines) >= 3
        assert max(map(len, lines)) <= 40
