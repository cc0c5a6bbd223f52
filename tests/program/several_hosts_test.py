"""Runs over several hosts, which are pretended on this machine. Skipped, with the reason, where that cannot be done."""

import subprocess
import sys
import unittest

import pretended_hosts
from program_runner import CLASS_S_ZETA, SUCCESS, VERIFICATION_FAILED, ProgramTest, comes_true, kill_all

SKIPPED = 77  # told to CTest in program_tests.cmake
TRANSPORTS = ("two-sided", "native", "put", "shared")
# Runs take one or two seconds, and more on a machine that is busy. A hang lasts for ever.
LIMIT_S = 60.0


class SeveralHosts(ProgramTest):
    def run_class_s(self, hosts, ranks_per_host, *arguments):
        return hosts.run(ranks_per_host, "run", "--class", "S", "--no-profile", "--format", "json", *arguments, timeout_s=LIMIT_S)

    def test_every_transport_ends_well_on_two_hosts(self):
        with pretended_hosts.PretendedHosts(2) as hosts:
            for transport in TRANSPORTS:
                outcome = self.ends_with(SUCCESS, self.run_class_s(hosts, 2, "--grid", "2x2", "--transport", transport))
                self.assert_close(outcome.document()["result"]["zeta"], CLASS_S_ZETA[-1], 1e-12)
                self.assertEqual(len(outcome.document()["environment"]["nodes"]), 2)

    def test_more_ranks_than_cores_that_no_host_knows_of(self):
        """This hung after its result in three of three runs (MPICH 4.0.2)."""
        with pretended_hosts.PretendedHosts(3) as hosts:
            self.ends_with(SUCCESS, self.run_class_s(hosts, 2, "--grid", "2x3"))

    def test_the_code_comes_from_all_hosts(self):
        with pretended_hosts.PretendedHosts(2) as hosts:
            self.ends_with(VERIFICATION_FAILED, self.run_class_s(hosts, 1, "--reference", "17"))

    def test_a_host_that_fails_ends_the_run(self):
        with pretended_hosts.PretendedHosts(2) as hosts:
            run = hosts.start(2, "run", "--class", "A", "--niter", "1000000", "--reference", "17", "--no-profile", "--progress")
            try:
                for line in run.stderr:
                    if "outer iteration 2/" in line:
                        break
                hosts.kill(2)
                run.communicate(timeout=LIMIT_S)
                self.assertNotEqual(run.returncode, SUCCESS)
                comes_true(lambda: not hosts.processes(1), 10.0)  # killed ones take a moment to go
                self.assertEqual(hosts.processes(1), [])
            except subprocess.TimeoutExpired:
                self.fail("hangs after a host has failed")
            finally:
                kill_all(run)
                run.wait()


if __name__ == "__main__":
    reason = pretended_hosts.why_not()
    if reason:
        print(f"skipped: no hosts can be pretended: {reason}")
        sys.exit(SKIPPED)
    unittest.main()
