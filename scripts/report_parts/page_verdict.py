"""The top of the page: cg2d's verdict on each problem, how sure it is, and the best grid of each number of ranks."""

from .figures_grid import ranks_text, settings_names, studies_with_grids
from .html_parts import escape, table
from .results import disturbed_lines
from .studies import official_grid, percent
from .times import seconds


def certainty(verdict):
    """(a word, a sentence): how sure a verdict of cg2d is. verdict: of its JSON, or None where nothing was compared."""
    if verdict is None:
        return "not compared", "No round has runs of several configurations, so nothing is compared; times are medians."
    if verdict["certainty"] == "alone":
        return "the only one", "There is nothing to compare it with."
    if verdict["certainty"] == "decided":
        return "sure", "Better than every other one in enough paired rounds."
    rounds = verdict["suggested_rounds"]
    noisy = "Most runs were disturbed." if "too noisy to decide" in verdict["text"] else "The differences are below the noise of this machine."
    more = f"{rounds} rounds should decide." if rounds else noisy
    if verdict["certainty"] == "too-few-rounds":
        return "not decided", f"Too few rounds for any verdict. {more}"
    return "not decided", f"Several are not distinguishable. {more}"


MOST_NAMED = 4


def answer_text(study, rank_count):
    """The grid with its time, or those that may be best, the candidate first; the cost of the official one only where that is
    decided. Without a verdict those that there are."""
    cases = [case for found in study.alternatives[rank_count].values() for case in found]
    candidate = study.choices.get(rank_count, {}).get("candidate")
    in_question = [case for case in cases if case.choice_mark] or cases
    in_question.sort(key=lambda case: (case is not candidate, case.choice_ratio or 1.0, case.median_s))
    name_of = settings_names(cases)

    def text_of(case):
        settings = name_of(case)
        return f"{case.arrangement}{f' with {settings}' if settings else ''}: {seconds(case.median_s)}"

    texts = [text_of(case) for case in in_question[:MOST_NAMED]]
    if len(in_question) > MOST_NAMED:
        texts.append(f"one of {len(in_question) - MOST_NAMED} others")
    first = in_question[0]
    official = official_grid(rank_count) if "system" not in study.problem else None
    others = study.alternatives[rank_count].get(official[0], []) if official and first.choice_mark == "best" else []
    other = next((case for case in others if case.settings_key == first.settings_key and case.grid != first.grid), None)
    cost = f"; the official grid {other.arrangement}: {percent(other.choice_ratio)}" if other and other.choice_ratio else ""
    return (" or " if first.choice_mark else ", ").join(texts) + cost


def rate_text(study, rank_count):
    """Mop/s by the official operation count, at the median time of the grid that the card names; "" for a user's own system."""
    case = study.choices.get(rank_count, {}).get("candidate") or study.best(rank_count)
    result = case.run.document["result"]
    if "mops_total" not in result:
        return ""
    return f"{result['mops_total'] * result['time_s'] / case.median_s:,.0f} Mop/s".replace(",", "\N{NARROW NO-BREAK SPACE}")


def card(study):
    rank_count = study.shown_rank_count
    choice = study.choices.get(rank_count)
    tables = study.tables.get(rank_count, [])
    verdict = tables[0]["verdict"] if len(tables) == 1 else choice and choice["verdict"]
    word, sentence = certainty(verdict)
    where = f"{escape(study.title)} on {ranks_text(rank_count)}"
    text = escape(verdict["text"][0].upper() + verdict["text"][1:]) if verdict else "Compared with nothing"
    answer = answer_text(study, rank_count)
    kind = word.replace(" ", "-")
    rate = rate_text(study, rank_count)
    rate = f'<p class="rate">{rate}</p>' if rate else ""
    return (
        f'<div class="card"><p class="what">{where} <span class="badge {kind}">{word}</span></p>'
        f'<p class="answer">{escape(answer)}</p>{rate}<p>{text}.</p><p class="note">{escape(sentence)}</p></div>'
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
