"""Which file is which page, in which language, and where its links go.

`page(name).es.md` beside `page(name).md` is its translation: both have the same address, under /es/
and /en/, and a page that nobody has translated yet is shown in English in both, and says so. What
stands outside docs/ and is linked from there becomes a page, too: CONTRIBUTING.md, CHANGELOG.md and
the examples. The order of the pages is `SECTIONS`; a page that it does not name makes the build
fail, because nobody would find it.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs"
LANGUAGES = {"en": "English", "es": "Español"}
OUTSIDE = {"CONTRIBUTING.md": "contributing.md", "CHANGELOG.md": "changelog.md"}
START = "index.md"

# What stands before the first fence that needs another package.
NEEDS = {"en": "*If `{}` is installed:*", "es": "*Si `{}` está instalado:*"}
NOT_TRANSLATED = "*Esta página todavía no está traducida; aquí está en inglés.*"
# A picture or a link with its target; and fences, in which nothing is a link.
_LINK = re.compile(r"(\]\()([^)#\s]+)?(#[^)\s]*)?((?:\s+\"[^\"]*\")?\))")
_FENCE = re.compile(r"^(\s*)(`{3,}).*?^\s*\2`*\s*$", re.MULTILINE | re.DOTALL)


class Section(NamedTuple):
    """A part of the contents: its heading by language, and its pages; `*` is all of a folder."""

    headings: dict[str, str]
    pages: tuple[str, ...]


SECTIONS = (
    Section({"en": "Learn", "es": "Aprender"}, ("course/*", "labs", "doctor")),
    Section({"en": "See and run", "es": "Ver y ejecutar"}, ("engine", "seeing", "playground",
        "training", "compiler", "scaling", "examples/*")),
    Section({"en": "How to", "es": "Cómo"}, ("howto/notebook", "howto/microgpt",
        "howto/students", "howto/lecture", "howto/custom_ops", "howto/nan", "howto/speed",
        "howto/leave")),
    Section({"en": "Reference", "es": "Referencia"}, ("api/values",
        "api/derivatives", "api/networks", "api/compiler", "api/pictures", "api/errors", "ops",
        "faults", "command_line", "commands", "performance", "performance_tables", "reliability")),
    Section({"en": "Design", "es": "Diseño"}, ("design", "design/*", "contributing", "changelog")),
)  # fmt: skip


def sources(lang: str) -> dict[str, Path]:
    """Return the file of each page, by its name under the language's folder."""
    found = {}
    for path in sorted(DOCS.rglob("*.md")):
        if path.name.endswith(".es.md"):
            continue
        other = path.with_name(f"{path.stem}.{lang}.md")
        found[path.relative_to(DOCS).as_posix()] = other if other.is_file() else path
    found |= {page: ROOT / name for name, page in OUTSIDE.items()}
    for path in sorted((ROOT / "examples").glob("*.py")):
        found[f"examples/{path.stem}.md"] = path
    return found


def text_of(path: Path, page: str, lang: str) -> str:
    """Return a page as Sphinx reads it."""
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".py":
        head = f"# {path.name}\n\nThe example `examples/{path.name}`, as it is."
        return f"{head}\n\n````python\n{text}````\n"
    text = _told_what_is_needed(_redirected(text, path, page), lang)
    if lang != "en" and not path.name.endswith(f".{lang}.md"):
        head, _, rest = text.partition("\n")
        text = f"{head}\n\n{NOT_TRANSLATED}\n{rest}"
    if page == START:
        text += "".join(_contents(lang, set(sources(lang))))
    return text


def _told_what_is_needed(text: str, lang: str) -> str:
    """Say once on a page what its readers may not have: its code would end in an ImportError."""
    told: set[str] = set()

    def tell(match: re.Match[str]) -> str:
        new = [name for name in match[1].split() if name not in told]
        told.update(new)
        return f"{NEEDS[lang].format('`, `'.join(new))}\n" if new else match[0]

    return re.sub(r"^<!-- needs ([\w ]+) -->$", tell, text, flags=re.MULTILINE)


def _redirected(text: str, path: Path, page: str) -> str:
    """Let links point at pages, where they point at files of the repository."""
    kept: list[str] = []

    def keep(match: re.Match[str]) -> str:
        kept.append(match[0])
        return f"\0{len(kept) - 1}\0"

    def follow(match: re.Match[str]) -> str:
        before, target, anchor, after = match.groups()
        if not target or "://" in target:
            return match[0]
        return f"{before}{_address(target, path, page)}{anchor or ''}{after}"

    text = _LINK.sub(follow, _FENCE.sub(keep, text))
    return re.sub("\0(\\d+)\0", lambda match: kept[int(match[1])], text)


def _address(target: str, path: Path, page: str) -> str:
    """Return where a link of a page goes; `site:` is an address that Sphinx leaves as it is."""
    file = (path.parent / target).resolve()
    if file.is_relative_to(DOCS):
        name = file.relative_to(DOCS).as_posix()
    elif file.is_relative_to(ROOT):
        name = file.relative_to(ROOT).as_posix()
    else:
        return target
    other = re.fullmatch(r"(.*)\.(es)\.md", name)
    if other and file.name.split(".")[-2] not in path.name.split("."):
        return f"site:{'../' * (page.count('/') + 1)}{other[2]}/{other[1]}.html"
    if other:
        name = f"{other[1]}.md"
    elif name == "README.md":
        name = START
    elif name in OUTSIDE:
        name = OUTSIDE[name]
    elif re.fullmatch(r"examples/\w+\.py", name):
        name = f"{name.removesuffix('.py')}.md"
    elif not file.is_relative_to(DOCS):
        return target
    return posixpath.relpath(name, posixpath.dirname(page) or ".")


def listed(section: Section, pages: set[str]) -> Iterator[str]:
    """Name the pages of a section, in order, without their ending."""
    names = sorted(page.removesuffix(".md") for page in pages)
    for pattern in section.pages:
        folder, is_all, _ = pattern.partition("/*")
        inside = [name for name in names if posixpath.dirname(name) == folder]
        first = f"{folder}/index"
        if is_all:
            yield from sorted(inside, key=lambda name: (name != first, name))
        elif pattern in names:
            yield pattern


def _contents(lang: str, pages: set[str]) -> Iterator[str]:
    for section in SECTIONS:
        names = [*listed(section, pages)]
        if names:
            yield f"\n```{{toctree}}\n:hidden:\n:caption: {section.headings[lang]}\n\n"
            yield "\n".join(names) + "\n```\n"


def stage(lang: str, folder: Path) -> None:
    """Write the pages of a language into a folder, for Sphinx; what has not changed is left."""
    wanted = {name: text_of(path, name, lang).encode() for name, path in sources(lang).items()}
    for path in sorted((DOCS / "pictures").iterdir()):
        wanted[f"pictures/{path.name}"] = path.read_bytes()
    for path in sorted(folder.rglob("*"), reverse=True):
        if path.is_file() and path.relative_to(folder).as_posix() not in wanted:
            path.unlink()
    for name, data in wanted.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if not path.is_file() or path.read_bytes() != data:
            path.write_bytes(data)
