"""`from traindx.lightning import TraindxCallback`: see `traindx.live.integrations.lightning`."""

from traindx.live.integrations.lightning import TraindxCallback as TraindxCallback
