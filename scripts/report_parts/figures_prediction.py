"""Figures of predicted times: against the measured ones, and of described machines (cg2d model)."""

import math
import typing

from . import style
from .figures_grid import MOST_PANELS, ranks_text
from .panels import Axis, Cell, Figure, HeatPanel, Line, LinePanel, rule
from .results import PHASES
from .times import seconds

# Per cent of the time of a run: for shorter phases the deviation means little.
LEAST_SHARE = 1.0
TOTAL = "total"


def predicted_runs(study):
    """The run with a prediction for every grid that has one, by P and Px."""
    runs = [case.run_with("prediction") for case in study.all_cases()]
    return [run for run in runs if run and run.rank_phases()]


class Point(typing.NamedTuple):
    """Seconds per CG step of a run, and the deviation in per cent of the measured time. place: of the run in its study. is_large: whether it
    takes LEAST_SHARE of the time."""

    measured_s: float
    predicted_s: float
    tip: str
    place: int
    deviation: float
    is_large: bool


def points_of(study, phase):
    """Of the runs where there is something to compare. phase: one of PHASES, or TOTAL."""
    points = []
    for place, run in enumerate(predicted_runs(study)):
        prediction, time_s = run.document["prediction"], run.document["result"]["time_s"]
        measured_s, predicted_s = time_s, prediction["total_s"]
        if phase != TOTAL:
            measured_s, predicted_s = run.phase_seconds(phase), prediction["phases"][phase]
        if not measured_s:
            continue
        share, deviation = 100 * measured_s / time_s, 100 * (predicted_s - measured_s) / measured_s
        pair = measured_s / run.cg_steps, predicted_s / run.cg_steps
        tip = (
            f"{study.name}, grid {run.arrangement}, {style.phase_name(phase)}: {deviation:+.1f} %\n"
            f"measured {seconds(pair[0])}, predicted {seconds(pair[1])} per CG step"
            f"{'' if phase == TOTAL else f', {share:.2g} % of the time'}\nmachine: {prediction['machine']}"
        )
        points.append(Point(*pair, tip, place, deviation, share >= LEAST_SHARE))
    return points


# ---------------------------------------------------------------- phases, all runs


def phase_line(material, phase, index):
    # Both axes are logarithmic.
    points = sorted(point for study in material.studies for point in points_of(study, phase) if point.predicted_s)
    x, y, tips = ([point[k] for point in points] for k in range(3))
    return Line(style.phase_name(phase), x, y, tips, style.PHASE_COLOURS[phase], style.series_style(index)[1], has_line=False)


def compared_phases(material):
    """A panel; none where no phase can be compared."""
    lines = [phase_line(material, phase, index) for index, phase in enumerate(PHASES)]
    lines = [line for line in lines if line.x]
    if not lines:
        return []
    values = [value for line in lines for value in (*line.x, *line.y)]
    ends = [min(values), max(values)]
    across, up = (Axis(f"{word} time of a CG step", "log", is_time=True) for word in ("Measured", "Predicted"))
    return [LinePanel("Phases", across, up, [*lines, rule("predicted = measured", ends, ends, "")])]


# ---------------------------------------------------------------- residuals by grid


def residual_lines(name, colour, marker, points, bound):
    """Strong and pale points, at most at the bound. The strong one is in the legend, where there is one."""
    lines = []
    for is_large, shade in ((True, colour), (False, style.pale(colour))):
        if own := [point for point in points if point.is_large is is_large]:
            y = [max(-bound, min(bound, point.deviation)) for point in own]
            x, tips = [point.place for point in own], [point.tip for point in own]
            lines.append(Line(name, x, y, tips, shade, marker, has_line=False, is_named=not lines))
    return lines


def bound_of(found):
    """Bound of the axis, per cent: it holds every total, and nine in ten of the phases that are not pale."""
    totals = [abs(point.deviation) for point in found[TOTAL]]
    phases = sorted(abs(point.deviation) for phase in PHASES for point in found[phase] if point.is_large)
    return 1.3 * max([10.0, *totals, *phases[: math.ceil(0.9 * len(phases))]])


def residual_panel(study):
    runs = predicted_runs(study)
    found = {phase: points_of(study, phase) for phase in (*PHASES, TOTAL)}
    bound = bound_of(found)
    zero = rule("", [-0.5, len(runs) - 0.5], [0, 0], "", is_named=False)
    strong, pale = [], []
    for index, (phase, colour) in enumerate(style.PHASE_COLOURS.items()):
        for line in residual_lines(style.phase_name(phase), colour, style.series_style(index)[1], found[phase], bound):
            (strong if line.colour == colour else pale).append(line)
    total = residual_lines(TOTAL, style.SERIES[6], "rectRot", found[TOTAL], bound)
    across = Axis("Grid, Px x Py", "category", [run.arrangement for run in runs])
    lines = [*total, *strong, *pale, zero]  # the first on top
    return LinePanel(f"Residuals, {study.name}", across, Axis("(predicted - measured) / measured, %"), lines)


def prediction(material):
    studies = [study for study in material.studies if predicted_runs(study)]
    if not studies:
        return "no run has a prediction; cg2d model --calibrate, then run or sweep again"
    panels = [*compared_phases(material), *map(residual_panel, studies)]
    note = (
        "Points are means over the ranks. Above the dashed line, the prediction is longer than the measured time. Phases below "
        f"{LEAST_SHARE:g} % of the time are pale. Points at the upper or lower edge lie beyond it."
    )
    return Figure(panels[:MOST_PANELS], note)


# ---------------------------------------------------------------- cg2d model


def model_name(machine, problem):
    return f"{machine}, class {problem['class']}"


def grids_panel(machine, problem):
    counts = problem["rank_counts"]
    columns = sorted({grid["columns"] for count in counts for grid in count["grids"]})
    cells = {}
    for row, count in enumerate(counts):
        for grid in count["grids"]:
            is_best = grid["grid"] == count["best_grid"]
            marks = ["best"] * is_best
            phases = [f"{style.phase_name(phase)} {seconds(time_s)}" for phase, time_s in grid["phases"].items()]
            tip = [f"{ranks_text(count['ranks'])}, grid {grid['grid']}, {grid['kernel']}", f"predicted {seconds(grid['total_s'])}", *phases, *marks]
            lines = [seconds(grid["total_s"]), *marks]
            cells[row, columns.index(grid["columns"])] = Cell(grid["total_s"], lines, "\n".join(tip), is_best)
    title, rows = f"Predicted time, {model_name(machine, problem)}", [count["ranks"] for count in counts]
    label = "Time, among grids of the same number of ranks"
    return HeatPanel(title, "Px, process columns", "P, ranks", columns, rows, cells, label, by_row=True)


def times_panel(found):
    lines = []
    for machine, problem in found:
        counts = problem["rank_counts"]
        tips = [f"{ranks_text(count['ranks'])}, grid {count['best_grid']}\n{seconds(count['total_s'])}" for count in counts]
        x, y = ([count[key] for count in counts] for key in ("ranks", "total_s"))
        lines.append(Line(model_name(machine, problem), x, y, tips))
    most = max(rank_count for line in lines for rank_count in line.x)
    ticks = [1 << k for k in range(most.bit_length())]
    return LinePanel("Predicted time on the best grid", Axis("Ranks", "log", ticks=ticks), Axis("Time", "log", is_time=True), lines)


def models(material):
    found = [(document["machine"], problem) for document in material.inputs.models for problem in document["problems"]]
    if not material.inputs.models:
        return "no result of cg2d model --format json was given"
    panels = [*(grids_panel(*one) for one in found[: MOST_PANELS - 1]), times_panel(found)]
    note = "The model predicts these times from the machine's description; nothing was measured. A frame marks the best grid of a number of ranks."
    return Figure(panels, note)
