"""The content of a figure, described once: paint_files.py draws it into files, paint_page.py onto the page.

Each kind of panel is a dataclass. x and y of the same series have the same length; None leaves a gap."""

import dataclasses


@dataclasses.dataclass
class Axis:
    """kind: linear, log, or category (then `names`). ticks: where, for log axes; a number is its own label."""

    label: str
    kind: str = "linear"
    names: list = dataclasses.field(default_factory=list)
    ticks: list = dataclasses.field(default_factory=list)
    from_zero: bool = False


@dataclasses.dataclass
class Line:
    """x: values, or positions on a category axis. low and high: a band around it. tips: the text of each point.
    is_named: whether it is in the legend."""

    name: str
    x: list
    y: list
    colour: str
    tips: list
    marker: str = "circle"
    is_dashed: bool = False
    has_points: bool = True
    has_line: bool = True
    low: list | None = None
    high: list | None = None
    is_named: bool = True


@dataclasses.dataclass
class LinePanel:
    title: str
    x: Axis
    y: Axis
    lines: list


@dataclasses.dataclass
class Bars:
    name: str
    values: list
    colour: str
    tips: list


@dataclasses.dataclass
class BarPanel:
    """x is a category axis."""

    title: str
    x: Axis
    y: Axis
    bars: list
    is_stacked: bool = False


@dataclasses.dataclass
class Cell:
    """value gives the colour; lines is the text in the cell, as far as there is room; a marked cell has a frame."""

    value: float
    lines: list
    tip: str
    is_marked: bool = False


@dataclasses.dataclass
class HeatPanel:
    """cells: {(row, column): Cell}; row 0 is at the top. scale_label: the meaning of the colours, from least to greatest."""

    title: str
    x_label: str
    y_label: str
    columns: list
    rows: list
    cells: dict
    scale_label: str
    scale_format: str = "{:.2f}"

    def limits(self):
        values = [cell.value for cell in self.cells.values()]
        return min(values), max(values)


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
