#!/usr/bin/env python3
"""Two jobs, ours and a peer's, one after the other in every round, so that a ratio is of the same minute; prints a row.

Each prints `@ ready [rows columns]`, then `@ SECONDS [SECONDS of the floor]` for every line `go`; while one works the other sleeps.
The floor is the least that the task can take: the roofline of a copy, or what --floor names, which gets a row of its own; a job may
have none.

  rounds.py --bench NAME --peer NAME --goal G [--within] --ranks N [--case TEXT --bytes B] [--floor NAME] OURS... -- PEER...

A bar holds at a ratio (the peer's seconds / ours) of at least G, or where ours reaches 0.90 of the roofline (of a floor with a
name it does not) in that run; with --within at a ratio from 1/G to G. The row says in its case that the jobs are two.
"""
import argparse
import json
import statistics
import subprocess
import sys

NEAR_ROOFLINE = 0.90


class Job:
    def __init__(self, command):
        self.command = command
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def answer(self):
        for line in self.process.stdout:
            if line.startswith("@ "):
                return line.split()[1:]
        self.process.wait()
        raise SystemExit(f"rounds.py: {' '.join(self.command)} ended with exit code {self.process.returncode}")

    def round(self):
        self.process.stdin.write("go\n")
        self.process.stdin.flush()
        return [float(word) for word in self.answer()]

    def end(self):
        if self.process.poll() is None:
            try:
                self.process.stdin.write("end\n")
                self.process.stdin.close()
                self.process.wait(timeout=30)
            except (BrokenPipeError, subprocess.TimeoutExpired):
                self.process.terminate()
                self.process.wait()


def significant(value):
    return float(f"{value:.4g}")


def main():
    words = sys.argv[1:]
    if "--" not in words:
        sys.exit(__doc__)
    peer_command = words[words.index("--") + 1:]
    parser = argparse.ArgumentParser(usage=__doc__)
    for name in ("bench", "peer"):
        parser.add_argument(f"--{name}", required=True)
    parser.add_argument("--goal", type=float, required=True)
    parser.add_argument("--within", action="store_true")
    parser.add_argument("--ranks", type=int, required=True)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--case")
    parser.add_argument("--bytes", type=int)
    parser.add_argument("--floor")
    parser.add_argument("ours", nargs=argparse.REMAINDER)
    arguments = parser.parse_args(words[:words.index("--")])

    jobs = []
    try:
        for command in (arguments.ours, peer_command):  # one at a time: they fill their buffers
            jobs.append(Job(command))
            facts = jobs[-1].answer()
            if len(jobs) == 1 and not arguments.case:
                rows, columns = int(facts[1]), int(facts[2])
                arguments.case, arguments.bytes = f"{rows} x {columns} float64, rows to columns", rows * columns * 8
        times = []
        for number in range(arguments.rounds + 1):
            ours, theirs = jobs[0].round(), jobs[1].round()
            if number > 0:  # the first is for warming up
                times.append((ours[0], ours[1] if len(ours) > 1 else None, theirs[0]))
    finally:
        for job in jobs:
            job.end()

    def row(peer, column, holds, goal):
        ratio = statistics.median(t[column] / t[0] for t in times)
        print(json.dumps({
            "bench": arguments.bench, "case": f"{arguments.case}, two jobs in turns", "ranks": arguments.ranks, "bytes": arguments.bytes,
            "peer": peer, "ours_s": significant(statistics.median(t[0] for t in times)),
            "peer_s": significant(statistics.median(t[column] for t in times)), "ratio": float(f"{ratio:.3g}"), "goal": goal,
            "holds": holds and bool(holds(ratio))}), flush=True)

    goal = arguments.goal
    near = not arguments.floor and times[0][1] and statistics.median(floor / ours for ours, floor, _ in times) >= NEAR_ROOFLINE
    row(arguments.peer, 2, lambda ratio: 1 / goal <= ratio <= goal if arguments.within else ratio >= goal or near, goal)
    if arguments.floor:
        row(arguments.floor, 1, None, None)


if __name__ == "__main__":
    main()
