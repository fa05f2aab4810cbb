"""`traindx.compare` on runs as they lie on disk: what it ranks, groups, explains, and where it says that it cannot
tell."""

from __future__ import annotations

import json
import math
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from traindx.comparison.settings import tabulate
from traindx.comparison.summary import Summary

sys.path.insert(0, str(Path(__file__).parent))
from written import write_run

import traindx
from traindx.errors import TraindxError
from traindx.reporters.comparison.parts import helped, versus_lines

GOLDEN = Path(__file__).parents[1] / "golden"
FLOORS = {1e-4: 0.7, 1e-3: 0.3, 1e-2: 0.5}


@pytest.fixture(scope="module")
def grid(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three learning rates that matter, two batch sizes that do not, three seeds each; half of the runs in another
    format."""
    root = tmp_path_factory.mktemp("grid")
    random = np.random.default_rng(1)
    for lr, floor in FLOORS.items():
        for batch in (32, 128):
            for seed in range(3):
                kind = "csv" if batch == 32 else "jsonl"
                names = {"learning_rate": lr, "batch_size": batch} if kind == "csv" else {"optim.lr": lr, "bs": batch}
                config = {**names, "seed": seed, "output_dir": f"out/{lr}-{batch}-{seed}"}
                level = floor + random.normal(0, 0.02)
                write_run(root / f"{lr}-{batch}-{seed}", level, config, seed=int(random.integers(1e6)), kind=kind)
    return root


def test_seeds_are_grouped_and_the_setting_that_matters_is_named(grid: Path) -> None:
    found = traindx.compare(grid).findings
    assert {row.seed for row in found.rows} == {0.0, 1.0, 2.0}
    assert not any("no seed" in note for note in found.notes)
    assert len(found.rows) == 18
    assert set(found.differing) == {"lr", "batch_size"}  # under one name, whatever each tool calls it
    assert [len(group.runs) for group in found.groups] == [3] * 6
    best = found.groups[0]
    assert best.settings["lr"] == 1e-3
    assert abs(best.mean - 0.3 * 1.05) < 0.05
    assert 0 < best.interval < 0.2
    verdicts = {one.setting: one.verdict for one in found.explanations}
    assert verdicts == {"lr": "explains", "batch_size": "no effect seen"}
    assert found.explanations[0].best == 1e-3
    assert found.alignment == "step"


def test_two_settings_changed_together_are_called_confounded(tmp_path: Path) -> None:
    for index, (lr, decay) in enumerate([(1e-3, 0.1), (1e-2, 0.2)] * 3):
        write_run(tmp_path / str(index), 0.3 + 10 * lr, {"lr": lr, "weight_decay": decay, "seed": index}, seed=index)
    found = traindx.compare(tmp_path).findings
    assert {one.verdict for one in found.explanations} == {"confounded"}
    assert found.explanations[0].confounded_with
    assert "Cannot tell from these runs" in traindx.compare(tmp_path).text()


def test_two_seeds_of_three_settings_are_too_few_to_explain(tmp_path: Path) -> None:
    for index, lr in enumerate((1e-4, 1e-3, 1e-2)):
        write_run(
            tmp_path / str(index), 0.3 + index * 0.1, {"lr": lr, "depth": index % 2, "wd": index * 0.1}, seed=index
        )
    found = traindx.compare(tmp_path).findings
    assert {one.verdict for one in found.explanations} <= {"cannot tell", "confounded"}


def test_runs_that_differ_by_chance_alone_explain_nothing(tmp_path: Path) -> None:
    """Over repeated searches without any effect, a setting is called the explanation in about one of twenty at most."""
    from traindx.comparison.explain import explain
    from traindx.comparison.settings import Table

    random = np.random.default_rng(7)
    alarms = 0
    for _ in range(60):
        values = tuple(
            {"lr": float(10 ** random.uniform(-4, -1)), "wd": float(random.uniform(0, 0.1))} for _ in range(24)
        )
        table = Table(("lr", "wd"), values, (None,) * 24, (True,) * 24, 0)
        found = explain(table, random.normal(size=24), [[i] for i in range(24)])
        alarms += any(one.verdict == "explains" for one in found)
    assert alarms <= 8  # 60 searches, 5 % each: more than 8 has a probability below one percent


def test_a_random_search_finds_the_best_value_in_the_middle(tmp_path: Path) -> None:
    from traindx.comparison.explain import explain
    from traindx.comparison.settings import Table

    random = np.random.default_rng(3)
    rates = 10 ** random.uniform(-5, -1, 40)
    others = random.uniform(0, 0.5, 40)
    table = Table(
        ("lr", "dropout"), tuple({"lr": float(a), "dropout": float(b)} for a, b in zip(rates, others, strict=True)),
        (None,) * 40, (True,) * 40, 0,
    )  # fmt: skip
    outcomes = (np.log10(rates) + 3) ** 2 + random.normal(0, 0.2, 40)  # U-shaped: no rank correlation would see it
    found = {one.setting: one.verdict for one in explain(table, outcomes, [[i] for i in range(40)])}
    assert found == {"lr": "explains", "dropout": "no effect seen"}


def test_before_and_after_says_what_was_cleared(tmp_path: Path) -> None:
    def sick(place: np.ndarray) -> np.ndarray:
        return np.where(place < 25, 2.3 * np.exp(-place * 0.1) + 0.3, 0.5 + 0.35 * (place - 24))

    before = write_run(tmp_path / "before", 0.3, {"lr": 0.5, "seed": 0}, shape=sick, noise=0.03)
    after = write_run(tmp_path / "after", 0.3, {"lr": 0.05, "seed": 0}, seed=1)
    report = traindx.compare([before, after])
    versus = report.findings.versus
    assert versus is not None
    assert versus.verdict == "helped"
    assert versus.improvement > versus.interval > 0
    assert "divergence" in versus.cleared
    assert dict(versus.changed) == {"lr": (0.5, 0.05)}
    assert "Yes, it helped" in report.text()
    backwards = traindx.compare([after, before]).findings.versus
    assert backwards is not None
    assert backwards.verdict == "worse"
    told = helped(backwards)
    assert ", worse by " in told
    assert " times as large); " in told
    assert "-" not in told.partition(" ± ")[0]
    assert backwards.new


def test_two_runs_that_differ_in_their_seed_alone_are_no_difference(tmp_path: Path) -> None:
    for seed in (1, 2):
        write_run(tmp_path / str(seed), 0.3 + 0.02 * seed, {"lr": 0.1, "seed": seed}, seed=seed)
    versus = traindx.compare([tmp_path / "1", tmp_path / "2"]).findings.versus
    assert versus is not None
    assert versus.verdict == "no difference"
    assert any("No known setting differs" in caution for caution in versus.cautions)


def test_more_than_one_change_is_said(tmp_path: Path) -> None:
    one = write_run(tmp_path / "a", 0.9, {"lr": 0.1, "dropout": 0.0})
    two = write_run(tmp_path / "b", 0.3, {"lr": 0.01, "dropout": 0.5})
    versus = traindx.compare([one, two]).findings.versus
    assert versus is not None
    assert len(versus.changed) == 2
    assert any("change one at a time" in caution for caution in versus.cautions)


def test_losses_of_different_tasks_do_not_compare(tmp_path: Path) -> None:
    one = write_run(tmp_path / "a", 0.9, {"lr": 0.1, "num_classes": 4})
    two = write_run(tmp_path / "b", 0.3, {"lr": 0.1, "num_classes": 2})
    versus = traindx.compare([one, two]).findings.versus
    assert versus is not None
    assert versus.verdict == "cannot tell"
    assert helped(versus).startswith("Cannot tell: the task is another one (classes 4 → 2)")


def test_two_settings_with_seeds_are_compared_by_their_seeds(tmp_path: Path) -> None:
    random = np.random.default_rng(0)
    for lr, floor in ((0.1, 0.6), (0.01, 0.3)):
        for seed in range(3):
            write_run(tmp_path / f"{lr}-{seed}", floor + random.normal(0, 0.02), {"lr": lr, "seed": seed}, seed=seed)
    found = traindx.compare(sorted(tmp_path.iterdir(), reverse=True)).findings
    assert found.versus is not None
    assert found.versus.seeds == (3, 3)
    assert found.versus.verdict == "helped" if found.versus.before > found.versus.after else "worse"
    assert found.explanations[0].verdict == "explains"


def test_double_descent_over_model_size(tmp_path: Path) -> None:
    levels = {4: 0.9, 8: 0.55, 16: 0.5, 32: 0.7, 64: 0.95, 128: 0.7, 256: 0.45, 512: 0.4}
    for width, floor in levels.items():
        write_run(tmp_path / f"w{width}", floor, {"width": width, "lr": 0.1}, pace=0.3, seed=width)
    found = traindx.compare(tmp_path).findings
    assert [descent.over for descent in found.descents] == ["width"]
    assert found.descents[0].hump[0] == 64
    assert "double descent" in traindx.compare(tmp_path).text()


def test_ordinary_growth_and_one_bad_run_are_no_double_descent(tmp_path: Path) -> None:
    for width, floor in {4: 0.9, 8: 0.7, 16: 0.6, 32: 0.5, 64: 0.95, 128: 0.42, 256: 0.4, 512: 0.38}.items():
        write_run(tmp_path / f"w{width}", floor, {"width": width}, pace=0.3, seed=width)
    assert traindx.compare(tmp_path).findings.descents == ()


def test_settings_in_the_names_of_files_count(tmp_path: Path) -> None:
    for lr in ("0.1", "0.01"):
        for seed in range(2):
            source = write_run(tmp_path / "x", 0.3 + float(lr), seed=seed)
            (source / "metrics.csv").rename(tmp_path / f"lr={lr}_seed={seed}.csv")
    (tmp_path / "x").rmdir()
    found = traindx.compare(tmp_path).findings
    assert found.differing == ("lr",)
    assert [len(group.runs) for group in found.groups] == [2, 2]


def test_formats_that_count_differently_are_aligned_by_progress(tmp_path: Path) -> None:
    write_run(tmp_path / "steps", 0.3)
    by_epoch = tmp_path / "epochs.csv"
    by_epoch.write_text("epoch,val_loss\n" + "".join(f"{i},{2 / (i + 1) + 0.2:.4f}\n" for i in range(12)))
    found = traindx.compare([tmp_path / "steps", by_epoch]).findings
    assert found.alignment == "progress"
    assert "count differently" in found.alignment_why


def test_what_a_trainer_reports_at_the_end_is_no_setting() -> None:
    found = traindx.compare([GOLDEN / "transformers" / "good", GOLDEN / "transformers" / "poisoned"]).findings
    assert found.rows[1].broke  # the Trainer prints a loss of 0 where it is NaN
    assert found.ranked()[0].source == found.rows[0].source
    assert not {"train_loss", "train_runtime", "total_flos", "epoch"} & set(found.differing)


def test_unreadable_runs_are_listed_and_not_fatal(grid: Path, tmp_path: Path) -> None:
    write_run(tmp_path / "a", 0.3, {"lr": 1})
    write_run(tmp_path / "b", 0.3, {"lr": 2})
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken" / "metrics.csv").write_text("this,is\nno,log\n")
    (tmp_path / "empty.csv").write_text("")
    found = traindx.compare([*sorted(tmp_path.iterdir())]).findings
    assert len(found.rows) == 2
    assert len(found.unreadable) == 2
    with pytest.raises(TraindxError, match="a comparison takes two"):
        traindx.compare([tmp_path / "a", tmp_path / "broken"])


def test_a_run_that_ends_in_nan_is_ranked_by_its_best_and_said_to_have_broken(tmp_path: Path) -> None:
    write_run(tmp_path / "a", 0.3, {"lr": 1.0})
    write_run(tmp_path / "c", 0.4, {"lr": 3.0})

    def broken(place: np.ndarray) -> np.ndarray:
        return np.where(place < 20, 2.0 - place * 0.01, np.nan)

    write_run(tmp_path / "b", 0.3, {"lr": 2.0}, shape=broken)
    found = traindx.compare(tmp_path).findings
    row = next(row for row in found.rows if "/b/" in row.source)
    assert row.broke
    assert row.rank == 3
    assert math.isnan(row.final.value)


def test_every_format_tells_and_escapes(tmp_path: Path) -> None:
    hostile = "<script>alert(1)</script>|`x`\x1b[31m"
    write_run(tmp_path / "a", 0.3, {"optimizer": hostile, "lr": 0.1})
    write_run(tmp_path / "b", 0.4, {"optimizer": "sgd", "lr": 0.1})
    report = traindx.compare([tmp_path / "a", tmp_path / "b"])
    html = report.html()
    assert "<script>alert" not in html
    assert "&lt;script&gt;" in html
    assert html.startswith("<!doctype html>")
    assert report._repr_html_().startswith("<div")
    assert "\x1b" not in report.text() + report.markdown() + html
    assert "<script>" not in report.markdown()
    data = json.loads(report.json())
    assert data["schema"] == "traindx.comparison/1"
    assert [row["rank"] for row in data["rows"]] == [1, 2]
    assert data["versus"]["changed"]["optimizer"][1] == "sgd"


def test_the_metric_and_the_level_can_be_named(tmp_path: Path) -> None:
    write_run(tmp_path / "a", 0.3)
    write_run(tmp_path / "b", 0.4)
    found = traindx.compare(tmp_path, metric="train_loss", outcome="final", align="progress").findings
    assert found.metric == "train_loss"
    assert found.outcome == "final"
    assert found.alignment == "progress"
    with pytest.raises(TraindxError, match="--align epoch"):
        traindx.compare(tmp_path, align="epoch")


def test_the_ending_of_the_output_says_how_it_is_written(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("matplotlib")
    from traindx.cli import main

    for name, level in (("before", 0.9), ("after", 0.3)):
        write_run(tmp_path / name, level, {"lr": level}, seed=1)
    runs = [str(tmp_path / name) for name in ("before", "after")]
    assert main(["compare", *runs, "-o", str(tmp_path / "both.png")]) == 0
    assert (tmp_path / "both.png").read_bytes().startswith(b"\x89PNG")
    assert "Did it help?" in capsys.readouterr().out  # the words still come
    assert main(["compare", *runs, "-o", str(tmp_path / "both.json")]) == 0
    assert json.loads((tmp_path / "both.json").read_text())["versus"]["verdict"] == "helped"


def test_a_target_that_both_reach_at_once_is_reached_as_soon(tmp_path: Path) -> None:
    for name, level in (("before", 0.9), ("after", 0.3)):
        write_run(tmp_path / name, level, {"lr": level}, seed=1)
    versus = traindx.compare([tmp_path / "before", tmp_path / "after"]).findings.versus
    assert versus is not None
    told = {speed: dict(versus_lines(replace(versus, speed=speed)))["speed"] for speed in (1.0, 2.0, 0.5)}
    assert [text.removeprefix("reached the common target ") for text in told.values()] == [
        "as fast",
        "2x faster",
        "2x more slowly",
    ]


def test_what_a_recorder_measured_is_no_setting() -> None:
    measured = [{"label_entropy": 2.29, "model_recurrent": False, "cpu_queue": 0.1}, {"label_entropy": 2.30}]
    runs = [
        Summary(f"run{place}", "", "recording", 10, "step", {"lr": rate, **more}, "healthy", "", 0.0, (), (), ())
        for place, (rate, more) in enumerate(zip((0.1, 0.01), measured, strict=True))
    ]
    assert tabulate(runs).names == ("lr",)
