"""Figures of how near each phase and each product comes to the limits of the machine, and of what the storage of a matrix is worth."""

from . import style
from .figures_grid import MOST_PANELS, ranks_text
from .panels import Axis, BarPanel, Bars, Figure, Line, LinePanel, rule
from .results import PHASES
from .studies import file_name

GIGA = 1e9
MEGA = 1e6
# More grids beside each other are too small to read.
MOST_GRIDS = 6
BANDWIDTHS = ("matrix_bytes_per_s", "vector_bytes_per_s")


def roofline_cases(study):
    """(P, cases by Px) whose runs have measured limits; None without any. Each grid is shown with the settings of the other figures where
    these have them."""
    rank_count, cases = study.shown_with(lambda case: case.run_with("roofline")) or (0, [])
    found = {case.grid: case for case in sorted(reversed(cases), key=lambda case: case.settings_key == study.shown_key)}
    return (rank_count, [case for case in cases if found[case.grid] is case]) if cases else None


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


def roofs(limits, left, right):
    """Lines of the two bandwidths up to the ridge, and of the arithmetic."""
    flops_per_s = limits["flops_per_s"]
    lines = []
    for key, word, footprint, phase in zip(
        BANDWIDTHS, ("matrix", "vectors"), ("matrix_footprint_bytes", "vector_footprint_bytes"), ("multiply", "vector_updates")
    ):
        own, every = (limits[footprint][whose] / MEGA for whose in ("rank", "total"))
        text = f"{limits[key] / GIGA:.3g} GB/s over the {word} ({own:.3g} MB on a rank, {every:.3g} MB in all)"
        ends = [left, min(flops_per_s / limits[key], right)]
        lines.append(rule(text, ends, [x * limits[key] / GIGA for x in ends], text, style.PHASE_COLOURS[phase], word == "vectors"))
    first_ridge = min(flops_per_s / limits[key] for key in BANDWIDTHS)
    text = f"{flops_per_s / GIGA:.3g} Gflop/s of arithmetic"
    return [*lines, rule(text, [first_ridge, right], [flops_per_s / GIGA] * 2, text, style.SERIES[6], False)]


def roofline_panel(study, rank_count, case):
    run = case.run_with("roofline")
    limits = run.document["roofline"]
    points = []
    for index, (phase, colour) in enumerate(style.PHASE_COLOURS.items()):
        work = work_of(run, phase)
        if work and work[1]:
            x, y = [work[0]["flops"] / work[0]["bytes"]], [work[1] / GIGA]
            marker = style.series_style(index)[1]
            points.append(Line(style.phase_name(phase), x, y, [phase_tip(run, phase)], colour, marker, has_line=False))
    intensities = [max(limits["flops_per_s"] / limits[key] for key in BANDWIDTHS), *(point.x[0] for point in points)]
    title = f"{study.name}, {ranks_text(rank_count)} as {case.arrangement}, {run.configuration['kernel']}"
    lines = [*points, *roofs(limits, 0.6 * min(intensities), 2.5 * max(intensities))]
    return LinePanel(title, Axis("Flops per byte", "log"), Axis("Gflop/s, all ranks", "log"), lines)


def share_panel(study, rank_count, cases):
    bars = []
    for case in cases[:MOST_GRIDS]:
        run = case.run_with("roofline")
        shares = run.document["roofline"]["phases"]
        has_work = {phase: work_of(run, phase) is not None for phase in PHASES}
        values = [100 * shares[phase]["share"] if has_work[phase] else None for phase in PHASES]
        bars.append(Bars(case.arrangement, values, [phase_tip(run, phase) if has_work[phase] else "" for phase in PHASES]))
    across = Axis("Phase", "category", list(map(style.phase_name, PHASES)))
    title = f"Share of the limit, {study.name}, {ranks_text(rank_count)}"
    return BarPanel(title, across, Axis("Share of the limit, %", from_zero=True), bars)


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
        classes = dict.fromkeys(point["class"] for point in material.bench)
        panels += [bench_panel(name, [point for point in material.bench if point["class"] == name]) for name in list(classes)[:MOST_PANELS]]
        note += (
            "spmv_bench measures products alone. Lines are the read bandwidths at the largest and the smallest footprint; a point "
            "above the lower line works on data that a cache holds."
        )
    return Figure(panels, note.strip()) if panels else (
        "no run with --roofline is among the results (where ranks share cores it measures no limits), and no result of "
        "spmv_bench was given"
    )


# ---------------------------------------------------------------- products alone, of the benchmark


def bench_panel(class_name, points):
    lines = []
    left = 0.7 * min(point["intensity"] for point in points)
    right = 1.4 * max(point["intensity"] for point in points)
    for kernel in dict.fromkeys(point["kernel"] for point in points):
        own = sorted((p for p in points if p["kernel"] == kernel), key=lambda p: p["intensity"])
        tips = [
            f"{kernel}, block {p['block']}\n{p['gflops']:.2f} Gflop/s at {p['intensity']:.3f} flop per byte\n"
            f"{100 * p['gflops'] / p['intensity'] / p['bandwidth']:.0f} % of {p['bandwidth']:.1f} GB/s"
            for p in own
        ]
        lines.append(Line(kernel, [p["intensity"] for p in own], [p["gflops"] for p in own], tips, has_line=False))
    bandwidths = [point["bandwidth"] for point in points]
    for bandwidth in sorted({min(bandwidths), max(bandwidths)}, reverse=True):
        text = f"{bandwidth:.0f} GB/s"
        ends = [left, right]
        lines.append(rule(text, ends, [end * bandwidth for end in ends], text, is_dashed=bandwidth < max(bandwidths)))
    across, up = Axis("Flops per byte of matrix data", "log"), Axis("Gflop/s of the product", "log")
    return LinePanel(f"spmv_bench, class {class_name}", across, up, lines)


# ---------------------------------------------------------------- one problem's product with several kernels

MOST_PROBLEMS = 8
OPERATOR = "npb-factored:"


def problem_of(document):
    """The matrix, that of the benchmark by its order, with its ranks and threads."""
    configuration = document["configuration"]
    matrix = (document.get("system") or {}).get("matrix", OPERATOR)
    order = document["problem"]["n"] if document.get("problem") else document["setup"]["n"]
    name = f"NPB {order}" if matrix.startswith(OPERATOR) else file_name(matrix).removesuffix(".mtx").replace(":", ": ")
    return ", ".join([name, *(f"{configuration[word]} {word}" for word in ("ranks", "threads") if configuration[word] > 1)])


def storage_of(document):
    """The kernel; of an operator, which has no matrix for one, the operator."""
    matrix = (document.get("system") or {}).get("matrix", "")
    return matrix.rpartition(":")[0] if matrix.startswith(OPERATOR) else document["configuration"]["kernel"]


def product_of(document):
    """Of the products of a CG step, mean over the ranks: (seconds, seconds that bytes or arithmetic take at least, bytes)."""
    entry = document["roofline"]["phases"]["multiply"]
    return tuple(entry[key] / document["phases"]["cg_steps"] for key in ("measured_s", "limit_s", "bytes"))


def products_of(material):
    """{problem: {kernel: product}}, of problems with several kernels; of several products the one with the lower median time."""
    found = {}
    for document in material.run_and_solve_documents:
        has_limits = document.get("roofline") and document["phases"]["cg_steps"]
        if has_limits and document["roofline"]["phases"]["multiply"]["measured_s"]:  # stencils spend no time in this phase
            found.setdefault(problem_of(document), {}).setdefault(storage_of(document), []).append(product_of(document))
    return {
        problem: {kernel: sorted(own)[(len(own) - 1) // 2] for kernel, own in products.items()}
        for problem, products in found.items()
        if len(products) > 1
    }


def product_tip(problem, kernel, product):
    time_s, limit_s, byte_count = product
    return (
        f"{kernel}, {problem}\n{1e3 * time_s:.4g} ms of products in a CG step, {byte_count / MEGA:.4g} MB\n"
        f"limit {1e3 * limit_s:.4g} ms: {100 * limit_s / time_s:.3g} % of it reached"
    )


def products_panel(title, label, found, kernels, value_of):
    """One series for each kernel, over the problems."""
    bars = []
    for kernel in kernels:
        own = [(problem, products.get(kernel), products) for problem, products in found]
        values = [value_of(product, products) if product else None for _, product, products in own]
        bars.append(Bars(kernel, values, [product_tip(problem, kernel, product) if product else "" for problem, product, _ in own]))
    return BarPanel(title, Axis("", "category", [problem for problem, _ in found]), Axis(label, from_zero=True), bars)


def storage(material):
    found = list(products_of(material).items())[:MOST_PROBLEMS]
    if not found:
        return "no problem was run by several kernels with --roofline"
    kernels = list(dict.fromkeys(kernel for _, products in found for kernel in products))
    panels = [
        products_panel(title, label, found, kernels, value_of)
        for title, label, value_of in (
            ("Speed-up over the slowest kernel", "Speed-up, times", lambda own, all_: max(all_.values())[0] / own[0]),
            ("Share of the limit", "Share of the limit, %", lambda own, _: 100 * own[1] / own[0]),
        )
    ]
    note = (
        "Bars show the products of a CG step in runs with --roofline, mean over the ranks; of several runs, the one with the median "
        "time. The limit is the time to read the kernel's matrix and vectors at the bandwidth of the same run, or the time of its arithmetic. npb-factored "
        "stores the vectors of the matrix's outer products instead of their sum."
    )
    return Figure(panels, note)
