"""cg2d check: its table names every kernel, transport and grid, on any number of ranks; --check of a run or a solve comes before it."""

from program_runner import SUCCESS, THOROUGH, ProgramTest, factorizations, names_listed


SAID = r"3 checks of this kernel, transport and grid ok in \d+\.\d+ s"


class CheckTest(ProgramTest):
    documents = {}

    def document(self, rank_count):
        """One check for all tests: it takes seconds."""
        if rank_count not in self.documents:
            self.documents[rank_count] = self.valid_document_of(rank_count, "check")
        return self.documents[rank_count]

    def subjects(self, document, check):
        return [result["subject"] for result in document["results"] if result["check"] == check]

    def test_every_kernel_transport_and_grid_is_there(self):
        for rank_count in (0, 1, 2, 3, 4) if THOROUGH else (0, 2):
            document = self.document(rank_count)
            self.assertEqual((document["status"], document["exit_code"], document["failed"]), ("success", SUCCESS, 0))
            self.assertEqual(document["ranks"], max(1, rank_count))
            self.assertEqual({text.split(",")[0] for text in self.subjects(document, "kernel")}, names_listed("--list-kernels"))
            self.assertEqual({text.split(",")[0] for text in self.subjects(document, "transport")}, names_listed("--list-transports"))
            grids = [f"{columns}x{rows}" for columns, rows in factorizations(max(1, rank_count))]
            self.assertEqual([text.split(", ")[1] for text in self.subjects(document, "benchmark")], sorted(2 * grids, key=grids.index))
            self.assertEqual({result["check"] for result in document["results"]}, {row["name"] for row in document["checks"]})
            counts = [sum(result["status"] == status for result in document["results"]) for status in ("ok", "failed", "unavailable")]
            self.assertEqual(counts, [document["ok"], document["failed"], document["unavailable"]])

    def test_every_result_was_compared(self):
        for result in self.document(2)["results"]:
            if result["status"] == "ok":
                self.assertLessEqual(result["figure"], result["tolerance"], result)
            else:
                self.assertNotEqual(result["reason"], "", result)

    def test_text(self):
        text = self.run_well(1, "check").stdout
        self.assertRegex(text, r"(?m)^ kernel: ")
        self.assertRegex(text, r"(?m)^   sell, portable +ok +\d+\.\d+ s  [\d.e-]+, at most 1$")
        self.assertRegex(text, r"(?m)^   class S, 1x1, \S+, \S+ +ok ")
        self.assertRegex(text, r"(?m)^ \d+ ok, 0 failed, \d+ unavailable in \d+\.\d s: all checks passed$")


class CheckBeforeRunTest(ProgramTest):
    def test_the_run_follows(self):
        for arguments in (
            ["--grid", "1x2", "--kernel", "sell", "--transport", "shared"],
            ["--grid", "2x1", "--kernel", "symmetric", "--overlap", "on", "--sum", "whole-block"],
            ["--kernel", "csr-simd", "--threads", "2", "--transport", "auto"],
        ):
            run = ["run", "--class", "S", "--format", "json", *arguments]
            with self.subTest(arguments=arguments):
                plain, checked = (self.run_well(2, *run, *more, "--progress") for more in ([], ["--check"]))
                self.assertNotIn("checks of this kernel", plain.stderr)
                self.assertRegex(checked.stderr, SAID)
                if "auto" not in arguments:  # transports may differ in the order of their sums
                    self.assertEqual(*(outcome.document()["result"]["zeta"] for outcome in (plain, checked)))

    def test_a_solve(self):
        solve = ["solve", "--operator", "laplace2d:40x30", "--assembled", "--grid", "1x2", "--kernel", "sell", "--format", "json"]
        plain, checked = (self.run_well(2, *solve, *more, "--progress") for more in ([], ["--check"]))
        self.assertNotIn("checks of this kernel", plain.stderr)
        self.assertRegex(checked.stderr, SAID)
        self.assertEqual(*(outcome.document()["result"]["history"] for outcome in (plain, checked)))
