"""How returns, advantages and targets follow from rewards: found by trying the recursions on the numbers."""

from __future__ import annotations

from dataclasses import dataclass

import torch

FITS = 1e-3  # of the mean size of what is explained: rounding of sums over an episode stays below this
EXACT = 1e-4  # of the spread of what is explained: single precision of numbers that were normalised
DIFFERS = 0.02  # the same: from here on it makes a difference whether the next value is counted
MIN_ROWS = 8  # steps that go on, from which a discount can be known
MAX_DISCOUNT = 1.5  # a number beyond this is no discount


@dataclass(frozen=True, slots=True)
class Relation:
    """`ends` rows lie at the end of an episode, and `through` of them count what comes after it."""

    discount: float
    ends: int
    through: int


def of_next_value(
    target: torch.Tensor, reward: torch.Tensor, done: torch.Tensor, following: torch.Tensor
) -> Relation | None:
    """target = reward + discount x next value, for all rows that are not done; None where it does not hold."""
    target, reward, done, following = (one.detach().reshape(-1).double() for one in (target, reward, done, following))
    ended = done > 0.5
    rest = target - reward
    on = ~ended
    if int(on.sum()) < MIN_ROWS or float(following[on].abs().max()) == 0:
        return None
    discount = _fit(following[on], rest[on])
    scale = float(rest[on].abs().mean())
    if discount is None or scale == 0 or float((rest[on] - discount * following[on]).abs().max()) > FITS * scale:
        return None
    counted = (rest[ended] - discount * following[ended]).abs() <= FITS * scale
    large = (discount * following[ended]).abs() > DIFFERS * scale  # else both ways give the same number
    return Relation(discount, int(large.sum()), int((counted & large).sum()))


def of_returns(returns: torch.Tensor, reward: torch.Tensor, done: torch.Tensor | None) -> Relation | None:
    """return(t) = reward(t) + discount x return(t + 1) along the first dimension, cut at ends of episodes."""
    shaped = _in_time(returns, reward)
    if shaped is None:
        return None
    given, earned = shaped
    ended = _ends(done, given) if done is not None else torch.zeros_like(given, dtype=torch.bool)
    best: Relation | None = None
    for cut in _conventions(ended):
        following = torch.where(cut[:-1], torch.zeros_like(given[1:]), given[1:])
        found = _recursion(given[:-1] - earned[:-1], following, given[1:], cut[:-1])
        if found is not None and (best is None or found.through < best.through):
            best = found
    return best


def of_advantages(
    advantage: torch.Tensor, reward: torch.Tensor, value: torch.Tensor, done: torch.Tensor, gamma: float, lam: float
) -> Relation | None:
    """Generalised advantages: A(t) = r(t) + gamma V(t + 1) - V(t) + gamma lambda A(t + 1), cut at ends of episodes."""
    if advantage.shape != reward.shape or value.shape != reward.shape or done.shape != reward.shape:
        return None
    a, r, v = (one.detach().double().reshape(len(one), -1) for one in (advantage, reward, value))
    if len(a) <= MIN_ROWS:
        return None
    ended = done.detach().reshape(len(done), -1) > 0.5
    carried = gamma * (v[1:] + lam * a[1:])
    left = a[:-1] - r[:-1] + v[:-1]
    scale = float(left.abs().mean())
    if scale == 0:
        return None
    fits = (left - carried).abs() <= FITS * scale
    stops = left.abs() <= FITS * scale
    for cut in (ended[:-1], ended[1:]):
        differs = cut & (carried.abs() > DIFFERS * scale)
        if bool(fits[~cut].all()) and int(differs.sum()) and bool((fits | stops)[differs].all()):
            return Relation(gamma, int(differs.sum()), int((fits & differs).sum()))
    return None


def _conventions(ended: torch.Tensor) -> tuple[torch.Tensor, ...]:
    """A flag at t may say that the episode ends with step t, or that it ended before it."""
    later = torch.cat([ended[1:], torch.ones_like(ended[:1])])
    return (ended, later) if bool(ended.any()) else (ended,)


def _recursion(rest: torch.Tensor, following: torch.Tensor, uncut: torch.Tensor, cut: torch.Tensor) -> Relation | None:
    on = ~cut
    if int(on.sum()) < MIN_ROWS or float(following[on].abs().max()) == 0:
        return None
    discount = _fit(following[on], rest[on])
    scale = float(rest.abs().mean())
    if discount is None or scale == 0 or float((rest[on] - discount * following[on]).abs().max()) > FITS * scale:
        return None
    large = (discount * uncut[cut]).abs() > DIFFERS * scale
    through = (rest[cut] - discount * uncut[cut]).abs() <= FITS * scale
    stops = rest[cut].abs() <= FITS * scale
    if not bool((through | stops)[large].all()):
        return None
    return Relation(discount, int(large.sum()), int((through & large).sum()))


def _fit(x: torch.Tensor, y: torch.Tensor) -> float | None:
    """The slope of a line through zero, where it may be a discount."""
    below = float((x * x).sum())
    slope = float((x * y).sum()) / below if below > 0 else 0.0
    return slope if 0 <= slope <= MAX_DISCOUNT else None


def _in_time(returns: torch.Tensor, reward: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor] | None:
    if returns.shape != reward.shape or not returns.dim() or len(returns) <= MIN_ROWS:
        return None
    return returns.detach().double().reshape(len(returns), -1), reward.detach().double().reshape(len(reward), -1)


def _ends(done: torch.Tensor, like: torch.Tensor) -> torch.Tensor:
    flags = done.detach().reshape(len(done), -1) > 0.5
    return flags if flags.shape == like.shape else torch.zeros_like(like, dtype=torch.bool)


def affine_recursion(returns: torch.Tensor, reward: torch.Tensor) -> float | None:
    """The factor of return(t) = factor x return(t + 1) + weight x reward(t) + constant, as it also holds for returns
    that were normalised; None where it does not hold, or would without any reward."""
    given, following, earned = returns[:-1], returns[1:], reward[:-1]
    spread = float(given.std())
    varied = float(earned.std()) > 0
    if not spread or (not varied and not float(earned[0])):
        return None
    ones = torch.ones_like(given)
    columns = [following, ones, earned] if varied else [following, ones]
    factors, worst = _solve(columns, given)
    if worst > EXACT * spread or not 0 <= factors[0] <= MAX_DISCOUNT or abs(factors[0] - 1) < EXACT:
        return None
    if varied and (_solve(columns[:2], given)[1] <= EXACT * spread or abs(factors[0] + factors[2] - 1) < EXACT):
        return None  # a schedule, or a moving average
    return factors[0]


def _solve(columns: list[torch.Tensor], goal: torch.Tensor) -> tuple[list[float], float]:
    """Factors of the columns that add up to the goal, and by how much one row of it is missed."""
    table = torch.stack(columns, 1)
    factors = torch.linalg.lstsq(table, goal[:, None], driver="gelsd").solution
    return factors[:, 0].tolist(), float((table @ factors - goal[:, None]).abs().max())


def correlation(x: torch.Tensor, y: torch.Tensor) -> float | None:
    """Pearson's; None where one of them does not vary."""
    x, y = x.detach().reshape(-1).double(), y.detach().reshape(-1).double()
    x, y = x - x.mean(), y - y.mean()
    sizes = float(x.norm() * y.norm())
    return float((x * y).sum()) / sizes if sizes > 0 and len(x) > 2 else None
