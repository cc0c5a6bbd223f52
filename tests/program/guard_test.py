"""cg2d run and cg2d solve with --guard and --inject: the report, the exit code of damage that stays, and refused values."""

from program_runner import NOT_FINITE, SOFT_ERROR, SUCCESS, VERIFICATION_FAILED, ProgramTest, run_program


MATRIX = ("A", "columns")


class GuardTest(ProgramTest):
    def ends_of_flips(self, words, seed_count, unit):
        """(flip, detections, document) of a run on two ranks by each seed, until both ends have been seen."""
        seen = set()
        for seed in range(1, seed_count + 1):
            outcome = run_program(2, *words, "--inject", seed, "--format", "json")
            document = self.assert_valid(outcome.document(), words[0])
            (flip,) = document["injected"]["flips"]
            found = document["guard"]["detections"]
            if outcome.exit_code == SOFT_ERROR:
                self.assertEqual(document["status"], "soft-error")
                self.assertIn(flip["target"], MATRIX)
                self.assert_refused(outcome, SOFT_ERROR, f"rank {flip['rank']}, {unit}", f"({found[-1]['check']})")
                seen.add("refused")
            else:
                self.ends_with(SUCCESS, outcome)
                seen |= {"made again"} if found else set()
            yield flip, found, document
            if len(seen) == 2:
                return
        self.fail(f"only {seen}")


class Guard(GuardTest):
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
                of_a_step = {"column-range": 1, "block-product": 26, "step-relation": 25, "residual": 1, "matrix-bytes": 1}
                self.assertEqual(counts, {name: count * outer_steps * rank_count for name, count in of_a_step.items()})

    def test_what_follows_a_flip(self):
        """The same zeta as without the fault, or exit code 83."""
        words = ("run", "--class", "S", "--grid", "2x1", "--guard")
        clean = self.document_of(2, *words)["result"]["zeta"]
        for flip, found, document in self.ends_of_flips(words, 40, "outer iteration"):
            if document["status"] == "soft-error":
                # After a flip within an attempt the next two meet it in the first product.
                self.assertIn(len(found), (2, 3))
                self.assertEqual(found[-1]["rank"], flip["rank"])
                continue
            self.assert_close(document["result"]["zeta"], clean, 1e-10)
            if found:
                self.assertEqual((document["result"]["zeta"], document["guard"]["rollbacks"]), (clean, 1))

    def test_flips_without_a_guard(self):
        outcome = run_program(2, "run", "--class", "S", "--inject", "3:400", "--format", "json")
        self.assertIn(outcome.exit_code, (VERIFICATION_FAILED, NOT_FINITE), outcome)
        document = self.assert_valid(outcome.document())
        self.assertEqual(len(document["injected"]["flips"]), 400)
        self.assertNotIn("guard", document)

    def test_the_text(self):
        text = self.run_well(1, "run", "--class", "S", "--guard").stdout
        self.assertRegex(text, r" Guard +=  ?\d+ checks, 0 detections, 0 rollbacks, \d+\.\d\d % of the time\n")
        text = run_program(1, "run", "--class", "S", "--inject", "1:3").stdout
        self.assertRegex(text, r" Injected +=  ?\d of 3 bit flips \(seed 1\)\n   rank 0, outer iteration \d+, product \d+: ")


SYSTEM = ("solve", "--operator", "laplace2d:60x50", "--assembled", "--grid", "rule", "--kernel", "csr-simd", "--transport", "two-sided")


class GuardOfASolve(GuardTest):
    def test_a_clean_solve_gives_no_alarm_and_the_same_residuals(self):
        for rank_count, options in ((1, ()), (2, ("--preconditioner", "jacobi", "--x0", "ones")), (4, ("--rtol", "1e-12"))):
            with self.subTest(ranks=rank_count, options=options):
                free, document = (self.valid_document_of(rank_count, *SYSTEM, *options, *more) for more in ((), ("--guard",)))
                self.assertEqual(document["guard"]["detections"], [])
                self.assertEqual(document["result"]["history"], free["result"]["history"])
                self.assertNotIn("guard", free)
                iterations = document["result"]["iterations"]
                self.assertEqual(document["guard"]["checks"]["step-relation"]["count"], iterations * rank_count)
                self.assertGreater(document["guard"]["checks"]["block-product"]["count"], iterations * rank_count)

    def test_what_follows_a_flip(self):
        clean = self.valid_document_of(2, *SYSTEM, "--guard")
        for _, found, document in self.ends_of_flips((*SYSTEM, "--guard"), 60, "iteration"):
            if found and document["status"] == "success":
                self.assertEqual(document["result"]["history"], clean["result"]["history"])

    def test_the_text(self):
        text = self.run_well(1, *SYSTEM, "--guard", "--inject", "2").stdout
        self.assertRegex(text, r" Injected +=  ?[01] of 1 bit flip \(seed 2\)\n   rank 0, iteration \d+: ")
        self.assertRegex(text, r" Guard +=  ?\d+ checks, \d detections?, \d rollbacks?, \d+\.\d\d % of the time\n")
