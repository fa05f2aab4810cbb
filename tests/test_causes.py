"""One contract suite over every cause and fix."""

from __future__ import annotations

import pytest

from traindx.causes import causes
from traindx.causes.base import DOC_HEADINGS, Case, Cause
from traindx.diagnosis import Observation
from traindx.engine import judge
from traindx.engine.fitted import Level
from traindx.engine.rank import rank
from traindx.engine.words import PRIOR_WEIGHT, STRENGTH
from traindx.fixes import fixes
from traindx.fixes.base import Fix
from traindx.symptoms import symptoms

CATALOGUE = """lr-too-high lr-too-low lr-decay-missing lr-decayed-too-early warmup-missing grad-clip-too-tight
grad-clip-missing batch-too-small batch-too-large missing-zero-grad accumulation-not-scaled optimizer-recreated
loss-sum-reduction momentum-too-high weight-decay-too-high dropout-too-high too-few-epochs vanishing-gradients
exploding-gradients dead-relu saturation constant-init init-too-large init-too-small params-not-in-optimizer
frozen-params detached-graph eval-mode-during-training train-mode-during-eval missing-nonlinearity causal-mask-missing
target-not-shifted padding-not-masked weights-not-tied softmax-before-cross-entropy double-sigmoid
softmax-on-single-output softmax-wrong-dim nll-without-log-softmax mse-for-classification wrong-loss relu-on-output
bounded-output loss-shape-broadcast loss-sign-flipped inputs-not-normalized targets-not-normalized nan-in-data
corrupt-samples labels-misaligned label-encoding-wrong class-imbalance not-shuffled train-val-leak
val-preprocessing-mismatch train-val-label-mismatch model-too-small overfitting log-of-zero division-by-zero
fp16-overflow low-precision-update-lost slow-data-loading
too-few-workers host-sync small-batch-underuse replicas-diverge straggler-rank healthy""".split()

GROUPS = {
    "learning rate", "optimisation", "gradient flow", "initialisation", "wiring", "loss and output", "data",
    "capacity", "numerics", "throughput", "distributed", "reward", "policy", "preference", "what the loss sees",
    "classic", "generative", "which weights move", "going on", "none",
}  # fmt: skip
FAULTS = {identifier: cause for identifier, cause in causes().items() if identifier != "healthy"}
CASES = [pytest.param(c, case, id=f"{c.id}: {case.kind}: {case.story}") for c in FAULTS.values() for case in c.cases]
WORDS = Level()  # the cases hold for what the pages say, before anything was counted


def observations(case: Case) -> tuple[Observation, ...]:
    """All symptoms: present and absent as the case says, the rest unknown."""
    return tuple(
        Observation(
            identifier,
            "present" if identifier in case.present else "absent" if identifier in case.absent else "unknown",
            f"{identifier}.",
        )
        for identifier in symptoms()
    )


def test_the_catalogue_is_complete() -> None:
    assert set(CATALOGUE) <= set(causes())


@pytest.mark.parametrize("cause", causes().values(), ids=lambda c: c.id)
def test_page(cause: Cause) -> None:
    places = {heading: cause.doc.find(heading) for heading in DOC_HEADINGS}
    assert not [heading for heading, place in places.items() if place < 0], "headings are missing"
    assert list(places.values()) == sorted(places.values()), "the headings are in another order"
    assert cause.prior in PRIOR_WEIGHT, f"prior is one of {', '.join(PRIOR_WEIGHT)}"
    assert cause.group in GROUPS, f"group is one of {', '.join(sorted(GROUPS))}"
    assert set(cause.predicts) <= set(symptoms()), "predicts a symptom that does not exist"
    assert set(cause.predicts.values()) <= set(STRENGTH), f"words are {', '.join(STRENGTH)}"
    assert set(cause.look_alikes) <= set(causes()), "a look-alike does not exist"
    assert set(cause.fixes) <= set(fixes()), "a fix does not exist"


@pytest.mark.parametrize("cause", FAULTS.values(), ids=lambda c: c.id)
def test_a_fault_has_fixes_warnings_and_four_kinds_of_cases(cause: Cause) -> None:
    assert cause.fixes, "name a fix"
    assert cause.do_not, "name what not to do"
    assert cause.check, "say how somebody finds out by hand whether it is this one"
    assert len(cause.look_alikes) >= 2, "name two look-alikes"
    assert {case.kind for case in cause.cases} == {"fires", "healthy", "look-alike", "missing"}, "one case of each kind"
    for case in cause.cases:
        assert set(case.present + case.absent) <= set(symptoms()), (
            f"{case.kind} case names a symptom that does not exist"
        )
        assert not set(case.present) & set(case.absent), f"{case.kind} case has a symptom both present and absent"
        if case.kind == "look-alike":
            assert case.expects in set(causes()) - {cause.id}, (
                f"the look-alike case expects {case.expects!r}, which is no other cause"
            )
    order = {"safe": 0, "caution": 1, "disruptive": 2}
    assert order[fixes()[cause.fixes[0]].safety] <= order[fixes()[cause.fixes[-1]].safety], "least disruptive first"


@pytest.mark.parametrize(("cause", "case"), CASES)
def test_cases_hold(cause: Cause, case: Case) -> None:
    seen = observations(case)
    ranked = rank(seen, level=WORDS)
    order = [entry.cause for entry in ranked if entry.cause not in ("healthy", "other")]
    mine = next(entry for entry in ranked if entry.cause == cause.id)
    if case.kind == "fires":
        assert order.index(cause.id) < case.within, f"came {order.index(cause.id) + 1}., after {order[:6]}"
    elif case.kind == "healthy":
        assert judge(seen, ranked) == "healthy"
        assert mine.probability < 0.1
    elif case.kind == "look-alike":
        assert order.index(case.expects) < order.index(cause.id)
    else:
        assert mine.probability < 0.5


@pytest.mark.parametrize("fix", fixes().values(), ids=lambda f: f.id)
def test_fix(fix: Fix) -> None:
    assert set(fix.clears) <= set(symptoms())
    assert fix.doc.strip()
    assert fix.why_safe.strip()
    proposal = fix.proposal({})
    left = [name for name in fix.defaults if "{" + name + "}" in proposal.code]
    assert not left, "a field was not filled"


def test_every_fix_is_used() -> None:
    used = {identifier for cause in causes().values() for identifier in cause.fixes}
    assert set(fixes()) <= used


def test_without_evidence_every_cause_is_less_certain() -> None:
    """With nothing known a cause is less certain than in its own case, and a fact seen directly is missed when it is
    gone."""
    for cause in FAULTS.values():
        case = next(case for case in cause.cases if case.kind == "fires")
        full = observations(case)
        top = next(entry for entry in rank(full) if entry.cause == cause.id).probability
        none = tuple(Observation(o.id, "unknown", "") for o in full)
        assert next(entry for entry in rank(none) if entry.cause == cause.id).probability < top + 0.01, cause.id
        for gone in case.present:
            if symptoms()[gone].direct and gone in cause.predicts:
                less = tuple(Observation(o.id, "unknown", "") if o.id == gone else o for o in full)
                assert next(entry for entry in rank(less) if entry.cause == cause.id).probability < top, (
                    cause.id,
                    gone,
                )
