"""What a script says about itself, in several styles of writing one."""

from __future__ import annotations

import json
from textwrap import dedent

import pytest

from traindx.interview import ScriptReading, read_script

PLAIN = """
import torch
from torch import nn

LR = 1e-2
EPOCHS = 5

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Dropout(0.7), nn.Linear(8, 3))
    def forward(self, x):
        return self.body(x)

model = Net()
optimizer = torch.optim.Adam(model.parameters(), lr=LR, weight_decay=0.1)
criterion = nn.CrossEntropyLoss()
train_loader = torch.utils.data.DataLoader(data, batch_size=64, shuffle=True, num_workers=2)
for epoch in range(EPOCHS):
    model.train()
    for x, y in train_loader:
        optimizer.zero_grad()
        loss = criterion(model(x), y)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm=0.5)
        optimizer.step()
    model.eval()
    with torch.no_grad():
        evaluate(model)
"""


def states(text: str) -> dict[str, str]:
    return {o.id: o.state for o in read_script(dedent(text)).observations}


def test_a_sound_script_shows_no_mistake_and_its_settings() -> None:
    reading = read_script(PLAIN, "net.py")
    assert [o.id for o in reading.observations if o.state == "present"] == []
    assert {"gradients-not-cleared", "trained-in-eval-mode", "probabilities-as-logits", "data-in-order"} <= {
        o.id for o in reading.observations if o.state == "absent"
    }
    told = dict(reading.settings)
    assert told["optimizer"] == "adam"
    assert told["lr"] == 0.01
    assert told["batch_size"] == 64
    assert told["weight_decay"] == 0.1
    assert told["dropout"] == 0.7
    assert told["clip"] == 0.5
    assert told["epochs"] == 5
    assert told["fp16"] is False


@pytest.mark.parametrize(
    ("symptom", "old", "new"),
    [
        ("gradients-not-cleared", "        optimizer.zero_grad()\n", ""),
        (
            "gradients-not-cleared",
            "    for x, y in train_loader:\n        optimizer.zero_grad()\n",
            "    optimizer.zero_grad()\n    for x, y in train_loader:\n",
        ),
        ("probabilities-as-logits", "return self.body(x)", "return torch.softmax(self.body(x), dim=1)"),
        ("probabilities-as-logits", "return self.body(x)", "x = self.body(x)\n        return F.softmax(x, -1)"),
        ("probabilities-as-logits", "nn.Linear(8, 3))", "nn.Linear(8, 3), nn.Softmax(dim=1))"),
        ("trained-in-eval-mode", "    model.train()\n", ""),
        ("evaluated-in-train-mode", "    model.eval()\n", ""),
        ("no-nonlinearity", "nn.ReLU(), nn.Dropout(0.7), ", ""),
        ("loss-summed", "nn.CrossEntropyLoss()", 'nn.CrossEntropyLoss(reduction="sum")'),
        ("loss-maximised", "loss.backward()", "(-loss).backward()"),
        ("no-gradient", "criterion(model(x), y)", "criterion(model(x).detach(), y)"),
        ("data-in-order", "shuffle=True, ", ""),
        ("data-in-order", "shuffle=True, ", "shuffle=False, "),
        ("equal-initial-weights", "model = Net()", "model = Net()\nnn.init.zeros_(model.body[0].weight)"),
        ("optimizer-rebuilt", "    model.train()\n", "    model.train()\n    optimizer = "
                                                     "torch.optim.Adam(model.parameters(), lr=LR)\n"),
    ],
)  # fmt: skip
def test_a_mistake_is_seen_with_its_line(symptom: str, old: str, new: str) -> None:
    assert old in PLAIN
    reading = read_script(PLAIN.replace(old, new), "net.py")
    seen = next(o for o in reading.observations if o.id == symptom)
    assert seen.state == "present"
    assert seen.where is not None
    assert seen.where.startswith("net.py")
    assert seen.clarity < 0.7


def test_options_functions_and_helpers_are_read() -> None:
    text = """
    import argparse, torch
    parser = argparse.ArgumentParser()
    parser.add_argument("--lr", type=float, default=3e-4)
    parser.add_argument("--batch-size", type=int, default=16)
    args = parser.parse_args()

    def train_step(model, batch, opt):
        opt.zero_grad(set_to_none=True)
        model(batch).backward()
        opt.step()

    def main():
        opt = torch.optim.AdamW(model.parameters(), lr=args.lr)
        loader = DataLoader(train_set, args.batch_size, True)
        for batch in loader:
            train_step(model, batch, opt)
    """
    reading = read_script(dedent(text))
    assert reading.settings["lr"] == 3e-4
    assert reading.settings["batch_size"] == 16
    assert reading.settings["optimizer"] == "adamw"
    assert states(text).get("gradients-not-cleared") != "present"


def test_a_parameter_takes_what_its_call_gives_and_is_unknown_where_calls_disagree() -> None:
    text = """
    def fit(model, lr=1e-3):
        opt = torch.optim.SGD(model.parameters(), lr=lr)
    {}
    """
    assert read_script(dedent(text).format("fit(m)")).settings["lr"] == 1e-3
    assert read_script(dedent(text).format("fit(m, lr=0.5)")).settings["lr"] == 0.5
    assert "lr" not in read_script(dedent(text).format("fit(m, lr=0.5); fit(m, lr=0.1)")).settings


def test_a_class_based_trainer_is_read() -> None:
    text = """
    class Trainer:
        def __init__(self, model):
            self.opt = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
            self.sched = torch.optim.lr_scheduler.CosineAnnealingLR(self.opt, T_max=self.epochs)
        def fit(self):
            for epoch in range(10):
                for x, y in self.loader:
                    loss = F.cross_entropy(self.model(x), y)
                    loss.backward()
                    self.opt.step()
                    self.opt.zero_grad()
                    self.sched.step()
    """
    reading = read_script(dedent(text))
    assert reading.settings["momentum"] == 0.9
    assert states(text)["gradients-not-cleared"] == "absent"
    assert states(text)["schedule-per-batch"] == "present"


def test_frameworks_that_own_the_loop_are_not_accused() -> None:
    lightning = """
    import lightning as L
    class Module(L.LightningModule):
        def training_step(self, batch, i):
            self.manual_backward(loss)
            loss.backward()
    """
    assert "gradients-not-cleared" not in states(lightning)
    keras = """
    import keras
    model.compile(optimizer=keras.optimizers.Adam(learning_rate=0.01), loss="mse")
    model.fit(x, y, batch_size=8, epochs=3)
    """
    reading = read_script(dedent(keras))
    assert reading.settings == {"optimizer": "adam", "lr": 0.01, "batch_size": 8, "epochs": 3}


def test_a_summed_loss_in_an_evaluation_is_fine() -> None:
    text = """
    def train():
        loss = F.nll_loss(F.log_softmax(model(x), 1), y)
        opt.zero_grad()
        loss.backward()
    def test():
        total = F.nll_loss(model(x), y, reduction="sum").item()
    """
    assert "loss-summed" not in states(text)


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("scaler = torch.amp.GradScaler()\nwith torch.autocast('cuda'): pass", True),
        ("model.half()", True),
        ("with torch.autocast('cuda', dtype=torch.float16): pass", True),
        ("loss.backward()", False),
    ],
)
def test_precision_is_read(line: str, expected: bool) -> None:
    assert read_script(line).settings.get("fp16") is expected


def test_reinforcement_learning_is_not_handed_over() -> None:
    assert not read_script("import gymnasium as gym").hand_overs


@pytest.mark.parametrize("text", ["def broken(:", "\x00", "(" * 5000, "x" * (3 << 20)])
def test_what_cannot_be_read_is_said_and_nothing_else(text: str) -> None:
    reading = read_script(text, "odd.py")
    assert reading.notes
    assert reading.observations == ()
    assert reading.settings == {}


def test_nothing_is_executed(tmp_path: object) -> None:
    text = f"open({str(tmp_path)!r} + '/ran', 'w').write('x')\nraise SystemExit(3)"
    read_script(text)
    assert not list(tmp_path.iterdir())  # type: ignore[attr-defined]


def test_a_reading_goes_through_json() -> None:
    reading = read_script(PLAIN.replace("        optimizer.zero_grad()\n", ""), "net.py")
    assert ScriptReading.from_json(json.loads(json.dumps(reading.to_json()))) == reading
