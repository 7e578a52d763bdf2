"""Arrays of torch as a device: with those of the processor always, with those of a GPU where there is one."""

import sys

import numpy as np
import pytest

from nearlabel.neighbors import ExactNeighbors
from nearlabel.neighbors.optional import _device, _torch
from nearlabel.neighbors.optional._device import DeviceSearch, check_sums
from nearlabel.neighbors.optional._torch import device_named
from neighbors.test_device_search import assert_same_bits, queries_near
from neighbors.test_kernels import KINDS, rows_of


def test_it_says_what_installs_torch(monkeypatch):
    """Where torch is not installed."""
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(ImportError, match=r"ExactNeighbors\(device='cuda'\) needs torch"):
        ExactNeighbors(device="cuda").fit([[0.0], [1.0]])


@pytest.fixture(params=["cpu", "cuda"])
def device(request):
    """A device of torch, with small panels and tiles; the GPU's test is skipped where there is none."""
    torch = pytest.importorskip("torch")
    if request.param == "cuda" and not torch.cuda.is_available():
        pytest.skip("no GPU here")
    return request.param


@pytest.fixture
def small(monkeypatch):
    """Several panels and tiles of few rows."""
    for size in ("PANEL", "TILE"):
        monkeypatch.setattr(_torch, f"_CPU_{size}", 64)
        monkeypatch.setattr(_torch, f"_GPU_{size}", 64)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("metric", ["euclidean", "cosine"])
def test_the_same_bits(kind, metric, device, small):
    """As without a device."""
    rng = np.random.default_rng(0)
    X = rows_of(kind, rng)
    assert_same_bits(X, queries_near(X, rng, 30), 5, metric, device)


def test_panels_of_the_usual_size(device):
    """Of many rows, and a number of neighbours that needs short groups."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(9000, 21)).astype(np.float32)
    search = ExactNeighbors(device=device, n_jobs=2).fit(X)
    assert type(search._segments[0].engine) is DeviceSearch
    for k in (3, 600):
        found, expected = (of.kneighbors(X[:200] + 0.1, k) for of in (search, ExactNeighbors().fit(X)))
        np.testing.assert_array_equal(found, expected)


def test_panels_that_do_not_fit(device, small, monkeypatch):
    """Are copied while others are multiplied, if the device can."""
    monkeypatch.setattr(_torch.TorchDevice, "room", lambda self: 10_000)
    X = np.random.default_rng(0).normal(size=(2000, 8)).astype(np.float32)
    assert_same_bits(X, X[:300] + np.float32(0.1), 3, device=device, n_jobs=2)


def test_sums_of_a_device(device):
    """Are within the bound."""
    check_sums(device_named(device))


def test_a_gpu_that_is_not_there():
    """Is refused, with what there is."""
    torch = pytest.importorskip("torch")
    name = f"cuda:{torch.cuda.device_count()}"
    with pytest.raises(ValueError, match=f"device must be one that torch finds here, got '{name}'. It finds"):
        ExactNeighbors(device=name).fit([[0.0], [1.0]])


def test_factors_in_bf16(monkeypatch):
    """As a GPU has them: they lose nothing, so sums of their products in float32 give the same answers."""
    torch = pytest.importorskip("torch")
    monkeypatch.setattr(torch, "mm", lambda left, right, out_dtype: left.to(out_dtype) @ right.to(out_dtype))
    device = device_named("cpu")
    device._in_bf16 = True
    assert device.factor(np.ones((2, 3), dtype=np.float32)).dtype == torch.bfloat16
    monkeypatch.setattr(_device, "device_named", lambda name: device)
    X = np.random.default_rng(0).normal(size=(5000, 9))
    assert_same_bits(X, X[:100] + 0.01, 4)
