"""`from traindx.optax import record`: see `traindx.live.integrations.optax`."""

from traindx.live.integrations.optax import record as record
