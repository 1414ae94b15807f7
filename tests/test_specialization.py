"""One way through a function: its results, gradients and Hessians are those of calculus."""

from __future__ import annotations

import math
from array import array

import pytest

import minigrad
from minigrad import Value
from minigrad.compiler.arguments.structure import flat_call
from minigrad.compiler.machine import GuardFailed, NotFinite
from minigrad.compiler.specialization import FORWARD, HVP, Purpose, exactly, specialize


def made(function, *args, backend="numpy"):
    return specialize(function, flat_call(args, {}), backend)


@pytest.mark.smoke
def test_a_product_and_its_derivatives(backend):
    # f = x·y²: f_x = y², f_y = 2xy, f_xx = 0, f_xy = 2y, f_yy = 2x.
    spec = made(lambda x, y: x * y**2, 3.0, 2.0, backend=backend)
    assert spec.forward([3.0, 2.0]) == [12.0]
    assert spec.forward([5.0, -1.0]) == [5.0]
    value, slopes = spec.gradient([3.0, 2.0])
    assert (value, slopes.tolist()) == (12.0, [4.0, 12.0])
    assert spec.hvp([3.0, 2.0], [1.0, 0.0]).tolist() == [0.0, 4.0]
    assert spec.hvp([3.0, 2.0], [0.0, 1.0]).tolist() == [4.0, 6.0]
    assert set(spec.purposes()) == {FORWARD, Purpose("gradient"), HVP}


@pytest.mark.smoke
def test_the_derivatives_of_a_fused_node_are_by_values(backend):
    w, x = Value(3.0), Value(2.0)
    spec = made(lambda x, k: w * x * x * k, x, 5.0, backend=backend)
    assert spec.captured == (w,)
    # 5wx²: by w 5x² = 20, by x 10wx = 60; k is a number, which nobody asks for.
    assert spec.local_derivatives([2.0, 5.0]) == (60.0, array("d", [20.0, 60.0]))


@pytest.mark.smoke
def test_another_branch_is_another_way(backend):
    spec = made(lambda x: x * 2 if x > 0 else x * 3, 1.0, backend=backend)
    assert spec.forward([4.0]) == [8.0]
    for run in (spec.forward, spec.gradient, spec.local_derivatives):
        with pytest.raises(GuardFailed):
            run([-4.0])
    with pytest.raises(GuardFailed):
        spec.hvp([-4.0], [1.0])


@pytest.mark.smoke
def test_what_is_not_finite_is_for_exact_programs_to_say(backend):
    # The slope of √x at 0 is infinite.
    spec = made(lambda x: x**0.5, 4.0, backend=backend)
    flat = flat_call((0.0,), {})
    assert spec.gradient([4.0])[1].tolist() == [0.25]
    with pytest.raises(NotFinite):
        spec.gradient([0.0])
    value, slopes = exactly(lambda way, flat: way.gradient(flat.numbers), spec, flat)
    assert (value, slopes.tolist()) == (0.0, [math.inf])
    assert spec.exactly() is spec.exactly()  # made once


def test_what_leads_comes_first_whether_it_is_used_or_not():
    used, unused = Value(3.0), Value(7.0)
    flat = flat_call((2.0,), {})
    spec = specialize(lambda x: used * x, flat, "numpy", leading=[unused, used])
    assert spec.captured == (unused, used)
    assert spec.leading_read == 1
    assert spec.gradient([2.0])[1].tolist() == [0.0, 2.0, 3.0]


def test_it_knows_what_it_is_made_of():
    spec = made(lambda x: minigrad.sum([x * k for k in (1.0, 2.0, 3.0)]), 2.0)
    assert spec.forward([2.0]) == [12.0]
    assert spec.nodes >= 3
    assert spec.environment.changed() is None
    assert spec.kinds == (None,)
