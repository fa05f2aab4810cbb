"""Whether equal answers to one prompt earn the same, where a trainer computes the rewards of a batch in one place."""

from __future__ import annotations

import functools
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from traindx.measurements import EqualAnswers

if TYPE_CHECKING:
    import torch

    from traindx.live.events.hub import Hub

TRAINERS = (("trl.trainer.grpo_trainer", "GRPOTrainer"), ("trl.trainer.rloo_trainer", "RLOOTrainer"))
COMPUTES = "_calculate_rewards"  # (inputs, prompts, completions, …) → one row an answer, one column a function
MOST_ROWS = 1024  # of a batch
MOST_CHARACTERS = 4000  # of a text
ALL = 32  # batches that are all compared,
STRIDE = 8  # and of later ones one in so many


class SameTexts:
    """Answers of one batch are compared with each other, since rewards may change from batch to batch by design."""

    def __init__(self, hub: Hub) -> None:
        self._hub = hub
        self._calls = self._looks = self._repeated = 0
        self._within = self._whole = 0.0

    def watch(self) -> None:
        for module, name in TRAINERS:
            self._hub.after_import(module, partial(self._patch, module, name))

    def _patch(self, module: str, name: str) -> None:
        trainer = getattr(sys.modules.get(module), name, None)
        if trainer is not None and hasattr(trainer, COMPUTES) and not self._hub.ended:
            self._hub.patch(trainer, COMPUTES, self._around)

    def _around(self, original: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(original)
        def compute(
            trainer: Any, inputs: Any, prompts: Any, completions: Any, *args: Any, **kwargs: Any
        ) -> torch.Tensor:
            rewards: torch.Tensor = original(trainer, inputs, prompts, completions, *args, **kwargs)
            self._calls += 1
            training = getattr(getattr(trainer, "model", None), "training", True)
            if training and not self._hub.ended and (self._calls <= ALL or self._calls % STRIDE == 0):
                began = time.perf_counter()
                self._look(inputs, prompts, completions, rewards, trainer.reward_weights)
                self._hub.spend(time.perf_counter() - began)
            return rewards

        return compute

    def _look(self, inputs: Any, prompts: Any, completions: Any, rewards: torch.Tensor, weights: torch.Tensor) -> None:
        counts = {len(inputs), len(prompts), len(completions), len(rewards)}  # rewards of all processes are gathered
        if len(counts) > 1 or not 2 < len(prompts) <= MOST_ROWS:
            return
        earned = (rewards.detach().cpu() * weights.detach().cpu()).nansum(1).tolist()
        rows = zip(inputs, prompts, completions, strict=True)
        self.compare([(_plain(one), _text(prompt), _text(answer)) for one, prompt, answer in rows], earned)

    def compare(self, texts: Sequence[tuple[str, ...]], rewards: Sequence[float]) -> None:
        """One reward for each text, with all that was known of its prompt."""
        alike: dict[tuple[str, ...], list[float]] = defaultdict(list)
        for text, reward in zip(texts, rewards, strict=True):
            alike[text].append(reward)
        repeated = len(texts) - len(alike)
        variance = _squares(rewards) / (len(rewards) - 1)
        if not repeated or variance <= 0:
            return
        self._looks += 1
        self._repeated += repeated
        self._within += sum(map(_squares, alike.values()))
        self._whole += variance * repeated
        self._hub.measure(
            EqualAnswers(looks=self._looks, repeated=self._repeated, within=self._within / self._whole, where=COMPUTES)
        )


def _plain(row: Any) -> str:
    """The columns of the prompt that a reward may depend on, as far as they are plain."""
    plain = (str, int, float, bool, type(None))
    return _text(
        {key: value for key, value in row.items() if isinstance(value, plain)} if hasattr(row, "items") else ""
    )


def _text(value: Any) -> str:
    return str(value)[:MOST_CHARACTERS]


def _squares(values: Sequence[float]) -> float:
    mean = sum(values) / len(values)
    return sum((one - mean) ** 2 for one in values)
