"""Figures of the machine: compared with other machines, over row lengths, and of its kernels."""

from . import cp_pacs, style
from .figures_grid import MOST_PANELS, case_tip
from .panels import Axis, BarPanel, Bars, Figure, Line, LinePanel
from .times import SPACE, seconds

MICRO = 1e-6

# ---------------------------------------------------------------- machines side by side


def machine_name(run):
    """The name of a machine: processor and nodes."""
    nodes = run.document["environment"]["nodes"]
    return f"{len(nodes)} x {nodes[0]['processor']}" if len(nodes) > 1 else nodes[0]["processor"]


def studies_of_table_7(material):
    return [study for study in material.studies if study.problem["class"] == cp_pacs.TABLE_7_CLASS]


def why_no_machines(material):
    if not studies_of_table_7(material):
        return f"no run of class {cp_pacs.TABLE_7_CLASS}, which the paper's Table 7 is about"
    return ""


def table_7_lines():
    lines = []
    for index, (name, times_s) in enumerate(cp_pacs.TABLE_7_S.items(), 1):
        colour, marker = style.series_style(index)
        pairs = [pair for pair in zip(cp_pacs.TABLE_7_PROCESSORS, times_s) if pair[1] is not None]
        tips = [f"{name}\n{count} processors: {time_s:g}{SPACE}s (Table 7)" for count, time_s in pairs]
        lines.append(
            Line(name, [count for count, _ in pairs], [time_s for _, time_s in pairs], colour, tips, marker, is_dashed=True)
        )
    return lines


def machines(material):
    lines = []
    for index, study in enumerate(studies_of_table_7(material)):
        colour, marker = style.series_style(0 if index == 0 else index + len(cp_pacs.TABLE_7_S))
        cases = [study.best(count) for count in study.rank_counts]
        name = f"{machine_name(cases[0].run)} (here)"
        if study.thread_count > 1:
            name += f", {study.thread_count} threads per rank"
        tips = [case_tip(case, name) for case in cases]
        lines.append(Line(name, study.rank_counts, [case.median_s for case in cases], colour, tips, marker))
    counts = {count for line in lines for count in line.x} | set(cp_pacs.TABLE_7_PROCESSORS)
    panel = LinePanel(
        "NPB CG, class B",
        Axis("Processors; here: ranks", "log", ticks=sorted(counts)),
        Axis("Time", "log", is_time=True),
        [*lines, *table_7_lines()],
    )
    return Figure(
        [panel],
        "Solid lines show this machine: for each number of ranks the grid that cg2d calls best, or the first of those that may be best. "
        "Dashed lines are from Itakura et al., IPSJ Transactions 39(6), 1998, Table 7.",
    )


# ---------------------------------------------------------------- ns per nonzero over row length


def why_no_row_lengths(material):
    if material.profile is None:
        return "no tuning profile was given; cg2d tune makes one"
    return "" if any(entry["curve"] for entry in material.profile.values()) else "the tuning profile has no row lengths"


# The critical vector length in a profile where vectors never pay.
NEVER = 2**31 - 1


def row_length_panel(processor, entry):
    lengths = [point[0] for point in entry["curve"]]
    lines = []
    for name, column, index in (("scalar loop", 1, 1), ("vector loop", 2, 0)):
        colour, marker = style.series_style(index)
        values = [point[column] for point in entry["curve"]]
        tips = [f"{name}, {length:g} nonzeros per row\n{ns:.3f} ns per nonzero" for length, ns in zip(lengths, values)]
        lines.append(Line(name, lengths, values, colour, tips, marker))
    critical = entry["critical_vector_length"]
    title = f"{processor}"
    if 0 < critical < NEVER:
        ends = [min(min(line.y) for line in lines), max(max(line.y) for line in lines)]
        text = f"critical vector length {critical}"
        lines.append(Line(text, [critical] * 2, ends, style.GREY, [text] * 2, is_dashed=True, has_points=False))
    elif critical >= NEVER:
        title += ": the scalar loop is always faster"
    return LinePanel(
        title,
        Axis("Nonzeros per row", "log", ticks=spaced(lengths)),
        Axis("Time, ns per nonzero", "log"),
        lines,
    )


def spaced(values):
    """The values with room for a label on a logarithmic axis."""
    kept = []
    for value in values:
        if not kept or value >= 1.35 * kept[-1]:
            kept.append(value)
    return kept


def row_lengths(material):
    panels = [row_length_panel(*item) for item in material.profile.items() if item[1]["curve"]]
    return Figure(
        panels[:MOST_PANELS],
        "The tuning profile has these times. A grid with more process columns has shorter rows; below the critical vector length the "
        "scalar loop is faster.",
    )


# ---------------------------------------------------------------- kernels of the tuning profile


def why_no_kernels(material):
    if material.profile is None:
        return "no tuning profile was given; cg2d tune makes one"
    return "" if tuned_cases(material) else "the tuning profile has no kernels"


def tuned_cases(material):
    """[(processor, name, kernels)]; the last ones were measured last."""
    found = [(processor, *case) for processor, entry in material.profile.items() for case in entry["cases"] if case[1]]
    return found[-MOST_PANELS:]


def kernels(material):
    panels = []
    for processor, name, times in tuned_cases(material):
        tips = [f"{kernel} on {processor}, {name}: {seconds(MICRO * value)}" for kernel, value in times]
        bars = [Bars("product", [MICRO * value for _, value in times], style.SERIES[0], tips)]
        axis = Axis("Kernel", "category", names=[kernel for kernel, _ in times])
        panels.append(BarPanel(name, axis, Axis("Time of a product", from_zero=True, is_time=True), bars))
    return Figure(panels, "The tuning profile has these times, of each kernel with the settings that cg2d tune chose. cg2d run takes the first kernel.")
