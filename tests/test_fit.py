"""`fit` gives the numbers of the loop that it stands for, and says what went wrong."""

from __future__ import annotations

import io
import math
import random
import sys
from types import SimpleNamespace

import pytest
from conftest import oracle

import minigrad
from minigrad import Value, datasets, loss, nn, no_grad, optim, take
from minigrad.core import progress
from minigrad.history import History

fitting = sys.modules["minigrad.fit"]  # minigrad.fit is the function

XS = [[2.0, 3.0, -1.0], [3.0, -1.0, 0.5], [0.5, 1.0, 1.0], [1.0, 1.0, -1.0]]
YS = [1.0, -1.0, -1.0, 1.0]


def network(seed=1, sizes=(4, 4, 1), **options):
    return nn.MLP(3, list(sizes), seed=seed, **options)


def data_of(model):
    return [parameter.data for parameter in model.parameters()]


def ten_lines(model, xs, ys, lossfn, optimizer, steps, batch=None, seed=0):
    """The loop that everybody writes."""
    rng = random.Random(seed)
    losses = []
    for _ in range(steps):
        chosen = range(len(xs)) if batch is None else rng.sample(range(len(xs)), batch)
        total = lossfn([model(xs[k]) for k in chosen], [ys[k] for k in chosen])
        optimizer.zero_grad()
        total.backward()
        optimizer.step()
        losses.append(total.data)
    return losses


MAKERS = {
    "sgd": lambda parameters: optim.SGD(parameters, lr=0.05),
    "adam": lambda parameters: optim.Adam(parameters, lr=optim.cosine(0.05, 0.001, 30)),
}


@pytest.mark.smoke
@pytest.mark.parametrize("name", MAKERS)
@pytest.mark.parametrize("batch", [None, 3])
@pytest.mark.parametrize("compiled", [False, True])
def test_it_gives_the_numbers_of_the_loop(name, batch, compiled):
    ours, theirs = network(), network()
    expected = ten_lines(
        theirs, XS, YS, loss.mse, MAKERS[name](theirs.parameters()), 30, batch, seed=7
    )
    history = minigrad.fit(
        ours, XS, YS, loss="mse", optimizer=MAKERS[name](ours.parameters()), steps=30, batch=batch,
        seed=7, compiled=compiled, progress=False,
    )  # fmt: skip
    tolerance = {"rel": 1e-9, "abs": 1e-12} if compiled else {"rel": 0.0, "abs": 0.0}
    assert history.losses == pytest.approx(expected, **tolerance)
    assert data_of(ours) == pytest.approx(data_of(theirs), **tolerance)
    with no_grad():
        after = loss.mse([theirs(x) for x in XS], YS).data
    assert history.loss == pytest.approx(after, rel=1e-9)


def test_it_learns_what_pytorch_learns(torch):
    model = network(activation="tanh")
    layers = []
    for layer in model.layers:
        linear = torch.nn.Linear(len(layer.neurons[0].w), len(layer.neurons), dtype=torch.float64)
        with torch.no_grad():
            linear.weight[:] = torch.tensor([[w.data for w in n.w] for n in layer.neurons])
            linear.bias[:] = torch.tensor([n.b.data for n in layer.neurons])
        layers += [linear, torch.nn.Tanh()]
    theirs = torch.nn.Sequential(*layers[:-1])
    mover = torch.optim.Adam(theirs.parameters(), lr=0.05)
    xs, ys = torch.tensor(XS, dtype=torch.float64), torch.tensor(YS, dtype=torch.float64)
    expected = []
    for _ in range(40):
        total = torch.nn.functional.mse_loss(theirs(xs)[:, 0], ys)
        expected.append(total.item())
        mover.zero_grad()
        total.backward()
        mover.step()
    history = minigrad.fit(model, XS, YS, loss="mse", steps=40, progress=False)  # Adam, 0.05
    assert history.losses == pytest.approx(expected, rel=1e-6)


# ---- data ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["arrays", "list of arrays", "column", "tuples"])
def test_data_may_be_arrays_and_columns(kind):
    numpy = oracle("numpy")
    xs, ys = {
        "arrays": (numpy.array(XS), numpy.array(YS)),
        "list of arrays": ([numpy.array(x) for x in XS], list(numpy.array(YS))),
        "column": (numpy.array(XS), numpy.array(YS).reshape(-1, 1)),
        "tuples": (tuple(map(tuple, XS)), tuple(YS)),
    }[kind]
    for compiled in (False, True):
        model = network()
        found = minigrad.fit(model, xs, ys, steps=5, compiled=compiled, progress=False)
        plain = minigrad.fit(network(), XS, YS, steps=5, compiled=compiled, progress=False)
        assert found.losses == plain.losses
        assert found.accuracy == plain.accuracy


def test_classes_and_probabilities():
    xs, ys = datasets.moons(40, seed=3)
    classes = [(y + 1) // 2 for y in ys]
    several = minigrad.fit(
        nn.MLP(2, [8, 2], seed=1), xs, [float(k) for k in classes], loss="cross_entropy",
        steps=150, progress=False,
    )  # fmt: skip
    one = minigrad.fit(
        nn.MLP(2, [8, 1], seed=1), xs, classes, loss="binary_cross_entropy", steps=150,
        progress=False,
    )  # fmt: skip
    for history in (several, one):
        model = history.model
        with no_grad():
            outputs = [model(x) for x in xs]
        if history is several:
            right = [(a.data < b.data) == k for (a, b), k in zip(outputs, classes, strict=True)]
            p = [math.exp(o[k].data) / sum(math.exp(v.data) for v in o)
                 for o, k in zip(outputs, classes, strict=True)]  # fmt: skip
        else:
            right = [(o.data > 0) == k for o, k in zip(outputs, classes, strict=True)]
            p = [1 / (1 + math.exp(-o.data if k else o.data))
                 for o, k in zip(outputs, classes, strict=True)]  # fmt: skip
        assert history.accuracy == sum(right) / 40 > 0.9
        assert history.loss == pytest.approx(-sum(map(math.log, p)) / 40)


def test_numbers_have_no_accuracy():
    history = minigrad.fit(
        nn.MLP(1, [4, 1], seed=1), [[0.0], [1.0]], [0.5, 2.0], "mse", steps=3, progress=False
    )
    assert (history.accuracy, history.accuracies) == (None, {})
    assert "accuracy" not in str(history)


class Table(nn.Module):
    """A model whose examples are no lists of numbers."""

    def __init__(self):
        self.rows = [Value(0.0) for _ in range(3)]

    def parameters(self):
        return self.rows

    def __call__(self, index):
        return take(self.rows, index)


def test_a_model_of_ones_own_and_a_loss_of_ones_own():
    def far(outputs, targets):
        return sum((o - t) ** 2 for o, t in zip(outputs, targets, strict=True))

    model = Table()
    history = minigrad.fit(
        model, [0, 1, 2], [1.0, -2.0, 0.5], far, optim.SGD(model.parameters(), lr=0.25), 40,
        progress=False,
    )  # fmt: skip
    assert data_of(model) == pytest.approx([1.0, -2.0, 0.5], abs=1e-9)  # each step halves it
    assert history.losses[:2] == pytest.approx([5.25, 5.25 / 4])
    assert "compiled" in history.how


# ---- how it is run -------------------------------------------------------------------------------


def said(capsys):
    captured = capsys.readouterr()
    assert captured.out == ""
    return captured.err


def test_it_says_in_one_line_whether_it_is_compiled(capsys, monkeypatch):
    minigrad.fit(network(), XS, YS, steps=19)
    assert said(capsys) == (
        "fit: 19 steps of 4 examples, not compiled: that pays from 20 steps on\n"
    )
    minigrad.fit(network(), XS, YS, steps=20, batch=1)
    assert said(capsys).startswith("fit: 20 steps of 1 example, compiled, and run by ")
    minigrad.fit(network(), XS, YS, steps=20, compiled=False)
    assert "not compiled, as asked" in said(capsys)
    monkeypatch.setattr(fitting, "find_spec", lambda name: None)
    minigrad.fit(network(), XS, YS, steps=20)
    assert "not compiled: that needs NumPy, which is not installed" in said(capsys)
    with pytest.raises(ImportError, match="python -m pip install numpy"):
        minigrad.fit(network(), XS, YS, steps=20, compiled=True)
    minigrad.fit(network(), XS, YS, steps=20, progress=False)
    assert said(capsys) == ""


class Untraceable(Table):
    """It looks at a number in a way that no program can follow."""

    def __call__(self, index):
        value = self.rows[index]
        value.backward()
        return value


def test_what_cannot_be_compiled_runs_as_it_is_and_says_why(capsys):
    model = Untraceable()
    history = minigrad.fit(model, [0, 1], [1.0, -1.0], "mse", steps=30)
    text = said(capsys)
    assert text.startswith("fit: 30 steps of 2 examples, not compiled: ")
    assert "backward" in text
    assert text.count("\n") == 1
    assert history.how.startswith("not compiled")
    assert history.loss < history.losses[0]


class Counting(Table):
    """It changes what it reads, as no program does."""

    def __init__(self):
        super().__init__()
        self.calls = 0.0

    def __call__(self, index):
        self.calls += 1.0
        return self.rows[index] * (1.0 + 0.0 * self.calls)


class OwnStep(optim.SGD):
    def step(self):
        super().step()


@pytest.mark.filterwarnings("ignore:.*runs uncompiled")
def test_steps_that_a_compiled_training_takes_uncompiled_are_called_that(capsys):
    history = minigrad.fit(Counting(), [0, 1], [1.0, -1.0], "mse", steps=30, progress=False)
    assert "not compiled: " in history.how
    assert "which it reads" in history.how
    model = Table()
    optimizer = OwnStep(model.parameters(), lr=0.1)
    history = minigrad.fit(model, [0, 1], [1.0, -1.0], "mse", optimizer, steps=30)
    assert history.how == "not compiled: the optimiser has a step() of its own"
    assert history.how in said(capsys)


@pytest.mark.parametrize("compiled", [False, True])
def test_ctrl_c_keeps_what_was_learned(compiled, capsys, monkeypatch):
    show = progress.Bar.update

    def interrupted(bar, done, text):
        if done == 7:
            raise KeyboardInterrupt
        show(bar, done, text)

    monkeypatch.setattr(progress.Bar, "update", interrupted)
    model, theirs = network(), network()
    history = minigrad.fit(model, XS, YS, steps=1000, compiled=compiled)
    assert history.steps == 7
    assert "fit: interrupted after 7 steps, and what was learned is kept\n" in said(capsys)
    expected = ten_lines(theirs, XS, YS, loss.hinge, optim.Adam(theirs.parameters(), 0.05), 7)
    assert history.losses == pytest.approx(expected)
    assert data_of(model) == pytest.approx(data_of(theirs))
    assert "interrupted" in repr(history)


def test_a_long_training_that_is_ended_early_was_looked_at(monkeypatch):
    def interrupted(bar, done, text):
        if done == 40:
            raise KeyboardInterrupt

    monkeypatch.setattr(fitting._Quiet, "update", interrupted)
    history = minigrad.fit(network(), XS, YS, steps=10**9, compiled=False, progress=False)
    assert list(history.accuracies) == [0, 1, 2, 4, 8, 16, 32]


def test_interrupted_at_once_there_is_still_a_history(monkeypatch):
    def never(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(fitting, "_accuracy", never)
    model = network()
    before = data_of(model)
    history = minigrad.fit(model, XS, YS, progress=False)
    assert (history.steps, data_of(model)) == (0, before)
    assert str(history).splitlines()[-1].split()[0] == "0"
    assert "loss ?" in repr(history)


def test_a_loss_that_is_lost_ends_it(capsys):
    model = Table()
    history = minigrad.fit(
        model, [0], [1.0], lambda o, t: (o[0] - t[0]) ** 2,
        optim.SGD(model.parameters(), lr=1e200), 100, compiled=False,
    )  # fmt: skip
    assert history.steps < 10
    assert "take a smaller learning rate" in said(capsys)
    assert "take a smaller learning rate" in repr(history)
    assert not math.isfinite(model.parameters()[0].data)
    assert repr(history).count("the numbers of the model are lost, so make it anew") == 1


@pytest.mark.parametrize(
    ("name", "last", "ys"),
    [("binary_cross_entropy", 1, [0, 0]), ("cross_entropy", 2, [0, 0]), ("hinge", 1, [1, -1])],
)
def test_nan_is_no_right_answer(name, last, ys):
    xs = [[math.nan, 1.0, 1.0], [1.0, math.nan, 1.0]]
    history = minigrad.fit(network(sizes=(2, last)), xs, ys, name, steps=1, progress=False)
    assert (history.accuracy, history.accuracies[0]) == (0.0, 0.0)


# ---- mistakes -----------------------------------------------------------------------------------

TWO = nn.MLP(3, [2], seed=1)
ONE = nn.MLP(3, [1], seed=1)


@pytest.mark.parametrize(
    ("given", "error", "words"),
    [
        ({"ys": YS[:3]}, ValueError, "4 examples in xs, but 3 targets in ys; give one target for"),
        ({"xs": [], "ys": []}, ValueError, "there is no example; give at least one"),
        ({"xs": "abcd"}, TypeError, "xs"),
        ({"xs": 3.0}, TypeError, "give a list"),
        ({"ys": [0, 1, 1, 0]}, ValueError, "got 0; write [2*y - 1 for y in ys]"),
        ({"loss": "hinges"}, ValueError, "loss='hinges'): choose one of hinge, mse, binary"),
        ({"loss": "cross_entropy", "ys": [0, 1, 1, 0]}, ValueError, "a layer of as many, or take"),
        ({"loss": "cross_entropy", "ys": ["a"] * 4}, ValueError, "write classes.index(y) for"),
        ({"loss": "cross_entropy", "ys": [0.5] * 4}, ValueError, "0, 1, 2, …, got 0.5"),
        ({"model": TWO}, ValueError, "returns 2 numbers for an example, and this loss takes one"),
        ({"model": TWO.parameters}, TypeError, "something to call with an example that has param"),
        ({"model": lambda x: x}, TypeError, "got function; give something to call"),
        ({"steps": 0}, ValueError, "steps=0): a whole number from 1 on"),
        ({"steps": 1.5}, ValueError, "steps=1.5): a whole number from 1 on"),
        ({"batch": 0}, ValueError, "batch=0): a whole number from 1 on"),
        ({"batch": 5}, ValueError, "there are 4 examples; leave batch out to take all"),
        ({"optimizer": "adma"}, ValueError, "choose one of adam, adamw, sgd, or give an opt"),
        ({"optimizer": 0.1}, TypeError, "got float; give an optimiser, such as optim.SGD(model"),
        ({"optimizer": lambda p: p}, TypeError, "got list; give an optimiser"),
        ({"optimizer": optim.SGD(ONE.parameters())}, ValueError, "moves none of model.parameters"),
        ({"loss": lambda outputs, ys: 3.0}, TypeError, "the loss is a float, which has no gradie"),
    ],
    ids=lambda given: "",
)
def test_mistakes_name_the_remedy(given, error, words):
    call = {"model": network(), "xs": XS, "ys": YS, "steps": 3, **given}
    with pytest.raises(error) as caught:
        minigrad.fit(progress=False, **call)
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


def test_inside_no_grad_nothing_could_be_learned():
    with no_grad(), pytest.raises(RuntimeError, match="fit inside no_grad.* call it outside"):
        minigrad.fit(network(), XS, YS, progress=False)


@pytest.mark.parametrize("given", ["adam", "SGD", "adamw", optim.SGD, None])
def test_optimisers_by_name_and_by_class(given):
    history = minigrad.fit(network(), XS, YS, optimizer=given, steps=30, progress=False)
    assert history.loss < history.losses[0]


# ---- what comes back ----------------------------------------------------------------------------


def finished():
    losses = [1.0 / (k + 1) for k in range(200)]
    accuracies = {k: 0.5 + k / 400 for k in range(0, 200, 4)}
    made = History(ONE, [[0.0, 1.0], [1.0, 0.0]], [-1, 1], how="compiled")
    made.losses, made.accuracies, made.loss, made.accuracy = losses, accuracies, 0.004, 1.0
    made.seconds = 1.25
    return made


@pytest.mark.smoke
def test_a_history_prints_as_a_table():
    lines = str(finished()).splitlines()
    assert lines[0] == "200 steps in 1.25 s, compiled"
    assert lines[1].split() == ["step", "loss", "accuracy"]
    assert [line.split()[0] for line in lines[2:]] == [f"{20 * k}" for k in range(11)]
    assert lines[2].split() == ["0", "1", "50%"]
    assert lines[3].split() == ["20", "0.04762", "55%"]
    assert lines[-1].split() == ["200", "0.004", "100%"]
    assert len({len(line) for line in lines[1:]}) == 1
    assert repr(finished()) == (
        "<History: loss 1 to 0.004, accuracy 100%; 200 steps in 1.25 s, compiled>"
    )
    assert finished()._repr_html_().count("<tr>") == 12


def test_a_history_draws_itself():
    oracle("matplotlib").use("agg")
    from matplotlib import pyplot

    xs, ys = datasets.xor(20)
    history = minigrad.fit(nn.MLP(2, [8, 1], seed=1), xs, ys, steps=25, progress=False)
    curve, boundary = history.plot()
    assert list(curve.lines[0].get_ydata()) == [*history.losses, history.loss]
    assert "20 points right" in boundary.get_title()
    alone = history.plot(ax=pyplot.figure().add_subplot())
    assert len(alone.lines) == 1
    (only,) = minigrad.fit(network(), XS, YS, steps=5, batch=2, progress=False).plot()
    assert len(only.lines[0].get_ydata()) == 5
    two = minigrad.fit(nn.MLP(2, [4, 2], seed=1), xs, [y > 0 for y in ys], "cross_entropy", steps=5,
                       progress=False)  # fmt: skip
    assert len(two.plot()) == 2
    pyplot.close("all")


# ---- progress ----------------------------------------------------------------------------------


class Terminal(io.StringIO):
    encoding = "utf-8"

    def isatty(self):
        return True


def test_a_terminal_shows_a_bar_with_loss_and_accuracy(monkeypatch):
    oracle("rich")
    screen = Terminal()
    monkeypatch.setattr(sys, "stderr", screen)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "120")
    minigrad.fit(network(), XS, YS, steps=30)
    text = screen.getvalue()
    assert "30/30" in text
    assert "loss 0." in text
    assert "accuracy " in text


def test_a_notebook_shows_a_bar_too(monkeypatch, capsys):
    pages = []
    handle = SimpleNamespace(update=pages.append)
    display = SimpleNamespace(HTML=str, display=lambda page, **_: pages.append(page) or handle)
    monkeypatch.setattr(progress, "_notebook", lambda: display)
    minigrad.fit(network(), XS, YS, steps=30)
    assert '<progress value="30" max="30"' in pages[-1]
    assert "accuracy " in pages[-1]
    assert "compiled" in capsys.readouterr().out


class Indexing:
    """A model as one writes it by hand, for an example that is a list."""

    def __init__(self):
        self.w = Value(1.0)

    def __call__(self, x):
        return self.w * x[0]

    def parameters(self):
        yield self.w


class Around(nn.Module):
    def __init__(self):
        self.net = nn.MLP(1, [1])

    def __call__(self, x):
        return self.net(x)


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("make", [lambda: nn.MLP(1, [1]), lambda: nn.Neuron(1), Around, Indexing])
def test_plain_numbers_for_a_model_that_takes_lists(make, compiled):
    numbers = [1.0, 2.0]
    with pytest.raises(TypeError, match=r"plain numbers.*write \[\[x\] for x in xs\]"):
        minigrad.fit(make(), numbers, numbers, "mse", compiled=compiled, progress=False)
    as_told = [[x] for x in numbers]
    history = minigrad.fit(make(), as_told, numbers, "mse", steps=2, compiled=compiled)
    assert history.steps == 2


@pytest.mark.parametrize("compiled", [None, True, False])
@pytest.mark.parametrize("wrong", [lambda o, t: (o - t) ** 2, lambda o, t: o.tanh() * t])
def test_a_loss_of_a_single_example_is_told_what_it_gets(wrong, compiled):
    model = nn.MLP(2, [1], seed=1)
    with pytest.raises((TypeError, AttributeError)) as caught:
        minigrad.fit(
            model, [[1, 2], [2, 3]], [1, -1], loss=wrong, compiled=compiled, progress=False
        )
    (note,) = caught.value.__notes__
    assert "called once for all examples" in note
    rewritten = note.rpartition("targets: ")[2].rstrip(".")
    loss = eval(f"lambda outputs, targets: {rewritten}")
    history = minigrad.fit(model, [[1, 2], [2, 3]], [1, -1], loss=loss, steps=2, progress=False)
    first, second = (nn.MLP(2, [1], seed=1)(x).data for x in ([1, 2], [2, 3]))
    assert history.losses[0] == pytest.approx(((first - 1) ** 2 + (second + 1) ** 2) / 2)


@pytest.mark.parametrize("compiled", [False, True])
def test_other_errors_stay_as_they_are(compiled):
    class Broken(Table):
        def __call__(self, index):
            return self.rows[index] + None

    with pytest.raises(TypeError, match="None"):
        minigrad.fit(Broken(), [0, 1], [1.0, 2.0], "mse", compiled=compiled, progress=False)


@pytest.mark.parametrize("kind", [nn.MLP, Table, Indexing])
def test_a_class_is_no_model_yet(kind):
    words = rf"got the class {kind.__name__}; make a model of it first: model = {kind.__name__}\("
    with pytest.raises(TypeError, match=words):
        minigrad.fit(kind, [0, 1], [1.0, 2.0], "mse", progress=False)
