"""`rows[i]` with an index that is followed: open where that is safe, else as it was."""

from __future__ import annotations

import importlib.util
import linecache
import sys
import threading
import warnings

import pytest

import minigrad
from minigrad import Value
from minigrad.compiler.tracing.subscripts import item, opened_code

TABLE = [[Value(10.0 * i + k) for k in range(3)] for i in range(4)]
FLAT = [Value(float(i)) for i in range(4)]
TUPLES = tuple(tuple(row) for row in TABLE)
PLAIN = [2.0, 3.0, 5.0, 7.0]


def middle(i):
    return TABLE[i][1]


def total(i, x):
    return sum(w * x for w in TABLE[i])


CASES = {
    "a row of a table": lambda i, x: TABLE[i][1] * x,
    "a Value of a list": lambda i, x: FLAT[i] * x,
    "tuples": lambda i, x: TUPLES[i][2] * x,
    "by another function": lambda i, x: middle(i) * x,
    "in a loop": total,
    "made here": lambda i, x: [x * 2.0, x * 3.0, x.exp(), x.sin()][i],
    "from the end": lambda i, x: FLAT[i - 4] * x,
    "twice": lambda i, x: TABLE[i][0] * TABLE[3 - i][2] * x,
    "in an inner function": lambda i, x: next(FLAT[j] * x for j in [i]),
}


@pytest.mark.parametrize("name", CASES)
def test_one_program_serves_all_indices(name):
    function = CASES[name]
    fast = minigrad.compile(function)
    for i in (2, 0, 3, 1):
        value, grads = fast.value_and_grad(i, 0.5)
        x = Value(0.5)
        slow = function(i, x)
        slow.backward()
        assert value == pytest.approx(slow.data, rel=1e-14)
        assert grads.args[1] == pytest.approx(x.grad, rel=1e-14)
    assert fast.cache_info().traces == 1, fast.explain()


def test_gradients_go_to_the_row_that_was_taken():
    fast = minigrad.compile(lambda i: TABLE[i][0] * TABLE[i][2])
    for i in (1, 3):
        minigrad.zero_grad([w for row in TABLE for w in row])
        fast(i).backward()
        for k, row in enumerate(TABLE):  # the product rule, by hand
            wanted = [row[2].data, 0.0, row[0].data] if k == i else [0.0, 0.0, 0.0]
            assert [w.grad for w in row] == wanted
    assert fast.cache_info().traces == 1


def named(i, x):
    row = TABLE[i]
    return row[i - 1] * row[0] * x


CALLING = {
    "a function of a module": lambda i, x: minigrad.exp(FLAT[i] * x),
    "one of a class that is imported": lambda i, x: Value.exp(FLAT[i] * x),
    "a row, and what is in it": lambda i, x: TABLE[i][i - 1] * x,
    "a row that has a name": named,
}


@pytest.mark.parametrize("name", CALLING)
def test_it_is_open_beside(name):
    function = CALLING[name]
    fast = minigrad.compile(function)
    for i in (1, 2, 3, 1):
        minigrad.zero_grad(everything := [*FLAT, *[w for row in TABLE for w in row]])
        wanted = function(i, 0.5)
        wanted.backward()
        slopes = [w.grad for w in everything]
        minigrad.zero_grad(everything)
        got = fast(i, 0.5)
        got.backward()
        assert got.data == pytest.approx(wanted.data, rel=1e-12)
        assert [w.grad for w in everything] == pytest.approx(slopes, rel=1e-12)
    assert fast.cache_info().traces == 1


def test_an_index_out_of_range_is_the_error_of_the_list():
    fast = minigrad.compile(lambda i: FLAT[i] * 2.0)
    assert fast(1).data == 2.0
    for index in (4, -5):
        with pytest.raises(IndexError):
            fast(index)


TIED = {
    "rows that are made here": lambda i, x: [[x, x * 2.0], [x * 3.0, x]][i][0] * 1.0,
    "plain numbers": lambda i, x: x * PLAIN[i],
    "which one it is": lambda i, x: x * (2.0 if FLAT[i] is FLAT[0] else 3.0),
    "whether it is among some": lambda i, x: x * (2.0 if FLAT[i] in FLAT[:2] else 3.0),
    "whether two are the same": lambda i, x: x * (2.0 if FLAT[i] == FLAT[1] else 3.0),
    "a dict": lambda i, x: {0: x, 1: x * 2.0, 2: x * 3.0}[i] * 1.0,
}


@pytest.mark.parametrize("name", TIED)
def test_what_cannot_be_open_is_right_all_the_same(name):
    function = TIED[name]
    fast = minigrad.compile(function)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        for i in (1, 0, 1, 0):
            assert fast(i, 0.5).data == function(i, Value(0.5)).data


def test_a_row_that_is_changed_is_the_row_itself():
    """The function changes what it reads, so that it runs as it is; nothing it does is lost."""
    rows = [[Value(1.0)], [Value(2.0)]]

    def grow(i, x):
        row = rows[i]
        row.append(x)
        rows[i][0] = row[0] * 1.0
        return row[0] * x

    fast = minigrad.compile(grow)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        for calls in (1, 2, 3, 4):
            assert fast(1, 0.5).data == 1.0
            assert [len(rows[0]), len(rows[1])] == [1, 1 + calls]


def test_a_row_can_be_returned():
    fast = minigrad.compile(lambda i: TABLE[i])
    for i in (0, 2):
        assert [v.data for v in fast(i)] == [v.data for v in TABLE[i]]


def test_functions_have_their_own_code_again():
    def first(i):
        return FLAT[i] * 1.0

    def bad(i):
        return FLAT[i] * first(i) * missing  # noqa: F821

    codes = first.__code__, bad.__code__
    with pytest.raises(NameError):
        minigrad.compile(bad)(1)
    assert (first.__code__, bad.__code__) == codes
    assert first.__code__ is codes[0]


def test_other_threads_meanwhile_read_lists_as_ever():
    inside, done = threading.Event(), threading.Event()
    seen = []

    def wait(i, x):
        inside.set()
        assert done.wait(10)
        return FLAT[i] * x

    def other():
        assert inside.wait(10)
        seen.append(middle(2).data)
        done.set()

    thread = threading.Thread(target=other)
    thread.start()
    assert minigrad.compile(wait)(1, 2.0).data == 2.0
    thread.join()
    assert seen == [21.0]


# ---- the source ---------------------------------------------------------------------------------


def load(path, text):
    path.write_text(text, encoding="utf-8")
    linecache.checkcache()
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    spec.loader.exec_module(module)
    return module


SCRIPT = """from minigrad import Value
rows = [Value(1.0), Value(2.0), Value(4.0), Value(8.0)]
def f(i, x):
    return rows[i] * x
"""


def test_a_file_that_was_edited_meanwhile_is_not_believed(tmp_path, monkeypatch):
    module = load(tmp_path / "edited_model.py", SCRIPT)
    assert opened_code(module.f.__code__) is not None
    opened_code.cache_clear()
    changed = SCRIPT.replace("rows[i] * x", "rows[i] * x * 100.0")
    (tmp_path / "edited_model.py").write_text(changed, encoding="utf-8")
    linecache.checkcache()
    assert opened_code(module.f.__code__) is None
    fast = minigrad.compile(module.f)
    assert [fast(i, 3.0).data for i in (0, 1)] == [3.0, 6.0]
    monkeypatch.delitem(sys.modules, "edited_model")


PLACES = """from __future__ import annotations

def same(f):
    return f

@same
@same
def decorated(i: int, x):
    return rows[i] * x

a = 1; two_on_a_line = lambda i, x: rows[i] * x; b = 2
c = (1,
     2); lines_that_two_share = lambda i, x: (
     rows[i] * x)

if a:
    def below_a_condition(i, x):
        return rows[i] * x

class C:
    def a_method(i, x):
        return rows[i] * x
a_method = C.a_method

def outer(k):
    def a_closure(i, x):
        return rows[i] * x * k
    return a_closure
a_closure = outer(1)

t = '''
def after_a_text(i, x):
'''
def after_a_text(i, x):
    return rows[i] * x
"""


def test_wherever_a_function_stands_in_its_module(tmp_path, monkeypatch):
    module = load(tmp_path / "places_of_functions.py", PLACES)
    names = ("decorated", "two_on_a_line", "lines_that_two_share", "below_a_condition")
    for name in (*names, "a_method", "a_closure", "after_a_text"):
        code = getattr(module, name).__code__
        opened = opened_code(code)
        assert opened is not None, name
        assert item in opened.co_consts
        assert opened.co_flags == code.co_flags
        assert {line for _, _, line in opened.co_lines()} == {
            line for _, _, line in code.co_lines()
        }
    assert opened_code(module.same.__code__) is None
    monkeypatch.delitem(sys.modules, "places_of_functions")


def test_without_a_source_the_first_warning_names_the_line_and_the_rewrite():
    space = {"rows": FLAT}
    exec(compile("def f(i, x):\n    return rows[i] * x\n", "<typed in>", "exec"), space)
    assert opened_code(space["f"].__code__) is None
    fast = minigrad.compile(space["f"])
    fast(0, 1.0), fast(1, 1.0), fast(2, 1.0)
    words = (
        r"3 times in a row .*an index, at <typed in>:2\).*minigrad\.take\(rows, i\) for rows\[i\]"
    )
    with pytest.warns(RuntimeWarning, match=words):
        assert fast(3, 2.0).data == 6.0
    for _ in range(3):  # from now on as it is; what fits a program is replayed
        for i in (3, 1):
            assert fast(i, 2.0).data == 2.0 * i
    info = fast.cache_info()
    assert info.traces <= 4
    assert info.eager_calls >= 1


def test_calls_that_come_back_are_traced_after_all():
    """Eight ways, in turn: none of the first three serves the next call, but all come again."""
    ways = [lambda x, k=k: x * float(k) for k in range(8)]
    fast = minigrad.compile(lambda k, x: ways[k](x))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        for turn in range(6):
            for k in range(8):
                assert fast(k, 2.0).data == 2.0 * k, turn
    info = fast.cache_info()
    assert info.programs == 8


def test_item_is_a_subscript():
    assert item([1, 2], 1) == 2
    assert item({"a": 3}, "a") == 3
    with pytest.raises(IndexError):
        item([], 0)
    with pytest.raises(TypeError, match="not subscriptable"):
        item(3, 0)
