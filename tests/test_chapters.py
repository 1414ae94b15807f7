"""The exercises in a page: graded as by the command, in the same process."""

from __future__ import annotations

import sys

from answers import answers, written

from minigrad.lab.chapters import find
from minigrad.playground import answer


def asked(number, text, lang="en"):
    return answer({"kind": "chapter-check", "chapter": str(number), "text": text, "lang": lang})


def test_a_page_says_what_the_command_says():
    chapter = find("5")
    by_mistake = dict(answers(5))
    right = asked(5, written(chapter.starter(), by_mistake[""]))
    assert (right["state"], right["printed"]) == (
        "solved", "Chapter 5: solved. All 7 numbers are right.\n",
    )  # fmt: skip
    wrong = asked(5, written(chapter.starter(), by_mistake["no_out_grad"]))
    assert wrong["mistake"] == "no_out_grad"
    assert "a*b passes on to a: -3; right: -15\n" in wrong["printed"]
    assert "Hint: Your rule of `*` gives the slope of the product alone." in wrong["printed"]
    begun = asked(5, chapter.starter("es"), "es")
    assert begun["printed"].startswith("Capítulo 5: aún sin escribir.\nFalta por escribir")
    assert "engine" not in sys.modules


def test_what_is_no_chapter_is_told():
    assert asked(99, "x = 1")["error"].startswith("chapter: '99' is none of 1, 2, 3, ")
    assert asked(1, "x = (")["state"] == "failed"
