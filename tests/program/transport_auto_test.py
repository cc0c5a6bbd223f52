"""--transport auto: measured once, then known from the tuning profile."""

import json
import os

from program_runner import CLASS_S_ZETA, ProgramTest, names_listed

CLASS_S = ("run", "--class", "S", "--grid", "1x2", "--transport", "auto")


class TransportAutoTest(ProgramTest):
    def setUp(self):
        self.profile = self.folder / "profile.json"

    def configuration_of(self, *arguments):
        """The tests' machine may be busy: what is measured is kept all the same, and the remark on that is left out."""
        if "--no-profile" not in arguments:
            arguments = (*arguments, "--keep-disturbed")
        document = self.valid_document_of(2, *CLASS_S, *arguments)
        self.assert_close(document["result"]["zeta"], CLASS_S_ZETA[-1], 1e-12)
        return document["configuration"], [text for text in document["warnings"] if ", disturbed: " not in text]

    def assert_trial_of_all(self, configuration):
        """Returns the trial, which has all transports, and whose first one was taken."""
        trial = configuration["transport_trial"]
        self.assertEqual({one["transport"] for one in (*trial["tried"], *trial["skipped"])}, names_listed("--list-transports"))
        self.assertEqual(configuration["transport"], trial["tried"][0]["transport"])
        return trial

    def test_measured_now_then_from_the_profile(self):
        first, warnings = self.configuration_of("--profile", self.profile)
        trial = self.assert_trial_of_all(first)
        self.assertEqual(warnings, [])
        self.assertEqual((trial["from"], trial["kept_in"]), ("measurement", str(self.profile)))
        times = [one["step_s"] for one in trial["tried"]]
        self.assertEqual(times[1:], sorted(times[1:]))
        self.assertEqual(trial["verdict"]["candidate"], first["transport"])

        second, _ = self.configuration_of("--profile", self.profile)
        self.assertEqual(second["transport_trial"]["from"], "profile")
        self.assertEqual(second["transport_trial"]["tried"], trial["tried"])
        self.assertEqual(second["transport"], first["transport"])
        # The profile says nothing of kernels, so these go by the default.
        self.assertEqual(second["tuning"]["kernel_by"], "built-in rule")
        self.assertEqual(second["tuning"], first["tuning"] | {"no_profile_because": second["tuning"]["no_profile_because"]})

        third = self.document_of(2, *CLASS_S, "--no-profile")["configuration"]["transport_trial"]
        self.assertEqual((third["from"], third["kept_in"], third["not_kept_because"]), ("measurement", None, "--no-profile"))

    def test_put_is_left_out_between_nodes_where_ranks_outnumber_the_cores(self):
        """On one core, by the processors that the launcher may use. On one node, where it uses no MPI, it is tried."""
        before = os.sched_getaffinity(0)
        self.addCleanup(os.sched_setaffinity, 0, before)
        os.sched_setaffinity(0, {min(before)})
        for nodes, is_tried in ((("--ranks-per-node", "1"), False), ((), True)):
            trial = self.document_of(2, *CLASS_S, "--no-profile", *nodes)["configuration"]["transport_trial"]
            self.assertEqual("put" in {one["transport"] for one in trial["tried"]}, is_tried, trial)
            reasons = {one["transport"]: one["reason"] for one in trial["skipped"]}
            self.assertEqual("outnumber the cores" in reasons.get("put", ""), not is_tried, trial)

    def test_a_profile_without_transports_is_kept_and_grows(self):
        """As programs before this option wrote them."""
        self.configuration_of("--profile", self.profile)
        (name,) = json.loads(self.profile.read_text())["processors"]
        old = {"critical_vector_length": 7, "row_lengths": [], "cases": []}
        self.profile.write_text(json.dumps({"schema_version": 1, "processors": {name: old, "Another one": old}}))
        configuration, _ = self.configuration_of("--profile", self.profile)
        self.assertEqual(configuration["transport_trial"]["from"], "measurement")
        self.assertEqual(configuration["tuning"]["profile"], str(self.profile))
        grown = json.loads(self.profile.read_text())
        self.assertEqual(grown["processors"]["Another one"], old)
        self.assertEqual({key: grown["processors"][name][key] for key in old}, old)
        self.assertEqual(len(grown["processors"][name]["transports"]), 1)
        # Another grid is another case.
        words = ("run", "--class", "S", "--grid", "2x1", "--transport", "auto", "--profile", self.profile)
        self.run_well(2, *words, "--keep-disturbed")
        grown = json.loads(self.profile.read_text())
        self.assertEqual(len(grown["processors"][name]["transports"]), 2)

    def solve_of(self, *arguments):
        """The configuration of a solve on two ranks, and its warnings."""
        document = self.valid_document_of(2, "solve", *arguments, "--transport", "auto", "--profile", self.profile, "--keep-disturbed")
        self.assertEqual(document["result"]["end"], "converged")
        self.assert_trial_of_all(document["configuration"])
        return document["configuration"], [text for text in document["warnings"] if ", disturbed: " not in text]

    def test_a_solve_measures_now_and_knows_it_then(self):
        # 25 steps would go far past the solution of 36 rows: the trial must not compare what is left of them.
        words = ("--operator", "laplace2d:6x6", "--assembled", "--grid", "1x2")
        first, warnings = self.solve_of(*words)
        self.assertEqual(warnings, [])
        self.assertEqual((first["transport_trial"]["from"], first["transport_trial"]["kept_in"]), ("measurement", str(self.profile)))
        second, _ = self.solve_of(*words)
        self.assertEqual(second["transport_trial"]["from"], "profile")
        self.assertEqual(second["transport_trial"]["tried"], first["transport_trial"]["tried"])
        # Another system of as many rows has other messages.
        third, _ = self.solve_of("--operator", "laplace2d:4x9", "--assembled", "--grid", "1x2")
        self.assertEqual(third["transport_trial"]["from"], "measurement")
