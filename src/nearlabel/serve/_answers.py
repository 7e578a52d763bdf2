"""Rows of requests as X, and the answers of a model for them; single rows that wait are searched together."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from itertools import accumulate
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from nearlabel import audit, models
from nearlabel.cli import _model
from nearlabel.datasets import open_rows, tables
from nearlabel.experiments.one_search import searching_once
from nearlabel.serve._live import LiveModel, State, rows_in_file
from nearlabel.utils.estimators import label_scores, response_method_of
from nearlabel.utils.frames import plain_labels

_MOST_ROWS_AT_ONCE = 1024
_MOST_WAITING = 50_000  # rows that wait for a search
_PATIENCE = 0.002  # seconds


def rows_of(state: State, given: Any) -> Any:
    """Return the features of the rows of a request, read as those of a file; raise ValueError if they cannot be."""
    opened = state.opened
    kinds, names = opened.matching.kinds, opened.feature_names
    ways = [name for name in ("rows", "texts", "arrays") if getattr(given, name) is not None]
    if len(ways) != 1:
        raise ValueError(f"the request must have exactly one of rows, texts and arrays, got {ways or 'none'}.")
    objects = getattr(given, ways[0])
    if not objects:
        raise ValueError(f"{ways[0]} must have at least one row, got none.")
    if ways[0] == "texts":
        columns = text_columns(state)
        if len(columns) != 1:
            raise ValueError(f"texts must go with a model of one text column, got one of {len(columns)}. Hint: rows.")
        objects = [{columns[0]: text} for text in objects]
    elif ways[0] == "arrays":
        wrong = next((number for number, row in enumerate(objects, start=1) if len(row) != len(names)), None)
        if wrong is not None:
            raise ValueError(
                f"arrays must have {len(names)} features in a row, as the model, got {len(objects[wrong - 1])} in row"
                f" {wrong}."
            )
        if not kinds or set(kinds) == {"number"}:
            return _numbers(objects)
        objects = [dict(zip(names, row, strict=True)) for row in objects]
    elif isinstance(names, tables.NumberedNames):
        raise ValueError("rows must go with a model whose features have names, got one without. Hint: arrays.")
    return next(iter(tables.rows_of_objects(objects, names, kinds))).X


def text_columns(state: State) -> list[str]:
    """Return the names of the features that are texts."""
    opened = state.opened
    return [name for name, kind in zip(opened.feature_names, opened.matching.kinds, strict=False) if kind == "text"]


class TooManyRowsError(Exception):
    """There are more rows than a request may have."""


def rows_of_csv(state: State, content: bytes, most: int) -> Any:
    """Return the features of the rows of a CSV file; raise TooManyRowsError if there are more than `most`."""
    opened = state.opened
    with rows_in_file(content, ".csv") as arguments:
        blocks, n_rows = open_rows(arguments.data, opened.feature_names, feature_kinds=opened.matching.kinds), 0
        parts = []
        for block in blocks:
            n_rows += block.X.shape[0]
            if n_rows > most:
                raise TooManyRowsError(f"rows must be at most {most} at once, got more.")
            parts.append(block.X)
        return joined(parts)


def _numbers(rows: Sequence[Sequence[Any]]) -> Any:
    for number, row in enumerate(rows, start=1):
        others = {kind for kind in set(map(type, row)) if kind is bool or not issubclass(kind, int | float)}
        if others:
            wrong = next(value for value in row if type(value) in others)
            raise ValueError(f"arrays must have numbers, got {tables.shortened(wrong)} in row {number}.")
    try:
        return np.array(rows, dtype=np.float64)
    except OverflowError:
        raise ValueError("arrays must have numbers that fit in float64, got a larger integer.") from None


def joined(parts: Sequence[Any]) -> Any:
    """Return the rows of several matrices as one."""
    if len(parts) == 1:
        return parts[0]
    return sparse.vstack(parts, format="csr") if sparse.issparse(parts[0]) else np.concatenate(parts)


class Answered(NamedTuple):
    """Label sets and scores of some rows (n_rows, n_labels), and their explanations, by the model of a state."""

    state: State
    labels: Any
    scores: Any
    explanations: Sequence[Any]


def answered(state: State, X: Any, *, explain: bool) -> Answered:
    """Ask the model, which searches once; ValueError names the row and column of a value that it refuses."""
    opened = state.opened
    with _model.asking(opened, "rows", X, first=1):
        return _answered(state, opened, X, explain=explain)


def _answered(state: State, opened: _model.OpenModel, X: Any, *, explain: bool) -> Answered:
    asked = searching_once(opened.model)
    labels = sparse.csr_array(plain_labels(asked, X))
    scores = label_scores(asked, X, len(opened.label_names), response_method_of(asked))
    if not explain:
        return Answered(state, labels, scores, ())
    if not models.explains(asked):
        raise ValueError("the model must be a method by neighbours to be explained.")
    explanations = models.explain(asked, X, label_names=opened.label_names)
    return Answered(state, labels, scores, [one.with_kept(state.file.kept) for one in explanations])


def predictions(found: Answered, *, top: int | None, proba: bool) -> list[dict[str, Any]]:
    """Return the answers for all rows."""
    names, rows = found.state.opened.label_names, []
    for row, scores in enumerate(found.scores):
        chosen = found.labels.indices[found.labels.indptr[row] : found.labels.indptr[row + 1]]
        chosen = np.sort(chosen[found.labels.data[found.labels.indptr[row] : found.labels.indptr[row + 1]] != 0])
        shown = chosen
        if proba or top is not None:
            shown = np.argsort(-scores, kind="stable")[: None if proba else top]
        finite = [float(score) if np.isfinite(score) else None for score in scores[shown]]
        answer = {
            "labels": [names[label] for label in chosen],
            "scores": dict(zip([names[label] for label in shown], finite, strict=True)),
        }
        if found.explanations:
            answer["explanation"] = found.explanations[row].to_dict()
        rows.append(answer)
    return rows


class BusyError(Exception):
    """Too many rows or changes of others wait: the client should come again."""

    def __init__(self, what: str, n_waiting: int) -> None:
        super().__init__(f"there must be fewer {what} that wait, got {n_waiting}. Hint: send the request again later.")


class _Waiting(NamedTuple):
    X: Any
    explain: bool
    future: asyncio.Future[Answered]


class Batches:
    """Asks a model for all rows that wait at a time.

    A single request is asked at once. If there were several, as many are waited for, not long: their clients send the
    next ones soon.
    """

    def __init__(self, model: LiveModel, threads: ThreadPoolExecutor) -> None:
        self._model, self._threads = model, threads
        self._waiting: list[_Waiting] = []
        self._running: asyncio.Task[None] | None = None
        self._wanted, self._are_enough = 1, asyncio.Event()

    async def ask(self, X: Any, *, explain: bool) -> Answered:
        """Return what `answered` does for these rows alone."""
        if (n_rows := sum(one.X.shape[0] for one in self._waiting)) >= _MOST_WAITING:
            raise BusyError("rows", n_rows)
        loop = asyncio.get_running_loop()
        one = _Waiting(X, explain, loop.create_future())
        self._waiting.append(one)
        if len(self._waiting) >= self._wanted:
            self._are_enough.set()
        if self._running is None:
            self._running = loop.create_task(self._run())
        return await one.future

    async def _run(self) -> None:
        try:
            while some := self._next():
                found = await asyncio.get_running_loop().run_in_executor(self._threads, self._asked, some)
                for one, answer in zip(some, found, strict=True):
                    if one.future.done():  # its client has gone
                        continue
                    if isinstance(answer, BaseException):
                        one.future.set_exception(answer)
                    else:
                        one.future.set_result(answer)
                self._wanted = len(some) + len(self._waiting)
                if self._wanted > 1:
                    await self._wait_for_enough()
        finally:
            self._running, self._wanted = None, 1

    async def _wait_for_enough(self) -> None:
        self._are_enough = asyncio.Event()
        await asyncio.sleep(0)  # until the answers are sent
        if len(self._waiting) < self._wanted:
            with suppress(TimeoutError):
                await asyncio.wait_for(self._are_enough.wait(), _PATIENCE)

    def _next(self) -> list[_Waiting]:
        """Take requests that are asked together: the first, and others of its kind as long as there are few rows."""
        self._waiting = [one for one in self._waiting if not one.future.done()]  # without clients that have gone
        ends = accumulate(one.X.shape[0] for one in self._waiting)
        some = self._waiting[: max(1, sum(end <= _MOST_ROWS_AT_ONCE for end in ends))]
        some = [one for one in some if one.explain == some[0].explain]
        taken = set(map(id, some))
        self._waiting = [one for one in self._waiting if id(one) not in taken]
        return some

    def _asked(self, some: Sequence[_Waiting]) -> list[Answered | BaseException]:
        try:
            state = self._model.state
            found = answered(state, joined([one.X for one in some]), explain=some[0].explain)
        except Exception as error:  # noqa: BLE001 - of one of the requests, which gets it
            return [error] if len(some) == 1 else [answer for one in some for answer in self._asked([one])]
        ends = list(accumulate(one.X.shape[0] for one in some))
        parts = [slice(end - one.X.shape[0], end) for one, end in zip(some, ends, strict=True)]
        return [Answered(state, found.labels[of], found.scores[of], found.explanations[of]) for of in parts]


def suggestions(state: State, X: Any, *, n: int, purpose: str) -> list[dict[str, Any]]:
    """Return the rows to label next, or those whose predictions a person should check."""
    opened = state.opened
    choose = audit.review if purpose == "review" else audit.suggest
    with _model.asking(opened, "rows", X, first=1):
        found = choose(opened.model, X, min(n, X.shape[0]), label_names=opened.label_names)
    return [one.to_dict() for one in found]
