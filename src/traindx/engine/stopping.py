"""When to stop: after changes that did not help, what has been established, and which question is a different one."""

from __future__ import annotations

from collections.abc import Sequence

from traindx import commands
from traindx.causes import causes
from traindx.diagnosis import Diagnosis

SEVERAL = 3  # causes ruled out by trials from which another question is more likely than another setting
_DATA = ("labels-unrelated", "labels-imbalanced", "val-labels-differ", "val-inputs-differ", "outlier-batch",
         "overfitting-gap", "val-at-chance", "same-batch-repeated")  # fmt: skip
_CAPACITY = ("underfitting", "narrow-bottleneck", "no-nonlinearity", "plateau")
_ALTERNATIVES = {
    "data": "the data: look at twenty samples with their labels, and let a simple model (a linear one, nearest "
    "neighbours) try the same task; what no model can learn no setting repairs",
    "architecture": "the architecture: give a published model of this task the same data",
    "task": "the task: an easier target (fewer classes, shorter sequences) that must work first",
    "reference": "a known-good reference run: an official example of your framework on its own data; then exchange one "
    "part at a time for yours",
}  # fmt: skip


def when_to_stop(page: Diagnosis, ruled_out: Sequence[str], *, tried: int) -> tuple[str, ...]:
    """What is established and what would be a different question. `ruled_out` are causes whose changes did not help,
    `tried` is how many changes were made in all."""
    if not tried:
        return ()
    names = list(dict.fromkeys(ruled_out))
    table = causes()
    titles = ", ".join(table[name].title for name in names[:SEVERAL] if name in table)
    absent = [one.id for one in page.symptoms if one.state == "absent"]
    there = [one.id for one in page.present()]
    stated = [
        f"When to stop: {tried} change{'s' if tried > 1 else ''} did not help"
        + (f" ({titles})." if titles else ".")
        + f" Established so far: {len(absent)} checks passed"
        + (f"; still seen: {', '.join(there[:4])}." if there else ".")
    ]
    more = "Another setting is unlikely to do it." if len(names) >= SEVERAL else "One more try is fair, a tenth is not."
    stated.append(f"{more} A different question, in this order: {'; '.join(_ordered(there))}.")
    if not any(one.state != "unknown" and one.id == "batch-not-learned" for one in page.symptoms):
        script = str(page.run.config.get("recording.script") or "train.py")
        sanity = commands.typed(commands.SANITY, script=script)
        stated.append(f"Not known yet: whether the model can learn a single batch (`{sanity}`).")
    return tuple(stated)


def _ordered(there: Sequence[str]) -> list[str]:
    """What the symptoms that are left speak for comes first."""
    data, capacity = (len(set(there) & set(ids)) for ids in (_DATA, _CAPACITY))
    first = ["architecture", "data"] if capacity > data else ["data", "architecture"]
    return [_ALTERNATIVES[name] for name in ("reference", *first, "task")]
