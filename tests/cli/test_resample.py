"""``nearlabel resample``: what is written is what the sampler makes, and is read back as such."""

import json
import re

import numpy as np
import pytest

from _pages import blocks
from _recipes import MLROS
from nearlabel.datasets import load_dataset
from nearlabel.preprocessing import MLSMOTE

LABELS = ("--labels", "x,y,z")


@pytest.fixture
def songs(tmp_path):
    """A CSV of thirty rows with an id; the last label is rare."""
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(30, 2)).round(2), (rng.random((30, 3)) < [0.8, 0.5, 0.1]).astype(int)
    X[3, 0] = 5
    lines = [f"s{row},{a},{b},{x},{y},{z}" for row, ((a, b), (x, y, z)) in enumerate(zip(X, Y, strict=True))]
    file = tmp_path / "songs.csv"
    file.write_text("\n".join(["id,a,b,x,y,z", *lines]) + "\n")
    return file, X, Y


@pytest.mark.parametrize(
    ("spec", "sampler"),
    [
        ("./samplers.py:MLROS:share=0.5", MLROS(0.5, random_state=0)),
        ("mlsmote:n_neighbors=2", MLSMOTE(2, random_state=0)),
    ],
)
def test_rows(nearlabel, songs, tmp_path, monkeypatch, spec, sampler):
    """To the last bit, with the row that each was made from, and what has changed; by a sampler of the user, too."""
    file, X, Y = songs
    monkeypatch.chdir(tmp_path)
    (recipe,) = (block.text for block in blocks("howto/add_a_sampler") if block.file)
    (tmp_path / "samplers.py").write_text(recipe)
    out = tmp_path / "out.csv"
    answer = nearlabel("resample", file, *LABELS, "--ignore", "id", "--sampler", spec, "--out", out, "--format", "json")
    X_made, Y_made = sampler.fit_resample(X, Y)
    found = load_dataset(out, labels=("x", "y", "z"))
    assert found.feature_names == ("seed", "a", "b")
    np.testing.assert_array_equal(found.X, np.column_stack([sampler.seed_indices_, X_made]))
    np.testing.assert_array_equal(found.Y, Y_made)
    assert [figures["rows"] for figures in json.loads(answer.out).values()] == [30, len(X_made)]
    assert "Hint: --groups seed" in answer.err
    line = out.read_text().splitlines()[4]
    assert line.startswith("3,5,")


def test_prototypes_have_no_seed(nearlabel, songs, tmp_path):
    """They are made of several rows, so none is like another, and there is no note."""
    out = tmp_path / "o.csv"
    answer = nearlabel("resample", songs[0], *LABELS, "--ignore", "id", "--sampler", "mchen:share=0.2", "--out", out)
    assert answer.err == ""
    rows = out.read_text().splitlines()[1:]
    assert len(rows) == 6
    assert all(row.startswith("-1,") for row in rows)


def test_rows_that_only_go(nearlabel, songs, tmp_path):
    """Nothing is alike, so there is no note; figures are a table."""
    answer = nearlabel(
        "resample", songs[0], *LABELS, "--ignore", "id", "--sampler", "_recipes:MLRUS", "--out", tmp_path / "o.csv"
    )
    assert (answer.code, answer.err) == (0, "")
    assert "mean_imbalance_ratio" in answer.out


def test_resampled_rows_are_held_out_by_seed(nearlabel, songs, tmp_path):
    """The command that the note names runs, and the seed is no feature then."""
    out = tmp_path / "out.csv"
    nearlabel("resample", songs[0], *LABELS, "--ignore", "id", "--sampler", "mlsmote", "--out", out)
    answer = nearlabel("evaluate", out, *LABELS, "--groups", "seed", "--methods", "brknn", "--k", "2", "--cv", "2")
    assert answer.code == 0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--sampler", "mlsmota", "--out", "o.csv"), "sampler must be one of .* got 'mlsmota'. Did you mean 'mlsmote'"),
        (("--sampler", "mchen:share=0", "--out", "o.csv"), "share must be a finite number above 0, got 0"),
        (("--sampler", "mlsmote", "--out", "o.npz"), "--out must end in .csv, got o.npz"),
        (("--sampler", "nearlabel.lazy:MLkNN", "--out", "o.csv"), "sampler must be an estimator with fit_resample"),
    ],
)
def test_bad_arguments(nearlabel, songs, tmp_path, monkeypatch, options, message):
    """One line says what is wrong, and nothing is written."""
    monkeypatch.chdir(tmp_path)
    answer = nearlabel("resample", songs[0], *LABELS, "--ignore", "id", *options)
    assert answer.code == 2
    assert re.search(message, answer.err)
    assert not (tmp_path / "o.csv").exists()


def test_a_column_of_this_name(nearlabel, songs, tmp_path):
    """It would stand twice in the file."""
    file = songs[0]
    file.write_text(file.read_text().replace("id,a", "seed,a").replace("\ns", "\n"))
    answer = nearlabel("resample", file, *LABELS, "--sampler", "mlsmote", "--out", tmp_path / "o.csv")
    assert (answer.code, "DATA must have no column 'seed'" in answer.err) == (2, True)
