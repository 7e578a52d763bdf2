"""Figures of the service for Prometheus: requests, seconds, rows, and the models."""

from __future__ import annotations

import os
from collections.abc import Mapping

from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.multiprocess import MultiProcessCollector

from nearlabel.serve._live import LiveModel

FOLDER = "PROMETHEUS_MULTIPROC_DIR"  # of the environment: where several processes add up their figures
_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10, 60)


class Metrics:
    """The figures of one process, or of all."""

    def __init__(self, served: Mapping[str, LiveModel]) -> None:
        self._served, self._registry = served, CollectorRegistry()
        self._requests = Counter("nearlabel_requests", "Requests", ("route", "status"), registry=self._registry)
        self._seconds = Histogram(
            "nearlabel_request_seconds", "Seconds until the answer", ("route",), buckets=_SECONDS,
            registry=self._registry,
        )  # fmt: skip
        self._rows = Counter("nearlabel_rows", "Rows predicted", ("model",), registry=self._registry)
        self._version = Gauge(
            "nearlabel_model_version", "Last change", ("model",), registry=self._registry, multiprocess_mode="max"
        )
        self._samples = Gauge(
            "nearlabel_model_samples", "Training samples", ("model",), registry=self._registry, multiprocess_mode="max"
        )

    def see(self, route: str, status: int, seconds: float) -> None:
        """Count a request."""
        self._requests.labels(route, str(status)).inc()
        self._seconds.labels(route).observe(seconds)

    def see_rows(self, model: str, n_rows: int) -> None:
        """Count predicted rows."""
        self._rows.labels(model).inc(n_rows)

    def text(self) -> tuple[bytes, int, None, str]:
        """Return the figures, a status, no headers, and their type."""
        for name, model in self._served.items():
            now = model.state.answer
            self._version.labels(name).set(now.version)
            self._samples.labels(name).set(now.samples)
        registry = self._registry
        if os.environ.get(FOLDER):
            registry = CollectorRegistry()
            MultiProcessCollector(registry)  # type: ignore[no-untyped-call]
        return generate_latest(registry), 200, None, CONTENT_TYPE_LATEST
