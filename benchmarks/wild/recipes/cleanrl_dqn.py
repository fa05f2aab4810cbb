"""CleanRL's DQN in one file, on CartPole, with its replay buffer."""

import shutil
from pathlib import Path

from recipe import Recipe, Result


def prepare(place: Path) -> None:
    for path in place.iterdir():
        if path.name not in ("cleanrl", "cleanrl_utils", "LICENSE"):
            shutil.rmtree(path) if path.is_dir() else path.unlink()


# The program expects the vector environments of gymnasium before 1.0: they begin the next episode in the same step.
RECIPE = Recipe(
    repository="vwxyzjn/cleanrl",
    commit="fe8d8a03c41a7ef5b523e2e354bd01c363e786bb",
    kind="reinforcement learning, DQN, own loop",
    needs=("gymnasium", "tyro", "tensorboard", "numpy"),
    command=(
        "cleanrl/dqn.py", "--total-timesteps", "20000", "--learning-starts", "1000", "--learning-rate", "1e-3",
        "--no-cuda",
    ),
    files=("cleanrl/dqn.py", "cleanrl_utils/buffers.py"),
    seconds=10,
    prepare=prepare,
    shorten=(
        ("cleanrl/dqn.py", r"range\(args\.num_envs\)\]", 'range(args.num_envs)], autoreset_mode="SameStep"'),
        ("cleanrl/dqn.py", r'infos\["final_info"\]:', '[infos["final_info"]]:'),
        ("cleanrl/dqn.py", r'"final_observation"', '"final_obs"'),
    ),
    result=Result(r"episodic_return=\[([\d.]+)", "higher"),
    environment={"PYTHONPATH": "."},
)  # fmt: skip
