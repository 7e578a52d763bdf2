"""The parts of an explanation that depend on the method: a few columns and words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from nearlabel.lazy._votes import Neighbors, Votes
from nearlabel.utils.types import BoolArray, FloatArray, IntArray, Table

_NOTHING: Mapping[str, Any] = MappingProxyType({})


class Evidence(NamedTuple):
    """One query as a rule sees it: its neighbours, and the listed labels with their votes."""

    neighbors: Neighbors  # of the one query
    votes: Votes  # cells (n_listed,), `label` ascending; rows and label sets are the rule's input for one query
    weights: FloatArray | None  # (n_neighbors,): of the neighbours' votes; None: one vote each
    carriers: IntArray  # (n_neighbors, n_listed), 0 and 1
    n_votes: IntArray  # (n_listed,): how many votes; the neighbours that carry the label, whatever their weight
    chosen: BoolArray  # (n_listed,)


class Account(NamedTuple):
    """The parts of an explanation of one query that methods add; a rule of votes leaves votes, scores and flips out.

    `rule` describes which labels are predicted, `scores` how scores are computed (None: as shares of the votes), and
    `change` which change would change a decision.
    """

    rule: str = "by a rule on the scores of all labels"
    scores: str | None = None
    change: str = ""
    columns: Table = _NOTHING  # of the listed labels
    shown: Sequence[str] = ()  # which of these columns the text shows
    settings: Mapping[str, Any] = _NOTHING
    labelsets: Table = _NOTHING
    terms: Table = _NOTHING
    neighbors: Table = _NOTHING
    threshold: Any = np.nan  # of all labels, or of each listed one; NaN where no threshold decides


def bayes_account(bayes: Any, counts: Table, **others: Any) -> Account:
    """Return the account of a rule that decides by Bayes' rule from counted rows.

    Takes the probabilities of the listed labels, each (2, n_listed), and the columns of their counts.
    """
    columns = {
        "prior": bayes.priors[1],
        "prior_without": bayes.priors[0],
        "likelihood": bayes.likelihood[1],
        "likelihood_without": bayes.likelihood[0],
    }
    return Account(
        columns={**columns, **counts},
        shown=("prior", "likelihood", "likelihood_without"),
        threshold=0.5,
        **others,
    )


def share_nearer(distances: FloatArray, usual: FloatArray) -> FloatArray:
    """Return, for each mean distance of a query, the share of usual ones (n_samples,) that are below it."""
    return np.asarray(np.searchsorted(np.sort(usual), distances, side="left") / len(usual))
