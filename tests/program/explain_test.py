"""cg2d explain: the picture of a CG step agrees with the plan, is one process's work, and opens everywhere."""

import concurrent.futures
import re
import xml.etree.ElementTree

from program_runner import SUCCESS, THOROUGH, ProgramTest, factorizations, run_program

MOST_RANKS = 12
SVG = "{http://www.w3.org/2000/svg}"
NO_LAUNCHER = 0


def grids():
    return [grid for count in range(1, MOST_RANKS + 1) for grid in factorizations(count)]


def of_step(document, name):
    """What the busiest rank sends in a step of that name, and in the mirrored one."""
    rank = document["per_cg_step"]["busiest_rank"]
    sent = [step["sent_by_rank_per_cg_step"][rank] for step in document["steps"] if step["name"].removeprefix("mirrored-") == name]
    return {key: sum(traffic[key] for traffic in sent) for key in ("messages", "bytes")}


class ExplainTest(ProgramTest):
    def explain(self, *arguments):
        return self.run_well(NO_LAUNCHER, "explain", *arguments).stdout

    def document(self, *arguments):
        return self.document_of(NO_LAUNCHER, "explain", *arguments)

    def compare_with_plan(self, px, py, *arguments):
        grid = ("--grid", f"{px}x{py}", "--class", "S", *arguments)
        document = self.assert_valid(self.document(*grid), "explain")
        plan = self.document_of(NO_LAUNCHER, "run", *grid, "--ranks", px * py, "--dry-run")["plan"]
        place = " ".join(grid)
        self.assertEqual(document["grid"], plan["grid"]["name"], place)
        self.assertEqual(document["symmetric_storage"], plan["symmetric_storage"], place)
        self.assertEqual(document["per_cg_step"]["all_ranks"], plan["all_ranks_per_cg_step"], place)
        for name, traffic in plan["busiest_rank_per_cg_step"].items():
            self.assertEqual(of_step(document, name), traffic, f"{place}: {name}")

    def test_totals_are_those_of_the_plan(self):
        variants = [(), ("--sum", "whole-block"), ("--kernel", "symmetric")]
        cases = [(px, py, *variant) for px, py in grids() for variant in (variants if THOROUGH else [variants[(px + py) % 3]])]
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            list(pool.map(lambda case: self.compare_with_plan(*case), cases))

    def test_text_says_what_the_json_says(self):
        arguments = ("--grid", "2x3", "--sum", "whole-block", "--n", "1000")
        document, text = self.document(*arguments), self.explain(*arguments)
        messages = [message for step in document["steps"] for round in step["rounds"] for message in round["messages"]]
        in_text = re.findall(r"rank (\d+) +-> rank (\d+) .*? (\d+)(?:  .*)?\n", text)
        self.assertEqual([tuple(map(int, found)) for found in in_text], [(m["from"], m["to"], m["bytes"]) for m in messages])
        total = document["per_cg_step"]
        self.assertRegex(
            text,
            rf"2x3 +{total['rounds']} +{total['busiest']['messages']} +{total['busiest']['bytes']} "
            rf"+{total['all_ranks']['messages']} +{total['all_ranks']['bytes']} +shown above",
        )

    def test_a_large_grid_is_summed_up(self):
        """With the totals of the document; each step has its messages by --step."""
        text = self.explain("--grid", "16x16")
        self.assertLess(len(text.splitlines()), 60)
        total = self.document("--grid", "16x16")["per_cg_step"]
        self.assertRegex(text, rf"16x16 +{total['rounds']} +{total['busiest']['messages']} +{total['busiest']['bytes']} ")
        self.assertIn("--step shuffle", text)
        self.assertRegex(self.explain("--grid", "16x16", "--step", "shuffle"), r"rank \d+ +-> rank \d+")

    def test_ranks_do_not_matter(self):
        self.assertEqual(self.run_well(2, "explain", "--grid", "3x3").stdout, self.explain("--grid", "3x3"))


class PictureTest(ProgramTest):
    """The SVG."""

    def picture(self, *arguments):
        path = self.folder / "explain.svg"
        path.unlink(missing_ok=True)
        outcome = run_program(NO_LAUNCHER, "explain", "--format", "svg", "--output", path, *arguments)
        self.assertEqual((outcome.exit_code, outcome.stdout), (SUCCESS, ""), outcome)
        return path.read_text(encoding="utf-8")

    def test_well_formed_on_every_grid(self):
        for px, py in grids():
            xml.etree.ElementTree.fromstring(self.picture("--grid", f"{px}x{py}"))

    def test_every_message_is_an_arrow_with_words(self):
        document = self.document_of(NO_LAUNCHER, "explain", "--grid", "3x2")
        messages = [message for step in document["steps"] for round in step["rounds"] for message in round["messages"]]
        picture = xml.etree.ElementTree.fromstring(self.picture("--grid", "3x2"))
        arrows = [element for element in picture.iter(f"{SVG}path") if element.get("class") == "arrow"]
        self.assertEqual(len(arrows), len(messages))
        titles = [element.text for element in picture.iter(f"{SVG}title")]
        for message in messages:
            beginning = f"rank {message['from']} sends "
            end = f" to rank {message['to']}, {message['bytes']} bytes"
            self.assertTrue(any(title.startswith(beginning) and end in title for title in titles), message)
