"""`{predict}` and `{exercise}`: what a reader does, with the answer or a hint folded away.

    :::{predict} After `b = a + a` and `b.backward()`, what is `a.grad`?
    2: there are two arrows from `a`, and each adds 1.
    :::

    :::{exercise} accumulate
    Let every operation add to the gradients of its operands.

    Hint: look for `=` where `+=` should be.
    :::

With colons, and not in a code fence, so that a code host shows the text as text. A question's body
is its answer. An exercise names the chapter for `minigrad lab check`, which the page shows;
a paragraph that begins with “Hint:” (“Pista:”) is folded, with all that follows it. Where there is
an engine, the learner's file is in the page as well, folded, and is graded there, or the page says
why it is not.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from docutils import nodes
from sphinx.util.docutils import SphinxDirective

from minigrad.lab.chapters import Chapter, find

from .cells import Cell

WORDS = {
    "en": {
        "predict": "Predict first",
        "answer": "The answer",
        "exercise": "Exercise",
        "hint": "A hint",
        "check": "When you are done:",
        "here": "Or do it here",
        "not here": "Not in the page: a browser has no NumPy, which the compiler needs.",
    },
    "es": {
        "predict": "Predice primero",
        "answer": "La respuesta",
        "exercise": "Ejercicio",
        "hint": "Una pista",
        "check": "Cuando hayas terminado:",
        "here": "O hazlo aquí",
        "not here": "No en la página: un navegador no tiene NumPy, que el compilador necesita.",
    },
}
HINTS = ("Hint:", "Pista:")


def split_hint(children: Sequence[nodes.Node]) -> tuple[list[nodes.Node], list[nodes.Node]]:
    """Return what is shown, and what is folded: from the paragraph on that begins with “Hint:”."""
    for k, child in enumerate(children):
        if isinstance(child, nodes.paragraph) and child.astext().startswith(HINTS):
            return [*children[:k]], [*children[k:]]
    return [*children], []


def without_word(paragraph: nodes.Element) -> None:
    """Take “Hint:” from the beginning, where a heading says it already."""
    first = paragraph.next_node(nodes.Text)
    for word in HINTS:
        if first is not None and first.startswith(word):
            rest = first.removeprefix(word).lstrip()
            first.parent.replace(first, nodes.Text(rest[:1].upper() + rest[1:]))
            return


class Folded(nodes.General, nodes.Element):
    """Something that opens with a click: HTML's <details>."""


class Question(SphinxDirective):
    """What both have in common."""

    has_content = True
    required_arguments = 1
    final_argument_whitespace = True

    def words(self, key: str) -> str:
        """Return a phrase in the language of the build."""
        return WORDS[self.config.language][key]

    def frame(self, kind: str, *children: nodes.Node) -> nodes.Element:
        """Return a box with a heading."""
        title = nodes.paragraph("", self.words(kind), classes=["mg-title"])
        return nodes.container("", title, *children, classes=["mg-box", f"mg-{kind}"])

    def inline(self, text: str) -> list[nodes.Node]:
        """Parse the argument as a paragraph of Markdown."""
        found, messages = self.parse_inline(text, lineno=self.lineno)
        return [nodes.paragraph("", "", *found, classes=["mg-question"]), *messages]

    def folded(self, key: str, *children: nodes.Node) -> nodes.Element:
        """Return what opens with a click."""
        return Folded("", *children, summary=self.words(key))


class Predict(Question):
    """A question, and its answer."""

    def run(self) -> list[nodes.Node]:
        """Make the box."""
        answer = self.parse_content_to_nodes()
        if not answer:
            raise self.error("{predict}: write the answer between the question and :::")
        return [
            self.frame("predict", *self.inline(self.arguments[0]), self.folded("answer", *answer))
        ]


class Exercise(Question):
    """What to do, how to have it checked, and a hint."""

    def run(self) -> list[nodes.Node]:
        """Make the box."""
        (name,) = self.arguments
        shown, hint = split_hint(self.parse_content_to_nodes())
        if not shown:
            raise self.error("{exercise}: say what is to be done.")
        command = f"minigrad lab check {name}"
        block = nodes.literal_block(command, command, language="sh")
        box = self.frame("exercise", *shown, nodes.paragraph("", self.words("check")), block)
        box["ids"].append(nodes.make_id(f"exercise-{name}"))
        if hint:
            without_word(hint[0])
            box += self.folded("hint", *hint)
        chapter = find(name)
        if chapter is not None and not runs_in_a_page(chapter):
            box += nodes.paragraph("", self.words("not here"), classes=["mg-plain"])
        elif chapter is not None and self.config.minigrad_has_engine:
            box += self.folded("here", cell_of(chapter, self.config.language))
        return [box]


def runs_in_a_page(chapter: Chapter) -> bool:
    """Whether a browser can grade it: there is no NumPy in it, hence no compiler."""
    return "minigrad.compile(" not in chapter.probe.read_text(encoding="utf-8")


def cell_of(chapter: Chapter, lang: str) -> Cell:
    """Return the learner's file, to write in and to have graded in the page."""
    text = chapter.starter(lang)
    block = nodes.literal_block(text, text, language="python")
    return Cell("", block, program=text, chapter=str(chapter.number))


def visit(self: Any, node: Folded) -> None:
    """Open it."""
    self.body.append(f'<details class="mg-folded"><summary>{node["summary"]}</summary>')


def depart(self: Any, node: Folded) -> None:
    """Close it."""
    self.body.append("</details>")


def setup(app: Any) -> dict[str, Any]:
    """Tell Sphinx."""
    app.add_node(Folded, html=(visit, depart))
    app.add_directive("predict", Predict)
    app.add_directive("exercise", Exercise)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
