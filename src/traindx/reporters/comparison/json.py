"""The comparison for programs: schema `traindx.comparison/1`."""

from __future__ import annotations

import json

from traindx.comparison.result import Comparison

INDENTED = 50  # runs up to which a person may want to read it


def as_json(comparison: Comparison) -> str:
    indent = 1 if len(comparison.rows) <= INDENTED else None
    return json.dumps(comparison.to_json(), indent=indent, allow_nan=False) + "\n"
