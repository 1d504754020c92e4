"""What the peers of operations_worker.cpp share: the matrices of its products, and checks of results against NumPy's."""
import math
import sys

import numpy


def side_of(mebibytes):
    """As bench::Product."""
    return max(256, int(math.sqrt(mebibytes << 18)) // 256 * 256)


def left(side, rows=None):
    i, k = numpy.ogrid[rows or slice(0, side), 0:side]
    return ((i * 131 + k * 71 + i * k % 7) % 13 - 6).astype("f4")


def right(side, rows=None):
    k, j = numpy.ogrid[rows or slice(0, side), 0:side]
    return ((k * 37 + j * 113 + k * j % 5) % 11 - 5).astype("f4")


def check(got, want, who, tolerance=1e-5):
    if not numpy.allclose(got, want, rtol=tolerance, atol=tolerance):
        sys.exit(f"{who} computed a wrong value")


def check_product(got, side, first_row, first_column, who):
    """Two rows of a box of C: exact, whatever the order of summation."""
    for i in (0, got.shape[0] - 1):
        row = slice(first_row + i, first_row + i + 1)
        want = left(side, row).astype("f8") @ right(side).astype("f8")
        if not numpy.array_equal(got[i], want[0, first_column:first_column + got.shape[1]]):
            sys.exit(f"{who} computed a wrong product")
