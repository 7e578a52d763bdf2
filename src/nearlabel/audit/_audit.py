"""`audit`: find wrong labels of the training samples with the help of their neighbours."""

from __future__ import annotations

import numbers
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from nearlabel.audit import _cells
from nearlabel.audit._findings import Audit, Neighbor, SuspectCell, SuspectRow
from nearlabel.audit._scores import Cells, halfway_prior
from nearlabel.neighbors.votes import occurrences, skewness
from nearlabel.utils.progress import reported
from nearlabel.utils.targets import PartialLabels
from nearlabel.utils.types import FloatArray, IntArray, MatrixLike
from nearlabel.utils.validation import as_dense, as_score_matrix, cells_of, check_choice, check_integer

_N_HUBS = 5
_N_PARTS = 3  # of the work, in reports of how far it is: the search, other models' probabilities, the findings
_NEAR_SHARE = 0.001  # share of the rows that have a neighbour as near as the usual radius


def audit(
    model: Any,
    *,
    scores: MatrixLike | str = "auto",
    order: str = "odds",
    given: int | None = None,
    n_cells: int = 100,
    n_rows: int = 20,
    n_effects: int = 20,
    radius: float | None = None,
    label_names: Sequence[Any] | None = None,
    verbose: int = 1,
) -> Audit:
    """Find probably wrong labels of a model's training samples: those that a sample's neighbours contradict.

    Every cell (sample, label) has a probability, from all samples except its own. A cell whose given value is
    improbable is suspicious. Probabilities are the mean of unlike models: errors that one of them has learnt, the
    others seldom have. One search is enough for everything else: the neighbours that are shown with each cell, near
    copies with different label sets, and hubs.

    Parameters
    ----------
    model : fitted estimator
        `BRkNN`, `BRkNNa`, `BRkNNb`, `LPkNN`, `MLkNN`, `DMLkNN` or `CMLkNN`; a pipeline or a search of parameters that
        ends in one, or thresholds around one; or a mixture that has such a part, which is audited. Steps of a pipeline
        before it have seen all samples.
    scores : {"auto", "model"} or array-like of shape (n_samples, n_labels), default="auto"
        The probabilities. "model": those of the model, by leaving one out. "auto": the mean of these, of ML-MLM by
        leaving one out, and of a random forest out of bag, both fitted to the features that the model searches; "model"
        with fewer than 50 or more than 5,000 samples, more than 2^24 cells, unknown cells, or neighbours from a search
        that cannot return its samples; without the forest if samples have more than 2^24 values, or 2^22 cells. An
        array: out-of-sample probabilities by any model, such as the result of `cross_val_scores`. The neighbours, and
        the effects of correcting a cell, are those of `model`.
    order : {"odds", "self_confidence"}, default="odds"
        The score that orders cells, the lowest first. "self_confidence": the probability of the given value. "odds":
        that probability divided by a prior of the value, which is halfway in log-odds between its share in the label
        and its share in all labels. So positives of rare labels, which are always improbable, are not all in front,
        unless their probability is 0, as that of votes is where no neighbour has the label.
    given : {0, 1}, default=None
        0: list only cells that were given as 0, labels that may be missing; 1: only labels that were given. None: both.
    n_cells : int, default=100
        Largest number of cells to return.
    n_rows : int, default=20
        Largest number of samples, of conflicts and of pairs of labels to return.
    n_effects : int, default=20
        For how many cells, the most suspicious ones, to compute the effects of correcting them. Each takes about a
        second for 1,000,000 samples.
    radius : float, default=None
        Largest distance of nearly equal samples. None: the 0.1 % quantile of the distances to the nearest sample.
    label_names : sequence of length n_labels, default=None
        Names of the labels, for a model that was fitted to arrays without names. None: the names that the model knows.
    verbose : int, default=1
        1: an audit of more than ten seconds shows a bar in a notebook or terminal, elsewhere a few lines. 0: silent.

    Returns
    -------
    Audit
        Cells, samples, conflicts, pairs of labels and hubs; the order is the same in each run.

    Raises
    ------
    TypeError
        If this kind of model cannot be audited.
    ValueError
        If there are too few samples to leave one out, scores are neither "auto", "model" nor probabilities of the
        training samples, or a parameter is out of range.
    sklearn.exceptions.NotFittedError
        If the model is not fitted.

    Notes
    -----
    Among equally suspicious cells, the first is the one with more neighbours, weighted by inverse distance, that have
    the other value; then the lower sample number, then the lower label number. With `BRkNN` on many rare labels very
    many cells are equal: no neighbour has the label. The probabilities of `MLkNN` are never 0.

    Confident learning (Northcutt et al., 2021), label by label, estimates how many cells are wrong; a label of which it
    marks more cells of one value than the rarer value has is left out of the count. Unknown cells are never suspicious.
    Copies of a sample support each other: an error that was copied with its sample is not found.

    Row numbers are those of the samples that the method by votes was fitted to: without samples of weight 0, without
    those held out for thresholds (``cv="prefit"`` or ``refit=False``), and renumbered by `forget`.

    References
    ----------
    C. Northcutt, L. Jiang, I. Chuang: Confident Learning: Estimating Uncertainty in Dataset Labels. Journal of
    Artificial Intelligence Research 70, 2021.

    M. Radovanović, A. Nanopoulos, M. Ivanović: Hubs in Space. Journal of Machine Learning Research 11, 2010.

    Examples
    --------
    >>> from nearlabel.audit import audit
    >>> from nearlabel.lazy import BRkNN
    >>> X = [[0], [1], [2], [3], [10], [11], [12], [13]]
    >>> y = [["calm"], ["calm"], ["loud"], ["calm"], ["loud"], ["loud"], ["loud"], ["loud"]]
    >>> found = audit(BRkNN(n_neighbors=3).fit(X, y))
    >>> [(cell.row, cell.label_name, cell.given, cell.suggested, cell.is_issue) for cell in found.cells[:2]]
    [(2, 'calm', 0, 1, True), (2, 'loud', 1, 0, True)]
    """
    check_choice("order", order, {"odds", "self_confidence"})
    if given not in (None, 0, 1):
        raise ValueError(f"given must be 0 (missing labels), 1 (given labels) or None (both), got {given!r}.")
    n_cells = check_integer("n_cells", n_cells, low=1)
    n_rows, n_effects = check_integer("n_rows", n_rows, low=0), check_integer("n_effects", n_effects, low=0)
    audited = _cells.AuditedModel.of(model)
    known = audited.given
    names = _checked_names(audited.label_names if label_names is None else label_names, known)
    if isinstance(scores, str):
        check_choice("scores", scores, {"auto", "model"})
    checked = None if isinstance(scores, str) else _checked_scores(scores, known)
    with reported("audit", check_integer("verbose", verbose, low=0)) as tell:
        left_out = audited.lazy.loo_with_neighbors()
        tell(1, _N_PARTS)
        distances, indices = left_out.distances, left_out.indices
        usual = float(np.quantile(distances[:, 0], _NEAR_SHARE, method="lower"))
        radius = usual if radius is None else _checked_radius(radius)
        others = _cells.others_of(audited.lazy, known) if isinstance(scores, str) and scores == "auto" else {}
        tell(2, _N_PARTS)
        answers = audited.remembered(left_out, checked, list(others.values()))
        prior = halfway_prior(known.with_nan()) if order == "odds" else None
        look = _cells.look_at_cells(answers, known, (distances, indices), n_cells, prior, given)
        n_lists = occurrences(indices, len(indices))
        describe = Describing(known, names, look, distances, indices, n_lists)
        some = look.cells.first(n_effects if known.unknown is None else 0)
        own = answers if checked is None or not len(some.rows) else audited.answers(left_out)
        effects = _cells.effects_of(audited, left_out, own, some)
    return Audit(
        cells=describe.cells(effects),
        rows=describe.rows(n_rows),
        conflicts=tuple(_cells.conflicts_of(distances, indices, known, names, radius)[:n_rows]),
        label_pairs=tuple(_cells.pairs_of_labels(look.missed, look.added, names, n_rows)),
        hubs=tuple(_cells.hubs_of(indices, n_lists, known, names, _N_HUBS)),
        n_rows=len(indices),
        n_labels=len(names),
        n_known=len(indices) * len(names) - (0 if known.unknown is None else int(known.unknown.sum())),
        n_issues=int(look.issues.sum()),
        radius=radius,
        skewness=skewness(n_lists),
        n_antihubs=int((n_lists == 0).sum()),
        evidence=("given",) if checked is not None else ("model", *others),
    )


def _checked_names(names: Any, given: PartialLabels) -> list[Any]:
    """Return names of the labels as a list; numbers as Python's."""
    n_labels = given.labels.shape[1]
    known = list(np.asarray(names, dtype=object).tolist() if isinstance(names, np.ndarray) else names)
    if len(known) != n_labels:
        raise ValueError(f"label_names must be {n_labels} names, one for each label, got {len(known)}.")
    return known


def _checked_radius(radius: Any) -> float:
    if not isinstance(radius, numbers.Real) or not 0 <= float(radius) < np.inf:
        raise ValueError(f"radius must be a finite number, at least 0, got {radius!r}.")
    return float(radius)


def _checked_scores(scores: MatrixLike, given: PartialLabels) -> FloatArray:
    checked: FloatArray = as_dense(as_score_matrix(scores))
    if checked.shape != given.labels.shape:
        raise ValueError(f"scores must be of shape {given.labels.shape}, as the training labels, got {checked.shape}.")
    if not ((checked >= 0) & (checked <= 1)).all():
        raise ValueError(f"scores must be probabilities, from 0 to 1, got {checked.min()} to {checked.max()}.")
    return checked


# Convert numbers of rows and labels to findings with names.


@dataclass(frozen=True)
class Describing:
    """The label sets, their names, the results for all cells, and the neighbours of the rows."""

    given: PartialLabels
    names: Sequence[Any]
    look: _cells.Look
    distances: FloatArray
    indices: IntArray
    n_lists: IntArray

    def cells(self, effects: Sequence[tuple[int, int]]) -> tuple[SuspectCell, ...]:
        """Return the suspicious cells; the effects of correcting are known for the first of them."""
        cells = self.look.cells
        rows, labels, unknown = cells.rows, cells.labels, [None] * (len(cells.rows) - len(effects))
        given, issues = cells_of(self.given.labels, rows, labels), cells_of(self.look.issues, rows, labels) != 0
        probability = np.where(given, cells.confidence, 1.0 - cells.confidence)
        columns = (
            *(rows.tolist(), labels.tolist(), [self.names[label] for label in labels.tolist()]),
            *(figure.tolist() for figure in (given, probability, cells.quality, cells.disagreement, issues)),
            *(self._neighbors_of(cells), self.n_lists[rows].tolist()),
            *([*(righted for righted, _ in effects), *unknown], [*(wronged for _, wronged in effects), *unknown]),
            *([""] * len(rows), [self._labels_of(row) for row in rows.tolist()]),
        )
        return tuple(map(SuspectCell, *columns))

    def _labels_of(self, row: int) -> tuple[Any, ...]:
        """Return the names of the labels of a row."""
        return _cells.named(_cells.columns_of(self.given.labels, row), self.names)

    def _neighbors_of(self, cells: Cells) -> list[tuple[Neighbor, ...]]:
        """Return the neighbours of the row of each cell, with their values of its label."""
        rows, distances = self.indices[cells.rows], self.distances[cells.rows]
        at = rows.ravel(), np.repeat(cells.labels, rows.shape[1])
        values = cells_of(self.given.labels, *at).astype(object)
        if self.given.unknown is not None:
            values[cells_of(self.given.unknown, *at) != 0] = None
        lists = zip(rows.tolist(), distances.tolist(), values.reshape(rows.shape).tolist(), strict=True)
        return [tuple(map(Neighbor, *one)) for one in lists]

    def rows(self, n_rows: int) -> tuple[SuspectRow, ...]:
        """Return the most suspicious rows, the lower number first among equals; rows without a known cell are not."""
        quality = self.look.quality
        order = np.argsort(quality, kind="stable")[:n_rows]
        return tuple(self._row(int(row), float(quality[row])) for row in order if not np.isnan(quality[row]))

    def _row(self, row: int, quality: float) -> SuspectRow:
        parts = (self.given.labels, self.look.missed, self.look.added, self.look.issues)
        given, missed, added, issues = (_cells.columns_of(part, row) for part in parts)
        predicted = np.union1d(np.setdiff1d(given, missed), added)
        has, without, flagged = (_cells.named(labels, self.names) for labels in (given, predicted, issues))
        return SuspectRow(row, quality, has, without, flagged, int(self.n_lists[row]))
