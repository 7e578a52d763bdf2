"""What an audit looks at: a model's leave-one-out predictions, cells, near copies, hubs, and pairs of labels."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse.csgraph import connected_components
from sklearn.base import BaseEstimator
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from nearlabel.audit._findings import Conflict, Hub, LabelPair
from nearlabel.audit._scores import (
    Cells,
    believable,
    confidence_of,
    confident_sums,
    issues_of,
    odds_of,
    row_quality,
    thresholds_of,
)
from nearlabel.lazy import MLMLM, LazyClassifier, LeftOut
from nearlabel.models.decision import cut
from nearlabel.models.unwrapped import unwrapped
from nearlabel.neighbors.votes import counted_votes, vote_weights
from nearlabel.rivals import RandomForestPCT, SoftVote
from nearlabel.thresholds import CalibratedLabels
from nearlabel.utils.messages import without_advice
from nearlabel.utils.targets import PartialLabels
from nearlabel.utils.types import CSR, BoolArray, FloatArray, IntArray, Matrix
from nearlabel.utils.validation import as_dense, cells_of, row_blocks

Answer: TypeAlias = tuple[IntArray, Matrix, FloatArray]  # numbers of rows, their label sets, their scores

_MOST_KEPT = 2**26  # cells whose scores are stored for a second pass


@dataclass(frozen=True)
class AuditedModel:
    """A fitted method by votes, the parts around it that decide, and the names of the labels."""

    lazy: LazyClassifier
    thresholds: Any  # a classifier of `nearlabel.thresholds`, or None
    calibrations: tuple[CalibratedLabels, ...]  # the innermost first; with neither the method decides
    label_names: NDArray[Any]

    @classmethod
    def of(cls, model: Any) -> AuditedModel:
        """Look into pipelines, searches, thresholds and calibration; TypeError unless they contain a method by votes.

        The outermost thresholds decide, unless calibration is around them, and the outermost names are the user's: the
        inner parts were fitted to an array.
        """
        thresholds = names = None
        calibrations: tuple[CalibratedLabels, ...] = ()
        part = model
        while not isinstance(part, LazyClassifier):
            if isinstance(part, CalibratedLabels):
                calibrations = (part, *calibrations)
            elif thresholds is None and not calibrations and hasattr(part, "label_sets_of"):
                thresholds = part
            names = getattr(part, "label_names_", names) if names is None else names
            part = _inside(part, model)
        check_is_fitted(part)
        if not hasattr(part, "loo_with_neighbors"):
            raise _no_votes(model, part)
        return cls(part, thresholds, calibrations, part.label_names_ if names is None else names)

    @property
    def given(self) -> PartialLabels:
        """The label sets of the training samples."""
        return PartialLabels.of(self.lazy.training_labels(), dtype=None)

    @property
    def is_by_label(self) -> bool:
        """Whether each decision on a label depends only on its own votes and its own threshold."""
        return self.lazy.labels_are_independent and (self.thresholds is None or self.thresholds.cuts_only)

    def answers(self, left_out: LeftOut, listed: IntArray | None = None) -> Iterator[Answer]:
        """Yield leave-one-out results, calibrated, with the thresholds if there are any; of the `listed` labels."""
        for rows, labels, scores in left_out.answers():
            p = scores
            for calibration in self.calibrations:
                p = calibration.calibrated(p, listed)
            yield rows, (labels if p is scores and self.thresholds is None else self._decide(p, listed)), p

    def remembered(
        self, left_out: LeftOut, scores: FloatArray | None, others: Sequence[FloatArray]
    ) -> RememberedAnswers:
        """Return leave-one-out results, their scores averaged with others, or results from given scores."""
        make = partial(self.averaged, left_out, others) if scores is None else partial(self.of_scores, scores)
        return RememberedAnswers(make, len(left_out.indices) * len(self.label_names))

    def averaged(self, left_out: LeftOut, others: Sequence[FloatArray]) -> Iterator[Answer]:
        """Yield leave-one-out results; scores are the mean of the model's and of others, label sets the model's."""
        for rows, labels, scores in self.answers(left_out):
            yield rows, labels, np.mean([scores, *(other[rows] for other in others)], axis=0) if others else scores

    def of_scores(self, scores: FloatArray) -> Iterator[Answer]:
        """Yield results from given scores, with the thresholds, or one half."""
        for block in row_blocks(len(scores), 64 * scores.shape[1]):
            yield np.arange(block.start, block.stop), self._decide(scores[block], None), scores[block]

    def _decide(self, scores: FloatArray, listed: IntArray | None) -> Matrix:
        if self.thresholds is None:
            return cut(scores, 0.5)
        if listed is None:
            return self.thresholds.label_sets_of(scores)
        labels: Matrix = cut(scores, self.thresholds.thresholds_[listed])
        return labels


class RememberedAnswers:
    """Leave-one-out results for more than one pass: stored where they are few, else computed again."""

    def __init__(self, make: Callable[[], Iterator[Answer]], n_cells: int) -> None:
        self._make = make
        self._kept = list(make()) if n_cells <= _MOST_KEPT else None

    def __iter__(self) -> Iterator[Answer]:
        """Yield numbers of rows, label sets and scores."""
        return iter(self._make() if self._kept is None else self._kept)


def _inside(part: Any, model: Any) -> Any:
    """Return the deciding part of a part of a model; TypeError if it was fitted to other rows than the model was."""
    steps = [step for _, step in part.steps] if isinstance(part, Pipeline) else [getattr(part, "sampler", None)]
    if any(hasattr(step, "fit_resample") for step in steps):
        raise TypeError(
            "model must be fitted to the samples that are audited, not to resampled ones with other numbers, got"
            f" {type(part).__name__}. Hint: audit a method that was fitted without the sampler."
        )
    if isinstance(part, Pipeline):
        return part[-1]
    if isinstance(part, SoftVote):
        return part_by_votes(part)
    for name in ("best_estimator_", "estimator_", "estimator"):
        if hasattr(part, name) and (name != "estimator" or isinstance(part, FrozenEstimator)):
            return getattr(part, name)
    if isinstance(part, BaseEstimator):
        check_is_fitted(part)
    raise _no_votes(model, part)


def part_by_votes(mixture: SoftVote) -> Any:
    """Return the first fitted part that votes by neighbours, or the first part if none does."""
    check_is_fitted(mixture)
    parts: list[Any] = mixture.estimators_
    return next((part for part in parts if hasattr(unwrapped(part).classifier, "loo_with_neighbors")), parts[0])


def _no_votes(model: Any, part: Any) -> TypeError:
    got, inner = type(model).__name__, type(part).__name__
    return TypeError(
        "model must be a method by votes of neighbours, such as MLkNN, or a pipeline, a search of parameters or"
        f" thresholds around one, got {got if got == inner else f'{got} around {inner}'}. Hint: to audit with scores of"
        " any other model, pass them: audit(BRkNN().fit(X, y), scores=...)."
    )


# Evidence besides the model's own: out-of-sample scores by unlike models of the same features.

_FEWEST_SAMPLES, _MOST_SAMPLES = 50, 5_000  # of more samples, these models cost far more than the search
_MOST_CELLS = 2**24  # of labels: the scores are dense
_MOST_CELLS_OF_FOREST = 2**22  # its nodes have a share of every label, so 100 trees have gigabytes
_MOST_VALUES = 2**24  # of samples of a forest: it is slow with sparse ones
_METRICS = {"euclidean", "cosine", "manhattan"}  # of features without missing values


def others_of(lazy: LazyClassifier, given: PartialLabels) -> dict[str, FloatArray]:
    """Return the scores of the training samples by ML-MLM (left out) and by a random forest (out of bag); or none.

    There are none if samples are few, or many, if cells are very many, or some unknown, or the search has no usual
    metric or no samples; and no forest for a very large number of features or of cells.
    """
    search, n_samples = lazy.search_, given.labels.shape[0]
    has_features = hasattr(search, "take") and getattr(search, "metric", None) in _METRICS
    n_cells = n_samples * given.labels.shape[1]
    affordable = _FEWEST_SAMPLES <= n_samples <= _MOST_SAMPLES and n_cells <= _MOST_CELLS
    if not affordable or given.unknown is not None or not has_features:
        return {}
    X, labels = search.take(np.arange(n_samples)), given.labels
    with without_advice():
        found = {"mlmlm": as_dense(MLMLM(metric=search.metric, scale="none").fit(X, labels).loo_predict_proba())}
        if n_samples * X.shape[1] <= _MOST_VALUES and n_cells <= _MOST_CELLS_OF_FOREST:
            found["rfpct"] = RandomForestPCT(100, random_state=0)._fit_out_of_bag(as_dense(X), labels)
    return found


# The effects of correcting a cell on the leave-one-out predictions of the other rows.


def effects_of(
    model: AuditedModel, left_out: LeftOut, answers: Iterable[Answer], cells: Cells
) -> list[tuple[int, int]]:
    """Return for each cell how many other predictions of its label become right, and wrong, if only it is corrected.

    The predictions are those of a fit to the corrected label sets; `answers` are those of the present fit. Where each
    label is decided by its own votes, cells of different labels are corrected together, with the same effects as one by
    one.
    """
    labels = model.given.labels
    touched = np.unique(cells.labels)
    wrong = _is_wrong(((rows, predicted[:, touched], None) for rows, predicted, _ in answers), labels[:, touched])
    effects: dict[int, tuple[int, int]] = {}
    for together in _rounds(cells.labels, alone=not model.is_by_label):
        rows, columns = cells.rows[together], cells.labels[together]
        listed = columns if model.is_by_label else None
        places = np.arange(len(columns)) if model.is_by_label else columns
        corrected = _corrected(labels if listed is None else labels[:, listed], rows, places)
        answered = model.answers(left_out.relabelled(corrected), listed)
        chosen = ((rows, predicted[:, places], None) for rows, predicted, _ in answered)
        is_wrong = _is_wrong(chosen, corrected[:, places])
        before = wrong[:, np.searchsorted(touched, columns)]
        for at, cell in enumerate(together.tolist()):
            others = np.arange(labels.shape[0]) != rows[at]
            now, then = before[others, at], is_wrong[others, at]
            effects[cell] = int((now & ~then).sum()), int((then & ~now).sum())
    return [effects[cell] for cell in range(len(cells.rows))]


def _rounds(labels: IntArray, *, alone: bool) -> list[IntArray]:
    """Return places of cells to be corrected together, ordered by label: no two of one label."""
    if alone:
        return [np.array([place]) for place in range(len(labels))]
    order = np.argsort(labels, kind="stable")
    starts = np.searchsorted(labels[order], labels[order])
    nth = np.arange(len(labels)) - starts  # of the cells of this label
    return [order[nth == number] for number in range(nth.max(initial=-1) + 1)]


def _corrected(labels: Matrix, rows: IntArray, columns: IntArray) -> Matrix:
    """Return label sets with these cells changed."""
    change = 1 - 2 * cells_of(labels, rows, columns).astype(np.int8)
    changed = labels + sparse.csr_array((change, (rows, columns)), shape=labels.shape)
    return sparse.csr_array(changed) if sparse.issparse(labels) else np.asarray(changed)


def _is_wrong(answers: Iterable[tuple[IntArray, Matrix, Any]], labels: Matrix) -> BoolArray:
    wrong = np.empty(labels.shape, dtype=np.bool_)
    for rows, predicted, _ in answers:
        wrong[rows] = as_dense(predicted) != as_dense(labels[rows])
    return wrong


# The cells of the training labels, and the errors of leave-one-out.


class Look(NamedTuple):
    """The results of a pass over all cells."""

    cells: Cells  # the most suspicious
    quality: FloatArray  # (n_rows,): lower is more suspicious
    issues: CSR  # (n_rows, n_labels): 1 where confident learning marks a cell as wrong, where that is believable
    missed: CSR  # (n_rows, n_labels): 1 where a label was given and is not predicted
    added: CSR  # (n_rows, n_labels): 1 where a label is predicted and was not given


def look_at_cells(
    answers: Iterable[Answer],
    given: PartialLabels,
    neighbors: tuple[FloatArray, IntArray],
    n_cells: int,
    prior: FloatArray | None,
    value: int | None = None,
) -> Look:
    """Read leave-one-out predictions twice: for thresholds of confidence, then for cells.

    With `prior` cells are ordered by odds over it, else by self-confidence. With `value` only cells of this given value
    are listed.
    """
    thresholds = _thresholds(answers, given)
    worst: list[Cells] = []
    parts: list[tuple[FloatArray, CSR, CSR, CSR]] = []
    for rows, predicted, scores in answers:
        own = given.rows(rows)
        confidence = confidence_of(scores, own)
        quality = confidence if prior is None else odds_of(confidence, own, prior)
        disagreement = 1.0 - confidence_of(_shares(given, neighbors[0][rows], neighbors[1][rows]), own)
        listed = confidence if value is None else np.where(as_dense(own.labels) == value, confidence, np.nan)
        worst.append(Cells.of_rows(rows, listed, quality, disagreement, n_cells))
        issues = sparse.csr_array(issues_of(confidence, own, thresholds))
        parts.append((row_quality(quality), issues, *_errors(own, predicted)))
    of_rows, *of_cells = zip(*parts, strict=True)
    issues, missed, added = (sparse.vstack(some, format="csr") for some in of_cells)
    cells = Cells.joined(worst).first(n_cells)
    return Look(cells, np.concatenate(of_rows), believable(issues, given), missed, added)


def _thresholds(answers: Iterable[Answer], given: PartialLabels) -> FloatArray:
    blocks = ((scores, given.rows(rows)) for rows, _, scores in answers)
    parts = [confident_sums(confidence_of(scores, own), own) for scores, own in blocks]
    sums, counts = (np.sum(part, axis=0) for part in zip(*parts, strict=True))
    return thresholds_of(sums, counts)


def _errors(given: PartialLabels, predicted: Matrix) -> tuple[CSR, CSR]:
    """Return where a known label was missed, and where one was added, each as CSR of 0 and 1."""
    labels, found = (sparse.csr_array(one, dtype=np.int8) for one in (given.labels, predicted))
    both = labels.multiply(found)
    missed, added = sparse.csr_array(labels - both), sparse.csr_array(found - both)
    if given.unknown is not None:
        added = sparse.csr_array(added - added.multiply(sparse.csr_array(given.unknown, dtype=np.int8)))
    for errors in (missed, added):
        errors.eliminate_zeros()
    return missed, added


def _shares(given: PartialLabels, distances: FloatArray, indices: IntArray) -> FloatArray:
    """Return the share of the neighbours that carry each label, by inverse distance, among those that know it."""
    weights = vote_weights(distances, "distance")
    carried = as_dense(counted_votes(indices, given.labels, weights)).astype(np.float64)
    total: Any = weights.sum(axis=1, keepdims=True)
    if given.unknown is not None:
        total = total - as_dense(counted_votes(indices, sparse.csr_array(given.unknown, dtype=np.int8), weights))
    known = total > 1e-9  # the rest of a sum of weights may be a rounding error
    shares = np.divide(carried, total, out=np.full(carried.shape, 0.5), where=np.broadcast_to(known, carried.shape))
    clipped: FloatArray = np.clip(shares, 0.0, 1.0)
    return clipped


# Samples that are equal, or nearly so, with different label sets.


def conflicts_of(
    distances: FloatArray, indices: IntArray, given: PartialLabels, names: Sequence[Any], radius: float
) -> list[Conflict]:
    """Return the groups of rows that a chain of neighbours within the radius joins, and that differ in a known label.

    Those with most cells to correct come first, then those of the first rows.
    """
    row, place = np.nonzero(distances <= radius)
    other = indices[row, place]
    members, ends = np.unique(np.append(row, other), return_inverse=True)
    if not len(members):
        return []
    n_pairs, n_members = len(row), len(members)
    near = sparse.csr_array((np.ones(n_pairs), (ends[:n_pairs], ends[n_pairs:])), shape=(n_members, n_members))
    n_groups, group = connected_components(near, directed=False)
    farthest = np.zeros(n_groups)
    np.maximum.at(farthest, group[ends[:n_pairs]], distances[row, place])
    sets = given.rows(members)
    order = np.argsort(group, kind="stable")
    bounds = np.searchsorted(group[order], np.arange(n_groups + 1))
    found = []
    for number in _that_differ(group, n_groups, sets):
        own = order[bounds[number] : bounds[number + 1]]
        found.append(_conflict(members[own], float(farthest[number]), sets.rows(own), names))
    return sorted(found, key=lambda one: (-one.n_cells, one.rows[0]))


def _that_differ(group: IntArray, n_groups: int, sets: PartialLabels) -> list[int]:
    """Return the groups in which a label is carried by one row, and known not to be by another."""
    member = sparse.csr_array((np.ones(len(group), dtype=np.int64), (group, np.arange(len(group)))))
    carried = sparse.coo_array(member @ sparse.csr_array(sets.labels, dtype=np.int64))
    n_known = np.bincount(group, minlength=n_groups)[carried.row]
    if sets.unknown is not None:
        unknown = sparse.csr_array(member @ sparse.csr_array(sets.unknown, dtype=np.int64))
        n_known = n_known - as_dense(unknown[carried.row, carried.col]).ravel()
    groups: list[int] = np.unique(carried.row[(carried.data > 0) & (carried.data < n_known)]).tolist()
    return groups


def _conflict(rows: IntArray, distance: float, sets: PartialLabels, names: Sequence[Any]) -> Conflict:
    labels = as_dense(sets.labels) == 1
    known: BoolArray = np.ones(labels.shape, dtype=np.bool_)
    if sets.unknown is not None:
        known = ~as_dense(sets.unknown).astype(np.bool_)
    n_carry, n_known = labels.sum(axis=0), known.sum(axis=0)
    majority = 2 * n_carry > n_known
    differ = np.flatnonzero((n_carry > 0) & (n_carry < n_known))
    n_cells = int(((labels != majority) & known)[:, differ].sum())
    labels_in_words = named(differ, names), named(np.flatnonzero(majority), names)
    return Conflict(tuple(rows.tolist()), distance, *labels_in_words, n_cells)


def named(labels: IntArray, names: Sequence[Any]) -> tuple[Any, ...]:
    """Return the names of labels."""
    return tuple(names[label] for label in labels.tolist())


# Hubs: rows that are neighbours of many others, and how much their labels mislead these.


def hubs_of(indices: IntArray, n_lists: IntArray, given: PartialLabels, names: Sequence[Any], n_hubs: int) -> list[Hub]:
    """Return the rows that are in most lists, the first row first among equals."""
    return [
        Hub(row, int(n_lists[row]), _disagreement(indices, row, given), named(columns_of(given.labels, row), names))
        for row in np.argsort(-n_lists, kind="stable")[:n_hubs].tolist()
        if n_lists[row]
    ]


def columns_of(matrix: Matrix, row: int) -> IntArray:
    """Return the columns in which a row is not 0, ascending."""
    return np.flatnonzero(as_dense(matrix[[row]]).ravel())


def _disagreement(indices: IntArray, row: int, given: PartialLabels) -> float:
    """Return the mean share of the known labels of either that only one carries, over the rows whose list has it."""
    others = np.flatnonzero((indices == row).any(axis=1))
    own, theirs = (as_dense(given.labels[rows]) == 1 for rows in ([row], others))
    known = np.ones_like(theirs)
    if given.unknown is not None:
        known = ~(as_dense(given.unknown[[row]]).astype(np.bool_) | as_dense(given.unknown[others]).astype(np.bool_))
    either, differ = ((own | theirs) & known).sum(axis=1), ((own != theirs) & known).sum(axis=1)
    return float(np.mean(differ / np.maximum(either, 1)))


# Labels that are confused with each other, or missing together.

CONFUSED, MISSING = "confused", "missing together"
_FEWEST = 2  # rows: one row is a suspicious row, not a pattern
_N_EXAMPLES = 5  # rows of a pair that are listed


def pairs_of_labels(missed: CSR, added: CSR, names: Sequence[Any], n_pairs: int) -> list[LabelPair]:
    """Return the pairs of labels that are wrong together most often, compared with the expected number of rows.

    `missed` and `added` (n_rows, n_labels) mark where a label was given and not predicted, and the reverse. The
    expected number of rows is the one for independent errors of these frequencies.
    """
    found = [*_counted(CONFUSED, missed, added, n_pairs), *_counted(MISSING, added, added, n_pairs)]
    found.sort(key=lambda pair: (pair.expected - pair.n_rows, pair.kind, pair.labels))
    return [replace(pair, labels=named(np.array(pair.labels), names)) for pair in found[:n_pairs]]


def _counted(kind: str, first: CSR, second: CSR, n_pairs: int) -> list[LabelPair]:
    """Return the pairs of one kind, with labels by number."""
    n_rows = first.shape[0]
    one, two = first.astype(np.int64).tocsc(), second.astype(np.int64).tocsc()
    together = sparse.csr_array(one.T @ two)
    if kind == MISSING:
        together = sparse.triu(together, k=1)
    pairs = sparse.coo_array(together)
    frequency = np.diff(one.indptr), np.diff(two.indptr)
    expected = frequency[0][pairs.row] * frequency[1][pairs.col] / n_rows
    often = np.flatnonzero((pairs.data >= _FEWEST) & (pairs.data > expected))
    order = often[np.lexsort((pairs.col[often], pairs.row[often], (expected - pairs.data)[often]))][:n_pairs]
    found = []
    for at in order:
        i, j = int(pairs.row[at]), int(pairs.col[at])
        rows = np.intersect1d(one[:, [i]].indices, two[:, [j]].indices)[:_N_EXAMPLES]
        found.append(LabelPair(kind, (i, j), int(pairs.data[at]), float(expected[at]), tuple(rows.tolist())))
    return found
