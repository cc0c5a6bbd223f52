"""JSON reports about real runs, checked against the schema, the plan, and the benchmark's facts."""

import copy
import json
import os
import signal
import statistics

from program_runner import (
    CLASS_S_NONZEROS, CLASS_S_ZETA, PHASES, PROGRAM, SUCCESS, BackgroundRun, ProgramTest, launch_words, listed_kernels, run_command,
    validator_of,
)  # fmt: skip

# One outer iteration: 25 CG steps of one product and two dot products; before them rho; after them one more product and
# the residual norm; at last one sum of three numbers (x . z, z . z, request to stop).
PRODUCTS = 26


def scalar_sum_messages(rank_count):
    """Messages of all ranks in one sum of numbers: pairwise exchange among the largest power of two of them; each rank
    beyond it sends its number in, and gets the sum."""
    core = 1 << (rank_count.bit_length() - 1)
    return core * (core.bit_length() - 1) + 2 * (rank_count - core)


class Schema(ProgramTest):
    """Every way to end writes a document of the schema, and the schema is strict."""

    def ending(self, exit_code, *arguments):
        document = self.valid_document_of(2, "run", *arguments, code=exit_code)
        self.assertEqual(document["exit_code"], exit_code)
        return document

    def test_every_end(self):
        user = ("--n", "50", "--nonzer", "3", "--niter", "2", "--shift", "5")
        for code, status, *arguments in (
            (0, "success", *user),
            (0, "success", "--class", "S", "--repeat", "2", "--threads", "2", "--sum", "whole-block"),
            (64, "usage-error", "--class", "S", "--grid", "3x3"),
            (71, "not-enough-memory", "--class", "W", "--memory-limit", "1MB"),
            (73, "cannot-create-output", "--class", "S", "--export-mtx", "/nonexistent-folder/matrix"),
            (74, "cannot-write-output", "--class", "S", "--export-mtx", "/dev/full"),
            (82, "verification-failed", "--class", "S", "--reference", "9"),
            (84, "not-finite", "--n", "100", "--nonzer", "5", "--niter", "3", "--shift", "1e308"),
        ):
            with self.subTest(arguments=arguments):
                document = self.ending(code, *arguments)
                self.assertEqual(document["status"], status)
        self.assertEqual([step["zeta"] for step in document["outer_steps"]], [None])

    def test_plan(self):
        self.assertEqual(self.ending(0, "--class", "S", "--dry-run")["status"], "planned")
        plan = self.ending(0, "--class", "E", "--dry-run", "--ranks", "12", "--grid", "4x3")["plan"]
        self.assertEqual(plan["grid"], {"name": "4x3", "columns": 4, "rows": 3})
        self.assertIsNone(plan["fits"])

    def test_interrupted(self):
        for arguments, line in (
            (["--niter", "1000000"], r"iteration [3-9]/"),
            (["--niter", "15", "--repeat", "1000000"], r"run 2, outer iteration"),
        ):
            with self.subTest(arguments=arguments):
                file = self.folder / "result.json"
                file.unlink(missing_ok=True)
                fixed = ("run", "--class", "W", "--format", "json", "--output", file)
                with BackgroundRun(2, *fixed, *arguments) as run:
                    run.wait_for(line)
                    run.send(signal.SIGTERM)
                    self.assertEqual(run.finish().exit_code, 75)
                self.assertEqual(self.assert_valid(json.loads(file.read_text()))["status"], "interrupted")

    def test_the_schema_is_strict(self):
        good = self.ending(0, "--class", "S")
        refused = self.ending(71, "--class", "W", "--memory-limit", "1MB")
        plan = self.ending(0, "--class", "S", "--dry-run")

        def dot_of(document):
            return document["phases"]["ranks"][0]["phases"]["dot"]

        for document, change in (
            (good, lambda document: document.update(status="great")),
            (good, lambda document: document["result"].update(zeta="8.6")),
            (good, lambda document: document["result"].pop("mops_total")),
            (good, lambda document: document.update(surprise=1)),
            (good, lambda document: dot_of(document).update(surprise=1)),
            (good, lambda document: dot_of(document).update(clocks=-1)),
            (good, lambda document: document["phases"]["ranks"][0]["phases"].pop("shuffle")),
            (good, lambda document: document["configuration"]["grid"].pop("automatic")),
            (good, lambda document: document["setup"]["ranks"][0].pop("huge_page_bytes")),
            (good, lambda document: document["quiet"].update(repeats=[])),
            (good, lambda document: document["quiet"]["repeats"][0].update(delay_share=-0.1)),
            (refused, lambda document: document.pop("reason")),
            (plan, lambda document: document.update(exit_code=64)),
            (plan, lambda document: document["plan"].update(memory_bytes=-5)),
        ):
            change(changed := copy.deepcopy(document))
            self.assertFalse(validator_of("run").is_valid(changed), changed)


class Steps(ProgramTest):
    def test_every_outer_step_has_the_zeta_of_the_official_program(self):
        for rank_count, grid in ((1, "1x1"), (2, "2x1"), (6, "2x3"), (5, "1x5")):
            with self.subTest(grid=grid):
                steps = self.valid_document_of(rank_count, "run", "--class", "S", "--grid", grid)["outer_steps"]
                self.assertEqual([step["step"] for step in steps], list(range(1, len(CLASS_S_ZETA) + 1)))
                for step, expected in zip(steps, CLASS_S_ZETA):
                    # 1e-12: rounding of sums in another order; measured differences are below 1e-13.
                    self.assert_close(step["zeta"], expected, 1e-12)
                    # The residual is rounding noise: only its size can agree (official: 1.4e-13, then about 2e-15).
                    self.assertLess(step["rnorm"], 5e-13 if step["step"] == 1 else 1e-14)
                    self.assertGreater(step["rnorm"], 1e-16)

    def test_the_result_is_the_last_step_and_rates_follow_from_the_time(self):
        document = self.valid_document_of(2, "run", "--class", "S")
        self.assertEqual((document["status"], document["exit_code"], document["result"]["verified"]), ("success", SUCCESS, True))
        self.assertIsNone(document["counters"], "nothing is counted without being asked")
        result, last = document["result"], document["outer_steps"][-1]
        self.assertEqual((result["zeta"], result["rnorm"]), (last["zeta"], last["rnorm"]))
        error = abs(result["zeta"] - 8.5971775078648) / 8.5971775078648
        self.assertAlmostEqual(result["relative_error"], error, delta=1e-16)
        row = 7 * 8
        official = 2 * 15 * 1400 * (3 + row + 25 * (5 + row) + 3)
        self.assert_close(result["mops_total"], official / result["time_s"] / 1e6, 1e-12)
        self.assert_close(result["mops_per_process"], result["mops_total"] / 2, 1e-12)
        true = 2 * 15 * (26 * CLASS_S_NONZEROS + 1400 * (25 * 5 + 6))
        self.assert_close(result["true_mflops"], true / result["time_s"] / 1e6, 1e-12)
        self.assertEqual(result["repeats"]["times_s"], [result["time_s"]], "one is its own median")
        self.assertIsNone(result["repeats"]["spread"], "a spread of 0 would say that repetitions agree")

    def test_the_matrix_has_its_official_facts(self):
        document = self.valid_document_of(6, "run", "--class", "S", "--grid", "2x3")
        facts = {"nonzero_count": CLASS_S_NONZEROS, "final_seed": 37562041448909, "draw_pairs_rejected_as_duplicate": 28,
                 "draw_pairs_rejected_as_out_of_range": 4669}  # fmt: skip
        self.assertEqual({key: document["problem"][key] for key in facts}, facts)
        self.assertEqual(sum(rank["nonzeros"] for rank in document["setup"]["ranks"]), CLASS_S_NONZEROS)


class Configuration(ProgramTest):
    def test_a_forced_kernel_is_the_one_that_ran(self):
        for kernel in listed_kernels():
            with self.subTest(kernel=kernel):
                document = self.valid_document_of(2, "run", "--class", "S", "--kernel", kernel)
                self.assertEqual(document["configuration"]["kernel"], kernel)
                text = self.run_well(2, "run", "--class", "S", "--kernel", kernel, "--verbose").stdout
                self.assertRegex(text, rf"(?m)^ Kernel  {kernel}, \S+ \(requested\)$")
                if document["configuration"]["symmetric_storage"]:
                    self.assertIn(" Symmetric       = true\n", text)

    def test_a_transport_that_nobody_names_is_that_of_the_nodes(self):
        for words, transport in (
            ((), "shared"),  # all ranks share a node
            (("--ranks-per-node", "2"), "two-sided"),
            (("--sum", "whole-block"), "two-sided"),  # shared has no such form
        ):
            configuration = self.valid_document_of(4, "run", "--class", "S", "--grid", "2x2", *words)["configuration"]
            self.assertEqual((configuration["transport"], configuration["transport_by"]), (transport, "built-in rule"), words)
        named = self.valid_document_of(2, "run", "--class", "S", "--transport", "shared")["configuration"]
        self.assertEqual((named["transport"], named["transport_by"]), ("shared", "asked for"))

    def test_a_grid_not_given_is_the_fastest_of_a_few(self):
        grid = self.valid_document_of(6, "run", "--class", "S", "--no-profile")["configuration"]["grid"]
        self.assertIs(grid["automatic"], True)
        trial = grid["trial"]
        self.assertEqual({one["grid"] for one in trial["tried"]}, {"1x6", "2x3", "3x2", "6x1"})
        self.assertEqual(grid["name"], trial["verdict"]["candidate"])
        self.assertEqual((trial["shortlist_by"], trial["skipped_because"]), ("rule", ""))
        text = self.run_well(2, "run", "--class", "S", "--grid", "auto", "--no-profile", "--verbose").stdout
        self.assertIn(" Grid chosen     = true\n", text)

    def test_more_ranks_than_cores_are_noticed_by_the_affinity_mask(self):
        one_core = str(min(os.sched_getaffinity(0)))
        command = ["taskset", "-c", one_core, *launch_words(2), PROGRAM, "run", "--class", "S", "--format", "json"]
        environment = self.ends_with(SUCCESS, run_command(command)).document()["environment"]
        self.assertEqual({place["processors"] for place in environment["binding"]}, {one_core})
        self.assertIs(environment["oversubscribed"], True)
        self.assertEqual(environment["waiting"], "yield")


class Phases(ProgramTest):
    def assert_phases_of(self, document, rank_count):
        ranks = document["phases"]["ranks"]
        self.assertEqual([rank["rank"] for rank in ranks], list(range(rank_count)))
        columns = document["configuration"]["grid"]["columns"]
        for rank in ranks:
            self.assertEqual(rank["rank"], rank["process_row"] * columns + rank["process_column"])
            self.assertEqual(tuple(rank["phases"]), PHASES)
            for phase in rank["phases"].values():
                self.assertLessEqual(phase["waited_clocks"], phase["clocks"])
                self.assert_close(phase["seconds"], phase["clocks"] / rank["clocks_per_second"], 1e-9)
        return ranks

    def test_both_halves_of_reproducible_sums_are_planned(self):
        words = ("run", "--class", "S", "--grid", "3x2", "--dry-run", "--ranks", "6", "--reproducible")
        usual, doubled = (self.document_of(0, *words, state)["plan"]["busiest_rank_per_cg_step"] for state in ("off", "on"))
        for phase in ("summation", "shuffle"):
            self.assertEqual(doubled[phase], {name: 2 * count for name, count in usual[phase].items()})

    def test_phases_add_up_to_the_timed_region(self):
        for rank_count in (1, 2, 4):
            with self.subTest(ranks=rank_count):
                document = self.valid_document_of(rank_count, "run", "--class", "W")
                shares = []
                for rank in self.assert_phases_of(document, rank_count):
                    shares.append(sum(phase["clocks"] for phase in rank["phases"].values()) / rank["region_clocks"])
                    # A rank may lose its core between two phases, so a loose bound; a bench measures how much it is.
                    self.assertGreaterEqual(shares[-1], 0.9)
                    self.assertLessEqual(shares[-1], 1.0)
                    # The counter against the monotonic clock.
                    self.assert_close(rank["region_clocks"] / rank["clocks_per_second"], rank["region_s"], 0.02)
                self.assert_close(document["phases"]["coverage"], sum(shares) / len(shares), 1e-9)

    def test_messages_and_bytes_are_those_of_the_plan(self):
        """Summed over phases and ranks; call_counts_test has each. 301 does not divide by the sizes of the grids, and of 5 rows a rank has none."""
        niter = 3
        for n, nonzer, grid, form in ((301, 5, "3x2", "reduce-scatter"), (301, 5, "1x5", "whole-block"), (5, 2, "2x3", "reduce-scatter")):
            with self.subTest(n=n, grid=grid, sum=form):
                columns, rows = map(int, grid.split("x"))
                problem = ("--n", n, "--nonzer", nonzer, "--niter", niter, "--shift", "10")
                arguments = ("run", *problem, "--grid", grid, "--sum", form, "--transport", "two-sided")
                planned = self.valid_document_of(0, *arguments, "--dry-run", "--ranks", columns * rows)["plan"]["all_ranks_per_cg_step"]
                ranks = self.assert_phases_of(self.valid_document_of(columns * rows, *arguments), columns * rows)
                sent = [phase for rank in ranks for phase in rank["phases"].values()]
                for value, of_a_triple in (("messages", 1), ("bytes", 3 * 8)):
                    triples = of_a_triple * scalar_sum_messages(len(ranks))
                    self.assertEqual(sum(phase[value] for phase in sent), niter * (PRODUCTS * planned[value] + triples))

    def test_without_phases_there_are_none(self):
        arguments = ("run", "--class", "S", "--no-phases")
        self.assertIsNone(self.valid_document_of(2, *arguments)["phases"])
        text = self.run_well(2, *arguments).stdout
        self.assertNotIn("Phases", text)
        self.assertNotIn("collection", text)
        self.assertIn(" VERIFICATION SUCCESSFUL \n", text)


class Repeats(ProgramTest):
    def test_the_median_of_three(self):
        document = self.valid_document_of(2, "run", "--class", "S", "--repeat", "3")
        result, repeats = document["result"], document["result"]["repeats"]
        times = repeats["times_s"]
        self.assertEqual((repeats["count"], len(times), result["time_s"]), (3, 3, sorted(times)[1]))
        for key, expected in (("minimum_s", min), ("maximum_s", max), ("lower_quartile_s", min), ("upper_quartile_s", max)):
            self.assertEqual(repeats[key], expected(times), key)
        self.assertAlmostEqual(repeats["spread"], (max(times) - min(times)) / statistics.median(times), delta=1e-12)
        # The phases are those of the repetition reported.
        self.assertEqual(max(rank["region_s"] for rank in document["phases"]["ranks"]), result["time_s"])

    def test_waits_are_those_of_the_repetition(self):
        """For each message that is sent, and each that comes."""
        document = self.valid_document_of(2, "run", "--class", "S", "--grid", "1x2", "--transport", "two-sided", "--repeat", "2")
        for rank in document["phases"]["ranks"]:
            self.assertEqual(rank["waits"], 2 * sum(phase["messages"] for phase in rank["phases"].values()))

    def test_the_time_is_the_slowest_ranks(self):
        for _ in range(6):  # rank 0 may be the slowest one
            document = self.valid_document_of(3, "run", "--class", "S")
            self.assertEqual(max(rank["region_s"] for rank in document["phases"]["ranks"]), document["result"]["time_s"])
