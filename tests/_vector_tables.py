"""Tables of the real engines. PostgreSQL is asked where NEARLABEL_POSTGRES is a connection string."""

import os

import numpy as np
import pytest

from nearlabel.neighbors import LanceTable, PgVectorTable, QdrantTable

N_FEATURES = 4


def make_lance(folder, n_features=N_FEATURES):
    """Return an empty table of LanceDB, with a column that is not ours."""
    lancedb = pytest.importorskip("lancedb")
    pyarrow = pytest.importorskip("pyarrow")
    names = ("id", "vector", "tags", "title")
    kinds = pyarrow.int64(), pyarrow.list_(pyarrow.float32(), n_features), pyarrow.list_(pyarrow.string())
    schema = pyarrow.schema(list(zip(names, (*kinds, pyarrow.string()), strict=True)))
    lancedb.connect(str(folder)).create_table("songs", schema=schema)
    return LanceTable(folder, "songs")


def make_qdrant(_folder, n_features=N_FEATURES):
    """Return an empty collection of Qdrant, in memory."""
    qdrant = pytest.importorskip("qdrant_client")
    client = qdrant.QdrantClient(":memory:")
    vectors = qdrant.models.VectorParams(size=n_features, distance=qdrant.models.Distance.EUCLID)
    client.create_collection("songs", vectors_config=vectors)
    return QdrantTable(client, "songs")


def make_pgvector(_folder, n_features=N_FEATURES):
    """Return an empty table of PostgreSQL, if there is a server, in a schema that other processes do not use."""
    where = os.environ.get("NEARLABEL_POSTGRES")
    if not where:
        pytest.skip("NEARLABEL_POSTGRES is not set: no server with pgvector")
    psycopg = pytest.importorskip("psycopg")
    schema = f"nearlabel_test_{os.getpid()}"
    with psycopg.connect(where) as connection:
        connection.execute("CREATE EXTENSION IF NOT EXISTS vector")
        connection.execute(f"DROP SCHEMA IF EXISTS {schema} CASCADE")
        connection.execute(f"CREATE SCHEMA {schema}")
        columns = f"id bigint PRIMARY KEY, vector vector({n_features}), tags text[], title text"
        connection.execute(f"CREATE TABLE {schema}.songs ({columns})")
    return PgVectorTable(psycopg.conninfo.make_conninfo(where, options=f"-csearch_path={schema},public"), "songs")


MAKERS = {"lance": make_lance, "qdrant": make_qdrant, "pgvector": make_pgvector}


class Songs:
    """Rows with ties and duplicates, and their tags; as float32, as engines keep them."""

    def __init__(self, n_rows=40):
        rng = np.random.default_rng(0)
        self.ids = list(range(10, 10 + n_rows))
        self.X = rng.integers(0, 3, (n_rows, N_FEATURES)).astype(np.float32)
        self.X[7] = self.X[3]
        self.tags = [[tag for tag in ("calm", "loud", "sad") if rng.random() < 0.4] for _ in self.ids]
        self.queries = rng.normal(1, 1, (9, N_FEATURES))
