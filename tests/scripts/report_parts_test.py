"""The readers of cg2d report, its table of figures, and how it refuses."""

import copy
import json
import re
import xml.etree.ElementTree

from program_runner import PROGRAM, SUCCESS, ProgramTest, run_command, run_program
from report_facts import (
    BENCH, PROFILE, as_class_b, as_disturbed, as_in_memory, as_streamed, as_uneven, real_sweep, simulated_sweep,
    with_counters, with_kernel, with_predictions, with_rooflines, with_second_kernel, write_lines,
)

from report_parts import (
    figures_commands, figures_grid, figures_machine, figures_phases, figures_prediction, figures_roofline, figures_streaming, inputs,
    page_verdict, panels, results, style, svg_paint,
)
from report_parts import verdict as verdicts
from report_parts.errors import BAD_DATA, NO_INPUT, UNAVAILABLE, ReportError
from report_parts.figure_table import FIGURES, Material
from report_parts.studies import make_studies, uncompared_notes
from report_parts.svg_paint import log_ticks
from report_parts.times import SPACE


def run_on(documents, grid):
    return next(document for document in documents if document["configuration"]["grid"]["name"] == grid)


class ReportParts(ProgramTest):
    @classmethod
    def setUpClass(cls):
        cls.sweep = real_sweep()

    def file(self, text, name="results.json"):
        return super().file(name, text)

    def read(self, *documents):
        return results.read_results([write_lines(self.folder / "sweep.jsonl", documents)])

    def material(self, documents, other=None):
        """other: inputs that are no runs."""
        return Material([self.read(*documents)], other or inputs.Inputs())

    def refusal(self, exit_code, pattern, function, *arguments):
        with self.assertRaisesRegex(ReportError, pattern) as caught:
            function(*arguments)
        self.assertEqual(caught.exception.exit_code, exit_code)
        self.assertNotIn("\n", str(caught.exception))


class Readers(ReportParts):
    def test_a_single_result_and_lines_are_read_alike(self):
        single = self.file(json.dumps(self.sweep[0], indent=2))
        read = results.read_results([single, write_lines(self.folder / "lines.jsonl", self.sweep[1:])])
        self.assertEqual([run.document for run in read.runs], self.sweep)
        self.assertEqual(read.notes, [])

    def test_a_last_line_that_was_cut_off_is_noted(self):
        # U+2028 ends a line of Python's, not one of JSON.
        whole = "".join(json.dumps(document | {"reason": "\u2028"}, ensure_ascii=False) + "\n" for document in self.sweep[:2])
        read = results.read_results([self.file(whole + json.dumps(self.sweep[2])[:300])])
        self.assertEqual(len(read.runs), 2)
        self.assertRegex(read.notes[0], r":3: the last line is cut off")

    def test_files_that_are_no_results(self):
        for text, why in (
            ("", "empty"),
            ("class S took long\n", "neither JSON nor JSON Lines"),
            (json.dumps(self.sweep[0]) + "\nnothing\n{}\n", "results.json:2: not JSON"),
            ("[]", "not a result"),
            ("{}", "not a result"),
            ('{"schema_version": 2, "status": "success"}', "schema_version is 2; this report reads 1"),
            ('{"schema_version": 1, "status": "success"}', "no 'program'"),
            ('{"schema_version": 1, "status": "planned"}', "no finished run"),
        ):
            self.refusal(BAD_DATA, why, results.read_results, [self.file(text)])
        self.refusal(NO_INPUT, "No such file", results.read_results, [self.folder / "none"])

    def test_halves_of_characters_and_dollar_signs_are_drawn(self):
        lines = [copy.deepcopy(document) for document in self.sweep]
        for document in lines:
            document["configuration"]["kernel"] = "\ud800 $k$ $"
            document["environment"]["nodes"][0]["processor"] = "$\\frac$ \udfff"
        path = write_lines(self.folder / "sweep.jsonl", lines)
        self.assertIn("\\ud800", path.read_text())
        self.ends_with(SUCCESS, run_command([PROGRAM, "report", path, "-o", self.folder / "page.html"]))

    def test_numbers_that_cannot_be(self):
        def wrong(change):
            document = copy.deepcopy(self.sweep[0])
            change(document)
            self.refusal(BAD_DATA, "as cg2d schema run has it", self.read, document)

        wrong(lambda document: document["result"]["repeats"].update(times_s=[]))
        wrong(lambda document: document["result"]["repeats"].update(times_s=[0.0]))
        wrong(lambda document: document["configuration"].update(ranks=7))
        wrong(lambda document: document["phases"]["ranks"][0]["phases"].pop("dot"))
        wrong(lambda document: document.pop("problem"))
        wrong(lambda document: document["environment"].pop("mpi"))
        wrong(lambda document: document["environment"].update(nodes=[]))
        wrong(lambda document: document.update(quiet={"repeats": [{}]}))
        wrong(lambda document: document.update(quiet={"repeats": [{"reasons": [1]}]}))
        wrong(lambda document: document.update(provenance={"time": "now", "commit": None}))
        wrong(lambda document: document.update(prediction={"machine": "test", "total_s": 1.0}))
        wrong(lambda document: document.update(roofline={"flops_per_s": 1.0}))
        wrong(lambda document: document.update(counters={"events": [{"name": "perf::TASK-CLOCK"}]}))
        wrong(lambda document: document.update(counters={"events": [], "figures": [{"description": "x", "phases": {}}]}))

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
        (entry,) = inputs.read_inputs([self.file(json.dumps(PROFILE))]).profile.values()
        self.assertEqual((entry["critical_vector_length"], entry["curve"][0]), (8, (1.0, 1.5, 12.0)))
        points = inputs.read_inputs([self.file(json.dumps(BENCH))]).bench
        self.assertEqual([point["kernel"] for point in points], ["scalar", "sell"] * 2)
        self.assertAlmostEqual(points[0]["gflops"], 2.0 / 1.2)
        for text, reason in (
            ('{"context": {}, "benchmarks": [{"run_name": "L2/1/sell", "name": "L2/1/sell", "error_occurred": true}]}', "L2/1/sell failed: no reason"),
            ('{"processors": {"a": {}}}', "not a tuning profile"),
            ('{"processors": []}', "not a tuning profile"),
            ('{"benchmarks": [{}]}', "not a result of spmv_bench"),
            ('{"benchmarks": {}}', "not a result of spmv_bench"),
            ('{"ways": [], "scaling": "strong"}', "not as cg2d schema scaling has it: no 'schema_version'"),
            ('{"pairs": [], "sums": []}', "not as cg2d schema pingpong has it: no "),
            ('{"compared": [], "threshold": 0}', "not as cg2d schema compare has it: no "),
            ('{"system": {}}', "not as cg2d schema solve has it: no "),
            ("{}", "not a result of cg2d with figures; a run, sweep, .* is needed"),
            ("[]", "not a result of cg2d with figures; a run, sweep, .* is needed"),
        ):
            self.refusal(BAD_DATA, reason, inputs.read_inputs, [self.file(text)])


class Studies(ReportParts):
    def test_the_order_is_that_of_cg2d(self):
        documents = simulated_sweep(self.sweep, {"1x2": 1.2, "2x1": 1.0, "1x4": 0.5, "2x2": 0.4, "4x1": 0.4})
        (study,) = make_studies(self.read(*documents))
        self.assertEqual(study.best(2).grid, (2, 1))
        self.assertEqual({px: case.mark for px, case in study.cases[2].items()}, {1: "", 2: "best"})
        self.assertEqual({px: case.mark for px, case in study.cases[4].items()}, {1: "", 2: "may be best", 4: "may be best"})
        (table,) = study.tables[2]
        self.assertIn("best is 2x1 with 1.04 s, better than 1x2 by 20 % (20 ... 20 %)", table["verdict"]["text"])

    def test_figures_compare_grids_of_one_kernel(self):
        """Of each grid another kernel has the least times: figures show one of them, and say which."""
        scalar_s = {"1x2": 0.5, "2x1": 2.0, "1x4": 2.0, "2x2": 0.4, "4x1": 2.0}
        slow = [with_kernel(document, "scalar") for document in simulated_sweep(self.sweep, scalar_s)]
        (study,) = make_studies(self.read(*simulated_sweep(self.sweep, {}), *slow))
        for grids in study.cases.values():
            self.assertEqual({case.runs[0].configuration["kernel"] for case in grids.values()}, {"scalar"})
        self.assertEqual({px: case.mark for px, case in study.cases[2].items()}, {1: "best", 2: ""})
        self.assertRegex(study.shown_settings(), r"^Class S: this figure shows scalar, .*; another figure compares the settings\.$")

    def test_the_median_of_an_even_number_is_that_of_cg2d(self):
        read = self.read(*simulated_sweep(self.sweep, {"1x2": 1.2}, 8))
        (study,) = make_studies(read)
        for row in read.verdicts["grids"]:
            for cell in row["cells"]:
                case = study.cases[row["ranks"]][cell["columns"]]
                self.assertEqual(case.median_s, cell["times"]["median_s"])
                self.assertEqual(case.run.document["result"]["time_s"], case.median_s, "it is the time of a run")

    def forbidden(self, change):
        """Runs that would make 1x2 the best grid, were they compared."""
        documents = simulated_sweep([d for d in self.sweep if d["configuration"]["grid"]["name"] == "1x2"], {"1x2": 0.1}, 8)
        for document in documents:
            change(document)
        return documents

    def test_what_is_not_compared_is_named_and_changes_no_verdict(self):
        documents = simulated_sweep(self.sweep, {"1x2": 1.2})
        (before,) = make_studies(self.read(*documents))
        counted = with_counters(self.forbidden(lambda document: None))
        limited = with_rooflines(self.forbidden(lambda document: None))
        later = self.forbidden(lambda document: document["sweep"].update(session="later"))
        single = self.forbidden(lambda document: document.pop("sweep"))
        for others, reason in ((counted, "--papi"), (limited, "--roofline"), (later, "another session"), (single, "another session")):
            with self.subTest(reason=reason):
                read = self.read(*documents, *others)
                (study,) = make_studies(read)
                self.assertEqual(study.tables[2][0]["verdict"], before.tables[2][0]["verdict"])
                self.assertEqual(study.cases[2][1].median_s, before.cases[2][1].median_s)
                (note,) = uncompared_notes(read)
                self.assertRegex(note, rf"sweep.jsonl:{len(documents) + 1} and {len(others) - 1} more: not compared: .*{reason}")

    def test_runs_for_counters_beside_a_sweep_are_one_note(self):
        """A sweep makes them after its timed runs, one for each grid."""
        beside = with_counters(self.sweep[:3])
        for document in beside:
            document["sweep"]["purpose"] = "counters"
        read = self.read(*self.sweep, *beside)
        first = len(self.sweep) + 1
        self.assertEqual(uncompared_notes(read), [f"{self.folder / 'sweep.jsonl'}:{first} and 2 more: not compared: it ran with --papi"])

    def test_the_report_says_what_the_sweep_says(self):
        documents = simulated_sweep(self.sweep, {"1x2": 1.2, "1x4": 0.5, "2x2": 0.4})
        path = write_lines(self.folder / "sweep.jsonl", [*documents, *with_counters(self.forbidden(lambda document: None))])
        text = run_program(0, "sweep", "--show", path).stdout
        (study,) = make_studies(results.read_results([path]))
        for rank_count, tables in study.tables.items():
            for table in tables:
                self.assertIn(f"  P = {rank_count}: {table['verdict']['text']}.\n", text)

    def test_without_cg2d_there_is_no_verdict(self):
        self.refusal(UNAVAILABLE, "no such program", verdicts.find_program, self.folder / "cg2d")
        self.refusal(UNAVAILABLE, "gives no verdict", verdicts.verdicts_on, [[("a", self.sweep[0])]], "/bin/true")
        self.refusal(BAD_DATA, "refuses the results", verdicts.verdicts_on, [[("a", self.sweep[0])]], "/bin/false")


class Quiet(ReportParts):
    """Runs that other work on the machine disturbed."""

    def test_a_repeated_run_is_left_out_and_noted(self):
        first, second = as_disturbed(self.sweep[0], "a compiler"), copy.deepcopy(self.sweep[0])
        second["sweep"]["attempt"] = 2
        read = self.read(first, second, self.sweep[-1])
        self.assertEqual([run.document for run in read.runs], [second, self.sweep[-1]])
        self.assertEqual([note.partition(": ")[2] for note in read.notes],
                         ["1 disturbed run that was repeated is left out; only the last attempt of a round counts"])  # fmt: skip

    def test_the_page_says_how_many_and_why(self):
        self.assertNotIn("disturbed", page_verdict.verdict_html(self.material(self.sweep)))
        # The number of ranks that the figure of the repeats shows.
        documents = [document for document in self.sweep if document["configuration"]["ranks"] == 2]
        documents[0] = as_disturbed(documents[0], "a <compiler>")
        material = self.material(documents)
        self.assertIn(
            f"1 of {len(documents)} times was disturbed by other work on the machine, and may be too long: a &lt;compiler&gt;.",
            page_verdict.verdict_html(material),
        )
        tips = [tip for panel in figures_grid.repeats(material).panels for line in panel.lines for tip in line.tips]
        self.assertEqual(sum("\ndisturbed: a <compiler>" in tip for tip in tips), 1)


class FigureTable(ReportParts):
    def reasons(self, documents, other=None):
        material = self.material(documents, other)
        described = {row.name: row.describe(material) for row in FIGURES}
        for panel in (panel for found in described.values() if not isinstance(found, str) for panel in found.panels):
            self.assertIn("</svg>", svg_paint.panel_svg(panel))
        return {name: found if isinstance(found, str) else "" for name, found in described.items()}

    def test_one_run_says_what_else_is_needed(self):
        reasons = self.reasons(self.sweep[:1])
        self.assertEqual({name for name, why in reasons.items() if not why}, {"phases-by-grid", "convergence"})
        for name, words in (
            ("time-by-grid", "no two grids"),
            ("time-over-px", "no two grids"),
            ("prediction", "cg2d model --calibrate"),
            ("scaling", "same number of ranks"),
            ("rank-plane", "several ranks"),
            ("counters", "--papi EVENT"),
            ("row-length", "cg2d tune"),
            ("bench-row-length", "row_length_bench"),
            ("settings", "several kernels"),
            ("roofline", "no run with --roofline"),
            ("roofline", "spmv_bench"),
            ("repeats", "--repeat N"),
            ("streaming", "--memory-limit"),
            ("rank-speeds", "--cut speed"),
        ):
            self.assertIn(words, reasons[name], name)

    def test_all_data_leaves_nothing_out(self):
        documents = with_second_kernel(with_rooflines(with_counters(with_predictions(self.sweep + as_class_b(self.sweep)))))
        documents += [as_streamed(self.sweep[2], limit, 1.0) for limit in (60_000_000, 80_000_000)]
        documents.append(as_uneven({name: value for name, value in run_on(self.sweep, "1x2").items() if name != "sweep"}))
        other = inputs.read_inputs([self.file(json.dumps(PROFILE), "profile"), self.file(json.dumps(BENCH), "bench")])
        reasons = self.reasons(documents, other)
        # Figures of other commands and options.
        others = {"bench-row-length", "comparison", "batch", "ways", "system-ways", "messages", "kernels", "solves", "model"}
        self.assertEqual({name for name, why in reasons.items() if why}, others)


class Figures(ReportParts):
    def test_points_lie_under_the_roofs_of_their_run_and_have_shares_of_the_limit(self):
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

        panel = figures_roofline.share_panel(study, rank_count, cases)
        self.assertEqual([bars.name for bars in panel.bars], [f"{px}x{py}" for px, py in (case.grid for case in cases)])
        for bars in panel.bars:
            self.assertEqual(dict(zip(results.PHASES, bars.values))["shuffle"], None)
            self.assertEqual(dict(zip(results.PHASES, bars.values))["collection"], 50.0)

    def test_storage_forms_are_compared_by_their_products(self):
        (alone,) = with_rooflines([document for document in self.sweep if document["configuration"]["ranks"] == 2][:1])
        fast = with_kernel(alone, "fast")
        fast["roofline"]["phases"]["multiply"]["measured_s"] /= 4
        self.assertIn("several kernels", figures_roofline.storage(self.material([alone])))
        without_products = with_kernel(alone, "stencil")
        without_products["roofline"]["phases"]["multiply"].update(measured_s=0.0, limit_s=0.0)
        figure = figures_roofline.storage(self.material([alone, fast, without_products]))
        gains, shares = ({bars.name: bars.values for bars in panel.bars} for panel in figure.panels)
        (problem,) = figure.panels[0].x.names
        self.assertEqual(problem, "NPB 1400, 2 ranks")
        self.assertEqual(gains, {alone["configuration"]["kernel"]: [1.0], "fast": [4.0]})
        self.assertEqual(shares, {alone["configuration"]["kernel"]: [50.0], "fast": [200.0]})

    def test_a_residual_that_is_no_number_has_no_point(self):
        solve = run_program(0, "solve", "--operator", "laplace2d:9x9", "--format", "json").document()
        solve["result"]["history"][1] = None
        (panel,) = figures_commands.solves(Material([], inputs.read_inputs([self.file(json.dumps(solve))]))).panels
        self.assertEqual((panel.lines[0].y[1], panel.lines[0].tips[1]), (None, ""))
        svg_paint.panel_svg(panel)

    def test_residuals_of_every_phase_and_of_the_total(self):
        documents = with_predictions(self.sweep)
        for document in documents:
            # A short phase that is far off is pale, and does not stretch the axis.
            for rank in document["phases"]["ranks"]:
                rank["phases"]["dot"]["seconds"] = 1e-4 * document["result"]["time_s"]
            document["prediction"]["phases"]["dot"] = 1e-3 * document["result"]["time_s"]
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

    def test_benchmarks_over_the_row_length(self):
        """Times by size and kernel, counted instructions by kernel and instruction set; of repetitions the median."""

        def entry(name, **counters):
            return {"run_name": name, "name": name, "run_type": "iteration", "row_length": 1, **counters}

        times = [entry(f"L2/{length}/{kernel}/real_time", ns_per_nonzero=ns) for length in (2, 1) for kernel in ("scalar", "sell") for ns in (1, 2, 9)]
        counts = [entry("count/4/sell:fma", instructions_per_nonzero=3.0, register_bits=256, label="fma")]
        files = [{"context": {"processor": "test"}, "benchmarks": entries} for entries in (times, counts)]
        paths = [self.file(json.dumps(document), str(number)) for number, document in enumerate(files)]
        panels = figures_machine.bench_rows(Material([], inputs.read_inputs(paths))).panels
        self.assertEqual([panel.title for panel in panels], ["blocks of the size L2", "sell, test"])
        self.assertEqual([(line.name, line.x, line.y) for line in panels[0].lines], [(name, [1, 2], [2, 2]) for name in ("scalar", "sell")])
        self.assertEqual([(line.name, line.x, line.y) for line in panels[1].lines], [("fma, 256 bits", [4], [3.0])])


class Speeds(ReportParts):
    """Ranks that differ in speed."""

    def setUp(self):
        self.run = {name: value for name, value in run_on(self.sweep, "1x2").items() if name != "sweep"}

    def figure(self, *documents):
        return figures_phases.speeds(self.material(documents))

    def values(self, panel):
        return [panel.cells[row, 0].value for row in (0, 1)]

    def test_before_and_after_are_beside_each_other(self):
        figure = self.figure(as_uneven(self.run, False), as_uneven(self.run))
        panels = {panel.title: self.values(panel) for panel in figure.panels}
        self.assertEqual(
            list(panels),
            [*(f"Run 1: {what} {when}" for what in ("speed", "share", "waiting") for when in ("with even pieces", "as it ran")),
             *(f"Run 2: {what} as it ran" for what in ("speed", "share", "waiting"))],
        )  # fmt: skip
        self.assertEqual(panels["Run 1: speed with even pieces"], [2.0, 1.0])
        self.assertEqual(panels["Run 1: share with even pieces"], [50.0, 50.0])
        self.assertEqual(panels["Run 1: waiting with even pieces"], [50.0, 0.0])
        for title, expected in (("Run 1: speed", [2.0, 1.0]), ("Run 1: share", [200 / 3, 100 / 3]), ("Run 2: share", [50.0, 50.0])):
            for value, right in zip(panels[f"{title} as it ran"], expected):
                self.assertAlmostEqual(value, right)
        self.assertIn("Run 1: class S, 1x2, cut speed, slowed rank 1 by 2. Run 2: class S, 1x2, cut even, slowed", figure.note)

    def test_a_restarted_run_counts_the_iterations_that_it_timed(self):
        run = copy.deepcopy(self.run)
        products = run["phases"]["ranks"][0]["phases"]["summation"]["calls"]
        ranks = [{"nonzeros_before": 100, "nonzeros_after": 50, "before_s": 2e-6, "after_s": 1e-6}] * 2
        run.update(rebalance={"moves": [{"after_outer_iteration": 9, "after_s": 1e-6, "ranks": ranks}]}, restart={"timed_outer_iterations": 5})
        (_, states), _ = figures_phases.states_of(run)
        self.assertEqual(states, [(100 * products / 5 / 2e-6, 0.5, 0.0)] * 2)

    def test_even_runs_have_none(self):
        self.assertIn("--slow-rank", figures_phases.speeds(self.material([self.run])))
        untimed = as_uneven(self.run)
        untimed["phases"] = None
        self.assertIn("has timed its phases", figures_phases.speeds(self.material([untimed])))


class Streaming(ReportParts):
    """A matrix on storage, by its memory limit."""

    def setUp(self):
        self.run = run_on(self.sweep, "1x2")
        self.in_memory = as_in_memory(self.run, 2.0)
        times_s = {60: (8.0, 2), 80: (6.0, 4), 80.5: (5.0, 4), 140: (2.2, 10)}
        self.streamed = [as_streamed(self.run, int(1e6 * limit), *facts) for limit, facts in times_s.items()]

    def figure(self, *documents, **others):
        return figures_streaming.streaming(self.material(documents, **others))

    def test_time_over_the_limit_beside_the_time_in_memory(self):
        (panel,) = self.figure(*reversed(self.streamed), self.in_memory).panels
        lines = {line.name: line for line in panel.lines}
        self.assertEqual((lines["streamed"].x, lines["streamed"].y), ([60.0, 80.0, 80.5, 140.0], [8.0, 6.0, 5.0, 2.2]))
        self.assertEqual((lines["in memory"].x, lines["in memory"].y), ([60.0, 140.0], [2.0, 2.0]))
        self.assertEqual(lines["from here on reading is as fast as multiplying"].x, [90.0, 90.0])
        self.assertEqual(lines["from here on nothing is read"].x, [130.0, 130.0])
        for words in ("--memory-limit 60 MB", f"8.00{SPACE}s: 4.00 x the time in memory", "20 % of the matrix of 100 MB stays",
                      "reads 80 MB at 2 GB/s, and waits 25 % of its time", "the storage alone gives 4 GB/s"):  # fmt: skip
            self.assertIn(words, lines["streamed"].tips[0])
        self.assertNotIn("reads", lines["streamed"].tips[-1])

    def test_solves_are_drawn_by_what_they_compute(self):
        words = ("solve", "--operator", "laplace2d:9x9", "--assembled", "--kernel", "sell", "--format", "json")
        solve = run_program(2, *words).document()
        solves = []
        for limit, time_s in ((None, 0.1), (60, 0.4), (80, 0.3)):
            made = copy.deepcopy(solve)
            made["result"]["time_s"] = time_s
            if limit:
                made["out_of_core"] = as_streamed(self.run, limit * 1_000_000, 1.0)["out_of_core"]
            solves.append(self.file(json.dumps(made), f"{limit}.json"))
        (panel,) = figures_streaming.streaming(Material([], inputs.read_inputs(solves))).panels
        self.assertEqual([line.y for line in panel.lines[:2]], [[0.4, 0.3], [0.1, 0.1]])
        self.assertIn("laplace2d:9x9", panel.title)

    def test_streamed_runs_are_no_repeats_of_others(self):
        read = self.read(self.in_memory, *self.streamed)
        (study,) = make_studies(read)
        self.assertEqual([case.times_s for case in study.every_case(2)], [[2.0], [8.0], [6.0], [5.0], [2.2]])
        self.assertEqual([case.times_s for case in study.alternatives[2][1]], [[2.0]])
        self.assertEqual(uncompared_notes(read), [])
        self.assertEqual([table.get("storage") for table in study.tables[2]], [
            None, "streamed within 60 MB", "streamed within 80 MB", "streamed within 80.5 MB", "streamed within 140 MB",
        ])  # fmt: skip
        material = self.material([self.in_memory, *self.streamed])
        self.assertNotIn("streamed", page_verdict.best_grids(material))
        self.assertEqual(figures_grid.compared_settings(material), [])
        self.assertIsInstance(figures_grid.repeats(material), str, "it has none")

    def test_streamed_runs_leave_the_verdict_of_a_sweep_as_it_is(self):
        sweep = simulated_sweep(self.sweep, {"1x2": 1.2})
        (before,), (study,) = make_studies(self.read(*sweep)), make_studies(self.read(*sweep, *self.streamed))
        self.assertEqual(study.choices[2]["verdict"], before.choices[2]["verdict"])
        self.assertEqual(study.cases[2][1].times_s, before.cases[2][1].times_s)


class Ticks(ReportParts):
    def test_an_axis_of_a_narrow_range_has_more_than_one_value(self):
        for low, high in ((21.0, 28.0), (3.1, 4.9), (1.02, 1.4), (96.0, 104.0), (0.71, 0.96)):
            ticks = log_ticks(low, high)
            self.assertGreaterEqual(len(ticks), 2, (low, high, ticks))
            self.assertTrue(all(0.999 * low <= tick <= 1.001 * high for tick in ticks), (low, high, ticks))

    def test_numbers_that_three_digits_round_up_have_no_exponent(self):
        self.assertEqual(list(map(svg_paint.number_text, (999.4, 999.7, -1234.5))), ["999", "1 000", "-1 234"])

    def test_an_axis_says_that_it_is_logarithmic(self):
        for kind, count in (("log", 1), ("linear", 0)):
            line = panels.Line("line", [1.0, 2.0], [1.0, 1000.0], "")
            panel = panels.LinePanel("title", panels.Axis("across"), panels.Axis("up", kind), [line])
            self.assertEqual(svg_paint.panel_svg(panel).count(">up (log scale)<"), count)


class Verdict(ReportParts):
    def verdict_of(self, documents):
        """Lines; as if 4 ranks shared cores and fewer did not."""
        for document in documents:
            document["environment"]["oversubscribed"] = document["configuration"]["ranks"] == 4
        found = page_verdict.card(page_verdict.shown_studies(self.material(documents))[0])
        return [re.sub("<.*?>", "", line).replace(SPACE, " ") for line in re.findall("<p.*?</p>", found)]

    def test_the_best_grid_is_the_official_one(self):
        self.assertEqual(
            self.verdict_of(simulated_sweep(self.sweep, {"1x2": 1.25})),
            [
                "Class S on 2 ranks sure",
                "Best is 2x1 with 1.04 s, better than 1x2 by 25 % (25 ... 25 %); 2x1 is the official grid.",
            ],
        )

    def test_several_kernels(self):
        documents = simulated_sweep(self.sweep, {"1x2": 1.25})
        documents += [with_kernel(d, "test") for d in simulated_sweep(self.sweep, {"1x2": 2.5, "2x1": 2.0})]
        head, line = self.verdict_of(documents)
        self.assertEqual(head, "Class S on 2 ranks sure")
        self.assertIn("Best is 2x1 auto shared 1 thread with 1.04 s, better than 1x2 auto", line)


class Command(ReportParts):
    def test_files_are_where_they_were_asked_for(self):
        result = self.file(json.dumps(self.sweep[0]))
        page, figures = self.folder / "page.html", self.folder / "figures"
        self.ends_with(SUCCESS, run_command([PROGRAM, "report", result, "-o", page, "--figures", figures]))
        self.assertEqual({path.name.rpartition("-")[0] for path in figures.iterdir()}, {"convergence", "phases-by-grid"})
        self.assertTrue(page.read_text().startswith("<!DOCTYPE html>"))
        for path in figures.iterdir():
            self.assertEqual(xml.etree.ElementTree.parse(path).getroot().tag, "{http://www.w3.org/2000/svg}svg")
            self.assertNotIn("var(", path.read_text())
        self.assertIn("Relative distance (log scale)", (figures / "convergence-1.svg").read_text())
