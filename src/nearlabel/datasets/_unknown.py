"""The text that marks an unknown label in a file."""

from __future__ import annotations

import math

import numpy as np
from scipy import sparse

from nearlabel.datasets._arff_header import NUMBER
from nearlabel.utils.errors import ParameterError
from nearlabel.utils.types import CSR, BoolArray, Matrix

ANSWERS = {"yes": 1.0, "no": 0.0}
_KNOWN = {"true", "false", *ANSWERS}


def check_unknown(unknown: object) -> None:
    """Raise TypeError unless it is None or text."""
    if unknown is not None and not isinstance(unknown, str):
        raise TypeError(f"unknown must be text or None, got {unknown!r}. Hint: {str(unknown)!r}.")


def check_beside_zero_and_one(unknown: str | None) -> None:
    """Raise ValueError if the text means in a column of 0 and 1 that a label applies, or does not."""
    if unknown is not None and (unknown.strip().lower() in _KNOWN or number_of(unknown) in (0, 1)):
        raise ValueError(f"unknown must be text that means neither 0 nor 1, got {unknown!r}.")


def number_of(unknown: str | None) -> float | None:
    """Return the number that the text is; None if it is none."""
    text = "" if unknown is None else unknown.strip()
    return float(text) if NUMBER.fullmatch(text) else None


def not_zero_one(problem: str, got: object) -> ValueError:
    """Return the error for a label that is neither 0 nor 1; the hint is that a text or -1 may mark an unknown label."""
    text = f"{got:g}" if isinstance(got, float) else str(got)
    may_stand = text.strip("'\"") if text == "-1" or text[:1] in "'\"" else None
    if may_stand is None:
        return ValueError(f"{problem}, got {text}.")
    hint = "{problem}, got {got}. Hint: {unknown}, if it marks an unknown label."
    return ParameterError(hint, {"unknown": may_stand}, {"problem": problem, "got": text})


def with_unknown(values: Matrix, unknown: str | None) -> Matrix:
    """Return numbers with NaN in place of the one that the text is."""
    number = number_of(unknown)
    if number is None:
        return values
    if not sparse.issparse(values):
        return np.where(values == number, math.nan, values)
    data = np.where(values.data == number, math.nan, values.data)
    return sparse.csr_array((data, values.indices, values.indptr), shape=values.shape)


def with_unknown_rows(labels: CSR, is_unknown: BoolArray) -> CSR:
    """Return label sets of 0 and 1 in which all labels that some rows (n_rows,) do not carry are unknown: NaN."""
    rows = np.flatnonzero(is_unknown)
    within, columns = np.nonzero(labels[rows].toarray() == 0)
    nan = np.full(len(within), math.nan)
    return sparse.csr_array(labels + sparse.csr_array((nan, (rows[within], columns)), shape=labels.shape))


def as_stored(Y: Matrix) -> Matrix:
    """Return int64 labels, or float64 if one is unknown."""
    return Y if np.isnan(Y.data if sparse.issparse(Y) else Y).any() else Y.astype(np.int64)
