"""trainpulse's monitor, told every step of a trace."""

from exchange import rows, serve
from trainpulse import Monitor


def look(trace):  # type: ignore[no-untyped-def]
    monitor, found = Monitor(), {}
    for row in rows(trace):
        for name, told in (("train_loss", "loss"), ("lr", "learning_rate"), ("grad_norm", "gradient_norm")):
            if name in row:
                monitor.log(told, int(row["step"]), row[name])
    for alert in monitor.alerts:
        what = "vanish" if "vanish" in alert.message.lower() else alert.severity.value
        found[f"{alert.detector}:{what}"] = found.get(f"{alert.detector}:{what}", 0) + 1
    critical = sorted(found, key=lambda name: (not name.endswith("critical"), -found[name]))
    return [(name, 1.0) for name in critical]


serve(look)
