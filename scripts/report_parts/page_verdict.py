"""The top of the page: cg2d's verdict on each problem, how sure it is, and the best grid of each number of ranks."""

from .figures_grid import ranks_text, studies_with_grids
from .html_parts import escape, table
from .results import disturbed_lines
from .times import seconds


# By the certainty of a verdict of cg2d.
BADGES = {None: "not compared", "alone": "the only one", "decided": "sure"}


def card(study):
    rank_count = study.shown_rank_count
    choice = study.choices.get(rank_count)
    tables = study.tables.get(rank_count, [])
    verdict = tables[0]["verdict"] if len(tables) == 1 else choice and choice["verdict"]
    word = BADGES.get(verdict and verdict["certainty"], "not decided")
    where = f"{escape(study.title)} on {ranks_text(rank_count)}"
    best = study.best(rank_count)
    text = verdict["text"][0].upper() + verdict["text"][1:] if verdict else f"{best.arrangement}: {seconds(best.median_s)}"
    kind = word.replace(" ", "-")
    return (
        f'<div class="card"><p class="what">{where} <span class="badge {kind}">{word}</span></p>'
        f'<p class="answer">{escape(text)}.</p></div>'
    )


def shown_studies(material):
    """The study that the page is about first."""
    first = next(iter(studies_with_grids(material)), material.studies[0])
    return [first, *(study for study in material.studies if study is not first)]


def verdict_html(material):
    """The answer of the page."""
    wrong_count = sum(run.is_wrong for run in material.runs)
    lines = []
    if wrong_count:
        runs = "run differs" if wrong_count == 1 else "runs differ"
        lines.append(
            f'<p class="wrong"><b>{wrong_count} {runs} from the reference zeta. Times of wrong results mean nothing.</b></p>'
        )
    lines += [f'<p class="note">{escape(line)}</p>' for line in disturbed_lines(material.runs)]
    cards = "".join(map(card, shown_studies(material)))
    return f'<div class="verdict{" wrong" if wrong_count else ""}">{"".join(lines)}<div class="cards">{cards}</div></div>'


# By the certainty of a verdict.
BEST_GRIDS = {"alone": "{} alone", "decided": "{}", "too-few-rounds": "one of {}", "not-distinguishable": "one of {}"}


def verdict_row(study, rank_count, verdicts):
    """Cells of one of cg2d's verdicts."""
    cells = [cell for cell in verdicts["cells"] if cell["may_be_best"]]
    if not cells:
        return study.name, rank_count, "none", "", "", "", verdicts["verdict"]["text"], ""
    first = next(cell for cell in cells if cell["key"] == verdicts["verdict"]["candidate"])
    times = first["times"]
    grids = ", ".join(cell["grid"] for cell in [first, *(cell for cell in cells if cell is not first)])
    spread = f"{100 * times['spread']:.1f} %" if times["spread"] is not None else ""
    configuration = first["configuration"]
    settings = f"{first['kernel_used']}, {configuration['transport']}, {configuration['sum_form']}"
    settings += ", overlap" if configuration["overlap"] else ""
    form = verdicts.get("form", "matrix")
    settings += f", {form}" if form != "matrix" else f", cut {configuration['cut']}" if configuration["cut"] != "even" else ""
    settings += f", {verdicts['storage']}" if "storage" in verdicts else ""
    return (
        study.name, rank_count, BEST_GRIDS[verdicts["verdict"]["certainty"]].format(grids), seconds(times["median_s"]), spread,
        times["count"], verdicts["verdict"]["text"], settings,
    )  # fmt: skip


def best_grids(material):
    """A line for each problem, number of ranks and setting; for a matrix on storage only where it was streamed on several grids."""
    rows = [
        verdict_row(study, rank_count, verdicts)
        for study in material.studies
        for rank_count in sorted(study.tables)
        for verdicts in study.tables[rank_count]
        if "storage" not in verdicts or len(verdicts["cells"]) > 1
    ]
    heads = ("problem", "ranks", "best grid", "median", "spread", "runs", "verdict", "kernel, transport, sum")
    return table(heads, rows, (1, 3, 4, 5), "Best grid of each number of ranks") if rows else ""


def test_text(results):
    """How sure cg2d's verdicts are, in its own figures; empty where it gave none. results: sets of runs."""
    tests = [one.verdicts["test"] for one in results if "test" in one.verdicts]
    if not tests:
        return ""
    return (
        f"cg2d sweep --show gives the same verdicts. By the {tests[0]['name']}, it calls a wrong grid best in at most "
        f"{100 * tests[0]['wrong_verdict_probability']:g} % of measurements, and claims no difference below "
        f"{100 * tests[0]['least_claimed_gain']:g} %."
    )
