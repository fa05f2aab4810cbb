"""Cause: weights meant to be one tensor are two."""

from __future__ import annotations

from traindx.causes.base import Case, Cause
from traindx.causes.calm import CALM_CURVES, CALM_INSIDE

DOC = """\
## What you see
One of two pictures. After loading a checkpoint the first loss is far too high, near ln(vocabulary), although the model
is pretrained: the output head is random. Or training is merely slower and ends a little worse, with more parameters
than the paper reports: input embedding and output matrix train apart.

## Why it happens
Tying is an assignment: both modules must hold the same `Parameter` object. It breaks when

- `load_state_dict(strict=False)` meets a checkpoint that stores only one of the two names;
- the embedding is resized or replaced (`resize_token_embeddings`, `copy.deepcopy`) and the head keeps the old tensor;
- the values were copied (`head.weight.data = emb.weight.data.clone()`) instead of shared;
- sharding, pipeline stages or meta-device loading put the two modules in different places;
- the optimizer was built between the two steps and holds a tensor nobody uses any more.

For GPT-2 small the shared matrix is 50257 × 768 = 38.6 M of 124 M parameters. Untied, the model has 163 M. Press and
Wolf found that tying lowers perplexity while removing those weights; large modern models often untie on purpose, so an
untied model is a fault only when the config says otherwise.

## How to tell it from its look-alikes
traindx looks at identity: `head.weight is embedding.weight`, and at the parameter count. In a recording,
`unchanged-weights` or `no-gradient` on one of the two, or two different norms for tensors that should be one, decide
it. `high-initial-loss` of a pretrained model also comes from a wrong tokenizer or label mapping: then the head is not
random, its answers are permuted. A reset optimizer makes the loss jump for a while but returns; a lost tie needs real
relearning.

```python
print(model.lm_head.weight is model.transformer.wte.weight, sum(p.numel() for p in model.parameters()))
```

## How to fix it
1. Tie after loading and resizing, before building the optimizer; in Transformers call `model.tie_weights()`.
2. Load with `strict=True` and read the missing keys: a missing `lm_head.weight` is this fault announcing itself.
3. Assert the identity in a test.

## What NOT to do
- Do not copy the values once: two tensors drift apart from the first step.
- Do not lower the learning rate because the first loss is high: the head is simply random.
- Do not tie models that were trained untied: half of what they know is overwritten.

## References
- Press and Wolf, *Using the Output Embedding to Improve Language Models*, EACL 2017.
- Inan, Khosravi and Socher, *Tying Word Vectors and Word Classifiers*, ICLR 2017.
- Radford et al., *Language Models are Unsupervised Multitask Learners*, 2019.
"""

CAUSE = Cause(
    id="weights-not-tied",
    title="shared weights not tied",
    group="wiring",
    check="print head.weight is embedding.weight: it must be True",
    prior="rare",
    predicts={
        "tied-weights-apart": "always",
        "weights-at-start": "rarely",
        "high-initial-loss": "often",
        "slow-convergence": "often",
        "unchanged-weights": "often",
        "no-gradient": "sometimes",
        "plateau": "sometimes",
        "underfitting": "sometimes",
        "overfitting-gap": "sometimes",
        "loss-at-chance": "sometimes",
        "replica-mismatch": "rarely",
        "flat-from-start": "rarely",
        "prediction-collapse": "never",
        "suspiciously-good": "never",
        "nonfinite-loss": "never",
        "negative-loss": "never",
        "divergence": "never",
        "loss-spike": "rarely",
        "oscillation": "never",
        "val-noisy": "rarely",
        "val-at-chance": "rarely",
    },
    look_alikes={
        "init-too-large": "the first loss lies above ln(vocabulary); a random head of ordinary scale sits at it",
        "label-encoding-wrong": "the head is trained but its answers are permuted; here it is random",
        "optimizer-recreated": "the loss jumps at a restart and comes back soon; a lost head has to be relearned",
        "params-not-in-optimizer": "any layer may be missed; here it is exactly one of a pair that should be one tensor",  # noqa: E501
    },
    fixes=("tie-weights",),
    do_not=(
        "copy the values once: two tensors drift apart from the first step on",
        "lower the learning rate because the first loss is high: the head is random and must move",
        "tie a model that was trained untied: half of what it knows is overwritten",
    ),
    doc=DOC,
    cases=(
        Case(
            "fires",
            "a pretrained model starts at ln(vocabulary), learns slowly, and the old head never changes",
            present=("high-initial-loss", "slow-convergence", "unchanged-weights"),
            absent=("flat-from-start", "nonfinite-loss", "divergence", "oscillation", "prediction-collapse"),
            within=3,
        ),
        Case("healthy", "a pretrained model starts low and improves", absent=CALM_CURVES + CALM_INSIDE),
        Case(
            "look-alike",
            "features in the hundreds of thousands: the first loss is huge and gradients explode",
            present=("high-initial-loss", "exploding-gradients", "slow-convergence"),
            absent=("unchanged-weights", "no-gradient"),
            expects="inputs-not-normalized",
        ),
        Case("missing", "only a high first loss", present=("high-initial-loss",)),
    ),
    log_visible=False,
    needs="whether the two modules hold the same tensor, and the parameter count",
)
