"""HTML that escapes by default: text becomes text, and only what `tag` made is markup."""

from __future__ import annotations

import html
import json
from collections.abc import Sequence
from typing import Any

from traindx.reporters.wording import clean

EMPTY_TAGS = frozenset({"br", "hr", "img", "input", "link", "meta"})


class Html(str):
    """A piece of finished markup. Nothing else may be put into a page unescaped."""

    __slots__ = ()


Child = str | int | None | Sequence["Child"]


def tag(name: str, /, *children: Child, **attributes: str | int | bool | None) -> Html:
    """An element. Strings are cleaned of control characters and escaped. `class_` stands for class, `data_x` for
    data-x; True is an attribute without a value, None and False are none at all."""
    parts = [f"<{name}"]
    for key, value in attributes.items():
        if value is None or value is False:
            continue
        written = key.rstrip("_").replace("_", "-")
        parts.append(f" {written}" if value is True else f' {written}="{escape(str(value))}"')
    parts.append(">")
    if name not in EMPTY_TAGS:
        parts += [inner(*children), f"</{name}>"]
    return Html("".join(parts))


def inner(*children: Child) -> Html:
    """Several pieces in a row; what is None or empty leaves nothing."""
    written: list[str] = []
    for child in children:
        if isinstance(child, Html):
            written.append(child)
        elif isinstance(child, list | tuple):
            written.append(inner(*child))
        elif child is not None:
            written.append(escape(str(child)))
    return Html("".join(written))


def escape(text: str) -> str:
    return html.escape(clean(text), quote=True)


def block(lines: list[str], **attributes: str | None) -> Html:
    """Preformatted lines, whose line breaks `clean` would have made spaces."""
    return tag("pre", Html("\n".join(escape(line) for line in lines)), **attributes)


def json_block(identifier: str, data: Any) -> Html:
    """Data for the page's script. JSON inside a script element ends at '</script' and can be confused by '<!--': with
    '<', '>' and '&' written as escapes it holds neither, whatever the names in it."""
    text = json.dumps(data, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    for character in "<>&":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return Html(f'<script type="application/json" id="{escape(identifier)}">{text}</script>')
