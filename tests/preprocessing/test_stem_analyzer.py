"""Terms of texts: words, stop words, stems; with scikit-learn's vectorizers."""

import pickle
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest
import snowballstemmer
from sklearn.base import clone
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline

from nearlabel.lazy import BRkNN
from nearlabel.preprocessing import StemAnalyzer

TEXTS = ["Wheat exports rose, as WHEAT exported", "the banks and a banking crisis", "10 x 1987: 3.5", ""]


@pytest.mark.parametrize("stop_words", [None, "english", ["wheat", "banks"], frozenset({"rose"})])
@pytest.mark.parametrize("stemmer", ["porter", "english", "german"])
def test_equals_its_steps(stemmer, stop_words):
    """scikit-learn's words without its stop words, each stemmed."""
    words = CountVectorizer(stop_words=None if stop_words is None else sorted(stop_words)).build_analyzer()
    if stop_words == "english":
        words = CountVectorizer(stop_words="english").build_analyzer()
    stem = snowballstemmer.stemmer(stemmer).stemWord
    analyze = StemAnalyzer(stemmer, stop_words=stop_words)
    for text in TEXTS:
        assert analyze(text) == [stem(word) for word in words(text)]


@pytest.mark.parametrize(
    ("word", "stem"),
    [("caresses", "caress"), ("ponies", "poni"), ("relational", "relat"), ("hopping", "hop"), ("feed", "feed")],
)
def test_examples_of_porter(word, stem):
    """Examples of Porter's paper (1980)."""
    assert StemAnalyzer("porter")(word) == [stem]


def test_stop_words_are_removed_before_stemming():
    """A stop word whose stem is another word is removed; a word whose stem is a stop word is not."""
    assert StemAnalyzer(stop_words=["having"])("having haves") == ["have"]
    assert StemAnalyzer(stop_words=["have"])("having have") == ["have"]


def test_other_words():
    """The pattern may be one's own."""
    assert StemAnalyzer(token_pattern="[a-z]+")("F-16s fly at 5") == ["f", "s", "fli"]


@pytest.mark.parametrize("vectorizer", [CountVectorizer, TfidfVectorizer])
def test_in_a_vectorizer(vectorizer):
    """The columns are the terms, and copies of the vectorizer count the same."""
    counter = vectorizer(analyzer=StemAnalyzer("porter"))
    rows = counter.fit_transform(TEXTS)
    assert counter.get_feature_names_out().tolist() == ["10", "1987", "bank", "crisi", "export", "rose", "wheat"]
    for copy in (clone(counter).fit(TEXTS), pickle.loads(pickle.dumps(counter))):
        assert (copy.transform(TEXTS) != rows).nnz == 0


def test_grid_search():
    """Analyzers are alternatives of a grid."""
    model = make_pipeline(CountVectorizer(), BRkNN(1))
    grid = {"countvectorizer__analyzer": ["word", StemAnalyzer(), StemAnalyzer("porter", stop_words=None)]}
    search = GridSearchCV(model, grid, cv=2, scoring="f1_micro").fit(TEXTS, [[1], [0], [1], [0]])
    assert len(search.cv_results_["mean_test_score"]) == 3
    assert StemAnalyzer() == StemAnalyzer("english") != StemAnalyzer("porter")


def test_threads_share_it():
    """The stems are the same in many threads as in one."""
    words = [
        f"{start}{end}" for start in ("nation", "relat", "hop", "organ") for end in ("ally", "ional", "izing")
    ] * 50
    analyze = StemAnalyzer(stop_words=None)
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(analyze, words))
    assert found == [[snowballstemmer.stemmer("english").stemWord(word)] for word in words]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"stemmer": "lovins2"}, r"stemmer must be one of arabic, .*, got 'lovins2'\."),
        ({"stop_words": "german"}, r"stop_words must be 'english', a collection of words or None, got 'german'\."),
        ({"stop_words": 5}, r"stop_words must be 'english', a collection of words or None, got 5\."),
        ({"token_pattern": r"(\w)\w+"}, r"token_pattern must have no group, got .* with 1\."),
        ({"token_pattern": "("}, r"token_pattern must be a regular expression, got '\(': "),
    ],
)
def test_parameters_out_of_range(options, message):
    """Each is named when the analyzer is made."""
    with pytest.raises(ValueError, match=message):
        StemAnalyzer(**options)


def test_without_the_library(monkeypatch):
    """The extra is named."""
    monkeypatch.setitem(sys.modules, "snowballstemmer", None)
    with pytest.raises(ImportError, match=r"StemAnalyzer needs snowballstemmer: pip install 'nearlabel\[text\]'"):
        StemAnalyzer()
