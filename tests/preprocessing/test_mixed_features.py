import datetime as dt
import math
import pickle
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import parametrize_with_checks

from nearlabel.lazy import BRkNN, MLkNN
from nearlabel.neighbors import ExactNeighbors
from nearlabel.persistence import load_model, save_model
from nearlabel.preprocessing import MixedFeaturesEncoder
from nearlabel.preprocessing._columns import _tfidf
from nearlabel.utils.validation import as_dense

NAMES = ["size", "age", "colour", "shape"]
TEXTS = ["wheat and corn", "corn prices", "oil", "", None, "wheat wheat corn", "banks"]


def heom(left, right, ranges):
    """The squared distance of two rows: `ranges` of numbers, None for a nominal column."""
    total = 0.0
    for u, v, width in zip(left, right, ranges, strict=True):
        if u is None or v is None:
            total += 1.0
        elif width is None:
            total += float(u != v)
        elif width > 0:
            total += ((u - v) / width) ** 2
    return total


def rows(n, *, seed, holes=0.2, values=5):
    """Two columns of numbers, on a grid so that ties abound, and two of categories, with holes in all."""
    rng = np.random.default_rng(seed)
    X = np.empty((n, 4), dtype=object)
    X[:, :2] = rng.integers(0, 5, (n, 2)).astype(float)
    for column, letters in ((2, "abcdefgh"), (3, "xyz")):
        X[:, column] = rng.choice(list(letters)[:values], n)
    X[rng.random(X.shape) < holes] = None
    X[:2] = [[0.0, 0.0, "a", "x"], [4.0, 4.0, "b", "y"]]  # so the ranges are powers of two
    return X


def ranges_of(X, nominal=(2, 3)):
    """Ranges of the known numbers."""
    known = [[v for v in column if v is not None] for column in X.T]
    return [None if a in nominal else max(known[a]) - min(known[a]) for a in range(X.shape[1])]


def squared_distances(queries, X):
    """Squared Euclidean distances, and of what is NaN those of the search."""
    difference = queries[:, np.newaxis] - X[np.newaxis]
    return np.where(np.isnan(difference), 1.0, difference**2).sum(axis=2)


def dense(X):
    """As an array."""
    return X.toarray() if sparse.issparse(X) else X


@pytest.mark.parametrize("sparse_output", [True, False, "auto"])
@pytest.mark.parametrize("holes", [0.0, 0.3])
@pytest.mark.parametrize("seed", range(3))
def test_distances_are_those_of_heom(sparse_output, holes, seed):
    """Squared distances equal a loop's to 1e-12, neighbours exactly, ties, unseen categories and holes included."""
    X, queries = rows(60, seed=seed, holes=holes, values=4), rows(25, seed=seed + 9, holes=holes, values=7)
    encoder = MixedFeaturesEncoder(missing_numbers="distance", sparse_output=sparse_output)
    encoded, asked = encoder.fit_transform(X), encoder.transform(queries)
    assert sparse.issparse(encoded) == sparse.issparse(asked)
    assert sparse_output == "auto" or sparse.issparse(encoded) == sparse_output
    width = ranges_of(X)
    of_queries = np.array([[heom(q, row, width) for row in X] for q in queries])
    of_rows = np.array([[heom(q, row, width) for row in X] for q in X])
    np.testing.assert_allclose(squared_distances(dense(asked), dense(encoded)), of_queries, rtol=0, atol=1e-12)
    np.testing.assert_array_equal(of_rows, of_rows.T)
    others = ~np.eye(len(X), dtype=bool)
    own = squared_distances(dense(encoded), dense(encoded))
    np.testing.assert_allclose(own[others], of_rows[others], rtol=0, atol=1e-12)
    search = ExactNeighbors("heom").fit(encoded)
    np.testing.assert_array_equal(search.kneighbors(asked, 9)[1], np.argsort(of_queries, kind="stable")[:, :9])
    of_rows[~others] = np.inf
    left_out = search.kneighbors(n_neighbors=9, return_distance=False)
    np.testing.assert_array_equal(left_out, np.argsort(of_rows, kind="stable")[:, :9])


def test_any_range_to_1e_12():
    """Numbers far from zero for their range, as times in seconds, keep their digits."""
    rng = np.random.default_rng(0)
    X = np.column_stack([1.7e9 + rng.integers(0, 61, 40), rng.normal(size=40), np.full(40, 3.0)])
    encoded = MixedFeaturesEncoder().fit_transform(X)
    expected = [[heom(a, b, ranges_of(X, ())) for b in X] for a in X]
    np.testing.assert_allclose(squared_distances(encoded, encoded), expected, rtol=0, atol=1e-12)


def test_a_row_is_as_far_from_itself_as_it_has_holes():
    """As a query; and a constant number counts nothing unless it is missing."""
    X = rows(40, seed=5, holes=0.4)
    X[:, 1] = np.where(np.equal(X[:, 1], None), None, 7.0)
    encoder = MixedFeaturesEncoder(missing_numbers="distance", sparse_output=False)
    encoded = encoder.fit_transform(X)
    asked = encoder.transform(X)
    itself = squared_distances(asked, encoded).diagonal()
    np.testing.assert_array_equal(itself, np.equal(X, None).sum(axis=1))
    assert squared_distances(encoder.transform([[0.0, 99.0, "a", "x"]]), encoded[:1]).item() == 0


@pytest.mark.parametrize("categorical", ["auto", [0], [0, 1, 2]])
def test_zeros_and_ones_are_numbers_or_categories(categorical):
    """Binary columns give the same distances, to the bit, whether declared or not."""
    X = np.random.default_rng(0).integers(0, 2, (30, 3))
    encoded = MixedFeaturesEncoder(categorical=categorical, sparse_output=False).fit_transform(X)
    np.testing.assert_array_equal(squared_distances(encoded, encoded), squared_distances(X, X))


def test_missing_categories_may_be_alike():
    """As a category of their own, which queries share; without one in training they are unseen."""
    X, queries = np.array([["a"], [None], [None]], dtype=object), np.array([[None], ["b"]], dtype=object)
    encoder = MixedFeaturesEncoder(missing_categories="category", sparse_output=False)
    encoded = encoder.fit_transform(X)
    assert squared_distances(encoded, encoded).tolist() == [[0, 1, 1], [1, 0, 0], [1, 0, 0]]
    assert squared_distances(encoder.transform(queries), encoded).tolist() == [[1, 0, 0], [1, 1, 1]]
    known = encoder.fit_transform(X[:1])
    assert squared_distances(encoder.transform(queries), known).tolist() == [[1], [1]]


@pytest.mark.parametrize(("strategy", "value"), [("median", 1.0), ("mean", 2.0), ("most_frequent", 0.0)])
def test_missing_numbers_are_imputed(strategy, value):
    """By what training rows say."""
    X = np.array([[0.0], [0.0], [2.0], [6.0], [np.nan]])
    encoder = MixedFeaturesEncoder(missing_numbers=strategy)
    assert encoder.fit_transform(X)[-1] == value / 6
    assert encoder.transform([[None]]) == value / 6


@pytest.mark.parametrize(("out_of_range", "value"), [("clip", 4.0), ("keep", 6.0), (0, 4.0), (0.25, 5.0), (2, 6.0)])
def test_range_and_scales(out_of_range, value):
    """Queries beyond the range go to its end, unless they are kept; scales are scikit-learn's."""
    X, query = [[0.0], [1.0], [2.0], [4.0]], [[6.0]]
    scaled = {"minmax": value / 4, "none": value, "standard": (value - 1.75) / np.std([0, 1, 2, 4])}
    for scale, expected in (scaled | {"robust": (value - 1.5) / 1.75}).items():
        encoder = MixedFeaturesEncoder(scale=scale, out_of_range=out_of_range)
        assert encoder.fit(X).transform(query) == expected
        np.testing.assert_array_equal(encoder.transform(X), encoder.fit_transform(X))


def test_a_constant_number_counts_nothing_in_queries():
    """Not even where values outside the range are kept."""
    encoder = MixedFeaturesEncoder(out_of_range="keep").fit([[3.0, 0.0], [3.0, 2.0]])
    assert encoder.transform([[5.0, 1.0]]).tolist() == [[0.0, 0.5]]


def test_weights_multiply_squared_distances():
    """Of each group; 0 leaves it out."""
    X = np.array([[0, "a", "2026-01-01", "oil"], [1, "b", "2026-01-03", "corn"]], dtype=object)
    weights = {"numbers": 2, "categories": 3, "dates": 0, "text": 0.5}
    encoder = MixedFeaturesEncoder(dates=[2], text=[3], sparse_output=False)
    for of, expected in ((None, 4.0), (weights, 5.5)):
        encoded = encoder.set_params(weights=of).fit_transform(X)
        assert squared_distances(encoded, encoded)[0, 1] == pytest.approx(expected, rel=1e-15)


@pytest.mark.parametrize("encoder", [None, CountVectorizer(), lambda texts: [[len(t), t.count("o")] for t in texts]])
def test_texts_by_the_cosine(encoder):
    """The squared distance is 1 - cosine; a text without a known word is at distance 1 from all."""
    X = np.array(TEXTS, dtype=object).reshape(-1, 1)
    queries = ["corn oil", "unknown", None]
    ours = MixedFeaturesEncoder(text=[0], text_encoder=encoder).fit(X)
    encoded, asked = ours.fit_transform(X), ours.transform(np.array(queries, dtype=object).reshape(-1, 1))
    vectors = TfidfVectorizer(sublinear_tf=True) if encoder is None else encoder
    known, words = ["" if t is None else t for t in TEXTS], ["" if t is None else t for t in queries]
    if hasattr(vectors, "fit"):
        left, right = vectors.fit(known).transform(words).toarray(), vectors.transform(known).toarray()
    else:
        left, right = np.array(vectors(words)), np.array(vectors(known))
    lengths = np.linalg.norm(left, axis=1)[:, np.newaxis] * np.linalg.norm(right, axis=1)
    cosine = np.divide(left @ right.T, lengths, out=np.zeros(lengths.shape), where=lengths > 0)
    np.testing.assert_allclose(squared_distances(dense(asked), dense(encoded)), 1 - cosine, atol=1e-12)
    empty = squared_distances(dense(encoded), dense(encoded))[3]
    np.testing.assert_allclose(np.delete(empty, 3), 1, atol=1e-15)


def test_texts_of_several_columns_are_one():
    """Texts of a sample are joined: a word has one column, wherever it is; a missing text adds nothing."""
    X = np.array([["corn", "oil and corn"], ["oil", None], [None, None], [None, "wheat"]], dtype=object)
    encoder = MixedFeaturesEncoder(text=[0, 1], feature_names=["title", "body"])
    encoded = dense(encoder.fit_transform(X))
    words = TfidfVectorizer(sublinear_tf=True)
    joined = words.fit_transform(["corn oil and corn", "oil", "", "wheat"]).toarray()
    expected = np.where(np.eye(4), 0.0, 1 - joined @ joined.T)
    np.testing.assert_allclose(squared_distances(encoded, encoded), expected, atol=1e-12)
    assert encoder.get_feature_names_out()[:4].tolist() == ["text__and", "text__corn", "text__oil", "text__wheat"]
    with pytest.raises(ValueError, match="a value in each column, got column 'body' of 4 missing ones"):
        encoder.fit(np.array([["corn", None]] * 4, dtype=object))


def test_columns_of_weight_0_are_never_out_of_range():
    """A date that no distance uses needs no warning."""
    X = np.array([["corn", dt.date(2026, 1, 1)], ["oil", dt.date(2026, 1, 5)]], dtype=object)
    later = np.array([["corn", dt.date(2027, 1, 1)]], dtype=object)
    for weight, expected in ((0, False), (0.5, True)):
        encoder = MixedFeaturesEncoder(text=[0], dates=[1], weights={"dates": weight}).fit(X)
        assert encoder.is_out_of_range(later).tolist() == [[False, expected]]


def test_dates_are_days():
    """Dates, times and texts of them; a missing one is imputed."""
    days = [dt.date(2026, 1, 1), dt.date(2026, 1, 5), None]
    times = pd.to_datetime(["2026-01-01 12:00", "2026-01-02 00:00", None]).tz_localize("Europe/Berlin")
    frame = pd.DataFrame({"day": days, "time": times, "text": ["2026-01-01", "2026-01-02T06:00", None]})
    encoder = MixedFeaturesEncoder(dates=["day", "time", "text"], scale="none").fit(frame)
    differences = np.diff(encoder.transform(frame), axis=0)
    np.testing.assert_allclose(differences, [[4, 0.5, 1.25], [-2, -0.25, -0.625]])
    assert encoder.groups_ == {"dates": [0, 1, 2]}
    in_utc = [dt.datetime(2026, 1, 1, 11), dt.datetime(2026, 1, 1, 23), None]
    polars = pl.DataFrame({"day": days, "time": in_utc})
    again = MixedFeaturesEncoder(dates=["day", "time"], scale="none").fit_transform(polars)
    np.testing.assert_array_equal(again, encoder.transform(frame)[:, :2])


def frames():
    """The same table in every container, with a category whose values are numbers."""
    columns = {
        "size": [1.5, None, 3.0, 2.0],
        "count": [1, 2, None, 4],
        "colour": ["red", None, "blue", "red"],
        "known": [True, None, False, True],
        "born": [dt.datetime(2026, 1, day) for day in (1, 2, 3, 4)],
    }
    pandas = pd.DataFrame(columns)
    nullable = pandas.convert_dtypes().astype({"colour": "category"})
    objects = np.array(list(zip(*columns.values(), strict=True)), dtype=object)
    table = pa.table(columns)
    coded = table.set_column(2, "colour", table["colour"].dictionary_encode())
    return {
        "pandas": pandas,
        "pandas, nullable": nullable,
        "polars": pl.DataFrame(columns),
        "Arrow": table,
        "Arrow, dictionary": coded,
        "objects": objects,
        "lists": objects.tolist(),
    }


@pytest.mark.parametrize("container", frames())
def test_containers(container):
    """All give the same numbers, by names where there are any."""
    X, reference = frames()[container], frames()["objects"]
    named = hasattr(X, "columns")
    encoder = MixedFeaturesEncoder(dates=["born"] if named else [4], sparse_output=False)
    expected = clone(encoder).set_params(dates=[4]).fit_transform(reference)
    np.testing.assert_array_equal(encoder.fit_transform(X), expected)
    assert encoder.groups_ == {"numbers": [0, 1], "categories": [2, 3], "dates": [4]}
    names = encoder.get_feature_names_out()
    assert names[0] == ("numbers__size" if named else "numbers__x0")
    assert len(set(names)) == expected.shape[1]
    assert ("categories__colour_red" if named else "categories__x2_red") in names


def test_categories_of_numbers():
    """Integers of categorical type, or declared, are no numbers; whether a query has them as floats does not matter."""
    frame = pd.DataFrame({"zip": [10, 20, 20], "size": [0.0, 1.0, 0.5]})
    declared = MixedFeaturesEncoder(categorical=["zip"], sparse_output=False)
    encoded = declared.fit_transform(frame)
    by_type = MixedFeaturesEncoder(sparse_output=False).fit_transform(frame.astype({"zip": "category"}))
    np.testing.assert_array_equal(encoded, by_type)
    np.testing.assert_array_equal(declared.transform(frame.astype({"zip": float})), encoded)


@pytest.mark.parametrize(
    ("parameters", "error", "message"),
    [
        (
            {"categorical": ["color"]},
            ValueError,
            "categorical must name columns of X, got 'color'. Hint: they are",
        ),
        ({"text": [7]}, ValueError, "text must name columns of X, got 7"),
        (
            {"text": "colour"},
            TypeError,
            r"text must be a sequence of names or positions, got 'colour'. Hint: \[",
        ),
        ({"text": ["colour"], "categorical": [2]}, ValueError, "text must name each column once, got 'colour' again"),
        ({"text": ["size"]}, ValueError, "X must have texts in column 'size': got 1.0"),
        ({"dates": ["size"]}, ValueError, "X must have dates, or texts like 2026-01-31, in column 'size'"),
        ({"dates": ["colour"]}, ValueError, "X must have dates, or texts like 2026-01-31, in column 'colour'"),
        ({"scale": "max"}, ValueError, "scale must be one of"),
        ({"missing_numbers": "zero"}, ValueError, "missing_numbers must be one of"),
        ({"missing_categories": "ignore"}, ValueError, "missing_categories must be one of"),
        ({"out_of_range": "cut"}, ValueError, "out_of_range must be 'clip', 'keep' or a finite number of at least 0"),
        ({"out_of_range": -1}, ValueError, "out_of_range must be 'clip', 'keep' or .*, got -1"),
        ({"out_of_range": True}, ValueError, "out_of_range must be 'clip', 'keep' or .*, got True"),
        ({"out_of_range": np.nan}, ValueError, "out_of_range must be 'clip', 'keep' or .*, got nan"),
        ({"sparse_output": "csr"}, TypeError, "sparse_output must be True or False"),
        ({"text_encoder": 3}, TypeError, "text_encoder must be a transformer of texts or a function, got 3"),
        ({"weights": {"words": 1}}, ValueError, "weights must be a mapping of some of"),
        ({"weights": {"text": -1}}, ValueError, "weights must be finite numbers of at least 0, got -1 for 'text'"),
        (
            {"weights": {"numbers": 2}, "missing_numbers": "distance"},
            ValueError,
            "weights of numbers and dates must be 1 with missing_numbers='distance'",
        ),
    ],
)
def test_bad_parameters(parameters, error, message):
    """Each is named with what was expected."""
    frame = pd.DataFrame([[1.0, 2, "red", "x"], [2.0, 3, "blue", "y"]], columns=NAMES)
    with pytest.raises(error, match=message):
        MixedFeaturesEncoder(**parameters).fit(frame)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ([None, None], "X must have a value in each column, got column 'c' of 2 missing ones"),
        (["a", 1], "X must have categories in column 'c': got values of type int, str. Hint: make all of them texts"),
        ([[1], [2]], "X must have categories in column 'c': got values of type list"),
        ([np.inf, 1.0], "X must have numbers in column 'c': got infinity"),
        ([np.ones(2), np.ones(2)], "X must have categories in column 'c': got values of type ndarray"),
        (pd.to_datetime(["2026-01-01", "2026-01-02"]), r"got dates in column 'c'. Hint: dates=\['c'\]"),
    ],
)
def test_bad_columns(values, message):
    """Each is named with what it holds."""
    with pytest.raises(ValueError, match=message):
        MixedFeaturesEncoder().fit(pd.DataFrame({"a": [1, 2], "c": values}))


def test_columns_of_arrays_are_named_by_their_position():
    """Of the array, not of the columns of their kind."""
    X = np.array([["a", 1, "x"], ["b", 2, None]], dtype=object)
    with pytest.raises(ValueError, match="X must have numbers in column 1: could not convert string"):
        MixedFeaturesEncoder().fit(X).transform([["a", "big", "x"]])
    with pytest.raises(ValueError, match="got column 2 of 1 missing ones"):
        MixedFeaturesEncoder(categorical=[2]).fit(X[1:])


def test_other_queries_are_refused():
    """Texts in a column of numbers, other columns, sparse rows, and rows from an encoder of another length."""
    encoder = MixedFeaturesEncoder().fit(pd.DataFrame({"a": [1, 2], "b": ["x", "y"]}))
    with pytest.raises(ValueError, match="X must have numbers in column 'a': could not convert"):
        encoder.transform(pd.DataFrame({"a": ["big"], "b": ["x"]}))
    with pytest.raises(ValueError, match="feature names"):
        encoder.transform(pd.DataFrame({"b": ["x"], "a": [1]}))
    with pytest.raises(TypeError, match="Sparse data was passed"):
        MixedFeaturesEncoder().fit(sparse.eye_array(3))
    with pytest.raises(ValueError, match="text_encoder must return a row for each of 2 texts"):
        MixedFeaturesEncoder(text=[0], text_encoder=lambda texts: [[1.0]]).fit([["a"], ["b"]])


def test_identifiers_are_noticed():
    """A category that nearly each row has for itself says nothing; few rows may differ."""
    X = np.array([[f"id {i}", "a"] for i in range(30)], dtype=object)
    with pytest.warns(UserWarning, match="Column 0 has 30 categories in 30 samples, like an identifier. Hint: leave"):
        MixedFeaturesEncoder().fit(X)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        MixedFeaturesEncoder().fit(X[:10])


@pytest.fixture
def problem():
    """A frame of everything, and label sets."""
    X = rows(80, seed=3)
    frame = pd.DataFrame(X, columns=NAMES).astype({"size": float, "age": float})
    frame["title"] = [TEXTS[i % len(TEXTS)] for i in range(80)]
    return frame, (np.random.default_rng(0).random((80, 3)) < 0.5).astype(int)


@pytest.mark.parametrize("missing", ["median", "distance"])
def test_in_a_pipeline(problem, missing, tmp_path):
    """With ML-kNN: leave-one-out, explanations, a pickle and a kept model that asks for no trust."""
    X, Y = problem
    encoder = MixedFeaturesEncoder(text=["title"], missing_numbers=missing)
    search = ExactNeighbors("heom" if missing == "distance" else "euclidean")
    model = make_pipeline(encoder, MLkNN(3, search=search)).fit(X, Y)
    scores = model.predict_proba(X)
    assert np.array_equal(model[-1].search_.kneighbors(model[:-1].transform(X), 3)[1].shape, (80, 3))
    assert np.isfinite(model[-1].loo_predict_proba()).all()
    assert len(model[-1].explain(model[:-1].transform(X[:2]))) == 2
    kept = load_model(save_model(model, tmp_path / "m.skops"))
    for again in (kept, pickle.loads(pickle.dumps(model))):
        np.testing.assert_array_equal(again.predict_proba(X), scores)
        assert again[0].get_feature_names_out().tolist() == model[0].get_feature_names_out().tolist()


def test_grid_search_and_frames_as_output(problem):
    """Parameters are tuned like others; data frames come out if asked for, and a global setting changes nothing."""
    X, Y = problem
    pipeline = make_pipeline(MixedFeaturesEncoder(), MLkNN(3))
    grid = GridSearchCV(
        pipeline,
        {"mixedfeaturesencoder__weights": [None, {"categories": 2.0}]},
        scoring="f1_micro",
        cv=2,
        error_score="raise",
    ).fit(X[NAMES], Y)
    assert all(math.isfinite(score) for score in grid.cv_results_["mean_test_score"])
    encoder = MixedFeaturesEncoder(sparse_output=False).set_output(transform="pandas")
    out = encoder.fit_transform(X[NAMES])
    assert out.columns.tolist() == encoder.get_feature_names_out().tolist()
    np.testing.assert_array_equal(out, clone(encoder).set_output(transform="default").fit_transform(X[NAMES]))


@parametrize_with_checks([MixedFeaturesEncoder()])
def test_scikit_learn_checks(estimator, check):
    """scikit-learn's own checks pass, all of them."""
    check(estimator)


@pytest.mark.parametrize(
    ("frame", "message"),
    [
        (pd.DataFrame([[1, 2, 3]] * 2, columns=["a", "b", "a"]), "columns of distinct names, got 'a' 2 times"),
        (pd.DataFrame({"t": ["", None, "  "]}), "a value in each column, got column 't' of 3 missing ones"),
    ],
)
def test_columns_that_say_nothing(frame, message):
    """A name that stands there twice, and texts without a word, are refused by name."""
    text = ["t"] if "t" in frame else []
    with pytest.raises(ValueError, match=f"X must have {message}"):
        MixedFeaturesEncoder(text=text).fit(frame)


def test_words_are_one_entry_of_a_file(tmp_path):
    """Any words, with line breaks too, come back in their places; other encoders are stored as they are."""
    texts = np.array([["one two"], ["two three\nfour"], ["Grüße 'five' 一二"]], dtype=object)
    for analyzer in ("word", "char"):
        encoder = MixedFeaturesEncoder(text=[0], text_encoder=TfidfVectorizer(analyzer=analyzer))
        model = make_pipeline(encoder, BRkNN(1)).fit(texts, [[1, 0], [0, 1], [1, 1]])
        expected = model[0].transform(texts)
        for other in (pickle.loads(pickle.dumps(model)), load_model(save_model(model, tmp_path / f"{analyzer}.skops"))):
            np.testing.assert_array_equal(as_dense(other[0].transform(texts)), as_dense(expected))
            assert other[0].get_feature_names_out().tolist() == model[0].get_feature_names_out().tolist()
            again = pickle.loads(pickle.dumps(pickle.loads(pickle.dumps(other))))  # not used in between
            assert again[0].get_feature_names_out().tolist() == model[0].get_feature_names_out().tolist()
    (parts,) = [part for _, part, _ in model[0].transformer_.transformers_ if hasattr(part[-1], "encoder_")]
    assert "vocabulary_" not in vars(parts[-1].__getstate__()["encoder_"])
    assert parts[-1].encoder_.vocabulary_, "a copy lacks it, the encoder does not"


@pytest.mark.parametrize("sparse_output", [True, False])
@pytest.mark.parametrize("scale", ["minmax", "standard", "robust", "none"])
@pytest.mark.parametrize("missing_numbers", ["median", "distance"])
@pytest.mark.parametrize(
    "text_encoder", [None, CountVectorizer(), lambda texts: [[len(t), t.count("o")] for t in texts]]
)
def test_queries_are_encoded_as_by_the_parts(problem, sparse_output, scale, missing_numbers, text_encoder):
    """`transform` skips the checks of the fitted parts, not a bit of what they make, however many rows it gets."""
    X, _ = problem
    X["day"] = [None if at % 7 == 0 else dt.datetime(2026, 1, 1 + at % 30) for at in range(len(X))]
    encoder = MixedFeaturesEncoder(
        text=["title"], dates=["day"], scale=scale, missing_numbers=missing_numbers, sparse_output=sparse_output,
        text_encoder=text_encoder, weights={"categories": 3.0, "text": 0.5}, out_of_range=0.1,
    ).fit(X[:50])  # fmt: skip
    queries = X.assign(size=2 * X["size"], shape=X["shape"].replace("x", "new"))
    for rows in (queries, queries[:1], queries[7:8]):
        expected, encoded = encoder.transformer_.transform(rows), encoder.transform(rows)
        assert sparse.issparse(encoded) == sparse_output
        np.testing.assert_array_equal(dense(encoded), dense(expected))
        if sparse_output:
            np.testing.assert_array_equal(encoded.indices, sparse.csr_array(expected).indices)


@pytest.mark.parametrize("norm", ["l1", "l2", None])
@pytest.mark.parametrize("parameters", [{}, {"use_idf": False}, {"sublinear_tf": True, "dtype": np.float32}])
def test_words_are_weighed_as_by_scikit_learn(norm, parameters):
    """To the bit, with every norm, idf and type."""
    words = np.random.default_rng(0).choice([f"w{i}" for i in range(40)], (30, 25))
    texts = [*map(" ".join, words), "", "unknown"]
    vectorizer = TfidfVectorizer(norm=norm, **parameters).fit(texts[:20])
    expected, rows = vectorizer.transform(texts), _tfidf(vectorizer, texts)
    assert rows.data.dtype == expected.data.dtype
    np.testing.assert_array_equal(rows.toarray(), expected.toarray())


def test_places_of_categories_are_in_no_file(problem):
    """They follow from the categories: a pickle has them not, and another fit forgets them."""
    X, _ = problem
    encoder = MixedFeaturesEncoder(sparse_output=False).fit(X[NAMES])
    overlap = encoder.transformer_.named_transformers_["categories"]["overlap"]
    assert len(overlap._places) == 2
    assert "_places" not in overlap.__getstate__()
    expected = clone(overlap).fit(np.array([["b"], ["z"]], dtype=object)).transform(np.array([["z"]], dtype=object))
    again = overlap.fit(np.array([["b"], ["z"]], dtype=object)).transform(np.array([["z"]], dtype=object))
    np.testing.assert_array_equal(again.toarray(), expected.toarray())


@pytest.mark.parametrize("container", [pd.DataFrame, pl.DataFrame])
def test_frames_without_a_row(container):
    """Are refused for what they lack, in training and as queries."""
    frame = container({"a": [1.0, 2.0], "c": ["x", "y"]})
    encoder = MixedFeaturesEncoder().fit(frame)
    for call in (encoder.transform, encoder.is_out_of_range, encoder.fit):
        with pytest.raises(ValueError, match=r"X must have at least one row, got a DataFrame of shape \(0, 2\)"):
            call(frame[:0])
