"""A client of ``nearlabel serve``, in Python's own library; copy this file to where nearlabel is not installed."""

from __future__ import annotations

import json
import os
import urllib.error
import urllib.request
import uuid
from collections.abc import Mapping, Sequence
from typing import Any


class ServiceError(RuntimeError):
    """The service refused a request: its status, and what is wrong."""

    def __init__(self, status: int, detail: str) -> None:
        super().__init__(f"{status}: {detail}")
        self.status, self.detail = status, detail


class Client:
    """Asks a service.

    Parameters
    ----------
    address : str
        Such as ``http://127.0.0.1:8000``; with ``/models/NAME`` for one of several models.
    token : str, default=None
        None: the environment variable NEARLABEL_TOKEN, if there is one.
    timeout : float, default=60
        Seconds.

    Examples
    --------
    >>> from nearlabel.client import Client
    >>> client = Client("http://127.0.0.1:8000")
    >>> client.predict(texts=["password reset"])  # doctest: +SKIP
    [{'labels': ['login'], 'scores': {'login': 0.98}}]
    """

    def __init__(self, address: str, token: str | None = None, timeout: float = 60) -> None:
        self.address, self.timeout = address.rstrip("/"), timeout
        self._token = os.environ.get("NEARLABEL_TOKEN", "") if token is None else token

    def predict(self, **rows_and_options: Any) -> list[dict[str, Any]]:
        """Return the predictions for ``rows=``, ``texts=`` or ``arrays=``; options: `top`, `proba`, `explain`."""
        found: list[dict[str, Any]] = self.ask("/predict", rows_and_options)["predictions"]
        return found

    def update(self, rows: Sequence[Mapping[str, Any]], existing: str = "raise", key: str | None = None) -> Any:
        """Add labelled samples, once, also if this has to be repeated with the same key; return the model's facts."""
        return self.ask("/update", {"rows": rows, "existing": existing}, key or uuid.uuid4().hex)["model"]

    def forget(self, ids: Sequence[str]) -> Any:
        """Remove samples by their ids; return the model's facts."""
        return self.ask("/forget", {"ids": list(ids)})["model"]

    def ask(self, path: str, body: Mapping[str, Any] | None = None, key: str = "") -> Any:
        """Return the answer of any path; without a body by GET. Raises ServiceError."""
        headers = {"Content-Type": "application/json"} | ({"Idempotency-Key": key} if key else {})
        headers |= {"Authorization": f"Bearer {self._token}"} if self._token else {}
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.address + path, data, headers)
        try:
            with urllib.request.urlopen(request, timeout=self.timeout) as answer:
                return _json_of(answer.status, answer.read())
        except urllib.error.HTTPError as error:
            raise ServiceError(error.code, _json_of(error.code, error.read()).get("detail", "")) from None


def _json_of(status: int, content: bytes) -> dict[str, Any]:
    """Return the object of an answer; raise ServiceError if it has none, as the page of a proxy."""
    try:
        return dict(json.loads(content))
    except (ValueError, TypeError, RecursionError):
        words = " ".join(content.decode(errors="replace").split())[:80]
        raise ServiceError(status, f"the answer must be a JSON object of the service, got {words!r}.") from None
