"""A call like the one before it is one function of C; any other goes the long way."""

from __future__ import annotations

import copy
import gc
import math
import threading
import weakref

import numpy as np
import pytest

import minigrad
from minigrad import Value
from minigrad.compiler.specialization import BY_ALL

only_native = pytest.mark.skipif(minigrad.engine() == "pure", reason="all calls go the long way")
SCALE = 2.0


def scaled(x, y):
    return SCALE * x * y + x


def ready(function, *args, **options):
    """Compile a function, and call it until its calls are repeats."""
    f = minigrad.compile(function, **{"audit": False, **options})
    for _ in range(3):
        f(*args)
        f.value_and_grad(*args)
    return f


def is_repeated(f, call):
    """Tell whether a call took the short way: the long one has the dispatcher replay it."""
    seen = []
    replay = f.dispatch.replay
    f.dispatch.replay = lambda *args: (seen.append(args), replay(*args))[1]
    try:
        call()
    finally:
        del f.dispatch.replay
    return not seen


@only_native
def test_calls_like_the_one_before_are_repeats():
    f = ready(scaled, 1.5, 2.0)
    assert is_repeated(f, lambda: f(2.5, 3.0))
    assert is_repeated(f, lambda: f.value_and_grad(2.5, 3.0))
    assert is_repeated(f, lambda: f.grad(2.5, 3.0))
    assert not is_repeated(f, lambda: f(2.5, 3))  # a whole number: another structure
    assert f.cache_info().traces == 2


def test_repeats_have_the_numbers_of_their_own_call():
    f = ready(scaled, 1.5, 2.0)
    kept = [(x, y, f(x, y), f.value_and_grad(x, y)) for x, y in ((1.0, 2.0), (3.0, -5.0))]
    for x, y, called, (value, grads) in kept:
        assert called.data == value == 2.0 * x * y + x
        assert grads.args == (2.0 * y + 1.0, 2.0 * x)
        assert not grads.parameters
    assert called._operands == ()


# ---- derivatives by the arguments are made when somebody asks for them ---------------------------


def weighted(w, b):
    return lambda x, rows, k: w * x * x * k + b * rows[0]["y"] + (x * rows[0]["y"]).sin()


PLACE = (1.5, [{"y": -0.7}], 3)


def slopes(w, b, x, rows, k):
    y = rows[0]["y"]
    by_x = 2 * w * x * k + math.cos(x * y) * y
    return pytest.approx((by_x, b + math.cos(x * y) * x, w * x * x), rel=1e-14)


def told(grads):
    by_x, rows, by_k = grads.args
    return by_x, rows[0]["y"], by_k


def test_derivatives_by_arguments_are_those_of_their_call():
    w, b = Value(2.0), Value(0.5)
    f = minigrad.compile(weighted(w, b), audit=False)
    first = told(f.grad(*PLACE))  # the long way
    assert first == slopes(2.0, 0.5, *PLACE)
    for _ in range(3):
        f.grad(*PLACE)
    others = [(x, [{"y": x / 3}], 3) for x in (0.3, -2.0)]
    kept = [f.grad(*place) for place in (PLACE, *others)]
    w.data = 7.0
    later = f.grad(*PLACE)
    w.data = 11.0
    assert told(kept[0]) == first  # to the last bit
    assert [told(grads) for grads in kept[1:]] == [slopes(2.0, 0.5, *place) for place in others]
    assert told(later) == slopes(7.0, 0.5, *PLACE)
    assert (later[w], later[b], len(later.numbers)) == (1.5 * 1.5 * 3, -0.7, 2)
    assert later.args is later.args
    assert told(f.grad(*PLACE)) == slopes(11.0, 0.5, *PLACE)


@only_native
def test_who_asks_once_gets_them_with_every_call():
    w, b = Value(2.0), Value(0.5)
    f = ready(weighted(w, b), *PLACE)
    spec = f.dispatch.latest()
    ran = []
    made = spec.machine(BY_ALL)
    made.adjoints_of = lambda inputs: (ran.append(inputs), type(made).adjoints_of(made, inputs))[1]
    assert told(f.grad(*PLACE)) == slopes(2.0, 0.5, *PLACE)
    assert len(ran) == 1
    assert not is_repeated(f, lambda: f.grad(*PLACE))
    grads = []
    assert is_repeated(f, lambda: grads.append(f.grad(*PLACE)))
    assert told(grads[0]) == slopes(2.0, 0.5, *PLACE)
    assert len(ran) == 1


def test_copies_have_them():
    w, b = Value(2.0), Value(0.5)
    f = ready(weighted(w, b), *PLACE)
    grads, copied = f.grad(*PLACE), copy.deepcopy(f.grad(*PLACE))
    assert told(copied) == told(grads) == slopes(2.0, 0.5, *PLACE)
    assert list(copied.values()) == list(grads.values())


def test_infinite_ones_are_what_the_long_way_says():
    w, b = Value(2.0), Value(0.5)
    f = ready(lambda x, n: b * w + b * minigrad.sqrt(x) * n, 1.0, 2.0)
    value, grads = f.value_and_grad(0.0, 2.0)
    assert value == 1.0
    assert (grads[w], grads[b]) == (0.5, 2.0)
    assert grads.args == (math.inf, 0.0)


def test_whole_numbers_have_none_then_either():
    w = Value(2.0)
    f = ready(lambda rows, x, at: w * rows[at] * x, [1.0, 5.0], 3.0, 1)
    grads = f.grad([2.0, 7.0], 4.0, 1)
    assert grads.args == ([0.0, 8.0], 14.0, 0.0)
    assert grads[w] == 28.0


def test_they_are_counted():
    f = ready(scaled, 1.5, 2.0)
    before = f.cache_info()
    for _ in range(5):
        f(1.0, 2.0)
        f.value_and_grad(1.0, 2.0)
    assert f.cache_info()._replace(calls=before.calls) == before
    assert f.cache_info().calls == before.calls + 10


class Sly(np.float64):
    """A number that calls the function while it is asked for itself."""

    def __float__(self):
        self.call()
        return 6.0


def sly(call):
    number = Sly(6.0)
    number.call = call
    return number


def _by_an_optimiser(w, f):
    w.grad = -3.0
    minigrad.optim.SGD([w], lr=1.0).step()


def _by_a_training_step(w, f):
    minigrad.train_step(lambda x: -w * x, minigrad.optim.SGD([w], lr=3.0))(1.0)


WRITERS = {
    "data": lambda w, f: setattr(w, "data", 6.0),
    "set_data": lambda w, f: minigrad.set_data([w], [6.0]),
    "__init__": lambda w, f: w.__init__(6.0),
    "what copies do": lambda w, f: w._set_state(Value(6.0)._state()),
    "an optimiser": _by_an_optimiser,
    "a training step": _by_a_training_step,
    "a number that calls": lambda w, f: setattr(w, "data", sly(lambda: f(2.0))),
    "one that calls when made": lambda w, f: w.__init__(sly(lambda: f.value_and_grad(2.0))),
    "nothing": lambda w, f: None,
}


@pytest.mark.parametrize("writer", WRITERS)
def test_a_number_that_was_written_is_read_again(writer):
    w, other = Value(3.0), Value(0.5)
    f = ready(lambda x: w * x + other, 1.0)
    assert f(2.0).data == 6.5  # whatever the calls read now, it is 3.0
    assert f.value_and_grad(2.0)[0] == 6.5
    WRITERS[writer](w, f)
    number = 3.0 if writer == "nothing" else 6.0
    value, grads = f.value_and_grad(2.0)
    assert value == 2 * number + 0.5
    assert grads.args == (number,)
    assert f(2.0).data == 2 * number + 0.5
    other.data = 1.5
    assert f(2.0).data == f.value_and_grad(2.0)[0] == 2 * number + 1.5


class Base:
    power = 2


class Settings(Base):
    scale = 3.0


@pytest.fixture
def settings():
    yield Settings
    Settings.scale, Base.power = 3.0, 2
    if "power" in vars(Settings):
        del Settings.power


CHANGES = {
    "an attribute": (lambda: setattr(Settings, "scale", 5.0), 5.0 * 16.0),
    "one of a base": (lambda: setattr(Base, "power", 3), 3.0 * 64.0),
    "one that hides that": (lambda: setattr(Settings, "power", 1), 3.0 * 4.0),
    "one that does not matter": (lambda: setattr(Settings, "other", 1), 3.0 * 16.0),
}


@pytest.mark.parametrize("what", CHANGES)
def test_a_class_that_was_changed_is_noticed(what, settings):
    change, wanted = CHANGES[what]
    f = ready(lambda x: settings.scale * x**settings.power, 2.0)
    for _ in range(3):
        assert f(4.0).data == f.value_and_grad(4.0)[0] == 48.0
    change()
    for _ in range(3):
        assert f(4.0).data == f.value_and_grad(4.0)[0] == wanted
    if minigrad.engine() == "native":
        assert is_repeated(f, lambda: f(4.0))


def test_values_among_the_arguments_and_behind_the_function():
    w, b = Value(3.0), Value(0.5)
    f = ready(lambda x, rows: w * x * rows[0]["k"] + b, Value(1.0), [{"k": 2.0}])
    x, row = Value(4.0), [{"k": Value(5.0)}]
    g = ready(lambda x, rows: w * x * rows[0]["k"] + b, x, row)
    for function in (f, g):
        w.data = 7.0
        out = function(x, row)
        out.backward()
        assert out.data == 140.5
        assert (w.grad, b.grad, x.grad, row[0]["k"].grad) == (20.0, 1.0, 35.0, 28.0)
        value, grads = function.value_and_grad(x, row)
        assert value == 140.5
        assert [grads[v] for v in (w, b, x, row[0]["k"])] == [20.0, 1.0, 35.0, 28.0]
        for v in (w, b, x, row[0]["k"]):
            v.grad = 0.0


def test_more_values_than_a_repeat_takes():
    values = [Value(float(k)) for k in range(100)]
    f = ready(lambda xs: minigrad.sum([x * x for x in xs]), values)
    f(values).backward()
    assert [v.grad for v in values] == [2.0 * k for k in range(100)]


def test_derivatives_can_be_written_to():
    f = ready(scaled, 1.5, 2.0)
    w = Value(2.0)
    h = ready(lambda x: w * x, 3.0)
    grads = h.grad(4.0)
    numbers = grads.numbers
    numbers *= 10.0
    assert (numbers.tolist(), grads.numbers.tolist(), grads[w]) == ([40.0], [40.0], 40.0)
    assert f.grad(1.0, 1.0).numbers.tolist() == []


def test_whole_numbers_have_no_derivative():
    f = ready(lambda x, n: x * n, 1.5, 2)
    assert f.grad(2.5, 3).args == (3.0, 2.5)
    g = ready(lambda xs, i: xs[0] * len(xs[:i]), [1.5, 2.5], 1)
    assert g.grad([2.0, 3.0], 1).args == ([1.0, 0.0], 0.0)


@only_native
@pytest.mark.parametrize("kind", [np.float64, float])
def test_arrays_and_numpys_numbers(kind):
    f = ready(lambda xs, a: minigrad.sum([x * a for x in xs]), np.ones((2, 2)).ravel(), kind(2.0))
    xs = np.arange(4.0)
    assert is_repeated(f, lambda: f(xs, kind(3.0)))
    assert f(xs, kind(3.0)).data == 18.0
    every_other = np.arange(8.0)[::2]  # not in one piece
    assert f(every_other, kind(3.0)).data == 36.0
    assert f(xs.astype(np.float32), kind(3.0)).data == 18.0
    assert f(xs.reshape(4, 1)[:, 0], kind(3.0)).data == 18.0


def test_a_float_of_somebodys_own_is_no_plain_float():
    class Metres(float):
        def __mul__(self, other):
            return 1000.0 * other

    f = ready(lambda x, y: x * y, 2.0, 3.0)
    assert f(2.0, 3.0).data == 6.0
    assert f(Metres(2.0), 3.0).data == 3000.0


# ---- whatever is not like before -----------------------------------------------------------------


def test_a_changed_global_is_noticed(monkeypatch):
    f = ready(scaled, 1.5, 2.0)
    assert f(1.0, 1.0).data == 3.0
    monkeypatch.setitem(globals(), "SCALE", 5.0)
    assert f(1.0, 1.0).data == 6.0
    assert f.value_and_grad(1.0, 1.0)[1].args == (6.0, 5.0)


def test_a_guard_that_fails():
    f = ready(lambda x: x * 2.0 if x > 0 else x * 3.0, 1.0)
    for _ in range(50):
        assert [f(1.0).data, f(-1.0).data] == [2.0, -3.0]
        assert f.grad(-1.0).args == (3.0,)
        assert f.grad(1.0).args == (2.0,)
    assert f.cache_info().traces == 2


def test_numbers_that_are_not_finite_are_exact():
    """max(x, y) with y = inf: the derivative by x is 0, not 0 * inf."""
    f = ready(lambda x, y: minigrad.where(x > y, x * y, x), 1.0, 2.0)
    for _ in range(20):
        value, grads = f.value_and_grad(1.0, float("inf"))
        assert (value, grads.args) == (1.0, (1.0, 0.0))
        assert f(1.0, 2.0).data == 1.0


def test_open_blocks():
    w = Value(2.0)
    f = ready(lambda x: w * x, 3.0)
    with minigrad.no_grad():
        assert f(4.0)._operands == ()
    assert f(4.0)._operands == (w,)
    with minigrad.strict():
        assert f(4.0)._op == "*"
    assert f(4.0)._op == "compiled"
    outer = minigrad.compile(lambda x: f(x) + 1.0)
    assert outer(4.0).data == 9.0
    assert "compiled" not in outer.explain()


def test_numbers_that_are_not_written_back_yet():
    w = Value(2.0)
    f = ready(lambda x: w * x, 3.0)
    step = minigrad.train_step(lambda x: w * x, minigrad.optim.SGD([w], lr=1.0))
    for k in range(4):
        step(1.0)  # w decreases by 1
        assert f(10.0).data == 10.0 * (1.0 - k)
        step(1.0)
        assert f.value_and_grad(10.0)[0] == 10.0 * -k
        w.data = 2.0 - (k + 1)


@only_native
def test_repeats_go_on_until_an_audit_is_due():
    f = ready(scaled, 1.5, 2.0, audit=True)
    f.dispatch.left = 3
    f(1.0, 2.0)
    assert (f.dispatch.left, f.dispatch.seconds) == (2, 0.0)
    f(1.0, 2.0)
    assert f.dispatch.left == 1
    assert f.dispatch.seconds > 0.0
    audits = f.dispatch.audit.count
    f(1.0, 2.0)
    assert f.dispatch.left > 1
    assert f.dispatch.audit.count in (audits, audits + 1)


def test_forgotten_programs_are_not_repeated():
    f = ready(scaled, 1.5, 2.0)
    f.cache_clear()
    assert f.dispatch.repeated_call is None
    assert f(1.0, 2.0).data == 5.0
    assert f.cache_info().traces == f.cache_info().calls == 1


def test_keywords():
    f = minigrad.compile(scaled, audit=False)
    for k in range(5):
        assert f(1.0, y=float(k)).data == 2.0 * k + 1.0
        assert f.value_and_grad(x=1.0, y=float(k))[1].kwargs == {"x": 2.0 * k + 1.0, "y": 2.0}
        assert f(1.0, **{}, y=float(k)).data == 2.0 * k + 1.0
    assert f(y=2.0, x=1.0).data == 5.0


@only_native
def test_a_method_and_texts_among_the_arguments():
    class Model:
        def __init__(self, k):
            self.w = Value(k)

        @minigrad.compile
        def loss(self, x, how, flag=None):
            return self.w * x if how == "times" and flag is None else self.w + x

    a, b = Model(2.0), Model(5.0)
    for _ in range(4):
        assert a.loss(3.0, "times").data == 6.0
    assert is_repeated(Model.loss, lambda: a.loss(4.0, "".join(["ti", "mes"])))
    assert b.loss(3.0, "times").data == 15.0
    assert a.loss(3.0, "plus").data == 5.0
    assert a.loss(3.0, "times", True).data == 5.0
    assert a.loss.value_and_grad(3.0, "times")[1].args == (2.0, "times")
    a.w = Value(7.0)
    assert a.loss(3.0, "times").data == 21.0


# ---- others who come by ------------------------------------------------------------------------


def test_several_threads():
    f = ready(scaled, 1.5, 2.0)
    wrong = []

    def work(x):
        for k in range(300):
            value, grads = f.value_and_grad(x, float(k))
            if value != 2.0 * x * k + x or grads.args != (2.0 * k + 1.0, 2.0 * x):
                wrong.append((x, k))

    threads = [threading.Thread(target=work, args=(float(n),)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_a_finalizer_that_calls_the_same_function():
    """The collector may run in the middle of a call: objects are made there."""
    f = ready(lambda xs: xs[0] * xs[1] + xs[2], [Value(1.0), Value(2.0), Value(3.0)])
    calls = []

    class Loud:
        def __init__(self):
            self.me = self

        def __del__(self):
            calls.append(f([Value(7.0), Value(8.0), Value(9.0)]).data)

    old = gc.get_threshold()
    gc.set_threshold(1)
    try:
        for k in range(200):
            Loud()
            a, b, c = Value(float(k)), Value(2.0), Value(3.0)
            assert f([a, b, c]).data == 2.0 * k + 3.0
            assert f.value_and_grad([a, b, c])[1].args == ([2.0, float(k), 1.0],)
    finally:
        gc.set_threshold(*old)
    assert set(calls) == {65.0}


def test_what_is_dropped_goes_without_the_collector():
    gc.disable()
    try:
        w = Value(2.0)
        f = ready(lambda x: w * x, 3.0)
        gone = weakref.ref(f.dispatch.latest().program)
        del f
        assert gone() is None
    finally:
        gc.enable()
