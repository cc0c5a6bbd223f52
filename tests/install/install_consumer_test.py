"""Installs the build tree, builds a project that knows only the installed files, and runs both."""

import os
import pathlib
import re
import shutil

from program_runner import PROGRAM, PROJECT, SUCCESS, ProgramTest, launch_words, run_command, temporary_folder

CMAKE = os.environ.get("CG2D_CMAKE", "cmake")
BUILD_TREE = os.environ.get("CG2D_BUILD_TREE", str(PROJECT / "build" / "release"))
# Manual pages of the program and of a command, where help2man is there to make them.
PAGES = ("man/man1/cg2d.1", "man/man1/cg2d-run.1") if shutil.which("help2man") else ()
# The compilers and the generator of the build tree: static libraries of one compiler may not link with another's.
CONFIGURE_OPTIONS = [word for word in os.environ.get("CG2D_CONSUMER_OPTIONS", "").split(";") if word]


class InstallConsumer(ProgramTest):
    @classmethod
    def setUpClass(cls):
        folder = temporary_folder(cls.addClassCleanup)
        cls.prefix, cls.consumer_tree = folder / "prefix", folder / "consumer"
        outcome = run_command([CMAKE, "--install", BUILD_TREE, "--prefix", cls.prefix])
        assert outcome.exit_code == 0, f"cannot install: {outcome}"

    def run_words(self, *command):
        return self.ends_with(SUCCESS, run_command(command))

    def test_a_project_finds_builds_and_links_it(self):
        self.run_words(
            CMAKE, "-S", PROJECT / "tests" / "install" / "consumer", "-B", self.consumer_tree, f"-DCMAKE_PREFIX_PATH={self.prefix}",
            *CONFIGURE_OPTIONS,
        )  # fmt: skip
        # Found where it was installed, and nowhere else.
        found = (self.consumer_tree / "CMakeCache.txt").read_text()
        self.assertRegex(found, rf"(?m)^cg2d_DIR:PATH={self.prefix}/\S*cmake/cg2d$")
        self.run_words(CMAKE, "--build", self.consumer_tree)
        self.assertEqual(self.run_words(*launch_words(2), self.consumer_tree / "consumer").stdout, "78148\n")

    def test_the_installed_program_runs(self):
        outcome = self.run_words(*launch_words(2), self.prefix / "bin" / "cg2d", "run", "--class", "S")
        self.assertIn(" VERIFICATION SUCCESSFUL \n", outcome.stdout)

    def test_the_installed_program_loads_the_same_openblas(self):
        # Debian may have several of one name, of which the one with threads is found where the program names none.
        outcomes = (self.run_words(program, "run", "--class", "S", "--format", "json") for program in (PROGRAM, self.prefix / "bin" / "cg2d"))
        self.assertEqual(*(outcome.document()["environment"]["blas"] for outcome in outcomes))

    def test_the_manual_and_what_a_site_needs_are_there(self):
        documents = self.prefix / "share" / "doc" / "cg2d"
        for file in ("README.md", "CHANGELOG.md", "LICENSE", "CITATION.cff", "cg/run/README.md", "bench/figures/roofline.png"):
            self.assertTrue((documents / file).is_file(), file)
        # The links of the manual hold: to other parts of it, all of which are there.
        for readme in documents.rglob("README.md"):
            for link in re.findall(r"\]\(([^)#\s]+README\.md)", readme.read_text()):
                self.assertTrue((readme.parent / link).is_file(), f"{readme}: {link}")
        self.assertTrue((self.prefix / "share" / "cg2d" / "report_parts" / "__main__.py").is_file())
        self.assertTrue(os.access(self.prefix / "share" / "cg2d" / "run.slurm", os.X_OK))

    def test_uninstall_leaves_nothing(self):
        for others in (False, True):
            prefix = self.folder / f"prefix-{others}"
            if others:
                (prefix / "share" / "doc").mkdir(parents=True)
                (prefix / "share" / "doc" / "other").write_text("of another program")
            # The manifest in the build tree is that of whoever installed last: another test, perhaps.
            manifest = self.folder / "manifest"
            self.run_words(CMAKE, "--install", BUILD_TREE, "--prefix", prefix)
            manifest.write_text("".join(f"{file}\n" for file in prefix.rglob("*") if file.is_file() and file.name != "other"))
            self.run_words(CMAKE, f"-DMANIFEST={manifest}", "-P", PROJECT / "scripts" / "cg2dUninstall.cmake")
            left = [path for path in prefix.rglob("*") if path.is_file()] if prefix.exists() else []
            self.assertEqual([path.name for path in left], ["other"] if others else [])
            self.assertEqual(prefix.exists(), others)

    def test_install_makes_manuals_that_no_build_has_made(self):
        """As after scripts/quickstart, which builds the program alone."""
        text = (pathlib.Path(BUILD_TREE) / "cmake_install.cmake").read_text()
        script, prefix = self.folder / "cmake_install.cmake", self.folder / "prefix"
        script.write_text(text.replace(str(pathlib.Path(BUILD_TREE) / "documents"), str(self.folder / "documents")))
        self.run_words(CMAKE, f"-DCMAKE_INSTALL_PREFIX={prefix}", "-P", script)
        for file in (*PAGES, "bash-completion/completions/cg2d"):
            self.assertTrue((prefix / "share" / file).stat().st_size > 500, file)

    def test_it_is_part_of_another_project(self):
        """Which has a target uninstall of its own, and wants neither tests nor benchmarks nor packages."""
        source, tree = self.folder / "source", self.folder / "build"
        source.mkdir()
        (source / "CMakeLists.txt").write_text(
            "cmake_minimum_required(VERSION 3.25)\nproject(parent LANGUAGES CXX)\nadd_custom_target(uninstall)\n"
            f"include(FetchContent)\nFetchContent_Declare(cg2d SOURCE_DIR {PROJECT})\nFetchContent_MakeAvailable(cg2d)\n"
        )
        self.run_words(CMAKE, "-S", source, "-B", tree, *CONFIGURE_OPTIONS)
        targets = self.run_words(CMAKE, "--build", tree, "--target", "help").stdout
        self.assertRegex(targets, r"(?m)^(\.\.\. )?cg2d_program\b")
        self.assertNotRegex(targets, r"_(bench|test)\b")
        self.assertFalse((tree / "CPackConfig.cmake").exists())

    def test_headers_and_manuals_are_there(self):
        for file in ("include/cg2d/cg/solver/conjugate_gradient.hpp", "include/cg2d/comm/communicator.hpp", "include/cg2d/kernels/spmv.hpp"):
            self.assertTrue((self.prefix / file).is_file(), file)
        for file in (*PAGES, "bash-completion/completions/cg2d", "zsh/site-functions/_cg2d", "fish/vendor_completions.d/cg2d.fish"):
            self.assertTrue((self.prefix / "share" / file).stat().st_size > 500, file)
        self.assertEqual([path for path in self.prefix.rglob("*") if path.suffix == ".cpp"], [])
