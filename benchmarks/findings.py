"""What does the doctor find in each data set of the catalogue? Makes the table of ``docs/figures/findings.md``.

Run: ``python benchmarks/findings.py``; two minutes. ``NEARLABEL_DATA`` names a folder, or the sets are downloaded.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from nearlabel.datasets import Dataset, Finding, catalogue, examine, fetch_dataset, load_multidigits

PAGE = Path(__file__).parents[1] / "docs" / "figures" / "findings.md"
BEGIN, END = "<!-- findings: begin -->\n", "<!-- findings: end -->\n"
SEVERITIES = ("severe", "warning", "note")


def row_of(data: Dataset) -> str:
    """Return a data set's line of the table."""
    found = examine(data)
    cells = [", ".join(_short(one) for one in found if one.severity == severity) for severity in SEVERITIES]
    rows, features = data.X.shape
    return f"| {data.name} | {rows:,} x {features:,} | " + " | ".join(cells) + " |\n"


def _short(finding: Finding) -> str:
    """Return the kind with its first figure: a number of rows, columns or labels, or a share."""
    evidence = finding.evidence
    number = evidence.get("rows", evidence.get("count"))
    if finding.kind == "hubs" or number is None:
        return f"{finding.kind} {100 * float(evidence['share']):.2g} %"
    return f"{finding.kind} {number:,}"


def table() -> Iterator[str]:
    """Yield the lines of the table."""
    yield "| data set | rows x features | severe | warning | note |\n"
    yield "|---|---:|---|---|---|\n"
    for name in sorted(catalogue()):
        yield row_of(fetch_dataset(name))
    yield row_of(load_multidigits())


def main() -> None:
    """Write the table into the page."""
    before, _, rest = PAGE.read_text().partition(BEGIN)
    _, _, after = rest.partition(END)
    PAGE.write_text(before + BEGIN + "".join(table()) + END + after)


if __name__ == "__main__":
    main()
