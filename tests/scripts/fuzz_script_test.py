"""scripts/fuzz refuses bad arguments in one line; its targets have kept inputs, and their bounded runs two million executions."""

import re

from program_runner import PROJECT, USAGE, ProgramTest, run_command

SCRIPT = PROJECT / "scripts" / "fuzz"
CORPUS = PROJECT / "tests" / "fuzz" / "corpus"
MOST_CORPUS_BYTES = 200_000


def rows():
    text = (PROJECT / "tests" / "fuzz" / "fuzz.cmake").read_text()
    return re.findall(r"^cg2d_add_fuzz_target\((\w+) EXECUTIONS (\d+) LONGEST (\d+)", text, re.MULTILINE)


class FuzzScript(ProgramTest):
    def test_bad_arguments_get_one_line(self):
        for arguments in ([], ["soon"], ["-1"], ["1", "nothing"], ["1e3"], ["--workers"], ["--workers", "0", "1"], ["--workers", "2"]):
            result = run_command([str(SCRIPT), *arguments])
            self.assertEqual(result.exit_code, USAGE, arguments)
            self.assertEqual(result.stdout, "", arguments)
            self.assertRegex(result.stderr, r"\Afuzz: [^\n]+\n\Z", arguments)

    def test_an_unknown_target_gets_the_known_ones(self):
        message = run_command([str(SCRIPT), "1", "nothing"]).stderr
        for name, _, _ in rows():
            self.assertIn(name, message)


class Targets(ProgramTest):
    def test_bounded_runs_have_two_million_executions(self):
        """Those of scripts/test: --thorough has the command line, too."""
        self.assertEqual(sum(int(count) for name, count, _ in rows() if name != "command_line"), 2_000_000)

    def test_every_target_has_inputs_that_are_taken_and_ones_that_are_refused(self):
        self.assertEqual({folder.name for folder in CORPUS.iterdir()}, {name for name, _, _ in rows()})
        for name, _, longest in rows():
            files = list((CORPUS / name).iterdir())
            for kind in ("good-", "bad-"):
                self.assertTrue(any(file.name.startswith(kind) for file in files), f"{name}: {kind}")
            for file in files:
                self.assertLessEqual(file.stat().st_size, int(longest), f"{file}: libFuzzer would cut it")

    def test_the_inputs_stay_small(self):
        self.assertLess(sum(file.stat().st_size for file in CORPUS.rglob("*") if file.is_file()), MOST_CORPUS_BYTES)
