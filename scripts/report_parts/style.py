"""Colours and markers, alike in files and on the page, where a dark screen has a colour of its own for each."""

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

# The same on a dark page, lighter.
DARK = {
    "#0072B2": "#4FB3E8", "#D55E00": "#F28E4B", "#009E73": "#3CC79C", "#CC79A7": "#E39BC4", "#E69F00": "#F0B840",
    "#56B4E9": "#9AD7F7", "#000000": "#EDEDED", "#8C6D31": "#C9A766", "#666666": "#A8B0B6", "#777777": "#9AA3AB",
}  # fmt: skip

# Of the page: name of the CSS variable: (light, dark).
PAGE_COLOURS = {
    "page": ("#ffffff", "#15191e"),
    "card": ("#f2f6f9", "#1e252c"),
    "wrong-card": ("#fdf1ea", "#3a2418"),
    "text": ("#1f2328", "#e8eaed"),
    "soft": ("#4b5259", "#b4bcc4"),
    "link": ("#005a8d", "#7cc4f2"),
    "line": ("#cfd6dc", "#3c464f"),
    "strong": ("#0072b2", "#4fb3e8"),
    "wrong": ("#b34a00", "#f28e4b"),
}

# The light part of ColorBrewer's YlOrBr, safe for the colour-blind; black text can be read on all of it. Dark: white text.
HEAT = ("#ffffe5", "#fff7bc", "#fee391", "#fec44f", "#fe9929")
DARK_HEAT = ("#1d2a33", "#33332c", "#553a1a", "#743f0c", "#8f4304")
HEAT_STEPS = 12  # on the page


def phase_name(phase):
    return phase.replace("_", " ")


def series_style(index):
    """(colour, marker) of the series with this number."""
    return SERIES[index % len(SERIES)], MARKERS[(index // len(SERIES) + index) % len(MARKERS)]


def channels(colour):
    return [int(colour[i : i + 2], 16) for i in (1, 3, 5)]


def mixed(one, other, part):
    """The colour at this part of the way from one to the other."""
    return "#" + "".join(f"{round(a + part * (b - a)):02x}" for a, b in zip(channels(one), channels(other)))


def pale(colour):
    """Two thirds on the way to white."""
    return mixed(colour, "#ffffff", 2 / 3)


def heat_colour(share, ramp=HEAT):
    """share: 0 to 1. Between the colours of the ramp in straight lines."""
    position = min(max(share, 0.0), 1.0) * (len(ramp) - 1)
    first = min(int(position), len(ramp) - 2)
    return mixed(ramp[first], ramp[first + 1], position - first)


# ---------------------------------------------------------------- colours of the page's style sheet, and of files


def contrast(one, other):
    """Of WCAG 2.1: 1 to 21; text needs 4.5, marks need 3."""

    def luminance(colour):
        parts = [part / 255 for part in channels(colour)]
        linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    darker, lighter = sorted((luminance(one), luminance(other)))
    return (lighter + 0.05) / (darker + 0.05)


def ink(ground):
    """Of text on this ground: black or white, the one that can be read better."""
    return max("#000000", "#ffffff", key=lambda colour: contrast(colour, ground))


def mark_colours():
    """{colour in figures: (light, dark)} of all marks."""
    dark_page = PAGE_COLOURS["page"][1]
    strong = {light: (light, dark) for light, dark in DARK.items()}
    return strong | {pale(light): (pale(light), mixed(dark, dark_page, 2 / 3)) for light, dark in DARK.items()}


def mark_class(colour):
    """Of the elements that have this colour."""
    return "c" + colour[1:].lower()


def heat_class(share):
    return f"h{round(min(max(share, 0.0), 1.0) * HEAT_STEPS)}"


def file_rules():
    """The style sheet of a picture in a file of its own, light: rules for marks as page.css has them, with the colours written out."""
    text = PAGE_COLOURS["text"][0]
    soft, line = PAGE_COLOURS["soft"][0], PAGE_COLOURS["line"][0]
    rules = [
        f'text{{font:11px "Liberation Sans",Arial,sans-serif;fill:{text}}}.tick,.name{{fill:{soft}}}.value,.on{{font-weight:600}}.small{{font-size:9.5px}}',
        f".grid{{stroke:{line};fill:none}}.base{{stroke:{soft};fill:none}}.curve{{fill:none;stroke-width:2}}.dashed{{stroke-dasharray:6 4}}",
        f".band{{opacity:0.2}}.mark{{stroke:#fff}}.frame{{fill:none;stroke:{text};stroke-width:2.5}}.hatch{{fill:url(#hatch)}}.hatch-line{{stroke:#fff;stroke-width:4}}",
    ]
    steps = [(f"h{step}", heat_colour(step / HEAT_STEPS)) for step in range(HEAT_STEPS + 1)]
    for name, colour in [*((mark_class(colour), colour) for colour in mark_colours()), *steps]:
        filled = ",".join(f".{kind}.{name},.{name} .{kind}" for kind in ("mark", "bar", "band"))
        rules.append(f".curve.{name},.{name} .curve{{stroke:{colour}}}{filled}{{fill:{colour}}}.on.{name}{{fill:{ink(colour)}}}")
    return "".join(rules)


def page_rules():
    """The style sheet's rules with colours, for light and dark screens; paper is light."""

    def rules(which):
        page = "".join(f"--{name}:{colours[which]};" for name, colours in PAGE_COLOURS.items())
        marks = "".join(
            f".{mark_class(colour)}{{--c:{shown[which]};--ink:{ink(shown[which])}}}" for colour, shown in mark_colours().items()
        )
        ramp = (HEAT, DARK_HEAT)[which]
        steps = [heat_colour(step / HEAT_STEPS, ramp) for step in range(HEAT_STEPS + 1)]
        heat = "".join(f".h{step}{{--c:{colour};--ink:{ink(colour)}}}" for step, colour in enumerate(steps))
        return f":root{{{page}}}{marks}{heat}"

    return f"{rules(0)}\n@media screen and (prefers-color-scheme: dark){{{rules(1)}}}\n"
