"""Names of the parts of the data: which are held out, and what each is of."""

from __future__ import annotations

import re

_TRAINED = re.compile(r"(?:^|_)(?:training|train|trn|tr)(?=_|$|\d)|(?<=[a-zA-Z])(?:[Tt]rain|tr)$", re.IGNORECASE)
_HELD_OUT = re.compile(
    r"(?:^|_)(?:validation|valid|val|va|test|te|dev|eval|held_?out|holdout)(?=_|$|\d)"
    r"|(?<=[a-zA-Z])(?:[Vv]al(?:id)?|[Tt]est|va|te)$",
    re.IGNORECASE,
)


def about(name: str) -> str:
    """What a name is of, whichever part of the data: 'x' of `x`, `x_train` and `x_val`."""
    return _HELD_OUT.sub("", _TRAINED.sub("", name)).strip("_").lower()


def is_trained(name: str) -> bool:
    """Says that it is trained on."""
    return _TRAINED.search(name) is not None


def is_held_out(name: str) -> bool:
    return _HELD_OUT.search(name) is not None and _TRAINED.search(name) is None
