"""Shared set-up: the tests' own helper modules are importable, and property tests never fail for being slow."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from hypothesis import settings

os.environ["TRAINDX_CASES"] = "off"  # tests must neither read nor write the case book of who runs them
sys.path.insert(0, str(Path(__file__).parent))
settings.register_profile("traindx", deadline=None, max_examples=60)
settings.load_profile("traindx")
