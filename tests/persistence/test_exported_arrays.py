"""Arrays of vote methods: the reader of the page predicts the same label sets, and what it cannot read is refused."""

import numpy as np
import pytest
from sklearn.neighbors import NearestNeighbors
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, Normalizer, RobustScaler, StandardScaler

from _recipes import recipe
from nearlabel.datasets import load_dataset, load_multidigits
from nearlabel.lazy import BRkNN, BRkNNa, BRkNNb, DMLkNN, MLkNN
from nearlabel.neighbors import ExactNeighbors
from nearlabel.persistence import export_arrays
from nearlabel.preprocessing import FeatureScaler
from nearlabel.thresholds import FixedThresholdsClassifier, RCut, TunedThresholdsClassifierCV

READER = recipe("howto/deploy", "nearest_labels.py")
MODELS = {
    "brknn": BRkNN(10),
    "half": BRkNN(10, majority="half"),
    "a": BRkNNa(10),
    "b": BRkNNb(10),
    "b, half up": BRkNNb(4, rounding="half_up"),
    "mlknn": MLkNN(10),
    "manhattan": MLkNN(10, search=ExactNeighbors("manhattan")),
    "minmax": make_pipeline(MinMaxScaler((-1, 2), clip=True), MLkNN("auto")),
    "standard": make_pipeline(StandardScaler(), "passthrough", BRkNNa(9)),
    "own": make_pipeline(
        FeatureScaler("minmax", out_of_range="clip"),
        TunedThresholdsClassifierCV(MLkNN(10), cv="loo", map_scores=True),
    ),
    "robust": make_pipeline(RobustScaler(), MaxAbsScaler(), FixedThresholdsClassifier(BRkNNb(10), 0.3)),
    "thresholds around": FixedThresholdsClassifier(make_pipeline(FeatureScaler("standard"), BRkNN(7)), 0.4),
}


def assert_reads(model, X, path):
    """The reader predicts what the model does."""
    arrays = READER.read(export_arrays(model, path))
    expected = model.predict(X)
    expected = expected.toarray() if hasattr(expected, "toarray") else expected
    np.testing.assert_array_equal(READER.predict(arrays, X), expected)
    return arrays


@pytest.mark.parametrize("name", MODELS)
def test_the_reader_predicts_the_same(name, tmp_path):
    """With ties: digits in few levels, half of the rows twice."""
    digits = load_multidigits()
    X, Y = digits.X[:300, :20] // 4, digits.Y[:300]
    model = MODELS[name].fit(np.vstack([X, X[:150]]), np.vstack([Y, Y[150:]]))
    queries = digits.X[300:700, :20] / 4.0
    arrays = assert_reads(model, queries, tmp_path / "model.npz")
    assert model.predict(queries).sum() > 20
    assert arrays["label_names"].tolist() == [str(label) for label in range(10)]


def test_sparse_and_named(tmp_path):
    """Sparse samples and labels become dense; float32 samples stay that; names are texts."""
    from scipy import sparse

    rng = np.random.default_rng(0)
    X, Y = (
        sparse.random_array((80, 30), density=0.2, random_state=rng).tocsr(),
        sparse.csr_array(rng.random((80, 5)) < 0.3),
    )
    model = BRkNNb(5).fit(X.astype(np.float32), Y.astype(int))
    arrays = assert_reads(model, X[:40].toarray(), tmp_path / "model.npz")
    assert arrays["samples"].dtype == np.float32
    tags = [["red"] if row[0] > 0 else ["blue", "red"] for row in X.toarray()]
    named = MLkNN(3).fit(X.toarray(), tags)
    arrays = READER.read(export_arrays(named, tmp_path / "named.npz"))
    assert arrays["label_names"].tolist() == ["blue", "red"]


@pytest.mark.long
@pytest.mark.parametrize("data", ["yeast", "emotions", "enron"])
@pytest.mark.parametrize("name", ["mlknn", "b", "own"])
def test_real_data(data, name, data_folder, tmp_path):
    """Two thirds train; enron is of words that occur or not, with many equal distances."""
    file = next((data_folder / data).glob(f"{data}.arff*"))
    rows = load_dataset(file)
    X, Y = (part.toarray() if hasattr(part, "toarray") else part for part in (rows.X, rows.Y))
    n = len(X) * 2 // 3
    assert_reads(MODELS[name].fit(X[:n], Y[:n]), np.asarray(X[n:], dtype=np.float64), tmp_path / "model.npz")


X, Y = np.arange(24.0).reshape(12, 2), np.tile([[1, 0], [0, 1], [1, 1]], (4, 1))
REFUSED = {
    "method must be one of BRkNN, BRkNNa": DMLkNN(3).fit(X, Y),
    "one vote each, got weights='distance'": BRkNN(3, weights="distance").fit(X, Y),
    "or sample weights": BRkNN(3).fit(X, Y, sample_weight=np.arange(12.0)),
    "got unknown cells": BRkNN(3).fit(X, np.where(X == 22, np.nan, Y)),
    "got a one-dimensional y": BRkNN(3).fit(X, Y[:, 0]),
    r"got ExactNeighbors\(metric='cosine'\)": BRkNN(3, search=ExactNeighbors("cosine")).fit(X, Y),
    "got NearestNeighbors": BRkNN(3, search=NearestNeighbors()).fit(X, Y),
    r"must scale numbers, got Normalizer\(\)": make_pipeline(Normalizer(), BRkNN(3)).fit(X, Y),
    "must scale numbers, got FeatureScaler": make_pipeline(FeatureScaler("tfidf"), BRkNN(3)).fit(X, Y),
    "without at_least and at_most": FixedThresholdsClassifier(BRkNN(3), at_least=1).fit(X, Y),
    "TunedThresholdsClassifierCV must decide by thresholds": TunedThresholdsClassifierCV(BRkNN(3), RCut()).fit(X, Y),
}


@pytest.mark.parametrize("what", REFUSED)
def test_what_cannot_be_exported(what, tmp_path):
    """An error names it, and nothing is written."""
    with pytest.raises(ValueError, match=f"^model cannot be exported as arrays: .*{what}.* Hint: `nearlabel serve`"):
        export_arrays(REFUSED[what], tmp_path / "model.npz")
    assert list(tmp_path.iterdir()) == []


def test_the_reader_is_short():
    """At most 40 lines, of numpy only."""
    from _pages import blocks

    (text,) = [block.text for block in blocks("howto/deploy") if block.file == "nearest_labels.py"]
    assert text.count("\n") < 40
    assert [line for line in text.splitlines() if "import" in line] == ["import numpy as np"]


@pytest.mark.filterwarnings("ignore")
def test_the_graph_predicts_the_same(tmp_path):
    """The recipe of the page, where onnx is."""
    for module in ("onnx", "onnxruntime"):
        pytest.importorskip(module)
    import onnxruntime

    graph = recipe("howto/deploy", "to_onnx.py")
    digits = load_multidigits()
    model = make_pipeline(FeatureScaler("minmax"), FixedThresholdsClassifier(MLkNN(10), 0.4))
    model.fit(digits.X[:500], digits.Y[:500])
    arrays = READER.read(export_arrays(model, tmp_path / "model.npz"))
    graph.write(arrays, tmp_path / "model.onnx")
    session = onnxruntime.InferenceSession(tmp_path / "model.onnx")
    labels, _ = session.run(None, {"X": digits.X[500:900].astype(np.float64)})
    np.testing.assert_array_equal(labels, model.predict(digits.X[500:900]))
