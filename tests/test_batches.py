"""Rows in blocks and in lanes: which is chosen, how blocks are cut, what is left to lanes."""

from __future__ import annotations

import math

import pytest
from blocks import in_blocks

import minigrad
from minigrad import GuardError, Value, loss, nn, optim, take, vmap

np = pytest.importorskip("numpy")

# ruff: noqa: E402
from minigrad.compiler import batches
from minigrad.compiler.batches import Given, block_size, blocks_of

near = pytest.approx
SIZES = 3, 8, 8, 2


@pytest.fixture
def always(monkeypatch):
    """Have rows run in blocks first, however small the function is."""
    for name in ("_PRODUCTS", "_REUSE", "_SHARE"):
        monkeypatch.setattr(batches, name, 0)


def network(seed=0, **more):
    model = nn.MLP(SIZES[0], [*SIZES[1:]], seed=seed, activation="tanh", **more)

    def function(x, label):
        return loss.cross_entropy(model(list(x)), label)

    return model, function


def examples(count, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(count, SIZES[0])), rng.integers(0, SIZES[-1], count)


def one_by_one(model, function, xs, labels):
    """Losses, and the gradient of their sum, on the eager engine."""
    for p in model.parameters():
        p.grad = 0.0
    losses = [function(x, int(label)) for x, label in zip(xs.tolist(), labels, strict=True)]
    for one in losses:
        one.backward()
    return [one.data for one in losses], [p.grad for p in model.parameters()]


def by_parameter(model, grads):
    known = dict(zip(map(id, grads.parameters), grads.totals.tolist(), strict=True))
    return [known[id(p)] for p in model.parameters()]


# ---- which, and how large ------------------------------------------------------------------------


def chosen(function, *args):
    fast = vmap(function)
    fast(*args)
    return block_size(fast.compiled.dispatch.latest(), Given(args, "f"))


def test_blocks_are_for_functions_with_weights():
    model = nn.MLP(8, [16, 8, 2], seed=1)
    xs = np.ones((50, 8))
    assert chosen(lambda x: sum(model(list(x))), xs) == 52
    assert chosen(lambda x: sum(model(list(x))), xs[:1]) == 0
    _, function = network()
    assert chosen(function, *examples(50)) == 0  # small
    xs = np.linspace(1, 2, 50)
    assert chosen(lambda x: (x * 2).tanh(), xs) == 0
    w = Value(2.0)
    assert chosen(lambda x: (x * w).tanh(), xs) == 0
    assert chosen(lambda x: sum(v * v for v in x), np.ones((50, 100))) == 0


def test_sizes_are_few_and_depend_on_the_number_of_rows_alone():
    assert blocks_of(10, 32) == (32, 1)
    assert blocks_of(10, 128) == (128, 1)
    assert blocks_of(10, 100) == (104, 1)
    assert blocks_of(10, 1) == (1, 1)
    found = {blocks_of(1000, count)[0] for count in range(1, 3000)}
    assert len(found) < 60
    for own in (1, 77, 4033, 10**6):
        for count in (1, 2, 3, 17, 1000, 1300, 12345):
            size, blocks = blocks_of(own, count)
            assert size * blocks >= count  # all rows have a place,
            assert size * (blocks - 1) < count  # and no block is without any
            assert size <= 1024


@pytest.mark.usefixtures("always")
@pytest.mark.parametrize("count", [2, 3, 7, 8, 65])
@pytest.mark.parametrize("threads", [1, 2])
def test_several_blocks_the_last_of_them_short(count, threads, backend, monkeypatch):
    monkeypatch.setattr(batches, "_MOST", 3)
    model, function = network()
    xs, labels = examples(count)
    values, grads = vmap(function, backend=backend).value_and_grad(xs, labels, threads=threads)
    losses, slopes = one_by_one(model, function, xs, labels)
    assert values.tolist() == near(losses, rel=1e-12)
    assert by_parameter(model, grads) == near(slopes, rel=1e-11, abs=1e-13)
    for k in (0, count - 1):
        leaves = [Value(v) for v in xs[k]]
        assert grads[0][k].tolist() == near(
            minigrad.grad(function(leaves, int(labels[k])), leaves), rel=1e-11, abs=1e-14
        )
    assert not grads[1].any()


@pytest.mark.usefixtures("always")
def test_threads_change_nothing(backend, monkeypatch):
    monkeypatch.setattr(batches, "_MOST", 4)
    _, function = network()
    fast = vmap(function, backend=backend)
    done = [fast.value_and_grad(*examples(30), threads=k) for k in (1, 2, 5)]
    for values, grads in done[1:]:
        assert values.tolist() == done[0][0].tolist()
        assert grads.totals.tolist() == done[0][1].totals.tolist()
        assert grads[0].tolist() == done[0][1][0].tolist()


def test_progress_counts_rows(monkeypatch):
    monkeypatch.setattr(batches, "_MOST", 4)
    _, function = network()
    given = Given(examples(10), "f")
    fast = vmap(function)
    fast(*given.args)
    spec = fast.compiled.dispatch.latest()
    seen = []
    blocks = batches.Blocks(spec, given, False)
    blocks.run(4, fast.compiled.dispatch.flat(given.first, {}), 1, seen.append)
    assert seen == [4, 8, 10]


@pytest.mark.usefixtures("always")
def test_weights_are_read_afresh(backend):
    model, function = network()
    xs, labels = examples(9)
    fast = vmap(function, backend=backend)
    fast(xs, labels)
    for p in model.parameters():
        p.data *= 1.5
    losses, _ = one_by_one(model, function, xs, labels)
    assert fast(xs, labels).tolist() == near(losses, rel=1e-12)
    assert fast.cache_info().traces == 1


# ---- what is left to lanes -----------------------------------------------------------------------


def gated(weights):
    def function(x):
        h = [sum(w * v for w, v in zip(row, x, strict=True)) for row in weights]
        return h[0] * 2 if x[0] > 0 else h[1] * 3

    return function


@pytest.mark.usefixtures("always")
def test_guards_in_each_row(backend):
    weights = [[Value(i + j * 1.0) for i in range(20)] for j in range(6)]
    fast = vmap(gated(weights), backend=backend)
    xs = np.abs(np.random.default_rng(0).normal(size=(11, 20)))
    with in_blocks(4):  # which would fail if lanes were asked
        values = fast(xs)
    first = xs @ np.arange(20.0)
    assert values.tolist() == near((2 * first).tolist())
    for row in (3, 4, 10):
        bad = xs.copy()
        bad[row, 0] = -1.0
        with pytest.raises(GuardError, match=rf"row {row} .*a branch, at .*test_batches.py"):
            fast(bad)
    bad = xs.copy()
    bad[:, 0] *= -1  # all of them the other way: another program
    assert fast(bad).tolist() == near((3 * (bad @ (1 + np.arange(20.0)))).tolist())
    assert fast(xs).tolist() == near((2 * first).tolist())
    assert fast.cache_info().traces == 2


@pytest.mark.usefixtures("always")
@pytest.mark.parametrize("strange", [math.inf, -math.inf, math.nan, 1e308])
def test_rows_that_are_not_finite_are_as_on_the_eager_engine(strange, backend):
    weights = [[Value(0.5 - 0.1 * (i % 3) + j) for i in range(16)] for j in range(6)]

    def function(x):
        h = [sum(w * v for w, v in zip(row, x, strict=True)) for row in weights]
        return minigrad.where(h[0] > 0, h[1] * h[2], h[3].tanh() + h[4] * 0.0)

    xs = np.random.default_rng(1).normal(size=(5, 16))
    xs[2, 3] = strange
    values, grads = vmap(function, backend=backend).value_and_grad(xs)
    total = np.zeros(96)
    for k, row in enumerate(xs.tolist()):
        leaves = [Value(v) for v in row]
        one = function(leaves)
        flat = [w for row in weights for w in row]
        slopes = minigrad.grad(one, [*leaves, *flat])
        assert values[k] == near(one.data, rel=1e-12, nan_ok=True)
        assert grads[0][k].tolist() == near(slopes[:16], rel=1e-11, nan_ok=True)
        total += slopes[16:]
    known = dict(zip(map(id, grads.parameters), grads.totals.tolist(), strict=True))
    found = [known.get(id(w), 0.0) for row in weights for w in row]
    assert found == near(total.tolist(), rel=1e-11, nan_ok=True)


@pytest.mark.usefixtures("always")
def test_a_block_that_is_not_finite_hides_no_other_way(backend):
    w = [Value(0.5 + k) for k in range(8)]

    def function(xs):
        total = minigrad.dot(w, xs)
        return total.log() if total < 100.0 else total * 1.0

    xs = np.full((12, 8), 0.5)
    xs[0] = 0.0
    fast = vmap(function, backend=backend)
    step = minigrad.train_step(fast, optim.SGD(w, lr=0.1), backend=backend)
    assert fast(xs)[0] == -math.inf
    xs[9] = 50.0
    for call in (fast, step):
        with pytest.raises(GuardError, match="row 9 would take another way"):
            call(xs)


@pytest.mark.usefixtures("always")
def test_an_index_that_is_no_row(backend):
    table = [[Value(i + j * 1.0) for i in range(30)] for j in range(6)]
    fast = vmap(lambda i, x: minigrad.dot(take(table, i), list(x)), backend=backend)
    xs = np.ones((3, 30))
    fast(np.array([0, 5, -6]), xs)
    with pytest.raises(IndexError):
        fast(np.array([0, 6, 1]), xs)
    _, function = network()
    with pytest.raises(IndexError):
        vmap(function, backend=backend)(examples(3)[0], np.array([0, 1, 2]))


# ---- training ------------------------------------------------------------------------------------

OPTIMISERS = {
    "SGD": lambda w: optim.SGD(w, lr=0.1, momentum=0.9),
    "Adam": lambda w: optim.Adam(w, lr=0.01),
}


def by_hand(model, function, optimizer, steps):
    """A training loop over batches on the eager engine."""
    losses = []
    for xs, labels in steps:
        optimizer.zero_grad()
        each = [function(x, int(k)) for x, k in zip(xs.tolist(), labels, strict=True)]
        mean = sum(each) / len(each)
        mean.backward()
        optimizer.step()
        losses.append(mean.data)
    return losses


@pytest.mark.parametrize("name", OPTIMISERS)
@pytest.mark.parametrize("most", [3, 1024])
def test_training_on_batches(name, most, backend, monkeypatch):
    monkeypatch.setattr(batches, "_MOST", most)
    steps = [examples(count, seed) for seed, count in enumerate((8, 8, 7, 1, 8))]
    model, function = network()
    wanted = by_hand(model, function, OPTIMISERS[name](model.parameters()), steps)
    other, function = network()
    optimizer = OPTIMISERS[name](other.parameters())
    step = minigrad.train_step(vmap(function), optimizer, backend=backend)
    assert [step(*rows) for rows in steps] == near(wanted, rel=1e-11)
    pairs = list(zip(other.parameters(), model.parameters(), strict=True))
    assert [p.data for p, _ in pairs] == near([q.data for _, q in pairs], rel=1e-10, abs=1e-12)
    assert [p.grad for p, _ in pairs] == near([q.grad for _, q in pairs], rel=1e-9, abs=1e-12)
    assert (optimizer.steps, step.uncompiled) == (5, 0)
    assert step.compiled.cache_info().traces == 1


def test_weights_with_a_bias_behind_each_row(backend):
    """Large layers of neurons: their slopes are no range, and are written all the same."""
    rng = np.random.default_rng(5)
    w, b = rng.normal(size=(70, 64)) / 8, rng.normal(size=70)
    neurons = [([Value(x) for x in row], Value(y)) for row, y in zip(w, b, strict=True)]
    flat = [v for row, bias in neurons for v in (*row, bias)]

    def function(x):
        sums = [sum((u * v for u, v in zip(row, x, strict=True)), bias) for row, bias in neurons]
        return sum(s.tanh() for s in sums)

    step = minigrad.train_step(vmap(function), optim.SGD(flat, lr=0.01), backend=backend)
    xs = rng.normal(size=(6, 64))
    for _ in range(3):  # what a step before has left behind counts for nothing
        h = np.tanh(xs @ w.T + b)
        assert step(xs) == near(h.sum() / 6, rel=1e-12)
        d = (1 - h * h) / 6
        slopes = np.column_stack([d.T @ xs, d.sum(axis=0)])
        w, b = w - 0.01 * slopes[:, :-1], b - 0.01 * slopes[:, -1]
        assert [v.grad for v in flat] == near(slopes.ravel().tolist(), rel=1e-11, abs=1e-13)
    assert [v.data for v in flat] == near(np.column_stack([w, b]).ravel().tolist(), rel=1e-12)


def test_values_that_a_step_reads_and_leaves_alone(backend):
    w, scale = [Value(0.1 * k) for k in range(4)], Value(2.0)
    step = minigrad.train_step(
        vmap(lambda x, shift: (minigrad.dot(w, list(x)) * scale - shift) ** 2),
        optim.SGD(w, lr=0.5),
        backend=backend,
    )
    xs = np.arange(12.0).reshape(3, 4) / 10
    for factor in (2.0, 3.0):
        scale.data = factor
        weights = np.array([v.data for v in w])
        errors = xs @ weights * factor - 0.25
        assert step(xs, 0.25) == near((errors**2).mean())
        moved = weights - 0.5 * (2 * errors * factor) @ xs / 3
        assert [v.data for v in w] == near(moved.tolist())
    assert scale.data == 3.0


def test_a_step_with_a_row_that_takes_another_way_is_not_taken(backend):
    weights = [[Value(0.1 * (i + j)) for i in range(5)] for j in range(6)]
    flat = [w for row in weights for w in row]
    step = minigrad.train_step(vmap(gated(weights)), optim.SGD(flat, lr=0.1), backend=backend)
    xs = np.ones((4, 5))
    step(xs)
    before, grads = [w.data for w in flat], [w.grad for w in flat]
    xs[2, 0] = -1.0
    with pytest.raises(GuardError, match="row 2 would take another way"):
        step(xs)
    assert [w.data for w in flat] == before
    assert [w.grad for w in flat] == grads
    assert step.optimizer.steps == 1
    xs[:, 0] = -1.0
    step(xs)
    assert step.optimizer.steps == 2


@pytest.mark.filterwarnings("ignore")
def test_a_step_that_is_not_finite_is_as_on_the_eager_engine(backend):
    def made():
        w = [Value(0.5), Value(2.0)]
        return w, lambda x: minigrad.where(x[0] > 0, (w[0] * x[0]).log(), w[1] * x[1] / 1e-300)

    xs = np.array([[1.0, 2.0], [-1.0, 1e300], [2.0, 1.0]])
    w, function = made()
    optimizer = optim.SGD(w, lr=0.1)
    each = [function(row) for row in xs.tolist()]
    (sum(each) / 3).backward()
    optimizer.step()
    v, function = made()
    step = minigrad.train_step(vmap(function), optim.SGD(v, lr=0.1), backend=backend)
    assert step(xs) == (sum(each) / 3).data == math.inf
    assert [x.data for x in v] == near([x.data for x in w])
    assert [x.grad for x in v] == near([x.grad for x in w])
    assert step.optimizer.steps == 1


def test_without_a_program(backend):
    """Inside strict(), and with an optimiser whose step is its own: row after row."""

    class Own(optim.SGD):
        def step(self):
            super().step()

    for make, strict in ((optim.SGD, True), (Own, False)):
        xs, labels = examples(4)
        model, function = network()
        wanted = by_hand(model, function, optim.SGD(model.parameters(), lr=0.1), [(xs, labels)])
        other, function = network()
        step = minigrad.train_step(
            vmap(function), make(other.parameters(), lr=0.1), backend=backend
        )
        if strict:
            with minigrad.strict():
                assert step(xs, labels) == near(wanted[0])
        else:
            assert step(xs, labels) == near(wanted[0])
        assert step.uncompiled == 1
        assert [p.data for p in other.parameters()] == near([p.data for p in model.parameters()])


def test_bad_input():
    model, function = network()
    step = minigrad.train_step(vmap(function), optim.SGD(model.parameters(), lr=0.1))
    with pytest.raises(TypeError, match="no argument is a NumPy array"):
        step([1.0, 2.0, 3.0], 0)
    with pytest.raises(TypeError, match="no arguments by name"):
        step(*examples(3), more=1)
    with pytest.raises(ValueError, match="arrays of 2, 3 rows"):
        step(np.ones((2, 3)), np.zeros(3, dtype=int))
    with pytest.raises(TypeError, match="batch='rows'"):
        minigrad.train_step(vmap(function), step.optimizer, backend="jax")
