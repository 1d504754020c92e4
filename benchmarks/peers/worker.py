"""A peer's side of rounds.py: say when ready, then a round for every line `go` on standard input."""
import os
import shutil
import sys
import tempfile
import time


def now():
    return time.clock_gettime(time.CLOCK_MONOTONIC)


def serve(once, comm=None, before=lambda: None, calls=1):
    """Times once(), which makes so many calls, on all ranks of comm (None: this process alone): last end minus first start, per call.
    `before` is not timed."""
    if comm is None:
        print("@ ready", flush=True)
        for line in sys.stdin:
            if not line.startswith("go"):
                break
            before()
            start = now()
            once()
            print(f"@ {(now() - start) / calls:.9f}", flush=True)
        return

    import numpy
    from mpi4py import MPI
    if comm.rank == 0:
        print("@ ready", flush=True)
    while True:
        go = numpy.zeros(1, dtype="i")
        if comm.rank == 0:
            go[0] = sys.stdin.readline().startswith("go")
        request = comm.Ibcast(go, root=0)
        while not request.Test():  # asleep: the other job has the machine
            time.sleep(0.0005)
        if not go[0]:
            return
        before()
        comm.Barrier()
        start = now()
        once()
        end = now()
        first, last = comm.allreduce(start, MPI.MIN), comm.allreduce(end, MPI.MAX)
        if comm.rank == 0:
            print(f"@ {(last - first) / calls:.9f}", flush=True)


def check(columns, side, first, who):
    """Column block `columns` of the square in which element (i, j) is i * side + j."""
    import numpy
    want = numpy.arange(side, dtype="f8")[:, None] * side + numpy.arange(first, first + columns.shape[1], dtype="f8")[None, :]
    if not numpy.array_equal(columns, want):
        sys.exit(f"{who} moved a wrong value")


class Folder:
    """A folder on the disk that is measured, as bench::Folder is."""

    def __init__(self, comm=None):
        self.comm = comm
        path = None
        if comm is None or comm.rank == 0:
            path = tempfile.mkdtemp(prefix="meshwise-peer.", dir=os.environ.get("MESHWISE_BENCH_FOLDER"))
        self.path = path if comm is None else comm.bcast(path)

    def remove(self):
        if self.comm is None or self.comm.rank == 0:
            shutil.rmtree(self.path)

    def fresh(self):
        self.remove()
        if self.comm is None or self.comm.rank == 0:
            os.mkdir(self.path)
        os.sync()
        if self.comm is not None:
            self.comm.Barrier()
