"""Figures of the computation: convergence and repeats."""

from . import style
from .figures_grid import MOST_PANELS, ranks_text
from .panels import Axis, Figure, Line, LinePanel
from .studies import by_place
from .times import seconds

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


def why_no_convergence(material):
    return "" if converging(material) else "no run kept its outer steps"


def zeta_line(name, run, index):
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
    colour, marker = style.series_style(index)
    return Line(name, [step["step"] for step in steps], [value or None for value in distances], colour, tips, marker)


def residual_line(name, run, index):
    steps = run.document["outer_steps"]
    colour, marker = style.series_style(index)
    return Line(
        name, [step["step"] for step in steps], [step["rnorm"] or None for step in steps], colour,
        [f"{name}, step {step['step']}\nresidual norm {step['rnorm']:.3e}" if step["rnorm"] else "" for step in steps],
        marker,
    )  # fmt: skip


def convergence(material):
    runs = converging(material)
    greatest = max(step["step"] for _, run in runs for step in run.document["outer_steps"])
    bound = Line(
        "verification bound", [1, greatest], [1e-10, 1e-10], style.GREY, ["relative distance 1e-10: verified"] * 2,
        is_dashed=True, has_points=False,
    )  # fmt: skip
    step = Axis("Outer step")
    return Figure(
        [
            LinePanel(
                "Distance of zeta from the reference", step, Axis("Relative distance", "log"),
                [*(zeta_line(name, run, index) for index, (name, run) in enumerate(runs)), bound],
            ),
            LinePanel(
                "Residual after 25 CG steps", step, Axis("‖x - A z‖", "log"),
                [residual_line(name, run, index) for index, (name, run) in enumerate(runs)],
            ),
        ],
        "Each line is one run of a problem. A step whose zeta equals the reference in all digits has no point.",
    )  # fmt: skip


# ---------------------------------------------------------------- repeats


def repeated(material):
    """[(study, P, cases)] with at least two times of a case."""
    found = []
    for study in material.studies:
        rank_count = study.shown_rank_count
        cases = [case for _, case in by_place(study.cases[rank_count]) if len(case.times_s) > 1]
        if cases:
            found.append((study, rank_count, cases))
    return found[:MOST_PANELS]


def why_no_repeats(material):
    if not repeated(material):
        return "every configuration was run once; --repeat N or the rounds of cg2d sweep repeat it"
    return ""


def repeats_panel(study, rank_count, cases):
    lines = []
    for index, case in enumerate(cases):
        colour, marker = style.series_style(index)
        median = case.median_s
        deviations = [100 * (time_s / median - 1) for time_s in case.times_s]
        tips = [
            f"{study.name}, grid {case.arrangement}, repetition {number}\n{seconds(time_s)}: {deviation:+.1f} % of the median"
            + (f"\ndisturbed: {reason}" if reason else "")
            for number, (time_s, deviation, reason) in enumerate(zip(case.times_s, deviations, case.disturbances), 1)
        ]
        lines.append(Line(case.arrangement, list(range(len(tips))), deviations, colour, tips, marker))
    most = max(len(line.x) for line in lines)
    return LinePanel(
        title=f"{study.name}, {ranks_text(rank_count)}",
        x=Axis("Repetition, in the order of measurement", "category", names=[str(k) for k in range(1, most + 1)]),
        y=Axis("Deviation from the median of the grid, %"),
        lines=lines,
    )


def repeats(material):
    return Figure(
        [repeats_panel(*entry) for entry in repeated(material)],
        "A drifting line shows that the machine changed; a single distant point shows that another process ran.",
    )
