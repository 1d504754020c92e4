#!/usr/bin/env python3
"""places.py PLACES_TEST: its tests that need file systems of their own: small ones to fill up, one that is read-only."""

import sys

import jobs
import mounts


def main():
    why = mounts.enter()
    if why:
        jobs.skip(why)
    with jobs.Folder() as folder, mounts.Mounts() as held:
        small = []
        if held.mount(folder / "tmpfs", "-t", "tmpfs", "-o", "size=1m", "meshwise"):
            small.append(folder / "tmpfs")
        why = held.image(folder / "ext4.img", "ext4", 8 << 20, folder / "ext4")
        if why:
            print(f"not on ext4: {why}")
        else:
            small.append(folder / "ext4")
        if not small:
            jobs.skip("no file system can be mounted")
        print(jobs.run(2, sys.argv[1], "--gtest_filter=*ReadOnly"))
        for place in small:
            print(place, jobs.run(2, sys.argv[1], "--gtest_filter=*FullDisk", MESHWISE_TEST_SMALL_DISK=place))


main()
