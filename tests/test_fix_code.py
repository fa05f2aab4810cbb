"""Code of fixes that must work as it stands, whatever the model calls its layers."""

from __future__ import annotations

import re

import pytest

from traindx.fixes import fixes

torch = pytest.importorskip("torch")


def test_the_output_bias_is_found_whatever_the_layer_is_called() -> None:
    class Tagger(torch.nn.Module):  # type: ignore[misc, name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.recurrent = torch.nn.LSTM(4, 3)  # has a `bias` that is no tensor
            self.to_tags = torch.nn.Linear(3, 3)
            self.norm = torch.nn.LayerNorm(3)
            self.scores = torch.nn.Linear(3, 5)

    model, labels = Tagger(), torch.tensor([0, 0, 0, 1, 1, 2, 3, 3])
    before = model.to_tags.bias.clone()
    code = fixes()["set-output-bias"].proposal({"classes": "5"}).code
    exec(code, {"torch": torch, "model": model, "y_train": labels})
    assert model.scores.bias.softmax(0)[:4].tolist() == pytest.approx([3 / 8, 2 / 8, 1 / 8, 2 / 8], abs=1e-3)
    assert torch.equal(model.to_tags.bias, before)


@pytest.mark.parametrize("optimizer", ["Adam", "AdamW", "NAdam", "RMSprop", None, "SGD"])
@pytest.mark.parametrize("lr", [1e-5, 3e-3, 0.05, 0.5, 5.0])
def test_no_fix_prints_a_rate_that_its_optimiser_cannot_train_with(optimizer: str | None, lr: float) -> None:
    told = {"lr": f"{lr:.3g}", "lower_lr": f"{lr / 10:.3g}", "higher_lr": f"{lr * 10:.3g}"}
    told |= {} if optimizer is None else {"optimizer": optimizer}
    for fix in fixes().values():
        lines = [line.partition("#")[0] for line in fix.proposal(told).code.splitlines()]
        most = (
            3.2
            if any("optim.SGD" in line for line in lines) or not any("torch.optim." in line for line in lines)
            else 0.1
        )
        rates = [
            float(rate)
            for line in lines
            for rate in re.findall(r"\blr\s*=\s*(\d[\d.]*(?:e-?\d+)?)(?=\s*[,)]|\s*$)", line)
        ]
        assert all(rate <= most for rate in rates), (fix.id, rates)
    raised = fixes()["raise-lr"].proposal(told).code
    assert raised.splitlines()[0].endswith(f"# was {lr:.3g}")
