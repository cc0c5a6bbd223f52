"""Processors that lack what others have, under an emulator: a result, or one line and the code 69, and no signal."""

import os
import platform
import shutil
import unittest

from program_runner import PROGRAM, SUCCESS, THOROUGH, UNAVAILABLE, ProgramTest, run_command

EMULATOR = shutil.which("qemu-x86_64")
MODELS = ["Nehalem", "Haswell"]
if THOROUGH:
    MODELS += ["Conroe", "Penryn", "Westmere", "SandyBridge", "IvyBridge", "Broadwell", "Skylake-Client", "Opteron_G1", "Opteron_G3", "Opteron_G5", "EPYC"]
# The emulator says what it does not emulate of a model.
WARNING = "qemu-x86_64: warning: "


@unittest.skipUnless(EMULATOR and platform.machine() == "x86_64", "no qemu-x86_64")
class OldProcessors(ProgramTest):
    def run_on(self, model, *words):
        environment = {name: value for name, value in os.environ.items() if name != "CG2D_INSTRUCTION_SET"}
        return run_command([EMULATOR, "-cpu", model, PROGRAM, *words], env=environment)

    def test_each_model_gives_a_result_or_a_line(self):
        """ec815b87: an object with a constructor calls rdtscp before main(); Nehalem ends with an illegal instruction."""
        if "sanitize" in run_command([PROGRAM, "version"]).stdout:
            self.skipTest("sanitizers want an address space of their own")
        for model in MODELS:
            for words in (("version",), ("run", "--class", "S", "--no-profile")):
                outcome = self.run_on(model, *words)
                if outcome.exit_code == UNAVAILABLE:
                    self.assertEqual(len([line for line in outcome.error_lines() if not line.startswith(WARNING)]), 1, outcome)
                else:
                    self.assertEqual(outcome.exit_code, SUCCESS, outcome)
