"""What older versions of torch do not have, played by the one that is installed."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch.nn.modules import module as torch_module

from traindx.live.events.calls import hook_forwards, remove_hooks, returned_by


def test_global_hooks_without_keyword_arguments(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = torch_module.register_module_forward_hook

    def older(hook: Any, *, always_call: bool = False) -> Any:
        return whole(hook, always_call=always_call)

    monkeypatch.setattr(torch_module, "register_module_forward_hook", older)
    heard: list[Any] = []
    handles = [hook_forwards(lambda module, args, *rest: heard.append(returned_by(rest)))]
    layer = torch.nn.Linear(2, 1)
    try:
        result = layer(torch.ones(1, 2))
        with pytest.raises(RuntimeError):
            layer(torch.ones(1, 3))
    finally:
        remove_hooks(handles)
    assert heard[0] == ({}, result)
    assert heard[1:] == [None]
