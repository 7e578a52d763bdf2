"""A candidate model of a selection."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from sklearn.pipeline import Pipeline, make_pipeline

from nearlabel.calibration import CalibratedLabels
from nearlabel.datasets import Dataset
from nearlabel.experiments._folds import check_matrices
from nearlabel.experiments._methods import MethodSpec
from nearlabel.experiments._preparing import Columns, preparation
from nearlabel.experiments._problems import as_dataset
from nearlabel.experiments._searches import make_search
from nearlabel.experiments._unknown_labels import check_takes_unknown
from nearlabel.thresholds import TunedThresholdsClassifierCV

EXACT = "exact"


@dataclass(frozen=True)
class Candidate:
    """A candidate model of a selection.

    Parameters
    ----------
    method : str
        Name of the method; a specification for `make_method`, unless `method_object` is given.
    n_neighbors : int or None
        Number of neighbours; None for a method without one.
    scale : {"none", "minmax", "standard", "tfidf"}
        How the features are scaled.
    search : str or None
        Name of the search; a specification for `make_search`, unless `search_object` is given. None for a method that
        does not share a search.
    method_object : estimator or MethodSpec, default=None
        The method itself, if its name is not a specification.
    search_object : search, default=None
        The search itself, if its name is not a specification.
    impute : {None, "mean", "median", "most_frequent"}, default=None
        What takes the place of missing features, as in `Plan`.
    """

    method: str
    n_neighbors: int | None
    scale: str
    search: str | None
    method_object: Any = field(default=None, compare=False, repr=False)
    search_object: Any = field(default=None, compare=False, repr=False)
    impute: str | None = None

    def make(self, data: Dataset | None = None) -> Any:
        """Return the unfitted model: the method, after an imputer and a `FeatureScaler` if requested.

        Parameters
        ----------
        data : Dataset, default=None
            Training data. If X contains cells of several kinds, a `MixedFeaturesEncoder` comes before the method and
            imputes and scales numbers; categories are never scaled. None: all features are numbers.

        Returns
        -------
        estimator
            The method or a pipeline.
        """
        spec, search, steps = _parts(self, data)
        model = spec.make(self.n_neighbors, search)
        return make_pipeline(*steps, model) if steps else model

    def fit(self, data: Any) -> Any:
        """Return the model, fitted to a data set.

        Parameters
        ----------
        data : Dataset, pair (X, y), or str
            As in `Tuning.run`.

        Returns
        -------
        estimator
            The fitted model.

        Raises
        ------
        ValueError
            If X has infinite values, or missing values that are not imputed, or the labels are not an indicator matrix
            or are unknown and the method does not support that.
        """
        data = as_dataset("data", data)
        check_matrices(data.name, data.X, data.Y, impute=self.impute)
        check_takes_unknown(data.name, data.Y, {self.method: self.method_object or self.method})
        return _fit_with_groups(self.make(data), data)


def make_untuned(candidate: Candidate, data: Dataset) -> Pipeline:
    """Return the unfitted model for a data set, without thresholds."""
    spec, search, steps = _parts(candidate, data)
    return make_pipeline(*steps, spec.make_untuned(candidate.n_neighbors, search))


def _parts(candidate: Candidate, data: Dataset | None) -> tuple[MethodSpec, Any, list[Any]]:
    """Return the method, the search (None for the default), and the steps before the method."""
    search = None
    if candidate.search not in (None, EXACT) or candidate.search_object is not None:
        search = make_search(candidate.search if candidate.search_object is None else candidate.search_object)
    spec = MethodSpec.of(candidate.method if candidate.method_object is None else candidate.method_object)
    columns = Columns((), ()) if data is None else Columns.of(data)
    return spec, search, preparation(columns, candidate.impute, candidate.scale)


def _fit_with_groups(model: Any, data: Dataset) -> Any:
    """Fit a model; if it holds out samples, alone or in a pipeline, it holds out groups if there are any."""
    prefix, last = (f"{model.steps[-1][0]}__", model[-1]) if isinstance(model, Pipeline) else ("", model)
    takes_groups = data.groups is not None and isinstance(last, TunedThresholdsClassifierCV | CalibratedLabels)
    return model.fit(data.X, data.Y, **({f"{prefix}groups": data.groups} if takes_groups else {}))
