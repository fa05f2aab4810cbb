"""Loss functions watched in small trainings: each fault is seen, and what looks like one is not."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import torch
import torch.nn.functional as F
from live_scripts import facts_of
from torch import Tensor, nn

from traindx.live.events.hub import Hub
from traindx.live.instruments.criterion import OutputsAndLoss
from traindx.live.instruments.labels import Labels
from traindx.live.instruments.objective import Objective
from traindx.live.instruments.predictions import Predictions
from traindx.live.measures.graph import of_pairs
from traindx.live.recording.store import Store
from traindx.readers.find import find_runs
from traindx.run import Fact, Run
from traindx.signals import Signals
from traindx.symptoms import symptoms
from traindx.symptoms.observed import FromMeasurements

CLASSES = 5
torch.manual_seed(0)
X = torch.randn(240, 8)
LABELS = X[:, :CLASSES].argmax(1)
YES = (X[:, 0] > 0).float()
REAL = X[:, 0] + 0.3 * X[:, 1] ** 2
ONE_HOT = F.one_hot(LABELS, CLASSES).float()
Loss = Callable[[Tensor, slice], Tensor]


def recorded(tmp_path: Path, train: Callable[[], None]) -> Run:
    hub = Hub(lambda: Store(tmp_path / "r.traindx"), [Objective, OutputsAndLoss, Labels, Predictions], 0.5, None)
    hub.attach()
    hub.cut_short = True  # these trainings are short on purpose
    torch.manual_seed(1)
    try:
        train()
    finally:
        hub.detach()
    return judged(find_runs([tmp_path / "r.traindx"])[0])


def judged(run: Run) -> Run:
    """The run with what symptoms say of its measurements beside its facts."""
    for symptom in symptoms().values():
        if isinstance(symptom.detect, FromMeasurements):
            seen = symptom.detect.judged(Signals(run))
            if seen is not None:
                run.facts[symptom.id] = Fact(symptom.id, seen.state == "present", seen.evidence, seen.where)
    return run


def train_with(
    loss_of: Loss,
    outputs: int = CLASSES,
    *,
    steps: int = 8,
    lr: float = 0.05,
    optimizer: str = "SGD",
    last: nn.Module | None = None,
    **options: bool,
) -> Callable[[], None]:
    def train() -> None:
        model = nn.Sequential(nn.Linear(8, 16), nn.Tanh(), nn.Linear(16, outputs), last or nn.Identity())
        optimiser = getattr(torch.optim, optimizer)(model.parameters(), lr=lr, **options)
        for step in range(steps):
            part = slice(24 * (step % 10), 24 * (step % 10) + 24)
            optimiser.zero_grad()
            loss_of(model(X[part]), part).backward()
            optimiser.step()

    return train


def present(run: Run) -> set[str]:
    return {fact.id for fact in run.facts.values() if fact.present}


def absent(run: Run) -> set[str]:
    return {fact.id for fact in run.facts.values() if not fact.present}


def log_mean(out: Tensor, part: slice) -> Tensor:
    return F.log_softmax(out, 1).gather(1, LABELS[part].unsqueeze(1)).mean()


FAULTS: dict[str, tuple[str, Callable[[], None]]] = {
    "softmax, then cross-entropy": (
        "probabilities-as-logits", train_with(lambda out, p: F.cross_entropy(out.softmax(1), LABELS[p])),
    ),
    "softmax layer, then CrossEntropyLoss": (
        "probabilities-as-logits", train_with(lambda out, p: nn.CrossEntropyLoss()(out, LABELS[p]),
                                              last=nn.Softmax(dim=-1)),
    ),
    "sigmoid, then the logits loss": (
        "sigmoid-as-logits",
        train_with(lambda out, p: F.binary_cross_entropy_with_logits(out.sigmoid().squeeze(1), YES[p]), 1),
    ),
    "nll of logits": ("scores-as-log-probabilities", train_with(lambda out, p: F.nll_loss(out, LABELS[p]))),
    "nll of probabilities": ("scores-as-log-probabilities",
                             train_with(lambda out, p: F.nll_loss(out.softmax(1), LABELS[p]))),
    "log-softmax over the batch": (
        "softmax-over-wrong-dim", train_with(lambda out, p: F.nll_loss(F.log_softmax(out, 0), LABELS[p])),
    ),
    "softmax over the batch, then cross-entropy": (
        "softmax-over-wrong-dim", train_with(lambda out, p: F.cross_entropy(out.softmax(0), LABELS[p])),
    ),
    "log-softmax over the last dimension of (N, C, L)": (
        "softmax-over-wrong-dim",
        train_with(lambda out, p: F.nll_loss(F.log_softmax(out.view(24, 5, 3), -1),
                                             LABELS[p].unsqueeze(1).repeat(1, 3)), 15),
    ),
    "softmax over one output": (
        "softmax-over-one-output", train_with(lambda out, p: F.binary_cross_entropy(out.softmax(1).squeeze(1), YES[p]),
                                              1),
    ),
    "cross-entropy on one output": (
        "softmax-over-one-output", train_with(lambda out, p: F.cross_entropy(out, torch.zeros(24, dtype=torch.long)),
                                              1),
    ),
    "one output against a row of targets": ("shapes-broadcast", train_with(lambda out, p: F.mse_loss(out, REAL[p]), 1)),
    "the same, written by hand": ("shapes-broadcast", train_with(lambda out, p: ((out - REAL[p]) ** 2).mean(), 1)),
    "a row of outputs against a column": (
        "shapes-broadcast", train_with(lambda out, p: (REAL[p].unsqueeze(1) - out.squeeze(1)).abs().mean(), 1),
    ),
    "ReLU on a regression": (
        "relu-cuts-output", train_with(lambda out, p: F.mse_loss(out.relu().squeeze(1), REAL[p]), 1),
    ),
    "ReLU on one logit": (
        "relu-cuts-output",
        train_with(lambda out, p: F.binary_cross_entropy_with_logits(out.squeeze(1), YES[p]), 1, last=nn.ReLU()),
    ),
    "sigmoid on a regression": (
        "targets-beyond-output-range", train_with(lambda out, p: F.smooth_l1_loss(out.sigmoid().squeeze(1), REAL[p]),
                                                  1),
    ),
    "tanh on a regression": (
        "targets-beyond-output-range", train_with(lambda out, p: F.mse_loss(out.squeeze(1), 9 * REAL[p]), 1,
                                                  last=nn.Tanh()),
    ),
    "softplus on a regression": (
        "targets-beyond-output-range", train_with(lambda out, p: F.l1_loss(F.softplus(out).squeeze(1), REAL[p]), 1),
    ),
    "squared error on one-hot rows": (
        "classes-regressed", train_with(lambda out, p: F.mse_loss(out.softmax(1), ONE_HOT[p])),
    ),
    "squared error on class numbers": (
        "classes-regressed", train_with(lambda out, p: F.mse_loss(out.squeeze(1), LABELS[p].float()), 1),
    ),
    "squared error on yes and no": (
        "classes-regressed", train_with(lambda out, p: F.mse_loss(out.sigmoid().squeeze(1), YES[p]), 1),
    ),
    "squares of one-hot rows by hand": (
        "classes-regressed", train_with(lambda out, p: ((out.softmax(1) - ONE_HOT[p]) ** 2).mean()),
    ),
    "squares of yes and no by hand": (
        "classes-regressed", train_with(lambda out, p: (YES[p] - out.sigmoid().squeeze(1)).pow(2).sum() / 24, 1),
    ),
    "squares of class numbers by hand": (
        "classes-regressed", train_with(lambda out, p: 0.5 * ((d := out.squeeze(1) - LABELS[p]) * d).mean(), 1),
    ),
    "distance from a ReLU by hand": (
        "relu-cuts-output", train_with(lambda out, p: (out.relu().squeeze(1) - REAL[p]).abs().mean(), 1),
    ),
    "log-softmax over the batch by hand": (
        "softmax-over-wrong-dim", train_with(lambda out, p: -out.log_softmax(0)[torch.arange(24), LABELS[p]].mean()),
    ),
    "sum reduction": (
        "loss-summed", train_with(lambda out, p: F.cross_entropy(out, LABELS[p], reduction="sum")),
    ),
    "sums of two": (
        "loss-summed", train_with(lambda out, p: F.cross_entropy(out, LABELS[p],
                                                                 reduction="sum") + 0.3 * F.mse_loss(out[:, 0],
                                                                                                     REAL[p])),
    ),
    "sum written by hand": ("loss-summed", train_with(lambda out, p: ((out.squeeze(1) - REAL[p]) ** 2).sum(), 1)),
    "minus the loss": ("loss-maximised", train_with(lambda out, p: -F.cross_entropy(out, LABELS[p]))),
    "minus the loss, scaled": ("loss-maximised", train_with(lambda out, p: -0.5 * F.cross_entropy(out, LABELS[p]))),
    "an optimiser that maximises": ("loss-maximised",
                                    train_with(lambda out, p: F.cross_entropy(out, LABELS[p]), maximize=True)),
    "Adam that maximises": (
        "loss-maximised", train_with(lambda out, p: F.cross_entropy(out, LABELS[p]), maximize=True, optimizer="Adam"),
    ),
    "likelihood without a minus": ("loss-maximised", train_with(log_mean)),
    "the coefficient of determination": (
        "loss-maximised", train_with(lambda out, p: 1 - ((out.squeeze(1) - REAL[p]) ** 2).sum() / REAL[p].var() / 23,
                                     1),
    ),
    "minus the error by hand": ("loss-maximised", train_with(lambda out,
                                                             p: -0.5 * (REAL[p] - out.squeeze(1)).abs().mean(), 1)),
    "a margin of zeros and ones by hand": (
        "codes-out-of-range", train_with(lambda out, p: (1 - YES[p] * out.squeeze(1)).clamp(min=0).mean(), 1),
    ),
    "a soft margin of zeros and ones": (
        "codes-out-of-range", train_with(lambda out, p: F.soft_margin_loss(out.squeeze(1), YES[p]), 1),
    ),
    "numbers in a binary loss": (
        "labels-out-of-range", train_with(lambda out, p: F.binary_cross_entropy_with_logits(out.squeeze(1), REAL[p]),
                                          1),
    ),
    "several labels in cross-entropy": (
        "targets-no-distribution",
        train_with(lambda out, p: F.cross_entropy(out, (ONE_HOT[p] + ONE_HOT[p].roll(1, 1)))),
    ),
}  # fmt: skip

HEALTHY: dict[str, Callable[[], None]] = {
    "pushes to one by hand": train_with(lambda out, p: ((out - 1) ** 2).mean() + 0.1 * (out**2).mean(), 1),
    "cross-entropy": train_with(lambda out, p: F.cross_entropy(out, LABELS[p])),
    "minus the loss, maximised": train_with(lambda out, p: -F.cross_entropy(out, LABELS[p]), maximize=True),
    "log-softmax, then cross-entropy": train_with(lambda out, p: F.cross_entropy(F.log_softmax(out, 1), LABELS[p])),
    "log-softmax, then nll": train_with(lambda out, p: nn.NLLLoss()(out, LABELS[p]), last=nn.LogSoftmax(dim=1)),
    "log of softmax, then nll": train_with(lambda out, p: F.nll_loss((out.softmax(1) + 1e-8).log(), LABELS[p])),
    "sigmoid, then bce": train_with(lambda out, p: F.binary_cross_entropy(out.sigmoid().squeeze(1), YES[p]), 1),
    "logits loss": train_with(lambda out, p: F.binary_cross_entropy_with_logits(out.squeeze(1), YES[p]), 1),
    "regression": train_with(lambda out, p: F.mse_loss(out.squeeze(1), REAL[p]), 1),
    "a margin of signs by hand": train_with(lambda out, p: F.relu(1 - (2 * YES[p] - 1) * out.squeeze(1)).mean(), 1),
    "a soft margin": train_with(lambda out, p: F.soft_margin_loss(out.squeeze(1), 2 * YES[p] - 1), 1),
    "a margin of pairs by hand": train_with(lambda out, p: (YES[p] * F.relu(1 - out.squeeze(1).abs())).mean(), 1),
    "regression by hand": train_with(lambda out, p: ((out.squeeze(1) - REAL[p]) ** 2).mean(), 1),
    "one minus the coefficient": train_with(lambda out,
                                            p: ((out.squeeze(1) - REAL[p]) ** 2).sum() / REAL[p].var() / 23 - 1, 1),
    "minus a likelihood by hand": train_with(lambda out, p: -(-((out.squeeze(1) - REAL[p]) ** 2) / 2 - 0.9).mean(), 1),
    "pushed apart": train_with(lambda out, p: -((out[:12] - out[12:]) ** 2).mean() + (out**2).mean(), 1),
    "ReLU for targets that are positive": train_with(lambda out, p: F.mse_loss(out.relu().squeeze(1), REAL[p].abs()),
                                                     1),
    "sigmoid for pixels": train_with(lambda out, p: F.mse_loss(out.sigmoid(), X[p, :5].clamp(0, 1))),
    "scaled tanh": train_with(lambda out, p: F.mse_loss(4 * out.tanh().squeeze(1), REAL[p]), 1),
    "scalar target": train_with(lambda out, p: F.mse_loss(out, torch.tensor([[0.7]])), 1),
    "sum that is divided": train_with(lambda out, p: F.cross_entropy(out, LABELS[p], reduction="sum") / 24),
    "sum with Adam": train_with(lambda out, p: F.cross_entropy(out, LABELS[p], reduction="sum"), optimizer="Adam",
                                lr=1e-3),
    "sum with a rate made for it": train_with(lambda out, p: F.cross_entropy(out, LABELS[p], reduction="sum"), lr=1e-3),
    "policy gradient": train_with(
        lambda out, p: -(F.log_softmax(out, 1).gather(1, LABELS[p].unsqueeze(1)).squeeze(1) * REAL[p]).mean()
    ),
    "reward-weighted cross-entropy": train_with(lambda out,
                                                p: (F.cross_entropy(out, LABELS[p],
                                                                    reduction="none") * REAL[p]).mean()),
    "likelihood by hand": train_with(lambda out, p: -log_mean(out, p)),
    "pairwise ranking": train_with(
        lambda out, p: F.softplus(-(out - out.T) * (REAL[p].unsqueeze(1) - REAL[p]).sign()).mean(), 1
    ),
    "distillation": train_with(
        lambda out, p: F.kl_div(F.log_softmax(out, 1), (3 * ONE_HOT[p]).softmax(1), reduction="batchmean")
    ),
    "soft labels": train_with(lambda out, p: F.cross_entropy(out, 0.9 * ONE_HOT[p] + 0.02)),
    "counts": train_with(lambda out, p: F.mse_loss(out.squeeze(1), REAL[p].abs().mul(2).round()), 1),
    "segmentation": train_with(
        lambda out, p: F.cross_entropy(out.view(24, 5, 3), LABELS[p].unsqueeze(1).repeat(1, 3)), 15
    ),
    "penalised": train_with(lambda out, p: F.cross_entropy(out, LABELS[p]) + 1e-3 * out.pow(2).sum()),
}  # fmt: skip


@pytest.mark.parametrize("story", FAULTS)
def test_the_fault_is_seen_with_its_line(tmp_path: Path, story: str) -> None:
    fact, train = FAULTS[story]
    run = recorded(tmp_path, train)
    assert present(run) == {fact}
    if "by hand" not in story and "without a minus" not in story and "against a column" not in story:
        assert "test_criterion.py:" in (run.facts[fact].where or "")


@pytest.mark.parametrize("story", HEALTHY)
def test_nothing_is_seen_in_a_healthy_training(tmp_path: Path, story: str) -> None:
    assert not present(recorded(tmp_path, HEALTHY[story]))


def test_what_was_looked_for_is_recorded_too(tmp_path: Path) -> None:
    run = recorded(tmp_path, HEALTHY["cross-entropy"])
    assert {
        "probabilities-as-logits",
        "softmax-over-wrong-dim",
        "loss-summed",
        "loss-maximised",
        "relu-cuts-output",
    } <= absent(run)


def test_class_codes_are_told_from_numbers(tmp_path: Path) -> None:
    coded = train_with(lambda out, p: F.binary_cross_entropy_with_logits(out.squeeze(1), 2 * YES[p] - 1), 1)
    assert present(recorded(tmp_path / "codes", coded)) == {"labels-out-of-range", "codes-out-of-range"}
    numbers = recorded(tmp_path / "numbers", FAULTS["numbers in a binary loss"][1])
    assert "codes-out-of-range" in absent(numbers)


def test_one_innocent_call_does_not_take_back_a_fault(tmp_path: Path) -> None:
    def two_heads(out: Tensor, part: slice) -> Tensor:
        return F.cross_entropy(out.softmax(1), LABELS[part]) + F.cross_entropy(out, LABELS[part])

    assert present(recorded(tmp_path, train_with(two_heads))) == {"probabilities-as-logits"}


def test_adversarial_training_is_left_alone(tmp_path: Path) -> None:
    def train() -> None:
        maker, judge = nn.Linear(4, 8), nn.Linear(8, 1)
        first, second = torch.optim.SGD(judge.parameters(), lr=0.01), torch.optim.SGD(maker.parameters(), lr=0.01)
        for _ in range(120):
            made = maker(torch.randn(24, 4))
            real = F.binary_cross_entropy_with_logits(judge(X[:24]), torch.ones(24, 1))
            (real + F.binary_cross_entropy_with_logits(judge(made.detach()), torch.zeros(24, 1))).backward()
            first.step()
            (-F.binary_cross_entropy_with_logits(judge(made), torch.zeros(24, 1))).backward()
            second.step()
            first.zero_grad()
            second.zero_grad()

    assert not present(recorded(tmp_path, train))


class Attention(nn.Module):
    def __init__(self, dim: int) -> None:
        super().__init__()
        self.dim = dim

    def forward(self, x: Tensor) -> Tensor:
        return (x @ x.transpose(1, 2)).softmax(self.dim) @ x


@pytest.mark.parametrize(("dim", "found"), [(-1, False), (0, True)])
def test_attention_over_the_batch(tmp_path: Path, dim: int, found: bool) -> None:
    def train() -> None:
        model = nn.Sequential(
            nn.Unflatten(1, (2, 4)), nn.Linear(4, 6), Attention(dim), nn.Flatten(), nn.Linear(12, CLASSES)
        )
        optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
        for step in range(4):
            optimizer.zero_grad()
            F.cross_entropy(model(X[24 * step : 24 * step + 24]), LABELS[24 * step : 24 * step + 24]).backward()
            optimizer.step()

    assert ("softmax-over-wrong-dim" in present(recorded(tmp_path, train))) is found


# --- sequences
# ----------------------------------------------------------------------------------------------------------


def train_language_model(offset: int, *, padding: float = 0.0, ignore_index: int = -100) -> Callable[[], None]:
    def train() -> None:
        embedding, head = nn.Embedding(12, 8), nn.Linear(8, 12)
        optimizer = torch.optim.Adam([*embedding.parameters(), *head.parameters()], lr=1e-2)
        for _ in range(6):
            text = torch.randint(1, 12, (16, 14))
            if padding:
                lengths = torch.randint(3, int(14 * (1 - padding) * 2 - 3), (16, 1))
                text[torch.arange(14) >= lengths] = 0
            tokens, targets = text[:, :12], text[:, offset : offset + 12]
            optimizer.zero_grad()
            F.cross_entropy(
                head(embedding(tokens)).reshape(-1, 12), targets.reshape(-1), ignore_index=ignore_index
            ).backward()
            optimizer.step()

    return train


@pytest.mark.parametrize("offset", [0, 2])
def test_targets_that_are_not_the_next_token(tmp_path: Path, offset: int) -> None:
    assert present(recorded(tmp_path, train_language_model(offset))) == {"targets-not-next-token"}


@pytest.mark.parametrize("shift", [0, 1])
def test_a_decoder_is_fed_the_tokens_before_its_targets(tmp_path: Path, shift: int) -> None:
    def train() -> None:
        source, fed, head = nn.Embedding(12, 8), nn.Embedding(12, 8), nn.Linear(16, 12)
        optimizer = torch.optim.Adam([*source.parameters(), *fed.parameters(), *head.parameters()], lr=1e-2)
        for _ in range(6):
            text = torch.randint(1, 12, (16, 12))
            given = torch.cat([torch.zeros(16, shift, dtype=torch.long), text[:, : 12 - shift]], 1)
            scores = head(torch.cat([source(text.flip(1)), fed(given)], -1))
            optimizer.zero_grad()
            F.cross_entropy(scores.reshape(-1, 12), text.reshape(-1)).backward()
            optimizer.step()

    run = recorded(tmp_path, train)
    assert run.facts["targets-not-next-token"].present is (shift == 0)


def test_targets_that_are_the_next_token(tmp_path: Path) -> None:
    run = recorded(tmp_path, train_language_model(1))
    assert not present(run)
    assert "targets-not-next-token" in absent(run)


def test_padding_counts_unless_it_is_ignored(tmp_path: Path) -> None:
    assert present(recorded(tmp_path / "counted", train_language_model(1, padding=0.5))) == {"padding-in-loss"}
    ignored = recorded(tmp_path / "ignored", train_language_model(1, padding=0.5, ignore_index=0))
    assert not present(ignored)
    assert "padding-in-loss" in absent(ignored)


# --- predictions
# --------------------------------------------------------------------------------------------------------


PHASES = """
X = torch.randn(64, 8); y = torch.randint(0, 4, (64,)); teacher, student = nn.Linear(8, 4), nn.Linear(8, 4)
for net, loss_of in ((teacher, lambda out: F.cross_entropy(out, y)),
                     (student, lambda out: F.kl_div({scores}, teacher(X).detach().softmax(1), reduction="batchmean"))):
    opt = torch.optim.SGD(net.parameters(), 0.05)
    for step in range(400):
        loss = loss_of(net(X)); opt.zero_grad(); loss.backward(); opt.step()
"""


@pytest.mark.parametrize(("scores", "raw"), [("out", True), ("out.log_softmax(1)", False)])
def test_a_loss_function_that_a_second_phase_brings(tmp_path: Path, scores: str, raw: bool) -> None:
    facts = facts_of(PHASES.format(scores=scores), tmp_path, 0.0)
    assert facts["scores-as-log-probabilities"]["present"] is raw


TAGGED = """
lengths = torch.randint(4, 21, (256,)); steps = torch.arange(20)
words = torch.where(steps < lengths[:, None], torch.randint(1, 30, (256, 20)), 0)
tags = torch.where(words > 0, words % 4, {padding})
net = nn.Sequential(nn.Embedding(30, 8), nn.Linear(8, 4)); opt = torch.optim.Adam(net.parameters(), 1e-2)
for epoch in range(3):
    for b in torch.arange(256).split(32):
        loss = F.cross_entropy(net(words[b]).flatten(0, 1), tags[b].flatten()); opt.zero_grad(); loss.backward(); opt.step()
"""  # noqa: E501


@pytest.mark.parametrize(("padding", "counted"), [(0, True), (-100, False)])
def test_padding_counts_in_tags(tmp_path: Path, padding: int, counted: bool) -> None:
    facts = facts_of(TAGGED.format(padding=padding), tmp_path)
    assert facts["padding-in-loss"]["present"] is counted


def test_accuracy_and_number_of_classes_are_recorded(tmp_path: Path) -> None:
    def train() -> None:
        model = nn.Linear(8, CLASSES)
        optimizer = torch.optim.Adam(model.parameters(), lr=0.05)
        for step in range(150):
            F.cross_entropy(model(X[:200]), LABELS[:200]).backward()
            optimizer.step()
            optimizer.zero_grad()
            if step % 50 == 49:
                with torch.no_grad():
                    F.cross_entropy(model(X[200:]), LABELS[200:])

    run = recorded(tmp_path, train)
    assert run.config["num_classes"] == CLASSES
    assert run.series["train_accuracy"].values[-1] > 0.9
    assert run.series["val_accuracy"].values[-1] > 0.8
    assert len(run.series["val_accuracy"]) == 3
    assert not present(run)
    assert {"prediction-collapse", "one-label-only"} <= absent(run)


@pytest.mark.parametrize("every", [20, 40])
def test_one_class_for_everything(tmp_path: Path, every: int) -> None:
    rare = torch.zeros(240, dtype=torch.long)
    rare[::every] = 1  # a few of 240, in all batches or in some, unrelated to the input

    run = recorded(tmp_path, train_with(lambda out, p: F.cross_entropy(out, rare[p]), 2, steps=400, lr=0.1))
    assert present(run) == {"prediction-collapse", "labels-imbalanced"}


@pytest.mark.parametrize("grey", [False, True])
def test_no_for_every_point_of_a_picture(tmp_path: Path, grey: bool) -> None:
    def train() -> None:
        head = nn.Conv2d(1, 1, 1)
        optimizer = torch.optim.SGD(head.parameters(), lr=0.5)
        for _ in range(150):
            masks = (torch.rand(8, 1, 9, 9) < 0.01).float()
            optimizer.zero_grad()
            F.binary_cross_entropy_with_logits(head(torch.randn(8, 1, 9, 9)), 0.9 * masks if grey else masks).backward()
            optimizer.step()

    run = recorded(tmp_path, train)
    assert present(run) == (set() if grey else {"prediction-collapse", "labels-imbalanced"})
    assert "num_classes" not in run.config


def test_one_label_for_everything(tmp_path: Path) -> None:
    nothing = torch.zeros(24, dtype=torch.long)
    assert present(recorded(tmp_path, train_with(lambda out, p: F.cross_entropy(out, nothing), steps=160))) == {
        "one-label-only"
    }


def test_the_positive_first_is_no_label(tmp_path: Path) -> None:
    """A contrastive loss puts the score of the pair first, so that the class of every row is 0."""

    def loss_of(out: torch.Tensor, p: torch.Tensor) -> torch.Tensor:
        out = F.normalize(out, dim=1)
        others = ~torch.eye(len(out), dtype=torch.bool)
        return F.cross_entropy((out @ out.T)[others].view(len(out), -1) / 0.1, torch.zeros(len(out), dtype=torch.long))

    run = recorded(tmp_path, train_with(loss_of, steps=160))
    assert not present(run)
    assert "num_classes" not in run.config


def test_scores_of_pairs_and_of_classes() -> None:
    hidden, weight = nn.Linear(8, 16)(X[:6]), nn.Parameter(torch.randn(5, 16))
    assert of_pairs(F.normalize(hidden, dim=1) @ F.normalize(hidden, dim=1).T / 0.1)
    assert of_pairs(-torch.cdist(hidden, hidden.view(3, 2, 16).mean(1)))
    assert not of_pairs(nn.Linear(16, 4)(hidden))
    assert not of_pairs(F.linear(F.normalize(hidden, dim=1), F.normalize(weight, dim=1)))
    assert not of_pairs(hidden @ nn.Embedding(30, 16).weight.T)


@pytest.mark.parametrize("terms", [1, 5])
def test_a_loss_that_is_added_up_has_no_chance_level(tmp_path: Path, terms: int) -> None:
    def loss_of(out: torch.Tensor, p: torch.Tensor) -> torch.Tensor:
        return sum((F.cross_entropy(out, LABELS[p]) for _ in range(terms)), torch.zeros(()))

    run = recorded(tmp_path, train_with(loss_of, CLASSES, steps=40))
    assert run.config["loss_by_one_term"] == pytest.approx(terms)
    assert (Signals(run).classes is None) is (terms > 1)


def test_one_number_for_everything(tmp_path: Path) -> None:
    run = recorded(tmp_path, train_with(lambda out, p: F.mse_loss(0 * out.squeeze(1), REAL[p]), 1, steps=120))
    assert present(run) == {"prediction-collapse"}


@pytest.mark.parametrize(("beside", "worse"), [(0.0, False), (9.0, True)])
def test_a_regression_by_what_one_answer_costs(tmp_path: Path, beside: float, worse: bool) -> None:
    run = recorded(
        tmp_path, train_with(lambda out, p: F.mse_loss(out.squeeze(1).tanh() + beside, REAL[p]), 1, steps=150)
    )
    ratio = run.config["mse_by_variance"]
    assert isinstance(ratio, float)
    assert (ratio > 1.02) is worse


@pytest.mark.parametrize(("column", "found"), [(-1, True), (None, False)])
def test_a_regression_whose_answer_goes_in(tmp_path: Path, column: int | None, found: bool) -> None:
    def train() -> None:
        model = nn.Linear(8, 1)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
        for part in X.split(24) * 2:
            target = part.sum(1) if column is None else part[:, column]
            F.mse_loss(model(part).squeeze(1), target).backward()
            optimizer.step()
            optimizer.zero_grad()

    assert present(recorded(tmp_path, train)) == ({"targets-not-next-token"} if found else set())


def test_a_custom_or_compiled_function_hides_its_graph_but_not_its_numbers(tmp_path: Path) -> None:
    class Hidden(torch.autograd.Function):
        @staticmethod
        def forward(ctx: object, scores: Tensor) -> Tensor:
            return scores.sigmoid()

        @staticmethod
        def backward(ctx: object, grad: Tensor) -> Tensor:
            return grad

    def loss(out: Tensor, part: slice) -> Tensor:
        return F.binary_cross_entropy_with_logits(Hidden.apply(out), (X[part, :CLASSES] > 0).float())

    assert present(recorded(tmp_path, train_with(loss, steps=200))) == {"sigmoid-as-logits"}


def test_class_numbers_in_small_batches_within_the_usual_budget(tmp_path: Path) -> None:
    training = """
    X, y = torch.randn(96, 4), torch.arange(96) % 3
    net = nn.Linear(4, 1)
    opt = torch.optim.SGD(net.parameters(), lr=0.01)
    for _ in range(3):
        for b in torch.randperm(96).split(8):
            loss = F.mse_loss(net(X[b]).squeeze(1), {target}); opt.zero_grad(); loss.backward(); opt.step()
    """
    assert facts_of(training.format(target="y[b].float()"), tmp_path / "codes", 0.0)["classes-regressed"]["present"]
    numbers = facts_of(training.format(target="y[b] + X[b, 0]"), tmp_path / "numbers", 0.0)
    assert not numbers["classes-regressed"]["present"]
