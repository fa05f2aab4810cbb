"""What picks, orders or shapes values and computes none: done to shares, it is done to their logarithms as well. Used
by the edit and the treatment of `log_space`."""

from __future__ import annotations

PICKING = frozenset(
    {
        "gather", "__getitem__", "index_select", "take_along_dim", "masked_select", "select", "narrow", "squeeze",
        "unsqueeze", "view", "reshape",
        "flatten", "permute", "transpose", "t", "movedim", "contiguous", "clone", "float", "double",
    }
)  # fmt: skip
