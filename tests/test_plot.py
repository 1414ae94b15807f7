"""The training pictures: what is drawn is what mathematics says, and the model stays as it was."""

from __future__ import annotations

import math
import re
import subprocess
import sys

import pytest
from conftest import oracle
from hypothesis import given
from hypothesis import strategies as st

from minigrad import Value, grads_of, nn, no_grad, plot
from minigrad.core.modes import is_recording

SQUARE = [[0.0, 0.0], [0.0, 4.0], [4.0, 0.0], [4.0, 4.0]]


@pytest.fixture(scope="module")
def matplotlib():
    module = oracle("matplotlib")
    module.use("Agg")  # no test needs a screen
    return module


@pytest.fixture
def ax(matplotlib):
    from matplotlib.figure import Figure

    return Figure().add_subplot()


def line_model(point):
    """Positive above the line y = x / 2 + 1."""
    return point[1] - 0.5 * point[0] - 1.0


def contours(ax, filled):
    from matplotlib.contour import QuadContourSet

    return [c for c in ax.collections if isinstance(c, QuadContourSet) and c.filled == filled]


def vertices(contour):
    """All corners of its lines."""
    return [tuple(v) for path in contour.get_paths() for v in path.vertices]


def scattered(ax, label):
    (found,) = [c for c in ax.collections if c.get_label() == label]
    return sorted(map(tuple, found.get_offsets().tolist()))


def grey(colour):
    """What a black-and-white printer makes of a colour on white paper: the luma of Rec. 601."""
    *rgb, alpha = colour
    luma = sum(w * x for w, x in zip((0.299, 0.587, 0.114), rgb, strict=True))
    return alpha * luma + (1.0 - alpha)


def legend(ax):
    return [text.get_text() for text in ax.get_legend().get_texts()]


def outlines(ax):
    """The histograms' lines, without the tints below them, which have no label."""
    return [patch for patch in ax.patches if patch.get_label()]


def histograms(ax):
    """Counts and edges by label."""
    return {
        patch.get_label(): (list(patch.get_data().values), list(patch.get_data().edges))
        for patch in outlines(ax)
    }


def trained_once():
    model = nn.MLP(2, [5, 3, 1], activation="tanh", seed=4)
    model([0.3, -0.7]).backward()
    return model


def state_of(model):
    return [(p.data, p.grad, p._operands) for p in model.parameters()]


# ---- without matplotlib ---------------------------------------------------------------------


def python(program):
    return subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    ).stdout


def test_importing_the_room_imports_no_third_party_module():
    program = """
import sys
import minigrad.plot
print(sorted({"matplotlib", "numpy"} & set(sys.modules)))
"""
    assert python(program).strip() == "[]"


@pytest.mark.parametrize(
    "call",
    [
        "require_matplotlib()",
        "loss_curve([1.0])",
        "gradient_histogram(nn.Neuron(2))",
        "decision_boundary(sum, [[0, 1]], [1])",
    ],
)
def test_without_matplotlib_the_error_says_what_to_install(call):
    program = f"""
import sys
sys.modules["matplotlib"] = None
from minigrad import nn, plot
try:
    plot.{call}
except ImportError as error:
    print(error.name, error)
"""
    said = python(program)
    assert said.startswith("matplotlib minigrad.plot draws with matplotlib")
    assert "pip install matplotlib" in said


# ---- the decision boundary --------------------------------------------------------------------


@pytest.mark.oracle
@pytest.mark.parametrize("threshold", [0.0, 0.5])
def test_the_boundary_of_a_linear_model_is_its_line(ax, threshold):
    assert (
        plot.decision_boundary(line_model, SQUARE, [0, 1, 0, 1], ax=ax, threshold=threshold) is ax
    )
    (boundary,) = contours(ax, filled=False)
    corners = vertices(boundary)
    # A linear score is interpolated without error, so every corner lies on the line...
    assert all(line_model(corner) == pytest.approx(threshold, abs=1e-12) for corner in corners)
    # ...and the line goes from the left edge of the picture to the right one.
    assert (min(corners)[0], max(corners)[0]) == pytest.approx(ax.get_xlim())


@pytest.mark.oracle
def test_the_boundary_of_a_circle(ax):
    def disc(point):
        return 1.0 - point[0] ** 2 - point[1] ** 2

    plot.decision_boundary(disc, [[-2, -2], [2, 2], [0, 0]], [0, 0, 1], ax=ax, resolution=100)
    radii = [math.hypot(*corner) for corner in vertices(contours(ax, filled=False)[0])]
    # Between neighbours at distance h the score bends by at most h²/4, and its slope is 2 there.
    h = 5.6 / 99
    assert max(abs(radius - 1.0) for radius in radii) < h * h / 4


@pytest.mark.oracle
def test_the_tinted_sides_are_those_of_the_classes(ax, matplotlib):
    plot.decision_boundary(line_model, SQUARE, [0, 1, 0, 1], ax=ax)
    (sides,) = contours(ax, filled=True)
    low, high = sides.get_paths()
    assert low.contains_point((4.0, 0.0))
    assert not low.contains_point((0.0, 4.0))
    assert high.contains_point((0.0, 4.0))
    assert not high.contains_point((4.0, 0.0))
    assert [matplotlib.colors.to_hex(c) for c in sides.get_facecolor()] == ["#56b4e9", "#e69f00"]


@pytest.mark.oracle
def test_points_are_drawn_by_class_and_those_on_the_wrong_side_get_a_ring(ax):
    plot.decision_boundary(line_model, SQUARE, [-1, 1, 1, 1], ax=ax)
    assert scattered(ax, "class −1") == [(0, 0)]
    assert scattered(ax, "class +1") == [(0, 4), (4, 0), (4, 4)]
    assert scattered(ax, "on the wrong side") == [(4, 0)]
    assert ax.get_title() == "Decision boundary: 3 of 4 points right"
    assert legend(ax) == ["class −1", "class +1", "on the wrong side"]


@pytest.mark.oracle
def test_classes_differ_in_marker_and_in_lightness_not_in_colour_alone(ax):
    plot.decision_boundary(line_model, SQUARE, [0, 1, 0, 1], ax=ax)
    low, high = [c for c in ax.collections if c.get_label().startswith("class")]
    shapes = [len(c.get_paths()[0].vertices) for c in (low, high)]
    assert shapes[0] != shapes[1]
    assert abs(grey(low.get_facecolor()[0]) - grey(high.get_facecolor()[0])) > 0.2
    below, above = contours(ax, filled=True)[0].get_facecolor()
    assert abs(grey(below) - grey(above)) > 0.05


@pytest.mark.oracle
@pytest.mark.parametrize(
    ("labels", "options", "names"),
    [
        ([-1, 1, -1, 1], {}, ["class −1", "class +1"]),
        ([0, 1, 0, 1], {}, ["class 0", "class 1"]),
        ([0.0, 1.0, 0, 1], {}, ["class 0", "class 1"]),
        ([False, True, False, True], {}, ["class False", "class True"]),
        ([3, 7, 3, 7], {}, ["class 3", "class 7"]),
        (["cat", "dog", "cat", "dog"], {}, ["class cat", "class dog"]),
        (["$a^", "$b^", "$a^", "$b^"], {}, [r"class \$a^", r"class \$b^"]),
        (["up", "down", "up", "down"], {"classes": ("up", "down")}, ["class up", "class down"]),
        (["x", None, "x", None], {}, ["class x", "class None"]),
        ([Value(-1.0), Value(1.0), Value(-1.0), Value(1.0)], {}, ["class −1", "class +1"]),
    ],
)
def test_labels_are_any_two_values(ax, labels, options, names):
    plot.decision_boundary(line_model, SQUARE, labels, ax=ax, resolution=5, **options)
    assert legend(ax) == names
    assert "4 of 4" in ax.get_title()
    ax.figure.draw_without_rendering()


@pytest.mark.oracle
@pytest.mark.parametrize(
    ("only", "names"),
    [(-1, ["class −1", "class +1"]), (1, ["class 0", "class 1"]), (0, ["class 0", "class 1"])],
)
def test_one_of_the_usual_labels_alone_is_understood(ax, only, names):
    score = 1.0 if only == 1 else -1.0
    plot.decision_boundary(lambda point: score, [[0, 0]], [only], ax=ax, resolution=2)
    assert legend(ax) == names
    assert ax.get_title().startswith("Decision boundary: 1 of 1 point right\nno boundary here")


@pytest.mark.oracle
def test_numpy_arrays_and_values_are_taken(ax):
    numpy = oracle("numpy")
    points = numpy.array(SQUARE)
    labels = numpy.array([0, 1, 0, 1])
    plot.decision_boundary(lambda p: [Value(line_model(p))], points, labels, ax=ax, resolution=4)
    assert "4 of 4" in ax.get_title()
    assert legend(ax) == ["class 0", "class 1"]


@pytest.mark.oracle
def test_the_model_is_asked_without_a_graph_and_with_lists_of_its_own(ax):
    asked = []

    def model(point):
        assert not is_recording()
        assert type(point) is list
        asked.append(point)
        return line_model(point)

    points = [list(point) for point in SQUARE]
    plot.decision_boundary(model, points, [0, 1, 0, 1], ax=ax, resolution=3)
    assert is_recording()
    assert len(asked) == 4 + 9
    assert not {id(point) for point in asked} & {id(point) for point in points}


@pytest.mark.oracle
@pytest.mark.parametrize(
    ("model", "note"),
    [
        (lambda p: 1.0, "no boundary here: the model says class 1 everywhere"),
        (lambda p: 0.0, "no boundary here: the model says class 0 everywhere"),
        (lambda p: -1e308, "no boundary here: the model says class 0 everywhere"),
        (lambda p: math.nan, "the model's score is nan everywhere"),
        (lambda p: math.nan if p[0] > 2 else p[1] - 2, "white: the score is nan in 8 of 16 places"),
    ],
)
def test_the_title_says_what_is_missing_in_the_picture(ax, model, note):
    plot.decision_boundary(model, SQUARE, [0, 1, 0, 1], ax=ax, resolution=4)
    assert ax.get_title().splitlines()[1:] == [note]
    ax.figure.draw_without_rendering()


@pytest.mark.oracle
def test_infinite_scores_have_a_side(ax):
    plot.decision_boundary(
        lambda p: math.inf if p[0] > 2 else -math.inf, SQUARE, [0, 0, 1, 1], ax=ax, resolution=50
    )
    assert ax.get_title() == "Decision boundary: 4 of 4 points right"
    xs = [x for x, _ in vertices(contours(ax, filled=False)[0])]
    assert max(abs(x - 2.0) for x in xs) < 5.6 / 49
    ax.figure.draw_without_rendering()


@pytest.mark.parametrize(
    ("points", "labels", "options", "words"),
    [
        ([], [], {}, "there is none; give at least one pair"),
        (SQUARE, [0, 1], {}, "4 points but 2 labels; give one for each"),
        ([[0, 1, 2]], [1], {}, "point 0 has 3 numbers; a picture has two directions"),
        ([0.5, 1.0], [1, 0], {}, "point 0 has 1 number; a picture has two directions"),
        (["ab"], [1], {}, "give pairs: [[0.5, 1.0], [2.0, -1.0], …]"),
        ([[0, math.nan]], [1], {}, "point 0 is [0, nan], inf, nan or beyond 1e150; leave it out"),
        (SQUARE, [0, 1, 2, 3], {}, "4 classes (0, 1, 2, 3), but one score tells two apart"),
        (SQUARE, [0, 1, 2, 2], {}, "[label == wanted for label in labels]"),
        (SQUARE, ["a"] * 4, {}, "all of them are 'a'; name both classes"),
        (SQUARE, [0, 1, math.nan, 1], {}, "nan is not a class; leave those points out"),
        (SQUARE, [0, 1, 0, 2], {"classes": (0, 1)}, "2 is not one of classes=[0, 1]"),
        (SQUARE, [0, 1, 0, 1], {"classes": (0, 1, 2)}, "give two, the label of low scores first"),
        (SQUARE, [0, 1, 0, 1], {"resolution": 1}, "a whole number from 2 on, got 1"),
        (SQUARE, [0, 1, 0, 1], {"resolution": 9.5}, "a whole number from 2 on, got 9.5"),
    ],
)
def test_mistakes_about_points_and_labels(points, labels, options, words):
    with pytest.raises(ValueError, match=re.escape(words)):
        plot.decision_boundary(line_model, points, labels, **options)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((line_model, 3, [1]), "decision_boundary(points): got int; give a list"),
        ((line_model, [["a", "b"]], [1]), "point 0: got str"),
        ((line_model, SQUARE, [[0], [1], [0], [1]]), "a label is one value, such as -1 or +1"),
        ((lambda p: "yes", SQUARE, [0, 1, 0, 1]), "decision_boundary(model): the score: got str"),
        ((lambda p: None, SQUARE, [0, 1, 0, 1]), "is a return missing"),
    ],
)
def test_mistakes_about_types(arguments, words):
    with pytest.raises(TypeError) as caught:
        plot.decision_boundary(*arguments)
    assert words in str(caught.value)


def test_a_model_with_many_scores_gets_the_remedy():
    with pytest.raises(ValueError, match="returns 3 numbers for a point, not one score") as caught:
        plot.decision_boundary(nn.MLP(2, [3]), SQUARE, [0, 1, 0, 1])
    assert "lambda p: model(p)[1] - model(p)[0]" in str(caught.value)


# ---- the loss curve ---------------------------------------------------------------------------


@pytest.mark.oracle
def test_the_curve_is_the_losses(ax):
    losses = [3.0, Value(2.0), 1.5, 0.25]
    assert plot.loss_curve(losses, ax=ax) is ax
    (line,) = ax.lines
    assert list(line.get_xdata()) == [0, 1, 2, 3]
    assert list(line.get_ydata()) == [3.0, 2.0, 1.5, 0.25]
    assert (ax.get_xlabel(), ax.get_ylabel(), ax.get_title()) == ("training step", "loss", "Loss")
    assert ax.get_legend() is None  # one line needs none
    assert ax.figure.axes == [ax]


@pytest.mark.oracle
def test_accuracies_have_an_axis_of_their_own(ax):
    plot.loss_curve([3.0, 2.0, 1.0], accuracies=[0.5, 0.75, 1.0], ax=ax)
    left, right = ax.figure.axes
    assert left is ax
    assert list(right.lines[0].get_ydata()) == [0.5, 0.75, 1.0]
    assert list(right.lines[0].get_xdata()) == [0, 1, 2]
    assert right.get_ylabel() == "accuracy"
    assert right.yaxis.get_major_formatter()(0.5) == "50%"
    assert legend(ax) == ["loss", "accuracy"]
    assert ax.lines[0].get_linestyle() != right.lines[0].get_linestyle()


@pytest.mark.oracle
def test_losses_that_are_not_finite_are_gaps_and_the_title_says_so(ax):
    plot.loss_curve([3.0, math.nan, 2.0, math.inf, 1.0, 1e300], ax=ax)
    curve, crosses = ax.lines
    drawn = list(curve.get_ydata())
    assert [y for y in drawn if not math.isnan(y)] == [3.0, 2.0, 1.0]
    assert [k for k, y in enumerate(drawn) if math.isnan(y)] == [1, 3, 5]
    assert list(crosses.get_xdata()) == [1, 3, 5]
    assert ax.get_title() == "Loss\ngaps: 3 of 6 losses, inf, nan or beyond 1e150"
    assert curve.get_marker() == "o"  # or a number between two gaps would not be seen
    ax.figure.draw_without_rendering()


@pytest.mark.oracle
@pytest.mark.parametrize("losses", [[1.0], [math.nan], [0.0, 0.0], [-1e150, 1e150], [1e-320, 0.0]])
def test_odd_curves_can_be_drawn(ax, losses):
    plot.loss_curve(losses, accuracies=[0.0] * len(losses), ax=ax)
    ax.figure.draw_without_rendering()


@pytest.mark.oracle
def test_a_logarithmic_scale_can_be_asked_for_afterwards(ax):
    plot.loss_curve([1.0, 0.1, 0.01], ax=ax).set_yscale("log")
    ax.figure.draw_without_rendering()


@pytest.mark.parametrize(
    ("losses", "accuracies", "error", "words"),
    [
        ([], None, ValueError, "there is none; append total.data to a list in every step"),
        ([1.0], [0.5, 0.6], ValueError, "1 loss but 2 accuracies; give one for each step"),
        ([1.0], [98.0], ValueError, "from 0 to 1, got 98; for 98 percent, write 0.98"),
        ([1.0], [math.nan], ValueError, "fractions from 0 to 1, got nan"),
        (1.0, None, TypeError, "loss_curve(losses): got float; give a list"),
        (["1.0"], None, TypeError, "loss_curve(losses): got str"),
    ],
)
def test_mistakes_about_losses(losses, accuracies, error, words):
    with pytest.raises(error) as caught:
        plot.loss_curve(losses, accuracies=accuracies)
    assert words in str(caught.value)


# ---- the gradients ----------------------------------------------------------------------------


@pytest.mark.oracle
def test_the_counts_of_each_layer_add_up_to_its_parameters(ax):
    model = trained_once()
    assert plot.gradient_histogram(model, ax=ax, bins=7) is ax
    drawn = histograms(ax)
    # (inputs + bias) * neurons
    assert list(drawn) == ["layer 1, n = 15", "layer 2, n = 18", "layer 3, n = 4"]
    assert [sum(counts) for counts, _ in drawn.values()] == [15, 18, 4]
    assert legend(ax) == list(drawn)
    assert ax.get_title() == "Gradients, layer by layer"


@pytest.mark.oracle
def test_the_counts_are_numpys(ax):
    numpy = oracle("numpy")
    model = trained_once()
    plot.gradient_histogram(model, ax=ax, bins=11)
    grads = list(grads_of(model.parameters()))
    for layer, (counts, edges) in zip(model.layers, histograms(ax).values(), strict=True):
        assert edges == pytest.approx(numpy.linspace(min(grads), max(grads), 12))
        expected, _ = numpy.histogram(list(grads_of(layer.parameters())), bins=edges)
        assert counts == expected.tolist()


@given(
    st.lists(
        st.floats(-1e150, 1e150) | st.sampled_from([0.0, -0.0, 5e-324, 1e150, 1.0]), max_size=20
    ),
    st.integers(1, 40),
)
def test_bins_hold_all_numbers_and_each_number_once(numbers, bins):
    edges = plot._edges(numbers, bins)
    assert len(edges) == bins + 1
    assert edges == sorted(edges)
    assert edges[0] < edges[-1]
    assert not numbers or edges[0] <= min(numbers) <= max(numbers) <= edges[-1]
    counts = plot._counts_between(edges, numbers)
    assert sum(counts) == len(numbers)
    for k in range(bins - 1):
        assert counts[k] == sum(edges[k] <= number < edges[k + 1] for number in numbers)
    assert counts[-1] == sum(edges[-2] <= number <= edges[-1] for number in numbers)


@pytest.mark.oracle
def test_gradients_that_are_all_zero_are_said_in_the_title(ax):
    plot.gradient_histogram(nn.MLP(2, [3, 1]), ax=ax)
    assert ax.get_title().splitlines()[1] == (
        "all of them are zero: call backward() on the loss first"
    )
    assert legend(ax) == ["layer 1, n = 9, all zero", "layer 2, n = 4, all zero"]
    assert [sum(counts) for counts, _ in histograms(ax).values()] == [9, 4]
    ax.figure.draw_without_rendering()


@pytest.mark.oracle
def test_a_layer_without_gradients_among_others_is_named_in_the_legend(ax):
    model = trained_once()
    model.layers[0].zero_grad()
    plot.gradient_histogram(model, ax=ax)
    assert legend(ax) == ["layer 1, n = 15, all zero", "layer 2, n = 18", "layer 3, n = 4"]
    assert "backward" not in ax.get_title()


@pytest.mark.oracle
def test_gradients_that_are_not_finite_are_left_out_and_the_title_says_so(ax):
    neuron = nn.Neuron(3)
    for parameter, grad in zip(neuron.parameters(), [math.nan, math.inf, 1.0, -2.0], strict=True):
        parameter.grad = grad
    plot.gradient_histogram(neuron, ax=ax)
    assert sum(histograms(ax)["Neuron, n = 4"][0]) == 2
    assert ax.get_title() == "Gradients\nleft out: 2 of 4, inf, nan or beyond 1e150"
    ax.figure.draw_without_rendering()


class Scaled(nn.Module):
    """A model with something beside its layers, and a layer without parameters."""

    def __init__(self):
        self.layers = [nn.Layer(2, 2), nn.Module(), nn.Layer(2, 1)]
        self.scale = Value(1.0)

    def parameters(self):
        return [self.scale, *self.layers[0].parameters(), *self.layers[2].parameters()]


@pytest.mark.oracle
@pytest.mark.parametrize(
    ("model", "groups"),
    [
        (nn.Neuron(2), {"Neuron": 3}),
        (nn.Layer(2, 4), {"Layer": 12}),
        (nn.MLP(2, [1]), {"layer 1": 3}),
        (Scaled(), {"layer 1": 6, "layer 3": 3, "outside of layers": 1}),
    ],
)
def test_any_module_is_drawn_in_groups(ax, model, groups):
    for k, parameter in enumerate(model.parameters()):
        parameter.grad = 1.0 + k
    plot.gradient_histogram(model, ax=ax)
    assert {label: sum(counts) for label, (counts, _) in histograms(ax).items()} == {
        f"{name}, n = {count}": count for name, count in groups.items()
    }


@pytest.mark.oracle
def test_thirty_layers_look_different(ax, matplotlib):
    model = nn.MLP(1, [1] * 30, activation="linear")
    plot.gradient_histogram(model, ax=ax)
    looks = {
        (matplotlib.colors.to_hex(line.get_edgecolor()), str(line.get_linestyle()))
        for line in outlines(ax)
    }
    assert len(looks) == len(outlines(ax)) == 30
    ax.figure.draw_without_rendering()


@pytest.mark.oracle
@pytest.mark.parametrize("grads", [[1e150, -1e150], [5e-324, 0.0], [1.0, 1.0 + 2**-52], [7.0] * 2])
def test_odd_gradients_can_be_drawn(ax, grads):
    neuron = nn.Neuron(1)
    for parameter, grad in zip(neuron.parameters(), grads, strict=True):
        parameter.grad = grad
    plot.gradient_histogram(neuron, ax=ax)
    assert sum(histograms(ax)["Neuron, n = 2"][0]) == 2
    ax.figure.draw_without_rendering()


@pytest.mark.parametrize(
    ("model", "options", "error", "words"),
    [
        (nn.Module(), {}, ValueError, "Module.parameters() is empty"),
        ([Value(1.0)], {}, TypeError, "got list; pass the model itself"),
        (nn.Neuron(1), {"bins": 0}, ValueError, "a whole number from 1 on, got 0"),
    ],
)
def test_mistakes_about_models(model, options, error, words):
    with pytest.raises(error) as caught:
        plot.gradient_histogram(model, **options)
    assert words in str(caught.value)


# ---- all three ----------------------------------------------------------------------------------

PICTURES = {
    "boundary": lambda model, **on: plot.decision_boundary(
        model, SQUARE, [0, 1, 0, 1], resolution=5, **on
    ),
    "loss": lambda model, **on: plot.loss_curve([p * p for p in model.parameters()], **on),
    "gradients": lambda model, **on: plot.gradient_histogram(model, **on),
}


@pytest.mark.oracle
@pytest.mark.parametrize("draw", PICTURES.values(), ids=PICTURES)
def test_a_model_is_as_it_was_after_being_drawn(ax, draw):
    model = trained_once()
    before = state_of(model)
    draw(model, ax=ax)
    with no_grad():  # drawing without gradients is no reason to draw anything else
        draw(model, ax=ax.figure.add_subplot())
    assert state_of(model) == before


@pytest.mark.oracle
@pytest.mark.parametrize("draw", PICTURES.values(), ids=PICTURES)
def test_without_axes_a_figure_is_made(matplotlib, draw):
    from matplotlib import pyplot

    earlier = pyplot.get_fignums()
    ax = draw(trained_once())
    try:
        assert isinstance(ax, matplotlib.axes.Axes)
        assert ax.figure.number not in earlier
        ax.figure.draw_without_rendering()
    finally:
        pyplot.close(ax.figure)
    assert pyplot.get_fignums() == earlier


@pytest.mark.oracle
@pytest.mark.parametrize("draw", PICTURES.values(), ids=PICTURES)
def test_only_axes_are_drawn_on(ax, draw):
    with pytest.raises(
        TypeError, match="ax: got Figure; pass one Axes, such as figure.add_subplot"
    ):
        draw(trained_once(), ax=ax.figure)


@pytest.mark.oracle
@pytest.mark.parametrize("draw", PICTURES.values(), ids=PICTURES)
def test_a_mistake_leaves_no_figure_behind(matplotlib, draw):
    from matplotlib import pyplot

    earlier = pyplot.get_fignums()
    with pytest.raises((TypeError, ValueError, AttributeError)):
        draw(nn.Module())
    assert pyplot.get_fignums() == earlier
