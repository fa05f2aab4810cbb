"""The runs of the zoo: programs, the faults each may have and the cause that names them."""

from __future__ import annotations

import importlib.util
import runpy
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).parent
SEVERITIES = (0, 1)
SOUND = "none"


@dataclass(frozen=True)
class Family:
    """One program. `faults` maps the name of a fault to the causes that name it; `needs` are packages."""

    program: str
    faults: dict[str, tuple[str, ...]]
    needs: tuple[str, ...] = ()

    @property
    def missing(self) -> list[str]:
        return [name for name in self.needs if importlib.util.find_spec(name) is None]


@dataclass(frozen=True)
class Planned:
    program: str
    fault: str
    severity: int
    seed: int
    causes: tuple[str, ...]

    @property
    def name(self) -> str:
        return f"{self.program}-{self.fault}-{self.severity}-{self.seed}"


GYM = ("torch", "gymnasium")
FAMILIES = (
    Family("grpo_letters", {
        "no-spread": ("zero-reward-variance",), "sign": ("reward-sign-flipped",), "cut": ("completions-truncated",),
        "permuted": ("reward-answer-misaligned",), "kl-sign": ("kl-sign-flipped",),
        "raw": ("advantages-not-normalized",),
        "old-new": ("old-logprobs-recomputed",), "stale": ("stale-sampler",), "mismatch": ("sampler-mismatch",),
    }, ("torch",)),
    Family("dpo_letters", {
        "reference": ("dpo-reference-is-policy",), "swapped": ("dpo-pairs-swapped",), "beta": ("dpo-beta-too-large",),
        "identical": ("pairs-identical",),
    }, ("torch",)),
    Family("ppo_cartpole", {
        "terminal": ("terminal-not-masked",), "gamma": ("discount-wrong",), "sign": ("reward-sign-flipped",),
        "raw": ("advantages-not-normalized", "reward-not-scaled"), "old-new": ("old-logprobs-recomputed",),
        "entropy": ("entropy-collapse", "exploration-gone"),
    }, GYM),
    Family("dqn_cartpole", {
        "terminal": ("terminal-not-masked",), "gamma": ("discount-wrong",), "stale": ("target-network-stale",),
        "always": ("target-network-stale",), "replay": ("replay-degenerate",), "greedy": ("exploration-gone",),
        "sign": ("reward-sign-flipped",), "rate": ("value-explosion", "lr-too-high"),
    }, GYM),
    Family("reinforce_cartpole", {"sign": ("reward-sign-flipped",), "gamma": ("discount-wrong",)}, GYM),
    Family("td3_pendulum", {
        "gamma": ("discount-wrong",), "target": ("target-network-stale",), "replay": ("replay-degenerate",),
        "scale": ("action-scale-wrong",), "sign": ("reward-sign-flipped",), "rate": ("value-explosion", "lr-too-high"),
    }, GYM),
)  # fmt: skip


def families(zoo: str) -> tuple[Family, ...]:
    """Of another zoo beside this one: what its plan says."""
    if zoo == HERE.name:
        return FAMILIES
    told = runpy.run_path(str(HERE.parent / zoo / "plan.py"))["FAMILIES"]
    return tuple(Family(program, faults, needs) for program, (needs, faults) in told.items())


def planned(seeds: int, only: str = "", zoo: str = HERE.name) -> tuple[list[Planned], list[str]]:
    """All runs whose packages are there, and a line for each family that is left out. A sound twin stands beside each
    fault and severity: with another seed, so that there are as many sound runs as faulty ones."""
    runs: list[Planned] = []
    skipped: list[str] = []
    for family in families(zoo):
        if only and only not in family.program:
            continue
        if family.missing:
            skipped.append(f"{family.program}: left out, needs {', '.join(family.missing)}")
            continue
        for number, (fault, causes) in enumerate(family.faults.items()):
            for severity in SEVERITIES:
                for seed in range(seeds):
                    runs.append(Planned(family.program, fault, severity, seed, causes))
                    twin = 1000 + 100 * number + 50 * severity + seed
                    runs.append(Planned(family.program, SOUND, 0, twin, ()))
    return runs, skipped
