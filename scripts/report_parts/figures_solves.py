"""Figures of cg2d solve: residuals, and how each solve ended."""

from . import style
from .panels import Axis, Figure, Line, LinePanel, Table
from .times import seconds


MOST_HISTORY = 400  # points of a line: more are thinned out
MOST_MARKED = 60  # with a marker each


def why_no_solves(material):
    return "" if solved(material) else "no result of cg2d solve was given"


def solved(material):
    return [study for study in material.inputs.solves if study.document["result"]]


def file_name(matrix):
    """Of a matrix, without its folders; operators have none."""
    return matrix.rpartition("/")[2]


def history_of(result):
    """Norms of the residual; none where several right-hand sides have one each."""
    return result.get("history") or []


def solve_line(study, index):
    history = history_of(study.document["result"])
    every = max(1, -(-len(history) // MOST_HISTORY))
    steps = sorted({*range(0, len(history), every), len(history) - 1})
    name = f"{file_name(study.document['system']['matrix'])}, {study.document['system']['preconditioner']}"
    tips = [f"{name}\niteration {step}: {history[step]:.3e}" for step in steps]
    colour, marker = style.series_style(index)
    has_points = len(steps) <= MOST_MARKED
    return Line(name, steps, [history[step] or None for step in steps], colour, tips, marker, has_points=has_points)


def solve_row(study):
    document = study.document
    result, system = document["result"], document["system"]
    spectrum = result.get("spectrum") or {}
    condition = spectrum.get("condition_number")
    residual = result.get("residual_norm")
    asked = file_name(system["matrix"]), document["setup"]["n"], document["configuration"]["ranks"], system["preconditioner"]
    numbers = f"{residual:.2e}" if residual else "", f"{condition:.3g}" if condition else ""
    time = seconds(result["time_s"]) if result.get("time_s") else ""
    return [*asked, system["variant"], result.get("end", ""), result.get("iterations", ""), *numbers, time]


def solves(material):
    studies = solved(material)
    with_history = [study for study in studies if history_of(study.document["result"])][: len(style.SERIES)]
    lines = [solve_line(study, index) for index, study in enumerate(with_history)]
    panel = LinePanel("Residual of each iteration", Axis("Iteration"), Axis("‖r‖ of the recurrence", "log"), lines)
    heads = ["system", "n", "ranks", "preconditioner", "form", "end", "iterations", "residual", "condition", "time"]
    table = Table("Solved systems", heads, [solve_row(study) for study in studies], (1, 2, 6, 7, 8, 9))
    return Figure([panel] if lines else [], "'converged' means that the recomputed residual is small enough.", table)
