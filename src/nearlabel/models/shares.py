"""The share of each training sample in the scores of a fitted model."""

from __future__ import annotations

from typing import Any

from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from nearlabel.models.leaf_shares import LeafShares, has_leaf_shares
from nearlabel.models.unwrapped import inmost
from nearlabel.utils.types import CSR, MatrixLike

_HAVE = (
    "BRkNN, BRkNNa, BRkNNb, LPkNN, MLMLM, RandomForestPCT, PredictiveClusteringTree, and scikit-learn's"
    " RandomForestClassifier, ExtraTreesClassifier, DecisionTreeClassifier and BaggingClassifier of trees have shares"
)


def training_shares(model: Any, X: MatrixLike, X_training: MatrixLike | None = None) -> CSR:
    """Return the share of each training sample in the scores of queries.

    The scores of some models are weighted votes of the training label sets: the score of label l for a query x is Σ_i
    u_i(x) y_il with u_i(x) >= 0 and Σ_i u_i(x) = 1. Then u_i(x) is the share of training sample i.

    - `BRkNN`, `BRkNNa`, `BRkNNb`, `LPkNN`, and your own `LazyClassifier` with the shares of the votes as scores: the
      weight of a neighbour divided by the weight of all neighbours.
    - Trees and forests whose leaves contain means of labels: the samples in the query's leaf of each tree (see
      `LeafShares`).
    - `MLMLM`: it weighs label sets, not samples. To display it, the weight of each label set is divided over the
      training samples that have it, in proportion to exp(-2 d² / r²), where d is the distance of the sample to the
      query, and r that of the query to its tenth nearest training sample. The sums equal the scores; how the samples of
      one label set compare is not from the model.

    Other models have no such shares: those that learn a function of the votes, as `MLkNN` does, linear models, and
    boosted trees.

    Parameters
    ----------
    model : fitted estimator
        A classifier as above; or a pipeline, parameter search, `NeighborsClassifierCV`, threshold classifier or
        `CalibratedLabels` around one: the shares are those in the inner classifier's own scores, before they are mapped
        or calibrated.
    X : array-like, data frame or sparse container of shape (n_queries, n_features)
        Queries, as `model.predict` takes them.
    X_training : array-like, data frame or sparse container of shape (n_training, n_features), default=None
        The samples that the model was fitted to, as they were passed to `fit`. Only trees and forests need them, since
        they do not store them; other models ignore them.

    Returns
    -------
    shares : CSR array of shape (n_queries, n_training)
        Columns are sorted; shares of 0 are not stored. ``shares @ Y_training`` are the scores (n_queries, n_labels): of
        a one-dimensional y, with its second class as 1, the second column of `predict_proba`. A query whose neighbours
        all weigh 0 by your own function `weights` has scores of 0, and no shares.

    Raises
    ------
    TypeError
        If the scores of the model are no weighted votes of training label sets.
    ValueError
        If X or `X_training` does not match the model, `X_training` is needed and None, or the model was fitted to
        unknown cells, or to weights that change the means of leaves.
    sklearn.exceptions.NotFittedError
        If the model is not fitted.

    See Also
    --------
    LeafShares : Shares of a forest without its training samples, and out-of-bag shares.
    explain : The neighbours of a prediction, also of models without shares.

    References
    ----------
    J. S. Rhodes, A. Cutler, K. R. Moon: Geometry- and accuracy-preserving random forest proximities. IEEE TPAMI 45(9),
    2023.

    Examples
    --------
    >>> from nearlabel.lazy import BRkNN
    >>> from nearlabel.models import training_shares
    >>> X, Y = [[0.0], [1.0], [3.0], [9.0]], [[1, 0], [1, 1], [0, 1], [0, 0]]
    >>> model = BRkNN(n_neighbors=2, weights="distance").fit(X, Y)
    >>> shares = training_shares(model, [[1.5]])
    >>> shares.toarray()
    array([[0.25, 0.75, 0.  , 0.  ]])
    >>> shares @ Y, model.predict_proba([[1.5]])
    (array([[1.  , 0.75]]), array([[1.  , 0.75]]))
    """
    classifier, (queries,) = inmost(model, X)
    if hasattr(classifier, "_training_shares"):
        return classifier._training_shares(queries)
    if has_leaf_shares(classifier):
        if X_training is None:
            raise ValueError(
                f"X_training must be the samples that {type(classifier).__name__} was fitted to, got None. Hint:"
                " LeafShares.of(model, X_training) keeps what shares need of them."
            )
        return LeafShares.of(model, X_training).shares(model, X)
    if isinstance(model, BaseEstimator):
        check_is_fitted(model)
    got, inner = type(model).__name__, type(classifier).__name__
    raise TypeError(
        "model must have scores that are weighted votes of training label sets, got"
        f" {got if got == inner else f'{got} around {inner}'}. Hint: {_HAVE}; nearlabel.models.explain shows the"
        " votes of other lazy methods."
    )
