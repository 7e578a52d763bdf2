"""``nearlabel predict``: predict the label sets of the rows of a file."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from nearlabel.cli import _console, _data, _model, _scored
from nearlabel.cli._guarantee import last_step, risk_control_of, shift_in_words
from nearlabel.cli._matched_data import open_matched
from nearlabel.cli._predictions import Layout, Write, csv_writer, open_predictions
from nearlabel.datasets import RowBlock
from nearlabel.experiments.one_search import searching_once
from nearlabel.files.atomic_file import check_can_be_written
from nearlabel.models import novelty_detector
from nearlabel.thresholds import RiskControl, score_shift
from nearlabel.utils.estimators import label_scores, response_method_of
from nearlabel.utils.partial_labels import PartialLabels
from nearlabel.utils.types import BoolArray, FloatArray, Matrix
from nearlabel.utils.validation import as_dense

_SEPARATOR = ";"
_STEPS = 1000  # of the progress bar


def main(arguments: argparse.Namespace) -> None:
    """Predict block by block; with --score, compare with the labels of DATA."""
    _check_file(arguments)
    metrics = _scored.read_metrics(arguments)
    model = _model.open_model(arguments)
    _scored.check_metrics(arguments, metrics, model)
    layout = Layout(arguments.id, arguments.scores, model.label_names, abstains=arguments.abstain is not None)
    truth = _truth(arguments, model) if arguments.score else None
    blocks = _model.open_blocks(arguments, model, id_column=arguments.id)
    control = risk_control_of(model.model)
    with_scores = truth is not None or arguments.scores.which != "none" or control is not None
    method = _method_of_scores(model.model, control) if with_scores else None
    answers = _answers(model, arguments.data, blocks, method, abstain=arguments.abstain)
    judged: list[_Answer] = []
    told = _Told(model.card.guarantee, control)
    with _output(arguments, layout) as write:
        for answer in answers:
            write(layout.columns(answer.ids, answer.labels, answer.scores, answer.abstained))
            told.see(answer)
            if truth is not None:
                judged.append(answer)
    _console.print_notes(told.notes())
    if truth is not None:
        answered = ~np.concatenate([answer.abstained for answer in judged])
        labels = np.vstack([as_dense(answer.labels) for answer in judged])[answered]
        scores = np.vstack([answer.scores for answer in judged if answer.scores is not None])[answered]
        _scored.print_scored(arguments, metrics, truth[answered], labels, scores, model)


def _check_file(arguments: argparse.Namespace) -> None:
    """Refuse a file that cannot or must not be written, before anything is computed."""
    file = arguments.file
    if file is None:
        return
    check_can_be_written(file, name="--out")
    _data.check_other_file(file, [Path(arguments.data), Path(arguments.model)], "--out", "MODEL and DATA")


class _Answer(NamedTuple):
    """The predictions for some rows."""

    ids: Sequence[Any]
    labels: Matrix
    scores: FloatArray | None
    abstained: BoolArray


class _Told:
    """Notes on all samples: the guarantee, whether their scores are like those of calibration, and abstentions."""

    def __init__(self, guarantee: str, control: RiskControl | None) -> None:
        self._guarantee, self._control = guarantee, control
        self._top_scores: list[FloatArray] = []
        self._n_abstained = self._n_rows = 0

    def see(self, answer: _Answer) -> None:
        """Count some rows and store their highest scores."""
        self._n_rows += len(answer.abstained)
        self._n_abstained += int(answer.abstained.sum())
        if self._control is not None and answer.scores is not None:
            self._top_scores.append(answer.scores.max(axis=1))

    def notes(self) -> Iterator[str]:
        """Yield a line for each."""
        if self._control is not None and self._n_rows:
            yield f"guarantee: {self._guarantee}"
            yield shift_in_words(score_shift(self._control.top_scores_, np.concatenate(self._top_scores)))
        if self._n_abstained:
            yield f"abstained from {self._n_abstained} of {self._n_rows} rows, which are unlike the training data."


def _method_of_scores(model: Any, control: RiskControl | None) -> str:
    """Return the method that gives the scores; if they are compared with calibration, those for the thresholds."""
    return response_method_of(model) if control is None else str(last_step(model).response_method_)


def _answers(
    model: _model.OpenModel, data: str, blocks: Iterable[RowBlock], method: str | None, *, abstain: float | None
) -> Iterator[_Answer]:
    asked = searching_once(model.model)
    detector = None if abstain is None else novelty_detector(asked, abstain)
    first = 0
    with _console.progress_bar("rows") as progress:
        for X, ids, share_done in blocks:
            numbers = range(first, first + X.shape[0])
            first = numbers.stop
            with _model.asking(model, data, X, first=numbers.start):
                labels = asked.predict(X)
                scores = None if method is None else label_scores(asked, X, len(model.label_names), method)
                abstained = np.zeros(X.shape[0], bool) if detector is None else detector.predict(X) == -1
            yield _Answer(numbers if ids is None else ids.tolist(), _without(labels, abstained), scores, abstained)
            progress(round(_STEPS * share_done), _STEPS)


def _without(labels: Matrix, rows: BoolArray) -> Matrix:
    """Return label sets, empty in some rows."""
    if not rows.any():
        return labels
    if sparse.issparse(labels):
        return sparse.csr_array(labels.multiply(~rows[:, np.newaxis]))
    return np.where(rows[:, np.newaxis], 0, labels)


@contextmanager
def _output(arguments: argparse.Namespace, layout: Layout) -> Iterator[Write]:
    """Open the output of the predictions."""
    separator = arguments.labels_separator or _SEPARATOR
    if arguments.file is not None:
        with open_predictions(arguments.file, layout, separator) as write:
            yield write
    elif arguments.score:
        yield lambda columns: None
    else:
        with _console.quietly(sys.stdout.isatty()):  # a progress bar would overwrite lines of the output
            yield csv_writer(sys.stdout, layout, separator)


def _truth(arguments: argparse.Namespace, model: _model.OpenModel) -> Matrix:
    """Return the label sets of DATA in the model's order of labels, with NaN for unknown labels."""
    if arguments.id is not None:
        arguments.ignore = (*(arguments.ignore or ()), arguments.id)
    data, notes = open_matched(arguments, model.card.data, model.feature_kinds)
    _console.print_notes(notes)
    return PartialLabels.of(data.Y).with_nan()
