"""What the drivers of the fault tests share: folders, jobs with a time limit, and what they print."""

import os
import random
import shutil
import subprocess
import sys
import tempfile
import time

SOURCE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
LAUNCHER = os.path.join(SOURCE, "scripts", "run_mpirun.sh")
LIMIT = 30 * int(os.environ.get("MESHWISE_TIME_FACTOR", "1"))  # seconds; a job that takes longer hangs


def skip(words):
    print(f"meshwise: skipped: {words}")
    sys.exit(0)


def fail(words):
    sys.exit(f"WRONG: {words}")


class Folder:
    """A folder of this test's own, gone at the end."""

    def __init__(self, where=None):
        self.path = tempfile.mkdtemp(prefix="meshwise-faults.", dir=where)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        shutil.rmtree(self.path, ignore_errors=True)

    def __truediv__(self, name):
        return os.path.join(self.path, name)


def in_memory():
    return "/dev/shm" if os.path.isdir("/dev/shm") else None


class Job:
    """Processes under the launcher, or one without it (ranks 0), with `environment` beside what every test has."""

    def __init__(self, ranks, *words, devices=4, **environment):
        self.words = [LAUNCHER, *(["--one", str(devices)] if ranks == 0 else ["-n", str(ranks)]), *words]
        self.environment = environment
        self.output = tempfile.TemporaryFile("w+")
        self.process = subprocess.Popen(self.words, env={**os.environ, "MESHWISE_NO_BUILD": "1", **environment}, stdin=subprocess.DEVNULL,
                                        stdout=self.output, stderr=subprocess.STDOUT)

    def wait(self, limit=LIMIT):
        """The exit code. A hang is the test's end: nothing of it stays."""
        try:
            return self.process.wait(limit)
        except subprocess.TimeoutExpired:
            self.process.terminate()  # the launcher ends its ranks
            try:
                self.process.wait(20)
            except subprocess.TimeoutExpired:
                self.process.kill()
            fail(f"still there after {limit} s: {self}\n{self.text()}")

    def text(self):
        self.output.seek(0)
        return self.output.read()

    def __str__(self):
        return " ".join([*(f"{k}={v}" for k, v in self.environment.items()), *self.words])


def run(ranks, *words, code=0, **more):
    """A job that must end with that code (None: with any other than 0); what it printed."""
    job = Job(ranks, *words, **more)
    got = job.wait()
    if (got == 0) if code is None else (got != code):
        fail(f"ended with {got}, not {'an error' if code is None else code}: {job}\n{job.text()}")
    return job.text()


def acknowledged(path):
    """The newest step of a saver's notes; -1: none. A line may be half written."""
    try:
        with open(path) as notes:
            return max((int(line) for line in notes if line.endswith("\n")), default=-1)
    except FileNotFoundError:
        return -1


def kill(pid, program, signal):
    """Sends a signal, if the number is still a process of that program."""
    try:
        if os.readlink(f"/proc/{pid}/exe") == os.path.realpath(program):
            os.kill(pid, signal)
            return True
    except (FileNotFoundError, ProcessLookupError):
        pass
    return False


def seeded():
    seed = int(os.environ.get("MESHWISE_TEST_SEED", "1"))
    return random.Random(seed)


def wait_for(what, limit=LIMIT):
    """Until `what()` is true; false when the time is over."""
    end = time.monotonic() + limit
    while time.monotonic() < end:
        if what():
            return True
        time.sleep(0.01)
    return False
