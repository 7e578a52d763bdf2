import numpy as np
import pytest
from scipy import sparse

from nearlabel.models.decision import at_least_one, cut, top_labels, within_sizes

SEEDS = range(5)


def tied_scores(seed):
    """Scores (40, 6) of four values only, so that ties are everywhere; some rows are 0 throughout."""
    rng = np.random.default_rng(seed)
    scores = rng.choice([0.0, 0.25, 0.5, 0.75], (40, 6))
    scores[::7] = 0
    return scores


def shuffled_csr(scores, seed):
    """Store every score, zeros included, in random order within its row."""
    rng = np.random.default_rng(seed)
    n_rows, n_labels = scores.shape
    indices = np.concatenate([rng.permutation(n_labels) for _ in range(n_rows)])
    data = scores[np.repeat(np.arange(n_rows), n_labels), indices]
    return sparse.csr_array((data, indices, np.arange(0, scores.size + 1, n_labels)), shape=scores.shape)


def indicator(chosen, n_labels):
    """Rows of chosen label numbers as an indicator list."""
    return [[int(label in row) for label in range(n_labels)] for row in chosen]


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize("store", [np.asarray, sparse.csr_array, sparse.csr_matrix, sparse.csc_array])
def test_cut_equals_loops(seed, strict, store):
    """Each label has its own threshold; a score that equals it passes unless `strict`."""
    scores, limits = tied_scores(seed), [0.25, 0.5, 0.75, 0.1, 0.6, 0.5]
    expected = [[int(s > t or (s == t and not strict)) for s, t in zip(row, limits, strict=True)] for row in scores]
    labels = cut(store(scores), limits, strict=strict)
    assert labels.dtype == np.int64
    assert (labels.toarray() if sparse.issparse(labels) else labels).tolist() == expected


def test_cut_of_explicit_zeros_and_unsorted_entries():
    """Storage decides nothing: the answer is canonical and the scores are left as they were."""
    scores = shuffled_csr(tied_scores(0), seed=1)
    before = scores.copy()
    labels = cut(scores, 0.5)
    assert (labels.toarray() == cut(tied_scores(0), 0.5)).all()
    assert labels.has_canonical_format
    assert labels.data.all()
    np.testing.assert_array_equal(scores.indices, before.indices)
    np.testing.assert_array_equal(scores.data, before.data)


def test_cut_at_zero_strictly_keeps_sparse_scores_sparse():
    """Above 0 is a threshold that nothing reaches that is not stored."""
    labels = cut(sparse.csr_array([[0.0, 0.2], [-0.3, 0.0]]), 0.0, strict=True)
    assert labels.nnz == 1
    assert labels.toarray().tolist() == [[0, 1], [0, 0]]


@pytest.mark.parametrize(
    ("thresholds", "strict"), [(0.0, False), ([0.5, 0.0, -np.inf], False), (-0.1, True), ([0.3, 0.5, -1.0], True)]
)
def test_cut_fills_the_columns_whose_threshold_0_reaches(thresholds, strict):
    """Sparse scores are cut as the dense ones that they stand for."""
    dense = np.array([[0.3, 0.0, -2.0], [0.0, -0.5, 0.4], [0.0, 0.0, 0.0]])
    scores = sparse.csr_array(dense)
    labels = cut(scores, thresholds, strict=strict)
    assert labels.has_canonical_format
    assert labels.data.all()
    expected = cut(dense, thresholds, strict=strict)
    assert labels.toarray().tolist() == expected.tolist()


@pytest.mark.parametrize("strict", [False, True])
def test_cut_of_random_sparse_scores(strict):
    """Stored scores, negative and zero ones too, are cut as the dense ones, into a canonical CSR array."""
    rng = np.random.default_rng(0)
    for _ in range(100):
        dense = rng.choice([0.0, 0.0, -1.0, 0.5, np.inf], (6, 5))
        thresholds = rng.choice([-np.inf, -1.0, -0.5, 0.0, 0.5, 2.0, np.inf], 5)
        rows, columns = np.nonzero((dense != 0) | (rng.random(dense.shape) < 0.3))
        scores = sparse.csr_array((dense[rows, columns].astype(np.float32), (rows, columns)), shape=dense.shape)
        labels = cut(scores, thresholds, strict=strict)
        assert labels.toarray().tolist() == cut(dense, thresholds, strict=strict).tolist()
        assert labels.has_canonical_format
        assert labels.data.all()


@pytest.mark.parametrize("store", [np.asarray, sparse.csr_array])
def test_cut_counts_the_thresholds(store):
    """One threshold for all or one for each label; anything else is refused."""
    with pytest.raises(ValueError, match=r"thresholds must be one number or one for each of the 3 labels, got"):
        cut(store(np.eye(3)), [0.5, 0.5])


@pytest.mark.parametrize("store", [np.asarray, sparse.csr_array])
def test_no_rows(store):
    """No query, no answer, no error."""
    scores, labels = store(np.zeros((0, 3))), store(np.zeros((0, 3), dtype=int))
    for chosen in (cut(scores), at_least_one(labels, scores), top_labels(scores, 2)):
        assert chosen.shape == (0, 3)
    assert within_sizes(np.zeros((0, 3), dtype=int), np.zeros((0, 3)), at_least=1).shape == (0, 3)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("store_labels", [np.asarray, sparse.csr_array, sparse.csr_matrix])
@pytest.mark.parametrize("store_scores", [np.asarray, sparse.csr_array, lambda S: shuffled_csr(S, 3)])
def test_at_least_one_equals_loops(seed, store_labels, store_scores):
    """A row without a label gets the first of its best ones, label 0 if all scores are 0; other rows stay."""
    scores = tied_scores(seed)
    labels = (scores > 0.5).astype(int)
    expected = labels.tolist()
    for row, of_row in zip(expected, scores.tolist(), strict=True):
        if not any(row):
            row[of_row.index(max(of_row))] = 1
    filled = at_least_one(store_labels(labels), store_scores(scores))
    assert sparse.issparse(filled) == (store_labels is not np.asarray)
    assert (filled.toarray() if sparse.issparse(filled) else filled).tolist() == expected


def test_at_least_one_leaves_its_input():
    """The label sets that were passed are not changed."""
    labels = np.zeros((2, 2), dtype=int)
    at_least_one(labels, np.array([[0.1, 0.2], [0.3, 0.0]]))
    assert not labels.any()


def test_at_least_one_of_negative_scores():
    """Scores need no lower bound where they are dense."""
    filled = at_least_one(np.zeros((1, 3), dtype=int), np.array([[-3.0, -1.0, -2.0]]))
    assert filled.tolist() == [[0, 1, 0]]


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("size", [0, 1, 4, 6, 9, -1, "random"])
@pytest.mark.parametrize("store", [np.asarray, lambda S: shuffled_csr(S, 2)])
def test_top_labels_equals_loops(seed, size, store):
    """The best labels of each row, lower indices first on a tie; none for 0, all for more than there are."""
    scores = tied_scores(seed)
    sizes = np.random.default_rng(seed).integers(0, 8, 40) if size == "random" else np.full(40, size)
    ranked = [sorted(range(6), key=lambda label, row=row: (-row[label], label)) for row in scores]
    expected = indicator([row[: max(n, 0)] for row, n in zip(ranked, sizes, strict=True)], 6)
    labels = top_labels(store(scores), sizes if size == "random" else size)
    assert labels.dtype == np.int64
    assert (labels.toarray() if sparse.issparse(labels) else labels).tolist() == expected


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("store", [sparse.csr_array, sparse.csr_matrix, sparse.csc_array, sparse.coo_array])
def test_top_labels_of_sparse_scores_choose_stored_ones_only(seed, store):
    """A row with fewer stored scores than wanted gets those it has, negative ones too."""
    scores = tied_scores(seed) - 0.5  # the most frequent value is 0 no more, so -0.5 is stored
    sizes = np.random.default_rng(seed).integers(0, 8, 40)
    stored = [[label for label in np.argsort(-row, kind="stable") if row[label]] for row in scores]
    expected = indicator([row[:n] for row, n in zip(stored, sizes, strict=True)], 6)
    labels = top_labels(store(scores), sizes)
    assert labels.toarray().tolist() == expected
    assert labels.has_canonical_format


@pytest.mark.parametrize("dtype", [bool, np.uint8, np.int64, np.float32])
@pytest.mark.parametrize("store", [np.asarray, sparse.csr_array])
def test_top_labels_of_any_type_of_score(dtype, store):
    """Votes without a sign are ranked as numbers: a zero is not above them all."""
    labels = top_labels(store(np.array([[0, 1, 1]], dtype=dtype)), 1)
    assert (labels.toarray() if sparse.issparse(labels) else labels).tolist() == [[0, 1, 0]]


@pytest.mark.parametrize("store", [np.asarray, sparse.csr_array])
def test_top_labels_counts_the_sizes(store):
    """One size for all or one for each row; anything else is refused."""
    with pytest.raises(ValueError, match=r"sizes must be one number or one for each of the 3 rows, got shape \(2,\)"):
        top_labels(store(np.eye(3)), [1, 2])


def bounded(chosen, scores, at_least, at_most):
    """The labels of a row, brought within the bounds one at a time: the best is added, the worst is dropped."""
    chosen = set(chosen)
    best_first = sorted(range(len(scores)), key=lambda label: (-scores[label], label))
    while len(chosen) < min(at_least, len(scores)):
        chosen.add(next(label for label in best_first if label not in chosen))
    while len(chosen) > at_most:
        chosen.remove(next(label for label in reversed(best_first) if label in chosen))
    return chosen


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize(
    ("at_least", "at_most"), [(0, None), (0, 0), (0, 2), (1, None), (1, 3), (2, 2), (6, 6), (9, None)]
)
def test_within_sizes_equals_loops(seed, at_least, at_most):
    """Ties are everywhere: the lower label index is added first and dropped last."""
    scores = tied_scores(seed)
    labels = (np.random.default_rng(seed).random((40, 6)) < np.linspace(0, 1, 40)[:, np.newaxis]).astype(np.int64)
    rows = zip(labels, scores, strict=True)
    most = 6 if at_most is None else at_most
    expected = indicator([bounded(np.flatnonzero(chosen), row, at_least, most) for chosen, row in rows], 6)
    assert within_sizes(labels, scores, at_least=at_least, at_most=at_most).tolist() == expected


def test_within_sizes_by_hand():
    """A chosen label of low score stays when others are added; one that is not chosen never replaces one that is."""
    scores = np.array([[0.1, 0.9, 0.5, 0.5], [0.1, 0.9, 0.5, 0.5], [0.1, 0.9, 0.5, 0.5]])
    labels = np.array([[1, 0, 0, 0], [1, 0, 1, 1], [0, 0, 0, 0]])
    assert within_sizes(labels, scores, at_least=2, at_most=2).tolist() == [[1, 1, 0, 0], [0, 0, 1, 1], [0, 1, 1, 0]]


def test_within_sizes_of_infinite_scores():
    """Infinities are ranked like other scores, equal ones by label index."""
    scores = np.array([[-np.inf, np.inf, -np.inf], [np.inf, np.inf, 0.0]])
    assert within_sizes(np.zeros((2, 3), dtype=int), scores, at_least=2).tolist() == [[1, 1, 0], [1, 1, 0]]
    assert within_sizes(np.ones((2, 3), dtype=int), scores, at_most=1).tolist() == [[0, 1, 0], [1, 0, 0]]


@pytest.mark.parametrize("dtype", [bool, np.int8, np.uint8, np.int64])
def test_within_sizes_of_any_type_of_label_set(dtype):
    """Types that know no negative number are no exception, and are kept."""
    labels = np.array([[1, 0, 1], [0, 1, 0]], dtype=dtype)
    chosen = within_sizes(labels, np.array([[0.1, 0.9, 0.2], [0.3, 0.2, 0.1]]), at_least=2, at_most=2)
    assert chosen.dtype == dtype
    assert chosen.tolist() == [[1, 0, 1], [1, 1, 0]]
    assert within_sizes(labels, np.eye(3)[:2], at_most=1).sum(axis=1).tolist() == [1, 1]


def test_within_sizes_leaves_its_input():
    """What was passed is not changed, whether a row is out of bounds or none."""
    labels = np.array([[1, 1], [0, 0]])
    for bounds in ({}, {"at_least": 1}, {"at_most": 1}, {"at_most": 0}):
        chosen = within_sizes(labels, np.array([[0.1, 0.2], [0.3, 0.0]]), **bounds)
        chosen[:] = 7
    assert labels.tolist() == [[1, 1], [0, 0]]


def test_the_first_threshold_that_is_nan_is_named():
    """By the number of its label."""
    with pytest.raises(ValueError, match=r"thresholds must not be NaN, got it for label 1\."):
        cut(np.array([[0.1, 0.2, 0.3, 0.4]]), [0.5, np.nan, 0.5, np.nan])
