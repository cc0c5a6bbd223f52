"""cg2d run --roofline: the work of each phase, against the limits of this machine."""

from program_runner import PHASES, ProgramTest


PRODUCTS_PER_SOLVE = 26
DOTS_PER_SOLVE = 54  # two in each of 25 steps, one before them, one for the residual, two for zeta
VECTORS_IN_DOTS = 2 * (25 + 1) + (25 + 1) + 1 + 1  # p . q and x . z read two; r . r, the residual's and z . z one
DOUBLE = 8


class Roofline(ProgramTest):
    def roofline_of(self, rank_count, *arguments):
        document = self.valid_document_of(rank_count, "run", "--class", "S", "--roofline", *arguments)
        return document, document["roofline"]

    def test_what_the_phases_do(self):
        for kernel, reproducible in (("sell", "off"), ("symmetric", "off"), ("sell", "on")):
            document, roofline = self.roofline_of(1, "--kernel", kernel, "--reproducible", reproducible)
            phases = roofline["phases"]
            self.assertEqual(tuple(phases), PHASES)
            order, solves = document["problem"]["n"], document["problem"]["niter"]
            products = PRODUCTS_PER_SOLVE * solves
            self.assertEqual(phases["multiply"]["flops"], 2 * document["problem"]["nonzero_count"] * products)
            block = document["setup"]["ranks"][0]["block_bytes"]
            vectors = (3 if document["configuration"]["symmetric_storage"] else 2) * DOUBLE * order
            self.assertEqual(phases["multiply"]["bytes"], (block + vectors) * products)
            self.assertEqual(phases["dot"]["flops"], 2 * order * DOTS_PER_SOLVE * solves)
            self.assertEqual(phases["dot"]["bytes"], DOUBLE * order * VECTORS_IN_DOTS * solves)
            self.assertEqual(phases["collection"]["bytes"], 0)
            self.assertGreater(phases["vector_updates"]["flops"], 6 * order * 25 * solves)
            for phase in phases.values():
                bandwidth = roofline["matrix_bytes_per_s" if phase is phases["multiply"] else "vector_bytes_per_s"]
                limit = max(phase["bytes"] / bandwidth, phase["flops"] / roofline["flops_per_s"])
                self.assert_close(phase["limit_s"], limit, 1e-9)
                self.assert_close(phase["share"] * phase["measured_s"], limit, 1e-9)

    def test_no_phase_is_said_to_be_faster_than_the_machine(self):
        """Vectors of class S sit in faster caches, one or two at a time, than all vectors of a step: the limit of these says
        nothing of such a phase."""
        text = self.run_well(1, "run", "--class", "S", "--roofline").stdout
        self.assertIn(" Limits, all ranks at once: ", text)
        self.assertNotIn("limit", self.run_well(1, "run", "--class", "S", "--no-profile").stdout.split("Phases:")[1])
        lines = text[text.index("of limit\n") :].splitlines()[1 : 1 + len(PHASES)]
        shares = {line.split()[0]: line.removesuffix(" %").split()[-1] for line in lines}
        self.assertEqual(tuple(shares), PHASES)
        for phase, share in shares.items():
            if share != "-":
                self.assertLessEqual(float(share), 100.0, phase)

    def test_messages_are_read_and_written(self):
        document, roofline = self.roofline_of(2, "--grid", "1x2", "--transport", "two-sided", "--bind", "none")
        if roofline is None:
            self.skipTest("two ranks share cores here")
        sent = [rank["phases"]["collection"]["bytes"] for rank in document["phases"]["ranks"]]
        self.assertGreater(min(sent), 0)
        self.assertEqual(roofline["phases"]["collection"]["bytes"], 2 * sum(sent) / len(sent))

    def test_ranks_that_share_cores_have_no_limits_of_their_own(self):
        document, _ = self.roofline_of(1)
        document, roofline = self.roofline_of(sum(node["cores"] for node in document["environment"]["nodes"]) + 1)
        self.assertIsNone(roofline)
        self.assertEqual(len([text for text in document["warnings"] if "--roofline" in text]), 1)
