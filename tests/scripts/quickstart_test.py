"""scripts/quickstart in a folder of its own, with a cmake and a launcher that only say what they would do."""

import os
import shutil

from program_runner import PROJECT, SUCCESS, ProgramTest, executable, run_command

NINJA_LINES = ("[0/2] Re-running CMake...", "[1/4] Building CXX object a.o", "a.cpp: warning: unused", "[4/4] Linking cg2d")


class Quickstart(ProgramTest):
    def setUp(self):
        (self.folder / "scripts").mkdir()
        for name in ("quickstart", "common.sh"):
            shutil.copy(PROJECT / "scripts" / name, self.folder / "scripts")
        self.stub("scripts/install-dependencies", "")
        self.stub("launcher", 'echo "launched: $*"')

    def stub(self, name, text):
        executable(self.folder / name, f"#!/bin/sh\n{text}\n")

    def quickstart(self, build_code=0):
        prints = "\n".join(f"echo '{line}'" for line in NINJA_LINES)
        self.stub("cmake", f'case "$*" in --build*) ;; *) exit 0 ;; esac\n{prints}\nexit {build_code}')
        path = f"{self.folder}:{os.environ['PATH']}"
        env = os.environ | {"PATH": path, "MPIEXEC": str(self.folder / "launcher"), "MPICXX": "mpicxx"}
        return run_command([self.folder / "scripts" / "quickstart"], env=env)

    def test_the_build_says_what_is_left_and_no_time_before(self):
        lines = self.ends_with(SUCCESS, self.quickstart()).stdout.splitlines()
        begin = lines.index(NINJA_LINES[0])
        self.assertNotRegex("\n".join(lines[:begin]), r"\d+ s\b|minute")
        self.assertRegex(lines[begin + 1], r"^\[1/4\] \d+ s, about \d+ s left: Building CXX object a\.o$")
        self.assertEqual(lines[begin + 2], NINJA_LINES[2])
        self.assertRegex(lines[begin + 3], r"^\[4/4\] \d+ s, about 0 s left: Linking cg2d$")

    def test_its_first_result_is_a_verified_run(self):
        """A sweep would end with advice on rounds."""
        launched = [line for line in self.quickstart().stdout.splitlines() if line.startswith("launched")]
        self.assertEqual(launched, ["launched: -n 2 build/release/cg2d run --class A"])

    def test_a_build_that_fails_ends_it(self):
        outcome = self.quickstart(build_code=3)
        self.assertEqual((outcome.exit_code, "launched" in outcome.stdout), (3, False), outcome)
