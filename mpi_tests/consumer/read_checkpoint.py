"""Reads a checkpoint of meshwise with nothing but json and NumPy (docs/format.md): read(folder of a step) gives a dict of arrays by name."""
import json

import numpy as np


def read(folder):
    with open(f"{folder}/COMMIT", encoding="utf-8") as text:
        commit = json.loads(text.readline())
    if (commit["format"], commit["format_version"]) != ("meshwise checkpoint", 1):
        raise ValueError(f"{folder} is of another format")
    with open(f"{folder}/index.h5", "rb") as index:
        data = index.read()
    part = {key: data[commit[key][0]:sum(commit[key])] for key in ("manifest", "boxes", "ranges")}
    manifest = json.loads(part["manifest"])
    boxes, ranges = (iter(np.frombuffer(part[key], "<i8").reshape(-1, 2)) for key in ("boxes", "ranges"))
    files = [np.memmap(f"{folder}/{file['name']}", mode="r") for file in manifest["files"]]
    arrays = {}
    for name, dtype, shape, _sharding, count, _virtual in manifest["arrays"]:
        bfloat16 = dtype == "bfloat16"  # NumPy has none: the upper half of a float32
        values = np.empty(shape, "uint16" if bfloat16 else dtype)
        for file, offset in (next(boxes) for _ in range(count)):
            box = tuple(slice(*next(ranges)) for _ in shape)
            stored = files[file][offset:offset + values[box].nbytes].view(values.dtype)
            values[box] = stored.reshape(values[box].shape)
        arrays[name] = (np.atleast_1d(values).astype("uint32") << 16).view("float32").reshape(values.shape) if bfloat16 else values
    return arrays
