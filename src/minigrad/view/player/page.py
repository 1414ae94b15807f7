"""A page of its own: the picture, the player and its frames in one file that needs no network.

The page's policy allows exactly the style and the script that are in it, by their hashes, and
nothing else: no request can leave it, whatever a label says. The frames travel as JSON in which
`<`, `>` and `&` are spelled out, so that no text can end the element that holds it.
"""

from __future__ import annotations

import base64
import hashlib
import json
from html import escape
from pathlib import Path
from string import Template
from typing import Any

from ..scene import Scene
from ..svg import DARK, svg_of
from .frames import widths_of

_FOLDER = Path(__file__).parent

_PAGE = Template("""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="$policy">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>minigrad: $title</title>
<style>$style</style>
</head>
<body>
$body
</body>
</html>
""")

# The icons are drawn, because fonts often lack these signs.
_PLAYER = Template("""<main data-playing="no" data-rule="+=">
<h1>$title<span data-player="value"> = $value</span></h1>
<div class="bar" role="toolbar" aria-label="Player">
<button type="button" data-player="first" aria-label="First step">
<svg viewBox="0 0 14 14" aria-hidden="true"><path d="M2 2h2v10H2zM12 2v10L5 7z"/></svg></button>
<button type="button" data-player="back" aria-label="Step back">
<svg viewBox="0 0 14 14" aria-hidden="true"><path d="M10 2v10L3 7z"/></svg></button>
<button type="button" data-player="play" aria-label="Play">
<svg class="icon-play" viewBox="0 0 14 14" aria-hidden="true"><path d="M3 1v12l9-6z"/></svg>
<svg class="icon-pause" viewBox="0 0 14 14" aria-hidden="true"><path d="M3 1h3v12H3zM8 1h3v12H8z"/>
</svg></button>
<button type="button" data-player="forward" aria-label="Step forward">
<svg viewBox="0 0 14 14" aria-hidden="true"><path d="M4 2v10l7-5z"/></svg></button>
<button type="button" data-player="last" aria-label="Last step">
<svg viewBox="0 0 14 14" aria-hidden="true"><path d="M10 2h2v10h-2zM2 2v10l7-5z"/></svg></button>
<input type="range" data-player="slider" min="0" max="0" value="0" step="1" aria-label="Step">
<span class="count" data-player="count"></span>
<label><input type="checkbox" role="switch" data-player="broken"> break it:
<code>=</code> for <code>+=</code></label>
<label><input type="checkbox" role="switch" data-player="predict"> predict</label>
<label><input type="checkbox" data-player="fit"> fit</label>
<label>speed <select data-player="speed"><option value="1">1×</option>
<option value="3">3×</option><option value="10">10×</option></select></label>
</div>
<section class="caption" data-player="caption" aria-live="polite" aria-label="This step">
<div>
<p data-player="title"></p>
<p class="text" data-player="text"></p>
<p class="note" data-player="note"></p>
</div>
<button type="button" data-player="reveal" hidden>Show the number</button>
</section>
<div class="stage" data-player="stage">
$picture</div>
<section class="paths" aria-live="polite" aria-label="Paths">
<div data-player="paths" hidden>
<p data-player="paths-head"></p>
<table><tbody data-player="paths-terms"></tbody></table>
</div>
</section>
<p class="hint"><kbd>←</kbd> <kbd>→</kbd> step, <kbd>space</kbd> plays, <kbd>Home</kbd>
<kbd>End</kbd>, <kbd>b</kbd> breaks it, <kbd>p</kbd> predicts, <kbd>Enter</kbd> shows the number.
Point at a variable, or reach it with <kbd>Tab</kbd>, to see its paths.</p>
<noscript><p>The steps need JavaScript; the picture does not.</p></noscript>
</main>
<script type="application/json" data-player="play">$play</script>
<script type="module">$script</script>""")

_STILL = Template("""<main>
<h1>$title = $value</h1>
<p>Too large to step through, so here is a still picture. $notice</p>
<div class="stage">
$picture</div>
</main>""")


def page_of(scene: Scene, play: dict[str, Any], rankdir: str = "LR") -> str:
    """Make the page with the player."""
    script = _script()
    picture = svg_of(scene, rankdir, is_live=True, has_style=False, widths=widths_of(play))
    policy = f"script-src '{_hash(script)}'; "
    return _page(scene, _PLAYER, policy, picture=picture, play=_inert(play), script=script)


def still_page_of(scene: Scene, rankdir: str = "LR") -> str:
    """Make a page without the player, for graphs that are too large to play."""
    picture = svg_of(scene, rankdir, has_style=False)
    return _page(scene, _STILL, notice=escape(scene.notice), picture=picture)


def _script() -> str:
    return (_FOLDER / "player.js").read_text(encoding="utf-8")


def script_hash() -> str:
    """Return the hash by which a policy allows the player's script."""
    return _hash(_script())


def _page(scene: Scene, content: Template, scripts: str = "", **parts: str) -> str:
    title, value = escape(scene.title), escape(str(scene.units[-1].data))
    style = (_FOLDER / "player.css").read_text(encoding="utf-8") + DARK
    policy = (
        f"default-src 'none'; {scripts}style-src '{_hash(style)}'; base-uri 'none'; "
        "form-action 'none'"
    )
    body = content.substitute(parts, title=title, value=value)
    return _PAGE.substitute(policy=policy, title=title, style=style, body=body)


def _inert(play: dict[str, Any]) -> str:
    """Write JSON that cannot be taken for markup."""
    text = json.dumps(play, separators=(",", ":"))
    return text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")


def _hash(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
