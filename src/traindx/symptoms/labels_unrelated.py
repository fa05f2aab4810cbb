"""labels-unrelated: training labels have nothing to do with their inputs."""

from __future__ import annotations

from traindx.symptoms.base import Symptom
from traindx.symptoms.observed import cases_of, from_fact

ID = "labels-unrelated"

SYMPTOM = Symptom(
    id=ID,
    title="training labels have nothing to do with their inputs",
    severity="problem",
    family=ID,
    background=0.002,
    needs=("a recording of the training (traindx run)",),
    doc="""
## What is observed
In the samples that are evaluated, near inputs have like labels; in those that are trained on, labels look as if they had been
dealt out at random.

## How it is measured
Up to 512 samples of each side with their labels, as the loader or the model's calls show them. The five nearest neighbours of
a sample vote on its label (their mean for numbers). Present when that works in the evaluation data (ten standard deviations
above chance), not in the training data (below two and a half), and the model is right less than half as often as the
neighbours are, or comes less than a quarter of their way from chance. Of sequences of tokens the words vote (naive Bayes on how often each
occurs). Where a sample has several labels or numbers (up to 512), the mean correlation over those that vary is taken, with a standard
deviation that knows which labels go together, or that of the label told best less what the best of as many reaches by luck; the model's
answers must then correlate less than half as much. Targets with the shape of the input, or one for each of its points, are left alone.

Without evaluation data that tell more, the training itself is asked. Present when neither the neighbours nor a ridge
regression tell the labels of the training samples better than chance (three standard deviations) and the loss on samples
that are seen for the first time stays at that of a constant guess (one for each label, where there are several); plainly when it then falls on samples that come back, which is
memorising. This is not said of tokens, whose order may tell the label. Models that are called several times a step or with several inputs are left alone: labels of pairs follow from no
single sample.

## Healthy range
Neighbours tell about as much in the training data as in the evaluation data.

## What it usually means
Inputs and labels were shuffled, sorted or filtered separately, or are off by a row.
""",
    detect=from_fact(ID),
    cases=cases_of(
        ID,
        "The nearest neighbours of a sample tell its label with accuracy 0.96 in the evaluation data, and with 0.09 in 512 training samples.",
        "The nearest neighbours of a sample tell its label with accuracy 0.96 in the evaluation data, and with 0.95 in 512 training samples.",
    ),
)
