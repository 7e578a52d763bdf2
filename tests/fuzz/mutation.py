"""Damage to files: of any bytes, of lines and cells of text, and inside of JSON, zip archives and arrays of numpy.

A file of an input is a mutation of a valid one, by a generator of random numbers with a seed: the same seed gives the
same inputs, where the same libraries make the valid ones. Inputs are dicts of the names and contents of files.
"""

from __future__ import annotations

import base64
import bz2
import gzip
import io
import json
import random
import re
import warnings
import zipfile
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

Files: TypeAlias = dict[str, bytes]
Mutation: TypeAlias = Callable[[random.Random, bytes], bytes]

LARGEST = 2**18  # bytes that a mutation may grow a file to

# What stands in for numbers and names of a text: limits of types, overflow, other scripts, near misses.
CELLS = (
    *(b"0", b"1", b"-1", b"2", b"0.0", b"-0", b"1e400", b"-1e400", b"1e-400", b"5e-324", b"1.7976931348623157e308"),
    *(b"1e308", b"1e150", b"nan", b"NaN", b"inf", b"-inf", b"?", b"", b" ", b"null", b"None", b"true", b"yes", b"NO"),
    *(b"127", b"128", b"255", b"256", b"32768", b"65536", b"2147483647", b"2147483648", b"4294967296", b"-2147483649"),
    *(b"9223372036854775807", b"9223372036854775808", b"-9223372036854775809", b"18446744073709551616", b"999999999"),
    *(b"9" * 30, b"9" * 400, b"9" * 5000, b"0." + b"0" * 500 + b"1", b"1_000", b"1,000", b"1.000,5", b"0x10", b"0b1"),
    *(b"+1", b"1.", b".5", b"1e", b"e5", b"--1", b"1e5.5", b"1 2", b"1d5", b"1f", b"1j", b"01", b"1e99999999999999999"),
    *(
        "٣".encode(),
        "½".encode(),
        "ä".encode(),
        "\ufeff".encode(),
        "\u2028".encode(),
        "𝟙".encode(),
        b"\xff",
        b"\xed\xa0\x80",
    ),
    *(
        b"\x00",
        b"\r",
        b"\t",
        b"\x1a",
        b"\x85",
        b"'",
        b'"',
        b'""',
        b"\\",
        b"#",
        b"%",
        b"a",
        b"2020-01-01",
        b"99999-99-99",
    ),
    *(b"2020-02-30", b"0000-00-00T25:61", b"2020-01-01T00:00:00+99:99", b"[1, 2]", b"['a']", b'["a"', b"{}", b"a;b;;a"),
)
_RUNS = (
    b" ",
    b"\t",
    b"[",
    b"]",
    b"{",
    b"}",
    b'"',
    b"'",
    b",",
    b";",
    b"\n",
    b"\r",
    b"0",
    b"9",
    b"a",
    b"\\",
    b"\\'",
    b":",
)
_RUNS_MORE = (b"%", b"#", b"\x00", b"\xff", b"?", b"-", b".", b"0,", b"1:1 ", b"[1,", b'{"a":', b"a b ", b"' '", b"<a>")
_RUN_LENGTHS = (2, 8, 100, 1000, 10_000, 30_000)
_TOKEN = re.compile(rb"[^\s,;:{}\[\]<>=\"']+")
_NUMBER = re.compile(rb"-?\d+(?:\.\d+)?")
_BYTES = (0, 1, 2, 0x7F, 0x80, 0xFE, 0xFF, 0x0A, 0x20, 0x22)
_INTEGERS = (
    0,
    1,
    -1,
    2,
    255,
    2**15,
    2**16,
    2**24,
    2**31 - 1,
    2**31,
    2**32 - 1,
    2**32,
    2**62,
    2**63 - 1,
    2**63,
    2**64 - 1,
)

# What stands in for values of JSON.
VALUES: tuple[Any, ...] = (
    *(None, True, False, 0, 1, -1, 0.5, 1e308, 1e-320, 2**31, 2**53 + 1, 2**63, -(2**63), 2**64, 10**30, 10**400),
    *(float("nan"), float("inf"), "", " ", "a", "0", "1", "nan", "ä", "\ud800", "\x00", "a" * 300, "../../x", "/"),
    *([], {}, [[]], [None], [1, "a"], [[1], [2, 3]], {"a": 1}, {"": None}, ["a", "a"], [1, 2, 3], "2020-01-01"),
)


def mutated(rng: random.Random, content: bytes, mutations: Sequence[Mutation], splices: Sequence[bytes] = ()) -> bytes:
    """Return a content after one mutation or a few; `splices` are other contents, of which parts may come in."""
    for _ in range(1 + min(int(rng.expovariate(0.9)), 6)):
        if splices and rng.random() < 0.08:
            content = _spliced(rng, content, rng.choice(splices))
        else:
            content = rng.choice(mutations)(rng, content)
    return content if len(content) <= LARGEST else content[:LARGEST]


def _place(rng: random.Random, content: bytes) -> int:
    return rng.randrange(len(content)) if content else 0


def _spliced(rng: random.Random, content: bytes, other: bytes) -> bytes:
    start, stop = sorted((_place(rng, other), _place(rng, other)))
    at = _place(rng, content)
    return content[:at] + other[start:stop] + content[at + rng.choice((0, stop - start)) :]


# Any bytes.


def flip_bits(rng: random.Random, content: bytes) -> bytes:
    """Change some bits of the file."""
    changed = bytearray(content)
    for _ in range(rng.choice((1, 1, 2, 8)) if content else 0):
        changed[_place(rng, content)] ^= 1 << rng.randrange(8)
    return bytes(changed)


def set_bytes(rng: random.Random, content: bytes) -> bytes:
    """Set a byte, or some in a row, to a value of interest."""
    at, n = _place(rng, content), rng.choice((1, 1, 2, 4, 8))
    return content[:at] + bytes([rng.choice(_BYTES)]) * n + content[at + n :]


def set_integer(rng: random.Random, content: bytes) -> bytes:
    """Write an integer of interest, of two, four or eight bytes, over what was there."""
    size = rng.choice((2, 4, 8))
    number = rng.choice(_INTEGERS) % 2 ** (8 * size)
    at = _place(rng, content)
    return content[:at] + number.to_bytes(size, rng.choice(("little", "little", "big"))) + content[at + size :]


def truncate(rng: random.Random, content: bytes) -> bytes:
    """Cut off the end, or rarely the start."""
    at = _place(rng, content)
    return content[at:] if rng.random() < 0.2 else content[:at]


def delete_span(rng: random.Random, content: bytes) -> bytes:
    """Take some bytes out."""
    at = _place(rng, content)
    return content[:at] + content[at + rng.choice((1, 1, 2, 5, 20, 200)) :]


def repeat_span(rng: random.Random, content: bytes) -> bytes:
    """Repeat some bytes once, or often."""
    at, n = _place(rng, content), rng.choice((1, 2, 5, 20, 200))
    return content[:at] + content[at : at + n] * rng.choice((2, 2, 3, 50)) + content[at + n :]


def insert_random(rng: random.Random, content: bytes) -> bytes:
    """Put random bytes in."""
    at = _place(rng, content)
    return content[:at] + rng.randbytes(rng.choice((1, 2, 4, 30))) + content[at:]


ANY_BYTES: tuple[Mutation, ...] = (
    *(flip_bits, set_bytes, set_integer, truncate, delete_span, repeat_span, insert_random),
    *(flip_bits, set_bytes, set_integer),  # small damage is the likeliest to be read on
)


# Text.


def other_token(rng: random.Random, content: bytes) -> bytes:
    """Put a cell of interest, or another token of the same file, in the place of a token."""
    tokens = list(_TOKEN.finditer(content))
    if not tokens:
        return rng.choice(CELLS)
    token = rng.choice(tokens)
    new = rng.choice(tokens)[0] if rng.random() < 0.3 else rng.choice(CELLS)
    return content[: token.start()] + new + content[token.end() :]


def other_number(rng: random.Random, content: bytes) -> bytes:
    """Put a cell of interest, or a number near by, in the place of a number."""
    numbers = list(_NUMBER.finditer(content))
    if not numbers:
        return content
    number = rng.choice(numbers)
    new = rng.choice(CELLS)
    if rng.random() < 0.3 and len(number[0]) < 300:
        new = repr(float(number[0]) + rng.choice((-1, 1, 0.5, 1e9))).encode()
    return content[: number.start()] + new + content[number.end() :]


def other_lines(rng: random.Random, content: bytes) -> bytes:
    """Delete, repeat, move or swap a line."""
    lines = content.splitlines(keepends=True)
    if not lines:
        return content
    one, two = rng.randrange(len(lines)), rng.randrange(len(lines))
    how = rng.randrange(4)
    if how == 0:
        del lines[one]
    elif how == 1:
        lines.insert(two, lines[one] * rng.choice((1, 1, 2, 100)))
    elif how == 2:
        lines[one], lines[two] = lines[two], lines[one]
    else:
        lines.insert(two, lines.pop(one))
    return b"".join(lines)


def other_cells(rng: random.Random, content: bytes) -> bytes:
    """Delete, repeat or swap cells of a line."""
    lines = content.split(b"\n")
    at = rng.randrange(len(lines))
    separator = rng.choice((b",", b",", b";", b"\t", b" ", b":"))
    cells = lines[at].split(separator)
    one, two = rng.randrange(len(cells)), rng.randrange(len(cells))
    how = rng.randrange(3)
    if how == 0:
        del cells[one]
    elif how == 1:
        cells.insert(two, cells[one])
    else:
        cells[one], cells[two] = cells[two], cells[one]
    lines[at] = separator.join(cells)
    return b"\n".join(lines)


def other_punctuation(rng: random.Random, content: bytes) -> bytes:
    """Insert a character that means something."""
    at = _place(rng, content)
    mark = rng.choice(
        (*(bytes([c]) for c in b"'\"\\,;:{}[]()<>=%#?@&!|\t\n\r -+.0"), b"\xef\xbb\xbf", b"\x00", b"\xff")
    )
    return content[:at] + mark + content[at + rng.choice((0, 1)) :]


def long_run(rng: random.Random, content: bytes) -> bytes:
    """Insert a run of blanks, brackets, quotes or the like, up to 30,000 long."""
    at = _place(rng, content)
    run = rng.choice(_RUNS if rng.random() < 0.7 else _RUNS_MORE)
    return content[:at] + run * rng.choice(_RUN_LENGTHS) + content[at:]


def other_ends(rng: random.Random, content: bytes) -> bytes:
    """Write other ends of lines, or a mark before all."""
    how = rng.randrange(5)
    if how == 0:
        return content.replace(b"\n", b"\r\n")
    if how == 1:
        return content.replace(b"\n", b"\r")
    if how == 2:
        return b"\xef\xbb\xbf" + content
    if how == 3:
        return content.removesuffix(b"\n")
    return content.replace(b"\n", b"\n\n")


def other_case(rng: random.Random, content: bytes) -> bytes:
    """Turn small letters of a token into capitals, or the other way round."""
    tokens = list(_TOKEN.finditer(content))
    if not tokens:
        return content
    token = rng.choice(tokens)
    return content[: token.start()] + token[0].swapcase() + content[token.end() :]


TEXT: tuple[Mutation, ...] = (
    *(other_token, other_number) * 5,
    *(other_lines, other_cells, other_punctuation) * 3,
    *(flip_bits, delete_span, repeat_span, truncate, set_bytes, insert_random),
    *(long_run, other_ends, other_case),
)


def words(*known: bytes) -> Mutation:
    """Return a mutation that inserts one of the words of a format, or puts it in the place of a token."""

    def other_word(rng: random.Random, content: bytes) -> bytes:
        tokens = list(_TOKEN.finditer(content))
        if not tokens or rng.random() < 0.5:
            at = _place(rng, content)
            return content[:at] + rng.choice(known) + content[at:]
        token = rng.choice(tokens)
        return content[: token.start()] + rng.choice(known) + content[token.end() :]

    return other_word


# JSON.


def in_json(rng: random.Random, content: bytes) -> bytes:
    """Change, repeat, rename or delete one value of a document; text mutations where it is no JSON any more."""
    try:
        document = json.loads(content)
    except (ValueError, RecursionError):
        return rng.choice(TEXT)(rng, content)
    document = _changed(rng, document)
    if rng.random() < 0.02:
        n = rng.choice((50, 1000, 20_000))
        return b"[" * n + json.dumps(document).encode() + b"]" * rng.choice((n, 0))
    return json.dumps(document, ensure_ascii=rng.random() < 0.7).encode("utf-8", "surrogatepass")


def _changed(rng: random.Random, value: Any) -> Any:
    """Return a value of which a random part is another."""
    inside = isinstance(value, dict | list) and value
    if not inside or rng.random() < 0.08:
        return _another(rng, value)
    if isinstance(value, dict):
        key = rng.choice(list(value))
        how = rng.random()
        if how < 0.12:
            return {k: v for k, v in value.items() if k != key}
        if how < 0.2:
            other = rng.choice((*value, "", "extra", key * 2))
            return {other if k == key else k: v for k, v in value.items()}
        if how < 0.26:
            return value | {key: value[rng.choice(list(value))]}
        return value | {key: _changed(rng, value[key])}
    at = rng.randrange(len(value))
    how = rng.random()
    if how < 0.1:
        return value[:at] + value[at + 1 :]
    if how < 0.2:
        return value[:at] + [value[at]] * rng.choice((2, 3, 100)) + value[at + 1 :]
    return [*value[:at], _changed(rng, value[at]), *value[at + 1 :]]


def _another(rng: random.Random, value: Any) -> Any:
    if rng.random() < 0.5:
        if isinstance(value, bool):
            return not value
        if isinstance(value, int | float):
            return value + rng.choice((-1, 1, 7, 0.5)) if abs(value) < 1e300 else 0
        if isinstance(value, str) and value:
            return rng.choice((value[:-1], value + "x", value.swapcase(), value + "/../" + value, value[::-1]))
    return rng.choice(VALUES)


def in_json_lines(rng: random.Random, content: bytes) -> bytes:
    """Change one line of JSON lines."""
    lines = content.split(b"\n")
    at = rng.randrange(len(lines))
    lines[at] = in_json(rng, lines[at]) if lines[at] else rng.choice((b"{}", b"[]", b"null", b"", b"1"))
    return b"\n".join(lines)


class _Pairs(list[tuple[str, Any]]):
    """The names and values of an object, in which a name may come twice."""


def other_parts(rng: random.Random, content: bytes) -> bytes:
    """Leave out, repeat and move some names of objects and some elements of lists, anywhere in a document."""
    try:
        document = json.loads(content, object_pairs_hook=_Pairs)
    except (ValueError, RecursionError):
        return rng.choice(TEXT)(rng, content)
    return _with_other_parts(rng, document, rng.choice((0.02, 0.1, 0.4))).encode()


def _with_other_parts(rng: random.Random, value: Any, chance: float) -> str:
    if not isinstance(value, list):
        return json.dumps(value)
    parts = [part for part in value for _ in range(rng.choice((0, 2)) if rng.random() < chance else 1)]
    if rng.random() < chance:
        rng.shuffle(parts)
    if isinstance(value, _Pairs):
        written = [f"{json.dumps(name)}: {_with_other_parts(rng, one, chance)}" for name, one in parts]
        return "{" + ", ".join(written) + "}"
    return "[" + ", ".join(_with_other_parts(rng, part, chance) for part in parts) + "]"


def other_parts_of_a_line(rng: random.Random, content: bytes) -> bytes:
    """The same in one line of JSON lines."""
    lines = content.split(b"\n")
    at = rng.randrange(len(lines))
    lines[at] = other_parts(rng, lines[at])
    return b"\n".join(lines)


JSON: tuple[Mutation, ...] = (*(in_json,) * 20, *(other_parts,) * 8, *TEXT)
JSON_LINES: tuple[Mutation, ...] = (*(in_json_lines,) * 20, *(other_parts_of_a_line,) * 8, *TEXT)

# XML.

_OF_XML = re.compile(rb"""\s[\w:.-]+=(?:"[^"<]*"|'[^'<]*')|<([\w:]+)[^<>]*(?:/>|>[^<>]*</\1>)""")


def other_attributes(rng: random.Random, content: bytes) -> bytes:
    """Leave out, repeat or move an attribute, or an element without others in it."""
    found = list(_OF_XML.finditer(content))
    if not found:
        return rng.choice(TEXT)(rng, content)
    one, other = rng.choice(found), rng.choice(found)
    new = rng.choice((b"", one[0] * 2, other[0]))
    return content[: one.start()] + new + content[one.end() :]


XML: tuple[Mutation, ...] = (*(other_attributes,) * 12, *TEXT)


# Archives and arrays.


def in_array(rng: random.Random, content: bytes) -> bytes:
    """Change an array of numpy: its header, whose length stays true, or its numbers."""
    if content[:6] != b"\x93NUMPY" or len(content) < 10:
        return rng.choice(ANY_BYTES)(rng, content)
    end = 10 + int.from_bytes(content[8:10], "little")
    header, numbers = content[10:end], content[end:]
    if rng.random() < 0.45:
        return content[:end] + rng.choice(ANY_BYTES)(rng, numbers)
    if rng.random() < 0.5:
        header = other_shape(rng, header)
    elif rng.random() < 0.5:
        types = (b"'<i8'", b"'|O'", b"'<U5'", b"'|S3'", b"'|V8'", b"'<f2'", b"'>f8'", b"'<c16'", b"'|b1'", b"'<M8[D]'")
        header = re.sub(rb"'[<>|][a-zA-Z]\d*'", rng.choice((*types, b"'<U1000000000'", b"[('a', '<i4')]")), header)
    else:
        header = rng.choice(TEXT)(rng, header)
    header = header[: 2**15]
    return content[:8] + len(header).to_bytes(2, "little") + header + numbers


def other_shape(rng: random.Random, header: bytes) -> bytes:
    """Return the header of an array with another shape."""
    n = rng.choice((0, 1, -1, 3, 50, 10**4, 10**6, 10**9, 2**31, 2**40, 2**62, 2**63, 2**64, 10**30))
    shape = rng.choice((b"(%d,)", b"(%d, 1)", b"(1, %d)", b"(%d, 2, 3)", b"(0, %d)")) % n
    return re.sub(rb"\([\d, ]*\)", rng.choice((shape, shape, b"()", b"(True,)", b"(2.0,)", b"7", b"((1,),)")), header)


ARRAY: tuple[Mutation, ...] = (*(in_array,) * 4, *ANY_BYTES)


def mutations_of(name: str) -> tuple[Mutation, ...]:
    """Return the mutations that fit a member of an archive, or a file of a folder, by its name."""
    for suffix, mutations in _BY_SUFFIX.items():
        if name.endswith(suffix):
            return mutations
    return ANY_BYTES


def in_archive(rng: random.Random, content: bytes) -> bytes:
    """Change a member of a zip archive, or its name, or how it is packed; check sums are right again."""
    try:
        members = _members(content)
    except Exception:  # noqa: BLE001  # of an archive that was damaged before, zipfile raises almost anything
        members = []
    if not members:
        return rng.choice(ANY_BYTES)(rng, content)
    at, how = rng.randrange(len(members)), rng.random()
    name, inside = members[at]
    if how < 0.05:
        del members[at]
    elif how < 0.1:
        members.append((name, inside))
    elif how < 0.15:
        members[at] = (rng.choice((rng.choice(members)[0], "../" + name, "x.npy", "", name.upper())), inside)
    elif how < 0.2:
        members[at] = (name, rng.choice(members)[1])
    elif how < 0.22:
        members[at] = (name, b"\x00" * 10**6 if name.endswith(".npy") else b" " * 10**6)
    else:
        others = [other for _, other in members]
        members[at] = (name, mutated(rng, inside, mutations_of(name), others))
    return _packed(members, deflated=rng.random() < 0.5)


def _members(content: bytes) -> list[tuple[str, bytes]]:
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        if sum(info.file_size for info in archive.infolist()) > 2**22:
            return []
        return [(info.filename, archive.read(info)) for info in archive.infolist()]


def _packed(members: Sequence[tuple[str, bytes]], *, deflated: bool) -> bytes:
    file = io.BytesIO()
    with warnings.catch_warnings(), zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED if deflated else 0) as archive:
        warnings.simplefilter("ignore")  # of names that come twice, which is the point
        for name, inside in members:
            archive.writestr(zipfile.ZipInfo(name or "_"), inside, zipfile.ZIP_DEFLATED if deflated else 0)
    return file.getvalue()


ARCHIVE: tuple[Mutation, ...] = (*(in_archive,) * 14, *ANY_BYTES)


def packed_text(pack: Callable[[bytes], bytes], unpack: Callable[[bytes], bytes], mutations: Sequence[Mutation]) -> Any:
    """Return a mutation of what is inside of a compressed file."""

    def in_packed(rng: random.Random, content: bytes) -> bytes:
        try:
            inside = unpack(content)
        except Exception:  # noqa: BLE001  # it was damaged before
            return rng.choice(ANY_BYTES)(rng, content)
        return pack(rng.choice(mutations)(rng, inside)[:LARGEST])

    return in_packed


def _gzipped(content: bytes) -> bytes:
    return gzip.compress(content, 1, mtime=0)


GZIP: tuple[Mutation, ...] = (*(packed_text(_gzipped, gzip.decompress, TEXT),) * 12, *ANY_BYTES)
BZIP2: tuple[Mutation, ...] = (*(packed_text(bz2.compress, bz2.decompress, TEXT),) * 12, *ANY_BYTES)


def in_footer(rng: random.Random, content: bytes) -> bytes:
    """Change the last part of a Parquet file, which says what it holds; its length stays true."""
    size = int.from_bytes(content[-8:-4], "little")
    if content[-4:] != b"PAR1" or not 0 < size <= len(content) - 12:
        return rng.choice(ANY_BYTES)(rng, content)
    pages, footer = content[: -8 - size], content[-8 - size : -8]
    schema = re.search(rb"[A-Za-z0-9+/]{60,}={0,2}", footer)
    if schema and rng.random() < 0.25:  # of Arrow, in base 64
        try:
            inside = rng.choice(ANY_BYTES[:3])(rng, base64.b64decode(schema[0], validate=True))
        except ValueError:
            inside = b""
        new = base64.b64encode(inside)[: len(schema[0])].ljust(len(schema[0]), b"=")
        footer = footer[: schema.start()] + new + footer[schema.end() :]
    else:
        footer = rng.choice(ANY_BYTES)(rng, footer)
    return pages + footer + len(footer).to_bytes(4, "little") + b"PAR1"


def in_pages(rng: random.Random, content: bytes) -> bytes:
    """Change a page of a Parquet file: small damage, so that places of the others stay."""
    size = int.from_bytes(content[-8:-4], "little")
    end = max(len(content) - 8 - size, 0)
    return rng.choice((flip_bits, set_bytes, set_integer))(rng, content[:end])[:end].ljust(end, b"\x00") + content[end:]


PARQUET: tuple[Mutation, ...] = (*(in_footer, in_footer, in_pages) * 4, *ANY_BYTES)

_BY_SUFFIX: Mapping[str, tuple[Mutation, ...]] = {
    ".npy": ARRAY,
    ".npz": ARCHIVE,
    ".jsonl": JSON_LINES,
    ".json": JSON,
    ".xml": XML,
    ".rels": XML,
    ".csv": TEXT,
    ".arff": TEXT,
    ".toml": TEXT,
}
