"""cg2d scaling: the ways to use a node, as a table, JSON and CSV; strong and weak scaling; refused options."""

import json
import os
import re
import signal

from program_runner import CLASS_S_ZETA, INTERRUPTED, MEMORY, MPIEXEC, PROGRAM, SUCCESS, USAGE, BackgroundRun, ProgramTest, run_command, run_program

TOLERANCE = 1e-10  # of the benchmark, for zeta
SHORT = ("--niter", "1", "--rounds", "1")  # where the figures do not matter


def places_of(document):
    return [(way["cores"], way["way"], way["transport"], way["ranks"], way["threads"]) for way in document["ways"]]


ONE_CORE = (1, "one core", "two-sided", 1, 1)
TWO_CORES = [
    (2, "ranks only", "two-sided", 2, 1),
    (2, "shared-memory ranks", "shared", 2, 1),
    (2, "threads only", "two-sided", 1, 2),
]
FOUR_CORES = [
    (4, "ranks only", "two-sided", 4, 1),
    (4, "shared-memory ranks", "shared", 4, 1),
    (4, "ranks x threads", "two-sided", 2, 2),
    (4, "ranks x threads", "shared", 2, 2),
    (4, "threads only", "two-sided", 1, 4),
]


class ScalingTest(ProgramTest):
    def scaling(self, rank_count, *arguments):
        return run_program(rank_count, "scaling", *([] if "--class" in arguments else ["--class", "S"]), *arguments)

    def valid_document(self, rank_count, *arguments, exit_code=SUCCESS):
        document = self.valid_document_of(rank_count, "scaling", "--class", "S", *arguments, code=exit_code)
        self.assertEqual(document["exit_code"], exit_code)
        return document

    def assert_refuses(self, exit_code, words, *arguments):
        outcome = self.scaling(2, *arguments)
        self.assert_refused(outcome, exit_code, *words)
        self.assertEqual(outcome.stdout, "", outcome)


class Strong(ScalingTest):
    def test_every_way_runs_in_every_round(self):
        document = self.valid_document(4, "--rounds", "2")
        self.assertEqual(document["schema_version"], 1)
        self.assertEqual({way.get("cut") for way in document["ways"] if way["ranks"] > 1}, {"even"})
        self.assertEqual(document["scaling"], "strong")
        self.assertEqual(document["options"]["cores"], [1, 2, 4])
        self.assertEqual(places_of(document), [ONE_CORE, *TWO_CORES, *FOUR_CORES])
        for way in document["ways"]:
            self.assertEqual([run["round"] for run in way["rounds"]], [1, 2])
            self.assertEqual(way["n"], 1400)
            for run in way["rounds"]:
                self.assert_close(run["zeta"], CLASS_S_ZETA[-1], TOLERANCE)
                self.assertLessEqual(run["moving_share"] + run["waiting_share"], 1.0)
            figures = way["figures"]
            self.assertEqual(figures["median_s"], min(run["time_s"] for run in way["rounds"]), "the lower of the middle two")
            columns, rows = map(int, figures["grid"].split("x"))
            self.assertEqual(columns * rows, way["ranks"])
            self.assert_close(figures["efficiency"] * way["cores"], figures["speed_up"], 1e-12)
            # A single rank waits for no other.
            if way["ranks"] == 1:
                self.assertEqual(figures["waiting_share"], 0.0)
        for cores in (1, 2, 4):
            figures = [way["figures"] for way in document["ways"] if way["cores"] == cores]
            self.assertEqual(len([one for one in figures if one["is_candidate"]]), 1)
            # Two rounds decide nothing, and one way alone gets no verdict.
            self.assertEqual({one["is_best"] or one["is_decided"] for one in figures}, {False})
            self.assertEqual({one["certainty"] for one in figures}, {"alone" if cores == 1 else "too-few-rounds"})
            self.assertEqual({one["may_be_best"] for one in figures}, {True})
        [agreement] = document["verification"]
        self.assertEqual(agreement["runs"], 18)
        self.assert_close(agreement["reference_zeta"], CLASS_S_ZETA[-1], TOLERANCE)

    def test_the_table(self):
        outcome = self.ends_with(SUCCESS, self.scaling(2, "--rounds", "1"))
        self.assertRegex(outcome.stdout, r"(?m)^Strong scaling of class S \(n 1400\), kernel auto")
        for line in (
            " 1 one core, 1 x 1 1x1 ",
            r" 2 ranks only, two-sided, 2 x 1 \d",
            r" 2 shared-memory ranks, shared, 2 x 1 \d",
            " 2 threads only, 1 x 2 1x1 ",
        ):
            self.assertRegex(re.sub(" +", " ", outcome.stdout), rf"(?m)^{line}")
        # The machine may be busy: then there is a mark.
        self.assertEqual(len(re.findall(r"\*[ !]?\n", outcome.stdout)), 0, outcome)
        self.assertEqual(len(re.findall(r"~[ !]?\n", outcome.stdout)), 3, outcome)
        self.assertRegex(outcome.stdout, r"(?m)^  2 cores: no clear winner: .* in 1 of 1; (at least 8 rounds are needed \(take --repeat \d+\)|too noisy to decide: most runs were disturbed)$")

    def test_by_default_it_makes_as_many_rounds_as_a_verdict_needs(self):
        document = self.valid_document(2, "--niter", "1")
        self.assertEqual(document["options"]["rounds"], 8, "three ways on two cores")
        self.assertEqual({len(way["rounds"]) for way in document["ways"]}, {8})
        self.assertEqual(self.valid_document(1, "--niter", "1")["options"]["rounds"], 3, "one way")

    def test_threads_have_no_room_where_ranks_are_bound(self):
        processors = os.sched_getaffinity(0)
        if len(processors) < 2:
            self.skipTest("needs two processors")
        # Every rank on a processor of its own, as mpiexec -bind-to core has it.
        words = ["scaling", "--class", "S", *SHORT, "--format", "json"]
        parts = [["-n", "1", "taskset", "-c", one, PROGRAM, *words] for one in (min(processors), max(processors))]
        document = self.ends_with(SUCCESS, run_command([MPIEXEC, *parts[0], ":", *parts[1]])).document()
        self.assertEqual(places_of(document), [ONE_CORE, *TWO_CORES[:2]])
        [warning] = document["warnings"]
        self.assertRegex(warning, "^left out: 2 cores, threads only, 1 x 2: its ranks have fewer cores than threads; .*-bind-to none")


class Resumed(ScalingTest):
    def setUp(self):
        self.file = self.folder / "runs.jsonl"

    def test_it_goes_on_where_the_file_ends(self):
        words = ("--niter", "1", "--runs", self.file)
        first = self.valid_document(2, *words, "--rounds", "1")
        lines = self.file.read_text()
        self.assertEqual(lines.count("\n"), 4)
        self.file.write_text(lines[:-50])  # as a kill leaves it
        outcome = self.ends_with(SUCCESS, self.scaling(2, *words, "--rounds", "2", "--format", "json", "--progress"))
        self.assertIn("runs.jsonl: 3 of 8 runs are there already", outcome.stderr)
        ways = outcome.document()["ways"]
        self.assertEqual([[run["round"] for run in way["rounds"]] for way in ways], [[1, 2]] * 4)
        for before, after in zip(first["ways"][:3], ways[:3]):
            self.assertEqual(before["rounds"][0], after["rounds"][0])
        lines = self.file.read_text()
        self.assertEqual(lines.count("\n"), 8)
        self.valid_document(2, *words, "--rounds", "2")
        self.assertEqual(self.file.read_text(), lines, "all runs are there")
        self.valid_document(2, *words, "--rounds", "1", "--cores", "1", "--fresh")
        self.assertEqual(self.file.read_text().count("\n"), 1)
        # The lines are those of a sweep, each on the grid that the run chose.
        [line] = [json.loads(line) for line in self.file.read_text().splitlines()]
        self.assertEqual(line["sweep"]["key"], "U(n 1400, nonzer 7, shift 10, niter 1) 1x1 auto two-sided 1 thread")

    def test_a_failed_run_is_there_and_one_that_ends_the_scaling_is_not(self):
        words = ("--memory-limit", "1MB", "--runs", self.file, *SHORT)
        self.valid_document(2, *words, exit_code=MEMORY)
        lines = self.file.read_text()
        self.assertEqual(lines.count("\n"), 4)
        self.valid_document(2, *words, exit_code=MEMORY)
        self.assertEqual(self.file.read_text(), lines)
        words = ("--operator", "laplace2d:3x3", "--iterations", "90", "--rounds", "1", "--runs", self.file, "--fresh")
        self.assert_refused(run_program(2, "scaling", *words), USAGE)
        self.assertEqual(self.file.read_text(), "")

    def test_another_file_is_refused_and_kept(self):
        self.file.write_text("notes")
        self.assert_refuses(USAGE, [f"{self.file}: it was not written by a sweep", "--fresh"], "--runs", self.file)
        self.assertEqual(self.file.read_text(), "notes")


class Cuts(ScalingTest):
    def test_cuts_are_compared_beside_the_ways(self):
        shares = self.folder / "shares"
        shares.write_text("1 2\n")
        words = ("--cores", "2,3", "--transport", "two-sided", "--niter", "1", "--rounds", "2")
        document = self.valid_document(3, *words, "--cut", f"even,speed,file:{shares},auto")
        self.assertEqual(document["options"]["cuts"], ["even", "speed", f"file:{shares}", "auto"])
        found = [(way["cores"], way["ranks"], way.get("cut")) for way in document["ways"]]
        of_two = [(2, 2, "even"), (2, 2, "speed"), (2, 2, f"file:{shares}"), (2, 1, None)]
        self.assertEqual(found, [(1, 1, None), *of_two, (3, 3, "even"), (3, 3, "speed"), (3, 1, None)])
        self.assertTrue(any(text.startswith(f"cut file:{shares}: only with 2 ranks") for text in document["warnings"]))
        self.assertEqual({run["status"] for way in document["ways"] for run in way["rounds"]}, {"success"})
        self.assert_refuses(USAGE, [f"--cut file:{shares}: has a share for each of 2 ranks", "--cores"], "--cores", "1", "--cut", f"file:{shares}")
        shares.write_text("1\n-2\n")
        self.assert_refuses(65, [f'{shares}:2: found "-2", expected a share'], "--cut", f"file:{shares}")


class Weak(ScalingTest):
    def test_the_order_grows_and_the_ways_agree(self):
        document = self.valid_document(4, "--weak", "--cores", "2,4", "--rounds", "1")
        self.assertEqual(document["scaling"], "weak")
        base = document["ways"][0]["figures"]
        for way in document["ways"]:
            self.assertIsNone(way["figures"]["spread"], "one round has none")
            self.assertEqual(way["n"], 1400 * way["cores"])
            self.assert_close(way["figures"]["efficiency"], base["median_s"] / way["figures"]["median_s"], 1e-12)
        self.assertEqual([one["n"] for one in document["verification"]], [1400, 2800, 5600])
        self.assertEqual([one["reference_zeta"] is None for one in document["verification"]], [False, True, True])
        for agreement in document["verification"]:
            self.assertTrue(agreement["agrees"])
        outcome = self.scaling(2, "--weak", *SHORT)
        self.assertIn("Weak scaling of class U(n 1400, nonzer 7, shift 10, niter 1) (n 1400 x cores)", outcome.stdout)
        self.assertRegex(outcome.stdout, r"n 2800: zeta of 3 runs agrees within \S+ \(1e-10 allowed\)")


class Refused(ScalingTest):
    def test_a_signal_ends_it_with_what_there_is(self):
        file = self.folder / "ways.json"
        words = ["scaling", "--class", "S", "--rounds", "1000", "--format", "json", "--output", file]
        with BackgroundRun(2, *words) as run:
            run.wait_for(r"cg2d: run 3 of 4000 ")
            os.kill(run.ranks()[0], signal.SIGTERM)
            self.ends_with(INTERRUPTED, run.finish())
        document = json.loads(file.read_text())
        self.assertEqual(document["status"], "interrupted")
        self.assertGreaterEqual(len(document["ways"][0]["rounds"]), 1)
