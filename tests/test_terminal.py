"""How characters are written where the encoding lacks them."""

from __future__ import annotations

import codecs
import re
from pathlib import Path

import pytest

import minigrad
from minigrad import terminal


@pytest.fixture(autouse=True)
def handler():
    codecs.register_error("minigrad.spell", terminal._spelled)


@pytest.mark.parametrize(
    ("text", "spelled"),
    [
        ("a → b", "a -> b"),
        ("x² ≠ y", "x^2 != y"),
        ("¿Qué ves? Número", "Que ves? Numero"),
        ("ﬁ\N{SNOWMAN}\udce9\U0001f600", "fi???"),  # also half a pair, as in the name of a file
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
    pictures = set(re.findall("[\u2400-\u2421]", "".join(ours)))  # of control characters
    assert len(ours) > 10
    unreadable = {c for c in ours - pictures if "?" in c.encode("ascii", "minigrad.spell").decode()}
    assert unreadable == set()
