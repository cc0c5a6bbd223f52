"""cg2d report: files of every kind become one page, in the build tree and where it is installed; what it refuses, and how."""

import json
import os
import pathlib
import resource
import shutil
import subprocess

from page_reader import read_page
from program_runner import PROGRAM, PROJECT, SUCCESS, USAGE, ProgramTest, executable, launch_words, run_command, run_program
from report_facts import real_sweep, session_files, simulated_sweep, write_lines

from report_parts import style
from report_parts.errors import BAD_DATA, CANNOT_CREATE, CANNOT_WRITE, NO_INPUT, UNAVAILABLE, ReportError
from report_parts.make_report import write_all

MOST_BYTES = 1_500_000  # issue: one real session on one page
MOST_SECONDS = 5.0  # of processor time: what the machine does besides is not counted
ROUNDS = 13  # enough for seven comparisons
LEAST_CONTRAST = 4.5  # WCAG 2.1, text
LEAST_MARK_CONTRAST = 2.0  # marks that only colour tells apart have shapes, names or values besides


def with_variables(**variables):
    """This process's environment with these; an empty one is left out."""
    return {name: value for name, value in (os.environ | variables).items() if value}


class ReportCommand(ProgramTest):
    @classmethod
    def setUpClass(cls):
        cls.files = session_files()
        cls.sweep = cls.files[0]

    def setUp(self):
        self.page = self.folder / "report.html"

    def report(self, *words, program=PROGRAM, **options):
        return run_command([program, "report", *words, "-o", self.page], **options)

    def made(self, *words, **options):
        outcome = self.report(*words, **options)
        self.assertEqual((outcome.exit_code, outcome.stderr), (SUCCESS, ""), outcome)
        return read_page(self.page)


class OnePage(ReportCommand):
    def test_a_session_fits_one_page_and_is_made_soon(self):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        page = self.made(*self.files)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        self.assertLess(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, MOST_SECONDS)
        self.assertLess(self.page.stat().st_size, MOST_BYTES)
        kinds = {"ways", "messages", "row-length", "roofline", "solves", "cg-step", "comparison", "counters", "time-by-grid"}
        self.assertLessEqual(kinds, set(page.sections))

    def test_contents_lead_to_every_section_and_pictures_have_texts(self):
        page = self.made(*self.files)
        self.assertEqual(len(page.ids), len(set(page.ids)), "an id stands twice")
        self.assertEqual(page.contents, page.sections)
        self.assertLessEqual(set(page.links), set(page.ids))
        self.assertEqual(page.heading_levels[0], 1)
        for level, following in zip(page.heading_levels, page.heading_levels[1:]):
            self.assertLessEqual(following, level + 1, "a level of headings is left out")
        self.assertGreater(len(page.pictures), 15)
        for picture in page.pictures:
            if picture.get("aria-hidden") != "true":
                self.assertEqual(picture.get("role"), "img", picture)
                self.assertGreater(len(picture.get("aria-label", "")), 20, picture)
        self.assertEqual(page.language, "en")
        self.assertEqual([address for address in page.addresses if not address.startswith(("#", "data:"))], [], "the page asks for nothing")

    def test_files_without_runs_are_enough(self):
        page = self.made(*(path for path in self.files if path.name in ("pingpong.json", "solve.json")))
        self.assertEqual([name for name in page.sections if name != "left-out"], ["messages", "solves"])

    def test_text_can_be_read_in_light_and_dark(self):
        for which, scheme in enumerate(("light", "dark")):
            colours = {name: pair[which] for name, pair in style.PAGE_COLOURS.items()}
            pairs = [(text, ground) for text in ("text", "soft", "link") for ground in ("page", "card", "wrong-card")]
            for text, ground in (*pairs, ("wrong", "page")):
                self.assertGreaterEqual(style.contrast(colours[text], colours[ground]), LEAST_CONTRAST, (scheme, text, ground))
            for pair in style.mark_colours().values():
                self.assertGreaterEqual(style.contrast(style.ink(pair[which]), pair[which]), LEAST_CONTRAST, (scheme, pair))
            for colour in style.DARK:
                shown = style.mark_colours()[colour][which]
                self.assertGreaterEqual(style.contrast(shown, colours["page"]), LEAST_MARK_CONTRAST, (scheme, colour))
            for step in range(style.HEAT_STEPS + 1):
                colour = style.heat_colour(step / style.HEAT_STEPS, (style.HEAT, style.DARK_HEAT)[which])
                self.assertGreaterEqual(style.contrast(style.ink(colour), colour), LEAST_CONTRAST, (scheme, step))


class Compare(ReportCommand):
    def slower(self, factor):
        """The sweep simulated, and later with one grid that takes longer."""
        sweep = real_sweep()
        before = write_lines(self.folder / "monday.jsonl", simulated_sweep(sweep, {}, ROUNDS))
        return before, write_lines(self.folder / "tuesday.jsonl", simulated_sweep(sweep, {"1x2": factor}, ROUNDS))

    def compared(self, *words):
        outcome = run_program(0, "compare", *words, "--format", "json")
        self.assert_valid(outcome.document(), "compare")
        return outcome

    def test_the_json_says_what_the_text_says(self):
        files = self.slower(1.25)
        outcome, text = self.compared(*files), run_program(0, "compare", *files)
        document = outcome.document()
        self.assertEqual({document["exit_code"], text.exit_code}, {outcome.exit_code})
        (worse,) = [pair for pair in document["compared"] if pair["change"] == "regression"]
        self.assertEqual(worse["grid"], "1x2")
        self.assertAlmostEqual(worse["ratio"]["ratio"], 1.25)
        for pair in document["compared"]:
            line = next(line for line in text.stdout.splitlines() if line.startswith(pair["key"] + " "))
            self.assertTrue(line.endswith(f" {pair['ratio']['ratio']:.3f}  {pair['text']}"), line)

    def test_two_days_are_side_by_side(self):
        page = self.made(*self.slower(1.25), "--compare")
        text = page.text_of("comparison")
        for word in ("monday", "tuesday", "1.250", "REGRESSION: slower by 25 %", "no regression", "all together"):
            self.assertIn(word, text)
        for section in ("verdict", "time-by-grid", "phases-by-grid"):
            self.assertIn("monday: class S", page.text_of(section))
            self.assertIn("tuesday: class S", page.text_of(section))

    def test_sets_have_the_names_that_they_are_given(self):
        """In the words of the verdicts, too; and the page says in what they differ."""
        files = self.slower(0.5)
        changed = [json.loads(line) for line in files[1].read_text().splitlines()]
        for document in changed:
            document["configuration"]["instruction_set"] = "portable"
        write_lines(files[1], changed)
        page = self.made(*files, "--compare", "--label", "gcc,clang")
        text = page.text_of("comparison")
        for word in ("clang: against gcc", "faster: time -", "instruction set: ", ", portable in clang"):
            self.assertIn(word, text)
        self.assertIn("gcc: class S", page.text_of("verdict"))
        text = run_program(0, "compare", *files, "--label", "gcc,clang").stdout
        self.assertRegex(text, r"(?m)^Differs: instruction set: \S+ in gcc, portable in clang$")
        for labels in ("gcc", "gcc,gcc", "gcc,clang,icc", "gcc,"):
            self.ends_with(USAGE, run_program(0, "compare", *files, "--label", labels))
            self.ends_with(USAGE, self.report(*files, "--compare", "--label", labels))

    def test_times_that_nothing_can_be_computed_with_are_refused(self):
        before, after = self.slower(1.25)
        for time_s in (0, 1e308, 1e-320):
            lines = [json.loads(line) for line in after.read_text().splitlines()]
            lines[1]["result"]["repeats"]["times_s"] = [time_s]
            outcome = run_program(0, "compare", before, write_lines(self.folder / "odd.jsonl", lines))
            self.assert_refused(outcome, BAD_DATA, f"odd.jsonl: line 2: its time is {time_s:g} s")

    def test_one_set_cannot_be_compared(self):
        for words, code in (((self.sweep,), USAGE), ((self.sweep, self.files[2]), BAD_DATA)):
            self.assertRegex(self.ends_with(code, self.report(*words, "--compare")).stderr, r"\Acg2d: .*--compare: takes two files.*\n\Z")


class Refusals(ReportCommand):
    def assert_refused(self, code, pattern, *words, **options):
        outcome = self.report(*words, **options)
        self.assertEqual((outcome.exit_code, outcome.stdout), (code, ""), outcome)
        self.assertRegex(outcome.stderr, rf"\Acg2d: [^\n]*{pattern}[^\n]*\n\Z")
        self.assertFalse(self.page.exists())

    def test_files_of_no_known_kind(self):
        path = self.folder / "odd"
        for text, pattern in (("text\n", "neither JSON nor"), ("{}", "not a result of cg2d with figures; a run"), ("[1]", "not a result")):
            path.write_text(text)
            self.assert_refused(BAD_DATA, f"odd: {pattern}", self.sweep, path)
        self.assert_refused(NO_INPUT, "none: No such file", self.sweep, self.folder / "none")

    def test_bad_options(self):
        self.assert_refused(USAGE, "FILE is required")
        self.assert_refused(USAGE, "--nope", self.sweep, "--nope")
        self.assert_refused(USAGE, "no figure 'nope'; there are comparison, time-by-grid, ", self.sweep, "--only", "repeats,nope")

    def test_a_page_that_cannot_be_made(self):
        self.page = self.sweep / "report.html"
        self.ends_with(CANNOT_CREATE, self.report(self.sweep))

    def test_each_output_by_itself(self):
        file = self.file("file", "")
        files = {file / "a.png": b"a", self.folder / "new" / "b.png": b"b", file / "c.png": b"c", self.folder: b"d", self.folder / "e": b"e"}
        with self.assertRaisesRegex(ReportError, f"^{file}: File exists; {self.folder}: Is a directory$"):
            write_all(files)
        self.assertEqual({path.name: path.read_bytes() for path in self.folder.rglob("[!f]*") if path.is_file()}, {"b.png": b"b", "e": b"e"})
        with self.assertRaises(ReportError) as caught:
            write_all({pathlib.Path("/dev/full"): b"a"})
        self.assertEqual(caught.exception.exit_code, CANNOT_WRITE)

    def test_a_link_and_a_pipe_stay(self):
        target = self.file("target", "")
        self.page.symlink_to(target)
        self.made(self.sweep)
        self.assertTrue(self.page.is_symlink())
        self.page = self.folder / "pipe"
        os.mkfifo(self.page)
        with subprocess.Popen(["cat", self.page], stdout=subprocess.PIPE, text=True) as reader:
            outcome = self.report(self.sweep)
            self.assertIn("</html>", reader.stdout.read(), outcome)
        self.assertTrue(self.page.is_fifo())

    def test_without_python_or_what_it_needs(self):
        none = with_variables(CG2D_PYTHON="/none/python3")
        self.assert_refused(UNAVAILABLE, "/none/python3 cannot be started; install Python", self.sweep, env=none)
        old = executable(self.folder / "old-python", "#!/bin/sh\nexit 3\n")
        self.assertEqual(self.report(self.sweep, env=with_variables(CG2D_PYTHON=str(old))).exit_code, 3, "its code is passed on")
        # 0 and 1 have a meaning of their own, and no page was made.
        for code in (0, 1, 2):
            old.write_text(f"#!/bin/sh\nexit {code}\n")
            self.assert_refused(UNAVAILABLE, f"old-python ended with code {code} and made no page", self.sweep, env=with_variables(CG2D_PYTHON=str(old)))
        outcome = self.ends_with(UNAVAILABLE, self.report(self.sweep, env=with_variables(PYTHONHOME="/none")))
        self.assertRegex(outcome.stderr, r"cg2d: report: python3 ended with code 1 and made no page; install Python 3\.10 or later[^\n]*\n\Z")

    def test_a_program_without_its_package(self):
        program = pathlib.Path(shutil.copy(PROGRAM, self.folder / "cg2d"))
        missing = r"share/cg2d/report_parts/__main__.py is missing; cmake --install"
        self.assert_refused(UNAVAILABLE, missing, self.sweep, program=program)


class Surroundings(ReportCommand):
    def test_as_it_is_installed(self):
        """With other folders than the sources: program and package, and nothing is written beside them."""
        (self.folder / "bin").mkdir()
        program = shutil.copy(PROGRAM, self.folder / "bin" / "cg2d")
        data = self.folder / "share" / "cg2d"
        shutil.copytree(PROJECT / "scripts" / "report_parts", data / "report_parts", ignore=shutil.ignore_patterns("__pycache__"))
        before = sorted(self.folder.rglob("*"))
        self.made(*self.files, program=program, env=with_variables(PYTHONDONTWRITEBYTECODE="", PYTHONPATH="", CG2D=""))
        self.assertEqual(sorted(self.folder.rglob("*")), sorted([*before, self.page]))

    def test_started_by_a_launcher(self):
        for ranks in (1, 2):
            outcome = self.ends_with(SUCCESS, run_command([*launch_words(ranks), PROGRAM, "report", self.sweep, "-o", self.page]))
            self.assertEqual(outcome.stdout.count("figures"), 1, "one rank acts")
