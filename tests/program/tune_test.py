"""cg2d tune: it writes its findings into a profile, and cg2d run follows the profile."""

import json

from program_runner import (
    SUCCESS, THOROUGH, USAGE, ProgramTest, names_listed, run_program, run_until_physical, temporary_folder,
)  # fmt: skip

# Name -> n
CLASSES = {"S": 1400, "W": 7000} if THOROUGH else {"S": 1400}


class TuneTest(ProgramTest):
    @classmethod
    def setUpClass(cls):
        """One tuning for all tests: it takes seconds."""
        cls.folder = temporary_folder(cls.addClassCleanup)
        cls.profile = cls.folder / "profile.json"
        words = ("--class", ",".join(CLASSES), "--grid", "1x2", "--profile", cls.profile)
        cls.tuning = run_until_physical(2, "tune", *words, "--keep-disturbed")

    def processor(self, path=None):
        """The one processor of a profile."""
        document = json.loads((path or self.profile).read_text())
        self.assertEqual(document["schema_version"], 1)
        (processor,) = document["processors"].values()
        return processor

    def write_changed(self, name, change):
        """A copy of the profile with a change of its document."""
        document = json.loads(self.profile.read_text())
        change(document)
        path = self.folder / name
        path.write_text(json.dumps(document))
        return path

    def tuning_of(self, *arguments, **options):
        configuration = self.document_of(2, "run", "--class", "S", "--grid", "1x2", *arguments, **options)["configuration"]
        return configuration["kernel"], configuration["tuning"]

    def test_the_table_and_the_profile_say_the_same(self):
        self.assertEqual(self.tuning.exit_code, SUCCESS, self.tuning)
        self.assertIn(f"Profile written to {self.profile}", self.tuning.stdout)
        processor = self.processor()
        self.assertEqual([(case["class"], case["n"]) for case in processor["cases"]], list(CLASSES.items()))
        kernels = names_listed("--list-kernels")
        for case in processor["cases"]:
            # What gains by the matrix's pattern is taken only where it is named.
            self.assertEqual({kernel["name"] for kernel in case["kernels"]}, kernels - {"blocks"})
            # The verdict's kernel is the first, and need not have the least median; the others are in the order of their times.
            times = [kernel["step_s"] for kernel in case["kernels"][1:]]
            self.assertEqual(times, sorted(times))
            for kernel in case["kernels"]:
                self.assertRegex(self.tuning.stdout, rf"(?m)^ {kernel['name']} +{1e6 * kernel['step_s']:.1f} ")

    def test_auto_takes_the_fastest_with_its_settings(self):
        fastest = self.processor()["cases"][0]["kernels"][0]
        kernel, tuning = self.tuning_of("--profile", self.profile)
        self.assertEqual(kernel, fastest["name"])
        self.assertEqual((tuning["kernel_by"], tuning["settings_by"]), ("profile", "profile"))
        self.assertEqual(tuning["profile"], str(self.profile))
        for setting in ("critical_vector_length", "prefetch_distance", "block_width"):
            self.assertEqual(tuning[setting], fastest[setting])

    def test_without_a_profile_the_built_in_rule_says_so_once(self):
        _, tuning = self.tuning_of("--no-profile")
        self.assertEqual((tuning["kernel_by"], tuning["settings_by"]), ("built-in rule", "built-in rule"))
        self.assertIn("--no-profile", tuning["no_profile_because"])
        outcome = self.run_well(2, "run", "--class", "S", "--verbose", "--no-profile")
        self.assertEqual(outcome.said().count("--no-profile"), 1, outcome)

    def test_the_profile_says_how_it_was_measured(self):
        processor = self.processor()
        for measured in (processor["measured"], *(case["measured"] for case in processor["cases"])):
            self.assertRegex(measured["date"], r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$")
            self.assertGreaterEqual(measured["attempts"], 1)
            self.assertLessEqual({"switches_per_s", "steal_share", "spread"}, set(measured))

    def warnings_with(self, change):
        """Warnings of a run about a profile whose cases were measured otherwise."""

        def change_all(document):
            for processor in document["processors"].values():
                for case in processor["cases"]:
                    change(case)

        document = self.document_of(2, "run", "--class", "S", "--grid", "1x2", "--profile", self.write_changed("remarks.json", change_all))
        return [warning for warning in document["warnings"] if "cg2d tune renews it" in warning]

    def test_a_run_says_that_its_profile_is_old_or_poor(self):
        def measured(**values):
            def change(case):
                case["measured"].pop("disturbance", None)
                case["measured"].update(values)

            return change

        (old,) = self.warnings_with(measured(date="2020-01-02T03:04:05Z"))
        self.assertRegex(old, r"the profile is measured 2020-01-02, \d+ days ago")
        (poor,) = self.warnings_with(measured(disturbance="a busy day"))
        self.assertIn("disturbed: a busy day", poor)
        self.assertEqual(self.warnings_with(measured()), [])
        # Profiles of earlier programs are read; nothing is known of them.
        self.assertEqual(self.warnings_with(lambda case: case.pop("measured")), [])

    def profile_of_two_classes(self, name):
        def add_w(document):
            (processor,) = document["processors"].values()
            processor["cases"] = [processor["cases"][0], {**processor["cases"][0], "class": "W", "n": 7000, "nonzer": 8}]

        return self.write_changed(name, add_w)

    def test_the_contents_are_listed(self):
        path = self.profile_of_two_classes("listed.json")
        text = self.run_well(1, "tune", "--list", "--profile", path).stdout
        (processor,) = json.loads(path.read_text())["processors"]
        self.assertIn(processor, text)
        for words in ("critical vector length", "S, grid 1x2, 1 thread: kernel", "W, grid 1x2, 1 thread: kernel"):
            self.assertRegex(text, words + r".*measured \d{4}-")

    def test_contents_are_removed(self):
        path = self.profile_of_two_classes("shrunk.json")
        self.assertIn("1 measurement of S removed", self.run_well(1, "tune", "--remove", "S", "--profile", path).stdout)
        self.assertEqual([case["class"] for case in self.processor(path)["cases"]], ["W"])
        before = path.read_text()
        self.assertIn("cg2d tune --list names them", self.ends_with(USAGE, run_program(2, "tune", "--remove", "Z80", "--profile", path)).stderr)
        self.assertEqual(path.read_text(), before)
        (name,) = json.loads(before)["processors"]
        self.run_well(1, "tune", "--remove", name, "--profile", path)
        self.assertEqual(json.loads(path.read_text())["processors"], {})
