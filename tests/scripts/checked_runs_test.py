"""scripts/simulate, scripts/memcheck and scripts/emulate find planted defects, judge by their tools' words, and refuse bad arguments in one line."""

import contextlib
import io
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import unittest
from unittest import mock

from program_runner import (
    INTERRUPTED, MPIEXEC, PROJECT, SUCCESS, UNAVAILABLE, USAGE, ProgramTest, comes_true, executable, factorizations, names_listed,
    run_command,
)  # fmt: skip

sys.path.insert(0, str(PROJECT / "scripts"))

import checked_runs  # noqa: E402

FOUND = 1
SIMULATE = PROJECT / "scripts" / "simulate"
MEMCHECK = PROJECT / "scripts" / "memcheck"
EMULATE = PROJECT / "scripts" / "emulate"
RIGHT_ZETA = "zeta 8.5733279203"

# Words of SimGrid 3.32, and of valgrind 3.19.
COUNTED = "[0.1] [smpi_utils/INFO] Allocations analysis asked, but 0 bytes were allocated through malloc/calloc calls"
DEADLOCK = """[0.0] ./src/kernel/EngineImpl.cpp:718: [ker_engine/CRITICAL] Oops! Deadlock detected, some activities are still around
[0.0] [smpi/INFO] Stalling SMPI instance: smpirun. Do all your MPI ranks call MPI_Finalize()?"""
LEAK = """[0.0] [smpi_utils/INFO] Probable memory leaks in your code: SMPI detected 4 unfreed MPI handles:
[0.0] [smpi_utils/INFO] 2 leaked handles of type MPI_Comm
[0.0] [smpi_utils/INFO] 2 leaked handles of type MPI_Group"""


def summary(errors):
    return f"==7== ERROR SUMMARY: {errors} errors from {errors} contexts (suppressed: 0 from 0)"


# MPI programs with a defect that MPICH does not show: it takes short messages before they are received.
PROGRAM = """#include <mpi.h>
int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  %s
  MPI_Finalize();
}
"""
PLANTED = {
    "deadlock": "double sent = 1, received = 0; MPI_Send(&sent, 1, MPI_DOUBLE, 1 - rank, 0, MPI_COMM_WORLD);"
    "MPI_Recv(&received, 1, MPI_DOUBLE, 1 - rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);",
    "leak": "MPI_Request request; double sent = 1;"
    "MPI_Send_init(&sent, 1, MPI_DOUBLE, 1 - rank, 0, MPI_COMM_WORLD, &request);",
}
# The condition makes valgrind speak: a copy of what is not initialized is no error.
UNINITIALIZED = """#include <cstdio>
#include <cstdlib>
int main() {
  auto* const values = static_cast<volatile int*>(std::malloc(sizeof(int)));
  if (values[0] == 42) std::puts("42");
  std::free(const_cast<int*>(values));
  std::puts("zeta 8.5733279203");
}
"""
LOST = """#include <cstdio>
#include <cstdlib>
int main() {
  for (int k = 0; k < 8; ++k) static_cast<volatile char*>(std::malloc(1000))[0] = 1;
  std::puts("zeta 8.5733279203");
}
"""
RIGHT = '#include <cstdio>\nint main() { std::puts("zeta 8.5733279203"); }\n'


def row(outcome, name):
    """{column: count} of a line of the table."""
    lines = outcome.stdout.splitlines()
    heads = next(line for line in lines if line.split()[:2] == ["runs", "passed"]).replace("no end", "no-end").replace("other bits", "other-bits").split()
    counts = next(line for line in lines if line.split()[:1] == [name] and line.split()[1:2][0].isdigit()).split()[1:]
    return dict(zip(heads, map(int, counts)))


class ScriptTest(ProgramTest):
    def stand_in(self, name, text):
        """A program of that name, first on the path of run()."""
        executable(self.folder / name, text)

    def run_script(self, *words):
        path = f"{self.folder}{os.pathsep}{os.environ['PATH']}"
        return run_command(words, env={**os.environ, "PATH": path, "MPIEXEC": MPIEXEC})

    def compiled(self, compiler, text, *options):
        source = self.file("planted.cpp", text)
        subprocess.run([compiler, *options, source, "-o", self.folder / "planted"], check=True)
        return self.folder / "planted"


class Arguments(ScriptTest):
    def test_bad_arguments_get_one_line(self):
        for script, name, *arguments in (
            (SIMULATE, "simulate", "--ranks", "0"),
            (SIMULATE, "simulate", "--transports", "smoke"),
            (SIMULATE, "simulate", "--host-speeds", "1,0"),
            (SIMULATE, "simulate", "--host-speeds", "1,2", "--ranks", "2"),
            (SIMULATE, "simulate", "--nothing"),
            (MEMCHECK, "memcheck", "--ranks", "2"),
            (MEMCHECK, "memcheck", "--kernels", "dense"),
            (MEMCHECK, "memcheck", "--seconds", "0"),
            (EMULATE, "emulate", "--processor", "cray-1"),
            (EMULATE, "emulate", "--processor", "riscv64", "--count", "counts"),
        ):
            outcome = self.ends_with(USAGE, self.run_script(script, *arguments))
            self.assertEqual(outcome.stdout, "", outcome)
            self.assertRegex(outcome.stderr, rf"\A{name}: [^\n]+\n\Z")

    def test_without_the_tool_the_packages_are_named(self):
        for script, name, extent in (
            (SIMULATE, "smpirun", "thorough"),
            (MEMCHECK, "valgrind", "thorough"),
            (EMULATE, "qemu-aarch64", "cross"),
        ):
            outcome = self.ends_with(UNAVAILABLE, run_command(["/usr/bin/python3", script], env={"PATH": str(self.folder)}))
            self.assertRegex(outcome.stderr, rf"\A[^\n]*no {name}: [^\n]*scripts/install-dependencies {extent}[^\n]*\n\Z")

    def test_they_know_the_kernels_and_the_transports_of_the_program(self):
        def known(script, option):
            return set(re.search(r"none of (.*); see", self.run_script(script, option, "?").stderr)[1].split(", "))

        self.assertEqual(known(MEMCHECK, "--kernels"), names_listed("--list-kernels"))
        for script in (SIMULATE, MEMCHECK, EMULATE):
            self.assertEqual({name.split(":")[0] for name in known(script, "--transports")}, names_listed("--list-transports"))


class SimulatorJudge(ScriptTest):
    """With a stand-in for smpirun that says what the real one says."""

    def judged(self, words, code=0, *, ranks="2"):
        self.stand_in("smpirun", f"#!/bin/sh\ncat <<'END'\n{words}\nEND\nexit {code}\n")
        return self.run_script(SIMULATE, "--program", "planted", "--ranks", ranks, "--transports", "native")

    def test_a_right_run_passes_on_all_140_grids(self):
        outcome = self.ends_with(SUCCESS, self.judged(f"{RIGHT_ZETA}\n{COUNTED}", ranks="1-36"))
        self.assertEqual(sum(len(factorizations(ranks)) for ranks in range(1, 37)), 140)
        self.assertEqual((row(outcome, "all")["runs"], row(outcome, "native")["passed"]), (140, 140))

    def test_every_other_word_is_a_defect_though_the_code_is_zero(self):
        for kind, words, code in (
            ("deadlock", f"{RIGHT_ZETA}\n{DEADLOCK}\n{LEAK}\n{COUNTED}", 0),
            ("leak", f"{RIGHT_ZETA}\n{LEAK}\n{COUNTED}", 0),
            ("failed", f"{RIGHT_ZETA}\n{COUNTED}", 82),
            ("failed", RIGHT_ZETA, 0),  # handles were not counted
            ("failed", COUNTED, 0),  # no zeta, or another one
        ):
            outcome = self.ends_with(FOUND, self.judged(words, code))
            self.assertEqual((row(outcome, "all")["runs"], row(outcome, "native")[kind]), (2, 2), outcome)

    def test_shares_by_the_speeds_must_beat_even_pieces(self):
        words = ("--program", "planted", "--host-speeds", "1,1,2", "--transports", "native")
        for shares_s, code, end in (("3.1", SUCCESS, ""), ("3.3", FOUND, ": too slow")):
            self.stand_in(
                "smpirun",
                f"#!/bin/sh\ncase \"$*\" in *file:*) time={shares_s};; *) time=4;; esac\n"
                f"cat <<END\n{RIGHT_ZETA}\n{COUNTED}\n[4.0] [smpi_utils/INFO] Simulated time: $time seconds. \nEND\n",
            )
            outcome = self.run_script(SIMULATE, *words)
            self.assertEqual((outcome.exit_code, row(outcome, "native")["passed"]), (code, 4), outcome)
            ratio = f"{float(shares_s) / 4:.3f} x, 0.750 by the speeds"
            for grid in ("1x3", "3x1"):
                self.assertIn(f"native {grid}: 4 s with even pieces, {shares_s} s with shares: {ratio}{end}\n", outcome.stdout)
        self.assertEqual(self.judged(f"{RIGHT_ZETA}\n{COUNTED}").exit_code, SUCCESS, "without speeds no time is needed")
        self.assertEqual(row(self.run_script(SIMULATE, *words), "native")["failed"], 4, "the simulator has told no time")

    def test_a_run_without_an_end_is_ended(self):
        self.stand_in("smpirun", "#!/bin/sh\nsleep 1000\n")
        outcome = self.run_script(SIMULATE, "--program", "planted", "--ranks", "1", "--transports", "put", "--seconds", "1")
        self.assertEqual((outcome.exit_code, row(outcome, "put")["no-end"]), (FOUND, 1), outcome)

    def test_a_signal_ends_what_is_under_way(self):
        self.stand_in("smpirun", f"#!/bin/sh\necho $$ >{self.folder}/started\nexec sleep 1000\n")
        words = [str(SIMULATE), "--program", "planted", "--ranks", "1", "--transports", "put"]
        script = subprocess.Popen(words, env={**os.environ, "PATH": f"{self.folder}{os.pathsep}{os.environ['PATH']}"})
        self.assertTrue(comes_true(lambda: (self.folder / "started").is_file() and (self.folder / "started").read_text()))
        script.terminate()
        self.assertEqual(script.wait(timeout=60), INTERRUPTED)
        started = pathlib.Path("/proc", (self.folder / "started").read_text().strip())
        self.assertTrue(comes_true(lambda: not started.exists()), "it may be a zombie for a moment")

    def test_a_signal_before_a_start_is_noted_ends_the_run_too(self):
        self.addCleanup(signal.signal, signal.SIGTERM, signal.signal(signal.SIGTERM, signal.default_int_handler))
        started = []

        def interrupted_start(*words, of=subprocess.Popen, **options):
            started.append(of(*words, **options))
            os.kill(os.getpid(), signal.SIGTERM)
            return started[-1]

        case = checked_runs.Case("put", "1x1", ("sleep", "1000"), 1, "")
        with mock.patch("subprocess.Popen", interrupted_start), contextlib.redirect_stdout(io.StringIO()) as output:
            self.assertRaises(KeyboardInterrupt, checked_runs.run_all, [case], None, seconds=1000, kinds=())
        self.assertEqual([process.poll() for process in started], [-signal.SIGTERM])
        self.assertIn("put      0", output.getvalue())


class Simulator(ScriptTest):
    """The real one: what MPICH does not show is found."""

    @unittest.skipUnless(shutil.which("smpicxx") and shutil.which("smpirun"), "no SimGrid here")
    def test_planted_defects_are_found(self):
        for kind, text in PLANTED.items():
            program = self.compiled("smpicxx", PROGRAM % text)
            outcome = self.run_script(SIMULATE, "--program", program, "--ranks", "2", "--transports", "two-sided")
            self.assertEqual((outcome.exit_code, row(outcome, "two-sided")[kind]), (FOUND, 2), outcome)


class MemcheckJudge(ScriptTest):
    """With a stand-in for valgrind that writes the log of the real one."""

    def judged(self, log, output=RIGHT_ZETA, code=0, *, ranks="4"):
        self.stand_in(
            "valgrind",
            '#!/bin/sh\nfor word; do case $word in --log-file=*) log=${word#--log-file=};; esac; done\n'
            f"cat >\"${{log%\\%p}}$$\" <<'END'\n{log}\nEND\necho '{output}'\nexit {code}\n",
        )
        return self.run_script(MEMCHECK, "--program", "planted", "--ranks", ranks, "--kernels", "sell", "--transports", "put,put:2")

    def test_runs_without_errors_pass(self):
        outcome = self.ends_with(SUCCESS, self.judged(summary(0), ranks="1,4"))
        self.assertEqual((row(outcome, "all")["passed"], row(outcome, "put:2")["passed"]), (6, 2))

    def test_errors_and_missing_summaries_are_defects(self):
        for kind, log, output, code in (
            ("errors", summary(1), RIGHT_ZETA, 0),
            ("failed", "==7== Memcheck, a memory error detector", RIGHT_ZETA, 0),
            ("failed", summary(0), RIGHT_ZETA, 3),
            ("failed", summary(0), "", 0),
        ):
            outcome = self.judged(log, output, code)
            self.assertEqual((outcome.exit_code, row(outcome, "all")[kind]), (FOUND, 3), outcome)


class Memcheck(ScriptTest):
    """The real one."""

    @unittest.skipUnless(shutil.which("valgrind"), "no valgrind here")
    def test_planted_defects_are_found_and_nothing_in_a_right_program(self):
        for text, expected in ((UNINITIALIZED, "errors"), (LOST, "errors"), (RIGHT, "passed")):
            program = self.compiled("g++", text, "-O0", "-g")
            outcome = self.run_script(MEMCHECK, "--program", program, "--ranks", "1", "--kernels", "sell", "--transports", "")
            self.assertEqual(row(outcome, "sell")[expected], 1, outcome)
            self.assertEqual(outcome.exit_code, SUCCESS if expected == "passed" else FOUND, outcome)


class EmulatorJudge(ScriptTest):
    """With stand-ins for the emulator and for the program of this processor."""

    # A run's words, and the result of one that is asked for it. The ranks share a folder.
    PROGRAM = """#!/bin/sh
[ "${{PMI_RANK:-0}}" = 0 ] || exit 0
case "$*" in
  *--output*) echo '{{"result": {{"zeta": {zeta}, "rnorm": 1e-15, "verified": true}}}}' >result.json;;
  *check) echo 'all checks passed';;
  *solve*) echo 'converged';;
  *) echo '{words}';;
esac
case "$*" in *--checkpoint*) mkdir checkpoints; touch checkpoints/00000013.0-of-4.checkpoint checkpoints/00000014.0-of-4.checkpoint;; esac
exit {code}
"""

    def judged(self, *, words=RIGHT_ZETA, zeta="8.5", code=0):
        self.stand_in("qemu-aarch64", self.PROGRAM.format(words=words, zeta=zeta, code=code))
        self.stand_in("native", self.PROGRAM.format(words="", zeta="8.5", code=0))
        return self.run_script(EMULATE, "--program", "planted", "--native", self.folder / "native", "--ranks", "1,2", "--transports", "put")

    def test_right_runs_pass(self):
        outcome = self.ends_with(SUCCESS, self.judged())
        self.assertEqual((row(outcome, "all")["passed"], row(outcome, "put")["passed"], row(outcome, "check")["passed"]), (9, 2, 1))

    def test_other_words_other_bits_and_other_codes_are_defects(self):
        for name, kind, count, changed in (
            ("put", "failed", 2, {"words": "zeta 8.5"}),
            ("reproducible", "other-bits", 2, {"zeta": "8.500000000000002"}),
            ("restart", "other-bits", 2, {"zeta": "8.500000000000002"}),
            ("check", "failed", 1, {"code": 70}),
            ("solve", "failed", 2, {"code": 83}),
        ):
            outcome = self.judged(**changed)
            self.assertEqual((outcome.exit_code, row(outcome, name)[kind]), (FOUND, count), outcome)

    def test_a_program_that_fails_here_is_one_line(self):
        self.stand_in("qemu-aarch64", self.PROGRAM.format(words="", zeta="8.5", code=0))
        outcome = self.run_script(EMULATE, "--program", "planted", "--native", "/bin/false")
        self.assertEqual((outcome.exit_code, outcome.stdout), (UNAVAILABLE, ""), outcome)
        self.assertRegex(outcome.stderr, r"\Aemulate: /\S*false fails on this processor \(exit code 1\)[^\n]*\n\Z")
