"""Several runs side by side, from what the table knows of them already."""

from __future__ import annotations

from collections.abc import Sequence

from traindx.comparison.compare import compare
from traindx.reporters.comparison.page import comparison_body
from traindx.server.cards import Card
from traindx.server.pages import framed


def compare_page(cards: Sequence[Card]) -> str:
    """The comparison of these runs. Raises TraindxError where there is nothing to compare."""
    body = comparison_body(compare([card.summary for card in cards]))
    return framed("comparison · traindx", body, (("All runs", "/"),))
