"""A setting of the process is what it was, whatever threads, interruptions and forks there were."""

import os
import signal
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from nearlabel.utils import process_settings
from nearlabel.utils.process_settings import ProcessSetting

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of forking beside threads, from Python 3.12 on
needs_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")


class Limit:
    """A number that is 10, and 99 while anyone is inside."""

    def __init__(self):
        self.value, self.writes = 10, []
        self.lifted = ProcessSetting(lambda: self.value, self.write, lambda _: 99)

    def write(self, value):
        """Set it."""
        self.value = value
        self.writes.append(value)


@pytest.fixture
def limit():
    """Return a limit of its own for each test."""
    return Limit()


@pytest.fixture
def another(limit):
    """Keep another thread inside until the test ends."""
    entered, leave = threading.Event(), threading.Event()

    def stay():
        with limit.lifted():
            entered.set()
            leave.wait(30)

    thread = threading.Thread(target=stay)
    thread.start()
    entered.wait(30)
    yield
    leave.set()
    thread.join()


def in_child(work):
    """Return whether `work()` is true in a forked child, within 20 seconds."""
    child = os.fork()
    if child == 0:
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.alarm(20)
        try:
            os._exit(0 if work() else 1)
        finally:
            os._exit(2)
    return os.waitpid(child, 0)[1] == 0


def test_blocks_in_blocks(limit):
    """The first changes it, the last restores it; each is given the value before."""
    with limit.lifted() as outer, limit.lifted() as inner:
        assert (outer, inner, limit.value) == (10, 10, 99)
    assert (limit.value, limit.writes) == (10, [99, 10])


def test_blocks_end_in_any_order_and_thread(limit):
    """As those of generators do that another thread collects."""
    first, second = limit.lifted(), limit.lifted()
    first.__enter__()
    second.__enter__()
    with ThreadPoolExecutor(1) as pool:
        pool.submit(first.__exit__, None, None, None).result()
    assert limit.value == 99
    second.__exit__(None, None, None)
    assert limit.value == 10


@pytest.mark.parametrize("written", [99, 10])
def test_an_interruption_at_a_change_heals(limit, written):
    """Ctrl-C comes as the value is written: the next to leave restores it."""
    write = limit.write

    def interrupted(value):
        write(value)
        if value == written:
            raise KeyboardInterrupt

    limit.lifted._write = interrupted
    with pytest.raises(KeyboardInterrupt), limit.lifted():
        pass
    limit.lifted._write = write
    with limit.lifted():
        pass
    assert limit.value == 10
    with limit.lifted():
        assert limit.value == 99


@needs_fork
def test_a_child_ends_the_blocks_of_other_threads(limit, another):
    """It does not have these threads; its own blocks restore the value as usual, and the parent's stay."""

    def work():
        before = limit.value
        with limit.lifted() as value:
            inside = limit.value
        return (before, value, inside, limit.value) == (10, 10, 99, 10)

    assert in_child(work)
    assert limit.value == 99


@needs_fork
def test_a_child_of_a_thread_inside_stays_inside(limit, another):
    """The block goes on in the child, and restores the value at its end."""
    with limit.lifted():
        inside = in_child(lambda: limit.value == 99 and len(limit.lifted._inside) == 1)
    assert inside
    block = limit.lifted()
    block.__enter__()
    assert in_child(lambda: block.__exit__(None, None, None) is False and limit.value == 10)
    block.__exit__(None, None, None)


@needs_fork
def test_a_fork_waits_for_a_change(limit):
    """So a child never has a lock of a thread that it does not have."""
    writing, write = threading.Event(), limit.write

    def slowly(value):
        writing.set()
        threading.Event().wait(0.2)
        write(value)

    limit.lifted._write = slowly
    with ThreadPoolExecutor(1) as pool:
        done = pool.submit(lambda: limit.lifted().__enter__())
        assert writing.wait(30)
        limit.lifted._write = write
        assert in_child(lambda: limit.lifted().__enter__() == 10)
        done.result()


@needs_fork
@pytest.mark.skipif(not hasattr(process_settings, "_open_properties"), reason="later Pythons have no such lock")
def test_cached_properties_are_open_in_a_child():
    """Up to Python 3.11 the threads that compute a property of any object hold one lock."""
    from nearlabel.neighbors.exact._kernel_search import PackedPoints

    computing, leave = threading.Event(), threading.Event()
    lock = vars(PackedPoints)["structure"].lock

    def hold():
        with lock:
            computing.set()
            leave.wait(30)

    thread = threading.Thread(target=hold)
    thread.start()
    computing.wait(30)
    opened = in_child(lambda: vars(PackedPoints)["structure"].lock.acquire(timeout=5))
    leave.set()
    thread.join()
    assert opened
