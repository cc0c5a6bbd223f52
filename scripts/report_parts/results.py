"""Reads results: of cg2d run, of a sweep (JSON Lines), of cg2d tune, and of the benchmarks."""

import collections
import dataclasses
import json
import math
import pathlib
import statistics

from . import verdict
from .errors import BAD_DATA, NO_INPUT, ReportError
from .progress import SILENT
from .schema import schema_of
from .style import PHASE_COLOURS

PHASES = tuple(PHASE_COLOURS)  # in the order in which figures stack them


# ---------------------------------------------------------------- which times other work disturbed


def without_replaced(runs, replaced, notes):
    """The runs without those at these places, which cg2d names; one note for each file that had some."""
    left_out = collections.Counter(run.file for run in runs if run.source in replaced)
    for path, count in left_out.items():
        were = "1 disturbed run that was repeated is" if count == 1 else f"{count} disturbed runs that were repeated are"
        notes.append(f"{path}: {were} left out; only the last attempt of a round counts")
    return [run for run in runs if run.source not in replaced]


def disturbed_count(reasons):
    return sum(bool(reason) for reason in reasons)


def disturbed_lines(runs):
    """Texts for the top of the page: how many times were disturbed, and the first reason; none where all were quiet."""
    reasons = [reason for run in runs for reason in run.disturbances]
    count = disturbed_count(reasons)
    if not count:
        return []
    were = "time was" if len(reasons) == 1 else ("times was" if count == 1 else "times were")
    first = next(reason for reason in reasons if reason)
    return [f"{count} of {len(reasons)} {were} disturbed by other work on the machine, and may be too long: {first}."]


# ---------------------------------------------------------------- results of a user's own system (cg2d solve, cg2d sweep FILE)


def is_system(document):
    return isinstance(document, dict) and "system" in document


def system_name(document):
    """As cg2d's verdicts name it, where preconditioner and form of CG are the usual ones."""
    system = document["system"]
    unusual = [system[key] for key, usual in (("preconditioner", "none"), ("variant", "classic")) if system[key] != usual]
    unusual += [f"symmetrized to {system['symmetrize']}"] if "symmetrize" in system else []
    count = system["most_iterations"]
    return ", ".join([system["matrix"], f"{count} iteration{'' if count == 1 else 's'}", *unusual])


def as_run(document):
    """The result of a sweep's line as that of a run: one repeat without outer steps or reference. Phases only where a matrix
    was assembled: others have phases of their own. Throws KeyError, TypeError."""
    result, setup, quiet = document["result"], document["setup"], document["quiet"]
    problem = {"class": "", "n": setup["n"], "nonzer": 0, "niter": 1, "shift": 0.0, "reference_zeta": None}
    has_matrix = document["system"]["is_assembled"]
    reasons = [quiet["reason"] + ""] if quiet["disturbed"] else []
    return {
        **document,
        "problem": {**problem, "system": system_name(document)},
        "configuration": {**document["configuration"], **{key: document["sweep"]["configuration"][key] for key in ("cut", "form")}},
        "result": {**result, "repeats": {"times_s": [result["time_s"]]}, "verified": None},
        "quiet": {"repeats": [{"reasons": reasons}]},
        "phases": document["phases"] if has_matrix else None,
        "outer_steps": [],
    }


# ---------------------------------------------------------------- runs


@dataclasses.dataclass(frozen=True)
class Run:
    """One finished run. Times are seconds."""

    source: str
    document: dict

    @property
    def file(self):
        """Without its line."""
        name, _, line = self.source.rpartition(":")
        return name if name and line.isdigit() else self.source

    @property
    def problem(self):
        return self.document["problem"]

    @property
    def configuration(self):
        return self.document["configuration"]

    @property
    def grid(self):
        """(Px, Py)"""
        return self.configuration["grid"]["columns"], self.configuration["grid"]["rows"]

    @property
    def domain(self):
        """The parts of a domain, "domain 1x2x2"; "" for a grid of process columns and rows."""
        return self.form if self.form.startswith("domain ") else ""

    @property
    def form(self):
        """Of a system: "matrix", "factors", or its domain."""
        return self.configuration.get("form", "matrix")

    @property
    def division(self):
        """The cut of a matrix, or the form of a system without one."""
        return self.configuration["cut"] if self.form == "matrix" else self.form

    @property
    def arrangement(self):
        """The grid "2x3", or the parts of a domain."""
        return self.domain or "{}x{}".format(*self.grid)

    @property
    def storage(self):
        """Of a matrix on local storage: "streamed within 105 MB", as the keys of cg2d have it; "" for one in memory."""
        stream = self.document.get("out_of_core")
        if not stream:
            return ""
        limit = stream["memory_limit_bytes"]
        return f"streamed within {limit / 1e6:.15g} MB" if limit else "streamed"

    # The names of the usual settings that setting_parts leaves empty, where they stand beside others.
    USUAL_PARTS = ("even pieces", "", "", "", "no overlap", "in memory")

    @property
    def setting_parts(self):
        """Those that are the usual ones and not worth saying are empty."""
        names = (self.configuration[key] for key in ("kernel", "transport", "sum_form"))
        overlap = "overlap" if self.configuration.get("overlap") else ""
        return "" if self.division == "even" else self.division, *names, overlap, self.storage

    @property
    def times_s(self):
        return self.document["result"]["repeats"]["times_s"]

    @property
    def disturbances(self):
        """Why each of the times was disturbed; "" for a quiet one."""
        repeats = (self.document.get("quiet") or {"repeats": []})["repeats"]
        reasons = ["; ".join(repeat["reasons"]) for repeat in repeats]
        return reasons if len(reasons) == len(self.times_s) else [""] * len(self.times_s)

    @property
    def is_wrong(self):
        return self.document["result"]["verified"] is False

    @property
    def cg_steps(self):
        phases = self.document["phases"]
        if "system" in self.problem:
            return self.document["result"]["iterations"]
        return phases["cg_steps"] if phases else 25 * self.problem["niter"]

    def rank_phases(self):
        """One entry per rank; none where the phases were not timed."""
        return self.document["phases"]["ranks"] if self.document["phases"] else []

    def phase_seconds(self, phase):
        """In the whole timed region, mean over the ranks."""
        return statistics.fmean(rank["phases"][phase]["seconds"] for rank in self.rank_phases())


@dataclasses.dataclass
class Results:
    """Runs that are compared with each other. notes: one line for each input that was skipped. verdicts: of
    cg2d sweep --show. label: tells several of them apart on one page."""

    runs: list
    notes: list
    verdicts: dict
    label: str = ""


# ---------------------------------------------------------------- JSON of files that may hold anything

MOST_LEVELS = 100  # files of cg2d have 10 at most
MOST = 1e100  # beyond, sums and ratios of what is drawn leave the range of numbers


def finite(text):
    value = float(text)
    if not math.isfinite(value) or abs(value) > MOST or 0 < abs(value) < 1 / MOST:
        raise ValueError(f"{text[:20]} is out of range")
    return value


def whole(text):
    finite(text)
    return int(text)


def cleaned(value, levels=MOST_LEVELS):
    """The same value; halves of characters, which no file can hold, replaced."""
    if levels == 0:
        raise ValueError(f"nested in more than {MOST_LEVELS} levels")
    if isinstance(value, str):
        return value.encode(errors="replace").decode()
    if isinstance(value, list):
        return [cleaned(item, levels - 1) for item in value]
    if isinstance(value, dict):
        return {cleaned(key): cleaned(item, levels - 1) for key, item in value.items()}
    return value


def json_from(text):
    """Throws ValueError."""
    try:
        return cleaned(json.loads(text, parse_constant=finite, parse_float=finite, parse_int=whole))
    except RecursionError:
        raise ValueError(f"nested in more than {MOST_LEVELS} levels") from None


def read_text(path):
    try:
        return pathlib.Path(path).read_text(encoding="utf-8")
    except OSError as error:
        raise ReportError(NO_INPUT, f"{path}: {error.strerror}") from None
    except ValueError:
        raise ReportError(BAD_DATA, f"{path}: not a text file") from None


def documents_of(path, notes):
    """(place, document) of a single result or of JSON Lines. A sweep that was killed may leave a last line that is cut off."""
    text = read_text(path)
    try:
        document = json_from(text)
        is_line = isinstance(document, dict) and ("sweep" in document or "task" in document)
        return [(f"{path}:1" if is_line else str(path), document)]
    except ValueError as error:
        whole_error = error
    lines = [(number, line) for number, line in enumerate(text.split("\n"), 1) if line.strip()]
    found = []
    for number, line in lines:
        try:
            found.append((f"{path}:{number}", json_from(line)))
        except ValueError:
            if not found:
                raise ReportError(BAD_DATA, f"{path}: neither JSON nor JSON Lines: {whole_error}") from None
            if number != lines[-1][0] or text.endswith("\n"):
                raise ReportError(BAD_DATA, f"{path}:{number}: not JSON; a line must be one result") from None
            notes.append(f"{path}:{number}: the last line is cut off and left out")
    if not found:
        raise ReportError(BAD_DATA, f"{path}: empty; a result of cg2d run --format json or of cg2d sweep is needed")
    return found


def check_numbers(run):
    """Those that are drawn. Throws ValueError."""
    column_count, row_count = run.grid
    configuration = run.configuration
    result = run.document["result"]
    numbers = [*run.times_s, result["time_s"], column_count, row_count, configuration["threads"], run.problem["n"]]
    if not run.times_s or not all(math.isfinite(number) and number > 0 for number in numbers):
        raise ValueError
    if column_count * row_count != configuration["ranks"] or run.cg_steps <= 0:
        raise ValueError
    for rank in run.rank_phases():
        for phase in PHASES:
            times = rank["phases"][phase]
            if times["seconds"] < 0 or not 0 <= times["waited_clocks"] <= times["clocks"]:
                raise ValueError
        if not (0 <= rank["process_column"] < column_count and 0 <= rank["process_row"] < row_count):
            raise ValueError


def check_finished(place, document):
    """A run that has finished, or a system's line of a sweep."""
    schema = "solve" if is_system(document) else "run"
    where = f"{place}: not as cg2d schema {schema} has it"
    if complaint := schema_of(schema).complaint(document):
        raise ReportError(BAD_DATA, f"{where}: {complaint}")
    try:
        run = Run(place, as_run(document) if is_system(document) else document)
        check_numbers(run)
        if not document["environment"]["nodes"]:
            raise ValueError
        return run
    except (ArithmeticError, AttributeError, KeyError, TypeError, ValueError) as error:
        what = f"no {error}" if isinstance(error, KeyError) else "a value is out of range"
        raise ReportError(BAD_DATA, f"{where}: {what}") from None


def read_run(place, document, notes):
    """A finished run, or None, with a note, for anything else."""
    if not isinstance(document, dict) or "status" not in document or "schema_version" not in document:
        raise ReportError(BAD_DATA, f"{place}: not a result of cg2d run --format json or of cg2d sweep")
    version = document["schema_version"]
    if version != verdict.SCHEMA_VERSION:
        raise ReportError(BAD_DATA, f"{place}: schema_version is {version!r}; this report reads {verdict.SCHEMA_VERSION}")
    if document["status"] in ("success", "verification-failed"):
        return check_finished(place, document)
    reason = document.get("reason") or "a plan has no times"
    notes.append(f"{place}: left out, {document['status']}: {reason}")
    return None


def results_of(files, progress=SILENT):
    """files: {path: [(place, document)]}. Throws ReportError if a document is no result, and if no run has finished."""
    runs, notes, finished = [], [], []
    for documents in files.values():
        for place, document in documents:
            runs += [run] if (run := read_run(place, document, notes)) else []
        finished.append([(place, document) for place, document in documents if document["status"] != "planned"])
    if not runs:
        raise ReportError(BAD_DATA, f"{', '.join(map(str, files))}: no finished run ({notes[0]})")
    verdicts = verdict.verdicts_on(finished, verdict.find_program(), progress)
    return Results(without_replaced(runs, set(verdicts["replaced"]), notes), notes, verdicts)


def read_results(paths):
    """Of files that hold runs."""
    notes = []
    read = results_of({path: documents_of(path, notes) for path in paths})
    read.notes[:0] = notes
    return read


def profile_of(document):
    """{processor: {"critical_vector_length": n, "curve": [(row length, scalar ns, vector ns)], "cases": [...]}} of a tuning
    profile."""
    found = {}
    for processor, entry in document["processors"].items():
        keys = ("row_length", "scalar_ns_per_nonzero", "vector_ns_per_nonzero")
        curve = sorted(tuple(positive(float(point[key])) for key in keys) for point in entry["row_lengths"])
        cases = [tuned_case(case) for case in entry.get("cases", [])]
        found[processor] = {"critical_vector_length": int(entry["critical_vector_length"]), "curve": curve, "cases": cases}
    return found


def positive(value):
    if not value > 0:
        raise ValueError
    return value


def tuned_case(case):
    """(name, [(kernel, microseconds of a product)], the one that runs take first) of one matrix, grid and number of threads."""
    grid = "{}x{}".format(int(case["grid"]["columns"]), int(case["grid"]["rows"]))
    problem = f"class {case['class']}" if case.get("class", "U") != "U" else f"n {case['n']}"
    threads = f", {case['threads']} threads" if case["threads"] > 1 else ""
    kernels = [(kernel["name"] + "", positive(1e6 * kernel["step_s"])) for kernel in case["kernels"]]
    return f"{problem}, {grid}{threads}", kernels


def bench_of(document):
    """Points of spmv_bench's JSON: [{"class", "block", "kernel", "intensity" (flop/byte), "gflops", "bandwidth" (GB/s)}], and of
    row_length_bench's: [{"panel", "line", "row_length", "value", "unit"}]. Medians of repetitions."""
    groups = {}
    for entry in document["benchmarks"]:
        if entry.get("error_occurred"):
            raise ReportError(BAD_DATA, f"{entry['name']} failed: {entry.get('error_message', 'no reason given')}")
        if entry.get("run_type") == "iteration" or entry.get("aggregate_name") == "median":
            groups.setdefault(entry["run_name"].removesuffix("/real_time"), []).append(entry)
    point_of = row_point if any("row_length" in entry for entries in groups.values() for entry in entries) else product_point
    positive(len(groups))
    return [point_of(name, entries, document["context"]) for name, entries in groups.items()]


def median_of(entries, key):
    return positive(statistics.median_low(float(entry[key]) for entry in entries))


def product_point(name, entries, _context):
    class_name, block, kernel = name.split("/")
    return {
        "class": class_name,
        "block": block,
        "kernel": kernel,
        "intensity": 2.0 / median_of(entries, "format_bytes_per_nonzero"),
        "gflops": 2.0 / median_of(entries, "ns_per_nonzero"),
        "bandwidth": median_of(entries, "read_bandwidth_GB/s"),
    }


def row_point(name, entries, context):
    """Panels: of times one for each size of the blocks and a line for each kernel; of counted instructions a panel for each kernel and processor
    and a line for each instruction set."""
    size, length, kernel = name.split("/")[:3]
    if "instructions_per_nonzero" not in entries[0]:
        value = median_of(entries, "ns_per_nonzero")
        return {"panel": f"blocks of the size {size}", "line": kernel, "row_length": int(length), "value": value, "unit": "Time, ns per nonzero"}
    loop = kernel.split(":")[0].split("-cvl")[0]
    line = f"{entries[0].get('label', '')}, {median_of(entries, 'register_bits'):g} bits"
    value = median_of(entries, "instructions_per_nonzero")
    panel = f"{loop}, {context.get('processor', '?')}"
    return {"panel": panel, "line": line, "row_length": int(length), "value": value, "unit": "Instructions per nonzero"}
