"""`{predict}` and `{exercise}`: answers and hints are folded, and nothing else is."""

from __future__ import annotations

import re

import pytest
from books import page

pytestmark = pytest.mark.site


def plain(part):
    return re.sub(r"<[^>]*>|\s+", " ", part)


def texts(html):
    """Return what is shown at once, and what is folded away."""
    body = re.search(r"<h1>.*?</h1>(.*)", html.split('<div class="sphinxsidebar')[0], re.S)[1]
    folded = " ".join(re.findall(r"<details.*?</details>", body, re.S))
    return plain(re.sub(r"<details.*?</details>", "", body, flags=re.S)), plain(folded)


def test_a_question_has_its_answer_folded(tmp_path):
    text = (
        ":::{predict} What is `a.grad` after $b = a + a$?\nTwo.\n\n```pycon\n>>> 2\n2\n\n```\n:::"
    )
    html, warned = page(text, tmp_path)
    assert warned == ""
    shown, folded = texts(html)
    assert "Predict first" in shown
    assert "What is" in shown
    assert "Two" not in shown
    assert "The answer" in folded
    assert "Two." in folded
    assert "highlight-pycon" in html
    assert "<math" in html


def test_an_exercise_says_how_it_is_checked_and_folds_its_hint(tmp_path):
    text = ":::{exercise} 07\nMake it add.\n\nTwice.\n\nHint: look for `=`.\n\nOr ask.\n:::"
    html, warned = page(text, tmp_path)
    assert warned == ""
    shown, folded = texts(html)
    assert "Make it add. Twice." in " ".join(shown.split())
    assert "minigrad lab check 07" in " ".join(shown.split())
    assert "look for" not in shown
    assert "A hint Look for = . Or ask." in " ".join(folded.split())
    assert 'id="exercise-07"' in html


@pytest.mark.parametrize("has_engine", [True, False])
def test_an_exercise_that_no_page_can_grade_says_why(has_engine, tmp_path):
    text = ":::{exercise} 12\nDo.\n:::\n\n:::{exercise} 11\nDo.\n:::"
    html, warned = page(text, tmp_path, minigrad_has_engine=has_engine)
    assert warned == ""
    assert html.count("a browser has no NumPy") == 1
    said = html.index("a browser has no NumPy")
    assert html.index("exercise-12") < said < html.index("exercise-11")
    assert ("Or do it here" in html) is has_engine


def test_in_spanish(tmp_path):
    text = (
        ":::{exercise} derivada\nHaz algo.\n\nPista: mira.\n:::\n\n:::{predict} ¿Qué?\nNada.\n:::"
    )
    shown, folded = texts(page(text, tmp_path, language="es")[0])
    assert "Ejercicio" in shown
    assert "Predice primero" in shown
    assert "Una pista Mira." in " ".join(folded.split())
    assert "La respuesta Nada." in " ".join(folded.split())


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (":::{predict} What?\n:::", "write the answer"),
        (":::{exercise} 07\n:::", "what is to be done"),
    ],
)
def test_what_is_missing_is_asked_for(text, why, tmp_path):
    assert why in page(text, tmp_path)[1]
