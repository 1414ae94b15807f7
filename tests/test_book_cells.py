"""`{try}`: programs that run in a page; without the playground they are code blocks."""

from __future__ import annotations

import re
from html import unescape

import pytest
from books import module, page

pytestmark = pytest.mark.site
SESSION = ">>> a = 2\n>>> for k in range(2):\n...     a += k\n>>> a\n3"


def test_a_session_becomes_the_program_that_it_is():
    program_of = module("cells").program_of
    assert program_of(SESSION) == "a = 2\nfor k in range(2):\n    a += k\na\n"
    assert program_of("a = 2\n\nprint(a)") == "a = 2\n\nprint(a)\n"


def test_without_an_engine_it_is_a_code_block_with_a_sentence(tmp_path):
    html, warned = page(f"```{{try}}\n{SESSION}\n```", tmp_path)
    assert warned == ""
    assert "minigrad-cell" not in html
    assert "paste it into a Python with minigrad" in html
    assert "highlight-pycon" in html


def test_with_an_engine_the_script_finds_the_program(tmp_path):
    text = '```{try}\nprint("<&>")\n```'
    html, _ = page(text, tmp_path, minigrad_has_engine=True, language="es")
    (program,) = re.findall(r'<minigrad-cell class="mg-try" data-program="([^"]*)">', html)
    assert unescape(program) == 'print("<&>")\n'
    assert "pégalo en un Python" in html  # for those without scripts


def test_an_empty_one_is_refused(tmp_path):
    _, warned = page("```{try}\n```", tmp_path)
    assert "write a program into it" in warned


def test_every_phrase_is_there_in_both_languages():
    for words in (module("cells").WORDS, module("questions").WORDS):
        assert set(words["en"]) == set(words["es"])
