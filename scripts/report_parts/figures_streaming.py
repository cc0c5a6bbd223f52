"""Figure of a matrix on local storage: time over the memory limit."""

import statistics

from . import style
from .figures_grid import MOST_PANELS, ranks_text
from .panels import Axis, Figure, Line, LinePanel, rule
from .studies import file_name
from .times import seconds

# ---------------------------------------------------------------- results by what they computed and by their memory limits

def way_of(document, panel_name, arrangement):
    """The key of the times of one line: (problem, with the label of its set of results; machine; how it was computed)."""
    configuration, nodes = document["configuration"], document["environment"]["nodes"]
    names = [ranks_text(configuration["ranks"]), arrangement, *(configuration[key] for key in ("kernel", "transport", "sum_form"))]
    names += [word for word in ("overlap", "reproducible") if configuration.get(word)]
    numbers = {word: configuration.get(word) or 0 for word in ("threads", "ranks_per_node")}
    names += [f"{number} {word.replace('_', ' ')}" for word, number in numbers.items() if number > 1]
    return panel_name, f"{len(nodes)} x {nodes[0]['processor']}", ", ".join(names)


def timed_runs(material):
    """[(way, times, document)] of the runs of the benchmark whose times are compared."""
    for study in material.studies:
        for rank_count, rows in study.tables.items():
            compared = {place for row in rows for cell in row["cells"] if cell["times"] for place in cell["runs"]}
            for run in (run for case in study.every_case(rank_count) for run in case.runs if run.source in compared):
                yield way_of(run.document, study.name, run.arrangement), run.times_s, run.document


def solve_name(document):
    """Of what was computed: solves of the same name do the same work."""
    system, result = document["system"], document["result"]
    count = len(result.get("right_hand_sides", [])) or 1
    parts = [file_name(system["matrix"]), f"n {document['setup']['n']}", f"{result['iterations']} iterations"]
    parts += [system[key] for key, usual in (("preconditioner", "none"), ("variant", "classic")) if system[key] != usual]
    return ", ".join(parts + ([f"{count} right-hand sides"] if count > 1 else []))


def timed_solves(material):
    """The same of cg2d solve."""
    for document in material.inputs.solves:
        if document["status"] == "success" and document["system"]["is_assembled"] and document["result"]["time_s"] > 0:
            way = way_of(document, solve_name(document), document["configuration"]["grid"]["name"])
            yield way, [document["result"]["time_s"]], document


def times_of(results):
    return [time_s for times_s, _ in results for time_s in times_s]


def median_of(results):
    return statistics.median_low(times_of(results))


def sweeps(material):
    """{way: ({bytes: results}, growing; results in memory, if any)} of the ways that were streamed with several limits; without results whose
    program did not note the limit, or had none. results: [(times, document)]"""
    found = {}
    for way, times_s, document in (*timed_runs(material), *timed_solves(material)):
        limit = document["out_of_core"]["memory_limit_bytes"] if document.get("out_of_core") else "memory"
        if limit:
            found.setdefault(way, {}).setdefault(limit, []).append((times_s, document))
    split = {way: (own, own.pop("memory", [])) for way, own in found.items()}
    return {way: (dict(sorted(limits.items())), in_memory) for way, (limits, in_memory) in split.items() if len(limits) > 1}


# ---------------------------------------------------------------- the figure

MEGA = 1e6
GIGA = 1e9


def size(byte_count):
    return f"{byte_count / MEGA:.4g} MB"


def file_bytes(document):
    return sum(rank["file_bytes"] for rank in document["out_of_core"]["ranks"])


def point_tip(name, limit, results, in_memory):
    """The figures of one streamed result's storage, all ranks together; of products only where some were timed."""
    time_s, count = median_of(results), len(times_of(results))
    document = min(results, key=lambda one: abs(statistics.median_low(one[0]) - time_s))[1]
    every, whole = document["out_of_core"]["ranks"], file_bytes(document)
    stays = sum(rank["file_bytes"] * rank["resident_panels"] / rank["panels"] for rank in every)
    slower = f": {time_s / median_of(in_memory):.2f} x the time in memory" if in_memory else ""
    lines = [
        f"{name}, --memory-limit {size(limit)}",
        f"{seconds(time_s)}{f', median of {count}' if count > 1 else ''}{slower}",
        f"{f'{100 * stays / whole:.0f} %' if whole else ''} of the matrix of {size(whole)} stays in memory",
    ]
    ranks = [rank for rank in every if rank["products"] and rank["product_s"]]
    if read_bytes := sum(rank["read_bytes"] / rank["products"] for rank in ranks):
        rate = sum(rank["read_bytes"] / rank["product_s"] for rank in ranks) / GIGA
        waited = max(rank["wait_s"] / rank["product_s"] for rank in ranks)
        lines.append(f"a product reads {size(read_bytes)} at {rate:.3g} GB/s, and waits {100 * waited:.0f} % of its time")
    if storage_rate := sum(rank["storage_bytes_per_s"] for rank in every):
        lines.append(f"the storage alone gives {storage_rate / GIGA:.3g} GB/s")
    return "\n".join(lines)


# Limits that the runs themselves name.
BOUNDS = (
    ("unbound_memory_limit_bytes", "from here on reading is as fast as multiplying", style.SERIES[2]),
    ("in_core_memory_limit_bytes", "from here on nothing is read", style.GREY),
)


def panel_of(way, limits, in_memory):
    """A line over the limits, beside the time in memory, and upright lines at the medians of the bounds."""
    problem, _, how = way
    documents = [document for results in limits.values() for _, document in results]
    times_s = list(map(times_of, limits.values()))
    tips = [point_tip(how, limit, results, in_memory) for limit, results in limits.items()]
    y, low, high = (list(map(value_of, times_s)) for value_of in (statistics.median_low, min, max))
    lines = [Line("streamed", [limit / MEGA for limit in limits], y, tips, low=low, high=high)]
    for key, name, colour in BOUNDS:
        if named := list(filter(None, (document["out_of_core"][key] for document in documents))):
            bound = statistics.median_low(named)
            lines.append(rule(name, [bound / MEGA] * 2, [0.0, max(high)], f"--memory-limit {size(bound)}: {name}", colour))
    if in_memory:
        x, time_s = [value for line in lines for value in line.x], median_of(in_memory)
        tip = f"{how}\nin memory: {seconds(time_s)}"
        lines.insert(1, rule("in memory", [min(x), max(x)], [time_s] * 2, tip, style.series_style(1)[0]))
    across = Axis(f"--memory-limit of a node, MB (the matrix has {size(file_bytes(documents[0]))})")
    return LinePanel(f"{problem}, {how}", across, Axis("Time", from_zero=True, is_time=True), lines)


def streaming(material):
    panels = [panel_of(way, *own) for way, own in sweeps(material).items()]
    note = (
        "The limit covers all memory of a node, with vectors and the program itself. Times are medians. A point says what stays in memory, "
        "and what is read and waited for."
    )
    return Figure(panels[:MOST_PANELS], note) if panels else (
        "no problem was run or solved with --out-of-core and several values of --memory-limit, on one grid with one kernel; a result in "
        "memory gives the line to compare with"
    )
