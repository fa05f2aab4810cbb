"""The words before and after a number: where a name begins, which words are labels, what a unit tells."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from traindx.meaning import Meaning
from traindx.readers.text.tokens import NUMBER

STRIP = " \t-*#>:=.,'\"`|!~✓✔➜→·/\\"
_MAX_WORDS = 9
_MAX_LETTERS = 80
_UNIT = re.compile(r"(?:%|‰|[A-Za-zµμ]+(?:/[A-Za-z]+)?)")
_RATE = re.compile(
    r"\s?((?:its?|iters?|imgs?|images?|samples?|examples?|tok|tokens?|steps?|batch(?:es)?|frames?|ins|words?|seqs?)/s(?:ec)?|fps|wps)\b"
    r"(?!\s*[:=])",
    re.IGNORECASE,
)
_PER = re.compile(r"\s?((?:s|sec|ms|us)/(?:it|iter|step|batch|sample|img|image|epoch))\b(?!\s*[:=])", re.IGNORECASE)
_SECONDS = re.compile(r"\s?(s|secs?|seconds|ms|mins?|minutes)\b(?![/:=]|\s*[:=])", re.IGNORECASE)
_DELIMITER = re.compile(r"[,;|\t{}·•│，；｜、]|\s[-–—]+>?\s|[-=]+>|>{1,3}|<|\s{2,}|\|\||^[-*#+]+\s|[=\-*#]{3,}")
_WRAPPER = re.compile(
    r"\b(?:tensor|array|Array|DeviceArray|Tensor|Variable|Decimal|(?:np|numpy|torch|jnp|tf)\.\w+|float\d*)\s*$"
)
_SEPARATOR = re.compile(r"\s*(?:[:=：＝≈~]|:=)\s*$")
_INNER = re.compile(r"[:：=]\s+(?=[^\s:=]+[^:=]*$)|\s=\s")
_COPULA = re.compile(r"(?:^|\s)(?:is|was|are|were|equals?|reached|reaches|now)\s*$", re.IGNORECASE)
_COUNTED_IN_BRACKETS = re.compile(r"(?<=\w)\s+\(\d[\d,.]*\s*[^\W\d]+(?: [^\W\d]+)?\s*\)")  # 'reward (100 ep)'
_LEADING = re.compile(r"^(?:and|with|the|but|then|now|got|has|gives?|a|an)\s+", re.IGNORECASE)
_DANGLING = re.compile(
    r"(?:^|\s)(?:the|of|on|for|over|per|first|last|top|all|with|than|about|around|from|to|by|a|an|best)\s*$",
    re.IGNORECASE,
)
_BRACKET_LABEL = re.compile(r"^\s*[\[(]([^\])]{1,40})[\])]\s*[:|-]?\s*(?=\S)")
_CONTINUES = re.compile(r"(?:\s[A-Za-z][\w@.\-/]*){1,5}\s*[:=]\s*")
_NOT_MEASURED = re.compile(
    r"(?:\b|_)best(?:_|\b)|\bbest|\blowest|\bhighest|\bmax(?:imum)?[ "
    r"_]acc|\bimproved?\b|\bdecreased\b|\bincreased\b|\bfrom\b|\bos error\b|\berrno\b|"
    r"[\"=<>]|(?<!\w)'|'(?!\w)|最佳|最好",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Phrase:
    """What stands before a number: the name next to it, the labels before that, and whether ':', '=' or 'is' joins the
    name to the number."""

    name: str
    joined: bool = False
    labels: list[str] = field(default_factory=list)


def phrase_before(left: str) -> Phrase:
    """The name and the labels in the text before a number."""
    text = left.rstrip()
    joined = False
    for _ in range(4):
        text = text.rstrip(" \t\"'`*$<[({")
        if text != left.rstrip():
            text = _WRAPPER.sub("", text).rstrip()
        match = _SEPARATOR.search(text)
        if match is None:
            break
        joined = True
        text = text[: match.start()]
    cut = _bracket_cut(text)
    labels = [text[:cut]] if cut else []
    pieces = _DELIMITER.split(text[cut:])
    labels.extend(pieces[:-1])
    name = pieces[-1]
    inner = _INNER.search(name)
    if inner:
        labels.append(name[: inner.start()])
        name = name[inner.end() :]
    match = _BRACKET_LABEL.match(name)
    if match:
        labels.append(match.group(1))
        name = name[match.end() :]
    name = _without_numbers(name)
    trimmed = _COPULA.sub("", name)
    joined = joined or trimmed != name
    name = _LEADING.sub("", trimmed.strip(STRIP)).strip(STRIP).rstrip("_")
    if not _is_name(name):
        return Phrase("", joined, [*labels, name[:_MAX_LETTERS]])
    return Phrase(name, joined, labels)


def _without_numbers(name: str) -> str:
    """A number inside the name counts something ('the 10000 test images'), one at its end is part of it ('AP .75')."""
    name = _COUNTED_IN_BRACKETS.sub("", name)
    end = len(name.rstrip())
    kept = NUMBER.sub(lambda match: match.group() if match.end() == end or match.group().isalpha() else " ", name)
    return re.sub(r"\s+", " ", kept)


def _is_name(name: str) -> bool:
    return (
        0 < len(name) <= _MAX_LETTERS
        and "+" not in name
        and name.count("(") == name.count(")")
        and len(name.split()) <= _MAX_WORDS
        and any(letter.isalpha() for letter in name)
    )


def _bracket_cut(text: str) -> int:
    """Where the name can begin: after a bracket that was closed without opening, or opened without closing."""
    stack: list[int] = []
    cut = 0
    for place, letter in enumerate(text):
        if letter in "([{":
            stack.append(place + 1)
        elif letter in ")]}":
            if stack:
                stack.pop()
            else:
                cut = place + 1
    return stack[-1] if stack else cut


def glued_unit(right: str) -> str:
    """The unit written directly behind a number: 'ms' of '12ms', '%' of '98%'."""
    unit = _UNIT.match(right)
    return unit.group() if unit else ""


def after_unit(left: str) -> str:
    """The text after a number without the unit it begins with."""
    return left[len(glued_unit(left)) :]


def rate_after(right: str) -> tuple[str, Meaning] | None:
    """'434 img/s', '0.2 sec/batch': the unit is the name."""
    rate = _RATE.match(right)
    if rate:
        return rate.group(1), Meaning("throughput", goal="max")
    pace = _PER.match(right)
    if pace:
        return pace.group(1), Meaning("step_time", part="ms" if pace.group(1).lower().startswith("ms") else "")
    return None


def seconds_after(right: str) -> bool:
    return _SECONDS.match(right) is not None


def is_dangling(name: str) -> bool:
    """Whether the words wait for more: 'Accuracy of the network on the' 10000 test images."""
    return _DANGLING.search(name) is not None


def names_the_next(right: str) -> bool:
    """Whether the text after a number goes on to name the next one: ' train images: '."""
    return _CONTINUES.fullmatch(right) is not None


def is_not_measured(name: str) -> bool:
    """Names of what another line measured, and text that only looks like a name."""
    return _NOT_MEASURED.search(name) is not None
