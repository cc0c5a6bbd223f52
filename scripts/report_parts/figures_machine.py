"""Figures of the machine: compared with other machines, over row lengths, of its kernels, and of messages between its ranks."""

from . import style
from .figures_grid import MOST_PANELS, case_tip
from .page import machine_of
from .panels import Axis, BarPanel, Bars, Figure, Line, LinePanel, rule
from .times import SPACE, seconds

MICRO = 1e-6

# ---------------------------------------------------------------- machines side by side

# Times of other machines, NPB 1 kernel CG, class B: Table 7 of K. Itakura et al., "Performance Evaluation of NPB Kernel CG on
# CP-PACS", Transactions of the Information Processing Society of Japan 39(6), 1998. Seconds over the number of processors.
TABLE_7_CLASS = "B"
TABLE_7_PROCESSORS = (16, 32, 64, 128, 256)
TABLE_7_S = {
    "CP-PACS": (101.25, 54.51, 30.3, 17.59, 11.38),
    "Cray T3E (Nov 96)": (107.1, 59.3, 33.8, 22.9, 22.2),
    "IBM SP Wide-node 1, 67 MHz (Mar 94)": (88.4, 52.53, 33.79, 25.44, None),
    "IBM SP P2SC, 120 MHz (Nov 96)": (62.21, 36.22, 22.71, None, None),
}


def table_7_lines():
    lines = []
    for index, (name, times_s) in enumerate(TABLE_7_S.items(), 1):
        pairs = [pair for pair in zip(TABLE_7_PROCESSORS, times_s) if pair[1] is not None]
        tips = [f"{name}\n{count} processors: {time_s:g}{SPACE}s (Table 7)" for count, time_s in pairs]
        lines.append(Line(name, *map(list, zip(*pairs)), tips, *style.series_style(index), is_dashed=True))
    return lines


def machines(material):
    studies = [study for study in material.studies if study.problem["class"] == TABLE_7_CLASS]
    if not studies:
        return f"no run of class {TABLE_7_CLASS}, which the paper's Table 7 is about"
    lines = []
    for index, study in enumerate(studies):
        cases = [study.best(count) for count in study.rank_counts]
        name = f"{machine_of(cases[0].run.document)} (here)"
        if study.thread_count > 1:
            name += f", {study.thread_count} threads per rank"
        tips = [case_tip(case, name) for case in cases]
        shown = style.series_style(0 if index == 0 else index + len(TABLE_7_S))
        lines.append(Line(name, study.rank_counts, [case.median_s for case in cases], tips, *shown))
    counts = {count for line in lines for count in line.x} | set(TABLE_7_PROCESSORS)
    across = Axis("Processors; here: ranks", "log", ticks=sorted(counts))
    panel = LinePanel("NPB CG, class B", across, Axis("Time", "log", is_time=True), [*lines, *table_7_lines()])
    return Figure(
        [panel],
        "Solid lines show this machine: for each number of ranks the grid that cg2d calls best, or the first of those that may be best. "
        "Dashed lines are from Itakura et al., IPSJ Transactions 39(6), 1998, Table 7.",
    )


# ---------------------------------------------------------------- row lengths of the tuning profile

# The critical vector length in a profile where vectors never pay.
NEVER = 2**31 - 1
NO_PROFILE = "no tuning profile was given; cg2d tune makes one"


def row_length_panel(processor, entry):
    lengths = [point[0] for point in entry["curve"]]
    lines = []
    for name, column, index in (("scalar loop", 1, 1), ("vector loop", 2, 0)):
        values = [point[column] for point in entry["curve"]]
        tips = [f"{name}, {length:g} nonzeros per row\n{ns:.3f} ns per nonzero" for length, ns in zip(lengths, values)]
        lines.append(Line(name, lengths, values, tips, *style.series_style(index)))
    critical = entry["critical_vector_length"]
    if 0 < critical < NEVER:
        ends = [min(min(line.y) for line in lines), max(max(line.y) for line in lines)]
        text = f"critical vector length {critical}"
        lines.append(rule(text, [critical] * 2, ends, text))
    title = processor + (": the scalar loop is always faster" if critical >= NEVER else "")
    return LinePanel(title, Axis("Nonzeros per row", "log", ticks=spaced(lengths)), Axis("Time, ns per nonzero", "log"), lines)


def spaced(values):
    """The values with room for a label on a logarithmic axis."""
    kept = []
    for value in values:
        if not kept or value >= 1.35 * kept[-1]:
            kept.append(value)
    return kept


def row_lengths(material):
    if material.profile is None:
        return NO_PROFILE
    panels = [row_length_panel(*item) for item in material.profile.items() if item[1]["curve"]]
    note = (
        "The tuning profile has these times. A grid with more process columns has shorter rows; below the critical vector length the "
        "scalar loop is faster."
    )
    return Figure(panels[:MOST_PANELS], note) if panels else "the tuning profile has no row lengths"


# ---------------------------------------------------------------- row lengths of row_length_bench


def bench_rows_panel(title, points):
    lines = []
    for name in dict.fromkeys(point["line"] for point in points):
        own = sorted((point["row_length"], point["value"]) for point in points if point["line"] == name)
        tips = [f"{name}, {length} nonzeros per row\n{value:.3g}" for length, value in own]
        lines.append(Line(name, *map(list, zip(*own)), tips))
    lengths = sorted({point["row_length"] for point in points})
    across = Axis("Nonzeros per row of the whole block", "log", ticks=spaced(lengths))
    return LinePanel(title, across, Axis(points[0]["unit"], "log"), lines)


def bench_rows(material):
    points = material.inputs.bench_rows
    panels = [bench_rows_panel(title, [one for one in points if one["panel"] == title]) for title in dict.fromkeys(one["panel"] for one in points)]
    note = (
        "Every row of a block has this length. Where the line of a kernel that makes vectors meets that of scalar is its critical vector "
        "length. Medians where there are repetitions."
    )
    return Figure(panels, note) if panels else "no result of row_length_bench was given"


# ---------------------------------------------------------------- kernels of the tuning profile


def kernels(material):
    """The last cases of the profile were measured last."""
    if material.profile is None:
        return NO_PROFILE
    panels = []
    for processor, entry in material.profile.items():
        for name, times in ((name, times) for name, times in entry["cases"] if times):
            tips = [f"{kernel} on {processor}, {name}: {seconds(MICRO * value)}" for kernel, value in times]
            bars = [Bars("product", [MICRO * value for _, value in times], tips)]
            across = Axis("Kernel", "category", [kernel for kernel, _ in times])
            panels.append(BarPanel(name, across, Axis("Time of a product", from_zero=True, is_time=True), bars))
    note = "The tuning profile has these times, of each kernel with the settings that cg2d tune chose. cg2d run takes the first kernel."
    return Figure(panels[-MOST_PANELS:], note) if panels else "the tuning profile has no kernels"


# ---------------------------------------------------------------- messages between ranks, sums over all, each communication phase


def transfer_panel(pair):
    lines = []
    for method in dict.fromkeys(one["method"] for one in pair["transfers"]):
        own = [one for one in pair["transfers"] if one["method"] == method and one["variables"] == 1]
        own.sort(key=lambda one: one["bytes"])
        if not own:
            continue
        samples = [one["seconds_per_variable"] for one in own]
        tips = [
            f"{method}, {one['bytes']} bytes\n{seconds(sample['median_s'])}, {one['bytes_per_s'] / 1e9:.3g} GB/s"
            for one, sample in zip(own, samples)
        ]
        y, low, high = ([sample[key] or None for sample in samples] for key in ("median_s", "minimum_s", "maximum_s"))
        band = {} if None in (*low, *high) else {"low": low, "high": high}
        lines.append(Line(method, [one["bytes"] for one in own], y, tips, **band))
    title = f"Ranks {pair['ranks'][0]} and {pair['ranks'][1]} on {'one node' if pair['same_node'] else 'two nodes'}"
    return LinePanel(title, Axis("Bytes", "log"), Axis("Half a round trip", "log", is_time=True), lines)


def sums_panel(document):
    sums = document["sums"]
    samples = [[seconds(one["seconds"][key]) for key in ("median_s", "minimum_s", "maximum_s")] for one in sums]
    tips = [f"{one['way']}: {median}, {least} to {most}" for one, (median, least, most) in zip(sums, samples)]
    bars = [Bars("median", [one["seconds"]["median_s"] for one in sums], tips)]
    across = Axis("Way", "category", [one["way"] for one in sums])
    title = f"Sum of a number over {document['ranks']} ranks"
    return BarPanel(title, across, Axis("Time (median)", from_zero=True, is_time=True), bars)


def calls_panel(document):
    """Each communication phase by itself, by transport."""
    phases = document["phases"]
    names = list(phases["transports"][0]["phases"])
    bars = []
    for one in phases["transports"]:
        values = [one["phases"][name]["median_s"] for name in names]
        bars.append(Bars(one["transport"], values, [f"{one['transport']}, {name}: {seconds(value)}" for name, value in zip(names, values)]))
    title = f"One call of each phase, class {phases['class']}, {phases['grid']}"
    return BarPanel(title, Axis("Phase", "category", names), Axis("Time (median)", from_zero=True, is_time=True), bars)


def pingpong(material):
    documents = material.inputs.pingpongs
    panels = []
    for document in documents:
        panels += [transfer_panel(pair) for pair in document["pairs"] if pair["transfers"]][: MOST_PANELS - 2]
        panels += [sums_panel(document), calls_panel(document)]
    machines_text = ", ".join(dict.fromkeys(document["machine"] for document in documents))
    note = f"Measured on {machines_text}, one variable at a time. Lines are medians; bands reach from the least to the greatest time."
    return Figure(panels[: 2 * MOST_PANELS], note) if documents else "no result of cg2d pingpong was given"
