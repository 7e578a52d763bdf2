"""A classifier fitted to resampled rows: what it learns from, and answers for original rows that do not leak."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import BaseEstimator, clone
from sklearn.datasets import make_multilabel_classification
from sklearn.linear_model import LogisticRegressionCV
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler

from _recipes import MLROS, MLRUS, MLTL, REMEDIAL, MLeNN
from nearlabel.lazy import MLMLM, BRkNN, DMLkNN, LPkNN, MLkNN
from nearlabel.preprocessing import MLSMOTE, ResampledClassifier
from nearlabel.rivals import AdaBoostMH, BinaryRelevance, NeighborInterpolation
from nearlabel.testing import check_multilabel_estimator
from nearlabel.thresholds import CalibratedLabels, TunedThresholdsClassifierCV
from nearlabel.utils.validation import as_dense

X, Y = make_multilabel_classification(60, 5, n_classes=4, n_labels=1, random_state=0)
X[5] = X[4]
SAMPLERS = [
    MLROS(0.5, random_state=0),
    MLRUS(0.3, random_state=0),
    MLSMOTE(3, random_state=0),
    MLeNN(),
    MLTL(),
    REMEDIAL(),
]


@pytest.mark.parametrize("sampler", SAMPLERS, ids=repr)
@pytest.mark.parametrize("estimator", [MLkNN(3), BRkNN(4), LPkNN(2), make_pipeline(MinMaxScaler(), MLkNN(3))], ids=repr)
@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
def test_each_row_is_left_out_with_all_that_was_made_from_it(sampler, estimator, container):
    """Bit for bit the answers of a fit to the other resampled rows; of all of them for rows that were deleted."""
    model = ResampledClassifier(estimator, sampler).fit(X, container(Y))
    rows, labels = sampler.fit_resample(X, Y)
    transform = model.estimator_[:-1].transform if hasattr(model.estimator_, "steps") else np.asarray
    last = estimator[-1] if hasattr(estimator, "steps") else estimator
    scores, chosen = model.loo_predict_proba(), model.loo_predict()
    assert isinstance(chosen, np.ndarray if container is np.asarray else sparse.csr_array)
    for row in range(0, 60, 13):
        others = sampler.seed_indices_ != row
        refit = clone(last).fit(transform(rows[others]), labels[others])
        np.testing.assert_array_equal(scores[row], refit.predict_proba(transform(X[[row]]))[0])
        np.testing.assert_array_equal(as_dense(chosen)[row], refit.predict(transform(X[[row]]))[0])


def test_groups_are_left_out_with_all_that_was_made_from_them():
    """Names are of original rows."""
    groups, sampler = np.arange(60) // 2, SAMPLERS[0]
    scores = ResampledClassifier(MLkNN(3), sampler).fit(X, Y).loo_predict_proba(groups)
    rows, labels = sampler.fit_resample(X, Y)
    others = groups[sampler.seed_indices_] != 10
    expected = MLkNN(3).fit(rows[others], labels[others]).predict_proba(X[20:22])
    np.testing.assert_array_equal(scores[20:22], expected)
    with pytest.raises(ValueError, match=r"sampler must keep or delete groups as a whole, got row \d+ deleted"):
        ResampledClassifier(MLkNN(3), SAMPLERS[1]).fit(X, Y).loo_predict_proba(groups)
    whole = ResampledClassifier(MLkNN(3), SAMPLERS[1]).fit(X, Y)
    np.testing.assert_array_equal(whole.loo_predict_proba(np.arange(60)), whole.loo_predict_proba())


@pytest.mark.parametrize(
    ("sampler", "at_most"), [(MLROS(1.0, random_state=0), 0.52), (MLSMOTE(random_state=0), 0.62)], ids=repr
)
def test_labels_at_random_cannot_be_predicted(sampler, at_most):
    """Leave-one-out after resampling finds them in copies; here references tell a little, and copies nothing."""
    random = np.random.RandomState(1)
    noise, at_random = random.standard_normal((400, 5)), (random.random_sample((400, 3)) < [0.5, 0.2, 0.1]).astype(int)
    rows, labels = sampler.fit_resample(noise, at_random)
    leaks = roc_auc_score(labels[:, 1:], BRkNN(3).fit(rows, labels).loo_predict_proba()[:, 1:])
    honest = ResampledClassifier(BRkNN(3), sampler).fit(noise, at_random).loo_predict_proba()
    assert leaks > 0.65
    assert roc_auc_score(at_random[:, 1:], honest[:, 1:]) < at_most


def test_thresholds_are_tuned_on_original_rows():
    """By leaving out, whose scores are those of the original rows, or by folds, within which it resamples anew."""
    model = ResampledClassifier(MLkNN(3), MLSMOTE(3, random_state=0))
    tuned = TunedThresholdsClassifierCV(model, cv="loo").fit(X, Y)
    strategy = clone(tuned.strategy_).fit(clone(model).fit(X, Y).loo_predict_proba(), Y)
    np.testing.assert_array_equal(tuned.thresholds_, strategy.thresholds_)
    assert TunedThresholdsClassifierCV(model, cv=3).fit(X, Y).cv_results_["test_objective"].shape == (3,)
    search = GridSearchCV(model, {"estimator__n_neighbors": [2, 4], "sampler__n_neighbors": [1, 3]}, cv=2).fit(X, Y)
    assert search.best_estimator_.estimator_.n_neighbors_ in (2, 4)


@pytest.mark.long
@pytest.mark.parametrize("sampler", [MLeNN(), MLROS(0.5, random_state=0)], ids=repr)
def test_the_contract(sampler):
    """That of every classifier; scikit-learn's is tested with that of all others."""
    drawn = {"check_labels_permute_with_columns": "bags come in the order of the labels"}
    check_multilabel_estimator(
        ResampledClassifier(BRkNN(2), sampler),
        expected_failed_checks=drawn if sampler.get_params().get("share") else {},
    )


def test_any_classifier():
    """Another library's, of decision values, of one label, of tags."""
    sampler = MLSMOTE(3, random_state=0)
    by_scores = ResampledClassifier(AdaBoostMH(3), sampler).fit(X, Y)
    assert not hasattr(by_scores, "predict_proba")
    assert by_scores.decision_function(X).shape == Y.shape
    neighbors = ResampledClassifier(KNeighborsClassifier(3), sampler).fit(X, Y)
    assert neighbors.predict_proba(X).shape == Y.shape
    assert not hasattr(neighbors, "loo_predict_proba")
    names = np.array(["a", "b", "c", "d"])
    tags = [list(names[row == 1]) for row in Y]
    tagged = ResampledClassifier(MLkNN(3), sampler).fit(X, tags)
    plain = ResampledClassifier(MLkNN(3), sampler).fit(X, Y)
    np.testing.assert_array_equal(tagged.loo_predict(), plain.loo_predict())
    assert tagged.predict_labels(X[:5]) == [tuple(names[row == 1]) for row in plain.predict(X[:5])]
    one = ResampledClassifier(MLkNN(3), MLROS(random_state=0)).fit(X, np.where(Y[:, 1], "yes", "no"))
    assert one.loo_predict_proba().shape == (60, 2)
    assert set(one.loo_predict()) <= {"yes", "no"}


def test_weights_go_with_the_seeds():
    """A copy weighs what its row weighs; a row of weight 0 is no seed."""
    weights = np.arange(60) % 4.0
    sampler = MLROS(0.5, random_state=0)
    model = ResampledClassifier(BRkNN(3), sampler).fit(X, Y, sample_weight=weights)
    kept = weights > 0
    rows, labels = sampler.fit_resample(X[kept], Y[kept])
    plain = BRkNN(3).fit(rows, labels, sample_weight=weights[kept][sampler.seed_indices_])
    np.testing.assert_array_equal(model.predict_proba(X), plain.predict_proba(X))
    assert model.loo_predict_proba().shape == (kept.sum(), 4)


def test_what_copies_would_mislead_is_refused():
    """A choice inside by leaving rows out; a sampler that only deletes misleads nothing."""
    with pytest.raises(ValueError, match="estimator must have a number as n_neighbors where samples were added"):
        ResampledClassifier(MLkNN("auto"), MLROS(random_state=0)).fit(X, Y)
    with pytest.raises(ValueError, match=r"\{'estimator__mlknn__n_neighbors': \[5, 10, 20\]\}"):
        ResampledClassifier(make_pipeline(MinMaxScaler(), MLkNN("auto")), MLSMOTE(random_state=0)).fit(X, Y)
    for estimator, parameter in (
        (TunedThresholdsClassifierCV(MLkNN(3), cv="loo"), "cv"),
        (CalibratedLabels(MLkNN(3), cv=3), "cv"),
        (NeighborInterpolation(neighbors=MLkNN(3)), "cv"),
        (GridSearchCV(MLkNN(), {"n_neighbors": [1, 3]}), "cv"),
        (make_pipeline(MinMaxScaler(), BinaryRelevance(LogisticRegressionCV())), "binaryrelevance__estimator__cv"),
    ):
        with pytest.raises(ValueError, match=f"estimator must not use folds .* got {parameter}="):
            ResampledClassifier(estimator, REMEDIAL()).fit(X, Y)
    with pytest.raises(ValueError, match="estimator must have a number as delta where samples were added"):
        ResampledClassifier(DMLkNN(3, delta="auto"), REMEDIAL()).fit(X, Y)
    with pytest.raises(ValueError, match=r"\{'estimator__power': \[8, 16, 32\]\}"):
        ResampledClassifier(MLMLM(), REMEDIAL()).fit(X, Y)
    assert ResampledClassifier(MLMLM(8), REMEDIAL()).fit(X, Y).estimator_.power_ == 8
    assert ResampledClassifier(MLkNN("auto"), MLeNN()).fit(X, Y).estimator_.n_neighbors_ > 0


class Unknown(BaseEstimator):
    """A sampler that does not say what it makes rows of."""

    def fit_resample(self, X, y):
        """Add a mean row."""
        self.sample_indices_ = self.seed_indices_ = np.append(np.arange(len(X)), -1)
        return np.vstack([X, X.mean(axis=0)]), np.vstack([y, y[:1]])


def test_samplers_that_are_none():
    """What has no fit_resample, and what names no seeds if rows are to be left out."""
    with pytest.raises(TypeError, match=r"sampler must have fit_resample, like MLSMOTE\(\), got MinMaxScaler"):
        ResampledClassifier(MLkNN(3), MinMaxScaler()).fit(X, Y)
    model = ResampledClassifier(MLkNN(3), Unknown()).fit(X, Y)
    assert model.predict(X).shape == Y.shape
    with pytest.raises(ValueError, match="sampler must have a seed for each row to leave samples out"):
        model.loo_predict_proba()


def test_pipeline_of_imbalanced_learn():
    """Its pipeline resamples what `fit` gets, and nothing else; leave-one-out answers of its last step would leak."""
    pipeline = pytest.importorskip("imblearn.pipeline").make_pipeline
    sampler = MLSMOTE(3, random_state=0)
    model = pipeline(MinMaxScaler(), sampler, MLkNN(3)).fit(X, Y)
    scaled = MinMaxScaler().fit_transform(X)
    expected = MLkNN(3).fit(*sampler.fit_resample(scaled, Y)).predict(scaled)
    np.testing.assert_array_equal(model.predict(X), expected)
    tuned = TunedThresholdsClassifierCV(pipeline(sampler, MLkNN(3)), cv=3).fit(X, Y)
    assert tuned.predict(X).shape == Y.shape
    with pytest.raises(ValueError, match="cv='loo' needs a model without samplers, got MLSMOTE"):
        TunedThresholdsClassifierCV(pipeline(sampler, MLkNN(3)), cv="loo").fit(X, Y)
