"""Rows to columns by jax.device_put in one process with as many CPU devices. Arguments: the square's side, the devices."""
import os
import sys

side, devices = int(sys.argv[1]), int(sys.argv[2])
os.environ["XLA_FLAGS"] = f"--xla_force_host_platform_device_count={devices}"
os.environ["JAX_ENABLE_X64"] = "1"
os.environ["JAX_PLATFORMS"] = "cpu"

import jax  # noqa: E402  (reads the variables above)
import numpy  # noqa: E402
from jax.sharding import Mesh, NamedSharding, PartitionSpec as P  # noqa: E402

from worker import check, serve  # noqa: E402

mesh = Mesh(numpy.array(jax.devices()), ("x",))
values = numpy.arange(side * side, dtype="f8").reshape(side, side)
source = jax.block_until_ready(jax.device_put(values, NamedSharding(mesh, P("x", None))))
columns = NamedSharding(mesh, P(None, "x"))
kept = jax.block_until_ready(jax.device_put(source, columns))
for shard in kept.addressable_shards:
    check(numpy.asarray(shard.data), side, shard.index[1].start or 0, "JAX")
del values


def once():
    global kept
    kept = jax.block_until_ready(jax.device_put(source, columns))  # the previous one lives until this one is made


serve(once)
