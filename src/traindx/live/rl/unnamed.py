"""Roles of variables whose names say nothing. What the target of a value or a return was made of is found by trying the
recursions on the numbers of all variables: a relation that holds to the last digits on every row is no accident.
Log-probabilities and ratios are known by their operations."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from itertools import combinations

import torch

from traindx.live.rl.by_graph import is_log_probability, is_ratio
from traindx.live.rl.frames import Variables
from traindx.live.rl.part import here
from traindx.live.rl.relations import DIFFERS, FITS, MIN_ROWS, Relation, affine_recursion

MOST_COLUMNS = 14  # variables that are tried
MOST_LISTS = 10
MOST_PAIRED = 6
KEPT_BATCHES = 8
KEPT_ROWS = 32  # of each
GOAL = ""  # no variable has this name
DISTINCT = 3  # next values: two lie on a line with any others
LEAST_GROUP = 3  # of two, one is always the other less the mean and in other units
CENTRED = 1e-3  # of the spread: what a mean that was subtracted leaves
SMALLEST_DISCOUNT = 0.01  # a smaller one is a rounding of nothing
WHOLE = 1e-4  # so near to 1 it is a sum of two parts, which any difference and its own parts are
SAME = 1e-7  # of the size of a column
Column = tuple[str, torch.Tensor]


def name_by_graph(found: Variables) -> None:
    """Give log-probabilities and ratios their roles, where names did not."""
    if not _has_graded(found, "logprob"):
        logs = [pair for pair in found.others if pair[1].numel() > 1 and is_log_probability(pair[1].grad_fn)]
        if logs:
            found.tensors.setdefault("logprob", []).extend(logs[:1])
    if not _has_graded(found, "ratio"):
        ratios = [pair for pair in found.others if is_ratio(pair[1].grad_fn)]
        if ratios:
            found.tensors.setdefault("ratio", []).extend(ratios[:1])


def _has_graded(found: Variables, role: str) -> bool:
    return any(one.grad_fn is not None for _, one in found.all(role)) or role in found.parts


class Batches:
    """A few rows of earlier targets and of what stood beside them: one batch may hold a single transition."""

    def __init__(self) -> None:
        self._kept: deque[dict[str, torch.Tensor]] = deque(maxlen=KEPT_BATCHES)

    def with_earlier(self, goal: torch.Tensor, columns: list[Column]) -> tuple[torch.Tensor, list[Column]]:
        """The same variables over these rows and those before. What says nothing new pushes nothing out."""
        known = {value for one in self._kept for value in one[GOAL].tolist()}
        if not known.issuperset(goal[:KEPT_ROWS].tolist()):
            self._kept.append({name: one[:KEPT_ROWS] for name, one in [(GOAL, goal), *columns]})
        shared = set.intersection(*(set(one) for one in self._kept))
        whole = {name: torch.cat([one[name] for one in self._kept]) for name in shared}
        return whole[GOAL], [(name, whole[name]) for name, _ in columns if name in shared]


def name_transition(
    target: torch.Tensor, found: Variables, batches: Batches
) -> tuple[Relation, tuple[str, ...]] | None:
    """target = reward + discount x next value, and the names of these; the roles are given to the variables."""
    goal = here(target).reshape(-1).double()
    columns = [pair for pair in _columns(found, len(goal)) if not _same(pair[1], goal)]
    if len(goal) < MIN_ROWS:
        return None
    several = batches.with_earlier(goal, columns)
    seen = _transition(goal, columns) or _transition(*several)
    if seen is None:
        return None
    relation, roles = seen
    rows = dict([*columns, *_lesser(columns)])
    for role, name in roles.items():
        if name in rows:
            found.tensors.setdefault(role, []).append((name, rows[name]))
    return relation, tuple(roles.values())


def _transition(goal: torch.Tensor, columns: list[Column]) -> tuple[Relation, dict[str, str]] | None:
    """The relation, and which name has which role."""
    flags = [pair for pair in columns if _is_flag(pair[1])]
    numbers = [pair for pair in columns if not _is_flag(pair[1]) and float(pair[1].std()) > 0]
    numbers += _lesser(numbers)
    if not numbers or float(goal.std()) == 0:
        return None
    for done in [*flags, None]:
        fit = _fit(goal, [pair for pair in columns if pair is not done], numbers, done)
        if fit is None:
            continue
        discount, reward, following = fit
        ended = done or next((flag for flag in flags if _apart(reward[1], flag[1])), None)
        relation = _relation(goal, discount, reward, following, ended)
        pairs = (("reward", reward), ("done", ended), ("next_value", following))
        return relation, {role: pair[0] for role, pair in pairs if pair is not None}
    return None


def _lesser(numbers: Sequence[Column]) -> list[Column]:
    """The lesser of each two: of two critics the smaller value counts."""
    pairs = combinations(numbers[-MOST_PAIRED:], 2)
    return [(f"min({one}, {other})", torch.minimum(first, second)) for (one, first), (other, second) in pairs]


def name_rewards(rows: int, found: Variables) -> None:
    """Rewards and the advantages made of them: within each group one is the other, less its mean and in other units."""
    if found.first("advantage") is not None and found.first("reward") is not None:
        return
    columns = [pair for pair in _columns(found, rows) if float(pair[1].std()) > 0]
    for size in _group_sizes(rows, found):
        for name, advantage in columns:
            groups = advantage.view(-1, size)
            if float(groups.mean(1).abs().max()) > CENTRED * float(advantage.std()):
                continue
            reward = next((pair for pair in columns if _is_made_of(groups, pair[1].view(-1, size))), None)
            if reward is not None:
                found.tensors.setdefault("reward", []).append(reward)
                found.tensors.setdefault("advantage", []).append((name, advantage))
                found.settings.setdefault("group", ("", float(size)))
                return


def _group_sizes(rows: int, found: Variables) -> list[int]:
    reported = found.setting("group")
    shapes = [one.shape[1] for _, one in _plain(found) if one.dim() == 2 and one.numel() == rows]
    sizes = [int(reported)] if reported is not None else []
    return [size for size in dict.fromkeys([*sizes, *shapes, rows]) if size >= LEAST_GROUP and rows % size == 0]


def _is_made_of(groups: torch.Tensor, rewards: torch.Tensor) -> bool:
    """Whether the numbers of every group are these rewards less their mean, in other units of one sign."""
    means = rewards.mean(1, keepdim=True)
    if float(means.abs().max()) <= CENTRED * float(rewards.std()):
        return False  # advantages themselves
    left = rewards - means
    sizes = left.norm(dim=1) * groups.norm(dim=1)
    spread = sizes > SAME
    if not bool(spread.any()):
        return False
    alike = (left * groups).sum(1)[spread] / sizes[spread]
    return bool((alike > 1 - CENTRED).all() or (alike < CENTRED - 1).all())


def name_returns(found: Variables) -> tuple[float, bool, int, tuple[str, ...]] | None:
    """The discount of a list of returns, whether they were summed from the beginning on, the steps of the episode, and
    the names; the returns get their role."""
    lists = [(name, one.double()) for name, one in found.lists if len(one) > MIN_ROWS][:MOST_LISTS]
    tensors = [(name, here(one).double()) for name, one in _plain(found) if one.dim() == 1 and len(one) > MIN_ROWS]
    for name, returns in [*lists, *tensors[:MOST_COLUMNS]]:
        if float(returns.std()) == 0:
            continue
        for earned_name, earned in lists:
            if len(earned) != len(returns) or earned_name == name:
                continue
            back, forth = affine_recursion(returns, earned), affine_recursion(returns.flip(0), earned.flip(0))
            discount = _likelier(back, forth)
            if discount is not None:
                _give_returns(found, name, returns)
                return discount, discount is not back, len(earned), (name, earned_name)
    return None


def _likelier(back: float | None, forth: float | None) -> float | None:
    """Of equal rewards both directions fit, one with the inverse of the other's factor: a discount is below 1."""
    fits = [one for one in (back, forth) if one is not None and one > SMALLEST_DISCOUNT]
    return min(fits, default=None)


def _give_returns(found: Variables, name: str, returns: torch.Tensor) -> None:
    """Also to a batch of several episodes that ends with these."""
    found.tensors.setdefault("return", []).append((name, returns.float()))
    for other, one in [*_plain(found), *found.lists]:
        if one.dim() == 1 and len(one) > len(returns) and torch.allclose(here(one).double()[-len(returns) :], returns):
            found.tensors["return"].append((other, one))


def _plain(found: Variables) -> Iterator[Column]:
    for pairs in (*found.tensors.values(), found.others):
        for name, one in pairs:
            if not one.requires_grad:
                yield name, one


def _columns(found: Variables, rows: int) -> list[Column]:
    seen: list[Column] = []
    for name, one in _plain(found):
        if one.numel() != rows or one.dtype is torch.long or len(seen) >= MOST_COLUMNS:
            continue
        column = here(one).reshape(-1).double()
        if bool(torch.isfinite(column).all()) and not any(_same(column, other) for _, other in seen):
            seen.append((name, column))
    return seen


def _fit(
    goal: torch.Tensor, rewards: Sequence[Column], values: Sequence[Column], done: Column | None
) -> tuple[float, Column, Column] | None:
    """The discount, the reward and the next value that explain every row that goes on, and none that has ended."""
    on = done[1] < 0.5 if done is not None else torch.ones_like(goal, dtype=torch.bool)
    if int(on.sum()) < MIN_ROWS or (done is not None and bool(on.all())):
        return None
    for reward in rewards:
        rest = goal - reward[1]
        scale = float(rest[on].abs().mean())
        if scale == 0 or (done is not None and float(rest[~on].abs().max()) > FITS * scale):
            continue
        for value in values:
            if value is reward or len(set(value[1][on].tolist())) < DISTINCT:
                continue
            discount = float(value[1][on] @ rest[on]) / max(float(value[1][on] @ value[1][on]), 1e-300)
            if not SMALLEST_DISCOUNT < discount < 1.5 or (done is None and abs(discount - 1) < WHOLE):
                continue
            if float((rest[on] - discount * value[1][on]).abs().max()) <= FITS * scale:
                return discount, reward, value
    return None


def _relation(goal: torch.Tensor, discount: float, reward: Column, following: Column, ended: Column | None) -> Relation:
    if ended is None:
        return Relation(discount, 0, 0)
    rows = ended[1] > 0.5
    rest, carried = (goal - reward[1])[rows], discount * following[1][rows]
    scale = float((goal - reward[1]).abs().mean())
    large = carried.abs() > DIFFERS * scale
    return Relation(discount, int(large.sum()), int((large & ((rest - carried).abs() <= FITS * scale)).sum()))


def _is_flag(column: torch.Tensor) -> bool:
    return bool(((column == 0) | (column == 1)).all())


def _apart(reward: torch.Tensor, flag: torch.Tensor) -> bool:
    """Whether what is flagged earns more or less than anything else: the end of an episode, and not an action."""
    inside, outside = reward[flag > 0.5], reward[flag <= 0.5]
    if not len(inside) or not len(outside):
        return False
    return float(inside.min()) > float(outside.max()) or float(inside.max()) < float(outside.min())


def _same(one: torch.Tensor, other: torch.Tensor) -> bool:
    return float((one - other).abs().max()) <= SAME * max(float(other.abs().max()), 1e-300)
