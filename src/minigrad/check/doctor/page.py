"""The report as a page: each fault with the player on the expression that fails.

The player has minigrad's right numbers; where the fault is one that it can replay, it is switched
on, so that one sees the step at which things go wrong, and can switch it off again.

`report.py` asks for its page here, so that reports and findings have no types in this module.
"""

from __future__ import annotations

from html import escape
from string import Template
from typing import Any

from ...calculus.faults import FAULTS as REPLAYED
from ...core.names import readable
from ...view import play
from ...view.player.page import script_hash
from .probes import build
from .wording import of_loading, translated

Report = Finding = Any  # those of report.py, which comes here for the page

_AS = {"sub_sign": "wrong_sub"}  # where the player calls a fault otherwise
_PAGE = Template("""<!doctype html>
<html lang="$lang">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="$policy">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>minigrad doctor: $subject</title>
<style>
:root { color-scheme: light dark; --line: #8884; --wrong: #c62828; --right: #2e7d32; }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 1100px; margin: 0 auto; padding: 1em; }
h1 { font-size: 1.4em; overflow-wrap: anywhere; }
h2 { font-size: 1.2em; margin: 0; }
code, pre { font-family: ui-monospace, Menlo, Consolas, monospace; }
pre { white-space: pre-wrap; overflow-wrap: anywhere; margin: 0; padding: .5em .7em;
      background: #8881; border-radius: 4px; }
section { border: 1px solid var(--line); border-radius: 8px; padding: 1em; margin: 1em 0; }
section.fault { border-left: 5px solid var(--wrong); }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .3em 1em; margin: .8em 0; }
dt { opacity: .7; }
dd { margin: 0; overflow-wrap: anywhere; }
.right { color: var(--right); font-weight: 600; }
.here { color: var(--wrong); font-weight: 600; }
.code { opacity: .6; font-size: .85em; }
@media (prefers-color-scheme: dark) { :root { --wrong: #ff8a80; --right: #a5d6a7; } }
</style>
</head>
<body>
<h1>$heading</h1>
$body
</body>
</html>
""")


def page_of(report: Any, lang: str = "en") -> str:
    """Return the page, which needs no network."""
    told = [of_loading(remark, lang) for remark in report.remarks]
    told += [report.why_not(lang)] if report.problem else []
    parts = [f"<p>{_shown(sentence)}</p>" for sentence in told]
    parts += [_section(report, finding, lang) for finding in report.findings]
    # The players inside are allowed here too: a frame obeys the page around it as well.
    scripts = " ".join(f"'{script_hash(has_boxes)}'" for has_boxes in (False, True))
    policy = f"default-src 'none'; style-src 'unsafe-inline'; script-src {scripts}"
    return _PAGE.substitute(
        lang=lang,
        policy=policy,
        subject=_shown(report.subject),
        heading=_shown(report.heading(lang)),
        body="\n".join(parts),
    )


def _section(report: Any, finding: Any, lang: str) -> str:
    name = _shown(finding.worded("name", lang, report.words))
    rows = []
    if finding.program is not None:
        rows.append(("try", f"<pre>{_code(finding.written(report.spelling))}</pre>"))
    rows.append(("right", f'<span class="right">{_shown(finding.expected)}</span>'))
    here = _shown(finding.here.worded(lang, report.words))
    rows.append(("here", f'<span class="here">{here}</span>'))
    rows.append(("", _shown(finding.paths.worded(lang, report.words))))
    rows += [(part, _shown(finding.worded(part, lang, report.words))) for part in ("why", "fix")]
    if finding.line is not None:
        place = of_loading(finding.place or f"line {finding.line}", lang)
        line = f"{place}: {finding.text.strip()[:200]}"
        rows.insert(-1, ("look at", f"<code>{_shown(line)}</code>"))
    listed = "".join(
        f"<dt>{_shown(translated(word, lang))}</dt><dd>{text}</dd>"
        for word, text in rows
        if "><" not in text and text
    )
    player = _player(finding, lang) if finding.kind == "fault" else ""
    return (
        f'<section class="{finding.kind}"><h2>{name} <span class="code">[{_shown(finding.code)}]'
        f"</span></h2><dl>{listed}</dl>{player}</section>"
    )


def _player(finding: Any, lang: str) -> str:
    if finding.program is None or not finding.is_ours:
        return ""
    root = build(finding.program)[finding.program.root]
    fault = _AS.get(finding.code, finding.code)
    is_replayed = fault in REPLAYED
    says = "The same, with this fault switched on; choose “none” to see it done right." if (
        is_replayed
    ) else "The same, done right, step by step."  # fmt: skip
    frame = play(root, fault=fault if is_replayed else "", lang=lang).frame()
    return f"<p>{_shown(translated(says, lang))}</p>{frame}"


def _code(text: str) -> str:
    return "\n".join(map(_shown, text.split("\n")))


def _shown(text: str) -> str:
    return escape(readable(text))
