"""ML-MLM: the minimal learning machine for many labels (Hämäläinen et al., 2023)."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from scipy.spatial.distance import squareform
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils import Tags, check_random_state
from sklearn.utils.validation import check_is_fitted

from nearlabel.labels import distinct_labelsets
from nearlabel.lazy._distance_regression import Candidates, DistanceRegression, Equations, LeftOut
from nearlabel.lazy._mlmlm_updates import forget, nearest_other, partial_fit, retune, warn_if_stale
from nearlabel.lazy._shares import of_labelsets
from nearlabel.lazy.explain import Account, Explanation, OtherRule, explain, make_explanation, share_nearer
from nearlabel.metrics import MetricLike, get_metric
from nearlabel.metrics.evaluation import Evaluation
from nearlabel.models import WithProbabilities
from nearlabel.models.decision import cut
from nearlabel.models.selector import Criterion
from nearlabel.neighbors import ExactNeighbors, NoveltyDetector
from nearlabel.neighbors.exact.all_pairs import AllDistances, equal_rows, takes_missing_values
from nearlabel.solvers.feature_scaling import FeatureScaling
from nearlabel.utils.messages import require_room
from nearlabel.utils.naming import registered
from nearlabel.utils.tables import labelset_columns, with_carriers
from nearlabel.utils.types import BoolArray, FloatArray, IntArray, LabelSets, Matrix, MatrixLike
from nearlabel.utils.validation import (
    as_dense,
    check_choice,
    check_groups,
    check_integer,
    check_positive,
    row_blocks,
    row_names,
    stacked,
    uneven_blocks,
)

AUTO: Final = "auto"
POWERS = tuple(2.0 ** (e / 2) for e in range(17))  # 1 to 256
_MOST_LANDMARKS, _MOST_TERMS = 4000, 4e11  # of "auto"
_MOST_CELLS = 2**23  # of the predicted distances that select the power
_RIDGE_QUANTILE, _LEAST_RIDGE = 0.001, 1e-10  # the latter of the mean of the diagonal
_MOST_SHOWN = 10  # label sets in an explanation
_N_NEIGHBORS_FOR_NOVELTY = 10
_SCORES = "score = sum of the shares of the label sets with the label; share: in proportion to rows / predicted^power"


@registered("method", "mlmlm")
class MLMLM(WithProbabilities):
    """Predict by the training label sets, weighted by the inverse of their predicted distance to a power.

    From a query's distances to the training samples, a ridge regression predicts the distance of its label set from
    each training label set. With the predicted distances δ and m_s training samples of label set y_s::

        score = Σ_s w_s y_s / Σ_s w_s,   w_s = m_s / δ_s^p          chosen: score > threshold_

    The power p has the best leave-one-out scores by the metric `scoring`. With the threshold, the leave-one-out label
    sets contain as many labels in total as y does (the authors' threshold); `TunedThresholdsClassifierCV` finds better
    thresholds.

    Parameters
    ----------
    power : float or "auto", default="auto"
        p, above 0. "auto": the best of 1, √2, 2, ..., 256 by `scoring`, the smallest if several are equal. The authors
        try 61 powers from 8 to 64; on some data sets smaller ones are best.
    metric : str or callable, default="euclidean"
        Distance in the features, as in `ExactNeighbors`.
    metric_params : dict, default=None
        As in `ExactNeighbors`.
    scale : {"minmax", "none"}, default="minmax"
        "minmax": divide each feature by its range in the training samples; a constant feature is unchanged. (The
        authors also shift the minimum to 0, which changes no Euclidean distance.)
    n_landmarks : int or "auto", default="auto"
        Largest number of landmarks: training samples from which distances are computed. "auto": all distinct samples,
        but at most 4,000, and fewer if the number of products, l (2nl + m(n + m)) for l landmarks, n samples and m
        label sets, would exceed 4e11; this occurs from about 5,000 samples on. If not all samples are landmarks, they
        are drawn at random among the distinct samples. Memory grows with the square of n_landmarks and with n_landmarks
        · n_labelsets, the size of a file and of a pickle with the latter only.
    ridge : float or "auto", default="auto"
        α, above 0. "auto": the 0.001 quantile of the distances between the landmarks, as in the authors' program.
    left_out : {"exact", "press"}, default="exact"
        What leave-one-out leaves out with a sample. "exact": the sample in all its roles (equation, landmark,
        candidate), as in a fit without it; "press": its equation only, as in the authors' program, which is too
        optimistic if label sets are rare.
    scoring : str, callable or Metric, default="ranking_loss"
        Metric by which "auto" selects the power: any value that `nearlabel.metrics.get_metric` takes.
    random_state : int, RandomState or None, default=0
        Draws the landmarks and the samples for the selection of the power, if there are many samples.

    Attributes
    ----------
    power_ : float
        p.
    threshold_ : float
        Labels with a higher score are predicted.
    ridge_ : float
        α.
    landmarks_ : ndarray of int of shape (n_landmarks,)
        Numbers of the training samples that are landmarks, ascending.
    labelsets_ : ndarray or CSR of shape (n_labelsets, n_labels)
        Distinct training label sets, in lexicographic order.
    cv_results_ : dict of str to ndarray
        "power", and the value of `scoring` for each; empty if `power` is a number.
    power_stale_ : bool
        Whether samples were added or removed since the power and the threshold were selected; the first `predict` then
        warns (`StaleThresholdsWarning`).
    changes_ : dict
        "added" and "forgotten", the numbers of samples added and removed since `fit`, and "new_labels".
    classes_ : ndarray of shape (n_labels,)
        Column numbers of y, Python integers; the sorted classes of a one-dimensional y.
    label_names_ : ndarray of shape (n_labels,)
        Column names of the data frame y, else 0 .. n_labels - 1.
    n_features_in_ : int
        Number of features.

    Notes
    -----
    `loo_predict_proba` equals refits without the sample to about 1e-8, not bit for bit, because rounding differs. α,
    the scaling, the power, the threshold and the drawn landmarks are those of the fit to all samples. Power and
    threshold are found on samples drawn at random, as many as have 2^23 predicted distances in total.

    After `partial_fit` and `forget`, scores and leave-one-out scores equal those of a fit with the same landmarks,
    scaling, ridge and power to about 1e-8. New samples do not become landmarks, even if all earlier ones are.

    If some predicted distances are 0, only these label sets have weight. If all samples or all label sets are equal,
    the scores are the shares of the labels.

    References
    ----------
    J. Hämäläinen, A. Hubermont, A. Souza, C. L. C. Mattos, J. P. P. Gomes, T. Kärkkäinen: Minimal learning machine for
    multi-label learning. arXiv:2305.05518, 2023.

    Examples
    --------
    >>> from nearlabel.datasets import load_multidigits
    >>> from nearlabel.lazy import MLMLM
    >>> from nearlabel.metrics import micro_f1
    >>> digits = load_multidigits()
    >>> model = MLMLM().fit(digits.X[:500], digits.Y[:500])
    >>> round(model.power_), round(micro_f1(digits.Y[1500:], model.predict(digits.X[1500:])), 3)
    (181, 0.717)
    """

    cv_results_: dict[str, NDArray[Any]]
    changes_: dict[str, Any]
    power_stale_: bool
    _row_names: NDArray[Any] | None  # from the index of a data frame
    _cells = None  # no cell is unknown
    _takes_constant_labels = True  # they change no distance between label sets

    def __init__(
        self,
        power: float | Literal["auto"] = AUTO,
        *,
        metric: str | Callable[..., float] = "euclidean",
        metric_params: dict[str, Any] | None = None,
        scale: str = "minmax",
        n_landmarks: int | Literal["auto"] = AUTO,
        ridge: float | Literal["auto"] = AUTO,
        left_out: str = "exact",
        scoring: MetricLike = "ranking_loss",
        random_state: int | np.random.RandomState | None = 0,
    ) -> None:
        self.power = power
        self.metric = metric
        self.metric_params = metric_params
        self.scale = scale
        self.n_landmarks = n_landmarks
        self.ridge = ridge
        self.left_out = left_out
        self.scoring = scoring
        self.random_state = random_state

    def _learn(self, X: Matrix, labels: Matrix, left_out: Callable[[FloatArray | None], None] | None = None) -> None:
        """Learn; `left_out` takes the leave-one-out scores that choosing the power needs, or None if of some rows."""
        random = check_random_state(self.random_state)
        scaling = FeatureScaling.by_range(X) if self.scale == "minmax" else FeatureScaling(None)
        self._rows, self._scaling = scaling(X), scaling
        self.labelsets_, self._labelset_of, self._frequency = distinct_labelsets(labels)
        self._distances = AllDistances(self._rows, self.metric, self.metric_params)
        self._choose_landmarks(random)
        self._measure_landmarks()
        factor = self._regress(self._summed())
        scores = self._choose_power(labels, random, LeftOut(self._regression, factor))
        if left_out is not None:
            left_out(scores)
        self.changes_ = {"added": 0, "forgotten": 0, "new_labels": []}

    def _fit(self, X: MatrixLike, y: MatrixLike, **params: Any) -> Self:
        super()._fit(X, y, **params)
        self._row_names = row_names(X)
        return self

    def _choose_landmarks(self, random: np.random.RandomState) -> None:
        equal = equal_rows(self._rows)
        n_samples, n_labelsets = self._rows.shape[0], len(self._frequency)
        most = affordable_landmarks(n_samples, n_labelsets) if self.n_landmarks == AUTO else int(self.n_landmarks)
        groups = turn = np.arange(len(equal.first))
        if len(groups) > most:
            order = random.permutation(groups)
            groups, turn = np.sort(order[:most]), np.argsort(order)
        self._turn = turn[equal.group_of]  # the order in which rows become landmarks when others go
        self.landmarks_: IntArray = equal.first[groups]
        number = np.full(len(equal.first), -1)
        number[groups] = np.arange(len(groups))
        self._landmark_of = number[equal.group_of]  # the landmark that a row is equal to, or -1
        shape = len(groups), n_labelsets
        require_room("the coefficients of ML-MLM", shape, ("landmarks", "label sets"), "a smaller n_landmarks")

    def _measure_landmarks(self) -> None:
        """Find α, and the usual distance of each landmark to the nearest other one."""
        among = self._to_landmarks(self._rows[self.landmarks_])
        self.ridge_, self._usual = self._find_ridge(among), nearest_other(among)

    def _find_ridge(self, among: FloatArray) -> float:
        """Return α; where the quantile is next to 0, a number just large enough to make the equations solvable."""
        if self.ridge != AUTO:
            return float(self.ridge)
        least = _LEAST_RIDGE * (1.0 + float(np.square(among).mean()) * self._rows.shape[0])
        apart = squareform(among, checks=False)
        quantile = np.quantile(apart, _RIDGE_QUANTILE, method="hazen") if len(apart) else 0.0
        return float(np.maximum(least, quantile))

    def _equations(self) -> Equations:
        """Return the sums over the training samples; those of a model from a file are computed again."""
        known = self._regression.equations
        return self._summed() if known is None else known

    def _summed(self) -> Equations:
        """Sum over the training samples."""
        return Equations.of(self._blocks(), len(self.landmarks_), len(self._frequency), self.ridge_)

    def _blocks(self) -> Iterator[tuple[FloatArray, IntArray]]:
        """Yield distances of the training samples to the landmarks, and numbers of their label sets, by blocks."""
        for block in row_blocks(self._rows.shape[0], 32 * len(self.landmarks_)):
            yield self._to_landmarks(self._rows[block]), self._labelset_of[block]

    def _regress(self, equations: Equations) -> FloatArray:
        """Learn to predict distances between label sets; return the factor of the squares."""
        self._regression = DistanceRegression(self.labelsets_, self.ridge_)
        return self._regression.fit(equations)

    def _choose_power(self, labels: Matrix, random: np.random.RandomState, without: LeftOut) -> FloatArray | None:
        """Choose power and threshold by the scores of rows that are left out; return them if they are of all rows."""
        self.power_stale_ = self._told = False
        n_samples, n_judged = labels.shape[0], max(1, _MOST_CELLS // max(self.labelsets_.shape))
        if n_samples == 1:
            self.power_, self.threshold_, self.cv_results_ = POWERS[0], 0.5, {}
            return None
        judged = np.arange(n_samples)
        if n_judged < n_samples:
            judged = np.sort(random.permutation(n_samples)[:n_judged])
        parts = [candidates for _, candidates in self._left_out(np.split(judged, len(judged)), without)]
        candidates, truth = Candidates.joined(parts), as_dense(labels[judged])
        evaluation, n_chosen = Evaluation.of(truth, [get_metric(self.scoring)]), int(truth.sum())
        powers = POWERS if self.power == AUTO else (float(self.power),)
        values = [_value(evaluation, self._shares(candidates, power), n_chosen) for power in powers]
        self.power_ = powers[Criterion(get_metric(self.scoring)).first_best(values) or 0]  # 0: of an undefined metric
        scores = self._shares(candidates, self.power_)
        self.threshold_ = _cut_of_as_many(scores, n_chosen)
        self.cv_results_ = {}
        if self.power == AUTO:
            self.cv_results_ = {"power": np.array(powers), get_metric(self.scoring).name: np.array(values)}
        return scores if len(judged) == n_samples else None

    def _fit_left_out(self, X: MatrixLike, y: MatrixLike) -> FloatArray:
        """Fit, and return the leave-one-out scores, which the fit computes too."""
        known: list[FloatArray | None] = []
        self._fit(X, y, left_out=known.append)
        return self._left_out_scores(None) if known[0] is None else known[0]

    def _score(self, X: Matrix) -> FloatArray:
        return np.vstack([scores for _, _, scores in self._answers(X)])

    def _answers(self, X: Matrix) -> Iterator[tuple[Matrix, Candidates, FloatArray]]:
        """Yield blocks of queries, scaled, their candidates and scores."""
        for block in row_blocks(X.shape[0], self._bytes_per_row):
            rows = self._scaling(X[block])
            distances = self._regression.predict(self._to_landmarks(rows))
            candidates = Candidates.of(distances, np.broadcast_to(self._frequency, distances.shape))
            yield rows, candidates, self._shares(candidates, self.power_)

    def _decide(self, X: Matrix) -> Matrix:
        warn_if_stale(self)
        stored = sparse.csr_array if sparse.issparse(self.labelsets_) else np.asarray
        return stacked([stored(cut(scores, self.threshold_, strict=True)) for _, _, scores in self._answers(X)])

    def _shares(self, candidates: Candidates, power: float) -> FloatArray:
        """Return the scores: the share of each label in the weights of the candidates."""
        shares = np.asarray(candidates.weights(power) @ self.labelsets_)
        shares[:, self._carried_by_all == 1] = 1.0  # not 1 by rounding
        shares[shares > 1.0] = 1.0  # a sum of shares may be above 1 by rounding
        return shares

    def _novelty_steps(self, level: float) -> list[Any]:
        """Return a detector of novel samples, by the distances of this classifier, after its scaling of features."""
        search = ExactNeighbors(self.metric, metric_params=self.metric_params)
        n_neighbors = max(1, min(_N_NEIGHBORS_FOR_NOVELTY, self._rows.shape[0] - 1))
        detector = NoveltyDetector(n_neighbors, level, search=search).fit(self._rows)
        return [FunctionTransformer(self._scaled), detector]

    def _scaled(self, X: MatrixLike) -> Matrix:
        """Return queries in the scale of the training samples."""
        return self._scaling(self._queries(X))

    def _to_landmarks(self, rows: Matrix) -> FloatArray:
        """Return the distances of scaled rows to the landmarks."""
        return self._distances.between(rows, self._rows[self.landmarks_])

    @property
    def _bytes_per_row(self) -> int:
        return 32 * (len(self.landmarks_) + int(sum(self.labelsets_.shape)))

    def _left_out(self, groups: Sequence[IntArray], without: LeftOut) -> Iterator[tuple[IntArray, Candidates]]:
        """Yield blocks of rows, whole groups of them, and their candidates without their own groups."""
        n_equal = np.bincount(self._landmark_of[self._landmark_of >= 0], minlength=len(self.landmarks_))
        sizes = np.array([len(group) for group in groups])
        for block in uneven_blocks(self._bytes_per_row * sizes):
            rows, ends = np.concatenate(groups[block]), np.cumsum(sizes[block])
            positions = np.split(np.arange(len(rows)), ends[:-1])
            distances, labelset = self._to_landmarks(self._rows[rows]), self._labelset_of[rows]
            counts = np.tile(self._frequency, (len(rows), 1))
            leaving = []
            for group in positions:
                np.subtract.at(counts, (group[:, np.newaxis], labelset[group]), 1)
                landmarks, n_own = np.unique(self._landmark_of[rows[group]], return_counts=True)
                leaving.append(landmarks[(landmarks >= 0) & (n_own == n_equal[landmarks])])
            if self.left_out == "press":
                predicted = without.predict_press(distances, labelset)
            else:
                predicted = without.predict(distances, labelset, positions, leaving)
            yield rows, Candidates.of(predicted, counts)

    def loo_predict_proba(self, groups: ArrayLike | None = None) -> FloatArray:
        """Return leave-one-out scores: for each training sample, its scores by a fit to all others.

        With groups, the fit is to the samples of all other groups (leave-one-group-out). There is no refit; the scores
        equal those of refits to about 1e-8. The Notes of the class list what is taken from the fit to all samples. The
        classifier is not changed.

        Parameters
        ----------
        groups : array-like of shape (n_samples,), default=None
            Group of each sample. None: each sample is its own group.

        Returns
        -------
        scores : ndarray of shape (n_samples, n_labels) or (n_samples, n_classes)
            In the order of the training samples, as `predict_proba`.

        Raises
        ------
        ValueError
            If the length of groups is wrong, there is only one group, or ``left_out="press"`` and a group has several
            samples.
        """
        scores = self._left_out_scores(groups)  # which needs a fit
        return self._container.probabilities(scores)

    def loo_predict(self, groups: ArrayLike | None = None) -> LabelSets:
        """Return leave-one-out label sets: the labels whose leave-one-out score is above `threshold_`.

        Parameters
        ----------
        groups : array-like of shape (n_samples,), default=None
            As in `loo_predict_proba`.

        Returns
        -------
        labels : ndarray or CSR of shape (n_samples, n_labels), or (n_samples,) for a one-dimensional y
            In the order of the training samples, as `predict`.

        Raises
        ------
        ValueError
            As `loo_predict_proba`.
        """
        scores = self._left_out_scores(groups)
        return self._container.wrap(cut(scores, self.threshold_, strict=True))

    def _left_out_scores(self, names: ArrayLike | None) -> FloatArray:
        check_is_fitted(self)
        self._check_parameters()
        n_samples = self._rows.shape[0]
        groups = np.arange(n_samples) if names is None else check_groups(names, n_samples)
        order = np.argsort(groups, kind="stable")
        members = np.split(order, np.flatnonzero(np.diff(groups[order])) + 1)
        if len(members) == 1:
            raise ValueError(f"X must have several samples or groups to leave one out, got one of {n_samples}.")
        if self.left_out == "press" and len(members) < n_samples:
            raise ValueError("left_out must be 'exact' to leave out groups of several rows, got 'press'.")
        shape = n_samples, self._n_labels
        require_room("leave-one-out scores", shape, ("samples", "labels"), "fewer samples, or a method by votes")
        scores = np.empty(shape)
        for rows, candidates in self._left_out(members, self._regression.left_out(self._equations())):
            scores[rows] = self._shares(candidates, self.power_)
        return scores

    def training_labels(self) -> Matrix:
        """Return the label sets of the training samples.

        Returns
        -------
        labels : ndarray or CSR of shape (n_samples, n_labels)
            An indicator matrix of dtype int8, dense or CSR as y was.
        """
        check_is_fitted(self)
        return self._labels

    @property
    def _labels(self) -> Matrix:
        return self.labelsets_[self._labelset_of].astype(np.int8)

    partial_fit, forget, retune = partial_fit, forget, retune
    explain, _training_shares = explain, of_labelsets

    def _explanations(self, X: MatrixLike, other: OtherRule | None) -> Iterator[Explanation]:
        for rows, candidates, scores in self._answers(self._queries(X)):
            chosen = as_dense(cut(scores, self.threshold_, strict=True) if other is None else other(scores)) == 1
            novelty = share_nearer(self._to_landmarks(rows).min(axis=1), np.sort(self._usual))
            for query in range(len(scores)):
                account = self._account(rows[[query]], candidates.of_query(query), scores[query], chosen[query])
                if other is not None:
                    account = account._replace(rule=f"{_SCORES}; chosen: {other.words}", threshold=other.thresholds)
                new = (float(novelty[query]), "") if len(self._usual) > 1 else (None, "all training samples are equal.")
                yield make_explanation(self, account, np.arange(len(chosen[query])), chosen[query], new)

    def _account(self, query: Matrix, candidates: Candidates, scores: FloatArray, chosen: BoolArray) -> Account:
        """Return the account of one query: label sets of largest weight, the best with each predicted label, rows."""
        weights, distances = candidates.weights(self.power_)[0], self._distances.between(query, self._rows)[0]
        order = np.lexsort((distances, self._labelset_of))
        nearest = order[np.unique(self._labelset_of[order], return_index=True)[1]]
        best = np.lexsort((nearest, -weights))
        shown = best[with_carriers(as_dense(self.labelsets_[:, np.flatnonzero(chosen)])[best] == 1, _MOST_SHOWN)]
        neighbors = {
            "row": nearest[shown],
            "distance": distances[nearest[shown]],
            "predicted": candidates.distances[0, shown],
            "rows": self._frequency[shown],
            "share": weights[shown],
            **labelset_columns(self.labelsets_[shown], self.label_names_),
        }
        return Account(
            rule=f"{_SCORES}; chosen: score > threshold",
            columns={"score": scores},
            shown=("score", "threshold"),
            settings={"power": self.power_, "n_labelsets": len(self._frequency)},
            neighbors=neighbors,
            threshold=self.threshold_,
        )

    def _check_parameters(self) -> None:
        for name in ("power", "ridge"):
            if getattr(self, name) != AUTO:
                check_positive(name, getattr(self, name))
        if self.n_landmarks != AUTO:
            check_integer("n_landmarks", self.n_landmarks, low=1)
        check_choice("scale", self.scale, {"minmax", "none"})
        check_choice("left_out", self.left_out, {"exact", "press"})
        get_metric(self.scoring)
        check_random_state(self.random_state)

    def __sklearn_tags__(self) -> Tags:
        """Declare that X may contain NaN if the metric takes it."""
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = takes_missing_values(self.metric)
        return tags


def _value(evaluation: Evaluation, scores: FloatArray, n_chosen: int) -> float:
    """Return the metric of scores, or of the labels of the n largest ones."""
    chosen = cut(scores, _cut_of_as_many(scores, n_chosen), strict=True)
    (value,) = evaluation.of_checked(chosen, scores).values()
    return value


def _cut_of_as_many(scores: FloatArray, n_chosen: int) -> float:
    """Return the middle between the n-th largest score and the next: n scores are above it, if the two differ."""
    if not 0 < n_chosen < scores.size:
        return 0.5
    ascending = np.partition(scores.ravel(), [scores.size - n_chosen - 1, scores.size - n_chosen])
    return float(ascending[[scores.size - n_chosen - 1, scores.size - n_chosen]].mean())


def affordable_landmarks(n_samples: int, n_labelsets: int) -> int:
    """Return the largest number l of landmarks with at most _MOST_TERMS products l (2 n l + m (n + m))."""
    of_labelsets = n_labelsets * (n_samples + n_labelsets)
    root = math.sqrt(of_labelsets**2 + 8.0 * n_samples * _MOST_TERMS)
    return int(min(_MOST_LANDMARKS, max(1, (root - of_labelsets) / (4 * n_samples))))
