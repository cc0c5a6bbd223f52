"""cg2d run --out-of-core: the bits of a run in memory, files that the next run takes, and every trouble with them."""

import fcntl
import os
import random

from kill_test import kill_once, wait_for_ends
from program_runner import (
    BAD_DATA, CAMPAIGN, FOLDER_IN_USE, THOROUGH, BackgroundRun, ProgramTest, process_bytes, run_program, some_of,
)  # fmt: skip

KERNEL = ("--kernel", "sell")


class StreamingTest(ProgramTest):
    """What runs and solves have in common. figures_of(document): what must not change."""

    def setUp(self):
        self.store = self.folder / "store"

    def streamed(self, rank_count, *arguments):
        return self.document(rank_count, *arguments, "--out-of-core", self.store)

    def files(self):
        return sorted(path.name for path in self.store.iterdir())

    def clear_store(self):
        for path in self.store.iterdir():
            path.unlink()

    def expect_damage_named_or_mended(self, *arguments):
        whole = self.figures_of(self.streamed(2, *arguments))
        file = self.store / "1-of-2.panels"
        good = file.read_bytes()
        # In the header or the length: the file is written anew.
        for bad in (good[:-1], b"", b"x" + good[1:]):
            file.write_bytes(bad)
            document = self.streamed(2, *arguments)
            self.assertEqual(self.figures_of(document), whole)
            self.assertIs(document["out_of_core"]["ranks"][0]["reused"], False)
        # In a panel: the command ends, on all ranks alike.
        damaged = bytearray(good)
        damaged[4096 + 1000] ^= 1
        file.write_bytes(damaged)
        outcome = run_program(2, *self.command, *arguments, "--no-profile", "--out-of-core", self.store)
        self.assert_refused(outcome, BAD_DATA, str(file), "panel 0 at byte 4096: found damaged data")

    def expect_end_on_all_ranks(self, *arguments, at):
        """Where a file fails under way."""
        with BackgroundRun(2, *self.command, *arguments, "--out-of-core", self.store, "--progress") as run:
            run.wait_for(at)
            os.truncate(self.store / "1-of-2.panels", 1 << 20)
            outcome = self.ends_with(BAD_DATA, run.finish())
        (line,) = [line for line in outcome.error_lines() if "1-of-2.panels" in line]
        self.assertRegex(line, r"panel \d+ at byte \d+: ")

    def expect_text(self, *arguments):
        """The text of a streamed run or solve with two folders."""
        words = ("--grid", "1x2", "--no-profile", "--verbose", "--out-of-core", f"{self.store},{self.folder}")
        text = self.run_well(2, *self.command, *arguments, *words).stdout
        self.assertRegex(text, r"(?m)^ Streamed \d+\.?\d* \w+ of matrix from .*store, .* \(made in .* s, of which writing took .* s\), .* stay in memory; (products read nothing|read at [1-9.])")
        self.assertNotRegex(text, r"read at 0 GB/s|0 B of CSR|0\.000000 s to convert")
        self.assertTrue((self.folder / "1-of-2.panels").exists())
        return text


class OutOfCoreTest(StreamingTest):
    command = ("run",)

    def document(self, rank_count, *arguments):
        kernel = () if "--kernel" in arguments else KERNEL
        return self.valid_document_of(rank_count, "run", *arguments, *kernel, "--no-profile")

    @staticmethod
    def figures_of(document):
        return document["outer_steps"]

    def limit(self, rank_count, room_mb):
        """A --memory-limit that leaves so many MB per rank for its matrix: the process itself takes more with a sanitizer."""
        return str(int(max(1, rank_count) * (process_bytes(rank_count) + room_mb * 1e6)))


class Streaming(OutOfCoreTest):
    def test_the_bits_are_those_of_a_run_in_memory(self):
        cases = (
            (("A", "--niter", "3"), 2, "2x1", 12, "sell"),
            (("A", "--niter", "3"), 2, "1x2", 12, "symmetric-distinct"),
            (("S",), 0, "1x1", 20, "sell"),
            (("W",), 4, "2x2", 20, "symmetric"),
            (("S",), 3, "3x1", 20, "symmetric-distinct"),
            (("W",), 2, "1x2", 20, "sell"),
        )
        for problem, rank_count, grid, room_mb, kernel in some_of(cases, 2):
            with self.subTest(problem=problem, grid=grid, kernel=kernel):
                arguments = ("--class", *problem, "--grid", grid, "--kernel", kernel)
                limit = self.limit(rank_count, room_mb)
                whole = self.document(rank_count, *arguments)
                first = self.streamed(rank_count, *arguments, "--memory-limit", limit)
                again = self.streamed(rank_count, *arguments, "--memory-limit", limit)
                for document in (first, again):
                    self.assertEqual(document["outer_steps"], whole["outer_steps"])
                    self.assertEqual(document["problem"], whole["problem"])
                    self.assertEqual([rank["nonzeros"] for rank in document["setup"]["ranks"]], [rank["nonzeros"] for rank in whole["setup"]["ranks"]])
                self.assertEqual({rank["reused"] for rank in first["out_of_core"]["ranks"]}, {False})
                self.assertEqual({rank["reused"] for rank in again["out_of_core"]["ranks"]}, {True})
                self.assertEqual(self.files(), sorted(f"{rank}-of-{max(1, rank_count)}.panels" for rank in range(max(1, rank_count))))
                self.clear_store()

    def test_little_memory_is_streamed_and_much_keeps_all(self):
        problem = ("--n", "30000", "--nonzer", "12", "--shift", "20", "--niter", "1", "--grid", "1x2")
        little = self.streamed(2, *problem, "--memory-limit", self.limit(2, 20))["out_of_core"]["ranks"]
        for rank in little:
            streamed = rank["panels"] - rank["resident_panels"]
            self.assertGreater(streamed, rank["buffers"])
            # Beside the panels, 2 MiB are the program's.
            self.assertLessEqual((rank["resident_panels"] + rank["buffers"]) * rank["most_panel_bytes"] + (2 << 20), 20e6)
            # Panels are about as long as each other.
            self.assertGreater(rank["read_bytes"], 0.8 * rank["products"] * rank["file_bytes"] * streamed / rank["panels"])
        # Short panels are written anew where all stay in memory: once.
        for is_reused in (False, True):
            much = self.streamed(2, *problem)["out_of_core"]
            self.assertIsNone(much["memory_limit_bytes"])
            for rank, short in zip(much["ranks"], little):
                self.assertEqual((rank["buffers"], rank["read_bytes"], rank["resident_panels"]), (0, 0, rank["panels"]))
                self.assertLessEqual(2 * rank["panels"], short["panels"])
                self.assertIs(rank["reused"], is_reused)

    def test_files_of_another_instruction_set_are_made_anew(self):
        def reused(name):
            words = ("run", "--class", "S", "--kernel", "symmetric-distinct", "--out-of-core", self.store, "--no-profile")
            document = self.document_of(0, *words, env={**os.environ, "CG2D_INSTRUCTION_SET": name})
            return document["configuration"]["instruction_set"], document["out_of_core"]["ranks"][0]["reused"]

        sets = [reused(name) for name in ("portable", os.environ["CG2D_INSTRUCTION_SET"])]
        self.assertEqual(sets[0], ("portable", False))
        self.assertIs(sets[1][1], sets[1][0] == "portable")
        self.assertIs(reused(sets[1][0])[1], True)

    def test_the_text_says_so(self):
        text = self.expect_text("--class", "S")
        self.assertRegex(text, r"(?m)^ Block +.= ")
        self.assertNotRegex(text, r"(?m)^ (CSR|Conversion time) ")
        self.assertRegex(text, r"(?m)^ Files +\*\.panels in these folders stay ")


class Trouble(OutOfCoreTest):
    def test_damage_is_named_or_mended(self):
        self.expect_damage_named_or_mended("--class", "S", "--grid", "1x2", *KERNEL)

    def test_a_file_that_fails_under_way_ends_the_run_on_all_ranks(self):
        problem = ("--n", "30000", "--nonzer", "12", "--shift", "20", "--niter", "100000", "--grid", "1x2", *KERNEL, "--no-profile")
        self.expect_end_on_all_ranks(*problem, "--memory-limit", self.limit(2, 20), at="outer iteration [2-9]")

    def test_a_second_run_is_refused(self):
        self.store.mkdir()
        with open(self.store / "1.lock", "w", encoding="utf-8") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            outcome = run_program(2, "run", "--class", "S", "--grid", "1x2", "--out-of-core", self.store)
            self.assert_refused(outcome, FOLDER_IN_USE, "another run uses this folder")

    def test_kills_at_random_times(self):
        """50 in the campaign. After each the next run is right, and leaves whole files and nothing else."""
        draw = random.Random(20261124)
        problem = ("--n", "7000", "--nonzer", "8", "--shift", "12", "--niter", "150", "--grid", "1x2", "--kernel", "sell")
        words = ("run", *problem, "--no-profile", "--format", "json", "--out-of-core", "store", "--memory-limit", self.limit(2, 12))
        expected = self.document(2, *problem)["outer_steps"]
        hits = 0
        for number in range(50 if CAMPAIGN else 8 if THOROUGH else 2):
            if draw.random() < 0.5:  # generates and writes; else streams what is there, or generates after a kill of that
                for path in self.store.glob("*.panels"):
                    path.unlink()
            kill = kill_once(draw, words, 2, self.folder, latest_s=0.8)
            wait_for_ends(self.folder)
            hits += kill.has_hit
            with self.subTest(number=number, kill=str(kill)):
                self.assertEqual(run_program(2, *words, cwd=self.folder).document()["outer_steps"], expected)
                self.assertEqual(self.files(), ["0-of-2.panels", "1-of-2.panels"])
        self.assertGreater(hits, 0)
