"""Cause: labels do not belong to the samples they stand beside."""

from __future__ import annotations

from traindx.causes.base import Case, Cause
from traindx.causes.calm import CALM_CURVES, CALM_INSIDE

DOC = """\
## What you see
The loss stays near chance for epochs, or it falls very slowly while validation never leaves chance and then gets worse.
The code runs, gradients are healthy, and no learning rate helps.

## Why it happens
Inputs and labels were put in order separately:

- one of them was shuffled, sorted or filtered and the other was not (`X = X[perm]` without `y = y[perm]`);
- files listed by `os.listdir` for images and by name for labels: the two orders differ between machines;
- rows dropped from one table only, or joined on an index that was reset;
- an off-by-one in sequences: labels of frame t beside frame t+1;
- a cache of features built with an older split;
- augmentation that flips the image and not the mask or the boxes.

The network then sees random labels. It can still memorise them: Zhang et al. (2017) fitted ImageNet with random labels.
On
1350 digits with permuted labels the train loss fell from 2.31 to 1.56 in 200 epochs, validation rose from 2.31 to 2.96
at
9.6 % accuracy. Train progress proves nothing here.

A part that is misaligned is more common than all of it, and harder to see: accuracy is capped near the aligned share.

## How to tell it from its look-alikes
`loss-at-chance` on train with healthy gradients and moving weights, or `val-at-chance` with a growing gap. The learning
rate
does not matter: no factor of ten changes the picture, and that sets it apart from `lr-too-low` and `lr-too-high`. One
batch of eight can be memorised, so the wiring works; with `loss-shape-broadcast` or a detached graph it cannot. If
*only* validation is at chance while train reaches a good score quickly, suspect the validation pipeline:
`val-preprocessing-mismatch`, `train-val-label-mismatch`. True memorisation is slow, real learning is fast.

The proof is ocular: show sixteen samples with their labels, taken from the loader at the very point where the model
gets them.

## How to fix it
1. Look at samples with labels at the end of the pipeline, augmentation included.
2. Keep input and label in one record from the first line on; shuffle indices, never arrays.
3. Join on an explicit key and assert that nothing was lost.

## What NOT to do
- Do not search for a learning rate: no rate learns noise.
- Do not add capacity or epochs: you buy memorisation.
- Do not add regularisation against the gap: once memorising is made hard, nothing is left to learn.

## References
- Zhang et al., *Understanding Deep Learning Requires Rethinking Generalization*, ICLR 2017.
- Arpit et al., *A Closer Look at Memorization in Deep Networks*, ICML 2017 (real patterns are learned first).
- Northcutt, Jiang and Chuang, *Confident Learning: Estimating Uncertainty in Dataset Labels*, JAIR 2021.
- Karpathy, *A Recipe for Training Neural Networks*, 2019 (look at the data just before the network).
"""

CAUSE = Cause(
    id="labels-misaligned",
    title="labels misaligned with the inputs",
    group="data",
    check="decode five samples with their labels by eye, as they come out of the loader",
    prior="occasional",
    predicts={
        "outcome-poor": "often",
        "labels-unrelated": "always",
        "loss-at-chance": "usually",
        "val-at-chance": "usually",
        "flat-from-start": "often",
        "underfitting": "often",
        "overfitting-gap": "often",
        "val-left-behind": "sometimes",
        "slow-convergence": "often",
        "prediction-collapse": "often",
        "plateau": "sometimes",
        "vanishing-gradients": "never",
        "exploding-gradients": "never",
        "tiny-updates": "never",
        "dead-units": "never",
        "saturated-units": "never",
        "high-initial-loss": "rarely",
        "oscillation": "never",
        "divergence": "never",
        "loss-spike": "rarely",
        "nonfinite-loss": "never",
        "negative-loss": "never",
        "no-gradient": "never",
        "unchanged-weights": "never",
        "suspiciously-good": "never",
        "batch-not-learned": "never",
    },
    look_alikes={
        "lr-too-low": "ten times the rate helps there and changes nothing here",
        "loss-shape-broadcast": "not even two samples can be memorised; misaligned labels can be",
        "val-preprocessing-mismatch": "train reaches a good score fast; here train is at chance or memorises slowly",
        "frozen-params": "weights do not change; here they move freely and learn noise",
    },
    fixes=("check-label-alignment",),
    line=("shuffled-apart",),
    do_not=(
        "search for a learning rate: no rate learns noise",
        "add epochs or capacity: a flat loss is not underfitting, and memorisation is all you would buy",
        "add regularisation against the gap: once memorising is made hard, nothing is left to learn",
    ),
    doc=DOC,
    cases=(
        Case(
            "fires",
            "gradients and updates healthy, train at chance, validation at chance, no rate helps",
            present=("loss-at-chance", "val-at-chance", "flat-from-start"),
            absent=(
                "no-gradient",
                "unchanged-weights",
                "vanishing-gradients",
                "tiny-updates",
                "dead-units",
                "saturated-units",
                "exploding-gradients",
                "high-initial-loss",
                "nonfinite-loss",
            ),
            within=2,
        ),
        Case("healthy", "train and validation leave chance in the first epoch", absent=CALM_CURVES + CALM_INSIDE),
        Case(
            "look-alike",
            "the loss is flat and updates are a millionth of the weights",
            present=("flat-from-start", "tiny-updates", "slow-convergence"),
            absent=("unchanged-weights", "prediction-collapse", "loss-at-chance"),
            expects="lr-too-low",
        ),
        Case("missing", "only a flat loss", present=("flat-from-start",)),
    ),
)
