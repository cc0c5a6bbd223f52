"""The page: one file that needs nothing else, neither files nor a network."""

import html
import json
import pathlib

from . import animation, figures_grid, paint_page, panels, quiet, style
from .errors import UNAVAILABLE, ReportError
from .figures_grid import ranks_text
from .studies import seconds, uncompared_notes

HERE = pathlib.Path(__file__).resolve().parent
# Debian's libjs-chart.js.
CHART_LIBRARY = pathlib.Path("/usr/share/javascript/chart.js/chart.min.js")


def read_chart_library(path=None):
    """The text of Chart.js (version 3), which goes into the page."""
    path = path or CHART_LIBRARY
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise ReportError(
            UNAVAILABLE, f"{path}: {error.strerror}; install Debian's libjs-chart.js or name Chart.js 3 by --chart-js"
        ) from None
    if "Chart.js v3" not in text[:400] or "</script" in text:
        raise ReportError(UNAVAILABLE, f"{path}: not Chart.js version 3 that can be put into a page")
    return text


def escape(text):
    return html.escape(str(text))


def table(heads, rows, numbers=()):
    """numbers: indices of the columns that are right-aligned."""

    def line(tag, cells):
        return "".join(
            f'<{tag}{" class=number" if index in numbers else ""}>{escape(cell)}</{tag}>' for index, cell in enumerate(cells)
        )

    body = "\n".join(f"<tr>{line('td', cells)}</tr>" for cells in rows)
    head = f"<thead><tr>{line('th', heads)}</tr></thead>" if heads else ""
    return f'<div class="scroll"><table>{head}<tbody>\n{body}\n</tbody></table></div>'


# ---------------------------------------------------------------- what comes first


def verdict(material, wrong_count):
    """The answer of the page: cg2d's verdict on the grids of one number of ranks."""
    lines = []
    if wrong_count:
        runs = "run has" if wrong_count == 1 else "runs have"
        lines.append(f"<b>{wrong_count} {runs} not got the reference's zeta. Times of wrong results say nothing.</b>")
    study = next(iter(figures_grid.studies_with_grids(material)), material.studies[0])
    rank_count = study.shown_rank_count
    best = study.best(rank_count)
    where = f"{escape(study.name[0].upper() + study.name[1:])} on {ranks_text(rank_count)}"
    tables = study.tables.get(rank_count, [])
    if not tables:
        lines.append(f"{where}: <b>{seconds(best.median_s)}</b> on {best.arrangement}, compared with nothing.")
    elif len(tables) == 1:
        lines.append(f"{where}: <b>{escape(tables[0]['verdict']['text'])}</b>.")
    else:
        lines.append(f"{where}: <b>{escape(study.choices[rank_count]['text'])}</b>.")
    lines += [escape(line) for line in quiet.page_lines([run for case in study.all_cases() for run in case.runs])]
    return f'<div class="verdict{" wrong" if wrong_count else ""}">{"".join(f"<p>{line}</p>" for line in lines)}</div>'


def verdict_row(study, rank_count, table):
    """Cells of one of cg2d's verdicts."""
    cells = [cell for cell in table["cells"] if cell["may_be_best"]]
    if not cells:
        return study.name, rank_count, "none", "", "", "", table["verdict"]["text"], ""
    first = next(cell for cell in cells if cell["key"] == table["verdict"]["candidate"])
    times = first["times"]
    grids = ", ".join(cell["grid"] for cell in [first, *(cell for cell in cells if cell is not first)])
    spread = f"{100 * times['spread']:.1f} %" if times["spread"] is not None else ""
    configuration = first["configuration"]
    settings = f"{first['kernel_used']}, {configuration['transport']}, {configuration['sum_form']}"
    settings += ", overlap" if configuration["overlap"] else ""
    settings += f", {table['cut']}" if "cut" in table else ""
    return (
        study.name, rank_count, grids if table["verdict"]["best"] else f"one of {grids}", seconds(times["median_s"]), spread,
        times["count"], table["verdict"]["text"], settings,
    )  # fmt: skip


def best_grids(material):
    """A line for each problem, number of ranks and setting."""
    rows = [
        verdict_row(study, rank_count, verdict_table)
        for study in material.studies
        for rank_count in sorted(study.tables)
        for verdict_table in study.tables[rank_count]
    ]
    heads = ("problem", "ranks", "best grid", "median", "spread", "runs", "verdict", "kernel, transport, sum")
    return table(heads, rows, numbers=(1, 3, 4, 5)) if rows else ""


def several(values):
    """Names each property that differs among the runs once."""
    return "; ".join(dict.fromkeys(str(value) for value in values))


def runs_text(count):
    return f"{count} run" + ("" if count == 1 else "s")


def commit_text(document):
    provenance = document.get("provenance")
    if not provenance:
        return "not known"
    return provenance["commit"][:12] + (", tree changed" if provenance["tree_changed"] else "")


def environment(runs):
    documents = [run.document for run in runs]
    environments = [document["environment"] for document in documents]
    nodes = [node for environment in environments for node in environment["nodes"]]
    crowded = sum(bool(environment.get("oversubscribed")) for environment in environments)
    dates = sorted(document["provenance"]["time"] for document in documents if document.get("provenance"))
    rows = [
        ("machine", several(f"{node['name']}: {node['processor']}, {node['cores']} cores" for node in nodes)),
        ("nodes of a run", several(sorted({len(environment["nodes"]) for environment in environments}))),
        ("MPI", several(environment["mpi"] for environment in environments)),
        ("BLAS", several(environment["blas"] for environment in environments)),
        (
            "compiler",
            several(f"{e['compiler']}, {e['flags']}".rstrip(", ") for e in environments),
        ),
        ("huge pages", several(environment["transparent_huge_pages"] or "not known" for environment in environments)),
        ("instruction set", several(document["configuration"]["instruction_set"] for document in documents)),
        ("cg2d", several(document["program"]["version"] for document in documents)),
        ("commit", several(commit_text(document) for document in documents)),
        ("measured", " to ".join(dict.fromkeys(dates[:1] + dates[-1:])) or "not known"),
        ("results", f"{runs_text(len(runs))}, {crowded or 'none'} with more ranks or threads than cores"),
    ]
    return table((), rows)


# ---------------------------------------------------------------- figures


def panel_height(panel):
    """Pixels."""
    if isinstance(panel, panels.HeatPanel):
        return min(max(190, 58 * len(panel.rows) + 80), 640)
    series = panel.bars if isinstance(panel, panels.BarPanel) else panel.lines
    return 360 + 12 * len(series)


def panel_html(panel):
    # "<" in a text must not end the script element.
    chart = json.dumps(paint_page.chart_of(panel), allow_nan=False, separators=(",", ":")).replace("<", "\\u003c")
    scale = ""
    legend = paint_page.legend_of(panel)
    if legend:
        text, least, greatest = map(escape, legend)
        colours = f"linear-gradient(to right, {', '.join(style.HEAT)})"
        scale = f'<div class="scale">{text}: {least}<span style="background: {colours}"></span>{greatest}</div>'
    return (
        f'<div class="chart"><h3>{escape(panel.title)}</h3><div class="canvas" style="height: {panel_height(panel)}px">'
        f'<canvas role="img" aria-label="{escape(panel.title)}"></canvas></div>{scale}'
        f'<script type="application/json">{chart}</script></div>'
    )


def figure_html(row, figure):
    width = " single" if len(figure.panels) == 1 else ""
    inner = "\n".join(panel_html(panel) for panel in figure.panels)
    below = ""
    if figure.table:
        below = f"<h3>{escape(figure.table.title)}</h3>{table(figure.table.heads, figure.table.rows, figure.table.numbers)}"
    return (
        f'<section id="{row.name}"><h2>{escape(row.title)}</h2><p class="note">{escape(figure.note)}</p>'
        f'<div class="panels{width}">{inner}</div>{below}</section>'
    )


def missing_html(missing):
    """missing: [(row, reason)]"""
    if not missing:
        return ""
    lines = "\n".join(f'<li id="{row.name}"><b>{escape(row.title)}</b>: {escape(why)}.</li>' for row, why in missing)
    return f'<section><h2>Left out</h2><ul class="missing">{lines}</ul></section>'


def notes_html(notes):
    if not notes:
        return ""
    lines = "\n".join(f"<li>{escape(note)}</li>" for note in notes)
    return f'<section><h2>Results that were not used, or not compared</h2><ul class="missing">{lines}</ul></section>'


def make_page(results, material, figures, missing, chart_library):
    """figures: [(row, Figure)]; missing: [(row, reason)]."""
    step = results.traced_step
    moving = [animation.animation_html(step, table)] if step else []
    css, script = ((HERE / name).read_text(encoding="utf-8") for name in ("page.css", "page.js"))
    wrong_count = sum(run.is_wrong for run in results.runs)
    parts = [
        '<!DOCTYPE html><html lang="en"><head><meta charset="utf-8">',
        '<meta name="viewport" content="width=device-width, initial-scale=1"><link rel="icon" href="data:,">',
        f"<title>cg2d: report</title><style>{css}</style></head><body>",
        "<h1>cg2d: which grid is best, and where the time goes</h1>",
        verdict(material, wrong_count),
        best_grids(material),
        f"<h3>Environment</h3>{environment(results.runs)}",
        *(figure_html(row, figure) for row, figure in figures),
        *moving,
        missing_html(missing),
        notes_html([*results.notes, *uncompared_notes(results)]),
        f"<script>{chart_library}</script><script>{script}</script>",
        *(f"<script>{animation.SCRIPT}</script>" for _ in moving),
        "</body></html>",
    ]
    return "\n".join(part for part in parts if part) + "\n"
