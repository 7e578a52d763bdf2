"""Models that contain their samples but cannot change with them are fitted again, with the result of a fit."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import BaseEstimator, clone
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler

from nearlabel.lazy import IBLR, MLMLM, NLDD, BRkNN, LPkNN, MLkNN
from nearlabel.models import parts_with_samples, refit, way_to_update
from nearlabel.neighbors import ExactNeighbors, FaissHNSWNeighbors
from nearlabel.rivals import BinaryRelevance, RandomForestPCT
from nearlabel.selection import NeighborsClassifierCV
from nearlabel.thresholds import CalibratedLabels, FixedThresholdsClassifier, TunedThresholdsClassifierCV


class OnlyRows(BaseEstimator):
    """A user's search that returns its samples, and can add none."""

    def fit(self, X):
        """Store the samples."""
        self.exact_ = ExactNeighbors().fit(X)
        self.n_samples_fit_ = len(X)
        return self

    def kneighbors(self, X=None, n_neighbors=None):
        """Find neighbours."""
        return self.exact_.kneighbors(X, n_neighbors)

    def take(self, rows):
        """Return samples."""
        return self.exact_.take(rows)


RANDOM = np.random.default_rng(0)
X = RANDOM.random((60, 4))
Y = (X[:, :3] + 0.2 * RANDOM.normal(size=(60, 3)) > 0.5).astype(np.int64)
NAN = np.where(RANDOM.random(Y.shape) < 0.1, np.nan, Y)
TAGS = [[tag for tag, on in zip("abc", row, strict=True) if on] for row in Y]
FORMS = {
    "array": Y,
    "CSR": sparse.csr_array(Y),
    "tags": np.array([*TAGS, None], dtype=object)[:-1],
    "one label": np.where(Y[:, 0] == 1, "yes", "no"),
    "frame": pd.DataFrame(Y, columns=list("abc")),
    "unknown": NAN,
}
MODELS = {
    "IBLR": IBLR(3),
    "fixed thresholds": FixedThresholdsClassifier(MLkNN(3), 0.4),
    "thresholds by folds": TunedThresholdsClassifierCV(IBLR(3), cv=3),
    "search without updates": BRkNN(3, search=OnlyRows()),
    "calibrated": TunedThresholdsClassifierCV(CalibratedLabels(MLkNN("auto"), "isotonic", cv=3), cv=2),
}


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("form", FORMS)
def test_equals_a_fit(model, form):
    """The same predictions, in the same form, with the same names."""
    if form == "unknown" and "IBLR" in repr(MODELS[model]):
        pytest.skip("IBLR takes no unknown cells")
    y, left = FORMS[form], np.r_[0:3, 5:60]

    def rows(numbers):
        return y.iloc[numbers] if form == "frame" else y[numbers]

    fitted, expected = (clone(MODELS[model]).fit(X[some], rows(some)) for some in (np.arange(40), left))
    assert way_to_update(fitted) == way_to_update(MODELS[model]) == "by refit"
    assert refit(fitted, X[40:], rows(np.arange(40, 60)), forgotten=[3, 4]) is fitted
    np.testing.assert_array_equal(fitted.predict_proba(X), expected.predict_proba(X))
    predicted, wanted = fitted.predict(X), expected.predict(X)
    assert type(predicted) is type(wanted)
    assert predicted.dtype == wanted.dtype
    assert not (predicted != wanted).sum()
    assert fitted.predict_labels(X) == expected.predict_labels(X)
    assert parts_with_samples(fitted)[1].training_labels().shape[0] == 58


def test_steps_before_stay_and_new_labels_come_last():
    """The scaling is that of the first fit; names of features stay, too."""
    frame = pd.DataFrame(X, columns=list("pqrs"))
    model = make_pipeline(MinMaxScaler().set_output(transform="pandas"), FixedThresholdsClassifier(BRkNN(1), 0.5))
    model.fit(frame[:40], TAGS[:40])
    refit(model, frame[40:41] * 9, [["new"]])
    scaled = model[0].transform(frame)
    expected = BRkNN(1).fit(np.vstack([scaled[:40], model[0].transform(frame[40:41] * 9)]), [*TAGS[:40], ["new"]])
    assert model[-1].label_names_.tolist() == [*sorted({tag for row in TAGS[:40] for tag in row}), "new"]
    order = [expected.label_names_.tolist().index(name) for name in model[-1].label_names_]
    np.testing.assert_array_equal(model.predict_proba(frame), expected.predict_proba(scaled.to_numpy())[:, order])
    assert model[-1].feature_names_in_.tolist() == list("pqrs")


def test_an_error_changes_nothing():
    """Labels that given thresholds lack, numbers that no sample has, too few samples."""
    model = FixedThresholdsClassifier(MLkNN(3), [0.4, 0.4, 0.4]).fit(X, Y)
    before = model.predict_proba(X)
    with pytest.raises(ValueError, match="one for each of 4 labels"):
        refit(model, X[:1], np.ones((1, 4), dtype=int))
    with pytest.raises(ValueError, match="forgotten must be numbers from 0 to 59, got 60"):
        refit(model, forgotten=[60])
    with pytest.raises(ValueError, match="n_neighbors"):
        refit(model, forgotten=np.arange(58))
    with pytest.raises(ValueError, match="features"):
        refit(model, X[:, :2], Y)
    np.testing.assert_array_equal(model.predict_proba(X), before)


@pytest.mark.parametrize(
    ("model", "way"),
    [
        (MLkNN(), "yes"),
        (TunedThresholdsClassifierCV(make_pipeline(MinMaxScaler(), MLkNN()), cv="loo"), "yes"),
        (make_pipeline(MinMaxScaler(), IBLR()), "by refit"),
        (FixedThresholdsClassifier(LPkNN()), "by refit"),
        (FixedThresholdsClassifier(make_pipeline(MinMaxScaler(), LPkNN())), "no"),  # its samples are scaled
        (TunedThresholdsClassifierCV(MLkNN(), cv="prefit"), "no"),  # some samples are in it, some set the thresholds
        (TunedThresholdsClassifierCV(MLkNN(), refit=False), "no"),
        (FixedThresholdsClassifier(FrozenEstimator(MLkNN())), "no"),
        (NLDD(), "no"),  # its samples are scaled
        (FixedThresholdsClassifier(MLMLM()), "no"),
        (BinaryRelevance(), "no"),
        (RandomForestPCT(), "no"),
        (BRkNN(search=OnlyRows()), "by refit"),
        (BRkNN(search=FaissHNSWNeighbors()), "no"),  # it can neither add samples nor return them
    ],
    ids=repr,
)
def test_which_can(model, way):
    """Asked before the fit."""
    assert way_to_update(model) == way


def test_what_the_model_does_not_store_is_missing():
    """Weights and groups of the fit."""
    assert way_to_update(CalibratedLabels(MLkNN(3), cv=3).fit(X, Y, groups=np.arange(60) // 2)) == "no"
    assert way_to_update(FixedThresholdsClassifier(BRkNN(3)).fit(X, Y)) == "by refit"
    weighted = BRkNN(3).fit(X, Y, sample_weight=np.arange(1, 61))
    assert way_to_update(weighted) == "yes"
    chosen = NeighborsClassifierCV(methods=[MLkNN()], n_neighbors=[3]).fit(X, Y)
    assert way_to_update(chosen) == "yes"
    with pytest.raises(TypeError, match="to add or remove samples, got NLDD"):
        refit(NLDD(random_state=0).fit(X, Y))
