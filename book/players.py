"""`{player}`: a step player in a page, of an expression or of a small program.

    ```{player}
    tanh(x*w + b); x=2 w=-3 b=7
    ```

minigrad draws the picture when the site is built, so that it is there without scripts; with them,
`<minigrad-player>` takes over. What follows the last semicolon are the numbers. With `:python:` the
text is a program instead, and its last line the Value to look at; what it needs of minigrad it
imports itself. Options are those of `minigrad.play`: `:start:`, `:fault:`, `:rankdir:`,
`:fold:`, `:open:`; and `:full:` for all that stands around the picture.
"""

from __future__ import annotations

import ast
import re
from typing import Any

from docutils import nodes
from docutils.parsers.rst import directives
from sphinx.util.docutils import SphinxDirective

from minigrad import Value, view
from minigrad.cli.given import graph
from minigrad.errors import ExpressionError

_GIVEN = re.compile(r"[A-Za-z_]\w*=[-+.\w]+")
SCRIPT = "player.js"


def root_of(text: str) -> Value:
    """Return the result of `expression; a=2 b=3`, after its backward pass."""
    expression, _, numbers = text.strip().rpartition(";")
    if not expression or not all(_GIVEN.fullmatch(each) for each in numbers.split()):
        raise ExpressionError(f"{text!r}: end it with the numbers, such as “a*b; a=2 b=3”.")
    root, _ = graph(expression, numbers.split())
    root.backward()
    return root


def root_of_program(text: str) -> Value:
    """Run a program, and return the Value of its last line after its backward pass."""
    tree = ast.parse(text)
    last = tree.body.pop() if tree.body else None
    if not isinstance(last, ast.Expr):
        raise ExpressionError("the last line of the program should be the Value to look at.")
    space: dict[str, Any] = {"__name__": "player"}
    exec(compile(tree, "player", "exec"), space)
    root = eval(compile(ast.Expression(last.value), "player", "eval"), space)
    if not isinstance(root, Value):
        raise ExpressionError(f"the program ends with {type(root).__name__}, not with a Value.")
    if root.grad == 0.0:  # it has not called backward() itself
        root.backward()
    return root


def element(root: Value, lang: str = "en", *, is_full: bool = False, **options: Any) -> str:
    """Return the element with its still picture, which keeps its colours in both themes."""
    return view.player_element(root, lang=lang, compact=not is_full, **options)


def script() -> str:
    """Return the player as a plain script: a module does not load from file://."""
    return "(() => {\n" + view.player_script().replace("export function", "function") + "})();\n"


class Player(SphinxDirective):
    """The directive; see the head of this module."""

    has_content = True
    optional_arguments = 1
    final_argument_whitespace = True
    option_spec = {  # noqa: RUF012 - as docutils has it
        "start": directives.unchanged,
        "fault": directives.unchanged,
        "rankdir": directives.unchanged,
        "open": directives.unchanged,
        "fold": directives.flag,
        "full": directives.flag,
        "python": directives.flag,
    }

    def run(self) -> list[nodes.Node]:
        """Draw it."""
        text = "\n".join([*self.arguments, *self.content])
        given = self.options
        start = given.get("start", "end")
        options: dict[str, Any] = {"start": int(start) if start.isdigit() else start}
        options |= {name: given[name] for name in ("fault", "rankdir") if name in given}
        if "open" in given:
            options["open"] = given["open"].split()
        if "fold" in given:
            options["fold"] = True
        try:
            root = root_of_program(text) if "python" in given else root_of(text)
            # An id, so that links to a step know which player of the page is meant.
            name = f"player-{self.env.new_serialno('player') + 1}"
            made = element(root, self.config.language, is_full="full" in given, id=name, **options)
        except Exception as error:  # whatever it is, the page and the line should be told
            kind = "" if isinstance(error, ExpressionError) else f"{type(error).__name__}: "
            raise self.error(f"{{player}}: {kind}{error}") from error
        return [nodes.raw("", f'<div class="mg-player">{made}</div>', format="html")]


def setup(app: Any) -> dict[str, Any]:
    """Tell Sphinx."""
    app.add_directive("player", Player)
    app.add_js_file(SCRIPT, loading_method="defer")
    return {"parallel_read_safe": True, "parallel_write_safe": True}
