"""Rows as logs have them become clean runs."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from traindx.readers.build import RunBuilder


def build(rows: list[dict[str, float]], **options: bool) -> RunBuilder:
    builder = RunBuilder("memory", "memory", **options)
    for row in rows:
        builder.row(row)
    return builder


def test_several_runs_in_one_file() -> None:
    rows = [{"epoch": e, "loss": 1 / (e + 1)} for _ in range(3) for e in range(10)]
    runs = build(rows).finish()
    assert len(runs) == 3
    assert all(len(run.series["loss"]) == 10 for run in runs)
    assert runs[1].name == "run 2 of 3"


def test_a_false_start_is_named_and_left_out() -> None:
    """Three rows, then the counter begins anew and goes on for long."""
    falls = [{"step": s, "loss": 100 / (s + 10)} for s in range(10, 500, 10)]
    (run,) = build(falls[:3] + falls).finish()
    assert len(run.series["loss"]) == 49
    assert run.lost == ["run 1 of 2 (3 rows): broken off and begun again"]


def test_an_attempt_that_went_wrong_and_the_newest_one_stay() -> None:
    falls = [{"step": s, "loss": 100 / (s + 10)} for s in range(10, 500, 10)]
    broken = [{"step": 10, "loss": 5.0}, {"step": 20, "loss": float("nan")}]
    worse = [{"step": 10, "loss": 5.0}, {"step": 20, "loss": 9.0}]
    assert len(build(broken + falls).finish()) == 2
    assert len(build(worse + falls).finish()) == 2
    assert len(build(falls + falls[:3]).finish()) == 2


def test_a_resumed_run_stays_one_and_the_later_values_win() -> None:
    rows = [{"step": s, "loss": 2.0} for s in range(0, 100, 10)] + [
        {"step": s, "loss": 1.0} for s in range(50, 150, 10)
    ]
    (run,) = build(rows).finish()
    loss = run.series["loss"]
    assert list(loss.steps) == list(range(0, 150, 10))
    assert loss.values[loss.steps >= 50].max() == 1.0
    assert [event.kind for event in run.events] == ["restart"]
    assert len(run.series["loss (superseded)"]) == 5


def test_counters_that_restart_every_epoch_run_through() -> None:
    rows = [{"epoch": e, "batch": b, "loss": 1.0} for e in range(1, 4) for b in range(0, 100, 10)]
    (run,) = build(rows).finish()
    steps = run.series["loss"].steps
    assert len(steps) == 30
    assert (np.diff(steps) > 0).all()


def test_validation_rows_that_only_know_their_epoch_are_placed_at_its_end() -> None:
    rows: list[dict[str, float]] = []
    for epoch in range(1, 4):
        rows += [{"epoch": epoch, "step": epoch * 100 + s, "loss": 1.0} for s in range(0, 100, 10)]
        rows.append({"epoch": epoch, "val_loss": 2.0})
    (run,) = build(rows).finish()
    assert list(run.series["val_loss"].steps) == [190, 290, 390]


def test_rows_without_any_counter_are_numbered() -> None:
    (run,) = build([{"loss": 3.0}, {"loss": 2.0}, {"loss": 1.0}]).finish()
    assert run.series["loss"].axis == "row"
    assert list(run.series["loss"].steps) == [0, 1, 2]


def test_a_doubled_row_counts_once_and_many_rows_a_tick_are_spread() -> None:
    (run,) = build(
        [{"step": 0, "loss": 1.0}, {"step": 1, "loss": 9.0}, {"step": 1, "loss": 2.0}, {"step": 2, "loss": 3.0}]
    ).finish()
    assert list(run.series["loss"].values) == [1.0, 2.0, 3.0]
    (run,) = build([{"epoch": e, "loss": float(b)} for e in range(3) for b in range(4)]).finish()
    assert len(run.series["loss"]) == 12
    assert (np.diff(run.series["loss"].steps) > 0).all()


def test_tables_and_rows_give_the_same_run() -> None:
    steps, losses = np.arange(0, 50, 5.0), np.linspace(2, 1, 10)
    by_table = RunBuilder("memory", "memory")
    by_table.table({"step": steps, "loss": losses})
    by_row = build([{"step": s, "loss": v} for s, v in zip(steps, losses, strict=True)])
    one, two = by_table.finish()[0], by_row.finish()[0]
    assert np.array_equal(one.series["loss"].values, two.series["loss"].values)
    assert np.array_equal(one.series["loss"].steps, two.series["loss"].steps)


def test_blank_cells_are_no_values_and_nan_is() -> None:
    builder = RunBuilder("memory", "memory")
    values = np.array([1.0, np.nan, np.nan, 0.5])
    builder.table({"step": np.arange(4.0), "loss": values}, {"loss": np.array([True, False, True, True])})
    (run,) = builder.finish()
    assert list(run.series["loss"].steps) == [0, 2, 3]
    assert np.isnan(run.series["loss"].values[1])


@given(st.lists(st.tuples(st.integers(-5, 60), st.floats(-1e6, 1e6)), max_size=80))
def test_any_order_of_steps_gives_ordered_series_and_loses_no_row_silently(rows: list[tuple[int, float]]) -> None:
    runs = build([{"step": float(s), "loss": v} for s, v in rows]).finish()
    for run in runs:
        for series in run.series.values():
            assert (np.diff(series.steps) >= 0).all()
            assert len(series.steps) == len(series.values)
