"""Which trainings the zoo holds: a deterministic list, so that any part of it can be made again by its name."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import torch
from faults import DEGREE, FAULTS
from setup import Setup, Unfit
from tasks import OPTIMIZERS, TASKS
from variants import VARIANTS

PAIRS = (
    ("lr-too-high", "overfitting"), ("lr-too-low", "inputs-not-normalized"), ("missing-zero-grad", "not-shuffled"),
    ("overfitting", "train-mode-during-eval"), ("softmax-before-cross-entropy", "lr-too-low"),
    ("class-imbalance", "eval-mode-during-training"), ("params-not-in-optimizer", "softmax-before-cross-entropy"),
    ("lr-decayed-too-early", "val-preprocessing-mismatch"), ("loss-shape-broadcast", "lr-too-high"),
    ("weight-decay-too-high", "frozen-params"), ("overfitting", "grad-clip-too-tight"),
    ("dropout-too-high", "not-shuffled"),
    ("double-sigmoid", "class-imbalance"), ("init-too-large", "train-val-leak"),
)  # fmt: skip
LOGGED = {"val_accuracy": 0.6, "accuracy": 0.3, "grad_norm": 0.3}  # how many people log what beside the losses
COUNTABLE = ("classes", "binary", "text")  # tasks whose answers are right or wrong
TRIES = 40  # until a task is found that a fault fits


@dataclass(frozen=True)
class Spec:
    """One training of the zoo."""

    name: str
    causes: tuple[str, ...]  # empty: healthy
    variant: str
    task: str
    optimizer: str
    level: int
    seed: int

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


def plan(count: int, seed: int, share_healthy: float = 0.4) -> Iterator[Spec]:
    """`count` trainings: healthy ones, single faults in turn, and some pairs of faults."""
    chance = random.Random(seed)
    faults, variants, pairs = sorted(FAULTS), sorted(VARIANTS), list(PAIRS)
    turns = {"fault": 0, "variant": 0, "pair": 0}
    for index in range(count):
        draw = chance.random()
        for _ in range(TRIES):
            task, optimizer = chance.choice(sorted(TASKS)), chance.choice(OPTIMIZERS)
            level, own = chance.randrange(3), chance.randrange(10**6)
            causes: tuple[str, ...] = ()
            kind = "plain"
            if draw < share_healthy:
                kind = variants[turns["variant"] % len(variants)]
            elif draw < 0.96:
                causes = (faults[turns["fault"] % len(faults)],)
            else:
                causes = pairs[turns["pair"] % len(pairs)]
            spec = Spec(f"{index:05d}", causes, kind, task, optimizer, level, own)
            try:
                build(spec)
            except Unfit:
                continue
            turns["variant" if not causes else "fault" if len(causes) == 1 else "pair"] += 1
            yield spec
            break


def build(spec: Spec) -> tuple[Setup, Setup, tuple[str, ...]]:
    """The training, its healthy twin, and the causes that would be named with equal right."""
    alternatives: set[str] = set()
    made = []
    for faulty in (True, False):
        random_numbers = np.random.default_rng(spec.seed)
        setup = TASKS[spec.task](random_numbers, spec.optimizer, spec.seed)
        generator = torch.Generator().manual_seed(spec.seed)
        style = random.Random(spec.seed)
        setup.loader = style.random() < 0.7
        setup.log_every = style.choice((0, 0, 1, 5, 10))
        setup.told = style.random() < 0.5
        kept = [name for name, share in LOGGED.items() if style.random() < share]
        setup.log_metrics = tuple(name for name in kept if name == "grad_norm" or setup.kind in COUNTABLE)
        VARIANTS[spec.variant](setup, generator)
        for cause in spec.causes if faulty else ():
            alternatives.update(FAULTS[cause](setup, spec.level, generator) or ())
        if setup.batch > 1 and setup.count % setup.batch == 1:  # batch norm cannot train on a single sample
            setup.keep(torch.arange(setup.count - 1))
        made.append(setup)
    return made[0], made[1], tuple(sorted(alternatives - set(spec.causes)))


def of_degree(causes: tuple[str, ...]) -> bool:
    return bool(causes) and all(cause in DEGREE for cause in causes)
