#!/usr/bin/env python3
"""power_cuts.py SAVER LOADER COUNT: the disk as it would be after a power cut, COUNT times while a job saves into it.

The newest step that was acknowledged, or a newer one, is there and right. And the same of a job whose fsync does nothing, which must lose steps, or this
test would see nothing.

The disk is an ext4 image on btrfs: a snapshot of the image has what had left the page cache, mounting it is the start after the cut. What a disk's own cache
might put in another order is not seen."""

import os
import shutil
import subprocess
import sys
import time

import jobs
import mounts


class Disk:
    def __init__(self, folder, held):
        self.folder, self.held = folder, held
        self.btrfs, self.disk, self.after = folder / "btrfs", folder / "disk", folder / "after"
        self.cuts = 0

    def make(self):
        """Words of why not."""
        why = self.held.image(self.folder / "btrfs.img", "btrfs", 4 << 30, self.btrfs)
        if why:
            return why
        subprocess.run(["btrfs", "subvolume", "create", self.btrfs + "/now"], check=True, capture_output=True)
        return self.held.image(self.btrfs + "/now/ext4.img", "ext4", 96 << 20, self.disk)

    def cut(self, look):
        """What `look` says of the folder that has the disk's content after a cut now."""
        snapshot = f"{self.btrfs}/cut{self.cuts}"
        self.cuts += 1
        subprocess.run(["btrfs", "subvolume", "snapshot", self.btrfs + "/now", snapshot], check=True, capture_output=True)
        with mounts.Mounts() as mine:
            if not mine.mount(self.after, "-o", "loop", snapshot + "/ext4.img"):
                return f"the disk cannot be mounted: {mine.why}"
            words = look(self.after)
        subprocess.run(["btrfs", "subvolume", "delete", snapshot], check=True, capture_output=True)
        return words


def cut_again_and_again(disk, saver, loader, name, count, random, **environment):
    """How many of the cuts lost something, until one does if any is enough; words of the last one."""
    root, notes = f"{disk.disk}/{name}", disk.folder / f"notes.{name}"
    job = jobs.Job(2, saver, root, "3", "mixed", "1000000", notes, **environment)
    lost, words, newest = 0, "", -1
    if not jobs.wait_for(lambda: jobs.acknowledged(notes) >= 3 or job.process.poll() is not None) or job.process.poll() is not None:
        jobs.fail(f"it does not save: {job}\n{job.text()}")

    def look(after):
        check = jobs.Job(0, loader, f"{after}/{name}", str(random.randrange(1000)), str(acked), devices=random.choice([1, 3, 4]))
        return "" if check.wait() == 0 else check.text()

    for _ in range(count):
        time.sleep(random.random() * 0.4)
        acked = jobs.acknowledged(notes)
        if acked == newest and environment == {}:
            jobs.wait_for(lambda: jobs.acknowledged(notes) > newest or job.process.poll() is not None)
        if job.process.poll() is not None:
            jobs.fail(f"the saver ended: {job.text()}")
        newest = acked = jobs.acknowledged(notes)
        found = disk.cut(look)
        if found:
            lost, words = lost + 1, f"step {acked} was acknowledged\n{found}"
    job.process.terminate()
    job.process.wait(30)
    return lost, words, newest + 1


def main():
    saver, loader, count = sys.argv[1], sys.argv[2], int(sys.argv[3])
    why = mounts.enter() or (None if shutil.which("btrfs") else "there is no btrfs (package btrfs-progs)")
    if why:
        jobs.skip(why)
    random = jobs.seeded()
    where = jobs.in_memory()
    if where and shutil.disk_usage(where).free < 8 << 30:
        where = None
    with jobs.Folder(where) as folder, mounts.Mounts() as held:
        disk = Disk(folder, held)
        why = disk.make()
        if why:
            jobs.skip(why)
        lost, words, steps = cut_again_and_again(disk, saver, loader, "run", count, random)
        if lost:
            jobs.fail(f"{lost} of {count} power cuts lost what was on disk; the last one: {words}")
        print(f"{count} power cuts during {steps} saves: nothing lost")
        tries = max(2, count // 10)
        lost, _, _ = cut_again_and_again(disk, saver, loader, "without", tries, random,
                                         MESHWISE_TEST_FOLDER=disk.disk + "/without", MESHWISE_TEST_FAIL="fsync:*:ignore")
        if lost == 0:
            jobs.fail(f"without fsync {tries} power cuts lost nothing either: this test sees nothing")
        print(f"without fsync {lost} of {tries} power cuts lost steps")


main()
