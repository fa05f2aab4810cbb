"""What recording costs: the time of a training step bare, under the recorder and under its peers, in turns in one
process.

    python benchmarks/overhead/score.py [--device cuda] [--rounds 7] [--only gpt2 resnet50 …] [--kinds traindx naive …]

Each round trains a while bare, a while under `traindx` at its default budget, and a while under each peer, on the same
model, in that order and reversed in every other round: the naive per-parameter `.item()` logging many scripts have,
`wandb.watch` in offline mode at its default frequency and at every step, torch's anomaly detection, Cockpit with its
economy configuration. Peers that are not installed or fail are left out with a dash. One recorder stays attached for
the whole measurement, as in a real training, and pauses while others have their turn. Printed is the median step time
of bare and the ratio of all time to all bare time with half its 95 % interval (resampled rounds; the rare costly steps
count in full, so no median is taken), and how far the bare rounds lie apart in half of the cases. Many short rounds
(`--rounds 200 --seconds 0.25`) resolve a percent on a machine that is not quiet. The first close looks are in the first
turns: *later* is the same ratio of the recorder in the second half of the rounds alone, what a long training pays.
`--cpu` takes the CPU time of the process instead of wall time. After that a short seeded training is run twice, bare
and recorded, and the losses and final weights are compared bit by bit; on a GPU torch's sync debug mode counts the
device synchronisations the recorder causes after the first steps."""

from __future__ import annotations

import argparse
import copy
import random
import statistics
import sys
import tempfile
import time
import warnings
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import torch
from torch import nn

from traindx.live.events.hub import Hub
from traindx.live.instruments import observers
from traindx.live.recording.store import Store

Clock = Callable[[], float]


def deep_mlp(device: str) -> tuple[nn.Module, Callable[[], tuple[torch.Tensor, torch.Tensor]]]:
    layers: list[nn.Module] = [nn.Linear(256, 512), nn.ReLU()]
    for _ in range(98):
        layers += [nn.Linear(512, 512), nn.ReLU()]
    model = nn.Sequential(*layers, nn.Linear(512, 10)).to(device)
    x, y = torch.randn(256, 256, device=device), torch.randint(0, 10, (256,), device=device)
    return model, lambda: (x, y)


def mlp(device: str) -> tuple[nn.Module, Callable[[], tuple[torch.Tensor, torch.Tensor]]]:
    model = nn.Sequential(nn.Linear(784, 1024), nn.ReLU(), nn.Linear(1024, 1024), nn.ReLU(), nn.Linear(1024, 10)).to(
        device
    )
    x, y = torch.randn(192, 784, device=device), torch.randint(0, 10, (192,), device=device)
    return model, lambda: (x, y)


class Block(nn.Module):
    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down, self.heads = nn.Linear(width, 4 * width), nn.Linear(4 * width, width), heads

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        batch, length, width = x.shape
        q, k, v = self.qkv(self.norm1(x)).view(batch, length, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        y = nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(y.transpose(1, 2).reshape(batch, length, width))
        return x + self.down(nn.functional.gelu(self.up(self.norm2(x))))


class Language(nn.Module):
    def __init__(self, layers: int, width: int, heads: int, vocabulary: int, length: int) -> None:
        super().__init__()
        self.tokens, self.places = nn.Embedding(vocabulary, width), nn.Embedding(length, width)
        self.blocks = nn.Sequential(*(Block(width, heads) for _ in range(layers)))
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, vocabulary, bias=False)

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        x = self.tokens(ids) + self.places(torch.arange(ids.shape[1], device=ids.device))
        return self.head(self.norm(self.blocks(x))).flatten(0, 1)


def gpt2(device: str) -> tuple[nn.Module, Callable[[], tuple[torch.Tensor, torch.Tensor]]]:
    large = device == "cuda"  # the size of GPT-2 124M; a small one on a CPU
    layers, width, heads, vocabulary, length, batch = (
        (12, 768, 12, 50257, 1024, 4) if large else (6, 256, 8, 8000, 128, 4)
    )
    model = Language(layers, width, heads, vocabulary, length).to(device)
    ids = torch.randint(0, vocabulary, (batch, length + 1), device=device)
    return model, lambda: (ids[:, :-1], ids[:, 1:].flatten())


def resnet50(device: str) -> tuple[nn.Module, Callable[[], tuple[torch.Tensor, torch.Tensor]]]:
    class Bottleneck(nn.Module):
        def __init__(self, inside: int, width: int, stride: int) -> None:
            super().__init__()
            self.path = nn.Sequential(
                nn.Conv2d(inside, width, 1, bias=False), nn.BatchNorm2d(width), nn.ReLU(),
                nn.Conv2d(width, width, 3, stride, 1, bias=False), nn.BatchNorm2d(width), nn.ReLU(),
                nn.Conv2d(width, 4 * width, 1, bias=False), nn.BatchNorm2d(4 * width),
            )  # fmt: skip
            self.skip = nn.Sequential(nn.Conv2d(inside, 4 * width, 1, stride, bias=False), nn.BatchNorm2d(4 * width))
            self.same = stride == 1 and inside == 4 * width

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return nn.functional.relu(self.path(x) + (x if self.same else self.skip(x)))

    parts: list[nn.Module] = [
        nn.Conv2d(3, 64, 7, 2, 3, bias=False),
        nn.BatchNorm2d(64),
        nn.ReLU(),
        nn.MaxPool2d(3, 2, 1),
    ]
    inside = 64
    for stage, count in enumerate((3, 4, 6, 3)):
        for index in range(count):
            parts.append(Bottleneck(inside, 64 << stage, 2 if stage and not index else 1))
            inside = 4 * (64 << stage)
    model = nn.Sequential(*parts, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(2048, 1000)).to(device)
    size = 64 if device == "cuda" else 2
    x, y = torch.randn(size, 3, 224, 224, device=device), torch.randint(0, 1000, (size,), device=device)
    return model, lambda: (x, y)


def small(device: str) -> tuple[nn.Module, Callable[[], tuple[torch.Tensor, torch.Tensor]]]:
    model = nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 128), nn.ReLU(), nn.Linear(128, 10)).to(device)
    x, y = torch.randn(64, 64, device=device), torch.randint(0, 10, (64,), device=device)
    return model, lambda: (x, y)


def medium(device: str) -> tuple[nn.Module, Callable[[], tuple[torch.Tensor, torch.Tensor]]]:
    layers = [layer for _ in range(8) for layer in (nn.Linear(256, 256), nn.ReLU())]
    model = nn.Sequential(*layers, nn.Linear(256, 10)).to(device)
    x, y = torch.randn(96, 256, device=device), torch.randint(0, 10, (96,), device=device)
    return model, lambda: (x, y)


TASKS = {
    "small-mlp": small, "medium-mlp": medium, "mlp": mlp, "deep-mlp": deep_mlp, "gpt2": gpt2, "gpt2-compiled": gpt2,
    "resnet50": resnet50,
}  # fmt: skip
KINDS = ("bare", "traindx", "naive", "anomaly", "wandb", "wandb-every", "cockpit")


class Training:
    def __init__(self, task: str, device: str) -> None:
        torch.manual_seed(0)
        self.model, self.batch = TASKS[task](device)
        self.called: Callable[..., torch.Tensor] = torch.compile(self.model) if "compiled" in task else self.model
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=1e-4)
        self.half = device == "cuda" and task.startswith(("gpt2", "resnet50"))
        self.device = device
        self.logged: list[list[float]] = []

    def step(self, naive: bool = False, after: Callable[[], object] | None = None) -> torch.Tensor:
        x, y = self.batch()
        self.optimizer.zero_grad(set_to_none=True)
        with torch.autocast(self.device, torch.bfloat16, enabled=self.half):
            loss = nn.functional.cross_entropy(self.called(x), y)
        loss.backward()
        if naive:
            self.logged.append([p.grad.norm().item() for p in self.model.parameters() if p.grad is not None])
        self.optimizer.step()
        if after is not None:
            after()
        return loss.detach()

    def wait(self) -> None:
        if self.device == "cuda":
            torch.cuda.synchronize()


def seconds_per_step(training: Training, steps: int, clock: Clock, **options: Any) -> float:
    training.wait()
    began = clock()
    for _ in range(steps):
        training.step(**options)
    training.wait()
    return (clock() - began) / steps


def recorder() -> Hub:
    hub = Hub(
        lambda: Store(Path(tempfile.mkdtemp(prefix="traindx-bench-")) / "r.traindx"),
        list(observers().values()),
        0.01,
        None,
    )
    hub.attach()
    return hub


def with_wandb(training: Training, steps: int, clock: Clock, every: int) -> float:
    import wandb

    run = wandb.init(
        mode="offline", dir=tempfile.mkdtemp(prefix="traindx-bench-"), settings=wandb.Settings(silent=True)
    )
    run.watch(training.model, log="all", log_freq=every)
    try:
        return seconds_per_step(training, steps, clock, after=lambda: run.log({"step": 1}))
    finally:
        run.unwatch(training.model)
        run.finish()


def with_cockpit(training: Training, steps: int, clock: Clock) -> float:
    """Cockpit needs layers it can extend, a loss that keeps its samples apart and a backward pass of its own."""
    from backpack import extend
    from cockpit import Cockpit
    from cockpit.utils.configuration import configuration

    model = extend(copy.deepcopy(training.model))
    criterion, single = extend(nn.CrossEntropyLoss()), nn.CrossEntropyLoss(reduction="none")
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-4)
    watching = Cockpit(model.parameters(), quantities=configuration("economy"))
    training.wait()
    began = clock()
    for number in range(steps):
        x, y = training.batch()
        optimizer.zero_grad()
        output = model(x)
        loss = criterion(output, y)
        info = {"batch_size": len(x), "individual_losses": single(output, y), "loss": loss, "optimizer": optimizer}
        with watching(number, info=info):
            loss.backward(create_graph=watching.create_graph(number))
        optimizer.step()
    training.wait()
    return (clock() - began) / steps


def turn(kind: str, training: Training, hub: Hub | None, steps: int, clock: Clock) -> float:
    """The seconds of a step, of as many steps as it takes to see them."""
    few = max(5, steps // 5)
    if hub is not None:
        resume(hub)
        try:
            return seconds_per_step(training, steps, clock)
        finally:
            pause(hub)
    if kind == "anomaly":
        with torch.autograd.set_detect_anomaly(True), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return seconds_per_step(training, few, clock)
    if kind.startswith("wandb"):
        return with_wandb(training, few, clock, 1 if kind == "wandb-every" else 1000)
    if kind == "cockpit":
        return with_cockpit(training, max(3, steps // 50), clock)
    return seconds_per_step(training, steps if kind == "bare" else few, clock, naive=kind == "naive")


_paused: dict[Hub, float] = {}


def pause(hub: Hub) -> None:
    """Others have their turn: the recorder is silent, its hooks are gone and its clock stands still."""
    hub.look_closely(False)
    hub.ended = True
    _paused[hub] = time.perf_counter()


def resume(hub: Hub) -> None:
    if hub in _paused:
        hub.ended = False
        hub._clock.began += time.perf_counter() - _paused.pop(hub)


def measure(task: str, device: str, rounds: int, seconds: float, kinds: Sequence[str], clock: Clock) -> str:
    training = Training(task, device)
    for _ in range(2):
        once = seconds_per_step(training, 10, time.perf_counter)
    steps = max(10, min(2000, int(seconds / once)))
    hub: Hub | None = None
    times: dict[str, list[float]] = {kind: [] for kind in kinds}
    for number in range(rounds):
        for kind in list(kinds)[:: 1 if number % 2 == 0 else -1]:
            if kind in times:
                if kind == "traindx":
                    hub = hub or recorder()
                try:
                    times[kind].append(turn(kind, training, hub if kind == "traindx" else None, steps, clock))
                except Exception as error:  # a peer that cannot do this model
                    print(f"{task}: {kind} left out ({type(error).__name__}: {str(error)[:100]})", file=sys.stderr)
                    del times[kind]
    own = "–"
    if hub is not None:
        resume(hub)
        own = f"{hub.cost:.2%} ({hub.spent:.2f} s)"
        hub.detach()
    bare = statistics.median(times["bare"])
    quarters = statistics.quantiles(times["bare"], n=4)
    spread = (quarters[2] - quarters[0]) / bare
    ratios = [_ratio(times[kind], times["bare"]) if kind in times else "–" for kind in kinds if kind != "bare"]
    later = _ratio(times["traindx"][rounds // 2 :], times["bare"][rounds // 2 :]) if "traindx" in times else "–"
    return (
        f"| {task} | {bare * 1000:.2f} ms | {' | '.join(ratios)} | {later} | {own} | {spread:.1%} |"
        f" {identical(task, device)} | {synchronisations(task, device)} |"
    )


def _ratio(times: Sequence[float], bare: Sequence[float]) -> str:
    """Turns of the same round are drawn together, since what else the machine does disturbs them alike."""
    dice = random.Random(0)
    rounds = list(zip(times, bare, strict=True))
    drawn = sorted(_of_sums(dice.choices(rounds, k=len(rounds))) for _ in range(1000))
    return f"{_of_sums(rounds):.3f} ± {(drawn[974] - drawn[25]) / 2:.3f}"


def _of_sums(rounds: Sequence[tuple[float, float]]) -> float:
    return sum(one for one, _ in rounds) / sum(other for _, other in rounds)


def identical(task: str, device: str) -> str:
    """Whether losses and final weights are the same bit by bit with and without the recorder; two bare trainings show
    whether the kernels repeat themselves at all."""
    results = []
    for watched in (False, False, True):
        torch.manual_seed(0)
        training = Training(task, device)
        hub = recorder() if watched else None
        losses = torch.stack([training.step() for _ in range(6)])
        if hub is not None:
            hub.detach()
        results.append((losses, [p.detach().clone() for p in training.model.parameters()], torch.rand(3)))

    def same(one: int, other: int) -> bool:
        (a, weights, dice), (b, others, same_dice) = results[one], results[other]
        return torch.equal(a, b) and torch.equal(dice, same_dice) and all(map(torch.equal, weights, others))

    if same(0, 2):
        return "yes"
    return "NO" if same(0, 1) else "bare runs differ too"


def synchronisations(task: str, device: str) -> str:
    if device != "cuda":
        return "–"
    training = Training(task, device)
    hub = recorder()
    for _ in range(10):
        training.step()
    torch.cuda.set_sync_debug_mode("warn")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for _ in range(100):
            training.step()
    torch.cuda.set_sync_debug_mode("default")
    hub.detach()
    places = Counter(f"{Path(w.filename).name}:{w.lineno}" for w in caught if "synchroniz" in str(w.message))
    where = ", ".join(f"{place} ×{count}" for place, count in places.most_common(3))
    return f"{places.total()} in 100 steps" + (f" ({where})" if where else "")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--only", nargs="*", default=list(TASKS))
    parser.add_argument("--kinds", nargs="*", default=list(KINDS[1:]), choices=KINDS[1:])
    parser.add_argument("--seconds", type=float, default=3.0, help="that a turn takes")
    parser.add_argument("--cpu", action="store_true", help="count the CPU time of this process")
    arguments = parser.parse_args()
    kinds = ["bare", *arguments.kinds]
    clock = time.process_time if arguments.cpu else time.perf_counter
    print(f"torch {torch.__version__}, {arguments.device}, {arguments.rounds} rounds of {arguments.seconds:g} s\n")
    print(
        f"| task | bare step | {' | '.join(kinds[1:])} | later | own measure | bare spread | bit-identical | device "
        f"syncs |"
    )
    print(f"|{'---|' * (len(kinds) + 6)}")
    for task in arguments.only:
        print(measure(task, arguments.device, arguments.rounds, arguments.seconds, kinds, clock), flush=True)


if __name__ == "__main__":
    main()
