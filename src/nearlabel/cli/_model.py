"""MODEL on the command line: its file, its features, changes of its samples, and its guarantee."""

from __future__ import annotations

import argparse
import re
import textwrap
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import nearlabel
from nearlabel.cli import _arguments, _card, _console, _data, _matched_data, _understood


def add_model_argument(parser: argparse.ArgumentParser) -> None:
    """Add MODEL and --trusted."""
    parser.add_argument("model", metavar="MODEL", help="file that fit, tune or save_model wrote")
    add_trusted_option(
        parser, "additional types to trust when loading, as listed in the error; only if you know who made the file"
    )


def add_trusted_option(parser: argparse.ArgumentParser, words: str) -> None:
    """Add --trusted."""
    parser.add_argument("--trusted", type=_arguments.columns, default=(), metavar="A,B", help=words)


def add_file_options(parser: argparse.ArgumentParser, *, unless: str = "") -> None:
    """Add the options of the file that the model is saved in, required `unless` there is another option."""
    which = f"required without {unless}" if unless else "default: not saved"
    parser.add_argument(
        "--out",
        dest="file",
        metavar="FILE",
        type=_arguments.file_ending_in(".skops"),
        help=f"file to save the model in, ending in .skops; {which}",
    )
    parser.add_argument("--force", action="store_true", help="overwrite an existing file")
    _understood.add_dry_run_option(parser)


# MODEL on the command line: a file that fit, tune or save_model wrote, and the features of DATA in its order.

_BLOCK_CELLS = 2**20  # rows of a block times their features or labels, whichever are more
_NOT_FINITE = re.compile("(contains?|got) (NaN|infinity)", re.IGNORECASE)  # in the words of scikit-learn


class OpenModel(NamedTuple):
    """A model, its card, and the names of its features and labels."""

    model: Any
    card: nearlabel.persistence.ModelCard
    feature_names: Sequence[str]
    label_names: tuple[str, ...]

    @property
    def matching(self) -> _matched_data.Matching:
        """How data get the features and labels of the model."""
        return _matched_data.Matching(
            self.card.data, _data.kinds_of_model(self.model), self.card.kept, self.card.labels_column
        )

    @property
    def block_rows(self) -> int:
        """Number of rows predicted at a time."""
        return max(1, _BLOCK_CELLS // max(len(self.feature_names), len(self.label_names)))


def open_model(path: str, trusted: Sequence[str]) -> OpenModel:
    """Load a model, and the names of its features and labels."""
    card = nearlabel.persistence.read_card(path)
    foreign = [name for name in card.foreign_types if name not in trusted]
    if foreign:
        raise ValueError(
            f"--trusted must name the types in {path} that are not trusted by default, got none of"
            f" {', '.join(foreign)}. Hint: --trusted {','.join(card.foreign_types)}, if you know who made the file."
        )
    model = nearlabel.persistence.load_model(path, trusted=trusted, mmap_mode="r")
    if nearlabel.persistence.has_changes(Path(path)):
        _console.print_notes([f"{path} lacks changes that a service has left in its journal."])
    return open_names(path, model, card)


def open_names(path: str, model: Any, card: nearlabel.persistence.ModelCard) -> OpenModel:
    """Return a model that is loaded, with the names of its features and labels."""
    return OpenModel(model, card, _feature_names(path, card), _label_names(path, model, card))


def _feature_names(path: str, card: nearlabel.persistence.ModelCard) -> Sequence[str]:
    """Return the names of the features; their numbers if the model has no names."""
    if card.data.feature_names is None and card.data.features is None:
        raise ValueError(
            f"{path} must contain the number of features, got a card without it. Hint: save_model(..., data=data)."
        )
    return card.data.feature_names or nearlabel.datasets.tables.NumberedNames(card.data.features or 0)


def _label_names(path: str, model: Any, card: nearlabel.persistence.ModelCard) -> tuple[str, ...]:
    names = card.data.label_names or getattr(last_step(model), "label_names_", None)
    if names is None:
        raise ValueError(
            f"{path} must contain the names of the labels, got a card without them. Hint: save_model(..., data=data)."
        )
    return tuple(map(str, names))


def open_blocks(
    arguments: argparse.Namespace, model: OpenModel, *, id_column: str | None = None
) -> Iterable[nearlabel.datasets.RowBlock]:
    """Return the rows of DATA in blocks, with the features of the model, matched by name or else by position."""
    _data.check_file(arguments.data)
    if _data.is_file(arguments.data):
        names = _names_in_file(arguments, model, id_column)
        return nearlabel.datasets.open_rows(
            arguments.data,
            names,
            id_column=id_column,
            block_rows=model.block_rows,
            decimal=arguments.decimal or ".",
            feature_kinds=model.matching.kinds,
            join_by=arguments.join_by,
        )
    if id_column is not None:
        raise ValueError(f"--id must go with a file, got {arguments.data!r}, whose rows have numbers only.")
    return _blocks(model.matching.with_features(_data.open_data(arguments)).X, model.block_rows)


def _names_in_file(arguments: argparse.Namespace, model: OpenModel, id_column: str | None) -> Sequence[str]:
    """Return the names in the file of the features of the model."""
    if not nearlabel.datasets.tables.are_numbered(model.feature_names):
        return model.feature_names
    known = _data.feature_names(arguments, id_column)
    return model.feature_names if known is None else model.matching.features_among(known)


def _blocks(X: Any, block_rows: int) -> Iterator[nearlabel.datasets.RowBlock]:
    for start in range(0, X.shape[0], block_rows):
        rows = X[start : start + block_rows]
        yield nearlabel.datasets.RowBlock(rows, None, (start + rows.shape[0]) / X.shape[0])


@contextmanager
def asking(model: OpenModel, data: str, X: Any, *, first: int) -> Iterator[None]:
    """Name the file, line and column of a missing or infinite value that the model refuses.

    `first` is the number of the first row of X in DATA.
    """
    try:
        yield
    except ValueError as error:
        refused = _without_imputed(model.model, X) if _NOT_FINITE.search(str(error)) else None
        problem = None if refused is None else _data.not_finite(data, refused, model.feature_names, first=first)
        if problem is None:
            raise
        raise ValueError(f"{problem}.") from error


def _without_imputed(model: Any, X: Any) -> Any:
    """Return X without the missing values that the model imputes."""
    from sklearn.impute import SimpleImputer

    from nearlabel.utils.validation import numbers_of, without_missing

    encoder = _data.encoder_of(model)
    imputes = isinstance(_data.steps_of(model)[0], SimpleImputer)
    if encoder is not None:
        imputes = encoder.missing_numbers != "distance"
    return without_missing(numbers_of(X)) if imputes else X


# Values outside the training range, such as dates of next month: predict and update report how many rows have them.

_MOST_COLUMNS = 5  # that are named
_WIDTH = 80 - len("nearlabel: ")  # of a note, in a usual terminal


class OutsideRange:
    """Counts the rows, and the columns, that have values outside the range of the model's training samples."""

    def __init__(self, model: OpenModel, rows: str = "rows") -> None:
        self._model, self._rows = model, rows
        self._step: Any = None
        self._n_rows = self._n_outside = 0
        self._by_column: Any = 0

    def see(self, X: Any) -> None:
        """Count some rows; none if no step of the model knows a range of its columns."""
        outside = self._outside(X)
        self._n_rows += X.shape[0]
        if outside is not None:
            self._n_outside += int(outside.any(axis=1).sum())
            self._by_column = self._by_column + outside.sum(axis=0)

    def notes(self) -> Iterator[str]:
        """Yield a few short lines if there are such rows, unless the command is quiet."""
        if not self._n_outside or _console.is_quiet():
            return
        has = "has a value" if self._n_outside == 1 else "have values"
        yield f"{self._n_outside:,} of {self._n_rows:,} {self._rows} {has} outside the training range."
        yield from textwrap.wrap(f"{self._fate}: {self._columns}.", _WIDTH, break_long_words=False)
        if self._step.out_of_range == "keep":
            yield "Such rows may be far from all others. Hint: fit --out-of-range clip."

    @property
    def _fate(self) -> str:
        of_step = self._step.out_of_range
        if of_step == "keep":
            return "Kept unchanged"
        return "Moved to its end" if of_step in ("clip", 0) else f"Moved to at most {of_step:g} ranges from its end"

    @property
    def _columns(self) -> str:
        """Return the names of the columns with the most such values, and how many there are."""
        order = [int(column) for column in (-self._by_column).argsort(kind="stable") if self._by_column[column]]
        named = [f"{self._model.feature_names[at]} ({self._by_column[at]:,})" for at in order[:_MOST_COLUMNS]]
        n_more = len(order) - len(named)
        return ", ".join(named) + (f" and {n_more:,} more" if n_more else "")

    def _outside(self, X: Any) -> Any:
        from sklearn.impute import SimpleImputer

        for step in _all_steps(getattr(self._model.model, "best_estimator_", self._model.model)):
            if hasattr(step, "is_out_of_range"):
                self._step = step
                return None if getattr(step, "range_", step) is None else step.is_out_of_range(X)
            if not isinstance(step, SimpleImputer):  # its columns may be others
                return None
            X = step.transform(X)
        return None


def _all_steps(model: Any) -> Iterator[Any]:
    """Yield the steps of a pipeline, and those of pipelines in it."""
    for step in _data.steps_of(model):
        yield from _all_steps(step) if hasattr(step, "steps") else (step,)


# A guarantee for new samples: fit holds out samples for calibration, and predict prints the guarantee.

HELD_OUT = 0.3  # of the rows, for calibration
_SEED = 0  # of the draw
_UNUSUAL = 0.01  # p-value of the scores below which they are called unlike


class Calibration(NamedTuple):
    """The guarantee, and the samples on which it is based."""

    control: nearlabel.thresholds.RiskControl
    fitted_to: nearlabel.datasets.Dataset
    rows: nearlabel.datasets.Dataset
    keep: Mapping[str, Sequence[Any]]  # of the rows that the model is fitted to

    def apply(self, model: Any) -> Any:
        """Return a model fitted to the other rows, its thresholds replaced by those of the promise.

        They are around its last step, so that the steps that transform features stay the first steps of the model.
        """
        from sklearn.pipeline import Pipeline

        steps, last = ([*model.steps[:-1]], model[-1]) if isinstance(model, Pipeline) else ([], model)
        X, held_out = self.fitted_to.X, self.rows.X
        for _, step in steps:
            X, held_out = step.transform(X), step.transform(held_out)
        if isinstance(
            last, nearlabel.thresholds.FixedThresholdsClassifier | nearlabel.thresholds.TunedThresholdsClassifierCV
        ):
            last = last.estimator_
        is_calibrated = isinstance(last, nearlabel.thresholds.CalibratedLabels)
        promising = nearlabel.thresholds.TunedThresholdsClassifierCV(
            last, self._control_for(last, X), cv="prefit", map_scores=not is_calibrated
        )
        promising.fit(held_out, self.rows.Y)
        return Pipeline([*steps, ("promise", promising)]) if steps else promising

    def _control_for(self, classifier: Any, X: Any) -> nearlabel.thresholds.RiskControl:
        """Return the control; decision values have no usual range, so those of the fitted rows are the candidates."""
        from sklearn.base import clone

        from nearlabel.utils.estimators import label_scores, response_method_of

        method = response_method_of(classifier)
        if self.control.measure != "precision" or method == "predict_proba":
            return self.control
        grid = nearlabel.thresholds.quantile_grid(label_scores(classifier, X, self.fitted_to.Y.shape[1], method))
        control: nearlabel.thresholds.RiskControl = clone(self.control).set_params(grid=grid)
        return control

    @property
    def measured(self) -> str:
        """How the figures are measured."""
        return f"the {self.rows.X.shape[0]} held-out samples, on which the threshold was set"


def hold_out(
    arguments: argparse.Namespace, data: nearlabel.datasets.Dataset, keep: Mapping[str, Sequence[Any]]
) -> Calibration | None:
    """Hold out samples for the guarantee that the arguments request; None if they request none."""
    import numpy as np

    if arguments.guarantee is None:
        return None
    measure, level = arguments.guarantee
    n_rows = data.X.shape[0]
    n_held = round(HELD_OUT * n_rows)
    if n_held < 1:
        raise ValueError(f"DATA must have at least 2 rows with --guarantee, got {n_rows}.")
    order = np.random.default_rng(_SEED).permutation(n_rows)
    held, others = np.sort(order[:n_held]), np.sort(order[n_held:])
    kept = {name: [column[row] for row in others] for name, column in keep.items()}
    control = nearlabel.thresholds.RiskControl(measure, level, confidence=arguments.confidence)
    return Calibration(control, _some_rows(data, others), _some_rows(data, held), kept)


def _some_rows(data: nearlabel.datasets.Dataset, rows: Any) -> nearlabel.datasets.Dataset:
    return replace(data, X=data.X[rows], Y=data.Y[rows], groups=None if data.groups is None else data.groups[rows])


def risk_control_of(model: Any) -> nearlabel.thresholds.RiskControl | None:
    """Return what promises in a fitted model; None if nothing does."""
    strategy = getattr(last_step(model), "strategy_", None)
    return strategy if isinstance(strategy, nearlabel.thresholds.RiskControl) else None


def without_map(model: Any) -> Any:
    """Return a model whose last step, which promises, has the scores of its thresholds."""
    from copy import copy

    from sklearn.pipeline import Pipeline

    last = copy(last_step(model))
    vars(last).pop("score_map_", None)
    return Pipeline([*model.steps[:-1], (model.steps[-1][0], last)]) if isinstance(model, Pipeline) else last


def last_step(model: Any) -> Any:
    """Return the last step of a pipeline, or the model itself."""
    return _data.steps_of(model)[-1]


def shift_in_words(shift: nearlabel.thresholds.ScoreShift) -> str:
    """Return a sentence on the guarantee, from a comparison of scores."""
    figures = f"Kolmogorov-Smirnov distance {shift.statistic:.2f}, p = {shift.p_value:.2g}"
    if shift.p_value <= _UNUSUAL:
        return f"the scores of these rows differ from those of calibration, so the guarantee may fail: {figures}."
    return f"the scores of these rows are similar to those of calibration: {figures}."


# Common code of update and forget: open a model that can be updated, and print the changes.


def open_updatable(arguments: argparse.Namespace) -> OpenModel:
    """Load the model of the arguments, which must be one that can be updated, be it by a refit.

    Raises
    ------
    ValueError
        If samples cannot be added to it or removed from it.
    """
    opened = open_model(arguments.model, arguments.trusted)
    if nearlabel.models.way_to_update(opened.model) == nearlabel.models.refits.NO:
        options = _card.fit_options(opened.card)
        alone = "; --updatable alone selects a model that can be updated" if options else ""
        is_whole = not {*options.split()}.isdisjoint(_card.OTHER_OPTIONS)  # earlier versions have those of the method
        others = "" if is_whole else ", with the options that describe DATA"
        raise ValueError(
            f"MODEL must contain its rows to be updated, got {opened.card.method}: other rows make it stale. Hint:"
            f" nearlabel fit ALL_ROWS {options or '--updatable'} --out {arguments.model} --force{others}{alone}."
        )
    return opened


def print_changes(
    card: nearlabel.persistence.ModelCard, before: nearlabel.persistence.ModelCard, file: str, this_run: str
) -> None:
    """Print what this run did, in words, the numbers of rows and labels before and after, and all since the fit."""
    now, then = card.data, before.data
    sizes = [(what, f"{_number(getattr(then, what))} -> {_number(getattr(now, what))}") for what in ("rows", "labels")]
    rows = [("this run", this_run), *sizes, *_card.changes_in_words(card)]
    _console.print_table(f"Changed: {card.method}", ("property", "value"), rows, left=2)
    if card.changes is not None and (card.changes.thresholds_stale or card.changes.n_neighbors_stale):
        what = "power" if card.changes.power_stale else "k"
        _console.print_notes([f"Thresholds and {what} tuned on all rows are stale. Hint: --retune tunes them again."])
    _console.print_text(f"Model: {file}")


def _number(value: int | None) -> str:
    return "?" if value is None else str(value)


# --id and --show: columns of the training data that are saved with the model for display.


def open_kept(arguments: argparse.Namespace) -> Mapping[str, Sequence[Any]]:
    """Return the columns of DATA to save with the model.

    Raises
    ------
    ValueError
        If DATA is no table, or a name is no column, or one of a label.
    """
    asked = _asked(arguments)
    if not asked:
        return {}
    _data.check_file(arguments.data)
    known = _data.column_names(arguments.data)
    option = next(iter(asked.values()))
    if known is None:
        raise ValueError(
            f"{option} must go with a table (CSV, Excel, JSON or Parquet), got {arguments.data!r}, whose columns"
            " are features and labels only."
        )
    for name, option in asked.items():
        if _data.is_label(arguments, name):
            raise ValueError(f"{option} must name columns that are not labels, got {name!r}.")
    kept = _data.read_columns(arguments, asked)
    _print_ids_twice(arguments.id, kept)
    return kept


def _print_ids_twice(column: str | None, kept: Mapping[str, Sequence[Any]]) -> None:
    """Note that ids are no names of single rows, so that update would refuse or replace several."""
    counts = Counter(cell for cell in kept.get(column or "", ()) if cell is not None)
    twice = [str(cell) for cell, number in counts.items() if number > 1]
    if twice:
        number = "1 id is" if len(twice) == 1 else f"{len(twice)} ids are"
        note = f"{number} in several rows, such as {twice[0]!r}: update --replace and forget --ids change all of them."
        _console.print_notes([f"{note} Hint: --show {column} for a column that does not name single rows."])


def kept_in(arguments: argparse.Namespace, names: Iterable[str]) -> dict[str, list[str]] | None:
    """Return the columns of DATA that have the names of a model's saved columns, as texts; None if there is none."""
    known = _data.column_names(arguments.data)
    there = {name: "--show" for name in names if name in (known or ())}
    if not there:
        return None
    columns = _data.read_columns(arguments, there)
    return {name: ["" if cell is None else str(cell) for cell in cells] for name, cells in columns.items()}


def without_kept(arguments: argparse.Namespace) -> argparse.Namespace:
    """Return arguments that ignore the columns to keep, which `open_kept` has found in DATA.

    Those that --categorical, --text or --date declare stay features.
    """
    asked = _asked(arguments)
    declared = {*(arguments.categorical or ()), *(arguments.text or ()), *(arguments.date or ())}
    ignored = tuple(dict.fromkeys([*(arguments.ignore or ()), *(name for name in asked if name not in declared)]))
    return _data.changed(arguments, ignore=ignored) if asked else arguments


def _asked(arguments: argparse.Namespace) -> dict[str, str]:
    """Return the columns to keep, each with the option that names it."""
    of_id = {} if arguments.id is None else {arguments.id: "--id"}
    return {**of_id, **{name: "--show" for name in arguments.show or () if name not in of_id}}
