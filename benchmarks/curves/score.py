"""False alarms and detections on simulated curves: what the symptoms say where the truth is known by construction.

    python benchmarks/curves/score.py [--runs 400] [--seed 0] [--verbose]

Healthy curves are descents of many shapes (exponential, power law, two-phase, step decay) with noise of many kinds
(normal, log-normal, correlated, small-batch) and lengths from 12 to 20 000 values, with and without validation, scores,
learning rates and gradient norms. Sick ones are the same curves with one thing wrong. Some rules of the symptom files
were changed while looking at seeds 0 and 1, so a score that means something needs another seed; the generator itself is
the same for all of them."""

from __future__ import annotations

import argparse
from collections import Counter, defaultdict
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from traindx.engine import diagnose
from traindx.meaning import meaning_of
from traindx.run import Run, Series

Floats = NDArray[np.float64]
Random = np.random.Generator


def noise(random: Random, count: int) -> Floats:
    """Multiplicative noise around 1, of a random kind and size."""
    kind, size = random.integers(4), float(random.choice([0.003, 0.01, 0.03, 0.08, 0.2]))
    normal = random.standard_normal(count)
    if kind == 1:
        return np.exp(size * normal * 1.5)
    if kind == 2:
        for index in range(1, count):
            normal[index] = 0.8 * normal[index - 1] + 0.6 * normal[index]
    if kind == 3:
        return random.gamma(1 / size**2, size**2, count)
    return np.maximum(1 + size * normal, 0.05)


def descent(random: Random, count: int, start: float, floor: float) -> Floats:
    """A healthy level over time."""
    time = np.linspace(0, 1, count)
    kind = random.integers(4)
    if kind == 0:
        shape = np.exp(-random.uniform(2, 12) * time)
    elif kind == 1:
        shape = (1 + random.uniform(20, 400) * time) ** -random.uniform(0.4, 1.2)
    elif kind == 2:
        shape = 0.6 * np.exp(-25 * time) + 0.4 * np.exp(-random.uniform(1.5, 4) * time)
    else:
        drop = random.uniform(0.4, 0.8)
        shape = 0.5 * np.exp(-15 * time) + 0.5 * np.where(
            time < drop, 1 - 0.3 * time, 0.25 * np.exp(-3 * (time - drop))
        )
    return floor + (start - floor) * shape


def healthy(random: Random) -> dict[str, tuple[Floats, Floats]]:
    count = int(np.exp(random.uniform(np.log(12), np.log(20000))))
    start = float(np.exp(random.uniform(np.log(0.3), np.log(12))))
    level = descent(random, count, start, start * random.uniform(0.01, 0.45))
    steps = np.arange(count, dtype=float) * float(random.choice([1, 10, 50, 500]))
    if count < 120 and steps[1] == 1:
        steps *= 100
    series = {"train_loss": (steps, level * noise(random, count))}
    if random.random() < 0.7:
        some = np.unique(np.linspace(0, count - 1, int(min(count, random.integers(8, 60)))).astype(int))
        gap = 1 + random.uniform(-0.3, 0.5) * np.linspace(0.2, 1, len(some))
        wobble = np.maximum(1 + random.choice([0.005, 0.02, 0.05]) * random.standard_normal(len(some)), 0.1)
        series["val_loss"] = (steps[some], level[some] * gap * wobble)
        if random.random() < 0.5:
            series["val_accuracy"] = (steps[some], np.clip(1 - level[some] / start * 0.9, 0, 1))
    if random.random() < 0.5:
        peak = float(random.choice([1e-4, 1e-3, 0.1]))
        time = np.linspace(0, 1, count)
        plan = random.integers(3)
        rate = peak * (
            np.ones(count)
            if plan == 0
            else 0.5 * (1 + np.cos(np.pi * time))
            if plan == 1
            else np.where(time < 0.6, 1.0, 0.1)
        )
        if random.random() < 0.5:
            rate = rate * np.minimum(1, (time + 1e-3) / 0.05)
        series["lr"] = (steps, rate)
    if random.random() < 0.4:
        series["grad_norm"] = (steps, np.exp(random.normal(0, 1)) * np.exp(0.4 * random.standard_normal(count)))
    return series


def flat(random: Random) -> dict[str, tuple[Floats, Floats]]:
    series = healthy(random)
    steps, values = series["train_loss"]
    level = float(values[0])
    return {"train_loss": (steps, level * (1 + 0.02 * random.random() * random.standard_normal(len(values))))}


def diverging(random: Random) -> dict[str, tuple[Floats, Floats]]:
    steps, values = healthy(random)["train_loss"]
    turn = int(len(values) * random.uniform(0.3, 0.7))
    growth = np.ones(len(values))
    growth[turn:] = np.exp(np.linspace(0, random.uniform(1.5, 4), len(values) - turn))
    return {"train_loss": (steps, values * growth)}


def overfitting(random: Random) -> dict[str, tuple[Floats, Floats]]:
    series = healthy(random)
    steps, values = series["train_loss"]
    some = np.unique(np.linspace(0, len(values) - 1, min(len(values), 30)).astype(int))
    turn = int(len(some) * random.uniform(0.2, 0.6))
    val = np.interp(some, np.arange(len(values)), np.minimum.accumulate(values)) * 1.1
    val[turn:] = val[turn] * np.linspace(1, random.uniform(1.2, 3), len(some) - turn)
    return {
        "train_loss": (steps, values),
        "val_loss": (steps[some], val * (1 + 0.01 * random.standard_normal(len(some)))),
    }


def spiky(random: Random) -> dict[str, tuple[Floats, Floats]]:
    series = healthy(random)
    steps, values = series["train_loss"]
    values = values.copy()
    place = int(len(values) * random.uniform(0.3, 0.9))
    tail = values[place : place + max(1, len(values) // 200)]
    tail += (values[0] - values.min()) * random.uniform(0.6, 3)
    return {"train_loss": (steps, values)}


def nan_late(random: Random) -> dict[str, tuple[Floats, Floats]]:
    steps, values = healthy(random)["train_loss"]
    values = values.copy()
    values[int(len(values) * random.uniform(0.2, 0.8)) :] = np.nan
    return {"train_loss": (steps, values)}


def plateau(random: Random) -> dict[str, tuple[Floats, Floats]]:
    steps, values = healthy(random)["train_loss"]
    cut = max(3, int(len(values) * random.uniform(0.03, 0.2)))
    start = float(values[0])
    level = np.full(len(values), start * random.uniform(0.4, 0.8))
    level[:cut] = np.linspace(start, level[-1], cut)
    return {"train_loss": (steps, level * (1 + 0.01 * random.standard_normal(len(values))))}


KINDS: dict[str, tuple[Callable[[Random], dict[str, tuple[Floats, Floats]]], set[str]]] = {
    "healthy": (healthy, set()),
    "flat": (flat, {"flat-from-start", "loss-at-chance"}),
    "diverging": (diverging, {"divergence"}),
    "overfitting": (overfitting, {"overfitting-gap"}),
    "spike": (spiky, {"loss-spike"}),
    "NaN": (nan_late, {"nonfinite-loss"}),
    "plateau": (plateau, {"plateau", "flat-from-start"}),
}


def run_of(series: dict[str, tuple[Floats, Floats]]) -> Run:
    run = Run("simulated", "simulated")
    for name, (steps, values) in series.items():
        run.series[name] = Series(name, meaning_of(name), steps, values)
    return run


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=400, help="simulated runs of each kind")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--verbose", action="store_true", help="which symptoms fired on the healthy ones")
    arguments = parser.parse_args()
    verdicts: dict[str, Counter[str]] = defaultdict(Counter)
    hits: Counter[str] = Counter()
    fired: dict[str, Counter[str]] = defaultdict(Counter)
    for kind, (make, wanted) in KINDS.items():
        random = np.random.default_rng(arguments.seed)
        for _ in range(arguments.runs):
            page = diagnose(run_of(make(random)))
            verdicts[kind][page.verdict] += 1
            present = {symptom.id for symptom in page.present()}
            hits[kind] += bool(present & wanted)
            fired[kind].update(present)
    print(
        f"| kind ({arguments.runs} each) | right symptom | unhealthy | inconclusive | healthy |\n|---|---|---|---|---|"
    )
    for kind, (_, wanted) in KINDS.items():
        share = f"{hits[kind] / arguments.runs:.1%}" if wanted else "–"
        cells = " | ".join(
            f"{verdicts[kind][verdict] / arguments.runs:.1%}" for verdict in ("unhealthy", "inconclusive", "healthy")
        )
        print(f"| {kind} | {share} | {cells} |")
    if arguments.verbose:
        for kind, counter in fired.items():
            print(kind, dict(counter.most_common(8)))


if __name__ == "__main__":
    main()
