"""Tables of each engine of vector databases."""

import pytest

from _vector_tables import MAKERS, Songs


@pytest.fixture(params=["lance", pytest.param("qdrant", marks=pytest.mark.long), "pgvector"])
def engine(request):
    """Each engine by name; what is above the engines need not ask each of them every time."""
    return request.param


@pytest.fixture
def empty(engine, tmp_path):
    """An empty table of each engine."""
    table = MAKERS[engine](tmp_path)
    yield table
    table.close()


@pytest.fixture
def songs():
    """Forty rows."""
    return Songs()


@pytest.fixture
def table(empty, songs):
    """A table of each engine with forty labelled rows."""
    empty.add(songs.ids, songs.X, songs.tags)
    return empty
