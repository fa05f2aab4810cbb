"""TRL's trainers on pairs: DPO, IPO, CPO, SimPO, ORPO, KTO, and what builds on them."""

from __future__ import annotations

from traindx.objectives import base
from traindx.objectives.base import Trainer

TRAINER = Trainer(
    id="trl-preference",
    title="TRL DPO, KTO, ORPO or CPO",
    task="preference",
    signs=(
        ("rewards/chosen", "rewards/rejected"),
        ("rewards/chosen", "rewards/rejected", "rewards/margins", "rewards/accuracies"),
    ),
    series={
        "loss": base.LOSS,
        "rewards/chosen": base.CHOSEN,
        "rewards/rejected": base.REJECTED,
        "rewards/margins": base.MARGIN,
        "rewards/accuracies": base.SCORE,
        "logps/chosen": base.CHOSEN_LOGP,
        "logps/rejected": base.REJECTED_LOGP,
        "logps/ref_*": base.UNITS,
        "logits/*": base.UNITS,
        "nll_loss": base.PART,
        "sft_loss": base.PART,
        "log_odds_ratio": base.UNITS,
        "log_odds_chosen": base.UNITS,
        "odds_ratio_loss": base.PART,
        "kl": base.KL,
        "mean_token_accuracy": base.TOKEN_ACCURACY,
        "entropy": base.ENTROPY,
        "learning_rate": base.LR,
        "grad_norm": base.GRAD_NORM,
        "aux_loss": base.BALANCE,
        "num_tokens": base.UNITS,
    },
    objective=("loss",),
    normal=(
        "The loss starts at 0.693 (ln 2) for DPO: the policy still equals the reference.",
        "The chosen reward often falls as well; what must rise is the margin and the accuracy.",
    ),
    example={
        "loss": 0.61, "grad_norm": 3.1, "learning_rate": 4.9e-7, "logits/chosen": -1.9, "logits/rejected": -1.8,
        "logps/chosen": -246.0, "logps/rejected": -240.0, "rewards/chosen": -0.2, "rewards/rejected": -0.5,
        "rewards/accuracies": 0.66, "rewards/margins": 0.3, "epoch": 0.31,
    },
    sources=("https://huggingface.co/docs/trl/dpo_trainer", "https://huggingface.co/docs/trl/kto_trainer",
             "https://huggingface.co/docs/trl/orpo_trainer"),
)  # fmt: skip
