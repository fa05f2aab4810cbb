"""Before the first long run: what `traindx check train.py` reads before anything runs, and where to begin."""

from __future__ import annotations

from pathlib import Path

import pytest

from traindx.cli.gate import FAILED, NOTE, OK, _of_the_source
from traindx.starting_points import STARTING_POINTS, seeded, starting_point

SOUND = "torch.manual_seed(0)\noptimizer = torch.optim.Adam(model.parameters(), lr=1e-3)\n"


def read(place: Path, source: str, monkeypatch: pytest.MonkeyPatch) -> dict[str, tuple[str, str]]:
    monkeypatch.chdir(place)
    (place / "train.py").write_text(source)
    return {name: (word, sentence) for word, name, sentence in _of_the_source(["train.py"])}


def test_a_script_is_read_before_it_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = read(tmp_path, SOUND, monkeypatch)
    assert found["seed"][0] == OK
    assert found["learning rate"] == (OK, "adam at 0.001 is usual.")
    assert found["version"][0] == NOTE
    found = read(tmp_path, SOUND.replace("manual_seed(0)", "rand(1)").replace("1e-3", "3.0"), monkeypatch)
    assert found["seed"][0] == NOTE
    assert found["learning rate"][0] == NOTE
    assert "traindx lr-range" in found["learning rate"][1]


def test_mistakes_that_stand_in_the_script_fail(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    loop = "for x, y in loader:\n    loss = cross_entropy(model(x), y)\n    loss.backward()\n    optimizer.step()\n"
    assert read(tmp_path, SOUND + loop, monkeypatch)["gradients-not-cleared"][0] == FAILED


@pytest.mark.parametrize(
    ("source", "task"),
    [
        ("model = get_peft_model(base, LoraConfig())", "fine-tuning with adapters"),
        ("AutoModel.from_pretrained('bert')", "fine-tuning of a transformer"),
        ("torchvision.datasets.CIFAR10", "image classification"),
        ("DPOTrainer(model)", "preference optimisation"),
        ("import gymnasium", "reinforcement learning"),
        ("nn.Linear(3, 4)", "other tasks"),
    ],
)
def test_the_starting_point_fits_the_task(source: str, task: str) -> None:
    assert starting_point(source).task == task


def test_every_starting_point_has_a_source() -> None:
    assert all(one.source and one.settings for one in STARTING_POINTS)
    assert seeded("random.seed(3)")
    assert not seeded("print(seed)")
