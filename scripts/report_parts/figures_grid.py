"""Grids beside each other: figures over ranks and process columns. Which is best is cg2d's verdict."""

from . import quiet, style
from .panels import Axis, BarPanel, Bars, Cell, Figure, HeatPanel, Line, LinePanel
from .studies import Case, by_place, official_grid, percent, place_order
from .times import seconds

# A figure with more panels than this is too small to read.
MOST_PANELS = 4


def ranks_text(count):
    return f"{count} rank" + ("" if count == 1 else "s")


def arrangement_text(case):
    return f"{ranks_text(case.grid[0] * case.grid[1])}, {'' if isinstance(case.place, str) else 'grid '}{case.arrangement}"


def case_tip(case, *more):
    """Lines that describe a case."""
    repeats = len(case.times_s)
    lines = [
        arrangement_text(case),
        f"median {seconds(case.median_s)} of {repeats} run{'' if repeats == 1 else 's'}{quiet.mark(case)}",
        f"{seconds(min(case.times_s))} to {seconds(max(case.times_s))}",
        case.settings,
    ]
    return "\n".join([*lines, *more])


def marks_of(study, rank_count, case):
    """Labels of the best grid, or of those that may be, and of the official one."""
    mark = case.mark
    is_official = case.grid == official_grid(rank_count) and "system" not in study.problem
    official = "official" if is_official else ""
    return [word for word in (mark, official) if word]


def columns_label(places):
    """Of an axis with these places."""
    domains = [isinstance(place, str) for place in places]
    return "Parts of the domain" if all(domains) else "Px, process columns" + (", or parts of the domain" if any(domains) else "")


def studies_with_grids(material):
    """Studies that have several grids of some number of ranks."""
    return [study for study in material.studies if any(len(grids) > 1 for grids in study.cases.values())][:MOST_PANELS]


def why_no_grids(material):
    if not studies_with_grids(material):
        return "there are no two grids of the same class and number of ranks; cg2d sweep measures them"
    return ""


# ---------------------------------------------------------------- time over P x Px


def heat_panel(study):
    rank_counts = study.rank_counts
    columns = sorted({place for grids in study.cases.values() for place in grids}, key=place_order)
    cells = {}
    for row, rank_count in enumerate(rank_counts):
        first = study.best(rank_count).arrangement
        for place, case in study.cases[rank_count].items():
            marks = marks_of(study, rank_count, case)
            is_behind = case.ratio and not case.mark and not case.is_candidate
            ratio_text = [f"{case.ratio:.2f} x {first}, median of paired rounds"] if is_behind else []
            loss = [percent(case.ratio)] if is_behind else []
            lines = [seconds(case.median_s), *loss, *marks]
            cells[row, columns.index(place)] = Cell(case.median_s, lines, case_tip(case, *ratio_text, *marks), bool(case.mark))
    return HeatPanel(
        title=f"Time, {study.name}",
        x_label=columns_label(columns),
        y_label="P, ranks",
        columns=[str(place) for place in columns],
        rows=[str(count) for count in rank_counts],
        cells=cells,
        scale_label="Time, among grids of the same number of ranks",
        by_row=True,
    )


def time_heat_map(material):
    return Figure(
        [heat_panel(study) for study in studies_with_grids(material)],
        "Cells show the median time of the timed region. Colours compare grids of the same number of ranks. A frame marks the grid "
        "that cg2d calls best, or the grids that may be best. 'official' marks the grid of the official program."
        + settings_note(studies_with_grids(material)),
    )


def settings_note(studies):
    """A sentence where a figure shows one of several settings, or its kernels differ."""
    return "".join(f" {words}" for study in studies if (words := study.shown_settings()))


# ---------------------------------------------------------------- U-curve


def u_curve_panel(study):
    columns = sorted({place for grids in study.cases.values() if len(grids) > 1 for place in grids}, key=place_order)
    lines = []
    for rank_count in study.rank_counts:
        cases = by_place(study.cases[rank_count])
        colour, marker = style.series_style(len(lines))
        if len(cases) < 2:
            continue
        lines.append(
            Line(
                name=ranks_text(rank_count),
                x=[columns.index(place) for place, _ in cases],
                y=[case.median_s for _, case in cases],
                low=[min(case.times_s) for _, case in cases],
                high=[max(case.times_s) for _, case in cases],
                colour=colour,
                marker=marker,
                tips=[case_tip(case, *marks_of(study, rank_count, case)) for _, case in cases],
            )
        )
    return LinePanel(
        title=f"Time, {study.name}",
        x=Axis(columns_label(columns), "category", names=[str(place) for place in columns]),
        y=Axis("Time", "log", is_time=True),
        lines=lines,
    )


def u_curve(material):
    return Figure(
        [u_curve_panel(study) for study in studies_with_grids(material)],
        "With more process columns there is less to collect and more to sum, and rows are shorter. Lines are medians; bands reach "
        "from the least to the greatest time." + settings_note(studies_with_grids(material)),
    )


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


def why_no_settings(material):
    if not compared_settings(material):
        return "no grid was run with several kernels, transports or forms of the sum; cg2d sweep takes lists of them"
    return ""


def settings_names(cases):
    """A function that names a case by the settings in which these cases differ."""
    parts = [case.setting_parts for case in cases]
    differing = [place for place, values in enumerate(zip(*parts)) if len(set(values)) > 1]
    return lambda case: ", ".join(case.setting_parts[place] or Case.USUAL_PARTS[place] for place in differing)


def against(case, first, name_of):
    """The medians of two settings on a grid beside each other."""
    return [f"{percent(case.median_s / first.median_s)} against the median of {name_of(first)}"] if case is not first else []


def settings_panel(study, rank_count, grids):
    name_of = settings_names([case for cases in grids for case in cases])
    names = sorted({name_of(case) for cases in grids for case in cases})
    bars = []
    for index, name in enumerate(names):
        chosen = [next((case for case in cases if name_of(case) == name), None) for cases in grids]
        values = [case.median_s if case else None for case in chosen]
        tips = [
            case_tip(case, *against(case, cases[0], name_of), case.choice_mark) if case else ""
            for case, cases in zip(chosen, grids)
        ]
        bars.append(Bars(name, values, style.series_style(index)[0], tips))
    return BarPanel(
        title=f"{study.name}, {ranks_text(rank_count)}",
        x=Axis("Grid, Px x Py", "category", names=[cases[0].arrangement for cases in grids]),
        y=Axis("Time (median)", from_zero=True, is_time=True),
        bars=bars,
    )


def settings(material):
    return Figure(
        [settings_panel(*entry) for entry in compared_settings(material)],
        "Bars show the median time of each combination. Every other figure shows one of them."
        + settings_note([study for study, _, _ in compared_settings(material)]),
    )


# ---------------------------------------------------------------- speed-up and efficiency


def studies_with_ranks(material):
    return [study for study in material.studies if len(study.cases) > 1]


def why_no_scaling(material):
    if not studies_with_ranks(material):
        return "all results of a class have the same number of ranks; run or sweep several numbers"
    return ""


def scaling_lines(material, value_of):
    """One line per study: value_of(study, P, least P), and its text, over P."""
    lines = []
    for study in studies_with_ranks(material):
        colour, marker = style.series_style(len(lines))
        least = study.rank_counts[0]
        values = [value_of(study, rank_count, least) for rank_count in study.rank_counts]
        tips = [
            case_tip(study.best(rank_count), f"{study.name}: {text} against {ranks_text(least)}")
            for rank_count, (_, text) in zip(study.rank_counts, values)
        ]
        lines.append(Line(study.name, study.rank_counts, [value for value, _ in values], colour, tips, marker))
    return lines


def speed_up_of(study, rank_count, least):
    value = study.best(least).median_s / study.best(rank_count).median_s
    return least * value, f"{value:.2f} x as fast"


def efficiency_of(study, rank_count, least):
    value = speed_up_of(study, rank_count, least)[0] / rank_count * 100
    return value, f"efficiency {value:.0f} %"


def core_note(material):
    """A sentence that names the number of ranks from which on cores were shared."""
    crowded = [
        case.grid[0] * case.grid[1]
        for study in studies_with_ranks(material)
        for case in study.all_cases()
        if case.run.document["environment"]["oversubscribed"]
    ]
    return f" Ranks shared cores from {ranks_text(min(crowded))} on." if crowded else ""


def scaling(material):
    counts = sorted({count for study in studies_with_ranks(material) for count in study.rank_counts})
    axis = Axis("P, ranks", "log", ticks=counts)
    speed_ups = scaling_lines(material, speed_up_of)
    least = min(value for line in speed_ups for value in line.y)
    fractions = [2.0**-k for k in range(1, 20) if 2.0 ** -(k - 1) > least]
    ticks = sorted({1.0, *fractions, *counts}) if counts[-1] / least < 100 else []
    ideal = Line(
        "ideal", counts, counts, style.GREY, [f"ideal: {count} times one rank" for count in counts],
        is_dashed=True, has_points=False,
    )  # fmt: skip
    full = Line(
        "ideal", counts, [100.0] * len(counts), style.GREY, ["ideal: 100 %"] * len(counts), is_dashed=True, has_points=False
    )
    return Figure(
        [
            LinePanel(
                "Speed-up", axis, Axis("Speed-up, times", "log", ticks=ticks), [*speed_ups, ideal]
            ),
            LinePanel(
                "Efficiency", axis, Axis("Efficiency, %", from_zero=True), [*scaling_lines(material, efficiency_of), full]
            ),
        ],
        "Points show the grid that cg2d calls best for a number of ranks, or the first of those that may be best, relative to the "
        "least number of ranks measured, whose efficiency counts as 100 %." + core_note(material) + settings_note(studies_with_ranks(material)),
    )  # fmt: skip
