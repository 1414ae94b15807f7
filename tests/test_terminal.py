"""How characters are written where the encoding lacks them."""

from __future__ import annotations

import io
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import minigrad
from minigrad import cli
from minigrad.core.terminal import put_json, put_table, spell_instead_of_raising


@pytest.mark.parametrize(
    ("text", "spelled"),
    [
        ("a → b", "a -> b"),
        ("x² ≠ y", "x^2 != y"),
        ("¿Qué ves? Número", "Que ves? Numero"),
        ("2 · 3 × ∂L/∂λ", "2 * 3 x dL/dlambda"),
        ("½ 2⁵³ x₁ Ω µ", "1/2 2^53 x1 Omega mu"),
        ("┌─┐ │└╴╱ ║╔═ ┃┏━ ╭╮", "+-+ |`-/ |+- |+- ++"),
        ("e\u0301 👩\u200d🔬", "e <U+1F469><U+1F52C>"),
        ("␛[31m␡␀", "\\x1b[31m\\x7f\\x00"),  # pictures of control characters
        # What has no spelling keeps its number; also half a pair, as in the name of a file.
        ("ﬁ\N{SNOWMAN}\udce9\U0001f600", "fi<U+2603><U+DCE9><U+1F600>"),
    ],
)
def test_what_the_encoding_lacks_is_spelled_out(text, spelled):
    assert text.encode("ascii", "minigrad.spell").decode("ascii") == spelled


def test_what_the_encoding_has_stays():
    assert "é → ½".encode("cp1252", "minigrad.spell").decode("cp1252") == "é -> ½"


def test_no_character_of_our_own_texts_becomes_a_question_mark():
    folder = Path(minigrad.__file__).parent
    ours = {
        character
        for ending in ("*.py", "*.md")
        for path in folder.rglob(ending)
        for character in path.read_text(encoding="utf-8")
        if not character.isascii()
    }
    assert len(ours) > 10
    spelled = {c: c.encode("ascii", "minigrad.spell").decode() for c in ours}
    assert {c for c, text in spelled.items() if "?" in text or "<U+" in text} == set()


# ---- every command in every encoding ------------------------------------------------------------

ENCODINGS = ["ascii", "latin-1", "cp437", "cp1252", "cp850", "koi8-r", "shift_jis", "utf-16"]

SICK = """class Value:
    def __init__(self, data, children=()):
        self.data, self.grad = data, 0.0
        self._prev, self._backward = children, lambda: None
    def __add__(self, other):
        other = other if isinstance(other, Value) else Value(other)
        out = Value(self.data + other.data, (self, other))
        def _backward():
            self.grad = out.grad  # → ∂ é
            other.grad = out.grad
        out._backward = _backward
        return out
    def __mul__(self, other):
        other = other if isinstance(other, Value) else Value(other)
        out = Value(self.data * other.data, (self, other))
        def _backward():
            self.grad += other.data * out.grad
            other.grad += self.data * out.grad
        out._backward = _backward
        return out
    def backward(self):
        order, seen = [], set()
        def visit(node):
            if id(node) not in seen:
                seen.add(id(node))
                for child in node._prev:
                    visit(child)
                order.append(node)
        visit(self)
        self.grad = 1.0
        for node in reversed(order):
            node._backward()
"""

EXPRESSION = ["(a*b + c) * (a - c)", "a=2", "b=3", "c=4"]
COMMANDS = {
    "grad": ["grad", *EXPRESSION],
    "grad json": ["grad", *EXPRESSION, "--json"],
    "draw": ["draw", *EXPRESSION],
    "draw file": ["draw", *EXPRESSION, "-o", "größe_∂.txt", "--force"],
    "play": ["play", *EXPRESSION, "-o", "größe_∂.html", "--force"],
    "explain": ["explain", *EXPRESSION],
    "explain cut": ["explain", "a+a+a+a", "a=1", "--top", "2"],
    "explain json": ["explain", *EXPRESSION, "--json"],
    "steps": ["steps", *EXPRESSION, "--overwrite"],
    "doctor": ["doctor", "engine.py"],
    "doctor page": ["doctor", "engine.py", "--html", "größe.html", "--force"],
    "doctor nothing": ["doctor", "nö.py"],
    "labs": ["lab", "--lang", "es"],
    "labs json": ["lab", "--lang", "es", "--json"],
    "lab break": ["lab", "break", "order", "--lang", "es", "--force"],
    "lab check": ["lab", "check", "--lang", "es"],
    "lab reset": ["lab", "reset", "--lang", "es"],
    "lab versions": ["lab", "versions", "7", "--diff", "--lang", "es"],
    "help": ["--help"],
    **{f"help {name}": [name, "--help"] for name in ("grad", "draw", "play", "doctor", "lab")},
    "mistake": ["grad", "a → b", "a=1"],
    "no value": ["grad", "a", "b=…"],
    "no such lab": ["lab", "break", "óptimo", "--lang", "es"],
    "no such command": ["grád"],
    "no such option": ["doctor", "--→"],
    "no folder": ["draw", *EXPRESSION, "-o", "nö/x.svg"],
}


def printed(arguments, encoding, monkeypatch):
    """Run a command here; decode what it prints strictly."""
    streams = [io.TextIOWrapper(io.BytesIO(), encoding) for _ in range(2)]
    monkeypatch.setattr(sys, "stdout", streams[0])
    monkeypatch.setattr(sys, "stderr", streams[1])
    monkeypatch.setattr(sys, "argv", ["minigrad", *arguments])
    with pytest.raises(SystemExit) as ended:
        cli.main()
    out, err = (bytes(stream.buffer.getvalue()).decode(encoding) for stream in streams)
    return ended.value.code or 0, out, err


def check_columns(text):
    """Table rows have their bars where the frame has its corners."""
    lines = text.splitlines()
    frames = [line for line in lines if line.startswith("+--")]
    rows = [line for line in lines if line.startswith("|") and line.endswith("|")]
    assert not frames or {len(line) for line in rows} <= {len(line) for line in frames}


@pytest.fixture
def place(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")  # so that nothing is wrapped, here or there
    Path("engine.py").write_text(SICK, encoding="utf-8")
    return tmp_path


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_in_every_encoding(name, place, monkeypatch):
    if name in ("lab check", "lab reset"):
        printed(COMMANDS["lab break"], "utf-8", monkeypatch)
    in_full = printed(COMMANDS[name], "utf-8", monkeypatch)
    made = {path: path.read_bytes() for path in place.iterdir() if path.is_file()}
    assert in_full[1] + in_full[2]
    fast = ENCODINGS if "doctor" not in name and "lab" not in name else ENCODINGS[:4]
    for encoding in fast:
        code, out, err = printed(COMMANDS[name], encoding, monkeypatch)
        assert code == in_full[0]
        for mine, full in ((out, in_full[1]), (err, in_full[2])):
            assert len(mine.splitlines()) == len(full.splitlines()), (encoding, mine)
            assert re.findall(r"\d+\.?\d*", mine) == re.findall(r"\d+\.?\d*", full), encoding
            assert mine.count("?") == full.count("?"), (encoding, mine)
            check_columns(mine)
        # What is written to files does not depend on the terminal.
        assert {path: path.read_bytes() for path in made} == made


def in_the_locale_c(*arguments):
    bare = {key: text for key, text in os.environ.items() if not key.startswith(("LC_", "LANG"))}
    bare.pop("PYTHONIOENCODING", None)
    return subprocess.run(
        [sys.executable, "-m", "minigrad", *arguments],
        env={**bare, "LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
        capture_output=True,
        encoding="ascii",
        check=False,
    )


def test_the_locale_c(place):
    done = in_the_locale_c("explain", *EXPRESSION)
    assert (done.returncode, done.stderr) == (0, "")
    assert "a: -6 (a -> a*b -> + -> *) + 10 (a -> a-c -> *) = 4" in done.stdout
    check_columns(done.stdout)
    done = in_the_locale_c("draw", *EXPRESSION, "-o", "größe.svg")
    assert (done.returncode, done.stderr) == (0, "")
    assert (place / "größe.svg").read_text(encoding="utf-8").startswith("<svg")
    done = in_the_locale_c("doctor", "nö→.py")
    assert done.returncode == 2
    assert "there is no such file" in done.stdout


@pytest.mark.parametrize("width", [80, 70, 60, 54])
def test_a_number_is_never_cut(width, monkeypatch, capsys):
    """2.47452…, which ends in e-05, would be another number."""
    numbers = [2.474523618e-05, -0.00046026139312, -2.474462384e-150, 123456789.0]
    monkeypatch.setenv("COLUMNS", str(width))
    row = ("x", *(f"{number:.10g}" for number in numbers))
    put_table(("v", *"abcd"), [row], right=(1, 2, 3, 4))
    shown = [cell.strip() for cell in capsys.readouterr().out.splitlines()[3].split("│")[1:-1]]
    assert shown[0] == "x"
    assert [float(cell) for cell in shown[1:]] == pytest.approx(numbers, rel=0.05)
    if width == 80:
        assert tuple(shown) == row


def test_texts_and_headings_are_folded(monkeypatch, capsys):
    monkeypatch.setenv("COLUMNS", "24")
    put_table(("differences", "value"), [("accumulated", "1e-300")], right=(1,))
    out = capsys.readouterr().out
    assert "…" not in out
    letters = re.sub(r"[^a-z]", "", out.replace("1e-300", ""))
    assert sorted(letters) == sorted("differencesvalueaccumulated")
    assert "1e-300" in out


def test_tables_are_laid_out_as_they_are_shown(monkeypatch):
    stream = io.TextIOWrapper(io.BytesIO(), "ascii")
    monkeypatch.setattr(sys, "stdout", stream)
    put_table(("→", "n"), [("∂", "1"), ("[b]…\x1b[0m", "2")], right=(1,), footers=("½", ""))
    text = stream.buffer.getvalue().decode("ascii")
    assert {len(line) for line in text.splitlines()} == {len(text.splitlines()[0])}
    assert "[b]...\\x1b[0m" in text


# ---- what would do something --------------------------------------------------------------------

EVIL = "\x1b[2J\x9b31m\x07\r\b\x7f\x85\u202e\u2066\u2028\x0b\x1c"


def check_tame(text):
    assert [c for c in text if c != "\n" and not c.isprintable()] == []


@pytest.mark.parametrize(
    "arguments",
    [
        ["grad", f"a{EVIL}", "a=1"],
        ["grad", "a\r\v\x1c\x85 +\u2028 a", "a=1"],  # white space to the parser
        ["grad", "a", f"a={EVIL}"],
        ["grad", "a", f"{EVIL}=1"],
        ["grad", "1", f"--{EVIL}"],
        ["explain", "a", "a=1", "--of", EVIL],
        ["explain", "a", "a=1", "--top", EVIL],
        ["draw", "a", "a=1", "-o", f"{EVIL}.svg"],
        ["draw", "a", "a=1", "-o", f"{EVIL}.png"],
        ["draw", "a", "a=1", "-o", f"{EVIL}/x.svg"],
        ["draw", "a", "a=1", "--rankdir", EVIL],
        ["play", "a", "a=1", "-o", f"{EVIL}.txt"],
        ["play", "a", "a=1", "-o", f"{EVIL}.html"],
        ["steps", f"{EVIL}(a)", "a=1"],
        ["doctor", f"{EVIL}.py"],
        ["doctor", f"engine.py:{EVIL}"],
        ["doctor", "evil.py"],
        ["doctor", "evil.py", "--json"],
        ["doctor", "worse.py"],
        ["doctor", "engine.py", "--html", f"{EVIL}/x.html"],
        ["doctor", "engine.py", EVIL],
        ["lab", "break", EVIL],
        ["lab", "break", "order", f"lab-{EVIL}"],
        ["lab", "check", f"lab-{EVIL}"],
        ["lab", "check", EVIL],
        ["lab", "reset", f"lab-{EVIL}"],
        ["lab", "--lang", EVIL],
        ["lab", EVIL],
        [EVIL],
        [f"--{EVIL}"],
    ],
    ids=lambda arguments: re.sub("[^a-z ]", "", " ".join(arguments))[:30],
)
@pytest.mark.parametrize("encoding", ["utf-8", "latin-1"])
def test_no_text_of_the_user_does_anything_to_the_terminal(arguments, encoding, place, monkeypatch):
    (place / "evil.py").write_text(
        SICK.replace("# → ∂ é", f"# {EVIL}".replace("\r", "").replace("\u2028", "")),
        encoding="utf-8",
    )
    (place / "worse.py").write_text(f"raise ValueError({EVIL!r})", encoding="utf-8")
    if "lab" in arguments and f"lab-{EVIL}" in arguments and "break" not in arguments:
        printed(["lab", "break", "order", f"lab-{EVIL}"], encoding, monkeypatch)
        engine = place / f"lab-{EVIL}" / "engine.py"
        engine.write_text(f"raise ValueError({EVIL!r})", encoding="utf-8")
    for _ in range(2):
        code, out, err = printed(arguments, encoding, monkeypatch)
        assert code in (0, 1, 2)
        check_tame(out)
        check_tame(err)
        assert out + err


def test_json_for_programs_is_tame_and_whole(monkeypatch):
    stream = io.TextIOWrapper(io.BytesIO(), "ascii")
    monkeypatch.setattr(sys, "stdout", stream)
    put_json({"label": EVIL + "\ud800é"})
    text = stream.buffer.getvalue().decode("ascii")
    check_tame(text)
    assert json.loads(text) == {"label": EVIL + "\ud800é"}


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="there is no /dev/full here")
@pytest.mark.parametrize(
    "arguments", [["--version"], ["--help"], COMMANDS["grad"], ["lab"], ["doctor", "nothing.py"]]
)
def test_an_output_that_cannot_be_written_is_a_sentence(arguments):
    with open("/dev/full", "wb") as full:
        done = subprocess.run(
            [sys.executable, "-m", "minigrad", *arguments],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    assert (done.returncode, done.stderr) == (
        2,
        "minigrad: the output cannot be written (No space left on device).\n",
    )


# ---- what users print themselves ----------------------------------------------------------------

PRINTED = """# -*- coding: utf-8 -*-
import minigrad
from minigrad import Value, gradcheck, record
a, b, c = Value(2.0, label="a"), Value(3.0, label="b"), Value(4.0, label="λ")
L = (a * b + c) * (a - c)
with record() as tape:
    L.backward()
print(a.explain(L))
print(tape.text())
print(gradcheck(lambda x: x.tanh(), [1.0]))
f = minigrad.compile(lambda x, y: x * y.tanh(), backend="numpy")
f(1.0, 2.0)
print(f.program)
print(f.explain())
print(minigrad.diagnose("minigrad.lab.versions.v6"))
try:
    Value(2.0).backward(retain_graph=True)
except TypeError as error:
    print(error)
"""


@pytest.mark.parametrize(
    "settings",
    [
        {"PYTHONIOENCODING": "cp1252"},
        {"PYTHONIOENCODING": "ascii"},
        {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
        {"PYTHONIOENCODING": "utf-8"},
    ],
    ids=lambda settings: "-".join(settings.values()),
)
def test_what_users_print_themselves_is_printed_in_any_encoding(tmp_path, settings):
    script = tmp_path / "printed.py"
    script.write_text(PRINTED, encoding="utf-8")
    plain = {k: v for k, v in os.environ.items() if k not in ("PYTHONIOENCODING", "PYTHONUTF8")}
    done = subprocess.run(
        [sys.executable, str(script)],
        capture_output=True,
        check=True,
        env={**plain, **settings, "PYTHONPATH": os.pathsep.join(sys.path)},
        timeout=120,
    )
    encoding = settings.get("PYTHONIOENCODING", "ascii")
    first = done.stdout.decode(encoding).splitlines()[0]  # strictly
    arrow, name = ("→", "λ") if encoding == "utf-8" else ("->", "lambda")
    path = f"a {arrow} a-{name} {arrow} *"
    assert first == f"a: -6 (a {arrow} a*b {arrow} + {arrow} *) + 10 ({path}) = 4"


def test_an_output_that_was_told_what_to_do_is_left_alone(monkeypatch):
    for errors, after in (("strict", "minigrad.spell"), ("replace", "replace")):
        stream = io.TextIOWrapper(io.BytesIO(), "ascii", errors)
        monkeypatch.setattr(sys, "stdout", stream)
        spell_instead_of_raising()
        assert stream.errors == after
    stream = io.TextIOWrapper(io.BytesIO(), "utf-8", "strict")
    monkeypatch.setattr(sys, "stdout", stream)
    spell_instead_of_raising()
    assert stream.errors == "strict"


def test_in_the_c_locale_the_bytes_of_file_names_stay_bytes(monkeypatch):
    stream = io.TextIOWrapper(io.BytesIO(), "ascii", "surrogateescape")
    monkeypatch.setattr(sys, "stdout", stream)
    spell_instead_of_raising()
    print("caf\udcc3\udca9 → é", flush=True)
    assert stream.buffer.getvalue() == b"caf\xc3\xa9 -> e\n"
