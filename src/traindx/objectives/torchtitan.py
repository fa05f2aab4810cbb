"""torchtitan's terminal, TensorBoard and W&B."""

from __future__ import annotations

from traindx.objectives import base
from traindx.objectives.base import Trainer

TRAINER = Trainer(
    id="torchtitan",
    title="torchtitan",
    task="supervised",
    signs=(
        ("loss", "tps", "mfu"),
        ("loss", "tps", "tflops"),
        ("loss", "tps", "mfu", "tflops", "memory"),
        ("loss_metrics/global_avg_loss",),
    ),
    series={
        "loss": base.LOSS,
        "loss_metrics/global_avg_loss": base.LOSS,
        "loss_metrics/global_max_loss": base.UNITS,
        "validation_metrics/loss": base.VAL_LOSS,
        "grad_norm": base.GRAD_NORM,
        "memory": base.MEMORY,
        "memory/*": base.MEMORY,
        "tps": base.THROUGHPUT,
        "throughput(tps)": base.THROUGHPUT,
        "tflops": base.UNITS,
        "mfu": base.UNITS,
        "mfu(%)": base.UNITS,
        "tflops/*": base.UNITS,
        "time_metrics/end_to_end(s)": base.STEP_TIME,
        "time_metrics/data_loading(s)": base.DATA_TIME,
        "time_metrics/data_loading(%)": base.UNITS,
        "lr": base.LR,
    },
    objective=("loss", "loss_metrics/global_avg_loss"),
    normal=("tps, tflops and mfu are throughput: they tell about speed and nothing about learning.",),
    example={"step": 10, "loss": 8.1, "grad_norm": 1.3, "memory": 41.2, "tps": 7200, "tflops": 310.5, "mfu": 31.4},
    sources=("https://github.com/pytorch/torchtitan",),
)
