"""The readers of scripts/report, its table of figures, and how it refuses."""

import copy
import json
import pathlib
import re
import sys
import tempfile
import unittest

from program_runner import PROJECT, SUCCESS, USAGE, run_command, run_program
from report_facts import (
    BENCH,
    PROFILE,
    as_class_b,
    real_sweep,
    with_counters,
    with_predictions,
    with_rooflines,
    with_second_kernel,
    write_lines,
)

from report_parts import cp_pacs, figures_counters, figures_grid, figures_prediction, figures_roofline, page, results, style
from report_parts.errors import BAD_DATA, CANNOT_CREATE, NO_INPUT, UNAVAILABLE, ReportError
from report_parts.figure_table import FIGURES, Material
from report_parts.studies import make_studies, official_grid, percent, seconds


class ReportParts(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.sweep = real_sweep()

    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="cg2d-report-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def file(self, text, name="results.json"):
        path = self.folder / name
        path.write_text(text)
        return path

    def read(self, *documents):
        return results.read_results([write_lines(self.folder / "sweep.jsonl", documents)])

    def refusal(self, exit_code, pattern, function, *arguments):
        with self.assertRaisesRegex(ReportError, pattern) as caught:
            function(*arguments)
        self.assertEqual(caught.exception.exit_code, exit_code)
        self.assertNotIn("\n", str(caught.exception))


class Readers(ReportParts):
    def test_a_single_result_and_lines_are_read_alike(self):
        single = self.file(json.dumps(self.sweep[0], indent=2))
        lines = write_lines(self.folder / "lines.jsonl", self.sweep[1:])
        read = results.read_results([single, lines])
        self.assertEqual([run.document for run in read.runs], self.sweep)
        self.assertEqual(read.notes, [])

    def test_a_last_line_that_was_cut_off_is_noted(self):
        whole = "".join(json.dumps(document) + "\n" for document in self.sweep[:2])
        read = results.read_results([self.file(whole + json.dumps(self.sweep[2])[:300])])
        self.assertEqual(len(read.runs), 2)
        self.assertRegex(read.notes[0], r":3: the last line is cut off")

    def test_what_is_no_line_is_refused(self):
        line = json.dumps(self.sweep[0])
        path = self.file(f"{line}\nnothing\n{line}\n")
        self.refusal(BAD_DATA, r"results.json:2: not JSON", results.read_results, [path])

    def test_files_that_are_no_results(self):
        for text, why in (
            ("", "empty"),
            ("class S took long\n", "neither JSON nor JSON Lines"),
            ("[]", "not a result"),
            ("{}", "not a result"),
            ('{"schema_version": 2, "status": "success"}', "schema_version is 2; this report reads 1"),
            ('{"schema_version": 1, "status": "success"}', "no 'problem'"),
            ('{"schema_version": 1, "status": "planned"}', "no finished run"),
        ):
            self.refusal(BAD_DATA, why, results.read_results, [self.file(text)])
        self.refusal(NO_INPUT, "No such file", results.read_results, [self.folder / "none"])

    def test_numbers_that_cannot_be(self):
        def wrong(change):
            document = copy.deepcopy(self.sweep[0])
            change(document)
            self.refusal(BAD_DATA, "run_result.schema.json", self.read, document)

        wrong(lambda document: document["result"]["repeats"].update(times_s=[]))
        wrong(lambda document: document["result"]["repeats"].update(times_s=[0.0]))
        wrong(lambda document: document["configuration"].update(ranks=7))
        wrong(lambda document: document["phases"]["ranks"][0]["phases"].pop("dot"))
        wrong(lambda document: document.pop("problem"))
        wrong(lambda document: document["environment"].pop("mpi"))
        wrong(lambda document: document["environment"].update(nodes=[]))
        wrong(lambda document: document.update(prediction={"machine": "test", "total_s": 1.0}))
        wrong(lambda document: document.update(roofline={"flops_per_s": 1.0}))
        wrong(lambda document: document.update(counters={"events": [{"name": "perf::TASK-CLOCK"}]}))

    def test_runs_that_did_not_finish_are_noted(self):
        refused = run_program(2, "run", "--class", "S", "--grid", "3x3", "--format", "json").document()
        read = self.read(self.sweep[0], refused)
        self.assertEqual(len(read.runs), 1)
        self.assertRegex(read.notes[0], r"sweep.jsonl:2: left out, usage-error: ")
        self.refusal(BAD_DATA, "no finished run.*usage-error", self.read, refused)

    def test_wrong_results_are_told_apart(self):
        wrong = run_program(1, "run", "--class", "S", "--reference", "9", "--format", "json").document()
        self.assertEqual([run.is_wrong for run in self.read(self.sweep[0], wrong).runs], [False, True])

    def test_profiles_and_benchmarks(self):
        (entry,) = results.read_profile(self.file(json.dumps(PROFILE))).values()
        self.assertEqual((entry["critical_vector_length"], entry["curve"][0]), (8, (1.0, 1.5, 12.0)))
        points = results.read_bench(self.file(json.dumps(BENCH)))
        self.assertEqual([point["kernel"] for point in points], ["scalar", "sell"] * 2)
        self.assertAlmostEqual(points[0]["gflops"], 2.0 / 1.2)
        for text in ("{}", "[]", '{"processors": {"a": {}}, "benchmarks": [{}]}'):
            self.refusal(BAD_DATA, "not a tuning profile", results.read_profile, self.file(text))
            self.refusal(BAD_DATA, "not a result of spmv_bench", results.read_bench, self.file(text))


class Studies(ReportParts):
    def test_the_official_grid(self):
        self.assertEqual(
            {count: official_grid(count) for count in (1, 2, 3, 4, 8, 12, 16, 32)},
            {1: (1, 1), 2: (2, 1), 3: None, 4: (2, 2), 8: (4, 2), 12: None, 16: (4, 4), 32: (8, 4)},
        )

    def timed(self, document, *times_s):
        changed = copy.deepcopy(document)
        changed["result"]["repeats"]["times_s"] = list(times_s)
        return changed

    def test_the_best_grid_has_the_least_median_of_all_rounds(self):
        one, other = [document for document in self.sweep if document["configuration"]["ranks"] == 2][:2]
        runs = self.read(self.timed(one, 1.0), self.timed(other, 3.0, 3.1), self.timed(one, 9.0, 9.1)).runs
        (study,) = make_studies(runs)
        self.assertEqual(study.best(2).median_s, 3.05)
        self.assertEqual(study.worst(2).times_s, [1.0, 9.0, 9.1])
        self.assertEqual(study.official(2).grid, (2, 1))
        self.assertAlmostEqual(study.worst(2).spread, (9.1 - 1.0) / 9.0)

    def test_of_several_kernels_the_fastest_stands_for_a_grid(self):
        slow, fast = self.timed(self.sweep[0], 2.0), self.timed(self.sweep[0], 1.0)
        slow["configuration"]["kernel"] = "scalar"
        (study,) = make_studies(self.read(slow, fast).runs)
        self.assertEqual([case.median_s for case in study.all_cases()], [1.0])
        self.assertEqual([case.median_s for case in study.alternatives[1][1]], [1.0, 2.0])

    def test_numbers_of_threads_are_told_apart(self):
        threads = copy.deepcopy(self.sweep[0])
        threads["configuration"]["threads"] = 2
        names = [study.name for study in make_studies(self.read(self.sweep[0], threads).runs)]
        self.assertEqual(sorted(names), ["class S", "class S, 2 threads per rank"])

    def test_texts(self):
        texts = [seconds(value) for value in (12.34, 0.9999, 0.01234, 2e-6)]
        self.assertEqual(texts, ["12.3 s", "1.00 s", "12.3 ms", "2.00 µs"])
        self.assertEqual([percent(value) for value in (1.004, 0.9, 1.25)], ["+0.4 %", "-10 %", "+25 %"])


class FigureTable(ReportParts):
    def reasons(self, documents, profile=None, bench=None):
        read = self.read(*documents)
        read.profile, read.bench = profile, bench
        material = Material(read)
        return {row.name: row.why_missing(material) for row in FIGURES}

    def test_names_are_there_once(self):
        self.assertEqual(len({row.name for row in FIGURES}), len(FIGURES))
        for row in FIGURES:
            self.assertTrue(row.title and row.needs, row.name)

    def test_one_run_says_what_else_is_needed(self):
        reasons = self.reasons(self.sweep[:1])
        there = {name for name, why in reasons.items() if not why}
        self.assertEqual(there, {"phases-by-grid", "convergence"})
        for name, words in (
            ("time-by-grid", "no two grids"),
            ("time-over-px", "no two grids"),
            ("prediction", "cg2d model --calibrate"),
            ("scaling", "same number of ranks"),
            ("rank-plane", "several ranks"),
            ("counters", "--papi EVENT"),
            ("row-length", "--profile FILE"),
            ("settings", "several kernels"),
            ("roofline", "no run with --roofline"),
            ("roofline", "--bench FILE"),
            ("machines", "class B"),
            ("repeats", "--repeat N"),
        ):
            self.assertIn(words, reasons[name], name)

    def test_events_that_could_not_be_counted_are_the_reason(self):
        documents = with_counters(self.sweep)
        for document in documents:
            document["counters"]["events"] = []
        self.assertIn("PAPI_L2_TCM: Event does not exist", self.reasons(documents)["counters"])

    def test_runs_without_phases(self):
        documents = copy.deepcopy(self.sweep)
        for document in documents:
            document["phases"] = None
        reasons = self.reasons(documents)
        self.assertIn("--no-phases", reasons["phases-by-grid"])
        self.assertEqual(reasons["time-by-grid"], "")

    def test_all_data_leaves_nothing_out(self):
        documents = with_second_kernel(with_rooflines(with_counters(with_predictions(self.sweep + as_class_b(self.sweep)))))
        profile = results.read_profile(self.file(json.dumps(PROFILE)))
        bench = results.read_bench(self.file(json.dumps(BENCH)))
        self.assertEqual(set(self.reasons(documents, profile, bench).values()), {""})

    def test_table_7_is_whole(self):
        for name, times_s in cp_pacs.TABLE_7_S.items():
            self.assertEqual(len(times_s), len(cp_pacs.TABLE_7_PROCESSORS), name)
        self.assertEqual(cp_pacs.TABLE_7_S["CP-PACS"], (101.25, 54.51, 30.3, 17.59, 11.38))

    def test_heat_colours_go_from_end_to_end(self):
        self.assertEqual(style.heat_colour(1.0, 1.0, 3.0), style.HEAT[0])
        self.assertEqual(style.heat_colour(3.0, 1.0, 3.0), style.HEAT[-1])
        self.assertEqual(style.heat_colour(5.0, 5.0, 5.0), style.HEAT[0])


class Figures(ReportParts):
    def material(self, documents):
        return Material(self.read(*documents))

    def test_points_lie_under_the_roofs_of_their_run(self):
        (study,) = self.material(with_rooflines(self.sweep)).studies
        rank_count, cases = figures_roofline.roofline_cases(study)
        panel = figures_roofline.roofline_panel(study, rank_count, cases[0])
        lines = {line.name: line for line in panel.lines}
        matrix_roof = "8 GB/s over the matrix (2 MB on a rank, 4 MB in all)"
        self.assertEqual(
            list(lines),
            [
                "multiply", "dot", "vector updates",
                matrix_roof, "16 GB/s over the vectors (0.05 MB on a rank, 0.1 MB in all)", "32 Gflop/s of arithmetic",
            ],
        )  # fmt: skip
        # Gflop/s of all ranks; the tip has the share.
        self.assertAlmostEqual(lines["multiply"].x[0], 1.5e6 / 8e6)
        self.assertAlmostEqual(lines["multiply"].y[0], rank_count * 1.5e6 / 2e-3 / 1e9)
        self.assertIn("50 % of the limit", lines["multiply"].tips[0])
        # The bandwidth meets the arithmetic at the ridge.
        self.assertEqual((lines[matrix_roof].x[1], lines[matrix_roof].y[1]), (4.0, 32.0))
        self.assertEqual(lines["32 Gflop/s of arithmetic"].x[0], 2.0)

    def test_a_roof_of_an_earlier_program_has_no_footprint(self):
        limits = {"matrix_bytes_per_s": 8e9, "vector_bytes_per_s": 16e9, "flops_per_s": 32e9}
        names = [line.name for line in figures_roofline.roofs(limits, 0.1, 10.0)]
        self.assertEqual(names, ["8 GB/s over the matrix", "16 GB/s over the vectors", "32 Gflop/s of arithmetic"])

    def test_shares_of_the_limit(self):
        (study,) = self.material(with_rooflines(self.sweep)).studies
        rank_count, cases = figures_roofline.roofline_cases(study)
        panel = figures_roofline.share_panel(study, rank_count, cases)
        self.assertEqual([bars.name for bars in panel.bars], [f"{px}x{py}" for px, py in (case.grid for case in cases)])
        for bars in panel.bars:
            self.assertEqual(dict(zip(results.PHASES, bars.values))["shuffle"], None)
            self.assertEqual(dict(zip(results.PHASES, bars.values))["collection"], 50.0)

    def test_a_roofline_is_found_beside_a_sweep_without(self):
        (alone,) = with_rooflines([document for document in self.sweep if document["configuration"]["ranks"] == 2][:1])
        (study,) = self.material([*self.sweep, alone]).studies
        rank_count, cases = figures_roofline.roofline_cases(study)
        self.assertEqual((rank_count, len(cases)), (2, 1))
        self.assertEqual(cases[0].run_with("roofline").document, alone)

    def test_events_are_found_beside_a_sweep_without(self):
        (alone,) = with_counters(self.sweep[:1])
        _, _, (case,) = figures_counters.counted_cases(self.material([*self.sweep, alone]))
        self.assertEqual(list(figures_counters.events_of(case)), ["perf::TASK-CLOCK"])

    def test_residuals_of_every_phase_and_of_the_total(self):
        documents = with_predictions(self.sweep)
        for document in documents:
            predicted = document["prediction"]["phases"]
            # A short phase that is far off is pale, and does not stretch the axis.
            for rank in document["phases"]["ranks"]:
                rank["phases"]["dot"]["seconds"] = 1e-4 * document["result"]["time_s"]
            predicted["dot"] = 1e-3 * document["result"]["time_s"]
            document["result"]["time_s"] /= 2
        (study,) = self.material(documents).studies
        panel = figures_prediction.residual_panel(study)
        self.assertEqual(panel.x.names, ["1x1", "1x2", "2x1", "1x4", "2x2", "4x1"])
        lines = {(line.name, line.colour): line for line in panel.lines}
        for value in lines["multiply", style.PHASE_COLOURS["multiply"]].y:
            self.assertAlmostEqual(value, 10.0)
        for value in lines["total", style.SERIES[6]].y:
            self.assertAlmostEqual(value, 120.0)
        pale = lines["dot", style.pale(style.PHASE_COLOURS["dot"])]
        for value, tip in zip(pale.y, pale.tips):
            self.assertAlmostEqual(value, 1.3 * 120)
            self.assertIn("dot: +900.0 %", tip)
        self.assertNotIn(("dot", style.PHASE_COLOURS["dot"]), lines)

    def test_a_far_residual_does_not_stretch_the_axis(self):
        def points(*deviations):
            return [(place, deviation, "", True) for place, deviation in enumerate(deviations)]

        found = dict.fromkeys(results.PHASES, []) | {figures_prediction.TOTAL: points(5.0)}
        self.assertEqual(figures_prediction.bound_of(found), 13.0)
        found["dot"] = points(*range(-19, 1), 900.0, -800.0)
        self.assertAlmostEqual(figures_prediction.bound_of(found), 1.3 * 19)
        found[figures_prediction.TOTAL] = points(5.0, -60.0)
        self.assertAlmostEqual(figures_prediction.bound_of(found), 1.3 * 60)

    def test_kernels_are_beside_each_other(self):
        material = self.material(with_second_kernel(self.sweep))
        ((study, rank_count, grids),) = figures_grid.compared_settings(material)
        panel = figures_grid.settings_panel(study, rank_count, grids)
        self.assertEqual(len(panel.bars), 2)
        other = next(bars for bars in panel.bars if bars.name == "test")
        self.assertEqual(other.values, [2 * cases[0].median_s for cases in grids])
        self.assertIn("+100 % against the fastest", other.tips[0])


class Verdict(ReportParts):
    def verdict_of(self, times_s, more=()):
        """Lines; of the real sweep with these times of the grids of 2 ranks, as if 4 ranks shared cores and fewer did not."""
        documents = copy.deepcopy(self.sweep)
        for document in documents:
            document["environment"]["oversubscribed"] = document["configuration"]["ranks"] == 4
            name = document["configuration"]["grid"]["name"]
            document["result"]["repeats"]["times_s"] = times_s.get(name, [1.0])
        material = Material(self.read(*documents, *more))
        return re.findall("<p>(.*?)</p>", page.verdict(material, 0).replace("<b>", "").replace("</b>", ""))

    def test_the_best_grid_is_the_official_one(self):
        self.assertEqual(
            self.verdict_of({"1x2": [1.25], "2x1": [1.0]}),
            [
                "Class S on 2 ranks: the best grid is 2x1, with 1.00 s.",
                "The worst grid measured, 1x2, takes +25 %; the best is the grid of the official program.",
            ],
        )

    def test_the_official_grid_is_the_worst_one(self):
        self.assertEqual(
            self.verdict_of({"1x2": [1.0, 1.1], "2x1": [1.08]}),
            [
                "Class S on 2 ranks: the best grid is 1x2, with 1.05 s.",
                "The worst grid measured, 2x1, is that of the official program: it takes +2.9 %. "
                "The best grid's own spread (9.5 %) reaches the second best.",
            ],
        )

    def test_other_kernels_on_the_best_grid(self):
        (other,) = (d for d in self.sweep[: len(self.sweep) // 2] if d["configuration"]["grid"]["name"] == "2x1")
        other = copy.deepcopy(other)
        kernel, other["configuration"]["kernel"] = other["configuration"]["kernel"], "test"
        other["result"]["repeats"]["times_s"] = [1.5]
        lines = self.verdict_of({"1x2": [1.25], "2x1": [1.0]}, [other])
        self.assertEqual(lines[2:], [f"Fastest there is {kernel}; test takes +50 %."])


class Command(ReportParts):
    def assert_refused(self, exit_code, pattern, *words):
        page = self.folder / "out" / "report.html"
        outcome = run_command([sys.executable, PROJECT / "scripts" / "report", *words, "-o", page])
        self.assertEqual(outcome.exit_code, exit_code, outcome)
        self.assertEqual(outcome.stdout, "")
        self.assertRegex(outcome.stderr, rf"\Areport: [^\n]*{pattern}[^\n]*\n\Z")
        self.assertFalse(page.parent.exists(), "something was written")

    def test_refusals(self):
        result = self.file(json.dumps(self.sweep[0]))
        text = self.file("text", "text")
        self.assert_refused(USAGE, "required: RESULT")
        self.assert_refused(USAGE, "unrecognized arguments: --nope", result, "--nope")
        self.assert_refused(USAGE, "no figure 'nope'; there are time-by-grid, ", result, "--only", "repeats,nope")
        self.assert_refused(NO_INPUT, "none: No such file", result, self.folder / "none")
        self.assert_refused(BAD_DATA, "text: neither", result, text)
        self.assert_refused(BAD_DATA, "text: not JSON", result, "--profile", text)
        self.assert_refused(BAD_DATA, "text: not JSON", result, "--bench", text)
        self.assert_refused(UNAVAILABLE, "not Chart.js", result, "--chart-js", text)
        self.assert_refused(UNAVAILABLE, "libjs-chart.js", result, "--chart-js", self.folder / "none")

    def test_a_folder_that_cannot_be_made_leaves_nothing(self):
        result = self.file(json.dumps(self.sweep[0]))
        self.assert_refused(CANNOT_CREATE, "", result, "--figures", result / "figures")

    def test_files_are_where_they_were_asked_for(self):
        result = self.file(json.dumps(self.sweep[0]))
        page, figures = self.folder / "page.html", self.folder / "figures"
        outcome = run_command([sys.executable, PROJECT / "scripts" / "report", result, "-o", page, "--figures", figures])
        self.assertEqual(outcome.exit_code, SUCCESS, outcome)
        self.assertEqual(
            sorted(path.name for path in figures.iterdir()),
            ["convergence.png", "convergence.svg", "phases-by-grid.png", "phases-by-grid.svg"],
        )
        self.assertTrue(page.read_text().startswith("<!DOCTYPE html>"))

    def test_small_figures_for_a_readme(self):
        result = write_lines(self.folder / "sweep.jsonl", with_rooflines(with_predictions(self.sweep)))
        small = self.folder / "small"
        names = ["time-by-grid", "phases-by-grid", "prediction", "roofline"]
        words = [result, "-o", self.folder / "page.html", "--small", small, "--only", ",".join(names)]
        outcome = run_command([sys.executable, PROJECT / "scripts" / "report", *words])
        self.assertEqual(outcome.exit_code, SUCCESS, outcome)
        self.assertEqual({path.name for path in small.iterdir()}, {f"{name}.png" for name in names})
        for path in small.iterdir():
            content = path.read_bytes()
            self.assertEqual(content[:8], b"\x89PNG\r\n\x1a\n")
            self.assertEqual(int.from_bytes(content[16:20], "big"), 700, path)  # its width
            self.assertLess(len(content), 60_000, path)


if __name__ == "__main__":
    unittest.main(verbosity=2)
