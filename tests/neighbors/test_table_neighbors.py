"""The search in a table: what the database nominates, in our order and with our distances."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from _vector_tables import MAKERS
from nearlabel.lazy import BRkNN
from nearlabel.neighbors import Candidates, ExactNeighbors, TableChangedError, TableNeighbors, recall


def assert_same(found, expected):
    """Distances and indices agree bit for bit."""
    for ours, theirs in zip(found, expected, strict=True):
        assert ours.dtype == theirs.dtype
        assert np.array_equal(ours, theirs)


@pytest.mark.long
@pytest.mark.parametrize("queries", ["training", "queries", "one"])
@pytest.mark.parametrize("k", [1, 5, 39])
def test_the_exact_answer_where_all_are_nominated(table, songs, queries, k):
    """Ties, duplicates and rows that are left out, as `ExactNeighbors`: all bits."""
    asked = {"training": None, "queries": songs.queries, "one": songs.queries[:1]}[queries]
    search = TableNeighbors(table, n_candidates=40).fit(songs.X)
    assert_same(search.kneighbors(asked, k), ExactNeighbors().fit(songs.X).kneighbors(asked, k))
    assert search.ids_.tolist() == songs.ids
    assert search.n_features_in_ == 4


@pytest.mark.parametrize("of", ["lance", "pgvector"])
def test_cosine_and_rows_of_zeros(of, tmp_path, songs):
    """A row without a direction is far from all but its like, also where the engine finds nothing."""
    table = MAKERS[of](tmp_path)
    songs.X[[5, 9]] = 0
    table.add(songs.ids, songs.X, songs.tags)
    search, exact = TableNeighbors(table, "cosine", n_candidates=40).fit(), ExactNeighbors("cosine").fit(songs.X)
    for asked in (None, np.vstack([songs.queries, np.zeros((1, 4))])):
        assert_same(search.kneighbors(asked, 39), exact.kneighbors(asked, 39))
    table.close()


def test_half_of_the_rows_nominated(table, songs):
    """By default 2 k + 1 are: distances and order are exact all the same, and no row is its own neighbour."""
    search = TableNeighbors(table).fit()
    distances, indices = search.kneighbors(None, 5)
    differences = songs.X[:, np.newaxis] - songs.X[indices].astype(np.float64)
    assert np.array_equal(distances, np.sqrt((differences**2).sum(axis=2)))
    assert (np.lexsort((indices, distances))[:, :5] == np.arange(5)).all()
    assert (indices != np.arange(40)[:, np.newaxis]).all()
    assert np.array_equal(search.kneighbors(None, 5, return_distance=False), indices)
    assert np.array_equal(distances, ExactNeighbors().fit(songs.X).kneighbors(None, 5)[0])


@pytest.mark.long
def test_small_blocks_change_nothing(table, songs, monkeypatch):
    """One query at a time or all at once."""
    search = TableNeighbors(table).fit()
    expected = search.kneighbors(None, 5)
    blocks = [slice(i, i + 1) for i in range(40)]
    monkeypatch.setattr("nearlabel.neighbors.optional._table_neighbors.row_blocks", lambda *_: blocks)
    assert_same(search.kneighbors(None, 5), expected)


def test_rows_that_do_not_serve_take_no_place(table, songs):
    """However many rows without tags are nearest, those with tags are nominated."""
    near = np.repeat(songs.queries[:1], 30, axis=0)
    table.add(range(100, 130), near, [None] * 30)
    nominated = table.nominate(songs.queries, 7)
    assert np.bincount(nominated.query).tolist() == [7] * 9
    assert set(nominated.ids) <= set(songs.ids)
    search, exact = TableNeighbors(table).fit(), ExactNeighbors().fit(songs.X)
    assert np.array_equal(search.kneighbors(songs.queries, 3)[0], exact.kneighbors(songs.queries, 3)[0])
    assert len(search.ids_) == 40


def test_rows_that_come_and_go_after_fit(table, songs):
    """New rows have no number and are passed over; of those deleted others take the place."""
    search = TableNeighbors(table).fit()
    table.add(range(100, 120), np.repeat(songs.queries[:1], 20, axis=0), [["new"]] * 20)
    table.delete(songs.ids[:10])
    distances, indices = search.kneighbors(songs.queries, 30)
    left = ExactNeighbors().fit(songs.X[10:]).kneighbors(songs.queries, 30)
    assert_same((distances, indices), (left[0], left[1] + 10))
    with pytest.raises(TableChangedError, match="table must still have 31 of the 40 training samples, got 30"):
        search.kneighbors(songs.queries, 31)
    with pytest.raises(TableChangedError, match="table must have all 40 training samples, got 30: 10 is gone"):
        search.kneighbors(None, 1)


def test_an_engine_that_finds_too_few(table, songs, monkeypatch):
    """Such queries are answered exactly: by rows of the table, each left out of its own list."""
    nominate = type(table)._nominate

    def some(self, queries, n, metric):
        found = nominate(self, queries, n, metric)
        kept = found.query % 2 == 0
        return Candidates(
            found.query[kept], [i for i, k in zip(found.ids, kept, strict=True) if k], found.vectors[kept]
        )

    monkeypatch.setattr(type(table), "_nominate", some)
    search, exact = TableNeighbors(table, n_candidates=40).fit(), ExactNeighbors().fit(songs.X)
    for asked in (None, songs.queries):
        assert_same(search.kneighbors(asked, 7), exact.kneighbors(asked, 7))


def test_an_id_that_comes_twice_later(tmp_path, songs):
    """It is one row, the nearer of the two, and no query gets it twice."""
    table = MAKERS["lance"](tmp_path)
    table.add(songs.ids, songs.X, songs.tags)
    search = TableNeighbors(table, n_candidates=41).fit()
    table._insert([songs.ids[20]], songs.queries[:1], [["again"]])
    distances, indices = search.kneighbors(songs.queries[:1], 5)
    assert indices[0, 0] == 20
    assert distances[0, 0] == pytest.approx(0, abs=1e-6)
    assert len(set(indices[0].tolist())) == 5


def test_rows_of_another_place_are_refused(table, songs):
    """A database compares rows as they are stored: scaled ones are others."""
    with pytest.raises(TableChangedError, match=r"of shape \(40, 4\), got rows with other values.*TableClassifier"):
        TableNeighbors(table).fit(2 * songs.X)
    with pytest.raises(TableChangedError, match=r"got rows of shape \(39, 4\)"):
        BRkNN(3, search=TableNeighbors(table)).fit(songs.X[1:], songs.tags[1:])


def test_recall(table, songs, monkeypatch):
    """All are found; or, where the engine names the farthest rows only, few are."""
    search = TableNeighbors(table).fit()
    assert search.recall(20, 5) == recall(search, songs.X, 20, 5) == 1.0
    ids = songs.ids[20:]
    matrix = songs.X[20:]

    def half(self, queries, n, metric):
        n_queries = len(queries)
        return Candidates(np.repeat(np.arange(n_queries), 20), ids * n_queries, np.tile(matrix, (n_queries, 1)))

    monkeypatch.setattr(type(table), "_nominate", half)
    assert 0.1 < search.recall(40, 5) < 0.9


@pytest.mark.long
def test_an_index_of_lance(tmp_path):
    """By an index some neighbours are missed, more lists miss fewer; rows added behind it are found."""
    lancedb = pytest.importorskip("lancedb")
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 8)).astype(np.float32)
    table = MAKERS["lance"](tmp_path, 8)
    table.add(range(600), X, [["a"]] * 600)
    theirs = lancedb.connect(str(tmp_path)).open_table("songs")
    theirs.create_index("vector", config=lancedb.index.IvfFlat(num_partitions=20))
    table.add([600], [[0.0] * 8], [["b"]])
    few = TableNeighbors(type(table)(tmp_path, "songs", n_probes=1)).fit()
    many = TableNeighbors(type(table)(tmp_path, "songs", n_probes=20)).fit()
    assert 0.2 < few.recall(100) < 0.95
    assert many.recall(100) == 1.0
    assert few.kneighbors(np.full((1, 8), 1e-6), 1)[1] == [[600]]


def test_clones_and_parameters(table, songs):
    """A clone has the same table, unfitted; set_params reaches it through a classifier."""
    search = TableNeighbors(table).fit()
    other = clone(search)
    assert other.table is table
    with pytest.raises(NotFittedError):
        other.kneighbors()
    model = BRkNN(3, search=TableNeighbors(table)).set_params(search__n_candidates=20).fit(songs.X, songs.tags)
    assert model.search_.n_candidates == 20
    assert "TableNeighbors(" in repr(model)


def test_bad_parameters_and_queries(table, songs):
    """Each names the parameter; a query of another dimension names both."""
    with pytest.raises(TypeError, match="table must be a LanceTable, QdrantTable or PgVectorTable, got 'songs'"):
        TableNeighbors("songs").fit()
    with pytest.raises(ValueError, match=r"metric must be one of \['cosine', 'euclidean'\], got 'manhattan'"):
        TableNeighbors(table, "manhattan").fit()
    with pytest.raises(ValueError, match="n_candidates must be at least 1, got 0"):
        TableNeighbors(table, n_candidates=0).fit()
    search = TableNeighbors(table).fit()
    with pytest.raises(ValueError, match="X has 3 features, but TableNeighbors is expecting 4"):
        search.kneighbors(np.ones((2, 3)))
    with pytest.raises(ValueError, match="n_neighbors must be at most n_samples=40, got 41"):
        search.kneighbors(songs.queries, 41)
    with pytest.raises(ValueError, match="n_neighbors must be smaller than n_samples=40, got 40"):
        search.kneighbors(None, 40)
    with pytest.raises(ValueError, match="squared norm fits float64"):
        search.kneighbors(np.full((1, 4), 1e200))
    far = search.kneighbors(np.full((1, 4), 1e100), 3)[0]
    assert np.array_equal(far, ExactNeighbors().fit(songs.X).kneighbors(np.full((1, 4), 1e100), 3)[0])


def test_labels_that_few_rows_know(table):
    """The rows of a part of the table are no table, so its own answers are walked to the last."""
    X = table.read().X
    queries = np.random.default_rng(0).normal(size=(100, X.shape[1]))
    y = np.full((len(X), 2), np.nan)
    y[:, 0], y[:2, 1] = np.arange(len(X)) % 2, (0, 1)
    expected = BRkNN(1).fit(X, y).predict_proba(queries)
    np.testing.assert_array_equal(BRkNN(1, search=TableNeighbors(table)).fit(X, y).predict_proba(queries), expected)
