"""Leave-one-group-out: what a fit of all rows of other groups answers, found without that fit."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone

from _pairs import every_pair
from conftest import CONTAINERS, ROWS
from nearlabel.lazy import IBLR, BRkNN, BRkNNa, BRkNNb, CMLkNN, DMLkNN, LPkNN, MLkNN
from nearlabel.neighbors import ExactNeighbors, GaussianWeights, PrecomputedNeighbors, SimilarityWeights
from nearlabel.utils.validation import as_dense

MODELS = [
    BRkNN(),
    BRkNN(weights="distance"),
    BRkNN(weights=GaussianWeights(unit=1.0)),
    BRkNN(weights=SimilarityWeights(), search=ExactNeighbors("cosine")),
    BRkNNa(),
    BRkNNb(),
    LPkNN(),
    LPkNN(ties="first"),
    LPkNN(ties="frequent"),
    MLkNN(),
    MLkNN(smoothing=0.5),
    MLkNN(weights="distance"),
    DMLkNN(delta=1),
    DMLkNN(delta=3, cells="labels", weights="distance"),
]
# Of 40 rows: pairs, some single; a few large groups; names; one group of 15 rows beside single ones.
GROUPS = {
    "pairs": np.arange(40) // 2 * (np.arange(40) < 30) - np.arange(40) * (np.arange(40) >= 30),
    "few": np.random.default_rng(0).integers(0, 5, 40),
    "names": np.random.default_rng(1).choice(list("abcdefghijklm"), 40),
    "one": np.where(np.arange(40) % 8 < 3, -1, np.arange(40)),
}


X = np.random.default_rng(0).normal(size=(40, 2))
KNOWN = PrecomputedNeighbors.from_search(ExactNeighbors(), X, n_neighbors=6)


def refits(model, X, y, groups):
    """Return scores and label sets of each row by a fit of the rows of all other groups."""
    scores, labels = np.empty(y.shape), np.empty(y.shape)
    for group in np.unique(groups):
        held = groups == group
        fitted = clone(model).fit(X[~held], y[~held])
        scores[held], labels[held] = fitted.predict_proba(X[held]), as_dense(fitted.predict(X[held]))
    return scores, labels


@pytest.mark.pairs
@pytest.mark.parametrize(
    ("problem", "model", "groups", "case"),
    every_pair(ROWS, MODELS, GROUPS, [(1, "dense"), (5, "csr_array"), (11, "dense"), (11, "csr_array")]),
    indirect=["problem"],
    ids=lambda thing: repr(thing) if isinstance(thing, BRkNN | LPkNN | MLkNN | tuple) else str(thing),
)
def test_equals_refits(problem, model, groups, case):
    """To the last bit: ties, duplicates, constant labels, lists that lose several rows at once."""
    X, y, _ = problem
    (k, container), groups = case, GROUPS[groups]
    y = CONTAINERS[container](y)
    model = clone(model).set_params(n_neighbors=k).fit(X, y)
    scores, labels = refits(model, X, y, groups)
    np.testing.assert_array_equal(model.loo_predict_proba(groups), scores)
    predicted = model.loo_predict(groups)
    assert sparse.issparse(predicted) == sparse.issparse(y)
    np.testing.assert_array_equal(as_dense(predicted), labels)


@pytest.mark.parametrize("membership", ["clip", "mean", "hard"])
@pytest.mark.parametrize("groups", GROUPS)
def test_cmlknn_equals_refits_of_its_similarity(problem, groups, membership):
    """Memberships are no whole votes; the similarity is that of all rows, as documented."""
    X, y, _ = problem
    model = CMLkNN(4, membership=membership).fit(X, y)
    known = CMLkNN(4, membership=membership, similarity=model.similarity_)
    scores, labels = refits(known, X, y, GROUPS[groups])
    np.testing.assert_array_equal(model.loo_predict_proba(GROUPS[groups]), scores)
    np.testing.assert_array_equal(model.loo_predict(GROUPS[groups]), labels)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("container", ["dense", "csr_array"])
def test_many_rare_labels(container, seed):
    """A sparse y of more labels than rows, rows without labels, groups of many sizes."""
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 4, (60, 3)).astype(float)
    y = CONTAINERS[container]((rng.random((60, 90)) < rng.choice([0.004, 0.1, 0.6], 90)).astype(int))
    groups = rng.integers(0, rng.integers(8, 40), 60)
    model = MLkNN(int(rng.integers(1, 12)), smoothing=0.3).fit(X, y)
    scores, labels = refits(model, X, y, groups)
    np.testing.assert_array_equal(model.loo_predict_proba(groups), scores)
    np.testing.assert_array_equal(as_dense(model.loo_predict(groups)), labels)


def test_groups_of_one_row_are_leaving_one_out(problem):
    """Whatever the groups are called."""
    X, y, _ = problem
    numbers = np.random.default_rng(0).permutation(40)
    for names in (numbers, numbers.astype(str), numbers.astype(object), pd.Series(list(numbers), dtype="Int64")):
        for model in (BRkNN(3).fit(X, y), MLkNN(3).fit(X, y)):
            np.testing.assert_array_equal(model.loo_predict_proba(names), model.loo_predict_proba())


def test_duplicates_do_not_answer_for_each_other():
    """Every row twice: left out alone, its copy answers; with its copy, the rows of the single data set do."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(50, 4))
    y = (rng.random((50, 3)) < 0.5).astype(int)
    twice, both = np.repeat(X, 2, axis=0), np.repeat(y, 2, axis=0)
    model = BRkNN(1).fit(twice, both)
    assert (model.loo_predict() == both).all()
    expected = BRkNN(1).fit(X, y).loo_predict()
    np.testing.assert_array_equal(model.loo_predict(np.arange(100) // 2), np.repeat(expected, 2, axis=0))


def test_blocks_change_nothing(problem, monkeypatch):
    """Nor does the memory that there is."""
    X, y, _ = problem
    for container in ("dense", "csr_array"):
        model = MLkNN(7).fit(X, CONTAINERS[container](y))
        answers = model.loo_predict_proba(GROUPS["few"]), as_dense(model.loo_predict(GROUPS["few"]))
        with monkeypatch.context() as patch:
            patch.setattr("nearlabel.utils.validation.BLOCK_BYTES", 300)
            np.testing.assert_array_equal(model.loo_predict_proba(GROUPS["few"]), answers[0])
            np.testing.assert_array_equal(as_dense(model.loo_predict(GROUPS["few"])), answers[1])


@pytest.mark.parametrize(
    ("model", "groups", "message"),
    [
        (MLkNN(3), [1, 2], r"groups must be of shape \(40,\), one for each row, got shape \(2,\)"),
        (MLkNN(3), np.ones((40, 1)), r"got shape \(40, 1\)"),
        (
            MLkNN(3),
            np.where(np.arange(40) == 7, np.nan, 1),
            "every sample, got nan for row 7, counted from 0. Hint",
        ),
        (MLkNN(3), [*"ab", None] + ["c"] * 37, "must name the group of every sample, got None for row 2"),
        (
            MLkNN(3),
            pd.Series(["a", pd.NA] * 20, dtype="string"),
            "the group of every sample, got <NA> for row 1",
        ),
        (MLkNN(3), np.array([1, "a"] * 20, dtype=object), "groups must have names of one type, got several"),
        (MLkNN(3), [1, "a"] * 20, "groups must have names of one type, got several"),
        (MLkNN(3), ["a", "b"] * 19 + ["c", np.nan], "groups must name the group of every sample, got nan for row 39"),
        (BRkNN(3), np.ones(40), "n_neighbors must be at most 0 to leave out groups of up to 40 of n_samples=40"),
        (MLkNN(30), GROUPS["one"], "n_neighbors must be at most 24 to leave out groups of up to 15"),
        (MLkNN(3, search=KNOWN), GROUPS["one"], "search must know 18 neighbours .* groups of up to 15, got 6"),
    ],
)
def test_what_cannot_be_left_out(model, groups, message):
    """Each says what was expected."""
    with pytest.raises(ValueError, match=message):
        model.fit(X, np.eye(40, 2, dtype=int)).loo_predict(groups)


def test_methods_that_need_refits_have_none():
    """IBLR learns from rows."""
    assert not hasattr(IBLR(), "loo_predict")
