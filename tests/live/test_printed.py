"""What a training prints is kept with the updates made by then, and read back as measurements."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path

import pytest
from live_scripts import run

from traindx import diagnose, read
from traindx.live.events.hub import Hub
from traindx.live.instruments.printed import DENSE, EARLY, Printed, only_numbers
from traindx.live.recording.store import Store

TRAINING = """
import logging, sys
{before}
x = torch.randn(64, 4); y = (x[:, 0] > 0).long()
model = nn.Linear(4, 2)
opt = torch.optim.SGD(model.parameters(), lr=0.1)
for epoch in range(6):
    for rows in range(5):
        loss = F.cross_entropy(model(x), y)
        opt.zero_grad(); loss.backward(); opt.step()
    {printing}
"""


def printed(recording: Path) -> list[tuple[int, str]]:
    lines = map(json.loads, (recording / "rank-0.jsonl").read_text().splitlines())
    return [(line["step"], line["text"]) for line in lines if line["k"] == "printed"]


@pytest.mark.parametrize(
    ("before", "printing"),
    [
        ("", 'print(f"Epoch {epoch}: val_acc {0.5 + 0.05 * epoch:.3f}")'),
        ("", 'print("Epoch", epoch, end=": "); print("val_acc", 0.5 + 0.05 * epoch)'),
        ("", 'sys.stdout.write(f"\\r  3%|# | 1/9\\r100%|##| 9/9 val_acc={0.5 + 0.05 * epoch:.3f}\\n")'),
        (
            "log = logging.getLogger('mine'); log.addHandler(logging.StreamHandler(sys.stdout)); log.setLevel(20)",
            'log.info("epoch %d val_acc %.3f", epoch, 0.5 + 0.05 * epoch)',
        ),
        (
            "class Tee:\n"
            "    def __init__(self, inner): self.inner = inner\n"
            "    def write(self, text): self.inner.write(text)\n"
            "    def flush(self): self.inner.flush()\n"
            "sys.stdout = Tee(sys.stdout)",
            'print(f"\\x1b[32mEpoch {epoch}\\x1b[0m val_acc={0.5 + 0.05 * epoch:.3f}")',
        ),
    ],
)
def test_a_printed_score_stands_at_the_update_after_which_it_was_printed(
    tmp_path: Path, before: str, printing: str
) -> None:
    script = TRAINING.format(before=before, printing=printing)
    stdout = sys.stdout
    try:
        said = run(script, tmp_path / "run.traindx")
    finally:
        sys.stdout = stdout
    score = read(tmp_path / "run.traindx")[0].series["val_acc"]
    assert score.steps.tolist() == [5, 10, 15, 20, 25, 30]
    assert score.values.tolist() == pytest.approx([0.5, 0.55, 0.6, 0.65, 0.7, 0.75])
    assert said == run(script, None)  # not one character differs
    assert "write" not in vars(sys.stdout)


def test_a_score_that_stays_at_nothing_is_no_health(tmp_path: Path) -> None:
    run(TRAINING.format(before="", printing='print(f"{epoch} iou={0:.4f}")'), tmp_path / "run.traindx", ended=True)
    page = diagnose(tmp_path / "run.traindx")
    assert page.verdict != "healthy"
    assert any(one.id == "prediction-collapse" and one.state == "present" for one in page.symptoms)


def test_no_words_are_kept_of_a_private_training_and_no_secrets_of_any(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    secret = "ghp_0123456789abcdefghijABCDEFGHIJ012345"
    line = f'print(f"epoch {{epoch}} val_acc {{0.1 * epoch:.1f}} patient John Doe, token={secret}")'
    run(TRAINING.format(before="", printing=line), tmp_path / "open.traindx")
    assert "John Doe" in printed(tmp_path / "open.traindx")[0][1]
    assert "ghp_" not in (tmp_path / "open.traindx/rank-0.jsonl").read_text()
    monkeypatch.setenv("TRAINDX_PRIVATE", "1")
    run(TRAINING.format(before="", printing=line), tmp_path / "own.traindx")
    assert "John" not in (tmp_path / "own.traindx/rank-0.jsonl").read_text()
    score = read(tmp_path / "own.traindx")[0].series["val_acc"]
    assert score.values.tolist() == pytest.approx([0, 0.1, 0.2, 0.3, 0.4, 0.5])


def test_only_lines_that_may_measure_are_kept_and_few_of_many(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    out = io.StringIO()
    monkeypatch.setattr(sys, "stdout", out)
    hub = Hub(lambda: Store(tmp_path / "run.traindx"), [Printed], 1.0, None)
    hub.attach()
    for number in range(2 * EARLY):
        print(f"loading part {number}")
    hub.step = 1
    for text in ("no number", "123", "x" * 5000 + " 1", "traindx: 3 things", ""):
        print(text)
    for step in range(10 * DENSE):
        print(f"step {step} loss {1 / (step + 1):.6f}")
    hub.detach()
    kept = printed(tmp_path / "run.traindx")
    early = [text for step, text in kept if step == 0]
    later = [text for step, text in kept if step == 1]
    assert early == [f"loading part {number}" for number in range(EARLY)]
    assert all(text.startswith("step ") for text in later)
    assert DENSE < len(later) < 3.5 * DENSE
    assert len(out.getvalue().splitlines()) == 2 * EARLY + 5 + 10 * DENSE


def test_an_error_of_the_stream_is_the_trainings_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Full(io.StringIO):
        def write(self, text: str) -> int:
            raise OSError(28, "No space left on device")

    monkeypatch.setattr(sys, "stdout", Full())
    hub = Hub(lambda: Store(tmp_path / "run.traindx"), [Printed], 1.0, None)
    hub.attach()
    with pytest.raises(OSError, match="No space left"):
        print("loss 3")
    hub.detach()


@pytest.mark.parametrize(
    ("line", "kept"),
    [
        ("Epoch 3/10: val loss 0.52, acc=91.2%", "Epoch=3 val loss=0.52 acc=91.2%"),
        ("step 40 | ppl 12.5", "step=40 ppl=12.5"),
        ("John is 3 and patient 71 has code 5", ""),
        ("nothing", ""),
    ],
)
def test_numbers_with_known_names(line: str, kept: str) -> None:
    assert only_numbers(line) == kept
