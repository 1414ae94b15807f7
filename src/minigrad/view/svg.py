"""A scene as SVG, drawn by ourselves: no `dot` binary, no network, the same bytes everywhere.

Light colours are plain attributes, so that any program can draw the picture and paper stays white;
a screen with a dark scheme has them replaced by the style at the top. Data is blue and gradients
are orange, a pair that colour-blind eyes tell apart, and each is named besides. Nothing in the file
has an id: two pictures on one page cannot get into each other's way.

Start at `svg_of`; `_Box` knows how large a unit is.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from functools import lru_cache
from html import escape
from typing import Any, NamedTuple

from ..core.names import plural, readable, short, width_of
from .layout import Layers, Layout, Point, in_layers, layout
from .layout.placing import PORT_GAP
from .layout.rows import FEW, MANY
from .scene import Scene, Unit

COLUMN = 7.3  # the width of a character of 12 px
PADDING = 8.0
HEIGHT = 26.0  # of an operation and of a row of cells
STALK = 12.0  # from the operation to its value
HEAD = 7.0  # an arrow's head
WRAP = 1_600.0  # px; a picture that is longer goes on in another row, like a text

FONT = "ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace"
INK, EDGE, PAPER = "#1b1f24", "#5b6573", "#ffffff"
LEAF, RESULT, OPERATION, RIM = "#e8f1fa", "#ffffff", "#fdf1dc", "#8a5a00"
DATA, GRAD = "#00558a", "#a34100"
FOLD, FRAME, FOLD_RIM = "#e9ebfb", "#f8f8fe", "#4a55a8"
HEADING = 24.0  # of a frame: its name
LINE = 18.0  # of the texts in a closed box
_CENTRED = 'text-anchor="middle" dominant-baseline="central"'

DARK = """@media screen and (prefers-color-scheme: dark) {
.mg-paper { fill: #14181d } .mg-text { fill: #e6eaef } .mg-edge { stroke: #97a3b2 }
.mg-head { fill: #97a3b2 } .mg-box { fill: #1c222a; stroke: #97a3b2 } .mg-leaf { fill: #1d2c3a }
.mg-cell { stroke: #97a3b2 } .mg-op { fill: #3a2e17; stroke: #d9a441 }
.mg-data { fill: #86c9f4 } .mg-grad { fill: #ffb27a }
}"""

DARK_FOLD = """@media screen and (prefers-color-scheme: dark) {
.mg-fold { fill: #23283a; stroke: #a9b4f0 } .mg-frame { fill: #181c26; stroke: #a9b4f0 }
.mg-port { fill: none; stroke: #97a3b2 }
}"""


_Pairs = tuple[tuple[float, float], ...]  # width and height of each box
_Edges = tuple[tuple[int, int], ...]


class _Cell(NamedTuple):
    kind: str
    text: str
    columns: int


class _Box:
    """The size of a unit, and where things are in it, for one direction."""

    def __init__(
        self, unit: Unit, operands: int, is_flat: bool, widths: tuple[int, int] = (0, 0)
    ) -> None:
        self.unit, self.is_flat = unit, is_flat
        label = short(unit.label)  # the rest of it is in the tooltip
        if unit.many_values:
            label = f"{label} {unit.many_values}".lstrip()
        if unit.note:
            label = f"{label} · {unit.note}".lstrip(" ·")
        texts = {"text": label, "data": f"data {unit.data}", "grad": f"grad {unit.grad}"}
        self.cells = [
            _Cell(kind, text, max(width_of(text), least))
            for (kind, text), least in zip(texts.items(), (0, *widths), strict=True)
            if text
        ]
        across = [cell.columns * COLUMN + 2 * PADDING for cell in self.cells]
        if is_flat:
            height = max(HEIGHT, PORT_GAP * (operands - 1) + 18) if not unit.op else HEIGHT
            self.cell_sizes = [(width, height) for width in across]
            self.box = (sum(across), height)
        else:
            self.cell_sizes = [(max(across), HEIGHT - 4)] * len(across)
            self.box = (max(across), (HEIGHT - 4) * len(across))
        many = f" {unit.many_operations}".rstrip()
        self.op = short(unit.op) + many + (" …" if unit.hidden else "")
        self.op_size = (0.0, 0.0)
        if self.op:
            along = max(HEIGHT, PORT_GAP * (operands - 1) + 18)
            wide = max(HEIGHT, width_of(self.op) * COLUMN + 12)
            self.op_size = (wide, along) if is_flat else (max(wide, along), HEIGHT)

    @property
    def size(self) -> tuple[float, float]:
        """The whole, operation and value."""
        (w, h), (ow, oh) = self.box, self.op_size
        stalk = STALK if self.op else 0.0
        return (w + ow + stalk, max(h, oh)) if self.is_flat else (max(w, ow), h + oh + stalk)

    def draw(self) -> list[str]:
        """Draw the unit at the origin."""
        width, height = self.size
        (w, h), (ow, oh) = self.box, self.op_size
        parts = []
        if self.is_flat:
            x, y = width - w, (height - h) / 2
            op_at, line = (0.0, (height - oh) / 2), f"M{_n(ow)} {_n(height / 2)}h{_n(STALK)}"
        else:
            x, y = (width - w) / 2, height - h
            op_at, line = ((width - ow) / 2, 0.0), f"M{_n(width / 2)} {_n(oh)}v{_n(STALK)}"
        if self.op:
            round_ = _n(HEIGHT / 2)
            parts += [
                f'<path class="mg-edge" d="{line}"/>',
                f'<rect class="mg-op" x="{_n(op_at[0])}" y="{_n(op_at[1])}" width="{_n(ow)}" '
                f'height="{_n(oh)}" rx="{round_}" fill="{OPERATION}" stroke="{RIM}"/>',
                _text("text", op_at[0] + ow / 2, op_at[1] + oh / 2, self.op),
            ]
        classes, fill = ("mg-box mg-leaf", LEAF) if self.unit.is_leaf else ("mg-box", RESULT)
        parts.append(
            f'<rect class="{classes}" x="{_n(x)}" y="{_n(y)}" width="{_n(w)}" height="{_n(h)}" '
            f'rx="3" fill="{fill}" stroke="{EDGE}"/>'
        )
        for k, (cell, (cw, ch)) in enumerate(zip(self.cells, self.cell_sizes, strict=True)):
            if k:
                side = f"v{_n(ch)}" if self.is_flat else f"h{_n(cw)}"
                parts.append(f'<path class="mg-cell" d="M{_n(x)} {_n(y)}{side}"/>')
            parts.append(_text(cell.kind, x + cw / 2, y + ch / 2, cell.text))
            x, y = (x + cw, y) if self.is_flat else (x, y + ch)
        return parts


class _Port:
    """Something from outside, inside an open box: its name."""

    def __init__(self, unit: Unit) -> None:
        self.unit, self.is_flat = unit, True
        self.text = short(f"{unit.label} · {unit.note}" if unit.note else unit.label)
        self.size = (max(24.0, width_of(self.text) * COLUMN + 14), 20.0)

    def draw(self) -> list[str]:
        """Draw it at the origin."""
        width, height = self.size
        rect = _rect("mg-port", 0, 0, width, height, 10, "none", EDGE)
        return [rect, _text("text", width / 2, height / 2, self.text)]


class _Closed:
    """A box that stands for a part of the graph: its name, how much is in it, its result."""

    def __init__(self, unit: Unit, operands: int, widths: tuple[int, int] = (0, 0)) -> None:
        self.unit, self.is_flat = unit, True
        title = f"▸ {short(unit.label)} {unit.many}".rstrip()
        texts = {"text": title, "note": unit.note}
        texts |= {"data": f"data {unit.data}", "grad": f"grad {unit.grad}"}
        self.texts = texts
        width = max(*map(width_of, texts.values()), *widths) * COLUMN + 2 * PADDING
        self.size = (width, max(LINE * len(texts) + 8, PORT_GAP * (operands - 1) + 18))

    def draw(self) -> list[str]:
        """Draw it at the origin."""
        width, height = self.size
        parts = [_rect("mg-fold mg-box", 0, 0, width, height, 6, FOLD, FOLD_RIM)]
        y = (height - LINE * len(self.texts) + LINE) / 2
        for kind, text in self.texts.items():
            parts.append(_text(kind, width / 2, y, text))
            y += LINE
        return parts


class _Frame:
    """A box that is open: a frame around the drawing of what is in it."""

    def __init__(self, unit: Unit, rankdir: str) -> None:
        assert unit.inside is not None
        self.unit, self.is_flat = unit, rankdir != "TB"
        self.title = title_of(unit)
        self.drawing = _Drawing(unit.inside, rankdir)
        width = max(self.drawing.plan.width, width_of(self.title) * COLUMN + 2 * PADDING)
        self.size = (width, self.drawing.plan.height + HEADING)

    def draw(self) -> list[str]:
        """Draw it at the origin."""
        width, height = self.size
        return [
            _rect("mg-frame", 0, 0, width, height, 8, FRAME, FOLD_RIM),
            _text("text", PADDING + width_of(self.title) * COLUMN / 2, HEADING / 2 + 2, self.title),
            f'<g transform="translate({_n((width - self.drawing.plan.width) / 2)} {_n(HEADING)})">',
            *self.drawing.draw(is_live=False),
            "</g>",
        ]


class _Drawing:
    """A scene with the sizes and the places of its units."""

    def __init__(
        self,
        scene: Scene,
        rankdir: str,
        widths: Sequence[tuple[int, int]] = (),
    ) -> None:
        self.scene = scene
        operands = Counter(arrow.target for arrow in scene.arrows)
        self.boxes = [
            _box_of(unit, operands[k], rankdir, widths[k] if widths else (0, 0))
            for k, unit in enumerate(scene.units)
        ]
        edges = tuple([(arrow.source, arrow.target) for arrow in scene.arrows])
        sizes = tuple([box.size for box in self.boxes])
        # A player's window shows a part of it, and what takes part in a step is to be in sight.
        turns = FEW if widths else MANY
        self.plan = _plan(sizes, edges, rankdir, turns)
        self.is_flat = rankdir != "TB"

    def draw(self, is_live: bool, is_level: bool = False) -> list[str]:
        """Draw everything, arrows first; a level says what `folded.js` has to know to move it."""
        return [
            *_arrows(self.scene, self.boxes, self.plan, is_live, self.is_flat, is_level),
            *_units(self.boxes, self.plan, is_live, is_level),
        ]


def title_of(unit: Unit) -> str:
    """Return what stands over an open box."""
    return " ".join(filter(None, ["▾", short(unit.label), unit.many, "·", unit.note]))


def level_of(scene: Scene, rankdir: str, widths: Sequence[tuple[int, int]] = ()) -> str:
    """Draw a scene for a page in which boxes can be opened; `widths` are those of `svg_of`."""
    drawing = _Drawing(scene, rankdir, widths)
    size = f"0 0 {_n(drawing.plan.width)} {_n(drawing.plan.height)}"
    parts = drawing.draw(is_live=False, is_level=True)
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="{size}" '
    head += f'font-family="{FONT}"><g class="mg-level">'
    return "\n".join([head, *parts, "</g></svg>"])


# While somebody moves the inputs of an expression, its edges stay, and mostly the sizes as well:
# what was worked out for the last few is kept.


@lru_cache(maxsize=8)
def _plan(sizes: _Pairs, edges: _Edges, rankdir: str, turns: int) -> Layout:
    return layout(sizes, edges, rankdir, _layers(len(sizes), edges), WRAP, turns)


@lru_cache(maxsize=8)
def _layers(boxes: int, edges: _Edges) -> Layers:
    return in_layers(boxes, edges)


def _box_of(unit: Unit, operands: int, rankdir: str, widths: tuple[int, int]) -> Any:
    if unit.is_port:
        return _Port(unit)
    if unit.inside is not None:
        return _Frame(unit, rankdir)
    if unit.box:
        return _Closed(unit, operands, widths)
    return _Box(unit, operands, rankdir != "TB", widths)


def svg_of(
    scene: Scene,
    rankdir: str = "LR",
    *,
    is_live: bool = False,
    has_style: bool = True,
    widths: Sequence[tuple[int, int]] = (),
) -> str:
    """Draw the scene from left to right (LR) or from top to bottom (TB).

    `is_live` numbers units and arrows for the player and lets the keyboard reach them; `widths` has
    the columns that data and grad of each unit will need later. Without `has_style` the page around
    the picture has to hold `DARK`.
    """
    drawing = _Drawing(scene, rankdir, widths)
    width, height, notice = drawing.plan.width, drawing.plan.height, []
    if scene.notice:
        text = readable(scene.notice)
        width = max(width, width_of(text) * COLUMN + 2 * PADDING)
        height += 22
        line = _text("text", PADDING, height - 12, text)
        notice = ['<g dominant-baseline="central">', line, "</g>"]
    has_boxes = any(unit.box for unit in scene.units)
    size = f'width="{_n(width)}" height="{_n(height)}"'
    role = "group" if is_live else "img"  # what is inside an img is not read out
    parts = [
        '<svg xmlns="http://www.w3.org/2000/svg" class="mg" '
        f'viewBox="0 0 {_n(width)} {_n(height)}" {size} role="{role}" '
        f'font-family="{FONT}" font-size="12">',
        f"<title>{escape(scene.title)}</title>",
        f"<desc>{escape(scene.description())}</desc>",
        *([f"<style>{DARK}{DARK_FOLD * has_boxes}</style>"] if has_style else []),
        f'<rect class="mg-paper" {size} fill="{PAPER}"/>',
        *drawing.draw(is_live),
        *notice,
        "</svg>\n",
    ]
    return "\n".join(parts)


def size_of(svg: str) -> tuple[float, float]:
    """Return the width and the height of a drawing of ours."""
    found = re.search(r'viewBox="0 0 ([\d.]+) ([\d.]+)"', svg)
    assert found is not None
    return float(found[1]), float(found[2])


def _arrows(
    scene: Scene, boxes: list[Any], plan: Layout, is_live: bool, is_flat: bool, is_level: bool
) -> list[str]:
    parts = [f'<g fill="none" stroke="{EDGE}" stroke-width="1.2">']
    digits = []
    for k, (arrow, route) in enumerate(zip(scene.arrows, plan.routes, strict=True)):
        x, y = route[-1]
        end, *sides = (
            Point(x - HEAD, y + side) if is_flat else Point(x + side, y - HEAD)
            for side in (0, -HEAD / 2, HEAD / 2)
        )
        start, *rest = (f"{_n(p.x)} {_n(p.y)}" for p in (*route[:-1], end))
        corners = " ".join(f"{_n(p.x)},{_n(p.y)}" for p in (route[-1], *sides))
        number = f' data-arrow="{k}"' if is_live else ""
        if is_level:
            number = f' data-ends="{arrow.source} {arrow.target}"'
        parts.append(
            f'<g class="mg-arrow"{number}><path class="mg-edge" d="M{start}C{" ".join(rest)}"/>'
            f'<polygon class="mg-head" points="{corners}" fill="{EDGE}" stroke="none"/></g>'
        )
        if scene.units[arrow.target].is_ordered:
            corner, size = plan.corners[arrow.target], boxes[arrow.target].size
            middle = Point(corner.x + size[0] / 2, corner.y + size[1] / 2)
            tip = f' data-tip="{k}"' if is_level else ""
            digits.append(_digit(str(arrow.position + 1), route[-1], middle, is_flat, tip))
    return [*parts, "</g>", *digits]


def _digit(number: str, tip: Point, middle: Point, is_flat: bool, attribute: str) -> str:
    """Tell which operand an arrow brings, where it matters: a - b is not b - a."""
    if is_flat:
        x, y = tip.x - 12, tip.y + (8 if tip.y > middle.y else -8)
    else:
        x, y = tip.x + (10 if tip.x > middle.x else -10), tip.y - 8
    return (
        f'<text class="mg-text"{attribute} x="{_n(x)}" y="{_n(y)}" font-size="9" fill="{INK}" '
        f"{_CENTRED}>"
        f"{number}</text>"
    )


def _units(boxes: list[Any], plan: Layout, is_live: bool, is_level: bool) -> list[str]:
    parts = [f'<g stroke="{EDGE}" stroke-width="1" {_CENTRED}>']
    for k, (box, corner) in enumerate(zip(boxes, plan.corners, strict=True)):
        live = f' data-unit="{k}" tabindex="0" role="img"' if is_live else ""
        if box.unit.box:
            live = f' data-box="{escape(box.unit.box)}"'
        if is_level:
            live += f' data-size="{_n(box.size[0])} {_n(box.size[1])}"'
            if box.unit.box:
                live += f' data-title="{escape(title_of(box.unit))}"'
        parts.append(
            f'<g class="mg-unit"{live} transform="translate({_n(corner.x)} {_n(corner.y)})">'
        )
        if not is_live:  # there the name changes from frame to frame
            parts.append(f"<title>{escape(_describe(box.unit))}</title>")
        parts += [*box.draw(), "</g>"]
    return [*parts, "</g>"]


def _describe(unit: Unit) -> str:
    name = readable(unit.label) or ("number" if unit.is_leaf else "result")
    made = f" = {readable(unit.op)}" if unit.op else ""
    many = f", {unit.many[1:]} of them" if unit.many else ""
    many += f", {unit.note}" if unit.note else ""
    hidden = f", {plural(unit.hidden, 'operand')} not drawn" if unit.hidden else ""
    return f"{name}{made}, data {unit.data}, grad {unit.grad}{many}{hidden}"


def _rect(
    kind: str, x: float, y: float, width: float, height: float, rx: float, fill: str, stroke: str
) -> str:
    return (
        f'<rect class="{kind}" x="{_n(x)}" y="{_n(y)}" width="{_n(width)}" height="{_n(height)}" '
        f'rx="{_n(rx)}" fill="{fill}" stroke="{stroke}"/>'
    )


def _text(kind: str, x: float, y: float, text: str) -> str:
    fill = {"data": DATA, "grad": GRAD}.get(kind, INK)
    kind = "text" if kind == "note" else kind
    extra = ' xml:space="preserve"' if "  " in text or text != text.strip() else ""
    if kind == "text" and not text.isascii():  # no font has all scripts, some are wider than ours
        length = _n(width_of(text) * COLUMN)
        extra += f' textLength="{length}" lengthAdjust="spacingAndGlyphs"'
    return (
        f'<text class="mg-{kind}" x="{_n(x)}" y="{_n(y)}" fill="{fill}" stroke="none"{extra}>'
        f"{escape(text)}</text>"
    )


@lru_cache(maxsize=4_096)  # half of all coordinates are the same few
def _n(x: float) -> str:
    """Print a coordinate: two decimals at most, and no more than needed."""
    return f"{x:.2f}".rstrip("0").rstrip(".")
