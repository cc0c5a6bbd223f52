"""Checkpoints of cg2d solve: the same x after a restart on the same grid, the same tolerance on others, signals, refusals."""

import json
import os
import shlex
import signal

from program_runner import (
    BAD_DATA, INTERRUPTED, NOT_CONVERGED, SUCCESS, THOROUGH, USAGE, BackgroundRun, ProgramTest, launch_words, run_command, run_program,
)  # fmt: skip

FIXED = ("solve", "--operator", "laplace3d:20x20x20", "--assembled", "--rhs", "random:5", "--kernel", "csr-short", "--no-profile")


class SolveCheckpointTest(ProgramTest):
    def setUp(self):
        self.state = self.folder / "state"
        self.x = self.folder / "x.mtx"

    def document(self, rank_count, *arguments):
        return self.valid_document_of(rank_count, *arguments, "-o", self.x)

    def saved(self, rank_count, *arguments):
        return self.document(rank_count, *FIXED, *arguments, "--checkpoint", self.state, "--checkpoint-interval", "0s")


class Restart(SolveCheckpointTest):
    def test_the_same_grid_gives_the_same_bits(self):
        for number, preconditioner in enumerate(("none", "jacobi", "block-jacobi", "chebyshev")):
            cuts = ("nonzeros", "random:3")
            for cut in cuts if THOROUGH else (cuts[number % 2],):
                with self.subTest(preconditioner=preconditioner, cut=cut):
                    self.state = self.folder / f"{preconditioner} {cut}"
                    arguments = ("--grid", "2x2", "--preconditioner", preconditioner, "--cut", cut)
                    whole = self.saved(4, *arguments)
                    expected = self.x.read_text()
                    self.assertGreater(whole["checkpoints"]["count"], 1)
                    rest = self.document(4, *FIXED, *arguments, "--restart", self.state)
                    self.assertEqual(self.x.read_text(), expected)
                    self.assertGreaterEqual(rest["restart"]["earlier_iterations"], 2)
                    for key in ("iterations", "history", "residual_norm", "recursive_residual_norm", "spectrum", "end"):
                        self.assertEqual(rest["result"][key], whole["result"][key], key)

    def test_other_grids_reach_the_same_tolerance(self):
        whole = self.saved(4, "--grid", "2x2")
        for rank_count, grid in ((0, "1x1"), (2, "2x1"), (3, "1x3"), (6, "3x2")):
            with self.subTest(grid=grid):
                result = self.document(rank_count, *FIXED, "--grid", grid, "--restart", self.state)["result"]
                self.assertEqual(result["end"], "converged")
                self.assertLessEqual(result["residual_norm"], result["target_norm"])
                # Rounding moves the end by an iteration at most.
                self.assertLessEqual(abs(result["iterations"] - whole["result"]["iterations"]), 1)

    def test_a_higher_limit_goes_on_from_the_last_iteration(self):
        """Whatever the interval is. The same limit again ends at once, and saves nothing."""
        whole = self.document(2, *FIXED, "--grid", "1x2")
        expected = self.x.read_text()
        limited = (*FIXED, "--grid", "1x2", "--max-iterations", "13")
        outcome = run_program(2, *limited, "--checkpoint", self.state)
        self.assert_refused(outcome, NOT_CONVERGED, "iteration limit: after 13 iterations")
        self.assertIn(f"; with a higher limit the checkpoint in {self.state} goes on from there", outcome.stderr)
        outcome = run_program(2, *limited, "--restart", self.state)
        self.assert_refused(outcome, NOT_CONVERGED, "iteration limit: after 13 iterations")
        self.assertNotIn("goes on", outcome.stderr)
        rest = self.document(2, *FIXED, "--grid", "1x2", "--restart", self.state)
        self.assertEqual(rest["restart"]["earlier_iterations"], 13)
        self.assertEqual(rest["result"]["history"], whole["result"]["history"])
        self.assertEqual(self.x.read_text(), expected)

    def test_phases_and_time_are_those_since_the_restart(self):
        whole = self.saved(2, "--grid", "1x2")
        # The newest checkpoint may be that of the last iteration; the one before leaves some to do.
        for path in sorted(self.state.iterdir())[2:]:
            path.unlink()
        rest = self.document(2, *FIXED, "--grid", "1x2", "--restart", self.state)
        own = rest["result"]["iterations"] - rest["restart"]["earlier_iterations"]
        self.assertGreater(own, 0)
        self.assertEqual(whole["phases"]["cg_steps"], whole["result"]["iterations"])
        self.assertEqual(rest["phases"]["cg_steps"], own)
        text = self.run_well(2, *FIXED, "--grid", "1x2", "--restart", self.state).stdout
        earlier = rest["restart"]["earlier_iterations"]
        self.assertIn(f" Restart from {self.state} after iteration {earlier}: the time is that of the iterations since", text)


class Refusals(SolveCheckpointTest):
    def test_what_is_refused_makes_no_folder(self):
        for words, reason in (
            (("--rhs-count", "2"), "2 right-hand sides: --checkpoint and --restart take one"),
            (("--grid", "3x1"), "--grid 3x1"),
            (("--variant", "pipelined"), "--checkpoint: not for --variant pipelined"),
            (("--slow-rank", "2:2"), "--slow-rank 2:2: there are 2 ranks"),
        ):
            with self.subTest(words=words):
                self.assert_refused(run_program(2, *FIXED, *words, "--checkpoint", self.state), USAGE, reason)
                self.assertFalse(self.state.exists())

    def test_another_system(self):
        self.saved(2, "--grid", "1x2")
        for change, value in (("--operator", "laplace3d:20x20x21"), ("--rhs", "random:6"), ("--preconditioner", "jacobi"), ("--cut", "random:1")):
            with self.subTest(change=change):
                words = list(FIXED)
                if change in words:
                    words[words.index(change) + 1] = value
                else:
                    words += [change, value]
                outcome = run_program(2, *words, "--restart", self.state)
                self.assert_refused(outcome, BAD_DATA, f"{self.state}: found a checkpoint of another system (of 8000 rows), expected one of")
        self.assert_refused(run_program(0, "run", "--class", "S", "--restart", self.state), BAD_DATA, "found a checkpoint of cg2d solve")


class Signals(SolveCheckpointTest):
    LONG = ("solve", "--operator", "laplace3d:80x80x80", "--assembled", "--kernel", "csr-short", "--no-profile", "--bind", "none")

    def test_a_signal_saves_and_says_how_to_go_on(self):
        result = self.folder / "result.json"
        arguments = (*self.LONG, "--grid", "1x2", "--max-iterations", "100000", "--format", "json", "--output", result, "-o", self.x)
        self.run_well(2, *arguments)
        whole, expected = json.loads(result.read_text()), self.x.read_text()
        with BackgroundRun(2, *arguments, "--monitor", "--checkpoint", self.state) as run:
            run.wait_for(r"iteration 2\d: residual")
            os.kill(run.ranks()[-1], signal.SIGTERM)
            self.ends_with(INTERRUPTED, run.finish())
        document = self.assert_valid(json.loads(result.read_text()), "solve")
        self.assertEqual(document["checkpoints"]["count"], 1)
        command = shlex.split(document["reason"].partition("as many ranks to go on: ")[2])
        self.assertEqual(run_command([*launch_words(2), *command]).exit_code, SUCCESS)
        rest = json.loads(result.read_text())
        self.assertEqual(rest["restart"]["earlier_iterations"], document["result"]["iterations"])
        self.assertEqual(rest["result"]["history"], whole["result"]["history"])
        self.assertEqual(self.x.read_text(), expected)
