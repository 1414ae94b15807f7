"""Looking for everything that a function may read: from its code to names, objects, more code.

How to look into a kind of thing is in `looks.py`. The user's own code is read for the
names that it mentions; code of others is not, but what their objects hold is looked at where they
are made to hold things (containers, partials, wrappers). Nothing is called or triggered by looking.
Start at `Search.thing`.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from types import BuiltinFunctionType, FunctionType, MethodType
from typing import Any, cast
from weakref import WeakKeyDictionary

from ...errors import TraceError
from . import places
from .builtins import stands_in
from .looks import Finds, Looks, looks_into
from .outside import leads_outside, names_outside
from .places import MISSING, in_cell
from .shapes import LINKS, PLAIN, fields_of, is_users_module, is_users_space, match_args, module_of
from .unchanged import attributes_of
from .words import GLOBAL_TEXT, MODULE_TEXT, words_of

_LIMIT = 5_000_000  # things looked at
_RANDOM = {"random", "numpy.random"}


class Search(Looks):
    """One search; it goes on until no code mentions anything new."""

    def __init__(self, found: Finds) -> None:
        super().__init__(found)
        self.outside: set[str] = set()  # what cannot be followed
        self.late: set[str] = set()  # modules that the code imports and that are not there yet
        self._budget = _LIMIT
        self._known: set[tuple[int, str]] = set()  # words by namespace
        self._looks: dict[type, list[Callable[[Any, str], None]]] = {}
        self._spaces: dict[int, FunctionType] = {}  # a function for each namespace

    # ---- the whole of it ------------------------------------------------------------------------

    def start(self, function: Any, name: str) -> None:
        """Look at the function that is traced; its code is read, whoever wrote it."""
        while type(function) is MethodType:
            self.thing(function.__self__, f"{name}.__self__")
            function = function.__func__
        if type(function) is FunctionType:
            self._seen[id(function)] = function
            self._function(function, name, is_users=True)
        else:
            self.thing(function, name)

    def follow(self) -> None:
        """Look at the attributes that the code mentions, which may lead to more code."""
        found = True
        while found:
            found = self._follow_modules()
            everything, words = self._mentions.everything(), self._mentions.words()
            for kind, shape in self._shapes.items():
                if self._mentions.compare():
                    shape.extra.update(fields_of(kind))
                if self._mentions.matches:
                    self._mentions.attributes.update(match_args(kind))
            for parts, name, extra in list(self._waiting):
                for word in [w for w in parts if everything or w in words or w in extra]:
                    found = True
                    self.thing(parts.pop(word), f"{name}.{word}")
        self._look_at_bare_values()
        for module in self._strange:
            self.outside.update(names_outside(module, self._mentions.attributes))

    def arrivals(self) -> None:
        """Look at modules that have been imported meanwhile."""
        for name in sorted(self.late.intersection(sys.modules)):
            self.late.discard(name)
            self.thing(sys.modules[name], name)
        self.follow()

    def matter(self) -> frozenset[str] | None:
        """Tell which attributes matter; None: all."""
        return None if self._mentions.everything() else frozenset(self._mentions.words())

    def may_draw(self) -> bool:
        """Tell whether the code may draw random numbers from what everybody draws from."""
        may_name_it = self._mentions.any_of({"random"}) or self._mentions.everything()
        return may_name_it or not _RANDOM.isdisjoint(self._strange)

    def thing(self, value: Any, name: str) -> None:
        """Look into a thing that is known to be there."""
        kind = type(value)
        if kind is str and value.isidentifier():
            self._mentions.texts.add(value)
        if kind in PLAIN or value is MISSING or id(value) in self._seen:
            return
        self._seen[id(value)] = value
        self._spend(1, name)
        if kind not in self._looks:
            self._looks[kind] = [getattr(self, look) for look in looks_into(kind)]
        for look in self._looks[kind]:
            look(value, name)

    # ---- code -----------------------------------------------------------------------------------

    def _look_at_function(self, function: FunctionType, name: str) -> None:
        self._function(function, name, is_users_space(function.__globals__))

    def _function(self, function: FunctionType, name: str, is_users: bool) -> None:
        code = function.__code__
        for cell, free in zip(function.__closure__ or (), code.co_freevars, strict=True):
            content = in_cell(cell)
            is_cache = not is_users and WeakKeyDictionary in map(type, content)
            if id(cell) not in self._seen and not is_cache:
                self._seen[id(cell)] = cell
                self.found.contain(places.CELL, cell, free)
                for value in content:
                    self.thing(value, free)
        own = attributes_of(function) or {}
        if not is_users:
            self._lead(function, name)
            self._parts([own[word] for word in LINKS & own.keys()], name)
            return
        self.found.contain(places.FUNCTION, function, name, extra=set())
        self._waiting.append((dict(own), name, set()))
        defaults = (*(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).values())
        self._parts(defaults, f"a default of {name}")
        if function.__kwdefaults__:
            self.thing(function.__kwdefaults__, f"a default of {name}")
        words = words_of(code)
        self._mentions.add(words)
        self._spaces[id(function.__globals__)] = function
        self._look_up(function, words.globals)
        for module in sorted(words.modules):
            self._imported(module, function.__globals__)

    def _look_up(self, function: FunctionType, words: Iterable[str]) -> None:
        """Look at what words mean to a function, and so to others of its module."""
        own: dict[str, Any] = function.__globals__
        built_in: dict[str, Any] = cast(Any, function).__builtins__
        for word in words:
            value = self._meaning(own, word)
            if value is MISSING and not stands_in(built_in.get(word)):
                value = self._meaning(built_in, word)
            self.thing(value, word)

    def _meaning(self, space: dict[str, Any], word: str) -> Any:
        value = space.get(word, MISSING)
        if (id(space), word) not in self._known:
            self._known.add((id(space), word))
            self.found.mean(space, word, value)
        return value

    def _imported(self, name: str, space: dict[str, Any]) -> None:
        """Look at the modules that an import statement loads."""
        package = space.get("__package__") or ""
        for path in (name, f"{package}.{name}".strip(".")):
            words = path.split(".")
            for count in range(1, len(words) + 1):
                part = ".".join(words[:count])
                if part not in sys.modules:
                    self.late.add(part)
                    break
                if is_users_module(part):
                    self._meaning(sys.modules, part)
                self.thing(sys.modules[part], part)

    # ---- modules --------------------------------------------------------------------------------

    def _follow_modules(self) -> bool:
        """Look up what words mean in the modules that were found; tell whether any was new."""
        mentions = self._mentions
        if mentions.any_of(GLOBAL_TEXT):
            for function in list(self._spaces.values()):
                self._look_up(function, mentions.texts & function.__globals__.keys())
        if mentions.any_of(MODULE_TEXT):
            for name in sorted(mentions.texts & sys.modules.keys()):
                self.thing(sys.modules[name], name)
        words, survives = mentions.words(), mentions.survive()
        found = False
        for space, known in self._compiled:
            fresh = {word for word in words if word in space and word[0] != "_"}
            found |= self._look_up_fresh(space, fresh, known)
        for module, known in list(self._modules.values()):
            space = attributes_of(module) or {}
            fresh = {word for word in words if word in space}
            if not is_users_space(space):  # settings that somebody may have put there
                fresh = {word for word in fresh if type(space[word]) in PLAIN}
            elif survives or "__getattr__" in space:
                fresh = words | {"__getattr__"}
            found |= self._look_up_fresh(space, fresh, known)
        return found

    def _look_up_fresh(self, space: dict[str, Any], words: set[str], known: set[str]) -> bool:
        fresh = sorted(words - known)
        known.update(fresh)
        for word in fresh:
            self.thing(self._meaning(space, word), word)
        return bool(fresh)

    # ---- limits ---------------------------------------------------------------------------------

    def _lead(self, value: Any, name: str) -> None:
        """Remember a thing of others if it leads outside."""
        kind = type(value)
        if kind is not FunctionType and kind is not BuiltinFunctionType:
            value = value if issubclass(kind, type) else kind
            module = module_of(value)
        else:
            module = value.__module__ or getattr(value.__self__, "__module__", "")
        where = leads_outside(str(module), value.__name__)
        if where is not None:
            self.outside.add(where)
        else:
            self._strange.add(str(module))  # a name of its own may lead there

    def _spend(self, count: int, name: str) -> None:
        self._budget -= count
        if self._budget < 0:
            raise TraceError(
                f"a compiled function reads {name}, which holds too much to be watched from call "
                "to call. Give it as an argument."
            )
