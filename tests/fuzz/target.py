"""What is fuzzed: a reader, valid inputs for it, how they are damaged, and what a right outcome is."""

from __future__ import annotations

import importlib.util
import random
import traceback
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from fuzz.mutation import Files, Mutation, mutated, mutations_of

ACCEPTED, CLEAR = "accepted", "clear"
FAILURES = ("crash", "hang", "memory", "raw", "wrong")

# Frames of the harness and of the interpreter say nothing about where an error comes from.
_OURS = "nearlabel"


class WrongAnswerError(AssertionError):
    """A reader took an input, and its answer is not what the input says."""


@dataclass(frozen=True)
class Outcome:
    """What became of one input: its kind, and for failures what happened, and where (to tell failures apart)."""

    kind: str
    detail: str = ""
    place: str = ""

    @property
    def failed(self) -> bool:
        """Whether the contract is broken."""
        return self.kind in FAILURES

    @property
    def signature(self) -> str:
        """What failures of one cause have in common."""
        return f"{self.kind} {self.place}".strip()


@dataclass(frozen=True)
class Target:
    """A reader of files.

    Parameters
    ----------
    name : str
    make : callable
        Returns the corpus: a list of valid inputs, each a dict of the names and contents of its files.
    read : callable
        Takes the folder in which the files of an input are. Returns if the reader takes them and its answer is right;
        raises `WrongAnswerError` if it is wrong, and lets the reader's errors through.
    mutations : sequence of Mutation, default=()
        How the files are damaged; by default as their suffixes say.
    share : float, default=1
        Of the number of inputs that is asked for: readers that take long have fewer.
    needs : sequence of str, default=()
        Modules without which there is nothing to fuzz.
    fixed : sequence of str, default=()
        Files that stay as they are.
    names_file : bool, default=True
        Whether an error must name a file, or the folder, of the input.
    damaged : mapping of str to sequence of Mutation, default={}
        How some files are damaged, by their names.
    is_valid : bool, default=True
        Whether the corpus, as it is, must be taken: a corpus that is refused would hide what lies behind.
    isolated : callable, default=None
        Reads in a process of its own what the library behind `read` may crash at; then that must answer or say what is
        wrong.
    """

    name: str
    make: Callable[[], list[Files]]
    read: Callable[[Path], object]
    mutations: Sequence[Mutation] = ()
    share: float = 1.0
    needs: Sequence[str] = ()
    fixed: Sequence[str] = ()
    names_file: bool = True
    damaged: Mapping[str, Sequence[Mutation]] = field(default_factory=dict)
    is_valid: bool = True
    isolated: Callable[[Path], object] | None = None

    def missing(self) -> list[str]:
        """Return the modules that are needed and not installed."""
        return [module for module in self.needs if importlib.util.find_spec(module) is None]

    @cached_property
    def corpus(self) -> list[Files]:
        """The valid inputs, made once a process."""
        return self.make()

    def input(self, seed: int, index: int) -> Files:
        """Return the input of a number: the valid ones first, as they are, then damaged ones."""
        if index < len(self.corpus):
            return self.corpus[index]
        rng = random.Random(f"{self.name} {seed} {index}")
        files = dict(rng.choice(self.corpus))
        names = [name for name in files if name not in self.fixed]
        for name in rng.sample(names, 1 if len(names) == 1 or rng.random() < 0.85 else 2):
            others = [other[name] for other in self.corpus if name in other]
            files[name] = mutated(rng, files[name], self._mutations(name), others)
        if len(names) > 1 and rng.random() < 0.03:
            files.pop(rng.choice(names))
        return files

    def _mutations(self, name: str) -> Sequence[Mutation]:
        return self.damaged.get(name) or self.mutations or mutations_of(name)


def outcome_of(target: Target, files: Files, folder: Path) -> Outcome:
    """Write an input into a folder, read it, and judge what happens; what kills the process is the caller's to see."""
    folder.mkdir(parents=True)
    for name, content in files.items():
        place = folder / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(content)
    try:
        target.read(folder)
    except WrongAnswerError as error:
        return Outcome("wrong", str(error)[:2000], _place_of(error, str(error).partition(":")[0]))
    except MemoryError as error:
        return Outcome("memory", _traceback_of(error), _place_of(error, "MemoryError"))
    except (ValueError, OSError) as error:
        if target.is_valid and files in target.corpus:
            return Outcome("wrong", _traceback_of(error), "a valid input is refused")
        if not target.names_file or _is_named(str(error), folder, target.corpus):
            return Outcome(CLEAR)
        return Outcome("raw", _traceback_of(error), _place_of(error, f"{type(error).__name__} without a name"))
    except BaseException as error:  # noqa: BLE001  # whatever it is, it is what we look for
        return Outcome("raw", _traceback_of(error), _place_of(error, type(error).__name__))
    return Outcome(ACCEPTED)


def _is_named(text: str, folder: Path, corpus: Sequence[Files]) -> bool:
    """Return whether a message names one of the files, or the folder if the inputs are folders."""
    return any(str(folder / name) in text for files in corpus for name in files) or (
        len(corpus[0]) > 1 and str(folder) in text
    )


def _place_of(error: BaseException, what: str) -> str:
    """Return the last place in the library that an error passed through."""
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if f"/{_OURS}/" in frame.filename]
    if not frames:
        return what
    last = frames[-1]
    return f"{what} in {last.filename.rpartition(f'/{_OURS}/')[2]}, {last.name}"


def _traceback_of(error: BaseException) -> str:
    """Return the last frames, without the paths of this machine."""
    frames = traceback.extract_tb(error.__traceback__)[-6:]
    places = [f"{Path(f.filename).parent.name}/{Path(f.filename).name}:{f.lineno} {f.name}" for f in frames]
    return f"{type(error).__name__}: {str(error)[:500]}\n  " + "\n  ".join(places)
