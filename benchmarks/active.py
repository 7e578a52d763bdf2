"""Which rows should be labelled next, and which predictions be checked?

Learning curves: a test part of 30 %, drawn anew for each of 20 seeds; 20 rows of the rest are drawn and labelled, then
20 at a time are chosen from the rest until 300 are. Every criterion starts from the same rows of a seed. ML-kNN with
10 neighbours on features scaled to [0, 1] by all rows outside the test part, whose features are known; thresholds of
best micro F1 on leave-one-out scores, refitted each round, and 1/2 below 50 rows. A figure is the area under micro F1
of the test part over the number of labelled rows, from 20 to 300, and its difference to the random choice, paired by
seed, with the 95 % interval of Student's t; the test parts of the seeds overlap. A star marks an interval above 0.
The seeds are others than those by which the criterion was searched for, and so are the further data sets.

Review: of a model fitted to 70 % of all rows, which rows of the others are wrong? The share of all wrong label sets,
of all wrong cells, and of all that F1 loses, which the first tenth of the rows in each order has; means of 10 seeds.

Run: ``python benchmarks/active.py``; ``--quick`` for a look. It goes on with ``results/active.jsonl``. Data sets where
``NEARLABEL_DATA`` has them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import t as student
from sklearn.frozen import FrozenEstimator
from sklearn.preprocessing import MinMaxScaler

from _harness import (
    Goal,
    Table,
    add_record,
    facts_as_text,
    machine_facts,
    parser_for,
    print_facts,
    read_records,
    save,
    show,
    write_figures,
)
from nearlabel.audit import expected_loss, suggest
from nearlabel.audit._suggest import N_SCALE, Coverage, most_representative, similarities
from nearlabel.datasets import fetch_dataset
from nearlabel.lazy import MLkNN
from nearlabel.metrics import micro_f1
from nearlabel.models.decision import cut
from nearlabel.neighbors import ExactNeighbors, NeighborGraph, PrecomputedNeighbors
from nearlabel.thresholds import ExpectedF, FixedThresholdsClassifier, MicroFOptimum
from nearlabel.utils.validation import as_dense

PAGE = Path(__file__).parents[1] / "docs" / "figures" / "active.md"
SETS = ("emotions", "scene", "yeast", "medical", "enron")
FURTHER = ("image", "cal500")
START, BATCH, BUDGET, TUNED_FROM, K = 20, 20, 300, 50, 10
N_SEEDS, FIRST_SEED = 20, 100
ROWS = np.arange(START, BUDGET + 1, BATCH)


@dataclass
class Split:
    """The rows outside a test part, then those in it, with what is found once for all rounds."""

    Y: Any
    n_training: int
    distances: Any  # of all pairs
    ranks: Any  # of each row among the neighbours of each row
    similarity: Any  # of the rows outside the test part, by candidates


@dataclass
class Round:
    """What a criterion may look at: distances, which rows are labelled, and the scores of the others."""

    split: Split
    labelled: Any  # ascending
    pool: Any
    scores: Any  # of the pool
    left_out: Any
    thresholds: Any
    rng: Any

    def representatives(self, weights: Any = 1) -> Any:
        """Return the most representative rows, as `suggest` finds them: a labelled row adds nothing."""
        similarity = self.split.similarity * weights if np.ndim(weights) else self.split.similarity
        reached = similarity[self.labelled].max(axis=0, initial=0)
        return np.searchsorted(self.pool, most_representative(Coverage(similarity, reached), BATCH)[0])

    def first(self, values: Any) -> Any:
        """Return the rows of the pool of largest value."""
        return np.argsort(-values, kind="stable")[:BATCH]

    def lost_f1(self) -> Any:
        """Return the expected loss of F1 of the pool."""
        return 1 - ExpectedF().expected(self.scores)

    def uncertainty(self) -> Any:
        """Return how near the scores of each row are to the thresholds, beside those of labelled rows."""
        limits = np.where(np.isfinite(self.thresholds), self.thresholds, 2.0)
        usual = np.abs(self.left_out - limits).mean(axis=0)
        near = 1 - np.abs(self.scores - limits) / np.where(usual > 0, usual, np.inf)
        return np.where(usual > 0, np.maximum(near, 0), 0).mean(axis=1)


def at_random(now: Round) -> Any:
    """Choose by chance."""
    return now.rng.choice(len(now.pool), BATCH, replace=False)


def k_center(now: Round) -> Any:
    """Choose what is farthest from all rows labelled or chosen."""
    nearest, chosen = now.split.distances[now.labelled][:, now.pool].min(axis=0), []
    for _ in range(BATCH):
        chosen.append(int(nearest.argmax()))
        nearest = np.minimum(nearest, now.split.distances[now.pool[chosen[-1]], now.pool])
        nearest[chosen] = -1
    return np.array(chosen)


def representative(now: Round) -> Any:
    """Choose as `suggest` does."""
    return now.representatives()


def doubtful_representative(now: Round) -> Any:
    """Choose what represents rows that are weighted by the loss to be expected of them."""
    weights = np.zeros(now.split.n_training, dtype=np.float32)
    weights[now.pool] = np.rint(now.lost_f1() * 128) / 128
    return now.representatives(weights)


def largest_lost_f1(now: Round) -> Any:
    """Choose rows of largest expected loss of F1."""
    return now.first(now.lost_f1())


def entropy(now: Round) -> Any:
    """Choose rows whose labels have the largest entropy."""
    return now.first(entropies(now.scores))


def near_thresholds(now: Round) -> Any:
    """Choose rows whose scores are nearest to the thresholds."""
    return now.first(now.uncertainty())


def uncertain_half(now: Round) -> Any:
    """Choose by chance among the half of the pool nearest to the thresholds."""
    half = np.argsort(-now.uncertainty(), kind="stable")[: max(BATCH, len(now.pool) // 2)]
    return now.rng.choice(half, BATCH, replace=False)


def expected_change(now: Round) -> Any:
    """Choose rows that would change most votes of the pool: those of the lists that they enter."""
    ranks = now.split.ranks[now.pool]
    last = nearest_of(ranks[:, now.labelled], K)[:, -1]
    enters = (ranks[:, now.pool] < ranks[np.arange(len(ranks)), now.labelled[last]][:, np.newaxis]).astype(np.float32)
    leaves = now.split.Y[now.labelled][last].astype(np.float32)  # the label sets that give way
    p, gone = now.scores, enters.T @ leaves
    return now.first((p * enters.sum(axis=0)[:, np.newaxis] + gone - 2 * p * gone).sum(axis=1))


def entropies(scores: Any) -> Any:
    """Return the summed entropy of the labels of each row."""
    p = np.clip(scores, 1e-12, 1 - 1e-12)
    return -(p * np.log(p) + (1 - p) * np.log(1 - p)).sum(axis=1)


CRITERIA: Mapping[str, Callable[[Round], Any]] = {
    "random": at_random,
    "representative": representative,
    "k-center": k_center,
    "expected loss of F1": largest_lost_f1,
    "entropy": entropy,
    "near thresholds": near_thresholds,
    "random of the half near thresholds": uncertain_half,
    "expected change of votes": expected_change,
    "representative of doubtful rows": doubtful_representative,
    "representative from the first row": representative,
}
ON_EVERY = ("random", "representative", "k-center")


def rows_of(name: str) -> tuple[Any, Any]:
    """Return features and label sets, dense."""
    data = fetch_dataset(name)
    return as_dense(data.X).astype(np.float64), as_dense(data.Y).astype(np.int64)


def parts_of(X: Any, seed: int) -> tuple[Any, Any, Any]:
    """Return scaled rows, and the numbers of those outside the test part and in it."""
    order = np.random.default_rng(seed).permutation(len(X))
    test, training = order[: round(0.3 * len(X))], np.sort(order[round(0.3 * len(X)) :])
    return MinMaxScaler().fit(X[training]).transform(X), training, test


def split_of(X: Any, Y: Any, seed: int) -> Split:
    """Return a split with all distances, as the search of the model gives them."""
    Z, training, test = parts_of(X, seed)
    rows, n = Z[np.concatenate([training, test])], len(training)
    distances, indices = ExactNeighbors().fit(rows).kneighbors(rows, len(rows))
    square, ranks = np.empty_like(distances), np.empty(distances.shape, dtype=np.int16)
    np.put_along_axis(square, indices, distances, axis=1)
    np.put_along_axis(ranks, indices, np.arange(len(rows), dtype=np.int16)[np.newaxis], axis=1)
    of_training = square[:n, :n]
    scales = np.partition(of_training, N_SCALE, axis=1)[:, N_SCALE]  # the row itself is the first
    similarity = np.ascontiguousarray(similarities(of_training, scales).T)
    return Split(Y[np.concatenate([training, test])], n, square, ranks, similarity)


def nearest_of(ranks: Any, n: int) -> Any:
    """Return the n columns of lowest rank in each row, the nearest first."""
    some = np.argpartition(ranks, n - 1, axis=1)[:, :n]
    return np.take_along_axis(some, np.take_along_axis(ranks, some, axis=1).argsort(axis=1), axis=1)


def scored(split: Split, labelled: Any, asked: Any) -> tuple[Any, Any, Any]:
    """Return the scores of rows by ML-kNN fitted to the labelled ones, leave-one-out scores, and thresholds.

    Neighbours are known: a model that searches finds the same ones.
    """
    own = split.ranks[np.ix_(labelled, labelled)].copy()
    np.fill_diagonal(own, np.iinfo(own.dtype).max)
    graphs = [nearest_of(own, min(K + 1, len(labelled) - 1)), nearest_of(split.ranks[np.ix_(asked, labelled)], K)]
    known = [NeighborGraph(np.arange(1.0, graph.size + 1).reshape(graph.shape), graph) for graph in graphs]
    model = MLkNN(K, search=PrecomputedNeighbors(known[0], (known[1],)))
    model.fit(np.zeros((len(labelled), 1)), split.Y[labelled])
    left_out, Y = model.loo_predict_proba(), split.Y[labelled]
    thresholds = np.full(Y.shape[1], 0.5) if len(Y) < TUNED_FROM else MicroFOptimum().fit(left_out, Y).thresholds_
    return model.predict_proba(np.zeros((len(asked), 1))), left_out, thresholds


def curve(criterion: str, split: Split, seed: int) -> list[float]:
    """Return micro F1 of the test part for each number of labelled rows."""
    everything, n, rng = np.arange(len(split.Y)), split.n_training, np.random.default_rng(seed + 2)
    labelled, reached = np.sort(np.random.default_rng(seed + 1).permutation(n)[:START]), []
    if criterion.endswith("from the first row"):
        nothing = Round(split, np.zeros(0, dtype=np.intp), everything[:n], None, None, None, rng)
        labelled = np.sort(representative(nothing))
    for n_rows in ROWS:
        others = np.setdiff1d(everything, labelled)
        scores, left_out, thresholds = scored(split, labelled, others)
        in_test = others >= n
        reached.append(round(float(micro_f1(split.Y[n:], cut(scores[in_test], thresholds))), 4))
        if n_rows < BUDGET:
            now = Round(split, labelled, others[~in_test], scores[~in_test], left_out, thresholds, rng)
            labelled = np.sort(np.concatenate([labelled, now.pool[CRITERIA[criterion](now)]]))
    return reached


def once(file: Path, name: str, what: str, measure: Callable[[], Any]) -> Any:
    """Return what an earlier run has found of a data set, or measure it: a run that is stopped loses one set."""
    for record in read_records(file):
        if (record["data set"], record["what"]) == (name, what):
            return record["found"]
    found = measure()
    add_record(file, {"data set": name, "what": what, "found": found})
    return found


def saved(file: Path, name: str, what: str, measure: Callable[[], Any]) -> Any:
    """Return what an earlier run has found of a data set, if any."""
    known = [record["found"] for record in read_records(file) if (record["data set"], record["what"]) == (name, what)]
    return known[0] if known else {}


def curves(name: str, criteria: Any, seeds: Any) -> dict[str, Any]:
    """Return the curves of each criterion, seed after seed, and micro F1 of a fit to all rows outside the test part."""
    X, Y = rows_of(name)
    found: dict[str, Any] = {criterion: [] for criterion in criteria} | {"all rows": []}
    for seed in seeds:
        split = split_of(X, Y, seed)
        for criterion in criteria:
            found[criterion].append(curve(criterion, split, seed))
        training, test = np.split(np.arange(len(Y)), [split.n_training])
        scores, _, thresholds = scored(split, training, test)
        found["all rows"].append(round(float(micro_f1(split.Y[test], cut(scores, thresholds))), 4))
    return found


def is_what_suggest_gives() -> bool:
    """Return whether the criterion that is measured chooses the rows that `suggest` does."""
    X, Y = rows_of("emotions")
    Z, training, _ = parts_of(X, 0)
    split, rows = split_of(X, Y, 0), Z[training]
    start = np.sort(np.random.default_rng(1).permutation(len(rows))[:START])
    pool = np.setdiff1d(np.arange(len(rows)), start)
    model = MLkNN(K).fit(rows[start], Y[training][start])
    measured = Round(split, start, pool, None, None, None, None).representatives()
    scores = scored(split, start, pool)[0]
    return [one.row for one in suggest(model, rows[pool], BATCH)] == measured.tolist() and (
        model.predict_proba(rows[pool]) == scores
    ).all()


def area(values: Any) -> Any:
    """Return the area under each curve, as a mean of micro F1."""
    return np.trapezoid(np.asarray(values), ROWS, axis=-1) / (ROWS[-1] - ROWS[0])


def difference(found: Mapping[str, Any], criterion: str) -> tuple[float, float]:
    """Return the mean difference of the area to the random choice, and half of its 95 % interval."""
    paired = area(found[criterion]) - area(found["random"])
    half = student.ppf(0.975, max(1, len(paired) - 1)) * paired.std(ddof=min(1, len(paired) - 1)) / len(paired) ** 0.5
    return float(paired.mean()), float(half)


def rows_needed(found: Mapping[str, Any], criterion: str) -> str:
    """Return the median number of labelled rows with which 95 % of the value of all rows is reached."""
    if criterion not in found:
        return "-"
    wanted = 0.95 * np.asarray(found["all rows"])[:, np.newaxis]
    reached = np.asarray(found[criterion]) >= wanted
    needed = np.where(reached.any(axis=1), ROWS[reached.argmax(axis=1)], np.inf)
    median = np.median(needed)
    return f"{median:.0f}" if np.isfinite(median) else f"> {BUDGET}"


def table_of_areas(title: str, found: Mapping[str, Mapping[str, Any]]) -> Table:
    """Return the areas of the random choice, and the differences of the others to it."""
    names = [name for name in CRITERIA if any(name in of_set for of_set in found.values())]
    rows = [["random: area", *(f"{area(of_set['random']).mean():.4f}" for of_set in found.values())]]
    rows += [[name, *(_difference(of_set, name) for of_set in found.values())] for name in names[1:]]
    rows.append([f"rows for 95 % of the value of all rows, medians (> {BUDGET}: not reached)"])
    rows += [[name, *(rows_needed(of_set, name) for of_set in found.values())] for name in names]
    return Table(title, ("", *found), rows)


def table_of_curves(found: Mapping[str, Mapping[str, Any]]) -> Table:
    """Return micro F1 along the curves of the random choice and of the one that is offered."""
    at = [int(np.flatnonzero(n_rows == ROWS)[0]) for n_rows in (20, 40, 60, 100, 200, 300)]
    rows = [
        [f"{name}, {criterion}", *(f"{value:.3f}" for value in np.mean(of_set[criterion], axis=0)[at])]
        for name, of_set in found.items()
        for criterion in ("random", "representative")
    ]
    return Table("Micro F1 by the number of labelled rows", ("", *(str(ROWS[place]) for place in at)), rows)


def _difference(found: Mapping[str, Any], criterion: str) -> str:
    if criterion not in found:
        return "-"
    mean, half = difference(found, criterion)
    return f"{mean:+.4f} ± {half:.4f}{' *' if mean > half else ''}"


ORDERS = ("chance", "labels", "subset", "f1", "entropy", "score nearest to its threshold", "distance to 10 neighbours")


def values_of(order: str, model: Any, X: Any, rng: Any) -> Any:
    """Return what rows are ordered by, largest first."""
    if order in ("labels", "subset", "f1"):
        return expected_loss(model, X, loss=order)
    if order == "chance":
        return rng.random(len(X))
    if order == "distance to 10 neighbours":
        return model.estimator_.estimator.search_.kneighbors(X, K)[0].mean(axis=1)
    p = model.predict_proba(X)
    if order == "entropy":
        return entropies(p)
    return -np.abs(p - np.where(np.isfinite(model.thresholds_), model.thresholds_, 2)).min(axis=1)


def reviewed(name: str, seeds: Any) -> dict[str, Any]:
    """Return, for each order, the shares of all errors in the first tenth of the test part: means over the seeds."""
    X, Y = rows_of(name)
    found: dict[str, list[Any]] = {order: [] for order in ORDERS}
    for seed in seeds:
        Z, training, test = parts_of(X, seed)
        inner = MLkNN(K).fit(Z[training], Y[training])
        thresholds = MicroFOptimum().fit(inner.loo_predict_proba(), Y[training]).thresholds_
        model = FixedThresholdsClassifier(FrozenEstimator(inner), thresholds).fit(Z[training], Y[training])
        wrong = model.predict(Z[test]) != Y[test]
        sizes = model.predict(Z[test]).sum(axis=1) + Y[test].sum(axis=1)
        lost = np.where(sizes > 0, wrong.sum(axis=1) / np.maximum(sizes, 1), 0)  # 1 - F1
        for order in ORDERS:
            values = values_of(order, model, Z[test], np.random.default_rng(seed))
            first = np.argsort(-values, kind="stable")[: -(-len(test) // 10)]
            of_rows = (wrong.any(axis=1), wrong.sum(axis=1), lost)
            found[order].append([float(of[first].sum() / of.sum()) for of in of_rows] + [wrong.any(axis=1).mean()])
    return {order: np.mean(values, axis=0).round(4).tolist() for order, values in found.items()}


def tables_of_review(found: Mapping[str, Mapping[str, Any]]) -> Iterator[Table]:
    """Yield a table for each kind of error."""
    for place, what in enumerate(("rows with a wrong label set", "wrong labels", "F1 that is lost")):
        rows = [[order, *(f"{of_set[order][place]:.3f}" for of_set in found.values())] for order in ORDERS]
        if place == 0:
            best = [min(1.0, 0.1 / of_set["chance"][3]) for of_set in found.values()]
            rows.append(["about the most that an order can have", *(f"{value:.3f}" for value in best)])
        yield Table(f"Share of all {what} in the first tenth", ("order", *found), rows)


def goals_of(found: Mapping[str, Any], review: Mapping[str, Any]) -> list[Goal]:
    """Return what was asked for: four sets of five."""
    better = [mean > half for mean, half in (difference(of_set, "representative") for of_set in found.values())]
    more = [all(a > b for a, b in zip(of["labels"][:2], of["chance"][:2], strict=True)) for of in review.values()]
    return [
        Goal("sets of five where representative rows beat random ones, interval above 0", "at least", 4, sum(better)),
        Goal("sets of five where the first tenth of a review has more errors than chance", "at least", 4, sum(more)),
    ]


def main() -> None:
    """Measure, print and save."""
    parser = parser_for(__doc__, "active", repeats=1)
    parser.add_argument("--sets", help="measure these data sets only, comma-separated, and print nothing")
    parser.add_argument("--saved", action="store_true", help="show what was measured so far, and measure nothing")
    options = parser.parse_args()
    sets, further, n_seeds = (SETS[:1], (), 2) if options.quick else (SETS, FURTHER, N_SEEDS)
    wanted = set(options.sets.split(",")) if options.sets else {*sets, *further}
    measure = saved if options.saved else once
    seeds, file = range(FIRST_SEED, FIRST_SEED + n_seeds), options.out.with_suffix(".jsonl")
    file.parent.mkdir(parents=True, exist_ok=True)
    if not is_what_suggest_gives():
        raise AssertionError("suggest chooses other rows than those measured here")
    found = {
        name: measure(file, name, "curves", partial(curves, name, ON_EVERY, seeds))
        for name in (*sets, *further)
        if name in wanted
    }
    for name in sets:
        if name in wanted:
            others = [criterion for criterion in CRITERIA if criterion not in ON_EVERY]
            found[name] = found[name] | measure(file, name, "other curves", partial(curves, name, others, seeds))
    review = {
        name: measure(file, name, "review", partial(reviewed, name, seeds[:10])) for name in sets if name in wanted
    }
    if options.sets:
        return
    found = {name: of_set for name, of_set in found.items() if of_set}
    of_sets, of_others = ({name: found[name] for name in names if name in found} for names in (sets, further))
    tables = [table_of_areas("Difference of the area under micro F1 to the random choice", of_sets)]
    tables += [table_of_areas("The same on further data sets", of_others)] if of_others else []
    tables += [table_of_curves(found), *tables_of_review(review)]
    goals = goals_of(of_sets, review)
    print_facts()
    show(tables, goals)
    save(options, __doc__, {}, tables, goals)
    if not options.quick:
        write_figures(PAGE, page_of(tables))


def page_of(tables: list[Table]) -> Iterator[str]:
    """Yield the lines of the tables in Markdown."""
    yield f"Machine: {facts_as_text(machine_facts())}.\n\n"
    for one in tables:
        yield f"**{one.title}**\n\n| {' | '.join(one.headers)} |\n|---|{'---:|' * (len(one.headers) - 1)}\n"
        for row in one.rows:
            cells = [*row, *[""] * (len(one.headers) - len(row))]
            yield f"| {' | '.join([f'**{cells[0]}**' if len(row) == 1 else cells[0], *cells[1:]])} |\n"
        yield "\n"


if __name__ == "__main__":
    main()
