"""The fast way of reading rows against the slow one, which alone decides what is right."""

import random

import numpy as np
import pytest

from nearlabel.datasets._arff_header import Attribute, Header
from nearlabel.datasets._arff_parts import CellReader

ATTRIBUTES = (
    Attribute("a"),
    Attribute("b", ("0", "1")),
    Attribute("c", ("1", "0")),
    Attribute("d", ("-1", "2.5", "x")),
    Attribute("e", ("yes", "no")),
    Attribute("f"),
)
SPARSE_PARTS = [
    "{",
    "}",
    ",",
    " ",
    "\n",
    "0",
    "1",
    "3",
    "5",
    "9",
    "0 1",
    "1 1",
    "3 2.5",
    "5 -.7e1",
    "{0 1,5 2}\n",
    "{}\n",
]
DENSE_PARTS = [",", " ", "\n", "0", "1", "7.", "e1", "-", "2.5", "0,1,0,-1,4\n", "3,0,1,2.5,.5\n"]


def sparse_cells(cells):
    """The parts of sparse cells as lists."""
    return [cells.n_rows, *(part.tolist() for part in cells[1:])]


def outcome(read, *arguments):
    """What a reader gives, or None where it refuses."""
    try:
        return read(*arguments)
    except ValueError:
        return None


@pytest.mark.parametrize("seed", range(5))
def test_fast_sparse_rows_are_what_the_slow_way_reads(tmp_path, seed):
    """On thousands of blocks, most of them wrong, the fast way gives up or agrees; never does it accept a mistake."""
    reader = CellReader(Header(tmp_path, "", ATTRIBUTES))
    generator = random.Random(seed)
    accepted = 0
    for _ in range(1500):
        parts = generator.choices(SPARSE_PARTS, k=generator.randint(1, 9))
        block = ("{" * generator.randint(0, 1) + "".join(parts) + "}\n").encode()
        fast = reader._fast_sparse(block.replace(b"{,", b"{"))
        if fast is not None:
            accepted += 1
            slow = outcome(reader._slow_sparse, 1, block)
            assert slow is not None, block
            assert sparse_cells(fast) == sparse_cells(slow), block
    assert accepted >= 10


@pytest.mark.parametrize("first", ["", "0 1", "5 2"])
def test_a_first_sparse_row_of_one_cell(tmp_path, first):
    """Cells stay in their rows, whatever stands in the first one."""
    reader = CellReader(Header(tmp_path, "", ATTRIBUTES))
    block = ("{" + first + "}\n{0 1,5 2}\n{3 2.5}\n{0 1,3 2.5}\n").encode()
    fast = reader._fast_sparse(block)
    assert fast is not None
    assert sparse_cells(fast) == sparse_cells(reader._slow_sparse(1, block))


@pytest.mark.parametrize("seed", range(5))
def test_fast_dense_rows_are_what_the_slow_way_reads(tmp_path, seed):
    """The same for dense rows."""
    reader = CellReader(Header(tmp_path, "", ATTRIBUTES[:4] + ATTRIBUTES[5:]))
    generator = random.Random(seed)
    accepted = 0
    for _ in range(1500):
        block = ("".join(generator.choices(DENSE_PARTS, k=generator.randint(1, 3))) + "0,1,0,-1,4\n").encode()
        fast = reader._fast_dense(block)
        if fast is not None:
            accepted += 1
            slow = outcome(reader._slow_dense, 1, block)
            assert slow is not None, block
            np.testing.assert_array_equal(fast, slow)
    assert accepted >= 10


def test_numbers_are_rounded_as_python_does(tmp_path):
    """The fast way reads a decimal number as the nearest float, as Python's float does."""
    generator = np.random.RandomState(0)
    texts = [f"{value:.{digits}g}" for value in generator.lognormal(0, 20, 500) for digits in (3, 9, 17)]
    reader = CellReader(Header(tmp_path, "", (Attribute("a"),)))
    cells = reader._fast_dense(("\n".join(texts) + "\n").encode())
    assert cells.ravel().tolist() == [float(text) for text in texts]
