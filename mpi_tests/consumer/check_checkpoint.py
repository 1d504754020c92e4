#!/usr/bin/env python3
"""check_checkpoint.py LAUNCHER CHECKPOINT_COMMAND_TEST MESHWISE: what four ranks save, other programs read.

h5py, h5ls and h5dump read the index of a moved step, read_checkpoint.py reads the files themselves, NumPy and h5py read what `meshwise checkpoint` exports, and
NumPy says what its diff and stats should have said. Checksums are computed anew. Exit code 77 where h5py is not installed."""

import json
import os
import shutil
import subprocess
import sys
import tempfile

try:
    import h5py
    import numpy as np
except ImportError as missing:
    print(f"skipped: {missing}")
    sys.exit(77)

import read_checkpoint

DTYPES = ("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16", "bfloat16", "float32", "float64", "complex64", "complex128")
OF_NUMPY = {**{name: name for name in DTYPES}, "bfloat16": "float32"}


def element(name, i):
    """Element i of a test array, as mpi_tests/support/hdf5_files.hpp has it."""
    if name == "bool":
        return (i * 7 + i // 3) % 2
    real = i % 113 if name.startswith("uint") else i % 113 - 50
    return complex(real, i % 17 + 1) if name.startswith("complex") else real


def array(name, shape):
    return np.array([element(name, i) for i in range(int(np.prod(shape)))]).reshape(shape).astype(OF_NUMPY[name])


def expected(step):
    """The arrays of step 5 and step 6 by name."""
    big = array("float64", (1200, 1300))
    arrays = {"a%2Fb%25": array("int32", (0, 4)), "list/0": array("float32", (300, 200)), "list/1": array("float64", ()), "big": big}
    for name in DTYPES:
        arrays[f"params/{name}"] = array(name, (13, 6))
    if step == 6:
        with np.errstate(all="ignore"):
            arrays["big"] = np.log(big)
        for name in DTYPES:
            x = arrays[f"params/{name}"]
            arrays[f"params/{name}"] = np.where(np.abs(x.real.astype("float32")) > 40, np.zeros_like(x), x)
    return arrays


def check(what, got, want):
    if got != want:
        sys.exit(f"{what}: {got!r}, want {want!r}")


def same(got, want, close=False):
    if close:
        return got.shape == want.shape and np.allclose(got, want, rtol=1e-14, atol=0, equal_nan=True)
    return got.shape == want.shape and got.dtype == want.dtype and np.array_equal(got, want)


def run(*command, code=0, **environment):
    done = subprocess.run(command, env={**os.environ, **environment}, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode != code:
        sys.exit(f"{' '.join(command)} ended with {done.returncode}:\n{done.stdout}")
    return done.stdout


TABLE = []
for byte in range(256):
    for _ in range(8):
        byte = byte >> 1 ^ (0x82F63B78 if byte & 1 else 0)
    TABLE.append(byte)


def crc32c(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc = crc >> 8 ^ TABLE[crc & 255 ^ byte]
    return crc ^ 0xFFFFFFFF


def check_checksums(folder):
    """Every checksum that is not of too many bytes for Python."""
    check("crc32c of RFC 3720", crc32c(b"123456789"), 0xE3069283)
    text = open(f"{folder}/COMMIT", "rb").read()
    end = text.rindex(b"crc32c=")
    check("COMMIT's own checksum", text[end:], b"crc32c=%08x\n" % crc32c(text[:end]))
    head, *entries = [json.loads(line) for line in text[:end].splitlines()]
    data = {entry["file"]: open(f"{folder}/{entry['file']}", "rb").read() for entry in entries}
    table = data["index.h5"][head["checksums"][0]:sum(head["checksums"])]
    table = np.frombuffer(table, "<u4")
    manifest = json.loads(data["index.h5"][head["manifest"][0]:sum(head["manifest"])])
    check("files", [entry["file"] for entry in entries[1:]], [file["name"] for file in manifest["files"]])
    for entry in entries:
        content = data[entry["file"]]
        check(f"length of {entry['file']}", len(content), entry["bytes"])
        rest, at = b"", 0
        for offset, length in sorted(entry["runs"]):
            rest, at = rest + content[at:offset], offset + length
        check(f"checksum of {entry['file']}", f"{crc32c(rest + content[at:]):08x}", entry["crc32c"])
    compared = 0
    for file in manifest["files"]:
        for of in file["runs"]:
            for block in range((of["bytes"] + manifest["block_bytes"] - 1) // manifest["block_bytes"]):
                start = of["offset"] + block * manifest["block_bytes"]
                content = data[file["name"]][start:min(start + manifest["block_bytes"], of["offset"] + of["bytes"])]
                if len(content) < 400_000:
                    check(f"checksum of block {block} of {of['dtype']} in {file['name']}", int(table[of["first_block"] + block]), crc32c(content))
                    compared += 1
    return compared


def check_hdf5(path, group, want, close):
    with h5py.File(path) as file:
        for name, values in want.items():
            dataset = file[f"{group}{name}"]
            check(f"values of {dataset.name} in {path} equal", same(dataset[()] if values.shape else np.array(dataset[()]), values, close and name == "big"), True)
            check(f"dtype of {name}", dataset.attrs["dtype"].decode() if isinstance(dataset.attrs["dtype"], bytes) else dataset.attrs["dtype"],
                  name.split("/")[-1] if "params" in name else str(values.dtype))


def check_diff(report, before, after):
    for entry in report["arrays"]:
        a, b = before[entry["name"]], after[entry["name"]]
        with np.errstate(all="ignore"):
            nan = np.isnan(a) != np.isnan(b)
            wide = "complex128" if np.iscomplexobj(a) else "float64"
            apart = np.abs(a.astype(wide) - b.astype(wide))
            differ = (a != b) & ~(np.isnan(a) & np.isnan(b))
        check(f"differing elements of {entry['name']}", (entry["differ"], entry["nan_on_one_side"]), (int(differ.sum()), int(nan.sum())))
        most = np.max(apart[~nan], initial=0)
        given = float(entry["max_abs"])
        check(f"largest difference of {entry['name']} ({given}, {most})", bool(np.isclose(given, float(most), rtol=1e-12)), True)
        if entry["name"] == "params/float32":
            order = [int(x.view("int32")) if x >= 0 else -int((-x).view("int32")) for x in (a[differ].max(), a[differ].min(), np.float32(0))]
            check("ulps of float32", entry["max_ulp"], max(abs(x - order[2]) for x in order))
        if entry["name"] == "params/bfloat16":  # its numbers are those float32s whose lower half is 0
            check("ulps of bfloat16", entry["max_ulp"], max(int(np.abs(x).view("int32")) >> 16 for x in a[differ]))


def check_stats(report, arrays):
    for entry in report["arrays"]:
        x = arrays[entry["name"]]
        name = f"stats of {entry['name']}: "
        check(name + "counts", (entry["count"], entry["nan"], entry["inf"], entry["zeros"]),
              (x.size, int(np.isnan(x).sum()), int(np.isinf(x).sum()), int((x == 0).sum())))
        if x.size == 0:
            check(name + "of nothing", (entry["min"], entry["max"], entry["mean"]), (None, None, None))
            continue
        ordered, finite = (np.abs(x.astype("complex128")) if np.iscomplexobj(x) else x), x[np.isfinite(x)]
        mean = complex(*entry["mean"]) if np.iscomplexobj(x) else entry["mean"]
        for what, given, want in (("min", float(entry["min"]), np.nanmin(ordered)), ("max", float(entry["max"]), np.nanmax(ordered)),
                                  ("mean", mean, finite.astype("complex128" if np.iscomplexobj(x) else "float64").mean())):
            check(f"{name}{what} ({given}, {want})", bool(given == want or np.isclose(given, want, rtol=1e-12)), True)


def main():
    launcher, writer, meshwise = sys.argv[1:]
    with tempfile.TemporaryDirectory(prefix="meshwise-checkpoint.") as top:
        saved, moved = f"{top}/run", f"{top}/moved"
        run(launcher, "-n", "4", "--timeout", "100", writer, "--gtest_filter=*StepsForOtherPrograms", MESHWISE_TEST_CHECKPOINTS=saved)
        os.makedirs(moved)
        steps = {}
        for step in (5, 6, 7):  # elsewhere, under other names, read from another current folder
            steps[step] = f"{moved}/the step {step}"
            os.rename(f"{saved}/step_{step:08d}", steps[step])
        os.chdir(moved)
        blocks = check_checksums(steps[5])
        for step in (5, 6):
            want = expected(step)
            check_hdf5(f"{steps[step]}/index.h5", "arrays/", want, step == 6)
            own = read_checkpoint.read(steps[step])
            check("names", sorted(own), sorted(want))
            for name, values in want.items():
                check(f"values of {name} by read_checkpoint.py equal", same(own[name], values, step == 6 and name == "big"), True)
            run(meshwise, "checkpoint", "export", steps[step], "out.h5")
            check_hdf5("out.h5", "", want, step == 6)
        for tool, what in (("h5ls", ["-r"]), ("h5dump", ["-d", "/arrays/params/float16"])):
            if shutil.which(tool):
                text = run(tool, *what, f"{steps[5]}/index.h5")
                check(f"{tool} finds things", "params" in text and "13, 6" in text, True)
            else:
                print(f"skipped: there is no {tool}")
        for name, values in expected(5).items():
            run(meshwise, "checkpoint", "export", steps[5], "out.npy", "--array", name)
            check(f"values of {name} in .npy equal", same(np.load("out.npy"), values), True)
        with h5py.File("out.h5") as file:
            check("attributes", sorted(file.attrs), ["created", "format", "library", "step", "tree", "uuid"])

        a, b = (read_checkpoint.read(steps[step]) for step in (5, 6))
        check_diff(json.loads(run(meshwise, "checkpoint", "diff", steps[5], steps[6], "--json", code=1)), a, b)
        run(meshwise, "checkpoint", "diff", steps[5], steps[5])
        for step, arrays in ((5, a), (6, b)):
            check_stats(json.loads(run(meshwise, "checkpoint", "stats", steps[step], "--json")), arrays)

        # 1500 arrays of 64 bytes: the index has no datasets of them, the export has.
        with h5py.File(f"{steps[7]}/index.h5") as file:
            check("datasets of small arrays", len(file["arrays"]), 0)
        run(meshwise, "checkpoint", "export", steps[7], "many.h5")
        with h5py.File("many.h5") as file:
            check("exported arrays", len(file), 1500)
            check("their values", all(np.array_equal(file[f"{k:04d}"][()], np.full(16, k, "int32")) for k in range(1500)), True)

        run(meshwise, "checkpoint", "verify", steps[5])
        with open(f"{steps[5]}/shards/00002.h5", "r+b") as file:
            file.seek(-3, 2)
            last = file.read(1)[0]
            file.seek(-3, 2)
            file.write(bytes([last ^ 16]))
        report = json.loads(run(meshwise, "checkpoint", "verify", steps[5], "--json", code=1))
        check("the damaged file", [damage["file"] for damage in report["steps"][0]["damage"]], ["shards/00002.h5"])
        check("its arrays are told", bool(report["steps"][0]["damage"][0]["arrays"]), True)
    print(f"h5py {h5py.__version__} and NumPy {np.__version__} agree on {len(DTYPES)} dtypes; {blocks} blocks' checksums are right")


if __name__ == "__main__":
    main()
