"""Cause: the model memorises the training data."""

from __future__ import annotations

from traindx.causes.base import Case, Cause
from traindx.causes.calm import CALM_CURVES, CALM_INSIDE

DOC = """\
## What you see
The train loss goes on falling, validation turns and rises. The gap widens with every epoch. The best validation value
lies far before the end of the run. Accuracy may go on improving for a while after the validation *loss* has turned:
then the model is growing overconfident rather than worse.

## Why it happens
Capacity exceeds what the data pins down: few samples, noisy labels, many epochs, little regularisation. Networks can
memorise even random labels (Zhang et al. 2017), and they learn the true pattern first and the noise afterwards. On
400 digits with 40 % random labels, validation accuracy was 89 % after 5 epochs, 76 % after 20 and 72 % after 80,
while the train loss fell from 1.4 towards zero. The ratio of parameters to samples is a weak guide: large networks
often generalise well.

## How to tell it from its look-alikes
Look at the *turn*, not at the gap. A constant gap is normal. traindx tests whether validation has left its best value
by more than its noise while train improved, and since when. Limits such as "20 points of accuracy" or "twice the
loss" miss early cases and fire on healthy ones. Validation that is bad *from the first epoch* is no overfitting:
unlike preprocessing, unlike labels, evaluation in train mode, or an unshuffled tail split (Keras `validation_split`
takes the last rows). One jump is a spike, scatter a small validation set. Double descent looks the same at first:
validation worsens around the point where train error reaches zero, then improves again.

## How to fix it
1. `early-stopping`: keep the best checkpoint; nothing has to be trained again.
2. `add-regularisation`: dropout 0.1 to 0.3 (0.5 in wide heads), weight decay 0.01 to 0.1 with AdamW, label smoothing.
3. `use-adamw` if Adam's `weight_decay` has no visible effect.
4. `augment-data`.
5. `use-pretrained` weights when samples are few.
6. `get-more-data`, after a learning curve.
7. `smaller-model`; `ensemble-models` for the last points; `cross-validate` to know whether the gap is real.

## What NOT to do
- Do not train on to wait for a better value, unless double descent is likely.
- Do not stop at the peak of a double descent: longer training or a larger model passes it.
- Do not choose settings on the test set: that overfits too.
- Do not lower the learning rate for it: the same memory forms, later.

## References
- Zhang et al., *Understanding Deep Learning Requires Rethinking Generalization*, ICLR 2017.
- Prechelt, *Early Stopping: But When?*, 1998.
- Belkin et al., *Reconciling Modern Machine-Learning Practice and the Classical Bias-Variance Trade-Off*, PNAS 2019.
- Nakkiran et al., *Deep Double Descent*, ICLR 2020.
- Guo et al., *On Calibration of Modern Neural Networks*, ICML 2017.
"""

CAUSE = Cause(
    id="overfitting",
    title="overfitting: memorised training data",
    group="capacity",
    check="score the checkpoint of the best epoch on data that nobody has tuned on: it beats the last one if so",
    prior="very common",
    predicts={
        "straight-path": "never",
        "validation-seen-in-training": "never",
        "val-inputs-differ": "never",
        "evaluated-in-train-mode": "never",
        "overfitting-gap": "always",
        "val-left-behind": "sometimes",
        "val-noisy": "sometimes",
        "val-spike": "sometimes",
        "double-descent": "sometimes",
        "plateau": "rarely",
        "still-improving": "sometimes",
        "oscillation": "rarely",
        "loss-spike": "rarely",
        "slow-convergence": "rarely",
        "divergence": "rarely",
        "val-at-chance": "rarely",
        "high-initial-loss": "rarely",
        "vanishing-gradients": "never",
        "prediction-collapse": "never",
        "flat-from-start": "never",
        "loss-at-chance": "never",
        "underfitting": "never",
        "nonfinite-loss": "never",
        "nonfinite-gradient": "never",
        "nonfinite-weight": "never",
        "no-gradient": "never",
        "unchanged-weights": "never",
        "batch-not-learned": "never",
        "batch-diverges": "never",
        "lr-above-stable": "never",
        "batch-barely-moves": "never",
        "lr-below-useful": "never",
    },
    look_alikes={
        "val-preprocessing-mismatch": "validation is bad from the first epoch and never had a good time",
        "train-val-label-mismatch": "validation sits at chance or below from the start",
        "train-mode-during-eval": "validation scatters, and two evaluations of the same weights differ",
        "not-shuffled": "an unshuffled tail split gives validation other classes: compare the class mix of the splits",
    },
    fixes=(
        "early-stopping",
        "add-regularisation",
        "use-adamw",
        "augment-data",
        "use-pretrained",
        "get-more-data",
        "smaller-model",
        "ensemble-models",
        "cross-validate",
    ),
    do_not=(
        "train on in the hope of a better value: the best checkpoint lies behind you, unless double descent is likely",
        "stop at the peak of a double descent: longer training or a larger model passes it",
        "lower the learning rate for it: the same memory forms, only later",
        "choose settings on the test set: that overfits as well",
    ),
    doc=DOC,
    cases=(
        Case(
            "fires",
            "train to zero, validation best at a third of the run and rising since",
            present=("overfitting-gap",),
            absent=(
                "flat-from-start",
                "underfitting",
                "nonfinite-loss",
                "divergence",
                "val-at-chance",
                "plateau",
                "loss-at-chance",
            ),
        ),
        Case("healthy", "validation follows train at a constant distance", absent=CALM_CURVES + CALM_INSIDE),
        Case(
            "look-alike",
            "both losses stay high together",
            present=("underfitting", "plateau"),
            absent=("overfitting-gap",),
            expects="model-too-small",
        ),
        Case("missing", "no validation was logged", absent=("flat-from-start", "nonfinite-loss")),
    ),
)
