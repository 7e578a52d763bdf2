"""Readers of what experiments leave: records, plans, states of a tuning; and specifications of methods as text."""

from __future__ import annotations

import math
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from fuzz import grammar
from fuzz import text_corpus as corpus
from fuzz.binary_targets import made_in_folder
from fuzz.grammar import beside
from fuzz.mutation import ARCHIVE, JSON_LINES, TEXT, Files, words
from fuzz.oracles import check
from fuzz.target import Target
from nearlabel.comparison import compare_rows, read_results
from nearlabel.datasets import Dataset, write_store
from nearlabel.experiments import (
    Plan,
    Tuning,
    make_method,
    make_metric,
    make_sampler,
    make_search,
    read_records,
    run,
    summarise,
)
from nearlabel.experiments.records import kinds_of_columns, read_made_with, read_plan
from nearlabel.papers._paper_file import check_runs_no_code
from nearlabel.persistence import verify

PLAN = Plan(("brknn", "mlknn"), (1, 2), cv=2, metrics=("hamming_loss", "one_error"), per_row=True)
METHODS = (
    b"mlknn:smoothing=0.5@micro-f:beta=2",
    b"igs:factor=2+brknn-b:rounding=half_up",
    b"br@0.25",
    b"nldd:scale=none",
)
METHODS += (
    b"mlsmote:n_neighbors=3+mlknn@risk:measure=precision:level=0.7",
    b"homer:n_clusters=3:random_state=1",
    b"iblr:plus=True",
)
METRICS = (b"micro_f1", b"roc_auc:average=micro", b"precision_at_k:k=3", b"fbeta_examples:beta=2")
SEARCHES = (b"exact:metric=cosine", b"exact:metric=manhattan:n_jobs=1", b"exact:algorithm=brute")
OPTIONS = words(
    b"+", b"@", b":", b"=", b"estimator=tree", b"random_state=", b":k=", b"nan", b"(1,", b"{}", b"[" * 300, b"'", b"()"
)


@cache
def toy() -> Dataset:
    """12 rows, 3 features, 3 labels."""
    rng = np.random.default_rng(0)
    X = rng.integers(0, 4, (12, 3)).astype(float)
    Y = (X + rng.normal(size=(12, 3)) > [1, 2, 1.4]).astype(np.int64)
    return Dataset(X, Y, ("0", "1", "2"), ("a", "b", "c"), "toy")


def _run() -> list[Files]:
    whole = made_in_folder(lambda folder: run(PLAN, {"toy": toy()}, out=folder / "run"))
    records = whole["run/records.jsonl"]
    return [whole, whole | {"run/records.jsonl": b"".join(records.splitlines(keepends=True)[:11])}]


@cache
def _whole_run() -> Files:
    return _run()[0]


@cache
def _lines() -> list[dict[str, Any]]:
    return run(PLAN, {"toy": toy()})


def _have_sums(folder: Path) -> bool:
    """Return whether each record on file has its check sum; damage of one without, of an older nearlabel, is unseen."""
    lines = (folder / "run" / "records.jsonl").read_bytes().splitlines()
    return all(b'"crc"' in line for line in lines)


def _records(folder: Path) -> None:
    records = list(read_records(folder / "run"))
    known = _lines()
    if records and _have_sums(folder):
        check(all(record in known for record in records), "records: one that was never written")
    for cell in summarise(records):
        check(cell.mean is None or math.isfinite(cell.mean), "summarise: a mean")
    with suppress(ValueError):  # of records, not of a file: damage may leave none of a method
        rows = compare_rows(records, n_neighbors=1)
        check(sum(rows.n_better.values()) == len(rows.rows) <= rows.n_rows, "compare_rows: numbers of rows")


def _plan(folder: Path) -> None:
    check(isinstance(read_plan(folder / "run")["problems"], dict), "plan: problems")
    kinds_of_columns(folder / "run")
    read_made_with(folder / "run")
    read_results(folder / "run")


def _resume(folder: Path) -> None:
    had_sums = not (folder / "run" / "records.jsonl").exists() or _have_sums(folder)
    records = run(PLAN, {"toy": toy()}, out=folder / "run")
    check(not had_sums or records == _lines(), "resume: other records than of an uninterrupted run")
    check(list(read_records(folder / "run")) == records, "resume: other records on file")


TUNING = Tuning(("brknn", "mlknn"), (1, 2))


def _several() -> list[Files]:
    """Return a folder with a store, a run, and files of data."""
    run_files = _run()[0]
    store = made_in_folder(lambda folder: write_store(folder / "store", np.eye(4)))
    return [store | run_files | {"a.csv": corpus.CSV, "b.arff": corpus.MEKA_DENSE, "c.svm": corpus.SVMLIGHT}]


def _verify(folder: Path) -> None:
    found = verify(folder)
    check(found.checked or found.findings, "verify: nothing was checked")
    check(all(finding.path.is_relative_to(folder) for finding in found.findings), "verify: findings elsewhere")
    sound = {of.path.relative_to(folder).as_posix() for of in found.checked if of.is_sound}
    if "run" in sound and _have_sums(folder):
        known = _lines()  # fewer are those of a run that was interrupted
        check(all(record in known for record in read_records(folder / "run")), "verify: sound, and of other records")


def _state() -> list[Files]:
    return [made_in_folder(lambda folder: TUNING.run(toy(), state=folder / "state.npz"))]


@cache
def _tuned() -> Any:
    return TUNING.run(toy())


def _resume_tuning(folder: Path) -> None:
    tuned = TUNING.run(toy(), state=folder / "state.npz")
    check(len(tuned.trials) == len(_tuned().trials), "state: other trials")


def _specification(name: str, make: Any) -> Any:
    """Read a specification as from a paper's file: one that would import code is refused first."""

    def read(folder: Path) -> None:
        text = (folder / name).read_bytes().decode("utf-8", "replace")
        check_runs_no_code("methods", text)
        try:
            made = make(text)
        except ImportError:
            return
        check(made is not None, "specification: something")

    return read


def _texts(*texts: bytes) -> Any:
    return lambda: [{"text": text} for text in texts]


RUN_FILES = ("run/plan.json", "run/made_with.jsonl")
SPECIFICATION = beside((*TEXT, OPTIONS, OPTIONS, OPTIONS), grammar.SPECIFICATION)

TARGETS = (
    Target("records", _run, _records, beside(JSON_LINES, grammar.RECORDS), fixed=RUN_FILES),
    Target("plan", _run, _plan, fixed=("run/records.jsonl",)),
    Target("resume", _run, _resume, share=0.25),
    Target("verify", _several, _verify, share=0.25),
    Target("tuning-state", _state, _resume_tuning, ARCHIVE, share=0.1),
    Target("methods", _texts(*METHODS), _specification("text", make_method), SPECIFICATION, names_file=False),
    Target("metrics", _texts(*METRICS), _specification("text", make_metric), SPECIFICATION, 0.5, names_file=False),
    Target("searches", _texts(*SEARCHES), _specification("text", make_search), SPECIFICATION, names_file=False),
    Target(
        "samplers",
        _texts(b"mlsmote:n_neighbors=3", b"mchen"),
        _specification("text", make_sampler),
        SPECIFICATION,
        names_file=False,
    ),
)
