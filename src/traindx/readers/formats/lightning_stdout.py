"""What PyTorch Lightning says besides its progress bar: every improvement of the metric that early stopping watches.

The bar itself is a tqdm or rich bar that the general rules read. Where a log has no bar (it went to another stream, or
was switched off), these lines are all there is of the validation curve: its running best.
"""

from __future__ import annotations

import re

from traindx.readers.text.dialect import Dialect, Handler, Sink
from traindx.readers.text.tokens import to_float

NAME = "lightning-stdout"
_IMPROVED = re.compile(
    r"\bMetric (\S+) improved(?: by \S+ >= min_delta = \S+)?\. New best score: (-?[\d.]+(?:e[-+]?\d+)?)"
)


_LIMIT = re.compile(r"`Trainer\.fit` stopped: `max_(epochs|steps)=(\d+)` reached")


class Messages(Dialect):
    def take(self, line: str) -> Handler | None:
        if _LIMIT.search(line):
            return self.limit
        return self.improved if _IMPROVED.search(line) else None

    def limit(self, line: str, sink: Sink) -> None:
        match = _LIMIT.search(line)
        if match:
            sink.plan(f"planned_{match.group(1)}", float(match.group(2)))

    def improved(self, line: str, sink: Sink) -> None:
        match = _IMPROVED.search(line)
        if match:
            sink.emit({f"{match.group(1)} (best)": to_float(match.group(2))}, dialect=NAME)


DIALECT = Messages
