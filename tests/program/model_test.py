"""cg2d model: predictions on described machines, the calibration of this one, and predictions beside a run."""

import json
import math
import os

from program_runner import (
    BAD_DATA, CANNOT_CREATE, PHASES, PROJECT, SUCCESS, USAGE, ProgramTest, names_listed, run_program, run_until_physical,
    temporary_folder, validator_of,
)  # fmt: skip

PAPER = ("model", "--machine", "cp-pacs")


class DescribedMachineTest(ProgramTest):
    def model(self, *arguments):
        return self.document_of(1, *PAPER, *arguments)

    def test_the_best_grids_of_the_paper(self):
        (problem,) = self.model("--ranks", "16,32,64,128,256")["problems"]
        self.assertEqual(problem["class"], "B")
        best = [(row["ranks"], row["best_grid"].split("x")[0]) for row in problem["rank_counts"]]
        self.assertEqual(best, [(16, "1"), (32, "1"), (64, "1"), (128, "2"), (256, "2")])
        for row in problem["rank_counts"]:
            self.assertEqual(row["total_s"], min(grid["total_s"] for grid in row["grids"]))
            for grid in row["grids"]:
                self.assertEqual(tuple(grid["phases"]), PHASES)
                self.assert_close(sum(grid["phases"].values()), grid["total_s"], 1e-9)

    def test_the_official_grid(self):
        (problem,) = self.model("--ranks", "8,16", "--grid", "official")["problems"]
        self.assertEqual([[grid["grid"] for grid in row["grids"]] for row in problem["rank_counts"]], [["4x2"], ["4x4"]])

    def test_slow_ranks_are_waited_for_unless_the_cut_follows_their_speeds(self):
        def grids_of(*arguments):
            (problem,) = self.model("--class", "A", "--ranks", "4", *arguments)["problems"]
            return {grid["grid"]: grid for grid in problem["rank_counts"][0]["grids"]}

        even, slow = grids_of(), grids_of("--slow-rank", "2:2")
        by_speed = grids_of("--slow-rank", "2:2", "--cut", "speed")
        for name, grid in even.items():
            self.assertEqual(grid["reached_share"], 1)
            # One rank of four takes twice as long for its product, and the others wait.
            self.assert_close(slow[name]["total_s"], grid["total_s"] + grid["phases"]["multiply"], 1e-9)
            self.assert_close(slow[name]["reached_share"], 4 / (2 * 3.5), 1e-9)
        for name in ("1x4", "4x1"):
            self.assert_close(by_speed[name]["reached_share"], 1, 1e-12)
            self.assertLess(by_speed[name]["total_s"], slow[name]["total_s"])
        # Four equal ranks do in 1 what these do in 4 / 3.5; longer pieces have longer messages and vector operations, too.
        more_s = by_speed["1x4"]["total_s"] - even["1x4"]["total_s"]
        self.assertAlmostEqual(1 + more_s / even["1x4"]["phases"]["multiply"], 4 / 3.5, delta=0.05)
        self.assertLess(by_speed["2x2"]["reached_share"], 0.99)
        self.assertEqual(grids_of("--slow-rank", "2:2@1000000")["1x4"]["total_s"], even["1x4"]["total_s"])
        shares = self.file("shares", "2 2 1 2\n")
        from_file = grids_of("--slow-rank", "2:2", "--cut", f"file:{shares}")
        self.assert_close(from_file["1x4"]["total_s"], by_speed["1x4"]["total_s"], 1e-12)
        shares.write_text("2 2 1\n")
        self.assert_refused(run_program(1, *PAPER, "--ranks", "4", "--cut", f"file:{shares}"), BAD_DATA)
        text = self.run_well(1, *PAPER, "--ranks", "4", "--slow-rank", "2:2", "--cut", "speed").stdout
        self.assertIn(", cut speed, slowed rank 2 by 2: predicted seconds by phase\n", text)
        self.assertRegex(text, r"(?m)^ B +4 +2x2 .* 83\.\d % ")

    def test_machines_that_come_with_it(self):
        """Each is a description by the schema, has sources, and is there for beginning one's own."""
        validator = validator_of("machine")
        for file in sorted((PROJECT / "cg/machine/descriptions").glob("*.json")):
            with self.subTest(machine=file.stem):
                description = json.loads(file.read_text())
                validator.validate(description)
                self.assertEqual(description["name"], file.stem)
                self.assertTrue(all(description["sources"]))
                self.assertEqual(self.run_well(1, "model", "--template", "--machine", file.stem).stdout, file.read_text())
                self.run_well(1, "model", "--machine", file, "--ranks", "1,256", "--class", "A")
        own = json.loads(self.run_well(1, "model", "--template").stdout)
        own["network"]["start_up_clocks"] = own["network"].pop("start_up_s")
        self.assertTrue(validator.is_valid(own))
        own["kernels"][0]["shapes"] = [{}]
        self.assertFalse(validator.is_valid(own), "a shape without figures")

    def test_bad_input_is_one_line(self):
        broken = self.file("broken.json", '{"schema_version": 1, "name": "x", "network": {"start_up_s": -1}}')
        for arguments, words in (
            (["--machine", broken], '5 problems: "network.start_up_s" is -1: it must be at least 0; "network.bytes_per_s" or '),
            (["--template", "--machine", broken], "--template has the machines that come with cg2d"),
        ):
            self.assert_refused(run_program(2, "model", *arguments), USAGE, words)
        self.assertIn("at least 2 ranks", run_program(1, "model", "--calibrate", "--machine", broken.parent / "m.json").stderr)
        self.ends_with(USAGE, run_program(2, "model", "--calibrate", "--machine", broken))
        self.assertIn('"start_up_s": -1', broken.read_text(), "what is no description is left alone")
        self.ends_with(CANNOT_CREATE, run_program(2, "model", "--calibrate", "--machine", broken.parent / "no" / "machine.json"))


def with_cache(folder):
    """Options of a run."""
    return {"env": {**os.environ, "XDG_CACHE_HOME": str(folder)}}


class CalibrationTest(ProgramTest):
    @classmethod
    def setUpClass(cls):
        """One calibration for all tests."""
        cache = temporary_folder(cls.addClassCleanup)
        cls.environment = with_cache(cache)
        cls.calibration = run_until_physical(2, "model", "--calibrate", "--class", "S,W", "--keep-disturbed", **cls.environment)
        cls.place = cache / "cg2d" / "machine.json"

    def cached(self, text):
        """The place of a description with that text in a cache of the test's own, and the options of a run with that cache."""
        place = self.folder / "cg2d" / "machine.json"
        place.parent.mkdir()
        place.write_text(text)
        return place, with_cache(self.folder)

    def test_it_writes_a_description_to_the_default_place(self):
        self.assertEqual(self.calibration.exit_code, SUCCESS, self.calibration)
        self.assertIn(f"Written to {self.place}", self.calibration.stdout)
        (condition,) = json.loads(self.place.read_text())["conditions"]
        calibrated = condition["calibrated"]
        self.assertEqual((calibrated["ranks"], calibrated["threads"]), (2, 1))
        self.assertRegex(calibrated["measured"]["date"], r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$")
        shapes = [shape for kernel in condition["kernels"] for shape in kernel["shapes"]]
        self.assertEqual(sorted({shape["rows"] for shape in shapes}), [700, 1400, 3500, 7000])

    def test_it_describes_the_network_of_every_transport(self):
        (condition,) = json.loads(self.place.read_text())["conditions"]
        known = ["two-sided"] + [cost["name"] for cost in condition["transports"]]
        self.assertEqual(sorted(known), sorted(names_listed("--list-transports")))
        for cost in [condition["network"], *condition["transports"]]:
            self.assertGreaterEqual(cost["start_up_s"], 0)
            # A transport that copies nothing may have no rate; two-sided messages have one.
            self.assertGreater(cost.get("bytes_per_s", math.inf if "name" in cost else 0), 0)
            self.assertGreaterEqual(cost["add_seconds_per_element"], 0)

    def test_a_prediction_takes_the_network_of_its_transport(self):
        document = json.loads(self.place.read_text())
        (condition,) = document["conditions"]
        for cost in condition["transports"]:
            cost["start_up_s"] = 1.0
        _, environment = self.cached(json.dumps(document))
        for transport, is_slow in (("two-sided", False), ("shared", True)):
            run = self.expect_prediction_of_the_model(["--class", "S", "--grid", "1x2", "--transport", transport], environment)
            # 15 outer steps of 26 collections, each of one message.
            self.assertEqual(run["prediction"]["phases"]["collection"] >= 15 * 26, is_slow)

    def expect_prediction_of_the_model(self, words, environment):
        """Returns the document of the run."""
        run = self.document_of(2, "run", *words, **environment)
        (problem,) = self.document_of(1, "model", *words, **environment)["problems"]
        (grid,) = problem["rank_counts"][0]["grids"]
        self.assertEqual(grid["phases"], run["prediction"]["phases"])
        return run

    def test_a_run_shows_predicted_beside_measured(self):
        prediction = self.document_of(2, "run", "--class", "W", "--grid", "2x1", **self.environment)["prediction"]
        self.assertEqual(tuple(prediction["phases"]), PHASES)
        self.assert_close(sum(prediction["phases"].values()), prediction["total_s"], 1e-9)
        text = self.run_well(2, "run", "--class", "W", "--grid", "2x1", "--verbose", **self.environment).stdout
        self.assertIn(f" Prediction      = {prediction['total_s']:.6f} s\n", text)
        self.assertRegex(text, r"(?m)^ phase .* predicted$")

    def test_a_model_is_of_ranks_with_one_thread(self):
        document = json.loads(self.place.read_text())
        (condition,) = document["conditions"]
        condition["calibrated"]["threads"] = 2
        _, environment = self.cached(json.dumps(document))
        self.assert_refused(run_program(1, "model", **environment), USAGE, "knows nothing of ranks with one thread on this processor")

    def test_without_a_description_there_is_no_prediction(self):
        without = with_cache(self.folder)
        for arguments, environment in (([], without), (["--no-profile"], self.environment), (["--threads", "2"], self.environment)):
            self.assertNotIn("prediction", self.document_of(2, "run", "--class", "S", *arguments, **environment))
        self.assertIn("cg2d model --calibrate", self.ends_with(USAGE, run_program(1, "model", **without)).stderr)
