"""Where the time goes: figures of phases and ranks."""

import statistics

from . import style
from .figures_grid import MOST_PANELS, arrangement_text, ranks_text
from .panels import Axis, BarPanel, Bars, Cell, Figure, HeatPanel
from .results import PHASES
from .studies import by_place
from .times import seconds

# ---------------------------------------------------------------- phases per Px


def timed_cases(material):
    """[(study, P, [cases by Px])] of cases whose phases were timed: for each problem the number of ranks that is shown, then
    further ones with several grids."""
    shown, others = [], []
    for study in material.studies:
        for rank_count in reversed(study.rank_counts):
            cases = [case for _, case in by_place(study.cases[rank_count]) if case.run.rank_phases()]
            if cases and rank_count == study.shown_rank_count:
                shown.append((study, rank_count, cases))
            elif len(cases) > 1:
                others.append((study, rank_count, cases))
    return [*shown, *others][:MOST_PANELS]


def why_no_phases(material):
    return "" if timed_cases(material) else "no run timed its phases; --no-phases turns the timers off"


def phases_panel(study, rank_count, cases):
    bars = []
    for phase in PHASES:
        name = style.phase_name(phase)
        for is_waiting in (False, True):
            values = [part_of(case, phase, is_waiting) / case.run.cg_steps for case in cases]
            if is_waiting and not any(values):
                continue
            doing = "waiting for others" if is_waiting else "working"
            tips = [
                f"{arrangement_text(case)}, {case.settings}\n{name}, {doing}: {seconds(value)} per CG step\n{share_text(case, phase)}"
                for case, value in zip(cases, values)
            ]
            bars.append(Bars(f"{name}, waiting" if is_waiting else name, values, style.PHASE_COLOURS[phase], tips, is_waiting))
    return BarPanel(
        title=f"{study.name}, {ranks_text(rank_count)}",
        x=Axis("Grid, Px x Py", "category", names=[case.arrangement for case in cases]),
        y=Axis("Time of a CG step (mean over ranks)", from_zero=True, is_time=True),
        bars=bars,
        is_stacked=True,
    )


def part_of(case, phase, is_waiting):
    """Seconds in which the mean rank waited for others within a phase, or did anything else."""
    parts = []
    for rank in case.run.rank_phases():
        times = rank["phases"][phase]
        share = times["waited_clocks"] / times["clocks"] if times["clocks"] else 0.0
        parts.append(times["seconds"] * (share if is_waiting else 1 - share))
    return statistics.fmean(parts)


def share_text(case, phase):
    total_s = sum(case.run.phase_seconds(name) for name in PHASES)
    return f"the phase and its waiting: {100 * case.run.phase_seconds(phase) / total_s:.1f} % of all phases"


def stacked_phases(material):
    return Figure(
        [phases_panel(*entry) for entry in timed_cases(material)],
        "Bars show the mean over the ranks. In the hatched part of a phase, ranks wait for other ranks.",
    )


# ---------------------------------------------------------------- the rank plane


def plane_cases(material):
    """[(study, case)] whose ranks are shown, of the largest problem that ran on several: the best grid of the number of ranks
    that is shown elsewhere, and of the greatest one."""
    for study in material.studies:
        counts = [count for count in study.rank_counts if count > 1 and study.best(count).run.rank_phases()]
        if counts:
            shown = study.shown_rank_count if study.shown_rank_count in counts else counts[-1]
            return [(study, study.best(count)) for count in dict.fromkeys((shown, counts[-1]))]
    return []


def why_no_plane(material):
    return "" if plane_cases(material) else "no run on several ranks timed its phases"


def plane_panel(case, title, clocks_of, unit):
    """clocks_of(entry of a rank): clocks of all CG steps. unit: (factor, letter, word)."""
    column_count, row_count = case.grid
    entries = case.run.rank_phases()
    mean = statistics.fmean(clocks_of(entry) for entry in entries)
    factor, letter, word = unit
    cells = {}
    for entry in entries:
        value = clocks_of(entry) / case.run.cg_steps
        against = f", {100 * (clocks_of(entry) / mean - 1):+.1f} % of the mean" if mean else ""
        tip = (
            f"rank {entry['rank']}: process column {entry['process_column']}, process row {entry['process_row']}\n"
            f"{value:,.0f} clocks per CG step{against}"
        )
        lines = [f"rank {entry['rank']}", f"{factor * value:.4g} {letter}"]
        cells[entry["process_row"], entry["process_column"]] = Cell(factor * value, lines, tip)
    return HeatPanel(
        title=title,
        x_label="Process column",
        y_label="Process row",
        columns=[str(column) for column in range(column_count)],
        rows=[str(row) for row in range(row_count)],
        cells=cells,
        scale_label=f"{word} clocks per CG step",
        scale_format="{:.4g}",
    )


def rank_plane(material):
    cases = plane_cases(material)
    maps = [
        (case, f"{what}, {study.name}, {case.arrangement}", clocks_of)
        for study, case in cases
        for what, clocks_of in (("Multiply", multiply_clocks), ("Waiting for others", waited_clocks))
    ]
    greatest = max(clocks_of(entry) / case.run.cg_steps for case, _, clocks_of in maps for entry in case.run.rank_phases())
    unit = (1e-6, "M", "Million") if greatest >= 1e7 else (1e-3, "k", "Thousand")
    slow = [max(case.run.rank_phases(), key=multiply_clocks) for _, case in cases]
    words = " and ".join(f"rank {entry['rank']} on {case.arrangement}" for entry, (_, case) in zip(slow, cases))
    return Figure(
        [plane_panel(*one, unit) for one in maps],
        f"Cells show the reference clocks of each rank. Longest in multiply: {words}. The others wait for a rank that waits little.",
    )


def multiply_clocks(entry):
    return entry["phases"]["multiply"]["clocks"]


def waited_clocks(entry):
    return sum(phase["waited_clocks"] for phase in entry["phases"].values())
