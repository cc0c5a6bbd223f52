"""Figures of cg2d pingpong: messages between ranks, sums over all, and each communication phase by itself."""

from . import style
from .figures_grid import MOST_PANELS
from .panels import Axis, BarPanel, Bars, Figure, Line, LinePanel
from .times import seconds



def why_no_pingpong(material):
    return "" if material.inputs.pingpongs else "no result of cg2d pingpong was given"


def transfer_panel(study, pair):
    lines = []
    for method in dict.fromkeys(one["method"] for one in pair["transfers"]):
        own = [one for one in pair["transfers"] if one["method"] == method and one["variables"] == 1]
        own.sort(key=lambda one: one["bytes"])
        if not own:
            continue
        colour, marker = style.series_style(len(lines))
        samples = [one["seconds_per_variable"] for one in own]
        tips = [
            f"{method}, {one['bytes']} bytes\n{seconds(sample['median_s'])}, {one['bytes_per_s'] / 1e9:.3g} GB/s"
            for one, sample in zip(own, samples)
        ]
        y, low, high = ([sample[key] or None for sample in samples] for key in ("median_s", "minimum_s", "maximum_s"))
        has_band = None not in (*low, *high)
        lines.append(
            Line(
                method, [one["bytes"] for one in own], y, colour, tips, marker, low=low if has_band else None,
                high=high if has_band else None,
            )
        )  # fmt: skip
    where = "one node" if pair["same_node"] else "two nodes"
    title = f"Ranks {pair['ranks'][0]} and {pair['ranks'][1]} on {where}"
    return LinePanel(title, Axis("Bytes", "log"), Axis("Half a round trip", "log", is_time=True), lines)


def sample_text(sample):
    return f"{seconds(sample['median_s'])}, {seconds(sample['minimum_s'])} to {seconds(sample['maximum_s'])}"


def sums_panel(study):
    sums = study.document["sums"]
    values = [one["seconds"]["median_s"] for one in sums]
    tips = [f"{one['way']}: {sample_text(one['seconds'])}" for one in sums]
    return BarPanel(
        f"Sum of a number over {study.document['ranks']} ranks",
        Axis("Way", "category", names=[one["way"] for one in sums]),
        Axis("Time (median)", from_zero=True, is_time=True),
        [Bars("median", values, style.SERIES[0], tips)],
    )


def calls_panel(study):
    """Each communication phase by itself, by transport."""
    phases = study.document["phases"]
    names = list(phases["transports"][0]["phases"])
    bars = []
    for index, one in enumerate(phases["transports"]):
        values = [one["phases"][name]["median_s"] for name in names]
        tips = [f"{one['transport']}, {name}: {seconds(value)}" for name, value in zip(names, values)]
        bars.append(Bars(one["transport"], values, style.series_style(index)[0], tips))
    title = f"One call of each phase, class {phases['class']}, {phases['grid']}"
    return BarPanel(title, Axis("Phase", "category", names=names), Axis("Time (median)", from_zero=True, is_time=True), bars)


def pingpong(material):
    panels = []
    for study in material.inputs.pingpongs:
        panels += [transfer_panel(study, pair) for pair in study.document["pairs"] if pair["transfers"]][: MOST_PANELS - 2]
        panels += [sums_panel(study), calls_panel(study)]
    machines = ", ".join(dict.fromkeys(study.document["machine"] for study in material.inputs.pingpongs))
    note = f"Measured on {machines}, one variable at a time. Lines are medians; bands reach from the least to the greatest time."
    return Figure(panels[: 2 * MOST_PANELS], note)
