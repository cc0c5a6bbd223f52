"""Options that name files, of all commands, in pairs: no pair names one file and destroys it.

The options come from --help. One that is not listed here as read counts as one that writes, so a new option that does not declare
what it does with its file fails."""

import functools
import itertools
import os
import pathlib
import re

from help_test import commands, entries
from program_runner import CACHE_FOLDER, PROGRAM, THOROUGH, USAGE, ProgramTest, run_command, run_program

# Options that read their file, by command; without --config, which goes with every command.
READ = {
    "solve": {"FILE", "--rhs", "--x0"},
    "convert": {"FILE"},
    "sweep": {"FILE", "--show"},
    "scaling": {"FILE"},
    "compare": {"A", "B"},
    "export": {"FILE"},
    "report": {"FILE"},
    "batch": {"FILE"},
    "simulate": {"--machine"},
}
FOLDERS = {"--checkpoint", "--restart", "--out-of-core", "--scratch"}  # may be one: files in them have names of their own
MAY_SHARE = {("--x0", "--solution")}  # the solution may replace the initial guess, which has been read by then
NEEDED = {"run": ["--class", "S"], "simulate": ["--class", "S", "--grid", "1x2"]}
NEEDED_FILES = {"solve": ["FILE"], "convert": ["FILE", "TARGET"], "compare": ["A", "B"], "export": ["FILE"], "report": ["FILE"],
                "batch": ["FILE"]}  # fmt: skip
TEXT = "# somebody's\n"  # a file of options that gives none


@functools.cache
def file_options(command):
    """The names of the options and arguments whose value is a file or a folder, or may be one."""
    found = []
    for head, text in entries(command).items():
        is_argument = head[0].isupper() and head not in ("COMMAND", "SHELL")
        values = re.search(r"; values: (.*?) \(", text)
        named = re.search(r"\b(FILE|DIR)\b", head) or (values and "FILE" in values[1].split(", "))
        if is_argument or (named and head[0] == "-"):
            found.append(re.findall(r"--[a-z][a-z0-9-]*|^[A-Z]+", head)[0])
    return found


def is_read(command, option):
    return option == "--config" or option in READ.get(command, ())


class FilePairsTest(ProgramTest):
    def setUp(self):
        self.file = self.folder / "one"
        self.file.write_text(TEXT)
        (self.folder / "link").symlink_to("one")
        (self.folder / "below").mkdir()
        os.link(self.file, self.folder / "second")
        self.spellings = ["one", "./one", "link", "second", "below/../one", str(self.file)]

    def words(self, command, given):
        """The command line that gives these files, and others where the command needs more."""
        files = {name: self.folder / f"other-{name}" for name in NEEDED_FILES.get(command, ())} | given
        arguments = {name: path for name, path in files.items() if not name.startswith("-")}
        ordered = [arguments[name] for name in file_options(command) if name in arguments]
        options = [word for name, path in files.items() if name.startswith("-") for word in (name, path)]
        return [command, *NEEDED.get(command, ()), *ordered, *options]

    def assert_kept(self, outcome):
        self.assertEqual(self.file.read_text(), TEXT, outcome)
        self.assertEqual(self.file.stat().st_nlink, 2, outcome)

    def assert_pair_refused(self, outcome, one, other):
        line = self.assert_refused(outcome, USAGE)
        for option in (one, other):
            self.assertRegex(line, rf"(^|[ ,]){option}\b", outcome)
        self.assert_kept(outcome)

    def test_no_pair_destroys_a_file(self):
        turns = itertools.cycle(self.spellings)
        pair_count = 0
        for command in commands():
            for one, other in itertools.combinations(file_options(command), 2):
                both_read = is_read(command, one) and is_read(command, other)
                if {one, other} <= FOLDERS or (one, other) in MAY_SHARE:
                    continue
                for spelling in self.spellings if THOROUGH else [next(turns)]:
                    pair_count += 1
                    with self.subTest(command=command, one=one, other=other, spelling=spelling):
                        outcome = run_program(0, *self.words(command, {one: "one", other: spelling}), cwd=self.folder)
                        if both_read:
                            self.assert_kept(outcome)
                        else:
                            self.assert_pair_refused(outcome, one, other)
        self.assertGreater(pair_count, 150)  # a help that is not understood has none

    def test_every_command_with_files_is_tried(self):
        with_files = {command for command in commands() if file_options(command)}
        self.assertLessEqual({"run", "solve", "convert", "sweep", "report", "events", "stencil", "tune"}, with_files)
        for command, options in READ.items():
            self.assertLessEqual(options, set(file_options(command)))

    def test_files_that_are_not_there_yet(self):
        """Of two results, the second would replace the first."""
        for one, other in (("--output", "--trace"), ("--save-config", "--output"), ("--export-mtx", "--save-config")):
            (self.folder / "dangling").symlink_to("new")
            self.assert_pair_refused(run_program(2, *self.words("run", {one: "new", other: "dangling"}), cwd=self.folder), one, other)
            (self.folder / "dangling").unlink()
            self.assertFalse((self.folder / "new").exists())

    def test_files_that_no_option_names(self):
        """A default, a file that is made beside another one, and the user's own files."""
        own = pathlib.Path(CACHE_FOLDER.name) / "cg2d"
        own.mkdir(exist_ok=True)
        for words, pair in (
            (["report", "run.json", "--save-config", "report.html"], ["--output", "--save-config"]),
            (["run", "--class", "S", "--output", own / "profile.json"], ["--output", "the user's tuning profile"]),
            (["export", "run.json", "--output", own / "machine.json"], ["--output", "the user's machine description"]),
            (["tune", "--save-config", own / "profile.json"], ["--save-config", "the user's tuning profile"]),
        ):
            self.assert_pair_refused(run_program(0, *words, cwd=self.folder), *pair)

    def test_standard_output_in_a_file(self):
        """A shell opens it first: what replaces the file loses what is printed, and two writers at once lose parts of both."""
        for words, option in ((["run", "--class", "S", "--trace"], "--trace"), (["export", "run.json", "--save-config"], "--save-config"),
                              (["sweep", "--class", "S", "--output"], "--output"), (["compare", "run.json"], "B")):  # fmt: skip
            outcome = run_command(["sh", "-c", 'exec "$0" "$@" >>one', PROGRAM, *words, "link"], cwd=self.folder)
            self.assert_pair_refused(outcome, option, "standard output")
