"""cg2d batch: lists, results that survive the job, times, signals, and lists that are wrong."""

import fcntl
import json
import os
import pathlib
import re
import shutil
import signal
import time
from unittest import mock

from program_runner import (
    BAD_DATA, CANNOT_CREATE, CANNOT_WRITE, DEFECT, INTERRUPTED, SUCCESS, USAGE, VERIFICATION_FAILED, BackgroundRun, ProgramTest,
    run_program, start_program,
)  # fmt: skip

SHORT = "run --class S --no-profile --niter 1"
# Class S a thousand times and more: nobody waits for its end.
LONG = "run --class S --no-profile --repeat 100000"


class Batch(ProgramTest):
    def setUp(self):
        self.list = self.folder / "tasks.txt"
        self.results = self.folder / "tasks.results.jsonl"

    def write(self, *lines):
        self.list.write_text("".join(f"{line}\n" for line in lines))

    def lines(self):
        return [self.assert_valid(json.loads(line), "batch") for line in self.results.read_text().splitlines()]

    def tasks(self):
        tasks = {line["task"]["name"]: line["task"] for line in self.lines()}
        self.assertEqual(len(tasks), len(self.lines()), "a result is there twice")
        return tasks

    def batch(self, rank_count, *options, **keywords):
        return run_program(rank_count, "batch", self.list, *options, **keywords)


class Lists(Batch):
    def test_each_task_has_its_result(self):
        self.write(f"name=one {SHORT}", "# a comment", "", f"name='on two' ranks=2 {SHORT} --grid 2x1 --reference 8.5",
                   "name=none solve -- missing.mtx", "name=heat stencil --shape 8x8x8 --steps 4",
                   f"name=text {SHORT} --format text")  # fmt: skip
        outcome = self.ends_with(VERIFICATION_FAILED, self.batch(3))
        lines = {line["task"]["name"]: line for line in self.lines()}
        self.assertEqual(set(lines), {"one", "on two", "none", "heat", "text"})
        self.assertEqual(lines["one"]["result"]["result"]["verified"], None)
        self.assertEqual(lines["one"]["task"]["exit_code"], SUCCESS)
        self.assertEqual(len(lines["one"]["task"]["ranks"]), 1)
        self.assertNotIn(0, lines["one"]["task"]["ranks"])
        self.assertEqual(lines["on two"]["task"]["ranks"], [1, 2])
        self.assertEqual(lines["on two"]["result"]["configuration"]["grid"]["columns"], 2)
        self.assertEqual(lines["on two"]["task"]["status"], "verification-failed")
        self.assertEqual(lines["none"]["task"]["exit_code"], BAD_DATA)
        self.assertIn("missing.mtx", lines["none"]["task"]["reason"])
        self.assertEqual(lines["heat"]["result"]["shape"], [8, 8, 8])
        self.assertIsNone(lines["text"]["result"])
        self.assertIn("CG2D", lines["text"]["output"].upper())
        self.assertRegex(outcome.stdout, r"(?m)^ 5 tasks in [0-9.e+-]+ s on 2 ranks$")
        self.assertRegex(outcome.stdout, r"(?m)^ none: missing.mtx: .* \(code 65\)$")

    def test_one_rank_does_them_itself(self):
        self.write(f"\N{ZERO WIDTH NO-BREAK SPACE}name=a {SHORT}", f"name=b {SHORT}")  # a byte order mark
        for rank_count in (0, 1):
            self.ends_with(SUCCESS, self.batch(rank_count, "--fresh"))
            self.assertEqual({name: task["ranks"] for name, task in self.tasks().items()}, {"a": [0], "b": [0]})

    def test_the_same_command_goes_on(self):
        self.write(*(f"name={name} {SHORT}" for name in "abc"))
        self.ends_with(SUCCESS, self.batch(2))
        first = self.results.read_bytes()
        self.assertIn("; 3 had results before", self.ends_with(SUCCESS, self.batch(2)).stdout)
        self.assertEqual(self.results.read_bytes(), first)
        # A killed writer leaves a part of a line.
        lines = first.splitlines(keepends=True)
        self.results.write_bytes(lines[0] + lines[1] + lines[2][:40])
        self.ends_with(SUCCESS, self.batch(2))
        self.assertEqual(self.results.read_bytes().splitlines(keepends=True)[:2], lines[:2])
        self.assertEqual({task["sitting"] for task in self.tasks().values()}, {1, 2})
        self.write(*(f"name={name} {SHORT}" for name in "abc"), f"name=bad {SHORT} --reference 3")
        self.assertEqual([self.batch(2).exit_code for _ in range(2)], [VERIFICATION_FAILED] * 2)
        self.write(f"name=a {SHORT} --kernel scalar")
        self.assert_refused(self.batch(2), USAGE, f'{self.list}:1: "a" has a result of another command in {self.results}')

    def test_wrong_lists_begin_nothing(self):
        (self.folder / "link").symlink_to("x")
        for line, code, message in (
            ("run --class S --grud 2x2", USAGE, "--grud"),
            ("sweep --class S", USAGE, "sweep --class S: is no task; a task is one of run, solve, check, stencil"),
            (f"{SHORT} --output x.json\nname=b {SHORT} --output x.json", USAGE, "--output x.json: written by the task of"),
            ("stencil --help", USAGE, "stencil --help: is no task; a task is one of"),
            (f"{SHORT} --output {self.folder}/x\nname=b {SHORT} --trace {self.folder}/link", USAGE, "written by the task of"),
            (f"{SHORT} --output {self.folder}/x --trace {self.folder}/./x", USAGE, "--output and --trace name the same file"),
            (f"{SHORT} --output {self.folder}/./tasks.txt", USAGE, "the list of tasks, too"),
            (f"{SHORT} --trace {self.folder}/./tasks.results.jsonl", USAGE, "the file of results, too"),
            (f"{SHORT} --trace {self.results}.under-way", USAGE, "the file of tasks under way, too"),
        ):
            with self.subTest(line=line):
                self.write(line)
                number = 1 + line.count("\n")
                self.assert_refused(self.batch(3), code, f"{self.list}:{number}: ", message)
                self.assertFalse(self.results.exists())
        self.list.unlink()
        self.assert_refused(self.batch(3), USAGE, f"{self.list}: no such file")
        self.assert_refused(run_program(0, "batch", self.folder), USAGE, f"{self.folder}: it cannot be read (Is a directory)")
        self.assert_refused(run_program(0, "batch", "/dev/stdin"), USAGE, "--output: /dev/stdin is no place for the results")
        under_way = self.file("list.under-way", SHORT)
        self.assert_refused(run_program(0, "batch", under_way, "--output", self.folder / "list"), USAGE, "the list of tasks, too")
        self.write(SHORT)
        self.results.write_text('{"schema_version": 3}\n')
        self.assert_refused(self.batch(3), USAGE, "line 1 is no result of a task")
        self.assertEqual(self.results.read_text(), '{"schema_version": 3}\n')
        self.assertFalse(pathlib.Path(f"{self.results}.under-way").exists())
        for option, value in (("--task-time", "-1"), ("--task-time", "0"), ("--ranks-per-task", "0")):
            self.assert_refused(self.batch(3, option, value), USAGE, option)
        self.assert_refused(self.batch(3, "--output", self.folder / "no" / "r"), CANNOT_CREATE, "no/r")
        # What --fresh does not help.
        self.assert_refused(self.batch(3, "--output", "/dev/full", "--fresh"), USAGE, "/dev/full: it is no regular file; name another one")
        with self.results.open() as other:
            fcntl.flock(other, fcntl.LOCK_EX)
            self.assert_refused(self.batch(3), USAGE, f"{self.results}: another batch is writing it; wait for its end, or name another file")


class Times(Batch):
    def test_times_beside_other_tasks_are_not_compared(self):
        self.write(f"name=a {SHORT}", f"name=b {SHORT}")
        for options, is_beside in (((), True), (("--exclusive",), False)):
            self.ends_with(SUCCESS, self.batch(3, "--fresh", *options))
            for line in self.lines():
                self.assertIs(line["task"]["beside_other_tasks"], is_beside)
                self.assertIs(line["result"]["environment"]["beside_other_tasks"], is_beside)
            said = run_program(1, "compare", self.results, self.results)
            self.assertEqual("no configuration is in both" in said.stderr, is_beside, said)
            self.assertEqual("1 common configuration" in said.stdout, not is_beside, said)

    def test_a_task_over_its_time_is_stopped_and_the_others_go_on(self):
        self.write(f"name=long ranks=2 {LONG}", f"name=short {SHORT}")
        outcome = self.ends_with(INTERRUPTED, self.batch(3, "--task-time", "0.5"))
        tasks = self.tasks()
        self.assertEqual(tasks["long"]["exit_code"], INTERRUPTED)
        self.assertIn("stopped at its time limit after ", tasks["long"]["reason"])
        self.assertRegex(tasks["long"]["messages"][-1], "stopped at its time limit after ")
        self.assertEqual(outcome.error_lines(), [])  # no signal was sent
        self.assertEqual(tasks["short"]["exit_code"], SUCCESS, outcome)


class Attacks(Batch):
    def test_results_that_go_away_while_tasks_run(self):
        """Written anew, or elsewhere with code 74: no task that has ended loses its result."""
        self.write(f"name=a {SHORT}", f"name=b {SHORT} --repeat 300", f"name=c {SHORT}")
        home = self.folder / "home"
        self.results = home / "r.jsonl"

        def replace():
            self.results.unlink()
            self.results.write_text("a text of somebody else\n")

        for attack, code in ((lambda: self.results.unlink(), SUCCESS), (replace, CANNOT_WRITE), (lambda: shutil.rmtree(home), CANNOT_WRITE)):
            home.mkdir(exist_ok=True)
            with mock.patch.dict(os.environ, TMPDIR=str(self.folder)), BackgroundRun(2, "batch", self.list, "--output", self.results, "--fresh") as batch:
                batch.wait_for("1 of 3 tasks done, 1 under way")
                attack()
                outcome = self.ends_with(code, batch.finish())
            if code == SUCCESS:
                self.assertEqual(set(self.tasks()), {"a", "b", "c"})
                continue
            self.results = pathlib.Path(re.search(r"; all lines are in (\S+)", outcome.stderr)[1])
            self.assertEqual(set(self.tasks()) | {"c"}, {"a", "b", "c"})
            self.results = home / "r.jsonl"
            if home.exists():
                self.assertEqual(self.results.read_text(), "a text of somebody else\n")


class Ends(Batch):
    def test_a_signal_loses_only_what_was_under_way(self):
        self.write(f"name=short {SHORT}", f"name=long {LONG}", f"name=wide ranks=2 {SHORT}")
        with BackgroundRun(3, "batch", self.list) as batch:
            batch.wait_for(r"2 of 3 tasks done, 1 under way")
            os.kill(batch.launcher, signal.SIGTERM)
            outcome = self.ends_with(INTERRUPTED, batch.finish())
        self.assertIn("the same command goes on", outcome.stderr)
        self.assertEqual(set(self.tasks()), {"short", "wide"})
        self.assertEqual([path.name for path in self.folder.iterdir() if path.suffix == ".under-way"], [])

    def test_a_signal_to_a_rank_ends_its_task_alone(self):
        self.write(f"name=long {LONG}", f"name=short {SHORT}")
        with BackgroundRun(2, "batch", self.list) as batch:
            batch.wait_for(r"0 of 2 tasks done, 1 under way")
            time.sleep(0.5)
            # The scheduler sleeps nearly always.
            busy = max(batch.ranks(), key=lambda rank: sum(map(int, pathlib.Path(f"/proc/{rank}/stat").read_text().split()[13:15])))
            os.kill(busy, signal.SIGTERM)
            outcome = batch.finish()
        tasks = self.tasks()
        self.assertEqual((tasks["long"]["exit_code"], tasks["short"]["exit_code"]), (INTERRUPTED, SUCCESS), outcome)

    def test_a_task_that_ends_the_job_is_not_tried_for_ever(self):
        self.write(f"name=long {LONG}", f"name=short ranks=2 {SHORT}")
        for _ in range(3):
            with BackgroundRun(3, "batch", self.list) as batch:
                batch.wait_for(r"1 of 2 tasks done, 1 under way")
                os.kill(batch.ranks()[0], signal.SIGKILL)
                self.assertNotEqual(batch.finish().exit_code, SUCCESS)
            self.assertEqual(set(self.tasks()), {"short"})
        outcome = self.ends_with(DEFECT, start_program(3, "batch", self.list))
        self.assertIn("the job has ended 3 times while it was under way", self.tasks()["long"]["reason"], outcome)
