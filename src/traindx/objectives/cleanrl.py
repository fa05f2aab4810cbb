"""CleanRL: the terminal and TensorBoard."""

from __future__ import annotations

from traindx.objectives import base
from traindx.objectives.base import Trainer

TRAINER = Trainer(
    id="cleanrl",
    title="CleanRL",
    task="rl",
    signs=(
        ("episodic_return",),
        ("charts/episodic_return",),
        ("charts/episodic_return", "losses/*"),
        ("episodic_return", "global_step"),
    ),
    series={
        "charts/episodic_return": base.REWARD,
        "episodic_return": base.REWARD,
        "eval/episodic_return": base.VAL_REWARD,
        "charts/episodic_length": base.EPISODE_LENGTH,
        "episodic_length": base.EPISODE_LENGTH,
        "charts/learning_rate": base.LR,
        "charts/sps": base.THROUGHPUT,
        "sps": base.THROUGHPUT,
        "charts/epsilon": base.UNITS,
        "losses/value_loss": base.VALUE_LOSS,
        "losses/qf_loss": base.VALUE_LOSS,
        "losses/qf1_loss": base.VALUE_LOSS,
        "losses/qf2_loss": base.UNITS,
        "losses/td_loss": base.VALUE_LOSS,
        "losses/qf1_values": base.UNITS,
        "losses/q_values": base.UNITS,
        "losses/policy_loss": base.POLICY_LOSS,
        "losses/actor_loss": base.POLICY_LOSS,
        "losses/entropy": base.ENTROPY,
        "losses/alpha": base.UNITS,
        "losses/alpha_loss": base.UNITS,
        "losses/old_approx_kl": base.UNITS,
        "losses/approx_kl": base.UPDATE_KL,
        "losses/clipfrac": base.CLIP_FRACTION,
        "losses/explained_variance": base.EXPLAINED,
    },
    objective=("charts/episodic_return", "episodic_return"),
    normal=(
        "Returns are those of single episodes: compare means over tens of them.",
        "The value loss may rise while the policy gets better: larger returns are harder to predict.",
    ),
    example={
        "charts/episodic_return": 131.0,
        "charts/episodic_length": 131.0,
        "charts/learning_rate": 0.00025,
        "losses/value_loss": 12.0,
        "losses/policy_loss": -0.01,
        "losses/entropy": 0.6,
        "losses/approx_kl": 0.01,
        "losses/clipfrac": 0.1,
        "losses/explained_variance": 0.6,
        "charts/SPS": 1200,
    },
    sources=("https://docs.cleanrl.dev/",),
)
