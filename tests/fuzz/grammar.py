"""Texts by grammar: parts of a format that are optional are left out, repeated, and in any order.

A grammar is a table of named parts. A part is bytes; the name of another part; a tuple, one after the other; a list,
one of them; `Some`, a part repeated; or `Shuffled`, some of the parts in any order. What a name that begins with ``=``
stands for is drawn once for a text, such as the end of lines. In some texts sequences lose, repeat or swap parts, too.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

from fuzz.mutation import LARGEST, Mutation

Grammar: TypeAlias = Mapping[str, Any]

_LONG = 200  # repetitions, rarely
_DEEPEST = 40  # parts in each other, behind which the first of a list is taken
_CARELESS = (0.0, 0.0, 0.0, 0.01, 0.03, 0.1)  # shares of sequences that are not as they should be


class Some(NamedTuple):
    """A part, repeated; by default optional."""

    part: Any
    most: int = 1
    least: int = 0


class Shuffled(NamedTuple):
    """Some of the parts, in any order."""

    parts: tuple[Any, ...]


class _Writer:
    """Writes one text."""

    def __init__(self, rng: random.Random, grammar: Grammar) -> None:
        self._rng, self._grammar = rng, grammar
        self._careless = rng.choice(_CARELESS)
        self._drawn: dict[str, bytes] = {}

    def text(self, part: Any, depth: int = 0) -> bytes:
        rng = self._rng
        if isinstance(part, bytes):
            return part
        if isinstance(part, str):
            if not part.startswith("="):
                return self.text(self._grammar[part], depth + 1)
            if part not in self._drawn:
                self._drawn[part] = self.text(self._grammar[part], depth + 1)
            return self._drawn[part]
        if isinstance(part, list):
            return self.text(rng.choice(part) if depth < _DEEPEST else part[0], depth + 1)
        return b"".join([self.text(one, depth + 1) for one in self._sequence(part)][:LARGEST])

    def _sequence(self, part: Any) -> list[Any]:
        rng = self._rng
        if isinstance(part, Some):
            n = rng.randint(part.least, part.most)
            return [part.part] * (_LONG if part.most > 1 and rng.random() < 0.005 else n)
        if isinstance(part, Shuffled):
            parts = [one for one in part.parts if rng.random() < 0.93]
            return rng.sample(parts, len(parts)) if rng.random() < 0.3 else parts
        parts = list(part)
        if parts and rng.random() < self._careless:
            at, how = rng.randrange(len(parts)), rng.randrange(3)
            parts = [parts[:at] + parts[at + 1 :], parts[:at] + parts[at:] * 2, rng.sample(parts, len(parts))][how]
        return parts


def seldom(part: Any, else_: Any = b"") -> list[Any]:
    """Return a part that one text in eight has; the others have nothing, or another part."""
    return [*[else_] * 7, part]


def beside(mutations: Sequence[Mutation], grammar: Grammar) -> tuple[Mutation, ...]:
    """Return mutations, and with a quarter of the chance texts of a grammar."""
    return (*mutations, *(by_grammar(grammar),) * (len(mutations) // 3))


def by_grammar(grammar: Grammar) -> Mutation:
    """Return a mutation that puts a text of a grammar, its part "file", in the place of what there was."""
    whole = {**_COMMON, **grammar}
    return lambda rng, _: _Writer(rng, whole).text(("mark", "file"))[:LARGEST]


_COMMON: Grammar = {
    "mark": seldom([b"\xef\xbb\xbf", b"\xef\xbb\xbf", b"\n", b" "]),
    "=end": seldom(b"\r", [b"\n", b"\n", b"\n", b"\r\n"]),
    "end": ["=end", "=end", "=end", "=end", "=end", ("=end", "=end"), ("blanks", "=end"), b"\n", b"\r\n"],
    "blank": [b" ", b" ", b" ", b"\t", b"  "],
    "blanks": Some("blank"),
    "bit": [b"0", b"1"],
    "number": [b"0", b"1", b"2", b"3.5", b"-1e3", b".5", b"+1", b"4."],
    "word": [b"a", b"b", b"cat", b"two words", "ü".encode(), b""],
}

SVMLIGHT: Grammar = {
    "file": (seldom("head"), Some("line", 6), seldom("row")),
    "head": (["comment", "comment", "three", "two"], "rest", "end"),
    "three": [b"3 5 4", b"2 4 3", b"1 4 3"],
    "two": [b"3 5", b"2 4", b"1 4"],
    "line": ("row", "end"),
    "row": (seldom("blank"), ["labels", "labels", "before"], seldom("query"), ["pairs", "pairs", b""], "rest"),
    "before": seldom("blank"),
    "rest": (seldom("blank"), seldom("comment")),
    "labels": seldom(b"0:1,2:1", [b"0", b"1", b"2", b"0,1", b"2,0", b"1 , 2", b"0.0", b"1.,2"]),
    "query": (["blank", "blank", b""], seldom(b"qid:", [b"qid:1", b"qid:3"])),
    "pairs": Shuffled((("blank", b"0:", "number"), ("blank", b"1:", "number"), ("blank", b"3:", "number"))),
    "comment": (b"#", Some(["word", b"#", b"qid:2", b"1:1"], 2)),
}
PAIRED: Grammar = {  # a matrix of extreme classification: a first line of two numbers, then pairs
    **SVMLIGHT,
    "file": (["two", "two", "two", "three"], "rest", "=end", "row", "=end", "row", "=end", "row", Some("=end")),
    "two": [b"3 5", b"3 4"],
    "row": (seldom("blank"), ["pairs", "pairs", "pairs", "before"], seldom("query"), "rest"),
    "pairs": Shuffled((b"0:1", ("blank", b"1:1"), ("blank", seldom("number", [b"2:1.0", b"3:"])))),
}

ARFF: Grammar = {
    "file": ("notes", "relation", "notes", "attributes", "notes", b"@data", "tail", Some("row", 5)),
    "notes": Some("note", 2),
    "note": [("end",), (b"%", Some("word"), "end")],
    "tail": ("blanks", Some((b"%", Some("word"))), "end"),
    "relation": ([b"@relation", b"@RELATION"], "blank", ["=plain", "quoted"], "tail"),
    "=plain": seldom(b"toy", b"'toy: -C 2'"),
    "quoted": seldom(b"''", [b"'toy: -C 2'", b"'toy: -C 2 -split 3'", b'"a: -C 1"']),
    "attributes": Shuffled((
        (b"@attribute a {0,1}", "tail"), (b"@attribute b {", "blanks", b"0,1", "blanks", b"}", "tail"),
        (b"@attribute 'x' ", ["type", b"numeric"], "tail"), (b"@ATTRIBUTE \"y\"", "blank", "type", "tail"),
    )),
    "type": [b"real", b"numeric", b"integer", b"{red,'dark blue'}", b"string", ["rare", b"real"]],
    "rare": [b"{}", b"{a}", b"date", b"date 'yyyy'", b""],
    "row": (["dense", "dense", "dense", "sparse", "note"], seldom("weight"), "tail"),
    "dense": ("bit", "gap", "bit", "gap", "cell", "gap", "cell", seldom("gap")),
    "gap": ("blanks", [b",", b",", b",", b" "], "blanks"),
    "cell": ["number", "number", "number", "number", b"?", [b"red", b"'dark blue'", b"''", b'""', b"2020", b""]],
    "sparse": (b"{", "blanks", Some(("place", "blank", "cell")), Some((b",", "place", "blank", "cell"), 3), b"}"),
    "place": ("blanks", seldom(b"9", [b"0", b"1", b"2", b"3"])),
    "weight": ("gap", b"{", "blanks", Some("number"), "blanks", b"}"),
}  # fmt: skip

XML: Grammar = {
    "file": (Some("declaration"), Some("gap"), "root", Some("gap")),
    "declaration": (b"<?xml", (b' version="1.0"', Some(b' encoding="utf-8"'), Some(b" standalone='yes'")), b"?>"),
    "gap": seldom(b"<!DOCTYPE labels>", ["end", "blank", (b"<!--", "word", b"-->"), b"<?p?>"]),
    "root": (b"<labels", "space", b">", ["gap", b""], "label", Some(["label", "gap"], 2), b"</labels>"),
    "space": [b' xmlns="http://mulan.sourceforge.net/labels"', b"", b' xmlns=""', b" x='1'"],
    "label": (b"<label", "attributes", [b"/>", b"></label>", (b">", Some(["label", "gap"], 2), b"</label>")]),
    "attributes": Shuffled(((b" name=", "name"), seldom((b" id=", "name")))),
    "name": seldom(b'" "', [b'"cat"', b"'cat'", b'"dog&apos;s"', b'"n 1"']),
}

_CELLS: Grammar = {
    "=quote": [b"", b"", b'"'],
    "cell": [("=quote", ["number", b"NA", b""], "=quote"), "number", b"", b'""', "blanks"],
    "flag": [("=quote", ["bit", "bit", b"true", b"No", b""], "=quote"), "bit"],
    "tag": [b"", b'""', b"cat", b'"cat;pet"', b"cat; pet;", b";", b'"[]"', b'"[""a"",]"', b"{}", b'" "'],
    "said": (b"sep=", "=gap", "end"),
}
CSV: Grammar = {
    **_CELLS,
    "=gap": [b",", b",", b",", b";", b"\t"],
    "=last": seldom("=gap"),
    "file": (seldom("said"), Some("end", 2), "header", Some("row", 5), Some("end", 2)),
    "header": ("=index", "names", "=last", "end"),
    "=index": seldom((b'""', "=gap")),
    "names": ("=quote", b"x", "=quote", "=gap", b"weight", "=gap", b"l_cat", "=gap", "=quote", b"l_dog", "=quote"),
    "row": ("=index", "cell", "=gap", "cell", "=gap", "flag", "=gap", "flag", "=last", seldom("=gap"), "end"),
}
TSV: Grammar = {**CSV, "=gap": b"\t"}
TAGS: Grammar = {
    **CSV,
    "names": (Shuffled(((b"id", "=gap"), (b"kg", "=gap"), (b"h", "=gap"))), "=quote", b"tags", "=quote"),
    "row": ("cell", "=gap", "cell", "=gap", "cell", "=gap", "tag", "=last", "end"),
}
CORRECTIONS: Grammar = {
    **CSV,
    "names": ["=all", "=all", Shuffled((b"row,", b"given,", b"label,", b"remark,", b"correct"))],
    "=all": b"row,label,given,correct",
    "=gap": b",",
    "row": (
        seldom("cell", ["bit", b"3.0"]),
        b",",
        ["word", b"calm"],
        b",",
        "flag",
        b",",
        ["flag", b"?", b'"?"'],
        "end",
    ),
}
RESULTS: Grammar = {
    **CSV,
    "=gap": b",",
    "file": ("header", Some("row", 5)),
    "names": seldom((Shuffled((b"dataset,", b"fold,", b"method,")), b"metric,value"), "=columns"),
    "=columns": b"dataset,seed,fold,method,n_neighbors,metric,value",
    "row": (b"d,0,", "bit", b",", b"br,", ["bit", b""], b",f1,", ["number", b"", "cell"], "=end"),
}

_JSON: Grammar = {
    "value": seldom(b"NaN", ["number", "text", b"null", b"true", "list", "object"]),
    "number": [b"0", b"1", b"2.5", b"-1e3"],
    "text": (b'"', ["word", b"a; b", b"\\u0061", b" "], b'"'),
    "comma": ("blanks", b",", "blanks"),
    "list": [(b"[", "value", Some(("comma", "value"), 2), b"]"), b"[]"],
    "key": (["text", b'"x"', b'"t"', b'"tags"'], "blanks", b":", "blanks"),
    "object": (b"{", "blanks", "key", "value", Some(("comma", "key", "value")), b"}"),
    "pairs": Shuffled((
        (b'"x":', "blanks", ["number", b"null"], b","), (b'"y":', ["number", "number", "value"], b","),
        seldom((b'"e":', ["list", b"[1,2]"], b",")), (b'"id":', seldom("text", "number"), b","),
        (b'"l_b":', "answer", b","),
    )),
    "answer": seldom("value", ["bit", "bit", b"true", b"null"]),
    "row": (b"{", "pairs", b'"l_a":', "answer", seldom((b",", "key", "value")), b"}"),
}  # fmt: skip
JSON_LINES: Grammar = {
    **_JSON,
    "file": Some(seldom(["end", (b"{}", "end")], "line"), 5, 1),
    "line": ("row", "end"),
}
JSON_ARRAY: Grammar = {**_JSON, "file": (b"[", "row", Some(("comma", ["row", "row", b"{}"]), 3), b"]", "end")}
JSON_TAGS: Grammar = {
    **JSON_LINES,
    "row": (b"{", "pairs", "=column", ["=tags", "=tags", "=tags", b"[]", "value"], b"}"),
    "=column": [b'"tags":', b'"t":'],
    "=tags": ["list", "text", "object", b'["a","b"]', b'{"a":true}'],
}
RECORDS: Grammar = {
    **JSON_LINES,
    "row": (b"{", Shuffled((
        b'"dataset": "d",', b'"seed": 1,', b'"fold": 0,', b'"method": "br",',
        (b'"n_neighbors":', ["bit", b"null"], b","),
        seldom((b'"crc":', "value", b",")), (b'"value":', ["number", "number", "value"], b","),
    )), b'"metric": "f1"}'),
}  # fmt: skip
EXPORTS: Grammar = {
    **JSON_LINES,
    "file": ["lines", "lines", (b"[", "task", Some(("comma", "task"), 3), b"]", "end")],
    "lines": Some(("task", "end"), 4, 1),
    "task": ["studio", "least", "doccano", "prodigy"],
    "place": seldom([(b'"row":', "value", b","), b'"row_id": "a",', b""], [b'"row": 0,', b'"row": 1,', b'"row": 2,']),
    "names": seldom("list", [b'["calm"]', b'["calm","loud"]', b'["loud"]', b"[]"]),
    "chosen": (
        b'{"type":"choices",',
        Some(b'"from_name":"tags",'),
        b'"value":',
        b'{"choices":',
        "names",
        b"}",
        b"}",
    ),
    "result": (
        b"{",
        Some(b'"was_cancelled":false,'),
        Some(b'"ground_truth":true,'),
        b'"result":[',
        Some("chosen", 2),
        b"]}",
    ),
    "studio": (b'{"data":{', "place", b'"given":', "names", b'},"annotations":[', Some("result"), b"]}"),
    "least": (b"{", "place", Some((b'"tags":', "names", b",")), b'"annotation_id":', ["bit", "value"], b"}"),
    "doccano": (
        b"{",
        "place",
        Some((b'"predicted":', "names", b",")),
        Some(b'"text":"t",'),
        b'"label":',
        "names",
        b"}",
    ),
    "prodigy": (
        b"{",
        "place",
        Some((b'"accept":', "names", b",")),
        b'"answer":"accept","options":[',
        Some("option", 2),
        b"]}",
    ),
    "option": [b'{"id":"calm"}', b'{"id":"calm"}', b'{"id":"calm"},{"id":"loud"}', seldom(b"{}", b'{"id":"loud"}')],
}
EXPORTED: Grammar = {  # the same as CSV of Label Studio
    **CSV,
    "=gap": b",",
    "names": [b"row,given,tags,annotation_id", (Shuffled((b"row,", b"given,", b"tags,")), b"annotation_id")],
    "row": ("bit", b",", "answer", b",", "answer", b",", ["bit", "cell"], "end"),
    "answer": seldom(b"{}", [b"calm", b"loud", b'"{""choices"":[""calm""]}"', b"", b'"[""loud""]"']),
}

FASTTEXT: Grammar = {
    "file": (Some("line", 5), Some("item", 3)),
    "line": ("blanks", Some(("item", "blank"), 3), Some("item"), "end"),
    "item": [b"__label__cat", b"__label__dog,", b"__label__", b"a", b"word", b"#", b'"', "blanks"],
}

IDS: Grammar = {"file": (Some("line", 4), Some("word")), "line": ("blanks", "word", "blanks", "end")}

REUTERS: Grammar = {
    "mark": b"",
    "file": (b'<!DOCTYPE lewis SYSTEM "lewis.dtd">', "=end", Some(["article", "article", "article", "end"], 5, 2)),
    "article": (b"<REUTERS", "attributes", b">", "end", "topics", "text", "end", b"</REUTERS>", "=end"),
    "attributes": Shuffled((b' TOPICS="YES"', [b' LEWISSPLIT="TRAIN"', b' LEWISSPLIT="TEST"'], Some(b' NEWID="3"'))),
    "topics": (b"<TOPICS>", Some(b"<D>tea</D>"), Some((b"<D>", "word", b"</D>")), b"</TOPICS>", Some("end")),
    "text": (b"<TEXT", Some(b' TYPE="UNPROC"'), b">", Some("title"), Some("body"), "blanks", "word", b"</TEXT>"),
    "title": (b"<TITLE>", "word", b"</TITLE>"),
    "body": (Some("end"), b"<BODY>", "word", Some("end", 2), b"</BODY>"),
}

SPECIFICATION: Grammar = {  # of methods, samplers, searches and metrics
    "mark": seldom([b" ", b"+", b"@", b":"]),
    "file": (seldom((seldom("method", "sampler"), b"+")), "method", seldom("option"), Some((b"@", "threshold"))),
    "method": [
        (b"mlknn", Some((b":smoothing=", "value"))),
        (b"brknn-b", Some(b":rounding=half_up"), Some(b":weights=distance")),
        (b"br", Some(b":random_state=0")),
        (b"exact", Some(b":metric=cosine"), Some((b":n_jobs=", "value"))),
        (b"roc_auc", Some((b":average=", [b"micro", b"macro", b""]))),
        (b"precision_at_k", Some((b":k=", "value"))),
        "sampler",
    ],
    "sampler": (b"mlsmote", Some((b":n_neighbors=", "value"))),
    "option": (b":", [b"n_neighbors", b"smoothing", b"k", b""], Some((b"=", "value"))),
    "value": seldom([b"True", b"''", b"()", b"[]", b""], "number"),
    "threshold": seldom([b"", b":", "option"], [b"0.25", b"micro-f", (b"micro-f:beta=", "value")]),
}

PAPER: Grammar = {
    "file": ("top", Shuffled(("data", "experiments", "table", "statistics", "ranking"))),
    "top": Shuffled(((b'name = "mine"', "end"), (b'title = "t"', "end"), (b'reference = "r"', "end"))),
    "data": (Some("end"), b"[data.pets]", "end", Shuffled(((b'file = "pets.csv"', "end"), ("labels", "end")))),
    "labels": (b"labels = [", Some(b'"cat",'), Some(b'"dog"'), Some(b","), b"]"),
    "experiments": (b"[experiments.main]", "end", Shuffled((
        (b'datasets = [', b'"pets"', b"]", "end"), (b'methods = [', b'"brknn"', b"]", "end"),
        (b"n_neighbors = [", b"1", b"]", "end"), (b"cv = 2", "end"),
        (b'metrics = [', b'"micro_f1"', b"]", "end"),
    ))),
    "table": (b"[tables.1]", "end", Shuffled((
        (b'title = "t"', "end"), (b'experiments = [', b'"main"', b"]", "end"),
        (b"printed = [", (b"[", b'"pets", "brknn", 1, "micro_f1", 0.5', b"]"), b"]", "end"),
    ))),
    "statistics": (b"[tables.A]", "end", Shuffled((
        (b'title = "s"', "end"), (b'statistics = [', b'"pets"', b"]", "end"),
        (b"printed = [", Some(b'["pets", "instances", 8]'), b"]", "end"),
    ))),
    "ranking": (b"[rankings.1]", "end", Shuffled((
        (b'title = "t"', "end"), (b'experiments = [', b'"main"', b"]", "end"),
        (b"claims = {", Some(b' micro_f1 = "it is first" '), b"}", "end"),
    ))),
}  # fmt: skip
