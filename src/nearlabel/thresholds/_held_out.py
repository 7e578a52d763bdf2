"""The base class of tuned thresholds and calibration: fits a classifier and computes out-of-sample scores."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.random import RandomState
from numpy.typing import NDArray
from sklearn import get_config
from sklearn.model_selection import GroupKFold
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping

from nearlabel.out_of_sample import Needs, left_out_answer, of_groups, splits_of, splitter_of
from nearlabel.thresholds._around import AroundClassifier
from nearlabel.thresholds._cross_val import OneClass, Scorer, method_of, score_folds
from nearlabel.utils.types import IntArray, Matrix, MatrixLike
from nearlabel.utils.validation import check_choice, check_groups


class HeldOutScores(NamedTuple):
    """The indices of each fold's held-out samples, and their scores (n_held_out, n_labels)."""

    rows: list[IntArray]
    scores: list[NDArray[Any]]
    unseen: bool = False  # whether the final classifier was not fitted to these samples


class HoldsRowsOut(AroundClassifier):
    """A classifier around another one that learns from held-out scores, according to `cv`."""

    cv: Any
    n_jobs: int | None
    random_state: int | RandomState | None

    _needs_no_routing = ("groups",)

    def _check_parameters(self, n_labels: int) -> None:
        super()._check_parameters(n_labels)
        if isinstance(self.cv, str):
            check_choice("cv", self.cv, {"loo", "prefit"})

    def _groups(self, n_samples: int, routed: Any, direct: dict[str, Any]) -> IntArray | None:
        """Return the group number of each sample, or None if there are no groups."""
        names = (dict(routed.splitter.split) | direct).get("groups")
        return None if names is None else check_groups(names, n_samples)

    def _score_rows(
        self, estimator: Any, X: MatrixLike, y: Matrix, routed: Any, groups: IntArray | None, *, refit: bool = True
    ) -> HeldOutScores:
        """Fit and store the classifier, and return out-of-sample scores."""
        n_samples, n_labels = y.shape
        everything = [np.arange(n_samples)]
        method = method_of(self.estimator, self.response_method)
        if self.cv == "prefit":
            self._keep(Scorer(self.estimator, method, OneClass.none(n_labels)))
            return HeldOutScores(everything, [self._scores(X, method)], unseen=True)
        to_fit = dict(routed.estimator.fit)
        if isinstance(self.estimator, HoldsRowsOut) and not get_config()["enable_metadata_routing"]:
            to_fit |= of_groups(groups)  # which it holds out of its own scores, too; with routing they are in there
        if isinstance(self.cv, str):
            self._keep(Scorer.fit(estimator, method, X, y, to_fit))
            left_out = left_out_answer(self.estimator_, n_labels, Needs(labels=False), groups)
            return HeldOutScores(everything, [left_out.scores])
        splitter = splitter_of(self.cv, n_samples, self.random_state, groups)
        splits = splits_of(splitter, X, y, **dict(routed.splitter.split) | of_groups(groups))
        if not refit and len(splits) > 1:
            raise ValueError(f"refit must be True if cv makes several splits, got {refit} and {len(splits)} splits.")
        scored = score_folds(estimator, method, X, y, splits, params=to_fit, n_jobs=self.n_jobs, keep=not refit)
        of_split = scored[0][1]
        self._keep(Scorer.fit(estimator, method, X, y, to_fit) if of_split is None else of_split)
        unseen = not refit and not np.isin(*splits[0]).any()
        return HeldOutScores([rows for _, rows in splits], [scores for scores, _ in scored], unseen)

    def get_metadata_routing(self) -> MetadataRouter:
        """Return how metadata is routed.

        Returns
        -------
        MetadataRouter
            `fit` of the inner classifier and `split` of the splitter get the metadata that they requested.
        """
        # Values of `cv` that are not splitters support groups too, like this splitter.
        splitter = GroupKFold() if isinstance(self.cv, str | int | np.integer) else self.cv
        to_split = MethodMapping().add(caller="fit", callee="split")
        return super().get_metadata_routing().add(splitter=splitter, method_mapping=to_split)
