"""Run the command line in this process; small files of one data set in every format."""

from __future__ import annotations

import csv
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest

from nearlabel import cli
from nearlabel.datasets import Dataset

LABELS = ("[red] apple", "[/b] pear", ":lemon:")


class Answer(NamedTuple):
    """What a command left behind."""

    code: int
    out: str
    err: str


@pytest.fixture
def nearlabel(capsys: pytest.CaptureFixture[str]) -> Callable[..., Answer]:
    """Run a command line and return its exit code, standard output and standard error."""

    def _run(*arguments: object) -> Answer:
        try:
            code = cli.main([str(argument) for argument in arguments])
        except SystemExit as stop:  # argparse: --help, --version, bad arguments
            code = stop.code
        return Answer(code, *capsys.readouterr())

    return _run


@pytest.fixture(scope="session")
def rows() -> tuple[np.ndarray, np.ndarray]:
    """Thirty rows of 3 features and 3 labels; some rows have none."""
    rng = np.random.default_rng(0)
    X = rng.integers(-2, 3, (30, 3)) / 2
    Y = (X + rng.normal(size=(30, 3)) > [0, 0.5, 1]).astype(int)
    for array in (X, Y):
        array.setflags(write=False)
    return X, Y


def arff(relation: str, X: np.ndarray, Y: np.ndarray) -> str:
    """The rows as ARFF, labels last."""
    attributes = [f"@attribute x{j} numeric" for j in range(3)]
    attributes += [f"@attribute '{label}' {{0,1}}" for label in LABELS]
    cells = [",".join(map(str, [*x, *y])) for x, y in zip(X.tolist(), Y.tolist(), strict=True)]
    return "\n".join([f"@relation {relation}", *attributes, "@data", *cells]) + "\n"


@pytest.fixture(scope="session")
def meka_text(rows: tuple[np.ndarray, np.ndarray]) -> str:
    """A file's content in MEKA's dialect."""
    return arff("'fruit: -C -3'", *rows)


@pytest.fixture
def meka(tmp_path: Path, meka_text: str) -> Path:
    """A file in MEKA's dialect."""
    file = tmp_path / "fruit.arff"
    file.write_text(meka_text)
    return file


@pytest.fixture
def mulan(tmp_path: Path, rows: tuple[np.ndarray, np.ndarray]) -> Path:
    """A file in Mulan's dialect with its XML beside."""
    (tmp_path / "mulan").mkdir()
    file = tmp_path / "mulan" / "fruit.arff"
    file.write_text(arff("fruit", *rows))
    labels = "".join(f'<label name="{label}"></label>' for label in LABELS)
    file.with_suffix(".xml").write_text(f'<labels xmlns="http://mulan.sourceforge.net/labels">{labels}</labels>')
    return file


@pytest.fixture
def svmlight(tmp_path: Path, rows: tuple[np.ndarray, np.ndarray]) -> Path:
    """A file in multi-label svmlight."""
    lines = [
        ",".join(map(str, np.flatnonzero(y))) + "".join(f" {j}:{value}" for j, value in enumerate(x))
        for x, y in zip(*rows, strict=True)
    ]
    file = tmp_path / "fruit.svm"
    file.write_text("\n".join(lines) + "\n")
    return file


@pytest.fixture
def table(tmp_path: Path, rows: tuple[np.ndarray, np.ndarray]) -> tuple[Dataset, Path]:
    """A CSV file with ids and a column of tags, and the data set in it."""
    X, Y = rows
    names = ("apple", "lemon, sour", "pear")
    file = tmp_path / "fruit.csv"
    with file.open("w", newline="") as out:
        writer = csv.writer(out)
        writer.writerow(["id", "x0", "x1", "x2", "tags"])
        for row, (x, y) in enumerate(zip(X.tolist(), Y.tolist(), strict=True)):
            writer.writerow([f"f{row}", *x, ";".join(name for name, there in zip(names, y, strict=True) if there)])
    return Dataset(X, Y.astype(np.int64), ("x0", "x1", "x2"), names, "fruit"), file


@pytest.fixture(autouse=True)
def patience(monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> None:
    """A slow machine prints no progress where a test compares standard error."""
    if request.node.module.__name__.rpartition(".")[2] != "test_progress":
        monkeypatch.setattr("nearlabel.utils.progress.PATIENCE", float("inf"))
