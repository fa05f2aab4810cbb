"""JAX: `optimizer = record(optax.adam(1e-3))`, used like the optimiser it wraps, with `optimizer.collect(opt_state)` in
the loop.

Inside the compiled step norms are computed and put into a small table in the optimiser's state, nothing else; `collect`
copies the table every few dozen steps and reads the copy when it has arrived, so that nothing waits for the device. A
callback from inside the step would save the call of `collect`, but takes the whole step off JAX's fast path: a
millisecond a step, five times the time of a small one (docs/frameworks.md has the figures)."""

from __future__ import annotations

import atexit
from collections import deque
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from traindx.diagnosis import Diagnosis
from traindx.live.host.saying import say
from traindx.live.integrations.standalone import Recording

if TYPE_CHECKING:
    jax: Any
    jnp: Any
    optax: Any

    class _Transformation(NamedTuple):
        init: Any
        update: Any
else:
    import jax
    import jax.numpy as jnp
    import optax

    _Transformation = optax.GradientTransformationExtraArgs

KEEP = 50  # steps whose numbers wait in the state to be collected
MAX_PARAMETERS = 60  # parameters with series of their own
PENDING = 4  # copies under way; the device is that many tables behind before anything waits for it
_WHOLE = ("train_loss", "lr", "grad_norm")
_EACH = ("grad_norm", "weight_norm", "update_ratio")


class RecordState(NamedTuple):
    """The wrapped optimiser's state, the updates so far, and what the last of them measured."""

    inner: Any
    count: Any
    table: Any


class Recorded(_Transformation):
    """An optimiser whose training is recorded. `finish` ends the recording and prints the diagnosis, which the end of
    the script does too; `diagnosis` holds it."""

    collector: Collector

    @property
    def diagnosis(self) -> Diagnosis:
        return self.collector.diagnosis

    def collect(self, state: Any) -> None:
        """Take what has been measured out of the optimiser's state (or of whatever holds it, such as a train state). To
        be called once a step, or at least once every `keep` steps: what is older is lost."""
        self.collector.collect(state)

    def log(self, **metrics: Any) -> None:
        """Metrics that only the script knows: `optimizer.log(val_loss=0.31, val_accuracy=0.9)`."""
        self.collector.hold({name: float(value) for name, value in metrics.items()})

    def finish(self, state: Any = None) -> Diagnosis | None:
        """The training is over. With its last state the very last steps are recorded too."""
        return self.collector.finish(state)


def record(
    optimizer: Any, to: str | Path | None = None, *, config: Mapping[str, Any] | None = None, report: bool = True,
    keep: int = KEEP,
) -> Recorded:  # fmt: skip
    """Record a training from its optimiser: gradient and parameter norms and update ratios by parameter, the learning
    rate where `optax.inject_hyperparams` keeps it, and the loss where `update` is given it as `value=` or `loss=`.

    `to`: where to record, optax.traindx by default; `config`: settings to keep with it, such as the learning rate;
    `keep`: how many steps the state holds, more where many steps run in one `jax.lax.scan`."""
    inner = optax.with_extra_args_support(optimizer)
    collector = Collector(to, config or {}, report, keep)

    def init(params: Any) -> RecordState:
        width = len(_WHOLE) + len(_EACH) * len(_chosen(params))
        table = jnp.full((keep, width), jnp.nan, jnp.float32)
        return RecordState(inner.init(params), jnp.zeros((), jnp.int32), table)

    def update(gradients: Any, state: RecordState, params: Any = None, **extra: Any) -> tuple[Any, RecordState]:
        loss = extra.pop("loss", extra.get("value"))
        updates, after = inner.update(gradients, state.inner, params, **extra)
        measured = _measure(gradients, updates, params, loss, _rate(after))
        collector.columns = tuple(measured)
        row = jnp.stack([jnp.asarray(value, jnp.float32).reshape(()) for value in measured.values()])
        table = jax.lax.dynamic_update_slice(state.table, row[None], (state.count % keep, 0))
        return updates, RecordState(after, state.count + 1, table)

    recorded = Recorded(init, update)
    recorded.collector = collector
    return recorded


class Collector:
    """The host's side: copies tables, and writes their rows when they have arrived."""

    def __init__(self, to: str | Path | None, config: Mapping[str, Any], report: bool, keep: int) -> None:
        self.columns: Sequence[str] = ()  # what the columns of the table are, known when the step is traced
        self._recording = Recording("optax", to, 0.01, report)
        self._recording.last_words = partial(self._receive, wait=True)
        self._recording.knows_cost = False  # the norms are computed in the step
        self._config, self._keep = config, keep
        self._pending: deque[tuple[Any, Any, int]] = deque()  # count, table, calls since the copy before
        self._calls = 0  # since the last copy
        self._patience = 1  # calls between two copies
        self._next = 0  # the update that comes next
        self._held: dict[str, float] = {}
        self._collected = False
        atexit.register(self._remind)

    @property
    def diagnosis(self) -> Diagnosis:
        self._receive(wait=True)
        return self._recording.diagnosis

    def hold(self, metrics: Mapping[str, float]) -> None:
        """Keep metrics for the next row that is written: those of the steps before it are still on their way."""
        self._held.update(metrics)

    def collect(self, state: Any) -> None:
        self._calls += 1
        if self._calls < self._patience:
            return
        with self._recording.look():
            self._receive()
            for found in _states(state)[:1]:
                # the next step may be given the state's own memory to write to
                count, table = jnp.copy(found.count), jnp.copy(found.table)
                count.copy_to_host_async()
                table.copy_to_host_async()
                self._pending.append((count, table, self._calls))
                self._calls, self._collected = 0, True

    def finish(self, state: Any) -> Diagnosis | None:
        self._receive(wait=True)
        for found in _states(state)[:1]:
            self._take(found.count, found.table, 1)
            self._collected = True
        ran = self._next > 0
        self._close()
        return self._recording.diagnosis if ran else None

    def _receive(self, *, wait: bool = False) -> None:
        """Take the copies that have arrived; with `wait` all of them."""
        while self._pending and (wait or len(self._pending) > PENDING or self._pending[0][1].is_ready()):
            self._take(*self._pending.popleft())

    def _take(self, count: Any, table: Any, calls: int) -> None:
        """Write the rows that are new; `count` is the number of updates so far."""
        last = int(count)
        if last < self._next:  # a new training with the same optimiser
            self._close()
        if last == self._next:
            return
        if not self._recording.running:
            self._recording.begin(jax=jax.__version__, optax=optax.__version__)
            self._recording.config(self._config)
        rows = np.asarray(table, dtype=np.float64)
        first = max(self._next, last - self._keep)
        for step in range(first, last):
            held, self._held = self._held, {}
            self._recording.row(step, {**self._values(rows[step % self._keep]), **held})
        # a step a call, or many: the table is to be copied before it is full
        self._patience = max(1, self._keep * calls // (2 * (last - self._next)))
        self._next = last

    def _close(self) -> None:
        if self._held and self._recording.running:
            self._recording.row(self._next, self._held)
        self._held, self._next, self._patience = {}, 0, 1
        self._recording.end()

    def _remind(self) -> None:
        if self.columns and not self._collected:
            reported = "nothing was recorded: call optimizer.collect(opt_state) in the training loop."
            say(reported)

    def _values(self, row: Any) -> dict[str, float]:
        """By name; a parameter of zeros has no ratio."""
        values = {name: float(value) for name, value in zip(self.columns, row, strict=False)}
        return {
            name: value for name, value in values.items() if not (name.startswith("update_ratio") and np.isnan(value))
        }


def _measure(gradients: Any, updates: Any, params: Any, loss: Any, rate: Any) -> dict[str, Any]:
    """The columns of one step, by name."""
    found: dict[str, Any] = {} if loss is None else {"train_loss": loss}
    if rate is not None:
        found["lr"] = rate
    every = [_square(leaf) for leaf in jax.tree_util.tree_leaves(gradients) if _is_real(leaf)]
    if every:
        found["grad_norm"] = jnp.sqrt(sum(every))
    changes = dict(_chosen(updates))
    weights = dict(_chosen(params)) if params is not None else {}
    for name, gradient in _chosen(gradients):
        found[f"grad_norm/{name}"] = jnp.sqrt(_square(gradient))
        if name in weights and name in changes:
            size = jnp.sqrt(_square(weights[name]))
            found[f"weight_norm/{name}"] = size
            found[f"update_ratio/{name}"] = jnp.where(size > 0, jnp.sqrt(_square(changes[name])) / size, jnp.nan)
    return found


def _square(leaf: Any) -> Any:
    return jnp.sum(jnp.square(jnp.abs(leaf).astype(jnp.float32)))


def _is_real(leaf: Any) -> bool:
    return hasattr(leaf, "dtype") and bool(jnp.issubdtype(leaf.dtype, jnp.inexact)) and leaf.size > 0


def _chosen(tree: Any) -> list[tuple[str, Any]]:
    """The leaves with series of their own, by name, spread over the tree where there are many."""
    leaves = [
        (_name(path), leaf) for path, leaf in jax.tree_util.tree_flatten_with_path(tree)[0] if _is_real(leaf)
    ]  # fmt: skip
    if len(leaves) > MAX_PARAMETERS:
        leaves = [leaves[round(i * (len(leaves) - 1) / (MAX_PARAMETERS - 1))] for i in range(MAX_PARAMETERS)]
    return leaves


def _name(path: Sequence[Any]) -> str:
    """'params.Dense_0.kernel' for the keys that lead to a leaf."""
    keys = (getattr(key, "key", getattr(key, "name", getattr(key, "idx", key))) for key in path)
    return ".".join(str(key) for key in keys) or "params"


def _rate(state: Any) -> Any:
    """The learning rate, where the state keeps one."""
    get = getattr(optax.tree_utils, "tree_get_all_with_path", None)
    found = [value for _, value in get(state, "learning_rate")] if get is not None else []
    return next((value for value in found if _is_real(value) and value.shape == ()), None)


def _states(tree: Any) -> list[RecordState]:
    """Our states in whatever holds them."""
    leaves = jax.tree_util.tree_leaves(tree, is_leaf=lambda one: isinstance(one, RecordState))
    return [leaf for leaf in leaves if isinstance(leaf, RecordState)]
