"""A classifier that is, at every moment, a fit to the rows that its table holds."""

import os
import signal
import subprocess
import sys
import textwrap

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.naive_bayes import GaussianNB

from _vector_tables import MAKERS
from nearlabel.lazy import BRkNN, MLkNN
from nearlabel.models import predict_labels
from nearlabel.neighbors import ExactNeighbors, QdrantTable, TableChangedError, TableClassifier, TableNeighbors
from nearlabel.rivals import BinaryRelevance
from nearlabel.thresholds import MicroFOptimum, TunedThresholdsClassifierCV


def assert_is_a_fit_to(model, reference, rows, queries):
    """All answers are those of a fit to the rows, to the bit."""
    reference = clone(reference).fit(rows.X, rows.tags)
    assert np.array_equal(model.predict_proba(queries), reference.predict_proba(queries))
    assert np.array_equal(model.predict(queries), reference.predict(queries))
    assert model.predict_labels(queries) == reference.predict_labels(queries)
    assert model.label_names_.tolist() == reference.label_names_.tolist()
    assert model.ids_.tolist() == rows.ids.tolist()


def searching(table, **parameters):
    """Return ML-kNN that searches in the table, with all of it nominated."""
    return MLkNN(3, search=TableNeighbors(table, n_candidates=99, **parameters))


@pytest.mark.long
def test_it_is_a_fit_to_the_rows(table, songs):
    """With the search in the table, or in memory."""
    for estimator in (searching(table), MLkNN(3)):
        model = TableClassifier(estimator, table).fit()
        assert_is_a_fit_to(model, MLkNN(3), table.read(), songs.queries)
        assert model.n_features_in_ == 4
        assert len(model.classes_) == 3
        assert model.score(songs.X, songs.tags) == MLkNN(3).fit(songs.X, songs.tags).score(songs.X, songs.tags)


@pytest.mark.long
def test_what_comes_and_goes_is_seen(table, songs):
    """New rows, new labels, labels that are gone with their last row; nothing to do for rows without tags."""
    model = TableClassifier(searching(table), table).fit()
    table.add([100, 101], songs.queries[:2], [["new"], None])
    assert_is_a_fit_to(model, MLkNN(3), table.read(), songs.queries)
    assert "new" in model.label_names_
    fitted = model.estimator_
    table.add([102], songs.queries[2:3], [None])
    model.predict(songs.queries)
    assert model.estimator_ is fitted
    table.delete([100, songs.ids[0]])
    assert_is_a_fit_to(model, MLkNN(3), table.read(), songs.queries)
    assert "new" not in model.label_names_
    table.delete(songs.ids[-1:])
    table.add(songs.ids[-1:], songs.X[-1:], [["other", "tags"]])  # the same row in the same place
    assert_is_a_fit_to(model, MLkNN(3), table.read(), songs.queries)


def test_refresh_says_what_changed(table, songs):
    """Ids added, removed and changed: a changed row is deleted and added here."""
    model = TableClassifier(BRkNN(3), table, follow=False).fit()
    assert not model.refresh()
    before = model.predict_proba(songs.queries)
    table.delete(songs.ids[:2])
    table.add([500], [[9.0] * 4], [["new"]])
    table.add(songs.ids[1:2], songs.X[1:2] + 1, [songs.tags[1]])
    assert np.array_equal(model.predict_proba(songs.queries), before)  # follow=False
    assert tuple(model.refresh()) == ([500], [songs.ids[0]], [songs.ids[1]])
    assert not model.refresh()
    assert_is_a_fit_to(model, BRkNN(3), table.read(), songs.queries)


@pytest.mark.long
@pytest.mark.parametrize("where", ["in the table", "in memory"])
def test_a_random_day(empty, songs, where):
    """Twenty additions and removals: after each, a fit to the rows present."""
    rng, new = np.random.default_rng(1), iter(range(1000, 2000))
    empty.add(songs.ids[:12], songs.X[:12], songs.tags[:12])
    model = TableClassifier(searching(empty) if where == "in the table" else MLkNN(3), empty).fit()
    for _ in range(20):
        if rng.random() < 0.5:
            n = int(rng.integers(1, 4))
            some = rng.integers(0, 40, n)
            empty.add([next(new) for _ in some], songs.X[some], [songs.tags[i] for i in some])
        elif len(model.ids_) > 8:
            empty.delete(rng.choice(model.ids_, 2, replace=False))
        assert_is_a_fit_to(model, MLkNN(3), empty.read(), songs.queries[:3])


def test_small_changes_take_no_fit(table, songs):
    """Rows in memory are updated, unless a label comes or goes, or a row stands between the others."""
    model = TableClassifier(MLkNN(3), table).fit()
    table.add([100], songs.queries[:1], [["calm"]])
    table.delete([12])
    assert_is_a_fit_to(model, MLkNN(3), table.read(), songs.queries)
    changes = model.estimator_.changes_
    assert (changes["added"], changes["forgotten"]) == (1, 1)
    table.add([101], songs.queries[1:2], [["new"]])
    assert_is_a_fit_to(model, MLkNN(3), table.read(), songs.queries)
    assert model.estimator_.changes_["added"] == 0


def test_answers_carry_ids(table, songs):
    """Explanations name neighbours by their ids, and rows without tags are answered by theirs."""
    table.add([100, 101], songs.queries[:2], [None, None])
    model = TableClassifier(searching(table), table).fit()
    for explanation, query in zip(model.explain(songs.queries), songs.queries, strict=True):
        nearest = ExactNeighbors().fit(songs.X).kneighbors([query], 3)[1][0]
        assert explanation.neighbors["id"].tolist() == [songs.ids[i] for i in nearest]
        assert explanation.shown is not None
    tagged = model.predict_unlabelled()
    assert tagged.ids.tolist() == [100, 101]
    kept = table.read_unlabelled().X
    assert tagged.tags == MLkNN(3).fit(songs.X, songs.tags).predict_labels(kept)
    table.delete([100, 101])
    assert model.predict_unlabelled().tags == []


def test_other_classifiers_and_their_methods(table, songs):
    """Any classifier that takes tags; a method is there if the classifier has it."""
    tuned = TableClassifier(TunedThresholdsClassifierCV(BRkNN(3), MicroFOptimum()), table).fit()
    direct = clone(tuned.estimator).fit(songs.X, songs.tags)
    assert np.array_equal(tuned.predict(songs.queries), direct.predict(songs.queries))
    regressions = TableClassifier(BinaryRelevance(GaussianNB()), table)
    assert hasattr(regressions, "predict_proba")
    assert not hasattr(regressions, "decision_function")
    assert not hasattr(regressions.fit(), "predict_topk")
    scores, labels = TableClassifier(BRkNN(3), table).fit().predict_topk(songs.queries, 2)
    expected = BRkNN(3).fit(songs.X, songs.tags).predict_topk(songs.queries, 2)
    assert np.array_equal(scores, expected[0])
    assert np.array_equal(labels, expected[1])
    assert predict_labels(tuned, songs.queries) == direct.predict_labels(songs.queries)


@pytest.mark.parametrize("moment", ["before", "after"])
def test_rows_deleted_in_the_middle_of_an_answer(table, songs, monkeypatch, moment):
    """Whether the engine has named them or not, the answer is that of a moment, and no label is another row's."""
    model = TableClassifier(searching(table), table).fit()
    nominate, left = type(table).nominate, [slice(0, 10), slice(10, 15)]

    def meddled(self, *args):
        if moment == "before" and left:
            self.delete(songs.ids[left.pop()])
        found = nominate(self, *args)
        if moment == "after" and left:
            self.delete(songs.ids[left.pop()])
        return found

    monkeypatch.setattr(type(table), "nominate", meddled)
    for _ in range(3):
        explanation = model.explain(songs.queries[:1])[0]
        for one, its in zip(explanation.neighbors["id"], explanation.neighbors["names"], strict=True):
            assert sorted(its) == sorted(songs.tags[songs.ids.index(one)])
    assert not left
    assert_is_a_fit_to(model, MLkNN(3), table.read(), songs.queries)


def test_too_few_rows_left_in_the_middle_of_an_answer(table, songs, monkeypatch):
    """If there are too few to answer from, the classifier looks again at what there is."""
    model = TableClassifier(BRkNN(3, search=TableNeighbors(table)), table).fit()
    nominate, todo = type(table).nominate, [True]

    def meddled(self, *args):
        if todo and todo.pop():
            self.delete(songs.ids[2:])
            self.add([1000, 1001], [[1.0] * 4] * 2, [["calm"], ["new"]])
        return nominate(self, *args)

    monkeypatch.setattr(type(table), "nominate", meddled)
    model.predict(songs.queries)
    assert model.ids_.tolist() == [*songs.ids[:2], 1000, 1001]
    table.delete(songs.ids[:2])
    for _ in range(2):
        with pytest.raises(ValueError, match="n_neighbors must be at most n_samples=2, got 3"):
            model.predict(songs.queries)
    table.add([7], [[1.0] * 4], [["calm"]])
    assert model.predict(songs.queries).shape == (9, 2)


def test_a_table_that_never_rests(table, songs, monkeypatch):
    """After some attempts the error says that it changes."""
    read, numbers = type(table).read, iter(range(1000, 2000))

    def meddled(self):
        self.add([next(numbers)], [[0.0] * 4], [["x"]])
        return read(self)

    monkeypatch.setattr(type(table), "read", meddled)
    with pytest.raises(TableChangedError, match="X must be the rows of the table"):
        TableClassifier(searching(table), table).fit()


def test_bad_input(table, songs):
    """What is given where it comes from the table, no table, no tag, before fit."""
    model = TableClassifier(BRkNN(3), table)
    with pytest.raises(TypeError, match="X and y must be None, as rows and tags come from the table"):
        model.fit(songs.X, songs.tags)
    with pytest.raises(TypeError, match="table must be a LanceTable, QdrantTable or PgVectorTable, got None"):
        TableClassifier(BRkNN(3), None).fit()
    with pytest.raises(TypeError, match="follow must be True or False, got 'yes'"):
        TableClassifier(BRkNN(3), table, follow="yes").fit()
    with pytest.raises(NotFittedError):
        model.predict(songs.queries)
    assert not hasattr(model, "ids_")
    with pytest.raises(ValueError, match=r"X has 3 features, but .* is expecting 4"):
        model.fit().predict(np.ones((1, 3)))
    with pytest.raises(ValueError, match="n_neighbors must be at most n_samples=40, got 50"):
        TableClassifier(BRkNN(50), table).fit()
    table.delete(songs.ids)
    table.add([1, 2], np.ones((2, 4)), [[], []])
    with pytest.raises(ValueError, match="table must have at least one tag, got none"):
        model.predict(songs.queries)


def test_clones(table):
    """A clone has the same table and is not fitted."""
    model = TableClassifier(searching(table), table).fit()
    other = clone(model)
    assert other.table is model.table is other.estimator.search.table
    with pytest.raises(NotFittedError):
        other.refresh()


# A process that is killed in the middle of an insertion: it says that it is there, and waits to be killed.
KILLED = {
    "lance": """
        import lancedb, pyarrow
        table = lancedb.connect(sys.argv[1]).open_table("songs")
        def batches():
            for first in (1000, 2000):
                ids = pyarrow.array(range(first, first + 50), pyarrow.int64())
                vectors = pyarrow.array([[1.0] * 4] * 50, table.schema.field("vector").type)
                tags = pyarrow.array([["half"]] * 50, pyarrow.list_(pyarrow.string()))
                yield pyarrow.record_batch([ids, vectors, tags], names=["id", "vector", "tags"])
            wait()
        schema = pyarrow.schema([table.schema.field(name) for name in ("id", "vector", "tags")])
        table.add(pyarrow.RecordBatchReader.from_batches(schema, batches()))
    """,
    "qdrant": """
        from qdrant_client.local.persistence import CollectionPersistence
        from nearlabel.neighbors import QdrantTable
        persist, n_points = CollectionPersistence.persist, iter(range(1000))
        def counted(self, point):
            if next(n_points) == 5:
                wait()
            persist(self, point)
        CollectionPersistence.persist = counted
        QdrantTable(sys.argv[1], "songs").add(range(1000, 1050), [[1.0] * 4] * 50, [["half"]] * 50)
    """,
    "pgvector": """
        import psycopg
        connection = psycopg.connect(sys.argv[1])
        for one in range(1000, 1050):
            connection.execute("INSERT INTO songs VALUES (%s, '[1,1,1,1]', '{half}')", [one])
        wait()
    """,
}


def kill_in_the_middle(program, where):
    """Run a program until it waits, and kill it."""
    head = "import sys, time\ndef wait():\n    print('here', flush=True)\n    time.sleep(60)\n"
    command = [sys.executable, "-c", head + textwrap.dedent(program), where]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout.readline() == "here\n"
        os.kill(process.pid, signal.SIGKILL)
        assert process.wait() == -signal.SIGKILL


@pytest.mark.long
def test_killed_in_the_middle_of_an_insertion(engine, tmp_path, songs):
    """The table has the rows of before (Qdrant: and the first new ones), each with its tags; so has the model."""
    table = in_a_folder(tmp_path) if engine == "qdrant" else MAKERS[engine](tmp_path)
    table.add(songs.ids, songs.X, songs.tags)
    model = TableClassifier(searching(table), table).fit()
    table.close()
    kill_in_the_middle(KILLED[engine], str(table.where))
    rows = table.read()
    assert_is_a_fit_to(model, MLkNN(3), rows, songs.queries)
    added = rows.ids.tolist()[40:]
    assert rows.ids.tolist()[:40] == songs.ids
    assert added == (list(range(1000, 1005)) if engine == "qdrant" else [])
    assert rows.tags == songs.tags + [["half"]] * len(added)
    table.add([1040], [[1.0] * 4], [["after"]])
    assert_is_a_fit_to(model, MLkNN(3), table.read(), songs.queries)
    table.close()


def in_a_folder(folder):
    """Return a collection of Qdrant on disk."""
    qdrant = pytest.importorskip("qdrant_client")
    client = qdrant.QdrantClient(path=str(folder))
    of = qdrant.models.VectorParams(size=4, distance=qdrant.models.Distance.EUCLID)
    client.create_collection("songs", vectors_config=of)
    client.close()
    return QdrantTable(folder, "songs")
