"""`{player}`: drawn when the site is built, as minigrad draws it, and played where scripts run."""

from __future__ import annotations

import base64
import json
import re
import zlib

import pytest
from books import module, page

from minigrad.errors import ExpressionError

pytestmark = pytest.mark.site


def payload(html):
    told = re.search(r'<script type="application/json">(.*?)</script>', html, re.S)[1]
    return json.loads(zlib.decompress(base64.b64decode(json.loads(told))))


def test_an_expression_with_its_numbers_is_played():
    players = module("players")
    root = players.root_of("(a*b + c) * (a - c); a=2 b=3 c=4")
    # (a*b + c) * (a - c) = 10 * -2; every leaf has its gradient already.
    assert root.data == -20.0
    html = players.element(root, "es")
    units = payload(html)["play"]["units"]
    assert [unit["name"] for unit in units[:2]] == ["a", "b"]
    assert "<svg " in html  # what one sees without scripts
    assert 'lang="es"' in html
    assert " compact" in html
    assert " compact" not in players.element(root, is_full=True)


def test_statements_have_semicolons_too():
    assert module("players").root_of("n = x*w + b; tanh(n); x=2 w=-3 b=6").data == 0.0


@pytest.mark.parametrize("text", ["a*b", "a*b; a = 2", "a=2 b=3", "a*b; a=2 b=3 c"])
def test_numbers_that_are_missing_are_asked_for(text):
    with pytest.raises(ExpressionError, match="end it with the numbers"):
        module("players").root_of(text)


def test_a_program_ends_with_the_value_to_look_at():
    root_of_program = module("players").root_of_program
    root = root_of_program("from minigrad import Value\na = Value(3.0)\na * a")
    assert [operand.grad for operand in root._operands] == [6.0, 6.0]
    with pytest.raises(ExpressionError, match="the last line"):
        root_of_program("a = 3")
    with pytest.raises(ExpressionError, match="ends with int"):
        root_of_program("3")


def test_the_script_is_no_module_because_those_do_not_load_from_files():
    text = module("players").script()
    assert text.startswith("(() => {")
    assert not re.search(r"^\s*(export|import)\b", text, re.M)
    assert 'customElements.define("minigrad-player"' in text


def test_in_a_page(tmp_path):
    text = "```{player}\n:fault: overwrite\n:start: backward\na*a; a=3\n```"
    html, warned = page(text, tmp_path)
    assert warned == ""
    assert 'id="player-1"' in html
    assert 'fault="overwrite"' in html
    assert html.index("<svg ") < html.index('<script type="application/json">')
    assert "player.js" in html


def test_a_mistake_names_the_page_and_the_line(tmp_path):
    _, warned = page("```{player}\na*; a=3\n```", tmp_path)
    assert "index.md:3" in warned
    assert "{player}: the expression ends where a number or a name is expected" in warned
