"""Now and then a replay is compared with the function itself."""

from __future__ import annotations

import math
import warnings

import pytest

import minigrad
from minigrad import AuditError, Value, optim
from minigrad.compiler import audit
from minigrad.compiler.audit import SHARE, Schedule, mode_of

HIDDEN: dict = {}


def unseen(k):
    """A function of x that reads a number which no watch follows, and the dict with it.

    What stands in a text is out of reach, unless it is a name and nothing else.
    """
    HIDDEN["k"] = k
    return (lambda x: x * eval("HIDDEN['k'] * 1.0")), HIDDEN


def test_a_number_that_nobody_watches_is_caught():
    function, numbers = unseen(2.0)
    f = minigrad.compile(function, audit="always")
    assert f(3.0).data == 6.0
    numbers["k"] = 9.0
    with pytest.raises(AuditError, match=r"6\.0, the function itself 27\.0.*2 is 9 now"):
        f(3.0)
    assert f(3.0).data == 27.0  # all programs were forgotten


def test_gradients_are_compared_too():
    w = Value(3.0)
    HIDDEN["frozen"] = False

    def loss(x):
        return x * (w.detach() if eval("HIDDEN['frozen'] and True") else w)

    f = minigrad.compile(loss, audit="always")
    assert f.value_and_grad(2.0)[1][w] == 2.0
    HIDDEN["frozen"] = True
    with pytest.raises(AuditError, match="derivative"):
        f.value_and_grad(2.0)


def test_by_choice_it_warns_and_goes_on():
    function, numbers = unseen(2.0)
    f = minigrad.compile(function, audit="warn")
    f.dispatch.audit.mode = "always"  # at once
    f(1.0)
    f.dispatch.audit.mode, f.dispatch.audit.is_timed, f.dispatch.left = "warn", True, 1
    numbers["k"] = 9.0
    with pytest.warns(RuntimeWarning, match="traced again"):
        assert f(1.0).data == 9.0


def test_the_first_audit_comes_within_the_budget():
    function, numbers = unseen(2.0)
    f = minigrad.compile(function)
    numbers["k"] = 9.0
    assert f(1.0).data == 9.0
    numbers["k"] = 2.0

    most = f.dispatch.audit.cost / (SHARE * 1e-7)  # as many as if a call took no time at all

    def many_calls():
        for _ in range(math.ceil(most) + 10):
            f(1.0)

    with pytest.raises(AuditError):
        many_calls()


def test_switched_off_nothing_is_compared():
    function, numbers = unseen(2.0)
    f = minigrad.compile(function, audit=False)
    f(1.0)
    numbers["k"] = 9.0
    assert {f(1.0).data for _ in range(500)} == {2.0}
    assert "Not audited" in f.explain()


@pytest.mark.parametrize(
    ("named", "mode"), [("", True), ("1", True), ("always", "always"), ("off", False), ("0", False)]
)
def test_the_environment_says_it(named, mode, monkeypatch):
    monkeypatch.setenv("MINIGRAD_AUDIT", named)
    assert mode_of(None) == mode
    assert mode_of(False) is False  # what is written in the code counts more


def test_an_unknown_mode_is_refused():
    with pytest.raises(ValueError, match="choose True"):
        minigrad.compile(lambda x: x, audit="sometimes")


def test_audits_take_their_share_of_the_time_and_no_more():
    """By the schedule's own clock: what audits take, against what replays have taken."""
    schedule = Schedule(True)
    replay, audit_cost = 5e-6, 900e-6
    spent, gone, left = 0.0, 0.0, schedule.first()
    while schedule.count < 20:
        left -= 1
        gone += replay
        if left <= 0:
            due = schedule.is_timed
            spent += audit_cost if due else 0.0
            left = schedule.took(replay, audit_cost if due else None)
    assert spent <= SHARE * gone * 1.1
    assert spent >= SHARE * gone * 0.5


def test_a_large_function_is_not_audited_and_says_so(monkeypatch):
    monkeypatch.setattr(audit, "_TOO_LARGE", 3)
    f = minigrad.compile(lambda x: x.exp().tanh().sin().cos().exp(), audit="always")
    f(1.0)
    f(2.0)
    assert "too many to run again" in f.explain()


def test_rounding_on_an_edge_is_no_difference():
    """relu of a number that is 0 but for rounding: its slope may be 0 in one and 1 in the other."""
    w = [Value(0.1), Value(0.2), Value(-0.3)]

    def loss(x):
        return (w[0] * x + (w[1] * x + w[2] * x)).relu() + x

    f = minigrad.compile(loss, audit="always")
    for k in range(1, 50):
        value, _ = f.value_and_grad(k / 7)
        assert value == pytest.approx(loss(Value(k / 7)).data, rel=1e-12)
    assert "48 audits so far" in f.explain()


def test_an_effect_that_replays_have_lost_is_caught():
    running = [1.0]

    def f(x):
        running[0] = 0.5 * running[0] + 0.5 * x.data  # as it was, when it is traced with 1.0
        return x * 2

    g = minigrad.compile(f, audit="always")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        g(1.0)
        with pytest.raises(AuditError, match="changes running"):
            g(5.0)
        assert running == [3.0]  # done once
        assert g(5.0).data == 10.0
        assert running == [4.0]  # and from now on at each call


def test_what_only_a_trace_sees_is_caught():
    f = minigrad.compile(lambda x: x * (2.0 if type(x.data) is float else 3.0), audit="always")
    f(1.0)
    with pytest.raises(AuditError, match="Tracing it again makes no difference"):
        f(1.0)


def test_a_training_step_is_audited_before_it_moves_anything():
    function, numbers = unseen(2.0)
    w = Value(1.0)
    step = minigrad.train_step(lambda x: function(x * w), optim.SGD([w], lr=0.1), audit="always")
    step(1.0)
    at = w.data
    numbers["k"] = 9.0
    with pytest.raises(AuditError):
        step(1.0)
    assert w.data == at
    assert step(1.0) == pytest.approx(9.0 * at)


def test_what_raises_uncompiled_raises_when_it_is_audited():
    HIDDEN["list"] = [1.0]
    f = minigrad.compile(lambda x: x * eval("HIDDEN['list'][0] * 1.0"), audit="always")
    f(1.0)
    HIDDEN["list"].clear()
    for _ in range(2):
        with pytest.raises(IndexError):
            f(1.0)


def test_a_training_step_has_the_audit_of_its_loss():
    function, numbers = unseen(2.0)
    w = Value(1.0)
    loss = minigrad.compile(lambda x: function(x * w), audit="always")
    step = minigrad.train_step(loss, optim.SGD([w], lr=0.0))
    step(1.0)
    numbers["k"] = 9.0
    with pytest.raises(AuditError):
        step(1.0)


def test_nan_and_inf_are_compared_as_such():
    f = minigrad.compile(lambda x: x.log(), audit="always")
    for x in (1.0, -1.0, 0.0, math.inf, math.nan):
        value, _ = f.value_and_grad(x)
        assert value == pytest.approx(Value(x).log().data, nan_ok=True)
    assert "4 audits so far" in f.explain()


def test_a_stale_function_inside_does_not_hide():
    function, numbers = unseen(2.0)
    inner = minigrad.compile(function, audit=False)
    inner(1.0)
    f = minigrad.compile(lambda x: inner(x) + 1.0, audit="always")
    f(1.0)
    numbers["k"] = 5.0
    with pytest.raises(AuditError):
        f(1.0)


def test_audits_make_no_programs_of_functions_inside():
    inner = minigrad.compile(lambda x, n: x * n)
    f = minigrad.compile(lambda x, n: inner(x, n) * 2, audit="always")
    for k in range(10):
        f(float(k), k)
    assert inner.cache_info().programs == 0
