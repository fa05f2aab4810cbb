"""minimind: GRPO, PPO and SPO lines of a small language model trained from scratch."""

from __future__ import annotations

from traindx.objectives import base
from traindx.objectives.base import Trainer

TRAINER = Trainer(
    id="minimind",
    title="minimind RL",
    task="rl",
    signs=(
        ("reward", "kl_ref", "actor loss"),
        ("reward", "actor loss", "avg response len"),
        ("reward", "kl_ref", "adv std", "actor loss"),
    ),
    series={
        "reward": base.REWARD,
        "kl_ref": base.KL,
        "kl": base.KL,
        "approx_kl": base.UPDATE_KL,
        "adv std": base.UNITS,
        "adv mean": base.UNITS,
        "actor loss": base.POLICY_LOSS,
        "critic loss": base.VALUE_LOSS,
        "avg response len": base.LENGTH,
        "avg len": base.LENGTH,
        "fmt": base.UNITS,
        "correct": base.SCORE,
        "learning rate": base.LR,
        "lr": base.LR,
        "actor lr": base.LR,
        "critic lr": base.UNITS,
    },
    objective=("reward",),
    normal=(
        "The actor loss hovers around 0 and says nothing about learning.",
        "KL_ref may be slightly negative: it is an estimate from samples.",
    ),
    example={
        "Reward": -1.7,
        "KL_ref": 0.001,
        "Adv Std": 0.93,
        "Adv Mean": 0.0,
        "Actor Loss": 0.0002,
        "Avg Response Len": 271.0,
        "Learning Rate": 3e-07,
    },
    sources=("https://github.com/jingyaogong/minimind",),
)
