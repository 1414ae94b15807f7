"""docs/reliability.md, from the figures of a campaign: `python docs/generate.py` writes it."""

from __future__ import annotations

from typing import Any

ENGINES = {
    "native": "native",
    "pure": "pure",
    "torch": "PyTorch",
    "jax": "JAX",
    "micrograd": "micrograd",
}

HEAD = """# Reliability

What minigrad promises, how often each promise was tried, and how often it was broken. All figures
come from one run of a command, made into this page by `python docs/generate.py`:

```sh
python -m bench.campaign --json docs/reliability.json
```

It takes hours and may be stopped at any time: the same command goes on where it was. `--share 0.01`
tries a hundredth, which takes minutes. Expected results come from exact fractions, from mpmath with
60 digits and from what a promise says, never from minigrad itself. PyTorch, JAX and micrograd are
asked the same questions where they can be asked; a dash says that a question makes no sense there.

On your own machine, ten seconds of the same checks end with what a bug report needs to say:

```sh
minigrad selftest
```

"""

NOTES = """
What the others do differently is mostly by design, and shows what a promise is worth:

- *a second pass*: micrograd keeps the gradients of interior nodes between passes, so that a second
  `backward()` over the same graph counts them again.
- *graphs against 60 digits*, *operations*: PyTorch and JAX compute some slopes by formulas that
  cancel or overflow, such as the second derivative of tanh near 0. JAX, as XLA compiles it, also
  takes numbers below 2.2e-308 for 0.
- *memory*: micrograd's nodes refer to themselves in a circle and wait for the garbage collector,
  which is off in this test.
- *readers*, *interrupts*: micrograd adds to `.grad` as it goes, so that a reader sees half of a
  sum, and a pass that was interrupted leaves one behind.
- *forks*: PyTorch's child may wait for ever for a thread that is not there.
"""

ULPS = """
## Every operation

The largest error found, in ulps over the condition number of what is asked (the error that is
unavoidable because arguments are rounded), at points of all sizes from the smallest float to the
largest, where functions bend, at ties and near the edges of domains. *inf* stands for a result that
is infinite or nan where the true one is not, or the other way round.

"""


def page(figures: dict[str, Any]) -> str:
    """Return the page."""
    rows = {(row["section"], row["engine"]): row for row in figures["rows"]}
    names = [name for name in ENGINES if any(engine == name for _, engine in rows)]
    return HEAD + _promises(figures, rows, names) + NOTES + ULPS + _ulps(rows, names)


def _promises(figures: dict[str, Any], rows: dict[tuple[str, str], Any], names: list[str]) -> str:
    facts = figures["facts"]
    versions = ", ".join(
        f"{name} {facts[name]}" for name in ("Python", *_PACKAGES) if name in facts
    )
    share = "" if figures["share"] == 1.0 else f" {figures['share']:g} of all cases."
    head = " | ".join(ENGINES[name] for name in names)
    lines = [
        f"Run of {figures['date']} on {facts['CPU']}: {versions}.{share} Failed of all cases:\n",
        f"| promise | {head} |",
        "|---" * (len(names) + 1) + "|",
    ]
    for section, promise in figures["promises"].items():
        cells = [_failed(rows.get((section, name))) for name in names]
        lines.append(f"| **{section}**: {promise} | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


_PACKAGES = ("numpy", "torch", "jax", "micrograd")


def _failed(row: dict[str, Any] | None) -> str:
    return "–" if row is None else f"{row['failed']:,} of {row['cases']:,}"


def _ulps(rows: dict[tuple[str, str], Any], names: list[str]) -> str:
    found = {
        name: rows[("operations", name)]["figures"]
        for name in names
        if ("operations", name) in rows
    }
    operations = dict.fromkeys(figure.partition(",")[0] for figure in found["native"])
    levels = ("value", "first", "second")
    head = " | ".join(f"{ENGINES[name]}: {level}" for name in found for level in levels)
    lines = [f"| operation | {head} |", "|---" * (len(found) * len(levels) + 1) + "|"]
    for operation in operations:
        cells = [
            _short(found[name].get(f"{operation}, {level}")) for name in found for level in levels
        ]
        lines.append(f"| {operation} | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def _short(ulps: float | str | None) -> str:
    return "–" if ulps is None else f"{float(ulps):.2g}"
