"""Names of files whose bytes are not UTF-8: every command reads and writes them, and shows the bytes."""

import json
import os
import re
import sys

import numpy as np
import pytest

from nearlabel.experiments.records import read_records
from nearlabel.persistence import read_card

CAFE, ODD = os.fsdecode(b"caf\xe9"), os.fsdecode(b"\xff")
LABELS = ("--labels-prefix", "l_")
DATA = (f"{CAFE}.csv", *LABELS, "--ignore", "id")
FIT = (f"{CAFE}.csv", *LABELS, "--id", "id", "--method", "brknn", "--k", "3", "--validate", "none")


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """Files with such names: data, more data, and ids."""
    try:
        (tmp_path / ODD).touch()
    except OSError:
        pytest.skip("the file system has names in UTF-8 only")
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 2)).round(3)
    lines = [f"s{row},{a},{b},{int(a > 0)},{int(b > 0)}" for row, (a, b) in enumerate(X.tolist())]
    head = "id,a,b,l_x,l_y"
    (tmp_path / f"{CAFE}.csv").write_text("\n".join([head, *lines[:30]]) + "\n")
    (tmp_path / f"new{ODD}.csv").write_text("\n".join([head, *lines[30:]]) + "\n")
    (tmp_path / f"ids{ODD}.txt").write_text("s3\n")
    (tmp_path / f"corrections{ODD}.csv").write_text("row,label,correct\n0,l_x,?\n")
    return tmp_path


def test_a_model(nearlabel, folder):
    """From its fit to its report, and to the forgetting of a row."""
    model, page = f"{CAFE}.skops", f"page{ODD}.html"
    answer = nearlabel("fit", *FIT, "--out", model)
    assert (answer.code, answer.err) == (0, "")
    assert r"Model of caf\xe9" in answer.out
    assert r"Model: caf\xe9.skops" in answer.out
    assert read_card(model).data.name == r"caf\xe9"
    for words, shown in (
        (("predict", model, f"{CAFE}.csv", "--out", f"p{ODD}.csv"), ""),
        (("explain", model, f"{CAFE}.csv", "--row", "0", "--figure", f"f{ODD}.svg"), r"Row 0 of caf\xe9.csv"),
        (("suggest", model, f"{CAFE}.csv"), r"Rows of caf\xe9.csv"),
        (("report", model, f"{CAFE}.csv", *LABELS, "--out", page), r"Report: page\xff.html"),
        (("card", model), r"caf\xe9"),
        (("verify", model), r"caf\xe9.skops"),
        (("update", model, f"new{ODD}.csv", *LABELS), r"Model: caf\xe9.skops"),
        (("forget", model, "--ids", f"ids{ODD}.txt"), r"Model: caf\xe9.skops"),
    ):
        answer = nearlabel(*words)
        assert answer.code == 0, answer.err
        assert shown in answer.out
    assert r"caf\xe9" in (folder / page).read_text(encoding="utf-8")
    assert (folder / f"p{ODD}.csv").exists()
    assert read_card(model).data.rows == 39


def test_records(nearlabel, folder):
    """They have the name as it is shown, so that a run resumes, and its report can be written."""
    words = ("evaluate", f"{CAFE}.csv", *LABELS, "--ignore", "id", "--methods", "brknn,mlknn", "--k", "3", "--cv", "3")
    assert r"caf\xe9: k = 3" in nearlabel(*words, "--out", f"run{ODD}").out
    before = (folder / f"run{ODD}" / "records.jsonl").read_bytes()
    assert {record["dataset"] for record in read_records(folder / f"run{ODD}")} == {r"caf\xe9"}
    for again in ((*words, "--out", f"run{ODD}"), ("report", f"run{ODD}", "--out", f"run{ODD}.html")):
        answer = nearlabel(*again)
        assert (answer.code, answer.err) == (0, "")
    assert (folder / f"run{ODD}" / "records.jsonl").read_bytes() == before
    assert r"caf\xe9" in (folder / f"run{ODD}.html").read_text(encoding="utf-8")


def test_data(nearlabel, folder):
    """Described, examined, corrected, and as JSON that every program reads."""
    for words in (("describe", *DATA), ("examine", *DATA), ("verify", f"{CAFE}.csv")):
        assert r"caf\xe9" in nearlabel(*words).out
        out = nearlabel(*words, "--format", "json").out
        assert r"caf\xe9" in json.dumps(json.loads(out), ensure_ascii=False).encode().decode("unicode_escape")
        assert not re.search(r"\\ud[89a-f]", out)
    answer = nearlabel("audit", *DATA, "--apply", f"corrections{ODD}.csv", "--out", f"out{ODD}.csv")
    assert (answer.code, (folder / f"out{ODD}.csv").exists()) == (0, True)
    answer = nearlabel("resample", *DATA, "--sampler", "mrsp1", "--out", f"re{ODD}.csv")
    assert r"caf\xe9 in re\xff.csv" in answer.out


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("describe", f"none{ODD}.csv", *LABELS), r"none\xff.csv: No such file"),
        (("update", f"none{ODD}.skops", f"{CAFE}.csv"), r"none\xff.skops must be the file of a model"),
        (("fit", *FIT, f"--wrong{ODD}"), r"unrecognized arguments: --wrong\xff"),
        (("fit", *FIT, "--out", f"{CAFE}.csv"), r"must end in .skops"),
    ],
)
def test_errors(nearlabel, words, message):
    """One line that can be written anywhere."""
    answer = nearlabel(*words)
    assert answer.code == 2
    assert message in answer.err
    assert answer.err.encode().count(b"\n") == 1


@pytest.mark.parametrize("encoding", ["utf-8", "ascii"])
def test_strict_streams(nearlabel, monkeypatch, folder, encoding):
    """Of whatever encoding."""
    with (folder / "out.txt").open("w", encoding=encoding, errors="strict") as out:
        monkeypatch.setattr(sys, "stdout", out)
        assert nearlabel("describe", *DATA).code == 0
    assert r"caf\xe9" in (folder / "out.txt").read_text(encoding=encoding)
