"""Runs one class on many grids and checks every result: zeta, exit code, verdict.

    python3 tests/program/class_grids_test.py --class S --ranks 1-36
    python3 tests/program/class_grids_test.py --class B --ranks 1,2,4 --grids rule
"""

import argparse
import sys
import time

from program_runner import factorizations, run_program

# The references of the benchmark.
REFERENCE_ZETA = {
    "S": 8.5971775078648,
    "W": 10.362595087124,
    "A": 17.130235054029,
    "B": 22.712745482631,
    "C": 28.973605592845,
}

# The benchmark allows 1e-10. Grids differ only in the order of additions, whose effect is far smaller.
TOLERANCE = 1e-12

# The longest run is that of class C: about 100 s on 2 cores.
RUN_TIMEOUT_S = 280.0


def rank_counts_from(text):
    """"1,4-6" -> [1, 4, 5, 6]"""
    counts = []
    for part in text.split(","):
        first, _, last = part.partition("-")
        counts += range(int(first), int(last or first) + 1)
    return counts


def failure_of(class_name, rank_count, grid):
    """The fault of a run, an empty text if there is none, and its relative error."""
    outcome = run_program(rank_count, "run", "--class", class_name, "--grid", grid, "--format", "json", timeout_s=RUN_TIMEOUT_S)
    if outcome.exit_code != 0:
        return f"ends with {outcome.exit_code}\n{outcome}", 0.0
    document = outcome.document()
    result, ran = document["result"], document["configuration"]["grid"]["name"]
    error = abs(result["zeta"] - REFERENCE_ZETA[class_name]) / REFERENCE_ZETA[class_name]
    if grid not in ("rule", ran):
        return f"ran on {ran}", error
    if result["verified"] is not True:
        return "not verified", error
    if not error <= TOLERANCE:
        return f"zeta {result['zeta']!r} is off by {error:.2e}, more than {TOLERANCE:g}", error
    return "", error


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--class", dest="class_name", required=True, choices=REFERENCE_ZETA)
    parser.add_argument("--ranks", required=True, type=rank_counts_from, help="such as 1,2,4 or 1-36")
    parser.add_argument("--grids", default="all", choices=("all", "rule"))
    options = parser.parse_args()

    start = time.monotonic()
    grid_count, failure_count, largest_error = 0, 0, 0.0
    for rank_count in options.ranks:
        for grid in ["rule"] if options.grids == "rule" else [f"{columns}x{rows}" for columns, rows in factorizations(rank_count)]:
            failure, error = failure_of(options.class_name, rank_count, grid)
            grid_count += 1
            largest_error = max(largest_error, error)
            if failure:
                failure_count += 1
                print(f"class {options.class_name}, {rank_count} ranks, grid {grid}: {failure}", flush=True)
    print(
        f"class {options.class_name}: {grid_count} grids in {time.monotonic() - start:.1f} s, {failure_count} failed, "
        f"largest relative error of zeta {largest_error:.1e}"
    )
    return 1 if failure_count or not grid_count else 0


if __name__ == "__main__":
    sys.exit(main())
