"""The tables of docs/scaling.md, from the figures that bench/gpu.py has written.

`filled` puts each between its marks, `<!-- gpu: NAME -->` and `<!-- end -->`. JAX is not needed.
"""

from __future__ import annotations

from typing import Any

OURS, JAX, TORCH = "minigrad", "JAX by hand", "PyTorch"
Row = dict[str, Any]


def tables(figures: dict[str, Any]) -> dict[str, str]:
    """Return the tables by section, each with the card, the date and the versions under it."""
    found = {}
    for name, make in TABLES.items():
        if name in figures:
            section = figures[name]
            versions = ", ".join(f"{what} {number}" for what, number in section["versions"].items())
            small = "; small sizes, a trial" if section["small"] else ""
            found[name] = (
                f"{make(section['rows'])}\n\n{absent(section['rows'])}*{section['card']}, "
                f"{section['date']}; {versions}{small}. `python bench/gpu.py {name}`*"
            )
    return found


def absent(rows: dict[str, Row]) -> str:
    """Say what was not timed, and why."""
    lines = [
        f"- Not timed: {who}, {row['label']}: {why}.\n"
        for row in rows.values()
        for who, why in row.get("failed", {}).items()
    ]
    return "".join(lines) + "\n" * bool(lines)


def filled(page: str, figures: dict[str, Any]) -> str:
    """Return the page with the tables between their marks."""
    found = tables(figures)
    for name in TABLES:
        text = found.get(name, f"Not measured yet: `python bench/gpu.py {name}`.")
        head, mark, rest = page.partition(f"<!-- gpu: {name} -->\n")
        if mark:
            page = f"{head}{mark}{text}\n<!-- end -->{rest.partition('<!-- end -->')[2]}"
    return page


def best(row: Row, who: str) -> float | None:
    """The seconds of the fastest of somebody's ways."""
    return min((s for name, s in row["seconds"].items() if name.startswith(who)), default=None)


def ratio(row: Row, who: str = JAX) -> float | None:
    """Ours over the fastest of somebody's ways."""
    other, ours = best(row, who), row["seconds"].get(OURS)
    return ours / other if ours and other else None


def table(head: list[str], rows: list[list[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(cells) + " |" for cells in lines)


def shown(x: float | None, form: str = ".2f") -> str:
    return "–" if x is None else format(x, form)


def micro(seconds: float | None) -> str:
    """Microseconds, to three digits at least."""
    return shown(seconds and seconds * 1e6, ",.0f" if seconds and seconds > 1e-4 else ",.1f")


def black_scholes(rows: dict[str, Row]) -> str:
    head = ["what", "by", "ns a point", "TB/s", "ours / this", "kernels", "error"]
    lines = []
    for row in rows.values():
        mine = row["seconds"].get(OURS)
        for name, seconds in row["seconds"].items():
            share = mine / seconds if mine else None
            kernels = row["facts"][name].get("kernels")
            figures = [
                f"{seconds / row['points'] * 1e9:.4f}",
                f"{row['bytes'] / seconds / 1e12:.2f}",
            ]
            figures += [shown(share), shown(kernels, "d"), f"{row['error'][name]:.0e}"]
            lines.append([row["label"], f"**{name}**" if name == OURS else name, *figures])
    return table(head, lines)


HANDS = {f"{JAX}, indices": "by hand, indices", f"{JAX}, one-hot": "one-hot"}


def steps(row: Row) -> list[str]:
    """Ours, the two ways by hand, and the ratio to the faster."""
    return [
        *(micro(row["seconds"].get(name)) for name in (OURS, *HANDS)),
        f"**{shown(ratio(row))}**",
    ]


def gpt(rows: dict[str, Row]) -> str:
    head = ["model", "B", "type", "minigrad, µs a step", *HANDS.values(), "ratio"]
    head += ["gradients apart", "compile, s", "by hand", "scatters"]
    lines = []
    for row in rows.values():
        facts = row["facts"].get(OURS, {})
        hand = [x["compile"] for name, x in row["facts"].items() if name in HANDS]
        line = [f"width {row['width']}, T = {row['T']}", f"{row['B']:,}", row["type"], *steps(row)]
        line += [shown(row.get("apart"), ".0e"), shown(facts.get("compile"), ".1f")]
        line += [shown(min(hand, default=None), ".1f"), shown(facts.get("scatters"), "d")]
        lines.append(line)
    return table(head, lines)


def mlp(rows: dict[str, Row]) -> str:
    names = list(dict.fromkeys(name for row in rows.values() for name in row["seconds"]))
    head = ["batch", *(f"{name}, µs" for name in names), "ours / JAX", "ours / fastest PyTorch"]
    lines = [
        [
            f"{row['B']:,}",
            *(micro(row["seconds"].get(name)) for name in names),
            f"**{shown(ratio(row))}**",
            f"**{shown(ratio(row, TORCH))}**",
        ]
        for row in rows.values()
    ]
    return table(head, lines)


def cpu(rows: dict[str, Row]) -> str:
    timed = [row for row in rows.values() if "probe" not in row]
    lines = [[f"T = {row['T']}, B = {row['B']:,}", *steps(row)] for row in timed]
    head = ["step, float64, one thread", "minigrad, µs", *HANDS.values(), "ratio"]
    first, lines = table(head, lines), []
    for row in rows.values():
        if found := row.get("probe"):
            times = [f"{found[part]:.2f}" for part in ("trace", "compile", "both")]
            end = found["said"].partition(", and ")[0] or "a compiled function"
            lines.append([row["label"], *times, end])
    second = table(["fresh process", "trace, CPU s", "compile", "both", "ends with"], lines)
    return f"{first}\n\n{second}"


TABLES = {"black-scholes": black_scholes, "gpt": gpt, "mlp": mlp, "cpu": cpu}
