"""The READMEs are true: options, command lines, exit codes, environment variables, links, files and names.

An option of a subcommand counts as described in a README where the first cell of a row of an option table begins with it, or
names it in code after others ("`--n`, `--nonzer`"). An option table is one whose head begins with "option"; a heading above it
names the subcommand in code: "Options of `cg2d run`". """

import concurrent.futures
import functools
import json
import os
import re
import shlex
import tempfile
import unittest

from markdown_files import FOLDERS, PROJECT, documents
from program_runner import PROGRAM, SUCCESS, USAGE, run_command

MOST_README_LINES = 220
LEAST_ROOM_LINES = 10
# Options of other programs that stand in code without the program's name.
FOREIGN_OPTIONS = {"--cpus-per-task"}
SCRIPTS_WITH_OPTIONS = (
    "scripts/test", "scripts/teaching/answers", "scripts/compare-npb", "scripts/release-check", "scripts/packaging/deb",
    "tests/mutants/run.py",
)  # fmt: skip
# Values of options in --help, which stand in quotes as the names of variables do.
VALUE_WORDS = {"FILE", "NAME", "SIZE", "TIME", "PERCENT"}
# History: it names things that no longer exist.
CHANGELOG = "CHANGELOG.md"
# Options that commands have in common: one table, below a heading with the words "all commands".
COMMON_OPTIONS = ("--config", "--save-config")
ALL_COMMANDS = "all commands"
UNKNOWN_OPTION = "--no-such-option"
OPTION = r"(?<![\w-])--[a-z][a-z-]*"
END_OF_COMMAND = re.compile(r"[;|&<>()]+")


def present_documents():
    return [document for name, document in documents().items() if name != CHANGELOG]


# ---------------------------------------------------------------- names of the program


@functools.cache
def subcommands():
    text = run_command([PROGRAM, "--help"]).stdout
    return re.findall(r"^  ([a-z]+)  ", text[text.index("Commands:") :], re.MULTILINE)


@functools.cache
def options_of(subcommand):
    text = run_command([PROGRAM, subcommand, "--help"]).stdout
    return set(re.findall(r"^  (?:-\w,)?(--[a-z][a-z-]*)", text, re.MULTILINE)) - {"--help"} - set(COMMON_OPTIONS)


def codes_in_help(subcommand):
    """(code, meaning) of the exit codes in the help of a subcommand, or of the program."""
    text = run_command([PROGRAM, *([subcommand] if subcommand else []), "--help"]).stdout
    section = text[text.index("Exit codes:\n") :].split("\n\n")[0]
    return [(code, " ".join(meaning.split())) for code, meaning in re.findall(r"^  (\d+) +(.*(?:\n {10,}.*)*)", section, re.MULTILINE)]


def all_options():
    return set().union(*(options_of(name) for name in subcommands())) | {"--help", "--version", *COMMON_OPTIONS}


@functools.cache
def script_options(script):
    """Options in the usage of a script, with one dash or two."""
    return set(re.findall(r"(?<![\w-])--?[a-z][a-z-]*", run_command([PROJECT / script, "--help"]).stdout))


@functools.cache
def bench_options():
    """Options of the measuring programs."""
    sources = "".join(path.read_text() for path in (PROJECT / "bench").glob("*.cpp"))
    return {f"--{name}" for name in re.findall(r'"(?:--)?([a-z][a-z-]*)=?"', sources)}


@functools.cache
def source_words():
    """Every identifier of the sources, the build and the scripts."""
    files = [PROJECT / "CMakeLists.txt", *(path for folder in FOLDERS for path in (PROJECT / folder).rglob("*"))]
    corpus = PROJECT / "tests" / "fuzz" / "corpus"  # bytes of any kind
    sources = [path for path in files if path.is_file() and path.suffix not in (".md", ".png", ".pyc") and corpus not in path.parents]
    return set().union(*(re.findall(r"\w+", path.read_text()) for path in sources))


# ---------------------------------------------------------------- contents of the READMEs


def option_tables():
    """(table, subcommand or None) of all option tables."""
    for document in present_documents():
        for table in document.tables:
            if table.head() == "option":
                if any("all commands" in heading for heading in table.headings):
                    yield table, ALL_COMMANDS
                    continue
                named = [re.search(r"`cg2d ([a-z]+)`", heading) for heading in reversed(table.headings)]
                yield table, next((match[1] for match in named if match), None)


def logical_lines(block):
    """Lines of a code block, joined where they are continued, with the first value of each loop's variable."""
    text = "\n".join(line.removeprefix("$ ") for line in block).replace("\\\n", " ")
    for name, value in re.findall(r"for (\w+) in (\S+?)[ ;]", text):
        text = re.sub(rf"\$\{{?{name}\b\}}?", value, text)
    text = text.replace("$SLURM_NTASKS", "64")
    return text.splitlines()


def words_of(line):
    """Words of a shell line, without its comment; nothing for a line that is none."""
    splitter = shlex.shlex(line, posix=True, punctuation_chars=True)
    splitter.whitespace_split = True
    splitter.commenters = "#"
    try:
        return list(splitter)
    except ValueError:  # a quote without its partner: some output
        return []


def arguments_after(words, position):
    arguments = []
    for word in words[position + 1 :]:
        if END_OF_COMMAND.fullmatch(word):
            break
        arguments.append(word)
    return arguments


def started(pattern):
    """(document's name, words before, program, arguments) of all command lines whose program matches the pattern."""
    found = []
    for document in present_documents():
        for line in (line for block in document.code_blocks for line in logical_lines(block)):
            words = words_of(line)
            for position, word in enumerate(words):
                if re.fullmatch(pattern, word):
                    found.append((document.name, words[:position], word, arguments_after(words, position)))
    return found


def ranks_of(words, arguments):
    """N of "mpiexec -n N"; without it as many ranks as the grid has, or one."""
    if "-n" in words:
        return words[words.index("-n") + 1]
    grid = re.search(r"--grid (\d+)x(\d+)", " ".join(arguments))
    return str(int(grid[1]) * int(grid[2])) if grid else "1"


def program_lines():
    """(document's name, ranks, arguments) of all command lines that start cg2d, each once."""
    lines = {}
    for name, before, _, arguments in started(r"\S*/cg2d|scripts/run\.slurm"):
        lines.setdefault(tuple(arguments), (name, ranks_of(before, arguments)))
    return [(name, ranks, list(arguments)) for arguments, (name, ranks) in lines.items()]


def fault_of(arguments, rank_count):
    """Why the program does not take these arguments; nothing where it does. Runs nothing: a run is planned, and any other
    command gets an option that it does not have, which must be the only one that it complains of."""
    is_planned = arguments[:1] == ["run"] and not {"csv", "--out-of-core"} & set(arguments)
    extra = [UNKNOWN_OPTION]
    if is_planned:
        extra = [] if "--dry-run" in arguments else ["--dry-run", "--ranks", rank_count]
    with tempfile.TemporaryDirectory() as folder:
        outcome = run_command([PROGRAM, *arguments, *extra], cwd=folder)
    if is_planned:
        is_fine = outcome.exit_code == SUCCESS or "this cg2d was built without PAPI" in outcome.stderr
    else:
        is_fine = outcome.exit_code == USAGE and f"{UNKNOWN_OPTION}: not an option of cg2d {arguments[0]}" in outcome.stderr
    return "" if is_fine else str(outcome)


# ---------------------------------------------------------------- tests


class Size(unittest.TestCase):
    def test_the_readme_is_short(self):
        self.assertLessEqual(len(documents()["README.md"].lines), MOST_README_LINES)

    def test_every_room_has_a_readme(self):
        rooms = re.findall(r"^cg2d_add_room\((\S+)[ )]", (PROJECT / "CMakeLists.txt").read_text(), re.MULTILINE)
        self.assertIn("cg/base", rooms)
        for room in rooms:
            self.assertIn(f"{room}/README.md", documents())
            self.assertGreaterEqual(len(documents()[f"{room}/README.md"].lines), LEAST_ROOM_LINES, room)


class Options(unittest.TestCase):
    def test_every_option_table_says_whose_options_these_are(self):
        known = {*subcommands(), ALL_COMMANDS}
        self.assertEqual([table.place for table, subcommand in option_tables() if subcommand not in known], [])

    def test_every_option_of_every_subcommand_stands_once(self):
        places = {}
        for table, subcommand in option_tables():
            for row in table.body():
                for option in re.findall(rf"`({OPTION})", row[0]):
                    places.setdefault((subcommand, option), []).append(table.place)
        expected = {(name, option) for name in subcommands() for option in options_of(name)}
        expected |= {(ALL_COMMANDS, option) for option in COMMON_OPTIONS}
        self.assertEqual(sorted(expected - set(places)), [], "in no option table")
        self.assertEqual(sorted(set(places) - expected), [], "not an option of the program")
        self.assertEqual({what: where for what, where in places.items() if len(where) > 1}, {}, "in several rows")

    def test_the_options_of_a_command_stand_on_one_page(self):
        pages = {}
        for table, subcommand in option_tables():
            pages.setdefault(subcommand, set()).add(table.place.split(":")[0])
        self.assertEqual({name: names for name, names in pages.items() if len(names) > 1}, {})

    def test_no_text_names_an_option_that_does_not_exist(self):
        unknown = []
        for document in present_documents():
            for span in document.code_spans():
                known = all_options() | FOREIGN_OPTIONS
                subcommand = re.match(r"(?:.*/)?cg2d ([a-z]+)", span)
                script = re.match(r"scripts/[\w./-]+", span)
                if subcommand and subcommand[1] in subcommands():
                    known = options_of(subcommand[1]) | {"--help", *COMMON_OPTIONS}
                elif script:
                    known = script_options(script[0]) if "--" in span else set()
                elif not span.startswith("--"):
                    continue
                else:
                    known |= bench_options()
                    for name in SCRIPTS_WITH_OPTIONS:
                        known |= script_options(name)
                unknown += [f"{document.name}: {option} in `{span}`" for option in re.findall(OPTION, span) if option not in known]
        self.assertEqual(unknown, [])


class CommandLines(unittest.TestCase):
    def test_every_script_can_say_its_usage(self):
        """bench/regression took a module that was gone, and only the extent thorough ran it."""
        files = [file for folder in ("scripts", "scripts/packaging", "scripts/teaching", "bench") for file in (PROJECT / folder).iterdir()]
        scripts = [file for file in files if file.is_file() and os.access(file, os.X_OK) and file.suffix != ".slurm"]
        for script in scripts:
            outcome = run_command([script, "--help"])
            self.assertEqual((outcome.exit_code, outcome.stdout[:6]), (SUCCESS, "usage:"), outcome)

    def test_the_program_takes_every_command_line(self):
        lines = program_lines()
        self.assertGreater(len(lines), 20)
        with concurrent.futures.ThreadPoolExecutor(2) as executor:
            faults = list(executor.map(lambda line: fault_of(line[2], line[1]), lines))
        self.assertEqual([(name, fault) for (name, _, _), fault in zip(lines, faults) if fault], [])

    def test_scripts_exist_and_have_the_options_given(self):
        lines = started(r"(scripts|\.ci)/[\w./-]+")
        self.assertGreater(len(lines), 3)
        for name, _, script, arguments in lines:
            with self.subTest(document=name, script=script):
                self.assertTrue((PROJECT / script).is_file())
                given = {word.split("=")[0] for word in arguments if word.startswith("-")}
                # Options of a recipe belong to the program that reads it, those of batch scripts to cg2d.
                if given and os.access(PROJECT / script, os.X_OK) and not script.endswith(".slurm"):
                    self.assertEqual(given - script_options(script), set())

    def test_presets_and_cmake_options_exist(self):
        presets = {preset["name"] for preset in json.loads((PROJECT / "CMakePresets.json").read_text())["configurePresets"]}
        cmake = (PROJECT / "CMakeLists.txt").read_text()
        for document in present_documents():
            text = "\n".join(document.lines)
            self.assertEqual(set(re.findall(r"--preset (\w+)", text)) - presets, set(), document.name)
            for option in re.findall(r"\bCG2D_(?:BUILD|NATIVE|WARNINGS|SANITIZE)\w*", text):
                self.assertIn(option, cmake, document.name)


class Tables(unittest.TestCase):
    """Subjects that exactly one table in all READMEs covers."""

    def only_rows(self, head):
        tables = [table for document in present_documents() for table in document.tables if table.head() == head]
        self.assertEqual(len(tables), 1, [table.place for table in tables])
        return tables[0].body()

    def test_exit_codes(self):
        """The README and the help: the same codes, meanings and commands."""
        errors = (PROJECT / "cg" / "base" / "errors.hpp").read_text()
        scripts = (PROJECT / "scripts" / "report_parts" / "errors.py").read_text()
        codes = {*re.findall(r"^  \w+ = (\d+),", errors, re.MULTILINE), *re.findall(r"\b(6\d|7\d)\b", scripts)}
        self.assertIn("64", codes)
        rows = [(code, meaning.replace("`", ""), commands.replace("`", "")) for code, meaning, commands in self.only_rows("code")]
        self.assertEqual([row[0] for row in rows], sorted(codes, key=int))
        for command in (None, *subcommands()):
            expected = [row[:2] for row in rows if command is None or row[2] == "all" or command in row[2].split(", ")]
            self.assertEqual(codes_in_help(command), expected, command)

    def test_environment_variables(self):
        listed = set(re.findall(r"`(\w+)`", " ".join(row[0] for row in self.only_rows("variable"))))
        sources = [path.read_text() for folder in ("cg", "comm", "kernels") for path in (PROJECT / folder).rglob("*.cpp")]
        asking = re.compile(r'\b(?:getenv|environment_variable)\((?:"(\w+)"|(?!const )\w)')
        read = set()
        for text in sources:
            named = set(asking.findall(text))
            # Where a call does not say a name itself, it goes through some that stand in the file.
            read |= set(re.findall(r'"([A-Z][A-Z_]{3,})"', text)) - VALUE_WORDS if "" in named else named
        scripts = [script.read_text() for script in (PROJECT / "scripts").iterdir() if script.is_file()]
        read |= {name for text in scripts for name in re.findall(r"\$\{([A-Z][A-Z_0-9]+):-", text)}
        self.assertIn("PAPI_EVENTS", read)
        self.assertEqual(read - listed, set(), "in no table")
        self.assertEqual(listed - source_words(), set(), "read by nothing")


class References(unittest.TestCase):
    def test_links_and_anchors_lead_somewhere(self):
        broken = []
        for document in documents().values():
            for link in document.links():
                if re.match(r"[a-z]+:", link):
                    continue
                path, _, anchor = link.partition("#")
                target = (document.path.parent / path).resolve() if path else document.path
                if not target.exists():
                    broken.append(f"{document.name}: {link}: no such file")
                elif anchor and anchor not in documents()[str(target.relative_to(PROJECT))].anchors():
                    broken.append(f"{document.name}: {link}: no such heading")
        self.assertEqual(broken, [])

    def test_files_that_are_named_exist(self):
        missing = []
        for document in present_documents():
            names = re.findall(rf"(?<![\w/.$-])(?:{'|'.join(FOLDERS)})/[\w./<>*-]*[\w*>]", "\n".join(document.lines))
            # An include ends with the ">" that stands for nothing else without a "<".
            names = [name.rstrip(">") for name in names if "<" not in name]
            # A file, a folder, a pattern ("*.hpp"), or a measuring program by its name alone; "<name>" stands for any.
            missing += [f"{document.name}: {name}" for name in names if not (any(PROJECT.glob(name)) or (PROJECT / f"{name}.cpp").exists())]
            for name in document.code_spans():
                is_source = re.fullmatch(r"\w+\.[hc]pp", name)
                if is_source and document.path.parent != PROJECT and not (document.path.parent / name).exists():
                    missing.append(f"{document.name}: {name} in its folder")
        self.assertEqual(missing, [])
