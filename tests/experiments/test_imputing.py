"""Missing features: filled in by training rows only, in experiments and in the models that are kept."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.impute import SimpleImputer
from sklearn.model_selection import KFold
from sklearn.pipeline import make_pipeline

from nearlabel.datasets import Dataset
from nearlabel.experiments import IMPUTATIONS, Candidate, Plan, SearchPlan, Tuning, run
from nearlabel.lazy import MLkNN
from nearlabel.metrics import micro_f1
from nearlabel.preprocessing import FeatureScaler
from nearlabel.selection.data import imputed


@pytest.fixture
def holes():
    """Fifty rows of whole numbers, a cell in six missing; the ranges of the halves differ."""
    rng = np.random.default_rng(0)
    X = rng.integers(0, 6, (50, 4)) + np.repeat([0.0, 9.0], 25)[:, np.newaxis]
    Y = (X[:, :3] + rng.normal(size=(50, 3)) > [3, 6, 9]).astype(int)
    X[rng.random(X.shape) < 1 / 6] = np.nan
    return Dataset(X, Y, tuple("abcd"), tuple("xyz"), "holes")


@pytest.mark.parametrize("impute", IMPUTATIONS)
@pytest.mark.parametrize("store", [np.asarray, sparse.csr_array])
def test_imputed(holes, impute, store):
    """By scikit-learn's imputer of the first rows, in their storage; a feature nobody has is 0."""
    training, others = holes.X[:30].copy(), holes.X[30:]
    training[:, 2] = np.nan
    found = imputed(impute, store(training), store(others))
    expected = SimpleImputer(strategy=impute, keep_empty_features=True).fit(training)
    for rows, wanted in zip(found, (training, others), strict=True):
        assert sparse.issparse(rows) == (store is sparse.csr_array)
        np.testing.assert_array_equal(rows.toarray() if sparse.issparse(rows) else rows, expected.transform(wanted))
    assert (expected.transform(training)[:, 2] == 0).all()


def test_zeros_of_sparse_rows_are_no_holes():
    """What is not stored is 0 and counts for the statistic."""
    (filled,) = imputed("mean", sparse.csr_array([[0.0], [0.0], [3.0], [np.nan]]))
    assert filled.toarray().ravel().tolist() == [0, 0, 3, 1]


@pytest.mark.parametrize("impute", IMPUTATIONS)
def test_folds_of_a_plan(holes, impute):
    """Each fold equals a pipeline fitted to its training rows alone."""
    plan = Plan(("mlknn",), (3,), cv=3, scale="minmax", metrics=("micro_f1",), impute=impute)
    found = [record["value"] for record in run(plan, [holes])]
    model = make_pipeline(SimpleImputer(strategy=impute), FeatureScaler("minmax"), MLkNN(3))
    splits = KFold(3, shuffle=True, random_state=0).split(holes.X)
    expected = [
        micro_f1(holes.Y[test], model.fit(holes.X[training], holes.Y[training]).predict(holes.X[test]))
        for training, test in splits
    ]
    np.testing.assert_allclose(found, expected, rtol=1e-12)
    by_search = run(SearchPlan(plan, ("exact:metric=manhattan",)), [holes])
    assert any(record["metric"] == "micro_f1" for record in by_search)


def test_folds_of_a_tuning(holes):
    """Held out by folds, a row says nothing about what takes the place of missing values of others."""
    tuned = Tuning(("mlknn",), n_neighbors=(3,), cv=4, impute="mean").run(holes)
    labels = np.empty_like(holes.Y)
    model = make_pipeline(SimpleImputer(), MLkNN(3))
    for training, test in KFold(4, shuffle=True, random_state=0).split(holes.X):
        labels[test] = model.fit(holes.X[training], holes.Y[training]).predict(holes.X[test])
    assert tuned.trials[0].value == pytest.approx(micro_f1(holes.Y, labels), rel=1e-12)


def test_the_model_that_is_kept(holes):
    """It imputes what is missing where it predicts; leave-one-out is that of the imputed rows."""
    tuned = Tuning(("mlknn",), n_neighbors=(3,), scales=("minmax",), impute="median").run(holes)
    assert tuned.best == Candidate("mlknn", 3, "minmax", "exact", impute="median")
    model = tuned.best.fit(holes)
    assert [type(step).__name__ for step in model] == ["SimpleImputer", "FeatureScaler", "MLkNN"]
    assert model.predict(holes.X).shape == holes.Y.shape
    rows = model[:-1].transform(holes.X)
    assert tuned.trials[0].value == pytest.approx(micro_f1(holes.Y, MLkNN(3).fit(rows, holes.Y).loo_predict()))


def test_errors(holes):
    """Without a choice holes are refused; infinite values always; choices are named."""
    with pytest.raises(ValueError, match=r"X of holes must be finite, got .* Hint: impute missing values"):
        run(Plan(("mlknn",), (3,), cv=3), [holes])
    X = holes.X.copy()
    X[7, 1] = -np.inf
    infinite = Dataset(X, holes.Y, holes.feature_names, holes.label_names, "infinite")
    for act in (Tuning(("mlknn",), impute="mean").run, Candidate("mlknn", 3, "none", "exact", impute="mean").fit):
        with pytest.raises(ValueError, match=r"got 1 missing or infinite values, the first in row 7, column 1"):
            act(infinite)
    for make in (lambda: Plan(("mlknn",), (3,), impute="mode"), lambda: Tuning(("mlknn",), impute="mode")):
        with pytest.raises(ValueError, match=r"impute must be one of .*, got 'mode'"):
            make()
