"""cg2d stencil: one result in memory and out of core, on any number of ranks and for any temporal block; refusals; nothing is left behind."""

import itertools
import signal
import time

from program_runner import INTERRUPTED, BackgroundRun, ProgramTest, process_bytes, send_to_all, some_of

SHAPE = ("--shape", "30x20x29")
STEPS = ("--steps", "12")
LONG = ("--shape", "160x160x160", "--steps", "1000000", "--temporal-block", "4")


class StencilTest(ProgramTest):
    def document(self, rank_count, *arguments, steps=STEPS):
        return self.valid_document_of(rank_count, "stencil", *SHAPE, *steps, *arguments)

    def assert_nothing_left(self):
        self.assertEqual(list(self.folder.iterdir()), [])


class Results(StencilTest):
    def test_all_runs_of_a_domain_have_one_result(self):
        expected = self.document(0, "--temporal-block", "1")
        self.assertEqual((expected["status"], expected["temporal_block"], expected["passes"]), ("success", 1, 12))
        self.assertIsNone(expected["out_of_core"])
        for rank_count, block, place in some_of(itertools.product(range(5), ("auto", "1", "3", "7"), ((), ("--out-of-core", self.folder))), 3):
            with self.subTest(rank_count=rank_count, block=block, place=place):
                document = self.document(rank_count, "--temporal-block", block, *place)
                self.assertEqual(document["result"], expected["result"])
                self.assertEqual(document["trial"] is not None, block == "auto")
                if block == "auto":
                    self.assertIn(document["temporal_block"], [one["block"] for one in document["trial"]["tried"]])
                    self.assertEqual(document["trial"]["plane_storage_s"] > 0, bool(place))
                self.assertEqual(document["out_of_core"] is not None, bool(place))
                self.assertEqual(sum(rank["planes"] for rank in document["ranks"]), 29)
        self.assert_nothing_left()

    def test_the_smallest_domains(self):
        for rank_count, planes in ((1, 1), (3, 6)):
            self.valid_document_of(rank_count, "stencil", "--shape", f"30x20x{planes}", "--steps", "2")

    def test_s_step_cg_has_one_result_on_all_ranks_and_stores(self):
        options, steps = ("--method", "s-step-cg", "--rtol", "1e-8", "--temporal-block", "2"), ("--steps", "200")
        expected = self.document(0, *options, steps=steps)
        self.assertEqual((expected["status"], expected["method"], expected["conforming"]), ("success", "s-step-cg", False))
        self.assertLessEqual(expected["solve"]["true_residual"], 1.001e-8)
        solved = self.document_of(0, "solve", "--operator", f"laplace3d:{SHAPE[1]}", "--rhs", "ones", "--rtol", "1e-8")
        self.assertEqual(expected["solve"]["iterations"], solved["result"]["iterations"])
        for rank_count in (1, 2, 3, 4):
            for place in ((), ("--out-of-core", self.folder)):
                document = self.document(rank_count, *options, *place, steps=steps)
                self.assertEqual((document["result"], document["solve"]), (expected["result"], expected["solve"]), (rank_count, place))
        self.assert_nothing_left()

    def test_s_step_cg_knows_the_residual_where_the_digits_of_a_pass_are_used_up(self):
        """Four different eigenvalues: zero after four steps but for rounding, which only the vectors themselves show."""
        words = ("--shape", "3x3x3", "--method", "s-step-cg", "--steps", "4", "--temporal-block", "4")
        solve = self.valid_document_of(1, "stencil", *words)["solve"]
        self.assertEqual(solve["residuals"][-1], solve["residual"])

    def test_bytes_are_those_of_the_passes(self):
        document = self.document(2, "--temporal-block", "5", "--out-of-core", f"{self.folder},{self.folder}")
        plane_bytes = 8192  # 20 lines of 32 numbers, a cache line before them, in multiples of 4096 bytes
        store = document["out_of_core"]
        self.assertEqual((document["passes"], store["read_bytes"], store["written_bytes"]), (3, 3 * 29 * plane_bytes, 3 * 29 * plane_bytes))
        # Steps 5, 5 and 2, upwards, downwards, and upwards: two planes for each step to the rank before.
        self.assertEqual([rank["sent_bytes"] for rank in document["ranks"]], [10 * plane_bytes, 14 * plane_bytes])

    def test_the_memory_limit_is_kept(self):
        own = process_bytes(2)
        room = 20_000_000
        large = ("--shape", "128x128x600", "--steps", "9", "--out-of-core", self.folder)
        document = self.document_of(2, "stencil", *large, "--memory-limit", str(2 * (own + room)), starts_anew=True)
        for rank in document["ranks"]:
            self.assertGreater(rank["planes"] * 128 * 128 * 8, 1.5 * room)
            self.assertLess(rank["peak_bytes"], own + room)

    def test_the_text_shows_trial_breakdown_and_verdict(self):
        text = self.run_well(2, "stencil", *SHAPE, *STEPS, "--out-of-core", self.folder).stdout
        for pattern in (r"(?m)^ 30x20x29 points, 12 steps", r"waiting for reading +\d", r"communication +\d", r"barrier +\d",
                        r"(?m)^ Temporal block: \d+ steps?, chosen by a trial; ", r"(?m)^ Rate: \d\S* GLUP/s ", r"(?m)^ Sum -?\d.*, checksum [0-9a-f]{8}$", r"(?m)^ verified: largest difference"):  # fmt: skip
            self.assertRegex(text, pattern)


class Ends(StencilTest):
    def under_way(self):
        return BackgroundRun(2, "stencil", *LONG, "--out-of-core", self.folder)

    def test_a_signal_ends_all_ranks_with_one_line(self):
        for number, sent_to in ((signal.SIGTERM, slice(None)), (signal.SIGINT, slice(1, 2))):
            with self.under_way() as run:
                run.wait_for("steps 5 to 8 of 1000000")
                self.assert_nothing_left()  # the files have no names
                send_to_all(run.ranks()[sent_to], number)
                outcome = self.ends_with(INTERRUPTED, run.finish())
            self.assertRegex(outcome.stderr, r"interrupted by a signal after \d+ of 1000000 steps")
            self.assert_nothing_left()

    def test_a_kill_leaves_nothing(self):
        for delay_s in (0.0, 0.2):
            with self.under_way() as run:
                run.wait_for("writing the start values")
                time.sleep(delay_s)
                run.send(signal.SIGKILL)
                run.finish()
            self.assert_nothing_left()
        self.run_well(2, "stencil", *SHAPE, *STEPS, "--out-of-core", self.folder)
