"""Names of columns that have none in their file, and equal kinds, without the memory of a tuple.

A row of svmlight may name column 999,999,999 in 14 bytes. A tuple of the numbers up to there as texts would take 60 GB.
"""

from __future__ import annotations

from abc import abstractmethod
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import repeat
from typing import Any

LARGEST_LABEL_COUNT = 2**22  # of labels without names, each of which takes memory wherever labels are listed


class LazyTexts(Sequence[str]):
    """Texts that are made on request; equal to a tuple of the same texts.

    Parameters
    ----------
    length : int
    """

    __slots__ = ("_length",)

    def __init__(self, length: int) -> None:
        self._length = length

    @abstractmethod
    def _text(self, place: int) -> str:
        """Return the text at a place, from 0."""

    def __len__(self) -> int:
        return self._length

    def __getitem__(self, place: Any) -> Any:
        found = range(self._length)[place]
        return tuple(map(self._text, found)) if isinstance(found, range) else self._text(found)

    def __iter__(self) -> Iterator[str]:
        return map(self._text, range(self._length))

    def __add__(self, more: Sequence[str]) -> tuple[str, ...]:
        return (*self, *more) if isinstance(more, tuple | LazyTexts) else NotImplemented

    def __radd__(self, before: Sequence[str]) -> tuple[str, ...]:
        return (*before, *self) if isinstance(before, tuple) else NotImplemented

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, tuple | LazyTexts):
            return NotImplemented
        return len(self) == len(other) and all(map(str.__eq__, self, other))

    def __hash__(self) -> int:
        return hash(tuple(self))  # that of the tuples that it equals

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._length})"


class NumberedNames(LazyTexts):
    """The names "0", "1" and so on of columns that have numbers only.

    Parameters
    ----------
    length : int
        How many there are.

    Examples
    --------
    >>> names = NumberedNames(10**9)
    >>> names[-1], names.index("17"), "01" in names, names == ("0", "1")
    ('999999999', 17, False, False)
    >>> NumberedNames(2) == ("0", "1")
    True
    """

    __slots__ = ()

    def _text(self, place: int) -> str:
        return str(place)

    def __contains__(self, name: object) -> bool:
        return self._place(name) is not None

    def index(self, value: object, start: int = 0, stop: int | None = None) -> int:
        """Return the number of a name; raise ValueError if it is none of the names."""
        place = self._place(value)
        if place is None or place not in range(self._length)[start:stop]:
            raise ValueError(f"{value!r} is not a number below {self._length}")
        return place

    def count(self, value: object) -> int:
        """Return 1 for a name, else 0."""
        return int(value in self)

    def __eq__(self, other: object) -> bool:
        if isinstance(other, NumberedNames):
            return self._length == len(other)
        return super().__eq__(other)

    __hash__ = LazyTexts.__hash__

    def _place(self, name: object) -> int | None:
        """Return the number of a name; None if it is none of the names."""
        is_number = isinstance(name, str) and name.isascii() and name.isdecimal()
        if not is_number or len(str(name)) > len(str(self._length)):
            return None
        place = int(str(name))
        return place if place < self._length and str(place) == name else None


class SameTexts(LazyTexts):
    """The same text again and again.

    Parameters
    ----------
    text : str
    length : int

    Examples
    --------
    >>> SameTexts("number", 3) == ("number", "number", "number")
    True
    """

    __slots__ = ("_same",)

    def __init__(self, text: str, length: int) -> None:
        super().__init__(length)
        self._same = text

    @property
    def distinct(self) -> tuple[str, ...]:
        """The text, once, or nothing if there is none."""
        return (self._same,) if self._length else ()

    def _text(self, place: int) -> str:
        return self._same

    def __contains__(self, text: object) -> bool:
        return text in self.distinct

    def __iter__(self) -> Iterator[str]:
        return repeat(self._same, self._length)

    def count(self, value: object) -> int:
        """Return how often a text occurs."""
        return self._length if value in self.distinct else 0

    def __eq__(self, other: object) -> bool:
        if isinstance(other, SameTexts):
            return self._length == len(other) and self.distinct == other.distinct
        return super().__eq__(other)

    __hash__ = LazyTexts.__hash__

    def __repr__(self) -> str:
        return f"SameTexts({self._same!r}, {self._length})"


def are_numbered(names: Sequence[str]) -> bool:
    """Return whether names are the numbers from 0, the default of columns without names.

    >>> are_numbered(("0", "1")), are_numbered(("1", "2"))
    (True, False)
    """
    return isinstance(names, NumberedNames) or NumberedNames(len(names)) == tuple(names)


def counts_of(texts: Sequence[str]) -> Counter[str]:
    """Return how often each distinct text occurs.

    >>> counts_of(("number", "flag", "number"))
    Counter({'number': 2, 'flag': 1})
    """
    if isinstance(texts, SameTexts):
        return Counter({text: len(texts) for text in texts.distinct})
    return Counter(texts)
