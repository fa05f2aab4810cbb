"""What a recording must not do to torch.compile: warnings, more compiling, other results."""

from __future__ import annotations

import textwrap
import warnings
from pathlib import Path

import pytest
import torch
from live_scripts import run
from torch._dynamo import eval_frame
from torch._dynamo.utils import counters
from torch.nn.modules import module as torch_module

SCRIPT = """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1))
    def forward(self, x):
        return self.layers(x) * 2
net = Net()
{compiled}
opt = torch.optim.SGD(net.parameters(), 0.01)
for step in range(150):
    x = torch.rand(8, 4)
    loss = ((part(x) - 1) ** 2).mean(); opt.zero_grad(); loss.backward(); opt.step()
print(loss.item())
"""
SWITCHES = hasattr(eval_frame, "_maybe_set_eval_frame")  # of newer torch, which warns of global hooks
WAYS = ['part = torch.compile(net, backend="aot_eager")', 'net.compile(backend="aot_eager"); part = net']


def _own() -> tuple[object, ...]:
    asked = getattr(torch_module, "_has_any_global_hook", None)
    return torch.compile, getattr(eval_frame, "_maybe_set_eval_frame", None), asked


@pytest.mark.parametrize("compiled", WAYS)
def test_the_compiler_does_not_see_the_hooks(tmp_path: Path, compiled: str) -> None:
    script = SCRIPT.format(compiled=compiled)
    bare = run(script, None)
    own = _own()
    counters.clear()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        watched = run(script, tmp_path / "r.traindx", budget=0.1)
    assert watched == bare
    assert counters["stats"]["unique_graphs"] == 1  # steps that are looked at closely and others alike
    assert own == _own()
    assert not torch_module._global_forward_hooks
    assert not torch_module._global_forward_pre_hooks


@pytest.mark.skipif(not SWITCHES, reason="this torch warns of no hooks")
def test_hooks_of_the_user_are_still_warned_of(tmp_path: Path) -> None:
    hook = "nn.modules.module.register_module_forward_hook(lambda *_: None)"
    script = SCRIPT.format(compiled=f"hook = {hook}\n{WAYS[0]}") + "hook.remove()"
    with pytest.warns(UserWarning, match="global hooks"):
        run(script, tmp_path / "r.traindx")


def test_torchscript_reads_the_functions_of_the_library(tmp_path: Path) -> None:
    printed = run(
        """
        script = torch.jit.script(nn.Sequential(nn.Linear(4, 2), nn.Dropout(0.5)))
        opt = torch.optim.SGD(script.parameters(), lr=0.1)
        for _ in range(3):
            loss = F.cross_entropy(script(torch.randn(6, 4)), torch.zeros(6, dtype=torch.long))
            opt.zero_grad(); loss.backward(); opt.step()
        print("done", torch.nn.functional.dropout.__code__.co_filename.endswith("functional.py"))
        """,
        tmp_path / "run.traindx",
    )
    assert printed == "done False\n"  # and they are watched again afterwards


TRACED = """
        model = nn.Sequential(nn.Conv2d(3, 4, 3), nn.ReLU(), nn.Flatten(), nn.Linear(4 * 36, 3))
        opt = torch.optim.SGD(model.parameters(), lr=0.1)
        data = DataLoader(TensorDataset(torch.randn(24, 3, 8, 8), torch.arange(24) % 3), 8)
        traced = torch.jit.trace(model, torch.randn(2, 3, 8, 8))
        for inputs, labels in data:
            loss = F.cross_entropy(model(inputs), labels)
            opt.zero_grad(); loss.backward(); opt.step()
        with torch.no_grad():
            again = torch.jit.trace(model, next(iter(data))[0])
        print(len(list(traced.graph.nodes())), len(list(again.graph.nodes())))
"""


@pytest.mark.filterwarnings("error", "ignore:.*torch.jit:DeprecationWarning")
def test_a_traced_model_holds_nothing_of_ours(tmp_path: Path) -> None:
    """A look inside the trace would add our operations to the user's graph, warn of every number that was read, or end
    in an error."""
    script = f"from torch.utils.data import DataLoader, TensorDataset\n{textwrap.dedent(TRACED)}"
    assert run(script, tmp_path / "r.traindx") == run(script, None)
