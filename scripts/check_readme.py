#!/usr/bin/env python3
"""The README's first program is examples/00_first.cpp, and what it is said to print is what that example's test wants."""

import pathlib
import re
import sys


def blocks(text):
    """(language, text) of every fenced block."""
    return re.findall(r"^```(\w*)\n(.*?)^```$", text, re.M | re.S)


def main():
    root = pathlib.Path(__file__).resolve().parent.parent
    found = blocks((root / "README.md").read_text())
    programs = [i for i, (language, _) in enumerate(found) if language == "cpp"]
    if not programs or programs[0] + 1 == len(found):
        print("README.md has no cpp block with a block of its output behind it")
        return 1
    program, printed = found[programs[0]][1], found[programs[0] + 1][1]
    # The example's own heading is comment lines and a blank one.
    example = re.sub(r"\A(//[^\n]*\n)+\n", "", (root / "examples/00_first.cpp").read_text())
    bad = []
    if program != example:
        bad.append("README.md: the first program is not examples/00_first.cpp's")
    if printed != (root / "examples/00_first.np4.out").read_text():
        bad.append("README.md: what the first program prints is not examples/00_first.np4.out")
    print("\n".join(bad) or "the README's first program and what it prints are the example's")
    return bool(bad)


if __name__ == "__main__":
    sys.exit(main())
