"""Rows to columns by mpi4py-fft's Transfer, into an array it reuses. Argument: the square's side."""
import sys

import numpy
from mpi4py import MPI
from mpi4py_fft.pencil import Pencil, Subcomm

from worker import check, serve

comm = MPI.COMM_WORLD
side = int(sys.argv[1])
rows = Pencil(Subcomm(comm, [0, 1]), (side, side), 1)
columns = rows.pencil(0)
transfer = rows.transfer(columns, "f8")
count, first = rows.subshape[0], rows.substart[0]
source = numpy.arange(first * side, (first + count) * side, dtype="f8").reshape(count, side)
target = numpy.full(columns.subshape, -1.0)
transfer.forward(source, target)
check(target, side, columns.substart[1], "mpi4py-fft")
serve(lambda: transfer.forward(source, target), comm)
