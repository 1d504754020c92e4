#!/usr/bin/env python3
"""docs/operations.md is what `meshwise operations` says, and every function of include/meshwise/ops has a row.

  scripts/check_operations.py build/bin/meshwise [--write]
"""
import difflib
import pathlib
import re
import subprocess
import sys

root = pathlib.Path(__file__).resolve().parent.parent
document = root / "docs" / "operations.md"
NOT_OPERATIONS = {"is_deterministic", "result_type"}  # make no array


def functions():
    for header in sorted((root / "include" / "meshwise" / "ops").glob("*.hpp")):
        namespace = ""
        for line in header.read_text().splitlines():
            if found := re.match(r"namespace meshwise(?:::(\w+))? \{", line):
                namespace = f"{found[1]}::" if found[1] else ""
            if found := re.match(r"(?:std::vector<Array>|[A-Z]\w+|Array) (\w+)\(", line):
                if found[1] not in NOT_OPERATIONS:
                    yield namespace + found[1], header.name


def main():
    made = subprocess.run([sys.argv[1], "operations"], capture_output=True, text=True, check=True).stdout
    if "--write" in sys.argv:
        document.write_text(made)
    status = 0
    rows = set(re.findall(r"^\| `([\w:]+)` ", made, re.M))
    for name, header in functions():
        if name not in rows:
            print(f"{name} ({header}) has no row: add it in src/tools/operation_rows.cpp")
            status = 1
    if document.read_text() != made:
        print("docs/operations.md is out of date: scripts/check_operations.py build/bin/meshwise --write")
        sys.stdout.writelines(difflib.unified_diff(document.read_text().splitlines(True), made.splitlines(True), "docs/operations.md", "meshwise operations"))
        status = 1
    return status


sys.exit(main())
