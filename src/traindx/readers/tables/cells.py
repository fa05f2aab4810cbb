"""One cell of a table, or one value of a JSON row, as a number."""

from __future__ import annotations

import re

NAN = float("nan")
INF = float("inf")
# a cell that says there is no value here; R, pandas and HF's notebook table each have their own word for it
BLANK_WORDS = frozenset(
    {"", "-", "--", "—", "null", "none", "n/a", "na", "<na>", "#n/a", "nil", "no log", "missing", "?"}
)
# a number that is none; C on Windows writes the ones with '#'
ODD_NUMBERS = {
    "nan": NAN, "-nan": NAN, "+nan": NAN, "nan(ind)": NAN, "-nan(ind)": NAN, "1.#qnan": NAN, "-1.#ind": NAN,
    "1.#ind": NAN,
    "inf": INF, "+inf": INF, "infinity": INF, "+infinity": INF, "1.#inf": INF, "∞": INF,
    "-inf": -INF, "-infinity": -INF, "-1.#inf": -INF, "-∞": -INF,
}  # fmt: skip

_NUMBER = r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?"
_WRAPPED = re.compile(
    rf"^(?:(?:\w+\.)*(?:(?:eager)?tensor|(?:nd|device)?array|variable|parameter|decimal|scalar|b?float\d*|u?int\d*))?[(\[]+\s*({_NUMBER}|-?(?:nan|inf))\s*[,)\]]",
    re.IGNORECASE,
)  # tensor(0.5, device='cuda:0')
_WITH_UNIT = re.compile(rf"^\$?({_NUMBER})\s*(?:%|[a-zA-Zµ°]{{1,8}}(?:/[a-zA-Z]{{1,8}})?)$")  # 12.5 GB, 3.1it/s, 45%
_WITH_AVERAGE = re.compile(
    rf"^({_NUMBER})\s*[(\[]\s*(?:{_NUMBER}|nan|-?inf)\s*[)\]]$"
)  # 6.9 (7.1): this batch, then the average
_OF_TOTAL = re.compile(r"^\[?\s*(\d+)\s*/\s*\d+\s*\]?$")  # 3/100
_CLOCK = re.compile(r"^(?:(\d+):)?(\d{1,2}):(\d{2}(?:\.\d+)?)$")  # 1:02:03 in seconds
_COMMA_DECIMAL = re.compile(r"^[-+]?\d+,\d+(?:[eE][-+]?\d+)?$")
_THOUSANDS = re.compile(r"^[-+]?[1-9]\d{0,2}(?:,\d{3})+(?:\.\d+)?$")
_FRACTION = re.compile(r"^[-+]?0,\d+$")  # 0,760: nobody groups the digits of a number below one


def number_of(text: str, *, decimal_comma: bool = False) -> float | None:
    """The number a cell holds, None when it is blank or no number at all. NaN and Inf are numbers here."""
    try:
        return float(text)
    except ValueError:
        pass
    word = text.strip().strip("\"'").strip()
    lower = word.lower()
    if lower in BLANK_WORDS:
        return None
    if lower in ODD_NUMBERS:
        return ODD_NUMBERS[lower]
    if (decimal_comma and _COMMA_DECIMAL.match(word)) or _FRACTION.match(word):
        return float(word.replace(",", "."))
    if _THOUSANDS.match(word) and not decimal_comma:
        return float(word.replace(",", ""))
    return _dressed(word)


def _dressed(word: str) -> float | None:
    """A number with something around it: a unit, an average in brackets, a wrapper, a total."""
    if len(word) > 200:
        return None
    try:
        return float(word)
    except ValueError:
        pass
    for pattern in (_WITH_UNIT, _WITH_AVERAGE, _WRAPPED, _OF_TOTAL):
        match = pattern.match(word)
        if match:
            return float(match.group(1))
    clock = _CLOCK.match(word)
    if clock:
        return int(clock.group(1) or 0) * 3600 + int(clock.group(2)) * 60 + float(clock.group(3))
    return None


def is_blank(text: str) -> bool:
    """Whether the cell says that there is no value."""
    return text.strip().strip("\"'").strip().lower() in BLANK_WORDS
