"""Settings that are known to work, each with its source: where to begin before the first long run."""

from __future__ import annotations

import re
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class StartingPoint:
    """`signs` are words of a script by which the task is recognised; the first that matches is taken."""

    task: str
    settings: str
    source: str
    signs: tuple[str, ...] = ()


STARTING_POINTS = (
    StartingPoint(
        "fine-tuning with adapters",
        "AdamW, rate 2e-4 (1e-4 from 30 billion parameters on), constant, warm-up 3 %, gradients clipped at 0.3",
        "Dettmers et al. 2023 (QLoRA), table 9",
        (r"\blora|\bpeft\b|get_peft_model",),
    ),
    StartingPoint(
        "preference optimisation",
        "rate 5e-7 to 1e-6, beta 0.1, one to three epochs, warm-up 10 %",
        "Rafailov et al. 2023 (DPO), appendix B; Tunstall et al. 2023 (Zephyr)",
        (r"\bdpo|preference",),
    ),
    StartingPoint(
        "reinforcement learning",
        "PPO: Adam, rate 3e-4, clip range 0.2, gamma 0.99, lambda 0.95",
        "Schulman et al. 2017, table 3",
        (r"\bppo\b|gymnasium|stable_baselines|\bgrpo",),
    ),
    StartingPoint(
        "fine-tuning of a transformer",
        "AdamW, rate 2e-5 to 5e-5, batch 16 or 32, two to four epochs, warm-up 10 %",
        "Devlin et al. 2019 (BERT), A.3",
        (r"from_pretrained",),
    ),
    StartingPoint(
        "language model from scratch",
        "AdamW, rate 3e-4 to 6e-4, betas 0.9 and 0.95, decay 0.1, warm-up, cosine, gradients clipped at 1",
        "Brown et al. 2020, table 2.1 and appendix B",
        (r"vocab|causal|\bgpt|tokeniz",),
    ),
    StartingPoint(
        "diffusion",
        "Adam, rate 1e-4 to 2e-4, average of the weights 0.9999, warm-up",
        "Ho et al. 2020 (DDPM), appendix B",
        (r"diffusion|noise_schedul|\bddpm",),
    ),
    StartingPoint(
        "image classification",
        "SGD, rate 0.1 for batches of 256 (in proportion for others), momentum 0.9, decay 1e-4, lowered in the end",
        "He et al. 2016, 3.4; Goyal et al. 2017",
        (r"conv2d|resnet|imagenet|cifar|torchvision",),
    ),
    StartingPoint(
        "other tasks",
        "AdamW, rate 1e-3 (3e-4 where it is restless), decay 0.01",
        "Kingma and Ba 2015; Loshchilov and Hutter 2019",
    ),
)

_SEEDED = re.compile(r"manual_seed|seed_everything|set_seed|random\.seed\(|default_rng\(\d|PRNGKey\(")


def starting_point(source: str) -> StartingPoint:
    """The one for the task that a script is about."""
    text = source.lower()
    return next(
        (one for one in STARTING_POINTS if any(re.search(sign, text) for sign in one.signs)), STARTING_POINTS[-1]
    )


def seeded(source: str) -> bool:
    """Whether the script sets a seed anywhere."""
    return bool(_SEEDED.search(source))
