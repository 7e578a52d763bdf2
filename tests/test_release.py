"""What goes out with a release agrees: version, change log, citation, and the page that a package index shows."""

import importlib.util
import re
import tomllib
from datetime import date
from pathlib import Path

import pytest

import nearlabel
from release import EXAMPLE, check_equal, check_sums, python_symbols

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
HOST = "https://example.org/nearlabel"


@pytest.fixture(scope="module")
def page():
    """The module that makes the page; it belongs to the build, not to the package."""
    spec = importlib.util.spec_from_file_location("long_description", ROOT / "long_description.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def citation():
    """The entries of CITATION.cff that stand on one line, without quotation marks; of others the first line's."""
    text = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    return {name: value.strip('"') for name, value in re.findall(r"^([\w-]+):[ ]*(.*)$", text, re.MULTILINE)}


@pytest.fixture(scope="module")
def headings():
    """The headings of versions in the change log, from the newest on."""
    text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    return re.findall(r"^## (.+)$", text, re.MULTILINE)


def test_the_change_log_is_cut_at_this_version(headings):
    """What is not released yet stands first, then this version with its date."""
    assert headings[0] == "[Unreleased]"
    version, day = re.fullmatch(r"\[(.+)\] - (\S+)", headings[1]).groups()
    assert version == nearlabel.__version__
    assert date.fromisoformat(day).isoformat() == day


def test_the_citation_is_of_this_version(citation, headings):
    """With what its format requires, the licence of the package, and the day that the change log names."""
    assert {"cff-version", "message", "title", "authors"} <= set(citation)
    assert (citation["cff-version"], citation["type"]) == ("1.2.0", "software")
    assert citation["version"] == nearlabel.__version__
    assert citation["date-released"] == headings[1].partition(" - ")[2]
    assert citation["license"] == PROJECT["project"]["license"]
    assert f'name: "{PROJECT["project"]["authors"][0]["name"]}"' in (ROOT / "CITATION.cff").read_text(encoding="utf-8")


def test_the_version_stands_in_one_place():
    """The build reads it from the package."""
    assert "version" in PROJECT["project"]["dynamic"]
    assert ROOT / PROJECT["tool"]["hatch"]["version"]["path"] == ROOT / "src" / "nearlabel" / "__init__.py"


def test_every_link_of_the_readme_becomes_absolute(page):
    """And leads to a file that is there; programs and tables stay as they are."""
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    relative = re.findall(r"\]\((?!http)([^)]+)\)", readme)
    made = page.with_absolute_links(readme, HOST, "1.2.3")
    start = f"]({HOST}/blob/v1.2.3/"
    assert len(relative) == made.count(start) > 20
    assert re.findall(r"\]\((?!https?://)", made) == []
    assert made.replace(start, "](") == readme
    assert [link for link in relative if not (ROOT / link.partition("#")[0]).exists()] == []


@pytest.mark.parametrize(
    ("markdown", "absolute", "without"),
    [
        ("[a](b.md#c) [d](e)", "[a](H/blob/v1/b.md#c) [d](H/blob/v1/e)", "a d"),
        ("[two\nlines](b.md)", "[two\nlines](H/blob/v1/b.md)", "two\nlines"),
        ("[a](https://b.org) [c](#d) [e](mailto:f)", None, None),
        ("`[a](b)`", None, None),
        ("```\n[a](b)\n```\n", None, None),
    ],
)
def test_links(page, markdown, absolute, without):
    """Relative ones only, outside of code; where no host is known they become text. None: unchanged."""
    assert page.with_absolute_links(markdown, "H", "1") == (absolute or markdown)
    assert page.with_absolute_links(markdown, "", "1") == (without or markdown)


def test_addresses_beside_the_page(page):
    """Of this version where it matters; none is invented where the sources are not hosted."""
    found = page.urls(HOST, "1.2.3")
    assert (found["Source"], found["Issues"]) == (HOST, f"{HOST}/issues")
    start = f"{HOST}/blob/v1.2.3/"
    files = [url.removeprefix(start) for url in found.values() if url.startswith(start)]
    assert len(files) == 2
    assert all((ROOT / file).is_file() for file in files)
    assert page.urls("", "1.2.3") == {}


def test_the_build_makes_the_page():
    """What the hook fills in is declared as dynamic, and its setting is there."""
    assert {"readme", "urls"} <= set(PROJECT["project"]["dynamic"])
    address = PROJECT["tool"]["hatch"]["metadata"]["hooks"]["custom"]["repository"]
    assert address == "" or re.fullmatch(r"https://[^\s]+[^\s/]", address)


def test_the_example_that_is_tried():
    """It is the program of the documentation's first page."""
    program = EXAMPLE.search((ROOT / "docs" / "index.md").read_text(encoding="utf-8"))[1]
    assert "load_multidigits" in program


@pytest.mark.parametrize(
    ("content", "found"),
    [
        (b"\0PyLong_FromLong\0PyErr_Clear\0memcpy\0_Py_Dealloc\0", ["PyLong_FromLong", "PyErr_Clear", "_Py_Dealloc"]),
        (b"\0memcpy\0Pylon\0sum_pairs\0 PyErr \0", []),
    ],
)
def test_symbols_of_python_in_a_library(content, found):
    """Names between zeros, as a table of symbols has them; they would tie a wheel to a version of Python."""
    assert python_symbols(b"\x7fELF" + content) == found


def test_the_kernels_ask_nothing_of_python():
    """So one wheel serves every Python."""
    library = ROOT / "src" / "nearlabel" / "neighbors" / "_nearlabel_kernels.so"
    if not library.exists():
        pytest.skip("not built here")
    assert python_symbols(library.read_bytes()) == []


def test_check_sums(tmp_path):
    """As sha256sum prints and checks them."""
    (tmp_path / "a.whl").write_bytes(b"abc")
    assert check_sums([tmp_path / "a.whl"]) == (
        "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad  a.whl\n"
    )


def test_two_builds_that_differ(tmp_path):
    """They end the release, by name or content."""
    for folder, content in (("a", b"1"), ("b", b"1"), ("c", b"2")):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "x.whl").write_bytes(content)
    first, equal, other = (tmp_path / folder / "x.whl" for folder in "abc")
    check_equal([first], [equal])
    with pytest.raises(SystemExit, match="Two builds must give equal files"):
        check_equal([first], [other])
    with pytest.raises(SystemExit, match="Two builds must give equal files"):
        check_equal([first], [equal.rename(equal.with_name("y.whl"))])


@pytest.mark.parametrize("name", ["release.yml", "tests.yml"])
def test_actions_are_pinned_by_commit(name):
    """A tag or a branch may move to other code; the comment names the version for people and for Dependabot."""
    lines = (ROOT / ".github" / "workflows" / name).read_text(encoding="utf-8").splitlines()
    used = [line.strip().removeprefix("- ") for line in lines if "uses:" in line]
    assert len(used) >= 7
    assert [one for one in used if not re.fullmatch(r"uses: [\w./-]+@[0-9a-f]{40}  # v\d+\.\d+\.\d+", one)] == []
    versions = {re.match(r"uses: ([^@]+)@(.+)", one).groups() for one in used}
    assert len(versions) == len({action for action, _ in versions})


def test_tools_are_pinned():
    """The tools that judge a release are the same until somebody changes them on purpose."""
    tools = [tool for tool in PROJECT["project"]["optional-dependencies"]["release"] if "[" not in tool]
    assert len(tools) == 3
    assert [tool for tool in tools if not re.fullmatch(r"[\w-]+==[\d.]+", tool)] == []


def _requirements(text):
    """Return names and bounds, in the order of a list of conda or pip."""
    return sorted(re.sub(r"\s+", "", line) for line in text)


def test_the_recipe_for_conda_asks_for_the_same():
    """What the package and its command line need, nothing else; version, licence and summary are the package's."""
    text = (ROOT / "conda" / "recipe.yaml").read_text(encoding="utf-8")
    run = re.search(r"^  run:\n((?:    - .+\n)+)", text, re.MULTILINE)[1]
    project = PROJECT["project"]
    needed = [*project["dependencies"], *project["optional-dependencies"]["cli"]]
    assert _requirements(re.findall(r"- (.+)", run)) == _requirements([f"python{project['requires-python']}", *needed])
    assert f'  version: "{nearlabel.__version__}"\n' in text
    assert f"  license: {project['license']}\n" in text
    assert f'  summary: "{project["description"]}"\n' in text
    for host in PROJECT["build-system"]["requires"]:
        assert f"    - {host}\n" in text


def test_the_recipe_and_the_workflow_are_yaml():
    """Which jobs publish what: the one that has all others before it, with a right that no other has."""
    yaml = pytest.importorskip("yaml")
    assert yaml.safe_load((ROOT / "conda" / "recipe.yaml").read_text(encoding="utf-8"))["schema_version"] == 1
    workflow = yaml.safe_load((ROOT / ".github" / "workflows" / "release.yml").read_text(encoding="utf-8"))
    jobs = workflow["jobs"]
    assert workflow[True] == {"push": {"tags": ["v*"]}}  # "on" is a truth value in YAML 1.1
    assert workflow["permissions"] == {"contents": "read"}
    assert [name for name, job in jobs.items() if "permissions" in job] == ["publish"]
    assert set(jobs["publish"]["needs"]) == set(jobs) - {"publish"}
    assert {step.get("run") for step in jobs["sources"]["steps"]} >= {"make release"}
    steps = jobs["publish"]["steps"]
    attested = [step["with"] for step in steps if step.get("uses", "").startswith("actions/attest@")]
    assert [with_["subject-checksums"] for with_ in attested] == ["SHA256SUMS"] * 2
    assert [with_.get("sbom-path") for with_ in attested] == [None, "sbom/sbom.cdx.json"]
    assert steps[-1]["uses"].startswith("pypa/gh-action-pypi-publish@")
    assert steps[-1]["with"] == {"attestations": True}
    for job in jobs.values():
        for step in job["steps"]:
            if step.get("uses", "").startswith("actions/checkout@"):
                assert step["with"]["persist-credentials"] is False


def test_the_workflow_finds_what_it_compares():
    """The lines that it looks for stand so in the files: the version, and the address of the sources."""
    text = (ROOT / ".github" / "workflows" / "release.yml").read_text(encoding="utf-8")
    wanted = re.findall(r'grep -\w+ "\^?([\w ]+ = )', text)
    assert wanted == ["__version__ = ", "repository = "]
    source = (ROOT / "src" / "nearlabel" / "__init__.py").read_text(encoding="utf-8")
    assert f'\n{wanted[0]}"{nearlabel.__version__}"\n' in source
    assert f'\n{wanted[1]}"' in (ROOT / "pyproject.toml").read_text(encoding="utf-8")
