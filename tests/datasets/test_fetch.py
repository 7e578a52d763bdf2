"""Fetching from the user's folder, the cache and a server on this machine."""

import errno
import gzip
import hashlib
import http.server
import logging
import subprocess
import sys
import threading
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from nearlabel.datasets import _fetch as download_module
from nearlabel.datasets import catalogue, fetch_dataset, is_on_disk
from nearlabel.datasets._fetch import CatalogueFile, cache_folder, cached_file

CONTENT = b"@relation 'toy: -C 1'\n" + b"% padding\n" * 100
CHECKSUM = hashlib.sha256(CONTENT).hexdigest()


class Handler(http.server.BaseHTTPRequestHandler):
    """Answers by name: good.arff, wrong.arff, cut.arff, flaky.arff (good from the second time on); else 404."""

    requests: list[str]

    def __init__(self, *arguments, requests):
        self.requests = requests
        super().__init__(*arguments)

    def do_GET(self):
        """Send the file, another one, half of it, or nothing."""
        self.requests.append(self.path)
        name = self.path.rpartition("/")[2]
        first_time = self.requests.count(self.path) == 1
        if name == "missing.arff":
            self.send_error(404)
            return
        self.send_response(200)
        self.send_header("Content-Length", str(len(CONTENT)))
        self.end_headers()
        cut = name == "cut.arff" or (name == "flaky.arff" and first_time)
        self.wfile.write(CONTENT[::-1] if name == "wrong.arff" else CONTENT[:300] if cut else CONTENT)

    def log_message(self, *arguments):
        """Say nothing."""


@contextmanager
def serving():
    """Run the server in a thread; give its address and the list of requests."""
    requests: list[str] = []
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), partial(Handler, requests=requests))
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}", requests
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@pytest.fixture
def server(monkeypatch, tmp_path):
    """A mirror on this machine and an empty cache; gives the list of requests."""
    monkeypatch.setenv("NEARLABEL_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("NEARLABEL_DATA", raising=False)
    with serving() as (address, requests):
        monkeypatch.setenv("NEARLABEL_BASE_URL", address)
        yield requests


def get(name, retries=0):
    """Ask for a file that should hold CONTENT."""
    return cached_file(catalogue()["emotions"], CatalogueFile(name, CHECKSUM), retries=retries)


def files_in_cache():
    """Every file below the cache folder."""
    return [path for path in cache_folder().rglob("*") if path.is_file()]


def test_good_download(server, capfd):
    """A good file lands in the cache under its name, once, and nothing is printed."""
    path = get("good.arff")
    assert path.read_bytes() == CONTENT
    assert get("good.arff") == path
    assert server == ["/emotions/good.arff"]
    assert files_in_cache() == [path]
    assert capfd.readouterr() == ("", "")


def test_what_is_on_disk(server, monkeypatch, tmp_path):
    """A folder in the cache or in NEARLABEL_DATA; nothing is downloaded to find out."""
    assert not is_on_disk("emotions")
    get("good.arff")
    assert is_on_disk("emotions")
    assert not is_on_disk("yeast")
    (tmp_path / "data" / catalogue()["yeast"].folder).mkdir(parents=True)
    monkeypatch.setenv("NEARLABEL_DATA", str(tmp_path / "data"))
    assert is_on_disk("yeast")
    assert server == ["/emotions/good.arff"]
    with pytest.raises(ValueError, match="got 'poem'"):
        is_on_disk("poem")


def test_download_is_logged(server, caplog):
    """What is downloaded goes to the library's log."""
    with caplog.at_level(logging.INFO, logger="nearlabel"):
        get("good.arff")
    assert "/emotions/good.arff to " in caplog.text
    assert len(server) == 1


@pytest.mark.parametrize(
    ("name", "error", "message"),
    [
        ("wrong.arff", ValueError, r"/emotions/wrong\.arff must have the sha256 .* Nothing was saved\."),
        ("cut.arff", OSError, r"/emotions/cut\.arff must be reachable, got: .*incomplete.*read.*\(1 attempts\)"),
        ("missing.arff", OSError, r"/emotions/missing\.arff must be reachable, got: 404 .* Hint: set NEARLABEL_DATA"),
    ],
)
@pytest.mark.usefixtures("server")
def test_failed_download_leaves_nothing(name, error, message, capfd):
    """A wrong, interrupted or missing file is an error, and no file remains, not even a partial one."""
    with pytest.raises(error, match=f"(?i){message}"):
        get(name)
    assert files_in_cache() == []
    assert capfd.readouterr() == ("", "")


def test_good_after_failure(server):
    """The next call after an interrupted one succeeds."""
    with pytest.raises(OSError, match="must be reachable"):
        get("flaky.arff")
    assert get("flaky.arff").read_bytes() == CONTENT
    assert len(server) == 2


def test_retry(server):
    """An interrupted transfer is tried again."""
    assert get("flaky.arff", retries=1).read_bytes() == CONTENT
    assert len(server) == 2


def test_attempts_are_counted(server):
    """After the last attempt the message says how many there were."""
    with pytest.raises(OSError, match=r"\(2 attempts\)"):
        get("missing.arff", retries=1)
    assert len(server) == 2


def test_damaged_cache_is_replaced(server):
    """A cached file of another checksum is downloaded again."""
    path = get("good.arff")
    path.write_bytes(b"damaged")
    assert get("good.arff").read_bytes() == CONTENT
    assert len(server) == 2


def test_unreachable_server(server, monkeypatch):
    """No server is an error like a missing file."""
    monkeypatch.setenv("NEARLABEL_BASE_URL", "http://127.0.0.1:1")
    with pytest.raises(OSError, match="must be reachable, got: "):
        get("good.arff")
    assert server == []


def test_without_pooch(monkeypatch, tmp_path):
    """The extra that brings the downloader is named; what is cached needs none."""
    monkeypatch.setenv("NEARLABEL_CACHE", str(tmp_path))
    monkeypatch.setitem(sys.modules, "pooch", None)
    with pytest.raises(
        ImportError, match=r"downloading the data set 'emotions' needs pooch: pip install 'nearlabel\[data\]'"
    ):
        get("good.arff")
    (tmp_path / "emotions").mkdir()
    (tmp_path / "emotions" / "good.arff").write_bytes(CONTENT)
    assert get("good.arff").name == "good.arff"


def test_address_of_the_source(monkeypatch):
    """Without a mirror the address is the source's, in a fixed commit."""
    monkeypatch.delenv("NEARLABEL_BASE_URL", raising=False)
    entry = catalogue()["meka-enron"]
    address = download_module._address(entry, entry.subsets["all"])
    assert address.endswith("/Waikato/meka/f9ffe231e06ebaa75b4a95c5cdeb737419731621/src/main/data/Enron.arff.bz2")


@pytest.mark.parametrize(
    ("platform", "variables", "expected"),
    [
        ("linux", {"XDG_CACHE_HOME": "/x"}, Path("/x/nearlabel")),
        ("linux", {}, Path.home() / ".cache" / "nearlabel"),
        ("darwin", {}, Path.home() / "Library" / "Caches" / "nearlabel"),
        ("win32", {"LOCALAPPDATA": "/l"}, Path("/l/nearlabel")),
        ("linux", {"NEARLABEL_CACHE": "/c"}, Path("/c")),
    ],
)
def test_cache_folder(monkeypatch, platform, variables, expected):
    """The cache lies where the platform keeps caches, unless NEARLABEL_CACHE says otherwise."""
    for name in ("NEARLABEL_CACHE", "XDG_CACHE_HOME", "LOCALAPPDATA"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr("sys.platform", platform)
    assert cache_folder() == expected


@pytest.mark.parametrize("platform", ["linux", "darwin", "win32"])
def test_without_a_home_folder(monkeypatch, tmp_path, platform):
    """A user without an entry, as in containers, is told of the variable, and needs none for his own folder."""

    def no_home():
        raise RuntimeError("Could not determine home directory.")

    for name in ("NEARLABEL_CACHE", "XDG_CACHE_HOME", "LOCALAPPDATA"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(Path, "home", no_home)
    monkeypatch.setattr("sys.platform", platform)
    monkeypatch.setenv("NEARLABEL_DATA", str(tmp_path))
    (tmp_path / "scene").mkdir()
    with pytest.raises(
        FileNotFoundError, match="NEARLABEL_CACHE must name a folder to download to where a user has no"
    ):
        cache_folder()
    assert is_on_disk("scene")
    assert not is_on_disk("emotions")


KILLED = """
import os, signal, sys
from nearlabel.datasets import _fetch
_fetch._sha256 = lambda path: os.kill(os.getpid(), signal.SIGKILL)
from nearlabel.datasets._fetch import CatalogueFile, catalogue
_fetch.cached_file(catalogue()["emotions"], CatalogueFile("good.arff", "0"))
"""


@pytest.mark.long
@pytest.mark.skipif(sys.platform == "win32", reason="there leftovers stay for a day")
def test_what_a_killed_download_left_is_removed_by_the_next(server):
    """The temporary file lies beside the file; another download does not touch it."""
    subprocess.run([sys.executable, "-c", KILLED], check=False)
    (left,) = files_in_cache()
    assert left.read_bytes() == CONTENT
    with pytest.raises(OSError, match="must be reachable"):
        get("missing.arff")
    assert files_in_cache() == [left]
    path = get("good.arff")
    assert files_in_cache() == [path]
    assert len(server) == 3


def test_a_full_disk_is_told_of_the_download(server, monkeypatch):
    """It is not taken for a server that cannot be reached, nor tried again."""

    def full(*_, **__):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("pooch.HTTPDownloader.__call__", full)
    with pytest.raises(OSError, match="No space left") as told:
        get("good.arff", retries=2)
    assert told.value.filename == str(cache_folder() / "emotions" / "good.arff")
    assert server == []


def test_unknown_name():
    """A mistyped name is answered with those near it and all known."""
    with pytest.raises(
        ValueError, match=r"name must be one of bibtex, cal500, .*, got 'emotion'\. Did you mean emotions"
    ):
        fetch_dataset("emotion")
    with pytest.raises(ValueError, match=r"yeast, got 'zzz'\.$"):
        fetch_dataset("zzz")


@pytest.mark.parametrize(
    ("name", "subset", "message"),
    [
        ("emotions", "half", r"subset must be one of \['all', 'test', 'train'\], got 'half'"),
        ("cal500", "train", r"subset of 'cal500' must be one of 'all', got 'train'\."),
    ],
)
def test_unknown_subset(name, subset, message):
    """A subset must be one of three words, and the data set must have it."""
    with pytest.raises(ValueError, match=message):
        fetch_dataset(name, subset)


def test_derived_needs_the_folder(monkeypatch, tmp_path):
    """A data set without an address says which file to put where."""
    monkeypatch.delenv("NEARLABEL_DATA", raising=False)
    message = r"NEARLABEL_DATA must name a folder that contains yahoo-arts/yahoo-arts-train\.arff, got nothing"
    with pytest.raises(FileNotFoundError, match=message):
        fetch_dataset("yahoo-arts")
    monkeypatch.setenv("NEARLABEL_DATA", str(tmp_path))
    with pytest.raises(FileNotFoundError, match=r"which lacks yahoo-arts/yahoo-arts-train\.arff: "):
        fetch_dataset("yahoo-arts")


def test_shape_must_be_the_catalogues(monkeypatch, tmp_path, write_xml):
    """A file of the user's own with the right name and another shape is refused."""
    folder = tmp_path / "emotions"
    folder.mkdir()
    (folder / "emotions.arff").write_text("@attribute a real\n@attribute y {0,1}\n@data\n1,0\n")
    write_xml("emotions/emotions.xml", "y")
    monkeypatch.setenv("NEARLABEL_DATA", str(tmp_path))
    message = r"emotions/emotions\.arff must have \(rows, .*\) \(593, 72, 6\) as in the catalogue, got \(1, 1, 1\)"
    with pytest.raises(ValueError, match=message):
        fetch_dataset("emotions")


def test_parts_must_have_the_same_columns(monkeypatch, tmp_path, write_xml):
    """Training and test rows of other names are not put together."""
    (tmp_path / "scene").mkdir()
    (tmp_path / "scene" / "scene-train.arff").write_text("@attribute a real\n@attribute y {0,1}\n@data\n1,0\n")
    (tmp_path / "scene" / "scene-test.arff").write_text("@attribute b real\n@attribute y {0,1}\n@data\n1,0\n")
    write_xml("scene/scene.xml", "y")
    scene = catalogue()["scene"]
    tiny = {name: replace(file, instances=1) for name, file in scene.subsets.items()}
    entry = replace(scene, features=1, labels=1, subsets=tiny)
    monkeypatch.setattr("nearlabel.datasets._fetch.catalogue_entry", lambda name: entry)
    monkeypatch.setenv("NEARLABEL_DATA", str(tmp_path))
    with pytest.raises(
        ValueError, match="scene-test must have the features and labels of scene-train, got other names"
    ):
        fetch_dataset("scene")


@pytest.mark.parametrize("entry", [pytest.param(entry, id=name) for name, entry in catalogue().items()])
def test_catalogue_is_whole(entry):
    """Every entry has a reference, checksums, a whole or two parts, and a fixed commit if it has an address."""
    assert len(entry.reference) > 40
    assert "all" in entry.subsets or {"train", "test"} <= set(entry.subsets)
    assert all(len(file.sha256) == 64 for file in entry.subsets.values())
    assert (entry.xml is not None) == (entry.format == "mulan")
    assert entry.source is None or len(entry.source.split("/")[5]) == 40


QUICK = ("emotions", "scene", "medical", "meka-music")  # of one file and of two, dense and sparse, of both publishers


@pytest.mark.usefixtures("data_folder")
@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=() if name in QUICK else pytest.mark.long)
        for name in catalogue()
        if name != "reuters21578-terms"  # read in test_reuters.py: once takes seconds
    ],
)
def test_every_entry_from_the_folder(name):
    """Every data set of the catalogue is found in the folder, with the shape the catalogue states."""
    data = fetch_dataset(name)
    entry = catalogue()[name]
    assert data.name == name
    assert data.X.shape == (sum(file.instances for file in entry.files("all")), entry.features)
    assert data.Y.shape[1] == entry.labels
    assert data.Y.dtype == np.int64


@pytest.mark.usefixtures("data_folder")
def test_train_then_test():
    """Where there is no file of the whole, all is the training rows followed by the test rows."""
    whole, train, test = (fetch_dataset("scene", subset) for subset in ("all", "train", "test"))
    np.testing.assert_array_equal(whole.X, np.vstack([train.X, test.X]))
    np.testing.assert_array_equal(whole.Y, np.vstack([train.Y, test.Y]))
    assert (whole.name, train.name) == ("scene", "scene-train")


@pytest.mark.usefixtures("data_folder")
def test_identifier_is_dropped():
    """The protein's name, unlike in every row, is no feature of genbase; all others hold YES or NO."""
    data = fetch_dataset("genbase", "test")
    assert not any(name.startswith("protein") for name in data.feature_names)
    assert set(data.feature_kinds) == {"flag"}
    assert set(np.unique(data.X)) == {0, 1}
    assert data.X.mean() < 0.01  # NO is 0, though YES is declared first


@pytest.mark.usefixtures("data_folder")
def test_names_from_files():
    """Topics and words of reuters21578-modapte90 come from the files beside it."""
    data = fetch_dataset("reuters21578-modapte90", "test")
    assert data.label_names[:2] == ("acq", "alum")
    assert len(set(data.feature_names)) == 10180


@pytest.mark.usefixtures("data_folder")
@pytest.mark.parametrize("name", ["emotions", "scene", "meka-music"])
def test_checksums_are_those_of_the_files(data_folder, name):
    """The catalogue's checksum is that of the uncompressed file in the folder."""
    entry = catalogue()[name]
    for file in entry.subsets.values():
        path = data_folder / entry.folder / file.file
        packed = Path(f"{path}.gz")
        content = path.read_bytes() if path.exists() else gzip.decompress(packed.read_bytes())
        assert hashlib.sha256(content).hexdigest() == file.sha256
