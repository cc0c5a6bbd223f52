"""cg2d run --papi and cg2d events, with the system's own events: virtual machines have no others."""

import os
import unittest

from program_runner import PHASES, UNAVAILABLE, USAGE, ProgramTest, run_program


CLOCK, FAULTS, SWITCHES = "perf::TASK-CLOCK", "perf::PAGE-FAULTS", "perf::CONTEXT-SWITCHES"
# It exists, and no 64-bit processor that cg2d runs on has it.
NEVER = "perf::ALIGNMENT-FAULTS"
GROUPS = ("cache", "flops", "stalls", "tlb", "branches", "software")


def can_count():
    """Whether the system's own events can be counted; containers may forbid even those."""
    return run_program(0, "run", "--class", "S", "--papi", f"{CLOCK},{SWITCHES}", "--papi-strict").exit_code != UNAVAILABLE


@unittest.skipUnless(can_count(), "this system lets nobody count its events (cg2d events)")
class Counters(ProgramTest):
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

    def test_phases_and_the_rest_are_the_total(self):
        """More ranks than most machines have cores: the ranks switch all the time. Counted in user mode only, switches would
        be 0."""
        for arguments in ((), ("--threads", 2)):
            counters = self.counters_of(6, "--papi", f"{SWITCHES},{FAULTS},{CLOCK}", *arguments)
            events = {event["name"]: event for event in counters["events"]}
            self.assertEqual(list(events), [SWITCHES, FAULTS, CLOCK])
            for event in events.values():
                in_phases = sum(phase["total"] for phase in event["phases"].values())
                self.assertEqual(in_phases + event["outside_phases"], event["total"])
                self.assertGreaterEqual(event["outside_phases"], 0)
            self.assertGreater(events[SWITCHES]["total"], 100)
            self.assertGreater(events[CLOCK]["total"], 0)

    def test_of_what_is_asked_for_the_rest_is_counted(self):
        document = self.valid_document_of(3, "run", "--class", "S", "--papi", f"{NEVER},{CLOCK}")
        counters = document["counters"]
        self.assertEqual(counters["asked"], [NEVER, CLOCK])
        self.assertEqual([event["name"] for event in counters["events"]], [CLOCK])
        self.assertEqual([event["name"] for event in counters["refused"]], [NEVER])
        self.assertEqual(len([text for text in document["warnings"] if NEVER in text]), 1)

    def test_the_environment_names_events_and_the_option_wins(self):
        environment = {**os.environ, "PAPI_EVENTS": CLOCK}
        outcome = self.run_well(2, "run", "--class", "S", "--format", "json", env=environment)
        self.assertEqual(outcome.document()["counters"]["asked"], [CLOCK])
        outcome = self.run_well(2, "run", "--class", "S", "--format", "json", "--papi", FAULTS, env=environment)
        self.assertEqual(outcome.document()["counters"]["asked"], [FAULTS])

    def test_events_lists_what_counts(self):
        text = self.run_well(2, "events").stdout
        lines = text.splitlines()
        for name in (CLOCK, FAULTS, SWITCHES):
            self.assertTrue(any(line.startswith(f" {name} ") and not line.endswith("]") for line in lines), text)
        self.assertNotIn(NEVER, text)
        self.assertTrue(any(line.startswith(" software ") and SWITCHES in line for line in lines), text)


class Refusals(ProgramTest):
    def test_strict(self):
        outcome = self.ends_with(UNAVAILABLE, run_program(3, "run", "--class", "S", "--papi", NEVER, "--papi-strict", "--format", "json"))
        self.assertEqual(self.assert_valid(outcome.document())["status"], "unavailable")
        self.assertTrue(any(line.startswith("cg2d: --papi-strict: ") and NEVER in line for line in outcome.error_lines()))

    def test_what_cannot_be_counted_is_a_warning_before_the_run(self):
        outcome = self.run_well(3, "run", "--class", "S", "--papi", NEVER)
        (line,) = outcome.error_lines()
        self.assertRegex(line, f"^cg2d: warning: --papi: cannot be counted here: {NEVER} ")
        self.assertEqual(outcome.said().count(NEVER), 2, "once on stderr, once in the report")

    def test_a_misspelt_event_is_an_error_before_the_run(self):
        environment = {**os.environ, "PAPI_EVENTS": "perf::CONTEXT-SWITCHS"}
        outcome = self.ends_with(USAGE, run_program(2, "run", "--class", "S", env=environment))
        self.assertIn(f"PAPI_EVENTS: perf::CONTEXT-SWITCHS is no event: did you mean {SWITCHES}?", outcome.stderr)
        document = self.valid_document_of(2, "run", "--class", "S", "--papi", "NO_SUCH_EVENT", code=USAGE)
        self.assertEqual(document["status"], "usage-error")


class EventList(ProgramTest):
    def test_json_is_as_in_the_schema(self):
        document = self.valid_document_of(2, "events")
        self.assertEqual([group["name"] for group in document["groups"]], list(GROUPS))
        events = {event["name"]: event for event in document["events"]}
        self.assertEqual(len(events), len(document["events"]))
        self.assertEqual(events[NEVER]["status"], "refused")
        self.assertEqual(events[CLOCK]["family"], "software")
        for event in events.values():
            self.assertEqual(event["status"] == "refused", event["reason"] != "", event)
            self.assertEqual(event["status"] == "counts", event["trial_count"] > 0 and not event["reason"], event)
        for group in document["groups"]:
            for name in group["events"]:
                if name in events:  # the list has no masks
                    self.assertNotEqual(events[name]["status"], "refused", group)
