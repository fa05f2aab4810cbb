"""CleanRL's PPO in one file, on CartPole with eight environments."""

import shutil
from pathlib import Path

from recipe import Recipe, Result


def prepare(place: Path) -> None:
    for path in place.iterdir():
        if path.name not in ("cleanrl", "cleanrl_utils", "LICENSE"):
            shutil.rmtree(path) if path.is_dir() else path.unlink()


# The program expects the vector environments of gymnasium before 1.0: they begin the next episode in the same step.
EPISODES = (
    '[{"episode": {key: value[at] for key, value in infos["final_info"]["episode"].items()}} '
    'for at in np.flatnonzero(infos["_final_info"])]:'
)

RECIPE = Recipe(
    repository="vwxyzjn/cleanrl",
    commit="fe8d8a03c41a7ef5b523e2e354bd01c363e786bb",
    kind="reinforcement learning, PPO, own loop",
    needs=("gymnasium", "tyro", "tensorboard", "numpy"),
    command=("cleanrl/ppo.py", "--total-timesteps", "50000", "--num-envs", "8", "--learning-rate", "1e-3", "--no-cuda"),
    files=("cleanrl/ppo.py",),
    seconds=10,
    prepare=prepare,
    shorten=(
        ("cleanrl/ppo.py", r"range\(args\.num_envs\)\]", 'range(args.num_envs)], autoreset_mode="SameStep"'),
        ("cleanrl/ppo.py", r'infos\["final_info"\]:', EPISODES),
    ),
    result=Result(r"episodic_return=([\d.]+)", "higher"),
    environment={"PYTHONPATH": "."},
)
