"""Looks for every symptom of the catalogue in one run."""

from __future__ import annotations

import os

import numpy as np

from traindx.diagnosis import Observation
from traindx.errors import TraindxError
from traindx.signals import Signals
from traindx.symptoms import symptoms
from traindx.symptoms.ordinary import held_to


def observe(signals: Signals) -> tuple[Observation, ...]:
    """One observation a symptom, in catalogue order. A detector that fails on a strange series leaves its symptom
    unknown rather than the user without a page (set TRAINDX_DEBUG to see the error)."""
    found: list[Observation] = []
    with np.errstate(all="ignore"):
        for symptom in symptoms().values():
            try:
                found.append(held_to(signals, symptom.detect(signals)))
            except TraindxError:
                raise
            except (ArithmeticError, ValueError, IndexError) as error:
                if os.environ.get("TRAINDX_DEBUG"):
                    raise
                found.append(Observation(symptom.id, "unknown", f"Could not be measured on this series ({error})."))
    return tuple(found)
