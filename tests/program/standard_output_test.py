"""A file named "-" is standard output: it gets that file and nothing else, or the command says why not. No file of that name is made."""

import json
import re

from program_runner import CANNOT_WRITE, PROGRAM, USAGE, ProgramTest, run_command, run_program

RUN = ["run", "--class", "S", "--grid", "1x1"]
SOLVE = ["solve", "--operator", "laplace2d:9x5", "--assembled", "--grid", "1x1"]


class StandardOutputTest(ProgramTest):
    def setUp(self):
        taken_as_a_name = self.folder / "-"
        self.addCleanup(lambda: self.assertFalse(taken_as_a_name.exists()))

    def run_here(self, ranks, *words):
        return self.run_well(ranks, *words, cwd=self.folder)

    def test_a_result_instead_of_the_report(self):
        """7a50f6c: the report, and a file named "-"."""
        solve, file = [*SOLVE, "--kernel", "scalar"], self.folder / "file"
        for words, option in ((solve, "-o"), (solve, "--solution"), (RUN, "--export-mtx")):
            for ranks in (0, 1):
                self.run_here(ranks, *words, option, file)
                self.assertEqual(self.run_here(ranks, *words, option, "-").stdout, file.read_text(), (words, option))
        for words in (RUN, SOLVE):
            self.assertIn("traceEvents", json.loads(self.run_here(2, *words[:-2], "--trace", "-").stdout))
        self.assertEqual(json.loads(self.run_here(0, *RUN, "--format", "json", "--output", "-").stdout)["status"], "success")

    def test_the_report_goes_to_a_file(self):
        outcome = self.run_here(0, *SOLVE, "-o", "-", "--output", "report.json", "--format", "json")
        self.assertTrue(outcome.stdout.startswith("%%MatrixMarket matrix array real general"), outcome)
        self.assertEqual(json.loads((self.folder / "report.json").read_text())["status"], "success")

    def test_a_plan_stays(self):
        self.assertIn("message", self.run_here(0, *RUN, "--dry-run", "--trace", "-").stdout)

    def test_texts_of_commands(self):
        for words in (["events"], ["explain", "--class", "S", "--grid", "1x2"], ["model", "--machine", "cp-pacs", "--class", "S", "--ranks", "2"]):
            # Which events the trial of cg2d events raised depends on the moment.
            texts = [re.sub(r" \[0 in the trial.*\]", "", self.run_here(0, *words, *more).stdout) for more in (["--output", "-"], [])]
            self.assertEqual(*texts)
        self.run_here(1, "sweep", "--class", "S", "--repeat", "2", "--output", "s.jsonl")
        show = ["sweep", "--show", "s.jsonl"]
        self.assertEqual(self.run_here(0, *show, "--output", "-").stdout, self.run_here(0, *show).stdout)

    def test_conversions(self):
        self.run_here(0, *RUN, "--export-mtx", "A.mtx")
        self.run_here(0, "convert", "A.mtx", "A.cg2d")
        self.run_here(0, "convert", "A.cg2d", "B.mtx")
        for ranks in (0, 2):
            self.assertEqual(self.run_here(ranks, "convert", "A.cg2d", "-").stdout, (self.folder / "B.mtx").read_text())
            outcome = run_program(ranks, "convert", "A.mtx", "-", cwd=self.folder)
            self.assert_refused(outcome, USAGE, "TARGET -: ", "name a file, such as A.cg2d")

    def test_a_file_of_that_name(self):
        """Whoever wants one writes ./-."""
        self.run_here(0, *SOLVE, "-o", "./-")
        self.assertTrue((self.folder / "-").read_text().startswith("%%MatrixMarket"))
        (self.folder / "-").unlink()

    def test_standard_output_that_cannot_be_written(self):
        """The same line and code as for the report."""
        for end, reason in ((">&-", "it is closed"), (">/dev/full", "No space left on device")):
            for option in ("--solution", "--trace", "--output"):
                outcome = run_command(["sh", "-c", f'exec "$0" "$@" {end}', PROGRAM, *SOLVE, option, "-"], cwd=self.folder)
                self.assert_refused(outcome, CANNOT_WRITE, f"cannot write standard output: {reason}")


class SeveralOutputs(ProgramTest):
    def test_each_is_written_by_itself(self):
        """One that cannot be written takes no other along, and each failure has its line."""
        (self.folder / "full").symlink_to("/dev/full")
        for words, options in ((RUN, ("--output", "--trace")), (SOLVE, ("--output", "--solution", "--trace"))):
            for bad in (*((option,) for option in options), options[:2]):
                files = {option: "full" if option == bad[0] else "/dev/full" if option in bad else f"{option}.out" for option in options}
                with self.subTest(words=words, bad=bad):
                    outcome = run_program(2, *words[:-2], *(word for pair in files.items() for word in pair), cwd=self.folder)
                    self.ends_with(CANNOT_WRITE, outcome)
                    self.assertEqual(len(outcome.error_lines()), len(bad), outcome)
                    for option in options:
                        self.assertIs((self.folder / f"{option}.out").exists(), option not in bad, outcome)
                    for option in bad:
                        self.assertIn(f"cannot write {files[option]}: No space left", outcome.stderr)
                for path in self.folder.glob("*.out"):
                    path.unlink()
