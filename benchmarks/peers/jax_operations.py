"""An operation by JAX, not jitted, in one process with as many CPU devices. Arguments: the operation as operations_worker.cpp names it, MiB of an
array, the devices."""
import os
import sys

name, mebibytes, devices = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
os.environ["XLA_FLAGS"] = f"--xla_force_host_platform_device_count={devices}"
os.environ["JAX_PLATFORMS"] = "cpu"

import jax  # noqa: E402  (reads the variables above)
import jax.numpy as jnp  # noqa: E402
import numpy  # noqa: E402
from jax.sharding import Mesh, NamedSharding, PartitionSpec as P  # noqa: E402

import operations  # noqa: E402
from worker import serve  # noqa: E402

line = Mesh(numpy.array(jax.devices()), ("x",))
calls = 1


def placed(values, spec, mesh=line):
    return jax.block_until_ready(jax.device_put(values, NamedSharding(mesh, spec)))


def near(function, tolerance=1e-5):
    """A check of a device's elements."""
    def checked(result, *operands):
        parts = [numpy.asarray(x.addressable_shards[-1].data).astype("f4") for x in (result, *operands)]
        with numpy.errstate(divide="ignore"):  # log of 0
            operations.check(parts[0], function(*parts[1:]), "JAX", tolerance)
    return checked


if name.startswith("matmul"):
    side = operations.side_of(mebibytes)
    grid = Mesh(numpy.array(jax.devices()).reshape(-1, 2 if devices > 2 else 1), ("x", "y"))
    mesh, of_a, of_b, of_c = {
        "matmul_rows": (line, P("x", None), P(None, None), P("x", None)),
        "matmul_blocks": (grid, P("x", "y"), P("x", "y"), P("x", "y")),
    }[name]
    operands = placed(operations.left(side), of_a, mesh), placed(operations.right(side), of_b, mesh)
    operation = jnp.matmul

    def checked(result, *_):
        if result.sharding.spec != of_c:
            sys.exit(f"JAX's result is {result.sharding.spec}, ours {of_c}")
        for shard in result.addressable_shards:
            operations.check_product(numpy.asarray(shard.data), side, shard.index[0].start or 0, shard.index[1].start or 0, "JAX")
elif name == "small":
    operands = placed(numpy.arange(16, dtype="f4"), P("x")), placed(numpy.ones(16, dtype="f4"), P("x"))
    operation, checked, calls = jnp.add, near(numpy.add), 2000
else:
    half = name == "add_bfloat16"
    elements = (mebibytes << 20) // (2 if half else 4)
    random = numpy.random.default_rng(1)
    operands = [placed(random.random(elements, dtype="f4").astype(jnp.bfloat16 if half else "f4"), P("x"))
                for _ in range(2 if "add" in name else 1)]
    operation, checked = {
        "add": (jnp.add, near(numpy.add)), "add_bfloat16": (jnp.add, near(numpy.add, 1e-2)),
        "exp": (jnp.exp, near(numpy.exp)), "tanh": (jnp.tanh, near(numpy.tanh)), "log": (jnp.log, near(numpy.log)),
    }[name]

kept = jax.block_until_ready(operation(*operands))
checked(kept, *operands)


def once():
    global kept
    for _ in range(calls):
        result = operation(*operands)
    kept = jax.block_until_ready(result)  # the previous one lives until this one is made


serve(once, calls=calls)
