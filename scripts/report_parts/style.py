"""Colours and markers, alike in files and on the page."""

# Palette of Okabe and Ito, which colour-blind readers can tell apart.
SERIES = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#8C6D31")
MARKERS = ("circle", "rect", "triangle", "rectRot")
PHASE_COLOURS = {
    "collection": "#0072B2",
    "multiply": "#E69F00",
    "summation": "#009E73",
    "shuffle": "#CC79A7",
    "dot": "#56B4E9",
    "vector_updates": "#666666",
}
GREY = "#777777"

# The light part of ColorBrewer's YlOrBr, safe for the colour-blind; black text can be read on all of it.
HEAT = ("#ffffe5", "#fff7bc", "#fee391", "#fec44f", "#fe9929")


def phase_name(phase):
    return phase.replace("_", " ")


def series_style(index):
    """(colour, marker) of the series with this number."""
    return SERIES[index % len(SERIES)], MARKERS[(index // len(SERIES) + index) % len(MARKERS)]


def pale(colour):
    """Two thirds on the way to white."""
    return "#" + "".join(f"{(int(colour[i : i + 2], 16) + 2 * 255) // 3:02x}" for i in (1, 3, 5))


def heat_colour(value, least, greatest):
    """Between the colours of HEAT in straight lines."""
    place = 0.0 if greatest <= least else (value - least) / (greatest - least)
    position = place * (len(HEAT) - 1)
    first = min(int(position), len(HEAT) - 2)
    part = position - first
    ends = [[int(HEAT[k][i : i + 2], 16) for i in (1, 3, 5)] for k in (first, first + 1)]
    return "#" + "".join(f"{round(a + part * (b - a)):02x}" for a, b in zip(*ends))
