"""The CG step that cg2d report shows of a trace: read, chosen, refused, and drawn."""

import json
import re
import xml.etree.ElementTree

from program_runner import PROGRAM, SUCCESS, ProgramTest, run_command

import report_facts  # noqa: F401  (the path of report_parts)

from report_parts import animation, inputs
from report_parts.errors import BAD_DATA, NO_INPUT, ReportError


def event(name, category, begin_us, length_us, rank=0):
    return {"name": name, "cat": category, "ph": "X", "ts": begin_us, "dur": length_us, "pid": 0, "tid": rank}


def made_trace(steps, **facts):
    """steps: lengths of the steps of two ranks, one after the other; each step is half collection, half multiply, and rank 1
    begins 1 µs later."""
    events = [{"name": "thread_name", "ph": "M", "pid": 0, "tid": r, "args": {"name": f"rank {r} (column 0, row {r})"}} for r in (0, 1)]
    for rank in (0, 1):
        begin = 100.0 + rank
        for number, length in enumerate(steps, 1):
            events.append(event("collection", "phase", begin, length / 2, rank))
            events.append(event("multiply", "phase", begin + length / 2, length / 2, rank))
            events.append(event(f"CG step {number}", "cg_step", begin, length, rank))
            begin += length
    return {"otherData": {"class": "S", "grid": "1x2", "kernel": "sell", "transport": "put", **facts}, "traceEvents": events}


class TraceTest(ProgramTest):
    def read(self, document):
        return self.traces_of(self.file("trace.json", document if isinstance(document, str) else json.dumps(document)))[0]

    @staticmethod
    def traces_of(*paths):
        return inputs.read_inputs(paths).traces

    def test_the_step_of_median_length_is_taken(self):
        step = self.read(made_trace([90, 10, 20, 30, 12], clock_uncertainty_us=[0.0, 2.5]))
        self.assertEqual((step.name, step.step_count, step.uncertainty_us), ("CG step 3", 5, 2.5))
        self.assertAlmostEqual(step.length_us, 21)  # rank 1 ends 1 µs later
        self.assertEqual([(lane.rank, lane.column, lane.row) for lane in step.lanes], [(0, 0, 0), (1, 0, 1)])
        self.assertEqual(step.phases(), ["collection", "multiply"])
        for lane in step.lanes:
            self.assertAlmostEqual(lane.phase_us("collection"), 10)
            self.assertAlmostEqual(lane.bars[0].begin_us, lane.rank)
        self.assertIn("class S, grid 1x2, kernel sell, transport put: CG step 3", animation.note_of(step))
        self.assertEqual(self.read(made_trace([10, 40])).name, "CG step 1", "the lower of two")

    def test_what_is_no_trace_is_refused(self):
        for document, words in (
            ("{", "neither JSON"),
            ({"traceEvents": {}}, "traceEvents is not of type array"),
            ({"traceEvents": []}, "holds no CG step"),
            ({"traceEvents": [event("dot", "phase", 0, 1)]}, "holds no CG step"),
            ({"traceEvents": [{**event("CG step 1", "cg_step", 0, 1), "ts": "0"}]}, "ts is not of type number"),
            ({"traceEvents": [event("CG step 1", "cg_step", 0, -1)]}, "dur is out of range"),
            ({"traceEvents": [], "otherData": {"clock_uncertainty_us": 1}}, "clock_uncertainty_us"),
        ):
            with self.assertRaises(ReportError) as caught:
                self.read(document)
            self.assertEqual(caught.exception.exit_code, BAD_DATA, document)
            self.assertIn(words, str(caught.exception))
        with self.assertRaises(ReportError) as caught:
            self.traces_of(self.folder / "none.json")
        self.assertEqual(caught.exception.exit_code, NO_INPUT)

    def test_names_of_a_file_are_no_part_of_the_page(self):
        document = made_trace([10], kernel="<b>&</script>")
        document["traceEvents"].append(event("</script><script>alert(1)", "phase", 101, 1))
        text = animation.animation_section(self.read(document))[2]
        self.assertEqual(text.count("</script>"), 1)
        self.assertNotIn("<b>", text)
        self.assertIn("&lt;b&gt;&amp;", text)

    def test_the_picture_says_what_the_trace_says(self):
        text = animation.animation_section(self.read(made_trace([90, 10, 20, 30, 12])))[2]
        pictures = [xml.etree.ElementTree.fromstring(found) for found in re.findall(r"<svg.*?</svg>", text, re.DOTALL)]
        plane, *keys, lanes = pictures
        self.assertEqual([picture.get("role") for picture in (plane, lanes)], ["img", "img"])
        self.assertEqual([key.get("aria-hidden") for key in keys], ["true"] * 2, "a key for each phase")
        self.assertEqual(len(plane.findall("g")), 2)
        widths = [float(bar.get("width").rstrip("%")) for bar in lanes.findall("rect")]
        for width in widths:
            self.assertAlmostEqual(width, 100 * 10 / 21, 2)
        self.assertEqual(len(widths), 4)
        self.assertIn("<title>rank 1: multiply, 10.0 µs</title>", text)
        self.assertIn('<td class=number>1</td><td class=number>10.0</td><td class=number>10.0</td>', text)

    def test_steps_of_one_problem_and_grid_are_over_each_other(self):
        """A measured trace and a simulated one: the same ranks below each other, to the scale of the longer one."""
        documents = (made_trace([20]), made_trace([10], simulated="laptop"), made_trace([5], grid="2x1"))
        steps = [self.read(document) for document in documents]
        ((measured, simulated),) = groups = animation.same_steps(steps)
        self.assertEqual((measured.length_us, simulated.length_us), (21, 11))
        text = animation.overlay_section(*groups)[2]
        self.assertRegex(text, "class S, grid 1x2, .* 1: put, sell, 21.0 µs; 2: laptop, simulated, sell, 11.0 µs")
        lanes = xml.etree.ElementTree.fromstring(re.search('<svg class="lanes".*?</svg>', text, re.DOTALL)[0])
        bars = [(float(bar.get("x").rstrip("%")), float(bar.get("width").rstrip("%"))) for bar in lanes.findall("rect")]
        expected = [(0, 10), (10, 10), (0, 5), (5, 5), (1, 10), (11, 10), (1, 5), (6, 5)]  # µs: rank 0 twice, rank 1 twice
        for bar, (begin, length) in zip(bars, expected, strict=True):
            self.assertAlmostEqual(bar[0], 100 * begin / 21, 2)
            self.assertAlmostEqual(bar[1], 100 * length / 21, 2)
        self.assertEqual(re.findall(r"<span>(.*?)</span>", text), ["1: rank 0", "2: rank 0", "1: rank 1", "2: rank 1"])
        self.assertIn("<td class=number>2</td><td>laptop, simulated, sell</td><td class=number>11.0</td><td class=number>5.0</td>", text)
        self.assertEqual(animation.same_steps(steps[1:]), [])

    def test_a_real_trace_on_a_page(self):
        run, file, made = (self.folder / name for name in ("run.json", "t.json", "report.html"))
        words = ("--class", "S", "--grid", "2x2", "--niter", "2", "--trace", file, "--trace-steps", "9")
        self.run_well(4, "run", *words, "--format", "json", "--output", run)
        outcome = run_command([PROGRAM, "report", run, file, "-o", made])
        self.assertEqual((outcome.exit_code, outcome.stderr), (SUCCESS, ""), outcome)
        self.assertEqual(made.read_text().count('id="cg-step"'), 1)
        (step,) = self.traces_of(file)
        self.assertEqual((step.step_count, len(step.lanes)), (9, 4))
        self.assertEqual({(lane.column, lane.row) for lane in step.lanes}, {(0, 0), (1, 0), (0, 1), (1, 1)})
        for lane in step.lanes:
            phases = [bar.phase for bar in lane.bars]
            self.assertEqual(phases[:4], ["collection", "multiply", "summation", "shuffle"])
            self.assertEqual(phases.count("dot"), 2)
            self.assertLessEqual(lane.bars[-1].end_us, step.length_us + 0.01)
        outcome = run_command([PROGRAM, "report", run, "-o", made])
        self.assertNotIn("cg-step", made.read_text())
