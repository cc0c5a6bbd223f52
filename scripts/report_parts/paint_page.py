"""Makes Chart.js configurations of figures. page.js, a small script in the page, starts them."""

import math

from . import panels, style

WIDEST_BAR = 120  # pixels


def points_of(x, y):
    return [{"x": a, "y": None if b is None or not math.isfinite(b) else b} for a, b in zip(x, y)]


def scale_of(axis, is_stacked=False):
    """An axis of Chart.js. `ticksAt` and `names` are for page.js."""
    scale = {
        "type": "logarithmic" if axis.kind == "log" else "linear",
        "title": {"display": True, "text": axis.label},
        "grid": {"color": "#e8e8e8"},
        "beginAtZero": axis.from_zero,
        "stacked": is_stacked,
    }
    if axis.kind == "category":
        scale.update(names=axis.names, min=-0.5, max=len(axis.names) - 0.5, ticksAt=list(range(len(axis.names))))
        scale["grid"] = {"display": False}
    elif axis.ticks:
        scale.update(ticksAt=axis.ticks)
    return scale


def set_limits(scale, values):
    """Limits of a logarithmic axis, which otherwise ends at the next tick, far from the data."""
    values = [value for value in values if value is not None and math.isfinite(value) and value > 0]
    if scale["type"] == "logarithmic" and values:
        room = max((max(values) / min(values)) ** 0.04, 1.05)
        scale.update(min=min(values) / room, max=max(values) * room)
    return scale


def line_datasets(line):
    common = {"borderColor": line.colour, "backgroundColor": line.colour, "borderWidth": 2, "spanGaps": True}
    main = {
        **common,
        "label": line.name,
        "data": points_of(line.x, line.y),
        "tips": line.tips,
        "showLine": line.has_line,
        "pointStyle": line.marker if line.has_points else "line",
        "pointRadius": 4 if line.has_points else 0,
        "pointHitRadius": 8,
        "borderDash": [6, 4] if line.is_dashed else [],
        "fill": False,
        "isUnnamed": not line.is_named,
    }
    if not line.low:
        return [main]
    edge = {**common, "borderWidth": 0, "pointRadius": 0, "pointHitRadius": 0, "isUnnamed": True, "tips": []}
    low = {**edge, "label": f"{line.name}, least", "data": points_of(line.x, line.low), "fill": False}
    high = {**edge, "label": f"{line.name}, most", "data": points_of(line.x, line.high)}
    return [main, low, {**high, "fill": "-1", "backgroundColor": line.colour + "30"}]


def lines_chart(panel):
    x = set_limits(scale_of(panel.x), [value for line in panel.lines for value in line.x])
    y_values = [value for line in panel.lines for value in (*line.y, *(line.low or ()), *(line.high or ()))]
    y = set_limits(scale_of(panel.y), y_values)
    return {
        "type": "line",
        "data": {"datasets": [dataset for line in panel.lines for dataset in line_datasets(line)]},
        "options": {"scales": {"x": x, "y": y}, "hasLegend": len(panel.lines) > 1},
    }


def bars_chart(panel):
    scales = {"x": scale_of(panel.x, panel.is_stacked), "y": scale_of(panel.y, panel.is_stacked)}
    scales["y"]["beginAtZero"] = True  # where bars begin
    scales["x"] = {key: scales["x"][key] for key in ("title", "grid", "stacked")} | {"type": "category"}
    datasets = [
        {
            "label": bars.name, "data": bars.values, "backgroundColor": bars.colour, "tips": bars.tips,
            "maxBarThickness": WIDEST_BAR,
        }
        for bars in panel.bars
    ]  # fmt: skip
    labels = [name.split(" ") if " " in name else name for name in panel.x.names]  # words below each other
    return {
        "type": "bar",
        "data": {"labels": labels, "datasets": datasets},
        "options": {"scales": scales, "hasLegend": len(panel.bars) > 1},
    }


def heat_chart(panel):
    """Stacked bars of height 1 without gaps: one dataset per row of cells, from the bottom up."""
    least, greatest = panel.limits()
    datasets = []
    for row in reversed(range(len(panel.rows))):
        cells = [panel.cells.get((row, column)) for column in range(len(panel.columns))]
        datasets.append(
            {
                "label": str(panel.rows[row]),
                "data": [1 for _ in cells],
                "backgroundColor": [
                    style.heat_colour(cell.value, least, greatest) if cell else "#ffffff00" for cell in cells
                ],
                "borderColor": ["#222222" if cell and cell.is_marked else "#ffffff" for cell in cells],
                "borderWidth": [2 if cell and cell.is_marked else 1 for cell in cells],
                "borderSkipped": False,
                "barPercentage": 1.0,
                "categoryPercentage": 1.0,
                "tips": [cell.tip if cell else "" for cell in cells],
                "texts": [cell.lines if cell else [] for cell in cells],
            }
        )
    return {
        "type": "bar",
        "data": {"labels": [str(name) for name in panel.columns], "datasets": datasets},
        "options": {
            "isHeat": True,
            "hasLegend": False,
            "scales": {
                "x": {"stacked": True, "grid": {"display": False}, "title": {"display": True, "text": panel.x_label}},
                "y": {
                    "stacked": True,
                    "type": "linear",
                    "min": 0,
                    "max": len(panel.rows),
                    "grid": {"display": False},
                    "title": {"display": True, "text": panel.y_label},
                    "names": [str(name) for name in reversed(panel.rows)],
                    "ticksAt": [row + 0.5 for row in range(len(panel.rows))],
                },
            },
        },
    }


PAINTERS = {panels.LinePanel: lines_chart, panels.BarPanel: bars_chart, panels.HeatPanel: heat_chart}


def chart_of(panel):
    """The configuration of a chart, ready for JSON."""
    return PAINTERS[type(panel)](panel)


def legend_of(panel):
    """(text, (colours)): the legend of a heat map's colours, or None."""
    if not isinstance(panel, panels.HeatPanel):
        return None
    least, greatest = (panel.scale_format.format(value) for value in panel.limits())
    return panel.scale_label, least, greatest
