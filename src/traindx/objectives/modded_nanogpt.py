"""modded-nanogpt's records: validation losses and times; the oldest write s:, trl: and tel:."""

from __future__ import annotations

from traindx.objectives import base
from traindx.objectives.base import Trainer

TRAINER = Trainer(
    id="modded-nanogpt",
    title="modded-nanogpt",
    task="supervised",
    signs=(("val_loss", "train_time", "step_avg"), ("trl",), ("trl", "tel"), ("trl", "norm", "lr")),
    series={
        "val_loss": base.VAL_LOSS,
        "train_loss": base.LOSS,
        "trl": base.LOSS,
        "tel": base.VAL_LOSS,
        "eval": base.VAL_SCORE,
        "lr": base.LR,
        "norm": base.GRAD_NORM,
        "train_time": base.TIME,
        "*train_time": base.TIME,
        "step_avg": base.STEP_TIME_MS,
        "*step_avg": base.UNITS,
    },
    objective=("trl", "train_loss", "val_loss"),
    normal=(
        "trl is the training loss, tel the evaluation loss, norm the gradient norm.",
        "Records hold validation losses only: a run is judged by those.",
    ),
    example={"val_loss": 3.3, "train_time": 80211, "step_avg": 90.1},
    sources=("https://github.com/KellerJordan/modded-nanogpt",),
)
