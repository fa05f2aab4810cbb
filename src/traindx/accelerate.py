"""`from traindx.accelerate import TraindxTracker`: see `traindx.live.integrations.accelerate`."""

from traindx.live.integrations.accelerate import TraindxTracker as TraindxTracker
