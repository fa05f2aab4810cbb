"""The example of torchcde: a neural controlled differential equation tells clockwise from anticlockwise spirals."""

from recipe import Recipe, Result

RECIPE = Recipe(
    repository="patrick-kidger/torchcde",
    commit="9ff6aba4738989dc5fe3aee86d45812c318f6231",
    kind="neural differential equation, own loop",
    needs=("torchdiffeq", "torchsde"),
    command=("example/time_series_classification.py",),
    files=("example/time_series_classification.py",),
    seconds=11,
    shorten=(
        ("example/time_series_classification.py", r"num_timepoints=100", "num_timepoints=30"),
        (
            "example/time_series_classification.py",
            r"t=X\.interval\)",
            't=X.interval, method="rk4", options=dict(step_size=1.0), adjoint=False)',
        ),
    ),
    result=Result(r"Test Accuracy: (\S+)", "higher"),
    environment={"PYTHONPATH": "."},
)
