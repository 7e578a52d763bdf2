"""Every model of the library in a file; files with contents of one's own."""

from __future__ import annotations

import json
import shutil
import warnings
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from _models import MODELS, Fitted
from nearlabel.lazy import MLkNN
from nearlabel.persistence import save_model


@pytest.fixture(scope="session")
def kept(tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, Fitted], Path]:
    """Every model, fitted once, and the folder of their files, named by their numbers."""
    folder = tmp_path_factory.mktemp("models")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of few rows, and of the import of faiss
        fitted = {name: make() for name, make in MODELS.items()}
        for number, (model, _) in enumerate(fitted.values()):
            save_model(model, folder / f"{number}.skops")
    return fitted, folder


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    """The file of a small model."""
    model = MLkNN(1).fit([[0.0], [1.0], [2.0]], [[1, 0], [0, 1], [1, 1]])
    return save_model(model, tmp_path / "model.skops")


@pytest.fixture
def rewrite() -> Callable[[Path, str, Callable[[Any], Any]], Path]:
    """Change a JSON member of an archive; None removes it."""

    def _rewrite(path: Path, member: str, change: Callable[[Any], Any]) -> Path:
        before = shutil.copy(path, path.with_suffix(".before"))
        with zipfile.ZipFile(before) as source, zipfile.ZipFile(path, "w") as target:
            for name in source.namelist():
                content = source.read(name)
                if name == member:
                    changed = change(json.loads(content))
                    content = None if changed is None else json.dumps(changed).encode()
                if content is not None:
                    target.writestr(name, content)
        Path(before).unlink()
        return path

    return _rewrite
