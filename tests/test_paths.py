"""A gradient as a sum over paths."""

from __future__ import annotations

import io
import json
import math
import re
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pictures import named, neuron, twice
from programs import call_minigrad, random_program, run
from rich.console import Console

import minigrad
from minigrad import Value, explain, grad
from minigrad.calculus import words
from minigrad.calculus.faults import FAULTS
from minigrad.calculus.paths import explain_all
from minigrad.core.graph import count_paths, paths, topological_order


def by_hand():
    """The diamond without a label on its result, as the documentation writes it."""
    a, b, c = Value(2.0, label="a"), Value(3.0, label="b"), Value(4.0, label="c")
    return (a * b + c) * (a - c), a, b, c


def printed(thing):
    """What rich writes of it."""
    stream = io.StringIO()
    Console(file=stream, width=200).print(thing)
    return stream.getvalue()


def ladder(rungs):
    """Doubling, `rungs` times: 2**rungs paths, each with product 1."""
    x = Value(1.0, label="x")
    y = x
    for _ in range(rungs):
        y = y + y
    return y, x


@pytest.mark.smoke
def test_the_diamond_in_one_line():
    result, a, b, c = by_hand()
    assert str(explain(result, a)) == "a: -6 (a → a*b → + → *) + 10 (a → a-c → *) = 4"
    assert str(b.explain(result)) == "b: -4 (b → a*b → + → *) = -4"
    assert str(c.explain(result)) == "c: -2 (c → + → *) - 10 (c → a-c → *) = -12"


def test_the_largest_term_comes_first_in_the_text():
    result, a, _, _ = by_hand()
    explanation = explain(result, a)
    assert [term.product for term in explanation.terms] == [10.0, -6.0]
    assert repr(explanation).splitlines() == [
        "a: 4, the sum of 2 paths to *",
        "  10  =  1 · 10       a → a-c → *",
        "  -6  =  3 · 1 · -2   a → a*b → + → *",
    ]


def test_an_operand_that_is_used_twice_has_two_paths():
    root = twice()
    assert str(explain(root, named(root)["a"])) == "a: 1 (a → b) + 1 (a → b) = 2"


@pytest.mark.smoke
def test_sixty_diamonds_answer_at_once():
    result, x = ladder(60)
    explanation = explain(result, x, top=3)
    assert explanation.paths == 2**60
    assert explanation.gradient == 2.0**60
    assert [term.product for term in explanation.terms] == [1.0] * 3
    assert len({term.positions for term in explanation.terms}) == 3  # three different paths
    assert explanation.rest_paths == 2**60 - 3
    assert explanation.rest == pytest.approx(2.0**60, rel=1e-15)
    assert "1,152,921,504,606,846,973 more paths" in explanation.text()
    assert json.loads(explanation.to_json())["paths"] == 2**60


def test_the_rest_is_added_up_not_subtracted():
    a = Value(1.0, label="a")
    assert explain(a * 0.7 + a * 0.1 + a * 0.3 + a * 0.0, a, top=3).rest == 0.0
    assert explain(a * 1e17 + a * 1.0 + a * -1e17, a, top=2).rest == 1.0
    x = Value(0.0, label="x")
    assert explain((x.sqrt() + x * 5.0) * 0.0, x, top=1).rest == 0.0


def test_counts_that_cannot_be_printed():
    result, x = ladder(20_000)
    explanation = explain(result, x)
    assert "about 3.98e6020 paths" in repr(explanation)
    assert "about 3.98e6020 more paths" in str(explanation)
    assert json.loads(explanation.to_json())["paths"] == "about 3.98e6020 paths"


def test_two_thousand_diamonds_overflow_honestly():
    result, x = ladder(2000)
    explanation = explain(result, x)
    assert explanation.paths == 2**2000
    assert explanation.gradient == math.inf
    assert json.loads(explanation.to_json())["gradient"] == "inf"


@given(st.integers(0, 10**6))
def test_against_all_paths_one_by_one(seed):
    program = random_program(seed, size=6)
    inputs = [Value(x) for x in program.inputs]
    result = run(program, inputs, call_minigrad)[-1]
    for variable in inputs:
        explanation = explain(result, variable, top=4)
        assert explanation.paths == count_paths(result, variable)
        if explanation.paths > 5000:
            continue
        products = []  # the oracle: walk every path
        for path in paths(result, variable):
            locals_ = [edge.node._local_grads[edge.position] for edge in path]
            products.append(math.prod(locals_))
        size = math.fsum(map(abs, products)) or 1.0
        largest = sorted(map(abs, products), reverse=True)[:4]
        assert [abs(term.product) for term in explanation.terms] == pytest.approx(largest)
        assert abs(explanation.gradient - math.fsum(products)) <= 1e-12 * size
        assert explanation.gradient == grad(result, variable)
        others = math.fsum(products) - math.fsum(term.product for term in explanation.terms)
        assert abs(explanation.rest - others) <= 1e-12 * size
        for term in explanation.terms:
            assert term.nodes[0] is variable
            assert term.nodes[-1] is result
            assert term.product == pytest.approx(math.prod(term.locals))


def test_all_nodes_at_once_is_each_node_alone():
    result = neuron()
    order = topological_order(result)
    together = explain_all(result, top=2)
    assert [str(e) for e in together] == [str(explain(result, node, top=2)) for node in order]


def test_some_variables_in_one_pass_is_each_of_them_alone(monkeypatch):
    xs = [Value(float(k), label=f"x{k}") for k in range(1, 8)]
    y = xs[0]
    for x in xs[1:]:
        y = (y * x + x).tanh()
    alone = [explain(y, x, top=3) for x in xs]
    room = sys.modules[explain.__module__]
    orders = []
    monkeypatch.setattr(
        room, "topological_order", lambda root: orders.append(root) or topological_order(root)
    )
    together = explain_all(y, 3, xs)
    assert [found.to_json() for found in together] == [found.to_json() for found in alone]
    assert len(orders) == 1


def test_no_path():
    result, *_ = by_hand()
    stranger = Value(1.0, label="z")
    explanation = explain(result, stranger)
    assert (explanation.paths, explanation.gradient, explanation.terms) == (0, 0.0, ())
    assert str(explanation) == "z: no path leads to *, so the gradient is 0"
    assert repr(explanation) == str(explanation)


def test_swapped_arguments_are_noticed():
    result, a, *_ = by_hand()
    assert str(result.explain(a)).endswith("(the other way there is: swap the two)")


def test_the_result_itself():
    result, *_ = by_hand()
    assert str(explain(result, result)) == "*: 1 (*) = 1"


def test_numbers_that_are_none():
    x = Value(0.0, label="x")
    explanation = explain(x.log() * 0.0, x)
    assert math.isnan(explanation.gradient)
    assert json.loads(explanation.to_json())["gradient"] == "nan"


def test_a_hand_written_rule_is_asked():
    a, b = Value(2.0, label="a"), Value(3.0, label="b")
    out = Value(6.0, (a, b), "mine")

    def rule():
        a.grad += 3.0 * out.grad
        b.grad += 2.0 * out.grad

    out._backward = rule
    assert str(explain(out * 10.0, a)) == "a: 30 (a → mine(a, b) → *) = 30"
    assert (a.grad, b.grad) == (0.0, 0.0)


def test_a_node_without_a_rule_cuts_the_paths_off():
    a = Value(2.0, label="a")
    odd = Value(4.0, (a.tanh(),), "odd")
    assert explain(odd * 3.0, a).gradient == 0.0
    assert [e.paths for e in explain_all(odd * 3.0)] == [0, 0, 1, 1, 1]


def test_as_json_and_as_a_table():
    result, a, *_ = by_hand()
    explanation = explain(result, a, top=1)
    assert json.loads(explanation.to_json()) == {
        "variable": "a",
        "result": "*",
        "gradient": 4.0,
        "paths": 2,
        "terms": [{"path": ["a", "a-c", "*"], "local": [1.0, 10.0], "product": 10.0}],
        "rest": {"paths": 1, "sum": -6.0},
    }
    stream = io.StringIO()
    Console(file=stream, width=100).print(explanation)
    text = stream.getvalue()
    assert "a → a-c → *" in text
    assert "1 more path" in text
    assert "2 paths in all" in text


def test_labels_are_not_markup():
    x = Value(2.0, label="[red]x[/red]")
    stream = io.StringIO()
    Console(file=stream, width=100).print(explain(x * x, x))
    assert "[red]x[/red]" in stream.getvalue()


def test_long_paths_are_shortened():
    x = Value(1.0, label="x")
    y = x
    for _ in range(100):
        y = y.tanh()
    line = str(explain(y, x))
    assert "… 89 more …" in line
    assert len(line) < 200


@pytest.mark.parametrize(
    ("arguments", "error", "fragment"),
    [
        ((1.0, Value(1.0)), TypeError, "explain\\(result, …\\): got float"),
        ((Value(1.0), "a"), TypeError, "explain\\(…, variable\\): got str"),
        ((Value(1.0), Value(1.0), 0), ValueError, "top=0"),
    ],
)
def test_mistakes(arguments, error, fragment):
    with pytest.raises(error, match=fragment):
        explain(*arguments)


def test_explanations_in_spanish_have_no_english_words():
    a, b = Value(2.0, label="a"), Value(3.0, label="b")
    result = (a * b + a) * a  # 2*a*b + 2*a
    other = Value(1.0, label="z")
    assert a.explain(result, lang="es").text().startswith("a: 16, la suma de 3 caminos hasta *")
    assert str(a.explain(result, top=1, lang="es")).endswith("(2 caminos más) = 16")
    assert str(other.explain(result, lang="es")) == (
        "z: ningún camino lleva a *, así que el gradiente es 0"
    )
    assert str(result.explain(a, lang="es")).endswith("(al revés sí lo hay: intercámbialos)")
    chain = a
    for _ in range(20):
        chain = chain + chain
    said = a.explain(chain, top=2, lang="es")
    for text in (repr(said), said._repr_html_(), printed(said)):
        assert "caminos" in text
        assert not re.search(r"\b(paths?|more|product|local derivatives|gradient of)\b", text)
    with pytest.raises(ValueError, match=r"explain: lang='fr'; choose of en, es"):
        a.explain(result, lang="fr")


def test_phrases_have_the_same_keys_and_fields_in_every_language():
    english = words.PHRASES["en"]
    for phrases in words.PHRASES.values():
        assert phrases.keys() == english.keys()
        for key, text in phrases.items():
            assert sorted(re.findall(r"{\w+}", text)) == sorted(re.findall(r"{\w+}", english[key]))
    assert minigrad.broken.faults("es").keys() == minigrad.broken.faults().keys() == FAULTS.keys()
