"""What a method tells the explanation of one query: a few columns and words; all else is common to all methods."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from nearlabel.lazy._votes import Neighbors, Votes
from nearlabel.utils.types import BoolArray, FloatArray, IntArray, Matrix, Table

_NOTHING: Mapping[str, Any] = MappingProxyType({})


class Evidence(NamedTuple):
    """One query as a rule sees it: its neighbours, and the listed labels with their votes."""

    neighbors: Neighbors  # of the one query
    votes: Votes  # cells (n_listed,): `label` are the listed labels' column numbers, ascending
    carriers: IntArray  # (n_neighbors, n_listed), 0 and 1
    n_votes: IntArray  # (n_listed,): how many votes; the neighbours that carry the label, whatever their weight
    chosen: BoolArray  # (n_listed,)


class Account(NamedTuple):
    """What a rule shows of one query besides votes, scores and flips.

    `rule` says in words which labels are chosen, `scores` how scores come about (None: as shares of the votes).
    """

    rule: str = "by a rule on the scores of all labels"
    scores: str | None = None
    columns: Table = _NOTHING  # of the listed labels
    shown: Sequence[str] = ()  # which of these columns the text shows
    settings: Mapping[str, Any] = _NOTHING
    labelsets: Table = _NOTHING
    terms: Table = _NOTHING
    neighbors: Table = _NOTHING
    threshold: float = np.nan  # NaN where no threshold decides


def bayes_account(counts: Any, bayes: Any, evidence: Evidence, **others: Any) -> Account:
    """Return the account of a rule that decides by Bayes' rule from counted rows.

    Takes the counts (2, n_listed, n_counts) of the listed labels and the probabilities that they give.
    """
    now = np.arange(len(evidence.n_votes)), evidence.n_votes
    columns = {
        "prior": bayes.priors[1, :, 0],
        "prior_without": bayes.priors[0, :, 0],
        "likelihood": bayes.likelihood[1][now],
        "likelihood_without": bayes.likelihood[0][now],
    }
    return Account(
        columns={**columns, **dict(zip(("without_at", "with_at"), counts, strict=True))},
        shown=("prior", "likelihood", "likelihood_without"),
        threshold=0.5,
        **others,
    )


def column_of(values: list[Any]) -> NDArray[Any]:
    """Return a column of any objects, such as tuples or missing numbers."""
    column = np.empty(len(values), dtype=object)
    column[:] = values
    return column


def labelset_columns(labelsets: Matrix, names: NDArray[Any]) -> Table:
    """Return the columns `labels` and `names` of label sets (n_sets, n_labels): tuples of numbers, and of names."""
    rows = sparse.csr_array(labelsets)
    rows.sort_indices()
    numbers = np.split(rows.indices, rows.indptr[1:-1])
    columns = [tuple(some.tolist()) for some in numbers], [tuple(names[some].tolist()) for some in numbers]
    return dict(zip(("labels", "names"), map(column_of, columns), strict=True))


def share_nearer(distances: FloatArray, usual: FloatArray) -> FloatArray:
    """Return, for each mean distance of a query, the share of usual ones (n_samples,), ascending, that are below it."""
    return np.asarray(np.searchsorted(usual, distances, side="left") / len(usual))
