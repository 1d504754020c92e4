"""File systems of a test's own, in a namespace that takes them away however the test ends."""

import os
import shutil
import subprocess
import sys

import jobs


def enter():
    """Starts this script anew in a mount namespace of its own, unless that is where it runs; words of why not, if the machine allows none."""
    if os.environ.get("MESHWISE_TEST_MOUNTS"):
        return None
    if os.geteuid() != 0:
        return "mounting is for root"
    command = ["unshare", "--mount", "--propagation", "private", "--"]
    if not shutil.which("unshare") or subprocess.run([*command, "true"], capture_output=True).returncode:
        return "no mount namespace is allowed here"
    os.environ["MESHWISE_TEST_MOUNTS"] = "1"
    os.execvp(command[0], [*command, sys.executable, *sys.argv])


class Mounts:
    """Mounts, undone in reverse order."""

    def __init__(self):
        self.places = []

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for place in reversed(self.places):
            unmount(place)

    def mount(self, place, *words):
        """False where that is not allowed."""
        os.makedirs(place, exist_ok=True)
        done = subprocess.run(["mount", *words, place], capture_output=True, text=True)
        if done.returncode == 0:
            self.places.append(place)
        else:
            self.why = done.stderr.strip()
        return done.returncode == 0

    def image(self, file, kind, size, place):
        """A file system in a file; words of why not."""
        make = shutil.which(f"mkfs.{kind}") or shutil.which(f"mkfs.{kind}", path="/usr/sbin:/sbin")
        if not make:
            return f"there is no mkfs.{kind}"
        with open(file, "wb") as image:
            image.truncate(size)
        made = subprocess.run([make, "-q", file], capture_output=True, text=True)
        if made.returncode:
            return f"mkfs.{kind}: {made.stderr.strip()}"
        return None if self.mount(place, "-o", "loop", "-t", kind, file) else f"no {kind} file system can be mounted by loop device: {self.why}"


def unmount(place):
    """A process that just ended may hold it for a moment yet."""
    jobs.wait_for(lambda: subprocess.run(["umount", place], capture_output=True).returncode == 0, 5)
