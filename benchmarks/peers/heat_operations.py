"""An operation by heat. Arguments: the operation as operations_worker.cpp names it, MiB of an array."""
import sys

import heat
import numpy
import torch
from mpi4py import MPI

import operations
from worker import serve

comm = MPI.COMM_WORLD
torch.set_num_threads(1)
name, mebibytes = sys.argv[1], int(sys.argv[2])
calls = 1


def near(function):
    """A check of a rank's elements."""
    def checked(result, *operands):
        operations.check(result.larray.numpy(), function(*(x.larray.numpy() for x in operands)), "heat")
    return checked


if name.startswith("matmul"):
    side = operations.side_of(mebibytes)
    share = side // comm.size
    mine = slice(comm.rank * share, (comm.rank + 1) * share)
    a = heat.array(torch.from_numpy(operations.left(side, mine)), is_split=0)
    if name == "matmul_rows":
        b = heat.array(torch.from_numpy(operations.right(side)))
    else:
        b = heat.array(torch.from_numpy(operations.right(side, mine)), is_split=0)
    operands, operation = (a, b), heat.matmul

    def checked(result, *_):
        operations.check_product(result.larray.numpy(), side, comm.rank * share, 0, "heat")
elif name == "small":
    operands = heat.arange(16, dtype=heat.float32, split=0), heat.ones(16, split=0)
    operation, checked, calls = heat.add, near(numpy.add), 1000
else:
    torch.manual_seed(comm.rank)
    elements = (mebibytes << 18) // comm.size
    draw = torch.randn if name == "sort" else torch.rand
    operands = [heat.array(draw(elements), is_split=0) for _ in range(2 if name == "add" else 1)]
    operation, checked = {
        "add": (heat.add, near(numpy.add)), "exp": (heat.exp, near(numpy.exp)), "sort": (lambda x: heat.sort(x, axis=0)[0], None),
    }[name]
    if name == "sort":
        def checked(result, x):
            values = result.larray.numpy()
            ends = comm.allgather((values[0], values[-1]))
            fine = (values[1:] >= values[:-1]).all() and all(a[1] <= b[0] for a, b in zip(ends, ends[1:]))
            if not fine or comm.allreduce(values.size) != x.size:
                sys.exit("heat did not sort")

kept = operation(*operands)
checked(kept, *operands)


def once():
    global kept
    for _ in range(calls):
        kept = operation(*operands)  # the previous one lives until this one is made


serve(once, comm, calls=calls)
