"""scripts/compare-npb with stand-ins for the official programs: they print NPB's closing block with a chosen time."""

import os
import sys

from program_runner import BAD_DATA, MPIEXEC, NO_INPUT, PROGRAM, PROJECT, SUCCESS, UNAVAILABLE, USAGE, ProgramTest, executable, run_command

SCRIPT = PROJECT / "scripts" / "compare-npb"
KEYS = ["schema_version", "date", "version", "ranks", "repeat", "options", "classes"]
KEYS_OF_CLASS = ["class", "npb_program", "npb_version", "npb", "cg2d", "configurations", "disturbed_rounds", "ratio", "verdict"]
# The name of the rank differs between launchers. The order of all runs is kept in a file.
STAND_IN = """#!/usr/bin/python3
import os
rank = next((int(os.environ[name]) for name in ("PMI_RANK", "OMPI_COMM_WORLD_RANK") if name in os.environ), 0)
if rank == 0:
    print('''
 NAS Parallel Benchmarks 3.4 -- CG Benchmark

 CG Benchmark Completed.
 VERIFICATION {verification}
 Class           =                        {letter}
 Size            =                     1400
 Iterations      =                       15
 Time in seconds =               {time_s:>10}
 Total processes =                        {ranks}
 Active processes=                        {ranks}
 Mop/s total     =                   666.47
 Mop/s/process   =                   333.24
 Operation type  =           floating point
 Verification    =               {verification}
 Version         =                    3.4.2
 Compile date    =              01 Jan 2026
''')
"""


class CompareNpb(ProgramTest):
    def setUp(self):
        (self.folder / "bin").mkdir()

    def stand_in(self, name="cg.S.x", text=None, **facts):
        facts = {"letter": "S", "time_s": "100.00", "ranks": 2, "verification": "SUCCESSFUL", **facts}
        return executable(self.folder / "bin" / name, STAND_IN.format(**facts) if text is None else text)

    def compare(self, *words, path=None):
        environment = {**os.environ, "MPIEXEC": MPIEXEC}
        return run_command([sys.executable, SCRIPT, path or self.folder, "--cg2d", PROGRAM, *words], env=environment)

    def row_of(self, *words):
        outcome = self.ends_with(SUCCESS, self.compare("--format", "json", *words))
        document = outcome.document()
        self.assertEqual((list(document), document["schema_version"], document["ranks"]), (KEYS, 1, 2))
        self.assertRegex(document["version"], r"^\d+\.\d+\.\d+$")
        (row,) = document["classes"]
        self.assertEqual((list(row), row["class"]), (KEYS_OF_CLASS, "S"))
        self.assertEqual(list(row["ratio"]), ["ratio", "low", "high"])
        for times in (row["npb"], row["cg2d"]):
            self.assertEqual(list(times), ["times_s", "median_s", "spread", "mops_total"])
            self.assertIn(times["median_s"], times["times_s"])
        return row

    def assert_refused(self, code, pattern, *words, path=None):
        outcome = self.compare(*words, path=path)
        self.assertEqual(outcome.exit_code, code, outcome)
        lines = [line for line in outcome.error_lines() if ", round " not in line]
        self.assertEqual(len(lines), 1, outcome)
        self.assertRegex(lines[0], f"^compare-npb: {pattern}")

    def test_a_slow_official_program(self):
        self.stand_in()
        row = self.row_of("--options", "--grid official --kernel scalar")
        self.assertEqual(row["npb"]["times_s"], [100.0] * 8)
        self.assertEqual((row["npb"]["mops_total"], row["npb"]["spread"], row["npb_version"]), (666.47, 0.0, "3.4.2"))
        self.assertEqual(len(row["cg2d"]["times_s"]), 8)
        self.assertEqual(row["configurations"], ["2x1 scalar"])
        # The median of eight ratios is one of theirs or between two; the interval about it may be wider than they are, by a drift.
        self.assertGreater(row["ratio"]["ratio"], 100.0 / max(row["cg2d"]["times_s"]) * 0.999)
        self.assertLess(row["ratio"]["ratio"], 100.0 / min(row["cg2d"]["times_s"]) * 1.001)
        self.assertLessEqual(row["ratio"]["low"], row["ratio"]["ratio"])
        self.assertGreaterEqual(row["ratio"]["high"], row["ratio"]["ratio"])
        self.assertGreater(row["ratio"]["low"], 1.0)
        self.assertTrue(row["verdict"].startswith("cg2d is faster ("), row)

    def test_turns_and_table(self):
        order = self.folder / "order"
        wrapper = executable(self.folder / "cg2d", f'#!/bin/sh\n[ "$1" = run ] && [ "${{PMI_RANK:-${{OMPI_COMM_WORLD_RANK:-0}}}}" = 0 ] && echo ours >>{order}\nexec {PROGRAM} "$@"\n')
        text = STAND_IN.format(letter="S", time_s="0.05", ranks=2, verification="SUCCESSFUL")
        self.stand_in(text=text + f"    open('{order}', 'a').write('theirs\\n')\n")
        outcome = self.ends_with(SUCCESS, self.compare("--repeat", "3", "--cg2d", wrapper))
        self.assertEqual(order.read_text().split(), ["theirs", "ours", "ours", "theirs", "theirs", "ours"])
        self.assertRegex(outcome.stdout, r"(?m)^Class S: NPB 3\.4\.2: 0\.05 s, 666 Mop/s; cg2d on .*: \S+ s, \d+ Mop/s\n    NPB/cg2d \S+: not decided: 3 of at least 8 rounds")
        self.assertEqual(len([line for line in outcome.error_lines() if ", round " in line]), 3)

    def test_refusals_of_programs(self):
        self.assert_refused(NO_INPUT, ".*neither cg.A.x nor bin/cg.A.x; build it: make cg CLASS=A")
        self.stand_in()
        self.assert_refused(NO_INPUT, ".*neither cg.B.x", "--class", "S,B")
        self.assert_refused(NO_INPUT, ".*cg.A.x: no such program", path=self.folder / "bin" / "cg.A.x")
        self.assert_refused(USAGE, ".*: the name of an official program is cg.<class>.x", path=SCRIPT)
        for facts, pattern in (
            ({"letter": "W"}, ".*ran class W, not S"),
            ({"verification": "UNSUCCESSFUL"}, ".*its verification: UNSUCCESSFUL"),
            ({"ranks": 1}, ".*ran on 1 processes, not on 2: it must be the MPI program"),
            ({"time_s": "0.00"}, ".*too short to be compared"),
            # A moment later: Hydra dies of SIGPIPE where ranks have ended before it is ready for them.
            ({"text": "#!/bin/sh\nsleep 0.3\necho hello\n"}, ".*no closing block"),
            ({"text": "#!/bin/sh\nsleep 0.3\necho broken >&2; exit 3\n"}, ".*ended with code 3: .*"),
        ):
            self.stand_in(**facts)
            self.assert_refused(BAD_DATA, pattern, "--repeat", "1")
        self.stand_in().chmod(0o644)
        self.assert_refused(NO_INPUT, ".*cannot be executed")

    def test_refusals_of_options(self):
        self.stand_in()
        self.assert_refused(USAGE, ".*power of two", "--ranks", "3")
        self.assert_refused(USAGE, ".*from 1 to 9999 rounds", "--repeat", "0")
        self.assert_refused(USAGE, ".*letters of", "--class", "X")
        self.assert_refused(UNAVAILABLE, ".*no such launcher", "--mpiexec", "/no/such/mpiexec")
        self.assert_refused(UNAVAILABLE, ".*no such program", "--cg2d", "/no/such/cg2d")
        self.assert_refused(BAD_DATA, ".*--no-such-option", "--options=--no-such-option")
