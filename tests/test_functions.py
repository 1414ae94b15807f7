"""The operations as functions, on Values, on numbers, and in stable forms."""

from __future__ import annotations

import math
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import minigrad
from minigrad import Value, functions
from minigrad.core.ops import TABLE

logits = st.lists(st.floats(-50, 50), min_size=1, max_size=6)


def test_every_function_takes_numbers_too():
    assert minigrad.tanh(0.5) == math.tanh(0.5)
    assert minigrad.maximum(1, 2) == 2.0
    assert minigrad.sum([1, 2.5]) == 3.5
    assert minigrad.sum([]) == 0.0
    assert minigrad.mean([1, 2]) == 1.5
    assert minigrad.dot([1, 2], [3, 4]) == 11.0
    assert minigrad.where(True, 1, 2) == 1.0
    assert minigrad.clip(5, 0, 3) == 3.0
    assert sum(minigrad.softmax([1.0, 2.0])) == pytest.approx(1.0)
    assert type(minigrad.exp(1)) is float


@pytest.mark.smoke
def test_every_method_is_a_function_and_gives_the_same():
    for name in functions.NAMES:
        method = getattr(Value(0.3), name, None)
        if method is None:
            continue
        arguments = {
            "atan2": (0.7,),
            "hypot": (2.0,),
            "minimum": (0.7,),
            "maximum": (0.1,),
            "clip": (-1, 1),
        }
        extra = arguments.get(name, ())
        assert method(*extra).data == getattr(functions, name)(Value(0.3), *extra).data
        assert method(*extra).data == getattr(functions, name)(0.3, *extra)


@pytest.mark.parametrize("name", ["mean", "logsumexp", "softmax", "log_softmax"])
def test_nothing_has_no_mean(name):
    with pytest.raises(ValueError, match=rf"{name}\(xs\): got nothing"):
        getattr(minigrad, name)([])


def test_dot_wants_as_many_of_each():
    with pytest.raises(ValueError, match="2 and 1 elements"):
        minigrad.dot([Value(1), Value(2)], [Value(3)])


def test_bad_arguments_name_the_function():
    with pytest.raises(TypeError, match="maximum: got str"):
        minigrad.maximum(Value(1.0), "2")
    with pytest.raises(TypeError, match=r"tanh: got list.*\[tanh\(x\) for x in xs\]"):
        minigrad.tanh([1.0])
    with pytest.raises(TypeError, match=r"sum\(xs\): got int; give a list: \[3, …\]"):
        minigrad.sum(3)
    with pytest.raises(TypeError, match=r"softmax\(xs\): got Value; give a list"):
        minigrad.softmax(Value(1.0))
    with pytest.raises(TypeError, match=r"where\(v > 0, a, b\)"):
        minigrad.where(Value(1.0), 1, 2)


# ---- where ---------------------------------------------------------------------------------------


@pytest.mark.smoke
def test_an_operand_that_was_not_selected_contributes_nothing():
    # PyTorch and JAX give nan here: 0 * inf from the branch that was not taken.
    x = Value(0.0)
    y = minigrad.where(x > 0, x.log(), 0.0 * x)
    y.backward()
    assert (y.data, x.grad) == (0.0, 0.0)
    x = Value(-2.0)
    y = minigrad.where(x >= 0, x.sqrt(), -3 * x)
    y.backward()
    assert (y.data, x.grad) == (6.0, -3.0)


def test_where_makes_a_node_of_its_own():
    a, b = Value(1.0), Value(2.0)
    picked = minigrad.where(a < b, a, b)
    assert picked is not a
    assert (picked._op, picked._operands) == ("where", (a,))
    (picked * a).backward()
    assert (picked.grad, a.grad, b.grad) == (1.0, 2.0, 0.0)
    constant = minigrad.where(False, a, 5)
    assert isinstance(constant, Value)
    assert (constant.data, constant._operands) == (5.0, ())


def test_take_is_the_value_itself():
    rows = [[Value(1.0), Value(2.0)], [Value(3.0), Value(4.0)]]
    assert minigrad.take(rows, 1) is rows[1]
    assert minigrad.take(rows[0], 0) is rows[0][0]
    with pytest.raises(TypeError):
        minigrad.take(rows, 1.0)
    with pytest.raises(IndexError):
        minigrad.take(rows, 2)


# ---- stable forms --------------------------------------------------------------------------------


@given(logits)
def test_softmax_is_a_distribution_and_exp_of_log_softmax(xs):
    values = [Value(x) for x in xs]
    probabilities = minigrad.softmax(values)
    logs = minigrad.log_softmax(values)
    assert sum(p.data for p in probabilities) == pytest.approx(1.0, abs=1e-14)
    for p, log_p in zip(probabilities, logs, strict=True):
        assert p.data == pytest.approx(math.exp(log_p.data), rel=1e-13)
    # probabilities sum to one whatever the logits are: their gradients sum to zero
    minigrad.sum(probabilities).backward()
    assert all(abs(v.grad) < 1e-15 for v in values)


@given(logits, st.floats(-100, 100))
def test_logsumexp_moves_with_its_arguments(xs, shift):
    moved = minigrad.logsumexp([x + shift for x in xs])
    assert moved == pytest.approx(minigrad.logsumexp(xs) + shift, abs=1e-11)
    values = [Value(x) for x in xs]
    minigrad.logsumexp(values).backward()
    assert sum(v.grad for v in values) == pytest.approx(1.0, abs=1e-14)


@pytest.mark.smoke
def test_far_out_nothing_over_or_underflows():
    values = [Value(1000.0), Value(-1000.0), Value(0.0)]
    logs = minigrad.log_softmax(values)
    assert [v.data for v in logs] == [0.0, -2000.0, -1000.0]
    logs[1].backward()
    assert [v.grad for v in values] == [-1.0, 1.0, 0.0]
    assert minigrad.softplus(Value(-800.0)).data == 0.0
    assert minigrad.softplus(Value(800.0)).data == 800.0
    assert minigrad.sigmoid(Value(-745.0)).data == math.exp(-745.0)


def test_a_confident_prediction_keeps_its_digits():
    values = [Value(40.0), Value(0.0)]
    logs = minigrad.log_softmax(values)
    assert logs[0].data == pytest.approx(-math.exp(-40.0), rel=1e-15, abs=0.0)
    logs[0].backward()
    assert values[0].grad == pytest.approx(math.exp(-40.0), rel=1e-15, abs=0.0)
    values = [Value(40.0), Value(0.0)]
    minigrad.softmax(values)[0].backward()
    expected = [math.exp(-40.0), -math.exp(-40.0)]
    assert [v.grad for v in values] == pytest.approx(expected, rel=1e-15, abs=0.0)


def test_what_is_not_a_number_stays_so():
    assert math.isnan(minigrad.softmax([Value(math.nan)])[0].data)
    assert all(math.isnan(p) for p in minigrad.softmax([math.nan, 1.0]))
    assert minigrad.softmax([math.inf, 1.0]) == [1.0, 0.0]


@pytest.mark.smoke
def test_ties_share_alike():
    values = [Value(2.0) for _ in range(3)]
    minigrad.softmax(values)[0].backward()
    assert [v.grad for v in values] == pytest.approx([2 / 9, -1 / 9, -1 / 9], rel=1e-15)
    values = [Value(2.0) for _ in range(4)]
    minigrad.logsumexp(values).backward()
    assert [v.grad for v in values] == [0.25] * 4


# ---- from the table --------------------------------------------------------------------------

OPERATORS = {"add", "sub", "mul", "div", "neg", "pow"}
SLOPES = {"pow_slope", "pow_log", "exp_sub", "hypot_slope", "atan2_slope", "bell", "log_add"}


def test_every_row_is_a_function_unless_it_is_an_operator_or_a_slope():
    hidden = {row.name for row in TABLE} - set(functions.NAMES)
    assert hidden == {"leaf"} | OPERATORS | SLOPES
    assert set(functions.NAMES) <= {row.name for row in TABLE}


def test_every_function_is_exported_unless_it_would_hide_a_builtin():
    assert set(functions.NAMES) - set(minigrad.__all__) == {"abs", "sum"}
    for name in functions.NAMES:
        assert getattr(minigrad, name) is getattr(functions, name)
        assert getattr(minigrad, name).__name__ == name


PLANTED = """
import minigrad
from minigrad import Value, grad
from minigrad.codegen import c_kernels, c_rules
from minigrad.core import codes
from minigrad.core.ops import OPS
assert minigrad.engine() == "pure"
assert "cube" in minigrad.__all__
x = Value(2.0)
y = minigrad.cube(x)
assert (y.data, grad(y, x), minigrad.cube(3)) == (8.0, 12.0, 27.0)
assert grad(grad(x.cube(), x, create_graph=True), x) == 12.0
assert codes.CUBE == OPS["cube"].code
assert minigrad.functions.VALUES.cube(2.0) == 8.0
assert f"[{codes.CUBE}] = op_cube_first," in c_rules.header()
assert "cube" in c_kernels.header()
"""


def test_a_new_operation_is_a_row_and_two_lines(tmp_path):
    package = tmp_path / "minigrad"
    source = Path(minigrad.__file__).parent
    shutil.copytree(source, package, ignore=shutil.ignore_patterns("*.so", "__pycache__"))
    with (package / "core" / "ops.py").open("a", encoding="utf-8") as ops:
        ops.write('\nrow("cube", lambda m, x: x * x * x, lambda m, y, x: 3.0 * x * x)\n')
    for name, place, line in [
        ("functions.py", 'relu = _function("relu")', 'cube = _function("cube")'),
        ("scalar.py", "    def tanh(self)", "    cube = lambda self: _unary(codes.CUBE, self)"),
    ]:
        text = (package / name).read_text("utf-8")
        assert text.count(place) == 1
        (package / name).write_text(text.replace(place, f"{line}\n{place}"), "utf-8")
    environment = {**os.environ, "MINIGRAD_PURE": "1", "PYTHONPATH": str(tmp_path)}
    subprocess.run([sys.executable, "-c", PLANTED], check=True, cwd=tmp_path, env=environment)
