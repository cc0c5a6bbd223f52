"""cg2d pingpong as a user meets it: table, JSON and CSV say the same, and bad input is one line."""

from program_runner import ProgramTest, names_listed

METHODS = ["blocking", "nonblocking", "put-immediate", "put-delayed", "get-immediate", "get-delayed", "shared"]
PHASES = ["collection", "summation", "shuffle", "dot"]
SMALL = ("pingpong", "--class", "S", "--sizes", "8,1kB")


class PingPongTest(ProgramTest):
    def test_json_is_as_in_the_schema(self):
        document = self.valid_document_of(3, *SMALL, "--pairs", "0:1,2:0", "--grid", "3x1")
        self.assertEqual(document["provenance"]["command"][1], "pingpong")
        self.assertEqual(document["ranks"], 3)
        self.assertEqual([pair["ranks"] for pair in document["pairs"]], [[0, 1], [2, 0]])
        for pair in document["pairs"]:
            self.assertTrue(pair["same_node"])
            left_out = [entry["name"] for entry in pair["left_out"]]
            methods = [name for name in METHODS if name not in left_out]
            self.assertLessEqual(set(left_out), set(METHODS) - {"nonblocking", "shared"}, "only what blocks may be left out")
            measured = [(time["bytes"], time["variables"], time["method"]) for time in pair["transfers"]]
            self.assertEqual(measured, [(size, count, name) for size in (8, 1000) for count in (1, 8) for name in methods])
            for time in pair["transfers"]:
                sample = time["seconds_per_variable"]
                self.assertTrue(0 < sample["minimum_s"] <= sample["median_s"] <= sample["maximum_s"])
                self.assert_close(time["bytes_per_s"], time["bytes"] / sample["median_s"], 1e-9)
            self.assertEqual([line["method"] for line in pair["lines"]], methods)
        phases = document["phases"]
        self.assertEqual((phases["class"], phases["n"], phases["grid"]), ("S", 1400, "3x1"))
        served = [row["transport"] for row in phases["transports"]]
        self.assertEqual(sorted(served + [entry["name"] for entry in phases["left_out"]]), sorted(names_listed("--list-transports")))
        for row in phases["transports"]:
            self.assertEqual(list(row["phases"]), PHASES)
        ways = [way["way"] for way in document["sums"]] + [entry["name"] for entry in document["sums_left_out"]]
        self.assertEqual(sorted(ways), sorted([*served, "MPI_Allreduce", "MPI_Iallreduce"]))

    def test_the_text_names_everything(self):
        text = self.run_well(2, *SMALL, "--methods", "put-immediate,put-delayed,shared").stdout
        self.assertRegex(text, r"(?m)^ Ranks 0 and 1, on one node: half a round trip over the number of its messages$")
        self.assertRegex(text, r"(?m)^ Quiet = (yes|no: .|unknown: .)")
        self.assertEqual(len(set(METHODS) & set(text.split())), 3)
        for variables in (1, 8):
            for size in (8, 1000):
                rows = [line for line in text.splitlines() if line.split()[:2] == [str(variables), str(size)]]
                self.assertEqual([len(row.split()) for row in rows], [5], "microseconds of three methods")
        for name in ("put-immediate", "put-delayed", "shared"):
            self.assertRegex(text, rf"(?m)^ +{name} = [0-9.]+ us \+ (size / [0-9.]+ GB/s|size / \(not measurable\))$")
        self.assertRegex(text, r"(?m)^ Dot product of 2 ranks: ")
        self.assertRegex(text, r"(?m)^ +MPI_Iallreduce +[0-9.]+ ")
        self.assertRegex(text, r"(?m)^ Class S, grid \dx\d: ")
        for transport in names_listed("--list-transports"):
            self.assertRegex(text, rf"(?m)^ +{transport} +[0-9.]+ +[0-9.]+ +[0-9.]+ +[0-9.]+$")
