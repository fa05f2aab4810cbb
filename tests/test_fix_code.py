"""Code of fixes that must work as it stands, whatever the model calls its layers."""

from __future__ import annotations

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
