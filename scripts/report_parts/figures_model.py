"""Figures of cg2d model: predicted grids of described machines, and the paper's tables beside the model."""

from . import style
from .figures_grid import MOST_PANELS, ranks_text
from .panels import Axis, Cell, Figure, HeatPanel, Line, LinePanel, Table
from .studies import official_grid
from .times import seconds

# Errors from here on have the strongest colour.
GREATEST_ERROR = 10.0


def why_no_models(material):
    return "" if material.inputs.models else "no result of cg2d model --format json was given"


def predicted(material):
    """[(machine, problem)] of all results."""
    return [(study.document["machine"], problem) for study in material.inputs.models for problem in study.document["problems"]]


def name_of(machine, problem):
    return f"{machine}, class {problem['class']}"


def grids_panel(machine, problem):
    columns = sorted({grid["columns"] for row in problem["rank_counts"] for grid in row["grids"]})
    cells = {}
    for row, count in enumerate(problem["rank_counts"]):
        for grid in count["grids"]:
            is_best = grid["grid"] == count["best_grid"]
            marks = ["best"] * is_best + ["official"] * ((grid["columns"], grid["rows"]) == official_grid(count["ranks"]))
            phases = [f"{style.phase_name(phase)} {seconds(time_s)}" for phase, time_s in grid["phases"].items()]
            tip = [f"{ranks_text(count['ranks'])}, grid {grid['grid']}, {grid['kernel']}", f"predicted {seconds(grid['total_s'])}", *phases, *marks]
            lines = [seconds(grid["total_s"]), *marks]
            cells[row, columns.index(grid["columns"])] = Cell(grid["total_s"], lines, "\n".join(tip), is_best)
    return HeatPanel(
        title=f"Predicted time, {name_of(machine, problem)}",
        x_label="Px, process columns",
        y_label="P, ranks",
        columns=[str(count) for count in columns],
        rows=[str(count["ranks"]) for count in problem["rank_counts"]],
        cells=cells,
        scale_label="Time, among grids of the same number of ranks",
        by_row=True,
    )


def times_panel(found):
    lines = []
    for machine, problem in found:
        colour, marker = style.series_style(len(lines))
        counts = problem["rank_counts"]
        tips = [f"{ranks_text(count['ranks'])}, grid {count['best_grid']}\n{seconds(count['total_s'])}" for count in counts]
        name = name_of(machine, problem)
        lines.append(Line(name, [count["ranks"] for count in counts], [count["total_s"] for count in counts], colour, tips, marker))
    most = max(rank_count for line in lines for rank_count in line.x)
    ticks = [1 << k for k in range(most.bit_length())]
    return LinePanel("Predicted time on the best grid", Axis("Ranks", "log", ticks=ticks), Axis("Time", "log", is_time=True), lines)


def models(material):
    found = predicted(material)
    rows = [
        [machine, problem["class"], str(count["ranks"]), count["best_grid"], seconds(count["total_s"]), f"{100 * count['efficiency']:.1f} %"]
        for machine, problem in found
        for count in problem["rank_counts"]
    ]
    heads = ["machine", "class", "ranks", "best grid", "predicted time", "efficiency"]
    panels = [grids_panel(*one) for one in found[: MOST_PANELS - 1]]
    note = "The model predicts these times from the machine's description; nothing was measured. A frame marks the best grid of a number of ranks."
    return Figure([*panels, times_panel(found)], note, Table("Best grids", heads, rows, range(2, 6)))


# ---------------------------------------------------------------- the paper


def why_no_papers(material):
    return "" if material.inputs.papers else "no result of cg2d model --paper --format json was given"


def number_text(value, unit):
    return f"{value:.0f}" if unit == "clocks" else f"{value:.2f}"


def error_text(cell):
    return f"{100 * cell['error']:+.1f} %" if "error" in cell else ""


def errors_panel(study, table):
    columns = [cell["column"] for cell in table["rows"][0]["cells"]]
    cells = {}
    for row, described in enumerate(table["rows"]):
        for cell in described["cells"]:
            paper = number_text(cell["paper"], table["unit"])
            model = [f"the model {number_text(cell['model'], table['unit'])} {table['unit']}, {error_text(cell)}"] if "model" in cell else []
            tip = "\n".join([f"{table['row_title']} {described['name']}, {cell['column']}", f"the paper {paper} {table['unit']}", *model])
            value = min(100 * abs(cell.get("error", 0.0)), GREATEST_ERROR)
            cells[row, columns.index(cell["column"])] = Cell(value, [paper, error_text(cell)], tip)
    return HeatPanel(
        title=f"{table['name']}, {study.document['machine']}",
        x_label=table["unit"],
        y_label=table["row_title"],
        columns=columns,
        rows=[described["name"] for described in table["rows"]],
        cells=cells,
        scale_label=f"Error of the model, % ({GREATEST_ERROR:g} or more)",
        scale_format="{:.0f}",
        ends=(0.0, GREATEST_ERROR),
    )


def errors_table(studies):
    rows = []
    for study in studies:
        for table in study.document["tables"]:
            errors = table["errors"]
            shares = [f"{100 * errors[key]:+.1f} %" for key in ("median", "worst")]
            magnitude = f"{100 * errors['median_magnitude']:.1f} %"
            place = f"{errors['worst_row']}, {errors['worst_column']}"
            rows.append([study.document["machine"], table["name"], table["title"], shares[0], magnitude, shares[1], place])
    heads = ["machine", "table", "subject", "median", "median magnitude", "worst", "where"]
    return Table("Errors of the model", heads, rows, range(3, 6))


def cells_table(studies):
    rows = []
    for study in studies:
        for table in study.document["tables"]:
            for described in table["rows"]:
                for cell in described["cells"]:
                    model = number_text(cell["model"], table["unit"]) if "model" in cell else ""
                    numbers = [number_text(cell["paper"], table["unit"]), model, error_text(cell)]
                    rows.append([study.document["machine"], table["name"], described["name"], cell["column"], *numbers])
    return Table("All numbers", ["machine", "table", "row", "column", "the paper", "the model", "error"], rows, range(4, 7))


def speed_up_panel(study, table):
    """As Figures 7 and 8 of the paper: a line for each Px."""
    ticks = [int(row["name"]) for row in table["rows"]]
    lines = []
    for index, column in enumerate(cell["column"] for cell in table["rows"][0]["cells"]):
        colour, marker = style.series_style(index)
        cells = [row["cells"][index] for row in table["rows"]]
        for source, is_dashed in (("paper", False), ("model", True)):
            values = [cell.get(source) for cell in cells]
            tips = [f"{column}, {units} units\nthe {source}: {value:.2f}" for units, value in zip(ticks, values)]
            lines.append(Line(f"{column}, the {source}", ticks, values, colour, tips, marker, is_dashed=is_dashed))
    title = f"{table['name']}, {study.document['machine']}"
    return LinePanel(title, Axis("Units", "log", ticks=ticks), Axis("Speed-up over 16 units, times", from_zero=True), lines)


def papers(material):
    """Tables over units and parts; the others are among all numbers."""
    studies = material.inputs.papers
    shown = ("Table 2", "Table 6", "Table 4", "Table 3")
    panels = [errors_panel(study, table) for name in shown for study in studies for table in study.document["tables"] if table["name"] == name]
    note = "Cells show the paper's number, and by how much the model's is greater (+) or less (-) for the described machine."
    return Figure(panels[:MOST_PANELS], note, errors_table(studies), cells_table(studies))


def paper_speed_ups(material):
    tables = [
        (study, table) for study in material.inputs.papers for table in study.document["tables"] if table["name"].startswith("Speed-up")
    ]
    note = "Speed-ups are over 16 units with the same number of process columns, as in Figures 7 and 8 of the paper. Dashed lines are the model."
    return Figure([speed_up_panel(*one) for one in tables][:MOST_PANELS], note)
