"""Say what pip-audit found on packages: known vulnerabilities, and what it could not look up.

pip-audit ends well where it looked nothing up, as without a network. Here that is said, and is an error if required.

    python tests/vulnerabilities.py build/vulnerabilities.json [--required]
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

OURS = "nearlabel"  # not in an index before its release


def report(packages: Iterable[Mapping[str, Any]], *, required: bool) -> tuple[list[str], bool]:
    """Return the lines to print, and whether all is well."""
    others = [package for package in packages if package["name"] != OURS]
    unknown = [package["name"] for package in others if "skip_reason" in package]
    known = {f"{of['name']} {of['version']}": of["vulns"] for of in others if of.get("vulns")}
    lines = [
        f"{package} has the vulnerability {found['id']}, fixed in {', '.join(found['fix_versions']) or 'no version'}."
        for package, vulnerabilities in known.items()
        for found in vulnerabilities
    ]
    lines.append(f"{len(others) - len(unknown)} of {len(others)} packages were looked up, {len(known)} are vulnerable.")
    if unknown or not others:
        lines.append(f"WARNING: not looked up: {', '.join(unknown) or 'any'}. Hint: pip-audit asks pypi.org.")
    return lines, not known and not (required and (unknown or not others))


def main(found_file: str, *options: str) -> int:
    """Return 1 if a package has a known vulnerability, or if packages must be looked up and were not."""
    file = Path(found_file)
    packages = json.loads(file.read_text(encoding="utf-8"))["dependencies"] if file.exists() else []
    lines, is_well = report(packages, required="--required" in options)
    print("\n".join(lines))
    return 0 if is_well else 1


if __name__ == "__main__":
    raise SystemExit(main(*sys.argv[1:]))
