"""Scalar code back into tensor programs: what is recognised, and that nothing is changed by it."""

from __future__ import annotations

import itertools
import math
import random
from collections import Counter
from dataclasses import replace
from math import inf, nan

import networks
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import minigrad
from minigrad import Value, take
from minigrad.nn import MLP

np = pytest.importorskip("numpy")

from minigrad.compiler.ir.program import Instruction, verify  # noqa: E402
from minigrad.compiler.ir.refs import Ref  # noqa: E402

near = pytest.approx


def lifted(tree):
    """What a compiled function makes of its arguments: Values of all that is no whole number."""
    if isinstance(tree, (list, tuple)):
        return [lifted(part) for part in tree]
    return Value(tree) if isinstance(tree, float) else tree


def compiled(function, *args, backend="numpy"):
    """Compile and call; compare value and gradients with the eager engine's; return the program."""
    fast = minigrad.compile(function, backend=backend)
    value, grads = fast.value_and_grad(*args)
    parameters = list(grads.parameters)
    expected = function(*lifted(args))
    assert value == near(expected.data, rel=1e-12, abs=1e-13, nan_ok=True)
    slopes = minigrad.grad(expected, parameters)
    size = max(map(abs, slopes), default=1.0)
    assert [grads[p] for p in parameters] == near(slopes, rel=1e-11, abs=1e-12 * size, nan_ok=True)
    return fast.program


def products(program):
    return [step.shape for step in program.instructions if step.kind == "mm"]


def kinds(program):
    return Counter(step.kind for step in program.instructions)


# ---- what is recognised --------------------------------------------------------------------------


def test_the_program_of_a_neuron(backend):
    @minigrad.compile(backend=backend)
    def neuron(x1, x2, w1, w2, b):
        return (x1 * w1 + x2 * w2 + b).tanh()

    neuron(2.0, 0.0, -3.0, 1.0, 6.8813735870195432)
    lines = [line.split() for line in str(neuron.program).splitlines()]
    assert lines == [
        ["inputs", "v0…4"],
        ["v5", "=", "dot", "1×2", "v0…1", "v2…3", "v4"],
        ["v6", "=", "tanh", "1", "v5"],
        ["results", "v6"],
    ]


@pytest.mark.smoke
def test_an_mlp_is_three_matrix_products(backend):
    points, labels = networks.moons()
    model = MLP(2, [16, 16, 1], seed=1)
    program = compiled(
        lambda xs, ys: networks.demo_loss(model, xs, ys)[0], points, labels, backend=backend
    )
    sizes = sorted(sorted(shape) for shape in products(program))
    assert sizes[-2:] == [[2, 16, 100], [16, 16, 100]]
    assert len(program.instructions) < 25


def gpt(p, layers=1):
    class Rows:
        def __init__(self, rows):
            self.rows = rows

        def __getitem__(self, i):
            return take(self.rows, i)

    def loss(tokens):
        keys, values, losses = [], [], []
        for position in range(len(tokens) - 1):
            logits = networks.gpt_logits(
                {**p, "tokens": Rows(p["tokens"])}, tokens[position], position, keys, values
            )
            chosen = take(networks.softmax(logits), tokens[position + 1])
            losses.append(-chosen.log())
        return sum(losses) * (1 / len(losses))

    return loss


def test_a_gpt_has_the_same_instructions_at_any_length():
    p = networks.gpt_parameters(Value)
    loss = minigrad.compile(gpt(p), backend="numpy")
    rng = random.Random(3)
    counts, shapes = [], []
    for length in (4, 8, 16):
        tokens = [rng.randrange(27) for _ in range(length + 1)]
        value, grads = loss.value_and_grad(tokens)
        counts.append(len(loss.program.instructions))
        shapes.append(len(products(loss.program)))
        minigrad.zero_grad(networks.flat(p))
        expected = networks.gpt_loss(p, tokens)
        expected.backward()
        assert value == near(expected.data, rel=1e-12)
        assert [grads[v] for v in grads.parameters] == near(
            [v.grad for v in grads.parameters], rel=1e-9, abs=1e-13
        )
        other = [rng.randrange(27) for _ in range(length + 1)]
        assert loss(other).data == near(networks.gpt_loss(p, other).data, rel=1e-12)
    assert len(set(counts)) == 1
    assert counts[0] < 80
    assert min(shapes) >= 5  # query, key and value in one or in three; out, up, down, head
    assert loss.cache_info().traces == 3


def test_a_gpt_of_another_width():
    p = networks.gpt_parameters(Value, width=32, block=4, vocabulary=5)
    program = compiled(gpt(p), [0, 3, 1])
    assert len(products(program)) >= 5


def deep_gpt(layers=2, width=32, heads=4, vocabulary=5, block=6):
    """A GPT of several layers, and its parameters."""
    rng = random.Random(8)
    linear, rmsnorm, size = networks.linear, networks.rmsnorm, width // heads

    def matrix(rows, columns=width):
        return [[Value(rng.gauss(0, 0.1)) for _ in range(columns)] for _ in range(rows)]

    tokens, positions, head = matrix(vocabulary), matrix(block), matrix(vocabulary)
    squares = [[matrix(width) for _ in range(4)] for _ in range(layers)]
    fans = [(matrix(2 * width), matrix(width, 2 * width)) for _ in range(layers)]

    def plus(x, y):
        return [a + b for a, b in zip(x, y, strict=True)]

    def attend(query, keys, values):
        for start in range(0, width, size):
            part = slice(start, start + size)
            scores = [linear(query[part], [key[part]])[0] / size**0.5 for key in keys]
            columns = zip(*(value[part] for value in values), strict=True)
            yield from linear(networks.softmax(scores), columns)

    def loss(text):
        past, losses = [([], []) for _ in range(layers)], []
        for position, (token, wanted) in enumerate(itertools.pairwise(text)):
            x = plus(take(tokens, token), positions[position])
            for (query, key, value, out), (up, down), (keys, values) in zip(
                squares, fans, past, strict=True
            ):
                normed = rmsnorm(x)
                keys.append(linear(normed, key))
                values.append(linear(normed, value))
                attended = list(attend(linear(normed, query), keys, values))
                x = plus(x, linear(attended, out))
                x = plus(x, linear([h.relu() for h in linear(rmsnorm(x), up)], down))
            losses.append(-take(networks.softmax(linear(x, head)), wanted).log())
        return sum(losses) * (1 / len(losses))

    return loss


DEEP_GPT = deep_gpt()


def test_a_gpt_of_two_layers(backend):
    text = [3, 0, 4, 1]
    fast = minigrad.compile(DEEP_GPT, backend=backend)
    value, grads = fast.value_and_grad(text)
    expected = DEEP_GPT(text)
    parameters = list(grads.parameters)
    slopes = np.array(minigrad.grad(expected, parameters))
    assert len(parameters) > 2 * (4 + 4) * 32 * 32
    assert value == near(expected.data, rel=1e-12)
    differences = np.array([grads[p] for p in parameters]) - slopes
    assert np.abs(differences).max() <= 1e-12 * np.abs(slopes).max()


def test_a_gpt_of_two_layers_has_the_same_instructions_at_any_length():
    fast = minigrad.compile(DEEP_GPT, backend="numpy")
    counts = set()
    for text in ([3, 0, 4, 1], [2, 2, 0, 1, 4, 3, 0]):
        fast(text)
        counts.add(len(fast.program.instructions))
    assert len(counts) == 1


def test_a_recurrent_network():
    rng = random.Random(1)
    size, width, steps, batch = 3, 6, 4, 3
    inner = [[Value(rng.gauss(0, 0.5)) for _ in range(width)] for _ in range(width)]
    outer = [[Value(rng.gauss(0, 0.5)) for _ in range(size)] for _ in range(width)]
    bias = [Value(rng.gauss(0, 0.5)) for _ in range(width)]

    def loss(sequences):
        total = []
        for sequence in sequences:
            h = [Value(0.0)] * width
            for x in sequence:
                h = [
                    (minigrad.dot(a, h) + minigrad.dot(b, x) + c).tanh()
                    for a, b, c in zip(inner, outer, bias, strict=True)
                ]
            total.append(minigrad.sum(h))
        return minigrad.mean(total)

    data = [[[rng.gauss(0, 1) for _ in range(size)] for _ in range(steps)] for _ in range(batch)]
    program = compiled(loss, data)
    assert len(products(program)) >= steps  # one at least for each step in time
    assert len(program.instructions) < 12 * steps


def test_a_convolution_is_a_matrix_product():
    rng = random.Random(2)
    filters = [[[Value(rng.gauss(0, 1)) for _ in range(3)] for _ in range(3)] for _ in range(4)]

    def loss(image):
        outputs = [
            sum(f[i][j] * image[y + i][x + j] for i in range(3) for j in range(3)).relu()
            for f in filters
            for y in range(4)
            for x in range(4)
        ]
        return sum(o * o for o in outputs)

    program = compiled(loss, [[rng.gauss(0, 1) for _ in range(6)] for _ in range(6)])
    assert [sorted(shape) for shape in products(program)] == [[4, 9, 16]]


def balanced(xs):
    while len(xs) > 1:
        xs = [a + b for a, b in zip(xs[::2], xs[1::2], strict=True)]
    return xs[0]


@pytest.mark.parametrize("shuffled", [False, True])
@pytest.mark.parametrize("tree", [sum, minigrad.sum, balanced], ids=["sum", "many", "balanced"])
def test_factors_and_trees_in_any_order(tree, shuffled):
    rng = random.Random(4)
    w = [[Value(rng.gauss(0, 1)) for _ in range(8)] for _ in range(5)]
    places = itertools.product(range(5), range(6), range(8))
    turned = {place: shuffled and rng.random() < 0.5 for place in places}

    def loss(xs):
        outputs = []
        for i, row in enumerate(w):
            for j, x in enumerate(xs):
                terms = [x[k] * row[k] if turned[i, j, k] else row[k] * x[k] for k in range(8)]
                outputs.append(tree(terms).tanh())
        return sum(outputs)

    program = compiled(loss, [[rng.gauss(0, 1) for _ in range(8)] for _ in range(6)])
    assert products(program) in ([(5, 6, 8)], [(6, 5, 8)])


def test_terms_in_any_order():
    rng = random.Random(5)
    w = [[Value(rng.gauss(0, 1)) for _ in range(8)] for _ in range(5)]
    orders = [[rng.sample(range(8), 8) for _ in range(6)] for _ in range(5)]

    def loss(xs):
        return sum(
            sum(w[i][k] * xs[j][k] for k in orders[i][j]).tanh() for i in range(5) for j in range(6)
        )

    program = compiled(loss, [[rng.gauss(0, 1) for _ in range(8)] for _ in range(6)])
    assert products(program) in ([(5, 6, 8)], [(6, 5, 8)])


def test_no_matrix_product_where_there_is_none():
    rng = random.Random(6)
    w = [Value(rng.gauss(0, 1)) for _ in range(12)]

    def loss(xs):  # every dot has operands of its own
        return sum((w[k] * xs[k] + w[k + 1] * xs[k + 1]).tanh() for k in range(0, 12, 2))

    assert not products(compiled(loss, [rng.gauss(0, 1) for _ in range(12)]))


def test_an_incomplete_product_is_still_right():
    rng = random.Random(7)
    w = [[Value(rng.gauss(0, 1)) for _ in range(3)] for _ in range(4)]

    def loss(xs):  # a triangle: attention that looks back
        return sum(
            sum(a * b for a, b in zip(w[i], xs[j], strict=True)).exp()
            for i in range(4)
            for j in range(i + 1)
        )

    compiled(loss, [[rng.gauss(0, 1) for _ in range(3)] for _ in range(4)])


@settings(max_examples=40)
@given(st.integers(0, 2**32))
def test_random_sums_of_products(seed):
    rng = random.Random(seed)
    ws = [Value(rng.uniform(-2, 2)) for _ in range(rng.randint(1, 6))]
    plan = [
        [(rng.randrange(len(ws)), rng.randrange(4), rng.random()) for _ in range(rng.randint(1, 5))]
        for _ in range(rng.randint(1, 8))
    ]

    def loss(xs):
        nodes = []
        for terms in plan:
            parts = []
            for i, j, kind in terms:
                a, b = ws[i], xs[j]
                if kind < 0.5:
                    parts.append(a * b)
                elif kind < 0.65:
                    parts.append(a + b)
                elif kind < 0.8:
                    parts.append(b)
                elif kind < 0.9 and nodes:
                    parts.append(nodes[-1] * a)
                else:
                    parts.append(0.0 + a)
            total = sum(parts) if terms[0][2] < 0.5 else parts[0]
            if terms[0][2] >= 0.5:
                for part in parts[1:]:
                    total = part + total
            nodes.append(total.tanh() if terms[-1][2] < 0.5 else total)
        return minigrad.sum(nodes) + nodes[0] * nodes[-1]

    compiled(loss, [rng.uniform(-2, 2) for _ in range(4)])


def test_sharing_is_of_what_is_the_same():
    program = compiled(lambda x: x.exp() * x.exp() + x.exp().tanh() - x.exp().tanh(), 0.5)
    assert [step.op for step in program.instructions if step.kind == "map"].count("exp") == 1


def test_what_nobody_needs_is_left_out():
    program = compiled(lambda x: [x.exp(), x.tanh(), x * 2][2], 0.5)
    assert len(program.instructions) == 1


# ---- nothing is folded that floating point tells apart -------------------------------------------

TRICKY = {
    "x - x": lambda x, y: x - x,
    "0 * x": lambda x, y: 0 * x + y * 0,
    "x / x": lambda x, y: x / x,
    "x + 0": lambda x, y: 1 / (x + 0.0),
    "x + -0.0": lambda x, y: 1 / (x + -0.0),
    "0 + x": lambda x, y: 1 / sum([x]),
    "x * 1": lambda x, y: 1 / (x * 1),
    "x * -1": lambda x, y: 1 / (x * -1),
    "-x": lambda x, y: 1 / -x,
    "0 - x": lambda x, y: 1 / (0 - x),
    "sum of one": lambda x, y: 1 / minigrad.sum([x]),
    "sum of two": lambda x, y: 1 / (x + y),
    "sum of three": lambda x, y: 1 / (x + y + y),
    "product": lambda x, y: 1 / (x * y),
    "sum of a product": lambda x, y: 1 / sum([x * y]),
    "product and start": lambda x, y: 1 / (y + x * 1.0),
    "dot": lambda x, y: 1 / minigrad.dot([x, y], [y, x]),
    "sums of other lengths": lambda x, y: (
        1 / (x + y + x) + 2 / (x + y + x + y) + 1 / (0 + x + y + x + y + x)
    ),
    "x ** 0": lambda x, y: x**0 + y**0,
    "x < x": lambda x, y: minigrad.where(x < x, 1.0, 2.0) * y,  # noqa: PLR0124
    "max": lambda x, y: 1 / max(x, y),
}
EDGES = [0.0, -0.0, inf, -inf, nan, 1e308, 5e-324, -1.0, 1.0]


@pytest.mark.parametrize("name", TRICKY)
def test_edges_survive(name, backend):
    function = TRICKY[name]
    fast = minigrad.compile(function, backend=backend)
    for x in EDGES:
        for y in EDGES:
            if name == "max" and (math.isnan(x) or math.isnan(y)):
                continue  # Python's max depends on the order where there are nans
            got, expected = fast(x, y).data, function(Value(x), Value(y)).data
            assert repr(got) == repr(expected), (x, y)  # nan is nan, 0.0 is not -0.0


def test_only_the_sign_of_a_zero_depends_on_where_a_sum_starts(backend):
    """The 0 that Python's sum starts from is left out where another term starts the sum."""

    def function(x, y):
        return sum([x * 1.0]) + y

    fast = minigrad.compile(function, backend=backend)
    for x in EDGES:
        for y in EDGES:
            got, expected = fast(x, y).data, function(Value(x), Value(y)).data
            assert got == expected or (math.isnan(got) and math.isnan(expected)), (x, y)


def test_constants_by_their_bits():
    fast = minigrad.compile(lambda x: 1 / (x * 0.0) + 1 / (x * -0.0) * 2, backend="numpy")
    assert math.isnan(fast(1.0).data)
    assert fast.program.constants.tolist().count(0.0) == 2
    signs = {math.copysign(1, number) for number in fast.program.constants if number == 0}
    assert signs == {1.0, -1.0}


# ---- the checker can fail ------------------------------------------------------------------------


@pytest.fixture
def healthy():
    fast = minigrad.compile(
        lambda a, b: (a * b + b.tanh()) * 2 - minigrad.sum([a, b, a * a]), backend="numpy"
    )
    fast(1.0, 2.0)
    return fast.program


def test_a_healthy_program_passes(healthy):
    assert verify(healthy) is healthy


def planted(program, number, **changes):
    steps = list(program.instructions)
    steps[number] = replace(steps[number], **changes)
    return replace(program, instructions=tuple(steps))


def first(program, kind):
    return next(k for k, step in enumerate(program.instructions) if step.kind == kind)


def test_planted_errors_are_found(healthy):
    at = first(healthy, "map")
    step = healthy.instructions[at]
    last = len(healthy.instructions) - 1
    far = Ref(healthy.size + 5)
    sick = {
        "no such operation": planted(healthy, at, op="wobble"),
        "no such kind": planted(healthy, at, kind="wobble"),
        "operands": planted(healthy, at, args=(*step.args, *step.args, step.args[0])),
        "shape": planted(healthy, at, shape=(1, 1, 1, 1)),
        "operand lies outside": planted(healthy, at, args=(far, *step.args[1:])),
        "result lies outside": planted(healthy, at, out=far),
        "before it is written": planted(
            healthy, at, args=(healthy.instructions[last].out, *step.args[1:])
        ),
        "overwrites": planted(healthy, at, out=Ref(0)),
        "never written": replace(healthy, instructions=healthy.instructions[:-1]),
    }
    for words, program in sick.items():
        with pytest.raises(ValueError, match=words):
            verify(program, "planting")
    twice = Instruction("fill", (2,), Ref(healthy.size, inner=2, inner_stride=0))
    program = replace(healthy, size=healthy.size + 2, instructions=(*healthy.instructions, twice))
    with pytest.raises(ValueError, match="twice"):
        verify(program)


def test_an_error_says_which_instruction_and_after_what(healthy):
    at = first(healthy, "map")
    with pytest.raises(ValueError, match=rf"instruction {at} .*after planting"):
        verify(planted(healthy, at, op="wobble"), "planting")
