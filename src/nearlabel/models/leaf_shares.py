"""The shares of the training samples in the scores of trees and forests, whose leaves contain means of labels."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.ensemble import BaggingClassifier, ExtraTreesClassifier, RandomForestClassifier
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.validation import check_is_fitted, validate_data

from nearlabel.models.unwrapped import inmost
from nearlabel.utils.containers import checked_container
from nearlabel.utils.types import CSR, FloatArray, IntArray, Matrix, MatrixLike
from nearlabel.utils.validation import row_blocks

_FORESTS = (RandomForestClassifier, ExtraTreesClassifier)
_HINT = "RandomForestPCT, PredictiveClusteringTree, or scikit-learn's RandomForestClassifier or ExtraTreesClassifier"


@dataclass(frozen=True, eq=False, repr=False)
class LeafShares:
    """Where the training samples are in a forest's trees: all that their shares in its scores need.

    A forest does not store its training samples. The score of a tree is the mean label set of the samples in the
    query's leaf, each counted as often as the tree drew it; that of a forest is the mean over its T trees::

        score_l(x) = Σ_i u_i(x) y_il,   u_i(x) = 1/T Σ_t c_i(t) [i is in leaf_t(x)] / n_t(x)

    where c_i(t) is how often tree t drew sample i, and n_t(x) the sum of c(t) over the leaf of x. So u_i(x) is the
    share of sample i; shares are at least 0, and their sum is 1. Made by `of`.

    Parameters
    ----------
    leaves : ndarray of int of shape (n_training, n_trees)
        Number of the leaf of each training sample in each tree, of the smallest type that is possible.
    counts : ndarray of int of shape (n_training, n_trees)
        How often each tree drew each sample; 1 without a bootstrap.

    References
    ----------
    J. S. Rhodes, A. Cutler, K. R. Moon: Geometry- and accuracy-preserving random forest proximities. IEEE TPAMI 45(9),
    2023. `out_of_bag` returns their proximities (definition 1).

    Examples
    --------
    >>> from nearlabel.models import LeafShares
    >>> from nearlabel.rivals import RandomForestPCT
    >>> X, Y = [[0.0], [1.0], [4.0], [5.0]], [[1, 0], [1, 1], [0, 1], [0, 1]]
    >>> forest = RandomForestPCT(8, random_state=0).fit(X, Y)
    >>> shares = LeafShares.of(forest, X).shares(forest, [[0.5]])
    >>> shares.shape, round(float(shares.sum()), 9)
    ((1, 4), 1.0)
    >>> bool(abs(shares @ Y - forest.predict_proba([[0.5]])).max() < 1e-12)
    True
    """

    leaves: NDArray[Any]
    counts: NDArray[Any]

    @classmethod
    def of(cls, model: Any, X_training: MatrixLike) -> Self:
        """Find the training samples in the trees of a fitted model.

        Parameters
        ----------
        model : fitted estimator
            `RandomForestPCT` or `PredictiveClusteringTree`; scikit-learn's `RandomForestClassifier`,
            `ExtraTreesClassifier`, `DecisionTreeClassifier`, or `BaggingClassifier` of trees; or a pipeline, search or
            threshold classifier around one. Fitted without sample weights and class weights.
        X_training : array-like, data frame or sparse container of shape (n_training, n_features)
            The samples that the model was fitted to, in the same order.

        Returns
        -------
        LeafShares

        Raises
        ------
        TypeError
            If the model is none of these.
        ValueError
            If `X_training` is not what the trees were grown on, weights change the means of leaves, or monotonic
            constraints do.
        """
        trees, rows = _trees_and_rows(model, checked_container("X_training", X_training))
        leaves = _leaves_of(trees, rows)
        counts = _drawn(trees, len(leaves))
        _check_sums(trees, leaves, counts)
        return cls(_smallest(leaves), _smallest(counts))

    def shares(self, model: Any, X: MatrixLike) -> CSR:
        """Return the share of each training sample in the scores of queries.

        Parameters
        ----------
        model : fitted estimator
            The model of which this was made.
        X : array-like, data frame or sparse container of shape (n_queries, n_features)
            Queries, as the model takes them.

        Returns
        -------
        shares : CSR array of shape (n_queries, n_training)
            ``shares @ Y_training`` is `predict_proba` of the model, up to rounding.

        Raises
        ------
        ValueError
            If X does not match the model, or the model is another one.
        """
        leaves = _leaves_of(*_trees_and_rows(model, X))
        return self._summed(leaves, np.full(leaves.shape, 1 / leaves.shape[1]))

    def out_of_bag(self) -> CSR:
        """Return the share of each training sample in the out-of-bag scores of the training samples.

        The out-of-bag score of a sample is the mean over the trees that did not draw it.

        Returns
        -------
        shares : CSR array of shape (n_training, n_training)
            ``shares @ Y_training`` is `oob_decision_function_` of scikit-learn's forests. A sample that every tree drew
            has no shares.

        Raises
        ------
        ValueError
            If each tree drew all samples, as without a bootstrap.
        """
        out = self.counts == 0
        if not out.any():
            raise ValueError(
                "model must be grown on samples drawn for each tree to have out-of-bag scores, got trees that drew all"
                " of them. Hint: bootstrap=True."
            )
        n_out = out.sum(axis=1, keepdims=True)
        return self._summed(self.leaves, out / np.maximum(n_out, 1))

    def _summed(self, leaves: NDArray[Any], weights: FloatArray) -> CSR:
        """Return the sum over the trees of the shares in one leaf of each, by weights (n_queries, n_trees) of trees."""
        n_training, n_trees = self.leaves.shape
        if leaves.shape[1] != n_trees:
            raise ValueError(f"model must have {n_trees} trees, got {leaves.shape[1]}. Hint: LeafShares.of(model, X).")
        shares = sparse.csr_array((len(leaves), n_training))
        for some in row_blocks(n_trees, 32 * (len(leaves) + n_training)):  # blocks of trees
            contents, starts = self._contents(slice(some.start, some.stop))
            ends, places = starts[1:], leaves[:, some].astype(np.intp) + starts[:-1]
            if (places >= ends).any():
                raise ValueError("model must be the one of which the leaves are, got one with other leaves.")
            at = np.arange(len(leaves) + 1) * places.shape[1]
            shape = len(leaves), contents.shape[0]
            chosen = sparse.csr_array((weights[:, some].ravel(), places.ravel(), at), shape=shape)
            shares = shares + chosen @ contents
        shares.sort_indices()
        shares.eliminate_zeros()
        return shares

    def _contents(self, some: slice) -> tuple[CSR, IntArray]:
        """Return each sample's share of each node of some trees (n_nodes, n_training), and where each tree starts."""
        leaves, counts = self.leaves[:, some].astype(np.intp), self.counts[:, some]
        starts = np.append(0, np.cumsum(leaves.max(axis=0) + 1))
        row, tree = np.nonzero(counts)
        node, drawn = leaves[row, tree] + starts[tree], counts[row, tree].astype(np.float64)
        n_drawn = np.bincount(node, drawn, minlength=starts[-1])
        shape = int(starts[-1]), len(leaves)
        return sparse.csr_array((drawn / n_drawn[node], (node, row)), shape=shape), starts


def has_leaf_shares(classifier: Any) -> bool:
    """Return whether a classifier, without what is around it, is one that `LeafShares.of` takes."""
    if hasattr(classifier, "_trees_and_rows") or isinstance(classifier, (*_FORESTS, DecisionTreeClassifier)):
        return True
    parts = getattr(classifier, "estimators_", [None])
    return isinstance(classifier, BaggingClassifier) and all(isinstance(one, DecisionTreeClassifier) for one in parts)


def _trees_and_rows(model: Any, X: MatrixLike) -> tuple[Any, Matrix]:
    """Return scikit-learn's fitted model, or None for one leaf with all samples, and samples in the form it takes."""
    found, (rows,) = inmost(model, X)
    if not has_leaf_shares(found):
        raise TypeError(f"model must be trees with means of labels in their leaves, got {found!r}. Hint: {_HINT}.")
    check_is_fitted(found)
    return found._trees_and_rows(rows) if hasattr(found, "_trees_and_rows") else (found, rows)


def _leaves_of(trees: Any, rows: Matrix) -> IntArray:
    """Return the leaf of each sample in each tree (n_samples, n_trees)."""
    if trees is None:
        return np.zeros((rows.shape[0], 1), dtype=np.intp)
    if not isinstance(trees, BaggingClassifier):
        leaves = np.asarray(trees.apply(rows), dtype=np.intp)
        return leaves.reshape(len(leaves), -1)
    checked = validate_data(trees, rows, accept_sparse="csr", dtype=np.float32, ensure_all_finite=False, reset=False)
    parts = zip(trees.estimators_, trees.estimators_features_, strict=True)
    return np.column_stack([tree.apply(checked[:, features]) for tree, features in parts]).astype(np.intp)


def _drawn(trees: Any, n_rows: int) -> IntArray:
    """Return how often each tree drew each sample (n_training, n_trees)."""
    if trees is None:
        return np.ones((n_rows, 1), dtype=np.intp)
    single = isinstance(trees, DecisionTreeClassifier)
    n_training = int(trees.tree_.n_node_samples[0] if single else trees._n_samples)
    if n_rows != n_training:
        raise ValueError(f"X_training must be the {n_training} samples of the fit, got {n_rows}.")
    if single:
        return np.ones((n_rows, 1), dtype=np.intp)
    return np.column_stack([np.bincount(drawn, minlength=n_rows) for drawn in trees.estimators_samples_])


def _check_sums(trees: Any, leaves: IntArray, counts: IntArray) -> None:
    """Raise ValueError unless the counts of the samples in each leaf add up to the weight that the leaf has."""
    for number, tree in enumerate(_single_trees(trees)):
        if tree.monotonic_cst is not None:
            raise ValueError(
                "monotonic_cst must be None for leaves that contain means of labels, got constraints that change them."
            )
        nodes = tree.tree_
        is_leaf = nodes.children_left == -1
        summed = np.bincount(leaves[:, number], counts[:, number], minlength=nodes.node_count)
        if not np.allclose(summed[is_leaf], nodes.weighted_n_node_samples[is_leaf], rtol=1e-9, atol=0.0):
            raise ValueError(
                "X_training must be the samples of the fit, in their order, without sample weights and class weights,"
                f" got other sums in the leaves of tree {number}. Hint: repeat samples instead of weights."
            )


def _single_trees(trees: Any) -> Iterator[Any]:
    if isinstance(trees, DecisionTreeClassifier):
        yield trees
    elif trees is not None:
        yield from trees.estimators_


def _smallest(numbers: IntArray) -> NDArray[Any]:
    """Return numbers of at least 0 in the smallest type that stores them all."""
    return numbers.astype(np.min_scalar_type(int(numbers.max(initial=0))))
