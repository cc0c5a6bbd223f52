"""cg2d scaling of a user's own system: strong and weak, with a matrix and without one."""

from program_runner import ProgramTest

ITERATIONS = 10


class SystemScalingTest(ProgramTest):
    def scaling(self, *arguments, ranks=4):
        return self.valid_document_of(ranks, "scaling", "--iterations", ITERATIONS, "--rounds", "2", *arguments)

    def test_strong_scaling_compares_both_forms(self):
        result = self.scaling("--operator", "laplace3d:9x8x7", "--assembled", "--cores", "2,4")
        self.assertEqual((result["scaling"], result["options"]["iterations"]), ("strong", ITERATIONS))
        self.assertEqual(result["options"]["system"], f"laplace3d:9x8x7, {ITERATIONS} iterations")
        ways = result["ways"]
        shapes = {1: [(1, 1)], 2: [(2, 1), (2, 1), (1, 2)], 4: [(4, 1), (4, 1), (2, 2), (2, 2), (1, 4)]}
        expected = [(*shape, form, 9 * 8 * 7) for cores in (1, 2, 4) for form in ("matrix-free", "matrix") for shape in shapes[cores]]
        self.assertEqual([(way["ranks"], way["threads"], way["form"], way["n"]) for way in ways], expected)
        self.assertEqual({way["matrix"] for way in ways}, {"laplace3d:9x8x7"})
        base = {way["form"]: way["figures"]["median_s"] for way in ways if way["cores"] == 1}
        for way in ways:
            figures = way["figures"]
            self.assertEqual([run["round"] for run in way["rounds"]], [1, 2])
            self.assertAlmostEqual(figures["speed_up"], base[way["form"]] / figures["median_s"])
            self.assertAlmostEqual(figures["efficiency"], figures["speed_up"] / way["cores"])
            self.assertAlmostEqual(figures["iteration_s"], figures["median_s"] / ITERATIONS)
            best = min(other["figures"]["median_s"] for other in ways if other["cores"] == way["cores"])
            self.assertLessEqual(figures["moving_share"] + figures["waiting_share"], 1.0)
            self.assertGreaterEqual(figures["median_s"], best)

    def test_weak_scaling_gives_every_rank_the_same_box(self):
        words = ("--operator", "laplace3d:6x7x8", "--weak", "--cores", "1,2,4,6", "--transport", "two-sided")
        all_cubes = self.scaling(*words, ranks=6)["ways"]
        self.assertEqual({way["n"] for way in all_cubes if way["cores"] == 4}, {4 * 6 * 7 * 8}, "threads, too, have a box each")
        cubes = {way["ranks"]: way for way in all_cubes if way["threads"] == 1}
        self.assertEqual({ranks: way["n"] for ranks, way in cubes.items()}, {ranks: ranks * 6 * 7 * 8 for ranks in (1, 2, 4, 6)})
        self.assertEqual(cubes[4]["matrix"], "laplace3d:6x14x16")
        self.assertEqual((cubes[4]["arrangement"], cubes[4].get("cut")), ("domain 1x2x2", None))
        base_s = cubes[1]["figures"]["median_s"]
        for way in cubes.values():
            self.assertAlmostEqual(way["figures"]["efficiency"], base_s / way["figures"]["median_s"])
        self.assertEqual(self.scaling("--operator", "laplace2d:10x12", "--weak")["ways"][-1]["matrix"], "laplace2d:20x24")
