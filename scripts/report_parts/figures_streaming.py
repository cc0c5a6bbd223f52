"""Figure of a matrix on local storage: time over the memory limit."""

import statistics

from . import style
from .figures_grid import MOST_PANELS
from .panels import Axis, Figure, Line, LinePanel, Table
from .streaming_sweeps import Facts, median_of, sweeps, times_of, typical
from .times import seconds

MEGA = 1e6
GIGA = 1e9


def why_no_streaming(material):
    if not sweeps(material):
        return (
            "no problem was run or solved with --out-of-core and several values of --memory-limit, on one grid with one kernel; a "
            "result in memory gives the line to compare with"
        )
    return ""


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


def sweep_line(sweep, name, index):
    colour, marker = style.series_style(index)
    times = [times_of(found) for found in sweep.limits.values()]
    has_band = max(map(len, times)) > 1
    return Line(
        name, [limit / MEGA for limit in sweep.limits], [statistics.median_low(own) for own in times], colour,
        [tip_of(sweep, limit) for limit in sweep.limits], marker,
        low=[min(own) for own in times] if has_band else None, high=[max(own) for own in times] if has_band else None,
    )  # fmt: skip


def in_memory_line(sweep, name, colour, ends):
    tip = f"{sweep.way.name}\nin memory: {seconds(sweep.in_memory_s)}"
    return Line(name, ends, [sweep.in_memory_s] * 2, colour, [tip] * 2, is_dashed=True, has_points=False)


def bound_lines(sweep, top_s):
    """Upright lines at the limits that the runs themselves name."""
    lines = []
    for key, name, colour in (
        ("unbound_memory_limit_bytes", "from here on reading is as fast as multiplying", style.SERIES[2]),
        ("in_core_memory_limit_bytes", "from here on nothing is read", style.GREY),
    ):
        if bound := sweep.bound(key):
            tip = f"--memory-limit {size(bound)}: {name}"
            lines.append(Line(name, [bound / MEGA] * 2, [0.0, top_s], colour, [tip] * 2, is_dashed=True, has_points=False))
    return lines


def panel_of(name, found):
    """found: the sweeps of one problem."""
    is_alone = len(found) == 1
    lines = [sweep_line(sweep, "streamed" if is_alone else sweep.way.name, index) for index, sweep in enumerate(found)]
    bounds = bound_lines(found[0], max(lines[0].high or lines[0].y)) if is_alone else []
    x = [value for line in (*lines, *bounds) for value in line.x]
    for sweep, line in zip(found, tuple(lines)):
        if sweep.in_memory:
            colour = style.SERIES[1] if is_alone else line.colour
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
    panels = {}
    for sweep in found:
        panels.setdefault(sweep.way.panel_name, []).append(sweep)
    return Figure(
        [panel_of(name, own) for name, own in panels.items()][:MOST_PANELS],
        "The limit covers all memory of a node, with vectors and the program itself. 'Storage alone' is the bandwidth while all ranks "
        "only read. Times are medians; 'waited' is the share of the products' time on the rank that waited most.",
        limits_table(found),
    )
