"""Times as texts: three digits and a unit; one unit for all times of a figure, and one range where its panels show the same of several
sets."""

import decimal
import math
import re
import statistics

from .panels import HeatPanel, put_beside

UNITS = {"s": 0, "ms": 3, "µs": 6}  # digits by which the point moves
SPACE = "\N{NO-BREAK SPACE}"
WRITTEN = re.compile(rf"(\d+(?:\.\d+)?){SPACE}(s|ms|µs)\b")


def unit_for(time_s):
    return next((unit for unit, moved in UNITS.items() if time_s * 10**moved >= 0.9995), "µs")


def seconds(value):
    """In a suitable unit, or the one of its figure: see with_one_unit()."""
    unit = unit_for(value)
    scaled = value * 10 ** UNITS[unit]
    digits = 0 if scaled >= 99.95 else 1 if scaled >= 9.995 else 2
    return f"{scaled:.{digits}f}{SPACE}{unit}"


def in_unit(text, unit):
    """The text with these times in one unit, where that can be read, in the same digits."""

    def moved(found):
        number = decimal.Decimal(found[1]).scaleb(UNITS[unit] - UNITS[found[2]])
        can_be_read = 0.001 <= number < 100_000 or not number
        return f"{number or decimal.Decimal(0):f}{SPACE}{unit}" if can_be_read else found[0]

    return WRITTEN.sub(moved, text)


# ---------------------------------------------------------------- what the panels of a figure have in common


def time_axes(figure):
    """[(panel, "x" or "y")]"""
    with_axes = [panel for panel in figure.panels if not isinstance(panel, HeatPanel)]
    return [(panel, which) for panel in with_axes for which in ("x", "y") if getattr(panel, which).is_time]


def set_unit(figure):
    """The one of the median time on axes, or, where there are none, in texts: for axes, cells, tables and the texts of marks."""
    texts = [str(cell) for row in (figure.table.rows if figure.table else ()) for cell in row]
    for panel in figure.panels:
        panel.change_texts(lambda text: texts.append(text) or text)
    written = [float(number) / 10 ** UNITS[unit] for text in texts for number, unit in WRITTEN.findall(text)]
    on_axes = [value for panel, which in time_axes(figure) for value in panel.own_values(which)]
    times = [value for value in on_axes or written if value and math.isfinite(value)]
    if not times:
        return
    unit = unit_for(statistics.median(times))
    for panel, which in time_axes(figure):
        panel.multiply(which, 10 ** UNITS[unit])
        getattr(panel, which).label += f", {unit}"
    for panel in figure.panels:
        panel.change_texts(lambda text: in_unit(text, unit))
    if figure.table:
        figure.table.rows = [[in_unit(str(cell), unit) for cell in row] for row in figure.table.rows]


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
