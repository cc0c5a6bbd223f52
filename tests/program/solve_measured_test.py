"""Measurements of cg2d solve, by the code of cg2d run: counters, limits and time lines of every form of CG, preconditioner
and operator; signals while it iterates; progress; memory that is checked before a matrix is made."""

import collections
import json
import os
import signal
import time

from program_runner import (
    INTERRUPTED, INTERRUPTED_AT_ONCE, PHASES, SUCCESS, THOROUGH, BackgroundRun, ProgramTest, run_program, some_of,
)

VARIANTS = ("classic", "chronopoulos-gear", "pipelined")
STENCIL = ("--operator", "laplace3d:12x11x10")
ASSEMBLED = (*STENCIL, "--assembled", "--grid", "rule", "--kernel", "csr-simd")
SEVERAL = (*ASSEMBLED, "--rhs", "random:1", "--rhs-count", "5")  # at once; products are with 8
FACTORED = ("--operator", "npb-factored:S")
STENCIL_PHASES = ["halo", "interior", "boundary", "dot", "vector_updates"]


class Measured(ProgramTest):
    def report_of(self, rank_count, *arguments, code=SUCCESS):
        begin_s = time.monotonic()
        document = self.ends_with(code, run_program(rank_count, "solve", *arguments, "--format", "json")).document()
        self.assertLess(document["result"]["time_s"], time.monotonic() - begin_s, "a part of the command's time")
        return self.assert_valid(document, "solve")


class Traces(Measured):
    def bars(self, *arguments, steps=1000):
        """The report, and the document of the trace."""
        path = self.folder / "trace.json"
        return self.report_of(2, *arguments, "--trace", path, "--trace-steps", steps), json.loads(path.read_text())

    def test_a_trace_has_every_phase_of_every_rank(self):
        """As many bars as calls that were timed: an event without room would be missing."""
        systems = (
            [(STENCIL, name) for name in ("none", "jacobi", "chebyshev")]
            + [(ASSEMBLED, name) for name in ("none", "jacobi", "block-jacobi", "chebyshev")]
            + [((*ASSEMBLED, "--overlap", "on"), "chebyshev"), (FACTORED, "none"), (FACTORED, "chebyshev")]
        )
        several = [(SEVERAL, name) for name in ("none", "jacobi", "chebyshev")]
        for number, (system, preconditioner) in enumerate(systems + several):
            variants = VARIANTS if THOROUGH else (VARIANTS[number % 3],)
            for variant in variants if system != SEVERAL else VARIANTS[:1]:
                with self.subTest(system=system, preconditioner=preconditioner, variant=variant):
                    report, trace = self.bars(*system, "--preconditioner", preconditioner, "--variant", variant)
                    self.assertNotIn("no room", "".join(report["warnings"]))
                    for rank in report["phases"]["ranks"]:
                        counted = collections.Counter(
                            event["name"] for event in trace["traceEvents"]
                            if event["ph"] == "X" and event["tid"] == rank["rank"] and event["cat"] == "phase"
                        )
                        calls = {name: phase["calls"] for name, phase in rank["phases"].items() if phase["calls"]}
                        self.assertEqual(dict(counted), calls)
                    steps = [event for event in trace["traceEvents"] if event.get("cat") == "cg_step"]
                    self.assertGreaterEqual(len(steps), 2 * report["result"]["iterations"])
                    self.assertEqual([event["name"] for event in trace["traceEvents"] if event.get("cat") == "solve"], 2 * ["solve"])

    def test_a_trace_ends_after_its_steps_and_says_what_it_is_of(self):
        _, trace = self.bars(*STENCIL, "--variant", "pipelined", steps=5)
        steps = [event["name"] for event in trace["traceEvents"] if event.get("cat") == "cg_step" and event["tid"] == 1]
        self.assertEqual(steps, [f"CG step {k}" for k in range(1, 6)])
        about = trace["otherData"]
        self.assertEqual((about["matrix"], about["variant"]), (STENCIL[1], "pipelined"))
        self.assertRegex(about["grid"], r"^domain \dx\dx\d$")


class Counters(Measured):
    def test_events_of_every_phase(self):
        for system, phases in (
            (STENCIL, STENCIL_PHASES), *((system, list(PHASES)) for system in (ASSEMBLED, SEVERAL, FACTORED)),
        ):
            with self.subTest(system=system):
                counters = self.report_of(2, *system, "--papi", "software")["counters"]
                self.assertEqual(counters["asked"], ["software"])
                clock = next(event for event in counters["events"] if event["name"] == "perf::TASK-CLOCK")
                for phase in phases:
                    self.assertIn(phase, clock["phases"])
                total = sum(phase["total"] for phase in clock["phases"].values())
                self.assert_close(total + clock["outside_phases"], clock["total"], 1e-9)
                self.assertGreater(clock["coverage"], 0.5)  # most of a solve is in its phases, however short they are
                text = self.run_well(2, "solve", *system, "--papi", "software").stdout
                header = next(line for line in text.splitlines() if line.startswith(" event "))
                self.assertEqual(header.split()[1:1 + len(phases)], phases)


class Limits(Measured):
    def test_a_stencil_moves_16_bytes_for_each_point_and_product(self):
        report = self.report_of(2, *STENCIL, "--roofline", "--domain", "1x1x2")
        if report["roofline"] is None:
            self.assertIn("--roofline: not measured", "".join(report["warnings"]))
            return
        shares = report["roofline"]["phases"]
        products = report["phases"]["ranks"][0]["phases"]["interior"]["calls"]
        points = 12 * 11 * 10 / 2  # of a rank, in the mean
        flops = 7 + 2  # of the stencil, and of p . q, which is summed by the way: the domain is not cut along x
        self.assert_close(shares["interior"]["bytes"] + shares["boundary"]["bytes"], 16 * points * products, 1e-12)
        self.assert_close(shares["interior"]["flops"] + shares["boundary"]["flops"], flops * points * products, 1e-12)
        self.assertEqual(shares["multiply"]["bytes"], 0)
        text = self.run_well(2, "solve", *STENCIL, "--roofline").stdout
        self.assertIn("over the vectors", text)
        self.assertNotIn("over the matrices", text)

    def test_a_product_moves_its_matrix(self):
        for system, vectors in ((ASSEMBLED, 1), (SEVERAL, 8)):
            with self.subTest(vectors=vectors):
                report = self.report_of(1, *system, "--preconditioner", "chebyshev", "--roofline")
                multiply = report["roofline"]["phases"]["multiply"]
                products = report["phases"]["ranks"][0]["phases"]["summation"]["calls"]
                setup = report["setup"]
                self.assert_close(multiply["flops"], 2 * setup["nonzero_count"] * vectors * products, 1e-12)
                least = setup["ranks"][0]["block_bytes"] + 16 * setup["n"] * vectors
                self.assert_close(multiply["bytes"], least * products, 1e-12)


class Signals(Measured):
    """A solve of more than a minute: thousands of iterations, and a solution that is written in a second."""

    ENDLESS = ("--operator", "laplace2d:2000x2000", "--rtol", "1e-14", "--max-iterations", "1000000")
    LARGE = ("--operator", "laplace3d:400x400x150", "--assembled")

    def interrupt(self, rank_count, send, *arguments, at=r"iteration \d+: residual"):
        with BackgroundRun(rank_count, "solve", *arguments) as run:
            run.wait_for(at)
            send(run)
            return run.finish()

    def test_a_signal_to_one_rank_ends_all_after_the_same_iteration(self):
        """Report, solution and trace are whole."""
        for rank_count, number in some_of(((2, signal.SIGTERM), (3, signal.SIGINT)), 2):
            with self.subTest(ranks=rank_count, signal=number.name):
                names = ("result", "x.mtx", "trace")
                result, x, trace = (self.folder / name for name in names)

                words = (*self.ENDLESS, "--format", "json", "--output", result, "-o", x, "--trace", trace)
                outcome = self.ends_with(INTERRUPTED, self.interrupt(rank_count, lambda run, number=number: os.kill(run.ranks()[-1], number), *words))
                document = self.assert_valid(json.loads(result.read_text()), "solve")
                self.assertEqual((document["status"], document["result"]["end"]), ("interrupted", "stopped"))
                self.assertRegex(document["reason"], r"^interrupted by a signal after \d+ iteration")
                self.assertIn("cg2d: " + document["reason"], outcome.stderr)
                self.assertEqual(len(document["result"]["history"]), document["result"]["iterations"] + 1)
                json.loads(trace.read_text())
                self.assertEqual(sorted(path.name for path in self.folder.iterdir()), sorted(names))
                with x.open() as file:
                    self.assertEqual(sum(1 for line in file if not line.startswith("%")), 2000 * 2000 + 1)

    def test_a_signal_before_the_first_iteration_leaves_no_file(self):
        words = (*self.LARGE, "-o", self.folder / "x", "--output", self.folder / "r")
        outcome = self.interrupt(2, lambda run: run.send(signal.SIGTERM), *words, at="generating")
        self.assertIn(outcome.exit_code, INTERRUPTED_AT_ONCE, outcome)
        self.assertIn("interrupted by a signal before there was a result", outcome.stderr)
        self.assertNotIn("Abort", outcome.stderr)
        self.assertEqual(list(self.folder.iterdir()), [])
