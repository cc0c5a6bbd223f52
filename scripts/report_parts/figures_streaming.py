"""Figure of a matrix on local storage: time over the memory limit."""

import dataclasses
import statistics

from . import style
from .figures_grid import MOST_PANELS, ranks_text
from .panels import Axis, Figure, Line, LinePanel, rule
from .studies import file_name
from .times import seconds

# ---------------------------------------------------------------- results by what they computed and by their memory limits

# Of a configuration: names say what is different.
USUAL = {
    "transport": "two-sided", "sum_form": "reduce-scatter", "threads": 1, "overlap": False, "reproducible": False,
    "ranks_per_node": 0,
}  # fmt: skip


@dataclasses.dataclass(frozen=True)
class Way:
    """What the times of one line have in common: problem (with the label of its set of results), machine, and how it was computed."""

    panel_name: str
    machine: str
    name: str


def choice_text(key, value):
    return value if isinstance(value, str) else key if value is True else f"{key.replace('_', ' ')} {value}"


def way_of(document, panel_name, arrangement):
    configuration, nodes = document["configuration"], document["environment"]["nodes"]
    chosen = {key: configuration.get(key, usual) for key, usual in USUAL.items()}
    if configuration.get("transport_by") == "built-in rule":
        chosen["transport"] = USUAL["transport"]
    unusual = [choice_text(key, value) for key, value in chosen.items() if value != USUAL[key]]
    name = ", ".join(filter(None, (ranks_text(configuration["ranks"]), arrangement, configuration["kernel"], *unusual)))
    return Way(panel_name, f"{len(nodes)} x {nodes[0]['processor']}", name)


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


class Sweep:
    """The results of one way. limits: those by their memory limits, {bytes: Limit}, growing; without those that had no limit, or
    whose program did not note it. in_memory: those without storage."""

    def __init__(self, way):
        self.way = way
        self.limits, self.in_memory = {}, Limit()

    def add(self, times_s, document):
        stream = document.get("out_of_core")
        if not stream:
            self.in_memory.add(times_s, document)
        elif limit := stream["memory_limit_bytes"]:
            self.limits.setdefault(limit, Limit()).add(times_s, document)
            self.limits = dict(sorted(self.limits.items()))

    @property
    def in_memory_s(self):
        return self.in_memory.median_s if self.in_memory.times_s else None

    def bound(self, key):
        """The median of a limit that the runs name; None where none does: nothing was streamed."""
        values = [value for limit in self.limits.values() for _, document in limit.results if (value := document["out_of_core"][key])]
        return statistics.median_low(values) if values else None


class Limit:
    """Results with one memory limit, [(median, document)], and all of their times."""

    def __init__(self):
        self.results, self.times_s = [], []

    def add(self, times_s, document):
        self.results.append((statistics.median_low(times_s), document))
        self.times_s += times_s

    @property
    def median_s(self):
        return statistics.median_low(self.times_s)

    def facts(self):
        """Of the result whose time is nearest to the median of all."""
        return Facts(min(self.results, key=lambda result: abs(result[0] - self.median_s))[1])


def sweeps(material):
    """[Sweep] of the ways that were streamed with several limits."""
    found = {}
    for way, times_s, document in (*timed_runs(material), *timed_solves(material)):
        found.setdefault(way, Sweep(way)).add(times_s, document)
    return [sweep for sweep in found.values() if len(sweep.limits) > 1]


class Facts:
    """What one streamed result says of its storage, all ranks together; rates and shares are None where no product was timed."""

    def __init__(self, document):
        stream = document["out_of_core"]
        ranks = [rank for rank in stream["ranks"] if rank["products"] and rank["product_s"]]
        self.file_bytes = sum(rank["file_bytes"] for rank in stream["ranks"])
        stays = sum(rank["file_bytes"] * rank["resident_panels"] / rank["panels"] for rank in stream["ranks"])
        self.stays = stays / self.file_bytes if self.file_bytes else None
        self.product_bytes = sum(rank["read_bytes"] / rank["products"] for rank in ranks)
        self.bytes_per_s = sum(rank["read_bytes"] / rank["product_s"] for rank in ranks)
        self.storage_bytes_per_s = sum(rank["storage_bytes_per_s"] for rank in stream["ranks"])
        self.waited = max((rank["wait_s"] / rank["product_s"] for rank in ranks), default=None)


# ---------------------------------------------------------------- the figure

MEGA = 1e6
GIGA = 1e9


def percent_of(share):
    return "" if share is None else f"{100 * share:.0f} %"


def rate(bytes_per_s):
    return f"{bytes_per_s / GIGA:.3g} GB/s" if bytes_per_s else "none"


def size(byte_count):
    return f"{byte_count / MEGA:.4g} MB"


def times_slower(sweep, time_s):
    return f"{time_s / sweep.in_memory_s:.2f} x" if sweep.in_memory_s else ""


def tip_of(sweep, limit):
    found = sweep.limits[limit]
    facts, time_s, count = found.facts(), found.median_s, len(found.times_s)
    slower = times_slower(sweep, time_s)
    lines = [
        f"{sweep.way.name}, --memory-limit {size(limit)}",
        f"{seconds(time_s)}{f', median of {count}' if count > 1 else ''}{f': {slower} the time in memory' if slower else ''}",
        f"{percent_of(facts.stays)} of the matrix of {size(facts.file_bytes)} stays in memory",
    ]
    if facts.product_bytes:
        read = f"a product reads {size(facts.product_bytes)} at {rate(facts.bytes_per_s)}"
        lines.append(f"{read}, and waits {percent_of(facts.waited)} of its time")
    if facts.storage_bytes_per_s:
        lines.append(f"the storage alone gives {rate(facts.storage_bytes_per_s)}")
    return "\n".join(lines)


def sweep_line(sweep, name):
    limits = sweep.limits.values()
    band = {}
    if max(len(limit.times_s) for limit in limits) > 1:
        band = {"low": [min(limit.times_s) for limit in limits], "high": [max(limit.times_s) for limit in limits]}
    x, y = [limit / MEGA for limit in sweep.limits], [limit.median_s for limit in limits]
    return Line(name, x, y, [tip_of(sweep, limit) for limit in sweep.limits], **band)


def in_memory_line(sweep, name, colour, ends):
    tip = f"{sweep.way.name}\nin memory: {seconds(sweep.in_memory_s)}"
    return rule(name, ends, [sweep.in_memory_s] * 2, tip, colour)


def bound_lines(sweep, top_s):
    """Upright lines at the limits that the runs themselves name."""
    lines = []
    for key, name, colour in (
        ("unbound_memory_limit_bytes", "from here on reading is as fast as multiplying", style.SERIES[2]),
        ("in_core_memory_limit_bytes", "from here on nothing is read", style.GREY),
    ):
        if bound := sweep.bound(key):
            tip = f"--memory-limit {size(bound)}: {name}"
            lines.append(rule(name, [bound / MEGA] * 2, [0.0, top_s], tip, colour))
    return lines


def panel_of(name, found):
    """found: the sweeps of one problem."""
    is_alone = len(found) == 1
    lines = [sweep_line(sweep, "streamed" if is_alone else sweep.way.name) for sweep in found]
    bounds = bound_lines(found[0], max(lines[0].high or lines[0].y)) if is_alone else []
    x = [value for line in (*lines, *bounds) for value in line.x]
    for index, (sweep, line) in enumerate(zip(found, tuple(lines))):
        if sweep.in_memory_s:
            colour = style.series_style(1 if is_alone else index)[0]
            lines.append(in_memory_line(sweep, "in memory" if is_alone else f"{line.name}, in memory", colour, [min(x), max(x)]))
    title = f"{name}, {found[0].way.name}" if is_alone else name
    sizes = {size(Facts(limit.results[0][1]).file_bytes) for sweep in found for limit in sweep.limits.values()}
    matrix = f" (the matrix has {sizes.pop()})" if len(sizes) == 1 else ""
    limit = Axis(f"--memory-limit of a node, MB{matrix}")
    return LinePanel(title, limit, Axis("Time", from_zero=True, is_time=True), [*lines, *bounds])


def streaming(material):
    found = sweeps(material)
    if not found:
        return (
            "no problem was run or solved with --out-of-core and several values of --memory-limit, on one grid with one kernel; a "
            "result in memory gives the line to compare with"
        )
    panels = {}
    for sweep in found:
        panels.setdefault(sweep.way.panel_name, []).append(sweep)
    return Figure(
        [panel_of(name, own) for name, own in panels.items()][:MOST_PANELS],
        "The limit covers all memory of a node, with vectors and the program itself. Times are medians. A point says what stays in memory, "
        "and what is read and waited for.",
    )
