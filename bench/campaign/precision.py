"""Random graphs over all operations against mpmath with 60 digits.

How far off a result may be is worked out for each graph by the error analysis of the agreement
test (tests/error_bounds.py): every operation may add four roundings of its own, and what an error
becomes on its way is the chain rule's to say. The figure is the error as a share of that bound. An
error of more than four times the bound is a failure, for other engines too, whose operations may be
a little less exact than ours.
"""

from __future__ import annotations

import math

import mpmath as mp
from error_bounds import Entry, Ledger
from programs import (
    Program,
    call_jax,
    call_minigrad,
    call_mpmath,
    call_torch,
    mpmath_gradient,
    random_program,
    run,
)

import minigrad
from minigrad import Value
from minigrad.core.ops import OPS

from .peers import jax_modules, torch_leaf
from .tally import Tally

DIGITS = 60
_WIDE = 4.0  # times the bound, to the first order, that an error may be


def bounds(program: Program) -> list[Entry]:
    """What the analysis says of the value and of each gradient."""
    ledger = Ledger()

    def call(name, operands, which):
        if name in ("softmax", "log_softmax", "logsumexp"):
            found = OPS[name].value(ledger.mathematics(), *operands)
            found = found if which is None else found[which]
            return found if isinstance(found, Value) else Value(found)
        return call_minigrad(name, operands, which)

    leaves = [Value(x) for x in program.inputs]
    last = run(program, leaves, call)[-1]
    grads = minigrad.grad(last, leaves, create_graph=True)
    doubts = ledger.entry(last).doubts
    entries = [ledger.entry(x) for x in (last, *grads)]
    return [Entry(x.number, x.error, x.doubts | doubts) for x in entries]


def results(engine: str, program: Program) -> list[float]:
    """The value and the gradients, by an engine."""
    if engine == "torch":
        leaves = [torch_leaf(x) for x in program.inputs]
        last = run(program, leaves, call_torch)[-1]
        last.backward()
        return [last.item(), *(0.0 if x.grad is None else x.grad.item() for x in leaves)]
    if engine == "jax":
        jax, _ = jax_modules()
        value, grads = jax.value_and_grad(lambda xs: run(program, xs, call_jax)[-1])(program.inputs)
        return [float(value), *map(float, grads)]
    leaves = [Value(x) for x in program.inputs]
    last = run(program, leaves, call_minigrad)[-1]
    last.backward()
    return [last.data, *(x.grad for x in leaves)]


def judged(engine: str, seeds: range) -> Tally:
    """Compare."""
    tally = Tally()
    for seed in seeds:
        program = random_program(seed)
        found = results(engine, program)
        with mp.workdps(DIGITS):
            inputs = [mp.mpf(x) for x in program.inputs]
            value = run(program, inputs, call_mpmath, mp.mpf)[-1]
        exact = [value, *mpmath_gradient(program, DIGITS)]
        failure = None
        for k, (got, right, entry) in enumerate(zip(found, exact, bounds(program), strict=True)):
            if entry.doubts:  # at a kink, which differences step over
                continue
            error = float(abs(mp.mpf(got) - right))
            share = error / entry.error if entry.error else math.inf if error else 0.0
            tally.figure("error as a share of its bound", share)
            if not share <= _WIDE:
                what = "value" if k == 0 else f"gradient {k - 1}"
                failure = f"graph {seed}: {what} is {got}, right is {mp.nstr(right, 20)}"
        tally.count(failure)
    return tally
