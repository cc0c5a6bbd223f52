"""scripts/release-check: on a small work tree each of its points can fail; in the real one, versions and lists of tests agree."""

import datetime
import subprocess

from program_runner import BAD_DATA, PROGRAM, PROJECT, SUCCESS, USAGE, ProgramTest, run_command

SCRIPT = PROJECT / "scripts" / "release-check"
TODAY = datetime.date.today()
FILES = {
    "CMakeLists.txt": "project(\n  cg2d\n  VERSION 1.2.3\n  LANGUAGES CXX)\n",
    "CITATION.cff": "cff-version: 1.2.0\nversion: 1.2.3\n",
    "scripts/packaging/spack/packages/cg2d/package.py": '    version("1.2.3", tag="v1.2.3")\n',
    "CHANGELOG.md": f"# Changelog\n\n## [Unreleased]\n\n## [1.2.3] - {TODAY}\n\n### Added\n\n- All.\n",
    "LICENSE": f"Copyright (c) {TODAY.year}, us\n",
    "tests/CMakeLists.txt": "cg2d_add_test(base/one_test)\n",
    "tests/base/one_test.cpp": "",
}
# Point: file, text, and another text that makes it fail.
FAULTS = {
    "version in CMakeLists.txt": ("CMakeLists.txt", "VERSION 1.2.3", "VERSION 1.2"),
    "the same in CITATION.cff": ("CITATION.cff", "1.2.3", "1.2.2"),
    "the same in the Spack recipe": ("scripts/packaging/spack/packages/cg2d/package.py", "v1.2.3", "v1.2.4"),
    "section in CHANGELOG.md": ("CHANGELOG.md", str(TODAY), "2001-01-01"),
    "nothing below Unreleased": ("CHANGELOG.md", "[Unreleased]\n", "[Unreleased]\n\n- More.\n"),
    "licence": ("LICENSE", str(TODAY.year), "1901"),
    "every test is in a list": ("tests/CMakeLists.txt", "one_test", "two_test"),
}


def points_of(outcome):
    return {line[:32].strip(): line[33:] for line in outcome.stdout.splitlines() if line[32:33] == " "}


class TreeTest(ProgramTest):
    """A small work tree under git."""

    def make_tree(self, files):
        self.root = self.folder / "tree"
        for name, text in files.items():
            (self.root / name).parent.mkdir(parents=True, exist_ok=True)
            (self.root / name).write_text(text)
        self.git("init", "--quiet")
        self.commit()

    def git(self, *words):
        identity = ("-c", "user.name=test", "-c", "user.email=test@example.org")
        subprocess.run(["git", "-C", self.root, *identity, *words], check=True, stdout=subprocess.DEVNULL)

    def commit(self):
        self.git("add", "--all")
        self.git("commit", "--quiet", "--allow-empty", "--message", "a state")


class ReleaseCheck(TreeTest):
    def setUp(self):
        self.make_tree(FILES)

    def check(self, *words):
        return run_command([SCRIPT, "--root", self.root, *words])

    def assert_only_fault(self, point, outcome):
        self.assertEqual(outcome.exit_code, BAD_DATA, outcome)
        self.assertEqual([name for name, state in points_of(outcome).items() if state.startswith("NO: ")], [point], outcome)

    def test_a_state_that_is_ready(self):
        outcome = self.ends_with(SUCCESS, self.check())
        self.assertTrue(outcome.stdout.endswith("ready: git tag -a v1.2.3 -m 'cg2d 1.2.3'\n"), outcome)
        self.git("tag", "v1.2.3")
        self.assertEqual(self.check().exit_code, SUCCESS, "the tag of this very commit")

    def test_each_point_can_fail(self):
        for point, (name, text, other) in FAULTS.items():
            with self.subTest(point=point):
                path = self.root / name
                self.assertIn(text, FILES[name])
                path.write_text(FILES[name].replace(text, other))
                self.commit()
                outcome = self.ends_with(BAD_DATA, self.check())
                self.assertTrue(points_of(outcome)[point].startswith("NO: "), outcome)
                path.write_text(FILES[name])

    def test_tree_tag_program_and_log(self):
        (self.root / "new").write_text("")
        self.assert_only_fault("clean tree", self.check())
        self.git("tag", "v1.2.3")
        self.commit()
        self.assert_only_fault("the tag is free", self.check())
        self.git("tag", "--delete", "v1.2.3")
        self.assert_only_fault("the same in the program", self.check("--program", PROGRAM))
        log = self.folder / "log"
        for text in ("stage emulate: passed in 3 s", "all stages passed: 312 tests in 2000 s (format 3 s, release 9 s)"):
            log.write_text(f"==> {text}\n")
            self.assert_only_fault("scripts/test --thorough passed", self.check("--log", log))
        log.write_text("==> all stages passed: 312 tests in 2000 s (format 3 s, release 9 s, emulate 9 s)\n")
        self.assertEqual(self.check("--log", log).exit_code, SUCCESS)

    def test_usage(self):
        for words in (("--no-such-option",), ("--root", self.folder)):
            self.assert_refused(run_command([SCRIPT, *words]), USAGE)


class ThisTree(ProgramTest):
    def test_versions_agree_and_all_tests_are_listed(self):
        points = points_of(run_command([SCRIPT, "--program", PROGRAM]))
        for point in ("version in CMakeLists.txt", "the same in CITATION.cff", "the same in the Spack recipe", "the same in the program",
                      "every test is in a list", "licence"):  # fmt: skip
            self.assertEqual(points[point], "yes", point)
