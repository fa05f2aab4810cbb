"""Cause: linear layers follow each other without an activation."""

from __future__ import annotations

from traindx.causes.base import Case, Cause
from traindx.causes.calm import CALM_CURVES, CALM_INSIDE

DOC = """\
## What you see
Training is smooth and stops early. Train and validation end close together, at the level a linear model reaches. Making
the network wider or deeper changes nothing. On circles, spirals or XOR the accuracy stays near one half.

## Why it happens
A chain of linear layers is one linear layer: W2(W1 x) = (W2 W1) x. Convolutions and average pooling without an
activation collapse in the same way. Causes in code:

- the activation is created in `__init__` and never called in `forward`;
- `nn.Linear` layers listed one after the other in `nn.Sequential`;
- an activation applied to a tensor whose result is thrown away (`torch.relu(x)` without assignment);
- `activation=None` in a config, or `nn.Identity` left over from an experiment.

Dropout, BatchNorm and residual additions do not help: in evaluation they are all linear.

The task may hide it. On scikit-learn's 8×8 digits two stacked linear layers reached 97.5 % validation accuracy, as good
as a ReLU network of that size, because the data is nearly linearly separable. Deep linear networks also show the long
plateaus and sudden drops that look like real learning (Saxe et al. 2014).

## How to tell it from its look-alikes
`underfitting` with a calm `plateau`, healthy gradients and moving weights fits both this cause and `model-too-small`.
Double the width: a small model improves, a linear one does not. Or feed x, y and their midpoint: a linear network
satisfies f((x+y)/2) = (f(x)+f(y))/2 to rounding error. A log cannot tell them apart, so traindx asks for the model.

```python
a, b = torch.randn_like(x), torch.randn_like(x)
model.eval()
print((model((a + b) / 2) - (model(a) + model(b)) / 2).abs().max())   # about 1e-6: the model is linear
```

## How to fix it
1. Put an activation after every hidden linear or convolution layer, and none after the last.
2. Use an initialisation made for that activation: Kaiming for ReLU, Xavier for tanh.

## What NOT to do
- Do not add layers: a product of matrices is a matrix.
- Do not raise the learning rate: the model already sits at its optimum.
- Do not add an activation after the output layer as well: it bounds what can be predicted.

## References
- Leshno et al., *Multilayer Feedforward Networks with a Nonpolynomial Activation Function Can Approximate Any
  Function*,
  Neural Networks 1993.
- Saxe, McClelland and Ganguli, *Exact Solutions to the Nonlinear Dynamics of Learning in Deep Linear Networks*, ICLR
  2014.
- Goodfellow, Bengio and Courville, *Deep Learning*, 2016, chapter 6.
"""

CAUSE = Cause(
    id="missing-nonlinearity",
    title="no activation between linear layers",
    group="wiring",
    check="compare f((x + y) / 2) with (f(x) + f(y)) / 2: equal if the model is linear",
    prior="rare",
    predicts={
        "no-nonlinearity": "always",
        "underfitting": "usually",
        "plateau": "usually",
        "loss-at-chance": "sometimes",
        "flat-from-start": "rarely",
        "slow-convergence": "rarely",
        "overfitting-gap": "rarely",
        "dead-units": "never",
        "saturated-units": "never",
        "vanishing-gradients": "rarely",
        "exploding-gradients": "rarely",
        "no-gradient": "never",
        "unchanged-weights": "never",
        "tiny-updates": "never",
        "oscillation": "never",
        "loss-spike": "rarely",
        "divergence": "never",
        "nonfinite-loss": "never",
        "prediction-collapse": "never",
        "high-initial-loss": "rarely",
        "huge-updates": "never",
        "lr-schedule-anomaly": "never",
        "val-noisy": "rarely",
        "still-improving": "rarely",
        "suspiciously-good": "never",
        "val-at-chance": "never",
    },
    look_alikes={
        "model-too-small": "doubling the width helps a small model and never a linear one",
        "dropout-too-high": "removing dropout lowers the train loss at once; a linear model stays where it is",
        "vanishing-gradients": "per-layer gradients shrink towards the input; here they are even",
        "wrong-loss": "the metric does not follow the loss; here both stop at the linear optimum",
    },
    fixes=("add-activation", "default-init"),
    line=("hidden-layer",),
    do_not=(
        "add layers or width: stacked linear maps are one linear map",
        "raise the learning rate: the optimum of the linear model is already reached",
        "call it a data problem: a logistic regression reaching the same score shows where the limit is",
    ),
    doc=DOC,
    cases=(
        Case(
            "fires",
            "forward() forgets self.act: calm plateau, gradients and weights healthy, no unit ever dead",
            present=("underfitting", "plateau"),
            absent=(
                "dead-units",
                "saturated-units",
                "vanishing-gradients",
                "tiny-updates",
                "huge-updates",
                "no-gradient",
                "unchanged-weights",
                "prediction-collapse",
                "slow-convergence",
                "overfitting-gap",
                "oscillation",
                "high-initial-loss",
                "exploding-gradients",
                "still-improving",
            ),
            within=6,
        ),
        Case("healthy", "the loss falls well below the linear optimum", absent=CALM_CURVES + CALM_INSIDE),
        Case(
            "look-alike",
            "an early plateau with most hidden units off",
            present=("underfitting", "plateau", "dead-units"),
            absent=("saturated-units",),
            expects="dead-relu",
        ),
        Case("missing", "only a plateau is known", present=("plateau",)),
    ),
    log_visible=False,
    needs="the list of layers, or the linearity test on the model",
)
