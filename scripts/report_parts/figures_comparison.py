"""Sets of results side by side: cg2d compare says which of them is faster."""

from . import style
from .figures_grid import MOST_PANELS
from .panels import Axis, BarPanel, Bars, Figure, Table
from .times import seconds


def why_no_comparisons(material):
    return "" if material.comparisons else "nothing was compared; --compare compares each file with the first"


def comparison_panel(comparison):
    """Medians of both sets for each configuration; the tips have the ratios."""
    pairs = [pair for pair in comparison.document["compared"] if pair["ratio"]]
    names = [pair["key"] for pair in pairs]
    bars = []
    for index, (name, key) in enumerate(((comparison.before, "before"), (comparison.after, "after"))):
        values = [pair[key]["median_s"] if pair[key] else None for pair in pairs]
        tips = [f"{pair['key']}, {name}\nratio {pair['ratio']['ratio']:.3f}; {pair['text']}" for pair in pairs]
        bars.append(Bars(name, values, style.series_style(index)[0], tips))
    title = f"{comparison.after}: against {comparison.before}"
    return BarPanel(title, Axis("Configuration", "category", names=names), Axis("Time (median)", from_zero=True, is_time=True), bars)


def interval_text(ratio):
    return "too few rounds" if ratio["low"] is None or ratio["high"] is None else f"{ratio['low']:.3f} ... {ratio['high']:.3f}"


def comparison_rows(comparison):
    rows = []
    for pair in comparison.document["compared"]:
        times = [seconds(pair[key]["median_s"]) if pair[key] else "failed" for key in ("before", "after")]
        ratio = pair["ratio"]
        shown = [f"{ratio['ratio']:.3f}", interval_text(ratio)] if ratio else ["", ""]
        rows.append([comparison.after, pair["key"], *times, *shown, pair["text"]])
    if overall := comparison.document["overall"]:
        change = comparison.document["overall_change"]
        rows.append([comparison.after, "all together", "", "", f"{overall['ratio']:.3f}", interval_text(overall), change])
    return rows


def differences(found):
    """Facts in which the sets differ although the same was asked for, each once."""
    texts = [
        f"{one['name']}: {one['before']} in {comparison.before}, {one['after']} in {comparison.after}"
        for comparison in found
        for pair in comparison.document["compared"]
        for one in pair["differences"]
    ]
    return list(dict.fromkeys(texts))


def comparisons(material):
    found = material.comparisons
    panels = [comparison_panel(one) for one in found if any(pair["ratio"] for pair in one.document["compared"])]
    rows = [row for one in found for row in comparison_rows(one)]
    heads = ["set", "configuration", found[0].before, "this set", "ratio", "interval", "verdict"]
    alone = [
        f"{len(one.document[key])} in {name} only"
        for one in found
        for key, name in (("only_before", one.before), ("only_after", one.after))
        if one.document[key]
    ]
    note = "cg2d compare pairs the rounds of two sets, and gives the ratio of the times with its interval."
    if differ := differences(found):
        note += f" The sets differ: {'; '.join(differ)}."
    if alone:
        note += f" Configurations without a partner: {', '.join(alone)}."
    return Figure(panels[:MOST_PANELS], note, Table("Paired ratios and verdicts", heads, rows, range(2, 6)))
