"""Checkpoints of cg2d run: restarted runs, what their reports say, signals, damaged files, and refusals."""

import json
import shlex
import signal

from program_runner import (
    FOLDER_IN_USE, INTERRUPTED, SUCCESS, BackgroundRun, ProgramTest, launch_words, run_command, run_program, send_to_all,
    some_of,
)  # fmt: skip

FIXED = ("run", "--class", "S", "--kernel", "scalar", "--no-profile")


class CheckpointTest(ProgramTest):
    def setUp(self):
        self.state = self.folder / "state"

    def saved(self, rank_count, grid, *more):
        """The document of a run that saves after each outer iteration; the last one that is saved is the 14th of 15."""
        return self.valid_document_of(rank_count, *FIXED, "--grid", grid, "--checkpoint", self.state, "--checkpoint-interval", "0s", *more)

    def generations(self):
        return sorted({path.name.split(".")[0] for path in self.state.iterdir()})


class Restart(CheckpointTest):
    def test_the_same_grid_gives_the_same_bits_and_any_other_is_verified(self):
        whole = self.saved(4, "2x2")
        self.assertEqual(whole["checkpoints"]["count"], 14)
        self.assertEqual(whole["checkpoints"]["interval_by"], "option")
        self.assertGreater(whole["result"]["time_s"], whole["checkpoints"]["total_s"])
        self.assertNotIn("restart", whole)
        rest = self.valid_document_of(4, *FIXED, "--grid", "2x2", "--restart", self.state)
        self.assertEqual(rest["outer_steps"], whole["outer_steps"])
        self.assertEqual(rest["result"]["zeta"], whole["result"]["zeta"])
        self.assertIs(rest["result"]["verified"], True)
        counts = {"generation": 14, "earlier_outer_iterations": 14, "timed_outer_iterations": 1}
        self.assertEqual(rest["restart"], {"folder": str(self.state), **counts, "rejected": []})
        self.assertNotIn("checkpoints", rest)
        # Any other grid is verified.
        for rank_count, grid in ((0, "1x1"), (2, "2x1"), (3, "1x3"), (4, "4x1"), (6, "3x2")):
            with self.subTest(grid=grid):
                rest = self.document_of(rank_count, *FIXED, "--grid", grid, "--restart", self.state)
                self.assertIs(rest["result"]["verified"], True)
                self.assertLess(rest["result"]["relative_error"], 1e-10)
                self.assertEqual(rest["restart"]["timed_outer_iterations"], 1)

    def test_rates_and_texts_count_the_work_that_was_timed(self):
        whole = self.saved(2, "1x2")
        arguments = (*FIXED, "--grid", "1x2", "--restart", self.state)
        rest = self.document_of(2, *arguments)
        for rate in ("mops_total", "true_mflops", "mops_per_process"):
            work = whole["result"][rate] * whole["result"]["time_s"]
            self.assert_close(rest["result"][rate] * rest["result"]["time_s"], work / 15, 1e-9)
        self.assertEqual((whole["phases"]["cg_steps"], rest["phases"]["cg_steps"]), (375, 25))
        self.assertNotIn("prediction", rest)
        text = self.run_well(2, *arguments).stdout
        self.assertIn(f" Restart from {self.state} after outer iteration 14 of 15: time and Mop/s are those of the last 1 outer iteration only", text)
        self.assertIn(" Verification    =               SUCCESSFUL", text)
        self.assertNotRegex(text, "Time in seconds|Mop/s total|Mop/s/process")
        header, line = self.run_well(2, *arguments, "--format", "csv").stdout.splitlines()
        self.assertEqual(dict(zip(header.split(","), line.split(",")))["restarted_after"], "14")

    def test_it_goes_on_saving_and_keeps_two_generations(self):
        self.saved(2, "2x1")
        self.assertEqual(self.generations(), ["00000013", "00000014"])
        for rank in range(2):
            (self.state / f"00000014.{rank}-of-2.checkpoint").unlink()
        # From the 13th iteration there is one left to save.
        document = self.saved(2, "2x1", "--restart", self.state)
        self.assertEqual(document["restart"]["earlier_outer_iterations"], 13)
        self.assertEqual(document["checkpoints"]["count"], 1)
        self.assertEqual(self.generations(), ["00000013", "00000014"])
        self.assertEqual(len(list(self.state.iterdir())), 4)

    def test_it_begins_anew_where_there_is_none_yet(self):
        document = self.saved(2, "1x2", "--restart", self.state)
        self.assertNotIn("restart", document)
        self.assertIn(f"--restart {self.state}: no checkpoint there yet, so the run begins anew", document["warnings"])
        self.assertEqual(self.saved(2, "1x2", "--restart", self.state)["restart"]["earlier_outer_iterations"], 14)

    def test_a_plan_touches_nothing(self):
        self.run_well(0, *FIXED, "--dry-run", "--checkpoint", self.state, "--restart", self.folder / "missing")
        self.assertFalse(self.state.exists())


class Damage(CheckpointTest):
    def test_the_older_generation_is_taken(self):
        whole = self.saved(2, "1x2")
        (self.state / "00000014.1-of-2.checkpoint").unlink()
        rest = self.document_of(2, *FIXED, "--grid", "1x2", "--restart", self.state)
        self.assertEqual(rest["restart"]["rejected"], ["generation 14: found 1 of its 2 files"])
        self.assertEqual(rest["outer_steps"], whole["outer_steps"])


class Signals(CheckpointTest):
    # So many iterations that a signal comes before their end; zeta stands after the first twenty.
    LONG = ("run", "--class", "W", "--niter", "250", "--kernel", "scalar", "--no-profile", "--bind", "none")

    def test_a_signal_saves_and_says_how_to_go_on(self):
        file = self.folder / "result.json"
        whole = self.document_of(2, *self.LONG, "--grid", "1x2")
        reference = repr(whole["result"]["zeta"])
        for number, sent_to in some_of(((signal.SIGTERM, slice(None)), (signal.SIGINT, slice(1, 2))), 2):
            with self.subTest(number=number):
                state = self.folder / number.name
                arguments = (*self.LONG, "--reference", reference, "--grid", "1x2", "--format", "json", "--output", file)
                with BackgroundRun(2, *arguments, "--checkpoint", state) as run:
                    run.wait_for(r"outer iteration [3-9]")
                    send_to_all(run.ranks()[sent_to], number)
                    self.ends_with(INTERRUPTED, run.finish())
                document = self.assert_valid(json.loads(file.read_text()))
                self.assertEqual(document["status"], "interrupted")
                self.assertEqual(document["checkpoints"]["count"], 1)
                done = len(document["outer_steps"])
                self.assertIn(f"interrupted by a signal after outer iteration {done} of 250 in run 1 of 1", document["reason"])
                command = shlex.split(document["reason"].partition("as many ranks to go on: ")[2])
                self.assertEqual(command[-2:], ["--restart", str(state)])
                self.assertEqual(run_command([*launch_words(2), *command]).exit_code, SUCCESS)
                rest = self.assert_valid(json.loads(file.read_text()))
                self.assertEqual(rest["restart"]["earlier_outer_iterations"], done)
                self.assertIs(rest["result"]["verified"], True)
                self.assertEqual(rest["outer_steps"], whole["outer_steps"])

    def test_two_runs_with_one_folder(self):
        """The second one is refused and told whose the folder is; the first one keeps its files. After a kill the folder is free."""
        file = self.folder / "result.json"
        endless = ("--grid", "1x2", "--niter", "1000000", "--reference", "17")
        words = ("run", "--class", "W", "--kernel", "scalar", "--no-profile", *endless, "--format", "json", "--output", file)
        owned = ("--checkpoint", self.state, "--checkpoint-interval", "0s")
        with BackgroundRun(2, *words, *owned) as run:
            run.wait_for(r"outer iteration [3-9]")
            for restart in ((), ("--restart", self.state)):
                second = run_program(2, *FIXED, "--grid", "1x2", *owned, *restart)
                self.assert_refused(second, FOLDER_IN_USE, f"--checkpoint {self.state}: another run uses this folder (process ", " since 20")
                solve = run_program(2, "solve", "npb:S", "--no-profile", *owned, *restart)
                self.assert_refused(solve, FOLDER_IN_USE, "another run uses this folder")
            run.wait_for_next(r"outer iteration \d+/")
            run.send(signal.SIGTERM)
            self.assertEqual(run.finish().exit_code, INTERRUPTED)
        command = shlex.split(json.loads(file.read_text())["reason"].partition("as many ranks to go on: ")[2])
        self.assertEqual({path.suffix for path in self.state.iterdir()} & {".lock"}, set())
        with BackgroundRun(2, *command[1:]) as run:
            run.wait_for(r"outer iteration \d+")
            run.send(signal.SIGKILL)
            run.finish()
        with BackgroundRun(2, *command[1:]) as run:  # the lock of the killed run is none
            run.wait_for(r"outer iteration \d+")
