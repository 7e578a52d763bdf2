"""Classifiers of streams of samples: a bounded memory, scores by test-then-train, and drift."""

from nearlabel.streams._drift import Drift
from nearlabel.streams._stream_classifier import StreamClassifier

__all__ = ["Drift", "StreamClassifier"]
