"""From graphs to scenes: whole, collapsed, cut; and scenes as text and JSON."""

from __future__ import annotations

import functools
import json
import math
import operator
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pictures import diamond, lecture, neuron, recurrent, twice
from programs import call_minigrad, random_program, run

import minigrad
from minigrad import Value, log_softmax, loss, nn, softmax, view
from minigrad.core.graph import edges, topological_order
from minigrad.core.names import last_part
from minigrad.view import scene_of
from minigrad.view.from_graph import LIMIT, WALK, drawing_of, folded


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
    scene = scene_of(total, fold=True)
    order = topological_order(total)
    assert len(order) > 1000
    assert sum(unit.count for unit in scene.units) == len(order)
    assert scene.notice == (
        f"{len(order):,} nodes and {len(edges(total)):,} arrows drawn as {len(scene.units)} boxes "
        "and 1 arrow; ×n stands for n alike; open=[…] opens boxes by name, play(…) with a click."
    )
    boxes = [(unit.box, unit.times) for unit in scene.units]
    assert boxes == [("MLP", 40), ("hinge", 1)]
    inner = scene_of(total, limit=500, open=["layer0.neuron1"], is_flat=True)
    weights = {unit.data.low for unit in inner.units if unit.label == "w1"}
    assert model.layers[0].neurons[1].w[1].data in weights
    assert sum(unit.count for unit in inner.units) == len(order)


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


def test_a_folded_result_shows_its_number_and_not_a_range():
    a = Value(1.01, label="a")
    power = a
    for _ in range(600):
        power = power * a
    unit, result = [unit for unit in scene_of(power.sqrt()).units if unit.op]
    assert unit.count == 600
    assert unit.data == (power.data, power.data)
    assert result.data.low == result.data.high == pytest.approx(1.01**300.5)


def test_the_result_is_one_number():
    total = Value(0.5)
    for _ in range(600):
        total = total + 1.0
    (unit,) = [unit for unit in scene_of(total).units if unit.op]
    assert (unit.count, unit.data) == (600, (600.5, 600.5))
    total.label = "out"
    (unit,) = [unit for unit in scene_of(total).units if unit.op]
    assert (unit.label, unit.count, unit.data) == ("out", 600, (600.5, 600.5))
    svg = view.to_svg(total)
    assert ">out</text>" in svg  # one value, of many additions
    assert ">+ ×600</text>" in svg


@pytest.mark.parametrize("step", [lambda x, y: y - x, lambda x, y: x / y])
def test_operands_that_matter_are_never_mixed(step):
    x, y = Value(1.0, label="x"), Value(1.5, label="y")
    root = x
    for _ in range(600):
        root = step(root, y)
    scene = scene_of(root, limit=None, open=["steps1-32"], is_flat=True)
    assert sum(unit.count for unit in scene.units) == 602
    opened = [unit for unit in scene.units if unit.op]
    assert len(opened) == 32
    assert all(unit.count == 1 and unit.is_ordered for unit in opened)


def test_what_is_taken_away_term_by_term_is_one_unit():
    x, y = Value(1.0, label="x"), Value(1.5, label="y")
    root = x
    for _ in range(600):
        root = root - y
    scene = scene_of(root)
    assert [(unit.label, unit.op, unit.count) for unit in scene.units] == [
        ("x", "", 1), ("y", "", 1), ("", "-", 600),
    ]  # fmt: skip
    assert sorted((arrow.source, arrow.position) for arrow in scene.arrows) == [(0, 0), (1, 1)]


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
    scene = scene_of(deep - Value(5.0), limit=2, fold=False)
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
    scene = scene_of(training(40)[1], limit=100, is_flat=True)
    assert all(arrow.source < arrow.target for arrow in scene.arrows)
    assert scene.units[-1].count == 1  # the result


def test_what_repeats_in_depth_folds_by_step():
    root = chain(1000)
    scene = scene_of(root)
    assert [unit.box for unit in scene.units][:2] == ["steps1-32", "steps33-64"]
    assert sum(unit.count for unit in scene.units) == 3001
    assert [(a.source, a.target) for a in scene.arrows] == [(k, k + 1) for k in range(31)]
    assert scene.units[-1].data == (root.data, root.data)
    one = scene_of(root, open=["steps1-32.step2"], is_flat=True)
    assert [unit.op for unit in one.units if unit.op] == ["+", "tanh"]


def test_what_does_not_fold_is_cut_with_a_notice():
    root = chain(1000)
    scene = scene_of(root, limit=50, fold=False)
    assert len(scene.units) == 50
    assert scene.notice == (
        "3,001 nodes and 3,000 arrows; here are the 50 nodes nearest to the result; "
        "a larger limit draws more."
    )
    assert scene.units[-1].data.low == root.data
    assert sum(unit.hidden for unit in scene.units) > 0


def test_a_graph_beyond_measure_is_not_walked():
    root = chain(WALK)  # three nodes a step
    scene = scene_of(root)
    assert scene.notice.startswith(f"More than {WALK:,} nodes")
    assert len(scene.units) == 80
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
    scene = scene_of(total, open=["dot"], is_flat=True)
    labels = sorted(unit.label for unit in scene.units if not unit.op)
    assert labels == ["", "", "", "w"]  # two kinds of factors, and the 2.0 of each


# ---- boxes ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("points", [4, 100])
def test_the_lectures_loss_is_nine_neurons_whoever_wrote_them(points):
    root = lecture(points)
    scene = scene_of(root)
    neurons = [unit for unit in scene.units if unit.box]
    assert len(scene.units) <= 80
    assert [unit.times for unit in neurons] == [points] * 9
    assert sum(unit.count for unit in scene.units) == len(topological_order(root))
    assert scene.units[-1].data == (root.data, root.data)
    if points == 4:
        assert len(topological_order(root)) == 398
        assert len(scene.arrows) == 16 + 4 + 5


def test_layers_and_neurons_are_boxes_in_boxes():
    model = nn.MLP(3, [4, 4, 1], activation="tanh", output="tanh", seed=1)
    root = loss.mse([model([0.1 * k, 1.0, -0.5]) for k in range(4)], [1.0, -1.0, -1.0, 1.0])
    (mlp,) = [unit for unit in scene_of(root).units if unit.inside]
    layers = [unit for unit in mlp.inside.units if unit.box]
    assert [unit.box for unit in layers] == ["MLP.layer0", "MLP.layer1", "MLP.layer2"]
    assert [unit.box for unit in layers[0].inside.units] == [
        f"MLP.layer0.neuron{k}" for k in range(4)
    ]
    ports = [unit.label for unit in layers[1].inside.units if unit.is_port]
    assert ports == [f"neuron{k}" for k in range(4)]
    everything = scene_of(root, limit=None, open=["MLP", "layer0", "neuron0"]).everything()
    assert sum(unit.count for unit in everything) == len(topological_order(root))


@pytest.mark.parametrize("points", [1, 40])
def test_inputs_and_outputs_of_a_network_have_their_names_in_pictures(points):
    model = nn.MLP(2, [2, 1], seed=1)
    root = sum((model([0.1 * k + 0.5, Value(2.0)]) - 1.0) ** 2 for k in range(points))
    scene = scene_of(root, open=["neuron0", "layer0", "MLP"] if points > 1 else ())
    named = [unit.label for unit in scene.everything() if unit.label and not unit.box]
    assert named.count("x0") == 2  # a number, which each neuron has its own leaf for
    assert {"x0", "x1", "w0", "w1", "b", "neuron0", "out"} <= set(named)
    assert "neuron0 = ReLU" in view.to_text(root, fold=False, limit=None)


@given(st.integers(0, 10**6), st.booleans())
@settings(max_examples=30)
def test_folded_counts_are_of_distinct_nodes_and_arrows_are_edges(seed, is_open):
    program = random_program(seed)
    root = run(program, [Value(x) for x in program.inputs], call_minigrad)[-1]
    order = topological_order(root)
    folding, opened = folded(order, None)
    scene = folding.scene(opened if is_open else set(), is_flat=True)
    assert sum(unit.count for unit in scene.units) == len(order)
    assert all(arrow.source < arrow.target for arrow in scene.arrows)
    assert scene.units[-1].data.low == pytest.approx(root.data, nan_ok=True)
    nested = folding.scene(opened if is_open else set())
    assert sum(unit.count for unit in nested.everything()) == len(order)


def test_softmax_and_logsumexp_by_hand_are_known():
    logits = [(Value(0.1 * k, label=f"x{k}") * 2.0).tanh() for k in range(3)]
    powers = [logit.exp() for logit in logits]
    total = powers[0] + powers[1] + powers[2]
    shares = [power / total for power in powers]
    root = shares[0].log() * shares[1] * shares[2]
    (box,) = [unit for unit in scene_of(root, fold=True).units if unit.box]
    assert (box.label, box.count) == ("softmax", 8)
    (box,) = [unit for unit in scene_of(total.log() * 2.0, fold=True).units if unit.box]
    assert (box.label, box.count) == ("logsumexp", 6)


def test_a_recurrent_network_folds_by_step_and_weights_have_one_arrow():
    scene = scene_of(recurrent())
    assert [unit.box for unit in scene.units if unit.box] == [f"step{k + 1}" for k in range(20)]
    assert {unit.note for unit in scene.units if not unit.box} == {"in 20 steps"}
    assert len(scene.arrows) == 19 + 3


def test_small_graphs_are_whole_unless_somebody_folds_them():
    assert scene_of(neuron()).is_complete
    (box,) = scene_of(neuron(), fold=True).units
    assert (box.label, box.count) == ("neuron", 10)


@pytest.mark.parametrize("option", ["open", "fold"])
def test_an_unknown_box_is_refused_with_those_there_are(option):
    with pytest.raises(ValueError, match=f"{option}='layer9': there is no such box; there are neu"):
        scene_of(lecture(), **{option: ["layer9"]})
    with pytest.raises(ValueError, match="this graph has no boxes"):
        scene_of(Value(1.0) * 2.0, **{option: ["layer9"]})


def attention(size):
    """Some numbers that look at each other, once."""
    rows = [[Value(math.sin(size * i + j)) for j in range(size)] for i in range(size)]
    weights = [[Value(math.cos(i - 2 * j)) for j in range(size)] for i in range(size)]
    keys = [[minigrad.dot(w, row) for w in weights] for row in rows]
    shares = [softmax([minigrad.dot(row, key) for key in keys]) for row in rows]
    return minigrad.sum(
        minigrad.dot(share, [row[j] for row in rows]) for share in shares for j in range(size)
    )


def test_a_box_around_everything_does_not_keep_repeats_apart():
    """What is drawn once without a scope is drawn once in it, too."""
    bare, _ = folded(topological_order(attention(7)), LIMIT)
    with minigrad.scope("attention"):
        total = attention(7)
    inside, _ = folded(topological_order(total), LIMIT)
    assert len(inside.kinds.members) == len(bare.kinds.members)
    assert len(scene_of(total, fold=True).units) == 1
    opened = scene_of(total, fold=True, open=["attention"])
    assert len(opened.everything()) <= LIMIT


class Each(nn.Module):
    """A module that calls another one for each point."""

    def __init__(self):
        self.mlp = nn.MLP(2, [4, 1], seed=1)

    def __call__(self, points):
        return [self.mlp(point) for point in points]


@pytest.mark.parametrize(("calls", "points"), [(1, 8), (3, 8), (8, 1)])
def test_a_box_counts_the_calls_that_it_stands_for(calls, points):
    each = Each()
    made = [each([[float(k), float(c)] for k in range(points)]) for c in range(calls)]
    flat = [value for found in made for value in found]
    total = loss.mse(flat, [1.0] * len(flat))
    folding, _ = folded(topological_order(total), LIMIT)
    times = {name: box.times for name, box in folding.boxes.items()}
    inside = "Each.mlp" if points > 1 else "Each"  # where the one is all of the other
    assert times["Each"] == calls
    assert times[inside] == times[f"{inside}.layer0.neuron2"] == calls * points
    assert ("Each.mlp" in times) == (points > 1)
    (unit,) = (u for u in scene_of(total, fold=True).units if u.label == "Each")
    assert unit.many == (f"×{calls}" if calls > 1 else "")


@pytest.mark.parametrize("target", range(4))
def test_boxes_stand_in_the_order_in_which_they_were_made(target):
    """Also if the loss takes another one of them first."""
    model = nn.MLP(2, [5, 4], seed=1, activation="tanh")
    total = loss.cross_entropy([model([1.0, 2.0])], [target])
    folding, _ = folded(topological_order(total), LIMIT)
    for layer, size in (("MLP.layer0", 5), ("MLP.layer1", 4)):
        units = folding.insides(LIMIT)[layer].scene.units
        assert [u.label for u in units if u.box] == [f"neuron{k}" for k in range(size)]


@pytest.mark.parametrize("option", ["open", "fold"])
@pytest.mark.parametrize("given", [3, [True], [None]])
def test_boxes_are_asked_for_by_name(option, given):
    with pytest.raises(TypeError, match=f"{option}: got .*; give the names of boxes, such as"):
        scene_of(lecture(), **{option: given})


def test_open_is_no_switch():
    with pytest.raises(TypeError, match="open: got bool; give the names of boxes"):
        view.to_svg(lecture(), open=True)


def test_what_is_asked_for_by_name_is_drawn_whatever_the_limit():
    _, total = training(4)
    assert len(scene_of(total, 5, open=["layer0.neuron1"]).everything()) > 5


def test_a_cut_to_one_node():
    assert scene_of(diamond(), 1, fold=False).notice.endswith(
        "; here is the node nearest to the result; a larger limit draws more."
    )


def test_numbers_from_before_are_not_shown_without_a_word():
    a, b = Value(1.0, label="a"), Value(2.0, label="b")

    def forward():
        c = a * b
        c.label = "c"
        return (c - 3.0).relu()

    root = forward()
    assert not scene_of(root).notice
    a.data, b.data = 10.0, 1.5
    scene = scene_of(root)
    assert scene.is_complete
    assert scene.notice == (
        "Data was changed after the forward pass: c is from before; run the forward pass again."
    )
    for drawn in (view.to_svg(root), view.to_text(root), view.draw_dot(root).source):
        assert scene.notice in drawn.replace("&#160;", " ")
    assert not scene_of(forward()).notice


def test_folding_by_name():
    root = lecture()
    opened = scene_of(root, open=["neuron#3"])
    assert [unit.label for unit in opened.units if unit.inside] == ["neuron#3"]
    by_itself = scene_of(root, limit=300)
    assert sum(unit.inside is not None for unit in by_itself.units) == 9
    closed = scene_of(root, limit=300, fold=["neuron#2"])
    assert [unit.label for unit in closed.units if unit.box and not unit.inside] == ["neuron#2"]
    assert not [u for u in scene_of(root, fold=False, limit=50).units if u.box]


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
    assert view.to_text(chain(1000)).splitlines()[-1].startswith("3,001 nodes")


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


def test_what_a_function_made_is_its_box():
    logits = [Value(0.1 * k, label=f"z{k}") for k in range(4)]
    for made, name in (
        (softmax(logits)[1], "softmax"),
        (log_softmax(logits)[1], "log_softmax"),
        (loss.mse([a * 2.0 for a in logits], [1.0] * 4), "mse"),
        (loss.cross_entropy([logits, logits[::-1]], [0, 1]), "cross_entropy"),
    ):
        scene = scene_of(made.log(), fold=True)
        assert [unit.box for unit in scene.units if unit.box] == [name], name
        assert scene.units[-1].op == "log"


def test_the_part_of_a_box_that_a_kind_is_in_found_at_once_or_by_climbing():
    def nested(depth, x):
        if not depth:
            return x.tanh()
        with minigrad.scope(f"s{depth}"):
            return nested(depth - 1, x * 1.1) + 0.1

    order = topological_order(nested(12, minigrad.Value(1.0)))
    tree = folded(order, 80)[0].tree
    met = 0
    for box in tree.root.inside():
        part_in = tree.parts_by_kind(box)
        for k in range(len(tree.home)):
            assert part_in(k) == tree.part_in(box, k)
            met += part_in(k) is not None
    assert met > len(tree.home)


# ---- what strangers write ------------------------------------------------------------------------


def numbers(count):
    return [Value(math.sin(k + 1), label=f"v{k}") for k in range(count)]


def shares(xs, power=lambda x: x.exp()):
    powers = [power(x) for x in xs]
    total = sum(powers)
    return [each / total for each in powers]


def inverted(xs):
    powers = [x.exp() for x in xs]
    inverse = sum(powers) ** -1
    return [each * inverse for each in powers]


def shifted_total(xs):
    largest = max(xs, key=lambda x: x.data)
    return sum((x - largest).exp() for x in xs).log() + largest


def batch_of_softmaxes(xs):
    """Each point has another target, so that no two of them are used alike."""
    rows = [shares([x * k for x in xs]) for k in (1.0, 2.0, 3.0)]
    return sum(-row[k].log() for k, row in enumerate(rows)) / 3


SPELLINGS = [
    ("softmax", lambda xs: shares(xs)[1].sqrt()),
    ("softmax", lambda xs: shares(xs, lambda x: (x - 0.7).exp())[1].sqrt()),
    ("softmax", lambda xs: shares(xs, lambda x: math.e**x)[1].sqrt()),
    ("softmax", lambda xs: inverted(xs)[1].sqrt()),
    ("logsumexp", lambda xs: sum(x.exp() for x in xs).log() * 2.0),
    ("logsumexp", lambda xs: shifted_total(xs) * 2.0),
    ("cross_entropy", lambda xs: -shares(xs)[2].log() * 2.0),
    ("cross_entropy", lambda xs: -1 * inverted(xs)[2].log() + 0.5),
    ("cross_entropy", lambda xs: (shifted_total(xs) - xs[1]) * 0.5),
    ("cross_entropy", lambda xs: -(xs[1] - sum(x.exp() for x in xs).log()) * 0.5),
    ("cross_entropy", batch_of_softmaxes),
    ("mean", lambda xs: (sum(xs) / len(xs)).exp()),
    ("mean", lambda xs: (1 / len(xs) * sum(x.sin() for x in xs)).exp()),
    ("mse", lambda xs: sum((x - 0.5) * (x - 0.5) for x in xs) / len(xs)),
    ("mse", lambda xs: (1 / len(xs)) * sum((0.1 - x) ** 2 for x in xs)),
    ("dot", lambda xs: sum((x * k for k, x in enumerate(xs, 2)), Value(0.1, label="b")).exp()),
]


@pytest.mark.parametrize(("name", "spelled"), SPELLINGS)
def test_an_idiom_is_known_however_it_is_spelled(name, spelled):
    folding, _ = folded(topological_order(spelled(numbers(5))), LIMIT)
    assert name in {box.name for box in folding.boxes.values()}


@pytest.mark.parametrize(
    ("name", "spelled"),
    [
        ("softmax", lambda xs: sum(x.exp() for x in xs) / xs[0].exp()),
        ("mean", lambda xs: sum(xs) / (len(xs) + 1)),
        ("mean", lambda xs: len(xs) / sum(xs)),
        ("mse", lambda xs: sum((x - 0.5) * (x - 0.25) for x in xs) / len(xs)),
        ("mse", lambda xs: sum((x - 0.5) ** 3 for x in xs) / len(xs)),
        ("cross_entropy", lambda xs: (sum(x.exp() for x in xs).log() - Value(2.0)) * 0.5),
    ],
)
def test_what_only_looks_like_an_idiom(name, spelled):
    folding, _ = folded(topological_order(spelled(numbers(5))), LIMIT)
    assert name not in {box.name for box in folding.boxes.values()}


@pytest.mark.parametrize(
    "negative",
    [
        lambda x: -x,
        lambda x: x * -1,
        lambda x: Value(-1.0, label="w") * x,
        lambda x: x * Value(-1.0) * x,
    ],
)
def test_a_negative_leaf_beside_a_softmax_is_no_loss(negative):
    xs = numbers(5)
    total = shares(xs)[1].sqrt() + negative(xs[0])
    folding, _ = folded(topological_order(total), LIMIT)
    assert {box.name for box in folding.boxes.values()} == {"softmax"}


def lstm(steps):
    p = numbers(12)
    h = c = Value(0.0)
    for t in range(steps):
        x = math.sin(t)
        gates = [p[k] * x + p[k + 1] * h + p[k + 2] for k in (0, 3, 6, 9)]
        i, f, o = (gate.sigmoid() for gate in gates[:3])
        c = f * c + i * gates[3].tanh()
        h = o * c.tanh()
    return (h - 0.3) ** 2


def gru(steps):
    p = numbers(9)
    h = Value(0.1)
    for t in range(steps):
        x = math.cos(t)
        z = (p[0] * x + p[1] * h + p[2]).sigmoid()
        r = (p[3] * x + p[4] * h + p[5]).sigmoid()
        h = (1 - z) * (p[6] * x + p[7] * (r * h) + p[8]).tanh() + z * h
    return h


def network(steps):
    """Three values go from step to step."""
    w, u = ([numbers(3) for _ in range(3)] for _ in range(2))
    h = [Value(0.0)] * 3
    for t in range(steps):
        x = [math.sin(t + k) for k in range(3)]
        h = [
            sum((a * b for a, b in zip([*x, *h], [*w[k], *u[k]], strict=True)), 0.0).tanh()
            for k in range(3)
        ]
    return sum(h)


def oscillator(steps):
    x, v = Value(1.0, label="x"), Value(0.0, label="v")
    for _ in range(steps):
        v = v - 0.1 * x
        x = x + 0.1 * v
    return x * x


@pytest.mark.parametrize("make", [lstm, gru, network, oscillator])
def test_recurrent_structure_folds_by_step_also_with_several_values_between(make):
    steps = 18
    scene = scene_of(make(steps))
    found = {unit.label for unit in scene.units if unit.label.startswith("step")}
    # The first and the last may be unlike the others, which do not see where they begin or end.
    assert steps - 2 <= len(found) <= 2 * steps  # an operation of the next step may come along
    assert len(scene.everything()) <= LIMIT
    inside = [unit.count for unit in scene.units if unit.label in found]
    assert len(set(inside[2:-2])) == 1


class Unrolled(nn.Module):
    """A network of one's own, which goes through its steps in one call."""

    def __init__(self, go):
        self.go = go

    def __call__(self, steps):
        return self.go(steps)


def residual(steps):
    """What is added is computed from the sum so far."""
    w, x = numbers(2)
    for _ in range(steps):
        x = x + (w * x).tanh()
    return x


def every_state(steps):
    """All that was computed on the way is returned, and no value is the result of the rest."""
    w, u, h, found = *numbers(2), 0, []
    for t in range(steps):
        h = (w * h + u * math.sin(t)).tanh()
        found.append(h)
    return found


@pytest.mark.parametrize("make", [lstm, gru, network, oscillator, residual])
def test_the_steps_of_a_module_are_those_of_the_same_lines_outside(make):
    outside = scene_of(make(18))
    (module,) = [unit for unit in scene_of(Unrolled(make)(18) * 2.0).units if unit.box]
    steps, inside = (
        [(unit.label, unit.count) for unit in scene.units if unit.label.startswith("step")]
        for scene in (outside, module.inside)
    )
    assert inside == steps


@pytest.mark.parametrize("steps", [14, 20])  # a graph that would fit, and one that would not
def test_a_module_with_several_results_folds_by_step(steps):
    *_, last = found = Unrolled(every_state)(steps)
    scene = scene_of(last * found[2] * found[-2])
    (module,) = [unit for unit in scene.units if unit.box]
    labels = {unit.label for unit in module.inside.units if unit.label.startswith("step")}
    assert labels == {f"step{k + 1}" for k in range(steps)}


@pytest.mark.parametrize(
    "term", [lambda w, x: w * x, lambda w, x: (w - x) ** 2, lambda w, x: (w * x).tanh()]
)
@pytest.mark.parametrize("join", [operator.add, operator.sub, operator.mul])
def test_terms_beside_each_other_are_no_steps(term, join):
    def layer(xs):
        return [
            functools.reduce(join, (term(w, x) for w, x in zip(ws, xs, strict=True))).sin()
            for ws in weights
        ]

    weights = [numbers(5) for _ in range(5)]
    with minigrad.scope("layer"):
        result = sum(layer(layer(numbers(5))))
    folding, _ = folded(topological_order(result * 2.0), LIMIT)
    assert not any(box.is_step for box in folding.boxes.values())
    model = nn.MLP(6, [6, 6, 1], seed=1)
    folding, _ = folded(topological_order(model([0.1 * k for k in range(6)])), LIMIT)
    assert not any(box.is_step for box in folding.boxes.values())


def test_a_recurrent_network_with_a_loss_at_each_step_is_drawn_whole():
    w, u, b = numbers(3)
    h, total = 0, 0
    for t in range(50):
        h = (w * h + u * math.sin(t) + b).tanh()
        total = total + (h - math.cos(t)) ** 2
    scene = scene_of(total / 50)
    assert scene.notice.startswith("507 nodes")
    assert sum(unit.count for unit in scene.everything()) == 507
    boxes = [unit.box for unit in scene.units if unit.box]
    assert boxes == ["steps1-32", "steps33-50", "mse"]
    opened = scene_of(total / 50, open=boxes[:2], limit=None).everything()
    assert {f"step{k + 1}" for k in range(50)} <= {unit.label for unit in opened}


class Cell(nn.Module):
    """A step of an LSTM with two values in its state and as many inputs."""

    def __init__(self):
        self.gates = [[numbers(5) for _ in range(2)] for _ in range(4)]

    def __call__(self, x, h, c):
        i, f, o, g = (
            [p[0] * x[0] + p[1] * x[1] + p[2] * h[0] + p[3] * h[1] + p[4] for p in gate]
            for gate in self.gates
        )
        c = [f[k].sigmoid() * c[k] + i[k].sigmoid() * g[k].tanh() for k in range(2)]
        return [o[k].sigmoid() * c[k].tanh() for k in range(2)], c


def cells(steps=6):
    cell, h, c = Cell(), [0.0, 0.0], [0.0, 0.0]
    for t in range(steps):
        h, c = cell([math.sin(t), math.cos(t)], h, c)
    total = sum((x - 0.3) ** 2 for x in h)
    total.backward()
    return total


def test_calls_of_a_cell_are_steps_and_its_weights_stand_together():
    total = cells()
    scene = scene_of(total)
    closed = [(unit.label, unit.times) for unit in scene.units if unit.box]
    assert closed == [("leaves", 1), ("Cell", 1), *((f"Cell#{k}", 1) for k in range(2, 7))]
    place, leaves = next((k, unit) for k, unit in enumerate(scene.units) if unit.box == "leaves")
    assert (leaves.count, leaves.note) == (40, "40 nodes · in 6 steps")
    weights = [node for node in topological_order(total) if node.label]
    assert leaves.data == (min(w.data for w in weights), max(w.data for w in weights))
    assert leaves.grad == (min(w.grad for w in weights), max(w.grad for w in weights))
    assert len([arrow for arrow in scene.arrows if arrow.source == place]) == 1
    inside = scene_of(total, open=["leaves"]).units[place].inside
    assert {unit.label for unit in inside.units} == {last_part(weight.label) for weight in weights}
    assert sum(unit.count for unit in scene.units) == len(topological_order(total))


class Convolution(nn.Module):
    def __init__(self):
        self.kernels = [numbers(4) for _ in range(2)]

    def __call__(self, image):
        places = [(i, j) for i in range(3) for j in range(3)]
        return [
            [
                sum(kernel[2 * a + b] * image[i + a][j + b] for a in (0, 1) for b in (0, 1)).relu()
                for i, j in places
            ]
            for kernel in self.kernels
        ]


@pytest.mark.parametrize("images", [1, 3])
def test_the_places_of_a_convolution_are_drawn_once(images):
    layer, scores = Convolution(), []
    for n in range(images):
        maps = layer([[math.sin(n + 5 * i + j) for j in range(4)] for i in range(4)])
        scores.append((sum(maps[0]) / 9 * 2.0 + sum(maps[1]) / 9).tanh())
    folding, _ = folded(topological_order(sum(scores)), LIMIT)
    neurons = [box for box in folding.boxes.values() if box.name == "neuron"]
    assert [box.times for box in neurons] == [9 * images] * 2


def test_a_small_recurrent_graph_is_folded_where_its_arrows_would_pass_everything():
    w, h = Value(0.5, label="w"), Value(0.1, label="h")
    for t in range(9):
        h = (w * h + math.sin(t)).tanh().sin()
    scene = scene_of(h)
    assert len(topological_order(h)) < LIMIT
    assert [unit.label for unit in scene.units if unit.box] == [f"step{k + 1}" for k in range(9)]
    assert scene_of(h, fold=False).is_complete


def irregular(count, seed=1):
    """A graph without scopes, idioms or repeats."""
    chance = random.Random(seed)
    nodes = [Value(chance.uniform(0.5, 1.5), label=f"x{k}") for k in range(8)]
    while len(nodes) < count:
        a, b = (chance.choice(nodes[-25:] if chance.random() < 0.8 else nodes) for _ in range(2))
        nodes.append(chance.choice([a * b, a + b, a - b, a.tanh(), (a * a + 1.0).log()]))
    return sum(nodes[-12:])


def test_what_is_doubled_again_and_again_is_looked_at_once():
    x = chain(40)
    for _ in range(60):  # two to the sixtieth ways
        x = x + x
    scene = scene_of(x.exp())
    assert sum(unit.count for unit in scene.everything()) == len(topological_order(x)) + 1


@pytest.mark.parametrize("count", [300, 1000])
def test_an_irregular_graph_is_drawn_whole_in_parts(count):
    root = irregular(count)
    order = topological_order(root)
    folding, is_open = drawing_of(root, 80)
    scene = folding.scene(is_open)
    assert len(scene.everything()) <= 80
    assert f"{len(order):,} nodes" in scene.notice
    # Every node is in a box that can be opened, and what is then drawn can be looked at as well.
    levels = folding.insides(400)
    shown = [part for level in levels.values() for part in level.parts if isinstance(part, int)]
    assert sorted(shown) == list(range(len(folding.kinds.members)))
    assert {node for nodes in folding.kinds.members for node in nodes} == set(order)
    assert all(len(level.scene.units) <= 80 for level in levels.values())
    name = next(iter(folding.boxes))
    assert any(unit.inside for unit in scene_of(root, open=[name]).units)
