"""Changes of a model's training samples since it was fitted, for its card."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from nearlabel import updates


@dataclass(frozen=True, kw_only=True)
class ModelChanges:
    """Samples and labels added or removed since a model was fitted, and settings that are stale since then.

    Parameters
    ----------
    added : int
        Number of samples added.
    forgotten : int
        Number of samples removed.
    new_labels : tuple of str
        Labels added.
    thresholds_stale : bool
        Whether the thresholds were tuned before the last change.
    n_neighbors_stale : bool
        Whether the number of neighbours was tuned before the last change.
    """

    added: int
    forgotten: int
    new_labels: tuple[str, ...]
    thresholds_stale: bool
    n_neighbors_stale: bool

    @classmethod
    def of(cls, model: Any) -> ModelChanges | None:
        """Describe the changes of a fitted model.

        Parameters
        ----------
        model : fitted estimator
            Any fitted model.

        Returns
        -------
        ModelChanges or None
            None if the samples have not changed, or cannot change.
        """
        if not updates.can_be_updated(model):
            return None
        part = updates.updated_part(model)
        known = part.changes_
        if not (known["added"] or known["forgotten"] or known["new_labels"]):
            return None
        return cls(
            added=known["added"],
            forgotten=known["forgotten"],
            new_labels=tuple(map(str, known["new_labels"])),
            thresholds_stale=getattr(part, "thresholds_stale_", False),
            n_neighbors_stale=updates.lazy_part(model).n_neighbors_stale_,
        )
