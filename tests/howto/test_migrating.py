"""The recipe of the migration page gives scikit-multilearn's decisions, transcribed here from its program."""

import re
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse
from sklearn.linear_model import LogisticRegression
from sklearn.metrics.pairwise import euclidean_distances
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler

from nearlabel.datasets import load_multidigits
from nearlabel.lazy import IBLR, MLkNN

PAGE = (Path(__file__).parents[2] / "docs" / "howto" / "migrating.md").read_text()


@pytest.fixture(scope="module")
def with_itself():
    """The class of the page."""
    names = {}
    found = re.search(r"^class WithItself.*?(?=\n\n\n)", PAGE, re.M | re.S)
    exec("from sklearn.neighbors import NearestNeighbors\n" + found.group(), names)
    return names["WithItself"]


def neighbors_of(X, queries, k):
    """The k nearest rows of each query, without any that is left out."""
    return np.argsort(euclidean_distances(queries, X), axis=1, kind="stable")[:, :k]


def their_mlknn(X, Y, queries, k, s=1.0):
    """scikit-multilearn-ng 0.0.8, adapt/mlknn.py: _compute_prior, _compute_cond, predict."""
    votes = Y[neighbors_of(X, X, k)].sum(axis=1)
    asked = Y[neighbors_of(X, queries, k)].sum(axis=1)
    answer = np.zeros(asked.shape, dtype=int)
    for label in range(Y.shape[1]):
        prior = (s + Y[:, label].sum()) / (s * 2 + len(Y))
        c = [int(((votes[:, label] == j) & (Y[:, label] == 1)).sum()) for j in range(k + 1)]
        cn = [int(((votes[:, label] == j) & (Y[:, label] == 0)).sum()) for j in range(k + 1)]
        for row, j in enumerate(asked[:, label]):
            yes = prior * (s + c[j]) / (s * (k + 1) + sum(c))
            no = (1 - prior) * (s + cn[j]) / (s * (k + 1) + sum(cn))
            answer[row, label] = yes >= no
    return answer


def their_iblr(X, Y, queries, k):
    """problem_transform/iblr.py: features, then shares of neighbours, each training row among its own."""
    shares, asked = (Y[neighbors_of(X, rows, k)].mean(axis=1) for rows in (X, queries))
    models = [LogisticRegression(max_iter=1000).fit(np.hstack([X, shares]), labels) for labels in Y.T]
    return np.column_stack([model.predict_proba(np.hstack([queries, asked]))[:, 1] for model in models])


def problem(name):
    """Training rows, their label sets and queries, without equal distances."""
    rng = np.random.default_rng(7)
    if name == "multidigits":
        digits = load_multidigits()
        X = MinMaxScaler().fit_transform(digits.X) + 1e-9 * rng.random(digits.X.shape)
        return X[:600], digits.Y[:600], X[600:800]
    X = rng.normal(size=(160, 4))
    Y = X[:120] @ rng.normal(size=(4, 4)) + rng.normal(size=(120, 4)) > [0, 1, 2, -1]
    return X[:120], Y.astype(int), X[120:]


@pytest.mark.parametrize("name", ["random", "multidigits"])
@pytest.mark.parametrize("storage", [np.asarray, sparse.csr_array])
def test_mlknn(with_itself, name, storage):
    """Every cell, in a pipeline too; the paper's rule has others."""
    X, Y, queries = problem(name)
    expected = their_mlknn(X, Y, queries, 10)
    model = MLkNN(10, search=with_itself()).fit(storage(X), Y)
    assert (model.predict(storage(queries)) == expected).all()
    assert (MLkNN(10).fit(X, Y).predict(queries) != expected).any()
    scaled = make_pipeline(MinMaxScaler(), MLkNN(10, search=with_itself())).fit(X, Y)
    scaler = MinMaxScaler().fit(X)
    assert (scaled.predict(queries) == their_mlknn(scaler.transform(X), Y, scaler.transform(queries), 10)).all()


def test_iblr(with_itself):
    """The same probabilities, as far as the regression is solved; the paper's rule has others."""
    X, Y, queries = problem("random")
    expected = their_iblr(X, Y, queries, 10)
    options = {"plus": True, "estimator": LogisticRegression(max_iter=1000)}
    assert IBLR(10, **options, search=with_itself()).fit(X, Y).predict_proba(queries) == pytest.approx(
        expected, abs=1e-3
    )
    assert np.abs(IBLR(10, **options).fit(X, Y).predict_proba(queries) - expected).max() > 0.02
