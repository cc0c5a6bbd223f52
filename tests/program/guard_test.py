"""cg2d run and cg2d solve with --guard and --inject: the report, the exit code of damage that stays, and refused values."""

import unittest

from program_runner import SUCCESS, USAGE, run_program
from report_json_test import SchemaTest
from schemas import validator_of

SOFT_ERROR = 83
VERIFICATION_FAILED = 82
NOT_FINITE = 84
MATRIX = ("A", "columns")


class Guard(SchemaTest):
    def test_a_clean_run_gives_no_alarm(self):
        for rank_count, options in ((1, ()), (2, ("--kernel", "symmetric")), (4, ("--overlap", "on", "--grid", "2x2"))):
            with self.subTest(ranks=rank_count, options=options):
                document = self.valid_document_of(rank_count, "run", "--class", "S", "--guard", *options)
                guard = document["guard"]
                self.assertEqual(guard["detections"], [])
                self.assertEqual(guard["rollbacks"], 0)
                self.assertGreater(guard["time_s"], 0.0)
                self.assertNotIn("injected", document)
                outer_steps = document["problem"]["niter"] + 1
                counts = {name: check["count"] for name, check in guard["checks"].items()}
                self.assertEqual(
                    counts,
                    {
                        "column-range": outer_steps * rank_count,
                        "block-product": 26 * outer_steps * rank_count,
                        "step-relation": 25 * outer_steps * rank_count,
                        "residual": outer_steps * rank_count,
                        "matrix-bytes": outer_steps * rank_count,
                    },
                )

    def test_without_the_option_there_is_no_guard(self):
        document = self.valid_document_of(1, "run", "--class", "S")
        self.assertNotIn("guard", document)
        self.assertNotIn("injected", document)

    def test_what_follows_a_flip(self):
        """Seeds until each end has been seen: the same zeta as without the fault, and exit code 83."""
        clean = self.document_of(2, "run", "--class", "S", "--guard", "--grid", "2x1")["result"]["zeta"]
        seen = set()
        for seed in range(1, 41):
            outcome = run_program(
                2, "run", "--class", "S", "--grid", "2x1", "--guard", "--inject", str(seed), "--format", "json"
            )
            document = outcome.document()
            self.assert_valid(document)
            (flip,) = document["injected"]["flips"]
            found = document["guard"]["detections"]
            if outcome.exit_code == SOFT_ERROR:
                self.assertEqual(document["status"], "soft-error")
                self.assertIn(flip["target"], MATRIX)
                # After a flip within an attempt the next two meet it in the first product.
                self.assertIn(len(found), (2, 3))
                self.assertEqual(found[-1]["rank"], flip["rank"])
                (line,) = outcome.error_lines()
                self.assertIn(f"rank {flip['rank']}, outer iteration", line)
                self.assertIn(f"({found[-1]['check']})", line)
                seen.add("refused")
            else:
                self.assertEqual(outcome.exit_code, SUCCESS, outcome)
                self.assert_close(document["result"]["zeta"], clean, 1e-10)
                if found:
                    self.assertEqual(document["result"]["zeta"], clean)
                    self.assertEqual(document["guard"]["rollbacks"], 1)
                    seen.add("made again")
            if seen == {"refused", "made again"}:
                return
        self.fail(f"only {seen}")

    def test_flips_without_a_guard(self):
        outcome = run_program(2, "run", "--class", "S", "--inject", "3:400", "--format", "json")
        self.assertIn(outcome.exit_code, (VERIFICATION_FAILED, NOT_FINITE), outcome)
        document = outcome.document()
        self.assert_valid(document)
        self.assertEqual(len(document["injected"]["flips"]), 400)
        self.assertNotIn("guard", document)

    def test_the_text(self):
        text = self.run_well(1, "run", "--class", "S", "--guard").stdout
        self.assertRegex(text, r" Guard +=  ?\d+ checks, 0 detections, 0 rollbacks, \d+\.\d\d % of the time\n")
        text = run_program(1, "run", "--class", "S", "--inject", "1:3").stdout
        self.assertRegex(text, r" Injected +=  ?\d of 3 bit flips \(seed 1\)\n   rank 0, outer iteration \d+, product \d+: ")

    def test_reproducible_sums_under_guard(self):
        options = ("run", "--class", "S", "--reproducible", "on")
        free = self.document_of(2, *options)["result"]["zeta"]
        document = self.valid_document_of(1, *options, "--guard")
        self.assertEqual(document["guard"]["detections"], [])
        self.assertEqual(document["result"]["zeta"], free)

    def test_bad_values(self):
        for value in ("x", "1:0", "-1", "1:2:3"):
            outcome = run_program(2, "run", "--class", "S", f"--inject={value}")
            self.assertEqual(outcome.exit_code, USAGE, outcome)
            self.assertEqual(len(outcome.error_lines()), 1, outcome)
            self.assertIn("SEED:COUNT", outcome.error_lines()[0])


SYSTEM = ("solve", "--operator", "laplace2d:60x50", "--assembled", "--grid", "rule", "--kernel", "csr-simd", "--transport", "two-sided")


class GuardOfASolve(SchemaTest):
    def document_of_solve(self, rank_count, *options):
        outcome = run_program(rank_count, *SYSTEM, *options, "--format", "json")
        document = outcome.document()
        validator_of("solve").validate(document)
        return outcome, document

    def test_a_clean_solve_gives_no_alarm_and_the_same_residuals(self):
        for rank_count, options in ((1, ()), (2, ("--preconditioner", "jacobi", "--x0", "ones")), (4, ("--rtol", "1e-12"))):
            with self.subTest(ranks=rank_count, options=options):
                _, free = self.document_of_solve(rank_count, *options)
                outcome, document = self.document_of_solve(rank_count, *options, "--guard")
                self.assertEqual(outcome.exit_code, SUCCESS, outcome)
                self.assertEqual(document["guard"]["detections"], [])
                self.assertEqual(document["result"]["history"], free["result"]["history"])
                self.assertNotIn("guard", free)
                iterations = document["result"]["iterations"]
                self.assertEqual(document["guard"]["checks"]["step-relation"]["count"], iterations * rank_count)
                self.assertGreater(document["guard"]["checks"]["block-product"]["count"], iterations * rank_count)

    def test_what_follows_a_flip(self):
        _, clean = self.document_of_solve(2, "--guard")
        seen = set()
        for seed in range(1, 61):
            outcome, document = self.document_of_solve(2, "--guard", "--inject", str(seed))
            (flip,) = document["injected"]["flips"]
            found = document["guard"]["detections"]
            if outcome.exit_code == SOFT_ERROR:
                self.assertEqual(document["status"], "soft-error")
                self.assertIn(flip["target"], MATRIX)
                (line,) = outcome.error_lines()
                self.assertIn(f"rank {flip['rank']}, iteration", line)
                self.assertIn(f"({found[-1]['check']})", line)
                seen.add("refused")
            else:
                self.assertEqual(outcome.exit_code, SUCCESS, outcome)
                if found:
                    self.assertEqual(document["result"]["history"], clean["result"]["history"])
                    seen.add("made again")
            if seen == {"refused", "made again"}:
                return
        self.fail(f"only {seen}")

    def test_the_text(self):
        text = self.run_well(1, *SYSTEM, "--guard", "--inject", "2").stdout
        self.assertRegex(text, r" Injected +=  ?[01] of 1 bit flip \(seed 2\)\n   rank 0, iteration \d+: ")
        self.assertRegex(text, r" Guard +=  ?\d+ checks, \d detections?, \d rollbacks?, \d+\.\d\d % of the time\n")

    def test_what_it_does_not_serve(self):
        free = ("solve", "--operator", "laplace2d:9x9")
        for options in (
            (*free, "--guard"),
            (*free, "--assembled", "--guard", "--variant", "pipelined"),
            (*free, "--assembled", "--inject", "1", "--preconditioner", "chebyshev"),
            (*free, "--assembled", "--guard", "--reproducible", "on"),
            (*free, "--assembled", "--guard", "--checkpoint", "folder"),
            (*free, "--assembled", "--guard", "--rhs", "random:1", "--rhs-count", "2"),
            (*free, "--assembled", "--inject", "1:0"),
        ):
            with self.subTest(options=options):
                outcome = run_program(2, *options)
                self.assertEqual(outcome.exit_code, USAGE, outcome)
                (line,) = outcome.error_lines()
                self.assertRegex(line, "--guard|--inject")


if __name__ == "__main__":
    unittest.main(verbosity=2)
