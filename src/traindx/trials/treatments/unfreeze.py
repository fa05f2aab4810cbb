"""Let gradients reach every parameter, and let the optimiser have them all."""

from __future__ import annotations

from traindx.trials.treatments.all_params import AllParams


class Unfreeze(AllParams):
    unfreeze = True


TREATMENT = Unfreeze
