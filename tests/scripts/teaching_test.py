"""scripts/teaching/answers in small form: what it writes down is what the program says."""

import re

from program_runner import MPIEXEC, PROGRAM, PROJECT, SUCCESS, TRY_AGAIN, UNAVAILABLE, USAGE, ProgramTest, run_command, temporary_folder

SCRIPT = PROJECT / "scripts" / "teaching" / "answers"
GRIDS = ("1x4", "2x2", "4x1")


def answers(*words, program=PROGRAM):
    return run_command(["env", f"MPIEXEC={MPIEXEC}", f"CG2D={program}", SCRIPT, *words])


class AnswersTest(ProgramTest):
    @classmethod
    def setUpClass(cls):
        cls.folder = temporary_folder(cls.addClassCleanup)
        outcome = answers("--class", "S", "--ranks", "4", "--rounds", "2", "--machine", "cp-pacs", "--folder", cls.folder)
        assert outcome.exit_code == SUCCESS and not outcome.stderr, f"no answers: {outcome}"
        cls.text = (cls.folder / "answers.md").read_text()

    def test_what_the_program_says_is_there(self):
        for words in (
            ("explain", "--grid", "2x3", "--class", "S"),
            ("explain", "--grid", "4x4", "--class", "S"),
            ("model", "--machine", "cp-pacs", "--class", "S", "--ranks", "4"),
            ("model", "--machine", "cp-pacs", "--ranks", "256"),
            ("sweep", "--show", self.folder / "sweep.jsonl"),
        ):
            for line in self.run_well(0, *words).stdout.splitlines():
                self.assertIn(f"\n    {line}\n", self.text)
        # 8 n / P = 700 bytes a piece (some have 704); 4x4 sends 3 + 3 + 1 of them, and 8 scalars: the exercise has one answer.
        bytes_of = {grid: int(sent) for grid, sent in re.findall(r"(?m)^ +(\d+x\d+) +\d+ +\d+ +(\d+) ", self.text)}
        self.assertEqual(min(bytes_of, key=bytes_of.get), "4x4")

    def test_every_grid_has_its_phases(self):
        for grid in GRIDS:
            self.assertIn(f"    $ mpiexec -n 4 cg2d run --class S --grid {grid} --transport two-sided\n", self.text)
        self.assertEqual(self.text.count(" VERIFICATION SUCCESSFUL"), len(GRIDS))
        self.assertTrue((self.folder / "report.html").is_file())

    def test_the_sheet_has_the_exercises_of_the_answers(self):
        sheet = (SCRIPT.parent / "README.md").read_text()
        exercises = re.findall(r"(?m)^## \d.*", self.text)
        self.assertEqual(exercises, re.findall(r"(?m)^## \d.*", sheet))
        self.assertEqual(len(exercises), 5)

    def test_without_a_description_it_calibrates(self):
        folder = self.folder / "calibrated"
        outcome = answers("--class", "S", "--ranks", "2", "--rounds", "1", "--folder", folder)
        if "; nothing is saved: try again when the machine is quiet" in outcome.stderr:
            self.assertEqual((outcome.exit_code, len(outcome.stderr.splitlines())), (TRY_AGAIN, 1), outcome)
            self.skipTest("this machine is too busy to be calibrated")
        self.assertEqual((outcome.exit_code, outcome.stderr), (SUCCESS, ""), outcome)
        self.assertIn(f"cg2d model --machine {folder}/machine.json --class S --ranks 2\n", (folder / "answers.md").read_text())

    def test_refusals_are_one_line(self):
        for words, code in (
            (["--ranks", "1"], USAGE),
            (["--class", "D"], USAGE),
            (["--rounds", "0"], USAGE),
            (["--no-such-option"], USAGE),
            (["--machine", "pc", "--folder", self.folder / "bad", "--class", "S"], USAGE),
        ):
            outcome = answers(*words)
            self.assertEqual((outcome.exit_code, len(outcome.stderr.splitlines())), (code, 1), outcome)
        self.assertEqual(answers(program="/no/such/program").exit_code, UNAVAILABLE)
