"""Kills of cg2d run at random times: each time the next run goes on from the folder, and the last one has the same bits as one that was
never killed. Nothing is left but the result and whole files of checkpoints.

    python3 tests/program/checkpoint_kill_test.py --count 300 --seed 7
"""

import argparse
import json
import pathlib
import random
import re
import sys
import tempfile

from kill_test import Complaint, kill_once, wait_for_ends
from program_runner import SUCCESS, THOROUGH, run_program

# Ranks and grid; without ranks there is no launcher.
GRIDS = ((0, "1x1"), (2, "1x2"), (2, "2x1"), (3, "3x1"))
FILE = re.compile(r"(\d{8,})\.\d+-of-(\d+)\.checkpoint")


def words_of(grid, saves=True):
    words = ["run", "--class", "W", "--niter", "150", "--kernel", "scalar", "--no-profile", "--bind", "none", "--grid", grid]
    words += ["--format", "json", "--output", "run.json"]
    return [*words, "--checkpoint", "state", "--checkpoint-interval", "0.02s", "--restart", "state"] if saves else words


def whole_steps(rank_count, grid):
    """Zeta and residual of each outer iteration of a run that nobody kills."""
    with tempfile.TemporaryDirectory(prefix="cg2d-kill-") as folder:
        outcome = run_program(rank_count, *words_of(grid, saves=False), cwd=folder)
        if outcome.exit_code != SUCCESS:
            raise AssertionError(outcome)
        return json.loads((pathlib.Path(folder) / "run.json").read_text())["outer_steps"]


def saved_generations(folder):
    """Generation -> whether all its files are there. Complains of anything else in the folder, and of an old one without need."""
    counts, sizes = {}, {}
    state = folder / "state"
    for path in state.iterdir() if state.exists() else ():
        match = FILE.fullmatch(path.name)
        if not match:
            raise Complaint(f"leaves {path.name}")
        counts[int(match[1])] = counts.get(int(match[1]), 0) + 1
        sizes[int(match[1])] = int(match[2])
    # Two, and one that is under way.
    if len(counts) > 3:
        raise Complaint(f"leaves the generations {sorted(counts)}")
    return {generation: count == sizes[generation] for generation, count in counts.items()}


def check_files(folder):
    for path in folder.iterdir():
        if path.name not in ("run.json", "state"):
            raise Complaint(f"leaves {path.name}")


def check_goes_on(rank_count, grid, folder, expected):
    """To the end, from the newest whole generation."""
    whole = [generation for generation, is_whole in saved_generations(folder).items() if is_whole]
    outcome = run_program(rank_count, *words_of(grid), cwd=folder)
    if outcome.exit_code != SUCCESS:
        raise Complaint(f"does not go on: {outcome}")
    document = json.loads((folder / "run.json").read_text())
    taken = document.get("restart", {}).get("generation")
    if taken != max(whole, default=None):
        raise Complaint(f"goes on from {taken}, not from the newest of {sorted(whole)}")
    if document["outer_steps"] != expected:
        raise Complaint("other bits than without the kill")
    if not all(saved_generations(folder).values()):
        raise Complaint("leaves a part of a generation after the end")


def complaint_of(seed, number, expected):
    """Kills one run up to three times."""
    draw = random.Random(f"{seed} {number}")
    rank_count, grid = GRIDS[number % len(GRIDS)]
    done = []
    with tempfile.TemporaryDirectory(prefix="cg2d-kill-") as name:
        folder = pathlib.Path(name)
        try:
            for _ in range(draw.choice((1, 2, 3))):
                done.append(kill_once(draw, words_of(grid), rank_count, folder))
                wait_for_ends(folder)
                check_files(folder)
                saved_generations(folder)
            check_goes_on(rank_count, grid, folder, expected[rank_count, grid])
            check_files(folder)
        except (Complaint, AssertionError) as complaint:
            return len(done), f"{number}: {grid} on {rank_count} ranks, {', '.join(done)}: {complaint}"
    return len(done), ""


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--count", type=int, default=200 if THOROUGH else 10, help="kills, at least")
    parser.add_argument("--seed", default="1")
    options = parser.parse_args()
    expected = {case: whole_steps(*case) for case in GRIDS}
    found, kills, number = [], 0, 0
    while kills < options.count:
        count, text = complaint_of(options.seed, number, expected)
        kills += count
        number += 1
        if text:
            found.append(text)
            print(text, flush=True)
        if count == 0:
            break
    print(f"{kills} kills of {number} runs, {len(found)} with a complaint")
    return 1 if found or kills < options.count else 0


if __name__ == "__main__":
    sys.exit(main())
