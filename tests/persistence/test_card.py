import json
from datetime import UTC, datetime, timedelta

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.neighbors import KNeighborsClassifier, KNeighborsTransformer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from nearlabel import labels
from nearlabel.datasets import Dataset
from nearlabel.lazy import BRkNN, MLkNN
from nearlabel.neighbors import ExactNeighbors
from nearlabel.persistence import DataSummary, ModelCard, read_card, save_model
from nearlabel.persistence._card import FORMAT
from nearlabel.rivals import BinaryRelevance
from nearlabel.selection import NeighborsPerLabel
from nearlabel.thresholds import FixedThresholdsClassifier, TunedThresholdsClassifierCV

X = np.array([[0.0, 1.0], [1.0, 0.5], [2.0, 0.0], [3.0, 1.0]])
Y = np.array([[1, 0, 1], [0, 0, 1], [1, 0, 1], [0, 0, 0]])


def model():
    """A small fitted model."""
    return MLkNN(1).fit(X, Y)


def test_all_that_was_told_comes_back(tmp_path):
    """Data, scores and how they were measured, notes, date."""
    dataset = Dataset(X, Y, ("x", "[y]"), ("a", "b", "ü"), "toy")
    date = datetime(2026, 3, 1, 12, tzinfo=UTC)
    told = {"scores": {"micro_f1": 0.5, "nan": np.nan}, "measured": "twice", "notes": "two\nlines", "date": date}
    card = read_card(save_model(model(), tmp_path / "m", data=dataset, **told))
    assert (card.created, card.measured, card.notes) == ("2026-03-01T12:00:00+00:00", "twice", "two\nlines")
    assert card.scores["micro_f1"] == 0.5
    assert np.isnan(card.scores["nan"])
    data = card.data
    assert (data.name, data.rows, data.features, data.labels) == ("toy", 4, 2, 3)
    assert (data.feature_names, data.label_names) == (("x", "[y]"), ("a", "b", "ü"))
    assert data.label_counts == tuple(Y.sum(axis=0))
    assert (data.cardinality, data.density) == (labels.cardinality(Y), labels.density(Y))
    assert (card.format, card.method, card.foreign_types) == (FORMAT, "MLkNN", ())


def test_what_the_model_knows_where_nothing_is_told(tmp_path):
    """Numbers and names from the fit, rows from the search; the time is now, in UTC."""
    frame, tags = pd.DataFrame(X, columns=["x", "y"]), pd.DataFrame(Y, columns=["a", "b", "c"])
    card = read_card(save_model(MLkNN(1).fit(frame, tags), tmp_path / "m"))
    assert card.data == DataSummary(rows=4, features=2, labels=3, feature_names=("x", "y"), label_names=("a", "b", "c"))
    made = datetime.fromisoformat(card.created)
    assert made.utcoffset() == timedelta(0)
    assert abs(datetime.now(UTC) - made) < timedelta(minutes=5)


def test_the_method_and_its_parameters():
    """Classes one in the other, and every parameter as text of one line."""
    inner = make_pipeline(StandardScaler(), MLkNN(1, search=ExactNeighbors("cosine")))
    card = ModelCard.of(TunedThresholdsClassifierCV(inner, cv=2).fit(X, Y))
    assert card.method == "TunedThresholdsClassifierCV(Pipeline(StandardScaler, MLkNN))"
    assert card.parameters["estimator__mlknn__search__metric"] == "'cosine'"
    assert card.parameters["estimator__mlknn__n_neighbors"] == "1"
    assert "estimator__mlknn__search__n_neighbors" not in card.parameters  # MLkNN asks for its own number
    assert card.parameters["estimator__mlknn"] == "MLkNN"
    assert card.parameters["cv"] == "2"
    assert not any("steps" in name for name in card.parameters)
    long = BRkNN(
        1, search=ExactNeighbors("minkowski", metric_params={"w": np.ones(2), "long": ["x"] * 1000})
    ).get_params()
    text = ModelCard.of(BRkNN(1).fit(X, Y).set_params(**long)).parameters["search__metric_params"]
    assert len(text) <= 300
    assert text.endswith(" ...")


def test_the_number_of_neighbours_of_a_graph():
    """A transformer makes its graph with the number that it has: it is on the card, as is that of a base classifier."""
    graph = BRkNN(1, search=KNeighborsTransformer(n_neighbors=2)).fit(X, Y)
    assert ModelCard.of(graph).parameters["search__n_neighbors"] == "2"
    base = BinaryRelevance(KNeighborsClassifier(n_neighbors=2)).fit(X, Y)
    assert ModelCard.of(base).parameters["estimator__n_neighbors"] == "2"


def test_thresholds_by_label():
    """Of classifiers that have them, also at the end of a pipeline; infinite ones survive JSON that has no infinity."""
    fixed = FixedThresholdsClassifier(MLkNN(1), [0.3, np.inf, 0.5]).fit(X, Y)
    for one in (fixed, make_pipeline(StandardScaler(), fixed).fit(X, Y)):
        card = ModelCard.of(one)
        assert card.thresholds == (0.3, np.inf, 0.5)
        json.loads(card.to_json(), parse_constant=pytest.fail)
        assert ModelCard.from_json(card.to_json()) == card
    assert ModelCard.of(model()).thresholds is None


def test_containers_and_names():
    """Rows and figures are those of the data, in whatever they come."""
    plain = DataSummary.of_data((X, Y))
    frames = DataSummary.of_data((pd.DataFrame(X, columns=["x", "y"]), pd.DataFrame(Y, columns=["a", "b", "c"])))
    thin = DataSummary.of_data((sparse.csr_matrix(X), sparse.coo_array(Y)))
    lists = DataSummary.of_data((X.tolist(), Y.tolist()))
    for other in (frames, thin, lists):
        assert (other.rows, other.features, other.labels, other.cardinality) == (4, 2, 3, plain.cardinality)
        assert other.label_counts == plain.label_counts
    assert plain == lists
    assert plain.feature_names is None
    assert (plain.label_names, frames.label_names) == (("0", "1", "2"), ("a", "b", "c"))


def test_counts_of_labels_are_checked_and_older_cards_have_none():
    """As many as labels; a card that was written before they were told is read without."""
    content = json.loads(ModelCard.of(model(), data=(X, Y)).to_json())
    assert content["data"].pop("label_counts") == Y.sum(axis=0).tolist()
    older = ModelCard.from_json(json.dumps(content | {"format": 1}))
    assert (older.format, older.data.label_counts, older.data.rows) == (1, None, 4)
    content["data"]["label_counts"] = [1, 2]
    with pytest.raises(ValueError, match="data: 2 counts of 3"):
        ModelCard.from_json(json.dumps(content))


def test_digests_tell_data_apart():
    """The same values have the same digest, in any layout; one other value has another."""
    other = X.copy()
    other[2, 1] = np.nan
    digests = [DataSummary.of_data((rows, Y)).digest_X for rows in (X, np.asfortranarray(X), X[::-1], other)]
    assert digests[0] == digests[1]
    assert len(set(digests)) == 3
    scrambled = sparse.csr_array(([2.0, 1.0, 3.0], [1, 0, 1], [0, 3, 3]), shape=(2, 2))
    plain = sparse.csr_array([[1.0, 5.0], [0.0, 0.0]])
    pair = [DataSummary.of_data((rows, Y[:2])).digest_X for rows in (scrambled, plain)]
    assert pair[0] == pair[1]


def test_texts_are_data_too():
    """Of a pipeline that makes features itself: rows are counted, features are not."""
    texts = ["a b", "b c", "a c", "c c"]
    pipeline = make_pipeline(TfidfVectorizer(token_pattern=r"\w"), BRkNN(1)).fit(texts, Y)
    data = ModelCard.of(pipeline, data=(texts, Y)).data
    assert (data.rows, data.features) == (4, None)
    assert data.digest_X == DataSummary.of_data((["".join(text) for text in texts], Y)).digest_X
    assert data.digest_X != DataSummary.of_data((texts[::-1], Y)).digest_X


@pytest.mark.parametrize(
    ("fitted", "rows"),
    [
        (BRkNN(1), 4),
        (make_pipeline(StandardScaler(), MLkNN(1)), 4),
        (NeighborsPerLabel(MLkNN(), n_neighbors=[1, 1, 2]), 4),
        (FixedThresholdsClassifier(MLkNN(1), 0.5), None),
        (BinaryRelevance(random_state=0), None),
    ],
    ids=lambda value: type(value).__name__,
)
def test_rows_are_told_by_who_searches_them(fitted, rows):
    """Alone or behind other steps; who may have been given a fitted classifier does not know."""
    data = ModelCard.of(fitted.fit(X, Y)).data
    assert (data.rows, data.features, data.labels) == (rows, 2, 3)


def test_names_that_the_data_lack_are_those_of_the_model(tmp_path):
    """And the other way round: an array has no names, so that it contradicts none."""
    frame, tags = pd.DataFrame(X, columns=["x", "y"]), pd.DataFrame(Y, columns=["a", "b", "c"])
    named = (("x", "y"), ("a", "b", "c"))
    for fitted, data in (((frame, tags), (X, Y)), ((X, Y), (frame, tags)), ((frame, tags), (frame, tags))):
        summary = read_card(save_model(MLkNN(1).fit(*fitted), tmp_path / "m", data=data)).data
        assert (summary.feature_names, summary.label_names) == named
        assert summary.digest_X == DataSummary.of_data(data).digest_X
    assert ModelCard.of(model(), data=(X, Y)).data.label_names == ("0", "1", "2")


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ((X[:3], Y[:3]), "data must be those of the fitted model, with rows 4, got 3"),
        ((X[:, :1], Y), "data must be those of the fitted model, with features 2, got 1"),
        ((X, Y[:, :2]), "data must be those of the fitted model, with labels 3, got 2"),
        ((pd.DataFrame(X, columns=["y", "x"]), Y), r"with feature names \('x', 'y'\), got \('y', 'x'\)"),
        (
            Dataset(X, Y, ("x", "y"), ("a", "b", "d"), "toy"),
            r"with label names \('a', 'b', 'c'\), got \('a', 'b', 'd'\)",
        ),
    ],
)
def test_data_that_contradict_the_model(tmp_path, data, message):
    """Refused before anything is written, of a classifier as of a pipeline."""
    frame, tags = pd.DataFrame(X, columns=["x", "y"]), pd.DataFrame(Y, columns=["a", "b", "c"])
    scaler = StandardScaler().set_output(transform="pandas")
    for classifier in (MLkNN(1), make_pipeline(scaler, MLkNN(1))):
        with pytest.raises(ValueError, match=message):
            save_model(classifier.fit(frame, tags), tmp_path / "m", data=data)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("told", "error", "message"),
    [
        ({"data": X}, TypeError, r"data must be a Dataset or a tuple \(X, Y\), got ndarray"),
        ({"data": (X, Y[:2])}, ValueError, "data must have as many rows in X as in Y, got 4 and 2"),
        ({"data": (X, Y + 1)}, ValueError, "y must contain 0 and 1 only"),
        ({"scores": 3}, TypeError, "scores must map names of metrics to numbers, got 3"),
        ({"scores": {"f": "good"}}, TypeError, "scores must map names of metrics to numbers"),
        ({"scores": {1: 0.5}}, TypeError, "scores must map names of metrics to numbers"),
        ({"notes": 3}, TypeError, "notes must be a str, got 3"),
        ({"measured": None}, TypeError, "measured must be a str, got None"),
        ({"date": "today"}, TypeError, "date must be a datetime, got 'today'"),
    ],
)
def test_bad_arguments(tmp_path, told, error, message):
    """Named before anything is written."""
    with pytest.raises(error, match=message):
        save_model(model(), tmp_path / "m", **told)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array, pd.DataFrame, np.ma.masked_invalid])
def test_unknown_labels_are_counted(container):
    """Figures are those of the known cells; a card of data without unknown ones is as older versions read it."""
    holes = Y.astype(float)
    holes[1:, 0] = np.nan
    model = BRkNN(1).fit(X, Y)
    card = ModelCard.of(model, data=(X, container(holes)))
    assert ModelCard.from_json(card.to_json()).data == card.data
    assert (card.data.unknown_cells, card.data.label_counts) == (3, (1, 0, 3))
    assert card.data.cardinality == 1 + 0 + 3 / 4
    assert "unknown_cells" not in json.loads(ModelCard.of(model, data=(X, Y)).to_json())["data"]
    content = json.loads(card.to_json())
    content["data"]["unknown_cells"] = -1
    with pytest.raises(ValueError, match="unknown_cells: no whole number from 0"):
        ModelCard.from_json(json.dumps(content))
