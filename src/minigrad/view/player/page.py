"""A page of its own: pictures, plays and the player in one file that needs no network.

The page's policy allows exactly the style and the script that are in it, by their hashes, and
nothing else: no request can leave it, whatever a label says. The plays travel as JSON, deflated and
in base64, so that no text can end the element that holds it. What the player looks like is in the
script, which puts it into a shadow root, where no other style reaches it.

Start at `page_of`; `script` says which files the player is made of.
"""

from __future__ import annotations

import base64
import hashlib
import json
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache
from html import escape
from pathlib import Path
from string import Template
from typing import Any, NamedTuple, TypedDict

from ...calculus.faults import FAULTS
from ...calculus.words import FAULTS_IN_SPANISH
from ..folding import Level
from ..scene import Scene
from ..svg import DARK, DARK_FOLD, level_of, size_of, svg_of
from .folded import last_frame, widths_in
from .frames import Play, check_start, frame_at, widths_of

_FOLDER = Path(__file__).parent
# The parts of the player, in an order in which each finds what it needs above it. Those about boxes
# are left out where there are none.
_BOXES = ("level", "boxes")
_PARTS = (
    *("inflate", "frames", "picture", "camera", "predict", "paths", "markup"),
    *(*_BOXES, "player", "element"),
)
_THEMES = ("auto", "light", "dark")
PHONE = 640.0  # px of a picture, which a phone shows at six tenths of its size

_PAGE = Template("""<!doctype html>
<html lang="$lang"$theme>
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="$policy">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>minigrad: $title</title>
<style>$style</style>
</head>
<body$kind>
$body
</body>
</html>
""")

_ELEMENT = Template("""<minigrad-player$attributes>
$picture<script type="application/json">$payload</script>
</minigrad-player>
""")

_STILL = Template("""<main class="still">
<h1>$title = $value</h1>
<p>$words</p>
<div>
$picture</div>
</main>""")


class Options(TypedDict, total=False):
    """How a player opens and looks; every key may be left out."""

    start: int | str  # the number of a step, or "forward", "backward", "end"
    fault: str  # a name of `minigrad.broken.FAULTS`
    lang: str  # "en" or "es"
    theme: str  # "auto", as the system has it, "light" or "dark"
    compact: bool  # less around the picture, for a slide or a text


@cache
def words() -> dict[str, dict[str, str]]:
    """Return what the player says, by language."""
    found: dict[str, dict[str, str]] = json.loads(_read("words.json"))
    found["es"] |= {f"fault {name}": text for name, text in FAULTS_IN_SPANISH.items()}
    return found


@cache
def script(has_boxes: bool = True) -> str:
    """Return the player as one JavaScript module, which also defines <minigrad-player>."""
    dark = [DARK, *([DARK_FOLD] if has_boxes else [])]  # for a theme as well as for a scheme
    themed = "".join(each.partition("{")[2].rpartition("}")[0] for each in dark)
    style = (
        _bare(_read("player.css"))
        + f'@media screen {{ :where([data-theme="dark"]) {{ {themed} }} }}\n'
    )
    constants = {"STYLE": style, "WORDS": words()}
    parts = [f"const {name} = {_inert(constant)};\n" for name, constant in constants.items()]
    used = [part for part in _PARTS if has_boxes or part not in _BOXES]
    return "".join(parts + [_bare(_read(f"{part}.js")) for part in used])


@cache
def script_hash(has_boxes: bool) -> str:
    """Return the hash by which a policy allows the player's script."""
    return _hash(script(has_boxes))


def check_options(options: Options, what: str, own: Sequence[str]) -> None:
    """Refuse an option that there is not, or a value that it cannot have, in a sentence.

    `own` are the options of the function itself, which looks at them.
    """
    for name in options:
        if name not in Options.__annotations__:
            listed = ", ".join([*Options.__annotations__, *own])
            raise TypeError(f"{what}: there is no option {name!r}; the options are {listed}.")
    choices = {"lang": [*words()], "theme": [*_THEMES], "fault": ["", *FAULTS]}
    for name, known in choices.items():
        value = options.get(name, known[0])
        if value not in known:
            listed = ", ".join(filter(None, known))
            raise ValueError(f"{what}: {name}={value!r}; choose of {listed}.")


def pictures_of(scene: Scene, play: Play, rankdir: str) -> dict[str, str]:
    """Draw the scene for the player, by direction: "auto" draws both."""
    widths = widths_of(play)
    return {
        way: svg_of(scene, way, is_live=True, has_style=False, widths=widths)
        for way in (("LR", "TB") if rankdir == "auto" else (rankdir,))
    }


class Folded(NamedTuple):
    """A graph that is played box by box."""

    scene: Scene
    play: Play
    levels: Mapping[str, Level]
    is_open: Sequence[str]  # the boxes that are open at first, by id
    is_asked: bool  # whether somebody wants these, so that they stay open where there is no room
    rankdir: str


class Whole(NamedTuple):
    """A graph that is played node by node."""

    scene: Scene
    play: Play
    pictures: Mapping[str, str]  # by direction
    narrow: Folded | None = None  # what is played instead where the picture is too wide


Shown = Whole | Folded


def is_wide(pictures: Mapping[str, str]) -> bool:
    """Whether the picture from top to bottom is wider than a phone can show it."""
    return "TB" in pictures and size_of(pictures["TB"])[0] > PHONE


def payload_of(shown: Shown, besides: str = "") -> dict[str, Any]:
    """Return what `mount` shows, as JSON can hold it, less the picture that is there `besides`."""
    play = shown.play
    if isinstance(shown, Folded):
        widths = {level: widths_in(play, level) for level in shown.levels}
        drawn = fold_payload(shown.levels, shown.is_open, shown.rankdir, widths)
        return {"play": play, **drawn, "asked": shown.is_asked}
    packed = {way: _packed(each) for way, each in shown.pictures.items() if way != besides}
    narrow = {"narrow": payload_of(shown.narrow)} if shown.narrow else {}
    return {"play": play, "pictures": packed, **narrow}


def element_of(shown: Shown, options: Options, **attributes: str | bool) -> str:
    """Make a <minigrad-player>: it holds its picture, which is there without the script, too."""
    scene, play, start = shown.scene, shown.play, options.get("start", 0)
    _check_replayed(options.get("fault", ""), play)
    if isinstance(shown, Folded):
        way = "LR" if shown.rankdir == "auto" else shown.rankdir
        picture = svg_of(replace(scene, notice=""), way, has_style=False)
        start = check_start(start, last_frame(play, shown.is_open))
    else:
        way, picture = next(iter(shown.pictures.items()))
        start = frame_at(play, start)
    theme = options.get("theme", "auto")
    given: dict[str, str | bool] = {
        **attributes,
        "start": str(start),
        "fault": options.get("fault", ""),
        "lang": options.get("lang", ""),
        "data-theme": "" if theme == "auto" else theme,
        "compact": options.get("compact", False),
    }
    return _ELEMENT.substitute(
        attributes="".join(_attribute(name, value) for name, value in given.items() if value),
        picture=picture.replace("<svg ", f'<svg data-rankdir="{way}" ', 1),
        payload=_inert(_packed(_compact(payload_of(shown, way)))),
    )


def _check_replayed(fault: str, play: Play) -> None:
    """Refuse to open with a fault that the play does not have."""
    if fault and all(run["name"] != fault for run in play["runs"]):
        raise ValueError(
            f"fault={fault!r}: this graph is too large to be replayed with it; up to 500 nodes can "
            "be, and limit=None, which plays each node by itself, has most faults for more."
        )


def page_of(shown: Sequence[Shown], options: Options) -> str:
    """Make a page with a player for each: one fills the window, several stand below each other."""
    if len(shown) == 1:
        rests: list[dict[str, str | bool]] = [{"fill": True, "takes-focus": True}]
    else:
        rests = [{"id": f"player-{k + 1}"} for k in range(len(shown))]
    elements = [element_of(each, options, **rest) for each, rest in zip(shown, rests, strict=True)]
    language = words()[options.get("lang", "en")]
    has_boxes = any(isinstance(each, Folded) or each.narrow for each in shown)
    body = [
        *elements,
        f"<noscript><p>{escape(language['still'])}</p></noscript>",
        f'<script type="module">{script(has_boxes)}</script>',
    ]
    title = ", ".join(each.scene.title for each in shown)
    kind = ' class="one"' if len(shown) == 1 else ""
    policy = f"script-src '{script_hash(has_boxes)}'; "
    return _page(title, "\n".join(body), policy, kind, options)


def still_page_of(scene: Scene, rankdir: str, options: Options) -> str:
    """Make a page without the player, for graphs that are too large to play."""
    words = f"Too large to step through, so here is a still picture. {scene.notice}"
    return _page(scene.title, _still(scene, rankdir, words), "", "", options)


def fold_payload(
    levels: Mapping[str, Level],
    is_open: Sequence[str],
    rankdir: str,
    widths: Mapping[str, Sequence[tuple[int, int]]] | None = None,
) -> dict[str, Any]:
    """Return what opens and closes: the inside of each box, and which are open."""
    ways = ("LR", "TB") if rankdir == "auto" else (rankdir,)
    drawn = {
        way: _packed(
            json.dumps(
                {
                    box: level_of(each.scene, way, widths[box] if widths else ())
                    for box, each in levels.items()
                }
            )
        )
        for way in ways
    }
    return {"levels": drawn, "open": list(is_open)}


def fold_script() -> str:
    """Return what opens and closes boxes, as a JavaScript module that exports `Fold`."""
    parts = [_bare(_read(f"{part}.js")) for part in ("inflate", "level", "folded")]
    return "".join(parts) + "export { Fold };\n"


def _still(scene: Scene, rankdir: str, words: str) -> str:
    way = "LR" if rankdir == "auto" else rankdir
    return _STILL.substitute(
        title=escape(scene.title),
        value=escape(str(scene.units[-1].data)),
        words=escape(words),
        picture=svg_of(replace(scene, notice=""), way, has_style=False),
    )


def _page(title: str, body: str, scripts: str, kind: str, options: Options) -> str:
    theme = options.get("theme", "auto")
    colours = [DARK, *([DARK_FOLD] if "mg-fold" in body else [])]
    if "mg-fold" in body and theme != "auto":  # where there is no player to see to it
        colours = [each.partition("{")[2].rpartition("}")[0] for each in colours]
        colours = colours if theme == "dark" else []
    style = _read("page.css") + "".join(colours)
    policy = (
        f"default-src 'none'; {scripts}style-src '{_hash(style)}'; base-uri 'none'; "
        "form-action 'none'"
    )
    return _PAGE.substitute(
        lang=options.get("lang", "en"),
        theme="" if theme == "auto" else _attribute("data-theme", theme),
        policy=policy,
        title=escape(title),
        style=style,
        kind=kind,
        body=body,
    )


def _attribute(name: str, value: str | bool) -> str:
    return f" {name}" if value is True else f' {name}="{escape(str(value), quote=True)}"'


@cache
def _read(name: str) -> str:
    return (_FOLDER / name).read_text(encoding="utf-8")


def _bare(text: str) -> str:
    """Leave out indentation and whole lines of comment: a page is read by browsers."""
    lines = (line.strip() for line in text.splitlines())
    return "".join(f"{line}\n" for line in lines if line and not line.startswith("//"))


def _packed(text: str) -> str:
    """Deflate a text that only the player reads: a tenth of its size; `inflated` undoes it."""
    return base64.b64encode(zlib.compress(text.encode())).decode()


def _compact(thing: Any) -> str:
    return json.dumps(thing, separators=(",", ":"))


def _inert(thing: Any) -> str:
    """Write JSON that cannot be taken for markup."""
    text = _compact(thing)
    return text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")


def _hash(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
