"""Which of the logged series is the training loss, the validation loss, the score, the reward."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from traindx.meaning import Meaning, tokens_of
from traindx.measurements import GeneratedSamples, PolicyObjective, SharedLosses
from traindx.run import Run, Series
from traindx.thresholds import Threshold

_GENERATOR = frozenset({"g", "gen", "generator", "netg"})
_DISCRIMINATOR = frozenset({"d", "dis", "disc", "discrim", "discriminator", "netd", "critic", "real", "fake"})
_ADVERSARIAL = frozenset({"gan", "adv", "adversarial"})
_RECONSTRUCTION = frozenset({"l1", "l2", "rec", "recon", "reconstruction", "cycle", "pixel", "mse", "perceptual"})
_ACTOR_CRITIC = frozenset({"policy", "value", "pi", "v", "q", "actor", "critic", "vf", "pg", "td", "qf1", "qf2"})
_POLICY_LOSSES = frozenset({"grpo", "ppo", "rloo", "dapo", "gspo"})
_PLAIN_SCORES = frozenset(
    {"acc", "accuracy", "acc1", "top1", "map", "map50", "auc", "f1", "fscore", "fb1", "iou", "miou", "dice"}
)
_HALF_SCORES = frozenset(
    {"precision", "recall", "prec", "rec", "sensitivity", "specificity"}
)  # one is bought with the other
_WHOLE_LOSS = frozenset({"total", "overall"})
_WHOLE_REWARD = frozenset(
    "reward rewards rew return returns mean avg average total episode episodes ep episodic history rollout train eval "
    "test charts env".split()
)
_WON = frozenset({"win", "wins", "won", "winrate", "success"})
_EXPLORED = frozenset({"epsilon", "eps", "exploration"})
EXPLORED_ROWS = 5
MOSTLY_RANDOM = 0.5  # of the first moves: an epsilon of Adam is far below
BY_ONE_TERM = "loss_by_one_term"  # from a recording: the loss by what the last loss function in it gave
SEVERAL_TERMS = 1.5  # of that, halfway to a second term as large
SUM = "sum of "  # how the name of a loss begins that was put together from its parts


USED = Threshold(2, "losses that go through a network and do not update it", "one may be a warm-up of the other")
RECOGNISED = Threshold(2, "losses", "one may be a helper's")
PAIRED = ("preference", "reward-model")  # families of objectives over pairs of answers
QUARTILES = (0.25, 0.75)
FEWER = 0.3  # a twin with fewer than this share of the points tells less, however fine its scale
MANY = 30


def usable(run: Run, *kinds: str) -> list[Series]:
    """Series of these kinds that hold values and are means, not extremes or what a resume replaced."""
    return [
        series
        for series in run.series.values()
        if series.meaning.kind in kinds and len(series) and series.meaning.stat == "mean"
        and series.meaning.part != "superseded"
    ]  # fmt: skip


def is_adversarial(run: Run) -> bool:
    """A GAN loop: losses for a generator and for a discriminator, or a recording saw two networks train each other."""
    looks = [look for measured in run.measured for look in measured.all(SharedLosses)]
    if any(_train_each_other(look) for look in looks):
        return True
    if any(_use_each_other(look) for look in looks) and (_judged_samples(run) or not _one_objective(run)):
        return True
    words = [set(tokens_of(series.name)) | set(series.meaning.part.split("/")) for series in usable(run, "loss")]
    if any(bag & _GENERATOR and bag & _ADVERSARIAL for bag in words):
        return True
    return any(bag & _GENERATOR for bag in words) and any(bag & _DISCRIMINATOR for bag in words)


def discriminator_losses(run: Run) -> Series | None:
    """The whole loss of a discriminator, as its name says."""
    return _loss_of(run, _DISCRIMINATOR - {"real", "fake", "critic"})


def generator_losses(run: Run) -> Series | None:
    return _loss_of(run, _GENERATOR)


def _loss_of(run: Run, names: frozenset[str]) -> Series | None:
    """The training loss with one of these words in its name: the one that says least besides."""
    found = [
        (len(words), series) for series in usable(run, "loss")
        if series.meaning.split in ("", "train") and (words := set(tokens_of(series.name))) & names
    ]  # fmt: skip
    return min(found, key=lambda one: one[0])[1] if found else None


def _judged_samples(run: Run) -> bool:
    """A recording saw a network that scores what another one makes beside other inputs of that shape."""
    return any(measured.last(GeneratedSamples) is not None for measured in run.measured)


def _train_each_other(look: SharedLosses) -> bool:
    """One of two networks is used by the loss of the other. Where each is used by the other's, they learn together."""
    return look.updated > 1 and len(look.used) == 1 and USED.reached(look.used[0])


def seen_objective(run: Run) -> str:
    """The family of a policy's or a preference's objective that a recording saw most often; '' for none."""
    seen: dict[str, int] = {}
    for measured in run.measured:
        for one in measured.latest(PolicyObjective):
            seen[one.family] = seen.get(one.family, 0) + one.losses
    family = max(seen, key=lambda name: seen[name], default="")
    return family if family and RECOGNISED.reached(seen[family]) else ""


def _use_each_other(look: SharedLosses) -> bool:
    return look.updated > 1 and len(look.used) > 1 and all(map(USED.reached, look.used))


def _one_objective(run: Run) -> bool:
    """Whether two optimisers that take turns go down one loss, each for its own part: then the losses of both have the
    same level. A critic that is not cut off from its generator has a loss of its own."""
    losses = [run.series.get(name) for name in ("train_loss", "train_loss/optimizer1")]
    values = [series.values[np.isfinite(series.values)] for series in losses if series is not None]
    if len(values) < len(losses) or not all(map(len, values)):
        return True
    one, other = values
    low, high = np.quantile(other, QUARTILES)
    return bool(low <= np.median(one) <= high)


def is_reinforcement(run: Run) -> bool:
    """Reinforcement learning: rewards are logged, policy and value losses stand side by side, games are won with ever
    fewer random moves, or a recording saw such a loss."""
    if usable(run, "reward") or _explores_less(run) or seen_objective(run) not in ("", *PAIRED):
        return True
    words = set().union(*(set(tokens_of(series.name)) for series in usable(run, "loss")), set())
    return len(words & _ACTOR_CRITIC) >= 2 or bool(words & _POLICY_LOSSES)


def _explores_less(run: Run) -> bool:
    """A share of random moves that is large at first and only falls, beside a share of games won."""
    played = any(_WON & set(tokens_of(series.name)) for series in usable(run, "score"))
    shares = [series.values for series in run.series.values() if played and _EXPLORED & set(tokens_of(series.name))]
    return any(
        len(one) >= EXPLORED_ROWS
        and MOSTLY_RANDOM <= one[0] <= 1
        and one[-1] < one[0]
        and bool(np.all(np.diff(one) <= 0))
        for one in shares
    )


def total_loss(run: Run, splits: Sequence[str], scale: str = "step") -> Series | None:
    """The whole loss of a split: the series that has no part, else its parts put together. `scale` prefers batch
    values ('step') or epoch averages ('epoch') where the log has both."""
    losses = [series for series in usable(run, "loss") if series.meaning.split in splits and not _unmeasured(series)]
    whole = [series for series in losses if not series.meaning.part]
    if whole:
        longest = max(len(series) for series in whole)
        whole = [series for series in whole if len(series) >= FEWER * longest or len(series) >= MANY]
        return max(whole, key=lambda series: _preference(series, splits, scale))
    if losses:
        return _together(run, losses, splits)
    for kind in ("perplexity", "error", "likelihood"):
        others = [series for series in usable(run, kind) if series.meaning.split in splits]
        if others:
            return max(others, key=lambda series: _preference(series, splits, scale))
    return None


def _unmeasured(series: Series) -> bool:
    """A validation loss that is exactly zero every time was never computed; in training that is a fault to report."""
    return series.meaning.split in ("val", "test") and len(series) > 1 and not np.any(series.values)


def reconstruction_loss(run: Run) -> Series | None:
    """The part of a GAN's losses that is expected to fall, where there is one."""
    parts = [
        s for s in usable(run, "loss") if (set(tokens_of(s.name)) | set(s.meaning.part.split("/"))) & _RECONSTRUCTION
    ]
    return _together(run, parts, ("train", "")) if parts else None


def best_score(run: Run, splits: Sequence[str]) -> Series | None:
    """The score to go by: the longest of the split that changes at all; plain accuracy and mAP before the rest."""
    scores = [series for series in usable(run, "score") if series.meaning.split in splits]
    moving = [series for series in scores if len(np.unique(series.values[np.isfinite(series.values)])) > 1] or scores

    def key(series: Series) -> tuple[int, int, int, int]:
        words = set(tokens_of(series.name))
        plain = int(bool(words & _PLAIN_SCORES)) - int(bool(words & _HALF_SCORES) and not words & _PLAIN_SCORES)
        return (splits.index(series.meaning.split) * -1, int(len(series) >= 3), plain, len(series))

    return max(moving, key=key, default=None)


def held_out_scores(run: Run) -> list[Series]:
    """Every score of data that was not trained on; precision and recall alone are bought with each other and left
    out."""
    found = [series for series in usable(run, "score") if series.meaning.split != "train"]
    return [s for s in found if not set(tokens_of(s.name)) & _HALF_SCORES]


def best_reward(run: Run) -> Series | None:
    rewards = usable(run, "reward")
    rewards = [series for series in rewards if len(np.unique(series.values)) > 1] or rewards

    def key(series: Series) -> tuple[int, int, int, int, int]:
        words = set(tokens_of(series.name))
        whole = words <= _WHOLE_REWARD
        mean = bool(words & {"mean", "avg", "average"}) or whole
        shaped = bool(words & {"intrinsic", "int", "shaped", "bonus", "curiosity"})
        late = "history" in words  # the last episodes, where there is a mean since the start as well
        return (int(len(series) >= 3), int(mean) - int(shaped), len(series), int(whole), int(late))

    return max(rewards, key=key, default=None)


def first_group(series: Sequence[Series]) -> Series | None:
    """Of several parameter groups' learning rates: the one with most points, the first group among equals."""
    return min(series, key=lambda one: (-len(one), one.meaning.part), default=None)


def _preference(series: Series, splits: Sequence[str], scale: str) -> tuple[int, int, int, int, int, int]:
    enough = int(len(series) >= 5)
    total = int(bool(set(tokens_of(series.name)) & _WHOLE_LOSS))
    stated = -splits.index(series.meaning.split)
    wanted = int(series.meaning.scale == scale)
    return (enough, wanted, stated if len(series) >= 3 else -9, total, len(series), -len(series.name))


def _together(run: Run, losses: list[Series], splits: Sequence[str]) -> Series:
    """Parts of one loss are summed; losses of several data sets (their names are no parts of the training loss) are
    averaged. Only series of the commonest length and steps take part."""
    longest = max(len(series) for series in losses)
    alike = [series for series in losses if len(series) == longest]
    alike = [series for series in alike if np.array_equal(series.steps, alike[0].steps)]
    if len(alike) == 1:
        return alike[0]
    train_parts = {series.meaning.part for series in usable(run, "loss") if series.meaning.split in ("", "train")}
    sets = "val" in splits and not ({series.meaning.part for series in alike} <= train_parts)
    values = np.sum([series.values for series in alike], axis=0)
    if sets:
        values = values / len(alike)
    names = ", ".join(series.name for series in alike[:4]) + ("…" if len(alike) > 4 else "")
    meaning: Meaning = replace(alike[0].meaning, part="")
    return Series(f"{'mean of ' if sets else SUM}{names}", meaning, alike[0].steps, values, alike[0].axis)
