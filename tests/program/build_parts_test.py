"""The libraries that a program can be built without: it says which are there, and what it cannot do without the others."""

import os
import unittest

from program_runner import UNAVAILABLE, ProgramTest, run_program


CLOCK = "perf::TASK-CLOCK"
HAS_PAPI = "PAPI    not in this build" not in run_program(0, "version").stdout


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
        self.assertEqual(self.parts["MPI"], self.environment["mpi"])
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

    @unittest.skipUnless(HAS_PAPI, "this program was built without PAPI")
    def test_counters_name_their_papi(self):
        counters = self.valid_document_of(2, "run", "--class", "S", "--papi", CLOCK)["counters"]
        self.assertEqual([event["name"] for event in counters["events"]], [CLOCK])
        self.assertIsNotNone(counters["papi"])


@unittest.skipIf(HAS_PAPI, "this program was built with PAPI")
class WithoutPapi(ProgramTest):
    def test_events_are_refused_in_one_line(self):
        for names in ("PAPI_TOT_CYC", "perf::CYCLES", CLOCK, "software"):
            line = self.assert_refused(run_program(2, "run", "--class", "S", "--papi", names), UNAVAILABLE)
            self.assertRegex(line, r"^cg2d: --papi: this cg2d was built without PAPI, .*CG2D_WITH_PAPI")
        environment = {**os.environ, "PAPI_EVENTS": CLOCK}
        outcome = run_program(2, "run", "--class", "S", env=environment)
        self.assertIn("PAPI_EVENTS: this cg2d was built without PAPI", self.ends_with(UNAVAILABLE, outcome).stderr)

    def test_events_says_so(self):
        line = self.assert_refused(run_program(1, "events"), UNAVAILABLE)
        self.assertRegex(line, r"^cg2d: this cg2d was built without PAPI")
