"""Long recordings stay small and keep what matters."""

from __future__ import annotations

import itertools
import math

from traindx.live.outside.monitor import Monitor
from traindx.live.recording.store import Store
from traindx.live.recording.thinning import WHOLE, Thinning
from traindx.readers.find import find_runs


def kept_of(steps: int, spikes: tuple[int, ...] = (), parameters: int = 0) -> list[tuple[int, dict[str, float]]]:
    thinning = Thinning()
    rows = []
    for step in range(steps):
        # a value that wobbles evenly, so that none but the spikes is far from the usual
        values = {"train_loss": 1.0 + 0.1 * (-1) ** step, "lr": 0.1}
        if step in spikes:
            values["train_loss"] = math.nan if step % 2 else 50.0
        if step % 100 == 0:
            values |= {f"grad_norm/{index}": 1.0 for index in range(parameters)}
        rows.append((step, thinning.keep(step, values)))
    return [(step, row) for step, row in rows if row] + thinning.rest()


def test_each_doubling_adds_the_same_number_of_values() -> None:
    counts = [len(kept_of(WHOLE * factor)) for factor in (1, 2, 4, 8, 16)]
    assert counts[0] == WHOLE
    growth = [later - earlier for earlier, later in itertools.pairwise(counts)]
    assert max(growth) <= 0.51 * WHOLE
    assert max(growth) - min(growth) < 0.02 * WHOLE


def test_beginning_end_and_what_stands_out_are_kept() -> None:
    spikes = (WHOLE * 3 + 1, WHOLE * 3 + 2, WHOLE * 7 + 5)
    rows = kept_of(WHOLE * 8 - 1, spikes)
    steps = [step for step, _ in rows]
    assert steps[:WHOLE] == list(range(WHOLE))
    assert steps[-1] == WHOLE * 8 - 2
    assert set(spikes) <= set(steps)
    assert steps == sorted(steps)


def test_many_parameters_share_one_allowance() -> None:
    few, many = (sum(len(row) - 2 for _, row in kept_of(60_000, parameters=count)) for count in (10, 200))
    assert many < 16 * few  # 20 times as many series


def test_long_blocks_and_numbers_that_are_none_come_back_as_they_were(tmp_path) -> None:  # type: ignore[no-untyped-def]
    store = Store(tmp_path / "r.traindx")
    store.line("meta", schema="traindx.recording/2", argv=["train.py"])
    values = [1 / (step + 3) for step in range(30_000)]
    values[77], values[78] = math.nan, math.inf
    for step, value in enumerate(values):
        store.row(step, {"train_loss": value})
    store.close()
    (run,) = find_runs([tmp_path / "r.traindx"])
    read = run.series["train_loss"].values
    assert len(read) == len(values)
    assert math.isnan(read[77])
    assert read[78] == math.inf
    assert all(abs(one - other) <= 1e-8 * other for one, other in zip(read[79:], values[79:], strict=True))


def test_the_status_line_says_where_the_training_stands(tmp_path) -> None:  # type: ignore[no-untyped-def]
    store = Store(tmp_path / "r.traindx")
    store.row(11, {"train_loss": 0.25, "lr": 0.1})
    store.line("cost", share=0.0062, seconds=0.1, steps=12)
    store.flush()
    monitor = Monitor(tmp_path / "r.traindx")
    monitor.update()
    for part in ("step 12", "loss 0.25", "steps/s", "recording 0.6 %", "no problem seen"):
        assert part in monitor.line()
    store.line("fact", id="gradients-not-cleared", present=True, evidence="…", step=3, clarity=1.0)
    store.close()
    monitor.update()
    assert "1 problem found" in monitor.line()
    assert len(monitor.alerts()) == 1
