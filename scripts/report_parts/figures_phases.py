"""Where the time goes: figures of phases, of ranks, and of ranks that differ in speed, with even pieces and with those of the run, or
before and after the matrix was repartitioned."""

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


def rank_states(counts, products, times_s, waiting):
    """[(nonzeros per second, share of all nonzeros, share of its time that it waits)] of each rank. times_s: of all products."""
    whole = sum(counts) or 1
    return [(count * products / (time_s or float("inf")), count / whole, wait) for count, time_s, wait in zip(counts, times_s, waiting)]


# Name, unit of the scale, its format, and the factor of the state.
MAPS = (
    ("speed", "Billion nonzeros per s", "{:.3g}", 1e-9),
    ("share", "Share of the nonzeros, %", "{:.1f}", 100),
    ("waiting", "Waiting, % of the time", "{:.1f}", 100),
)


def states_of(document):
    """[(when, states)]: before and after the last cut, or as it ran, and with even pieces at the speeds that the run measured: every rank
    waits for the slowest product."""
    entries = document["phases"]["ranks"]
    products = entries[0]["phases"]["summation"]["calls"]
    if moves := moves_of(document):
        move, when = moves[-1], f"outer iteration {moves[-1]['after_outer_iteration']}"
        products /= (document.get("restart") or {}).get("timed_outer_iterations", document["problem"]["niter"])
        return [
            (f"{word} {when}", rank_states([rank[f"nonzeros_{side}"] for rank in move["ranks"]], products, times_s,
                                           [1 - time_s / max(times_s) for time_s in times_s]))
            for word, side in (("up to", "before"), ("after", "after"))
            for times_s in ([rank[f"{side}_s"] for rank in move["ranks"]],)
        ]  # fmt: skip
    before = []
    if has_speeds(document):
        speeds = document["configuration"]["speed_trial"]["speeds"]
        before = [("with even pieces", [(speed, 1 / len(speeds), 1 - min(speeds) / speed) for speed in speeds])]
    nonzeros = [rank["nonzeros"] for rank in document["setup"]["ranks"]]
    times_s = [entry["phases"]["multiply"]["seconds"] for entry in entries]
    waiting = [waited_clocks(entry) / entry["region_clocks"] for entry in entries]
    return [*before, ("as it ran", rank_states(nonzeros, products, times_s, waiting))]


def maps_of(number, document):
    """Before and after beside each other, in the same colours."""
    grid, entries = document["configuration"]["grid"], document["phases"]["ranks"]
    maps = []
    for place, (what, unit, form, factor) in enumerate(MAPS):
        pair = []
        for when, states in states_of(document):
            cells = [(value, form.format(value), f"{unit}: {value:.4g}") for value in (factor * state[place] for state in states)]
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
