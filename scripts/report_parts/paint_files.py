"""Paints figures into PNG and SVG files with matplotlib."""

import io
import math
import sys
import textwrap

from . import panels, style
from .errors import UNAVAILABLE, ReportError

MARKERS = {"circle": "o", "rect": "s", "triangle": "^", "rectRot": "D"}
PANEL_WIDTH, PANEL_HEIGHT = 5.6, 4.0  # inches
PANELS_PER_ROW = 2
DPI = 110

# For a README: two panels below each other are read at this width without scrolling.
SMALL_WIDTH, SMALL_DPI = 700, 100
SMALL_PANELS, SMALL_COLOURS = 2, 256


def load_matplotlib(advice=", or name another Python by CG2D_PYTHON: --figures and --small need it"):
    try:
        import matplotlib

        matplotlib.use("Agg")
        import matplotlib.pyplot
        import matplotlib.ticker
    except ImportError:
        raise ReportError(UNAVAILABLE, f"{sys.executable} has no matplotlib: install Debian's python3-matplotlib{advice}") from None
    matplotlib.rcParams.update(
        {
            "font.size": 9,
            "axes.titlesize": 10,
            "axes.spines.top": False,
            "axes.spines.right": False,
            "axes.titlelocation": "left",
            "axes.grid": True,
            "axes.axisbelow": True,
            "grid.color": "#e4e4e4",
            "grid.linewidth": 0.7,
            "legend.frameon": False,
            "svg.fonttype": "none",  # text stays text
            "svg.hashsalt": "cg2d",
            "text.parse_math": False,  # names may have dollar signs
        }
    )
    return matplotlib


def plain_number(value, _position=None):
    return f"{value:g}"


def gaps(values):
    return [math.nan if value is None else value for value in values]


def tick_names(axis):
    """Names on a category axis, their words below each other."""
    return [name.replace(" ", "\n") for name in axis.names]


def is_crowded(axis):
    """Whether names on a horizontal axis must be turned, to fit."""
    longest = [max(len(line) for line in name.split("\n")) for name in tick_names(axis)]
    return axis.kind == "category" and sum(length + 2 for length in longest) > 66


def set_axis(matplotlib, axes, axis, which):
    """which: "x" or "y"."""
    getattr(axes, f"set_{which}label")(axis.caption)
    place = getattr(axes, f"{which}axis")
    if axis.kind == "log":
        getattr(axes, f"set_{which}scale")("log")
        if axis.ticks:
            place.set_major_locator(matplotlib.ticker.FixedLocator(axis.ticks))
            place.set_minor_locator(matplotlib.ticker.NullLocator())
            place.set_major_formatter(plain_number)
        else:
            place.set_major_locator(matplotlib.ticker.LogLocator(base=10, subs=(1, 2, 5), numticks=20))
            place.set_minor_locator(matplotlib.ticker.NullLocator())
            low, high = getattr(axes, f"get_{which}lim")()
            if high / low < 20:
                place.set_major_locator(matplotlib.ticker.LogLocator(base=10, subs=(1, 1.5, 2, 3, 5, 7), numticks=20))
            if high / low > 300:
                place.set_major_locator(matplotlib.ticker.LogLocator(base=10, numticks=9))
            if high / low <= 300 or (low > 1e-4 and high < 1e6):
                place.set_major_formatter(plain_number)
    elif axis.kind == "category":
        turned = {"rotation": 40, "ha": "right", "rotation_mode": "anchor"} if is_crowded(axis) else {}
        place.set_ticks(range(len(axis.names)), tick_names(axis), **turned)
    elif axis.from_zero:
        getattr(axes, f"set_{which}lim")(**{"bottom" if which == "y" else "left": 0})


def paint_lines(matplotlib, figure, axes, panel):
    for index, line in enumerate(panel.lines):
        axes.plot(
            gaps(line.x), gaps(line.y), label=line.name if line.is_named else "_nolegend_", color=line.colour, linewidth=1.5,
            linestyle=("--" if line.is_dashed else "-") if line.has_line else "none",
            marker=MARKERS[line.marker] if line.has_points else None, markersize=5, alpha=0.95,
            zorder=3 - 0.01 * index,  # the first on top, as on the page
        )  # fmt: skip
        if line.low:
            axes.fill_between(line.x, gaps(line.low), gaps(line.high), color=line.colour, alpha=0.18, linewidth=0)
    finish(matplotlib, axes, panel)
    add_legend(axes, panel)


def paint_bars(matplotlib, figure, axes, panel):
    count = len(panel.bars)
    bottom = [0.0] * len(panel.x.names)
    for index, bars in enumerate(panel.bars):
        values = [value or 0.0 for value in bars.values]
        if panel.is_stacked:
            hatch = {"hatch": "////", "edgecolor": "white", "linewidth": 0} if bars.is_hatched else {}
            label = "_nolegend_" if bars.is_hatched else bars.name
            axes.bar(range(len(values)), values, 0.7, bottom=bottom, label=label, color=bars.colour, **hatch)
            bottom = [low + value for low, value in zip(bottom, values)]
        else:
            width = 0.8 / count
            places = [place - 0.4 + (index + 0.5) * width for place in range(len(values))]
            axes.bar(places, values, width, label=bars.name, color=bars.colour)
    finish(matplotlib, axes, panel)
    axes.grid(axis="x", visible=False)
    add_legend(axes, panel)


def add_legend(axes, panel):
    """Places the legend below the panel, so that it covers nothing; the title names a single series."""
    names = [one.name for one in panel.named]
    if len(names) > 1:
        lines_below = max((name.count("\n") for name in tick_names(panel.x)), default=0)
        below = 0.3 if is_crowded(panel.x) else 0.17 + 0.05 * lines_below
        axes.legend(
            loc="upper center", bbox_to_anchor=(0.5, -below), ncols=legend_columns(names), fontsize=8, handlelength=1.6
        )


def legend_columns(names):
    """Number of entries that fit side by side into a panel, evenly filled: letters of 8 points, and the handle with its
    gaps."""
    fitting = int(PANEL_WIDTH / (0.06 * max(map(len, names)) + 0.55))
    rows = math.ceil(len(names) / min(max(fitting, 1), 5))
    return math.ceil(len(names) / rows)


def finish(matplotlib, axes, panel):
    for which in ("x", "y"):  # the range of all panels beside it
        points = [(value, value) for value in panel.values(which) if value is not None]
        axes.update_datalim(points, updatex=which == "x", updatey=which == "y")
    axes.autoscale_view()
    set_axis(matplotlib, axes, panel.x, "x")
    set_axis(matplotlib, axes, panel.y, "y")
    axes.set_title(panel.title)


def paint_heat(matplotlib, figure, axes, panel):
    least, greatest = panel.limits()
    columns, rows = len(panel.columns), len(panel.rows)
    longest = max((len(line) for cell in panel.cells.values() for line in cell.lines), default=1)
    # Points: a letter is 0.6 of its size wide, and the cells share what the scale leaves of the panel.
    cell_width = 0.72 * 72 * figure.get_figwidth() / axes.get_gridspec().ncols / columns
    size = min(9.0, cell_width / (0.6 * longest + 1), 66.0 / rows)
    has_text = size >= 5
    for (row, column), cell in panel.cells.items():
        colour = style.heat_colour(panel.share(row, column))
        axes.add_patch(
            matplotlib.patches.Rectangle(
                (column - 0.5, row - 0.5), 1, 1, facecolor=colour, edgecolor="white", linewidth=1 if has_text else 0.2
            )
        )
        if cell.is_marked:
            axes.add_patch(
                matplotlib.patches.Rectangle((column - 0.47, row - 0.46), 0.94, 0.92, fill=False, edgecolor="#222222")
            )
        if has_text:
            axes.text(column, row, "\n".join(cell.lines), ha="center", va="center", fontsize=size, linespacing=1.15)
    axes.set_xlim(-0.5, columns - 0.5)
    axes.set_ylim(rows - 0.5, -0.5)
    every = max(1, math.ceil(max(columns, rows) / 16))
    axes.set_xticks(range(0, columns, every), panel.columns[::every])
    axes.set_yticks(range(0, rows, every), panel.rows[::every])
    axes.set_xlabel(panel.x_label)
    axes.set_ylabel(panel.y_label)
    axes.set_title(panel.title)
    axes.grid(False)
    axes.tick_params(length=0)
    for spine in axes.spines.values():
        spine.set_visible(False)
    colours = matplotlib.colors.LinearSegmentedColormap.from_list("heat", style.HEAT)
    if greatest > least:
        add_scale(matplotlib, figure, axes, panel, colours)


def add_scale(matplotlib, figure, axes, panel, colours):
    """The meaning of a heat map's colours, beside it."""
    norm = matplotlib.colors.Normalize(*((0, 1) if panel.by_row else panel.limits()))
    ticks = [0, 1] if panel.by_row else matplotlib.ticker.MaxNLocator(6, steps=(1, 2, 5, 10))
    bar = figure.colorbar(matplotlib.cm.ScalarMappable(norm, colours), ax=axes, shrink=0.8, aspect=25, ticks=ticks)
    bar.set_label(panel.scale_label)
    bar.outline.set_visible(False)
    if panel.by_row:
        bar.ax.set_yticklabels(["least", "greatest"])
    else:
        bar.ax.yaxis.set_major_formatter(lambda value, _: panel.scale_format.format(value))


PAINTERS = {panels.LinePanel: paint_lines, panels.BarPanel: paint_bars, panels.HeatPanel: paint_heat}


def panel_height(panel):
    """Inches. A heat map with many rows is taller; a long legend takes room below."""
    if isinstance(panel, panels.HeatPanel):
        return min(max(2.4, 0.62 * len(panel.rows) + 1.3), 6.0)
    names = [one.name for one in panel.named]
    return PANEL_HEIGHT + 0.18 * math.ceil(len(names) / legend_columns(names))


def draw(matplotlib, title, described, columns, width, dots_per_inch):
    """A figure with so many panels side by side, laid out once for all files. width: of all, in inches."""
    count = len(described.panels)
    rows = math.ceil(count / columns)
    heights = [max(panel_height(panel) for panel in described.panels[r * columns : (r + 1) * columns]) for r in range(rows)]
    figure, grid = matplotlib.pyplot.subplots(
        rows, columns, figsize=(width, sum(heights) + 0.8), dpi=dots_per_inch, squeeze=False, layout="constrained",
        gridspec_kw={"height_ratios": heights},
    )  # fmt: skip
    figure.get_layout_engine().set(w_pad=0.12, h_pad=0.1, hspace=0.04, wspace=0.04)
    for place, axes in enumerate(grid.flat):
        if place < count:
            panel = described.panels[place]
            PAINTERS[type(panel)](matplotlib, figure, axes, panel)
        else:
            axes.set_axis_off()
    figure.suptitle(title, fontsize=12, fontweight="bold", x=0.01, ha="left")
    figure.supxlabel(textwrap.fill(described.note, int(width * 15)), fontsize=8, color="#555555", x=0.01, ha="left")
    figure.get_layout_engine().execute(figure)
    figure.set_layout_engine("none")
    return figure


def paint(matplotlib, title, described):
    """{"png": bytes, "svg": bytes}"""
    columns = min(len(described.panels), PANELS_PER_ROW)
    width = PANEL_WIDTH * columns if columns > 1 else 1.25 * PANEL_WIDTH
    figure = draw(matplotlib, title, described, columns, width, DPI)
    files = {}
    for kind in ("png", "svg"):
        buffer = io.BytesIO()
        options = {"metadata": {"Date": None}} if kind == "svg" else {"pil_kwargs": {"optimize": True}}
        figure.savefig(buffer, format=kind, dpi=DPI, **options)
        files[kind] = buffer.getvalue()
    matplotlib.pyplot.close(figure)
    return files


def paint_small(matplotlib, title, described):
    """PNG of SMALL_WIDTH pixels with a palette: the first panels of a figure, below each other."""
    from PIL import Image  # comes with matplotlib

    first = panels.Figure(described.panels[:SMALL_PANELS], described.note)
    figure = draw(matplotlib, title, first, 1, SMALL_WIDTH / SMALL_DPI, SMALL_DPI)
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", dpi=SMALL_DPI)
    matplotlib.pyplot.close(figure)
    # Maximum coverage keeps the colours of small marks, which the median cut mixes.
    few = Image.open(buffer).convert("RGB").quantize(
        SMALL_COLOURS, Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE
    )  # fmt: skip
    small = io.BytesIO()
    few.save(small, format="png", optimize=True)
    return small.getvalue()
