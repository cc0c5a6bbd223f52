"""scripts/bench-figures: figures from results of the benchmarks themselves, and one line where there are none."""

import copy
import json
import os
import sys
import unittest
import xml.etree.ElementTree

from program_runner import BAD_DATA, CANNOT_CREATE, NO_INPUT, PROJECT, SUCCESS, UNAVAILABLE, USAGE, ProgramTest, run_command, temporary_folder

BENCH_FOLDER = PROJECT / "build" / "release" / "bench"
SPMV_BENCH = os.environ.get("CG2D_SPMV_BENCH", str(BENCH_FOLDER / "spmv_bench"))
ROW_LENGTH_BENCH = os.environ.get("CG2D_ROW_LENGTH_BENCH", str(BENCH_FOLDER / "row_length_bench"))


CROSSOVER_FILES = {"crossover.png", "crossover.svg"}
ROOFLINE_FILES = {"roofline.png", "roofline.svg"}
INSTRUCTION_FILES = {"instructions.png", "instructions.svg"}


def kernels_of(path):
    """The last parts of the benchmarks' names."""
    return {entry["run_name"].split("/")[2] for entry in json.loads(path.read_text())["benchmarks"]}


class BenchFigures(ProgramTest):
    @classmethod
    def setUpClass(cls):
        cls.folder = temporary_folder(cls.addClassCleanup)
        cls.spmv = cls.measure("spmv", SPMV_BENCH, "--classes=S", "--benchmark_repetitions=2")
        cls.rows = cls.measure("rows", ROW_LENGTH_BENCH, "--l2-kilobytes=32", "--memory-kilobytes=256")

    @classmethod
    def measure(cls, name, *command):
        path = cls.folder / f"{name}.json"
        outcome = run_command(
            [*command, "--benchmark_min_time=0.0001", f"--benchmark_out={path}", "--benchmark_out_format=json"]
        )
        assert outcome.exit_code == 0, f"no measurements: {outcome}"
        return path

    @classmethod
    def count(cls):
        """Instructions of a few row lengths; skips the test where nothing counts them."""
        if not hasattr(cls, "counts"):
            if run_command([ROW_LENGTH_BENCH, "--count", "--benchmark_filter=count/1/scalar"]).exit_code == UNAVAILABLE:
                raise unittest.SkipTest("neither the processor nor single steps count instructions here")
            cls.counts = cls.measure(
                "counts", ROW_LENGTH_BENCH, "--count", "--kilobytes=1", "--benchmark_filter=count/(2|8|16)/(scalar|csr-simd|sell)"
            )
        return cls.counts

    def setUp(self):
        self.output = temporary_folder(self.addCleanup) / "figures"

    def draw(self, *words):
        return run_command([sys.executable, PROJECT / "scripts" / "bench-figures", *words])

    def draw_well(self, *files):
        outcome = self.ends_with(SUCCESS, self.draw(*files, "-o", self.output))
        self.assertEqual(outcome.stderr, "")
        return outcome

    def assert_figures(self, expected):
        self.assertEqual({path.name for path in self.output.iterdir()}, expected)
        for path in self.output.glob("*.png"):
            self.assertEqual(path.read_bytes()[:8], b"\x89PNG\r\n\x1a\n", path)

    def text_of(self, name):
        """All text of an SVG file, which must be one."""
        root = xml.etree.ElementTree.parse(self.output / name).getroot()
        self.assertEqual(root.tag, "{http://www.w3.org/2000/svg}svg")
        return ["".join(element.itertext()).strip() for element in root.iter("{http://www.w3.org/2000/svg}text")]

    def assert_refused(self, exit_code, pattern, *words):
        outcome = self.draw(*words)
        self.assertEqual((outcome.exit_code, outcome.stdout), (exit_code, ""), outcome)
        self.assertRegex(outcome.stderr, rf"\Abench-figures: [^\n]*{pattern}[^\n]*\n\Z")
        self.assertFalse(self.output.exists(), "a folder was made")

    def changed(self, path, change):
        """A copy of a file after change(document)."""
        document = copy.deepcopy(json.loads(path.read_text()))
        change(document)
        copied = self.output.parent / f"changed-{path.name}"
        copied.write_text(json.dumps(document))
        return copied

    def test_both_files_give_both_figures(self):
        self.draw_well(self.spmv, self.rows)
        self.assert_figures(CROSSOVER_FILES | ROOFLINE_FILES)
        for name, source in (("crossover.svg", self.rows), ("roofline.svg", self.spmv)):
            texts = self.text_of(name)
            self.assertLessEqual(kernels_of(source), set(texts), name)
            self.assertGreaterEqual(sum("log scale" in text for text in texts), 2, name)
        self.assertLessEqual({"1", "23", "24", "183"}, set(self.text_of("crossover.svg")))
        self.assertLessEqual({"Class S", "whole", "1x16", "8x2"}, set(self.text_of("roofline.svg")))

    def test_every_kernel_is_measured(self):
        tables = {"scalar", "csr-simd", "csr-short", "sell", "sell-rows", "symmetric-scalar", "symmetric-distinct", "symmetric"}
        self.assertLessEqual(tables, kernels_of(self.spmv))
        with_length = {"csr-simd", "csr-short"}
        lines = {f"{kernel}-cvl{length}" for kernel in with_length for length in (0, 50)}
        self.assertLessEqual(tables - with_length | lines, kernels_of(self.rows))

    def test_one_file_gives_its_figure_and_says_what_is_missing(self):
        outcome = self.draw_well(self.rows)
        self.assert_figures(CROSSOVER_FILES)
        self.assertIn("roofline.png and roofline.svg are left out", outcome.stdout)

    def test_the_order_of_the_files_does_not_matter(self):
        self.draw_well(self.rows, self.spmv)
        self.assert_figures(CROSSOVER_FILES | ROOFLINE_FILES)

    def test_the_crossover_is_where_the_lines_meet(self):
        def from_16_on(document):
            for entry in document["benchmarks"]:
                simd_ns = {True: 2.0, False: 0.5}[entry["row_length"] < 16]
                entry["ns_per_nonzero"] = simd_ns if "cvl0" in entry["name"] else 1.0

        # Between 11 and 16 the difference goes from -1 to 0.5: two thirds of the way in the logarithm.
        self.draw_well(self.changed(self.rows, from_16_on))
        self.assertEqual(self.text_of("crossover.svg").count("csr-simd-cvl0 overtakes scalar at 14.1"), 2)

    def test_medians_are_taken(self):
        def with_outlier(document):
            for entry in document["benchmarks"]:
                is_median = entry.get("aggregate_name") == "median"
                entry["share_of_read_bandwidth"] = 0.42 if is_median else 99.0

        self.draw_well(self.changed(self.spmv, with_outlier))
        self.assertEqual(self.text_of("roofline.svg").count("42"), 5 * len(kernels_of(self.spmv)))

    def test_instructions_are_those_of_the_loops(self):
        counts = {}
        for entry in json.loads(self.count().read_text())["benchmarks"]:
            _, length, kernel = entry["run_name"].split("/")[:3]
            counts[int(length), kernel] = entry["instructions_per_nonzero"]
        scalar = [counts[length, "scalar"] for length in (2, 8, 16)]
        self.assertEqual(scalar, sorted(scalar, reverse=True), "the rows' ends are shared by more nonzeros")
        # Two loads, a multiply-add, a counter and a jump are the least that a nonzero takes.
        self.assertTrue(4 <= scalar[-1] <= 20, scalar)

    def test_files_of_several_processors_give_one_figure_of_instructions(self):
        def of_another(document):
            document["context"]["processor"] = "rv128"
            for entry in document["benchmarks"]:
                entry["label"], entry["register_bits"] = "long", 1024

        other = self.changed(self.count(), of_another)
        self.assertIn("crossover.png and crossover.svg are left out", self.draw_well(self.count(), other).stdout)
        self.assert_figures(INSTRUCTION_FILES)
        processor = json.loads(self.count().read_text())["context"]["processor"]
        texts = set(self.text_of("instructions.svg"))
        panels = {f"{kernel}, {name}" for kernel in ("csr-simd", "sell") for name in (processor, "rv128")}
        self.assertLessEqual(panels | {"portable, 128 bits", "long, 1024 bits", "scalar, 64 bits"}, texts)

    def test_lines_without_a_kernel(self):
        def without_scalar(document):
            document["benchmarks"] = [entry for entry in document["benchmarks"] if "/scalar/" not in entry["name"]]

        self.assertIn("no crossover of L2", self.draw_well(self.changed(self.rows, without_scalar)).stdout)
        self.assert_figures(CROSSOVER_FILES)

    def test_wrong_usage(self):
        self.assert_refused(USAGE, "required: FILE.json", "-o", self.output)
        self.assert_refused(USAGE, "required: -o", self.spmv)
        self.assert_refused(USAGE, "unrecognized arguments: --nope", self.spmv, "-o", self.output, "--nope")
        self.assert_refused(USAGE, "both of spmv_bench", self.spmv, self.spmv, "-o", self.output)
        self.assert_refused(USAGE, "both of row_length_bench", self.rows, self.rows, "-o", self.output)

    def test_files_that_are_none(self):
        self.assert_refused(NO_INPUT, "No such file", self.output.parent / "none.json", "-o", self.output)
        text = self.output.parent / "text.json"
        text.write_text("class S took long\n")
        self.assert_refused(BAD_DATA, "not JSON", self.spmv, text, "-o", self.output)
        for content in ("[]", "{}", '{"context": {}, "benchmarks": []}', '{"context": {}, "benchmarks": [{"name": 1}]}'):
            text.write_text(content)
            self.assert_refused(BAD_DATA, "no results of spmv_bench or row_length_bench", text, "-o", self.output)

    def test_a_wrong_product_gives_no_figure(self):
        def fail(document):
            (entry,) = [entry for entry in document["benchmarks"] if entry["name"] == "L2/1/sell/real_time"]
            entry.update(error_occurred=True, error_message="the result differs")

        self.assert_refused(BAD_DATA, "L2/1/sell/real_time failed: the result differs", self.changed(self.rows, fail), "-o", self.output)

    def test_counters_that_are_no_numbers_give_no_figure(self):
        def zero(document):
            document["benchmarks"][0]["ns_per_nonzero"] = 0.0

        self.assert_refused(BAD_DATA, "no results", self.changed(self.rows, zero), "-o", self.output)

    def test_a_folder_that_cannot_be_made(self):
        self.output = self.spmv / "figures"  # below a file
        self.assert_refused(CANNOT_CREATE, "Not a directory", self.spmv, self.rows, "-o", self.output)


if __name__ == "__main__":
    unittest.main(verbosity=2)
