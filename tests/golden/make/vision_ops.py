"""Lets torchvision be imported where its compiled operators do not fit the installed torch: nothing here calls them."""

from __future__ import annotations

import torch

_NAMES = ("nms", "qnms")


def declare() -> None:
    for name in _NAMES:
        torch.library.define(f"torchvision::{name}", "(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")
