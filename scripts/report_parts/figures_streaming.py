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


class Timed:
    """Results of one way with one memory limit: all their times, and the documents by the medians of theirs."""

    def __init__(self):
        self.times_s, self.documents = [], []

    def add(self, times_s, document):
        self.times_s += times_s
        self.documents.append((statistics.median_low(times_s), document))

    @property
    def median_s(self):
        return statistics.median_low(self.times_s)

    @property
    def document(self):
        """The one whose time is nearest to the median of all."""
        return min(self.documents, key=lambda one: abs(one[0] - self.median_s))[1]


def sweeps(material):
    """{way: ({bytes: Timed}, growing; Timed in memory, or None)} of the ways that were streamed with several limits; without results
    whose program did not note the limit, or had none."""
    found = {}
    for way, times_s, document in (*timed_runs(material), *timed_solves(material)):
        limit = document["out_of_core"]["memory_limit_bytes"] if document.get("out_of_core") else "memory"
        if limit:
            found.setdefault(way, {}).setdefault(limit, Timed()).add(times_s, document)
    split = {way: (own, own.pop("memory", None)) for way, own in found.items()}
    return {way: (dict(sorted(limits.items())), in_memory) for way, (limits, in_memory) in split.items() if len(limits) > 1}


# ---------------------------------------------------------------- the figure

MEGA = 1e6
GIGA = 1e9


def size(byte_count):
    return f"{byte_count / MEGA:.4g} MB"


def file_bytes(document):
    return sum(rank["file_bytes"] for rank in document["out_of_core"]["ranks"])


def point_tip(name, limit, timed, in_memory):
    """The figures of one streamed result's storage, all ranks together; of products only where some were timed."""
    time_s, count, every = timed.median_s, len(timed.times_s), timed.document["out_of_core"]["ranks"]
    whole = file_bytes(timed.document)
    stays = sum(rank["file_bytes"] * rank["resident_panels"] / rank["panels"] for rank in every)
    slower = f": {time_s / in_memory.median_s:.2f} x the time in memory" if in_memory else ""
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


def sweep_line(name, way, limits, in_memory):
    band = {}
    if max(len(timed.times_s) for timed in limits.values()) > 1:
        band = {word: [end(timed.times_s) for timed in limits.values()] for word, end in (("low", min), ("high", max))}
    tips = [point_tip(way[2], limit, timed, in_memory) for limit, timed in limits.items()]
    return Line(name, [limit / MEGA for limit in limits], [timed.median_s for timed in limits.values()], tips, **band)


def bound_lines(limits, top_s):
    """Upright lines at the medians of the limits that the runs themselves name; none where nothing was streamed."""
    lines = []
    for key, name, colour in (
        ("unbound_memory_limit_bytes", "from here on reading is as fast as multiplying", style.SERIES[2]),
        ("in_core_memory_limit_bytes", "from here on nothing is read", style.GREY),
    ):
        bounds = [document["out_of_core"][key] for timed in limits.values() for _, document in timed.documents]
        if bounds := list(filter(None, bounds)):
            bound = statistics.median_low(bounds)
            lines.append(rule(name, [bound / MEGA] * 2, [0.0, top_s], f"--memory-limit {size(bound)}: {name}", colour))
    return lines


def panel_of(problem, found):
    """found: the items of sweeps() of one problem."""
    is_alone = len(found) == 1
    lines = [sweep_line("streamed" if is_alone else way[2], way, *own) for way, own in found]
    bounds = bound_lines(found[0][1][0], max(lines[0].high or lines[0].y)) if is_alone else []
    x = [value for line in (*lines, *bounds) for value in line.x]
    for index, ((way, (_, in_memory)), line) in enumerate(zip(found, tuple(lines))):
        if in_memory:
            colour = style.series_style(1 if is_alone else index)[0]
            name = "in memory" if is_alone else f"{line.name}, in memory"
            tip = f"{way[2]}\nin memory: {seconds(in_memory.median_s)}"
            lines.append(rule(name, [min(x), max(x)], [in_memory.median_s] * 2, tip, colour))
    title = f"{problem}, {found[0][0][2]}" if is_alone else problem
    sizes = {size(file_bytes(timed.documents[0][1])) for _, (limits, _) in found for timed in limits.values()}
    matrix = f" (the matrix has {sizes.pop()})" if len(sizes) == 1 else ""
    limit = Axis(f"--memory-limit of a node, MB{matrix}")
    return LinePanel(title, limit, Axis("Time", from_zero=True, is_time=True), [*lines, *bounds])


def streaming(material):
    panels = {}
    for way, own in sweeps(material).items():
        panels.setdefault(way[0], []).append((way, own))
    if not panels:
        return (
            "no problem was run or solved with --out-of-core and several values of --memory-limit, on one grid with one kernel; a "
            "result in memory gives the line to compare with"
        )
    return Figure(
        [panel_of(*item) for item in panels.items()][:MOST_PANELS],
        "The limit covers all memory of a node, with vectors and the program itself. Times are medians. A point says what stays in memory, "
        "and what is read and waited for.",
    )
