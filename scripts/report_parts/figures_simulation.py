"""Figures of cg2d simulate: CG steps on a network that is shared, beside the model's, and the loads of its links."""

from . import style
from .figures_grid import MOST_PANELS
from .panels import Axis, BarPanel, Bars, Figure, Table
from .times import seconds


def why_no_simulations(material):
    return "" if material.inputs.simulations else "no result of cg2d simulate --format json was given"


def simulated(material):
    """[(title, problem)] of all results."""
    return [
        (f"{study.document['machine']}, {study.document['interconnect']}, {study.document['placement']}, class {problem['class']}", problem)
        for study in material.inputs.simulations
        for problem in study.document["problems"]
    ]


def grid_axis(problem):
    return Axis("Grid, Px x Py", "category", names=[grid["grid"] for grid in problem["grids"]])


def steps_panel(title, problem):
    """What the model has, and what is added where ranks wait and share links."""
    bars = []
    for index, (name, key) in enumerate((("simulated", "step_s"), ("model", "model_step_s"))):
        values = [grid[key] for grid in problem["grids"]]
        tips = [f"grid {grid['grid']}, {grid['kernel']}\n{name}: {seconds(grid[key])}" for grid in problem["grids"]]
        bars.append(Bars(name, values, style.series_style(index)[0], tips))
    return BarPanel(f"Time of a CG step, {title}", grid_axis(problem), Axis("Time", from_zero=True, is_time=True), bars)


def phases_panel(title, problem):
    bars = []
    for index, phase in enumerate(phase["phase"] for phase in problem["grids"][0]["phases"]):
        parts = [grid["phases"][index] for grid in problem["grids"]]
        tips = [
            f"grid {grid['grid']}, {style.phase_name(phase)}\nmean {seconds(part['mean_s'])}, slowest {seconds(part['slowest_s'])}, model {seconds(part['model_s'])}"
            for grid, part in zip(problem["grids"], parts)
        ]
        bars.append(Bars(style.phase_name(phase), [part["mean_s"] for part in parts], style.PHASE_COLOURS[phase], tips))
    return BarPanel(f"Phases of a CG step, {title}", grid_axis(problem), Axis("Time (mean over ranks)", from_zero=True, is_time=True), bars, is_stacked=True)


def loads_table(found):
    rows = []
    for title, problem in found:
        for grid in problem["grids"]:
            for phase in grid["phases"]:
                link = phase["busiest_link"]
                if not phase["used_links"]:
                    continue
                times = link["bytes"] / phase["mean_link_bytes"]
                numbers = [str(link["bytes"]), f"{times:.2f}", str(link["most_at_once"])]
                rows.append([title, grid["grid"], style.phase_name(phase["phase"]), link["link"], *numbers])
    heads = ["machine", "grid", "phase", "busiest link", "bytes of a CG step", "times the mean", "messages at once"]
    return Table("Link loads", heads, rows, range(4, 7))


def what_if_table(found):
    rows = []
    for title, problem in found:
        described = min(grid["step_s"] for grid in problem["grids"])
        for other in problem["what_if"]:
            step_s = min(grid["step_s"] for grid in other["grids"])
            rows.append([title, other["name"], other["best_grid"], seconds(step_s), f"{step_s / described:.3f}"])
    return Table("Other machines", ["machine", "what if", "best grid", "a CG step", "relative to described"], rows, range(3, 5)) if rows else None


def simulations(material):
    found = simulated(material)
    panels = [make(*one) for one in found for make in (steps_panel, phases_panel)]
    note = (
        "The simulation sends every message of a CG step over a network whose links are shared. In the model no message waits for "
        "another one, so the difference is waiting, for ranks or for links."
    )
    loads, what_if = loads_table(found), what_if_table(found)
    return Figure(panels[:MOST_PANELS], note, what_if or loads, loads if what_if else None)
