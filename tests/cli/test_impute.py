"""A blank cell: the error says where, and --impute, kept with the model, takes its place."""

import numpy as np
import pytest


@pytest.fixture
def gaps(tmp_path, rows):
    """The rows as CSV, three cells blank, a blank line before the first of them."""
    X, Y = rows
    lines = [",".join(map(str, [*x, *y])) for x, y in zip(X.tolist(), Y.tolist(), strict=True)]
    for row, gone in ((4, 1), (4, 2), (20, 1)):
        cells = lines[row].split(",")
        cells[gone] = ""
        lines[row] = ",".join(cells)
    path = tmp_path / "gaps.csv"
    path.write_text("\n".join(["a,b,c,x,y,z", *lines[:3], "", *lines[3:]]) + "\n")
    return path


LABELS = ("--labels", "x,y,z")
COMMANDS = {
    "fit": ("--method=mlknn", "--k", 3, "--out", "m.skops"),
    "tune": ("--k", 3, "--methods", "mlknn"),
    "evaluate": ("--k", 3, "--methods", "mlknn", "--cv", 2, "--format", "csv"),
}


@pytest.mark.parametrize("command", COMMANDS)
def test_a_blank_cell(nearlabel, gaps, tmp_path, monkeypatch, command):
    """The line, the column, how many there are, and what to do; done, the command succeeds."""
    monkeypatch.chdir(tmp_path)
    asked = (command, gaps, *LABELS, *COMMANDS[command])
    problem = f"{gaps}, line 7: column 'b' must contain numbers that are finite, got a missing value"
    hint = "Hint: --impute median replaces missing ones."
    assert nearlabel(*asked) == (2, "", f"nearlabel: {problem}; of such cells there are 3. {hint}\n")
    answer = nearlabel(*asked, "--impute", "median")
    assert (answer.code, answer.err) == (0, "")
    gaps.write_text(gaps.read_text().replace(",,", ",inf,", 1))
    (tmp_path / "m.skops").unlink(missing_ok=True)
    answer = nearlabel(*asked, "--impute", "median")
    assert answer.code == 2
    assert "must contain numbers that are finite, got inf" in answer.err


def test_the_model_imputes(nearlabel, gaps, tmp_path, monkeypatch, rows):
    """Predict fills in a blank cell by the training median; an infinite one is still refused, with its place."""
    monkeypatch.chdir(tmp_path)
    assert "median" in nearlabel("fit", gaps, *LABELS, *COMMANDS["fit"], "--impute", "median").out
    known = np.delete(rows[0][:, 1], [4, 20])
    (tmp_path / "new.csv").write_text("a,b,c\n1,,0\n")
    (tmp_path / "filled.csv").write_text(f"a,b,c\n1,{np.median(known)},0\n")
    (tmp_path / "infinite.csv").write_text("a,b,c\n1,,0\n1,2,-inf\n")
    answers = [nearlabel("predict", "m.skops", name, "--scores", "all") for name in ("new.csv", "filled.csv")]
    assert answers[0].code == 0
    assert answers[0] == answers[1]
    answer = nearlabel("predict", "m.skops", "infinite.csv")
    assert "infinite.csv, line 3: column 'c' must contain numbers that are finite, got -inf." in answer.err
    assert nearlabel("explain", "m.skops", "new.csv", "--row", 0).code == 0
