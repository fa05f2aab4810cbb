"""The probes as commands: on a script as it stands, on files, and added to a recording."""

from __future__ import annotations

import json
import os
import pickle
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from traindx.cli import main, plainly  # noqa: E402
from traindx.cli.probe import kinds  # noqa: E402
from traindx.errors import TraindxError  # noqa: E402
from traindx.probes.kinds import probes  # noqa: E402
from traindx.probes.tables import tensors_of  # noqa: E402
from traindx.readers.find import find_runs  # noqa: E402
from traindx.signals import Signals  # noqa: E402
from traindx.symptoms import symptoms  # noqa: E402

SCRIPT = """
import torch
from torch import nn

torch.manual_seed(0)
print("hello from the script")
layers = [layer for _ in range(10) for layer in (nn.Linear(8, 8), nn.Sigmoid())]
model = nn.Sequential(*layers, nn.Linear(8, 3))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
x, y = torch.randn(64, 8), torch.randint(3, (64,))
for step in range({steps}):
    loss = nn.functional.cross_entropy(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print("it ran to its last line")
"""


RANKS = """
import sys
import torch
from torch import nn
from torch.distributed.fsdp import fully_shard

torch.distributed.init_process_group("gloo")
model = nn.Sequential(nn.Linear(8, 8), nn.ReLU(), nn.Linear(8, 3))
model = fully_shard(model) if sys.argv[1] == "sharded" else nn.parallel.DistributedDataParallel(model)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(1000):
    loss = nn.functional.cross_entropy(model(torch.randn(16, 8)), torch.randint(3, (16,)))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""


def run(arguments: list[str], folder: Path) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "TRAINDX_DEBUG": "1"}
    command = [sys.executable, "-m", "traindx", *arguments]
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=180)


def test_every_probe_is_a_command_that_says_what_it_does() -> None:
    assert set(kinds()) == set(probes())
    for summary in kinds().values():
        assert summary.endswith((".", "?"))


def test_a_script_is_probed_as_it_stands(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(SCRIPT.format(steps=100_000))
    done = run(["activations", "--plot", "flow.png", "--json", "out.json", "train.py", "--ignored", "option"], tmp_path)
    assert done.returncode == 1, done.stderr
    assert done.stdout.startswith("hello from the script\n")
    assert "it ran to its last line" not in done.stdout
    assert "vanishing-gradients" in done.stdout
    assert (tmp_path / "flow.png").read_bytes().startswith(b"\x89PNG")
    written = json.loads((tmp_path / "out.json").read_text())
    assert [reading["probe"] for reading in written["readings"]] == ["activations"]
    assert written["diagnosis"]["verdict"] == "unhealthy"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["flow.png", "out.json", "train.py"]


@pytest.mark.parametrize(("way", "told"), [("copied", "4 of 4 parameters receive"), ("sharded", "sharded over ranks")])
def test_two_ranks_are_probed_or_refused(way: str, told: str, tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(RANKS)
    torchrun = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
    done = run(["gradients", "--", *torchrun, "train.py", way], tmp_path)
    assert done.returncode == 0, done.stderr
    assert told in " ".join(done.stdout.split())


def test_findings_are_added_to_a_recording(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(SCRIPT.format(steps=60))
    assert run(["run", "-q", "--to", "RUN.traindx", "train.py"], tmp_path).returncode == 0
    before = find_runs([tmp_path / "RUN.traindx"])[0]
    done = run(["activations", "--add-to", "RUN.traindx", "train.py"], tmp_path)
    assert done.returncode == 1, done.stderr
    after = find_runs([tmp_path / "RUN.traindx"])[0]
    assert not before.probed
    assert [one.probe for one in after.probed] == ["activations"]
    assert symptoms()["signal-fades"].detect(Signals(after)).state == "present"
    assert {name: len(series) for name, series in after.series.items()} == {
        name: len(series) for name, series in before.series.items()
    }


def test_a_model_and_data_from_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "probed_net.py").write_text(
        "import torch\n\ndef make():\n    torch.manual_seed(0)\n    return torch.nn.Sequential(torch.nn.Linear(4, 9), "
        "torch.nn.ReLU(), torch.nn.Linear(9, 3))\n"
    )
    torch.save((torch.randn(128, 4), torch.randint(3, (128,))), tmp_path / "sample.pt")
    weights = {
        "0.weight": torch.zeros(9, 4),
        "0.bias": -torch.ones(9),
        "2.weight": torch.ones(3, 9),
        "2.bias": torch.zeros(3),
    }
    torch.save(weights, tmp_path / "weights.pt")
    monkeypatch.chdir(tmp_path)
    arguments = ["activations", "--model", "probed_net:make", "--data", "sample.pt"]
    assert main(arguments) == 0
    assert "100 % of the 9 units of 1 are off" not in capsys.readouterr().out
    main([*arguments, "--checkpoint", "weights.pt"])
    assert "100 % of the 9 units of 1 are off in all 128 rows" in " ".join(capsys.readouterr().out.split())
    (tmp_path / "RUN.traindx").mkdir()
    recorded = [
        '{"k": "meta", "schema": "traindx.recording/2"}',
        '{"k": "rows", "names": ["loss"], "rows": [[0, 1]]}',
        '{"k"',
    ]
    (tmp_path / "RUN.traindx" / "rank-0.jsonl").write_text("\n".join(recorded))
    added = ["--add-to", "RUN.traindx", "-o", "page.md", "--json", "all.json", "--plot", "units.png"]
    main([*arguments, "--checkpoint", "weights.pt", *added])
    assert find_runs([tmp_path / "RUN.traindx"])[0].probed[0].probe == "activations"
    page = (tmp_path / "page.md").read_text()
    assert "dead-units" in page
    assert "saturated %" in page
    assert json.loads((tmp_path / "all.json").read_text())["schema"] == "traindx.probe/1"
    assert (tmp_path / "units.png").read_bytes().startswith(b"\x89PNG")
    capsys.readouterr()
    torch.save({"model": object}, tmp_path / "bad.pt")
    for wrong, told in (
        (["--data", "bad.pt"], "cannot be loaded safely"),
        (["--data", "none.pt"], "does not exist"),
        (["--data", "sample.pt", "--checkpoint", "sample.pt"], "holds no weights"),
        (["--data", "sample.pt", "--loss", "hinge"], "no loss function"),
        ([], "needs --data"),
    ):
        assert main(["activations", "--model", "probed_net:make", *wrong]) == 2
        assert told in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["gradients"], "Nothing to run"),
        (["gradients", "none.py"], "does not exist"),
        (["gradients", "--add-to", "none.traindx", "train.py"], "no recording"),
        (["gradients", "train.py"], "no update"),
        (["gradients", "--data", "x.pt", "train.py"], "need --model"),
        (["gradients", "--model", "net:make", "--data", "x.pt", "train.py"], "no script runs"),
        (["gradients", "--checkpoint", "model.pt", "--data", "val_loader.pkl"], "add --model package.module:"),
        (
            ["activations", "--model", "model.pt", "--data", "val.pt"],
            "is a pickle, which is never opened",
        ),
    ],
)
def test_what_cannot_be_used_is_said(
    arguments: list[str], told: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "train.py").write_text("print('no training here')\n")
    monkeypatch.chdir(tmp_path)
    assert main(arguments) == 2
    assert told in capsys.readouterr().err


def test_batches_and_weights_from_files_that_cannot_run_code(tmp_path: Path) -> None:
    x, y = np.random.default_rng(0).normal(size=(6, 3)).astype(np.float32), np.array([0, 1, 2, 0, 1, 2])
    np.savez(tmp_path / "a.npz", y=y, x=x)
    np.savetxt(tmp_path / "a.csv", np.column_stack([x, y]), delimiter=",", header="a,b,c,label", comments="")
    np.save(tmp_path / "a.npy", x)
    for name in ("a.npz", "a.csv"):
        inputs, targets = tensors_of(tmp_path / name)
        assert torch.allclose(inputs.float(), torch.from_numpy(x))
        assert targets.tolist() == y.tolist()
        assert targets.dtype == torch.int64
    assert tensors_of(tmp_path / "a.npy").shape == (6, 3)
    header = json.dumps({"w": {"dtype": "F32", "shape": [3], "data_offsets": [0, 12]}}).encode()
    (tmp_path / "w.safetensors").write_bytes(len(header).to_bytes(8, "little") + header + x[0].tobytes())
    assert torch.equal(tensors_of(tmp_path / "w.safetensors")["w"], torch.from_numpy(x[0]))


def test_a_pickle_is_never_opened(tmp_path: Path) -> None:
    class Trap:
        def __reduce__(self) -> tuple[object, tuple[str]]:
            return os.mkdir, (str(tmp_path / "opened"),)

    (tmp_path / "loader.pkl").write_bytes(pickle.dumps(Trap()))
    np.savez(tmp_path / "trap.npz", x=np.array([Trap()], dtype=object))
    for name in ("loader.pkl", "trap.npz"):
        with pytest.raises(TraindxError, match="cannot be loaded safely"):
            tensors_of(tmp_path / name)
    assert not (tmp_path / "opened").exists()


def test_words_of_other_tools_before_a_path_say_nothing() -> None:
    assert plainly(["compare", "--runs", "a/", "b/"]) == ["compare", "a/", "b/"]
    assert plainly(["diagnose", "--log-dir", "logs/"]) == ["diagnose", "logs/"]
    assert plainly(["run", "train.py", "--runs", "3"]) == ["run", "train.py", "--runs", "3"]  # the script's own
