"""`from traindx.huggingface import TraindxCallback`: see `traindx.live.integrations.huggingface`."""

from traindx.live.integrations.huggingface import TraindxCallback as TraindxCallback
