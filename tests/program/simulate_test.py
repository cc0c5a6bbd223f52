"""cg2d simulate: where nothing is shared it is the model; where links are, it takes longer; what it says, and what it refuses."""

import json

from page_reader import read_page
from program_runner import USAGE, ProgramTest, run_program

PAPER = ("simulate", "--interconnect", "hyper-crossbar:4x8x8")


class SimulateTest(ProgramTest):
    def grids(self, *arguments, command=PAPER):
        (problem,) = self.valid_document_of(1, *command, *arguments)["problems"]
        for grid in problem["grids"]:
            for phase in grid["phases"]:
                self.assertLessEqual(phase["mean_s"], phase["slowest_s"], grid["grid"])
        return {grid["grid"]: grid | {"phases": {phase["phase"]: phase for phase in grid["phases"]}} for grid in problem["grids"]}

    def test_without_shared_links_it_is_the_model(self):
        grid = self.grids("--ranks", "256", "--grid", "1x256")["1x256"]
        for name, phase in grid["phases"].items():
            self.assert_close(phase["mean_s"], phase["model_s"], 1e-3)
            self.assertEqual(phase["busiest_link"]["most_at_once"], int(phase["messages"] > 0), name)
        self.assert_close(grid["step_s"], grid["model_step_s"], 1e-6)

    def test_messages_that_meet_share_a_link(self):
        """As many as the shuffle has on a link of the hyper-crossbar; a crossbar has none to share."""
        shuffles = {name: grid["phases"]["shuffle"] for name, grid in self.grids("--grid", "2x128,4x64,8x32").items()}
        self.assertEqual([shuffle["busiest_link"]["most_at_once"] for shuffle in shuffles.values()], [2, 4, 7])
        times = [shuffle["slowest_s"] for shuffle in shuffles.values()]
        self.assertEqual(times, sorted(times))
        for shuffle in shuffles.values():
            # So many pieces over one link, and the start-up; others may be done before.
            piece_s = 75000 / 256 * 8 / 300e6
            self.assertGreater(shuffle["slowest_s"], shuffle["model_s"] + 0.9 * piece_s)
            self.assertLess(shuffle["slowest_s"], shuffle["model_s"] + shuffle["busiest_link"]["most_at_once"] * piece_s + 1e-4)
        grid = self.grids("--interconnect", "crossbar", "--grid", "8x32", command=("simulate",))["8x32"]
        self.assert_close(grid["phases"]["shuffle"]["slowest_s"], grid["phases"]["shuffle"]["model_s"], 2e-1)

    def test_a_slow_rank_delays_all(self):
        even, slowed = (self.grids("--grid", "4x4", *more)["4x4"] for more in ((), ("--slow-rank", "5:2")))
        self.assert_close(slowed["step_s"] - even["step_s"], even["phases"]["multiply"]["slowest_s"], 1e-2)
        self.assert_close(slowed["phases"]["multiply"]["mean_s"], even["phases"]["multiply"]["mean_s"] * 17 / 16, 1e-6)

    def test_placement_decides_which_messages_leave_a_node(self):
        """Nodes of 8 ranks, a grid of 4 process columns: rows stay within a node, or tiles of 2 x 4, or next to nothing."""
        cluster = ("simulate", "--machine", "ethernet-cluster", "--class", "A", "--grid", "4x8")
        grids = {where: self.grids("--placement", where, command=cluster)["4x8"]["phases"] for where in ("row-major", "blocked", "random:1")}
        self.assertEqual(grids["row-major"]["summation"]["used_links"], 0)
        self.assertGreater(grids["blocked"]["summation"]["used_links"], 0)
        totals = {where: sum(phase["mean_s"] for phase in phases.values()) for where, phases in grids.items()}
        self.assertEqual(max(totals, key=totals.get), "random:1")
        for phases in grids.values():
            self.assertEqual([phase["messages"] for phase in phases.values()], [phase["messages"] for phase in grids["blocked"].values()])

    def test_what_if(self):
        (problem,) = self.document_of(1, *PAPER, "--ranks", "64", "--what-if")["problems"]
        steps = {other["name"]: {grid["grid"]: grid["step_s"] for grid in other["grids"]} for other in problem["what_if"]}
        described = {grid["grid"]: grid["step_s"] for grid in problem["grids"]}
        for faster in ("links twice as fast", "half the latency", "ranks four times as fast"):
            self.assertTrue(all(steps[faster][grid] < described[grid] for grid in described), faster)
        for slower in ("one link with a quarter of its rate", "one node half as fast"):
            self.assertTrue(all(steps[slower][grid] > described[grid] for grid in described), slower)
        text = self.run_well(1, *PAPER, "--ranks", "64", "--what-if").stdout
        for name, grids in steps.items():
            self.assertRegex(text, rf"(?m)^ {name} +{min(grids, key=grids.get)} +{min(grids.values()):.6g} ")

    def test_a_trace_has_every_phase(self):
        """Steps one after the other, each with its phases, as long as the result says."""
        trace, page = self.folder / "trace.json", self.folder / "report.html"
        grid = self.grids("--grid", "2x3", "--steps", "2", "--trace", trace)["2x3"]
        events = [event for event in json.loads(trace.read_text())["traceEvents"] if event["ph"] == "X"]
        self.run_well(0, "report", trace, "-o", page)
        self.assertIn("cg-step", read_page(page).sections)
        self.assertEqual({event["tid"] for event in events}, set(range(6)))
        for name, phase in grid["phases"].items():
            own = [sum(event["dur"] for event in events if (event["name"], event["tid"]) == (name, rank)) for rank in range(6)]
            self.assertAlmostEqual(sum(own) / 6 / 2, 1e6 * phase["mean_s"], delta=0.01)  # microseconds; a trace has nanoseconds
        for rank in range(6):
            steps = [event for event in events if event["cat"] == "cg_step" and event["tid"] == rank]
            self.assertEqual([step["name"] for step in steps], ["CG step 1", "CG step 2"])
            self.assertLessEqual(steps[0]["ts"] + steps[0]["dur"], steps[1]["ts"] + 1e-3)

    def test_bad_input_is_one_line(self):
        description = json.loads(self.run_well(1, "model", "--template").stdout)
        faults = {
            "rate": {"topology": "torus", "dimensions": [4, 4], "link_bytes_per_s": 0},
            "topology": {"topology": "tours", "dimensions": [4, 4]},
            "dimensions": {"topology": "torus", "dimensions": [4, -4]},
            "shape": {"topology": "fat-tree", "dimensions": [4, 4]},
        }
        for name, interconnect in faults.items():
            (self.folder / name).write_text(json.dumps(description | {"interconnect": interconnect}))
        for arguments, words in (
            ((), "--ranks or --grid is needed"),
            (("--ranks", "4", "--trace", "t.json"), "--trace is of one class on one grid"),
            (("--grid", "2x2", "--ranks", "5"), "does not match the 5 ranks"),
            (("--ranks", "4", "--interconnect", "torus:2"), "torus:2 has 2 nodes; 4 ranks of cp-pacs, placed row-major, need 4"),
            (("--ranks", "4", "--interconnect", "ring:4"), '--interconnect ring:4: no topology "ring"; valid: crossbar, '),
            (("--grid", "2x2", "--transport", "shared"), "--transport shared: the description of cp-pacs has no network of it; it has two-sided"),
            (("--ranks", "4", "--placement", "diagonal"), "--placement diagonal: unknown; valid: row-major, blocked"),
            (("--ranks", "4", "--machine", f"{self.folder}/rate"), '"interconnect.link_bytes_per_s" is 0: it must be greater than 0'),
            (("--ranks", "4", "--machine", f"{self.folder}/topology"), "did you mean torus?"),
            (("--ranks", "4", "--machine", f"{self.folder}/dimensions"), '"interconnect.dimensions[1]" is -4: it must be at least 1'),
            (("--ranks", "4", "--machine", f"{self.folder}/shape"), "fat-tree has the dimensions: nodes of a leaf switch"),
        ):
            self.assert_refused(run_program(2, "simulate", *arguments), USAGE, words)
