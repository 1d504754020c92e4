#!/usr/bin/env python3
"""kills.py SAVER LOADER COUNT: jobs that save in a loop die by SIGKILL, COUNT times; the next job finds every acknowledged step, and nothing left over.

Half of the deaths are a rank's before one of its calls that change the folder, in turn; half are at any time, one rank's or all ranks'. Jobs have one to
four ranks and save now, in the background, by turns, or each step twice. Each job looks at what the one before left, on meshes of its own."""

import collections
import os
import signal
import sys
import time

import jobs

SHAPES = [0, 0, 2, 2, 3, 4]  # ranks; 0: one process without mpirun
MODES = ["sync", "async", "mixed", "overwrite"]


# Which calls a rank makes for a few steps: the rare ones are the decisive ones.
CALLS = {"any": 160, "open": 30, "write": 40, "fsync": 20, "rename": 12, "mkdir": 6, "fallocate": 12}


def main():
    saver, loader, count = sys.argv[1], sys.argv[2], int(sys.argv[3])
    random = jobs.seeded()
    deaths, amid = collections.Counter(), 0
    with jobs.Folder(jobs.in_memory()) as memory, jobs.Folder() as disk:
        pids = memory / "pids"
        for trial in range(count):
            # Mostly in memory, where a job gets far; on a disk a save spends its time elsewhere.
            folder = (disk if trial % 4 == 3 else memory) / "run"
            notes = memory / f"notes.{trial % 4 == 3}"
            os.makedirs(pids, exist_ok=True)
            for name in os.listdir(pids):
                os.unlink(os.path.join(pids, name))
            ranks, mode = random.choice(SHAPES), random.choice(MODES)
            environment = {"MESHWISE_TEST_PIDS": pids}
            timed = trial % 2 == 0
            if not timed:
                call = random.choice(list(CALLS))
                rank = 0 if call in ("rename", "mkdir") else random.randrange(max(ranks, 1))
                environment |= {"MESHWISE_TEST_FOLDER": folder, "MESHWISE_TEST_FAIL": f"{call}:{random.randrange(CALLS[call])}:kill:{rank}"}
            job = jobs.Job(ranks, saver, folder, str(trial), mode, "1000000" if timed else "40", notes, **environment)
            if timed:
                before = jobs.acknowledged(notes)
                # It saves, or the job before never came so far.
                jobs.wait_for(lambda: jobs.acknowledged(notes) > before or job.process.poll() is not None, 10)
                time.sleep(random.random() ** 2 * 0.3)
                victims = [int(name) for name in os.listdir(pids)]
                if not victims:
                    jobs.fail(f"there are no ranks: {job}\n{job.text()}")
                everyone = random.random() < 0.4
                victims = victims if everyone else [random.choice(victims)]
                dead = [pid for pid in victims if jobs.kill(pid, saver, signal.SIGKILL)]
                how = "all ranks at any time" if everyone else "one rank at any time"
                if not dead:
                    how = "was over"
            else:
                how = "one rank before a call"
            code = job.wait()
            text = job.text()
            if "WRONG" in text or code in (1, 2, 3) or (code == 0 and timed):
                jobs.fail(f"after {sum(deaths.values())} deaths, code {code}: {job}\n{text}")
            amid += any(".tmp-" in name or ".deleting-" in name for name in (os.listdir(folder) if os.path.exists(folder) else ()))
            deaths[how if code else "lived"] += 1
        for where, name in ((memory, False), (disk, True)):
            if os.path.exists(where / "run"):
                notes = memory / f"notes.{name}"
                jobs.run(2, loader, where / "run", "77", str(jobs.acknowledged(notes)))
                print(f"steps acknowledged: {jobs.acknowledged(notes) + 1}")
    print(f"{count} jobs: {dict(deaths)}; {amid} left an unfinished folder, which the next one swept")
    if deaths["lived"] > count // 2:
        jobs.fail("most jobs were not killed")
    if count >= 8 and amid == 0:
        jobs.fail("no job was killed amid a save")


main()
