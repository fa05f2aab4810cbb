"""How numbers are looked at beside a training: by one thread, and from a few of them."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from live_watch import fit, mlp, watch
from traindx.live.events.hub import Hub
from traindx.live.events.instrument import Observer
from traindx.live.host.threads import single_threaded
from traindx.live.instruments.travel import SAMPLE, sampled
from traindx.live.measures.norms import norm_of, norms_of


def test_one_thread_and_the_number_from_before_again() -> None:
    before = torch.get_num_threads()
    torch.set_num_threads(3)
    try:
        with single_threaded():
            assert torch.get_num_threads() == 1
            with single_threaded():
                assert torch.get_num_threads() == 1
        assert torch.get_num_threads() == 3
        with pytest.raises(KeyError), single_threaded():
            raise KeyError
        assert torch.get_num_threads() == 3
    finally:
        torch.set_num_threads(before)


def test_looks_beside_a_gpu_leave_the_number_of_threads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen = []

    class Counts(Observer):
        def on_updated(self, optimizer: torch.optim.Optimizer) -> None:
            seen.append(torch.get_num_threads())

    def train() -> None:
        model = mlp()
        fit(model, torch.optim.SGD(model.parameters(), 0.1))
        seen.append(torch.get_num_threads())

    monkeypatch.setattr(Hub, "_uses_gpu", lambda hub: hub.deep)
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        watch(tmp_path, train, Counts)
    finally:
        torch.set_num_threads(before)
    assert set(seen[:-1]) == {1}
    assert seen[-1] == 2


@pytest.mark.parametrize("shape", [(768, 3072), (64, 3, 7, 7), (50257, 768), (16, 16), (3, 5)])
def test_a_sample_has_elements_of_every_column(shape: tuple[int, ...]) -> None:
    columns = torch.arange(shape[-1]).expand(shape)
    taken = sampled([columns])[0]
    assert len(taken) <= SAMPLE
    assert len(taken.unique()) == min(shape[-1], len(taken))


def test_norm_of_all() -> None:
    torch.manual_seed(0)
    tensors = [torch.randn(4, 5), torch.randn(7)]
    norms = norms_of(tensors)
    assert norms is not None
    whole = torch.cat([tensor.flatten() for tensor in tensors]).norm()
    torch.testing.assert_close(norm_of(norms), whole)
