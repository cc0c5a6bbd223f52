"""Kills of cg2d run, sweep, tune and pingpong at random times: nothing is left but whole results and the sweep's own file, which
every sweep goes on from.

    python3 tests/program/kill_test.py --count 300 --seed 7
"""

import argparse
import json
import os
import pathlib
import random
import signal
import subprocess
import sys
import tempfile
import time

from program_runner import PROGRAM, SUCCESS, factorizations, kill_all, launch_words, program_processes, run_program, start

COMMANDS = {
    "run": ("run", "--class", "S", "--repeat", "40", "--format", "json", "--output", "run.json", "--trace", "trace.json"),
    "sweep": ("sweep", "--class", "S", "--repeat", "4", "--output", "sweep.jsonl"),
    "tune": ("tune", "--class", "S", "--profile", "profile.json"),
    "pingpong": ("pingpong", "--class", "S", "--format", "json", "--output", "pingpong.json"),
}
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGKILL)
# A launcher that is killed cannot end its ranks: they notice when they talk to it.
ENDING_S = 60.0


class Complaint(Exception):
    """What is wrong after a kill."""


def wait_for_ends(folder):
    """Until no process works in the folder."""
    deadline = time.monotonic() + ENDING_S
    while time.monotonic() < deadline:
        ranks = [rank for rank in program_processes(1) if is_in(folder, rank)]
        if not ranks:
            return
        time.sleep(0.05)
    for rank in ranks:
        os.kill(rank, signal.SIGKILL)
    raise Complaint(f"{len(ranks)} ranks go on")


def is_in(folder, process_id):
    try:
        return os.path.samefile(f"/proc/{process_id}/cwd", folder)
    except OSError:
        return False


def kill_once(draw, words, rank_count, folder):
    """Starts the command and kills some of its processes; returns what was done."""
    process = start([*launch_words(rank_count), PROGRAM, *words], cwd=folder, stdout=subprocess.DEVNULL)
    delay_s = draw.uniform(0.0, draw.choice((0.1, 0.5, 2.0, 4.0)))
    time.sleep(delay_s)
    number = draw.choice(SIGNALS)
    ranks = program_processes(process.pid) if rank_count else []
    while rank_count and not ranks and process.poll() is None:
        # MPICH's mpiexec itself may hang when it is killed while it starts its ranks.
        time.sleep(0.005)
        ranks = program_processes(process.pid)
    targets = draw.choice(([process.pid], ranks, ranks[:1], ranks[-1:])) or [process.pid]
    for target in targets:
        try:
            os.kill(target, number)
        except ProcessLookupError:
            pass
    whom = "the launcher" if rank_count and targets == [process.pid] else f"{len(targets)} of {max(1, rank_count)} ranks"
    what = f"{signal.Signals(number).name} to {whom} after {delay_s:.2f} s"
    try:
        process.communicate(timeout=ENDING_S)
    except subprocess.TimeoutExpired:
        kill_all(process)
        raise Complaint(f"hangs after {what}") from None
    return what


def check_files(folder):
    for path in folder.iterdir():
        if path.name not in {word for words in COMMANDS.values() for word in words}:
            raise Complaint(f"leaves {path.name}")
        if path.suffix == ".json":
            try:
                json.loads(path.read_text())
            except ValueError:
                raise Complaint(f"leaves a part of {path.name}") from None


def check_sweep_goes_on(rank_count, folder):
    """To its end, with every run once; one that other load disturbed has several attempts."""
    outcome = run_program(rank_count, *COMMANDS["sweep"], cwd=folder)
    if outcome.exit_code != SUCCESS:
        raise Complaint(f"the sweep does not go on: {outcome}")
    lines = [json.loads(line) for line in (folder / "sweep.jsonl").read_text().splitlines()]
    places = [(line["configuration"]["grid"]["name"], line["sweep"]) for line in lines]
    attempts = [(grid, place["round"], place.get("attempt", 1)) for grid, place in places]
    if len(set(attempts)) < len(attempts):
        raise Complaint(f"the sweep has attempts twice: {sorted(attempts)}")
    found = sorted({(grid, number) for grid, number, _ in attempts})
    grids = [f"{columns}x{rows}" for columns, rows in factorizations(max(1, rank_count))]
    if found != sorted((grid, number) for grid in grids for number in range(1, 5)):
        raise Complaint(f"the sweep has {found}")


def complaint_of(seed, number):
    draw = random.Random(f"{seed} {number}")
    command = list(COMMANDS)[number % len(COMMANDS)]
    rank_count = draw.choice((2, 3) if command == "pingpong" else (0, 2, 3))
    what = "not killed"
    with tempfile.TemporaryDirectory(prefix="cg2d-kill-") as name:
        folder = pathlib.Path(name)
        try:
            what = kill_once(draw, COMMANDS[command], rank_count, folder)
            wait_for_ends(folder)
            check_files(folder)
            if command == "sweep":
                check_sweep_goes_on(rank_count, folder)
        except (Complaint, AssertionError) as complaint:
            return f"{number}: {command} on {rank_count} ranks, {what}: {complaint}"
    return ""


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--count", type=int, default=12)
    parser.add_argument("--seed", default="1")
    parser.add_argument("--only", type=int, help="the number of one kill")
    options = parser.parse_args()
    numbers = range(options.count) if options.only is None else [options.only]
    found = []
    for number in numbers:
        if text := complaint_of(options.seed, number):
            found.append(text)
            print(text, flush=True)
        if number % 20 == 19:
            print(f"{number + 1} kills", flush=True)
    print(f"{len(numbers)} kills, {len(found)} with a complaint")
    return 1 if found or not numbers else 0


if __name__ == "__main__":
    sys.exit(main())
