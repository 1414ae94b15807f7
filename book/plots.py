"""`{plot}`: a function and its derivative, drawn when the site is built.

    ```{plot}
    tanh(x) from -4 to 4
    ```

The expression is one of the command line's, in `x`; both curves are minigrad's own numbers: values,
and gradients after `backward()`. Where there is none, at a pole or outside the domain, the curve
has a gap.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from html import escape
from typing import Any

from docutils import nodes
from sphinx.util.docutils import SphinxDirective

from minigrad import Value
from minigrad.core.names import brief
from minigrad.errors import ExpressionError
from minigrad.expressions import evaluate, parse

WIDTH, HEIGHT, MARGIN, COUNT = 300.0, 170.0, 24.0, 241
WORDS = {"en": ("value", "derivative"), "es": ("valor", "derivada")}
_TEXT = re.compile(r"(.+?)\s+from\s+(\S+)\s+to\s+(\S+)")
_Point = tuple[float, float]


def curves(expression: str, low: float, high: float) -> tuple[list[_Point], list[_Point]]:
    """Return the points of a function and of its derivative, the finite ones."""
    program = parse(expression)
    values, slopes = [], []
    for k in range(COUNT):
        x = Value(low + (high - low) * k / (COUNT - 1))
        y = evaluate(program, {"x": x})
        if not isinstance(y, Value):
            raise ExpressionError(f"{expression} has no x in it; there is nothing to plot.")
        y.backward()
        values.append((x.data, y.data))
        slopes.append((x.data, x.grad))
    return values, slopes


def frame(curves: Sequence[Sequence[_Point]]) -> tuple[float, float]:
    """Return from where to where the picture goes; a pole does not make the rest invisible."""
    ys = sorted(y for curve in curves for _, y in curve if math.isfinite(y))
    if not ys:
        raise ExpressionError("there is no finite number in this plot; choose another interval.")
    low, high = ys[len(ys) // 25], ys[-1 - len(ys) // 25]
    low, high = min(low, 0.0), max(high, 0.0)
    room = 0.12 * (high - low) or 1.0
    return low - room, high + room


def path(points: Sequence[_Point], low: float, high: float, bottom: float, top: float) -> str:
    """Return a curve in the picture; what is not finite, or far outside, is a gap."""
    parts, pen = [], "M"
    for x, y in points:
        if not math.isfinite(y) or not bottom - 3 * (top - bottom) < y < top + 3 * (top - bottom):
            pen = "M"
            continue
        across = (x - low) / (high - low) * WIDTH
        parts.append(f"{pen}{across:.1f} {(top - y) / (top - bottom) * HEIGHT:.1f}")
        pen = "L"
    return "".join(parts)


def svg(expression: str, low: float, high: float, lang: str = "en") -> str:
    """Draw the plot."""
    if not (math.isfinite(low) and math.isfinite(high) and low < high):
        raise ExpressionError(f"from {low:g} to {high:g}: write the smaller number first.")
    drawn = curves(expression, low, high)
    bottom, top = frame(drawn)
    value, slope = (path(each, low, high, bottom, top) for each in drawn)
    zero = top / (top - bottom) * HEIGHT
    upright = "" if not low < 0 < high else f"M{-low / (high - low) * WIDTH:.1f} 0V{HEIGHT:g}"
    words = WORDS[lang]
    texts = [
        (0.0, HEIGHT + 14, "start", brief(low)),
        (WIDTH, HEIGHT + 14, "end", brief(high)),
    ]
    marks = "".join(
        f'<text class="mg-tick" x="{x:g}" y="{y:g}" text-anchor="{anchor}">{escape(text)}</text>'
        for x, y, anchor, text in texts
    )
    legend = (
        f'<text class="mg-tick" x="{WIDTH / 2:g}" y="{HEIGHT + 14:g}" text-anchor="middle">'
        f'<tspan class="mg-value-key">— {escape(expression)}</tspan>  '
        f'<tspan class="mg-slope-key">┄ {words[1]}</tspan></text>'
    )
    inside = f'<path class="mg-axis" d="M0 {zero:.1f}H{WIDTH:g}{upright}"/>'
    inside += f'<path class="mg-value" d="{value}"/><path class="mg-slope" d="{slope}"/>'
    label = escape(f"{expression}: {words[0]}, {words[1]}", quote=True)
    return (
        f'<svg class="mg-plot" xmlns="http://www.w3.org/2000/svg" role="img" aria-label="{label}" '
        f'viewBox="-2 -2 {WIDTH + 4:g} {HEIGHT + MARGIN:g}" width="{WIDTH + 4:g}">'
        # An svg inside another is cut off at its rim, without any id to refer to.
        f'<svg width="{WIDTH:g}" height="{HEIGHT:g}">{inside}</svg>'
        f'<text class="mg-tick" x="4" y="12">{top:.2g}</text>'
        f'<text class="mg-tick" x="4" y="{HEIGHT - 4:g}">{bottom:.2g}</text>'
        f"{marks}{legend}</svg>"
    )


class Plot(SphinxDirective):
    """The directive; see the head of this module."""

    has_content = True

    def run(self) -> list[nodes.Node]:
        """Draw it."""
        try:
            found = _TEXT.fullmatch(" ".join(self.content).strip())
            if not found:
                raise ExpressionError("write “expression from 0 to 1”.")
            made = svg(found[1], float(found[2]), float(found[3]), self.config.language)
        except (ExpressionError, ValueError) as error:
            raise self.error(f"{{plot}}: {error}") from error
        return [nodes.raw("", f'<figure class="mg-figure">{made}</figure>', format="html")]


def setup(app: Any) -> dict[str, Any]:
    """Tell Sphinx."""
    app.add_directive("plot", Plot)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
