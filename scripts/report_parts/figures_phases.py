"""Where the time goes: figures of phases, of ranks, and of ranks that differ in speed, with even pieces and with those of the run, or
before and after the matrix was repartitioned."""

import dataclasses
import statistics

from . import style
from .figures_grid import MOST_PANELS, arrangement_text, ranks_text
from .panels import Axis, BarPanel, Bars, Cell, Figure, HeatPanel, put_beside
from .results import PHASES
from .studies import by_place, file_name, problem_name
from .times import seconds

# ---------------------------------------------------------------- phases per Px


def timed_cases(material):
    """[(study, P, [cases by Px])] of cases whose phases were timed: for each problem the number of ranks that is shown, then
    further ones with several grids."""
    shown, others = [], []
    for study in material.studies:
        for rank_count in reversed(study.rank_counts):
            cases = [case for _, case in by_place(study.cases[rank_count]) if case.run.rank_phases()]
            if cases and rank_count == study.shown_rank_count:
                shown.append((study, rank_count, cases))
            elif len(cases) > 1:
                others.append((study, rank_count, cases))
    return [*shown, *others][:MOST_PANELS]


def phases_panel(study, rank_count, cases):
    bars = []
    for phase in PHASES:
        name = style.phase_name(phase)
        for is_waiting in (False, True):
            values = [part_of(case, phase, is_waiting) / case.run.cg_steps for case in cases]
            if is_waiting and not any(values):
                continue
            doing = "waiting for others" if is_waiting else "working"
            shares = [100 * case.run.phase_seconds(phase) / sum(map(case.run.phase_seconds, PHASES)) for case in cases]
            tips = [
                f"{arrangement_text(case)}, {case.settings}\n{name}, {doing}: {seconds(value)} per CG step\n"
                f"the phase and its waiting: {share:.1f} % of all phases"
                for case, value, share in zip(cases, values, shares)
            ]
            bars.append(Bars(f"{name}, waiting" if is_waiting else name, values, tips, style.PHASE_COLOURS[phase], is_waiting))
    across = Axis("Grid, Px x Py", "category", [case.arrangement for case in cases])
    up = Axis("Time of a CG step (mean over ranks)", from_zero=True, is_time=True)
    return BarPanel(f"{study.name}, {ranks_text(rank_count)}", across, up, bars, is_stacked=True)


def part_of(case, phase, is_waiting):
    """Seconds in which the mean rank waited for others within a phase, or did anything else."""
    parts = []
    for rank in case.run.rank_phases():
        times = rank["phases"][phase]
        share = times["waited_clocks"] / times["clocks"] if times["clocks"] else 0.0
        parts.append(times["seconds"] * (share if is_waiting else 1 - share))
    return statistics.fmean(parts)


def stacked_phases(material):
    panels = [phases_panel(*entry) for entry in timed_cases(material)]
    note = "Bars show the mean over the ranks. In the hatched part of a phase, ranks wait for other ranks."
    return Figure(panels, note) if panels else "no run timed its phases; --no-phases turns the timers off"


# ---------------------------------------------------------------- the rank plane


def plane(title, grid, entries, cells, scale_label, scale_format):
    """A map of the process grid, (Px, Py): the cells [(value, text, lines of the tip)] of the ranks, in the order of the entries."""
    placed = {}
    for entry, (value, text, *tip) in zip(entries, cells):
        place = f"rank {entry['rank']}: process column {entry['process_column']}, process row {entry['process_row']}"
        cell = Cell(value, [f"rank {entry['rank']}", text], "\n".join([place, *tip]))
        placed[entry["process_row"], entry["process_column"]] = cell
    return HeatPanel(title, "Process column", "Process row", range(grid[0]), range(grid[1]), placed, scale_label, scale_format)


def plane_cases(material):
    """[(study, case)] whose ranks are shown, of the largest problem that ran on several: the best grid of the number of ranks
    that is shown elsewhere, and of the greatest one."""
    for study in material.studies:
        counts = [count for count in study.rank_counts if count > 1 and study.best(count).run.rank_phases()]
        if counts:
            shown = study.shown_rank_count if study.shown_rank_count in counts else counts[-1]
            return [(study, study.best(count)) for count in dict.fromkeys((shown, counts[-1]))]
    return []


def clocks_panel(case, title, clocks_of, unit):
    """clocks_of(entry of a rank): clocks of all CG steps. unit: (factor, letter, word)."""
    entries = case.run.rank_phases()
    mean = statistics.fmean(clocks_of(entry) for entry in entries)
    factor, letter, word = unit
    cells = []
    for entry in entries:
        value = clocks_of(entry) / case.run.cg_steps
        against = f", {100 * (clocks_of(entry) / mean - 1):+.1f} % of the mean" if mean else ""
        cells.append((factor * value, f"{factor * value:.4g} {letter}", f"{value:,.0f} clocks per CG step{against}"))
    return plane(title, case.grid, entries, cells, f"{word} clocks per CG step", "{:.4g}")


def multiply_clocks(entry):
    return entry["phases"]["multiply"]["clocks"]


def waited_clocks(entry):
    return sum(phase["waited_clocks"] for phase in entry["phases"].values())


def rank_plane(material):
    cases = plane_cases(material)
    if not cases:
        return "no run on several ranks timed its phases"
    maps = [
        (case, f"{what}, {study.name}, {case.arrangement}", clocks_of)
        for study, case in cases
        for what, clocks_of in (("Multiply", multiply_clocks), ("Waiting for others", waited_clocks))
    ]
    greatest = max(clocks_of(entry) / case.run.cg_steps for case, _, clocks_of in maps for entry in case.run.rank_phases())
    unit = (1e-6, "M", "Million") if greatest >= 1e7 else (1e-3, "k", "Thousand")
    slow = [max(case.run.rank_phases(), key=multiply_clocks) for _, case in cases]
    words = " and ".join(f"rank {entry['rank']} on {case.arrangement}" for entry, (_, case) in zip(slow, cases))
    note = f"Cells show the reference clocks of each rank. Longest in multiply: {words}. The others wait for a rank that waits little."
    return Figure([clocks_panel(*one, unit) for one in maps], note)


# ---------------------------------------------------------------- ranks of different speed

MOST_RUNS = 3  # with six maps each, where all measured the speeds
BILLION = 1e9


def is_uneven(document):
    configuration = document["configuration"] or {}
    has_shares = configuration.get("cut", "").startswith(("speed", "file:"))
    return bool(document["phases"]) and (has_shares or bool(document.get("slow_ranks")) or bool(moves_of(document)))


def moves_of(document):
    """Each repartitioning, with an outer iteration after them."""
    return [move for move in (document.get("rebalance") or {"moves": []})["moves"] if move["after_s"]]


def uneven_name(document):
    """The work, its grid, its cut, and the ranks that were slowed."""
    configuration = document["configuration"]
    problem = document.get("problem")
    slowed = [
        f"rank {slow['rank']} by {slow['factor']:g}" + (f" from product {slow['first_product']} on" if slow["first_product"] else "")
        for slow in (document.get("slow_ranks") or {"ranks": []})["ranks"]
    ]
    cut = configuration["cut"]
    cut = f"file:{file_name(cut)}" if cut.startswith("file:") else cut
    work = problem_name(problem) if problem else file_name(document["system"]["matrix"])
    parts = [work, configuration["grid"]["name"], f"cut {cut}", *([f"slowed {', '.join(slowed)}"] if slowed else [])]
    return ", ".join([*parts, *(["repartitioned"] if moves_of(document) else [])])


def has_speeds(document):
    return bool(document["configuration"].get("speed_trial"))


def uneven_runs(material):
    """[(name, document)], each configuration once; first those that measured the speeds, whose maps are pairs."""
    found = {}
    for document in filter(is_uneven, material.run_and_solve_documents):
        found.setdefault(uneven_name(document), document)
    return sorted(found.items(), key=lambda item: not (has_speeds(item[1]) or moves_of(item[1])))


@dataclasses.dataclass(frozen=True)
class RankState:
    """speed: nonzeros per second; share: of all nonzeros; waiting: share of its time."""

    speed: float
    share: float
    waiting: float


def states_before(document):
    """Even pieces at the speeds that the run measured: every rank waits for the slowest product."""
    speeds = document["configuration"]["speed_trial"]["speeds"]
    return [RankState(speed, 1 / len(speeds), 1 - min(speeds) / speed) for speed in speeds]


def product_count(entry):
    return entry["phases"]["summation"]["calls"]


def states_after(document):
    """As the run has measured them."""
    nonzeros = [rank["nonzeros"] for rank in document["setup"]["ranks"]]
    whole = sum(nonzeros) or 1
    return [
        RankState(
            count * product_count(entry) / (entry["phases"]["multiply"]["seconds"] or float("inf")),
            count / whole,
            waited_clocks(entry) / entry["region_clocks"],
        )
        for entry, count in zip(document["phases"]["ranks"], nonzeros)
    ]


def states_around(document, move, when):
    """Before or after the matrix was repartitioned. Waiting: in products, for the slowest one."""
    products = product_count(document["phases"]["ranks"][0]) / document["problem"]["niter"]
    counts = [rank[f"nonzeros_{when}"] for rank in move["ranks"]]
    times_s = [rank[f"{when}_s"] for rank in move["ranks"]]
    return [
        RankState(count * products / (own_s or float("inf")), count / sum(counts), 1 - own_s / max(times_s))
        for count, own_s in zip(counts, times_s)
    ]


# Name, unit of the scale, its format, and the value of a rank.
MAPS = (
    ("speed", "Billion nonzeros per s", "{:.3g}", lambda state: state.speed / BILLION),
    ("share", "Share of the nonzeros, %", "{:.1f}", lambda state: 100 * state.share),
    ("waiting", "Waiting, % of the time", "{:.1f}", lambda state: 100 * state.waiting),
)


def states_of(document):
    """[(when, [state of each rank])]: before and after the last cut, or as it ran."""
    if moves := moves_of(document):
        when = f"outer iteration {moves[-1]['after_outer_iteration']}"
        return [(f"up to {when}", states_around(document, moves[-1], "before")), (f"after {when}", states_around(document, moves[-1], "after"))]
    before = [("with even pieces", states_before(document))] if has_speeds(document) else []
    return [*before, ("as it ran", states_after(document))]


def maps_of(number, document):
    """Before and after beside each other, in the same colours."""
    grid, entries = document["configuration"]["grid"], document["phases"]["ranks"]
    maps = []
    for what, unit, form, value_of in MAPS:
        pair = []
        for when, states in states_of(document):
            cells = [(value, form.format(value), f"{unit}: {value:.4g}") for value in map(value_of, states)]
            pair.append(plane(f"Run {number}: {what} {when}", (grid["columns"], grid["rows"]), entries, cells, unit, form))
        put_beside(pair)
        maps += pair
    return maps


def speeds(material):
    runs = list(enumerate(uneven_runs(material), 1))
    if not runs:
        return "no run with --cut speed, --cut file:FILE or --slow-rank, or that --rebalance repartitioned, has timed its phases"
    shown = runs[:MOST_RUNS]
    names = " ".join(f"Run {number}: {name}." for number, (name, _) in shown)
    return Figure(
        [panel for number, (_, document) in shown for panel in maps_of(number, document)],
        f"{names} 'With even pieces' uses the speeds that the run measured before it cut the matrix: every rank waits for the slowest "
        "product. 'As it ran' divides nonzeros by the time of the products, and has the waiting in all phases. Around a new cut, the maps "
        "show the products of an outer iteration, and waiting for the slowest rank.",
    )
