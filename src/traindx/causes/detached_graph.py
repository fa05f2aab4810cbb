"""Cause: the loss is cut off from parameters that should learn."""

from __future__ import annotations

from traindx.causes.base import Case, Cause
from traindx.causes.calm import CALM_CURVES, CALM_INSIDE

DOC = """\
## What you see
A loss that never leaves its first value, or a model in which one branch learns and another does not. With LoRA: a
finite, slowly moving loss and an adapter that does nothing, every `lora_B` still exactly zero. In a variational
autoencoder whose code is detached: a reconstruction no better than the mean, while the divergence falls to zero.

## Why it happens
Back-propagation follows recorded operations only. The record is broken by

- `.detach()`, `.data`, `.item()`, `float(...)` or a trip through numpy between output and loss;
- a new tensor built from values: `torch.tensor([...])`, `torch.tensor(loss)`;
- operations without a gradient: `argmax`, rounding, comparison, integer casts;
- a forward pass under `torch.no_grad()` or `torch.inference_mode()`;
- reentrant gradient checkpointing with a frozen input: no input of the checkpointed block requires a gradient, so its
  backward never runs. In a sample of ten public "the adapter learns nothing" threads, seven came down to this.

When the cut is complete, `loss.backward()` raises "does not require grad". People then write
`loss.requires_grad_(True)`, the error goes away, and so does the last sign of the fault.

## How to tell it from its look-alikes
`no-gradient` names trainable parameters whose `.grad` stays `None`; `unchanged-weights` names the same ones. Frozen
parameters do not appear in `no-gradient`, because they do not ask for one. Vanishing gradients are numbers, however
small. A dead-ReLU layer has gradients that are zeros, not `None`. From a log alone only the flat loss shows, and an
exact repetition of the same value speaks for this cause or for a constant output.

```python
loss.backward()
print([n for n, p in model.named_parameters() if p.requires_grad and p.grad is None])
```

## How to fix it
1. Keep tensors from the model's output to the loss; take `.item()` only for logging, after `backward()`.
2. Replace `argmax` in the loss with the soft quantity it approximates, or use a straight-through or Gumbel estimator.
3. With checkpointing and frozen embeddings use `use_reentrant=False`, or let the inputs require gradients.

## What NOT to do
- Do not call `loss.requires_grad_(True)`: it silences the error and connects nothing.
- Do not raise the learning rate: any rate times no gradient is no step.
- Do not change the optimizer: it has nothing to work with.

## References
- PyTorch documentation, *Autograd mechanics*, and *torch.utils.checkpoint* (`use_reentrant`).
- Hu et al., *LoRA: Low-Rank Adaptation of Large Language Models*, ICLR 2022 (B starts at zero).
- Jang, Gu and Poole, *Categorical Reparameterization with Gumbel-Softmax*, ICLR 2017.
- Bengio, Léonard and Courville, *Estimating or Propagating Gradients Through Stochastic Neurons*, 2013.
"""

CAUSE = Cause(
    id="detached-graph",
    title="loss cut off from the parameters",
    group="wiring",
    check="after one backward(), list the parameters whose .grad is None: there must be none",
    prior="occasional",
    predicts={
        "weights-at-start": "often",
        "adapter-at-zero": "usually",
        "parameters-not-optimized": "never",
        "frozen-weights": "never",
        "no-gradient": "always",
        "error-misses-layers": "always",
        "unchanged-weights": "usually",
        "flat-from-start": "often",
        "loss-at-chance": "often",
        "underfitting": "often",
        "plateau": "often",
        "slow-convergence": "sometimes",
        "prediction-collapse": "sometimes",
        "tiny-updates": "sometimes",
        "vanishing-gradients": "never",
        "exploding-gradients": "never",
        "dead-units": "rarely",
        "huge-updates": "never",
        "overfitting-gap": "rarely",
        "divergence": "never",
        "oscillation": "never",
        "loss-spike": "rarely",
        "nonfinite-loss": "never",
        "nonfinite-gradient": "never",
        "suspiciously-good": "never",
        "batch-not-learned": "usually",
    },
    look_alikes={
        "frozen-params": "frozen parameters have requires_grad=False; detached ones want a gradient and get None",
        "params-not-in-optimizer": "forgotten parameters do receive gradients, the optimizer just never steps them",
        "vanishing-gradients": "a vanished gradient is a tiny number that shrinks layer by layer; a detached one is "
        "None",
        "dead-relu": "dead units give gradients of zeros and zero activations; a detached layer has live activations",
    },
    fixes=("keep-graph-attached", "enable-input-grads"),
    line=("cut",),
    do_not=(
        "call loss.requires_grad_(True): it hides the error and connects nothing",
        "raise the learning rate: any rate times no gradient is no step",
        "swap the optimizer: wrong optimizers are rarely the issue, and this one receives nothing",
    ),
    doc=DOC,
    cases=(
        Case(
            "fires",
            "the loss is built from argmax: one backward pass shows trainable weights without a gradient",
            present=("no-gradient", "flat-from-start"),
            absent=("vanishing-gradients", "nonfinite-loss", "dead-units", "exploding-gradients"),
        ),
        Case("healthy", "every trainable parameter has a gradient and moves", absent=CALM_CURVES + CALM_INSIDE),
        Case(
            "look-alike",
            "twenty sigmoid layers: gradients are there, a thousand times smaller at the input",
            present=("vanishing-gradients", "loss-at-chance"),
            absent=("no-gradient", "unchanged-weights"),
            expects="vanishing-gradients",
        ),
        Case("missing", "only a flat loss is known", present=("flat-from-start",)),
    ),
    log_visible=False,
    needs="which trainable parameters receive a gradient (a live recording or one backward pass)",
)
