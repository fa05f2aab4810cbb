"""What the user sees when something cannot be done, and the exit codes of the command line."""

from __future__ import annotations

EXIT_OK = 0
EXIT_PROBLEM_FOUND = 1
EXIT_UNUSABLE_INPUT = 2
EXIT_BUG = 3  # a fault of ours, never of the input


class TraindxError(Exception):
    """The input could not be used: `message` says what was found and where, `hint` what to do next."""

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint

    def __str__(self) -> str:
        return f"{self.message} {self.hint}".strip()
