"""Small files to read, and the folder of the real ones."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

LABELS_XML = '<labels xmlns="http://mulan.sourceforge.net/labels">{}</labels>'


@pytest.fixture
def write(tmp_path: Path) -> Callable[[str, str], Path]:
    """Write a text under a name and return its path."""

    def _write(name: str, text: str) -> Path:
        path = tmp_path / name
        path.write_text(text, encoding="utf-8", newline="")
        return path

    return _write


@pytest.fixture
def write_meka(write: Callable[[str, str], Path]) -> Callable[..., Path]:
    """Write a MEKA file of which the first attribute is the label."""

    def _write(attributes: str, rows: str, *, relation: str = "'toy: -C 1'") -> Path:
        return write("toy.arff", f"@relation {relation}\n{attributes}\n@data\n{rows}")

    return _write


@pytest.fixture
def write_xml(write: Callable[[str, str], Path]) -> Callable[..., Path]:
    """Write a Mulan XML file with these labels."""

    def _write(name: str, *labels: str) -> Path:
        return write(name, LABELS_XML.format("".join(f'<label name="{label}"></label>' for label in labels)))

    return _write


@pytest.fixture(scope="session")
def data_folder() -> Path:
    """The folder of real data sets."""
    if "NEARLABEL_DATA" not in os.environ:
        pytest.skip("NEARLABEL_DATA is not set")
    return Path(os.environ["NEARLABEL_DATA"])
