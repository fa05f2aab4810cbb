"""Frameworks on one thread each: these trainings are far too small for more."""

from __future__ import annotations

import sys

import pytest


@pytest.fixture(autouse=True)
def _one_thread() -> None:
    if "torch" in sys.modules:
        sys.modules["torch"].set_num_threads(1)
