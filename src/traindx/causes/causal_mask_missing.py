"""Cause: an autoregressive model can see the tokens it must predict."""

from __future__ import annotations

from traindx.causes.base import Case, Cause
from traindx.causes.calm import CALM_CURVES, CALM_INSIDE

DOC = """\
## What you see
A language model whose loss is too good. It falls at a normal pace at first, then keeps falling past the level that size
and data allow, and validation follows it down. Generated text is rubbish or one repeated token.

## Why it happens
Position t must only attend to positions up to t. Without the mask the next token stands in the context, and the model
learns to copy it. Validation is just as easy, so no gap warns you. Generation has no future to copy from, and fails.

Ways to lose the mask: `is_causal` left at False; a boolean mask with the opposite meaning (in
`scaled_dot_product_attention` True means *attend*, in `nn.MultiheadAttention` and `nn.TransformerEncoder` True means
*do not attend*); a mask added after the softmax; `mask.tril()` where `triu(1)` was meant; a padding mask that replaces
the causal one instead of joining it; an encoder architecture used as a decoder; a bidirectional RNN or an uncausal
convolution.

Measured on a small character GPT: with the mask loss 2.06, without it 1.16, validation 2.11 against 1.21. Perplexity
3.2 instead of 7.8 came from reading the answer.

## How to tell it from its look-alikes
`suspiciously-good` on train *and* validation, no `overfitting-gap`, a first loss near ln(vocabulary). In
`train-val-leak` only validation is too good for what training shows. In `target-not-shifted` the loss races to almost
zero within a few hundred steps, because copying the present position needs no attention at all. One probe decides:
change the last token of a prompt and see whether earlier logits change.

```python
model.eval()
a = tokens.clone(); a[:, -1] = (a[:, -1] + 1) % vocab_size
print((model(tokens) - model(a))[:, :-1].abs().max())   # must be 0
```

## How to fix it
1. Pass `is_causal=True`, or a lower-triangular mask before the softmax, and keep the probe above as a unit test.
2. Retrain from the start. Weights that learned to copy are worth little.

## What NOT to do
- Do not celebrate the perplexity: sample from the model first.
- Do not tune the sampling temperature: the logits rest on tokens that do not exist yet.
- Do not add dropout or decay: there is no overfitting to cure.

## References
- Vaswani et al., *Attention Is All You Need*, NeurIPS 2017, section 3.2.3.
- Radford et al., *Language Models are Unsupervised Multitask Learners*, 2019.
- PyTorch documentation, *torch.nn.functional.scaled_dot_product_attention* (mask semantics).
"""

CAUSE = Cause(
    id="causal-mask-missing",
    title="causal mask missing",
    group="wiring",
    check="change the last token of a prompt: no earlier output may change",
    prior="rare",
    predicts={
        "outcome-poor": "usually",
        "sees-the-future": "always",
        "suspiciously-good": "usually",
        "overfitting-gap": "never",
        "underfitting": "never",
        "flat-from-start": "never",
        "loss-at-chance": "never",
        "val-at-chance": "never",
        "val-noisy": "rarely",
        "val-spike": "rarely",
        "plateau": "rarely",
        "slow-convergence": "rarely",
        "oscillation": "never",
        "divergence": "never",
        "loss-spike": "rarely",
        "nonfinite-loss": "never",
        "negative-loss": "never",
        "no-gradient": "never",
        "unchanged-weights": "never",
        "high-initial-loss": "rarely",
        "still-improving": "often",
    },
    look_alikes={
        "target-not-shifted": "the loss reaches almost zero within a few hundred steps; without a mask it takes longer",
        "train-val-leak": "only validation is too good for the training behind it; here both are",
        "padding-not-masked": "the loss is diluted by padding and rises again when only real tokens are counted",
        "healthy": "an easy or repetitive corpus; earlier logits do not change when a later token is changed",
    },
    fixes=("add-causal-mask",),
    line=("attention",),
    do_not=(
        "report the perplexity: sample from the model first, it will produce rubbish",
        "tune temperature or top-p: the logits rest on tokens that will not be there",
        "fine-tune onwards from this checkpoint: the copying circuit has to be unlearned",
    ),
    doc=DOC,
    cases=(
        Case(
            "fires",
            "a character model reaches 1.16 nats where 2.06 is honest, validation alike, still falling",
            present=("suspiciously-good", "still-improving"),
            absent=("overfitting-gap", "val-at-chance", "val-noisy", "plateau", "loss-at-chance"),
            within=4,
        ),
        Case("healthy", "loss and validation end where models of that size end", absent=CALM_CURVES + CALM_INSIDE),
        Case(
            "look-alike",
            "train falls, validation turns upwards",
            present=("overfitting-gap",),
            absent=("suspiciously-good",),
            expects="overfitting",
        ),
        Case("missing", "only that the run stopped while improving", present=("still-improving",)),
    ),
)
