"""Runs one class on many grids and checks every result: zeta, exit code, verdict.

    python3 tests/program/class_grids_test.py --class S --ranks 1-36
    python3 tests/program/class_grids_test.py --class B --ranks 1,2,4 --grids rule
"""

import argparse
import sys

from program_runner import factorizations, run_program

# The references of the benchmark.
REFERENCE_ZETA = {"S": 8.5971775078648, "W": 10.362595087124, "A": 17.130235054029, "B": 22.712745482631, "C": 28.973605592845}

# The benchmark allows 1e-10. Grids differ only in the order of additions, whose effect is far smaller.
TOLERANCE = 1e-12

# The longest run is that of class C: about 100 s on 2 cores.
RUN_TIMEOUT_S = 280.0


def rank_counts_from(text):
    """"1,4-6" -> [1, 4, 5, 6]"""
    ranges = [part.partition("-") for part in text.split(",")]
    return [count for first, _, last in ranges for count in range(int(first), int(last or first) + 1)]


def failure_and_error(class_name, rank_count, grid):
    """The fault of a run, an empty text if there is none, and the relative error of its zeta."""
    outcome = run_program(rank_count, "run", "--class", class_name, "--grid", grid, "--format", "json", timeout_s=RUN_TIMEOUT_S)
    if outcome.exit_code != 0:
        return f"ends with {outcome.exit_code}\n{outcome}", 0.0
    document = outcome.document()
    result, ran = document["result"], document["configuration"]["grid"]["name"]
    error = abs(result["zeta"] / REFERENCE_ZETA[class_name] - 1.0)
    is_right = result["verified"] is True and error <= TOLERANCE and grid in ("rule", ran)
    return "" if is_right else f"ran on {ran}, verified {result['verified']}, zeta {result['zeta']!r} is off by {error:.2e}", error


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--class", dest="class_name", required=True, choices=REFERENCE_ZETA)
    parser.add_argument("--ranks", required=True, type=rank_counts_from, help="such as 1,2,4 or 1-36")
    parser.add_argument("--grids", default="all", choices=("all", "rule"))
    options = parser.parse_args()
    failures, errors = [], []
    for count in options.ranks:
        for grid in ["rule"] if options.grids == "rule" else [f"{columns}x{rows}" for columns, rows in factorizations(count)]:
            failure, error = failure_and_error(options.class_name, count, grid)
            errors.append(error)
            if failure:
                failures.append(failure)
                print(f"class {options.class_name}, {count} ranks, grid {grid}: {failure}", flush=True)
    print(f"class {options.class_name}: {len(errors)} grids, {len(failures)} failed, largest relative error of zeta {max(errors):.1e}")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
