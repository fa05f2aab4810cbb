"""What a cause is. One module a cause; a module that defines CAUSE is registered by being there."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

# How often a cause shows a symptom, in words; the engine turns them into probabilities (engine/words.py).
Strength = Literal["always", "usually", "often", "sometimes", "rarely", "never"]
Prior = Literal["very common", "common", "occasional", "rare"]
CaseKind = Literal["fires", "healthy", "look-alike", "missing"]

DOC_HEADINGS = (
    "## What you see",
    "## Why it happens",
    "## How to tell it from its look-alikes",
    "## How to fix it",
    "## What NOT to do",
    "## References",
)

# Symptoms that are measured only where a policy learns from rewards, and only where pairs are compared.
POLICY = (
    "reward-flat", "reward-falls", "reward-spread-zero", "proxy-and-score-part", "entropy-low", "kl-high",
    "ratio-pinned", "clip-fraction-extreme", "length-at-limit", "length-drifts", "value-loss-grows",
    "sampler-disagrees", "sampler-drifts", "reward-reversed", "advantages-off-rewards", "advantages-unscaled",
    "kl-pushed-up", "entropy-pushed-down", "exploration-missing", "actions-out-of-range", "squash-uncorrected",
    "terminals-bootstrapped",
    "discount-off", "target-network-still", "replay-repeats", "values-beyond-returns",
    "values-below-rewards",
)  # fmt: skip
PREFERENCE = (
    "margin-zero", "chosen-pushed-down", "equal-pairs", "reference-is-policy", "beta-large", "length-tells-pairs",
    "rejected-likelier",
)  # fmt: skip


@dataclass(frozen=True)
class Case:
    """An example the contract suite holds the cause to: which symptoms are present and absent (all others unknown).

    'fires': this cause must come first, or, where the evidence in a log cannot single it out, among the first `within`.
    'healthy': no problem symptom is present; this cause must stay below its prior and the verdict must be healthy.
    'look-alike': `expects` must rank before this cause. 'missing': so little is known that the cause may be listed but
    its confidence must stay under one half."""

    kind: CaseKind
    story: str
    present: tuple[str, ...] = ()
    absent: tuple[str, ...] = ()
    expects: str = ""
    within: int = 1


@dataclass(frozen=True)
class Cause:
    """`predicts` maps symptom ids to how often this cause shows them; a symptom not named is as likely as in any run.
    `look_alikes` maps cause ids to one sentence: the observation that separates the two. `fixes` are fix ids, least
    disruptive first. `log_visible`: a log alone can point to it; otherwise it needs a look inside (`needs` says
    what). `only_with`: symptoms of which one must have been measured at all: a run without any reward has no fault of
    one. `line` names the ways to find the line of the user's code that is to be changed, surest first (lines/).
    `check`: how somebody finds out by hand whether it is this one, in a few words."""

    id: str
    title: str
    group: str
    prior: Prior
    predicts: Mapping[str, Strength]
    look_alikes: Mapping[str, str]
    fixes: tuple[str, ...]
    do_not: tuple[str, ...]
    doc: str
    cases: tuple[Case, ...]
    log_visible: bool = True
    needs: str = ""
    only_with: tuple[str, ...] = ()
    line: tuple[str, ...] = ()
    check: str = ""
