"""How many wrong labels are found by leave-one-out evidence, beside cleanlab with a cross-validated model?

Of each data set 2, 5 or 10 % of the positives are made negative, and as many negatives positive. At random: any
positives, any negatives. By confusion: beside a positive label that is taken away, a label that the sample lacks is
put, drawn in proportion to how often it is mistaken for the lost one: the sum of its probabilities by a random forest,
held out by five folds, over the samples that have the lost label and lack the other. All that follows sees the flipped
labels only. Means over both kinds of flips, three rates and three seeds. "precision": share of flipped cells among as
many as were flipped, the most suspicious; "area": average precision; "first tenth": precision among a tenth of that.

The evidence is of neighbours by the distance of tf-idf weights and cosine for words, of Euclidean distance of min-max
scaled features otherwise. "cleanlab" ranks cells by its self-confidence of each label. Its probabilities are those of a
logistic regression for each label on min-max scaled features, of five shuffled folds. The data sets have errors of
their own, which count as false alarms. The default was chosen on the first five sets, and not on the others, of which
5 % are flipped, two seeds.

Results are kept in ``benchmarks/results/audit.jsonl``, a line for each data set, kind, rate and seed: a second run goes
on where the first stopped.

Run: ``python benchmarks/audit.py``; a quarter of an hour of processor time. ``--quick`` for emotions, one seed.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import average_precision_score
from sklearn.model_selection import KFold
from sklearn.multiclass import OneVsRestClassifier

from _harness import Goal, Table, add_record, parser_for, print_facts, read_records, save, show, write_records
from nearlabel.audit._scores import (
    blocks_of,
    halfway_prior,
    most_suspicious,
    positive_shares,
    prior_odds,
    self_confidence,
)
from nearlabel.datasets import fetch_dataset
from nearlabel.lazy import MLMLM, BRkNN, MLkNN
from nearlabel.neighbors import ExactNeighbors
from nearlabel.preprocessing import FeatureScaler
from nearlabel.utils.validation import as_dense

CHOSEN_ON = ("emotions", "scene", "yeast", "medical", "enron")
CHECKED_ON = ("image", "genbase", "cal500", "bibtex", "yahoo-health")
KINDS, RATES, SEEDS = ("random", "confusion"), (0.02, 0.05, 0.1), (0, 1, 2)
N_ROWS = 2_000  # of the larger sets that the default is checked on
WORDS = 0.25  # share of values other than 0 up to which features are words

COMPETITOR = "cleanlab, logistic regression"
DEFAULT = "ML-kNN + ML-MLM, odds (halfway)"
PARTS: Mapping[str, tuple[str, ...]] = {
    "ML-kNN": ("ML-kNN",),
    "BRkNN": ("BRkNN",),
    "ML-MLM": ("ML-MLM",),
    "ML-kNN + BRkNN": ("ML-kNN", "BRkNN"),
    "ML-kNN + ML-MLM": ("ML-kNN", "ML-MLM"),
    "all three": ("ML-kNN", "BRkNN", "ML-MLM"),
    "regression + ML-MLM": ("regression", "ML-MLM"),
    "regression + ML-kNN + ML-MLM": ("regression", "ML-kNN", "ML-MLM"),
    "regression": ("regression",),
}
PRIORS: Mapping[str, Callable[[Any], Any]] = {
    "self-confidence": lambda labels: None,
    "odds": positive_shares,
    "odds (halfway)": halfway_prior,
}
SHOWN = (COMPETITOR, "cleanlab, ML-kNN + ML-MLM", DEFAULT, "ML-kNN + BRkNN, odds (halfway)")
FIGURES = ("precision", "area", "first tenth")


def rows_of(name: str) -> tuple[Any, Any]:
    """Return features and labels; of a larger set that the default is checked on, some rows."""
    data = fetch_dataset(name)
    X, Y = data.X, as_dense(data.Y).astype(np.int64)
    if name in CHECKED_ON and len(Y) > N_ROWS:
        some = np.sort(np.random.default_rng(0).permutation(len(Y))[:N_ROWS])
        X, Y = X[some], Y[some]
    return X, Y


def confusions(X: Any, Y: Any) -> Any:
    """Return how often a label (column) is mistaken for another (row), by forests that have not seen the samples."""
    likely = np.zeros(Y.shape)
    for training, held_out in KFold(5, shuffle=True, random_state=0).split(Y):
        forest = RandomForestClassifier(50, min_samples_leaf=2, random_state=0).fit(X[training], Y[training])
        for label, (classes, found) in enumerate(zip(forest.classes_, forest.predict_proba(X[held_out]), strict=True)):
            likely[held_out, label] = found[:, list(classes).index(1)] if 1 in classes else 0.0
    return Y.T @ (likely * (1 - Y))


def flipped(Y: Any, kind: str, rate: float, seed: int, mistaken: Any) -> Any:
    """Return labels of which some are wrong: so many positives, and as many negatives."""
    random = np.random.default_rng(seed)
    wrong = Y.copy()
    positives, negatives = np.argwhere(Y == 1), np.argwhere(Y == 0)
    lost = positives[random.choice(len(positives), round(rate * len(positives)), replace=False)]
    wrong[tuple(lost.T)] = 0
    if kind == "random":
        wrong[tuple(negatives[random.choice(len(negatives), len(lost), replace=False)].T)] = 1
        return wrong
    for row, label in lost:
        free = (Y[row] == 0) & (wrong[row] == 0)
        weights = np.where(free, mistaken[label], 0.0)
        weights = weights if weights.any() else free.astype(float)
        if weights.any():
            wrong[row, random.choice(len(weights), p=weights / weights.sum())] = 1
    return wrong


def in_space(X: Any) -> tuple[Any, str]:
    """Return features as neighbours are searched in, and the metric."""
    n_filled = X.count_nonzero() if sparse.issparse(X) else np.count_nonzero(X)
    words = X.min() >= 0 and n_filled <= WORDS * X.shape[0] * X.shape[1]
    scale, metric = ("tfidf", "cosine") if words else ("minmax", "euclidean")
    return FeatureScaler(scale).fit_transform(X), metric


def cross_validated(X: Any, Y: Any) -> Any:
    """Return probabilities by a logistic regression for each label, of five folds."""
    found = np.empty(Y.shape)
    for training, held_out in KFold(5, shuffle=True, random_state=0).split(Y):
        scaler = FeatureScaler("minmax").fit(X[training])
        model = OneVsRestClassifier(LogisticRegression(solver="liblinear"))
        found[held_out] = model.fit(scaler.transform(X[training]), Y[training]).predict_proba(
            scaler.transform(X[held_out])
        )
    return found


def ranked_by_cleanlab(Y: Any, probabilities: Any, **options: Any) -> Any:
    """Return cleanlab's quality of each cell."""
    from cleanlab.multilabel_classification.rank import get_label_quality_scores_per_class

    given = [row.nonzero()[0].tolist() for row in Y]
    return np.asarray(get_label_quality_scores_per_class(given, probabilities, **options))


def evidence(X: Any, Y: Any) -> tuple[dict[str, Any], dict[str, float]]:
    """Return probabilities out of sample by each model, and the processor time that each took."""
    rows, metric = in_space(X)
    search = ExactNeighbors(metric=metric)
    models = {
        "ML-kNN": MLkNN(20, search=search),
        "BRkNN": BRkNN(20, weights="distance", search=search),
        "ML-MLM": MLMLM(metric=metric, scale="none"),
    }
    found, seconds = {}, {}
    for name, model in models.items():
        start = time.process_time()
        found[name] = model.fit(rows, Y).loo_predict_proba()
        seconds[name] = time.process_time() - start
    start = time.process_time()
    found["regression"] = cross_validated(X, Y)
    seconds["regression"] = time.process_time() - start
    return found, seconds


def figures(order: Any, quality: Any, wrong: Any) -> dict[str, float]:
    """Return what a ranking finds: flat numbers of cells, the most suspicious first, and the quality of all."""
    n_wrong, n_tenth = int(wrong.sum()), max(1, int(wrong.sum()) // 10)
    hits = wrong.ravel()[order]
    return {
        "precision": float(hits[:n_wrong].sum() / n_wrong),
        "area": float(average_precision_score(wrong.ravel(), -quality.ravel())),
        "first tenth": float(hits[:n_tenth].sum() / n_tenth),
    }


def of_ours(probabilities: Any, shares: Any, Y: Any, wrong: Any, prior: Any) -> dict[str, float]:
    """Return what is found in our order."""
    n_wrong = int(wrong.sum())
    cells = most_suspicious(blocks_of(probabilities, Y, shares), n_wrong, prior=prior)
    quality = self_confidence(probabilities, Y) if prior is None else prior_odds(probabilities, Y, prior=prior)
    return figures(cells.rows * Y.shape[1] + cells.labels, quality, wrong)


def of_cleanlab(probabilities: Any, Y: Any, wrong: Any, **options: Any) -> dict[str, float]:
    """Return what is found in cleanlab's order."""
    quality = ranked_by_cleanlab(Y, probabilities, **options)
    return figures(np.argsort(quality.ravel(), kind="stable"), quality, wrong)


def measure(name: str, X: Any, truth: Any, mistaken: Any, flips: tuple[str, float, int]) -> dict[str, Any]:
    """Return the record of one data set with some cells flipped."""
    Y = flipped(truth, *flips, mistaken)
    wrong = truth != Y
    models, seconds = evidence(X, Y)
    found = {}
    for parts, names in PARTS.items():
        mean = np.mean([models[one] for one in names], axis=0)
        for score, prior in PRIORS.items():
            found[f"{parts}, {score}"] = of_ours(mean, models["BRkNN"], Y, wrong, prior(Y))
    both = np.mean([models[one] for one in PARTS["ML-kNN + ML-MLM"]], axis=0)
    start = time.process_time()
    found[COMPETITOR] = of_cleanlab(models["regression"], Y, wrong)
    seconds["cleanlab"] = time.process_time() - start
    found["cleanlab, ML-kNN + ML-MLM"] = of_cleanlab(both, Y, wrong)
    found[f"{COMPETITOR}, adjusted"] = of_cleanlab(models["regression"], Y, wrong, adjust_pred_probs=True)
    found[f"{COMPETITOR}, entropy"] = of_cleanlab(models["regression"], Y, wrong, method="confidence_weighted_entropy")
    start = time.process_time()
    most_suspicious(blocks_of(both, Y), int(wrong.sum()), prior=halfway_prior(Y))
    seconds["ranking"] = time.process_time() - start
    kind, rate, seed = flips
    return {
        "set": name, "kind": kind, "rate": rate, "seed": seed, "cells": wrong.size, "wrong": int(wrong.sum()),
        "seconds": {one: round(value, 3) for one, value in seconds.items()},
        "found": {way: {one: round(value, 4) for one, value in of.items()} for way, of in found.items()},
    }  # fmt: skip


def missing(known: Sequence[Mapping[str, Any]], *, quick: bool) -> dict[str, list[tuple[str, float, int]]]:
    """Return the flips that are not measured yet, of each data set."""
    done = {(one["set"], one["kind"], one["rate"], one["seed"]) for one in known}
    plan = {name: [(kind, rate, seed) for kind in KINDS for rate in RATES for seed in SEEDS] for name in CHOSEN_ON}
    plan |= {name: [(kind, 0.05, seed) for kind in KINDS for seed in SEEDS[:2]] for name in CHECKED_ON}
    if quick:
        plan = {CHOSEN_ON[0]: [(kind, rate, 0) for kind in KINDS for rate in RATES]}
    return {name: todo for name, all_ in plan.items() if (todo := [one for one in all_ if (name, *one) not in done])}


def mean_of(records: Sequence[Mapping[str, Any]], way: str, figure: str, **where: Any) -> float:
    """Return the mean of a figure over the records with some values."""
    values = [one["found"][way][figure] for one in records if all(one[key] == value for key, value in where.items())]
    return float(np.mean(values)) if values else np.nan


def sets_of(records: Sequence[Mapping[str, Any]], names: Sequence[str]) -> list[str]:
    """Return which of the data sets are measured."""
    return [name for name in names if any(one["set"] == name for one in records)]


def main_table(records: Sequence[Mapping[str, Any]], title: str, names: Sequence[str], **where: Any) -> Table:
    """Return precision, area and precision in the first tenth of the ways that are shown, by data set."""
    rows = []
    for name in names:
        cells = [one["wrong"] / one["cells"] for one in records if one["set"] == name]
        values = [
            " ".join(f"{mean_of(records, way, figure, set=name, **where):.3f}" for figure in FIGURES) for way in SHOWN
        ]
        rows.append((name, f"{np.mean(cells):.3f}", *values))
    return Table(title, ("data set", "chance", *SHOWN), rows, ("each: precision, area, first tenth",))


def tried_table(records: Sequence[Mapping[str, Any]], names: Sequence[str], title: str) -> Table:
    """Return the mean over data sets of all that was tried, and on how many it is at least the competitor."""
    ways = list(records[0]["found"])
    rows = []
    for way in ways:
        cells: list[Any] = [way]
        for figure in FIGURES[:2]:
            gains = [
                mean_of(records, way, figure, set=name) - mean_of(records, COMPETITOR, figure, set=name)
                for name in names
            ]
            mean = float(np.mean([mean_of(records, way, figure, set=name) for name in names]))
            cells += [f"{mean:.3f}", f"{sum(gain >= 0 for gain in gains)} of {len(names)}"]
        rows.append(tuple(cells))
    rows.sort(key=lambda row: -float(row[1]) - float(row[3]))
    return Table(title, ("evidence and score", "precision", "not below", "area", "not below"), rows)


def rates_table(records: Sequence[Mapping[str, Any]], names: Sequence[str]) -> Table:
    """Return precision and area of the competitor and of the default, by data set, kind and rate."""
    rows = []
    for name in names:
        for kind in KINDS:
            cells = []
            for rate in RATES:
                for figure in FIGURES[:2]:
                    pair = [
                        mean_of(records, way, figure, set=name, kind=kind, rate=rate) for way in (COMPETITOR, DEFAULT)
                    ]
                    cells.append(f"{pair[0]:.3f} {pair[1]:.3f}")
            rows.append((name, kind, *cells))
    headers = [f"{rate:.0%}: {figure}" for rate in RATES for figure in FIGURES[:2]]
    return Table("by kind and rate: cleanlab, ours", ("data set", "flips", *headers), rows)


def seconds_table(records: Sequence[Mapping[str, Any]], names: Sequence[str]) -> Table:
    """Return the processor time of evidence and ranking."""
    rows = []
    for name in names:
        of_set = [one["seconds"] for one in records if one["set"] == name]
        mean = {key: float(np.mean([one[key] for one in of_set])) for key in of_set[0]}
        theirs = mean["regression"], mean["cleanlab"]
        rows.append((name, *theirs, mean["ML-kNN"], mean["BRkNN"], mean["ML-MLM"], mean["ranking"]))
    headers = ("data set", "regression, five folds", "cleanlab", "ML-kNN", "BRkNN", "ML-MLM", "our ranking")
    return Table("CPU s, mean", headers, rows)


def goals_of(records: Sequence[Mapping[str, Any]], names: Sequence[str]) -> Iterator[Goal]:
    """Yield on how many data sets the default finds at least as much as the competitor."""
    for kind in KINDS:
        for figure in FIGURES[:2]:
            won = [
                mean_of(records, DEFAULT, figure, set=name, kind=kind)
                >= mean_of(records, COMPETITOR, figure, set=name, kind=kind)
                for name in names
            ]
            yield Goal(f"{kind}: sets with {figure} at least cleanlab's, of {len(won)}", "at least", 4, sum(won))


def tables_of(records: Sequence[Mapping[str, Any]]) -> list[Table]:
    """Return all tables."""
    chosen, checked = sets_of(records, CHOSEN_ON), sets_of(records, CHECKED_ON)
    of_chosen = [one for one in records if one["set"] in chosen]
    tables = [main_table(records, f"{kind}", chosen, kind=kind) for kind in KINDS]
    tables += [rates_table(records, chosen)]
    tables += [tried_table(of_chosen, chosen, "all that was tried, on the sets that the default was chosen on")]
    if checked:
        of_checked = [one for one in records if one["set"] in checked]
        tables += [main_table(records, f"{kind}, on other sets", checked, kind=kind) for kind in KINDS]
        tables += [tried_table(of_checked, checked, "all that was tried, on other sets")]
    return [*tables, seconds_table(records, chosen + checked)]


def main() -> None:
    """Measure what is missing, print and save the figures."""
    parser = parser_for(__doc__, "audit", repeats=1)
    parser.add_argument("--sets", default=",".join(CHOSEN_ON + CHECKED_ON), help="which data sets to measure")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    print_facts()
    kept = Path(options.out).with_suffix(".jsonl")
    kept.parent.mkdir(parents=True, exist_ok=True)
    for name, flips in missing(read_records(kept), quick=options.quick).items():
        if name not in options.sets.split(","):
            continue
        X, truth = rows_of(name)
        mistaken = confusions(X, truth)
        for one in flips:
            add_record(kept, measure(name, X, truth, mistaken, one))
    records = sorted(read_records(kept), key=lambda one: (one["set"], one["kind"], one["rate"], one["seed"]))
    write_records(kept, records)
    tables, goals = tables_of(records), list(goals_of(records, sets_of(records, CHOSEN_ON)))
    show(tables, goals)
    save(options, __doc__, {"records": kept.name}, tables, goals)


if __name__ == "__main__":
    main()
