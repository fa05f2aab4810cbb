"""A user's project with Stable-Baselines3: DQN on CartPole, with an evaluation callback and its settings in
config.py."""

from pathlib import Path

from recipe import Recipe, Result


def prepare(place: Path) -> None:
    (place / "dqn_cartpole.zip").unlink()  # else it is loaded, and nothing trained
    (place / "training_curves.png").unlink()


RECIPE = Recipe(
    repository="YanRuiZhan/DQN-for-CartPole-v1-Based-on-stable-baselines3",
    commit="01957043e984a1e2b75ddeee658036353497a752",
    kind="reinforcement learning, DQN with Stable-Baselines3",
    needs=("stable-baselines3", "gymnasium", "tensorboard"),
    command=("main.py",),
    files=("train.py", "config.py", "main.py", "test.py"),
    seconds=14,
    prepare=prepare,
    shorten=(
        ("config.py", r"TIMESTEPS= 100_000", "TIMESTEPS= 16_000"),
        ("config.py", r'"train_freq": 1,', '"train_freq": 4,'),
        ("config.py", r'"learning_rate": 1e-4', '"learning_rate": 1e-3'),
        ("config.py", r'"seed": None', '"seed": 0'),
        ("train.py", r"progress_bar=True", "progress_bar=False"),
        ("test.py", r"eval_freq=10000,\s+n_eval_episodes=100", "eval_freq=5000, n_eval_episodes=5"),
        ("test.py", r"n_eval_episodes=50", "n_eval_episodes=10"),
        ("main.py", r"render_episode\(DQN.*", ""),
    ),
    result=Result(r"：([\d.]+) ±", "higher"),
)
