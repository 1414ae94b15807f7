"""From graphs to scenes: whole, collapsed, cut; and scenes as text and JSON."""

from __future__ import annotations

import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pictures import diamond, neuron, twice
from programs import call_minigrad, random_program, run

import minigrad
from minigrad import Value, loss, nn, view
from minigrad.core.graph import edges, topological_order
from minigrad.view import scene_of
from minigrad.view.from_graph import WALK


def training(points):
    """A hinge loss over some points, on shared weights."""
    model = nn.MLP(2, [3, 1], seed=1)
    data = [[math.cos(k), math.sin(k)] for k in range(points)]
    total = loss.hinge([model(x) for x in data], [1 - 2 * (k % 2) for k in range(points)])
    total.backward()
    return model, total


def chain(length, *, step=lambda x: (x + 1.0).tanh()):
    x = Value(0.5, label="x")
    for _ in range(length):
        x = step(x)
    return x


@given(st.integers(0, 10**6))
def test_a_whole_scene_is_the_graph(seed):
    program = random_program(seed)
    root = run(program, [Value(x) for x in program.inputs], call_minigrad)[-1]
    scene = scene_of(root)
    order = topological_order(root)
    assert scene.is_complete
    assert not scene.notice
    assert [unit.data.low for unit in scene.units] == [node.data for node in order]
    assert [unit.op for unit in scene.units] == [node._op for node in order]
    place = {id(node): k for k, node in enumerate(order)}
    assert [(a.source, a.target, a.position) for a in scene.arrows] == [
        (place[id(e.operand)], place[id(e.node)], e.position) for e in edges(root)
    ]
    assert all(arrow.source < arrow.target for arrow in scene.arrows)


def test_a_scene_is_a_snapshot():
    root = diamond()
    scene = scene_of(root)
    root.backward()
    assert {unit.grad for unit in scene.units} == {(0.0, 0.0)}


def test_two_arrows_for_the_same_operand():
    assert [(a.source, a.position) for a in scene_of(twice()).arrows] == [(0, 0), (0, 1)]


def test_order_matters_for_some_operations_only():
    a, b = Value(1.0), Value(2.0)
    ordered = [scene_of(root).units[-1].is_ordered for root in (a - b, a / b, a**b, 2.0 - a)]
    assert ordered == [True] * 4
    free = [scene_of(root).units[-1].is_ordered for root in (a + b, a * b, a**2, -a, a.tanh())]
    assert free == [False] * 5


# ---- large graphs -------------------------------------------------------------------------------


def test_repeats_are_counted_right():
    model, total = training(40)
    scene = scene_of(total, limit=100)
    order = topological_order(total)
    assert len(order) > 1000
    assert len(scene.units) < 40
    assert sum(unit.count for unit in scene.units) == len(order)
    assert scene.notice == (
        f"{len(order):,} nodes and {len(edges(total)):,} arrows drawn as {len(scene.units)} boxes "
        f"and {len(scene.arrows)} arrows; ×n stands for n alike."
    )
    # The weights of the first layer are six, of the second three; each has a unit of its own,
    # apart from the inputs, of which there are forty times two, drawn for each of three neurons.
    counts = [unit.count for unit in scene.units if not unit.op]
    assert {6, 3, 240} <= set(counts)
    weights = [neuron.w for layer in model.layers for neuron in layer.neurons]
    first = [w.data for neuron in weights[:3] for w in neuron]
    spans = {unit.count: unit.data for unit in scene.units if not unit.op}
    assert spans[6] == (min(first), max(first))


def test_the_picture_of_many_points_does_not_grow():
    sizes = {len(scene_of(training(n)[1], limit=100).units) for n in (30, 60, 90)}
    assert len(sizes) == 1


def test_a_long_sum_is_one_unit():
    x = Value(1.0, label="x")
    total = x
    for _ in range(999):
        total = total + 1.0
    scene = scene_of(total)
    assert sorted((unit.op, unit.count) for unit in scene.units) == [("", 1), ("", 999), ("+", 999)]


def test_spans_are_over_all_nodes_that_a_unit_stands_for():
    a = Value(1.01, label="a")
    power = a
    for _ in range(600):
        power = power * a
    unit, result = [unit for unit in scene_of(power.sqrt()).units if unit.op]
    assert unit.count == 600
    assert unit.data.low == pytest.approx(1.01**2)
    assert unit.data.high == pytest.approx(1.01**601)
    assert result.data.low == result.data.high == pytest.approx(1.01**300.5)


def test_the_result_is_one_number():
    total = Value(0.5)
    for _ in range(600):
        total = total + 1.0
    (unit,) = [unit for unit in scene_of(total).units if unit.op]
    assert (unit.count, unit.data) == (600, (600.5, 600.5))
    total.label = "out"
    assert [(u.label, u.count) for u in scene_of(total).units if u.op] == [("", 599), ("out", 1)]


@pytest.mark.parametrize("step", [lambda x, y: x - y, lambda x, y: y - x, lambda x, y: x / y])
def test_operands_that_matter_are_never_mixed(step):
    x, y = Value(1.0, label="x"), Value(1.5, label="y")
    root = x
    for _ in range(600):
        root = step(root, y)
    scene = scene_of(root)
    assert scene.notice.startswith("602 nodes and 1,200 arrows; here")
    assert {unit.label for unit in scene.units} <= {"", "y"}


def test_a_name_is_not_an_identity():
    total = Value(0.0)
    for k in range(600):
        if k == 300:  # calls itself +, and is not
            odd = Value(total.data - 1.0, (total, Value(1.0)), "+")
            odd._backward = lambda: None
            total = odd
        total = total + 1.0
    counts = sorted(unit.count for unit in scene_of(total, limit=50).units if unit.op)
    assert counts == [1, 300, 300]


def test_fans_are_collapsed_too():
    a = Value(1.0, label="a")
    scene = scene_of(minigrad.sum([a] * 12_000))
    assert (len(scene.units), len(scene.arrows)) == (2, 1)
    assert not scene.is_complete
    assert scene.notice.startswith("2 nodes and 12,000 arrows drawn as 2 boxes and 1 arrow;")
    leaves = [Value(float(k)) for k in range(60)]
    sums = [minigrad.sum(leaves[k:]) * minigrad.mean(leaves[: k + 1]) for k in range(60)]
    many = scene_of(minigrad.sum(sums), limit=100)
    assert len(many.arrows) <= 1200


def test_a_limit_beyond_the_walk_holds():
    root = chain(WALK // 2 + 500, step=lambda x: x.tanh().sin())
    assert len(scene_of(root, limit=2 * WALK).units) == WALK + 1001


def test_a_cut_keeps_the_places_of_operands():
    deep = Value(3.0)
    for _ in range(30):
        deep = deep.tanh() + 1.0
    scene = scene_of(deep - Value(5.0), limit=2)
    assert [(arrow.position, scene.units[arrow.source].op) for arrow in scene.arrows] in (
        [(0, "+")],
        [(1, "")],
    )
    assert scene.units[-1].hidden == 1


def test_a_node_without_a_name_for_its_operation():
    a = Value(2.0, label="a")
    scene = scene_of(Value(1.0, (a,), ""))
    assert [unit.is_leaf for unit in scene.units] == [True, False]
    assert scene.description() == "Expression graph of a number: 1 leaf and 1 operation."
    assert view.to_text(Value(1.0, (a,), "")).splitlines()[0] == "result   data 1   grad 0"


def test_collapsed_arrows_point_forward():
    scene = scene_of(training(40)[1], limit=100)
    assert all(arrow.source < arrow.target for arrow in scene.arrows)
    assert scene.units[-1].count == 1  # the result


def test_what_repeats_in_depth_is_cut_with_a_notice():
    root = chain(1000)
    scene = scene_of(root, limit=50)
    assert len(scene.units) == 50
    assert scene.notice == (
        "3,001 nodes and 3,000 arrows; here are the 50 nodes nearest to the result."
    )
    assert scene.units[-1].data.low == root.data
    assert sum(unit.hidden for unit in scene.units) > 0


def test_a_graph_beyond_measure_is_not_walked():
    root = chain(WALK)  # three nodes a step
    scene = scene_of(root)
    assert scene.notice.startswith(f"More than {WALK:,} nodes")
    assert len(scene.units) == 500
    # A look gives each number a leaf of its own; far from the result nobody has looked.
    far = root
    for _ in range(2 * WALK - 1):
        far = far._links()[0]
    assert far._op == "+"
    assert len(far._own_links()) == 1
    assert len(root._links()[0]._own_links()) == 2


def test_everything_is_drawn_on_demand():
    assert len(scene_of(chain(1000), limit=None).units) == 3001


@pytest.mark.parametrize("limit", [0, -1, 2.5, "all"])
def test_a_bad_limit(limit):
    with pytest.raises(ValueError, match="limit="):
        scene_of(twice(), limit)


def test_spans_of_nan():
    xs = [Value(math.nan if k == 3 else 1.0) for k in range(600)]
    total = xs[0].tanh()
    for x in xs[1:]:
        total = total + x.tanh()
    scene = scene_of(total, limit=100)
    assert [str(unit.data.low) for unit in scene.units if not unit.op] == ["nan"]


def test_labelled_and_unlabelled_are_not_mixed():
    terms = [Value(1.0, label="w" if k % 2 else "") * 2.0 for k in range(600)]
    total = terms[0]
    for term in terms[1:]:
        total = total + term
    labels = sorted(unit.label for unit in scene_of(total).units if not unit.op)
    assert labels == ["", "", "", "w"]  # two kinds of factors, and the 2.0 of each


# ---- text and JSON ----------------------------------------------------------------------------


@pytest.mark.smoke
def test_the_tree():
    root = diamond()
    root.backward()
    assert view.to_text(root).splitlines() == [
        "L = *   data -20   grad 1",
        "├── +   data 10   grad -2",
        "│   ├── *   data 6   grad -2",
        "│   │   ├── a   data 2   grad 4",
        "│   │   └── b   data 3   grad -4",
        "│   └── c   data 4   grad -12",
        "└── -   data -2   grad 10",
        "    ├── a   data 2   grad 4",
        "    └── c   data 4   grad -12",
    ]


def test_what_is_shared_is_written_once():
    a = Value(2.0, label="a")
    b = a.tanh()
    lines = view.to_text(b * b).splitlines()
    assert lines[1].startswith("├── tanh   data")
    assert lines[-1] == "└── tanh (above)"


def test_deep_trees_end():
    lines = view.to_text(chain(80), limit=None).splitlines()
    cut = [line for line in lines if line.endswith("└── …")]
    assert len(cut) == 1
    assert len(cut[0]) == 4 * 60 + len("└── …")


def test_notices_are_in_the_text():
    assert view.to_text(chain(1000), limit=20).splitlines()[-1].startswith("3,001 nodes")


@pytest.mark.smoke
def test_json_holds_the_scene():
    root = neuron()
    root.backward()
    scene = json.loads(view.to_json(root))
    assert [unit["label"] for unit in scene["units"] if not unit["op"]] == [
        "x1", "w1", "x2", "w2", "b",
    ]  # fmt: skip
    assert scene["units"][0] == {
        "id": 0, "label": "x1", "op": "", "data": [2.0, 2.0],
        "grad": [scene["units"][0]["grad"][0]] * 2, "count": 1, "hidden": 0, "leaf": True,
        "ordered": False,
    }  # fmt: skip
    assert scene["units"][0]["grad"][0] == pytest.approx(-1.5)
    assert scene["arrows"][0] == {"source": 0, "target": 2, "position": 0}


def test_json_of_numbers_that_are_none():
    scene = json.loads(view.to_json(Value(math.inf) - Value(math.inf)))
    assert [unit["data"] for unit in scene["units"]] == [["inf"] * 2, ["inf"] * 2, ["nan"] * 2]
