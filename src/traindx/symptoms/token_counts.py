"""What symptoms of language models share: the counts of training batches, those of the loss that saw most of them."""

from __future__ import annotations

from traindx.measurements import Measured, SpecialTokens, TokenCounts
from traindx.signals.started import NEXT
from traindx.thresholds import Threshold

SAMPLES = Threshold(6, "samples", "below, one odd sample is more than a tenth of them")


def predicts_next(counts: TokenCounts) -> bool:
    """Whether the targets that count are next tokens, as in a causal language model."""
    return NEXT.reached(counts.next / max(1, counts.counted))


def counts_of(measured: Measured, *, evaluation: bool = False) -> TokenCounts | None:
    """The last counts of the loss that saw most tokens."""
    found = [one for one in measured.latest(TokenCounts) if one.evaluation == evaluation]
    return max(found, key=lambda one: one.tokens, default=None)


def special_of(measured: Measured, counts: TokenCounts | None) -> SpecialTokens | None:
    """What goes with these counts."""
    if counts is None:
        return None
    found = [
        one for one in measured.all(SpecialTokens) if one.evaluation == counts.evaluation and one.where == counts.where
    ]
    return found[-1] if found else None


def token_counts(
    samples: int = 32, *, counted: int = 800, empty: int = 0, prompt: int = 0, prompt_counted: int = 0, answer: int = 0,
    structured: int = 0, evaluation: bool = False, at_limit: int = 1, at_limit_open: int = 0, without_answer: int = 0,
    padding: int = 200, padding_counted: int = 0, next: int = -1, same: int = 20, second: int = 20,
    known_by: str = "template", where: str = "train.py:30",
) -> TokenCounts:  # fmt: skip
    """Counts of a fine-tuning, for cases."""
    return TokenCounts(
        evaluation=evaluation, batches=8, samples=samples, tokens=1600, padding=padding, counted=counted,
        padding_counted=padding_counted, same=same, next=counted if next < 0 else next, second=second, repeated=0.05,
        empty=empty, longest=64, at_limit=at_limit, at_limit_open=at_limit_open, structured=structured,
        known_by=known_by if structured else "", without_answer=without_answer, prompt=prompt,
        prompt_counted=prompt_counted, answer=answer, answer_counted=answer, vocabulary=400,
        where=f"{where} in evaluation" if evaluation else where,
    )  # fmt: skip


def special_tokens(
    samples: int = 32, *, pad: int | None = 0, eos: int | None = 2, complete: int = 28, ended: int = 28,
    end_counted: int = 28, eos_counted: int = 28, bos_single: int = 32, bos_doubled: int = 0,
    has_template: bool = False, own_markers: int = 0, other_markers: int = 0, other: str = "", split_markers: int = 0,
    split: str = "", template_ends: bool | None = None, generation_prompt: bool | None = None, evaluation: bool = False,
    opening: tuple[int, ...] = (),
) -> SpecialTokens:  # fmt: skip
    """Special tokens of a fine-tuning, for cases."""
    return SpecialTokens(
        evaluation=evaluation, tokenizer="LlamaTokenizer", samples=samples, pad=pad, eos=eos, bos=1, adds_bos=True,
        eos_tokens=ended, eos_counted=eos_counted, complete=complete, ended=ended, end_counted=end_counted,
        bos_single=bos_single, bos_doubled=bos_doubled, has_template=has_template, template_ends=template_ends,
        generation_prompt=generation_prompt, own_markers=own_markers, other_markers=other_markers, other=other,
        split_markers=split_markers, split=split, opening=opening,
        where="train.py:30 in evaluation" if evaluation else "train.py:30",
    )  # fmt: skip
