"""Figures of cg2d compare, batch, scaling and solve: one family for each of these commands, which decide all that is decided."""

from . import style
from .figures_grid import MOST_PANELS, ranks_text
from .panels import Axis, BarPanel, Bars, Figure, Line, LinePanel, Table, rule
from .studies import file_name
from .times import seconds

# ---------------------------------------------------------------- cg2d compare: which of several sets of results is faster


def comparison_panel(comparison):
    """Medians of both sets for each configuration; the tips have the ratios."""
    pairs = [pair for pair in comparison.document["compared"] if pair["ratio"]]
    bars = []
    for name, key in ((comparison.before, "before"), (comparison.after, "after")):
        values = [pair[key]["median_s"] if pair[key] else None for pair in pairs]
        bars.append(Bars(name, values, [f"{pair['key']}, {name}\nratio {pair['ratio']['ratio']:.3f}; {pair['text']}" for pair in pairs]))
    across = Axis("Configuration", "category", [pair["key"] for pair in pairs])
    title = f"{comparison.after}: against {comparison.before}"
    return BarPanel(title, across, Axis("Time (median)", from_zero=True, is_time=True), bars)


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
    if not found:
        return "nothing was compared; --compare compares each file with the first"
    panels = [comparison_panel(one) for one in found if any(pair["ratio"] for pair in one.document["compared"])]
    rows = [row for one in found for row in comparison_rows(one)]
    heads = ["set", "configuration", found[0].before, "this set", "ratio", "interval", "verdict"]
    # Facts in which the sets differ although the same was asked for, each once.
    differences = dict.fromkeys(
        f"{fact['name']}: {fact['before']} in {one.before}, {fact['after']} in {one.after}"
        for one in found
        for pair in one.document["compared"]
        for fact in pair["differences"]
    )
    note = "cg2d compare pairs the rounds of two sets, and gives the ratio of the times with its interval."
    if differences:
        note += f" The sets differ: {'; '.join(differences)}."
    return Figure(panels[:MOST_PANELS], note, Table("Paired ratios and verdicts", heads, rows, range(2, 6)))


# ---------------------------------------------------------------- cg2d batch: who did which task when, and how well that used the ranks

FAILED = "failed"


def calls_of(tasks):
    """The tasks of each call of cg2d batch, whose clock begins anew; without those that were not tried again."""
    calls = {}
    for task in tasks:
        if task["ranks"]:
            calls.setdefault(task["sitting"], []).append(task)
    return calls


def series_of(task):
    return FAILED if task["exit_code"] != 0 else ranks_text(len(task["ranks"]))


def batch_panel(source, call, tasks):
    """A line for each task on each of its ranks, over the time that it took."""
    lines = []
    for name in sorted({series_of(task) for task in tasks}, key=lambda name: (name == FAILED, len(name), name)):
        x, y, tips = [], [], []
        for task in (task for task in tasks if series_of(task) == name):
            tip = f"{task['name']}\n{seconds(task['duration_s'])} from {seconds(task['start_s'])} on, {task['status']}"
            for rank in task["ranks"]:
                x += [task["start_s"], task["start_s"] + task["duration_s"], None]
                y += [rank, rank, None]
                tips += [tip, tip, ""]
        colour, marker = style.series_style(len(lines))
        lines.append(Line(name, x, y, tips, style.GREY if name == FAILED else colour, marker, is_dashed=name == FAILED))
    ranks = sorted({rank for task in tasks for rank in task["ranks"]})
    title = f"{source}{f', call {call}' if call > 1 else ''}"
    return LinePanel(title, Axis("Time since the batch began", from_zero=True, is_time=True), Axis("Rank of the job", ticks=ranks), lines)


def batch(material):
    batches = material.inputs.batches
    panels = [batch_panel(source, call, own) for source, tasks in batches for call, own in sorted(calls_of(tasks).items())]
    rows = []
    for _, tasks in batches:
        for task in sorted(tasks, key=lambda task: (task["sitting"], task["start_s"])):
            end = task["status"] + (f": {task['reason']}" if task["reason"] else "")
            rows.append([task["name"], ", ".join(map(str, task["ranks"])), seconds(task["start_s"]), seconds(task["duration_s"]), end])
    note = "Each line is a task on one of its ranks."
    table = Table("Tasks", ["task", "ranks", "start", "time", "end"], rows, range(2, 4))
    return Figure(panels, note, table) if batches else "no results of cg2d batch were given"


# ---------------------------------------------------------------- cg2d scaling: ways to use a number of cores


def problem_of_scaling(document):
    problem = document["options"]["problem"]
    return f"class {problem['class']}" if problem.get("class", "U") != "U" else f"n {problem['n']}"


def measured(documents):
    """[(document, ways)] of those with figures."""
    found = [(document, [way for way in document["ways"] if way["figures"]]) for document in documents]
    return [(document, ways) for document, ways in found if ways]


def kind_of(way, document):
    """Of a way: with its transport, and where several cuts are compared with its cut."""
    has_ranks = way["way"] not in ("one core", "threads only")
    several_cuts = len({other["cut"] for other in document["ways"] if "cut" in other}) > 1
    cut = f", cut {way['cut']}" if several_cuts and "cut" in way else ""
    return way["way"] + (f", {way['transport']}" if has_ranks else "") + cut


def way_name(way, document):
    return f"{way['cores']} cores: {kind_of(way, document)}".replace("1 cores: one core", "1 core")


def way_tip(way, document):
    figures = way["figures"]
    return (
        f"{way_name(way, document)}\n{way['ranks']} x {way['threads']} threads, grid {figures['grid']}, {figures['kernel']}\n"
        f"median {seconds(figures['median_s'])}, {seconds(figures['minimum_s'])} to {seconds(figures['maximum_s'])}"
    )


def ways_panel(document, ways):
    """Computing, communication and waiting of each configuration."""
    shares = [(way["figures"]["moving_share"], way["figures"]["waiting_share"]) for way in ways]
    bars = []
    for name, phase, is_hatched, share_of in (
        ("computing", "multiply", False, lambda moving, waiting: max(1 - moving - waiting, 0.0)),
        ("communication", "collection", False, lambda moving, waiting: moving),
        ("communication, waiting", "collection", True, lambda moving, waiting: waiting),
    ):
        values = [way["figures"]["median_s"] * share_of(*share) for way, share in zip(ways, shares)]
        tips = [f"{way_tip(way, document)}\n{name}: {seconds(value)}" for way, value in zip(ways, values)]
        bars.append(Bars(name, values, tips, style.PHASE_COLOURS[phase], is_hatched))
    title = f"{document['scaling'].capitalize()} scaling, {problem_of_scaling(document)}"
    names = Axis("Way", "category", [way_name(way, document) for way in ways])
    return BarPanel(title, names, Axis("Time (median)", from_zero=True, is_time=True), bars, is_stacked=True)


def lines_over_cores(ways, name_of, value_of, tip_of):
    """(lines, numbers of cores): a line for each way to use the cores."""
    groups = {}
    for way in ways:
        groups.setdefault(name_of(way), []).append(way)
    lines = [
        Line(name, [way["cores"] for way in own], list(map(value_of, own)), list(map(tip_of, own))) for name, own in groups.items()
    ]
    return lines, sorted({way["cores"] for way in ways})


def speed_ups_panel(document, ways):
    """In a list; empty where no way has a speed-up."""
    ways = [way for way in ways if way["figures"]["speed_up"]]
    lines, cores = lines_over_cores(
        ways, lambda way: kind_of(way, document), lambda way: way["figures"]["speed_up"], lambda way: way_tip(way, document)
    )
    title = f"Speed-up, {problem_of_scaling(document)}"
    lines.append(rule("ideal", cores, cores, "ideal"))
    return [LinePanel(title, Axis("Cores", "log", ticks=cores), Axis("Speed-up, times", from_zero=True), lines)] if cores else []


def ways_table(found):
    rows = []
    for document, ways in found:
        for way in ways:
            figures = way["figures"]
            alone = sum(other["cores"] == way["cores"] for other in ways) == 1
            is_best = figures["is_best"] and figures["is_decided"]
            mark = "" if alone else "best" if is_best else "may be best" if figures["may_be_best"] else ""
            times = seconds(figures["median_s"]), f"{figures['ratio_to_best']:.2f}"
            rows.append([problem_of_scaling(document), way_name(way, document), *times, mark, figures["grid"]])
    return Table("Verdict on each way", ["problem", "way", "median", "relative to the first", "verdict", "grid"], rows, range(2, 4))


def ways(material):
    found = [one for one in measured(material.inputs.scalings) if "system" not in one[0]["options"]]
    panels = [panel for one in found for panel in (ways_panel(*one), *speed_ups_panel(*one))]
    note = "Bars show the median of the timed region for each way to use the cores. In hatched parts, ranks wait for other ranks."
    return Figure(panels[:MOST_PANELS], note, ways_table(found)) if found else "no result of cg2d scaling was given"


def system_panel(document, ways):
    def name_of(way):
        return f"{way['form']}, {kind_of(way, document)}"

    def tip_of(way):
        where = f"{way['ranks']} x {way['threads']} threads, {way['arrangement']}"
        return f"{name_of(way)}, {where}\n{seconds(way['figures']['iteration_s'])} per iteration"

    lines, cores = lines_over_cores(ways, name_of, lambda way: way["figures"]["iteration_s"], tip_of)
    title = f"{document['scaling'].capitalize()} scaling, {document['options']['system']}"
    return LinePanel(title, Axis("Cores", "log", ticks=cores), Axis("Time per iteration (median)", "log", is_time=True), lines)


def system_ways(material):
    panels = [system_panel(*one) for one in measured(material.inputs.scalings) if "system" in one[0]["options"]]
    note = "Points are medians of the rounds, for each form of the operator and each way to use the cores."
    return Figure(panels[:MOST_PANELS], note) if panels else "no result of cg2d scaling of a system was given"


# ---------------------------------------------------------------- cg2d solve: residuals, and how each solve ended

MOST_HISTORY = 400  # points of a line: more are thinned out
MOST_MARKED = 60  # with a marker each


def solve_line(document):
    history = document["result"]["history"]
    every = max(1, -(-len(history) // MOST_HISTORY))
    steps = sorted({*range(0, len(history), every), len(history) - 1})
    name = f"{file_name(document['system']['matrix'])}, {document['system']['preconditioner']}"
    tips = [f"{name}\niteration {step}: {history[step]:.3e}" if history[step] is not None else "" for step in steps]
    return Line(name, steps, [history[step] or None for step in steps], tips, has_points=len(steps) <= MOST_MARKED)


def solve_row(document):
    result, system = document["result"], document["system"]
    condition = (result.get("spectrum") or {}).get("condition_number")
    residual = result.get("residual_norm")
    asked = file_name(system["matrix"]), document["setup"]["n"], document["configuration"]["ranks"], system["preconditioner"]
    numbers = f"{residual:.2e}" if residual else "", f"{condition:.3g}" if condition else ""
    time = seconds(result["time_s"]) if result.get("time_s") else ""
    return [*asked, system["variant"], result.get("end", ""), result.get("iterations", ""), *numbers, time]


def solves(material):
    documents = [document for document in material.inputs.solves if document["result"]]
    if not documents:
        return "no result of cg2d solve was given"
    lines = [solve_line(document) for document in documents if document["result"]["history"]][: len(style.SERIES)]
    panel = LinePanel("Residual of each iteration", Axis("Iteration"), Axis("‖r‖ of the recurrence", "log"), lines)
    heads = ["system", "n", "ranks", "preconditioner", "form", "end", "iterations", "residual", "condition", "time"]
    table = Table("Solved systems", heads, [solve_row(document) for document in documents], (1, 2, 6, 7, 8, 9))
    return Figure([panel] if lines else [], "'converged' means that the recomputed residual is small enough.", table)
