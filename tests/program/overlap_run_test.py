"""--overlap: reports of products that begin before their operand is complete."""

import csv
import io
import json
import re
import unittest

from program_runner import CLASS_S_ZETA, PHASES, USAGE, ProgramTest, run_program

RUN = ("run", "--class", "S", "--no-profile")


def collections_of(document):
    return [rank["phases"]["collection"] for rank in document["phases"]["ranks"]]


class Overlap(ProgramTest):
    def document_with(self, rank_count, *arguments):
        document = self.valid_document_of(rank_count, *RUN, *arguments)
        self.assertIs(document["result"]["verified"], True)
        return document

    def test_every_transport_has_the_zetas_and_tells_what_was_hidden(self):
        for transport in ("two-sided", "native", "shared"):
            with self.subTest(transport=transport):
                document = self.document_with(3, "--grid", "1x3", "--overlap", "on", "--transport", transport)
                self.assertIs(document["configuration"]["overlap"], True)
                for rank in document["phases"]["ranks"]:
                    collection, multiply = rank["phases"]["collection"], rank["phases"]["multiply"]
                    self.assertGreater(collection["hidden_clocks"], 0)
                    self.assertLess(collection["hidden_clocks"], multiply["clocks"])
                    # Three parts: the own piece, and the pieces of two steps.
                    self.assertEqual(multiply["calls"], 3 * rank["phases"]["summation"]["calls"])
                for phase in PHASES:
                    self.assertEqual("hidden_clocks" in rank["phases"][phase], phase == "collection")

    def test_without_it_nothing_is_hidden(self):
        for arguments in ((), ("--overlap", "off")):
            document = self.document_with(2, "--grid", "1x2", *arguments)
            self.assertIs(document["configuration"]["overlap"], False)
            for collection in collections_of(document):
                self.assertNotIn("hidden_clocks", collection)

    def test_with_one_process_row_there_is_nothing_to_overlap(self):
        overlapped = self.document_with(2, "--grid", "2x1", "--overlap", "on")
        self.assertEqual(overlapped["outer_steps"], self.document_with(2, "--grid", "2x1", "--overlap", "off")["outer_steps"])
        self.assertEqual([collection["hidden_clocks"] for collection in collections_of(overlapped)], [0, 0])

    def test_text(self):
        overlapped = (*RUN, "--grid", "1x2", "--transport", "two-sided", "--overlap", "on")
        text = self.run_well(2, *overlapped, "--verbose").stdout
        self.assertRegex(text, r"(?m)^ overlap +=  *true$")
        self.assertRegex(text, r"(?m)^ phase .* +waiting +hidden +GB/s +Gflop/s +messages +bytes sent$")
        row = re.search(r"(?m)^ collection +[0-9.]+ % +[0-9.]+ +[0-9.]+ +([0-9.]+) +[0-9.]+ +- +1\.04 +\d+$", text)
        self.assertGreater(float(row[1]), 0.0, "hidden")
        text = self.run_well(2, *overlapped, "--clocks").stdout
        self.assertRegex(text, r"(?m)^ phase .* +waiting +hidden +GB/s +Gflop/s +messages +bytes sent$")
        self.assertRegex(text, r"(?m)^ collection +[0-9.]+ %( +\d+){3} +[0-9.]+ % +\d+ +[1-9]\d* +[0-9.]+ +- +1\.04 +\d+$")
        self.assertNotIn("hidden", self.run_well(2, *RUN, "--grid", "1x2").stdout)

    def test_csv(self):
        for overlap in ("on", "off"):
            words = (*RUN, "--grid", "1x2", "--overlap", overlap, "--format", "csv")
            (row,) = csv.DictReader(io.StringIO(self.run_well(2, *words).stdout))
            self.assert_close(float(row["zeta"]), CLASS_S_ZETA[-1], 1e-12)
            self.assertEqual(row["overlap"], overlap)
            self.assertEqual(row["collection_hidden_s"] != "", overlap == "on")
            if overlap == "on":
                self.assertGreater(float(row["collection_hidden_s"]), 0.0)

    def test_a_trace_has_room_for_all_parts(self):
        path = self.folder / "trace.json"
        self.run_well(3, *RUN, "--grid", "1x3", "--overlap", "on", "--trace", path, "--trace-steps", "30")
        events = json.loads(path.read_text())["traceEvents"]
        for rank in range(3):
            names = [event["name"] for event in events if event["ph"] == "X" and event["tid"] == rank]
            self.assertEqual(names.count("multiply"), 3 * names.count("summation"))
            self.assertGreaterEqual(names.count("summation"), 30)

    def test_a_sweep_crosses_it_with_the_grids(self):
        path = self.folder / "sweep.jsonl"
        words = ("sweep", "--class", "S", "--grid", "1x2", "--overlap", "off,on", "--repeat", "1", "--no-profile")
        outcome = self.run_well(2, *words, "--output", path)
        lines = [json.loads(line) for line in path.read_text().splitlines()]
        key = "S 1x2 auto shared 1 thread"
        self.assertEqual([line["sweep"]["key"] for line in lines], [key, key + " overlap"])
        for line in lines:
            self.assertEqual(line["configuration"]["overlap"], line["sweep"]["configuration"]["overlap"])
        self.assertRegex(outcome.stdout, r"(?m)^Class S, .*, overlap on, 1 thread per rank$")
        exported = self.run_well(0, "export", path, "--format", "csv").stdout
        self.assertEqual([row["overlap"] for row in csv.DictReader(io.StringIO(exported))], ["off", "on"])
        # The same again has nothing left to run.
        before = path.read_text()
        self.run_well(2, *words, "--output", path)
        self.assertEqual(path.read_text(), before)

    def test_other_words(self):
        for command in ("run", "sweep"):
            self.assert_refused(run_program(2, command, "--class", "S", "--overlap", "maybe"), USAGE, "--overlap maybe", "off, on")


if __name__ == "__main__":
    unittest.main()
