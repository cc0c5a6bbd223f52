"""Figures of cg2d scaling: ways to use a number of cores."""

from . import style
from .figures_grid import MOST_PANELS
from .panels import Axis, BarPanel, Bars, Figure, Line, LinePanel, Table
from .times import seconds


def problem_of_scaling(document):
    problem = document["options"]["problem"]
    return f"class {problem['class']}" if problem.get("class", "U") != "U" else f"n {problem['n']}"


def why_no_ways(material):
    if any(way["figures"] for study in material.inputs.scalings for way in study.document["ways"]):
        return ""
    return "no result of cg2d scaling was given"


def kind_of(way, study):
    """Of a way: with its transport, and where several cuts are compared with its cut."""
    has_ranks = way["way"] not in ("one core", "threads only")
    several_cuts = len({other["cut"] for other in study.document["ways"] if "cut" in other}) > 1
    cut = f", cut {way['cut']}" if several_cuts and "cut" in way else ""
    return way["way"] + (f", {way['transport']}" if has_ranks else "") + cut


def way_name(way, study):
    return f"{way['cores']} cores: {kind_of(way, study)}".replace("1 cores: one core", "1 core")


def way_tip(way, study):
    figures = way["figures"]
    return (
        f"{way_name(way, study)}\n{way['ranks']} x {way['threads']} threads, grid {figures['grid']}, {figures['kernel']}\n"
        f"median {seconds(figures['median_s'])}, {seconds(figures['minimum_s'])} to {seconds(figures['maximum_s'])}"
    )


def ways_panel(study):
    """Computing, communication and waiting of each configuration."""
    ways = [way for way in study.document["ways"] if way["figures"]]
    shares = [(way["figures"]["moving_share"], way["figures"]["waiting_share"]) for way in ways]
    bars = []
    for name, colour, is_hatched, share_of in (
        ("computing", style.PHASE_COLOURS["multiply"], False, lambda moving, waiting: max(1 - moving - waiting, 0.0)),
        ("communication", style.PHASE_COLOURS["collection"], False, lambda moving, waiting: moving),
        ("communication, waiting", style.PHASE_COLOURS["collection"], True, lambda moving, waiting: waiting),
    ):
        values = [way["figures"]["median_s"] * share_of(*share) for way, share in zip(ways, shares)]
        tips = [f"{way_tip(way, study)}\n{name}: {seconds(value)}" for way, value in zip(ways, values)]
        bars.append(Bars(name, values, colour, tips, is_hatched))
    title = f"{study.document['scaling'].capitalize()} scaling, {problem_of_scaling(study.document)}"
    names = Axis("Way", "category", names=[way_name(way, study) for way in ways])
    return BarPanel(title, names, Axis("Time (median)", from_zero=True, is_time=True), bars, is_stacked=True)


def speed_up_panel(study):
    """A line for each way to use the cores."""
    groups = {}
    for way in study.document["ways"]:
        if way["figures"] and way["figures"]["speed_up"]:
            groups.setdefault(kind_of(way, study), []).append(way)
    lines = []
    for name, ways in groups.items():
        colour, marker = style.series_style(len(lines))
        values = [way["figures"]["speed_up"] for way in ways]
        lines.append(Line(name, [way["cores"] for way in ways], values, colour, [way_tip(way, study) for way in ways], marker))
    cores = sorted({core for line in lines for core in line.x})
    if not cores:
        return None
    ideal = Line("ideal", cores, cores, style.GREY, ["ideal"] * len(cores), is_dashed=True, has_points=False)
    title = f"Speed-up, {problem_of_scaling(study.document)}"
    return LinePanel(title, Axis("Cores", "log", ticks=cores), Axis("Speed-up, times", from_zero=True), [*lines, ideal])


def ways_table(studies):
    rows = []
    for study in studies:
        for way in study.document["ways"]:
            if figures := way["figures"]:
                alone = sum(other["cores"] == way["cores"] and bool(other["figures"]) for other in study.document["ways"]) == 1
                is_best = figures["is_best"] and figures["is_decided"]
                mark = "" if alone else "best" if is_best else "may be best" if figures["may_be_best"] else ""
                times = seconds(figures["median_s"]), f"{figures['ratio_to_best']:.2f}"
                rows.append([problem_of_scaling(study.document), way_name(way, study), *times, mark, figures["grid"]])
    return Table("Verdict on each way", ["problem", "way", "median", "relative to the first", "verdict", "grid"], rows, range(2, 4))


def ways(material):
    studies = [study for study in material.inputs.scalings if any(way["figures"] for way in study.document["ways"])]
    panels = [panel for study in studies for panel in (ways_panel(study), speed_up_panel(study)) if panel]
    note = "Bars show the median of the timed region for each way to use the cores. In hatched parts, ranks wait for other ranks."
    return Figure(panels[:MOST_PANELS], note, ways_table(studies))


# ---------------------------------------------------------------- of a system


def why_no_system_ways(material):
    if any(way["figures"] for study in material.inputs.system_scalings for way in study.document["ways"]):
        return ""
    return "no result of cg2d scaling of a system was given"


def system_panel(study):
    groups = {}
    for way in study.document["ways"]:
        if way["figures"]:
            groups.setdefault(f"{way['form']}, {kind_of(way, study)}", []).append(way)
    lines = []
    for name, found in groups.items():
        colour, marker = style.series_style(len(lines))
        values = [way["figures"]["iteration_s"] for way in found]
        tips = [
            f"{name}, {way['ranks']} x {way['threads']} threads, {way['arrangement']}\n{seconds(way['figures']['iteration_s'])} per iteration"
            for way in found
        ]
        lines.append(Line(name, [way["cores"] for way in found], values, colour, tips, marker))
    counts = sorted({count for line in lines for count in line.x})
    title = f"{study.document['scaling'].capitalize()} scaling, {study.document['options']['system']}"
    return LinePanel(title, Axis("Cores", "log", ticks=counts), Axis("Time per iteration (median)", "log", is_time=True), lines)


def system_ways(material):
    studies = [study for study in material.inputs.system_scalings if any(way["figures"] for way in study.document["ways"])]
    panels = [system_panel(study) for study in studies]
    return Figure(panels[:MOST_PANELS], "Points are medians of the rounds, for each form of the operator and each way to use the cores.")
