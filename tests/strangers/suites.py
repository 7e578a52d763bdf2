"""The suites: where the tests of others are, and what stands in for their code."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tarfile
from dataclasses import dataclass
from pathlib import Path

SOURCES = "NEARLABEL_STRANGERS_SOURCES"  # the environment variable with a folder of sources: none there is fetched
SECONDS = 120  # to fetch one source


class MissingTestsError(Exception):
    """The tests of a suite cannot be had here."""


@dataclass(frozen=True)
class Suite:
    """Tests of a project, run with the plugin `strangers.{name}`, which puts ours in the place of theirs.

    `tests` are modules of what is installed, or, with `source`, paths in it: the name of a source distribution, or
    the address of a repository with a tag. `thinned` are words for `-k` that choose the tests of a short run; a suite
    without them is not part of it.
    """

    name: str
    title: str
    tests: tuple[str, ...]
    source: str = ""
    words: str = ""  # for -k
    thinned: str = ""

    def arguments(self, folder: Path, *, thin: bool) -> list[str]:
        """Return what pytest is to run; sources are fetched into the folder."""
        words = " and ".join(f"({part})" for part in (self.words, self.thinned if thin else "") if part)
        chosen = ["-k", words] if words else []
        if not self.source:
            return ["--pyargs", *self.tests, *chosen]
        place = self.path(folder)
        return [*(str(place / test) for test in self.tests), *chosen]  # a test file of ours has a path from the root

    def path(self, folder: Path) -> Path:
        """Return the folder of the sources, which are fetched if they are not there."""
        place = Path(os.environ.get(SOURCES, folder)) / self.name
        if not place.is_dir():
            fetch(self.source, place)
        return place


def fetch(source: str, place: Path) -> None:
    """Put sources into a new folder: a repository (address@tag), or a source distribution (name==version)."""
    place.parent.mkdir(parents=True, exist_ok=True)
    address, at, tag = source.rpartition("@")
    if at:
        _run(["git", "clone", "--quiet", "--depth", "1", "--branch", tag, address, str(place)], source)
        return
    download = place.with_suffix(".download")
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "download", "--quiet", "--no-deps"]
    _run([*pip, "--no-binary", ":all:", "--dest", str(download), source], source)
    with tarfile.open(next(download.glob("*.tar.gz"))) as archive:
        archive.extractall(download, filter="data")
    next(path for path in download.iterdir() if path.is_dir()).rename(place)
    shutil.rmtree(download)


def _run(command: list[str], source: str) -> None:
    # No question for a name or password: nobody is there to answer.
    quiet = os.environ | {"GIT_TERMINAL_PROMPT": "0"}
    try:
        subprocess.run(command, check=True, capture_output=True, timeout=SECONDS, env=quiet)
    except (OSError, subprocess.SubprocessError) as error:
        raise MissingTestsError(f"{source} could not be fetched") from error


_MULTILEARN = (
    "adapt/tests/test_brknn",
    "adapt/tests/test_mlknn",
    "problem_transform/tests/test_br",
    "problem_transform/tests/test_lp",
    "problem_transform/tests/test_cc",
    "problem_transform/tests/test_iblr",
    "ensemble/tests/test_rakeld",
    "ensemble/tests/test_rakelo",
    "model_selection/tests/test_iterative_stratification",
    "model_selection/tests/test_measures",
)
SUITES = (
    Suite(
        "neighbors",
        "scikit-learn: `NearestNeighbors`, answered by `ExactNeighbors`",
        ("sklearn.neighbors.tests.test_neighbors",),
        words="not array_api",
        thinned="test_kneighbors_brute_backend or test_query_equidistant or test_sparse_metric_callable",
    ),
    Suite(
        "metrics",
        "scikit-learn: metrics of label matrices, answered by `nearlabel.metrics`",
        tuple(f"sklearn.metrics.tests.test_{name}" for name in ("classification", "ranking", "common")),
        words="not array_api",
        thinned="(multilabel and not permutations) or lrap or test_label_ranking_loss or test_coverage",
    ),
    Suite(
        "chains",
        "scikit-learn: one-vs-rest and chains of label matrices, answered by `BinaryRelevance` and `ClassifierChain`",
        ("sklearn.tests.test_multiclass", "sklearn.tests.test_multioutput"),
        words="ovr or chain",
        thinned="ovr_multilabel or chain_fit_and_predict",
    ),
    Suite(
        "multilearn",
        "scikit-multilearn-ng 0.0.8: BRkNN, ML-kNN, IBLR, BR, LP, CC, RAkEL and folds, answered by ours",
        tuple(f"skmultilearn/{test}.py" for test in _MULTILEARN),
        source="https://github.com/scikit-multilearn-ng/scikit-multilearn-ng@v0.0.8",
    ),
    Suite(
        "stratification",
        "iterative-stratification 0.1.9: its test, answered by `IterativeStratifiedKFold`",
        ("tests",),
        source="iterative-stratification==0.1.9",
    ),
    Suite(
        "utiml",
        "utiml: 19 figures of Mulan for predictions of flags, by `nearlabel.metrics`",
        (str(Path(__file__).with_name("utiml.py")),),
        source="https://github.com/rivolli/utiml@master",
    ),
)
