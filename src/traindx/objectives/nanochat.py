"""nanochat's pretraining and fine-tuning lines."""

from __future__ import annotations

from traindx.objectives import base
from traindx.objectives.base import Trainer

TRAINER = Trainer(
    id="nanochat",
    title="nanochat",
    task="supervised",
    signs=(("loss", "lrm", "tok/sec"), ("loss", "lrm", "dt", "mfu"), ("validation bpb", "loss", "mfu")),
    series={
        "loss": base.LOSS,
        "validation bpb": base.VAL_ERROR,
        "lrm": base.LR,
        "grad norm": base.GRAD_NORM,
        "dt": base.STEP_TIME_MS,
        "tok/sec": base.THROUGHPUT,
        "mfu": base.UNITS,
        "bf16_mfu": base.UNITS,
        "total time": base.TIME,
        "core_metric": base.VAL_SCORE,
        "core metric": base.VAL_SCORE,
    },
    objective=("loss", "validation bpb"),
    normal=("lrm is a multiplier of the learning rates: 1.0 at first, decaying at the end.",),
    example={
        "loss": 3.1,
        "grad norm": 0.4,
        "lrm": 1.0,
        "dt": 480.1,
        "tok/sec": 1090000,
        "mfu": 47.1,
        "total time": 1.2,
    },
    sources=("https://github.com/karpathy/nanochat",),
)
