"""The content of a figure, described once; svg_paint.py draws it, onto the page and into files.

Each kind of panel is a dataclass. x and y of the same series have the same length; None leaves a gap."""

import dataclasses

from . import style

# Least ratio of the values at the two ends of a colour scale: nearly equal cells stay pale.
LEAST_RATIO = 1.1


@dataclasses.dataclass
class Axis:
    """kind: linear, log, or category (then `names`). ticks: where, for log axes; a number is its own label. is_time: values in seconds;
    times.py gives all of a figure one unit, and the label its name."""

    label: str
    kind: str = "linear"
    names: list = dataclasses.field(default_factory=list)
    ticks: list = dataclasses.field(default_factory=list)
    from_zero: bool = False
    is_time: bool = False

    @property
    def caption(self):
        """The text beside the axis."""
        return f"{self.label} (log scale)" if self.kind == "log" else self.label


@dataclasses.dataclass
class Line:
    """x: values, or positions on a category axis. low and high: a band around it. tips: the text of each point, or that of all.
    colour: empty for the colour and marker of its place in the panel. is_named: whether it is in the legend."""

    name: str
    x: list
    y: list
    tips: list | str
    colour: str = ""
    marker: str = "circle"
    is_dashed: bool = False
    has_points: bool = True
    has_line: bool = True
    low: list | None = None
    high: list | None = None
    is_named: bool = True

    VALUES = {"x": ("x",), "y": ("y", "low", "high")}  # of each axis

    def __post_init__(self):
        self.tips = [self.tips] * len(self.x) if isinstance(self.tips, str) else self.tips


def rule(name, x, y, tip, colour=style.GREY, is_dashed=True, **more):
    """A line without points, such as a bound."""
    return Line(name, x, y, tip, colour, is_dashed=is_dashed, has_points=False, **more)


@dataclasses.dataclass
class Panel:
    """beside: panels that have one range with it."""

    title: str
    beside: list = dataclasses.field(default_factory=list, kw_only=True, repr=False)

    def values(self, which):
        """All that the range of an axis holds, "x" or "y"."""
        return [value for panel in (self, *self.beside) for value in panel.own_values(which)]

    def own_values(self, which):
        return [value for series in self.series for name in series.VALUES[which] for value in getattr(series, name) or ()]

    def multiply(self, which, factor):
        for series in self.series:
            for name in filter(lambda name: getattr(series, name), series.VALUES[which]):
                setattr(series, name, [None if value is None else factor * value for value in getattr(series, name)])

    def change_texts(self, change):
        """Those of the marks. change: a function of a text."""
        for series in self.series:
            series.tips = [change(tip) for tip in series.tips]


def put_beside(panels):
    """Gives them one range."""
    for panel in panels:
        panel.beside += [other for other in panels if other is not panel]


@dataclasses.dataclass
class LinePanel(Panel):
    x: Axis
    y: Axis
    lines: list

    def __post_init__(self):
        for index, line in enumerate(self.lines):
            if not line.colour:
                line.colour, line.marker = style.series_style(index)

    @property
    def series(self):
        return self.lines

    @property
    def named(self):
        """The lines of the legend."""
        return [line for line in self.lines if line.is_named]


@dataclasses.dataclass
class Bars:
    """colour: as of a line. is_hatched: the waiting part of the bars before it, of the same colour."""

    VALUES = {"x": (), "y": ("values",)}

    name: str
    values: list
    tips: list
    colour: str = ""
    is_hatched: bool = False


@dataclasses.dataclass
class BarPanel(Panel):
    """x is a category axis."""

    x: Axis
    y: Axis
    bars: list
    is_stacked: bool = False

    def __post_init__(self):
        for index, bars in enumerate(self.bars):
            bars.colour = bars.colour or style.series_style(index)[0]

    @property
    def series(self):
        return self.bars

    @property
    def named(self):
        return [bars for bars in self.bars if not bars.is_hatched]

    def own_values(self, which):
        """Of stacked bars also the totals."""
        values = super().own_values(which)
        if which == "y" and self.is_stacked:
            values += [sum(value or 0.0 for value in stack) for stack in zip(*(bars.values for bars in self.bars))]
        return values


@dataclasses.dataclass
class Cell:
    """value gives the colour; lines is the text in the cell, as far as there is room; a marked cell has a frame."""

    value: float
    lines: list
    tip: str
    is_marked: bool = False


@dataclasses.dataclass
class HeatPanel(Panel):
    """cells: {(row, column): Cell}; row 0 is at the top. scale_label: the meaning of the colours, from least to greatest. by_row: the
    colours compare the cells of a row only. They reach from the least cell to the greatest, or to LEAST_RATIO times the
    least."""

    x_label: str
    y_label: str
    columns: list
    rows: list
    cells: dict
    scale_label: str
    scale_format: str = "{:.2f}"
    by_row: bool = False

    def __post_init__(self):
        self.columns, self.rows = list(map(str, self.columns)), list(map(str, self.rows))

    def limits(self, row_name=None):
        cells = [(panel.rows[row], cell.value) for panel in (self, *self.beside) for (row, _), cell in panel.cells.items()]
        values = [value for name, value in cells if row_name in (None, name)]
        return min(values), max(*values, LEAST_RATIO * min(values))

    def share(self, row, column):
        """0 for the palest colour, 1 for the strongest."""
        least, greatest = self.limits(self.rows[row] if self.by_row else None)
        return (self.cells[row, column].value - least) / (greatest - least) if greatest > least else 0.0

    def scale_ends(self):
        """Texts at the two ends of the colours."""
        if self.by_row:
            return "least", f"greatest, or {100 * (LEAST_RATIO - 1):.0f} % above the least"
        return tuple(self.scale_format.format(value) for value in self.limits())

    def change_texts(self, change):
        for cell in self.cells.values():
            cell.lines, cell.tip = [change(line) for line in cell.lines], change(cell.tip)


@dataclasses.dataclass
class Table:
    """rows: texts, as many as heads; numbers: indices of the columns that are right-aligned."""

    title: str
    heads: list
    rows: list
    numbers: range


@dataclasses.dataclass
class Figure:
    """note: one or two sentences, how to read it. table: stands below the panels on the page; files have none."""

    panels: list
    note: str
    table: Table | None = None
