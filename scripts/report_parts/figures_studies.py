"""Figures of cg2d's other studies: ranks or threads, messages between ranks, kernels that were tuned, systems that were solved."""

from . import style
from .figures_grid import MOST_PANELS
from .panels import Axis, BarPanel, Bars, Figure, Line, LinePanel, Table
from .studies import seconds

MICRO = 1e6
MOST_HISTORY = 400  # points of a line: more are thinned out


def first_word(text):
    """Of a source: its place on the page's titles is short."""
    return text.rpartition("/")[2]


# ---------------------------------------------------------------- ranks or threads


def problem_of_scaling(document):
    problem = document["options"]["problem"]
    return f"class {problem['class']}" if problem.get("class", "U") != "U" else f"n {problem['n']}"


def why_no_ways(material):
    if any(way["figures"] for study in material.inputs.scalings for way in study.document["ways"]):
        return ""
    return "no result of cg2d scaling was given"


def way_name(way):
    transport = f", {way['transport']}" if way["way"] not in ("one core", "threads only") else ""
    return f"{way['cores']} cores: {way['way']}{transport}".replace("1 cores: one core", "1 core")


def way_tip(way):
    figures = way["figures"]
    return (
        f"{way_name(way)}\n{way['ranks']} x {way['threads']} threads, grid {figures['grid']}, {figures['kernel']}\n"
        f"median {seconds(figures['median_s'])}, {seconds(figures['minimum_s'])} to {seconds(figures['maximum_s'])}"
    )


def ways_panel(study):
    """Computing, moving and waiting of each way."""
    ways = [way for way in study.document["ways"] if way["figures"]]
    shares = [(way["figures"]["moving_share"], way["figures"]["waiting_share"]) for way in ways]
    factor = 1e3
    bars = []
    for name, colour, is_hatched, share_of in (
        ("computing", style.PHASE_COLOURS["multiply"], False, lambda moving, waiting: max(1 - moving - waiting, 0.0)),
        ("moving data", style.PHASE_COLOURS["collection"], False, lambda moving, waiting: moving),
        ("moving data, waiting", style.PHASE_COLOURS["collection"], True, lambda moving, waiting: waiting),
    ):
        values = [factor * way["figures"]["median_s"] * share_of(*share) for way, share in zip(ways, shares)]
        tips = [f"{way_tip(way)}\n{name}: {value:.4g} ms" for way, value in zip(ways, values)]
        bars.append(Bars(name, values, colour, tips, is_hatched))
    title = f"{study.document['scaling'].capitalize()} scaling, {problem_of_scaling(study.document)}"
    return BarPanel(title, Axis("Way", "category", names=[way_name(way) for way in ways]), Axis("Time, ms (median)", from_zero=True), bars, True)


def speed_up_panel(study):
    """A line for each way to use the cores."""
    groups = {}
    for way in study.document["ways"]:
        if way["figures"] and way["figures"]["speed_up"]:
            name = way["way"] if way["way"] in ("one core", "threads only") else f"{way['way']}, {way['transport']}"
            groups.setdefault(name, []).append(way)
    lines = []
    for name, ways in groups.items():
        colour, marker = style.series_style(len(lines))
        values = [way["figures"]["speed_up"] for way in ways]
        lines.append(Line(name, [way["cores"] for way in ways], values, colour, [way_tip(way) for way in ways], marker))
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
                mark = "best" if figures["is_best"] else "may be best" if figures["may_be_best"] else ""
                ratio = f"{figures['ratio_to_best']:.2f}"
                rows.append([problem_of_scaling(study.document), way_name(way), seconds(figures["median_s"]), ratio, mark, figures["grid"]])
    return Table("cg2d's verdict on the ways", ["problem", "way", "median", "by the best", "verdict", "grid"], rows, range(2, 4))


def ways(material):
    studies = [study for study in material.inputs.scalings if any(way["figures"] for way in study.document["ways"])]
    panels = [panel for study in studies for panel in (ways_panel(study), speed_up_panel(study)) if panel]
    note = "Medians of the timed region for each way to use as many cores. Hatched: waiting for other ranks."
    return Figure(panels[:MOST_PANELS], note, ways_table(studies))


# ---------------------------------------------------------------- ranks or threads, of a system


def why_no_system_ways(material):
    if any(way["figures"] for study in material.inputs.system_scalings for way in study.document["ways"]):
        return ""
    return "no result of cg2d scaling of a system was given"


def system_panel(study):
    groups = {}
    for way in study.document["ways"]:
        if way["figures"]:
            groups.setdefault(f"{way['form']}, {way['transport']}", []).append(way)
    lines = []
    for name, found in groups.items():
        colour, marker = style.series_style(len(lines))
        values = [1e3 * way["figures"]["iteration_s"] for way in found]
        tips = [f"{name}, {way['ranks']} ranks, {way['cut']}\n{seconds(way['figures']['iteration_s'])} per iteration" for way in found]
        lines.append(Line(name, [way["ranks"] for way in found], values, colour, tips, marker))
    counts = sorted({count for line in lines for count in line.x})
    title = f"{study.document['scaling'].capitalize()} scaling, {study.document['system']}"
    return LinePanel(title, Axis("Ranks", "log", ticks=counts), Axis("Time per iteration, ms (median)", "log"), lines)


def system_ways(material):
    panels = [system_panel(study) for study in material.inputs.system_scalings if any(way["figures"] for way in study.document["ways"])]
    return Figure(panels[:MOST_PANELS], "Medians of the rounds for each form of the operator and each transport.")


# ---------------------------------------------------------------- messages


def why_no_pingpong(material):
    return "" if material.inputs.pingpongs else "no result of cg2d pingpong was given"


def transfer_panel(study, pair):
    lines = []
    for method in dict.fromkeys(one["method"] for one in pair["transfers"]):
        own = sorted((one for one in pair["transfers"] if one["method"] == method and one["variables"] == 1), key=lambda one: one["bytes"])
        if not own:
            continue
        colour, marker = style.series_style(len(lines))
        samples = [one["seconds_per_variable"] for one in own]
        tips = [
            f"{method}, {one['bytes']} bytes\n{seconds(sample['median_s'])}, {one['bytes_per_s'] / 1e9:.3g} GB/s"
            for one, sample in zip(own, samples)
        ]
        y, low, high = ([MICRO * sample[key] or None for sample in samples] for key in ("median_s", "minimum_s", "maximum_s"))
        has_band = None not in (*low, *high)
        lines.append(
            Line(
                method, [one["bytes"] for one in own], y, colour, tips, marker, low=low if has_band else None,
                high=high if has_band else None,
            )
        )  # fmt: skip
    where = "one node" if pair["same_node"] else "two nodes"
    title = f"Ranks {pair['ranks'][0]} and {pair['ranks'][1]} on {where}"
    return LinePanel(title, Axis("Bytes", "log"), Axis("Half a round trip, µs", "log"), lines)


def sums_panel(study):
    sums = study.document["sums"]
    values = [MICRO * one["seconds"]["median_s"] for one in sums]
    tips = [
        f"{one['way']}: {seconds(one['seconds']['median_s'])}, {seconds(one['seconds']['minimum_s'])} to {seconds(one['seconds']['maximum_s'])}"
        for one in sums
    ]
    return BarPanel(
        f"Sum of a number over {study.document['ranks']} ranks",
        Axis("Way", "category", names=[one["way"] for one in sums]),
        Axis("µs (median)", from_zero=True),
        [Bars("median", values, style.SERIES[0], tips)],
    )


def calls_panel(study):
    """Each communication phase by itself, by transport."""
    phases = study.document["phases"]
    names = list(phases["transports"][0]["phases"])
    bars = []
    for index, one in enumerate(phases["transports"]):
        values = [MICRO * one["phases"][name]["median_s"] for name in names]
        tips = [f"{one['transport']}, {name}: {value:.4g} µs" for name, value in zip(names, values)]
        bars.append(Bars(one["transport"], values, style.series_style(index)[0], tips))
    title = f"One call of each phase, class {phases['class']}, {phases['grid']}"
    return BarPanel(title, Axis("Phase", "category", names=names), Axis("µs (median)", from_zero=True), bars)


def pingpong(material):
    panels = []
    for study in material.inputs.pingpongs:
        panels += [transfer_panel(study, pair) for pair in study.document["pairs"] if pair["transfers"]][: MOST_PANELS - 2]
        panels += [sums_panel(study), calls_panel(study)]
    machines = ", ".join(dict.fromkeys(study.document["machine"] for study in material.inputs.pingpongs))
    note = f"{machines}. One variable at a time; lines: medians, bands: least to greatest of the turns."
    return Figure(panels[: 2 * MOST_PANELS], note)


# ---------------------------------------------------------------- kernels


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
        tips = [f"{kernel} on {processor}, {name}: {value:.4g} µs" for kernel, value in times]
        bars = [Bars("product", [value for _, value in times], style.SERIES[0], tips)]
        axis = Axis("Kernel", "category", names=[kernel for kernel, _ in times])
        panels.append(BarPanel(name, axis, Axis("Time of a product, µs", from_zero=True), bars))
    return Figure(panels, "From the tuning profile: the fastest settings of each kernel. cg2d run takes the first one.")


# ---------------------------------------------------------------- systems that were solved


def why_no_solves(material):
    return "" if solved(material) else "no result of cg2d solve was given"


def solved(material):
    return [study for study in material.inputs.solves if study.document["result"]]


def history_of(result):
    """Of one right-hand side, the first."""
    return (result.get("history") or [])[: 1 << 20]


def solve_line(study, index):
    history = history_of(study.document["result"])
    every = max(1, -(-len(history) // MOST_HISTORY))
    steps = sorted({*range(0, len(history), every), len(history) - 1})
    name = study.document["system"]["matrix"]
    name += f", {study.document['system']['preconditioner']}"
    tips = [f"{name}\niteration {step}: {history[step]:.3e}" for step in steps]
    colour, marker = style.series_style(index)
    has_points = len(steps) <= 60
    return Line(name, steps, [history[step] or None for step in steps], colour, tips, marker, has_points=has_points)


def solve_row(study):
    document = study.document
    result, system = document["result"], document["system"]
    spectrum = result.get("spectrum") or {}
    condition = spectrum.get("condition_number")
    residual = result.get("residual_norm")
    return [
        first_word(system["matrix"]), document["setup"]["n"], document["configuration"]["ranks"], system["preconditioner"], system["variant"],
        result.get("end", ""), result.get("iterations", ""), f"{residual:.2e}" if residual else "", f"{condition:.3g}" if condition else "",
        seconds(result["time_s"]) if result.get("time_s") else "",
    ]  # fmt: skip


def solves(material):
    studies = solved(material)
    with_history = [study for study in studies if history_of(study.document["result"])][: len(style.SERIES)]
    lines = [solve_line(study, index) for index, study in enumerate(with_history)]
    panel = LinePanel("Residual of each iteration", Axis("Iteration"), Axis("‖r‖ by the recurrence", "log"), lines)
    heads = ["system", "n", "ranks", "preconditioner", "form", "end", "iterations", "residual", "condition", "time"]
    table = Table("Systems that were solved", heads, [solve_row(study) for study in studies], (1, 2, 6, 7, 8, 9))
    return Figure([panel] if lines else [], "An end of 'converged' is by the residual computed anew.", table)


# ---------------------------------------------------------------- comparisons


def why_no_comparisons(material):
    return "" if material.comparisons else "nothing was compared; --compare does, with the first file"


def comparison_panel(comparison):
    """Ratios of the paired rounds with their intervals, as a point and a band for each configuration."""
    pairs = [pair for pair in comparison.document["compared"] if pair["ratio"]]
    names = [pair["key"] for pair in pairs]
    bars = []
    for index, (name, key) in enumerate(((comparison.before, "before"), (comparison.after, "after"))):
        values = [1e3 * pair[key]["median_s"] if pair[key] else None for pair in pairs]
        tips = [f"{pair['key']}, {name}\nratio {pair['ratio']['ratio']:.3f}; {pair['text']}" for pair in pairs]
        bars.append(Bars(name, values, style.series_style(index)[0], tips))
    title = f"{comparison.after} against {comparison.before}"
    return BarPanel(title, Axis("Configuration", "category", names=names), Axis("Time, ms (median)", from_zero=True), bars)


def interval_text(ratio):
    return "too few rounds" if ratio["low"] is None or ratio["high"] is None else f"{ratio['low']:.3f} ... {ratio['high']:.3f}"


def comparison_rows(comparison):
    rows = []
    for pair in comparison.document["compared"]:
        times = [seconds(pair[key]["median_s"]) if pair[key] else "failed" for key in ("before", "after")]
        ratio = pair["ratio"]
        shown = [f"{ratio['ratio']:.3f}", interval_text(ratio)] if ratio else ["", ""]
        rows.append([comparison.after, pair["key"], *times, *shown, pair["text"]])
    if overall := comparison.document["overall"]:
        change = comparison.document["overall_change"]
        rows.append([comparison.after, "all together", "", "", f"{overall['ratio']:.3f}", interval_text(overall), change])
    return rows


def comparisons(material):
    found = material.comparisons
    panels = [comparison_panel(one) for one in found if any(pair["ratio"] for pair in one.document["compared"])]
    rows = [row for one in found for row in comparison_rows(one)]
    heads = ["set", "configuration", found[0].before, "this set", "ratio", "interval", "verdict"]
    alone = [f"{one.after}: only there {len(one.document['only_after'])}, only in {one.before} {len(one.document['only_before'])}" for one in found]
    note = (
        "Ratios of round k by round k, with their interval, by cg2d compare. Where machines differ, a ratio is between machines. "
        f"Configurations that are in one set only: {'; '.join(alone)}."
    )
    return Figure(panels[:MOST_PANELS], note, Table("Paired ratios and verdicts", heads, rows, range(2, 6)))
