"""Where the time goes."""

from __future__ import annotations

from traindx.questions.base import Choice, Question

QUESTION = Question(
    id="slow-where",
    text="Where does the time of a step go?",
    why="Data, device and waiting are different faults: nvidia-smi below 50 % means that the device waits for "
    "something.",
    kind="one",
    choices=(
        Choice(
            "not-slow",
            "speed is not the problem",
            absent=("slow-input-pipeline", "loader-at-its-limit", "more-workers-help"),
            usual=0.7,
        ),
        Choice(
            "data",
            "the device waits for data",
            present=("slow-input-pipeline",),
            leans={"slow-data-loading": 0.8},
            usual=0.08,
        ),
        Choice(
            "workers",
            "the device waits for data, and num_workers is 0 or 1",
            present=("slow-input-pipeline", "more-workers-help"),
            usual=0.05,
        ),
        Choice(
            "loader-limit",
            "it waits for data however many workers there are",
            present=("slow-input-pipeline", "loader-at-its-limit"),
            usual=0.03,
        ),
        Choice(
            "sync",
            ".item(), .cpu(), print or logging in every step",
            present=("slow-step", "waits-for-device"),
            leans={"host-sync": 2.0},
            usual=0.08,
        ),
        Choice("transfer", "copying batches to the device takes long", present=("slow-transfer",), usual=0.03),
        Choice(
            "underused",
            "the device is hardly busy; a larger batch takes no longer",
            present=("larger-batch-free",),
            leans={"small-batch-underuse": 1.5},
            usual=0.05,
        ),
        Choice("got-slower", "it got slower over time", present=("throughput-drop",), usual=0.03),
    ),
    seconds=15,
    about=("slow-step",),
)
