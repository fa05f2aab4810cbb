"""What confirmed cases say about the next one before it is looked at: causes that struck here before are likelier
here."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence

from traindx.casebook.case import Case
from traindx.causes import causes
from traindx.engine.context import Hint
from traindx.engine.words import PRIOR_WEIGHT

# The catalogue's own prior counts as this many cases, spread over its causes (a Dirichlet prior): a handful of local
# cases moves it, and cannot drown it.
CATALOGUE_CASES = 200.0
MOST_PER_CASE = 0.35  # log odds that one confirmed case may add
MAX_LOG_ODDS = 1.0  # and that all of them together may: evidence of the run itself weighs more


def counts(cases: Sequence[Case]) -> Mapping[str, int]:
    """How often each cause was confirmed, by a person or by a trial that helped. A script that is diagnosed again and
    again with the same fault is one case of it."""
    known = causes()
    proven = {(case.key or case.source, case.name, case.proven) for case in cases if case.proven != "healthy"}
    return Counter(cause for *_, cause in proven if cause in known)


def prior_hints(cases: Sequence[Case]) -> list[Hint]:
    """One hint for each cause that was confirmed before."""
    table = causes()
    total = sum(PRIOR_WEIGHT[cause.prior] for name, cause in table.items() if name != "healthy")
    confirmed = counts(cases)
    everything = sum(confirmed.values())
    hints = []
    for cause, count in sorted(confirmed.items()):
        pseudo = CATALOGUE_CASES * PRIOR_WEIGHT[table[cause].prior] / total
        odds = min(math.log1p(count / pseudo), MOST_PER_CASE * count, MAX_LOG_ODDS)
        hints.append(Hint(cause, odds, f"{count} of {everything} confirmed cases in the case book had this cause"))
    return hints
