"""ReduceLROnPlateau since torch 2.7."""

from __future__ import annotations

from traindx.known.base import Example, KnownIssue, Signature

ISSUE = KnownIssue(
    id="plateau-scheduler-verbose",
    title="ReduceLROnPlateau no longer takes verbose",
    kind="changed",
    affects=("torch>=2.7",),
    signature=Signature(text=(r"ReduceLROnPlateau\.__init__\(\) got an unexpected keyword argument 'verbose'",)),
    shows_if="a script passes verbose to the scheduler",
    happens="torch 2.7 removed the argument.",
    do="Remove `verbose=...`, and read the rate with `get_last_lr()`.",
    source="https://github.com/opengeos/geoai/issues/182",
    unmistakable=True,
    example=Example(
        versions={"torch": "2.7.0+cu118"},
        outside={"torch": "2.6.0"},
        lines=("TypeError: ReduceLROnPlateau.__init__() got an unexpected keyword argument 'verbose'",),
    ),
)
