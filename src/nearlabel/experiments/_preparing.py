"""The preparation of features for a method: imputation and scaling, or encoding, fitted to the training samples."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from scipy import sparse
from sklearn.pipeline import Pipeline, make_pipeline

from nearlabel.datasets import Dataset
from nearlabel.experiments._imputing import imputed, make_imputer
from nearlabel.experiments._scaling import scale_features
from nearlabel.preprocessing import FeatureScaler, MixedFeaturesEncoder
from nearlabel.preprocessing._feature_scaler import check_scale  # as in FeatureScaler
from nearlabel.utils.types import Matrix


class Columns(NamedTuple):
    """The names and kinds of the columns of X; `hold_cells`: whether they must be encoded."""

    names: Sequence[str]
    kinds: Sequence[str]
    hold_cells: bool = False

    @classmethod
    def of(cls, data: Dataset) -> Columns:
        """Return the columns of a data set."""
        return cls(data.feature_names, data.feature_kinds, data.X.dtype.kind == "O")


def preparation(columns: Columns, impute: str | None, scale: str) -> list[Any]:
    """Return the unfitted steps of a pipeline before the method.

    Parameters
    ----------
    columns : Columns
        Columns of the training samples.
    impute : {None, "mean", "median", "most_frequent"}
        Replacement of missing numbers and dates; None: they stay missing, so that the method raises an error.
    scale : {"none", "minmax", "standard", "tfidf"}
        Scaling of numbers and dates.

    Returns
    -------
    list of transformers
        A `MixedFeaturesEncoder` if columns contain cells, otherwise an imputer and a `FeatureScaler` if requested.

    Raises
    ------
    ValueError
        If `scale` is "tfidf", which weights words, and a column is a category, text or date.
    """
    check_scale(scale, columns.kinds)
    if columns.hold_cells:
        return [_encoder(columns, impute, scale)]
    steps: list[Any] = [] if impute is None else [make_imputer(impute)]
    if scale != "none":
        steps.append(FeatureScaler(scale, columns.kinds if "category" in columns.kinds else ()))
    return steps


def make_preparation(data: Dataset, *, impute: str | None = None, scale: str = "none") -> Pipeline | None:
    """Return the transformer that `Candidate.fit` applies to the features of a data set before the method.

    Parameters
    ----------
    data : Dataset
        The data set; its columns are prepared by their kinds.
    impute : {None, "mean", "median", "most_frequent"}, default=None
        Replacement of missing numbers and dates.
    scale : {"none", "minmax", "standard", "tfidf"}, default="none"
        Scaling of numbers and dates; categories are not scaled.

    Returns
    -------
    Pipeline or None
        An unfitted `nearlabel.preprocessing.MixedFeaturesEncoder` if X contains cells, otherwise an imputer and a
        `FeatureScaler` if requested. None: features are unchanged.

    Raises
    ------
    ValueError
        If `scale` is "tfidf", which weights words, and a column is a category, text or date.

    Examples
    --------
    >>> from nearlabel.datasets import load_multidigits
    >>> from nearlabel.experiments import make_preparation
    >>> make_preparation(load_multidigits(), scale="minmax")
    Pipeline(steps=[('featurescaler', FeatureScaler(scale='minmax'))])
    """
    steps = preparation(Columns.of(data), impute, scale)
    return make_pipeline(*steps) if steps else None


def prepared(columns: Columns, impute: str | None, scale: str, training: Matrix, test: Matrix) -> list[Matrix]:
    """Return training and test samples prepared as by `preparation`, with the same parameters.

    Numbers are rounded as by scikit-learn's scalers, so that records of plans stay bit-identical.
    """
    if columns.hold_cells:
        return prepared_by(preparation(columns, impute, scale), training, test)
    rows, test_rows = imputed(impute, training, test)
    return list(scale_features(scale, rows, test_rows, columns.kinds))


def prepared_by(steps: list[Any], training: Matrix, *others: Matrix) -> list[Matrix]:
    """Return training and other samples, prepared by steps fitted to the training samples."""
    rows = [training, *others]
    for step in steps:
        rows = [step.fit_transform(rows[0]), *map(step.transform, rows[1:])]
    return [sparse.csr_array(part) if sparse.issparse(part) else part for part in rows]


def _encoder(columns: Columns, impute: str | None, scale: str) -> MixedFeaturesEncoder:
    categories, texts, dates = (
        [place for place, of_column in enumerate(columns.kinds) if of_column == kind]
        for kind in ("category", "text", "date")
    )
    return MixedFeaturesEncoder(
        categorical=categories,
        text=texts,
        dates=dates,
        scale=scale,
        missing_numbers=impute or "distance",
        feature_names=columns.names,
    )
