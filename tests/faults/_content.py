"""What files say, without the moment at which they were written: what two runs of one command have in common."""

from __future__ import annotations

import hashlib
import json
import zipfile
from pathlib import Path
from typing import Any

_MOMENTS = ("created", "date")  # of a model card, and of batches that updates added


def content_of(path: Path) -> str:
    """Return a digest of a file, equal for equal content; raise what a damaged archive raises.

    Archives contain the time of each member, and models addresses of the objects that were saved, as names: these are
    left out. All else counts, byte for byte.
    """
    if path.suffix == ".skops":
        return _digest(repr(_of_model(path)).encode())
    if path.suffix == ".npz":
        with zipfile.ZipFile(path) as archive:
            return _digest(repr([(name, archive.read(name)) for name in archive.namelist()]).encode())
    return _digest(path.read_bytes())


def _of_model(path: Path) -> list[Any]:
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    card = _without_moments(json.loads(members.pop("nearlabel.json")))
    batches = [_without_moments(batch) for batch in json.loads(members.get("batches.json", b"[]"))]
    schema = _without_addresses(json.loads(members.pop("schema.json")), members, {})
    arrays = sorted(_digest(content) for name, content in members.items() if name.endswith(".npy"))
    return [card, schema, arrays, members.get("kept.jsonl"), batches]


def _without_moments(record: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in record.items() if name not in _MOMENTS}


def _without_addresses(node: Any, members: dict[str, bytes], known: dict[Any, int]) -> Any:
    """Return a schema in which objects are numbered in their order, and files named by what is in them."""
    if isinstance(node, list):
        return [_without_addresses(one, members, known) for one in node]
    if isinstance(node, dict):
        return {
            name: known.setdefault(value, len(known)) if name == "__id__" else _without_addresses(value, members, known)
            for name, value in node.items()
        }
    return _digest(members[node]) if isinstance(node, str) and node in members else node


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
