"""The kernel that counts without a row: the same counts as numpy's, and no call with rows that do not exist."""

import numpy as np
import pytest

from nearlabel.lazy import MLkNN
from nearlabel.lazy._counts import LeavingOut
from nearlabel.neighbors import NeighborGraph, PrecomputedNeighbors
from nearlabel.neighbors.exact import kernels

needs_kernels = pytest.mark.skipif(kernels.kernel_in_use() == kernels.OFF, reason="kernels were not built, or are off")


def graph_with_a_hub(n, k, rng):
    """Return k + 1 neighbours of each of n rows, none of which is the row itself; row 0 is in all other lists."""
    near = np.stack([rng.permutation(np.delete(np.arange(n), row))[: k + 1] for row in range(n)])
    for row in range(1, n):
        if 0 not in near[row]:
            near[row, rng.integers(k)] = 0
    return NeighborGraph(np.sort(rng.random((n, k + 1)), axis=1), near)


@needs_kernels
@pytest.mark.parametrize(("n", "n_labels", "k"), [(12, 1, 1), (400, 3, 10), (300, 41, 4), (200, 7, 126)])
def test_counts_without_a_row_are_those_of_numpy(n, n_labels, k, monkeypatch):
    """Of a row that is in more lists than a byte counts, too."""
    rng = np.random.default_rng(n)
    Y = (rng.random((n, n_labels)) < rng.random(n_labels)).astype(int)
    search = PrecomputedNeighbors(graph_with_a_hub(n, k, rng))
    model, used = MLkNN(k, search=search).fit(np.zeros((n, 1)), Y), []
    change = kernels.LeftOut.change
    monkeypatch.setattr(kernels.LeftOut, "change", lambda *given: (used.append(True), change(*given))[1])
    found = model.loo_predict_proba()
    assert used
    monkeypatch.setattr(LeavingOut, "_compiled", None)
    np.testing.assert_array_equal(found, model.loo_predict_proba())


@needs_kernels
def test_arrays_that_do_not_fit_are_refused():
    """Before the kernel reads them."""
    labels, ends, m, into = np.zeros((3, 2)), np.array([0, 1, 1, 2]), np.array([2, 0]), np.array([1, 1])
    right = {"labels": labels, "votes": labels, "starts": ends[:-1], "stops": ends[1:], "changed": m, "into": into}
    wrong = [
        {"votes": labels[:2]},
        {"changed": np.array([3, 0])},
        {"into": np.array([1, -1])},
        {"into": np.array([1])},
        {"stops": ends[1:] + 1},
        {"starts": ends[:-1] - 1},
        {"starts": ends},
    ]
    for change in wrong:
        with pytest.raises(ValueError, match="must be"):
            kernels.LeftOut(**{**right, **change})
    kernel, counts = kernels.LeftOut(**right), np.zeros((2, 1, 2), dtype=np.int64)
    kernel.change(np.array([1]), counts)
    assert counts.tolist() == [[[-1, -1]], [[0, 0]]]
    for rows, given in [([3], counts), ([-1], counts), ([0, 1], counts), ([0], counts.astype(np.int32))]:
        with pytest.raises(ValueError, match="counts must be"):
            kernel.change(np.array(rows), given)
