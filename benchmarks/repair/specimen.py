"""One training of the fault zoo as a script of its own, for `traindx fix`. The directory of the zoo must be on
PYTHONPATH.

    python specimen.py --task digits-mlp --optimizer adam --seed 3 [--variant plain] [--level 1] [--fault lr-too-high]

Without --fault it is the healthy twin: the same data, network, seed and settings.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from plan import Spec, build
from training import fresh_model, train_loop


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--task", required=True)
    parser.add_argument("--optimizer", required=True)
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument("--variant", default="plain")
    parser.add_argument("--level", type=int, default=1)
    parser.add_argument("--fault")
    given = parser.parse_args()
    causes = (given.fault,) if given.fault else ()
    spec = Spec("specimen", causes, given.variant, given.task, given.optimizer, given.level, given.seed)
    setup, _, _ = build(spec)
    train_loop(setup, Path("log"), fresh_model(setup))


if __name__ == "__main__":
    main()
