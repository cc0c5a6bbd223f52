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
    """is_hatched: the waiting part of the bars before it, of the same colour."""

    name: str
    values: list
    colour: str
    tips: list
    is_hatched: bool = False


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
    """cells: {(row, column): Cell}; row 0 is at the top. scale_label: the meaning of the colours, from least to greatest.
    least_ratio: where the colours compare the cells of a row only, the ratio of greatest to least that takes all of them, if
    the row has no greater one: a row of nearly equal cells stays pale. ends: values of the palest and the strongest colour, where
    panels share them; otherwise the least and the greatest of the cells."""

    title: str
    x_label: str
    y_label: str
    columns: list
    rows: list
    cells: dict
    scale_label: str
    scale_format: str = "{:.2f}"
    least_ratio: float | None = None
    ends: tuple | None = None

    def limits(self):
        if self.ends:
            return self.ends
        values = [cell.value for cell in self.cells.values()]
        return min(values), max(values)

    def share(self, row, column):
        """0 for the palest colour, 1 for the strongest."""
        value = self.cells[row, column].value
        least, greatest = self.limits()
        if self.least_ratio:
            values = [cell.value for (cell_row, _), cell in self.cells.items() if cell_row == row]
            least, greatest = min(values), max(*values, self.least_ratio * min(values))
        return (value - least) / (greatest - least) if greatest > least else 0.0

    def scale_ends(self):
        """Texts at the two ends of the colours."""
        if self.least_ratio:
            return "least", f"greatest, or {100 * (self.least_ratio - 1):.0f} % more"
        return tuple(self.scale_format.format(value) for value in self.limits())


@dataclasses.dataclass
class Table:
    """rows: texts, as many as heads; numbers: indices of the columns that are right-aligned."""

    title: str
    heads: list
    rows: list
    numbers: range


@dataclasses.dataclass
class Figure:
    """note: one or two sentences, how to read it. table: stands below the panels on the page; files have none. further: the
    same, closed until it is asked for."""

    panels: list
    note: str
    table: Table | None = None
    further: Table | None = None
