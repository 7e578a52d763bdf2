import numpy as np
import pytest
from scipy import sparse

from nearlabel.datasets import Dataset
from nearlabel.experiments import Plan, SearchPlan, run, usual_search
from nearlabel.neighbors import ExactNeighbors
from nearlabel.selection.data import scale_features

TRAINING = np.array([[0.0, 2.0, 7.0], [4.0, 4.0, 7.0], [2.0, 3.0, 7.0]])
TEST = np.array([[6.0, 1.0, 9.0]])


def random_rows(seed, n):
    """Rows with many zeros, negative values and a constant feature."""
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(n, 6)) * (rng.random((n, 6)) < 0.5) * [1.0, 10.0, 0.01, 3.0, 1.0, 0.0]
    rows[:, 4] = 2.5
    return rows


def test_none_changes_nothing():
    """The very same arrays come back."""
    assert scale_features("none", TRAINING, TEST) == (TRAINING, TEST)


def test_minmax_by_hand():
    """Training rows fill [0, 1], test rows may leave it, a constant feature is shifted only."""
    training, test = scale_features("minmax", TRAINING, TEST)
    assert training.tolist() == [[0.0, 0.0, 0.0], [1.0, 1.0, 0.0], [0.5, 0.5, 0.0]]
    assert test.tolist() == [[6 / 4, (1 - 2) / 2, 9 - 7]]


def test_standard_by_hand():
    """Training rows have mean 0 and deviation 1; the test rows are scaled by the same two numbers."""
    training, test = scale_features("standard", TRAINING, TEST)
    np.testing.assert_allclose(training.mean(axis=0), 0, atol=1e-15)
    np.testing.assert_allclose(training.std(axis=0), [1, 1, 0], atol=1e-15)
    np.testing.assert_allclose(test, [[(6 - 2) / np.sqrt(8 / 3), (1 - 3) / np.sqrt(2 / 3), 9 - 7]])


@pytest.mark.parametrize("scale", ["minmax", "standard"])
def test_only_the_training_rows_decide(scale):
    """Another test row, far off, changes neither the training rows nor the first test row."""
    one, first = scale_features(scale, TRAINING, TEST)
    two, both = scale_features(scale, TRAINING, np.vstack([TEST, TEST * 100]))
    assert (one == two).all()
    assert (first == both[:1]).all()


@pytest.mark.parametrize("scale", ["none", "minmax", "standard"])
def test_sparse_rows_stay_sparse_and_as_far_apart(scale):
    """Sparse rows are not shifted, which no difference sees; a constant feature is no exception."""
    rows, queries = random_rows(0, 30), random_rows(1, 8)
    training, test = scale_features(scale, rows, queries)
    sparse_training, sparse_test = scale_features(scale, sparse.csr_array(rows), sparse.csr_array(queries))
    assert sparse_training.format == sparse_test.format == "csr"
    assert sparse_training.nnz == np.count_nonzero(rows)
    dense_answer = ExactNeighbors().fit(training).kneighbors(test, 30)
    sparse_answer = ExactNeighbors().fit(sparse_training).kneighbors(sparse_test, 30)
    np.testing.assert_allclose(sparse_answer[0], dense_answer[0], rtol=1e-12)


def test_a_feature_that_is_constant_but_for_rounding():
    """Noise of rounding is not blown up to [0, 1], dense or sparse."""
    rows = np.array([[1.0, 0.1 + 0.2], [2.0, 0.3]])
    dense, _ = scale_features("minmax", rows, rows)
    stored, _ = scale_features("minmax", sparse.csr_array(rows), sparse.csr_array(rows))
    assert np.ptp(dense, axis=0).tolist() == np.ptp(stored.toarray(), axis=0).tolist()
    assert np.ptp(dense, axis=0)[1] < 1e-15


@pytest.mark.parametrize("scale", ["minmax", "standard", "tfidf"])
def test_input_is_left_alone(scale):
    """The rows that were passed keep their values."""
    rows, stored = TRAINING.copy(), sparse.csr_array(TRAINING)
    scale_features(scale, rows, rows)
    scale_features(scale, stored, stored)
    assert (rows == TRAINING).all()
    assert (stored.toarray() == TRAINING).all()


COUNTS = np.array([[3.0, 1.0, 0.0, 2.0, 0.0], [0.0, 2.0, 0.0, 5.0, 0.0], [0.0, 0.0, 4.0, 1.0, 0.0]])
NEW_COUNTS = np.array([[1.0, 1.0, 0.0, 9.0, 0.0], [0.0, 0.0, 0.0, 6.0, 7.0], [0.0, 0.0, 0.0, 0.0, 0.0]])


@pytest.mark.parametrize("store", [np.asarray, sparse.csr_array, sparse.csr_matrix, sparse.csc_array])
def test_tfidf_by_hand(store):
    """Of three training rows one, two, one, three and none have the terms; the third test row is empty."""
    one, two = np.log(3 / 1), np.log(3 / 2)
    training, test = scale_features("tfidf", store(COUNTS), store(NEW_COUNTS))
    assert training.format == test.format == "csr"
    first = np.array([3 * one, 1 * two]) / np.hypot(3 * one, two)
    np.testing.assert_allclose(training.toarray(), [[*first, 0, 0, 0], [0, 1, 0, 0, 0], [0, 0, 1, 0, 0]], rtol=1e-15)
    of_test = np.array([one, two]) / np.hypot(one, two)
    # A term of every training row, and one of none, weigh nothing: the second row has only these.
    np.testing.assert_allclose(test.toarray(), [[*of_test, 0, 0, 0], [0] * 5, [0] * 5], rtol=1e-15)


def test_tfidf_counts_the_training_rows_only():
    """Other test rows change neither the training rows nor the first test row."""
    one, first = scale_features("tfidf", COUNTS, NEW_COUNTS[:1])
    two, all_rows = scale_features("tfidf", COUNTS, NEW_COUNTS)
    assert (one.toarray() == two.toarray()).all()
    assert (first.toarray() == all_rows[:1].toarray()).all()


def test_tfidf_rows_have_length_one_or_none():
    """Every row with a term that weighs anything is of Euclidean length 1, an empty row stays empty."""
    rows = np.random.default_rng(0).poisson(0.3, (50, 8)).astype(float)
    rows[::9] = 0
    for scaled in scale_features("tfidf", rows[:30], rows[30:]):
        lengths = np.sqrt((scaled.toarray() ** 2).sum(axis=1))
        np.testing.assert_allclose(lengths[lengths > 0], 1)
        assert (lengths == 0).any()


def test_tfidf_of_stored_zeros():
    """A zero that is stored is no occurrence of the term."""
    stored = sparse.csr_array((np.array([3.0, 0.0, 2.0]), np.array([0, 0, 1]), np.array([0, 1, 2, 3])), shape=(3, 2))
    training, test = scale_features("tfidf", stored, stored)
    expected, _ = scale_features("tfidf", stored.toarray(), stored.toarray())
    assert (training.toarray() == expected.toarray()).all()
    assert (test.toarray() == expected.toarray()).all()


def test_unknown_scale():
    """The known ones are listed."""
    with pytest.raises(ValueError, match=r"scale must be one of \['minmax', 'none', 'standard', 'tfidf'\], got 'log'"):
        scale_features("log", TRAINING, TEST)


def test_a_plan_of_word_counts_searches_by_the_cosine():
    """With tf-idf the neighbours are by the cosine, else by the Euclidean distance, unless a search is named."""
    rng = np.random.default_rng(0)
    counts = rng.poisson(0.05, (60, 90)).astype(float)
    counts[:6] = 0
    data = Dataset(counts, rng.integers(0, 2, (60, 3)), tuple(map(str, range(90))), tuple("xyz"), "words")
    values = {}
    for scale in ("tfidf", "none"):
        plan = Plan(("brknn",), n_neighbors=(5,), cv=3, scale=scale, metrics=("micro_f1",))
        values[scale] = [record["value"] for record in run(plan, {"words": data})]
        for search in ("exact", "exact:metric=cosine"):
            compared = run(SearchPlan(plan, (search,)), {"words": data})
            values[scale, search] = [record["value"] for record in compared if record["metric"] == "micro_f1"]
    assert usual_search("tfidf") == "exact:metric=cosine"
    assert usual_search("none") == usual_search("minmax") == "exact"
    assert values["tfidf"] == values["tfidf", "exact:metric=cosine"] != values["tfidf", "exact"]
    assert values["none"] == values["none", "exact"] != values["none", "exact:metric=cosine"]
