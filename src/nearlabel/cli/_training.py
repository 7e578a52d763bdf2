"""Common code of fit and tune: the file of the model, the model fitted to all samples, and its printed summary."""

from __future__ import annotations

import argparse
import math
import shlex
import signal
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple, Self

import nearlabel
from nearlabel.cli import _arguments, _card, _console, _data, _matched_data, _model
from nearlabel.utils.messages import stopping_if

_LARGE, _SMALL = 2, 5e6  # times the size of the data, bytes
_SHOWN = (
    "hamming_loss", "subset_accuracy", "jaccard_examples", "micro_f1", "macro_f1", "one_error", "ranking_loss",
    "average_precision",
)  # fmt: skip


def check_file(file: Path | None, *, force: bool) -> None:
    """Refuse a file that cannot be written, or must not be overwritten, before anything is computed."""
    if file is not None:
        _data.check_output(file, "--out", force=force)
        nearlabel.persistence.check_can_save()


@contextmanager
def stoppable() -> Iterator[Callable[[], bool]]:
    """Let the first Ctrl-C end the choice in the block, which continues with the best so far; the second is as usual.

    Yields a function that returns whether Ctrl-C was pressed.
    """
    asked = threading.Event()

    def stop(sign: int, frame: object) -> None:
        if asked.is_set():
            raise KeyboardInterrupt
        asked.set()
        _console.print_notes(["stopping after the model in progress, with the best so far; Ctrl-C again ends at once."])

    usual = signal.getsignal(signal.SIGINT)
    is_told = usual is signal.default_int_handler and threading.current_thread() is threading.main_thread()
    if is_told:
        signal.signal(signal.SIGINT, stop)
    try:
        with stopping_if(asked.is_set):
            yield asked.is_set
    finally:
        if is_told:
            signal.signal(signal.SIGINT, usual)


def exit_code(is_stopped: bool, n_tried: int, n_left: int, file: Path | None) -> int:
    """Return the exit code, by which scripts see that Ctrl-C ended a choice; then note how much of it was tried."""
    if not is_stopped:
        return 0
    others = f"{n_left} {'method was' if n_left == 1 else 'methods were'} not, or not on all rows"
    models = f"{n_tried:,} {'model was' if n_tried == 1 else 'models were'} tried"
    saved = "" if file is None else f" The best of them is saved in {file}."
    _console.print_notes([f"interrupted: {models}, {others}.{saved}"])
    return _console.INTERRUPTED


def is_mixture(candidate: nearlabel.experiments.Candidate) -> bool:
    """Return whether a candidate is a mixture of several."""
    return hasattr(candidate, "parts")


def fit_options(candidate: nearlabel.experiments.Candidate) -> str:
    """Return the options of ``nearlabel fit`` that fit such a model to other data; none for a mixture."""
    if is_mixture(candidate):
        return ""
    search = None if candidate.n_neighbors is None else candidate.search
    values = candidate.method, candidate.n_neighbors, candidate.scale, search, candidate.impute
    words = zip(_card.FIT_OPTIONS, values, strict=True)
    return " ".join(f"{option} {shlex.quote(str(value))}" for option, value in words if value is not None)


def _options_of(arguments: argparse.Namespace, candidate: nearlabel.experiments.Candidate) -> str:
    """Return the options of ``nearlabel fit`` that make a model again: of the candidate, and others as they were given.

    Under a guarantee the candidate has other thresholds, so its options are as given, too. None for a mixture that was
    tuned.
    """
    if is_mixture(candidate) and arguments.command != "fit":
        return ""
    given = vars(arguments) | {"out_of_range": None if arguments.out_of_range == "clip" else arguments.out_of_range}
    names, own = _card.OTHER_OPTIONS, fit_options(candidate)
    if given.get("guarantee") is not None:
        names, own = (*_card.FIT_OPTIONS, *names), ""
        given["guarantee"] = "=".join(map(str, given["guarantee"]))
    named = {option: given.get(option.removeprefix("--").replace("-", "_")) for option in names}
    known = {option: value for option, value in named.items() if isinstance(value, str | int | float | tuple)}
    words = [word for option, value in known.items() for word in (option, _arguments.as_text(value))]
    return " ".join(filter(None, [own, shlex.join(words)]))


def check_updatable(name: str, method: Any) -> None:
    """Refuse a named method whose models cannot be updated, for --updatable.

    Raises
    ------
    ValueError
        If they cannot.
    """
    if not is_updatable(method):
        raise ValueError(
            f"--updatable must go with a method whose models can be updated, got {name}."
            " Hint: without --method or --methods, such methods are tried."
        )


def is_updatable(method: Any) -> bool:
    """Return whether models of a method can be updated, be it by a refit."""
    model = nearlabel.experiments.MethodSpec.of(method).make()
    return bool(nearlabel.models.way_to_update(model) != nearlabel.models.refits.NO)


def add_updatable_option(parser: argparse.ArgumentParser) -> None:
    """Add --updatable."""
    parser.add_argument(
        "--updatable",
        action="store_true",
        help="try only models that update and forget can change; default: all",
    )


# Rows in the order of a date or a number: the selection for later ones, and its quality.


def add_split_option(parser: argparse.ArgumentParser) -> None:
    """Add --split-by."""
    parser.add_argument(
        "--split-by",
        metavar="COLUMN",
        help="column of dates or numbers: the later fifth of the rows sets thresholds, and selects a model if no method"
        " is named, by fits to the earlier ones; the model is fitted to all; default: rows are left out, whatever their"
        " date",
    )


def order_of(arguments: argparse.Namespace, data: nearlabel.datasets.Dataset) -> tuple[str, Any, str]:
    """Return the column that orders rows, their ranks by it, and a line on the problem if there is no estimate.

    The column is that of --split-by, or the only one of dates. Ranks are None if there is none.
    """
    import numpy as np

    from nearlabel.utils.validation import as_dense

    column = arguments.split_by
    if column is None:
        dates = [name for name, kind in zip(data.feature_names, data.feature_kinds, strict=True) if kind == "date"]
        if len(dates) != 1:
            several = f"No estimate for later rows: --split-by must name one of the dates {', '.join(dates)}."
            return "", None, several if dates else ""
        column = dates[0]
    kinds = dict(zip(data.feature_names, data.feature_kinds, strict=True))
    if kinds.get(column) in ("number", "date"):
        cells = as_dense(data.with_features(np.array([data.feature_names.index(column)])).X).ravel()
    else:
        cells = _cells_of(arguments, column)
    try:
        return column, nearlabel.models.out_of_sample.ranks_of(cells, data.X.shape[0]), ""
    except ValueError as error:
        problem = str(error).removeprefix("order ")
        if arguments.split_by is None:
            return column, None, f"No estimate for later rows: {column} {problem}"
        raise ValueError(f"--split-by {problem}") from error


def _cells_of(arguments: argparse.Namespace, column: str) -> Any:
    """Return the dates or numbers of a column of DATA that is no feature."""
    import numpy as np

    if not _data.is_file(arguments.data):
        raise ValueError(f"--split-by must name a feature of {arguments.data!r}, got {column!r}.")
    cells = _data.read_columns(arguments, {column: "--split-by"})[column]
    texts = np.array(["" if cell is None else str(cell) for cell in cells])
    for kind, missing in (("float64", "nan"), ("datetime64[us]", "NaT")):
        try:
            return np.where(texts == "", missing, texts).astype(kind)
        except ValueError:
            continue
    raise ValueError(f"--split-by must name a column of numbers, or of dates such as 2026-01-31, got {column!r}.")


def harm_in_words(column: str, found: tuple[str, float] | None, *, is_left_out: bool) -> str:
    """Return a line on the kind of columns that makes later rows worse; empty if there is none."""
    if found is None:
        return ""
    kind, gain = found
    what = f"Columns of kind {kind!r} make later rows worse: the metric gains {gain:.3f} without them."
    return f"{what} They are left out." if is_left_out else f"{what} Hint: --split-by {column} leaves them out."


class KeptModel(NamedTuple):
    """A model that was fitted to all rows, and its file."""

    candidate: nearlabel.experiments.Candidate
    model: Any
    data: nearlabel.datasets.Dataset
    file: Path
    scores: Mapping[str, float]
    measured: str
    kept: tuple[str, ...]
    test: nearlabel.datasets.Dataset | None = None

    @classmethod
    def of(
        cls,
        candidate: nearlabel.experiments.Candidate,
        data: nearlabel.datasets.Dataset,
        arguments: argparse.Namespace,
        *,
        scores: Mapping[str, float],
        measured: str = "",
        test: nearlabel.datasets.Dataset | None = None,
        keep: Mapping[str, Sequence[Any]],
        calibration: _model.Calibration | None = None,
        model: Any = None,
        ranks: Any = None,
    ) -> Self:
        """Fit a model to all rows, and write it with its card; scores on test data take the place of others.

        So do scores on rows held out for a guarantee, since it replaces the thresholds that were evaluated. With ranks,
        thresholds are those of the later rows. A fitted `model` of the candidate is saved unchanged.
        """
        from nearlabel.selection.later import fit_for_later

        with _console.progress_bar(f"model of {data.name}"):
            if model is None:
                model = candidate.fit(data) if ranks is None else fit_for_later(candidate, data, ranks)
            if calibration is not None:
                model = calibration.apply(model)
                scores, measured = _matched_data.scores_on(model, calibration.rows, data), calibration.measured
            if test is not None:
                scores = _matched_data.scores_on(model, test, data)
                measured = f"test data {test.name}, {test.X.shape[0]} rows"
            nearlabel.persistence.save_model(
                model,
                arguments.file,
                data=data,
                scores=scores,
                measured=measured,
                keep=keep,
                id_column=arguments.id,
                fit_options=_options_of(arguments, candidate),
                labels_column=_data.tag_columns(arguments),
            )
        return cls(candidate, model, data, arguments.file, scores, measured, tuple(keep), test)

    def print(self, *, choice: str = "") -> None:
        """Print the model; `choice` describes its selection."""
        _print_model(self, choice)
        if self.scores:
            _print_scores(self.scores, self.measured)
            if _matched_data.are_told(self.scores):
                self._print_share()
        _console.print_text(f"Model: {self.file}{self._why_large()}")

    def _why_large(self) -> str:
        """Return the size of the file with its reason, if it is above 5 MB and more than twice that of the data."""
        source, size = Path(self.data.source), self.file.stat().st_size
        if not self.data.source or not source.is_file() or size <= max(_SMALL, _LARGE * source.stat().st_size):
            return ""
        part = self.inner()
        reason = ""
        if isinstance(part, nearlabel.MLMLM):
            mb = 8e-6 * len(part.landmarks_) * part.labelsets_.shape[0]
            reason = (
                f": {mb:.0f} MB before compression for each pair of landmark and label set; --method brknn has none"
            )
        return f" ({size / 1e6:.1f} MB; the data have {source.stat().st_size / 1e6:.1f} MB{reason})"

    def inner(self) -> Any:
        """Return the fitted classifier inside thresholds and calibration."""
        part = _model.last_step(self.model)
        while hasattr(part, "estimator_"):
            part = _model.last_step(part.estimator_)
        return part

    def _print_share(self) -> None:
        """Print the share of rows that are copies, and how the scores without copies were computed."""
        if self.test is None:
            _matched_data.print_share(self.data, _matched_data.OF_ROWS)
        else:
            _matched_data.print_share((self.data, self.test), _matched_data.OF_TEST_ROWS)


def _print_model(kept: KeptModel, choice: str) -> None:
    candidate, data = kept.candidate, kept.data
    sizes = {"row": data.X.shape[0], "feature": data.X.shape[1], "label": data.Y.shape[1]}
    facts = {
        "method": _method(kept),
        "neighbours (k)": candidate.n_neighbors,
        "search": _search(kept),
        "choice": choice,
        "missing features": candidate.impute,
        "columns": _data.counted(data.feature_kinds) if data.X.dtype.kind == "O" else None,  # cells of several kinds
        "scaling": candidate.scale,
        "thresholds": _thresholds(kept.model),
        "guarantee": _guarantee(kept.model),
        "fitted to": ", ".join(f"{number} {noun}{'s' * (number != 1)}" for noun, number in sizes.items()),
        "saved columns": ", ".join(kept.kept),
        "can be updated": _way_to_update(kept),
    }
    rows = [(name, str(value)) for name, value in facts.items() if value]
    _console.print_table(f"Model of {data.name}", ("property", "value"), rows, left=2)


def _search(kept: KeptModel) -> str:
    """Return the search of a method by neighbours, with the share of them that it finds if it may miss some."""
    if kept.candidate.n_neighbors is None:
        return ""
    part, name = kept.inner(), str(kept.candidate.search)
    search: Any = getattr(part, "search_", None)
    if not hasattr(search, "recall"):
        return name
    found = search.recall(n_neighbors=part.n_neighbors_)
    n_drawn = min(1000, kept.data.X.shape[0])
    return f"{name}, which finds {100 * found:.1f} % of the true neighbours (of {n_drawn} rows, drawn)"


def _way_to_update(kept: KeptModel) -> str:
    way = str(nearlabel.models.way_to_update(kept.model))
    return f"{way}; with --updatable: yes" if is_mixture(kept.candidate) and not _guarantee(kept.model) else way


def _method(kept: KeptModel) -> str:
    """Return the method, without the thresholds that those of a promise have replaced."""
    from nearlabel.selection.candidates import spec_of

    method = str(kept.candidate.method)
    if is_mixture(kept.candidate):
        return method
    thresholds = spec_of(kept.candidate).thresholds if _guarantee(kept.model) else None
    if thresholds is None or isinstance(thresholds, nearlabel.thresholds.RiskControl):
        return method
    return method.rpartition("@")[0]


def _guarantee(model: Any) -> str:
    return str(getattr(_model.last_step(model), "promise_", ""))


def _thresholds(model: Any) -> str:
    """Return the range of the finite thresholds, and how many labels have an infinite one."""
    last = _model.last_step(model)
    thresholds = [float(one) for one in getattr(last, "mapped_thresholds_", getattr(last, "thresholds_", ()))]
    finite = sorted(filter(math.isfinite, thresholds))
    if not finite:
        return ""
    n_never = thresholds.count(math.inf)
    never = f"; {n_never} {'label is' if n_never == 1 else 'labels are'} never predicted" if n_never else ""
    span = f"{finite[0]:.4g}" + (f" to {finite[-1]:.4g}" if finite[0] < finite[-1] else "")
    return f"{span}{never}"


def _print_scores(scores: Mapping[str, float], measured: str) -> None:
    """Print the usual metrics; the card has all."""
    evaluation, columns = nearlabel.metrics.evaluation, {"value": ""}
    if _matched_data.are_told(scores):
        columns["without copies"] = evaluation.WITHOUT_COPIES
    names = [name for name in _SHOWN if name in scores]
    values = [[scores.get(name + end) for end in columns.values()] for name in names]
    rows = [
        (evaluation.title_of(name), *("" if value is None else f"{value:.4f}" for value in of))
        for name, of in zip(names, values, strict=True)
    ]
    _console.print_table(f"Scores ({measured})", ("metric", *columns), rows)
