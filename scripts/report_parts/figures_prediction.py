"""Figures of predicted against measured times."""

import math

from . import style
from .figures_grid import MOST_PANELS
from .panels import Axis, Figure, Line, LinePanel
from .results import PHASES
from .times import seconds

# Per cent of the time of a run: for shorter phases the deviation means little.
LEAST_SHARE = 1.0
TOTAL = "total"


def predicted_runs(study):
    """The run with a prediction for every grid that has one, by P and Px."""
    runs = [case.run_with("prediction") for case in study.all_cases()]
    return [run for run in runs if run and run.rank_phases()]


def why_no_prediction(material):
    if not any(predicted_runs(study) for study in material.studies):
        return "no run has a prediction; cg2d model --calibrate, then run or sweep again"
    return ""


def measured_and_predicted(run, phase):
    """Seconds per CG step, or None where there is nothing to compare. phase: one of PHASES, or TOTAL."""
    prediction = run.document["prediction"]
    if phase == TOTAL:
        pair = run.document["result"]["time_s"], prediction["total_s"]
    else:
        pair = run.phase_seconds(phase), prediction["phases"][phase]
    return tuple(value / run.cg_steps for value in pair) if pair[0] else None


def name_of(phase):
    return TOTAL if phase == TOTAL else style.phase_name(phase)


def share_of(run, phase):
    """Per cent of the timed region."""
    return 100 if phase == TOTAL else 100 * run.phase_seconds(phase) / run.document["result"]["time_s"]


def deviation_of(pair):
    """(predicted - measured) / measured, per cent."""
    return 100 * (pair[1] - pair[0]) / pair[0]


def tip_of(study, run, phase, pair):
    machine = run.document["prediction"]["machine"]
    share = "" if phase == TOTAL else f"\n{share_of(run, phase):.2g} % of the time"
    return (
        f"{study.name}, grid {run.arrangement}, {name_of(phase)}: {deviation_of(pair):+.1f} %\n"
        f"measured {seconds(pair[0])}, predicted {seconds(pair[1])} per CG step{share}\nmachine: {machine}"
    )


# ---------------------------------------------------------------- phases, all runs


def phase_line(material, phase, index):
    points = []
    for study in material.studies:
        for run in predicted_runs(study):
            pair = measured_and_predicted(run, phase)
            if pair and pair[1]:  # both axes are logarithmic
                points.append((*pair, tip_of(study, run, phase, pair)))
    points.sort()
    x, y, tips = ([point[k] for point in points] for k in range(3))
    return Line(name_of(phase), x, y, style.PHASE_COLOURS[phase], tips, style.series_style(index)[1], has_line=False)


def phases_panel(material):
    """None where no phase can be compared."""
    lines = [phase_line(material, phase, index) for index, phase in enumerate(PHASES)]
    lines = [line for line in lines if line.x]
    if not lines:
        return None
    values = [value for line in lines for value in (*line.x, *line.y)]
    ends = [min(values), max(values)]
    lines.append(Line("predicted = measured", ends, ends, style.GREY, ["", ""], is_dashed=True, has_points=False))
    return LinePanel("Phases", Axis("Measured time of a CG step", "log", is_time=True), Axis("Predicted time of a CG step", "log", is_time=True), lines)


# ---------------------------------------------------------------- residuals by grid


def residual_points(study, runs, phase):
    """[(place, deviation, tip, whether it takes LEAST_SHARE of the time)]"""
    points = []
    for place, run in enumerate(runs):
        pair = measured_and_predicted(run, phase)
        if pair:
            is_large = share_of(run, phase) >= LEAST_SHARE
            points.append((place, deviation_of(pair), tip_of(study, run, phase, pair), is_large))
    return points


def residual_lines(name, colour, marker, points, bound):
    """Strong and pale points, at most at the bound. The strong one is in the legend, where there is one."""
    lines = []
    for is_large, shade in ((True, colour), (False, style.pale(colour))):
        own = [point for point in points if point[3] is is_large]
        if own:
            y = [max(-bound, min(bound, point[1])) for point in own]
            x, tips = ([point[k] for point in own] for k in (0, 2))
            lines.append(Line(name, x, y, shade, tips, marker, has_line=False, is_named=not lines))
    return lines


def bound_of(found):
    """Bound of the axis, per cent: it holds every total, and nine in ten of the phases that are not pale."""
    totals = [abs(point[1]) for point in found[TOTAL]]
    phases = sorted(abs(point[1]) for phase in PHASES for point in found[phase] if point[3])
    return 1.3 * max([10.0, *totals, *phases[: math.ceil(0.9 * len(phases))]])


def residual_panel(study):
    runs = predicted_runs(study)
    found = {phase: residual_points(study, runs, phase) for phase in (*PHASES, TOTAL)}
    bound = bound_of(found)
    last = len(runs) - 1
    zero = Line("", [-0.5, last + 0.5], [0, 0], style.GREY, ["", ""], is_dashed=True, has_points=False, is_named=False)
    strong, pale = [], []
    for index, phase in enumerate(PHASES):
        marker = style.series_style(index)[1]
        for line in residual_lines(name_of(phase), style.PHASE_COLOURS[phase], marker, found[phase], bound):
            (strong if line.colour == style.PHASE_COLOURS[phase] else pale).append(line)
    total = residual_lines(TOTAL, style.SERIES[6], "rectRot", found[TOTAL], bound)
    return LinePanel(
        title=f"Residuals, {study.name}",
        x=Axis("Grid, Px x Py", "category", names=[run.arrangement for run in runs]),
        y=Axis("(predicted - measured) / measured, %"),
        lines=[*total, *strong, *pale, zero],  # the first on top
    )


def prediction(material):
    panels = [panel for panel in [phases_panel(material)] if panel]
    panels += [residual_panel(study) for study in material.studies if predicted_runs(study)]
    return Figure(
        panels[:MOST_PANELS],
        "Points are means over the ranks. Above the dashed line, the prediction is longer than the measured time. Phases below "
        f"{LEAST_SHARE:g} % of the time are pale. Points at the upper or lower edge lie beyond it.",
    )
