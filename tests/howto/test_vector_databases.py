import pytest

from _pages import follow


@pytest.mark.long
def test_the_page_runs_as_it_says(tmp_path, capsys):
    """From a table to tagged rows, with all that is printed; the data base is the real one."""
    pytest.importorskip("lancedb")
    pytest.importorskip("qdrant_client")
    names = follow("howto/vector_databases", tmp_path, capsys)
    assert names["model"].ids_.tolist() == ["s1", "s2", "s3", "s5", "s6", "s7", "n1", "s8"]
