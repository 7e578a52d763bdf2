"""What an engine promises: rows as they were put in, changes that are seen, and words for what it cannot read."""

import copy
import os
import pickle
import sys

import numpy as np
import pytest

from _vector_tables import MAKERS
from nearlabel.neighbors import LanceTable, PgVectorTable, QdrantTable


@pytest.fixture(params=MAKERS)
def engine(request):
    """Each engine by name."""
    return request.param


@pytest.mark.long
def test_rows_come_back_in_their_order(table, songs):
    """Ids, vectors and tags, as added; the version stays as long as nothing changes."""
    rows = table.read()
    assert rows.ids.tolist() == songs.ids
    assert (rows.X == songs.X).all()
    assert rows.tags == songs.tags
    assert rows.X.dtype == np.float32
    assert table.version() == rows.version == table.read().version


@pytest.mark.long
def test_every_change_is_another_version(table, songs):
    """Adding, deleting and adding again what was deleted; deleting what is not there is no error."""
    versions = [table.version()]
    table.add([1], [[0.0] * 4], [["new"]])
    versions.append(table.version())
    table.delete([1, 12, 999])
    versions.append(table.version())
    table.add([12], songs.X[2:3], [["other"]])
    versions.append(table.version())
    assert len(set(versions)) == 4
    table.delete([])
    assert table.version() == versions[-1]
    assert len(table.read().ids) == 40
    assert dict(zip(table.read().ids.tolist(), table.read().tags, strict=True))[12] == ["other"]


def test_added_rows_stand_last(table):
    """What is added stands behind what was there, and a row deleted leaves the others in their order."""
    before = table.read().ids.tolist()
    table.add([90, 91], np.ones((2, 4)), [[], ["x"]])
    table.delete([before[5]])
    assert table.read().ids.tolist() == [*before[:5], *before[6:], 90, 91]


def test_rows_without_tags_are_set_apart(table):
    """NULL is not known, an empty list is."""
    table.add([1, 2], [[0.0] * 4, [1.0] * 4], [None, []])
    rows = table.read()
    assert 1 not in rows.ids
    assert rows.tags[rows.ids.tolist().index(2)] == []
    unlabelled = table.read_unlabelled()
    assert unlabelled.ids.tolist() == [1]
    assert unlabelled.X.tolist() == [[0.0] * 4]
    assert unlabelled.tags is None


def test_no_row_without_tags(table):
    """Nothing to suggest tags for is no error."""
    rows = table.read_unlabelled()
    assert len(rows.ids) == len(rows.X) == 0


def test_an_empty_table_is_refused(empty):
    """There is nothing to learn from."""
    with pytest.raises(ValueError, match="table must have at least one row with a vector and tags, got none in"):
        empty.read()


@pytest.mark.parametrize(
    ("ids", "X", "tags", "message"),
    [
        ([1], [[1.0] * 4] * 2, [["a"]], "ids, X and tags must be of one length, got 1, 2 and 1"),
        ([1, 1], [[1.0] * 4] * 2, [["a"], []], "ids must be distinct, got 1 2 times"),
        ([10], [[1.0] * 4], [["a"]], "ids must be new, got 1 of 1 that .* has: 10. Hint: delete these rows first"),
        ([1], [[1.0, np.nan, 0, 0]], [["a"]], "vectors must be finite, got NaN or infinity for id 1"),
        ([1], [[1.0, 1e300, 0, 0]], [["a"]], "vectors must be numbers that float32 has, got larger ones for id 1"),
        ([1], [[1.0] * 4], ["a"], "tags must be lists of texts, got 'a' for id 1"),
        ([1], [[1.0] * 4], [["a", None]], r"tags must be lists of texts, got \['a', None\] for id 1"),
        ([None], [[1.0] * 4], [["a"]], "ids must not be NULL"),
    ],
)
def test_bad_rows_are_not_added(table, ids, X, tags, message):
    """The message says what is wrong with which row, and the table stays as it is."""
    version = table.version()
    with pytest.raises(ValueError, match=message):
        table.add(ids, X, tags)
    assert table.version() == version


def test_ids_of_numpy_and_no_rows(table):
    """Numbers of numpy are ids too; adding nothing adds nothing."""
    table.add(np.array([1, 2]), np.ones((2, 4)), [{"x"}, ("y",)])
    table.add([], np.empty((0, 4)), [])
    assert table.read().ids.tolist().count(1) == 1


def test_copies_share_the_connection(table):
    """A table is a handle."""
    assert copy.deepcopy(table) is table


def test_a_closed_table_connects_again(table, engine):
    """Closing is no end; a client of the user's own stays open."""
    version = table.version()
    table.close()
    table.close()
    assert table.version() == version


@pytest.mark.parametrize("of", ["lance", "pgvector"])
def test_pickles_hold_no_connection(of, tmp_path, songs):
    """A copy in another process connects by itself."""
    table = MAKERS[of](tmp_path)
    table.add(songs.ids, songs.X, songs.tags)
    other = pickle.loads(pickle.dumps(table))
    assert (other.read().X == songs.X).all()
    other.close()
    table.close()


def test_missing_tables_and_columns(table, engine):
    """The message lists what there is."""
    make = type(table)
    with pytest.raises(ValueError, match=r"name must be a (table|collection) .*got 'nope'"):
        make(table.where, "nope").read()
    if engine == "qdrant":  # points have no columns, but vectors have names
        with pytest.raises(ValueError, match="vector must be a column of table 'songs', got 'text': it has ''"):
            QdrantTable(table.where, "songs", vector="text").read()
        return
    for parameter in ("id", "vector", "tags"):
        with pytest.raises(ValueError, match=f"{parameter} must be a column of table 'songs', got 'nope': it has 'id'"):
            make(table.where, "songs", **{parameter: "nope"}).read()


def test_a_table_without_tags(table, songs):
    """All rows with a vector serve; who needs tags says so."""
    table.add([1], [[0.0] * 4], [None])
    bare = type(table)(table.where, "songs", tags=None)
    rows = bare.read()
    assert len(rows.ids) == 41
    assert rows.tags is None
    assert set(bare.nominate(songs.queries, 41).ids) == set(rows.ids.tolist())
    with pytest.raises(ValueError, match="table must have a column of tags"):
        bare.read_unlabelled()
    with pytest.raises(ValueError, match="table must have a column of tags"):
        bare.add([2], [[0.0] * 4], [["a"]])
    bare.add([2], [[0.0] * 4])
    assert len(bare.read().ids) == 42
    bare.close()


def test_texts_as_ids_are_never_commands(tmp_path):
    """A quote in an id is a quote."""
    lancedb = pytest.importorskip("lancedb")
    rows = [{"Key": f"it's {i}", "Vec tor": [float(i), 1.0], "the `tags": ["a"]} for i in range(3)]
    lancedb.connect(str(tmp_path)).create_table("songs", rows)
    with pytest.raises(ValueError, match="tags must be a column"):
        LanceTable(tmp_path, "songs", id="Key", vector="Vec tor").read()
    table = LanceTable(tmp_path, "songs", id="Key", vector="Vec tor", tags=None)
    table.delete(["it's 1", "' OR 1=1 --"])
    assert table.read().ids.tolist() == ["it's 0", "it's 2"]
    assert table.read().X.tolist() == [[0.0, 1.0], [2.0, 1.0]]
    with pytest.raises(TypeError, match=r"ids must be integers or texts, got 1\.5 of type float"):
        table.delete([1.5])


def test_what_lance_allows_and_we_do_not(tmp_path):
    """No column is unique there; rows without a vector serve nobody."""
    lancedb = pytest.importorskip("lancedb")
    pyarrow = pytest.importorskip("pyarrow")
    database = lancedb.connect(str(tmp_path))

    def table_of(name, ids, vectors, tags):
        kinds = (pyarrow.string(), pyarrow.list_(pyarrow.float64(), 1), pyarrow.list_(pyarrow.string()))
        schema = pyarrow.schema(list(zip(("id", "vector", "tags"), kinds, strict=True)))
        rows = [{"id": i, "vector": v, "tags": t} for i, v, t in zip(ids, vectors, tags, strict=True)]
        database.create_table(name, schema=schema).add(rows)
        return LanceTable(tmp_path, name)

    with pytest.raises(ValueError, match="ids must be distinct, got 'a' 2 times"):
        table_of("twice", ["a", "b", "a"], [[1.0]] * 3, [["x"]] * 3).read()
    with pytest.raises(ValueError, match="ids must not be NULL"):
        table_of("nameless", ["a", None], [[1.0]] * 2, [["x"]] * 2).read()
    table = table_of("good", ["a", "b", "c"], [[1.0], None, [1e300]], [["x"], ["x"], []])
    assert table.read().ids.tolist() == ["a", "c"]
    assert table.read().X.dtype == np.float64  # as the column is
    assert "b" not in table.nominate(np.ones((2, 1)), 3).ids
    database.create_table("texts", [{"id": 1, "vector": [1.0], "tags": "a;b"}])
    with pytest.raises(ValueError, match="tags must be lists of texts, got 'a;b' for id 1"):
        LanceTable(tmp_path, "texts").read()


def test_vectors_of_several_lengths(empty, monkeypatch):
    """Some columns of some engines allow it; the message names the row."""
    found = 1, ["a", "b"], [np.ones(2), np.ones(1)], [["x"], ["y"]]
    monkeypatch.setattr(empty, "_scan", lambda serving: found)
    with pytest.raises(ValueError, match="vectors must be of one length, 2 as that of 'a', got 1 numbers for id 'b'"):
        empty.read()


@pytest.mark.long
def test_order_survives_housekeeping(tmp_path, songs):
    """LanceDB's compaction of many small additions keeps the order; a changed row moves to the end."""
    lancedb = pytest.importorskip("lancedb")
    table = MAKERS["lance"](tmp_path)
    for row, one in enumerate(songs.ids):
        table.add([one], songs.X[row : row + 1], [songs.tags[row]])
    table.delete(songs.ids[3:5])
    theirs = lancedb.connect(str(tmp_path)).open_table("songs")
    theirs.optimize()
    ids = songs.ids[:3] + songs.ids[5:]
    assert table.read().ids.tolist() == ids
    theirs.update(where=f"id = {ids[0]}", values={"tags": ["changed"]})
    assert table.read().ids.tolist() == [*ids[1:], ids[0]]


def test_a_table_that_is_made_anew(tmp_path, songs):
    """LanceDB's files are others then; the handle finds them."""
    lancedb = pytest.importorskip("lancedb")
    table = MAKERS["lance"](tmp_path)
    table.add(songs.ids, songs.X, songs.tags)
    version = table.version()
    lancedb.connect(str(tmp_path)).drop_table("songs")
    with pytest.raises(ValueError, match=r"name must be a table in .*, got 'songs': there are none"):
        table.version()
    MAKERS["lance"](tmp_path)
    assert table.version() != version
    table.add([1], songs.X[:1], [["a"]])
    assert table.read().ids.tolist() == [1]


def test_qdrant_in_a_folder(tmp_path, songs):
    """Rows are there again after closing; points may lack tags or have several vectors."""
    qdrant = pytest.importorskip("qdrant_client")
    of = qdrant.models.VectorParams(size=4, distance=qdrant.models.Distance.COSINE)
    near = qdrant.models.VectorParams(size=4, distance=qdrant.models.Distance.EUCLID)
    with_client = qdrant.QdrantClient(path=tmp_path)
    with_client.create_collection("songs", vectors_config={"sound": of, "words": near})
    with_client.close()
    table = QdrantTable(tmp_path, "songs", vector="sound")
    table.add([1, 2, 3], np.eye(3, 4), [["a"], None, []])
    table._client().upsert("songs", [qdrant.models.PointStruct(id=4, vector={"words": [1.0] * 4}, payload={})])
    table.close()
    rows = QdrantTable(tmp_path, "songs", vector="sound")
    assert rows.read().ids.tolist() == [1, 3]
    assert rows.read_unlabelled().ids.tolist() == [2]
    with pytest.raises(ValueError, match=r"metric must be 'euclidean' in Qdrant's local mode, got 'cosine'.*Hint"):
        rows.nominate(np.ones((1, 4)), 9, "cosine")
    with pytest.raises(ValueError, match="metric must be that of the collection 'songs', 'Cosine', got 'euclidean'"):
        rows.nominate(np.ones((1, 4)), 9)
    words = QdrantTable(rows._client(), "songs", vector="words", tags=None)
    assert words.nominate(np.ones((1, 4)), 9).ids == [4]
    rows.close()


def test_names_do_not_show_passwords():
    """A connection string stays out of messages."""
    assert repr(PgVectorTable("postgresql://me:secret@host/db", "songs")) == "PgVectorTable(..., 'songs')"


def test_a_server_without_the_extension():
    """The hint says what to do. The template database has none."""
    where = os.environ.get("NEARLABEL_POSTGRES")
    if not where:
        pytest.skip("NEARLABEL_POSTGRES is not set: no server with pgvector")
    psycopg = pytest.importorskip("psycopg")
    table = PgVectorTable(psycopg.conninfo.make_conninfo(where, dbname="template1"), "songs")
    with pytest.raises(ValueError, match="where must be a database with the extension pgvector, got 'template1'"):
        table.read()


@pytest.mark.parametrize(
    ("make", "library", "extra"),
    [
        (LanceTable, "lancedb", "lance"),
        (QdrantTable, "qdrant_client", "qdrant"),
        (PgVectorTable, "psycopg", "pgvector"),
    ],
)
def test_what_to_install(make, library, extra, monkeypatch):
    """Without the library the message names the extra; a table can be described without it."""
    monkeypatch.setitem(sys.modules, library, None)
    with pytest.raises(ImportError, match=rf"{make.__name__} needs {library}"):
        make("somewhere", "songs").read()


def test_parameters_are_checked():
    """Numbers of lists and candidates are whole and positive."""
    with pytest.raises(ValueError, match="n_probes must be at least 1, got 0"):
        LanceTable("music", "songs", n_probes=0)
    with pytest.raises(TypeError, match="ef_search must be an integer, got 'many'"):
        PgVectorTable("dbname=music", "songs", ef_search="many")
