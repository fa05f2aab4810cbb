"""Which way the loss pulls on log-probabilities, entropies, distances and answers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from traindx.live.rl.frames import Variables
from traindx.live.rl.part import Part, graded, here, plain
from traindx.live.rl.relations import correlation
from traindx.live.rl.rollouts import Use
from traindx.live.rl.slopes import slopes
from traindx.live.rl.unnamed import name_rewards
from traindx.measurements import ObjectiveSlopes

if TYPE_CHECKING:
    from traindx.live.events.hub import Hub

MIN_WEIGHTED = 4  # actions or texts
CLEAR = 0.2  # correlation from which a push is called one way or the other
EARNED = ("advantage", "return", "reward")
PAIR = (("chosen_logprob", "rejected_logprob", "preference"), ("chosen_reward", "rejected_reward", "reward-model"))


class Pulls(Part):
    def __init__(self, hub: Hub) -> None:
        super().__init__(hub)
        self._sums = dict.fromkeys(
            ("looks", "pushes", "along", "against", "pairs", "chosen_up", "chosen_down", "entropy_up", "entropy_down",
             "kl_down", "kl_up"), 0
        )  # fmt: skip
        self._agreement = 0.0
        self._compared = ""

    def look(self, loss: torch.Tensor, found: Variables, where: str, use: Use) -> str:
        wanted = {role: pair for role in ("logprob", "ratio", "entropy", "kl") if (pair := graded(found, role))}
        for chosen, rejected, _ in PAIR:
            first, second = graded(found, chosen), graded(found, rejected)
            if first is not None and second is not None and first[1].shape == second[1].shape:
                wanted[chosen], wanted[rejected] = first, second
        parts = found.parts.get("logprob", [])
        if parts and ("logprob" not in wanted or wanted["logprob"][1].numel() == 1):
            wanted.pop("logprob", None)  # the one that a loop over them met last
        else:
            parts = []
        if not wanted and not parts:
            return ""
        tensors = [tensor for _, tensor in wanted.values()] + parts
        given = slopes(loss, tensors)
        pull = {role: (wanted[role][1], slope) for role, slope in zip(wanted, given, strict=False) if slope is not None}
        if parts and all(slope is not None for slope in given[len(wanted) :]):
            single = torch.stack([slope.reshape(()) for slope in given[len(wanted) :] if slope is not None])
            pull["logprob"] = (single, single)
        if not pull:
            return ""
        family = self._take_pair(pull) or self._take_push(pull, found)
        self._take_sides(pull, found)
        self._sums["looks"] += 1
        self.hub.measure(
            ObjectiveSlopes(
                **self._sums, agreement=self._agreement / max(1, self._sums["pushes"]), compared=self._compared,
                where=where,
            )
        )  # fmt: skip
        return family

    def _take_pair(self, pull: dict[str, tuple[torch.Tensor, torch.Tensor]]) -> str:
        for chosen, rejected, family in PAIR:
            if chosen in pull and rejected in pull:
                up, down = -float(here(pull[chosen][1]).mean()), float(here(pull[rejected][1]).mean())
                self._sums["pairs"] += 1
                self._sums["chosen_up"] += up > 0 and down > 0
                self._sums["chosen_down"] += up < 0 and down < 0
                return family
        return ""

    def _take_push(self, pull: dict[str, tuple[torch.Tensor, torch.Tensor]], found: Variables) -> str:
        """The push on what was done, beside what it earned."""
        role = "logprob" if "logprob" in pull else "ratio"
        if role not in pull:
            return ""
        push = -here(pull[role][1])
        by_ratio = "ratio" in pull or bool(plain(found, push, "old_logprob"))
        name_rewards(len(push) if push.dim() else 1, found)
        earned = _earned(push, found)
        if earned is None:
            return "ratio" if by_ratio else "policy-gradient" if _is_weighted(push) else ""
        name, values, push = earned
        agree = correlation(push, values)
        if agree is not None:
            self._sums["pushes"] += 1
            self._sums["along"] += agree > CLEAR
            self._sums["against"] += agree < -CLEAR
            self._agreement += agree
            self._compared = name
        return "ratio" if by_ratio else "policy-gradient"

    def _take_sides(self, pull: dict[str, tuple[torch.Tensor, torch.Tensor]], found: Variables) -> None:
        if "entropy" in pull:
            pulled = float(here(pull["entropy"][1]).sum())
            self._sums["entropy_up"] += pulled < 0
            self._sums["entropy_down"] += pulled > 0
        if "kl" in pull:
            distance, slope = pull["kl"]
            pulled = float(here(slope).sum()) * _direction(here(distance), found)
            self._sums["kl_down"] += pulled > 0
            self._sums["kl_up"] += pulled < 0


def _is_weighted(push: torch.Tensor) -> bool:
    """Whether some of what was done is made likelier and some less likely: no likelihood of data does that."""
    rows = push.reshape(len(push), -1).sum(1) if push.dim() else push.reshape(1)
    return len(rows) >= MIN_WEIGHTED and bool((rows > 0).any() and (rows < 0).any())


def _earned(push: torch.Tensor, found: Variables) -> tuple[str, torch.Tensor, torch.Tensor] | None:
    """What was earned for each row of a push, and the push summed over the tokens of a row."""
    for role in EARNED:
        for name, one in found.all(role):
            if one.requires_grad or one.numel() < 3:
                continue
            if one.numel() == push.numel():
                return name, here(one).reshape(-1), push.reshape(-1)
            if push.dim() >= 2 and one.numel() == len(push):
                return name, here(one).reshape(-1), push.flatten(1).sum(1)
    return None


def _direction(distance: torch.Tensor, found: Variables) -> float:
    """-1 where what is called a distance is the negative one: log reference - log policy."""
    policy = graded(found, "logprob")
    reference = next((one for _, one in found.all("ref_logprob") if one.numel() == distance.numel()), None)
    if policy is None or reference is None or policy[1].numel() != distance.numel():
        return 1.0
    apart = here(policy[1]).reshape(-1) - here(reference).reshape(-1)
    if not float(apart.abs().max()):
        return 1.0
    return -1.0 if torch.allclose(distance.reshape(-1), -apart, rtol=1e-3, atol=1e-6) else 1.0
