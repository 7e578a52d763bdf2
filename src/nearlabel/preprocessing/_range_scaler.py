"""Numbers divided by their range."""

from __future__ import annotations

import numpy as np
from sklearn.preprocessing import MinMaxScaler
from sklearn.utils.validation import check_is_fitted, validate_data

from nearlabel.utils.types import FloatArray, MatrixLike


class RangeScaler(MinMaxScaler):
    """scikit-learn's `MinMaxScaler`, but a column that is constant in training becomes 0, and rounding stays small.

    `MinMaxScaler` multiplies by 1/range, then subtracts, which loses digits where values are far from zero for their
    range, as times in seconds are. `FeatureScaler` is for whole matrices, sparse ones too; this is for single dense
    columns, which may have missing values: NaN stays.
    """

    def transform(self, X: MatrixLike) -> FloatArray:
        """Return (X - least) / range; NaN stays."""
        check_is_fitted(self)
        X = validate_data(self, X, dtype=np.float64, ensure_all_finite="allow-nan", reset=False)
        scaled: FloatArray = (X - self.data_min_) / np.where(self.data_range_ > 0, self.data_range_, np.inf)
        return np.clip(scaled, 0.0, 1.0) if self.clip else scaled
