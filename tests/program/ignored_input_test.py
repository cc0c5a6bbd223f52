"""Input that nobody reads is refused, with the name that was probably meant: nothing is silently ignored."""

import json
import os

from program_runner import PROGRAM, PROJECT, UNAVAILABLE, USAGE, ProgramTest, launch_words, run_command, run_program, some_of

MACHINE = PROJECT / "cg" / "machine" / "descriptions" / "cp-pacs.json"


def profile_of(processor):
    case = {
        "class": "S", "n": 1400, "nonzer": 7, "grid": {"columns": 1, "rows": 1}, "threads": 1, "nonzeros_per_rank": 78148,
        "kernels": [{"name": "sell", "critical_vector_length": None, "prefetch_distance": None, "block_width": None, "step_s": 1e-3}],
    }
    return {"schema_version": 1, "processors": {processor: {"critical_vector_length": 4, "row_lengths": [], "cases": [case]}}}


def objects_of(document, place=()):
    """Every object of a document, with its place."""
    if isinstance(document, dict):
        yield place
    members = document.items() if isinstance(document, dict) else enumerate(document) if isinstance(document, list) else ()
    for key, value in members:
        yield from objects_of(value, (*place, key))


def at(document, place):
    for key in place:
        document = document[key]
    return document


class IgnoredInput(ProgramTest):
    def processor(self):
        """The name of this one, as profiles have it."""
        return self.document_of(0, "stencil", "--shape", "8x8x8", "--steps", "2", "--temporal-block", "1")["machine"]

    def refused(self, words, *parts, code=USAGE, ranks=0, **options):
        outcome = run_program(ranks, *words, cwd=self.folder, **options)
        self.assert_refused(outcome, code, *parts)
        return outcome


class ConfigFiles(IgnoredInput):
    def test_what_no_command_reads(self):
        for text, parts in (
            ('[rnu]\nclass = "S"\n', ["section rnu: unknown", "did you mean run?"]),
            ("[rnu]\n", ["section rnu: unknown", "did you mean run?"]),
            ('[run.more]\nclass = "S"\n', ["section run.more: unknown"]),
            ('[run]\nkernal = "sell"\n', ["kernal: not an option of cg2d run in a file; did you mean kernel?"]),
            ('config = "other.toml"\n', ["config: not an option of cg2d run in a file"]),
            ('[run]\nkernel = "sell"\nclass = "S"\nkernel = "scalar"\n', ["kernel: must be given once"]),
            ('kernel = "sell"\n[run]\nkernel = "scalar"\n', ["kernel: must be given once"]),
            ("[run]\npapi = []\n", ["papi: must be given once, with a value"]),
            ('clas = "S"\n', ["clas", "did you mean class?"]),
            ("[run]\nqqqq = 1\n", ["qqqq: not an option of cg2d run"]),
            ("", ["holds no options"]),
            ('[run]\nclass = "S # a comment"\n', ["class: must be given once, with a value (# begins a comment within quotes, too)"]),
        ):
            path = self.file("options.toml", text)
            for ranks in (0, *some_of([2], 2)):
                self.refused(["run", "--class", "S", "--config", path], f"--config {path}: ", *parts, ranks=ranks)

    def test_what_commands_read(self):
        path = self.file("options.toml", 'format = "json"\n[run]\nclass = "S"\n[sweep]\nrepeat = 3\n')
        self.assertEqual(self.run_well(0, "run", "--config", path).document()["status"], "success")


class Descriptions(IgnoredInput):
    def test_every_object_of_a_machine_description(self):
        """A member too many, in each of its objects; two of them change a prediction by much if they are ignored."""
        good = json.loads(MACHINE.read_text())
        words = ["model", "--class", "S", "--ranks", "2", "--machine"]
        self.run_well(0, *words, self.file("machine.json", json.dumps(good)))
        for place in objects_of(good):
            changed = json.loads(MACHINE.read_text())
            at(changed, place)["sum_forms"] = "whole-block"
            nearest = "; did you mean sum_form?" if place and place[-1] == "network" else ""
            self.refused([*words, self.file("machine.json", json.dumps(changed))], "sum_forms", f"is nothing that is read here{nearest}")

    def test_every_object_of_a_profile(self):
        words = ["run", "--class", "S", "--profile"]
        own = profile_of(self.processor())
        self.run_well(0, *words, self.file("profile.json", json.dumps(own)))
        self.run_well(0, "tune", "--list", "--profile", self.folder / "profile.json")
        for place in objects_of(own):
            if place == ("processors",):  # its members are the names of processors
                continue
            changed = json.loads(json.dumps(own))
            at(changed, place)["treads"] = 1
            path = self.file("profile.json", json.dumps(changed))
            nearest = "; did you mean threads?" if place and place[-1] == 0 and "cases" in place and "kernels" not in place else ""
            self.refused([*words, path], "treads", f"is nothing that is read here{nearest}")
            self.refused(["tune", "--list", "--profile", path], "treads")


class Options(IgnoredInput):
    def test_settings_of_an_operator_in_a_file_of_options(self):
        path = self.file("options.toml", '[solve]\noperator = "laplace2d:8x8"\nprefetch = 4\n')
        self.refused(["solve", "--config", path], "--prefetch", "laplace2d without a matrix")
        self.run_well(0, "solve", "--config", path, "--assembled", "--kernel", "csr-simd")
        self.run_well(0, "solve", "--operator", "npb-factored:S", "--max-iterations", "30", "--sum", "whole-block", "--overlap", "--kernel", "scalar")

    def test_what_goes_with_events_of_the_environment(self):
        environment = os.environ | {"PAPI_EVENTS": "perf::TASK-CLOCK"}
        self.run_well(0, "run", "--class", "S", "--papi-strict", env=environment)
        self.run_well(2, "solve", "--operator", "laplace2d:8x8", "--papi-multiplex", env=environment)


class NamedThings(IgnoredInput):
    def test_a_profile_that_is_missing_is_made_for_a_trial(self):
        self.run_well(2, "run", "--class", "S", "--transport", "auto", "--profile", self.folder / "new.json")

    def test_a_profile_of_another_processor(self):
        """One that is named, by every command that takes one; the user's own is not used, as the report says."""
        path = self.file("profile.json", json.dumps(profile_of("Another one")))
        own = self.processor()
        for ranks, words in (
            (0, ["run", "--class", "S"]), (2, ["run", "--class", "S"]), (0, ["run", "--class", "S", "--dry-run"]),
            (2, ["solve", "--operator", "npb:S", "--assembled"]), (1, ["sweep", "--class", "S"]), (1, ["scaling", "--class", "S"]),
            (1, ["sweep", "--operator", "laplace2d:8x8", "--assembled"]), (1, ["scaling", "--operator", "laplace2d:8x8", "--assembled"]),
        ):
            self.refused([*words, "--profile", path], f"--profile {path}: knows nothing of this processor ({own}); leave it out", ranks=ranks)
        cache = self.folder / "cg2d"
        cache.mkdir()
        path.rename(cache / "profile.json")
        outcome = self.run_well(0, "run", "--class", "S", "--verbose", env=os.environ | {"XDG_CACHE_HOME": str(self.folder)})
        self.assertIn("knows nothing of this processor", outcome.stdout)
        self.assertEqual(outcome.stderr, "")

    def test_threads_that_openmp_does_not_start(self):
        words = ["run", "--class", "S", "--threads"]
        for variables, count, reason in (({"OMP_MAX_ACTIVE_LEVELS": "0"}, "2", "OMP_MAX_ACTIVE_LEVELS"), ({"OMP_THREAD_LIMIT": "1"}, "2", "OMP_THREAD_LIMIT"),
                                         ({"OMP_THREAD_LIMIT": "2", "OMP_DYNAMIC": "true"}, "4", ": OpenMP starts 2")):  # fmt: skip
            environment = os.environ | {"KMP_WARNINGS": "0"} | variables  # clang's library has its own words for it
            self.refused([*words, count], f"--threads {count}", reason, code=UNAVAILABLE, env=environment)
        for variables in ({"OMP_DYNAMIC": "true"}, {"OMP_THREAD_LIMIT": "2", "OMP_DYNAMIC": "true"}):
            self.run_well(0, *words, "2", env=os.environ | variables)

    def test_the_own_numbers_of_a_class(self):
        own = {"--n": "1400", "--nonzer": "7", "--niter": "15", "--shift": "10"}
        for option, value in own.items():
            result = self.document_of(0, "run", "--class", "S", option, value)
            self.assertEqual((result["problem"]["class"], result["status"]), ("S", "success"))
            self.assertTrue(result["result"]["verified"], option)
        self.assertEqual(self.document_of(0, "run", "--class", "S", *sum(own.items(), ()))["problem"]["class"], "S")
        other = self.document_of(0, "run", "--class", "S", "--niter", "14")
        self.assertEqual((other["problem"]["class"], other["result"]["verified"]), ("U", None))
        for command in (["explain", "--format", "json"], ["run", "--dry-run", "--format", "json"]):
            document = json.loads(self.run_well(0, *command, "--class", "S", "--n", "1400").stdout)
            self.assertEqual(document.get("class") or document["problem"]["class"], "S")


class Results(IgnoredInput):
    def test_two_kernels_are_compared_by_a_sweep(self):
        for kernel in ("sell", "scalar"):
            self.run_well(0, "run", "--class", "S", "--kernel", kernel, "--format", "json", "--output", self.folder / kernel)
        self.refused(["compare", "sell", "scalar"], "S 1x1 sell ", "S 1x1 scalar ", "cg2d sweep measures them in turns")

    def test_documents_of_other_commands(self):
        for words in (
            ["model", "--machine", "cp-pacs", "--class", "S", "--ranks", "2"],
            ["explain", "--grid", "1x2"],
            ["events"],
            ["stencil", "--shape", "8x8x8", "--steps", "2", "--temporal-block", "1"],
        ):
            path = self.folder / "document.json"
            self.run_well(0, *words, "--format", "json", "--output", path)
            if words[0] != "model":
                self.refused(["report", path], f"{path}: not a result of cg2d with figures", code=65)
            for reader in (["export", path], ["compare", path, path], ["sweep", "--show", path]):
                self.refused(reader, f"{path}: no result of cg2d run or solve", code=65)
        self.refused(["report", MACHINE], "not a result of cg2d with figures", code=65)


class InstructionSets(ProgramTest):
    """CG2D_INSTRUCTION_SET."""

    def run_with(self, rank_count, name, *arguments):
        environment = {**os.environ, "CG2D_INSTRUCTION_SET": name}
        return run_program(rank_count, *arguments, "--no-profile", "--format", "json", env=environment)

    def test_another_name_is_refused(self):
        for command in (("run", "--class", "S"), ("solve", "--operator", "npb:S")):
            for rank_count in (1, 2):
                self.assert_refused(self.run_with(rank_count, "avx3", *command), USAGE, "CG2D_INSTRUCTION_SET avx3", "portable")

    def test_ranks_with_and_without_vectors_are_refused(self):
        if os.environ["CG2D_INSTRUCTION_SET"] == "portable":
            self.skipTest("no vector instructions here")
        words = [PROGRAM, "solve", "--operator", "npb:S", "--assembled", "--no-profile"]
        outcome = run_command([*launch_words(1), "env", "CG2D_INSTRUCTION_SET=portable", *words, ":", "-n", "1", *words])
        self.assert_refused(outcome, UNAVAILABLE, "set CG2D_INSTRUCTION_SET=portable for all of them")
