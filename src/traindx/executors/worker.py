"""The other end of a local worker's pipes: does what it is given until there is nothing more. Only our own process
writes to it, so what it unpickles is ours."""

from __future__ import annotations

import os
import pickle
import signal
import sys

from traindx.executors.base import fault
from traindx.executors.local import receive, send


def main() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches the parent too, and it ends its workers
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # a print in the work must not become part of an answer
    while (message := receive(sys.stdin.buffer)) is not None:
        function, item = pickle.loads(message)
        try:
            answer = pickle.dumps(function(item))
        except Exception as error:
            answer = pickle.dumps(fault(error))
        send(answers, answer)


if __name__ == "__main__":
    main()
