"""Where samples follow each other, which samples should tune the thresholds?

`NeighborsClassifierCV` (votes, 20 or 60 neighbours) is fitted to the first samples of a stream without an order, and
with one, when the later fifth of them selects the candidate. Then the next 800 samples are predicted. The thresholds of
that candidate are tuned in four ways: on scores of the later fifth by a fit to the earlier samples ("later fifth"); by
leave-one-out of all samples ("all"), and of the later half ("later half"); and so, but with those of all samples for
labels with fewer than 10 positives in the later half ("order=", as the library does).

Streams: 80 topics of 40 normal features, with 120 tags drawn by topic. Nothing moves ("none"), the frequencies of the
topics do ("topics"), the tags of each topic change on a day of its own ("tags"), the centres move ("features"), or all
of this. "yeast" is shuffled, and its labels are exchanged in the middle of the stream.

Makes the table of the page ``docs/best_by_default.md``.

Run: ``python benchmarks/by_time.py``; five minutes of processor time.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from sklearn.base import clone

from _harness import Table, print_facts, show
from nearlabel import BRkNN, MLkNN, NeighborsClassifierCV
from nearlabel.datasets import fetch_dataset
from nearlabel.metrics import micro_f1
from nearlabel.models.decision import cut
from nearlabel.models.out_of_sample import later_half, split_at
from nearlabel.neighbors import GaussianWeights
from nearlabel.thresholds import MicroFOptimum
from nearlabel.thresholds.best_value import for_a_refit
from nearlabel.utils.validation import as_dense

N_TOPICS, N_TAGS, N_FEATURES = 80, 120, 40
MOVES = ("none", "topics", "tags", "features", "all")
NEXT = 800
METHODS = {
    "brknn": BRkNN(),
    "mlknn": MLkNN(),
    "by distance": BRkNN(weights="distance"),
    "by a kernel": BRkNN(weights=GaussianWeights(4.0)),
}


def stream(moves: str, n_samples: int = 6_000) -> tuple[Any, Any]:
    """Return samples in their order, and their tags."""
    random = np.random.default_rng(5)
    time = np.sort(random.random(n_samples))
    first, last = random.normal(size=(2, N_TOPICS, N_FEATURES))
    before, after = (random.permutation(1 / np.arange(1, N_TOPICS + 1) ** 0.9) for _ in range(2))
    share = time * (moves in ("topics", "all"))
    odds = before * (1 - share[:, np.newaxis]) + after * share[:, np.newaxis]
    topic = np.array([random.choice(N_TOPICS, p=row / row.sum()) for row in odds])
    way = 0.6 * time[:, np.newaxis] * (moves in ("features", "all"))
    X = 0.9 * (first[topic] * (1 - way) + last[topic] * way) + random.normal(size=(n_samples, N_FEATURES))
    frequency = 1 / np.arange(1, N_TAGS + 1) ** 0.8
    frequency /= frequency.sum()
    own = np.array([[random.choice(N_TAGS, 5, replace=False, p=frequency) for _ in range(N_TOPICS)] for _ in range(2)])
    likely = random.beta(1.2, 2, (N_TOPICS, 5))
    day = random.random(N_TOPICS) if moves in ("tags", "all") else np.full(N_TOPICS, 2.0)
    Y = np.zeros((n_samples, N_TAGS), dtype=np.int64)
    for row, (at, of) in enumerate(zip(time, topic, strict=True)):
        tags = own[int(at > day[of]), of]
        Y[row, tags[random.random(5) < likely[of]]] = 1
        if random.random() < 0.3:
            Y[row, random.choice(N_TAGS, p=frequency)] = 1
    return X, Y


def switched(name: str) -> tuple[Any, Any]:
    """Return a data set, shuffled, whose labels are exchanged from the middle on."""
    data, random = fetch_dataset(name), np.random.default_rng(1)
    order = random.permutation(data.Y.shape[0])
    X, Y = data.X[order], as_dense(data.Y)[order].astype(np.int64)
    Y[len(Y) // 2 :] = Y[len(Y) // 2 :, random.permutation(Y.shape[1])]
    return X, Y


def measured(X: Any, Y: Any, n_known: int) -> list[str]:
    """Return micro F1 on the next samples, without an order and in all ways with one."""
    known, following = np.arange(n_known), np.arange(n_known, min(len(Y), n_known + NEXT))
    has = Y[known].any(axis=0)
    Y = Y[:, has]
    make = NeighborsClassifierCV(methods=METHODS, n_neighbors=(20, 60), scales=("minmax",), verbose=0)
    plain = clone(make).fit(X[known], Y[known])
    chosen = clone(make).fit(X[known], Y[known], order=known)
    steps, tuned = chosen.best_estimator_[:-1], chosen.best_estimator_[-1]
    rows, queries = steps.transform(X[known]), steps.transform(X[following])
    scores, left_out = tuned.estimator_.predict_proba(queries), tuned.estimator_.loo_predict_proba()
    half, (earlier, later) = later_half(known), split_at(known)
    of_later = clone(tuned.estimator_).fit(rows[earlier], Y[earlier]).predict_proba(rows[later])
    strategies = (
        for_a_refit(MicroFOptimum().fit(of_later, Y[later]), of_later),
        MicroFOptimum().fit(left_out, Y[known]),
        MicroFOptimum().fit(left_out[half], Y[half]),
        tuned.strategy_,
    )
    values = [micro_f1(Y[following], cut(scores, one.thresholds_)) for one in strategies]
    return [f"{value:.3f}" for value in (micro_f1(Y[following], plain.predict(X[following])), *values)]


def main() -> None:
    """Print the table."""
    warnings.simplefilter("ignore")
    print_facts()
    rows = []
    for moves in MOVES:
        X, Y = stream(moves)
        rows += [[f"{moves}, {n:,} samples", *measured(X, Y, n)] for n in (2_500, 5_000)]
    X, Y = switched("yeast")
    rows += [[f"yeast, exchanged, {n:,} samples", *measured(X, Y, n)] for n in (1_600, 2_000)]
    headers = ("what moves", "no order", "later fifth", "all", "later half", "order=")
    show([Table("Micro F1 on the next samples", headers, rows)], [])


if __name__ == "__main__":
    main()
