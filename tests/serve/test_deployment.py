"""Deployment: what docs/howto/deploy.md and the files in deploy/ say is run, as far as it can be without docker."""

import configparser
import os
import re
import shlex
import shutil
import subprocess
import sys
import time
import venv
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import pytest

import _vector_tables
from _pages import blocks
from _recipes import recipe
from nearlabel import cli
from nearlabel.cli import build_parser
from nearlabel.persistence import load_model, read_card, read_kept
from nearlabel.serve import LiveModel
from nearlabel.serve._live import end

ROOT = Path(__file__).parents[2]
DEPLOY = ROOT / "deploy"
TOKEN = "0123456789abcdef"
NEW = {"text": "zebra stripes", "product": "web", "priority": 1, "tags": ["zoo"]}
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::UserWarning")


@pytest.fixture
def live():
    """A function that opens a model as the service does."""
    return LiveModel


def instructions():
    """Return the lines of the Dockerfile by stage: (instruction, its text)."""
    stages = []
    for line in (DEPLOY / "Dockerfile").read_text(encoding="utf-8").splitlines():
        what, _, text = line.partition(" ")
        if what == "FROM":
            stages.append([])
        if what.isupper():
            stages[-1].append((what, text))
    return stages


def of_image(what):
    """Return the only text of an instruction of the last stage."""
    (text,) = (text for kind, text in instructions()[-1] if kind == what)
    return text


def parsed(command):
    """Return the arguments of a command line of `nearlabel`, as its parser reads them."""
    return build_parser().parse_args(command[1:])


def entry(*models):
    """Return the command that a container runs."""
    return [*eval(of_image("ENTRYPOINT")), *(models or eval(of_image("CMD")))]


def test_the_image():
    """No compiler where it runs, not root, a health check, a volume; options that exist."""
    build, image = instructions()
    assert any("g++" in text for _, text in build)
    assert not any(word in text for _, text in image for word in ("apt-get", "g++"))
    assert of_image("USER") == "10001:10001"
    assert of_image("VOLUME") == str(parsed(entry()).models[0].parent)
    assert parsed(entry()).host == "0.0.0.0"
    assert f":{parsed(entry()).port}/health" in of_image("HEALTHCHECK")
    copied = [name for kind, text in build if kind == "COPY" for name in text.split()[:-1]]
    assert [name for name in copied if not (ROOT / name).exists()] == []


def test_the_composition():
    """Its files, volumes, secrets and options exist."""
    yaml = pytest.importorskip("yaml")
    composed = yaml.safe_load((DEPLOY / "compose.yaml").read_text(encoding="utf-8"))
    services = composed["services"]
    for service in services.values():
        assert set(service["secrets"]) <= set(composed["secrets"])
        for volume in service["volumes"]:
            name = volume.split(":")[0]
            assert name in composed["volumes"] or (DEPLOY / name).is_file()
        build = service.get("build")
        assert build is None or (DEPLOY / build["context"] / build["dockerfile"]).is_file()
    arguments = parsed(entry(*services["nearlabel"]["command"]))
    assert (arguments.models, arguments.token_file) == ([Path("/models/songs.skops")], Path("/run/secrets/token"))
    assert len(services["nightly"]["command"]) == 3


def test_the_unit(tmp_path):
    """Its options exist, and it can write where the model is; systemd finds no fault where it is installed."""
    unit = configparser.ConfigParser(strict=False, interpolation=None)
    unit.optionxform = str
    unit.read(DEPLOY / "nearlabel.service")
    service = unit["Service"]
    arguments = parsed(shlex.split(service["ExecStart"]))
    assert str(arguments.models[0].parent) == service["ReadWritePaths"] == "/var/lib/" + service["StateDirectory"]
    assert str(arguments.token_file) == "%d/" + service["LoadCredential"].split(":")[0]
    if shutil.which("systemd-analyze"):
        copy = tmp_path / "nearlabel.service"
        text = (DEPLOY / "nearlabel.service").read_text(encoding="utf-8")
        copy.write_text(text.replace("/opt/nearlabel/bin/nearlabel", sys.executable), encoding="utf-8")
        done = subprocess.run(["systemd-analyze", "verify", copy], capture_output=True, text=True, check=False)
        assert copy.name not in done.stderr


@contextmanager
def serving(command, home, **variables):
    """Run a service; yield its address."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    environment |= {"HOME": str(home), **variables}
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=environment)
    try:
        yield re.search(r"http://\S+", process.stdout.readline())[0]
    finally:
        process.terminate()
        process.communicate(timeout=60)
    assert process.returncode == 0


@pytest.mark.long
def test_the_steps_of_the_image(path, tmp_path):
    """In a new environment and an empty home: a wheel with kernels is built, installed, served, and found healthy."""
    places = {folder: tmp_path / folder.strip("/") for folder in ("/sources", "/wheels", "/models")}
    venv.create(tmp_path / "environment", with_pip=True)
    bin_folder, home = tmp_path / "environment" / "bin", tmp_path / "home"
    home.mkdir()
    variables = {"HOME": str(home), "PATH": f"{bin_folder}:{os.environ['PATH']}"}
    kept = {name: value for name, value in os.environ.items() if name.startswith(("PIP_", "SSL", "http", "HTTP"))}

    def here(text):
        for folder, place in places.items():
            text = re.sub(rf"(?<![\w.]){folder}\b", str(place), text)
        return text

    stages = instructions()
    for kind, text in (*stages[0], *stages[1]):
        if kind == "COPY" and "--from" not in text:
            *names, target = text.split()
            for name in names:
                _copied(ROOT / name, Path(here(target)) if len(names) == 1 else Path(here(target)) / name)
        elif kind in ("ENV", "ARG"):
            name, _, value = text.partition("=")
            variables[name] = value if name != "HOME" else str(home)
        elif kind == "RUN" and "apt-get" not in text:  # the compiler is here
            command = here(text).replace(" && chown 10001:10001", " && test -d")
            subprocess.run(["sh", "-ec", command], env={**kept, **variables}, check=True, cwd=home)
    assert any("linux" in wheel.name for wheel in places["/wheels"].glob("*.whl"))
    model = shutil.copy(path, places["/models"] / "model.skops")
    command = [here(word) for word in entry()]
    command[command.index("--port") + 1] = "0"
    command[0] = str(bin_folder / command[0])
    home = tmp_path / "empty home"  # some compilers write into that of the build
    home.mkdir()
    with serving(command, home, NEARLABEL_TOKEN=TOKEN) as address:
        port = address.rpartition(":")[2]
        check = here(of_image("HEALTHCHECK").partition("CMD ")[2]).replace("8000", port)
        subprocess.run(["sh", "-ec", check], env=variables, check=True)
        from nearlabel.client import Client

        client = Client(address.replace("0.0.0.0", "127.0.0.1"), token=TOKEN)
        (found,) = client.predict(rows=[{"text": "password locked reset", "product": "app", "priority": 3}])
        assert found["labels"] == ["login"]
        assert client.update([NEW | {"id": "N1"}])["version"] == 1
    assert "N1" in read_kept(model)["id"]
    assert list(home.iterdir()) == []


def _copied(source, target):
    target.parent.mkdir(parents=True, exist_ok=True)
    if source.is_dir():
        shutil.copytree(source, target, ignore=shutil.ignore_patterns("*.so", "__pycache__"))
    else:
        shutil.copy(source, target)


def copies_of(path, folder, order):
    """Copy the model file and its journal in this order, as the page does; return the copy of the file."""
    folder.mkdir()
    for name in order:
        shutil.copyfile(path.with_name(name), folder / name)
    return folder / path.name


def test_a_back_up_has_what_was_acknowledged_before(path, tmp_path, live):
    """Copied while samples are added and the journal is written into the file: first the journal, then the file."""
    order = [line.split()[1] for line in sh_block("cp tickets").splitlines()]
    assert order == ["tickets.skops.journal", "tickets.skops"]
    model, acknowledged, ended = live(path), [], []

    def change():
        for number in range(10**6):
            if ended:
                return
            model.update([NEW | {"id": f"N{number}"}])
            acknowledged.append(f"N{number}")
            if number % 3 == 2:
                model.compact()

    with ThreadPoolExecutor(1) as pool:
        changing = pool.submit(change)
        try:
            for number in range(25):
                known = set(acknowledged)
                copy = copies_of(path, tmp_path / f"copy {number}", order)
                assert known <= set(live(copy).state.file.kept["id"]), number
                time.sleep(0.01)
        finally:
            ended.append(True)
        changing.result()
    assert len(acknowledged) > 25


def test_the_other_order_is_refused(path, tmp_path, live):
    """Why the page names an order: the journal that begins when the file is written lacks what the older file lacks."""
    model = live(path)
    model.update([NEW | {"id": "N1"}])
    (tmp_path / "old").mkdir()
    shutil.copyfile(path, tmp_path / "old" / path.name)
    between = copies_of(path, tmp_path / "between", ["tickets.skops.journal"])
    model.compact()
    shutil.copyfile(path, between)
    shutil.copyfile(model.journal.path, tmp_path / "old" / model.journal.path.name)
    assert "N1" in live(between).state.file.kept["id"]
    with pytest.raises(ValueError, match="got changes to another one"):
        live(tmp_path / "old" / path.name)


def test_versions_by_a_link(path, live):
    """Changes go into the file to which the link led at the start, also if it was moved before the end."""
    first, second, link = (path.with_name(name) for name in ("t-1.skops", "t-2.skops", "t.skops"))
    shutil.copy(path, second)
    path.rename(first)
    link.symlink_to(first.name)
    model = live(link)
    model.update([NEW | {"id": "N1"}])
    model.compact()
    assert link.is_symlink()
    assert read_card(first).data.rows == read_card(second).data.rows + 1
    model.update([NEW | {"id": "N2"}])
    link.unlink()
    link.symlink_to(second.name)
    content = second.read_bytes()
    model.compact()
    end(first)  # a regular end
    assert second.read_bytes() == content
    assert {"N1", "N2"} <= set(live(first).state.file.kept["id"])
    assert live(link).state.answer.samples == 60


def sh_block(begin):
    """Return the block of the shell of the page deploy that begins so."""
    (text,) = (block.text for block in blocks("howto/deploy") if block.kind == "sh" and block.text.startswith(begin))
    return text


def test_commands_and_files_of_the_page(tmp_path, monkeypatch, capsys):
    """The commands of nearlabel run on its names, and the files that it names are there."""
    text = "".join(block.text for block in blocks("howto/deploy"))
    assert {name for name in re.findall(r"deploy/[\w.]+", text) if not (ROOT / name).is_file()} == set()
    monkeypatch.chdir(tmp_path)
    rows = [f"T{i},{w},{t}\n" for i, (w, t) in enumerate([("card refund", "billing"), ("reset lock", "login")] * 15)]
    Path("tickets.csv").write_text("id,text,tags\n" + "".join(rows), encoding="utf-8")
    Path("erased.txt").write_text("T3\n", encoding="utf-8")
    commands = re.findall(r"^nearlabel .*", text, re.MULTILINE)
    assert [command.split()[1] for command in commands] == ["fit", "card", "forget"]
    for command in commands:
        assert cli.main(shlex.split(command)[1:]) == 0
    Path("tickets.skops").symlink_to("tickets-2026-01-31.skops")
    assert "T3" not in read_kept("tickets.skops")["id"]
    capsys.readouterr()


def test_the_nightly_update(path, tmp_path, capsys, monkeypatch):
    """Runs while the service does, and a second time without a second effect."""
    import json

    source = next(block.text for block in blocks("howto/deploy") if block.file == "nightly_update.py")
    rows = tmp_path / "rows.jsonl"
    rows.write_text("".join(json.dumps(NEW | {"id": f"N{n}"}) + "\n" for n in range(501)), encoding="utf-8")
    command = [sys.executable, "-m", "nearlabel", "serve", str(path), "--port", "0"]
    source_path = os.pathsep.join([str(ROOT / "src"), os.environ.get("PYTHONPATH", "")])
    with serving(command, tmp_path, NEARLABEL_TOKEN=TOKEN, PYTHONPATH=source_path) as address:
        monkeypatch.setenv("NEARLABEL_TOKEN", TOKEN)
        monkeypatch.setattr(sys, "argv", ["nightly_update.py", address, str(rows)])
        for _ in range(2):
            exec(compile(source, "nightly_update.py", "exec"), {})
            assert "'version': 2" in capsys.readouterr().out.splitlines()[-1]
    assert read_card(path).data.rows == 60 + 501


@pytest.mark.parametrize("engine", ["lance", "pgvector"])
def test_the_nightly_fit(engine, tmp_path, live):
    """The job of the composition: a model of the rows of a table, with their ids, which can be corrected."""
    songs, table = _vector_tables.Songs(), _vector_tables.MAKERS[engine](tmp_path)
    table.add(songs.ids, songs.X, songs.tags)
    job = _module(DEPLOY / "nightly.py")
    path = job.fit(table, tmp_path, "songs")
    table.close()
    assert re.fullmatch(r"songs-\d{4}-\d\d-\d\d-\d{4}\.skops", path.name)
    assert read_kept(path)["id"] == tuple(map(str, songs.ids))
    assert load_model(path).predict(songs.X).shape == (40, 3)
    assert live(path).forget([str(songs.ids[0])]).samples == 39


def _module(path):
    import importlib.util

    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_page_on_arrays_works(tmp_path, monkeypatch, capsys):
    """From the export to the reader, which says that the label sets are the same."""
    monkeypatch.chdir(tmp_path)
    recipe("howto/deploy", "nearest_labels.py")
    monkeypatch.setitem(sys.modules, "nearest_labels", sys.modules["_recipe_nearest_labels"])
    names = {}
    for block in blocks("howto/deploy"):
        if block.kind == "python" and block.file is None:
            exec(compile(block.text, "deploy.md", "exec"), names)
    assert capsys.readouterr().out == "True\n"
