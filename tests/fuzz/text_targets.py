"""Readers of text: ARFF in its dialects, svmlight, CSV, JSON lines, SGML; corrections, results, ids, papers, names."""

from __future__ import annotations

import bz2
import gzip
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from fuzz import grammar
from fuzz import text_corpus as corpus
from fuzz.grammar import beside
from fuzz.mutation import BZIP2, GZIP, JSON, JSON_LINES, TEXT, XML, Files, words
from fuzz.oracles import (
    check,
    check_arff,
    check_arff_blanks,
    check_cells,
    check_csv,
    check_dataset,
    check_json_lines,
    check_rows,
    check_svmlight,
    check_written,
    same_matrix,
)
from fuzz.target import Target
from nearlabel.audit import read_corrections
from nearlabel.cli import _forget
from nearlabel.comparison import read_results
from nearlabel.datasets import (
    load_dataset,
    open_rows,
    read_meka,
    read_mulan,
    read_reuters,
    read_svmlight,
    read_table,
)
from nearlabel.datasets.tables import copy_with_labels, suffix_of_content
from nearlabel.papers import Paper

HEADER = words(
    *(
        b"@relation ",
        b"@attribute ",
        b"@data\n",
        b"-C 1 ",
        b"-C -1",
        b"-C 99999999999",
        b"numeric",
        b"string",
        b"{0,1}",
    ),
    *(b" ", b"\t", b", {2}", b"yyyy", b"'d MMM yyyy HH:mm'", b"'?'", b"@end bag\n"),
    *(b"date 'yyyy-MM-dd'", b"relational", b"@end ", b"{", b"}", b"{0 1,0 2}", b"{1 1, 0 1}", b"'", b"?", b"%", b"{3}"),
)
ARFF = beside((*TEXT, *(HEADER,) * 4), grammar.ARFF)
PAIRS = words(
    *(b"999999999:1", b"0:", b":1", b"qid:1 ", b"#", b"0,0", b",", b"-1:2", b"1:1 1:2", b"0:0 ", b"1.0"),
    *(b"3 3 3\n", b"3 5\n", b"\n\n", b"0:1,1:1 ", b" , ", b"0 0 0\n", b"1 2000000000 3\n", b"999999999"),
)
SVM = beside((*TEXT, PAIRS, PAIRS), grammar.SVMLIGHT)
MATRICES = beside((*TEXT, PAIRS, PAIRS), grammar.PAIRED)
TAGS = words(
    *(b"<!DOCTYPE lewis>\n", b"<REUTERS ", b"\n</REUTERS>\n", b'="'),
    *b'TOPICS="YES" TOPICS="NO" LEWISSPLIT="TRAIN" LEWISSPLIT="TEST" <TOPICS> </TOPICS> <D> </D> <D>tea</D>'.split(),
    *b"<TEXT> <TEXT </TEXT> <TITLE> </TITLE> <BODY> </BODY> &lt; &#999999; &# &amp;lt;".split(),
)
REUTERS = beside((*XML, TAGS, TAGS), grammar.REUTERS)
CSV, LINES = beside(TEXT, grammar.CSV), beside(JSON_LINES, grammar.JSON_LINES)


def one_file(name: str, *contents: bytes) -> Callable[[], list[Files]]:
    """Return a corpus of inputs of one file."""
    return lambda: [{name: content} for content in contents]


def _meka(folder: Path, name: str = "in.arff", **options: Any) -> None:
    data = read_meka(folder / name, **options)
    check_dataset(data)
    check_written(data, folder)


def _meka_cells(folder: Path) -> None:
    path = folder / "in.arff"
    data = read_meka(path, ignore=["bag"] if b"bag" in path.read_bytes() else [])
    check_dataset(data)
    check(data.sample_weight is None or (data.sample_weight >= 0).all(), "weights: from 0")
    if data.X.dtype == object:
        check_cells(data)
        check_rows(path, data, feature_kinds=data.feature_kinds)


def _meka_ignoring(folder: Path) -> None:
    path = folder / "in.arff"
    content = path.read_bytes()
    names = [name for name in ("note", "when", "born", "bag") if f"@attribute {name} ".encode() in content]
    data = read_meka(path, ignore=[*names, "sample_weight"])
    check_dataset(data)
    check(data.sample_weight is None, "weights: they are ignored")


def _meka_blanks(folder: Path) -> None:
    data = read_meka(folder / "in.arff")
    check_dataset(data)
    header = (folder / "in.arff").read_bytes().partition(b"@data")[0]
    if b"-C 2'" in header and header.count(b"-C") == 1:
        check_arff_blanks(folder / "in.arff", data, n_labels=2)


def _meka_dense(folder: Path) -> None:
    data = read_meka(folder / "in.arff")
    check_dataset(data)
    header = (folder / "in.arff").read_bytes().partition(b"@data")[0]
    if b"-C 2'" in header and header.count(b"-C") == 1:
        check_arff(folder / "in.arff", data, n_labels=2)
    check_written(data, folder)


def _mulan(folder: Path) -> None:
    data = read_mulan(folder / "in.arff", folder / "in.xml")
    check_dataset(data)
    found = load_dataset(folder / "in.arff")
    check(found.label_names == data.label_names, "load_dataset: other labels than read_mulan")


def _arff_rows(folder: Path) -> None:
    path = folder / "in.arff"
    for block in open_rows(path, ["x", "y"], block_rows=2):
        check(block.X.shape[1] == 2, "open_rows: width")
    data = read_meka(path)
    if data.feature_names == ("x", "y"):
        check_rows(path, data)


def _svmlight(folder: Path) -> None:
    data = read_svmlight(folder / "in.svm")
    check_dataset(data)
    check_svmlight(folder / "in.svm", data, 0, 0)
    check_written(data, folder)


def _matrices(folder: Path) -> None:
    path, beside = folder / "a_X_Xf.txt", folder / "a_X_Y.txt"
    data = load_dataset(path)
    check_dataset(data)
    if beside.is_file() and re.fullmatch(rb"\s*\d+ +\d+\s*", path.read_bytes().partition(b"\n")[0]) and data.Y.nnz:
        pairs = re.findall(rb"\d+:\S+", re.sub(rb"#[^\n]*|qid:\d+", b"", beside.read_bytes()))
        lines = path.read_bytes().split(b"\n")[1:]
        own = any(b":" not in token for line in lines for token in line.partition(b"#")[0].split())
        check(own or len(pairs) == data.Y.nnz, f"matrices: {data.Y.nnz} labels of {len(pairs)}")
    check_rows(path, data)


def _svmlight_auto(folder: Path) -> None:
    path = folder / "in.svm"
    data, plain = read_svmlight(path, zero_based="auto", labels_zero_based="auto"), read_svmlight(path)
    check_dataset(data)
    check(data.X.nnz == plain.X.nnz and data.Y.nnz == plain.Y.nnz, "svmlight: another base has other values")


def _svmlight_rows(folder: Path) -> None:
    names = [str(number) for number in range(5)]
    blocks = list(open_rows(folder / "in.svm", names, block_rows=2))
    check(all(block.X.shape[1] == 5 for block in blocks), "open_rows: width")


def _reuters(folder: Path) -> None:
    data, training, test = (read_reuters(folder, part) for part in ("all", "train", "test"))
    check_dataset(data)
    check(same_matrix(np.vstack([training.X, test.X]), data.X), "reuters: all is other than its parts")
    check(all(isinstance(text, str) for row in data.X for text in row), "reuters: texts")
    check(data.Y.sum(axis=1).min() > 0, "reuters: an article without a topic")
    check(all(part.Y.sum(axis=0).min() > 0 for part in (training, test)), "reuters: a topic of one part only")
    found = [path.read_bytes().count(b"<REUTERS ") for path in folder.iterdir()]
    check(len(data.X) <= sum(found), "reuters: more articles than the files have")


def _csv(folder: Path, name: str = "in.csv", delimiter: str = ",") -> None:
    data = read_table(folder / name, labels_prefix="l_")
    check_dataset(data)
    first = (folder / name).read_bytes().partition(b"\n")[0]
    if delimiter.encode() in first:
        check_csv(folder / name, data, delimiter=delimiter, labels=data.label_names)
    check_rows(folder / name, data)
    check_written(data, folder)


def _bzip2_csv(folder: Path) -> None:
    data = read_table(folder / "in.csv.bz2", labels_prefix="l_")
    check_dataset(data)
    check_rows(folder / "in.csv.bz2", data)


def _csv_of_r(folder: Path) -> None:
    path = folder / "in.csv"
    data = read_table(path, labels_prefix="l_")
    check_dataset(data)
    check(len(data.feature_names) == len(set(data.feature_names)), "csv: a name twice")
    check_rows(path, data)


def _csv_tags(folder: Path) -> None:
    data = read_table(folder / "in.csv", labels_column="tags", ignore=["id"], unknown="?")
    check_dataset(data)
    check(all(name.strip() for name in data.label_names), "tags: a blank label")
    check_written(data, folder)


def _csv_mixed(folder: Path) -> None:
    kinds: dict[str, Any] = {"categorical": ["genre"], "text": ["about"], "dates": ["born"]}
    data = read_table(folder / "in.csv", labels_prefix="l_", **kinds)
    check_dataset(data)
    check_rows(folder / "in.csv", data, feature_kinds=data.feature_kinds)


def _csv_european(folder: Path) -> None:
    data = read_table(folder / "in.csv", labels_prefix="l_", decimal=",", unknown="?")
    check_dataset(data)
    check_rows(folder / "in.csv", data, decimal=",")


def _csv_ids(folder: Path) -> None:
    blocks = list(open_rows(folder / "in.csv", ["kg", "h"], id_column="id", block_rows=2))
    for block in blocks:
        check(block.ids is not None and len(block.ids) == block.X.shape[0], "open_rows: ids")


def _json_lines(folder: Path) -> None:
    path = folder / "in.jsonl"
    data = read_table(path, labels_prefix="l_")
    check_dataset(data)
    check_json_lines(path, data)
    check_rows(path, data)


def _json_array(folder: Path) -> None:
    path = folder / "in.json"
    data = read_table(path, labels_prefix="l_", ignore=["s"] if b'"s"' in path.read_bytes() else ())
    check_dataset(data)
    check_json_lines(path, data)
    check_rows(path, data)


def _json_lists(folder: Path) -> None:
    path = folder / "in.jsonl"
    data = read_table(path, labels_column="tags", ignore=["id"])
    check_dataset(data)
    check_rows(path, data, id_column="id")


def _json_tags(folder: Path) -> None:
    data = read_table(folder / "in.jsonl", labels_column="t")
    check_dataset(data)


def _content(folder: Path) -> None:
    suffix = suffix_of_content(folder / "data")
    check(suffix.startswith("."), "suffix_of_content: a suffix")


def _corrections(folder: Path) -> None:
    for one in read_corrections(folder / "in.csv"):
        check(one.correct in (0, 1, None) and one.given in (0, 1, None), "corrections: values")
        check(isinstance(one.row, int) and one.row >= 0, "corrections: a row")


def _export(name: str) -> Callable[[Path], None]:
    def read(folder: Path) -> None:
        by_id = (folder / name).read_bytes().count(b"row_id") % 2
        options: dict[str, Any] = {"id_column": "id", "ids": ["a", "b", "c"]} if by_id else {}
        for one in read_corrections(folder / name, y=np.zeros((3, 2)), label_names=["calm", "loud"], **options):
            check(one.correct in (0, 1) and one.label in ("calm", "loud"), "export: a value")
            check(one.id in ("a", "b", "c") if by_id else one.row in range(3), "export: a row")

    return read


def _fasttext(folder: Path) -> None:
    path = folder / "in.txt"
    data = load_dataset(path)
    check_dataset(data)
    lines = [line.split() for line in path.read_bytes().decode("utf-8-sig").split("\n")]
    if data.feature_names == ("text",):  # otherwise its first line makes it svmlight or a table
        check(len(data.X) == sum(map(bool, lines)), "fasttext: a row for each line that is not blank")
        check_rows(path, data, feature_kinds=data.feature_kinds)


def _corrected_copy(name: str) -> Callable[[Path], None]:
    def read(folder: Path) -> None:
        path, out = folder / name, folder / f"out{Path(name).suffix}"
        before = read_table(path, labels_prefix="l_")
        label = before.label_names[0]
        value = 1.0 - (before.Y[0, 0] == 1)
        copy_with_labels(path, out, [(0, label, value)], {"labels_prefix": "l_"})
        after = read_table(out, labels_prefix="l_")
        check(after.label_names == before.label_names, "copy: other labels")
        check(after.Y[0, 0] == value, "copy: the cell is not changed")
        check(after.Y.shape == before.Y.shape, "copy: other rows")
        before.Y[0, 0] = after.Y[0, 0]
        differ = (after.Y != before.Y) & ~((after.Y != after.Y) & (before.Y != before.Y))
        check(not differ.any(), "copy: other cells are changed")

    return read


def _results(name: str) -> Callable[[Path], None]:
    def read(folder: Path) -> None:
        for record in read_results(folder / name):
            check(record["value"] is None or abs(record["value"]) < float("inf"), "results: a finite value")
            check(isinstance(record["fold"], int) and record["fold"] >= 0, "results: a fold")

    return read


def _ids(folder: Path) -> None:
    ids = _forget._ids_in(str(folder / "ids.txt"))
    check(ids and all(isinstance(one, str) and one and "\n" not in one for one in ids), "ids: texts")


def _paper(folder: Path) -> None:
    paper = Paper(folder / "mine.toml")
    check(all(isinstance(name, str) for name in paper.tables), "paper: tables")
    check(isinstance(repr(paper), str), "paper: a text")


TARGETS = (
    Target("meka-dense", one_file("in.arff", corpus.MEKA_DENSE), _meka_dense, ARFF),
    Target("meka-sparse", one_file("in.arff", corpus.MEKA_SPARSE, corpus.MEKA_DENSE), _meka, ARFF),
    Target("meka-cells", one_file("in.arff", corpus.ARFF_CELLS, corpus.ARFF_SPARSE_CELLS), _meka_cells, ARFF),
    Target("meka-ignoring", one_file("in.arff", corpus.ARFF_CELLS, corpus.ARFF_SPARSE_CELLS), _meka_ignoring, ARFF),
    Target("meka-blanks", one_file("in.arff", corpus.ARFF_BLANKS), _meka_blanks, ARFF),
    Target("meka-nominal", one_file("in.arff", corpus.MEKA_NOMINAL), _meka, ARFF),
    Target(
        "meka-codes",
        one_file("in.arff", corpus.MEKA_NOMINAL, corpus.MEKA_SPARSE),
        lambda f: _meka(f, nominal="codes", unknown="-1"),
        ARFF,
    ),
    Target(
        "mulan",
        lambda: [{"in.arff": corpus.MULAN_ARFF, "in.xml": corpus.MULAN_XML}],
        _mulan,
        damaged={"in.arff": ARFF, "in.xml": beside(XML, grammar.XML)},
    ),
    Target(
        "meka-gzip",
        one_file("in.arff.gz", gzip.compress(corpus.MEKA_DENSE, 1, mtime=0)),
        lambda folder: _meka(folder, "in.arff.gz"),
        GZIP,
    ),
    Target("arff-rows", one_file("in.arff", corpus.MEKA_DENSE, corpus.MEKA_SPARSE), _arff_rows, ARFF),
    Target("svmlight", one_file("in.svm", corpus.SVMLIGHT, corpus.SVMLIGHT_DIMENSIONS), _svmlight, SVM),
    Target("svmlight-scores", one_file("in.svm", corpus.SVMLIGHT_SCORES), _svmlight, SVM),
    Target(
        "svmlight-matrices",
        lambda: [{"a_X_Xf.txt": corpus.FEATURES, "a_X_Y.txt": corpus.LABELS}],
        _matrices,
        MATRICES,
    ),
    Target("svmlight-auto", one_file("in.svm", corpus.SVMLIGHT_FROM_ONE, corpus.SVMLIGHT), _svmlight_auto, SVM),
    Target("svmlight-rows", one_file("in.svm", corpus.SVMLIGHT, corpus.SVMLIGHT_DIMENSIONS), _svmlight_rows, SVM),
    Target(
        "reuters",
        lambda: [{"reut2-000.sgm": corpus.REUTERS, "reut2-001.sgm": corpus.REUTERS_MORE}],
        _reuters,
        REUTERS,
    ),
    Target("csv", one_file("in.csv", corpus.CSV, corpus.CSV_QUOTED), _csv, CSV),
    Target("csv-of-r", one_file("in.csv", corpus.CSV_OF_R, corpus.CSV_WITH_ROW_NAMES), _csv_of_r, CSV),
    Target(
        "csv-tags", one_file("in.csv", corpus.CSV_TAGS, corpus.CSV_SEMICOLON), _csv_tags, beside(TEXT, grammar.TAGS)
    ),
    Target("csv-mixed", one_file("in.csv", corpus.CSV_MIXED), _csv_mixed, TEXT, needs=("pyarrow",)),
    Target("csv-european", one_file("in.csv", corpus.CSV_EUROPEAN), _csv_european, CSV),
    Target("csv-ids", one_file("in.csv", corpus.CSV_TAGS), _csv_ids, beside(TEXT, grammar.TAGS)),
    Target("csv-bzip2", one_file("in.csv.bz2", bz2.compress(corpus.CSV)), _bzip2_csv, BZIP2),
    Target(
        "tsv", one_file("in.tsv", corpus.TSV), lambda folder: _csv(folder, "in.tsv", "\t"), beside(TEXT, grammar.TSV)
    ),
    Target("json-lines", one_file("in.jsonl", corpus.JSON_LINES), _json_lines, LINES),
    Target(
        "json-array",
        one_file("in.json", corpus.JSON_ARRAY, corpus.JSON_PRETTY),
        _json_array,
        beside(JSON, grammar.JSON_ARRAY),
    ),
    Target("json-lists", one_file("in.jsonl", corpus.JSON_LISTS), _json_lists, beside(JSON_LINES, grammar.JSON_TAGS)),
    Target("json-tags", one_file("in.jsonl", corpus.JSON_TAGS), _json_tags, beside(JSON_LINES, grammar.JSON_TAGS)),
    Target(
        "content",
        one_file(
            "data",
            corpus.MEKA_DENSE,
            corpus.CSV,
            corpus.JSON_LINES,
            corpus.SVMLIGHT,
            gzip.compress(corpus.TSV, 1, mtime=0),
        ),
        _content,
        beside(TEXT, grammar.SVMLIGHT),
    ),
    Target("corrections", one_file("in.csv", corpus.CORRECTIONS), _corrections, beside(TEXT, grammar.CORRECTIONS)),
    Target("corrected-csv", one_file("in.csv", corpus.CSV, corpus.CSV_QUOTED), _corrected_copy("in.csv"), CSV),
    Target("corrected-json", one_file("in.jsonl", corpus.JSON_LINES), _corrected_copy("in.jsonl"), LINES),
    Target("results-csv", one_file("in.csv", corpus.RESULTS_CSV), _results("in.csv"), beside(TEXT, grammar.RESULTS)),
    Target(
        "results-json",
        one_file("in.jsonl", corpus.RESULTS_JSON),
        _results("in.jsonl"),
        beside(JSON_LINES, grammar.RECORDS),
    ),
    Target("ids", one_file("ids.txt", corpus.IDS), _ids, beside(TEXT, grammar.IDS)),
    Target(
        "paper",
        lambda: [{"mine.toml": corpus.PAPER, "pets.csv": corpus.PETS}],
        _paper,
        beside(TEXT, grammar.PAPER),
        fixed=("pets.csv",),
    ),
    Target("fasttext", one_file("in.txt", corpus.FASTTEXT), _fasttext, beside(TEXT, grammar.FASTTEXT)),
    Target("export-json", one_file("in.json", corpus.EXPORT_JSON), _export("in.json"), beside(JSON, grammar.EXPORTS)),
    Target(
        "export-lines",
        one_file("in.jsonl", corpus.EXPORT_LINES),
        _export("in.jsonl"),
        beside(JSON_LINES, grammar.EXPORTS),
    ),
    Target("export-csv", one_file("in.csv", corpus.EXPORT_CSV), _export("in.csv"), beside(TEXT, grammar.EXPORTED)),
)
