"""Secrets in settings, command lines and messages, taken out before anything is stored, shown or sent: by the name they
are given under, by their shape, and by being the value of a variable of the environment that is named like one.

TRAINDX_SCRUB=off (`--no-scrub` on the command line) leaves everything as it is."""

from __future__ import annotations

import itertools
import math
import os
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

HIDDEN = "***"
VARIABLE = "TRAINDX_SCRUB"
FEWEST = 8  # letters of a value that a name alone makes a secret
_BEHIND = rf"\g<1>{HIDDEN}"
_BETWEEN_WORDS = "\x1f"  # counts as a space in a pattern and stands in no argument
_SIZE = re.compile(r"[1-9]\d*x\d+")
_SHORT_PIECE = 12  # letters; shorter ones are names more often: f32x4d16
_MIXED = 3  # changes between letters and digits that a name does not have
_ENTROPY, _LONG = 3.9, 24  # bits a letter and letters from which a word of both cases and digits is no name
_CHANGES = (
    0.4  # of its letters that follow one of another kind; drawn by chance it would be 0.62, names stay below 0.35
)
_KEYS = "api|access|private|account|encryption|signing|licen[cs]e|ssh|deploy|secret|storage|master|subscription|wandb"
_WORD = rf"(?:password|passwd|passphrase|pass|pwd|secret|token|(?:{_KEYS})[_-]?key|bearer|jwt|webhook[_-]?url|auth|authorization|credential|cookie|dsn|signature|session[_-]?id|connection[_-]?string|webhook|mnemonic|(?:seed|recovery|backup)[_-]?phrase)s?"  # noqa: E501
_SECRET_NAME = re.compile(rf"(?:^|[._\-\s]){_WORD}$|^{_WORD}$", re.IGNORECASE)
_ASSIGNED = re.compile(
    r"(?<![\w.])([A-Za-z][\w.\-]{0,80}[a-z][A-Z]\w{0,80})([\"']?\s*[:=]\s*[\"']?)([^\s\"',;&]+)"
)  # clientSecret=…
_SURE = re.compile(r"(?i)passw|passphrase|pwd|secret")  # a password may be short, or a number
_QUOTED = re.compile(r"(?i)(\bpass(?:word|phrase)?\s+([\"']))[^\"']+(?=\2)")
_LOGIN = re.compile(r"((?:^|\s)(?:-u|--user)\s+[^\s:]+:)[^\s@]+")
# what stands there in a source in place of a value: a type, a call, what another variable holds
_CODE = re.compile(
    r"(?:os|self|cls|args?|opts?|cfg|conf|config|settings|params|hparams|kwargs|getpass|request)[.\[(]|"
    r"(?:str|bytes|None|True|False|Optional|input|getenv)\b"
)
# names of which most are no secrets: a sort key, an image key. Their values decide
_UNSURE = r"(?:[\w.\-]{0,80}[_.\-])?(?:x?-?api)?(?:key|pat|otp|totp|pw|(?:otp|totp)[_-]?seed)"
_UNSURE_NAME = re.compile(rf"(?i)^{_UNSURE}$")
_KEY_OF_DATA = re.compile(
    r"(?i)(?:cache|sort|primary|foreign|partition|p?rng|random|group|hash|row|dict|config|metric|monitor|image|label|text|"
    r"checkpoint|ckpt|column|feature|lookup)[_.\s-]?key$"
)
_UNSURE_NAMED = re.compile(
    rf"(?i)((?<![\w.-])(?:--?)?({_UNSURE})[\"']?(?:\s*[:=]\s*|\s)[\"']?)([^\s\"',;&]{{{FEWEST},}})"
)
_SPOKEN = re.compile(  # passphrase is …, login … password …
    r"(?i)(\b(?:password|passphrase|passwd)\s+(?:(?:is|was)\s+)?|\blogin\s+\S+\s+password\s+)([^\s\"',;]*\d[^\s\"',;]*)"
)
_AUTHORIZATION = re.compile(r"(?i)(\bauthorization[\"']?\s*[:=]\s*[\"']?(?:[a-z][\w-]*\s+)?)[^\s\"',;]{6,}")
_CODES = re.compile(
    r"(?i)(\b(?:recovery|backup|scratch|2fa|otp)\s+codes?\b\W{0,3}(?:(?:is|are)\s)?)((?:[\w-]*\d[\w-]*[\s,]*)+)"
)
# twelve to twenty-four small words after what such a list is called
_PHRASE = re.compile(
    r"((?i:mnemonic|wallet|(?:seed|recovery|backup|secret)[ _-]?(?:phrase|words))s?\b"
    r"[^a-z\n]{0,3}(?:(?:is|of)\b\W{0,3})?[\"']?)"
    r"[a-z]{3,8}(?:[ ,]{1,2}[a-z]{3,8}){11,23}\b"
)
# what commands take behind one letter: mysql and its tools glued to it (what follows a space there is a database),
# others either way
_GAP = r"[\s\"',]"
_BY_LETTER = re.compile(
    rf"(\b(?:mysql\w*|mariadb[\w-]*|mycli|7za?){_GAP}(?:[^\n|;&]{{0,300}}{_GAP})?-p)(?!{_GAP})[^\s\"',]+"
    rf"|(\b(?:sshpass|mongo\w*|clickhouse-client|(?:docker|podman|nerdctl|helm|skopeo|crane|oras|az|rclone)\b[^\n|;&]{{0,300}}?\blogin){_GAP}"
    rf"(?:[^\n|;&]{{0,300}}?{_GAP})?-p(?!ort\b)(?:{_GAP}+|(?=[^\s\"',])))[^\s\"',]+"
    rf"|(\b(?:redis-cli|valkey-cli){_GAP}(?:[^\n|;&]{{0,300}}?{_GAP})?-a(?:{_GAP}+|(?=[^\s\"',])))[^\s\"',]+"
    rf"|(\b(?:ldap\w+){_GAP}(?:[^\n|;&]{{0,300}}?{_GAP})?-w(?:{_GAP}+|(?=[^\s\"',])))[^\s\"',]+"
    rf"|(\b(?:sqlcmd|bcp|zip|unzip){_GAP}(?:[^\n|;&]{{0,300}}?{_GAP})?-P(?:{_GAP}+|(?=[^\s\"',])))[^\s\"',]+"
)
# tokens of a vocabulary and counts of them are no secrets
_VOCABULARY = re.compile(
    r"(?:^|[._-])(?:(?!api|auth|access|refresh|secret|bearer|hf)[a-z]+[._-]tokens|tokens)$|(?:^|[._-])(?:pad|eos|bos|unk|mask|sep|cls|image|audio|video|special|additional|boi|eoi|n|num|max|min|per|of)"
    r"[._-]?(?:\w*[._-])?tokens?$",
    re.IGNORECASE,
)
_SHAPES = re.compile(
    r"-----BEGIN [A-Z ]*PRIVATE KEY-----[\s\S]*?(?:-----END [A-Z ]*PRIVATE KEY-----|$)"
    # tokens by the prefixes their makers give them
    r"|\b(?:hf_|api_org_|sk-|pk-lf-|sk_live_|sk_test_|rk_live_|gh[pousr]_|github_pat_|glpat-|xox[abeoprs]-|xapp-|npm_|pypi-|"
    r"dop_v1_|shpat_|ntn_|lin_api_|SG\.|ya29\.|whsec_|r8_|sbp_|NRAK-|nvapi-|gsk_|AGE-SECRET-KEY-|AKIA|ASIA|AIza|eyJ)[\w.\-+/=]{10,}"
    r"|(?<!commit )(?<!revision )(?<!sha1:)(?<!sha256:)\b[0-9a-fA-F]{40,}\b"  # W&B keys have 40 digits
    r"|\b[A-Za-z]{2,5}[_-]?[0-9a-f]{32}\b"  # and others 32 behind a mark
    r"|https?://hooks\.[^\s/]+/[^\s\"']+|hooks\.slack\.com/[^\s\"']+|https?://[^\s/]+/(?:\S*/)?web-?hooks?/\S+"
)
_NAMED = re.compile(
    rf"(?i)(?:(?<![A-Za-z0-9])|(?<=%\w\w))((?:--?)?(?:[\w-]{{0,80}}[_-])?{_WORD}[\"']?\s*(?:[:=]|%3[ad]|(?<=\w)\s)\s*[\"']?)(?:(?:bearer|basic|token)\s+)?([^\s\"',;&]+)"
)
# the same as lists print it: '--password', '…' and auth=('name', '…')
_LISTED = re.compile(
    rf"(?i)((?:--((?:[\w-]{{0,80}}[_-])?{_WORD})[\"']|\bauth\s*=\s*\(\s*[\"'][^\"']*[\"'])\s*,\s*[\"'])(?!-)([^\"']+)"
)
_BEARER = re.compile(r"(?i)\b(bearer|basic)\s+[\w.\-+/=]{8,}")
_IN_ADDRESS = re.compile(r"(\b[a-zA-Z][\w+.-]{0,20}://)[^\s/@:]*:[^\s/@]+@")
_ALONE_IN_ADDRESS = re.compile(r"(\b[a-z]+://)(?=[^\s/@:]*\d)[^\s/@:]{8,}(?=@)")
_SIGNED = re.compile(  # addresses that are a key themselves
    r"(?i)([?&](?:sig|(?:x-(?:amz|goog)-)?(?:signature|credential|security-token)|key|code|auth)=)[^\s&\"'#]{8,}"
)
_LONG_WORD = re.compile(rf"[A-Za-z0-9+/_\-]{{{_LONG},}}={{0,2}}")


def off() -> bool:
    return os.environ.get(VARIABLE, "").lower() in ("off", "0", "no", "false")


def names_secret(name: str) -> bool:
    """Whether something under this name is a secret."""
    name = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name)
    return bool(_SECRET_NAME.search(name)) and not _VOCABULARY.search(name)


def hidden(text: str) -> str:
    """A text without the secrets in it."""
    if off() or len(text) < FEWEST:
        return text
    for value in _of_environment():
        text = text.replace(value, HIDDEN)
    text = _ALONE_IN_ADDRESS.sub(_BEHIND, _IN_ADDRESS.sub(rf"\g<1>{HIDDEN}@", text))
    for pattern in (_SIGNED, _AUTHORIZATION, _PHRASE):
        text = pattern.sub(_BEHIND, text)
    text = _of_commands(text)
    text = _NAMED.sub(_without_value, text)
    text = _LISTED.sub(_without_listed, text)
    text = _ASSIGNED.sub(_without_value_of, text)
    text = _QUOTED.sub(_BEHIND, text)
    text = _UNSURE_NAMED.sub(_without_unsure, text)
    text = _CODES.sub(_without_codes, _SPOKEN.sub(_without_spoken, text))
    text = _BEARER.sub(rf"\g<1> {HIDDEN}", text)
    text = _SHAPES.sub(HIDDEN, text)
    return _LONG_WORD.sub(lambda word: HIDDEN if _is_random(word.group()) else word.group(), text)


def _of_commands(text: str) -> str:
    """The text without what known commands take as a password, by the letter of its option."""
    text = _LOGIN.sub(_BEHIND, text)
    return _BY_LETTER.sub(lambda found: f"{next(filter(None, found.groups()))}{HIDDEN}", text)


def hidden_value(name: str, value: Any) -> Any:
    """A setting's value, hidden where its name says that it is one; lists and mappings inside and out."""
    if off():
        return value
    if isinstance(value, Mapping):
        return {key: hidden_value(str(key), one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [hidden_value(name, one) for one in value]
    if isinstance(value, str):
        return HIDDEN if _is_one(name, value) else hidden(value)
    return value


def hidden_settings(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Flat settings without the secrets among them."""
    return {name: hidden_value(name, value) for name, value in settings.items()}


def hidden_arguments(words: Sequence[str]) -> list[str]:
    """A command line without secrets: what follows `--token` is one, and so is `--token=…`."""
    found: list[str] = []
    if not off():
        words = _of_commands(_BETWEEN_WORDS.join(words)).split(_BETWEEN_WORDS)
    for place, word in enumerate(words):
        before = words[place - 1] if place else ""
        follows = before.startswith("-") and "=" not in before and _is_one(before.lstrip("-"), word)
        found.append(HIDDEN if follows and not word.startswith("-") and not off() else hidden(word))
    return found


def _is_one(name: str, value: str) -> bool:
    """Whether what stands under this name is a secret."""
    if names_secret(name):
        return _may_be_one(name, value)
    name = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name)
    if not _UNSURE_NAME.match(name) or _KEY_OF_DATA.search(name):
        return False
    return _is_mixed(value, least=_MIXED if name.lower().endswith("key") else 1)


def _is_mixed(value: str, least: int) -> bool:
    """Whether letters and digits change in it as in no name: within one long piece, or in pieces of one length."""
    pieces = [piece for piece in re.split(r"[\W_]+", _SIZE.sub("1", value)) if piece]
    if len(pieces) > 2 and len({len(piece) for piece in pieces}) == 1 and len(pieces[0]) > 3:
        pieces = ["".join(pieces)]
    long = [piece for piece in pieces if len(piece) >= FEWEST and not piece.lower().startswith("0x")]
    return any(
        sum(one.isdigit() != next.isdigit() for one, next in itertools.pairwise(piece))
        >= least + (2 if least > 1 and len(piece) < _SHORT_PIECE else 0)
        for piece in long
    )


def _may_be_one(name: str, value: str) -> bool:
    """Passwords may be short; of the others a short word, a number or a mark of a vocabulary is none."""
    if not value or value == HIDDEN or (name.lower().endswith("pwd") and value[0] in "/~."):  # PWD is a directory
        return False
    if _SURE.search(name) or name.isupper():  # a variable of the environment
        return True
    return len(value) >= FEWEST and value[0] not in "<[" and not _is_number(value)


def _without_value(match: re.Match[str]) -> str:
    name = match.group(1).strip("\"' =:-\t")
    value = match.group(2)
    if not match.group(1).endswith(("'", '"')) and (_CODE.match(value) or _names_another(value)):
        return match.group()
    by_mark = any(mark in match.group(1) for mark in "=:%") or match.group(1).startswith("-")
    if not by_mark and not _is_random(value):  # a sentence that speaks of a token
        return match.group()
    if _VOCABULARY.search(name) or not _may_be_one(name, value):
        return match.group()
    return f"{match.group(1)}{HIDDEN}"


def _names_another(value: str) -> bool:
    """Whether it is a variable that is named like a secret too: `token=token`, `"password": me.password}`."""
    plain = value.rstrip(")]}:")
    return plain.replace(".", "_").isidentifier() and names_secret(plain.rpartition(".")[2])


def _without_value_of(match: re.Match[str]) -> str:
    name, between, value = match.groups()
    return f"{name}{between}{HIDDEN}" if names_secret(name) and _may_be_one(name, value) else match.group()


def _without_listed(match: re.Match[str]) -> str:
    before, name, value = match.groups()
    given = name or "password"  # of `auth=(name, password)`
    return f"{before}{HIDDEN}" if names_secret(given) and _may_be_one(given, value) else match.group()


def _without_unsure(match: re.Match[str]) -> str:
    before, name, value = match.groups()
    return f"{before}{HIDDEN}" if _is_one(name, value) else match.group()


def _without_spoken(match: re.Match[str]) -> str:
    before, value = match.groups()
    is_one = len(value) >= FEWEST and not _is_number(value) and _is_mixed(value, least=1)
    return f"{before}{HIDDEN}" if is_one else match.group()


def _without_codes(match: re.Match[str]) -> str:
    return f"{match.group(1)}{HIDDEN}" if any(len(code) > 5 for code in match.group(2).split()) else match.group()


def _of_environment() -> list[str]:
    """The values of variables whose names say that they hold a secret, longest first."""
    found = {
        value
        for name, value in os.environ.items()
        if len(value) >= FEWEST and names_secret(name) and _may_be_one(name, value)
    }
    return sorted((value for value in found if not _is_number(value)), key=len, reverse=True)


def _is_random(word: str) -> bool:
    """Whether a word looks drawn by chance: long, of both cases and digits, and hardly a letter like another."""
    if len(word) < _LONG or not (re.search("[a-z]", word) and re.search("[A-Z]", word) and re.search(r"\d", word)):
        return False
    if "/" in word and len(max(word.split("/"), key=len)) < _LONG:
        return False  # a path
    plain = [letter for letter in word if letter.isalnum()]
    changes = sum(_kind(one) != _kind(next) for one, next in itertools.pairwise(plain))
    if changes < _CHANGES * len(plain):
        return False  # words and numbers put together
    counts = Counter(word)
    return -sum(n / len(word) * math.log2(n / len(word)) for n in counts.values()) > _ENTROPY


def _kind(letter: str) -> str:
    return "0" if letter.isdigit() else "a" if letter.islower() else "A"


def _is_number(value: str) -> bool:
    try:
        float(value)
    except ValueError:
        return False
    return True
