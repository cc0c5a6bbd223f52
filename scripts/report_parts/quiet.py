"""The quiet of the machine: which times other work disturbed, and which runs were repeated for that."""


def disturbances_of(document):
    """Why each repeat of a result was disturbed, "" for a quiet one; results of schema_version 1 do not say."""
    times_s = document["result"]["repeats"]["times_s"]
    repeats = (document.get("quiet") or {"repeats": []})["repeats"]
    reasons = ["; ".join(repeat["reasons"]) for repeat in repeats]
    return reasons if len(reasons) == len(times_s) else [""] * len(times_s)


def without_replaced(path, documents, notes):
    """Leaves out the runs of a sweep that a later attempt of their round replaces: [(place, document)]."""

    def place_in_sweep(document):
        """(round of a configuration, attempt), or None for a single run."""
        sweep = document.get("sweep") if isinstance(document, dict) else None
        if not isinstance(sweep, dict):
            return None
        attempt = sweep.get("attempt")
        return (str(sweep.get("key")), str(sweep.get("round"))), attempt if isinstance(attempt, int) else 1

    last = {}
    for found in filter(None, (place_in_sweep(document) for _, document in documents)):
        last[found[0]] = max(last.get(found[0], 1), found[1])

    def is_replaced(document):
        found = place_in_sweep(document)
        return found is not None and found[1] < last[found[0]]

    kept = [(place, document) for place, document in documents if not is_replaced(document)]
    if count := len(documents) - len(kept):
        runs = "1 disturbed run that was repeated is" if count == 1 else f"{count} disturbed runs that were repeated are"
        notes.append(f"{path}: {runs} left out; the last attempt of a round counts")
    return kept


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
