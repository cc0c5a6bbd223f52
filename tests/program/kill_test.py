"""Kills of cg2d run, sweep, scaling, tune, batch and pingpong at random times: nothing is left but whole results and the own files of
sweeps, scalings and batches, which go on from them.

    python3 tests/program/kill_test.py --count 300 --seed 7
"""

import argparse
import contextlib
import dataclasses
import json
import os
import pathlib
import random
import signal
import subprocess
import sys
import tempfile
import time

from program_runner import PROGRAM, SUCCESS, comes_true, factorizations, kill_all, launch_words, program_processes, run_program, send_to_all, start

COMMANDS = {
    "run": ("run", "--class", "S", "--repeat", "40", "--format", "json", "--output", "run.json", "--trace", "trace.json"),
    "sweep": ("sweep", "--class", "S", "--repeat", "4", "--output", "sweep.jsonl"),
    "scaling": ("scaling", "--class", "S", "--repeat", "4", "--runs", "scaling.jsonl", "--format", "json", "--output", "scaling.json"),
    "tune": ("tune", "--class", "S", "--profile", "profile.json"),
    "batch": ("batch", "tasks.txt", "--output", "batch.jsonl"),
    "pingpong": ("pingpong", "--class", "S", "--format", "json", "--output", "pingpong.json"),
}
TASKS = [f"name={number} run --class S --no-profile --repeat {2 + 7 * number % 40}" for number in range(12)]
UNDER_WAY = "batch.jsonl.under-way"
# A launcher that is killed cannot end its ranks: they notice when they talk to it.
ENDING_S = 60.0


class Complaint(Exception):
    """What is wrong after a kill."""


@dataclasses.dataclass(frozen=True)
class Kill:
    """What was done to a program, and what it said before."""

    signal_name: str
    whom: str
    delay_s: float
    stderr: str
    has_hit: bool  # a program that had not ended

    def __str__(self):
        return f"{self.signal_name} to {self.whom} after {self.delay_s:.2f} s"


def wait_for_ends(folder):
    """Until no process works in the folder: no rank, and nothing of a launcher."""
    deadline = time.monotonic() + ENDING_S
    while time.monotonic() < deadline:
        left = [int(path.name) for path in pathlib.Path("/proc").glob("[0-9]*") if is_in(folder, path.name)]
        if not left:
            return
        time.sleep(0.05)
    for process_id in left:
        os.kill(process_id, signal.SIGKILL)
    raise Complaint(f"{len(left)} processes go on")


def shared_memory():
    """Without the names of MPI's own layers and of LLVM's OpenMP library: they take them away themselves, and a kill may come before. UCX
    does it within MPI_Init, so that a rank that is killed in there may leave one."""
    return {name for name in os.listdir("/dev/shm") if not name.startswith(("__KMP_REGISTERED_LIB_", "mpich", "ucx_shm_posix_"))}


def check_shared_memory(before):
    """Nothing new stays in /dev/shm that nobody uses. (Other programs may work beside this one.)"""

    def left():
        return {name for name in shared_memory() - before if not is_mapped(f"/dev/shm/{name}")}

    comes_true(lambda: not left(), 5.0)
    if names := left():
        raise Complaint(f"leaves {sorted(names)} in /dev/shm")


def is_mapped(path):
    for maps in pathlib.Path("/proc").glob("[0-9]*/maps"):
        try:
            if path in maps.read_text():
                return True
        except OSError:  # the process ended meanwhile
            continue
    return False


def is_in(folder, process_id):
    try:
        return os.path.samefile(f"/proc/{process_id}/cwd", folder)
    except OSError:
        return False


def kill_once(draw, words, rank_count, folder, latest_s=4.0):
    """Starts the command and kills some of its processes."""
    process = start([*launch_words(rank_count), PROGRAM, *words], cwd=folder, stdout=subprocess.DEVNULL)
    delay_s = draw.uniform(0.0, draw.choice((0.1, 0.5, latest_s / 2, latest_s)))
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(timeout=delay_s)
    number = draw.choice((signal.SIGINT, signal.SIGTERM, signal.SIGKILL))
    ranks = program_processes(process.pid) if rank_count else []
    while rank_count and not ranks and process.poll() is None:
        # MPICH's mpiexec itself may hang when it is killed while it starts its ranks.
        time.sleep(0.005)
        ranks = program_processes(process.pid)
    targets = draw.choice(([process.pid], ranks, ranks[:1], ranks[-1:])) or [process.pid]
    has_hit = process.poll() is None
    send_to_all(targets if has_hit else (), number)
    whom = "the launcher" if rank_count and targets == [process.pid] else f"{len(targets)} of {max(1, rank_count)} ranks"
    kill = Kill(signal.Signals(number).name, whom, delay_s, "", has_hit)
    try:
        stderr = process.communicate(timeout=ENDING_S)[1]
    except subprocess.TimeoutExpired:
        kill_all(process)
        raise Complaint(f"hangs after {kill}") from None
    return dataclasses.replace(kill, stderr=stderr)


def check_files(folder):
    for path in folder.iterdir():
        if path.name not in {UNDER_WAY, *(word for words in COMMANDS.values() for word in words)}:
            raise Complaint(f"leaves {path.name}")
        if path.suffix == ".json":
            try:
                json.loads(path.read_text())
            except ValueError:
                raise Complaint(f"leaves a part of {path.name}") from None


def go_on(command, rank_count, folder):
    """To its end."""
    outcome = run_program(rank_count, *COMMANDS[command], cwd=folder)
    if outcome.exit_code != SUCCESS:
        raise Complaint(f"the {command} does not go on: {outcome}")


def check_sweep(rank_count, folder):
    """It goes on with every run once; one that other load disturbed has several attempts."""
    go_on("sweep", rank_count, folder)
    lines = [json.loads(line) for line in (folder / "sweep.jsonl").read_text().splitlines()]
    places = [(line["configuration"]["grid"]["name"], line["sweep"]) for line in lines]
    attempts = [(grid, place["round"], place.get("attempt", 1)) for grid, place in places]
    if len(set(attempts)) < len(attempts):
        raise Complaint(f"the sweep has attempts twice: {sorted(attempts)}")
    found = sorted({(grid, number) for grid, number, _ in attempts})
    grids = [f"{columns}x{rows}" for columns, rows in factorizations(max(1, rank_count))]
    if found != sorted((grid, number) for grid in grids for number in range(1, 5)):
        raise Complaint(f"the sweep has {found}")


def check_scaling(rank_count, folder):
    """It goes on with every run once, and with all those that were there."""
    file = folder / "scaling.jsonl"
    before = file.read_text().splitlines(keepends=True) if file.exists() else []
    go_on("scaling", rank_count, folder)
    whole = [line for line in before if line.endswith("\n")]
    after = file.read_text().splitlines(keepends=True)
    if after[: len(whole)] != whole:
        raise Complaint("the scaling makes runs again")
    ways = json.loads((folder / "scaling.json").read_text())["ways"]
    if any(sorted(run["round"] for run in way["rounds"]) != [1, 2, 3, 4] for way in ways) or len(after) != 4 * len(ways):
        raise Complaint(f"the scaling has {[way['rounds'] for way in ways]}")


def check_batch(rank_count, folder):
    """It goes on with every task once."""
    go_on("batch", rank_count, folder)
    names = [json.loads(line)["task"]["name"] for line in (folder / "batch.jsonl").read_text().splitlines()]
    if sorted(names) != sorted(str(number) for number in range(len(TASKS))):
        raise Complaint(f"the batch has the results {names}")
    if (folder / UNDER_WAY).exists():
        raise Complaint(f"the batch leaves {UNDER_WAY}")


GO_ON = {"sweep": check_sweep, "scaling": check_scaling, "batch": check_batch}


def complaint_of(seed, number):
    draw = random.Random(f"{seed} {number}")
    command = list(COMMANDS)[number % len(COMMANDS)]
    rank_count = draw.choice((2, 3) if command == "pingpong" else (0, 2, 3))
    what = "not killed"
    before = shared_memory()
    with tempfile.TemporaryDirectory(prefix="cg2d-kill-") as name:
        folder = pathlib.Path(name)
        try:
            (folder / "tasks.txt").write_text("\n".join(TASKS) + "\n")
            what = kill_once(draw, COMMANDS[command], rank_count, folder)
            wait_for_ends(folder)
            check_shared_memory(before)
            check_files(folder)
            if command in GO_ON:
                GO_ON[command](rank_count, folder)
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
    print(f"{len(numbers)} kills, {len(found)} with a complaint")
    return 1 if found or not numbers else 0


if __name__ == "__main__":
    sys.exit(main())
