"""A batch of a language model as its loss sees it: a panel a sample, every token with what belongs to it."""

from __future__ import annotations

from collections.abc import Sequence

from traindx.measurements import TokenSample, TokenSamples
from traindx.reporters.batches.excerpt import held, pieces, title
from traindx.reporters.html.markup import Html, tag
from traindx.reporters.wording import clean, number
from traindx.token_samples import CLASSES, stretches

_LEVELS = (0.5, 2.0, 4.0)  # nats: from which a token's loss is drawn stronger


def batches(given: Sequence[TokenSamples]) -> Html | None:
    if not given:
        return None
    legend = [
        tag("span", tag("span", name, class_=f"token {name}"), " ", said, class_="small soft")
        for name, said in (("counted", "in the loss, the darker the higher its loss"), ("ignored", "not in the loss"))
    ]
    return tag(
        "section",
        tag("h2", "What the loss sees"),
        tag("p", legend, " ", tag("span", "special", class_="token special"), class_="lead small keys"),
        [_batch(one) for one in given],
        class_="card",
    )


def _batch(batch: TokenSamples) -> Html:
    aside = " · ".join(part for part in (batch.tokenizer, batch.where) if part)
    return tag(
        "div",
        tag("h3", title(batch), tag("span", f" {aside}", class_="soft small")),
        [_sample(sample, place) for place, sample in enumerate(batch.samples, 1)],
        class_="map",
    )


def _sample(sample: TokenSample, place: int) -> Html:
    private = not sample.pieces and not sample.ids
    tokens = _classes(sample) if private else _tokens(sample)
    return tag(
        "figure",
        tag("figcaption", f"Sample {place}, {held(sample)}", class_="small"),
        tag("p", tokens, class_="tokens", tabindex=0, role="region", aria_label=f"tokens of sample {place}"),
    )


def _classes(sample: TokenSample) -> list[Html]:
    return [
        tag("span", text, class_=f"token {CLASSES[one.letter]} {'counted' if one.counted else 'ignored'}")
        for text, one in zip(pieces(sample), stretches(sample), strict=True)
    ]


def _tokens(sample: TokenSample) -> list[Html]:
    return [
        tag("span", text or " ", class_=_class(sample, place), title=_hover(sample, place))
        for place, text in enumerate(pieces(sample))
    ]


def _class(sample: TokenSample, place: int) -> str:
    counted, loss = sample.counted[place] == "1", sample.losses[place]
    level = sum(loss >= limit for limit in _LEVELS) if loss is not None else 0
    state = f"counted loss-{level}" if counted else "ignored"
    return f"token {CLASSES[sample.classes[place]]} {state}"


def _hover(sample: TokenSample, place: int) -> str:
    """Everything known of one token."""
    loss = sample.losses[place]
    parts = [CLASSES[sample.classes[place]], f"place {sample.first + place}"]
    if sample.ids:
        parts.append(f"id {sample.ids[place]}")
    if sample.positions:
        parts.append(f"position id {sample.positions[place]}")
    if sample.attention:
        parts.append("attended" if sample.attention[place] == "1" else "hidden by the attention mask")
    if sample.labels and sample.labels[place] is not None:
        parts.append(f"label {sample.labels[place]}")
    parts.append("counted" if sample.counted[place] == "1" else "not counted")
    if loss is not None:
        parts.append(f"loss {number(loss)}")
    return clean(" · ".join(parts))
