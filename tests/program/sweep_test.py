"""cg2d sweep: every configuration exactly once, whatever ends it; its tables; cg2d compare and cg2d export."""

import collections
import copy
import csv
import itertools
import json
import re
import resource

from program_runner import BAD_DATA, SUCCESS, USAGE, BackgroundRun, ProgramTest, factorizations, run_program, temporary_folder
from report_facts import write_lines

REGRESSION, UNDECIDED = 1, 2


def lines_of(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


class SweepTest(ProgramTest):
    def setUp(self):
        self.file = self.folder / "sweep.jsonl"

    def sweep(self, rank_count, *arguments):
        return run_program(rank_count, "sweep", "--class", "S", "--output", self.file, *arguments)

    def assert_complete(self, rank_counts, rounds):
        """Every (grid, round) is there exactly once."""
        expected = {
            (*grid, round_number)
            for ranks, round_number in itertools.product(rank_counts, range(1, rounds + 1))
            for grid in factorizations(ranks)
        }
        found = collections.Counter()
        for line in lines_of(self.file):
            grid = line["configuration"]["grid"]
            found[grid["columns"], grid["rows"], line["sweep"]["round"]] += 1
        self.assertEqual(found, collections.Counter(expected))

    def test_lines_are_runs_in_interleaved_order(self):
        outcome = self.ends_with(SUCCESS, self.sweep(4, "--ranks", "1,2,4", "--repeat", "2"))
        self.assert_complete([1, 2, 4], 2)
        lines = lines_of(self.file)
        self.assertEqual([line["sweep"]["round"] for line in lines], [1] * 6 + [2] * 6)
        for line in lines:
            self.assert_valid(line)
            self.assertTrue(line["result"]["verified"])
            self.assertEqual(line["result"]["repeats"]["count"], 1)
            # The machine is judged by the ranks that take part.
            ranks = line["configuration"]["ranks"]
            self.assertEqual(sum(node["ranks"] for node in line["environment"]["nodes"]), ranks)
            cores = line["environment"]["nodes"][0]["cores"]
            self.assertEqual(line["environment"]["waiting"], "yield" if ranks > cores else "spin")
        for ranks in (1, 2, 4):
            self.assertRegex(outcome.stdout, rf"(?m)^  P = {ranks}: {'1x1 with .* s: nothing to compare it with;' if ranks == 1 else 'no clear winner: .* was faster than .* in [012] of 2 rounds.*; (at least [78] rounds are needed|too noisy to decide)'}")
        (session,) = {line["sweep"]["session"] for line in lines}
        self.assertRegex(session, r"^20\d\d-\d\d-\d\dT")
        self.assertEqual(self.run_well(0, "sweep", "--show", self.file).stdout, outcome.stdout)

    def test_counted_runs_come_after_the_timed_ones(self):
        """Lines of their own, which no table takes for timed ones; a second call makes nothing."""
        words = ["--repeat", "2", "--retries", "0", "--papi", "software", "--roofline"]
        outcome = self.ends_with(SUCCESS, self.sweep(2, *words))
        lines = lines_of(self.file)
        purposes = [line["sweep"].get("purpose") for line in lines]
        self.assertEqual(purposes, [None] * 4 + ["counters"] * 2 + ["limits"] * 2)
        for line in lines:
            self.assert_valid(line)
            purpose = line["sweep"].get("purpose")
            self.assertEqual(line["counters"] is not None, purpose == "counters")
            # The limits are null where ranks outnumber cores.
            self.assertFalse(line["roofline"] and purpose != "limits")
        self.assertIn("events per CG step", outcome.stdout)
        self.assertNotIn("Left out", outcome.stdout)
        verdicts = self.valid_document_of(0, "sweep", "--show", self.file)
        (row,) = verdicts["grids"]
        self.assertEqual([cell["times"]["count"] for cell in row["cells"]], [2, 2])
        self.assertEqual(len(row["why"]), 1)
        self.assertEqual({run["reason"] for run in verdicts["left_out"]} - {"it ran with --roofline"}, {"it ran with --papi"})
        before = self.file.read_text()
        self.assertEqual(self.sweep(2, *words).exit_code, SUCCESS)
        self.assertEqual(self.file.read_text(), before)
        self.ends_with(SUCCESS, self.sweep(2, *words[:5], "perf::MINOR-FAULTS"))
        others = lines_of(self.file)[len(lines) :]
        self.assertEqual([line["sweep"].get("purpose") for line in others], ["counters"] * 2, "the file's runs have counted other events")
        rows = list(csv.DictReader(self.run_well(0, "export", self.file, "--format", "csv").stdout.splitlines()))
        self.assertEqual(len(rows), 4)

    def test_named_grids(self):
        self.assertEqual(self.sweep(4, "--grid", "official,1x2,4x1", "--repeat", "1").exit_code, SUCCESS)
        grids = [line["configuration"]["grid"]["name"] for line in lines_of(self.file)]
        self.assertEqual(sorted(grids), ["1x2", "2x1", "2x2", "4x1"])
        self.assertEqual(self.sweep(4, "--grid", "1x2", "--repeat", "1").exit_code, SUCCESS)
        self.assertEqual(len(lines_of(self.file)), len(grids), "one that is there already")

    def test_the_papers_tables(self):
        outcome = self.ends_with(SUCCESS, self.sweep(2, "--repeat", "1", "--kernel", "sell,scalar", "--paper", "--why", "1x2,2x1"))
        self.assertEqual(re.findall(r"(?m)^ +(\dx\d) +clocks per step(?: +\d+){6}", outcome.stdout), 2 * ["1x2", "2x1"])
        self.assertIn("  Why: ", outcome.stdout)

    def test_the_verdict_for_programs(self):
        self.assertEqual(self.sweep(2, "--ranks", "1,2", "--repeat", "2").exit_code, SUCCESS)
        counted = self.folder / "counted.json"
        self.run_well(1, "run", "--class", "S", "--grid", "1x1", "--papi", "software", "--format", "json", "--output", counted)
        words = ["--show", self.file, "--show", counted]
        verdicts = self.valid_document_of(0, "sweep", *words)
        one, two = verdicts["grids"]
        self.assertEqual((one["verdict"]["candidate"], one["verdict"]["certainty"]), ("S 1x1 auto shared 1 thread", "alone"))
        self.assertEqual((one["verdict"]["best"], two["verdict"]["best"]), (None, None), "one grid gets no verdict")
        self.assertEqual(len(two["verdict"]["undecided"]), 1)
        text = self.run_well(0, "sweep", *words).stdout
        for row in verdicts["grids"]:
            self.assertIn(f"  P = {row['ranks']}: {row['verdict']['text']}.\n", text)
        (left_out,) = verdicts["left_out"]
        self.assertEqual((left_out["place"], left_out["reason"]), (str(counted), "it ran with --papi"))
        self.assertIn("Left out, 1 run: it ran with --papi: S 1x1 ", text)

    def test_by_default_it_makes_as_many_rounds_as_a_verdict_needs(self):
        few = self.ends_with(SUCCESS, self.sweep(2, "--niter", "1", "--repeat", "2", "--progress"))
        self.assertIn("2 configurations, 2 rounds; a verdict on them needs 7\n", few.stderr)
        outcome = self.ends_with(SUCCESS, self.sweep(2, "--niter", "1", "--progress"))
        self.assertIn("2 configurations, 7 rounds; a verdict on them needs 7\n", outcome.stderr)
        self.assertIn("4 of 14 runs are there already", outcome.stderr)
        self.assert_complete([2], 7)
        self.assertEqual({line["sweep"]["rounds"] for line in lines_of(self.file)}, {2, 7})
        self.file.unlink()
        self.assertEqual(self.sweep(1, "--niter", "1").exit_code, SUCCESS)
        self.assert_complete([1], 3)

    def test_until_sure_adds_rounds_of_what_is_undecided(self):
        words = ["--ranks", "1,2", "--repeat", "2", "--until-sure", "2%"]
        self.assertIn("--budget is spent", self.ends_with(SUCCESS, self.sweep(2, *words, "--budget", "0")).stderr)
        self.assert_complete([1, 2], 2)
        self.ends_with(SUCCESS, self.sweep(2, *words, "--budget", "3s"))
        lines = lines_of(self.file)
        rounds = collections.Counter(line["configuration"]["grid"]["name"] for line in lines)
        self.assertEqual(rounds["1x1"], 2, "nothing is in question there")
        self.assertGreaterEqual(rounds["1x2"], 3)
        self.assertEqual(rounds["1x2"], rounds["2x1"])
        self.assertEqual({line["sweep"]["sitting"] for line in lines}, {1, 2})
        self.assertEqual(len({line["sweep"]["session"] for line in lines}), 1)
        self.assert_valid(lines[-1])

    def test_killed_within_the_writing_of_a_line(self):
        """The system kills a process that writes beyond its limit for files (SIGXFSZ), after the bytes within it."""
        # The limit is one of shared memory, too.
        words = ["sweep", "--class", "S", "--ranks", "2,4", "--repeat", "2", "--transport", "two-sided", "--output", self.file]
        for part in (0.25, 0.75):
            with BackgroundRun(4, *words) as run:
                run.wait_for(r"cg2d: run 1 of ")
                processes = run.ranks()
                # Room for the line that may be written meanwhile, and for a part of the next one. Lines differ by a few bytes, so
                # that the part is not to end near the end of a line.
                limit = self.file.stat().st_size + int((1 + part) * len(self.file.read_text().splitlines()[0]))
                for process in processes:
                    resource.prlimit(process, resource.RLIMIT_FSIZE, (limit, limit))
                outcome = run.finish()
            self.assertNotEqual(outcome.exit_code, SUCCESS, outcome)
            self.assertFalse(self.file.read_text().endswith("\n"), "no line was cut off")
        lines = self.file.read_text().splitlines(keepends=True)
        self.run_well(4, *words)
        self.assertTrue(self.file.read_text().startswith("".join(lines[:-1])))
        self.assert_complete([2, 4], 2)

    def test_a_profile_that_is_none(self):
        outcome = run_program(2, "sweep", "--class", "S", "--profile", __file__, "--output", self.file)
        self.assert_refused(outcome, USAGE, "is no tuning profile")
        self.assertFalse(self.file.exists())


def slowed(line, factor):
    changed = copy.deepcopy(line)
    changed["result"]["repeats"]["times_s"] = [factor * time_s for time_s in line["result"]["repeats"]["times_s"]]
    return changed


class ReadersTest(ProgramTest):
    """Commands that process existing results."""

    # Two configurations and all together need nine.
    rounds = 9

    @classmethod
    def setUpClass(cls):
        cls.folder = temporary_folder(cls.addClassCleanup)
        cls.sweep, cls.single = cls.folder / "sweep.jsonl", cls.folder / "run.json"
        single = ("run", "--grid", "1x2", "--format", "json", "--output", cls.single)
        for words in (("sweep", "--repeat", cls.rounds, "--output", cls.sweep), single):
            outcome = run_program(2, *words, "--class", "S")
            assert outcome.exit_code == SUCCESS, outcome
        cls.slow = write_lines(cls.folder / "slow.jsonl", [slowed(line, 100.0) for line in lines_of(cls.sweep)])

    def test_compare_ends_with_1_on_a_regression_and_with_2_where_it_cannot_say(self):
        for words, code in (
            ([self.sweep, self.sweep], SUCCESS),
            ([self.sweep, self.slow], REGRESSION),
            ([self.slow, self.sweep], SUCCESS),
            ([self.sweep, self.slow, "--threshold", "1000000%"], SUCCESS),
            ([self.single, self.slow], UNDECIDED),
            ([self.single, self.single], UNDECIDED),
        ):
            outcome = self.ends_with(code, run_program(0, "compare", *words))
            self.assertEqual(outcome.stdout.count("REGRESSION") > 0, code == REGRESSION, outcome)
            self.assertEqual(outcome.stdout.count("not decided: ") > 0, code == UNDECIDED, outcome)

    def test_compare_finds_a_uniform_slowdown(self):
        """Of 20 %, in three rounds of several configurations, each of which has too few."""
        lines = [line for line in lines_of(self.sweep) if line["sweep"]["round"] <= 3]
        problems = [dict(line["problem"], **{"class": name}) for name in "SW" for line in lines]
        pair = []
        for factor in (1.0, 1.2):
            changed = [slowed(line, factor) for line in lines + lines]
            for line, problem in zip(changed, problems):
                line["problem"] = problem
                line["sweep"]["configuration"]["class"] = problem["class"]
            pair.append(write_lines(self.folder / f"factor-{factor}.jsonl", changed))
        outcome = self.ends_with(REGRESSION, run_program(0, "compare", *pair))
        self.assertIn("All together: B/A 1.200; REGRESSION: slower by 20 % (20 ... 20 %)", outcome.stdout)

    def test_what_cannot_be_compared(self):
        broken = self.file("broken.json", '{"schema_version": 1}')
        one = self.folder / "one.json"
        self.run_well(1, "run", "--class", "S", "--format", "json", "--output", one)
        for words, code, text in (
            ([broken, self.sweep], BAD_DATA, f"{broken}: no result of cg2d"),
            ([self.sweep, one], USAGE, "no configuration is in both"),
        ):
            self.assert_refused(run_program(2, "compare", *words), code, text)

    def test_export(self):
        lines = [json.loads(line) for line in self.run_well(0, "export", self.sweep, "--format", "extra-p").stdout.splitlines()]
        self.assertEqual({tuple(line["params"].items()) for line in lines}, {(("p", 2), ("px", 1)), (("p", 2), ("px", 2))})
        self.assertEqual(len(lines), 2 * self.rounds * 7)
        self.assertEqual({line["metric"] for line in lines}, {"time"})
        (total, *phases) = [line["value"] for line in lines[:7]]
        self.assertEqual([line["callpath"] for line in lines[:2]], ["total", "collection"])
        self.assertLess(sum(phases), 1.01 * total)
        path = self.folder / "export.csv"
        self.run_well(2, "export", self.sweep, self.single, "--format", "csv", "--output", path)
        rows = list(csv.DictReader(path.read_text().splitlines()))
        self.assertEqual([(row["px"], row["py"], row["round"]) for row in rows[:2]], [("1", "2", "1"), ("2", "1", "1")])
        self.assertEqual(len(rows), 2 * self.rounds + 1)
        times = [line["result"]["time_s"] for line in lines_of(self.sweep)]
        for row, time_s in zip(rows, times):
            self.assert_close(float(row["time_s"]), time_s, 1e-8)
