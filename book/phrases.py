"""What the theme says on each page, in Spanish: furo itself knows these words in English only."""

from __future__ import annotations

from typing import Any

SPANISH = {
    "Next": "Siguiente",
    "Previous": "Anterior",
    "Home": "Inicio",
    "Back to top": "Volver arriba",
    "On this page": "En esta página",
    "Made with ": "Hecho con ",
}


def add_phrases(app: Any, name: str, template: str, context: dict[str, Any], tree: Any) -> None:
    """Let the templates ask here first, and Sphinx, which knows the rest, after that."""
    if app.config.language == "es":
        found = app.builder.templates.environment.globals["gettext"]

        def told(text: str) -> str:
            return SPANISH.get(text) or str(found(text))

        context["_"] = context["gettext"] = told


def setup(app: Any) -> dict[str, Any]:
    """Tell Sphinx."""
    app.connect("html-page-context", add_phrases)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
