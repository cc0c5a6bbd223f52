"""What the panels of a figure have in common: one unit for all times, and one range where they show the same of several sets."""

import math
import statistics

from .panels import HeatPanel, put_beside
from .times import UNITS, in_unit, times_in, unit_for


def time_axes(figure):
    """[(panel, "x" or "y")]"""
    with_axes = [panel for panel in figure.panels if not isinstance(panel, HeatPanel)]
    return [(panel, which) for panel in with_axes for which in ("x", "y") if getattr(panel, which).is_time]


def tables_of(figure):
    return [table for table in (figure.table, figure.further) if table]


def shown_times(figure):
    """Seconds of the times on axes; where there are none, of those in texts."""
    on_axes = [value for panel, which in time_axes(figure) for value in panel.own_values(which)]
    texts = [str(cell) for table in tables_of(figure) for row in table.rows for cell in row]
    texts += [text for panel in figure.panels for text in panel.texts()]
    times = on_axes or [value for text in texts for value in times_in(text)]
    return [value for value in times if value and math.isfinite(value)]


def set_unit(figure):
    """The one of the median time, on axes, in cells, in tables and in the texts of marks."""
    times = shown_times(figure)
    if not times:
        return
    unit = unit_for(statistics.median(times))
    for panel, which in time_axes(figure):
        panel.multiply(which, 10 ** UNITS[unit])
        getattr(panel, which).label += f", {unit}"
    for panel in figure.panels:
        panel.change_texts(lambda text: in_unit(text, unit))
    for table in tables_of(figure):
        table.rows = [[in_unit(str(cell), unit) for cell in row] for row in table.rows]


def share_ranges(figure, labels):
    """labels: of the sets of results; titles have them before the names of studies."""
    same = {}
    for panel in figure.panels:
        subject = panel.title
        for label in labels:
            subject = subject.replace(f"{label}: ", "")
        same.setdefault((type(panel), subject), []).append(panel)
    for found in same.values():
        put_beside(found)


def with_common_scales(figure, labels):
    set_unit(figure)
    share_ranges(figure, labels)
    return figure
