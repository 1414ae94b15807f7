"""The policy of a page: it loads what lies beside it, and asks nobody else for anything.

Sphinx and furo have scripts in their pages, so these are allowed; no address outside is. `file:` is
for a site that is opened without a server. A worker that starts from a blob, as Python does, lives
under the policy of its page. (And Pyodide refuses a worker that could load a script from `data:`.)
"""

from __future__ import annotations

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


def setup(app: Any) -> dict[str, Any]:
    """Tell Sphinx."""
    app.connect("html-page-context", add_policy)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
