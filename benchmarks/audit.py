"""How many wrong labels does leave-one-out evidence find, beside cleanlab with a cross-validated model?

Of each data set 2, 5 or 10 % of the positives are made negative, and as many negatives positive. At random: any
positives, any negatives. By confusion: a positive label is exchanged for one that the sample lacks, drawn in proportion
to how often it is mistaken for the lost one: the sum of its probabilities, by a random forest that has not seen the
samples (five folds), over the samples that have the lost label and lack the other. All that follows sees the flipped
labels only. "precision": the share of flipped cells among as many of the most suspicious as were flipped; "area":
average precision; "first tenth": precision among a tenth of that many.

Evidence is leave-one-out probabilities; where methods are added, their mean: ML-kNN and BRkNN with 20 neighbours, the
latter with weights by distance, and ML-MLM. Those of a forest of 100 trees are out of bag. Distances are the cosine of
tf-idf weights for words, else Euclidean on min-max scaled features. Cells are ordered by self-confidence, by odds over
the prior of each label, its share of positives, or by odds over `halfway_prior`.

cleanlab orders cells by the self-confidence of each label. Its probabilities are those of a logistic regression for
each label on min-max scaled features, of five shuffled folds. The data sets have errors of their own, which count as
false alarms for everyone. The default was chosen on the first five sets, and checked on five others (2,000 samples of
the larger ones, 5 % flipped, two seeds). The forest was added later, by the ten sets together.

Makes the tables of ``docs/decisions/0058-suspicion-by-leave-one-out.md``. Results are kept in
``benchmarks/results/audit.jsonl``, a line for each data set, kind, rate and seed: a second run goes on where the first
stopped.

Run: ``python benchmarks/audit.py``; half an hour of processor time. ``--quick`` for a look, on emotions.
"""

from __future__ import annotations

import argparse
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

from _harness import GOAL_HEADERS, Goal, Table, add_record, as_text, print_facts, read_records, show, write_figures
from nearlabel.audit._scores import (
    Cells,
    disagreement,
    halfway_prior,
    positive_shares,
    prior_odds,
    self_confidence,
)
from nearlabel.datasets import fetch_dataset
from nearlabel.lazy import MLMLM, BRkNN, MLkNN
from nearlabel.neighbors import ExactNeighbors
from nearlabel.preprocessing import FeatureScaler
from nearlabel.rivals import RandomForestPCT
from nearlabel.utils.validation import as_dense

RESULTS = Path(__file__).parent / "results" / "audit.jsonl"
PAGE = Path(__file__).parents[1] / "docs" / "decisions" / "0058-suspicion-by-leave-one-out.md"
CHOSEN_ON = ("emotions", "scene", "yeast", "medical", "enron")
CHECKED_ON = ("image", "genbase", "cal500", "bibtex", "yahoo-health")
KINDS, RATES, SEEDS = ("random", "confusion"), (0.02, 0.05, 0.1), (0, 1, 2)
N_ROWS = 2_000  # of the larger sets that the default is checked on
WORDS = 0.25  # share of values other than 0 up to which features are words

COMPETITOR = "cleanlab, logistic regression"
DEFAULT = "ML-kNN + ML-MLM + forest, odds (halfway)"
PARTS: Mapping[str, tuple[str, ...]] = {
    "ML-kNN": ("ML-kNN",),
    "BRkNN": ("BRkNN",),
    "ML-MLM": ("ML-MLM",),
    "ML-kNN + BRkNN": ("ML-kNN", "BRkNN"),
    "ML-kNN + ML-MLM": ("ML-kNN", "ML-MLM"),
    "ML-kNN + BRkNN + ML-MLM": ("ML-kNN", "BRkNN", "ML-MLM"),
    "forest": ("forest",),
    "ML-kNN + forest": ("ML-kNN", "forest"),
    "ML-kNN + ML-MLM + forest": ("ML-kNN", "ML-MLM", "forest"),
    "regression + ML-MLM": ("regression", "ML-MLM"),
    "regression + ML-kNN + ML-MLM": ("regression", "ML-kNN", "ML-MLM"),
    "regression": ("regression",),
}
PRIORS: Mapping[str, Callable[[Any], Any]] = {
    "self-confidence": lambda labels: None,
    "odds": positive_shares,
    "odds (halfway)": halfway_prior,
}
SHOWN = (COMPETITOR, "cleanlab, ML-kNN + ML-MLM", DEFAULT, "ML-kNN + ML-MLM, odds (halfway)")
_HOW = {"random": "at random", "confusion": "by confusion"}
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
    # Imported here, for a test reads the page's figures without it.
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
    found["forest"] = RandomForestPCT(100, random_state=0)._fit_out_of_bag(rows, Y)
    seconds["forest"] = time.process_time() - start
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
    confidence = self_confidence(probabilities, Y)
    quality = confidence if prior is None else prior_odds(probabilities, Y, prior=prior)
    cells = Cells.of_rows(np.arange(len(Y)), confidence, quality, disagreement(shares, Y), n_wrong)
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
    of_ours(both, both, Y, wrong, halfway_prior(Y))
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
    return Table(f"{title}: precision, area, first tenth", ("data set", "chance", *SHOWN), rows)


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
    return Table("By kind and rate: cleanlab with the regression, the default", ("data set", "flips", *headers), rows)


def seconds_table(records: Sequence[Mapping[str, Any]], names: Sequence[str]) -> Table:
    """Return the processor time of evidence and ranking."""
    rows = []
    for name in names:
        of_set = [one["seconds"] for one in records if one["set"] == name]
        mean = {key: float(np.mean([one[key] for one in of_set])) for key in of_set[0]}
        theirs = mean["regression"], mean["cleanlab"]
        rows.append((name, *theirs, mean["ML-kNN"], mean["BRkNN"], mean["ML-MLM"], mean["forest"], mean["ranking"]))
    headers = ("data set", "regression, five folds", "cleanlab", "ML-kNN", "BRkNN", "ML-MLM", "forest", "our ranking")
    return Table("CPU seconds, mean", headers, rows)


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


def tables_of(records: Sequence[Mapping[str, Any]]) -> Iterator[Table]:
    """Yield all tables."""
    for names, where in ((CHOSEN_ON, ""), (CHECKED_ON, ", sets that the default was not chosen on")):
        of_these = [one for one in records if one["set"] in names]
        measured = sets_of(records, names)
        if not measured:
            continue
        for kind in KINDS:
            yield main_table(records, f"Flipped {_HOW[kind]}{where}", measured, kind=kind)
        if names == CHOSEN_ON:
            yield rates_table(records, measured)
        yield tried_table(of_these, measured, f"All that was tried{where}")
    yield seconds_table(records, sets_of(records, CHOSEN_ON + CHECKED_ON))


def page(records: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Yield the lines of the page that are made of records."""
    for table in tables_of(records):
        yield from markdown(table.title, table.headers, table.rows)
    goals = goals_of(records, sets_of(records, CHOSEN_ON))
    yield from markdown("Goals", GOAL_HEADERS, [(*goal, goal.verdict()) for goal in goals])


def markdown(title: str, headers: Sequence[str], rows: Sequence[Sequence[Any]]) -> Iterator[str]:
    """Yield the lines of a table."""
    yield f"\n**{title}**\n\n| {' | '.join(headers)} |\n|---|{'---:|' * (len(headers) - 1)}\n"
    yield from (f"| {' | '.join(map(as_text, row))} |\n" for row in rows)


def main() -> None:
    """Measure what is missing, print the figures and write the page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sets", default=",".join(CHOSEN_ON + CHECKED_ON))
    parser.add_argument("--quick", action="store_true", help="emotions, one seed; nothing is kept")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    print_facts()
    records = [] if options.quick else read_records(RESULTS)
    for name, flips in missing(records, quick=options.quick).items():
        if name not in options.sets.split(","):
            continue
        X, truth = rows_of(name)
        mistaken = confusions(X, truth)
        for one in flips:
            records.append(measure(name, X, truth, mistaken, one))
            if not options.quick:
                add_record(RESULTS, records[-1])
    show(tables_of(records), [] if options.quick else list(goals_of(records, sets_of(records, CHOSEN_ON))))
    if not options.quick:
        write_figures(PAGE, page(records))


if __name__ == "__main__":
    main()
