"""Results of nearlabel and other programs as one list of records with matching folds."""

from __future__ import annotations

import csv
import json
import math
import os
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

from nearlabel.experiments import Record, read_records
from nearlabel.experiments.records import read_plan, run_folders

# A folder or file, a pandas frame, a list of dicts, or several of these.
Results: TypeAlias = str | os.PathLike[str] | Iterable[Any]

_Fold: TypeAlias = tuple[int | None, int]  # seed, number


@dataclass
class _Source:
    """The records of one folder, file, frame or list, and the plan of a folder that `run` wrote."""

    name: str
    records: list[Located]
    plan: dict[str, Any] | None = None

    def folds(self) -> dict[str, dict[_Fold, str]]:
        """Return the folds of each data set, and the position at which each occurs first."""
        folds: dict[str, dict[_Fold, str]] = {}
        for place, record in self.records:
            folds.setdefault(record["dataset"], {}).setdefault((record["seed"], record["fold"]), place)
        return folds


def read_results(results: Results) -> list[Record]:
    """Read the results of one or several sources as one list of records.

    Parameters
    ----------
    results : path, DataFrame, list of dict, or list of these
        A path is a folder that `run` wrote, a folder of such folders, or a ``.csv`` or ``.jsonl`` file. Files, frames
        and dicts have the columns dataset, fold, method, metric and value, and may have seed, n_neighbors and
        greater_is_better; other columns are ignored. Folds are numbered from 0. An empty value means that the metric is
        undefined on that fold. Results without a seed get the seed of the other sources, or 0.

    Returns
    -------
    list of dict
        Flat records, as `run` returns them.

    Raises
    ------
    ValueError
        If there are no records, a column is missing, a cell is invalid for its column, a record occurs twice in one
        source or with different values in two sources, the folds of two sources do not match, or a folder compares
        searches.
    OSError
        If a file cannot be read.

    Warns
    -----
    UserWarning
        If runs scaled the features differently, a source lacks folds that another has, or the samples of folds cannot
        be checked because another program made them.

    Examples
    --------
    >>> from nearlabel.comparison import read_results
    >>> record = {"dataset": "emotions", "fold": 0, "method": "BR", "metric": "hamming_loss", "value": 0.2}
    >>> read_results([record])  # doctest: +NORMALIZE_WHITESPACE
    [{'dataset': 'emotions', 'fold': 0, 'method': 'BR', 'metric': 'hamming_loss', 'value': 0.2, 'n_neighbors': None,
    'seed': 0}]
    """
    sources = [source for part in _parts(results) for source in _sources(part)]
    _fill_in_seeds(sources)
    _check_plans(sources)
    for source in sources:
        if source.plan is None:
            _check_folds_from_0(source)
    records = _merged(sources)
    if not records:
        names = ", ".join(source.name for source in sources[:3])
        raise ValueError(f"results must contain at least one record, got none{f' in {names}' if names else ''}.")
    for first, second in combinations(sources, 2):
        if first.plan is None or second.plan is None:
            _check_folds_pair(first, second)
    return records


def _parts(results: Results) -> list[Any]:
    """Return the sources; a list of dicts is one source."""
    if isinstance(results, (str, os.PathLike)) or hasattr(results, "to_dict"):
        return [results]
    parts = list(results)
    return [parts] if all(isinstance(part, Mapping) for part in parts) else parts


def _sources(part: Any) -> list[_Source]:
    if isinstance(part, (str, os.PathLike)):
        if Path(part).is_file():
            return [_Source(str(part), read_file(Path(part)))]
        return [_read_folder(folder) for folder in run_folders([part])]
    if hasattr(part, "to_dict") and not isinstance(part, Mapping):
        return [_Source("frame", checked_records(rows_of_frame(part)))]
    return [_Source("records", checked_records(rows_of_list(part)))]


def _read_folder(path: Path) -> _Source:
    plan = read_plan(path)
    if "searches" in plan:
        raise ValueError(f"{path} must contain a comparison of methods, got one of searches (evaluate --search).")
    records = [Located(str(path), record) for record in read_records(path)]
    if strange := [record["dataset"] for _, record in records if record["dataset"] not in plan["problems"]]:
        raise ValueError(f"{path} must contain records of the data sets of its plan, got some of {strange[0]!r}.")
    return _Source(str(path), records, plan)


def _fill_in_seeds(sources: Iterable[_Source]) -> None:
    """Set missing seeds to the only seed of the data set, or to 0 if there is none."""
    records = [record for source in sources for _, record in source.records]
    seeds: dict[str, dict[int | None, None]] = {}
    for record in records:
        if "seed" in record:
            seeds.setdefault(record["dataset"], {})[record["seed"]] = None
    for source in sources:
        for place, record in source.records:
            if "seed" not in record:
                known = list(seeds.get(record["dataset"], {0: None}))
                if len(known) > 1:
                    raise ValueError(
                        f"{place}: seed must be given, as {record['dataset']} was split into folds with the seeds"
                        f" {', '.join(map(str, known))}. Hint: a column seed."
                    )
                record["seed"] = known[0]


def _check_plans(sources: Iterable[_Source]) -> None:
    """Raise an error unless our runs have the same samples and folds of common data sets; warn if scaling differs."""
    cuts: dict[str, tuple[str, dict[str, Any]]] = {}
    scales: dict[str, str] = {}
    for source in sources:
        if source.plan is None:
            continue
        for dataset, digest in source.plan["problems"].items():
            cut = {"folds": source.plan.get("cv"), "stratification": source.plan.get("stratify")}
            cut["samples or split"] = digest
            name, known = cuts.setdefault(dataset, (source.name, cut))
            different = [what for what, value in cut.items() if value != known[what]]
            if different:
                numbers = f" ({cut['folds']} against {known['folds']})" if "folds" in different else ""
                raise ValueError(
                    f"{source.name} must have the folds of {dataset} of {name}, got other {different[0]}{numbers}."
                )
        scales.setdefault(str(source.plan.get("scale")), source.name)
    if len(scales) > 1:
        each = ", ".join(f"{scale} in {name}" for scale, name in scales.items())
        warnings.warn(f"Features are scaled differently: {each}.", stacklevel=4)


def _check_folds_from_0(source: _Source) -> None:
    """Raise an error unless folds are numbered from 0: the highest number determines how many there are."""
    for dataset, folds in source.folds().items():
        least = min(folds, key=lambda fold: fold[1])
        if least[1] != 0:
            raise ValueError(f"{folds[least]}: the folds of {dataset} must be numbered from 0, got {_shown(folds)}.")


def _check_folds_pair(first: _Source, second: _Source) -> None:
    """Raise an error if two sources have different folds of a data set; warn if that cannot be checked."""
    folds_of_first = first.folds()
    for dataset, folds in second.folds().items():
        known = folds_of_first.get(dataset, folds)
        only_in_second = [fold for fold in folds if fold not in known]
        missing = [fold for fold in known if fold not in folds]
        if only_in_second and missing:
            fold = only_in_second[0]
            raise ValueError(
                f"{folds[fold]}: the folds of {dataset} must be those of {first.name}, {_shown(known)}, got"
                f" {_shown([fold])}. Hint: a column seed names the shuffle."
            )
        if only_in_second or missing:
            lacking, n_less, n_all = (second, len(folds), len(known)) if missing else (first, len(known), len(folds))
            warnings.warn(f"{lacking.name} has {n_less} of {n_all} folds of {dataset}.", stacklevel=4)
    shared = [dataset for dataset in second.folds() if dataset in folds_of_first]
    if shared:
        warnings.warn(
            f"The folds of {', '.join(shared)} in {second.name} are assumed to be those in {first.name}: nearlabel"
            " cannot check their samples.",
            stacklevel=4,
        )


def _shown(folds: Iterable[_Fold]) -> str:
    """Return fold numbers and seeds as text."""
    by_seed: dict[int | None, list[int]] = {}
    for seed, fold in folds:
        by_seed.setdefault(seed, []).append(fold)
    parts = []
    for seed, numbers in by_seed.items():
        which = f"fold {numbers[0]}" if len(numbers) == 1 else f"folds {min(numbers)} to {max(numbers)}"
        parts.append(which + (" of a given split" if seed is None else f" of seed {seed}"))
    return ", ".join(parts)


def _merged(sources: Iterable[_Source]) -> list[Record]:
    """Return each record once; raise ValueError if sources have different values for it."""
    scales = dict.fromkeys(str(source.plan.get("scale")) for source in sources if source.plan is not None)
    hint = "Hint: use different names for different methods." if len(scales) < 2 else f"Scales: {', '.join(scales)}."
    found: dict[tuple[Any, ...], Located] = {}
    for located in (located for source in sources for located in source.records):
        place, record = located
        known = found.setdefault(key_of(record), located)
        if known.record["value"] != record["value"]:
            raise ValueError(
                f"{place} must agree with {known.place} on the values in both, got {record['value']} in place of"
                f" {known.record['value']} ({described(record)}). {hint}"
            )
    return [record for _, record in found.values()]


# Flat records of any program, from CSV or JSON lines files, pandas frames or lists of dicts; every cell is checked.

REQUIRED = ("dataset", "fold", "method", "metric", "value")
_BLANK = (None, "")
_TRUTHS = {"true": True, "1": True, "1.0": True, "false": False, "0": False, "0.0": False}


class Located(NamedTuple):
    """A record and its position in its source, for messages: "meka.csv, line 3"."""

    place: str
    record: Record


def read_file(path: Path) -> list[Located]:
    """Read the records of a ``.csv`` or ``.jsonl`` file.

    Raises
    ------
    ValueError
        If the file has another suffix, a column is missing, or a cell is invalid for its column.
    OSError
        If the file cannot be read.
    """
    rows = _ROWS_OF.get(path.suffix.lower())
    if rows is None:
        raise ValueError(
            f"{path} must be a .csv or .jsonl file, or a folder that nearlabel wrote, got suffix {path.suffix!r}."
            " Hint: the page Comparing methods describes the files."
        )
    try:
        return checked_records(rows(path))
    except (UnicodeDecodeError, csv.Error) as error:
        raise ValueError(f"{path} must be text in UTF-8, got {error}.") from error


def rows_of_frame(frame: Any) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield the rows of a pandas frame, None where a cell is missing."""
    cells = frame.astype(object).where(frame.notna(), None).to_dict(orient="records")
    return ((f"frame, row {number}", row) for number, row in enumerate(cells))


def rows_of_list(records: Iterable[Mapping[str, Any]]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield dicts with their numbers."""
    return ((f"records[{number}]", record) for number, record in enumerate(records))


def checked_records(rows: Iterable[tuple[str, Mapping[str, Any]]]) -> list[Located]:
    """Return the records of some rows; raise ValueError if a field is missing or invalid, or a record occurs twice.

    Optional fields are left out if the row has no such column; columns with other names are ignored.
    """
    found: dict[tuple[Any, ...], Located] = {}
    for place, row in rows:
        located = Located(place, _checked(place, row))
        first = found.setdefault(key_of(located.record), located)
        if first is not located:
            raise ValueError(
                f"{place}: each record must occur once, got {described(located.record)} again, which is in"
                f" {first.place}. Hint: distinguish them by a column seed or n_neighbors."
            )
    return list(found.values())


def key_of(record: Record) -> tuple[Any, ...]:
    """Return the values that identify a record within a source."""
    return tuple(record.get(name) for name in ("dataset", "seed", "fold", "method", "n_neighbors", "metric"))


def described(record: Record) -> str:
    """Return a description of a record's key."""
    names = ("dataset", "seed", "fold", "method", "n_neighbors", "metric")
    return ", ".join(f"{name} {record[name]}" for name in names if record.get(name) is not None)


def _checked(place: str, row: Mapping[str, Any]) -> Record:
    missing = [name for name in REQUIRED if name not in row]
    if missing:
        raise ValueError(
            f"{place}: a record must have {', '.join(REQUIRED)}, got none of {', '.join(missing)} (found:"
            f" {', '.join(map(str, row)) or 'nothing'}). Hint: name the columns so."
        )
    record: Record = {}
    for name, (read, expected) in _FIELDS.items():
        if name in row:
            try:
                record[name] = read(row[name])
            except (TypeError, ValueError, OverflowError) as error:
                raise ValueError(f"{place}, column {name}: must be {expected}, got {row[name]!r}.") from error
    record.setdefault("n_neighbors", None)
    return record


def _name(cell: object) -> str:
    if not isinstance(cell, str) or not cell.strip():
        raise ValueError
    return cell.strip()


def _number(cell: Any) -> float:
    if isinstance(cell, bool):
        raise TypeError
    return float(cell)


def _whole_number(cell: Any) -> int:
    number = _number(cell)  # a frame's columns of numbers with gaps are floats
    if number != int(number) or number < 0:
        raise ValueError
    return int(number)


def _value(cell: Any) -> float | None:
    number = math.nan if cell in _BLANK else _number(cell)
    if math.isinf(number):
        raise ValueError
    return None if math.isnan(number) else number


def _truth(cell: object) -> bool:
    text = str(cell).strip().lower()
    if text not in _TRUTHS:
        raise ValueError
    return _TRUTHS[text]


def _optional(read: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return lambda cell: None if cell in _BLANK else read(cell)


# For each field: how to read it, and a description of valid values.
_FIELDS: Mapping[str, tuple[Callable[[Any], Any], str]] = {
    "dataset": (_name, "a name"),
    "seed": (_optional(_whole_number), "a whole number, or empty for a given split"),
    "fold": (_whole_number, "a whole number, 0 for the first fold"),
    "method": (_name, "a name"),
    "n_neighbors": (_optional(_whole_number), "a whole number, or empty"),
    "metric": (_name, "a name"),
    "value": (_value, "a finite number, or empty where the metric is undefined"),
    "greater_is_better": (_optional(_truth), "true or false"),
}


def _rows_of_csv(path: Path) -> Iterator[tuple[str, Mapping[str, Any]]]:
    with path.open(newline="", encoding="utf-8-sig") as file:
        first = file.readline()
        file.seek(0)
        reader = csv.reader(file, delimiter=max(",;\t", key=first.count), strict=True)
        columns = [name.strip() for name in next(reader, ())]
        missing = [name for name in REQUIRED if name not in columns]
        if missing:
            raise ValueError(
                f"{path}, line 1: must name the columns {', '.join(REQUIRED)}, got none of {', '.join(missing)} (found:"
                f" {', '.join(columns) or 'nothing'})."
            )
        for cells in reader:
            place = f"{path}, line {reader.line_num}"
            if cells and len(cells) != len(columns):
                raise ValueError(f"{place}: must have {len(columns)} cells, as line 1, got {len(cells)}.")
            if cells:
                yield place, dict(zip(columns, cells, strict=True))


def _rows_of_json_lines(path: Path) -> Iterator[tuple[str, Mapping[str, Any]]]:
    with path.open(encoding="utf-8-sig") as file:
        for number, line in enumerate(file, 1):
            if line.strip():
                yield f"{path}, line {number}", _parsed(line, f"{path}, line {number}")


def _parsed(line: str, place: str) -> Mapping[str, Any]:
    try:
        row = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{place}: must be JSON, got {line.strip()[:60]!r}.") from error
    if not isinstance(row, dict):
        raise ValueError(f"{place}: must be an object of JSON, got {line.strip()[:60]!r}.")
    return row


_ROWS_OF = {".csv": _rows_of_csv, ".tsv": _rows_of_csv, ".jsonl": _rows_of_json_lines}
