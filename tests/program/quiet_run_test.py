"""Runs beside other work on the same core, and alone: the mark of a disturbed run wherever there is one."""

import contextlib
import csv
import json
import os
import re
import socket
import subprocess
import sys

from program_runner import PROGRAM, SUCCESS, ProgramTest, launch_words, run_command

# About half a second alone, so that the scheduler lets the other process run in between for sure.
PROBLEM = ("--n", "1400", "--nonzer", "7", "--shift", "10", "--niter", "200")


@contextlib.contextmanager
def busy_process(core):
    """Another process that computes on that core as long as the context."""
    command = ["taskset", "-c", str(core), sys.executable, "-c", "print('busy', flush=True)\nwhile True: pass"]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        try:
            process.stdout.readline()  # from now on it computes
            yield
        finally:
            process.kill()


class QuietTest(ProgramTest):
    def setUp(self):
        self.core = max(os.sched_getaffinity(0))

    def bound(self, rank_count, *arguments, **options):
        """A run that may use that one core only."""
        command = ["taskset", "-c", self.core, *launch_words(rank_count), PROGRAM, *arguments]
        return self.ends_with(SUCCESS, run_command(command, **options))


class Disturbed(QuietTest):
    def test_a_run_beside_a_busy_process_on_its_core(self):
        with busy_process(self.core):
            document = self.assert_valid(self.bound(1, "run", *PROBLEM, "--repeat", "2", "--format", "json").document())
            text = self.bound(1, "run", *PROBLEM, "--verbose").stdout
            table = self.bound(1, "run", *PROBLEM, "--format", "csv").stdout.splitlines()
        quiet = document["quiet"]
        self.assertIs(quiet["disturbed"], True)
        self.assertRegex(quiet["reason"], r"^[12] of 2 repetitions, the first of them: .*\S")
        self.assertEqual(len(quiet["repeats"]), 2)
        # The verdict is not the only trace: the figures of the threads are there, too, where the kernel counts them.
        for repeat in quiet["repeats"]:
            self.assertTrue(repeat["delay_share"] is None or repeat["delay_share"] > 0.02, repeat)
            self.assertGreater(repeat["involuntary_switches"]["maximum"], 0)
        self.assertEqual(len(re.findall(r"(?m)^ Warning: disturbed, so repeat it on a quiet machine: .*$", text)), 1)
        self.assertRegex(text, r"(?m)^ Quiet +no: timing unreliable: the machine was busy \(see the warning below\)$")
        self.assertRegex(text, r"(?m)^ Speed spread +=( )[\d.]+ %$")
        self.assertEqual(dict(zip(table[0].split(","), table[1].split(",")))["disturbed"], "yes")

    def test_a_sweep_repeats_it_and_keeps_every_attempt(self):
        file = self.folder / "sweep.jsonl"
        words = ("sweep", *PROBLEM, "--repeat", "2", "--output", file)
        with busy_process(self.core):
            outcome = self.bound(1, *words, "--retries", "1")
            lines = [self.assert_valid(json.loads(line)) for line in file.read_text().splitlines()]
            # The repetition of a round comes before the next round.
            self.assertEqual([(line["sweep"]["round"], line["sweep"]["attempt"]) for line in lines], [(1, 1), (1, 2), (2, 1), (2, 2)])
            self.assertEqual([line["quiet"]["disturbed"] for line in lines], [True] * 4)
            self.assertRegex(outcome.stdout, r"(?m)^  Disturbed \(!\): 1x1, 2 of 2 runs; 2 more were repeated, in round 1: ")
            self.assertRegex(outcome.stdout, r"(?m)^ +1 +[0-9.e-]+o! *\d+%$")
            self.assertRegex(outcome.stdout, r"(?m)^! something else worked on the machine")
            # All attempts have been made; more are made where they are asked for.
            self.bound(1, *words, "--retries", "1")
            self.assertEqual(len(file.read_text().splitlines()), 4)
            self.bound(1, *words, "--retries", "2")
        lines = [json.loads(line)["sweep"] for line in file.read_text().splitlines()[4:]]
        self.assertEqual([(line["round"], line["attempt"]) for line in lines], [(1, 3), (2, 3)])
        exported = csv.DictReader(self.bound(0, "export", file).stdout.splitlines())
        self.assertEqual([line["disturbed"] for line in exported], ["yes"] * 6)

    def test_a_trial_of_transports_is_not_kept(self):
        profile = self.folder / "profile.json"
        words = ("run", *PROBLEM, "--grid", "1x1", "--transport", "auto", "--profile", profile, "--format", "json")
        with busy_process(self.core):
            refused = self.bound(1, *words).document()
            self.assertFalse(profile.exists())
            kept = self.bound(1, *words, "--keep-disturbed").document()
        trial = refused["configuration"]["transport_trial"]
        self.assertIsNone(trial["kept_in"])
        self.assertRegex(trial["not_kept_because"], r"^measured 3 times, and refused: .*--keep-disturbed$")
        self.assertIn("the trial of transports is not kept: " + trial["not_kept_because"], refused["warnings"])
        self.assertEqual(kept["configuration"]["transport_trial"]["kept_in"], str(profile))
        (processor,) = json.loads(profile.read_text())["processors"].values()
        self.assertIn("disturbance", processor["transports"][0]["measured"])


class Alone(QuietTest):
    def test_ranks_that_share_a_core_do_not_disturb_themselves(self):
        """Other work on this machine may, so only the reasons are judged that ranks could give to each other."""
        document = self.assert_valid(self.bound(3, "run", *PROBLEM, "--format", "json").document())
        self.assertIs(document["environment"]["oversubscribed"], True)
        (repeat,) = document["quiet"]["repeats"]
        for reason in repeat["reasons"]:
            self.assertRegex(reason, r"^(other processes kept|the hypervisor took) ")


class Origin(QuietTest):
    def test_what_a_result_says_about_its_origin(self):
        environment = {**os.environ, "OMP_DYNAMIC": "false", "UCX_LOG_FILE": f"{socket.gethostname()}.log", "SECRET": "1"}
        command = [*launch_words(2), PROGRAM, "run", "--class", "S", "--format", "json"]
        document = self.assert_valid(run_command(command, env=environment, cwd=self.folder).document())
        provenance = document["provenance"]
        self.assertEqual(provenance["command"], [PROGRAM, "run", "--class", "S", "--format", "json"])
        self.assertEqual(provenance["variables"]["OMP_DYNAMIC"], "false")
        self.assertNotIn("SECRET", provenance["variables"])
        self.assertIn(os.uname().release, provenance["kernel"])
        for node in document["environment"]["nodes"]:
            self.assertEqual(len(node["load_average"] or [0, 0, 0]), 3)

    def test_hosts_have_names_only_where_they_are_asked_for(self):
        name = socket.gethostname()
        environment = {**os.environ, "UCX_LOG_FILE": name}
        file = self.folder / "sweep.jsonl"

        def names_of(*words):
            """The name of the node, and the variables."""
            text = run_command([*launch_words(2), PROGRAM, *words], env=environment, cwd=self.folder).stdout
            document = json.loads(file.read_text().splitlines()[0] if words[0] == "sweep" else text)
            (node,) = (document.get("environment") or document["machine"])["nodes"]
            return node["name"], document["provenance"]["variables"]

        for words in (
            ("run", "--class", "S", "--format", "json"),
            ("sweep", "--class", "S", "--repeat", "1", "--retries", "0", "--fresh", "--output", file),
            ("scaling", "--class", "S", "--cores", "1", "--rounds", "1", "--format", "json"),
        ):
            with self.subTest(command=words[0]):
                hidden, variables = names_of(*words)
                self.assertEqual((hidden, variables.get("UCX_LOG_FILE")), ("node 0", None))
                # The launcher's variables hold it, too, and are left out. (The command line is what the user has written.)
                self.assertNotIn(name, variables.values())
                shown, variables = names_of(*words, "--hostname")
                self.assertEqual((shown, variables["UCX_LOG_FILE"]), (name, name))
