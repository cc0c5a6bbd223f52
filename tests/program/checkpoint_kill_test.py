"""Kills of cg2d run and solve at random times, with --reproducible on. Each time the next one goes on from what is saved, on another grid,
and the last one has the same bits as one that was never killed. No more is lost than the interval allows, no process goes on, and nothing
is left but results and whole files of checkpoints.

    python3 tests/program/checkpoint_kill_test.py --count 200 --seed 7
"""

import argparse
import json
import pathlib
import random
import re
import sys
import tempfile

from kill_test import Complaint, check_shared_memory, kill_once, shared_memory, wait_for_ends
from program_runner import CAMPAIGN, SUCCESS, THOROUGH, run_program

# Ranks and grid; without ranks there is no launcher.
GRIDS = ((0, "1x1"), (2, "1x2"), (2, "2x1"), (3, "3x1"))
FIXED = ("--kernel", "scalar", "--reproducible", "on", "--no-profile", "--bind", "none")
# Most programs take longer than that; a kill that comes after the end does not count.
LATEST_S = 1.6
LOCK = "checkpoints.lock"  # stays after a kill; the next run takes it, and removes it at its end
FILE = re.compile(r"(\d{8,})\.\d+-of-(\d+)\.checkpoint")


def saved_generations(folder):
    """Generation -> whether all its files are there. Complains of anything else in the folder, and of an old one without need."""
    counts, sizes = {}, {}
    state = folder / "state"
    for path in state.iterdir() if state.exists() else ():
        match = FILE.fullmatch(path.name)
        if path.name == LOCK:
            continue
        if not match:
            raise Complaint(f"leaves {path.name}")
        counts[int(match[1])] = counts.get(int(match[1]), 0) + 1
        sizes[int(match[1])] = int(match[2])
    # Two, and one that is under way.
    if len(counts) > 3:
        raise Complaint(f"leaves the generations {sorted(counts)}")
    return {generation: count == sizes[generation] for generation, count in counts.items()}


def steps_saved(folder, generation):
    """Iterations that are done, by the header of a checkpoint."""
    path = next((folder / "state").glob(f"{generation:08}.0-of-*.checkpoint"))
    return int.from_bytes(path.read_bytes()[48:56], sys.byteorder)


class Checkpointed:
    """What kills of run and solve have in common. Every attempt takes a grid of its own."""

    files = ("result.json", "state")
    said = re.compile("")

    def words(self, grid, folder=None, interval="0s"):
        words = [*self.command, *FIXED, "--grid", grid, "--format", "json", "--output", "result.json", "--progress"]
        return words if folder is None else [*words, "--checkpoint", "state", "--checkpoint-interval", interval, "--restart", "state"]

    def __init__(self):
        """The result of a program that is not killed."""
        with tempfile.TemporaryDirectory(prefix="cg2d-kill-") as name:
            outcome = run_program(0, *self.words("1x1"), cwd=name)
            assert outcome.exit_code == SUCCESS, outcome
            self.expected = self.result(pathlib.Path(name))

    def kill(self, draw, folder):
        rank_count, grid = draw.choice(GRIDS)
        interval = draw.choice(("0s", "0.05s"))
        whole = self.newest(folder)
        begun = steps_saved(folder, whole) if whole else 0
        kill = kill_once(draw, self.words(grid, folder, interval), rank_count, folder, LATEST_S)
        wait_for_ends(folder)
        newest = self.newest(folder)
        if whole and (newest is None or newest < whole):
            raise Complaint(f"{kill} has taken generation {whole}")
        if interval == "0s":
            saved = steps_saved(folder, newest) if newest else 0
            reached = max((int(number) for number in self.said.findall(kill.stderr)), default=0)
            if saved < self.least_saved(begun, reached):
                raise Complaint(f"{kill}: saved {saved} of {reached} iterations")
        return f"{kill} on {grid}", kill

    @staticmethod
    def newest(folder):
        return max((generation for generation, is_whole in saved_generations(folder).items() if is_whole), default=None)

    def finish(self, draw, folder):
        """To the end, from the newest whole generation."""
        newest = self.newest(folder)
        rank_count, grid = draw.choice(GRIDS)
        outcome = run_program(rank_count, *self.words(grid, folder), cwd=folder)
        if outcome.exit_code != SUCCESS:
            raise Complaint(f"does not go on: {outcome}")
        taken = json.loads((folder / "result.json").read_text()).get("restart", {}).get("generation")
        if taken != newest:
            raise Complaint(f"goes on from {taken}, not from {newest}")
        if self.result(folder) != self.expected:
            raise Complaint(f"other bits than without the kill, on {grid} from {newest}")
        if not all(saved_generations(folder).values()):
            raise Complaint("leaves a part of a generation after the end")
        if (folder / "state" / LOCK).exists():
            raise Complaint(f"leaves {LOCK} after the end")


class RunKills(Checkpointed):
    command = ("run", "--class", "S", "--niter", "150")
    # The last iterations are not saved: after them comes the result.
    said = re.compile(r"run 1, outer iteration (\d+)/")

    @staticmethod
    def result(folder):
        return json.loads((folder / "result.json").read_text())["outer_steps"]

    @staticmethod
    def least_saved(_, reached):
        """A line is said before its iteration is saved."""
        return min(reached, 149) - 1


class SolveKills(Checkpointed):
    command = ("solve", "--operator", "laplace2d:200x200", "--assembled", "--rhs", "random:5", "--rtol", "1e-12", "--monitor", "-o", "x.mtx")
    files = (*Checkpointed.files, "x.mtx")
    said = re.compile(r"iteration (\d+): residual")

    @staticmethod
    def result(folder):
        return json.loads((folder / "result.json").read_text())["result"]["history"], (folder / "x.mtx").read_bytes()

    @staticmethod
    def least_saved(begun, reached):
        """The ranks ask each other, and save, at the latest when as many iterations have been done once more as until the last time."""
        return begun + (reached - begun - 1) // 2 if reached > begun else 0


COMMANDS = {"run": RunKills, "solve": SolveKills}


def check_files(folder, names):
    for path in folder.iterdir():
        if path.name not in names:
            raise Complaint(f"leaves {path.name}")


def kill_some(command, work, seed, number):
    """Kills one program up to three times, and lets it go on to the end. Returns the number of kills, and a complaint, or nothing."""
    draw = random.Random(f"{seed} {command} {number}")
    done, hits = [], 0
    before = shared_memory()
    with tempfile.TemporaryDirectory(prefix="cg2d-kill-") as name:
        folder = pathlib.Path(name)
        try:
            for _ in range(draw.choice((1, 2, 3))):
                text, kill = work.kill(draw, folder)
                done.append(text)
                if not kill.has_hit:
                    break
                hits += 1
                check_files(folder, work.files)
            work.finish(draw, folder)
            check_files(folder, work.files)
            check_shared_memory(before)
        except (Complaint, AssertionError) as complaint:
            return hits, f"{command} {number}: {', '.join(done)}: {complaint}"
    return hits, ""


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--count", type=int, default=200 if CAMPAIGN else 30 if THOROUGH else 10, help="kills, at least")
    parser.add_argument("--seed", default="1")
    options = parser.parse_args()
    works = {name: make() for name, make in COMMANDS.items()}
    found, kill_count, number = [], 0, 0
    while kill_count < options.count:
        command = list(works)[number % len(works)]
        hits, text = kill_some(command, works[command], options.seed, number)
        kill_count += hits
        if text:
            found.append(text)
            print(text, flush=True)
        number += 1
    print(f"{kill_count} kills of {number} programs, {len(found)} with a complaint")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
