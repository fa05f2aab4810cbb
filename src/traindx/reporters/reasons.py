"""Why a cause ranks where it does, as text: each piece of evidence with its weight in words and in log odds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from traindx.reporters.layout import Ink, hanging, wrap
from traindx.reporters.wording import clean, percent

if TYPE_CHECKING:  # `traindx --help` lists the report formats and must not load numpy for it
    from traindx.engine.reasons import Lacking, Reason, Why

MAX_WIDTH = 100
MOST_MISSING = 8
MOST_CHANGES = 6
_COLUMN = 20  # where the sentence beside a weight begins


def render(why: Why, source: str, *, color: bool, width: int) -> str:
    """One page: what speaks for the cause, what against, what nobody looked at, and what would change the answer."""
    ink, width = Ink(color), min(width, MAX_WIDTH)
    rank = "the likeliest explanation" if why.place == 1 else f"place {why.place}; first is {clean(why.top)}"
    lines = [*wrap(f"traindx · {clean(source)} · why {why.cause}?", width),
             *wrap(f"{why.title}: {percent(why.probability)}, {rank}.", width)]  # fmt: skip
    for label, reasons in (("For", why.supports), ("Against", why.contradicts)):
        lines += ["", ink(label, "heading")]
        lines += _reasons(reasons, width) or ["  nothing"]
    telling = [item for item in why.missing if _moves(item, why.probability)]
    shown = telling[:MOST_MISSING]
    lines += ["", ink("Not looked at", "heading") + "  (what it would do to the probability)"]
    lines += [line for item in shown for line in _lacking(item, why.probability, width)]
    lines += _ways(shown, width) if shown else ["  nothing that would move it"]
    if len(telling) > MOST_MISSING:
        lines.append(f"  and {len(telling) - MOST_MISSING} more (--json lists them)")
    lines += ["", ink("What would change the answer", "heading")]
    changes = [f"  {line}" for text in why.changes[:MOST_CHANGES] for line in wrap(clean(text), width - 2)]
    lines += changes or ["  no single finding; only several together"]
    return "\n".join(lines) + "\n"


def _reasons(reasons: Sequence[Reason], width: int) -> list[str]:
    lines: list[str] = []
    for reason in reasons:
        named = (
            "" if reason.id == "settings" else f"{clean(reason.id)}{'' if reason.state == 'present' else ' not seen'}: "
        )
        shared = " (adds little to the rest)" if reason.shared else ""
        text = f"{named}{clean(reason.sentence)}{shared}"
        lines += hanging(f"  {reason.strength:<9}{reason.shown:+6.1f}", [text], _COLUMN, width)
    return lines


def _lacking(item: Lacking, now: float, width: int) -> list[str]:
    sentence = f"{percent(now)} → {percent(item.if_present)} if seen, {percent(item.if_absent)} if ruled out"
    return hanging(f"  {item.id}", [sentence], 32, width)


def _moves(item: Lacking, now: float) -> bool:
    """Some finding changes the number a reader sees."""
    return len({percent(now), percent(item.if_present), percent(item.if_absent)}) > 1


def _ways(items: Sequence[Lacking], width: int) -> list[str]:
    """How to look at what nobody looked at, each way once."""
    by_way: dict[str, list[str]] = {}
    for item in items:
        by_way.setdefault(item.how, []).append(item.id)
    several = len(by_way) > 1
    sentence = [f"{clean(how)} ({', '.join(ids)})" if several else clean(how) for how, ids in by_way.items()]
    return hanging("  to look:", sentence, 12, width)
