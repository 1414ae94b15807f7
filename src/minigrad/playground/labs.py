"""The labs in the page: the same texts, probes and verdicts as `minigrad lab`, without a folder.

What a folder remembers, the page sends along: the state, what was measured when it was broken, and
how many of the pages the learner has.
"""

from __future__ import annotations

import re
import sys
from typing import Any

from ..core.names import json_number
from ..lab.labs import LABS, PAGES, Lab
from ..lab.measuring import measure
from ..lab.workspace import STATES, judge, told
from .request import Request
from .words import say

# What a text tells somebody in a folder to do, alone or at the end of a sentence.
_COMMANDS = re.compile(r"```sh\npython probe\.py\nminigrad lab check\n```")
_RUN = re.compile(
    r"(,?)\s(?:run|ejecuta)\s`python probe\.py`,?\s(?:and|y)(?:\s(?:then|después))?\s"
    r"`minigrad lab check`"
)


def listed(request: Request) -> dict[str, Any]:
    """List the labs."""
    lang = request.lang
    return {"labs": [{"name": name, "title": lab.title(lang)} for name, lab in LABS.items()]}


def opened(request: Request) -> dict[str, Any]:
    """Return what a learner begins with: the engine, the probe, and the pages so far.

    The second page comes when it is asked for, and the third once the engine was seen broken.
    """
    lab, lang = _lab(request), request.lang
    return {
        "lab": lab.name,
        "title": lab.title(lang),
        "engine": lab.engine_source(lang),
        "probe": lab.probe_source(lang),
        "pages": [_page(lab, name, lang) for name in _pages(request)],
    }


def checked(request: Request) -> dict[str, Any]:
    """Measure a learner's engine, and tell how far they are."""
    lab, lang = _lab(request), request.lang
    text = request["text"].encode()
    before = sys.modules.get("engine")
    try:
        answer = measure(lambda: text, [str(path) for path in lab.probe_paths()])
    finally:
        sys.modules.pop("engine", None)
        if before is not None:
            sys.modules["engine"] = before
    state = request["state"]
    problem = told(answer["failed"], lang)
    pages = tuple(_pages(request))
    found, seen = judge(lab, lang, state, request["seen"], answer["measured"], problem, pages)
    kept = {name: {k: _kept(x) for k, x in numbers.items()} for name, numbers in seen.items()}
    then = found.engine if found.engine in ("partial", "other", "failed") else found.state
    if found.state == STATES[0] and then != "failed" and len(pages) < 2:
        then = "hypothesis"
    rows = found.differences if found.engine != "intact" else found.seen
    return {
        "state": found.state,
        "engine": found.engine,
        "seen": kept,
        "problem": found.problem,
        "where": found.lines[0],
        "then": say(lang, f"then {then}"),
        "rows": [
            {
                "experiment": row.experiment,
                "name": row.name,
                "yours": _kept(row.yours),
                "whole": _kept(row.right),
            }
            for row in rows
        ],
    }


def _lab(request: Request) -> Lab:
    return LABS[request["lab"]]


def _pages(request: Request) -> list[str]:
    """Name the pages that a learner has; the answers only once the engine was broken."""
    state, count = request["state"], request["pages"]
    return [*PAGES][: count if state != STATES[0] else min(count, 2)]


def _page(lab: Lab, name: str, lang: str) -> str:
    """Return a page that speaks of the button, where `minigrad lab` has commands."""
    text = _COMMANDS.sub(say(lang, "press"), lab.page(name, lang, has_commands=False))
    return _RUN.sub(lambda m: " " + say(lang, "and press" if m[1] else "then press"), text)


def _kept(x: Any) -> Any:
    return json_number(x) if isinstance(x, float) else x
