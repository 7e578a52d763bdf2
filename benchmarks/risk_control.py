"""Are the promises of `RiskControl` kept, and what do they cost, beside MAPIE's controller on the same scores?

Simulated: labels are drawn with known probabilities, which the scores show with noise; 200 rows calibrate, 2,000 others
judge, anew in each of 1,000 draws. In expectation: the mean loss over the draws, to be at most 1 - level within three
standard errors. With confidence: the share of the draws in which the loss exceeds 1 - level, to be at most
1 - confidence. Novel rows: the share of rows like 200 training rows that `NoveltyDetector` calls novel.

Real: 20 draws of a quarter of the rows as test rows. ML-kNN with 10 neighbours on features scaled to [0, 1] by the rows
it is fitted to. "split": fitted to 70 % of the other rows, calibrated on 30 %, as ``nearlabel fit --guarantee`` does.
"left out": fitted to all other rows, calibrated on their leave-one-out scores. Loss is that of the test rows, for which
recall is of rows with labels; ± its standard deviation over the draws. Labels: predicted for a row.

MAPIE's `MultiLabelClassificationController` (where it is installed) gets the scores of "split". It predicts scores
above its cut, and tries cuts 0, 0.01, ... 0.99. It refuses rows without labels: it calibrates on the others, as ours
does for recall. For precision both test these cuts; nothing predicted is a loss of 1 to MAPIE, of 0 to us.

Run: ``python benchmarks/risk_control.py``; ``--quick`` for a look. Data sets where ``NEARLABEL_DATA`` has them.
"""

from __future__ import annotations

import os
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from importlib.util import find_spec
from typing import Any

import numpy as np
from sklearn.preprocessing import MinMaxScaler

from _harness import Goal, Table, parser_for, print_facts, save, show
from nearlabel.datasets import fetch_dataset
from nearlabel.lazy import MLkNN
from nearlabel.neighbors import NoveltyDetector
from nearlabel.thresholds import RiskControl
from nearlabel.utils.targets import PartialLabels
from nearlabel.utils.validation import as_dense

REAL = ("emotions", "scene", "yeast", "medical", "enron")
N_CALIBRATION, N_JUDGES, N_LABELS = 200, 2_000, 8
STEP = 0.01  # of MAPIE's grid
SIMULATED: Mapping[str, RiskControl] = {
    "recall 0.9": RiskControl("recall", 0.9),
    "recall 0.8, each label": RiskControl("recall", 0.8, per_label=True),
    "all labels 0.8": RiskControl("all_labels", 0.8),
    "recall 0.8, confidence 0.9": RiskControl("recall", 0.8, confidence=0.9),
    "all labels 0.8, confidence 0.9": RiskControl("all_labels", 0.8, confidence=0.9),
    "precision 0.7, confidence 0.9": RiskControl("precision", 0.7, confidence=0.9),
}
ON_REAL: Mapping[str, Mapping[str, Any]] = {
    "recall 0.9": {"measure": "recall", "level": 0.9},
    "precision 0.6, confidence 0.9": {"measure": "precision", "level": 0.6, "confidence": 0.9},
}
Record = dict[str, Any]


def draw(rng: np.random.Generator, n_rows: int) -> tuple[Any, Any]:
    """Return scores, of two digits so that many are equal, and labels drawn with other probabilities than these."""
    margins = rng.normal(-1, 1.5, size=(n_rows, N_LABELS)) + rng.normal(size=(n_rows, 1))
    Y = (rng.random(margins.shape) < _share(margins)).astype(np.int64)
    return _share(margins + rng.normal(0, 0.7, size=margins.shape)).round(2), Y


def _share(margins: Any) -> Any:
    return 1 / (1 + np.exp(-margins))


def simulate(n_draws: int) -> list[Record]:
    """Return, for each promise and draw, the loss of the rows that judge."""
    found = []
    for seed in range(n_draws):
        rng = np.random.default_rng(seed)
        calibration, judges = draw(rng, N_CALIBRATION), draw(rng, N_JUDGES)
        for name, control in SIMULATED.items():
            fitted = quietly(lambda control=control, data=calibration: control.fit(*data))
            labels = float(fitted.predict(judges[0]).sum(axis=1).mean())
            found.append({"promise": name, "draw": seed, "loss": 1 - fitted.score(*judges), "labels": labels})
        X = rng.normal(size=(2 * N_CALIBRATION, 5))
        novel = NoveltyDetector(level=0.05).fit(X[:N_CALIBRATION]).predict(X[N_CALIBRATION:]) == -1
        found.append({"promise": "novel rows, level 0.05", "draw": seed, "loss": float(novel.mean()), "labels": None})
    return found


def quietly(call: Callable[[], Any]) -> Any:
    """Return the value of a call without its warnings, which tell of cuts that predict all or nothing."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return call()


def simulated_table(found: Sequence[Record]) -> tuple[Table, list[Goal]]:
    """Return losses over all draws, and what they are to be."""
    rows: list[tuple[Any, ...]] = []
    goals: list[Goal] = []
    for name in dict.fromkeys(one["promise"] for one in found):
        of_name = [one for one in found if one["promise"] == name]
        losses = np.array([one["loss"] for one in of_name])
        control = SIMULATED.get(name)
        alpha = 0.05 if control is None else round(1 - control.level, 12)
        error, above = losses.std() / np.sqrt(len(losses)), float((losses > alpha + 1e-12).mean())
        labels = None if control is None else float(np.mean([one["labels"] for one in of_name]))
        promised = f"mean at most {alpha:g}"
        if control is not None and control.confidence is not None:
            promised = f"above {alpha:g} in at most {1 - control.confidence:.0%}"
            goals.append(Goal(f"{name}: share of draws above", "at most", round(1 - control.confidence, 12), above))
        else:
            goals.append(Goal(f"{name}: mean loss", "at most", round(alpha + 3 * error, 5), round(losses.mean(), 5)))
        shown = (f"{losses.mean():.4f} ± {error:.4f}", f"{losses.std():.3f}", f"{above:.1%}")
        rows.append((name, promised, *shown, "-" if labels is None else f"{labels:.2f}"))
    headers = ("promise", "of the loss", "mean ± standard error", "deviation", "draws above", "labels")
    return Table(f"{len(losses):,} simulated draws, {N_CALIBRATION} rows calibrate", headers, rows), goals


def real_draws(n_draws: int, names: Iterable[str]) -> list[Record]:
    """Return, for each data set, draw, promise and way to calibrate, loss and labels of test rows."""
    found = []
    for name in names:
        data = fetch_dataset(name)
        X, Y = as_dense(data.X), as_dense(data.Y)
        for seed in range(n_draws):
            found += [{"data set": name, "draw": seed, **one} for one in of_draw(X, Y, seed)]
    return found


def of_draw(X: Any, Y: Any, seed: int) -> Iterator[Record]:
    """Yield loss and labels of the test rows of one draw."""
    order = np.random.default_rng(seed).permutation(len(X))
    test, others = np.split(order, [len(X) // 4])
    fitted_to, calibration = np.split(others, [round(0.7 * len(others))])
    for way, rows in (("split", fitted_to), ("left out", others)):
        scaler = MinMaxScaler().fit(X[rows])
        model = quietly(lambda: MLkNN(10).fit(scaler.transform(X[rows]), Y[rows]))  # noqa: B023
        if way == "split":
            held = model.predict_proba(scaler.transform(X[calibration])), Y[calibration]
        else:
            held = model.loo_predict_proba(), Y[rows]
        judges = model.predict_proba(scaler.transform(X[test])), Y[test]
        for promise, parameters in ON_REAL.items():
            control = quietly(lambda: RiskControl(**parameters).fit(*held))  # noqa: B023
            labels = float(control.predict(judges[0]).sum(axis=1).mean())
            yield {"promise": promise, "way": way, "loss": 1 - control.score(*judges), "labels": labels}
            if way == "split" and find_spec("mapie"):
                yield {"promise": promise, **beside_mapie(control, *held, judges)}


def beside_mapie(control: RiskControl, scores: Any, Y: Any, judges: Any) -> Record:
    """Return MAPIE's cut, loss and seconds beside ours, from the rows with labels."""
    from mapie.risk_control import MultiLabelClassificationController

    with_labels = Y.sum(axis=1) > 0
    scores, Y = scores[with_labels], Y[with_labels]
    start = time.perf_counter()
    ours = quietly(lambda: control.fit(scores, Y))
    middle = time.perf_counter()
    theirs = MultiLabelClassificationController(
        lambda X: X, control.measure, target_level=control.level, confidence_level=control.confidence
    )
    quietly(lambda: theirs.calibrate(scores, Y))
    end = time.perf_counter()
    cut = np.ravel(theirs.best_predict_param)[0]
    certified = cut is not None and np.isfinite(float(cut))
    predicted = judges[0] > (float(cut) if certified else np.inf)
    return {
        "way": "MAPIE",
        "cut": float(cut) if certified else None,
        "our cut": float(ours.thresholds_[0]),
        "seconds": end - middle,
        "our seconds": middle - start,
        "loss": 1 - control._reached(PartialLabels.of(judges[1]), predicted, None),
        "labels": float(predicted.sum(axis=1).mean()),
    }


def real_table(found: Sequence[Record]) -> Table:
    """Return loss and labels of test rows for each data set, promise and way."""
    rows: list[tuple[Any, ...]] = []
    for promise in ON_REAL:
        rows.append((promise,))
        for name in dict.fromkeys(one["data set"] for one in found):
            cells = [
                _cell([one for one in found if (one["data set"], one["promise"], one["way"]) == (name, promise, way)])
                for way in ("split", "left out", "MAPIE")
            ]
            rows.append((name, *(text for cell in cells for text in cell)))
    headers = ("loss of test rows", "split", "labels", "left out", "labels", "MAPIE, split", "labels")
    return Table("Real data", headers, rows)


def _cell(some: Sequence[Record]) -> tuple[str, str]:
    if not some:
        return "-", "-"
    losses = np.array([one["loss"] for one in some])
    return f"{losses.mean():.3f} ± {losses.std():.3f}", f"{np.mean([one['labels'] for one in some]):.2f}"


def mapie_table(found: Sequence[Record]) -> tuple[Table, list[Goal]]:
    """Return how MAPIE's cut for recall lies to ours, what it certifies of precision, and times."""
    rows, goals = [], []
    for promise in ON_REAL:
        beside = [one for one in found if one["way"] == "MAPIE" and one["promise"] == promise]
        if not beside:
            continue
        times = np.median([one["seconds"] / one["our seconds"] for one in beside])
        both = [one for one in beside if one["cut"] is not None and np.isfinite(one["our cut"])]
        above = [one["our cut"] - one["cut"] for one in both]
        span = tuple(f"{value:.4f}" for value in (min(above), max(above))) if above else ("-", "-")
        rows.append((promise, f"{len(both)} of {len(beside)}", *span, float(times)))
        if promise.startswith("recall"):
            # Theirs predicts above its cut, ours from its cut on: a cut of ours may be theirs and one step, not more.
            goals.append(Goal("recall: most that our cut is above MAPIE's", "at most", STEP, round(max(above), 6)))
            goals.append(Goal("recall: least that our cut is above MAPIE's", "at least", 0, round(min(above), 6)))
    headers = ("promise", "both have a cut", "ours less MAPIE's, least", "most", "times our time")
    return Table("Beside MAPIE, on the same rows", headers, rows), goals


def main() -> None:
    """Measure, print and save the figures."""
    parser = parser_for(__doc__, "risk_control", repeats=1)
    options = parser.parse_args()
    print_facts()
    simulated = simulate(50 if options.quick else 1_000)
    table, goals = simulated_table(simulated)
    tables, found = [table], []
    if os.environ.get("NEARLABEL_DATA"):
        found = real_draws(2 if options.quick else 20, REAL[:2] if options.quick else REAL)
        tables.append(real_table(found))
        if find_spec("mapie"):
            beside, of_mapie = mapie_table(found)
            tables, goals = [*tables, beside], [*goals, *of_mapie]
    show(tables, goals)
    save(options, __doc__, {}, tables, goals)


if __name__ == "__main__":
    main()
