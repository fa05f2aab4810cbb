"""SK-AutoD on the losses of every evaluation."""

from exchange import epochs, serve
from sk_autod import diagnose


def look(trace):  # type: ignore[no-untyped-def]
    train, val = epochs(trace)
    found = [(f.detector_name, f.confidence) for f in diagnose(train, val).findings if f.severity.value != "INFO"]
    return sorted(found, key=lambda pair: -pair[1])


serve(look)
