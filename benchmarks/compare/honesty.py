"""How often two runs that differ in nothing but their seed are said to differ, and how often a real change is found.

`python benchmarks/compare/honesty.py`: trains small networks in numpy on six tasks with many seeds, under a usual
setting and under changed ones; compares pairs of single runs, and pairs of three seeds each, as `traindx compare` does.

`--fresh`: other tasks, another network and optimiser and other seeds, none of which the rules of the comparison have
met."""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from itertools import combinations, pairwise

import numpy as np

from traindx.comparison.compare import compare
from traindx.comparison.summary import Summary
from traindx.fleet import _summary
from traindx.meaning import meaning_of
from traindx.run import Floats, Run, Series
from traindx.signals import Settings

STEPS, EVERY, HIDDEN = 800, 20, 32
RATE, CHANGED = 0.02, 0.002
Task = Callable[[np.random.Generator], tuple[Floats, Floats]]


def regression(noise: float, width: int) -> Task:
    def make(random: np.random.Generator) -> tuple[Floats, Floats]:
        x = random.normal(size=(600, width))
        return x, np.sin(x[:, :1] * 2) + 0.5 * x[:, 1:2] ** 2 + noise * random.normal(size=(600, 1))

    return make


def classification(noise: float, width: int) -> Task:
    def make(random: np.random.Generator) -> tuple[Floats, Floats]:
        x = random.normal(size=(600, width))
        label = (x[:, 0] * x[:, 1] > 0) ^ (random.random(600) < noise)
        return x, np.where(label, 1.0, -1.0)[:, None]

    return make


TASKS: dict[str, Task] = {
    "regression": regression(0.1, 4), "regression, noisy": regression(0.8, 8), "regression, wide": regression(0.3, 24),
    "classes": classification(0.0, 4), "classes, noisy": classification(0.2, 4),
    "classes, wide": classification(0.05, 12),
}  # fmt: skip


def spiral(random: np.random.Generator) -> tuple[Floats, Floats]:
    """Two arms, with noise."""
    side = random.integers(0, 2, 600)
    angle = random.random(600) * 3 * np.pi
    x = np.stack([np.cos(angle + np.pi * side), np.sin(angle + np.pi * side)], 1) * angle[:, None] / 5
    return x + 0.1 * random.normal(size=x.shape), np.where(side, 1.0, -1.0)[:, None]


def friedman(random: np.random.Generator) -> tuple[Floats, Floats]:
    x = random.random((600, 10))
    y = np.sin(np.pi * x[:, 0] * x[:, 1]) + 2 * (x[:, 2] - 0.5) ** 2 + x[:, 3] + 0.5 * x[:, 4]
    return x - 0.5, (y + 0.1 * random.normal(size=600) - y.mean())[:, None]


def sparse(random: np.random.Generator) -> tuple[Floats, Floats]:
    """Few inputs of many matter, and the noise is as large as they are."""
    x = random.normal(size=(600, 40))
    return x, x[:, :3].sum(1, keepdims=True) + 1.5 * random.normal(size=(600, 1))


def rare(random: np.random.Generator) -> tuple[Floats, Floats]:
    """One sample in ten is of the other class."""
    x = random.normal(size=(600, 6))
    return x, np.where(x[:, :1] + 0.3 * random.normal(size=(600, 1)) > 1.3, 1.0, -1.0)


def outliers(random: np.random.Generator) -> tuple[Floats, Floats]:
    x = random.normal(size=(600, 5))
    return x, np.tanh(x[:, :1] + x[:, 1:2]) + 0.2 * random.standard_t(2, size=(600, 1))


def waves(random: np.random.Generator) -> tuple[Floats, Floats]:
    x = random.random((600, 1)) * 4 - 2
    return x, np.sin(5 * x) * np.exp(-(x**2)) + 0.05 * random.normal(size=(600, 1))


FRESH: dict[str, Task] = {
    "spiral": spiral, "friedman": friedman, "sparse": sparse, "rare class": rare, "outliers": outliers, "waves": waves,
}  # fmt: skip
FRESH_SEED = 5000
ADAM = 3e-3


def train_fresh(task: Task, seed: int, lr: float) -> Run:
    """Two rectified layers under Adam; `lr` is relative to ADAM as it is to RATE elsewhere."""
    x, y = task(np.random.default_rng(777))
    random = np.random.default_rng(seed + FRESH_SEED)
    sizes = (x.shape[1], 48, 48, 1)
    weights = [random.normal(size=(a, b)) * np.sqrt(2 / a) for a, b in pairwise(sizes)]
    first, second = [np.zeros_like(w) for w in weights], [np.zeros_like(w) for w in weights]
    rows: list[tuple[int, float, float]] = []
    for step in range(STEPS):
        chosen = random.integers(0, 400, 32)
        one = np.maximum(x[chosen] @ weights[0], 0)
        two = np.maximum(one @ weights[1], 0)
        wrong = two @ weights[2] - y[chosen]
        back_two = wrong @ weights[2].T * (two > 0)
        back_one = back_two @ weights[1].T * (one > 0)
        for i, grad in enumerate((x[chosen].T @ back_one / 16, one.T @ back_two / 16, two.T @ wrong / 16)):
            first[i] = 0.9 * first[i] + 0.1 * grad
            second[i] = 0.999 * second[i] + 0.001 * grad**2
            scaled = first[i] / (1 - 0.9 ** (step + 1)) / (np.sqrt(second[i] / (1 - 0.999 ** (step + 1))) + 1e-8)
            weights[i] -= ADAM * lr / RATE * scaled
        if step % EVERY == 0:
            held = np.maximum(np.maximum(x[400:] @ weights[0], 0) @ weights[1], 0) @ weights[2] - y[400:]
            rows.append((step, float(np.mean(wrong**2)), float(np.mean(held**2))))
    return as_run(rows, seed, lr)


def train(task: Task, seed: int, lr: float) -> Run:
    """One run: the data are the task's own, the start and the order of the samples are the seed's."""
    x, y = task(np.random.default_rng(12345))
    random = np.random.default_rng(seed)
    first, second = (
        random.normal(size=(x.shape[1], HIDDEN)) / np.sqrt(x.shape[1]),
        random.normal(size=(HIDDEN, 1)) / np.sqrt(HIDDEN),
    )
    rows: list[tuple[int, float, float]] = []
    for step in range(STEPS):
        chosen = random.integers(0, 400, 32)
        hidden = np.tanh(x[chosen] @ first)
        wrong = hidden @ second - y[chosen]
        back = wrong @ second.T * (1 - hidden**2)
        second -= lr * hidden.T @ wrong / 16
        first -= lr * x[chosen].T @ back / 16
        if step % EVERY == 0:
            held = np.tanh(x[400:] @ first) @ second - y[400:]
            rows.append((step, float(np.mean(wrong**2)), float(np.mean(held**2))))
    return as_run(rows, seed, lr)


def as_run(rows: Sequence[tuple[int, float, float]], seed: int, lr: float) -> Run:
    steps, train_loss, val_loss = (np.array(column, dtype=np.float64) for column in zip(*rows, strict=True))
    run = Run(f"seed-{seed}", "memory", config={"lr": lr, "seed": seed})
    for name, values in (("train_loss", train_loss), ("val_loss", val_loss)):
        run.series[name] = Series(name, meaning_of(name), steps, values)
    return run


def verdicts(pairs: Iterator[Sequence[Summary]]) -> Counter[str]:
    found: Counter[str] = Counter()
    for pair in pairs:
        report = compare(pair).versus
        found[report.verdict if report is not None else "not two sides"] += 1
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=12)
    parser.add_argument("--fresh", action="store_true", help="tasks, network and seeds that no rule has met")
    given = parser.parse_args()
    tasks, trained = (FRESH, train_fresh) if given.fresh else (TASKS, train)
    print(
        "| task | spread of seeds / progress | A/A, single runs: differ | lr ÷ 10, single runs | lr ÷ 10, 3 seeds each "
        "|"
    )
    print("|---|---|---|---|---|")
    differ = pairs = 0
    for name, task in tasks.items():
        usual = [_summary(trained(task, seed, RATE), Settings()) for seed in range(given.seeds)]
        slow = [_summary(trained(task, 100 + seed, CHANGED), Settings()) for seed in range(given.seeds)]
        levels = np.array([run.measures["validation loss"].final for run in usual])
        progress = np.median(
            [abs(r.measures["validation loss"].initial - r.measures["validation loss"].best) for r in usual]
        )
        alike = verdicts(list(pair) for pair in combinations(usual, 2))
        single = verdicts([a, b] for a, b in zip(usual, slow, strict=True))
        seeds = verdicts([*usual[i : i + 3], *slow[i : i + 3]] for i in range(0, given.seeds - 2, 3))
        wrong = alike["helped"] + alike["worse"]
        differ, pairs = differ + wrong, pairs + sum(alike.values())
        better = float(np.mean([r.measures["validation loss"].final for r in slow])) < levels.mean()
        word = "helped" if better else "worse"
        print(
            f"| {name} | {levels.std(ddof=1) / progress * 100:.1f} % | {wrong}/{sum(alike.values())} | "
            f"{single[word]}/{sum(single.values())} {word} | {seeds[word]}/{sum(seeds.values())} {word} |"
        )
    print(f"\nA/A, single runs: {differ} of {pairs} said to differ ({differ / pairs * 100:.1f} %)")


if __name__ == "__main__":
    main()
