"""Imputation of missing features by statistics of the training samples."""

from __future__ import annotations

from scipy import sparse
from sklearn.impute import SimpleImputer

from nearlabel.utils.types import Matrix
from nearlabel.utils.validation import check_choice

IMPUTATIONS = ("mean", "median", "most_frequent")


def check_impute(impute: str | None) -> None:
    """Raise ValueError unless `impute` is None or the name of a statistic."""
    if impute is not None:
        check_choice("impute", impute, IMPUTATIONS)


def make_imputer(impute: str) -> SimpleImputer:
    """Return scikit-learn's imputer; a feature without training values becomes 0 instead of being removed."""
    return SimpleImputer(strategy=impute, keep_empty_features=True)


def imputed(impute: str | None, training: Matrix, *others: Matrix) -> list[Matrix]:
    """Return training and other samples with missing values replaced by a statistic of the training samples.

    Parameters
    ----------
    impute : {None, "mean", "median", "most_frequent"}
        The statistic; None: no imputation. In sparse data a value that is not stored is 0, not missing.
    training, *others : ndarray or CSR array of shape (n_rows, n_features)
        Samples; NaN is a missing value.

    Returns
    -------
    list of ndarray or CSR array
        The samples, in the same storage.
    """
    if impute is None:
        return [training, *others]
    imputer = make_imputer(impute).fit(training)
    filled = (imputer.transform(rows) for rows in (training, *others))
    return [sparse.csr_array(rows) if sparse.issparse(rows) else rows for rows in filled]
