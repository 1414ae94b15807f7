"""A process of its own: for whatever a file is and does a sentence, and nothing is left."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from typer.testing import CliRunner

from minigrad.check import diagnose
from minigrad.check.doctor.answers import LARGEST, examine_stranger
from minigrad.check.doctor.catalogue import FAULTS
from minigrad.check.doctor.lines import likely_line, marks_of
from minigrad.check.doctor.signatures import patient, source
from minigrad.cli import app

SOUND = source("tuple_prev")
needs_pipes = pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no named pipes here")


def written(tmp_path, text, name="engine.py"):
    path = tmp_path / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


@pytest.fixture
def folders(tmp_path, monkeypatch):
    """Where the doctor makes its folders."""
    folder = tmp_path / "folders"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    return folder


def refused(subject):
    """Return why it could not be examined; the command says the same, and has no traceback."""
    report = diagnose(subject)
    assert (report.exit_code, report.findings, report.words) == (2, (), {})
    done = CliRunner().invoke(app, ["doctor", str(subject)])
    assert done.exit_code == 2
    assert "Traceback" not in done.output
    assert report.problem in done.output.replace("\n", " ")
    return report.problem


# ---- what is no file ----------------------------------------------------------------------------


@needs_pipes
def test_pipes_devices_and_sockets_are_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "pipe.py")
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "link.py").symlink_to(tmp_path / "pipe")
    (tmp_path / "zero.py").symlink_to("/dev/zero")
    for name in ("pipe.py", "pipe", "link.py", "zero.py"):
        assert refused(tmp_path / name) == (
            "this is not an ordinary file, but a pipe, a device or the like; "
            "give the path of a .py file, a notebook or a folder"
        )
    with socket.socket(socket.AF_UNIX) as end, tempfile.TemporaryDirectory(dir="/tmp") as short:
        end.bind(f"{short}/s.py")
        assert "not an ordinary file" in refused(f"{short}/s.py")


def test_folders_links_and_names_that_are_no_files(tmp_path, monkeypatch):
    (tmp_path / "folder.py").mkdir()
    assert "no class with operators in any file" in refused(tmp_path / "folder.py")
    (tmp_path / "loop.py").symlink_to(tmp_path / "loop.py")
    assert "the file cannot be found" in refused(tmp_path / "loop.py")
    (tmp_path / "nothing.py").symlink_to(tmp_path / "nowhere.py")
    assert "there is no such file" in refused(tmp_path / "nothing.py")
    assert "there is no such file" in refused(written(tmp_path, "") / "below.py")
    assert "the file cannot be found" in diagnose("a\0b.py").problem
    assert "the file cannot be found" in refused(f"{'a' * 5000}.py")
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    assert "there is no such file" in refused("engine.py")


def test_a_file_may_have_any_name_and_a_link_is_what_it_points_to(tmp_path):
    (tmp_path / "engine.py").symlink_to(written(tmp_path, SOUND, "engine.txt"))
    for name in ("engine.txt", "engine.py"):
        report = diagnose(tmp_path / name)
        assert (report.exit_code, report.findings) == (0, ())


def test_a_path_of_three_thousand_folders(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    top = tmp_path / ("d" * 100)
    try:
        for _ in range(300):  # 30,000 characters, where 4,096 are allowed
            os.mkdir("d" * 100)
            os.chdir("d" * 100)
        Path("engine.py").write_text(SOUND, encoding="utf-8")
        assert "too long" in refused("engine.py")
        assert "too long" in refused(f"{top}{top}.py" * 30)
    finally:
        os.chdir(tmp_path)
        subprocess.run(["rm", "-rf", str(top)], check=True)


def test_a_file_of_a_gigabyte(tmp_path):
    path = tmp_path / "engine.py"
    with path.open("wb") as stream:
        stream.truncate(2**30)
    assert "the file has 1,073,741,824 bytes, and 1,000,000 are read at most" in refused(path)
    # And one that grows after it was looked at.
    with path.open("wb") as stream:
        stream.truncate(LARGEST + 1)
    assert "too large" in examine_stranger(str(path)).problem


@needs_pipes
def test_a_file_that_becomes_a_pipe_after_it_was_looked_at(tmp_path):
    os.mkfifo(tmp_path / "engine.py")
    found = examine_stranger(str(tmp_path / "engine.py"))
    assert "not an ordinary file" in found.problem


# ---- what does not parse ------------------------------------------------------------------------

NESTED = {
    "minus": "-" * 100_000 + "1",
    "plus": "1" + "+1" * 100_000,
    "not": "not " * 100_000 + "1",
    "brackets": "(" * 100_000,
    "attributes": "a" + ".b" * 100_000,
    "calls": "print" + "()" * 100_000,
    "elif": "if 0: pass\n" + "elif 0: pass\n" * 50_000,
    "functions": "lambda: " * 100_000 + "0",
    "powers": "1" + "**1" * 100_000,
}


@pytest.mark.parametrize("name", NESTED)
def test_a_text_that_is_nested_too_deeply(name, tmp_path):
    # Alone it may be more than Python can take, or not; it is never more than the doctor can.
    refused(written(tmp_path, NESTED[name]))
    assert marks_of(NESTED[name]) in ({}, {"": {}})
    report = diagnose(written(tmp_path, f"def never():\n    {NESTED[name][:2000]}\n{SOUND}"))
    assert report.problem or report.findings == ()


@pytest.mark.parametrize(
    ("text", "fragment"),
    [
        (b"x = 1\0", "null bytes"),
        (b"# coding: nonsense\n", "does not parse"),
        (b"# coding: utf-8\nx = '\xff'\n", "does not parse"),
        (b"\xef\xbb\xbf# coding: latin-1\n", "does not parse"),
        (b"# coding: rot13\nk = 1\n", "does not parse"),
        (b"# coding: undefined\n", "does not parse"),
        (b"class Value:\n    def f(:\n", "line 2 does not parse"),
        (b"\xff\xfe" + "x = 1".encode("utf-16-le"), "does not parse"),
    ],
)
def test_a_text_that_python_cannot_read(text, fragment, tmp_path):
    assert fragment in refused(written(tmp_path, text))


def test_odd_texts_that_python_can_read(tmp_path):
    latin = (
        "# coding: latin-1\n# \xe9\n".encode("latin-1") + patient(FAULTS["tanh_linear"]).encode()
    )
    # A form feed and a line separator in a text are no ends of lines to Python.
    text = "TEXT = 'a\x0cb\u2028c'\r\n" + patient(FAULTS["tanh_linear"]).replace("\n", "\r\n")
    for content in (latin, text.encode()):
        (finding,) = diagnose(written(tmp_path, content)).faults
        lines = content.replace(b"\r\n", b"\n").split(b"\n")
        assert lines[finding.line - 1].decode().strip() == finding.text.strip()
        assert "(1 - t)" in finding.text


def test_marks_are_those_of_the_class(tmp_path):
    text = (
        "class Other:\n    def tanh(self):\n        self.grad = 1\n\n"
        "class Value:\n    def tanh(self):\n        def rule():\n            self.grad = 2\n"
    )
    assert likely_line(text, "tanh", "Value") == (8, "            self.grad = 2")
    assert likely_line(text, "tanh", "Other") == (3, "        self.grad = 1")
    assert likely_line(text, "assign", "Other") == (8, "            self.grad = 2")
    assert likely_line(text, "class") == (1, "class Other:")
    assert likely_line(text, "tanh", "Value", {"": {"def tanh": 99}}) == (None, "")
    assert marks_of(text)["Value"]["method tanh"] == 6
    assert "method tanh" not in marks_of(text + text)["Value"]  # which of the two?


# ---- what a file does ---------------------------------------------------------------------------


@needs_pipes
def test_a_file_that_says_it_is_a_pipe(tmp_path, monkeypatch):
    pipe = tmp_path / "pipe.py"
    os.mkfifo(pipe)
    broken = f"__file__ = {str(pipe)!r}\n" + patient(FAULTS["tanh_linear"])
    path = written(tmp_path, broken, "posing.py")
    (finding,) = diagnose(path).faults
    assert (finding.code, broken.split("\n")[finding.line - 1]) == ("tanh_linear", finding.text)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    package = tmp_path / "posing_package"
    package.mkdir()
    written(package, "from .engine import Value\n", "__init__.py")
    written(package, broken)
    for name in ("engine.py", "__init__.py"):
        (finding,) = diagnose(package / name).faults
        assert finding.code == "tanh_linear"
    odd = "class Odd(str):\n    def endswith(self, *_): return 1 / 0\n    __str__ = endswith\n"
    report = diagnose(written(tmp_path, odd + "__file__ = Odd('x.py')\n" + SOUND))
    assert report.exit_code == 2 or report.findings == ()


def test_a_file_that_is_another_one_when_it_has_run(tmp_path):
    broken = patient(FAULTS["tanh_linear"])
    change = "\nimport os\nos.remove(__file__)\nopen(__file__, 'w').write('(' * 1000)\n"
    (finding,) = diagnose(written(tmp_path, broken + change)).faults
    assert broken.split("\n")[finding.line - 1] == finding.text
    (finding,) = diagnose(written(tmp_path, broken + "\nimport os\nos.remove(__file__)\n")).faults
    assert broken.split("\n")[finding.line - 1] == finding.text


def test_nothing_is_left_beside_the_file(tmp_path):
    written(tmp_path, "ONE = 1\n", "neighbour.py")
    text = "import neighbour\n" + SOUND
    assert diagnose(written(tmp_path, text)).findings == ()
    package = tmp_path / "whole"
    package.mkdir()
    written(package, "", "__init__.py")
    assert diagnose(written(package, SOUND)).findings == ()
    left = [p.relative_to(tmp_path).as_posix() for p in sorted(tmp_path.rglob("*"))]
    assert left == ["engine.py", "neighbour.py", "whole", "whole/__init__.py", "whole/engine.py"]


DEEP = "import os\nfor _ in range(1100):\n    os.mkdir('d' * 50)\n    os.chdir('d' * 50)\n"
MESS = {
    "1,100 folders": DEEP,
    "many files": "for k in range(300):\n    open(str(k), 'w').close()\n",
    "a folder without rights": "import os\nos.mkdir('a')\nos.mkdir('a/b')\nos.chmod('a', 0)\n",
    "no folder": "import os\nos.rmdir(os.getcwd())\n",
    "pipes and links": "import os\nos.mkfifo('p')\nos.symlink('/', 'l')\nos.symlink('l', 'm')\n",
    "its own rights": "import os\nos.mkdir('a')\nos.chmod('.', 0)\n",
}


@needs_pipes
@pytest.mark.parametrize("name", MESS)
def test_the_folder_goes_away_whatever_is_in_it(name, tmp_path, folders):
    assert diagnose(written(tmp_path, MESS[name] + SOUND)).findings == ()
    assert list(folders.iterdir()) == []


def test_a_folder_that_becomes_a_link(tmp_path, folders):
    kept = tmp_path / "kept"
    kept.mkdir()
    written(kept, "important")
    swap = f"import os\nhere = os.getcwd()\nos.rmdir(here)\nos.symlink({str(kept)!r}, here)\n"
    assert diagnose(written(tmp_path, swap + SOUND)).findings == ()
    assert (kept / "engine.py").read_text() == "important"
    assert list(folders.iterdir()) == []
    # Or another folder in its place: that is not the doctor's to remove, and none from elsewhere.
    for other in ("os.mkdir(here)", f"os.rename({str(kept)!r}, here)"):
        swap = f"import os\nhere = os.getcwd()\nos.rmdir(here)\n{other}\n"
        assert diagnose(written(tmp_path, swap + SOUND)).findings == ()
        assert len(list(folders.iterdir())) == 1
    assert (kept / "engine.py").read_text() == "important"


CHANGES = (
    "open(path, 'w')",
    "open(path, 'a')",
    "open(path, 'r+')",
    "os.open(path, os.O_WRONLY)",
    "pathlib.Path(path).write_text('')",
    "os.remove(path)",
    "os.remove('kept.txt', dir_fd=os.open(folder, os.O_RDONLY))",
    "shutil.rmtree(folder)",
    "shutil.move(path, 'mine.txt')",
    "os.rename(path, path + '.old')",
    "os.replace('empty.txt', path)",
    "os.truncate(path, 0)",
    "os.chmod(path, 0)",
    "os.link(path, 'mine.txt')",
    "os.mkdir(os.path.join(folder, 'more'))",
    "os.chdir(folder); os.remove('kept.txt')",
    "os.symlink(path, 'link.txt'); open('link.txt', 'w')",
    "os.utime(path, (0, 0))",
    "sqlite3.connect(os.path.join(folder, 'more.db')).execute('create table more(x)')",
    "sqlite3.connect(f'file:{folder}/more.db', uri=True).execute('create table more(x)')",
)


def test_files_elsewhere_stay_as_they_are(tmp_path):
    folder = tmp_path / "elsewhere"
    folder.mkdir()
    kept = folder / "kept.txt"
    kept.write_text("important", encoding="utf-8")
    begin = f"import os, pathlib, shutil, sqlite3\nfolder, path = {str(folder)!r}, {str(kept)!r}\n"
    tries = "".join(f"{change}\n" for change in ("open('empty.txt', 'w').close()", *CHANGES))
    written_at = kept.stat().st_mtime_ns
    report = diagnose(written(tmp_path, begin + tries + SOUND))
    assert (report.problem, report.findings) == ("", ())
    assert [path.name for path in folder.iterdir()] == ["kept.txt"]
    assert kept.read_text(encoding="utf-8") == "important"
    assert kept.stat().st_mtime_ns == written_at
    assert "elsewhere is not allowed while the doctor looks" in report.remarks[0]


def test_a_file_may_write_files_of_its_own(tmp_path):
    own = (
        "import os, shutil, tempfile\n"
        "with open('notes.txt', 'w') as file:\n    file.write('1')\n"
        "os.mkdir('runs')\nos.rename('notes.txt', 'runs/notes.txt')\nshutil.rmtree('runs')\n"
        "with tempfile.TemporaryDirectory() as made:\n    open(made + '/x', 'w').close()\n"
        "print('log', file=open(os.devnull, 'w'))\n"
    )
    report = diagnose(written(tmp_path, own + SOUND))
    assert (report.problem, report.findings, report.remarks) == ("", (), ())


def test_a_flood_of_answers_ends(tmp_path):
    text = (
        "import os\nwhile True:\n    for fd in range(3, 16):\n        try:\n"
        "            os.write(fd, b'[' * 60000)\n        except OSError:\n            pass\n"
    )
    found = examine_stranger(str(written(tmp_path, text)), seconds=60.0)
    assert found.problem == "it says too much while loading the file"


def test_without_a_folder_or_a_python_there_is_a_sentence(tmp_path, monkeypatch):
    path = written(tmp_path, SOUND)
    with monkeypatch.context() as patch:
        patch.setattr(tempfile, "tempdir", str(tmp_path / "nowhere"))
        assert "no process can be started for it (No such file" in refused(path)
    monkeypatch.setattr(sys, "executable", str(tmp_path / "nowhere"))
    assert "no process can be started for it (No such file" in refused(path)


@pytest.mark.parametrize("method", ["spawn", "fork", "forkserver"])
def test_no_other_processes(method, tmp_path):
    text = (
        "import multiprocessing, pathlib\n"
        f"if __name__ == 'engine':\n"
        f"    context = multiprocessing.get_context({method!r})\n"
        f"    p = context.Process(target=pathlib.Path({str(tmp_path / 'ran')!r}).touch)\n"
        "    p.start()\n    p.join()\n"
    )
    if method not in __import__("multiprocessing").get_all_start_methods():
        pytest.skip(f"there is no {method} here")
    report = diagnose(written(tmp_path, text + SOUND))
    assert (report.problem, report.findings) == ("", ())
    (remark,) = report.remarks
    assert remark.startswith("left out: line 2 (PermissionError: ")
    assert "is not allowed while the doctor looks" in remark
    assert not (tmp_path / "ran").exists()


def test_a_process_is_refused_and_the_engine_examined(tmp_path):
    text = (
        "import subprocess\ntry:\n    subprocess.run(['true'])\nexcept PermissionError:\n    pass\n"
    )
    assert diagnose(written(tmp_path, text + SOUND)).findings == ()


def test_the_doctor_works_in_a_thread_with_a_small_stack(tmp_path):
    program = (
        "import sys, threading\nfrom minigrad.check import diagnose\n"
        "threading.stack_size(256 * 1024)\n"
        f"t = threading.Thread(target=lambda: print(diagnose({str(tmp_path / 'engine.py')!r})))\n"
        "t.start(); t.join()\n"
    )
    written(tmp_path, "-" * 3000 + "1\n" + "x = 1" + "+1" * 3000 + "\n" + SOUND)
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert "No fault" in done.stdout or "does not parse" in done.stdout
