"""What only an agent in an environment can have wrong."""

from __future__ import annotations

from traindx.questions.base import Choice, Question

QUESTION = Question(
    id="environment",
    text="If an agent learns in an environment: which of these are true of the code?",
    why="Targets that go on behind the end of an episode, a target network that never follows and actions outside "
    "their range leave a curve that looks like bad luck.",
    kind="many",
    choices=(
        Choice("terminal", "I am not sure that the value behind the end of an episode is left out",
               leans={"terminal-not-masked": 1.2}, overlooked=True),
        Choice("discount", "the discount is below 0.9 or 1, or applied in more than one place",
               leans={"discount-wrong": 1.2}, overlooked=True),
        Choice("target", "there is a target network, and I have not checked how often it follows",
               leans={"target-network-stale": 1.0}, overlooked=True),
        Choice("replay", "there is a replay buffer of my own", leans={"replay-degenerate": 1.0}, overlooked=True),
        Choice("exploration", "exploration ends within the first tenth of the training",
               leans={"exploration-gone": 2.0}, overlooked=True),
        Choice("actions", "actions are continuous and I scale or clip them myself",
               leans={"action-scale-wrong": 1.2}, overlooked=True),
    ),
    seconds=15,
    about=("reward-flat", "reward-falls", "divergence", "plateau", "flat-from-start"),
)  # fmt: skip
