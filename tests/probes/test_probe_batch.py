"""`traindx probe batch`: what the loss of the first batches sees, shown and judged before anything is trained."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

pytest.importorskip("transformers")

from traindx.cli import main

LIVE = Path(__file__).parents[1] / "live"
SCRIPT = """
import sys, torch
sys.path.insert(0, {live!r})
import tiny_lm
torch.manual_seed(0)
tokenizer = tiny_lm.tokenizer(pad_is_eos=True)
model = tiny_lm.llama(len(tokenizer))
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
texts = [tokenizer.apply_chat_template(one, tokenize=False).strip() for one in tiny_lm.messages(200)]
for step in range(1000):
    batch = tokenizer(texts[4 * step % 160:][:4], return_tensors="pt", padding=True, add_special_tokens=False)
    labels = batch["input_ids"].masked_fill(batch["input_ids"] == tokenizer.pad_token_id, -100)
    loss = model(**batch, labels=labels).loss
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
open("trained.txt", "w").write("to its end")
"""


@pytest.fixture(scope="module")
def script(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("lm") / "train.py"
    path.write_text(SCRIPT.format(live=str(LIVE)))
    return path


def test_shows_and_judges_the_first_batch(
    script: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(script.parent)
    code = main(["probe", "batch", "train.py", "--json", "batch.json"])
    out = capsys.readouterr().out
    assert code == 1
    assert not Path("trained.txt").exists()
    assert out.startswith("Training batch at step 0, as the loss sees it")
    assert "[<|im_end|>]" in out
    assert "▔" in out
    assert "eos-not-a-target" in out
    assert "train.py:14" in out  # the user's line, not one of the library
    shown = json.loads(Path("batch.json").read_text())["batches"][0]["samples"][0]
    assert len(shown["pieces"]) == len(shown["classes"])


def test_private_shows_classes_only(
    script: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(script.parent)
    main(["probe", "batch", "--private", "train.py", "--json", "private.json"])
    out = capsys.readouterr().out
    assert "[answer ×" in out
    assert "What does" not in out
    assert "What does" not in Path("private.json").read_text()


def test_a_script_without_tokens_is_told_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "plain.py").write_text(
        "import torch\nm = torch.nn.Linear(4, 1)\no = torch.optim.SGD(m.parameters(), lr=0.1)\n"
        "for _ in range(50):\n    o.zero_grad()\n    m(torch.randn(8, 4)).pow(2).mean().backward()\n    o.step()\n"
    )
    monkeypatch.chdir(tmp_path)
    assert main(["probe", "batch", "plain.py"]) == 2
    assert "No batch of a language model was seen" in capsys.readouterr().err
