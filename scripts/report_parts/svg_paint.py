"""Draws panels as SVG of the page. Colours are classes, see style.page_rules(); widths and places are in units of a picture that
fills a telephone's width at its own size."""

import math
import re
import textwrap

from . import panels, style
from .html_parts import escape

WIDTH = 400
PLOT_HEIGHT = 230
LINE_HEIGHT = 14
BAR_HEIGHT = 15
MOST_NAME = 19  # letters beside a bar; longer names stand above it
CELL_HEIGHT = 44
LEAST_CELL, MOST_CELL = 58, 110

# Width of a letter of the pictures' texts, in the units of the picture; of a digit in bold where the font is a wide one.
LETTER, BOLD_LETTER = 5.9, 7.7
MOST_TICKS = 6

MARKER_PATHS = {
    "circle": "M-4 0a4 4 0 1 0 8 0a4 4 0 1 0-8 0z",
    "rect": "M-3.5-3.5h7v7h-7z",
    "triangle": "M0-4.5L4.5 3.5h-9z",
    "rectRot": "M0-5L5 0L0 5L-5 0z",
}


HATCH = (
    '<defs><pattern id="hatch" width="6" height="6" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">'
    '<path d="M0 0V6" class="hatch-line"/></pattern></defs>'
)


def digits(value):
    return f"{value:.1f}".removesuffix(".0")


def text_at(x, y, text, kind="", anchor="start"):
    words = "".join(f' {key}="{value}"' for key, value in (("class", kind), ("text-anchor", anchor)) if value not in ("", "start"))
    return f'<text x="{digits(x)}" y="{digits(y)}"{words}>{escape(text)}</text>'


def line_at(x1, y1, x2, y2, kind):
    return f'<path class="{kind}" d="M{digits(x1)} {digits(y1)}L{digits(x2)} {digits(y2)}"/>'


def rect_at(x, y, width, height, kind, tip=""):
    title = f"<title>{escape(tip)}</title>" if tip else ""
    size = f'width="{digits(width)}" height="{digits(height)}"'
    return f'<rect class="{kind}" x="{digits(x)}" y="{digits(y)}" {size}>{title}</rect>'


def picture(panel, width, height, parts):
    """A picture with its legend, which the keyboard reaches: the page's script goes through its marks by arrow keys."""
    legend, height = legend_parts(panel, height)
    wide = " wide" if width > WIDTH else ""
    return (
        f'<div class="picture{wide}"><svg class="chart" viewBox="0 0 {digits(width)} {digits(height)}" style="--w:{digits(width)}" '
        f'role="img" tabindex="0" aria-label="{escape(alt_text(panel))}">{"".join([*parts, *legend])}</svg></div>'
    )


def alt_text(panel):
    """The picture in words; its numbers are in the table below it."""
    if isinstance(panel, panels.HeatPanel):
        over = f"{panel.x_label} and {panel.y_label}"
        return f"{panel.title}. Map of {panel.scale_label} over {over}. Its numbers are in the table below."
    kind = "Bars" if isinstance(panel, panels.BarPanel) else "Lines and points"
    series = panel.named if kind == "Bars" else panel.lines
    names = ", ".join(one.name for one in series[:8])
    return f"{panel.title}. {kind}: {panel.y.label} over {panel.x.label}; {names}. Their numbers are in the table below."


# ---------------------------------------------------------------- axes: which values have a tick, its text, and where a value lies


def number_text(value):
    """Three digits, without an exponent where it can be read so."""
    if value == 0 or 1e-3 <= abs(value) < 1e6:
        return f"{value:.3g}" if abs(value) < 999.5 else f"{value:,.0f}".replace(",", " ")
    mantissa, exponent = f"{value:.2e}".split("e")
    return f"{mantissa.rstrip('0').rstrip('.')}e{int(exponent)}"


def linear_ticks(low, high):
    """Round values within the limits, which are different."""
    rough = (high - low) / MOST_TICKS
    unit = 10.0 ** math.floor(math.log10(rough))
    step = next(factor * unit for factor in (1, 2, 5, 10) if factor * unit >= 0.999 * rough)
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return [k * step for k in range(first, last + 1)]


def log_ticks(low, high):
    """Round values in a ratio of one, two or five to powers of ten; those of a linear axis where less than two such values are in
    so narrow a range."""
    decades = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    for digits in ((1, 1.5, 2, 3, 5, 7), (1, 2, 5), (1,)):
        ticks = [digit * 10.0**k for k in decades for digit in digits]
        ticks = [tick for tick in ticks if low * (1 - 1e-9) <= tick <= high * (1 + 1e-9)]
        if len(ticks) < 2:
            return linear_ticks(low, high)
        if len(ticks) <= MOST_TICKS + 1:
            return ticks
    return ticks[:: math.ceil(len(ticks) / MOST_TICKS)]


class Scale:
    """Places the values of an axis between two ends, in units of the picture."""

    def __init__(self, axis, values, first, last):
        self.axis, self.first, self.last = axis, first, last
        self.is_log = axis.kind == "log"
        values = list(filter(self.can_place, values)) or [1.0]
        low, high = min(values), max(values)
        if axis.kind == "category":
            low, high = -0.5, len(axis.names) - 0.5
        elif self.is_log:
            room = max((high / low) ** 0.04, 1.05)
            low, high = low / room, high * room
        else:
            low = min(low, 0.0) if axis.from_zero else low
            room = 0.05 * (high - low) or 0.05 * abs(high) or 1.0
            low, high = low - room * (not axis.from_zero or low < 0), high + room
        self.low, self.high = low, high

    def place(self, value):
        if self.is_log:
            share = math.log(value / self.low) / math.log(self.high / self.low)
        else:
            share = (value - self.low) / (self.high - self.low)
        return self.first + share * (self.last - self.first)

    def can_place(self, value):
        return value is not None and math.isfinite(value) and (value > 0 or not self.is_log)

    def ticks(self):
        """[(place, text)]"""
        if self.axis.kind == "category":
            return [(self.place(k), name) for k, name in enumerate(self.axis.names)]
        values = self.axis.ticks or (log_ticks if self.is_log else linear_ticks)(self.low, self.high)
        return [(self.place(value), number_text(value)) for value in values if self.low <= value <= self.high]


def without_overlaps(ticks):
    """The ticks of a horizontal axis whose texts have room beside each other, from the left."""
    kept, end = [], -math.inf
    for place, text in ticks:
        half = LETTER * len(text) / 2
        if place - half > end + 4:
            kept.append((place, text))
            end = place + half
    return kept


# ---------------------------------------------------------------- lines


def path_of(points):
    return "M" + "L".join(f"{digits(x)} {digits(y)}" for x, y in points)


def line_parts(line, x_scale, y_scale):
    def point(x, y):
        return (x_scale.place(x), y_scale.place(y)) if x_scale.can_place(x) and y_scale.can_place(y) else None

    kind = style.mark_class(line.colour)
    points = list(map(point, line.x, line.y))
    curve = list(filter(None, points))  # both sides of a gap (None) are joined
    parts = []
    if line.low:
        low = list(filter(None, map(point, line.x, line.low)))
        high = list(filter(None, map(point, line.x, line.high)))
        if low and high:
            parts.append(f'<path class="band {kind}" d="{path_of(low + high[::-1])}z"/>')
    if line.has_line and len(curve) > 1:
        dashed = " dashed" if line.is_dashed else ""
        tip = "" if line.has_points or not line.tips else f"<title>{escape(line.tips[0])}</title>"
        parts.append(f'<path class="curve {kind}{dashed}" d="{path_of(curve)}">{tip}</path>')
    if line.has_points:
        for place, tip in zip(points, line.tips):
            if place:
                move = f'transform="translate({digits(place[0])} {digits(place[1])})"'
                title = f"<title>{escape(tip)}</title>" if tip else ""
                parts.append(f'<path class="mark {kind}" {move} d="{MARKER_PATHS[line.marker]}">{title}</path>')
    return parts


def frame_parts(panel, x_scale, y_scale):
    """Grid, ticks and names of both axes. The name of the vertical one stands above the plot, where it can be read."""
    left, right, bottom = x_scale.first, x_scale.last, y_scale.first
    parts = [text_at(0, 11, panel.y.caption, "name")]
    for y, text in y_scale.ticks():
        parts += [line_at(left, y, right, y, "grid"), text_at(left - 5, y + 4, text, "tick", "end")]
    for x, text in without_overlaps(x_scale.ticks()):
        parts += [line_at(x, bottom, x, bottom + 4, "grid"), text_at(x, bottom + 16, text, "tick", "middle")]
    parts += [line_at(left, bottom, right, bottom, "base"), text_at((left + right) / 2, bottom + 33, panel.x.caption, "name", "middle")]
    return parts


def paint_lines(panel):
    top, bottom = 24, 24 + PLOT_HEIGHT
    y_scale = Scale(panel.y, panel.values("y"), bottom, top)
    left = 10 + LETTER * max((len(text) for _, text in y_scale.ticks()), default=1)
    x_scale = Scale(panel.x, panel.values("x"), left, WIDTH - 12)
    parts = frame_parts(panel, x_scale, y_scale)
    for line in reversed(panel.lines):  # the first on top
        parts += line_parts(line, x_scale, y_scale)
    return picture(panel, WIDTH, bottom + 40, parts)


# ---------------------------------------------------------------- bars


def paint_bars(panel):
    """Bars to the right, below each other: names have room on any screen, and each bar has its value."""
    names = panel.x.names
    is_above = max(map(len, names), default=0) > MOST_NAME
    left = 4 if is_above else 10 + LETTER * max(map(len, names), default=0)
    draw = stacked_row if panel.is_stacked else grouped_row
    scale = Scale(panel.y, [*panel.values("y"), 0.0], left, WIDTH - 58)
    parts, y = [], 20
    for index, name in enumerate(names):
        if is_above:
            y += LINE_HEIGHT
            parts.append(text_at(left, y - 4, name, "tick"))
        row, height = draw(panel, index, scale, y)
        if not is_above:
            parts.append(text_at(left - 6, y + height / 2 + 4, name, "tick", "end"))
        parts += [*row, line_at(scale.place(0), y - 2, scale.place(0), y + height + 2, "base")]
        y += height + 9
    return picture(panel, WIDTH, y, [text_at(0, 11, panel.y.caption, "name"), *parts])


def stacked_row(panel, index, scale, y):
    parts, total, height = [], 0.0, BAR_HEIGHT + 9
    for bars in panel.bars:
        value = bars.values[index] or 0.0
        x, end = scale.place(total), scale.place(total + value)
        total += value
        if end - x < 0.05:
            continue
        kind = f"bar {style.mark_class(bars.colour)}"
        parts.append(rect_at(x, y, end - x, height, kind, bars.tips[index]))
        if bars.is_hatched:
            parts.append(rect_at(x, y, end - x, height, "hatch"))
        text = number_text(value)
        room = BOLD_LETTER * len(text) + 4
        if end - x > room:
            if bars.is_hatched:  # the value stands on the plain colour
                parts.append(rect_at((x + end - room) / 2, y + 1, room, height - 2, f"{kind} plain"))
            parts.append(text_at((x + end) / 2, y + height / 2 + 4, text, f"on {style.mark_class(bars.colour)}", "middle"))
    parts.append(text_at(scale.place(total) + 5, y + height / 2 + 4, number_text(total), "value"))
    return parts, height


def grouped_row(panel, index, scale, y):
    parts = []
    for place, bars in enumerate(panel.bars):
        value, top = bars.values[index], y + place * BAR_HEIGHT
        if value is None or not math.isfinite(value):
            continue
        kind = f"bar {style.mark_class(bars.colour)}"
        ends = sorted((scale.place(0), scale.place(value)))
        parts.append(rect_at(ends[0], top + 1, max(ends[1] - ends[0], 0.5), BAR_HEIGHT - 2, kind, bars.tips[index]))
        parts.append(text_at(max(ends) + 5, top + BAR_HEIGHT / 2 + 4, number_text(value), "value"))
    return parts, BAR_HEIGHT * len(panel.bars)


# ---------------------------------------------------------------- maps


def cell_parts(panel, row, column, place, size):
    """place: its upper left corner."""
    cell = panel.cells[row, column]
    (x, y), (width, height) = place, size
    kind = style.heat_class(panel.share(row, column))
    parts = [rect_at(x + 1, y + 1, width - 2, height - 2, f"bar {kind}", cell.tip)]
    if cell.is_marked:
        parts.append(rect_at(x + 2, y + 2, width - 4, height - 4, "frame"))
    first = y + height / 2 + 4 - LINE_HEIGHT * (len(cell.lines) - 1) / 2
    for index, line in enumerate(cell.lines):
        fitting = int((width - 4) / LETTER)
        small = " small" if len(line) > fitting else ""
        parts.append(text_at(x + width / 2, first + LINE_HEIGHT * index, line, f"on {kind}{small}", "middle"))
    return parts


def paint_heat(panel):
    most_lines = max((len(cell.lines) for cell in panel.cells.values()), default=1)
    left, top = 12 + LETTER * max(len(str(name)) for name in panel.rows), 20
    width = min(max((WIDTH - left) / len(panel.columns), LEAST_CELL), MOST_CELL)
    height = max(CELL_HEIGHT, LINE_HEIGHT * most_lines + 8)
    parts = [text_at(0, 11, f"{panel.y_label}  ↓", "name")]
    for row, name in enumerate(panel.rows):
        y = top + row * height
        parts.append(text_at(left - 6, y + height / 2 + 4, name, "tick", "end"))
        for column in range(len(panel.columns)):
            if (row, column) in panel.cells:
                parts += cell_parts(panel, row, column, (left + column * width, y), (width, height))
    bottom = top + len(panel.rows) * height
    for column, name in enumerate(panel.columns):
        fitting = max(int(width / LETTER), 4)
        shown = str(name) if len(str(name)) <= fitting else str(name)[-fitting:]
        parts.append(text_at(left + (column + 0.5) * width, bottom + 14, shown, "tick", "middle"))
    whole = max(WIDTH, left + width * len(panel.columns) + 2)
    parts.append(text_at(left + width * len(panel.columns) / 2, bottom + 31, panel.x_label, "name", "middle"))
    return picture(panel, whole, bottom + 38, parts)


PAINTERS = {panels.LinePanel: paint_lines, panels.BarPanel: paint_bars, panels.HeatPanel: paint_heat}


# ---------------------------------------------------------------- legends

KEY_BAR = '<rect class="bar" x="-6" y="-5" width="12" height="10"/>'
KEY_ROOM, LEGEND_LETTER = 22, 6.8  # before a name; wide enough for the fonts of all systems
MOST_LEGEND = 52  # letters of a line
RAMP_STEP = 7


def line_key(line):
    dashed = " dashed" if line.is_dashed else ""
    stroke = f'<path class="curve{dashed}" d="M-8 0L8 0"/>' if line.has_line else ""
    return stroke + (f'<path class="mark" d="{MARKER_PATHS[line.marker]}"/>' if line.has_points else "")


def keys_of(panel):
    """[(name, colour, mark)] of the series; none where the title names the only one."""
    if isinstance(panel, panels.BarPanel):
        keys = [(bars.name, bars.colour, KEY_BAR) for bars in panel.named]
        if any(bars.is_hatched for bars in panel.bars):
            keys.append(("waiting for others", style.GREY, KEY_BAR + KEY_BAR.replace("bar", "hatch")))
    else:
        keys = [(line.name, line.colour, line_key(line)) for line in panel.named]
    return keys if len(keys) > 1 else []


def legend_parts(panel, top):
    """(parts, the end of the legend below the picture)"""
    if isinstance(panel, panels.HeatPanel):
        return ramp_parts(panel, top), top + 34
    parts, x, y = [], 0, top + 3
    for name, colour, mark in keys_of(panel):
        lines = textwrap.wrap(name, MOST_LEGEND)
        width = KEY_ROOM + LEGEND_LETTER * max(map(len, lines)) + 10
        if x + width > WIDTH and x:
            x, y = 0, y + LINE_HEIGHT + 3
        parts.append(f'<g class="{style.mark_class(colour)}" transform="translate({digits(x + 8)} {digits(y + 7)})">{mark}</g>')
        parts += [text_at(x + KEY_ROOM, y + 11 + LINE_HEIGHT * index, line) for index, line in enumerate(lines)]
        x, y = x + width, y + LINE_HEIGHT * (len(lines) - 1)
    return parts, y + LINE_HEIGHT + 4 if parts else top


def ramp_parts(panel, top):
    """The meaning of a map's colours."""
    least, greatest = panel.scale_ends()
    left = LEGEND_LETTER * len(least) + 4
    steps = range(style.HEAT_STEPS + 1)
    return [
        text_at(0, top + 11, panel.scale_label),
        text_at(0, top + 11 + LINE_HEIGHT, least),
        *(rect_at(left + RAMP_STEP * step, top + LINE_HEIGHT + 2, RAMP_STEP, 10, f"bar h{step}") for step in steps),
        rect_at(left, top + LINE_HEIGHT + 2, RAMP_STEP * len(steps), 10, "grid"),
        text_at(left + RAMP_STEP * len(steps) + 5, top + 11 + LINE_HEIGHT, greatest),
    ]


# ---------------------------------------------------------------- numbers


def numbers_of(panel):
    """(heads, rows) of all values of a panel."""
    if isinstance(panel, panels.HeatPanel):
        heads = [panel.y_label, *(f"{name}" for name in panel.columns)]
        cells = {place: " ".join(cell.lines) for place, cell in panel.cells.items()}
        columns = range(len(panel.columns))
        return heads, [[name, *(cells.get((row, column), "") for column in columns)] for row, name in enumerate(panel.rows)]
    if isinstance(panel, panels.BarPanel):
        rows = [[name, *(shown(bars.values[index]) for bars in panel.bars)] for index, name in enumerate(panel.x.names)]
        return [panel.x.label, *(bars.name for bars in panel.bars)], rows
    rows = [
        [line.name, panel.x.names[round(x)] if panel.x.kind == "category" else shown(x), shown(y)]
        for line in panel.lines
        if line.has_points
        for x, y in zip(line.x, line.y)
    ]
    return ["series", panel.x.label, panel.y.label], rows


def shown(value):
    return "" if value is None or not math.isfinite(value) else number_text(value)


def panel_svg(panel):
    return PAINTERS[type(panel)](panel)


def panel_file(panel):
    """A file of its own, with the panel's title: light, and without variables, which drawing programs do not know."""
    picture = re.search('<svg class="chart" viewBox="0 0 ([0-9.]+) ([0-9.]+)"[^>]*>(.*)</svg>', panel_svg(panel), re.DOTALL)
    width, height = (float(size) for size in picture.group(1, 2))
    title = text_at(0, -10, panel.title, "value")
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="-8 -28 {digits(width + 16)} {digits(height + 36)}"><style>{style.file_rules()}</style>'
        f'{HATCH}<rect x="-8" y="-28" width="100%" height="100%" fill="#ffffff"/>{title}{picture[3]}</svg>\n'
    )
