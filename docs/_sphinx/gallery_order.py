"""The order of the examples in the gallery: as one needs them, from a choice of k to a model that is kept."""

from pathlib import Path

_ORDER = (
    "number_of_neighbors",
    "neighbors_per_label",
    "displays",
    "thresholds",
    "explanation",
    "comparison",
    "exact_and_approximate",
    "kept_model",
    "reuters_embeddings",
)


class GalleryOrder:
    """Sort files by their place in the list; a file that is not in it is an error."""

    def __init__(self, folder: str) -> None:
        self.folder = folder

    def __call__(self, file: str) -> int:
        """Return the place of a file."""
        return _ORDER.index(Path(file).stem)
