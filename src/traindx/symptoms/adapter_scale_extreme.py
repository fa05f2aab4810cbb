"""adapter-scale-extreme: adapters that swamp their base, or that cannot move in the time they have."""

from __future__ import annotations

from statistics import median

from msgspec.structs import replace

from traindx.diagnosis import Observation
from traindx.measurements import AdapterPairs, Measured, TrainingEnd
from traindx.symptoms.base import Case, Symptom
from traindx.symptoms.observed import from_measurements, seen
from traindx.thresholds import Threshold, fitted

ID = "adapter-scale-extreme"
UPDATES = Threshold(30, "updates", "fewer say nothing of what a rate comes to")
SWAMPS = fitted(f"{ID}.swamps", 1.0, unit="of the norm of the base, the scaled product", strong=3.0)
SCALE = Threshold(
    16.0,
    "alpha / r",
    "Hu et al. 2022 and the guides of PEFT use 1 to 4; rank-stabilised scaling of r = 256 is 16",
    strong=64,
)
WEAK = Threshold(
    1 / 30,
    "alpha / r",
    "Schulman et al. 2025 use alpha = 32 for ranks up to 512, which is 1/16; half of that",
    strong=1 / 64,
    side="below",
)
RATE = Threshold(
    3e-5,
    "the largest rate of Adam",
    "full fine-tuning uses 1e-5 to 5e-5; LoRA wants about ten times as much (Schulman et al. 2025), 1e-4 to 4e-4",
    strong=1e-5,
    side="below",
)
LEARNT = fitted(f"{ID}.learnt", 0.8, unit="of the first loss at the end", side="below")
STILL = fitted(f"{ID}.still", 0.01, unit="of the norm of the base, the scaled product", strong=0.003, side="below")


def judge(measured: Measured) -> Observation | None:
    looks = [one for one in measured.all(AdapterPairs) if one.shares and one.trainable and UPDATES.reached(one.updates)]
    if not looks:
        return None
    last = looks[-1]
    share = median(last.shares)
    scale = last.scales[1] if last.scales is not None else None
    sentence = f"adapters add {share * 100:.2g} % of the norm of their base matrices after {last.updates} updates"
    if scale is not None and SCALE.reached(scale) and SWAMPS.reached(share):
        return seen(
            ID, True, f"The {sentence}, with a scale (alpha / r) of {scale:g}; usual are 1 to 4.", at=last,
            clarity=SCALE.clarity(scale),
        )  # fmt: skip
    weak = last.scales[1] if last.scales is not None else 1.0
    if WEAK.reached(weak):
        text = (
            f"The scale of the adapters (alpha / r) is {weak:.2g}, usual are 1 to 4: what they learn is divided by "
            f"{1 / weak:.0f} before it is added."
        )
        return seen(ID, True, text, at=last, clarity=WEAK.clarity(weak))
    slow = last.adaptive and last.rate is not None and RATE.reached(last.rate) and STILL.reached(share)
    if slow and last.rate is not None and not _learnt(measured):
        return seen(
            ID, True, f"The {sentence}: the rate of {last.rate:g} is that of full fine-tuning (adapters 1e-4 to 4e-4).",
            at=last, clarity=RATE.clarity(last.rate),
        )  # fmt: skip
    return seen(ID, False, f"The {sentence}.", at=last)


def _learnt(measured: Measured) -> bool:
    end = measured.last(TrainingEnd)
    known = end is not None and end.first_loss is not None and end.last_loss is not None and end.first_loss > 0
    return known and end is not None and LEARNT.reached((end.last_loss or 0.0) / (end.first_loss or 1.0))


SOUND = AdapterPairs(
    pairs=14, trainable=14, held=14, ranks=(8, 8), scales=(2.0, 2.0), looked=14, shares=(0.03, 0.05, 0.08),
    updates=300, rate=2e-4, adaptive=True, where="layers.0.q_proj",
)  # fmt: skip
HUGE = replace(SOUND, scales=(256.0, 256.0), shares=(2.0, 5.0))
SLOW = replace(SOUND, shares=(0.001, 0.002, 0.003), rate=1e-5)
END = TrainingEnd(updates=300, cut_short=False, first_loss=2.0, last_loss=1.9)

SYMPTOM = Symptom(
    id=ID,
    title="adapters far too strong or far too slow",
    severity="problem",
    family="adapter-scale",
    background=0.003,
    needs=("a recording of the training (traindx run)",),
    doc="""
## What is observed
What low-rank adapters add is larger than the matrices they stand beside, with a scale far above the usual; or their
scale is far below the usual, so that the base model goes on as it was; or it stays next to nothing because
the learning rate is one for full fine-tuning.

## How it is measured
The norm of the scaled product of each pair by the norm of its base matrix, median over the pairs, with the scale that
the layer names (alpha / r) and the largest rate of its optimiser. Too strong: a scale from 16 on and a product as large
as the base. Too weak: a scale below 1/30. Too slow: Adam at 3e-5 or less, less than
1 % added, and a loss that has kept four fifths of its start.

## Healthy range
Some percent of the base after a few hundred updates, with alpha / r between 0.5 and 4 and Adam at 1e-4 to 4e-4.

## What it usually means
`lora_alpha` taken for a percentage or from a recipe with another rank, or the rate of a full fine-tuning kept.
""",
    detect=from_measurements(ID, judge),
    cases=(
        Case("LoRA at 2e-4", "absent", measured=(SOUND, END)),
        Case("alpha 1024 at rank 4", "present", measured=(HUGE, END)),
        Case("a large scale that was tamed", "absent", measured=(replace(SOUND, scales=(32.0, 32.0)), END)),
        Case("the rate of full fine-tuning", "present", measured=(SLOW, END)),
        Case("a small rate that was enough", "absent", measured=(SLOW, replace(END, last_loss=0.9))),
        Case("too few updates", "unknown", measured=(replace(SLOW, updates=10), END)),
        Case("a log alone", "unknown"),
    ),
)  # fmt: skip
