"""Figures of how near each phase and each product comes to the limits of the machine."""

from . import style
from .figures_grid import MOST_PANELS, ranks_text
from .panels import Axis, BarPanel, Bars, Figure, Line, LinePanel
from .results import PHASES

GIGA = 1e9
MEGA = 1e6
# More grids beside each other are too small to read.
MOST_GRIDS = 6


def roofline_cases(study):
    """(P, cases by Px) whose runs have measured limits: for the number of ranks that the page is about, else for the greatest
    that has some. None without any. Each grid is shown with the settings of the other figures where these have them."""
    for rank_count in dict.fromkeys((study.shown_rank_count, *reversed(study.rank_counts))):
        found = {}
        every = sorted(study.every_case(rank_count), key=lambda case: case.settings_key != study.shown_key)
        for case in every:
            if case.run_with("roofline"):
                found.setdefault(case.grid, case)
        if found:
            return rank_count, list(found.values())
    return None


def why_no_roofline(material):
    if material.bench or any(roofline_cases(study) for study in material.studies):
        return ""
    return (
        "no run with --roofline is among the results (where ranks share cores it measures no limits), and no result of "
        "spmv_bench was given"
    )


def work_of(run, phase):
    """Entry of the phase and its rates over all ranks: (entry, flop/s, byte/s). None if the phase did no work."""
    entry = run.document["roofline"]["phases"][phase]
    if not entry["bytes"] or not entry["measured_s"]:
        return None
    rank_count = run.configuration["ranks"]
    return entry, rank_count * entry["flops"] / entry["measured_s"], rank_count * entry["bytes"] / entry["measured_s"]


def phase_tip(run, phase):
    entry, flops_per_s, bytes_per_s = work_of(run, phase)
    steps = run.cg_steps
    rates = f"{bytes_per_s / GIGA:.3g} GB/s"
    if entry["flops"]:
        rates = f"{flops_per_s / GIGA:.3g} Gflop/s at {entry['flops'] / entry['bytes']:.3g} flop per byte, {rates}"
    return (
        f"{style.phase_name(phase)}, grid {run.arrangement}, {run.configuration['kernel']}: "
        f"{100 * entry['share']:.3g} % of the limit\n{rates} (all ranks)\n"
        f"per CG step and rank: {entry['bytes'] / steps:,.0f} bytes, {entry['flops'] / steps:,.0f} flops\n"
        f"limit {1e6 * entry['limit_s'] / steps:.3g} µs, measured {1e6 * entry['measured_s'] / steps:.3g} µs"
    )


def footprint_text(limits, key):
    """" (2 MB on a rank, 8 MB in all)": what a bandwidth was measured with."""
    return f" ({limits[key]['rank'] / MEGA:.3g} MB on a rank, {limits[key]['total'] / MEGA:.3g} MB in all)"


def roofs(limits, left, right):
    """Lines of the two bandwidths up to the ridge, and of the arithmetic."""
    flops_per_s = limits["flops_per_s"]
    lines = []
    for word, key, footprint, phase, is_dashed in (
        ("matrix", "matrix_bytes_per_s", "matrix_footprint_bytes", "multiply", False),
        ("vectors", "vector_bytes_per_s", "vector_footprint_bytes", "vector_updates", True),
    ):
        bandwidth = limits[key]
        ridge = min(flops_per_s / bandwidth, right)
        text = f"{bandwidth / GIGA:.3g} GB/s over the {word}{footprint_text(limits, footprint)}"
        ends = [left, ridge]
        lines.append(
            Line(
                text, ends, [x * bandwidth / GIGA for x in ends], style.PHASE_COLOURS[phase], [text] * 2,
                is_dashed=is_dashed, has_points=False,
            )
        )  # fmt: skip
    first_ridge = min(flops_per_s / limits[key] for key in ("matrix_bytes_per_s", "vector_bytes_per_s"))
    text = f"{flops_per_s / GIGA:.3g} Gflop/s of arithmetic"
    flat = [flops_per_s / GIGA] * 2
    return [*lines, Line(text, [first_ridge, right], flat, style.SERIES[6], [text] * 2, has_points=False)]


def roofline_panel(study, rank_count, case):
    run = case.run_with("roofline")
    limits = run.document["roofline"]
    points = []
    for index, phase in enumerate(PHASES):
        work = work_of(run, phase)
        if work and work[1]:
            _, marker = style.series_style(index)
            points.append(
                Line(
                    style.phase_name(phase), [work[0]["flops"] / work[0]["bytes"]], [work[1] / GIGA],
                    style.PHASE_COLOURS[phase], [phase_tip(run, phase)], marker, has_line=False,
                )
            )  # fmt: skip
    ridge = max(limits["flops_per_s"] / limits[key] for key in ("matrix_bytes_per_s", "vector_bytes_per_s"))
    intensities = [ridge, *(point.x[0] for point in points)]
    left, right = 0.6 * min(intensities), 2.5 * max(intensities)
    return LinePanel(
        f"{study.name}, {ranks_text(rank_count)} as {case.arrangement}, {run.configuration['kernel']}",
        Axis("Flops per byte", "log"),
        Axis("Gflop/s, all ranks", "log"),
        [*points, *roofs(limits, left, right)],
    )


def share_panel(study, rank_count, cases):
    bars = []
    for index, case in enumerate(cases[:MOST_GRIDS]):
        run = case.run_with("roofline")
        has_work = [work_of(run, phase) is not None for phase in PHASES]
        values = [
            100 * run.document["roofline"]["phases"][phase]["share"] if is_there else None
            for phase, is_there in zip(PHASES, has_work)
        ]
        tips = [phase_tip(run, phase) if is_there else "" for phase, is_there in zip(PHASES, has_work)]
        bars.append(Bars(case.arrangement, values, style.series_style(index)[0], tips))
    return BarPanel(
        title=f"Share of the limit, {study.name}, {ranks_text(rank_count)}",
        x=Axis("Phase", "category", names=[style.phase_name(phase) for phase in PHASES]),
        y=Axis("Share of the limit, %", from_zero=True),
        bars=bars,
    )


def roofline(material):
    panels = []
    for study in material.studies:
        found = roofline_cases(study)
        if found and len(panels) < MOST_PANELS:
            rank_count, cases = found
            panels.append(roofline_panel(study, rank_count, min(cases, key=lambda case: (not case.is_candidate, case.median_s))))
            panels.append(share_panel(study, rank_count, cases))
    note = ""
    if panels:
        note = (
            "The roofline shows one grid, the first of cg2d's verdict whose run measured limits, and its phases that have flops. The "
            "product is limited by the bandwidth over the matrix, every other phase by the bandwidth over the vectors; all ranks "
            "read at the same time, as many bytes as their matrices and vectors have. The share is the least time that bytes and "
            "flops allow, divided by the measured time. A share above 100 % means that data were still in a cache. "
        )
    if material.bench:
        classes = list(dict.fromkeys(point["class"] for point in material.bench))
        panels += [
            bench_panel(name, [point for point in material.bench if point["class"] == name])
            for name in classes[:MOST_PANELS]
        ]
        note += (
            "spmv_bench measures products alone. Lines are the read bandwidths at the largest and the smallest footprint; a point "
            "above the lower line works on data that a cache holds."
        )
    return Figure(panels, note.strip())


# ---------------------------------------------------------------- products alone, of the benchmark


def bench_panel(class_name, points):
    lines = []
    left = 0.7 * min(point["intensity"] for point in points)
    right = 1.4 * max(point["intensity"] for point in points)
    kernels = list(dict.fromkeys(point["kernel"] for point in points))
    for index, kernel in enumerate(kernels):
        colour, marker = style.series_style(index)
        own = sorted((p for p in points if p["kernel"] == kernel), key=lambda p: p["intensity"])
        tips = [
            f"{kernel}, block {p['block']}\n{p['gflops']:.2f} Gflop/s at {p['intensity']:.3f} flop per byte\n"
            f"{100 * p['gflops'] / p['intensity'] / p['bandwidth']:.0f} % of {p['bandwidth']:.1f} GB/s"
            for p in own
        ]
        x, y = [p["intensity"] for p in own], [p["gflops"] for p in own]
        lines.append(Line(kernel, x, y, colour, tips, marker, has_line=False))
    bandwidths = [point["bandwidth"] for point in points]
    for bandwidth in sorted({min(bandwidths), max(bandwidths)}, reverse=True):
        text = f"{bandwidth:.0f} GB/s"
        lines.append(
            Line(
                text, [left, right], [left * bandwidth, right * bandwidth], style.GREY, [text] * 2,
                is_dashed=bandwidth < max(bandwidths), has_points=False,
            )
        )  # fmt: skip
    return LinePanel(
        f"spmv_bench, class {class_name}",
        Axis("Flops per byte of matrix data", "log"),
        Axis("Gflop/s of the product", "log"),
        lines,
    )
