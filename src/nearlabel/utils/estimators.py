"""Checks of the estimators that users pass to meta-estimators."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from scipy import sparse

# Messages of scikit-learn, and of libraries that follow it, about a y that must not be an indicator matrix.
_ONE_LABEL_ONLY = re.compile(r"\b1-?d\b|label type|multi-?label|multi-?output|bad input shape", re.IGNORECASE)


@contextmanager
def requiring_multilabel(estimator: Any, *, name: str = "estimator") -> Iterator[None]:
    """Explain the error of a single-label classifier that is fitted to several labels: use around `fit`.

    scikit-learn's tags are not sufficient for a check before `fit`: pipelines and classifiers of other libraries may
    lack them although they support several labels. So every classifier is tried, and none that works is rejected.

    Parameters
    ----------
    estimator : classifier
        The user's estimator, for the message.
    name : str, default="estimator"
        Name of the parameter, for the message.

    Raises
    ------
    ValueError
        In place of a ValueError or TypeError about the shape or the type of y.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> with requiring_multilabel(LogisticRegression()):
    ...     LogisticRegression().fit([[0], [1]], [[0, 1], [1, 0]])
    Traceback (most recent call last):
    ValueError: estimator must be a multi-label classifier, got LogisticRegression, which does not support y ...
    """
    try:
        yield
    except (TypeError, ValueError) as error:
        explained_further_in = "must be a multi-label classifier" in str(error)
        if explained_further_in or not _ONE_LABEL_ONLY.search(str(error)):
            raise
        raise ValueError(
            f"{name} must be a multi-label classifier, got {type(estimator).__name__}, which does not support y"
            " of shape (n_samples, n_labels). Hint: nearlabel.transformation.BinaryRelevance or"
            " sklearn.multioutput.MultiOutputClassifier around it fits one classifier for each label."
        ) from error


@contextmanager
def explaining_sparse(estimator: Any, X: object) -> Iterator[None]:
    """Explain the error of a classifier that does not support sparse X: use around `fit`.

    scikit-learn's tags are not sufficient for a check before `fit`: a classifier of another library may support sparse
    X without a tag.

    Parameters
    ----------
    estimator : classifier
        The user's estimator, for the message.
    X : array-like, data frame or sparse container of shape (n_samples, n_features)
        The training samples.

    Raises
    ------
    TypeError
        In place of a TypeError that requires dense data.

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> from sklearn.naive_bayes import GaussianNB
    >>> with explaining_sparse(GaussianNB(), csr_array([[1.0], [0.0]])):
    ...     GaussianNB().fit(csr_array([[1.0], [0.0]]), [0, 1])
    Traceback (most recent call last):
    TypeError: X must be dense for GaussianNB, which does not support sparse X. Hint: X.toarray(), ...
    """
    try:
        yield
    except TypeError as error:
        if not sparse.issparse(X) or "dense" not in str(error) or "X must be dense" in str(error):
            raise
        raise TypeError(
            f"X must be dense for {type(estimator).__name__}, which does not support sparse X. Hint: X.toarray(), if it"
            " fits in memory, or another base classifier."
        ) from error
