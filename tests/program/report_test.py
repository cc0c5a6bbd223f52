"""Reports about real runs as text and CSV."""

import csv
import io
import re

from program_runner import CLASS_S_NONZEROS, CLASS_S_ZETA, PHASES, ProgramTest, run_program


class Csv(ProgramTest):
    def rows_of(self, rank_count, *arguments):
        lines = list(csv.reader(io.StringIO(self.run_well(rank_count, *arguments, "--format", "csv").stdout)))
        header, rows = lines[0], lines[1:]
        self.assertEqual(len(set(header)), len(header))
        for row in rows:
            self.assertEqual(len(row), len(header))
        return [dict(zip(header, row)) for row in rows]

    def test_one_line_per_repetition_as_wide_as_the_header(self):
        rows = self.rows_of(2, "run", "--class", "S", "--repeat", "3", "--grid", "2x1")
        self.assertEqual([row["repeat"] for row in rows], ["1", "2", "3"])
        for row in rows:
            self.assertEqual((row["status"], row["class"], row["px"], row["py"]), ("success", "S", "2", "1"))
            self.assertEqual(row["nonzero_count"], str(CLASS_S_NONZEROS))
            self.assert_close(float(row["zeta"]), CLASS_S_ZETA[-1], 1e-12)
            phase_seconds = sum(float(row[f"{phase}_s"]) for phase in PHASES)
            self.assertGreater(phase_seconds, 0.5 * float(row["time_s"]))
            self.assertLessEqual(phase_seconds, 1.02 * float(row["time_s"]))


class Text(ProgramTest):
    """The official closing block, line by line; site scripts match these labels and columns."""

    # 24 columns follow "label = ", as in the official formats (12x, i12), (12x, f12.2), (a24).
    NUMBER = r"(?=.{24}$) +\d+\.\d\d"
    BLOCK = (
        r" VERIFICATION SUCCESSFUL ",
        r" Zeta is     0\.\d{13}E[+-]\d\d",
        r" Error is    0\.\d{13}E[+-]\d\d",
        r"",
        r"",
        r" CG Benchmark Completed\.",
        r" Class           =                        S",
        r" Size            =                     1400",
        r" Iterations      =                       15",
        rf" Time in seconds = {NUMBER}",
        r" Total processes =                        2",
        r" Active procs    =                        2",
        rf" Mop/s total     = {NUMBER}",
        rf" Mop/s/process   = {NUMBER}",
        r" Operation type  =           floating point",
        r" Verification    =               SUCCESSFUL",
    )

    def assert_lines(self, text, patterns):
        """Expects these whole lines, one after the other, somewhere in the text."""
        lines = text.split("\n")
        first = next((k for k, line in enumerate(lines) if re.fullmatch(patterns[0], line)), None)
        self.assertIsNotNone(first, f"no line {patterns[0]!r} in\n{text}")
        for line, pattern in zip(lines[first : first + len(patterns)], patterns, strict=True):
            self.assertRegex(line, rf"\A(?:{pattern})\Z")
        return lines[first : first + len(patterns)]

    def test_closing_block(self):
        text = self.run_well(2, "run", "--class", "S").stdout
        for label in ("Huge pages", "Row lengths", "Commit", "No profile"):
            self.assertNotIn(f" {label} ", text, "only a verbose report says all")
        self.assertLessEqual(len(text.splitlines()), 45)
        lines = self.assert_lines(text, self.BLOCK)
        self.assertEqual(lines[1], " Zeta is     0.8597177507865E+01")
        result = self.document_of(2, "run", "--class", "S")["result"]
        # The error is a handful of roundings, and the same in every run on this grid.
        self.assert_close(float(lines[2].split()[-1]), result["relative_error"], 1e-9)

    def test_closing_block_of_a_failed_verification(self):
        text = run_program(2, "run", "--class", "S", "--reference", "22.5").stdout
        self.assertRegex(self.summary_of(text)["Result"], r"^class \w+ WRONG: zeta 8\.59717750786\d\d, not 22\.5000000000000$")
        failed = (
            r" VERIFICATION FAILED",
            r" Zeta                 0\.8597177507865E\+01",
            r" The correct zeta is  0\.2250000000000E\+02",
        )
        self.assert_lines(text, (*failed, *self.BLOCK[3:-1], r" Verification    =             UNSUCCESSFUL"))

    def test_closing_block_without_a_reference(self):
        text = self.run_well(2, "run", "--class", "S", "--niter", "4").stdout
        lines = self.assert_lines(text, (r" NO VERIFICATION PERFORMED", r" not verified: no reference", self.BLOCK[1], r""))
        self.assertEqual(lines[2], " Zeta is     0.8596997234074E+01")
        self.assertRegex(text, r"(?m)^ Class           = {24}U$")
        self.assertRegex(text, r"(?m)^ Verification    = {12}NOT PERFORMED$")

    def test_our_own_lines(self):
        text = self.run_well(6, "run", "--class", "S", "--grid", "2x3", "--verbose").stdout
        for pattern in (
            r" Seconds         = \d+\.\d{6} s",
            r" True Mflop/s    = [\d.e+]+",
            r" Problem         = class=S, n=1400, nonzer=7, niter=15, shift=10, .*nonzero_count=78148, .*",
            r" transport       = shared",
            r" Transport by    = built-in rule",
            r" sum_form        = reduce-scatter",
            r" Waiting         = (yield|spin)",
            r" Kernel  \S+, \S+ \(default; cg2d tune measures\)",
            r" No profile      = no profile at .*; cg2d tune makes one",
            r" threads         = 1",
            # The blocks of the 2 process columns: 1400 rows each, so 2800 pieces of rows.
            r" Row lengths     = critical_vector_length=8, rows=2800, minimum=\d+, mean=27\.91, maximum=\d+, rows_below=\d+, nonzeros_below=\d+",
            r" Generation      = \d+\.\d{6} s",
            r" Converted       = (true|false)",
            r" Peak memory     = [\d.]+ [kMG]B on the largest rank",
            r" In huge pages   = [\d.]+ [kMG]?B on the largest rank",
        ):
            self.assert_lines(text, (pattern,))

    def test_phase_table_in_time(self):
        text = self.run_well(2, "run", "--class", "S", "--grid", "2x1").stdout
        number = r" +\d+\.\d\d"
        columns = rf" +(\d+\.\d) % +\d+({number}){number} +([\d.]+|-) +([\d.]+|-) +\d+\.\d\d +\d+"
        names = (*PHASES, "all phases")
        lines = self.assert_lines(
            text,
            (
                r" Phases: time per CG step, mean over the ranks; reference clocks of \w+, \d\.\d{3} GHz",
                r" phase +share +clocks +us +waiting +GB/s +Gflop/s +messages +bytes sent",
                *(rf" {name} {columns}" for name in names),
                r" waiting \(us\) is part of its phase; .*",
                r" messages and bytes sent: per rank\. The phases cover \d+\.\d\d % .*",
            ),
        )
        rows = {name: re.fullmatch(rf" {name} {columns}", line).groups() for name, line in zip(names, lines[2:])}
        shares = [float(row[0]) for row in rows.values()]
        self.assertAlmostEqual(sum(shares[:-1]), shares[-1], delta=0.05 * len(names))
        times = [float(row[1]) for row in rows.values()]
        self.assertAlmostEqual(sum(times[:-1]), times[-1], delta=0.01 * len(names))
        time_s = float(re.search(r"(?m)^ Time    ([\d.]+) s, ", text)[1])
        self.assertAlmostEqual(1e6 * time_s / (15 * 25), 100 * times[-1] / shares[-1], delta=0.05 * times[-1])
        # Only the product moves a matrix; one process row collects nothing, and in shared memory nothing is sent.
        self.assertEqual(rows["collection"][2:], ("-", "-"))
        self.assertGreater(float(rows["multiply"][2]), 0.0)

    SUMMARY = ("Result", "Time", "Grid", "Kernel", "Limit", "Quiet")

    def summary_of(self, text):
        """The six lines by their labels, which must be the first lines of the report and fit into 110 columns."""
        lines = [line for line in text.split("\n") if line][1 : 1 + len(self.SUMMARY)]
        self.assertEqual(tuple(line.split()[0] for line in lines), self.SUMMARY, text)
        for line in lines:
            self.assertLessEqual(len(line), 110, line)
        return {line.split()[0]: line[9:] for line in lines}

    def test_the_summary_says_what_matters(self):
        summary = self.summary_of(self.run_well(2, "run", "--class", "S", "--grid", "1x2", "--kernel", "sell").stdout)
        self.assertRegex(summary["Result"], r"^class S verified: zeta 8\.59717750786\d\d, relative error \d\.\de-\d\d$")
        self.assertRegex(summary["Time"], r"^[\d.]+ s, \d+ Mop/s, [\d.]+ us per CG step$")
        self.assertEqual(summary["Grid"], "1x2 (requested); shared memory, 1 thread per rank")
        self.assertRegex(summary["Kernel"], r"^sell, \w+ \(requested\)$")
        self.assertRegex(summary["Limit"], r"^not measured \(--roofline does\); multiply: [\d.]+ GB/s, [\d.]+ Gflop/s$")
        self.assertRegex(summary["Quiet"], r"^(yes|no|unknown)\b")

    def test_the_summary_says_why(self):
        summary = self.summary_of(self.run_well(2, "run", "--class", "S", "--no-profile", "--repeat", "3", "--no-phases").stdout)
        self.assertRegex(summary["Grid"], r"^(1x2|2x1), (best of 2 tried: better than|no clear winner of 2 tried: faster than .* rounds?|of 2 tried; the others)")
        self.assertRegex(summary["Kernel"], r" \(default; cg2d tune measures\)$")
        self.assertRegex(summary["Time"], r"^[\d.]+ s, median of 3 \(quartiles [\d.]+ and [\d.]+\); \d+ Mop/s")
        self.assertEqual(summary["Limit"], "not known without phases (--no-phases)")
        summary = self.summary_of(self.run_well(1, "run", "--class", "S", "--roofline", "--niter", "3").stdout)
        self.assertRegex(summary["Result"], r"^zeta 8\.\d{13}, not verified: no reference for n 1400, niter 3$")
        self.assertTrue(summary["Grid"].startswith("1x1 (the only grid of 1 rank);"), summary)
        self.assertRegex(summary["Limit"], r"^\d+ % of the machine's limit; multiply \d+ %: [\d.]+ GB/s")

    def test_a_minimum_time_adds_repetitions(self):
        for rank_count, words in ((1, ("--min-time", "0.2s")), (3, ("--min-time", "0.2", "--repeat", "2"))):
            times = self.document_of(rank_count, "run", "--class", "S", "--grid", "rule", *words)["result"]["repeats"]["times_s"]
            self.assertGreaterEqual(sum(times), 0.2)
            self.assertLess(sum(times[:-1]), 0.2, "no more than needed") if len(times) > 2 else None
        times = self.document_of(1, "run", "--class", "S", "--min-time", "0s", "--repeat", "2")["result"]["repeats"]["times_s"]
        self.assertEqual(len(times), 2)
