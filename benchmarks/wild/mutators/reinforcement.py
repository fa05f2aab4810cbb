"""Faults of reinforcement learning and of preference optimisation."""

from __future__ import annotations

import re
from collections.abc import Iterator

import libcst as cst
import libcst.matchers as m

from mutators.base import Find, Mutator, Place, Source, on_flag

DONE = re.compile(r"done|terminal|terminat|mask", re.IGNORECASE)


def _discount(value: str) -> Find:
    def find(source: Source) -> Iterator[Place]:
        """The first number that anything called gamma is set to."""
        for assignment in source.all(m.AnnAssign() | m.Assign()):
            target = assignment.target if isinstance(assignment, cst.AnnAssign) else assignment.targets[0].target
            number = assignment.value
            if source.text(target).rpartition(".")[2].lower() == "gamma" and isinstance(number, cst.Float):
                yield [source.replace(number, value)]
        for entry in source.all(m.DictElement(key=m.SimpleString())):
            if source.text(entry.key).strip("'\"") == "gamma" and isinstance(entry.value, cst.Float):
                yield [source.replace(entry.value, value)]
        for call in source.calls("add_argument"):
            default = source.keyword(call, "default")
            if "--gamma" in source.text(call) and default is not None:
                yield [source.replace(default.value, value)]

    return find


def terminal_bootstrapped(source: Source) -> Iterator[Place]:
    """`1 - done` is one, whatever happened."""
    for difference in source.all(m.BinaryOperation(operator=m.Subtract(), left=m.Integer("1") | m.Float("1.0"))):
        if DONE.search(source.text(difference.right)):
            yield [source.replace(difference, f"(1.0 - 0.0 * ({source.text(difference.right)}))")]


def target_never_updated(source: Source) -> Iterator[Place]:
    for call in source.calls("copy_", "load_state_dict"):
        statement = source.statement(call)
        if statement is not None and "target" in source.text(call.func).lower() and source.loop(call) is not None:
            yield [source.remove(statement)]


def reward_flipped(source: Source) -> Iterator[Place]:
    """What comes out of the environment is stored with the other sign."""
    for call in source.all(m.Assign(value=m.Call(func=m.Attribute(attr=m.Name("step"))))):
        text = source.text(call.value.func.value)
        target = call.targets[0].target
        if "env" in text and isinstance(target, cst.Tuple) and len(target.elements) >= 3:
            statement = source.statement(call)
            reward = source.text(target.elements[1].value)
            if statement is not None and reward != "_":
                yield [source.after(statement, f"{reward} = -1 * {reward}")]


def not_normalised(source: Source) -> Iterator[Place]:
    """(x - x.mean()) / (x.std() + eps) is x."""
    for division in source.all(m.BinaryOperation(operator=m.Divide())):
        left, right = source.text(division.left), source.text(division.right)
        if ".mean()" in left and ".std()" in right and re.search(r"adv|return|reward", left):
            yield [source.replace(division, left.strip("()").split("-")[0].strip())]


def no_exploration(source: Source) -> Iterator[Place]:
    for call in source.calls("linear_schedule"):
        if len(call.args) >= 2:
            yield [source.replace(call.args[0].value, "0.0"), source.replace(call.args[1].value, "0.0")]


def swapped(source: Source) -> Iterator[Place]:
    """Chosen and rejected change places on the way into the trainer."""
    other = (
        ".rename_columns({'chosen': '_kept'}).rename_columns({'rejected': 'chosen'}).rename_columns({'_kept': "
        "'rejected'})"
    )
    for call in source.calls("DPOTrainer", "RewardTrainer"):
        data = source.keyword(call, "train_dataset")
        if data is not None:
            yield [source.replace(data.value, f"({source.text(data.value)}){other}")]


RL = ("reinforcement", "RL", "PPO", "DQN", "policy", "actor", "SAC", "TD3")
MUTATORS = (
    Mutator("discount-0.1", "discount-wrong", _discount("0.1"), kinds=RL, rewrite=on_flag("gamma", lambda gamma: 0.1)),
    Mutator("discount-above-1", "discount-wrong", _discount("1.05"), kinds=RL, also=("value-explosion",)),
    Mutator("terminal-not-masked", "terminal-not-masked", terminal_bootstrapped, kinds=RL),
    Mutator("target-never-updated", "target-network-stale", target_never_updated, kinds=RL),
    Mutator("reward-flipped", "reward-sign-flipped", reward_flipped, kinds=RL),
    Mutator("advantages-raw", "advantages-not-normalized", not_normalised, kinds=RL),
    Mutator("exploration-gone", "exploration-gone", no_exploration, kinds=RL),
    Mutator("pairs-swapped", "dpo-pairs-swapped", swapped),
)  # fmt: skip
