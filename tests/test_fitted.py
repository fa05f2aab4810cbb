"""What the fault zoo counted and what the engine makes of it: words where nothing was counted, frequencies where much
was."""

from __future__ import annotations

import json
from importlib.resources import files

import pytest

from traindx.causes import causes
from traindx.diagnosis import Observation
from traindx.engine.evidence import Evidence
from traindx.engine.fitted import CURVE, INSIDE, SCHEMA, Level, level_of, levels
from traindx.engine.rank import HEALTHY, rank
from traindx.engine.together import FIX_ORDER, secondary_causes, without_secondary
from traindx.engine.words import AS_RUNS
from traindx.symptoms import symptoms


def seen(*present: str, absent: tuple[str, ...] = ()) -> list[Observation]:
    return [Observation(name, "present", name) for name in present] + [
        Observation(name, "absent", name) for name in absent
    ]


def probability(ranked: list, cause: str) -> float:  # type: ignore[type-arg]
    return float(next(entry.probability for entry in ranked if entry.cause == cause))


def test_the_table_knows_only_what_the_catalogue_knows() -> None:
    data = json.loads(files("traindx.engine").joinpath("fitted.json").read_text())
    assert data["schema"] == SCHEMA
    assert data["command"].startswith("python benchmarks/zoo/fit.py")
    assert data["specimens"] > 500
    for level in data["levels"].values():
        assert set(level["known"]) <= set(causes())
        assert set(level["symptoms"]) <= set(symptoms())
        assert all(
            p <= n
            for cause in level["known"]
            for n, p in zip(level["known"][cause], level["present"][cause], strict=True)
        )
        assert 0.5 < level["temperature"] < 5


def test_a_level_survives_json() -> None:
    level = levels()[INSIDE]
    assert Level.from_json(json.loads(json.dumps(level.to_json()))) == level


def test_a_word_gives_way_to_many_runs_and_stands_without_any() -> None:
    plateau = symptoms()["plateau"]
    level = Level({"lr-too-low": {"plateau": (100, 10)}})
    assert level.rate("lr-too-low", plateau, 0.8) == pytest.approx((10 + AS_RUNS * 0.8) / (100 + AS_RUNS))
    assert level.rate("lr-too-high", plateau, 0.8) == 0.8
    assert level.rate("lr-too-high", plateau, None) is None


def test_the_level_of_evidence_is_told_from_what_was_looked_at() -> None:
    direct = tuple(symptom.id for symptom in symptoms().values() if symptom.direct)
    assert level_of(seen("plateau", absent=("divergence", "oscillation"))) == CURVE
    assert level_of(seen(absent=direct[:8])) == INSIDE


def test_less_evidence_is_less_confidence() -> None:
    direct = tuple(symptom.id for symptom in symptoms().values() if symptom.direct)
    whole = seen(
        "gradients-not-cleared",
        "huge-updates",
        "divergence",
        absent=tuple(d for d in direct if d != "gradients-not-cleared"),
    )
    without = [o for o in whole if o.id != "gradients-not-cleared"]
    assert probability(rank(whole), "missing-zero-grad") > 0.7
    assert probability(rank(without), "missing-zero-grad") < 0.7 * probability(rank(whole), "missing-zero-grad")
    assert probability(rank([]), HEALTHY) < 0.6


def test_two_causes_at_once_are_both_named() -> None:
    direct = tuple(symptom.id for symptom in symptoms().values() if symptom.direct)
    both = ("gradients-not-cleared", "data-in-order")
    observations = seen(*both, "oscillation", "huge-updates", absent=tuple(d for d in direct if d not in both))
    ranked = rank(observations)
    (other,) = secondary_causes(Evidence(tuple(observations)), ranked)
    assert {ranked[0].cause, other.cause} == {"missing-zero-grad", "not-shuffled"}


def test_every_mistake_that_was_seen_is_named_in_the_order_to_fix_them() -> None:
    direct = tuple(symptom.id for symptom in symptoms().values() if symptom.direct)
    shown = {
        "nan-from-log": "log-of-zero", "probabilities-as-logits": "softmax-before-cross-entropy",
        "gradients-not-cleared": "missing-zero-grad", "data-in-order": "not-shuffled",
    }  # fmt: skip
    evidence = Evidence(tuple(seen(*shown, "plateau", absent=tuple(d for d in direct if d not in shown))))
    ranked = evidence.ranked()
    others = secondary_causes(evidence, ranked)
    named = [ranked[0].cause, *(other.cause for other in others)]
    assert set(named) == set(shown.values())
    order = [FIX_ORDER.index(causes()[other.cause].group) for other in others]
    assert order == sorted(order)
    assert all(other.probability > 0.8 for other in others)
    assert all(any(shown.get(text) == other.cause for text in other.supports) for other in others)
    again = without_secondary(evidence, ranked, others)
    assert again[0].cause == ranked[0].cause
    assert again[0].probability > 0.8
    assert sum(entry.probability for entry in again) == pytest.approx(1)


@pytest.mark.parametrize(("begins", "named"), [(2.0, True), (47.0, False)])
def test_scores_since_a_number_was_none_need_no_second_cause(begins: float, named: bool) -> None:
    direct = tuple(symptom.id for symptom in symptoms().values() if symptom.direct)
    nan = [
        Observation("nan-from-log", "present", "nan-from-log", (4, 4)),
        Observation("nonfinite-loss", "present", "nonfinite-loss", (4, 900)),
    ]
    gap = Observation("overfitting-gap", "present", "overfitting-gap", (begins, 900))
    calm = seen(absent=tuple(one for one in direct if one != "nan-from-log"))
    evidence = Evidence((*nan, gap, *calm))
    assert bool(secondary_causes(evidence, evidence.ranked())) == named


def test_every_group_of_causes_has_its_place_in_the_order() -> None:
    assert {cause.group for cause in causes().values()} <= set(FIX_ORDER)


def test_one_cause_that_explains_all_stays_alone() -> None:
    direct = tuple(symptom.id for symptom in symptoms().values() if symptom.direct)
    observations = seen(
        "gradients-not-cleared", "huge-updates", absent=tuple(d for d in direct if d != "gradients-not-cleared")
    )
    assert secondary_causes(Evidence(tuple(observations)), rank(observations)) == ()
