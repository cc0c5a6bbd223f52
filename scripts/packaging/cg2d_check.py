"""A ReFrame check: class B on 2 ranks verifies, and takes about as long as it did.

    reframe -c scripts/packaging/cg2d_check.py -r
    reframe -c scripts/packaging/cg2d_check.py -r -S reference_s=7.9 -S tolerance=0.05 -S program=/opt/cg2d/bin/cg2d

reference_s is that of a machine: measure it once, and name it in the site's own call. Longer than reference_s * (1 + tolerance) fails.
"""

import reframe as rfm
import reframe.utility.sanity as sn
from reframe.core.builtins import performance_function, run_before, sanity_function, variable


@rfm.simple_test
class Cg2dClassB(rfm.RunOnlyRegressionTest):
    descr = "NAS CG class B on 2 ranks"
    valid_systems = ["*"]
    valid_prog_environs = ["*"]
    program = variable(str, value="cg2d")
    # 2 cores of an AMD EPYC (Zen 4, virtual machine), gcc 12.2, MPICH 4.0.2, 2026-11.
    reference_s = variable(float, value=6.5)
    tolerance = variable(float, value=0.15)
    num_tasks = 2
    num_tasks_per_node = 2
    time_limit = "10m"

    @run_before("run")
    def choose_command(self):
        self.executable = self.program
        self.executable_opts = ["run", "--class", "B", "--grid", "1x2"]

    @run_before("performance")
    def expect_time(self):
        self.reference = {"*": {"time": (self.reference_s, None, self.tolerance, "s")}}

    @sanity_function
    def verifies(self):
        return sn.all([
            sn.assert_found(r"VERIFICATION SUCCESSFUL", self.stdout),
            sn.assert_found(r"Total processes *= *2\b", self.stdout),
        ])  # fmt: skip

    @performance_function("s")
    def time(self):
        return sn.extractsingle(r"Time in seconds *= *(\S+)", self.stdout, 1, float)

    @performance_function("Mop/s")
    def mops_total(self):
        return sn.extractsingle(r"Mop/s total *= *(\S+)", self.stdout, 1, float)
