#!/usr/bin/env python3
"""check_resume.py LAUNCHER DIGITS MESHWISE: training that is interrupted goes on as if it had not been.

On the same layout bit for bit, on another number of ranks to within what float32 sums in another order differ by; a signal makes it save and end."""

import json
import signal
import subprocess
import sys
import tempfile
import time

launcher, digits, meshwise = sys.argv[1:4]


def train(folder, run, ranks, *options):
    command = [launcher, "-n", str(ranks), digits, "--save", run, *options]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=200)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def curve(text):
    """Step and the two losses of each line of the table."""
    rows = [line.split() for line in text.splitlines()]
    return {row[0]: (row[1], row[3]) for row in rows if len(row) == 5 and row[0].isdigit()}


def difference(folder, a, b):
    done = subprocess.run([meshwise, "checkpoint", "diff", f"{a}/step_00000100", f"{b}/step_00000100", "--json"], cwd=folder, capture_output=True, text=True, timeout=60)
    assert done.returncode in (0, 1), done.stderr
    return done.returncode, json.loads(done.stdout)


with tempfile.TemporaryDirectory() as folder:
    whole = curve(train(folder, "whole", 4))
    train(folder, "parts", 4, "--steps", "40")
    again = train(folder, "parts", 4)
    assert "going on from step 40" in again, again
    assert curve(again) == {step: losses for step, losses in whole.items() if int(step) >= 40}, again
    code, found = difference(folder, "whole", "parts")
    assert code == 0, found

    train(folder, "other", 4, "--steps", "40")
    for step, losses in curve(train(folder, "other", 3)).items():
        assert all(abs(float(a) - float(b)) <= 1e-3 * float(b) for a, b in zip(losses, whole[step])), (step, losses, whole[step])
    code, found = difference(folder, "whole", "other")
    worst = max(array.get("max_abs", 0) for array in found["arrays"])
    assert worst < 1e-4, found

    job = subprocess.Popen([launcher, "-n", "2", digits, "--save", "signalled", "--steps", "1000000", "--every", "0"], cwd=folder, stdout=subprocess.PIPE, text=True)
    for line in job.stdout:
        if line.split()[:1] == ["10"]:
            break
    job.send_signal(signal.SIGUSR1)  # mpirun hands it to the ranks
    for _ in range(200):
        steps = subprocess.run([meshwise, "checkpoint", "ls", "signalled", "--json"], cwd=folder, capture_output=True, text=True, timeout=60)
        if steps.returncode == 0 and json.loads(steps.stdout)["steps"]:
            break
        time.sleep(0.05)
    else:
        raise AssertionError("no step after SIGUSR1")
    job.stdout.close()
    job.terminate()
    job.wait(timeout=60)
print("training went on from where it stopped")
