"""template-differs: training samples are not written as the tokenizer's template, or generation, writes them."""

from __future__ import annotations

import re

from traindx.diagnosis import Observation
from traindx.measurements import GenerationCalls, Measured, SpecialTokens, TokenCounts
from traindx.symptoms.base import Case, Symptom, percent
from traindx.symptoms.observed import from_measurements, seen
from traindx.symptoms.token_counts import SAMPLES, counts_of, special_of, special_tokens, token_counts
from traindx.thresholds import Threshold

ID = "template-differs"
MOST_SAMPLES = Threshold(0.5, "of the samples", "a fault of the code that writes them hits all samples")
NONE = Threshold(0.1, "of the samples", "with a few of them the template is in use", side="below")
PROMPTS = Threshold(2, "prompts given to generate", "one may be tried on purpose")
OPENING = Threshold(2, "tokens before answers", "one may end any text")
CHAT_MARKER = re.compile(r"<\||\[/?INST\]|<(?:start|end)_of_turn>")  # of another model's chat template
# clarity: what cannot be meant, another model's chat template, and a plain text format, which is right wherever the
# model is asked in it
SEEN, OTHER_FORMAT, PLAIN_FORMAT = 1.0, 0.8, 0.3


def judge(measured: Measured) -> Observation | None:
    counts = counts_of(measured)
    special = special_of(measured, counts)
    asked = [one for one in measured.latest(GenerationCalls) if PROMPTS.reached(one.compared)]
    for calls in asked:
        if NONE.reached(calls.opened / calls.compared):
            text = (
                f"None of {calls.compared} prompts given to generate ends as prompts do in training: what stands "
                "before every answer there is missing."
            )
            return seen(ID, True, text, at=calls, clarity=SEEN)
    if special is None or not SAMPLES.reached(special.samples):
        return None
    return (
        _against_evaluation(measured, special)
        or _against_template(special, generated=bool(asked))
        or _without_bos(counts, special)
    )


def _without_bos(counts: TokenCounts | None, special: SpecialTokens) -> Observation | None:
    """Samples with answers that lack the begin-of-sequence token which the tokenizer puts before any text: right for a
    model that never saw one, and the template's own choice where that is in use."""
    if counts is None or not special.adds_bos or not MOST_SAMPLES.reached(counts.structured / counts.samples):
        return None
    if not NONE.reached((special.bos_single + special.bos_doubled) / special.samples):
        return None
    text = (
        f"None of {special.samples} training samples begins with the begin-of-sequence token (token {special.bos}), "
        "which the tokenizer puts before every text it encodes, prompts to generate from among them."
    )
    return seen(ID, True, text, at=special, clarity=PLAIN_FORMAT)


def _against_template(special: SpecialTokens, *, generated: bool) -> Observation | None:
    split = special.split_markers / special.samples
    if MOST_SAMPLES.reached(split):
        text = (
            f"In {percent(split)} of the training samples the marker {special.split} is encoded as several tokens "
            "instead of one."
        )
        return seen(ID, True, text, at=special, clarity=SEEN)
    other = special.other_markers / special.samples
    own = special.own_markers / special.samples
    if special.has_template and MOST_SAMPLES.reached(other) and NONE.reached(own) and not generated:
        text = (
            f"{percent(other)} of the training samples are written with {special.other!r} before answers, and none "
            "with the tokenizer's own chat template."
        )
        known = CHAT_MARKER.search(special.other) is not None
        return seen(ID, True, text, at=special, clarity=OTHER_FORMAT if known else PLAIN_FORMAT)
    if MOST_SAMPLES.reached(own) and special.generation_prompt is False:
        text = "The tokenizer's template opens no answer with add_generation_prompt: generation begins differently."
        return seen(ID, True, text, at=special, clarity=SEEN)
    if MOST_SAMPLES.reached(own):
        return seen(ID, False, "Training samples are written with the tokenizer's own chat template.", at=special)
    return seen(ID, False, "No other template is in use.", at=special) if generated else None


def _against_evaluation(measured: Measured, special: SpecialTokens) -> Observation | None:
    evaluated = special_of(measured, counts_of(measured, evaluation=True))
    if evaluated is None or not SAMPLES.reached(evaluated.samples):
        return None
    here, there = ((one.own_markers + one.other_markers) / one.samples for one in (special, evaluated))
    if MOST_SAMPLES.reached(here) and NONE.reached(there):
        text = (
            f"{percent(here)} of the training samples have markers before answers, and {percent(there)} of the "
            "evaluated ones."
        )
        return seen(ID, True, text, at=evaluated, clarity=OTHER_FORMAT)
    marked = _marker(special), _marker(evaluated)
    if all(marked) and marked[0] != marked[1]:
        text = f"Answers follow {marked[0]} in training and {marked[1]} in evaluation."
        return seen(ID, True, text, at=evaluated, clarity=OTHER_FORMAT)
    count = min(len(special.opening), len(evaluated.opening))
    if OPENING.reached(count) and special.opening[-count:] != evaluated.opening[-count:]:
        text = (
            f"The last {count} tokens before every answer are others in evaluation than in training: prompts are "
            "written in two ways."
        )
        return seen(ID, True, text, at=evaluated, clarity=OTHER_FORMAT)
    return None


def _marker(special: SpecialTokens) -> str:
    """What stands before most answers; '' where that does not show."""
    if MOST_SAMPLES.reached(special.own_markers / special.samples):
        return "the tokenizer's own template"
    return repr(special.other) if MOST_SAMPLES.reached(special.other_markers / special.samples) else ""


def _asked(compared: int, opened: int) -> GenerationCalls:
    return GenerationCalls(calls=2, rows=8, uneven=0, right_padded=0, compared=compared, opened=opened)


_ALPACA = special_tokens(has_template=True, other_markers=32, other="### Response:")

SYMPTOM = Symptom(
    id=ID,
    title="template differs",
    severity="problem",
    family=ID,
    background=0.002,
    needs=("loss function", "targets", "input tokens", "tokenizer"),
    doc="""
## What is observed
Samples are written in another way than the tokenizer's own chat template does, markers such as `<|im_start|>` are
broken into pieces, evaluated samples lack the markers of training ones or have others, what is given to `generate`
does not end as prompts do in training, or no sample begins with the begin-of-sequence token that the tokenizer adds.

## How it is measured
A recording has the tokenizer write a short conversation, and looks for what it puts before answers in the training
samples; otherwise for the markers of other formats. Present where at least half of the samples have those of another
format and at most 10 % its own, where a control marker is several tokens in half of them, where add_generation_prompt
writes nothing, or where at most 10 % of the prompts given to `generate` end with the tokens that stand before every
answer in training.

## Healthy range
Training, evaluation and generation write conversations in one way. A tokenizer without a template may be given any
format. Plain words before answers (`Answer:`, `### Response:`) beside a tokenizer that has a template are weak
evidence: they are right wherever the model is asked in the same words. So is a missing begin-of-sequence token, which
is right for a model that never saw one.

## What it usually means
A format written by hand beside a tokenizer that has its own, `add_generation_prompt=True` forgotten, or markers that
were never added to the tokenizer.
""",
    detect=from_measurements(ID, judge),
    cases=(
        Case("another format than the tokenizer's", "present", measured=(token_counts(), _ALPACA)),
        Case("the same format in generation", "absent", measured=(token_counts(), _ALPACA, _asked(8, 8))),
        Case(
            "a tokenizer without a template",
            "unknown",
            measured=(token_counts(), special_tokens(other_markers=32, other="### Response:")),
        ),
        Case(
            "its own template",
            "absent",
            measured=(token_counts(), special_tokens(has_template=True, own_markers=32, generation_prompt=True)),
        ),
        Case(
            "markers in pieces",
            "present",
            measured=(
                token_counts(),
                special_tokens(has_template=True, own_markers=32, split_markers=32, split="<|im_end|>"),
            ),
        ),
        Case(
            "generation without the opening of an answer",
            "present",
            measured=(token_counts(), special_tokens(has_template=True, own_markers=32), _asked(8, 0)),
        ),
        Case(
            "evaluated as plain text",
            "present",
            measured=(
                token_counts(),
                special_tokens(has_template=True, own_markers=32, generation_prompt=True),
                token_counts(evaluation=True),
                special_tokens(evaluation=True, has_template=True),
            ),
        ),
        Case(
            "evaluated in another format",
            "present",
            measured=(
                token_counts(),
                special_tokens(has_template=True, own_markers=32, generation_prompt=True),
                token_counts(evaluation=True),
                special_tokens(evaluation=True, has_template=True, other_markers=32, other="### Response:"),
            ),
        ),
        Case(
            "evaluated with other words before answers",
            "present",
            measured=(
                token_counts(),
                special_tokens(opening=(5, 6, 7)),
                token_counts(evaluation=True),
                special_tokens(evaluation=True, opening=(8, 9)),
            ),
        ),
        Case(
            "without what the tokenizer puts before a text",
            "present",
            measured=(token_counts(structured=32, prompt=900, answer=500), special_tokens(bos_single=0)),
        ),
        Case("running text without it", "unknown", measured=(token_counts(), special_tokens(bos_single=0))),
        Case("running text", "unknown", measured=(token_counts(), special_tokens(has_template=True))),
        Case("a log alone", "unknown"),
    ),
)
