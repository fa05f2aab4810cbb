"""Every treatment on a small training with the fault it is for: without it the training fails, with it it learns."""

from __future__ import annotations

import contextlib
import itertools
import math
from collections.abc import Callable
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")
from torch import nn  # noqa: E402
from torch.nn import functional as F  # noqa: E402
from torch.utils.data import DataLoader, Dataset, TensorDataset  # noqa: E402

from traindx.engine import diagnose  # noqa: E402
from traindx.live.host import recorder  # noqa: E402
from traindx.readers.find import find_runs  # noqa: E402
from traindx.trials import inside, setting  # noqa: E402
from traindx.trials.measure import Measured, Metric, metric_for  # noqa: E402
from traindx.trials.yardstick import Reference  # noqa: E402

STEPS = 60


def classes() -> tuple[torch.Tensor, torch.Tensor]:
    x = torch.randn(256, 8)
    return x, (x[:, 0] > 0).long() + (x[:, 1] > 0).long()


def values() -> tuple[torch.Tensor, torch.Tensor]:
    x = torch.randn(256, 8)
    return x, x[:, :1] - 2 * x[:, 1:2]


def mlp(outputs: int, *last: nn.Module, hidden: type[nn.Module] = nn.ReLU) -> nn.Sequential:
    return nn.Sequential(nn.Linear(8, 32), hidden(), nn.Linear(32, outputs), *last)


def fit(
    model: nn.Module, x: torch.Tensor, y: torch.Tensor, loss: Callable[..., torch.Tensor], *, lr: float = 0.01,
    steps: int = STEPS,
    opt: Callable[..., torch.optim.Optimizer] = torch.optim.Adam, clear: bool = True, sign: float = 1.0, parts: int = 1,
) -> None:  # fmt: skip
    optimizer = opt([p for p in model.parameters() if p.requires_grad], lr=lr)
    for _ in range(steps):
        for _ in range(parts):
            rows = torch.randint(0, len(x), (32,))
            (sign * loss(model(x[rows]), y[rows])).backward()
        optimizer.step()
        if clear:
            optimizer.zero_grad()


def bad_rate() -> None:
    fit(mlp(3), *classes(), F.cross_entropy, lr=300.0, opt=torch.optim.SGD)


def stale_gradients() -> None:
    fit(mlp(3), *classes(), F.cross_entropy, lr=0.5, opt=torch.optim.SGD, clear=False)


def wiped_gradients() -> None:
    model, (x, y) = mlp(3), classes()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(STEPS):
        rows = torch.randint(0, len(x), (32,))
        F.cross_entropy(model(x[rows]), y[rows]).backward()
        optimizer.zero_grad()
        optimizer.step()


def softmax_first() -> None:
    fit(mlp(3, nn.Softmax(dim=1)), *classes(), F.cross_entropy, lr=0.3, opt=torch.optim.SGD)


def raw_scores_as_log_probabilities() -> None:
    fit(mlp(3), *classes(), F.nll_loss)


def softmax_over_batch() -> None:
    fit(mlp(3, nn.LogSoftmax(dim=0)), *classes(), F.nll_loss)


def one_softmax() -> None:
    x, y = classes()
    fit(mlp(1, nn.Softmax(dim=1)), x, (y > 0).float()[:, None], F.binary_cross_entropy)


def relu_at_the_end() -> None:
    fit(mlp(1, nn.ReLU()), *values(), F.mse_loss, steps=200)


def stack(hidden: type[nn.Module], depth: int) -> nn.Sequential:
    inner = [layer for _ in range(depth) for layer in (nn.Linear(32, 32), hidden())]
    return nn.Sequential(nn.Linear(8, 32), hidden(), *inner, nn.Linear(32, 3))


def deep_sigmoids() -> None:
    fit(stack(nn.Sigmoid, 6), *classes(), F.cross_entropy, lr=0.2, opt=torch.optim.SGD, steps=120)


def deep_bare_relus() -> None:
    fit(stack(nn.ReLU, 10), *classes(), F.cross_entropy, lr=0.03, opt=torch.optim.SGD, steps=120)


def broadcast() -> None:
    x, y = values()
    fit(mlp(1), x, y[:, 0], F.mse_loss, steps=150)


def maximised() -> None:
    fit(mlp(3), *classes(), F.cross_entropy, sign=-1.0)


def summed() -> None:
    fit(mlp(3), *classes(), lambda a, b: F.cross_entropy(a, b, reduction="sum"), lr=0.5, opt=torch.optim.SGD)


def accumulated() -> None:
    fit(mlp(3), *classes(), F.cross_entropy, lr=0.8, opt=torch.optim.SGD, parts=60, steps=30)


def frozen() -> None:
    model = mlp(3)
    for parameter in model[:2].parameters():
        parameter.requires_grad = False
    nn.init.zeros_(model[0].weight)
    fit(model, *classes(), F.cross_entropy)


def step_by_step(model: nn.Module, optimizer: torch.optim.Optimizer, decay: float = 1.0) -> None:
    x, y = classes()
    for _ in range(STEPS):
        rows = torch.randint(0, len(x), (32,))
        optimizer.zero_grad()
        F.cross_entropy(model(x[rows]), y[rows]).backward()
        optimizer.step()
        optimizer.param_groups[0]["lr"] *= decay


def left_out() -> None:
    model = mlp(3)
    nn.init.constant_(model[0].weight, 1e-4)
    nn.init.zeros_(model[0].bias)
    optimizer = torch.optim.Adam(model[2].parameters(), lr=0.01)
    step_by_step(model, optimizer)


def constant_weights() -> None:
    model = mlp(3)
    for parameter in model.parameters():
        nn.init.zeros_(parameter)
    fit(model, *classes(), F.cross_entropy)


def dead_biases() -> None:
    model = mlp(3)
    nn.init.constant_(model[0].bias, -30.0)
    fit(model, *classes(), F.cross_entropy)


def wild_inputs() -> None:
    x, y = classes()
    fit(mlp(3), 1e4 * x + 1e5, y, F.cross_entropy, lr=0.003)


def wild_targets() -> None:
    x, y = values()
    fit(mlp(1), x, 1000 * y + 5000, F.mse_loss, steps=150)


def broken_rows() -> None:
    x, y = values()
    x[::20] = float("nan")
    fit(mlp(1), x, y, F.mse_loss, steps=150)


def decayed_away() -> None:
    fit(mlp(3), *classes(), F.cross_entropy, opt=lambda p, lr: torch.optim.AdamW(p, lr=lr, weight_decay=60.0))


def dropped() -> None:
    fit(nn.Sequential(nn.Linear(8, 32), nn.Dropout(0.97), nn.Linear(32, 3)), *classes(), F.cross_entropy)


def half_weights() -> None:
    model = mlp(1).to(torch.bfloat16)
    x, y = values()
    fit(model, x.bfloat16(), y, lambda a, b: F.mse_loss(a.float(), b), lr=1e-4, steps=1200)


def half_targets() -> None:
    x, y = values()
    fit(mlp(1).to(torch.bfloat16), x.bfloat16(), y.bfloat16(), F.huber_loss, lr=1e-4, steps=1200)


def clipped() -> None:
    class Clipping(torch.optim.SGD):
        def step(self, closure: None = None) -> None:  # type: ignore[override]
            nn.utils.clip_grad_norm_(self.param_groups[0]["params"], 1e-4)
            super().step()

    fit(mlp(3), *classes(), F.cross_entropy, lr=1.0, opt=Clipping)


def lowered_by_hand() -> None:
    model = mlp(3)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    step_by_step(model, optimizer, decay=0.7)


def squared_classes() -> None:
    x, y = classes()
    fit(mlp(3, nn.Sigmoid()), x, F.one_hot(y, 3).float(), F.mse_loss, lr=1.0, opt=torch.optim.SGD)


def log_of_nothing() -> None:
    x, y = classes()
    shares = F.one_hot(y, 3).float()
    fit(mlp(3), 500 * x, shares, lambda a, b: -(b * torch.log(torch.softmax(a, 1))).sum(1).mean())


def log_of_what_was_picked() -> None:
    x, y = classes()
    fit(
        mlp(3),
        500 * x,
        y,
        lambda a, b: -torch.log(torch.softmax(a, 1).gather(1, b[:, None]).squeeze(1)).mean(),
        lr=1e-3,
    )


def log_of_both_sides() -> None:
    x, y = classes()

    def loss(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        p = torch.sigmoid(a)
        return -(b * torch.log(p) + (1 - b) * torch.log(1 - p)).mean()

    fit(mlp(1), 500 * x, (y[:, None] == 0).float(), loss, lr=1e-3)


def divided_by_their_spread() -> None:
    x, y = values()
    x[::20] = 0.25  # blank rows, prepared where nothing learns yet
    model = mlp(1)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(150):
        optimizer.zero_grad()
        rows = (x - x.mean(1, keepdim=True)) / x.std(1, keepdim=True)
        F.mse_loss(model(rows), y).backward()
        optimizer.step()


def mean_over_nothing() -> None:
    masks = itertools.cycle([1.0, 1.0, 0.0])

    def loss(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        mask = torch.full_like(a, next(masks))
        return (mask * (a - b) ** 2).sum() / mask.sum()

    fit(mlp(1), *values(), loss)


def straight() -> None:
    x, _ = classes()
    y = (x[:, 0] * x[:, 1] > 0).long()  # no straight line tells these apart
    model = nn.Sequential(nn.Linear(8, 32), nn.Dropout(0.01), nn.Linear(32, 32), nn.Linear(32, 2))
    fit(model, x, y, F.cross_entropy)


class Cut(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.features, self.head = nn.Linear(8, 4), nn.Linear(4, 3)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.head(torch.relu(self.features(x)).detach())


def cut_off() -> None:
    fit(Cut(), *classes(), F.cross_entropy)


def several_labels() -> None:
    x = torch.randn(300, 8)
    fit(mlp(4), x, (x[:, :4] > 1.0).float(), F.cross_entropy, steps=200)


CASES = [
    (bad_rate, "lr=0.3"), (bad_rate, "lr=x0.001"), (stale_gradients, "zero_grad"), (wiped_gradients, "keep_gradients"),
    (softmax_first, "logits"),
    (raw_scores_as_log_probabilities, "logits"), (softmax_over_batch, "softmax_dim"), (one_softmax, "one_output"),
    (relu_at_the_end, "output"), (broadcast, "shapes"), (maximised, "sign"), (summed, "reduction"),
    (accumulated, "accumulation"),
    (frozen, "unfreeze"), (left_out, "all_params"), (constant_weights, "init=fan_in"), (dead_biases, "bias=0"),
    (wild_inputs, "input_scale"), (wild_targets, "target_scale"), (broken_rows, "nan_inputs"),
    (decayed_away, "weight_decay=x0.0001"),
    (dropped, "dropout=x0.1"), (half_weights, "precision=fp32"), (half_targets, "precision=fp32"),
    (clipped, "clip=x10000"), (lowered_by_hand, "hold_lr"),
    (log_of_nothing, "log_floor"), (mean_over_nothing, "divide_floor"),
    (divided_by_their_spread, "divide_floor"), (log_of_nothing, "log_space"), (log_of_what_was_picked, "log_space"),
    (log_of_both_sides, "log_space"), (straight, "nonlinear"), (cut_off, "attached"),
    (deep_sigmoids, "activation=relu"), (deep_sigmoids, "residual"), (deep_bare_relus, "norm"),
    (several_labels, "each_label"),
]  # fmt: skip


def measured(folder: Path, train: Callable[[], None], *settings: str) -> Measured:
    torch.manual_seed(0)
    inside.record(folder, 0.5, None, settings)
    try:
        train()
    except SystemExit:
        pass
    finally:
        recorder.stop()
    found = Measured.read(folder)
    assert found is not None
    return found


@pytest.mark.parametrize(("train", "change"), CASES, ids=lambda case: case if isinstance(case, str) else case.__name__)
def test_a_treatment_repairs_its_fault(tmp_path: Path, train: Callable[[], None], change: str) -> None:
    before = measured(tmp_path / "before", train)
    after = measured(tmp_path / "after", train, change)
    metric = metric_for(before, after)
    assert metric is not None
    assert all(after.acted.values())
    worse, better = before.value(metric), after.value(metric)
    assert better < 0.8 * worse or (math.isinf(worse) and math.isfinite(better)), (worse, better)


def test_a_logarithm_in_log_space_teaches_what_a_clamped_one_does_not(tmp_path: Path) -> None:
    losses = Metric("train", "loss")
    clamped, exact = (measured(tmp_path / name, log_of_what_was_picked, name) for name in ("log_floor", "log_space"))
    left = [found.value(losses) / found.points(losses)[0, 1] for found in (clamped, exact)]
    assert left[0] > 0.7
    assert left[1] < 0.4


def test_shares_are_ordinary_tensors_but_for_their_logarithm(tmp_path: Path) -> None:
    """What the script prints, saves and computes of its probabilities is as without the change."""
    z = torch.tensor([[0.0, 200.0], [3.0, 1.0]], requires_grad=True)

    def train() -> None:
        p = torch.softmax(z, 1)
        assert type(p * 2) is type(p.sum()) is torch.Tensor
        assert torch.equal(torch.log(p), torch.log_softmax(z, 1))
        assert torch.equal(p[:, 0].log(), torch.log_softmax(z, 1)[:, 0])
        assert type(p.grad_fn).__name__ == "SoftmaxBackward0"
        assert torch.allclose(torch.log(p + 1), torch.log1p(p.detach()))
        assert p.argmax(1).tolist() == [1, 0]
        s = torch.sigmoid(z)
        assert torch.allclose(torch.log(1 - s), F.logsigmoid(-z))
        assert torch.allclose((2 - s).log(), torch.log(2 - s.detach()))
        fit(mlp(3), *classes(), F.cross_entropy, steps=5)

    measured(tmp_path / "shares", train, "log_space")


def test_modes_and_loaders(tmp_path: Path) -> None:
    x, y = classes()

    def train() -> None:
        model = nn.Sequential(nn.Linear(8, 32), nn.BatchNorm1d(32), nn.ReLU(), nn.Dropout(0.5), nn.Linear(32, 3))
        optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
        schedule = torch.optim.lr_scheduler.ExponentialLR(optimizer, 0.1)
        for _ in range(3):
            optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
            for rows, labels in DataLoader(TensorDataset(x, y), batch_size=32):
                optimizer.zero_grad()
                F.cross_entropy(model(rows), labels).backward()
                optimizer.step()
                schedule.step()
            with torch.no_grad():
                F.cross_entropy(model(x), y)
            model.eval()

    names = (
        "train_mode", "eval_mode", "shuffle", "batch_size=x2", "scheduler", "one_optimizer", "warmup=10", "decay=20",
        "momentum=0.8",
        "class_weights", "nothing", "activation=leaky", "early_stop", "optimizer=sgd",
    )  # fmt: skip
    for name in names:
        assert measured(tmp_path / name, train, name).acted == {
            name: measured(tmp_path / f"{name}2", train, name).acted[name]
        }
        assert Measured.read(tmp_path / name).acted[name] > 0, name  # type: ignore[union-attr]


def test_a_model_that_is_asked_for_its_own_input_is_asked_for_what_comes_next(tmp_path: Path) -> None:
    def train() -> None:
        model = nn.Sequential(nn.Embedding(12, 16), nn.Linear(16, 12))
        optimizer = torch.optim.Adam(model.parameters(), lr=0.05)
        for _ in range(80):
            tokens = torch.randint(0, 12, (16, 10))
            optimizer.zero_grad()
            F.cross_entropy(model(tokens).reshape(-1, 12), tokens.reshape(-1)).backward()
            optimizer.step()

    copied, asked = measured(tmp_path / "copied", train), measured(tmp_path / "asked", train, "shift")
    metric = metric_for(copied, asked)
    assert metric is not None
    assert asked.acted == {"shift": 80}
    assert copied.value(metric) < 0.5
    assert asked.value(metric) > 2.0  # nobody can tell random tokens before they come


def test_samples_are_kept_unless_they_are_drawn_anew(tmp_path: Path) -> None:
    class Slow(Dataset[torch.Tensor]):
        def __init__(self, noise: float) -> None:
            self.noise, self.read = noise, 0

        def __len__(self) -> int:
            return 32

        def __getitem__(self, index: int) -> torch.Tensor:
            self.read += 1
            return torch.full((4,), float(index)) + self.noise * torch.randn(4)

    def train(data: Slow) -> None:
        model = nn.Linear(4, 1)
        optimizer = torch.optim.SGD(model.parameters(), lr=1e-4)
        for _ in range(5):
            for rows in DataLoader(data, batch_size=8):
                optimizer.zero_grad()
                F.mse_loss(model(rows), rows[:, :1]).backward()
                optimizer.step()

    fixed, drawn = Slow(0.0), Slow(1.0)

    def over(data: Slow) -> Callable[[], None]:
        def loop() -> None:
            train(data)

        return loop

    assert measured(tmp_path / "fixed", over(fixed), "cache").acted["cache"] > 0
    assert measured(tmp_path / "drawn", over(drawn), "cache").acted["cache"] == 0  # augmentation is not frozen
    assert fixed.read < drawn.read


def test_a_loop_that_cuts_its_own_batches_learns_as_from_larger_ones(tmp_path: Path) -> None:
    x, y = values()
    found: list[torch.Tensor] = []

    def over(size: int) -> Callable[[], None]:
        def loop() -> None:
            model = nn.Linear(8, 1)
            optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
            schedule = torch.optim.lr_scheduler.ExponentialLR(optimizer, 0.9)
            for _ in range(3):
                for start in range(0, len(x), size):
                    optimizer.zero_grad()
                    F.mse_loss(model(x[start : start + size]), y[start : start + size]).backward()
                    optimizer.step()
                schedule.step()
            found.append(model.weight.detach().clone())

        return loop

    small = measured(tmp_path / "small", over(8), "batch_size=x4")
    large = measured(tmp_path / "large", over(32))
    assert torch.allclose(found[0], found[1], atol=1e-5)
    assert (small.steps, small.acted) == (large.steps, {"batch_size=x4": small.steps})
    assert measured(tmp_path / "fixed", over(8), "batch_size=32").acted == {
        "batch_size=32": 0
    }  # times what is not known
    page = diagnose(find_runs([tmp_path / "small"])[0])
    assert not {"accumulation-unscaled", "gradients-not-cleared"} & {symptom.id for symptom in page.present()}


def test_settings_without_a_case_are_few() -> None:
    """A new treatment needs a case here."""
    covered = {setting.parse(change).name for _, change in CASES}
    elsewhere = {
        "train_mode", "eval_mode", "shuffle", "batch_size", "scheduler", "one_optimizer", "warmup", "decay", "momentum",
        "class_weights",
        "nothing", "early_stop", "optimizer", "shift", "cache",
    }  # fmt: skip
    untried = {path.stem for path in setting.TREATMENTS.glob("[a-z]*.py")} - covered - elsewhere
    assert untried == {"causal", "classify", "robust_loss", "skip_bad", "val_scale", "workers"}


def test_an_arm_far_behind_is_given_up_and_one_like_the_unchanged_is_not(tmp_path: Path) -> None:
    def run(name: str, rate: float, reference: Reference | None = None) -> Measured:
        torch.manual_seed(0)
        inside.record(tmp_path / name, 0.5, None, (), None, reference)
        with contextlib.suppress(SystemExit):
            fit(mlp(3), *classes(), F.cross_entropy, lr=rate, opt=torch.optim.SGD, steps=400)
        recorder.stop()
        found = Measured.read(tmp_path / name)
        assert found is not None
        return found

    course = run("unchanged", 1.0).course()
    assert course is not None
    reference = (course[0], list(course[1]))
    assert run("same", 1.0, reference).stopped == "end"
    slow = run("slow", 1e-6, reference)
    assert slow.stopped == "hopeless"
    assert slow.steps < 400
