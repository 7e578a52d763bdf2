"""Files of fastText: a text on each line, with its labels as words that begin with ``__label__``."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from pathlib import Path

from nearlabel.datasets._lines import FASTTEXT, Lines, malformed, only_returned
from nearlabel.datasets._table_file import Batch, Column, TableFile, array_of, located

_RETURN = re.compile(rb"\r\s*+__label__")  # another one is a blank in a text, as in fastText itself


class FastTextFile(TableFile):
    """The rows of a file of fastText: the words that are labels, wherever they are in the line, and the others."""

    tags, texts = "labels", ("text",)

    def __init__(self, path: Path, max_unpacked_bytes: int | None = None) -> None:
        self.path = path
        self._limit = max_unpacked_bytes
        self.columns = {name: Column(name, "text", "text") for name in ("labels", "text")}

    def _batches(self, names: Collection[str]) -> Iterator[Batch]:
        """Yield the labels and the texts of lines that are not blank."""
        with Lines(self.path, self._limit) as lines:
            for first, block in lines.blocks():
                rows: dict[str, list[str]] = {"labels": [], "text": []}
                numbers = []
                for number, line in enumerate(block.split(b"\n"), start=first):
                    words = self._words(number, line)
                    if words:
                        numbers.append(number)
                        rows["labels"].append(" ".join(word for word in words if word.startswith(FASTTEXT)))
                        rows["text"].append(" ".join(word for word in words if not word.startswith(FASTTEXT)))
                columns = {name: array_of(rows[name], "text") for name in names}
                yield Batch(len(numbers), columns, lines.share_read, located("line", numbers))

    def _words(self, number: int, line: bytes) -> list[str]:
        if _RETURN.search(line):
            raise only_returned(self.path, number)
        try:
            return line.decode("utf-8-sig" if number == 1 else "utf-8").split()
        except UnicodeDecodeError as error:
            problem = f"the text must be UTF-8, got the byte 0x{line[error.start]:02x}."
            raise malformed(self.path, number, problem) from error
