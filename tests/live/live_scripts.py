"""Small trainings, run under the recorder in this process, and what the recorder said about them."""

from __future__ import annotations

import contextlib
import io
import json
import os
import textwrap
from pathlib import Path
from typing import Any
from unittest import mock

from traindx.live.events.hub import Hub
from traindx.live.instruments import observers
from traindx.live.recording.store import Store
from traindx.readers.find import find_runs
from traindx.symptoms import symptoms
from traindx.symptoms.observed import FromMeasurements

HEAD = """
import torch, torch.nn as nn, torch.nn.functional as F
torch.manual_seed(0); torch.set_num_threads(1)
"""


def facts_of(script: str, folder: Path, budget: float = 1.0, *, ended: bool = False) -> dict[str, dict[str, Any]]:
    """Run a training and give what each symptom says of what was measured inside it. A generous budget makes every step
    deep."""
    recording = folder / "run.traindx"
    run(script, recording, budget, ended=ended)
    found: dict[str, dict[str, Any]] = {}
    for line in (recording / "rank-0.jsonl").read_text().splitlines():
        entry = json.loads(line)
        if entry["k"] == "fact":
            found[entry["id"]] = entry
        elif entry["k"] == "config":
            found.setdefault("config", {}).update(entry)
    measured = find_runs([recording])[0].measured[0]
    for symptom in symptoms().values():
        seen = symptom.detect.judge(measured) if isinstance(symptom.detect, FromMeasurements) else None
        if seen is not None:
            found[symptom.id] = {
                "present": seen.state == "present", "evidence": seen.evidence, "where": seen.where,
                "clarity": seen.clarity,
                "step": seen.steps[0] if seen.steps else None,
            }  # fmt: skip
    return found


def run(script: str, recording: Path | None, budget: float = 1.0, *, ended: bool = False) -> str:
    """What a training prints, watched where a recording is named. A fault of an observer is an error here. `ended`: it
    came to its own end, so that its length may be judged."""
    code = compile(HEAD + textwrap.dedent(script), "train.py", "exec")
    hub = Hub(lambda: Store(recording), list(observers().values()), budget, None) if recording is not None else None
    printed = io.StringIO()
    with mock.patch.dict(os.environ, TRAINDX_DEBUG="1"), contextlib.redirect_stdout(printed):
        if hub is not None:
            hub.attach()
            hub.cut_short = not ended  # these trainings are short on purpose
        try:
            exec(code, {"__name__": "__main__"})
        finally:
            if hub is not None:
                hub.detach()
    return printed.getvalue()


def present(facts: dict[str, dict[str, Any]]) -> set[str]:
    return {name for name, fact in facts.items() if fact.get("present")}
