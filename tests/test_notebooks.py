"""The notebooks of the site run, and show what is stored in them."""

import pytest

nbformat = pytest.importorskip("nbformat")
pytest.importorskip("nbclient")
pytest.importorskip("ipykernel")
pytest.importorskip("pandas")

from notebooks import NOTEBOOKS, executed, shown_by  # noqa: E402  # needs these libraries


@pytest.mark.long
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebooks_show_what_is_stored(path, tmp_path):
    """Each cell runs without an error, in a folder of its own; `make notebooks` stores what cells show now."""
    stored = shown_by(nbformat.read(path, as_version=4))
    assert len(stored) > 5
    assert shown_by(executed(path, tmp_path)) == stored


def test_the_stored_notebook_is_small_and_clean():
    """No error and no output of a warning is stored, and nothing that changes with each run."""
    for path in NOTEBOOKS:
        notebook = nbformat.read(path, as_version=4)
        assert path.stat().st_size < 200_000
        assert {output.output_type for cell in notebook.cells for output in cell.get("outputs", [])} == {
            "execute_result"
        }
        assert not any("execution" in cell.metadata for cell in notebook.cells)
