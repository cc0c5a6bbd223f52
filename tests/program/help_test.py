"""Help, misspelt names, completion and files of options, for all commands and options that there are."""

import functools
import re
import shlex
import shutil

from program_runner import (
    DEFECT, MPIEXEC, PROGRAM, SUCCESS, THOROUGH, TRY_AGAIN, UNAVAILABLE, USAGE, ProgramTest, run_command, run_program, temporary_folder,
)  # fmt: skip

MOST_COLUMNS = 100
ENTRY = re.compile(r"(?m)^  (\S.*)\n((?:    .*\n)*)")
MATRIX = "%%MatrixMarket matrix coordinate real symmetric\n2 2 3\n1 1 2\n2 1 -1\n2 2 2\n"


@functools.cache
def help_of(*command):
    return run_program(0, *command, "--help").stdout


@functools.cache
def commands():
    text = help_of()
    return re.findall(r"(?m)^  ([a-z]+)  ", text[text.index("Commands:") : text.index("Examples:")])


@functools.cache
def entries(command):
    """Head -> whole text, on one line, of all options and arguments of a command."""
    text = help_of(command).partition("Examples:")[0]
    found = {}
    for first, rest in ENTRY.findall(text):
        head, _, beside = first.partition("  ")
        found[head] = " ".join([beside, *rest.split()]).strip()
    return found


def options_of(command):
    return [match[0] for head in entries(command) for match in [re.search(r"--[a-z][a-z0-9-]*", head)] if match]


def values_of(command, option):
    """The values that the help names, without placeholders."""
    head, text = next((head, text) for head, text in entries(command).items() if option in re.split("[ ,]", head))
    listed = re.search(r"; values: (.*?) \(", text)
    words = listed[1].split(", ") if listed else head.split(" ")[-1].split("|") if "|" in head else []
    return [word for word in words if len(word) == 1 or word == word.lower()]


def examples_of(command):
    return [line.strip() for line in help_of(command).partition("Examples:\n")[2].splitlines() if line.startswith("  ")]


class Help(ProgramTest):
    def test_help_has_several_forms(self):
        for command in commands():
            self.assertEqual(self.run_well(0, "help", command).stdout, help_of(command))
        for arguments in ([], ["help"]):
            self.assertEqual(self.run_well(0, *arguments).stdout, help_of())

    def test_width(self):
        for text in (help_of(), *(help_of(command) for command in commands())):
            self.assertEqual([line for line in text.splitlines() if len(line) > MOST_COLUMNS], [])

    def test_every_value_has_a_default_or_is_required(self):
        for command in commands():
            for head, text in entries(command).items():
                takes_value = " " in head or head[0].isupper()
                self.assertEqual(takes_value, bool(re.search(r"\((default: .+|required)\)$", text)), (command, text))

    def test_values_have_names(self):
        for command in commands():
            self.assertIsNone(re.search(r"\b(TEXT|INT|UINT|FLOAT|REQUIRED)\b", help_of(command)), command)
        self.assertIn("sell", values_of("run", "--kernel"))
        self.assertEqual(values_of("run", "--format"), ["text", "json", "csv"])
        self.assertEqual(values_of("scaling", "--class"), list("SWABCDEF"))

    def test_a_word_that_is_like_none_gets_no_advice(self):
        for arguments in (["qqqqqq"], ["run", "--qqqqqq"], ["run", "--class", "S", "--kernel", "qqqqqq"], ["run", "--class", "Z"]):
            self.assertNotIn("did you mean", self.ends_with(USAGE, run_program(0, *arguments)).stderr)

    def test_a_folder_in_place_of_a_file_is_one_line(self):
        """For every option that takes a file, to read or to write; thorough: of every command."""
        found = set()
        matrix = self.file("A.mtx", MATRIX)
        needed = {"solve": [matrix], "convert": [matrix, self.folder / "A.cg2d"], "compare": [matrix, matrix], "export": [matrix],
                  "report": [matrix], "batch": [matrix]}  # fmt: skip
        for command in commands():
            for option in (head.split(" ")[0] for head in entries(command) if re.fullmatch(r"(-\w,)?--[a-z-]+ FILE", head)):
                name = option.split(",")[-1]
                if name in found and not THOROUGH:
                    continue
                found.add(name)
                with self.subTest(command=command, option=name):
                    plan = ["--class", "S"] if command in ("run", "tune", "sweep", "scaling") else []
                    outcome = run_program(0, command, *needed.get(command, []), *plan, name, self.folder)
                    self.assertNotIn(outcome.exit_code, (0, DEFECT, 1), outcome)
                    self.assertEqual(len(outcome.error_lines()), 1, outcome)
        self.assertGreater(len(found), 7)

    def test_quiet_is_nothing_but_errors(self):
        run = ["run", "--class", "S", "--format", "csv"]
        self.assertNotEqual(self.run_well(1, *run, "--progress").stderr, "")
        self.assertEqual(self.run_well(1, *run, "--quiet").error_lines(), [])

    def test_every_command_that_measures_can_be_quiet(self):
        for command in commands():
            self.assertEqual("--quiet" in options_of(command), "--progress" in options_of(command), command)


class Examples(ProgramTest):
    def test_every_command_has_two_that_run(self):
        folder = self.folder
        (folder / "A.mtx").write_text(MATRIX)
        (folder / "tasks.txt").write_text("run --class S\n")
        run_program(1, "run", "--class", "S", "--format", "json", "--output", folder / "before.json")
        run_program(1, "sweep", "--class", "S", "--repeat", "3", "--output", folder / "before.jsonl")
        for suffix in ("json", "jsonl"):
            shutil.copy(folder / f"before.{suffix}", folder / f"after.{suffix}")
        # Those that others read come first.
        for number, command in enumerate(sorted(commands(), key=lambda name: name != "sweep")):
            self.assertEqual(len(examples_of(command)), 2, command)
            # By default the first one of a command, the second one of the next, and none of those that take seconds.
            takes_long = command in ("tune", "scaling", "model", "pingpong", "stencil", "check")
            examples = [] if takes_long else examples_of(command)[number % 2 :][:1]
            for line in examples_of(command) if THOROUGH else examples:
                with self.subTest(example=line):
                    words = [{"cg2d": PROGRAM, "mpiexec": MPIEXEC}.get(word, word) for word in shlex.split(line, posix=False)]
                    outcome = run_command(["bash", "-c", " ".join(words)], cwd=folder)
                    # compare may find its few rounds too few; tune refuses what it measures on a busy machine.
                    # The simulator is a part that a build may lack.
                    others = {"compare": (2,), "tune": (TRY_AGAIN,), "simulate": (UNAVAILABLE,)}.get(command, ())
                    self.assertIn(outcome.exit_code, (SUCCESS, *others), outcome)


class Completion(ProgramTest):
    @classmethod
    def setUpClass(cls):
        cls.folder = temporary_folder(cls.addClassCleanup)
        for shell in ("bash", "zsh", "fish"):
            (cls.folder / shell).write_text(run_program(0, "completion", shell).stdout)

    def completions(self, *words):
        script = """source ./bash; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _cg2d_complete; printf '%s\\n' "${COMPREPLY[@]}" """
        outcome = run_command(["bash", "-c", script, "bash", *words], cwd=self.folder)
        self.assertEqual((outcome.exit_code, outcome.stderr), (0, ""), outcome)
        return outcome.stdout.split()

    def test_shells_take_their_scripts(self):
        for shell in ("bash", "zsh", "fish"):
            if shutil.which(shell):
                outcome = run_command([shell, "-n", shell], cwd=self.folder)
                self.assertEqual((outcome.exit_code, outcome.stderr), (0, ""), outcome)

    def test_names(self):
        self.assertEqual(self.completions("cg2d", ""), [*commands(), "--help", "--version"])
        self.assertEqual(self.completions("cg2d", "sw"), ["sweep"])
        self.assertEqual(self.completions("cg2d", "run", "--ker"), ["--kernel"])
        self.assertEqual(sorted(self.completions("cg2d", "run", "--ke")), ["--keep-disturbed", "--kernel"])
        for command in commands():
            self.assertEqual(set(self.completions("cg2d", command, "--")), set(options_of(command)))

    def test_zsh_and_fish_have_every_option(self):
        zsh, fish = ((self.folder / shell).read_text() for shell in ("zsh", "fish"))
        for command in commands():
            for option in options_of(command):
                self.assertRegex(zsh, rf"(?m)^    {command}\) words='(?:[^']* )?{option}[ ']")
                self.assertRegex(fish, rf"(?m)^complete -c cg2d -n '__fish_seen_subcommand_from {command}' -a '(?:[^']* )?{option}[ ']")


class ConfigFiles(ProgramTest):
    def test_what_is_saved_is_read_back(self):
        for arguments in (
            ["run", "--class", "S", "--grid", "1x2", "--kernel", "sell", "--overlap", "off", "--memory-limit", "8GB", "--no-phases", "--reference", "8.5971775078648"],
            ["sweep", "--class", "S,W", "--px", "1,2", "--kernel", "sell,scalar", "--repeat", "1", "--output", self.folder / "x.jsonl"],
            ["solve", "--operator", "laplace3d:4x4x4", "--rtol", "1e-6", "--rhs", "random:3"],
        ):  # fmt: skip
            with self.subTest(arguments=arguments):
                first, second = self.folder / "first.toml", self.folder / "second.toml"
                self.run_well(2, *arguments, "--save-config", first)
                self.run_well(2, arguments[0], "--config", first, "--save-config", second)
                self.assertEqual(first.read_text(), second.read_text())
                self.assertGreaterEqual(len(first.read_text().splitlines()), len([word for word in arguments if str(word).startswith("--")]))

    def test_the_command_line_overrides_it(self):
        path = self.file("options.toml", 'class = "S"\nkernel = "sell"\nformat = "json"\n')
        self.assertEqual(self.run_well(1, "run", "--config", path, "--kernel", "scalar").document()["configuration"]["kernel"], "scalar")

    def test_a_pipe_is_read_once(self):
        outcome = run_command(["bash", "-c", f"{shlex.quote(str(PROGRAM))} run --config <(echo 'class = \"S\"') --format json"])
        self.assertEqual(outcome.document()["problem"]["class"], "S", outcome)

    def test_what_no_file_can_hold_is_refused(self):
        """The format has no escapes: such a value would be read back as another one."""
        saved = self.folder / "a.toml"
        for value in ("a#b", "it's \"x\""):
            outcome = run_program(1, "run", "--class", "S", "--output", self.folder / value, "--save-config", saved)
            self.assert_refused(outcome, USAGE, "--save-config: --output: no file of options can hold")
            self.assertFalse(saved.exists())

    def test_ranks_with_different_files(self):
        """As nodes with disks of their own may have them; one of the files may be missing."""
        for texts in (('class = "S"\n', 'class = "W"\n'), ('class = "S"\n', None), (None, 'class = "S"\n')):
            words = []
            for rank, text in enumerate(texts):
                folder = self.folder / f"node{rank}"
                folder.mkdir(exist_ok=True)
                (folder / "c.toml").unlink(missing_ok=True)
                if text:
                    (folder / "c.toml").write_text(text)
                words += [":"] * rank + ["-n", "1", "env", "-C", folder, PROGRAM, "run", "--config", "c.toml"]
            self.assert_refused(run_command([MPIEXEC, *words]), USAGE, "--config: the ranks find different files")
