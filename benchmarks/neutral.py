"""How good, how fast and how large are nearlabel and every rival that installs, on all shared data sets?

Every data set of the catalogue (each once) is split as published, or else two thirds of its shuffled rows train. All
classifiers get the same rows. Their features are scaled to [0, 1]; those of linear models are standardised, or words
and flags are weighted by tf-idf unless their rows have length 1 already; the commands of nearlabel get them as they
are. A label with one class in the training rows is left out for every rival, which then decides for that class.

A rival has its newest version, in an environment of its own, and the defaults of its library but for a seed, one
thread, k = 10 of neighbours, more iterations of logistic regressions, an intercept of LibMultiLabel and, of fastText,
the parameters of its page on several labels. Its "own" decisions are those of its `predict`. Its "tuned" ones are by
thresholds of largest micro F1 on the scores of the training rows, by three inner folds, the same for all. nearlabel's
commands and LibMultiLabel "for micro F1" select their decisions, so both decisions are the same.

Each fit with its predictions may use 60 seconds of a core (`--seconds`); `fit` and `tune` are told 0.6 of it as the
limit of their selection, which counts seconds of the clock: on a busy machine they try less. What takes longer is
ended; CatBoost ends its rounds after half of the seconds. After three data sets a rival that was not done in time is
not tried on larger ones (rows times features times labels). What was not done ranks last.

Average precision and log loss are those of scores; probabilities are clipped to 0.001 and 0.999, and scores of
support vector machines are no probabilities. "MiB" is the peak of memory above imports and data, while the model is
fitted and predicts.

Makes the tables of ``docs/figures/neutral.md`` and the diagrams. Results are kept in
``benchmarks/results/neutral.jsonl``: a second run goes on where the first stopped; ``--again METHOD`` forgets a method.

Run: ``python benchmarks/neutral.py``; three hours on two cores. ``--sets emotions,scene`` for some.
"""

from __future__ import annotations

import argparse
import datetime as dt
import json
import os
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np

from _harness import QUICK_RESULTS, add_record, machine_facts, read_records, write_figures, write_records
from _rivals_of_neutral import METHODS, read_array, write_split
from nearlabel import FeatureScaler
from nearlabel.comparison import FriedmanTest, compare
from nearlabel.datasets import catalogue, fetch_dataset
from nearlabel.metrics import get_metric, score_all
from nearlabel.plots import CriticalDifferenceDisplay
from nearlabel.thresholds import MicroFOptimum
from nearlabel.utils.validation import as_dense
from which_method import NUMBERS, WORST, candidate_for

RESULTS = Path(__file__).parent / "results" / "neutral.jsonl"
PAGE = Path(__file__).parents[1] / "docs" / "figures" / "neutral.md"
DIAGRAM = PAGE.parents[1] / "_static" / "neutral.svg"
WORK = QUICK_RESULTS.parent / "neutral"
# What is installed where; the others run in the environment of this script.
ENVIRONMENTS: Mapping[str, str] = {
    "scikit-multilearn-ng": "scikit-multilearn-ng",
    "libmultilabel": "libmultilabel",
    "fasttext": "fasttext scikit-learn",
    "lightgbm": "lightgbm scikit-learn",
    "catboost": "catboost scikit-learn",
    "mlrl-boomer": "mlrl-boomer",
}
_REPEATED = ("meka-", "reuters21578-terms")  # rows of other sets once more
DECIDED, SCORED = ("micro_f1", "macro_f1", "subset_accuracy"), ("average_precision", "log_loss")
RANKED = {
    "micro F1, tuned": ("tuned", "micro_f1"),
    "macro F1, tuned": ("tuned", "macro_f1"),
    "subset accuracy, own": ("own", "subset_accuracy"),
    "average precision": ("scores", "average_precision"),
    "log loss": ("scores", "log_loss"),
}
FIRST = "micro F1, tuned"
OURS = ("nearlabel fit", "nearlabel fit, neighbours only", "nearlabel tune")
SECONDS, PATIENCE = 60.0, 20  # of a core; how many times as long by the clock before a process is ended
TOO_LONG, NOT_TRIED = "took more than {seconds:g} s", "not tried, after three that took too long"
CLIP = 1e-3
Record = Mapping[str, Any]


def _size(name: str) -> int:
    entry = catalogue()[name]
    return entry.features * entry.labels * max(subset.instances for subset in entry.subsets.values())


SETS = tuple(sorted((name for name in catalogue() if not name.startswith(_REPEATED)), key=_size))


def python_of(environment: str) -> Path:
    """Return the Python of an environment, which is made if there is none."""
    if environment not in ENVIRONMENTS:
        return Path(sys.executable)
    folder = WORK / "environments" / environment
    python, done = folder / "bin" / "python", folder / "installed"
    if not done.exists():
        subprocess.run([sys.executable, "-m", "venv", folder], check=True)
        install = [python, "-m", "pip", "--disable-pip-version-check", "--quiet", "install", "--upgrade"]
        subprocess.run([*install, *ENVIRONMENTS[environment].split()], check=True, stderr=subprocess.DEVNULL)
        done.touch()
    return python


def split_of(name: str) -> Path:
    """Return the folder of a data set's split, which is written if there is none."""
    folder = WORK / "splits" / name
    if folder.exists():
        return folder
    if "train" in catalogue()[name].subsets:
        training, test = (fetch_dataset(name, subset) for subset in ("train", "test"))
        X, Y, X_test, Y_test = training.X, training.Y, test.X, test.Y
    else:
        data = fetch_dataset(name)
        order = np.random.default_rng(0).permutation(data.X.shape[0])
        first, last = order[: 2 * len(order) // 3], order[2 * len(order) // 3 :]
        X, Y, X_test, Y_test = data.X[first], data.Y[first], data.X[last], data.Y[last]
    scale = candidate_for(X, "br").scale
    scalers = {"scaled": "minmax", "linear": "standard" if scale == "minmax" else scale, "raw": "none"}
    features = {}
    for form, kind in scalers.items():
        scaler = FeatureScaler(kind).fit(X)
        features |= {f"{form}_train": scaler.transform(X), f"{form}_test": scaler.transform(X_test)}
    labels = {"Y_train": as_dense(Y).astype(np.int8), "Y_test": as_dense(Y_test).astype(np.int8)}
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent) as unfinished:
        inner = np.random.default_rng(0).permutation(len(labels["Y_train"])) % 3
        write_split(Path(unfinished), **features, **labels, inner_folds=inner)
        Path(unfinished).rename(folder)
        Path(unfinished).mkdir()  # for its own removal
    return folder


def measure(name: str, title: str, seconds: float) -> dict[str, Any]:
    """Return the record of a data set and a method, which runs in a process of its own."""
    record: dict[str, Any] = {"set": name, "method": title}
    split, python = split_of(name), python_of(METHODS[title].environment)
    settings = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    settings["MALLOC_MMAP_THRESHOLD_"] = "65536"  # memory is zero at first: fastText's one thread leaves nine tenths of
    # its weights as they are
    script = Path(__file__).with_name("_rivals_of_neutral.py")
    with tempfile.TemporaryDirectory() as folder:
        words = [python, script, title, split, folder, f"{seconds:g}"]
        try:
            ended = subprocess.run(
                words, env=os.environ | settings, capture_output=True, timeout=PATIENCE * seconds, check=False
            )
        except subprocess.TimeoutExpired:
            return record | {"not_done": TOO_LONG.format(seconds=seconds)}
        failed, facts = Path(folder) / "failed.json", Path(folder) / "facts.json"
        if failed.exists():
            return record | {"not_done": json.loads(failed.read_text())}
        known = json.loads(facts.read_text()) if facts.exists() else {}
        if not known or (METHODS[title].tuned and "tune" not in known):
            reason = f"ended with {ended.returncode}: {ended.stderr.decode()[-200:]}"
            return record | {"not_done": TOO_LONG.format(seconds=seconds) if ended.returncode < 0 else reason}
        return record | values_of(split, Path(folder), known)


def values_of(split: Path, folder: Path, facts: Mapping[str, Any]) -> dict[str, Any]:
    """Return the metrics of what a process has written, beside its facts."""
    truth, predicted, scores = (
        read_array(split, "Y_test"),
        read_array(folder, "predicted"),
        read_array(folder, "scores"),
    )
    tuned = predicted
    if "tune" in facts:
        tuned = MicroFOptimum().fit(read_array(folder, "held"), read_array(split, "Y_train")).predict(scores)
    scored = SCORED if facts["is_probable"] else SCORED[:1]
    probabilities = np.clip(scores, CLIP, 1 - CLIP) if facts["is_probable"] else scores
    values = {
        "own": score_all(truth, predicted, scores, DECIDED),
        "tuned": score_all(truth, tuned, scores, DECIDED),
        "scores": score_all(truth, predicted, probabilities, scored),
    }
    costs = {name: round(facts[name], 4) for name in ("fit", "predict", "tune", "mib") if name in facts}
    return {**values, **costs, "versions": facts["versions"], "date": f"{dt.date.today()}"}


def is_hopeless(name: str, method: str, found: Mapping[tuple[str, str], Record]) -> bool:
    """Return whether a method took too long on three smaller data sets, and on none that are larger it was done."""
    smaller = [
        found[other, method].get("not_done", "") for other in SETS[: SETS.index(name)] if (other, method) in found
    ]
    return len(smaller) >= 3 and all(reason.startswith(TOO_LONG[:9]) or reason == NOT_TRIED for reason in smaller[-3:])


def measure_missing(arguments: argparse.Namespace) -> None:
    """Measure what is wanted and not known yet, several at a time."""
    found = {(record["set"], record["method"]): record for record in read_records(RESULTS)[1:]}
    chosen = [(name, method) for name in SETS for method in METHODS]
    wanted = [(name, method) for name, method in chosen if name in arguments.sets and method in arguments.methods]
    for environment in dict.fromkeys(METHODS[method].environment for _, method in wanted):
        python_of(environment)
    lock = threading.Lock()

    def one(name: str, method: str) -> None:
        with lock:
            hopeless = is_hopeless(name, method, found)
            split_of(name)
        record = {"set": name, "method": method, "not_done": NOT_TRIED}
        record = record if hopeless else measure(name, method, arguments.seconds)
        with lock:
            found[name, method] = record
            add_record(RESULTS, record)
            print(record, flush=True)

    with ThreadPoolExecutor(arguments.processes) as pool:
        for ended in [pool.submit(one, *pair) for pair in wanted if pair not in found]:
            ended.result()


def page(records: Sequence[Record]) -> Iterator[str]:
    """Yield the lines of the page that are made of records: the first one has the machine."""
    machine, records = records[0]["machine"], complete(records[1:])
    tests = ranked(records)
    yield from _head_lines(records, machine)
    yield from _rank_table(records, tests)
    yield from _mean_table(records)
    yield from _difference_lines(tests)
    yield from _set_table(records)
    yield from _cost_table(records)
    yield from _not_done_table(records)


def complete(records: Sequence[Record]) -> list[Record]:
    """Return the records of the data sets that all methods were tried on, in the order of sets and methods."""
    by_place = {(record["set"], record["method"]): record for record in records}
    names = [name for name in SETS if all((name, method) in by_place for method in METHODS)]
    return [by_place[name, method] for name in names for method in METHODS]


def ranked(records: Sequence[Record]) -> dict[str, FriedmanTest]:
    """Return Friedman's test of each value that is ranked, over the data sets."""
    flat = [one for record in records for one in _flat(record)]
    greater = {title: get_metric(metric).greater_is_better for title, (_, metric) in RANKED.items()}
    comparison = compare(flat, test="friedman", over="datasets", greater_is_better=greater)
    return {test.metric: test for test in comparison.friedman}


def _flat(record: Record) -> Iterator[dict[str, Any]]:
    """Yield a record for each value, as `compare` takes them; of what was not done the worst."""
    for title, (kind, metric) in RANKED.items():
        if metric == "log_loss" and not _has_probabilities(record["method"]):
            continue
        greater = get_metric(metric).greater_is_better
        value = _value(record, kind, metric)
        names = {"dataset": record["set"], "fold": 0, "method": record["method"], "metric": title}
        yield names | {"value": WORST[greater] if value is None else value}


def _has_probabilities(method: str) -> bool:
    return "SVC" not in method and "LibMultiLabel" not in method


def _value(record: Record, kind: str, metric: str) -> float | None:
    return None if "not_done" in record else record[kind].get(metric)


def _line(*cells: object) -> str:
    return f"| {' | '.join(map(str, cells))} |\n"


def _head(first: str, *others: str) -> str:
    return _line(first, *others) + "|---|" + "---:|" * len(others) + "\n"


def _sets_of(records: Sequence[Record]) -> list[str]:
    return list(dict.fromkeys(record["set"] for record in records))


def _head_lines(records: Sequence[Record], machine: Mapping[str, Any]) -> Iterator[str]:
    done = [record for record in records if "date" in record]
    dates = sorted(record["date"] for record in done)
    versions = dict.fromkeys(part for record in done for part in record["versions"].split(", "))
    when = " to ".join(dict.fromkeys((dates[0], dates[-1])))
    yield (
        f"{len(_sets_of(records))} data sets, {len(METHODS)} classifiers, {when}:"
        f" {', '.join(sorted(versions))}; {machine['cores']} cores, {machine['architecture']}"
        f" ({machine['processor']}), Python {machine['python']}.\n\n"
    )


def _rank_table(records: Sequence[Record], tests: Mapping[str, FriedmanTest]) -> Iterator[str]:
    """Yield the mean ranks of each method, best first."""
    yield "## Mean ranks\n\n"
    yield _head("method", *RANKED, "not done")
    of_first = tests[FIRST].mean_ranks
    for method in sorted(METHODS, key=lambda one: of_first[one]):
        ranks = [tests[title].mean_ranks.get(method) for title in RANKED]
        bests = [min(tests[title].mean_ranks.values()) for title in RANKED]
        cells = [_marked(rank, best) for rank, best in zip(ranks, bests, strict=True)]
        n_left = sum("not_done" in record for record in records if record["method"] == method)
        yield _line(method, *cells, n_left or "")
    yield _line("*critical difference*", *(f"{tests[title].critical_difference:.1f}" for title in RANKED), "") + "\n"


def _marked(rank: float | None, best: float) -> str:
    if rank is None:
        return "–"
    return f"**{rank:.1f}**" if f"{rank:.1f}" == f"{best:.1f}" else f"{rank:.1f}"


def _mean_table(records: Sequence[Record]) -> Iterator[str]:
    """Yield means over the data sets of both kinds of features that all the methods were done on that are shown."""
    names = _sets_of(records)
    for kind, some in {
        "Numbers": [name for name in names if name in NUMBERS],
        "Words and flags": [name for name in names if name not in NUMBERS],
    }.items():
        of_kind = {m: [r for r in records if r["method"] == m and r["set"] in some] for m in METHODS}
        least = max(1, len(some) - len(some) // 4)
        shown = {m: of for m, of in of_kind.items() if sum("not_done" not in r for r in of) >= least}
        common = [n for n in some if all("not_done" not in r for of in shown.values() for r in of if r["set"] == n)]
        if not common:
            continue
        columns = [(k, m) for k in ("own", "tuned") for m in DECIDED] + [("scores", m) for m in SCORED]
        yield f"## {kind}: means over {len(common)} data sets\n\n"
        yield (
            f"{', '.join(common)}: those of {len(some)} on which every classifier of the table was done. Classifiers"
            f" that were done on fewer than {least} are left out.\n\n"
        )
        titles = [f"{get_metric(m).title}, {k}" if k != "scores" else get_metric(m).title for k, m in columns]
        yield _head("method", *titles)
        rows = {m: [_mean(of, common, *column) for column in columns] for m, of in shown.items()}
        best = [_best(values, m) for values, (_, m) in zip(zip(*rows.values(), strict=True), columns, strict=True)]
        for method in sorted(rows, key=lambda m: -(rows[m][len(DECIDED)] or 0)):
            cells = zip(rows[method], best, strict=True)
            yield _line(method, *("–" if v is None else f"**{v:.3f}**" if v == top else f"{v:.3f}" for v, top in cells))
        yield "\n"


def _mean(records: Sequence[Record], names: Sequence[str], kind: str, metric: str) -> float | None:
    values = [_value(record, kind, metric) for record in records if record["set"] in names]
    found = [value for value in values if value is not None]
    return float(np.mean(found)) if len(found) == len(names) else None


def _best(values: Sequence[float | None], metric: str) -> float:
    found = [value for value in values if value is not None]
    return max(found) if get_metric(metric).greater_is_better else min(found)


def _difference_lines(tests: Mapping[str, FriedmanTest]) -> Iterator[str]:
    test = tests[FIRST]
    yield f"## What differs by more than chance\n\n![Mean ranks in micro F1](../_static/{DIAGRAM.name})\n\n"
    yield (
        f"Micro F1 with tuned thresholds: Friedman's test in the form of Iman and Davenport has F ="
        f" {test.f_statistic:.1f}, p = {test.f_p_value:.1g}. Of two classifiers that are"
        f" {test.critical_difference:.1f} mean ranks or more apart the better one is significantly better (Nemenyi,"
        " 5 %). A line joins those that are not.\n\n"
    )


def _set_table(records: Sequence[Record]) -> Iterator[str]:
    """Yield the micro F1 of nearlabel's commands and of the best rivals on each data set."""
    yield "## Set by set: micro F1, tuned\n\n"
    rivals = [method for method in METHODS if not method.startswith("nearlabel")]
    yield _line("data set", *OURS, "best rival", "", "second rival", "") + "|---|---:|---:|---:|---|---:|---|---:|\n"
    for name in _sets_of(records):
        of_set = {r["method"]: _value(r, *RANKED[FIRST]) for r in records if r["set"] == name}
        done = sorted((m for m in rivals if of_set[m] is not None), key=lambda m: -of_set[m])[:2]
        values = [of_set[method] for method in (*OURS, *done)]
        top = max(value for value in values if value is not None)
        cells = ["–" if v is None else f"**{v:.3f}**" if v == top else f"{v:.3f}" for v in values]
        yield _line(name, *cells[:3], *(cell for pair in zip(done, cells[3:], strict=True) for cell in pair))
    yield "\n"


def _cost_table(records: Sequence[Record]) -> Iterator[str]:
    """Yield the cost of each method: medians and sums over the data sets it was done on, as a multiple of LinearSVC."""
    yield "## Time and memory\n\n"
    yield (
        "Medians over the data sets on which each was done: seconds of a core to fit, to fit three times more for"
        " thresholds, to predict a thousand rows; MiB.\n\n"
    )
    yield _head("method", "done", "fit", "tune", "predict 1,000", "MiB")
    n_test = {name: read_rows(name) for name in _sets_of(records)}
    for method in METHODS:
        done = [record for record in records if record["method"] == method and "not_done" not in record]
        if not done:
            continue
        tune = [record["tune"] for record in done if "tune" in record]
        predict = np.median([1000 * record["predict"] / n_test[record["set"]] for record in done])
        cells = (np.median([record["fit"] for record in done]), np.median(tune) if tune else None, predict)
        texts = ("–" if cell is None else f"{cell:.2g}" for cell in cells)
        yield _line(method, len(done), *texts, f"{np.median([record['mib'] for record in done]):.0f}")
    yield "\n"


def read_rows(name: str) -> int:
    """Return how many test rows a data set has."""
    subsets = catalogue()[name].subsets
    if "test" in subsets:
        return int(subsets["test"].instances)
    return int(subsets["all"].instances - 2 * subsets["all"].instances // 3)


def _not_done_table(records: Sequence[Record]) -> Iterator[str]:
    """Yield which methods were not done on which data sets, and why."""
    by_reason: dict[tuple[str, str], list[str]] = {}
    for record in records:
        if "not_done" in record:
            by_reason.setdefault((record["method"], record["not_done"]), []).append(record["set"])
    yield "## What was not done\n\n" + _line("method", "why", "data sets") + "|---|---|---|\n"
    for (method, reason), names in sorted(by_reason.items(), key=lambda one: list(METHODS).index(one[0][0])):
        yield _line(method, reason, ", ".join(names))


def main() -> None:
    """Measure what is missing, and write the page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sets", type=lambda text: text.split(","), default=SETS)
    parser.add_argument("--methods", type=lambda text: text.split(";"), default=tuple(METHODS), help="joined by ;")
    parser.add_argument("--again", default="", help="forget the results of a method")
    parser.add_argument("--seconds", type=float, default=SECONDS)
    parser.add_argument("--processes", type=int, default=2)
    arguments = parser.parse_args()
    known = [record for record in read_records(RESULTS) if record.get("method") != arguments.again]
    write_records(RESULTS, known or [{"machine": machine_facts()}])
    measure_missing(arguments)
    records = read_records(RESULTS)
    if complete(records[1:]):
        CriticalDifferenceDisplay.of(ranked(complete(records[1:]))[FIRST]).write(DIAGRAM)
        write_figures(PAGE, page(records))


if __name__ == "__main__":
    main()
