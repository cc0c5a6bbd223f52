"""--overlap: reports of products that begin before their operand is complete."""

import re

from program_runner import PHASES, ProgramTest

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

    def test_with_one_process_row_there_is_nothing_to_overlap(self):
        overlapped = self.document_with(2, "--grid", "2x1", "--overlap", "on")
        self.assertEqual(overlapped["outer_steps"], self.document_with(2, "--grid", "2x1", "--overlap", "off")["outer_steps"])
        self.assertEqual([collection["hidden_clocks"] for collection in collections_of(overlapped)], [0, 0])

    def test_text(self):
        overlapped = (*RUN, "--grid", "1x2", "--transport", "two-sided", "--overlap", "on")
        text = self.run_well(2, *overlapped, "--verbose").stdout
        self.assertRegex(text, r"(?m)^ overlap +=  *true$")
        self.assertRegex(text, r"(?m)^ phase .* +waiting +hidden +GB/s +Gflop/s +messages +bytes sent$")
        row = re.search(r"(?m)^ collection +[0-9.]+ % +[0-9]+ +[0-9.]+ +[0-9.]+ +([0-9.]+) +[0-9.]+ +- +1\.04 +\d+$", text)
        self.assertGreater(float(row[1]), 0.0, "hidden")
        self.assertNotIn("hidden", self.run_well(2, *RUN, "--grid", "1x2").stdout)
