"""`verify` tells sound files from damaged ones, whatever they are, and what killed processes left."""

import json
import os
import sys
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse

from nearlabel.datasets import load_multidigits, open_store, write_npz, write_store
from nearlabel.experiments import Plan, run
from nearlabel.files import atomic_file
from nearlabel.lazy import BRkNN
from nearlabel.persistence import Verification, save_model, verify

DIGITS = load_multidigits()
TEXTS = {
    "a.csv": "kg,purrs\n3.5,1\n20,0\n",
    "a.jsonl": '{"kg": 3.5}\n{"kg": 20}\n',
    "a.svm": "0,1 0:3.5\n1 1:2\n",
    "a.arff": "@relation r\n@attribute a numeric\n@attribute b {0,1}\n@data\n1.5,0\n2,1\n",
}


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """Return a folder with something of each kind, all of it sound."""
    folder = tmp_path_factory.mktemp("made")
    write_store(folder / "dense", np.eye(4))
    write_store(folder / "deep" / "sparse", sparse.csr_array(np.eye(4)))
    run(Plan(("brknn",), (3,), cv=2, metrics=("hamming_loss",)), [DIGITS], out=folder / "run")
    save_model(BRkNN(3).fit(DIGITS.X[:50], DIGITS.Y[:50]), folder / "model.skops")
    write_npz(folder / "digits.npz", DIGITS)
    for name, text in TEXTS.items():
        (folder / name).write_text(text)
    (folder / "README.txt").write_text("no data")
    return folder


def messages(found):
    """Return severities and messages."""
    return [(finding.severity, finding.message) for finding in found.findings]


def test_sound_files_of_every_kind(made):
    """All are recognised in a folder; what is of no kind is counted."""
    found = verify(made)
    assert messages(found) == []
    assert found.is_sound
    kinds = {str(of.path.relative_to(made)): of.kind for of in found.checked}
    data = dict.fromkeys(["digits.npz", *TEXTS], "data")
    others = {"dense": "store", str(Path("deep", "sparse")): "store", "run": "run", "model.skops": "model"}
    assert kinds == data | others
    assert found.n_others == 1
    assert json.loads(json.dumps(found.to_dict()))["is_sound"] is True


def test_a_model_is_known_by_its_content(made, tmp_path):
    """Whatever its name."""
    (tmp_path / "model").write_bytes((made / "model.skops").read_bytes())
    assert [of.kind for of in verify(tmp_path / "model").checked] == ["model"]


@pytest.mark.parametrize("name", ["model.skops", "digits.npz"])
@pytest.mark.parametrize("place", [0.3, 0.6, 0.9])
def test_a_changed_byte_of_an_archive(made, tmp_path, name, place):
    """The sums of its parts notice it."""
    content = bytearray((made / name).read_bytes())
    content[int(len(content) * place)] ^= 1
    (tmp_path / name).write_bytes(content)
    ((severity, message),) = messages(verify(tmp_path))
    assert severity == "damage"
    assert str(tmp_path / name) in message


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("a.csv", "a,b\n1,2\n1,2,3\n", "line 3"),
        ("a.jsonl", '{"a": 1}\n{"a": \n', "line 2"),
        ("a.svm", "0 0:1\n0 0:x\n", "line 2"),
        ("a.arff", "@relation r\n@attribute a numeric\n@data\n1\nx\n", "line 5"),
        ("a.parquet", "PAR1", "a.parquet"),
        ("a.csv.gz", "\x1f\x8b no gzip", "a.csv.gz"),
    ],
)
def test_malformed_data(tmp_path, name, text, message):
    """The reader's own error is told, with its line."""
    (tmp_path / name).write_text(text, encoding="latin-1")
    found = verify(tmp_path)
    assert not found.is_sound
    assert message in found.findings[0].message


def test_all_damaged_lines_of_a_run_are_told(made, tmp_path):
    """Not the first alone; and a line without an end, and lines without sums."""
    lines = (made / "run" / "records.jsonl").read_bytes().splitlines(keepends=True)
    earlier = {name: value for name, value in json.loads(lines[1]).items() if name != "crc"}
    (tmp_path / "records.jsonl").write_bytes(
        lines[0].replace(b"hamming", b"jamming") + json.dumps(earlier).encode() + b"\n" + b"\xff\n" + lines[0][:20]
    )
    (tmp_path / "plan.json").write_text("[]")
    found = messages(verify(tmp_path))
    assert [severity for severity, _ in found] == ["damage"] * 3 + ["unchecked", "leftover"]
    for (_, message), wanted in zip(
        found,
        ["plan.json, line 1", "records.jsonl, line 1", "records.jsonl, line 3", "1 lines have no check", "20 bytes"],
        strict=True,
    ):
        assert wanted in message


def test_a_record_that_comes_twice(made, tmp_path):
    """Each line is right, the file is not."""
    line = (made / "run" / "records.jsonl").read_bytes().splitlines(keepends=True)[0]
    (tmp_path / "records.jsonl").write_bytes(line + line)
    ((severity, message),) = messages(verify(tmp_path))
    assert severity == "damage"
    assert "line 2: must be a record of its own" in message


def test_a_damaged_store(tmp_path):
    """A changed number, a changed index and a missing file."""
    path = write_store(tmp_path / "store", sparse.csr_array(np.eye(4)))
    whole = {file.name: file.read_bytes() for file in path.iterdir()}
    for name, message in (("data.npy", "other bytes in 128 to 159"), ("indices.npy", "columns from 0 to 3")):
        (path / name).write_bytes(whole[name][:-1] + b"\x7f")
        assert [(of.severity, message in of.message) for of in verify(path).findings] == [("damage", True)]
        (path / name).write_bytes(whole[name])
    (path / "indptr.npy").unlink()
    assert "got no such file" in verify(path).findings[0].message


@pytest.mark.skipif(sys.platform == "win32", reason="there all is left alone for a day")
def test_leftovers_are_told_and_removed_on_request(tmp_path):
    """Files and folders of killed writers, locks, and what lies in a store beside the store."""
    path = write_store(tmp_path / "store", np.eye(4))
    with (path / "data.npy").open("ab") as file:
        file.write(b"half a row")
    (path / "indices.3.npy").write_bytes(b"")
    mine, other = (f".a.{machine}{'0' * 24}.partial" for machine in (atomic_file._this_machine(), "0" * 8))
    (tmp_path / mine).mkdir()
    (tmp_path / mine / "data.npy").write_bytes(b"many gigabytes")
    (tmp_path / other).write_bytes(b"")
    (tmp_path / ".a.01234567.lock").write_bytes(b"1 adding")
    found = verify(tmp_path)
    assert found.is_sound
    assert sorted((of.severity, of.path.name) for of in found.findings) == [
        ("leftover", ".a.01234567.lock"),
        ("leftover", mine),
        ("leftover", "data.npy"),
        ("leftover", "indices.3.npy"),
        ("unchecked", other),
    ]
    assert messages(verify(tmp_path, sweep=True))
    assert sorted(file.name for file in tmp_path.iterdir()) == [other, "store"]
    assert sorted(file.name for file in path.iterdir()) == ["data.npy", "store.json"]
    assert open_store(path, check=True).tolist() == np.eye(4).tolist()


def test_paths_that_are_not_there(tmp_path):
    """They are an error, not damage."""
    with pytest.raises(FileNotFoundError, match=r"path must be a file or folder that exists, got .*none"):
        verify(tmp_path / "none")


def test_a_file_of_no_known_kind_is_not_called_damaged(tmp_path):
    """Named by itself it is an error, and in a folder one of the others."""
    (tmp_path / "notes.md").write_text("Buy milk.")
    with pytest.raises(ValueError, match=r"notes\.md must end in one of \.arff, "):
        verify(tmp_path / "notes.md")
    assert verify(tmp_path) == Verification((), (), 1)


def test_links_are_not_followed(tmp_path):
    """A link to a folder above would never end."""
    (tmp_path / "loop").symlink_to(tmp_path)
    assert verify(tmp_path) == Verification((), (), 1)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes with names on Windows")
def test_pipes_and_devices_do_not_block(tmp_path):
    """Refused if named; in a folder they are files of no kind, whatever their names."""
    for name in ("a.csv", "b.skops"):
        os.mkfifo(tmp_path / name)
        with pytest.raises(ValueError, match=rf"{name} must be a file that can be read several times, got a pipe"):
            verify(tmp_path / name)
    with pytest.raises(ValueError, match=r"/dev/zero must be .* got a device"):
        verify("/dev/zero")
    found = verify(tmp_path)
    assert (found.checked, found.findings, found.n_others) == ((), (), 2)
