"""Sorts runs by problem and number of ranks: finds the best grid, and the cost of the official grid."""

import dataclasses
import statistics


def official_grid(rank_count):
    """(Px, Py) of the official program, or None: it takes powers of two only. nprows = 2^floor(log2(P)/2), npcols = P/nprows;
    Px is npcols, the number of column blocks."""
    if rank_count & (rank_count - 1):
        return None
    row_count = 1 << ((rank_count.bit_length() - 1) // 2)
    return rank_count // row_count, row_count


def grid_name(grid):
    return f"{grid[0]}x{grid[1]}"


@dataclasses.dataclass
class Case:
    """Runs of one problem on one grid with one kernel, transport and form of the sum."""

    grid: tuple
    runs: list

    @property
    def times_s(self):
        """Seconds of all repeats, in the order of measurement."""
        return [time_s for run in self.runs for time_s in run.times_s]

    @property
    def disturbances(self):
        """Why each of the times was disturbed; "" for a quiet one."""
        return [reason for run in self.runs for reason in run.disturbances]

    @property
    def median_s(self):
        return statistics.median(self.times_s)

    @property
    def spread(self):
        """(maximum - minimum) / median, as everywhere in cg2d"""
        return (max(self.times_s) - min(self.times_s)) / self.median_s

    @property
    def run(self):
        """The run whose time is nearest to the median."""
        return self.nearest(self.runs)

    def run_with(self, key):
        """The same among the runs whose result has this key; None if there is none."""
        return self.nearest([run for run in self.runs if run.document.get(key)])

    def nearest(self, runs):
        return min(runs, key=lambda run: abs(run.document["result"]["time_s"] - self.median_s), default=None)

    @property
    def settings(self):
        configuration = self.runs[0].configuration
        overlap = ", overlap" if configuration.get("overlap") else ""
        return f"{configuration['kernel']}, {configuration['transport']}, {configuration['sum_form']}{overlap}"


@dataclasses.dataclass
class Study:
    """All grids of one problem with one number of threads per rank. alternatives[P][Px]: one case for each kernel,
    transport, form of the sum and overlap, fastest first. cases[P][Px]: the fastest."""

    name: str
    problem: dict
    thread_count: int
    alternatives: dict

    @property
    def cases(self):
        return {
            rank_count: {column_count: found[0] for column_count, found in grids.items()}
            for rank_count, grids in self.alternatives.items()
        }

    def best(self, rank_count):
        return min(self.cases[rank_count].values(), key=lambda case: case.median_s)

    def worst(self, rank_count):
        return max(self.cases[rank_count].values(), key=lambda case: case.median_s)

    def official(self, rank_count):
        """The case of the official grid, or None."""
        grid = official_grid(rank_count)
        return self.cases[rank_count].get(grid[0]) if grid else None

    @property
    def rank_counts(self):
        return sorted(self.cases)

    @property
    def shown_rank_count(self):
        """The number of ranks for figures that show only one: the greatest with several grids whose ranks did not share cores,
        else the greatest with several grids."""

        def rank(rank_count):
            is_crowded = self.best(rank_count).run.document["environment"]["oversubscribed"]
            return len(self.cases[rank_count]) > 1, not is_crowded, rank_count

        return max(self.cases, key=rank)

    def all_cases(self):
        return [case for rank_count in self.rank_counts for _, case in sorted(self.cases[rank_count].items())]


def problem_key(problem):
    return problem["n"], problem["nonzer"], problem["niter"], problem["shift"]


def problem_name(problem):
    if problem["class"] != "U":
        return f"class {problem['class']}"
    return f"n {problem['n']}, nonzer {problem['nonzer']}, niter {problem['niter']}, shift {problem['shift']:g}"


def case_key(run):
    configuration = run.configuration
    return (
        *problem_key(run.problem), configuration["threads"], configuration["ranks"], run.grid,
        configuration["kernel"], configuration["transport"], configuration["sum_form"],
        configuration.get("overlap", False),
    )  # fmt: skip


def make_studies(runs):
    """Largest problem first."""
    cases = {}
    for run in runs:
        cases.setdefault(case_key(run), Case(run.grid, [])).runs.append(run)
    studies = {}
    for case in cases.values():
        run = case.runs[0]
        thread_count = run.configuration["threads"]
        key = (problem_key(run.problem), -thread_count)
        if key not in studies:
            threads = f", {thread_count} threads per rank" if thread_count > 1 else ""
            studies[key] = Study(problem_name(run.problem) + threads, run.problem, thread_count, {})
        grids = studies[key].alternatives.setdefault(run.configuration["ranks"], {})
        grids.setdefault(case.grid[0], []).append(case)
        grids[case.grid[0]].sort(key=lambda case: case.median_s)
    return [studies[key] for key in sorted(studies, reverse=True)]


def percent(ratio):
    """'+12 %' for 1.12"""
    value = 100 * (ratio - 1)
    return f"{value:+.1f} %" if abs(value) < 9.95 else f"{value:+.0f} %"


def seconds(value):
    """Three digits and a suitable unit."""
    for factor, unit in ((1, "s"), (1e3, "ms"), (1e6, "µs")):
        if value * factor >= 0.9995 or unit == "µs":
            scaled = value * factor
            digits = 0 if scaled >= 99.95 else 1 if scaled >= 9.995 else 2
            return f"{scaled:.{digits}f} {unit}"
