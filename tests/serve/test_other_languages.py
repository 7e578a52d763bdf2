"""The programs in JavaScript and R of docs/howto/serve.md, where node and R are installed."""

import json
import os
import shutil
import subprocess
import sys

import pytest

from _pages import blocks
from nearlabel import cli
from serve.test_deployment import serving

PROGRAMS = {kind: [block.text for block in blocks("howto/serve") if block.kind == kind] for kind in ("javascript", "r")}
HTTR2, RETICULATE = PROGRAMS["r"]
ADDRESS = "http://127.0.0.1:8000"


@pytest.fixture(scope="module")
def tickets(tmp_path_factory):
    """The folder with the model that the page fits, of a table of two kinds of texts."""
    folder = tmp_path_factory.mktemp("tickets")
    rows = [{"id": f"T{n}", "text": f"I forgot my password {n}", "tags": "login"} for n in range(12)]
    rows += [{"id": f"B{n}", "text": f"The invoice of my card is wrong {n}", "tags": "billing"} for n in range(12)]
    (folder / "tickets.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    columns = ["--labels-column", "tags", "--text", "text", "--id", "id"]
    cli.main(["fit", str(folder / "tickets.jsonl"), *columns, "--out", str(folder / "tickets.skops")])
    return folder


def _printed(command, folder, **variables):
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path), **variables}
    done = subprocess.run(
        command, cwd=folder, capture_output=True, text=True, timeout=100, check=False, env=environment
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def _r(*packages):
    """Return the program of R, or skip."""
    program = shutil.which("Rscript")
    asked = "q(status = !all(sapply(commandArgs(TRUE), requireNamespace, quietly = TRUE)))"
    if (
        program is None
        or subprocess.run([program, "-e", asked, *packages], check=False, capture_output=True).returncode
    ):
        pytest.skip(f"R with {', '.join(packages)} is not installed")
    return program


@pytest.mark.long
def test_clients_of_the_service(tickets, tmp_path):
    """Each prints the label."""
    command = [sys.executable, "-m", "nearlabel", "serve", str(tickets / "tickets.skops"), "--port", "0"]
    languages = {"program.mjs": (shutil.which("node"), PROGRAMS["javascript"][0])}
    languages |= {"program.R": (_r("httr2"), HTTR2)}
    with serving(command, tmp_path, PYTHONPATH=os.pathsep.join(sys.path)) as address:
        for file, (program, text) in languages.items():
            if program is not None:
                (tmp_path / file).write_text(text.replace(ADDRESS, address.rstrip("/")))
                assert _printed([program, file], tmp_path) == "login"


@pytest.mark.long
def test_reticulate(tickets, tmp_path):
    """The library in R; versions of reticulate know some versions of Python only."""
    program = _r("reticulate")
    start = f'library(reticulate); use_python("{sys.executable}", required = TRUE); cat(py_available(TRUE))'
    known = subprocess.run([program, "-e", start], capture_output=True, text=True, timeout=100, check=False)
    if not known.stdout.endswith("TRUE"):
        pytest.skip(f"this reticulate does not run Python {sys.version_info.major}.{sys.version_info.minor}")
    shutil.copy(tickets / "tickets.skops", tmp_path)
    (tmp_path / "program.R").write_text(RETICULATE.replace(".venv/bin/python", sys.executable))
    assert _printed([program, "program.R"], tmp_path) == "login"
