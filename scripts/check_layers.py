#!/usr/bin/env python3
"""Checks the rules of the house over include/ and src/, and prints every breach.

- A file includes its own room and rooms below it, never one above; it stands in a room, or is the umbrella.
- mpi.h and boost/mpi are included in runtime only, boost/mpi in at most two source files;
  public headers know neither (but runtime/interop_mpi.hpp, which shows an MPI_Comm), nor hdf5.h; hdf5.h is for io.
- A header has at most 200 lines, a source at most 400.
- A public header is included as <meshwise/room/name.hpp>, a private one (src/room/name.hpp) as "room/name.hpp".
"""
import pathlib
import re
import sys

ROOMS = ["base", "placement", "plan", "runtime", "array", "ops", "spmd", "io", "tools"]
UMBRELLA = "include/meshwise/meshwise.hpp"
INTEROP = "include/meshwise/runtime/interop_mpi.hpp"
LINES = {".hpp": 200, ".cpp": 400}
INCLUDE = re.compile(r'\s*#\s*include\s*([<"])([^>"]+)[>"]')


def room_of(path):
    """The room a file stands in: the folder after include/meshwise/ or src/."""
    parts = path.parts
    inside = parts[2:] if parts[0] == "include" else parts[1:]
    return inside[0] if len(inside) > 1 and inside[0] in ROOMS else None


def target_room(name, quoted):
    """(room, is it ours) of an included file."""
    parts = name.split("/")
    if parts[0] == "meshwise":
        return (parts[1] if len(parts) > 2 else None), True
    if parts[0] == "src" and len(parts) > 2:
        return parts[1], True
    if quoted and len(parts) > 1 and parts[0] in ROOMS:
        return parts[0], True
    return None, False


def types_defined(text):
    """Fully named types that other files could define too: outside unnamed namespaces."""
    spaces = []
    for line in text:
        opened = re.match(r"\s*(?:inline\s+)?namespace\b\s*([\w:]*)\s*\{\s*(?!\})$", line)
        if opened:
            spaces.append(opened[1])
        elif re.match(r"\}\s*// namespace", line) and spaces:
            spaces.pop()
        elif "" not in spaces:
            defined = re.match(r"(?:template\s*<.*>\s*)?(?:struct|class|enum class)\s+(\w+)(?:\s+final)?\s*(?::(?!:)[^;()]*)?\{", line)
            if defined:
                yield "::".join([*spaces, defined[1]])


def main():
    root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).resolve().parent.parent)
    bad, boost_mpi, types = [], [], {}
    files = sorted(p.relative_to(root) for top in ("include", "src")
                   for p in (root / top).rglob("*") if p.is_file())
    for path in files:
        name = path.as_posix()
        public = path.parts[0] == "include"
        if path.suffix not in LINES:
            bad.append(f"{name}: neither .hpp nor .cpp")
            continue
        text = (root / path).read_text().splitlines()
        if len(text) > LINES[path.suffix]:
            bad.append(f"{name}: {len(text)} lines; at most {LINES[path.suffix]}: split it by concept")
        for defined in types_defined(text):
            if types.setdefault(defined, name) != name:
                bad.append(f"{name}: {defined} is another type than that of {types[defined]}: the linker takes either (one definition rule)")
        here = room_of(path)
        if here is None and name != UMBRELLA:
            bad.append(f"{name}: stands in no room")
            continue
        for number, line in enumerate(text, 1):
            found = INCLUDE.match(line)
            if not found:
                continue
            where, target = f"{name}:{number}", found[2]
            room, ours = target_room(target, found[1] == '"')
            if ours:
                if room is None:
                    bad.append(f"{where}: inside the house include the room's header, not {target}")
                elif room not in ROOMS:
                    bad.append(f"{where}: there is no room {room}")
                elif here is not None and ROOMS.index(room) > ROOMS.index(here):
                    bad.append(f"{where}: {here} may not include {room}: arrows point downward")
                if public and not target.startswith("meshwise/"):
                    bad.append(f"{where}: a public header may not include the private {target}")
            elif found[1] == '"' and "/" not in target:
                bad.append(f'{where}: write "{here}/{target}" with its room')
            is_mpi = target == "mpi.h" or target.startswith("boost/mpi")
            if is_mpi and (here != "runtime" or (public and name != INTEROP)):
                bad.append(f"{where}: {target} belongs to the sources of room runtime")
            if target.startswith("boost/mpi"):
                boost_mpi.append(name)
            if re.match(r"(hdf5|H5\w*)\.h$", target) and (here != "io" or public):
                bad.append(f"{where}: {target} belongs to the sources of room io")
    boost_mpi = sorted(set(boost_mpi))
    if len(boost_mpi) > 2:
        bad.append("boost/mpi is included in more than two files: " + ", ".join(boost_mpi))
    print("\n".join(bad) or f"{len(files)} files: arrows point downward")
    return bool(bad)


if __name__ == "__main__":
    sys.exit(main())
