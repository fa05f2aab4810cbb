"""Numbers in text: where they stand, what they are worth, and the line without them.

A log is mostly the same few sentences with other numbers in them. One pass over a block of text takes the numbers out;
what is left of a line, its template, is the same for every line a program wrote with one print statement.
"""

from __future__ import annotations

import re

import numpy as np

from traindx.run import Floats

HOLE = "\x00"  # stands for a number in a template
# What a number may not follow, being part of a word then: 'top5', 'Acc@1', 'BLEU-4', 'mAP50-95', 'output #0'. The usual
# case, after a blank or a bracket, is asked first; possessive quantifiers (Python 3.11) and this order are worth a
# third. An underscore joins a name and its value where that has a sign or a fraction and nothing follows: 'loss_-4.06',
# 'loss_0.31', but not 'layer_2', 'block_2.0.weight' or 'lr_0.1_run'.
_AHEAD = (
    r"(?:(?<=[\s(\[=].)|(?<=\w_[-+])|(?<=\w_\d)(?=\d*+\.\d++(?:[eE][-+]?\d++)?+(?![\w.]))|(?<![\w.@^#].)(?<![A-Za-z]-.)(?<![A-Za-z]\d-.)(?<![A-Za-z]\d\d-.)"
    r"(?<!@0\.5:.)(?<!@\.5:.)(?<!@\.50:.))"
)
_TAIL = r"(?:[eE][-+]?\d++)?+"
_NOT_A_NUMBER = r"(?<=[nN])[aA][nN]\b|(?<=[iI])[nN][fF](?:inity|INITY)?\b"
# the first character class comes first so that the search skips all other text quickly
_POINT = rf"\d*+(?:,\d{{3}}(?!\d))*+(?:\.\d*+)?+{_TAIL}"
_COMMA = rf"\d*+(?:[.,]\d++)?+{_TAIL}"


def _pattern(body: str) -> re.Pattern[str]:
    return re.compile(
        rf"([-+.\dnNiI]{_AHEAD}(?:(?<=\d){body}|(?<=[-+])(?:\d{body}|\.\d+{_TAIL}|[nN][aA][nN]\b|[iI][nN][fF](?:inity)?\b)"
        rf"|(?<=\.)\d+{_TAIL}|{_NOT_A_NUMBER}))",
        re.ASCII,
    )


NUMBER = _pattern(_POINT)
NUMBER_WITH_COMMA = _pattern(_COMMA)  # logs of programs that write 0,5 for a half
_DECIMAL_COMMA = re.compile(r"[:=\s]-?\d+,\d{2,}(?![\d,.])(?!,\d)")
_DECIMAL_POINT = re.compile(r"[:=\s]-?\d+\.\d+(?![\d.])")
_THOUSANDS = re.compile(r"[1-9]\d{0,2}(?:,\d{3})+(?:\.\d+)?")


def uses_decimal_comma(text: str) -> bool:
    """Whether this text writes its fractions with a comma: many of them, and none with a point."""
    commas = [match.group().strip(":= \t-") for match in _DECIMAL_COMMA.finditer(text)]
    fractions = [word for word in commas if not _THOUSANDS.fullmatch(word)]
    return len(fractions) >= 3 and len(fractions) > 4 * len(_DECIMAL_POINT.findall(text))


def to_float(word: str) -> float:
    """The value of a number word; commas are decimal or group digits, as they stand."""
    try:
        return float(word)
    except ValueError:
        pass
    if _THOUSANDS.fullmatch(word.lstrip("+-")):
        word = word.replace(",", "")
    try:
        return float(word.replace(",", "."))
    except ValueError:
        return float("nan")


def to_floats(words: list[str]) -> Floats:
    """The values of many number words at once."""
    try:
        return np.fromiter(map(float, words), dtype=np.float64, count=len(words))
    except ValueError:
        return np.array([to_float(word) for word in words], dtype=np.float64)


def rebuild(template: str, words: list[str], start: int) -> str:
    """The line a template was made from, its numbers being words[start:…]."""
    texts = template.split(HOLE)
    pieces = [texts[0]]
    for offset, text in enumerate(texts[1:]):
        pieces.append(words[start + offset])
        pieces.append(text)
    return "".join(pieces)
