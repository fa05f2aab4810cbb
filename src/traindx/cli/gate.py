"""`traindx check train.py` without a brief: what to look at once, before the first long run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from traindx.errors import EXIT_OK, EXIT_PROBLEM_FOUND

if TYPE_CHECKING:
    from traindx.reading import Reading

PROBES = ["sanity", "gradients"]
OK, FAILED, UNKNOWN, NOTE = "ok", "FAILED", "NOT MEASURED", "note"
Line = tuple[str, str, str]


def gate(arguments: Sequence[str]) -> tuple[list[Line], int]:
    """Every check as (word, name, sentence), and the exit code."""
    from traindx.cli.probe import readings_of_script

    lines = [*_of_the_source(arguments), *_of_the_probes(readings_of_script(PROBES, arguments))]
    return lines, EXIT_PROBLEM_FOUND if any(word == FAILED for word, _, _ in lines) else EXIT_OK


def shown(lines: Sequence[Line]) -> str:
    from traindx.reporters.wording import clean

    return "".join(f"{word:<13} {name}: {clean(sentence)}\n" for word, name, sentence in lines)


def _of_the_source(arguments: Sequence[str]) -> Iterator[Line]:
    """What can be read before anything runs: seeds, rate, mistakes that stand there plainly, commit."""
    from traindx.interview import read_script
    from traindx.live.host.source_state import taken
    from traindx.starting_points import seeded, starting_point

    script = next((Path(word) for word in arguments if word.endswith(".py") and Path(word).is_file()), None)
    source = script.read_text("utf-8", "replace") if script is not None else ""
    reading = read_script(source, str(script or "train.py"))
    for seen in (one for one in reading.observations if one.state == "present"):
        yield FAILED, seen.id, seen.evidence
    yield (OK, "seed", "The script sets a seed.") if seeded(source) else (
        NOTE, "seed", "No seed is set here: torch.manual_seed(0) makes two runs comparable.",
    )  # fmt: skip
    state = taken(arguments, private=True).state
    if "commit" in state:
        differs = ", with changes that `traindx run` keeps beside the recording" if state["changed"] else ""
        yield OK, "version", f"Commit {str(state['commit'])[:12]}{differs}."
    else:
        yield NOTE, "version", "No git repository: `traindx run` keeps a copy of the script beside the recording."
    usual = _is_usual(reading.settings)
    rate = f"{reading.settings.get('optimizer')} at {reading.settings.get('lr')}"
    if usual is not None:
        yield (OK, "learning rate", f"{rate} is usual.") if usual else (
            NOTE, "learning rate", f"{rate} is outside of what it usually bears: `traindx lr-range` measures it.",
        )  # fmt: skip
    start = starting_point(source)
    yield NOTE, "known-good start", f"{start.task}: {start.settings} ({start.source})."


def _is_usual(settings: Mapping[str, Any]) -> bool | None:
    """Whether the learning rate lies in the usual range of its optimizer; None where one of the two is not known."""
    from traindx.signals.rates import USUAL_LR

    rate, name = settings.get("lr"), str(settings.get("optimizer") or "").lower()
    family = next((one for one in USUAL_LR if one and one in name), "")
    if not isinstance(rate, int | float) or not family:
        return None
    low, high = USUAL_LR[family]
    return low <= float(rate) <= high


def _of_the_probes(readings: Sequence[Reading]) -> Iterator[Line]:
    """Overfits one batch, gradients reach everything, the data is what it should be."""
    from traindx.symptoms.observed import stated

    for reading in readings:
        for fact in stated(reading):
            yield (FAILED if fact.present else OK), fact.id, fact.evidence
        for reason in reading.unknown:
            yield UNKNOWN, reading.probe, reason
