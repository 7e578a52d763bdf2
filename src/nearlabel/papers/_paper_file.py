"""A paper's TOML file: find it, read it, and check it."""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import fields
from importlib import resources
from pathlib import Path
from typing import Any

from nearlabel.datasets import Dataset, fetch_dataset, load_dataset, load_multidigits
from nearlabel.experiments import Plan, ThresholdPlan
from nearlabel.files.untrusted import open_regular
from nearlabel.utils.naming import names_an_import

PROTOCOLS: Mapping[str, type[Plan] | type[ThresholdPlan]] = {"methods": Plan, "thresholds": ThresholdPlan}

# Keys of an experiment that are not parameters of its plan.
NOT_OF_THE_PLAN = ("datasets", "with_labels", "given_split", "protocol", "quick")

# For each kind of section, the required and the optional keys.
_KEYS: Mapping[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "data": ((), ("file", "train", "test", "labels", "labels_prefix", "labels_column", "labels_separator", "ignore")),
    "tables": (
        ("title", "printed"),
        (
            "experiments", "statistics", "split", "label_names", "decimals", "notes", "beside_metrics",
            "beside_methods", "remarks", "wins", "base",
        ),
    ),
    "orders": (("title", "tables", "over", "scores", "relations"), ("corrections", "notes")),
    "figures": (("title", "experiment", "method", "metric"), ("notes",)),
    "cubes": (("title", "probabilities", "labelsets"), ("notes",)),
    "pairs": (("title", "dataset", "n_samples", "seed", "row"), ("notes",)),
    "rankings": (("title", "experiments", "claims"), ("tests", "notes")),
}  # fmt: skip
_LISTS = (
    "methods", "metrics", "datasets", "given_split", "statistics", "printed", "relations", "wins", "notes",
    "probabilities", "labelsets",
)  # fmt: skip
_TABLES = ("label_names", "beside_metrics", "beside_methods")
_TOP = (("name", "title", "reference", "experiments"), tuple(_KEYS))


def paper_names() -> list[str]:
    """Return the names of the papers that come with nearlabel.

    Examples
    --------
    >>> from nearlabel.papers import paper_names
    >>> paper_names()
    ['chaudhari2016', 'gweon2019', 'pillai2012', 'spyromitros2008', 'zhang2007']
    """
    return sorted(
        Path(file.name).stem for file in resources.files(__package__).iterdir() if file.name.endswith(".toml")
    )


def read_paper(paper: str | os.PathLike[str]) -> dict[str, Any]:
    """Read one of nearlabel's papers by name, or a user's by the path of its ``.toml`` file.

    Raises
    ------
    ValueError
        If there is no such paper, or the file is not that of a paper.
    OSError
        If the file cannot be read.
    """
    if isinstance(paper, str) and not paper.endswith(".toml"):
        if paper not in paper_names():
            raise ValueError(
                f"paper must be one of {paper_names()}, got {paper!r}. Hint: the path of a file ends in .toml."
            )
        return tomllib.loads((resources.files(__package__) / f"{paper}.toml").read_text(encoding="utf-8"))
    path = Path(paper)
    with open_regular(path) as file:
        text = file.read()
    try:
        facts = tomllib.loads(text.decode("utf-8"))
    except (ValueError, RecursionError, MemoryError) as error:  # not TOML, not text, or too many brackets
        raise ValueError(f"{path} must be TOML in UTF-8, got an error: {error}.") from error
    _check_paper(path, facts)
    for entry in facts.get("data", {}).values():
        entry |= {part: path.parent / str(entry[part]) for part in ("file", "train", "test") if part in entry}
    return facts


def check_runs_no_code(kind: str, text: object) -> None:
    """Raise ValueError if a method or metric would be imported: a third-party file must not run code."""
    if isinstance(text, str) and names_an_import(text):
        option = f"--{kind.removesuffix('s')} mine=module:Class"
        raise ValueError(
            f"{kind} of a paper's file must be names that nearlabel knows, got {text!r}. Hint: give it a name in the"
            f" file, such as mine, and, if you trust the code, add {option} to the command, in Python"
            f" Paper(..., {kind}={{'mine': ...}})."
        )


def load_named(data: Mapping[str, Mapping[str, Any]], name: str, subset: str = "all") -> Dataset:
    """Load a data set from the section ``data`` of a paper, "multidigits", or a data set of the catalogue.

    `subset` is "all", "train" or "test".
    """
    if name not in data:
        return load_multidigits() if (name, subset) == ("multidigits", "all") else fetch_dataset(name, subset)
    entry = dict(data[name])
    files = {"all": entry.pop("file", None), "train": entry.pop("train", None), "test": entry.pop("test", None)}
    if files[subset] is None:
        wanted = "file" if subset == "all" else subset
        raise ValueError(f"[data.{name}] must have the key {wanted}, got {', '.join(data[name])}.")
    return load_dataset(files[subset], **entry)


def _check_paper(path: Path, facts: Mapping[str, Any]) -> None:
    """Raise ValueError unless the sections have their keys and refer to existing names."""
    _check_keys(path, "the file", facts, *_TOP)
    for kind, (required, optional) in _KEYS.items():
        for where, section in _sections(path, facts, kind):
            _check_keys(path, where, section, required, optional)
    for where, experiment in _sections(path, facts, "experiments"):
        protocol = experiment.get("protocol", "methods")
        _check_known(path, f"{where} protocol", [protocol], PROTOCOLS)
        settings = tuple(field.name for field in fields(PROTOCOLS[protocol]))
        _check_keys(path, where, experiment, ("methods",), (*settings, *NOT_OF_THE_PLAN))
        _check_keys(path, f"{where} quick", experiment.get("quick", {}), (), (*settings, *NOT_OF_THE_PLAN))
    for name in (facts["name"], *facts["experiments"]):  # they become names of folders
        if not isinstance(name, str) or not re.fullmatch(r"\w[\w.-]*", name):
            raise ValueError(f"{path}: names must consist of letters, digits, '.', '-' and '_', got {name!r}.")
    for where, cube in _sections(path, facts, "cubes"):
        _check_cube(path, where, cube)
    for where, pairs in _sections(path, facts, "pairs"):
        _check_pairs(path, where, pairs)
    _check_references(path, facts)


def _check_cube(path: Path, where: str, cube: Mapping[str, Any]) -> None:
    """Raise ValueError unless a cube has three probabilities, and label sets of three labels."""
    p, labelsets = cube["probabilities"], cube["labelsets"]
    if len(p) != 3 or not all(type(one) in (int, float) and 0 <= one <= 1 for one in p):
        raise ValueError(f"{path}: {where} probabilities must be three numbers in [0, 1], got {p!r}.")
    for labelset in labelsets:
        if not isinstance(labelset, list) or len(labelset) != 3 or not all(label in (0, 1) for label in labelset):
            raise ValueError(f"{path}: {where} labelsets must be lists of three labels, 0 or 1, got {labelset!r}.")
    if not labelsets:
        raise ValueError(f"{path}: {where} labelsets must contain at least one, got none.")


def _check_pairs(path: Path, where: str, pairs: Mapping[str, Any]) -> None:
    """Raise ValueError unless an even number of samples is drawn with a seed, and the row is in their second half."""
    for key in ("n_samples", "seed", "row"):
        if type(pairs[key]) is not int or not 0 <= pairs[key] < 2**32:
            raise ValueError(f"{path}: {where} {key} must be an integer from 0 to 2**32 - 1, got {pairs[key]!r}.")
    if pairs["n_samples"] % 2 or pairs["row"] >= pairs["n_samples"] // 2:
        raise ValueError(
            f"{path}: {where} n_samples must be even, and row below half of it, got {pairs['n_samples']} and"
            f" {pairs['row']}."
        )


def _check_references(path: Path, facts: Mapping[str, Any]) -> None:
    """Raise ValueError unless tables, orders, figures and rankings name experiments and tables of the file."""
    experiments, tables = facts["experiments"], facts.get("tables", {})
    for where, table in _sections(path, facts, "tables"):
        if "statistics" not in table:
            _check_known(path, f"{where} experiments", table.get("experiments"), experiments)
        _check_rows(path, where, table, [experiments[name] for name in table.get("experiments", ())])
        _check_wins(path, where, table)
    for where, order in _sections(path, facts, "orders"):
        _check_known(path, f"{where} tables", order["tables"], tables)
    for where, figure in _sections(path, facts, "figures"):
        _check_known(path, f"{where} experiment", [figure["experiment"]], experiments)
    for where, ranking in _sections(path, facts, "rankings"):
        _check_known(path, f"{where} experiments", ranking["experiments"], experiments)


def _check_rows(path: Path, where: str, table: Mapping[str, Any], experiments: Iterable[Mapping[str, Any]]) -> None:
    """Raise ValueError unless each printed row has its columns, and the method of an experiment."""
    columns: tuple[str, ...] = ("data set", "method", "n_neighbors", "metric", "value")
    lengths = [5, 6]  # without or with a standard deviation
    if "statistics" in table:
        columns, lengths = ("data set", "statistic or [labels]", "value"), [3]
    methods = sorted({method for experiment in experiments for method in experiment["methods"]})
    for number, row in enumerate(table["printed"]):
        if not isinstance(row, list) or len(row) not in lengths or isinstance(row[len(columns) - 1], str):
            raise ValueError(f"{path}: {where} printed[{number}] must be [{', '.join(columns)}], got {row!r}.")
        if "statistics" not in table:
            _check_known(path, f"{where} printed[{number}], the method,", [row[1]], methods)
        elif not _is_list_of_names([row[1]]) and not _is_list_of_names(row[1]):
            raise ValueError(f"{path}: {where} printed[{number}] must be [{', '.join(columns)}], got {row!r}.")


def _check_wins(path: Path, where: str, table: Mapping[str, Any]) -> None:
    """Raise ValueError unless each row counts wins among printed values."""
    columns = ("data set", "method", "n_neighbors", "wins", "better than base")
    printed = [row[:3] for row in table["printed"]]
    for number, row in enumerate(table.get("wins", ())):
        if not isinstance(row, list) or len(row) not in (4, 5) or not all(isinstance(n, int) for n in row[3:]):
            raise ValueError(f"{path}: {where} wins[{number}] must be [{', '.join(columns)}], got {row!r}.")
        rivals = [[row[0], table.get("base"), row[2]]] if len(row) > 4 else []
        for who in (row[:3], *rivals):
            if who not in printed:
                raise ValueError(f"{path}: {where} wins[{number}] must be of printed values, got none of {who!r}.")


def _sections(path: Path, facts: Mapping[str, Any], kind: str) -> list[tuple[str, Mapping[str, Any]]]:
    """Return the sections of a kind with their headings."""
    sections = facts.get(kind, {})
    if not isinstance(sections, dict) or not all(isinstance(section, dict) for section in sections.values()):
        raise ValueError(f"{path}: {kind} must be sections [{kind}.NAME], got {sections!r}.")
    return [(f"[{kind}.{name}]", section) for name, section in sections.items()]


def _check_keys(
    path: Path, where: str, section: Mapping[str, Any], required: tuple[str, ...], optional: tuple[str, ...]
) -> None:
    if not isinstance(section, dict):
        raise ValueError(f"{path}: {where} must be a table of keys and values, got {section!r}.")
    missing = [key for key in required if key not in section]
    if missing:
        raise ValueError(f"{path}: {where} must have the keys {', '.join(required)}, got none of {', '.join(missing)}.")
    _check_known(path, f"the keys of {where}", list(section), (*required, *optional))
    for key in _LISTS:
        if key in section and not isinstance(section[key], list):
            raise ValueError(f"{path}: {where} {key} must be a list, got {section[key]!r}.")
    for key in _TABLES:
        lists = section.get(key, {})
        if not isinstance(lists, dict) or not all(map(_is_list_of_names, lists.values())):
            raise ValueError(f"{path}: {where} {key} must be a table of lists of names, got {lists!r}.")


def _is_list_of_names(names: object) -> bool:
    return isinstance(names, list) and all(isinstance(name, str) for name in names)


def _check_known(path: Path, what: str, names: object, known: Iterable[str]) -> None:
    """Raise ValueError unless names are a list of known names."""
    unknown = [name for name in names if name not in known] if isinstance(names, list) else names
    if unknown or not isinstance(names, list):
        raise ValueError(f"{path}: {what} must be of {', '.join(known) or 'none'}, got {unknown!r}.")
