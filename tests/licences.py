"""Write docs/licences.md from a software bill of materials, and fail on a licence that is not allowed: `make sbom`.

The bill is that of an environment with every extra that a user may install. Versions are in the bill only: those of the
page would be old the next day.

    python tests/licences.py build/sbom.cdx.json docs/licences.md
"""

from __future__ import annotations

import json
import re
import sys
import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
FOR_DEVELOPERS = ("test", "browser", "bench", "clients", "docs", "wheels", "release", "lint", "mutants")  # extras
ENVIRONMENT = ("pip", "setuptools", "wheel")  # are in every environment, and not ours
MEANING = {  # of what older packages declare, a class of licences or a name
    "License :: OSI Approved :: Apache Software License": "Apache-2.0",
    "License :: OSI Approved :: BSD License": "BSD",
    "License :: OSI Approved :: MIT License": "MIT",
    "License :: OSI Approved :: Mozilla Public License 2.0 (MPL 2.0)": "MPL-2.0",
}
READ_BY_HAND = {  # of packages that declare none or not which: what the licence file that they ship says
    "overrides": "Apache-2.0",
    "partd": "BSD-3-Clause",
    "protobuf": "BSD-3-Clause",
    "skops": "MIT",
}
PERMISSIVE = {
    *("0BSD", "Apache-2.0", "BSD", "BSD-2-Clause", "BSD-3-Clause", "CC0-1.0", "HPND", "ISC", "MIT", "MIT-CMU"),
    *("PSF-2.0", "Python-2.0", "Unlicense", "Zlib"),
}
WEAK = {  # changes of the package itself must be published; programs that use it need not be
    "LGPL-3.0-only": "its changes must be published under it, and users must be able to replace it",
    "MPL-2.0": "changes of its files must be published under it",
}


def licence_of(component: Mapping[str, Any]) -> str:
    """Return the licence of a component of the bill as an SPDX expression, or "unknown"."""
    name = component["name"].lower()
    if name in READ_BY_HAND:
        return READ_BY_HAND[name]
    declared = component.get("licenses") or []
    found = [entry.get("expression") or entry["license"].get("id") for entry in declared]
    found = [licence for licence in found if licence] or [MEANING.get(entry["license"]["name"]) for entry in declared]
    return found[0] if found and found[0] else "unknown"


def refused(licence: str) -> list[str]:
    """Return the parts of an SPDX expression that are neither permissive nor weak; of alternatives one will do."""
    parts_of_each = [re.split(r"\s+AND\s+", choice) for choice in re.split(r"\s+OR\s+", licence.strip("()"))]
    wrong_of_each = [[part for part in parts if part not in PERMISSIVE | {*WEAK}] for parts in parts_of_each]
    return min(wrong_of_each, key=len)


def extras_of(project: Mapping[str, Any]) -> dict[str, list[str]]:
    """Return, for each direct dependency of a user, the extras that ask for it; "core" where nearlabel always does."""
    extras: dict[str, list[str]] = {}
    optional = {extra: of for extra, of in project["optional-dependencies"].items() if extra not in FOR_DEVELOPERS}
    for extra, requirements in {"core": project["dependencies"], **optional}.items():
        for requirement in requirements:
            name = _plain(re.match(r"[\w.-]+", requirement)[0])
            if name != "nearlabel":
                extras.setdefault(name, []).append(extra)
    return extras


def page_of(bill: Mapping[str, Any], extras: Mapping[str, Iterable[str]]) -> str:
    """Return the page: direct dependencies with their extras, then what these bring along."""
    licences = {c["name"]: licence_of(c) for c in bill["components"] if c["name"] not in ENVIRONMENT}
    names = sorted(licences, key=str.lower)
    asked = [name for name in names if _plain(name) in extras]
    direct = [f"| {name} | {', '.join(extras[_plain(name)])} | {licences[name]} |" for name in asked]
    others = [f"| {name} | {licences[name]} |" for name in names if name not in asked]
    weak = [f"- {name}: {licences[name]}; {WEAK[part]}." for name in names for part in WEAK if part in licences[name]]
    lines = [_HEAD, *weak, "", "## What nearlabel requires", "", "| package | extras | licence |", "|---|---|---|"]
    lines += [*direct, "", "## What these bring along", "", "| package | licence |", "|---|---|", *others]
    return "\n".join(lines) + "\n"


_HEAD = """# Licences

The licence of nearlabel is BSD-3-Clause. It ships no code of others: the packages below are installed next to it, those
of an extra only if you install the extra. `make sbom` installs all extras but `gpu` (torch brings its own, long list).
It writes a software bill of materials in the format CycloneDX, with versions and dependencies
(`build/sbom.cdx.json`), and this page. It fails on a licence that is not allowed.

All licences are permissive but these:
"""


def _plain(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def main(bill_file: str, page_file: str) -> int:
    """Write the page; return 1 if a licence is not allowed."""
    bill = json.loads(Path(bill_file).read_text(encoding="utf-8"))
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    wrong = {c["name"]: licence_of(c) for c in bill["components"] if refused(licence_of(c))}
    for name, licence in wrong.items():
        print(
            f"{name} has the licence {licence}, which is not allowed. Hint: PERMISSIVE and WEAK in tests/licences.py."
        )
    Path(page_file).write_text(page_of(bill, extras_of(project)), encoding="utf-8", newline="\n")
    return 1 if wrong else 0


if __name__ == "__main__":
    raise SystemExit(main(*sys.argv[1:]))
