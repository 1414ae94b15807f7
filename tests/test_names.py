"""How nodes and numbers are called."""

from __future__ import annotations

import os
import subprocess
import sys
import unicodedata
from pathlib import Path

import pytest
from hostile_labels import HARD
from hypothesis import given
from hypothesis import strategies as st

import minigrad
from minigrad import Value, gradcheck, play, steps, view
from minigrad.calculus.paths import explain_all
from minigrad.core import names
from minigrad.core.names import (
    LONGEST,
    brief,
    cut,
    name_of,
    owner,
    parameter_names,
    plural,
    readable,
    short,
    short_name,
    spell,
    width_of,
)


@pytest.mark.parametrize(
    ("x", "text"),
    [
        (2.0, "2"),
        (-1.5, "-1.5"),
        (0.7071067811865476, "0.70711"),
        (-0.0, "0"),
        (1e300, "1e+300"),
        (float("nan"), "nan"),
        (float("-inf"), "-inf"),
    ],
)
def test_numbers_are_brief(x, text):
    assert brief(x) == text


@given(st.text(st.characters(categories=["L", "N", "P", "S", "M", "Zs"])))
def test_ordinary_text_is_readable_as_it_is(text):
    assert readable(text) == text


@given(st.text() | st.sampled_from(HARD))
def test_readable_text_has_no_character_that_does_something(text):
    shown = readable(text)
    kinds = {unicodedata.category(c) for c in shown if c not in "\u200c\u200d"}
    assert not kinds & {"Cc", "Cf", "Cs", "Zl", "Zp"}
    assert shown.encode().decode() == shown  # no lone surrogate
    assert readable(shown) == shown


def test_unreadable_characters_are_named():
    assert readable("a\nb\0\x7f") == "a␊b␀␡"
    assert readable("\u202eabc\ud800") == "⟨U+202E⟩abc⟨U+D800⟩"


def test_wide_characters_take_two_columns():
    assert [width_of(text) for text in ("ab", "漢字", "e\u0301", "")] == [2, 4, 1, 0]


@given(st.text(st.sampled_from("ab漢é\u0301\0\u202e\ud800 "), max_size=400) | st.sampled_from(HARD))
def test_a_text_is_cut_at_the_last_character_that_has_room(text):
    shown = readable(text)
    kept = cut(shown)
    assert short(text) == kept
    assert width_of(kept) <= LONGEST
    if kept != shown:
        assert kept.endswith("…")
        assert shown.startswith(kept[:-1])
        beyond = shown[: len(kept)]
        assert width_of(beyond) >= LONGEST or len(shown) > 4 * LONGEST
    elif shown:
        assert width_of(shown) <= LONGEST


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("a" * 60, "a" * 60),
        ("a" * 61, "a" * 59 + "…"),
        ("漢" * 30, "漢" * 30),
        ("漢" * 31, "漢" * 29 + "…"),
        ("e\u0301" * 61, "e\u0301" * 59 + "…"),
        ("e" + "\u0301" * 9000, "e" + "\u0301" * 239 + "…"),  # marks without end
    ],
)
def test_where_a_text_is_cut(text, kept):
    assert cut(text) == kept


class Counted:
    """`unicodedata`, counting the characters that somebody asks about."""

    def __init__(self):
        self.asked = 0

    def __getattr__(self, name):
        def ask(*arguments):
            self.asked += 1
            return getattr(unicodedata, name)(*arguments)

        return ask


def looks(root):
    """Everything that shows labels."""
    for picture in (view.to_svg, view.to_text, view.to_json, view.draw_dot, play):
        picture(root)
    root._repr_mimebundle_()
    for found in explain_all(root):
        found.text(), found.equation, found.to_json()
    "\n".join(map(str, steps(root)))
    gradcheck(lambda x: x * 2.0, [root._operands[1]]).text()


@pytest.mark.parametrize("piece", ["é\0", "漢\x1b", "\u0301\u202e", "ab"])
def test_labels_are_looked_at_in_linear_time(piece, monkeypatch):
    def characters_asked_about(size):
        counted = Counted()
        monkeypatch.setattr(names, "unicodedata", counted)
        a = Value(2.0, label=piece * size)
        looks((a + 1.0) * Value(3.0, label="b" + piece * size))
        return counted.asked

    once, twice = characters_asked_about(500), characters_asked_about(1000)
    assert twice <= 2 * once + 1000


def test_a_label_that_is_used_often_is_not_written_out_each_time():
    x = Value(0.5, label="\0" * 10_000)
    y = x
    for _ in range(40):  # each mention of x in a frame, a path or a headline would be 60 kB
        y = y * x
    assert len(play(y).html) < 20 * 60_000
    for found in explain_all(y):
        assert len(found.text()) < 20_000


def test_a_long_path_names_its_ends_only(monkeypatch):
    y = x = Value(0.5, label="x")
    for _ in range(300):
        y = y.tanh()
    (term,) = explain_all(y, variables=[x])[0].terms
    named = []
    room = sys.modules["minigrad.calculus.paths"]  # under its name the package has the function
    monkeypatch.setattr(room, "short_name", lambda node: named.append(node) or "n")
    assert term.path.count("n") == 12
    assert len(named) == 12


def test_short_names_are_names_that_are_cut():
    a, b = Value(2.0, label="a"), Value(3.0, label="b" * 100)
    assert short_name(a * 2.0) == "a*2"
    assert short_name(b) == "b" * 59 + "…"
    assert width_of(short_name(b * b)) == LONGEST
    assert name_of(b * b) == "b" * 100 + "*" + "b" * 100
    assert owner(b) == "b" * 59 + "…"


def test_nodes_are_called_by_label_number_or_operation():
    a, b = Value(2.0, label="a"), Value(-3.0)
    assert name_of(a) == "a"
    assert name_of(b) == "-3"
    assert [name_of(node) for node in (a * b, a + a, -a, a**2, a.tanh(), a / 2, 2 - a)] == [
        "a*(-3)", "a+a", "neg(a)", "a**2", "tanh(a)", "a/2", "2-a",
    ]  # fmt: skip
    assert name_of((a * b) * (a + b)) == "*"
    assert name_of(b**2) == "(-3)**2"
    assert owner(a) == "a"
    assert owner(a * a) == "(a*a)"


def test_many_operands_are_not_all_listed():
    xs = [Value(float(k), label=f"x{k}") for k in range(9)]
    total = minigrad.mean(xs)
    assert name_of(total) == "mean"
    assert spell(total, [x.label for x in xs]) == "mean(x0, x1, …, x8)"


def test_brackets_where_an_operator_would_tear_a_name_apart():
    a, b = Value(-2.0, label="a + b"), Value(2.0, label="b")
    assert name_of(a * b) == "(a + b)*b"
    assert name_of(a**2) == "(a + b)**2"
    assert spell(a**b, ["-2", "2"]) == "(-2)**2"
    assert name_of(Value(1.0, (a,), "")) == "result(a + b)"


@pytest.mark.parametrize(
    ("count", "text"),
    [
        (0, "0 paths"),
        (1, "1 path"),
        (2**60, "1,152,921,504,606,846,976 paths"),
        (2**240, "about 1.76e72 paths"),
        pytest.param(10**5000, "about 1e5000 paths", id="huge"),
    ],
)
def test_how_many(count, text):
    assert plural(count, "path") == text


MODEL = """
from src import minigrad
weight = 2.0


@minigrad.compile
def scaled(x):
    return x * weight
"""


def test_in_a_checkout_a_neighbour_of_the_package_is_not_ours(tmp_path):
    """Imported as `src.minigrad`, what is ours begins with that; `src.model` is somebody else's."""
    pytest.importorskip("numpy")
    source = tmp_path / "src"
    source.mkdir()
    (source / "__init__.py").touch()
    (source / "minigrad").symlink_to(Path(minigrad.__file__).parent, target_is_directory=True)
    (source / "model.py").write_text(MODEL)
    program = """
from src import model
from src.minigrad.core.names import is_ours
assert is_ours("src.minigrad") and is_ours("src.minigrad.nn") and not is_ours("src.minigradient")
assert not is_ours("src.model") and not is_ours("src") and not is_ours("minigrad")
assert model.scaled(3.0).data == 6.0
model.weight = 5.0
print(model.scaled(3.0).data, model.scaled.cache_info())
"""
    environment = {**os.environ, "PYTHONPATH": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, "-c", program],
        check=False,
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
    )
    assert done.stdout.startswith("15.0 "), done.stdout + done.stderr


@pytest.mark.parametrize(
    ("labels", "expected"),
    [
        (["w", "b"], ["w", "b"]),
        (["", ""], ["p0", "p1"]),
        (["w", "", "w", "w"], ["w", "p1", "w#2", "w#3"]),
        (["w", "w", "w#2"], ["w", "w#2", "w#2#2"]),
        (["w#2", "w", "w"], ["w#2", "w", "w#3"]),
        (["p1", ""], ["p1", "p1#2"]),
        ([], []),
    ],
)
def test_parameters_are_called_by_label_or_place(labels, expected):
    values = [Value(1.0) for _ in labels]
    for value, label in zip(values, labels, strict=True):
        value.label = label
    assert parameter_names(values) == expected


@given(st.lists(st.sampled_from(["", "w", "w#2", "w#3", "p0", "p1", "w#2#2"])))
def test_names_of_parameters_are_never_there_twice(labels):
    values = [Value(1.0) for _ in labels]
    for value, label in zip(values, labels, strict=True):
        value.label = label
    found = parameter_names(values)
    assert len(set(found)) == len(found) == len(labels)
    assert parameter_names(values) == found


def test_many_parameters_of_one_label_are_named_in_linear_time():
    values = [Value(1.0) for _ in range(50_000)]
    for value in values:
        value.label = "w"
    assert parameter_names(values)[-1] == "w#50000"
