"""An explanation: the neighbours of one query, what they say of each label, and what would change the decision."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from html import escape
from typing import Any

import numpy as np
from scipy import sparse

from nearlabel.utils.tables import (
    OF_LABELSETS,
    SHOWN_SPECIALLY,
    Grid,
    column_of,
    frame_of,
    grid,
    names_within,
    plain_rows,
    plain_value,
    wrapped,
)
from nearlabel.utils.types import CSR, Table
from nearlabel.utils.validation import check_choice

_TABLES = ("labels", "neighbors", "labelsets", "terms")


@dataclass(frozen=True, eq=False, repr=False)
class Explanation:
    """Why a lazy classifier gives one query its label set; made by `explain`.

    All numbers are those that `predict_proba` and `predict` compute: the scores follow from the columns beside them to
    the last bit. A table is a mapping of column names to arrays of one length.

    Parameters
    ----------
    method : str
        Name of the classifier's class.
    rule : str
        How scores became the label set, in words.
    change : str
        What the column `flip` counts, in words.
    labels : table
        One row a label; see Notes.
    neighbors : table
        One row a neighbour, nearest first: `row` (number in the training data), `distance`, `labels` (column numbers
        of its labels, ascending), `names` (theirs), and what the method adds. Of `NLDD` the best row of each of the ten
        best label sets, and of those that would turn a label; of `MLMLM` the ten heaviest label sets.
    settings : mapping
        Numbers that the scores depend on besides: `n_labels`, `n_neighbors`, `smoothing` and so on.
    novelty : float or None
        The share of training rows that are nearer to their neighbours than the query is to its own, by the mean
        distance, each training row left out of its own list: 0 for a query among close neighbours, 1 for one farther
        from its neighbours than any training row.
    novelty_reason : str
        Why there is no novelty, where it is None; else empty.
    labelsets : table, default={}
        One row a label set that is a candidate as a whole (`LPkNN`).
    terms : table, default={}
        One row a pair of a label and what contributes to its score (`CMLkNN`, `IBLR`).
    shown : sequence of str, default=()
        The columns of `labels` that the text shows.
    kept : sequence of str, default=()
        The columns of `neighbors` by which people name training rows: those of `with_kept`.

    Notes
    -----
    All tables `labels` have the columns `label` (column number in y), `name`, `score`, `threshold` (NaN where the rule
    is no threshold) and `chosen`. But for `NLDD` and `MLMLM` also `votes` (how many neighbours carry the label; for
    `CMLkNN` their memberships, added up and rounded), `score_at` (the score for every number of votes, n_neighbors + 1
    of them) and `flip`: the least change of the votes, signed, that turns the decision, found by trying every number of
    votes while all else stays as it is. None: no number of votes does. Where a gain and a loss of as many votes both
    turn it, it is a gain for a label that is not chosen and a loss for one that is.

    Those of `NeighborInterpolation` have the columns of its neighbours' method, with `model_weight`, `model_score` and
    `neighbors_score`, which give the `score`.

    Where cells of y are unknown, `known` is how many neighbours vote on the label: the nearest of those that know it.
    `neighbors` then has the rows that vote on any label, and `unknown`, how many labels such a row does not know.

    With a dense y all labels are listed; with a sparse one, by the methods that count votes, those with a vote and
    those chosen.
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

    @property
    def predicted(self) -> list[Any]:
        """The names of the chosen labels."""
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

    def with_kept(self, kept: Mapping[str, Sequence[Any]]) -> Explanation:
        """Name the neighbours by what people call the training rows.

        Parameters
        ----------
        kept : mapping of str to sequence of length n_samples
            Columns of the training rows, such as ids and titles: what `nearlabel.persistence.read_kept` returns.

        Returns
        -------
        Explanation
            A copy whose table `neighbors` has these columns, after `row`. A name that the table uses itself gets
            ``kept_`` before it.

        Raises
        ------
        ValueError
            If a column ends before the row of a neighbour.

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
        taken = {*self.neighbors, *SHOWN_SPECIALLY}
        for name, values in kept.items():
            if len(values) <= max(rows.tolist(), default=-1):
                raise ValueError(f"kept must have a value for every training row, got {len(values)} of {name!r}.")
            free = name
            while free in taken or free in columns:
                free = f"kept_{free}"
            columns[free] = column_of([values[row] for row in rows.tolist()])
        names = [name for name in columns if name != "row"]
        return replace(self, neighbors={**columns, **self.neighbors}, kept=[*names, *self.kept])

    def to_dict(self) -> dict[str, Any]:
        """Return plain data that any JSON library writes: numbers, text, lists and dictionaries.

        Returns
        -------
        dict
            Tables are lists of one dictionary a row. Names of labels that are neither text nor numbers become text;
            NaN becomes None, an infinite number "inf" or "-inf".
        """
        own = {name: plain_value(getattr(self, name)) for name in ("method", "rule", "change", "predicted", "novelty")}
        tables = {name: plain_rows(getattr(self, name)) for name in _TABLES}
        settings = {name: plain_value(value) for name, value in self.settings.items()}
        lists = {"shown": list(self.shown), "kept": list(self.kept)}
        return {**own, "novelty_reason": self.novelty_reason, "settings": settings, **tables, **lists}

    def to_frame(self, table: str = "labels") -> Any:
        """Return a table as a pandas data frame.

        Parameters
        ----------
        table : {"labels", "neighbors", "labelsets", "terms"}, default="labels"
            Which table; one that the method does not make is empty.

        Returns
        -------
        pandas.DataFrame
            One row a label, neighbour, label set or term. Whole numbers that may be missing are of type Int64.

        Raises
        ------
        ImportError
            If pandas is not installed.
        ValueError
            If there is no such table.
        """
        check_choice("table", table, _TABLES)
        return frame_of(getattr(self, table))

    def __repr__(self) -> str:
        labels = "label" if len(self.predicted) == 1 else "labels"
        return f"<{type(self).__name__} of {self.method}: {len(self.predicted)} {labels} chosen>"

    def __str__(self) -> str:
        head = sentences(self.method, self.predicted, self.novelty, self.novelty_reason)
        tables = [line for grid in self._grids() for line in [*grid.as_text(), ""]]
        return "\n".join([*head, "", *tables, *wrapped(self.rule), *wrapped(self.change)])

    def _repr_html_(self) -> str:
        """Return what a notebook shows."""
        head = sentences(self.method, self.predicted, self.novelty, self.novelty_reason)
        parts = [[f"<p>{escape(line)}</p>" for line in lines] for lines in (head, [self.rule, self.change])]
        return f"<div>{''.join([*parts[0], *(grid.as_html() for grid in self._grids()), *parts[1]])}</div>"

    def _grids(self) -> Iterator[Grid]:
        """Yield the parts of the tables that are shown: neighbours, label sets if there are any, labels."""
        chosen = self.labels["chosen"]
        extra = [name for name in self.neighbors if name not in OF_LABELSETS]
        yield grid(self.neighbors, [*extra, "names"], "neighbours")
        if self.labelsets:
            of = [name for name in self.labelsets if name not in OF_LABELSETS]
            yield grid(self.labelsets, [*of, "names"], "label sets", at_most=5)
        order = np.lexsort((self.labels["label"], -self.labels["score"], ~chosen))
        yield grid(self.labels, ["name", *self.shown, "chosen"], "labels", order=order, n_first=int(chosen.sum()))


def sentences(method: str, predicted: Sequence[Any], novelty: float | None, novelty_reason: str) -> list[str]:
    """Return the lines on the decision and on how far the query is from what is known."""
    head = f"{method}: {names_within(predicted, 100) or 'no label'}"
    if novelty is None:
        return [head, f"novelty unknown: {novelty_reason}"]
    return [
        head,
        f"novelty {novelty:.2f}: farther from its neighbours than {100 * novelty:.0f} % of the training samples",
    ]
