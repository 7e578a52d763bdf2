"""What the page of licences says, and that a licence nobody has allowed is found."""

import json
import tomllib
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

import pytest

from licences import READ_BY_HAND, extras_of, licence_of, main, page_of, refused
from vulnerabilities import main as vulnerabilities
from vulnerabilities import report

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
NOT_IN_THE_BILL = {"torch"}  # the page says so


def _component(package, **licence):
    return {"name": package, "version": "1", "licenses": [{"license": licence}] if licence else []}


@pytest.fixture(scope="module")
def rows():
    """The rows of the page's tables: the last cell of each is a licence."""
    lines = (ROOT / "docs/licences.md").read_text(encoding="utf-8").splitlines()
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines if line.startswith("|")]
    return {row[0].lower(): row[1:] for row in cells if row[0] not in ("package", "---")}


def test_every_dependency_is_on_the_page(rows):
    """With the extras that ask for it: a new one needs `make sbom`."""
    wanted = {name: ", ".join(extras) for name, extras in extras_of(PROJECT).items() if name not in NOT_IN_THE_BILL}
    assert {name: row[0] for name, row in rows.items() if len(row) == 2} == wanted


def test_licences_are_those_that_the_packages_declare(rows):
    """Where a package is installed here and says its licence as SPDX asks."""
    compared = 0
    for name, row in rows.items():
        try:
            declared = distribution(name).metadata.get("License-Expression")
        except PackageNotFoundError:
            continue
        if declared and name not in READ_BY_HAND:
            # The parts of numpy's licence differ between its versions; the first is that of its own code.
            assert row[-1].partition(" ")[0] in declared, name
            compared += 1
    assert compared >= 1


@pytest.mark.parametrize(
    ("component", "licence"),
    [
        (_component("a", id="MIT"), "MIT"),
        (_component("a", name="License :: OSI Approved :: BSD License"), "BSD"),
        ({"name": "a", "licenses": [{"expression": "MIT OR Apache-2.0"}]}, "MIT OR Apache-2.0"),
        (_component("skops", name="License :: OSI Approved"), "MIT"),
        (_component("a", name="my own"), "unknown"),
        (_component("a"), "unknown"),
    ],
)
def test_licence_of_a_component(component, licence):
    """However it is declared."""
    assert licence_of(component) == licence


@pytest.mark.parametrize(
    ("licence", "wrong"),
    [
        ("MIT AND Zlib", []),
        ("GPL-3.0-only OR MIT", []),
        ("MIT AND GPL-3.0-only", ["GPL-3.0-only"]),
        ("unknown", ["unknown"]),
    ],
)
def test_what_is_refused(licence, wrong):
    """All parts must be allowed; of alternatives one."""
    assert refused(licence) == wrong


def test_a_licence_that_nobody_has_allowed(tmp_path, capsys):
    """Fails, and is named."""
    bill, page = tmp_path / "bill.json", tmp_path / "page.md"
    bill.write_text(json.dumps({"components": [_component("strict", id="AGPL-3.0-only")]}), encoding="utf-8")
    assert main(str(bill), str(page)) == 1
    assert "strict has the licence AGPL-3.0-only" in capsys.readouterr().out


def test_the_page_tells_weak_licences():
    """And what they ask for."""
    page = page_of({"components": [_component("certifi", id="MPL-2.0"), _component("pip", id="MIT")]}, {})
    assert "- certifi: MPL-2.0; changes of its files must be published under it." in page
    assert "| certifi | MPL-2.0 |" in page
    assert "| pip |" not in page


WELL = {"name": "numpy", "version": "2.4", "vulns": []}
ILL = {"name": "old", "version": "1.0", "vulns": [{"id": "CVE-1", "fix_versions": ["1.1", "2.0"]}]}
UNFIXED = {"name": "old", "version": "1.0", "vulns": [{"id": "CVE-2", "fix_versions": []}]}
SKIPPED = {"name": "new", "skip_reason": "Dependency not found on PyPI and could not be audited: new (1)"}
OURS = {"name": "nearlabel", "skip_reason": "Dependency not found on PyPI and could not be audited: nearlabel (1)"}


@pytest.mark.parametrize(
    ("packages", "first", "is_well", "if_required"),
    [
        ([WELL, OURS], "1 of 1 packages were looked up, 0 are vulnerable.", True, True),
        ([WELL, SKIPPED], "1 of 2 packages were looked up, 0 are vulnerable.", True, False),
        ([], "0 of 0 packages were looked up, 0 are vulnerable.", True, False),
        ([WELL, ILL], "old 1.0 has the vulnerability CVE-1, fixed in 1.1, 2.0.", False, False),
        ([UNFIXED, SKIPPED], "old 1.0 has the vulnerability CVE-2, fixed in no version.", False, False),
    ],
)
def test_vulnerabilities(packages, first, is_well, if_required):
    """A known one is an error; a package that was not looked up is said, and an error where it is required."""
    lines, well = report(packages, required=False)
    assert (lines[0], well) == (first, is_well)
    assert any("not looked up: " in line for line in lines) == (SKIPPED in packages or not packages)
    assert report(packages, required=True) == (lines, if_required)


def test_no_answer_of_the_auditor(tmp_path, capsys):
    """Without a network it writes no file."""
    file = tmp_path / "vulnerabilities.json"
    assert vulnerabilities(str(file)) == 0
    assert "WARNING: not looked up: any." in capsys.readouterr().out
    assert vulnerabilities(str(file), "--required") == 1
    file.write_text(json.dumps({"dependencies": [WELL, ILL]}))
    assert vulnerabilities(str(file)) == 1
