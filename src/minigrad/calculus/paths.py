"""A gradient as a sum over paths.

The chain rule says: the derivative of L with respect to a is the sum, over all paths from a up to
L, of the product of the local derivatives along the path. For L = (a*b + c)*(a - c) at 2, 3, 4:

    a: -6 (a → a*b → + → *) + 10 (a → a-c → *) = 4

There may be 2**60 paths, so nobody walks them. One pass from L downwards keeps for every node the
number of paths (exact), the gradient, and its few largest products; the rest of the paths is one
remainder with its count. Start at `_Downwards`.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, NamedTuple

from ..core.display import code, table
from ..core.graph import operands_of, topological_order
from ..core.names import brief, json_number, name_of, plural, short_name
from ..core.terminal import table_of
from ..scalar import ABILITIES, Value
from .steps import aside, check_root, links
from .words import PHRASES, check_language

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions
    from rich.table import Table


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Term:
    """One path from the variable up to the result, and the product of its local derivatives."""

    nodes: tuple[Value, ...]  # the variable first, the result last
    locals: tuple[float, ...]  # one for each step from a node to the next
    product: float
    positions: tuple[int, ...]  # which operand each step comes from, from the result down

    @property
    def path(self) -> str:
        """The way up: `a → a*b → + → *`."""
        return self.way()

    def __repr__(self) -> str:
        return f"<Term {brief(self.product)} = {self.factors}: {self.path}>"

    @property
    def factors(self) -> str:
        """The local derivatives along the way: `3 · 1 · -2`."""
        return self.product_of()

    def way(self, lang: str = "en") -> str:
        """Return the path in a language: of a long one, how many nodes there are between."""
        return " → ".join(_shortened(self.nodes, short_name, lang))

    def product_of(self, lang: str = "en") -> str:
        """Return the factors in a language."""
        return " · ".join(_shortened(self.locals, brief, lang)) or "1"


@dataclass(frozen=True, slots=True, eq=False)
class Explanation:
    """The gradient of `result` with respect to `variable`, and where it comes from."""

    variable: Value
    result: Value
    gradient: float
    paths: int  # all of them, exactly
    terms: tuple[Term, ...]  # the largest, by absolute value, first
    rest: float  # what the paths beyond them add up to
    lang: str = "en"  # of its sentences: en or es

    def __setstate__(self, state: list[Any]) -> None:
        """Take up a pickle; those of earlier versions end before `lang`."""
        for field, thing in zip(fields(self), [*state, "en"], strict=False):
            object.__setattr__(self, field.name, thing)

    @property
    def rest_paths(self) -> int:
        """How many paths there are beyond `terms`."""
        return self.paths - len(self.terms)

    @property
    def equation(self) -> str:
        """The sum in one line, its terms in the order in which the expression was written."""
        name = short_name(self.variable)
        if not self.paths:
            text = self._say("no path", variable=name, result=short_name(self.result))
            is_swapped = any(node is self.result for node in topological_order(self.variable))
            return text + self._say("swapped") if is_swapped else text
        written = sorted(self.terms, key=lambda term: term.positions)
        parts = [(term.product, term.way(self.lang)) for term in written]
        if self.rest_paths:
            parts.append((self.rest, self._rest))
        return f"{name}: {_sum(parts)} = {brief(self.gradient)}"

    def text(self) -> str:
        """Write the equation, and below it a line for each path: product, factors, way."""
        if not self.paths:
            return self.equation
        rows = [(brief(term.product), *self._written(term)) for term in self.terms]
        if self.rest_paths:
            rows.append((brief(self.rest), self._rest, ""))
        first, second = (max(len(row[k]) for row in rows) for k in (0, 1))
        lines = [f"  {a:>{first}}  =  {b:<{second}}   {c}".rstrip() for a, b, c in rows]
        names = {"variable": short_name(self.variable), "result": short_name(self.result)}
        counted = self._count(self.paths, "path")
        head = self._say("head", gradient=brief(self.gradient), paths=counted, **names)
        return "\n".join([head, *lines])

    def table(self, encoding: str = "utf-8") -> Table:
        """Return the paths as a table for rich, in characters that the encoding has."""
        names = {"variable": short_name(self.variable), "result": short_name(self.result)}
        title = self._say("title" if self.result.label else "title of result", **names)
        footers, rows, head = self._in_all(), self._rows(), self._head
        return table_of(head, rows, right=(1, 2), footers=footers, title=title, encoding=encoding)

    @property
    def _head(self) -> tuple[str, str, str]:
        return self._say("way"), self._say("locals"), self._say("product")

    @property
    def _rest(self) -> str:
        return self._count(self.rest_paths, "more path")

    def _say(self, phrase: str, **fields: str) -> str:
        return PHRASES[self.lang][phrase].format(**fields)

    def _count(self, count: int, thing: str) -> str:
        says = PHRASES[self.lang]
        return plural(count, says[thing], says[f"{thing}s"], says["about"])

    def _written(self, term: Term) -> tuple[str, str]:
        return term.product_of(self.lang), term.way(self.lang)

    def _rows(self) -> list[tuple[str, str, str]]:
        rows = [(*self._written(term)[::-1], brief(term.product)) for term in self.terms]
        if self.rest_paths:
            rows.append((self._rest, "", brief(self.rest)))
        return rows

    def _in_all(self) -> tuple[str, str, str]:
        in_all = self._say("in all", paths=self._count(self.paths, "path"))
        return in_all, "", brief(self.gradient)

    def _repr_html_(self) -> str:
        paths = table(self._head, self._rows(), right=(1, 2), footer=self._in_all())
        return code(self.equation) + (paths if self.paths else "")

    def as_dict(self) -> dict[str, Any]:
        """Return everything as JSON can hold it; a count may be too large for a float."""
        return {
            "variable": name_of(self.variable),
            "result": name_of(self.result),
            "gradient": json_number(self.gradient),
            "paths": _json_count(self.paths),
            "terms": [
                {
                    "path": [name_of(node) for node in term.nodes],
                    "local": [json_number(local) for local in term.locals],
                    "product": json_number(term.product),
                }
                for term in self.terms
            ],
            "rest": {"paths": _json_count(self.rest_paths), "sum": json_number(self.rest)},
        }

    def to_json(self) -> str:
        """Return `as_dict()` as text."""
        return json.dumps(self.as_dict(), allow_nan=False)

    def __str__(self) -> str:
        return self.equation

    def __repr__(self) -> str:
        return self.text()

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[Table]:
        yield self.table(console.encoding)


def explain(result: Value, variable: Value, top: int = 10, lang: str = "en") -> Explanation:
    """Explain the gradient of `result` with respect to `variable` by its `top` largest paths.

    `lang` is the language of its sentences: "en" or "es".
    """
    check_root(result, "explain(result, …)")
    check_root(variable, "explain(…, variable)")
    _check_top(top)
    check_language(lang, "explain")
    return _Downwards(result, top, leading_to=variable).explanation(variable, lang)


def explain_all(
    result: Value,
    top: int = 10,
    variables: Iterable[Value] | None = None,
    lang: str = "en",
) -> list[Explanation]:
    """Explain the gradient with respect to each of the variables, in one pass.

    By default they are all the nodes under the result, in topological order.
    """
    check_root(result, "explain_all")
    _check_top(top)
    check_language(lang, "explain_all")
    down = _Downwards(result, top)
    chosen = down.order if variables is None else variables
    return [down.explanation(node, lang) for node in chosen]


def _check_top(top: int) -> None:
    if not isinstance(top, int) or top < 1:
        raise ValueError(f"top={top!r}: give the number of paths to list, 1 or more.")


class _Way(NamedTuple):
    """A path from the result down to a node, as a linked list: beginnings are shared."""

    product: float
    node: Value
    local: float
    position: int
    above: _Way | None


class _Downwards:
    """The pass from the result down: counts, gradients, and the largest products."""

    def __init__(self, result: Value, top: int, leading_to: Value | None = None) -> None:
        self.result, self.top = result, top
        self.order = topological_order(result)
        leads = self._leading(leading_to) if leading_to is not None else None
        self.counts: dict[int, int] = {id(result): 1}
        self.gradients: dict[int, float] = {id(result): 1.0}
        self.ways: dict[int, list[_Way]] = {id(result): [_Way(1.0, result, 1.0, 0, None)]}
        self.rests: dict[int, float] = {}  # sums over the paths that `ways` has no room for
        aside(self.order, self._run, leading_to, leads)  # hand-written steps are run to be asked

    def _run(self, leading_to: Value | None, leads: set[int] | None) -> None:
        for node in reversed(self.order):
            leads_on = leads is None or (id(node) in leads and node is not leading_to)
            if leads_on and id(node) in self.counts:  # else a node without a rule cut it off
                self._pass_on(node, leads)

    def _leading(self, variable: Value) -> set[int]:
        """Find the nodes from which a way leads down to the variable."""
        found: set[int] = set()
        for node in self.order:
            if node is variable or any(id(x) in found for x in operands_of(node)):
                found.add(id(node))
        return found

    def _pass_on(self, node: Value, leads: set[int] | None) -> None:
        count, grad = self.counts[id(node)], self.gradients[id(node)]
        ways = self.ways[id(node)]
        for position, (operand, local) in enumerate(links(node)):
            key = id(operand)
            if leads is not None and key not in leads:
                continue
            self.counts[key] = self.counts.get(key, 0) + count
            self.gradients[key] = self.gradients.get(key, 0.0) + local * grad
            if id(node) in self.rests:
                self.rests[key] = self.rests.get(key, 0.0) + local * self.rests[id(node)]
            known = self.ways.setdefault(key, [])
            known.extend(_Way(local * way.product, operand, local, position, way) for way in ways)
            if len(known) > self.top:
                known.sort(key=_smallness)
                dropped = sum(way.product for way in known[self.top :])
                self.rests[key] = self.rests.get(key, 0.0) + dropped
                del known[self.top :]

    def explanation(self, variable: Value, lang: str) -> Explanation:
        key = id(variable)
        ways = sorted(self.ways.get(key, ()), key=_smallness)
        return Explanation(
            variable,
            self.result,
            self.gradients.get(key, 0.0),
            self.counts.get(key, 0),
            tuple(_term(way) for way in ways),
            self.rests.get(key, 0.0),
            lang,
        )


def _smallness(way: _Way) -> float:
    """Sort the largest first, and what is no number before all others: it spoils the sum."""
    return -math.inf if math.isnan(way.product) else -abs(way.product)


def _term(way: _Way) -> Term:
    nodes, locals_, positions = [way.node], [], []
    link: _Way = way
    while link.above is not None:
        locals_.append(link.local)
        positions.append(link.position)
        link = link.above
        nodes.append(link.node)
    return Term(tuple(nodes), tuple(locals_), way.product, tuple(positions[::-1]))


def _json_count(paths: int) -> int | str:
    """A count of more than four thousand digits is not written out, neither here nor by Python."""
    return paths if paths < 10**4000 else plural(paths, "path")


def _sum(parts: list[tuple[float, str]]) -> str:
    texts = []
    for k, (number, where) in enumerate(parts):
        sign = ("- " if number < 0 else "+ ") if k else ("-" if number < 0 else "")
        texts.append(f"{sign}{brief(abs(number))} ({where})")
    return " ".join(texts)


def _shortened(things: Sequence[Any], show: Callable[[Any], str], lang: str) -> list[str]:
    """Show all of them, or the first and the last; those between are not looked at."""
    if len(things) <= 14:
        return [show(thing) for thing in things]
    ends = [show(thing) for thing in (*things[:6], *things[-6:])]
    return [*ends[:6], PHRASES[lang]["more"].format(count=len(things) - 12), *ends[6:]]


ABILITIES["explain"] = explain
