"""Labels, lists, tables and predictions by the workers of `DaskNeighbors`: the bits of one process."""

import copy
import gc
import os
import pickle
import signal
import tracemalloc
import warnings
from unittest.mock import patch

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy import sparse
from sklearn.base import clone

from nearlabel.datasets import open_store, write_store
from nearlabel.lazy import IBLR, BRkNN, BRkNNa, BRkNNb, CMLkNN, DMLkNN, LazyClassifier, LPkNN, MLkNN
from nearlabel.lazy import _counts as counts
from nearlabel.neighbors import DaskNeighbors, ExactNeighbors, GaussianWeights, UselessNeighborsWarning
from nearlabel.persistence import save_model
from nearlabel.thresholds import FixedThresholdsClassifier, TunedThresholdsClassifierCV
from nearlabel.utils import messages
from nearlabel.utils.validation import as_dense

dask = pytest.importorskip("dask")
da = pytest.importorskip("dask.array")
distributed = pytest.importorskip("distributed")

FORMS = {"dense": np.asarray, "csr": sparse.csr_array}
METHODS = [
    MLkNN(4),
    MLkNN(4, weights="distance"),
    BRkNN(4),
    BRkNN(4, majority="half", weights="distance"),
    BRkNNa(4),
    BRkNNb(4),
    LPkNN(4),
    DMLkNN(4, delta=1),
    CMLkNN(4, similarity=np.eye(3)),
    IBLR(4, ridge=0.1),
]


@pytest.fixture(scope="module")
def client():
    """Two worker processes; each has a nanny, which replaces it if it dies."""
    plain = {"threads_per_worker": 1, "memory_limit": None, "dashboard_address": ":0", "silence_logs": "CRITICAL"}
    with (
        # A worker that is not back after 15 s is given up, by default: on a busy machine it needs longer.
        dask.config.set({"distributed.deploy.lost-worker-timeout": "60s"}),
        distributed.LocalCluster(n_workers=2, **plain) as cluster,
        distributed.Client(cluster, set_as_default=False) as client,
    ):
        yield client


@pytest.fixture
def search(client, tmp_path):
    """A search with shards and tiles so small that every result is put together from several."""
    return DaskNeighbors(shard_rows=31, query_rows=35, client=client, folder=tmp_path / "folder")


def problem():
    """Return 80 rows with ties and an empty row, label sets with an empty one, and queries."""
    X = np.random.default_rng(3).integers(0, 3, (80, 4)).astype(np.float64)
    X[40], X[9] = X[3], 0
    Y = (X[:, :3] > [0, 1, 1]).astype(np.uint8)
    Y[7] = 0
    return X, Y, X[::3] + 0.25


def in_blocks(rows, form=np.asarray, n_rows=19):
    """Return rows as a dask array, whose blocks are dense or CSR."""
    blocks = da.from_array(rows, (n_rows, rows.shape[1]))
    return blocks if form is np.asarray else blocks.map_blocks(form, dtype=rows.dtype)


def assert_same_bits(found, expected):
    """Both have the container, the type and the bits."""
    assert type(found) is type(expected)
    assert found.dtype == expected.dtype
    assert as_dense(found).tobytes() == as_dense(expected).tobytes()


def assert_same_model(found, expected, queries):
    """Queries as a dask array and in memory, leave-one-out, tables."""
    for answer in ("predict", "predict_proba"):
        wanted = getattr(expected, answer)(queries)
        lazily = getattr(found, answer)(in_blocks(queries, n_rows=11))
        assert isinstance(lazily, da.Array)
        assert (lazily.shape, lazily.dtype) == (wanted.shape, wanted.dtype)
        assert_same_bits(lazily.compute(), wanted)
        assert_same_bits(getattr(found, answer)(queries), wanted)
    if hasattr(found, "loo_predict_proba"):
        assert_same_bits(found.loo_predict_proba(), expected.loo_predict_proba())
    for name in ("prior_", "likelihood_", "posterior_", "_counts", "_training_distances"):
        if hasattr(expected, name):
            assert_same_bits(getattr(found, name), getattr(expected, name))


@pytest.mark.long
@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
@pytest.mark.parametrize("method", METHODS, ids=lambda method: type(method).__name__)
def test_the_bits_are_those_of_one_process(search, method, form):
    """Dask arrays of rows and of label sets, with ties, an empty row and an empty label set."""
    X, Y, queries = problem()
    expected = clone(method).fit(X, form(Y))
    found = clone(method).set_params(search=search).fit(in_blocks(X), in_blocks(Y, form, 30))
    assert_same_model(found, expected, queries)


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
@pytest.mark.parametrize("dtype", [np.uint8, np.float64])
def test_label_sets_of_a_store_are_read_by_the_workers(search, tmp_path, form, dtype):
    """Predictions have the type of the store, whose label sets may have any."""
    X, Y, queries = problem()
    store = open_store(write_store(tmp_path / "Y", form(Y.astype(dtype))))
    expected = MLkNN(4).fit(X, form(Y.astype(dtype)))
    found = MLkNN(4, search=search).fit(open_store(write_store(tmp_path / "X", X)), store)
    assert_same_model(found, expected, queries)


def test_this_process_computes_no_votes(search):
    """Neither `fit` nor `predict` asks for neighbours, votes, scores or counts here."""
    X, Y, queries = problem()
    expected = MLkNN(4).fit(X, Y)
    wanted = expected.predict(queries), expected.predict_proba(queries)
    refused = AssertionError("only workers do this")
    with (
        patch.object(DaskNeighbors, "kneighbors", side_effect=refused),
        patch.object(LazyClassifier, "_answer", side_effect=refused),
        patch.object(counts, "count_rows", side_effect=refused),
    ):
        model = MLkNN(4, search=search).fit(in_blocks(X), in_blocks(Y))
        labels, scores = model.predict(in_blocks(queries)), model.predict_proba(in_blocks(queries))
        assert_same_bits(labels.compute(), wanted[0])
        assert_same_bits(scores.compute(), wanted[1])


@pytest.mark.long
def test_this_process_needs_little_memory(client, tmp_path):
    """Less than a byte for each cell of Y, and than the neighbours' distances and indices."""
    X = np.random.default_rng(0).normal(size=(20_000, 4)).astype(np.float32)
    paths = [write_store(tmp_path / "X", X), write_store(tmp_path / "Y", X[:, [0] * 200] > np.linspace(-1, 1, 200))]
    model = MLkNN(10, search=DaskNeighbors(shard_rows=10_000, client=client, folder=tmp_path))
    queries = in_blocks(X, n_rows=5_000)
    model.fit(*map(open_store, paths))  # what dask imports is there afterwards
    tracemalloc.start()
    model.fit(*map(open_store, paths))
    fitted = tracemalloc.get_traced_memory()[1]
    tracemalloc.reset_peak()
    scores = model.predict_proba(queries)
    predicted = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert scores.nbytes == 8 * 20_000 * 200
    assert fitted < 2e6  # of Y 4 MB, of the neighbours 5.1 MB
    assert predicted < 2e6  # of scores 32 MB


@pytest.mark.parametrize("method", [MLkNN(4), BRkNN(4)], ids=["MLkNN", "BRkNN"])
def test_models_go_on_as_those_of_one_process(search, tmp_path, method):
    """Samples come and go; the model is explained, pickled, copied and saved."""
    X, Y, queries = problem()
    expected = clone(method).fit(X, Y)
    found = clone(method).set_params(search=search).fit(in_blocks(X), in_blocks(Y))
    assert str(found.explain(queries[:2])) == str(expected.explain(queries[:2]))
    assert_array_equal(found.training_labels(), Y)
    for again in (pickle.loads(pickle.dumps(found)), copy.deepcopy(found)):
        with search.client.as_current():
            assert_same_bits(again.predict(in_blocks(queries)).compute(), expected.predict(queries))
    for model in (found, expected):
        model.partial_fit(X[:5] + 0.5, Y[5:10]).forget([0, 33])
    assert_same_model(found, expected, queries)


@pytest.mark.long
def test_a_number_of_neighbors_is_chosen_as_in_one_process(search):
    """From the neighbours and label sets that this process reads for it."""
    X, Y, queries = problem()
    found = MLkNN("auto", search=search).fit(in_blocks(X), in_blocks(Y))
    assert_same_model(found, MLkNN("auto").fit(X, Y), queries)


@pytest.mark.long
def test_kernel_weights_learn_their_unit(search):
    """A mean of distances is no sum of whole numbers: this process computes it."""
    X, Y, queries = problem()
    found = MLkNN(4, weights=GaussianWeights(), search=search).fit(in_blocks(X), in_blocks(Y))
    assert_same_model(found, MLkNN(4, weights=GaussianWeights()).fit(X, Y), queries)


@pytest.mark.long
@pytest.mark.parametrize("method", [m for m in METHODS if not isinstance(m, IBLR)], ids=lambda m: type(m).__name__)
def test_sample_weights_are_read_by_the_workers(search, method):
    """A sample of weight 0 is no neighbour."""
    X, Y, queries = problem()
    weights = np.random.default_rng(0).integers(0, 3, len(X)).astype(np.float64)
    found = clone(method).set_params(search=search).fit(in_blocks(X), in_blocks(Y), sample_weight=weights)
    assert_same_model(found, clone(method).fit(X, Y, sample_weight=weights), queries)


@pytest.mark.long
def test_other_forms_of_labels(search):
    """One label of two classes, and unknown cells: this process has them, as without a cluster."""
    X, Y, queries = problem()
    classes = np.array(["no", "yes"])[Y[:, 0]]
    expected = BRkNN(4).fit(X, classes)
    found = BRkNN(4, search=search).fit(X, da.from_array(classes, 30))
    assert_same_bits(found.predict(in_blocks(queries)).compute(), expected.predict(queries))
    assert_same_bits(found.predict_proba(in_blocks(queries)).compute(), expected.predict_proba(queries))
    assert found.predict_labels(in_blocks(queries)) == expected.predict_labels(queries)
    some = np.where(np.arange(Y.size).reshape(Y.shape) % 11 == 0, np.nan, Y)
    found = BRkNN(4, search=search).fit(X, in_blocks(some))
    assert_same_bits(found.predict_proba(queries), BRkNN(4).fit(X, some).predict_proba(queries))


@pytest.mark.long
@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
@pytest.mark.parametrize("around", [FixedThresholdsClassifier, TunedThresholdsClassifierCV])
def test_thresholds_are_used_in_this_process(search, around, form):
    """A model with thresholds takes dask arrays, and gathers the scores of the model in it."""
    X, Y, queries = problem()
    expected = around(MLkNN(4)).fit(X, form(Y))
    found = around(MLkNN(4, search=search)).fit(in_blocks(X), in_blocks(Y, form))
    assert_same_bits(found.predict(in_blocks(queries)), expected.predict(queries))
    assert_same_bits(found.predict_proba(in_blocks(queries)), expected.predict_proba(queries))


@pytest.mark.long
def test_empty_blocks(search):
    """Blocks without rows change nothing; no rows at all are refused as in one process."""
    X, Y, queries = problem()
    empty = da.from_array(Y[:0], (1, 3))
    found = MLkNN(4, search=search).fit(X, da.concatenate([empty, in_blocks(Y)]))
    assert_same_model(found, MLkNN(4).fit(X, Y), queries)
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        MLkNN(4, search=search).fit(X, empty)


@pytest.mark.long
def test_names_and_shares_of_right_answers(search):
    """`predict_labels` and `score` take dask arrays, whose predictions they gather."""
    X, Y, queries = problem()
    for form in FORMS.values():
        expected = MLkNN(4).fit(X, form(Y))
        found = MLkNN(4, search=search).fit(in_blocks(X), in_blocks(Y, form))
        assert found.predict_labels(in_blocks(queries)) == expected.predict_labels(queries)
        assert found.score(in_blocks(X), form(Y)) == expected.score(X, form(Y))
    assert_same_bits(found.predict(in_blocks(queries[:0])).compute(), expected.predict(queries)[:0])


def test_ties_broken_at_random_are_broken_in_this_process(search):
    """By one generator, query after query: the answer is an array."""
    X, Y, queries = problem()
    method = LPkNN(4, ties="random", random_state=0)
    found = clone(method).set_params(search=search).fit(in_blocks(X), in_blocks(Y))
    assert_array_equal(found.predict(in_blocks(queries)), method.fit(X, Y).predict(queries))


def test_bad_label_sets_are_refused(search):
    """With the messages of one process."""
    X, Y, _ = problem()
    with pytest.raises(ValueError, match="y must contain 0 and 1 only"):
        MLkNN(4, search=search).fit(in_blocks(X), in_blocks(Y + 1))
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        MLkNN(4, search=search).fit(in_blocks(X), in_blocks(Y[:50]))
    with pytest.raises(ValueError, match="n_neighbors must be smaller than n_samples=80, got 80"):
        MLkNN(80, search=search).fit(in_blocks(X), in_blocks(Y))


@pytest.mark.long
def test_scores_that_do_not_fit_are_not_begun(search):
    """The worker has too little memory for the scores of a tile, and the message says so."""
    X, Y, queries = problem()
    model = MLkNN(4, search=search).fit(in_blocks(X), in_blocks(Y))

    def only(free, worth):
        messages.free_bytes, messages._WORTH_ASKING = free, worth

    search.client.run(only, lambda unknown: 100, 0)
    try:
        with pytest.raises(MemoryError, match=r"scores of 27 queries x 3 labels .*Hint: DaskNeighbors\(query_rows"):
            model.predict_proba(in_blocks(queries))
        assert_same_bits(model.predict(in_blocks(queries)).compute(), MLkNN(4).fit(X, Y).predict(queries))
    finally:
        search.client.run(only, messages.free_bytes, messages._WORTH_ASKING)


@pytest.mark.long
def test_useless_neighbors_are_named(search):
    """All equally far, and a few that are neighbours of nearly all: the warnings of one process."""
    Y = (np.arange(120)[:, np.newaxis] % [2, 3] == 0).astype(np.uint8)
    hub = np.eye(120)
    hub[0] = 0.3
    for X in (np.eye(120), hub):
        told = []
        for model, rows in ((MLkNN(1 if X is hub else 3, search=search), in_blocks(X)), (MLkNN(3), X)):
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always", UselessNeighborsWarning)
                model.set_params(n_neighbors=1 if X is hub else 3).fit(rows, in_blocks(Y) if model.search else Y)
            told.append([str(one.message) for one in caught if one.category is UselessNeighborsWarning])
        assert told[0] == told[1]
        assert len(told[0]) == 1


def test_files_live_as_long_as_they_are_needed(search, tmp_path):
    """Predictions outlive the model; the last object removes the folder."""
    X, Y, queries = problem()
    wanted = MLkNN(4).fit(X, Y).predict(queries)
    labels = MLkNN(4, search=search).fit(in_blocks(X), in_blocks(Y)).predict(in_blocks(queries))
    gc.collect()
    assert_array_equal(labels[3:9].compute(), wanted[3:9])
    assert_array_equal(open_store(write_store(tmp_path / "kept", labels)), wanted)
    del labels
    gc.collect()
    assert list((tmp_path / "folder").iterdir()) == []


@pytest.mark.long
@pytest.mark.parametrize("method", [MLkNN, BRkNN])
@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
def test_a_worker_killed_while_it_votes_changes_nothing(search, tmp_path, method, form):
    """In the counts of `fit`, and in the answers of `predict`: the weights of the votes send SIGKILL."""
    X, Y, queries = problem()
    armed, deaths = tmp_path / "armed", tmp_path / "deaths"
    deaths.mkdir()

    def weights(distances):
        if armed.exists():
            armed.unlink()
            (deaths / str(os.getpid())).touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return 1 / (1 + distances)

    expected = method(4, weights=weights).fit(X, form(Y))
    wanted = [expected.predict(queries), expected.predict_proba(queries)]
    search.client.wait_for_workers(2)
    if method is MLkNN:
        armed.touch()
    found = method(4, weights=weights, search=search).fit(in_blocks(X), in_blocks(Y, form))
    assert len(list(deaths.iterdir())) == int(method is MLkNN)
    for answer, right in zip(("predict", "predict_proba"), wanted, strict=True):
        search.client.wait_for_workers(2)  # one that dies while it starts is not replaced
        n_deaths = len(list(deaths.iterdir()))
        armed.touch()
        assert_same_bits(getattr(found, answer)(in_blocks(queries)).compute(), right)
        assert len(list(deaths.iterdir())) == n_deaths + 1
    if method is MLkNN:
        assert_same_bits(found.posterior_, expected.posterior_)


@pytest.mark.long
def test_a_worker_killed_while_it_searches_changes_nothing(search, tmp_path):
    """The metric sends SIGKILL, once while lists are written, once while queries are answered."""
    X, Y, queries = problem()
    armed, deaths = tmp_path / "armed", tmp_path / "deaths"
    deaths.mkdir()

    def city_block(a, b):
        return float(np.abs(a - b).sum())

    def deadly(a, b):
        if armed.exists():
            armed.unlink()
            (deaths / str(os.getpid())).touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return city_block(a, b)

    expected = MLkNN(4, search=ExactNeighbors(city_block)).fit(X, Y)
    armed.touch()
    found = MLkNN(4, search=clone(search).set_params(metric=deadly)).fit(in_blocks(X), in_blocks(Y))
    search.client.wait_for_workers(2)
    armed.touch()
    scores = found.predict_proba(in_blocks(queries)).compute()
    assert len(list(deaths.iterdir())) == 2
    assert_same_bits(found.posterior_, expected.posterior_)
    assert_same_bits(scores, expected.predict_proba(queries))


def test_a_model_on_a_cluster_is_not_saved(search, tmp_path):
    """As one that was fitted to arrays: the hint says which search to use."""
    X, Y, _ = problem()
    model = MLkNN(4, search=search).fit(in_blocks(X), in_blocks(Y))
    with pytest.raises(ValueError, match="must not search on a cluster"):
        save_model(model, tmp_path / "model.skops")
