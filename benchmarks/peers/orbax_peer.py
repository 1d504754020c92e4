"""Float32 arrays of 2 MiB, shared out by rows over CPU devices of one process, saved by Orbax until it is finished. Arguments: the
devices, [raw: without compression,] MiB in all."""
import os
import sys
import warnings

devices, compressed, mebibytes = int(sys.argv[1]), "raw" not in sys.argv, int(sys.argv[-1])
os.environ["XLA_FLAGS"] = f"--xla_force_host_platform_device_count={devices}"
os.environ["JAX_PLATFORMS"] = "cpu"

import jax  # noqa: E402  (reads the variables above)
import numpy  # noqa: E402
import orbax.checkpoint as ocp  # noqa: E402
from jax.sharding import Mesh, NamedSharding, PartitionSpec as P  # noqa: E402

from worker import Folder, serve  # noqa: E402

rows = NamedSharding(Mesh(numpy.array(jax.devices()), ("x",)), P("x", None))
tree = {f"layer{k:03}": jax.device_put(numpy.random.default_rng(k).standard_normal((1024, 512), dtype="f4"), rows)
        for k in range(mebibytes // 2)}
jax.block_until_ready(tree)
folder = Folder()
if compressed:
    checkpointer = ocp.StandardCheckpointer()
else:
    checkpointer = ocp.AsyncCheckpointer(ocp.PyTreeCheckpointHandler(use_compression=False))


def once():
    checkpointer.save(f"{folder.path}/step", tree)
    checkpointer.wait_until_finished()


folder.fresh()
once()
warnings.simplefilter("ignore")  # it says that it takes the shardings from the file
back = checkpointer.restore(f"{folder.path}/step")
for name, x in tree.items():
    if not numpy.array_equal(back[name], x):
        sys.exit("Orbax wrote a wrong value")
del back
serve(once, before=folder.fresh)
folder.remove()
