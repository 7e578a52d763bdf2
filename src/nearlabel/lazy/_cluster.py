"""Votes and tables by the workers of a search on a cluster: label sets, lists and predictions stay in files.

The workers call the methods of the classifier itself, for a tile of queries or for some training samples; only the
label sets are mapped from files. So the formulas are those of one process. Tables are counts: whole numbers, whose sum
does not depend on who adds them, or in which order.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import reduce
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from nearlabel.files.row_files import RowFiles
from nearlabel.lazy._counts import count_few
from nearlabel.models.out_of_sample import Needs
from nearlabel.models.updates import copy_to_update
from nearlabel.neighbors import DaskNeighbors, TrainingLists
from nearlabel.neighbors.optional._dask_cluster import _Session, read_object, write_rows
from nearlabel.neighbors.votes import Neighbors, occurrences, share_of_most_used, warn_if_useless
from nearlabel.utils.containers import is_dask_array
from nearlabel.utils.messages import require_room
from nearlabel.utils.targets import CountedLabels, LabelContainer, Target, UnknownCellsError, as_label_matrix
from nearlabel.utils.types import FloatArray, IntArray, Matrix, MatrixLike
from nearlabel.utils.validation import bytes_per_row, row_blocks

_OF_TRAINING = ("search_", "_lists", "_counts", "likelihood_", "_training_distances", "_row_names")
_LARGE = 2**20  # bytes of an array that workers map, so that those of a machine share it
_HINT_OF_TILES = "DaskNeighbors(query_rows=...) sets the queries of a tile; predict needs less than predict_proba"


# Label sets.


def labels_in_files(classifier: Any, y: MatrixLike) -> Any:
    """Let workers check and count a y that is a dask array or in a store; return any other y unchanged.

    The label sets are mapped from a file that one worker writes. A y with unknown cells is returned unchanged, too.
    """
    is_dask = is_dask_array(y)
    if not (_is_dask_matrix(y) if is_dask else _is_in_files(y)):
        return y
    session = _Session(classifier.search.client, classifier.search.folder)
    with session.scratch() as folder:
        parts = session.from_blocks(y, _check_labels, folder)
        if any(part is None for part in parts):
            return y
        files = session.joined([part.rows for part in parts])
    labels, container = files.mapped(), parts[0].container if is_dask else LabelContainer.of(y)
    cuts = row_blocks(len(files.rows), bytes_per_row(labels))
    frequencies = session.client.map(_frequencies, [files.rows[cut] for cut in cuts], pure=False)
    target = Target(labels, container, np.arange(labels.shape[1]))
    return CountedLabels(target, session.in_groups(_added, frequencies).result())


def _is_dask_matrix(y: Any) -> bool:
    """Return whether a dask object is an array (n_samples, n_labels) that knows its shape, and is not empty."""
    return hasattr(y, "chunks") and y.ndim == 2 and all(n > 0 for n in y.shape)


def _is_in_files(y: MatrixLike) -> bool:
    """Return whether label sets (n_samples, n_labels) are mapped from files."""
    is_matrix = y.format == "csr" if sparse.issparse(y) else getattr(y, "ndim", 0) == 2
    return is_matrix and 0 not in y.shape and RowFiles.of(y) is not None


class _CheckedBlock(NamedTuple):
    rows: RowFiles
    container: LabelContainer


def _check_labels(block: Any, path: str) -> _CheckedBlock | None:
    """Write a block of label sets in bytes; return None if there are unknown cells."""
    block = block.load() if isinstance(block, RowFiles) else block
    try:
        labels = as_label_matrix(block, dtype=np.int8)
    except UnknownCellsError:
        return None
    return _CheckedBlock(write_rows(path, labels), LabelContainer.of(block))


def _frequencies(rows: RowFiles) -> IntArray:
    """Return the number of label sets that have each label."""
    return np.asarray(rows.load().sum(axis=0, dtype=np.int64)).ravel()


# What workers need of a classifier.


class _Sent:
    """A fitted classifier in a worker: without its search and lists, and with large arrays mapped from files."""

    def __init__(self, path: str, arrays: dict[str, tuple[RowFiles, tuple[int, ...]]]) -> None:
        self._recipe = path, arrays
        self.rule = read_object(path)
        for name, (rows, shape) in arrays.items():
            mapped = rows.load()
            setattr(self.rule, name, mapped if len(shape) == 2 else mapped.reshape(shape))

    def __reduce__(self) -> Any:
        return _Sent, self._recipe


class _Sending:
    """A classifier for the workers, and the files with its parts, which are removed with this object."""

    def __init__(self, classifier: Any, session: _Session) -> None:
        rule, arrays, self._files = copy_to_update(classifier), {}, []
        rule.search = None
        for name in _OF_TRAINING:
            vars(rule).pop(name, None)
        for name, value in list(vars(rule).items()):
            if name == "_labels" or _is_large(value):
                files = session.in_files(value if value.ndim == 2 else value.reshape(len(value), -1))
                arrays[name] = files.rows, value.shape
                self._files.append(files)
                delattr(rule, name)
        path, files = session.write_object(rule)
        self._files.append(files)
        self.future = session.client.submit(_Sent, path, arrays, pure=False)


def _is_large(value: Any) -> bool:
    return isinstance(value, np.ndarray) and value.dtype.kind in "biuf" and value.nbytes > _LARGE


# Neighbours of the training samples, and their counts.


def learn_training(classifier: Any, n_neighbors: int, n_reserved: int) -> None:
    """Learn from the training samples' neighbours, as one process does: workers write the lists, and count rows."""
    search: DaskNeighbors = classifier.search_
    files, n_samples = search._queries_in_files(None), search.n_samples_fit_
    session, k, weighs = search._session, classifier.n_neighbors_, classifier.weights != "uniform"
    with session.scratch() as folder:
        arguments = k, n_neighbors - n_reserved, n_samples, weighs, str(folder)
        parts = [part for _, part in search._in_tiles(files, n_neighbors, _write_lists, *arguments)]
        indices, means = session.joined([p.indices for p in parts]), session.joined([p.means for p in parts])
        distances = session.joined([p.distances for p in parts]) if weighs else None
    share = session.client.submit(_share_of_most_used, indices.rows, n_neighbors - n_reserved, n_samples, pure=False)
    same = {part.same for part in parts}
    warn_if_useless(n_neighbors - n_reserved, n_samples, same.pop() if len(same) == 1 else None, share.result)
    classifier._training_distances = means.mapped()[:, 0]
    classifier._lists = TrainingLists(
        needed=k + 1,
        indices=indices.mapped(),
        lengths=np.broadcast_to(n_neighbors, n_samples),
        distances=None if distances is None else distances.mapped(),
    )
    sending = _Sending(classifier, session)
    cuts = list(row_blocks(n_samples, 1, budget=search.shard_rows))
    near = [(indices.rows[cut], None if distances is None else distances.rows[cut], cut) for cut in cuts]
    counts = session.client.map(_count, near, sent=sending.future, pure=False)
    classifier._take_counts(session.in_groups(_added, counts).result())


class _TileOfLists(NamedTuple):
    indices: RowFiles
    means: RowFiles  # of the distances to the neighbours that vote
    distances: RowFiles | None
    same: float | None  # the distance of all needed neighbours, if it is one


def _write_lists(
    distances: FloatArray,
    indices: IntArray,
    tile: slice,
    k: int,
    n_needed: int,
    n_samples: int,
    weighs: bool,
    folder: str,
) -> _TileOfLists:
    """Write the neighbours of a tile of training samples."""

    def write(name: str, rows: Matrix) -> RowFiles:
        return write_rows(Path(folder, f"{name}-{tile.start}"), rows)

    needed = distances[:, :n_needed]
    means = Neighbors(distances[:, :k], indices[:, :k]).mean_distances()
    return _TileOfLists(
        write("indices", indices.astype(TrainingLists.type_for(n_samples))),
        write("means", means[:, np.newaxis]),
        write("distances", distances) if weighs else None,
        float(needed[0, 0]) if (needed == needed[0, 0]).all() else None,
    )


def _share_of_most_used(lists: RowFiles, n_needed: int, n_samples: int) -> float:
    """Return the share of all places that the most used rows take, as `warn_of_useless` computes it."""
    occurs = np.zeros(n_samples, dtype=np.int64)
    for block in row_blocks(n_samples, 1, budget=n_samples):
        occurs += occurrences(lists[block].load()[:, :n_needed], n_samples)
    return share_of_most_used(occurs)


def _count(part: tuple[RowFiles, RowFiles | None, slice], sent: _Sent) -> IntArray:
    """Count some training samples by label and by the votes of their neighbours."""
    rule, (lists, distances, rows) = sent.rule, part
    indices = lists.load()[:, : rule.n_neighbors_]
    far = np.broadcast_to(0.0, indices.shape) if distances is None else distances.load()[:, : rule.n_neighbors_]

    def counted(block: slice) -> IntArray:
        own = slice(rows.start + block.start, rows.start + block.stop)
        near = Neighbors(far[block], indices[block])
        return count_few(rule._units_of, rule._labels, rule._sample_weight, near, own)

    size = (rule.n_neighbors_ + 1) * bytes_per_row(rule._labels)
    return _added(map(counted, row_blocks(len(indices), size)))


def _added(counts: Iterable[IntArray]) -> IntArray:
    """Return the sum of counts: whole numbers, so in any order."""
    return reduce(np.add, counts)


# Predictions.


def predict(classifier: Any, queries: Any, method: str) -> Any:
    """Return the result of "predict" or "predict_proba" for a dask array of queries: a dask array of files."""
    search, container, n_labels = classifier.search_, classifier._container, classifier._n_labels
    files = search._queries_in_files(queries)
    session = search._session
    sending, folder = _Sending(classifier, session), session.new_folder()
    arguments = sending.future, method, str(folder)
    parts = [part for _, part in search._in_tiles(files, classifier.n_neighbors_, _write_answer, *arguments)]
    form = container.wrap if method == "predict" else container.probabilities
    nothing = np.zeros((0, n_labels), dtype=np.int8 if method == "predict" else np.float64)
    return session.as_dask_array(parts, folder, form, form(nothing))


def _write_answer(
    distances: FloatArray, indices: IntArray, tile: slice, sent: _Sent, method: str, folder: str
) -> RowFiles:
    """Write the label sets or scores of a tile of queries."""
    needs = Needs(scores=False) if method == "predict" else Needs(labels=False)
    if needs.scores:
        require_room("scores", (len(indices), sent.rule._n_labels), ("queries", "labels"), _HINT_OF_TILES)
    labels, scores = sent.rule._answer(Neighbors(distances, indices), needs)
    return write_rows(Path(folder, f"rows-{tile.start}"), labels.astype(np.int8) if needs.labels else scores)
