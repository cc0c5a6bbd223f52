"""One CG step as an animation: lanes of ranks over time, and the plane of ranks at one moment. Without a script, on paper and
for readers who hear it, the lanes and the table below them say the same."""

import collections
import json

from . import style
from .html_parts import escape, section, table

LANE_PIXELS = 22
CELL_WIDTH, CELL_HEIGHT = 116, 46  # pixels
LEAST_WIDTH = 0.15  # of a bar, percent
NOW_LINE = '<line class="now" x1="0%" x2="0%" y1="0" y2="100%"/>'


def numbered(name, title, number):
    """Name and title of a section, where there are several of the kind."""
    return (f"{name}-{number + 1}", f"{title} ({number + 1})") if number else (name, title)


def class_of(phase):
    return style.mark_class(style.PHASE_COLOURS.get(phase, style.GREY))


def microseconds(value):
    return f"{value:.1f} µs" if value < 100 else f"{value:.0f} µs"


def over_time(rows, length_us, label, more=""):
    """rows: [(name, Lane)]; more: SVG on top. A bar for each phase; places are shares of the width, so that texts stay as large as they are."""
    names = "".join(f"<span>{escape(name)}</span>" for name, _ in rows)
    bars = []
    for index, (name, lane) in enumerate(rows):
        for bar in lane.bars:
            left = 100 * bar.begin_us / length_us
            width = max(100 * (bar.end_us - bar.begin_us) / length_us, LEAST_WIDTH)
            tip = f"{name}: {style.phase_name(bar.phase)}, {microseconds(bar.end_us - bar.begin_us)}"
            bars.append(
                f'<rect x="{left:.3f}%" y="{index * LANE_PIXELS + 3}" width="{width:.3f}%" height="{LANE_PIXELS - 6}" '
                f'class="bar {class_of(bar.phase)}"><title>{escape(tip)}</title></rect>'
            )
    return (
        f'<div class="over-time"><div class="names" aria-hidden="true">{names}</div>'
        f'<svg class="lanes" height="{LANE_PIXELS * len(rows)}" role="img" aria-label="{escape(label)}; the table below has the figures">'
        f'{"".join(bars)}{more}</svg></div>'
    )


def plane_svg(step):
    """A cell for each rank at its place on the grid; the script fills in the phases."""
    columns = 1 + max(lane.column for lane in step.lanes)
    rows = 1 + max(lane.row for lane in step.lanes)
    cells = []
    for lane in step.lanes:
        x, y = lane.column * CELL_WIDTH, lane.row * CELL_HEIGHT
        cells.append(
            f'<g class="cell" transform="translate({x} {y})"><rect class="edge" x="1" y="1" width="{CELL_WIDTH - 2}" '
            f'height="{CELL_HEIGHT - 2}"/><rect class="phase bar none" x="1" y="1" width="{CELL_WIDTH - 2}" height="10"/>'
            f'<text x="6" y="25">rank {lane.rank}</text><text class="doing" x="6" y="40"></text></g>'
        )
    width, height = columns * CELL_WIDTH, rows * CELL_HEIGHT
    return (
        f'<div class="scroll"><svg class="plane" width="{width}" height="{height}" viewBox="0 0 {width} {height}" role="img" '
        f'aria-label="Ranks on the grid, each with its phase at this moment">{"".join(cells)}</svg></div>'
    )


def legend(phases):
    keys = "".join(
        f'<li><svg class="key" viewBox="-8 -6 16 12" aria-hidden="true"><rect class="bar {class_of(phase)}" x="-6" y="-5" width="12" '
        f'height="10"/></svg>{escape(style.phase_name(phase))}</li>'
        for phase in phases
    )
    return f'<ul class="keys">{keys}</ul>'


def figures_of(step):
    """Microseconds of each rank in each phase, as cells of a table."""
    phases = step.phases()
    heads = ("rank", *(f"{style.phase_name(phase)}, µs" for phase in phases))
    return heads, [(lane.rank, *(f"{lane.phase_us(phase):.1f}" for phase in phases)) for lane in step.lanes]


def note_of(step):
    note = (
        f"{step.run_text()}: {step.name} has the median length of all steps in the trace ({step.step_count}): "
        f"{microseconds(step.length_us)} from the start of the first rank to the end of the last one. "
    )
    if step.uncertainty_us > 0:
        note += f"The clocks of the ranks agree within {microseconds(step.uncertainty_us)}. "
    if step.left_out_count:
        note += f"The page leaves out {step.left_out_count} more ranks. "
    return note + "A communication phase includes waiting: it takes longer on a rank that arrives early."


def animation_section(step, number=0):
    """(name, title, HTML). number: of the trace, where there are several."""
    phases = step.phases()
    data = {
        "length_us": step.length_us,
        "phases": [{"name": style.phase_name(phase), "kind": class_of(phase)} for phase in phases],
        "lanes": [[[phases.index(bar.phase), bar.begin_us, bar.end_us] for bar in lane.bars] for lane in step.lanes],
    }
    # "<" in a text must not end the script element.
    text = json.dumps(data, allow_nan=False, separators=(",", ":")).replace("<", "\\u003c")
    heads, rows = figures_of(step)
    lanes = [(f"rank {lane.rank}", lane) for lane in step.lanes]
    label = f"Phases of {len(lanes)} ranks over {microseconds(step.length_us)}"
    inner = (
        '<div class="controls" hidden><button type="button" class="play">Play</button>'
        '<button type="button" class="back">Previous change</button><button type="button" class="on">Next change</button>'
        '<input type="range" min="0" max="1000" value="0" aria-label="time within the CG step"><output>0 µs</output></div>'
        f"{plane_svg(step)}{legend(phases)}{over_time(lanes, step.length_us, label, NOW_LINE)}"
        "<details><summary>Times of this step as a table</summary>"
        f"{table(heads, rows, range(len(heads)), 'Times of this step')}</details>"
        f'<script type="application/json">{text}</script>'
    )
    name, title = numbered("cg-step", "One CG step", number)
    return name, title, section(name, title, inner, note_of(step), ' class="animation"')


# ---------------------------------------------------------------- steps over each other


def same_steps(steps):
    """Those of one problem on one grid, where there are several: [[TracedStep]]."""
    groups = collections.defaultdict(list)
    for step in steps:
        groups[step.problem(), step.facts.get("grid")].append(step)
    return [group for (_, grid), group in groups.items() if grid and len(group) > 1]


def source_of(step):
    place = f"{step.facts['simulated']}, simulated" if "simulated" in step.facts else step.facts.get("transport", "measured")
    return f"{place}, {step.facts['kernel']}" if "kernel" in step.facts else place


def overlay_section(steps, number=0):
    """The same ranks in several traces, such as a measured one and a simulated one, to one scale."""
    length_us = max(step.length_us for step in steps)
    phases = list(dict.fromkeys(phase for step in steps for phase in step.phases()))
    rows = [
        (f"{index + 1}: rank {lane.rank}", lane)
        for rank in range(max(len(step.lanes) for step in steps))
        for index, step in enumerate(steps)
        for lane in step.lanes[rank : rank + 1]
    ]
    first = steps[0]
    described = "; ".join(f"{index + 1}: {source_of(step)}, {microseconds(step.length_us)}" for index, step in enumerate(steps))
    note = f"{first.problem()}, grid {first.facts['grid']}, the CG step of median length of each trace, on one scale. {described}."
    heads = ("trace", "of", "a CG step, µs", *(f"{style.phase_name(phase)}, µs" for phase in phases))
    cells = [
        (index + 1, source_of(step), f"{step.length_us:.1f}", *(f"{step.mean_us(phase):.1f}" for phase in phases))
        for index, step in enumerate(steps)
    ]
    label = f"Phases of the ranks of {len(steps)} traces over {microseconds(length_us)}"
    inner = f"{legend(phases)}{over_time(rows, length_us, label)}{table(heads, cells, [0, *range(2, len(heads))], 'Mean of the ranks')}"
    name, title = numbered("cg-steps", "CG steps of several traces", number)
    return name, title, section(name, title, inner, note)
