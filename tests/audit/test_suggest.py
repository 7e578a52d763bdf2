"""Rows to label next: the slow definition, ties, every container, whatever is around the method."""

import math
import pickle
from functools import partial

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import KNeighborsTransformer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler, StandardScaler

from _classifiers import SMALL, default_classifiers
from nearlabel.audit import _suggest, review, suggest
from nearlabel.lazy import MLMLM, BRkNN, LPkNN, MLkNN
from nearlabel.neighbors import ExactNeighbors, TransformerNeighbors
from nearlabel.rivals import RandomForestPCT, SoftVote
from nearlabel.selection import NeighborsClassifierCV
from nearlabel.thresholds import TunedThresholdsClassifierCV

RNG = np.random.default_rng(0)
X = RNG.integers(0, 4, (60, 2)).astype(float)  # many equal rows and distances
Y = (X + RNG.integers(0, 2, X.shape) > 2).astype(int)
LABELLED, POOL = X[:15], X[15:]


def slow(labelled, pool, n, distance=math.dist):
    """Choose by the definition, in loops: similarities in whole 2^-20, whose sums are whole numbers."""
    everything = [*pool, *labelled]
    scale = [
        sorted(distance(row, other) for j, other in enumerate(everything) if j != i)[9] for i, row in enumerate(pool)
    ]

    def similar(i, other):
        d = distance(pool[i], other)
        return round(math.exp(-d / scale[i]) * 2**20) if scale[i] else 2**20 * (d == 0)

    reached = [max(similar(i, row) for row in labelled) for i in range(len(pool))]
    chosen, gains = [], []
    for _ in range(n):
        values = [
            -1 if j in chosen else sum(max(similar(i, row) - reached[i], 0) for i in range(len(pool)))
            for j, row in enumerate(pool)
        ]
        chosen.append(values.index(max(values)))
        gains.append(max(values) / 2**20)
        reached = [max(reached[i], similar(i, pool[chosen[-1]])) for i in range(len(pool))]
    return chosen, gains


@pytest.mark.parametrize(
    "container", [np.asarray, sparse.csr_array, sparse.coo_matrix, pd.DataFrame, np.ndarray.tolist]
)
@pytest.mark.parametrize("metric", ["euclidean", "manhattan"])
def test_the_definition(container, metric):
    """Rows and scores are those of the definition; of equal ones the lower row is first, whatever X is stored in."""
    distance = math.dist if metric == "euclidean" else lambda a, b: float(np.abs(a - b).sum())
    rows, scores = slow(LABELLED, POOL, 12, distance)
    model = MLkNN(3, search=ExactNeighbors(metric=metric)).fit(container(LABELLED), Y[:15])
    found = suggest(model, container(POOL), 12)
    assert [one.row for one in found] == rows
    assert [one.score for one in found] == scores
    assert len(set(scores)) < len(scores)  # some are equal


def test_blocks_change_nothing(monkeypatch):
    """However many rows are compared at a time."""
    model = BRkNN(3).fit(LABELLED, Y[:15])
    whole = suggest(model, POOL, 10)
    monkeypatch.setattr(
        _suggest, "row_blocks", lambda n, size: (slice(start, min(n, start + 7)) for start in range(0, n, 7))
    )
    assert suggest(model, POOL, 10) == whole


def test_equal_rows():
    """A copy of a row that is labelled or chosen adds nothing; rows without any distance between them are one row."""
    model = BRkNN(1).fit([[5.0]], [[1]])
    found = suggest(model, [[5.0], [0.0], [0.0], [9.0]] + [[0.0]] * 20, 4)
    assert [one.row for one in found] == [1, 3, 0, 2]
    assert found[0].score == 22  # all rows at 0, whose scale is 0
    assert [one.score for one in found[2:]] == [0, 0]


def test_fewer_rows_than_a_scale_takes():
    """One labelled row and one row of the pool are enough."""
    (one,) = suggest(BRkNN(1).fit([[0.0]], [[1]]), [[3.0]], 1)
    assert (one.row, round(one.score, 4)) == (0, round(1 - math.exp(-1), 4))


AROUND = {
    "pipeline": make_pipeline(MaxAbsScaler(), MLkNN(3)),
    "thresholds": TunedThresholdsClassifierCV(make_pipeline(MaxAbsScaler(), MLkNN(3)), cv=3),
    "thresholds in a pipeline": make_pipeline(MaxAbsScaler(), TunedThresholdsClassifierCV(MLkNN(3), cv="loo")),
    "search": GridSearchCV(
        make_pipeline(MaxAbsScaler(), MLkNN()), {"mlknn__n_neighbors": [3]}, cv=2, scoring="f1_micro"
    ),
}


@pytest.mark.parametrize("name", AROUND)
def test_whatever_is_around_it(name):
    """The rows are those of the method alone, on rows as it sees them; the model does not change."""
    model = clone(AROUND[name]).fit(LABELLED, Y[:15])
    before = pickle.dumps(model)
    scaler = MaxAbsScaler().fit(LABELLED)
    alone = MLkNN(3).fit(scaler.transform(LABELLED), Y[:15])
    expected = [(one.row, one.score) for one in suggest(alone, scaler.transform(POOL), 9)]
    assert [(one.row, one.score) for one in suggest(model, POOL, 9)] == expected
    assert pickle.dumps(model) == before


def named(X):
    """Columns of two kinds."""
    return pd.DataFrame({"x": X[:, 0], "y": pd.Categorical(X[:, 1].astype(int).astype(str))})


@pytest.mark.parametrize("container", [np.asarray, pd.DataFrame, named])
def test_a_model_that_chose_its_method(container):
    """Rows are those of what it chose, with its scaling and metric."""
    model = NeighborsClassifierCV(methods=[MLkNN()], scales=["minmax"], metrics=["manhattan"]).fit(
        container(LABELLED), Y[:15]
    )
    pool = named(POOL) if container is named else POOL
    expected = [(one.row, one.score) for one in suggest(model.best_estimator_, pool, 9)]
    assert [(one.row, one.score) for one in suggest(model, container(POOL), 9)] == expected
    assert [one.row for one in suggest(model, container(POOL), 9, X_labelled=container(LABELLED))] == [
        row for row, _ in expected
    ]


def test_a_mixture_measures_by_its_votes():
    """Whatever its first part is, and in the space of the part that votes."""
    parts = [("forest", RandomForestPCT(3, random_state=0)), ("votes", make_pipeline(StandardScaler(), BRkNN(3)))]
    mixture = SoftVote(parts, random_state=0).fit(LABELLED, Y[:15])
    alone = make_pipeline(StandardScaler(), BRkNN(3)).fit(LABELLED, Y[:15])
    found, expected = suggest(mixture, POOL, 5), suggest(alone, POOL, 5)
    assert [(one.row, one.score) for one in found] == [(one.row, one.score) for one in expected]
    assert len(review(mixture, POOL, 5)) == 5


def test_search_without_a_metric():
    """A search of the user's own is asked for the pool, too."""
    search = TransformerNeighbors(KNeighborsTransformer(n_neighbors=14))
    model = BRkNN(3, search=search).fit(LABELLED, Y[:15])
    with pytest.raises(ValueError, match="n_neighbors must be at most"):  # the graph of a transformer is bounded
        suggest(model, POOL, 9)


@pytest.mark.parametrize("model", [RandomForestClassifier(3, random_state=0), MLMLM()])
def test_models_without_a_search(model):
    """The labelled rows are given; the distance is Euclidean."""
    fitted = make_pipeline(StandardScaler(), model).fit(LABELLED, Y[:15])
    with pytest.raises(TypeError, match=r"model must be a method by nearest neighbours.*Hint: X_labelled"):
        suggest(fitted, POOL, 2)
    scaled = [fitted[0].transform(rows) for rows in (LABELLED, POOL)]
    expected = [one.row for one in suggest(BRkNN(1).fit(scaled[0], Y[:15]), scaled[1], 5)]
    assert [one.row for one in suggest(fitted, POOL, 5, X_labelled=LABELLED)] == expected


def test_labelled_rows_take_the_place_of_the_models():
    """As if the model had been fitted to them."""
    model, other = BRkNN(3).fit(LABELLED, Y[:15]), BRkNN(3).fit(X[5:20], Y[5:20])
    expected = [(one.row, one.score) for one in suggest(other, POOL, 5)]
    assert [(one.row, one.score) for one in suggest(model, POOL, 5, X_labelled=X[5:20])] == expected


def test_random():
    """Distinct rows, drawn by the seed, without a score."""
    model = BRkNN(3).fit(LABELLED, Y[:15])
    drawn = [[one.row for one in suggest(model, POOL, 45, strategy="random", random_state=seed)] for seed in (1, 1, 2)]
    assert drawn[0] == drawn[1] != drawn[2]
    assert sorted(drawn[0]) == list(range(45))
    assert suggest(model, POOL, 1, strategy="random")[0].reason.startswith("drawn at random")


def test_large_pools_are_sampled(monkeypatch):
    """Of more rows than are compared, some are looked at; scores are those of the whole pool, and the seed decides."""
    monkeypatch.setattr(_suggest, "MOST_ROWS", 10)
    model = BRkNN(3).fit(LABELLED, Y[:15])
    found = suggest(model, POOL, 4, random_state=3)
    assert found == suggest(model, POOL, 4, random_state=3)
    looked_at = np.sort(np.random.RandomState(3).choice(45, 10, replace=False))
    rows, scores = slow(LABELLED, POOL[looked_at], 4)
    assert [one.row for one in found] == looked_at[rows].tolist()
    assert [one.score for one in found] == pytest.approx([4.5 * score for score in scores])
    assert len(suggest(model, POOL, 12)) == 12  # as many as are wanted


def test_reasons():
    """Labels that one vote turns, nearest to the threshold first, with the neighbours on both sides."""
    model = BRkNN(3).fit([[0.0], [1.0], [2.0], [9.0]], [["sea"], ["sea", "hill"], [], []])
    (one,) = suggest(model, [[0.8]], 1)
    assert [(close.label, close.carried_by, close.lacked_by) for close in one.close_labels] == [
        ("hill", [1], [0, 2]),
        ("sea", [1, 0], [2]),
    ]
    assert one.reason.endswith(
        "one vote decides hill, which 1 of 3 neighbours carry; one vote decides sea, which 2 of 3 neighbours carry"
    )
    assert one.to_dict()["close_labels"][0] == {
        "label": "hill", "score": 1 / 3, "threshold": 0.5, "carried_by": [1], "lacked_by": [0, 2],
    }  # fmt: skip
    named = suggest(model, [[0.8]], 1, label_names=["h", "s"])[0]
    assert [close.label for close in named.close_labels] == ["h", "s"]
    assert suggest(LPkNN(3).fit(LABELLED, Y[:15]), POOL, 1)[0].score > 0  # whose flips are of whole label sets


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n": 46}, r"n must be at most the 45 rows of X_pool, got 46"),
        ({"n": 0}, r"n must be .*, got 0"),
        ({"n": 2, "strategy": "k-center"}, r"strategy must be .*got 'k-center'"),
    ],
)
def test_bad_input(options, message):
    """What is out of range is named."""
    with pytest.raises(ValueError, match=message):
        suggest(BRkNN(3).fit(LABELLED, Y[:15]), POOL, **options)


CLASSIFIERS = {name: SMALL.get(name, one) for name, one in default_classifiers().items()}


@pytest.mark.long
@pytest.mark.parametrize("name", CLASSIFIERS)
def test_every_classifier(name):
    """Suggestions and reviews: distinct rows of the pool, the same each time; the model does not change."""
    model = clone(CLASSIFIERS[name]).fit(LABELLED, Y[:15])
    before = pickle.dumps(model)
    ranks = [partial(suggest, X_labelled=LABELLED), *([review] if hasattr(model, "predict_proba") else [])]
    for rank in ranks:
        found = rank(model, POOL, 5)
        assert found == rank(model, POOL, 5)
        assert len({one.row for one in found} & set(range(45))) == 5
        assert all(isinstance(one.to_dict()["reason"], str) for one in found)
    assert pickle.dumps(model) == before
