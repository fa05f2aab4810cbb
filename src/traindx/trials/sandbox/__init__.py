"""What keeps an arm of a trial from writing to the user's files and from the network. One mechanism a file, strongest
first: namespaces of the Linux kernel, Landlock, and the guard inside Python, which stops mistakes only.

`choose` says which of them holds on this machine; it is tried out, not assumed. `enter` applies one to this very
process, for good."""

from traindx.trials.sandbox.base import Limits, Sandbox
from traindx.trials.sandbox.choice import choose, enter, sandboxes

__all__ = ["Limits", "Sandbox", "choose", "enter", "sandboxes"]
