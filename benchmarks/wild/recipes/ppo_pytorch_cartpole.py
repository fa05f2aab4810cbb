"""PPO-PyTorch's training script, set to CartPole as its users do by editing the first lines of `train`."""

import shutil
from pathlib import Path

from recipe import Recipe, Result


def prepare(place: Path) -> None:
    for path in place.iterdir():
        if path.name not in ("train.py", "PPO.py", "LICENSE"):
            shutil.rmtree(path) if path.is_dir() else path.unlink()


# It is written for gym before 0.26: what `reset` and `step` return is taken apart as gymnasium gives it.
RECIPE = Recipe(
    repository="nikhilbarhate99/PPO-PyTorch",
    commit="728cce83d7ab628fe2634eabcdf3239997eb81dd",
    kind="reinforcement learning, PPO, own loop",
    needs=("gymnasium", "numpy"),
    command=("train.py",),
    files=("train.py", "PPO.py"),
    seconds=12,
    prepare=prepare,
    shorten=(
        ("train.py", r"import gym\s+import roboschool", "import gymnasium as gym"),
        ("train.py", r"RoboschoolWalker2d-v1", "CartPole-v1"),
        ("train.py", r"has_continuous_action_space = True", "has_continuous_action_space = False"),
        ("train.py", r"max_ep_len = 1000 ", "max_ep_len = 200 "),
        ("train.py", r"int\(3e6\)", "int(1.4e4)"),
        ("train.py", r"state = env\.reset\(\)", "state, _ = env.reset(seed=None if i_episode else 0)"),
        ("train.py", r"done, _ = env\.step", "done, _, _ = env.step"),
    ),
    result=Result(r"Average Reward : ([\d.]+)", "higher"),
)
