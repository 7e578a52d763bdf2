"""DATA on the command line: a name or a file, which columns are labels, and what its features and labels lack."""

from __future__ import annotations

import argparse
import os
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import nearlabel
from nearlabel.cli import _console
from nearlabel.cli._arguments import OF_LABELS, OF_TABLES, add_written_labels_options, columns, one_or_columns
from nearlabel.files.atomic_file import check_can_be_written
from nearlabel.utils.names import IMPUTATIONS

EMBEDDED = "multidigits"
DUPLICATES = "duplicates"
TEST_DATA = "--test-data"
NOT_IMPUTED = "none"


def add_data_options(
    parser: argparse.ArgumentParser, *, optional: bool = False, metavar: str = "DATA", before: str = ""
) -> None:
    """Add DATA and the options that name the label columns of a table; `before` describes the alternatives."""
    parser.add_argument(
        "data",
        metavar=metavar,
        nargs="?" if optional else None,
        help=f"{before}a name of the catalogue, {EMBEDDED!r} (embedded), or a file: ARFF, svmlight, CSV, Excel, JSON"
        " lines, Parquet or NPZ; - is standard input",
    )
    table = parser.add_argument_group("labels of a table: CSV, Excel, JSON or Parquet (exactly one of the first three)")
    table.add_argument("--labels", type=columns, metavar="A,B", help="0/1 columns, one for each label")
    table.add_argument("--labels-prefix", metavar="TEXT", help="0/1 columns whose name starts with this prefix")
    table.add_argument(
        "--labels-column",
        "--labels-columns",
        type=one_or_columns,
        metavar="A[,B]",
        help="column with the tags of each row, or several, such as tag1,tag2 or 'tag*'",
    )
    table.add_argument(
        "--labels-separator",
        metavar="TEXT",
        help="separator between tags; default: ; (or, if no cell has one, the one that joins tags, such as |)",
    )
    add_written_labels_options(parser)
    parser.add_argument(
        "--unknown",
        metavar="VALUE",
        help="value that marks an unknown label (-1, n/k), in addition to empty cells in 0/1 columns and ? in ARFF; as"
        " a cell or a tag in --labels-column it means that the other tags are unknown",
    )
    table.add_argument(
        "--ignore",
        type=columns,
        metavar="A,B",
        help="columns, or attributes of an ARFF file, that are neither labels nor features",
    )
    table.add_argument("--decimal", choices=(".", ","), help="decimal separator in CSV; default: .")
    table.add_argument("--sheet", metavar="NAME", help="sheet of an Excel workbook; default: the only one with cells")
    parser.add_argument(
        "--input-format",
        choices=_console.INPUT_FORMATS,
        help="format of standard input (-); default: detected from its content",
    )


def add_kind_options(parser: argparse.ArgumentParser) -> None:
    """Add the options that name the columns of a table that are no numbers."""
    group = parser.add_argument_group("columns of a table that do not contain numbers")
    group.add_argument("--categorical", type=columns, metavar="A,B", help="categories, compared as equal or different")
    group.add_argument("--text", type=columns, metavar="A,B", help="texts, compared by their words (tf-idf)")
    group.add_argument("--date", type=columns, metavar="A,B", help="dates such as 2026-01-31, or times")


def add_kept_options(parser: argparse.ArgumentParser) -> None:
    """Add --id and --show."""
    group = parser.add_argument_group(
        "columns saved with the model for display (features only if an option below names them, as --text)"
    )
    group.add_argument(
        "--id",
        metavar="COLUMN",
        help="column of DATA with ids, saved in the model: explain and report name neighbours by them, and update and"
        " forget find rows",
    )
    group.add_argument(
        "--show", type=columns, metavar="A,B", help="more columns that they show, such as titles and paths"
    )


def add_groups_option(parser: argparse.ArgumentParser) -> None:
    """Add the option for rows that are held out together."""
    parser.add_argument(
        "--groups",
        metavar=f"COLUMN|{DUPLICATES}",
        help="hold out the rows of a group together: rows with the same value in this column (not used as a feature),"
        f" or with {DUPLICATES} identical rows; default: no groups",
    )


def add_impute_option(parser: argparse.ArgumentParser) -> None:
    """Add the option for missing features."""
    parser.add_argument(
        "--impute",
        choices=(NOT_IMPUTED, *IMPUTATIONS),
        default=NOT_IMPUTED,
        help="how to replace missing features (fitted on training data); none: they are an error; default: none",
    )


def add_range_option(parser: argparse.ArgumentParser) -> None:
    """Add the option for values outside the training range."""
    parser.add_argument(
        "--out-of-range",
        choices=("clip", "keep"),
        default="clip",
        help="numbers and dates outside the training range, such as next month's: clip moves them to its nearest end,"
        " keep compares them unchanged; words are never moved; default: clip",
    )


def add_test_data_option(parser: argparse.ArgumentParser, *, used: str) -> None:
    """Add the option; `used` describes the purpose of the test data."""
    parser.add_argument(
        TEST_DATA,
        metavar="DATA",
        help=f"another file or data set, with the features and labels of DATA, {used}; default: none",
    )


# DATA on the command line: a name or a file, and for tables which columns are labels.

_PARAMETERS = {name: name for name in OF_TABLES} | {"dates": "date"}  # of load_dataset, and the options for them


def label_options(arguments: argparse.Namespace) -> dict[str, Any]:
    """Return the given options for the columns of labels and how they are written, for a copy of the table."""
    joined = next((option for option in ("labels_file", "join_by") if getattr(arguments, option) is not None), None)
    if joined is not None:
        option = joined.replace("_", "-")
        raise ValueError(f"--{option} must go with an --out that ends in .npz: labels are not in the rows of DATA.")
    return {name: getattr(arguments, name) for name in OF_LABELS if getattr(arguments, name) is not None}


def open_data(
    arguments: argparse.Namespace, *, subset: str = "all", weighted: bool = False
) -> nearlabel.datasets.Dataset:
    """Return the data set of the arguments; the only subset of a file is "all".

    Raises
    ------
    ValueError
        If rows have weights, unless the command shows them: no other counts them.
    """
    with _console.progress_bar(f"reading {arguments.data}"):
        data = _read(arguments, subset)
    if not weighted:
        nearlabel.datasets.tables.check_unweighted(data)
    return data


def _read(arguments: argparse.Namespace, subset: str) -> nearlabel.datasets.Dataset:
    data: str = arguments.data
    given = {name: getattr(arguments, option, None) for name, option in _PARAMETERS.items()}
    options = {name: value for name, value in given.items() if value is not None}
    if "unlabelled" in options:
        options["unlabelled"] = _values_by_column(options["unlabelled"])
    groups = getattr(arguments, "groups", None)
    if groups is None:
        return _found(data, options, subset)
    if groups == DUPLICATES:
        found = _found(data, options, subset)
        return replace(found, groups=nearlabel.datasets.duplicate_groups(found.X))
    numbers = _groups_by_column(arguments, groups)
    options["ignore"] = tuple(dict.fromkeys([*options.get("ignore", ()), groups]))
    return replace(_found(data, options, subset), groups=numbers)


def read_columns(arguments: argparse.Namespace, options: Mapping[str, str]) -> dict[str, list[Any]]:
    """Return the cells of some columns of DATA; `options` contains the option that names each column."""
    return nearlabel.datasets.tables.read_columns(
        Path(arguments.data), options, decimal=arguments.decimal or ".", join_by=arguments.join_by
    )


def _values_by_column(pairs: Iterable[tuple[str, str]]) -> dict[str, list[str]]:
    """Return the values of each column; none of any for the one word that is no pair."""
    values: dict[str, list[str]] = defaultdict(list)
    for column, value in filter(None, pairs):
        values[column].append(value)
    return values


def _groups_by_column(arguments: argparse.Namespace, column: str) -> Any:
    """Return the number of each row's group: rows with equal cells in a column; a row with an empty cell is alone."""
    import numpy as np

    data: str = arguments.data
    check_file(data)
    if not is_file(data):
        raise ValueError(f"--groups must be {DUPLICATES} for a data set of the catalogue, {data!r}, got {column!r}.")
    cells = read_columns(arguments, {column: "--groups"})[column]
    names = [f"= {cell}" if cell not in (None, "") else f"row {row}" for row, cell in enumerate(cells)]
    return np.unique(names, return_inverse=True)[1]


def _found(data: str, options: dict[str, Any], subset: str) -> nearlabel.datasets.Dataset:
    check_file(data)
    is_path = data != EMBEDDED and is_file(data)
    if subset != "all" and (is_path or data == EMBEDDED):
        raise ValueError(f"{data} must be a name of the catalogue to have a given split. Hint: --cv 10.")
    if is_path:
        return nearlabel.datasets.load_dataset(data, **options)
    if options:
        option = _PARAMETERS[next(iter(options))].replace("_", "-")
        raise ValueError(f"--{option} must go with a file, got the data set {data!r}. Hint: its labels are known.")
    if data == EMBEDDED:
        return nearlabel.datasets.load_multidigits()
    return nearlabel.datasets.fetch_dataset(data, subset=subset)


def column_names(data: str) -> Sequence[str] | None:
    """Return the names of the columns of DATA; None if it is not a table."""
    return nearlabel.datasets.tables.column_names_of(Path(data)) if is_file(data) else None


def feature_names(arguments: argparse.Namespace, id_column: str | None) -> tuple[str, ...] | None:
    """Return the names of the features of a file; None for svmlight, whose rows name features by number."""
    named = [*(arguments.labels or ()), *(arguments.ignore or ()), id_column, arguments.join_by]
    unlabelled = [pair[0] for pair in arguments.unlabelled or () if pair]
    tags = [name for name in column_names(arguments.data) or () if is_label(arguments, name)]
    others = [name for name in (*named, *unlabelled, *tags) if name is not None]
    return nearlabel.datasets.tables.feature_names_of(
        Path(arguments.data), labels_prefix=arguments.labels_prefix, others=others
    )


def tag_columns(arguments: argparse.Namespace) -> tuple[str, ...]:
    """Return the columns that --labels-column names; none without it."""
    named = arguments.labels_column
    return () if named is None else (named,) if isinstance(named, str) else tuple(named)


def has_tags(arguments: argparse.Namespace) -> bool:
    """Return whether labels are tags in one column, which does not name labels that no row has."""
    return arguments.labels_column is not None


def is_label(arguments: argparse.Namespace, name: str) -> bool:
    """Return whether the options name a column as a label, or as the tags."""
    prefixed = bool(arguments.labels_prefix) and name.startswith(arguments.labels_prefix)
    in_tags = nearlabel.datasets.tables.is_among(name, tag_columns(arguments))
    return prefixed or in_tags or name in (arguments.labels or ())


def check_file(data: str) -> None:
    """Refuse a folder, and a pipe, which can be read only once."""
    if data not in nearlabel.datasets.catalogue() and Path(data).is_dir():
        raise ValueError(f"{data} must be a file or a name of the catalogue, got a folder.")
    if Path(data).is_fifo():
        hint = f"Hint: {_console.STDIN} reads standard input."
        raise ValueError(f"{data} must be a file that can be read twice, got a pipe. {hint}")


def check_number(option: str, number: int) -> None:
    """Refuse a number below 1."""
    from nearlabel.utils.validation import check_integer

    check_integer(option, number, low=1)


def changed(arguments: argparse.Namespace, **options: Any) -> argparse.Namespace:
    """Return the arguments with some options changed."""
    return argparse.Namespace(**vars(arguments) | options)


def check_output(
    file: Path | None, option: str, others: Mapping[str, Iterable[Path | None]] = {}, *, force: bool = True
) -> None:
    """Refuse a file that cannot or must not be written, before anything is computed.

    `others` are the other files of the command, by their description; only with `force` the file may exist.
    """
    if file is None:
        return
    check_can_be_written(file, name=option)
    for words, paths in others.items():
        for other in filter(None, paths):
            is_same = os.path.realpath(file) == os.path.realpath(other)
            if is_same or (file.exists() and other.exists() and file.samefile(other)):
                raise ValueError(f"{option} must be another file than {words}, got {file}.")
    if file.exists() and not force:
        raise FileExistsError(f"{file} already exists. Hint: --force overwrites it.")


def is_file(data: str) -> bool:
    """Return whether DATA is a file rather than a name."""
    return data not in nearlabel.datasets.catalogue() and (
        Path(data).is_file() or "/" in data or "\\" in data or "." in data
    )


# Columns of categories, texts and dates: the options that name them, and what a model knows of its own.

_KINDS = {"numbers": "number", "categories": "category", "text": "text", "dates": "date"}  # by the encoder's groups
_OPTIONS = {"category": "categorical", "text": "text", "date": "date"}
_PLURALS = {"number": "numbers", "category": "categories", "text": "texts", "date": "dates"}


def kinds_of_columns(arguments: argparse.Namespace) -> set[str]:
    """Return the kinds of columns that are no numbers: those that options name, or that an ARFF file declares."""
    named = {kind: getattr(arguments, option) for kind, option in _OPTIONS.items() if getattr(arguments, option)}
    check_file(arguments.data)
    if not is_file(arguments.data):
        return set(named)
    others = [name for names in named.values() for name in names]
    declared = nearlabel.datasets.tables.declared_kinds_of(
        Path(arguments.data), ignore=arguments.ignore or (), others=others
    )
    return {*named, *declared} - {"number"}


def usual_scale(arguments: argparse.Namespace) -> str:
    """Return the scaling of features if no option sets it: next to categories, numbers differ by at most 1."""
    return "minmax" if kinds_of_columns(arguments) else "none"


def steps_of(model: Any) -> list[Any]:
    """Return the steps of a pipeline, or the model itself as the only one; a mixture after those of its first part."""
    inner = getattr(model, "estimator_", model)  # thresholds of a guarantee are around a mixture
    if isinstance(inner, nearlabel.rivals.SoftVote):  # each part reads the same columns
        return [*steps_of(inner.estimators_[0])[:-1], model]
    return [step for _, step in model.steps] if hasattr(model, "steps") else [model]


def encoder_of(model: Any) -> nearlabel.preprocessing.MixedFeaturesEncoder | None:
    """Return the encoder at the beginning of a model; None if it takes numbers."""
    first = steps_of(model)[0]
    return first if isinstance(first, nearlabel.preprocessing.MixedFeaturesEncoder) else None


def kinds_of_model(model: Any) -> tuple[str, ...]:
    """Return the kinds of the columns that a model takes; empty if all are numbers."""
    encoder = encoder_of(model)
    if encoder is None:
        return ()
    kinds = {place: _KINDS[group] for group, places in encoder.groups_.items() for place in places}
    return tuple(kinds[place] for place in range(len(kinds)))


def options_of_kinds(kinds: Mapping[str, str]) -> dict[str, tuple[str, ...]]:
    """Return the options that name columns of these kinds, by the names of the columns."""
    return {
        option: tuple(name for name, of_column in kinds.items() if of_column == kind)
        for kind, option in _OPTIONS.items()
        if kind in kinds.values()
    }


def counted(kinds: Sequence[str]) -> str:
    """Return how many columns there are of each kind, in words."""
    counts = Counter(kinds)
    return ", ".join(
        f"{counts[kind]} {kind if counts[kind] == 1 else plural}" for kind, plural in _PLURALS.items() if kind in counts
    )


# Missing features: imputed by training data, or refused with the line and the column.


def imputation(arguments: argparse.Namespace) -> str | None:
    """Return the imputation of missing features; None if there is none."""
    return None if arguments.impute == NOT_IMPUTED else str(arguments.impute)


def open_training_data(arguments: argparse.Namespace) -> nearlabel.datasets.Dataset:
    """Return the data set of the arguments, to which a model can be fitted."""
    data = open_data(arguments)
    check_finite(arguments.data, data, imputes=imputation(arguments) is not None)
    tell(data)
    return data


def check_finite(name: str, data: nearlabel.datasets.Dataset, *, imputes: bool) -> None:
    """Raise ValueError, with their number, for infinite features, or missing ones that are not imputed."""
    import numpy as np
    from scipy import sparse

    from nearlabel.utils.validation import numbers_of, without_missing

    cells = numbers_of(data.X)
    X = without_missing(cells) if imputes else cells
    problem = not_finite(name, X, data.feature_names)
    if problem is None:
        return
    values = X.data if sparse.issparse(X) else X
    n_cells, n_missing = np.count_nonzero(~np.isfinite(values)), np.count_nonzero(np.isnan(values))
    count = f"; of such cells there are {n_cells}" if n_cells > 1 else ""
    hint = " Hint: --impute median replaces missing ones." if n_missing else ""
    raise ValueError(f"{problem}{count}.{hint}")


def not_finite(data: str, X: Any, feature_names: Sequence[str], *, first: int = 0) -> str | None:
    """Return an error message for the first value that is not finite; None if all are finite.

    `first` is the number of the first row of X in DATA.
    """
    from nearlabel.utils.validation import first_not_finite, numbers_of

    place = first_not_finite(numbers_of(X))
    if place is None:
        return None
    where = f"{data}, {_location(data, first + place.row)}: column {feature_names[place.column]!r}"
    return f"{where} must contain numbers that are finite, got {place.got}"


def _location(data: str, row: int) -> str:
    return nearlabel.datasets.tables.locate_row(Path(data), row) if is_file(data) else f"row {row}"


# Labels that are unknown for some rows: a note for the user, and the methods that are tried then.


def tell(data: nearlabel.datasets.Dataset) -> None:
    """Print how many labels are unknown, if some are."""
    import numpy as np

    from nearlabel.utils.targets import PartialLabels

    unknown = PartialLabels.of(data.Y, dtype=None).unknown
    if unknown is None:
        return
    n_cells, n_rows = int(unknown.sum()), int((np.asarray(unknown.sum(axis=1)) == unknown.shape[1]).sum())
    useless = f"; {n_rows} {'row has' if n_rows == 1 else 'rows have'} no known label" if n_rows else ""
    share = n_cells / (unknown.shape[0] * unknown.shape[1])
    cells = f"{n_cells} label {'cell is' if n_cells == 1 else 'cells are'} unknown ({share:.1%})"
    _console.print_notes([f"{data.name}: {cells}{useless}. Fitting and metrics use the known ones only."])


def narrowed(methods: Mapping[str, Any], data: nearlabel.datasets.Dataset, *, by_default: bool) -> dict[str, Any]:
    """Return the methods to try; if the user named none, those that accept the unknown labels of the data, if any.

    Named methods are never left out: they raise an error if they do not accept unknown labels.
    """
    from nearlabel.utils.targets import has_unknown

    if not by_default or not has_unknown(data.Y):
        return dict(methods)
    taking = {name: method for name, method in methods.items() if nearlabel.experiments.takes_unknown(method)}
    if not taking:
        return dict(methods)
    _console.print_notes([f"Only methods that accept unknown labels are tried: {', '.join(taking)}."])
    return taking


# Severe problems of a data set, reported before a command works with it.

_REFUSED = ("missing_values", "infinite_values")  # by the command itself, which names the place
_LEAST_ROWS = 50  # shares of fewer rows are too noisy
_OF_DISTANCES = ("ranges_far_apart", "empty_rows")


def print_severe(
    data: nearlabel.datasets.Dataset, *, scales: Iterable[str], searches: Iterable[str], by_neighbors: bool
) -> None:
    """Print a line on standard error for each severe finding that needs no search, unless the command is quiet.

    Findings that `scales` and `searches` (the texts of the command's options) already fix are left out. So are
    findings about distances if no method is `by_neighbors`.
    """
    if _console.is_quiet() or data.X.shape[0] < _LEAST_ROWS:
        return
    hidden = {*_REFUSED, *mended(scales, searches), *(() if by_neighbors else _OF_DISTANCES)}
    if data.groups is not None:
        hidden.add("duplicates")  # or the user has better groups
    found = nearlabel.datasets.examine(data, search=False).severe
    severe = [finding for finding in found if finding.kind not in hidden]
    _console.print_notes(f"{data.name}: {finding.sentence} Remedy: {finding.remedy}" for finding in severe)


def mended(scales: Iterable[str], searches: Iterable[str]) -> set[str]:
    """Return the kinds of findings that some scaling of features or some search fixes."""
    by_scales = {"ranges_far_apart"} if any(scale != "none" for scale in scales) else set()
    by_searches = {"empty_rows"} if any("metric=cosine" in search for search in searches) else set()
    return by_scales | by_searches
