"""Figures of the machine: over row lengths, of its kernels, and of messages between its ranks."""

from .figures_grid import MOST_PANELS
from .panels import Axis, BarPanel, Bars, Figure, Line, LinePanel, rule
from .times import seconds

MICRO = 1e-6

# ---------------------------------------------------------------- row lengths of the tuning profile

# The critical vector length in a profile where vectors never pay.
NEVER = 2**31 - 1
NO_PROFILE = "no tuning profile was given; cg2d tune makes one"


def lengths_panel(title, unit, series):
    """series: {name: [(row length, value)]}"""
    lines = []
    for name, points in series.items():
        tips = [f"{name}, {length:g} nonzeros per row\n{unit}: {value:.3g}" for length, value in points]
        lines.append(Line(name, *map(list, zip(*points)), tips))
    ticks = spaced(sorted({length for points in series.values() for length, _ in points}))
    return LinePanel(title, Axis("Nonzeros per row", "log", ticks=ticks), Axis(unit, "log"), lines)


def profile_panel(processor, entry):
    series = {name: [(point[0], point[column]) for point in entry["curve"]] for name, column in (("vector loop", 2), ("scalar loop", 1))}
    critical = entry["critical_vector_length"]
    panel = lengths_panel(processor + (": the scalar loop is always faster" if critical >= NEVER else ""), "Time, ns per nonzero", series)
    if 0 < critical < NEVER:
        values, text = panel.own_values("y"), f"critical vector length {critical}"
        panel.lines.append(rule(text, [critical] * 2, [min(values), max(values)], text))
    return panel


def spaced(values):
    """The values with room for a label on a logarithmic axis."""
    kept = []
    for value in values:
        if not kept or value >= 1.35 * kept[-1]:
            kept.append(value)
    return kept


def row_lengths(material):
    if material.profile is None:
        return NO_PROFILE
    panels = [profile_panel(*item) for item in material.profile.items() if item[1]["curve"]]
    note = (
        "The tuning profile has these times. A grid with more process columns has shorter rows; below the critical vector length the "
        "scalar loop is faster."
    )
    return Figure(panels[:MOST_PANELS], note) if panels else "the tuning profile has no row lengths"


# ---------------------------------------------------------------- row lengths of row_length_bench


def bench_rows(material):
    found = {}  # {panel: {line: points}}
    for one in sorted(material.inputs.bench_rows, key=lambda one: one["row_length"]):
        found.setdefault((one["panel"], one["unit"]), {}).setdefault(one["line"], []).append((one["row_length"], one["value"]))
    panels = [lengths_panel(*head, series) for head, series in found.items()]
    note = (
        "Every row of a block has this length. Where the line of a kernel that makes vectors meets that of scalar is its critical vector "
        "length. Medians where there are repetitions."
    )
    return Figure(panels, note) if panels else "no result of row_length_bench was given"


# ---------------------------------------------------------------- kernels of the tuning profile


def kernels(material):
    """The last cases of the profile were measured last."""
    if material.profile is None:
        return NO_PROFILE
    panels = []
    for processor, entry in material.profile.items():
        for name, times in ((name, times) for name, times in entry["cases"] if times):
            tips = [f"{kernel} on {processor}, {name}: {seconds(MICRO * value)}" for kernel, value in times]
            bars = [Bars("product", [MICRO * value for _, value in times], tips)]
            across = Axis("Kernel", "category", [kernel for kernel, _ in times])
            panels.append(BarPanel(name, across, Axis("Time of a product", from_zero=True, is_time=True), bars))
    note = "The tuning profile has these times, of each kernel with the settings that cg2d tune chose. cg2d run takes the first kernel."
    return Figure(panels[-MOST_PANELS:], note) if panels else "the tuning profile has no kernels"


# ---------------------------------------------------------------- messages between ranks, sums over all, each communication phase


def transfer_panel(pair):
    lines = []
    for method in dict.fromkeys(one["method"] for one in pair["transfers"]):
        own = [one for one in pair["transfers"] if one["method"] == method and one["variables"] == 1]
        own.sort(key=lambda one: one["bytes"])
        if not own:
            continue
        samples = [one["seconds_per_variable"] for one in own]
        tips = [
            f"{method}, {one['bytes']} bytes\n{seconds(sample['median_s'])}, {one['bytes_per_s'] / 1e9:.3g} GB/s"
            for one, sample in zip(own, samples)
        ]
        y, low, high = ([sample[key] or None for sample in samples] for key in ("median_s", "minimum_s", "maximum_s"))
        band = {} if None in (*low, *high) else {"low": low, "high": high}
        lines.append(Line(method, [one["bytes"] for one in own], y, tips, **band))
    title = f"Ranks {pair['ranks'][0]} and {pair['ranks'][1]} on {'one node' if pair['same_node'] else 'two nodes'}"
    return LinePanel(title, Axis("Bytes", "log"), Axis("Half a round trip", "log", is_time=True), lines)


def sums_panel(document):
    sums = document["sums"]
    samples = [[seconds(one["seconds"][key]) for key in ("median_s", "minimum_s", "maximum_s")] for one in sums]
    tips = [f"{one['way']}: {median}, {least} to {most}" for one, (median, least, most) in zip(sums, samples)]
    bars = [Bars("median", [one["seconds"]["median_s"] for one in sums], tips)]
    across = Axis("Way", "category", [one["way"] for one in sums])
    title = f"Sum of a number over {document['ranks']} ranks"
    return BarPanel(title, across, Axis("Time (median)", from_zero=True, is_time=True), bars)


def calls_panel(document):
    """Each communication phase by itself, by transport."""
    phases = document["phases"]
    names = list(phases["transports"][0]["phases"])
    bars = []
    for one in phases["transports"]:
        values = [one["phases"][name]["median_s"] for name in names]
        bars.append(Bars(one["transport"], values, [f"{one['transport']}, {name}: {seconds(value)}" for name, value in zip(names, values)]))
    title = f"One call of each phase, class {phases['class']}, {phases['grid']}"
    return BarPanel(title, Axis("Phase", "category", names), Axis("Time (median)", from_zero=True, is_time=True), bars)


def pingpong(material):
    documents = material.inputs.pingpongs
    panels = []
    for document in documents:
        panels += [transfer_panel(pair) for pair in document["pairs"] if pair["transfers"]][: MOST_PANELS - 2]
        panels += [sums_panel(document), calls_panel(document)]
    machines_text = ", ".join(dict.fromkeys(document["machine"] for document in documents))
    note = f"Measured on {machines_text}, one variable at a time. Lines are medians; bands reach from the least to the greatest time."
    return Figure(panels[: 2 * MOST_PANELS], note) if documents else "no result of cg2d pingpong was given"
