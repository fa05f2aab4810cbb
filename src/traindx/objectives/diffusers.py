"""The training examples of diffusers and kin: a noise-prediction loss."""

from __future__ import annotations

from traindx.objectives import base
from traindx.objectives.base import Trainer

TRAINER = Trainer(
    id="diffusers",
    title="diffusers",
    task="supervised",
    signs=(
        ("step_loss", "lr"),
        ("step_loss",),
        ("avr_loss", "lr"),
        ("avr_loss",),
        ("loss/average", "loss/current"),
        ("train_loss", "lr", "step_loss"),
    ),
    series={
        "step_loss": base.LOSS,
        "avr_loss": base.LOSS,
        "loss/average": base.LOSS,
        "loss/current": base.UNITS,
        "loss/epoch_average": base.UNITS,
        "train_loss": base.LOSS,
        "lr": base.LR,
        "lr/*": base.LR,
        "prior_loss": base.PART,
    },
    objective=("train_loss", "avr_loss", "loss/average", "step_loss"),
    normal=("The loss depends on the noise level that was drawn and hardly falls: samples tell more.",),
    example={"lr": 1e-05, "step_loss": 0.11},
    sources=("https://huggingface.co/docs/diffusers/training/overview",),
)
