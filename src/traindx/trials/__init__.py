"""Trials: a fix is applied to a copy, run beside the unchanged training and judged. The only code that changes
anything."""
