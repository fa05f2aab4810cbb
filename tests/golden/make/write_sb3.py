"""Write tests/golden/sb3: progress.csv and the monitor files of two parallel environments.

Run in an environment with stable-baselines3 2.9.2, gymnasium 1.4.0 and torch 2.13.0:
    python tests/golden/make/write_sb3.py
"""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

import torch
from stable_baselines3 import PPO
from stable_baselines3.common.env_util import make_vec_env
from stable_baselines3.common.logger import configure

HERE = Path(__file__).resolve().parent.parent / "sb3"


def main() -> None:
    torch.manual_seed(0)
    shutil.rmtree(HERE, ignore_errors=True)
    HERE.mkdir(parents=True)
    with tempfile.TemporaryDirectory() as folder:
        environments = make_vec_env("CartPole-v1", n_envs=2, seed=0, monitor_dir=folder)
        agent = PPO("MlpPolicy", environments, n_steps=128, batch_size=64, n_epochs=2, seed=0, device="cpu")
        agent.set_logger(configure(folder, ["csv"]))
        agent.learn(1500)
        for path in Path(folder).glob("*.csv"):
            shutil.copy(path, HERE / path.name)


if __name__ == "__main__":
    main()
