"""Every way of writing an ARFF file, and every mistake in one."""

import bz2
import gzip

import numpy as np
import pytest

from nearlabel.datasets import _lines as lines_module
from nearlabel.datasets import read_meka
from nearlabel.lazy import BRkNN

HEADER = "@attribute y {0,1}\n@attribute a numeric\n@attribute b real"


def dense(matrix):
    """Either kind of matrix as an array."""
    return matrix.toarray() if hasattr(matrix, "toarray") else matrix


def test_dense_rows_give_arrays(write_meka):
    """A dense file gives float64 features and int64 labels as arrays."""
    data = read_meka(write_meka(HEADER, "1,2.5,-3e-2\n0,.5,4.\n"))
    np.testing.assert_array_equal(data.X, [[2.5, -0.03], [0.5, 4]])
    np.testing.assert_array_equal(data.Y, [[1], [0]])
    assert (data.X.dtype, data.Y.dtype) == (np.float64, np.int64)
    assert (data.feature_names, data.label_names, data.name) == (("a", "b"), ("y",), "toy")


def test_sparse_rows_give_csr(write_meka):
    """A sparse file gives CSR arrays with 32-bit indices; what a row leaves out is 0."""
    data = read_meka(write_meka(HEADER, "{0 1,2 -3e-2}\n{}\n{1 2.5}\n"))
    assert data.X.format == data.Y.format == "csr"
    assert data.X.indices.dtype == np.int32
    np.testing.assert_array_equal(data.X.toarray(), [[0, -0.03], [0, 0], [2.5, 0]])
    np.testing.assert_array_equal(data.Y.toarray(), [[1], [0], [0]])


@pytest.mark.parametrize(
    "rows",
    [
        "{,2 1}\n{0 1}",
        "{ 2 1 }\n{0 1}",
        "{2  1}\r\n{0 1}\r\n",
        "\n\n{2 1}\n\n{0 1}\n\n",
        "% first\n{2 1} % one\n  % two\n{0 1}",
        "{2\t1}\n{0 1}",
        "{1 0,2 1}\n{0 1}",
        "{2 1,1 0}\n{1 0, 0 1}",
        "{2 '1'}\n{0 \"1\"}",
    ],
    ids=["empty first cell", "blanks", "CRLF", "empty lines", "comments", "tab", "zeros", "order", "quotes"],
)
def test_spellings_of_sparse_rows(write_meka, rows):
    """However they are spelled, these are the same two rows, stored canonically."""
    data = read_meka(write_meka(HEADER, rows))
    np.testing.assert_array_equal(data.X.toarray(), [[0, 1], [0, 0]])
    np.testing.assert_array_equal(data.Y.toarray(), [[0], [1]])
    assert (data.X.nnz, data.Y.nnz) == (1, 1)
    assert data.X.has_canonical_format


@pytest.mark.parametrize(
    "rows",
    [
        "0,0,1\n1,0,0",
        " 0, 0 ,1\r\n1 ,0,0\r\n",
        "% c\n0,0,1 % c\n\n1,0,0\n",
        "'0',\"0\",1\n1,0,'0'\n",
        "0.0,0,1\n1,0,0e3",
    ],
    ids=["no final newline", "blanks", "comments", "quotes", "1.0 for 1"],
)
def test_spellings_of_dense_rows(write_meka, rows):
    """However they are spelled, these are the same two rows."""
    data = read_meka(write_meka(HEADER, rows))
    np.testing.assert_array_equal(data.X, [[0, 1], [0, 0]])
    np.testing.assert_array_equal(data.Y, [[0], [1]])


@pytest.mark.parametrize(
    "rows",
    [
        "0\t0\t1\n1\t0\t0\n",
        "  0 0  1 \r\n1 \t0 0",
        "0,0 1\n1 , 0\t0",
        "0 '0' 1 % c\n'1' 0 \"0\"\n",
        "0 0 1\n1 0 0 {1}\n",
    ],
    ids=["tabs", "blanks", "commas, too", "quotes", "weights"],
)
def test_blanks_between_cells(write_meka, rows):
    """As in WEKA, blanks and tabs part cells as commas do."""
    data = read_meka(write_meka(HEADER, rows))
    np.testing.assert_array_equal(data.X, [[0, 1], [0, 0]])
    np.testing.assert_array_equal(data.Y, [[0], [1]])


def test_blanks_between_cells_are_not_those_within(write_meka):
    """Where commas make all cells, blanks are part of values, also of those without quotes."""
    path = write_meka("@attribute y {0,1}\n@attribute a {'x y',z}\n@attribute b numeric", "1,x y,2\n0 z 3\n0 'x y' 4\n")
    assert read_meka(path, nominal="codes").X.tolist() == [[0, 2], [1, 3], [0, 4]]


@pytest.mark.parametrize("row", ["{0 1 2 5}", "{0 1\t2 5 }", "{0 1,1 0 2 '5'}"])
def test_blanks_between_sparse_cells(write_meka, row):
    """The same for the pairs of sparse rows."""
    data = read_meka(write_meka(HEADER, row))
    assert (data.X.toarray().tolist(), data.Y.toarray().tolist()) == ([[0, 5]], [[1]])


def test_blanks_between_declared_values(write_meka):
    """Values that are declared without commas have blanks between them."""
    path = write_meka("@attribute y {0 1}\n@attribute a { red green\tblue }", "1,green\n0,red\n")
    assert read_meka(path, nominal="codes").X.tolist() == [[1], [0]]


@pytest.mark.parametrize(
    "rows",
    [
        "1,2,3,{2}\n0,4,5\n",
        "1,2,3 {2.0} % c\n0,4,5,{1}\n",
        "1 2 3 {2}\n0 4 5\n",
        "'1' 2 3{2}\n0,4,5",
        "1,2,'3', { 2 }\n0,4,5",
    ],
)
def test_weights_of_dense_rows(write_meka, rows):
    """A row may end in its weight; others weigh 1."""
    data = read_meka(write_meka(HEADER, rows))
    assert (data.sample_weight.tolist(), data.X.tolist()) == ([2, 1], [[2, 3], [4, 5]])


@pytest.mark.parametrize("weight", [",{2}", ", {2e0} % c", " { 2 }", "{2}"])
def test_weights_of_sparse_rows(write_meka, weight):
    """The same behind sparse rows, and in any block."""
    data = read_meka(write_meka(HEADER, f"{{0 1}}\n{{0 1,1 2}}{weight}\n{{}}\n"))
    assert (data.sample_weight.tolist(), data.Y.toarray().ravel().tolist()) == ([1, 2, 1], [1, 1, 0])


def test_weights_over_blocks(write_meka, monkeypatch):
    """Weights stay with their rows, whichever way their blocks are read."""
    monkeypatch.setattr(lines_module, "BLOCK_BYTES", 64)
    rows = [f"1,2,{n}" + (f",{{{n}}}" if n % 50 == 7 else "") for n in range(300)]
    data = read_meka(write_meka(HEADER, "\n".join(rows)))
    assert data.sample_weight.tolist() == [n if n % 50 == 7 else 1 for n in range(300)]


def test_weights_are_those_of_fit(write_meka):
    """A classifier that takes weights counts such rows as often."""
    weighted = read_meka(write_meka(HEADER, "1,0,0,{2}\n0,1,0\n0,0,1\n"))
    model = BRkNN(n_neighbors=3).fit(weighted.X, weighted.Y, sample_weight=weighted.sample_weight)
    assert model.predict_proba([[0, 0]])[0].tolist() == [0.5]


def test_weights_may_be_ignored(write_meka):
    """Weights that are all 1, or that are ignored by name, are none."""
    path = write_meka(HEADER, "1,2,3,{2}\n")
    assert read_meka(path, ignore=["sample_weight"]).sample_weight is None
    assert read_meka(write_meka(HEADER, "1,2,3,{1}\n")).sample_weight is None


def test_nothing_but_empty_rows(write_meka):
    """Rows may all be empty."""
    data = read_meka(write_meka(HEADER, "{}\n{}\n"))
    assert (data.X.shape, data.X.nnz, data.Y.nnz) == ((2, 2), 0, 0)


def test_header_spellings(write):
    """Keywords in any case, tabs, comments behind @relation and between, quoted names with blanks and escapes."""
    text = (
        "% top\n@RELATION 'toy: -C 1' % named\n\n@Attribute\ty\t{0, 1} % the label\n% middle\n"
        "@ATTRIBUTE 'rock \\'n\\' roll' NUMERIC\n@attribute \"a \\\"b\\\"\" Real % c\n@attribute A.B-1%x integer\n"
        "@attribute d{no,yes}\n"
        "@DATA\n1,2,3,4,yes\n"
    )
    data = read_meka(write("toy.arff", text))
    assert data.feature_names == ("rock 'n' roll", 'a "b"', "A.B-1%x", "d")
    np.testing.assert_array_equal(data.X, [[2, 3, 4, 1]])


def test_a_code_is_the_position_of_its_value(write_meka):
    """Words become their position in the declaration if that is asked for; quoted ones may hold blanks and commas."""
    attributes = "@attribute y {0,1}\n@attribute a {YES, NO}\n@attribute b {'x, y','it\\'s',z}"
    data = read_meka(write_meka(attributes, "1,NO,'x, y'\n0, YES ,\"it's\"\n0,NO,z\n"), nominal="codes")
    assert (data.feature_names, data.feature_kinds) == (("a", "b"), ("code", "code"))
    np.testing.assert_array_equal(data.X, [[1, 0], [0, 1], [1, 2]])


def test_sparse_nominal_absent_is_the_first_declared(write_meka):
    """In sparse rows the first declared value, index 0, is the one left out."""
    path = write_meka("@attribute y {0,1}\n@attribute a {'r, d',g,b}", "{1 b}\n{1 'r, d'}\n{}\n")
    np.testing.assert_array_equal(read_meka(path, nominal="codes").X.toarray(), [[2], [0], [0]])
    first, last = [0.5, 0, 0, 0.5, 0, 0], [0, 0, 0.5, 0, 0, 0.5]
    np.testing.assert_array_equal(read_meka(path).X.toarray(), [last, first, first])


@pytest.mark.parametrize(
    ("declared", "cells", "expected"),
    [
        ("{0,1}", "0,1", [0, 1]),
        ("{1,0}", "0,1", [0, 1]),
        ("{YES,NO}", "YES,NO", [1, 0]),
        ("{false,TRUE}", "TRUE,false", [1, 0]),
        ("{-1,1}", "-1,1", [0, 1]),
        ("{1}", "1,1", [1, 1]),
        ("numeric", "1,0.0", [1, 0]),
    ],
)
def test_label_is_1_when_its_value_says_so(write_meka, declared, cells, expected):
    """A label's value counts, not its position in the declaration."""
    first, second = cells.split(",")
    data = read_meka(write_meka(f"@attribute y {declared}\n@attribute a numeric", f"{first},7\n{second},8\n"))
    assert data.Y.ravel().tolist() == expected


@pytest.mark.parametrize(
    ("declared", "rows", "expected"),
    [
        ("{0,1}", "{1 5}\n{0 1}", [0, 1]),
        ("{1,0}", "{1 5}\n{0 0}\n{0 1}", [1, 0, 1]),
        ("{YES,NO}", "{1 5}\n{0 NO}", [1, 0]),
        ("numeric", "{1 5}\n{0 1}", [0, 1]),
    ],
)
def test_label_left_out_of_a_sparse_row_is_the_first_declared(write_meka, declared, rows, expected):
    """Where 1 is declared first, a sparse row that leaves the label out has it."""
    data = read_meka(write_meka(f"@attribute y {declared}\n@attribute a numeric", rows))
    assert data.Y.toarray().ravel().tolist() == expected
    assert data.Y.dtype == np.int64


def test_missing_values_are_nan(write_meka):
    """A question mark is NaN; only a file with missing labels gets float labels."""
    data = read_meka(write_meka(HEADER, "?,?,1\n1,2,3\n"))
    np.testing.assert_array_equal(data.X, [[np.nan, 1], [2, 3]])
    np.testing.assert_array_equal(data.Y, [[np.nan], [1]])
    sparse = read_meka(write_meka(HEADER, "{0 1,2 ?}\n{1 2}\n"))
    np.testing.assert_array_equal(sparse.X.toarray(), [[0, np.nan], [2, 0]])
    assert sparse.Y.dtype == np.int64


@pytest.mark.parametrize("compress", [gzip.compress, bz2.compress])
def test_compressed_files(write_meka, tmp_path, compress):
    """Compression is known by the content, whatever the name."""
    plain = write_meka(HEADER, "1,2,3\n")
    packed = tmp_path / "packed.arff"
    packed.write_bytes(compress(plain.read_bytes()))
    np.testing.assert_array_equal(read_meka(packed).X, [[2, 3]])


def test_byte_order_mark_and_latin_1(tmp_path):
    """A BOM is no part of the first line, and names that are not UTF-8 are Latin-1."""
    path = tmp_path / "toy.arff"
    text = "@relation 'toy: -C 1'\n@attribute y {0,1}\n@attribute caf\xe9 numeric\n@data\n1,2\n"
    path.write_bytes(b"\xef\xbb\xbf" + text.encode("latin-1"))
    assert read_meka(path).feature_names == ("caf\xe9",)


@pytest.mark.parametrize("row", ["{{0 1,2 {}}}", "0,{},5"], ids=["sparse", "dense"])
def test_blocks_do_not_show(write_meka, monkeypatch, row):
    """A file of many blocks, some of which need the slow way, reads as one of a single block."""
    rows = "\n".join(row.format(n) + (" % odd" if n % 97 == 0 else "") for n in range(1, 500))
    path = write_meka(HEADER, rows)
    whole = read_meka(path)
    monkeypatch.setattr(lines_module, "BLOCK_BYTES", 100)
    parts = read_meka(path)
    np.testing.assert_array_equal(dense(parts.X), dense(whole.X))
    np.testing.assert_array_equal(dense(parts.Y), dense(whole.Y))
    assert dense(parts.X).max() == 499


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ("1,2,x\n", r"line 6: attribute 'b' must be a finite number, got 'x'\."),
        (
            "1,2,3\n\n1,,3\n",
            r"line 8: attribute 'a' must be a finite number, got ''\. Hint: a missing value is written \?",
        ),
        ("1,2,nan\n", r"line 6: attribute 'b' must be a finite number, got 'nan'\. Hint"),
        ("1,2,1_0\n", r"line 6: attribute 'b' must be a finite number, got '1_0'"),
        ("1,2,1e999\n", r"line 6: attribute 'b' must be a finite number, got '1e999'"),
        ("1,2,3\n1,2\n", r"line 7: a row must have 3 cells, got 2\."),
        ("1,2,3,4\n", r"line 6: a row must have 3 cells, got 4\."),
        ("1,2,3\n\n% c\n2,2,3\n", r"line 9: attribute 'y' must be one of \{0,1\}, got '2'\."),
        ("1,2,'3\n", r"line 6: a cell must be a value, plain or in quotes, got \"'3\"\. Hint: a quote is not closed"),
        ("1,2,3\n{0 1}\n", r"line 7: a row must be dense, value,\.\.\., as the first is, got '\{0 1\}'\."),
        ("1,2,3, {x}\n", r"line 6: the weight of a row must be a finite number from 0, got '\{x\}'"),
        ("1,2,3, {-1}\n", r"line 6: the weight of a row must be a finite number from 0, got '\{-1\}'"),
        ("1 2\n", r"line 6: a row must have 3 cells, got 2\."),
        ("1;2;3\n", r"line 6: a row must have 3 cells, got 1\. Hint: commas, blanks or tabs part cells\."),
        ("1\t\t3\n", r"line 6: a row must have 3 cells, got 2\."),
        ("1 2 3 4\n", r"line 6: a row must have 3 cells, got 4\."),
        ("1,,2 3\n", r"line 6: attribute 'a' must be a finite number, got ''\."),
        ("1 2 3,\n", r"line 6: a row must have 3 cells, got 2\."),
        ("1 2'3' 4\n", r"line 6: a row must have 3 cells, got 1\."),
        ("1 '2 3\n", r"line 6: a row must have 3 cells, got 1\."),
        ("{1 x}\n", r"line 6: attribute 'a' must be a finite number, got 'x'\."),
        ("{0 1}\n{3 1}\n", r"line 7: an index must be from 0 to 2 for 3 attributes, got 3\."),
        ("{-1 1}\n", r"line 6: an index must be from 0 to 2 for 3 attributes, got -1\."),
        ("{1 1,2 1,1 4}\n", r"line 6: an index must occur once in a row, got 1 twice\."),
        ("{1 1}\n{0 2}\n", r"line 7: attribute 'y' must be one of \{0,1\}, got '2'\."),
        ("{1 1 2}\n", r"line 6: attribute 'a' must be a finite number, got '1 2'\."),
        ("{1 1,}\n", r"line 6: a cell must read 'index value', got '\}'\."),
        ("{1 1,,2 1}\n", r"line 6: a cell must read 'index value', got ',2 1\}'\."),
        ("{1 1\n", r"line 6: a cell must read 'index value', got '1 1'\."),
        ("{1 '1}\n", r"line 6: a cell must read 'index value', got \"1 '1\}\"\. Hint: a quote is not closed"),
        ("{1 1} 7\n", r"line 6: a row must end in \}, got '7' behind it\."),
        ("{1 1}, {0.5\n", r"line 6: a row must end in \}, got ', \{0.5' behind it\."),
        ("{1 1}, {inf}\n", r"line 6: the weight of a row must be a finite number from 0, got '\{inf\}'"),
        ("{1 1}\n1,2,3\n", r"line 7: a row must be sparse, \{index value,\.\.\.\}, as the first is, got '1,2,3'\."),
        ("\n% nothing\n", r"toy\.arff must contain at least one row behind @data, got none\."),
    ],
)
def test_malformed_rows(write_meka, rows, message):
    """A wrong row is reported with file, line, what was expected and what was got."""
    with pytest.raises(ValueError, match=message):
        read_meka(write_meka(HEADER, rows))


def test_malformed_row_in_a_late_block(write_meka, monkeypatch):
    """The line number counts on over the blocks."""
    monkeypatch.setattr(lines_module, "BLOCK_BYTES", 64)
    with pytest.raises(ValueError, match=r"line 206: a row must have 3 cells, got 1"):
        read_meka(write_meka(HEADER, "1,2,3\n" * 200 + "7\n"))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("@relation x\n@attribute a numeric\n", r"line 2: the header must end in @data, got the end of the file\."),
        ("", r"line 0: the header must end in @data"),
        ("@relation x\n@data\n1\n", r"line 2: @data must follow at least one @attribute, got none\."),
        ("@relation x\n1,2\n", r"line 2: a header line must begin with @relation, .*, got '1,2'\."),
        ("@input a\n", r"line 1: a header line must begin with @relation, .*, got '@input a'\."),
        ("@attribute 'a numeric\n", r"line 1: @attribute must be followed by a name.*got \"'a numeric\"\."),
        ("@attribute\n", r"line 1: @attribute must be followed by a name"),
        ("@attribute a text\n", r"the type of attribute 'a' must be numeric, .*, got text\."),
        ("@attribute a numeric {2}\n", r"the type of attribute 'a' must be numeric, .*, got numeric \{2\}\."),
        ("@attribute a date 'yyyy\n", r"line 1: the type of attribute 'a' must be a date and its format in quotes"),
        ("@end a\n", r"line 1: @end must follow a relational attribute, got 'a'\."),
        ("@attribute a relational\n@end b\n", r"line 2: .*'a' must end in @end and its name, got '@end b'\."),
        ("@attribute a relational\n@data\n", r"line 2: .*'a' must end in @end and its name, got '@data'\."),
        ("@attribute a relational\n", r"line 1: the declaration .*'a' must end in @end, got the end of the file\."),
        ("@attribute a\n", r"the type of attribute 'a' must be numeric, .*, got nothing\."),
        ("@attribute a {0,1\n", r"the values of attribute 'a' must read \{value,\.\.\.\}, got"),
        ("@attribute a {}\n", r"the values of attribute 'a' must read \{value,\.\.\.\}, got"),
    ],
)
def test_malformed_header(write, text, message):
    """A wrong header line is reported with its number."""
    with pytest.raises(ValueError, match=message):
        read_meka(write("toy.arff", text))


@pytest.mark.parametrize("declared", ["{a,b}", "{0,1,2}", "{yes,1}"])
def test_label_must_be_binary(write_meka, declared):
    """A label of other values is refused by name."""
    with pytest.raises(ValueError, match=r"label 'y' must be numeric or declared \{0,1\}.*, got \{"):
        read_meka(write_meka(f"@attribute y {declared}\n@attribute a numeric", "1,2\n"))


def test_numeric_label_must_be_0_or_1(write_meka):
    """A number other than 0 and 1 in a numeric label is reported with its line."""
    with pytest.raises(ValueError, match=r"line 6: attribute 'y' must be one of \{0,1\}, got '0.5'\."):
        read_meka(write_meka("@attribute y numeric\n@attribute a numeric", "1,2\n0.5,3\n"))


@pytest.mark.parametrize("compress", [gzip.compress, bz2.compress])
def test_truncated_archive(write_meka, compress):
    """Half an archive is an error, not a shorter data set."""
    path = write_meka(HEADER, "".join(f"1,{n},{n * n}\n" for n in range(5000)))
    packed = compress(path.read_bytes())
    path.write_bytes(packed[: len(packed) // 2])
    with pytest.raises(ValueError, match=r"toy\.arff must be a whole compressed file, got one that is truncated"):
        read_meka(path)


def test_missing_file(tmp_path):
    """A file that is not there is the usual error."""
    with pytest.raises(FileNotFoundError, match="absent"):
        read_meka(tmp_path / "absent.arff")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "@attribute y {0,1}\n@attribute a numeric\n@data 1,5\n0,6",
            "line 4: @data must be alone on its line, got '1,5'",
        ),
        ("@attribute y {0,1} more\n@attribute a numeric\n@data\n0,6", r"line 2: .*each once, got 'more' behind them"),
        ("@attribute y {0,1}\n@attribute a {u,v,u}\n@data\n0,u", "line 3: .*each once, got one of them twice"),
    ],
)
def test_nothing_behind_a_declaration_is_lost(write, text, message):
    """What stands behind @data or a list of values, or twice in it, is an error, never dropped."""
    with pytest.raises(ValueError, match=message):
        read_meka(write("toy.arff", "@relation 'toy: -C 1'\n" + text))


def test_comments_behind_declarations(write):
    """A comment may stand there."""
    text = "@relation 'toy: -C 1'\n@attribute y {0,1} % label\n@attribute a {u,v} % letters\n@data % rows\n1,v"
    assert read_meka(write("toy.arff", text)).X.tolist() == [[0, 0.5, 0, 0.5]]
