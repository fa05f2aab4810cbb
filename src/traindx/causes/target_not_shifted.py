"""Cause: next-token targets are not shifted by exactly one."""

from __future__ import annotations

from traindx.causes.base import Case, Cause
from traindx.causes.calm import CALM_CURVES, CALM_INSIDE

DOC = """\
## What you see
Not shifted: the loss of a language model drops to nearly zero within a few hundred steps, validation with it. The model
repeats its input. Shifted twice: training looks ordinary but ends well above the losses published for such a model, and
generation skips a token.

## Why it happens
The target of position t is the token at t+1. Without the shift the model is asked to repeat the token it has just been
given. The residual stream carries that token straight to the tied output matrix, so even one layer solves it.

The double shift has another source. Hugging Face causal models shift the labels themselves: `labels=input_ids` is
right, and labels that were shifted by hand are shifted again. nanoGPT-style models want targets that *are* shifted.
Moving data code from one to the other gives the fault in one direction or the other. A teacher-forced decoder has the
same trap: its input must start with a begin token and lag the target by one.

## How to tell it from its look-alikes
`suspiciously-good` with an extremely fast fall and no gap. A missing causal mask needs more time, since attention has
to learn to look right. A leak between the splits shows in validation only. The double shift reads as `underfitting`:
compare the final loss with a published model of that size before blaming capacity. Eyes decide in a minute:

```python
for x, y in zip(tokens[0, :12].tolist(), targets[0, :12].tolist()):
    print(tokenizer.decode([x]), "->", tokenizer.decode([y]))   # every right column is the next row's left column
```

A useful bound: natural English costs about 1 bit per character for the best models, near 0.7 nats. A small model far
below that is copying.

## How to fix it
1. Shift once, in one place: `logits[:, :-1]` against `tokens[:, 1:]`, or let the library do it and pass labels
   unshifted.
2. Mask the last position or drop it. It has no target.
3. Start again: the weights encode a copy.

## What NOT to do
- Do not add regularisation: nothing is memorised, the task is trivial.
- Do not enlarge a model whose targets were shifted twice: two tokens ahead is simply harder.
- Do not trust teacher-forced accuracy: only free-running generation shows the fault.

## References
- Radford et al., *Improving Language Understanding by Generative Pre-Training*, 2018.
- Williams and Zipser, *A Learning Algorithm for Continually Running Fully Recurrent Neural Networks*, 1989 (teacher
  forcing).
- Hugging Face Transformers documentation, *Causal language modeling*: labels are shifted inside the model.
- Shannon, *Prediction and Entropy of Printed English*, 1951.
"""

CAUSE = Cause(
    id="target-not-shifted",
    title="targets not shifted by one",
    group="wiring",
    check="print inputs[0] and targets[0]: targets must be one token ahead, and shifted only once",
    prior="rare",
    predicts={
        "outcome-poor": "often",
        "targets-not-next-token": "always",
        "suspiciously-good": "usually",
        "underfitting": "sometimes",
        "plateau": "sometimes",
        "still-improving": "rarely",
        "overfitting-gap": "rarely",
        "flat-from-start": "never",
        "loss-at-chance": "rarely",
        "val-at-chance": "never",
        "val-noisy": "rarely",
        "slow-convergence": "rarely",
        "oscillation": "rarely",
        "divergence": "never",
        "loss-spike": "rarely",
        "nonfinite-loss": "never",
        "negative-loss": "never",
        "no-gradient": "never",
        "unchanged-weights": "never",
        "prediction-collapse": "never",
    },
    look_alikes={
        "causal-mask-missing": "attention has to learn to look ahead, so the loss falls later and stays above zero",
        "train-val-leak": "train is ordinary and validation is too good; here both collapse to zero together",
        "softmax-wrong-dim": "a batch of one gives exactly zero from the first step, before anything was learned",
        "model-too-small": "a doubly shifted target gets no easier with more capacity",
    },
    fixes=("shift-targets",),
    line=("target-piece", "loss"),
    do_not=(
        "add regularisation: nothing is being memorised, the task has become copying",
        "scale up a model with doubly shifted targets: two tokens ahead stays hard at any size",
        "judge by teacher-forced accuracy: only free-running generation shows the fault",
    ),
    doc=DOC,
    cases=(
        Case(
            "fires",
            "loss 0.01 after 300 steps on English text, validation the same, flat since",
            present=("suspiciously-good", "plateau"),
            absent=("overfitting-gap", "val-at-chance", "still-improving", "loss-at-chance", "slow-convergence"),
            within=4,
        ),
        Case("healthy", "loss ends at a known level for the corpus", absent=CALM_CURVES + CALM_INSIDE),
        Case(
            "look-alike",
            "train and validation both stay high and calm",
            present=("underfitting", "plateau"),
            absent=("suspiciously-good", "overfitting-gap"),
            expects="model-too-small",
        ),
        Case("missing", "only a plateau is known", present=("plateau",)),
    ),
)
