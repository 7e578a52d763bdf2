"""Terms of a text: its words without stop words, reduced to their stems."""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS

from nearlabel.utils.naming import import_optional

_MOST_STEMS = 2**17  # in memory


@dataclass(frozen=True)
class StemAnalyzer:
    r"""Split a text into words, remove stop words and reduce the others to their stems.

    It is called by scikit-learn's `CountVectorizer` or `TfidfVectorizer`: ``CountVectorizer(analyzer=StemAnalyzer())``.
    Stop words are removed before stemming. (A vectorizer whose `tokenizer` returns stems removes those stop words only
    that are their own stem.)

    Parameters
    ----------
    stemmer : str, default="english"
        An algorithm of the package snowballstemmer (extra ``text``): "english", "porter" (Porter 1980), "german",
        "french", ...
    stop_words : "english", collection of str or None, default="english"
        Words that are left out, in lower case. "english": the list of scikit-learn, which fits the stemmers "english"
        and "porter". None: no word is left out.
    token_pattern : str, default=r"(?u)\b\w\w+\b"
        Regular expression of a word, without a group; by default scikit-learn's, two or more letters,
        digits or underscores.

    Raises
    ------
    ValueError
        If there is no such stemmer, `stop_words` is neither "english" nor a collection of words, or `token_pattern` is
        not a regular expression without a group.
    ImportError
        If snowballstemmer is not installed.

    See Also
    --------
    nearlabel.preprocessing.InformationGainSelector : Selects terms.
    nearlabel.preprocessing.FeatureScaler : Weights counts of terms by tf-idf.

    Examples
    --------
    >>> from sklearn.feature_extraction.text import CountVectorizer
    >>> from nearlabel.preprocessing import StemAnalyzer
    >>> StemAnalyzer()("The banks and a banking crisis")
    ['bank', 'bank', 'crisi']
    >>> counter = CountVectorizer(analyzer=StemAnalyzer())
    >>> counter.fit_transform(["Wheat exports rose", "wheat, exported wheat"]).toarray()
    array([[1, 1, 1],
           [1, 0, 2]])
    >>> counter.get_feature_names_out().tolist()
    ['export', 'rose', 'wheat']
    """

    stemmer: str = "english"
    stop_words: str | Collection[str] | None = "english"
    token_pattern: str = r"(?u)\b\w\w+\b"

    def __post_init__(self) -> None:
        known = _snowball().algorithms()
        if self.stemmer not in known:
            raise ValueError(f"stemmer must be one of {', '.join(known)}, got {self.stemmer!r}.")
        no_words = self.stop_words is not None and not isinstance(self.stop_words, Collection)
        if no_words or (isinstance(self.stop_words, str) and self.stop_words != "english"):
            raise ValueError(f"stop_words must be 'english', a collection of words or None, got {self.stop_words!r}.")
        try:
            n_groups = re.compile(self.token_pattern).groups
        except re.error as error:
            raise ValueError(
                f"token_pattern must be a regular expression, got {self.token_pattern!r}: {error}."
            ) from error
        if n_groups:
            raise ValueError(
                f"token_pattern must have no group, got {self.token_pattern!r} with {n_groups}. Hint: (?:...) groups"
                " without capturing."
            )

    def __call__(self, text: str) -> list[str]:
        """Return the terms of a text, in its order.

        Parameters
        ----------
        text : str
            The text.

        Returns
        -------
        list of str
            Terms.
        """
        stop_words = ENGLISH_STOP_WORDS if self.stop_words == "english" else frozenset(self.stop_words or ())
        words = re.findall(self.token_pattern, text.lower())
        return [_stem(self.stemmer, word) for word in words if word not in stop_words]


@lru_cache(maxsize=_MOST_STEMS)
def _stem(algorithm: str, word: str) -> str:
    """Return the stem of a word. Each call has a stemmer of its own, as it has a state and threads share this cache."""
    return str(_snowball().stemmer(algorithm).stemWord(word))


def _snowball() -> Any:
    return import_optional("snowballstemmer", extra="text", purpose="StemAnalyzer")
