"""Effects inside a function: counters, lists that grow, arguments and arrays changed in place."""

import contextlib
import io
import logging
import os
import tempfile
import warnings
from pathlib import Path

import numpy as np

from minigrad import Value

from . import SAME, Notebook, catalogue

row = catalogue("effects")

# What leaves no trace in numbers: documented, and neither watch nor audit looks at it.
SAID_ONCE = "what a function says or writes happens when it is traced, and not again"


@row()
def state_that_comes_round(compiled):
    state, factors = {"i": 0}, [1.0, 2.0, 3.0]

    @compiled
    def f(x):
        k = factors[state["i"]]
        state["i"] = (state["i"] + 1) % 3
        return x * k

    yield [f(1.0) for _ in range(6)]
    yield state["i"]


@row()
def a_toggle(compiled):
    class Switch:
        on = False

    @compiled
    def f(x):
        Switch.on = not Switch.on
        return x * 2.0 if Switch.on else x

    yield [f(1.0) for _ in range(5)]


@row()
def a_counter_by_nonlocal(compiled):
    count = 0

    @compiled
    def f(x):
        nonlocal count
        count += 1
        return x * count

    yield [f(1.0) for _ in range(4)]
    yield count


@row()
def a_counter_that_does_not_touch_the_result(compiled):
    count = 0

    @compiled
    def f(x):
        nonlocal count
        count += 1
        return x * 2.0

    yield [f(1.0) for _ in range(4)]
    yield count


@row()
def a_global_counter(compiled):
    cells = Notebook(compiled)
    cells.run(
        """
        step = 0
        @compiled
        def f(x):
            global step
            step += 1
            return x * 0.5 ** step
        """
    )
    yield [cells.f(1.0) for _ in range(4)]
    yield cells.step


@row()
def losses_are_appended(compiled):
    history = []

    @compiled
    def f(x):
        y = x * x
        history.append(y.data)
        return y

    yield f(1.0), f(2.0), f(3.0)
    yield history


@row()
def values_are_appended(compiled):
    history = []

    @compiled
    def f(x):
        y = x * x
        history.append(y)
        return y

    yield f(1.0), f(2.0), f(3.0)
    yield history


@row()
def an_attribute_is_set(compiled):
    class Layer:
        out = None

        @compiled
        def forward(self, x):
            self.out = x * 2.0
            return self.out + 1.0

    layer = Layer()
    yield layer.forward(1.0), layer.out
    yield layer.forward(5.0), layer.out


@row()
def a_number_is_kept_on_self(compiled):
    class Layer:
        def __init__(self):
            self.seen = 0.0

        @compiled
        def forward(self, x):
            self.seen = x.data
            return x * 2.0

    layer = Layer()
    yield layer.forward(1.0), layer.seen
    yield layer.forward(5.0), layer.seen


@row()
def a_running_mean(compiled):
    class Norm:
        def __init__(self):
            self.mean = 0.0

        def __call__(self, xs):
            now = sum(x.data for x in xs) / len(xs)
            self.mean = 0.9 * self.mean + 0.1 * now
            return sum((x - self.mean) ** 2 for x in xs)

    norm = Norm()
    f = compiled(lambda xs: norm(xs))
    yield [f([1.0, 2.0]), f([3.0, 4.0]), f([5.0, 6.0])]
    yield norm.mean


@row()
def a_running_mean_in_a_list(compiled):
    running = [0.0]

    @compiled
    def f(x):
        running[0] = 0.9 * running[0] + 0.1 * x.data
        return x - running[0]

    yield [f(1.0), f(1.0), f(1.0)]
    yield running


@row()
def a_running_mean_that_has_converged(compiled):
    running = [1.0]

    @compiled
    def f(x):
        running[0] = 0.5 * running[0] + 0.5 * x.data
        return x * 2.0

    yield [f(1.0), f(1.0)]
    yield running
    yield [f(5.0), f(5.0)]
    yield running


@row()
def a_dict_is_updated(compiled):
    metrics = {}

    @compiled
    def f(x):
        metrics["loss"] = (x * x).data
        metrics.setdefault("count", 0)
        metrics["count"] += 1
        return x * x

    yield f(2.0), f(3.0)
    yield metrics


@row()
def an_array_outside_is_filled(compiled):
    seen = np.zeros(2)

    @compiled
    def f(x):
        seen[0] = x.data
        seen[1] += 1.0
        return x * 2.0

    yield f(2.0), f(3.0)
    yield seen


@row()
def a_list_of_the_arguments_is_changed(compiled):
    @compiled
    def f(xs):
        xs[0] = xs[0] * 2.0
        return xs[0] + xs[1]

    xs = [1.0, 2.0]
    yield f(xs)
    yield xs
    yield f(xs)


@row()
def a_list_of_the_arguments_grows(compiled):
    @compiled
    def f(xs):
        xs.append(xs[-1] + 1.0)
        return sum(xs)

    xs = [1.0]
    yield f(xs), f(xs)
    yield xs


@row()
def a_list_of_the_arguments_is_sorted_in_place(compiled):
    @compiled
    def f(xs):
        xs.sort(key=lambda x: x.data)
        return xs[0] * 10.0 + xs[1]

    xs = [2.0, 1.0]
    yield f(xs)
    yield xs


@row()
def a_key_of_the_arguments_is_popped(compiled):
    @compiled
    def f(options):
        return options.pop("x") * 2.0

    options = {"x": 1.0, "y": 2.0}
    yield f(options)
    yield options


@row()
def a_dict_of_the_arguments_is_reordered(compiled):
    @compiled
    def f(options):
        first = options.pop("a")
        options["a"] = first
        return sum(v * k for k, v in enumerate(options.values()))

    options = {"a": 1.0, "b": 2.0}
    yield f(options)
    yield list(options)
    yield f(options)


@row()
def an_array_of_the_arguments_is_changed(compiled):
    @compiled
    def f(a):
        a[0] = a[0] * 2
        return a[0] + a[1]

    a = np.array([1.0, 2.0])
    yield f(a)
    yield a
    yield f(a)


@row()
def an_array_of_the_arguments_is_scaled_in_place(compiled):
    @compiled
    def f(a):
        a *= 2.0
        return a[0] + a[1]

    a = np.array([1.0, 2.0])
    yield f(a)
    yield a


@row()
def an_array_of_labels_is_changed_inside(compiled):
    @compiled
    def f(x, labels):
        labels[0] = 7
        return x * labels[0]

    labels = np.array([1, 2])
    yield f(1.0, labels)
    yield labels


@row(SAME)
def an_array_of_the_arguments_is_changed_between(compiled):
    f = compiled(lambda a: a[0] * a[1])
    a = np.array([1.0, 2.0])
    yield f(a)
    a[0] = 5.0
    yield f(a)
    a *= 2.0
    yield f(a)


@row()
def an_object_of_the_arguments_is_changed(compiled):
    class State:
        def __init__(self):
            self.x = 1.0

    @compiled
    def f(state, rate):
        state.x = state.x * 2.0
        return rate * state.x

    state = State()
    yield [f(state, 1.0) for _ in range(3)]
    yield state.x


@row()
def data_is_assigned_inside(compiled):
    w = Value(1.0)

    @compiled
    def f(x):
        w.data = w.data * 2.0
        return x * w

    yield [f(1.0) for _ in range(3)]


@row()
def gradients_are_cleared_inside(compiled):
    w = Value(1.0)

    @compiled
    def f(x):
        w.grad = 0.0
        return x * w

    w.grad = 5.0
    yield f(1.0)
    yield w.grad


@row(limit=SAID_ONCE)
def a_line_is_printed(compiled):
    @compiled
    def f(x):
        print("called")
        return x * 2.0

    said = io.StringIO()
    with contextlib.redirect_stdout(said):
        yield [f(1.0), f(2.0)]
    yield said.getvalue()


@row(limit=SAID_ONCE)
def the_loss_is_printed(compiled):
    @compiled
    def f(x):
        y = x * x
        print(f"loss {y.data:.3f}")
        return y

    said = io.StringIO()
    with contextlib.redirect_stdout(said):
        yield [f(1.0), f(2.0), f(2.0)]
    yield said.getvalue()


@row(limit=SAID_ONCE)
def the_loss_is_logged_lazily(compiled):
    said = []

    class Kept(logging.Handler):
        def emit(self, record):
            said.append(record.getMessage())

    log = logging.getLogger("user_training")
    log.handlers, log.propagate = [Kept()], False
    log.setLevel(logging.INFO)

    @compiled
    def f(x):
        y = x * x
        log.info("loss %.3f", y.data)
        return y

    yield [f(1.0), f(2.0)]
    yield said


@row(limit=SAID_ONCE)
def a_warning_is_given(compiled):
    @compiled
    def f(x):
        warnings.warn("careful", UserWarning, stacklevel=1)
        return x * 2.0

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield [f(1.0), f(2.0)]
    yield len(caught)


@row(limit=SAID_ONCE)
def a_file_is_written(compiled):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "log.txt"

        @compiled
        def f(x):
            with path.open("a") as file:
                file.write("step\n")
            return x * 2.0

        yield [f(1.0), f(2.0)]
        yield path.read_text()


@row()
def the_environment_is_written(compiled):
    @compiled
    def f(x):
        os.environ["USER_SEEN"] = str(int(os.environ.get("USER_SEEN", "0")) + 1)
        return x * float(os.environ["USER_SEEN"])

    yield [f(1.0) for _ in range(3)]


@row()
def early_stopping_counts_inside(compiled):
    class Stopper:
        def __init__(self):
            self.best, self.bad = 1e9, 0

        def saw(self, loss):
            if loss < self.best:
                self.best, self.bad = loss, 0
            else:
                self.bad += 1

    stopper = Stopper()

    @compiled
    def f(x):
        y = x * x
        stopper.saw(y.data)
        return y

    for x in (3.0, 2.0, 2.5, 2.6):
        yield f(x), stopper.best, stopper.bad


@row()
def a_generator_outside_is_advanced(compiled):
    def rates():
        rate = 1.0
        while True:
            yield rate
            rate *= 0.5

    schedule = rates()
    f = compiled(lambda x: x * next(schedule))
    yield [f(1.0) for _ in range(3)]


@row()
def an_iterator_of_ones_own_is_advanced(compiled):
    class Batches:
        def __init__(self):
            self.at = 0

        def __iter__(self):
            return self

        def __next__(self):
            self.at += 1
            return float(self.at)

    batches = Batches()
    f = compiled(lambda x: x * next(batches))
    yield [f(1.0) for _ in range(3)]


@row()
def a_walrus_in_a_global(compiled):
    cells = Notebook(compiled)
    cells.run(
        """
        last = 0.0
        @compiled
        def f(x):
            global last
            if (y := x * 2.0).data > 1.0:
                last = y.data
            return y + last
        """
    )
    yield [cells.f(x) for x in (1.0, 0.1, 3.0, 0.2)]


@row()
def a_deque_remembers_the_last_three(compiled):
    from collections import deque

    window = deque(maxlen=3)

    @compiled
    def f(x):
        window.append(x.data)
        return x - sum(window) / len(window)

    yield [f(x) for x in (1.0, 2.0, 3.0, 4.0, 4.0, 4.0, 4.0)]


@row()
def a_set_of_seen_tokens(compiled):
    seen = set()

    @compiled
    def f(x, token):
        is_new = token not in seen
        seen.add(token)
        return x * 2.0 if is_new else x

    yield [f(1.0, token) for token in ("a", "b", "a", "b", "c")]


@row()
def a_global_list_is_used_as_a_stack(compiled):
    stack = []

    @compiled
    def f(x):
        stack.append(2.0)
        y = x * stack[-1]
        stack.pop()
        return y

    yield [f(1.0), f(2.0)]
    stack.append(9.0)
    yield f(1.0)
    yield stack


@row()
def an_exception_is_raised_after_an_effect(compiled):
    count = [0]

    @compiled
    def f(x):
        count[0] += 1
        if count[0] == 2:
            raise ValueError("second")
        return x * count[0]

    for _ in range(3):
        try:
            yield f(1.0)
        except ValueError as error:
            yield type(error).__name__
