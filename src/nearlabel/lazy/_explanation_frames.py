"""Tables of an explanation as pandas data frames."""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray

from nearlabel.lazy._plain import Table
from nearlabel.utils.optional import import_optional


def frame_of(table: Table) -> Any:
    """Return a data frame with the columns of a table."""
    pandas = import_optional("pandas", extra="frames", purpose="to_frame")
    return pandas.DataFrame({name: _series_of(pandas, column) for name, column in table.items()})


def _series_of(pandas: Any, column: NDArray[Any]) -> Any:
    if column.ndim > 1:
        return pandas.Series(list(map(tuple, column)), dtype=object)
    if column.dtype == object and all(cell is None or type(cell) is int for cell in column):
        return pandas.array(list(column), dtype="Int64")
    return column
