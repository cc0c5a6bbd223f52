"""The page: one file that needs nothing else, neither files nor a network."""

import pathlib

from . import animation, page_runs, page_verdict, panels, style, svg_paint
from .html_parts import bullets, details, escape, table

HERE = pathlib.Path(__file__).resolve().parent


def panel_html(panel):
    heads, rows = svg_paint.numbers_of(panel)
    numbers = details("Numbers", table(heads, rows, range(1, len(heads)), panel.title)) if rows else ""
    wide = " wide" if isinstance(panel, panels.HeatPanel) and len(panel.columns) > 6 else ""
    return f'<figure class="panel{wide}"><h3>{escape(panel.title)}</h3>{svg_paint.panel_svg(panel)}{numbers}</figure>'


def table_of(content):
    return table(content.heads, content.rows, content.numbers, content.title)


def figure_html(row, figure):
    inner = "\n".join(panel_html(panel) for panel in figure.panels)
    below = f"<h3>{escape(figure.table.title)}</h3>{table_of(figure.table)}" if figure.table else ""
    below += details(figure.further.title, table_of(figure.further)) if figure.further else ""
    return (
        f'<section id="{row.name}"><h2>{escape(row.title)}</h2><p class="note">{escape(figure.note)}</p>'
        f'<div class="panels">{inner}</div>{below}</section>'
    )


def missing_html(missing):
    """missing: [(row, reason)]"""
    items = [f'<li id="{row.name}"><b>{escape(row.title)}</b>: {escape(why)}.</li>' for row, why in missing]
    return f'<section id="left-out"><h2>Figures left out</h2>{bullets(items)}</section>' if items else ""


def notes_html(notes):
    items = [f"<li>{escape(note)}</li>" for note in notes]
    return f'<section id="notes"><h2>Not used, or not compared</h2>{bullets(items)}</section>' if items else ""


def verdict_section(material):
    if not material.studies:
        return ""
    tests = page_verdict.test_text(material.results)
    return (
        f'<section id="verdict"><h2>Verdict</h2>{page_verdict.verdict_html(material)}{page_verdict.best_grids(material)}'
        f'<p class="note">{escape(tests)}</p></section>'
    )


def contents(entries):
    """entries: [(name, title)] of the sections, in their order. On a narrow screen the list is above the page, closed."""
    items = "".join(f'<li><a href="#{name}">{escape(title)}</a></li>' for name, title in entries)
    return f'<nav aria-label="Contents"><details open><summary>Contents</summary><ol>{items}</ol></details></nav>'


def head():
    css = (HERE / "page.css").read_text(encoding="utf-8")
    return (
        '<!DOCTYPE html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1"><meta name="color-scheme" content="light dark">'
        f'<link rel="icon" href="data:,"><title>cg2d: report</title><style>{style.page_rules()}{css}</style></head>'
    )


HATCH = (
    '<svg width="0" height="0" aria-hidden="true" class="patterns"><defs><pattern id="hatch" width="6" height="6" '
    'patternUnits="userSpaceOnUse" patternTransform="rotate(45)"><path d="M0 0V6" class="hatch-line"/></pattern></defs></svg>'
)


def make_page(material, figures, missing):
    """figures: [(row, Figure)]; missing: [(row, reason)]."""
    steps = material.inputs.traces
    animations = [animation.animation_html(step, table, number) for number, step in enumerate(steps)]
    overlays = [animation.overlay_html(same, table, number) for number, same in enumerate(animation.same_steps(steps))]
    sections = [
        ("verdict", "Verdict", verdict_section(material)),
        ("runs", "Runs", page_runs.runs_html(material.runs)),
        *((row.name, row.title, figure_html(row, figure)) for row, figure in figures),
        *((animation.name_of(number), animation.title_of(number), text) for number, text in enumerate(animations)),
        *((animation.overlay_name(number), animation.overlay_title(number), text) for number, text in enumerate(overlays)),
        ("left-out", "Figures left out", missing_html(missing)),
        ("notes", "Not used, or not compared", notes_html(material.notes)),
    ]
    sections = [section for section in sections if section[2]]
    scripts = ["page.js", *(["animation.js"] if animations else [])]
    parts = [
        head(),
        f'<body>{HATCH}<a class="skip" href="#main">Skip to the results</a>',
        f"<header><h1>cg2d: which grid is best, and where the time goes</h1>{page_runs.origin_html(material.runs)}</header>",
        '<div class="columns">',
        contents([(name, title) for name, title, _ in sections]),
        '<main id="main" tabindex="-1">',
        *(text for _, _, text in sections),
        '</main></div><div id="tip" role="status" aria-live="polite" hidden></div>',
        *(f"<script>{(HERE / name).read_text(encoding='utf-8')}</script>" for name in scripts),
        "</body></html>",
    ]
    return "\n".join(parts) + "\n"
