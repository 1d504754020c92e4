"""Float32 arrays of 2 MiB, shared out by rows, written by h5py over MPI-IO into one file, and synchronised. Argument: MiB in all."""
import os
import sys

import h5py
import numpy
from mpi4py import MPI

from worker import Folder, serve

if not h5py.get_config().mpi:
    sys.exit("this h5py has no MPI")
comm = MPI.COMM_WORLD
ROWS, COLUMNS = 1024, 512
share = ROWS // comm.size
first = comm.rank * share
arrays = {f"layer{k:03}": numpy.random.default_rng([k, comm.rank]).standard_normal((share, COLUMNS), dtype="f4")
          for k in range(int(sys.argv[1]) // 2)}
folder = Folder(comm)
path = f"{folder.path}/tree.h5"


def once():
    with h5py.File(path, "w", driver="mpio", comm=comm) as file:
        for name, mine in arrays.items():
            dataset = file.create_dataset(name, (ROWS, COLUMNS), "f4")
            with dataset.collective:
                dataset[first:first + share] = mine
    descriptor = os.open(path, os.O_RDONLY)
    os.fsync(descriptor)
    os.close(descriptor)


folder.fresh()
once()
with h5py.File(path, "r", driver="mpio", comm=comm) as file:
    for name, mine in arrays.items():
        if not numpy.array_equal(file[name][first:first + share], mine):
            sys.exit("h5py wrote a wrong value")
serve(once, comm, folder.fresh)
folder.remove()
