#!/usr/bin/env python3
"""check_h5py.py LAUNCHER HDF5_WRITE_TEST DIGITS DATA: what meshwise writes, h5py reads.

Runs the two programs in a folder of their own and looks at the names, shapes, dtypes and values of what they leave.
Exit code 77 where h5py is not installed."""

import os
import subprocess
import sys
import tempfile

try:
    import h5py
    import numpy as np
except ImportError as missing:
    print(f"skipped: {missing}")
    sys.exit(77)

DTYPES = {name: name for name in ("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16", "float32",
                                  "float64", "complex64", "complex128")}
DTYPES["bfloat16"] = "float32"  # NumPy has none; h5py takes the next that holds it
SHAPE = (13, 6)
STEPS = 10


def element(name, i):
    """Element i of a test array, as mpi_tests/support/hdf5_files.hpp has it."""
    if name == "bool":
        return (i * 7 + i // 3) % 2
    real = i % 113 if name.startswith("uint") else i % 113 - 50
    return complex(real, i % 17 + 1) if name.startswith("complex") else real


def run(folder, *command, **environment):
    done = subprocess.run(command, cwd=folder, env={**os.environ, **environment}, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode:
        sys.exit(f"{' '.join(command)} ended with {done.returncode}:\n{done.stdout}")


def check(what, got, want):
    if not isinstance(got, type(want)) or got != want:
        sys.exit(f"{what}: {got!r}, want {want!r}")


def check_dataset(dataset, name, shape):
    where = f"{dataset.name} of {dataset.file.filename}"
    check(f"{where}: shape", dataset.shape, shape)
    check(f"{where}: dtype", str(dataset.dtype), DTYPES[name])
    count = int(np.prod(shape))
    want = np.array([element(name, i) for i in range(count)]).reshape(shape).astype(DTYPES[name])
    check(f"{where}: values equal", bool(np.array_equal(dataset[()], want)), True)


def trained(data):
    """The weights of examples/06_digits.cpp, in float64 and on one machine."""
    with h5py.File(data) as file:
        pixels = file["images"][:1500].reshape(1500, 64) / 16
        one_hot = np.eye(10)[file["labels"][:1500]]
    weights, bias = np.zeros((64, 10)), np.zeros(10)
    for _ in range(STEPS):
        logits = pixels @ weights + bias
        likely = np.exp(logits - logits.max(axis=1, keepdims=True))
        gradient = (likely / likely.sum(axis=1, keepdims=True) - one_hot) / 1500
        weights -= 0.5 * pixels.T @ gradient
        bias -= 0.5 * gradient.sum(axis=0)
    return weights


def main():
    launcher, writer, digits, data = sys.argv[1:]
    with tempfile.TemporaryDirectory(prefix="meshwise-h5py.") as folder:
        path = os.path.join(folder, "types.h5")
        run(folder, launcher, "-n", "3", "--timeout", "60", writer, "--gtest_filter=Hdf5Write.AFileForH5py", MESHWISE_TEST_H5PY=path)
        with h5py.File(path) as file:
            check("names", sorted(file), ["empty", "params", "scalar"])
            check("names of /params", sorted(file["params"]), sorted(DTYPES))
            check_dataset(file["scalar"], "float64", ())
            check_dataset(file["empty"], "int32", (0, 4))
            for name in DTYPES:
                check_dataset(file["params"][name], name, SHAPE)

        run(folder, launcher, "-n", "3", "--timeout", "60", digits, "--steps", str(STEPS))
        with h5py.File(os.path.join(folder, "digits_weights_3of3.h5")) as file:
            check("names", list(file), ["weights"])
            weights = file["weights"]
            check("weights: shape", weights.shape, (64, 10))
            check("weights: dtype", str(weights.dtype), "float32")
            off = float(np.abs(weights[()] - trained(data)).max())
            check(f"weights: within 1e-5 of NumPy's (off by {off})", off < 1e-5, True)
    print(f"h5py {h5py.__version__} reads {len(DTYPES)} dtypes, an empty dataset, a scalar and the digits' weights")


if __name__ == "__main__":
    main()
