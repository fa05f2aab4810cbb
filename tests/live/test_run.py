"""`traindx run` as a user runs it: faithful to the script, and a diagnosis whatever the end."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest

from keyboard import heeds_ctrl_c

TRAIN = """
import sys, torch
torch.manual_seed(0)
model = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.ReLU(), torch.nn.Dropout(0.2), torch.nn.Linear(16, 3))
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
x = torch.randn(128, 8)
y = (x.sum(1) > 0).long() + (x[:, 0] > 1).long()
for step in range(int(sys.argv[1]) if len(sys.argv) > 1 else 150):
    optimizer.zero_grad()
    loss = torch.nn.functional.cross_entropy(model(x), y)
    loss.backward()
    optimizer.step()
    HOOK
print("end", repr(loss.item()), repr(sum(p.double().sum().item() for p in model.parameters())), torch.rand(1).item())
"""


def script(folder: Path, hook: str = "pass", name: str = "train.py") -> Path:
    path = folder / name
    path.write_text(textwrap.dedent(TRAIN).replace("HOOK", hook))
    return path


def run(folder: Path, *arguments: str, **options: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "traindx", "run", *arguments]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=120, **options)  # type: ignore[call-overload,no-any-return]


@pytest.fixture(scope="module")
def watched(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, subprocess.CompletedProcess[str]]:
    """One training under the recorder, and where."""
    folder = tmp_path_factory.mktemp("watched")
    return folder, run(folder, "--json", "page.json", script(folder).name, "150")


def test_the_training_is_bit_identical_and_the_random_state_untouched(
    watched: tuple[Path, subprocess.CompletedProcess[str]],
) -> None:
    folder, result = watched
    bare = subprocess.run([sys.executable, "train.py"], cwd=folder, capture_output=True, text=True, check=True)
    assert result.returncode == 0, result.stderr
    assert result.stdout == bare.stdout


def test_page_recording_and_json(watched: tuple[Path, subprocess.CompletedProcess[str]]) -> None:
    folder, result = watched
    assert "recorded in" in result.stderr
    page = json.loads((folder / "page.json").read_text())
    assert page["run"]["format"] == "recording"
    assert {"train_loss", "lr"} <= set(page["run"]["metrics"])
    again = subprocess.run(
        [sys.executable, "-m", "traindx", "diagnose", "train.traindx", "--format", "json"],
        cwd=folder, capture_output=True, text=True,
    )  # fmt: skip
    assert json.loads(again.stdout)["verdict"] == page["verdict"]


@pytest.mark.parametrize(
    ("hook", "code", "told"),
    [
        ("step == 60 and sys.exit(7)", 7, ""),
        ("step == 60 and 1 / 0", 1, "ZeroDivisionError"),
        ("step == 60 and __import__('os').kill(__import__('os').getpid(), 9)", 137, ""),
    ],
)
def test_every_end_keeps_its_exit_code_and_gets_a_page(tmp_path: Path, hook: str, code: int, told: str) -> None:
    result = run(tmp_path, script(tmp_path, f"step == 59 and __import__('time').sleep(1.2) or {hook}").name)
    assert result.returncode == code
    assert told in result.stderr
    assert "traindx ·" in result.stderr


def test_ctrl_c_reaches_the_script_and_ends_with_a_page(tmp_path: Path) -> None:
    path = script(tmp_path, "__import__('time').sleep(0.02)")
    process = subprocess.Popen(
        [sys.executable, "-m", "traindx", "run", path.name, "100000"], cwd=tmp_path, stderr=subprocess.PIPE, text=True,
        start_new_session=True, preexec_fn=heeds_ctrl_c,
    )  # fmt: skip
    deadline = time.monotonic() + 60
    recording = tmp_path / "train.traindx" / "rank-0.jsonl"
    while time.monotonic() < deadline and not (recording.exists() and recording.stat().st_size > 2000):
        time.sleep(0.1)
    os.killpg(process.pid, signal.SIGINT)
    _, errors = process.communicate(timeout=60)
    assert "KeyboardInterrupt" in errors
    assert "traindx ·" in errors
    assert process.returncode != 0


def test_modules_arguments_and_the_working_directory(tmp_path: Path) -> None:
    package = tmp_path / "package"
    package.mkdir()
    (package / "__init__.py").write_text("")
    script(package, "step == 0 and print(__name__, sys.argv[1:], __import__('os').getcwd())")
    result = run(tmp_path, "-m", "package.train", "30")
    assert result.returncode == 0, result.stderr
    assert f"__main__ ['30'] {tmp_path}" in result.stdout


def test_steps_stops_early_and_gate_turns_findings_into_an_exit_code(tmp_path: Path) -> None:
    result = run(tmp_path, "--steps", "25", script(tmp_path).name, "100000")
    assert result.returncode == 0
    sick = script(tmp_path, "optimizer.param_groups[0].__setitem__('lr', float('nan'))", "sick.py")
    assert run(tmp_path, "--quiet", sick.name).returncode == 0
    assert run(tmp_path, "--quiet", "--gate", sick.name).returncode == 1


def test_scripts_without_torch_and_missing_scripts(tmp_path: Path) -> None:
    (tmp_path / "plain.py").write_text("print('hello')")
    result = run(tmp_path, "plain.py")
    assert (result.returncode, result.stdout) == (0, "hello\n")
    assert "nothing recorded" in result.stderr
    missing = run(tmp_path, "nowhere.py")
    assert missing.returncode == 2
    assert "does not exist" in missing.stderr


def test_whoever_asks_where_torch_lies_does_not_end_the_recording(tmp_path: Path) -> None:
    """Libraries ask for the spec of torch, some more than once, before anybody imports it."""
    ask = (
        "import importlib.util\nspec = importlib.util.find_spec('torch')\nassert spec.loader.get_filename('torch') "
        "== spec.origin\n"
    )
    path = script(tmp_path)
    path.write_text(
        f"{ask}{ask}{path.read_text()}\nassert torch.__spec__.loader is torch.__loader__\nassert "
        f"type(torch.__loader__).__module__ != 'traindx.live.host.bootstrap'"
    )
    result = run(tmp_path, "--json", "page.json", "--to", "kept", path.name)
    assert result.returncode == 0, result.stderr
    assert json.loads((tmp_path / "page.json").read_text())["run"]["steps"] >= 100
    assert (tmp_path / "kept").is_dir()


def test_an_import_of_torch_that_fails_first_is_met_the_second_time(tmp_path: Path) -> None:
    path = script(tmp_path)
    again = (
        "import os, sys\nsys.modules['torch._C'] = None\ntry:\n    import torch\nexcept ImportError:\n    "
        "pass\nfor name in [n for n in sys.modules if n == 'torch' or n.startswith('torch.')]:\n    del "
        "sys.modules[name]\n"
    )
    path.write_text(again + path.read_text())
    result = run(tmp_path, path.name)
    bare = subprocess.run([sys.executable, path.name], cwd=tmp_path, capture_output=True)
    # since torch 2.15 it says itself that it cannot be imported a second time
    assert ("traindx ·" in result.stderr) == (bare.returncode == 0), result.stderr


def test_a_gate_that_has_seen_nothing_does_not_pass_and_json_is_always_written(tmp_path: Path) -> None:
    (tmp_path / "plain.py").write_text("print('hello')")
    result = run(tmp_path, "--gate", "--json", "page.json", "plain.py")
    assert (result.returncode, result.stdout) == (2, "hello\n")
    page = json.loads((tmp_path / "page.json").read_text())
    assert (page["verdict"], page["headline"]) == ("inconclusive", "Nothing recorded: torch was not imported.")
    assert all(symptom["state"] == "unknown" for symptom in page["symptoms"] if symptom["id"] != "too-short")


def test_gradients_without_any_update_end_with_the_reason(tmp_path: Path) -> None:
    (tmp_path / "still.py").write_text(
        "import torch\nw = torch.randn(10, 1, requires_grad=True)\nx = torch.randn(64, 10)\nfor i in range(20):\n"
        "    loss = ((x @ w - 1) ** 2).mean()\n    loss.backward()\n    w.grad.zero_()\n"
    )
    result = run(tmp_path, "--json", "page.json", "still.py")
    assert result.returncode == 2
    assert "no parameter was seen to change" in result.stderr
    assert "no parameter was seen to change" in json.loads((tmp_path / "page.json").read_text())["headline"]


def test_a_recorder_that_cannot_write_changes_no_exit_code(tmp_path: Path) -> None:
    (tmp_path / "full.py").write_text(
        "import os, resource, torch\nresource.setrlimit(resource.RLIMIT_NOFILE, (30, 30))\n"
        "model = torch.nn.Linear(4, 2)\noptimizer = torch.optim.SGD(model.parameters(), lr=0.1)\nheld = []\n"
        "try:\n    while True:\n        held.append(open(os.devnull))\nexcept OSError:\n    pass\n"
        "for _ in range(20):\n    optimizer.zero_grad()\n    model(torch.ones(3, 4)).sum().backward()\n"
        "    optimizer.step()\n"
    )
    result = run(tmp_path, "--quiet", "full.py")
    assert result.returncode == 0, result.stderr
    assert "cannot write" in result.stderr
    assert "no parameter was seen to change" not in result.stderr


def test_a_script_that_handles_its_own_forward_error_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "retry.py").write_text(
        textwrap.dedent("""
        import torch
        class Model(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.layer, self.calls = torch.nn.Linear(10, 2), 0
            def forward(self, x, scale=1.0):
                self.calls += 1
                return self.layer(x[:, :5] if self.calls % 7 == 3 else x) * scale
        model = Model()
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        x = torch.randn(64, 10)
        for step in range(60):
            try:
                loss = torch.nn.functional.cross_entropy(model(x, scale=1.0), (x[:, 0] > 0).long())
            except RuntimeError:
                continue
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    """)
    )
    for words in (["retry.py"], ["--", sys.executable, "-W", "error", "retry.py"]):
        result = run(tmp_path, *words)
        assert result.returncode == 0, result.stderr
        assert "Warning" not in result.stderr
        assert "51 steps" in result.stderr


def test_a_script_that_dies_before_its_first_update_is_named_with_exception_and_line(tmp_path: Path) -> None:
    (tmp_path / "helper.py").write_text("def load():\n    import torchh\n")
    (tmp_path / "imports.py").write_text("import helper\nhelper.load()\n")
    (tmp_path / "broken.py").write_text("import os\ndef f(:\n    pass\n")
    for name, words in (
        ("imports.py", "ModuleNotFoundError at helper.py:2: No module named 'torchh'"),
        ("broken.py", "SyntaxError at broken.py:2: invalid syntax"),
    ):
        result = run(tmp_path, name)
        assert result.returncode == 1
        assert result.stderr.splitlines()[-1].endswith(f"crashed before its first optimiser step ({words}).")
