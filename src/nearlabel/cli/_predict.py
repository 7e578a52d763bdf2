"""``nearlabel predict``: predict the label sets of the rows of a file."""

from __future__ import annotations

import argparse
import csv
import json
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple, TextIO, TypeAlias

import nearlabel
from nearlabel.cli import _arguments, _comparison, _console, _data, _model, _tasks
from nearlabel.files.atomic_file import whole_file

SUMMARY = "predict labels for a file"
EXAMPLES = (
    "nearlabel predict model.skops multidigits --scores top:3 --out predictions.csv",
    "nearlabel predict songs.skops songs.csv --id id --show title --format label-studio --out tasks.json",
)
LOADS = ("datasets", "experiments", "models", "thresholds")


_SUFFIXES = (".csv", ".parquet", ".jsonl")
_WRITTEN = {
    "csv": ".csv",
    "jsonl": ".jsonl",
    **_tasks.ENDINGS,
}  # formats of predictions, and the endings of their files


class Scores(NamedTuple):
    """Which scores are written: of no label, the predicted labels, the best n, or all."""

    which: str
    n_labels: int = 0

    @classmethod
    def parse(cls, text: str) -> Scores:
        """Read ``none``, ``chosen``, ``top:5`` or ``all``."""
        which, colon, number = text.partition(":")
        if text in ("none", "chosen", "all"):
            return cls(which)
        if which == "top" and colon and number.isascii() and number.isdecimal() and int(number) > 0:
            return cls(which, int(number))
        raise argparse.ArgumentTypeError(f"must be none, chosen, top:N with N of at least 1, or all, got {text!r}")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    _model.add_model_argument(parser)
    _data.add_data_options(parser)
    parser.add_argument(
        "--out",
        dest="file",
        metavar="FILE",
        type=Path,
        help=f"file of the predictions ({', '.join(_SUFFIXES)}, or by --format), overwritten if it exists;"
        " default: CSV to stdout",
    )
    parser.add_argument(
        "--id", metavar="COLUMN", help="column of DATA to write instead of row numbers, whatever ids MODEL has"
    )
    parser.add_argument(
        "--show",
        type=_arguments.columns,
        metavar="A,B",
        help="columns of DATA that tasks of annotation tools show, in addition to the texts that the model compares",
    )
    parser.add_argument(
        "--scores",
        type=Scores.parse,
        default=Scores("none"),
        metavar="{none,chosen,top:N,all}",
        help="scores of no label, of the predicted ones, of the N best, or of all; default: none",
    )
    parser.add_argument(
        "--abstain",
        type=_arguments.share,
        metavar="LEVEL",
        help="predict nothing for samples unusually far from their neighbours: of samples like the training data at"
        " most this share, such as 0.01. For methods by neighbours; adds a column abstained",
    )
    _add_score_options(parser)
    parser.set_defaults(check=_check)


def _add_score_options(parser: argparse.ArgumentParser) -> None:
    """Add --score and the options that go with it."""
    parser.add_argument(
        "--score",
        action="store_true",
        help="compare with the labels of DATA and print metrics; reads DATA into memory. Without --out the"
        " predictions are not printed",
    )
    parser.add_argument(
        "--metrics",
        type=_arguments.some_names,
        help="with --score: comma-separated, of the catalogue, with options after a colon (precision_at_k:k=3,"
        " roc_auc:average=micro), or package.module:function, which runs its code; default: all of the catalogue"
        " without options",
    )
    parser.add_argument(
        "--per-label",
        action="store_true",
        help="with --score: also print the metrics of each label; JSON always contains them",
    )
    parser.add_argument(
        "--format",
        choices=(*_console.FORMATS, *(name for name in _WRITTEN if name not in _console.FORMATS)),
        help=f"format of the predictions: {', '.join(_WRITTEN)}; default: that of --out, or csv. With --score that of"
        " the metrics: table, json, or csv with a line for each metric, or with --per-label for each label; default:"
        " table",
    )


def _check(arguments: argparse.Namespace) -> None:
    """Refuse a file of no known format, and options that do not go together."""
    name, is_of_metrics = arguments.format, arguments.format in (None, *_console.FORMATS)
    if arguments.score:
        if not is_of_metrics:
            raise ValueError(f"--format must be that of the metrics with --score, got {name}. Hint: leave out --score.")
        _console.check_format(name or "table")
    for option in ("metrics", "per_label"):
        if getattr(arguments, option) and not arguments.score:
            raise ValueError(f"--{option.replace('_', '-')} must go with --score.")
    if name not in (None, *_WRITTEN) and not arguments.score:
        raise ValueError(f"--format {name} must go with --score. Hint: predictions are {', '.join(_WRITTEN)}.")
    _check_tasks(arguments)
    endings = _SUFFIXES if name is None or arguments.score else (_WRITTEN[name],)
    if arguments.file is not None and arguments.file.suffix.lower() not in endings:
        one = "one of " if len(endings) > 1 else ""
        raise ValueError(f"--out must end in {one}{', '.join(endings)}, got {arguments.file}.")


def _check_tasks(arguments: argparse.Namespace) -> None:
    """Refuse what only tasks have, and what they lack."""
    tools = " or ".join(_tasks.ENDINGS)
    if arguments.format not in _tasks.ENDINGS:
        if arguments.show is not None:
            raise ValueError(f"--show must go with --format {tools}.")
    elif arguments.scores.which != "none":
        raise ValueError(f"--scores must be left out with --format {tools}, which write those of predicted labels.")


_SEPARATOR = ";"
_STEPS = 1000  # of the progress bar
_FIRST_COLUMNS = 5  # that a line on the file names


def main(arguments: argparse.Namespace) -> None:
    """Predict block by block; with --score, compare with the labels of DATA."""
    import numpy as np

    from nearlabel.utils.validation import as_dense

    _data.check_output(arguments.file, "--out", {"MODEL and DATA": (Path(arguments.data), Path(arguments.model))})
    metrics = _comparison.read_metrics(arguments)
    model = _model.open_model(arguments.model, arguments.trusted)
    _comparison.propensities_of(arguments, metrics, model)  # refuses a metric that the card is not enough for
    is_of_tasks = arguments.format in _tasks.ENDINGS
    scores = Scores("chosen") if is_of_tasks else arguments.scores
    layout = Layout(arguments.id, scores, model.label_names, abstains=arguments.abstain is not None)
    truth = _truth(arguments, model) if arguments.score else None
    blocks = _model.open_blocks(arguments, model, id_column=arguments.id)
    control = _model.risk_control_of(model.model)
    with_scores = truth is not None or scores.which != "none" or control is not None
    method = _method_of_scores(model.model, control) if with_scores else None
    outside = _model.OutsideRange(model)
    answers = _answers(
        model, arguments.data, blocks, method, abstain=arguments.abstain, outside=outside, promises=control is not None
    )
    judged: list[_Answer] = []
    told = _Told(model.card.guarantee, control)
    tasks = _TasksOf(arguments, model, method == "predict_proba") if is_of_tasks else None
    with _output(arguments, layout, tasks) as write:
        for answer in answers:
            write(layout.columns(answer.ids, answer.labels, answer.scores, answer.abstained))
            told.see(answer)
            if truth is not None:
                judged.append(answer)
    _console.print_notes([*told.notes(), *outside.notes()])
    if arguments.file is not None and not _console.is_quiet():
        columns = "" if tasks is not None else f", {_named(list(layout.kinds))}"
        _console.print_notes([f"{arguments.file}: {told.n_rows:,} {'row' if told.n_rows == 1 else 'rows'}{columns}."])
    if truth is not None:
        answered = ~np.concatenate([answer.abstained for answer in judged])
        labels = np.vstack([as_dense(answer.labels) for answer in judged])[answered]
        scores = np.vstack([answer.scores for answer in judged if answer.scores is not None])[answered]
        _comparison.print_scored(arguments, metrics, truth[answered], labels, scores, model)


def _named(columns: Sequence[str]) -> str:
    """Return the number of columns and the names of the first."""
    more = f" and {len(columns) - _FIRST_COLUMNS} more" if len(columns) > _FIRST_COLUMNS else ""
    return f"{len(columns):,} columns ({', '.join(columns[:_FIRST_COLUMNS])}{more})"


class _Answer(NamedTuple):
    """The predictions for some rows."""

    ids: Sequence[Any]
    labels: Any
    scores: Any
    abstained: Any
    raw_scores: Any  # which are compared with those of calibration, if the model promises


class _Told:
    """Notes on all samples: the guarantee, whether their scores are like those of calibration, and abstentions."""

    def __init__(self, guarantee: str, control: nearlabel.thresholds.RiskControl | None) -> None:
        self._guarantee, self._control = guarantee, control
        self._top_scores: list[Any] = []
        self._n_abstained = self.n_rows = 0

    def see(self, answer: _Answer) -> None:
        """Count some rows and store their highest scores."""
        self.n_rows += len(answer.abstained)
        self._n_abstained += int(answer.abstained.sum())
        if self._control is not None and answer.raw_scores is not None:
            self._top_scores.append(answer.raw_scores.max(axis=1))

    def notes(self) -> Iterator[str]:
        """Yield a line for each."""
        import numpy as np

        if self._control is not None and self.n_rows:
            yield f"guarantee: {self._guarantee}"
            yield _model.shift_in_words(
                nearlabel.thresholds.score_shift(self._control.top_scores_, np.concatenate(self._top_scores))
            )
        if self._n_abstained:
            yield f"abstained from {self._n_abstained} of {self.n_rows} rows, which are unlike the training data."


def _method_of_scores(model: Any, control: nearlabel.thresholds.RiskControl | None) -> str:
    """Return the method that gives the scores; if they are compared with calibration, those for the thresholds."""
    from nearlabel.utils.estimators import response_method_of

    return response_method_of(model) if control is None else str(_model.last_step(model).response_method_)


def _answers(
    model: _model.OpenModel,
    data: str,
    blocks: Iterable[nearlabel.datasets.RowBlock],
    method: str | None,
    *,
    abstain: float | None,
    outside: _model.OutsideRange,
    promises: bool,
) -> Iterator[_Answer]:
    import numpy as np

    from nearlabel.utils.estimators import label_scores

    asked = nearlabel.experiments.one_search.searching_once(
        _model.without_map(model.model) if promises else model.model
    )
    mapped = getattr(_model.last_step(model.model), "mapped", None) if promises else None
    detector = None if abstain is None else nearlabel.models.novelty_detector(asked, abstain)
    first = 0
    with _console.progress_bar("rows") as progress:
        for X, ids, share_done in blocks:
            numbers = range(first, first + X.shape[0])
            first = numbers.stop
            with _model.asking(model, data, X, first=numbers.start):
                labels = asked.predict(X)
                raw = None if method is None else label_scores(asked, X, len(model.label_names), method)
                scores = raw if raw is None or mapped is None else mapped(raw)
                abstained = np.zeros(X.shape[0], bool) if detector is None else detector.predict(X) == -1
                outside.see(X)
            labels = _without(labels, abstained)
            yield _Answer(numbers if ids is None else ids.tolist(), labels, scores, abstained, raw)
            progress(round(_STEPS * share_done), _STEPS)


def _without(labels: Any, rows: Any) -> Any:
    """Return label sets, empty in some rows."""
    import numpy as np
    from scipy import sparse

    if not rows.any():
        return labels
    if sparse.issparse(labels):
        return sparse.csr_array(labels.multiply(~rows[:, np.newaxis]))
    return np.where(rows[:, np.newaxis], 0, labels)


@contextmanager
def _output(arguments: argparse.Namespace, layout: Layout, tasks: _TasksOf | None) -> Iterator[Write]:
    """Open the output of the predictions."""
    separator = arguments.labels_separator or _SEPARATOR
    if arguments.file is not None:
        with open_predictions(arguments.file, layout, separator, tasks) as write:
            yield write
    elif arguments.score:
        yield lambda columns: None
    else:
        with _console.quietly(sys.stdout.isatty()):  # a progress bar would overwrite lines of the output
            if tasks is not None:
                with tasks.writing(sys.stdout) as write:
                    yield write
            else:
                yield (
                    _json_writer(sys.stdout)
                    if arguments.format == "jsonl"
                    else csv_writer(sys.stdout, layout, separator)
                )


class _TasksOf:
    """Makes tasks of annotation tools of predictions, with the cells of DATA that they show."""

    def __init__(self, arguments: argparse.Namespace, model: _model.OpenModel, are_probabilities: bool) -> None:
        kinds, names = model.matching.kinds, model.feature_names
        texts = [name for name, kind in zip(names, kinds, strict=True) if kind == "text"] if kinds else []
        self._tool, self._label_names, self._are_probabilities = arguments.format, model.label_names, are_probabilities
        self._shown = _tasks.Shown.of(arguments.format, texts, arguments.show or (), arguments.id)
        self._cells = _tasks.cells_of_rows(arguments, self._shown)
        self._n_rows = 0

    @contextmanager
    def writing(self, file: TextIO) -> Iterator[Write]:
        """Yield a function that writes the predictions in the columns of a layout."""
        with _tasks.writing(file, self._tool, self._label_names) as put:

            def write(columns: Columns) -> None:
                for task in self._of(columns):
                    put(task)

            yield write
        if not self._are_probabilities:
            _console.print_notes(["The scores are no probabilities: they are written as text only."])

    def _of(self, columns: Columns) -> Iterator[_tasks.Task]:
        nothing = [0] * len(columns["labels"])
        rows = zip(columns["labels"], columns["scores"], columns.get("abstained", nothing), strict=True)
        for labels, scores, abstained in rows:
            keys = {"row": self._n_rows, "scores": ", ".join(map(_scored, labels, scores))}
            keys |= {"predicted": labels} | ({"abstained": abstained} if "abstained" in columns else {})
            score = sum(scores) / len(scores) if scores and self._are_probabilities else None
            opinions = [] if abstained else [_tasks.Opinion("nearlabel", labels, score)]
            yield self._shown.task(keys, next(self._cells), opinions)
            self._n_rows += 1


def _scored(label: str, score: float) -> str:
    return f"{label} {score:.2f}"


def _truth(arguments: argparse.Namespace, model: _model.OpenModel) -> Any:
    """Return the label sets of DATA in the model's order of labels, with NaN for unknown labels."""
    from nearlabel.utils.targets import PartialLabels

    if arguments.id is not None:
        arguments.ignore = (*(arguments.ignore or ()), arguments.id)
    data, notes = model.matching.open(arguments)
    _console.print_notes(notes)
    return PartialLabels.of(data.Y).with_nan()


# Write predictions as tables: CSV, Parquet and JSON lines.

# Columns by name: lists of cells, each a number, a text or a list of either.
Columns: TypeAlias = Mapping[str, Sequence[Any]]
Write: TypeAlias = Callable[[Columns], None]

_SIGNS_OF_NUMBERS = frozenset("0123456789.+-einfa")


class Layout:
    """The columns of a table of predictions.

    ``row`` or the column of ids; ``labels``, the names of the predicted labels; on request ``abstained``, which is 1
    if nothing is predicted because the row is novel. Scores are ``scores`` next to ``labels``, or ``top`` and
    ``top_scores``, best first, or ``score_NAME`` for every label.
    """

    def __init__(
        self, id_column: str | None, scores: Scores, label_names: Sequence[str], *, abstains: bool = False
    ) -> None:
        import numpy as np

        if scores.which == "top" and scores.n_labels > len(label_names):
            raise ValueError(f"--scores must be top:N with N at most {len(label_names)} labels, got {scores.n_labels}.")
        self._id = "row" if id_column is None else id_column
        self._scores = scores
        self.label_names = tuple(label_names)
        self._names = np.array(label_names, dtype=object)
        self._abstains = abstains
        of_scores: dict[str, dict[str, str]] = {
            "none": {},
            "chosen": {"scores": "numbers"},
            "top": {"top": "texts", "top_scores": "numbers"},
            "all": dict.fromkeys((f"score_{name}" for name in label_names), "number"),
        }
        own = {"labels": "texts"} | ({"abstained": "number"} if abstains else {}) | of_scores[scores.which]
        if self._id in own:
            raise ValueError(f"--id must name a column other than those of the predictions, got {self._id!r}.")
        self.kinds: Any = {self._id: "cell"} | own  # as `ParquetWriter` takes them

    def columns(self, ids: Sequence[Any], labels: Any, scores: Any, abstained: Any) -> Columns:
        """Return the columns of a block of rows."""
        import numpy as np

        sets = _sets(labels)
        columns: dict[str, Sequence[Any]] = {self._id: ids, "labels": [self._names[one].tolist() for one in sets]}
        if self._abstains:
            columns |= {"abstained": abstained.astype(np.int64).tolist()}
        if scores is None or self._scores.which == "none":
            return columns
        if self._scores.which == "chosen":
            return columns | {"scores": [row[one].tolist() for row, one in zip(scores, sets, strict=True)]}
        if self._scores.which == "top":
            best = np.argsort(-scores, axis=1, kind="stable")[:, : self._scores.n_labels]
            of_best = np.take_along_axis(scores, best, axis=1)
            return columns | {"top": self._names[best].tolist(), "top_scores": of_best.tolist()}
        return columns | {f"score_{name}": scores[:, label].tolist() for label, name in enumerate(self._names)}


def _sets(labels: Any) -> list[Any]:
    """Return the labels of each row, as column numbers."""
    import numpy as np
    from scipy import sparse

    rows = sparse.csr_array(labels)
    rows.eliminate_zeros()
    rows.sort_indices()
    return np.split(rows.indices, rows.indptr[1:-1])


def _check_joinable(layout: Layout, separator: str) -> None:
    """Raise ValueError if a label or score contains the separator between labels or scores in CSV."""
    if "numbers" in layout.kinds.values() and set(separator) <= _SIGNS_OF_NUMBERS:
        raise ValueError(
            f"--labels-separator must be a text that no number contains, got {separator!r}, which joins scores, too."
            " Hint: choose another one, --scores all, or --out with .jsonl or .parquet, whose scores are lists."
        )
    wrong = [name for name in layout.label_names if not _splits_off(name, separator)]
    if wrong:
        raise ValueError(
            f"--labels-separator must be a text that no label contains, got {separator!r}, and a label {wrong[0]!r}."
            " Hint: choose another one, or --out with .jsonl or .parquet, whose labels are lists."
        )


def _splits_off(name: str, separator: str) -> bool:
    """Return whether a name is read back unchanged from joined names."""
    return bool(name) and name == name.strip() and (name + separator).index(separator) == len(name)


@contextmanager
def open_predictions(path: Path, layout: Layout, separator: str, tasks: _TasksOf | None = None) -> Iterator[Write]:
    """Open a file by its suffix, or for tasks; it is written atomically."""
    with whole_file(path, name="--out") as partial:
        if path.suffix.lower() == ".parquet":
            with nearlabel.datasets.tables.ParquetWriter(partial, layout.kinds) as writer:
                yield writer.write
        else:
            with partial.open("w", encoding="utf-8", newline="") as file:
                if tasks is not None:
                    with tasks.writing(file) as write:
                        yield write
                else:
                    yield csv_writer(file, layout, separator) if path.suffix.lower() == ".csv" else _json_writer(file)


def csv_writer(file: TextIO, layout: Layout, separator: str) -> Write:
    """Return a function that writes columns as CSV, with a header; lists are joined."""
    _check_joinable(layout, separator)
    writer = csv.writer(file, lineterminator="\n")
    headed = False

    def write(columns: Columns) -> None:
        nonlocal headed
        if not headed:
            writer.writerow(columns)
            headed = True
        for row in zip(*columns.values(), strict=True):
            writer.writerow(separator.join(map(str, cell)) if isinstance(cell, list) else cell for cell in row)

    return write


def _json_writer(file: TextIO) -> Write:
    def write(columns: Columns) -> None:
        for row in zip(*columns.values(), strict=True):
            # An infinite decision value, of a label with one class, becomes null.
            cells = _console.finite(dict(zip(columns, row, strict=True)))
            file.write(json.dumps(cells, ensure_ascii=False, allow_nan=False) + "\n")

    return write
