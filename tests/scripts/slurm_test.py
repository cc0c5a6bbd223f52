"""Batch scripts that queue themselves again, with a stand-in for scontrol, and a signal where Slurm would send one: each job goes on where the
one before ended, and the last one has the result of one that was never interrupted."""

import json
import os
import signal
import subprocess

from program_runner import (
    HANG_S, INTERRUPTED, PROGRAM, PROJECT, SUCCESS, USAGE, ProgramTest, comes_true, executable, kill_all, launch_words,
    program_processes, run_command, start,
)  # fmt: skip

FIXED = ("--kernel", "scalar", "--no-profile", "--bind", "none")


class SlurmTest(ProgramTest):
    def setUp(self):
        tools = self.folder / "tools"
        tools.mkdir()
        self.requeued = self.folder / "requeued"
        self.stand_in(tools / "scontrol", f'echo "$@" >>{self.requeued}')
        self.environment = {
            **os.environ,
            "PATH": f"{tools}:{os.environ['PATH']}",
            "SLURM_JOB_ID": "17",
            "SLURM_NTASKS": "2",
            "CG2D": PROGRAM,
            "CG2D_LAUNCHER": " ".join(launch_words(2)),
        }

    @staticmethod
    def stand_in(path, line):
        executable(path, f"#!/bin/sh\n{line}\n")

    def job(self, *arguments, when=None):
        """One start of the script, which gets SIGTERM when `when` says so. Returns whether it has queued itself again."""
        self.requeued.unlink(missing_ok=True)
        command = ["bash", str(PROJECT / "scripts" / "run.slurm"), *arguments]
        with (self.folder / "output").open("w") as stdout:
            process = start(command, cwd=self.folder, env=self.environment, stdout=stdout)
            try:
                if when:
                    comes_true(lambda: process.poll() is not None or when())
                    process.send_signal(signal.SIGTERM)
                self.stderr = process.communicate(timeout=HANG_S)[1]
            except subprocess.TimeoutExpired:
                kill_all(process)
                raise AssertionError(f"hangs: {command}") from None
        self.code = process.returncode
        self.assertEqual(program_processes(process.pid), [])
        if not self.requeued.exists():
            return False
        self.assertEqual(self.requeued.read_text(), "requeue 17\n")
        return True


class Run(SlurmTest):
    def jobs(self, *arguments):
        """The number of jobs until one is not queued again. The first two are interrupted when they have saved something new, unless
        they end before."""
        state = self.folder / "cg2d-state-17"
        for number in range(1, 10):
            before = set(state.iterdir()) if state.exists() else set()

            def has_saved(before=before):
                return state.exists() and len(set(state.iterdir()) - before) >= 2

            if not self.job(*arguments, "--checkpoint-interval", "0s", when=has_saved if number <= 2 else None):
                self.assertEqual(self.code, SUCCESS, self.stderr)
                return number
        raise AssertionError("no end")

    def test_a_run_goes_on_to_its_end(self):
        arguments = ("run", "--class", "S", "--niter", "200", *FIXED, "--grid", "1x2", "--format", "json", "--output", "run.json")
        self.assertGreaterEqual(self.jobs(*arguments), 2)
        document = json.loads((self.folder / "run.json").read_text())
        self.assertGreater(document["restart"]["earlier_outer_iterations"], 0)
        self.ends_with(SUCCESS, run_command([*launch_words(2), PROGRAM, *arguments], cwd=self.folder))
        self.assertEqual(json.loads((self.folder / "run.json").read_text())["outer_steps"], document["outer_steps"])

    def test_a_solve_goes_on_to_its_end(self):
        system = ("--operator", "laplace2d:250x250", "--assembled", "--rtol", "1e-10")
        arguments = ("solve", *system, *FIXED, "--grid", "1x2", "-o", "x.mtx")
        self.assertGreaterEqual(self.jobs(*arguments), 2)
        x = (self.folder / "x.mtx").read_bytes()
        self.ends_with(SUCCESS, run_command([*launch_words(2), PROGRAM, *arguments], cwd=self.folder))
        self.assertEqual((self.folder / "x.mtx").read_bytes(), x)

    def test_a_job_that_saves_nothing_is_not_queued_again(self):
        program = self.folder / "program"
        self.stand_in(program, f"exit {INTERRUPTED}")
        self.environment.update(CG2D=str(program), CG2D_LAUNCHER="env")
        self.assertFalse(self.job("run", "--class", "S"))
        self.assertEqual(self.code, INTERRUPTED)
        self.assertIn("nothing was saved", self.stderr)
        self.stand_in(program, f"mkdir cg2d-state-17; echo $* >cg2d-state-17/arguments; exit {INTERRUPTED}")
        self.assertTrue(self.job("run", "--class", "S"))
        words = (self.folder / "cg2d-state-17" / "arguments").read_text()
        self.assertEqual(words, "run --class S --progress --checkpoint cg2d-state-17 --restart cg2d-state-17\n")

    def test_a_failure_is_not_queued_again(self):
        self.assertFalse(self.job("run", "--class", "Q"))
        self.assertEqual(self.code, USAGE)
        self.assertFalse(self.job("tune"))
        self.assertEqual(self.code, USAGE)
        self.assertEqual(len(self.stderr.splitlines()), 1)

    def test_binding_follows_the_threads_of_the_allocation(self):
        """ec815b87: each rank is bound to one core, which its threads share; srun since 22.05 gives one."""
        words = self.folder / "words"
        for name in ("mpiexec", "srun"):
            self.stand_in(self.folder / "tools" / name, f'echo "$(basename "$0") $*" >{words}')
        for command in ("run", "sweep"):
            for launcher, cpus, expected in (
                ("", "1", "mpiexec -n 2 -bind-to core "),
                ("", "4", "mpiexec -n 2 -bind-to none "),
                ("srun --mpi=pmi2", "4", "srun --mpi=pmi2 --cpus-per-task=4 "),
            ):
                with self.subTest(command=command, launcher=launcher, cpus=cpus):
                    self.environment.update(CG2D_LAUNCHER=launcher, SLURM_CPUS_PER_TASK=cpus)
                    self.assertFalse(self.job(command, "--class", "S"))
                    self.assertEqual(self.code, SUCCESS, self.stderr)
                    self.assertTrue(words.read_text().startswith(f"{expected}{PROGRAM} {command} "), words.read_text())


class Sweep(SlurmTest):
    def test_a_sweep_goes_on_to_its_end(self):
        file = self.folder / "cg2d-sweep.jsonl"

        def lines():
            return file.read_text().count("\n") if file.exists() else 0

        arguments = ("--class", "S", "--repeat", "5", "--retries", "0", *FIXED)
        for number in range(1, 10):
            before = lines()
            if not self.job("sweep", *arguments, when=(lambda: lines() >= before + 2) if number <= 2 else None):
                break
            self.assertGreater(lines(), before)
        self.assertGreaterEqual(number, 2)
        self.assertEqual(self.code, SUCCESS, self.stderr)
        documents = [json.loads(line) for line in file.read_text().splitlines()]
        places = sorted((document["configuration"]["grid"]["name"], document["sweep"]["round"]) for document in documents)
        self.assertEqual(places, sorted((grid, number) for grid in ("1x2", "2x1") for number in range(1, 6)))
