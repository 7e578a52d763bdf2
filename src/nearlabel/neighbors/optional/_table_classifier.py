"""A classifier whose training samples are always the present rows of a table."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Hashable
from contextlib import suppress
from copy import copy
from typing import Any, NamedTuple, Self, TypeVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.utils import Tags, get_tags
from sklearn.utils.validation import check_is_fitted

from nearlabel.neighbors.optional._vector_table import TableChangedError, TableRows, VectorTable, check_table
from nearlabel.utils.estimators import Method, available_if, score
from nearlabel.utils.frames import FrameOutput, framed
from nearlabel.utils.targets import with_multilabel_target
from nearlabel.utils.types import FloatArray, IntArray, LabelSets, MatrixLike
from nearlabel.utils.validation import check_flag

_ATTEMPTS = 5  # to fit or predict before the table changes again

T = TypeVar("T")


class TableChanges(NamedTuple):
    """Ids of the training samples that differ from those of the last fit; false if there are none.

    Parameters
    ----------
    added, removed, changed : list
        Ids of rows that are used now, no longer, or with another vector or other tags.
    """

    added: list[Any]
    removed: list[Any]
    changed: list[Any]

    def __bool__(self) -> bool:
        return any(map(len, self))


class TaggedRows(NamedTuple):
    """Rows of the table by their ids, with the predicted tags of each.

    Parameters
    ----------
    ids : ndarray of shape (n_rows,)
        Their ids.
    tags : list of n_rows tuples of str
        The tags of each.
    """

    ids: NDArray[Any]
    tags: list[tuple[str, ...]]


class _State(NamedTuple):
    """A model and the rows that it was fitted to; replaced as a whole, so that a result never mixes two states."""

    model: Any
    version: Hashable
    ids: NDArray[Any]
    digests: dict[Any, bytes]  # of each training sample's vector and tags, by id


def _has(method: str) -> Callable[[Method], Method]:
    """Return a decorator that hides a method that the classifier, fitted or not, does not have."""

    def estimator_has(self: TableClassifier) -> bool:
        fitted = self.__dict__.get("_state")
        return hasattr(self.estimator if fitted is None else fitted.model, method)

    return available_if(estimator_has)


class TableClassifier(FrameOutput, ClassifierMixin, BaseEstimator):
    """Fit a classifier to the rows and tags of a table of a vector database, and follow changes of the table.

    `fit` reads the rows with known tags from the table. Before each prediction, the classifier compares the version of
    the table; if rows were added, deleted or changed since, it becomes equal to a fit to the present rows. So labels
    may appear and disappear, too: identify predictions by label names, not by columns.

    Rows without tags (NULL, not an empty list) are not used until they have some; `predict_unlabelled` suggests tags.
    The classifier never writes to the table.

    Parameters
    ----------
    estimator : multi-label classifier
        Any classifier that takes tags as y, as all in this library do; cloned in `fit`. With
        ``search=TableNeighbors(table)`` a lazy classifier leaves the rows in the database, otherwise it stores them in
        memory.
    table : VectorTable
        `LanceTable`, `QdrantTable` or `PgVectorTable`, with a column of tags.
    follow : bool, default=True
        Whether to look for changes before each prediction. False: only `refresh` and `fit` do.

    Attributes
    ----------
    estimator_ : classifier
        The fitted classifier.
    ids_ : ndarray of shape (n_samples,)
        Ids of the training samples, in their order.
    classes_, label_names_, n_features_in_
        Those of the fitted classifier.

    See Also
    --------
    TableNeighbors : Search in the table.

    Notes
    -----
    If the table changes while it is read, the fit starts again. If a fit fails, for instance because too few rows are
    left, each prediction raises the error until a fit succeeds; the last model is not used meanwhile.

    Examples
    --------
    >>> from nearlabel.neighbors import LanceTable, TableClassifier, TableNeighbors
    >>> from nearlabel.lazy import MLkNN
    >>> songs = LanceTable("music", "songs")
    >>> model = TableClassifier(MLkNN(10, search=TableNeighbors(songs)), songs)
    >>> model.fit().predict_labels(queries)  # doctest: +SKIP
    >>> ids, tags = model.predict_unlabelled()  # doctest: +SKIP
    """

    def __init__(self, estimator: Any, table: VectorTable, *, follow: bool = True) -> None:
        self.estimator = estimator
        self.table = table
        self.follow = follow

    def fit(self, X: None = None, y: None = None) -> Self:
        """Fit the classifier to the rows of the table.

        Parameters
        ----------
        X, y : None
            Not used: vectors and tags come from the table.

        Returns
        -------
        self
            The fitted classifier.

        Raises
        ------
        TypeError
            If X or y is given, or a parameter is of a wrong type.
        ValueError
            If the table cannot be read, has no tags, or its contents do not suit the classifier.
        TableChangedError
            If the table changed during each of five attempts.
        """
        if X is not None or y is not None:
            raise TypeError("X and y must be None, as rows and tags come from the table. Hint: table.add adds rows.")
        self._check_parameters()
        self._state = self._fitted_to_present_rows()
        return self

    def refresh(self) -> TableChanges:
        """Update the model to equal a fit to the present rows of the table.

        Returns
        -------
        TableChanges
            Ids of the training samples added, removed and changed; false if there are none.

        Raises
        ------
        ValueError, TableChangedError
            As `fit`.
        """
        check_is_fitted(self)
        self._check_parameters()
        before = self._state
        if self.table.version() == before.version:
            return TableChanges([], [], [])
        self._state = self._fitted_to_present_rows(before)
        return _changes(before.digests, self._state.digests)

    @framed
    def predict(self, X: MatrixLike) -> LabelSets:
        """Return the label set of every query.

        Parameters
        ----------
        X : array-like of shape (n_queries, n_features)
            Queries.

        Returns
        -------
        labels : ndarray of shape (n_queries, n_labels)
            Indicator matrix, as the classifier returns it; its columns have the names `label_names_` at that moment.
        """
        return self._answer(lambda present: present.model.predict(X))

    def predict_labels(self, X: MatrixLike) -> list[tuple[Any, ...]]:
        """Return the predicted tags of every query.

        Parameters
        ----------
        X : array-like of shape (n_queries, n_features)
            Queries.

        Returns
        -------
        list of tuple of str
            In the order of `label_names_`.
        """
        return self._answer(lambda present: present.model.predict_labels(X))

    score = score

    @_has("predict_proba")
    @framed
    def predict_proba(self, X: MatrixLike) -> FloatArray:
        """Return the score of every label, in [0, 1].

        Parameters
        ----------
        X : array-like of shape (n_queries, n_features)
            Queries.

        Returns
        -------
        scores : ndarray of shape (n_queries, n_labels)
            As the classifier returns them.
        """
        return self._answer(lambda present: present.model.predict_proba(X))

    @_has("decision_function")
    @framed
    def decision_function(self, X: MatrixLike) -> FloatArray:
        """Return the decision value of every label.

        Parameters
        ----------
        X : array-like of shape (n_queries, n_features)
            Queries.

        Returns
        -------
        scores : ndarray of shape (n_queries, n_labels)
            As the classifier returns them.
        """
        return self._answer(lambda present: present.model.decision_function(X))

    @_has("predict_topk")
    def predict_topk(self, X: MatrixLike, n_labels: int) -> tuple[FloatArray, IntArray]:
        """Return the labels of highest score of every query.

        Parameters
        ----------
        X : array-like of shape (n_queries, n_features)
            Queries.
        n_labels : int
            Number of labels.

        Returns
        -------
        scores : ndarray of shape (n_queries, n_labels)
            Best first.
        labels : ndarray of int of shape (n_queries, n_labels)
            Positions in `label_names_`.
        """
        best: tuple[FloatArray, IntArray] = self._answer(lambda present: present.model.predict_topk(X, n_labels))
        return best

    @_has("explain")
    def explain(self, X: MatrixLike) -> list[Any]:
        """Explain the prediction for each query; neighbours are identified by their ids in the table.

        Parameters
        ----------
        X : array-like of shape (n_queries, n_features)
            Queries.

        Returns
        -------
        list of Explanation
            One for each query; the table of neighbours has the column `id`.
        """
        return self._answer(
            lambda present: [one.with_kept({"id": present.ids.tolist()}) for one in present.model.explain(X)]
        )

    def predict_unlabelled(self) -> TaggedRows:
        """Predict the tags of the rows in the table whose tags are unknown.

        Returns
        -------
        TaggedRows
            Their ids and predicted tags. Nothing is written to the table: users who confirm tags write them, and the
            rows are used from then on.

        Raises
        ------
        ValueError
            If such a row is malformed.
        """
        rows = self.table.read_unlabelled()
        return TaggedRows(rows.ids, self.predict_labels(rows.X) if len(rows.ids) else [])

    @property
    def estimator_(self) -> Any:
        """The fitted classifier."""
        return self._state.model

    @property
    def ids_(self) -> NDArray[Any]:
        """Ids of the training samples."""
        return self._state.ids

    @property
    def classes_(self) -> NDArray[Any]:
        """`classes_` of the fitted classifier."""
        classes: NDArray[Any] = self._state.model.classes_
        return classes

    @property
    def label_names_(self) -> NDArray[Any]:
        """Names of the labels: the tags that some training sample carries."""
        names: NDArray[Any] = self._state.model.label_names_
        return names

    @property
    def n_features_in_(self) -> int:
        """Number of features."""
        n_features: int = self._state.model.n_features_in_
        return n_features

    def __sklearn_is_fitted__(self) -> bool:
        return "_state" in self.__dict__

    def __sklearn_tags__(self) -> Tags:
        """Declare that X and y are not needed, and the classifier's own declaration of the target."""
        tags = super().__sklearn_tags__()
        tags.target_tags.required = False
        tags.input_tags.sparse = get_tags(self.estimator).input_tags.sparse
        return with_multilabel_target(tags)

    def _check_parameters(self) -> None:
        check_flag("follow", self.follow)
        check_table(self.table)

    def _answer(self, answer: Callable[[_State], T]) -> T:
        """Return the result of a function of the state: of the present one, if changes are followed."""
        check_is_fitted(self)
        if not self.follow:
            return answer(self._state)

        def from_present_rows() -> T:
            self.refresh()
            return answer(self._state)

        return _while_it_changes(from_present_rows)

    def _fitted_to_present_rows(self, before: _State | None = None) -> _State:
        """Read the table, and fit unless the training samples are unchanged."""

        def fitted() -> _State:
            rows = self.table.read()
            digests = _digests(rows)
            if before is not None and before.digests == digests and np.array_equal(before.ids, rows.ids):
                return before._replace(version=rows.version)  # something else has changed
            model = None if before is None else _updated(before, rows, digests)
            return _State(model or _fit(self.estimator, rows), rows.version, rows.ids, digests)

        return _while_it_changes(fitted)


def _while_it_changes(work: Callable[[], T]) -> T:
    """Return the result of `work`; start again if the table changes meanwhile."""
    for _ in range(_ATTEMPTS - 1):
        with suppress(TableChangedError):
            return work()
    return work()


def _fit(estimator: Any, rows: TableRows) -> Any:
    """Return a copy of the classifier, fitted to the rows."""
    if not any(rows.tags or ()):
        raise ValueError("table must have at least one tag, got none. Hint: the parameter tags names the column.")
    return clone(estimator).fit(rows.X, rows.tags)


def _updated(before: _State, rows: TableRows, digests: dict[Any, bytes]) -> Any | None:
    """Return a copy of the model with the added rows and without the deleted ones; None if that is no fit to them.

    It is identical to a fit if the remaining rows come first and in their order, if the tags are the same (an update
    keeps labels without rows, and appends new ones), and if the classifier tunes nothing on its rows. A search in the
    table has no updates: its fit only reads the table.
    """
    stays = np.array([digests.get(one) == digest for one, digest in before.digests.items()])
    n_stay = int(stays.sum())
    tags = sorted({tag for its in rows.tags or () for tag in its})
    model = copy(before.model)
    tunes_nothing = hasattr(model, "forget") and isinstance(getattr(model, "n_neighbors", None), int)
    if not (tunes_nothing and hasattr(model.search_, "add") and n_stay and tags == model.label_names_.tolist()):
        return None
    if not np.array_equal(rows.ids[:n_stay], before.ids[stays]):
        return None
    try:
        if n_stay < len(stays):
            model.forget(np.flatnonzero(~stays))
        if n_stay < len(rows.ids):
            model.partial_fit(rows.X[n_stay:], (rows.tags or [])[n_stay:])
    except ValueError:  # too few rows in between, or new samples that all have no tag
        return None
    return model


def _digests(rows: TableRows) -> dict[Any, bytes]:
    """Return a digest of each row's vector and tags, by id."""
    tags = rows.tags or [[]] * len(rows.ids)
    return {
        one: hashlib.blake2b(repr(its).encode() + row.tobytes(), digest_size=16).digest()
        for one, its, row in zip(rows.ids.tolist(), tags, rows.X, strict=True)
    }


def _changes(before: dict[Any, bytes], now: dict[Any, bytes]) -> TableChanges:
    return TableChanges(
        added=[one for one in now if one not in before],
        removed=[one for one in before if one not in now],
        changed=[one for one in now if one in before and now[one] != before[one]],
    )
