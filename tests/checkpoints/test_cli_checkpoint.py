"""`traindx checkpoint`: from files to a page, a picture, JSON and an enriched recording."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from checkpoint_files import cnn, mlp, trained
from test_files import hugging_face

from traindx.cli import main


@pytest.fixture
def eval_mode(tmp_path: Path) -> Path:
    torch.manual_seed(0)
    torch.save(trained(cnn().eval()), tmp_path / "eval.pt")
    return tmp_path / "eval.pt"


def test_a_fault_ends_in_its_cause_and_exit_1(eval_mode: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["checkpoint", str(eval_mode)]) == 1
    page = capsys.readouterr().out
    assert "UNHEALTHY" in page
    assert "eval-mode-during-training" in page
    assert "running_var" in page
    assert max(map(len, page.split("\n"))) <= 100


def test_a_healthy_directory_with_its_log_is_healthy(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    hugging_face(tmp_path / "checkpoint-60")
    assert main(["checkpoint", str(tmp_path)]) == 0
    page = capsys.readouterr().out
    assert "HEALTHY" in page
    assert "optimiser state after 60 updates" in page


def test_weights_alone_are_inconclusive_and_say_why(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    torch.save(trained(mlp())["model"], tmp_path / "a.pt")
    assert main(["checkpoint", str(tmp_path / "a.pt")]) == 0
    page = capsys.readouterr().out
    assert "INCONCLUSIVE" in page
    assert "no optimiser state" in page
    assert "not whether the training went well" in " ".join(page.split())


def test_two_are_compared(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    hugging_face(tmp_path / "a", 30)
    hugging_face(tmp_path / "b", 60)
    assert main(["checkpoint", str(tmp_path / "a"), str(tmp_path / "b")]) == 0
    page = capsys.readouterr().out
    assert "tensors moved" in page
    assert "cosine" in page
    torch.save({"other": torch.ones(3)}, tmp_path / "c.pt")
    assert main(["checkpoint", str(tmp_path / "c.pt"), str(tmp_path / "b")]) == 2
    assert "no tensor in common" in capsys.readouterr().err
    assert main(["checkpoint", *[str(tmp_path / "a")] * 3]) == 2
    assert "two are compared" in capsys.readouterr().err


def test_formats(eval_mode: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["checkpoint", str(eval_mode), "--format", "json"]) == 1
    assert json.loads(capsys.readouterr().out)["schema"] == "traindx.diagnosis/1"
    assert main(["checkpoint", str(eval_mode), "-o", str(tmp_path / "a.md"), "--json", str(tmp_path / "a.json")]) == 1
    assert "```" in (tmp_path / "a.md").read_text()
    assert "running_var" in (tmp_path / "a.md").read_text()
    whole = json.loads((tmp_path / "a.json").read_text())
    layers = whole["readings"][0]["tables"][-1]
    state = torch.load(eval_mode)["model"]
    assert [row[0] for row in sorted(layers["rows"])] == sorted(state)
    by_name = {row[0]: dict(zip(layers["columns"], row, strict=True)) for row in layers["rows"]}
    assert by_name["4.weight"]["norm"] == pytest.approx(float(state["4.weight"].double().norm()))
    assert by_name["4.weight"]["q50"] == pytest.approx(float(state["4.weight"].median()), abs=1e-3)
    assert whole["diagnosis"]["hypotheses"][0]["cause"] == "eval-mode-during-training"


def test_plot(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    hugging_face(tmp_path / "a", 20)
    assert main(["checkpoint", str(tmp_path / "a"), "--plot", str(tmp_path / "a.png")]) == 0
    assert (tmp_path / "a.png").read_bytes()[:4] == b"\x89PNG"


def recording(folder: Path) -> Path:
    """A recording that was cut off while its last line was written."""
    folder.mkdir()
    rows = [[step, 2.0 / (1 + step / 20)] for step in range(200)]
    lines = [
        json.dumps({"k": "meta", "schema": "traindx.recording/2", "argv": ["train.py"]}),
        json.dumps({"k": "rows", "names": ["train_loss"], "rows": rows}),
        json.dumps({"k": "fact", "id": "equal-initial-weights", "present": True, "evidence": "seen before"}),
        '{"k": "rows", "na',
    ]
    (folder / "rank-0.jsonl").write_text("\n".join(lines))
    return folder


def test_findings_sharpen_a_recording(eval_mode: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = recording(tmp_path / "run.traindx")
    assert main(["checkpoint", str(eval_mode), "--add-to", str(folder)]) == 1
    assert "eval-mode-during-training" in capsys.readouterr().out
    assert main(["diagnose", str(folder), "--format", "json"]) == 1
    symptoms = {symptom["id"]: symptom for symptom in json.loads(capsys.readouterr().out)["symptoms"]}
    assert symptoms["trained-in-eval-mode"]["state"] == "present"
    assert symptoms["equal-initial-weights"]["evidence"] == "seen before", (
        "what a checkpoint does not see takes nothing back"
    )
    assert main(["checkpoint", str(eval_mode), "--add-to", str(tmp_path)]) == 2


def test_no_framework_is_imported(eval_mode: Path) -> None:
    """Not even torch is needed to read its files."""
    code = (
        "import sys; from traindx.cli import main; main(['checkpoint', sys.argv[1]]); "
        "print(sorted({'torch', 'safetensors', 'pickle'} & set(sys.modules)), file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code, str(eval_mode)], capture_output=True, text=True, check=False)
    loaded = done.stderr.strip().split("\n")[-1]
    assert "torch" not in loaded
    assert "safetensors" not in loaded
