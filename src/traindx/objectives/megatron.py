"""Megatron-LM, Megatron-DeepSpeed and Pai-Megatron lines."""

from __future__ import annotations

from traindx.objectives import base
from traindx.objectives.base import Trainer

TRAINER = Trainer(
    id="megatron",
    title="Megatron-LM",
    task="supervised",
    signs=(
        ("lm loss", "grad norm"),
        ("lm loss", "learning rate"),
        ("lm loss", "loss scale", "grad norm"),
        ("lm loss", "elapsed time per iteration (ms)"),
    ),
    series={
        "lm loss": base.LOSS,
        "lm loss value": base.VAL_LOSS,
        "lm loss ppl": base.PERPLEXITY,
        "mtp_*": base.PART,
        "load_balancing_loss": base.BALANCE,
        "load balancing loss": base.BALANCE,
        "aux loss": base.BALANCE,
        "z_loss": base.PART,
        "grad norm": base.GRAD_NORM,
        "grad-norm": base.GRAD_NORM,
        "num zeros": base.UNITS,
        "params norm": base.UNITS,
        "loss scale": base.LOSS_SCALE,
        "learning rate": base.LR,
        "number of skipped iterations": base.SKIPPED,
        "elapsed time per iteration (ms)": base.STEP_TIME_MS,
        "throughput per gpu (tflop/s/gpu)": base.THROUGHPUT,
        "samples per second": base.THROUGHPUT,
        "tflops": base.UNITS,
        "global batch size": base.UNITS,
        "consumed samples": base.UNITS,
        "consumed tokens": base.UNITS,
    },
    objective=("lm loss",),
    normal=(
        "A loss scale of 1.0 means that no scaler is used (bfloat16).",
        "A grad norm of 0.000 may be one that is not measured.",
    ),
    example={
        "consumed samples": 512,
        "elapsed time per iteration (ms)": 5321.0,
        "learning rate": 1e-05,
        "global batch size": 512,
        "lm loss": 8.1,
        "loss scale": 1.0,
        "grad norm": 1.2,
        "number of skipped iterations": 0,
    },
    sources=("https://github.com/NVIDIA/Megatron-LM",),
)
