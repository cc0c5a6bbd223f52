"""Grids beside each other: figures over ranks and process columns, of convergence and of repeats. Which is best is cg2d's verdict."""

from . import results
from .panels import Axis, BarPanel, Bars, Cell, Figure, HeatPanel, Line, LinePanel, rule
from .studies import by_place, percent, place_order
from .times import seconds

# A figure with more panels than this is too small to read.
MOST_PANELS = 4


def ranks_text(count):
    return f"{count} rank" + ("" if count == 1 else "s")


def arrangement_text(case):
    return f"{ranks_text(case.grid[0] * case.grid[1])}, {'' if isinstance(case.place, str) else 'grid '}{case.arrangement}"


def case_tip(case, *more):
    """Lines that describe a case."""
    repeats, disturbed = len(case.times_s), results.disturbed_count(case.disturbances)
    lines = [
        arrangement_text(case),
        f"median {seconds(case.median_s)} of {repeats} run{'' if repeats == 1 else 's'}{f' ({disturbed} disturbed)' if disturbed else ''}",
        f"{seconds(min(case.times_s))} to {seconds(max(case.times_s))}",
        case.settings,
    ]
    return "\n".join([*lines, *more])


def marks_of(case):
    """Labels of the best grid, or of those that may be, and of the official one."""
    return [word for word in (case.mark, "official" if case.is_official else "") if word]


def columns_label(places):
    """Of an axis with these places."""
    domains = [isinstance(place, str) for place in places]
    return "Parts of the domain" if all(domains) else "Px, process columns" + (", or parts of the domain" if any(domains) else "")


def studies_with_grids(material):
    """Studies that have several grids of some number of ranks."""
    return [study for study in material.studies if any(len(grids) > 1 for grids in study.cases.values())][:MOST_PANELS]


NO_GRIDS = "there are no two grids of the same class and number of ranks; cg2d sweep measures them"


# ---------------------------------------------------------------- time over P x Px


def heat_panel(study):
    columns = sorted({place for grids in study.cases.values() for place in grids}, key=place_order)
    cells = {}
    for row, rank_count in enumerate(study.rank_counts):
        first = study.best(rank_count).arrangement
        for place, case in study.cases[rank_count].items():
            marks = marks_of(case)
            is_behind = case.ratio and not case.mark and not case.is_candidate
            ratio_text = [f"{case.ratio:.2f} x {first}, median of paired rounds"] if is_behind else []
            lines = [seconds(case.median_s), *([percent(case.ratio)] if is_behind else []), *marks]
            cells[row, columns.index(place)] = Cell(case.median_s, lines, case_tip(case, *ratio_text, *marks), bool(case.mark))
    label = "Time, among grids of the same number of ranks"
    return HeatPanel(f"Time, {study.name}", columns_label(columns), "P, ranks", columns, study.rank_counts, cells, label, by_row=True)


def time_heat_map(material):
    studies = studies_with_grids(material)
    note = (
        "Cells show the median time of the timed region. Colours compare grids of the same number of ranks. A frame marks the grid "
        "that cg2d calls best, or the grids that may be best. 'official' marks the grid of the official program."
    )
    return Figure([heat_panel(study) for study in studies], note + settings_note(studies)) if studies else NO_GRIDS


def settings_note(studies):
    """A sentence where a figure shows one of several settings, or its kernels differ."""
    return "".join(f" {words}" for study in studies if (words := study.shown_settings()))


# ---------------------------------------------------------------- U-curve


def u_curve_panel(study):
    columns = sorted({place for grids in study.cases.values() if len(grids) > 1 for place in grids}, key=place_order)
    lines = []
    for rank_count in study.rank_counts:
        cases = [case for _, case in by_place(study.cases[rank_count])]
        if len(cases) > 1:
            x, y = [columns.index(case.place) for case in cases], [case.median_s for case in cases]
            tips = [case_tip(case, *marks_of(case)) for case in cases]
            low, high = ([end(case.times_s) for case in cases] for end in (min, max))
            lines.append(Line(ranks_text(rank_count), x, y, tips, low=low, high=high))
    across = Axis(columns_label(columns), "category", list(map(str, columns)))
    return LinePanel(f"Time, {study.name}", across, Axis("Time", "log", is_time=True), lines)


def u_curve(material):
    studies = studies_with_grids(material)
    note = (
        "With more process columns there is less to collect and more to sum, and rows are shorter. Lines are medians; bands reach "
        "from the least to the greatest time."
    )
    return Figure([u_curve_panel(study) for study in studies], note + settings_note(studies)) if studies else NO_GRIDS


# ---------------------------------------------------------------- kernels, transports, forms of the sum


def compared_settings(material):
    """[(study, P, [cases of a grid, in the order of cg2d's verdict, by Px])] where some grid was run with several settings: of each problem
    the number of ranks that the page is about, else the greatest. A matrix that is streamed has a figure of its own."""
    found = []
    for study in material.studies:
        for rank_count in dict.fromkeys((study.shown_rank_count, *reversed(study.rank_counts))):
            every_grid = [[case for case in cases if not case.storage] for _, cases in by_place(study.alternatives[rank_count])]
            grids = [cases for cases in every_grid if cases]
            if max(map(len, grids), default=0) > 1:
                found.append((study, rank_count, grids))
                break
    return found[:MOST_PANELS]


def settings_names(cases):
    """A function that names a case by the settings in which these cases differ."""
    parts = [case.runs[0].setting_parts for case in cases]
    differing = [place for place, values in enumerate(zip(*parts)) if len(set(values)) > 1]
    return lambda case: ", ".join(case.runs[0].setting_parts[place] or results.Run.USUAL_PARTS[place] for place in differing)


def against(case, first, name_of):
    """The medians of two settings on a grid beside each other."""
    return [f"{percent(case.median_s / first.median_s)} against the median of {name_of(first)}"] if case is not first else []


def settings_panel(study, rank_count, grids):
    name_of = settings_names([case for cases in grids for case in cases])
    bars = []
    for name in sorted({name_of(case) for cases in grids for case in cases}):
        chosen = [next((case for case in cases if name_of(case) == name), None) for cases in grids]
        tips = [
            case_tip(case, *against(case, cases[0], name_of), case.choice_mark) if case else ""
            for case, cases in zip(chosen, grids)
        ]
        bars.append(Bars(name, [case.median_s if case else None for case in chosen], tips))
    across = Axis("Grid, Px x Py", "category", [cases[0].arrangement for cases in grids])
    title = f"{study.name}, {ranks_text(rank_count)}"
    return BarPanel(title, across, Axis("Time (median)", from_zero=True, is_time=True), bars)


def settings(material):
    found = compared_settings(material)
    if not found:
        return "no grid was run with several kernels, transports or forms of the sum; cg2d sweep takes lists of them"
    note = "Bars show the median time of each combination. Every other figure shows one of them."
    return Figure([settings_panel(*entry) for entry in found], note + settings_note([study for study, _, _ in found]))


# ---------------------------------------------------------------- speed-up and efficiency


def scaling_lines(studies, value_of):
    """One line per study: value_of(study, P, least P), and its text, over P."""
    lines = []
    for study in studies:
        least = study.rank_counts[0]
        values = [value_of(study, rank_count, least) for rank_count in study.rank_counts]
        tips = [
            case_tip(study.best(rank_count), f"{study.name}: {text} against {ranks_text(least)}")
            for rank_count, (_, text) in zip(study.rank_counts, values)
        ]
        lines.append(Line(study.name, study.rank_counts, [value for value, _ in values], tips))
    return lines


def speed_up_of(study, rank_count, least):
    value = study.best(least).median_s / study.best(rank_count).median_s
    return least * value, f"{value:.2f} x as fast"


def efficiency_of(study, rank_count, least):
    value = speed_up_of(study, rank_count, least)[0] / rank_count * 100
    return value, f"efficiency {value:.0f} %"


def core_note(studies):
    """A sentence that names the number of ranks from which on cores were shared."""
    cases = [case for study in studies for case in study.all_cases()]
    crowded = [case.grid[0] * case.grid[1] for case in cases if case.run.document["environment"]["oversubscribed"]]
    return f" Ranks shared cores from {ranks_text(min(crowded))} on." if crowded else ""


def scaling(material):
    studies = [study for study in material.studies if len(study.cases) > 1]
    if not studies:
        return "all results of a class have the same number of ranks; run or sweep several numbers"
    counts = sorted({count for study in studies for count in study.rank_counts})
    across = Axis("P, ranks", "log", ticks=counts)
    speed_ups = scaling_lines(studies, speed_up_of)
    least = min(value for line in speed_ups for value in line.y)
    fractions = [2.0**-k for k in range(1, 20) if 2.0 ** -(k - 1) > least]
    ticks = sorted({1.0, *fractions, *counts}) if counts[-1] / least < 100 else []
    ideal = rule("ideal", counts, counts, [f"ideal: {count} times one rank" for count in counts])
    full = rule("ideal", counts, [100.0] * len(counts), "ideal: 100 %")
    efficiencies = scaling_lines(studies, efficiency_of)
    panels = [
        LinePanel("Speed-up", across, Axis("Speed-up, times", "log", ticks=ticks), [*speed_ups, ideal]),
        LinePanel("Efficiency", across, Axis("Efficiency, %", from_zero=True), [*efficiencies, full]),
    ]
    note = (
        "Points show the grid that cg2d calls best for a number of ranks, or the first of those that may be best, relative to the "
        "least number of ranks measured, whose efficiency counts as 100 %."
    )
    return Figure(panels, note + core_note(studies) + settings_note(studies))


# ---------------------------------------------------------------- convergence


def converging(material):
    """[(name, run)]: one per problem, as grids differ in rounding only."""
    found = {}
    for study in material.studies:
        run = study.best(study.shown_rank_count).run
        name = study.name.split(",")[0] if study.problem["class"] != "U" else study.name
        if run.document["outer_steps"]:
            found.setdefault(name, run)
    return list(found.items())


def zeta_line(name, run):
    """Relative distance of zeta from the reference; without one, from the last zeta. A distance of 0 is a gap."""
    steps = run.document["outer_steps"]
    goal = run.problem["reference_zeta"]
    goal_name = "the reference"
    if goal is None:
        goal, goal_name = steps[-1]["zeta"], "the last step"
    scale = abs(goal) or 1.0  # a reference of 0 may be asked for
    distances = [None if step["zeta"] is None else abs(step["zeta"] - goal) / scale for step in steps]
    tips = [
        f"{name}, step {step['step']}\nzeta {step['zeta']}\nrelative distance from {goal_name}: {distance:.2e}"
        if distance is not None
        else ""
        for step, distance in zip(steps, distances)
    ]
    return Line(name, [step["step"] for step in steps], [value or None for value in distances], tips)


def residual_line(name, run):
    steps = run.document["outer_steps"]
    tips = [f"{name}, step {step['step']}\nresidual norm {step['rnorm']:.3e}" if step["rnorm"] else "" for step in steps]
    return Line(name, [step["step"] for step in steps], [step["rnorm"] or None for step in steps], tips)


def convergence(material):
    runs = converging(material)
    if not runs:
        return "no run kept its outer steps"
    greatest = max(step["step"] for _, run in runs for step in run.document["outer_steps"])
    bound = rule("verification bound", [1, greatest], [1e-10, 1e-10], "relative distance 1e-10: verified")
    zetas = [*(zeta_line(*one) for one in runs), bound]
    residuals = [residual_line(*one) for one in runs]
    panels = [
        LinePanel("Distance of zeta from the reference", Axis("Outer step"), Axis("Relative distance", "log"), zetas),
        LinePanel("Residual after 25 CG steps", Axis("Outer step"), Axis("‖x - A z‖", "log"), residuals),
    ]
    return Figure(panels, "Each line is one run of a problem. A step whose zeta equals the reference in all digits has no point.")


# ---------------------------------------------------------------- repeats


def repeats_panel(study, cases):
    lines = []
    for case in cases:
        deviations = [100 * (time_s / case.median_s - 1) for time_s in case.times_s]
        tips = [
            f"{study.name}, grid {case.arrangement}, repetition {number}\n{seconds(time_s)}: {deviation:+.1f} % of the median"
            + (f"\ndisturbed: {reason}" if reason else "")
            for number, (time_s, deviation, reason) in enumerate(zip(case.times_s, deviations, case.disturbances), 1)
        ]
        lines.append(Line(case.arrangement, list(range(len(tips))), deviations, tips))
    most = max(len(line.x) for line in lines)
    across = Axis("Repetition, in the order of measurement", "category", [str(k) for k in range(1, most + 1)])
    title = f"{study.name}, {ranks_text(study.shown_rank_count)}"
    return LinePanel(title, across, Axis("Deviation from the median of the grid, %"), lines)


def repeats(material):
    """Of each problem the grids with at least two times."""
    repeated = [
        (study, cases)
        for study in material.studies
        if (cases := [case for _, case in by_place(study.cases[study.shown_rank_count]) if len(case.times_s) > 1])
    ]
    if not repeated:
        return "every configuration was run once; --repeat N or the rounds of cg2d sweep repeat it"
    note = "A drifting line shows that the machine changed; a single distant point shows that another process ran."
    return Figure([repeats_panel(*entry) for entry in repeated[:MOST_PANELS]], note)
