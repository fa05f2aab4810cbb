"""Who learns, who is cleared, what is rounded away: faults and their healthy twins."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest
import torch
from live_scripts import facts_of
from torch import nn
from torch.nn import functional as F

from live_watch import batch, fit, judged, mlp, present, watch
from traindx.engine import diagnose
from traindx.live.instruments import parameters
from traindx.live.instruments.clearing import Clearing
from traindx.live.instruments.decay import Decay
from traindx.live.instruments.gradients import Gradients
from traindx.live.instruments.optimizers import Optimizers
from traindx.live.instruments.parameters import Parameters
from traindx.live.instruments.updates import Updates
from traindx.reporters.text import render

ALL = (Optimizers, Parameters, Clearing, Gradients, Updates, Decay)


class Listed(nn.Module):
    """Hidden layers in a plain list: they run and are not registered."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = [nn.Linear(8, 16), nn.Linear(16, 16)]
        self.head = nn.Linear(16, 3)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for layer in self.layers:
            x = layer(x).relu()
        return self.head(x)


class Parts(nn.Module):
    def __init__(self, detach: bool) -> None:
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(8, 32), nn.ReLU())
        self.head = nn.Linear(32, 3)
        self.spare = nn.Linear(3, 2)  # never called: unused, not cut off
        self.detach = detach

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        h = self.encoder(x)
        return self.head(h.detach() if self.detach else h)


def sgd(model: nn.Module, **options: float) -> torch.optim.SGD:
    return torch.optim.SGD(model.parameters(), **{"lr": 0.05, **options})


def train(model: nn.Module) -> None:
    fit(model, sgd(model))


def head_replaced_after() -> None:
    model = mlp()
    optimizer = sgd(model)
    model[4] = nn.Linear(16, 3)
    fit(model, optimizer)


def frozen() -> None:
    model = mlp()
    for p in list(model.parameters())[:-1]:
        p.requires_grad_(False)
    fit(model, torch.optim.Adam(p for p in model.parameters() if p.requires_grad))


def early_frozen() -> None:
    """Two of three layers, with few of the weights."""
    model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 64), nn.ReLU(), nn.Linear(64, 30))
    for p in list(model.parameters())[:-2]:
        p.requires_grad_(False)
    fit(model, sgd(model))


def first_frozen() -> None:
    """One of three layers, as torch dealt it out."""
    model = mlp()
    for p in list(model.parameters())[:2]:
        p.requires_grad_(False)
    fit(model, sgd(model))


def thawed() -> None:
    """The head alone at first, then everything."""
    model = mlp()
    for p in list(model.parameters())[:-2]:
        p.requires_grad_(False)
    optimizer = sgd(model)
    fit(model, optimizer, steps=8)
    for p in model.parameters():
        p.requires_grad_(True)
    fit(model, optimizer, steps=30)


def early_frozen_trained() -> None:
    """The same after training elsewhere, which leaves no weight evenly spread."""
    model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 64), nn.ReLU(), nn.Linear(64, 30))
    for p in list(model.parameters())[:-2]:
        nn.init.normal_(p, std=0.2).requires_grad_(False)
    fit(model, sgd(model))


class Words(nn.Module):
    """Vectors that are looked up and never learnt."""

    def __init__(self, learnt_elsewhere: bool) -> None:
        super().__init__()
        self.table, self.head = nn.Embedding(120, 8, padding_idx=0), nn.Linear(8, 3)
        if learnt_elsewhere:  # longer for frequent words, and leaning to a common direction
            with torch.no_grad():
                self.table.weight.mul_(torch.linspace(0.3, 2.0, 120)[:, None]).add_(torch.linspace(-1, 1, 8))
        self.table.weight.requires_grad_(False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.head(self.table((x[:, :4] * 30).long().abs() % 120).mean(1))


def fine_tuned() -> None:
    model = mlp()
    model.load_state_dict(mlp().state_dict())
    for p in list(model.parameters())[:-2]:
        p.requires_grad_(False)
    fit(model, sgd(model))


def frozen_after_loading(state_of: Callable[[nn.Module, dict[str, torch.Tensor]], dict[str, torch.Tensor]]) -> None:
    """All but the head is frozen, after a state dict made from trained weights was loaded as far as its names fit."""
    trained = mlp()
    with torch.no_grad():
        for p in trained.parameters():
            p.mul_(1.6)
    model = mlp()
    model.load_state_dict(state_of(model, trained.state_dict()), strict=False)
    for p in list(model.parameters())[:-2]:
        p.requires_grad_(False)
    fit(model, torch.optim.Adam(model[4].parameters()))


def without_head(state: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    return {name: value for name, value in state.items() if not name.startswith("4.")}


def part_loaded_later() -> None:
    """The body is loaded by itself; the state dict that the whole model is given holds a head alone."""
    model = mlp()
    model[0].load_state_dict({name: 1.6 * value for name, value in nn.Linear(8, 16).state_dict().items()})
    model[2].load_state_dict(nn.Linear(16, 16).state_dict())
    model.load_state_dict({f"4.{name}": value for name, value in nn.Linear(16, 3).state_dict().items()}, strict=False)
    for p in list(model.parameters())[:-2]:
        p.requires_grad_(False)
    fit(model, torch.optim.Adam(model[4].parameters()))


def probed() -> None:
    """Trained, then frozen under a new head."""
    model = mlp()
    fit(model, sgd(model))
    model.requires_grad_(False)
    model[4] = nn.Linear(16, 3)
    fit(model, sgd(model[4]))


def bf16_weights() -> None:
    model = mlp().to(torch.bfloat16)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-5)
    for _ in range(6):
        x, y = batch()
        optimizer.zero_grad()
        F.cross_entropy(model(x.bfloat16()).float(), y).backward()
        optimizer.step()


def accumulate(scale: float) -> None:
    model = mlp()
    optimizer = sgd(model)
    for _ in range(6):
        optimizer.zero_grad()
        for _ in range(4):
            x, y = batch()
            loss = F.cross_entropy(model(x), y)
            (loss / scale if scale != 1 else loss).backward()
        optimizer.step()


def two_players(
    cut: bool, every: int = 1, generator_steps: int = 8, wait: int = 0, kind: type[torch.optim.Optimizer] | None = None
) -> None:
    """A generator and a critic, with an optimiser each. `cut`: the generator's loss does not reach it."""
    generator = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 8))
    critic = nn.Sequential(nn.Linear(8, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 1))
    of_g, of_d = (kind or torch.optim.Adam)(generator.parameters()), torch.optim.Adam(critic.parameters())
    for step in range(every * generator_steps):
        fake = generator(torch.randn(32, 4))
        of_d.zero_grad()
        (critic(fake.detach()).sigmoid().mean() - critic(batch()[0]).sigmoid().mean()).backward()
        of_d.step()
        if step % every == every - 1:
            of_g.zero_grad()
            (-critic(fake.detach() if cut or step < wait else fake).sigmoid().mean()).backward()
            of_g.step()


class Evolution(torch.optim.Optimizer):
    """Moves its parameters without any gradient."""

    def __init__(self, parameters: Iterable[nn.Parameter]) -> None:
        super().__init__(parameters, {})

    @torch.no_grad()
    def step(self, closure: Any = None) -> None:
        for group in self.param_groups:
            for p in group["params"]:
                p.add_(torch.randn_like(p), alpha=1e-3)


def gan() -> None:
    generator, judge = (
        nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 8)),
        nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 1)),
    )
    of_g, of_d = torch.optim.Adam(generator.parameters()), torch.optim.Adam(judge.parameters())
    for step in range(16):
        fake = generator(torch.randn(32, 4))
        of_d.zero_grad()
        F.binary_cross_entropy_with_logits(judge(batch()[0]), torch.ones(32, 1)).backward()
        F.binary_cross_entropy_with_logits(judge(fake.detach()), torch.zeros(32, 1)).backward()
        of_d.step()
        if step % 4 == 3:
            of_g.zero_grad()
            F.binary_cross_entropy_with_logits(judge(fake), torch.ones(32, 1)).backward()
            of_g.step()


def teacher() -> None:
    """A distilled student and a moving average: both keep copies that no optimiser holds."""
    student, master = mlp(), mlp().requires_grad_(False)
    mean = mlp()
    optimizer = sgd(student)
    for _ in range(8):
        x, _ = batch()
        optimizer.zero_grad()
        F.mse_loss(student(x), master(x) + mean(x).detach()).backward()
        optimizer.step()
        with torch.no_grad():
            for p, q in zip(mean.parameters(), student.parameters(), strict=True):
                p.lerp_(q, 0.1)


def by_hand() -> None:
    model = mlp()

    def clear() -> None:
        for p in model.parameters():
            if p.grad is not None:
                p.grad.zero_()

    fit(model, sgd(model), clear=clear)


def lbfgs() -> None:
    model = mlp()
    optimizer = torch.optim.LBFGS(model.parameters(), max_iter=3)
    x, y = batch()

    def closure() -> torch.Tensor:
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        return loss

    for _ in range(5):
        optimizer.step(closure)  # type: ignore[arg-type]


class Steps(torch.autograd.Function):
    """Zeros and ones, with a slope of nothing or of one."""

    @staticmethod
    def forward(ctx: Any, x: torch.Tensor, slope: float) -> torch.Tensor:
        ctx.slope = slope
        return (x > 0).float()

    @staticmethod
    def backward(ctx: Any, grad: torch.Tensor) -> tuple[torch.Tensor, None]:
        return ctx.slope * grad, None


class Binary(Parts):
    def __init__(self, step: Callable[[torch.Tensor], torch.Tensor]) -> None:
        super().__init__(detach=False)
        self.step = step

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.head(self.step(self.encoder(x) - 0.2))


def resumed(same: bool) -> None:
    """Each part of a training loads the weights: those the last one left, or the first ones again."""
    model = mlp()
    first = {name: value.clone() for name, value in model.state_dict().items()}
    for _ in range(6):
        model.load_state_dict({name: value.clone() for name, value in model.state_dict().items()} if same else first)
        fit(model, sgd(model, momentum=0.9), steps=3)


def rebuilt(options: dict[str, float], epochs: int = 6) -> None:
    model = mlp()
    for _ in range(epochs):
        fit(model, sgd(model, **options), steps=3)


def scheduled(per_batch: bool) -> None:
    model = mlp()
    optimizer = sgd(model)
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, step_size=3, gamma=0.1)
    for _ in range(12):
        for _ in range(6):
            fit(model, optimizer, steps=1)
            if per_batch:
                scheduler.step()
        if not per_batch:
            scheduler.step()


def clipped(norm: float, optimizer_of: Callable[[nn.Module], torch.optim.Optimizer] = sgd) -> None:
    model = mlp()
    optimizer = optimizer_of(model)
    for _ in range(40):
        x, y = batch()
        optimizer.zero_grad()
        F.cross_entropy(model(x), y).backward()
        nn.utils.clip_grad_norm_(model.parameters(), norm)
        optimizer.step()


class Muted(nn.Module):
    """An encoder that runs without gradients, loaded or not."""

    def __init__(self) -> None:
        super().__init__()
        self.encoder, self.head = nn.Sequential(nn.Linear(8, 16), nn.ReLU()), nn.Linear(16, 3)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        with torch.no_grad():
            x = self.encoder(x)
        return self.head(x)


def muted(loaded: bool) -> None:
    model = Muted()
    if loaded:
        model.load_state_dict(Muted().state_dict())
    fit(model, sgd(model))


def betas(first: float, second: float) -> None:
    model = mlp()
    fit(model, torch.optim.Adam(model.parameters(), betas=(first, second)))


def wiped(*others: nn.Module, set_to_none: bool = True) -> None:
    """zero_grad between backward and step, of the model or of others beside it."""
    model = mlp()
    optimizer = sgd(model)
    for _ in range(12):
        if others:
            optimizer.zero_grad()
        x, y = batch()
        F.cross_entropy(model(x), y).backward()
        for other in others:
            other.zero_grad()
        if not others:
            optimizer.zero_grad(set_to_none=set_to_none)
        optimizer.step()


FAULTS = {
    "layers in a list": (lambda: train(Listed()), "parameters-not-optimized"),
    "head replaced after the optimiser": (head_replaced_after, "parameters-not-optimized"),
    "only the last bias learns": (frozen, "frozen-weights"),
    "early layers frozen": (early_frozen, "frozen-weights"),
    "the first layer frozen": (first_frozen, "frozen-weights"),
    "word vectors frozen as they were dealt out": (lambda: train(Words(False)), "frozen-weights"),
    "frozen, loaded under other names": (
        lambda: frozen_after_loading(lambda _, state: {f"net.{name}": value for name, value in state.items()}),
        "frozen-weights",
    ),
    "frozen, loaded from itself": (lambda: frozen_after_loading(lambda model, _: model.state_dict()), "frozen-weights"),
    "encoder detached": (lambda: train(Parts(detach=True)), "no-gradient"),
    "encoder without gradients": (lambda: muted(False), "no-gradient"),
    "betas swapped": (lambda: betas(0.999, 0.9), "momentum-extreme"),
    "a sign in the middle": (lambda: train(Binary(torch.sign)), "no-gradient"),
    "a function without a slope": (lambda: train(Binary(lambda x: Steps.apply(x, 0.0))), "no-gradient"),
    "optimiser built after each resumption": (lambda: resumed(True), "optimizer-rebuilt"),
    "zero_grad forgotten": (lambda: fit(m := mlp(), sgd(m), clear=lambda: None), "gradients-not-cleared"),
    "cleared before the update": (wiped, "gradients-wiped"),
    "zeroed before the update": (lambda: wiped(set_to_none=False), "gradients-wiped"),
    "bf16 weights": (bf16_weights, "updates-lost-to-rounding"),
    "accumulated without dividing": (lambda: accumulate(1), "accumulation-unscaled"),
    "optimiser in the epoch loop": (lambda: rebuilt({"momentum": 0.9}), "optimizer-rebuilt"),
    "scheduler in the batch loop": (lambda: scheduled(True), "schedule-per-batch"),
    "clipped to nothing": (lambda: clipped(1e-3), "clipped-hard"),
    "clipped to a part": (lambda: clipped(0.02), "clipped-hard"),
    "clipped to a larger part": (lambda: clipped(0.035), "clipped-hard"),
    "decayed away": (lambda: fit(m := mlp(), sgd(m, weight_decay=5.0), steps=20), "weights-decayed-away"),
}
TWINS = {
    "plain": lambda: train(mlp()),
    "encoder and head": lambda: train(Parts(detach=False)),
    "steps that let the gradient through": lambda: train(Binary(lambda x: Steps.apply(x, 1.0))),
    "trained again from the start": lambda: resumed(False),
    "frozen with loaded weights": fine_tuned,
    "frozen with all but the head loaded": lambda: frozen_after_loading(lambda _, state: without_head(state)),
    "frozen with loaded weights merged in": lambda: frozen_after_loading(
        lambda model, state: {**model.state_dict(), **without_head(state)}
    ),
    "frozen body loaded by itself": part_loaded_later,
    "frozen after training": probed,
    "frozen at first only": thawed,
    "loaded encoder without gradients": lambda: muted(True),
    "usual betas": lambda: betas(0.9, 0.95),
    "early layers frozen after training elsewhere": early_frozen_trained,
    "word vectors learnt elsewhere": lambda: train(Words(True)),
    "zero_grad on the model": lambda: fit(m := mlp(), sgd(m), clear=m.zero_grad),
    "cleared by hand": by_hand,
    "another model cleared before the update": lambda: wiped(mlp(), mlp()),
    "accumulated and divided": lambda: accumulate(4),
    "GAN": gan,
    "teacher and moving average": teacher,
    "LBFGS": lbfgs,
    "plain SGD rebuilt": lambda: rebuilt({}),
    "scheduler in the epoch loop": lambda: scheduled(False),
    "clipped now and then": lambda: clipped(1.0),
    "clipped to a part, at a rate made for it": lambda: clipped(
        0.05, lambda m: torch.optim.SGD(m.parameters(), lr=2.0)
    ),
    "clipped to a part, in updates of any length": lambda: clipped(0.02, lambda m: torch.optim.Adam(m.parameters())),
    "usual decay": lambda: fit(m := mlp(), torch.optim.AdamW(m.parameters(), weight_decay=0.1), steps=20),
}


@pytest.mark.parametrize("name", FAULTS)
def test_the_fault_is_seen(name: str, tmp_path: Path) -> None:
    script, fact = FAULTS[name]
    run = watch(tmp_path, script, *ALL)
    assert present(run) - {"unchanged-weights"} == {fact}
    assert (run.facts | judged(run))[fact].evidence.endswith(".")


def test_two_mistakes_are_both_named_with_their_lines(tmp_path: Path) -> None:
    def twice() -> None:
        model = Parts(detach=False)
        optimizer = torch.optim.SGD(list(model.parameters())[:2], lr=0.01)
        fit(model, optimizer, clear=lambda: None)

    page = diagnose(watch(tmp_path, twice, *ALL))
    assert {page.hypotheses[0].cause, *(h.cause for h in page.also)} == {"params-not-in-optimizer", "missing-zero-grad"}
    where = {symptom.id: symptom.where or "" for symptom in page.present()}
    assert "test_parameters.py:" in where["parameters-not-optimized"]
    assert "live_watch.py:" in where["gradients-not-cleared"]
    (other,) = page.also
    (shown,) = (s for s in page.present() if s.evidence == other.supports[0] and s.id != "unchanged-weights")
    assert f"line {shown.where}" in " ".join(render([page], color=False, width=400).split())


def second_part(prepare: Callable[[nn.Sequential], torch.optim.Optimizer]) -> None:
    """A model that was trained already is trained again, long after the first steps."""
    model = mlp()
    fit(model, sgd(model), steps=60)
    optimizer = prepare(model)
    fit(model, optimizer, steps=8)


def new_head(model: nn.Sequential) -> nn.Sequential:
    model[4] = nn.Linear(16, 3)
    return model


def optimizer_then_head(model: nn.Sequential) -> torch.optim.Optimizer:
    optimizer = sgd(model)
    new_head(model)
    return optimizer


def head_alone(model: nn.Sequential) -> torch.optim.Optimizer:
    model.requires_grad_(False)
    return sgd(new_head(model)[4])


def test_a_head_replaced_after_a_later_optimiser_is_found(tmp_path: Path) -> None:
    run = watch(tmp_path, lambda: second_part(optimizer_then_head), *ALL, budget=1e-6)
    assert present(run) == {"parameters-not-optimized", "unchanged-weights"}
    found = judged(run)["parameters-not-optimized"]
    assert "4.weight" in found.evidence
    assert "test_parameters.py:" in (found.where or "")


def replaced_under_one_optimizer(optimised: bool) -> None:
    """The first optimiser goes on after the head was replaced, with the new one or without it."""
    model = mlp()
    optimizer = sgd(model)
    fit(model, optimizer, steps=60)
    new_head(model)
    if optimised:
        optimizer.add_param_group({"params": model[4].parameters()})
    fit(model, optimizer, steps=8)


@pytest.mark.parametrize("optimised", [False, True])
def test_a_layer_replaced_under_the_same_optimiser(
    optimised: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parameters, "WALK_SECONDS", 0.0)  # this training is over in a fraction of the usual time
    run = watch(tmp_path, lambda: replaced_under_one_optimizer(optimised), *ALL, budget=1e-6)
    assert ("parameters-not-optimized" in present(run)) is not optimised


def unfrozen_in_turn() -> None:
    """The head first, then one more layer with each new optimiser."""
    model = mlp().requires_grad_(False)
    model.load_state_dict({name: 1.6 * value for name, value in mlp().state_dict().items()})
    for layer in (4, 2, 0):
        model[layer].requires_grad_(True)
        fit(model, torch.optim.Adam(p for p in model.parameters() if p.requires_grad), steps=30)


@pytest.mark.parametrize(
    "script",
    [
        lambda: second_part(lambda model: sgd(new_head(model))),
        lambda: second_part(head_alone),
        lambda: second_part(lambda model: sgd(new_head(model)[4])),
        unfrozen_in_turn,
    ],
    ids=["new head, then optimiser", "probed", "probed without freezing", "unfrozen in turn"],
)
def test_later_parts_with_optimisers_of_their_own_are_left_alone(script: Callable[[], None], tmp_path: Path) -> None:
    assert not present(watch(tmp_path, script, *ALL, budget=1e-6))


@pytest.mark.parametrize("every", [1, 5])
def test_an_optimiser_without_any_gradient_is_found_off_deep_steps(every: int, tmp_path: Path) -> None:
    """It holds few of the weights and takes few of the steps."""
    run = watch(tmp_path, lambda: two_players(cut=True, every=every), *ALL, budget=1e-6)
    found = judged(run)["no-gradient"]
    assert found.state == "present"
    assert "test_parameters.py:" in (found.where or "")
    assert diagnose(run).hypotheses[0].cause == "detached-graph"


@pytest.mark.parametrize(
    "script",
    [
        lambda: two_players(cut=False),
        lambda: two_players(cut=False, every=5),
        lambda: two_players(cut=False, wait=6, generator_steps=12),
        lambda: two_players(cut=True, kind=Evolution),
        lambda: two_players(cut=True, generator_steps=4),
    ],
    ids=["in turns", "every fifth", "after a while", "moved without gradients", "too short to say"],
)
def test_an_optimiser_that_is_fed_or_needs_no_gradient_is_left_alone(
    script: Callable[[], None], tmp_path: Path
) -> None:
    assert not present(watch(tmp_path, script, *ALL, budget=1e-6))


@pytest.mark.parametrize("name", TWINS)
def test_the_healthy_twin_shows_nothing(name: str, tmp_path: Path) -> None:
    assert not present(watch(tmp_path, TWINS[name], *ALL))


def test_norms_and_updates_by_parameter(tmp_path: Path) -> None:
    run = watch(tmp_path, TWINS["plain"], Gradients, Updates)
    assert {"grad_norm", "grad_norm/0.weight", "weight_norm/4.bias", "update_ratio/2.weight"} <= set(run.series)
    assert all(0 < value < 1 for value in run.series["update_ratio/2.weight"].values)


def test_settings_and_norms_before_clipping_are_recorded(tmp_path: Path) -> None:
    run = watch(tmp_path, lambda: clipped(0.01), Optimizers, Gradients)
    assert run.config["optimizer"] == "SGD"
    assert run.config["clip_grad_norm"] == 0.01
    assert run.series["grad_norm"].values.min() > 0.01


def test_weights_are_the_same_with_and_without(tmp_path: Path) -> None:
    def weights() -> list[torch.Tensor]:
        torch.manual_seed(3)
        model = mlp(nn.Dropout())
        fit(model, torch.optim.Adam(model.parameters()))
        return [p.detach() for p in model.parameters()] + [torch.rand(1)]

    watched: list[torch.Tensor] = []
    watch(tmp_path, lambda: watched.extend(weights()), *ALL)
    assert all(torch.equal(a, b) for a, b in zip(weights(), watched, strict=True))


BARE = """
X = torch.randn(64, 6); y = X[:, 0]
a, b = (torch.full((6, 16), 0.1) if {constant} else 0.4 * torch.randn(6, 16)).requires_grad_(), torch.randn(16, 1, requires_grad=True)
c = torch.randn(16, 16, requires_grad=True)
opt = torch.optim.SGD([a, c, b], 0.01)
for step in range(6):
    loss = F.mse_loss(((X @ a).tanh() @ b).squeeze(1), y); opt.zero_grad(); loss.backward(); opt.step()
"""  # noqa: E501


@pytest.mark.parametrize("constant", [True, False])
def test_one_number_everywhere_without_modules(tmp_path: Path, constant: bool) -> None:
    assert facts_of(BARE.format(constant=constant), tmp_path)["equal-initial-weights"]["present"] is constant


TABLE = """
import torch
from torch import nn
torch.manual_seed(0)
table = {table}
model = nn.Sequential(table, nn.Linear(64, 4))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(8):
    optimizer.zero_grad()
    ids = torch.randint(0, 50, (16, 12))
    nn.functional.cross_entropy(model(ids), ids[:, 0] % 4).backward()
    optimizer.step()
"""


@pytest.mark.parametrize(
    ("table", "large"),
    [("nn.EmbeddingBag(50, 64)", False), ("nn.Sequential(nn.Linear(12, 64), nn.Linear(64, 64))", True)],
)
def test_the_rows_of_a_table_are_no_weights_that_amplify(table: str, large: bool, tmp_path: Path) -> None:
    script = TABLE.format(table=table)
    if large:
        script = script.replace("ids = torch.randint(0, 50, (16, 12))", "ids = torch.randn(16, 12)")
        script = script.replace("ids[:, 0] % 4", "(ids[:, 0] > 0).long()")
        script = script.replace("\nmodel =", "\nfor layer in table: nn.init.normal_(layer.weight)\nmodel =")
    found = facts_of(script, tmp_path)
    assert found.get("initial-weights-large", {"present": False})["present"] is large


class Attention(nn.Module):
    """One small block in a wide model. `cut`: the keys are detached. `spare`: a head whose output the loss leaves
    alone."""

    def __init__(self, cut: bool, spare: bool) -> None:
        super().__init__()
        self.query, self.key, self.value = (nn.Linear(8, 8, bias=False) for _ in range(3))
        self.dropout, self.wide = nn.Dropout(0.2), nn.Sequential(nn.Linear(8, 64), nn.ReLU(), nn.Linear(64, 3))
        self.cut, self.spare = cut, nn.Linear(8, 8) if spare else None
        self.calls, self.widths, self.shapes = 0, list[int](), dict[int, int]()

    def forward(self, x: torch.Tensor) -> Any:
        self.calls += 1
        self.widths.append(x.shape[1])
        self.shapes[len(self.shapes)] = len(x)
        print("called", self.calls)
        tokens = x[:, None, :] * torch.eye(8)
        key = self.key(tokens)
        scores = self.query(tokens) @ (key.detach() if self.cut else key).transpose(1, 2)
        mixed = self.dropout(scores.softmax(-1)) @ self.value(tokens)
        out = self.wide(mixed.sum(1))
        return (out, self.spare(mixed)) if self.spare is not None else out


def attended(cut: bool, spare: bool) -> list[torch.Tensor]:
    torch.manual_seed(3)
    model = Attention(cut, spare)
    optimizer = torch.optim.Adam(model.parameters())
    for _ in range(8):
        x, y = batch()
        optimizer.zero_grad()
        out = model(x)
        F.cross_entropy(out[0] if spare else out, y).backward()
        optimizer.step()
    counted = torch.tensor([model.calls, len(model.widths), len(model.shapes)])
    return [*(p.detach() for p in model.parameters()), torch.rand(1), counted]


@pytest.mark.parametrize(("cut", "spare"), [(True, False), (True, True), (False, True)])
def test_a_small_part_whose_values_are_used_without_a_gradient(
    cut: bool, spare: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    watched: list[torch.Tensor] = []
    found = judged(watch(tmp_path, lambda: watched.extend(attended(cut, spare)), *ALL))["no-gradient"]
    assert (found.state == "present") is cut
    assert not cut or "key.weight" in found.evidence
    assert "spare" not in found.evidence or not cut
    printed = capsys.readouterr().out
    assert all(torch.equal(a, b) for a, b in zip(attended(cut, spare), watched, strict=True))
    assert printed == capsys.readouterr().out
