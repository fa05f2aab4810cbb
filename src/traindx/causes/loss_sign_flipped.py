"""Cause: the objective is optimised in the wrong direction."""

from __future__ import annotations

from traindx.causes.base import Case, Cause
from traindx.causes.calm import CALM_CURVES, CALM_INSIDE

DOC = """\
## What you see
Training makes the model worse, steadily and fast. Either the logged loss rises from the first step on, or it falls
below zero without end while accuracy drops *below* chance: 0 % where guessing gives 10 %.

## Why it happens
Optimizers minimise. Something gave them a quantity to maximise, or a minus sign too many:

- a score used as a loss: Dice, IoU, SSIM, cosine similarity, log-likelihood, reward, R²;
- `loss = -criterion(...)`, often left over from an adversarial or reinforcement experiment;
- `maximize=True` in the optimizer, or gradients negated by a reversal layer that should not be there;
- `p.data += lr * p.grad` in a hand-written step;
- one term of a sum with the wrong sign, so that it grows until it swamps the others.

Cross-entropy has no upper bound, so climbing it has no end: on ten digits the negated loss went from -2.5 in the first
epoch to -13545 in the fortieth. Accuracy was 0.0 % after the first epoch and later one constant class.

Bounded scores behave better and mislead more: minimising Dice settles calmly at 0.

## How to tell it from its look-alikes
Accuracy below chance is the signature. A model that knows nothing sits at chance; to be systematically wrong it must
have learned. Permuted validation labels do that to validation only, here train is wrong too. `nll-without-log-softmax`
also falls below zero, yet its accuracy hovers at chance. `lr-too-high` diverges in jumps with huge updates, a flipped
sign climbs smoothly. The test costs one step: with a tiny rate, the loss on the same batch must fall after the update.

```python
before = loss_fn(model(x), y); optimizer.zero_grad(); before.backward(); optimizer.step()
print((loss_fn(model(x), y) - before).item())   # must be negative for a small learning rate
```

## How to fix it
1. Turn scores into losses: `1 - dice`, `-log_likelihood`, `1 - cosine`.
2. Remove the stray minus or `maximize=True`; give every term of a sum a sign that is "smaller is better".
3. Start again from the initial weights: these were driven away from the solution.

## What NOT to do
- Do not lower the learning rate: it slows the walk in the wrong direction.
- Do not clip gradients: the direction stays wrong.
- Do not flip the predictions instead: a binary model inverted this way is uncalibrated and still diverging.

## References
- Goodfellow, Bengio and Courville, *Deep Learning*, 2016, section 4.3 (gradient-based optimisation).
- Ganin et al., *Domain-Adversarial Training of Neural Networks*, JMLR 2016 (where a reversed gradient is intended).
- PyTorch documentation, *torch.optim* (`maximize`).
"""

CAUSE = Cause(
    id="loss-sign-flipped",
    title="loss with the wrong sign",
    group="loss and output",
    check="print the loss of a perfect prediction: it must be lower than that of a random one",
    prior="rare",
    predicts={
        "nan-from-growth": "often",
        "nonfinite-inputs": "never",
        "loss-maximised": "always",
        "divergence": "often",
        "negative-loss": "often",
        "exploding-gradients": "often",
        "nonfinite-loss": "often",
        "nonfinite-weight": "sometimes",
        "nonfinite-gradient": "sometimes",
        "huge-updates": "sometimes",
        "still-improving": "sometimes",
        "prediction-collapse": "often",
        "val-at-chance": "sometimes",
        "high-initial-loss": "rarely",
        "flat-from-start": "rarely",
        "loss-at-chance": "never",
        "plateau": "rarely",
        "slow-convergence": "rarely",
        "oscillation": "never",
        "loss-spike": "rarely",
        "overfitting-gap": "rarely",
        "underfitting": "sometimes",
        "suspiciously-good": "never",
        "no-gradient": "never",
        "unchanged-weights": "never",
        "vanishing-gradients": "never",
        "tiny-updates": "never",
        "loss-scale-collapse": "never",
    },
    look_alikes={
        "nll-without-log-softmax": "negative as well, but accuracy hovers at chance instead of falling below it",
        "lr-too-high": "diverges in jumps and swings; a flipped sign climbs smoothly from the first step",
        "train-val-label-mismatch": "only validation is below chance; with a flipped sign train is too",
        "healthy": "a maximised objective (reward, likelihood, ELBO) is meant to rise",
    },
    fixes=("flip-loss-sign",),
    line=("sign",),
    do_not=(
        "lower the learning rate: it only slows the walk in the wrong direction",
        "clip gradients: their direction is wrong, not their size",
        "invert the predictions: the model is uncalibrated and still diverging",
    ),
    doc=DOC,
    cases=(
        Case(
            "fires",
            "the loss falls below zero without end, gradients grow, it leaves its start for good",
            present=("negative-loss", "divergence", "exploding-gradients"),
            absent=(
                "loss-spike",
                "oscillation",
                "plateau",
                "flat-from-start",
                "unchanged-weights",
                "high-initial-loss",
                "tiny-updates",
            ),
            within=3,
        ),
        Case("healthy", "the loss falls and stays positive", absent=CALM_CURVES + CALM_INSIDE),
        Case(
            "look-alike",
            "the loss swings wildly, updates are huge, then it diverges",
            present=("divergence", "oscillation", "loss-spike", "huge-updates"),
            absent=("negative-loss",),
            expects="lr-too-high",
        ),
        Case("missing", "only that the loss rose", present=("divergence",)),
    ),
)
