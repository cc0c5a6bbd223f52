"""scripts/teaching/answers in small form: what it writes is what the program says, and what it concludes follows from it."""

import json
import re
import statistics
import sys

from program_runner import MPIEXEC, PHASES, PROGRAM, PROJECT, SUCCESS, UNAVAILABLE, USAGE, ProgramTest, run_command, temporary_folder

SCRIPT = PROJECT / "scripts" / "teaching" / "answers"
RANKS = 4
GRIDS = ("1x4", "2x2", "4x1")


def answers(*words):
    return run_command(["env", f"MPIEXEC={MPIEXEC}", sys.executable, SCRIPT, "--cg2d", PROGRAM, *words])


class AnswersTest(ProgramTest):
    @classmethod
    def setUpClass(cls):
        cls.folder = temporary_folder(cls.addClassCleanup)
        words = ("--class", "S", "--ranks", RANKS, "--rounds", "2", "--machine", "cp-pacs", "--folder", cls.folder)
        outcome = answers(*map(str, words))
        assert outcome.exit_code == SUCCESS and not outcome.stderr, f"no answers: {outcome}"
        cls.text = (cls.folder / "answers.md").read_text()
        cls.lines = [json.loads(line) for line in (cls.folder / "sweep.jsonl").read_text().splitlines()]

    def rows(self, number):
        """{first cell: other cells} of the table of an exercise."""
        part = re.split(r"(?m)^## ", self.text)[number]
        cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in part.splitlines() if line.startswith("|")]
        return {row[0]: row[1:] for row in cells[2:]}

    def result(self, *words):
        return self.run_well(0, *words, "--format", "json").document()

    def phase_us(self, grid, phase):
        """Of one CG step, mean over the ranks, median of the runs; of a round that was repeated the last attempt."""
        runs = {run["sweep"]["round"]: run for run in self.lines if run["configuration"]["grid"]["name"] == grid}
        means = [
            statistics.fmean(rank["phases"][phase]["seconds"] for rank in run["phases"]["ranks"]) / run["phases"]["cg_steps"]
            for run in runs.values()
        ]
        return 1e6 * statistics.median(means)

    def test_1_the_picture(self):
        (collection,) = self.result("explain", "--grid", "2x3", "--class", "S", "--step", "collection")["steps"]
        for number, exchange in enumerate(collection["rounds"], 1):
            (mine,) = [message for message in exchange["messages"] if message["to"] == 0]
            piece = mine["pieces"][0]
            self.assertIn(f"round {number}: piece {piece} from rank {mine['from']}, {mine['bytes']} bytes", self.text)
        self.assertIn("the ranks 0, 5 keep their piece: gcd(Px − 1, Py − 1) + 1 = 2", self.text)

    def test_2_the_counts_are_those_of_the_plan(self):
        rows = self.rows(2)
        self.assertEqual(tuple(rows), ("1x16", "2x8", "4x4", "8x2", "16x1"))
        for grid, cells in rows.items():
            parts = self.result("run", "--class", "S", "--grid", grid, "--ranks", "16", "--dry-run")["plan"]["busiest_rank_per_cg_step"]
            self.assertEqual(
                cells[1:5], [f"{parts[name]['messages']}, {parts[name]['bytes']}" for name in ("collection", "summation", "shuffle", "dot")]
            )
            for cell, key in zip(cells[5:], ("messages", "bytes")):
                self.assertEqual(int(cell), sum(part[key] for part in parts.values()))
        # 8 n / P = 700 bytes a piece (some have 704); 4x4 sends 3 + 3 + 1 of them, and 8 scalars: the exercise has one answer.
        self.assertRegex(self.text, r"Least bytes: 4x4 with \d+\. Fewest messages: 1x16, 16x1 with 12\.")

    def test_4_the_verdict_is_the_sweeps(self):
        (study,) = self.result("sweep", "--show", self.folder / "sweep.jsonl")["grids"]
        self.assertIn(f"The verdict: {study['verdict']['text']}.", self.text)
        for cell in study["cells"]:
            shown = self.rows(4)[cell["grid"]]
            self.assertEqual((shown[0], shown[2]), (f"{cell['times']['median_s']:.4g}", "yes" if cell["may_be_best"] else "no"))
        predicted = re.search(r"Predicted best: (\w+)\.", self.text)[1]
        candidates = [cell["grid"] for cell in study["cells"] if cell["may_be_best"]]
        conclusion = re.search(r"The prediction, \w+, (was right|was wrong|is among)", self.text)[1]
        self.assertEqual(
            conclusion, "was wrong" if predicted not in candidates else "was right" if len(candidates) == 1 else "is among"
        )

    def test_5_the_phases_are_those_of_the_runs(self):
        rows = self.rows(5)
        measured = {grid: {phase: self.phase_us(grid, phase) for phase in PHASES} for grid in GRIDS}
        for grid, own in measured.items():
            for cell, value in zip(rows[grid], [*own.values(), sum(own.values())]):
                self.assertAlmostEqual(float(cell), value, delta=0.051)  # written with one digit
        slowest, fastest = re.search(r"(\w+) takes [\d.-]+ µs more than (\w+):", self.text).groups()
        others = [grid for grid in GRIDS if grid != fastest]
        self.assertEqual(slowest, max(others, key=lambda grid: sum(measured[grid].values())))
        differences = {phase: measured[slowest][phase] - measured[fastest][phase] for phase in PHASES}
        most = max(PHASES, key=lambda phase: abs(differences[phase]))
        self.assertIn(f"The phase that differs most is {most.replace('_', ' ')}:", self.text)
        counted = re.search(r"rank 0 counted while it ran: (.*); the", self.text)[1]
        self.assertEqual(sorted(counted.split(", ")), ["0 on 4x1", "1 on 2x2", "2 on 1x4"])

    def test_the_sheet_has_the_exercises_of_the_answers(self):
        sheet = (SCRIPT.parent / "README.md").read_text()
        for number, name in enumerate(("Read the picture", "Count", "Predict", "Measure", "Explain"), 1):
            self.assertIn(f"\n## {number}. {name}\n", sheet)
            self.assertIn(f"## {number}. {name} (" if number != 4 else "## 4. Measure\n", self.text)

    def test_without_a_description_it_calibrates(self):
        folder = self.folder / "calibrated"
        outcome = answers("--class", "S", "--ranks", "2", "--rounds", "1", "--folder", str(folder))
        if "; nothing is saved: try again when the machine is quiet" in outcome.stderr:
            self.assertEqual((outcome.exit_code, len(outcome.stderr.splitlines())), (65, 1), outcome)
            self.skipTest("this machine is too busy to be calibrated")
        self.assertEqual((outcome.exit_code, outcome.stderr), (SUCCESS, ""), outcome)
        network = json.loads((folder / "machine.json").read_text())["conditions"][0]["network"]
        text = (folder / "answers.md").read_text()
        self.assertIn(f"A message costs {1e6 * network['start_up_s']:.2f} µs", text)
        self.assertIn("machine: this one", text)

    def test_refusals_are_one_line(self):
        for words, code in (
            (["--ranks", "1"], USAGE),
            (["--class", "D"], USAGE),
            (["--rounds", "0"], USAGE),
            (["--no-such-option"], USAGE),
            (["--cg2d", "/no/such/program"], UNAVAILABLE),
            (["--machine", "pc", "--folder", str(self.folder / "bad"), "--class", "S"], 65),
        ):
            outcome = answers(*words)
            self.assertEqual((outcome.exit_code, len(outcome.stderr.splitlines())), (code, 1), outcome)
