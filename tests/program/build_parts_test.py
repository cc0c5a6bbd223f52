"""The libraries that a program can be built without: it says which are there, and does without the others."""

import os
import unittest

from program_runner import UNAVAILABLE, USAGE, ProgramTest, run_program


CLOCK = "perf::TASK-CLOCK"


def events():
    return run_program(0, "events", "--format", "json").document()


HAS_PAPI = events()["papi"] is not None


class BuildParts(ProgramTest):
    def setUp(self):
        self.first_line, *lines = self.run_well(0, "version").stdout.splitlines()
        self.parts = dict(line.split(maxsplit=1) for line in lines)
        self.environment = self.valid_document_of(2, "run", "--class", "S")["environment"]

    def test_the_first_line_is_the_version(self):
        self.assertEqual(self.first_line, self.run_well(0, "--version").stdout.strip())
        self.assertEqual(set(self.parts), {"Commit", "Compiler", "MPI", "BLAS", "PAPI", "hwloc", "zstd", "io_uring"})

    def test_version_and_result_say_the_same(self):
        self.assertEqual(self.parts["BLAS"], self.environment["blas"])
        self.assertRegex(self.parts["BLAS"], r"^(OpenBLAS \d|BLIS \d|.*Math Kernel Library|a CBLAS )")
        self.assertEqual(self.parts["Compiler"], f"{self.environment['compiler']} ({self.environment['flags']})")
        self.assertEqual(self.parts["MPI"].replace(":", ""), self.environment["mpi"].replace(":", ""))
        self.assertRegex(self.parts["zstd"], r"^\d+\.\d+\.\d+$")
        self.assertEqual(self.environment["papi"] is not None, HAS_PAPI)
        if HAS_PAPI:
            self.assertEqual(self.parts["PAPI"].split(".")[0], self.environment["papi"].split(".")[0])
        else:
            self.assertTrue(self.parts["PAPI"].startswith("not in this build: "), self.parts)
        self.assertEqual(self.parts["hwloc"], self.environment["hwloc"])

    def test_cores_are_known(self):
        (node,) = self.environment["nodes"]
        self.assertLessEqual(node["cores"], os.cpu_count())
        self.assertGreaterEqual(node["cores"], 1)
        self.assertNotEqual(node["processor"], "")

    def test_software_events_need_no_papi(self):
        self.assertIn(CLOCK, [event["name"] for event in events()["events"] if event["family"] == "software"])
        counters = self.valid_document_of(2, "run", "--class", "S", "--papi", CLOCK)["counters"]
        self.assertEqual([event["name"] for event in counters["events"]], [CLOCK])
        self.assertEqual(counters["papi"] is not None, HAS_PAPI)


@unittest.skipIf(HAS_PAPI, "this program was built with PAPI")
class WithoutPapi(ProgramTest):
    def test_an_event_of_the_processor_is_refused_in_one_line(self):
        for names in ("PAPI_TOT_CYC", "perf::CYCLES", f"{CLOCK},PAPI_TOT_INS"):
            line = self.assert_refused(run_program(2, "run", "--class", "S", "--papi", names), UNAVAILABLE)
            self.assertRegex(line, r"^cg2d: --papi: \S+: this cg2d was built without PAPI, .*cg2d events")

    def test_a_misspelt_group_is_still_told(self):
        self.assertIn("did you mean software?", self.ends_with(USAGE, run_program(2, "run", "--class", "S", "--papi", "sofware")).stderr)

    def test_a_group_of_processor_events_is_a_warning_and_an_error_if_strict(self):
        (line,) = self.run_well(2, "run", "--class", "S", "--papi", f"branches,{CLOCK}").error_lines()
        self.assertIn("this cg2d was built without PAPI", line)
        self.assert_refused(run_program(2, "run", "--class", "S", "--papi", "branches", "--papi-strict"), UNAVAILABLE)

    def test_events_says_so(self):
        text = self.run_well(0, "events").stdout
        self.assertIn("PAPI is not in this build", text)
        self.assertIn("CG2D_WITH_PAPI", text)


if __name__ == "__main__":
    unittest.main(verbosity=2)
