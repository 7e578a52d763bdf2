"""The SGML files of Reuters-21578 as texts with topics, split as Apté et al. did."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np
from scipy import sparse
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.preprocessing import MultiLabelBinarizer

from nearlabel.datasets._dataset import SUBSETS, Dataset
from nearlabel.datasets._lines import Lines, malformed, plain_name
from nearlabel.files.untrusted import naming_too_large
from nearlabel.preprocessing import InformationGainSelector, StemAnalyzer
from nearlabel.utils.types import Matrix
from nearlabel.utils.validation import check_choice

_FILE = re.compile(r"reut2-\d+\.sgm(?:\.gz|\.bz2)?", re.ASCII)
_FIRST_LINE = "<!DOCTYPE lewis"
_ATTRIBUTE = re.compile(r'\b(\w++)="([^"]*+)"')
_TOPIC = re.compile(r"<D>([^<>]*+)</D>")
_ENTITY = re.compile(r"&(?:(lt|gt|amp)|#(\d{1,6}+));", re.ASCII)
_NAMED = {"lt": "<", "gt": ">", "amp": "&"}
_PARTS = {"TRAIN": "train", "TEST": "test"}  # of LEWISSPLIT, where TOPICS is YES: the split "ModApte"


class _Article(NamedTuple):
    part: str
    title: str
    body: str
    topics: frozenset[str]


@naming_too_large
def read_reuters(folder: str | Path, subset: str = "all", *, max_unpacked_bytes: int | None = None) -> Dataset:
    """Read the news texts of Reuters-21578 and their topics, in the split of Apté et al. ("ModApte").

    The training part are the articles with LEWISSPLIT="TRAIN" and TOPICS="YES", the test part those with
    LEWISSPLIT="TEST" and TOPICS="YES". The labels are the topics that both parts have (90 in the whole collection);
    articles with none of them are left out.

    Parameters
    ----------
    folder : path-like
        Folder with the files ``reut2-000.sgm`` to ``reut2-021.sgm`` of the distribution, plain, gzip or bzip2.
    subset : {"all", "train", "test"}, default="all"
        Part of the split; "all" is the training samples, then the test samples.
    max_unpacked_bytes : int, default=None
        Number of bytes to which a compressed file may unpack. None: 100 times its size, at least 512 MiB.

    Returns
    -------
    Dataset
        X is an array of texts (n_samples, 2), with the columns ``title`` and ``body``; an article without a title or
        body has an empty text. Y is a CSR array (n_samples, n_labels), with the topics in alphabetical order.

    Raises
    ------
    FileNotFoundError
        If the folder does not exist or has none of the files.
    ValueError
        If a file is malformed (with file and line), `subset` is unknown, or no topic occurs in both parts.

    See Also
    --------
    nearlabel.preprocessing.StemAnalyzer : Makes terms of a text.

    Notes
    -----
    References to control characters, such as ``&#3;``, are replaced by blanks. The body of an article without a title
    and a body is its whole text (61 of the training and test articles, TYPE="UNPROC").

    Examples
    --------
    >>> from nearlabel.datasets import read_reuters
    >>> news = read_reuters("reuters21578", "train")  # doctest: +SKIP
    >>> news.X[0, 0], news.Y.shape  # doctest: +SKIP
    ('BAHIA COCOA REVIEW', (7770, 90))
    """
    check_choice("subset", subset, SUBSETS)
    training, test = reuters_parts(Path(folder), max_unpacked_bytes)
    if subset == "all":
        return replace(training, X=np.vstack([training.X, test.X]), Y=sparse.vstack([training.Y, test.Y], format="csr"))
    return training if subset == "train" else test


def reuters_parts(folder: Path, max_unpacked_bytes: int | None = None) -> tuple[Dataset, Dataset]:
    """Return the training and the test part, as `read_reuters` describes them."""
    articles = [article for path in _files(folder) for article in _articles(path, max_unpacked_bytes)]
    topics = sorted(_topics_of(articles, "train") & _topics_of(articles, "test"))
    if not topics:
        raise ValueError(f"{folder} must contain training and test articles with a common topic, got none.")
    training, test = (_dataset(folder, articles, topics, part) for part in ("train", "test"))
    return training, test


def _files(folder: Path) -> list[Path]:
    """Return the files in order; of a file and its compressed copy, only the file."""
    found = [path for path in sorted(folder.iterdir(), reverse=True) if _FILE.fullmatch(path.name)]
    if not found:
        raise FileNotFoundError(f"{folder} must contain files reut2-000.sgm, reut2-001.sgm, ..., got none.")
    by_name = {plain_name(path): path for path in found}
    return [by_name[name] for name in sorted(by_name)]


def _articles(path: Path, max_unpacked_bytes: int | None) -> Iterator[_Article]:
    """Yield the articles of one file that are in a part of the split."""
    for number, head, lines in _documents(path, max_unpacked_bytes):
        attributes = dict(_ATTRIBUTE.findall(head))
        if missing := {"TOPICS", "LEWISSPLIT"} - attributes.keys():
            raise malformed(path, number, f"<REUTERS> must have the attribute {min(missing)}, got {head!r}.")
        part = _PARTS.get(attributes["LEWISSPLIT"])
        if part and attributes["TOPICS"] == "YES":
            yield _article(path, number, part, "\n".join(lines))


def _documents(path: Path, max_unpacked_bytes: int | None) -> Iterator[tuple[int, str, list[str]]]:
    """Yield (number of the first line, first line, other lines) of each document."""
    with Lines(path, max_unpacked_bytes) as lines:
        first = lines.next_line()
        if first is None or not first.startswith(_FIRST_LINE):
            raise malformed(path, 1, f"the first line must begin with {_FIRST_LINE!r}, got {first!r}.")
        for head in iter(lines.next_line, None):
            if not head.strip():
                continue
            if not head.startswith("<REUTERS "):
                raise malformed(path, lines.number, f"a document must begin with '<REUTERS ', got {head!r}.")
            yield lines.number, head, _rest_of_document(lines)


def _rest_of_document(lines: Lines) -> list[str]:
    number = lines.number
    rest: list[str] = []
    for line in iter(lines.next_line, None):
        if line.startswith("</REUTERS>"):
            return rest
        rest.append(line)
    raise malformed(lines.path, number, "the document must end with a line '</REUTERS>', got the end of the file.")


def _article(path: Path, number: int, part: str, document: str) -> _Article:
    topics, text = _element(document, "TOPICS"), _element(document, "TEXT")
    if topics is None or text is None:
        raise malformed(path, number, f"the document must have an element {'TOPICS' if topics is None else 'TEXT'}.")
    title, body = _element(text, "TITLE"), _element(text, "BODY")
    if title is None and body is None:
        body = text
    names = frozenset(map(_plain, _TOPIC.findall(topics))) - {""}
    return _Article(part, _plain(title or ""), _plain(body or ""), names)


def _element(text: str, name: str) -> str | None:
    """Return the content of the first element of a name."""
    tag = re.search(rf"<{name}(?:\s[^<>]*+)?>", text)
    end = text.find(f"</{name}>", tag.end()) if tag else -1
    return None if tag is None or end < 0 else text[tag.end() : end]


def _plain(text: str) -> str:
    """Return a text with its entities replaced, and without blanks around it."""
    return _ENTITY.sub(_character, text).strip()


def _character(entity: re.Match[str]) -> str:
    if entity[1]:
        return _NAMED[entity[1]]
    character = chr(int(entity[2]))
    return character if character.isprintable() else " "


def _topics_of(articles: Iterable[_Article], part: str) -> set[str]:
    return {topic for article in articles if article.part == part for topic in article.topics}


def _dataset(folder: Path, articles: Iterable[_Article], topics: list[str], part: str) -> Dataset:
    kept = [article for article in articles if article.part == part and not article.topics.isdisjoint(topics)]
    X = np.array([(article.title, article.body) for article in kept], dtype=object)
    binarizer = MultiLabelBinarizer(classes=topics, sparse_output=True)
    Y = binarizer.fit_transform([article.topics.intersection(topics) for article in kept])
    Y = sparse.csr_array(Y, dtype=np.int64)
    return Dataset(X, Y, ("title", "body"), tuple(topics), "reuters21578", ("text", "text"), source=str(folder))


# Counts of terms of the Reuters-21578 articles, prepared as Pillai, Fumera and Roli (ICPR 2012) describe.
#
# "After stemming and stop-word removal, a further feature selection was carried out using the information gain
# criterion", to 15,000 features. Not stated, our choices: words are those of scikit-learn's CountVectorizer, with
# scikit-learn's stop list, in title and body; Porter's stemmer; the gain of a term is the sum, over the topics, of
# the information that its presence gives about the topic. Terms are selected by the training part only.


def read_reuters_terms(folder: Path, n_terms: int) -> tuple[Dataset, Dataset]:
    """Return the training and the test part as counts (n_samples, n_terms) of the most informative terms.

    If the training part has fewer terms, all are kept.
    """
    training, test = reuters_parts(folder)
    counter = CountVectorizer(analyzer=StemAnalyzer("porter"), dtype=np.float64)
    counts = counter.fit_transform(_texts(training))
    n_features = min(n_terms, counts.shape[1])
    selector = InformationGainSelector(labels="sum", symmetric=False, n_bins=1, n_features=n_features)
    selector.fit(counts, training.Y)
    terms = tuple(counter.get_feature_names_out()[selector.get_support()])
    return (
        _with_terms(training, selector.transform(counts), terms),
        _with_terms(test, selector.transform(counter.transform(_texts(test))), terms),
    )


def _with_terms(part: Dataset, counts: Matrix, terms: tuple[str, ...]) -> Dataset:
    return replace(part, X=sparse.csr_array(counts), feature_names=terms, feature_kinds=())


def _texts(part: Dataset) -> list[str]:
    return [f"{title}\n{body}" for title, body in part.X]
