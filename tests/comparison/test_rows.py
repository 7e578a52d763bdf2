"""Two methods compared row by row: by hand, and what cannot be compared."""

import numpy as np
import pytest

from nearlabel.comparison import compare_rows
from nearlabel.datasets import load_multidigits
from nearlabel.experiments import Plan, run
from nearlabel.metrics import Metric, hamming_loss

TRUE = [[0], [0, 1], [], [2], [0, 2]]
OF_A = [[0], [0], [], [1], [0, 2]]
OF_B = [[1], [0, 1], [], [2, 1], [0, 1, 2]]


def record(method, predicted, *, fold=0, k=None, seed=0, **fields):
    """A record with the label sets of five rows."""
    table = {"label": ["x", "y", "z"], "row": [3, 1, 4, 5, 9], "true": TRUE, "predicted": predicted} | fields
    keys = {"dataset": "toy", "seed": seed, "fold": fold, "method": method, "n_neighbors": k}
    return keys | {"metric": "per_row", "value": None, "table": table}


RECORDS = [record("a", OF_A), {**record("a", OF_A), "metric": "micro_f1", "value": 0.5}, record("b", OF_B)]


def shown(comparison):
    """The better method, number and label sets of each row."""
    return [(row.better, row.row, row.labels, row.of_better, row.of_worse) for row in comparison.rows]


def test_by_hand():
    """Rows that one method gets exactly right and the other does not, those of the first method first."""
    found = compare_rows(RECORDS)
    assert (found.metric, found.methods, found.n_rows) == ("subset_accuracy", ("a", "b"), 5)
    assert found.n_better == {"a": 2, "b": 1}
    assert shown(found) == [
        ("a", 3, ("x",), ("x",), ("y",)),
        ("a", 9, ("x", "z"), ("x", "z"), ("x", "y", "z")),
        ("b", 1, ("x", "y"), ("x", "y"), ("x",)),
    ]
    assert {(row.value_of_better, row.value_of_worse, row.unknown) for row in found.rows} == {(1.0, 0.0, ())}
    turned = compare_rows(RECORDS, ("b", "a"))
    assert turned.rows == (found.rows[2], *found.rows[:2])
    assert turned.as_dict()["n_better"] == {"b": 1, "a": 2}


@pytest.mark.parametrize("metric", ["hamming_loss", Metric("mine", hamming_loss, greater_is_better=False)])
def test_by_a_loss(metric):
    """Less is better; the greatest difference comes first; where both are wrong one may still be better."""
    found = compare_rows(RECORDS, metric=metric)
    wrong = [(row.better, row.row, 3 * row.value_of_better, 3 * row.value_of_worse) for row in found.rows]
    assert wrong == [("a", 3, 0, 2), ("a", 9, 0, 1), ("b", 1, 0, 1), ("b", 5, 1, 2)]


def test_unknown_labels_count_for_nobody():
    """A wrong label in an unknown cell is not wrong; such labels are named."""
    unknown = [[], [1], [], [], [1]]
    true = [[0], [0], [], [2], [0, 2]]
    found = compare_rows([record(m, of, true=true, unknown=unknown) for m, of in (("a", OF_A), ("b", OF_B))])
    assert [(row.better, row.row, row.unknown) for row in found.rows] == [("a", 3, ())]
    loss = compare_rows(
        [record("a", [[0], [1]], row=[0, 1], true=[[0], [0]], unknown=[[1], [1]]),
         record("b", [[0, 1], [0, 1]], row=[0, 1], true=[[0], [0]], unknown=[[1], [1]])],
        metric="hamming_loss",
    )  # fmt: skip
    assert [(row.better, row.row, row.unknown, row.value_of_worse) for row in loss.rows] == [("b", 1, ("y",), 0.5)]


def test_where_a_metric_is_undefined_nobody_is_better():
    """NaN is neither less nor more."""

    def of_few(y_true, y_pred):
        return float("nan") if y_pred.sum() > 1 else float(y_pred.sum())

    found = compare_rows(RECORDS, metric=Metric("few", of_few))
    assert found.n_better == {"a": 0, "b": 0}


def test_seeds_and_folds_are_kept_apart():
    """A row counts once for each seed; a fold that one method did not answer is left out."""
    more = [*RECORDS, record("a", OF_A, seed=1), record("b", OF_B, seed=1), record("a", OF_A, fold=1)]
    found = compare_rows(more)
    assert (found.n_rows, found.n_better) == (10, {"a": 4, "b": 2})
    assert [(row.seed, row.row) for row in found.rows] == [(0, 3), (0, 9), (1, 3), (1, 9), (0, 1), (1, 1)]


def test_one_number_of_neighbours():
    """Of several it must be named; a method without such a number has its only answer."""
    records = [record("a", OF_A, k=1), record("a", OF_B, k=5), record("b", OF_B)]
    assert compare_rows(records, n_neighbors=1).n_better == {"a": 2, "b": 1}
    assert compare_rows(records, n_neighbors=5).n_better == {"a": 0, "b": 0}
    for k in (None, 3):
        with pytest.raises(ValueError, match=f"n_neighbors must be of those of a, 1, 5, got {k}"):
            compare_rows(records, n_neighbors=k)
    with pytest.raises(ValueError, match="n_neighbors must be of those of a, 1, got 2"):
        compare_rows([records[0], records[2]], n_neighbors=2)
    assert compare_rows([records[0], records[2]]).n_rows == 5


@pytest.mark.parametrize(
    ("records", "options", "message"),
    [
        (RECORDS[1:2], {}, r"results must contain the label sets of samples, got none. Hint: evaluate --per-row --out"),
        (RECORDS, {"methods": ("a", "c")}, "methods must be two of a, b, got a, c"),
        (RECORDS, {"methods": ("a", "a")}, "methods must be two of a, b, got a, a"),
        (RECORDS[:1], {}, "methods must be two of a, got a"),
        ([*RECORDS, record("c", OF_A)], {}, "methods must be two of a, b, c, got a, b, c"),
        (
            RECORDS,
            {"metric": "one_error"},
            "metric must be one of label sets, since records contain no scores, got one_",
        ),
        ([RECORDS[0], record("b", OF_B, fold=1)], {}, "methods must share folds, got none in common of a, b"),
        ([RECORDS[0], record("b", OF_B, row=[1, 2, 3, 4, 5])], {}, "predictions for the same samples, got others in f"),
        ([RECORDS[0], record("b", OF_B, true=OF_A)], {}, "for the same samples, got others in fold 0 of t"),
    ],
)
def test_what_cannot_be_compared(records, options, message):
    """What was expected, and what there is."""
    with pytest.raises(ValueError, match=message):
        compare_rows(records, **options)


@pytest.mark.long
def test_counts_explain_the_difference_of_means():
    """On real rows: more exact rows of one method than of the other are its lead in subset accuracy."""
    plan = Plan(("mlknn", "brknn"), (10,), cv=3, metrics=("subset_accuracy",), per_row=True)
    records = run(plan, [load_multidigits()])
    found = compare_rows(records)
    sizes = [len(r["table"]["row"]) for r in records if r["metric"] == "per_row" and r["method"] == "mlknn"]
    right = {
        method: np.dot(sizes, [r["value"] for r in records if r["method"] == method and r["value"] is not None])
        for method in found.methods
    }
    assert found.n_rows == sum(sizes) == 2000
    lead = found.n_better["mlknn"] - found.n_better["brknn"]
    assert lead == pytest.approx(right["mlknn"] - right["brknn"])
