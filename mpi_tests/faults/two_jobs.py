#!/usr/bin/env python3
"""two_jobs.py SAVER LOADER: a job that saves into the folder of another that does gets an error that says so, soon, and the other is not disturbed."""

import re
import sys
import time

import jobs


def main():
    saver, loader = sys.argv[1:]
    with jobs.Folder(jobs.in_memory()) as folder:
        root, notes = folder / "run", folder / "notes"
        first = jobs.Job(2, saver, root, "1", "mixed", "1000000", notes)
        if not jobs.wait_for(lambda: jobs.acknowledged(notes) >= 2 or first.process.poll() is not None):
            jobs.fail(f"it does not save: {first}\n{first.text()}")
        for ranks in (2, 0):
            start = time.monotonic()
            # Any step that is not there: what it finds before it saves is what the first one has done by then.
            text = jobs.run(ranks, saver, root, "2", "blind", "1", folder / f"others.{ranks}", code=3)
            if not re.search(r"process \d+ on \S+ is saving into '.*'; give each job a folder of its own", text):
                jobs.fail(f"other words: {text}")
            print(f"{time.monotonic() - start:.1f} s: {text.strip()}")
        before = jobs.acknowledged(notes)
        if not jobs.wait_for(lambda: jobs.acknowledged(notes) > before + 2) or first.process.poll() is not None:
            jobs.fail(f"the first one stopped: {first.text()}")
        first.process.terminate()
        first.wait()
        # Its end freed the folder.
        jobs.run(2, loader, root, "3", str(before))
        jobs.run(2, saver, root, "2", "sync", "2", notes)


main()
