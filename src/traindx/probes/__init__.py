"""Probes: measure a model on its own data, change nothing, and say what was found as facts. One file a probe in
`kinds/`.

`capture` finds what a script trains and how its loss is computed, `subject` is what probes work on, `runner` runs them.
"""

from __future__ import annotations

from traindx.probes.kinds import probes as probes
