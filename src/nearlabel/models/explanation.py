"""An explanation: the neighbours of one query, their votes for each label, and what would change the decision."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from scipy import sparse

from nearlabel.utils import tables
from nearlabel.utils.containers import named_columns
from nearlabel.utils.types import CSR, IntArray, Table
from nearlabel.utils.validation import check_choice

_TABLES = ("labels", "neighbors", "labelsets", "terms")
_SHARES = (
    "score", "raw_score", "threshold", "share", "prior", "likelihood", "likelihood_without", "model_weight",
    "model_score", "neighbors_score",
)  # fmt: skip
_MOST_NEIGHBORS = 10  # shown
_LEAST_SHARE = 0.005


@dataclass(frozen=True, eq=False, repr=False)
class Explanation:
    """Why a lazy classifier predicts the label set of one query; returned by `explain`.

    All numbers are those that `predict_proba` and `predict` compute: the scores can be recomputed exactly from the
    other columns. A table is a mapping of column names to arrays of equal length.

    Parameters
    ----------
    method : str
        Name of the classifier's class.
    rule : str
        The rule from scores to the label set, in words.
    change : str
        The meaning of the column `flip`, in words.
    labels : table
        One row per label; see Notes.
    neighbors : table
        One row per neighbour, nearest first: `row` (number in the training data), `distance`, `labels` (column numbers
        of its labels, ascending), `names` (names of its labels), and columns of the method. For `NLDD`: the best
        training sample of each of the ten best label sets, and of the label sets that would flip a label. For `MLMLM`:
        the nearest training sample of each of the ten label sets with the largest weights, and of the best one with
        each predicted label.
    settings : mapping
        Other numbers that the scores depend on: `n_labels`, `n_neighbors`, `smoothing` and so on.
    novelty : float or None
        The share of training samples with a smaller mean distance to their neighbours than the query has to its own; a
        training sample is not its own neighbour. 0: the query has close neighbours; 1: it is farther from its
        neighbours than every training sample.
    novelty_reason : str
        The reason if `novelty` is None; else empty.
    labelsets : table, default={}
        One row per label set that is a candidate (`LPkNN`).
    terms : table, default={}
        One row per pair of a label and a term of its score (`CMLkNN`, `IBLR`).
    shown : sequence of str, default=()
        The columns of `labels` that are printed.
    kept : sequence of str, default=()
        The columns of `neighbors` that identify training samples for people, added by `with_kept`.
    n_rows : int or None, default=None
        The number of training samples; None if unknown.

    Notes
    -----
    All tables `labels` have the columns `label` (column number in y), `name`, `score`, `threshold` (NaN if the rule has
    no threshold) and `chosen` (whether the label is predicted). Except for `NLDD` and `MLMLM` they also have `votes`
    (the number of neighbours that have the label; for `CMLkNN` the rounded sum of their memberships), `score_at` (the
    score for each of the n_neighbors + 1 numbers of votes) and `flip`: the smallest signed change of the votes that
    changes this decision. It is found by trying every number of votes with everything else unchanged; None: no number
    of votes changes the decision. If a gain and a loss of equal size both change it, `flip` is the gain for a label
    that is not predicted and the loss for one that is.

    If a classifier with thresholds maps scores to probabilities, `score`, `score_at` and `threshold` are mapped, and
    `raw_score` and `raw_threshold` are the method's own: the other columns determine `raw_score`.

    The tables of `NeighborInterpolation` have the columns of its neighbours' method, and also `model_weight`,
    `model_score` and `neighbors_score`, from which the `score` is computed.

    If cells of y are unknown, `known` is the number of neighbours that vote on the label: the nearest samples in which
    the label is known. `neighbors` then contains the samples that vote on any label, and the column `unknown`, the
    number of unknown labels of each.

    With a dense y all labels are listed. With a sparse y, the methods that count votes list the labels with a vote and
    the predicted labels.
    """

    method: str
    rule: str
    change: str
    labels: Table
    neighbors: Table
    settings: Mapping[str, Any]
    novelty: float | None
    novelty_reason: str
    labelsets: Table = field(default_factory=dict)
    terms: Table = field(default_factory=dict)
    shown: Sequence[str] = ()
    kept: Sequence[str] = ()
    n_rows: int | None = None

    @property
    def predicted(self) -> list[Any]:
        """The names of the predicted labels."""
        names: list[Any] = self.labels["name"][self.labels["chosen"]].tolist()
        return names

    @property
    def indicator(self) -> CSR:
        """The label sets of the neighbours as a CSR indicator matrix (n_neighbors, n_labels)."""
        sets = self.neighbors["labels"]
        ends = np.cumsum([0, *map(len, sets)])
        columns = np.concatenate([np.asarray(one, dtype=np.intp) for one in sets])
        return sparse.csr_array(
            (np.ones(len(columns), dtype=np.int8), columns, ends), shape=(len(sets), self.settings["n_labels"])
        )

    def with_kept(self, kept: Mapping[str, Sequence[Any]] | Any) -> Explanation:
        """Add columns that identify the neighbours, such as titles.

        Parameters
        ----------
        kept : data frame, or mapping of str to sequence of length n_samples
            Columns of the training samples, such as ids and titles, as `nearlabel.persistence.read_kept` returns them.
            Row i, by its place, is that of training sample i, whatever the index of a frame or Series. Samples of
            weight 0 are no training samples.

        Returns
        -------
        Explanation
            A copy whose table `neighbors` has these columns after `row`. A name that already exists in the table gets
            the prefix ``kept_``.

        Raises
        ------
        TypeError
            If `kept` is neither, or a column is no sequence.
        ValueError
            If a column does not have one value for each training sample.

        Examples
        --------
        >>> from nearlabel.lazy import BRkNN
        >>> model = BRkNN(n_neighbors=1).fit([[0], [1], [9]], [[1, 0], [1, 1], [0, 1]])
        >>> explanation = model.explain([[8]])[0].with_kept({"title": ["Help!", "Revolver", "Abbey Road"]})
        >>> explanation.to_dict()["neighbors"]
        [{'row': 2, 'title': 'Abbey Road', 'distance': 1.0, 'labels': [1], 'names': [1]}]
        """
        rows = self.neighbors["row"]
        columns: dict[str, Any] = {"row": rows}
        taken = {*self.neighbors, *tables.SHOWN_SPECIALLY}
        for name, values in named_columns("kept", kept, self.n_rows).items():
            free = name
            while free in taken or free in columns:
                free = f"kept_{free}"
            columns[free] = tables.column_of([values[row] for row in rows.tolist()])
        names = [name for name in columns if name != "row"]
        return replace(self, neighbors={**columns, **self.neighbors}, kept=[*names, *self.kept])

    def to_dict(self) -> dict[str, Any]:
        """Return plain data that any JSON library can write: numbers, strings, lists and dictionaries.

        Returns
        -------
        dict
            Tables become lists of one dictionary per row. Names of labels that are neither strings nor numbers become
            strings; NaN becomes None, an infinite number "inf" or "-inf".
        """
        names = "method", "rule", "change", "predicted", "novelty"
        own = {name: tables.plain_value(getattr(self, name)) for name in names}
        rows = {name: tables.plain_rows(getattr(self, name)) for name in _TABLES}
        settings = {name: tables.plain_value(value) for name, value in self.settings.items()}
        lists = {"shown": list(self.shown), "kept": list(self.kept)}
        return {**own, "novelty_reason": self.novelty_reason, "settings": settings, **rows, **lists}

    def to_frame(self, table: str = "labels") -> Any:
        """Return a table as a pandas data frame.

        Parameters
        ----------
        table : {"labels", "neighbors", "labelsets", "terms"}, default="labels"
            Which table; empty if the method does not have it.

        Returns
        -------
        pandas.DataFrame
            One row per label, neighbour, label set or term. Labels are in the order in which they are printed:
            predicted ones first, then by score. The many numbers of `score_at` are in `labels` only. Integers that may
            be missing are of type Int64.

        Raises
        ------
        ImportError
            If pandas is not installed.
        ValueError
            If there is no such table.
        """
        check_choice("table", table, _TABLES)
        columns: Table = getattr(self, table)
        rows = self._label_order() if table == "labels" else slice(None)
        return tables.frame_of({name: column[rows] for name, column in columns.items() if column.ndim == 1})

    def __repr__(self) -> str:
        labels = "label" if len(self.predicted) == 1 else "labels"
        return f"<{type(self).__name__} of {self.method}: {len(self.predicted)} {labels} chosen>"

    def __str__(self) -> str:
        head = sentences(self.method, self.predicted, self.novelty, self.novelty_reason)
        lines = [line for shown in self._grids() for line in [*shown.as_text(), ""]]
        return "\n".join([*head, "", *lines, *tables.wrapped(self.rule), *tables.wrapped(self.change)])

    def _repr_html_(self) -> str:
        """Return the HTML for a notebook."""
        head = sentences(self.method, self.predicted, self.novelty, self.novelty_reason)
        return tables.html_of(*head, *self._grids(), self.rule, self.change)

    def _grids(self) -> Iterator[tables.Grid]:
        """Yield the parts of the tables that are shown: neighbours, label sets if there are any, labels."""
        chosen = self.labels["chosen"]
        extra = [name for name in self.neighbors if name not in tables.OF_LABELSETS]
        rows, besides = self._that_count()
        yield tables.grid(self.neighbors, [*extra, "names"], "neighbours", shown=rows, besides=besides, shares=_SHARES)
        if self.labelsets:
            of = [name for name in self.labelsets if name not in tables.OF_LABELSETS]
            yield tables.grid(self.labelsets, [*of, "names"], "label sets", at_most=5, shares=_SHARES)
        order = self._label_order()
        columns = ["name", *self.shown, "chosen"]
        yield tables.grid(self.labels, columns, "labels", order=order, n_first=int(chosen.sum()), shares=_SHARES)

    def _label_order(self) -> IntArray:
        """Return the rows of `labels` with predicted ones first, then by score."""
        return np.lexsort((self.labels["label"], -self.labels["score"], ~self.labels["chosen"]))

    def _that_count(self) -> tuple[IntArray, str]:
        """Return which neighbours to show, and what the others share.

        Label sets (`MLMLM`) and weighted neighbours are shown as far as two digits of their shares are not 0, and all
        as far as each predicted label has its nearest carrier.
        """
        shares, n_all, others = np.zeros(0), len(self.neighbors["row"]), "neighbours"
        many = _MOST_NEIGHBORS
        if {"share", "rows"} <= self.neighbors.keys():
            shares, n_all, others = self.neighbors["share"], self.settings["n_labelsets"], "label sets"
        elif "weight" in self.neighbors and self.settings.get("total_weight"):
            shares = self.neighbors["weight"] / self.settings["total_weight"]
        if len(shares):
            many = min(many, 1 + int(np.flatnonzero(shares >= _LEAST_SHARE).max(initial=0)))
        carry = tables.carriers(self.neighbors["labels"].tolist(), self._leading())
        rows = tables.with_carriers(carry, many)
        n_left = n_all - len(rows)
        if not n_left:
            return rows, ""
        besides = f"... and {n_left} more {others if n_left > 1 else others.removesuffix('s')}"
        if len(shares):
            besides += f", which share {tables.share_in_words(max(1e-9, 1.0 - float(shares[rows].sum())))}"  # of some
        n_hidden = int(np.delete(carry, rows, axis=0).any(axis=1).sum()) if n_all == len(carry) else 0
        count = "" if n_left == 1 else f"{n_hidden} "
        return rows, besides + (f", {count}with a predicted label" if n_hidden else "")

    def _leading(self) -> list[int]:
        """Return the predicted labels of highest score, as many as a text has."""
        chosen = self.labels["chosen"]
        order = np.argsort(-self.labels["score"][chosen], kind="stable")[: tables.MOST_LABELS]
        leading: list[int] = self.labels["label"][chosen][order].tolist()
        return leading


def sentences(method: str, predicted: Sequence[Any], novelty: float | None, novelty_reason: str) -> list[str]:
    """Return the lines on the decision and on the novelty of the query."""
    head = tables.wrapped(f"{method}: {tables.names_within(predicted, 100) or 'no label'}")
    if novelty is None:
        return [*head, *tables.wrapped(f"novelty unknown: {novelty_reason}")]
    return [
        *head,
        f"novelty {novelty:.2f}: farther from its neighbours than {100 * novelty:.0f} % of the training samples",
    ]
