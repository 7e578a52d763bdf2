"""Texts by grammar have what their format allows and few files use: parts left out, twice, or in another order."""

import random
import re
from collections import Counter

import pytest

from fuzz import grammar
from fuzz.grammar import Shuffled, Some, beside, by_grammar, seldom
from fuzz.mutation import LARGEST, other_attributes, other_parts
from fuzz.readers import all_targets
from fuzz.target import ACCEPTED, outcome_of

GRAMMARS = {name: of for name, of in vars(grammar).items() if name.isupper() and isinstance(of, dict) and "file" in of}
READ = {  # by some targets: the file, and its grammar
    "svmlight": ("in.svm", grammar.SVMLIGHT),
    "svmlight-matrices": ("a_X_Xf.txt", grammar.PAIRED),
    "meka-cells": ("in.arff", grammar.ARFF),
    "mulan": ("in.xml", grammar.XML),
    "csv": ("in.csv", grammar.CSV),
    "csv-tags": ("in.csv", grammar.TAGS),
    "tsv": ("in.tsv", grammar.TSV),
    "json-lines": ("in.jsonl", grammar.JSON_LINES),
    "json-array": ("in.json", grammar.JSON_ARRAY),
    "json-tags": ("in.jsonl", grammar.JSON_TAGS),
    "corrections": ("in.csv", grammar.CORRECTIONS),
    "results-csv": ("in.csv", grammar.RESULTS),
    "export-lines": ("in.jsonl", grammar.EXPORTS),
    "export-csv": ("in.csv", grammar.EXPORTED),
    "fasttext": ("in.txt", grammar.FASTTEXT),
    "ids": ("ids.txt", grammar.IDS),
    "reuters": ("reut2-000.sgm", grammar.REUTERS),
    "records": ("run/records.jsonl", grammar.RECORDS),
    "methods": ("text", grammar.SPECIFICATION),
    "paper": ("mine.toml", grammar.PAPER),
}


def texts(of, n=300):
    """Return the first texts of a grammar."""
    mutation = by_grammar(of)
    return [mutation(random.Random(seed), b"") for seed in range(n)]


def test_parts():
    """One after the other, one of them, repeated, in any order, and the same in all of a text."""
    of = {
        "mark": b"",
        "file": (b"(", Some("=letter", 3), Shuffled((b"1", b"2")), seldom(b"!"), b")"),
        "=letter": [b"a", b"b"],
    }
    plain = re.compile(rb"\((?:a{0,3}|b{0,3})(?:1|2|12|21)?!?\)")
    found = Counter(texts(of, 2000))
    assert {b"(aa12)", b"(b21)", b"(12)", b"(2)", b"(12!)"} <= set(found)
    careless = sum(n for text, n in found.items() if not plain.fullmatch(text))
    assert 0 < careless < 200  # sequences that lost, repeated or swapped parts
    assert sum(n for text, n in found.items() if b"!" in text) in range(150, 350)


def test_rows_of_what_is_optional_alone():
    """Rows of svmlight with a query and a comment only, marks at the start, and all ends of lines."""
    found = b"\0".join(texts(grammar.SVMLIGHT, 2000))
    for pattern in (
        rb"\n[ \t]+qid:\d+[ \t]*#",
        rb"\n[ \t]+qid:\d+[ \t]*\r?\n",
        rb"\0\xef\xbb\xbf",
        rb"\n\n",
        rb"[^\n]\0",
    ):
        assert re.search(pattern, found), pattern
    assert all(end in found for end in (b"\r\n", b"\r "))


@pytest.mark.parametrize("name", GRAMMARS)
def test_texts_differ_and_end(name):
    """Most texts of a grammar occur once, none is too long, and those of a seed are the same."""
    found = texts(GRAMMARS[name])
    assert len(set(found)) > 100
    assert max(map(len, found)) <= LARGEST
    assert found[:20] == texts(GRAMMARS[name], 20)


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("name", READ)
def test_readers_take_some_texts(tmp_path, name):
    """A grammar of which no text is valid would try the first check only."""
    target = next((one for one in all_targets() if one.name == name), None)
    if target is None:
        pytest.skip("a library is not installed")
    file, of = READ[name]
    found = [
        outcome_of(target, target.corpus[0] | {file: text}, tmp_path / str(at))
        for at, text in enumerate(texts(of, 120))
    ]
    assert not [one.detail for one in found if one.failed]
    assert 2 <= sum(one.kind == ACCEPTED for one in found) < len(found)


def test_grammars_are_tried_beside_mutations():
    """A quarter of the mutations write a text of the grammar."""
    plain = tuple(lambda _, content: content for _ in range(30))
    chosen = beside(plain, grammar.IDS)
    assert chosen[:30] == plain
    assert len(chosen) == 40


def test_parts_of_documents():
    """Names of objects and elements of lists go, come twice and move; so do attributes and elements of XML."""
    found = {other_parts(random.Random(seed), b'{"a": [1, 2], "b": {}}') for seed in range(300)}
    expected = (
        b'{"a": [1, 2]}',
        b"{}",
        b'{"a": [2], "b": {}}',
        b'{"a": [1, 2], "a": [1, 2], "b": {}}',
        b'{"b": {}, "a": [1, 2]}',
    )
    assert set(expected) <= found
    xml = b'<labels x="1"><label name="a"/><label name="b"></label></labels>'
    found = {other_attributes(random.Random(seed), xml) for seed in range(300)}
    assert b'<labels><label name="a"/><label name="b"></label></labels>' in found
    assert b'<labels x="1"><label name="b"></label></labels>' in found
    assert b'<labels x="1" x="1"><label name="a"/><label name="b"></label></labels>' in found
