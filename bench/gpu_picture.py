"""The figure of the README, from the figures that bench/gpu.py has written: bars, as SVG."""

from __future__ import annotations

from typing import Any

from minigrad.view.svg import DARK, DATA, EDGE, FONT, INK, PAPER

from .gpu_page import JAX, OURS, TORCH, Row, best

WIDTH, LEFT, LONGEST = 640, 110, 430  # of the picture, of the names, of the longest bar
LINE, GAP = 19, 14  # from bar to bar, and before a heading
TYPES = ("float32", "float64")


def picture(figures: dict[str, Any]) -> str:
    """Return groups of bars, each as long as its longest: the GPT, and Black-Scholes."""
    section = figures["gpt"]
    parts, y = [], 26.0
    for heading, row in _groups(figures):
        parts.append(_text(8, y, heading))
        times = [(who, best(row, who)) for who in (OURS, JAX, TORCH)]
        longest = max(seconds for _, seconds in times if seconds)
        for who, seconds in times:
            if seconds:
                y += LINE
                parts.append(_bar(y, who, seconds, seconds / longest))
        y += LINE + GAP
    versions, y = f"JAX {section['versions']['jax']}", y - GAP
    parts.append(_text(8, y + 4, f"{section['card']}, {section['date']}, {versions}"))
    height = y + 14
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="mg" viewBox="0 0 {WIDTH} {height:g}" '
        f'width="{WIDTH}" height="{height:g}" role="img" font-family="{FONT}" font-size="12">\n'
        "<title>Scalar code on a GPU, against JAX and PyTorch by hand</title>\n"
        f"<style>{DARK}</style>\n"
        f'<rect class="mg-paper" width="{WIDTH}" height="{height:g}" fill="{PAPER}"/>\n'
        + "".join(f"{part}\n" for part in parts)
        + "</svg>\n"
    )


def _groups(figures: dict[str, Any]) -> list[tuple[str, Row]]:
    """Of each kind and type the largest that was timed, with a heading."""
    found = []
    for kind in TYPES:
        rows = [
            row
            for row in figures["gpt"]["rows"].values()
            if row["type"] == kind and row["width"] == 16 and OURS in row["seconds"]
        ]
        if rows:
            row = max(rows, key=lambda row: (row["T"], row["B"]))
            what = f"loss and gradients of {row['B']:,} texts of {row['T']} tokens, {kind}"
            found.append((f"a GPT of single numbers: {what}", row))
    for kind in TYPES:
        for row in figures["black-scholes"]["rows"].values():
            if row["type"] == kind and OURS in row["seconds"]:
                what = f"Black-Scholes: {row['points']:,} prices with five derivatives each"
                found.append((f"{what}, {kind}", row))
    return found


def _bar(y: float, who: str, seconds: float, share: float) -> str:
    shade, style = (DATA, "mg-data") if who == OURS else (EDGE, "mg-head")
    length = share * LONGEST
    return (
        f"{_text(LEFT - 8, y, who, 'end')}"
        f'<rect class="{style}" x="{LEFT}" y="{y - 11:g}" width="{length:.1f}" height="13" '
        f'fill="{shade}"/>{_text(LEFT + length + 8, y, f"{seconds * 1e3:.2f} ms")}'
    )


def _text(x: float, y: float, text: str, anchor: str = "start") -> str:
    return (
        f'<text class="mg-text" x="{x:.1f}" y="{y:g}" fill="{INK}" text-anchor="{anchor}">'
        f"{text}</text>"
    )
