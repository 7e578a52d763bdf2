"""Files written atomically, errors that name the user's file, leftovers of killed processes, and locks."""

from __future__ import annotations

import errno
import os
import platform
import re
import secrets
import shutil
import stat
import sys
import time
import zlib
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

if sys.platform == "win32":
    import msvcrt
else:
    import fcntl

_OF_OWNER, _AS_USUAL = 0o600, 0o666  # permissions of a new file, before those that the user takes away
_NO_FOLDERS = (errno.EINVAL, errno.ENOTSUP, errno.EBADF)  # of file systems that flush files only


@contextmanager
def whole_file(path: Path, *, name: str = "path", like: Path | None = None) -> Iterator[Path]:
    """Yield the path of a temporary file that is renamed to `path` at the end, or deleted after an error.

    Symbolic links are followed. A replaced file keeps its permissions and, as far as the system allows it, its owner
    and group, or gets those of the file `like`; another name of it (a hard link) keeps the old content. No one else can
    open the temporary file before it has them. Temporary files of killed processes are removed. The file is on disk at
    the end, under its name.

    Raises
    ------
    OSError
        If the file cannot be written; `name` is the name of the path in the message.
    """
    with _partial_of(path, name, like) as (place, partial), write_errors_named(path, partial):
        yield partial
        _settle(partial)
        partial.replace(place)
        settle_folder(place.parent)


def check_can_be_written(path: Path, *, name: str = "path") -> None:
    """Raise OSError unless a file can be written or replaced at a path, before any work is done."""
    with _partial_of(path, name):
        pass


def _place_of(path: Path, name: str) -> Path:
    """Return the path to write, with links resolved."""
    place = Path(os.path.realpath(path))
    with suppress(FileNotFoundError, NotADirectoryError):
        place.lstat()  # a name that is too long raises an error now, even if the temporary file's name is not
    if place.is_symlink():
        raise OSError(f"{name} must be a file, got the link {path}, which leads to itself.")
    if place.is_dir():
        raise IsADirectoryError(f"{name} must be a file, got the folder {path}.")
    if not place.parent.is_dir():
        raise FileNotFoundError(f"{name} must be in a folder that exists, got {path}.")
    if place.exists() and not place.is_file():
        raise OSError(f"{name} must be a file, got {path}, which is a device or a pipe.")
    if place.exists() and not os.access(place, os.W_OK):
        raise PermissionError(f"{name} must be a file that can be written, got {path}, which is read-only.")
    if place.exists() and _only_its_owner_replaces(place):
        got = f"{path}, which belongs to another user, in a folder with the sticky bit"
        raise PermissionError(f"{name} must be a file that can be replaced, got {got}. Hint: choose another name.")
    return place


def _only_its_owner_replaces(place: Path) -> bool:
    """Return whether a file may be renamed over by others only, as in ``/tmp``."""
    folder, file = place.parent.stat(), place.stat()
    return bool(folder.st_mode & stat.S_ISVTX) and os.geteuid() not in (0, folder.st_uid, file.st_uid)


@contextmanager
def _partial_of(path: Path, name: str, like: Path | None = None) -> Iterator[tuple[Path, Path]]:
    """Yield the path to write, and an empty temporary file next to it with the permissions of the replaced file."""
    place = _place_of(path, name)
    model = like or (place if place.exists() else None)

    def make(partial: Path) -> None:
        try:
            partial.touch(mode=_OF_OWNER if model else _AS_USUAL, exist_ok=False)
        except OSError as error:
            is_the_folder = place.exists() and error.errno in (errno.EACCES, errno.EPERM)
            hint = " Hint: a file next to it replaces it, so its folder must be writable." if is_the_folder else ""
            got = f"{path}: {reason_of(error)}"
            raise type(error)(f"{name} must be a file that can be written, got {got}{hint}") from error

    with new_partial(place, make) as partial:
        if model:
            with write_errors_named(path, partial):
                hand_on(model, partial)
                if like:
                    partial.chmod(stat.S_IMODE(partial.stat().st_mode) | stat.S_IWUSR)  # it is written from now on
        yield place, partial


def check_own_file(path: Path, hint: str) -> None:
    """Raise ValueError if a file that is changed in place has another name, under which it would change, too."""
    if path.is_symlink():
        raise ValueError(f"{path} must be a file, got a link. Hint: {hint}.")
    if path.exists() and path.stat().st_nlink > 1:
        hint = "a copy of the folder has files of its own"
        raise ValueError(f"{path} must be a file with one name, got one with several (hard links). Hint: {hint}.")


def hand_on(old: Path, new: Path) -> None:
    """Give a new file the permissions of the one that it replaces, and its owner and group where that is allowed.

    Permissions of the group are not given to another group.
    """
    of_old, of_new = old.stat(), new.stat()
    mode = stat.S_IMODE(of_old.st_mode)
    if (of_old.st_uid, of_old.st_gid) != (of_new.st_uid, of_new.st_gid):
        try:
            os.chown(new, of_old.st_uid, of_old.st_gid)
        except OSError:
            with suppress(OSError):
                os.chown(new, -1, of_old.st_gid)
        if new.stat().st_gid != of_old.st_gid:
            mode &= ~stat.S_IRWXG
    if mode != stat.S_IMODE(new.stat().st_mode):
        new.chmod(mode)


def _settle(path: Path) -> None:
    """Flush the file to disk."""
    with path.open("r+b") as file:
        os.fsync(file.fileno())


def settle_folder(folder: Path) -> None:
    """Flush the names in a folder to disk, after a file in it was renamed; nothing where the system cannot do that."""
    if sys.platform == "win32":
        return
    with suppress(PermissionError):  # of a folder that may be written, and not read
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        except OSError as error:
            if error.errno not in _NO_FOLDERS:
                raise
        finally:
            os.close(handle)


# Errors of writing name the user's file: the system's errors name a temporary file, or no file.

_UNNAMED = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EROFS, errno.ESTALE)
_REMEDIES = {
    errno.EROFS: "Hint: choose a folder on a disk that can be written.",
    errno.ESTALE: "Hint: its server has lost it; open the folder again, or mount its disk again.",
}


def reason_of(error: OSError) -> str:
    """Return the system's words for an error as the end of a sentence, and a hint where the words need one."""
    return " ".join(filter(None, (f"{error.strerror}.", _REMEDIES.get(error.errno or 0))))


@contextmanager
def write_errors_named(path: Path, partial: Path | None = None) -> Iterator[None]:
    """Name `path` in errors of the disk and of the temporary file or folder; a note has a remedy that is not obvious.

    >>> with write_errors_named(Path("a.txt")):
    ...     raise OSError(errno.ENOSPC, "no space")
    Traceback (most recent call last):
        ...
    OSError: [Errno 28] No space left on device: 'a.txt'
    """
    try:
        yield
    except OSError as error:
        if error.errno in _UNNAMED or (partial is not None and _is_in(partial, error.filename)):
            named = OSError(error.errno, os.strerror(error.errno or 0), str(path))
            if error.errno in _REMEDIES:
                named.add_note(_REMEDIES[error.errno])
            raise named from error
        raise


def _is_in(folder: Path, name: object) -> bool:
    """Return whether a name is that of a path, or of a file in it."""
    return isinstance(name, str | os.PathLike) and (Path(name) == folder or folder in Path(name).parents)


# Leftovers of killed processes: temporary files or folders `.NAME.DIGITS.partial` next to the written file.
#
# The next process that writes the same file removes them, if it is known that their process has ended. The system's
# lock on the file shows that: it ends with its process in every case. On some file systems a lock is valid on one
# machine only; so the first digits of a name identify the machine, and files of other machines are kept for a day
# after their last change, locked or not. On Windows, where an open file cannot be removed, this applies to all files.

_LONGEST = 50  # characters of a name that are used, so that no name is too long
_PATTERN = re.compile(r"\..{0,50}\.([0-9a-f]{8})[0-9a-f]{24}\.partial|\..{0,50}\.([0-9a-f]{8})\.lock", re.DOTALL)
_SECONDS_LEFT_ALONE = 24 * 60 * 60


@contextmanager
def new_partial(place: Path, make: Callable[[Path], object]) -> Iterator[Path]:
    """Yield a temporary file or folder next to `place`, which is removed at the end unless it was renamed.

    Leftovers of killed processes for the same place are removed before. `make` creates it, or raises FileExistsError.
    """
    sweep(place)
    close = None
    while close is None:
        partial = place.with_name(f".{place.name[:_LONGEST]}.{_this_machine()}{secrets.token_hex(12)}.partial")
        try:
            make(partial)
            with write_errors_named(place, partial):
                close = _locked(partial)
        finally:
            if close is None:
                _remove(partial)
    owner = os.getpid()
    try:
        yield partial
    finally:
        if os.getpid() == owner:  # a child that was forked in the block leaves it to its parent
            _remove(partial)
            close()


def sweep(place: Path) -> None:
    """Remove leftovers of killed processes for a file or folder."""
    beginning = f".{place.name[:_LONGEST]}."
    for path in leftovers_in(place.parent):
        if path.name.startswith(beginning) and path.suffix == ".partial":
            remove_abandoned(path)


def leftovers_in(folder: Path) -> Iterator[Path]:
    """Yield the items in a folder with the name of a temporary file, a temporary folder or a lock."""
    with suppress(OSError), os.scandir(folder) as entries:
        yield from (Path(entry.path) for entry in entries if _PATTERN.fullmatch(entry.name))


def is_leftover(path: Path) -> bool:
    """Return whether a path has the name of a temporary file or folder, or of a lock."""
    return _PATTERN.fullmatch(path.name) is not None


def is_abandoned(path: Path) -> bool:
    """Return whether the process of a temporary file or a lock is known to have ended."""
    return _if_abandoned(path, lambda _: None)


def remove_abandoned(path: Path) -> bool:
    """Remove a temporary file or folder, or a lock, if its process is known to have ended; return whether."""
    return _if_abandoned(path, _remove) and not path.exists()


def _remove(path: Path) -> None:
    """Remove a file or a folder, if it exists and can be removed."""
    with suppress(OSError):
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path, ignore_errors=True)
        else:
            path.unlink(missing_ok=True)


def _this_machine() -> str:
    return f"{zlib.crc32(platform.node().encode()):08x}"


def _is_left_alone(path: Path) -> bool:
    """Return whether a file, or a file in a folder, changed less than a day ago."""
    inside = list(path.iterdir()) if path.is_dir() else []
    changed = max(each.lstat().st_mtime for each in (path, *inside))
    return time.time() - changed < _SECONDS_LEFT_ALONE


def _is_ours(path: Path) -> bool:
    """Return whether a process of this machine created it; this is not checked for locks."""
    found = _PATTERN.fullmatch(path.name)
    return found is not None and (found[1] in (_this_machine(), None))


if sys.platform == "win32":

    def _locked(partial: Path) -> Callable[[], None] | None:
        return lambda: None

    def _if_abandoned(path: Path, act: Callable[[Path], None]) -> bool:
        with suppress(OSError):
            if not path.is_symlink() and not _is_left_alone(path):
                act(path)
                return True
        return False

else:

    def _locked(partial: Path) -> Callable[[], None] | None:
        """Lock a new file or folder; return a function to close it, or None if another process has removed it."""
        with suppress(FileNotFoundError, BlockingIOError), ExitStack() as opened:
            handle = _opened(partial)
            opened.callback(os.close, handle)
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise
            except OSError:  # a file system without locks, where leftovers are not removed
                pass
            if os.path.samestat(os.fstat(handle), partial.stat()):
                opened.pop_all()
                return _kept_open(handle)
        return None

    def _if_abandoned(path: Path, act: Callable[[Path], None]) -> bool:
        """Run an action on a path whose lock is free, while it is locked here; return whether it was run."""
        with suppress(OSError), ExitStack() as opened:  # locked by its process, removed, or not accessible
            handle = _opened(path)
            opened.callback(os.close, handle)
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            # After it was opened, its process may have removed it, and another process may have created a new one.
            is_the_same = os.path.samestat(os.fstat(handle), path.lstat())
            if is_the_same and (_is_ours(path) or not _is_left_alone(path)):
                act(path)
                return True
        return False

    def _opened(path: Path) -> int:
        """Open a file or a folder, but not a link, nor anything that waits for another process."""
        flags = os.O_RDONLY if path.is_dir() else os.O_RDWR  # needed for locks on network file systems
        handle = os.open(path, flags | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        if not (stat.S_ISREG(os.fstat(handle).st_mode) or stat.S_ISDIR(os.fstat(handle).st_mode)):
            os.close(handle)
            raise OSError(f"{path} must be a file or a folder, got something else.")
        return handle


# A lock ends when all handles of it are closed. A forked child has them too, and may live longer than its parent: there
# they are closed at once.

_handles: set[int] = set()


def _kept_open(handle: int) -> Callable[[], None]:
    """Return a function to close a locked handle of this process."""
    _handles.add(handle)

    def close() -> None:
        _handles.discard(handle)
        os.close(handle)

    return close


def _begin_child() -> None:
    while _handles:
        with suppress(OSError):
            os.close(_handles.pop())


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_begin_child)


# Locks, so that one process at a time changes a file or a folder; a second process gets an error immediately.
#
# The lock is a system lock on a small file next to the path: the lock of a killed process ends with the process, and
# the remaining file does not block other processes.

_LOCKED_BYTE = 2**30  # after all written bytes: on Windows a locked byte cannot be read
_MOST_SAID = 1000  # bytes that are read of the other process's description


@contextmanager
def locked(path: str | os.PathLike[str], doing: str) -> Iterator[None]:
    """Lock a file or folder, which need not exist, for one process and one thread at a time.

    Parameters
    ----------
    path : path-like
        The file or folder to change. A link has the lock of its target.
    doing : str
        Description of the change, such as "appending rows", for the error in another process.

    Raises
    ------
    BlockingIOError
        If another process is changing the path; the message contains that process and what it is doing.
    OSError
        If the path cannot be locked, for instance in a folder that is not writable.
    """
    lock = lock_file_of(path)
    handle = _acquired(lock, path)
    close, owner = _kept_open(handle), os.getpid()
    try:
        with suppress(OSError):  # a full disk has no space for the text, and the lock works without it
            os.ftruncate(handle, 0)
            os.write(handle, f"{os.getpid()} {doing}".encode())
        yield
    finally:
        if os.getpid() == owner:  # a child that was forked in the block leaves it to its parent
            _release(close, lock)


def lock_file_of(path: str | os.PathLike[str]) -> Path:
    """Return the file that is locked while a path is changed; it need not exist."""
    place = Path(os.path.realpath(path))
    # Long names are shortened for file systems; the checksum distinguishes names with the same beginning.
    return place.with_name(f".{place.name[:50]}.{zlib.crc32(os.fsencode(place.name)):08x}.lock")


def _acquired(lock: Path, path: str | os.PathLike[str]) -> int:
    """Return the open and locked file of a lock."""
    while True:
        handle, is_new = _opened_lock(lock, path)
        with ExitStack() as opened:
            opened.callback(os.close, handle)
            try:
                _take(handle)
                if _is_at(handle, lock):
                    opened.pop_all()
                    return handle
            except BlockingIOError:
                pid, _, doing = os.read(handle, _MOST_SAID).decode(errors="replace").partition(" ")
                raise BlockingIOError(
                    f"{path} must not be changed by two processes at once, and is being changed by another process"
                    f" (pid {pid or 'unknown'}{doing and ': '}{doing}). Hint: try again when that has ended."
                ) from None
            except OSError as error:
                if is_new:
                    _remove(lock)
                hint = "" if error.errno in _REMEDIES else " Hint: change a copy on a disk of this machine."
                got = f"{lock.parent}: {reason_of(error)}{hint}"
                raise OSError(f"{path} must be in a folder whose files can be locked, got {got}") from error
        # the previous process removed the file after it was opened here: its lock would have no effect


def _opened_lock(lock: Path, path: str | os.PathLike[str]) -> tuple[int, bool]:
    """Return the open file of a lock, and whether it is new; no link is followed: it may lead to another's file."""
    flags = os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)
    try:
        with suppress(FileExistsError):
            return os.open(lock, flags | os.O_EXCL, 0o666), True
        return os.open(lock, flags, 0o666), False
    except PermissionError as error:
        if not lock.exists():
            raise _unlockable(path, error) from error
        hint = f"Hint: try again; if it stays, its process was killed, and {lock} can be removed."
        raise PermissionError(
            f"{path} must not be changed by two users at once, got another one's lock. {hint}"
        ) from error
    except OSError as error:
        raise _unlockable(path, error) from error


def _unlockable(path: str | os.PathLike[str], error: OSError) -> OSError:
    return type(error)(f"{path} must be in a folder that can be written, got {reason_of(error)}")


def _is_at(handle: int, path: Path) -> bool:
    """Return whether an open file is the one that other processes find under this name."""
    with suppress(FileNotFoundError):
        return os.path.samestat(os.fstat(handle), path.stat())
    return False


if sys.platform == "win32":

    def _take(handle: int) -> None:
        os.lseek(handle, _LOCKED_BYTE, os.SEEK_SET)
        try:
            msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)
        except PermissionError as error:  # the system's error if another process has the lock
            raise BlockingIOError(error.errno, error.strerror) from error
        finally:
            os.lseek(handle, 0, os.SEEK_SET)

    def _release(close: Callable[[], None], lock: Path) -> None:
        close()
        with suppress(OSError):  # an open file cannot be removed, if another process already uses it
            lock.unlink()

else:

    def _take(handle: int) -> None:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)

    def _release(close: Callable[[], None], lock: Path) -> None:
        _remove(lock)  # while it is locked: afterwards it may belong to another process
        close()
