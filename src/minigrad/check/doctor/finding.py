"""Find the class in somebody's module, and by trying how it is spoken to.

The class is the one with the operators. How one is made from a number, and where that number is,
is tried, familiar names first; `passes.py` does the same with the pass and the gradients.

This runs in the sandbox, next to a stranger's code. Start at `find`.
"""

from __future__ import annotations

import contextlib
import functools
import inspect
import itertools
import operator
import sys
import traceback
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any

from .clock import TooLongError, bounded
from .dialect import CHILDREN, DATA, NAMES, SYMBOLS, ZERO, Dialect
from .passes import (
    PLAIN,
    Named,
    NoEngineError,
    Trial,
    choose_pass,
    file_of,
    number_in,
    operators_of,
    prepare,
    result_of,
)  # fmt: skip

FILL: tuple[tuple[Any, tuple[str, ...]], ...] = (  # what a constructor may want besides the number
    ((), (
        "children", "_children", "prev", "_prev", "parents", "inputs", "operands", "deps",
        "_parents", "_inputs", "previous", "args",
    )),
    ("", ("op", "_op", "label", "name", "tag", "_label", "operation", "symbol")),
    (True, ("requires_grad", "track", "requires_gradient")),
    (0.0, ("grad", "gradient", "derivative", "_grad")),
)  # fmt: skip

LONGEST = 10.0  # CPU seconds for making one, and for a first operation: they may import PyTorch


def find(
    module: ModuleType,
    named: Named | str = "",
    is_own: Callable[[str], bool] = lambda _: False,
    last: bool = False,
) -> Dialect:
    """Find the class to examine in a module, and how it is spoken to.

    Of several it is the one called Value, or the one with most operations; or the `last`, as in
    a notebook that grows.
    """
    named = Named(named) if isinstance(named, str) else named
    if named.cls:
        cls = getattr(module, named.cls, None)
        if not inspect.isclass(cls):
            raise NoEngineError(f"there is no class {named.cls} in {module.__name__}")
        return _try(cls, module, named)
    classes = _classes(module, is_own)
    dialects, reasons = [], []
    for cls in classes:
        try:
            dialects.append(_try(cls, module, named))
        except NoEngineError as error:
            reasons.append((operators_of(cls), str(error)))
    if not dialects:
        reasons.sort(key=lambda reason: -len(reason[0]))
        raise NoEngineError(reasons[0][1] if reasons else "there is no class in it")
    able = [dialect for dialect in dialects if dialect.operations] or dialects
    best = max(able, key=lambda d: (d.cls.__name__ == "Value", len(d.operations)))
    chosen = able[-1] if last else best
    chosen.choices = [dialect.cls.__name__ for dialect in able]
    return chosen


def _classes(module: ModuleType, is_own: Callable[[str], bool]) -> list[type]:
    """List the classes of a module, each once; those that it only imports if it has no others."""
    every = [thing for thing in list(vars(module).values()) if inspect.isclass(thing)]
    every = list(dict.fromkeys(c for c in every if not issubclass(c, BaseException | ModuleType)))
    own = [c for c in every if f"{c.__module__}.".startswith(f"{module.__name__}.")]
    beside = [c for c in every if c in own or is_own(c.__module__)]
    able = [c for c in beside if operators_of(c) & {"add", "mul"}]
    if able or own:
        return [*able, *(c for c in own if c not in able)]
    top = {c: str(c.__module__).partition(".")[0] for c in every}
    return [c for c in every if top[c] not in PLAIN and operators_of(c) & {"add", "mul"}]


# ---- one class ----------------------------------------------------------------------------------


def _try(cls: type, module: ModuleType, named: Named) -> Dialect:
    """Find the words for a class, and try them out; made in another way where no pass runs."""
    modules = list(dict.fromkeys([sys.modules.get(cls.__module__, module), module]))
    first: Dialect | None = None
    reason: NoEngineError | None = None
    has_run = False
    for dialect in _made(cls, named, modules):
        if has_run and "=True" not in dialect.spelling["make"]:
            continue  # it runs and moves nothing: gradients may have to be switched on
        trial = Trial(dialect, named, modules)
        prepare(trial)
        try:
            choose_pass(trial)
        except NoEngineError as error:
            reason = reason or error
            continue
        first = first or dialect
        if trial.has_run and not has_run:
            first, has_run = dialect, True
        if trial.has_moved:
            first = dialect
            break
    if first is None:
        raise reason or NoEngineError(f"{cls.__name__} cannot be made from one number")
    return _introduced(first, modules)


def _introduced(dialect: Dialect, modules: list[ModuleType]) -> Dialect:
    cls = dialect.cls
    dialect.file = str(getattr(modules[0], "__file__", None) or "")
    dialect.zero = next((n for n in ZERO if callable(getattr(cls, n, None))), "")
    dialect.words = {
        "class": cls.__name__,
        "data": dialect.data,
        "grad": dialect.grad,
        "backward": dialect.words["backward"],
    }
    sample = result_of(dialect)
    children = next((name for name in CHILDREN if hasattr(sample, name)), "")
    dialect.words |= {"children": children} if children else {}
    return dialect


# ---- making one from a number -------------------------------------------------------------------


def _made(cls: type, named: Named, modules: list[ModuleType]) -> Iterator[Dialect]:
    """Yield ways in which one is made and keeps its number; those first that compute."""
    others, reason, unreal, is_any = [], "", "", False
    for make, spelling, plain in _makers(cls):
        try:
            with bounded(LONGEST, file_of(cls)):
                sample = make(2.5)
            # A class that rounds is ill, but a class all the same: 2 is 2.
            data = _attribute(sample, named.data, 2.5) or _attribute(make(2.0), named.data, 2.0)
        except TooLongError:
            raise NoEngineError(f"{cls.__name__}(2.5) does not come to an end") from None
        except (Exception, SystemExit) as error:
            told = f": {error}" if isinstance(error, Exception) else " by sys.exit()"
            reason = reason or f"{type(error).__name__}{told}"[:120]
            continue
        if not data:
            unreal = unreal or _unreal(sample)
            continue
        is_any = True
        dialect = Dialect(cls, make, data, "", lambda _: None, {})
        dialect.spelling, dialect.plain = {"make": spelling}, plain
        dialect.operators = operators_of(cls)
        dialect.operations = _operations(dialect, modules)
        others.append(dialect)
    # Some want arrays, and do with plain numbers no more than a part of what they can do.
    yield from sorted(others, key=_failures)
    if unreal and not is_any:
        raise NoEngineError(f"{cls.__name__} keeps a complex number in {unreal}; numbers are real")
    if reason and not is_any:
        raise NoEngineError(f"{cls.__name__} cannot be made from one number ({reason})")
    called = f"called {named.data}" if named.data else "such as data"
    if not is_any:
        raise NoEngineError(f"{cls.__name__} keeps its number in no attribute {called}; name it")


Make = Callable[[float], Any]


def _makers(cls: type) -> Iterator[tuple[Make, str, Make]]:
    """Yield ways to make one, and to write it, and to make it from no more than is needed: from a
    number, an array or a list of one."""
    try:
        parameters = list(inspect.signature(cls).parameters.values())
    except (TypeError, ValueError):
        parameters = []
    named = [p for p in parameters if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)]
    holder = next((p.name for p in named if p.name in DATA), named[0].name if named else "")
    fill = {word: value for value, words in FILL for word in words}
    options = {
        p.name: True if _switches_on(p) else fill.get(p.name)
        for p in named
        if p.name != holder
        and (p.default is p.empty or fill.get(p.name) is True or _switches_on(p))
    }
    wraps: dict[str, Make] = {"{}": lambda x: x}
    np = sys.modules.get("numpy")
    if np is not None:
        wraps["np.array({})"] = np.array
        wraps["np.array([{}])"] = lambda x: np.array([x])
        wraps["np.array([[{}]])"] = lambda x: np.array([[x]])
    wraps["[{}]"] = lambda x: [x]
    if _wants_arrays([p for p in named if p.name == holder]):
        wraps = {w: wraps[w] for w in sorted(wraps, key=lambda w: "([{}])" not in w)}
    is_first = not named or (holder == named[0].name and named[0].kind is not _KEYWORD)
    needed = {p.name: options[p.name] for p in named if p.name in options and p.default is p.empty}
    # With what switches gradients on; and without, for those who know such a name to refuse it.
    both = [options, needed] if options != needed else [needed]
    off = [p.name for p in named if p.default is False and not p.name.startswith(_OFF)]
    switched = options | dict.fromkeys(off, True)
    ways = [*itertools.product(both, wraps.items())]
    ways += [(switched, way) for way in [*wraps.items()][:1] if switched not in both]
    for more, (written, wrap) in ways:

        def make(x: float, wrap: Make = wrap, given: dict[str, Any] = more) -> Any:
            return cls(wrap(x), **given) if is_first else cls(**{holder: wrap(x)}, **given)

        told = "".join(f", {name}={value!r}" for name, value in more.items())
        given = written if is_first else f"{holder}={written}"
        yield make, f"{cls.__name__}({given}{told})", functools.partial(make, given=needed)


_KEYWORD = inspect.Parameter.KEYWORD_ONLY
_OFF = ("no", "stop", "without", "zero", "dis", "skip")


def _switches_on(p: inspect.Parameter) -> bool:
    """Whether a parameter that is False by default may switch gradients on."""
    return p.default is False and "grad" in p.name and not p.name.startswith(_OFF)


def _wants_arrays(parameters: list[inspect.Parameter]) -> bool:
    """Whether a constructor says that it takes arrays, and no plain numbers."""
    said = str(parameters[0].annotation) if parameters else ""
    return "ndarray" in said and not any(word in said for word in ("float", "int", "|", "Union"))


def _attribute(sample: Any, named: str, wanted: float) -> str:
    """Find the attribute, or the method without arguments, that has this number."""
    own = [str(name) for name in getattr(sample, "__dict__", {})]
    own += [str(n) for c in type(sample).__mro__ for n in getattr(c, "__slots__", ())]
    own += ["real"] if isinstance(sample, float) else []  # a number itself
    names = (named,) if named else dict.fromkeys([*DATA, *own])
    return next((name for name in names if _is(getattr(sample, name, ""), wanted)), "")


def _unreal(sample: Any) -> str:
    """Name the attribute that has a complex number."""
    own = getattr(sample, "__dict__", {})
    names = [n for n in dict.fromkeys([*DATA, *own]) if type(own.get(n)) is complex]
    return str(names[0]) if names else ""


def _is(found: Any, wanted: float) -> bool:
    """Whether something is this number: an int, a float, NumPy's, an array of one."""
    number = number_in(found)
    return number is not None and number == wanted


def _failures(dialect: Dialect) -> int:
    """Count which of the two operations that every engine has do not run on Values that are made
    like this, and on results; or make another shape of them beside a plain number."""
    count = 0
    for call in [dialect.operations[op] for op in ("add", "mul") if op in dialect.operations]:
        try:
            with bounded(LONGEST, file_of(dialect.cls)):
                result = call(call(dialect.make(1.5), dialect.make(2.25)), dialect.make(0.5))
        except TooLongError:
            name = dialect.cls.__name__
            raise NoEngineError(f"+ or * of two {name}s does not come to an end") from None
        except Exception:
            count += 1
            continue
        with contextlib.suppress(Exception):
            shapes = [
                getattr(getattr(x, dialect.data), "shape", ()) for x in (result, call(result, 2.0))
            ]
            count += shapes[0] != shapes[1]
    return count


# ---- operations ---------------------------------------------------------------------------------


def _operations(dialect: Dialect, modules: list[ModuleType]) -> dict[str, Callable[..., Any]]:
    cls = dialect.cls
    found: dict[str, Callable[..., Any]] = {}
    for op, names in NAMES.items():
        if op in dialect.operators:
            found[op] = SYMBOLS.get(op, operator.neg)
            continue
        for name in names:
            call = _call(cls, modules, name)
            static = inspect.getattr_static(cls, name, 0)
            is_plain = op not in SYMBOLS and inspect.isfunction(static)
            if call is None or (is_plain and not _takes(static, 1)):  # a helper of that name
                continue
            if is_plain or _works(dialect, op, call):
                found[op] = call
                break
    return found


def _call(cls: type, modules: list[ModuleType], name: str) -> Callable[..., Any] | None:
    if isinstance(inspect.getattr_static(cls, name, None), staticmethod | classmethod):
        method: Callable[..., Any] = getattr(cls, name)
        return method
    if callable(getattr(cls, name, None)):
        return lambda *operands: getattr(operands[0], name)(*operands[1:])
    for module in modules:
        function = vars(module).get(name)
        if inspect.isfunction(function) and function.__module__ == module.__name__:
            return function  # of this module; not math.tanh, which it may have imported
    return None


def _takes(function: Any, count: int) -> bool:
    """Whether a function can be called with so many arguments."""
    try:
        inspect.signature(function).bind(*[None] * count)
    except TypeError:
        return False
    except ValueError:
        return True
    return True


def _works(dialect: Dialect, op: str, call: Callable[..., Any]) -> bool:
    """Whether a method or a function of that name is meant for Values, called in this way."""
    a, b = dialect.make(0.5), dialect.make(0.25)
    operands = [a] if op not in SYMBOLS else [a, 2] if op == "pow" else [a, b]
    try:
        call(*operands)
    except TypeError as error:
        # Ours, that of `call`, and one of theirs: else it was called in a wrong way.
        return len(list(traceback.walk_tb(error.__traceback__))) > 2
    except AttributeError:
        return op != "pow"  # its exponent may have to be a Value
    except Exception:
        return True
    return True
