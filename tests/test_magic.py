"""`%%doctor` in a notebook, and `diagnose` of a class that lives in a session."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest
from sound_engines import source

from minigrad.check.doctor.catalogue import FAULTS
from minigrad.check.doctor.signatures import patient

BROKEN = patient(FAULTS["tanh_linear"])


@pytest.fixture(scope="module")
def shell():
    """A notebook's shell, with the extension."""
    interactive = pytest.importorskip("IPython.core.interactiveshell")
    shell = interactive.InteractiveShell.instance()
    shell.run_line_magic("load_ext", "minigrad")
    yield shell
    interactive.InteractiveShell.clear_instance()


def test_a_cell_is_run_and_its_class_examined(shell, capsys):
    cell = f"{BROKEN}\nclass Layer:\n    pass\n"
    shell.run_cell(f"%%doctor\n{cell}")
    printed = capsys.readouterr().out
    assert "[tanh_linear]" in printed
    # The line is that of the cell as one sees it, with the magic on top.
    line = next(line for line in printed.splitlines() if "look at" in line)
    number = int(line.partition("line ")[2].partition(":")[0])
    assert f"%%doctor\n{cell}".split("\n")[number - 1].strip() in line
    assert isinstance(shell.user_ns["Value"], type)


def test_a_class_that_is_there_and_one_that_is_extended(shell, capsys):
    shell.run_cell(source("tuple_prev"))
    shell.run_cell("%doctor Value")
    assert "No fault" in capsys.readouterr().out
    shell.run_cell("%%doctor --grad grad\ndef tanh(self):\n    return self * 1\nValue.tanh = tanh")
    assert "tanh" in capsys.readouterr().out


def test_a_cell_is_examined_in_spanish(shell, capsys):
    shell.run_cell(f"%%doctor --lang es\n{BROKEN}")
    printed = capsys.readouterr().out
    assert "la derivada de tanh es 1 - t" in printed
    assert "look at" not in printed
    assert "doctor: " in str(shell.run_cell("%doctor Value --lang xx").error_in_exec)


def test_mistakes_are_sentences(shell):
    assert "there is no class Nobody" in str(shell.run_cell("%doctor Nobody").error_in_exec)
    assert "doctor: " in str(shell.run_cell("%doctor --what").error_in_exec)
    assert "there is no class" in str(shell.run_cell("%%doctor\nx = 1").error_in_exec)


def in_session(program):
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=120
    )
    return json.loads(done.stdout)


def test_functions_of_a_session_that_may_do_anything_are_not_tried():
    # As in a file no pass of a familiar name is right, so others are looked for.
    hidden = source("tuple_prev").replace("def backward(self):", "def backpropagate_all(self):")
    program = (
        f"{hidden}\nimport json\nfrom minigrad import diagnose\nran = []\n"
        "def wipe(path): ran.append(path)\n"
        "def go_back(x): return None\n"
        "del Value.backpropagate_all\n"
        "problem = diagnose(Value).problem\nprint(json.dumps([len(ran), problem]))\n"
    )
    count, problem = in_session(program)
    assert count == 0
    assert "Value has no backward() yet" in problem


@pytest.mark.parametrize("name", ["engine", "test", "of_mine.engine"])
def test_a_class_from_beside_the_session_has_its_line(name, tmp_path):
    path = tmp_path.joinpath(*name.split(".")).with_suffix(".py")
    path.parent.mkdir(exist_ok=True)
    path.write_text(BROKEN, encoding="utf-8")
    (fault,) = in_session(
        f"import sys\nsys.path.insert(0, {str(tmp_path)!r})\nfrom {name} import Value\n"
        "from minigrad import diagnose\nprint(diagnose(Value).to_json())\n"
    )["faults"]
    assert fault["code"] == "tanh_linear"
    assert "(1 - t)" in BROKEN.split("\n")[fault["line"] - 1]


def test_a_class_of_a_script_has_its_line(tmp_path):
    path = tmp_path / "script.py"
    text = BROKEN + "\nfrom minigrad import diagnose\nprint(diagnose(Value).to_json())\n"
    path.write_text(text, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, str(path)], capture_output=True, text=True, check=True, timeout=120
    )
    (fault,) = json.loads(done.stdout)["faults"]
    assert fault["code"] == "tanh_linear"
    assert "(1 - t)" in text.split("\n")[fault["line"] - 1]


def test_a_class_of_a_session_that_hangs_is_told():
    hangs = source("tuple_prev").replace("t = math.tanh(self.data)", "while True: pass")
    program = (
        f"{hangs}\nfrom minigrad.check.doctor.subjects import examine_class\nimport json\n"
        "found = examine_class(Value, {}, seconds=1.0)\n"
        "print(json.dumps([found.problem, len(found.outcomes) > 5]))\n"
    )
    assert "while True" in hangs
    problem, has_outcomes = in_session(program)
    assert "time ran out while running" in problem
    assert "tanh" in problem
    assert has_outcomes


def test_a_pass_of_a_session_that_hangs_is_told():
    hangs = source("tuple_prev").replace(
        "        for node in reversed", "        while True: pass\n        for node in reversed"
    )
    assert "while True" in hangs
    problem = in_session(
        f"{hangs}\nfrom minigrad.check.doctor.subjects import examine_class\nimport json\n"
        "print(json.dumps(examine_class(Value, {}, seconds=1.0).problem))\n"
    )
    assert "time ran out while running" in problem


@pytest.mark.parametrize("name", ["TimeIsUpError", "KeyboardInterrupt"])
def test_whoever_waits_may_interrupt(name):
    raises = source("tuple_prev").replace("t = math.tanh(self.data)", f"raise {name}")
    program = (
        f"from minigrad.check.doctor.answers import TimeIsUpError\n{raises}\n"
        "from minigrad import diagnose\n"
        "try:\n    print(json.dumps(diagnose(Value).problem))\n"
        "except KeyboardInterrupt:\n    print(json.dumps('interrupted'))\n"
    )
    said = in_session(f"import json\n{program}")
    assert said == "interrupted" if name == "KeyboardInterrupt" else "time ran out" in said
