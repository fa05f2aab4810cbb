"""Words → probabilities. The cause files speak in words; these are the numbers meant by them where the fault zoo has
not counted (engine/fitted.py)."""

from __future__ import annotations

from collections.abc import Mapping

# P(symptom shows | cause). 'never' is not zero: detectors err too.
STRENGTH: Mapping[str, float] = {
    "always": 0.97, "usually": 0.8, "often": 0.5, "sometimes": 0.2, "rarely": 0.05, "never": 0.01,
}  # fmt: skip

# 'rarely' and 'never' speak against a cause however rare the symptom is: at most this share of its background rate.
AGAINST: Mapping[str, float] = {"rarely": 0.35, "never": 0.02}

AS_RUNS = 15.0  # a word weighs as much as so many counted runs; chosen by cross-validation over whole tasks

# what is expected of a symptom weighs as much as so many counted sound programs, where nobody fitted it
AS_PROGRAMS = 10.0

# How common a cause is among faulty runs, relative to each other (frequencies of confirmed threads,
# docs/how-it-ranks.md).
PRIOR_WEIGHT: Mapping[str, float] = {"very common": 8.0, "common": 4.0, "occasional": 2.0, "rare": 0.7}

PRIOR_HEALTHY = 0.45  # of the logs people look at, before anything is seen
PRIOR_OTHER = 0.02  # something the catalogue does not know

SENSITIVITY = 0.85  # a symptom that is there is found this often: absence counts for less than presence
SENSITIVITY_DIRECT = 0.97  # and this often where a recording looks at the thing itself, or a setting tells it
HEALTHY_PROBLEM = 0.02  # a problem symptom the healthy page does not mention: this share of its background rate
OTHER_PROBLEM = 0.12  # any problem symptom under an unknown cause
PROVES = 0.7  # clarity from which a fact that was seen directly proves
SAID_SO = 0.65  # and from which it was at least reported: what its cause does not show then only says that it is mild
MILD = 0.3  # of what an absent symptom or a hint says against a cause that was seen itself
FACT_AHEAD = 2.5  # log odds that an inferred cause must have beyond one that was seen itself to stand before it
HEALTHY_DIRECT = 0.003  # of its background rate: a recording errs that seldom about a healthy run
SILENT_FAULT = 0.12  # a fault of which a full log shows nothing at all
ENOUGH = 8  # problem symptoms ruled out from which silence counts in full
TEMPERATURE = 0.85  # symptoms are not independent; without this their product is overconfident
CLARITY_POWER = 1.5  # a finding just past its threshold counts for less than its share
ELSEWHERE = -6.0  # log odds of a cause whose kind of training shows nowhere: rewards in a run that has none
CEILING = 0.9  # a curve alone never proves a cause
