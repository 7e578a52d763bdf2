"""scikit-learn's own checks of estimators, on every public classifier with its default parameters."""

import warnings

import pytest
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.estimator_checks import check_estimator

from _classifiers import SMALL, default_classifiers
from nearlabel.testing import expected_failed_checks

_ONE_CLUSTER = "it sets n_clusters to 1 where there is such a parameter; here a node has at least two children"
_LINEAR_SVC = {"labels_follow_scores": False}  # decides by the sign, not by the calibrated probability
_SHARES = {"scores_reach_0_and_1": True, "scores_tie": True}
_COUNTS = {"min_samples": 11}  # each row's 10 neighbours without itself
FEATURES = {
    "IBLR": _COUNTS,
    "NLDD": {"labels_follow_scores": False},
    "BRkNN": _SHARES,
    "BRkNNa": _SHARES,
    "BRkNNb": _SHARES | {"labels_follow_scores": False},
    "CMLkNN": _COUNTS,
    "DMLkNN": _COUNTS | {"scores_tie": True},
    "LPkNN": _SHARES | {"labels_follow_scores": False},
    "MLMLM": _SHARES,
    "MLkNN": _COUNTS | {"scores_tie": True},
    "SMBR": _LINEAR_SVC | {"draws_samples": True},
    "BinaryRelevance": _LINEAR_SVC | {"draws_samples": True},
    "ClassifierChain": _LINEAR_SVC | {"draws_samples": True},
    "LabelPowerset": {"labels_follow_scores": False, "draws_samples": True},
    "PredictiveClusteringTree": _SHARES,
    "ConditionalBernoulliMixture": {"labels_follow_scores": False},
    "HOMER": _LINEAR_SVC | {"draws_samples": True},
    "NeighborInterpolation": {"scores_reach_0_and_1": True},
    "EnsembleOfBinaryRelevance": _SHARES | {"draws_samples": True},
    "EnsembleOfClassifierChains": _SHARES | {"draws_samples": True},
    "RAkELd": _SHARES,
    "RAkELo": _SHARES,
    "RandomForestPCT": _SHARES | {"draws_samples": True},
    "CalibratedLabels": {"min_samples": 14, "scores_tie": True},
    "FixedThresholdsClassifier": _COUNTS | {"scores_tie": True},
    "MixtureClassifierCV": _SHARES | {"min_samples": 2, "labels_follow_scores": False},
    "NeighborsClassifierCV": _SHARES | {"min_samples": 2, "labels_follow_scores": False},
    "ResampledClassifier": _SHARES,
    "StreamClassifier": _COUNTS | {"scores_tie": True},
    "TunedThresholdsClassifierCV": {"min_samples": 14, "scores_tie": True},
}
_VOTE_WEIGHTS = {
    "check_sample_weight_equivalence_on_dense_data": "a row of weight 2 takes one place among k, two rows take two",
    "check_sample_weight_equivalence_on_sparse_data": "the same",
    "check_classifiers_one_label_sample_weights": "few samples have a weight above 0: fewer than 10 neighbours",
}
_CHOSEN = {
    "check_dtype_object": "columns of objects are categories; a value may be of any type",
    "check_n_features_in_after_fitting": "partial_fit is there after a fit only: the choice tells whether it can",
}
OTHERS = {
    "CalibratedLabels": {"check_classifiers_one_label_sample_weights": "a fold of 8 of its 10 samples, 10 neighbours"},
    "MixtureClassifierCV": _CHOSEN,
    "NeighborsClassifierCV": _CHOSEN,
    "BRkNN": _VOTE_WEIGHTS,
    "BRkNNa": _VOTE_WEIGHTS
    | {"check_classifiers_train": "it never predicts an empty label set, so one label is always predicted"},
    "BRkNNb": _VOTE_WEIGHTS,
    "CMLkNN": _VOTE_WEIGHTS,
    "DMLkNN": _VOTE_WEIGHTS,
    "LPkNN": _VOTE_WEIGHTS,
    "MLkNN": _VOTE_WEIGHTS,
    "ResampledClassifier": _VOTE_WEIGHTS,  # of BRkNN
    "PredictiveClusteringTree": {
        "check_sample_weight_equivalence_on_dense_data": "min_samples_leaf=5 counts samples, not weights",
        "check_sample_weight_equivalence_on_sparse_data": "min_samples_leaf=5 counts samples, not weights",
    },
    "HOMER": {
        "check_dont_overwrite_parameters": _ONE_CLUSTER,
        "check_fit2d_1feature": _ONE_CLUSTER,
        "check_fit2d_1sample": _ONE_CLUSTER,
        "check_fit2d_predict1d": _ONE_CLUSTER,
        "check_methods_subset_invariance": _ONE_CLUSTER,
        "check_non_transformer_estimators_n_iter": "max_iter is of the clustering of every node: many n_iter_",
    },
}
DEFAULTS = default_classifiers()
# One class of each base class; the checks of the others take half a minute.
QUICK = ("BRkNN", "IBLR", "MLkNN", "BinaryRelevance", "RAkELd", "FixedThresholdsClassifier")


def check_all(name, estimator):
    """Run all checks; assert that those with a reason fail only, and that a reason of this class alone is needed."""
    reasons = expected_failed_checks(**FEATURES.get(name, {})) | OTHERS.get(name, {})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        warnings.simplefilter("ignore", UserWarning)
        results = check_estimator(estimator, expected_failed_checks=reasons, on_skip=None, on_fail=None)
    failed = {result["check_name"]: result["exception"] for result in results if result["status"] == "failed"}
    assert not failed
    expected = {result["check_name"] for result in results if result["status"] == "xfail"}
    assert set(OTHERS.get(name, {})) <= expected


@pytest.mark.long
@pytest.mark.parametrize("name", QUICK)
def test_quick_defaults(name):
    """As for all others."""
    check_all(name, DEFAULTS[name])


@pytest.mark.long
@pytest.mark.parametrize("name", sorted(DEFAULTS.keys() - SMALL.keys() - set(QUICK)))
def test_defaults(name):
    """The checks hold for the bare default, but for those listed with a reason, each of which fails."""
    check_all(name, DEFAULTS[name])


@pytest.mark.long
@pytest.mark.parametrize("name", SMALL)
def test_small(name):
    """As for the defaults, for a smaller instance of the slow classifiers."""
    check_all(name, SMALL[name])


@pytest.mark.slow
@pytest.mark.parametrize("name", SMALL)
def test_slow_defaults(name):
    """The bare defaults of the slow classifiers."""
    check_all(name, DEFAULTS[name])
