"""Execute the notebooks of docs/notebooks, and write them with what they show: `make notebooks`."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import Any

NOTEBOOKS = sorted((Path(__file__).parents[1] / "docs/notebooks").glob("*.ipynb"))
_SECONDS = 300  # that a cell has
_OURS = "<div><p>"  # the begin of what nearlabel adds to a diagram


def executed(path: Path, folder: Path) -> Any:
    """Return a notebook as it is after running in a folder, without times and versions; raise the error of a cell."""
    import nbformat
    from nbclient import NotebookClient

    notebook = nbformat.read(path, as_version=4)
    client = NotebookClient(
        notebook, timeout=_SECONDS, record_timing=False, resources={"metadata": {"path": str(folder)}}
    )
    client.execute(env=os.environ | {"IPYTHONDIR": str(folder / "ipython")})
    notebook.metadata.pop("language_info", None)
    return notebook


def shown_by(notebook: Any) -> list[str]:
    """Return what the cells show, as HTML or else as text.

    The diagrams are scikit-learn's, whose versions differ: only what we add below one is compared.
    """
    return [_comparable(output) for cell in notebook.cells for output in cell.get("outputs", [])]


def _comparable(output: Any) -> str:
    data = output.get("data", {})
    text = "".join(data.get("text/plain", output.get("text", "")))
    page = "".join(data.get("text/html", text))
    if "sk-container-id" in page:
        _, ours, added = page.rpartition(_OURS)
        return text + ours + added * bool(ours)
    return page


def main() -> None:
    """Execute each notebook in a folder of its own, and write it."""
    import nbformat

    for path in NOTEBOOKS:
        with tempfile.TemporaryDirectory() as folder:
            nbformat.write(executed(path, Path(folder)), path)


if __name__ == "__main__":
    main()
