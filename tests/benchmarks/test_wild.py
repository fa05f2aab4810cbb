"""The benchmark of other people's programs: what a mutator changes, which mutants count, and one small program from its
repository to its score."""

from __future__ import annotations

import argparse
import ast
import json
import math
import subprocess
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "benchmarks" / "wild"))

import run as harness
import score
from cases import SOUND, cases_of
from mutators import mutators
from mutators.base import Source, applied
from recipe import Recipe, Result, load, names

PROGRAM = """import torch
from torch import nn
import torch.nn.functional as F

torch.manual_seed(3)
inputs = torch.randn(256, 8)
labels = (inputs[:, 0] + inputs[:, 1] > 0).long()
train_data, val_data = torch.utils.data.TensorDataset(inputs[:192], labels[:192]), torch.utils.data.TensorDataset(inputs[192:], labels[192:])
train_loader = torch.utils.data.DataLoader(train_data, batch_size=16, shuffle=True)
val_loader = torch.utils.data.DataLoader(val_data, batch_size=64)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second, self.drop = nn.Linear(8, 16), nn.Linear(16, 2), nn.Dropout(0.1)

    def forward(self, x):
        x = self.first(x)
        x = F.relu(x)
        x = self.drop(x)
        return self.second(x)


def validate(model):
    model.eval()
    with torch.no_grad():
        for x, y in val_loader:
            return F.cross_entropy(model(x), y).item()


model = Net()
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
scheduler = torch.optim.lr_scheduler.StepLR(optimizer, step_size=10, gamma=0.5)
for epoch in range(4):
    model.train()
    for x, y in train_loader:
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
    scheduler.step()
    print(f"val loss {validate(model):.4f}")
"""  # noqa: E501
CHANGED = {
    "remove-zero-grad": "        pass\n        loss =",
    "zero-grad-before-step": "loss.backward()\n        optimizer.zero_grad()",
    "flip-loss-sign": "(-(loss)).backward()",
    "no-clipping-high-lr": "lr=10 * (0.01)",
    "clip-too-tight": "1e-4 * (1.0)",
    "optimizer-rebuilt": "    for x, y in train_loader:\n        optimizer = torch.optim.Adam(model.parameters(), "
    "lr=0.01)",
    "softmax-twice": "F.cross_entropy((model(x)).softmax(1), y)\n        loss.backward",
    "labels-permuted": "F.cross_entropy(model(x), (y)[__import__('torch').randperm(len(y))])",
    "loss-summed": "reduction='sum')",
    "classes-differ": "y = (y + 1) % (int(y.max()) + 1)",
    "lr-x100": "lr=100 * (0.01)",
    "lr-x0.01": "lr=0.01 * (0.01)",
    "weight-decay-high": "lr=0.01, weight_decay=10.0",
    "schedule-per-batch": "optimizer.step()\n        scheduler.step()\n    pass",
    "decay-early": "step_size=max(1, int(10) // 10), gamma=0.1",
    "layers-frozen": "requires_grad_(False)",
    "layers-left-out": "list(model.parameters())[-2:]",
    "graph-cut": ").detach()",
    "eval-while-training": "    model.eval()\n    for x, y in train_loader",
    "train-while-evaluating": "    model.train()\n    with torch.no_grad()",
    "no-activations": "x = (x)",
    "dropout-0.95": "nn.Dropout(0.95)",
    "inputs-raw": "x = x * 255.0 + 100.0",
    "same-batch": "setdefault('_first_batch', (x, y,))",
    "seed-in-loop": "manual_seed(1337)",
    "validation-is-training": "val_loader = torch.utils.data.DataLoader(train_data",
}


@pytest.mark.parametrize("name", CHANGED)
def test_a_mutator_changes_one_place_of_the_source(name: str) -> None:
    source = Source(PROGRAM)
    texts = [applied(PROGRAM, place) for place in mutators()[name].find(source)]
    assert any(CHANGED[name] in text for text in texts)
    for text in texts:
        ast.parse(text)
        kept = set(PROGRAM.splitlines()) & set(text.splitlines())
        assert len(kept) >= len(set(PROGRAM.splitlines())) - 3  # everything else stays as it was written


def test_every_mutator_leaves_a_source_without_a_training_alone() -> None:
    source = Source("import os\n\n\ndef main():\n    print(os.getcwd())\n")
    assert [name for name, mutator in mutators().items() if list(mutator.find(source))] == []


def test_the_recipes_are_whole_and_the_split_does_not_move() -> None:
    recipes = [load(name) for name in names()]
    assert len(recipes) >= 40
    assert len({recipe.repository for recipe in recipes}) >= 30
    assert sum(recipe.sealed for recipe in recipes) >= 14
    for recipe in recipes:
        assert len(recipe.commit) == 40
        assert int(recipe.commit, 16)
        assert all((recipe.files, recipe.command, recipe.seconds)), recipe.name
    by_repository = {(recipe.repository, recipe.sealed) for recipe in recipes if not recipe.opened}
    assert len(by_repository) == len({repository for repository, _ in by_repository})
    assert load("trl-sft").sealed
    assert not load("nanogpt-char").sealed


def _kept(
    folder: Path,
    name: str,
    errors: tuple[float, float],
    *,
    cause: str = "healthy",
    steps: int = 100,
    code: int = 0,
    result: float | None = None,
) -> None:
    for seed, error in enumerate(errors):
        place = folder / "kept" / "program" / name / str(seed)
        (place / "recording").mkdir(parents=True)
        rows = [[step, error, 0.1, 16] for step in range(steps)]
        document = {"series": {"val/log loss": rows} if steps else {}, "spread": 0.0, "recalls": {"val": [0.5] * 10},
                    "acted": {}, "steps": steps,
                    "seconds": 1.0, "stopped": "end"}  # fmt: skip
        (place / "recording" / "yardstick.json").write_text(json.dumps(document))
        verdict = "healthy" if name == SOUND else "unhealthy"
        page = {
            "verdict": verdict,
            "hypotheses": [{"cause": cause, "confidence": 0.8, "for": [{"where": "train.py:7"}]}],
            "symptoms": [],
        }
        about = {"code": code, "cpu": 1.0, "peak_mb": 1.0, "seed": seed, "sealed": False, "repository": "a/b",
                 "cause": cause, "also": [], "file": "x/train.py",
                 "lines": [8], "result": result, "page": page}  # fmt: skip
        (place / "run.json").write_text(json.dumps(about))


def test_a_mutant_counts_where_both_seeds_say_so(tmp_path: Path) -> None:
    _kept(tmp_path, SOUND, (0.50, 0.53))
    _kept(tmp_path, "worse", (0.90, 0.95), cause="lr-too-high")
    _kept(tmp_path, "better-by-a-leak", (0.30, 0.31), cause="train-val-leak")
    _kept(tmp_path, "within-the-scatter", (0.51, 0.545), cause="lr-too-low")
    _kept(tmp_path, "one-seed-only", (0.50, 0.95), cause="lr-too-low")
    _kept(tmp_path, "lost", (math.nan, math.nan), cause="lr-too-high")
    _kept(tmp_path, "never-began", (0.5, 0.5), steps=0, code=1)
    found = {case.name: case for case in score.told_apart(score.cases(tmp_path))}
    kinds = {name: case.kind for name, case in found.items()}
    assert kinds == {
        SOUND: "sound", "worse": "damaging", "better-by-a-leak": "damaging", "within-the-scatter": "harmless",
        "one-seed-only": "harmless",
        "lost": "damaging", "never-began": "broken",
    }  # fmt: skip
    line = found["worse"].runs[0]
    assert line.right(1)
    assert line.names_line
    cells = [cell.strip() for cell in score.row("all", list(found.values())).split("|")]
    assert cells[3:9] == ["2/2", "0/2", "6/6", "6/6", "6/6", "6/6"]


def test_a_program_from_its_repository_to_its_score(tmp_path: Path) -> None:
    checkout = tmp_path / "checkouts" / "someone" / "program"
    checkout.mkdir(parents=True)
    (checkout / "train.py").write_text(PROGRAM)
    git = ["git", "-C", str(checkout), "-c", "user.name=a", "-c", "user.email=a@example.com"]
    for command in (["init", "-q"], ["add", "."], ["commit", "-qm", "a program"]):
        subprocess.run([*git, *command], check=True)
    commit = subprocess.run([*git, "rev-parse", "HEAD"], check=True, capture_output=True, text=True).stdout.strip()
    recipe = Recipe(
        repository="someone/program", commit=commit, kind="classification", command=("train.py",), files=("train.py",),
        seconds=5,
        shorten=(("train.py", r"range\(4\)", "range(3)"),), result=Result(r"val loss ([\d.]+)", "lower"),
        name="program",
    )  # fmt: skip
    work = tmp_path / "work"
    place = harness.prepared(recipe, tmp_path / "checkouts", work)
    cases = list(cases_of(recipe, place))
    wanted = [case for case in cases if case.name in (SOUND, "flip-loss-sign")]
    chosen = [case.name for case in harness.chosen(cases, 6)]
    assert chosen == [case.name for case in harness.chosen(cases, 6)]
    assert len(chosen) == 7
    given = argparse.Namespace(python=sys.executable, packages="")
    for case in wanted:
        for seed in (0, 1):
            job = harness.Job(case, seed, False, place, work / "kept" / "program" / case.name / str(seed))
            assert harness.perform(job, given, math.inf).startswith("exit code 0")
            assert job.done
    found = {case.name: case for case in score.told_apart(score.cases(work))}
    assert found["flip-loss-sign"].kind == "damaging"
    assert found["flip-loss-sign"].runs[0].about["lines"] == [40]
    assert found[SOUND].runs[0].about["result"] < math.log(2)
