"""Many tags are stored like the labels of files: sparse where a dense matrix would be large and nearly empty."""

import numpy as np
import pytest
from scipy import sparse

from _classifiers import SMALL, default_classifiers
from nearlabel.audit import Correction, apply_corrections, audit
from nearlabel.datasets import from_frame
from nearlabel.datasets.doctor import examine
from nearlabel.lazy import BRkNN, MLkNN, StreamClassifier
from nearlabel.persistence import load_model, save_model
from nearlabel.preprocessing import MLSMOTE, InformationGainSelector
from nearlabel.selection import IterativeStratifiedKFold
from nearlabel.thresholds import TunedThresholdsClassifierCV
from nearlabel.utils.tags import tag_matrix

CLASSIFIERS = default_classifiers() | SMALL
RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 4))
TAGS = [[f"t{10 + one}", f"u{10 + other}"] for one, other in np.argsort(np.argsort(X[:, :2], axis=0), axis=0) // 4]


@pytest.fixture
def stored(monkeypatch):
    """Return a function that has tags stored dense, or sparse as if there were thousands."""

    def store(kind):
        monkeypatch.setattr("nearlabel.utils.tags.BLOCK_BYTES", {"sparse": 0, "dense": 2**26}[kind])
        assert sparse.issparse(tag_matrix(TAGS)[0]) == (kind == "sparse")

    return store


def in_both(stored, use):
    """Return what a function returns with sparse and with dense storage."""
    found = []
    for kind in ("sparse", "dense"):
        stored(kind)
        found.append(use())
    return found


@pytest.mark.filterwarnings("ignore")  # on tags that occur once
@pytest.mark.parametrize(("n_rows", "is_sparse"), [(3000, True), (2000, False)])
def test_the_rule_is_that_of_files(n_rows, is_sparse):
    """More than 64 MiB, and fewer than one cell in ten: as `from_frame` has it."""
    pd = pytest.importorskip("pandas")
    tags = [[f"t{10_000 + row % 3000}"] for row in range(n_rows - 1)] + [[f"t{10_000 + tag}" for tag in range(3000)]]
    labels, names = tag_matrix(tags)
    assert sparse.issparse(labels) == is_sparse
    read = from_frame(pd.DataFrame({"x": np.arange(n_rows), "tags": tags}), labels_column="tags")
    assert type(read.Y) is type(labels)
    assert list(read.label_names) == list(names)
    assert abs(read.Y - labels).sum() == 0


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", sorted(CLASSIFIERS))
def test_the_same_predictions(stored, name):
    """Of every classifier; predictions are sparse, as after a sparse y."""
    classifier = CLASSIFIERS[name]

    def use():
        model = type(classifier)(**classifier.get_params(deep=False)).fit(X[:50], TAGS[:50])
        return model.predict(X[50:]), model.predict_labels(X[50:]), model.score(X, TAGS), model.label_names_.tolist()

    (is_sparse, *told), (is_dense, *expected) = in_both(stored, use)
    assert told == expected
    assert isinstance(is_sparse, sparse.csr_array)
    assert is_sparse.dtype == is_dense.dtype == np.int64
    np.testing.assert_array_equal(is_sparse.toarray(), is_dense)


@pytest.mark.filterwarnings("ignore:All labels are unknown")
@pytest.mark.parametrize("classifier", [BRkNN(3), MLkNN(3)])
def test_unknown_and_new_tags(stored, tmp_path, classifier):
    """None, partial_fit with a tag that nobody had, forget, and the file of a model."""
    some = [None if row % 7 == 0 else tags for row, tags in enumerate(TAGS)]

    def use():
        model = type(classifier)(3).fit(X[:40], some[:40])
        first = model.predict_proba(X[40:])
        model.partial_fit(X[40:], [*some[40:59], ["new", "t12"]]).forget([0, 5])
        model = load_model(save_model(model, tmp_path / "m"))
        return first, model.predict_proba(X), model.predict_labels(X), model.label_names_.tolist()

    (first, then, *told), (first_dense, then_dense, *expected) = in_both(stored, use)
    np.testing.assert_array_equal(first, first_dense)
    np.testing.assert_array_equal(then, then_dense)
    assert told == expected
    assert told[1][-1] == "new"


@pytest.mark.parametrize(
    "use",
    [
        lambda: TunedThresholdsClassifierCV(MLkNN(3), cv="loo").fit(X, [*TAGS[:-1], None]).thresholds_.tolist(),
        lambda: [part.tolist() for split in IterativeStratifiedKFold(3).split(X, TAGS) for part in split],
        lambda: MLSMOTE(random_state=0).fit_resample(X, TAGS)[1],
        lambda: InformationGainSelector(threshold=0.0).fit(X, TAGS).scores_.tolist(),
        lambda: apply_corrections(TAGS, [Correction("t12", 1, row=3), Correction("u10", 0, row=4)]),
        lambda: [str(one) for one in examine(X, TAGS)],
        lambda: audit(BRkNN(3).fit(X, TAGS)).to_records("cells"),
        lambda: StreamClassifier(BRkNN(3)).partial_fit(X[:30], TAGS[:30]).partial_fit(X[30:], TAGS[30:]).prequential_,
    ],
    ids=["thresholds", "folds", "sampler", "selector", "corrections", "examine", "audit", "stream"],
)
@pytest.mark.filterwarnings("ignore")
def test_other_functions(stored, use):
    """The storage makes no difference."""
    told, expected = in_both(stored, use)
    assert told == expected


def test_polars_has_no_sparse_columns(stored):
    """The message names tags."""
    pytest.importorskip("polars")
    stored("sparse")
    with pytest.raises(ValueError, match="or many tags, in fit"):
        BRkNN(3).fit(X, TAGS).set_output(transform="polars").predict(X)
