"""Secrets in settings, command lines and messages, taken out before anything is stored, shown or sent: by the name they
are given under, by their shape, and by being the value of a variable of the environment that is named like one.

TRAINDX_SCRUB=off (`--no-scrub` on the command line) leaves everything as it is."""

from __future__ import annotations

import math
import os
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

HIDDEN = "***"
VARIABLE = "TRAINDX_SCRUB"
FEWEST = 8  # letters of a value that a name alone makes a secret
_ENTROPY, _LONG = 3.9, 24  # bits a letter and letters from which a word of both cases and digits is no name
_WORD = r"(?:password|passwd|passphrase|pwd|secret|token|api[_-]?key|access[_-]?key|private[_-]?key|account[_-]?key|auth|authorization|credential|cookie|dsn|signature|session[_-]?id|connection[_-]?string|webhook)s?"  # noqa: E501
_SECRET_NAME = re.compile(rf"(?:^|[._\-\s]){_WORD}$|^{_WORD}$", re.IGNORECASE)
# tokens of a vocabulary and counts of them are no secrets
_VOCABULARY = re.compile(
    r"(?:^|[._-])(?:pad|eos|bos|unk|mask|sep|cls|image|audio|video|special|additional|boi|eoi|n|num|max|min|per|of)"
    r"[._-]?(?:\w*[._-])?tokens?$",
    re.IGNORECASE,
)
_SHAPES = re.compile(
    r"-----BEGIN [A-Z ]*PRIVATE KEY-----[\s\S]*?(?:-----END [A-Z ]*PRIVATE KEY-----|$)"
    # tokens by the prefixes their makers give them
    r"|\b(?:hf_|api_org_|sk-|pk-lf-|sk_live_|sk_test_|rk_live_|gh[pousr]_|github_pat_|glpat-|xox[abeoprs]-|xapp-|npm_|pypi-|"
    r"dop_v1_|shpat_|ntn_|lin_api_|SG\.|ya29\.|whsec_|r8_|nvapi-|gsk_|AGE-SECRET-KEY-|AKIA|ASIA|AIza|eyJ)[\w.\-+/=]{10,}"
    r"|\b[0-9a-fA-F]{40,}\b"  # W&B keys have 40 digits
    r"|hooks\.slack\.com/\S+|discord(?:app)?\.com/api/webhooks/\S+"
)
_NAMED = re.compile(
    rf"(?i)(?<![A-Za-z0-9])((?:--?)?(?:[\w-]*[_-])?{_WORD}[\"']?\s*(?:[:=]|(?<=\w)\s)\s*[\"']?)(?:(?:bearer|basic|token)\s+)?([^\s\"',;&]+)"
)
_BEARER = re.compile(r"(?i)\b(bearer|basic)\s+[\w.\-+/=]{8,}")
_IN_ADDRESS = re.compile(r"(\b[a-zA-Z][\w+.-]*://)[^\s/@:]*:[^\s/@]+@")
_LONG_WORD = re.compile(rf"[A-Za-z0-9+/_\-]{{{_LONG},}}={{0,2}}")


def off() -> bool:
    return os.environ.get(VARIABLE, "").lower() in ("off", "0", "no", "false")


def names_secret(name: str) -> bool:
    """Whether something under this name is a secret."""
    return bool(_SECRET_NAME.search(name)) and not _VOCABULARY.search(name)


def hidden(text: str) -> str:
    """A text without the secrets in it."""
    if off() or len(text) < FEWEST:
        return text
    for value in _of_environment():
        text = text.replace(value, HIDDEN)
    text = _IN_ADDRESS.sub(rf"\g<1>{HIDDEN}@", text)
    text = _NAMED.sub(_without_value, text)
    text = _BEARER.sub(rf"\g<1> {HIDDEN}", text)
    text = _SHAPES.sub(HIDDEN, text)
    return _LONG_WORD.sub(lambda word: HIDDEN if _is_random(word.group()) else word.group(), text)


def hidden_value(name: str, value: Any) -> Any:
    """A setting's value, hidden where its name says that it is one; lists and mappings inside and out."""
    if off():
        return value
    if isinstance(value, Mapping):
        return {key: hidden_value(str(key), one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [hidden_value(name, one) for one in value]
    if isinstance(value, str):
        return HIDDEN if names_secret(name) and _may_be_one(name, value) else hidden(value)
    return value


def hidden_settings(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Flat settings without the secrets among them."""
    return {name: hidden_value(name, value) for name, value in settings.items()}


def hidden_arguments(words: Sequence[str]) -> list[str]:
    """A command line without secrets: what follows `--token` is one, and so is `--token=…`."""
    found: list[str] = []
    for place, word in enumerate(words):
        before = words[place - 1] if place else ""
        follows = before.startswith("-") and "=" not in before and names_secret(before.lstrip("-"))
        found.append(HIDDEN if follows and not word.startswith("-") and not off() else hidden(word))
    return found


def _may_be_one(name: str, value: str) -> bool:
    """Passwords may be short; of the others a short word, a number or a mark of a vocabulary is none."""
    if not value or value == HIDDEN:
        return False
    if re.search(r"(?i)pass|pwd|secret", name) or name.isupper():  # a variable of the environment
        return True
    return len(value) >= FEWEST and value[0] not in "<[" and not _is_number(value)


def _without_value(match: re.Match[str]) -> str:
    name = match.group(1).strip("\"' =:-\t")
    value = match.group(2)
    by_mark = any(mark in match.group(1) for mark in "=:") or match.group(1).startswith("-")
    if not by_mark and not _is_random(value):  # a sentence that speaks of a token
        return match.group()
    if _VOCABULARY.search(name) or not _may_be_one(name, value):
        return match.group()
    return f"{match.group(1)}{HIDDEN}"


def _of_environment() -> list[str]:
    """The values of variables whose names say that they hold a secret, longest first."""
    found = {value for name, value in os.environ.items() if len(value) >= FEWEST and names_secret(name)}
    return sorted((value for value in found if not _is_number(value)), key=len, reverse=True)


def _is_random(word: str) -> bool:
    """Whether a word looks drawn by chance: long, of both cases and digits, and hardly a letter like another."""
    if len(word) < _LONG or not (re.search("[a-z]", word) and re.search("[A-Z]", word) and re.search(r"\d", word)):
        return False
    if "/" in word and len(max(word.split("/"), key=len)) < _LONG:
        return False  # a path
    counts = Counter(word)
    return -sum(n / len(word) * math.log2(n / len(word)) for n in counts.values()) > _ENTROPY


def _is_number(value: str) -> bool:
    try:
        float(value)
    except ValueError:
        return False
    return True
