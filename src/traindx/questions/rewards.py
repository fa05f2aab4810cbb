"""What only policies and preference models show."""

from __future__ import annotations

from traindx.questions.base import Choice, Question

QUESTION = Question(
    id="rewards",
    text="Which of these do the rewards, answers or pairs show?",
    why="Rewards that are all equal, answers that are cut, a KL divergence that runs away and a sampler that disagrees "
    "with the trainer each point to causes of their own, which the loss cannot show.",
    kind="many",
    choices=(
        Choice("equal", "all answers to a prompt earn the same", present=("reward-spread-zero",), overlooked=True),
        Choice("cut", "most answers end at the maximum length", present=("length-at-limit",), overlooked=True),
        Choice("length", "answers get much longer or shorter", present=("length-drifts",), overlooked=True),
        Choice("entropy", "the entropy has fallen to almost nothing", present=("entropy-low",), overlooked=True),
        Choice("kl", "the KL divergence is large or grows fast", present=("kl-high",), overlooked=True),
        Choice("ratio", "the probability ratio is always exactly 1", present=("ratio-pinned",), overlooked=True),
        Choice("clipped", "most of the terms are clipped, or none ever is", present=("clip-fraction-extreme",),
               overlooked=True),
        Choice("value", "the value loss grows without end", present=("value-loss-grows",), overlooked=True),
        Choice("proxy", "the reward rises but an independent score falls", present=("proxy-and-score-part",),
               overlooked=True),
        Choice("apart", "trainer and sampler give the same tokens other probabilities", present=("sampler-disagrees",),
               overlooked=True),
        Choice("drift", "trainer and sampler agreed at first and no longer do", present=("sampler-drifts",),
               overlooked=True),
        Choice("margin", "chosen and rejected answers are not told apart (margin 0)", present=("margin-zero",),
               overlooked=True),
        Choice("scale", "rewards or advantages are far from the size of one and are not normalised",
               leans={"advantages-not-normalized": 1.5, "reward-not-scaled": 1.5}, overlooked=True),
        Choice("swapped", "I have not read ten pairs or answers with their rewards",
               leans={"dpo-pairs-swapped": 0.5, "reward-answer-misaligned": 0.5, "dpo-beta-too-large": 0.2},
               overlooked=True),
    ),
    seconds=15,
    about=("reward-flat", "reward-falls", "divergence", "plateau", "flat-from-start"),
)  # fmt: skip
