"""The recipes in scripts/packaging against the project: files, options and texts that they name exist. Whether they work is tried by
scripts/packaging/try, which needs root and a mirror."""

import importlib.util
import re
import sys
import types
import unittest
from unittest import mock

from program_runner import PROJECT, ProgramTest

PACKAGING = PROJECT / "scripts" / "packaging"


def text_of(name):
    return (PACKAGING / name).read_text()


class FakeCMakePackage:
    def __init__(self, blas, variants):
        self.spec = {"blas": types.SimpleNamespace(name=blas)}
        self.variants = variants

    def define(self, name, value):
        return f"-D{name}={value}"

    def define_from_variant(self, name, variant):
        return self.define(name, self.variants[variant])


def spack_recipe():
    """(class of the recipe, calls of its directives), with a stand-in for Spack."""
    calls = {}
    module = types.ModuleType("spack.package")
    module.CMakePackage = FakeCMakePackage
    for name in ("license", "version", "variant", "depends_on", "generator", "which"):
        calls[name] = []
        setattr(module, name, lambda *words, _name=name, **options: calls[_name].append((words, options)))
    spec = importlib.util.spec_from_file_location("cg2d_recipe", PACKAGING / "spack/packages/cg2d/package.py")
    recipe = importlib.util.module_from_spec(spec)
    with mock.patch.dict(sys.modules, {"spack": types.ModuleType("spack"), "spack.package": module}):
        spec.loader.exec_module(recipe)
    return recipe.Cg2d, calls


class SpackRecipe(unittest.TestCase):
    def test_options_exist_and_follow_the_variants(self):
        recipe, calls = spack_recipe()
        variants = {words[0]: options["default"] for words, options in calls["variant"]}
        cmake = (PROJECT / "CMakeLists.txt").read_text()
        for blas, vendor in (("openblas", "OpenBLAS"), ("blis", "FLAME"), ("intel-oneapi-mkl", "Intel10_64lp_seq"), ("other", "Generic")):
            arguments = recipe(blas, {**variants, "papi": False}).cmake_args()
            self.assertIn(f"-DBLA_VENDOR={vendor}", arguments)
            self.assertIn("-DCG2D_WITH_PAPI=False", arguments)
            for argument in arguments:
                name = re.match(r"-D(\w+)=", argument)[1]
                self.assertTrue(name == "BLA_VENDOR" or re.search(rf"^(option|set)\({name} ", cmake, re.MULTILINE), name)

    def test_it_builds_this_repository_and_needs_what_the_build_needs(self):
        recipe, calls = spack_recipe()
        self.assertEqual(recipe.git, PROJECT.as_uri())
        needed = {re.match(r"[\w-]+", words[0])[0] for words, _ in calls["depends_on"]}
        self.assertLessEqual({"cmake", "mpi", "blas", "fmt", "nlohmann-json", "cli11", "zlib-api", "zstd", "papi", "hwloc"}, needed)


class Recipes(ProgramTest):
    def test_the_texts_that_the_reframe_check_reads_are_printed(self):
        source = text_of("cg2d_check.py")
        patterns = re.findall(r'sn\.\w+\(r"([^"]+)"', source)
        self.assertEqual(len(patterns), 4)
        output = self.run_well(2, "run", "--class", "S", "--grid", "1x2").stdout
        for pattern in patterns:
            self.assertRegex(output, pattern)
        compile(source, "cg2d_check.py", "exec")

    def test_container_recipes_name_what_exists_and_install_the_same(self):
        recipes = {name: text_of(name) for name in ("Dockerfile", "cg2d.def")}
        installed = set()
        for text in recipes.values():
            self.assertIn("scripts/install-dependencies build", text)
            self.assertIn("scripts/packaging/deb --no-lint", text)
            installed.add(re.search(r"install -y --no-install-recommends (/packages/.*?)( &&| *\\?\n)", text)[1].strip(" \\&"))
        self.assertEqual(len(installed), 1, installed)
        self.assertRegex(recipes["Dockerfile"], r"(?m)^USER (?!root)\w+$")
        self.assertEqual(len(re.findall(r"(?m)^FROM ", recipes["Dockerfile"])), 2, "what builds is not in the image")

    def test_the_workflow_runs_scripts_that_exist(self):
        scripts = set(re.findall(r"\bscripts/[\w/-]+", (PROJECT / ".github" / "workflows" / "test.yml").read_text()))
        self.assertIn("scripts/test", scripts)
        for script in scripts:
            self.assertTrue((PROJECT / script).is_file(), script)
