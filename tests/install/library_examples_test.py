"""Builds the examples, and the program of the README, as projects that know only an installed cg2d, and runs them."""

import os
import pathlib
import re
import shlex
import shutil

from install_consumer_test import BUILD_TREE, CMAKE, CONFIGURE_OPTIONS
from markdown_files import documents
from program_runner import BAD_DATA, PROJECT, SUCCESS, ProgramTest, executable, launch_words, run_command, temporary_folder

WITHOUT_MPI = [word for word in CONFIGURE_OPTIONS if not word.startswith("-DMPI_CXX_COMPILER=")]
RANK_COUNTS = (1, 2, 3, 4)
EXAMPLES = PROJECT / "tests" / "examples"
# Wherever u is known as a series: 0.0736713... is its value in the middle; linear elements on 40 x 40 cells have an error of
# about h^2 / 16.
POISSON_MIDDLE, POISSON_ERROR = 0.073671, 1e-4

MATRIX = """%%MatrixMarket matrix coordinate real symmetric
4 4 7
1 1 4
2 2 4
3 3 4
4 4 4
2 1 1
3 2 1
4 3 1
"""


def readme_blocks():
    """CMake lines and main.cpp in the section on the library, as they stand there."""
    lines = documents()["README.md"].lines
    start = lines.index("## As a library")
    end = next(k for k in range(start + 1, len(lines)) if lines[k].startswith("## "))
    text = "\n".join(line.removeprefix("    ") if line.startswith("    ") else f"\0{line}" if line else "" for line in lines[start:end])
    blocks = [block.strip("\n") + "\n" for block in re.split(r"(?m)^\0.*\n?", text) if block.strip()]
    cmake = next(block for block in blocks if block.startswith("find_package"))
    program = next(block for block in blocks if block.startswith("#include"))
    return cmake, program


class LibraryExamples(ProgramTest):
    @classmethod
    def setUpClass(cls):
        cls.folder = temporary_folder(cls.addClassCleanup)
        cls.prefix = cls.folder / "prefix"
        cls.examples = cls.folder / "examples"
        cls.must(CMAKE, "--install", BUILD_TREE, "--prefix", cls.prefix)
        cls.build(EXAMPLES, cls.examples)
        (cls.folder / "A.mtx").write_text(MATRIX)

    @classmethod
    def must(cls, *command, env=None):
        outcome = run_command(command, env=env)
        assert outcome.exit_code == SUCCESS, outcome
        return outcome

    @classmethod
    def configuration(cls, source, tree, options):
        return [CMAKE, "-S", source, "-B", tree, f"-DCMAKE_PREFIX_PATH={cls.prefix}", "-DCMAKE_CXX_FLAGS=-Wall -Wextra",
                "-DCMAKE_C_FLAGS=-Wall -Wextra -Werror", *options]  # fmt: skip

    @classmethod
    def build(cls, source, tree, options=tuple(CONFIGURE_OPTIONS), environment=None):
        cls.must(*cls.configuration(source, tree, options), env=environment)
        found = (tree / "CMakeCache.txt").read_text()
        assert re.search(rf"(?m)^cg2d_DIR:PATH={cls.prefix}/\S*cmake/cg2d$", found), "another cg2d was found"
        cls.must(CMAKE, "--build", tree)

    def outcomes(self, program, *arguments, code=SUCCESS):
        """(ranks, outcome) on every number of ranks, which must end with the code."""
        for rank_count in RANK_COUNTS:
            with self.subTest(ranks=rank_count):
                yield rank_count, self.ends_with(code, run_command([*launch_words(rank_count), program, *arguments], cwd=self.folder))

    def test_a_matrix_of_a_file(self):
        for _, outcome in self.outcomes(self.examples / "solve_file", "A.mtx", "x.mtx"):
            self.assertRegex(outcome.stdout, r"^converged in \d+ steps")
            for phase in ("collection", "multiply", "dot"):
                self.assertRegex(outcome.stdout, rf"(?m)^{phase} +\d")
            x = [float(line) for line in (self.folder / "x.mtx").read_text().splitlines()[3:]]
            # 4 x1 + x2 = 1, x1 + 4 x2 + x2 = 1: x1 = 4/19, x2 = 3/19, and the same from the other end.
            for found, expected in zip(x, (4 / 19, 3 / 19, 3 / 19, 4 / 19), strict=True):
                self.assertAlmostEqual(found, expected, delta=1e-9)

    def test_a_missing_file_is_one_line_and_one_code(self):
        for _, outcome in self.outcomes(self.examples / "solve_file", "none.mtx", code=BAD_DATA):
            self.assertEqual(outcome.error_lines(), ["solve_file: none.mtx: no such file"])

    def test_a_poisson_problem_is_assembled(self):
        for _, outcome in self.outcomes(self.examples / "poisson", "40"):
            middle = float(re.search(r"u in the middle = (\S+)", outcome.stdout)[1])
            self.assertAlmostEqual(middle, POISSON_MIDDLE, delta=POISSON_ERROR)

    def test_an_operator_of_ones_own(self):
        for _, outcome in self.outcomes(self.examples / "own_operator", "1000"):
            self.assertRegex(outcome.stdout, r"^converged in \d+ steps")

    def test_c(self):
        for _, outcome in self.outcomes(self.examples / "line", "1000"):
            self.assertRegex(outcome.stdout, r"^converged: converged in \d+ steps")

    def test_fortran(self):
        program = self.examples / "line_fortran"
        if not program.exists():
            self.skipTest("there is no Fortran compiler, or no MPI for it")
        # The same system as that of the C example.
        expected = self.must(*launch_words(1), self.examples / "line", "1000").stdout.splitlines()[0]
        for rank_count, outcome in self.outcomes(program, "1000"):
            self.assertRegex(outcome.stdout, r"^converged: converged in \d+ steps")
            if rank_count == 1:
                self.assertEqual(outcome.stdout.splitlines()[0].split(":")[1], expected.split(":")[1])

    def test_the_fortran_module_has_every_function_of_the_header(self):
        declared = set(re.findall(r"(?m)^[\w ]+[ *](cg2d_\w+)\(", (PROJECT / "cg" / "library" / "cg2d.h").read_text()))
        module = (self.prefix / "include" / "cg2d" / "cg2d.f90").read_text()
        bound = set(re.findall(r"(?:function|subroutine) (cg2d_\w+)\(", module))
        self.assertIn("cg2d_solve", declared)
        self.assertEqual(declared - bound, {"cg2d_ranks_create"}, "that one takes C's communicator")

    def test_another_mpi_is_refused_by_name(self):
        built_with = re.search(r"(?m)^MPI_CXX_COMPILER:[A-Z]+=(.*)", (pathlib.Path(BUILD_TREE) / "CMakeCache.txt").read_text())[1]
        other = shutil.which("mpicxx.openmpi" if "mpich" in built_with else "mpicxx.mpich")
        if not other:
            self.skipTest("no second MPI is installed")
        tree = self.folder / "other-build"
        outcome = run_command(self.configuration(EXAMPLES, tree, [*WITHOUT_MPI, f"-DMPI_CXX_COMPILER={other}"]))
        self.assertNotEqual(outcome.exit_code, SUCCESS, outcome)
        self.assertRegex(" ".join(outcome.stderr.split()), rf"built with the MPI of {built_with}, this project has found that of {other}: "
                                                           rf"configure it with -DMPI_CXX_COMPILER={built_with}")  # fmt: skip

    def test_the_program_of_the_readme(self):
        cmake, program = readme_blocks()
        source = self.folder / "readme"
        source.mkdir()
        (source / "main.cpp").write_text(program)
        (source / "CMakeLists.txt").write_text(f"cmake_minimum_required(VERSION 3.25)\nproject(stranger LANGUAGES CXX)\n{cmake}")
        tree = self.folder / "readme-build"
        # No MPI is named, as in the README, and the wrapper that would be found first links with nothing that has functions of MPI.
        other_mpi = self.folder / "other-mpi"
        other_mpi.mkdir()
        executable(other_mpi / "mpicxx", "#!/bin/sh\necho c++ -I/usr/include -L/usr/lib -lc\n")
        self.build(source, tree, WITHOUT_MPI, {**os.environ, "PATH": f"{other_mpi}:{os.environ['PATH']}"})
        target = shlex.split(re.search(r"add_executable\((.*)\)", cmake)[1])[0]
        for _, outcome in self.outcomes(tree / target):
            self.assertRegex(outcome.stdout, r"^converged in \d+ steps: \|\| b - A x \|\| is \S+, recomputed\n$")
        elsewhere = self.folder / "elsewhere"
        elsewhere.mkdir()
        for rank_count in (1, 2):
            outcome = run_command([*launch_words(rank_count), tree / target], cwd=elsewhere)
            self.assertEqual((outcome.exit_code, outcome.error_lines()), (BAD_DATA, ["A.mtx: no such file"]), outcome)
