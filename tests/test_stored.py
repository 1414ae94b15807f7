"""Programs from disk are the programs: the same words, the same numbers, or none at all."""

from __future__ import annotations

import gc
import itertools
import math
import os
import sys
import threading
import weakref

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import minigrad
from minigrad import Value, optim
from minigrad.compiler import specialization, stored
from minigrad.compiler.backends import native
from minigrad.compiler.specialization import BY_VALUES
from minigrad.core import store

pytestmark = pytest.mark.skipif(not native.available(), reason="words are the native machine's")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("MINIGRAD_CACHE", str(tmp_path))
    return tmp_path / "programs"


@pytest.fixture
def groups(monkeypatch):
    """Count how often a tape is grouped, which a program from disk does not need."""
    found = []
    real = specialization.group

    def counted(*args, **kwargs):
        found.append(args)
        return real(*args, **kwargs)

    monkeypatch.setattr(specialization, "group", counted)
    return found


def model(seed=1):
    """A loss over a small network: matrix products, a branch, a choice, captured Values."""
    rng = np.random.default_rng(seed)
    weights = [[Value(float(x)) for x in row] for row in rng.normal(size=(6, 4))]
    bias = [Value(float(x)) for x in rng.normal(size=6)]

    def loss(xs, scale):
        total = 0.0
        for x in xs:
            hidden = [
                minigrad.tanh(sum(w * a for w, a in zip(row, x, strict=True)) + b)
                for row, b in zip(weights, bias, strict=True)
            ]
            total = total + minigrad.where(hidden[0] > 0, hidden[1], sum(hidden)) * scale
        if scale > 10:  # a guard
            total = total * 2
        return total

    xs = rng.normal(size=(5, 4)).tolist()
    return loss, xs, [*itertools.chain(*weights), *bias]


def words(compiled, purpose=BY_VALUES):
    return compiled.dispatch.latest().machine(purpose)


def asked(compiled, xs, parameters):
    """Everything that a compiled function can be asked for, as plain numbers."""
    for p in parameters:
        p.grad = 0.0
    out = compiled(xs, 0.7)
    out.backward()
    value, grads = compiled.value_and_grad(xs, 0.7)
    direction = {p: math.sin(k) for k, p in enumerate(parameters)}
    _, curvature = compiled.hvp((xs, 0.7), parameters=direction)
    return [
        *(out.data, value, *grads.args[1:]),
        *[p.grad for p in parameters],
        *[grads.get(p, 0.0) for p in parameters],
        *[curvature.get(p, 0.0) for p in parameters],
    ]


@pytest.mark.smoke
def test_the_second_time_is_the_same_bit_for_bit(folder, groups):
    loss, xs, parameters = model()
    first = asked(minigrad.compile(loss), xs, parameters)
    assert groups
    files = {path.name: path.read_bytes() for path in folder.iterdir()}
    groups.clear()
    again = minigrad.compile(loss)
    second = asked(again, xs, parameters)
    assert groups == []  # all of it from disk
    assert [x.hex() for x in first] == [x.hex() for x in second]
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == files
    plain = loss(xs, 0.7)  # and it is right, says the eager engine
    assert abs(first[0] - plain.data) <= 1e-12 * abs(plain.data)


def test_without_a_folder_nothing_differs(folder, monkeypatch, groups):
    loss, xs, parameters = model()
    kept = asked(minigrad.compile(loss), xs, parameters)
    kept_again = asked(minigrad.compile(loss), xs, parameters)
    monkeypatch.setenv("MINIGRAD_CACHE", "0")
    groups.clear()
    plain = asked(minigrad.compile(loss), xs, parameters)
    assert groups
    assert [x.hex() for x in plain] == [x.hex() for x in kept] == [x.hex() for x in kept_again]


def test_several_results_and_batches_come_from_disk_too(folder, groups):
    def pair(x, y):
        return x * y + minigrad.exp(x), minigrad.sin(y) / x

    def numbers():
        x, y = Value(0.3), Value(1.2)
        a, b = minigrad.compile(pair)(x, y)
        (a * b).backward()
        batch = minigrad.vmap(lambda x, y: pair(x, y)[0])
        values, grads = batch.value_and_grad(np.linspace(0.1, 1, 40), np.linspace(1, 2, 40))
        return [a.data, b.data, x.grad, y.grad], np.concatenate([values, *grads])

    first, batch = numbers()
    groups.clear()
    again, batch_again = numbers()
    assert groups == []
    assert first == again
    assert batch.tobytes() == batch_again.tobytes()


def test_training_goes_the_same_way(folder, groups):
    def trained():
        loss, xs, parameters = model()
        step = minigrad.train_step(loss, optim.Adam(parameters, lr=0.01))
        losses = [step(xs, 0.7) for _ in range(5)]
        return losses, [p.data for p in parameters], step

    first = trained()
    groups.clear()
    second = trained()
    assert groups == []
    assert first[:2] == second[:2]
    # Another optimiser has the same gradient: its formula is no part of the words.
    loss, xs, parameters = model()
    minigrad.train_step(loss, optim.SGD(parameters, lr=0.01))(xs, 0.7)
    assert groups == []
    assert first[2].program_hash == second[2].program_hash  # made now, of the tape
    assert groups


def test_instructions_are_made_when_somebody_looks(folder, groups):
    loss, xs, _ = model()
    first = minigrad.compile(loss)
    first(xs, 0.7)
    texts = str(first.program), str(words(first).program), first.explain()
    second = minigrad.compile(loss)
    groups.clear()
    second(xs, 0.7)
    assert groups == []
    assert len(second.program.instructions) == len(first.program.instructions)
    assert groups == []
    assert (str(second.program), str(words(second).program)) == texts[:2]
    assert len(groups) == 1  # once for both
    assert second.explain() == texts[2]
    assert second.program.digest() == first.program.digest()
    assert repr(second.program) == repr(first.program)


def test_threads_may_look_at_once(folder):
    loss, xs, _ = model()
    first = minigrad.compile(loss)
    first.value_and_grad(xs, 0.7)
    second = minigrad.compile(loss)
    second.value_and_grad(xs, 0.7)
    texts = []
    looks = [lambda: str(second.program), lambda: str(second.gradient_program())] * 4
    threads = [threading.Thread(target=lambda f=f: texts.append(f())) for f in looks]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(texts) == sorted([str(first.program), str(first.gradient_program())] * 4)


def test_exact_programs_are_made_beside_those_from_disk(folder):
    """0 * inf on a side that was not chosen: the exact programs have to say what is right."""

    def function(x):
        return minigrad.where(x > 0.0, minigrad.sqrt(x), x * 2.0)

    expected = []
    for _ in range(2):
        compiled = minigrad.compile(function)
        expected.append([compiled.grad(x).args[0] for x in (4.0, -1.0, 0.0)])
    assert expected == [[0.25, 2.0, 2.0]] * 2
    # The tape was grouped for that in another way; what it gives now is the program that runs.
    loss, xs, _ = model()
    texts = []
    for _ in range(2):
        compiled = minigrad.compile(loss)
        compiled.value_and_grad(xs, 0.7)
        compiled.dispatch.latest().exactly()
        texts.append([str(compiled.program), str(compiled.gradient_program())])
    assert texts[0] == texts[1]


# ---- what is a miss ------------------------------------------------------------------------------


def remade(groups, loss, xs):
    groups.clear()
    minigrad.compile(loss).value_and_grad(xs, 0.7)
    return len(groups) > 0


@pytest.mark.parametrize("name", ["__version__", "_FORMAT"])
def test_another_version_is_a_miss(folder, groups, name):
    loss, xs, _ = model()
    assert remade(groups, loss, xs)
    assert not remade(groups, loss, xs)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(stored, name, "another")
        patch.setattr(stored, "maker", stored.maker.__wrapped__)
        assert remade(groups, loss, xs)
        assert not remade(groups, loss, xs)
    assert not remade(groups, loss, xs)  # the first one's are still there


def test_another_machine_or_source_is_a_miss(folder, monkeypatch, tmp_path):
    machine = native._vm

    class Other:
        __file__ = machine.__file__

        @staticmethod
        def isas():
            return ["another"]

    first = stored.maker.__wrapped__()
    assert first == stored.maker.__wrapped__()
    monkeypatch.setattr(stored, "native_machine", lambda: Other)
    assert stored.maker.__wrapped__() != first
    monkeypatch.undo()
    source = tmp_path / "pass.py"
    source.write_text("a = 1")
    monkeypatch.setattr(stored, "_SOURCES", (*stored._SOURCES, str(source)))
    second = stored.maker.__wrapped__()
    status = source.stat()
    source.write_text("a = 2")  # of the same size, and dated back
    os.utime(source, ns=(status.st_atime_ns, status.st_mtime_ns))
    assert len({first, second, stored.maker.__wrapped__()}) == 3
    source.unlink()
    assert stored.maker.__wrapped__() is None  # nothing is kept by one who is not known


def test_another_trace_is_a_miss():
    """Everything that shapes a program is in the hash of a tape."""
    a, b = Value(2.0), Value(3.0)
    functions = [
        lambda x: x * 2.0 + a,
        lambda x: x * 2.0 + b * a,
        lambda x: x * -2.0 + a,
        lambda x: x * 0.0 + a,
        lambda x: x * -0.0 + a,
        lambda x: x + a,
        lambda x: (x * 2.0 + a, x),
        lambda x: (x, x * 2.0 + a),
        lambda x: minigrad.sum([x, a, b]),
        lambda x: minigrad.sum([x, b, a, a]),
        lambda x: minigrad.dot([x, a], [b, b]),
        lambda x: x * 2.0 + a if x > 1.0 else x,  # a guard more than the first one
    ]
    assert len(set(map(hash_of, functions))) == len(functions)
    assert hash_of(functions[0]) == hash_of(lambda x: x * 2.0 + b)  # Values are read at each call


def hash_of(function):
    """The hash of the tape of a function, as it is before passes redirect its operands."""
    hashed = []
    with pytest.MonkeyPatch.context() as patch:
        look = lambda tape: hashed.append(stored._hash(tape, b""))  # noqa: E731
        patch.setattr(specialization, "stored_for", look)
        minigrad.compile(function)(Value(1.5))
    return hashed[0]


# ---- hostile files -------------------------------------------------------------------------------


@settings(max_examples=30)
@given(st.data())
def test_what_is_no_program_is_a_miss_though_its_digest_is_right(tmp_path_factory, data):
    """Whoever can make such a file can change numbers, as in any program, and reach no further."""
    with pytest.MonkeyPatch.context() as patch:
        top = tmp_path_factory.mktemp("hostile")
        patch.setenv("MINIGRAD_CACHE", str(top))
        inputs = [Value(0.5), Value(-1.5)]

        def answer():
            compiled = minigrad.compile(lambda x: minigrad.exp(x * inputs[0]) + inputs[1] * x)
            value, grads = compiled.value_and_grad(0.7)
            return [value, *grads.args, *[grads[p] for p in inputs]]

        expected = answer()
        key = data.draw(st.sampled_from(sorted((top / "programs").iterdir()))).stem
        content = bytearray(store.recall(key))
        kind = data.draw(st.sampled_from(["word", "cut", "longer", "random"]))
        if kind == "word":
            at = 8 * data.draw(st.integers(0, len(content) // 8 - 1))
            number = data.draw(st.sampled_from([-1, 0, 1, 7, 2**31, 2**62, -(2**63)]))
            content[at : at + 8] = number.to_bytes(8, sys.byteorder, signed=True)
        elif kind == "cut":
            content = content[: data.draw(st.integers(0, len(content) - 1))]
        elif kind == "longer":
            content += bytes(data.draw(st.integers(1, 40)))
        else:
            content = data.draw(st.binary(max_size=200))
        store.keep(key, bytes(content))
        found = answer()  # no crash
        assert list(map(type, found)) == list(map(type, expected))
        assert kind == "word" or found == expected


def test_words_that_the_machine_refuses_are_made_anew(folder, groups):
    loss, xs, _ = model()
    first = minigrad.compile(loss).value_and_grad(xs, 0.7)[0]
    for path in folder.iterdir():
        arrays = stored._unpacked(store.recall(path.stem), "qqqqid")
        if arrays is not None:
            broken = [array.copy() for array in arrays]
            broken[3][0] = 99  # there is no such instruction
            store.keep(path.stem, stored._packed(broken))
    assert remade(groups, loss, xs)
    assert not remade(groups, loss, xs)  # and kept again
    assert minigrad.compile(loss).value_and_grad(xs, 0.7)[0] == first


def test_a_program_from_disk_leaves_nothing_behind(folder):
    loss, xs, _ = model()
    minigrad.compile(loss).value_and_grad(xs, 0.7)
    second = minigrad.compile(loss)
    second.value_and_grad(xs, 0.7)
    machine = weakref.ref(words(second))
    spec = weakref.ref(second.dispatch.latest())
    gc.collect()
    gc.disable()
    try:
        second.cache_clear()
        assert spec() is None  # no reference cycle holds it
        assert machine() is None
    finally:
        gc.enable()


def test_compiling_needs_no_unique_of_numpy(monkeypatch):
    """It imports masked arrays, which takes longer than a small function takes to compile."""
    monkeypatch.setattr(np, "unique", pytest.fail)
    loss, xs, parameters = model()
    asked(minigrad.compile(loss), xs, parameters)


def test_numpy_keeps_nothing(folder):
    minigrad.compile(lambda x: x * x, backend="numpy")(Value(3.0))
    assert not folder.exists()
