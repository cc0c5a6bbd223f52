"""tests/mutants/run.py: each fault of its list has its one place, and in a small project it tells what becomes of faults."""

import json
import sys
import unittest

from release_check_test import TreeTest
from program_runner import BAD_DATA, PROJECT, SUCCESS, USAGE, run_command

SCRIPT = PROJECT / "tests" / "mutants" / "run.py"

# Twice is tested, half is not, and third belongs to another processor. One test fails each second time, and one always.
FILES = {
    ".gitignore": "/build/\n",
    "comm/numbers.cpp": "int twice(int x) { return x + x; }\nint half(int x) { return x / 2; }\n",
    "comm/third.cpp": "int third(int x) { return x / 3; }\n",
    "check.cpp": "int twice(int x);\nint half(int x);\nint main() { return twice(3) == 6 && half(0) == 0 ? 0 : 1; }\n",
    "CMakeLists.txt": """cmake_minimum_required(VERSION 3.25)
project(small CXX)
enable_testing()
add_executable(check check.cpp comm/numbers.cpp)
add_test(NAME twice_test COMMAND check)
add_test(NAME by_turns_test COMMAND sh -c "if [ -e turn ]; then rm turn; else touch turn; exit 1; fi")
add_test(NAME broken_test COMMAND false)
set_tests_properties(twice_test PROPERTIES LABELS comm)
foreach(name comm quick default)
  add_custom_target(${name}_tests DEPENDS check)
endforeach()
""",
    "CMakePresets.json": """{"version": 6, "configurePresets": [{"name": "release", "generator": "Ninja",
"binaryDir": "${sourceDir}/build/release", "cacheVariables": {"CMAKE_EXPORT_COMPILE_COMMANDS": "ON"}}]}""",
}
FAULTS = {
    "thrice": ("x + x", "x + x + x"),
    "whole": ("x / 2", "x / 1"),
    "nothing": ("int half(int x) { return x / 2; }", "int half(int x) { return; }"),
    "fourth": ("x / 3", "x / 4"),
}


def list_of(faults):
    row = "[[mutant]]\nname = '{}'\nkind = '{}'\nold = '{}'\nnew = '{}'\nharm = 'Wrong numbers.'\n"
    return "".join(row.format(name, kind, old, new) for name, kind, old, new in faults)


@unittest.skipUnless(sys.version_info >= (3, 11), "the script needs Python 3.11")
class Mutants(TreeTest):
    def start(self, *words):
        return run_command([sys.executable, "-B", SCRIPT, *words])

    def start_with(self, faults, *words):
        return self.start("--faults", self.file("faults.toml", list_of(faults)), *words)

    def test_every_fault_has_its_place_and_every_room_its_faults(self):
        self.ends_with(SUCCESS, self.start("--check"))

    def test_a_fault_without_its_place_is_named(self):
        place = "int all_reduce_is_no_such_function"
        wrong = [("nowhere", "bound", place, "x"), ("everywhere", "bound", "return", "x"), ("odd", "evil", place, place)]
        outcome = self.ends_with(BAD_DATA, self.start_with([*wrong, wrong[0]], "--check"))
        for words in (
            f"nowhere: stands 0 times in cg, comm, kernels, must stand once: {place}",
            "nowhere: is there 2 times",
            "odd: kind evil is none of ",
            "odd: changes nothing",
            "comm: has 0 faults, must have at least 2",
        ):
            self.assertIn(words, outcome.stdout)
        self.assertRegex(outcome.stdout, "everywhere: stands [0-9]+ times")

    def test_a_usage_error_is_one_line(self):
        for words in (["--only", "nobody"], ["--rooms", "attic"], ["--attic"]):
            outcome = self.start("--list", *words)
            self.assertEqual((outcome.exit_code, outcome.stdout, outcome.stderr.count("\n")), (USAGE, "", 1), outcome)

    def test_what_becomes_of_faults(self):
        self.make_tree(FILES)
        results = self.folder / "results.jsonl"
        faults = [(name, "bound", *change) for name, change in FAULTS.items()]
        words = ("--root", self.root, "--results", results)
        outcome = self.ends_with(SUCCESS, self.start_with(faults, *words))
        rows = {row["name"]: row for row in map(json.loads, results.read_text().splitlines())}
        states = {name: row.get("state") for name, row in rows.items()}
        expected = {"thrice": "found", "whole": "survived", "nothing": "does not build", "fourth": "not compiled here"}
        self.assertEqual(states, {"(unchanged)": None, **expected})
        self.assertEqual(rows["(unchanged)"]["failing"], ["broken_test"])
        self.assertEqual((rows["thrice"]["test"], rows["thrice"]["stage"]), ("twice_test", "comm_tests"))
        self.assertEqual(rows["whole"]["failed_once"], ["by_turns_test"])
        self.assertRegex(outcome.stdout, r"(?m)^comm +1 +2$")
        self.assertIn("Not found:\n  whole (comm, bound): Wrong numbers.", outcome.stdout)
        self.git("diff", "--exit-code")
        self.assert_goes_on(faults, words, results)

    def assert_goes_on(self, faults, words, results):
        """A later start makes what is missing; of another commit nothing is known."""
        lines = results.read_text().splitlines(keepends=True)
        results.write_text("".join(line for line in lines if '"thrice"' not in line))
        outcome = self.ends_with(SUCCESS, self.start_with(faults, *words))
        self.assertEqual(outcome.stdout.count(" of 4, "), 1, outcome)
        self.assertIn("1 of 4, thrice: found, twice_test", outcome.stdout)
        self.commit()
        self.assertEqual(self.start_with(faults, *words).exit_code, USAGE)
