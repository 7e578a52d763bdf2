"""How much memory is free, by the machine and by its container."""

import sys

import pytest

from nearlabel.utils import memory


@pytest.fixture
def container(tmp_path, monkeypatch):
    """Files of a container in the place of the system's, and a machine with room for it."""
    monkeypatch.setattr(memory, "_OF_CONTAINER", tmp_path)
    monkeypatch.setattr(memory, "_physical_bytes", lambda unknown: 2**40)
    (tmp_path / "memory.stat").write_text("anon 500\nfile 400\ninactive_file 100\nactive_file 200\n")
    (tmp_path / "memory.current").write_text("1000\n")
    return tmp_path


def test_pages_of_files_make_room(container):
    """What a container has read from files is no obstacle."""
    (container / "memory.max").write_text("5000\n")
    assert memory.free_bytes() == 5000 - 1000 + 300


def test_a_container_without_a_limit(container):
    """Then the machine counts, or the limit of the address space."""
    (container / "memory.max").write_text("max\n")
    assert 5000 < memory.free_bytes() <= 2**40


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
def test_the_machine_tells(tmp_path, monkeypatch):
    """On Linux nothing needs to be guessed."""
    monkeypatch.setattr(memory, "_OF_CONTAINER", tmp_path)
    assert memory.free_bytes(unknown=-1) > 0
