"""Two real trainings, small enough to run anywhere: a numpy network on synthetic data, once sick and once healthy.

    python examples/make_examples.py        writes examples/sick/ and examples/healthy/

The two differ in one number only: the learning rate.
"""

from __future__ import annotations

import csv
import math
from itertools import pairwise
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Data = tuple[Floats, Floats]  # inputs, targets
HERE = Path(__file__).parent
FEATURES, HIDDEN, NOISE = 12, 48, 0.1
BATCH, MOMENTUM, CLIP, STEPS, WARMUP, VALIDATE_EVERY = 64, 0.9, 5.0, 500, 150, 10
LEARNING_RATES = {"sick": 0.4, "healthy": 0.02}


def make_data(rng: np.random.Generator, teacher: tuple[Floats, Floats], size: int) -> Data:
    """What a fixed random network answers, with unit variance and a little noise."""
    inputs = rng.standard_normal((size, FEATURES))
    answers = np.tanh(inputs @ teacher[0]) @ teacher[1]
    return inputs, answers / answers.std() + NOISE * rng.standard_normal((size, 1))


def make_weights(rng: np.random.Generator) -> list[Floats]:
    widths = (FEATURES, HIDDEN, HIDDEN, 1)
    weights: list[Floats] = []
    for fan_in, fan_out in pairwise(widths):
        weights += [rng.standard_normal((fan_in, fan_out)) / math.sqrt(fan_in), np.zeros(fan_out)]
    return weights


def loss_and_gradients(weights: list[Floats], data: Data) -> tuple[float, list[Floats]]:
    """Mean squared error of a tanh network and its gradients, by hand."""
    layers = len(weights) // 2
    outputs = [data[0]]
    for layer in range(layers):
        signal = outputs[-1] @ weights[2 * layer] + weights[2 * layer + 1]
        outputs.append(np.tanh(signal) if layer < layers - 1 else signal)
    miss = outputs[-1] - data[1]
    back = 2 * miss / len(miss)
    gradients: list[Floats] = []
    for layer in reversed(range(layers)):
        gradients[:0] = [outputs[layer].T @ back, back.sum(axis=0)]
        back = (back @ weights[2 * layer].T) * (1 - outputs[layer] ** 2)
    return float((miss**2).mean()), gradients


def rate_at(step: int, peak: float) -> float:
    """Linear warm-up, then constant."""
    return peak * min(step / WARMUP, 1.0)


def train(folder: Path, peak: float, seed: int = 7) -> None:
    """SGD with momentum, logged to metrics.csv beside its config.yaml."""
    rng = np.random.default_rng(seed)
    teacher = (rng.standard_normal((FEATURES, 6)) / math.sqrt(FEATURES), rng.standard_normal((6, 1)))
    training, validation = make_data(rng, teacher, 4000), make_data(rng, teacher, 1000)
    weights = make_weights(rng)
    velocity = [np.zeros_like(weight) for weight in weights]
    folder.mkdir(exist_ok=True)
    (folder / "config.yaml").write_text(
        f"optimizer: SGD\nlr: {peak}\nmomentum: {MOMENTUM}\nmax_grad_norm: {CLIP}\nbatch_size: {BATCH}\n"
        f"max_steps: {STEPS}\nwarmup_steps: {WARMUP}\nscheduler: constant_with_warmup\nloss: mse\n"
    )
    with (folder / "metrics.csv").open("w", newline="") as file:
        log = csv.writer(file, lineterminator="\n")
        log.writerow(["step", "train_loss", "val_loss", "lr", "grad_norm"])
        for step in range(1, STEPS + 1):
            lr = rate_at(step, peak)
            batch = rng.integers(0, len(training[0]), BATCH)
            loss, gradients = loss_and_gradients(weights, (training[0][batch], training[1][batch]))
            norm = math.sqrt(sum(float((gradient**2).sum()) for gradient in gradients))
            for weight, speed, gradient in zip(weights, velocity, gradients, strict=True):
                speed *= MOMENTUM
                speed -= lr * min(1.0, CLIP / norm) * gradient
                weight += speed
            checked = step % VALIDATE_EVERY == 0
            validated = f"{loss_and_gradients(weights, validation)[0]:.5g}" if checked else ""
            log.writerow([step, f"{loss:.5g}", validated, f"{lr:.4g}", f"{norm:.4g}"])


if __name__ == "__main__":
    for name, learning_rate in LEARNING_RATES.items():
        train(HERE / name, learning_rate)
