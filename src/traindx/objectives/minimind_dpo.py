"""minimind's DPO lines."""

from __future__ import annotations

from traindx.objectives import base
from traindx.objectives.base import Trainer

TRAINER = Trainer(
    id="minimind-dpo",
    title="minimind DPO",
    task="preference",
    signs=(("loss", "dpo_loss"), ("loss", "dpo_loss", "learning_rate")),
    series={
        "loss": base.LOSS,
        "dpo_loss": base.PART,
        "aux_loss": base.BALANCE,
        "learning_rate": base.LR,
        "epoch_time": base.TIME,
    },
    objective=("loss",),
    normal=("The loss starts at 0.693 (ln 2); learning rates of 1e-8 to 1e-6 are usual.",),
    example={"loss": 0.66, "dpo_loss": 0.66, "aux_loss": 0.0, "learning_rate": 4e-08, "epoch_time": 9.0},
    sources=("https://github.com/jingyaogong/minimind",),
)
