"""Complete check of a store, and leftovers of killed processes in it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from nearlabel.files import store_facts
from nearlabel.files.atomic_file import is_abandoned
from nearlabel.files.check_sums import Finding
from nearlabel.files.file_lock import lock_file_of
from nearlabel.files.growing_files import ArrayName
from nearlabel.files.store import damaged_blocks, open_store, remove_from_store
from nearlabel.files.store_facts import StoreFacts


def is_store(folder: Path) -> bool:
    """Return whether a folder contains the facts of a store, damaged or not."""
    return (folder / store_facts.FILE).is_file()


def check_store(folder: Path, *, sweep: bool = False) -> Iterator[Finding]:
    """Yield the damage of a store, and surplus files in its folder; `sweep` removes the latter."""
    try:
        facts = StoreFacts.read(folder)
        damage = _damage(folder, facts)
        while damage and facts != (now := StoreFacts.read(folder)):
            facts, damage = now, _damage(folder, now)  # the store has changed in the meantime
    except (ValueError, OSError) as error:
        yield Finding(folder, "damage", str(error))
        return
    yield from damage
    if not facts.sums:
        reason = f"it has no checksums, since an earlier nearlabel wrote it (version {facts.version})"
        yield Finding(folder, "unchecked", reason)
    lock = lock_file_of(folder)
    if lock.exists() and not is_abandoned(lock):
        return  # a process is changing the store: other files may be in use
    surplus = list(_surplus(folder, facts))
    if surplus and sweep:
        remove_from_store(folder, [])
    yield from surplus


def _damage(folder: Path, facts: StoreFacts) -> list[Finding]:
    try:
        open_store(folder)
        return [Finding(folder, "damage", message) for message in damaged_blocks(folder, facts)]
    except (ValueError, OSError) as error:
        return [Finding(folder, "damage", str(error))]


def _surplus(folder: Path, facts: StoreFacts) -> Iterator[Finding]:
    """Yield files and bytes that the facts do not include."""
    for file in sorted(folder.iterdir()):
        if file.name in facts.files and file.stat().st_size > facts.files[file.name]:
            n_bytes = file.stat().st_size - facts.files[file.name]
            yield Finding(file, "leftover", f"{n_bytes} bytes after those of the store")
        elif file.name not in facts.files and ArrayName.of(file.name):
            yield Finding(file, "leftover", "a file that no longer belongs to the store, or not yet")
