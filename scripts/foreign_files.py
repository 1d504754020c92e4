#!/usr/bin/env python3
"""foreign_files.py make|check hdf5|npy FOLDER: files that h5py, netCDF4 and NumPy write, for meshwise to read, and the other way round.

make: files of the values of mpi_tests/support/hdf5_files.hpp. check: that what meshwise left in the folder is what these programs expect.
Exit code 77 where h5py or NumPy is not installed; without netCDF4, h5py makes a file like its."""

import os
import sys

try:
    import h5py
    import numpy as np
except ImportError as missing:
    print(f"{missing}")
    sys.exit(77)

DTYPES = ("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16", "float32", "float64", "complex64", "complex128")
SHAPE = (13, 6)


def element(name, i):
    if name == "bool":
        return (i * 7 + i // 3) % 2
    real = i % 113 if name.startswith("uint") else i % 113 - 50
    return complex(real, i % 17 + 1) if name.startswith("complex") else real


def values(shape, dtype):
    """The test array, of an element type in any byte order."""
    dtype = np.dtype(dtype)
    return np.array([element(dtype.name, i) for i in range(int(np.prod(shape)))]).reshape(shape).astype(dtype)


def make_hdf5(path):
    with h5py.File(path, "w") as file:
        for name in DTYPES:
            file[f"native/{name}"] = values(SHAPE, name)
            file[f"big/{name}"] = values(SHAPE, np.dtype(name).newbyteorder(">"))
        packed = file.create_group("packed")
        packed.create_dataset("gzip", data=values(SHAPE, "float32"), chunks=(4, 5), compression="gzip", shuffle=True, fletcher32=True)
        packed.create_dataset("big", data=values(SHAPE, ">i2"), chunks=(5, 6), compression="gzip")
        packed.create_dataset("lzf", data=values(SHAPE, "float32"), chunks=(4, 5), compression="lzf")
        file.create_dataset("growing", data=values(SHAPE, "float64"), maxshape=(None, 6), chunks=(4, 4), compression="gzip")
        filled = file.create_dataset("filled", shape=SHAPE, dtype="int32", chunks=(4, 4), fillvalue=-9)
        filled[:4] = values(SHAPE, "int32")[:4]
        file["names"] = ["a", "bc"]
        file["text"] = "one"
        file["records"] = np.zeros(3, dtype=[("a", "f4"), ("b", "i2")])
        file["nothing"] = h5py.Empty("f4")
        attributes = file["growing"].attrs
        attributes["text"] = "µm"
        attributes["bytes"] = np.bytes_(b"fixed")
        attributes["texts"] = ["a", "bc"]
        attributes["fixed texts"] = np.array([b"a", b"bc"])
        attributes["int"] = 7
        attributes["small"] = np.int16(-3)
        attributes["unsigned"] = np.uint64(2**63)
        attributes["float"] = 0.5
        attributes["floats"] = np.array([0.5, 1.5], ">f4")
        attributes["ints"] = [1, 2, 3]
        attributes["truth"] = True
        attributes["truths"] = [True, False]
        attributes["complex"] = 1 + 2j
        attributes["matrix"] = np.eye(2)
        attributes["empty"] = h5py.Empty("f4")
        attributes["reference"] = file.ref
        file.attrs["title"] = "of the file"
    with h5py.File(os.path.splitext(path)[0] + "-newest.h5", "w", libver="latest") as file:
        file.create_dataset("x", data=values(SHAPE, "float32"), chunks=(4, 5), compression="gzip")
    part = os.path.splitext(path)[0] + "-part{}.h5"
    layout = h5py.VirtualLayout(shape=SHAPE, dtype="int32")
    for i, rows in enumerate((slice(0, 5), slice(5, 13))):
        with h5py.File(part.format(i), "w") as file:
            file["data"] = values(SHAPE, "int32")[rows]
        layout[rows] = h5py.VirtualSource(part.format(i), "data", shape=(rows.stop - rows.start, 6))
    with h5py.File(path, "a") as file:
        file.create_virtual_dataset("virtual", layout)


def make_netcdf(path):
    """time (unlimited) by lat, with what netCDF-4 adds; and who made it."""
    try:
        import netCDF4
    except ImportError:
        netCDF4 = None
    if netCDF4:
        with netCDF4.Dataset(path, "w") as file:
            file.createDimension("time", None)
            file.createDimension("lat", 6)
            file.createDimension("level", 2)
            file.createVariable("time", "f8", ("time",))[:] = values((13,), "float64")
            file.createVariable("lat", ">f4", ("lat",), endian="big")[:] = values((6,), "float32")
            warm = file.createVariable("temperature", ">f4", ("time", "lat"), zlib=True, fill_value=-999.0, endian="big")
            warm[:] = values((13, 6), "float32")
            warm.units = "K"
            warm.levels = np.array([0, 400], "i2")
            file.createGroup("model").createVariable("run", "i4", ())[()] = 42
        print("netCDF4", netCDF4.__version__)
        return
    with h5py.File(path, "w", libver=("earliest", "v110"), track_order=True) as file:
        file.attrs["_NCProperties"] = np.bytes_("version=2,h5py")
        for i, (name, data, longest) in enumerate((("time", values((13,), "float64"), None), ("lat", values((6,), ">f4"), 6))):
            file.create_dataset(name, data=data, maxshape=(longest,), chunks=data.shape)
            file[name].make_scale(name)
            file[name].attrs["_Netcdf4Dimid"] = np.int32(i)
        file.create_dataset("level", data=np.zeros(2, ">f4")).make_scale("This is a netCDF dimension but not a netCDF variable.         2")
        warm = file.create_dataset("temperature", data=values((13, 6), ">f4"), maxshape=(None, 6), chunks=(1, 6), compression="gzip", fillvalue=-999.0)
        warm.attrs["_Netcdf4Coordinates"] = np.array([0, 1], "i4")
        warm.attrs["_FillValue"] = np.array([-999.0], ">f4")
        warm.attrs["units"] = np.bytes_("K")
        warm.attrs["levels"] = np.array([0, 400], "i2")
        warm.dims[0].attach_scale(file["time"])
        warm.dims[1].attach_scale(file["lat"])
        file.create_group("model")["run"] = np.int32(42)
    print("h5py", h5py.__version__)


def make_npy(folder):
    for name in DTYPES:
        data = values(SHAPE, name)
        np.save(os.path.join(folder, f"c-{name}.npy"), data)
        np.save(os.path.join(folder, f"f-{name}.npy"), np.asfortranarray(data))
        np.save(os.path.join(folder, f"big-{name}.npy"), values(SHAPE, np.dtype(name).newbyteorder(">")))
    np.save(os.path.join(folder, "scalar.npy"), values((), "float64"))
    np.save(os.path.join(folder, "empty.npy"), values((0, 4), "int32"))
    for version in ((2, 0), (3, 0)):
        with open(os.path.join(folder, f"version{version[0]}.npy"), "wb") as file:
            np.lib.format.write_array(file, values(SHAPE, "float32"), version)
    np.save(os.path.join(folder, "objects.npy"), np.array([1, "two", None], dtype=object), allow_pickle=True)
    np.save(os.path.join(folder, "records.npy"), np.zeros(3, dtype=[("a", "f4"), ("b", "i2")]))
    np.save(os.path.join(folder, "texts.npy"), np.array(["a", "bc"]))
    np.savez(os.path.join(folder, "two.npz"), a=np.zeros(2), b=np.ones(2))


def same(what, got, want):
    if type(got) is not type(want) or got != want:
        sys.exit(f"{what}: {got!r}, want {want!r}")


def same_array(what, got, shape, name):
    same(f"{what}: shape", got.shape, shape)
    same(f"{what}: dtype", got.dtype.name, name)
    same(f"{what}: values equal", bool(np.array_equal(got, values(shape, name))), True)


def check_hdf5(folder):
    with h5py.File(os.path.join(folder, "tree.h5")) as file:
        same("keys", sorted(file), ["layers", "step"])
        same("kind", file["layers"].attrs["meshwise_kind"].decode(), "list")
        same_array("w", file["layers/1/w"][()], (13, 6), "float32")
        same("step", int(file["step"][()]), element("int64", 0))
        attributes = file["layers"].attrs
        same("text", attributes["text"], "µm")
        same("texts", list(attributes["texts"]), ["a", ""])
        same("truth", bool(attributes["truth"]), True)
        same("truth's dtype", attributes["truth"].dtype.name, "bool")
        same("int", int(attributes["int"]), -7)
        same("floats", attributes["floats"].tolist(), [0.5, 1.5])
        same("no ints", attributes["no ints"].shape, (0,))
    with h5py.File(os.path.join(folder, "grown.h5")) as file:
        same("maxshape", file["log"].maxshape, (None, 6))
        for name in ("bool", "int16", "float16", "float64", "complex64"):
            same_array(name, file[name][()], SHAPE, name)
        same_array("log", file["log"][()], SHAPE, "int32")
    with h5py.File(os.path.join(folder, "theirs.h5")) as file:
        grown = file["growing"]
        same("compression", grown.compression, "gzip")
        same_array("growing", grown[()], (26, 6), "float64")
        same("attribute of theirs", grown.attrs["text"], "now ours")
    try:
        import netCDF4
    except ImportError:
        return
    with netCDF4.Dataset(os.path.join(folder, "climate.nc")) as file:
        same("units", file["temperature"].units, "degC")
        same_array("temperature", np.asarray(file["temperature"][:].data, "float32"), SHAPE, "float32")


def check_npy(folder):
    for name, shape in [(name, SHAPE) for name in DTYPES] + [("float32", shape) for shape in ((), (0, 4), (7,), (50000, 2), (1,) * 20)]:
        ours, theirs = os.path.join(folder, f"ours-{name}-{'x'.join(map(str, shape))}.npy"), os.path.join(folder, "numpy.npy")
        same_array(ours, np.load(ours), shape, name)
        np.save(theirs, values(shape, name))
        with open(ours, "rb") as one, open(theirs, "rb") as other:
            same(f"{ours}: the bytes of numpy.save", one.read() == other.read(), True)


def main():
    action, kind, folder = sys.argv[1:]
    if (action, kind) == ("make", "hdf5"):
        make_hdf5(os.path.join(folder, "theirs.h5"))
        make_netcdf(os.path.join(folder, "climate.nc"))
    elif (action, kind) == ("make", "npy"):
        make_npy(folder)
    elif (action, kind) == ("check", "hdf5"):
        check_hdf5(folder)
    elif (action, kind) == ("check", "npy"):
        check_npy(folder)
    else:
        sys.exit(__doc__)


if __name__ == "__main__":
    main()
