"""The ways to run a program against each other, and against a few lines of plain Python."""

from __future__ import annotations

import math
import random
import threading
from array import array
from dataclasses import replace

import pytest

from minigrad import Value, data_of, set_grads
from minigrad.codegen.formula import formula_of
from minigrad.maths import floats as ieee
from minigrad.optim import SGD, Adam, AdamW, built_in

np = pytest.importorskip("numpy")

# ruff: noqa: E402
from minigrad.codegen.elementwise import MAPS
from minigrad.compiler.backends import encode as lower
from minigrad.compiler.backends import native
from minigrad.compiler.backends import numpy as arrays
from minigrad.compiler.backends.numpy import Batch
from minigrad.compiler.ir.kinds import KINDS
from minigrad.compiler.ir.program import Instruction, Program, Update, verify
from minigrad.compiler.ir.refs import MOST_SLOTS, Ref
from minigrad.compiler.passes.update import update
from minigrad.errors import TraceError

ISAS = native.isas()
needs_native = pytest.mark.skipif(not native.available(), reason="minigrad._vm is not built")


# ---- an interpreter that leaves nothing to understand --------------------------------------------


def interpret(program, values):
    for i in program.instructions:
        *args, out = [ref.slots(rows, terms).tolist() for ref, rows, terms in i.spaces()]
        m, n, k = (*i.shape, 1, 1)[:3] if len(i.shape) < 3 else i.shape
        x = [[[values[s] for s in row] for row in arg] for arg in args]
        found = _results(i, x, m, n, k)
        for row, terms in enumerate(out):
            for term, slot in enumerate(terms):
                if i.adds:
                    values[slot] += found(row, term)
                else:
                    values[slot] = found(row, term)


def _results(i, x, m, n, k):
    def total(terms, row, first):
        terms = list(terms)
        return ieee.sum([first[row][0], *terms]) if first else ieee.sum(terms)

    def place(row, index):
        at = index[row][0]
        return int(at) if at >= 0 else int(at) + n

    if i.kind == "map":
        return lambda row, _: MAPS[i.op].value(ieee, *[a[row][0] for a in x])
    if i.kind == "vjp":
        return lambda row, _: (
            x[0][row][0] * MAPS[i.op].derivatives(ieee, *[a[row][0] for a in x[1:]])[i.which]
        )
    if i.kind == "sum":
        return lambda row, _: total(x[0][row], row, x[1] if len(x) > 1 else None)
    if i.kind == "dot":
        return lambda row, _: total(
            [a * b for a, b in zip(x[0][row], x[1][row], strict=True)],
            row,
            x[2] if len(x) > 2 else None,
        )
    if i.kind in ("mm", "mmadd"):
        return lambda row, _: total(
            [a * b for a, b in zip(x[0][row // n], x[1][row % n], strict=True)],
            row,
            x[2] if len(x) > 2 else None,
        )
    if i.kind == "max":
        return lambda row, _: max(x[0][row])  # Python's own: a nan counts only if it is first
    if i.kind == "argmax":
        return lambda row, _: float(max(range(len(x[0][row])), key=x[0][row].__getitem__))
    if i.kind == "fill":
        return lambda row, _: i.number
    if i.kind == "add":
        return lambda row, term: x[0][row][term]
    if i.kind == "muladd":
        return lambda row, term: x[0][row][term] * x[1][row][term]
    if i.kind == "put":
        return lambda row, term: x[0][row][0] if term == place(row, x[1]) else 0.0
    return lambda row, _: x[0][row][place(row, x[1])]


# ---- random programs -----------------------------------------------------------------------------

FORMS = ("flat", "one", "strided", "nested", "rows", "cells", "turned")
INPUTS = 400


def random_ref(draw, form, rows, terms, size, once=False):
    """Make a Ref of a form, within `size` slots from 0 on; `once`: no slot twice."""
    if form == "one" and not once:
        return Ref(draw.randrange(size))
    if form == "flat" or (form == "one" and once):
        return Ref(draw.randrange(size - rows * terms + 1), 1, terms, 0, 1)
    if form == "turned":  # terms lie further apart than rows
        return Ref(draw.randrange(size - rows * terms + 1), 1, 1, 0, rows)
    if form == "strided":
        step = min(3, max(1, (size - 1) // (rows * terms)))
        return Ref(draw.randrange(size - step * rows * terms + 1), 1, step * terms, 0, step)
    if form == "nested":
        inner = draw.choice([d for d in range(1, rows + 1) if rows % d == 0])
        gap = min(2, size - rows * terms)
        room = size - (rows * terms + gap * (rows // inner))
        if room >= 0:
            outer = inner * terms + (gap if rows > inner else 0)
            return Ref(draw.randrange(room + 1), inner, outer, terms, 1)
        return Ref(0, 1, terms, 0, 1)
    numbers = np.random.default_rng(draw.randrange(1000))
    if form == "rows":
        starts = numbers.choice(size // terms, rows, replace=not once) * terms
        return Ref(0, rows=starts.astype(np.int32), term_stride=1)
    return Ref(0, cells=numbers.choice(size, rows * terms, replace=not once).astype(np.int32))


ARGS = {
    "sum": (1, 2), "dot": (2, 3), "mm": (2, 3), "max": (1,), "argmax": (1,), "take": (2,),
    "fill": (0,), "add": (1,), "muladd": (2,), "mmadd": (2,), "put": (2,), "get": (2,),
}  # fmt: skip
SMOOTH = ("exp", "tanh", "sin", "sigmoid", "softplus")
ARITHMETIC = ("add", "sub", "mul", "neg", "div", "stop_gradient", "sqrt")


def random_program(draw, kind, op="", largest=(7, 5, 6)):
    """Make a program of one instruction, after the fill that a += needs."""
    dims = {"map": 1, "vjp": 1, "fill": 1, "mm": 3, "mmadd": 3}.get(kind, 2)
    shape = tuple(draw.randint(1, most) for most in largest[:dims])
    if dims == 1 and draw.random() < 0.2:
        shape = (draw.randint(500, 1100),)
    arity = MAPS[op].arity if op else 0
    count = {"map": arity, "vjp": arity + 2}.get(kind) or draw.choice(ARGS.get(kind, (0,)))
    inputs = max(INPUTS, 3 * math.prod(shape[:2]), 3 * shape[0] * shape[-1])
    constants = np.array([0.0, 1.0, -1.0, 2.0])
    start = inputs + len(constants)
    blank = Instruction(kind, shape, Ref(0), (Ref(0),) * count, op, number=0.25)
    *arg_spaces, (_, rows, terms) = blank.spaces()
    args = tuple(random_ref(draw, draw.choice(FORMS), n, k, inputs) for _, n, k in arg_spaces)
    if kind in ("take", "put", "get"):
        args = (
            args[0],
            Ref(inputs, rows=np.array([draw.randrange(4) for _ in range(rows)], np.int32)),
        )
        shape = (shape[0], 3)
        blank = replace(blank, shape=shape, args=args)
        *_, (_, rows, terms) = blank.spaces()
        args = (random_ref(draw, draw.choice(FORMS), *blank.spaces()[0][1:], inputs), args[1])
    room = 3 * rows * terms + 8
    adds = KINDS[kind].adds
    out = random_ref(draw, draw.choice(FORMS), rows, terms, room, once=not adds).shifted(start)
    which = draw.randrange(arity) if kind == "vjp" else 0
    step = replace(blank, out=out, args=args, which=which, number=draw.choice([0.0, 1.5]))
    fill = Instruction("fill", (room,), Ref(start, 1, 1), number=0.0)
    steps = (fill, step) if adds else (step,)
    if kind == "put" or kind in ("take", "get"):
        constants = np.array([0.0, 1.0, -1.0, 2.0])
    return Program(start + room, inputs, 0, constants, steps, ())


def buffer_for(draw, program):
    values = arrays.fresh(program)
    numbers = np.random.default_rng(draw.randrange(1000))
    values[: program.inputs] = numbers.uniform(-2, 2, program.inputs)
    special = values[: program.inputs : 17]
    special[:] = numbers.choice([0.0, -0.0, 1.0, 3.0, 1e-300], len(special))
    return values


def programs(count, kinds=None):
    """List (name, program, values) for every kind, seeded by the number."""
    cases = []
    for kind in kinds or [*ARGS, "map", "vjp"]:
        for seed in range(count):
            draw = random.Random(f"{kind} {seed}")
            op = draw.choice(ARITHMETIC + SMOOTH) if kind in ("map", "vjp") else ""
            program = random_program(
                draw, kind, op, draw.choice([(7, 5, 6), (3, 40, 9), (33, 17, 12)])
            )
            cases.append((kind, program, buffer_for(draw, program)))
    return cases


def is_exact(program):
    """Tell whether every way to run gives the same bits: no long sums, no functions."""
    return all(
        i.kind in ("max", "argmax", "take", "fill", "add", "muladd", "get", "put")
        or (i.kind in ("map", "vjp") and i.op in ARITHMETIC)
        for i in program.instructions
    )


def assert_same(program, found, wanted, *, exact=None):
    """Compare results: of sums, by what their terms might have cancelled."""
    exact = is_exact(program) if exact is None else exact
    if exact:
        np.testing.assert_array_equal(found, wanted)
    elif all(i.kind == "map" for i in program.instructions):
        np.testing.assert_allclose(found, wanted, rtol=4 * 2.3e-16, atol=0.0)
    else:
        scale = 1.0 + np.nanmax(np.abs(wanted[np.isfinite(wanted)]), initial=0.0)
        np.testing.assert_allclose(found, wanted, rtol=1e-15, atol=1e-14 * scale)


# ---- the tests -----------------------------------------------------------------------------------

MACHINES = [
    pytest.param(arrays.prepare, id="numpy"),
    *[pytest.param(lambda p, isa=isa: native.prepare(p, isa), id=isa) for isa in ISAS],
]
CASES = programs(24)


@pytest.mark.parametrize("prepare", MACHINES)
def test_programs_do_what_the_table_of_instructions_says(prepare):
    for kind, program, values in CASES[::2]:
        wanted, found = values.tolist(), values.copy()
        interpret(program, wanted)
        prepare(program).run(found)
        try:
            assert_same(program, found, np.array(wanted), exact=False)
        except AssertionError as error:
            raise AssertionError(f"{kind}: {program.instructions[-1]}") from error


@pytest.mark.parametrize("isa", ISAS)
def test_the_machine_agrees_with_numpy(isa):
    for kind, program, values in CASES:
        found, wanted = values.copy(), values.copy()
        native.prepare(program, isa).run(found)
        arrays.prepare(program).run(wanted)
        # what is added to one slot several times may be added in another order
        adds = any(KINDS[i.kind].adds for i in program.instructions)
        try:
            assert_same(program, found, wanted, exact=False if adds else None)
        except AssertionError as error:
            raise AssertionError(f"{kind}: {program.instructions[-1]}") from error


@pytest.mark.parametrize("prepare", MACHINES)
def test_a_batch_is_many_runs(prepare):
    for _, program, values in CASES[::11]:
        prepared = prepare(program)
        count, first = 77, program.inputs + len(program.constants)
        rng = np.random.default_rng(3)
        table = rng.uniform(-2, 2, (count, 30))
        columns = [(0, table[:, :20]), (25, table[:, 22])]
        out = np.zeros((program.size - first, count)).T  # columns side by side
        sums = range(first, program.size)
        rows = Batch(count, columns, [(first, out)], sums, threads=2)
        totals, failed = prepared.batch(values, rows)
        assert failed is None
        for row in (0, 31, 32, 76):
            one = values.copy()
            one[:20], one[25] = table[row, :20], table[row, 22]
            prepared.run(one)
            assert_same(program, out[row], one[first:], exact=False)
        np.testing.assert_allclose(totals, out.sum(axis=0), rtol=1e-12, atol=1e-10)


def irregular(seed, steps=30):
    """Make a program of short instructions on slots at random, some twice in a list.

    As `grad` has it, each operation gives its adjoint to both operands in one go; here one of the
    two may even read what the other writes.
    """
    draw = random.Random(seed)
    half, first, found = 40, 80, []

    def some(count, start):
        if draw.random() < 0.3:
            return Ref(start + draw.randrange(half - count + 1), 1, 1)
        return Ref(start, rows=np.array([draw.randrange(half) for _ in range(count)], np.int32))

    for _ in range(steps):
        n = draw.choice([1, 1, 2, 3, 5, 7, 8, 9, 16, 31, 32, 33])
        a, b, g = some(n, 0), some(n, half), Ref(first, 1, 1)
        op = draw.choice(["add", "sub", "mul", "neg", "stop_gradient", "dot", "sum"])
        if op == "dot":
            found.append(Instruction("dot", (n, 1), g, (a, b, some(n, 0))))
        elif op == "sum":
            found.append(Instruction("sum", (n, 3), g, (Ref(3, 1, 1, 0, 2),)))
        else:
            found.append(Instruction("map", (n,), g, (a, b)[: MAPS[op].arity], op))
        if op == "mul":
            found.append(Instruction("muladd", (n, 1), a, (g, some(n, half))))
            found.append(Instruction("muladd", (n, 1), b, (g, some(n, 0))))
        elif op == "sub":
            found += [Instruction("vjp", (n,), (a, b)[k], (g, g, g, g), op, k) for k in (0, 1)]
        else:
            found.append(Instruction("add", (n, 1), a, (g,)))
            found.append(Instruction("add", (n, 1), some(n, 0), (draw.choice([g, Ref(first)]),)))
        first += n
    return Program(first, 2 * half, 0, np.zeros(0), tuple(found), ())


@pytest.mark.parametrize("isa", ISAS)
def test_short_instructions_keep_their_order(isa):
    """The machine joins some of them; every slot still takes its terms one after the other."""
    for seed in range(60):
        program = irregular(seed)
        values = buffer_for(random.Random(seed), program)
        values[: program.inputs] *= 1e-2  # they grow
        wanted, found = values.tolist(), values.copy()
        interpret(program, wanted)
        native.prepare(program, isa).run(found)
        np.testing.assert_array_equal(found, np.array(wanted))


def scalar_code(seed, steps=40):
    """Make a program with what lanes leave out: copies, factors 1, sums with 0, unread slots."""
    draw = random.Random(seed)
    inputs, size = 8, 32
    work = range(inputs, size)
    found = [Instruction("fill", (len(work),), Ref(inputs, 1, 1), (), number=0.0)]
    for _ in range(steps):
        n = draw.choice([1, 1, 1, 2, 3])
        out = Ref(draw.randrange(inputs, size - n + 1), 1, 1)
        apart = [s for s in range(size) if not out.base - n < s < out.base + n and s <= size - n]
        a, b, c, d = (Ref(draw.choice(apart), 1, draw.choice([0, 1])) for _ in range(4))
        stores = draw.random() < 0.5
        found.append(
            draw.choice(
                [
                    Instruction(
                        "fill", (n,), out, (), number=draw.choice([0.0, 1.0, -1.0, -0.0, 3])
                    ),
                    Instruction("map", (n,), out, (a,), draw.choice(["neg", "stop_gradient"])),
                    Instruction(
                        "map", (n,), out, (a, b), draw.choice(["add", "sub", "mul", "div"])
                    ),
                    Instruction("dot", (n, 1), out, (a, b, c)),
                    Instruction("sum", (n, 1), out, (a, b)),
                    Instruction("add", (n, 1), out, (a,), stores=stores),
                    Instruction("muladd", (n, 1), out, (a, b), stores=stores),
                    Instruction(
                        "vjp", (n,), out, (a, b, c, d), "sub", draw.choice([0, 1]), 0.0, stores
                    ),
                    Instruction(
                        "vjp", (n,), out, (a, b, c, d), "div", draw.choice([0, 1]), 0.0, stores
                    ),
                ]
            )
        )
    return Program(size, inputs, 0, np.zeros(0), tuple(found), (size - 1,))


@pytest.mark.parametrize("isa", ISAS)
def test_lanes_leave_nothing_out_that_somebody_reads(isa):
    count, looked_at = 70, (3, 69)  # a block of 64 and one that is not full
    for seed in range(30):
        program = scalar_code(seed)
        draw, rng = random.Random(seed), np.random.default_rng(seed)
        values = buffer_for(draw, program)
        table = rng.choice([-1.0, 0.0, 0.5, 1.0, 3.0], (count, 6))
        right = [[*table[row].tolist(), *values[6:].tolist()] for row in looked_at]
        for one in right:
            interpret(program, one)
        read = draw.sample(range(program.size), draw.choice([1, 2, 5]))
        prepared = native.prepare(program, isa)
        # the second time others are read: the machine has to write its words again
        for wanted in (read, [s for s in range(program.size) if s not in read]):
            outs = [(slot, np.zeros(count)) for slot in wanted]
            prepared.batch(values, Batch(count, [(0, table)], outs, [8], threads=1))
            for row, one in zip(looked_at, right, strict=True):
                found = [column[row] for _, column in outs]
                np.testing.assert_array_equal(found, [one[slot] for slot in wanted], str(seed))


@pytest.mark.parametrize("prepare", MACHINES)
@pytest.mark.parametrize("count", [64, 70, 128, 3])
def test_columns_and_outputs_of_any_kind(prepare, count):
    """The machine computes in the caller's memory where it can; nobody may see where it cannot."""
    twice = Instruction("map", (1,), Ref(3), (Ref(0), Ref(0)), "add")
    product = Instruction("map", (1,), Ref(4), (Ref(3), Ref(1)), "mul")
    again = Instruction("muladd", (1, 1), Ref(4), (Ref(3), Ref(0)))
    changed = Instruction("map", (1,), Ref(1), (Ref(4), Ref(2)), "sub")  # an input is written
    program = Program(5, 3, 0, np.zeros(0), (twice, product, again, changed), (4,))
    prepared = prepare(program)
    x, y = np.random.default_rng(2).normal(size=(2, count))
    values = prepared.values()
    values[2] = 0.5
    wanted = 2 * x * y + 2 * x * x
    given = x.copy(), y.copy()
    both, turned = np.zeros((count, 2)), np.zeros((2, count)).T
    same, first = np.zeros(count), np.zeros(count)
    outputs = [
        (3, both),
        (3, turned),
        (1, same),
        (0, first),
        (2, strided := np.zeros(2 * count)[::2]),
    ]
    rows = Batch(count, [(0, given[0]), (1, given[1])], outputs, [4, 0], threads=1)
    totals, failed = prepared.batch(values, rows)
    assert failed is None
    for table in (both, turned):
        np.testing.assert_array_equal(table[:, 0], 2 * x)
        np.testing.assert_allclose(table[:, 1], wanted, rtol=1e-15, atol=1e-15)
    np.testing.assert_array_equal(same, both[:, 1] - 0.5)
    np.testing.assert_array_equal(first, x)
    np.testing.assert_array_equal(strided, np.full(count, 0.5))
    np.testing.assert_array_equal(given, (x, y))  # nobody writes to an argument
    np.testing.assert_allclose(totals, [wanted.sum(), x.sum()], rtol=1e-12, atol=1e-12)
    # what is added to without having been stored starts from the buffer
    add = Program(3, 2, 0, np.zeros(0), (Instruction("add", (1, 1), Ref(1), (Ref(0),)),), (1,))
    started = prepare(add)
    buffer = started.values()
    buffer[1] = 10.0
    started.batch(buffer, Batch(min(count, 64), [(0, x)], [(1, first)], threads=1))
    np.testing.assert_array_equal(first[:64], 10.0 + x[:64])
    # results into the memory of arguments: each row is read before it is written
    place = x.copy()
    prepared.batch(values, Batch(count, [(0, place), (1, y)], [(4, place)], threads=1))
    np.testing.assert_array_equal(place, both[:, 1])


@pytest.mark.parametrize("prepare", MACHINES)
def test_batches_of_many_pieces(prepare):
    """Rows go to threads in pieces; progress is told, and the totals are those of all rows."""
    square = Instruction("map", (1,), Ref(2), (Ref(0), Ref(1)), "mul")
    prepared = prepare(Program(3, 2, 0, np.zeros(0), (square,), (2,)))
    x = np.random.default_rng(1).normal(size=100_001)
    out, heard = np.zeros(len(x)), []
    values = prepared.values()
    values[1] = 3.0
    rows = Batch(len(x), [(0, x)], [(2, out)], [2], progress=heard.append)
    totals, _ = prepared.batch(values, rows)
    np.testing.assert_array_equal(out, x * 3.0)
    assert totals[0] == pytest.approx(math.fsum(x * 3.0), abs=1e-9)
    assert heard == sorted(heard)
    assert heard[-1] == len(x)


@pytest.mark.parametrize("prepare", MACHINES)
@pytest.mark.parametrize("kind", ["take", "get", "put"])
@pytest.mark.parametrize("index", [30.0, -28.0, 0.5, math.nan, math.inf])
def test_an_index_that_is_no_row(prepare, kind, index):
    wide, one = Ref(0, term_stride=1), Ref(28)
    out, args = (wide, (one, Ref(27))) if kind == "put" else (one, (wide, Ref(27)))
    prepared = prepare(
        Program(29, 28, 0, np.zeros(0), (Instruction(kind, (1, 27), out, args),), ())
    )
    values = prepared.values()
    values[27] = index
    with pytest.raises(IndexError, match=f"{kind}: index {index:g} of 27 rows"):
        prepared.run(values)
    values[27] = -27.0
    prepared.run(values)


# ---- steps ---------------------------------------------------------------------------------------


def slope_program(count):
    """Return a program whose `gradients` are x*x - 1: slots x, then -1, then gradients."""
    at, ones = Ref(0, 1, 1), Ref(count)
    return Program(
        2 * count + 1, count, 0, np.array([-1.0]),
        (Instruction("dot", (count, 1), Ref(count + 1, 1, 1), (at, at, ones)),), (),
    )  # fmt: skip


def stepping(prepare, optimizer, count):
    """Prepare that program with an optimiser's update; return it and what takes the steps."""
    rule, names = optimizer._rule()
    settings = optimizer.settings(optimizer.lr)
    formula = formula_of(rule, 2 + len(names), len(settings))
    program = replace(slope_program(count), adjoints=count + 1)
    prepared = prepare(verify(update(program, formula, count)))
    commit = native.Commit(prepared.program.update)
    commit.state = tuple(array_of(np.zeros(count)) for _ in names)
    commit.settings = settings
    return prepared, commit


OPTIMISERS = {
    "SGD": lambda w: SGD(w, lr=0.1, weight_decay=0.01),
    "momentum": lambda w: SGD(w, lr=0.1, momentum=0.9),
    "Nesterov": lambda w: SGD(w, lr=0.1, momentum=0.9, nesterov=True, weight_decay=0.01),
    "Adam": lambda w: Adam(w, lr=0.1, betas=(0.9, 0.99), weight_decay=0.02),
    "AdamW": lambda w: AdamW(w, lr=0.1, weight_decay=0.02),
}


@pytest.mark.parametrize("prepare", MACHINES)
@pytest.mark.parametrize("name", OPTIMISERS)
@pytest.mark.parametrize("count", [1, 37, 300])
def test_an_update_moves_parameters_as_the_optimiser_does(prepare, name, count):
    weights = [Value(x) for x in np.linspace(2, -1, count).tolist()]
    optimizer = OPTIMISERS[name](weights)
    prepared, commit = stepping(prepare, optimizer, count)
    values = prepared.values()
    values[:count] = data_of(weights)
    for steps in range(5):
        commit.settings = optimizer.settings(optimizer.lr)
        assert prepared.step(values, (), None, commit) == -1
        set_grads(weights, [w.data * w.data + -1.0 for w in weights])
        optimizer.step()
        assert commit.steps == steps + 1
    assert values[:count].tolist() == list(data_of(weights))
    assert [list(each) for each in commit.state] == [list(s) for s in optimizer.state.values()]


@pytest.mark.parametrize("prepare", MACHINES)
def test_an_update_refuses_state_that_does_not_fit(prepare):
    prepared, commit = stepping(prepare, Adam([Value(1.0)]), 50)
    values = prepared.values()
    before = values.copy()
    for state in [(np.zeros(50),), (np.zeros(50), np.zeros(49))]:
        commit.state = state
        with pytest.raises(ValueError, match="50 numbers to move|formula has|another shape"):
            prepared.step(values, (), None, commit)
        assert commit.steps == 0
    assert values[:50].tolist() == before[:50].tolist()


def array_of(numbers):
    return array("d", numbers)


@pytest.mark.parametrize("prepare", MACHINES)
def test_a_guard_that_fails_stops_the_optimiser(prepare):
    prepared, commit = stepping(prepare, SGD([Value(1.0)], lr=1.0), 2)
    values = prepared.values()
    guards = native.Guards([(3, 0.0), (4, math.nan)])
    assert prepared.step(values, [(0, [1.0, math.nan])], guards, None) == -1
    assert prepared.step(values, [(0, array_of([1.0])), (1, (2.0,))], guards, commit) == 1
    assert prepared.step(values, [(0, np.array([5.0, 2.0]))], guards, commit) == 0
    assert values[:2].tolist() == [5.0, 2.0]
    rows = np.array([[1.0, math.nan], [1.0, math.nan], [1.0, 7.0]])
    _, failed = prepared.batch(values, Batch(3, [(0, rows)], guards=guards))
    assert failed == (1, 2)


# ---- the machine takes nothing on trust ----------------------------------------------------------

SLOTS = 10
BAD = {
    "beyond the end": Instruction("map", (4,), Ref(7, 1, 1), (Ref(0, 1, 1),), "exp"),
    "before the start": Instruction("map", (4,), Ref(4, 1, 1), (Ref(2, 1, -1),), "exp"),
    "by its terms": Instruction("sum", (2, 6), Ref(0, 1, 1), (Ref(0, 1, 3, 0, 2),)),
    "by an index": Instruction(
        "map", (2,), Ref(0, 1, 1), (Ref(0, rows=np.array([0, 10], np.int32)),), "exp"
    ),
    "in a product": Instruction("mm", (2, 3, 2), Ref(5, 1, 1), (Ref(0, 1, 1), Ref(0, 1, 1))),
    "far away": Instruction("map", (3,), Ref(0, 1, 1), (Ref(0, 1, 2**62),), "exp"),
    "too few operands": Instruction("muladd", (1, 1), Ref(0), (Ref(1),)),
}


@needs_native
@pytest.mark.parametrize("name", BAD)
def test_bad_programs_are_refused(name):
    with pytest.raises((ValueError, OverflowError), match="instruction 0 |too large"):
        native.prepare(Program(SLOTS, 5, 0, np.zeros(0), (BAD[name],), ()))


def spoilt(place, word):
    """The words of an instruction of each kind, one of them changed, with what belongs to them."""
    two, four, at = Ref(4, 1, 1), Ref(0, 1, 2, 0, 1), Ref(8)
    each = {
        "elementwise": Instruction("map", (2,), two, (Ref(0, 1, 1),), "neg"),
        "map": Instruction("map", (2,), two, (Ref(0, 1, 1),), "tanh"),
        "vjp": Instruction("vjp", (2,), two, (Ref(0, 1, 1),) * 3, "tanh"),
        "sum": Instruction("sum", (2, 2), two, (four,)),
        "dot": Instruction("dot", (2, 2), two, (four, four)),
        "mm": Instruction("mm", (2, 2, 2), two, (four, four)),
        "max": Instruction("max", (2, 2), two, (four,)),
        "argmax": Instruction("argmax", (2, 2), two, (four,)),
        "take": Instruction("take", (1, 2), two, (four, at)),
        "put": Instruction("put", (1, 2), four, (Ref(6), at)),
        "get": Instruction("get", (1, 2), two, (four, at)),
        "fill": Instruction("fill", (2,), two),
    }
    assert tuple(each) == lower._NAMES
    for step in each.values():
        code = lower.encode(Program(SLOTS, 4, 0, np.zeros(0), (step,), ()))
        words = code.words.copy()
        words[place] = word
        yield words, code


@needs_native
@pytest.mark.parametrize(
    ("place", "word", "message"),
    [
        *[(0, kind, "unknown kind") for kind in (-1, 12, 40, 2**32, 2**62)],
        *[(1, op, "unknown operation") for op in (-1, 999, 1000, 2**32, 2**62)],
        *[(2, which, "unknown operation") for which in (-1, 3, 2**32, 2**62)],
        *[(3, flags, "unknown flag") for flags in (-1, 4, 2**32, 2**62)],
        *[(7, number, "number .*not there") for number in (-1, 1, 2**62)],
        *[(8, count, "number of operands|words that end") for count in (0, 6, 2**62)],
        *[(9, form, "unknown form") for form in (-1, 3, 2**32)],
    ],
)
def test_unknown_codes_are_errors_not_skipped(place, word, message):
    for words, code in spoilt(place, word):
        with pytest.raises(ValueError, match=f"instruction 0 .*({message})"):
            native._vm.load(words, code.pool, code.numbers, code.size)


@needs_native
def test_only_ops_that_have_a_kernel_are_known():
    unary = {op.code for op in MAPS.values() if op.arity == 1}
    for op in range(max(unary) + 50):
        for words, code in spoilt(1, op):
            if words[0] not in (1, 2):  # a map of one operand, and its adjoint
                continue
            if op in unary:
                native._vm.load(words, code.pool, code.numbers, code.size)
                continue
            with pytest.raises(ValueError, match=r"unknown operation|number of operands"):
                native._vm.load(words, code.pool, code.numbers, code.size)


@needs_native
def test_words_at_random_are_refused_or_harmless():
    from minigrad import _vm

    codes = [lower.encode(program) for _, program, _ in CASES[::5]]
    draw = random.Random(1)
    refused = 0
    for _ in range(3000):
        code = draw.choice(codes)
        words = code.words.copy()
        for _ in range(draw.randint(1, 3)):
            words[draw.randrange(len(words))] = draw.choice([-1, 0, 1, 2, 5, 1 << 20, 1 << 62, 40])
        try:
            machine = _vm.load(words, code.pool, code.numbers, code.size)
            machine.run(np.zeros(code.size))
        except (ValueError, IndexError):
            refused += 1
    assert refused > 500


@needs_native
def test_buffers_are_checked():
    prepared = native.prepare(slope_program(3))
    for wrong in (np.zeros(6), np.zeros(7, np.float32), np.zeros(14)[::2], bytes(56), [0.0] * 7):
        with pytest.raises((TypeError, ValueError, BufferError)):
            prepared.run(wrong)
    values = prepared.values()
    for inputs in ([(6, [1.0, 2.0])], [(-1, [1.0])], [(0, "abc")], [3], [(0, np.zeros(9))]):
        with pytest.raises((TypeError, ValueError, BufferError)):
            prepared.step(values, inputs, None)
    formula = formula_of(SGD._rule_without_momentum, 2, 4)
    for count, grads in ((3, 5), (3, 2), (8, 0), (-1, 4)):
        moving = native.prepare(replace(slope_program(3), update=Update(formula, count, grads)))
        commit = native.Commit(moving.program.update)
        commit.settings = (0.1, 0.0, 0.0, 0.0)
        with pytest.raises(ValueError, match="step: parameters or gradients"):
            moving.step(values, (), None, commit)
    for column in (np.zeros(4), np.zeros((5, 8)), np.zeros((5, 2), np.int64), np.zeros((5, 1, 1))):
        with pytest.raises(ValueError, match="batch: columns"):
            prepared.batch(values, Batch(5, [(0, column)]))
    with pytest.raises(ValueError, match="no such|no xyz"):
        native.prepare(slope_program(3), "xyz")


@needs_native
def test_formulas_at_random_are_refused_or_harmless():
    from minigrad import _vm

    draw = random.Random(2)
    refused = 0
    for _ in range(3000):
        text, *counts, constants, rows, results = draw.choice(built_in()).words()
        numbers = [*counts, *rows, *results]
        for _ in range(draw.randint(1, 3)):
            numbers[draw.randrange(len(numbers))] = draw.choice([-1, 0, 1, 2, 5, 30, 300, 1 << 20])
        cut = draw.choice([0, 0, 0, 1])
        words = array("i", numbers[3 : 3 + len(rows) - cut]), array("i", numbers[3 + len(rows) :])
        try:
            formula = _vm.formula(text * draw.randint(0, 1), *numbers[:3], constants, *words)
            columns = tuple(array_of([1.0] * 200) for _ in range(numbers[0]))
            formula.apply(columns, (0.5,) * numbers[1])
        except ValueError:
            refused += 1
    assert 500 < refused < 3000
    adam = _vm.formula(*built_in()[-1].words())
    with pytest.raises(ValueError, match="3 numbers to move but 2 beside them"):
        adam.apply((array_of([1.0] * 3), array_of([1.0] * 2)) * 2, (0.5,) * 7)
    for columns, settings in (((), ()), ([], (0.5,) * 7), ((None,) * 4, (0.5,) * 7)):
        with pytest.raises((TypeError, ValueError)):
            adam.apply(columns, settings)


@needs_native
@pytest.mark.parametrize("count", [0, 1, 7, 128, 1000])
def test_a_formula_with_a_loop_of_its_own_gives_the_bits_of_its_rows(count):
    from minigrad import _vm

    draw = random.Random(count)
    for formula in built_in():
        text, *words = formula.words()
        columns = [
            array_of(draw.uniform(0, 2) for _ in range(count)) for _ in range(formula.columns)
        ]
        settings = tuple(draw.random() for _ in range(formula.settings))
        found = []
        for known in (text, ""):
            moved = tuple(column[:] for column in columns)
            _vm.formula(known, *words).apply(moved, settings)
            found.append(moved)
        assert found[0] == found[1]
        assert count == 0 or found[0][0] != columns[0]


# Of the two factors, one is packed in fours and the other in vectors, 256 terms at a time; what is
# left over at each end, and where the result lies, makes the cases.
LARGE = [
    (2900, 9, 8),
    (9, 2900, 8),
    (40, 40, 300),
    (33, 65, 100),
    (8, 128, 513),
    (130, 9, 257),
    (101, 30, 70),
    (64, 64, 256),
]


@pytest.mark.parametrize("isa", ISAS)
@pytest.mark.parametrize("shape", LARGE)
@pytest.mark.parametrize("kind", ["mm", "mm from", "mm from a row", "mmadd", "mm turned"])
def test_large_products_keep_the_order_of_their_terms(isa, shape, kind):
    m, n, k = shape
    a, b, out = 0, m * k, m * k + n * k
    rows = Ref(a, 1, k, 0, 1), Ref(b, 1, k, 0, 1)
    if kind == "mmadd":  # as in a gradient: terms lie further apart than rows
        rows = Ref(a, 1, 1, 0, m), Ref(b, 1, 1, 0, n)
    start, turned = out + m * n, Ref(out, n, 1, m)
    starts = {"mm from": Ref(start, 1, 1), "mm from a row": Ref(start, n, 0, 1)}
    args = (*rows, starts[kind]) if kind in starts else rows
    place = turned if kind == "mm turned" else Ref(out, 1, 1)
    product = Instruction(kind.split()[0], shape, place, args)
    size = start + m * n
    program = Program(size, size, 0, np.zeros(0), (product,), ())
    values = np.random.default_rng(m * n).normal(size=size)
    before = values.copy()
    native.Prepared(program, isa).run(values)
    left, right = (before[ref.slots(r, k)] for ref, r in zip(rows, (m, n), strict=True))
    total = np.zeros((m, n))
    if kind not in ("mm", "mm turned"):
        first = starts.get(kind, place).slots(m * n).reshape(m, n)
        total = before[first]
    for term in range(k):
        step = np.outer(left[:, term], right[:, term])
        total = step if term == 0 and kind in ("mm", "mm turned") else total + step
    assert (values[place.slots(m * n).reshape(m, n)] == total).all()
    untouched = np.ones(size, dtype=bool)
    untouched[place.slots(m * n)] = False
    assert (values[untouched] == before[untouched]).all()


@needs_native
def test_threads_share_a_machine():
    """A program long enough to let other threads in, run by several at once."""
    n = 60
    at = Ref(0, 1, n, 0, 1)
    product = Instruction("mm", (n, n, n), Ref(n * n, 1, 1), (at, Ref(0, 1, 1, 0, n)))
    prepared = native.prepare(Program(2 * n * n, n * n, 0, np.zeros(0), (product,), ()))
    rng = np.random.default_rng(0)
    buffers = [rng.normal(size=2 * n * n) for _ in range(4)]
    wanted = [b[: n * n].reshape(n, n) @ b[: n * n].reshape(n, n) for b in buffers]

    def work(k):
        for _ in range(30):
            prepared.run(buffers[k])

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for found, product in zip(buffers, wanted, strict=True):
        np.testing.assert_allclose(found[n * n :], product.ravel(), rtol=1e-12, atol=1e-12)


# ---- beyond 32 bits ------------------------------------------------------------------------------


def far_away(first, size=MOST_SLOTS):
    """A program of a few instructions on slots from `first` on, gathered and in a row."""
    places = np.array([5, first + 1, first + 3], dtype=np.int64)
    steps = (
        Instruction("map", (3,), Ref(first, 3, 0, 1), (Ref(0, rows=places),), "tanh"),
        Instruction("fill", (2,), Ref(first + 3, 2, 0, 1)),
    )
    return Program(size, 6, 0, np.zeros(0), steps, (first,))


def test_words_have_slots_up_to_the_border_of_32_bits():
    first = MOST_SLOTS - 5
    code = lower.encode(far_away(first))
    assert code.pool.tolist() == [5, first + 1, first + 3]
    assert {first, first + 3} <= set(code.words.tolist())


@pytest.mark.parametrize("beyond", [0, 2**31, 2**32])
def test_slots_behind_the_border_are_refused(beyond):
    first = MOST_SLOTS - 2 + beyond
    with pytest.raises(TraceError, match="slots cannot be compiled"):
        lower.encode(far_away(first, first + 5))
    with pytest.raises(TraceError, match="slots cannot be compiled"):
        lower.encode(far_away(first))  # one that lies about its size


@needs_native
def test_the_machine_loads_programs_up_to_the_border_and_none_beyond():
    code = lower.encode(far_away(MOST_SLOTS - 5))
    parts = code.words, code.pool, code.numbers
    assert native._vm.load(*parts, MOST_SLOTS) is not None
    for size in (MOST_SLOTS - 1, 2**31 - 5):  # the last slots are not there
        with pytest.raises(ValueError, match="outside"):
            native._vm.load(*parts, size)
    for size in (2**31, 2**33, 2**62, -1):
        with pytest.raises(ValueError, match="a program of"):
            native._vm.load(*parts, size)


@needs_native
@pytest.mark.parametrize("place", [4, 5, 6])
def test_loops_too_long_to_be_counted_are_refused(place):
    code = lower.encode(far_away(100, 1000))
    for turns in (2**31 + 1, 2**32 + 3, 2**62):
        words = code.words.copy()
        words[place] = turns
        with pytest.raises(ValueError, match="no turns"):
            native._vm.load(words, code.pool, code.numbers, code.size)
    words = code.words.copy()
    words[4:7] = 2**31  # 2**93 elements
    with pytest.raises(ValueError, match="too long"):
        native._vm.load(words, code.pool, code.numbers, code.size)
