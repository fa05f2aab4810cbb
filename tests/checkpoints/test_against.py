"""`traindx checkpoint ADAPTER --against BASE`, on files that PEFT and transformers wrote."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file

from traindx.cli import main

peft = pytest.importorskip("peft")
transformers = pytest.importorskip("transformers")


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A base, an adapter that was trained on it, and the two merged."""
    folder = tmp_path_factory.mktemp("lora")
    torch.manual_seed(0)
    config = transformers.LlamaConfig(
        vocab_size=32, hidden_size=32, intermediate_size=48, num_hidden_layers=2, num_attention_heads=2,
        num_key_value_heads=2,
    )  # fmt: skip
    base = transformers.LlamaForCausalLM(config)
    base.save_pretrained(folder / "base")
    model = peft.get_peft_model(base, peft.LoraConfig(r=4, lora_alpha=8, target_modules="all-linear"))
    for name, parameter in model.named_parameters():
        if "lora_B" in name:
            parameter.data.normal_(0, 0.02)
    model.save_pretrained(folder / "adapter")
    model.merge_and_unload().save_pretrained(folder / "merged")
    return folder


def changed(saved: Path, to: Path, change: Any) -> Path:
    """A copy of the adapter with other tensors."""
    to.mkdir()
    (to / "adapter_config.json").write_text((saved / "adapter" / "adapter_config.json").read_text())
    tensors = {name: value.clone() for name, value in load_file(saved / "adapter/adapter_model.safetensors").items()}
    save_file(change(tensors), to / "adapter_model.safetensors")
    return to


def facts(saved: Path, adapter: Path, merged: Path | None, out: Path) -> tuple[int, str]:
    more = ["--merged", str(merged)] if merged is not None else []
    code = main(["checkpoint", str(adapter), "--against", str(saved / "base"), *more, "--json", str(out)])
    told = json.loads(out.read_text())
    state = next(one for one in told["diagnosis"]["symptoms"] if one["id"] == "adapter-export-differs")
    return code, f"{state['state']}: {state['evidence']}"


def test_an_adapter_that_fits_and_its_merge(saved: Path, tmp_path: Path) -> None:
    code, told = facts(saved, saved / "adapter", saved / "merged", tmp_path / "a.json")
    assert code == 0
    assert told.startswith("absent: All 14 merged matrices are base + scale·B·A within rounding")


def test_names_that_the_base_does_not_have(saved: Path, tmp_path: Path) -> None:
    moved = changed(
        saved, tmp_path / "x", lambda t: {n.replace("layers", "blocks"): v for n, v in t.items()}
    )  # fmt: skip
    code, told = facts(saved, moved, None, tmp_path / "a.json")
    assert code == 1
    assert "14 of 14 adapter pairs find no module in base" in told


def test_another_prefix_is_no_fault(saved: Path, tmp_path: Path) -> None:
    prefix = "base_model.model."
    moved = changed(
        saved, tmp_path / "x", lambda t: {n.replace(f"{prefix}model.", prefix): v for n, v in t.items()}
    )  # fmt: skip
    assert facts(saved, moved, None, tmp_path / "a.json")[1].startswith("absent")


@pytest.mark.parametrize(("factor", "times"), [(2.0, "0.50 times"), (0.5, "2.00 times")])
def test_a_merge_with_another_scale(saved: Path, tmp_path: Path, factor: float, times: str) -> None:
    other = changed(
        saved, tmp_path / "x", lambda t: {n: factor * v if "lora_B" in n else v for n, v in t.items()}
    )  # fmt: skip
    code, told = facts(saved, other, saved / "merged", tmp_path / "a.json")
    assert code == 1
    assert times in told


def test_an_export_that_is_the_base(saved: Path, tmp_path: Path) -> None:
    code, told = facts(saved, saved / "base", None, tmp_path / "a.json")
    assert code == 1
    assert "no adapter was merged" in told
    assert facts(saved, saved / "merged", None, tmp_path / "b.json")[1].startswith("absent")


def test_what_cannot_be_used_is_said_in_one_sentence(
    saved: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    half = changed(saved, tmp_path / "x", lambda t: {n: v for n, v in t.items() if "lora_A" in n})
    assert main(["checkpoint", str(half), "--against", str(saved / "base")]) == 2
    assert "has no lora_B beside it" in capsys.readouterr().err
    assert main(["checkpoint", str(saved / "adapter"), "--against", str(tmp_path / "none")]) == 2
    assert main(["checkpoint", str(saved / "adapter"), "--merged", str(saved / "merged")]) == 2
