"""Figure of a matrix on local storage: time over the memory limit."""

import dataclasses
import statistics

from . import style
from .figures_grid import MOST_PANELS, ranks_text
from .panels import Axis, Figure, Line, LinePanel, Table, rule
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
    """What the times of one line have in common: problem and machine, and how it was computed."""

    label: str  # of the set of results
    problem: str
    machine: str
    ranks: int
    arrangement: str
    kernel: str
    unusual: str  # of the other choices

    @property
    def name(self):
        return ", ".join(filter(None, (ranks_text(self.ranks), self.arrangement, self.kernel, self.unusual)))

    @property
    def panel_name(self):
        return f"{self.label}: {self.problem}" if self.label else self.problem


@dataclasses.dataclass(frozen=True)
class Timed:
    """One result: all of its times, and its streaming, None for a matrix in memory."""

    times_s: list
    document: dict

    @property
    def stream(self):
        return self.document.get("out_of_core")

    @property
    def median_s(self):
        return statistics.median_low(self.times_s)


def machine_of(document):
    nodes = document["environment"]["nodes"]
    return f"{len(nodes)} x {nodes[0]['processor']}"


def choice_text(key, value):
    return value if isinstance(value, str) else key if value is True else f"{key.replace('_', ' ')} {value}"


def way_of(document, label, problem, arrangement):
    configuration = document["configuration"]
    chosen = {key: configuration.get(key, usual) for key, usual in USUAL.items()}
    if configuration.get("transport_by") == "built-in rule":
        chosen["transport"] = USUAL["transport"]
    unusual = ", ".join(choice_text(key, value) for key, value in chosen.items() if value != USUAL[key])
    return Way(label, problem, machine_of(document), configuration["ranks"], arrangement, configuration["kernel"], unusual)


def timed_runs(material):
    """[(way, timed)] of the runs of the benchmark whose times are compared."""
    for study in material.studies:
        name = study.name.removeprefix(f"{study.label}: ")
        for rank_count, rows in study.tables.items():
            compared = {place for row in rows for cell in row["cells"] if cell["times"] for place in cell["runs"]}
            for run in (run for case in study.every_case(rank_count) for run in case.runs if run.source in compared):
                yield way_of(run.document, study.label, name, run.arrangement), Timed(run.times_s, run.document)


def solve_name(document):
    """Of what was computed: solves of the same name do the same work."""
    system, result = document["system"], document["result"]
    count = len(result.get("right_hand_sides", [])) or 1
    parts = [file_name(system["matrix"]), f"n {document['setup']['n']}", f"{result['iterations']} iterations"]
    parts += [system[key] for key, usual in (("preconditioner", "none"), ("variant", "classic")) if system[key] != usual]
    return ", ".join(parts + ([f"{count} right-hand sides"] if count > 1 else []))


def timed_solves(material):
    """The same of cg2d solve."""
    for study in material.inputs.solves:
        document = study.document
        if document["status"] == "success" and document["system"]["is_assembled"] and document["result"]["time_s"] > 0:
            way = way_of(document, "", solve_name(document), document["configuration"]["grid"]["name"])
            yield way, Timed([document["result"]["time_s"]], document)


class Sweep:
    """The results of one way. limits: those by their memory limits, {bytes: [Timed]}, growing; without those that had no limit, or
    whose program did not note it. in_memory: those without storage."""

    def __init__(self, way):
        self.way = way
        self.limits, self.in_memory = {}, []

    def add(self, timed):
        if not timed.stream:
            self.in_memory.append(timed)
        elif limit := timed.stream["memory_limit_bytes"]:
            self.limits = dict(sorted({**self.limits, limit: [*self.limits.get(limit, []), timed]}.items()))

    @property
    def in_memory_s(self):
        return median_of(self.in_memory) if self.in_memory else None

    def bound(self, key):
        """The median of a limit that the runs name; None where none does: nothing was streamed."""
        values = [timed.stream[key] for found in self.limits.values() for timed in found if timed.stream[key]]
        return statistics.median_low(values) if values else None


def times_of(found):
    return [time_s for timed in found for time_s in timed.times_s]


def median_of(found):
    return statistics.median_low(times_of(found))


def typical(found):
    """The result whose time is nearest to the median of all."""
    median_s = median_of(found)
    return min(found, key=lambda timed: abs(timed.median_s - median_s))


def sweeps(material):
    """[Sweep] of the ways that were streamed with several limits."""
    found = {}
    for way, timed in (*timed_runs(material), *timed_solves(material)):
        found.setdefault(way, Sweep(way)).add(timed)
    return [sweep for sweep in found.values() if len(sweep.limits) > 1]


class Facts:
    """What one streamed result says of its storage, all ranks together; rates and shares are None where no product was timed."""

    def __init__(self, timed):
        stream = timed.stream
        ranks = [rank for rank in stream["ranks"] if rank["products"] and rank["product_s"]]
        nodes = len(timed.document["environment"]["nodes"])
        self.file_bytes = sum(rank["file_bytes"] for rank in stream["ranks"])
        stays = sum(rank["file_bytes"] * rank["resident_panels"] / rank["panels"] for rank in stream["ranks"])
        self.stays = stays / self.file_bytes if self.file_bytes else None
        self.limit_share = nodes * (stream["memory_limit_bytes"] or 0) / self.file_bytes if self.file_bytes else None
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
    facts, time_s = Facts(typical(found)), median_of(found)
    slower = times_slower(sweep, time_s)
    count = len(times_of(found))
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
    times = [times_of(found) for found in sweep.limits.values()]
    has_band = max(map(len, times)) > 1
    return Line(
        name, [limit / MEGA for limit in sweep.limits], [statistics.median_low(own) for own in times],
        [tip_of(sweep, limit) for limit in sweep.limits],
        low=[min(own) for own in times] if has_band else None, high=[max(own) for own in times] if has_band else None,
    )  # fmt: skip


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
        if sweep.in_memory:
            colour = style.series_style(1 if is_alone else index)[0]
            lines.append(in_memory_line(sweep, "in memory" if is_alone else f"{line.name}, in memory", colour, [min(x), max(x)]))
    title = f"{name}, {found[0].way.name}" if is_alone else name
    sizes = {size(Facts(own[0]).file_bytes) for sweep in found for own in sweep.limits.values()}
    matrix = f" (the matrix has {sizes.pop()})" if len(sizes) == 1 else ""
    limit = Axis(f"--memory-limit of a node, MB{matrix}")
    return LinePanel(title, limit, Axis("Time", from_zero=True, is_time=True), [*lines, *bounds])


def table_rows(sweep):
    for limit, found in sweep.limits.items():
        facts, time_s = Facts(typical(found)), median_of(found)
        yield (
            size(limit), percent_of(facts.limit_share), percent_of(facts.stays),
            size(facts.product_bytes) if facts.product_bytes else "nothing", rate(facts.bytes_per_s),
            rate(facts.storage_bytes_per_s), percent_of(facts.waited), seconds(time_s), times_slower(sweep, time_s),
        )  # fmt: skip
    if sweep.in_memory:
        yield "in memory", *[""] * 6, seconds(sweep.in_memory_s), times_slower(sweep, sweep.in_memory_s)


def limits_table(found):
    """One sweep is named by the title, several by a column."""
    heads = ["limit", "of the matrix", "stays in memory", "product reads", "at", "storage alone", "waited", "time", "relative to in memory"]
    names = [f"{sweep.way.panel_name}, {sweep.way.name}" for sweep in found]
    if len(found) == 1:
        return Table(f"Memory limits, {names[0]}", heads, [list(row) for row in table_rows(found[0])], range(len(heads)))
    rows = [[name, *row] for name, sweep in zip(names, found) for row in table_rows(sweep)]
    return Table("Memory limits", ["of", *heads], rows, range(1, len(heads) + 1))


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
        "The limit covers all memory of a node, with vectors and the program itself. 'Storage alone' is the bandwidth while all ranks "
        "only read. Times are medians; 'waited' is the share of the products' time on the rank that waited most.",
        limits_table(found),
    )
