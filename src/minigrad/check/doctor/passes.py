"""How somebody's backward pass is started, and where gradients are then: found by trying.

A pass is tried on graphs of two operations whose gradients are known (`_tried`). One of a familiar
name that moves gradients is taken as it is, right or wrong: to tell that is not the business of
this module. One of an unfamiliar name must give a right gradient somewhere, or it may be anything.

This runs in the sandbox, next to a stranger's code. Start at `choose_pass`.
"""

from __future__ import annotations

import contextlib
import inspect
import itertools
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from types import ModuleType
from typing import Any

from .clock import TooLongError, bounded
from .dialect import (
    BACKWARD,
    GRAD,
    IN_RESULTS,
    NAMES,
    SPECIAL,
    SYMBOLS,
    ZERO,
    Dialect,
    plain_number,
)  # fmt: skip

EVALUATE = ("forward", "eval", "evaluate", "compute", "calculate", "run", "realize")
FAMILIAR = ("back", "grad", "prop", "deriv", "diff", "chain", "flow", "reverse")
UNTRIED = (  # functions that have another purpose, and may take for ever
    "main", "train", "test", "demo", "plot", "draw", "show", "trace", "print", "numeric", "check",
    "zero", "reset", "clear", "load", "save", "step", "update", "input",
)  # fmt: skip
# Whose classes have operators, and are no engines that anybody would examine.
PLAIN = sys.stdlib_module_names | {"jax", "numpy", "pandas", "sympy", "tensorflow", "torch"}
MOST = 40  # unfamiliar passes that are tried
TRY = 0.5  # CPU seconds for one of them on a graph of two operations


class NoEngineError(Exception):
    """There is no class here that could be examined."""


@dataclass(frozen=True, slots=True)
class Named:
    """What somebody says that things are called; what is empty is found."""

    cls: str = ""
    data: str = ""
    grad: str = ""
    backward: str = ""


@dataclass(slots=True)
class _Pass:
    """A way to start the backward pass."""

    spelling: str  # with {} for the root
    call: Callable[[Any], Any]
    is_familiar: bool
    unseeded: Callable[[Any], Any] | None = None  # the same without a gradient to begin with
    is_asked: bool = False  # whether gradients are told when they are asked for, not before
    written: str = ""  # the spelling, where one has to do more to see the gradients
    gradient: str = ""  # how the gradient of {} is then written, where it is no attribute

    @property
    def word(self) -> str:
        """What it is called: `backward()`, `backprop(v)`."""
        spelled = self.spelling.rpartition("; ")[2]
        spelled = spelled.removeprefix("{}.").removeprefix("{0}.").replace("(1.0)", "()")
        return spelled.replace("{}", "v").replace("{0}", "v").replace(", 1.0", "")


@dataclass(slots=True)
class Trial:
    """What is tried on one class."""

    dialect: Dialect
    named: Named
    modules: list[ModuleType]
    grads: list[str] = field(default_factory=list)  # familiar attributes that there are
    has_run: bool = False  # whether a pass of a familiar name came to its end
    endless: int = 0  # how many did not; for the others, less time is left
    has_moved: bool = False  # whether one has changed a gradient


def result_of(dialect: Dialect) -> Any:
    """Return the result of an operation, or else a Value."""
    a, b = dialect.make(1.5), dialect.make(2.25)
    for op in ("mul", "add", "sub"):
        with contextlib.suppress(Exception):
            made = dialect.operations[op](a, b)
            if made is not None:  # one that forgot its return says nothing of the class
                return made
    return a


def file_of(cls: type) -> str:
    """Return the file that the functions of a class are in."""
    functions = (f for f in vars(cls).values() if inspect.isfunction(f))
    return next((f.__code__.co_filename for f in functions), "")


def operators_of(cls: type) -> set[str]:
    """Name the operations that a class has an operator for, other than by being a number."""
    found = set()
    for op, name in SPECIAL.items():
        owner = next((c for c in cls.__mro__ if name in vars(c)), None)
        top = str(owner.__module__).partition(".")[0] if owner is not None else ""
        if owner is not None and vars(owner)[name] is not None and top not in PLAIN:
            found.add(op)
    return found


def number_in(found: Any, dialect: Dialect | None = None) -> float | None:
    """Return the number that something is; None if it is none, or no number yet."""
    if found is None or isinstance(found, bool | str):
        return None
    try:
        return plain_number(found, dialect)
    except Exception:
        return None


# ---- the pass -----------------------------------------------------------------------------------

A, B, C = 1.5, 2.25, -3.25
# Two operations, and the gradients of the two leaves that are below both.
GRAPHS = {("mul", "add"): (B, A), ("add", "mul"): (C, C), ("mul", "mul"): (B * C, A * C)}
SUMS = {("add", "add"): (1.0, 1.0)}  # where there is no product


def prepare(trial: Trial) -> None:
    """Find out whether a result must be evaluated before it has a number."""
    dialect = trial.dialect
    result = result_of(dialect)
    if number_in(getattr(result, dialect.data, None), dialect) is not None:
        return
    for name in EVALUATE:
        with contextlib.suppress(Exception):
            getattr(result, name)()
            if number_in(getattr(result, dialect.data, None), dialect) is not None:
                dialect.evaluate = name
                return


def choose_pass(trial: Trial) -> None:
    """Set the pass and the gradient: the first that moves gradients, or is right somewhere."""
    dialect = trial.dialect
    cls, sample = dialect.cls, dialect.make(2.5)
    names = (trial.named.grad,) if trial.named.grad else GRAD
    trial.grads = [n for n in names if hasattr(sample, n)]
    if not trial.grads and not trial.named.grad:
        own = getattr(sample, "__dict__", {})
        trial.grads = [n for n in own if "grad" in n.lower() and number_in(own[n]) is not None]
    passes = list(_passes(trial))
    familiar = [p for p in passes if p.is_familiar]
    if not familiar and trial.named.backward:
        raise NoEngineError(f"{cls.__name__} has no {trial.named.backward}; {_has(trial)}")
    # Two may have familiar names, such as a rule and the pass: the right one comes first.
    if len(familiar) > 1 and not _is_right(trial, familiar[0]):
        passes = [*(one for one in familiar[1:] if _is_right(trial, one)), *passes]
    for one in [*passes, *_askers(trial), *_books(trial, passes)]:
        for grad, is_right, has_moved in _tried(trial, one):
            if is_right or (one.is_familiar and has_moved):
                trial.has_run = trial.has_moved = True
                _take(trial, one, grad)
                return
    for one in [_seeded(one, trial.grads[0]) for one in familiar if trial.grads]:
        if any(is_right for _, is_right, _ in _tried(trial, one)) and _insists(trial, one):
            trial.has_moved = True
            _take(trial, one, trial.grads[0])
            return
    named_so = [p for p in passes if any(word in p.word.lower() for word in FAMILIAR)]
    for one in named_so if trial.grads and not familiar else ():
        if _is_right(trial, seeded := _seeded(one, trial.grads[0])):  # begun by hand
            trial.has_moved = True
            _take(trial, seeded, trial.grads[0])
            return
    # What is wrong may be products alone.
    for one in [*named_so, *_askers(trial)] if not familiar else ():
        for grad, is_right, _ in _tried(trial, one, SUMS):
            if is_right:
                _take(trial, one, grad)
                return
    for one in familiar:  # one that does nothing, or fails, may be what is wrong
        if trial.grads and not _gives_something(trial, one):
            _take(trial, one, trial.grads[0])
            return
    if familiar:
        called = f"called {trial.named.grad}" if trial.named.grad else "such as grad"
        raise NoEngineError(
            f"{cls.__name__} has no gradient in an attribute {called}; {_has(trial)}"
        )
    raise NoEngineError(f"{cls.__name__} has no backward() yet; {_has(trial)}")


class _Derivatives(Mapping[Any, Any]):
    """Gradients that are asked for one by one: `root.grad(a)`, or `a.grad()`."""

    def __init__(self, ask: Callable[[Any], Any]) -> None:
        self.ask = ask

    def __getitem__(self, leaf: Any) -> Any:
        return self.ask(leaf)

    def __iter__(self) -> Iterator[Any]:
        return iter(())

    def __len__(self) -> int:
        return 1


def _askers(trial: Trial) -> Iterator[_Pass]:
    """Yield methods of a result that may tell the gradient of whatever they are given."""
    result = result_of(trial.dialect)
    for name in [n for n in dir(type(result)) if any(word in n.lower() for word in FAMILIAR)]:
        method = getattr(result, name, None)
        if callable(method) and not name.startswith("__") and _needed(method) == 1:
            yield _Pass(
                f"{{}}.{name}(a)",
                lambda root, name=name: _Derivatives(getattr(root, name)),  # type: ignore[misc]
                False,
                is_asked=True,
                written=f"grads = {{}}.{name}",
                gradient="grads({})",
            )
    seeds = [n for n, x in getattr(result, "__dict__", {}).items() if x is None or x == 0.0]
    asked = [n for n in dir(type(result)) if any(word in n.lower() for word in FAMILIAR)]
    for seed, name in itertools.product(seeds, asked):
        if inspect.isfunction(getattr(type(result), name, None)) and not name.startswith("__"):
            yield _asked_of_leaves(seed, name)


def _asked_of_leaves(seed: str, name: str) -> _Pass:
    """Return the way of `z.grad_value = 1.0; x.grad()`."""

    def call(root: Any) -> Any:
        setattr(root, seed, 1.0)
        return _Derivatives(lambda leaf: getattr(leaf, name)())

    spelling = f"{{0}}.{seed} = 1.0; {{0}}.{name}()"
    return _Pass(spelling, call, False, is_asked=True, gradient=f"{{}}.{name}()")


def _books(trial: Trial, passes: list[_Pass]) -> Iterator[_Pass]:
    """Yield the same passes with the dict that they leave gradients in, by node or by id: one of
    the module, or one that the result has."""
    for one in passes:
        for module in trial.modules:
            for name, book in [(n, b) for n, b in vars(module).items() if type(b) is dict]:
                kept = _kept_in(one, lambda root, book=book: book)  # type: ignore[misc]
                yield replace(kept, gradient=f"{name}[{{}}]")
        result = result_of(trial.dialect)
        for name in [n for n, b in getattr(result, "__dict__", {}).items() if type(b) is dict]:
            kept = _kept_in(one, lambda root, name=name: getattr(root, name))  # type: ignore[misc]
            begun = one.spelling.replace("{}", "{0}")
            yield replace(kept, written=f"{begun}; grads = {{0}}.{name}", gradient="grads[{}]")


def _kept_in(one: _Pass, book: Callable[[Any], Any]) -> _Pass:
    def call(root: Any) -> Any:
        one.call(root)
        return dict(book(root))

    return _Pass(one.spelling, call, False)


def _seeded(one: _Pass, grad: str) -> _Pass:
    """Return the same pass, with the gradient of its root set by hand before."""

    def call(root: Any) -> Any:
        setattr(root, grad, 1.0)
        return one.call(root)

    spelling = one.spelling.replace("{}", "{0}")
    return _Pass(f"{{0}}.{grad} = 1.0; {spelling}", call, is_familiar=True, unseeded=one.call)


def _is_right(trial: Trial, one: _Pass) -> bool:
    return any(is_right for _, is_right, _ in _tried(trial, one))


def _gives_something(trial: Trial, one: _Pass) -> bool:
    """Whether a function that moves no gradient gives back something else: it is no pass."""
    try:
        if one.spelling.startswith("{"):
            return False
        with bounded(TRY, file_of(trial.dialect.cls)):
            return one.call(result_of(trial.dialect)) is not None
    except (Exception, TooLongError):
        return False


def _insists(trial: Trial, one: _Pass) -> bool:
    """Whether a pass refuses to begin without a gradient; one that does nothing forgot it."""
    try:
        if one.unseeded is not None:
            with bounded(TRY, file_of(trial.dialect.cls)):
                one.unseeded(result_of(trial.dialect))
    except Exception:
        return True
    except TooLongError:
        return False
    return False


def _take(trial: Trial, one: _Pass, grad: str) -> None:
    dialect = trial.dialect
    dialect.grad, dialect.start = grad, one.call
    dialect.words = {"backward": one.word}
    dialect.spelling["backward"] = _written(dialect, one)
    if grad == IN_RESULTS:
        books = dialect.results if isinstance(dialect.results, dict) else {}
        key = "[id({})]" if books and all(type(k) is int for k in books) else "[{}]"
        dialect.spelling["grad"] = (one.gradient or "grads[{}]").replace("[{}]", key)
    dialect.spelling |= _spelling(dialect)


def _written(dialect: Dialect, one: _Pass) -> str:
    """Write a pass so that one can go on to look at the gradients."""
    text = one.written or one.spelling
    if dialect.grad == IN_RESULTS and not one.gradient:  # it returns them
        before, sign, last = text.rpartition("; ")
        text = f"{before}{sign}grads = {last}"
    if dialect.evaluate:
        text = f"{{0}}.{dialect.evaluate}(); {text.replace('{}', '{0}')}"
    return text


def _spelling(dialect: Dialect) -> dict[str, str]:
    """Tell how to write the operations that have no operator."""
    cls = dialect.cls
    spelling = {}
    for op in set(dialect.operations) - dialect.operators:
        for name in NAMES[op]:
            static = inspect.getattr_static(cls, name, None)
            rest = ", {}" if op in SYMBOLS else ""
            if isinstance(static, staticmethod | classmethod):
                spelling[op] = f"{cls.__name__}.{name}({{}}{rest})"
            elif static is not None:
                spelling[op] = f"{{}}.{name}({rest[2:]})"
            else:
                spelling[op] = f"{name}({{}}{rest})"
                continue
            break
    return spelling


def _tried(
    trial: Trial, one: _Pass, graphs: Mapping[tuple[str, str], tuple[float, float]] | None = None
) -> Iterator[tuple[str, bool, bool]]:
    """Yield gradients by name, whether they are right, and whether the pass moved them."""
    dialect = trial.dialect
    for ops, right in (graphs or (GRAPHS if "mul" in dialect.operations else SUMS)).items():
        if not set(ops) <= set(dialect.operations):
            continue
        try:
            with bounded(TRY / (1 + trial.endless), file_of(dialect.cls)):
                a, b, c = (dialect.make(x) for x in (A, B, C))
                inner = dialect.operations[ops[0]](a, b)
                root = dialect.operations[ops[1]](inner, c)
                before = [{} if one.is_asked else _numbers(trial, x) for x in (a, b)]
                dialect.start = one.call
                dialect.backward(root)
                trial.has_run |= one.is_familiar
                after = [_numbers(trial, x, one.is_asked) for x in (a, b)]
        except TooLongError:
            trial.endless += 1
            return
        except (Exception, SystemExit):  # some end the program in their pass
            continue
        found = {name for numbers in after for name in numbers}
        for name in sorted(found, key=lambda n: (n not in trial.grads, n)):
            old, new = ([numbers.get(name) for numbers in side] for side in (before, after))
            is_right = any(x is not None and x == y for x, y in zip(new, right, strict=True))
            moved = name in trial.grads and any(
                x != y and not (x is None and y == 0) for x, y in zip(old, new, strict=True)
            )
            if (is_right and old != new) or moved:
                yield name, is_right, moved


def _numbers(trial: Trial, value: Any, is_asked: bool = False) -> dict[str, float]:
    """Read whatever may be a gradient: familiar attributes, or else all that are numbers."""
    names = [trial.named.grad] if trial.named.grad else list(trial.grads)
    if not names:
        names += [str(n) for n in getattr(value, "__dict__", {})]
        names += [str(n) for c in type(value).__mro__ for n in getattr(c, "__slots__", ())]
    names = [IN_RESULTS] if is_asked else [*names, IN_RESULTS]
    found = {}
    for name in names:
        with contextlib.suppress(Exception):
            if name == IN_RESULTS and trial.dialect.results is None:
                continue
            thing = None if name == IN_RESULTS else getattr(value, name)
            if name == IN_RESULTS or number_in(thing, trial.dialect) is not None:
                found[name] = trial.dialect.number(value, name)
    return found


def _passes(trial: Trial) -> Iterator[_Pass]:
    """Yield ways to start a pass, by familiar names, then by any that could be one."""
    dialect, named = trial.dialect, trial.named.backward
    result = result_of(dialect)
    names = (named.removesuffix("()").removesuffix("(v)"),) if named else BACKWARD
    for name in names:
        yield from _methods(result, name, True)
        yield from _functions(trial.modules, name, True)
    if named:
        return
    others = [n for n in dir(type(result)) if not n.startswith("_")]
    others += [n for n in getattr(result, "__dict__", {}) if not n.startswith("_")]
    hidden = [n for n in dir(type(result)) if n.startswith("_") and not n.startswith("__")]
    functions = [
        n
        for module in trial.modules
        for n, f in list(vars(module).items())
        if inspect.isfunction(f)
        and f.__module__ == module.__name__
        # What somebody else has in a session may do anything, and is no business of ours.
        and (module.__name__ != "__main__" or any(word in n.lower() for word in FAMILIAR))
    ]
    known = {*BACKWARD, *ZERO, *(n for words in NAMES.values() for n in words)}
    known |= {trial.dialect.evaluate}
    unknown = [
        name
        for name in dict.fromkeys([*others, *functions, *hidden])
        if name not in known and not any(word in name.lower() for word in _untried(name))
    ]
    unknown.sort(key=lambda name: not any(word in name.lower() for word in FAMILIAR))
    private = [name for name in unknown if name.startswith("_")]
    for name in [n for n in unknown if n not in private][:MOST]:
        yield from _methods(result, name, False)
        yield from _functions(trial.modules, name, False)
    yield from _of_others(trial)
    for name in private[:MOST]:
        yield from _methods(result, name, False)
        yield from _functions(trial.modules, name, False)


def _untried(name: str) -> tuple[str, ...]:
    """Return what a pass is not called; one may go back to the inputs."""
    return tuple(w for w in UNTRIED if w != "input") if "back" in name.lower() else UNTRIED


def _methods(result: Any, name: str, is_familiar: bool) -> Iterator[_Pass]:
    """Yield ways to call a method, or a function that is kept in an attribute."""
    try:
        method = getattr(result, name)
    except Exception:
        return
    if not callable(method) or inspect.isclass(method):
        return
    needed = _needed(method)
    if needed == 0:
        yield _Pass(f"{{}}.{name}()", lambda root: getattr(root, name)(), is_familiar)
    elif needed == 1:
        is_static = isinstance(inspect.getattr_static(type(result), name, 0), staticmethod)
        seeded = _Pass(f"{{}}.{name}(1.0)", lambda root: getattr(root, name)(1.0), is_familiar)
        rooted = _Pass(f"{{0}}.{name}({{0}})", lambda root: getattr(root, name)(root), is_familiar)
        yield from (rooted, seeded) if is_static or _wants_root(method) else (seeded, rooted)
    elif is_familiar:
        ones = (1.0,) * needed
        given = ", ".join(map(str, ones))
        yield _Pass(f"{{}}.{name}({given})", lambda root: getattr(root, name)(*ones), is_familiar)


def _functions(modules: list[ModuleType], name: str, is_familiar: bool) -> Iterator[_Pass]:
    for module in modules:
        function = vars(module).get(name)
        if inspect.isfunction(function) and _needed(function) in (1, 2):
            seeds = (1.0,) * (_needed(function) - 1)
            yield _Pass(
                f"{name}({', '.join(['{}', *map(str, seeds)])})",
                lambda root, function=function, seeds=seeds: function(root, *seeds),  # type: ignore[misc]
                is_familiar,
            )


def _of_others(trial: Trial) -> Iterator[_Pass]:
    """Yield passes that another class of the module has: `Tape().backward(root)`."""
    for module in trial.modules:
        for cls in list(vars(module).values()):
            if not inspect.isclass(cls) or cls.__module__ != module.__name__ or operators_of(cls):
                continue
            for name in BACKWARD:
                static = inspect.getattr_static(cls, name, None)
                if isinstance(static, staticmethod | classmethod):
                    yield _Pass(f"{cls.__name__}.{name}({{}})", getattr(cls, name), False)
                elif inspect.isfunction(static) and _needed(static) == 2:
                    yield _Pass(
                        f"{cls.__name__}().{name}({{}})",
                        lambda root, cls=cls, name=name: getattr(cls(), name)(root),  # type: ignore[misc]
                        False,
                    )


def _needed(function: Any) -> int:
    """Return how many arguments a function insists on."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return 0
    plain = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return sum(p.default is p.empty and p.kind in plain for p in parameters)


def _wants_root(method: Any) -> bool:
    words = ("root", "node", "loss", "out", "v", "value", "end", "final", "last", "start")
    with contextlib.suppress(TypeError, ValueError):
        return next(iter(inspect.signature(method).parameters)) in words
    return False


def _has(trial: Trial) -> str:
    """Say what the class does have, for whoever has to name things."""
    dialect = trial.dialect
    signs = {"add": "+", "sub": "-", "mul": "*", "div": "/", "pow": "**", "neg": "-x"}
    sample = result_of(dialect)
    attributes = [n for n in getattr(sample, "__dict__", {}) if not n.startswith("__")]
    methods = [
        f"{n}()"
        for n in dir(dialect.cls)
        if not n.startswith("__") and inspect.isfunction(getattr(dialect.cls, n, None))
    ]
    parts = {
        "operations": [signs.get(op, op) for op in dialect.operations],
        "attributes": attributes,
        "methods": methods,
    }
    said = [f"{kind} {', '.join(names[:12])}" for kind, names in parts.items() if names]
    return f"it has {'; '.join(said)}" if said else "it has nothing else"
