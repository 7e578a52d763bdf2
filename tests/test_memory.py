"""Where memory ends: the error names what was too large and what to do, and the process goes on."""

import re
import subprocess
import sys

import pytest

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="only Linux limits the address space")

BEGIN = """
import resource, sys
import numpy as np
from scipy import sparse
from nearlabel.datasets import read_svmlight, read_table
from nearlabel.lazy import BRkNN, MLkNN
from nearlabel.neighbors import ExactNeighbors, kernel_level
from nearlabel.rivals import BinaryRelevance

rng = np.random.default_rng(0)
X = rng.normal(size=(1000, 10)).astype(np.float32)
Y = sparse.csr_array((rng.random((1000, 5000)) < 0.001).astype(np.int64))
many = np.repeat(X, 20, axis=0)
search = ExactNeighbors().fit(X)
expected = search.kneighbors(X[:50], 3)
models = {"brknn": BRkNN(n_neighbors=3).fit(X, Y), "mlknn": MLkNN(n_neighbors=3).fit(X, Y)}
linear = BinaryRelevance().fit(X[:50], (rng.random((50, 3)) < 0.5).astype(int))
lines = b"1,2,1\\n" * 2_000_000
with open("a.csv", "wb") as file:
    file.write(b"a,b,y\\n" + lines)
with open("a.svm", "wb") as file:
    file.write(b"1 1:1 2:2\\n" * 1_000_000)

def limit(n_mib):
    # beyond what is in use
    in_use = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (in_use + n_mib * 2**20, resource.RLIM_INFINITY))

limit(N_MIB)
try:
    WORK
except MemoryError as error:
    print(error)
else:
    print("there was room")
limit(200)
assert np.array_equal(search.kneighbors(X[:50], 3), expected)
assert models["mlknn"].predict(X[:20]).shape == (20, 5000)
"""
TOO_LARGE = {
    "models['brknn'].predict_proba(many)": "scores of 20,000 queries x 5,000 labels (763 MiB)",
    "models['mlknn'].predict_proba(many)": "scores of 20,000 queries x 5,000 labels (763 MiB)",
    "search.kneighbors(many, 900)": "distances and indices of 20,000 queries x 1,800 numbers (275 MiB)",
    "search.kneighbors(n_neighbors=999)": "distances and indices of 1,000 queries x 1,998 numbers (15.2 MiB)",
    "MLkNN().fit(np.broadcast_to(1.0, (100_000, 400)), np.ones((100_000, 2), int))": (
        "a fit to X of shape 100000x400 and y of shape 100000x2"
    ),
    "read_table('a.csv', labels=['y'])": "the rows of a.csv",
    "read_svmlight('a.svm')": "the rows of a.svm",
}


def said(work, n_mib, folder):
    """Return what a process says that has so many MiB for a task."""
    script = BEGIN.replace("WORK", work).replace("N_MIB", str(n_mib))
    environment = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "PYTHONPATH": ":".join(sys.path)}
    command = [sys.executable, "-W", "ignore", "-c", script]
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=300, check=False, cwd=folder, env=environment
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.long
@pytest.mark.parametrize("work", TOO_LARGE)
def test_what_is_too_large_is_named(tmp_path, work):
    """With its size and a hint; a search and a prediction afterwards are right."""
    text = said(work, 12 if "search" not in work or "999" in work else 80, tmp_path)
    got = r"\S+ \wiB that are free" if "scores" in TOO_LARGE[work] else "too little of it"
    assert re.match(rf"{re.escape(TOO_LARGE[work])} must fit into memory, got {got}\. Hint: ", text)
    assert text.count("\n") == 1


@pytest.mark.long
@pytest.mark.parametrize("level", ["auto", "off"])
def test_memory_may_end_anywhere(tmp_path, level):
    """With any room from none to enough, in each step of a fit and a search: an error or an answer, never a crash."""
    work = f"""
    for n_mib in [*range(0, 12), 16, 24, 32, 48]:
        limit(n_mib)
        try:
            with kernel_level({level!r}):
                MLkNN(n_neighbors=5).fit(many[:6000], sparse.vstack([Y] * 6, format="csr")).predict(many[:2000])
        except MemoryError:
            pass
    limit(2000)
    print("done", end=": ")"""
    assert said(work.strip(), 2000, tmp_path) == "done: there was room\n"


@pytest.mark.parametrize(
    "work", ["ExactNeighbors(n_jobs=1).fit(wide).kneighbors(n_neighbors=10)", "MLkNN().fit(wide, wide[:, :2] > 0)"]
)
def test_the_lists_of_all_rows_fit_into_what_is_free(tmp_path, work):
    """20,000 rows, whose candidates may need 120 MiB of addresses and use a tenth of that."""
    assert (
        said(work.replace("wide", "(wide := rng.normal(size=(20_000, 20)).astype(np.float32))", 1), 80, tmp_path)
        == "there was room\n"
    )
