"""`from traindx.keras import TraindxCallback`: see `traindx.live.integrations.keras`."""

from traindx.live.integrations.keras import TraindxCallback as TraindxCallback
