"""adapter-inactive: the model has adapters, and they take no part in the training."""

from __future__ import annotations

from msgspec.structs import replace

from traindx.diagnosis import Observation
from traindx.measurements import AdapterPairs, Measured, UnusedAdapter
from traindx.symptoms.base import Case, Symptom, percent
from traindx.symptoms.observed import from_measurements, seen
from traindx.thresholds import Threshold, fitted

ID = "adapter-inactive"
UPDATES = Threshold(5, "updates", "a second matrix leaves zero with its first gradient")
BLOCKS = Threshold(4, "equal blocks", "of fewer, one alone may be chosen on purpose")
FROZEN = Threshold(0.5, "of the parameters are frozen", "an adapter stands beside a base that does not learn")
SHARE = fitted(f"{ID}.blocks", 0.34, unit="of the equal blocks that hold a pair", strong=0.1, side="below")


def judge(measured: Measured) -> Observation | None:
    looks = measured.all(AdapterPairs)
    if not looks:
        return _unused(measured.last(UnusedAdapter))
    last = looks[-1]
    if all_frozen(last):
        return None  # what is frozen is said with the other weights that are
    reason = _reason(last)
    if reason:
        return seen(ID, True, reason, at=last)
    if BLOCKS.reached(last.blocks) and not last.chosen_blocks:
        share = last.blocks_with / last.blocks
        if SHARE.reached(share):
            return seen(
                ID,
                True,
                f"The {last.pairs} adapter pairs are in {last.blocks_with} of {last.blocks} equal blocks; the others "
                f"stay as they were loaded.",
                at=last,
                clarity=SHARE.clarity(share),
            )
    if not last.backward and not UPDATES.reached(last.updates):
        return None
    return seen(
        ID, False, f"{last.trainable} of {last.pairs} adapter pairs learn, in {last.blocks_with} blocks.", at=last
    )


def _unused(look: UnusedAdapter | None) -> Observation | None:
    if look is None or not FROZEN.reached(look.frozen):
        return None
    text = (
        f"The script defines {look.name}, {percent(look.frozen)} of the parameters are frozen, and no layer of the "
        "model is one: it replaced nothing."
    )
    return seen(ID, True, text, at=look)


def all_frozen(look: AdapterPairs) -> bool:
    """The script itself has switched the gradients of all adapters off."""
    return not (look.trainable or look.inference or look.merged == look.pairs or look.disabled == look.pairs)


def _reason(look: AdapterPairs) -> str:
    sentence = f"The model has {look.pairs} adapter pairs ({look.where} is the first)"
    if look.merged == look.pairs:
        return f"{sentence}, and all are merged into the base weights: they get no gradient."
    if look.disabled == look.pairs:
        return f"{sentence}, and all are switched off (disable_adapters)."
    if not look.trainable:
        return f"{sentence}, and none of them is trainable: they were loaded for inference (is_trainable=False)."
    if UPDATES.reached(look.updates) and look.learnt_off and look.never_on and not look.learnt_on:
        others = f"{look.never_on} that never did are on"
        return f"{sentence}. The {look.learnt_off} that learnt are switched off, and {others}."
    if UPDATES.reached(look.updates) and look.looked and look.zero == look.looked:
        return f"{sentence}, and the second matrix of each is still exactly zero after {look.updates} updates."
    return ""


SOUND = AdapterPairs(
    pairs=14, trainable=14, held=14, blocks=8, blocks_with=8, ranks=(8, 8), scales=(2.0, 2.0), looked=14,
    shares=(0.01, 0.02), updates=40, rate=2e-4, adaptive=True, where="layers.0.q_proj",
)  # fmt: skip

SYMPTOM = Symptom(
    id=ID,
    title="adapters take no part in the training",
    severity="problem",
    family="adapter",
    background=0.002,
    needs=("a recording of the training (traindx run)",),
    doc="""
## What is observed
The model has low-rank pairs (LoRA and its kin) beside frozen matrices, and they are merged, switched off, loaded for
inference, still at zero after several updates, switched off in favour of one that never learnt, or in a small part
of the blocks only.

## How it is measured
Adapters are found by their structure: two thin matrices in one small module with a frozen matrix of the shape of their
product. PEFT's layers say themselves whether they are merged or disabled, and its settings whether they were loaded for
inference. A stack of at least four equal blocks is compared with the blocks that hold a pair; settings that name the
blocks (`layers_to_transform`) excuse it.

## Healthy range
Every pair has requires_grad, and its second matrix leaves zero with the first update. Adapters on some matrices of
each block (q_proj and v_proj) are the usual choice.

## What it usually means
`PeftModel.from_pretrained` without `is_trainable=True`, `merge_adapter()` before training, names in `target_modules`
that match the wrong modules ("layers.1" is also layer 10 to 19), or an adapter on a copy of the model.
""",
    detect=from_measurements(ID, judge),
    cases=(
        Case("the adapter that learnt is switched off at the end", "present",
             measured=(replace(SOUND, pairs=28, learnt_off=14, never_on=14, updates=200),)),
        Case("a layer that replaced nothing", "present", measured=(UnusedAdapter(name="LoRALinear", frozen=0.99),)),
        Case("beside a small frozen part", "unknown", measured=(UnusedAdapter(name="LoRALinear", frozen=0.1),)),
        Case("every pair learns", "absent", measured=(SOUND,)),
        Case("merged before training", "present", measured=(replace(SOUND, merged=14),)),
        Case("switched off", "present", measured=(replace(SOUND, disabled=14),)),
        Case("loaded for inference", "present", measured=(replace(SOUND, trainable=0, inference=True),)),
        Case("the script ends before its first update", "present",
             measured=(replace(SOUND, trainable=0, inference=True, backward=False, updates=0),)),
        Case("frozen by the script: seen with the frozen weights", "unknown", measured=(replace(SOUND, trainable=0),)),
        Case("still zero", "present", measured=(replace(SOUND, zero=14),)),
        Case("zero at the start, as it should be", "absent", measured=(replace(SOUND, zero=14, updates=1),)),
        Case("one block of eight", "present", measured=(replace(SOUND, blocks_with=1),)),
        Case("every second block", "absent", measured=(replace(SOUND, blocks_with=4),)),
        Case("one block, by its settings", "absent", measured=(replace(SOUND, blocks_with=1, chosen_blocks=True),)),
        Case("a log alone", "unknown"),
    ),
)  # fmt: skip
