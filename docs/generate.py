"""Write what the documents show and nobody types: `python docs/generate.py`.

The reference of operations, docs/ops.md, comes from the op table, that of the API, docs/api/, from
the docstrings, docs/commands.md from the command line; the catalogue of faults, docs/faults.md,
from the doctor's rows, and what their patients fail (signatures.json beside the code);
docs/reliability.md from the figures of a campaign, which lie beside it; the tables of
docs/scaling.md, with a figure, from those of bench/gpu.py, and those of docs/performance_tables.md
from what bench/eager.py and bench/compiled.py have measured; figures within a text, README.md and
the start pages among them, from the same files (bench/prose.py); the drawings in docs/pictures from
minigrad itself. `--all` also makes the pictures that need matplotlib and a Chromium.
"""

from __future__ import annotations

import json
import os
import re
import runpy
import shutil
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT / "tests"))  # the lessons' graphs, which the tests draw too
sys.path.insert(0, str(ROOT))

import pictures  # noqa: E402

from bench import gpu_page, prose  # noqa: E402
from bench import performance_page as tables  # noqa: E402
from bench.campaign.page import page  # noqa: E402
from bench.campaign.sections import OURS  # noqa: E402
from bench.gpu_picture import picture  # noqa: E402
from book import api, commands, imports, operations  # noqa: E402
from minigrad import nn, plot, view  # noqa: E402
from minigrad.check.doctor import signatures  # noqa: E402
from minigrad.check.doctor.catalogue import CATALOGUE, Fault  # noqa: E402
from minigrad.check.doctor.probes import PROBES  # noqa: E402
from minigrad.scalar import Value  # noqa: E402

FAULTS_HEAD = """# The catalogue of faults

Made from the rows of `src/minigrad/check/doctor/catalogue/` by `python docs/generate.py`: {count}
things that go wrong in engines that people write. Each has a planted patient that the tests have
the doctor diagnose. *Smallest example* is the smallest of the doctor's probes that the patient
fails; *fails* says how many of those it can run it fails, so that one sees which tests a fault
survives.
"""


def catalogue() -> str:
    """Return the page of faults."""
    kinds = {
        "fault": "Faults: wrong numbers or crashes on a first `backward()`",
        "limit": "Limits: what goes wrong beyond that",
        "note": "Notes: matters of taste",
    }
    parts = [FAULTS_HEAD.format(count=len(CATALOGUE))]
    for kind, heading in kinds.items():
        parts.append(f"\n## {heading}\n")
        parts += [fault_entry(fault) for fault in CATALOGUE if fault.kind == kind]
    return "".join(parts)


def fault_entry(fault: Fault) -> str:
    """Return one fault as a short section."""
    scripts = {probe.name: probe.script for probe in PROBES}
    if fault.kind == "fault":
        ((_, signs),) = signatures.run_patients([(fault.code, "")], PROBES).items()
        failing = [name for name, sign in signs.items() if not sign.is_well]
        smallest = min(failing, key=lambda name: len(scripts[name].statements))
        few = ", ".join(failing[:5]) + (", …" if len(failing) > 5 else "")
        fails = f"{len(failing)} of {len(signs)} probes ({few}); passes the others"
    else:
        smallest, fails = fault.probe, f"the probe “{fault.probe}”"
    return (
        f"\n### {fault.name} (`{fault.code}`)\n\n{fault.sees} {fault.why}\n\n"
        f"- fix: {fault.fix}\n- smallest example: `{scripts[smallest].text()}`\n"
        f"- fails: {fails}\n"
    )


def figures(name: str) -> dict[str, Any]:
    """Return what a bench has measured."""
    found: dict[str, Any] = json.loads((ROOT / "docs" / name).read_text(encoding="utf-8"))
    return found


def reliability() -> str:
    """Return the page about the campaign."""
    return page(figures("reliability.json"))


def scaling() -> str:
    """Return the page about scaling, with its tables filled in."""
    text = (ROOT / "docs" / "scaling.md").read_text(encoding="utf-8")
    return gpu_page.filled(text, figures("gpu.json"))


def performance() -> str:
    """Return the page of all tables, filled in from the figures of the benches."""
    text = (ROOT / "docs" / "performance_tables.md").read_text(encoding="utf-8")
    return tables.filled(prose.filled(text, measured()), measured())


@cache
def measured() -> dict[str, Any]:
    """Return all that a figure in a text may be of: what both engines were
    tried on together."""
    found = {name: figures(f"{name}.json") for name in ("eager", "compiled", "reliability")}
    tried: dict[str, Any] = {}
    for row in found["reliability"]["rows"]:
        if row["engine"] in OURS:
            ours = tried.setdefault(row["section"], {"rows": {"minigrad": Counter()}})
            ours["rows"]["minigrad"].update(cases=row["cases"], failed=row["failed"])
    found["reliability"] = {**found["reliability"], "cases": tried}
    known = {"catalogue": {"rows": {"faults": {"count": len(CATALOGUE)}}}}
    return {**found, "doctor": {"cases": known}}


def texts() -> dict[Path, str]:
    """Return all documents that people write, with the figures that are in them written anew."""
    pages = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
    found = {}
    for path in pages:
        lang = "es" if path.name.endswith(".es.md") else "en"
        text = path.read_text(encoding="utf-8")
        filled = prose.filled(text, measured(), lang)
        found[path] = tables.with_summary(filled, measured()["compiled"])
    return found


_MADE = re.compile(r"<!-- (?:summary|eager|compiled|gpu).*?<!-- end -->", re.DOTALL)
_CODE = re.compile(r"^ *(`{3,}).*?^ *\1`* *$|`[^`\n]*`", re.DOTALL | re.MULTILINE)
_TYPED = re.compile(r"\d[\d.,]* ?(?:ns|µs|ms|s|GB|×(?! ?\d)|times as|veces)(?![\w-])")


def typed(text: str) -> list[str]:
    """Return what looks like a figure of a bench in a text, and was not written by this program."""
    return _TYPED.findall(_CODE.sub("", _MADE.sub("", prose.without_figures(text))))


def references() -> dict[str, str]:
    """Return the pages that are made from the package itself, by file name."""
    found = {
        "ops.md": operations.reference(),
        "commands.md": commands.reference(),
        "performance_tables.md": performance(),
    }
    return found | {f"api/{name}": text for name, text in api.pages().items()}


def drawings() -> dict[str, str]:
    """Return the drawings by file name."""
    found = {}
    for name, make in pictures.GRAPHS.items():
        root = make()
        found[f"{name}-before.svg"] = view.to_svg(root)
        root.backward()
        found[f"{name}.svg"] = view.to_svg(root)
    found["diamond-down.svg"] = view.to_svg(root, "TB")
    found["lecture.svg"] = view.to_svg(pictures.lecture())
    found["lecture-open.svg"] = view.to_svg(training(), open=["layer0.neuron2"])
    found["recurrent.svg"] = view.to_svg(pictures.recurrent())
    found["softmax.svg"] = view.to_svg(pictures.softmax_loss(), fold=True)
    found["points.svg"] = view.to_svg(pictures.many_points())
    found["imports.svg"] = imports.svg()
    found["gpu.svg"] = picture(figures("gpu.json"))
    return found


def training() -> Value:
    """The lecture's loss by minigrad.nn: its modules are scopes."""
    model = nn.MLP(3, [4, 4, 1], activation="tanh", output="tanh", seed=1)
    points = zip(pictures.POINTS, pictures.TARGETS, strict=True)
    total: Value = sum((model(x) - y) ** 2 for x, y in points)  # type: ignore[assignment]
    total.backward()
    return total


def photograph(folder: Path) -> None:
    """Take pictures of the player: at the step where the famous bug strikes, and over boxes."""
    from playwright.sync_api import sync_playwright

    path = os.environ.get("MINIGRAD_BROWSER") or shutil.which("chromium")
    with tempfile.TemporaryDirectory() as temporary, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])

        def page_of(width: int, height: int, root: Value | None = None, **options: Any) -> Any:
            page_path = Path(temporary, "play.html")
            view.to_html(
                pictures.diamond() if root is None else root, page_path, force=True, **options
            )
            size = {"width": width, "height": height}
            page = browser.new_page(viewport=size, color_scheme="light")
            page.goto(page_path.as_uri())
            page.wait_for_selector("main[data-ready=yes]")
            return page

        page = page_of(1000, 470, start=12)
        page.hover('[data-unit="0"]')
        page.screenshot(path=folder / "player.png")
        page_of(1000, 470, start=12, fault="overwrite").screenshot(
            path=folder / "player-broken.png"
        )
        page_of(660, 300, start=12, compact=True).screenshot(path=folder / "player-compact.png")
        page_of(390, 760, start=12, lang="es").screenshot(path=folder / "player-phone.png")
        page = page_of(1200, 560, training(), start="backward")
        for _ in range(5):
            page.keyboard.press("ArrowRight")
        page.screenshot(path=folder / "player-boxes.png")
        page_of(390, 760, training(), start=2).screenshot(path=folder / "player-boxes-phone.png")
        browser.close()


def plot_training(folder: Path) -> None:
    """Run the example of the two moons and draw what it did."""
    from matplotlib.figure import Figure

    run = runpy.run_path(str(ROOT / "examples" / "moons.py"))

    @contextmanager
    def axes(name: str) -> Iterator[Any]:
        # A Figure of its own, not one of pyplot's: it needs no screen and no closing.
        figure = Figure(figsize=(8.0, 4.8), layout="constrained")
        yield figure.add_subplot()
        figure.savefig(folder / name, dpi=150)

    with axes("boundary.png") as ax:
        plot.decision_boundary(run["model"], run["points"], run["labels"], ax=ax)
        ax.set_aspect("equal")  # half circles should look round
    with axes("loss.png") as ax:
        plot.loss_curve(run["losses"], accuracies=run["accuracies"], ax=ax)
    with axes("gradients.png") as ax:
        plot.gradient_histogram(run["model"], ax=ax)  # of the last step


def main() -> None:
    """Write everything."""
    here = Path(__file__).parent
    (here / "api").mkdir(exist_ok=True)
    for name, text in references().items():
        (here / name).write_text(text, encoding="utf-8")
    (here / "faults.md").write_text(catalogue(), encoding="utf-8")
    signatures.FILE.write_text(signatures.written(), encoding="utf-8")
    (here / "reliability.md").write_text(reliability(), encoding="utf-8")
    (here / "scaling.md").write_text(scaling(), encoding="utf-8")
    for path, text in texts().items():
        path.write_text(text, encoding="utf-8")
    folder = here / "pictures"
    folder.mkdir(exist_ok=True)
    for name, text in drawings().items():
        (folder / name).write_text(text, encoding="utf-8")
    if "--all" in sys.argv:
        photograph(folder)
        plot_training(folder)


if __name__ == "__main__":
    main()
