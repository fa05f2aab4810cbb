"""What names mean, across the tools that write them."""

from __future__ import annotations

import pytest

from traindx.meaning import meaning_of

NAMES = [
    ("train/loss", "loss", "train", "min"), ("val_loss", "loss", "val", "min"), ("lm loss", "loss", "", "min"),
    ("eval_g0_loss", "loss", "val", "min"), ("valid_loss", "loss", "val", "min"),
    ("Validation Loss", "loss", "val", "min"),
    ("metrics/mAP50-95(B)", "score", "", "max"), ("Acc@1", "score", "", "max"), ("val_acc", "score", "val", "max"),
    ("eval_rougeL", "score", "val", "max"), ("chrF", "score", "", "max"), ("test_acc1", "score", "test", "max"),
    ("rollout/ep_rew_mean", "reward", "", "max"), ("average-episode-return", "reward", "", "max"),
    ("lr/pg0", "lr", "", ""), ("learning rate", "lr", "", ""), ("lr-AdamW", "lr", "", ""), ("x/lr0", "lr", "", ""),
    ("grad norm", "grad_norm", "", ""), ("gnorm", "grad_norm", "", ""), ("train/grad_norm", "grad_norm", "", ""),
    ("loss scale", "loss_scale", "", ""), ("number of skipped iterations", "skipped", "", ""),
    ("val_perplexity", "perplexity", "val", "min"), ("lm loss PPL", "perplexity", "", "min"),
    ("ppl", "perplexity", "", "min"),
    ("data_time", "data_time", "", ""), ("elapsed time per iteration (ms)", "step_time", "", ""),
    ("fps", "throughput", "", "max"),
    ("train_samples_per_second", "throughput", "train", "max"), ("elbo", "likelihood", "", "max"),
    ("wer", "error", "", "min"),
    ("epoch", "epoch", "", ""), ("global_step", "step", "", ""), ("iters", "step", "", ""),
    ("total_timesteps", "step", "", ""),
    ("l_pix", "loss", "", "min"), ("l_g_total", "loss", "", "min"), ("cycle_A", "loss", "", "min"),
    ("gan_rec", "loss", "", "min"),
    ("rec", "score", "", "max"), ("adv_mean", "other", "", ""), ("Forward dt", "time", "", ""),
    ("Data dt", "data_time", "", ""),
    ("train", "loss", "train", "min"), ("val", "loss", "val", "min"), ("max_mem", "memory", "", ""),
    ("IOU_THRESHOLDS", "other", "", ""), ("TEST/IMS_PER_BATCH", "other", "test", ""),
    ("dev_per", "error", "val", "min"), ("Validation Phase Loss", "loss", "val", "min"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "kind", "split", "goal"), NAMES)
def test_names(name: str, kind: str, split: str, goal: str) -> None:
    found = meaning_of(name)
    assert (found.kind, found.split, found.goal) == (kind, split, goal)


def test_parts_and_twins() -> None:
    assert meaning_of("val/box_loss").part == "box"
    assert meaning_of("total_loss").part == ""
    assert meaning_of("train_loss_epoch").scale == "epoch"
    assert meaning_of("train_loss_step").scale == "step"
    assert (meaning_of("Training Phase Loss").part, meaning_of("Training Phase Loss").scale) == ("", "epoch")
    assert meaning_of("std-episode-return").stat == "std"
    assert meaning_of("best_val_loss").stat != "mean"
