"""--rebalance: the matrix is repartitioned between outer iterations where ranks have drifted from their shares."""

from program_runner import ProgramTest, some_of

RUN = ("run", "--class", "S", "--no-profile")
# So slow that a move pays on any machine, from the fourth outer iteration on.
SLOW = ("--slow-rank", "1:60@104")
ON = ("--rebalance", "on")


class Rebalance(ProgramTest):
    def run_of(self, rank_count, *arguments):
        document = self.document_of(rank_count, *RUN, *arguments)
        self.assertIs(document["result"]["verified"], True)
        return document

    def test_a_rank_that_becomes_slow_gets_less(self):
        for rank_count, grid, transport, further in some_of((
            (2, "1x2", "two-sided", ()),
            (2, "2x1", "native", ("--overlap", "on")),
            (2, "1x2", "put", ("--kernel", "symmetric")),
            (4, "2x2", "shared", ()),
            (3, "3x1", "two-sided", ("--threads", "2")),
        ), 2):
            with self.subTest(grid=grid, transport=transport, further=further):
                options = ("--grid", grid, "--transport", transport, *further, *SLOW)
                stays = self.run_of(rank_count, *options)
                self.assertNotIn("rebalance", stays)
                moves = self.run_of(rank_count, *options, *ON)
                # Where the machine is busy there may be others before and after.
                own = [move for move in moves["rebalance"]["moves"] if move["slowest_rank"] == 1]
                self.assertTrue(own)
                self.assertEqual(own[-1]["run"], 1)
                before, after = (document["setup"]["ranks"] for document in (stays, moves))
                greatest = min(own, key=lambda move: move["ranks"][1]["nonzeros_after"])
                self.assertLess(greatest["ranks"][1]["nonzeros_after"], 0.7 * before[1]["nonzeros"])
                self.assertEqual(*(sum(rank["nonzeros"] for rank in ranks) for ranks in (before, after)))
                self.assert_tells_of_ranks(greatest, after)

    def assert_tells_of_ranks(self, move, last):
        ranks = move["ranks"]
        self.assertEqual([rank["rank"] for rank in ranks], list(range(len(last))))
        self.assertEqual(max(ranks, key=lambda rank: rank["before_s"])["rank"], move["slowest_rank"])
        self.assertGreater(ranks[1]["nonzeros_before"], ranks[1]["nonzeros_after"])
        for when in ("before", "after"):
            self.assertEqual(sum(rank[f"nonzeros_{when}"] for rank in ranks), sum(rank["nonzeros"] for rank in last))

    def test_the_text_says_when_why_and_what_it_gained(self):
        text = self.run_well(2, *RUN, "--grid", "1x2", *SLOW, *ON).stdout
        self.assertRegex(text, r"(?m)^ Rebalanced after outer iteration \d+: products of rank 1 took \d\.\d\d times the mean; those of the slowest \S+ -> \S+ s, in \S+ s, (gained|lost) \S+ s$")
        self.assertIn("\n Rebalanced never: no other cut would have paid for the move\n", self.run_well(1, *RUN, *ON).stdout)

    def test_reproducible_sums_do_not_know_of_moves(self):
        options = ("--grid", "1x2", "--reproducible", "on")
        still, moved = (self.run_of(2, *options, *further) for further in ((), (*SLOW, *ON)))
        self.assertTrue(moved["rebalance"]["moves"])
        self.assertEqual(*([step["zeta"] for step in document["outer_steps"]] for document in (still, moved)))

    def test_a_second_repetition_and_a_restart_go_on_with_the_cut(self):
        saved = self.folder / "saved"
        options = ("--grid", "2x2", "--reproducible", "on")
        whole = self.run_of(4, *options)
        self.run_of(4, *options, *SLOW, *ON, "--checkpoint", saved, "--checkpoint-interval", "0s")
        for words in (("--restart", saved), ("--restart", saved, *SLOW, *ON), (*SLOW, *ON, "--repeat", "3")):
            self.assertEqual(self.run_of(4, *options, *words)["outer_steps"][-1], whole["outer_steps"][-1])
