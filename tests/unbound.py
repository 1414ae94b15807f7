"""Call everything that the native modules have, with everything that it does not expect.

A program of its own, because what it looks for would end the process: `test_unbound.py` runs it on
both engines and reads what it prints, a line of JSON for each call: what was called, with what, and
what came of it.
"""

from __future__ import annotations

import copy
import faulthandler
import inspect
import itertools
import json
import operator
import pickle
import sys
from array import array

import minigrad
from minigrad import Value, scalar
from minigrad.compiler.arguments import refill as quick
from minigrad.compiler.tracing import canonical, tape
from minigrad.core import backward, node
from minigrad.core import parameters as bulk
from minigrad.core.node import Extras, Node

CLASSES = [Node, Value, Extras, tape.Entries, canonical._Sums]
MODULES = [node, backward, scalar, bulk, tape, canonical, quick]


class Sub(Value):
    """A Value of somebody's own, which has not been told its number."""

    def __init__(self):
        pass


class Stranger:
    """It takes any attribute."""


class Twin:
    """It says that it is a Value."""

    __class__ = Value


# Fresh ones for every call, as a call may change them.
WRONG = {
    "float": lambda: 0.5,
    "int": lambda: 3,
    "None": lambda: None,
    "str": lambda: "a",
    "tuple": lambda: (),
    "object": object,
    "stranger": Stranger,
    "twin": Twin,
    "extras": Extras,
    "bare node": lambda: Node.__new__(Node),
    "bare Value": lambda: Value.__new__(Value),
    "bare subclass": Sub,
    "bare entries": lambda: tape.Entries.__new__(tape.Entries),
    "zero": lambda: Value(0.0),
    "Value": lambda: Value(0.25),
    "product": lambda: Value(0.25) * Value(4.0),
}
ARGUMENTS = {
    name: WRONG[name] for name in ("float", "None", "str", "extras", "bare node", "bare Value")
} | {
    "Value": lambda: Value(2.0),
    "list": lambda: [None, 0.5],
    "values": lambda: (Value(1.0), None),
    "array": lambda: array("d", [1.0]),
    "far": lambda: 10**6,
    "ints": lambda: [10**6, -7],
}
SKIPPED = {
    *("in_turn", "look_closely", "recorded"),  # the state of the engine
    *("__class__", "__getattribute__", "__setattr__", "__delattr__", "__subclasshook__"),
    *("__init_subclass__", "__new__", "__doc__", "__dict__", "__weakref__", "__module__"),
}


def described(result):
    """A result in words that are the same in both engines and every time."""
    if isinstance(result, int) and abs(result) > 2**32:
        return "a hash"
    if type(result) in (float, int, str, bytes, bool, type(None), type(NotImplemented), Value):
        return repr(result)
    if type(result) in (tuple, list, set):
        return f"{type(result).__name__} of {len(result)}"
    return "a function" if callable(result) else type(result).__name__


def outcome(function, *arguments):
    try:
        return described(function(*arguments))
    except Exception as error:
        return f"! {type(error).__name__}: {error}"


def tell(*words):
    print(json.dumps(words), flush=True)


def arguments_for(function):
    """How many arguments it takes beyond the first, at most two."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return (0, 1, 2)
    kinds = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    return (min(2, max(0, len([p for p in parameters if p.kind not in kinds]) - 1)),)


def methods():
    for kind in CLASSES:
        for name in sorted(set(vars(kind)) - SKIPPED):
            found = inspect.getattr_static(kind, name)
            if callable(found):
                for wrong, make in WRONG.items():
                    call_method(kind, name, found, wrong, make)
            elif hasattr(found, "__get__"):
                for wrong, make in WRONG.items():
                    use_property(kind, name, found, wrong, make)


def call_method(kind, name, found, wrong, make):
    for count in arguments_for(found):
        for argument in ARGUMENTS if count else ("nothing",):
            given = [argument] * count  # all alike, so that the sweep stays short
            at = make()
            came = outcome(found, at, *(ARGUMENTS[one]() for one in given))
            tell(kind.__name__, name, wrong, given, is_one(at, kind), came)


def use_property(kind, name, found, wrong, make):
    at = make()
    tell(kind.__name__, name, wrong, ["get"], is_one(at, kind), outcome(found.__get__, at))
    if hasattr(found, "__set__"):
        for argument, given in ARGUMENTS.items():
            at = make()
            came = outcome(found.__set__, at, given())
            tell(kind.__name__, name, wrong, ["set", argument], is_one(at, kind), came)
        at = make()
        tell(
            kind.__name__, name, wrong, ["delete"], is_one(at, kind), outcome(found.__delete__, at)
        )


def is_one(thing, kind):
    return issubclass(type(thing), kind)  # not isinstance, which asks the thing


def functions():
    for module in MODULES:
        for name, found in sorted(vars(module).items()):
            home = getattr(found, "__module__", None)
            if name in SKIPPED or inspect.isclass(found) or not callable(found):
                continue
            if home != module.__name__:
                continue
            try:
                count = len(inspect.signature(found).parameters)
            except (TypeError, ValueError):
                count = 2
            for wrong in (*WRONG, *ARGUMENTS):
                make = WRONG.get(wrong) or ARGUMENTS[wrong]
                for other in ARGUMENTS:
                    given = [make(), *(ARGUMENTS[other]() for _ in range(count - 1))][:count]
                    tell(module.__name__, name, wrong, [other], False, outcome(found, *given))


def operators():
    """Arithmetic, comparisons and copies as people write them, on nodes that nobody has filled."""
    two = [operator.add, operator.sub, operator.mul, operator.truediv, operator.pow, operator.lt]
    two += [operator.le, operator.gt, operator.ge, operator.eq, operator.ne]
    one = [operator.neg, operator.pos, operator.abs, repr, str, format, hash, float, int, complex]
    one += [round, copy.copy, copy.deepcopy, bool]
    one += [
        lambda v: pickle.loads(pickle.dumps(v)),
        lambda v: v.backward(),
        lambda v: v.zero_grad(),
    ]
    for name in ("bare Value", "bare subclass", "bare node", "zero"):
        for k, function in enumerate(one):
            tell(
                "operator",
                f"{function.__name__} {k}",
                name,
                [],
                True,
                outcome(function, WRONG[name]()),
            )
        for function, (other, make) in itertools.product(two, {**WRONG, **ARGUMENTS}.items()):
            for swapped in (False, True):
                pair = [WRONG[name](), make()]
                came = outcome(function, *(pair[::-1] if swapped else pair))
                tell("operator", function.__name__, name, [other, swapped], True, came)


def graphs():
    """Graphs that hold what does not belong there: a pass has to refuse, and to go on after."""
    for name, make in WRONG.items():
        a = Value(2.0)
        edited = a * 3.0
        edited._prev.add(make())
        for what, build in {
            "edited": lambda edited=edited: edited,
            "fused": lambda make=make: scalar.fused(1.0, (make(),), (1.0,)),
            "by hand": lambda make=make: Value(1.0, (make(),), "f"),
            "attached": lambda make=make: attached(make()),
            "operands": lambda make=make: with_operands(make()),
        }.items():
            tell("graph", what, name, ["backward"], False, outcome(lambda b=build: b().backward()))
            came = outcome(lambda b=build: backward.gradients(b(), [Value(1.0)]))
            tell("graph", what, name, ["gradients"], False, came)
        b = Value(2.0)
        came = outcome(backward.gradients, b * b, [b, make()])
        tell("graph", "inputs", name, ["gradients"], False, came)
        assert b.grad == 0.0, "gradients() has left something behind"
    x = Value(3.0)
    y = x * x
    y.backward()
    assert (y.data, x.grad) == (9.0, 6.0)


def attached(thing):
    y = Value(1.0) * 2.0
    y._attach(thing)
    return y


def with_operands(thing):
    y = Value(1.0) * 2.0
    y.label = "y"
    y._get_extras().operands = y._get_extras().partials = (thing,)
    return y


if __name__ == "__main__":
    faulthandler.enable()
    tell("engine", minigrad.engine())
    {"methods": methods, "functions": functions, "operators": operators, "graphs": graphs}[
        sys.argv[1]
    ]()
    tell("end")
