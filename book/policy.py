"""The policy of a page: it loads what lies beside it, and asks nobody else for anything.

Sphinx and furo have scripts in their pages, so these are allowed; no address outside is. `file:` is
for a site that is opened without a server. A worker that starts from a blob, as Python does, lives
under the policy of its page. (And Pyodide refuses a worker that could load a script from `data:`.)
Sphinx's script of translations makes a function from a text, which the policy forbids: it is
written anew, with the function in it.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

POLICY = (
    "default-src 'none'; script-src 'self' file: blob: 'unsafe-inline' 'wasm-unsafe-eval'; "
    "style-src 'self' file: 'unsafe-inline'; img-src 'self' file: data: blob:; "
    "font-src 'self' file:; connect-src 'self' blob:; worker-src blob:; "
    "form-action 'self' file:; base-uri 'none'"
)
TAG = f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">'


def add_policy(app: Any, name: str, template: str, context: dict[str, Any], tree: Any) -> None:
    """Write the policy before everything that it is about."""
    context["metatags"] = f"{TAG}\n{context.get('metatags', '')}"


def without_eval(text: str) -> str:
    """Return Sphinx's translations as a script that makes no function from a text."""
    found = json.loads(text[text.index("{") : text.rindex("}") + 1])
    plural = found.pop("plural_expr")
    if not re.fullmatch(r"[n0-9 ()=!<>%?:&|]+", plural):
        raise ValueError(f"translations.js: {plural!r} is not the plural of a language.")
    return (
        f"Object.assign(Documentation.TRANSLATIONS, {json.dumps(found['messages'])});\n"
        f"Documentation.PLURAL_EXPR = (n) => Number({plural});\n"
        f"Documentation.LOCALE = {json.dumps(found['locale'])};\n"
    )


def rewrite_translations(app: Any, error: Exception | None) -> None:
    """Replace the script, where the language has one; English needs none."""
    path = Path(app.outdir) / "_static" / "translations.js"
    if error is None and path.is_file() and "addTranslations" in path.read_text("utf-8"):
        path.write_text(without_eval(path.read_text("utf-8")), encoding="utf-8")


def setup(app: Any) -> dict[str, Any]:
    """Tell Sphinx."""
    app.connect("html-page-context", add_policy)
    app.connect("build-finished", rewrite_translations)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
