"""runwise's anomaly detection on the rows of a trace."""

from exchange import rows, serve
from runwise import detect_anomalies


def look(trace):  # type: ignore[no-untyped-def]
    history = [{"_step" if k == "step" else k: v for k, v in row.items()} for row in rows(trace)]
    return [
        (f"{a.type}:{'vanish' if 'vanish' in a.message.lower() else a.severity}", 1.0)
        for a in detect_anomalies(history)
    ]


serve(look)
