"""The time line of cg2d --trace: viewers can read it, and its bars nest and do not overlap."""

import json

from program_runner import PHASES, ProgramTest, run_program, temporary_folder

RANKS = 8
STEPS = 60
STEPS_PER_OUTER_ITERATION = 25


class Trace(ProgramTest):
    @classmethod
    def setUpClass(cls):
        folder = temporary_folder(cls.addClassCleanup)
        words = ("--class", "S", "--grid", "4x2", "--trace", folder / "trace.json", "--trace-steps", STEPS, "--repeat", 2)
        outcome = run_program(RANKS, "run", *words)
        assert outcome.exit_code == 0, outcome
        cls.document = json.loads((folder / "trace.json").read_text())
        cls.files = [path.name for path in folder.iterdir()]

    def bars(self, rank, category):
        """(begin, end, name) in nanoseconds, in the order of their beginnings."""
        found = []
        for event in self.document["traceEvents"]:
            if event["ph"] == "X" and event["tid"] == rank and event["cat"] == category:
                begin = round(event["ts"] * 1000)
                found.append((begin, begin + round(event["dur"] * 1000), event["name"]))
        return sorted(found)

    def test_bars_of_a_rank_nest_and_do_not_overlap(self):
        for rank in range(RANKS):
            with self.subTest(rank=rank):
                phases, steps, outers = (self.bars(rank, name) for name in ("phase", "cg_step", "outer_iteration"))
                for bars in (phases, steps, outers):
                    for before, after in zip(bars, bars[1:]):
                        self.assertLessEqual(before[1], after[0], f"{before} overlaps {after}")
                for bar in phases + steps:
                    self.assertTrue(any(outer[0] <= bar[0] and bar[1] <= outer[1] for outer in outers), f"{bar} lies in no bar")
                for phase in phases:
                    for step in steps:
                        apart = phase[1] <= step[0] or step[1] <= phase[0]
                        self.assertTrue(apart or (step[0] <= phase[0] and phase[1] <= step[1]), f"{phase} straddles {step}")

    def test_every_step_and_phase_is_there(self):
        for rank in range(RANKS):
            self.assertEqual([bar[2] for bar in self.bars(rank, "cg_step")], [f"CG step {k + 1}" for k in range(STEPS)])
            self.assertEqual(len(self.bars(rank, "outer_iteration")), -(-STEPS // STEPS_PER_OUTER_ITERATION))
            phases = self.bars(rank, "phase")
            self.assertEqual({bar[2] for bar in phases}, set(PHASES))
            for step in self.bars(rank, "cg_step"):
                inside = [bar[2] for bar in phases if step[0] <= bar[0] and bar[1] <= step[1]]
                self.assertEqual(inside.count("multiply"), 1, step)
                self.assertEqual(inside.count("dot"), 2, step)

    def test_ranks_and_nodes_have_names(self):
        self.assertEqual(self.files, ["trace.json"], "nothing else remains")
        names = [event for event in self.document["traceEvents"] if event["ph"] == "M"]
        threads = {event["tid"]: event["args"]["name"] for event in names if event["name"] == "thread_name"}
        self.assertEqual(sorted(threads), list(range(RANKS)))
        self.assertEqual(threads[5], "rank 5 (column 1, row 1)")
        self.assertEqual([event["pid"] for event in names if event["name"] == "process_name"], [0])

    def test_ranks_take_part_in_a_step_at_the_same_time(self):
        # Every step ends with a dot product over all ranks: no rank can begin the next but one before all have ended
        # the one. The file holds the largest error of the alignment of the clocks.
        uncertainty_ns = 2000 * max(self.document["otherData"]["clock_uncertainty_us"])
        steps = [self.bars(rank, "cg_step") for rank in range(RANKS)]
        for k in range(STEPS - 2):
            last_begin = max(bars[k][0] for bars in steps)
            first_end = min(bars[k + 1][1] for bars in steps)
            self.assertLessEqual(last_begin, first_end + uncertainty_ns + 1, f"step {k + 1}")

    def test_says_how_far_to_trust_the_clocks(self):
        facts = self.document["otherData"]
        self.assertEqual(len(facts["clock_uncertainty_us"]), RANKS)
        self.assertEqual(facts["clock_uncertainty_us"][0], 0)
        # Half of a message's way there and back: no message takes less than 20 ns.
        self.assertTrue(all(value > 0.02 for value in facts["clock_uncertainty_us"][1:]))
        self.assertEqual((facts["class"], facts["grid"]), ("S", "4x2"))
