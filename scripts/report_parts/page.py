"""The page: one file that needs nothing else, neither files nor a network. Its table of runs says where the results come from."""

import pathlib

from . import animation, page_verdict, panels, style, svg_paint
from .html_parts import definitions, details, escape, section, table
from .results import disturbed_count
from .studies import problem_name

HERE = pathlib.Path(__file__).resolve().parent


# ---------------------------------------------------------------- where the results come from


def several(values):
    """Each different value once."""
    return "; ".join(dict.fromkeys(str(value) for value in values))


def counted(count, word):
    return f"{count} {word}" + ("" if count == 1 else "s")


def commit_text(document):
    provenance = document.get("provenance")
    if not provenance:
        return "not known"
    return provenance["commit"][:12] + (", tree changed" if provenance["tree_changed"] else "")


def short_names(paths):
    """{path: its last part}; the whole paths where these are not different."""
    names = {path: str(path).rpartition("/")[2] for path in paths}
    return names if len(set(names.values())) == len(names) else {path: str(path) for path in paths}


def day_of(document):
    """2026-11-23 06:59, or "not known"."""
    provenance = document.get("provenance")
    return provenance["time"][:16].replace("T", " ") if provenance else "not known"


def machine_of(document):
    nodes = document["environment"]["nodes"]
    count = f"{len(nodes)} x " if len(nodes) > 1 else ""
    return f"{count}{nodes[0]['processor']}, {counted(nodes[0]['cores'], 'core')}"


def origin_html(runs):
    """The line below the title: machine, dates and commit of all runs."""
    documents = [run.document for run in runs]
    if not documents:
        return ""
    days = [day_of(document) for document in documents]
    known = [day for day in days if day != "not known"]
    texts = [
        several(machine_of(document) for document in documents),
        span(known) if known else "date not known",
        "commit " + several(commit_text(document) for document in documents),
    ]
    return f'<p class="origin">{escape(" · ".join(texts))}</p>'


def span(texts):
    """From the first date to the last; of the same day, only the time."""
    first, last = min(texts), max(texts)
    return first if first == last else f"{first} to {last[11:] if last[:10] == first[:10] else last}"


def group_row(key, runs):
    path, machine, commit = key
    documents = [run.document for run in runs]
    reasons = [reason for run in runs for reason in run.disturbances]
    wrong = sum(run.is_wrong for run in runs)
    is_checked = all(document["result"]["verified"] for document in documents)
    checked = counted(wrong, "wrong result") if wrong else "yes" if is_checked else "no reference"
    ranks = ", ".join(map(str, sorted({run.configuration["ranks"] for run in runs})))
    return (
        path, span([day_of(document) for document in documents]), machine, several(problem_name(run.problem) for run in runs), ranks, len(runs),
        f"{disturbed_count(reasons)} of {len(reasons)}", checked, commit,
    )  # fmt: skip


def facts_of(runs):
    """[(name, text)]: what the results say of machine and build in words, as JSON names it, each different value once."""
    found = {}
    for document in (run.document for run in runs):
        environment, configuration = document["environment"], document["configuration"]
        build = {"cg2d": document["program"]["version"], "instruction_set": configuration["instruction_set"]}
        for part in (*environment["nodes"], environment, document.get("provenance") or {}, build):
            for name, value in part.items():
                if isinstance(value, str) and name != "time":
                    found.setdefault(name.replace("_", " "), {})[value] = None
    return [(name, "; ".join(values)) for name, values in found.items()]


def runs_html(runs):
    """A section; empty without runs."""
    if not runs:
        return ""
    groups = {}  # of a file on a machine with a commit
    for run in runs:
        groups.setdefault((run.file, machine_of(run.document), commit_text(run.document)), []).append(run)
    short = short_names({path for path, _, _ in groups})
    heads = ("file", "measured", "machine", "problem", "ranks", "runs", "disturbed", "verified", "commit")
    rows = [group_row((short[path], *key), found) for (path, *key), found in groups.items()]
    facts = "".join(
        details(f"Machine and build of {short[path]}", definitions(facts_of(found))) for (path, *_), found in groups.items()
    )
    return section("runs", "Runs", table(heads, rows, (5, 6), "Runs by file, machine and commit") + facts)


# ---------------------------------------------------------------- the page


def panel_html(panel):
    heads, rows = svg_paint.numbers_of(panel)
    caption = f"{panel.title}: {panel.y.caption}" if isinstance(panel, panels.BarPanel) else panel.title
    numbers = details("Numbers", table(heads, rows, range(1, len(heads)), caption)) if rows else ""
    wide = " wide" if isinstance(panel, panels.HeatPanel) and len(panel.columns) > 6 else ""
    return f'<figure class="panel{wide}"><h3>{escape(panel.title)}</h3>{svg_paint.panel_svg(panel)}{numbers}</figure>'


def figure_html(row, figure):
    inner = "\n".join(panel_html(panel) for panel in figure.panels)
    below = ""
    if content := figure.table:
        below = f"<h3>{escape(content.title)}</h3>{table(content.heads, content.rows, content.numbers, content.title)}"
    return section(row.name, row.title, f'<div class="panels">{inner}</div>{below}', figure.note)


def verdict_section(material):
    if not material.studies:
        return ""
    tests = f'<p class="note">{escape(page_verdict.test_text(material.results))}</p>'
    return section("verdict", "Verdict", page_verdict.verdict_html(material) + page_verdict.best_grids(material) + tests)


def contents(entries):
    """entries: [(name, title)] of the sections, in their order. On a narrow screen the list is above the page, closed."""
    items = "".join(f'<li><a href="#{name}">{escape(title)}</a></li>' for name, title in entries)
    return f'<nav aria-label="Contents"><details open><summary>Contents</summary><ol>{items}</ol></details></nav>'


def head():
    css = (HERE / "page.css").read_text(encoding="utf-8")
    return (
        '<!DOCTYPE html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1"><meta name="color-scheme" content="light dark">'
        f'<link rel="icon" href="data:,"><title>cg2d: report</title><style>{style.page_rules()}{css}</style>'
        f'<style id="file-rules" media="not all">{style.file_rules()}</style></head>'
    )


def make_page(material, figures, missing):
    """figures: [(row, Figure)]; missing: [(row, reason)]."""
    steps = material.inputs.traces
    left_out = [f'<li id="{row.name}"><b>{escape(row.title)}</b>: {escape(why)}.</li>' for row, why in missing]
    notes = [f"<li>{escape(note)}</li>" for note in material.notes]
    lists = (("left-out", "Figures left out", left_out), ("notes", "Not used, or not compared", notes))
    sections = [
        ("verdict", "Verdict", verdict_section(material)),
        ("runs", "Runs", runs_html(material.runs)),
        *((row.name, row.title, figure_html(row, figure)) for row, figure in figures),
        *(animation.animation_section(step, number) for number, step in enumerate(steps)),
        *(animation.overlay_section(same, number) for number, same in enumerate(animation.same_steps(steps))),
        *((name, title, section(name, title, f'<ul class="missing">{"".join(items)}</ul>' if items else "")) for name, title, items in lists),
    ]
    sections = [entry for entry in sections if entry[2]]
    scripts = ["page.js", *(["animation.js"] if steps else [])]
    parts = [
        head(),
        f'<body><svg width="0" height="0" aria-hidden="true" class="patterns">{svg_paint.HATCH}</svg>',
        '<a class="skip" href="#main">Skip to the results</a>',
        f"<header><h1>cg2d: which grid is best, and where the time goes</h1>{origin_html(material.runs)}</header>",
        '<div class="columns">',
        contents([(name, title) for name, title, _ in sections]),
        '<main id="main" tabindex="-1">',
        *(text for _, _, text in sections),
        '</main></div><div id="tip" role="status" aria-live="polite" hidden></div>',
        *(f"<script>{(HERE / name).read_text(encoding='utf-8')}</script>" for name in scripts),
        "</body></html>",
    ]
    return "\n".join(parts) + "\n"
