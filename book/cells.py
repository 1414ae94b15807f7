"""`{try}`: a program that runs in the page, by the playground's worker, when somebody says Run.

    ```{try}
    >>> from minigrad import Value
    >>> a = Value(3.0); b = a + a; b.backward(); a.grad
    2.0
    ```

Each is a program by itself, with its imports: the tests run it in an empty namespace, and compare
what a session prints. Without prompts it is a program as in a file. Where the playground was not
built, it is a code block with a sentence; so it is without scripts. There is no NumPy in a browser,
hence no `minigrad.compile`.
"""

from __future__ import annotations

import doctest
from html import escape
from typing import Any

from docutils import nodes
from sphinx.util.docutils import SphinxDirective

WORDS = {
    "en": {
        "plain": "To run it, paste it into a Python with minigrad.",
        "run": "Run",
        "check": "Check",
        "stop": "Stop",
        "again": "As it was",
        "program": "A program to change and run",
        "loading": "Python is loading, once, some 10 MB …",
        "running": "running …",
        "line": "line",
        "died": "That Python died; the next Run starts another.",
        "too long": "Stopped after {seconds} seconds.",
        "stopped": "Stopped.",
        "broken": "Python did not start.",
        "nothing": "It ran, and printed nothing.",
    },
    "es": {
        "plain": "Para ejecutarlo, pégalo en un Python con minigrad.",
        "run": "Ejecutar",
        "check": "Comprobar",
        "stop": "Detener",
        "again": "Como estaba",
        "program": "Un programa para cambiar y ejecutar",
        "loading": "Python se está cargando, una sola vez, unos 10 MB …",
        "running": "ejecutando …",
        "line": "línea",
        "died": "Ese Python ha muerto; el próximo Ejecutar arranca otro.",
        "too long": "Detenido después de {seconds} segundos.",
        "stopped": "Detenido.",
        "broken": "Python no ha arrancado.",
        "nothing": "Se ha ejecutado y no ha escrito nada.",
    },
}


def program_of(text: str) -> str:
    """Return the program of a session: its lines without prompts and what they print."""
    if not text.lstrip().startswith(">>>"):
        return text.strip() + "\n"
    examples = doctest.DocTestParser().get_examples(text)
    return "".join(example.source for example in examples)


def language_of(text: str) -> str:
    """Return how a code block of it is highlighted."""
    return "pycon" if text.lstrip().startswith(">>>") else "python"


class Cell(nodes.General, nodes.Element):
    """A code block that can become an editor."""


class Try(SphinxDirective):
    """The directive; see the head of this module."""

    has_content = True

    def run(self) -> list[nodes.Node]:
        """Make the cell: a code block, which stays where nothing runs."""
        text = "\n".join(self.content)
        if not text.strip():
            raise self.error("{try}: write a program into it.")
        block = nodes.literal_block(text, text, language=language_of(text))
        self.set_source_info(block)
        return [Cell("", block, program=program_of(text))]


def visit(self: Any, node: Cell) -> None:
    """Open the element; the script reads the program from its attribute."""
    has_engine = int(self.config.minigrad_has_engine)
    kind = "minigrad-cell" if has_engine else "div"
    program = escape(node["program"], quote=True)
    chapter = f' data-chapter="{escape(node["chapter"])}"' if "chapter" in node else ""
    self.body.append(f'<{kind} class="mg-try"{chapter} data-program="{program}">')


def depart(self: Any, node: Cell) -> None:
    """Close it, with the sentence for those who cannot run it here."""
    has_engine = int(self.config.minigrad_has_engine)
    said = escape(WORDS[self.config.language]["plain"])
    self.body.append(f'<p class="mg-plain">{said}</p>')
    self.body.append("</minigrad-cell>" if has_engine else "</div>")


def tell(app: Any, name: str, template: str, context: dict[str, Any], tree: Any) -> None:
    """Let templates know whether there is an engine: then there is the playground, too."""
    context["has_engine"] = bool(int(app.config.minigrad_has_engine))


def setup(app: Any) -> dict[str, Any]:
    """Tell Sphinx."""
    app.add_node(Cell, html=(visit, depart))
    app.add_directive("try", Try)
    app.add_config_value("minigrad_has_engine", False, "env")
    app.add_config_value("minigrad_code", "", "env")  # another one, and every page is made anew
    app.connect("html-page-context", tell)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
