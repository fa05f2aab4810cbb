"""Settings that a program printed before it began: 'lr: 0.1', 'Namespace(lr=0.1, …)', 'lr ........ 0.1', '--lr 0.1'."""

from __future__ import annotations

import re

from traindx.readers.text.lines import read_prefix

Setting = str | int | float | bool | None
MAX_SETTINGS = 3000
_TREE = re.compile(r"^[\s│├└─|*>+-]+(?=\S)")
_ASIDE = re.compile(
    r"\s*\[default:.*\]\s*$|(?<=\S)\s+#\s.*$"
)  # pix2pix names the default, a printed script has comments
_DOTTED = re.compile(r"^([\w.\-]{2,60})\s*\.{3,}\s*(\S.*)$")
_SINGLE = re.compile(r"^['\"]?([A-Za-z_][\w.\-/ ]{0,48}?)['\"]?\s*(?::|=|=>|\s=\s)\s*(\S.*?)\s*,?$")
_GROUP = re.compile(
    r"\b(?:Namespace|[A-Z]\w*Config|[A-Z]\w*Args|[A-Z]\w*Arguments|dict)\(|^[^{]{0,40}\{.*\}\s*$|\bdict\("
)
_IN_GROUP = re.compile(r"['\"]?([A-Za-z_][\w.\-]{0,60})['\"]?\s*[:=]\s*(?:'([^']*)'|\"([^\"]*)\"|([^\s,(){}\[\]'\"]+))")
_FLAG = re.compile(r"(?<!\S)--([A-Za-z][\w\-.]*)(?:=|\s+)(?!-)('[^']*'|\"[^\"]*\"|[^\s'\"]+)")
_VOCABULARY = re.compile(
    r"batch|learning|rate|epoch|step|optim|class|sample|param|worker|seed|size|loss|device|model|layer|vocab|token|image|train|"
    r"val|test|decay|warm|dropout|scheduler|precision|amp|gpu|world|hidden|length|dataset|criterion|momentum|clip",
    re.IGNORECASE,
)
_REFUSED = re.compile(
    r"^(?:file|https?|wandb|error|warning|info|debug|traceback|note|usage|eta|time|date|epoch|step|iter\w*|it)$", re.I
)
_NUMBER = re.compile(r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?")


def settings_in(line: str) -> dict[str, Setting]:
    """The settings this line states; empty for almost all lines of a log."""
    if line.startswith(("+", "$ ", ">>>")):  # a shell's trace of what it runs
        return {}
    text = _ASIDE.sub("", _TREE.sub("", line[read_prefix(line).end :]).strip())
    if not text or len(text) > 20_000:
        return {}
    match = _DOTTED.match(text)
    if match:
        return _clean({match.group(1): match.group(2)})
    if "--" in text and _FLAG.search(text):
        return _clean(dict(_FLAG.findall(text)))
    if _GROUP.search(text):
        return _clean({name: next((v for v in values if v), "") for name, *values in _IN_GROUP.findall(text)})
    match = _SINGLE.match(text) if len(text) <= 400 else None
    if match is None or len(match.group(2).split()) > 4 or len(match.group(1).split()) > 4:
        return {}
    key = match.group(1).strip()
    if "(" in match.group(2) and not match.group(2).startswith("("):  # a call: source code, not a setting
        return {}
    if " " in key and not _VOCABULARY.search(key):
        return {}
    return _clean({key.replace(" ", "_"): match.group(2)})


def _clean(found: dict[str, str]) -> dict[str, Setting]:
    return {
        name: setting_value(value)
        for name, value in found.items()
        if not _REFUSED.match(name) and not name.startswith("_") and len(value) <= 120
    }


def setting_value(text: str) -> Setting:
    """A printed value as what it was: a number, a truth value, nothing, or a word."""
    word = text.strip().strip(",;").strip().strip("'\"")
    if word in ("True", "true"):
        return True
    if word in ("False", "false"):
        return False
    if word in ("None", "null", "none", ""):
        return None
    if _NUMBER.fullmatch(word):
        return int(word) if re.fullmatch(r"[-+]?\d{1,18}", word) else float(word)
    return word
