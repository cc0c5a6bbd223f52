"""Where the results come from: a table of the runs by file, date and machine, and the details of what ran."""

from .html_parts import definitions, details, escape, table
from .quiet import disturbed_count
from .schema import schema_of, values_at


def several(values):
    """Each different value once."""
    return "; ".join(dict.fromkeys(str(value) for value in values))


def counted(count, word):
    return f"{count} {word}" + ("" if count == 1 else "s")


def commit_text(document):
    provenance = document.get("provenance")
    if not provenance:
        return "not known"
    return provenance["commit"][:12] + (", tree changed" if provenance["tree_changed"] else "")


def file_of(run):
    """Without its line."""
    name, _, line = run.source.rpartition(":")
    return name if name and line.isdigit() else run.source


def short_names(paths):
    """{path: its last part}; the whole paths where these are not different."""
    names = {path: str(path).rpartition("/")[2] for path in paths}
    return names if len(set(names.values())) == len(names) else {path: str(path) for path in paths}


def day_of(document):
    """2026-11-23 06:59, or "not known"."""
    provenance = document.get("provenance")
    return provenance["time"][:16].replace("T", " ") if provenance else "not known"


def machine_of(document):
    nodes = document["environment"]["nodes"]
    count = f"{len(nodes)} x " if len(nodes) > 1 else ""
    return f"{count}{nodes[0]['processor']}, {counted(nodes[0]['cores'], 'core')}"


def origin_html(runs):
    """The line below the title: machine, dates and commit of all runs."""
    documents = [run.document for run in runs]
    if not documents:
        return ""
    days = [day_of(document) for document in documents]
    known = [day for day in days if day != "not known"]
    texts = [
        several(machine_of(document) for document in documents),
        span(known) if known else "date not known",
        "commit " + several(commit_text(document) for document in documents),
    ]
    return f'<p class="origin">{escape(" · ".join(texts))}</p>'


def span(texts):
    """From the first date to the last; of the same day, only the time."""
    first, last = min(texts), max(texts)
    return first if first == last else f"{first} to {last[11:] if last[:10] == first[:10] else last}"


def problem_of(run):
    problem = run.problem
    if "system" in problem:
        return problem["system"]
    return problem["class"] if problem["class"] != "U" else f"n {problem['n']}"


def groups_of(runs):
    """Runs of a file on a machine with a commit."""
    groups = {}
    for run in runs:
        key = file_of(run), machine_of(run.document), commit_text(run.document)
        groups.setdefault(key, []).append(run)
    return groups


def group_row(key, runs):
    path, machine, commit = key
    documents = [run.document for run in runs]
    reasons = [reason for run in runs for reason in run.disturbances]
    wrong = sum(run.is_wrong for run in runs)
    is_checked = all(document["result"]["verified"] for document in documents)
    checked = counted(wrong, "wrong result") if wrong else "yes" if is_checked else "no reference"
    ranks = ", ".join(map(str, sorted({run.configuration["ranks"] for run in runs})))
    return (
        path, span([day_of(document) for document in documents]), machine, several(problem_of(run) for run in runs), ranks, len(runs),
        f"{disturbed_count(reasons)} of {len(reasons)}", checked, commit,
    )  # fmt: skip


def metrics_of(documents):
    """[(name, least to largest)] of what cg2d compare compares; of a list over the ranks the largest counts."""
    pairs = []
    for label, unit, path in schema_of("solve" if "system" in documents[0] else "run").metrics:
        values = [max(found) for document in documents if (found := values_at(document, path))]
        if values:
            scale, name = (1e-6, "MB") if unit == "B" else (1, unit)
            ends = dict.fromkeys(f"{scale * end:.4g}" for end in (min(values), max(values)))
            pairs.append((label.lower(), f"{' to '.join(ends)} {name}".rstrip()))
    return pairs


def facts_of(runs):
    documents = [run.document for run in runs]
    environments = [document["environment"] for document in documents]
    nodes = [node for environment in environments for node in environment["nodes"]]
    crowded = sum(bool(environment.get("oversubscribed")) for environment in environments)
    origins = [document.get("provenance") or {} for document in documents]
    pairs = [
        ("machine", several(f"{node['name']}: {node['processor']}, {node['cores']} cores" for node in nodes)),
        ("nodes of a run", several(sorted({len(environment["nodes"]) for environment in environments}))),
        ("MPI", several(environment["mpi"] for environment in environments)),
        ("BLAS", several(environment["blas"] for environment in environments)),
        ("compiler", several(f"{e['compiler']}, {e['flags']}".rstrip(", ") for e in environments)),
        ("huge pages", several(environment["transparent_huge_pages"] or "not known" for environment in environments)),
        ("instruction set", several(document["configuration"]["instruction_set"] or "not known" for document in documents)),
        ("system", several(f"{origin['kernel']}, {origin['libc']}" for origin in origins if "kernel" in origin and "libc" in origin)),
        ("cg2d", several(document["program"]["version"] for document in documents)),
        ("commit", several(commit_text(document) for document in documents)),
        ("first command", " ".join(map(str, next((origin["command"] for origin in origins if "command" in origin), [])))),
        ("crowded", f"{crowded or 'none'} of {counted(len(runs), 'run')} had more ranks or threads than cores"),
    ]
    return [(name, text) for name, text in pairs if text] + metrics_of(documents)


def runs_html(runs):
    """A section; empty without runs."""
    if not runs:
        return ""
    groups = groups_of(runs)
    short = short_names({path for path, _, _ in groups})
    heads = ("file", "measured", "machine", "problem", "ranks", "runs", "disturbed", "verified", "commit")
    rows = [group_row((short[path], *key), found) for (path, *key), found in groups.items()]
    facts = "".join(
        details(f"Machine and build of {short[path]}", definitions(facts_of(found))) for (path, *_), found in groups.items()
    )
    return f'<section id="runs"><h2>Runs</h2>{table(heads, rows, (5, 6), "Runs by file, machine and commit")}{facts}</section>'
