"""training-doctor, told every step of a trace."""

from exchange import rows, serve
from training_doctor import Doctor


def look(trace):  # type: ignore[no-untyped-def]
    doctor, found = Doctor(), {}
    for row in rows(trace):
        metrics = {("loss" if k == "train_loss" else k): v for k, v in row.items() if k != "step"}
        for told in doctor.log(step=int(row["step"]), **metrics):
            found[told.detector_name] = max(found.get(told.detector_name, 0.0), told.confidence)
    return sorted(found.items(), key=lambda pair: -pair[1])


serve(look)
