"""Answers for the training rows, each as if it had not been there."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from nearlabel.lazy._base import LazyClassifier
from nearlabel.lazy._query_neighbors import Neighbors
from nearlabel.lazy._sweep import HeldOut, Needs, left_out
from nearlabel.neighbors import NeighborGraph
from nearlabel.neighbors._remembered import RememberedNeighbors
from nearlabel.utils.types import FloatArray, LabelSets, Matrix


class LeaveOneOut(LazyClassifier):
    """A lazy classifier whose scores without one training row follow from its neighbours, without a refit.

    If the scores depend on more of the training rows than the neighbours' label sets, the subclass defines
    `_score_left_out`.
    """

    def loo_predict_proba(self) -> FloatArray:
        """Return leave-one-out scores: for each training row, those it would get from a fit of all other rows.

        Found without a refit, yet bit for bit the same if the search is exact, orders equal distances by index and has
        a metric that takes nothing from the training rows: `ExactNeighbors` with any metric but "seuclidean" and
        "mahalanobis" (unless `metric_params` gives them all they need). Nothing is stored.

        Returns
        -------
        scores : ndarray of shape (n_samples, n_labels)
            In the order of the training rows; column l is the score that label l applies.

        Raises
        ------
        ValueError
            If `n_neighbors` asks for more neighbours than there are without the row, or the search knows too few.
        """
        self._check_left_out()
        return self._container.probabilities(self._score_left_out())

    def loo_predict(self) -> LabelSets:
        """Return leave-one-out label sets: for each training row, what a fit of all other rows would predict for it.

        Found without a refit, and exact where `loo_predict_proba` is. Where draws settle ties, they are others than
        those of refits; where weights by distance settle a size (`BRkNNb`), it is the refits' up to rounding.

        Returns
        -------
        labels : ndarray or CSR of shape (n_samples, n_labels)
            In the order of the training rows; in the kind of container, and of the type, that y had in `fit`; a data
            frame gives an array.

        Raises
        ------
        ValueError
            As `loo_predict_proba`.
        """
        self._check_left_out()
        return self._container.wrap(self._decide_left_out())

    def _choose_n_neighbors(self, X: Matrix, labels: Matrix) -> None:
        self._remember_neighbors(self._numbers_to_try()[-1])
        super()._choose_n_neighbors(X, labels)

    def _remember_neighbors(self, n_neighbors: int) -> None:
        """Search once for as many neighbours of the training rows as leaving one out takes."""
        graph = NeighborGraph(*self._ask_search(None, n_neighbors + self._needs_training_neighbors))
        self.search_ = RememberedNeighbors(self.search_, graph)

    def _most_neighbors_held_out(self) -> int:
        known: int = getattr(self.search_, "n_neighbors_known", self._n_samples - 1)
        return int(min(known, self._n_samples - 1)) - self._needs_training_neighbors

    def _sweep(self, X: Matrix, labels: Matrix, candidates: Sequence[int], needs: Needs) -> Iterator[HeldOut]:
        return left_out(self, X, labels, candidates, needs)

    def _check_left_out(self) -> None:
        check_is_fitted(self)
        self._check_parameters()
        most = self._n_samples - 1 - self._needs_training_neighbors
        if self.n_neighbors_ > most:
            raise ValueError(
                f"n_neighbors must be at most {most} to leave out one of n_samples={self._n_samples} rows,"
                f" got {self.n_neighbors_}."
            )

    def _score_left_out(self) -> FloatArray:
        """Return the leave-one-out scores (n_samples, n_labels)."""
        return self._score_in_blocks(self._neighbors_left_out())

    def _decide_left_out(self) -> Matrix:
        """Return the leave-one-out label sets (n_samples, n_labels), stored as the training label sets are."""
        return self._decide_in_blocks(self._neighbors_left_out())

    def _neighbors_left_out(self) -> Neighbors:
        """Return the neighbours of the training rows, each without itself."""
        random = check_random_state(getattr(self, "random_state", None))
        return Neighbors(*self._ask_search(None, self.n_neighbors_), random)
