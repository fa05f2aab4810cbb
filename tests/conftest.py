"""Shared set-up: the tests' own helper modules are importable, and property tests never fail for being slow."""

from __future__ import annotations

import sys
from pathlib import Path

from hypothesis import settings

sys.path.insert(0, str(Path(__file__).parent))
settings.register_profile("traindx", deadline=None, max_examples=60)
settings.load_profile("traindx")
