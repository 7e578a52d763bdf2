"""Labels as other tools write them: damaged tables, damaged cells, and label sets that are drawn, written and read."""

from __future__ import annotations

import csv
import io
import json
import random
import unicodedata
import warnings
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

from fuzz import grammar
from fuzz import text_corpus as corpus
from fuzz.grammar import beside
from fuzz.mutation import JSON_LINES, TEXT, words
from fuzz.oracles import check, check_dataset, check_same, check_written
from fuzz.target import Target
from fuzz.text_targets import one_file
from nearlabel.datasets import Dataset, from_frame, read_table
from nearlabel.datasets._written_tags import Notation, changed_tags
from nearlabel.datasets.tables import copy_with_labels

MARKS = words(
    *(b'"[""a"", ""b""]"', b"['a' 'b']", b"{'a', 'b'}", b"set()", b"c(a)", b"{a,b}", b"{}", b"[]", b"[a]", b"<a><b>"),
    *(b"__label__a __label__b", b"- a", b"[0 1 1]", b"[True False]", b"011", b"0,1", b"array([1, 0], dtype=int8)"),
    *(
        b"np.str_('a')",
        b"np.int64(1)",
        b"a|b",
        b"a#b",
        b"a::b",
        b"a/b",
        b"a b",
        b'"a",b',
        b"...",
        b"nan",
        b"None",
        b"<NA>",
    ),
    *(b'{"a": true}', b'{"a": null}', b'{"a": 0.5}', b'[{"name": "a"}]', b'{"choices": ["a"]}', b"ja", b"nein", b"x"),
)
CELL = (*TEXT, *(MARKS,) * 8)
NOTATIONS = (Notation(), Notation("|", "name", 0.5, "case", "[{"), Notation(",", None, None, "none", "{"))


# Damaged tables and cells.


def _tables(name: str, *options: dict[str, Any]) -> Callable[[Path], None]:
    """Return a reading of a table by one of some options, which its content chooses."""

    def read(folder: Path) -> None:
        content = (folder / name).read_bytes()
        chosen = options[sum(content[-64:]) % len(options)]
        if "labels_file" in chosen:
            chosen = chosen | {"labels_file": folder / chosen["labels_file"]}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            data = read_table(folder / name, **chosen)
            check_same(data, read_table(folder / name, **chosen), "labels: read twice")
        check_dataset(data)
        check(all(tag.strip() for tag in data.label_names), "labels: a blank one")
        check_written(data, folder)

    return read


def _cell(folder: Path) -> None:
    cell = (folder / "cell").read_bytes().decode("utf-8", "replace")
    for notation in NOTATIONS:
        with suppress(ValueError):
            said = notation.said(cell)
            check(said == notation.said(cell), "cell: said otherwise")
            check(all(tag == notation.plain(tag) != "" for tag, _ in said), "cell: a tag with blanks around it")
            parts = notation.joined(cell)
            expected = [(tag, True) for part in parts or () if (tag := notation.plain(part))]
            check(parts is None or said == expected, "cell: joined tags are others")
            _check_changed(cell, {tag: applies for tag, applies in said}, notation)  # noqa: C416  # the last one counts


def _check_changed(cell: str, answers: dict[str, bool | None], notation: Notation) -> None:
    """Check that a cell without one of its tags, and with another, is that cell."""
    removed = next((tag for tag, applies in answers.items() if applies), None)
    changes = {"another": True} | ({} if removed is None else {removed: False})
    try:
        new = changed_tags(cell, changes, notation)
    except ValueError:
        return
    carried = {tag for tag, applies in notation.said(new) if applies}
    check(carried == {tag for tag, applies in answers.items() if applies} - {removed} | {"another"}, "cell: changed")


# Label sets that are drawn, written in a notation, and read again.

LETTERS = "abcXYZ019 _-.!é\u0301ß中🎸\"'\\,;|#:/()[]{}<>=&+\n\t"
_ANSWERS = ("0", "1", "2", "-1", "yes", "no", "true", "false", "nan", "none", "null", "na", "n/a")


def _names(rng: random.Random, without: str, n: int) -> list[str]:
    """Draw tags that a notation can write."""
    letters = [letter for letter in LETTERS if letter not in without]
    names: dict[str, None] = {}
    while len(names) < n:
        name = unicodedata.normalize("NFC", "".join(rng.choices(letters, k=rng.randint(1, 8))).strip())
        if name and name.lower() not in _ANSWERS and name.strip(".-+ 0123456789eE"):
            names[name] = None
    return list(names)


def _quoted(tag: str) -> str:
    return '"' + tag.replace('"', '""') + '"'


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


# By name: how tags, of all, are written; the letters that none of them has; the options.
TEXTS: dict[str, tuple[Callable[[list[str], list[str]], str], str, dict[str, Any]]] = {
    "semicolons": (lambda tags, _: "; ".join(tags), ";\"'[](){}<>\n-", {"labels_separator": ";"}),
    "bars": (lambda tags, _: "|".join(tags), "|\"'[](){}<>\n-", {"labels_separator": "|"}),
    "quotes": (lambda tags, _: ",".join(map(_quoted, tags)), "", {"labels_separator": ","}),
    "json": (lambda tags, _: _json(tags), "", {}),
    "python": (lambda tags, _: repr(tags), "", {}),
    "tuple": (lambda tags, _: repr(tuple(tags)), "", {}),
    "set": (lambda tags, _: repr(set(tags)), "", {}),
    "frozenset": (lambda tags, _: repr(frozenset(tags)), "", {}),
    "numpy": (lambda tags, _: str(np.array(tags, dtype=object)), "", {}),
    "array": (lambda tags, _: repr(np.array(tags, dtype=object)), "", {}),
    "numpy 2": (lambda tags, _: f"[{', '.join(f'np.str_({tag!r})' for tag in tags)}]", "", {}),
    "r": (lambda tags, _: f"c({', '.join(map(_json, tags))})" if tags else "character(0)", "", {}),
    "postgres": (lambda tags, _: f"{{{','.join(map(_json, tags))}}}", "", {}),
    "bullets": (lambda tags, _: "\n".join(f"- {tag}" for tag in tags), "\n", {}),
    "angles": (lambda tags, _: "".join(f"<{tag}>" for tag in tags), "<>", {}),
    "fasttext": (lambda tags, _: " ".join(f"__label__{tag}" for tag in tags), " \n\t", {}),
    "answers": (lambda tags, every: _json({tag: tag in tags for tag in every}), "", {}),
    "python answers": (lambda tags, every: repr({tag: float(tag in tags) for tag in every}), "", {}),
    "scores": (
        lambda tags, every: _json({tag: 0.4 + 0.3 * (tag in tags) for tag in every}),
        "",
        {"label_threshold": 0.5},
    ),
    "choices": (lambda tags, _: _json({"choices": tags}), "", {}),
    "objects": (lambda tags, _: _json([{"id": 7, "title": tag} for tag in tags]), "", {"label_key": "title"}),
}
_OF_ALL = ("answers", "python answers", "scores")
_UNCHANGED = ("scores", "semicolons", "bars")  # another notation, or separators may be in a tag

# The same as values of JSON, Parquet and data frames.
VALUES: dict[str, Callable[[list[str], list[str]], Any]] = {
    "list": lambda tags, _: tags,
    "answers": lambda tags, every: {tag: tag in tags for tag in every},
    "choices": lambda tags, _: {"choices": tags},
    "objects": lambda tags, _: [{"name": tag} for tag in tags],
}
OBJECTS: dict[str, Callable[[list[str], list[str]], Any]] = {
    **VALUES,
    "set": lambda tags, _: set(tags),
    "frozenset": lambda tags, _: frozenset(tags),
    "tuple": lambda tags, _: tuple(tags),
    "array": lambda tags, _: np.array(tags, dtype=object),
    "strings": lambda tags, _: [np.str_(tag) for tag in tags],
    "keys": lambda tags, _: dict.fromkeys(tags).keys(),
}


def _drawn(folder: Path) -> None:
    rng = random.Random((folder / "seed").read_bytes())
    kind = rng.choice(("csv", "jsonl", "parquet", "frame", "texts in jsonl", "indicators", "codes", "long", "wide"))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        {"indicators": _indicators, "codes": _codes, "long": _long, "wide": _wide}.get(kind, _tags)(folder, rng, kind)


def _marks(rng: random.Random, n_tags: int) -> Any:
    """Draw label sets (n_rows, n_tags); each label has a row."""
    marks = np.array([[rng.random() < 0.4 for _ in range(n_tags)] for _ in range(rng.randint(2, 8))])
    for tag in range(n_tags):
        marks[rng.randrange(len(marks)), tag] = True
    return marks


def _tags(folder: Path, rng: random.Random, kind: str) -> None:
    """Tags in one column, in every notation and source; then some corrections."""
    write, without, options = TEXTS[rng.choice(list(TEXTS))], "", {}
    if kind in ("csv", "texts in jsonl"):
        name = rng.choice(list(TEXTS))
        write, without, options = TEXTS[name]
    else:
        name = rng.choice(list(OBJECTS if kind == "frame" else VALUES))
        write = (OBJECTS if kind == "frame" else VALUES)[name]
    every = _names(rng, without, rng.randint(1, 5))
    marks = _marks(rng, len(every))
    if not marks.any():
        return
    cells = [write([tag for tag, mark in zip(every, row, strict=True) if mark], every) for row in marks]
    options = {"labels_column": "tags", "labels_separator": ";", **options}  # a corrected cell may change a guess
    source = _written(folder, kind, {"x": list(range(len(cells))), "tags": cells})
    _check_read(source, every, marks.astype(float), options)
    if kind == "frame" or name in _UNCHANGED:
        return
    row, label = rng.randrange(len(marks)), rng.randrange(len(every))
    marks[row, label] = not marks[row, label]
    out = folder / f"out{Path(source).suffix}"
    try:
        copy_with_labels(source, out, [(row, every[label], float(marks[row, label]))], options)
    except ValueError as error:  # an empty cell, of which nothing says how another tag is written
        check("must take corrections" in str(error) and marks[row].sum() <= 1, f"drawn: not corrected: {error}")
        return
    kept = marks.any(axis=0) | (name in _OF_ALL)
    if kept.any():
        _check_read(out, [tag for tag, is_kept in zip(every, kept, strict=True) if is_kept], marks[:, kept], options)


def _check_read(source: Any, names: Sequence[str], marks: Any, options: dict[str, Any]) -> None:
    """Check that the labels of a source are these."""
    try:
        data: Dataset = read_table(source, **options) if isinstance(source, Path) else from_frame(source, **options)
    except ValueError as error:
        raise AssertionError(f"a valid table is refused: {error}") from error
    check_dataset(data)
    order = sorted(range(len(names)), key=lambda at: names[at]) if "labels_column" in options else range(len(names))
    check(list(data.label_names) == [names[at] for at in order], f"drawn: labels {data.label_names}, not {names}")
    found = np.asarray(data.Y, dtype=float)
    check(
        np.array_equal(found, marks[:, list(order)], equal_nan=True), f"drawn: {found.tolist()}, not {marks.tolist()}"
    )


def _written(folder: Path, kind: str, columns: dict[str, list[Any]]) -> Any:
    """Write a table; return its path, or a data frame."""
    if kind == "frame":
        import pandas as pd

        return pd.DataFrame({name: pd.Series(cells, dtype=object) for name, cells in columns.items()})
    if kind == "parquet":
        import pyarrow as pa
        from pyarrow import parquet

        parquet.write_table(pa.table(columns), folder / "in.parquet")
        return folder / "in.parquet"
    rows = list(zip(*columns.values(), strict=True))
    if kind == "csv":
        text = io.StringIO()
        csv.writer(text, lineterminator="\n").writerows([list(columns), *rows])
        (folder / "in.csv").write_text(text.getvalue(), encoding="utf-8", newline="")
        return folder / "in.csv"
    lines = [_json(dict(zip(columns, row, strict=True))) + "\n" for row in rows]
    (folder / "in.jsonl").write_text("".join(lines), encoding="utf-8", newline="")
    return folder / "in.jsonl"


_INDICATORS: tuple[Callable[[Any], Any], ...] = (
    str,
    repr,
    lambda row: str(row.astype(float)),
    lambda row: str(row.astype(bool)),
    lambda row: _json(row.tolist()),
    lambda row: str(list(row)),
    lambda row: "".join(map(str, row)),
    lambda row: ",".join(map(str, row)),
    lambda row: " ".join(map(str, row)),
    lambda row: _json(row.astype(bool).tolist()),
)


def _indicators(folder: Path, rng: random.Random, _: str) -> None:
    """Lists of 0 and 1, as values and as texts."""
    marks = _marks(rng, rng.randint(3, 70)).astype(int)
    marks[0, 0] = 0  # digits begin with it
    source = rng.choice(("csv", "jsonl", "parquet", "frame"))
    if source == "csv" or rng.random() < 0.5:
        write = rng.choice(_INDICATORS)
        cells = [write(row) for row in marks]
    else:
        of_type = rng.choice((int, bool, float))
        cells = [[of_type(mark) for mark in row] for row in marks.tolist()]
    names = [str(place) for place in range(marks.shape[1])]
    options = {"labels_column": "y", "label_names": names} if rng.random() < 0.5 else {"labels_column": "y"}
    table = _written(folder, source, {"x": list(range(len(cells))), "y": cells})
    data = read_table(table, **options) if isinstance(table, Path) else from_frame(table, **options)
    check(list(data.label_names) == names, f"indicators: labels {data.label_names}")
    check(np.array_equal(data.Y, marks), "indicators: other labels")
    if isinstance(table, Path):
        row, place = rng.randrange(len(marks)), rng.randrange(1, len(names))
        marks[row, place] = 1 - marks[row, place]
        out = folder / f"out{table.suffix}"
        options["label_names"] = names
        copy_with_labels(table, out, [(row, str(place), float(marks[row, place]))], options)
        check(np.array_equal(read_table(out, **options).Y, marks), "indicators: other labels after a correction")


_CODES = (
    *(("nein", "ja"), ("N", "Y"), ("-1", "1"), ("1", "2"), ("", "x"), ("0", "1"), ("off", "on"), ("False", "True")),
    *(("-", "+"), ("a b", "c,d"), ("NO", "YES"), ("0.5", "7")),
)


def _codes(folder: Path, rng: random.Random, _: str) -> None:
    """Two codes, and perhaps a third one for unknown labels."""
    no, yes = rng.choice(_CODES)
    marks = _marks(rng, rng.randint(1, 4)).astype(float)
    marks[0, 0], marks[1, 0] = 0.0, 1.0
    options: dict[str, Any] = {"labels": [f"l{at}" for at in range(marks.shape[1])], "negative": no, "positive": yes}
    if rng.random() < 0.5:
        marks[marks.shape[0] - 1, -1] = np.nan
        options["unknown"] = "n/k"
    text_of = {0.0: no, 1.0: yes}
    columns = {
        name: [text_of.get(mark, "n/k") for mark in marks[:, at].tolist()] for at, name in enumerate(options["labels"])
    }
    source = rng.choice(("csv", "jsonl", "frame"))
    table = _written(folder, source, {"x": list(range(len(marks))), **columns})
    _check_read(table, options["labels"], marks, options)
    if source != "frame":
        row, label = rng.randrange(len(marks)), rng.randrange(marks.shape[1])
        marks[row, label] = float(marks[row, label] != 1)
        copy_with_labels(table, folder / f"out{table.suffix}", [(row, f"l{label}", marks[row, label])], options)
        _check_read(folder / f"out{table.suffix}", options["labels"], marks, options)


def _long(folder: Path, rng: random.Random, _: str) -> None:
    """A row for each tag, in any order; or the tags in a file of their own."""
    every = _names(rng, ";\"'[](){}<>\n-|,#:/&+~^", rng.randint(2, 4))
    marks = _marks(rng, len(every))
    rows = [(at, tag) for at, row in enumerate(marks) for tag in ([*np.array(every)[row].tolist()] or [None])]
    rng.shuffle(rows)
    order = list(dict.fromkeys(at for at, _ in rows))
    options: dict[str, Any] = {"labels_column": "tag", "join_by": "id", "labels_separator": ";"}
    ids = [f"i {at}" if rng.random() < 0.5 else str(at) for at in range(len(marks))]
    source = rng.choice(("csv", "jsonl"))
    columns = {"id": [ids[at] for at, _ in rows], "tag": [tag for _, tag in rows]}
    if rng.random() < 0.5:
        (folder / "labels").mkdir()
        options["labels_file"] = _written(folder / "labels", source, columns)
        order = list(range(len(marks)))
        table = _written(folder, "csv", {"id": ids, "x": order})
    else:
        table = _written(folder, source, columns | {"x": [at / 7 for at, _ in rows]})
    _check_read(table, every, marks[order].astype(float), options)


def _wide(folder: Path, rng: random.Random, _: str) -> None:
    """Several columns of tags."""
    every = _names(rng, ";\"'[](){}<>\n-|,#:/&+~^", rng.randint(2, 4))
    marks = _marks(rng, len(every))
    columns: dict[str, list[Any]] = {f"tag{at}": [] for at in range(len(every))}
    for row in marks:
        tags = np.array(every)[row].tolist()
        for column in columns.values():
            column.append(tags.pop() if tags else None)
    options = {"labels_column": rng.choice(("tag*", list(columns))), "labels_separator": ";"}
    table = _written(folder, rng.choice(("csv", "jsonl", "frame")), {"x": list(range(len(marks))), **columns})
    _check_read(table, every, marks.astype(float), options)


# Data frames of any objects.


def _object(rng: random.Random, depth: int = 0) -> Any:
    """Draw an object."""
    simple: list[Any] = [
        None,
        True,
        0,
        1,
        -1,
        2**53,
        2**70,
        0.5,
        1.0,
        float("nan"),
        float("inf"),
        "a",
        "b;c",
        "",
        "[a]",
        b"a",
    ]
    simple += [
        np.int8(1),
        np.float32(0),
        np.str_("a"),
        np.bool_(True),
        1j,
        object,
        "\ud800",
        np.datetime64("2020-01-01"),
    ]
    if depth > 2 or rng.random() < 0.5:
        return rng.choice(simple)
    some = [_object(rng, depth + 1) for _ in range(rng.randint(0, 3))]
    texts = [one for one in some if isinstance(one, str | int)]
    kinds = (list, tuple, lambda of: np.array(of, dtype=object), lambda of: dict(zip("abc", of, strict=False)))
    return rng.choice((*(kind(some) for kind in kinds), set(texts), frozenset(texts), dict.fromkeys(texts, True)))


def _frame(folder: Path) -> None:
    rng = random.Random((folder / "seed").read_bytes())
    import pandas as pd

    alike = rng.random() < 0.6
    first = _object(rng)
    cells = [_object(rng) for _ in range(rng.randint(0, 6))]
    if alike:
        cells = [cell for cell in cells if type(cell) is type(first)] + [first] * 2
    frame = pd.DataFrame({"x": range(len(cells)), "t": pd.Series(cells, dtype=object)})
    options = rng.choice((
        {"labels_column": "t"}, {"labels": ["t"]}, {"labels_column": ["t"], "unlabelled": {"x": "1"}},
        {"labels_column": "t", "label_key": "a", "label_threshold": 0.5},
        {"labels": ["t"], "negative": "0", "positive": "1"}, {"labels_column": "t", "join_by": "x", "unknown": "a"},
    ))  # fmt: skip
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            check_dataset(from_frame(frame, name="the frame", **options))
        except (TypeError, ValueError) as error:
            named = ("the frame", "negative", "label")
            check(any(name in str(error) for name in named), f"frame: {type(error).__name__}: {error}")


SEEDS = lambda: [{"seed": bytes([number])} for number in range(50)]  # noqa: E731

TARGETS = (
    Target(
        "tags-csv",
        one_file("in.csv", *corpus.NOTATIONS),
        _tables(
            "in.csv",
            {"labels_column": "tags"},
            {"labels_column": "tags", "unknown": "?", "normalise": "case"},
            {"labels_column": "tags", "label_threshold": 0.5, "label_key": "name"},
            {"labels_column": "tags", "labels_separator": "|", "normalise": "none"},
        ),
        CELL,
        is_valid=False,
    ),
    Target(
        "tags-json",
        one_file("in.jsonl", *corpus.STRUCTURES),
        _tables(
            "in.jsonl",
            {"labels_column": "t"},
            {"labels_column": "t", "label_threshold": 0.5, "label_key": "name"},
            {"labels_column": "t", "unknown": "-1"},
        ),
        beside((*JSON_LINES, *(MARKS,) * 4), grammar.JSON_TAGS),
        is_valid=False,
    ),
    Target(
        "tags-wide",
        one_file("in.csv", corpus.WIDE),
        _tables("in.csv", {"labels_column": "tag*", "join_by": "id"}),
        CELL,
    ),
    Target(
        "label-codes",
        one_file("in.csv", corpus.CODES),
        _tables("in.csv", {"labels_prefix": "l_"}, {"labels_prefix": "l_", "negative": "nein", "positive": "ja"}),
        CELL,
    ),
    Target(
        "label-rows",
        lambda: [{"in.csv": corpus.LONG, "tags.jsonl": corpus.TAGS_BY_ID}],
        _tables(
            "in.csv",
            {"labels_column": "tag", "join_by": "id", "unlabelled": {"state": "todo"}},
            {"labels_column": "tags", "join_by": "id", "labels_file": "tags.jsonl", "ignore": ["tag", "state"]},
        ),
        is_valid=False,
    ),
    Target(
        "tag-cells", lambda: [{"cell": cell} for cell in corpus.CELLS_OF_TAGS], _cell, CELL, names_file=False
    ),
    Target("drawn-labels", SEEDS, _drawn, names_file=False),
    Target("drawn-objects", SEEDS, _frame, names_file=False, needs=("pandas",)),
)  # fmt: skip
