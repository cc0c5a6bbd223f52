"""--cut of the benchmark: pieces of equal numbers of nonzeros, and by a file of shares."""

import itertools

from program_runner import THOROUGH, ProgramTest, factorizations

RUN = ("run", "--class", "S", "--no-profile")


class Cut(ProgramTest):
    def setUp(self):
        self.shares = self.folder / "shares"

    def cut_by(self, shares):
        self.shares.write_text("# one for each rank\n" + "\n".join(map(str, shares)) + "\n")
        return f"file:{self.shares}"

    def nonzeros_with(self, rank_count, *arguments):
        document = self.document_of(rank_count, *RUN, *arguments)
        self.assertIs(document["result"]["verified"], True)
        self.assertEqual(document["configuration"]["cut"], dict(zip(arguments[::2], arguments[1::2]))["--cut"])
        return [rank["nonzeros"] for rank in document["setup"]["ranks"]]

    def test_every_grid_and_transport_has_the_zetas(self):
        transports = itertools.cycle(("two-sided", "native", "put", "shared"))
        cuts = itertools.cycle(("uneven", "nonzeros"))
        for count, cut in zip((*range(1, 9), 12) if THOROUGH else (4, 6), cuts):
            for columns, rows in factorizations(count):
                with self.subTest(grid=f"{columns}x{rows}", cut=cut):
                    given = self.cut_by([1 + (7 * k + 3) % 5 for k in range(count)]) if cut == "uneven" else cut
                    self.nonzeros_with(count, "--grid", f"{columns}x{rows}", "--transport", next(transports), "--cut", given)

    def test_shares_are_those_of_the_nonzeros(self):
        nonzeros = self.nonzeros_with(3, "--grid", "1x3", "--cut", self.cut_by((1, 1, 2)))
        for found, share in zip(nonzeros, (0.25, 0.25, 0.5)):
            self.assertAlmostEqual(found / sum(nonzeros), share, delta=0.002)

    def test_speeds_are_measured_once(self):
        """The tests' machine may be busy: what is measured is kept all the same."""
        profile = self.folder / "profile.json"
        words = ("run", "--class", "S", "--cut", "speed", "--profile", profile, "--keep-disturbed")

        def trial_of(*arguments):
            document = self.document_of(2, *words, *arguments)
            self.assertIs(document["result"]["verified"], True)
            return document["configuration"]["speed_trial"]

        first = trial_of("--grid", "1x2")
        self.assertEqual((first["from"], first["kept_in"], first["not_kept_because"]), ("measurement", str(profile), ""))
        self.assertGreater(first["duration_s"], 0)
        second = trial_of("--grid", "1x2")
        self.assertEqual((second["from"], second["kept_in"], second["rounds"], second["duration_s"]), ("profile", str(profile), 0, 0))
        for name in ("speeds", "shares", "ideal_nonzeros_per_s", "reachable_nonzeros_per_s", "even_nonzeros_per_s"):
            self.assertEqual(second[name], first[name])
        kept = profile.read_text()
        slowed = trial_of("--grid", "1x2", "--slow-rank", "1:20")
        self.assertEqual((slowed["from"], slowed["kept_in"], slowed["not_kept_because"]), ("measurement", None, "ranks are slowed on purpose"))
        self.assertLess(slowed["speeds"][1], slowed["speeds"][0] / 2)
        self.assertEqual(profile.read_text(), kept)
        self.assertEqual(trial_of("--grid", "1x2", "--kernel", "scalar")["from"], "measurement")
        self.assertEqual(trial_of("--grid", "2x1")["from"], "measurement")
        self.assertRegex(self.run_well(0, "tune", "--list", "--profile", profile).stdout, r"(?m)^   S, grid 2x1, 1 thread, kernel \S+: speeds of 2 ranks, measured 20")
        self.assertIn("3 measurements of S removed", self.run_well(0, "tune", "--remove", "S", "--profile", profile).stdout)

    def test_a_slow_rank_gets_less_and_is_told(self):
        document = self.document_of(2, *RUN, "--grid", "1x2", "--cut", "speed", "--slow-rank", "1:20")
        self.assertIs(document["result"]["verified"], True)
        self.assertEqual(document["slow_ranks"]["ranks"], [{"rank": 1, "factor": 20, "first_product": 0}])
        self.assertLess(document["setup"]["ranks"][1]["nonzeros"], document["setup"]["ranks"][0]["nonzeros"] / 2)
        text = self.run_well(2, *RUN, "--slow-rank", "0:1.5,1:2@52").stdout
        self.assertIn(" Slowed  rank 0 by 1.5, rank 1 by 2 from product 52 on, on purpose\n", text)
