"""What common advice about failing trainings is worth, measured on small trainings of known health.

    python benchmarks/folklore/score.py [--seeds 3]

Each row is one piece of advice: a number that is said to tell sick from healthy, or a remedy. Prints the table of
docs/folklore.md. About a minute on one core."""

from __future__ import annotations

import argparse
import statistics
from collections.abc import Callable
from itertools import pairwise

import torch
from torch import nn
from torch.nn import functional as F

STEPS = 300
Batch = tuple[torch.Tensor, torch.Tensor]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=3)
    seeds = range(parser.parse_args().seeds)
    torch.set_num_threads(1)
    print("| advice | measured |\n|---|---|")
    for advice, measure in (
        ("gradient norm 0.1 to 10 is healthy", fixed_norms),
        ("more than 40 % zeros: dead ReLU", zeros),
        ("largest by smallest layer norm above 1000: vanishing", layer_ratio),
        ("a loss below 0.1 is good", small_loss),
        ("raise the learning rate on a plateau", plateau),
        ("clip gradients against vanishing ones", deep_sigmoid),
        ("change the optimizer when it diverges", other_optimizer),
        ("NaN: add gradient clipping first", nan_and_clipping),
        ("weight_decay of Adam is weight decay", adam_decay),
    ):
        print(f"| {advice} | {measure(seeds)} |", flush=True)


def blobs(classes: int, features: int, noise: float, scale: float = 1.0) -> Batch:
    centres = torch.randn(classes, features)
    labels = torch.randint(classes, (1024,))
    return scale * (centres[labels] + noise * torch.randn(1024, features)), labels


def mlp(*widths: int, activation: type[nn.Module] = nn.ReLU, norm: bool = False) -> nn.Sequential:
    layers: list[nn.Module] = []
    for index, (inner, outer) in enumerate(pairwise(widths)):
        layers.append(nn.Linear(inner, outer))
        if index < len(widths) - 2:
            layers += [nn.LayerNorm(outer)] * norm + [activation()]
    return nn.Sequential(*layers)


def train(
    model: nn.Module, data: Batch, optimizer: torch.optim.Optimizer, *, steps: int = STEPS, clip: float = 0.0,
    loss_of: Callable[[torch.Tensor, torch.Tensor], torch.Tensor] = F.cross_entropy,
) -> list[float]:  # fmt: skip
    """Minibatches of 64; the losses of all steps."""
    losses = []
    for _ in range(steps):
        rows = torch.randint(len(data[0]), (64,))
        loss = loss_of(model(data[0][rows]), data[1][rows])
        optimizer.zero_grad()
        loss.backward()
        if clip:
            torch.nn.utils.clip_grad_norm_(model.parameters(), clip)
        optimizer.step()
        losses.append(loss.item())
    return losses


def sound(seed: int) -> list[tuple[nn.Sequential, Batch, float]]:
    """Healthy trainings of several kinds, with the norm of the gradient in the middle of each."""
    made = []
    for widths, noise, norm in (
        ((16, 64, 10), 0.5, False),
        ((16, 64, 64, 64, 10), 0.5, True),
        ((64, 128, 4), 2.0, False),
        ((8, 32, 32, 2), 0.1, False),
        ((32, 256, 256, 100), 0.5, True),
    ):
        torch.manual_seed(seed)
        data, model = blobs(widths[-1], widths[0], noise), mlp(*widths, norm=norm)
        optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
        train(model, data, optimizer)
        F.cross_entropy(model(data[0]), data[1]).backward()
        made.append((model, data, float(torch.stack([p.grad.norm() for p in model.parameters()]).norm())))  # type: ignore[union-attr]
    return made


def accuracy(model: nn.Module, data: Batch) -> float:
    with torch.no_grad():
        return float((model(data[0]).argmax(1) == data[1]).float().mean())


def fixed_norms(seeds: range) -> str:
    runs = [run for seed in seeds for run in sound(seed)]
    outside = sum(not 0.1 <= norm <= 10 for *_, norm in runs)
    learnt = statistics.median(accuracy(model, data) for model, data, _ in runs)
    return f"{outside} of {len(runs)} trainings that learn (median accuracy {learnt:.2f}) are outside"


def zeros(seeds: range) -> str:
    shares, dead = [], []
    for seed in seeds:
        for model, data, _ in sound(seed):
            x = data[0]
            for layer in model:
                x = layer(x)
                if isinstance(layer, nn.ReLU):
                    shares.append(float((x == 0).float().mean()))
                    dead.append(float((x == 0).all(0).float().mean()))
    above = sum(share > 0.4 for share in shares)
    return (
        f"{above} of {len(shares)} layers of healthy trainings have more than 40 % zeros (median "
        f"{statistics.median(shares):.0%}); units that are never on: median {statistics.median(dead):.0%}"
    )


def layer_ratio(seeds: range) -> str:
    healthy, sick = [], []
    for seed in seeds:
        for model, *_ in sound(seed):
            norms = [float(p.grad.norm()) for p in model.parameters() if p.grad is not None and p.dim() > 1]
            healthy.append(max(norms) / min(norms))
        torch.manual_seed(seed)
        model, data = mlp(16, *[32] * 6, 10, activation=nn.Sigmoid), blobs(10, 16, 0.5)
        losses = train(model, data, torch.optim.SGD(model.parameters(), lr=0.1))
        norms = [float(p.grad.norm()) for p in model.parameters() if p.grad is not None and p.dim() > 1]
        assert losses[-1] > 2.0, "this network does not learn"
        sick.append(max(norms) / min(norms))
    missed = sum(ratio <= 1000 for ratio in sick)
    return (
        f"healthy: {min(healthy):.2g} to {max(healthy):.2g}; six sigmoid layers that do not learn: {min(sick):.2g} to "
        f"{max(sick):.2g} ({missed} of {len(sick)} below 1000)"
    )


def small_loss(seeds: range) -> str:
    above, below = [], []
    for seed in seeds:
        torch.manual_seed(seed)
        data = blobs(100, 32, 1.2)
        held, train_part = (data[0][:256], data[1][:256]), (data[0][256:], data[1][256:])
        good = nn.Linear(32, 100)
        losses = train(good, train_part, torch.optim.AdamW(good.parameters(), lr=1e-2))
        above.append((losses[-1], accuracy(good, held)))
        noise = (torch.randn(64, 32), torch.randint(2, (64,)))
        memorised = mlp(32, 256, 2)
        losses = train(memorised, noise, torch.optim.AdamW(memorised.parameters(), lr=1e-2))
        below.append((losses[-1], accuracy(memorised, (torch.randn(512, 32), torch.randint(2, (512,))))))
    loss, held_out = (statistics.mean(part) for part in zip(*above, strict=True))
    low, chance = (statistics.mean(part) for part in zip(*below, strict=True))
    return (
        f"100 classes: loss {loss:.2f} with {held_out:.0%} right on held-out data; memorised noise: loss {low:.3f} "
        f"with {chance:.0%} right (chance 50 %)"
    )


def plateau(seeds: range) -> str:
    """A loss that rests at the noise of its steps: ten times the rate against a tenth of it."""
    changes: dict[str, list[float]] = {"raised tenfold": [], "kept": [], "lowered tenfold": []}
    for seed in seeds:
        for name, factor in (("raised tenfold", 10.0), ("kept", 1.0), ("lowered tenfold", 0.1)):
            torch.manual_seed(seed)
            inputs = torch.randn(1024, 16)
            data = (inputs, inputs @ torch.randn(16, 1) + 0.3 * torch.randn(1024, 1))
            model = mlp(16, 64, 1)
            optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
            train(model, data, optimizer, loss_of=F.mse_loss, steps=400)
            optimizer.param_groups[0]["lr"] *= factor
            losses = train(model, data, optimizer, loss_of=F.mse_loss)
            changes[name].append(statistics.mean(losses[-100:]))
    return "loss after it: " + ", ".join(f"{name} {statistics.median(found):.3g}" for name, found in changes.items())


def deep_sigmoid(seeds: range) -> str:
    ends: dict[str, list[float]] = {"as it is": [], "clipped at 1": [], "ReLU, layer norm": []}
    for seed in seeds:
        for name in ends:
            torch.manual_seed(seed)
            data, repaired = blobs(10, 16, 0.5), name == "ReLU, layer norm"
            model = mlp(16, *[32] * 12, 10, activation=nn.ReLU if repaired else nn.Sigmoid, norm=repaired)
            optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
            losses = train(model, data, optimizer, clip=1.0 if "clip" in name else 0.0)
            ends[name].append(statistics.mean(losses[-50:]))
    return "12 sigmoid layers, loss: " + ", ".join(
        f"{name} {statistics.mean(found):.3g}" for name, found in ends.items()
    )


def other_optimizer(seeds: range) -> str:
    ends: dict[str, list[float]] = {}
    for seed in seeds:
        kinds = (torch.optim.SGD, torch.optim.Adam, torch.optim.RMSprop)
        for kind, lr in (*((kind, 10.0) for kind in kinds), (torch.optim.SGD, 0.1)):
            name = f"{kind.__name__} {lr:g}"
            torch.manual_seed(seed)
            data, model = blobs(10, 16, 0.5), mlp(16, 64, 64, 10)
            losses = train(model, data, kind(model.parameters(), lr=lr))
            ends.setdefault(name, []).append(statistics.mean(losses[-50:]))
    return "loss (chance 2.3): " + ", ".join(f"{name}: {statistics.median(found):.3g}" for name, found in ends.items())


def nan_and_clipping(seeds: range) -> str:
    def log_of_zero(output: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        return -(F.one_hot(labels, output.shape[1]) * torch.softmax(output, 1).log()).sum(1).mean()

    counted = {"without clipping": 0, "with clipping": 0}
    for seed in seeds:
        for name in counted:
            torch.manual_seed(seed)
            data, model = blobs(10, 16, 0.5, scale=300.0), mlp(16, 64, 10)
            optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
            losses = train(model, data, optimizer, clip=1.0 if name.startswith("with c") else 0.0, loss_of=log_of_zero)
            counted[name] += losses[-1] != losses[-1]
    return "NaN by log of zero: " + ", ".join(f"{count} of {len(seeds)} {name}" for name, count in counted.items())


def adam_decay(seeds: range) -> str:
    """How much a weight without a gradient of its own shrinks in a hundred updates at a rate of 1e-3 and decay 0.1."""
    shrunk = {}
    for make in (torch.optim.Adam, torch.optim.AdamW):
        parts = []
        for size in (1.0, 100.0):
            torch.manual_seed(0)
            weight = nn.Parameter(torch.ones(1))
            optimizer = make([weight], lr=1e-3, weight_decay=0.1)
            for _ in range(100):
                weight.grad = size * torch.randn(1)
                optimizer.step()
            plain = nn.Parameter(torch.ones(1))
            torch.manual_seed(0)
            optimizer = make([plain], lr=1e-3, weight_decay=0.0)
            for _ in range(100):
                plain.grad = size * torch.randn(1)
                optimizer.step()
            parts.append(float(plain.detach() - weight.detach()))
        shrunk[make.__name__] = parts
    return "shrinkage by the decay, gradients of size 1 and 100: " + "; ".join(
        f"{name} {small:.2g} and {large:.2g}" for name, (small, large) in shrunk.items()
    )


if __name__ == "__main__":
    main()
