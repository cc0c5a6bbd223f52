"""A real small sweep for the tests of cg2d report, and the additions of a model and of the benchmarks."""

import copy
import functools
import json
import os
import pathlib
import sys
import tempfile

from program_runner import PHASES, PROGRAM, PROJECT, run_program

sys.path.insert(0, str(PROJECT / "scripts"))
# The report asks this program for its verdicts.
os.environ["CG2D"] = PROGRAM

# 6 grids, each run twice.
RANK_COUNTS = (1, 2, 4)
ROUNDS = 2
FOLDER = tempfile.TemporaryDirectory(prefix="cg2d-session-")


def of_copies(change):
    """A function that changes copies of documents, each by change(document)."""

    @functools.wraps(change)
    def changed(documents):
        copies = copy.deepcopy(documents)
        for document in copies:
            change(document)
        return copies

    return changed


def as_disturbed(document, *reasons):
    """By one thing, or by none."""
    changed = copy.deepcopy(document)
    changed["quiet"].update(disturbed=bool(reasons), reason="".join(reasons))
    for repeat in changed["quiet"]["repeats"]:
        repeat.update(disturbed=bool(reasons), reasons=[*reasons])
    return changed


@functools.cache
def real_sweep():
    """Documents of class S on all grids of RANK_COUNTS; measured once, so nothing may change them."""
    with tempfile.TemporaryDirectory(prefix="cg2d-report-") as folder:
        path = pathlib.Path(folder) / "sweep.jsonl"
        words = ("--class", "S", "--ranks", ",".join(map(str, RANK_COUNTS)), "--repeat", ROUNDS, "--output", path)
        outcome = run_program(max(RANK_COUNTS), "sweep", *words)
        assert outcome.exit_code == 0, f"no sweep: {outcome}"
        # No text of a report depends on the machine that runs the tests, which may be disturbed.
        return [as_disturbed(json.loads(line)) for line in path.read_text().splitlines()]


def simulated_sweep(documents, times_s, round_count=9):
    """A sweep of so many rounds on the grids of the real one: {name of the grid: seconds}, in every round; 1 s for others."""
    once = {document["configuration"]["grid"]["name"]: document for document in documents}
    rounds = []
    for round_number in range(1, round_count + 1):
        for name, document in once.items():
            changed = copy.deepcopy(document)
            changed["sweep"].update(round=round_number, rounds=round_count, session="simulated", sitting=1)
            result = changed["result"]
            # A drift that hits all alike.
            result["time_s"] = times_s.get(name, 1.0) * (1 + 0.01 * (2 * round_number % round_count))
            result["repeats"]["times_s"] = [result["time_s"]]
            rounds.append(changed)
    return rounds


def write_lines(path, documents):
    """A sweep's file."""
    path = pathlib.Path(path)
    path.write_text("".join(json.dumps(document, separators=(",", ":")) + "\n" for document in documents))
    return path


@of_copies
def with_predictions(document):
    """Each phase predicted 10 % slower than it was."""
    ranks = document["phases"]["ranks"]
    phases = {phase: 1.1 * sum(rank["phases"][phase]["seconds"] for rank in ranks) / len(ranks) for phase in PHASES}
    document["prediction"] = {"machine": "test", "total_s": 1.1 * document["result"]["time_s"], "phases": phases}


@of_copies
def with_counters(document):
    """One event per phase that was counted and one that was not."""
    values = {"minimum": 375.0, "mean": 750.0, "maximum": 1125.0, "total": 1500.0}
    event = {
        "name": "perf::TASK-CLOCK", "kind": "nanoseconds", "phases": {phase: dict(values) for phase in PHASES},
        "total": 1500.0, "outside_phases": 0.0, "coverage": 1.0, "per_nonzero": None,
    }  # fmt: skip
    refused = {"name": "PAPI_L2_TCM", "reason": "Event does not exist"}
    document["counters"] = {
        "papi": None, "asked": [event["name"]], "events": [event], "refused": [refused], "multiplexed": False, "all_threads": True,
        "clocks_per_reading": 100.0, "reading_share": 0.001, "instructions_per_cycle": None, "figures": [], "ranks": [],
    }  # fmt: skip


@of_copies
def with_rooflines(document):
    """Limits of the machine, and phases that reach half of theirs; the shuffle has nothing to do."""
    phases = {phase: {"bytes": 8e6, "flops": 0.0, "limit_s": 1e-3, "measured_s": 2e-3, "share": 0.5} for phase in PHASES}
    for phase, flops in (("multiply", 1.5e6), ("dot", 1e6), ("vector_updates", 0.5e6)):
        phases[phase]["flops"] = flops
    phases["shuffle"] = dict.fromkeys(phases["shuffle"], 0.0)
    document["roofline"] = {
        "matrix_bytes_per_s": 8e9, "vector_bytes_per_s": 16e9, "flops_per_s": 32e9,
        "matrix_footprint_bytes": {"rank": 2_000_000, "total": 4_000_000},
        "vector_footprint_bytes": {"rank": 50_000, "total": 100_000}, "phases": phases,
    }  # fmt: skip


def with_kernel(document, kernel):
    """The same, as if that kernel had been asked for and run."""
    changed = copy.deepcopy(document)
    changed["configuration"]["kernel"] = kernel
    changed["configuration"]["tuning"]["kernel_by"] = "asked for"
    if "sweep" in changed:
        changed["sweep"]["configuration"]["kernel"] = kernel
    return changed


def with_second_kernel(documents):
    """Each run once more with another kernel that takes twice as long."""
    changed = [with_kernel(document, "test") for document in documents]
    for document in changed:
        document["result"]["repeats"]["times_s"] = [2 * time_s for time_s in document["result"]["repeats"]["times_s"]]
    return documents + changed


def as_streamed(document, limit_bytes, time_s, resident_panels=4):
    """A single run that took so long with a matrix of 100 MB on storage, half of it on each of two ranks, in 10 panels each: of these so
    many stay in memory. The others are read at 2 GB/s where the storage gives 4 GB/s, by products that wait for a quarter of their time."""
    changed = as_in_memory(document, time_s)
    read_bytes = 5_000_000 * (10 - resident_panels)
    product_s = max(read_bytes / 1e9, 1e-3)
    changed["out_of_core"] = {
        "folders": ["/scratch"], "reader": "io_uring", "memory_limit_bytes": limit_bytes, "write_s": 0.5, "device_write_s": 0.25,
        "unbound_memory_limit_bytes": 90_000_000 if read_bytes else 0, "in_core_memory_limit_bytes": 130_000_000 if read_bytes else 0,
        "ranks": [
            {
                "rank": rank, "file_bytes": 50_000_000, "panels": 10, "most_panel_bytes": 5_000_000, "resident_panels": resident_panels,
                "buffers": 2 if read_bytes else 0, "reused": False, "direct": True, "products": 100, "read_bytes": 100 * read_bytes,
                "wait_s": 25 * product_s if read_bytes else 0.0, "check_s": 0.0, "product_s": 100 * product_s,
                "storage_bytes_per_s": 2e9 if read_bytes else 0.0,
            }
            for rank in range(2)
        ],
    }  # fmt: skip
    return changed


def as_uneven(document, trial=True):
    """A run on two ranks whose second one is half as fast, with shares of two thirds and one third, or, without a trial, even ones."""
    document = copy.deepcopy(document)
    document["slow_ranks"] = {"ranks": [{"rank": 1, "factor": 2.0, "first_product": 0}]}
    nonzeros = (600, 300) if trial else (450, 450)
    for rank, entry, count, speed in zip(document["setup"]["ranks"], document["phases"]["ranks"], nonzeros, (2e9, 1e9)):
        rank["nonzeros"] = count
        for phase in entry["phases"].values():
            phase["waited_clocks"] = 0
        entry["phases"]["multiply"]["seconds"] = count * entry["phases"]["summation"]["calls"] / speed
    if trial:
        document["configuration"]["cut"] = "speed"
        document["configuration"]["speed_trial"] = {
            "ideal_nonzeros_per_s": 3e9, "reachable_nonzeros_per_s": 2.9e9, "even_nonzeros_per_s": 2e9,
            "speeds": [2e9, 1e9], "shares": [2 / 3, 1 / 3], "rank_at": [0, 1], "rounds": 2, "duration_s": 0.3, "from": "measurement", "kept_in": None, "not_kept_because": "",
        }  # fmt: skip
    return document


def as_in_memory(document, time_s):
    """A single run that took so long."""
    changed = copy.deepcopy(document)
    changed.pop("sweep", None)
    changed["result"]["time_s"] = time_s
    changed["result"]["repeats"].update(
        count=1, minimum_s=time_s, maximum_s=time_s, lower_quartile_s=time_s, upper_quartile_s=time_s, spread=None, times_s=[time_s]
    )
    return changed


@of_copies
def as_class_b(document):
    """The same times under the name of class B, which no test has the time to run."""
    document["problem"].update({"class": "B", "n": 75000, "nonzer": 13, "niter": 75, "shift": 60.0})


PROFILE = {
    "schema_version": 1,
    "processors": {
        "Test <processor>": {
            "critical_vector_length": 8,
            "row_lengths": [
                {"row_length": length, "scalar_ns_per_nonzero": 1.5, "vector_ns_per_nonzero": 12.0 / length}
                for length in (1, 2, 4, 8, 16, 32)
            ],
            "cases": [],
        }
    },
}

BENCH = {
    "context": {},
    "benchmarks": [
        {
            "run_name": f"S/{block}/{kernel}/real_time",
            "run_type": "iteration",
            "ns_per_nonzero": nanoseconds,
            "format_bytes_per_nonzero": bytes_per_nonzero,
            "read_bandwidth_GB/s": 20.0,
        }
        for block in ("whole", "4x4")
        for kernel, nanoseconds, bytes_per_nonzero in (("scalar", 1.2, 12.1), ("sell", 0.6, 10.2))
    ],
}

# Files of one session: name, ranks, words of the command.
SESSION = {
    "run.json": (4, ("run", "--class", "S", "--grid", "2x2", "--niter", "2", "--trace", "trace.json", "--format", "json")),
    "scaling.json": (2, ("scaling", "--class", "S", "--cores", "1,2", "--repeat", "2", "--format", "json")),
    "pingpong.json": (2, ("pingpong", "--class", "S", "--sizes", "8,64kB", "--format", "json")),
    "solve.json": (2, ("solve", "--operator", "laplace3d:9x9x9", "--format", "json")),
}


@functools.cache
def session_files():
    """Paths: a sweep with runs that counted, one file of each other kind, and a trace."""
    folder = pathlib.Path(FOLDER.name)
    sweep = real_sweep()
    grids = {document["configuration"]["grid"]["name"]: document for document in sweep}
    write_lines(folder / "sweep.jsonl", [*sweep, *with_rooflines(with_counters(list(grids.values())))])
    write_lines(folder / "later.jsonl", sweep)
    for name, (ranks, words) in SESSION.items():
        settled = (folder / word if word == "trace.json" else word for word in words)
        outcome = run_program(ranks, *settled, "--output", folder / name)
        assert outcome.exit_code == 0, f"no {name}: {outcome}"
    compared = run_program(0, "compare", folder / "sweep.jsonl", folder / "later.jsonl", "--format", "json")
    (folder / "compare.json").write_text(compared.stdout)
    (folder / "profile.json").write_text(json.dumps(PROFILE))
    (folder / "bench.json").write_text(json.dumps(BENCH))
    names = ["sweep.jsonl", *SESSION, "trace.json", "compare.json", "profile.json", "bench.json"]
    return [folder / name for name in names]
