"""Small pieces of HTML that all parts of the page are made of."""

import html

LONG_TEXT = 40  # letters: a cell with more breaks into lines, and keeps some width on a telephone

def escape(text):
    return html.escape(str(text))


def table(heads, rows, numbers=(), caption=""):
    """numbers: indices of the columns that are right-aligned. Wider tables scroll by themselves, also by keyboard."""

    def cell(tag, index, text, attributes=""):
        kind = " class=number" if index in numbers else " class=long" if len(str(text)) > LONG_TEXT else ""
        return f"<{tag}{attributes}{kind}>{escape(text)}</{tag}>"

    body = "\n".join(f"<tr>{''.join(cell('td', index, text) for index, text in enumerate(cells))}</tr>" for cells in rows)
    head = ""
    if heads:
        head = f"<thead><tr>{''.join(cell('th', index, text, ' scope=col') for index, text in enumerate(heads))}</tr></thead>"
    title = f"<caption>{escape(caption)}</caption>" if caption else ""
    label = escape(caption or "table")
    inner = f"<table>{title}{head}<tbody>\n{body}\n</tbody></table>"
    return f'<div class="scroll" tabindex="0" role="region" aria-label="{label}">{inner}</div>'


def section(name, title, inner, note="", kind=""):
    """Empty without content."""
    note = f'<p class="note">{escape(note)}</p>' if note else ""
    return f'<section id="{name}"{kind}><h2>{escape(title)}</h2>{note}{inner}</section>' if inner else ""


def definitions(pairs):
    """[(name, text)] as a list of definitions, which fits narrow screens."""
    lines = "".join(f"<div><dt>{escape(name)}</dt><dd>{escape(text)}</dd></div>" for name, text in pairs)
    return f'<dl class="facts">{lines}</dl>'


def details(summary, inner):
    return f"<details><summary>{escape(summary)}</summary>{inner}</details>"
