"""Every door of the library: what is invalid, hidden or inexact does not get in, whatever function is called."""

import copy
import subprocess
import sys
import tempfile
import warnings
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse

import _doors
from nearlabel.datasets import Dataset

# A step or model of others comes before ours, or the integers stay what they are.
TAKE_INTEGERS = (
    "audit.expected_loss", "audit.review", "audit.suggest", "metrics.get_scorer", "models.", "persistence.", "plots.",
    "datasets.append_to_store", "datasets.write_store", "neighbors.TransformerNeighbors", "neighbors.NeighborGraph",
    "neighbors.PrecomputedNeighbors.fit", "neighbors.PrecomputedNeighbors.kneighbors", "preprocessing.document_freq",
    "preprocessing.InformationGainSelector.transform", "preprocessing.InformationGainSelector.inverse_transform",
    "selection.tune_neighbors", "thresholds.",
)  # fmt: skip


def rejected(*arguments):
    """Return what the program of forged containers says of doors that let one in."""
    program = [sys.executable, "-X", "faulthandler", str(Path(_doors.__file__)), *arguments]
    found = subprocess.run(program, capture_output=True, text=True, check=False)
    if found.returncode:
        raise AssertionError(f"{found.returncode}: {found.stdout[-3000:]}\n{found.stderr[:1000]}")
    return found.stdout.splitlines()


def test_forged_containers_end_in_clear_errors():
    """At each public door that takes samples, label sets, scores or dense arrays, some of the forged containers.

    Also such containers as the elements of a list, of an array of objects, and of a data frame.
    """
    lines = rejected()
    assert len(lines) > 700
    assert {line.partition(".")[0] for line in lines} == set(_doors.ROOMS)


@pytest.mark.long
@pytest.mark.parametrize("room", _doors.ROOMS)
def test_every_forged_container_ends_in_a_clear_error(room):
    """All of them, of both families of scipy's containers."""
    assert rejected(room, "--all")


def answers(room):
    """Yield the doors of a room for arrays, each with a valid one and a function that returns what it answers."""
    with tempfile.TemporaryDirectory() as _doors.FOLDER:
        for door in _doors.doors(room):
            if door.argument in _doors.DENSE:
                continue
            valid = _doors.CONTAINERS.get(door.argument, _doors.Y if door.argument == "y" else _doors.X)
            if not sparse.issparse(valid):
                yield door, valid, lambda value, door=door: error_of(door, value)


def error_of(door, value):
    """Return the message of the error, or None."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            door.call(copy.deepcopy(value))
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            return str(error)
    return None


@pytest.mark.parametrize("room", _doors.ROOMS)
def test_hidden_values_are_missing_values(room):
    """A masked array is answered, or refused, as one that has NaN instead, of X, y, scores and weights."""
    for door, valid, error in answers(room):
        mask = np.zeros(valid.shape, dtype=bool)
        mask.flat[1] = True
        assert error(np.ma.array(valid, mask=mask)) == error(np.where(mask, np.nan, valid)), (door.name, door.argument)


@pytest.mark.parametrize("room", sorted({*_doors.ROOMS} - {"audit", "models", "persistence", "plots", "thresholds"}))
def test_integers_are_not_rounded(room):
    """Integers that float64 would make equal are refused by all that computes with them."""
    for door, valid, error in answers(room):
        if door.argument in _doors.SAMPLES and not door.name.startswith(TAKE_INTEGERS):
            ids = (2 * valid).astype(np.int64)
            ids[:, 0] = 2**60 + np.arange(len(ids))
            assert "must contain numbers that float64 can store" in str(error(ids)), (door.name, door.argument)


def test_data_sets_check_their_containers():
    """When they are made: what takes them does not look again."""
    for kind, value in _doors.forged(_doors.X):
        with pytest.raises(ValueError, match=r"^X must be a valid sparse container"):
            Dataset(value, _doors.Y, tuple("abcde"), tuple("klmn"), kind)
    for kind, value in _doors.forged(_doors.Y):
        with pytest.raises(ValueError, match=r"^Y must be a valid sparse container"):
            Dataset(_doors.X, value, tuple("abcde"), tuple("klmn"), kind)


def test_weights_are_arrays():
    """A sparse container of weights is refused in words, also a valid one."""
    for door in _doors.doors("metrics"):
        if door.argument == "sample_weight":
            with pytest.raises(TypeError, match=r"sample_weight must be a dense array, got csr_array\."):
                door.call(sparse.csr_array(np.ones((1, 40))))
