"""Facts of an audit as plain data for its page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from nearlabel.audit import Audit, SuspectCell, audit
from nearlabel.environment import made_with
from nearlabel.utils.row_names import names_of_rows

_MOST_ROWS_OF_A_GROUP = 20  # maximum of near copies
_MOST_ROWS, _MOST_CELLS = 20_000, 10  # maximum for the page of a model, which has other content too


def audit_facts(
    found: Audit,
    *,
    name: str,
    by: str = "",
    id_column: str | None = None,
    ids: Sequence[Any] | None = None,
    by_number: bool = True,
) -> dict[str, Any]:
    """Return the facts of an audit.

    Parameters
    ----------
    found : Audit
        The result of `nearlabel.audit.audit`; `Audit.named` sets names of samples.
    name : str
        Name of the data.
    by : str, default=""
        Description of the method.
    id_column : str, default=None
        Name of the column of `ids` in the corrections that the page saves. None: samples are identified by row number.
    ids : sequence of length n_rows, default=None
        Id of each training sample.
    by_number : bool, default=True
        Whether row numbers are those of the data. False: the page saves corrections without row numbers, and cannot
        save any without ids.

    Returns
    -------
    dict
        Plain data for `nearlabel.report.write_report`.

    Raises
    ------
    ValueError
        If there is not one id per sample, or only one of `id_column` and `ids` is given.

    Examples
    --------
    >>> from nearlabel.audit import audit
    >>> from nearlabel.lazy import BRkNN
    >>> from nearlabel.report import audit_facts
    >>> X = [[0], [1], [2], [3], [10], [11], [12], [13]]
    >>> y = [["calm"], ["calm"], ["loud"], ["calm"], ["loud"], ["loud"], ["loud"], ["loud"]]
    >>> facts = audit_facts(audit(BRkNN(n_neighbors=3).fit(X, y)), name="songs")
    >>> facts["cells"][0]["row"], facts["cells"][0]["label"], facts["cells"][0]["n_against"]
    (2, 'calm', 3)
    """
    if (id_column is None) != (ids is None):
        raise ValueError(f"id_column must go with ids, got {id_column!r} and {ids if ids is None else 'ids'}.")
    if ids is not None and len(ids) != found.n_rows:
        raise ValueError(f"ids must be {found.n_rows}, one for each row, got {len(ids)}.")
    figures = {name: value for name, value in found.to_dict().items() if not isinstance(value, list)}
    return {
        "kind": "audit",
        "name": name,
        "by": by,
        "made_with": [made_with()],
        **figures,
        "id_column": id_column,
        "by_number": by_number,
        "cells": [cell_facts(cell, "" if ids is None else str(ids[cell.row])) for cell in found.cells],
        "rows": found.to_records("rows"),
        "conflicts": [
            {
                **one,
                **{name: one[name][:_MOST_ROWS_OF_A_GROUP] for name in ("rows", "names")},
                "n_rows": len(one["rows"]),
            }
            for one in found.to_records("conflicts")
        ],
        "label_pairs": found.to_records("label_pairs"),
        "hubs": found.to_records("hubs"),
    }


def suspicious_labels(
    model: Any, n_rows: int, label_names: Sequence[str], kept: Mapping[str, Sequence[str]]
) -> dict[str, Any] | None:
    """Return the most suspicious cells of a model's training samples; None if the model cannot be audited.

    `kept` are columns that name the samples. If there are too many samples to search for a page, a note is returned
    instead.
    """
    if n_rows > _MOST_ROWS:
        told = f"The {n_rows:,} training samples are too many for this page. nearlabel audit MODEL examines them all."
        return {"note": told, "n_issues": 0, "cells": []}
    try:
        found = audit(model, n_cells=_MOST_CELLS, n_rows=0, n_effects=_MOST_CELLS, label_names=label_names)
    except (TypeError, ValueError):  # no votes of neighbours, or too few samples for leave-one-out
        return None
    named = found.named(names_of_rows(kept)) if kept else found
    return {"note": "", "n_issues": found.n_issues, "cells": [cell_facts(cell) for cell in named.cells]}


def cell_facts(cell: SuspectCell, row_id: str = "") -> dict[str, Any]:
    """Return a suspicious cell with its neighbours, and how many of them contradict it."""
    known = [one.value for one in cell.neighbors if one.value is not None]
    return {
        "row": cell.row,
        "name": cell.name,
        "id": row_id,
        "label": str(cell.label_name),
        "given": cell.given,
        "suggested": cell.suggested,
        "probability": cell.probability,
        "is_issue": cell.is_issue,
        "n_against": sum(value != cell.given for value in known),
        "n_known": len(known),
        "disagreement": cell.disagreement,
        "n_lists": cell.n_lists,
        "n_righted": cell.n_righted,
        "n_wronged": cell.n_wronged,
        "neighbors": [
            {"row": one.row, "name": one.name, "distance": one.distance, "value": one.value} for one in cell.neighbors
        ],
    }
