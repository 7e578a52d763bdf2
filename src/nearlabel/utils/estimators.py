"""Checks of the estimators that users give to meta-estimators."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from scipy import sparse

# How scikit-learn, and what follows it, says that y must not be an indicator matrix of several labels.
_ONE_LABEL_ONLY = re.compile(r"\b1-?d\b|label type|multi-?label|multi-?output|bad input shape", re.IGNORECASE)


@contextmanager
def requiring_multilabel(estimator: Any, *, name: str = "estimator") -> Iterator[None]:
    """Explain the failure of a classifier of one label that is fitted to several: use around `fit`.

    scikit-learn's tags cannot tell beforehand: pipelines and classifiers of other libraries lack them though they take
    several labels. So every classifier is tried, and none that works is refused.

    Parameters
    ----------
    estimator : classifier
        What the user gave, for the message.
    name : str, default="estimator"
        The parameter that it was given as.

    Raises
    ------
    ValueError
        Instead of a ValueError or TypeError that speaks of the shape or the type of y.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> with requiring_multilabel(LogisticRegression()):
    ...     LogisticRegression().fit([[0], [1]], [[0, 1], [1, 0]])
    Traceback (most recent call last):
    ValueError: estimator must be a multi-label classifier, got LogisticRegression, which does not take y of shape ...
    """
    try:
        yield
    except (TypeError, ValueError) as error:
        explained_further_in = "must be a multi-label classifier" in str(error)
        if explained_further_in or not _ONE_LABEL_ONLY.search(str(error)):
            raise
        raise ValueError(
            f"{name} must be a multi-label classifier, got {type(estimator).__name__}, which does not take y of shape"
            " (n_samples, n_labels). Hint: nearlabel.transformation.BinaryRelevance or"
            " sklearn.multioutput.MultiOutputClassifier around it fits one classifier for each label."
        ) from error


@contextmanager
def explaining_sparse(estimator: Any, X: object) -> Iterator[None]:
    """Explain the failure of a classifier that takes no sparse X and got some: use around `fit`.

    scikit-learn's tags cannot tell beforehand: a classifier of another library may take sparse X and not say so.

    Parameters
    ----------
    estimator : classifier
        What the user gave, for the message.
    X : array-like, data frame or sparse container of shape (n_samples, n_features)
        What it is fitted to.

    Raises
    ------
    TypeError
        Instead of a TypeError that asks for dense data.

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> from sklearn.naive_bayes import GaussianNB
    >>> with explaining_sparse(GaussianNB(), csr_array([[1.0], [0.0]])):
    ...     GaussianNB().fit(csr_array([[1.0], [0.0]]), [0, 1])
    Traceback (most recent call last):
    TypeError: X must be dense for GaussianNB, which takes no sparse X. Hint: X.toarray(), ...
    """
    try:
        yield
    except TypeError as error:
        if not sparse.issparse(X) or "dense" not in str(error) or "X must be dense" in str(error):
            raise
        raise TypeError(
            f"X must be dense for {type(estimator).__name__}, which takes no sparse X. Hint: X.toarray(), if it fits in"
            " memory, or another base classifier."
        ) from error
