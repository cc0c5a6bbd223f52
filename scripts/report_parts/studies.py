"""Sorts runs by problem and number of ranks, with cg2d's verdicts on them."""

import collections
import dataclasses
import functools
import statistics


def by_place(grids):
    """The items of a dictionary by places (of cases), in the order that axes have."""
    return sorted(grids.items(), key=lambda item: place_order(item[0]))


def place_order(place):
    """Process columns by their number, then domains by the names of their parts."""
    return isinstance(place, str), place


@dataclasses.dataclass
class Case:
    """Runs of one problem on one grid with one kernel, transport, form of the sum, overlap and storage. others: further runs of the
    same whose times are not compared, such as those that counted events. settings_key: all of the configuration that was asked for
    but the grid. mark: best, may be best, or empty, by cg2d's verdict on the grids of these settings; is_candidate: the first of that
    verdict, decided or not. ratio: median of paired rounds to the candidate; None where nothing was compared. choice_mark: by its
    verdict on all settings."""

    runs: list
    others: list = dataclasses.field(default_factory=list)
    settings_key: tuple = ()
    mark: str = ""
    is_official: bool = False
    is_candidate: bool = False
    ratio: float | None = None
    choice_mark: str = ""

    @property
    def grid(self):
        return self.runs[0].grid

    @property
    def arrangement(self):
        return self.runs[0].arrangement

    @property
    def place(self):
        """Among other arrangements of as many ranks: Px, or the parts of a domain."""
        return self.runs[0].domain or self.grid[0]

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
        """As cg/base/sample.hpp defines it: of an even number the lower of the middle two, so that it is the time of a run."""
        return statistics.median_low(self.times_s)

    @property
    def run(self):
        """The run with the median time; of several repeats each the one whose own is nearest."""
        return self.nearest(self.runs)

    def run_with(self, key):
        """The same among the runs, compared or not, whose result has this key; None if there is none."""
        return self.nearest([run for run in (*self.runs, *self.others) if run.document.get(key)])

    def nearest(self, runs):
        return min(runs, key=lambda run: abs(run.document["result"]["time_s"] - self.median_s), default=None)

    @property
    def storage(self):
        return self.runs[0].storage

    @property
    def settings(self):
        return ", ".join(filter(None, self.runs[0].setting_parts))


@dataclasses.dataclass
class Study:
    """All grids of one problem with one number of threads per rank. alternatives[P][place]: one case for each kernel,
    transport, form of the sum, overlap and storage, in the order of cg2d's verdict, the best first; where cg2d compares no run, those
    that there are, by their medians. cases[P][place]: those of one of these settings, shown_key, which figures compare. others[P]:
    cases of runs that are not compared and whose configuration no compared run has. tables[P]: cg2d's verdicts on the grids, one for
    each setting. choices[P]: its verdict on all of them. label: of the set of results, which the name begins with; empty where there
    is one set."""

    name: str
    problem: dict
    alternatives: dict = dataclasses.field(default_factory=dict)
    others: dict = dataclasses.field(default_factory=dict)
    tables: dict = dataclasses.field(default_factory=dict)
    choices: dict = dataclasses.field(default_factory=dict)
    label: str = ""

    @property
    def title(self):
        """The name at the begin of a sentence; that of a file stays as it is."""
        return "C" + self.name[1:] if self.name.startswith("class ") and not self.label else self.name

    @property
    def every_alternative(self):
        """Of all numbers of ranks, the greatest first."""
        return [
            case for rank_count in sorted(self.alternatives, reverse=True) for found in self.alternatives[rank_count].values() for case in found
        ]  # fmt: skip

    @functools.cached_property
    def shown_key(self):
        """The settings that were measured on most grids and numbers of ranks; of several those of the candidate of the greatest
        number of ranks."""
        counts = collections.Counter(case.settings_key for case in self.every_alternative)
        first = [candidate["candidate"].settings_key for _, candidate in sorted(self.choices.items(), reverse=True)]
        order = [*first, *(case.settings_key for case in self.every_alternative)]
        return max(dict.fromkeys(order), key=lambda key: counts[key])

    @property
    def cases(self):
        key = self.shown_key
        found = {
            rank_count: {place: case for place, cases in grids.items() for case in cases if case.settings_key == key}
            for rank_count, grids in self.alternatives.items()
        }
        return {rank_count: grids for rank_count, grids in found.items() if grids}

    def best(self, rank_count):
        """Of the shown settings the candidate of cg2d's verdict, decided or not; without a verdict the one with the least median."""
        return min(self.cases[rank_count].values(), key=lambda case: (not case.is_candidate, case.median_s))

    def shown_settings(self):
        """Which of several settings the figures show, and kernels that differ with the grid; empty where there is nothing to say."""
        cases = self.all_cases()
        kernels = collections.defaultdict(list)
        for case in cases:
            kernels[case.runs[0].configuration["kernel"]].append(case.arrangement)
        words = []
        if len({case.settings_key for case in self.every_alternative}) > 1:
            words.append(f"{self.title}: this figure shows {cases[-1].settings}; another figure compares the settings.")
        if len(kernels) > 1:
            named = "; ".join(f"{kernel} on {', '.join(dict.fromkeys(grids))}" for kernel, grids in kernels.items())
            words.append(f"{self.title}: the kernel depends on the grid ({named}).")
        return " ".join(words)

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
        return [case for rank_count in self.rank_counts for _, case in by_place(self.cases[rank_count])]

    def shown_with(self, has):
        """(P, every case that has something) of the shown number of ranks, else of the greatest with such cases; None without any."""
        for rank_count in (self.shown_rank_count, *reversed(self.rank_counts)):
            if cases := list(filter(has, self.every_case(rank_count))):
                return rank_count, cases
        return None

    def every_case(self, rank_count):
        """Every configuration by its place, compared or not."""
        found = [case for _, cases in by_place(self.alternatives.get(rank_count, {})) for case in cases]
        return sorted([*found, *self.others.get(rank_count, [])], key=lambda case: (place_order(case.place), case.grid))


def file_name(matrix):
    """Of a matrix, without its folders; operators have none."""
    return matrix.rpartition("/")[2]


def problem_key(problem):
    return problem["n"], problem["nonzer"], problem["niter"], problem["shift"], problem.get("system", "")


def problem_name(problem):
    if "system" in problem:
        return problem["system"]
    if problem["class"] != "U":
        return f"class {problem['class']}"
    return f"n {problem['n']}, nonzer {problem['nonzer']}, niter {problem['niter']}, shift {problem['shift']:g}"


class StudyMaker:
    """Sorts runs into studies, largest problem first."""

    def __init__(self, runs, verdicts):
        self.runs = {run.source: run for run in runs}
        self.studies = {}
        self.compared = set()  # sources
        cells = {cell["key"]: cell for row in verdicts["grids"] for cell in row["cells"] if cell["times"]}
        self.cases = {}  # by the keys of cg2d
        for choice in verdicts["choices"]:
            self.add_choice(choice, cells)
        for row in verdicts["grids"]:
            self.add_table(row)
        for run in runs:
            if run.source not in self.compared:
                self.add_other(run)

    def study_of(self, run):
        thread_count = run.configuration["threads"]
        key = (problem_key(run.problem), -thread_count)
        if key not in self.studies:
            threads = f", {thread_count} threads per rank" if thread_count > 1 else ""
            self.studies[key] = Study(problem_name(run.problem) + threads, run.problem)
        return self.studies[key]

    def add_choice(self, choice, cells):
        verdict = choice["verdict"]
        for alternative in choice["alternatives"]:
            key = alternative["key"]
            runs = [self.runs[place] for place in cells[key]["runs"]]
            self.compared.update(run.source for run in runs)
            case = Case(runs, choice_mark=mark_of(key, verdict))
            self.cases[key] = case
            study = self.study_of(runs[0])
            grids = study.alternatives.setdefault(choice["ranks"], {})
            grids.setdefault(case.place, []).append(case)
            if key == verdict["candidate"]:
                study.choices[choice["ranks"]] = {"candidate": case, "verdict": verdict}

    def add_table(self, row):
        places = [place for cell in row["cells"] for place in cell["runs"]]
        if places:
            self.study_of(self.runs[places[0]]).tables.setdefault(row["ranks"], []).append(row)
        for cell in row["cells"]:
            if case := self.cases.get(cell["key"]):
                asked = {key: value for key, value in cell["configuration"].items() if key != "grid"}
                case.settings_key = (*sorted((key, str(value)) for key, value in asked.items()), row.get("form"), row.get("storage"))
                case.mark = mark_of(cell["key"], row["verdict"])
                case.is_official, case.is_candidate = cell["is_official"], cell["key"] == row["verdict"]["candidate"]
                against = cell["against_best"]
                case.ratio = 1.0 if case.is_candidate else against["ratio"] if against else None

    def add_other(self, run):
        """A run that is not compared joins the case of its configuration, or makes one."""
        study = self.study_of(run)
        rank_count = run.configuration["ranks"]
        for case in study.every_case(rank_count):
            if (case.grid, case.runs[0].setting_parts) == (run.grid, run.setting_parts):
                (case.others if case.runs[0].source in self.compared else case.runs).append(run)
                return
        study.others.setdefault(rank_count, []).append(Case([run], settings_key=run.setting_parts))

    def finished(self):
        for study in self.studies.values():
            for rank_count, cases in study.others.items():
                if rank_count not in study.alternatives:  # cases that nothing was compared with stand for their grids
                    for case in sorted(cases, key=lambda case: case.median_s):
                        study.alternatives.setdefault(rank_count, {}).setdefault(case.place, []).append(case)
                    study.others[rank_count] = []
        return [self.studies[key] for key in sorted(self.studies, reverse=True)]


def mark_of(key, verdict):
    """Of a configuration; a single one gets no verdict."""
    if verdict["certainty"] == "alone":
        return ""
    return "best" if key == verdict["best"] else "may be best" if key in (verdict["candidate"], *verdict["undecided"]) else ""


def make_studies(results):
    studies = StudyMaker(results.runs, results.verdicts).finished()
    for study in studies if results.label else ():
        study.label, study.name = results.label, f"{results.label}: {study.name}"
    return studies


def uncompared_notes(results):
    """One line for each file and reason why times of runs in it are not compared. results: a set of runs."""
    reasons = {run["place"]: run["reason"] for run in results.verdicts["left_out"]}
    for row in results.verdicts["grids"]:
        for cell in row["cells"]:
            if cell["status"] != "success":
                reasons.update({place: f"another run of the same configuration failed ({cell['status']})" for place in cell["runs"]})
    reasons.update({run.source: "its zeta differs from the reference" for run in results.runs if run.is_wrong})
    alike = collections.defaultdict(list)
    for run in results.runs:
        if run.source in reasons:
            alike[run.file, reasons[run.source]].append(run.source)
    return [
        f"{sources[0]}{f' and {len(sources) - 1} more' if sources[1:] else ''}: not compared: {reason}"
        for (_, reason), sources in alike.items()
    ]


def percent(ratio):
    """'+12 %' for 1.12"""
    value = 100 * (ratio - 1)
    return f"{value:+.1f} %" if abs(value) < 9.95 else f"{value:+.0f} %"
