#!/usr/bin/env python3
"""order.py SAVER [all]: what strace sees of saves, on all ranks together, by the clock.

Every file that is opened to be written is brought to disk, and so is every folder in which something was made, before the rename that makes the step; the
folder of the run after it. A job in which one fsync is not made shows that it would be seen; `all`: each of them in turn."""

import collections
import os
import re
import shutil
import subprocess
import sys

import jobs

CALLS = "openat,open,creat,close,write,pwrite64,pwritev,ftruncate,fallocate,fsync,fdatasync,rename,renameat,renameat2,mkdir,mkdirat,mmap"
LINE = re.compile(r"^(\d+\.\d+) (\w+)\((.*)\) += (-?\d+).*<(\d+\.\d+)>$")
Call = collections.namedtuple("Call", "start end name text path to")


def calls_of(file):
    """The successful calls in a thread's trace."""
    with open(file, errors="replace") as lines:
        for line in lines:
            line = line.rstrip("\n")
            found = LINE.match(line)
            if not found or int(found[4]) < 0:
                continue
            start, name, text, took = float(found[1]), found[2], found[3], float(found[5])
            quoted = re.findall(r'"([^"]*)"', text)
            described = re.match(r"\d+<([^>]*)>", text)  # -y: the path behind the descriptor
            path = described[1] if described else (quoted[0] if quoted else "")
            yield Call(start, start + took, name, text, path, quoted[1] if len(quoted) > 1 else "")


def check(calls, root, steps):
    """What is wrong with the calls of one job, in the order of their clock; empty: nothing."""
    commits = [c for c in calls if c.name.startswith("rename") and re.fullmatch(re.escape(root) + r"/step_\d+", c.to) and ".tmp-" in c.path]
    if len(commits) != steps:
        return f"{len(commits)} renames made steps, not {steps}"
    parent = os.path.dirname(root)
    made = [c for c in calls if c.name.startswith("mkdir") and c.path == root]
    if not any(c.name == "fsync" and c.path == parent and made[0].end <= c.start < commits[0].start for c in calls):
        return f"{parent} was not brought to disk after {root} was made in it"
    for commit in commits:
        inside = lambda path: path == commit.path or path.startswith(commit.path + "/")
        mine = [c for c in calls if inside(c.path) and c.name[:6] != "rename"]
        written = {c.path for c in mine if c.name in ("open", "openat", "creat") and re.search(r"O_WRONLY|O_RDWR|creat", c.text + c.name)}
        if not {os.path.basename(p) for p in written} >= {"COMMIT", "index.h5", "00000.h5"}:
            return f"{commit.path}: only these were opened to be written: {sorted(written)}"
        synced = {}
        for c in mine:
            if c.name in ("fsync", "fdatasync"):
                synced[c.path] = c
        for path in written:
            last = max(c.end for c in mine if c.path == path and c.name in ("write", "pwrite64", "pwritev", "ftruncate", "fallocate", "open", "openat"))
            if path not in synced or synced[path].start < last:
                return f"{path} was not brought to disk after the last write"
        for folder in {os.path.dirname(path) for path in written}:
            last = max(c.end for c in mine if c.path in written and os.path.dirname(c.path) == folder and "O_CREAT" in c.text)
            if folder not in synced or synced[folder].start < last:
                return f"the folder {folder} was not brought to disk after the last file was made in it"
        record = synced[commit.path + "/COMMIT"]
        made = min(c.start for c in mine if c.path == commit.path + "/COMMIT")
        for path, c in synced.items():
            if path not in (commit.path, commit.path + "/COMMIT") and c.end > made:
                return f"COMMIT was made before {path} was on disk"
        late = [c for c in mine if c.start < commit.end and c.end > commit.start or c.start > commit.start and c.name not in ("close",)]
        if late or max(c.end for c in synced.values()) > commit.start or record.end > commit.start:
            return f"{commit.path} was renamed before all was done: {late}"
        after = [c for c in calls if c.name in ("fsync", "fdatasync") and c.path == root and c.start >= commit.end]
        following = [c for c in commits if c.start > commit.start]
        if not after or (following and after[0].start > following[0].start):
            return f"{root} was not brought to disk after {commit.to} was there"
    return ""


def trace(strace, saver, mode, steps, **failing):
    """What is wrong with a job's calls."""
    with jobs.Folder() as folder:
        root = os.path.realpath(folder.path) + "/run"
        environment = {"MESHWISE_TEST_FOLDER": root, **failing} if failing else {}
        options = ["-ff", "-y", "-ttt", "-T", "-s", "300", "-e", f"trace={CALLS}", "-o", folder / "trace"]
        jobs.run(2, strace, *options, saver, root, "5", mode, str(steps), folder / "notes", **environment)
        calls = []
        for name in os.listdir(folder.path):
            if name.startswith("trace."):
                calls += calls_of(folder / name)
        calls = sorted(c for c in calls if c.path.startswith(os.path.dirname(root)) or c.to.startswith(root))
        words = check(calls, root, steps)
        print(f"{mode} {failing or ''}: {len(calls)} calls of {steps} saves: {words or 'in order'}")
        return words


def main():
    saver, strace = os.path.realpath(sys.argv[1]), shutil.which("strace")
    if not strace:
        jobs.skip("strace is not installed")
    # A sanitizer cannot look for leaks in a program that is traced.
    os.environ["ASAN_OPTIONS"] = os.environ.get("ASAN_OPTIONS", "") + ":detect_leaks=0"
    if subprocess.run([strace, "-qq", "-e", "trace=none", "true"], capture_output=True).returncode:
        jobs.skip("strace is not allowed here")
    for mode in ("sync", "async"):
        words = trace(strace, saver, mode, 2)
        if words:
            jobs.fail(f"{mode}: {words}")
    # Without any one fsync of the first save on rank 0 it must be seen.
    for number in range(6) if len(sys.argv) > 2 else [3]:
        if not trace(strace, saver, "sync", 1, MESHWISE_TEST_FAIL=f"fsync:{number}:ignore:0"):
            jobs.fail(f"fsync {number} was not made, and this test did not see it")


main()
