"""Names in files import nothing, though the command line allows the names that are written on it."""

import json
import shutil
import sys
import zipfile

import numpy as np
import pytest

from nearlabel import cli
from nearlabel.files.check_sums import with_sum, without_sum

NAMES = ("./stranger.py:K", "stranger:K", "br:estimator=stranger.K")
CODE = "open('imported.txt', 'w').close()\nfrom nearlabel.lazy import BRkNN as K\n"
DATA = ("data.csv", "--labels", "a,b")
RUN = ("evaluate", *DATA, "--methods", "brknn,mlknn", "--k", "3", "--cv", "3", "--metrics", "micro_f1")
TUNE = ("tune", *DATA, "--methods", "brknn,mlknn", "--k", "3,4", "--scales", "none", "--time-limit", "100")
FIT = ("fit", *DATA, "--method", "brknn", "--k", "3", "--validate", "none")


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A folder with a run, the state of a tuning and a model."""
    folder = tmp_path_factory.mktemp("made")
    rng = np.random.default_rng(0)
    X = rng.random((60, 2))
    rows = [f"{x:.3f},{z:.3f},{x > 0.5:d},{z > 0.5:d}" for x, z in X]
    (folder / "data.csv").write_text("\n".join(["x,z,a,b", *rows]) + "\n")
    with pytest.MonkeyPatch.context() as monkeypatch:
        monkeypatch.chdir(folder)
        for command, option, name in ((RUN, "--out", "run"), (TUNE, "--state", "state.npz"), (FIT, "--out", "m.skops")):
            assert cli.main([*command, "--quiet", option, name]) == 0
    return folder


@pytest.fixture
def here(made, tmp_path, monkeypatch):
    """Stand in a copy of it, with a file whose import leaves a mark, which no command may leave."""
    folder = shutil.copytree(made, tmp_path / "here")
    monkeypatch.chdir(folder)
    (folder / "stranger.py").write_text(CODE)
    yield folder
    assert not (folder / "imported.txt").exists()
    assert "stranger" not in sys.modules


def replaced(plain, old, new):
    """Plain data with each text `old` replaced, also as a key."""
    if isinstance(plain, dict):
        return {replaced(key, old, new): replaced(value, old, new) for key, value in plain.items()}
    if isinstance(plain, list):
        return [replaced(value, old, new) for value in plain]
    return new if plain == old else plain


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("old", ["brknn", "micro_f1"])
def test_records_and_plans(nearlabel, here, name, old):
    """A method or a metric of a run is a text; the same command does not resume what it is not."""

    def forged(text):
        return json.dumps(with_sum(replaced(without_sum(json.loads(text))[0], old, name)))

    records, plan = here / "run" / "records.jsonl", here / "run" / "plan.json"
    records.write_text("".join(f"{forged(line)}\n" for line in records.read_text().splitlines()))
    plan.write_text(forged(plan.read_text()))
    assert nearlabel("report", "run", "--out", "r.html").code == 0
    compared = nearlabel("compare", "run")
    assert (compared.code, compared.err.count("\n")) in ((0, 0), (2, 1))  # the direction of another metric is unknown
    again = nearlabel(*RUN, "--out", "run")
    assert "must contain records of the same plan" in again.err


@pytest.mark.parametrize("old", ["brknn", "exact", "none", 3])
def test_the_state_of_tune(nearlabel, here, old):
    """A trial of what the command does not try is no trial of it."""
    with np.load("state.npz") as file:
        arrays = dict(file)
    plain, _ = without_sum(json.loads(str(arrays["tuning"])))
    plain["stages"] = replaced(plain["stages"], old, NAMES[0])
    np.savez("state.npz", **arrays | {"tuning": np.array(json.dumps(with_sum(plain)))})
    answer = nearlabel(*TUNE, "--state", "state.npz", "--out", "best.skops")
    assert (answer.code, answer.err.count("\n")) == (2, 1)
    assert "--state must be a file that tuning wrote" in answer.err
    assert not (here / "best.skops").exists()


@pytest.mark.parametrize("name", NAMES)
def test_models_and_cards(nearlabel, here, name):
    """What a card has about a model is text; it is in no command that a message offers."""
    with zipfile.ZipFile("m.skops") as archive:
        members = {member: archive.read(member) for member in archive.namelist()}
    card = json.loads(members["nearlabel.json"])
    card |= {"method": name, "fit_options": f"--method {name}", "measured": name, "notes": name, "updatable": name}
    card["parameters"] = dict.fromkeys(card["parameters"], name)
    members["nearlabel.json"] = json.dumps(card).encode()
    with zipfile.ZipFile("m.skops", "w") as archive:
        for member, content in members.items():
            archive.writestr(member, content)
    shown = nearlabel("card", "m.skops")
    assert shown.code == 0
    assert "nearlabel fit" not in shown.out
    with_data = (("predict", "--score"), ("report", "--out", "r.html"), ("explain", "--row", "0"), ("update",))
    commands = [(command, "m.skops", "data.csv", *options) for command, *options in with_data]
    for command in (("audit", "m.skops"), ("verify", "m.skops"), *commands):
        answer = nearlabel(*command)
        assert answer.code == 0, answer
        assert f"--method {name}" not in answer.out + answer.err
