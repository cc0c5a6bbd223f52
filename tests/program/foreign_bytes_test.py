"""Paths whose bytes are not UTF-8, and a stderr that cannot be written: neither costs a run its result."""

import json
import os

from program_runner import SUCCESS, USAGE, ProgramTest, run_program, start_program

# Python's substitute for the byte 0xff in a path, and that of JSON.
FOREIGN = os.fsdecode(b"\xff")
REPLACED = "\N{REPLACEMENT CHARACTER}"


class ForeignPathTest(ProgramTest):
    def setUp(self):
        self.folder /= f"folder{FOREIGN}"
        self.folder.mkdir()
        # Text that is no JSON shows the bytes of the path as they are.
        self.options = {"errors": "surrogateescape", "env": {**os.environ, "XDG_CACHE_HOME": str(self.folder)}}

    def run_here(self, *arguments):
        return self.run_well(2, *arguments, **self.options)

    def run_for_json(self, *arguments):
        outcome = self.run_here(*arguments, "--format", "json")
        outcome.stdout.encode()  # UTF-8 throughout
        return outcome.document()

    def test_run(self):
        self.assertIn(f"folder{REPLACED}", self.run_for_json("run", "--class", "S")["configuration"]["tuning"]["no_profile_because"])
        self.assertIn(f"folder{FOREIGN}", self.run_here("run", "--class", "S", "--verbose").stdout)
        self.run_here("run", "--class", "S", "--format", "csv")
        self.run_for_json("run", "--class", "S", "--dry-run")

    def test_a_run_that_fails_reports_its_own_reason(self):
        notes = self.file("notes", "no profile")
        outcome = run_program(2, "run", "--class", "S", "--format", "json", "--profile", notes, **self.options)
        self.assert_refused(outcome, USAGE, str(notes))
        self.assertIn(f"folder{REPLACED}/notes", outcome.document()["reason"])

    def test_profile_and_trace(self):
        profile = self.folder / "profile.json"
        trace = self.folder / "trace.json"
        # Transports are measured on a machine that is not quiet, too, unlike a tuning.
        tried = self.run_for_json("run", "--class", "S", "--transport", "auto", "--profile", profile, "--keep-disturbed")
        self.assertTrue(tried["configuration"]["transport_trial"]["kept_in"].endswith(f"folder{REPLACED}/profile.json"), tried)
        json.loads(profile.read_text())
        result = self.run_for_json("run", "--class", "S", "--profile", profile, "--trace", trace)
        self.assertIn(f"folder{REPLACED}/profile.json knows nothing of kernels", result["configuration"]["tuning"]["no_profile_because"])
        self.assertIn("traceEvents", json.loads(trace.read_text()))
        self.assertIn(str(profile), self.run_here("run", "--class", "S", "--profile", profile, "--trace", trace, "--verbose").stdout)


class FullStderrTest(ProgramTest):
    def test_lines_that_cannot_be_written_do_not_end_a_run(self):
        with open("/dev/full", "w", encoding="utf-8") as full:
            for arguments, code in ((["run", "--class", "S", "--progress"], SUCCESS), (["run", "--class", "Z"], USAGE)):
                self.ends_with(code, start_program(0, *arguments, stderr=full))
