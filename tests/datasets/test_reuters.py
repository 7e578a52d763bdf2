"""The articles of Reuters-21578: hand-made files, malformed ones, and the real collection."""

import csv
import gzip
import math
import re
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import snowballstemmer
from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS

from nearlabel.datasets import catalogue, fetch_dataset, read_reuters
from nearlabel.datasets._reuters import read_reuters_terms

DOCTYPE = '<!DOCTYPE lewis SYSTEM "lewis.dtd">\n'
TEXT = "<TEXT>&#2;\n<TITLE>{}</TITLE>\n<DATELINE>    CHICAGO, Feb 26 - </DATELINE><BODY>{}\n&#3;</BODY></TEXT>"


def article(topics, part="TRAIN", *, has_topics="YES", title="A TITLE", body="A body.", text=None):
    """Return one article in the form of the distribution."""
    listed = "".join(f"<D>{topic}</D>" for topic in topics.split())
    return (
        f'<REUTERS TOPICS="{has_topics}" LEWISSPLIT="{part}" CGISPLIT="TRAINING-SET" OLDID="5544" NEWID="1">\n'
        f"<DATE>26-FEB-1987 15:01:01.79</DATE>\n<TOPICS>{listed}</TOPICS>\n<PLACES><D>usa</D></PLACES>\n"
        f"<UNKNOWN> \n&#5;&#5;&#5;C T\nu f BC-REVIEW   02-26 0105</UNKNOWN>\n"
        f"{text or TEXT.format(title, body)}\n</REUTERS>\n"
    )


@pytest.fixture
def write_articles(tmp_path: Path) -> Callable[..., Path]:
    """Write articles into a numbered file and return the folder."""

    def _write(*articles, number=0, head=DOCTYPE):
        (tmp_path / f"reut2-{number:03}.sgm").write_bytes((head + "".join(articles)).encode("latin-1"))
        return tmp_path

    return _write


@pytest.fixture
def small(write_articles) -> Path:
    """Two files: articles of both parts, others that are in none, and topics that only one part has."""
    write_articles(
        article("grain corn", title="first"),
        article("grain", part="NOT-USED", title="not used"),
        article("corn", has_topics="NO", title="no"),
        article("corn", part="TEST", has_topics="BYPASS", title="bypass"),
        article("", title="unlabelled"),
        article("corn", "TEST", title="second"),
        article("tea", title="training only"),
    )
    return write_articles(
        article("ship tea2 corn", title="third"),
        article("coffee", "TEST", title="test only"),
        article("grain coffee ship", "TEST", title="fourth"),
        number=1,
    )


def test_parts_and_topics(small):
    """LEWISSPLIT and TOPICS decide; labels are the topics of both parts; articles without them are left out."""
    data = read_reuters(small)
    assert data.X[:, 0].tolist() == ["first", "third", "second", "fourth"]
    assert data.label_names == ("corn", "grain", "ship")
    assert data.Y.toarray().tolist() == [[1, 1, 0], [1, 0, 1], [1, 0, 0], [0, 1, 1]]
    assert data.Y.dtype == np.int64
    assert (data.feature_names, tuple(data.feature_kinds)) == (("title", "body"), ("text", "text"))
    assert (data.name, data.source) == ("reuters21578", str(small))


def test_each_part(small):
    """The training and the test part have the same labels, and are together the whole."""
    whole, training, test = (read_reuters(small, subset) for subset in ("all", "train", "test"))
    assert training.label_names == test.label_names == whole.label_names
    np.testing.assert_array_equal(np.vstack([training.X, test.X]), whole.X)
    np.testing.assert_array_equal(np.vstack([training.Y.toarray(), test.Y.toarray()]), whole.Y.toarray())


def test_as_a_data_frame(small):
    """With pandas the texts are columns by their names."""
    frame = read_reuters(small).with_frames().X
    assert frame["title"].tolist() == ["first", "third", "second", "fourth"]


@pytest.mark.parametrize(
    ("text", "title", "body"),
    [
        (TEXT.format("B&amp;W &lt;BW> UP", "They\nrose &gt; 5.&#5;&#127;&#65;"), "B&W <BW> UP", "They\nrose > 5.  A"),
        (TEXT.format("Q&A &nbsp; &#99999999;", "x"), "Q&A &nbsp; &#99999999;", "x"),
        (TEXT.format("caf\xe9", "\xfc"), "caf\xe9", "\xfc"),
        ('<TEXT TYPE="UNPROC">&#2;\nSUN RAISES\n  PRICES\n&#3;\n</TEXT>', "", "SUN RAISES\n  PRICES"),
        ('<TEXT TYPE="BRIEF">&#2;\n******<TITLE>SUN\n</TITLE>Blah blah blah.\n&#3;\n</TEXT>', "SUN", ""),
        ("<TEXT><BODY>only\n a body</BODY></TEXT>", "", "only\n a body"),
        ("<TEXT><TITLE>no end\n<BODY>a body</BODY></TEXT>", "", "a body"),
    ],
    ids=["entities", "no entities", "latin-1", "unprocessed", "brief", "no title", "open"],
)
def test_texts(write_articles, text, title, body):
    """Entities become characters, control characters blanks; the title and the body may be missing."""
    folder = write_articles(article("corn", text=text), article("corn", "TEST"))
    assert read_reuters(folder, "train").X.tolist() == [[title, body]]


def test_compressed_files(small):
    """A compressed file is read as the plain one; if both exist, it is not read twice."""
    expected = read_reuters(small).X.tolist()
    path = small / "reut2-000.sgm"
    (small / "reut2-000.sgm.gz").write_bytes(gzip.compress(path.read_bytes()))
    (small / "reut2-000.sgm~").write_bytes(b"a file of an editor")
    assert read_reuters(small).X.tolist() == expected
    path.unlink()
    assert read_reuters(small).X.tolist() == expected
    with pytest.raises(ValueError, match=r"reut2-000\.sgm\.gz .*unpack"):
        read_reuters(small, max_unpacked_bytes=100)


@pytest.mark.parametrize(
    ("content", "line", "message"),
    [
        ("", 1, r"the first line must begin with '<!DOCTYPE lewis', got None\."),
        ("@relation toy\n", 1, "the first line must begin with '<!DOCTYPE lewis', got '@relation toy'"),
        (DOCTYPE + "text\n", 2, "a document must begin with '<REUTERS ', got 'text'"),
        (DOCTYPE + "\n" + article("corn") + "\nthe end", 16, "a document must begin with '<REUTERS ', got 'the end'"),
        (DOCTYPE + article("corn").replace("</REUTERS>", ""), 2, "must end with a line '</REUTERS>', got the end"),
        (DOCTYPE + article("corn").replace("LEWISSPLIT", "SPLIT"), 2, "<REUTERS> must have the attribute LEWISSPLIT"),
        (DOCTYPE + article("corn").replace("<REUTERS TOPICS", "<REUTERS X"), 2, "must have the attribute TOPICS"),
        (DOCTYPE + article("corn").replace("<TOPICS>", "<T>"), 2, "the document must have an element TOPICS"),
        (DOCTYPE + article("corn").replace("</TEXT>", ""), 2, "the document must have an element TEXT"),
    ],
)
def test_malformed(tmp_path, content, line, message):
    """The file and the line are named."""
    (tmp_path / "reut2-000.sgm").write_text(content)
    with pytest.raises(ValueError, match=rf"reut2-000\.sgm, line {line}: .*{message}"):
        read_reuters(tmp_path)


def test_nothing_to_read(tmp_path, write_articles):
    """A folder without the files, and files without a topic that both parts have."""
    with pytest.raises(FileNotFoundError, match=r"must contain files reut2-000\.sgm, .*, got none"):
        read_reuters(tmp_path)
    with pytest.raises(FileNotFoundError, match="nowhere"):
        read_reuters(tmp_path / "nowhere")
    write_articles(article("corn"), article("tea", "TEST"))
    with pytest.raises(ValueError, match="must contain training and test articles with a common topic, got none"):
        read_reuters(tmp_path)
    with pytest.raises(ValueError, match=r"subset must be one of .*, got 'half'"):
        read_reuters(tmp_path, "half")


def entropy(p):
    """Return the entropy of a share in nats."""
    return -sum(q * math.log(q) for q in (p, 1 - p) if q > 0)


def slow_gain(present, labels):
    """Return the sum over labels of what the presence of a term tells about the label."""
    total = 0.0
    for label in zip(*labels, strict=True):
        rest = 0.0
        for value in (True, False):
            inside = [has for has, is_present in zip(label, present, strict=True) if is_present == value]
            rest += len(inside) / len(label) * entropy(sum(inside) / len(inside)) if inside else 0.0
        total += entropy(sum(label) / len(label)) - rest
    return total


def slow_terms(texts):
    """Return the terms of each text: words of two letters or digits, no stop words, stems."""
    porter = snowballstemmer.stemmer("porter")
    words = [re.findall(r"\b\w\w+\b", " ".join(text).lower()) for text in texts]
    return [porter.stemWords([word for word in some if word not in ENGLISH_STOP_WORDS]) for some in words]


TEXTS = {  # topics, part: text
    ("corn grain", "TRAIN"): "The corn harvests were ruined: 155,221 bags of corn.",
    ("corn", "TRAIN"): "Corn harvested in Ohio",
    ("grain", "TRAIN"): "Shipments of grains, and ships",
    ("ship", "TRAIN"): "A ship shipped some grain; the shipping was late",
    ("ship grain", "TEST"): "Ships full of unheard words and grain, grain, grain",
    ("corn", "TEST"): "corn",
}


@pytest.mark.parametrize("n_terms", [1, 4, 9, 11])
def test_terms_equal_loops(write_articles, n_terms):
    """Counts of the stems that tell most in the training part; of equal ones the first in alphabetical order."""
    folder = write_articles(*(article(*about, title="", body=text) for about, text in TEXTS.items()))
    training, test = read_reuters_terms(folder, n_terms)
    terms = slow_terms(read_reuters(folder, "train").X)
    labels = read_reuters(folder, "train").Y.toarray().tolist()
    known = sorted({term for some in terms for term in some})
    gains = {term: round(slow_gain([term in some for some in terms], labels), 9) for term in known}
    expected = sorted(sorted(known, key=lambda term: (-gains[term], term))[:n_terms])
    assert training.feature_names == test.feature_names == tuple(expected)
    for part, some in (("train", training), ("test", test)):
        counts = [Counter(terms) for terms in slow_terms(read_reuters(folder, part).X)]
        assert some.X.toarray().tolist() == [[count[term] for term in expected] for count in counts]


def test_entry_of_the_catalogue(monkeypatch, tmp_path):
    """Without the articles the error names the first file; other articles than the collection's are refused."""
    monkeypatch.setenv("NEARLABEL_DATA", str(tmp_path))
    with pytest.raises(FileNotFoundError, match=r"which lacks reuters21578/reut2-000\.sgm: .*cannot be downloaded"):
        fetch_dataset("reuters21578-terms")
    (tmp_path / "reuters21578").mkdir()
    articles = "".join(article(*about, body=text) for about, text in TEXTS.items())
    (tmp_path / "reuters21578" / "reut2-000.sgm").write_text(DOCTYPE + articles)
    with pytest.raises(ValueError, match=r"must have .* \(7770, 15000, 90\) as in the catalogue, got \(4, 12, 3\)"):
        fetch_dataset("reuters21578-terms")


@pytest.mark.long
def test_the_collection(data_folder):
    """7,770 training and 3,019 test articles with 90 topics, in the order and with the topics of another program."""
    with gzip.open(data_folder / "reuters21578-modapte90" / "documents.csv.gz", "rt") as file:
        documents = list(csv.DictReader(file))
    for part, n_articles in (("train", 7770), ("test", 3019)):
        data = read_reuters(data_folder / "reuters21578", part)
        assert data.Y.shape == (n_articles, 90)
        ours = [{data.label_names[i] for i in row.indices} for row in data.Y]
        known = set(data.label_names)
        assert ours == [known & {*one["topics"].split()} for one in documents if one["split"] == part]
        assert all(title or body for title, body in data.X)


@pytest.mark.long
@pytest.mark.usefixtures("data_folder")
def test_terms_of_the_collection():
    """Both parts of the catalogue's data set have the same 15,000 terms, and no article is empty."""
    training, test = fetch_dataset("reuters21578-terms", "train"), fetch_dataset("reuters21578-terms", "test")
    assert training.feature_names == test.feature_names
    assert (training.X.shape, test.X.shape) == ((7770, 15000), (3019, 15000))
    assert {"wheat", "corn", "export"} <= set(training.feature_names)
    assert training.X.sum(axis=1).min() > 0
    entry = catalogue()["reuters21578-terms"]
    assert (training.Y.shape, test.Y.shape) == ((7770, 90), (3019, 90))
    assert (sum(file.instances for file in entry.files("all")), entry.features, entry.labels) == (10789, 15000, 90)
    assert {training.Y.dtype, test.Y.dtype} == {np.dtype(np.int64)}
