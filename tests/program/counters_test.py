"""cg2d run --papi and cg2d events, with the system's own events: virtual machines have no others."""

import os
import unittest

from program_facts import PHASES
from program_runner import SUCCESS, UNAVAILABLE, USAGE, run_program
from report_json_test import SchemaTest as JsonTest

CLOCK, FAULTS = "perf::TASK-CLOCK", "perf::PAGE-FAULTS"


def can_count():
    """Whether the system's own events can be counted; containers may forbid even those."""
    outcome = run_program(0, "run", "--class", "S", "--papi", CLOCK, "--papi-strict")
    return outcome.exit_code != UNAVAILABLE


@unittest.skipUnless(can_count(), "this system lets nobody count its events (cg2d events)")
class Counters(JsonTest):
    def counters_of(self, rank_count, *arguments):
        return self.valid_document_of(rank_count, "run", "--class", "S", *arguments)["counters"]

    def test_phases_add_up_to_the_region(self):
        for rank_count in (1, 4):
            counters = self.counters_of(rank_count, "--papi", f"{CLOCK},{FAULTS}")
            self.assertEqual([event["name"] for event in counters["events"]], [CLOCK, FAULTS])
            self.assertEqual(len(counters["ranks"]), rank_count)
            clock = counters["events"][0]
            self.assertEqual(clock["kind"], "nanoseconds")
            self.assertEqual(clock["total"], sum(rank["region"][CLOCK] for rank in counters["ranks"]))
            self.assertTrue(0.98 <= clock["coverage"] <= 1.0, clock)
            for name in PHASES:
                values = [rank["phases"][name][CLOCK] for rank in counters["ranks"]]
                phase = clock["phases"][name]
                self.assertEqual((phase["minimum"], phase["maximum"]), (min(values), max(values)))
                self.assertEqual(phase["total"], sum(values))
                self.assert_close(phase["mean"], sum(values) / rank_count, 1e-12)

    def test_of_what_is_asked_for_the_rest_is_counted(self):
        document = self.valid_document_of(3, "run", "--class", "S", "--papi", f"NO_SUCH_EVENT,{CLOCK}")
        counters = document["counters"]
        self.assertEqual(counters["asked"], ["NO_SUCH_EVENT", CLOCK])
        self.assertEqual([event["name"] for event in counters["events"]], [CLOCK])
        self.assertEqual([event["name"] for event in counters["refused"]], ["NO_SUCH_EVENT"])
        self.assertEqual(len([text for text in document["warnings"] if "NO_SUCH_EVENT" in text]), 1)

    def test_the_environment_names_events_and_the_option_wins(self):
        environment = {**os.environ, "PAPI_EVENTS": CLOCK}
        outcome = self.run_well(2, "run", "--class", "S", "--format", "json", env=environment)
        self.assertEqual(outcome.document()["counters"]["asked"], [CLOCK])
        outcome = self.run_well(2, "run", "--class", "S", "--format", "json", "--papi", FAULTS, env=environment)
        self.assertEqual(outcome.document()["counters"]["asked"], [FAULTS])

    def test_text(self):
        text = self.run_well(2, "run", "--class", "S", "--papi", CLOCK).stdout
        self.assertIn(" perf::TASK-CLOCK (ns) ", text)
        self.assertIn(" Reading the events took ", text)
        self.assertNotIn("Events:", self.run_well(2, "run", "--class", "S").stdout)

    def test_events_lists_them(self):
        text = self.run_well(2, "events").stdout
        countable = text.split("Cannot be counted here")[0].splitlines()
        self.assertTrue(any(line.startswith(f" {CLOCK} ") for line in countable), text)


class Refusals(JsonTest):
    def test_without_being_asked_nothing_is_counted(self):
        self.assertIsNone(self.valid_document_of(2, "run", "--class", "S")["counters"])

    def test_strict(self):
        outcome = run_program(3, "run", "--class", "S", "--papi", "NO_SUCH_EVENT", "--papi-strict", "--format", "json")
        self.assertEqual(outcome.exit_code, UNAVAILABLE, outcome)
        self.assertEqual(outcome.document()["status"], "unavailable")
        self.assert_valid(outcome.document())
        lines = outcome.error_lines()
        self.assertTrue(any(line.startswith("cg2d: --papi-strict: ") and "NO_SUCH_EVENT" in line for line in lines))

    def test_an_unknown_event_is_named_once(self):
        outcome = run_program(3, "run", "--class", "S", "--papi", "NO_SUCH_EVENT")
        self.assertEqual(outcome.exit_code, SUCCESS, outcome)
        self.assertEqual(outcome.said().count("NO_SUCH_EVENT"), 1)
        self.assertIn("PAPI: ", outcome.stdout)

    def test_input_errors(self):
        for arguments in (["--papi", "A,,B"], ["--papi", "A,A"], ["--papi", "A", "--no-phases"]):
            outcome = run_program(1, "run", "--class", "S", *arguments)
            self.assertEqual(outcome.exit_code, USAGE, outcome)
            self.assertEqual(len(outcome.error_lines()), 1, outcome)


if __name__ == "__main__":
    unittest.main(verbosity=2)
