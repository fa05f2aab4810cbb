"""What a policy wrote, early and late, and what it earned with it."""

from __future__ import annotations

from collections.abc import Sequence

from traindx.measurements import RewardedAnswers
from traindx.reporters.html.markup import Html, tag
from traindx.reporters.wording import amount, clean, number


def answers(given: Sequence[RewardedAnswers]) -> Html | None:
    if not given:
        return None
    return tag("section", tag("h2", "What the policy wrote"), [_batch(one) for one in given], class_="card")


def _batch(batch: RewardedAnswers) -> Html:
    numbers = [tag("th", name, scope="col", class_="number") for name in ("reward", "tokens")]
    head = tag("tr", numbers, tag("th", "text", scope="col"))
    rows = [
        tag(
            "tr",
            tag("td", number(one.reward), class_="number"),
            tag("td", str(one.tokens), class_="number"),
            tag("td", clean(one.text) if one.text else tag("span", "not shown", class_="soft"), class_="wrap"),
        )
        for one in batch.answers
    ]
    title = f"step {batch.step}, {len(batch.answers)} of {amount(batch.total, 'text')}, best first"
    return tag(
        "div",
        tag("h3", title, tag("span", f" {batch.where}", class_="soft small")),
        tag("div", tag("table", tag("thead", head), tag("tbody", rows)), class_="table", tabindex=0, role="region",
            aria_label=f"texts of step {batch.step}"),
        class_="map",
    )  # fmt: skip
