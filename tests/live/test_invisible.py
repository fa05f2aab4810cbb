"""The recorder is not seen by what a script puts around its own operations, and its faults are never the script's."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

HEAD = """
import torch
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.flop_counter import FlopCounterMode
torch.manual_seed(0); torch.set_num_threads(1)
class Functions(TorchFunctionMode):
    count = 0
    def __torch_function__(self, func, types, args=(), kwargs=None):
        Functions.count += 1
        return func(*args, **(kwargs or {}))
class Dispatched(TorchDispatchMode):
    count = 0
    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        Dispatched.count += 1
        return func(*args, **(kwargs or {}))
model = torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.ReLU(), torch.nn.Linear(8, 2))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
x, y = torch.randn(64, 8), torch.arange(64) % 2
def train(steps):
    for step in range(steps):
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(model(x), y).backward()
        optimizer.step()
"""
SEEN = {
    "functions": "with Functions(): train(30)\nprint(Functions.count)",
    "dispatch": "with Dispatched(): train(30)\nprint(Dispatched.count)",
    "flops": "counter = FlopCounterMode(display=False)\nwith counter: train(30)\nprint(counter.get_total_flops())",
    "own kind of tensor": """
class Kind(torch.Tensor):
    count = 0
    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        Kind.count += 1
        return super().__torch_function__(func, types, args, kwargs or {})
x = x.as_subclass(Kind)
Kind.count = 0
train(30)
with torch.no_grad(): torch.nn.functional.cross_entropy(model(x), y)
print(Kind.count)""",
    "profiler": """
with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as table: train(30)
print(sorted((line.key, line.count) for line in table.key_averages() if not line.key.startswith("Optimizer")))""",
    "anomaly": "with torch.autograd.detect_anomaly(check_nan=True): train(30)\nprint(model[0].weight.sum().item())",
}
# exceptions of each kind that the script handles itself
HANDLED = """
class Loader(torch.utils.data.Dataset):
    def __len__(self): return 8
    def __getitem__(self, place):
        if place == 5: raise IndexError("bad sample")
        return x[place], y[place]
class Broken(torch.autograd.Function):
    @staticmethod
    def forward(context, value): return value.clone()
    @staticmethod
    def backward(context, gradient): raise RuntimeError("in backward")
class Failing(torch.optim.SGD):
    def step(self, closure=None): raise RuntimeError("in step")
failing = Failing(model.parameters(), lr=0.1)
handled = 0
for step in range(20):
    for call in (lambda: model(x[:, :5]), lambda: model[0](input=x[:, :5]),
                 lambda: Broken.apply(model(x).sum()).backward(), failing.step,
                 lambda: list(torch.utils.data.DataLoader(Loader(), batch_size=2))):
        try:
            call()
        except (RuntimeError, IndexError):
            handled += 1
    train(1)
print(handled, model[0].weight.sum().item())
"""
# user code that answers in its own way, or changes something, when it is asked for anything
ODD = """
import os, tempfile
from torch.nn.utils import parametrizations
def digest(module): print([p.detach().double().sum().item() for p in module.parameters()])
def fit(module, data=x, steps=12):
    optimizer = torch.optim.SGD(module.parameters(), lr=0.1)
    for step in range(steps):
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(module(data), y).backward()
        optimizer.step()
    digest(module)
class Talking(dict):
    def values(self): print("values"); return dict.values(self)
    def items(self): print("items"); return dict.items(self)
    def __iter__(self): print("iter"); return dict.__iter__(self)
class Model(torch.nn.Module):
    def __init__(self): super().__init__(); self.layer = torch.nn.Linear(8, 2)
    def forward(self, x): return self.layer(x)
class OfDict(Model):
    def forward(self, batch): return self.layer(dict.__getitem__(batch, "x"))
class Property(Model):
    weight = property(lambda self: (_ for _ in ()).throw(KeyboardInterrupt()))
class Unhashable(Model):
    def __eq__(self, other): return False
    __hash__ = None
    def parameters(self): return self.layer.parameters()
spectral = torch.nn.Sequential(parametrizations.spectral_norm(torch.nn.Linear(8, 8)), torch.nn.ReLU(),
                               parametrizations.spectral_norm(torch.nn.Linear(8, 2)))
fit(spectral)  # each look at its weight is a step of its power iteration
fit(OfDict(), Talking(x=x))
fit(Property())
fit(Unhashable())
rows = torch.nn.EmbeddingBag(10, 2, sparse=True)
fit(rows, torch.arange(64 * 3).reshape(64, 3) % 10)
gone = tempfile.mkdtemp(); os.chdir(gone); os.rmdir(gone)
fit(Model())
"""
ENVIRONMENT = {**os.environ, "TRAINDX_CASES": "off", "OMP_NUM_THREADS": "1"}


def both(folder: Path, script: str, *options: str) -> list[subprocess.CompletedProcess[str]]:
    """The script bare and recorded."""
    (folder / "train.py").write_text(HEAD + script)
    recorded = [
        "-m",
        "traindx",
        "run",
        "-q",
        "--budget",
        "50%",
        "--to",
        "run.traindx",
        "--",
        sys.executable,
        *options,
        "train.py",
    ]
    return [
        subprocess.run(
            [sys.executable, *command], cwd=folder, env=ENVIRONMENT, capture_output=True, text=True, timeout=120
        )
        for command in ([*options, "train.py"], recorded)
    ]


@pytest.mark.parametrize("kind", SEEN)
def test_modes_and_counters_see_the_script_alone(tmp_path: Path, kind: str) -> None:
    bare, recorded = both(tmp_path, SEEN[kind])
    assert bare.returncode == recorded.returncode == 0, recorded.stderr
    assert bare.stdout == recorded.stdout


def test_errors_that_the_script_handles_stay_its_own(tmp_path: Path) -> None:
    bare, recorded = both(tmp_path, HANDLED, "-W", "error")
    assert bare.returncode == recorded.returncode == 0, recorded.stderr
    assert bare.stdout == recorded.stdout
    assert bare.stdout.startswith("100 ")
    assert recorded.stderr == bare.stderr


def test_odd_code_of_the_user_is_not_asked(tmp_path: Path) -> None:
    bare, recorded = both(tmp_path, ODD)
    assert bare.returncode == recorded.returncode == 0, recorded.stderr
    assert recorded.stdout == bare.stdout
    assert recorded.stderr == bare.stderr
