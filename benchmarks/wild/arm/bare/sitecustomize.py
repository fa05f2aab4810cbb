"""Sets the seeds of a run without the recorder, as arm/recorded does in one with it. Nothing here asks traindx to
record."""

import os

from traindx.live.host.bootstrap import after_import


def _settle() -> None:
    from traindx.trials import seeds

    seeds.settle(int(os.environ["WILD_SEED"]))


after_import("torch", _settle)
