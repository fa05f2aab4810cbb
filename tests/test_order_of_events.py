"""What came first: norms that grew before a NaN, units that were dead before an update could kill them."""

from __future__ import annotations

import numpy as np
import pytest

from runs import run_of
from traindx.engine import diagnose
from traindx.engine.context import hints
from traindx.measurements import UnitsOn
from traindx.run import Run
from traindx.signals import Signals
from traindx.symptoms.recipes import falling, flat, ramp


def nan_after(norms: np.ndarray) -> dict[str, float]:
    """The ranking where the loss is NaN from step 200 on and the gradient norm came like this."""
    loss = np.array(falling(300, 2.3, 0.3), float)
    loss[200:] = np.nan
    norm = np.where(np.arange(300) < 200, norms, np.nan)
    page = diagnose(run_of({"train_loss": loss, "grad_norm": norm}))
    return {h.cause: h.confidence for h in page.hypotheses}


def test_norms_that_grew_before_a_nan_speak_of_growth() -> None:
    steps = np.arange(300)
    calm = np.array(flat(300, 1.5, 0.1), float)
    grown, quiet = nan_after(np.where(steps < 180, calm, calm * np.exp((steps - 180) / 4.0))), nan_after(calm)
    assert max(grown, key=lambda cause: grown[cause] if cause != "other" else 0) in (
        "lr-too-high",
        "exploding-gradients",
    )
    assert quiet["nan-in-data"] > quiet.get("exploding-gradients", 0.0)
    assert grown.get("nan-in-data", 0.0) < quiet["nan-in-data"] / 2


def dead_at_first_look() -> Run:
    run = run_of(
        {"train_loss": flat(150, 1.386, 0.01)}, {"lr": 0.05, "optimizer": "SGD", "num_classes": 4},
        measured=[UnitsOn(step=2, layers=("relu",), on=(0,), rows=(256,))],
    )  # fmt: skip
    run.format = "recording"
    return run


def test_units_dead_at_the_first_look_are_no_matter_of_the_rate() -> None:
    page = diagnose(dead_at_first_look())
    shares = {h.cause: h.confidence for h in page.hypotheses}
    assert shares["dead-relu"] > 5 * shares.get("lr-too-high", 0.01)
    first = next(h for h in page.hypotheses if h.cause == "dead-relu")
    assert first.fix is not None
    assert first.fix.id == "zero-bias-init"
    order = [fix.id for fix in (first.fix, *first.alternatives)]
    assert order.index("lower-lr") > order.index("leaky-relu")


@pytest.mark.parametrize(
    ("names", "impossible", "possible"),
    [
        ({"rollout/ep_rew_mean", "rollout/ep_len_mean"}, "completions-truncated", "target-network-stale"),
        ({"reward", "completions/mean_length"}, "target-network-stale", "completions-truncated"),
    ],
)
def test_a_policy_acts_in_an_environment_or_writes_answers(names: set[str], impossible: str, possible: str) -> None:
    run = run_of({name: ramp(60, 5.0, 1.0, 0.1) for name in sorted(names)})
    against = {hint.cause for hint in hints(Signals(run), ()) if hint.log_odds < 0}
    assert impossible in against
    assert possible not in against
