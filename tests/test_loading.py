"""Loading: a file need not come to its end, nor be in a package, nor be a file at all."""

from __future__ import annotations

import json
import sys
import textwrap

import pytest
from sound_engines import source

from minigrad import Value
from minigrad.check import diagnose, diagnose_here
from minigrad.check.doctor.catalogue import FAULTS
from minigrad.check.doctor.signatures import patient

SOUND = source("tuple_prev")
BROKEN = patient(FAULTS["tanh_linear"])


def written(folder, text, name="engine.py"):
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def is_sound(report):
    assert (report.problem, report.findings) == ("", ())
    assert report.probes > 70
    return report


# ---- what a file does besides -------------------------------------------------------------------

# After the class, or before it: each raises, ends the process, takes for ever, or is not there.
REST = {
    "asks": ("answer = input('how many? ')\n", "EOFError"),
    "reads a file": ("names = open('names.txt').read()\n", "FileNotFoundError"),
    "exits": ("import sys\nsys.exit(0)\n", "sys.exit(0)"),
    "raises SystemExit": ("raise SystemExit('done')\n", "sys.exit(done)"),
    "wants arguments": (
        "import argparse\np = argparse.ArgumentParser()\np.add_argument('n')\np.parse_args()\n",
        "sys.exit(2)",
    ),
    "asserts": ("assert 1 + 1 == 3, 'odd'\n", "AssertionError: odd"),
    "is in a notebook no more": ("get_ipython().run_line_magic('ls', '')\n", "NameError"),
    "is not installed": ("import no_such_module_anywhere\n", "No module named"),
    "imports from what is not installed": (
        "from no_such_module_anywhere.part import one, two\n",
        "No module named",
    ),
    "starts a program": ("import subprocess\nsubprocess.run(['true'])\n", "PermissionError"),
    "raises what nobody catches": ("raise KeyboardInterrupt\n", "KeyboardInterrupt"),
}


@pytest.mark.parametrize("first", [False, True])
@pytest.mark.parametrize("name", REST)
def test_what_raises_is_left_out_and_said(name, first, tmp_path):
    text, why = REST[name]
    report = is_sound(diagnose(written(tmp_path, text + SOUND if first else SOUND + text)))
    (remark,) = report.remarks
    line = (0 if first else SOUND.count("\n")) + text.count("\n")
    assert remark.startswith(f"left out: line {line} (")
    assert why in remark
    assert remark in report.text(width=400)


SLOW = {
    "a training loop": "steps = 0\nwhile True:\n    steps += 1\n",
    "it cannot be stopped": (
        "while True:\n    try:\n        while True: pass\n    except BaseException:\n        pass\n"
    ),
    "at once": "import os\nos._exit(0)\n",
    "by a signal": "import os, signal\nsignal.raise_signal(signal.SIGKILL)\n",
}


@pytest.mark.parametrize("name", SLOW)
def test_where_loading_does_not_end_definitions_are_loaded(name, tmp_path, monkeypatch):
    monkeypatch.setattr("minigrad.check.doctor.answers.LOADING", 2.0)
    report = is_sound(diagnose(written(tmp_path, SLOW[name] + SOUND)))
    assert report.remarks[0].startswith("only its definitions were loaded: ")
    assert "left out" in report.remarks[1]


def test_a_fault_keeps_its_line_beside_what_is_left_out(tmp_path):
    path = written(tmp_path, "x = input()\nwhile True:\n    pass\n" + BROKEN)
    (finding,) = diagnose(path).faults
    assert finding.code == "tanh_linear"
    assert path.read_text(encoding="utf-8").split("\n")[finding.line - 1] == finding.text


def test_a_file_is_given_no_arguments(tmp_path):
    text = (
        "import argparse\np = argparse.ArgumentParser()\np.add_argument('--one', default=1.0)\n"
        "ONE = p.parse_args().one\n"
    )
    report = is_sound(diagnose(written(tmp_path, text + SOUND.replace("= 1.0\n", "= ONE\n"))))
    assert report.remarks == ()


def test_a_class_in_the_block_of_a_script_counts(tmp_path):
    text = "if __name__ == '__main__':\n" + textwrap.indent(SOUND + "input()\n", "    ")
    report = is_sound(diagnose(written(tmp_path, text)))
    assert report.remarks[0].startswith("left out: line ")


def test_one_statement_is_not_told_as_several(tmp_path):
    report = is_sound(diagnose(written(tmp_path, SOUND + "while True: pass\n")))
    assert report.remarks[1] == "left out: 1 statement that defines nothing"
    raises = is_sound(diagnose(written(tmp_path, SOUND + "raise MemoryError\n")))
    assert raises.remarks[0].endswith("(MemoryError)")


def test_a_page_says_what_was_left_out(tmp_path):
    report = diagnose(written(tmp_path, SOUND + "input()\n"))
    line = SOUND.count("\n") + 1
    assert f"left out: line {line} (EOFError" in report.to_html()
    assert f"omitido: línea {line} (EOFError" in report.to_html("es")


def test_definitions_that_come_late_count(tmp_path):
    # As the lessons do it: methods are added one by one, some in loops, with numbers of the file.
    late = """
    import sys
    from functools import partial
    HALF = float("0.5")
    def _double(self):
        return self * (4 * HALF)
    Value.double = _double
    for _name in ("twice", "doubled"):
        setattr(Value, _name, _double)
    def _sigmoid(self):
        return 1 / (1 + (-self).exp() ** int(2 * HALF))
    Value.sigmoid = _sigmoid
    """
    body = SOUND.replace("def sigmoid(", "def _no_sigmoid(") + textwrap.dedent(late)
    assert "sigmoid" in diagnose(written(tmp_path, SOUND.replace("def sigmoid(", "def s("))).missing
    for rest in ("", "while True:\n    pass\n"):
        report = is_sound(diagnose(written(tmp_path, rest + body)))
        assert report.missing == ("log",)


def test_what_is_not_installed_may_decorate_and_be_a_base(tmp_path):
    text = (
        "from no_such_module import fast, nn\nfrom no_such_module.parts import *\n"
        "import no_such_module.more as more\n"
        "class Net(nn.Module):\n    pass\n"
        + SOUND.replace("    def tanh(self):", "    @fast\n    def tanh(self):")
        + "\nassert not isinstance(Value(1.0), more.Thing)\nfig = more.plot(1, 2).show()\n"
    )
    report = is_sound(diagnose(written(tmp_path, text)))
    assert "No module named 'no_such_module'" in report.remarks[0]


def test_an_engine_that_needs_what_is_not_installed_is_not_examined(tmp_path):
    text = "import no_such_module as m\n" + SOUND.replace(
        "self.data = data", "self.data = m.number(data) + 0.0"
    )
    report = diagnose(written(tmp_path, text))
    assert (report.exit_code, report.faults) == (2, [])
    assert "no_such_module is not there while the doctor looks" in report.problem


def test_modules_that_only_draw_are_not_loaded(tmp_path):
    text = (
        "import matplotlib.pyplot as plt\nfrom graphviz import Digraph\nimport seaborn as sns\n"
        "plt.plot([1, 2]); plt.show()\ndot = Digraph('g')\ndot.node('a')\ndot.render('g')\n"
    )
    assert is_sound(diagnose(written(tmp_path, text + SOUND))).remarks == ()


def test_a_large_module_is_loaded_when_the_class_needs_it(tmp_path):
    # An own module of that name is small, and beside the file: it is the one that is meant.
    written(tmp_path, "ONE = 1.0\n", "scipy.py")
    text = "import scipy\n" + SOUND.replace("self.data = data", "self.data = data * scipy.ONE")
    assert is_sound(diagnose(written(tmp_path, text))).remarks == ()


# ---- where modules are --------------------------------------------------------------------------


def test_neighbours_of_all_kinds(tmp_path):
    loose = "import sys\n" + SOUND + "\nprint(undefined)\n"
    for name in ("core/engine.py", "only/folders/engine.py"):
        written(tmp_path, loose, name)
    for name, text in {
        "main.py": "from core.engine import Value\nprint(Value(2.0))\n",
        "core/main.py": "from engine import Value, no_such_name\n",
        "core/relative.py": "from .engine import Value\n",
        "core/deep/further.py": "from ..engine import Value\nValue(1.0).tanh()\n",
        "scripts/run.py": "from core.engine import Value as V\n",
        "scripts/far.py": "from only.folders.engine import Value\n",
    }.items():
        report = is_sound(diagnose(written(tmp_path, text, name)))
        assert report.remarks[0].startswith("the class is in "), name
        assert "engine.py" in report.remarks[0]


def test_a_fault_beside_the_file_has_its_line_there(tmp_path):
    written(tmp_path, BROKEN, "engine.py")
    (finding,) = diagnose(written(tmp_path, "from engine import Value\n" * 9, "main.py")).faults
    assert BROKEN.split("\n")[finding.line - 1] == finding.text


@pytest.mark.parametrize("package", [True, False])
def test_somebodys_own_minigrad_is_the_one_that_is_examined(package, tmp_path):
    written(tmp_path, BROKEN, "minigrad/engine.py")
    if package:
        written(tmp_path, "from .engine import Value\n", "minigrad/__init__.py")
    main = written(tmp_path, "from minigrad.engine import Value\n", "tests/main.py")
    for subject in (main, tmp_path / "minigrad" / "engine.py", tmp_path / "minigrad", tmp_path):
        assert [f.code for f in diagnose(subject).faults] == ["tanh_linear"], subject
    if package:
        written(tmp_path, "from minigrad import Value\n", "tests/main.py")
        assert [f.code for f in diagnose(main).faults] == ["tanh_linear"]
        init = tmp_path / "minigrad" / "__init__.py"
        assert [f.code for f in diagnose(init).faults] == ["tanh_linear"]
    assert sys.modules["minigrad.engine"].Value is Value  # here it is what it was


def test_a_folder_is_examined_by_the_file_with_the_engine(tmp_path):
    assert "no class with operators in any file" in diagnose(tmp_path).problem
    written(tmp_path, "class Vector:\n    def __add__(self, o): return self\n", "a/vector.py")
    written(tmp_path, "this is no python", "a/broken.py")
    written(tmp_path, BROKEN, "src/deep/thing.py")
    written(tmp_path, SOUND, "venv/lib/other.py")
    report = diagnose(tmp_path)
    assert [f.code for f in report.faults] == ["tanh_linear"]
    assert report.remarks[0] == "the class is in src/deep/thing.py"
    assert report.remarks[1] == (
        "not examined: 1 more of its files with such a class; --table examines a folder of "
        "submissions"
    )
    assert diagnose(tmp_path, "Vector").exit_code == 2


ANY = ["math.py", "random.py", "my engine.py", "v1.2.py", "torch.py", "numbers/__init__.py"]


@pytest.mark.parametrize("name", ANY)
def test_a_file_may_be_called_as_anything_else(name, tmp_path):
    is_sound(diagnose(written(tmp_path, "import math, random\n" + SOUND, name)))


def test_a_future_import_and_a_docstring_hold_for_the_whole_file(tmp_path):
    text = (
        '"""Mine."""\nfrom __future__ import annotations\nassert __doc__ == "Mine."\n'
        "def later(x: not_defined) -> nor_this: ...\n" + SOUND
    )
    assert is_sound(diagnose(written(tmp_path, text))).remarks == ()


# ---- notebooks ----------------------------------------------------------------------------------


def sheet(folder, *cells, name="lesson.ipynb", **more):
    made = [{"cell_type": "markdown", "source": ["# class Value"]}]
    made += [{"cell_type": "code", "source": cell.splitlines(keepends=True)} for cell in cells]
    return written(folder, json.dumps({"cells": made, "nbformat": 4, **more}), name)


def test_a_notebook_runs_from_top_to_bottom(tmp_path):
    head, _, tail = SOUND.partition("    def tanh(self):")
    stages = [
        "%matplotlib inline\n!pip install graphviz\nimport matplotlib.pyplot as plt",
        head,  # without the rest: one sees the class grow
        "Value(2.0) + undefined",
        f"%%time\n{SOUND}",
        "Value?\nx = !ls\nfiles = %sx ls\nif True:\n    %timeit Value(1.0)\nprint(10\n % 3)",
        "%%bash\nrm -rf everything; class Value:",
        "this is no python (",
        "def more(self):\n    return self + self\nValue.more = more",
    ]
    assert tail
    report = is_sound(diagnose(sheet(tmp_path, *stages)))
    assert report.remarks == (
        "left out: cell 3, line 1 (NameError: name 'undefined' is not defined)",
    )


def test_a_fault_in_a_notebook_has_its_cell(tmp_path):
    report = diagnose(sheet(tmp_path, "import math", "\n\n" + BROKEN, "1 / 0"))
    (finding,) = report.faults
    line = ("\n\n" + BROKEN).split("\n").index(finding.text) + 1
    assert finding.place == f"cell 2, line {line}"
    assert f"look at  cell 2, line {line}: " in report.text()


def test_of_several_classes_in_a_notebook_the_last_is_taken_and_said(tmp_path):
    other = BROKEN.replace("Value", "Node")
    path = sheet(tmp_path, SOUND, other)
    report = diagnose(path)
    assert report.words["class"] == "Node"
    assert report.choices == ("Value", "Node")
    assert "other classes that could be examined: Value" in report.remarks
    assert is_sound(diagnose(path, "Value")).words["class"] == "Value"


def test_a_class_that_a_notebook_writes_to_a_file_and_imports(tmp_path):
    cells = ["%%writefile engine.py\n" + BROKEN, "from engine import Value\nValue(1.0)"]
    (finding,) = diagnose(sheet(tmp_path, *cells)).faults
    assert (finding.code, finding.place.partition(",")[0]) == ("tanh_linear", "cell 1")


def test_old_and_damaged_notebooks(tmp_path):
    old = {"worksheets": [{"cells": [{"cell_type": "code", "input": [SOUND]}]}]}
    is_sound(diagnose(written(tmp_path, json.dumps(old), "old.IPYNB")))
    for text in ("", "[]", "{}", '{"cells": 3}', "[" * 100_000, '{"cells": [1]}'):
        report = diagnose(written(tmp_path, text, "bad.ipynb"))
        assert report.problem == "this is not a notebook, or a damaged one"
    big = sheet(tmp_path, SOUND, outputs="x" * 2_000_000)  # pictures are large, the text is not
    is_sound(diagnose(big))


def test_a_script_that_was_exported_from_a_notebook(tmp_path):
    text = "get_ipython().system('ls')\n%matplotlib inline\n!ls\n" + BROKEN
    (finding,) = diagnose(written(tmp_path, text)).faults
    assert text.split("\n")[finding.line - 1] == finding.text


# ---- without a sandbox --------------------------------------------------------------------------


def test_a_text_is_examined_in_one_process(monkeypatch):
    def never(*_, **__):
        raise AssertionError("no process and no thread")

    monkeypatch.setattr("subprocess.Popen", never)
    monkeypatch.setattr("threading.Thread.start", never)
    before = (list(sys.path), list(sys.meta_path), set(sys.modules))
    assert diagnose_here(SOUND).findings == ()
    report = diagnose_here("x = open('nothing here')\n" + BROKEN, seed=3)
    assert [f.code for f in report.faults] == ["tanh_linear"]
    assert report.remarks[0].startswith("left out: line 1 (FileNotFoundError")
    assert diagnose_here("x = 1").problem == "there is no class in it"
    assert diagnose_here("class Value(").exit_code == 2
    assert diagnose_here(SOUND, "Nobody").problem == "there is no class Nobody in engine"
    assert (list(sys.path), list(sys.meta_path)) == before[:2]
    assert "engine" not in set(sys.modules) - before[2]
