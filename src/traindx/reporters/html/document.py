"""The shell of a page: one self-contained file under a policy that lets nothing run or load but its own script and
style."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from functools import cache
from pathlib import Path

from traindx.reporters.html.markup import Html, escape, inner, tag
from traindx.reporters.tokens import style_sheet
from traindx.version import __version__

ASSETS = Path(__file__).parent / "assets"
SCRIPTS = ("scales.js", "curves.js", "page.js")  # in this order
_MARK = Html(
    '<svg width="18" height="18" viewBox="0 0 18 18" aria-hidden="true"><path d="M1 10h3l2.2-6 3.6 11 2.6-7H17" '
    'fill="none" '
    'stroke="currentColor" stroke-width="1.9" stroke-linecap="round" stroke-linejoin="round"/></svg>'
)


@cache
def asset(*names: str) -> str:
    """The text of these files, one after the other."""
    return "\n".join((ASSETS / name).read_text(encoding="utf-8") for name in names)


@cache
def style() -> str:
    """The style of every page: the design's tokens and what is laid out with them."""
    return style_sheet() + asset("report.css")


def policy(style: str, script: str, connect: str = "'none'") -> str:
    """Content-security policy: this style and this script by their hashes, pictures that stand in the file, nothing
    else."""
    return (
        f"default-src 'none'; script-src '{_hash(script)}'; style-src '{_hash(style)}'; img-src data:; connect-src "
        f"{connect}; "
        "base-uri 'none'; form-action 'none'"
    )


def _hash(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode("ascii")


def document(
    title: str, body: Html, *, script: str, style: str, navigation: Sequence[tuple[str, str]] = (), home: str = "#top",
    connect: str = "'none'", footer: str = ""
) -> str:  # fmt: skip
    """A whole page. `navigation` names sections by their anchors; `connect` is where the script may fetch from."""
    bar = tag(
        "header",
        tag(
            "div",
            tag("a", _MARK, "traindx", href=home, class_="brand"),
            tag("nav", [tag("a", name, href=target) for name, target in navigation], aria_label="Sections"),
            tag(
                "button",
                "◐",
                type="button",
                class_="button",
                data_theme_switch=True,
                aria_label="light or dark",
                title="light or dark",
            ),
        ),
        class_="top",
    )
    head = inner(
        Html('<meta charset="utf-8">'),
        Html(f'<meta http-equiv="Content-Security-Policy" content="{escape(policy(style, script, connect))}">'),
        Html('<meta name="viewport" content="width=device-width, initial-scale=1">'),
        Html('<meta name="referrer" content="no-referrer">'),
        tag("meta", name="generator", content=f"traindx {__version__}"),
        tag("title", title),
        Html(f"<style>{style}</style>"),
    )
    whole = inner(
        tag("a", "to the content", href="#top", class_="skip"),
        bar,
        tag("main", body, id="top", tabindex=-1),
        tag(
            "footer",
            footer or f"Made by traindx {__version__}. Nothing in this file is loaded from or sent to anywhere.",
        ),
        Html(f"<script>{script}</script>"),
    )
    return f'<!doctype html>\n<html lang="en">\n{tag("head", head)}\n{tag("body", whole)}\n</html>\n'
