"""What do label sets with holes cost? ML-kNN learnt from known cells, beside holes taken as "no".

Training cells are hidden at random; test rows are complete. ML-kNN with 10 neighbours on features scaled to [0, 1]
learns from (a) the known cells, (b) all cells, unknown ones as 0, (c) the rows without a hole. Micro F1, mean of five
folds and of ten draws of the holes: with thresholds of `MicroFOptimum` on leave-one-out scores of the known cells, ±
their standard deviation over draws, and, in brackets, cut at one half. The loss that was known before is of one draw.
Then times: 20,000 rows of 100 features, 100 labels, 40 % of the cells hidden at
random, so that every label has rows of its own.

Run: ``python benchmarks/unknown_labels.py``; ``--quick`` for a look. Data sets where ``NEARLABEL_DATA`` has them.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
from sklearn.model_selection import KFold
from sklearn.preprocessing import MinMaxScaler

from _harness import Goal, Job, Measurement, Table, measure, parser_for, print_facts, save, show
from nearlabel.datasets import fetch_dataset
from nearlabel.lazy import BRkNN, MLkNN
from nearlabel.metrics import micro_f1
from nearlabel.models.decision import cut
from nearlabel.thresholds import MicroFOptimum

REAL = ("emotions", "scene", "yeast")
SHARES = (0.0, 0.3, 0.6)  # of the cells, hidden
WAYS = ("known cells", "unknown as negative", "complete rows")
METHODS: Mapping[str, Callable[[], Any]] = {"ML-kNN": MLkNN, "BRkNN": BRkNN}
# The loss of micro F1 with thresholds, by known cells, that was measured when the definition was written.
KNOWN_LOSSES = {
    ("emotions", 0.3): 0.010,
    ("emotions", 0.6): 0.038,
}


def with_holes(Y: Any, share: float, seed: int) -> Any:
    """Return label sets with NaN in so many cells."""
    hidden = np.random.default_rng(seed).random(Y.shape) < share
    return np.where(hidden, np.nan, Y)


def learnt_from(way: str, X: Any, Y: Any) -> tuple[Any, Any]:
    """Return the training rows and label sets of one way."""
    if way == "unknown as negative":
        return X, np.nan_to_num(Y).astype(np.int64)
    if way == "complete rows":
        complete = ~np.isnan(Y).any(axis=1)
        return X[complete], Y[complete].astype(np.int64)
    return X, Y


def micro_f1_on_test(way: str, train: tuple[Any, Any], test: tuple[Any, Any]) -> tuple[float, float]:
    """Return micro F1 with thresholds, and cut at one half."""
    X, Y = learnt_from(way, *train)
    if len(X) < 20:
        return np.nan, np.nan
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # labels that few rows know
        model = MLkNN(10).fit(X, Y)
    unknown = np.isnan(Y)
    scores = np.where(unknown, -np.inf, model.loo_predict_proba())  # never chosen, and counted as no positives
    thresholds = MicroFOptimum().fit(scores, np.where(unknown, 0, Y).astype(np.int64)).thresholds_
    predicted = model.predict_proba(test[0])
    return micro_f1(test[1], cut(predicted, thresholds)), micro_f1(test[1], cut(predicted, 0.5))


def losses(n_draws: int) -> list[dict[str, Any]]:
    """Return micro F1 of each data set, share of hidden cells and way: means over folds, of each draw of the holes."""
    found = []
    for name in REAL:
        data = fetch_dataset(name)
        parts = list(folds_of(data.X, np.asarray(data.Y)))
        for share in SHARES:
            seeds = range(n_draws if share else 1)
            for way in WAYS:
                values = np.array([of_draw(way, parts, share, seed) for seed in seeds])
                tuned, at_half = values.mean(axis=0).tolist()
                spread = float(values[:, 0].std())
                found.append(
                    {"data set": name, "hidden": share, "way": way, "tuned": tuned, "at half": at_half, "sd": spread}
                )
    return found


def folds_of(X: Any, Y: Any) -> Iterator[tuple[tuple[Any, Any], tuple[Any, Any]]]:
    """Yield scaled training and test rows, and their label sets."""
    for train, test in KFold(5, shuffle=True, random_state=0).split(X):
        scaler = MinMaxScaler().fit(X[train])
        yield (scaler.transform(X[train]), Y[train]), (scaler.transform(X[test]), Y[test])


def of_draw(way: str, parts: list[Any], share: float, seed: int) -> Any:
    """Return micro F1 with thresholds and at one half, means over folds."""
    draws = [(X, with_holes(Y, share, 5 * seed + fold)) for fold, ((X, Y), _) in enumerate(parts)]
    return np.mean([micro_f1_on_test(way, draw, test) for draw, (_, test) in zip(draws, parts, strict=True)], axis=0)


def large(n_rows: int) -> tuple[Any, Any]:
    """Return rows about 200 centres, and labels that most rows of a centre share."""
    rng = np.random.default_rng(0)
    centres, sets = 2 * rng.normal(size=(200, 100)), rng.random((200, 100)) < 0.15
    of = rng.integers(0, 200, n_rows)
    Y = sets[of] ^ (rng.random((n_rows, 100)) < 0.05)
    return centres[of] + 3 * rng.normal(size=(n_rows, 100)), Y.astype(np.float64)


def prepare(method: str, share: float, n_rows: int) -> Mapping[str, Callable[[], Any]]:
    """Return a fit, answers for a tenth of the rows, and, of the rows themselves, leave-one-out scores."""
    X, Y = large(n_rows)
    Y = with_holes(Y, share, 1)
    warnings.simplefilter("ignore")
    METHODS[method]().fit(X[:500], Y[:500])
    model = METHODS[method]()
    return {
        "fit": lambda: model.fit(X, Y),
        "predict": lambda: model.predict_proba(X[: n_rows // 10]),
        "left out": model.loo_predict_proba,
    }


def rows_of_losses(found: list[dict[str, Any]]) -> Iterator[tuple[Any, ...]]:
    """Yield a row of the table for each data set and share of hidden cells."""
    for name in REAL:
        for share in SHARES:
            of_ways = [one for one in found if (one["data set"], one["hidden"]) == (name, share)]
            yield name, f"{share:.0%}", *map(_cell, of_ways)


def _cell(one: Mapping[str, Any]) -> str:
    return "too few rows" if np.isnan(one["tuned"]) else f"{one['tuned']:.3f} ± {one['sd']:.3f} ({one['at half']:.3f})"


def loss(found: list[dict[str, Any]], name: str, share: float) -> float:
    """Return what hidden cells cost: micro F1 with thresholds of all cells, less that of the known ones."""
    tuned = {(one["data set"], one["hidden"], one["way"]): one["tuned"] for one in found}
    return float(tuned[name, 0.0, WAYS[0]] - tuned[name, share, WAYS[0]])


def rows_of_times(measured: Mapping[str, Measurement]) -> Iterator[tuple[Any, ...]]:
    """Yield a row of the table for each method and what it does."""
    for method in METHODS:
        without, holes = measured[f"{method}, all known"], measured[f"{method}, holes"]
        for stage in ("fit", "predict", "left out"):
            seconds = without.median(stage, "cpu"), holes.median(stage, "cpu")
            yield method, stage, *seconds, seconds[1] / seconds[0]


def main() -> None:
    """Measure losses and times, print and save the figures."""
    parser = parser_for(__doc__, "unknown_labels", repeats=3)
    options = parser.parse_args()
    n_rows = 2_000 if options.quick else 20_000
    print_facts()
    found = losses(1 if options.quick else 10) if os.environ.get("NEARLABEL_DATA") else []
    shares = {"all known": 0.0, "holes": 0.4}
    jobs = [Job(f"{m}, {what}", prepare, (m, share, n_rows)) for m in METHODS for what, share in shares.items()]
    measured = measure(jobs, options.repeats)
    times = list(rows_of_times(measured))
    headers = ("", "what", "all cells known, CPU s", "40 % unknown, CPU s", "times as long")
    tables = [Table(f"{n_rows:,} rows, 100 labels", headers, times)]
    if found:
        tables.insert(0, Table("micro F1", ("data set", "hidden", *WAYS), list(rows_of_losses(found))))
    goals = [
        Goal(f"{name}, {share:.0%} hidden: loss of micro F1", "at most", most, round(loss(found, name, share), 3))
        for (name, share), most in (KNOWN_LOSSES if found else {}).items()
    ]
    if not options.quick:
        goals.append(Goal("a fit with holes: times one without", "at most", 3, times[0][-1]))
    show(tables, goals)
    save(options, __doc__, {name: one.describe() for name, one in measured.items()}, tables, goals)


if __name__ == "__main__":
    main()
