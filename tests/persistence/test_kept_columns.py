import json
import zipfile
from functools import partial

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from nearlabel.lazy import MLMLM, NLDD, BRkNN, CMLkNN, LPkNN, MLkNN
from nearlabel.persistence import _archive, load_model, read_card, read_kept, save_model
from nearlabel.persistence._card import FORMAT

X = np.array([[0.0, 1.0], [1.0, 0.5], [2.0, 0.0], [3.0, 1.0]])
Y = np.array([[1, 0, 1], [0, 0, 1], [1, 0, 1], [0, 1, 0]])
TITLES = ["Abbey Road", "Help!", "two\nlines \x1b[31m", 'a "quoted" ü, </script>']


def model():
    """A small fitted model."""
    return MLkNN(1).fit(X, Y)


def test_what_was_kept_comes_back(tmp_path):
    """As text, in the order given; ids may occur twice; the card says what is kept; the model is the same."""
    keep = {"id": [4711, 12, 12, 5], "title": TITLES}
    path = save_model(model(), tmp_path / "m", data=(X, Y), keep=keep)
    assert read_kept(path) == {"id": ("4711", "12", "12", "5"), "title": tuple(TITLES)}
    assert list(read_kept(path)) == ["id", "title"]
    card = read_card(path)
    assert (card.kept, card.format) == (("id", "title"), FORMAT)
    assert json.loads(card.to_json())["kept"] == ["id", "title"]
    np.testing.assert_array_equal(load_model(path).predict_proba(X), model().predict_proba(X))


def test_a_data_frame_of_any_values(tmp_path):
    """Missing values become empty text; numbers and dates text."""
    frame = pd.DataFrame(
        {
            "n": np.arange(4),
            "date": [pd.NaT, *pd.to_datetime(["2026-01-01"] * 3)],
            "text": pd.array(["a", None, "b", "c"], dtype="string"),
            "other": [None, np.nan, 1.5, True],
        }
    )
    kept = read_kept(save_model(model(), tmp_path / "m", keep=frame))
    assert kept == {
        "n": ("0", "1", "2", "3"),
        "date": ("", *["2026-01-01 00:00:00"] * 3),
        "text": ("a", "", "b", "c"),
        "other": ("", "", "1.5", "True"),
    }


@pytest.mark.parametrize("keep", [None, {}])
def test_nothing_is_kept_unasked(tmp_path, keep):
    """The file has the members that it always had, and a card that does not name kept columns."""
    path = save_model(model(), tmp_path / "m", keep=keep)
    with zipfile.ZipFile(path) as archive:
        assert "kept.jsonl" not in archive.namelist()
        card = json.loads(archive.read("nearlabel.json"))
    assert card["format"] == FORMAT
    assert "kept" not in card
    assert read_kept(path) == {}
    assert read_card(path).kept == ()


def test_the_file_grows_by_what_is_kept(tmp_path):
    """A thousand titles of 40 random characters take about their own room."""
    rng = np.random.default_rng(0)
    X_, Y_ = rng.normal(size=(1000, 3)), rng.integers(0, 2, (1000, 2))
    titles = ["".join(map(chr, row)) for row in rng.integers(97, 123, (1000, 40))]
    fitted = BRkNN(3).fit(X_, Y_)
    sizes = [save_model(fitted, tmp_path / "m", keep=keep).stat().st_size for keep in (None, {"title": titles})]
    assert 0 < sizes[1] - sizes[0] < 45_000


@pytest.mark.parametrize(
    ("keep", "error", "message"),
    [
        ({"id": [1, 2, 3]}, ValueError, "keep must have a value for each of 4 training samples, got 3 of 'id'"),
        ({"id": "abcd"}, TypeError, "keep must map 'id' to a sequence of texts or numbers, got 'abcd'"),
        ({"id": 7}, TypeError, "keep must map 'id' to a sequence"),
        ({"id": [1, 2, 3, [4]]}, TypeError, r"got \[4\] in it"),
        ({"": [1, 2, 3, 4]}, TypeError, "by a str that is not empty, got ''"),
        ({5: [1, 2, 3, 4]}, TypeError, "by a str that is not empty, got 5"),
        (["id"], TypeError, "keep must map names of columns to their values, got list"),
    ],
)
def test_columns_that_cannot_be_kept(tmp_path, keep, error, message):
    """The message says what is wrong; nothing is written."""
    with pytest.raises(error, match=message):
        save_model(model(), tmp_path / "m", keep=keep)
    assert list(tmp_path.iterdir()) == []


def test_too_much_to_keep(tmp_path, monkeypatch):
    """What could not be read is not written."""
    monkeypatch.setattr(_archive, "LARGEST_KEPT", 20)
    with pytest.raises(ValueError, match="keep must take at most 20 bytes, got"):
        save_model(model(), tmp_path / "m", keep={"title": TITLES})
    assert list(tmp_path.iterdir()) == []


def forged(path, tmp_path, content):
    """A copy of a model's file with other kept columns; None: without."""
    copy = tmp_path / "forged"
    with zipfile.ZipFile(path) as archive, zipfile.ZipFile(copy, "w", zipfile.ZIP_DEFLATED) as other:
        for name in archive.namelist():
            if name != "kept.jsonl":
                other.writestr(name, archive.read(name))
        if content is not None:
            other.writestr("kept.jsonl", content)
    return copy


@pytest.mark.parametrize(
    "content",
    [
        None,
        b"",
        b'["a"]\n' * 3,
        b'["a"]\n' * 5,
        b'["a","b"]\n' * 4,
        b"[1]\n" * 4,
        b'{"a": 1}\n' * 4,
        b"[[]]\n" * 4,
        b'"a"\n' * 4,
        b'["a"\n' * 4,
        b"\xff\n" * 4,
        b"[" * 10**6 + b"\n\n\n\n",
    ],
)
def test_forged_columns(tmp_path, content):
    """One line says that the file is damaged; the model can still be loaded."""
    path = save_model(model(), tmp_path / "m", keep={"title": TITLES})
    copy = forged(path, tmp_path, content)
    with pytest.raises(ValueError, match="forged must be the file of a model, got a damaged one") as caught:
        read_kept(copy)
    assert "\n" not in str(caught.value)
    assert load_model(copy).n_neighbors == 1


def test_columns_that_unpack_to_too_much(tmp_path, monkeypatch):
    """A small file that declares, or holds, more than the limit is refused before it is parsed."""
    path = save_model(model(), tmp_path / "m", keep={"title": TITLES})
    assert _archive.LARGEST_KEPT == 2**27
    monkeypatch.setattr(_archive, "LARGEST_KEPT", 1000)
    copy = forged(path, tmp_path, b'["' + b"x" * 10**6 + b'"]\n')
    with pytest.raises(ValueError, match=r"kept.jsonl must have at most 1000 bytes, got 1000005"):
        read_kept(copy)


@pytest.mark.parametrize("classifier", [BRkNN(2), MLkNN(2), LPkNN(2)])
def test_neighbours_get_names(tmp_path, classifier):
    """The kept columns of each neighbour's row, after its number; text and HTML show them, and HTML escapes them."""
    fitted = classifier.fit(X, Y)
    kept = read_kept(save_model(fitted, tmp_path / "m", keep={"id": list("abcd"), "name": TITLES}))
    (explanation,) = fitted.explain([[3.0, 0.9]])
    named = explanation.with_kept(kept)
    assert list(named.neighbors)[:3] == ["row", "id", "name"]
    assert (explanation.kept, named.kept, named.to_dict()["kept"]) == ((), ["id", "name"], ["id", "name"])
    assert named.with_kept({"year": [1969] * 4}).kept == ["year", "id", "name"]
    rows = explanation.neighbors["row"]
    assert named.neighbors["name"].tolist() == [TITLES[row] for row in rows]
    assert "name" not in explanation.neighbors
    frame = named.to_frame("neighbors")
    assert frame["id"].tolist() == ["abcd"[row] for row in rows]
    head = next(line for line in str(named).splitlines() if line.startswith("neighbour"))
    assert head.split()[:3] == ["neighbour", "id", "name"]
    assert 'a "quoted" ü' in str(named)
    assert "</script>" not in named._repr_html_()
    assert "&lt;/script&gt;" in named._repr_html_()


def test_names_that_the_table_uses_itself():
    """They get a prefix; nothing of the explanation is lost."""
    (explanation,) = BRkNN(2).fit(X, Y).explain(X[:1])
    kept = {name: list("wxyz") for name in ("row", "kept_row", "distance", "labels", "flip", "score")}
    named = explanation.with_kept(kept)
    own = ["row", "kept_row", "kept_kept_row", "kept_distance", "kept_labels", "kept_flip", "kept_score"]
    assert list(named.neighbors)[:7] == own
    assert named.neighbors["distance"].tolist() == explanation.neighbors["distance"].tolist()
    assert "kept flip" in named._repr_html_()  # the text has no room for all of them
    assert named.indicator.shape == (2, 3)


@pytest.mark.filterwarnings("ignore:The binomial regression:sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("n_names", [3, 5])
@pytest.mark.parametrize("classifier", [BRkNN(2), MLMLM(), NLDD(), CMLkNN(2)])
def test_columns_of_another_length(classifier, n_names):
    """Those of other data are refused, whether or not they have a value for each neighbour."""
    (explanation,) = classifier.fit(X, Y).explain(X[:1])
    assert explanation.n_rows == 4
    message = f"kept must have a value for each of 4 training samples, got {n_names} of 'id'"
    with pytest.raises(ValueError, match=message):
        explanation.with_kept({"id": list(range(n_names))})


@pytest.mark.parametrize("given", [pd.Series(TITLES), TITLES, pl.Series(TITLES), np.array(TITLES)])
def test_what_is_no_table(tmp_path, given):
    """A column without a name is refused by both functions, with a hint."""
    (explanation,) = BRkNN(2).fit(X, Y).explain(X[:1])
    save = partial(save_model, model(), tmp_path / "m")
    for name, use in (("kept", explanation.with_kept), ("keep", lambda keep: save(keep=keep))):
        message = f'{name} must map names of columns to their values, got .*Hint: {{"title": {name}}}'
        with pytest.raises(TypeError, match=message):
            use(given)


SHUFFLED = pd.DataFrame({"id": list("abcd"), "name": TITLES}, index=[2, 0, 3, 1])


@pytest.mark.parametrize(
    "frame",
    [
        SHUFFLED,
        dict(SHUFFLED.items()),
        SHUFFLED.to_dict("list"),
        {name: column.to_numpy() for name, column in SHUFFLED.items()},
        SHUFFLED.astype({"id": "category"}),
        pl.from_pandas(SHUFFLED),
        pa.table(SHUFFLED.reset_index(drop=True)),
        dict(zip(SHUFFLED, pa.table(SHUFFLED.reset_index(drop=True)).columns, strict=True)),
    ],
    ids=["frame", "series", "lists", "arrays", "categories", "polars", "table", "arrow"],
)
def test_names_go_by_place(tmp_path, frame):
    """Not by the index of a frame that was shuffled, or split: the same in an explanation, and in a file."""
    fitted = BRkNN(3).fit(X, Y)
    kept = read_kept(save_model(fitted, tmp_path / "m", keep=frame))
    assert kept == {"id": tuple("abcd"), "name": tuple(TITLES)}
    (explanation,) = fitted.explain([[3.0, 0.9]])
    neighbors = explanation.with_kept(frame).neighbors
    assert neighbors["id"].tolist() == ["abcd"[row] for row in neighbors["row"]]
    assert neighbors["name"].tolist() == [TITLES[row] for row in neighbors["row"]]


def test_two_columns_of_one_name():
    """One of them would be lost."""
    (explanation,) = BRkNN(2).fit(X, Y).explain(X[:1])
    with pytest.raises(ValueError, match="kept must have columns of distinct names"):
        explanation.with_kept(SHUFFLED.set_axis(["id", "id"], axis=1))


def test_names_of_samples_with_weight():
    """A sample of weight 0 is no training sample: names of all would be those of others."""
    (explanation,) = BRkNN(2).fit(X, Y, sample_weight=[0, 1, 1, 1]).explain(X[:1])
    with pytest.raises(ValueError, match="kept must have a value for each of 3 training samples, got 4"):
        explanation.with_kept({"name": TITLES})
    neighbors = explanation.with_kept({"name": TITLES[1:]}).neighbors
    assert neighbors["name"].tolist() == [TITLES[1:][row] for row in neighbors["row"]]
