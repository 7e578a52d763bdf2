"""The doctor on columns and orders of rows that tell the labels: found where planted, and nowhere else."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from scipy.stats import rankdata

from nearlabel.datasets import examine
from nearlabel.datasets.doctor import _leaks

N = 400
LABELS = ("calm", "sad", "wild")
CONTAINERS = {"dense": np.asarray, "sparse": sparse.csr_array}


@pytest.fixture
def labels():
    """Three labels, each of about a third of the rows."""
    return np.random.default_rng(1).integers(0, 3, (N, len(LABELS))) // 2


def evidence(found, kind):
    """The evidence of the one finding of a kind, or None."""
    of_kind = [finding.evidence for finding in found if finding.kind == kind]
    assert len(of_kind) <= 1
    return of_kind[0] if of_kind else None


def noise(n_columns=4):
    """Columns that say nothing."""
    return np.random.default_rng(2).normal(size=(N, n_columns))


def of_column(column, Y, store=np.asarray):
    """The pairs of columns and labels that are found if a column follows noise."""
    names = ("a", "b", "c", "d", "x")
    found = examine(
        store(np.column_stack([noise(), column])), store(Y), feature_names=names, label_names=LABELS, search=False
    )
    leaks = evidence(found, "leaking_features")
    return None if leaks is None else leaks["pairs"]


@pytest.mark.parametrize("store", CONTAINERS.values(), ids=CONTAINERS)
@pytest.mark.parametrize(
    ("column_of", "pairs"),
    [
        (lambda y: y[:, 1], "x (sad)"),
        (lambda y: 1 - y[:, 1], "x (sad)"),
        (lambda y: 5 * y[:, 1] + noise(1)[:, 0] / 9, "x (sad)"),
        (lambda y: np.where(y[:, 1], -3.0, 7.0), "x (sad)"),
        (lambda y: np.where(y[:, 1], np.nan, 7.0), "x (sad)"),
        (lambda y: y[:, 0] + 2 * y[:, 1], "x (sad)"),  # a threshold for one label; the other needs values
        (lambda y: np.where(np.arange(N) < 2, 1 - y[:, 1], y[:, 1]), "x (sad)"),  # 0.5 % are wrong
        (lambda y: np.where(np.arange(N) < 3, 1 - y[:, 1], y[:, 1]), None),
        (lambda y: np.where(np.arange(N) < 80, 1 - y[:, 1], y[:, 1]), None),
    ],
)
def test_columns_that_tell_a_label(labels, column_of, pairs, store):
    """A flag, its opposite, a number, missing cells and a few wrong rows are found; a good feature is none."""
    found = of_column(column_of(labels), labels, store)
    if store is np.asarray and found == "x (calm), x (sad)":  # codes of few values are read as categories, too
        assert set(column_of(labels)) == {0, 1, 2, 3}
    else:
        assert found == pairs


def test_what_the_finding_says(labels):
    """Each column is named with its label; the remedy is a question and an option."""
    X = pd.DataFrame(noise(), columns=list("abcd")).assign(
        sold=labels[:, 2], price=labels[:, 2] * 1000 + noise(1)[:, 0]
    )
    found = examine(X, labels, label_names=LABELS, search=False)
    (finding,) = (one for one in found if one.kind == "leaking_features")
    assert finding.severity == "warning"
    assert finding.evidence == {
        "count": 2,
        "columns": "price, sold",
        "n_labels": 1,
        "pairs": "price (wild), sold (wild)",
    }
    assert "Was this known before the labels were?" in finding.sentence
    assert "--ignore price,sold." in finding.remedy
    assert max(map(len, str(found).splitlines())) <= 80


def test_columns_of_other_kinds(labels):
    """Categories tell by their values, dates by a threshold, codes of classes by their values."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame(noise(), columns=list("abcd"))
    X["stage"] = np.where(labels[:, 0], "closed", rng.choice(["open", "new"], N))
    X["code"] = np.where(labels[:, 1], 1, rng.choice([0, 2], N))
    X["day"] = np.datetime64("2025-01-01") + (400 * labels[:, 2] + rng.integers(0, 90, N)).astype("timedelta64[D]")
    X["city"] = rng.choice(["Bonn", "Rome", "Oslo"], N)
    X.loc[3, ["stage", "day"]] = None
    kinds = ["number"] * 4 + ["category", "number", "date", "category"]
    for y in (labels, sparse.csr_array(labels)):
        found = examine(X, y, feature_kinds=kinds, label_names=LABELS, search=False)
        assert evidence(found, "leaking_features")["pairs"] == "stage (calm), code (sad), day (wild)"


@pytest.mark.parametrize("store", CONTAINERS.values(), ids=CONTAINERS)
def test_unknown_labels_prove_nothing(labels, store):
    """A column is compared with the known cells: wrong ones are found by them, and unknown ones are not wrong."""
    Y = labels.astype(float)
    column = Y[:, 1].copy()
    column[:100] = 1 - column[:100]
    assert of_column(column, Y, store) is None
    Y[:100, 1] = np.nan
    assert of_column(column, Y, store) == "x (sad)"


@pytest.mark.parametrize(("n_rows", "n_columns"), [(20, 1000), (100, 2000), (1000, 300)])
def test_chance_leaks_nothing(n_rows, n_columns):
    """Of many columns some separate few rows by chance, whatever their form."""
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(n_rows, n_columns)), rng.integers(0, 3, (n_rows, 20)) // 2
    Y[:, 0] = np.arange(n_rows) < 5
    separated = max(abs((X > 0)[:, [column]] * 1 - Y).mean(axis=0).max() for column in range(n_columns))
    assert n_rows > 20 or separated > 0.9
    for columns in (X, (X > 0) * 1.0, np.rint(2 * X), sparse.csr_array(np.rint(X))):
        found = examine(columns, Y, search=False)
        assert evidence(found, "leaking_features") is evidence(found, "leaking_pairs") is None


def test_rare_labels_and_words():
    """A word that is in all rows of a rare label and in no other is found among many; in five rows of ten it is not."""
    X = sparse.random_array((2000, 3000), density=0.01, random_state=np.random.default_rng(0), format="lil")
    Y = np.zeros((2000, 2), dtype=int)
    Y[100:112, 0] = Y[300:310, 1] = 1
    X[:, [7, 8]] = 0
    X[100:112, 7] = X[300:305, 8] = 1
    found = evidence(examine(sparse.csr_array(X), Y, search=False), "leaking_features")
    assert found["pairs"] == "7 (0)"


@pytest.mark.parametrize("store", CONTAINERS.values(), ids=CONTAINERS)
def test_many_rows_and_labels_are_drawn(store, monkeypatch):
    """Likely columns are sought in some rows, proven in all, and notes say so; the seed decides."""
    monkeypatch.setattr(_leaks, "_MOST_ROWS", 100)
    monkeypatch.setattr(_leaks, "_LEAST_ROWS", 100)
    monkeypatch.setattr(_leaks, "_MOST_LABELS", 2)
    rng = np.random.default_rng(0)
    Y = rng.integers(0, 2, (1000, 3))
    X = np.column_stack([Y, rng.normal(size=(1000, 2))])
    found = examine(store(X), Y, search=False)
    assert evidence(found, "leaking_features")["n_labels"] == 2
    assert found.notes == (
        "Columns that give labels away were sought in 100 of the 1,000 rows, drawn at random.",
        "They were sought for 2 of the 3 labels, drawn at random.",
    )
    assert examine(store(X), Y, search=False).to_records() == found.to_records()


def test_ranks_of_stored_values():
    """Sparse ranks are those of the dense columns, with ties, negative values and zeros."""
    X = sparse.random_array((50, 6), density=0.4, random_state=np.random.default_rng(0), format="csc")
    X.data = np.rint(4 * X.data) - 2
    X.eliminate_zeros()
    ranks, at_zero = _leaks._sparse_ranks(X)
    assert ranks.toarray() + at_zero == pytest.approx(rankdata(X.toarray(), axis=0))


def sorted_in(Y, store=np.asarray):
    """The labels that follow the order of the rows."""
    found = evidence(
        examine(noise()[: len(Y)], store(Y), label_names=LABELS[: Y.shape[1]], search=False), "sorted_rows"
    )
    return None if found is None else (found["labels"], found["in_runs"], found["first_or_last"])


@pytest.mark.parametrize("store", CONTAINERS.values(), ids=CONTAINERS)
def test_rows_in_an_order(labels, store):
    """First rows, last rows and runs are found, each as what it is; other labels are not named."""
    assert sorted_in(labels, store) is None
    place = np.arange(N)
    labels[:, 1] = place > 300
    assert sorted_in(labels, store) == ("sad", 1, 1)
    labels[:, 0] = place < 30
    labels[:, 2] = place // 40 % 2
    assert sorted_in(labels, store) == ("calm, sad, wild", 3, 2)
    labels[:, 2] = 1 - labels[:, 2]
    assert sorted_in(labels, store) == ("calm, sad, wild", 3, 2)
    assert sorted_in(np.random.default_rng(0).permutation(labels), store) is None


def test_orders_that_chance_makes():
    """Few rows with a label in one run, a label that alternates and labels of one class are no order."""
    Y = np.zeros((N, 3), dtype=int)
    Y[:2, 0], Y[::2, 1] = 1, 1
    assert sorted_in(Y) is None
    Y[:, 2] = 1
    assert sorted_in(Y) is None
    rng = np.random.default_rng(0)
    for share in (0.01, 0.1, 0.5, 0.9):
        assert sorted_in((rng.random((N, 3)) < share).astype(int)) is None
    drift = (rng.random((N, 1)) < np.linspace(0.4, 0.6, N).reshape(-1, 1)).astype(int)
    assert sorted_in(drift) is None


@pytest.mark.parametrize("store", CONTAINERS.values(), ids=CONTAINERS)
def test_order_of_known_labels(labels, store):
    """The order is that of the rows in which a label is known."""
    Y = labels.astype(float)
    Y[:, 1] = np.arange(N) % 2
    Y[:200, 1] = np.where(Y[:200, 1] == 1, np.nan, 0)  # known to be 0 before, and 1 after
    Y[200:, 1] = np.where(Y[200:, 1] == 0, np.nan, 1)
    assert sorted_in(Y, store) == ("sad", 1, 1)
    Y[:, 1] = np.where(np.arange(N) % 2, np.arange(N) // 40 % 2, np.nan)
    assert sorted_in(Y, store) == ("sad", 1, 0)


def test_sentence_of_sorted_rows(labels):
    """The remedy names what shuffles."""
    labels[:, 1] = np.arange(N) > 300
    found = examine(noise(), labels, label_names=LABELS)
    (finding,) = (one for one in found if one.kind == "sorted_rows")
    assert finding.severity == "note"
    assert "KFold(5, shuffle=True, random_state=0)" in finding.remedy
    assert max(map(len, str(found).splitlines())) <= 80


def later_in(days, Y, **named):
    """The finding of dates of which later rows differ, with a column of dates after noise."""
    X = pd.DataFrame(noise(), columns=list("abcd")).assign(day=days)
    kinds = ["number"] * 4 + ["date"]
    found = examine(X, Y, feature_kinds=kinds, label_names=LABELS, search=False, **named)
    assert max(map(len, str(found).splitlines())) <= 80
    return next((finding for finding in found if finding.kind == "later_rows_differ"), None)


@pytest.fixture
def days():
    """A date in each row, in no order."""
    return np.datetime64("2025-01-01") + np.random.default_rng(3).permutation(N).astype("timedelta64[D]")


@pytest.mark.parametrize("store", CONTAINERS.values(), ids=CONTAINERS)
@pytest.mark.parametrize("form", ["dates", "texts", "zoned", "missing"])
def test_labels_of_later_rows(labels, days, store, form):
    """Labels that grow or vanish in the latest fifth are named with both rates, the strongest first."""
    assert later_in(days, store(labels)) is None
    later = days >= np.datetime64("2025-01-01") + np.timedelta64(320, "D")
    labels[:, 0] = later & (np.arange(N) % 2 == 0)
    labels[later, 2] = 1
    expected = [labels[rows, 2].mean() for rows in (~later, later)]
    if form == "texts":
        days = days.astype(str)
    if form == "zoned":
        days = np.char.add(days.astype("datetime64[s]").astype(str), "Z")
    if form == "missing":
        days = days.astype(object)
        days[np.flatnonzero(~later)[:2]] = None
    finding = later_in(days, store(labels))
    assert finding.severity == "warning"
    assert finding.evidence["columns"] == "day"
    assert finding.evidence["share"] == pytest.approx(0.2, abs=0.002)
    assert finding.evidence["count"] == 2
    wild, calm = finding.evidence["labels"].split(", ")
    assert wild.startswith(f"wild ({100 * expected[0]:.2g} % -> 100 %")
    assert calm.startswith("calm (0 % -> ")
    assert "nearlabel fit --split-by day." in finding.remedy


def test_later_rows_that_do_not_differ(labels, days):
    """A small change, few dates, no dates and a rate that depends on the weekday are no finding."""
    rng = np.random.default_rng(0)
    later = days >= np.datetime64("2025-01-01") + np.timedelta64(320, "D")
    labels[:, 0] = rng.random(N) < np.where(later, 0.42, 0.33)
    labels[:, 1] = days.astype(int) % 7 == 0
    assert later_in(days, labels) is None
    labels[:, 0] = later
    assert later_in(days, labels) is not None
    assert later_in(np.full(N, np.datetime64("2025-01-01")), labels) is None
    assert later_in(np.where(np.arange(N) < 399, days.min(), days.max()), labels) is None
    few = np.full(N, None, dtype=object)
    few[:9] = days[:9]
    assert later_in(few, labels) is None


def test_later_rows_where_labels_are_known(labels, days):
    """Rates are those of the known cells; a label that is unknown in all later rows has no rate."""
    later = days >= np.datetime64("2025-01-01") + np.timedelta64(320, "D")
    Y = labels.astype(float)
    Y[later, 0] = np.nan
    Y[:, 2] = np.where(later, 1, 0)
    Y[::3, 2] = np.nan
    assert later_in(days, Y).evidence["labels"] == "wild (0 % -> 100 %)"


def pairs_of(X, Y, **kinds):
    """The pairs that are found, of a data frame."""
    found = examine(X, Y, label_names=LABELS, search=False, **kinds)
    assert evidence(found, "leaking_features") is None
    pairs = evidence(found, "leaking_pairs")
    return None if pairs is None else pairs["pairs"]


@pytest.mark.parametrize(
    ("pair_of", "pair"),
    [
        (lambda a, y, r: (a + np.where(y, 1, -1) * r.random(N), a), "p - q"),
        (lambda a, y, r: (a + ~y * r.choice([-2, 2], N), a), "|p - q|"),
        (lambda a, y, r: (a, np.where(y, 9.5, 8.5) - a), "p + q"),
        (lambda a, y, r: (a, (2 * y - 1.0) / a), "p * q"),
        (lambda a, y, r: (np.exp(a) * np.where(y, 3, 2), np.exp(a)), "p / q"),
        (lambda a, y, r: ((a > 0) * 1, (a > 0) ^ y), "p with q"),
        (lambda a, y, r: (np.where(y | (a > 0), 1, 2), np.where(y | (a <= 0), 1, 2)), "p with q"),
        (lambda a, y, r: ((a > 0) * 1, np.where(np.arange(N) < 2, y, (a > 0) ^ y)), "p with q"),  # 0.5 % are wrong
        (lambda a, y, r: ((a > 0) * 1, np.where(np.arange(N) < 20, y, (a > 0) ^ y)), None),
        (lambda a, y, r: (a, np.where(np.arange(N) < 20, a, a - y)), None),
    ],
)
def test_pairs_of_numbers(labels, pair_of, pair):
    """Neither of two columns shows a label, but their difference, sum, product, ratio or values together do."""
    random = np.random.default_rng(5)
    p, q = pair_of(random.normal(size=N), labels[:, 1] == 1, random)
    X = pd.DataFrame(noise(), columns=list("abcd")).assign(p=p, q=q)
    found = pairs_of(X, labels)
    assert (found is None) if pair is None else (found == f"{pair} (sad)")


def test_pairs_of_other_kinds(labels):
    """Dates tell by the days between, texts by whether they are equal, categories by their values together."""
    random = np.random.default_rng(5)
    calm, sad, wild = labels.T == 1
    day = np.datetime64("2025-01-01") + random.integers(0, 900, N).astype("timedelta64[D]")
    owner = random.choice([f"owner {number}" for number in range(300)], N)
    left = random.choice(["red", "green", "blue"], N)
    right = np.where(wild, left, random.permutation(left))
    X = pd.DataFrame(noise(), columns=list("abcd")).assign(
        opened=day,
        closed=day + np.where(calm, random.integers(10, 30, N), random.integers(0, 9, N)).astype("timedelta64[D]"),
        owner=owner,
        buyer=np.where(sad, owner, np.roll(owner, 1)),
        left=left,
        right=np.where(~wild & (right == left), "grey", right),
    )
    kinds = ["number"] * 4 + ["date"] * 2 + ["category"] * 4
    for y in (labels, sparse.csr_array(labels)):
        found = pairs_of(X, y, feature_kinds=kinds).split(", ")
        assert sorted(found) == ["left with right (wild)", "opened - closed (calm)", "owner = buyer (sad)"]


def test_what_the_finding_of_pairs_says(labels):
    """The pair is named with its label, and no pair with a column that alone shows the label."""
    X = pd.DataFrame(noise(), columns=list("abcd"))
    X["due"] = noise(5)[:, 4]
    X["paid"] = X.due + np.where(labels[:, 1], 1, -1)
    X["overdue"] = labels[:, 0]
    found = examine(X, labels, label_names=LABELS, search=False)
    (finding,) = (one for one in found if one.kind == "leaking_pairs")
    assert finding.severity == "warning"
    assert finding.evidence["pairs"] == "due - paid (sad)"
    assert "though neither column does alone" in finding.sentence
    assert "--ignore due,paid." in finding.remedy
    assert evidence(found, "leaking_features")["pairs"] == "overdue (calm)"
    assert max(map(len, str(found).splitlines())) <= 80


def test_pairs_among_many_rows_and_columns(labels, monkeypatch):
    """Of many columns those that tell most are paired with those like them; unknown labels prove nothing."""
    monkeypatch.setattr(_leaks, "_ROWS_OF_PAIRS", 200)
    X = np.random.default_rng(6).normal(size=(N, 60))
    X[:, 51] = X[:, 50] + np.where(labels[:, 1], 1, -1)
    assert evidence(examine(X, labels, search=False), "leaking_pairs")["pairs"] == "50 - 51 (1)"
    Y = labels.astype(float)
    X[:40, 51] = X[:40, 50]
    assert evidence(examine(X, Y, search=False), "leaking_pairs") is None
    Y[:40, 1] = np.nan
    assert evidence(examine(X, Y, search=False), "leaking_pairs")["pairs"] == "50 - 51 (1)"
