"""--reproducible: the same figures from every grid, kernel and way to start, and what is refused."""

from program_runner import ProgramTest

RUN = ("run", "--class", "S", "--niter", "3", "--no-profile")


class Reproducible(ProgramTest):
    def steps_with(self, rank_count, *arguments):
        """Zeta and residual of each outer iteration: JSON has all digits that tell doubles apart."""
        document = self.valid_document_of(rank_count, *RUN, *arguments)
        self.assertIs(document["configuration"]["reproducible"], True)
        return document["outer_steps"]

    def test_alone_it_is_on(self):
        expected = self.steps_with(0, "--reproducible")
        self.assertEqual(len(expected), 3)
        self.assertEqual(self.steps_with(4, "--reproducible", "--grid", "2x2"), expected)
        self.assertEqual(self.steps_with(2, "--reproducible", "on", "--grid", "2x1"), expected)
        self.assertEqual(self.steps_with(3, "--grid", "1x3", "--overlap", "--reproducible"), expected)
        self.assertIs(self.document_of(0, *RUN, "--reproducible", "off")["configuration"]["reproducible"], False)

    def test_resumed_on_another_grid(self):
        state = self.folder / "state"
        expected = self.steps_with(2, "--reproducible", "--grid", "1x2", "--checkpoint", state, "--checkpoint-interval", "0s")
        for rank_count, grid in ((0, "1x1"), (4, "4x1")):
            self.assertEqual(self.steps_with(rank_count, "--reproducible", "--grid", grid, "--restart", state), expected, grid)
