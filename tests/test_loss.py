"""Losses against their definitions, and where the definitions break down."""

from __future__ import annotations

import math

import mpmath as mp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from minigrad import Value, grad
from minigrad.loss import binary_cross_entropy, cross_entropy, hinge, l2, mse

near = pytest.approx
logit = st.floats(-60, 60)


def values(*numbers):
    return [Value(x) for x in numbers]


@pytest.mark.smoke
def test_mse_and_l2():
    ps = values(1.0, 3.0)
    loss = mse(ps, [0.0, 1.0])
    assert loss.data == 2.5
    assert grad(loss, ps) == [1.0, 2.0]
    assert l2(ps).data == 10.0


@pytest.mark.smoke
def test_hinge():
    scores = values(0.5, -2.0, 3.0)
    loss = hinge(scores, [1, 1, 1])
    assert loss.data == near((0.5 + 3.0 + 0.0) / 3)
    assert grad(loss, scores) == near([-1 / 3, -1 / 3, 0.0])
    with pytest.raises(ValueError, match=r"-1 or \+1, got 0"):
        hinge(scores, [0, 1, 1])


@given(logit, st.floats(0, 1))
def test_binary_cross_entropy_is_its_definition(x, t):
    v = Value(x)
    loss = binary_cross_entropy([v], [t])
    with mp.workdps(60):
        p = 1 / (1 + mp.exp(-mp.mpf(x)))
        true = -(mp.mpf(t) * mp.log(p) + (1 - mp.mpf(t)) * mp.log(1 - p))
        slope = p - mp.mpf(t)
        assert loss.data == near(float(true), rel=1e-13, abs=1e-300)
        assert grad(loss, v) == near(float(slope), rel=1e-10, abs=1e-15)


@given(st.lists(logit, min_size=2, max_size=5), st.data())
def test_cross_entropy_is_its_definition(xs, data):
    k = data.draw(st.integers(0, len(xs) - 1))
    vs = values(*xs)
    loss = cross_entropy(vs, k)
    with mp.workdps(60):
        total = mp.fsum(mp.exp(mp.mpf(x) - mp.mpf(xs[k])) for x in xs)
        assert loss.data == near(float(mp.log(total)), rel=1e-13, abs=1e-300)
        # the gradient is softmax minus one-hot; at the right class, minus the sum of the others
        for j, slope in enumerate(grad(loss, vs)):
            p = [mp.exp(mp.mpf(x) - mp.mpf(xs[k])) / total for x in xs]
            true = p[j] if j != k else -mp.fsum(p[i] for i in range(len(xs)) if i != k)
            assert slope == near(float(true), rel=1e-12, abs=1e-300)


def test_confidence_far_beyond_where_log_of_sigmoid_breaks():
    v = Value(-1000.0)
    wrong = binary_cross_entropy([v], [1])
    assert (wrong.data, grad(wrong, v)) == (1000.0, -1.0)
    right = binary_cross_entropy(values(1000.0), [1])
    assert right.data == 0.0
    vs = values(2000.0, -2000.0)
    assert cross_entropy(vs, 1).data == 4000.0
    assert cross_entropy(vs, 0).data == 0.0


def test_targets_may_be_values_where_that_makes_sense():
    p, t = Value(0.4), Value(0.25)
    loss = binary_cross_entropy([p], [t])
    assert loss.data == near(math.log(1 + math.exp(0.4)) - 0.25 * 0.4)
    assert grad(loss, t) == near(-0.4)


def test_plain_numbers_follow_ieee_too():
    assert mse([1e200], [0.0]) == math.inf


def test_numpy_targets():
    batch = [values(1.0, 2.0), values(0.0, 0.0)]
    assert cross_entropy(batch, np.array([0, 1])).data == cross_entropy(batch, [0, 1]).data
    assert cross_entropy(batch[0], np.int64(1)).data == cross_entropy(batch[0], 1).data
    assert cross_entropy(batch[0], np.array(1)).data == cross_entropy(batch[0], 1).data


def test_batches_are_means():
    batch = [values(1.0, 2.0), values(0.0, 0.0)]
    mean = cross_entropy(batch, [0, 1])
    assert mean.data == near((math.log(1 + math.e) + math.log(2)) / 2)


@pytest.mark.parametrize(
    ("attempt", "words"),
    [
        (lambda: mse(values(1.0), [1.0, 2.0]), "mse: 1 predictions but 2 targets"),
        (lambda: mse([], []), "no predictions"),
        (lambda: binary_cross_entropy(values(1.0), [2]), r"\[0, 1\], got 2"),
        (lambda: cross_entropy(values(1.0, 2.0), 2), "class 2 of 2 logits.*0 to 1"),
        (lambda: cross_entropy(values(1.0, 2.0), -1), "class -1"),
    ],
)
def test_bad_values(attempt, words):
    with pytest.raises(ValueError, match=words):
        attempt()


@pytest.mark.parametrize(
    ("attempt", "words"),
    [
        (lambda: hinge(Value(1.0), [1]), r"hinge\(predictions, …\): got Value; give a list"),
        (lambda: hinge(values(1.0), 1), r"hinge\(…, targets\): got int; give a list"),
        (
            lambda: cross_entropy(values(1.0, 2.0), [0, 1]),
            "list of logits per example: got Val",
        ),
    ],
)
def test_a_number_where_a_list_belongs(attempt, words):
    with pytest.raises(TypeError, match=words):
        attempt()
