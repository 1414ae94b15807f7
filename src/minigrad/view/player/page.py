"""A page of its own: pictures, plays and the player in one file that needs no network.

The page's policy allows exactly the style and the script that are in it, by their hashes, and
nothing else: no request can leave it, whatever a label says. The plays travel as JSON in which
`<`, `>` and `&` are spelled out, so that no text can end the element that holds it. What the player
looks like is in the script, which puts it into a shadow root, where no other style reaches it.

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
from typing import Any, TypedDict

from ...calculus.faults import FAULTS
from ...calculus.words import FAULTS_IN_SPANISH
from ..layout import in_layers
from ..scene import Scene
from ..svg import DARK, DARK_FOLD, level_of, svg_of
from .frames import Play, frame_at, widths_of

_FOLDER = Path(__file__).parent
# The parts of the player, in an order in which each finds what it needs above it.
_PARTS = ("frames", "picture", "camera", "predict", "paths", "markup", "player", "element")
_THEMES = ("auto", "light", "dark")

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
$picture</div>$payload
</main>$script""")


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
def script() -> str:
    """Return the player as one JavaScript module, which also defines <minigrad-player>."""
    themed = DARK.partition("{")[2].rpartition("}")[0]  # for a theme as well as for a scheme
    style = (
        _bare(_read("player.css"))
        + f'@media screen {{ :where([data-theme="dark"]) {{ {themed} }} }}\n'
    )
    constants = {"STYLE": style, "WORDS": words()}
    parts = [f"const {name} = {_inert(constant)};\n" for name, constant in constants.items()]
    return "".join(parts + [_bare(_read(f"{part}.js")) for part in _PARTS])


@cache
def script_hash() -> str:
    """Return the hash by which a policy allows the player's script."""
    return _hash(script())


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
    edges = [(arrow.source, arrow.target) for arrow in scene.arrows]
    layers, widths = in_layers(len(scene.units), edges), widths_of(play)
    return {
        way: svg_of(scene, way, is_live=True, has_style=False, widths=widths, layers=layers)
        for way in (("LR", "TB") if rankdir == "auto" else (rankdir,))
    }


def payload_of(play: Play, pictures: dict[str, str]) -> dict[str, Any]:
    """Return what `mount` shows, as JSON can hold it."""
    return {"play": play, "pictures": {way: _packed(each) for way, each in pictures.items()}}


def element_of(
    scene: Scene, play: Play, rankdir: str, options: Options, **attributes: str | bool
) -> str:
    """Make a <minigrad-player>: it holds its picture, which is there without the script, too."""
    pictures = pictures_of(scene, play, rankdir)
    shown = next(iter(pictures))
    picture = pictures.pop(shown)
    theme = options.get("theme", "auto")
    given: dict[str, str | bool] = {
        **attributes,
        "start": str(frame_at(play, options.get("start", 0))),
        "fault": options.get("fault", ""),
        "lang": options.get("lang", "en"),
        "data-theme": "" if theme == "auto" else theme,
        "compact": options.get("compact", False),
    }
    return _ELEMENT.substitute(
        attributes="".join(_attribute(name, value) for name, value in given.items() if value),
        picture=picture.replace("<svg ", f'<svg data-rankdir="{shown}" ', 1),
        payload=_inert(payload_of(play, pictures)),
    )


def page_of(shown: Sequence[tuple[Scene, Play]], rankdir: str, options: Options) -> str:
    """Make a page with a player for each: one fills the window, several stand below each other."""
    if len(shown) == 1:
        rests: list[dict[str, str | bool]] = [{"fill": True, "takes-focus": True}]
    else:
        rests = [{"id": f"player-{k + 1}"} for k in range(len(shown))]
    elements = [
        element_of(scene, play, rankdir, options, **rest)
        for (scene, play), rest in zip(shown, rests, strict=True)
    ]
    language = words()[options.get("lang", "en")]
    body = [
        *elements,
        f"<noscript><p>{escape(language['still'])}</p></noscript>",
        f'<script type="module">{script()}</script>',
    ]
    title = ", ".join(scene.title for scene, _ in shown)
    kind = ' class="one"' if len(shown) == 1 else ""
    return _page(title, "\n".join(body), f"script-src '{script_hash()}'; ", kind, options)


def still_page_of(scene: Scene, rankdir: str, options: Options) -> str:
    """Make a page without the player, for graphs that are too large to play."""
    words = f"Too large to step through, so here is a still picture. {scene.notice}"
    return _page(scene.title, _still(scene, rankdir, words), "", "", options)


def fold_payload(
    levels: Mapping[str, Scene], is_open: Sequence[str], rankdir: str
) -> dict[str, Any]:
    """Return what folded.js opens and closes: the inside of each box, and which are open."""
    ways = ("LR", "TB") if rankdir == "auto" else (rankdir,)
    drawn = {
        way: _packed(json.dumps({box: level_of(each, way) for box, each in levels.items()}))
        for way in ways
    }
    return {"levels": drawn, "open": list(is_open)}


def fold_script() -> str:
    """Return what opens and closes boxes, as a JavaScript module that exports `Fold`."""
    return _bare(_read("folded.js")) + "export { Fold };\n"


def folded_page_of(
    scene: Scene,
    levels: Mapping[str, Scene],
    is_open: Sequence[str],
    rankdir: str,
    options: Options,
    words: str,
) -> str:
    """Make a page with a folded picture, the boxes of which can be opened.

    It holds the inside of each box once, drawn with all boxes in it closed.
    """
    payload = _inert(fold_payload(levels, is_open, rankdir))
    code = _bare(_read("folded.js"))
    body = _still(
        scene,
        rankdir,
        words,
        f'\n<script type="application/json">{payload}</script>',
        f'\n<script type="module">{code}</script>',
    )
    return _page(scene.title, body, f"script-src '{_hash(code)}'; ", "", options)


def _still(scene: Scene, rankdir: str, words: str, payload: str = "", code: str = "") -> str:
    way = "LR" if rankdir == "auto" else rankdir
    return _STILL.substitute(
        title=escape(scene.title),
        value=escape(str(scene.units[-1].data)),
        words=escape(words),
        picture=svg_of(replace(scene, notice=""), way, has_style=False),
        payload=payload,
        script=code,
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


def _packed(picture: str) -> str:
    """Deflate a picture that is perhaps never shown: a tenth of its size."""
    return base64.b64encode(zlib.compress(picture.encode())).decode()


def _inert(thing: Any) -> str:
    """Write JSON that cannot be taken for markup."""
    text = json.dumps(thing, separators=(",", ":"))
    return text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")


def _hash(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
