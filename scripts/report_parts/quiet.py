"""The quiet of the machine: which times other work disturbed, and which runs were repeated for that."""

import collections


def disturbances_of(document):
    """Why each repeat of a result was disturbed, "" for a quiet one."""
    times_s = document["result"]["repeats"]["times_s"]
    repeats = (document.get("quiet") or {"repeats": []})["repeats"]
    reasons = ["; ".join(repeat["reasons"]) for repeat in repeats]
    return reasons if len(reasons) == len(times_s) else [""] * len(times_s)


def without_replaced(runs, replaced, notes):
    """The runs without those at these places, which cg2d names; one note for each file that had some."""
    left_out = collections.Counter(run.source.rpartition(":")[0] for run in runs if run.source in replaced)
    for path, count in left_out.items():
        were = "1 disturbed run that was repeated is" if count == 1 else f"{count} disturbed runs that were repeated are"
        notes.append(f"{path}: {were} left out; only the last attempt of a round counts")
    return [run for run in runs if run.source not in replaced]


def disturbed_count(reasons):
    return sum(bool(reason) for reason in reasons)


def mark(case):
    """For tables: " (2 disturbed)"; nothing where all runs were quiet."""
    count = disturbed_count(case.disturbances)
    return f" ({count} disturbed)" if count else ""


def page_lines(runs):
    """Texts for the top of the page: how many times were disturbed, and the first reason; none where all were quiet."""
    reasons = [reason for run in runs for reason in run.disturbances]
    count = disturbed_count(reasons)
    if not count:
        return []
    were = "time was" if len(reasons) == 1 else ("times was" if count == 1 else "times were")
    first = next(reason for reason in reasons if reason)
    return [f"{count} of {len(reasons)} {were} disturbed by other work on the machine, and may be too long: {first}."]
